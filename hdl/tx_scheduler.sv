// Transmit scheduler: turns of the ready groups, one segment each, through the three gates.
//
// Twin of rtl-model/src/tx_scheduler.rs. One thing at a time, in this order (section 16): an ack, a
// drop, a packet that waits, room for a probe, a commit, a copy that is new, a post, a starved
// group that rejoins, a turn. A turn takes 7 clocks: `seg` is valid 7 clocks after it began, in the
// clock in which the next one may begin; 2 more for each QP passed over for tags, more while
// `window` serves others. An ack takes 2 clocks and a post 3, each 3 more where its group may join
// the list, and room for a probe 2, as a commit. sched_pkg has the words of its memories and what
// is done to them.
// It is longer than a module should be: turns, posts and acknowledgements share three memories and
// the list, and a list of its own would cost a clock a turn and miss the end of a pass.
// SEG-1: segments and their PSNs. SEG-2: a QP's bit in `work` is set while it has data and its PSN
// window is open. SEG-3, SEG-4, SEG-5: a turn checks QP, slot, tags, then window and pool at once:
// the try commits if the pool has room; if not, a shut window still makes the group leave, and an
// open one stops the pass. A half event belongs to a stop that came before it; so `egress_free`
// must show a release when `half_valid` does, and a reservation within 3 clocks.
// SCH-1..5: the list; QPs ascending, cyclic from after the last served. An insertion at the head,
// for retransmissions, would only be `next[group] = head`. QP-3: a post joins, `ring` begins the
// pass. A pass begins with `ring`, with an ack, 15 clocks after a half event, and with a starved
// group that rejoins, unless the pool stopped the last one. A post or an ack takes its group from
// the starved ones to the list, as it may have 0 bytes to send. CC-1's initial window: `window`.
// QP-6: a drop forgets the queue of its QP and is an ack in all else.
// RTX-1, SCH-3: the turn of a QP with a packet that waits asks retransmit for it (2 clocks and what
// the answer takes), tries window and pool as for new data, needs neither slot nor tags nor PSN
// room, and ends there with `end`, taken or not. Nothing to offer is no turn: the QP's bit goes.
// SCH-4, SCH-5: a group in which such a QP is left goes to the head, joining too. SEG-5: without a
// slot the QPs with data are passed over only where another has a packet that waits.
// CPL-2: a copy that ack_ask wants begins a pass and goes before every group, in a turn that asks
// retransmit for it and needs room in the pool alone; without, it stops the pass.
// BUF-5: with a prefetch buffer a fetch takes room there, and the stop of a pass for want of it
// ends as any other. A payload that waits takes egress room as it is committed, in the order of
// payload_fetch, pass or none; a turn that can begin goes between two commits, so that a packet
// that goes again is not kept from the room. A packet that the egress pool refuses holds commits
// until the next pass begins (`held`); fetches go on. Bytes are in flight from the fetch on
// (SEG-3), so a commit needs no window.
// Borders: message lengths 0, 1, MSS - 1, MSS, MSS + 1, 2^31 - 1; MSS 1 to 8,192; PSN 0xffffff to
// 0; `next - cum` = range + 1 shuts the PSN window, also at 1 and 1,024; `egress_free` = size fits;
// tags 2 and 3; one group on the list; an ack 0 or 0x800000 ahead of `cum` changes no PSN.
// `cfg_range` and `cfg_mss` stay while a QP has data. `qctx` and `smsg` are written before they are
// read, a `work` word counts once `known`. Memory ports are combinational, from requests and read
// data, and read data must stay until the next read.

