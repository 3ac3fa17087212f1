// Words of rx_track's memories, and what a packet makes of a receiver side.
//
// Twin of the types at the start of rtl-model/src/rx_track.rs.

package track_pkg;

  import nic_pkg::*;

  localparam len_t COUNT_LEAST = 14'd1024;  // what a packet counts at least (SACK-1)
  localparam logic [14:0] COUNT_PASS = 15'd4095;  // a count over it draws a SACK
  localparam logic [10:0] WAITING_MOST = 11'd1024;  // control frames that wait (SACK-6)

  // A sender's slot: its receiver side, or its last life.
  typedef struct packed {
    logic        open;
    logic        closed;      // not open, and `generation` is the last one closed
    logic [15:0] generation;  // of the sender's number
    qp_t         slot;        // of the receiver side
  } peer_t;

  // A receiver side.
  typedef struct packed {
    logic        open;
    logic [15:0] generation;
    dest_t       dest;
    qpn_t        sender_qpn;
    psn_t        expected;    // the next PSN in order
    logic [11:0] count;       // since the last SACK
    bytes_t      rcvd;        // nominal bytes
    logic [23:0] msn;         // messages completed in order
    logic [10:0] held;        // PSNs held out of order
    psn_t        walk;        // where the next report starts (SACK-3)
    logic        asked;       // an ACK-request packet came over a gap (SACK-1)
    logic [14:0] ooo;         // PSNs that came out of order
  } side_t;

  // A last packet that is held: what its RECV_COMPLETE will say.
  typedef struct packed {
    logic [15:0] msn;
    logic [31:0] msg_len;
  } end_t;

  // QP-4: a side as it is created.
  function automatic side_t new_side(logic [15:0] generation, dest_t dest, qpn_t sender_qpn,
                                     psn_t initial_psn);
    side_t s;
    s            = side_t'(0);
    s.open       = 1'b1;
    s.generation = generation;
    s.dest       = dest;
    s.sender_qpn = sender_qpn;
    s.expected   = initial_psn;
    s.walk       = initial_psn;
    return s;
  endfunction

  // SACK-1: the count with a packet of `len` bytes.
  function automatic logic [14:0] counted(logic [11:0] count, len_t len);
    return 15'(count) + 15'(len < COUNT_LEAST ? COUNT_LEAST : len);
  endfunction

  // RX-7: the side after a packet that is new.
  function automatic side_t received(side_t side, len_t len, logic [6:0] overhead);
    side_t s;
    s      = side;
    s.rcvd = side.rcvd + bytes_t'(len) + bytes_t'(overhead);
    return s;
  endfunction

  // RX-7: the side after a packet in order.
  function automatic side_t advanced(side_t side, len_t len, logic [6:0] overhead, logic last);
    side_t s;
    s          = received(side, len, overhead);
    s.expected = side.expected + 24'd1;
    s.msn      = side.msn + 24'(last);
    return s;
  endfunction

  // SACK-2: bytes in units of 256, rounded up; a carry out is 2^24 units, which is 0.
  function automatic logic [23:0] in_units(bytes_t bytes);
    return bytes[31:8] + 24'(bytes[7:0] != '0);
  endfunction

endpackage
