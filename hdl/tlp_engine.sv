// Builds the TLPs that the NIC sends: headers of reads, of payload writes and of CQE writes.
//
// Twin of rtl-model/src/tlp_engine.rs. Latency 1 clock, throughput 1 word of 64 B a clock; a read
// and a CQE write take one clock each. The readys pass through from tx_ready_i.
// PCI-2, PCI-3, PCI-5, section 13: a header lies beside the data, DW0 in bits 31:0, DW3 zero in the
// 3-DW form, which addresses below 4 GiB take. A write has tag 0. The cost is the time on the link:
// a read cfg_read_request_i + cfg_pcie_overhead_i whatever it reads, a write its payload and the
// overhead, a CQE write 32 B and the overhead with cfg_cqe_on_link_i and else 0.
//
// TLPs never interleave. When a read and a write both wait, they alternate, a read first; a clock
// in which nothing waits forgets whose turn it was. A CQE write goes before a payload write that
// has not begun, and in its turn. A write whose payload does not fit into the tx_free_i units of
// the transmit buffer leaves its turn to the reads, which need no room for payload (PCI-4): so no
// read stands behind a write that waits.
//
// Borders: 1 DW and 2 DWs, offsets 0 to 3 (case 25); 1,024 DWs, whose length field is 0 (case 3);
// 4 GiB; a write of 1 word, of several, of 129 DWs; all three sources waiting at once.
// The address of a CQE is on a DW; bits 1:0 of it are taken as zero.

