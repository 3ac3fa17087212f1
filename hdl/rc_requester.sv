// Requester of a reliable connection: blocks, memories and the wires between them; no logic.
//
// Twin of rtl-model/src/rc_requester.rs. One connection; S002 and docs/rc.md.

module rc_requester
  import nic_pkg::*;
  import rc_pkg::*;
#(
  parameter int unsigned WQES    = 64,
  parameter int unsigned PACKETS = 256,
  parameter int unsigned READS   = 16
) (
  input logic clk_i,
  input logic rst_ni,

  // The connection, from the host
  input logic        open_i,
  input psn_t        cfg_psn_i,
  input psn_t        cfg_msn_i,
  input mtu_t        cfg_mtu_i,
  input logic [ 2:0] cfg_retries_i,
  input logic [ 4:0] cfg_depth_i,
  input logic [31:0] cfg_timeout_i,

  // Work requests, from the host
  input  logic    post_valid_i,
  output logic    post_ready_o,
  input  rc_wqe_t post_i,

  // Completion entries, to the host
  output logic    cqe_valid_o,
  input  logic    cqe_ready_i,
  output rc_cqe_t cqe_o,

  // Requests, to the wire
  output logic               tx_valid_o,
  input  logic               tx_ready_i,
  output rc_request_t        tx_o,
  output logic        [63:0] tx_laddr_o,

  // Responses, from the wire
  input logic         rx_valid_i,
  input rc_response_t rx_i,

  // Payloads of responses, to host memory
  output logic        place_valid_o,
  output logic [63:0] place_addr_o
);

  logic issued, done_valid, freed, fail_valid, wqe_we, wqe_re, entry_we, entry_re;
  wqe_index_t done_wqe;
  rc_status_e fail_status;
  logic [31:0] wqe_waddr, wqe_raddr, entry_waddr, entry_raddr;
  rc_wqe_t wqe_wdata, wqe_rdata;
  rc_entry_t entry_wdata, entry_rdata;

  // Events and levels for the records end here, where the check reads them.
  logic retired_valid, stall_cqe, loss_valid, stray, stall_full, stall_depth, empty;
  rc_cqe_t  retired;
  rc_loss_e loss;

  wqe_retire #(
      .WQES(WQES)
  ) u_retire (
      .clk_i,
      .rst_ni,
      .open_i,
      .cfg_msn_i,
      .post_valid_i,
      .post_ready_o,
      .post_i,
      .wqe_we_o       (wqe_we),
      .wqe_waddr_o    (wqe_waddr),
      .wqe_wdata_o    (wqe_wdata),
      .rx_valid_i,
      .rx_i,
      .issued_o       (issued),
      .done_valid_i   (done_valid),
      .done_wqe_i     (done_wqe),
      .freed_i        (freed),
      .fail_valid_i   (fail_valid),
      .fail_status_i  (fail_status),
      .cqe_valid_o,
      .cqe_ready_i,
      .cqe_o,
      .retired_valid_o(retired_valid),
      .retired_o      (retired),
      .stall_cqe_o    (stall_cqe)
  );

  rc_replay #(
      .WQES   (WQES),
      .PACKETS(PACKETS),
      .READS  (READS)
  ) u_replay (
      .clk_i,
      .rst_ni,
      .open_i,
      .cfg_psn_i,
      .cfg_mtu_i,
      .cfg_retries_i,
      .cfg_depth_i,
      .cfg_timeout_i,
      .issued_i     (issued),
      .done_valid_o (done_valid),
      .done_wqe_o   (done_wqe),
      .freed_o      (freed),
      .fail_valid_o (fail_valid),
      .fail_status_o(fail_status),
      .wqe_re_o     (wqe_re),
      .wqe_raddr_o  (wqe_raddr),
      .wqe_rdata_i  (wqe_rdata),
      .entry_we_o   (entry_we),
      .entry_waddr_o(entry_waddr),
      .entry_wdata_o(entry_wdata),
      .entry_re_o   (entry_re),
      .entry_raddr_o(entry_raddr),
      .entry_rdata_i(entry_rdata),
      .tx_valid_o,
      .tx_ready_i,
      .tx_o,
      .tx_laddr_o,
      .rx_valid_i,
      .rx_i,
      .place_valid_o,
      .place_addr_o,
      .loss_valid_o (loss_valid),
      .loss_o       (loss),
      .stray_o      (stray),
      .stall_full_o (stall_full),
      .stall_depth_o(stall_depth),
      .empty_o      (empty)
  );

  ram_1r1w #(
      .WIDTH($bits(rc_wqe_t)),
      .DEPTH(WQES)
  ) u_wqes (
      .clk_i,
      .we_i   (wqe_we),
      .waddr_i(wqe_waddr),
      .wdata_i(wqe_wdata),
      .re_i   (wqe_re),
      .raddr_i(wqe_raddr),
      .rdata_o(wqe_rdata)
  );

  ram_1r1w #(
      .WIDTH($bits(rc_entry_t)),
      .DEPTH(PACKETS)
  ) u_entries (
      .clk_i,
      .we_i   (entry_we),
      .waddr_i(entry_waddr),
      .wdata_i(entry_wdata),
      .re_i   (entry_re),
      .raddr_i(entry_raddr),
      .rdata_o(entry_rdata)
  );

endmodule
