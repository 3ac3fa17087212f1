// What pcie_link promises of its buffers, proved for every input that keeps its contract (PCI-4).
// Each assertion is a step of an induction; those named `lemma` only help others.
//
// The queues around it give nothing that they were not given: the oldest read and write are among
// those taken and not begun. A read has no payload, a completion entry off the link 32 B, no TLP more
// than 255 DWs. The host gives back any room, and what was not taken is passed over. The sizes may
// be any up to 16 KiB of headers and 256 KiB of payload, and stand still. The bound of a promise is
// the induction's: every clock of every run.

module pcie_link_prove
  import nic_pkg::*;
#(
  parameter int unsigned PART = 0
) (
  input logic          clk_i,
  input logic          rst_ni,
  input rate_t         rate_i,
  input bytes_t        hdr_buf_i,
  input bytes_t        data_buf_i,
  input bytes_t        far_hdr_buf_i,
  input bytes_t        far_data_buf_i,
  input logic          tx_valid_i,
  input logic          tx_first_i,
  input logic          tx_last_i,
  input logic   [ 1:0] tx_kind_i,
  input logic   [ 7:0] tx_dws_i,
  input logic   [12:0] tx_cost_i,
  input logic   [ 2:0] push_ready_i,
  input logic          rhead_valid_i,
  input logic          whead_valid_i,
  input logic   [ 7:0] whead_dws_i,
  input logic   [12:0] head_cost_i,
  input logic          chead_valid_i,
  input logic   [15:0] chead_after_i,
  input logic          room_valid_i,
  input logic   [15:0] room_hdr_i,
  input logic   [15:0] room_data_i
);

  localparam logic [1:0] READ = 2'd0;
  localparam logic [1:0] WRITE = 2'd1;
  localparam logic [1:0] CQE = 2'd2;

  logic tx_ready;
  logic rhead_ready;
  logic whead_ready;
  logic chead_ready;

  pcie_link dut (
      .clk_i,
      .rst_ni,
      .cfg_pcie_rate_i(rate_i),
      .cfg_tx_hdr_buf_i(hdr_buf_i),
      .cfg_tx_data_buf_i(data_buf_i),
      .cfg_far_hdr_buf_i(far_hdr_buf_i),
      .cfg_far_data_buf_i(far_data_buf_i),
      .tx_valid_i,
      .tx_ready_o(tx_ready),
      .tx_first_i,
      .tx_last_i,
      .tx_kind_i,
      .tx_hdr_i('0),
      .tx_dws_i({2'd0, tx_dws_i}),
      .tx_cost_i,
      .tx_data_i('0),
      .tx_free_o(),
      .buf_we_o(),
      .buf_waddr_o(),
      .buf_wdata_o(),
      .buf_re_o(),
      .buf_raddr_o(),
      .buf_rdata_i('0),
      .rpush_valid_o(),
      .rpush_ready_i(push_ready_i[0]),
      .rpush_o(),
      .rhead_valid_i,
      .rhead_ready_o(rhead_ready),
      .rhead_i({READ, 8'd0, head_cost_i, 128'd0}),
      .wpush_valid_o(),
      .wpush_ready_i(push_ready_i[1]),
      .wpush_o(),
      .whead_valid_i,
      .whead_ready_o(whead_ready),
      .whead_i({WRITE, whead_dws_i, head_cost_i, 128'd0}),
      .cpush_valid_o(),
      .cpush_ready_i(push_ready_i[2]),
      .cpush_o(),
      .chead_valid_i,
      .chead_ready_o(chead_ready),
      .chead_i({chead_after_i, 384'd0}),
      .room_valid_i,
      .room_hdr_i,
      .room_data_i,
      .tlp_valid_o(),
      .tlp_sop_o(),
      .tlp_eop_o(),
      .tlp_hdr_o(),
      .tlp_dws_o(),
      .tlp_data_o(),
      .tlp_back_o(),
      .sent_valid_o(),
      .sent_kind_o(),
      .cqe_valid_o(),
      .cqe_hdr_o(),
      .cqe_data_o()
  );

  // The sizes as they were in the clock before, and a reset to begin with.
  logic         runs;
  logic         past;
  logic [127:0] sizes;
  logic [127:0] sizes_q;
  assign sizes = {hdr_buf_i, data_buf_i, far_hdr_buf_i, far_data_buf_i};
  initial runs = 1'b0;
  always_ff @(posedge clk_i) begin
    runs    <= 1'b1;
    past    <= rst_ni;
    sizes_q <= sizes;
  end

  // Bytes that so many DWs take, a multiple of 16.
  function automatic bytes_t room_of(logic [7:0] dws);
    return (bytes_t'(dws[7:2]) + bytes_t'(dws[1:0] != '0)) << 4;
  endfunction

  // TLPs taken that have neither begun nor, off the link, gone; and the payload of those.
  logic          off_link;
  logic          takes;
  logic          leaves;
  logic   [11:0] waits;
  bytes_t        payload;
  assign off_link = tx_kind_i == CQE && tx_cost_i == '0;
  assign takes    = tx_valid_i && tx_ready && tx_first_i;
  assign leaves   = (rhead_valid_i && rhead_ready) || (whead_valid_i && whead_ready);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits   <= '0;
      payload <= '0;
    end else begin
      waits <= waits + 12'(takes) - 12'(leaves) - 12'(chead_valid_i && chead_ready);
      payload <= payload + (takes ? room_of(
          tx_dws_i
      ) : '0) - (whead_valid_i && whead_ready ? room_of(
          whead_dws_i
      ) : '0) - (chead_valid_i && chead_ready ? bytes_t'(32) : '0);
    end
  end

  // What the queues give in this clock.
  bytes_t given;
  assign given = (whead_valid_i ? room_of(whead_dws_i) : '0) + (chead_valid_i ? bytes_t'(32) : '0);

  // What has begun less the room that the host gave back, in units of 16 B.
  logic [27:0] far_hdr;
  logic [27:0] far_data;
  logic [27:0] freed_hdr;
  logic [27:0] freed_data;
  logic [27:0] begun;
  assign begun      = 28'(room_of(whead_dws_i) >> 4);
  assign freed_hdr  = room_valid_i ? 28'(room_hdr_i) : '0;
  assign freed_data = room_valid_i ? 28'(room_data_i) : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      far_hdr  <= '0;
      far_data <= '0;
    end else begin
      far_hdr <= (freed_hdr < far_hdr ? far_hdr - freed_hdr : '0) + 28'(leaves);
      far_data <= (freed_data < far_data ? far_data - freed_data : '0)
          + (whead_valid_i && whead_ready ? begun : '0);
    end
  end

  always_comb begin
    if (past) begin
      assume (sizes_q == sizes);
    end
    assume (runs || !rst_ni);
    assume (hdr_buf_i <= 32'd16384 && data_buf_i <= 32'd262144);
    assume (far_hdr_buf_i <= 32'd16384 && far_data_buf_i <= 32'd262144);
    assume (tx_kind_i != READ || tx_dws_i == '0);
    assume (!off_link || tx_dws_i == 8'd8);
    assume (12'(rhead_valid_i || whead_valid_i) + 12'(chead_valid_i) <= waits);
    assume (given <= payload);
  end

  bytes_t sent;
  assign sent = dut.regs_q.busy ? room_of(dut.regs_q.tlp[148:141]) : '0;

  always_comb begin
    if (rst_ni) begin
      never_below_headers : assert (dut.regs_q.held <= 11'd1024);
      never_below_payload : assert (!dut.regs_q.data_used[31]);
      never_above_headers : assert ({17'd0, dut.regs_q.held, 4'd0} <= hdr_buf_i);
      never_above_payload : assert (dut.regs_q.data_used <= data_buf_i);
      conserved_headers : assert (12'(dut.regs_q.held) == waits + 12'(dut.regs_q.busy));
      conserved_payload : assert (dut.regs_q.data_used == payload + sent);
      lemma_waits : assert (waits <= 12'd1024);
      lemma_payload : assert (payload <= data_buf_i);
      never_below_far_headers : assert (!dut.regs_q.far_hdr[27]);
      never_below_far_payload : assert (!dut.regs_q.far_data[27]);
      conserved_far_headers : assert (dut.regs_q.far_hdr == far_hdr);
      conserved_far_payload : assert (dut.regs_q.far_data == far_data);
      never_above_far_headers : assert (dut.regs_q.far_hdr <= far_hdr_buf_i[31:4]);
      never_above_far_payload : assert (dut.regs_q.far_data <= far_data_buf_i[31:4]);
    end
  end

endmodule
