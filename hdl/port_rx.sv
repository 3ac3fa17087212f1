// Port, receive side: checks frames and cuts their payload into words of 64 B.
//
// Twin of rtl-model/src/port_rx.rs. RX-1 (FCS, length), PKT-1 (ICRC). Latency 2 clocks from a beat
// to its first word, and from a frame's last beat to its frame event when no word waits; one word
// a clock. The frame event comes with the frame's last word, at most one a clock. Frames at up to
// 496 Gbps are sustained at every size, single-beat ones one a clock.
//
// A queue of four beats stands between arrival, where the FCS is checked, and read-out, which puts
// the frame's bytes from `cfg_data_hdr` on into words: none from a frame's first beat unless it is
// also the last, two from each other full beat, up to three from the last one. A first beat takes
// no clock of its own behind a last one. The last word's bytes past the payload are zero.
//
// With cfg_icrc the last 8 B are no payload: an ICRC, which is checked, and the FCS. Frames that
// have none (PFC's, trimmed ones) are too short to have payload. A frame below 58 B has no right
// ICRC.
//
// Borders: frames of cfg_data_hdr + 4 (+ 8) and one byte more; FCS split over two beats; 1, 2 and
// 3 words from a last beat; payload a multiple of 64; 8,192 B of payload and more; length at its
// limit.
//
// Whatever arrives: beats before a first one are passed over. A first beat inside a frame ends that
// frame, with a bad FCS. So does an empty last beat; a beat that is not full though not the last
// spoils the frame, and no more words come from it. After 8,192 B no more words come. More beats at
// a time than a link brings are lost, with the rest of their frame. More than 128 bytes count as
// 128. `frame_words` counts the words that came.
//
// It is longer than a module should be: read-out of one frame and arrival of the next share a
// queue.

