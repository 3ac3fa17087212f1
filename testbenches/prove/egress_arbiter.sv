// What egress_arbiter promises, proved for every input that keeps its contract (ARB-1, ARB-2,
// BUF-1, BUF-3). Each assertion is a step of an induction; those named `lemma` only help others.
//
// `one` and `other` are any two classes. What waits in a class has reserved its bytes, and a
// reservation is made where there is room. Pools, discipline and weights may be any, and stand
// still. PART: 0 the choice, 1 weights, 2 the pool of CLASS.

module egress_arbiter_prove
  import nic_pkg::*;
#(
  parameter int unsigned PART = 0,
  parameter logic [2:0] CLASS = 3'd2
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         pfc_valid_i,
  input logic [  7:0] cls_valid_i,
  input logic [111:0] len_i,        // of each class's first frame
  input logic [  7:0] paused_i,
  input logic         resv_valid_i,
  input logic [  2:0] resv_cls_i,
  input len_t         resv_bytes_i,
  input rate_t        rate_i,
  input logic [255:0] pool_i,
  input logic [  1:0] sched_i,
  input logic [ 63:0] weights_i,
  input logic [  2:0] one_i,
  input logic [  2:0] other_i
);

  frame_t       frames[8];
  frame_t       pfc;
  logic         pfc_ready;
  logic   [7:0] taken;
  logic   [7:0] able;

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
      .resv_valid_i(1'b0),
      .resv_bytes_i('0),
      .cresv_valid_i(1'b0),
      .cresv_bytes_i('0),
      .oresv_valid_i(resv_valid_i),
      .oresv_cls_i(resv_cls_i),
      .oresv_bytes_i(resv_bytes_i),
      .unresv_valid_i(1'b0),
      .unresv_bytes_i('0),
      .egress_free_o(),
      .ctl_free_o(),
      .half_valid_o(),
      .occ_o(),
      .cfg_wire_rate_i(rate_i),
      .cfg_egress_pool_i(pool_i),
      .cfg_sched_i(sched_i),
      .cfg_weights_i(weights_i)
  );

  // The settings, and the two classes, as they were in the clock before.
  logic         past;
  logic [255:0] pool_q;
  logic [  1:0] sched_q;
  logic [ 63:0] weights_q;
  logic [  2:0] one_q;
  logic [  2:0] other_q;
  always_ff @(posedge clk_i) begin
    past      <= rst_ni;
    pool_q    <= pool_i;
    sched_q   <= sched_i;
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

  logic [7:0] weight[8];
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

  // Weights: how many of `one` have gone in a row while `other` could.
  logic [8:0] row;
  logic       fresh;
  assign fresh = sched_i != 2'd2 || !able[other_i] || taken[other_i] || weight[other_i] == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row <= '0;
    end else if (fresh || (taken != '0 && !taken[one_i])) begin
      row <= '0;
    end else if (taken[one_i]) begin
      row <= row + 9'd1;
    end
  end

  //////////////////////////////
  // The pools (BUF-1, BUF-3) //
  //////////////////////////////

  // Of CLASS: what is reserved and has not started, and what is being sent.
  len_t   len;
  bytes_t waits;
  bytes_t sent;
  bytes_t pool;
  bytes_t occ;
  bytes_t free;
  assign len = len_i[14*CLASS+:14];
  assign pool    = pool_i[32*CLASS+:32];
  assign occ     = dut.regs_q.occ[CLASS];
  assign free    = dut.regs_q.free[CLASS];
  assign sent    = dut.regs_q.busy && dut.regs_q.tx_cls == {1'b0, CLASS} ?
      bytes_t'(dut.regs_q.tx.len) : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits <= '0;
    end else begin
      waits <= waits - (taken[CLASS] ? bytes_t'(len) : '0)
          + (resv_valid_i && resv_cls_i == CLASS ? bytes_t'(resv_bytes_i) : '0);
    end
  end

  always_comb begin
    if (past) begin
      assume (pool_q == pool_i && sched_q == sched_i && weights_q == weights_i);
      assume (one_q == one_i && other_q == other_i);
    end
    assume (runs || !rst_ni);
    assume (one_i != other_i);
    assume (pool <= 32'h4000_0000);
    assume (!cls_valid_i[CLASS] || bytes_t'(len) <= waits);
    assume (!resv_valid_i || resv_cls_i != CLASS || bytes_t'(resv_bytes_i) <= free);
  end

  if (PART == 0) begin : gen_choice
    always_comb begin
      if (rst_ni) begin
        one_grant : assert ((taken & (taken - 8'd1)) == '0);
        only_able : assert ((taken & ~able) == '0);
        pfc_first : assert (!pfc_valid_i || taken == '0);
        work_conserving : assert (!pfc_ready || pfc_valid_i || able == '0 || taken != '0 ||
                                  (sched_i == 2'd2 && !all_weigh));
        strict_order : assert (sched_i == 2'd1 || sched_i == 2'd2 || !taken[one_i] ||
                               (able >> one_i) == 8'd1);
        round_robin_bound : assert (passed <= 2'd1);
        lemma_passed : assert (passed == '0 || to_one <= from_other);
      end
    end
  end

  if (PART == 1) begin : gen_weights
    always_comb begin
      if (rst_ni) begin
        weight_kept : assert (row <= 9'(weight[one_i]));
        lemma_row : assert (row == '0 || (dut.regs_q.begun && dut.regs_q.turn == one_i &&
                                          row + 9'(dut.regs_q.credit) <= 9'(weight[one_i])));
      end
    end
  end

  if (PART == 2) begin : gen_pools
    always_comb begin
      if (rst_ni) begin
        lemma_never_below : assert (occ >= sent);
        never_above : assert (occ <= pool);
        conserved : assert (occ == waits + sent);
        whole : assert (free == '0 || occ + free == pool);
      end
    end
  end

endmodule