`include "assert.svh"

module tlp_engine
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Levels, from csr
  input logic [15:0] cfg_rid_i,
  input logic        cfg_cqe_on_link_i,
  input logic [ 7:0] cfg_pcie_overhead_i,
  input logic [ 9:0] cfg_read_request_i,

  // Reads, from payload_fetch
  input  logic        rd_valid_i,
  output logic        rd_ready_o,
  input  logic [63:0] rd_addr_i,
  input  logic [12:0] rd_len_i,    // 1 to 4,096 B, within a page of 4 KiB
  input  tag_t        rd_tag_i,

  // Payload writes, from payload_write: byte 0 of the first word is that of the first DW
  input  logic         wr_valid_i,
  output logic         wr_ready_o,
  input  logic         wr_first_i,
  input  logic         wr_last_i,
  input  logic  [63:0] wr_addr_i,
  input  logic  [ 9:0] wr_len_i,    // 1 to 512 B
  input  word_t        wr_data_i,

  // CQE writes, from completion
  input  logic         cqe_valid_i,
  output logic         cqe_ready_o,
  input  logic [ 63:0] cqe_addr_i,
  input  logic [255:0] cqe_data_i,

  // TLPs, to pcie_link
  output logic          tx_valid_o,
  input  logic          tx_ready_i,
  output logic          tx_first_o,
  output logic          tx_last_o,
  output logic  [  1:0] tx_kind_o,   // 0 read, 1 payload write, 2 CQE write
  output logic  [127:0] tx_hdr_o,
  output logic  [  9:0] tx_dws_o,    // payload DWs
  output logic  [ 12:0] tx_cost_o,   // bytes of time on the link
  output word_t         tx_data_o,
  input  logic  [ 27:0] tx_free_i    // units of 16 B for payload, before the word that waits
);

  // Bytes of a completion entry.
  localparam logic [12:0] CQE_BYTES = 13'd32;

  localparam logic [1:0] READ = 2'd0;
  localparam logic [1:0] WRITE = 2'd1;
  localparam logic [1:0] CQE = 2'd2;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic         valid;      // a word waits for pcie_link
    logic         first;
    logic         last;
    logic [1:0]   kind;
    logic [127:0] hdr;
    logic [9:0]   dws;
    logic [12:0]  cost;
    word_t        data;       // zero in a read
    logic         open;       // a payload write has begun and not ended
    logic         read_last;  // the last TLP begun was a read
  } regs_t;

  localparam regs_t RESET = '{
      valid: 1'b0,
      first: 1'b0,
      last: 1'b0,
      kind: READ,
      hdr: '0,
      dws: '0,
      cost: '0,
      data: '0,
      open: 1'b0,
      read_last: 1'b0
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

  // DWs that `len` bytes from `addr` touch, up to 1,024.
  function automatic logic [10:0] dws_of(logic [1:0] offset, logic [12:0] len);
    return 11'((13'(offset) + len + 13'd3) >> 2);
  endfunction

  logic free;  // the output register takes a word in this clock
  logic start;  // and a TLP may begin
  logic write_turn;  // if a write waits, a read does not go before it
  logic read_turn;
  logic [6:0] pending;  // units of the word that waits, if it is the first of its TLP
  logic [10:0] wr_dws;  // of the write that waits
  logic [27:0] room;  // units that are free behind it
  logic cqe_fits;  // a CQE waits, and fits
  logic wr_fits;
  assign free = tx_ready_i || !regs_q.valid;
  assign start = free && !regs_q.open;
  assign pending = regs_q.valid && regs_q.first ? 7'((regs_q.dws + 10'd3) >> 2) : 7'd0;
  assign room = tx_free_i > 28'(pending) ? tx_free_i - 28'(pending) : '0;
  assign cqe_fits = cqe_valid_i && room >= 28'(CQE_BYTES[12:4]);
  assign wr_dws = dws_of(wr_addr_i[1:0], 13'(wr_len_i));
  assign wr_fits = wr_valid_i && !cqe_valid_i && room >= (28'(wr_dws) + 28'd3) >> 2;
  assign write_turn = !rd_valid_i || regs_q.read_last;
  assign read_turn = !(wr_fits || cqe_fits) || !regs_q.read_last;

  assign rd_ready_o = start && read_turn;
  assign cqe_ready_o = start && write_turn && cqe_fits;
  assign wr_ready_o = free && (regs_q.open || write_turn && wr_fits);

  assign tx_valid_o = regs_q.valid;
  assign tx_first_o = regs_q.first;
  assign tx_last_o = regs_q.last;
  assign tx_kind_o = regs_q.kind;
  assign tx_hdr_o = regs_q.hdr;
  assign tx_dws_o = regs_q.dws;
  assign tx_cost_o = regs_q.cost;
  assign tx_data_o = regs_q.data;

  ////////////////
  // Next state //
  ////////////////

  function automatic logic [127:0] header(logic write, logic [63:0] addr, logic [12:0] len,
                                          tag_t tag, logic [15:0] rid);
    logic [10:0] dws = dws_of(addr[1:0], len);
    logic        far = addr[63:32] != '0;
    logic [ 1:0] final_byte = addr[1:0] + len[1:0] - 2'd1;  // of the last DW
    logic [ 3:0] first_be = 4'hf << addr[1:0];
    logic [ 3:0] last_be = 4'hf >> (2'd3 - final_byte);
    logic [31:0] low = {addr[31:2], 2'b00};
    logic [31:0] dw0 = {1'b0, write, far, 19'd0, dws[9:0]};
    if (dws == 11'd1) begin
      first_be &= last_be;
      last_be = '0;
    end
    return {far ? {low, addr[63:32]} : {32'd0, low}, rid, tag, last_be, first_be, dw0};
  endfunction

  always_comb begin
    regs_d = regs_q;

    if (free) begin
      regs_d.valid = 1'b0;
    end
    if (!rd_valid_i && !wr_valid_i && !cqe_valid_i && !regs_q.open) begin
      regs_d.read_last = 1'b0;
    end

    if (rd_valid_i && rd_ready_o) begin
      regs_d.valid     = 1'b1;
      regs_d.first     = 1'b1;
      regs_d.last      = 1'b1;
      regs_d.kind      = READ;
      regs_d.hdr       = header(1'b0, rd_addr_i, rd_len_i, rd_tag_i, cfg_rid_i);
      regs_d.dws       = '0;
      regs_d.cost      = 13'(cfg_read_request_i) + 13'(cfg_pcie_overhead_i);
      regs_d.data      = '0;
      regs_d.read_last = 1'b1;
    end

    if (cqe_valid_i && cqe_ready_o) begin
      regs_d.valid     = 1'b1;
      regs_d.first     = 1'b1;
      regs_d.last      = 1'b1;
      regs_d.kind      = CQE;
      regs_d.hdr       = header(1'b1, {cqe_addr_i[63:2], 2'b00}, CQE_BYTES, '0, cfg_rid_i);
      regs_d.dws       = CQE_BYTES[11:2];
      regs_d.cost      = cfg_cqe_on_link_i ? CQE_BYTES + 13'(cfg_pcie_overhead_i) : '0;
      regs_d.data      = {256'd0, cqe_data_i};
      regs_d.read_last = 1'b0;
    end

    if (wr_valid_i && wr_ready_o) begin
      regs_d.valid = 1'b1;
      regs_d.first = wr_first_i;
      regs_d.last  = wr_last_i;
      regs_d.kind  = WRITE;
      regs_d.data  = wr_data_i;
      regs_d.open  = !wr_last_i;
      if (wr_first_i) begin
        regs_d.hdr       = header(1'b1, wr_addr_i, 13'(wr_len_i), '0, cfg_rid_i);
        regs_d.dws       = 10'(dws_of(wr_addr_i[1:0], 13'(wr_len_i)));
        regs_d.cost      = 13'(wr_len_i) + 13'(cfg_pcie_overhead_i);
        regs_d.read_last = 1'b0;
      end
    end
  end

  // The address of a CQE is on a DW.
  logic unused;
  assign unused = &{1'b0, cqe_addr_i[1:0]};

  //////////////
  // Contract //
  //////////////

  // A word that pcie_link does not take waits, and stays as it is.
  `ASSERT(TxWaits_A, tx_valid_o && !tx_ready_i |=> tx_valid_o)
  `ASSERT(TxStable_A, tx_valid_o && !tx_ready_i |=> $stable({tx_first_o, tx_last_o, tx_kind_o,
                                                             tx_hdr_o, tx_dws_o, tx_cost_o,
                                                             tx_data_o}))
  // One source a clock.
  `ASSERT(OneSource_A, $onehot0({rd_valid_i && rd_ready_o, wr_valid_i && wr_ready_o,
                                 cqe_valid_i && cqe_ready_o}))
  // Nothing comes between the words of a TLP.
  `ASSERT(Whole_A, regs_q.open |-> !rd_ready_o && !cqe_ready_o)

endmodule
