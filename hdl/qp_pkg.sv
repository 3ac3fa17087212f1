// Contexts of the sender sides of QPs, and what doorbell asks of qp_table.
//
// Twin of the types in rtl-model/src/qp_table.rs.

package qp_pkg;
  import nic_pkg::*;

  // What doorbell asks
  localparam logic [1:0] QP_OPEN = 2'd0;
  localparam logic [1:0] QP_POST = 2'd1;
  localparam logic [1:0] QP_CLOSE = 2'd2;

  // A context, 153 bits.
  typedef struct packed {
    logic [15:0] gen;
    dest_t       dest;
    logic        open;
    logic        remote_valid;  // the receiver's number is known
    qpn_t        remote;
    psn_t        given;         // the next PSN to give
    psn_t        cum;           // everything up to it is acknowledged
    logic [15:0] posted;        // messages, modulo 2^16
    logic [15:0] done;          // of them completed
    logic        recovers;      // no gap is looked for (LOS-2)
    psn_t        recover;       // until everything up to it is acknowledged
  } ctx_t;

  // Responses
  typedef struct packed {
    logic   ok;
    qp_t    qp;
    psn_t   given;
    psn_t   cum;
    group_t group;
    dest_t  dest;
    logic   recovers;
    psn_t   recover;
  } find_rsp_t;

  typedef struct packed {
    qpn_t qpn;
    logic remote_valid;
    qpn_t remote;
  } build_rsp_t;

  typedef struct packed {
    logic        ok;
    logic        full;
    logic        failed;  // it is in error, or is being closed
    qpn_t        qpn;
    group_t      group;
    dest_t       dest;
    logic [15:0] msn;
  } qp_rsp_t;

  typedef struct packed {
    logic   ok;
    qpn_t   qpn;
    group_t group;
  } end_rsp_t;

  // The group of a QP (SCH-1).
  function automatic group_t group_of(qp_t slot, dest_t dest, logic groups);
    return groups ? group_t'(dest) : slot;
  endfunction

endpackage
