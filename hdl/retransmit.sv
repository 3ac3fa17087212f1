// Retransmit: what is on the wire under its timer, what waits to go again, and how often it may.
//
// Twin of rtl-model/src/retransmit.rs. RTX-2: a packet that was built is in egress, on the wire
// (`on_wire`, its timer runs), or waits to go again (`waits`); the end of its serialisation, the
// clock in which replay_store's `sent` comes here, puts it on the wire and starts its timer
// (TMR-1), which timer_wheel is told two clocks later.
// One thing at a time, in this order (section 16): a retire, a lose (a SACK's gap or a NACK), an
// expiry, an ask of tx_scheduler. Without waits of partners: a retire is answered 8 clocks after it
// is taken, 4 more before the next where the packet waits; a lose is answered after 8 and takes 12,
// an expiry 11; an ask is answered 11 clocks after it is taken, or in the next one where nothing
// waits, and ends 4 after its turn. An end of serialisation is taken in every clock.
// RTX-1: only a packet on the wire is queued, so at most once at a time: its timer stops, its bytes
// leave flight, and its QP's group hears of it. A packet that is retired while it waits is not
// sent. Lowest PSN first: a QP's waiting PSNs are bits of a sack_bitmap of its own.
// TMR-3: timer k lasts T for k <= Linear, else T x 2^(k - Linear), with FixedRexmitTimeEnable
// always T; `cfg_timeout` is T in microseconds with 41 binary places, so that floor(T x 2^n) is
// exact to 41 doublings. Only a timeout advances k; a gap or a NACK starts at 1 again. TMR-4,
// NAK-2: at most Linear + Exponential timeouts and as many NACKs queue a packet in its life, 25
// Exponential: any number; one more timeout is a `fail`, though its bytes leave flight and the
// window shrinks once as in any (QP-6); one more NACK is answered fatal and changes nothing. A gap
// queues a packet once in its life (LOS-1).
// CC-1: a timeout, a gap and the two TRIMMED codes shrink the window.
// RTT-1: a retire and a lose are answered with how often the packet was sent, and when last; a lose
// with CauseSample asks for nothing else. The clock of the end is that
// of the frame's last beat, one before `sent`.
// QP-6: a QP in error queues nothing and sends nothing; what it has is retired by its drain.
// CPL-2: an ask for a copy looks for the packet that ack_ask names, which is retired and waits for
// its message's end; no timer, no flight, no count of its life knows of the copy. It is answered 8
// clocks after it is taken, or in the next one where ack_ask wants none any more.
// Borders: k at and above Linear; the last timeout and NACK of the budget; an expiry of a slot's
// last life, told by its generation; the last packet that waits; QPs and slots at both ends.
// An expiry is taken within 60 clocks, and a slot is not armed twice in that time, so that one bit
// of generation tells its lives apart. Retires, asks and ends of serialisation are taken while news
// of a queueing waits, so tx_scheduler and this block never wait for each other.
// The memory of timers has two copies, of which one answers the ends of serialisation.
// It is longer than a module should be: it has ten partners, and its ports take half of it.

