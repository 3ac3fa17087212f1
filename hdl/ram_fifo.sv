// FIFO over a memory: a ram_1r1w stands beside it, the two oldest entries lie in flops.
//
// Twin of rtl-model/src/ram_fifo.rs. Latency 1 clock when empty: an entry that finds no older one
// in the memory and a free place in the output stage goes there at once. Throughput 1 in and 1 out
// a clock at every level; at DEPTH entries it is not ready, also in a clock in which it pops.
//
// ram_we_o, ram_wdata_o and ram_re_o are combinational: an entry is written to the memory in the
// clock in which it comes, and read once the output stage has a place for it, which counts the
// entry that leaves in that clock. ram_wdata_o is zero without a write. No word is read before the
// clock after its write.
//
// Borders: the output stage with 0, 1 and 2 entries, with and without a read under way; DEPTH - 1
// and DEPTH entries; the wrap of both pointers; DEPTH 1 (case 21). DEPTH is any number from 1 up.

`include "assert.svh"

module ram_fifo #(
  parameter int unsigned WIDTH = 32,
  parameter int unsigned DEPTH = 16
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
  output logic [WIDTH-1:0] out_data_o,

  // Memory of DEPTH words, a ram_1r1w
  output logic             ram_we_o,
  output logic [     31:0] ram_waddr_o,
  output logic [WIDTH-1:0] ram_wdata_o,
  output logic             ram_re_o,
  output logic [     31:0] ram_raddr_o,
  input  logic [WIDTH-1:0] ram_rdata_i,

  // Level: entries held, wherever they are
  output logic [31:0] level_o
);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic [WIDTH-1:0] items[2];  // output stage, the oldest entry first
    logic [1:0]       held;      // entries in it
    logic             reading;   // ram_rdata_i carries the next entry for it
    logic [31:0]      head;      // oldest entry in the memory that is not read
    logic [31:0]      tail;      // free word
    logic [31:0]      level;     // entries in all
  } regs_t;

  localparam regs_t RESET = '{
      items: '{default: '0},
      held: '0,
      reading: 1'b0,
      head: '0,
      tail: '0,
      level: '0
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

  logic       stored;  // the memory holds entries that are not read
  logic [1:0] kept;  // entries that stay in the output stage
  logic [1:0] sure;  // those and the one being read
  assign stored = regs_q.level != 32'(regs_q.held) + 32'(regs_q.reading);
  assign kept   = regs_q.held - 2'(out_valid_o && out_ready_i);
  assign sure   = kept + 2'(regs_q.reading);

  logic push;
  logic bypass;  // the entry goes past the memory
  assign push        = in_valid_i && in_ready_o;
  assign bypass      = push && !stored && sure < 2'd2;

  assign in_ready_o  = regs_q.level < 32'(DEPTH);
  assign out_valid_o = regs_q.held != '0;
  assign out_data_o  = regs_q.items[0];
  assign ram_we_o    = push && !bypass;
  assign ram_waddr_o = regs_q.tail;
  assign ram_wdata_o = ram_we_o ? in_data_i : '0;
  assign ram_re_o    = stored && sure < 2'd2;
  assign ram_raddr_o = regs_q.head;
  assign level_o     = regs_q.level;

  ////////////////
  // Next state //
  ////////////////

  function automatic logic [31:0] after(logic [31:0] place);
    return place == 32'(DEPTH - 1) ? '0 : place + 32'd1;
  endfunction

  always_comb begin
    regs_d = regs_q;

    if (out_valid_o && out_ready_i) begin
      regs_d.items[0] = regs_q.items[1];
    end
    if (regs_q.reading) begin
      regs_d.items[kept[0]] = ram_rdata_i;
    end
    if (bypass) begin
      regs_d.items[sure[0]] = in_data_i;
    end
    regs_d.held    = sure + 2'(bypass);
    regs_d.reading = ram_re_o;

    if (ram_we_o) begin
      regs_d.tail = after(regs_q.tail);
    end
    if (ram_re_o) begin
      regs_d.head = after(regs_q.head);
    end
    regs_d.level = regs_q.level + 32'(push) - 32'(out_valid_o && out_ready_i);
  end

  //////////////
  // Contract //
  //////////////

  // An entry that is not taken waits, and stays as it is.
  `ASSERT(OutWaits_A, out_valid_o && !out_ready_i |=> out_valid_o)
  `ASSERT(OutStable_A, out_valid_o && !out_ready_i |=> $stable(out_data_o))
  // A word that is read has a place in the output stage, and is not being written.
  `ASSERT(Place_A, 3'(regs_q.held) + 3'(regs_q.reading) <= 3'd2)
  `ASSERT(Apart_A, !(ram_we_o && ram_re_o && ram_waddr_o == ram_raddr_o))
  // It never holds more than it has places, and an entry shows as soon as there is one.
  `ASSERT(Level_A, regs_q.level <= 32'(DEPTH))
  `ASSERT(Shows_A, level_o != '0 |-> out_valid_o)

endmodule
