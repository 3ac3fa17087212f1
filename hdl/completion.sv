// Completions: keeps the messages of each QP in post order, tells the host and the other blocks.
//
// Twin of rtl-model/src/completion.rs. One event at a time; order of choice: post, sent, cover,
// comp, err. A post takes 2 clocks (3 behind another message of its QP), sent 2, each message that
// a cover completes 3, the end of a cover 2 or 3, comp and err 1. The CQE follows in the clock
// after, and until it has been taken nothing but a post is chosen.
//
// CPL-1: SEND_COMPLETE when the fetch of the last segment has been issued; WQE_COMPLETE when a
// cumulative PSN covers the last PSN (signed 24-bit difference), oldest first; RECV_COMPLETE behind
// the message's payload writes. docs/host-interface.md has the entry. The phase bit is 1 in the
// ring's first lap and toggles at its end.
// QP-6: a cover with `forget` takes every message of its QP away, with no entry and no `done`; the
// last packets up to its PSN leave their slots.
// Borders: cover at last PSN - 1, last PSN, last PSN + 1, across 2^24; a cover of several messages,
// of one not sent, of a QP with none; the last entry of the ring; the message table full.
//
// Memories without defined contents at start: cmsg (MSGS words of 187 bits), cqp (QPS of 31), fl
// (MSGS of 10; free entries). Their ports are combinational from the requests and from rdata. A
// QP's cqp word is defined by the first post after its open. Entries never used come first. A
// post must be offered before its `sent` is; its last PSN is sent before a cover passes it.
//
// It is longer than a module should be: it has twelve partners and three memories, and its ports
// take a third of it.

