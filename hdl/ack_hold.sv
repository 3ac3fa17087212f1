// ACK hold: what an answer says of this NIC's backlog, and how long it waits for it.
//
// Twin of rtl-model/src/ack_hold.rs. An answer of clock n is in answer_fifo's port in n + 1; one
// that a FIFO shows in clock n, and need not wait, is at ack_build in n + 1. Throughput 1 a clock.
// SACK-6: service time and penalty are fixed in the clock in which rx_track hands the answer over,
// and so are its backlogs.
//
// BUF-6: the penalty is 0 where the data pool holds less than cfg_penalty_low, 127 from
// cfg_penalty_high on, between them floor((held - low) x 127 / (high - low)).
// BUF-7 (cfg_ack_hold, uet): an answer without a NACK waits for the bytes of its backlog at the
// rate of this end of the PCIe link: it is at ack_build in the first clock n at which
// (n - its clock) x rate >= bytes x 8,000, or behind the answer before it. Its SACK reports that
// time. Its backlog is what the data pool holds, at least the packet's own charge.
// RTT-2 (else): nothing waits. A SACK reports the time at the wire's rate of its packet and the
// bytes of control frames ahead of it: handed over and not yet started.
// Times are floored to 128 ns and are 65,535 of those at most.
//
// Borders and choices:
// - held of exactly low: 0; of exactly high: 127; one less: 126. low >= high: nothing between.
// - A packet that is charged no more (a duplicate) is not in the pool; its charge counts only where
//   the pool holds less.
// - NACKs are not held: beside answers that are, they have a FIFO of their own and go first.
// - The clock that stamps answers runs while some wait, so that the block can sleep.

