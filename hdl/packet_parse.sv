// Packet parse: a received frame becomes its fields, or a drop with its reason.
//
// Twin of rtl-model/src/packet_parse.rs. Latency 1 clock, throughput 1 frame per clock.
// RX-1: the checks come in the order of `drop_e`, and the first that fails is the reason. BUF-4:
// PFC's frames end here, counted by `pfc_valid_o`, never charged. PKT-3: trimmed is by codepoint.
// PKT-4: data and probes have class 0; ACKs, SACKs, NACKs and what is trimmed class 1.
//
// Borders and choices:
// - Short is below 58 B, the end of BTH and FCS. A frame that ends inside its opcode's later
//   headers has a wrong length (Length).
// - EtherType 0x8808 wants PFC's address, opcode 0x0101 (else Opcode) and 64 B (else Length);
//   EtherType 0x0800 wants this NIC's address. Any other pair is Mac.
// - A data opcode with one of the two trimmed codepoints is 62 B: a 44 B datagram. The codepoints
//   mean nothing on a control opcode. Where the two are one number it is that of trimmed.
// - A payload has 0 to 8,192 B. Control frames have one length each: 62, 94, 78, 74 B, the ACK
//   cfg_ack_extra bytes more.
// - RTT-1: with cfg_stamps a data packet has a TSETH behind METH, and BTH's ts flag; without
//   neither. One with the other flag has a wrong length. A trim cuts TSETH.
// - With cfg_icrc every frame but trimmed and PFC's is 4 B longer, for its ICRC (PKT-1); a wrong
//   one is the last check (Icrc).
// - The reserved flag and DF of IPv4, the UDP checksum, P_Key and BTH's reserved bits are ignored.
// - A dropped frame leaves `out_o` as it was. PFC's frames are too short to have brought words.
//
// It is longer than a module should be: every reason for a drop and every field of eight kinds of
// frame stand in one place.

