// Header bytes of the frames that the NIC sends: one function a header (protocol section 12).
//
// Twin of rtl-model/src/header.rs. In every result byte 0 of the header is bits 7:0, and numbers
// lie in it most significant byte first. Headers are put together with the first one lowest:
//
//   frame.hdr = 832'({cc_state(c), seth(s), base_header(b)});   // a SACK: 54 + 28 + 8 bytes
//   frame.hdr = 832'({aeth(msn), base_header(b)});              // an ACK: 54 + 4
//   frame.hdr = 832'({reth(r), meth(msn), base_header(b)});     // data: 54 + 4 + 16
//
// `base_t.len` is the frame on the wire, FCS included: the lengths of IPv4 and UDP follow from it.

package header_pkg;

  import nic_pkg::*;

  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [15:0] ETHERTYPE_PFC = 16'h8808;  // MAC control
  localparam logic [47:0] PFC_MAC = 48'h0180_c200_0001;
  localparam logic [15:0] PFC_OPCODE = 16'h0101;
  localparam logic [15:0] UDP_PORT = 16'd4791;
  localparam logic [7:0] IP_UDP = 8'd17;

  localparam len_t ETH_BYTES = 14'd14;
  localparam len_t IP_BYTES = 14'd20;
  localparam len_t FCS_BYTES = 14'd4;
  localparam len_t ICRC_BYTES = 14'd4;
  localparam len_t TSETH_BYTES = 14'd4;
  localparam len_t BASE_BYTES = 14'd54;  // Ethernet, IPv4, UDP, BTH

  // BTH's opcodes.
  localparam logic [7:0] OP_FIRST = 8'hc6;
  localparam logic [7:0] OP_MIDDLE = 8'hc7;
  localparam logic [7:0] OP_LAST = 8'hc8;
  localparam logic [7:0] OP_ONLY = 8'hca;
  localparam logic [7:0] OP_ACK = 8'hd1;
  localparam logic [7:0] OP_SACK = 8'hdc;
  localparam logic [7:0] OP_NACK = 8'hdd;
  localparam logic [7:0] OP_PROBE = 8'hde;

  // Bytes of the control frames on the wire, FCS included (mrc), and of a trimmed one.
  localparam len_t ACK_BYTES = 14'd62;
  localparam len_t SACK_BYTES = 14'd94;
  localparam len_t NACK_BYTES = 14'd78;
  localparam len_t PROBE_BYTES = 14'd74;
  localparam len_t TRIMMED_BYTES = 14'd62;
  localparam len_t PFC_BYTES = 14'd64;

  // What Ethernet, IPv4, UDP and BTH of one frame carry.
  typedef struct packed {
    logic [47:0] dst_mac;
    logic [47:0] src_mac;
    logic [31:0] src_ip;
    logic [31:0] dst_ip;
    logic [5:0]  dscp;
    logic [1:0]  ecn;
    logic [7:0]  ttl;
    len_t        len;        // of the frame on the wire, FCS included
    logic [15:0] sport;      // entropy value
    logic [7:0]  opcode;
    qpn_t        qpn;
    logic        ack_req;    // A
    logic        by_sender;  // R: `qpn` is the sender's own number
    logic        rtx;
    logic        ts;
    psn_t        psn;
  } base_t;

  // RETH.
  typedef struct packed {
    logic [63:0] raddr;
    logic [31:0] rkey;
    logic [31:0] msg_len;
  } reth_t;

  // SETH.
  typedef struct packed {
    logic [1:0]  mark;          // m: 0 none, 1 skip the entropy value once, 2 always
    logic        probe;         // pr: this answers a probe
    logic [15:0] psn_offset;    // drawing PSN - cumulative PSN, or the probe's id
    logic [15:0] entropy;       // of the packet that drew it
    qpn_t        receiver_qpn;  // of the side that sends this SACK
    logic [15:0] sender_pdc;    // low 16 bits of the sender's number
    psn_t        cum;
    logic [7:0]  mpr;           // MaxPSNRange in units of 128
    logic [15:0] sack_offset;
    logic [63:0] bitmap;        // bit i is PSN cum + sack_offset + i
  } seth_t;

  // CC_STATE.
  typedef struct packed {
    logic [15:0] service;  // 128 ns
    logic [14:0] ooo;
    logic [6:0]  penalty;
    logic [23:0] rcvd;     // 256 B
  } cc_state_t;

  // NETH.
  typedef struct packed {
    logic [7:0]  reason;
    logic [15:0] entropy;
    qpn_t        receiver_qpn;
    logic [15:0] sender_pdc;
    psn_t        psn;
    logic [15:0] timestamp;
  } neth_t;

  // PETH.
  typedef struct packed {
    logic [15:0] probe_id;
    logic [15:0] own_pdc;
    logic [15:0] peer_pdc;
    logic [15:0] timestamp;
  } peth_t;

  // Numbers of a received frame: bytes as they lie in it, byte 0 in bits 7:0, to a number.
  function automatic logic [15:0] num16(logic [15:0] b);
    return {b[7:0], b[15:8]};
  endfunction

  function automatic logic [23:0] num24(logic [23:0] b);
    return {b[7:0], b[15:8], b[23:16]};
  endfunction

  function automatic logic [31:0] num32(logic [31:0] b);
    return {num16(b[15:0]), num16(b[31:16])};
  endfunction

  function automatic logic [47:0] num48(logic [47:0] b);
    return {num24(b[23:0]), num24(b[47:24])};
  endfunction

  function automatic logic [63:0] num64(logic [63:0] b);
    return {num32(b[31:0]), num32(b[63:32])};
  endfunction

  // Sum of the ten 16-bit words of an IPv4 header, folded: 16'hffff where its checksum is right.
  // The order of bytes within the header is the network's, most significant first.
  function automatic logic [15:0] ip_sum(logic [159:0] ip);
    logic [19:0] sum;
    logic [16:0] once;
    sum = '0;
    for (int unsigned i = 0; i < 10; i++) begin
      sum = sum + 20'(ip[16*i+:16]);
    end
    once = 17'(sum[15:0]) + 17'(sum[19:16]);
    return once[15:0] + 16'(once[16]);
  endfunction

  // Ethernet, IPv4 with its checksum, UDP and BTH: the first 54 bytes of every frame but PFC's.
  function automatic logic [431:0] base_header(base_t b);
    logic [159:0] ip;
    logic [431:0] net;
    logic [431:0] out;
    ip = {
      8'h45,
      b.dscp,
      b.ecn,
      16'(len_t'(b.len - ETH_BYTES - FCS_BYTES)),
      16'h0000,
      16'h4000,
      b.ttl,
      IP_UDP,
      16'h0000,
      b.src_ip,
      b.dst_ip
    };
    ip[79:64] = ~ip_sum(ip);
    net = {
      b.dst_mac,
      b.src_mac,
      ETHERTYPE_IPV4,
      ip,
      b.sport,
      UDP_PORT,
      16'(len_t'(b.len - ETH_BYTES - IP_BYTES - FCS_BYTES)),
      16'h0000,
      b.opcode,
      8'h00,
      16'hffff,
      8'h00,
      b.qpn,
      b.ack_req,
      b.by_sender,
      b.rtx,
      b.ts,
      4'h0,
      b.psn
    };
    for (int unsigned i = 0; i < 54; i++) begin
      out[8*i+:8] = net[8*(53-i)+:8];
    end
    return out;
  endfunction

  // METH: rqmsn equals msn (QP-4).
  function automatic logic [31:0] meth(logic [15:0] msn);
    return {2{msn[7:0], msn[15:8]}};
  endfunction

  // TSETH: when the packet was built, in steps of 128 ns (resolution 0, type 1).
  function automatic logic [31:0] tseth(logic [15:0] stamp);
    return {16'h0100, stamp[7:0], stamp[15:8]};
  endfunction

  function automatic logic [127:0] reth(reth_t r);
    logic [127:0] net;
    logic [127:0] out;
    net = {r.raddr, r.rkey, r.msg_len};
    for (int unsigned i = 0; i < 16; i++) begin
      out[8*i+:8] = net[8*(15-i)+:8];
    end
    return out;
  endfunction

  // AETH: the syndrome is an acknowledgement with credit 0x1f; `msn` counts completed messages.
  function automatic logic [31:0] aeth(logic [23:0] msn);
    return {msn[7:0], msn[15:8], msn[23:16], 8'h1f};
  endfunction

  function automatic logic [223:0] seth(seth_t s);
    logic [223:0] net;
    logic [223:0] out;
    net = {
      8'h10,
      1'b0,
      s.mark,
      3'b000,
      s.probe,
      1'b0,
      s.psn_offset,
      16'h0000,
      s.entropy,
      s.receiver_qpn[15:0],
      s.sender_pdc,
      s.receiver_qpn[23:16],
      s.cum,
      8'h10,
      s.mpr,
      s.sack_offset,
      s.bitmap
    };
    for (int unsigned i = 0; i < 28; i++) begin
      out[8*i+:8] = net[8*(27-i)+:8];
    end
    return out;
  endfunction

  function automatic logic [63:0] cc_state(cc_state_t c);
    logic [63:0] net;
    logic [63:0] out;
    net = {c.service, 1'b0, c.ooo, 1'b0, c.penalty, c.rcvd};
    for (int unsigned i = 0; i < 8; i++) begin
      out[8*i+:8] = net[8*(7-i)+:8];
    end
    return out;
  endfunction

  function automatic logic [159:0] neth(neth_t n);
    logic [159:0] net;
    logic [159:0] out;
    net = {
      16'h2000,
      n.reason,
      8'h00,
      16'h0000,
      n.entropy,
      n.receiver_qpn[15:0],
      n.sender_pdc,
      n.receiver_qpn[23:16],
      n.psn,
      16'h2000,
      n.timestamp
    };
    for (int unsigned i = 0; i < 20; i++) begin
      out[8*i+:8] = net[8*(19-i)+:8];
    end
    return out;
  endfunction

  // PETH. The timestamp counts 128 ns (resolution 0), type 1 as in TSETH.
  function automatic logic [127:0] peth(peth_t p);
    logic [127:0] net;
    logic [127:0] out;
    net = {32'h3000_0000, p.probe_id, 16'h0000, p.own_pdc, p.peer_pdc, p.timestamp, 16'h0001};
    for (int unsigned i = 0; i < 16; i++) begin
      out[8*i+:8] = net[8*(15-i)+:8];
    end
    return out;
  endfunction

endpackage