`include "assert.svh"

module completion
  import nic_pkg::*;
  import host_pkg::*;
  import completion_pkg::*;
#(
  parameter int unsigned MSGS = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  // Messages, from doorbell
  input  logic         post_done_valid_i,
  output logic         post_done_ready_o,
  input  qp_t          post_done_qp_i,
  input  qpn_t         post_done_qpn_i,
  input  dest_t        post_done_dest_i,
  input  logic         post_done_open_i,
  input  msg_t         post_done_msg_i,
  input  logic  [31:0] post_done_len_i,
  input  logic  [15:0] post_done_msn_i,
  input  logic  [63:0] post_done_cookie_i,

  // Last fetches issued, from tx_scheduler
  input  logic  sent_valid_i,
  output logic  sent_ready_o,
  input  qp_t   sent_qp_i,
  input  msg_t  sent_msg_i,
  input  slot_t sent_slot_i,
  input  psn_t  sent_psn_i,

  // Cumulative PSNs, from ack_take
  input  logic cover_valid_i,
  output logic cover_ready_o,
  input  qp_t  cover_qp_i,
  input  psn_t cover_cum_i,
  input  logic cover_forget_i,

  // Messages received and written, from payload_write
  input  logic         comp_valid_i,
  output logic         comp_ready_o,
  input  qpn_t         comp_qpn_i,
  input  logic  [15:0] comp_msn_i,
  input  logic  [31:0] comp_len_i,
  input  dest_t        comp_dest_i,

  // Refused work requests, from doorbell
  input  logic           err_valid_i,
  output logic           err_ready_o,
  input  refuse_e        err_code_i,
  input  logic    [63:0] err_cookie_i,
  input  qpn_t           err_qpn_i,
  input  logic    [31:0] err_len_i,

  // Free entries, to doorbell
  output logic msg_valid_o,
  input  logic msg_ready_i,
  output msg_t msg_o,

  // Last packets that may leave their slots, to replay_store
  output logic  final_valid_o,
  input  logic  final_ready_i,
  output slot_t final_slot_o,

  // Messages completed, to qp_table
  output logic done_valid_o,
  input  logic done_ready_i,
  output qp_t  done_qp_o,

  // Messages that leave: complete or forgotten, to ack_ask
  output logic left_valid_o,
  output msg_t left_msg_o,

  // Completion entries, to tlp_engine
  output logic         cqe_valid_o,
  input  logic         cqe_ready_i,
  output logic [ 63:0] cqe_addr_o,
  output logic [255:0] cqe_data_o,

  // For the log: the entry's first clock
  output logic        log_valid_o,
  output cqe_e        log_kind_o,
  output qpn_t        log_qpn_o,
  output logic [15:0] log_msn_o,
  output logic [31:0] log_len_o,

  // Messages, in ram_1r1w
  output logic         cmsg_we_o,
  output logic [ 31:0] cmsg_waddr_o,
  output logic [186:0] cmsg_wdata_o,
  output logic         cmsg_re_o,
  output logic [ 31:0] cmsg_raddr_o,
  input  logic [186:0] cmsg_rdata_i,

  // Lists of the QPs, in ram_1r1w
  output logic        cqp_we_o,
  output logic [31:0] cqp_waddr_o,
  output logic [30:0] cqp_wdata_o,
  output logic        cqp_re_o,
  output logic [31:0] cqp_raddr_o,
  input  logic [30:0] cqp_rdata_i,

  // Free entries, in ram_1r1w
  output logic        fl_we_o,
  output logic [31:0] fl_waddr_o,
  output msg_t        fl_wdata_o,
  output logic        fl_re_o,
  output logic [31:0] fl_raddr_o,
  input  msg_t        fl_rdata_i,

  // Levels, from csr
  input logic [63:0] cfg_cq_base_i,
  input logic [ 4:0] cfg_cq_log2_i
);

  localparam msg_t MSG_MASK = msg_t'(MSGS - 1);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle  = 3'd0,
    Post  = 3'd1,
    Chain = 3'd2,
    Sent  = 3'd3,
    Cover = 3'd4,
    Head  = 3'd5
  } state_e;

  typedef struct {
    state_e      state;
    logic        cqe_valid;
    logic [63:0] cqe_addr;
    cqe_t        cqe;
    logic        log;          // the entry is new
    logic [31:0] produced;     // entries made
    logic        final_valid;
    slot_t       final_slot;
    logic        done_valid;
    qp_t         done_qp;
    logic        left_valid;
    msg_t        left_msg;
    logic        msg_valid;    // `msg` is a free entry
    msg_t        msg;
    logic        fetch;        // fl_rdata is the next free entry
    logic [10:0] fresh;        // entries that have been used; the next one never was
    msg_t        fl_head;      // of the list of free entries
    msg_t        fl_tail;
    logic [10:0] fl_count;
  } regs_t;

  localparam regs_t RESET = '{state: Idle, cqe: cqe_t'(0), default: '0};

  regs_t regs_d;
  regs_t regs_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      regs_q <= RESET;
    end else begin
      regs_q <= regs_d;
    end
  end

  // The event to work on: the one in work, or the one chosen
  typedef enum logic [2:0] {
    None,
    WantPost,
    WantSent,
    WantCover,
    WantComp,
    WantErr
  } want_e;

  want_e want;
  always_comb begin
    want = None;
    if (post_done_valid_i) want = WantPost;
    else if (!regs_q.cqe_valid) begin
      if (sent_valid_i) want = WantSent;
      else if (cover_valid_i) want = WantCover;
      else if (comp_valid_i) want = WantComp;
      else if (err_valid_i) want = WantErr;
    end
  end

  // What the memories say
  cmsg_t cmsg;
  cqp_t  cqp;
  logic  first;  // the post is the only message of its QP
  psn_t  past;  // how far the cover is past the head's last PSN; the top bit set means before it
  logic  covered;
  logic  leaves;  // the message in work leaves its list
  logic  complete;

  assign cmsg = cmsg_rdata_i;
  assign cqp = cqp_rdata_i;
  assign first = post_done_open_i || cqp.count == '0;
  assign past = cover_cum_i - cmsg.last_psn;
  assign covered = cmsg.sent && !past[PSN_BITS-1];
  assign leaves   = regs_q.state == Head && (covered || cover_forget_i) && !regs_q.final_valid
                    && !regs_q.done_valid;
  assign complete = leaves && !cover_forget_i;

  /////////////
  // Outputs //
  /////////////

  logic idle;
  assign idle = regs_q.state == Idle;

  assign post_done_ready_o = regs_q.state == Post && first || regs_q.state == Chain;
  assign sent_ready_o = regs_q.state == Sent;
  assign cover_ready_o     = regs_q.state == Cover && cqp.count == '0 ||
                             regs_q.state == Head && !covered && !cover_forget_i;
  assign comp_ready_o = idle && want == WantComp;
  assign err_ready_o = idle && want == WantErr;
  assign left_valid_o = regs_q.left_valid;
  assign left_msg_o = regs_q.left_msg;
  assign msg_valid_o = regs_q.msg_valid;
  assign msg_o = regs_q.msg;
  assign final_valid_o = regs_q.final_valid;
  assign final_slot_o = regs_q.final_slot;
  assign done_valid_o = regs_q.done_valid;
  assign done_qp_o = regs_q.done_qp;
  assign cqe_valid_o = regs_q.cqe_valid;
  assign cqe_addr_o = regs_q.cqe_addr;
  assign cqe_data_o = regs_q.cqe;
  assign log_valid_o = regs_q.log;
  assign log_kind_o = regs_q.cqe.kind;
  assign log_qpn_o = regs_q.cqe.qpn;
  assign log_msn_o = regs_q.cqe.msn;
  assign log_len_o = regs_q.cqe.length;

  assign cmsg_re_o    = regs_q.state == Post && !first || idle && want == WantSent ||
                        regs_q.state == Cover && cqp.count != '0;
  assign cqp_re_o = idle && (want == WantPost || want == WantCover);
  assign cqp_raddr_o = !cqp_re_o ? '0 : 32'(want == WantPost ? post_done_qp_i : cover_qp_i);
  assign cqp_we_o = regs_q.state == Post || leaves;
  assign cqp_waddr_o = !cqp_we_o ? '0 : 32'(regs_q.state == Post ? post_done_qp_i : cover_qp_i);
  assign fl_we_o = leaves;
  assign fl_waddr_o = leaves ? 32'(regs_q.fl_tail) : '0;
  assign fl_wdata_o = leaves ? cqp.head : '0;
  assign fl_re_o      = !regs_q.msg_valid && !regs_q.fetch && 32'(regs_q.fresh) == MSGS &&
                        regs_q.fl_count != '0;
  assign fl_raddr_o = fl_re_o ? 32'(regs_q.fl_head) : '0;

  cmsg_t after;  // what is written back
  assign cmsg_wdata_o = cmsg_we_o ? after : '0;

  always_comb begin
    cmsg_raddr_o = '0;
    cmsg_we_o    = 1'b0;
    cmsg_waddr_o = '0;
    after        = cmsg;
    cqp_wdata_o  = '0;
    unique case (regs_q.state)
      Idle:    if (want == WantSent) cmsg_raddr_o = 32'(sent_msg_i);
      Post: begin
        if (!first) cmsg_raddr_o = 32'(cqp.tail);
        cmsg_we_o = 1'b1;
        cmsg_waddr_o = 32'(post_done_msg_i);
        after = '{
            cookie: post_done_cookie_i,
            len: post_done_len_i,
            msn: post_done_msn_i,
            dest: post_done_dest_i,
            qpn: post_done_qpn_i,
            default: '0
        };
        cqp_wdata_o  = first ? {post_done_msg_i, post_done_msg_i, 11'd1} :
                               {cqp.head, post_done_msg_i, cqp.count + 11'd1};
      end
      Chain: begin
        cmsg_we_o    = 1'b1;
        cmsg_waddr_o = 32'(cqp.tail);
        after.next   = post_done_msg_i;
      end
      Sent: begin
        cmsg_we_o       = 1'b1;
        cmsg_waddr_o    = 32'(sent_msg_i);
        after.last_psn  = sent_psn_i;
        after.last_slot = sent_slot_i;
        after.sent      = 1'b1;
      end
      Cover:   if (cqp.count != '0) cmsg_raddr_o = 32'(cqp.head);
      default: if (leaves) cqp_wdata_o = {cmsg.next, cqp.tail, cqp.count - 11'd1};
    endcase
  end

  ////////////////
  // Next state //
  ////////////////

  logic make;  // an entry is made in this clock
  cqe_t cqe;

  always_comb begin
    make = comp_ready_o || err_ready_o || sent_ready_o || complete;
    cqe  = cqe_t'(0);
    if (comp_ready_o) begin
      cqe.kind   = CqeRecv;
      cqe.qpn    = comp_qpn_i;
      cqe.msn    = comp_msn_i;
      cqe.length = comp_len_i;
      cqe.dest   = 8'(comp_dest_i);
    end else if (err_ready_o) begin
      cqe.kind   = CqeError;
      cqe.code   = 8'(err_code_i);
      cqe.qpn    = err_qpn_i;
      cqe.length = err_len_i;
      cqe.cookie = err_cookie_i;
    end else begin
      cqe.kind   = complete ? CqeWqe : CqeSend;
      cqe.qpn    = cmsg.qpn;
      cqe.msn    = cmsg.msn;
      cqe.length = cmsg.len;
      cqe.dest   = 8'(cmsg.dest);
      cqe.cookie = cmsg.cookie;
    end
    cqe.phase = !regs_q.produced[cfg_cq_log2_i];
  end

  always_comb begin
    regs_d = regs_q;

    unique case (regs_q.state)
      // Chooses an event and reads what it needs.
      Idle: begin
        unique case (want)
          WantPost:  regs_d.state = Post;
          WantSent:  regs_d.state = Sent;
          WantCover: regs_d.state = Cover;
          default:   regs_d.state = Idle;
        endcase
      end
      // Stores a message; behind another one, links it too.
      Post:    regs_d.state = first ? Idle : Chain;
      // Looks at the oldest message of the QP, if there is one.
      Cover:   regs_d.state = cqp.count == '0 ? Idle : Head;
      // Completes it if it is covered; the same cover then looks at the next one.
      Head:    regs_d.state = leaves || cover_ready_o ? Idle : Head;
      default: regs_d.state = Idle;
    endcase

    regs_d.log = make;
    if (cqe_ready_i) regs_d.cqe_valid = 1'b0;
    if (make) begin
      regs_d.cqe_valid = 1'b1;
      regs_d.cqe = cqe;
      regs_d.cqe_addr  = cfg_cq_base_i +
          {27'd0, regs_q.produced & ~(32'hffff_ffff << cfg_cq_log2_i), 5'd0};
      regs_d.produced = regs_q.produced + 32'd1;
    end

    if (final_ready_i) regs_d.final_valid = 1'b0;
    if (done_ready_i) regs_d.done_valid = 1'b0;
    regs_d.left_valid = leaves;
    if (leaves) begin
      regs_d.left_msg    = cqp.head;
      regs_d.final_valid = covered;
      regs_d.done_valid  = complete;
      regs_d.final_slot  = cmsg.last_slot;
      regs_d.done_qp     = cover_qp_i;
      regs_d.fl_tail     = (regs_q.fl_tail + 10'd1) & MSG_MASK;
    end

    // Keeps one free entry at hand.
    regs_d.fetch = fl_re_o;
    if (msg_ready_i) regs_d.msg_valid = 1'b0;
    if (regs_q.fetch) begin
      regs_d.msg_valid = 1'b1;
      regs_d.msg       = fl_rdata_i;
    end else if (!regs_q.msg_valid && 32'(regs_q.fresh) != MSGS) begin
      regs_d.msg_valid = 1'b1;
      regs_d.msg       = regs_q.fresh[9:0];
      regs_d.fresh     = regs_q.fresh + 11'd1;
    end
    if (fl_re_o) regs_d.fl_head = (regs_q.fl_head + 10'd1) & MSG_MASK;
    regs_d.fl_count = regs_q.fl_count + 11'(leaves) - 11'(fl_re_o);
  end

  // The QP of a message is known from its post.
  logic unused;
  assign unused = &{1'b0, sent_qp_i};

  //////////////
  // Contract //
  //////////////

  // What a partner does not take stays as it is.
  `ASSERT(CqeWaits_A, cqe_valid_o && !cqe_ready_i |=> cqe_valid_o && $stable
                      ({cqe_addr_o, cqe_data_o}))
  `ASSERT(FinalWaits_A, final_valid_o && !final_ready_i |=> final_valid_o && $stable(final_slot_o))
  `ASSERT(DoneWaits_A, done_valid_o && !done_ready_i |=> done_valid_o && $stable(done_qp_o))
  `ASSERT(MsgWaits_A, msg_valid_o && !msg_ready_i |=> msg_valid_o && $stable(msg_o))
  // No entry is free twice.
  `ASSERT(EntriesFit_A, regs_q.fl_count <= regs_q.fresh && 32'(regs_q.fresh) <= MSGS)
  // A message is sent once.
  `ASSERT(SentOnce_A, sent_ready_o |-> !cmsg.sent)

endmodule
