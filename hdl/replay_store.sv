// Replay store: hands out slots and keeps the record of each packet until it is acknowledged.
//
// Twin of rtl-model/src/replay_store.rs. The payloads lie in memories beside it, a slot each.
// PKT-6: a slot is free when its packet is acknowledged and no copy of it is in egress; the last
// packet of a message also waits for `final`, sent with WQE_COMPLETE. SEG-5 counts on it: `slot`
// is valid while any slot is free, apart from the 2 clocks after each one taken from those freed,
// and 4 clocks after a slot is freed where there was none. Slots go out fresh ones first, 0
// upward, then in the order in which they were freed.
// Latency: a record is kept in the clock in which `build` is taken (always); a retire taken in
// clock N is answered in clock N + 3, a final takes 2 clocks; `gone` acts at once and holds back
// for a clock a retire or a final that is about to act. Retire before final (section 16: the
// acknowledgement before its completion); build, gone and one of them may meet in one clock.
// QP-6: a retire with `discard` does not wait for a `final`; a toss frees a slot that was never
// built, in a clock in which nothing else may free one.
// Borders: the last slot of all taken; acknowledged in egress and the other way round; a last
// packet's `final` before and after `gone`; PSNs modulo PSNS; both ends of the memory of free ones.
// A PSN is built before it is retired or final, once each; a slot is gone once after its build.
// Memory ports are combinational: writes of `map` and `rec` from `build`, reads of `map` from
// requests, of `rec` from `map_rdata`; those of `fl` come from registers.
//
// It is longer than a module should be: it has six partners and three memories, and its ports take
// a third of it.

