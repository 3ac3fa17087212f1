// Egress arbiter: which frame the port sends next, when it ends, and what the egress pools hold.
//
// Twin of rtl-model/src/egress_arbiter.rs. A frame taken in clock n starts with `tx_valid_o` in
// n + 1, at the start of that clock or, behind another frame, at that one's exact end. Throughput 1
// frame per clock, bound by the link.
// ARB-1: PFC's frames first, never paused, then a class with a frame that is not paused. ARB-2:
// by StrictPriority, RoundRobin or WeightedRoundRobin. PKT-2, section 2: exact pacing. BUF-1,
// BUF-3: a pool a class, reserved by others, released at a frame's end; PFC has none.
//
// A byte is 8,000 units and a clock drains `cfg_wire_rate` of them. A frame with `left` units at
// the start of a clock ends in it if left <= rate; `end_valid_o` comes in the next clock and the
// exact end is `end_back_o` units before that clock's start. A frame that waits meanwhile starts
// there; when none waits the remainder is dropped.
//
// Borders and choices:
// - left equal to the rate ends in the clock, with back 0.
// - The release shows in `egress_free_o`, `ctl_free_o`, `occ_o` and `half_valid_o` with
//   `end_valid_o`.
// - Section 16: of one clock's events the release comes first, so a reservation in the same clock
//   does not count against half. half_valid_o: data releases leave 2 x occupancy <= pool.
// - A frame that costs less than the remainder before it starts with 0 units; none at 400 Gbps.
// - Free bytes are registers: one clock behind a change of a pool's size, 0 where it holds more.
// - Every setting may change at any time and acts on the next choice. Turns and what is left of a
//   weight stay while the port idles, other disciplines serve, or nobody may send; what is left is
//   never more than the weight is now. The first turn is the highest class's that has a pool.
// - RoundRobin goes on behind the class served last, by whichever discipline; class 0 first.
// - WeightedRoundRobin passes over a class whose weight is 0. Discipline 3 is StrictPriority.
// - In the NIC classes 0 (data) and 1 (control) have queues (PKT-4).
//
// It is longer than a module should be: a port each for eight classes, and the choice beside the
// pools that it follows.

