// Port, transmit side: turns frames into beats of 128 B on the wire, with payload, ICRC and FCS.
//
// Twin of rtl-model/src/port_tx.rs. PKT-1, PKT-2. Latency L = 3 clocks: the last beat comes exactly
// 3 clocks after the end event; its full beats come 4, 6, 8, … clocks after its start event.
// At most 496 Gbps: then a last beat never has to come before its bytes are there, and every pace
// from one frame of 62 B a clock down is sustained.
//
// A frame's payload lies in its replay slot from byte `off` on: word w of slot s is in bank w % 2,
// at row 65 × s + w / 2. Each beat reads one pair of words, the second of which is kept as residue
// for the beat behind it; the pair before the last beat is followed without a gap. Stages: read
// (row out), join (words in: shift, mask, header), sum (CRC), wire. The last beat waits in the sum
// stage for its end.
//
// With cfg_icrc an IPv4 frame has an ICRC before its FCS, made in the join stage; any other frame,
// PFC's above all, has none.
//
// Borders: no payload; FCS over two beats (frame of 128 n + 1 … 3 B) or alone in the last one (128
// n + 4 B), and so for the ICRC (128 n + 5 … 8 B); off 0 and 63; off - hdr_len either side of -64
// (which bank comes first); 8,192 B of payload; frames back to back with one clock between start
// and end.
//
// Choices: a frame with payload has hdr_len > off (every data header is longer than a word). What
// follows the header of a frame without `data` is zero. `wire_back` is zero on all but last beats.
//
// It is longer than a module should be: three stages carry the same fields, which are named thrice.

