// Control registers: holds what the host configures and drives it to the blocks as levels.
//
// Twin of rtl-model/src/csr.rs. Latency 1 clock from a write to its level, throughput 1 write a
// clock. docs/host-interface.md lists the registers, their limits and reset values.
//
// Borders: no such index, a bit that no field has, mss 0, 1, 8,192 and 8,193, range 0, a rate of
// 0, a cq_base off its boundary, the first destination that the build lacks: refused whole, one
// bad_write event. A range above PSNS is stored as PSNS.
//
// It is longer than a module should be: a register is a line in five places.

`include "assert.svh"

module csr
  import nic_pkg::*;
  import host_pkg::*;
#(
  parameter int unsigned PSNS  = 1024,
  parameter int unsigned DESTS = 64
) (
  input logic clk_i,
  input logic rst_ni,

  // Writes, from doorbell
  input  logic        wr_valid_i,
  input  logic [ 8:0] wr_index_i,
  input  logic [63:0] wr_data_i,
  output logic        bad_write_o,

  // Levels, to every block that wants them
  output len_t            cfg_mss_o,
  output logic   [  10:0] cfg_range_o,
  output psn_t            cfg_initial_psn_o,
  output rate_t           cfg_wire_rate_o,
  output rate_t           cfg_pcie_rate_o,
  output logic   [  31:0] cfg_own_ip_o,
  output logic   [  47:0] cfg_own_mac_o,
  output logic   [  47:0] cfg_hop_mac_o,
  output logic   [  63:0] cfg_cq_base_o,
  output logic   [   4:0] cfg_cq_log2_o,
  output bytes_t          cfg_init_window_o,
  output len_t            cfg_unit_o,
  output logic            cfg_groups_o,
  output logic            cfg_trimming_o,
  output logic            cfg_distinct_rtx_o,
  output logic            cfg_cqe_on_link_o,
  output logic   [   1:0] cfg_sched_o,
  output logic   [   1:0] cfg_ecn_o,
  output logic   [   5:0] cfg_dscp0_o,
  output logic   [   5:0] cfg_dscp1_o,
  output logic   [   5:0] cfg_dscp2_o,
  output logic   [   5:0] cfg_dscp3_o,
  output logic   [   5:0] cfg_dscp4_o,
  output logic   [   5:0] cfg_dscp5_o,
  output bytes_t          cfg_tx_hdr_buf_o,
  output bytes_t          cfg_tx_data_buf_o,
  output logic   [   6:0] cfg_data_hdr_o,
  output logic   [   6:0] cfg_wire_overhead_o,
  output logic   [   6:0] cfg_nominal_overhead_o,
  output logic   [   4:0] cfg_charge_less_o,
  output logic   [   4:0] cfg_ack_extra_o,
  output logic   [  63:0] cfg_weights_o,
  output logic   [  15:0] cfg_rid_o,
  output logic   [   7:0] cfg_ttl_o,
  output logic   [  10:0] cfg_loss_o,
  output bytes_t          cfg_rx_hdr_buf_o,
  output bytes_t          cfg_rx_data_buf_o,
  output bytes_t          cfg_far_hdr_buf_o,
  output bytes_t          cfg_far_data_buf_o,
  output logic   [   7:0] cfg_pcie_overhead_o,
  output logic   [   9:0] cfg_read_request_o,
  output logic   [   1:0] cfg_max_payload_o,
  output logic            cfg_icrc_o,
  output logic            cfg_stamps_o,
  output logic   [  63:0] cfg_timeout_o,
  output logic   [   2:0] cfg_linear_o,
  output logic   [   4:0] cfg_expo_o,
  output logic            cfg_fixed_o,
  output logic   [  63:0] cfg_peer_valid_o,
  output logic   [2047:0] cfg_peer_ip_o,
  output logic   [ 255:0] cfg_egress_pool_o,
  output logic   [ 255:0] cfg_ingress_pool_o,
  output logic   [ 255:0] cfg_xoff_o,
  output logic   [ 255:0] cfg_xon_o,
  output logic   [ 127:0] cfg_quanta_o,
  output logic   [   7:0] cfg_pfc_enable_o,
  output logic   [  23:0] cfg_pfc_delay_o,
  output bytes_t          cfg_penalty_low_o,
  output bytes_t          cfg_penalty_high_o,
  output logic            cfg_ack_hold_o,
  output bytes_t          cfg_prefetch_o,
  output logic            cfg_prefetch_on_o
);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic          bad_write;     // the last write was refused
    len_t          mss;
    logic [10:0]   range;
    psn_t          initial_psn;
    rate_t         wire_rate;
    rate_t         pcie_rate;
    logic [31:0]   own_ip;
    logic [47:0]   own_mac;
    logic [47:0]   hop_mac;
    logic [63:0]   cq_base;
    logic [4:0]    cq_log2;
    bytes_t        init_window;
    len_t          unit;
    logic [7:0]    flags;         // ecn, sched, cqe_on_link, distinct_rtx, trimming, groups
    logic [45:0]   dscp;
    bytes_t        tx_hdr_buf;
    bytes_t        tx_data_buf;
    logic [36:0]   overheads;
    logic [15:0]   rid;
    logic [7:0]    ttl;
    logic [63:0]   weights;
    logic [10:0]   loss;
    bytes_t        rx_hdr_buf;
    bytes_t        rx_data_buf;
    bytes_t        far_hdr_buf;
    bytes_t        far_data_buf;
    logic [25:0]   pcie_costs;
    logic [1:0]    max_payload;
    logic          icrc;
    logic          stamps;
    logic [63:0]   ack_timeout;
    logic [16:0]   retry;         // fixed, expo, linear
    logic [63:0]   peer_valid;
    logic [2047:0] peer_ip;
    logic [255:0]  egress_pool;   // of eight classes, class 0 lowest
    logic [255:0]  ingress_pool;
    logic [255:0]  xoff;
    logic [255:0]  xon;
    logic [127:0]  quanta;
    logic [31:0]   pfc;           // delay, enable
    logic [63:0]   penalty;       // high, low
    logic          ack_hold;
    logic [32:0]   prefetch;      // on, bytes
  } regs_t;

  localparam logic [10:0] RANGE_MOST = 11'(PSNS);
  localparam logic [10:0] RANGE_RESET = PSNS < 1024 ? RANGE_MOST : 11'd1024;

  localparam regs_t RESET = '{
      bad_write: 1'b0,
      mss: 14'd4096,
      range: RANGE_RESET,
      initial_psn: '0,
      wire_rate: 20'd400_000,
      pcie_rate: 20'd504_320,
      own_ip: 32'h0a00_0001,
      own_mac: 48'h0200_0000_0001,
      hop_mac: 48'h0200_0000_00fe,
      cq_base: '0,
      cq_log2: 5'd10,
      init_window: 32'd448_848,
      unit: 14'd4156,
      flags: 8'b10_00_0111,
      dscp: {6'd16, 2'b0, 6'd12, 2'b0, 6'd46, 2'b0, 6'd8, 2'b0, 6'd4, 2'b0, 6'd0},
      tx_hdr_buf: 32'd16_000,
      tx_data_buf: 32'd256_000,
      overheads: {5'd0, 3'b0, 5'd0, 1'b0, 7'd60, 1'b0, 7'd78, 1'b0, 7'd74},
      rid: 16'h0100,
      ttl: 8'd64,
      weights: 64'h0501,
      loss: 11'd512,
      rx_hdr_buf: 32'd16_000,
      rx_data_buf: 32'd256_000,
      far_hdr_buf: 32'd16_000,
      far_data_buf: 32'd256_000,
      pcie_costs: {10'd64, 8'd0, 8'd34},
      max_payload: 2'd3,
      icrc: 1'b0,
      stamps: 1'b0,
      ack_timeout: 64'd150 << 41,
      retry: {1'b0, 3'd0, 5'd25, 5'd0, 3'd7},
      peer_valid: '0,
      peer_ip: '0,
      egress_pool: 256'({32'd25_600, 32'd230_400}),
      ingress_pool: 256'({32'd400_000, 32'd3_600_000}),
      xoff: 256'({32'd320_000, 32'd2_880_000}),
      xon: 256'({32'd160_000, 32'd1_440_000}),
      quanta: 128'hffff_ffff,
      pfc: {24'd100, 8'd0},
      penalty: {32'd2_700_000, 32'd900_000},
      ack_hold: 1'b0,
      prefetch: {1'b0, 32'd262_144}
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

  assign bad_write_o            = regs_q.bad_write;
  assign cfg_mss_o              = regs_q.mss;
  assign cfg_range_o            = regs_q.range;
  assign cfg_initial_psn_o      = regs_q.initial_psn;
  assign cfg_wire_rate_o        = regs_q.wire_rate;
  assign cfg_pcie_rate_o        = regs_q.pcie_rate;
  assign cfg_own_ip_o           = regs_q.own_ip;
  assign cfg_own_mac_o          = regs_q.own_mac;
  assign cfg_hop_mac_o          = regs_q.hop_mac;
  assign cfg_cq_base_o          = regs_q.cq_base;
  assign cfg_cq_log2_o          = regs_q.cq_log2;
  assign cfg_init_window_o      = regs_q.init_window;
  assign cfg_unit_o             = regs_q.unit;
  assign cfg_groups_o           = regs_q.flags[0];
  assign cfg_trimming_o         = regs_q.flags[1];
  assign cfg_distinct_rtx_o     = regs_q.flags[2];
  assign cfg_cqe_on_link_o      = regs_q.flags[3];
  assign cfg_sched_o            = regs_q.flags[5:4];
  assign cfg_ecn_o              = regs_q.flags[7:6];
  assign cfg_dscp0_o            = regs_q.dscp[5:0];
  assign cfg_dscp1_o            = regs_q.dscp[13:8];
  assign cfg_dscp2_o            = regs_q.dscp[21:16];
  assign cfg_dscp3_o            = regs_q.dscp[29:24];
  assign cfg_dscp4_o            = regs_q.dscp[37:32];
  assign cfg_dscp5_o            = regs_q.dscp[45:40];
  assign cfg_tx_hdr_buf_o       = regs_q.tx_hdr_buf;
  assign cfg_tx_data_buf_o      = regs_q.tx_data_buf;
  assign cfg_data_hdr_o         = regs_q.overheads[6:0];
  assign cfg_wire_overhead_o    = regs_q.overheads[14:8];
  assign cfg_nominal_overhead_o = regs_q.overheads[22:16];
  assign cfg_charge_less_o      = regs_q.overheads[28:24];
  assign cfg_ack_extra_o        = regs_q.overheads[36:32];
  assign cfg_weights_o          = regs_q.weights;
  assign cfg_rid_o              = regs_q.rid;
  assign cfg_ttl_o              = regs_q.ttl;
  assign cfg_loss_o             = regs_q.loss;
  assign cfg_rx_hdr_buf_o       = regs_q.rx_hdr_buf;
  assign cfg_rx_data_buf_o      = regs_q.rx_data_buf;
  assign cfg_far_hdr_buf_o      = regs_q.far_hdr_buf;
  assign cfg_far_data_buf_o     = regs_q.far_data_buf;
  assign cfg_pcie_overhead_o    = regs_q.pcie_costs[7:0];
  assign cfg_read_request_o     = regs_q.pcie_costs[25:16];
  assign cfg_max_payload_o      = regs_q.max_payload;
  assign cfg_icrc_o             = regs_q.icrc;
  assign cfg_stamps_o           = regs_q.stamps;
  assign cfg_timeout_o          = regs_q.ack_timeout;
  assign cfg_linear_o           = regs_q.retry[2:0];
  assign cfg_expo_o             = regs_q.retry[12:8];
  assign cfg_fixed_o            = regs_q.retry[16];
  assign cfg_peer_valid_o       = regs_q.peer_valid;
  assign cfg_peer_ip_o          = regs_q.peer_ip;
  assign cfg_egress_pool_o      = regs_q.egress_pool;
  assign cfg_ingress_pool_o     = regs_q.ingress_pool;
  assign cfg_xoff_o             = regs_q.xoff;
  assign cfg_xon_o              = regs_q.xon;
  assign cfg_quanta_o           = regs_q.quanta;
  assign cfg_pfc_enable_o       = regs_q.pfc[7:0];
  assign cfg_pfc_delay_o        = regs_q.pfc[31:8];
  assign cfg_penalty_low_o      = regs_q.penalty[31:0];
  assign cfg_penalty_high_o     = regs_q.penalty[63:32];
  assign cfg_ack_hold_o         = regs_q.ack_hold;
  assign cfg_prefetch_o         = regs_q.prefetch[31:0];
  assign cfg_prefetch_on_o      = regs_q.prefetch[32];

  ////////////////
  // Next state //
  ////////////////

  logic        legal;  // the value is one that the register takes
  logic        peer;  // the register is a destination's
  logic [ 5:0] dest;
  logic [ 2:0] cls;  // the class of a bank's register
  logic [10:0] range;

  assign range = wr_data_i[10:0] > RANGE_MOST ? RANGE_MOST : wr_data_i[10:0];

  assign peer  = wr_index_i[8:6] == REG_PEER[8:6];
  assign dest  = wr_index_i[5:0];
  assign cls   = wr_index_i[2:0];

  always_comb begin
    legal = register_mask(wr_index_i) != '0 && (wr_data_i & ~register_mask(wr_index_i)) == '0;
    unique case (wr_index_i)
      REG_MSS: begin
        legal = legal && wr_data_i != '0 && wr_data_i <= MAX_MSS;
      end
      REG_RETRY: legal = legal && wr_data_i[12:8] <= 5'd25;
      REG_RANGE, REG_WIRE_RATE, REG_PCIE_RATE, REG_ACK_TIMEOUT: begin
        legal = legal && wr_data_i != '0;
      end
      default: begin
        legal = legal && (!peer || 32'(dest) < DESTS);
      end
    endcase
  end

  always_comb begin
    regs_d           = regs_q;
    regs_d.bad_write = wr_valid_i && !legal;

    if (wr_valid_i && legal) begin
      unique case (wr_index_i)
        REG_MSS:          regs_d.mss = wr_data_i[13:0];
        REG_RANGE:        regs_d.range = range;
        REG_INITIAL_PSN:  regs_d.initial_psn = wr_data_i[23:0];
        REG_WIRE_RATE:    regs_d.wire_rate = wr_data_i[19:0];
        REG_PCIE_RATE:    regs_d.pcie_rate = wr_data_i[19:0];
        REG_OWN_IP:       regs_d.own_ip = wr_data_i[31:0];
        REG_OWN_MAC:      regs_d.own_mac = wr_data_i[47:0];
        REG_HOP_MAC:      regs_d.hop_mac = wr_data_i[47:0];
        REG_CQ_BASE:      regs_d.cq_base = wr_data_i;
        REG_CQ_LOG2:      regs_d.cq_log2 = wr_data_i[4:0];
        REG_INIT_WINDOW:  regs_d.init_window = wr_data_i[31:0];
        REG_UNIT:         regs_d.unit = wr_data_i[13:0];
        REG_FLAGS:        regs_d.flags = wr_data_i[7:0];
        REG_DSCP:         regs_d.dscp = wr_data_i[45:0];
        REG_TX_HDR_BUF:   regs_d.tx_hdr_buf = wr_data_i[31:0];
        REG_TX_DATA_BUF:  regs_d.tx_data_buf = wr_data_i[31:0];
        REG_OVERHEADS:    regs_d.overheads = wr_data_i[36:0];
        REG_RID:          regs_d.rid = wr_data_i[15:0];
        REG_TTL:          regs_d.ttl = wr_data_i[7:0];
        REG_WEIGHTS:      regs_d.weights = wr_data_i;
        REG_PFC:          regs_d.pfc = wr_data_i[31:0];
        REG_PENALTY:      regs_d.penalty = wr_data_i;
        REG_ACK_HOLD:     regs_d.ack_hold = wr_data_i[0];
        REG_PREFETCH:     regs_d.prefetch = wr_data_i[32:0];
        REG_LOSS:         regs_d.loss = wr_data_i[10:0];
        REG_TRAILER:      regs_d.icrc = wr_data_i[0];
        REG_STAMPS:       regs_d.stamps = wr_data_i[0];
        REG_RX_HDR_BUF:   regs_d.rx_hdr_buf = wr_data_i[31:0];
        REG_RX_DATA_BUF:  regs_d.rx_data_buf = wr_data_i[31:0];
        REG_FAR_HDR_BUF:  regs_d.far_hdr_buf = wr_data_i[31:0];
        REG_FAR_DATA_BUF: regs_d.far_data_buf = wr_data_i[31:0];
        REG_PCIE_COSTS:   regs_d.pcie_costs = wr_data_i[25:0];
        REG_MAX_PAYLOAD:  regs_d.max_payload = wr_data_i[1:0];
        REG_ACK_TIMEOUT:  regs_d.ack_timeout = wr_data_i;
        REG_RETRY:        regs_d.retry = wr_data_i[16:0];
        default: begin
          if (peer) begin
            regs_d.peer_ip[32*dest+:32] = wr_data_i[31:0];
            regs_d.peer_valid[dest]     = wr_data_i[32];
          end
        end
      endcase

      unique case (wr_index_i[8:3])
        REG_EGRESS_POOL[8:3]:  regs_d.egress_pool[32*cls+:32] = wr_data_i[31:0];
        REG_INGRESS_POOL[8:3]: regs_d.ingress_pool[32*cls+:32] = wr_data_i[31:0];
        REG_XOFF[8:3]:         regs_d.xoff[32*cls+:32] = wr_data_i[31:0];
        REG_XON[8:3]:          regs_d.xon[32*cls+:32] = wr_data_i[31:0];
        REG_QUANTA[8:3]:       regs_d.quanta[16*cls+:16] = wr_data_i[15:0];
        default:               ;  // not a bank's
      endcase
    end
  end

  //////////////
  // Contract //
  //////////////

  // A packet is never empty by configuration, nor longer than a replay slot.
  `ASSERT(MssInLimits_A, cfg_mss_o != '0 && 64'(cfg_mss_o) <= MAX_MSS)
  // A QP never has more PSNs under way than it has records.
  `ASSERT(RangeFits_A, cfg_range_o != '0 && cfg_range_o <= RANGE_MOST)
  // No destination beyond the build's.
  `ASSERT(PeersFit_A, DESTS >= 64 || (cfg_peer_valid_o >> DESTS) == '0)

endmodule
