// Entropy values: each packet to a destination leaves on the next of 128 UDP source ports.
//
// Twin of rtl-model/src/path_select.rs. Latency 1 clock, throughput 1 request a clock, data before
// acknowledgements; a request whose answer is given keeps nothing here.
// PTH-1, the spraying: port = 256 + (step mod 128), one counter a destination, shared by data and
// acknowledgements, outliving groups. Section 16: port choice comes last in a clock, so a request
// sees every step taken in earlier clocks.
// Borders: step 127 wraps to port 256; both requesters in one clock; one destination or several.

`include "assert.svh"

module path_select
  import nic_pkg::*;
#(
  parameter int unsigned DESTS = 64
) (
  input logic clk_i,
  input logic rst_ni,

  // Requests and their answers, packet_build
  input  logic         data_valid_i,
  output logic         data_ready_o,
  input  dest_t        data_dest_i,
  output logic         data_rsp_valid_o,
  output logic  [15:0] data_rsp_port_o,

  // Requests and their answers, ack_build
  input  logic         ack_valid_i,
  output logic         ack_ready_o,
  input  dest_t        ack_dest_i,
  output logic         ack_rsp_valid_o,
  output logic  [15:0] ack_rsp_port_o
);

  localparam int unsigned INDEX = $clog2(DESTS);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic [6:0]  step[DESTS];     // of each destination, modulo 128
    logic        data_rsp_valid;
    logic [15:0] data_rsp_port;
    logic        ack_rsp_valid;
    logic [15:0] ack_rsp_port;
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

  assign data_ready_o     = 1'b1;
  assign data_rsp_valid_o = regs_q.data_rsp_valid;
  assign data_rsp_port_o  = regs_q.data_rsp_port;
  assign ack_ready_o      = !data_valid_i;
  assign ack_rsp_valid_o  = regs_q.ack_rsp_valid;
  assign ack_rsp_port_o   = regs_q.ack_rsp_port;

  ////////////////
  // Next state //
  ////////////////

  logic [INDEX-1:0] dest;  // of the request taken
  logic [     15:0] port;
  assign dest = data_valid_i ? data_dest_i[INDEX-1:0] : ack_dest_i[INDEX-1:0];
  assign port = 16'd256 + {9'd0, regs_q.step[dest]};

  always_comb begin
    regs_d = regs_q;

    regs_d.data_rsp_valid = data_valid_i;
    regs_d.ack_rsp_valid = ack_valid_i && ack_ready_o;
    if (data_valid_i) begin
      regs_d.data_rsp_port = port;
    end
    if (ack_valid_i && ack_ready_o) begin
      regs_d.ack_rsp_port = port;
    end
    if (data_valid_i || ack_valid_i) begin
      regs_d.step[dest] = regs_q.step[dest] + 7'd1;
    end
  end

  //////////////
  // Contract //
  //////////////

  // One request is answered a clock.
  `ASSERT(OneAnswer_A, !(data_rsp_valid_o && ack_rsp_valid_o))
  // Ports stay within the 128 that are sprayed over.
  `ASSERT(DataPort_A, data_rsp_valid_o |-> data_rsp_port_o inside {[16'd256 : 16'd383]})
  `ASSERT(AckPort_A, ack_rsp_valid_o |-> ack_rsp_port_o inside {[16'd256 : 16'd383]})

endmodule
