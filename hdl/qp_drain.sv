// QP drain: ends a QP before its messages do, on error or when the host closes it (QP-6).
//
// Twin of rtl-model/src/qp_drain.rs. One QP at a time, lowest slot first; without partners' waits 8
// clocks and what the purge takes; a close is also as long as the fetches that are under way. A
// segment that came to nothing takes 3 clocks and may come between, while a QP waits for its
// fetches or there is none in work. Requests are noted in the clock in which they come.
//
// The order makes each thing end once. qp_table marks the QP (it takes no message from then on, and
// payload_fetch hands on no segment of it); doorbell's post under way is waited for; tx_scheduler
// forgets its queue; packet_build ends what it has of it; ack_take discards what is not retired
// (flight, slots, messages). A close then waits for the fetches under way, so that no segment of
// the old QP meets a new one, and frees the slot. A second drain of a QP finds nothing left.
// A segment that came to nothing gives back its slot, its egress room and its bytes in flight, and
// tx_scheduler may go on with its group; if its read has failed (a reason) its QP ends. So in an
// error the bytes of payloads still to come leave flight as they arrive. BUF-5: with a prefetch
// buffer its room is there, as it was not committed; a close waits for the commits of others.
// Why: the first reason is kept, but a close comes before any. An error is told once, as `error`.
// Borders: a hand-off, a build or an issue in the clock in which their wait begins; a failed read
// in the middle of a close; both ends of the table.
//
// It is longer than a module should be: it has ten partners, and its ports take a third of it.

