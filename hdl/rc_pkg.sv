// Types of the reliable connection: its requester, its responder, and the packets between them.
//
// Twin of rtl-model/src/rc_pkg.rs. A unit of its own beside the MRC NIC (S002): ordered, go-back-N,
// with a 24-bit MSN. It shares the arithmetic of PSNs with the NIC and nothing else.
// Index types have their width of the default build in every build.

package rc_pkg;

  import nic_pkg::psn_t;

  typedef logic [5:0] wqe_index_t;
  typedef logic [20:0] length_t;  // bytes of a message: 0 to 1 MiB
  typedef logic [12:0] payload_t;  // bytes of a packet's payload: 0 to 4,096
  typedef logic [3:0] mtu_t;  // path MTU as a power of two: 8 to 12, 256 to 4,096 B
  typedef logic [12:0] span_t;  // PSNs of a message: 1 to 4,096

  // AETH syndromes. IBTA Vol 1, 9.7.5.2: bits 6:5 are 0 for an acknowledgement, whose low bits are
  // a credit, all ones for none; else it is negative.
  localparam logic [7:0] SYNDROME_ACK = 8'h1f;
  localparam logic [7:0] SYNDROME_SEQUENCE = 8'h60;

  // What a work request asks for.
  typedef enum logic [1:0] {
    RcSend   = 2'd0,
    RcWrite  = 2'd1,
    RcRead   = 2'd2,
    RcAtomic = 2'd3
  } rc_op_e;

  // How a work request ended.
  typedef enum logic [1:0] {
    RcSuccess = 2'd0,
    RcRetries = 2'd1,  // the retry budget was spent on it
    RcRemote  = 2'd2,  // the responder refused it
    RcFlushed = 2'd3   // it stood behind one that failed
  } rc_status_e;

  // Why packets go again; each spends a retry.
  typedef enum logic [1:0] {
    LossTimeout = 2'd0,
    LossNak     = 2'd1,  // a negative acknowledgement: sequence error
    LossImplied = 2'd2   // a response past a READ or ATOMIC that waits for its own
  } rc_loss_e;

  // Why the responder drops a request without an answer.
  typedef enum logic {
    RcDropGap    = 1'b0,  // behind a gap that has its negative acknowledgement
    RcDropRecord = 1'b1   // a duplicate READ or ATOMIC whose record is gone
  } rc_drop_e;

  // A work request as it is posted.
  typedef struct packed {
    rc_op_e      op;
    logic        add;      // ATOMIC: fetch and add; else compare and swap
    logic        signal;   // a completion entry is wanted
    length_t     len;      // bytes; of an ATOMIC 8
    logic [63:0] laddr;    // where the payload comes from, or the response goes
    logic [63:0] raddr;    // where it goes, or the response comes from
    logic [63:0] operand;  // ATOMIC: what is added, or swapped in
    logic [63:0] compare;  // ATOMIC: what is compared
  } rc_wqe_t;

  // A request packet. The payload goes beside it.
  typedef struct packed {
    rc_op_e      op;
    logic        first;    // of its message
    logic        last;     // of its message
    logic        ack_req;
    psn_t        psn;
    logic [63:0] raddr;    // RETH or AtomicETH of a first packet
    length_t     len;      // RETH: bytes of the message; of a READ those still wanted
    payload_t    bytes;    // of its payload
    logic        add;      // AtomicETH
    logic [63:0] operand;
    logic [63:0] compare;
  } rc_request_t;

  // What a response packet is. All but the middle one have an AETH.
  typedef enum logic [2:0] {
    RspAck        = 3'd0,
    RspReadFirst  = 3'd1,
    RspReadMiddle = 3'd2,
    RspReadLast   = 3'd3,
    RspReadOnly   = 3'd4,
    RspAtomic     = 3'd5
  } rc_rsp_e;

  // A response packet. The payload goes beside it.
  typedef struct packed {
    rc_rsp_e     kind;
    psn_t        psn;
    logic [7:0]  syndrome;  // AETH; zero where there is none
    psn_t        msn;       // AETH; zero where there is none
    payload_t    bytes;     // of its payload
    logic [63:0] result;    // AtomicAckETH
  } rc_response_t;

  // One entry of the replay store: a packet, rebuilt from it and its work request.
  typedef struct packed {
    wqe_index_t wqe;
    psn_t       psn;
    psn_t       last_psn;  // of a READ that of its last response
    length_t    offset;    // of its payload in the message
    logic       last;      // of its work request
  } rc_entry_t;

  // A READ or ATOMIC sent, its response not complete.
  typedef struct packed {
    wqe_index_t  wqe;
    psn_t        psn;
    psn_t        last_psn;
    logic        atomic;
    logic [63:0] laddr;
  } rc_waiting_t;

  // What the responder keeps of a READ or ATOMIC, to answer it again.
  typedef struct packed {
    psn_t        psn;
    psn_t        last_psn;
    logic        atomic;
    logic [63:0] raddr;
    length_t     len;
    logic [63:0] result;
  } rc_record_t;

  // A completion entry.
  typedef struct packed {
    psn_t       ssn;
    rc_op_e     op;
    rc_status_e status;
  } rc_cqe_t;

  // Whether `a` is ahead of `b`, modulo 2^24: by 1 to 2^23 - 1.
  function automatic logic ahead(psn_t a, psn_t b);
    psn_t by;
    by = a - b;
    return by != '0 && !by[23];
  endfunction

  // PSNs of a message of `len` bytes: one for each packet, of a READ in its response. At least 1.
  function automatic span_t span(length_t len, mtu_t mtu);
    logic [21:0] up;
    up = {1'b0, len} + (22'd1 << mtu) - 22'd1;
    return len == '0 ? 13'd1 : 13'(up >> mtu);
  endfunction

  // Bytes of the next packet where `left` are to go.
  function automatic payload_t part(length_t left, mtu_t mtu);
    length_t whole;
    whole = 21'd1 << mtu;
    return left < whole ? 13'(left) : 13'(whole);
  endfunction

endpackage
