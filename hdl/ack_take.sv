// The sender's end of acknowledgements: finds the QP, retires what the cumulative PSN covers, and
// tells window, qp_table, tx_scheduler and completion.
//
// Twin of rtl-model/src/ack_take.rs. ACK-2, SACK-5 (cumulative part), QP-4, SEG-4, CPL-1.
// One frame at a time, taken when idle. Without partners' waits a frame takes 4 clocks, an ACK 5;
// 2 more where the QP's record changes, and 1 + n (1 + L) more to retire n packets, L clocks from a
// request to its response. A response of replay_store waits here while the window is busy.
//
// A frame whose PSN is at or above the next one to give (given), as a signed 24-bit difference with
// 0x800000 below, is ignored whole and counted as DropPsn; one for no open QP of that peer as
// DropQp. At or below the cumulative PSN nothing is retired and the record keeps its PSN.
// InitialPSN - 1 is legal. Order: retire (window less each packet's nominal size), record, `ack`,
// and for a cumulative ACK alone `cover`, with the frame's own PSN.
//
// Choices: every SACK, ACK and NACK that is not ignored starts a pass through `ack`, moved or not
// (SEG-4). SACKs and NACKs teach the receiver's number. NACKs are counted in `other` after that;
// probes and whatever else comes here are counted in `other` and released at once. A SACK's bitmap
// and drawing PSN are not looked at in this version.
// QP-6: a purge, taken between two frames, goes the way of an ACK for the last PSN given, whatever
// state its QP is in: packets are discarded, and the messages that completion has are forgotten.
// Those up to the old cumulative PSN, which `cover` carries, still have slots that are released.
//
// It is longer than a module should be: it has seven partners, and the stability of what it asks
// each of them is asserted.

