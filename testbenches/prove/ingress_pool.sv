// What ingress_pool promises, proved for every input that keeps its contract (BUF-1, BUF-4). Each
// assertion is a step of an induction.
//
// Nothing is released that was not charged before, and no words are freed that were not taken. The
// pools may be any, and stand still.

module ingress_pool_prove
  import nic_pkg::*;
#(
  parameter int unsigned PART = 0
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       in_valid_i,
  input kind_e      kind_i,
  input len_t       charge_i,
  input drop_e      drop_i,
  input logic [7:0] words_i,
  input logic       dat_ready_i,
  input logic       ctl_ready_i,
  input logic       rel_valid_i,
  input len_t       rel_bytes_i,
  input logic       rel2_valid_i,
  input len_t       rel2_bytes_i,
  input logic       relt_valid_i,
  input len_t       relt_bytes_i,
  input logic       relc_valid_i,
  input len_t       relc_bytes_i,
  input logic       free_valid_i,
  input logic [7:0] free_words_i,
  input bytes_t     pool0_i,
  input bytes_t     pool1_i
);

  localparam int unsigned RING = 1024;
  localparam int unsigned MARGIN = 130;

  parsed_t frame;
  always_comb begin
    frame        = parsed_t'(0);
    frame.kind   = kind_i;
    frame.charge = charge_i;
  end

  ingress_pool #(
      .INGRESS_WORDS(RING)
  ) dut (
      .clk_i,
      .rst_ni,
      .word_valid_i(1'b0),
      .word_data_i('0),
      .in_valid_i,
      .in_i(frame),
      .in_drop_i(drop_i),
      .in_words_i(words_i),
      .ring_we_o(),
      .ring_waddr_o(),
      .ring_wdata_o(),
      .dat_valid_o(),
      .dat_ready_i,
      .dat_o(),
      .ctl_valid_o(),
      .ctl_ready_i,
      .ctl_o(),
      .rel_valid_i,
      .rel_bytes_i,
      .rel2_valid_i,
      .rel2_bytes_i,
      .relt_valid_i,
      .relt_bytes_i,
      .relc_valid_i,
      .relc_bytes_i,
      .free_valid_i,
      .free_words_i,
      .cfg_ingress_pool0_i(pool0_i),
      .cfg_ingress_pool1_i(pool1_i),
      .drop_valid_o(),
      .drop_reason_o(),
      .occ0_o(),
      .occ1_o(),
      .arr_valid_o(),
      .arr_ctl_o(),
      .arr_occ_o(),
      .rel0_o(),
      .rel1_o()
  );

  // The pools as they were in the clock before, and a reset to begin with.
  logic   runs;
  logic   past;
  bytes_t pool0_q;
  bytes_t pool1_q;
  initial runs = 1'b0;
  always_ff @(posedge clk_i) begin
    runs    <= 1'b1;
    past    <= rst_ni;
    pool0_q <= pool0_i;
    pool1_q <= pool1_i;
  end

  // What is charged and not released, by what the block says of each frame a clock later: a frame
  // without a fault that is not dropped has been charged.
  logic   came;
  logic   came_0;
  len_t   came_bytes;
  bytes_t gone0;
  bytes_t gone1;
  bytes_t before0;
  bytes_t before1;
  bytes_t held0;
  bytes_t held1;
  assign gone0 = (rel_valid_i ? bytes_t'(rel_bytes_i) : '0)
      + (rel2_valid_i ? bytes_t'(rel2_bytes_i) : '0);
  assign gone1 = (relt_valid_i ? bytes_t'(relt_bytes_i) : '0)
      + (relc_valid_i ? bytes_t'(relc_bytes_i) : '0);
  assign held0 = before0 + (came && came_0 && !dut.regs_q.drop_valid ? bytes_t'(came_bytes) : '0);
  assign held1 = before1 + (came && !came_0 && !dut.regs_q.drop_valid ? bytes_t'(came_bytes) : '0);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      came       <= 1'b0;
      came_0     <= 1'b0;
      came_bytes <= '0;
      before0    <= '0;
      before1    <= '0;
    end else begin
      came       <= in_valid_i;
      came_0     <= kind_i == KindData || kind_i == KindProbe;
      came_bytes <= charge_i;
      before0    <= held0 - gone0;
      before1    <= held1 - gone1;
    end
  end

  always_comb begin
    if (past) begin
      assume (pool0_q == pool0_i && pool1_q == pool1_i);
    end
    assume (runs || !rst_ni);
    assume (pool0_i <= 32'h4000_0000 && pool1_i <= 32'h4000_0000);
    assume (gone0 <= held0 && gone1 <= held1);
    assume (words_i <= 8'd128);
    assume (!free_valid_i || 17'(free_words_i) <= dut.regs_q.held);
  end

  always_comb begin
    if (rst_ni) begin
      never_above_0 : assert (dut.regs_q.occ0 <= pool0_i);
      never_above_1 : assert (dut.regs_q.occ1 <= pool1_i);
      conserved_0 : assert (dut.regs_q.occ0 == held0);
      conserved_1 : assert (dut.regs_q.occ1 == held1);
      ring_has_room : assert (32'(dut.regs_q.held) + MARGIN <= RING);
    end
  end

endmodule
