// Replay store: hands out slots and keeps the record of each packet until it is acknowledged.
//
// Twin of rtl-model/src/replay_store.rs. The payloads lie in memories beside it, a slot each.
// PKT-6: a slot is free when its packet is acknowledged and no copy of it is in egress; the last
// packet of a message also waits for `final`, sent with WQE_COMPLETE. SEG-5 counts on it: `slot`
// is valid while any slot is free, apart from the 2 clocks after each one taken from those freed,
// and 4 clocks after a slot is freed where there was none. Slots go out fresh ones first, 0
// upward, then in the order in which they were freed.
// A look finds the packet of a PSN or of a slot; a hit was built and is not retired. One of them
// retires it. CPL-2: another hits what is retired, waits for `final`, and has no copy in egress.
// Its `final` waits while such a copy is decided. Between the turn of a copy, `hold`, and its
// `gone` the slot counts as in egress. The end of serialisation of a packet that is not retired
// goes on to retransmit as `sent`.
// Latency: a record is kept in the clock in which `build` is taken (always); a look taken in clock
// N is answered in clock N + 3, of a slot N + 2, a final takes 2 clocks; `gone` acts at once, is
// `sent` a clock later, and holds back for a clock a look or a final that is about to act. Look
// before final (section 16: the acknowledgement before its completion); build, gone and one of them
// may meet in one clock.
// QP-6: a retire with `discard` does not wait for a `final`, also where the packet is retired; a
// toss frees a slot that was never built, in a clock in which nothing else may free one.
// Borders: the last slot of all taken; acknowledged in egress and the other way round; a last
// packet's `final` before and after `gone`; PSNs modulo PSNS; both ends of the memory of free ones.
// A PSN is built before it is retired or final, once each; a slot is gone once after its build or
// hold, and is not looked for in the clock of its build.
// Memory ports are combinational: writes of `map` and `rec` from `build`, reads of `map` from
// requests, of `rec` from `map_rdata`, of which a word never written may say anything; those of
// `fl` come from registers.
//
// It is longer than a module should be: it has six partners and three memories, and its ports take
// a third of it.

