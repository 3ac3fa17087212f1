// Payload write: writes received payloads to host memory in the order in which they arrived.
//
// Twin of rtl-model/src/payload_write.rs. Latency: delivery to its first word 3 clocks; last word
// accepted to release, freed words and completion 1 clock. Throughput: one word of a transfer a
// clock, without a gap between transfers and between deliveries, so 64 B a clock where the address
// is a multiple of 4; a delivery without words takes a clock. Completions: one every second clock.
//
// PCI-5: a transfer ends at the largest payload, 128 B × (1 + cfg_max_payload_i), pad bytes of its
// first DW included (so 128 DWs at most), and at each 4 KiB boundary. Its first word starts with
// the addr[1:0] pad bytes, which are not enabled; all transfers of a payload but the first start on
// a DW. After a 4 KiB cut the payload's offset in its words is anything: each word is cut out of
// the two payload words that hold it.
// PCI-6: the charge is released when tlp_engine has taken the last word; for 0 bytes, when its turn
// comes. A delivery with `write` clear passes its words over and releases nothing.
// RX-8: a completion follows the payload writes before it. The transfer before a completion begins
// once the completion before that has been taken: within a transfer tlp_engine takes nothing else,
// and `completion` may wait for it.
// Ring words of a payload are freed together, with its release, written or not.
// wr_addr and wr_len hold for all words of a transfer.
//
// The ring's read port passes through from wr_ready and comp_ready.
//
// Borders: addr[1:0] 0 to 3; lengths 0, 1, 3, 4, 5, 64, 512, 513, 4,096, 8,192; page offsets 0xe00,
// 0xe04, 0xfff, 0x000; last ring word; 511 B then 1 B; a completion while another waits.
//
// It is longer than a module should be: the cut and the rotation of a payload share their
// registers.