`include "assert.svh"

module port_tx
  import nic_pkg::*;
  import fcs_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Start and end of serialisation, from egress_arbiter
  input logic   tx_valid_i,
  input frame_t tx_i,
  input logic   end_valid_i,
  input rate_t  end_back_i,

  // Level, from csr: ICRCEnable
  input logic cfg_icrc_i,

  // Replay payload, two banks of words
  output logic  [ 1:0] bank_re_o,
  output logic  [31:0] bank_raddr0_o,
  output logic  [31:0] bank_raddr1_o,
  input  word_t        bank_rdata0_i,
  input  word_t        bank_rdata1_i,

  // Beats, to the wire
  output logic        wire_valid_o,
  output logic        wire_sop_o,
  output logic        wire_eop_o,
  output logic  [7:0] wire_bytes_o,
  output beat_t       wire_data_o,
  output rate_t       wire_back_o,

  // Frames that have left, to replay_store
  output logic  gone_valid_o,
  output logic  gone_data_o,
  output slot_t gone_slot_o
);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    // Read stage
    logic         read_valid;
    logic         read_wait;     // full beats keep a clock between them
    logic         read_sop;
    len_t         read_left;     // bytes of the frame from this beat on
    logic [831:0] read_hdr;
    logic [6:0]   read_hdr_len;
    logic         read_icrc;     // the frame has an ICRC
    logic         read_payload;  // bytes follow the header from the slot
    logic         read_odd;      // a pair begins with an odd word: in bank 1, one row back
    logic [5:0]   read_shift;    // where the beat begins in its residue
    logic [16:0]  read_row;      // of the pair's even word
    logic         read_data;
    slot_t        read_slot;
    // Join stage
    logic         join_valid;
    logic         join_sop;
    len_t         join_left;
    logic [831:0] join_hdr;
    logic [6:0]   join_hdr_len;
    logic         join_icrc;
    logic         join_payload;
    logic         join_odd;
    logic [5:0]   join_shift;
    logic         join_data;
    slot_t        join_slot;
    word_t        residue;       // second word of the pair before
    crc_t         icrc;          // over the frame's bytes before this beat
    // Sum stage
    logic         sum_valid;
    logic         sum_sop;
    len_t         sum_left;
    beat_t        sum_beat;      // zero from the FCS on
    logic         sum_data;
    slot_t        sum_slot;
    crc_t         crc;           // over the frame's bytes before this beat
    // Ends, one and two clocks old
    logic         end1_valid;
    rate_t        end1_back;
    logic         end2_valid;
    rate_t        end2_back;
    // Wire
    logic         wire_valid;
    logic         wire_sop;
    logic         wire_eop;
    logic [7:0]   wire_bytes;
    beat_t        wire_data;
    rate_t        wire_back;
    logic         gone_data;
    slot_t        gone_slot;
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

  /////////////
  // Outputs //
  /////////////

  // Bytes behind a frame's payload: FCS, and ICRC if it has one.
  function automatic len_t trailer(logic icrc);
    return icrc ? 14'd8 : 14'd4;
  endfunction

  logic issue;  // the read stage's beat moves on
  assign issue = regs_q.read_valid && !regs_q.read_wait;

  logic read;  // and some of its bytes come from the slot
  assign read = issue && regs_q.read_payload && regs_q.read_left > trailer(regs_q.read_icrc);

  // The first pair of a frame that begins with an odd word has none there: it lies in the header.
  assign bank_re_o = {read && !(regs_q.read_odd && regs_q.read_sop), read};
  assign bank_raddr0_o = 32'(regs_q.read_row);
  assign bank_raddr1_o = 32'(regs_q.read_row) - 32'(regs_q.read_odd);

  assign wire_valid_o = regs_q.wire_valid;
  assign wire_sop_o = regs_q.wire_sop;
  assign wire_eop_o = regs_q.wire_eop;
  assign wire_bytes_o = regs_q.wire_bytes;
  assign wire_data_o = regs_q.wire_data;
  assign wire_back_o = regs_q.wire_back;

  assign gone_valid_o = regs_q.wire_valid && regs_q.wire_eop;
  assign gone_data_o = regs_q.gone_data;
  assign gone_slot_o = regs_q.gone_slot;

  ////////////////
  // Next state //
  ////////////////

  localparam beat_t ONES = '1;
  localparam logic [15:0] IPV4 = 16'h0008;  // EtherType, as the bytes come

  // How many of a beat's bytes come before a trailer, with `left` bytes from this beat on.
  function automatic logic [7:0] ahead(len_t left, len_t bytes);
    if (left >= 14'd128 + bytes) return 8'd128;
    return left > bytes ? 8'(left - bytes) : 8'd0;
  endfunction

  logic [7:0] lead;  // bytes from start of payload back to start of its slot, when positive
  assign lead = {1'b0, tx_i.hdr_len} - {2'b0, tx_i.off};

  logic sum_eop;
  assign sum_eop = regs_q.sum_left <= 14'd128;

  logic leave;  // the sum stage's beat goes to the wire
  assign leave = regs_q.sum_valid && (!sum_eop || regs_q.end2_valid);

  logic [7:0] join_size;
  logic [7:0] sum_size;
  assign join_size = ahead(regs_q.join_left, trailer(regs_q.join_icrc));
  assign sum_size  = ahead(regs_q.sum_left, 14'd4);

  logic icrc;  // the frame that starts has one
  assign icrc = cfg_icrc_i && tx_i.hdr[8*12+:16] == IPV4;

  // Wide values are made in their register, so that nothing wide moves while nothing happens.
  always_comb begin
    regs_d = regs_q;

    // Read: one pair a beat.
    regs_d.read_wait = 1'b0;
    if (issue) begin
      regs_d.read_valid = regs_q.read_left > 14'd128;
      regs_d.read_wait  = regs_q.read_left > 14'd256;
      regs_d.read_sop   = 1'b0;
      regs_d.read_left  = regs_q.read_left - 14'd128;
      regs_d.read_row   = regs_q.read_row + 17'd1;
    end
    if (tx_valid_i) begin
      regs_d.read_valid   = 1'b1;
      regs_d.read_wait    = 1'b0;
      regs_d.read_sop     = 1'b1;
      regs_d.read_left    = tx_i.len;
      regs_d.read_hdr     = tx_i.hdr;
      regs_d.read_hdr_len = tx_i.hdr_len;
      regs_d.read_icrc    = icrc;
      regs_d.read_payload = tx_i.data && tx_i.len > 14'(tx_i.hdr_len) + trailer(icrc);
      regs_d.read_odd     = lead > 8'd64;
      regs_d.read_shift   = -lead[5:0];
      regs_d.read_row     = {1'b0, tx_i.slot, 6'd0} + 17'(tx_i.slot);
      regs_d.read_data    = tx_i.data;
      regs_d.read_slot    = tx_i.slot;
    end

    // Join: the pair is there.
    regs_d.join_valid = issue;
    if (issue) begin
      regs_d.join_sop     = regs_q.read_sop;
      regs_d.join_left    = regs_q.read_left;
      regs_d.join_hdr_len = regs_q.read_hdr_len;
      regs_d.join_icrc    = regs_q.read_icrc;
      regs_d.join_payload = regs_q.read_payload;
      regs_d.join_odd     = regs_q.read_odd;
      regs_d.join_shift   = regs_q.read_shift;
      regs_d.join_data    = regs_q.read_data;
      regs_d.join_slot    = regs_q.read_slot;
      if (regs_q.read_sop) begin
        regs_d.join_hdr = regs_q.read_hdr;
      end
    end

    if (regs_q.join_valid) begin
      regs_d.sum_beat = '0;
      if (regs_q.join_payload) begin
        regs_d.residue = regs_q.join_odd ? bank_rdata0_i : bank_rdata1_i;
        regs_d.sum_beat = 1024'({
            regs_q.join_odd ? bank_rdata0_i : bank_rdata1_i,
            regs_q.join_odd ? bank_rdata1_i : bank_rdata0_i,
            regs_q.residue
        } >> {regs_q.join_shift, 3'd0});
        if (join_size < 8'd128) begin
          regs_d.sum_beat &= ~(ONES << {join_size, 3'd0});
        end
      end
      if (regs_q.join_sop) begin
        regs_d.sum_beat &= ONES << {regs_q.join_hdr_len, 3'd0};
        regs_d.sum_beat |= {192'd0, regs_q.join_hdr} & ~(ONES << {regs_q.join_hdr_len, 3'd0});
      end
      if (regs_q.join_icrc) begin
        // Its first bytes may go with one beat and the rest with the next.
        if (join_size != 8'd0) begin
          regs_d.icrc = regs_q.join_sop ? fcs_beat(ICRC_INIT, icrc_beat(regs_d.sum_beat)) :
              fcs_beat(regs_q.icrc, regs_d.sum_beat);
          if (join_size < 8'd128) begin
            regs_d.icrc = fcs_undo(regs_d.icrc, 7'(8'd128 - join_size));
            regs_d.sum_beat |= {992'd0, ~regs_d.icrc} << {join_size, 3'd0};
          end
        end else if (regs_q.join_left > 14'd4) begin
          regs_d.sum_beat[31:0] = ~regs_q.icrc >> {4'd8 - regs_q.join_left[3:0], 3'd0};
        end
      end
      regs_d.sum_sop  = regs_q.join_sop;
      regs_d.sum_left = regs_q.join_left;
      regs_d.sum_data = regs_q.join_data;
      regs_d.sum_slot = regs_q.join_slot;
    end
    regs_d.sum_valid  = regs_q.join_valid || (regs_q.sum_valid && !leave);

    // Sum: the CRC grows up to the FCS, which may begin in one beat and end in the next.
    regs_d.wire_valid = leave;
    if (leave) begin
      regs_d.wire_data = regs_q.sum_beat;
      if (sum_size == 8'd0) begin
        regs_d.wire_data[31:0] = ~regs_q.crc >> {3'd4 - regs_q.sum_left[2:0], 3'd0};
      end else begin
        regs_d.crc = fcs_beat(regs_q.sum_sop ? FCS_INIT : regs_q.crc, regs_q.sum_beat);
        if (sum_size < 8'd128) begin
          regs_d.crc = fcs_undo(regs_d.crc, 7'(8'd128 - sum_size));
          regs_d.wire_data |= {992'd0, ~regs_d.crc} << {sum_size, 3'd0};
        end
      end
      regs_d.wire_sop   = regs_q.sum_sop;
      regs_d.wire_eop   = sum_eop;
      regs_d.wire_bytes = sum_eop ? regs_q.sum_left[7:0] : 8'd128;
      regs_d.wire_back  = sum_eop ? regs_q.end2_back : '0;
      regs_d.gone_data  = regs_q.sum_data;
      regs_d.gone_slot  = regs_q.sum_slot;
    end

    // Ends, on their way to the beat that waits for them.
    regs_d.end1_valid = end_valid_i;
    regs_d.end2_valid = regs_q.end1_valid;
    if (end_valid_i) begin
      regs_d.end1_back = end_back_i;
    end
    if (regs_q.end1_valid) begin
      regs_d.end2_back = regs_q.end1_back;
    end
  end

  //////////////
  // Contract //
  //////////////

  // A frame starts when the one before it has been read.
  `ASSERT(StartFindsRoom_A, tx_valid_i |-> !regs_q.read_valid || issue && regs_q.read_left <= 128)
  // Its header fits its length, and its payload does not begin past the header's first word.
  `ASSERT(FrameFits_A, tx_valid_i |-> tx_i.len >= 14'(tx_i.hdr_len) + trailer(icrc
                       ) && tx_i.hdr_len <= 104)
  `ASSERT(HeaderBeforePayload_A, tx_valid_i && tx_i.data |-> tx_i.hdr_len > 7'(tx_i.off))
  // The last beat is there when its end has come.
  `ASSERT(EndFindsLastBeat_A, regs_q.end2_valid |-> regs_q.sum_valid && sum_eop)
  // No beat runs into one that waits.
  `ASSERT(SumFindsRoom_A, regs_q.join_valid && regs_q.sum_valid |-> leave)

endmodule