`include "assert.svh"

module replay_store
  import nic_pkg::*;
  import resend_pkg::*;
#(
  parameter int unsigned PSNS  = 1024,
  parameter int unsigned SLOTS = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  // Free slots, to tx_scheduler
  output logic  slot_valid_o,
  input  logic  slot_ready_i,
  output slot_t slot_o,

  // Packets built, from packet_build; then the entropy value of each frame of a packet
  input  logic            build_valid_i,
  output logic            build_ready_o,
  input  segment_t        build_i,
  input  logic            made_valid_i,
  input  slot_t           made_slot_i,
  input  logic     [15:0] made_port_i,

  // Packets to find, and copies on their way to egress, from retransmit
  input  logic           look_valid_i,
  output logic           look_ready_o,
  input  look_e          look_op_i,
  input  qp_t            look_qp_i,
  input  psn_t           look_psn_i,
  input  slot_t          look_slot_i,
  input  logic           look_discard_i,
  output logic           look_rsp_valid_o,
  output logic           look_rsp_hit_o,
  output slot_t          look_rsp_slot_o,
  output record_t        look_rsp_o,
  output logic    [15:0] look_rsp_port_o,
  input  logic           hold_valid_i,
  input  slot_t          hold_slot_i,
  input  logic           copying_i,         // whether that packet goes again is being decided

  // Last packets of messages completed, from completion
  input  logic  final_valid_i,
  output logic  final_ready_o,
  input  slot_t final_slot_i,

  // Slots of segments that came to nothing, from qp_drain
  input  logic  toss_valid_i,
  output logic  toss_ready_o,
  input  slot_t toss_slot_i,

  // Frames serialised, from port_tx
  input logic  gone_valid_i,
  input logic  gone_data_i,
  input slot_t gone_slot_i,

  // Of them the packets that are not retired, to retransmit
  output logic  sent_valid_o,
  output slot_t sent_slot_o,

  // Slots handed out and not free again
  output logic [10:0] used_o,

  // Slot of each PSN outstanding: word qp * PSNS + psn mod PSNS
  output logic        map_we_o,
  output logic [31:0] map_waddr_o,
  output logic [ 9:0] map_wdata_o,
  output logic        map_re_o,
  output logic [31:0] map_raddr_o,
  input  logic [ 9:0] map_rdata_i,

  // Record of each slot
  output logic           rec_we_o,
  output logic    [31:0] rec_waddr_o,
  output record_t        rec_wdata_o,
  output logic           rec_re_o,
  output logic    [31:0] rec_raddr_o,
  input  record_t        rec_rdata_i,

  // Entropy value of each slot's last frame
  output logic        path_we_o,
  output logic [31:0] path_waddr_o,
  output logic [15:0] path_wdata_o,
  output logic        path_re_o,
  output logic [31:0] path_raddr_o,
  input  logic [15:0] path_rdata_i,

  // Slots freed, a FIFO of SLOTS words
  output logic        fl_we_o,
  output logic [31:0] fl_waddr_o,
  output logic [ 9:0] fl_wdata_o,
  output logic        fl_re_o,
  output logic [31:0] fl_raddr_o,
  input  logic [ 9:0] fl_rdata_i
);

  localparam int unsigned SB = $clog2(SLOTS);
  localparam logic [10:0] ALL = SLOTS[10:0];

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [1:0] {
    Idle,    // takes a look or a final, and reads a look's slot, or the slot's record
    Find,    // has the slot, reads the record
    Answer,  // has the record
    Final    // has the slot
  } state_e;

  typedef struct {
    logic             slot_valid;
    slot_t            slot;
    logic             fetching;     // `fl` was read for `slot`
    logic [10:0]      fresh;        // slots never handed out start here
    slot_t            fl_head;
    slot_t            fl_tail;
    logic [10:0]      fl_count;
    logic             freed_valid;
    slot_t            freed;        // on its way into `fl`
    logic [10:0]      used;
    state_e           state;
    slot_t            found;        // slot in `Answer` and `Final`
    look_e            op;           // of the look, and what it is for
    qp_t              qp;
    psn_t             psn;
    logic             discards;     // it waits for no `final`
    logic             rsp_valid;
    logic             rsp_hit;
    slot_t            rsp_slot;
    record_t          rsp;
    logic [15:0]      rsp_port;
    logic             sent_valid;
    slot_t            sent_slot;
    logic [SLOTS-1:0] live;         // built and not retired
    logic [SLOTS-1:0] acked;
    logic [SLOTS-1:0] egress;       // a copy waits or is being serialised
    logic [SLOTS-1:0] hold_last;    // waits for `final`
  } regs_t;

  localparam regs_t RESET = '{state: Idle, op: LookPsn, rsp: record_t'(0), default: '0};

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

  // The address of a QP's PSN in `map`.
  function automatic logic [31:0] place(qp_t qp, psn_t psn);
    return 32'(qp) * PSNS + (32'(psn) & (PSNS - 1));
  endfunction

  assign slot_valid_o = regs_q.slot_valid;
  assign slot_o = regs_q.slot;
  assign used_o = regs_q.used;

  assign build_ready_o = 1'b1;
  assign look_ready_o = regs_q.state == Idle;
  assign final_ready_o = regs_q.state == Idle && !look_valid_i
      && !(copying_i && final_valid_i && hold_slot_i == final_slot_i);

  assign look_rsp_valid_o = regs_q.rsp_valid;
  assign look_rsp_hit_o = regs_q.rsp_hit;
  assign look_rsp_slot_o = regs_q.rsp_slot;
  assign look_rsp_o = regs_q.rsp;
  assign look_rsp_port_o = regs_q.rsp_port;
  assign sent_valid_o = regs_q.sent_valid;
  assign sent_slot_o = regs_q.sent_slot;

  assign map_we_o = build_valid_i;
  assign map_waddr_o = build_valid_i ? place(build_i.qp, build_i.psn) : '0;
  assign map_wdata_o = build_valid_i ? build_i.slot : '0;
  assign rec_we_o = build_valid_i;
  assign rec_waddr_o = build_valid_i ? 32'(build_i.slot) : '0;
  assign rec_wdata_o = build_valid_i ? record_of(build_i) : record_t'(0);
  assign path_we_o = made_valid_i;
  assign path_waddr_o = made_valid_i ? 32'(made_slot_i) : '0;
  assign path_wdata_o = made_valid_i ? made_port_i : '0;

  logic by_slot;  // a look that needs no map
  assign by_slot = regs_q.state == Idle && look_valid_i && look_op_i inside {LookSlot, LookHeld};
  assign map_re_o = regs_q.state == Idle && look_valid_i && !by_slot;
  assign map_raddr_o = map_re_o ? place(look_qp_i, look_psn_i) : '0;

  assign rec_re_o = regs_q.state == Find || by_slot;
  assign rec_raddr_o = regs_q.state == Find ? 32'(map_rdata_i[SB-1:0])
                     : by_slot ? 32'(look_slot_i) : '0;
  assign path_re_o = rec_re_o;
  assign path_raddr_o = rec_raddr_o;

  assign fl_we_o = regs_q.freed_valid;
  assign fl_waddr_o = {22'd0, regs_q.fl_tail};
  assign fl_wdata_o = regs_q.freed;
  assign fl_re_o    = !regs_q.slot_valid && !regs_q.fetching && regs_q.fresh == ALL
      && regs_q.fl_count != '0;
  assign fl_raddr_o = {22'd0, regs_q.fl_head};

  ////////////////
  // Next state //
  ////////////////

  // The slot after this one in the ring of free ones.
  function automatic slot_t after(slot_t at);
    return 32'(at) == SLOTS - 1 ? '0 : at + 10'd1;
  endfunction

  logic gone;  // a data frame has left
  assign gone = gone_valid_i && gone_data_i;

  logic acts;  // a look or a final acts
  assign acts = !gone && (regs_q.state == Answer || regs_q.state == Final);

  slot_t touched;  // the slot that may become free
  assign touched = gone ? gone_slot_i : regs_q.found;

  logic toss;  // a slot is tossed
  assign toss_ready_o = !gone && !acts;
  assign toss = toss_valid_i && toss_ready_o;

  logic [SB-1:0] at;
  assign at = touched[SB-1:0];

  logic same;  // the slot found holds the packet that is looked for
  logic hit;
  assign same = regs_q.op inside {LookSlot, LookHeld}
      || (rec_rdata_i.qp == regs_q.qp && rec_rdata_i.psn == regs_q.psn);
  assign hit = same && (regs_q.op == LookHeld ?
      !regs_q.live[at] && regs_q.hold_last[at] && !regs_q.egress[at] : regs_q.live[at]);

  always_comb begin
    regs_d = regs_q;

    regs_d.rsp_valid = acts && regs_q.state == Answer;
    unique case (regs_q.state)
      Idle: begin
        if (look_valid_i) begin
          regs_d.state    = by_slot ? Answer : Find;
          regs_d.found    = look_slot_i;
          regs_d.op       = look_op_i;
          regs_d.qp       = look_qp_i;
          regs_d.psn      = look_psn_i;
          regs_d.discards = look_discard_i;
        end else if (final_valid_i && final_ready_o) begin
          regs_d.state = Final;
          regs_d.found = final_slot_i;
        end
      end
      Find: begin
        regs_d.found = 10'(map_rdata_i[SB-1:0]);
        regs_d.state = Answer;
      end
      Answer: begin
        if (acts) begin
          regs_d.rsp_hit  = hit;
          regs_d.rsp_slot = regs_q.found;
          regs_d.rsp      = rec_rdata_i;
          regs_d.rsp_port = path_rdata_i;
          regs_d.state    = Idle;
          if (regs_q.op == LookRetire) begin
            if (hit) begin
              regs_d.live[at]  = 1'b0;
              regs_d.acked[at] = 1'b1;
            end
            if (same && regs_q.discards) begin
              regs_d.hold_last[at] = 1'b0;
            end
          end
        end
      end
      Final: begin
        if (acts) begin
          regs_d.hold_last[at] = 1'b0;
          regs_d.state         = Idle;
        end
      end
    endcase

    regs_d.sent_valid = gone && regs_q.live[at];
    if (gone) begin
      regs_d.egress[at] = 1'b0;
      regs_d.sent_slot  = gone_slot_i;
    end
    // PKT-6, after what this clock changes.
    regs_d.freed_valid = (gone || acts)
        && regs_d.acked[at] && !regs_d.egress[at] && !regs_d.hold_last[at];
    if (regs_d.freed_valid) begin
      regs_d.freed     = touched;
      regs_d.acked[at] = 1'b0;
      regs_d.used      = regs_q.used - 11'd1;
    end
    if (toss) begin
      regs_d.freed_valid = 1'b1;
      regs_d.freed       = toss_slot_i;
      regs_d.used        = regs_q.used - 11'd1;
    end

    if (build_valid_i) begin
      regs_d.egress[build_i.slot[SB-1:0]]    = 1'b1;
      regs_d.live[build_i.slot[SB-1:0]]      = 1'b1;
      regs_d.hold_last[build_i.slot[SB-1:0]] = build_i.last;
    end
    if (hold_valid_i) begin
      regs_d.egress[hold_slot_i[SB-1:0]] = 1'b1;
    end

    regs_d.fetching = fl_re_o;
    if (fl_re_o) begin
      regs_d.fl_head = after(regs_q.fl_head);
    end
    if (fl_we_o) begin
      regs_d.fl_tail = after(regs_q.fl_tail);
    end
    regs_d.fl_count = regs_q.fl_count + {10'd0, fl_we_o} - {10'd0, fl_re_o};

    if (slot_valid_o && slot_ready_i) begin
      regs_d.slot_valid = 1'b0;
      regs_d.used       = regs_d.used + 11'd1;
    end
    if (regs_q.fetching) begin
      regs_d.slot_valid = 1'b1;
      regs_d.slot       = fl_rdata_i;
    end else if (regs_q.fresh != ALL && (!slot_valid_o || slot_ready_i)) begin
      regs_d.slot_valid = 1'b1;
      regs_d.slot       = regs_q.fresh[9:0];
      regs_d.fresh      = regs_q.fresh + 11'd1;
    end
  end

  //////////////
  // Contract //
  //////////////

  // An offered slot stays until it is taken.
  `ASSERT(SlotWaits_A, slot_valid_o && !slot_ready_i |=> slot_valid_o && $stable(slot_o))
  // No slot is lost and none is there twice.
  logic [10:0] unused_sum;  // slots that are not in use; only the assertion reads it
  assign unused_sum = ALL - regs_q.fresh + regs_q.fl_count + 11'(regs_q.slot_valid)
      + 11'(regs_q.fetching) + 11'(regs_q.freed_valid);
  `ASSERT(Conserved_A, regs_q.used + unused_sum == ALL)
  // RTX-2: a copy is made of a packet that has left egress.
  `ASSERT(HoldsOne_A, hold_valid_i |-> !regs_q.egress[hold_slot_i[SB-1:0]])
  // It is there still.
  `ASSERT(
      HoldsOwned_A,
      hold_valid_i |-> regs_q.live[hold_slot_i[SB-1:0]] || regs_q.hold_last[hold_slot_i[SB-1:0]])
  // A slot that is freed has no copy in egress.
  `ASSERT(FreedHasLeft_A, regs_q.freed_valid |-> !regs_q.egress[regs_q.freed[SB-1:0]])

endmodule