`include "assert.svh"

module egress_arbiter
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // PFC, from pause_send
  input  logic   pfc_valid_i,
  output logic   pfc_ready_o,
  input  frame_t pfc_i,

  // A frame a class, from the class queues
  input  logic   [7:0] cls_valid_i,
  output logic   [7:0] cls_ready_o,
  input  frame_t       cls0_i,
  input  frame_t       cls1_i,
  input  frame_t       cls2_i,
  input  frame_t       cls3_i,
  input  frame_t       cls4_i,
  input  frame_t       cls5_i,
  input  frame_t       cls6_i,
  input  frame_t       cls7_i,

  // Classes held, from pause_hold
  input logic [7:0] paused_i,

  // Start of a frame, to port_tx; class 8 is PFC
  output logic         tx_valid_o,
  output frame_t       tx_o,
  output logic   [3:0] tx_cls_o,

  // End of a frame, to port_tx
  output logic        end_valid_o,
  output rate_t       end_back_o,
  output len_t        end_len_o,
  output logic        end_data_o,
  output slot_t       end_slot_o,
  output logic  [3:0] end_cls_o,

  // Reservations: class 0 from tx_scheduler, class 1 from ack_build, of any class
  input logic       resv_valid_i,
  input len_t       resv_bytes_i,
  input logic       cresv_valid_i,
  input len_t       cresv_bytes_i,
  input logic       oresv_valid_i,
  input logic [2:0] oresv_cls_i,
  input len_t       oresv_bytes_i,

  // Reservations of class 0 given back by segments that came to nothing, from qp_drain
  input logic unresv_valid_i,
  input len_t unresv_bytes_i,

  // Room, to tx_scheduler and ack_build; bytes reserved of each class
  output bytes_t         egress_free_o,
  output bytes_t         ctl_free_o,
  output logic           half_valid_o,
  output logic   [255:0] occ_o,

  // Settings, from csr
  input rate_t         cfg_wire_rate_i,
  input logic  [255:0] cfg_egress_pool_i,
  input logic  [  1:0] cfg_sched_i,
  input logic  [ 63:0] cfg_weights_i
);

  typedef logic [26:0] units_t;  // 16,383 B are 131,064,000

  localparam logic [3:0] PFC_CLS = 4'd8;
  localparam logic [1:0] ROUND_ROBIN = 2'd1;
  localparam logic [1:0] WEIGHTED = 2'd2;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic       busy;       // `tx` is being serialised
    units_t     left;       // of it, at the start of this clock
    logic       tx_valid;
    frame_t     tx;         // the last frame granted
    logic [3:0] tx_cls;
    logic       end_valid;
    rate_t      end_back;
    len_t       end_len;
    logic       end_data;
    slot_t      end_slot;
    logic [3:0] end_cls;
    logic       half;
    bytes_t     occ[8];     // reserved of each pool
    bytes_t     free[8];    // the rest of each
    logic [2:0] last;       // class served last
    logic       begun;      // there has been a turn by weight
    logic [2:0] turn;       // whose it is, or was
    logic [7:0] credit;     // packets left of it
  } regs_t;

  localparam regs_t RESET = '{
      tx: frame_t'(0),
      occ: '{default: '0},
      free: '{default: '0},
      last: 3'd7,
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

  ////////////////
  // The choice //
  ////////////////

  logic [7:0] able;  // a frame, and not paused
  logic [2:0] top;  // the highest class with a pool
  logic [2:0] turn_now;
  logic [7:0] credit_now;
  logic       some;  // `pick` is the class to be served
  logic [2:0] pick;
  logic [2:0] turn;
  logic [7:0] credit;
  logic [2:0] at;

  assign able = cls_valid_i & ~paused_i;

  always_comb begin
    top = '0;
    for (int unsigned c = 1; c < 8; c++) begin
      if (cfg_egress_pool_i[32*c+:32] != '0) begin
        top = 3'(c);
      end
    end
    turn_now   = regs_q.begun ? regs_q.turn : top;
    credit_now = cfg_weights_i[{turn_now, 3'd0}+:8];
    if (regs_q.begun && regs_q.credit < credit_now) begin
      credit_now = regs_q.credit;
    end
  end

  // Of several that may, the last one looked at is served: the nearest, or the highest.
  always_comb begin
    some   = 1'b0;
    pick   = '0;
    turn   = turn_now;
    credit = credit_now;
    at     = '0;
    for (int unsigned k = 8; k > 0; k--) begin
      unique case (cfg_sched_i)
        ROUND_ROBIN: at = regs_q.last + 3'(k);
        WEIGHTED:    at = turn_now + 3'(k);
        default:     at = 3'(8 - k);
      endcase
      if (able[at] && (cfg_sched_i != WEIGHTED || cfg_weights_i[{at, 3'd0}+:8] != '0)) begin
        some   = 1'b1;
        pick   = at;
        turn   = at;
        credit = cfg_weights_i[{at, 3'd0}+:8];
      end
    end
    if (cfg_sched_i == WEIGHTED && able[turn_now] && credit_now != '0) begin
      pick   = turn_now;
      turn   = turn_now;
      credit = credit_now;
    end
  end

  /////////////
  // Outputs //
  /////////////

  logic ends;  // the frame being sent ends in this clock
  logic open;  // the port takes a frame
  assign ends          = regs_q.busy && regs_q.left <= units_t'(cfg_wire_rate_i);
  assign open          = !regs_q.busy || ends;

  assign pfc_ready_o   = open;
  assign cls_ready_o   = open && !pfc_valid_i && some ? 8'd1 << pick : '0;

  assign tx_valid_o    = regs_q.tx_valid;
  assign tx_o          = regs_q.tx;
  assign tx_cls_o      = regs_q.tx_cls;
  assign end_valid_o   = regs_q.end_valid;
  assign end_back_o    = regs_q.end_back;
  assign end_len_o     = regs_q.end_len;
  assign end_data_o    = regs_q.end_data;
  assign end_slot_o    = regs_q.end_slot;
  assign end_cls_o     = regs_q.end_cls;
  assign egress_free_o = regs_q.free[0];
  assign ctl_free_o    = regs_q.free[1];
  assign half_valid_o  = regs_q.half;

  for (genvar c = 0; c < 8; c++) begin : gen_occ
    assign occ_o[32*c+:32] = regs_q.occ[c];
  end

  ////////////////
  // Next state //
  ////////////////

  logic   grant_pfc;
  logic   grant_cls;
  frame_t granted;
  units_t cost;
  rate_t  spare;  // what the frame that ends leaves of this clock
  bytes_t pool;
  bytes_t gone;  // what this clock's releases leave of a class
  logic   released;

  assign grant_pfc = pfc_valid_i && open;
  assign grant_cls = cls_ready_o != '0;
  assign cost      = units_t'(granted.len) * units_t'(BYTE_UNITS);
  assign spare     = ends ? cfg_wire_rate_i - rate_t'(regs_q.left) : '0;

  always_comb begin
    unique case (pick)
      3'd0: granted = cls0_i;
      3'd1: granted = cls1_i;
      3'd2: granted = cls2_i;
      3'd3: granted = cls3_i;
      3'd4: granted = cls4_i;
      3'd5: granted = cls5_i;
      3'd6: granted = cls6_i;
      default: granted = cls7_i;
    endcase
    if (pfc_valid_i) begin
      granted = pfc_i;
    end
  end

  always_comb begin
    regs_d = regs_q;

    // The frame being sent.
    if (ends) begin
      regs_d.busy     = 1'b0;
      regs_d.end_back = spare;
      regs_d.end_len  = regs_q.tx.len;
      regs_d.end_data = regs_q.tx.data;
      regs_d.end_slot = regs_q.tx.slot;
      regs_d.end_cls  = regs_q.tx_cls;
    end else if (regs_q.busy) begin
      regs_d.left = regs_q.left - units_t'(cfg_wire_rate_i);
    end
    regs_d.end_valid = ends;

    // The next one.
    regs_d.tx_valid  = grant_pfc || grant_cls;
    if (regs_d.tx_valid) begin
      regs_d.busy   = 1'b1;
      regs_d.left   = cost > units_t'(spare) ? cost - units_t'(spare) : '0;
      regs_d.tx     = granted;
      regs_d.tx_cls = grant_pfc ? PFC_CLS : 4'(pick);
    end
    if (grant_cls) begin
      regs_d.last = pick;
    end
    if (grant_cls && cfg_sched_i == WEIGHTED) begin
      regs_d.begun  = 1'b1;
      regs_d.turn   = turn;
      regs_d.credit = credit - 8'd1;
    end

    // The pools.
    regs_d.half = 1'b0;
    pool        = '0;
    gone        = '0;
    released    = 1'b0;
    for (int unsigned c = 0; c < 8; c++) begin
      pool = cfg_egress_pool_i[32*c+:32];
      gone = regs_q.occ[c];
      if (ends && regs_q.tx_cls == 4'(c)) begin
        gone = regs_q.occ[c] - bytes_t'(regs_q.tx.len);
      end
      if (c == 0) begin
        gone        = gone - (unresv_valid_i ? bytes_t'(unresv_bytes_i) : '0);
        released    = (ends && regs_q.tx_cls == '0) || unresv_valid_i;
        regs_d.half = released && {gone, 1'b0} <= {1'b0, pool};
      end
      regs_d.occ[c] = gone + (oresv_valid_i && oresv_cls_i == 3'(c) ? bytes_t'(oresv_bytes_i) : '0)
          + (c == 0 && resv_valid_i ? bytes_t'(resv_bytes_i) : '0)
          + (c == 1 && cresv_valid_i ? bytes_t'(cresv_bytes_i) : '0);
      regs_d.free[c] = regs_d.occ[c] < pool ? pool - regs_d.occ[c] : '0;
    end
  end

  //////////////
  // Contract //
  //////////////

  // One frame at most is taken, of a class that has one and is not paused, and none beside PFC's.
  `ASSERT(OneGrant_A, $onehot0(cls_ready_o))
  `ASSERT(OnlyAble_A, (cls_ready_o & ~able) == '0)
  `ASSERT(PfcFirst_A, pfc_valid_i |-> cls_ready_o == '0)

  // The port does not idle while a class may send.
  `ASSERT(WorkConserving_A,
          open && !pfc_valid_i && able != '0 && cfg_sched_i != WEIGHTED |-> cls_ready_o != '0)

  // A frame that starts has the port.
  `ASSERT(StartHasPort_A, tx_valid_o |-> regs_q.busy)

  // A frame starts only on a free port: with no other, or as the other ends.
  `ASSERT(OneAtATime_A, regs_q.busy && !ends |=> !tx_valid_o)

  bytes_t [7:0] due;  // reserved of each pool in the next clock, counted port by port
  always_comb begin
    due = occ_o;
    due[oresv_cls_i] += oresv_valid_i ? bytes_t'(oresv_bytes_i) : '0;
    due[0] += resv_valid_i ? bytes_t'(resv_bytes_i) : '0;
    due[0] -= unresv_valid_i ? bytes_t'(unresv_bytes_i) : '0;
    due[1] += cresv_valid_i ? bytes_t'(cresv_bytes_i) : '0;
    due[regs_q.tx_cls[2:0]] -= ends && regs_q.tx_cls != PFC_CLS ? bytes_t'(regs_q.tx.len) : '0;
  end

  for (genvar c = 0; c < 8; c++) begin : gen_pool
    // A frame that ends holds its reservation until then.
    `ASSERT(Reserved_A, ends && regs_q.tx_cls == 4'(c) |-> regs_q.occ[c] >= bytes_t'(regs_q.tx.len))
    // Nothing is lost: what is reserved and has not left is held (BUF-3).
    `ASSERT(Balance_A, regs_d.occ[c] == due[c])
    // What is reserved and what is free are the pool, unless it has become too small (BUF-1).
    `ASSERT(Conserved_A,
            regs_d.occ[c] <= cfg_egress_pool_i[32*c+:32] ?
            regs_d.occ[c] + regs_d.free[c] == cfg_egress_pool_i[32*c+:32] : regs_d.free[c] == '0)
  end

endmodule
