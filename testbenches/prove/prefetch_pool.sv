// What prefetch_pool promises, proved for every input that keeps its contract (BUF-5). Each
// assertion is a step of an induction.
//
// Nothing is taken that has no room, nor given back that is not held. The size may be any, and
// stands still, up to 1 GiB. The bound of a promise is the induction's: every clock of every run.

module prefetch_pool_prove
  import nic_pkg::*;
#(
  parameter int unsigned PART = 0
) (
  input logic   clk_i,
  input logic   rst_ni,
  input logic   take_valid_i,
  input logic   commit_valid_i,
  input len_t   bytes_i,
  input logic   drop_valid_i,
  input len_t   drop_bytes_i,
  input bytes_t size_i
);

  logic half;
  prefetch_pool dut (
      .clk_i,
      .rst_ni,
      .take_valid_i,
      .commit_valid_i,
      .bytes_i,
      .drop_valid_i,
      .drop_bytes_i,
      .free_o(),
      .half_valid_o(half),
      .occ_o(),
      .cfg_prefetch_i(size_i)
  );

  // The size, as it was in the clock before too, and a reset to begin with.
  logic   runs;
  logic   past;
  bytes_t size_q;
  initial runs = 1'b0;
  always_ff @(posedge clk_i) begin
    runs   <= 1'b1;
    past   <= rst_ni;
    size_q <= size_i;
  end

  // What is taken and not given back, and what a release has left.
  bytes_t commit;
  bytes_t drop;
  bytes_t held;
  logic   released;
  bytes_t left;
  assign commit = commit_valid_i ? bytes_t'(bytes_i) : '0;
  assign drop   = drop_valid_i ? bytes_t'(drop_bytes_i) : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held     <= '0;
      released <= 1'b0;
      left     <= '0;
    end else begin
      held     <= held - commit - drop + (take_valid_i ? bytes_t'(bytes_i) : '0);
      released <= commit_valid_i || drop_valid_i;
      left     <= held - commit - drop;
    end
  end

  always_comb begin
    if (past) begin
      assume (size_q == size_i);
    end
    assume (runs || !rst_ni);
    assume (size_i <= 32'h4000_0000);
    assume (!(take_valid_i && commit_valid_i));
    assume (commit <= held);
    assume (drop <= held - commit);
    assume (!take_valid_i || bytes_t'(bytes_i) <= dut.regs_q.free);
  end

  always_comb begin
    if (rst_ni) begin
      never_below : assert (!dut.regs_q.occ[31]);
      never_above : assert (dut.regs_q.occ <= size_i);
      conserved : assert (dut.regs_q.occ == held);
      lemma_free : assert (dut.regs_q.free <= size_i - dut.regs_q.occ);
      half_is_told : assert (half == (released && {left, 1'b0} <= {1'b0, size_i}));
    end
  end

  // One part only.
  logic unused;
  assign unused = PART != 0;

endmodule
