// What replay_store keeps of a packet, and what retransmit is asked.
//
// Twin of the types in rtl-model/src/replay_store.rs and rtl-model/src/retransmit.rs.

package resend_pkg;
  import nic_pkg::*;

  // A packet built and not retired: all that its headers are made of, without a read from the host.
  typedef struct packed {
    qp_t         qp;
    dest_t       dest;
    group_t      group;
    msg_t        msg;
    psn_t        psn;
    logic [5:0]  off;      // of the payload in the slot's first word
    len_t        len;      // payload bytes
    logic [63:0] raddr;
    logic [31:0] rkey;
    logic [31:0] msg_len;
    logic [15:0] msn;
    logic        first;
    logic        last;
  } record_t;

  // The record of a segment.
  function automatic record_t record_of(segment_t seg);
    return
    '{
        qp: seg.qp,
        dest: seg.dest,
        group: seg.group,
        msg: seg.msg,
        psn: seg.psn,
        off: seg.laddr[5:0],
        len: seg.len,
        raddr: seg.raddr,
        rkey: seg.rkey,
        msg_len: seg.msg_len,
        msn: seg.msn,
        first: seg.first,
        last: seg.last
    }
    ;
  endfunction

  // The segment of a record; of its place in host memory only the offset in a word is left.
  function automatic segment_t segment_of(record_t rec, slot_t slot);
    return
    '{
        qp: rec.qp,
        dest: rec.dest,
        group: rec.group,
        slot: slot,
        msg: rec.msg,
        psn: rec.psn,
        laddr: {58'd0, rec.off},
        len: rec.len,
        raddr: rec.raddr,
        rkey: rec.rkey,
        msg_len: rec.msg_len,
        msn: rec.msn,
        first: rec.first,
        last: rec.last
    }
    ;
  endfunction

  // What retransmit wants of replay_store.
  typedef enum logic [1:0] {
    LookPsn    = 2'd0,  // the packet of a PSN
    LookSlot   = 2'd1,  // the packet of a slot
    LookRetire = 2'd2,  // the packet of a PSN, which is retired
    LookHeld   = 2'd3   // that of a slot, retired, which waits for its message's end alone
  } look_e;

  // Why a packet goes again.
  typedef enum logic [2:0] {
    CauseGap     = 3'd0,
    CauseTrimmed = 3'd1,
    CauseLastHop = 3'd2,  // trimmed on the last hop
    CauseRange   = 3'd3,  // its PSN was out of the receiver's window
    CauseTimeout = 3'd4,
    CauseCover   = 3'd5,  // no cumulative ACK has covered its message (CPL-2)
    CauseSample  = 3'd6   // none: a SACK asks when the packet that drew it was sent (RTT-1)
  } cause_e;

  // A packet's timers and what has been counted of it.
  typedef struct packed {
    logic [5:0] number;    // of its next timer, from 1
    logic [5:0] timeouts;  // of its life
    logic [5:0] nacks;     // that have queued it
    logic [7:0] sent;      // transmissions, its first one included
    logic       gapped;    // a gap has queued it
  } timer_t;

  // A packet that was built just now.
  localparam timer_t FIRST_TIMER = '{number: 6'd1, sent: 8'd1, default: '0};

  // Counts that stay at their end.
  function automatic logic [5:0] more6(logic [5:0] n);
    return n == '1 ? n : n + 6'd1;
  endfunction

  function automatic logic [7:0] more8(logic [7:0] n);
    return n == '1 ? n : n + 8'd1;
  endfunction

  // TMR-3: whole microseconds of a timer of `time` x 2^n, at least 1; TMR-5: it stays at its end.
  function automatic micros_t span_of(logic [63:0] base, logic [5:0] doublings);
    logic [127:0] micros;
    micros = ({64'd0, base} << doublings) >> 41;
    if (micros > {80'd0, {48{1'b1}}}) begin
      return '1;
    end
    return micros == '0 ? 48'd1 : micros[47:0];
  endfunction

endpackage
