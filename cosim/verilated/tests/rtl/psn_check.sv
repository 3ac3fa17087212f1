// Responder PSN check: sorts each request packet into expected, duplicate or gap.
//
// An example for the tests of the binding. Latency 1 clock, throughput 1 packet per clock.
// IBTA Vol 1, 9.7: PSNs count modulo 2^24; the 2^23 values behind the expected one are duplicates.

`include "assert.svh"

module psn_check
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Requests, from bth_parse
  input  logic req_valid_i,
  output logic req_ready_o,
  input  psn_t req_psn_i,

  // Verdicts, to ack_gen
  output logic     verdict_valid_o,
  input  logic     verdict_ready_i,
  output verdict_e verdict_o
);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    psn_t     expected_psn;  // the next PSN in order
    logic     valid;         // `verdict` waits for ack_gen
    verdict_e verdict;
  } regs_t;

  localparam regs_t RESET = '{expected_psn: '0, valid: 1'b0, verdict: Expected};

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

  assign req_ready_o     = verdict_ready_i || !regs_q.valid;
  assign verdict_valid_o = regs_q.valid;
  assign verdict_o       = regs_q.verdict;

  ////////////////
  // Next state //
  ////////////////

  psn_t ahead;  // how far the packet runs ahead; the top bit set means behind
  assign ahead = req_psn_i - regs_q.expected_psn;

  always_comb begin
    regs_d = regs_q;

    if (req_ready_o) begin
      regs_d.valid = req_valid_i;
    end

    if (req_valid_i && req_ready_o) begin
      if (ahead == '0) begin
        regs_d.verdict      = Expected;
        regs_d.expected_psn = regs_q.expected_psn + 24'd1;
      end else if (ahead[PSN_BITS-1]) begin
        regs_d.verdict = Duplicate;
      end else begin
        regs_d.verdict = Gap;
      end
    end
  end

  //////////////
  // Contract //
  //////////////

  // A verdict that ack_gen does not take stays as it is.
  `ASSERT(VerdictWaits_A, verdict_valid_o && !verdict_ready_i |=> verdict_valid_o)
  `ASSERT(VerdictStable_A, verdict_valid_o && !verdict_ready_i |=> $stable(verdict_o))

endmodule
