// Egress arbiter: which frame the port sends next, when it ends, and what the egress pools hold.
//
// Twin of rtl-model/src/egress_arbiter.rs. A frame taken in clock n starts with `tx_valid_o` in
// n + 1, at the start of that clock or, behind another frame, at that one's exact end. Throughput 1
// frame per clock, bound by the link.
// ARB-1, ARB-2: control before data (StrictPriority). PKT-2, section 2: exact pacing. BUF-1, BUF-3:
// pools of classes 0 (data) and 1 (control), reserved by others, released at a frame's end.
//
// A byte is 8,000 units and a clock drains `cfg_wire_rate` of them. A frame with `left` units at
// the start of a clock ends in it if left <= rate; `end_valid_o` comes in the next clock and the
// exact end is `end_back_o` units before that clock's start. A frame that waits meanwhile starts
// there; when none waits the remainder is dropped.
//
// Borders and choices:
// - left equal to the rate ends in the clock, with back 0.
// - The release shows in `egress_free_o` or `ctl_free_o`, and `half_valid_o`, with `end_valid_o`.
// - Section 16: of one clock's events the release comes first, so a reservation in the same clock
//   does not count against half. half_valid_o: a data release leaves 2 x occupancy <= pool.
// - A frame that costs less than the remainder before it starts with 0 units; none at 400 Gbps.
// - Free bytes are registers: one clock behind a change of a pool's size, 0 where it holds more.
// - cfg_sched and the weights have no effect yet: every setting is StrictPriority.