`include "assert.svh"

module retransmit
  import nic_pkg::*;
  import bitmap_pkg::*;
  import resend_pkg::*;
#(
  parameter int unsigned QPS   = 256,
  parameter int unsigned PSNS  = 1024,
  parameter int unsigned SLOTS = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  // Levels, from csr
  input logic [63:0] cfg_timeout_i,          // microseconds, 41 binary places
  input logic [ 2:0] cfg_linear_i,
  input logic [ 4:0] cfg_expo_i,
  input logic        cfg_fixed_i,
  input logic [ 6:0] cfg_nominal_overhead_i,

  // QPs in error, from qp_table
  input logic [255:0] error_i,

  // Clocks since reset, from the port
  input micros_t now_i,

  // Packets acknowledged or discarded, from ack_take
  input  logic          retire_valid_i,
  output logic          retire_ready_o,
  input  qp_t           retire_qp_i,
  input  psn_t          retire_psn_i,
  input  logic          retire_discard_i,
  output logic          retire_rsp_valid_o,
  output len_t          retire_rsp_len_o,
  output group_t        retire_rsp_group_o,
  output logic          retire_rsp_last_o,
  output logic          retire_rsp_flight_o,  // its bytes were in flight
  output logic   [ 7:0] retire_rsp_sent_o,    // transmissions
  output logic   [47:0] retire_rsp_at_o,      // clock of the end of the last one
  output logic   [15:0] retire_rsp_port_o,    // its entropy value

  // Packets lost, from ack_take
  input  logic   lose_valid_i,
  output logic   lose_ready_o,
  input  qp_t    lose_qp_i,
  input  psn_t   lose_psn_i,
  input  cause_e lose_cause_i,
  output logic   lose_rsp_valid_o,
  output logic   lose_rsp_queued_o,
  output logic   lose_rsp_fatal_o,   // the budget is spent
  output logic   [ 7:0] lose_rsp_sent_o,  // transmissions so far, 0 if it is retired
  output logic   [47:0] lose_rsp_at_o,  // clock of the end of the last one

  // Packets on the wire, from replay_store
  input logic  sent_valid_i,
  input slot_t sent_slot_i,

  // Look up, in replay_store
  output logic           look_valid_o,
  input  logic           look_ready_i,
  output look_e          look_op_o,
  output qp_t            look_qp_o,
  output psn_t           look_psn_o,
  output slot_t          look_slot_o,
  output logic           look_discard_o,
  input  logic           look_rsp_valid_i,
  input  logic           look_rsp_hit_i,    // it was built and is not retired
  input  slot_t          look_rsp_slot_i,
  input  record_t        look_rsp_i,
  input  logic    [15:0] look_rsp_port_i,

  // Copies on their way to egress, to replay_store
  output logic  hold_valid_o,
  output slot_t hold_slot_o,
  output logic  copying_o,     // level: it may be copied though it is retired (CPL-2)

  // Timers, to timer_wheel
  input  micros_t       ticks_i,
  output logic          arm_valid_o,
  output slot_t         arm_slot_o,
  output logic    [7:0] arm_gen_o,
  output micros_t       arm_start_o,
  output micros_t       arm_span_o,
  output logic          cancel_valid_o,
  output slot_t         cancel_slot_o,
  input  logic          exp_valid_i,
  output logic          exp_ready_o,
  input  slot_t         exp_slot_i,
  input  logic    [7:0] exp_gen_i,

  // PSNs that wait, in a sack_bitmap
  output logic    map_valid_o,
  input  logic    map_ready_i,
  output bitmap_e map_op_o,
  output qp_t     map_qp_o,
  output psn_t    map_psn_o,
  output psn_t    map_end_o,
  input  logic    map_rsp_valid_i,
  input  psn_t    map_rsp_psn_i,

  // Bytes that leave flight, to window
  output logic   loss_valid_o,
  input  logic   loss_ready_i,
  output group_t loss_group_o,
  output len_t   loss_bytes_o,  // nominal
  output logic   loss_shrink_o,

  // QPs with packets that wait, and their turns, to tx_scheduler
  output logic   wait_valid_o,
  input  logic   wait_ready_i,
  output qp_t    wait_qp_o,
  output group_t wait_group_o,
  input  logic   ask_valid_i,
  output logic   ask_ready_o,
  input  qp_t    ask_qp_i,
  input  psn_t   ask_from_i,
  input  logic   ask_copy_i,    // what ack_ask wants, not what waits
  output logic   offer_valid_o,
  output logic   offer_hit_o,
  output len_t   offer_len_o,
  output logic   offer_more_o,  // another one waits behind it
  input  logic   end_valid_i,   // of the turn
  input  logic   end_take_i,

  // The last packet of a message that no cumulative ACK covers, from ack_ask
  input logic  copy_live_i,
  input slot_t copy_slot_i,

  // Packets that go again, to packet_build
  output logic     again_valid_o,
  input  logic     again_ready_i,
  output segment_t again_o,

  // Entropy values assumed bad, to path_select
  output logic         bad_valid_o,
  output dest_t        bad_dest_o,
  output logic  [15:0] bad_port_o,

  // Budgets that are spent, to qp_drain
  output logic fail_valid_o,
  input  logic fail_ready_i,
  output qp_t  fail_qp_o,

  // A packet was queued, or a copy of it, to the log
  output logic   queued_valid_o,
  output qp_t    queued_qp_o,
  output psn_t   queued_psn_o,
  output cause_e queued_cause_o,

  // Timers and counts of each slot, twice: for an end of serialisation, for all else
  output logic          tim_we_o,
  output logic   [31:0] tim_waddr_o,
  output timer_t        tim_wdata_o,
  output logic          tims_re_o,
  output logic   [31:0] tims_raddr_o,
  input  timer_t        tims_rdata_i,
  output logic          tim_re_o,
  output logic   [31:0] tim_raddr_o,
  input  timer_t        tim_rdata_i,

  // Clock of the last end of serialisation of each slot
  output logic        at_we_o,
  output logic [31:0] at_waddr_o,
  output logic [47:0] at_wdata_o,
  output logic        at_re_o,
  output logic [31:0] at_raddr_o,
  input  logic [47:0] at_rdata_i
);

  localparam int unsigned QB = $clog2(QPS);
  localparam int unsigned SB = $clog2(SLOTS);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle,    // takes the next thing to do
    Look,    // asks for the packet's record
    Looked,  // the record is on its way; its timer is read as it comes
    Act,     // has both
    Offer,   // tx_scheduler has the packet, and ends its turn
    Map,     // asks the bitmap
    Mapped   // the bitmap's answer is on its way
  } state_e;

  typedef enum logic [2:0] {
    Retire,
    Lose,
    Expire,
    Ask,
    Copy
  } job_e;

  typedef struct {
    state_e           state;
    job_e             job;
    look_e            look_op;
    qp_t              qp;
    psn_t             psn;
    slot_t            slot;
    logic             discard;
    cause_e           cause;
    logic             gen;               // of the expiry
    bitmap_e          map_op;
    logic             hit;               // the packet in work is there
    record_t          rec;
    logic [15:0]      port;
    logic [SLOTS-1:0] fresh;             // slots whose timer word does not count: a first one
    logic [SLOTS-1:0] on_wire;           // packets on the wire
    logic [SLOTS-1:0] waits;             // packets that wait to go again
    logic [SLOTS-1:0] gens;              // generation of each slot's last timer
    logic [QPS-1:0]   wiped;             // QPs whose ring of the bitmap was wiped once
    logic [10:0]      waiting[QPS];      // packets of each QP that wait
    logic             sent_valid;        // a packet on the wire, its timer word was read
    slot_t            sent_slot;
    micros_t          sent_start;
    logic [47:0]      sent_at;
    logic             arm_valid;         // its timer
    slot_t            arm_slot;
    micros_t          arm_start;
    micros_t          arm_span;
    logic             retire_rsp_valid;
    logic             flight;
    logic [7:0]       sent;
    logic [47:0]      at;
    logic             lose_rsp_valid;
    logic             lose_queued;
    logic             lose_fatal;
    logic             hold_valid;
    logic             cancel_valid;
    logic             loss_valid;
    group_t           loss_group;
    len_t             loss_bytes;
    logic             loss_shrink;
    logic             wait_valid;
    qp_t              wait_qp;
    group_t           wait_group;
    logic             offer_valid;
    logic             offer_hit;
    logic             offer_more;
    logic             again_valid;
    segment_t         again;
    logic             bad_valid;
    logic             fail_valid;
    qp_t              fail_qp;
    logic             queued_valid;
  } regs_t;

  localparam regs_t RESET = '{
      state: Idle,
      job: Retire,
      look_op: LookPsn,
      cause: CauseGap,
      map_op: MapWipe,
      rec: record_t'(0),
      again: segment_t'(0),
      fresh: '1,
      waiting: '{default: '0},
      default: '0
  };

  regs_t regs_d;
  regs_t regs_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      regs_q <= RESET;
    end else begin
      regs_q <= regs_d;
    end
  end

  /////////////
  // Outputs //
  /////////////

  logic told;  // no news of a queueing waits
  logic takes;  // a lose or an expiry goes before an ask
  assign told = !regs_q.loss_valid && !regs_q.wait_valid && !regs_q.fail_valid;
  assign takes = told && (lose_valid_i || exp_valid_i);
  assign retire_ready_o = regs_q.state == Idle;
  assign lose_ready_o = regs_q.state == Idle && !retire_valid_i && told;
  assign exp_ready_o = lose_ready_o && !lose_valid_i;
  assign ask_ready_o = regs_q.state == Idle && !retire_valid_i && !takes && !regs_q.again_valid;

  assign retire_rsp_valid_o = regs_q.retire_rsp_valid;
  assign retire_rsp_len_o = regs_q.rec.len;
  assign retire_rsp_group_o = regs_q.rec.group;
  assign retire_rsp_last_o = regs_q.rec.last;
  assign retire_rsp_flight_o = regs_q.flight;
  assign retire_rsp_sent_o = regs_q.sent;
  assign retire_rsp_at_o = regs_q.at;
  assign retire_rsp_port_o = regs_q.port;
  assign lose_rsp_valid_o = regs_q.lose_rsp_valid;
  assign lose_rsp_queued_o = regs_q.lose_queued;
  assign lose_rsp_fatal_o = regs_q.lose_fatal;
  assign lose_rsp_sent_o = regs_q.sent;
  assign lose_rsp_at_o = regs_q.at;

  assign look_valid_o = regs_q.state == Look;
  assign look_op_o = regs_q.look_op;
  assign look_qp_o = regs_q.qp;
  assign look_psn_o = regs_q.psn;
  assign look_slot_o = regs_q.slot;
  assign look_discard_o = regs_q.discard;
  assign hold_valid_o = regs_q.hold_valid;
  assign hold_slot_o = regs_q.slot;
  assign copying_o = regs_q.job == Copy && regs_q.state != Idle;
  assign cancel_valid_o = regs_q.cancel_valid;
  assign cancel_slot_o = regs_q.slot;
  assign map_valid_o = regs_q.state == Map;
  assign map_op_o = regs_q.map_op;
  assign map_qp_o = regs_q.qp;
  assign map_psn_o = regs_q.psn;
  assign map_end_o = regs_q.psn + psn_t'(PSNS);
  assign loss_valid_o = regs_q.loss_valid;
  assign loss_group_o = regs_q.loss_group;
  assign loss_bytes_o = regs_q.loss_bytes;
  assign loss_shrink_o = regs_q.loss_shrink;
  assign wait_valid_o = regs_q.wait_valid;
  assign wait_qp_o = regs_q.wait_qp;
  assign wait_group_o = regs_q.wait_group;
  assign offer_valid_o = regs_q.offer_valid;
  assign offer_hit_o = regs_q.offer_hit;
  assign offer_len_o = regs_q.rec.len;
  assign offer_more_o = regs_q.offer_more;
  assign again_valid_o = regs_q.again_valid;
  assign again_o = regs_q.again;
  assign bad_valid_o = regs_q.bad_valid;
  assign bad_dest_o = regs_q.rec.dest;
  assign bad_port_o = regs_q.port;
  assign fail_valid_o = regs_q.fail_valid;
  assign fail_qp_o = regs_q.fail_qp;
  assign queued_valid_o = regs_q.queued_valid;
  assign queued_qp_o = regs_q.qp;
  assign queued_psn_o = regs_q.psn;
  assign queued_cause_o = regs_q.cause;

  // A packet on the wire: its timer starts.
  logic [SB-1:0] came;
  assign came = regs_q.sent_slot[SB-1:0];
  logic [5:0] number;
  logic [5:0] doublings;
  always_comb begin
    number    = regs_q.fresh[came] ? 6'd1 : tims_rdata_i.number;
    doublings = '0;
    if (!cfg_fixed_i && number > 6'(cfg_linear_i)) begin
      doublings = number - 6'(cfg_linear_i);
    end
  end

  assign tims_re_o    = sent_valid_i;
  assign tims_raddr_o = sent_valid_i ? 32'(sent_slot_i) : '0;
  assign at_we_o      = regs_q.sent_valid;
  assign at_waddr_o   = 32'(regs_q.sent_slot);
  assign at_wdata_o   = regs_q.sent_at;
  assign arm_valid_o  = regs_q.arm_valid;
  assign arm_slot_o   = regs_q.arm_slot;
  assign arm_gen_o    = {7'd0, regs_q.gens[regs_q.arm_slot[SB-1:0]]};
  assign arm_start_o  = regs_q.arm_start;
  assign arm_span_o   = regs_q.arm_span;

  // The packet in work, in `Act`.
  logic   [SB-1:0] at;
  timer_t          timer;
  logic            limited;
  logic   [   5:0] limit;
  logic   [   7:0] sent;  // how often it was sent, but for a first time that has not ended
  logic            spent;
  logic            hits;  // it is on the wire, under the timer meant
  logic            queues;
  assign at      = regs_q.slot[SB-1:0];
  assign timer   = regs_q.fresh[at] ? FIRST_TIMER : tim_rdata_i;
  assign sent    = regs_q.hit && (!regs_q.fresh[at] || regs_q.on_wire[at]) ? timer.sent : '0;
  assign limited = cfg_expo_i != 5'd25;
  assign limit   = 6'(cfg_linear_i) + 6'(cfg_expo_i);
  always_comb begin
    hits = regs_q.hit && regs_q.on_wire[at] && !error_i[regs_q.rec.qp];
    if (regs_q.job == Expire) begin
      hits  = hits && regs_q.gen == regs_q.gens[at];
      spent = limited && timer.timeouts == limit;
    end else begin
      hits  = hits && regs_q.cause != CauseSample && !(regs_q.cause == CauseGap && timer.gapped);
      spent = limited && regs_q.cause != CauseGap && timer.nacks == limit;
    end
    queues = regs_q.state == Act && (regs_q.job == Expire || regs_q.job == Lose && !spent) && hits;
  end

  logic taken;  // the packet offered, which has waited
  assign taken = regs_q.state == Offer && regs_q.job == Ask && end_valid_i && end_take_i;

  always_comb begin
    tim_we_o    = queues || taken;
    tim_waddr_o = tim_we_o ? 32'(regs_q.slot) : '0;
    tim_wdata_o = timer_t'(0);
    if (tim_we_o) begin
      tim_wdata_o = timer;
      if (taken) begin
        tim_wdata_o.sent = more8(timer.sent);
      end else if (regs_q.job == Expire) begin
        tim_wdata_o.number   = more6(timer.number);
        tim_wdata_o.timeouts = more6(timer.timeouts);
      end else begin
        tim_wdata_o.number = 6'd1;
        if (regs_q.cause == CauseGap) begin
          tim_wdata_o.gapped = 1'b1;
        end else begin
          tim_wdata_o.nacks = more6(timer.nacks);
        end
      end
    end
    tim_re_o    = regs_q.state == Looked && look_rsp_valid_i;
    tim_raddr_o = tim_re_o ? 32'(look_rsp_slot_i) : '0;
    at_re_o     = tim_re_o;
    at_raddr_o  = tim_raddr_o;
  end

  ////////////////
  // Next state //
  ////////////////

  always_comb begin
    regs_d                  = regs_q;
    regs_d.retire_rsp_valid = 1'b0;
    regs_d.lose_rsp_valid   = 1'b0;
    regs_d.hold_valid       = 1'b0;
    regs_d.cancel_valid     = 1'b0;
    regs_d.offer_valid      = 1'b0;
    regs_d.bad_valid        = 1'b0;
    regs_d.queued_valid     = 1'b0;
    regs_d.loss_valid       = regs_q.loss_valid && !loss_ready_i;
    regs_d.wait_valid       = regs_q.wait_valid && !wait_ready_i;
    regs_d.fail_valid       = regs_q.fail_valid && !fail_ready_i;
    regs_d.again_valid      = regs_q.again_valid && !again_ready_i;

    unique case (regs_q.state)
      Idle: begin
        if (retire_valid_i) begin
          regs_d.job     = Retire;
          regs_d.look_op = LookRetire;
          regs_d.qp      = retire_qp_i;
          regs_d.psn     = retire_psn_i;
          regs_d.discard = retire_discard_i;
          regs_d.state   = Look;
        end else if (lose_valid_i && told) begin
          regs_d.job     = Lose;
          regs_d.look_op = LookPsn;
          regs_d.qp      = lose_qp_i;
          regs_d.psn     = lose_psn_i;
          regs_d.cause   = lose_cause_i;
          regs_d.state   = Look;
        end else if (exp_valid_i && told) begin
          regs_d.job     = Expire;
          regs_d.look_op = LookSlot;
          regs_d.slot    = exp_slot_i;
          regs_d.gen     = exp_gen_i[0];
          regs_d.cause   = CauseTimeout;
          regs_d.state   = Look;
        end else if (ask_valid_i && ask_ready_o && ask_copy_i) begin
          regs_d.job     = Copy;
          regs_d.look_op = LookHeld;
          regs_d.slot    = copy_slot_i;
          regs_d.cause   = CauseCover;
          if (copy_live_i) begin
            regs_d.state = Look;
          end else begin
            regs_d.offer_valid = 1'b1;
            regs_d.offer_hit   = 1'b0;
          end
        end else if (ask_valid_i && ask_ready_o) begin
          regs_d.job    = Ask;
          regs_d.qp     = ask_qp_i;
          regs_d.psn    = ask_from_i;
          regs_d.map_op = MapNext;
          if (regs_q.waiting[ask_qp_i[QB-1:0]] == '0 || error_i[ask_qp_i]) begin
            regs_d.offer_valid = 1'b1;
            regs_d.offer_hit   = 1'b0;
          end else begin
            regs_d.state = Map;
          end
        end
      end

      Look: begin
        if (look_ready_i) begin
          regs_d.state = Looked;
        end
      end

      Looked: begin
        if (look_rsp_valid_i) begin
          regs_d.slot  = look_rsp_slot_i;
          regs_d.hit   = look_rsp_hit_i;
          regs_d.rec   = look_rsp_i;
          regs_d.port  = look_rsp_port_i;
          regs_d.state = Act;
        end
      end

      Act: begin
        regs_d.state = Idle;
        if (regs_q.hit) begin
          regs_d.qp  = regs_q.rec.qp;
          regs_d.psn = regs_q.rec.psn;
        end
        unique case (regs_q.job)
          Retire: begin
            regs_d.retire_rsp_valid = 1'b1;
            regs_d.flight           = regs_q.hit && !regs_q.waits[at];
            regs_d.sent             = sent;
            regs_d.at               = at_rdata_i;
            if (regs_q.hit) begin
              regs_d.cancel_valid = regs_q.on_wire[at];
              regs_d.fresh[at]    = 1'b1;
              regs_d.on_wire[at]  = 1'b0;
              if (regs_q.waits[at]) begin
                regs_d.waits[at] = 1'b0;
                regs_d.map_op    = MapClear;
                regs_d.state     = Map;
              end
            end
          end
          Ask: begin
            regs_d.offer_valid = 1'b1;
            regs_d.offer_hit   = 1'b1;
            regs_d.offer_more  = regs_q.waiting[regs_q.rec.qp[QB-1:0]] != 11'd1;
            regs_d.state       = Offer;
          end
          Copy: begin
            regs_d.offer_valid = 1'b1;
            regs_d.offer_hit   = regs_q.hit && !error_i[regs_q.rec.qp];
            regs_d.offer_more  = 1'b0;
            regs_d.state       = regs_d.offer_hit ? Offer : Idle;
          end
          default: begin
            regs_d.lose_rsp_valid = regs_q.job == Lose;
            regs_d.lose_queued    = queues;
            regs_d.lose_fatal     = hits && spent;
            regs_d.sent           = sent;
            regs_d.at             = at_rdata_i;
          end
        endcase
      end

      Offer: begin
        if (end_valid_i) begin
          regs_d.state = Idle;
          if (end_take_i) begin
            regs_d.hold_valid  = 1'b1;
            regs_d.again_valid = 1'b1;
            regs_d.again       = segment_of(regs_q.rec, regs_q.slot);
            if (regs_q.job == Copy) begin
              regs_d.queued_valid = 1'b1;
            end else begin
              regs_d.waits[at] = 1'b0;
              regs_d.fresh[at] = 1'b0;
              regs_d.map_op    = MapClear;
              regs_d.state     = Map;
            end
          end
        end
      end

      Map: begin
        if (map_ready_i) begin
          regs_d.state = Mapped;
        end
      end

      default: begin  // Mapped
        if (map_rsp_valid_i) begin
          regs_d.state = Idle;
          if (regs_q.map_op == MapWipe) begin
            regs_d.map_op = MapSet;
            regs_d.state  = Map;
          end else if (regs_q.map_op == MapNext) begin
            regs_d.psn     = map_rsp_psn_i;
            regs_d.look_op = LookPsn;
            regs_d.state   = Look;
          end
        end
      end
    endcase

    if (queues) begin
      regs_d.on_wire[at]                  = 1'b0;
      regs_d.waits[at]                    = 1'b1;
      regs_d.fresh[at]                    = 1'b0;
      regs_d.cancel_valid                 = regs_q.job == Lose;
      regs_d.loss_valid                   = 1'b1;
      regs_d.loss_group                   = regs_q.rec.group;
      regs_d.loss_bytes                   = regs_q.rec.len + len_t'(cfg_nominal_overhead_i);
      regs_d.loss_shrink                  = regs_q.cause != CauseRange;
      regs_d.bad_valid                    = regs_q.job == Expire;
      regs_d.queued_valid                 = !spent;
      regs_d.wait_valid                   = !spent;
      regs_d.wait_qp                      = regs_q.rec.qp;
      regs_d.wait_group                   = regs_q.rec.group;
      regs_d.fail_valid                   = spent;
      regs_d.fail_qp                      = regs_q.rec.qp;
      regs_d.map_op                       = regs_q.wiped[regs_q.rec.qp[QB-1:0]] ? MapSet : MapWipe;
      regs_d.wiped[regs_q.rec.qp[QB-1:0]] = 1'b1;
      regs_d.state                        = Map;
    end
    // One more waits, or one less.
    if (queues) begin
      regs_d.waiting[regs_q.rec.qp[QB-1:0]] = regs_q.waiting[regs_q.rec.qp[QB-1:0]] + 11'd1;
    end else if (regs_q.waits[at] && !regs_d.waits[at]) begin
      regs_d.waiting[regs_q.rec.qp[QB-1:0]] = regs_q.waiting[regs_q.rec.qp[QB-1:0]] - 11'd1;
    end

    regs_d.sent_valid = sent_valid_i;
    if (sent_valid_i) begin
      regs_d.sent_slot  = sent_slot_i;
      regs_d.sent_start = ticks_i + 48'd1;
      regs_d.sent_at    = now_i - 48'd1;
    end
    regs_d.arm_valid = regs_q.sent_valid;
    if (regs_q.sent_valid) begin
      regs_d.arm_slot = regs_q.sent_slot;
      regs_d.arm_start = regs_q.sent_start;
      regs_d.arm_span = span_of(cfg_timeout_i, doublings);
      regs_d.on_wire[came] = 1'b1;
      regs_d.gens[came] = !regs_q.gens[came];
    end
  end

  // Every generation is one bit here; the rest of a record goes by.
  logic unused;
  assign unused = &{1'b0, exp_gen_i[7:1], tims_rdata_i[20:0]};

  //////////////
  // Contract //
  //////////////

  // RTX-2: no packet is in two states.
  `ASSERT(OneState_A, (regs_q.on_wire & regs_q.waits) == '0)
  // A packet that has come on the wire was not there and did not wait.
  `ASSERT(WireOnce_A, regs_q.sent_valid |-> !regs_q.on_wire[came] && !regs_q.waits[came])
  // A packet that is offered is there and waits, but for a copy.
  `ASSERT(OfferWaits_A,
          regs_q.state == Offer |-> regs_q.hit && (regs_q.waits[at] || regs_q.job == Copy))
  // The end of a turn comes in its turn.
  `ASSERT(EndInTurn_A, end_valid_i |-> regs_q.state == Offer)
  // What a partner does not take stays as it is.
  `ASSERT(LossWaits_A, loss_valid_o && !loss_ready_i |=> loss_valid_o && $stable
                       ({loss_group_o, loss_bytes_o, loss_shrink_o}))
  `ASSERT(WaitWaits_A, wait_valid_o && !wait_ready_i |=> wait_valid_o && $stable
                       ({wait_qp_o, wait_group_o}))
  `ASSERT(AgainWaits_A, again_valid_o && !again_ready_i |=> again_valid_o && $stable(again_o))
  `ASSERT(FailWaits_A, fail_valid_o && !fail_ready_i |=> fail_valid_o && $stable(fail_qp_o))

endmodule
