// Ingress pool: charges received frames to their class or drops them, and keeps their payload.
//
// Twin of rtl-model/src/ingress_pool.rs. A verdict of clock n leaves on its stream in n + 1; a word
// of clock n is on the ring's write port in n + 1. Throughput 1 word and 1 verdict per clock.
// BUF-1: pools of classes 0 (data) and 1 (control, trimmed). BUF-4, RX-2: charged on arrival or
// dropped (Pool), released by whoever is done with it. PKT-4: trimmed is charged to control, probes
// to data.
//
// A frame's words lie in the ring from `base` on; they count once its verdict takes them, else the
// next frame overwrites them. A verdict comes before the next frame's first word, or with it.
//
// Borders and choices:
// - Section 16: in one clock the arrival is judged first, on what was held before it; then come
//   the releases. A frame that fills its pool to the byte is taken.
// - A data frame is taken only if 130 words of the ring stay free after it: so the next frame's
//   words, at most 128, never reach words that are held, whatever its verdict will be.
// - A stream that has not taken the frame before drops the new one (Pool).
// - Words past 128 of one frame are not written.

`include "assert.svh"

module ingress_pool
  import nic_pkg::*;
#(
  parameter int unsigned INGRESS_WORDS = 65536
) (
  input logic clk_i,
  input logic rst_ni,

  // Payload words, from port_rx
  input logic  word_valid_i,
  input word_t word_data_i,

  // Verdicts, from packet_parse
  input logic          in_valid_i,
  input parsed_t       in_i,
  input drop_e         in_drop_i,
  input logic    [7:0] in_words_i,

  // The ring: write port of the ingress buffer
  output logic         ring_we_o,
  output logic  [31:0] ring_waddr_o,
  output word_t        ring_wdata_o,

  // Data and trimmed frames and probes, to rx_track
  output logic    dat_valid_o,
  input  logic    dat_ready_i,
  output parsed_t dat_o,

  // Control frames, to ack_take
  output logic    ctl_valid_o,
  input  logic    ctl_ready_i,
  output parsed_t ctl_o,

  // Releases: class 0 from payload_write and rx_track, class 1 from rx_track and ack_take
  input logic rel_valid_i,
  input len_t rel_bytes_i,
  input logic rel2_valid_i,
  input len_t rel2_bytes_i,
  input logic relt_valid_i,
  input len_t relt_bytes_i,
  input logic relc_valid_i,
  input len_t relc_bytes_i,

  // Words read, from payload_write
  input logic       free_valid_i,
  input logic [7:0] free_words_i,

  // Pool sizes, from csr
  input bytes_t cfg_ingress_pool0_i,
  input bytes_t cfg_ingress_pool1_i,

  // Drops, to counters
  output logic  drop_valid_o,
  output drop_e drop_reason_o,

  // Occupancy; what arrived in the clock before, with what its class then held, taken or not, and
  // whether something of a class was released: to pause_send
  output bytes_t occ0_o,
  output bytes_t occ1_o,
  output logic   arr_valid_o,
  output logic   arr_ctl_o,
  output bytes_t arr_occ_o,
  output logic   rel0_o,
  output logic   rel1_o
);

  localparam int unsigned FRAME_WORDS = 128;  // 8,192 B
  localparam int unsigned MARGIN_WORDS = 130;
  localparam logic [15:0] WRAP = 16'(INGRESS_WORDS - 1);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic [15:0] base;         // first word after the last frame taken
    logic [16:0] held;         // words taken and not yet free
    logic [7:0]  count;        // words so far of the frame that is coming in
    bytes_t      occ0;
    bytes_t      occ1;
    logic        ring_we;
    logic [15:0] ring_waddr;
    word_t       ring_wdata;
    logic        dat_valid;
    parsed_t     dat;
    logic        ctl_valid;
    parsed_t     ctl;
    logic        drop_valid;
    drop_e       drop_reason;
    logic        arr_valid;
    logic        arr_ctl;
    bytes_t      arr_occ;
    logic        rel0;
    logic        rel1;
  } regs_t;

  localparam regs_t RESET = '{
      base: '0,
      held: '0,
      count: '0,
      occ0: '0,
      occ1: '0,
      ring_we: 1'b0,
      ring_waddr: '0,
      ring_wdata: '0,
      dat_valid: 1'b0,
      dat: parsed_t'(0),
      ctl_valid: 1'b0,
      ctl: parsed_t'(0),
      drop_valid: 1'b0,
      drop_reason: DropNone,
      arr_valid: 1'b0,
      arr_ctl: 1'b0,
      arr_occ: '0,
      rel0: 1'b0,
      rel1: 1'b0
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

  assign ring_we_o     = regs_q.ring_we;
  assign ring_waddr_o  = 32'(regs_q.ring_waddr);
  assign ring_wdata_o  = regs_q.ring_wdata;
  assign dat_valid_o   = regs_q.dat_valid;
  assign dat_o         = regs_q.dat;
  assign ctl_valid_o   = regs_q.ctl_valid;
  assign ctl_o         = regs_q.ctl;
  assign drop_valid_o  = regs_q.drop_valid;
  assign drop_reason_o = regs_q.drop_reason;
  assign occ0_o        = regs_q.occ0;
  assign occ1_o        = regs_q.occ1;
  assign arr_valid_o   = regs_q.arr_valid;
  assign arr_ctl_o     = regs_q.arr_ctl;
  assign arr_occ_o     = regs_q.arr_occ;
  assign rel0_o        = regs_q.rel0;
  assign rel1_o        = regs_q.rel1;

  ////////////////
  // Next state //
  ////////////////

  logic is_data;  // with words
  logic in_0;  // in class 0
  logic to_dat;
  logic stream_room;
  logic pool_room;
  logic ring_room;
  logic take;

  assign is_data = in_i.kind == KindData;
  assign in_0 = is_data || in_i.kind == KindProbe;
  assign to_dat = in_0 || in_i.kind == KindTrimmed;
  assign stream_room = to_dat ? !regs_q.dat_valid || dat_ready_i : !regs_q.ctl_valid || ctl_ready_i;
  assign pool_room   = in_0 ? 33'(regs_q.occ0) + 33'(in_i.charge) <= 33'(cfg_ingress_pool0_i)
                               : 33'(regs_q.occ1) + 33'(in_i.charge) <= 33'(cfg_ingress_pool1_i);
  assign ring_room = 32'(regs_q.held) + 32'(in_words_i) + MARGIN_WORDS <= INGRESS_WORDS;
  assign take        = in_valid_i && in_drop_i == DropNone && stream_room && pool_room &&
                       (ring_room || !is_data);

  logic [ 7:0] taken_words;  // this clock's verdict moves `base` by these
  logic [15:0] base;
  logic [ 7:0] count;

  assign taken_words = take && is_data ? in_words_i : '0;
  assign base        = (regs_q.base + 16'(taken_words)) & WRAP;
  assign count       = in_valid_i ? '0 : regs_q.count;

  len_t charge0;
  len_t charge1;
  assign charge0 = take && in_0 ? in_i.charge : '0;
  assign charge1 = take && !in_0 ? in_i.charge : '0;

  len_t gone0;  // of rel, in the same clock as the other three
  len_t gone0_2;
  len_t gone1_t;
  len_t gone1_c;
  logic [7:0] free_words;
  assign gone0      = rel_valid_i ? rel_bytes_i : '0;
  assign gone0_2    = rel2_valid_i ? rel2_bytes_i : '0;
  assign gone1_t    = relt_valid_i ? relt_bytes_i : '0;
  assign gone1_c    = relc_valid_i ? relc_bytes_i : '0;
  assign free_words = free_valid_i ? free_words_i : '0;

  always_comb begin
    regs_d = regs_q;

    regs_d.occ0 = regs_q.occ0 + bytes_t'(charge0) - bytes_t'(gone0) - bytes_t'(gone0_2);
    regs_d.occ1 = regs_q.occ1 + bytes_t'(charge1) - bytes_t'(gone1_t) - bytes_t'(gone1_c);
    regs_d.base = base;
    regs_d.held = regs_q.held + 17'(taken_words) - 17'(free_words);

    // A word with a verdict is the next frame's first.
    regs_d.count = count;
    regs_d.ring_we = word_valid_i && count < 8'(FRAME_WORDS);
    if (regs_d.ring_we) begin
      regs_d.ring_waddr = (base + 16'(count)) & WRAP;
      regs_d.ring_wdata = word_data_i;
      regs_d.count      = count + 8'd1;
    end

    if (dat_ready_i) begin
      regs_d.dat_valid = 1'b0;
    end
    if (ctl_ready_i) begin
      regs_d.ctl_valid = 1'b0;
    end
    if (take && to_dat) begin
      regs_d.dat_valid = 1'b1;
      regs_d.dat       = in_i;
      regs_d.dat.word  = regs_q.base;
    end
    if (take && !to_dat) begin
      regs_d.ctl_valid = 1'b1;
      regs_d.ctl       = in_i;
    end

    regs_d.drop_valid = in_valid_i && !take;
    if (regs_d.drop_valid) begin
      regs_d.drop_reason = in_drop_i == DropNone ? DropPool : in_drop_i;
    end

    // For pause_send.
    regs_d.arr_valid = in_valid_i && in_drop_i == DropNone;
    if (regs_d.arr_valid) begin
      regs_d.arr_ctl = !in_0;
      regs_d.arr_occ = (in_0 ? regs_q.occ0 : regs_q.occ1) + bytes_t'(in_i.charge);
    end
    regs_d.rel0 = rel_valid_i || rel2_valid_i;
    regs_d.rel1 = relt_valid_i || relc_valid_i;
  end

  //////////////
  // Contract //
  //////////////

  // A frame that is not taken stays as it is.
  `ASSERT(DatWaits_A, dat_valid_o && !dat_ready_i |=> dat_valid_o && $stable(dat_o))
  `ASSERT(CtlWaits_A, ctl_valid_o && !ctl_ready_i |=> ctl_valid_o && $stable(ctl_o))

  // The next frame's words have their room.
  `ASSERT(Margin_A, 32'(regs_q.held) + MARGIN_WORDS <= INGRESS_WORDS)

  // No more is released than is held.
  `ASSERT(Release0_A, bytes_t'(gone0) + bytes_t'(gone0_2) <= regs_q.occ0 + bytes_t'(charge0))
  `ASSERT(Release1_A, bytes_t'(gone1_t) + bytes_t'(gone1_c) <= regs_q.occ1 + bytes_t'(charge1))
  `ASSERT(Free_A, 17'(free_words) <= regs_q.held + 17'(taken_words))

  // A verdict names the words that came.
  `ASSERT(Words_A, in_valid_i |-> in_words_i == regs_q.count)

endmodule