`include "assert.svh"

module payload_write
  import nic_pkg::*;
#(
  parameter int unsigned INGRESS_WORDS = 65536
) (
  input logic clk_i,
  input logic rst_ni,

  // Level, from csr
  input logic [1:0] cfg_max_payload_i,

  // Deliveries, from rx_track
  input  logic      in_valid_i,
  output logic      in_ready_o,
  input  delivery_t in_i,

  // Ingress buffer
  output logic         ring_re_o,
  output logic  [31:0] ring_raddr_o,
  input  word_t        ring_rdata_i,

  // Transfers, to tlp_engine
  output logic         wr_valid_o,
  input  logic         wr_ready_i,
  output logic         wr_first_o,
  output logic         wr_last_o,
  output logic  [63:0] wr_addr_o,
  output logic  [ 9:0] wr_len_o,
  output word_t        wr_data_o,

  // Releases, to ingress_pool
  output logic       rel_valid_o,
  output len_t       rel_bytes_o,
  output logic       free_valid_o,
  output logic [7:0] free_words_o,

  // Messages received, to completion
  output logic          comp_valid_o,
  input  logic          comp_ready_i,
  output qpn_t          comp_qpn_o,
  output logic   [15:0] comp_msn_o,
  output bytes_t        comp_len_o,
  output dest_t         comp_dest_o
);

  // What follows a delivery's last word.
  typedef struct packed {
    len_t        charge;
    logic        write;
    logic        complete;
    logic [7:0]  words;
    qpn_t        qpn;
    logic [15:0] msn;
    bytes_t      msg_len;
    dest_t       dest;
  } after_t;

  ///////////////
  // Registers //
  ///////////////

  // Three stages: a cuts the delivery and reads the ring, b turns the word, w holds it.
  typedef struct {
    logic        a_valid;
    logic [63:0] a_addr;      // of the next byte
    len_t        a_left;      // bytes of the payload
    logic [9:0]  a_rest;      // bytes of the transfer, 0 before its first word
    logic [5:0]  a_pos;       // of the next byte in the payload's words
    logic [15:0] a_word;      // next ring word
    after_t      a_after;
    logic        b_valid;
    logic        b_none;      // no word: only what follows
    logic        b_first;
    logic        b_last;
    logic        b_end;       // last of its delivery
    logic        b_tells;     // a completion follows what begins here
    logic [6:0]  b_turn;      // bytes from the start of `prev` to the word's start, 1 to 64
    logic [63:0] b_addr;
    logic [9:0]  b_len;
    after_t      b_after;
    word_t       prev;        // the ring word before the one being read
    logic        wr_valid;
    logic        wr_first;
    logic        wr_last;
    logic [63:0] wr_addr;
    logic [9:0]  wr_len;
    word_t       wr_data;
    logic        w_none;
    logic        w_end;
    after_t      w_after;
    logic        rel_valid;
    len_t        rel_bytes;
    logic        free_valid;
    logic [7:0]  free_words;
    logic        comp_valid;
    qpn_t        comp_qpn;
    logic [15:0] comp_msn;
    bytes_t      comp_len;
    dest_t       comp_dest;
  } regs_t;

  localparam regs_t RESET = '{default: '0};

  regs_t regs_d;
  regs_t regs_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      regs_q <= RESET;
    end else begin
      regs_q <= regs_d;
    end
  end

  /////////
  // Cut //
  /////////

  logic [12:0] to_page;  // bytes to the end of the page
  logic [ 9:0] payload;  // the largest
  logic [ 9:0] most;  // bytes of a transfer that starts here
  logic [ 9:0] whole;
  logic [ 9:0] rest;  // bytes of the transfer, this word's included
  logic [ 6:0] room;  // bytes that this word can take
  logic [ 6:0] bytes;  // that it takes
  logic        opens;  // the transfer's first word
  logic        none;
  logic        closes;  // the transfer's last word
  logic        ends;  // the delivery's last
  logic        needs;  // a ring word

  assign to_page = 13'd4096 - 13'(regs_q.a_addr[11:0]);
  assign payload = {3'(cfg_max_payload_i) + 3'd1, 7'd0};
  assign most    = to_page < 13'(payload) ? to_page[9:0] : payload - 10'(regs_q.a_addr[1:0]);
  assign whole   = regs_q.a_left < 14'(most) ? regs_q.a_left[9:0] : most;
  assign opens   = regs_q.a_rest == '0;
  assign rest    = opens ? whole : regs_q.a_rest;
  assign room    = 7'd64 - 7'(regs_q.a_addr[1:0]);
  assign bytes   = rest < 10'(room) ? rest[6:0] : room;
  assign none    = !regs_q.a_after.write || regs_q.a_left == '0;
  assign closes  = rest == 10'(bytes);
  assign ends    = none || regs_q.a_left == 14'(bytes);
  assign needs   = !none && (regs_q.a_pos == '0 || 7'(regs_q.a_pos) + bytes > 7'd64);

  //////////
  // Flow //
  //////////

  logic done;  // the word in w leaves
  logic held;  // a completion would meet another
  logic b_goes;
  logic a_goes;

  assign done = regs_q.wr_valid && wr_ready_i || regs_q.w_none;
  assign held   = regs_q.b_tells
      && (regs_q.comp_valid && !comp_ready_i
          || (regs_q.wr_valid || regs_q.w_none) && regs_q.w_end && regs_q.w_after.complete);
  assign b_goes = regs_q.b_valid && (!regs_q.wr_valid || wr_ready_i) && !held;
  assign a_goes = regs_q.a_valid && (!regs_q.b_valid || b_goes);

  /////////////
  // Outputs //
  /////////////

  assign in_ready_o = !regs_q.a_valid || a_goes && ends;
  assign ring_re_o = a_goes && needs;
  assign ring_raddr_o = ring_re_o ? 32'(regs_q.a_word) : '0;
  assign wr_valid_o = regs_q.wr_valid;
  assign wr_first_o = regs_q.wr_first;
  assign wr_last_o = regs_q.wr_last;
  assign wr_addr_o = regs_q.wr_addr;
  assign wr_len_o = regs_q.wr_len;
  assign wr_data_o = regs_q.wr_data;
  assign rel_valid_o = regs_q.rel_valid;
  assign rel_bytes_o = regs_q.rel_bytes;
  assign free_valid_o = regs_q.free_valid;
  assign free_words_o = regs_q.free_words;
  assign comp_valid_o = regs_q.comp_valid;
  assign comp_qpn_o = regs_q.comp_qpn;
  assign comp_msn_o = regs_q.comp_msn;
  assign comp_len_o = regs_q.comp_len;
  assign comp_dest_o = regs_q.comp_dest;

  ////////////////
  // Next state //
  ////////////////

  always_comb begin
    regs_d = regs_q;

    // What follows the word that leaves
    regs_d.rel_valid = done && regs_q.w_end && regs_q.w_after.write;
    regs_d.free_valid = done && regs_q.w_end && regs_q.w_after.words != '0;
    if (regs_d.rel_valid) begin
      regs_d.rel_bytes = regs_q.w_after.charge;
    end
    if (regs_d.free_valid) begin
      regs_d.free_words = regs_q.w_after.words;
    end
    if (comp_ready_i) begin
      regs_d.comp_valid = 1'b0;
    end
    if (done && regs_q.w_end && regs_q.w_after.complete) begin
      regs_d.comp_valid = 1'b1;
      regs_d.comp_qpn   = regs_q.w_after.qpn;
      regs_d.comp_msn   = regs_q.w_after.msn;
      regs_d.comp_len   = regs_q.w_after.msg_len;
      regs_d.comp_dest  = regs_q.w_after.dest;
    end

    // b to w
    if (done) begin
      regs_d.wr_valid = 1'b0;
      regs_d.w_none   = 1'b0;
    end
    if (b_goes) begin
      regs_d.b_valid  = 1'b0;
      regs_d.wr_valid = !regs_q.b_none;
      regs_d.w_none   = regs_q.b_none;
      regs_d.w_end    = regs_q.b_end;
      if (!regs_q.b_none) begin
        regs_d.wr_first = regs_q.b_first;
        regs_d.wr_last  = regs_q.b_last;
        regs_d.wr_addr  = regs_q.b_addr;
        regs_d.wr_len   = regs_q.b_len;
        regs_d.wr_data  = word_t'({ring_rdata_i, regs_q.prev} >> {regs_q.b_turn, 3'b0});
        regs_d.prev     = ring_rdata_i;
      end
      if (regs_q.b_end) begin
        regs_d.w_after = regs_q.b_after;
      end
    end

    // a to b
    if (a_goes) begin
      regs_d.b_valid = 1'b1;
      regs_d.b_none  = none;
      regs_d.b_first = opens;
      regs_d.b_last  = closes;
      regs_d.b_end   = ends;
      regs_d.b_tells = regs_q.a_after.complete && (none || opens && regs_q.a_left == 14'(whole));
      regs_d.b_turn  = (regs_q.a_pos == '0 ? 7'd64 : 7'(regs_q.a_pos)) - 7'(regs_q.a_addr[1:0]);
      if (opens) begin
        regs_d.b_addr = regs_q.a_addr;
        regs_d.b_len  = whole;
      end
      if (ends) begin
        regs_d.b_after = regs_q.a_after;
      end
      regs_d.a_valid = !ends;
      regs_d.a_addr  = regs_q.a_addr + 64'(bytes);
      regs_d.a_left  = regs_q.a_left - 14'(bytes);
      regs_d.a_rest  = rest - 10'(bytes);
      regs_d.a_pos   = regs_q.a_pos + bytes[5:0];
      regs_d.a_word  = (regs_q.a_word + 16'(needs)) & 16'(INGRESS_WORDS - 1);
    end
    if (in_valid_i && in_ready_o) begin
      regs_d.a_valid = 1'b1;
      regs_d.a_addr = in_i.addr;
      regs_d.a_left = in_i.len;
      regs_d.a_rest = '0;
      regs_d.a_pos = '0;
      regs_d.a_word = in_i.word;
      regs_d.a_after = '{
          charge: in_i.charge,
          write: in_i.write,
          complete: in_i.complete,
          words: 8'((in_i.len + 14'd63) >> 6),
          qpn: in_i.qpn,
          msn: in_i.msn,
          msg_len: in_i.msg_len,
          dest: in_i.dest
      };
    end
  end

  //////////////
  // Contract //
  //////////////

  // What a partner does not take stays as it is.
  `ASSERT(WriteWaits_A, wr_valid_o && !wr_ready_i |=> wr_valid_o)
  `ASSERT(WriteStable_A, wr_valid_o && !wr_ready_i |=> $stable({wr_first_o, wr_last_o, wr_addr_o,
                                                                wr_len_o}))
  `ASSERT(WriteDataStable_A, wr_valid_o && !wr_ready_i |=> $stable(wr_data_o))
  `ASSERT(CompWaits_A, comp_valid_o && !comp_ready_i |=> comp_valid_o)
  `ASSERT(CompStable_A, comp_valid_o && !comp_ready_i |=> $stable({comp_qpn_o, comp_msn_o,
                                                                   comp_len_o}))
  // PCI-5: no transfer crosses a page, none is longer than 128 DWs.
  `ASSERT(OnePage_A, wr_valid_o |-> 13'(wr_addr_o[11:0]) + 13'(wr_len_o) <= 13'd4096)
  `ASSERT(MostDws_A, wr_valid_o |-> 10'(wr_addr_o[1:0]) + wr_len_o <= 10'd512)
  // A transfer that has begun waits for no completion.
  `ASSERT(HeldBefore_A, regs_q.b_valid && held |-> regs_q.b_first || regs_q.b_none)
  // No completion is lost.
  `ASSERT(CompKept_A,
          done && regs_q.w_end && regs_q.w_after.complete |-> !comp_valid_o || comp_ready_i)

endmodule
