// Frame check sequence and invariant CRC: the CRC-32 of Ethernet over beats of 128 B.
//
// Twin of rtl-model/src/fcs.rs. A crc_t is the CRC register itself, least significant bit first on
// the wire: FCS_INIT before a frame, and the FCS is its complement, least significant byte first.
// Over a frame with its right FCS the register ends at FCS_RESIDUE.
//
// A beat with fewer bytes is filled up with zeros; the register over its bytes alone is then that
// over the beat with the zero bytes undone, and a residue is compared with that of as many more
// zero bytes. All masks follow from the polynomial: they are constants, made at elaboration.

package fcs_pkg;

  typedef logic [31:0] crc_t;

  localparam crc_t FCS_POLY = 32'hedb8_8320;  // bit 31 is x^0
  localparam crc_t FCS_INIT = '1;
  localparam crc_t FCS_RESIDUE = 32'hdebb_20e3;

  // The register after one more zero bit.
  function automatic crc_t zero_bit(crc_t crc);
    return {1'b0, crc[31:1]} ^ (crc[0] ? FCS_POLY : '0);
  endfunction

  // The register before the last zero bit.
  function automatic crc_t undo_bit(crc_t crc);
    return {crc[30:0] ^ (crc[31] ? FCS_POLY[30:0] : '0), crc[31]};
  endfunction

  // Which bits of a beat turn bit `n` of the register.
  function automatic logic [1023:0] beat_row(logic [4:0] n);
    crc_t crc;
    crc = FCS_POLY;
    for (int i = 1023; i >= 0; i--) begin
      beat_row[i] = crc[n];
      crc = zero_bit(crc);
    end
  endfunction

  localparam logic [31:0][1023:0] BEAT_ROWS = {
    beat_row(31),
    beat_row(30),
    beat_row(29),
    beat_row(28),
    beat_row(27),
    beat_row(26),
    beat_row(25),
    beat_row(24),
    beat_row(23),
    beat_row(22),
    beat_row(21),
    beat_row(20),
    beat_row(19),
    beat_row(18),
    beat_row(17),
    beat_row(16),
    beat_row(15),
    beat_row(14),
    beat_row(13),
    beat_row(12),
    beat_row(11),
    beat_row(10),
    beat_row(9),
    beat_row(8),
    beat_row(7),
    beat_row(6),
    beat_row(5),
    beat_row(4),
    beat_row(3),
    beat_row(2),
    beat_row(1),
    beat_row(0)
  };

  // A linear map of the register: entry i is what bit i alone becomes.
  typedef logic [31:0][31:0] map_t;

  function automatic crc_t map_crc(map_t map, crc_t crc);
    map_crc = '0;
    for (int i = 0; i < 32; i++) begin
      map_crc ^= map[i] & {32{crc[i]}};
    end
  endfunction

  function automatic map_t undo_byte();
    crc_t crc;
    for (int i = 0; i < 32; i++) begin
      crc = 32'd1 << i;
      for (int n = 0; n < 8; n++) begin
        crc = undo_bit(crc);
      end
      undo_byte[i] = crc;
    end
  endfunction

  function automatic map_t twice(map_t map);
    for (int i = 0; i < 32; i++) begin
      twice[i] = map_crc(map, map[i]);
    end
  endfunction

  localparam map_t UNDO_1 = undo_byte();
  localparam map_t UNDO_2 = twice(UNDO_1);
  localparam map_t UNDO_4 = twice(UNDO_2);
  localparam map_t UNDO_8 = twice(UNDO_4);
  localparam map_t UNDO_16 = twice(UNDO_8);
  localparam map_t UNDO_32 = twice(UNDO_16);
  localparam map_t UNDO_64 = twice(UNDO_32);

  // Entry n: the register over a right frame and n zero bytes.
  function automatic logic [127:0][31:0] residues_after();
    crc_t crc;
    crc = FCS_RESIDUE;
    for (int n = 0; n < 128; n++) begin
      residues_after[n] = crc;
      for (int i = 0; i < 8; i++) begin
        crc = zero_bit(crc);
      end
    end
  endfunction

  localparam logic [127:0][31:0] RESIDUES = residues_after();

  // The register after a beat of 128 bytes. Lanes of 64 bits: simulators then work on whole words.
  function automatic crc_t fcs_beat(crc_t crc, logic [1023:0] beat);
    logic [15:0][63:0] lanes;
    logic [63:0] fold;
    lanes = beat ^ {992'd0, crc};
    for (int n = 0; n < 32; n++) begin
      fold = '0;
      for (int i = 0; i < 16; i++) begin
        fold ^= lanes[i] & BEAT_ROWS[n][64*i+:64];
      end
      fcs_beat[n] = ^fold;
    end
  endfunction

  // The register before the last `zeros` bytes, which were zero.
  function automatic crc_t fcs_undo(crc_t crc, logic [6:0] zeros);
    fcs_undo = crc;
    if (zeros[0]) fcs_undo = map_crc(UNDO_1, fcs_undo);
    if (zeros[1]) fcs_undo = map_crc(UNDO_2, fcs_undo);
    if (zeros[2]) fcs_undo = map_crc(UNDO_4, fcs_undo);
    if (zeros[3]) fcs_undo = map_crc(UNDO_8, fcs_undo);
    if (zeros[4]) fcs_undo = map_crc(UNDO_16, fcs_undo);
    if (zeros[5]) fcs_undo = map_crc(UNDO_32, fcs_undo);
    if (zeros[6]) fcs_undo = map_crc(UNDO_64, fcs_undo);
  endfunction

  // ICRC: the same CRC, over 8 bytes of ones and then the IP datagram, with what routers may change
  // as ones. Over those 8 bytes the register is FCS_RESIDUE; here it is that before the Ethernet
  // header, whose 14 bytes count as zeros.
  localparam crc_t ICRC_INIT = fcs_undo(FCS_RESIDUE, 7'd14);

  // A frame's first beat as the ICRC has it: TOS, TTL, the two checksums, BTH's byte 4.
  function automatic logic [1023:0] icrc_beat(logic [1023:0] beat);
    icrc_beat           = beat;
    icrc_beat[0+:112]   = '0;
    icrc_beat[8*15+:8]  = '1;
    icrc_beat[8*22+:8]  = '1;
    icrc_beat[8*24+:16] = '1;
    icrc_beat[8*40+:16] = '1;
    icrc_beat[8*46+:8]  = '1;
  endfunction

  // Whether the frame whose last beat ends in `zeros` filled-up bytes had the right FCS.
  function automatic logic fcs_good(crc_t crc, logic [6:0] zeros);
    return crc == RESIDUES[zeros];
  endfunction

endpackage