`include "assert.svh"

module qp_drain
  import nic_pkg::*;
#(
  parameter int unsigned QPS = 256
) (
  input logic clk_i,
  input logic rst_ni,

  // Segments that came to nothing, from payload_fetch; reason 0: their QP has ended
  input  logic           failed_valid_i,
  output logic           failed_ready_o,
  input  segment_t       failed_i,
  input  logic     [2:0] failed_reason_i,

  // Budgets that are spent, from retransmit
  input  logic fail_valid_i,
  output logic fail_ready_o,
  input  qp_t  fail_qp_i,
  input  why_e fail_why_i,

  // Budgets that NACKs have spent, from ack_take
  input logic spent_valid_i,
  input qp_t  spent_qp_i,

  // Closes with messages outstanding, from qp_table
  input logic drain_valid_i,
  input qp_t  drain_qp_i,

  // Marks and frees, to qp_table
  output logic   end_valid_o,
  input  logic   end_ready_i,
  output qp_t    end_qp_o,
  output logic   end_close_o,
  output logic   end_free_o,
  input  logic   end_rsp_valid_i,
  input  logic   end_rsp_ok_i,
  input  qpn_t   end_rsp_qpn_i,
  input  group_t end_rsp_group_i,

  // The post under way, of doorbell
  input logic post_sched_valid_i,
  input logic post_done_valid_i,
  input qp_t  post_qp_i,

  // QPs that send nothing more, to tx_scheduler
  output logic   drop_valid_o,
  input  logic   drop_ready_i,
  output qp_t    drop_qp_o,
  output group_t drop_group_o,

  // Segments issued, handed on, and built: tx_scheduler, payload_fetch, packet_build
  input logic     seg_valid_i,
  input logic     seg_ready_i,
  input segment_t seg_i,
  input logic     hand_valid_i,
  input logic     hand_ready_i,
  input segment_t hand_i,
  input logic     built_valid_i,

  // QPs to empty, to ack_take
  output logic purge_valid_o,
  input  logic purge_ready_i,
  output qp_t  purge_qp_o,
  input  logic purge_done_i,

  // What a segment gives back: slot to replay_store, bytes to window and to egress_arbiter
  output logic   toss_valid_o,
  input  logic   toss_ready_i,
  output slot_t  toss_slot_o,
  output logic   flight_valid_o,
  input  logic   flight_ready_i,
  output group_t flight_group_o,
  output len_t   flight_bytes_o,   // nominal
  output logic   unresv_valid_o,
  output logic   unfetch_valid_o,  // the same to prefetch_pool instead, where there is one (BUF-5)
  output len_t   unresv_bytes_o,   // on the wire

  // For the log
  output logic error_valid_o,
  output qpn_t error_qpn_o,
  output why_e error_why_o,

  // Levels, from csr
  input logic [6:0] cfg_wire_overhead_i,
  input logic [6:0] cfg_nominal_overhead_i,
  input logic       cfg_prefetch_on_i        // payloads wait in the prefetch buffer (BUF-5)
);

  localparam int unsigned QB = $clog2(QPS);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [3:0] {
    Idle,     // takes a segment, or a QP that is to end
    Mark,     // asks qp_table
    Marked,   // its answer is on its way
    Settle,   // waits for doorbell's post
    Drop,     // tx_scheduler is told
    Build,    // waits for packet_build
    Purge,    // asks ack_take
    Purged,   // waits for its end
    Fetches,  // a close: waits for the fetches under way
    Free,     // asks qp_table for the slot
    Freed,    // its answer is on its way
    Toss,     // a segment gives back what it has
    Tossed    // tx_scheduler is told
  } state_e;

  typedef struct {
    state_e         state;
    logic [QPS-1:0] due;            // QPs that are to end
    why_e           why[QPS];
    qp_t            qp;             // the one in work
    group_t         group;
    why_e           cause;
    logic           counts;         // `left` counts down
    logic [10:0]    left;           // builds or fetches to wait for
    logic [10:0]    fetching;       // segments issued and not handed on
    logic [1:0]     building;       // segments handed on and not built
    logic           emptying;       // a close waits for its fetches
    qp_t            toss_qp;        // of the segment in work
    group_t         toss_group;
    logic           toss_valid;
    slot_t          toss_slot;
    logic           flight_valid;
    len_t           flight_bytes;
    logic           unresv_valid;
    logic           unfetch_valid;
    len_t           unresv_bytes;
    logic           error_valid;
    qpn_t           error_qpn;
  } regs_t;

  localparam regs_t RESET = '{
      state: Idle,
      why: '{default: WhyRead},
      cause: WhyRead,
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

  assign failed_ready_o  = regs_q.state inside {Idle, Fetches};
  assign fail_ready_o    = 1'b1;
  assign end_valid_o     = regs_q.state inside {Mark, Free};
  assign end_qp_o        = regs_q.qp;
  assign end_close_o     = regs_q.cause == WhyClose;
  assign end_free_o      = regs_q.state == Free;
  assign drop_valid_o    = regs_q.state inside {Drop, Tossed};
  assign drop_qp_o       = regs_q.state == Tossed ? regs_q.toss_qp : regs_q.qp;
  assign drop_group_o    = regs_q.state == Tossed ? regs_q.toss_group : regs_q.group;
  assign purge_valid_o   = regs_q.state == Purge;
  assign purge_qp_o      = regs_q.qp;
  assign toss_valid_o    = regs_q.toss_valid;
  assign toss_slot_o     = regs_q.toss_slot;
  assign flight_valid_o  = regs_q.flight_valid;
  assign flight_group_o  = regs_q.toss_group;
  assign flight_bytes_o  = regs_q.flight_bytes;
  assign unresv_valid_o  = regs_q.unresv_valid;
  assign unfetch_valid_o = regs_q.unfetch_valid;
  assign unresv_bytes_o  = regs_q.unresv_bytes;
  assign error_valid_o   = regs_q.error_valid;
  assign error_qpn_o     = regs_q.error_qpn;
  assign error_why_o     = regs_q.cause;

  ////////////////
  // Next state //
  ////////////////

  // What moves in this clock
  logic        fails;  // a segment has come to nothing
  logic        issued;
  logic        handed;
  logic [10:0] fetching;  // after it
  logic [ 1:0] building;
  assign fails    = failed_valid_i && failed_ready_o;
  assign issued   = seg_valid_i && seg_ready_i;
  assign handed   = hand_valid_i && hand_ready_i;
  assign fetching = regs_q.fetching + 11'(issued) - 11'(handed) - 11'(fails);
  assign building = regs_q.building + 2'(handed) - 2'(built_valid_i);

  // The lowest QP that is to end
  qp_t lowest;
  always_comb begin
    lowest = '0;
    for (int unsigned n = QPS; n > 0; n--) begin
      if (regs_q.due[n-1]) begin
        lowest = qp_t'(n - 1);
      end
    end
  end

  always_comb begin
    regs_d               = regs_q;
    regs_d.fetching      = fetching;
    regs_d.building      = building;
    regs_d.toss_valid    = regs_q.toss_valid && !toss_ready_i;
    regs_d.flight_valid  = regs_q.flight_valid && !flight_ready_i;
    regs_d.unresv_valid  = 1'b0;
    regs_d.unfetch_valid = 1'b0;
    regs_d.error_valid   = 1'b0;
    if (regs_q.counts && regs_q.left != '0) begin
      regs_d.left = regs_q.left - 11'(regs_q.emptying ? handed || fails : built_valid_i);
    end

    unique case (regs_q.state)
      Idle: begin
        if (!fails && regs_q.due != '0) begin
          regs_d.qp                  = lowest;
          regs_d.cause               = regs_q.why[lowest[QB-1:0]];
          regs_d.due[lowest[QB-1:0]] = 1'b0;
          regs_d.state               = Mark;
        end
      end

      Mark: if (end_ready_i) regs_d.state = Marked;

      Marked: begin
        if (end_rsp_valid_i) begin
          regs_d.group       = end_rsp_group_i;
          regs_d.error_qpn   = end_rsp_qpn_i;
          regs_d.error_valid = end_rsp_ok_i && regs_q.cause != WhyClose;
          regs_d.state       = end_rsp_ok_i ? Settle : Idle;
        end
      end

      Settle: begin
        if (!((post_sched_valid_i || post_done_valid_i) && post_qp_i == regs_q.qp)) begin
          regs_d.state = Drop;
        end
      end

      Drop: if (drop_ready_i) regs_d.state = Build;

      Build: begin
        if (!regs_q.counts) begin
          regs_d.counts = !(hand_valid_i && hand_i.qp == regs_q.qp);
          regs_d.left   = 11'(building);
        end else if (regs_q.left == '0) begin
          regs_d.counts = 1'b0;
          regs_d.state  = Purge;
        end
      end

      Purge: if (purge_ready_i) regs_d.state = Purged;

      Purged: begin
        if (purge_done_i) begin
          regs_d.emptying = regs_q.cause == WhyClose;
          regs_d.state    = regs_q.cause == WhyClose ? Fetches : Idle;
        end
      end

      Fetches: begin
        if (!regs_q.counts) begin
          regs_d.counts = !(seg_valid_i && seg_i.qp == regs_q.qp);
          regs_d.left   = fetching;
        end else if (regs_q.left == '0 && !fails) begin
          regs_d.counts   = 1'b0;
          regs_d.emptying = 1'b0;
          regs_d.state    = Free;
        end
      end

      Free: if (end_ready_i) regs_d.state = Freed;

      Freed: begin
        if (end_rsp_valid_i) begin
          regs_d.due[regs_q.qp[QB-1:0]] = 1'b0;
          regs_d.state                  = Idle;
        end
      end

      Toss: begin
        if (!regs_d.toss_valid && !regs_d.flight_valid) begin
          regs_d.state = Tossed;
        end
      end

      default: begin  // Tossed
        if (drop_ready_i) begin
          regs_d.state = regs_q.emptying ? Fetches : Idle;
        end
      end
    endcase

    if (fails) begin
      regs_d.state         = Toss;
      regs_d.toss_qp       = failed_i.qp;
      regs_d.toss_group    = failed_i.group;
      regs_d.toss_slot     = failed_i.slot;
      regs_d.toss_valid    = 1'b1;
      regs_d.flight_valid  = 1'b1;
      regs_d.flight_bytes  = failed_i.len + len_t'(cfg_nominal_overhead_i);
      regs_d.unresv_valid  = !cfg_prefetch_on_i;
      regs_d.unfetch_valid = cfg_prefetch_on_i;
      regs_d.unresv_bytes  = failed_i.len + len_t'(cfg_wire_overhead_i);
      if (failed_reason_i != '0) begin
        if (!regs_d.due[failed_i.qp[QB-1:0]]) begin
          regs_d.why[failed_i.qp[QB-1:0]] = WhyRead;
        end
        regs_d.due[failed_i.qp[QB-1:0]] = 1'b1;
      end
    end
    if (fail_valid_i) begin
      if (!regs_d.due[fail_qp_i[QB-1:0]]) begin
        regs_d.why[fail_qp_i[QB-1:0]] = fail_why_i;
      end
      regs_d.due[fail_qp_i[QB-1:0]] = 1'b1;
    end
    if (spent_valid_i) begin
      if (!regs_d.due[spent_qp_i[QB-1:0]]) begin
        regs_d.why[spent_qp_i[QB-1:0]] = WhyNack;
      end
      regs_d.due[spent_qp_i[QB-1:0]] = 1'b1;
    end
    if (drain_valid_i) begin
      regs_d.why[drain_qp_i[QB-1:0]] = WhyClose;
      regs_d.due[drain_qp_i[QB-1:0]] = 1'b1;
    end
  end

  // Only the QPs of segments on their way matter.
  logic unused;
  assign unused = &{1'b0, failed_i, seg_i, hand_i};

  //////////////
  // Contract //
  //////////////

  // What a partner does not take stays as it is.
  `ASSERT(EndWaits_A, end_valid_o && !end_ready_i |=> end_valid_o && $stable
                      ({end_qp_o, end_close_o, end_free_o}))
  `ASSERT(DropWaits_A, drop_valid_o && !drop_ready_i |=> drop_valid_o && $stable
                       ({drop_qp_o, drop_group_o}))
  `ASSERT(PurgeWaits_A, purge_valid_o && !purge_ready_i |=> purge_valid_o && $stable(purge_qp_o))
  `ASSERT(TossWaits_A, toss_valid_o && !toss_ready_i |=> toss_valid_o && $stable(toss_slot_o))
  `ASSERT(FlightWaits_A, flight_valid_o && !flight_ready_i |=> flight_valid_o && $stable
                         ({flight_group_o, flight_bytes_o}))
  // A segment is handed on or it is not.
  `ASSERT(EitherWay_A, !(handed && fails))
  // No more is handed on than was issued, nor built than was handed on.
  `ASSERT(Fetching_A, handed || fails |-> regs_q.fetching != '0)
  `ASSERT(Building_A, built_valid_i |-> regs_q.building != '0)
  // Of one segment it is told once.
  `ASSERT(OneSegment_A, fails |-> !regs_q.toss_valid && !regs_q.flight_valid)

endmodule
