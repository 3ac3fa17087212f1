// What egress_arbiter promises, proved for every input that keeps its contract (ARB-1, ARB-2,
// BUF-1, BUF-3). Each assertion is a step of an induction; those named `lemma` only help others.
//
// `one` and `other` are any two classes. All four partners reserve and give back in any clock: what
// a clock reserves of a class is within the room that the class told, and what waits in it, or is
// given back, has been reserved. In class 0 resv and oresv may come in one clock, and in class 1
// cresv and oresv. Pools may be any below 1 MiB, and stand still;
// discipline, weights and the wire's rate may change in any clock.
//
// PART: 0 the choice, 1 weights, 2 to 9 the pool of a class. The bound of a promise is the
// induction's: every clock of every run.

module egress_arbiter_prove
  import nic_pkg::*;
#(
  parameter int unsigned PART = 0
) (
  input logic          clk_i,
  input logic          rst_ni,
  input logic          pfc_valid_i,
  input logic  [  7:0] cls_valid_i,
  input logic  [111:0] len_i,           // of each class's first frame
  input logic  [  7:0] paused_i,
  input logic          resv_valid_i,
  input len_t          resv_bytes_i,
  input logic          cresv_valid_i,
  input len_t          cresv_bytes_i,
  input logic          oresv_valid_i,
  input logic  [  2:0] oresv_cls_i,
  input len_t          oresv_bytes_i,
  input logic          unresv_valid_i,
  input len_t          unresv_bytes_i,
  input rate_t         rate_i,
  input logic  [255:0] pool_i,
  input logic  [  1:0] sched_i,
  input logic  [ 63:0] weights_i,
  input logic  [  2:0] one_i,
  input logic  [  2:0] other_i
);

  frame_t         frames      [8];
  frame_t         pfc;
  logic           pfc_ready;
  logic   [  7:0] taken;
  logic   [  7:0] able;
  bytes_t         egress_free;
  bytes_t         ctl_free;
  logic           half;
  logic   [255:0] occs;

  for (genvar c = 0; c < 8; c++) begin : gen_frame
    always_comb begin
      frames[c]     = frame_t'(0);
      frames[c].len = len_i[14*c+:14];
    end
  end
  always_comb begin
    pfc     = frame_t'(0);
    pfc.len = 14'd64;
  end
  assign able = cls_valid_i & ~paused_i;

  egress_arbiter dut (
      .clk_i,
      .rst_ni,
      .pfc_valid_i,
      .pfc_ready_o(pfc_ready),
      .pfc_i(pfc),
      .cls_valid_i,
      .cls_ready_o(taken),
      .cls0_i(frames[0]),
      .cls1_i(frames[1]),
      .cls2_i(frames[2]),
      .cls3_i(frames[3]),
      .cls4_i(frames[4]),
      .cls5_i(frames[5]),
      .cls6_i(frames[6]),
      .cls7_i(frames[7]),
      .paused_i,
      .tx_valid_o(),
      .tx_o(),
      .tx_cls_o(),
      .end_valid_o(),
      .end_back_o(),
      .end_len_o(),
      .end_data_o(),
      .end_slot_o(),
      .end_cls_o(),
      .resv_valid_i,
      .resv_bytes_i,
      .cresv_valid_i,
      .cresv_bytes_i,
      .oresv_valid_i,
      .oresv_cls_i,
      .oresv_bytes_i,
      .unresv_valid_i,
      .unresv_bytes_i,
      .egress_free_o(egress_free),
      .ctl_free_o(ctl_free),
      .half_valid_o(half),
      .occ_o(occs),
      .cfg_wire_rate_i(rate_i),
      .cfg_egress_pool_i(pool_i),
      .cfg_sched_i(sched_i),
      .cfg_weights_i(weights_i)
  );

  // The pools, the weights, and the two classes, as they were in the clock before.
  logic         past;
  logic [255:0] pool_q;
  logic [ 63:0] weights_q;
  logic [  2:0] one_q;
  logic [  2:0] other_q;
  always_ff @(posedge clk_i) begin
    past      <= rst_ni;
    pool_q    <= pool_i;
    weights_q <= weights_i;
    one_q     <= one_i;
    other_q   <= other_i;
  end

  // A run begins with a reset.
  logic runs;
  initial runs = 1'b0;
  always_ff @(posedge clk_i) begin
    runs <= 1'b1;
  end

  ////////////////////////
  // The choice (ARB-2) //
  ////////////////////////

  logic [7:0] weight    [8];
  logic       all_weigh;
  always_comb begin
    all_weigh = 1'b1;
    for (int unsigned c = 0; c < 8; c++) begin
      weight[c] = weights_i[8*c+:8];
      if (able[c] && weight[c] == '0) begin
        all_weigh = 1'b0;
      end
    end
  end

  // Round robin: how often `other` was served since `one` could be and was not.
  logic       starts;  // one_i had its turn, or could not be served
  logic [1:0] passed;
  logic [2:0] to_one;  // from the class served last, one short
  logic [2:0] from_other;
  assign starts     = taken[one_i] || !able[one_i] || sched_i != 2'd1;
  assign to_one     = one_i - dut.regs_q.last - 3'd1;
  assign from_other = one_i - other_i - 3'd1;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      passed <= '0;
    end else if (starts) begin
      passed <= '0;
    end else if (taken[other_i] && passed != '1) begin
      passed <= passed + 2'd1;
    end
  end

  // Weights: how many of `one` have gone in a row while `other` could, under the same weights.
  logic [8:0] row;
  logic       other_weights;  // than in the clock before
  logic       fresh;
  assign other_weights = weights_q != weights_i;
  assign fresh = sched_i != 2'd2 || !able[other_i] || taken[other_i] || weight[other_i] == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row <= '0;
    end else if (fresh || (taken != '0 && !taken[one_i])) begin
      row <= '0;
    end else if (taken[one_i]) begin
      row <= (other_weights ? 9'd0 : row) + 9'd1;
    end else if (other_weights) begin
      row <= '0;
    end
  end

  //////////////////////////////
  // The pools (BUF-1, BUF-3) //
  //////////////////////////////

  // Of CLASS: what was reserved and neither given back nor has ended; what of it is being sent; what
  // the last release left.
  localparam logic [2:0] CLASS = PART < 2 ? 3'd2 : 3'(PART - 2);
  len_t   len;
  bytes_t pool;
  bytes_t occ;
  bytes_t free;  // as it is told, if anyone is told of it
  bytes_t held;
  bytes_t sent;
  bytes_t rest;  // with this clock's releases
  bytes_t left;
  logic   released;
  bytes_t data;  // reserved in this clock, by each partner
  bytes_t ctl;
  bytes_t any;
  bytes_t unresv;  // given back in it
  assign len = frames[CLASS].len;
  assign pool = pool_i[32*CLASS+:32];
  assign occ = occs[32*CLASS+:32];
  assign free = CLASS == 3'd0 ? egress_free : CLASS == 3'd1 ? ctl_free : dut.regs_q.free[CLASS];
  assign sent   = dut.regs_q.busy && dut.regs_q.tx_cls == {1'b0, CLASS} ?
      bytes_t'(dut.regs_q.tx.len) : '0;
  assign data = resv_valid_i && CLASS == 3'd0 ? bytes_t'(resv_bytes_i) : '0;
  assign ctl = cresv_valid_i && CLASS == 3'd1 ? bytes_t'(cresv_bytes_i) : '0;
  assign any = oresv_valid_i && oresv_cls_i == CLASS ? bytes_t'(oresv_bytes_i) : '0;
  assign unresv = unresv_valid_i && CLASS == 3'd0 ? bytes_t'(unresv_bytes_i) : '0;
  assign rest   = (dut.ends && dut.regs_q.tx_cls == {1'b0, CLASS} ?
      held - bytes_t'(dut.regs_q.tx.len) : held) - unresv;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held     <= '0;
      left     <= '0;
      released <= 1'b0;
    end else begin
      held     <= rest + any + data + ctl;
      left     <= rest;
      released <= (dut.ends && dut.regs_q.tx_cls == {1'b0, CLASS}) || unresv_valid_i;
    end
  end

  always_comb begin
    if (past) begin
      assume (pool_q == pool_i);
      assume (one_q == one_i && other_q == other_i);
    end
    assume (runs || !rst_ni);
    assume (one_i != other_i);
    assume (pool < 32'h0010_0000);
    assume (unresv <= held - sent);
    assume (!cls_valid_i[CLASS] || bytes_t'(len) <= held - sent - unresv);
    assume (any <= free);
    assume (data + ctl <= free - any);
  end

  if (PART == 0) begin : gen_choice
    always_comb begin
      if (rst_ni) begin
        one_grant : assert ((taken & (taken - 8'd1)) == '0);
        only_able : assert ((taken & ~able) == '0);
        pfc_first : assert (!pfc_valid_i || taken == '0);
        work_conserving :
        assert (!pfc_ready || pfc_valid_i || able == '0 || taken != '0 ||
                                  (sched_i == 2'd2 && !all_weigh));
        strict_order :
        assert (sched_i == 2'd1 || sched_i == 2'd2 || !taken[one_i] || (able >> one_i) == 8'd1);
        round_robin_bound : assert (passed <= 2'd1);
        lemma_passed : assert (passed == '0 || to_one <= from_other);
      end
    end
  end

  if (PART == 1) begin : gen_weights
    always_comb begin
      if (rst_ni) begin
        weight_kept : assert (other_weights || row <= 9'(weight[one_i]));
        lemma_row :
        assert (row == '0 || other_weights || (dut.regs_q.begun && dut.regs_q.turn == one_i &&
                                          row + 9'(dut.regs_q.credit) <= 9'(weight[one_i])));
      end
    end
  end

  if (PART > 1) begin : gen_pools
    always_comb begin
      if (rst_ni) begin
        lemma_sent : assert (sent <= held);
        never_below : assert (!occ[31]);
        never_above : assert (occ <= pool);
        conserved : assert (occ == held);
        // The same either way round; of class 0 z3 finds the one sooner, of the others the other.
        whole :
        assert (free == '0 || (CLASS == 3'd0 ? free == pool - occ : occ + free == pool));
        half_is_told : assert (CLASS != 3'd0 || half == (released && {left, 1'b0} <= {1'b0, pool}));
      end
    end
  end

endmodule
