// What host and NIC share: BAR pages, work requests, completion entries, registers.
//
// Twin of rtl-model/src/host_interface.rs; docs/host-interface.md is the same as tables. All
// fields are little-endian: byte 0 is bits 7:0, so the first field of a struct is the last bytes.

package host_pkg;
  import nic_pkg::*;

  // Pages of the BAR, by bits 15:12 of the address
  localparam logic [3:0] PAGE_REGISTERS = 4'd0;
  localparam logic [3:0] PAGE_DOORBELL = 4'd1;

  // Opcodes of a work request
  localparam logic [7:0] OP_WRITE = 8'd1;
  localparam logic [7:0] OP_CLOSE_SENDER = 8'd2;
  localparam logic [7:0] OP_CLOSE_RECEIVER = 8'd3;

  // A work request, 64 B.
  typedef struct packed {
    logic [127:0] zero_48;
    logic [63:0]  cookie;
    logic [31:0]  zero_36;
    logic [31:0]  rkey;
    logic [63:0]  raddr;
    logic [63:0]  laddr;
    logic [31:0]  length;
    logic [23:0]  zero_9;
    logic [7:0]   dest;
    logic [7:0]   zero_7;
    qpn_t         qpn;
    logic [15:0]  zero_2;
    logic [6:0]   zero_flags;
    logic         open;
    logic [7:0]   opcode;
  } wqe_t;

  // Bits that must be zero: in a write to an open QP, in one that opens its QP (the number too),
  // and in a close (all but opcode, number and cookie).
  localparam wqe_t RESERVED_POST = '{
      zero_48: '1,
      zero_36: '1,
      zero_9: '1,
      zero_7: '1,
      zero_2: '1,
      zero_flags: '1,
      default: '0
  };
  localparam wqe_t RESERVED_OPEN = '{
      zero_48: '1,
      zero_36: '1,
      zero_9: '1,
      zero_7: '1,
      zero_2: '1,
      zero_flags: '1,
      qpn: '1,
      default: '0
  };
  localparam wqe_t RESERVED_CLOSE = '{opcode: '0, qpn: '0, cookie: '0, default: '1};

  // A completion entry, 32 B.
  typedef struct packed {
    logic [63:0] zero_24;
    logic [63:0] cookie;
    logic [23:0] zero_13;
    logic [7:0]  dest;
    logic [31:0] length;
    logic [7:0]  zero_7;
    qpn_t        qpn;
    logic [15:0] msn;
    logic [7:0]  code;     // refuse_e
    logic        phase;
    logic [4:0]  zero_0;
    cqe_e        kind;
  } cqe_t;

  // Register indices: the offset in the register page ÷ 8
  localparam logic [8:0] REG_MSS = 9'd0;
  localparam logic [8:0] REG_RANGE = 9'd1;
  localparam logic [8:0] REG_INITIAL_PSN = 9'd2;
  localparam logic [8:0] REG_WIRE_RATE = 9'd3;
  localparam logic [8:0] REG_PCIE_RATE = 9'd4;
  localparam logic [8:0] REG_OWN_IP = 9'd5;
  localparam logic [8:0] REG_OWN_MAC = 9'd6;
  localparam logic [8:0] REG_HOP_MAC = 9'd7;
  localparam logic [8:0] REG_CQ_BASE = 9'd8;
  localparam logic [8:0] REG_CQ_LOG2 = 9'd9;
  localparam logic [8:0] REG_INIT_WINDOW = 9'd10;
  localparam logic [8:0] REG_UNIT = 9'd11;
  localparam logic [8:0] REG_FLAGS = 9'd12;
  localparam logic [8:0] REG_DSCP = 9'd13;
  localparam logic [8:0] REG_TX_HDR_BUF = 9'd14;
  localparam logic [8:0] REG_TX_DATA_BUF = 9'd15;
  localparam logic [8:0] REG_OVERHEADS = 9'd16;
  localparam logic [8:0] REG_RID = 9'd17;
  localparam logic [8:0] REG_TTL = 9'd18;
  localparam logic [8:0] REG_WEIGHTS = 9'd36;
  localparam logic [8:0] REG_ACK_TIMEOUT = 9'd216;
  localparam logic [8:0] REG_RETRY = 9'd217;
  localparam logic [8:0] REG_PEER = 9'd64;  // destination d is d further on
  localparam logic [8:0] REG_EGRESS_POOL = 9'd128;  // class c is c further on, here and below
  localparam logic [8:0] REG_INGRESS_POOL = 9'd136;
  localparam logic [8:0] REG_XOFF = 9'd144;
  localparam logic [8:0] REG_XON = 9'd152;
  localparam logic [8:0] REG_QUANTA = 9'd160;
  localparam logic [8:0] REG_PFC = 9'd168;
  localparam logic [8:0] REG_PENALTY = 9'd169;
  localparam logic [8:0] REG_ACK_HOLD = 9'd170;
  localparam logic [8:0] REG_PREFETCH = 9'd171;
  localparam logic [8:0] REG_LOSS = 9'd232;
  localparam logic [8:0] REG_RX_HDR_BUF = 9'd192;
  localparam logic [8:0] REG_RX_DATA_BUF = 9'd193;
  localparam logic [8:0] REG_FAR_HDR_BUF = 9'd194;
  localparam logic [8:0] REG_FAR_DATA_BUF = 9'd195;
  localparam logic [8:0] REG_PCIE_COSTS = 9'd196;
  localparam logic [8:0] REG_MAX_PAYLOAD = 9'd197;
  localparam logic [8:0] REG_TRAILER = 9'd248;
  localparam logic [8:0] REG_STAMPS = 9'd249;

  // The largest payload of a packet (SEG-1).
  localparam logic [63:0] MAX_MSS = 64'd8192;

  // Bits of a register that a write may set; none of them where there is no such register.
  function automatic logic [63:0] register_mask(logic [8:0] index);
    logic [63:0] other;
    unique case (index[8:3])
      REG_EGRESS_POOL[8:3], REG_INGRESS_POOL[8:3], REG_XOFF[8:3], REG_XON[8:3]:
      other = 64'hffff_ffff;
      REG_QUANTA[8:3]: other = 64'hffff;
      default: other = index[8:6] == REG_PEER[8:6] ? 64'h1_ffff_ffff : '0;
    endcase
    unique case (index)
      REG_MSS, REG_UNIT: return 64'h3fff;
      REG_RANGE: return 64'h7ff;
      REG_INITIAL_PSN: return 64'hff_ffff;
      REG_WIRE_RATE, REG_PCIE_RATE: return 64'hf_ffff;
      REG_OWN_MAC, REG_HOP_MAC: return 64'hffff_ffff_ffff;
      REG_CQ_BASE: return ~64'h1f;
      REG_CQ_LOG2: return 64'h1f;
      REG_LOSS: return 64'h7ff;
      REG_TRAILER, REG_STAMPS: return 64'h1;
      REG_FLAGS, REG_TTL: return 64'hff;
      REG_DSCP: return 64'h3f3f_3f3f_3f3f;
      REG_OVERHEADS: return 64'h1f_1f7f_7f7f;
      REG_RID: return 64'hffff;
      REG_WEIGHTS, REG_PENALTY: return '1;
      REG_ACK_TIMEOUT: return '1;
      REG_RETRY: return 64'h1_1f07;
      REG_ACK_HOLD: return 64'h1;
      REG_PREFETCH: return 64'h1_ffff_ffff;
      REG_OWN_IP, REG_INIT_WINDOW, REG_TX_HDR_BUF, REG_TX_DATA_BUF, REG_PFC, REG_RX_HDR_BUF,
      REG_RX_DATA_BUF, REG_FAR_HDR_BUF, REG_FAR_DATA_BUF:
      return 64'hffff_ffff;
      REG_PCIE_COSTS: return 64'h3ff_00ff;
      REG_MAX_PAYLOAD: return 64'h3;
      default: return other;
    endcase
  endfunction

endpackage
