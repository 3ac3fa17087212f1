// Asks again for a cumulative ACK: the last packet of a message that SACKs have retired whole goes
// again while no ACK covers it.
//
// Twin of rtl-model/src/ack_ask.rs. CPL-2: a message is looked at every 2 x InitialAckTimeout from
// its SEND_COMPLETE on, the clock in which completion logs it, one after its `sent` is taken: a
// timer_wheel with a timer for each message entry tells at the first tick at or after that. If
// ack_take finds it retired from its first packet to its last, tx_scheduler is told of a copy, and
// retransmit which packet that is. It ends when its message leaves completion: with its
// WQE_COMPLETE, or forgotten at an error or a close.
// One message at a time: 3 clocks from its expiry to the check; with a copy it lasts until
// tx_scheduler has sent it, so that others are looked at later where the egress pool is full, each
// with the period that it had (a later one than its period: at the next tick).
// The period is floor(2 x T) whole microseconds, at least 1, of `cfg_timeout`, which is T in
// microseconds with 41 binary places; the ticks of a message are those of its first one, plus the
// period, again and again.
// Borders: an expiry on offer, or in work, whose message leaves; SEND_COMPLETE on a tick; 2 x T
// below 1 microsecond, and at 8 s; both ends of the table of messages.
//
// The memory `node` (MSGS words of 66 bits) has no defined contents at start: a word is written
// before its timer is armed. Its ports are combinational, from registers and the expiry.