`include "assert.svh"

module packet_parse
  import nic_pkg::*;
  import header_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Frames, from port_rx: the first 104 bytes, zero past the end of the frame
  input logic            frame_valid_i,
  input logic    [831:0] frame_hdr_i,
  input len_t            frame_len_i,
  input logic            frame_fcs_ok_i,
  input logic            frame_icrc_ok_i,  // or cfg_icrc is clear
  input logic    [  7:0] frame_words_i,
  input micros_t         frame_at_i,       // clock in which its last beat came

  // Settings, from csr
  input logic [31:0] cfg_own_ip_i,
  input logic [47:0] cfg_own_mac_i,
  input logic [ 5:0] cfg_dscp4_i,
  input logic [ 5:0] cfg_dscp5_i,
  input logic [ 6:0] cfg_data_hdr_i,
  input logic [ 4:0] cfg_charge_less_i,
  input logic [ 4:0] cfg_ack_extra_i,
  input logic        cfg_icrc_i,
  input logic        cfg_stamps_i,       // WireTimestamp

  // Verdicts, to ingress_pool
  output logic          out_valid_o,
  output parsed_t       out_o,
  output logic    [2:0] out_cls_o,
  output drop_e         out_drop_o,
  output logic    [7:0] out_words_o,

  // PFC frames, to pause_hold: the classes named, and what is asked for each
  output logic         pfc_valid_o,
  output logic [  7:0] pfc_classes_o,
  output logic [127:0] pfc_quanta_o
);

  localparam len_t SHORTEST = BASE_BYTES + FCS_BYTES;
  localparam len_t MAX_PAYLOAD = 14'd8192;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic         valid;
    parsed_t      parsed;
    drop_e        drop;
    logic [7:0]   words;
    logic         pfc;
    logic [7:0]   pfc_classes;
    logic [127:0] pfc_quanta;   // of class 0 lowest
  } regs_t;

  localparam regs_t RESET = '{
      valid: 1'b0,
      parsed: parsed_t'(0),
      drop: DropNone,
      words: '0,
      pfc: 1'b0,
      pfc_classes: '0,
      pfc_quanta: '0
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

  assign out_valid_o = regs_q.valid;
  assign out_o = regs_q.parsed;
  assign out_cls_o = regs_q.parsed.kind == KindData || regs_q.parsed.kind == KindProbe ? '0 : 3'd1;
  assign out_drop_o = regs_q.drop;
  assign out_words_o = regs_q.words;
  assign pfc_valid_o = regs_q.pfc;
  assign pfc_classes_o = regs_q.pfc_classes;
  assign pfc_quanta_o = regs_q.pfc_quanta;

  ////////////////
  // Next state //
  ////////////////

  // The fields that the checks look at.
  logic [ 47:0] dst_mac;
  logic [ 15:0] ethertype;
  logic [ 15:0] pfc_opcode;
  logic [  5:0] dscp;
  logic [ 15:0] ip_len;
  logic [ 12:0] frag;
  logic         more_frags;
  logic [ 15:0] udp_len;
  logic [  7:0] opcode;
  logic [159:0] ip_header;

  assign dst_mac    = num48(frame_hdr_i[8*0+:48]);
  assign ethertype  = num16(frame_hdr_i[8*12+:16]);
  assign pfc_opcode = num16(frame_hdr_i[8*14+:16]);
  assign dscp       = frame_hdr_i[8*15+2+:6];
  assign ip_len     = num16(frame_hdr_i[8*16+:16]);
  assign frag       = {frame_hdr_i[8*20+:5], frame_hdr_i[8*21+:8]};
  assign more_frags = frame_hdr_i[8*20+5];
  assign udp_len    = num16(frame_hdr_i[8*38+:16]);
  assign opcode     = frame_hdr_i[8*42+:8];

  always_comb begin
    for (int unsigned i = 0; i < 20; i++) begin
      ip_header[8*i+:8] = frame_hdr_i[8*(33-i)+:8];
    end
  end

  logic  is_pfc;  // by EtherType
  logic  is_data;  // opcodes of a Write
  kind_e kind;
  logic  opcode_known;

  assign is_pfc = ethertype == ETHERTYPE_PFC;
  assign is_data = opcode == OP_FIRST || opcode == OP_MIDDLE || opcode == OP_LAST ||
                   opcode == OP_ONLY;

  always_comb begin
    kind         = KindData;
    opcode_known = 1'b1;
    unique case (opcode)
      OP_ACK:   kind = KindAck;
      OP_SACK:  kind = KindSack;
      OP_NACK:  kind = KindNack;
      OP_PROBE: kind = KindProbe;
      default: begin
        opcode_known = is_data;
        if (dscp == cfg_dscp4_i || dscp == cfg_dscp5_i) begin
          kind = KindTrimmed;
        end
      end
    endcase
  end

  logic ts;  // BTH's flag
  assign ts = frame_hdr_i[8*50+4];

  logic [127:0] target;  // behind TSETH, where there is one
  assign target = cfg_stamps_i ? frame_hdr_i[8*62+:128] : frame_hdr_i[8*58+:128];

  len_t icrc;  // its bytes
  len_t data_overhead;
  len_t payload;
  logic kind_len_ok;

  assign icrc          = cfg_icrc_i ? ICRC_BYTES : '0;
  assign data_overhead = len_t'(cfg_data_hdr_i) + FCS_BYTES + icrc;
  assign payload       = frame_len_i - data_overhead;

  always_comb begin
    unique case (kind)
      KindTrimmed: kind_len_ok = frame_len_i == TRIMMED_BYTES;
      KindAck: kind_len_ok = frame_len_i == ACK_BYTES + len_t'(cfg_ack_extra_i) + icrc;
      KindSack: kind_len_ok = frame_len_i == SACK_BYTES + icrc;
      KindNack: kind_len_ok = frame_len_i == NACK_BYTES + icrc;
      KindProbe: kind_len_ok = frame_len_i == PROBE_BYTES + icrc;
      default:
      kind_len_ok = ts == cfg_stamps_i && frame_len_i >= data_overhead && payload <= MAX_PAYLOAD;
    endcase
  end

  drop_e drop;

  always_comb begin
    drop = DropNone;
    if (frame_len_i < SHORTEST) begin
      drop = DropShort;
    end else if (!frame_fcs_ok_i) begin
      drop = DropFcs;
    end else if (!is_pfc && ethertype != ETHERTYPE_IPV4) begin
      drop = DropEtherType;
    end else if (dst_mac != (is_pfc ? PFC_MAC : cfg_own_mac_i)) begin
      drop = DropMac;
    end else if (is_pfc) begin
      if (pfc_opcode != PFC_OPCODE) begin
        drop = DropOpcode;
      end else if (frame_len_i != PFC_BYTES) begin
        drop = DropLength;
      end
    end else if (frame_hdr_i[8*14+:8] != 8'h45 || more_frags || frag != '0 ||
                 frame_hdr_i[8*23+:8] != IP_UDP) begin
      drop = DropIpHeader;
    end else if (ip_sum(ip_header) != 16'hffff) begin
      drop = DropIpSum;
    end else if (num32(frame_hdr_i[8*30+:32]) != cfg_own_ip_i) begin
      drop = DropIpAddr;
    end else if (num16(frame_hdr_i[8*36+:16]) != UDP_PORT) begin
      drop = DropPort;
    end else if (!opcode_known) begin
      drop = DropOpcode;
    end else if (ip_len != 16'(frame_len_i) - 16'd18 || udp_len != ip_len - 16'd20 ||
                 !kind_len_ok) begin
      drop = DropLength;
    end else if (!frame_icrc_ok_i && kind != KindTrimmed) begin
      drop = DropIcrc;
    end
  end

  // The fields of a frame that passes.
  parsed_t parsed;

  always_comb begin
    parsed           = parsed_t'(0);
    parsed.kind      = kind;
    parsed.last_hop  = kind == KindTrimmed && dscp != cfg_dscp4_i;
    parsed.src_ip    = num32(frame_hdr_i[8*26+:32]);
    parsed.sport     = num16(frame_hdr_i[8*34+:16]);
    parsed.ce        = frame_hdr_i[8*15+:2] == 2'b11;
    parsed.qpn       = num24(frame_hdr_i[8*47+:24]);
    parsed.ack_req   = frame_hdr_i[8*50+7];
    parsed.by_sender = frame_hdr_i[8*50+6];
    parsed.rtx       = frame_hdr_i[8*50+5];
    parsed.psn       = num24(frame_hdr_i[8*51+:24]);
    parsed.charge    = frame_len_i - len_t'(cfg_charge_less_i);
    parsed.at        = frame_at_i;
    parsed.stamped   = ts && kind != KindTrimmed;
    if (is_data) begin
      parsed.first = opcode == OP_FIRST || opcode == OP_ONLY;
      parsed.last  = opcode == OP_LAST || opcode == OP_ONLY;
      parsed.msn   = num16(frame_hdr_i[8*56+:16]);
    end
    unique case (kind)
      KindData: begin
        parsed.raddr   = num64(target[63:0]);
        parsed.rkey    = num32(target[95:64]);
        parsed.msg_len = num32(target[127:96]);
        parsed.stamp   = cfg_stamps_i ? num16(frame_hdr_i[8*58+:16]) : '0;
        parsed.len     = payload;
      end
      KindAck:  parsed.ctrl = 224'(frame_hdr_i[8*54+:32]);
      KindNack: parsed.ctrl = 224'(frame_hdr_i[8*54+:160]);
      KindProbe: begin
        parsed.ctrl  = 224'(frame_hdr_i[8*54+:128]);
        parsed.stamp = num16(frame_hdr_i[8*66+:16]);
      end
      KindSack: begin
        parsed.ctrl = frame_hdr_i[8*54+:224];
        parsed.cc   = frame_hdr_i[8*82+:64];
      end
      default:  ;  // trimmed: nothing after METH
    endcase
  end

  always_comb begin
    regs_d       = regs_q;
    regs_d.valid = 1'b0;
    regs_d.pfc   = 1'b0;

    if (frame_valid_i) begin
      if (is_pfc && drop == DropNone) begin
        regs_d.pfc         = 1'b1;
        regs_d.pfc_classes = frame_hdr_i[8*17+:8];
        for (int unsigned c = 0; c < 8; c++) begin
          regs_d.pfc_quanta[16*c+:16] = num16(frame_hdr_i[8*18+16*c+:16]);
        end
      end else begin
        regs_d.valid = 1'b1;
        regs_d.drop  = drop;
        regs_d.words = frame_words_i;
        if (drop == DropNone) begin
          regs_d.parsed = parsed;
        end
      end
    end
  end

  // Bytes that no check and no field reads.
  logic unused;
  assign unused = &{1'b0, frame_hdr_i};

  //////////////
  // Contract //
  //////////////

  // A frame has one outcome.
  `ASSERT(OneOutcome_A, !(out_valid_o && pfc_valid_o))

  // Each frame has an outcome one clock later.
  `ASSERT(Outcome_A, frame_valid_i |=> out_valid_o || pfc_valid_o)

  // No payload is longer than the largest MSS.
  `ASSERT(Payload_A, out_o.len <= MAX_PAYLOAD)

endmodule
