// Words of tx_scheduler's memories, and what it asks of a group's QPs.
//
// Twin of the types at the end of rtl-model/src/tx_scheduler.rs.

package sched_pkg;

  import nic_pkg::*;

  // A QP: PSNs and the queue of its messages not issued to the end.
  typedef struct packed {
    dest_t       dest;
    logic        queued;  // the queue is not empty: `head` to `tail`
    msg_t        head;
    msg_t        tail;
    psn_t        next;    // the PSN that its next segment gets
    psn_t        cum;     // acknowledged up to and with this one
    logic [31:0] sent;    // bytes of the head message that are issued; 0 between messages
    psn_t        first;   // of the head message, where `sent` is not 0
  } qctx_t;

  // A message as posted, and the one after it in the QP's queue.
  typedef struct packed {
    logic [63:0] laddr;
    logic [63:0] raddr;
    logic [31:0] rkey;
    logic [31:0] len;
    logic [15:0] msn;
    msg_t        next;
  } smsg_t;

  // A group: the QP last served, a bit for each QP with data and its PSN window open, and one for
  // each QP with a packet that waits to go again.
  typedef struct packed {
    qp_t          last;
    logic [255:0] qps;
    logic [255:0] rtx;
  } work_t;

  // SCH-2: some QP of a group has work.
  function automatic logic any_work(work_t work);
    return (work.qps | work.rtx) != '0;
  endfunction

  // A QP of a group in its turn.
  typedef struct packed {
    logic any;      // there is one
    logic wrapped;  // it is not above the QP last served
    qp_t  qp;
  } choice_t;

  // The number of the lowest bit set; 0 where none is.
  function automatic logic [7:0] lowest(logic [255:0] bits);
    logic [15:0] part;
    part   = '0;
    lowest = '0;
    for (int i = 15; i >= 0; i--) begin
      if (bits[16*i+:16] != '0) begin
        lowest[7:4] = 4'(i);
        part        = bits[16*i+:16];
      end
    end
    for (int i = 15; i >= 0; i--) begin
      if (part[i]) begin
        lowest[3:0] = 4'(i);
      end
    end
  endfunction

  // SCH-3: the next QP after `from`, ascending and cyclic up to and with the one last served.
  function automatic choice_t choose(work_t work, qp_t from, logic wrapped);
    logic [255:0] above;  // QPs above `from`
    logic [255:0] upto;  // QPs up to the one last served
    logic [255:0] able;  // QPs with work
    able = work.qps | work.rtx;
    above = {256{1'b1}} << from << 1;
    upto = ~({256{1'b1}} << work.last << 1);
    choose.wrapped = wrapped || (able & above) == '0;
    if (wrapped) begin
      above &= upto;
    end else if (choose.wrapped) begin
      above = upto;
    end
    choose.any = (able & above) != '0;
    choose.qp  = lowest(able & above);
  endfunction

  // SEG-2: fewer than `range` packets lie beyond the cumulative PSN.
  function automatic logic psn_open(psn_t next, psn_t cum, logic [10:0] range);
    psn_t beyond;
    beyond = next - cum - 24'd1;
    return beyond < {13'd0, range};
  endfunction

  // A post: the queue grows by `msg`.
  function automatic qctx_t after_post(qctx_t ctx, msg_t msg);
    after_post = ctx;
    if (!ctx.queued) begin
      after_post.head = msg;
    end
    after_post.tail   = msg;
    after_post.queued = 1'b1;
  endfunction

  // An acknowledgement: only one that advances counts.
  function automatic qctx_t after_ack(qctx_t ctx, psn_t cum);
    after_ack = ctx;
    if ($signed(cum - ctx.cum) > 24'sd0) begin
      after_ack.cum = cum;
    end
  endfunction

  // The QP sends nothing more.
  function automatic qctx_t after_drop(qctx_t ctx);
    after_drop        = ctx;
    after_drop.queued = 1'b0;
    after_drop.sent   = '0;
  endfunction

  // The issue of `len` bytes of the head message, its last ones or not.
  function automatic qctx_t after_issue(qctx_t ctx, msg_t next, len_t len, logic last);
    after_issue      = ctx;
    after_issue.next = ctx.next + 24'd1;
    after_issue.sent = ctx.sent + 32'(len);
    if (ctx.sent == '0) begin
      after_issue.first = ctx.next;
    end
    if (last) begin
      after_issue.sent   = '0;
      after_issue.queued = ctx.head != ctx.tail;
      after_issue.head   = next;
    end
  endfunction

endpackage