`include "assert.svh"

module replay_store
  import nic_pkg::*;
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

  // Packets built, from packet_build
  input  logic   build_valid_i,
  output logic   build_ready_o,
  input  qp_t    build_qp_i,
  input  psn_t   build_psn_i,
  input  slot_t  build_slot_i,
  input  len_t   build_len_i,
  input  logic   build_last_i,
  input  group_t build_group_i,
  input  msg_t   build_msg_i,

  // Packets acknowledged, from ack_take
  input  logic   retire_valid_i,
  output logic   retire_ready_o,
  input  qp_t    retire_qp_i,
  input  psn_t   retire_psn_i,
  input  logic   retire_discard_i,
  output logic   retire_rsp_valid_o,
  output len_t   retire_rsp_len_o,
  output group_t retire_rsp_group_o,
  output logic   retire_rsp_last_o,

  // Last packets of messages completed, from completion
  input  logic final_valid_i,
  output logic final_ready_o,
  input  qp_t  final_qp_i,
  input  psn_t final_psn_i,

  // Slots of segments that came to nothing, from qp_drain
  input  logic  toss_valid_i,
  output logic  toss_ready_o,
  input  slot_t toss_slot_i,

  // Frames serialised, from port_tx
  input logic  gone_valid_i,
  input logic  gone_data_i,
  input slot_t gone_slot_i,

  // Slots handed out and not free again
  output logic [10:0] used_o,

  // Slot of each PSN outstanding: word qp * PSNS + psn mod PSNS
  output logic        map_we_o,
  output logic [31:0] map_waddr_o,
  output logic [ 9:0] map_wdata_o,
  output logic        map_re_o,
  output logic [31:0] map_raddr_o,
  input  logic [ 9:0] map_rdata_i,

  // Record of each slot: len in 32:19, last in 18, group in 17:10, msg in 9:0
  output logic        rec_we_o,
  output logic [31:0] rec_waddr_o,
  output logic [32:0] rec_wdata_o,
  output logic        rec_re_o,
  output logic [31:0] rec_raddr_o,
  input  logic [32:0] rec_rdata_i,

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
    Idle,    // takes a retire or a final, and reads its slot
    Retire,  // has the slot, reads the record
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
    slot_t            retiring;     // slot of the retire in `Answer`
    logic             discards;     // it waits for no `final`
    logic             rsp_valid;
    len_t             rsp_len;
    group_t           rsp_group;
    logic             rsp_last;
    logic [SLOTS-1:0] acked;
    logic [SLOTS-1:0] egress;       // a copy waits or is being serialised
    logic [SLOTS-1:0] hold_last;    // waits for `final`
  } regs_t;

  localparam regs_t RESET = '{state: Idle, default: '0};

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
  assign retire_ready_o = regs_q.state == Idle;
  assign final_ready_o = regs_q.state == Idle && !retire_valid_i;

  assign retire_rsp_valid_o = regs_q.rsp_valid;
  assign retire_rsp_len_o = regs_q.rsp_len;
  assign retire_rsp_group_o = regs_q.rsp_group;
  assign retire_rsp_last_o = regs_q.rsp_last;

  assign map_we_o = build_valid_i;
  assign map_waddr_o = build_valid_i ? place(build_qp_i, build_psn_i) : '0;
  assign map_wdata_o = build_valid_i ? build_slot_i : '0;
  assign rec_we_o = build_valid_i;
  assign rec_waddr_o = build_valid_i ? {22'd0, build_slot_i} : '0;
  assign rec_wdata_o = build_valid_i ? {build_len_i, build_last_i, build_group_i, build_msg_i} : '0;

  logic [31:0] asked;  // the address of the packet asked for
  assign asked = retire_valid_i ? place(retire_qp_i, retire_psn_i) : place(final_qp_i, final_psn_i);
  assign map_re_o = regs_q.state == Idle && (retire_valid_i || final_valid_i);
  assign map_raddr_o = map_re_o ? asked : '0;

  assign rec_re_o = regs_q.state == Retire;
  assign rec_raddr_o = rec_re_o ? {22'd0, map_rdata_i} : '0;

  assign fl_we_o = regs_q.freed_valid;
  assign fl_waddr_o = {22'd0, regs_q.fl_tail};
  assign fl_wdata_o = regs_q.freed;
  assign fl_re_o    = !regs_q.slot_valid && !regs_q.fetching && regs_q.fresh == ALL
      && regs_q.fl_count != '0;
  assign fl_raddr_o = {22'd0, regs_q.fl_head};

  ////////////////
  // Next state //
  ////////////////

  // A record's message is for the retransmissions of it; a retire does not name it.
  logic unused_msg;
  assign unused_msg = &{1'b0, rec_rdata_i[9:0]};

  // The slot after this one in the ring of free ones.
  function automatic slot_t after(slot_t at);
    return 32'(at) == SLOTS - 1 ? '0 : at + 10'd1;
  endfunction

  logic gone;  // a data frame has left
  assign gone = gone_valid_i && gone_data_i;

  logic acts;  // a retire or a final acts
  assign acts = !gone && (regs_q.state == Answer || regs_q.state == Final);

  slot_t touched;  // the slot that may become free
  assign touched = gone ? gone_slot_i : regs_q.state == Answer ? regs_q.retiring : map_rdata_i;

  logic toss;  // a slot is tossed
  assign toss_ready_o = !gone && !acts;
  assign toss = toss_valid_i && toss_ready_o;

  logic [SB-1:0] at;
  assign at = touched[SB-1:0];

  always_comb begin
    regs_d = regs_q;

    regs_d.rsp_valid = acts && regs_q.state == Answer;
    unique case (regs_q.state)
      Idle: begin
        if (retire_valid_i) begin
          regs_d.state    = Retire;
          regs_d.discards = retire_discard_i;
        end else if (final_valid_i) begin
          regs_d.state = Final;
        end
      end
      Retire: begin
        regs_d.retiring = map_rdata_i;
        regs_d.state    = Answer;
      end
      Answer: begin
        if (acts) begin
          regs_d.rsp_len   = rec_rdata_i[32:19];
          regs_d.rsp_last  = rec_rdata_i[18];
          regs_d.rsp_group = rec_rdata_i[17:10];
          regs_d.acked[at] = 1'b1;
          regs_d.state     = Idle;
          if (regs_q.discards) begin
            regs_d.hold_last[at] = 1'b0;
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

    if (gone) begin
      regs_d.egress[at] = 1'b0;
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
      regs_d.egress[build_slot_i[SB-1:0]] = 1'b1;
      regs_d.hold_last[build_slot_i[SB-1:0]] = build_last_i;
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
  // A slot that is freed has no copy in egress.
  `ASSERT(FreedHasLeft_A, regs_q.freed_valid |-> !regs_q.egress[regs_q.freed[SB-1:0]])

endmodule
