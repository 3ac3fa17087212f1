// Pause hold: which traffic classes the switch has paused, and until when.
//
// Twin of rtl-model/src/pause_hold.rs. A frame of clock n acts on `paused_o` in n + 1. Throughput 1
// frame per clock. PFC-4: a class that a frame names is held for 512 bit times a quantum and the
// link's Delay, whatever this NIC itself may send; a fresh frame restarts the time in full; quanta
// 0, or the end, resumes. The frame that is being sent ends whole: that is egress_arbiter's.
//
// A quantum is 512,000 units and a clock drains `cfg_wire_rate` of them; the pause of a frame of
// clock n holds the choices from n + 1 on, up to the first clock at or after its exact end.
//
// Borders: a clear bit of the vector leaves its class alone, whatever its time says; quanta 0
// without a pause changes nothing; a time whose units are a multiple of the rate; a frame in the
// clock in which the time before it ends.

`include "assert.svh"

module pause_hold
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // PFC frames, from packet_parse
  input logic         pfc_valid_i,
  input logic [  7:0] pfc_classes_i,
  input logic [127:0] pfc_quanta_i,

  // Settings, from csr
  input rate_t        cfg_wire_rate_i,
  input logic  [23:0] cfg_pfc_delay_i,

  // Classes held, to egress_arbiter
  output logic [7:0] paused_o
);

  typedef logic [44:0] time_t;  // units: 65,535 quanta and 2^24 clocks

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic [7:0] paused;
    time_t      left[8];  // of each pause, at the start of this clock
  } regs_t;

  localparam regs_t RESET = '{paused: '0, left: '{default: '0}};

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

  assign paused_o = regs_q.paused;

  ////////////////
  // Next state //
  ////////////////

  localparam time_t QUANTUM_UNITS = 45'(64 * BYTE_UNITS);  // 512 bit times

  time_t delay;
  assign delay = time_t'(cfg_pfc_delay_i) * time_t'(cfg_wire_rate_i);

  always_comb begin
    regs_d = regs_q;

    for (int unsigned c = 0; c < 8; c++) begin
      if (pfc_valid_i && pfc_classes_i[c]) begin
        regs_d.paused[c] = pfc_quanta_i[16*c+:16] != '0;
        regs_d.left[c]   = time_t'(pfc_quanta_i[16*c+:16]) * QUANTUM_UNITS + delay;
      end else if (regs_q.paused[c]) begin
        regs_d.paused[c] = regs_q.left[c] > time_t'(cfg_wire_rate_i);
        regs_d.left[c]   = regs_q.left[c] - time_t'(cfg_wire_rate_i);
      end
    end
  end

  //////////////
  // Contract //
  //////////////

  // Nobody pauses a class but a frame that names it.
  for (genvar c = 0; c < 8; c++) begin : gen_named
    `ASSERT(Named_A, !paused_o[c] && !(pfc_valid_i && pfc_classes_i[c]) |=> !paused_o[c])
  end

endmodule
