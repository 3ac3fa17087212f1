// Doorbell: takes the host's writes to the BAR, checks work requests, has them carried out.
//
// Twin of rtl-model/src/doorbell.rs. One write at a time: taken in clock N, checked in N+1. A
// register write reaches csr in N+2. A work request asks qp_table from N+2 on and is handed to
// tx_scheduler and completion when the answer has come, at the earliest in N+5.
//
// QP-2: a write of 64 B in the doorbell page is a work request; it opens its QP if it says so.
// QP-3: ring_o is high in clock N+15, exactly, if tx_scheduler took the message by N+14; if it
// took it later, in the clock after that.
// QP-5: a close of the sender side goes to qp_table, one of the receiver side to rx_track.
//
// Refusals, the first that applies: size, opcode, reserved bits, peer, length, message table, QP.
// The message table is looked at before qp_table is asked, so that nothing has to be undone. Each
// is one refuse event; one in the doorbell page is also an error for completion.
// Borders: 1 to 64 DWs; each reserved bit; length 2^31 - 1 and 2^31; dest 63 and 64; the last
// register and the first doorbell address; a ring while the next write is in work.
//
// It is longer than a module should be: it has seven partners, and its ports and their stability
// take a third of it.

`include "assert.svh"

module doorbell
  import nic_pkg::*;
  import host_pkg::*;
  import qp_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Host writes to the BAR, from tlp_parse
  input  logic         page_valid_i,
  output logic         page_ready_o,
  input  logic [ 63:0] page_addr_i,
  input  logic [ 10:0] page_len_i,
  input  logic         page_full_i,
  input  logic [511:0] page_data_i,

  // Register writes, to csr
  output logic        csr_valid_o,
  output logic [ 8:0] csr_index_o,
  output logic [63:0] csr_data_o,

  // A pass, to tx_scheduler
  output logic ring_o,

  // Opens, posts and closes, to qp_table
  output logic          qp_valid_o,
  input  logic          qp_ready_i,
  output logic   [ 1:0] qp_op_o,
  output qpn_t          qp_qpn_o,
  output dest_t         qp_dest_o,
  input  logic          qp_rsp_valid_i,
  input  logic          qp_rsp_ok_i,
  input  logic          qp_rsp_full_i,
  input  logic          qp_rsp_failed_i,
  input  qpn_t          qp_rsp_qpn_i,
  input  group_t        qp_rsp_group_i,
  input  dest_t         qp_rsp_dest_i,
  input  logic   [15:0] qp_rsp_msn_i,

  // Free message entries, from completion
  input  logic msg_valid_i,
  output logic msg_ready_o,
  input  msg_t msg_i,

  // Messages, to tx_scheduler and to completion; each takes them once
  output logic          post_sched_valid_o,
  input  logic          post_sched_ready_i,
  output logic          post_done_valid_o,
  input  logic          post_done_ready_i,
  output qp_t           post_qp_o,
  output qpn_t          post_qpn_o,
  output dest_t         post_dest_o,
  output group_t        post_group_o,
  output logic          post_open_o,
  output msg_t          post_msg_o,
  output logic   [63:0] post_laddr_o,
  output logic   [63:0] post_raddr_o,
  output logic   [31:0] post_rkey_o,
  output logic   [31:0] post_len_o,
  output logic   [15:0] post_msn_o,
  output logic   [63:0] post_cookie_o,

  // Refused work requests, to completion
  output logic           err_valid_o,
  input  logic           err_ready_i,
  output refuse_e        err_code_o,
  output logic    [63:0] err_cookie_o,
  output qpn_t           err_qpn_o,
  output logic    [31:0] err_len_o,

  // Closes of the receiver side, to rx_track
  output logic close_valid_o,
  input  logic close_ready_i,
  output qpn_t close_qpn_o,

  // All refusals, to the counters
  output logic    refuse_valid_o,
  output refuse_e refuse_code_o,

  // Level, from csr
  input logic [63:0] cfg_peer_valid_i
);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle   = 3'd0,
    Check  = 3'd1,
    Ask    = 3'd2,
    Answer = 3'd3,
    Post   = 3'd4,
    Close  = 3'd5,
    Err    = 3'd6
  } state_e;

  typedef struct {
    state_e      state;
    logic [15:0] addr;        // of the write, in the BAR
    logic [10:0] len;
    logic        full;
    wqe_t        wqe;
    logic [3:0]  age;         // clocks since the write was taken, up to 14
    logic        csr;         // a register write
    logic        post_sched;  // tx_scheduler has not taken the message
    logic        post_done;   // completion has not taken it
    msg_t        msg;
    qpn_t        qpn;
    group_t      group;
    logic [15:0] msn;
    logic        refuse;
    refuse_e     code;
    logic [14:0] rings;       // bit k: a ring in 14 - k clocks
  } regs_t;

  localparam regs_t RESET = '{state: Idle, age: 4'd1, code: RefuseNone, default: '0};

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

  logic closes;  // the request closes the sender side
  assign closes             = regs_q.wqe.opcode == OP_CLOSE_SENDER;

  assign page_ready_o       = regs_q.state == Idle;
  assign csr_valid_o        = regs_q.csr;
  assign csr_index_o        = regs_q.addr[11:3];
  assign csr_data_o         = regs_q.wqe[63:0];
  assign ring_o             = regs_q.rings[14];
  assign qp_valid_o         = regs_q.state == Ask;
  assign qp_op_o            = closes ? QP_CLOSE : regs_q.wqe.open ? QP_OPEN : QP_POST;
  assign qp_qpn_o           = regs_q.wqe.qpn;
  assign qp_dest_o          = regs_q.wqe.dest[5:0];
  assign msg_ready_o        = regs_q.state == Answer && qp_rsp_valid_i && qp_rsp_ok_i && !closes;
  assign post_sched_valid_o = regs_q.post_sched;
  assign post_done_valid_o  = regs_q.post_done;
  assign post_qp_o          = regs_q.qpn[7:0];
  assign post_qpn_o         = regs_q.qpn;
  assign post_dest_o        = regs_q.wqe.dest[5:0];
  assign post_group_o       = regs_q.group;
  assign post_open_o        = regs_q.wqe.open;
  assign post_msg_o         = regs_q.msg;
  assign post_laddr_o       = regs_q.wqe.laddr;
  assign post_raddr_o       = regs_q.wqe.raddr;
  assign post_rkey_o        = regs_q.wqe.rkey;
  assign post_len_o         = regs_q.wqe.length;
  assign post_msn_o         = regs_q.msn;
  assign post_cookie_o      = regs_q.wqe.cookie;
  assign err_valid_o        = regs_q.state == Err;
  assign err_code_o         = regs_q.code;
  assign err_cookie_o       = regs_q.code == RefuseSize ? '0 : regs_q.wqe.cookie;
  assign err_qpn_o          = regs_q.code == RefuseSize ? '0 : regs_q.wqe.qpn;
  assign err_len_o          = regs_q.code == RefuseSize ? '0 : regs_q.wqe.length;
  assign close_valid_o      = regs_q.state == Close;
  assign close_qpn_o        = regs_q.wqe.qpn;
  assign refuse_valid_o     = regs_q.refuse;
  assign refuse_code_o      = regs_q.code;

  ////////////////
  // Next state //
  ////////////////

  // The host places the BAR; qp_table's answer repeats the destination.
  logic unused;
  assign unused = &{1'b0, page_addr_i[63:16], qp_rsp_dest_i};

  // What is wrong with the write
  logic    to_csr;
  logic    to_page;
  wqe_t    reserved;
  logic    writes;
  refuse_e code;

  assign to_csr  = regs_q.addr[15:12] == PAGE_REGISTERS;
  assign to_page = regs_q.addr[15:12] == PAGE_DOORBELL;
  assign writes  = regs_q.wqe.opcode == OP_WRITE;

  always_comb begin
    reserved = RESERVED_CLOSE;
    if (writes) begin
      reserved = regs_q.wqe.open ? RESERVED_OPEN : RESERVED_POST;
    end

    code = RefuseNone;
    if (to_csr) begin
      if (!regs_q.full || regs_q.len != 11'd8 || regs_q.addr[2:0] != '0) code = RefuseSize;
    end else if (!to_page || !regs_q.full || regs_q.len != 11'd64 || regs_q.addr[5:0] != '0) begin
      code = RefuseSize;
    end else if (!(regs_q.wqe.opcode inside {OP_WRITE, OP_CLOSE_SENDER, OP_CLOSE_RECEIVER})) begin
      code = RefuseOpcode;
    end else if ((regs_q.wqe & reserved) != '0) begin
      code = RefuseReserved;
    end else if (writes) begin
      if (regs_q.wqe.dest[7:6] != '0 || !cfg_peer_valid_i[regs_q.wqe.dest[5:0]]) begin
        code = RefusePeer;
      end else if (regs_q.wqe.length[31]) begin
        code = RefuseLength;
      end else if (!msg_valid_i) begin
        code = RefuseMsgFull;
      end
    end
  end

  always_comb begin
    regs_d        = regs_q;
    regs_d.csr    = 1'b0;
    regs_d.refuse = 1'b0;
    regs_d.age    = regs_q.age < 4'd14 ? regs_q.age + 4'd1 : regs_q.age;
    regs_d.rings  = regs_q.rings << 1;

    unique case (regs_q.state)
      // Takes a write.
      Idle: begin
        regs_d.age = 4'd1;
        if (page_valid_i) begin
          regs_d.state = Check;
          regs_d.addr  = page_addr_i[15:0];
          regs_d.len   = page_len_i;
          regs_d.full  = page_full_i;
          regs_d.wqe   = page_data_i;
        end
      end
      // Sends it where it goes.
      Check: begin
        regs_d.code   = code;
        regs_d.refuse = code != RefuseNone;
        regs_d.csr    = to_csr && code == RefuseNone;
        if (code != RefuseNone) regs_d.state = to_page ? Err : Idle;
        else if (to_csr) regs_d.state = Idle;
        else regs_d.state = regs_q.wqe.opcode == OP_CLOSE_RECEIVER ? Close : Ask;
      end
      // Waits for qp_table to take the question.
      Ask: begin
        if (qp_ready_i) regs_d.state = Answer;
      end
      // Waits for its answer.
      Answer: begin
        if (qp_rsp_valid_i && qp_rsp_ok_i) begin
          regs_d.state      = closes ? Idle : Post;
          regs_d.post_sched = !closes;
          regs_d.post_done  = !closes;
          regs_d.msg        = msg_i;
          regs_d.qpn        = qp_rsp_qpn_i;
          regs_d.group      = qp_rsp_group_i;
          regs_d.msn        = qp_rsp_msn_i;
        end else if (qp_rsp_valid_i) begin
          regs_d.state  = Err;
          regs_d.refuse = 1'b1;
          regs_d.code   = qp_rsp_full_i ? RefuseQpFull : qp_rsp_failed_i ? RefuseQpError : RefuseQp;
        end
      end
      // Waits until both partners have the message.
      Post: begin
        if (post_sched_ready_i) regs_d.post_sched = 1'b0;
        if (post_done_ready_i) regs_d.post_done = 1'b0;
        if (!regs_d.post_sched && !regs_d.post_done) regs_d.state = Idle;
        if (regs_q.post_sched && post_sched_ready_i) regs_d.rings[regs_q.age] = 1'b1;
      end
      // Waits for rx_track.
      Close: begin
        if (close_ready_i) regs_d.state = Idle;
      end
      // Waits for completion.
      default: begin
        if (err_ready_i) regs_d.state = Idle;
      end
    endcase
  end

  //////////////
  // Contract //
  //////////////

  // What a partner does not take stays as it is.
  `ASSERT(QpWaits_A, qp_valid_o && !qp_ready_i |=> qp_valid_o && $stable
                     ({qp_op_o, qp_qpn_o, qp_dest_o}))
  `ASSERT(SchedWaits_A, post_sched_valid_o && !post_sched_ready_i |=> post_sched_valid_o)
  `ASSERT(DoneWaits_A, post_done_valid_o && !post_done_ready_i |=> post_done_valid_o)
  logic post_waits;
  assign post_waits = post_sched_valid_o && !post_sched_ready_i ||
                      post_done_valid_o && !post_done_ready_i;
  `ASSERT(PostStable_A, post_waits |=> $stable({post_qpn_o, post_dest_o, post_group_o, post_open_o,
                                                post_msg_o, post_laddr_o, post_raddr_o,
                                                post_rkey_o, post_len_o, post_msn_o, post_cookie_o}
                                                  ))
  `ASSERT(ErrWaits_A, err_valid_o && !err_ready_i |=> err_valid_o && $stable
                      ({err_code_o, err_cookie_o, err_qpn_o, err_len_o}))
  `ASSERT(CloseWaits_A, close_valid_o && !close_ready_i |=> close_valid_o && $stable(close_qpn_o))
  // qp_table posts to the destination that was asked for.
  `ASSERT(SameDest_A, msg_ready_o |-> qp_rsp_dest_i == post_dest_o)
  // The entry that was there at the check is there at the answer.
  `ASSERT(EntryWaits_A, msg_ready_o |-> msg_valid_i)

endmodule
