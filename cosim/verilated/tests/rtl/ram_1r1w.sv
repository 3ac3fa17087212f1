// Memory with one write and one read port; the cell that holds every memory over 4 Kbit.
//
// Twin of rtl-model/src/ram_1r1w.rs. The read port is registered: rdata_o is the word of the last
// clock in which re_i was high. A read of the word written in the same clock gives the old word.
// There is no reset: words and rdata_o start from whatever was loaded. An address past the last
// word is the user's fault: a write is lost, a read is undefined.

module ram_1r1w #(
  parameter int unsigned WIDTH = 32,
  parameter int unsigned DEPTH = 256
) (
  input logic clk_i,

  // Write port
  input logic             we_i,
  input logic [     31:0] waddr_i,
  input logic [WIDTH-1:0] wdata_i,

  // Read port
  input  logic             re_i,
  input  logic [     31:0] raddr_i,
  output logic [WIDTH-1:0] rdata_o
);

  localparam int unsigned ADDR_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;

  ///////////////
  // Registers //
  ///////////////

  logic [WIDTH-1:0] mem_q   [DEPTH];
  logic [WIDTH-1:0] rdata_q;

  always_ff @(posedge clk_i) begin
    if (re_i) begin
      rdata_q <= mem_q[raddr_i[ADDR_BITS-1:0]];
    end
  end

  always_ff @(posedge clk_i) begin
    if (we_i) begin
      mem_q[waddr_i[ADDR_BITS-1:0]] <= wdata_i;
    end
  end

  /////////////
  // Outputs //
  /////////////

  assign rdata_o = rdata_q;

  // The ports carry 32 bits whatever the depth; the top ones are zero.
  logic unused;
  assign unused = &{1'b0, waddr_i[31:ADDR_BITS], raddr_i[31:ADDR_BITS]};

endmodule
