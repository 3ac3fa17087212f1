// What is asked of sack_bitmap.
//
// Twin of the types in rtl-model/src/sack_bitmap.rs.

package bitmap_pkg;

  typedef enum logic [3:0] {
    MapWipe    = 4'd0,  // no bit of the QP is set
    MapTest    = 4'd1,  // the bit of psn
    MapSet     = 4'd2,
    MapClear   = 4'd3,
    MapNext    = 4'd4,  // the lowest bit in [psn, end)
    MapTake    = 4'd5,  // the same, and clears it
    MapTop     = 4'd6,  // the highest bit in [psn, end)
    MapBlock   = 4'd7,  // 64 bits from psn, those in [psn, end)
    MapReport  = 4'd8,  // the lowest bit from walk on, else from low on, and the 63 after it
    MapHold    = 4'd9,  // Set, then Report
    MapAdvance = 4'd10  // clears the run that starts at psn
  } bitmap_e;

  // Marks beside the 64 bits of a word.
  typedef struct packed {
    logic [63:0] last;
    logic [63:0] asked;
  } marks_t;

  // The lowest bit of a word; 63 without any.
  function automatic logic [5:0] lowest(logic [63:0] word);
    lowest = 6'd63;
    for (int i = 63; i >= 0; i--) begin
      if (word[i]) begin
        lowest = 6'(i);
      end
    end
  endfunction

  // The highest bit of a word; 0 without any.
  function automatic logic [5:0] highest(logic [63:0] word);
    highest = 6'd0;
    for (int i = 0; i < 64; i++) begin
      if (word[i]) begin
        highest = 6'(i);
      end
    end
  endfunction

endpackage