`include "assert.svh"

module ack_ask
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Level, from csr: microseconds, 41 binary places
  input logic [63:0] cfg_timeout_i,

  // Messages whose last fetch is issued, from tx_scheduler to completion
  input logic  sent_valid_i,
  input logic  sent_ready_i,
  input qp_t   sent_qp_i,
  input msg_t  sent_msg_i,
  input slot_t sent_slot_i,   // of the last packet
  input psn_t  sent_first_i,
  input psn_t  sent_psn_i,    // of the last packet

  // Messages that are complete or forgotten, from completion
  input logic left_valid_i,
  input msg_t left_msg_i,

  // Timers, to a timer_wheel; ticks counted, from the other one
  input  micros_t ticks_i,
  output logic    arm_valid_o,
  output msg_t    arm_slot_o,
  output micros_t arm_start_o,
  output micros_t arm_span_o,
  output logic    cancel_valid_o,
  output msg_t    cancel_slot_o,
  input  logic    exp_valid_i,
  output logic    exp_ready_o,
  input  msg_t    exp_slot_i,
  input  micros_t exp_tick_i,

  // Is a message retired from its first packet to its last?, to ack_take
  output logic check_valid_o,
  input  logic check_ready_i,
  output qp_t  check_qp_o,
  output psn_t check_first_o,
  output psn_t check_last_o,
  input  logic check_rsp_valid_i,
  input  logic check_rsp_clear_i,

  // A copy of its last packet: to tx_scheduler; which one, and that it is still wanted, to
  // retransmit
  output logic  copy_valid_o,
  input  logic  copy_done_i,
  output logic  copy_live_o,
  output slot_t copy_slot_o,

  // Slot, QP and ends of each message, in ram_1r1w
  output logic        node_we_o,
  output logic [31:0] node_waddr_o,
  output logic [65:0] node_wdata_o,
  output logic        node_re_o,
  output logic [31:0] node_raddr_o,
  input  logic [65:0] node_rdata_i
);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle,     // takes an expiry, and reads its message
    Read,     // has it
    Check,    // asks ack_take
    Checked,  // its answer is on its way
    Copy      // waits until the copy has gone
  } state_e;

  typedef struct {
    state_e  state;
    msg_t    msg;           // in work
    logic    gone;          // it has left meanwhile
    slot_t   slot;          // of its last packet
    qp_t     qp;
    psn_t    first;
    psn_t    last;
    logic    new_valid;     // a message has its SEND_COMPLETE in this clock
    msg_t    new_msg;
    slot_t   new_slot;
    qp_t     new_qp;
    psn_t    new_first;
    psn_t    new_last;
    logic    next_valid;    // the next timer of `msg`
    micros_t next_start;
    logic    arm_valid;
    msg_t    arm_msg;
    micros_t arm_start;
    logic    cancel_valid;
    msg_t    cancel_msg;
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

  // The expiry on offer is of a message that leaves in this clock, or left in the one before.
  logic spoilt;
  assign spoilt = exp_valid_i && (left_valid_i && left_msg_i == exp_slot_i ||
                                  regs_q.cancel_valid && regs_q.cancel_msg == exp_slot_i);

  logic takes;  // an expiry
  assign exp_ready_o = regs_q.state == Idle || spoilt;
  assign takes = exp_valid_i && regs_q.state == Idle && !spoilt;

  assign arm_valid_o = regs_q.arm_valid;
  assign arm_slot_o = regs_q.arm_msg;
  assign arm_start_o = regs_q.arm_start;
  assign arm_span_o = {24'd0, cfg_timeout_i[63:40] == '0 ? 24'd1 : cfg_timeout_i[63:40]};
  assign cancel_valid_o = regs_q.cancel_valid;
  assign cancel_slot_o = regs_q.cancel_msg;
  assign check_valid_o = regs_q.state == Check;
  assign check_qp_o = regs_q.qp;
  assign check_first_o = regs_q.first;
  assign check_last_o = regs_q.last;
  assign copy_valid_o = regs_q.state == Copy;
  assign copy_live_o = regs_q.state == Copy && !regs_q.gone;
  assign copy_slot_o = regs_q.slot;

  assign node_we_o = regs_q.new_valid;
  assign node_waddr_o = regs_q.new_valid ? 32'(regs_q.new_msg) : '0;
  assign node_wdata_o   = !regs_q.new_valid ? '0 :
                          {regs_q.new_slot, regs_q.new_qp, regs_q.new_first, regs_q.new_last};
  assign node_re_o = takes;
  assign node_raddr_o = takes ? 32'(exp_slot_i) : '0;

  ////////////////
  // Next state //
  ////////////////

  logic leaves;  // the message in work leaves
  assign leaves = left_valid_i && left_msg_i == regs_q.msg;

  always_comb begin
    regs_d              = regs_q;
    regs_d.new_valid    = sent_valid_i && sent_ready_i;
    regs_d.arm_valid    = 1'b0;
    regs_d.cancel_valid = left_valid_i;
    regs_d.gone         = regs_q.gone || leaves;
    regs_d.next_valid   = regs_q.next_valid && !leaves;

    if (sent_valid_i && sent_ready_i) begin
      regs_d.new_msg   = sent_msg_i;
      regs_d.new_slot  = sent_slot_i;
      regs_d.new_qp    = sent_qp_i;
      regs_d.new_first = sent_first_i;
      regs_d.new_last  = sent_psn_i;
    end
    if (left_valid_i) begin
      regs_d.cancel_msg = left_msg_i;
    end

    // The timer of a new message goes before the next one of that in work.
    if (regs_q.new_valid) begin
      regs_d.arm_valid = 1'b1;
      regs_d.arm_msg   = regs_q.new_msg;
      regs_d.arm_start = ticks_i + 48'd1;
    end else if (regs_d.next_valid) begin
      regs_d.next_valid = 1'b0;
      regs_d.arm_valid  = 1'b1;
      regs_d.arm_msg    = regs_q.msg;
      regs_d.arm_start  = regs_q.next_start;
    end

    unique case (regs_q.state)
      Idle: begin
        if (takes) begin
          regs_d.msg        = exp_slot_i;
          regs_d.gone       = 1'b0;
          regs_d.next_valid = 1'b1;
          regs_d.next_start = exp_tick_i;
          regs_d.state      = Read;
        end
      end

      Read: begin
        {regs_d.slot, regs_d.qp, regs_d.first, regs_d.last} = node_rdata_i;
        regs_d.state = regs_d.gone ? Idle : Check;
      end

      Check: begin
        if (check_ready_i) begin
          regs_d.state = Checked;
        end
      end

      Checked: begin
        if (check_rsp_valid_i) begin
          regs_d.state = check_rsp_clear_i && !regs_d.gone ? Copy : Idle;
        end
      end

      default: begin  // Copy
        if (copy_done_i) begin
          regs_d.state = Idle;
        end
      end
    endcase
  end

  // The fraction of a microsecond that is left.
  logic unused;
  assign unused = &{1'b0, cfg_timeout_i[39:0]};

  //////////////
  // Contract //
  //////////////

  // A check that is not taken stays as it is.
  `ASSERT(CheckWaits_A, check_valid_o && !check_ready_i |=> check_valid_o && $stable
                        ({check_qp_o, check_first_o, check_last_o}))
  // A copy stays until it has gone.
  `ASSERT(CopyWaits_A, copy_valid_o && !copy_done_i |=> copy_valid_o && $stable(copy_slot_o))
  // The timer of a message is armed for the message that is there.
  `ASSERT(NextIsMine_A, regs_q.next_valid |-> !regs_q.gone)

endmodule
