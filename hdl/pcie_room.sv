// The NIC's end of the PCIe link, receive side: counts what the receive buffer holds, and tells the
// host what is free again.
//
// Twin of rtl-model/src/pcie_room.rs. PCI-4. Latency 1 clock from a beat that leaves the buffer to
// the room that the host is told of; throughput 1 beat in and 1 out a clock.
//
// The beats stand in rx_fifo; this block sees them come and go. Room is counted in units of 16 B: a
// header takes one, with the first beat of its TLP; payload its DWs, rounded up, beat by beat. As
// all beats of a TLP but the last carry 32 DWs, that is the payload's DWs rounded up once. Both
// are free when the beat has been taken by tlp_parse.
//
// The host takes room when a TLP begins on its link, which is earlier than here: so a host that
// keeps to what it was told never needs more than cfg_rx_hdr_buf_i and cfg_rx_data_buf_i. A beat
// that comes without room is told on over_valid_o, and kept as long as rx_fifo has a place for it;
// one that rx_fifo has no place for is lost, told too, and not counted.
//
// Borders: room exactly enough, and one unit short; 0, 1, 4, 5, 31, 32 DWs a beat; more than 32,
// which are 32; a beat that comes in the clock in which one goes.

`include "assert.svh"

module pcie_room
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Levels, from csr
  input bytes_t cfg_rx_hdr_buf_i,
  input bytes_t cfg_rx_data_buf_i,

  // Beats into rx_fifo, from the host
  input logic       in_valid_i,
  input logic       in_ready_i,
  input logic       in_sop_i,
  input logic [7:0] in_dws_i,

  // Beats out of it, to tlp_parse
  input logic       out_valid_i,
  input logic       out_ready_i,
  input logic       out_sop_i,
  input logic [7:0] out_dws_i,

  // Room that is free again, to the host
  output logic       freed_valid_o,
  output logic       freed_hdr_o,
  output logic [3:0] freed_data_o,

  // A beat came without room, to counters
  output logic over_valid_o
);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic [12:0] hdr_used;     // headers held
    logic [15:0] data_used;    // units of payload held
    logic        freed_valid;
    logic        freed_hdr;
    logic [3:0]  freed_data;
    logic        over_valid;
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

  assign freed_valid_o = regs_q.freed_valid;
  assign freed_hdr_o   = regs_q.freed_hdr;
  assign freed_data_o  = regs_q.freed_data;
  assign over_valid_o  = regs_q.over_valid;

  ////////////////
  // Next state //
  ////////////////

  // Units that a beat's payload takes.
  function automatic logic [3:0] units_of(logic [7:0] dws);
    return dws > 8'd32 ? 4'd8 : 4'((dws + 8'd3) >> 2);
  endfunction

  logic        comes;
  logic        goes;
  logic [12:0] hdr_more;  // headers held with the beat that comes
  logic [15:0] data_more;
  logic [12:0] hdr_less;  // headers that leave
  logic [15:0] data_less;
  assign comes     = in_valid_i && in_ready_i;
  assign goes      = out_valid_i && out_ready_i;
  assign hdr_more  = regs_q.hdr_used + 13'(in_sop_i);
  assign data_more = regs_q.data_used + 16'(units_of(in_dws_i));
  assign hdr_less  = 13'(goes && out_sop_i);
  assign data_less = goes ? 16'(units_of(out_dws_i)) : 16'd0;

  always_comb begin
    regs_d             = regs_q;
    regs_d.hdr_used    = (comes ? hdr_more : regs_q.hdr_used) - hdr_less;
    regs_d.data_used   = (comes ? data_more : regs_q.data_used) - data_less;
    regs_d.freed_valid = goes;
    if (goes) begin
      regs_d.freed_hdr  = out_sop_i;
      regs_d.freed_data = units_of(out_dws_i);
    end
    regs_d.over_valid = in_valid_i
        && (!in_ready_i || 28'(hdr_more) > cfg_rx_hdr_buf_i[31:4]
            || 28'(data_more) > cfg_rx_data_buf_i[31:4]);
  end

  // What is left of a unit holds nothing.
  logic unused;
  assign unused = &{1'b0, cfg_rx_hdr_buf_i[3:0], cfg_rx_data_buf_i[3:0]};

  //////////////
  // Contract //
  //////////////

  // Nothing leaves that has not come.
  `ASSERT(HdrKept_A, hdr_less <= regs_q.hdr_used)
  `ASSERT(DataKept_A, data_less <= regs_q.data_used)
  // The host is told of what leaves, once: never of more than a beat holds.
  `ASSERT(FreedBeat_A, freed_valid_o |-> freed_data_o <= 4'd8)

  logic [12:0] hdr_all;  // held, with what comes
  logic [15:0] data_all;
  logic [12:0] hdr_then;  // held in the next clock, with what the host is told of in it
  logic [15:0] data_then;
  assign hdr_all   = regs_q.hdr_used + 13'(comes && in_sop_i);
  assign data_all  = regs_q.data_used + (comes ? 16'(units_of(in_dws_i)) : '0);
  assign hdr_then  = regs_d.hdr_used + 13'(regs_d.freed_valid && regs_d.freed_hdr);
  assign data_then = regs_d.data_used + (regs_d.freed_valid ? 16'(regs_d.freed_data) : '0);

  // PCI-4: no room is lost, and none is made.
  `ASSERT(HdrBalance_A, hdr_then == hdr_all)
  `ASSERT(DataBalance_A, data_then == data_all)

endmodule