`include "assert.svh"

module ack_hold
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Answers, from rx_track
  input  logic    in_valid_i,
  output logic    in_ready_o,
  input  answer_t in_i,

  // The same stamped, to answer_fifo, and to nack_fifo
  output logic   held_valid_o,
  input  logic   held_ready_i,
  output logic   nack_valid_o,
  input  logic   nack_ready_i,
  output reply_t stamped_o,

  // The oldest of each, from answer_fifo and nack_fifo
  input  logic   head_valid_i,
  output logic   head_ready_o,
  input  reply_t head_i,
  input  logic   nhead_valid_i,
  output logic   nhead_ready_o,
  input  reply_t nhead_i,

  // To ack_build
  output logic   out_valid_o,
  input  logic   out_ready_i,
  output reply_t out_o,

  // Bytes of the data pool, from ingress_pool
  input bytes_t occ_i,

  // Starts of frames, from egress_arbiter
  input logic       tx_valid_i,
  input logic [3:0] tx_cls_i,
  input len_t       tx_len_i,

  // Settings, from csr
  input rate_t        cfg_wire_rate_i,
  input rate_t        cfg_pcie_rate_i,
  input logic   [4:0] cfg_charge_less_i,
  input logic   [4:0] cfg_ack_extra_i,
  input logic         cfg_icrc_i,
  input bytes_t       cfg_penalty_low_i,
  input bytes_t       cfg_penalty_high_i,
  input logic         cfg_ack_hold_i
);

  localparam logic [3:0] CONTROL_CLS = 4'd1;
  localparam bytes_t SACK_WIRE = 32'd94;
  localparam bytes_t ACK_WIRE = 32'd62;
  localparam bytes_t NACK_WIRE = 32'd78;
  localparam bytes_t ICRC_WIRE = 32'd4;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic        held_valid;
    logic        nack_valid;
    reply_t      stamped;     // for either
    logic        out_valid;
    reply_t      out;
    logic [39:0] now;         // clocks in which answers waited
    logic [11:0] waiting;     // answers stamped, and not yet at ack_build
    bytes_t      ahead;       // of control frames handed over and not yet started
  } regs_t;

  localparam regs_t RESET = '{stamped: reply_t'(0), out: reply_t'(0), default: '0};

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

  logic open;  // there is a place at ack_build
  logic due;  // the oldest answer need not wait
  logic [39:0] passed;
  assign open = !regs_q.out_valid || out_ready_i;
  assign passed = regs_q.now + 40'd1 - head_i.since;
  assign due = 60'(passed) * 60'(cfg_pcie_rate_i) >= 60'(head_i.bytes) * 60'(BYTE_UNITS);

  assign in_ready_o = (!regs_q.held_valid || held_ready_i) && (!regs_q.nack_valid || nack_ready_i);
  assign held_valid_o = regs_q.held_valid;
  assign nack_valid_o = regs_q.nack_valid;
  assign stamped_o = regs_q.stamped;
  assign nhead_ready_o = open;
  assign head_ready_o = open && !nhead_valid_i && due;
  assign out_valid_o = regs_q.out_valid;
  assign out_o = regs_q.out;

  ////////////////
  // Next state //
  ////////////////

  logic is_nack;
  assign is_nack = in_i.nack != NackNone;

  // What its frames take on the wire.
  bytes_t icrc;
  bytes_t frames;
  assign icrc = cfg_icrc_i ? ICRC_WIRE : '0;
  always_comb begin
    frames = '0;
    if (is_nack) begin
      frames = NACK_WIRE + icrc;
    end else if (in_i.sack) begin
      frames = SACK_WIRE + icrc;
    end
    if (in_i.ack) begin
      frames = frames + ACK_WIRE + bytes_t'(cfg_ack_extra_i) + icrc;
    end
  end

  // The backlog, and the time that it takes: bytes x 8,000 / rate ns are 125 / 2 of bytes / rate in
  // steps of 128 ns.
  bytes_t        charge;
  bytes_t        backlog;
  logic   [39:0] parts;
  logic   [20:0] whole;
  logic   [39:0] steps;
  assign charge = bytes_t'(in_i.size) - bytes_t'(cfg_charge_less_i);
  assign backlog = cfg_ack_hold_i ? (occ_i > charge ? occ_i : charge) :
                                       bytes_t'(in_i.size) + regs_q.ahead;
  assign parts = 40'(backlog) * 40'd125;
  assign whole = {cfg_ack_hold_i ? cfg_pcie_rate_i : cfg_wire_rate_i, 1'b0};
  assign steps = whole == '0 ? '1 : parts / 40'(whole);

  bytes_t        over;
  bytes_t        span;
  logic   [38:0] share;
  assign over  = occ_i - cfg_penalty_low_i;
  assign span  = cfg_penalty_high_i - cfg_penalty_low_i;
  assign share = 39'(over) * 39'd127;

  reply_t stamped;
  always_comb begin
    stamped.answer  = in_i;
    stamped.service = steps > 40'hffff ? '1 : steps[15:0];
    stamped.penalty = '0;
    if (occ_i >= cfg_penalty_low_i) begin
      stamped.penalty = occ_i >= cfg_penalty_high_i ? '1 : 7'(share / 39'(span));
    end
    stamped.bytes = cfg_ack_hold_i && !is_nack ? backlog : '0;
    stamped.since = regs_q.now;
  end

  logic comes;
  logic goes;
  assign comes = in_valid_i && in_ready_o;
  assign goes  = open && (nhead_valid_i || (head_valid_i && due));

  always_comb begin
    regs_d = regs_q;

    if (held_ready_i) begin
      regs_d.held_valid = 1'b0;
    end
    if (nack_ready_i) begin
      regs_d.nack_valid = 1'b0;
    end
    if (comes) begin
      regs_d.held_valid = !(is_nack && cfg_ack_hold_i);
      regs_d.nack_valid = is_nack && cfg_ack_hold_i;
      regs_d.stamped    = stamped;
    end

    if (out_ready_i) begin
      regs_d.out_valid = 1'b0;
    end
    if (goes) begin
      regs_d.out_valid = 1'b1;
      regs_d.out       = nhead_valid_i ? nhead_i : head_i;
    end

    regs_d.waiting = regs_q.waiting + 12'(comes) - 12'(goes);
    if (comes || regs_q.waiting != '0) begin
      regs_d.now = regs_q.now + 40'd1;
    end
    regs_d.ahead = regs_q.ahead + (comes ? frames : '0);
    if (tx_valid_i && tx_cls_i == CONTROL_CLS) begin
      regs_d.ahead = regs_d.ahead - bytes_t'(tx_len_i);
    end
  end

  //////////////
  // Contract //
  //////////////

  // What is not taken stays as it is.
  `ASSERT(HeldWaits_A, held_valid_o && !held_ready_i |=> held_valid_o && $stable(stamped_o))
  `ASSERT(NackWaits_A, nack_valid_o && !nack_ready_i |=> nack_valid_o && $stable(stamped_o))
  `ASSERT(OutWaits_A, out_valid_o && !out_ready_i |=> out_valid_o && $stable(out_o))

  // An answer waits in one FIFO.
  `ASSERT(OnePlace_A, !(held_valid_o && nack_valid_o))

  // No answer leaves that did not come.
  `ASSERT(Counted_A, goes |-> regs_q.waiting != '0)

endmodule