`include "assert.svh"

module tx_scheduler
  import nic_pkg::*;
  import sched_pkg::*;
#(
  parameter int unsigned QPS = 256
) (
  input logic clk_i,
  input logic rst_ni,

  // Levels, from csr
  input len_t        cfg_mss_i,
  input logic [10:0] cfg_range_i,             // MaxPSNRange
  input psn_t        cfg_initial_psn_i,
  input logic [ 6:0] cfg_wire_overhead_i,
  input logic [ 6:0] cfg_nominal_overhead_i,
  input logic        cfg_prefetch_on_i,

  // Messages and the bell 15 clocks after their acceptance, from doorbell
  input  logic          post_valid_i,
  output logic          post_ready_o,
  input  qp_t           post_qp_i,
  input  dest_t         post_dest_i,
  input  group_t        post_group_i,
  input  logic          post_open_i,   // the QP is new
  input  msg_t          post_msg_i,
  input  logic   [63:0] post_laddr_i,
  input  logic   [63:0] post_raddr_i,
  input  logic   [31:0] post_rkey_i,
  input  logic   [31:0] post_len_i,
  input  logic   [15:0] post_msn_i,
  input  logic          ring_i,

  // Cumulative PSNs, from ack_take
  input  logic   ack_valid_i,
  output logic   ack_ready_o,
  input  qp_t    ack_qp_i,
  input  group_t ack_group_i,
  input  psn_t   ack_cum_i,

  // QPs that send nothing more, from qp_drain
  input  logic   drop_valid_i,
  output logic   drop_ready_o,
  input  qp_t    drop_qp_i,
  input  group_t drop_group_i,

  // QPs with a packet that waits to go again, and their turns, retransmit
  input  logic   wait_valid_i,
  output logic   wait_ready_o,
  input  qp_t    wait_qp_i,
  input  group_t wait_group_i,
  output logic   ask_valid_o,
  input  logic   ask_ready_i,
  output qp_t    ask_qp_o,
  output psn_t   ask_from_o,
  output logic   ask_copy_o,
  input  logic   offer_valid_i,
  input  logic   offer_hit_i,
  input  len_t   offer_len_i,    // stays until the end of the turn
  input  logic   offer_more_i,   // so does this
  output logic   end_valid_o,
  output logic   end_take_o,

  // A message's last packet that is to go again for an ACK, from ack_ask
  input  logic copy_valid_i,
  output logic copy_done_o,   // event: it went, or there is none any more

  // Gate 2, window
  output logic   try_valid_o,
  input  logic   try_ready_i,
  output group_t try_group_o,
  output len_t   try_bytes_o,
  output logic   try_commit_o,
  input  logic   try_rsp_valid_i,
  input  logic   try_rsp_ok_i,

  // Gate 3, egress_arbiter
  input  bytes_t egress_free_i,
  output logic   resv_valid_o,
  output len_t   resv_bytes_o,
  input  logic   half_valid_i,   // a release has left 2 * occupancy <= pool

  // Gate 3 of a fetch with a prefetch buffer, prefetch_pool: `resv_bytes_o` taken or given back
  input  bytes_t prefetch_free_i,
  input  logic   prefetch_half_i,
  output logic   take_valid_o,
  output logic   give_valid_o,

  // Payloads that wait to be committed, from payload_fetch; may be withdrawn
  input  logic commit_valid_i,
  output logic commit_ready_o,  // in this clock
  input  len_t commit_len_i,

  // Room for probes in the same pool, from path_probe
  input  logic room_valid_i,
  output logic room_ready_o,
  input  len_t room_bytes_i,
  output logic room_rsp_valid_o,
  output logic room_rsp_ok_o,     // it is reserved

  // Free slots, from replay_store
  input  logic  slot_valid_i,
  output logic  slot_ready_o,
  input  slot_t slot_i,

  // Segments, to payload_fetch
  output logic           seg_valid_o,
  input  logic           seg_ready_i,
  output segment_t       seg_o,
  input  logic     [8:0] tags_free_i,

  // Messages whose last segment is issued, to completion
  output logic  sent_valid_o,
  input  logic  sent_ready_i,
  output qp_t   sent_qp_o,
  output msg_t  sent_msg_o,
  output slot_t sent_slot_o,   // of the last packet
  output psn_t  sent_psn_o,    // of the last packet
  output psn_t  sent_first_o,  // of the first one, to ack_ask

  // A pass runs; turns refused
  output logic passing_o,
  output logic stall_slots_o,
  output logic stall_tags_o,

  // QP contexts, a word a QP
  output logic         qctx_we_o,
  output logic  [31:0] qctx_waddr_o,
  output qctx_t        qctx_wdata_o,
  output logic         qctx_re_o,
  output logic  [31:0] qctx_raddr_o,
  input  qctx_t        qctx_rdata_i,

  // Messages, a word a message entry
  output logic         smsg_we_o,
  output logic  [31:0] smsg_waddr_o,
  output smsg_t        smsg_wdata_o,
  output logic         smsg_re_o,
  output logic  [31:0] smsg_raddr_o,
  input  smsg_t        smsg_rdata_i,

  // QPs with work, a word a group
  output logic         work_we_o,
  output logic  [31:0] work_waddr_o,
  output work_t        work_wdata_o,
  output logic         work_re_o,
  output logic  [31:0] work_raddr_o,
  input  work_t        work_rdata_i
);

  localparam int unsigned QB = $clog2(QPS);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [3:0] {
    Idle,        // takes the next thing to do and reads for it
    Pick,        // a turn: has the group's word, chooses a QP
    Fetch,       // has its context
    Judge,       // has its message: slots, tags, pool
    TurnWindow,  // waits for the window, then issues, leaves or stops
    PostCtx,     // has the QP's context, writes the message
    PostLink,    // has the tail of its queue, links the message to it
    AckCtx,      // has the QP's context
    DropCtx,     // has the QP's context
    WaitCtx,     // has the group's word
    Ask,         // asks retransmit for a packet, and waits for it
    AskWindow,   // waits for the window, then sends it again, leaves or stops
    JoinWindow,  // waits for the window, then the group joins
    Room,        // reserves for a probe, if there is room
    Commit       // the same for a payload
  } state_e;

  typedef struct {
    state_e         state;
    logic           passing;
    logic           stopped;         // by the pool
    logic           armed;           // for the first half event since a stop
    logic           prefetch_armed;  // the same of the prefetch buffer
    logic           held;            // no commit until a pass begins
    logic           yields;          // the last one was a commit
    logic [14:0]    bells;           // a half event on its way to a pass
    group_t         head;            // the ready list, `count` groups
    group_t         tail;
    logic [8:0]     count;
    group_t         next[QPS];
    logic [QPS-1:0] on_list;
    logic [QPS-1:0] starved;         // left the list for want of slots or tags
    logic [QPS-1:0] known;           // the group's word in `work` counts
    qp_t            qp;              // chosen in this turn
    logic           wrapped;         // it is not above the QP last served
    logic           again;           // another was passed over before it
    logic           slotless;        // for want of a slot
    logic           front;           // the group that is to join goes to the head
    logic           copies;          // a copy for an ACK waits
    logic           copying;         // the turn is its
    logic           copy_done;
    logic           ask_valid;
    psn_t           ask_from;
    logic           end_valid;
    logic           end_take;
    logic           try_valid;
    group_t         try_group;
    len_t           try_bytes;
    logic           try_commit;
    logic           resv_valid;
    len_t           resv_bytes;
    logic           take_valid;
    logic           give_valid;
    logic           room_rsp_valid;
    logic           room_rsp_ok;
    logic           seg_valid;
    segment_t       seg;
    logic           sent_valid;
    qp_t            sent_qp;
    msg_t           sent_msg;
    slot_t          sent_slot;
    psn_t           sent_psn;
    psn_t           sent_first;
    logic           stall_slots;
    logic           stall_tags;
  } regs_t;

  localparam regs_t RESET = '{state: Idle, default: '0};

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

  assign try_valid_o      = regs_q.try_valid;
  assign try_group_o      = regs_q.try_group;
  assign try_bytes_o      = regs_q.try_bytes;
  assign try_commit_o     = regs_q.try_commit;
  assign resv_valid_o     = regs_q.resv_valid;
  assign resv_bytes_o     = regs_q.resv_bytes;
  assign take_valid_o     = regs_q.take_valid;
  assign give_valid_o     = regs_q.give_valid;
  assign room_ready_o     = regs_q.state == Room;
  assign room_rsp_valid_o = regs_q.room_rsp_valid;
  assign room_rsp_ok_o    = regs_q.room_rsp_ok;
  assign seg_valid_o      = regs_q.seg_valid;
  assign seg_o            = regs_q.seg;
  assign sent_valid_o     = regs_q.sent_valid;
  assign sent_qp_o        = regs_q.sent_qp;
  assign sent_msg_o       = regs_q.sent_msg;
  assign sent_slot_o      = regs_q.sent_slot;
  assign sent_psn_o       = regs_q.sent_psn;
  assign sent_first_o     = regs_q.sent_first;
  assign passing_o        = regs_q.passing;
  assign stall_slots_o    = regs_q.stall_slots;
  assign stall_tags_o     = regs_q.stall_tags;
  assign post_ready_o     = regs_q.state == PostLink;
  assign ack_ready_o      = regs_q.state == AckCtx;
  assign drop_ready_o     = regs_q.state == DropCtx;
  assign wait_ready_o     = regs_q.state == WaitCtx;
  assign ask_valid_o      = regs_q.ask_valid;
  assign ask_qp_o         = regs_q.qp;
  assign ask_from_o       = regs_q.ask_from;
  assign ask_copy_o       = regs_q.copying;
  assign copy_done_o      = regs_q.copy_done;
  assign end_valid_o      = regs_q.end_valid;
  assign end_take_o       = regs_q.end_take;

  // The group at work and its word.
  group_t group;
  work_t  work;
  always_comb begin
    unique case (regs_q.state)
      PostCtx, PostLink: group = post_group_i;
      AckCtx: group = ack_group_i;
      DropCtx: group = drop_group_i;
      WaitCtx: group = wait_group_i;
      Idle: begin
        group = ack_valid_i ? ack_group_i : drop_valid_i ? drop_group_i
            : wait_valid_i ? wait_group_i : post_valid_i ? post_group_i : regs_q.head;
      end
      default: group = regs_q.head;
    endcase
    work = regs_q.known[group[QB-1:0]] ? work_rdata_i : {8'hff, 512'd0};
  end

  logic asks;  // the turn is that of a packet that goes again
  assign asks = regs_q.state inside {Ask, AskWindow};

  logic fetches;  // the turn is that of a segment
  assign fetches = regs_q.state inside {Judge, TurnWindow};

  // The next segment of the QP whose context and message have been read (SEG-1).
  logic [31:0] left;
  logic        last;
  len_t        len;
  len_t        size;  // on the wire
  logic        fits;  // into the egress pool, or a fetch into the prefetch buffer
  assign left = smsg_rdata_i.len - qctx_rdata_i.sent;
  assign last = left <= 32'(cfg_mss_i);
  assign len = last ? left[13:0] : cfg_mss_i;
  assign size = (regs_q.state == Commit ? commit_len_i : asks ? offer_len_i : len)
      + 14'(cfg_wire_overhead_i);
  assign fits = (fetches && cfg_prefetch_on_i ? prefetch_free_i : egress_free_i) >= 32'(size);
  assign commit_ready_o = regs_q.state == Commit && commit_valid_i && fits;

  logic    issue;  // SEG-5: the segment passes all gates
  choice_t choice;
  qp_t     from;  // a turn goes to the QP after it
  logic    passes;  // the window is open, and its bytes have entered flight
  logic    resend;  // a packet goes again
  logic    misses;  // there is none
  logic    copies;  // a copy is there, and the pool has room
  assign passes = try_rsp_valid_i && try_rsp_ok_i && regs_q.try_commit;
  assign issue = regs_q.state == TurnWindow && passes;
  assign resend = regs_q.state == AskWindow && passes;
  assign misses = regs_q.state == Ask && !regs_q.copying && offer_valid_i && !offer_hit_i;
  assign copies = regs_q.state == Ask && regs_q.copying && offer_valid_i && offer_hit_i && fits;
  assign from = regs_q.again ? regs_q.qp : work.last;
  assign choice = regs_q.state == Pick ? choose(work, from, regs_q.wrapped) : '0;
  assign slot_ready_o = issue;

  // The QP at work before this clock and after it.
  qctx_t was;
  qctx_t ctx;
  logic  ready;  // it has data and its PSN window is open
  always_comb begin
    was = qctx_rdata_i;
    if (post_open_i && (regs_q.state == PostCtx || regs_q.state == PostLink)) begin
      was      = '0;
      was.dest = post_dest_i;
      was.next = cfg_initial_psn_i;
      was.cum  = cfg_initial_psn_i - 24'd1;
    end
    unique case (regs_q.state)
      PostLink: ctx = after_post(was, post_msg_i);
      AckCtx:   ctx = after_ack(was, ack_cum_i);
      DropCtx:  ctx = after_drop(was);
      default:  ctx = after_issue(was, smsg_rdata_i.next, len, last);
    endcase
    ready = ctx.queued && psn_open(ctx.next, ctx.cum, cfg_range_i);
  end

  logic write;  // of a context and a group's word
  qp_t  qp;
  assign write = issue || regs_q.state inside {PostLink, AckCtx, DropCtx};
  always_comb begin
    unique case (regs_q.state)
      PostLink: qp = post_qp_i;
      AckCtx:   qp = ack_qp_i;
      DropCtx:  qp = drop_qp_i;
      WaitCtx:  qp = wait_qp_i;
      default:  qp = regs_q.qp;
    endcase
  end

  logic news;  // a copy that is new
  logic asked;  // by ack, drop or post
  assign news  = copy_valid_i && !regs_q.copies && !regs_q.copy_done
      && !(ack_valid_i || drop_valid_i || wait_valid_i);
  assign asked = ack_valid_i || drop_valid_i || (post_valid_i && !wait_valid_i && !news);

  logic marks;  // a group's word alone
  assign marks = regs_q.state == WaitCtx || resend || misses;

  always_comb begin
    qctx_we_o    = write;
    qctx_waddr_o = write ? 32'(qp) : '0;
    qctx_wdata_o = write ? ctx : '0;
    qctx_re_o    = choice.any || (regs_q.state == Idle && asked);
    qctx_raddr_o = '0;
    if (qctx_re_o) begin
      qctx_raddr_o = choice.any ? 32'(choice.qp) : ack_valid_i ? 32'(ack_qp_i)
          : drop_valid_i ? 32'(drop_qp_i) : 32'(post_qp_i);
    end

    work_we_o    = write || marks;
    work_waddr_o = work_we_o ? 32'(group) : '0;
    work_wdata_o = '0;
    if (work_we_o) begin
      work_wdata_o = work;
      if (write) begin
        work_wdata_o.qps[qp] = ready;
      end
      if (marks || regs_q.state == DropCtx) begin
        work_wdata_o.rtx[qp] = regs_q.state == WaitCtx || (resend && offer_more_i);
      end
      if (issue || resend) begin
        work_wdata_o.last = qp;
      end
    end
    work_re_o    = regs_q.state == Idle
        && (asked || wait_valid_i || (regs_q.passing && regs_q.count != '0 && !news));
    work_raddr_o = work_re_o ? 32'(group) : '0;

    smsg_we_o = 1'b0;
    smsg_waddr_o = '0;
    smsg_wdata_o = '0;
    smsg_re_o = 1'b0;
    smsg_raddr_o = '0;
    unique case (regs_q.state)
      Fetch: begin
        smsg_re_o    = 1'b1;
        smsg_raddr_o = 32'(was.head);
      end
      PostCtx: begin
        smsg_re_o    = was.queued;
        smsg_raddr_o = was.queued ? 32'(was.tail) : '0;
        smsg_we_o    = 1'b1;
        smsg_waddr_o = 32'(post_msg_i);
        smsg_wdata_o = {post_laddr_i, post_raddr_i, post_rkey_i, post_len_i, post_msn_i, 10'd0};
      end
      PostLink: begin
        if (was.queued) begin
          smsg_we_o         = 1'b1;
          smsg_waddr_o      = 32'(was.tail);
          smsg_wdata_o      = smsg_rdata_i;
          smsg_wdata_o.next = post_msg_i;
        end
      end
      default: ;
    endcase
  end

  ////////////////
  // Next state //
  ////////////////

  logic room;  // for the segments of a starved group
  assign room = slot_valid_i && tags_free_i >= 9'd3;

  logic turns;  // one can begin
  logic commits;  // so can a commit
  assign turns = regs_q.passing && (regs_q.copies || (regs_q.count != '0
      && !(regs_q.seg_valid && !seg_ready_i) && !(regs_q.sent_valid && !sent_ready_i)));
  assign commits = commit_valid_i && !regs_q.held && !(regs_q.yields && turns);

  logic   pop;  // the head leaves the list
  logic   starve;  // into the starved ones
  logic   push;  // `joins` goes to the tail
  logic   front;  // no, to the head
  group_t joins;
  logic   begins;  // a pass

  always_comb begin
    regs_d = regs_q;
    pop = 1'b0;
    starve = 1'b0;
    push = 1'b0;
    front = 1'b0;
    joins = regs_q.head;
    begins             = ring_i || regs_q.bells[14] || (ack_ready_o && ack_valid_i)
        || (drop_ready_o && drop_valid_i) || wait_ready_o;

    regs_d.bells = {
      regs_q.bells[13:0],
      (half_valid_i && regs_q.armed) || (prefetch_half_i && regs_q.prefetch_armed)
    };
    regs_d.armed = regs_q.armed && !half_valid_i;
    regs_d.prefetch_armed = regs_q.prefetch_armed && !prefetch_half_i;
    regs_d.try_valid = regs_q.try_valid && !try_ready_i;
    regs_d.seg_valid = regs_q.seg_valid && !seg_ready_i;
    regs_d.sent_valid = regs_q.sent_valid && !sent_ready_i;
    regs_d.resv_valid = (issue && !cfg_prefetch_on_i) || resend || copies || commit_ready_o;
    regs_d.take_valid = issue && cfg_prefetch_on_i;
    regs_d.give_valid = commit_ready_o;
    regs_d.room_rsp_valid = 1'b0;
    regs_d.ask_valid = regs_q.ask_valid && !ask_ready_i;
    regs_d.end_valid = 1'b0;
    regs_d.copy_done = 1'b0;
    regs_d.stall_slots = 1'b0;
    regs_d.stall_tags = 1'b0;

    unique case (regs_q.state)
      Idle: begin
        regs_d.again = 1'b0;
        regs_d.wrapped = 1'b0;
        regs_d.slotless = 1'b0;
        if (ack_valid_i) begin
          regs_d.state = AckCtx;
        end else if (drop_valid_i) begin
          regs_d.state = DropCtx;
        end else if (wait_valid_i) begin
          regs_d.state = WaitCtx;
        end else if (room_valid_i) begin
          regs_d.state = Room;
        end else if (commits) begin
          regs_d.state = Commit;
        end else if (news) begin
          regs_d.copies = 1'b1;
          begins        = 1'b1;
        end else if (post_valid_i) begin
          regs_d.state = PostCtx;
        end else if (room && regs_q.starved != '0) begin
          push   = 1'b1;
          joins  = lowest(256'(regs_q.starved));
          begins = begins || !regs_q.stopped;
        end else if (regs_q.passing && regs_q.copies) begin
          regs_d.copying   = 1'b1;
          regs_d.ask_valid = 1'b1;
          regs_d.yields    = 1'b0;
          regs_d.state     = Ask;
        end else if (regs_q.count == '0) begin
          regs_d.passing = 1'b0;
        end else if (regs_q.passing && !regs_d.seg_valid && !regs_d.sent_valid) begin
          regs_d.yields = 1'b0;
          regs_d.state  = Pick;
        end
      end

      Pick: begin
        regs_d.qp      = choice.qp;
        regs_d.wrapped = choice.wrapped;
        if (choice.any) begin
          regs_d.state = Fetch;
        end else begin
          pop                = 1'b1;
          starve             = regs_q.again;
          regs_d.stall_tags  = regs_q.again && !regs_q.slotless;
          regs_d.stall_slots = regs_q.slotless;
          regs_d.state       = Idle;
        end
      end

      Fetch: begin
        regs_d.state = Judge;
        if (work.rtx[regs_q.qp]) begin
          regs_d.ask_valid = 1'b1;
          regs_d.ask_from  = was.cum + 24'd1;
          regs_d.state     = Ask;
        end
      end

      Judge: begin
        if (!slot_valid_i && work.rtx != '0) begin
          regs_d.again    = 1'b1;
          regs_d.slotless = 1'b1;
          regs_d.state    = Pick;
        end else if (!slot_valid_i) begin
          pop                = 1'b1;
          starve             = 1'b1;
          regs_d.stall_slots = 1'b1;
          regs_d.state       = Idle;
        end else if (len != '0 && tags_free_i < 9'd3) begin
          regs_d.again = 1'b1;
          regs_d.state = Pick;
        end else begin
          regs_d.try_valid  = 1'b1;
          regs_d.try_group  = group;
          regs_d.try_bytes  = len + 14'(cfg_nominal_overhead_i);
          regs_d.try_commit = fits;
          regs_d.state      = TurnWindow;
        end
      end

      TurnWindow: begin
        if (try_rsp_valid_i) begin
          regs_d.state = Idle;
          if (!try_rsp_ok_i) begin
            pop = 1'b1;
          end else if (regs_q.try_commit) begin
            pop   = 1'b1;
            push  = any_work(work_wdata_o);
            front = work_wdata_o.rtx != '0;
          end else if (fits) begin  // the pool has drained meanwhile
            regs_d.try_valid  = 1'b1;
            regs_d.try_commit = 1'b1;
            regs_d.state      = TurnWindow;
          end else begin
            regs_d.passing        = 1'b0;
            regs_d.stopped        = 1'b1;
            regs_d.armed          = regs_d.armed || !cfg_prefetch_on_i;
            regs_d.prefetch_armed = regs_d.prefetch_armed || cfg_prefetch_on_i;
          end
        end
      end

      Ask: begin
        if (offer_valid_i && regs_q.copying) begin
          regs_d.copying   = 1'b0;
          regs_d.end_valid = offer_hit_i;
          regs_d.end_take  = fits;
          regs_d.state     = Idle;
          if (offer_hit_i && !fits) begin
            regs_d.passing = 1'b0;
            regs_d.stopped = 1'b1;
            regs_d.armed   = 1'b1;
            regs_d.held    = 1'b1;
          end else begin
            regs_d.copies    = 1'b0;
            regs_d.copy_done = 1'b1;
          end
        end else if (misses) begin
          regs_d.state = Idle;
        end else if (offer_valid_i) begin
          regs_d.try_valid  = 1'b1;
          regs_d.try_group  = group;
          regs_d.try_bytes  = offer_len_i + 14'(cfg_nominal_overhead_i);
          regs_d.try_commit = fits;
          regs_d.state      = AskWindow;
        end
      end

      AskWindow: begin
        if (try_rsp_valid_i) begin
          regs_d.state     = Idle;
          regs_d.end_valid = 1'b1;
          regs_d.end_take  = resend;
          if (resend) begin
            pop   = 1'b1;
            push  = any_work(work_wdata_o);
            front = work_wdata_o.rtx != '0;
          end else if (!try_rsp_ok_i) begin
            pop = 1'b1;
          end else if (fits) begin  // the pool has drained meanwhile
            regs_d.end_valid  = 1'b0;
            regs_d.end_take   = regs_q.end_take;
            regs_d.try_valid  = 1'b1;
            regs_d.try_commit = 1'b1;
            regs_d.state      = AskWindow;
          end else begin
            regs_d.passing = 1'b0;
            regs_d.stopped = 1'b1;
            regs_d.armed   = 1'b1;
            regs_d.held    = 1'b1;
          end
        end
      end

      PostCtx: regs_d.state = PostLink;

      PostLink, AckCtx, DropCtx, WaitCtx: begin
        regs_d.state = Idle;
        regs_d.front = work_wdata_o.rtx != '0;
        if (any_work(work_wdata_o) && !regs_q.on_list[group[QB-1:0]]) begin
          regs_d.try_valid  = 1'b1;
          regs_d.try_group  = group;
          regs_d.try_bytes  = '0;
          regs_d.try_commit = 1'b0;
          regs_d.state      = JoinWindow;
        end
        if (regs_q.state inside {PostLink, WaitCtx}) begin
          regs_d.known[group[QB-1:0]] = 1'b1;
        end
      end

      Room: begin
        regs_d.state          = Idle;
        regs_d.room_rsp_valid = 1'b1;
        regs_d.room_rsp_ok    = egress_free_i >= 32'(room_bytes_i);
        regs_d.resv_valid     = regs_d.room_rsp_ok;
        if (regs_d.room_rsp_ok) begin
          regs_d.resv_bytes = room_bytes_i;
        end
      end

      Commit: begin
        regs_d.state = Idle;
        if (commit_ready_o) begin
          regs_d.yields = 1'b1;
        end else if (commit_valid_i) begin
          regs_d.held  = 1'b1;
          regs_d.armed = 1'b1;
        end
      end

      default: begin  // JoinWindow
        if (try_rsp_valid_i) begin
          push         = try_rsp_ok_i;
          front        = regs_q.front;
          joins        = regs_q.try_group;
          regs_d.state = Idle;
        end
      end
    endcase

    if (issue || resend || copies || commit_ready_o) begin
      regs_d.resv_bytes = size;
    end
    if (issue) begin
      regs_d.seg_valid = 1'b1;
      regs_d.seg = '{
          qp: regs_q.qp,
          dest: qctx_rdata_i.dest,
          group: regs_q.head,
          slot: slot_i,
          msg: qctx_rdata_i.head,
          psn: qctx_rdata_i.next,
          laddr: smsg_rdata_i.laddr + 64'(qctx_rdata_i.sent),
          len: len,
          raddr: smsg_rdata_i.raddr + 64'(qctx_rdata_i.sent),
          rkey: smsg_rdata_i.rkey,
          msg_len: smsg_rdata_i.len,
          msn: smsg_rdata_i.msn,
          first: qctx_rdata_i.sent == '0,
          last: last
      };
      if (last) begin
        regs_d.sent_valid = 1'b1;
        regs_d.sent_qp    = regs_q.qp;
        regs_d.sent_msg   = qctx_rdata_i.head;
        regs_d.sent_slot  = slot_i;
        regs_d.sent_psn   = qctx_rdata_i.next;
        regs_d.sent_first = qctx_rdata_i.sent == '0 ? qctx_rdata_i.next : qctx_rdata_i.first;
      end
    end

    if (pop) begin
      regs_d.head                         = regs_q.next[regs_q.head[QB-1:0]];
      regs_d.count                        = regs_q.count - 9'd1;
      regs_d.on_list[regs_q.head[QB-1:0]] = 1'b0;
      regs_d.starved[regs_q.head[QB-1:0]] = starve;
    end
    if (push) begin
      if (regs_d.count == '0) begin
        regs_d.head = joins;
        regs_d.tail = joins;
      end else if (front) begin
        regs_d.next[joins[QB-1:0]] = regs_d.head;
        regs_d.head                = joins;
      end else begin
        regs_d.next[regs_q.tail[QB-1:0]] = joins;
        regs_d.tail                      = joins;
      end
      regs_d.count                  = regs_d.count + 9'd1;
      regs_d.on_list[joins[QB-1:0]] = 1'b1;
      regs_d.starved[joins[QB-1:0]] = 1'b0;
    end

    if (begins) begin
      regs_d.passing = 1'b1;
      regs_d.stopped = 1'b0;
      regs_d.held    = 1'b0;
    end
  end

  //////////////
  // Contract //
  //////////////

  // Offers wait until they are taken.
  `ASSERT(TryWaits_A, try_valid_o && !try_ready_i |=> try_valid_o && $stable
                      ({try_group_o, try_bytes_o, try_commit_o}))
  `ASSERT(SegWaits_A, seg_valid_o && !seg_ready_i |=> seg_valid_o && $stable(seg_o))
  `ASSERT(SentWaits_A, sent_valid_o && !sent_ready_i |=> sent_valid_o && $stable
                       ({sent_qp_o, sent_msg_o, sent_psn_o}))
  `ASSERT(AskWaits_A, ask_valid_o && !ask_ready_i |=> ask_valid_o && $stable({ask_qp_o, ask_from_o}
                                                                                ))
  // SEG-2, SEG-4: the gates hold at the issue.
  `ASSERT(PsnOpen_A, issue |-> psn_open(qctx_rdata_i.next, qctx_rdata_i.cum, cfg_range_i))
  `ASSERT(Fits_A, issue |-> fits && slot_valid_i)
  // BUF-5: a fetch takes room in one of the two, and a commit gives back what it took.
  `ASSERT(OnePool_A, !(take_valid_o && resv_valid_o))
  `ASSERT(CommitReserves_A, give_valid_o |-> resv_valid_o)
  // SCH-2: a group is on the list once, and not among the starved ones as well.
  `ASSERT(ListCount_A, 9'($countones(regs_q.on_list)) == regs_q.count)
  `ASSERT(ListOrStarved_A, (regs_q.on_list & regs_q.starved) == '0)

endmodule
