// The sender's end of acknowledgements: finds the QP, retires what a frame acknowledges, finds what
// is lost, and tells window, qp_table, tx_scheduler, retransmit and completion.
//
// Twin of rtl-model/src/ack_take.rs. ACK-2, SACK-4, SACK-5, LOS-1, LOS-2, NAK-1, NAK-2, QP-4,
// SEG-4, CPL-1, PTH-1. One frame at a time, taken when idle. Without partners' waits a frame that
// changes nothing takes 5 clocks, an ACK 6, and 2 more where the QP's record changes. L clocks from
// a request to retire to its response: n packets take n (1 + L) more, or 6 n where that is longer,
// and a bitmap 6 more; a SACK and the ACK of its packet stay below 83 clocks for L up to 30.
//
// A record of what is outstanding (sack_bitmap): packet_build's packets are set in it as they come,
// before anything else; a QP that opens begins without. A frame is ignored whole and counted as
// DropPsn if any PSN that it names (its own, the one that drew it, the highest listed) is at or
// above the next one to give, as a signed 24-bit difference with 0x800000 below; one for no open QP
// of that peer as DropQp. The packet that is being built counts as not given (SACK-5): it is in
// nobody's record yet. Order: retire (window less each packet's nominal size) up to the
// cumulative PSN, then what the bitmap lists beyond it; gap search; record; `ack`; for a cumulative
// ACK alone `cover`, with the frame's own PSN. A listed PSN below the new cumulative one is passed
// over, so that the ring is not asked outside the window.
// LOS-1: with a bit set and no recovery, each packet outstanding more than cfg_loss below the
// highest one listed is `lose`; retransmit says whether it goes again. LOS-2: if any does, none is
// looked for until the last PSN given before this frame is acknowledged.
// NAK-1: a packet outstanding is `lose` with the code's cause; TRIMMED marks its path, as does a
// SACK with m = 1, whatever became of the packet. PTH-2: a SACK that answers a probe has its id
// where others have the PSN that drew them. NAK-2: a `lose` that is fatal is `spent`.
// RTT-1, ACK-2: `timed` tells rtt_sample of a SACK or a NACK, known by its code, whose packet was
// outstanding: how often it was sent, and when last. Where a SACK does not retire the packet that
// drew it, because its bitmap is about others, retransmit is asked before the gap search, 8 clocks
// or so. An answer to a probe is told by `probed`, with the same stamps.
// QP-6: a purge, taken between two frames, goes the way of an ACK for the last PSN given, whatever
// state its QP is in. It discards each packet past the cumulative PSN, the retired ones too,
// because a message's last packet keeps its slot; the messages that completion has are forgotten.
// Those up to the old cumulative PSN, which `cover` carries, still have slots that are released.
//
// CPL-2: a check, taken between two frames, is clear if all of a message up to its last packet was
// given and is retired. A PSN at or below the cumulative one is; the record knows of the others.
//
// Choices: every SACK, ACK and NACK that is not ignored starts a pass through `ack`, moved or not
// (SEG-4). SACKs and NACKs teach the receiver's number. A NACK with another code changes nothing
// else and is counted in `other`; so are probes and whatever else comes here, released at once.
//
// It is longer than a module should be: it has twelve partners, and the stability of what it asks
// each of them is asserted.

