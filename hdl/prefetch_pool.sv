// Prefetch pool: what the prefetch buffer holds of payloads fetched and not yet committed.
//
// Twin of rtl-model/src/prefetch_pool.rs. Latency 1 clock from an event to `free_o`, `occ_o` and
// `half_valid_o`; throughput an event of each kind a clock.
// BUF-5: a packet takes its size on the wire when the fetch of its payload is issued, and gives it
// back when it is committed to the wire or comes to nothing. SEG-4: a release that leaves
// 2 x occupancy <= size may begin a pass. Section 16: of one clock's events the releases come
// first, so what is taken in the same clock does not count against half.
//
// Borders and choices:
// - A commit and a drop may come in one clock.
// - Twice the occupancy equal to the size is half.
// - Free bytes are a register: one clock behind a change of the size, 0 where it holds more.
// - Without a prefetch buffer nothing comes here, and the pool stays empty.

`include "assert.svh"

module prefetch_pool
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Fetches issued and packets committed, from tx_scheduler
  input logic take_valid_i,
  input logic commit_valid_i,
  input len_t bytes_i,

  // Fetches that came to nothing, from qp_drain
  input logic drop_valid_i,
  input len_t drop_bytes_i,

  // Room, to tx_scheduler; bytes held
  output bytes_t free_o,
  output logic   half_valid_o,
  output bytes_t occ_o,

  // Its size, from csr
  input bytes_t cfg_prefetch_i
);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    bytes_t occ;
    bytes_t free;
    logic   half;
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

  assign free_o       = regs_q.free;
  assign half_valid_o = regs_q.half;
  assign occ_o        = regs_q.occ;

  ////////////////
  // Next state //
  ////////////////

  bytes_t left;  // what this clock's releases leave
  assign left = regs_q.occ - (commit_valid_i ? bytes_t'(bytes_i) : '0)
      - (drop_valid_i ? bytes_t'(drop_bytes_i) : '0);

  always_comb begin
    regs_d      = regs_q;
    regs_d.half = (commit_valid_i || drop_valid_i) && {left, 1'b0} <= {1'b0, cfg_prefetch_i};
    regs_d.occ  = left + (take_valid_i ? bytes_t'(bytes_i) : '0);
    regs_d.free = regs_d.occ < cfg_prefetch_i ? cfg_prefetch_i - regs_d.occ : '0;
  end

  //////////////
  // Contract //
  //////////////

  bytes_t gone;  // given back in this clock
  assign gone = (commit_valid_i ? 32'(bytes_i) : '0) + (drop_valid_i ? 32'(drop_bytes_i) : '0);

  // A packet is fetched or committed, and only what is held is given back.
  `ASSERT(OneOfTwo_A, !(take_valid_i && commit_valid_i))
  `ASSERT(Held_A, gone <= regs_q.occ)
  // What is fetched has room.
  `ASSERT(Room_A, take_valid_i |-> regs_q.free >= bytes_t'(bytes_i))
  // Nothing is lost: what is fetched and not given back is held (BUF-5).
  `ASSERT(Balance_A, regs_d.occ + gone == regs_q.occ + (take_valid_i ? bytes_t'(bytes_i) : '0))
  // What is held and what is free are the buffer, unless it has become too small.
  `ASSERT(
      Conserved_A,
      regs_d.occ <= cfg_prefetch_i ? regs_d.occ + regs_d.free == cfg_prefetch_i : regs_d.free == '0)

endmodule