`include "assert.svh"

module port_rx
  import nic_pkg::*;
  import fcs_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Beats, from the wire
  input logic        wire_valid_i,
  input logic        wire_sop_i,
  input logic        wire_eop_i,
  input logic  [7:0] wire_bytes_i,
  input beat_t       wire_data_i,

  // Clocks since reset, from the port
  input micros_t now_i,

  // Level, from csr: bytes before a data packet's payload, 64 to 125
  input logic [6:0] cfg_data_hdr_i,
  input logic       cfg_icrc_i,      // ICRCEnable; then cfg_data_hdr is 121 at most

  // Words of payload, to ingress_pool
  output logic  word_valid_o,
  output word_t word_data_o,

  // Frames, to packet_parse
  output logic            frame_valid_o,
  output logic    [831:0] frame_hdr_o,      // of its first beat, zero past the end
  output len_t            frame_len_o,      // stays at 16,383
  output logic            frame_fcs_ok_o,
  output logic            frame_icrc_ok_o,  // or cfg_icrc is clear
  output logic    [  7:0] frame_words_o,
  output micros_t         frame_at_o        // clock in which its last beat came
);

  localparam logic [2:0] BEATS = 3'd4;
  localparam logic [7:0] WORDS = 8'd128;  // 8,192 B

  ///////////////
  // Registers //
  ///////////////

  typedef struct packed {
    logic       sop;
    logic       eop;
    logic       good;    // the last beat of a frame with the right FCS
    logic       icrc;    // and with the right ICRC, or cfg_icrc is clear
    logic       spoilt;  // no words from this beat
    logic [7:0] bytes;
    micros_t    at;      // the clock in which it came
  } tag_t;

  typedef struct {
    // Arrival
    logic         open;           // inside a frame
    logic         spoilt;         // one of its beats was not full
    crc_t         crc;            // over its beats so far
    crc_t         icrc;           // the same for the ICRC
    logic [23:0]  last;           // the last 3 bytes of the beat before
    // Queue
    beat_t        beats[4];       // zero past their bytes
    tag_t         tags[4];
    logic [1:0]   head;
    logic [2:0]   count;
    // Read-out
    logic         reading;        // a frame
    logic [1:0]   step;           // words read out of this beat
    len_t         len;
    logic [7:0]   words;
    logic [831:0] hdr;
    word_t        carry;          // second half of the beat before
    // Words and frames
    logic         word_valid;
    word_t        word_data;
    logic         frame_valid;
    logic [831:0] frame_hdr;
    len_t         frame_len;
    logic         frame_fcs_ok;
    logic         frame_icrc_ok;
    logic [7:0]   frame_words;
    micros_t      frame_at;
  } regs_t;

  localparam regs_t RESET = '{beats: '{default: '0}, tags: '{default: '0}, default: '0};

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

  assign word_valid_o = regs_q.word_valid;
  assign word_data_o = regs_q.word_data;

  assign frame_valid_o = regs_q.frame_valid;
  assign frame_hdr_o = regs_q.frame_hdr;
  assign frame_len_o = regs_q.frame_len;
  assign frame_fcs_ok_o = regs_q.frame_fcs_ok;
  assign frame_icrc_ok_o = regs_q.frame_icrc_ok;
  assign frame_words_o = regs_q.frame_words;
  assign frame_at_o = regs_q.frame_at;

  ////////////////
  // Next state //
  ////////////////

  localparam beat_t ONES = '1;

  function automatic len_t longer(len_t len, logic [7:0] bytes);
    logic [14:0] sum;
    sum = {1'b0, len} + 15'(bytes);
    return sum[14] ? '1 : sum[13:0];
  endfunction

  // Arrival
  logic [7:0] bytes;
  logic       take;
  logic       spoils;
  logic [1:0] free;  // the queue's first free place
  crc_t       crc;
  crc_t       icrc;
  crc_t       fcs;  // the frame's last 4 bytes
  logic       stub;  // it ends before BTH does
  assign stub = wire_sop_i && bytes < 8'd58;
  assign fcs = 32'({wire_data_i, regs_q.last} >> {bytes - 8'd1, 3'd0});
  assign bytes = wire_bytes_i > 8'd128 ? 8'd128 : wire_bytes_i;
  assign free = regs_q.head + regs_q.count[1:0];
  assign take = wire_valid_i && (wire_sop_i || regs_q.open);
  assign spoils = (!wire_sop_i && regs_q.spoilt) || (wire_eop_i ? bytes == 8'd0 : bytes != 8'd128);

  // Read-out
  logic [5:0] shift;  // the payload's place in a word of the frame
  tag_t       tag;
  logic [1:0] next_at;
  logic       next_begins;  // the next beat is the first of several
  logic [7:0] wanted;  // words that the beat completes
  logic [7:0] base;  // words of the frame before this beat
  logic [1:0] some;  // of the wanted ones, those within the limit
  logic [5:0] tail;  // bytes in the frame's last word, 0 for 64
  logic [7:0] trailer;  // bytes behind the payload
  logic       done;
  logic [1:0] pops;
  assign shift       = cfg_data_hdr_i[5:0];
  assign tag         = regs_q.tags[regs_q.head];
  assign next_at     = regs_q.head + 2'd1;
  assign next_begins = regs_q.tags[next_at].sop && !regs_q.tags[next_at].eop;
  assign trailer     = cfg_icrc_i ? 8'd8 : 8'd4;
  assign tail        = tag.bytes[5:0] - trailer[5:0] - shift;

  always_comb begin
    wanted = 8'd0;
    if (tag.spoilt) begin
      wanted = 8'd0;
    end else if (!tag.eop) begin
      wanted = tag.sop ? 8'd0 : 8'd2;
    end else if (!tag.sop) begin
      wanted = (8'd127 - trailer + tag.bytes - 8'(shift)) >> 6;
    end else if (tag.bytes > 8'd64 + trailer + 8'(shift)) begin
      wanted = 8'd1;
    end
    // `words` moves with every word, `step` as well: the beat began at their difference.
    base = tag.sop ? 8'd0 : regs_q.words - 8'(regs_q.step);
    some = base + wanted > WORDS ? 2'(WORDS - base) : wanted[1:0];
    done = some == 2'd0 || regs_q.step + 2'd1 == some;
  end

  // Wide values are made in their register, so that nothing wide moves while nothing happens.
  always_comb begin
    regs_d = regs_q;
    crc    = '0;
    icrc   = '0;
    pops   = 2'd0;

    // Arrival: check, and put into the queue.
    if (take) begin
      regs_d.open = !wire_eop_i && regs_q.count != BEATS;
    end
    if (take && regs_q.count != BEATS) begin
      regs_d.beats[free] = wire_data_i;
      if (bytes != 8'd128) begin
        regs_d.beats[free] &= ~(ONES << {bytes, 3'd0});
      end
      if (!spoils) begin
        crc = fcs_beat(wire_sop_i ? FCS_INIT : regs_q.crc, regs_d.beats[free]);
        if (!wire_eop_i) begin
          regs_d.crc = crc;
        end
        if (cfg_icrc_i) begin
          // The register over the whole frame, less the zeros and the FCS.
          icrc = wire_sop_i ? fcs_beat(ICRC_INIT, icrc_beat(regs_d.beats[free])) :
              fcs_beat(regs_q.icrc, regs_d.beats[free]);
          if (!wire_eop_i) begin
            regs_d.last = wire_data_i[1023:1000];
            regs_d.icrc = icrc;
          end
          icrc = fcs_undo(fcs_undo(icrc, 7'(8'd128 - bytes)), 7'd4) ^ fcs;
        end
      end
      regs_d.spoilt = spoils;
      regs_d.tags[free] = '{
          sop: wire_sop_i,
          eop: wire_eop_i,
          good: wire_eop_i && !spoils && fcs_good(crc, 7'(8'd128 - bytes)),
          icrc: !cfg_icrc_i || (wire_eop_i && !spoils && !stub && icrc == FCS_RESIDUE),
          spoilt: spoils,
          bytes: bytes,
          at: now_i
      };
    end

    // Read-out: one word, or one beat without words.
    regs_d.word_valid  = 1'b0;
    regs_d.frame_valid = 1'b0;
    if (regs_q.count != 3'd0) begin
      if (tag.sop && regs_q.reading) begin
        // The frame before never ended.
        regs_d.reading       = 1'b0;
        regs_d.frame_valid   = 1'b1;
        regs_d.frame_hdr     = regs_q.hdr;
        regs_d.frame_len     = regs_q.len;
        regs_d.frame_fcs_ok  = 1'b0;
        regs_d.frame_icrc_ok = !cfg_icrc_i;
        regs_d.frame_words   = regs_q.words;
        regs_d.frame_at      = tag.at;
      end else begin
        if (some != 2'd0) begin
          if (tag.sop || regs_q.step == 2'd2) begin
            regs_d.word_data = regs_q.beats[regs_q.head][1023:512] >> {shift, 3'd0};
          end else if (regs_q.step == 2'd1) begin
            regs_d.word_data = 512'(regs_q.beats[regs_q.head] >> {shift, 3'd0});
          end else begin
            regs_d.word_data = 512'(
                {regs_q.beats[regs_q.head][511:0], regs_q.carry} >> {shift, 3'd0});
          end
          if (tag.eop && 8'(regs_q.step) + 8'd1 == wanted && tail != 6'd0) begin
            regs_d.word_data &= ~(ONES[511:0] << {tail, 3'd0});
          end
          regs_d.word_valid = 1'b1;
        end
        regs_d.words = base + 8'(regs_q.step) + 8'(some != 2'd0);
        regs_d.step  = done ? 2'd0 : regs_q.step + 2'd1;
        if (done) begin
          pops           = 2'd1;
          regs_d.reading = !tag.eop;
          regs_d.len     = longer(tag.sop ? '0 : regs_q.len, tag.bytes);
          regs_d.carry   = regs_q.beats[regs_q.head][1023:512];
          if (tag.sop) begin
            regs_d.hdr = regs_q.beats[regs_q.head][831:0];
          end
          if (tag.eop) begin
            regs_d.frame_valid   = 1'b1;
            regs_d.frame_hdr     = regs_d.hdr;
            regs_d.frame_len     = regs_d.len;
            regs_d.frame_fcs_ok  = tag.good;
            regs_d.frame_icrc_ok = tag.icrc;
            regs_d.frame_words   = regs_d.words;
            regs_d.frame_at      = tag.at;
            // The next frame's first beat has no word: it goes along.
            if (regs_q.count > 3'd1 && next_begins) begin
              pops           = 2'd2;
              regs_d.reading = 1'b1;
              regs_d.len     = longer('0, regs_q.tags[next_at].bytes);
              regs_d.words   = 8'd0;
              regs_d.hdr     = regs_q.beats[next_at][831:0];
              regs_d.carry   = regs_q.beats[next_at][1023:512];
            end
          end
        end
      end
    end
    regs_d.head  = regs_q.head + pops;
    regs_d.count = regs_q.count + 3'(take && regs_q.count != BEATS) - 3'(pops);
  end

  //////////////
  // Contract //
  //////////////

  // A level that data can begin at: its word is past the first one, and no word holds a byte of the
  // trailer before the last beat.
  `ASSERT(DataHdrInRange_A, cfg_data_hdr_i >= 64 && 8'(cfg_data_hdr_i) + trailer <= 129)
  // Nothing but the rest of a frame is in the queue.
  `ASSERT(QueueBeginsFrame_A, regs_q.count != 0 && !regs_q.reading |-> tag.sop)
  `ASSERT(QueueFits_A, regs_q.count <= BEATS)

endmodule
