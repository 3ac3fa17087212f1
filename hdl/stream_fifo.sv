// Small FIFO in flops: a stream goes in, the same stream comes out.
//
// Twin of rtl-model/src/stream_fifo.rs. Latency 1 clock; throughput 1 entry a clock from DEPTH 2
// up, and one every second clock at DEPTH 1: a full FIFO is not ready, also in a clock in which it
// pops. Neither valid nor ready passes through, so that it cuts every path between its two sides.
//
// Borders: empty and full, push and pop in one clock at 1 and at DEPTH - 1 entries, the wrap of the
// head; DEPTH 1 (case 21). DEPTH is 1 to 255, and WIDTH * DEPTH stays near 4 Kbit.

`include "assert.svh"

module stream_fifo #(
  parameter int unsigned WIDTH = 32,
  parameter int unsigned DEPTH = 4
) (
  input logic clk_i,
  input logic rst_ni,

  // Entries in
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [WIDTH-1:0] in_data_i,

  // Entries out
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [WIDTH-1:0] out_data_o
);

  localparam int unsigned INDEX_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic [WIDTH-1:0] items[DEPTH];
    logic [7:0]       head;          // the oldest entry's place
    logic [7:0]       count;         // entries held
  } regs_t;

  localparam regs_t RESET = '{items: '{default: '0}, head: '0, count: '0};

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

  assign in_ready_o  = regs_q.count < 8'(DEPTH);
  assign out_valid_o = regs_q.count != '0;
  assign out_data_o  = regs_q.items[regs_q.head[INDEX_BITS-1:0]];

  ////////////////
  // Next state //
  ////////////////

  logic [8:0] past_last;  // where the next entry goes, before the wrap
  logic [8:0] free;  // where the next entry goes
  assign past_last = {1'b0, regs_q.head} + {1'b0, regs_q.count};
  assign free      = past_last >= 9'(DEPTH) ? past_last - 9'(DEPTH) : past_last;

  logic push;
  logic pop;
  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;

  always_comb begin
    regs_d = regs_q;

    if (push) begin
      regs_d.items[free[INDEX_BITS-1:0]] = in_data_i;
    end
    if (pop) begin
      regs_d.head = regs_q.head == 8'(DEPTH - 1) ? '0 : regs_q.head + 8'd1;
    end
    regs_d.count = regs_q.count + 8'(push) - 8'(pop);
  end

  // A full FIFO takes nothing, so that bits above the index are zero where it is used.
  logic unused;
  assign unused = &{1'b0, free};

  //////////////
  // Contract //
  //////////////

  // An entry that is not taken waits, and stays as it is.
  `ASSERT(OutWaits_A, out_valid_o && !out_ready_i |=> out_valid_o)
  `ASSERT(OutStable_A, out_valid_o && !out_ready_i |=> $stable(out_data_o))
  // It never holds more than it has places.
  `ASSERT(Count_A, regs_q.count <= 8'(DEPTH) && regs_q.head < 8'(DEPTH))

endmodule
