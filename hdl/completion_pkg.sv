// Words of completion's memories.
//
// Twin of the types in rtl-model/src/completion.rs.

package completion_pkg;
  import nic_pkg::*;

  // A message posted and not completed, 187 bits.
  typedef struct packed {
    logic [63:0] cookie;
    logic [31:0] len;
    logic [15:0] msn;
    psn_t        last_psn;   // of its last packet, once sent
    slot_t       last_slot;
    logic        sent;       // the fetch of its last segment has been issued
    msg_t        next;       // of the same QP
    dest_t       dest;
    qpn_t        qpn;
  } cmsg_t;

  // The messages of a QP, in post order, 31 bits.
  typedef struct packed {
    msg_t        head;
    msg_t        tail;
    logic [10:0] count;
  } cqp_t;

endpackage