`include "assert.svh"

module egress_arbiter
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Class 0, from the data queue
  input  logic   dat_valid_i,
  output logic   dat_ready_o,
  input  frame_t dat_i,

  // Class 1, from the control queue
  input  logic   ctl_valid_i,
  output logic   ctl_ready_o,
  input  frame_t ctl_i,

  // Start of a frame, to port_tx
  output logic   tx_valid_o,
  output frame_t tx_o,
  output logic   tx_ctl_o,

  // End of a frame, to port_tx
  output logic  end_valid_o,
  output rate_t end_back_o,
  output len_t  end_len_o,
  output logic  end_data_o,
  output slot_t end_slot_o,
  output logic  end_ctl_o,

  // Reservations, from tx_scheduler and ack_build
  input logic resv_valid_i,
  input len_t resv_bytes_i,
  input logic cresv_valid_i,
  input len_t cresv_bytes_i,

  // Reservations given back by segments that came to nothing, from qp_drain
  input logic unresv_valid_i,
  input len_t unresv_bytes_i,

  // Room, to tx_scheduler and ack_build
  output bytes_t egress_free_o,
  output bytes_t ctl_free_o,
  output logic   half_valid_o,

  // Settings, from csr
  input rate_t        cfg_wire_rate_i,
  input bytes_t       cfg_egress_pool0_i,
  input bytes_t       cfg_egress_pool1_i,
  input logic   [1:0] cfg_sched_i,
  input logic   [7:0] cfg_weight0_i,
  input logic   [7:0] cfg_weight1_i
);

  typedef logic [26:0] units_t;  // 16,383 B are 131,064,000

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic   busy;         // `tx` is being serialised
    units_t left;         // of it, at the start of this clock
    logic   tx_valid;
    frame_t tx;           // the last frame granted
    logic   tx_ctl;
    logic   end_valid;
    rate_t  end_back;
    len_t   end_len;
    logic   end_data;
    slot_t  end_slot;
    logic   end_ctl;
    logic   half;
    bytes_t occ0;         // reserved of each pool
    bytes_t occ1;
    bytes_t egress_free;  // the rest of each
    bytes_t ctl_free;
  } regs_t;

  localparam regs_t RESET = '{
      busy: 1'b0,
      left: '0,
      tx_valid: 1'b0,
      tx: frame_t'(0),
      tx_ctl: 1'b0,
      end_valid: 1'b0,
      end_back: '0,
      end_len: '0,
      end_data: 1'b0,
      end_slot: '0,
      end_ctl: 1'b0,
      half: 1'b0,
      occ0: '0,
      occ1: '0,
      egress_free: '0,
      ctl_free: '0
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

  logic ends;  // the frame being sent ends in this clock
  assign ends          = regs_q.busy && regs_q.left <= units_t'(cfg_wire_rate_i);

  assign ctl_ready_o   = !regs_q.busy || ends;
  assign dat_ready_o   = (!regs_q.busy || ends) && !ctl_valid_i;

  assign tx_valid_o    = regs_q.tx_valid;
  assign tx_o          = regs_q.tx;
  assign tx_ctl_o      = regs_q.tx_ctl;
  assign end_valid_o   = regs_q.end_valid;
  assign end_back_o    = regs_q.end_back;
  assign end_len_o     = regs_q.end_len;
  assign end_data_o    = regs_q.end_data;
  assign end_slot_o    = regs_q.end_slot;
  assign end_ctl_o     = regs_q.end_ctl;
  assign egress_free_o = regs_q.egress_free;
  assign ctl_free_o    = regs_q.ctl_free;
  assign half_valid_o  = regs_q.half;

  ////////////////
  // Next state //
  ////////////////

  logic   grant_ctl;
  logic   grant_dat;
  len_t   grant_len;
  units_t cost;
  rate_t  spare;  // what the frame that ends leaves of this clock

  assign grant_ctl = ctl_valid_i && ctl_ready_o;
  assign grant_dat = dat_valid_i && dat_ready_o;
  assign grant_len = grant_ctl ? ctl_i.len : dat_i.len;
  assign cost      = units_t'(grant_len) * units_t'(BYTE_UNITS);
  assign spare     = ends ? cfg_wire_rate_i - rate_t'(regs_q.left) : '0;

  bytes_t left0;  // occupancy after this clock's release, before its reservation
  bytes_t left1;
  logic   released0;
  assign released0 = ends && !regs_q.tx_ctl || unresv_valid_i;
  assign left0 = regs_q.occ0 - (ends && !regs_q.tx_ctl ? bytes_t'(regs_q.tx.len) : '0)
      - (unresv_valid_i ? bytes_t'(unresv_bytes_i) : '0);
  assign left1 = ends && regs_q.tx_ctl ? regs_q.occ1 - bytes_t'(regs_q.tx.len) : regs_q.occ1;

  function automatic bytes_t room(bytes_t pool, bytes_t occ);
    return occ < pool ? pool - occ : '0;
  endfunction

  always_comb begin
    regs_d = regs_q;

    // The frame being sent.
    if (ends) begin
      regs_d.busy     = 1'b0;
      regs_d.end_back = spare;
      regs_d.end_len  = regs_q.tx.len;
      regs_d.end_data = regs_q.tx.data;
      regs_d.end_slot = regs_q.tx.slot;
      regs_d.end_ctl  = regs_q.tx_ctl;
    end else if (regs_q.busy) begin
      regs_d.left = regs_q.left - units_t'(cfg_wire_rate_i);
    end
    regs_d.end_valid = ends;

    // The next one.
    regs_d.tx_valid  = grant_ctl || grant_dat;
    if (regs_d.tx_valid) begin
      regs_d.busy   = 1'b1;
      regs_d.left   = cost > units_t'(spare) ? cost - units_t'(spare) : '0;
      regs_d.tx     = grant_ctl ? ctl_i : dat_i;
      regs_d.tx_ctl = grant_ctl;
    end

    // The pools.
    regs_d.half        = released0 && {left0, 1'b0} <= {1'b0, cfg_egress_pool0_i};
    regs_d.occ0        = left0 + (resv_valid_i ? bytes_t'(resv_bytes_i) : '0);
    regs_d.occ1        = left1 + (cresv_valid_i ? bytes_t'(cresv_bytes_i) : '0);
    regs_d.egress_free = room(cfg_egress_pool0_i, regs_d.occ0);
    regs_d.ctl_free    = room(cfg_egress_pool1_i, regs_d.occ1);
  end

  // The settings of the other two disciplines.
  logic unused;
  assign unused = &{1'b0, cfg_sched_i, cfg_weight0_i, cfg_weight1_i};

  //////////////
  // Contract //
  //////////////

  // Data waits while control does.
  `ASSERT(Strict_A, ctl_valid_i |-> !dat_ready_o)

  // A frame that starts has the port.
  `ASSERT(StartHasPort_A, tx_valid_o |-> regs_q.busy)

  // A frame starts only on a free port: with no other, or as the other ends.
  `ASSERT(OneAtATime_A, regs_q.busy && !ends |=> !tx_valid_o)

  // A frame that ends holds its reservation until then.
  `ASSERT(Reserved0_A, ends && !regs_q.tx_ctl |-> regs_q.occ0 >= bytes_t'(regs_q.tx.len))
  `ASSERT(Reserved1_A, ends && regs_q.tx_ctl |-> regs_q.occ1 >= bytes_t'(regs_q.tx.len))

endmodule