`include "assert.svh"

module ack_take
  import nic_pkg::*;
  import bitmap_pkg::*;
  import resend_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Control frames, from ingress_pool
  input  logic    in_valid_i,
  output logic    in_ready_o,
  input  parsed_t in_i,

  // QPs to empty, from qp_drain; budgets that are spent, to it
  input  logic purge_valid_i,
  output logic purge_ready_o,
  input  qp_t  purge_qp_i,
  output logic purge_done_o,
  output logic spent_valid_o,
  output qp_t  spent_qp_o,

  // Is a message retired from its first packet to its last?, from ack_ask
  input  logic check_valid_i,
  output logic check_ready_o,
  input  qp_t  check_qp_i,
  input  psn_t check_first_i,
  input  psn_t check_last_i,
  output logic check_rsp_valid_o,
  output logic check_rsp_clear_o,

  // The packet that is being built for the first time, from packet_build
  input logic building_valid_i,
  input qp_t  building_qp_i,
  input psn_t building_psn_i,

  // Packets built {qp, psn}, from packet_build; QPs that open, from qp_table
  input  logic        built_valid_i,
  output logic        built_ready_o,
  input  logic [31:0] built_i,
  input  logic        created_valid_i,
  input  qpn_t        created_qpn_i,

  // The record of what is outstanding, in sack_bitmap
  output logic           map_valid_o,
  input  logic           map_ready_i,
  output bitmap_e        map_op_o,
  output qp_t            map_qp_o,
  output psn_t           map_psn_o,
  output psn_t           map_end_o,
  input  logic           map_rsp_valid_i,
  output logic           map_rsp_ready_o,
  input  logic           map_rsp_hit_i,
  input  psn_t           map_rsp_psn_i,
  input  logic    [63:0] map_rsp_bits_i,

  // Look up a QP, in qp_table
  output logic          work_valid_o,         // level: a frame is in work, of the QP in this slot
  output qp_t           work_qp_o,
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
  input  dest_t         find_rsp_dest_i,
  input  logic          find_rsp_recovers_i,
  input  psn_t          find_rsp_recover_i,

  // Change its record, in qp_table
  output logic upd_valid_o,
  input  logic upd_ready_i,
  output qp_t  upd_qp_o,
  output psn_t upd_cum_o,
  output logic upd_learn_o,
  output qpn_t upd_remote_o,
  output logic upd_recovers_o,
  output psn_t upd_recover_o,
  input  logic upd_done_i,

  // Retire a packet, in retransmit
  output logic   retire_valid_o,
  input  logic   retire_ready_i,
  output qp_t    retire_qp_o,
  output psn_t   retire_psn_o,
  output logic   retire_discard_o,
  input  logic   retire_rsp_valid_i,
  input  logic   retire_rsp_flight_i,
  input  len_t   retire_rsp_len_i,
  input  group_t retire_rsp_group_i,
  input  logic   retire_rsp_last_i,
  input  logic [7:0] retire_rsp_sent_i,
  input  logic [47:0] retire_rsp_at_i,

  // Bytes that leave flight, to window
  output logic   sub_valid_o,
  input  logic   sub_ready_i,
  output group_t sub_group_o,
  output len_t   sub_bytes_o,

  // Packets lost, to retransmit
  output logic   lose_valid_o,
  input  logic   lose_ready_i,
  output qp_t    lose_qp_o,
  output psn_t   lose_psn_o,
  output cause_e lose_cause_o,
  input  logic   lose_rsp_valid_i,
  input  logic   lose_rsp_queued_i,
  input  logic   lose_rsp_fatal_i,
  input  logic [7:0] lose_rsp_sent_i,
  input  logic [47:0] lose_rsp_at_i,

  // Paths to be passed over once, to path_select
  output logic         skip_valid_o,
  output dest_t        skip_dest_o,
  output logic  [15:0] skip_port_o,

  // Answers to probes, of the same destination and port, to path_probe
  output logic        probed_valid_o,
  output logic [15:0] probed_id_o,
  output logic        probed_good_o,   // m = 0

  // Frames whose packet was outstanding, and stamps for them and for `probed`, to rtt_sample
  output logic timed_valid_o,
  output logic timed_nack_o,
  output logic [7:0] timed_sent_o,  // transmissions of the packet
  output logic [47:0] timed_at_o,  // clock of the end of the last one
  output group_t timed_group_o,
  output logic [47:0] timed_arrived_o,  // clock in which the frame had arrived
  output logic timed_rtx_o,  // its retransmit flag
  output logic timed_stamped_o,  // it has an echo
  output logic [15:0] timed_word_o,  // a SACK's service time, with what it echoes; a NACK's echo

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

  // Levels, from csr
  input logic [ 6:0] cfg_nominal_overhead_i,
  input logic [10:0] cfg_loss_i               // SACKLossMinRetxPkts
);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [3:0] {
    Idle,     // takes a frame
    Find,     // asks for its QP
    Found,    // the QP is on its way
    Retire,   // retires packet after packet
    Gap,      // looks for the next packet lost, or at the one that a NACK names
    Lose,     // retransmit is told of it
    Lost,     // its answer is on its way
    Update,   // asks for the record to change
    Updated,  // the change is on its way
    Tell,     // tx_scheduler is told
    Cover,    // completion is told
    Purge,    // takes a QP to empty
    Check     // takes a message to look at
  } state_e;

  // Where the next packet to retire comes from
  typedef enum logic [1:0] {
    Range,  // outstanding in [from, limit)
    Block,  // the bitmap waits for what is outstanding of it
    Bits,   // outstanding and listed
    None
  } hunt_e;

  typedef struct {
    state_e      state;
    logic        purge;            // a QP is emptied, there is no frame
    logic        check;            // a message is looked at, there is none either
    kind_e       kind;
    logic [31:0] dest_ip;
    qpn_t        qpn;
    psn_t        psn;              // the frame's; in a purge the cumulative one before it;
                                   // in a check the message's last
    qpn_t        remote;           // the receiver's number
    len_t        charge;
    logic [15:0] port;             // entropy value of the packet that drew it
    logic        skip;             // a SACK's m is 1, a NACK's code TRIMMED
    logic [7:0]  code;             // of a NACK
    logic        probe;            // a SACK answers a probe
    logic        clean;            // its m is 0
    logic [15:0] drew;             // the PSN that drew a SACK, from the frame's, or the probe's id
    logic [47:0] arrived;          // clock in which the frame had arrived
    logic        rtx;              // its retransmit flag
    logic        stamped;          // it has an echo
    logic [15:0] word;             // a SACK's service time, with what it echoes; a NACK's echo
    logic [15:0] base;             // of the bitmap, from the frame's
    logic [63:0] bits;             // the bitmap; then what of it is outstanding
    qp_t         qp;
    group_t      group;
    dest_t       dest;
    psn_t        given;
    psn_t        cum;              // cumulative PSN after this frame
    logic        moved;            // it is another than before
    logic        recovers;
    psn_t        recover;
    hunt_e       hunt;
    psn_t from;                    // of the hunt; then of the gap search
    psn_t        limit;
    psn_t        block;            // PSN of bit 0; in a check the message's first
    logic        gap;              // gaps are looked for
    psn_t        gap_end;
    logic        seeks;            // the packet that drew a SACK is to be looked for
    logic        next_valid;       // a packet to retire
    psn_t        next_psn;
    logic        map_valid;
    logic        map_wait;         // the response is on its way
    logic        map_own;          // it is for the frame, not for a packet built or a QP opened
    bitmap_e     map_op;
    qp_t         map_qp;
    psn_t        map_psn;
    psn_t        map_end;
    logic        wipe;             // a QP has opened
    qp_t         wipe_qp;
    logic        retire_valid;
    psn_t        retire_psn;       // the PSN that is being retired
    logic        retiring;         // its response is on its way
    logic        sub_valid;
    len_t        sub_bytes;
    logic        held;             // a response waits for `sub`
    len_t        held_bytes;
    psn_t        lose_psn;
    logic        skip_valid;
    logic        probed_valid;
    logic        timed_valid;
    logic [7:0]  timed_sent;
    logic [47:0] timed_at;
    logic        relc_valid;
    logic        drop_valid;
    drop_e       drop_reason;
    logic        other_valid;
    logic        purge_done;
    logic        spent_valid;
    logic        check_rsp_valid;
    logic        check_rsp_clear;
  } regs_t;

  localparam regs_t RESET = '{
      state: Idle,
      kind: KindData,
      hunt: Range,
      map_op: MapWipe,
      drop_reason: DropNone,
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

  logic map_free;  // the next request may be made
  assign map_free = !regs_q.map_valid && !regs_q.map_wait;

  assign in_ready_o = regs_q.state == Idle;
  assign purge_ready_o = regs_q.state == Purge;
  assign purge_done_o = regs_q.purge_done;
  assign check_ready_o = regs_q.state == Check;
  assign check_rsp_valid_o = regs_q.check_rsp_valid;
  assign check_rsp_clear_o = regs_q.check_rsp_clear;
  assign spent_valid_o = regs_q.spent_valid;
  assign spent_qp_o = regs_q.qp;
  assign built_ready_o = map_free && !regs_q.wipe;
  assign map_valid_o = regs_q.map_valid;
  assign map_op_o = regs_q.map_op;
  assign map_qp_o = regs_q.map_qp;
  assign map_psn_o = regs_q.map_psn;
  assign map_end_o = regs_q.map_end;
  assign map_rsp_ready_o = regs_q.map_wait;
  assign work_valid_o = regs_q.state != Idle;
  assign work_qp_o = regs_q.state inside {Find, Found} ? regs_q.qpn[7:0] : regs_q.qp;
  assign find_valid_o = regs_q.state == Find;
  assign find_qpn_o = regs_q.qpn;
  assign find_dest_ip_o = regs_q.dest_ip;
  assign find_bare_o = regs_q.purge || regs_q.check;
  assign upd_valid_o = regs_q.state == Update;
  assign upd_qp_o = regs_q.qp;
  assign upd_cum_o = regs_q.cum;
  assign upd_learn_o = regs_q.kind != KindAck;
  assign upd_remote_o = regs_q.remote;
  assign upd_recovers_o = regs_q.recovers;
  assign upd_recover_o = regs_q.recover;
  assign retire_valid_o = regs_q.retire_valid;
  assign retire_qp_o = regs_q.qp;
  assign retire_psn_o = regs_q.retire_psn;
  assign retire_discard_o = regs_q.purge;
  assign sub_valid_o = regs_q.sub_valid;
  assign sub_group_o = regs_q.group;
  assign sub_bytes_o = regs_q.sub_bytes;
  assign lose_valid_o = regs_q.state == Lose;
  assign lose_qp_o = regs_q.qp;
  assign lose_psn_o = regs_q.lose_psn;
  assign lose_cause_o = regs_q.kind == KindNack ? cause(
      regs_q.code
  ) : regs_q.seeks ? CauseSample : CauseGap;
  assign skip_valid_o = regs_q.skip_valid;
  assign skip_dest_o = regs_q.dest;
  assign skip_port_o = regs_q.port;
  assign probed_valid_o = regs_q.probed_valid;
  assign probed_id_o = regs_q.drew;
  assign probed_good_o = regs_q.clean;
  assign timed_valid_o = regs_q.timed_valid;
  assign timed_nack_o = regs_q.kind == KindNack;
  assign timed_sent_o = regs_q.timed_sent;
  assign timed_at_o = regs_q.timed_at;
  assign timed_group_o = regs_q.group;
  assign timed_arrived_o = regs_q.arrived;
  assign timed_rtx_o = regs_q.rtx;
  assign timed_stamped_o = regs_q.stamped;
  assign timed_word_o = regs_q.word;
  assign ack_valid_o = regs_q.state == Tell;
  assign ack_qp_o = regs_q.qp;
  assign ack_group_o = regs_q.group;
  assign ack_cum_o = regs_q.cum;
  assign cover_valid_o = regs_q.state == Cover;
  assign cover_qp_o = regs_q.qp;
  assign cover_cum_o = regs_q.psn;
  assign cover_forget_o = regs_q.purge;
  assign relc_valid_o = regs_q.relc_valid;
  assign relc_bytes_o = regs_q.charge;
  assign drop_valid_o = regs_q.drop_valid;
  assign drop_reason_o = regs_q.drop_reason;
  assign other_valid_o = regs_q.other_valid;

  ////////////////
  // Next state //
  ////////////////

  // NAK-1: the cause that a code is; a gap for a code that is none.
  function automatic cause_e cause(logic [7:0] code);
    unique case (code)
      8'h01:   cause = CauseTrimmed;
      8'h02:   cause = CauseLastHop;
      8'h0b:   cause = CauseRange;
      default: cause = CauseGap;
    endcase
  endfunction

  // The bitmap's bytes come most significant first.
  function automatic logic [63:0] turned(logic [63:0] word);
    for (int n = 0; n < 8; n++) begin
      turned[8*n+:8] = word[56-8*n+:8];
    end
  endfunction

  // At or above the next PSN to give: the top bit of the difference is clear.
  function automatic logic not_given(psn_t psn, psn_t given);
    psn_t past;
    past = psn - given;
    return !past[PSN_BITS-1];
  endfunction

  // What a frame says of its QP, in Found
  psn_t base;  // PSN of the bitmap's bit 0
  psn_t top;  // the highest PSN listed
  psn_t ahead;  // the frame's PSN less the cumulative one
  logic lists;  // a bit is set
  psn_t draws;  // what drew a SACK
  psn_t given;  // the next PSN to give; the one that is being built counts as not given
  logic wrong;  // it names a PSN not given
  logic moves;  // the cumulative PSN moves
  psn_t cum;  // after it
  psn_t below;  // how far the bitmap begins below the first PSN past `cum`; the top bit: above
  logic recovers;
  psn_t left;  // to be acknowledged until recovery ends; the top bit: none
  psn_t gap_end;  // packets below it are lost
  psn_t gap_size;
  assign lists = regs_q.kind == KindSack && regs_q.bits != '0;
  assign base = regs_q.psn + {{8{regs_q.base[15]}}, regs_q.base};
  assign top = base + 24'(highest(regs_q.bits));
  assign ahead = regs_q.psn - find_rsp_cum_i;
  assign draws = regs_q.psn + {{8{regs_q.drew[15]}}, regs_q.drew};
  assign given = building_valid_i && building_qp_i == find_rsp_qp_i
      && building_psn_i == find_rsp_given_i - 24'd1 ? building_psn_i : find_rsp_given_i;
  assign wrong = not_given(
      regs_q.psn, given
  ) || regs_q.kind == KindSack && !regs_q.probe && not_given(
      draws, given
  ) || lists && not_given(
      top, given
  );
  assign moves = regs_q.kind != KindNack && ahead != '0 && !ahead[PSN_BITS-1];
  assign cum = moves ? regs_q.psn : find_rsp_cum_i;
  assign below = cum + 24'd1 - base;
  assign left = find_rsp_recover_i - cum - 24'd1;
  assign recovers = find_rsp_recovers_i && !left[PSN_BITS-1];
  assign gap_end = top - 24'(cfg_loss_i);
  assign gap_size = gap_end - cum - 24'd1;

  // RTT-1: the packet that drew a SACK
  psn_t drawn;  // how far it is past the cumulative PSN; the top bit: below
  logic sacks;  // not for a probe
  assign drawn = draws - cum;
  assign sacks = regs_q.kind == KindSack && !regs_q.probe;

  // Of a message that is looked at
  psn_t begins;  // its first packet, from the first one past the cumulative PSN; top bit: below
  logic acked;  // its last one is not past the cumulative PSN
  assign begins = regs_q.block - find_rsp_cum_i - 24'd1;
  assign acked  = ahead == '0 || ahead[PSN_BITS-1];

  // What the frame asks of the record
  logic asks;
  bitmap_e ask_op;
  psn_t ask_psn;
  psn_t ask_end;
  psn_t block_left;  // from bit 0 of the block to the next PSN to give
  assign block_left = regs_q.given - regs_q.block;
  always_comb begin
    asks    = 1'b0;
    ask_op  = MapTest;
    ask_psn = regs_q.from;
    ask_end = regs_q.limit;
    if (regs_q.state == Retire && !regs_q.next_valid) begin
      unique case (regs_q.hunt)
        Range: begin
          asks   = regs_q.from != regs_q.limit && !regs_q.purge;
          ask_op = MapTake;
        end
        Block: begin
          asks    = 1'b1;
          ask_op  = MapBlock;
          ask_psn = regs_q.block;
          ask_end = block_left < 24'd64 ? regs_q.given : regs_q.block + 24'd64;
        end
        Bits: begin
          asks    = regs_q.bits != '0;
          ask_op  = MapClear;
          ask_psn = regs_q.block + 24'(lowest(regs_q.bits));
        end
        default: ;
      endcase
    end else if (regs_q.state == Gap) begin
      asks    = regs_q.kind == KindNack || regs_q.from != regs_q.gap_end;
      ask_op  = regs_q.kind == KindNack ? MapTest : MapNext;
      ask_end = regs_q.gap_end;
    end
  end

  logic answered;  // what the frame has asked
  assign answered = map_rsp_valid_i && regs_q.map_wait && regs_q.map_own;

  len_t nominal;  // bytes that leave flight
  assign nominal = retire_rsp_len_i + len_t'(cfg_nominal_overhead_i);

  logic ends;  // the frame or the purge in work
  always_comb begin
    regs_d = regs_q;

    // Events last a clock.
    regs_d.relc_valid = 1'b0;
    regs_d.drop_valid = 1'b0;
    regs_d.other_valid = 1'b0;
    regs_d.purge_done = 1'b0;
    regs_d.spent_valid = 1'b0;
    regs_d.skip_valid = 1'b0;
    regs_d.probed_valid = 1'b0;
    regs_d.timed_valid = 1'b0;
    regs_d.check_rsp_valid = 1'b0;
    ends = 1'b0;

    // The record: a QP that opens, a packet built, what the frame asks, in this order.
    if (map_ready_i && regs_q.map_valid) begin
      regs_d.map_valid = 1'b0;
      regs_d.map_wait  = 1'b1;
    end
    if (map_rsp_valid_i && regs_q.map_wait) begin
      regs_d.map_wait = 1'b0;
    end
    if (map_free) begin
      regs_d.map_own = 1'b0;
      if (regs_q.wipe) begin
        regs_d.wipe      = 1'b0;
        regs_d.map_valid = 1'b1;
        regs_d.map_op    = MapWipe;
        regs_d.map_qp    = regs_q.wipe_qp;
      end else if (built_valid_i) begin
        regs_d.map_valid = 1'b1;
        regs_d.map_op    = MapSet;
        regs_d.map_qp    = built_i[31:24];
        regs_d.map_psn   = built_i[23:0];
      end else if (asks) begin
        regs_d.map_own   = 1'b1;
        regs_d.map_valid = 1'b1;
        regs_d.map_op    = ask_op;
        regs_d.map_qp    = regs_q.qp;
        regs_d.map_psn   = ask_psn;
        regs_d.map_end   = ask_end;
      end
    end
    if (created_valid_i) begin
      regs_d.wipe    = 1'b1;
      regs_d.wipe_qp = created_qpn_i[7:0];
    end

    unique case (regs_q.state)
      Idle: begin
        if (in_valid_i) begin
          regs_d.kind = in_i.kind;
          regs_d.dest_ip = in_i.src_ip;
          regs_d.qpn = in_i.qpn;
          regs_d.psn = in_i.psn;
          regs_d.remote = {in_i.ctrl[96+:8], in_i.ctrl[64+:8], in_i.ctrl[72+:8]};
          regs_d.charge = in_i.charge;
          regs_d.port = in_i.sport;
          regs_d.code = in_i.ctrl[16+:8];
          regs_d.skip    = in_i.kind == KindNack ? in_i.ctrl[16+:8] == 8'h01
              : in_i.kind == KindSack && in_i.ctrl[13+:2] == 2'd1;
          regs_d.probe = in_i.kind == KindSack && in_i.ctrl[9];
          regs_d.clean = in_i.ctrl[13+:2] == '0;
          regs_d.drew = {in_i.ctrl[16+:8], in_i.ctrl[24+:8]};
          regs_d.arrived = in_i.at;
          regs_d.rtx = in_i.rtx;
          regs_d.stamped = in_i.stamped;
          regs_d.word = in_i.kind == KindNack ? {in_i.ctrl[144+:8], in_i.ctrl[152+:8]}
              : {in_i.cc[7:0], in_i.cc[15:8]};
          regs_d.base = {in_i.ctrl[144+:8], in_i.ctrl[152+:8]};
          regs_d.bits = turned(in_i.ctrl[160+:64]);
          if (in_i.kind inside {KindAck, KindSack, KindNack}) begin
            regs_d.state = Find;
          end else begin
            ends               = 1'b1;
            regs_d.other_valid = 1'b1;
          end
        end else if (purge_valid_i) begin
          regs_d.state = Purge;
        end else if (check_valid_i) begin
          regs_d.state = Check;
        end
      end

      Check: begin
        regs_d.check = 1'b1;
        regs_d.kind  = KindAck;
        regs_d.qpn   = {16'd0, check_qp_i};
        regs_d.psn   = check_last_i;
        regs_d.block = check_first_i;
        regs_d.state = Find;
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
          regs_d.qp       = find_rsp_qp_i;
          regs_d.group    = find_rsp_group_i;
          regs_d.dest     = find_rsp_dest_i;
          regs_d.given    = given;
          regs_d.recovers = recovers;
          regs_d.recover  = find_rsp_recover_i;
          regs_d.cum      = cum;
          regs_d.moved    = moves;
          regs_d.seeks    = sacks && drawn != '0 && !drawn[PSN_BITS-1];
          regs_d.from     = find_rsp_cum_i + 24'd1;
          regs_d.limit    = cum + 24'd1;
          regs_d.gap      = lists && !recovers && gap_size != '0 && !gap_size[PSN_BITS-1];
          regs_d.gap_end  = gap_end;
          regs_d.hunt     = Range;
          regs_d.block    = base;
          if (!lists) begin
            regs_d.bits = '0;
          end else if (!below[PSN_BITS-1]) begin
            regs_d.block = cum + 24'd1;
            regs_d.bits  = below < 24'd64 ? regs_q.bits >> below[5:0] : '0;
          end
          if (regs_q.purge) begin
            regs_d.psn = find_rsp_cum_i;
            regs_d.cum = find_rsp_given_i - 24'd1;
            regs_d.limit = find_rsp_given_i;
            regs_d.moved = regs_d.cum != find_rsp_cum_i;
            regs_d.recovers = 1'b0;
            regs_d.state = Retire;
          end else if (regs_q.check) begin
            regs_d.from            = begins[PSN_BITS-1] ? find_rsp_cum_i + 24'd1 : regs_q.block;
            regs_d.gap_end         = regs_q.psn + 24'd1;
            regs_d.check_rsp_valid = acked || wrong;
            regs_d.check_rsp_clear = acked;
            regs_d.check           = !(acked || wrong);
            regs_d.state           = acked || wrong ? Idle : Gap;
          end else if (!find_rsp_ok_i || wrong) begin
            ends               = 1'b1;
            regs_d.drop_valid  = 1'b1;
            regs_d.drop_reason = find_rsp_ok_i ? DropPsn : DropQp;
          end else begin
            regs_d.skip_valid   = regs_q.skip;
            regs_d.probed_valid = regs_q.probe;
            regs_d.state        = Retire;
            if (regs_q.kind == KindNack) begin
              regs_d.from = regs_q.psn;
              regs_d.state = cause(regs_q.code) != CauseGap && ahead != '0 && !ahead[PSN_BITS-1] ?
                  Gap : Update;
            end
          end
        end
      end

      Retire: begin
        // Where the next packet comes from
        if (answered) begin
          unique case (regs_q.hunt)
            Range: begin
              regs_d.next_valid = map_rsp_hit_i;
              regs_d.next_psn   = map_rsp_psn_i;
              regs_d.from       = map_rsp_hit_i ? map_rsp_psn_i + 24'd1 : regs_q.limit;
            end
            Block: begin
              regs_d.bits = regs_q.bits & map_rsp_bits_i;
              regs_d.hunt = Bits;
            end
            default: begin
              regs_d.next_valid = 1'b1;
              regs_d.next_psn   = regs_q.map_psn;
              regs_d.bits       = regs_q.bits & (regs_q.bits - 64'd1);
            end
          endcase
        end else if (regs_q.hunt == Range && regs_q.from == regs_q.limit) begin
          regs_d.hunt = regs_q.bits == '0 ? None : Block;
        end else if (regs_q.hunt == Range && regs_q.purge && !regs_q.next_valid) begin
          regs_d.next_valid = 1'b1;
          regs_d.next_psn   = regs_q.from;
          regs_d.from       = regs_q.from + 24'd1;
        end else if (regs_q.hunt == Bits && regs_q.bits == '0) begin
          regs_d.hunt = None;
        end
        // Its retirement
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
          if (sacks && regs_q.retire_psn == draws) begin
            regs_d.seeks       = 1'b0;
            regs_d.timed_valid = retire_rsp_sent_i != '0;
            regs_d.timed_sent  = retire_rsp_sent_i;
            regs_d.timed_at    = retire_rsp_at_i;
          end
          if (!retire_rsp_flight_i) begin
            // It was out of flight already.
          end else if (regs_d.sub_valid) begin
            regs_d.held       = 1'b1;
            regs_d.held_bytes = nominal;
          end else begin
            regs_d.sub_valid = 1'b1;
            regs_d.sub_bytes = nominal;
          end
        end
        // The next request goes out when its response has a place to wait.
        if (!regs_d.retire_valid && !regs_d.retiring && !regs_d.held) begin
          if (regs_q.next_valid) begin
            regs_d.next_valid   = 1'b0;
            regs_d.retire_valid = 1'b1;
            regs_d.retire_psn   = regs_q.next_psn;
          end else if (regs_q.hunt == None && !regs_d.sub_valid) begin
            regs_d.from = regs_q.cum + 24'd1;
            if (regs_d.seeks) begin
              regs_d.lose_psn = draws;
            end
            regs_d.state = regs_d.seeks ? Lose : regs_q.gap ? Gap
                : regs_q.kind != KindAck || regs_q.moved ? Update : Tell;
          end
        end
      end

      Gap: begin
        if (answered && regs_q.check) begin
          regs_d.check_rsp_valid = 1'b1;
          regs_d.check_rsp_clear = !map_rsp_hit_i;
          regs_d.check           = 1'b0;
          regs_d.state           = Idle;
        end else if (answered) begin
          regs_d.lose_psn = regs_q.kind == KindNack ? regs_q.psn : map_rsp_psn_i;
          regs_d.state    = map_rsp_hit_i ? Lose : Update;
        end else if (!asks) begin
          regs_d.state = Update;
        end
      end

      Lose: begin
        if (lose_ready_i) begin
          regs_d.state = Lost;
        end
      end

      Lost: begin
        if (lose_rsp_valid_i) begin
          if (regs_q.seeks || regs_q.kind == KindNack) begin
            regs_d.timed_valid = lose_rsp_sent_i != '0;
            regs_d.timed_sent  = lose_rsp_sent_i;
            regs_d.timed_at    = lose_rsp_at_i;
          end
          regs_d.seeks = 1'b0;
          if (regs_q.seeks) begin
            regs_d.state = regs_q.gap ? Gap : Update;
          end else begin
            regs_d.from        = regs_q.lose_psn + 24'd1;
            regs_d.state       = regs_q.kind == KindNack ? Update : Gap;
            regs_d.spent_valid = lose_rsp_fatal_i;
            if (lose_rsp_queued_i && regs_q.kind != KindNack) begin
              regs_d.recovers = 1'b1;
              regs_d.recover  = regs_q.given - 24'd1;
            end
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
            regs_d.other_valid = regs_q.kind == KindNack && cause(regs_q.code) == CauseGap;
          end
        end
      end

      default: ends = cover_ready_i;  // Cover
    endcase

    if (ends) begin
      regs_d.state      = purge_valid_i && !regs_q.purge ? Purge : check_valid_i ? Check : Idle;
      regs_d.relc_valid = !regs_q.purge;
      regs_d.purge_done = regs_q.purge;
      regs_d.purge      = 1'b0;
    end
  end

  // Fields of other kinds of frames; replay_store knows the group and the last packet, too.
  logic unused;
  assign unused = &{1'b0, in_i, retire_rsp_group_i, retire_rsp_last_i, created_qpn_i};

  //////////////
  // Contract //
  //////////////

  // What is not taken stays as it is.
  `ASSERT(FindStable_A, find_valid_o && !find_ready_i |=> find_valid_o && $stable
                        ({find_qpn_o, find_dest_ip_o}))
  `ASSERT(MapStable_A, map_valid_o && !map_ready_i |=> map_valid_o && $stable
                       ({map_op_o, map_qp_o, map_psn_o, map_end_o}))
  `ASSERT(UpdStable_A, upd_valid_o && !upd_ready_i |=> upd_valid_o && $stable
                       ({upd_qp_o, upd_cum_o, upd_learn_o, upd_remote_o}))
  `ASSERT(RetireStable_A, retire_valid_o && !retire_ready_i |=> retire_valid_o && $stable
                          ({retire_qp_o, retire_psn_o}))
  `ASSERT(SubStable_A, sub_valid_o && !sub_ready_i |=> sub_valid_o && $stable
                       ({sub_group_o, sub_bytes_o}))
  `ASSERT(LoseStable_A, lose_valid_o && !lose_ready_i |=> lose_valid_o && $stable
                        ({lose_qp_o, lose_psn_o, lose_cause_o}))
  `ASSERT(AckStable_A, ack_valid_o && !ack_ready_i |=> ack_valid_o && $stable
                       ({ack_qp_o, ack_group_o, ack_cum_o}))
  `ASSERT(CoverStable_A, cover_valid_o && !cover_ready_i |=> cover_valid_o && $stable
                         ({cover_qp_o, cover_cum_o, cover_forget_o}))

  // A purge or a check that has been offered stays until it is taken.
  `ASSERT(PurgeWaits_A, purge_ready_o |-> purge_valid_i)
  `ASSERT(CheckWaits_A, check_ready_o |-> check_valid_i)

  // A QP is open before the next one opens.
  `ASSERT(WipeIsDone_A, created_valid_i |-> !regs_q.wipe)

  // Only packets of the QP's group leave its flight.
  `ASSERT(GroupAgrees_A,
          retire_rsp_valid_i && retire_rsp_flight_i |-> retire_rsp_group_i == regs_q.group)

  // Nothing leaves flight once tx_scheduler is told.
  `ASSERT(RetiredFirst_A, ack_valid_o |-> !sub_valid_o && !retire_valid_o && !regs_q.held)

endmodule
