// What pcie_room promises, proved for every input that keeps its contract (PCI-4). Each assertion is
// a step of an induction.
//
// The host takes room as a beat comes, gives it back as it is told, and sends nothing without room;
// nothing leaves that has not come. The sizes may be any up to 16 KiB of headers and 256 KiB of
// payload, and stand still. The bound of a promise is the induction's: every clock of every run.

module pcie_room_prove
  import nic_pkg::*;
#(
  parameter int unsigned PART = 0
) (
  input logic         clk_i,
  input logic         rst_ni,
  input bytes_t       hdr_buf_i,
  input bytes_t       data_buf_i,
  input logic         in_valid_i,
  input logic         in_sop_i,
  input logic   [7:0] in_dws_i,
  input logic         out_valid_i,
  input logic         out_ready_i,
  input logic         out_sop_i,
  input logic   [7:0] out_dws_i
);

  logic       freed_valid;
  logic       freed_hdr;
  logic [3:0] freed_data;
  logic       over_valid;

  pcie_room dut (
      .clk_i,
      .rst_ni,
      .cfg_rx_hdr_buf_i(hdr_buf_i),
      .cfg_rx_data_buf_i(data_buf_i),
      .in_valid_i,
      .in_ready_i(1'b1),
      .in_sop_i,
      .in_dws_i,
      .out_valid_i,
      .out_ready_i,
      .out_sop_i,
      .out_dws_i,
      .freed_valid_o(freed_valid),
      .freed_hdr_o(freed_hdr),
      .freed_data_o(freed_data),
      .over_valid_o(over_valid)
  );

  // The sizes as they were in the clock before, and a reset to begin with.
  logic   runs;
  logic   past;
  bytes_t hdr_buf_q;
  bytes_t data_buf_q;
  initial runs = 1'b0;
  always_ff @(posedge clk_i) begin
    runs       <= 1'b1;
    past       <= rst_ni;
    hdr_buf_q  <= hdr_buf_i;
    data_buf_q <= data_buf_i;
  end

  // What stands in the buffer, and what the host believes does, in units of 16 B.
  function automatic logic [15:0] units_of(logic [7:0] dws);
    return 16'(dws[7:2]) + 16'(dws[1:0] != '0);
  endfunction

  logic        goes;
  logic [15:0] there_hdr;
  logic [15:0] there_data;
  logic [15:0] host_hdr;
  logic [15:0] host_data;
  assign goes = out_valid_i && out_ready_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      there_hdr  <= '0;
      there_data <= '0;
      host_hdr   <= '0;
      host_data  <= '0;
    end else begin
      there_hdr <= there_hdr + 16'(in_valid_i && in_sop_i) - 16'(goes && out_sop_i);
      there_data <= there_data + (in_valid_i ? units_of(
          in_dws_i
      ) : '0) - (goes ? units_of(
          out_dws_i
      ) : '0);
      host_hdr <= host_hdr + 16'(in_valid_i && in_sop_i) - 16'(freed_valid && freed_hdr);
      host_data <= host_data + (in_valid_i ? units_of(
          in_dws_i
      ) : '0) - (freed_valid ? 16'(freed_data) : '0);
    end
  end

  always_comb begin
    if (past) begin
      assume (hdr_buf_q == hdr_buf_i && data_buf_q == data_buf_i);
    end
    assume (runs || !rst_ni);
    assume (hdr_buf_i <= 32'd16384 && data_buf_i <= 32'd262144);
    assume (in_dws_i <= 8'd32 && out_dws_i <= 8'd32);
    assume (!in_valid_i || host_hdr + 16'(in_sop_i) <= 16'(hdr_buf_i >> 4));
    assume (!in_valid_i || host_data + units_of(in_dws_i) <= 16'(data_buf_i >> 4));
    assume (!goes || (16'(out_sop_i) <= there_hdr && units_of(out_dws_i) <= there_data));
  end

  always_comb begin
    if (rst_ni) begin
      never_below_headers : assert (!dut.regs_q.hdr_used[12]);
      never_below_payload : assert (!dut.regs_q.data_used[15]);
      never_above_headers : assert (16'(dut.regs_q.hdr_used) <= 16'(hdr_buf_i >> 4));
      never_above_payload : assert (dut.regs_q.data_used <= 16'(data_buf_i >> 4));
      conserved_headers : assert (16'(dut.regs_q.hdr_used) == there_hdr);
      conserved_payload : assert (dut.regs_q.data_used == there_data);
      told_headers : assert (host_hdr == there_hdr + 16'(freed_valid && freed_hdr));
      told_payload : assert (host_data == there_data + (freed_valid ? 16'(freed_data) : '0));
      no_overrun : assert (!over_valid);
    end
  end

endmodule
