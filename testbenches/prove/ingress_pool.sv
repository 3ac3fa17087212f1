// What ingress_pool promises, proved for every input that keeps its contract (BUF-1, BUF-4). Each
// assertion is a step of an induction.
//
// All eight classes are proved. Nothing is released that was not charged before, and no words are freed that
// were not taken. The pools may be any up to 1 GiB, and stand still; the ring has 512 words. The
// bound of a promise is the induction's: every clock of every run.

module ingress_pool_prove
  import nic_pkg::*;
#(
  parameter int unsigned PART = 0
) (
  input logic          clk_i,
  input logic          rst_ni,
  input logic          in_valid_i,
  input kind_e         kind_i,
  input logic  [  2:0] cls_i,
  input len_t          charge_i,
  input drop_e         drop_i,
  input logic  [  7:0] words_i,
  input logic          dat_ready_i,
  input logic          ctl_ready_i,
  input logic          rel_valid_i,
  input logic  [  2:0] rel_cls_i,
  input len_t          rel_bytes_i,
  input logic          rel2_valid_i,
  input logic  [  2:0] rel2_cls_i,
  input len_t          rel2_bytes_i,
  input logic          relt_valid_i,
  input logic  [  2:0] relt_cls_i,
  input len_t          relt_bytes_i,
  input logic          relc_valid_i,
  input logic  [  2:0] relc_cls_i,
  input len_t          relc_bytes_i,
  input logic          free_valid_i,
  input logic  [  7:0] free_words_i,
  input logic  [255:0] pools_i
);

  localparam int unsigned RING = 512;
  localparam int unsigned MARGIN = 130;

  logic    [255:0] occs;
  parsed_t         frame;
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
      .in_cls_i(cls_i),
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
      .rel_cls_i,
      .rel_bytes_i,
      .rel2_valid_i,
      .rel2_cls_i,
      .rel2_bytes_i,
      .relt_valid_i,
      .relt_cls_i,
      .relt_bytes_i,
      .relc_valid_i,
      .relc_cls_i,
      .relc_bytes_i,
      .free_valid_i,
      .free_words_i,
      .cfg_ingress_pool_i(pools_i),
      .drop_valid_o(),
      .drop_reason_o(),
      .occ_o(occs),
      .arr_valid_o(),
      .arr_cls_o(),
      .arr_occ_o(),
      .rel_cls_o()
  );

  // A run begins with a reset.
  logic runs;
  logic past;
  initial runs = 1'b0;
  always_ff @(posedge clk_i) begin
    runs <= 1'b1;
    past <= rst_ni;
  end

  always_comb begin
    assume (runs || !rst_ni);
    assume (words_i <= 8'd128);
    assume (!free_valid_i || 17'(free_words_i) <= dut.regs_q.held);
    if (rst_ni) begin
      ring_has_room : assert (32'(dut.regs_q.held) + MARGIN <= RING);
    end
  end

  for (genvar c = PART; c < PART + 1; c++) begin : gen_class
    // The pool, as it was in the clock before too.
    bytes_t pool;
    bytes_t pool_q;
    bytes_t occ;
    assign pool = pools_i[32*c+:32];
    assign occ  = occs[32*c+:32];

    // What is charged and not released, by what the block says of each frame a clock later: a frame
    // without a fault that is not dropped has been charged.
    logic   came;
    len_t   came_bytes;
    bytes_t gone;
    bytes_t rest;
    bytes_t held;
    assign gone = (rel_valid_i && rel_cls_i == 3'(c) ? bytes_t'(rel_bytes_i) : '0)
        + (rel2_valid_i && rel2_cls_i == 3'(c) ? bytes_t'(rel2_bytes_i) : '0)
        + (relt_valid_i && relt_cls_i == 3'(c) ? bytes_t'(relt_bytes_i) : '0)
        + (relc_valid_i && relc_cls_i == 3'(c) ? bytes_t'(relc_bytes_i) : '0);
    assign held = rest + (came && !dut.regs_q.drop_valid ? bytes_t'(came_bytes) : '0);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        came       <= 1'b0;
        came_bytes <= '0;
        rest       <= '0;
      end else begin
        came       <= in_valid_i && cls_i == 3'(c);
        came_bytes <= charge_i;
        rest       <= held - gone;
      end
    end

    // What was held in the clock before, where nothing came or went.
    logic   still;
    bytes_t occ_q;
    always_ff @(posedge clk_i) begin
      still  <= rst_ni && gone == '0 && !(in_valid_i && cls_i == 3'(c));
      occ_q  <= occ;
      pool_q <= pool;
    end

    always_comb begin
      assume (!past || pool_q == pool);
      assume (pool <= 32'h4000_0000);
      assume (gone <= held);
      if (rst_ni) begin
        never_below : assert (!occ[31]);
        never_above : assert (occ <= pool);
        conserved : assert (occ == held);
        apart : assert (!past || !still || occ == occ_q);
      end
    end
  end

endmodule