`include "assert.svh"

module ack_take
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Control frames, from ingress_pool
  input  logic    in_valid_i,
  output logic    in_ready_o,
  input  parsed_t in_i,

  // QPs to empty, from qp_drain
  input  logic purge_valid_i,
  output logic purge_ready_o,
  input  qp_t  purge_qp_i,
  output logic purge_done_o,

  // Look up a QP, in qp_table
  output logic          find_valid_o,
  input  logic          find_ready_i,
  output qpn_t          find_qpn_o,
  output logic   [31:0] find_dest_ip_o,
  output logic          find_bare_o,
  input  logic          find_rsp_valid_i,
  input  logic          find_rsp_ok_i,
  input  qp_t           find_rsp_qp_i,
  input  psn_t          find_rsp_given_i,
  input  psn_t          find_rsp_cum_i,
  input  group_t        find_rsp_group_i,

  // Change its record, in qp_table
  output logic upd_valid_o,
  input  logic upd_ready_i,
  output qp_t  upd_qp_o,
  output psn_t upd_cum_o,
  output logic upd_learn_o,
  output qpn_t upd_remote_o,
  input  logic upd_done_i,

  // Retire a packet, in replay_store
  output logic   retire_valid_o,
  input  logic   retire_ready_i,
  output qp_t    retire_qp_o,
  output psn_t   retire_psn_o,
  output logic   retire_discard_o,
  input  logic   retire_rsp_valid_i,
  input  len_t   retire_rsp_len_i,
  input  group_t retire_rsp_group_i,
  input  logic   retire_rsp_last_i,
  input  logic   retire_rsp_flight_i,  // its bytes were in flight

  // Bytes that leave flight, to window
  output logic   sub_valid_o,
  input  logic   sub_ready_i,
  output group_t sub_group_o,
  output len_t   sub_bytes_o,

  // To tx_scheduler
  output logic   ack_valid_o,
  input  logic   ack_ready_i,
  output qp_t    ack_qp_o,
  output group_t ack_group_o,
  output psn_t   ack_cum_o,

  // To completion
  output logic cover_valid_o,
  input  logic cover_ready_i,
  output qp_t  cover_qp_o,
  output psn_t cover_cum_o,
  output logic cover_forget_o,

  // Events: release of the frame's charge (ingress_pool), frames ignored, frames without effect
  output logic  relc_valid_o,
  output len_t  relc_bytes_o,
  output logic  drop_valid_o,
  output drop_e drop_reason_o,
  output logic  other_valid_o,

  // Level, from csr
  input logic [6:0] cfg_nominal_overhead_i
);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [3:0] {
    Idle,     // takes a frame
    Find,     // asks for its QP
    Found,    // the QP is on its way
    Retire,   // retires packet after packet
    Update,   // asks for the record to change
    Updated,  // the change is on its way
    Tell,     // tx_scheduler is told
    Cover,    // completion is told
    Purge     // takes a QP to empty
  } state_e;

  typedef struct {
    state_e      state;
    logic        purge;         // a QP is emptied, there is no frame
    kind_e       kind;
    logic [31:0] dest_ip;
    qpn_t        qpn;
    psn_t        psn;           // the frame's; in a purge the cumulative one before it
    qpn_t        remote;        // the receiver's number
    len_t        charge;
    qp_t         qp;
    group_t      group;
    psn_t        cum;           // cumulative PSN after this frame
    logic        retire_valid;
    psn_t        retire_psn;    // the PSN that is being retired
    logic        retiring;      // its response is on its way
    logic        sub_valid;
    len_t        sub_bytes;
    logic        held;          // a response waits for `sub`
    len_t        held_bytes;
    logic        relc_valid;
    logic        drop_valid;
    drop_e       drop_reason;
    logic        other_valid;
    logic        purge_done;
  } regs_t;

  localparam regs_t RESET = '{state: Idle, kind: KindData, drop_reason: DropNone, default: '0};

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

  assign in_ready_o       = regs_q.state == Idle;
  assign purge_ready_o    = regs_q.state == Purge;
  assign purge_done_o     = regs_q.purge_done;
  assign find_valid_o     = regs_q.state == Find;
  assign find_qpn_o       = regs_q.qpn;
  assign find_dest_ip_o   = regs_q.dest_ip;
  assign find_bare_o      = regs_q.purge;
  assign upd_valid_o      = regs_q.state == Update;
  assign upd_qp_o         = regs_q.qp;
  assign upd_cum_o        = regs_q.cum;
  assign upd_learn_o      = regs_q.kind != KindAck;
  assign upd_remote_o     = regs_q.remote;
  assign retire_valid_o   = regs_q.retire_valid;
  assign retire_qp_o      = regs_q.qp;
  assign retire_psn_o     = regs_q.retire_psn;
  assign retire_discard_o = regs_q.purge;
  assign sub_valid_o      = regs_q.sub_valid;
  assign sub_group_o      = regs_q.group;
  assign sub_bytes_o      = regs_q.sub_bytes;
  assign ack_valid_o      = regs_q.state == Tell;
  assign ack_qp_o         = regs_q.qp;
  assign ack_group_o      = regs_q.group;
  assign ack_cum_o        = regs_q.cum;
  assign cover_valid_o    = regs_q.state == Cover;
  assign cover_qp_o       = regs_q.qp;
  assign cover_cum_o      = regs_q.psn;
  assign cover_forget_o   = regs_q.purge;
  assign relc_valid_o     = regs_q.relc_valid;
  assign relc_bytes_o     = regs_q.charge;
  assign drop_valid_o     = regs_q.drop_valid;
  assign drop_reason_o    = regs_q.drop_reason;
  assign other_valid_o    = regs_q.other_valid;

  ////////////////
  // Next state //
  ////////////////

  psn_t past_given;  // the frame's PSN less the next one to give; the top bit set means below
  psn_t ahead;  // the frame's PSN less the cumulative one
  logic moves;  // the cumulative PSN moves
  len_t nominal;  // bytes that leave flight
  assign past_given = regs_q.psn - find_rsp_given_i;
  assign ahead      = regs_q.psn - find_rsp_cum_i;
  assign moves      = regs_q.kind != KindNack && ahead != '0 && !ahead[PSN_BITS-1];
  assign nominal    = retire_rsp_len_i + len_t'(cfg_nominal_overhead_i);

  logic ends;  // the frame or the purge in work
  always_comb begin
    regs_d = regs_q;

    // Events last a clock.
    regs_d.relc_valid = 1'b0;
    regs_d.drop_valid = 1'b0;
    regs_d.other_valid = 1'b0;
    regs_d.purge_done = 1'b0;
    ends = 1'b0;

    unique case (regs_q.state)
      Idle: begin
        if (in_valid_i) begin
          regs_d.kind    = in_i.kind;
          regs_d.dest_ip = in_i.src_ip;
          regs_d.qpn     = in_i.qpn;
          regs_d.psn     = in_i.psn;
          regs_d.remote  = {in_i.ctrl[96+:8], in_i.ctrl[64+:8], in_i.ctrl[72+:8]};
          regs_d.charge  = in_i.charge;
          if (in_i.kind inside {KindAck, KindSack, KindNack}) begin
            regs_d.state = Find;
          end else begin
            ends               = 1'b1;
            regs_d.other_valid = 1'b1;
          end
        end else if (purge_valid_i) begin
          regs_d.state = Purge;
        end
      end

      Purge: begin
        regs_d.purge = 1'b1;
        regs_d.kind  = KindAck;
        regs_d.qpn   = {16'd0, purge_qp_i};
        regs_d.state = Find;
      end

      Find: begin
        if (find_ready_i) begin
          regs_d.state = Found;
        end
      end

      Found: begin
        if (find_rsp_valid_i) begin
          regs_d.qp         = find_rsp_qp_i;
          regs_d.group      = find_rsp_group_i;
          regs_d.cum        = moves ? regs_q.psn : find_rsp_cum_i;
          regs_d.retire_psn = find_rsp_cum_i + 24'd1;
          if (regs_q.purge) begin
            regs_d.psn          = find_rsp_cum_i;
            regs_d.cum          = find_rsp_given_i - 24'd1;
            regs_d.retire_valid = regs_d.cum != find_rsp_cum_i;
            regs_d.state        = regs_d.retire_valid ? Retire : Tell;
          end else if (!find_rsp_ok_i || !past_given[PSN_BITS-1]) begin
            ends               = 1'b1;
            regs_d.drop_valid  = 1'b1;
            regs_d.drop_reason = find_rsp_ok_i ? DropPsn : DropQp;
          end else if (moves) begin
            regs_d.state        = Retire;
            regs_d.retire_valid = 1'b1;
          end else begin
            regs_d.state = regs_q.kind == KindAck ? Tell : Update;
          end
        end
      end

      Retire: begin
        if (retire_ready_i && regs_q.retire_valid) begin
          regs_d.retire_valid = 1'b0;
          regs_d.retiring     = 1'b1;
        end
        if (sub_ready_i) begin
          regs_d.sub_valid = regs_q.held;
          regs_d.sub_bytes = regs_q.held ? regs_q.held_bytes : regs_q.sub_bytes;
          regs_d.held      = 1'b0;
        end
        if (retire_rsp_valid_i && regs_q.retiring) begin
          regs_d.retiring = 1'b0;
          if (retire_rsp_flight_i && regs_d.sub_valid) begin
            regs_d.held       = 1'b1;
            regs_d.held_bytes = nominal;
          end else if (retire_rsp_flight_i) begin
            regs_d.sub_valid = 1'b1;
            regs_d.sub_bytes = nominal;
          end
        end
        // The next request goes out when its response has a place to wait.
        if (!regs_d.retire_valid && !regs_d.retiring && !regs_d.held) begin
          if (regs_q.retire_psn != regs_q.cum) begin
            regs_d.retire_valid = 1'b1;
            regs_d.retire_psn   = regs_q.retire_psn + 24'd1;
          end else if (!regs_d.sub_valid) begin
            regs_d.state = Update;
          end
        end
      end

      Update: begin
        if (upd_ready_i) begin
          regs_d.state = Updated;
        end
      end

      Updated: begin
        if (upd_done_i) begin
          regs_d.state = Tell;
        end
      end

      Tell: begin
        if (ack_ready_i) begin
          if (regs_q.kind == KindAck) begin
            regs_d.state = Cover;
          end else begin
            ends               = 1'b1;
            regs_d.other_valid = regs_q.kind == KindNack;
          end
        end
      end

      default: ends = cover_ready_i;  // Cover
    endcase

    if (ends) begin
      regs_d.state      = purge_valid_i && !regs_q.purge ? Purge : Idle;
      regs_d.relc_valid = !regs_q.purge;
      regs_d.purge_done = regs_q.purge;
      regs_d.purge      = 1'b0;
    end
  end

  // Fields of other kinds of frames; replay_store knows the group and the last packet, too.
  logic unused;
  assign unused = &{1'b0, in_i, retire_rsp_group_i, retire_rsp_last_i};

  //////////////
  // Contract //
  //////////////

  // What is not taken stays as it is.
  `ASSERT(FindStable_A, find_valid_o && !find_ready_i |=> find_valid_o && $stable
                        ({find_qpn_o, find_dest_ip_o}))
  `ASSERT(UpdStable_A, upd_valid_o && !upd_ready_i |=> upd_valid_o && $stable
                       ({upd_qp_o, upd_cum_o, upd_learn_o, upd_remote_o}))
  `ASSERT(RetireStable_A, retire_valid_o && !retire_ready_i |=> retire_valid_o && $stable
                          ({retire_qp_o, retire_psn_o}))
  `ASSERT(SubStable_A, sub_valid_o && !sub_ready_i |=> sub_valid_o && $stable
                       ({sub_group_o, sub_bytes_o}))
  `ASSERT(AckStable_A, ack_valid_o && !ack_ready_i |=> ack_valid_o && $stable
                       ({ack_qp_o, ack_group_o, ack_cum_o}))
  `ASSERT(CoverStable_A, cover_valid_o && !cover_ready_i |=> cover_valid_o && $stable
                         ({cover_qp_o, cover_cum_o, cover_forget_o}))

  // A purge that has been offered stays until it is taken.
  `ASSERT(PurgeWaits_A, purge_ready_o |-> purge_valid_i)

  // Only packets of the QP's group leave its flight.
  `ASSERT(GroupAgrees_A,
          retire_rsp_valid_i && retire_rsp_flight_i |-> retire_rsp_group_i == regs_q.group)

  // Nothing leaves flight once tx_scheduler is told.
  `ASSERT(RetiredFirst_A, ack_valid_o |-> !sub_valid_o && !retire_valid_o && !regs_q.held)

endmodule
