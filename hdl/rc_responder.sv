// Responder of a reliable connection: its block and its ports; no logic.
//
// Twin of rtl-model/src/rc_responder.rs. One connection; S002 and docs/rc.md.

module rc_responder
  import nic_pkg::*;
  import rc_pkg::*;
#(
  parameter int unsigned READS = 16
) (
  input logic clk_i,
  input logic rst_ni,

  // The connection, from the host
  input logic       open_i,
  input psn_t       cfg_psn_i,
  input psn_t       cfg_msn_i,
  input mtu_t       cfg_mtu_i,
  input logic       cfg_early_i,
  input logic [7:0] cfg_coalesce_i,

  // Requests, from the wire
  input  logic        req_valid_i,
  output logic        req_ready_o,
  input  rc_request_t req_i,

  // Payloads of requests, to host memory
  output logic        deliver_valid_o,
  output logic        deliver_send_o,
  output logic        deliver_last_o,
  output logic [63:0] deliver_addr_o,

  // Atomic operations, to host memory
  output logic        atomic_valid_o,
  input  logic        atomic_ready_i,
  output logic        atomic_add_o,
  output logic [63:0] atomic_addr_o,
  output logic [63:0] atomic_operand_o,
  output logic [63:0] atomic_compare_o,
  input  logic        result_valid_i,
  input  logic [63:0] result_i,

  // Answers, to the wire
  output logic                rsp_valid_o,
  input  logic                rsp_ready_i,
  output rc_response_t        rsp_o,
  output logic         [63:0] rsp_addr_o
);

  // Events for the records end here, where the check reads them.
  logic dup_valid, drop_valid, stall_rsp;
  rc_op_e   dup_op;
  rc_drop_e drop;

  msn_respond #(
      .READS(READS)
  ) u_respond (
      .clk_i,
      .rst_ni,
      .open_i,
      .cfg_psn_i,
      .cfg_msn_i,
      .cfg_mtu_i,
      .cfg_early_i,
      .cfg_coalesce_i,
      .req_valid_i,
      .req_ready_o,
      .req_i,
      .deliver_valid_o,
      .deliver_send_o,
      .deliver_last_o,
      .deliver_addr_o,
      .atomic_valid_o,
      .atomic_ready_i,
      .atomic_add_o,
      .atomic_addr_o,
      .atomic_operand_o,
      .atomic_compare_o,
      .result_valid_i,
      .result_i,
      .rsp_valid_o,
      .rsp_ready_i,
      .rsp_o,
      .rsp_addr_o,
      .dup_valid_o (dup_valid),
      .dup_op_o    (dup_op),
      .drop_valid_o(drop_valid),
      .drop_o      (drop),
      .stall_rsp_o (stall_rsp)
  );

endmodule
