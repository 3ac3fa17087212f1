// Ingress pool: charges received frames to their class or drops them, and keeps their payload.
//
// Twin of rtl-model/src/ingress_pool.rs. A verdict of clock n leaves on its stream in n + 1; a word
// of clock n is on the ring's write port in n + 1. Throughput 1 word and 1 verdict per clock.
// BUF-1: a pool for each of eight classes, its size a register; one without an entry has no room.
// BUF-4, RX-2: charged on arrival to the class that packet_parse gives it (PKT-4) or dropped
// (Pool), released by whoever is done with it.
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
  input logic    [2:0] in_cls_i,
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

  // Releases: of data from payload_write and rx_track, of trimmed packets from rx_track, of control
  // frames from ack_take
  input logic       rel_valid_i,
  input logic [2:0] rel_cls_i,
  input len_t       rel_bytes_i,
  input logic       rel2_valid_i,
  input logic [2:0] rel2_cls_i,
  input len_t       rel2_bytes_i,
  input logic       relt_valid_i,
  input logic [2:0] relt_cls_i,
  input len_t       relt_bytes_i,
  input logic       relc_valid_i,
  input logic [2:0] relc_cls_i,
  input len_t       relc_bytes_i,

  // Words read, from payload_write
  input logic       free_valid_i,
  input logic [7:0] free_words_i,

  // Pool sizes, from csr
  input logic [255:0] cfg_ingress_pool_i,

  // Drops, to counters
  output logic  drop_valid_o,
  output drop_e drop_reason_o,

  // Occupancy; what arrived in the clock before, with what its class then held, taken or not, and
  // the classes of which something was released: to pause_send
  output logic   [255:0] occ_o,
  output logic           arr_valid_o,
  output logic   [  2:0] arr_cls_o,
  output bytes_t         arr_occ_o,
  output logic   [  7:0] rel_cls_o
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
    bytes_t      occ[8];       // held of each pool
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
    logic [2:0]  arr_cls;
    bytes_t      arr_occ;
    logic [7:0]  rel_cls;
  } regs_t;

  localparam regs_t RESET = '{
      base: '0,
      held: '0,
      count: '0,
      occ: '{default: '0},
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
      arr_cls: '0,
      arr_occ: '0,
      rel_cls: '0
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
  assign arr_valid_o   = regs_q.arr_valid;
  assign arr_cls_o     = regs_q.arr_cls;
  assign arr_occ_o     = regs_q.arr_occ;
  assign rel_cls_o     = regs_q.rel_cls;

  for (genvar c = 0; c < 8; c++) begin : gen_occ
    assign occ_o[32*c+:32] = regs_q.occ[c];
  end

  ////////////////
  // Next state //
  ////////////////

  logic        is_data;  // with words
  logic        to_dat;
  logic [32:0] held;  // of the frame's class, with it
  logic        stream_room;
  logic        pool_room;
  logic        ring_room;
  logic        take;

  assign is_data = in_i.kind == KindData;
  assign to_dat = is_data || in_i.kind == KindTrimmed || in_i.kind == KindProbe;
  assign stream_room = to_dat ? !regs_q.dat_valid || dat_ready_i : !regs_q.ctl_valid || ctl_ready_i;
  assign held = 33'(regs_q.occ[in_cls_i]) + 33'(in_i.charge);
  assign pool_room = held <= 33'(cfg_ingress_pool_i[{in_cls_i, 5'd0}+:32]);
  assign ring_room = 32'(regs_q.held) + 32'(in_words_i) + MARGIN_WORDS <= INGRESS_WORDS;
  assign take = in_valid_i && in_drop_i == DropNone && stream_room && pool_room &&
      (ring_room || !is_data);

  logic [ 7:0] taken_words;  // this clock's verdict moves `base` by these
  logic [15:0] base;
  logic [ 7:0] count;

  assign taken_words = take && is_data ? in_words_i : '0;
  assign base        = (regs_q.base + 16'(taken_words)) & WRAP;
  assign count       = in_valid_i ? '0 : regs_q.count;

  bytes_t       charge     [8];  // of this clock's frame
  bytes_t       gone       [8];  // released in this clock
  logic   [7:0] free_words;

  assign free_words = free_valid_i ? free_words_i : '0;

  for (genvar c = 0; c < 8; c++) begin : gen_class
    assign charge[c] = take && in_cls_i == 3'(c) ? bytes_t'(in_i.charge) : '0;
    assign gone[c] = (rel_valid_i && rel_cls_i == 3'(c) ? bytes_t'(rel_bytes_i) : '0)
        + (rel2_valid_i && rel2_cls_i == 3'(c) ? bytes_t'(rel2_bytes_i) : '0)
        + (relt_valid_i && relt_cls_i == 3'(c) ? bytes_t'(relt_bytes_i) : '0)
        + (relc_valid_i && relc_cls_i == 3'(c) ? bytes_t'(relc_bytes_i) : '0);
  end

  always_comb begin
    regs_d = regs_q;

    for (int unsigned c = 0; c < 8; c++) begin
      regs_d.occ[c] = regs_q.occ[c] + charge[c] - gone[c];
    end
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
      regs_d.arr_cls = in_cls_i;
      regs_d.arr_occ = held[31:0];
    end
    regs_d.rel_cls = (8'(rel_valid_i) << rel_cls_i) | (8'(rel2_valid_i) << rel2_cls_i)
        | (8'(relt_valid_i) << relt_cls_i) | (8'(relc_valid_i) << relc_cls_i);
  end

  //////////////
  // Contract //
  //////////////

  // A frame that is not taken stays as it is.
  `ASSERT(DatWaits_A, dat_valid_o && !dat_ready_i |=> dat_valid_o && $stable(dat_o))
  `ASSERT(CtlWaits_A, ctl_valid_o && !ctl_ready_i |=> ctl_valid_o && $stable(ctl_o))

  // The next frame's words have their room.
  `ASSERT(Margin_A, 32'(regs_q.held) + MARGIN_WORDS <= INGRESS_WORDS)

  bytes_t [7:0] due;  // held of each pool then, counted port by port
  always_comb begin
    due = occ_o;
    due[in_cls_i] += take ? 32'(in_i.charge) : '0;
    due[rel_cls_i] -= rel_valid_i ? 32'(rel_bytes_i) : '0;
    due[rel2_cls_i] -= rel2_valid_i ? 32'(rel2_bytes_i) : '0;
    due[relt_cls_i] -= relt_valid_i ? 32'(relt_bytes_i) : '0;
    due[relc_cls_i] -= relc_valid_i ? 32'(relc_bytes_i) : '0;
  end

  for (genvar c = 0; c < 8; c++) begin : gen_pool
    // Nothing is lost: what is charged and not released is held (BUF-4).
    `ASSERT(Balance_A, regs_d.occ[c] == due[c])
    // No more is released than is held.
    `ASSERT(Release_A, gone[c] <= regs_q.occ[c] + charge[c])
    // Nothing is charged beyond the pool (BUF-1).
    `ASSERT(Fits_A, charge[c] != '0 |-> regs_q.occ[c] + charge[c] <= cfg_ingress_pool_i[32*c+:32])
  end
  `ASSERT(Free_A, 17'(free_words) <= regs_q.held + 17'(taken_words))

  // A verdict names the words that came.
  `ASSERT(Words_A, in_valid_i |-> in_words_i == regs_q.count)

endmodule
