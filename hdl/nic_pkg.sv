// Types on ports between blocks.
//
// Twin of rtl-model/src/types.rs. Index types have their width of the default build in every
// build; a smaller build leaves their top bits zero. In words and beats byte 0 is bits 7:0.

package nic_pkg;

  localparam int unsigned PSN_BITS = 24;

  typedef logic [PSN_BITS-1:0] psn_t;
  typedef logic [23:0] qpn_t;  // generation:16 slot:8
  typedef logic [7:0] qp_t;  // slot of a QP in its table
  typedef logic [7:0] group_t;
  typedef logic [5:0] dest_t;
  typedef logic [9:0] slot_t;  // replay slot
  typedef logic [9:0] msg_t;  // message entry
  typedef logic [7:0] tag_t;
  typedef logic [13:0] len_t;  // bytes of a payload or of a frame
  typedef logic [47:0] micros_t;  // whole microseconds
  typedef logic [31:0] bytes_t;  // bytes of a pool, a window, a message
  typedef logic [19:0] rate_t;  // units a clock; a byte is 8,000 units
  typedef logic [511:0] word_t;  // 64 B
  typedef logic [1023:0] beat_t;  // 128 B

  localparam int unsigned BYTE_UNITS = 8000;

  // One segment of a message, from its turn to its packet.
  typedef struct packed {
    qp_t         qp;
    dest_t       dest;
    group_t      group;
    slot_t       slot;
    msg_t        msg;
    psn_t        psn;
    logic [63:0] laddr;    // where its payload lies in host memory
    len_t        len;      // payload bytes
    logic [63:0] raddr;    // where it goes at the peer
    logic [31:0] rkey;
    logic [31:0] msg_len;
    logic [15:0] msn;      // messages of the QP before this one
    logic        first;
    logic        last;
  } segment_t;

  // One frame on its way to the port. `hdr` holds the first `hdr_len` bytes of the frame.
  typedef struct packed {
    logic [831:0] hdr;
    logic [6:0]   hdr_len;
    len_t         len;      // on the wire, FCS included
    logic         data;     // a payload follows the header, from the replay slot
    slot_t        slot;
    logic [5:0]   off;      // of the payload in the slot's first word
  } frame_t;

  // What a received frame is.
  typedef enum logic [2:0] {
    KindData    = 3'd0,
    KindTrimmed = 3'd1,
    KindAck     = 3'd2,
    KindSack    = 3'd3,
    KindNack    = 3'd4,
    KindProbe   = 3'd5
  } kind_e;

  // What a sample of the round trip comes from (RTT-1).
  typedef enum logic [1:0] {
    OriginSack  = 2'd0,
    OriginNack  = 2'd1,
    OriginProbe = 2'd2   // the answer to one
  } origin_e;

  // Why a received frame was dropped; RX-1 in the order in which it is checked.
  typedef enum logic [4:0] {
    DropNone      = 5'd0,
    DropShort     = 5'd1,   // too short for the headers
    DropFcs       = 5'd2,
    DropEtherType = 5'd3,
    DropMac       = 5'd4,   // addressed elsewhere
    DropIpHeader  = 5'd5,   // version, header length, fragment or protocol
    DropIpSum     = 5'd6,
    DropIpAddr    = 5'd7,   // addressed elsewhere
    DropPort      = 5'd8,
    DropOpcode    = 5'd9,
    DropLength    = 5'd10,  // lengths of frame, IPv4 and UDP disagree, or exceed the limits
    DropPool      = 5'd11,  // no room in the ingress pool (RX-2)
    DropPeer      = 5'd12,  // source address of no destination
    DropQp        = 5'd13,  // no such QP, or another peer's
    DropQpFull    = 5'd14,  // no free receiver side
    DropPsn       = 5'd15,  // PSN out of the window, or never sent
    DropIcrc      = 5'd16   // checked after DropLength, with ICRCEnable only
  } drop_e;

  // Why a NACK is sent (NAK-1).
  typedef enum logic [1:0] {
    NackNone    = 2'd0,
    NackTrimmed = 2'd1,
    NackLastHop = 2'd2,  // trimmed on the last hop
    NackRange   = 2'd3   // PSN out of the window
  } nack_e;

  // A received frame, parsed. Fields that its kind does not have are zero.
  typedef struct packed {
    logic         stamped;    // a time of its sender's is in it (RTT-1)
    logic [15:0]  stamp;      // when a data packet or a probe was built, 128 ns
    logic         last_hop;   // trimmed there
    kind_e        kind;
    logic         first;      // opcode first or only
    logic         last;       // opcode last or only
    logic [31:0]  src_ip;
    logic [15:0]  sport;      // entropy value
    logic         ce;         // CE-marked
    qpn_t         qpn;        // BTH's
    psn_t         psn;        // BTH's
    logic         ack_req;    // A
    logic         by_sender;  // R: `qpn` is the sender's own number
    logic         rtx;        // retransmit flag
    logic [15:0]  msn;        // METH
    logic [63:0]  raddr;      // RETH
    logic [31:0]  rkey;
    logic [31:0]  msg_len;
    len_t         len;        // payload bytes
    len_t         charge;     // bytes that the ingress pool holds for it
    logic [15:0]  word;       // first word of its payload in the ingress buffer
    logic [223:0] ctrl;       // SETH, NETH or PETH; AETH in the low 4 bytes. Byte 0 is bits 7:0
    logic [63:0]  cc;         // CC_STATE, byte 0 is bits 7:0
    logic [47:0]  at;         // clock in which it had arrived whole
  } parsed_t;

  // One arrival's answer: a SACK, a cumulative ACK, or both (the SACK goes first); or a NACK.
  typedef struct packed {
    logic        stamped;      // what drew it has said when it was built (RTT-1)
    logic [15:0] stamp;        // then, 128 ns
    logic        probe;        // the SACK answers a probe, whose id is in `drew`
    nack_e       nack;
    logic        sack;
    logic        ack;
    logic [31:0] dst_ip;
    dest_t       dest;
    qpn_t        sender_qpn;
    qpn_t        own_qpn;
    psn_t        cum;
    psn_t        drew;         // the PSN that drew it
    logic [15:0] sack_offset;
    logic [63:0] bitmap;
    logic [23:0] msn;          // messages completed in order
    logic [14:0] ooo;
    logic [23:0] rcvd;         // 256-B units
    logic [15:0] entropy;
    logic        ce;
    logic        rtx;          // of the packet that drew it
    len_t        size;         // on the wire, of the packet that drew it
  } answer_t;

  // The same with what it says of the backlog, and until when it waits.
  typedef struct packed {
    answer_t     answer;
    logic [15:0] service;  // 128 ns (RTT-2, BUF-7)
    logic [6:0]  penalty;  // BUF-6
    bytes_t      bytes;    // that it waits for
    logic [39:0] since;    // ack_hold's clock as it came
  } reply_t;

  // One payload on its way from the ingress buffer to host memory.
  typedef struct packed {
    logic [63:0] addr;
    len_t        len;
    logic [15:0] word;      // first word in the ingress buffer
    len_t        charge;    // released once the write is accepted
    logic        write;     // clear: the words are passed over and nothing is released
    logic        complete;  // RECV_COMPLETE follows it
    qpn_t        qpn;       // receiver's number, for the CQE
    logic [15:0] msn;
    logic [31:0] msg_len;
    dest_t       dest;
  } delivery_t;

  // One beat of a TLP on the bus: the header beside the data, which starts at DW 0.
  typedef struct packed {
    logic         sop;
    logic         eop;
    logic [127:0] hdr;   // DW 0 in bits 31:0; valid with sop
    logic [7:0]   dws;   // DWs of data in this beat
    beat_t        data;
  } tlp_beat_t;

  // One write of the host to the NIC's pages.
  typedef struct packed {
    logic [63:0] addr;
    logic [10:0] len;   // bytes of the whole DWs written
    logic        full;  // every byte is enabled
    word_t       data;  // the first 64 B
  } page_write_t;

  // Kinds of completion, as in a CQE's byte 0.
  typedef enum logic [1:0] {
    CqeSend  = 2'd0,
    CqeWqe   = 2'd1,
    CqeRecv  = 2'd2,
    CqeError = 2'd3
  } cqe_e;

  // Why a doorbell page write was refused, as in a CQE's byte 1.
  typedef enum logic [3:0] {
    RefuseNone     = 4'd0,
    RefuseSize     = 4'd1,  // not 64 B, not at a 64 B boundary, or some byte not enabled
    RefuseOpcode   = 4'd2,
    RefuseReserved = 4'd3,  // a reserved bit is set
    RefusePeer     = 4'd4,  // no such destination
    RefuseLength   = 4'd5,  // over 2^31 - 1 bytes
    RefuseQp       = 4'd6,  // no open QP of that number
    RefuseQpFull   = 4'd7,
    RefuseMsgFull  = 4'd8,
    RefuseQpError  = 4'd9   // the QP is in error, or is being closed
  } refuse_e;

  // Why a QP ends before its messages do (QP-6). All but the last put it in error.
  typedef enum logic [1:0] {
    WhyRead    = 2'd0,  // a payload could not be read (PCI-8)
    WhyTimeout = 2'd1,  // one timeout more than the budget (TMR-4)
    WhyNack    = 2'd2,  // one NACK more than the budget (NAK-2)
    WhyClose   = 2'd3   // the host closes it
  } why_e;

endpackage
