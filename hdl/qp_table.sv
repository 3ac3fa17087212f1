// Contexts of the sender sides: opens, closes and looks up QPs, counts their messages and PSNs.
//
// Twin of rtl-model/src/qp_table.rs. One request at a time, 2 clocks each: the context is read in
// the clock in which a request is chosen, the request is taken in the next one, and its response
// or event comes in the third, in which the next request is chosen. Order of choice: find, upd,
// build, done, end, qp; but a qp lets two others go first, no more, so that QP-3's 15 clocks hold
// under any load. An open that starts a group is answered only after window has taken the group.
//
// QP-1, QP-5: a number is generation:16 slot:8. Slots never open come first, in ascending order,
// then the one closed longest ago. The generation starts at 1 and wraps from 0xffff to 0.
// QP-4: PSNs start at cfg_initial_psn. SCH-1: a group is a destination, or else a QP. That of a
// destination lives while a QP to it or a receiving side from it is open, and starts anew in window
// with the first QP of its life. What rx_track tells counts before a request of the same clock
// (section 16).
// QP-5: a close waits while ack_take has a frame of that slot's QP in work, which would go on to
// the next QP there; other requests do not wait.
// QP-6: `dead` has a bit for each QP that is in error or is being closed: it takes no message and
// no frame is its own. A close with a message outstanding is `drain`; qp_drain then frees the
// slot. A bare find is by slot, and finds any QP.
// Borders: the table full; a number of another generation, of a slot beyond the table or never
// open; a close with a message outstanding; the first and the last QP of a group; its last
// receiving side, which closes as a QP opens or closes.
//
// The ctx memory (QPS words of 153 bits) has no defined contents at start: only slots below
// `fresh` have been written. Its port is combinational from the requests and from ctx_rdata.
// Fields of a response are zero where its ok is clear. cfg_groups stays while a QP or a receiving
// side is open.
//
// It is longer than a module should be: it has seven partners, and its ports take a third of it.

`include "assert.svh"

module qp_table
  import nic_pkg::*;
  import qp_pkg::*;
#(
  parameter int unsigned QPS = 256
) (
  input logic clk_i,
  input logic rst_ni,

  // Look-ups of a frame's QP, from ack_take
  input  logic          find_valid_i,
  output logic          find_ready_o,
  input  qpn_t          find_qpn_i,
  input  logic          find_bare_i,
  input  logic   [31:0] find_dest_ip_i,
  output logic          find_rsp_valid_o,
  output logic          find_rsp_ok_o,
  output qp_t           find_rsp_qp_o,
  output psn_t          find_rsp_given_o,
  output psn_t          find_rsp_cum_o,
  output group_t        find_rsp_group_o,
  output dest_t         find_rsp_dest_o,
  output logic          find_rsp_recovers_o,
  output psn_t          find_rsp_recover_o,

  // Cumulative PSNs and receivers' numbers, from ack_take
  input  logic upd_valid_i,
  output logic upd_ready_o,
  input  qp_t  upd_qp_i,
  input  psn_t upd_cum_i,
  input  logic upd_learn_i,
  input  qpn_t upd_remote_i,
  input  logic upd_recovers_i,
  input  psn_t upd_recover_i,
  output logic upd_done_o,

  // PSNs given, from packet_build
  input  logic build_valid_i,
  output logic build_ready_o,
  input  qp_t  build_qp_i,
  input  psn_t build_psn_i,
  input  logic build_again_i,             // it was given before
  output logic build_rsp_valid_o,
  output qpn_t build_rsp_qpn_o,
  output logic build_rsp_remote_valid_o,
  output qpn_t build_rsp_remote_o,

  // Level, from ack_take: the QP of the frame in work
  input logic work_valid_i,
  input qp_t  work_qp_i,

  // Opens, posts and closes, from doorbell
  input  logic          qp_valid_i,
  output logic          qp_ready_o,
  input  logic   [ 1:0] qp_op_i,
  input  qpn_t          qp_qpn_i,
  input  dest_t         qp_dest_i,
  output logic          qp_rsp_valid_o,
  output logic          qp_rsp_ok_o,
  output logic          qp_rsp_full_o,
  output logic          qp_rsp_failed_o,
  output qpn_t          qp_rsp_qpn_o,
  output group_t        qp_rsp_group_o,
  output dest_t         qp_rsp_dest_o,
  output logic   [15:0] qp_rsp_msn_o,

  // Messages completed, from completion
  input  logic done_valid_i,
  output logic done_ready_o,
  input  qp_t  done_qp_i,

  // Closes with messages outstanding, to qp_drain; its marks and frees
  output logic   drain_valid_o,
  output qp_t    drain_qp_o,
  input  logic   end_valid_i,
  output logic   end_ready_o,
  input  qp_t    end_qp_i,
  input  logic   end_close_i,  // a mark is for a close, not for an error
  input  logic   end_free_i,   // its slot is to be free
  output logic   end_rsp_valid_o,
  output logic   end_rsp_ok_o,
  output qpn_t   end_rsp_qpn_o,
  output group_t end_rsp_group_o,

  // Receiving sides that are there and that are closed, from rx_track
  input logic  rx_created_valid_i,
  input dest_t rx_created_dest_i,
  input logic  rx_closed_valid_i,
  input dest_t rx_closed_dest_i,

  // QPs in error or being closed, to payload_fetch
  output logic [255:0] dead_o,

  // Groups that begin, to window
  output logic   open_valid_o,
  input  logic   open_ready_i,
  output group_t open_group_o,

  // For the log
  output logic  created_valid_o,
  output qpn_t  created_qpn_o,
  output dest_t created_dest_o,
  output logic  closed_valid_o,
  output qpn_t  closed_qpn_o,

  // Contexts, in ram_1r1w
  output logic         ctx_we_o,
  output logic [ 31:0] ctx_waddr_o,
  output logic [152:0] ctx_wdata_o,
  output logic         ctx_re_o,
  output logic [ 31:0] ctx_raddr_o,
  input  logic [152:0] ctx_rdata_i,

  // Levels, from csr
  input psn_t          cfg_initial_psn_i,
  input logic          cfg_groups_i,
  input logic [2047:0] cfg_peer_ip_i
);

  localparam qp_t SLOT_MASK = qp_t'(QPS - 1);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle    = 3'd0,
    Find    = 3'd1,
    Upd     = 3'd2,
    Build   = 3'd3,
    Done    = 3'd4,
    Qp      = 3'd5,
    Opening = 3'd6,
    End     = 3'd7
  } state_e;

  typedef struct {
    state_e       state;            // the request whose context has been read
    logic [1:0]   waited;           // requests chosen while a qp waited
    logic         find_rsp_valid;
    find_rsp_t    find_rsp;
    logic         upd_done;
    logic         build_rsp_valid;
    build_rsp_t   build_rsp;
    logic         qp_rsp_valid;
    qp_rsp_t      qp_rsp;
    logic         end_rsp_valid;
    end_rsp_t     end_rsp;
    logic         created;
    logic         closed;
    logic         freed;            // closed, by qp_drain
    logic         drain;
    logic [8:0]   fresh;            // slots that have been open; the next one never was
    qp_t          head;             // of the list of closed slots
    qp_t          tail;
    logic [8:0]   count;
    qp_t          slots[QPS];       // closed slots, oldest at head
    logic [8:0]   refs[64];         // open QPs of a destination
    logic [8:0]   rx_refs[64];      // open receiving sides of a destination
    logic [63:0]  lives;            // destinations whose group has begun in window and not ended
    logic [255:0] dead;             // QPs in error or being closed
  } regs_t;

  localparam regs_t RESET = '{
      state: Idle,
      slots: '{default: '0},
      refs: '{default: '0},
      rx_refs: '{default: '0},
      default: '0
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

  assign find_ready_o = regs_q.state == Find;
  assign upd_ready_o = regs_q.state == Upd;
  assign build_ready_o = regs_q.state == Build;
  assign done_ready_o = regs_q.state == Done;
  assign qp_ready_o = regs_q.state == Qp;
  assign find_rsp_valid_o = regs_q.find_rsp_valid;
  assign upd_done_o = regs_q.upd_done;
  assign build_rsp_valid_o = regs_q.build_rsp_valid;
  assign qp_rsp_valid_o = regs_q.qp_rsp_valid;
  assign end_ready_o = regs_q.state == End;
  assign end_rsp_valid_o = regs_q.end_rsp_valid;
  assign drain_valid_o = regs_q.drain;
  assign drain_qp_o = regs_q.qp_rsp.qpn[7:0];
  assign dead_o = regs_q.dead;
  assign open_valid_o = regs_q.state == Opening;
  assign open_group_o = regs_q.qp_rsp.group;
  assign created_valid_o = regs_q.created;
  assign created_qpn_o = regs_q.qp_rsp.qpn;
  assign created_dest_o = regs_q.qp_rsp.dest;
  assign closed_valid_o = regs_q.closed || regs_q.freed;
  assign closed_qpn_o = regs_q.freed ? regs_q.end_rsp.qpn : regs_q.qp_rsp.qpn;

  assign {find_rsp_ok_o, find_rsp_qp_o, find_rsp_given_o, find_rsp_cum_o, find_rsp_group_o,
          find_rsp_dest_o, find_rsp_recovers_o, find_rsp_recover_o} = regs_q.find_rsp;
  assign {build_rsp_qpn_o, build_rsp_remote_valid_o, build_rsp_remote_o} = regs_q.build_rsp;
  assign {qp_rsp_ok_o, qp_rsp_full_o, qp_rsp_failed_o, qp_rsp_qpn_o, qp_rsp_group_o, qp_rsp_dest_o,
          qp_rsp_msn_o} = regs_q.qp_rsp;
  assign {end_rsp_ok_o, end_rsp_qpn_o, end_rsp_group_o} = regs_q.end_rsp;

  ////////////////
  // Next state //
  ////////////////

  // The slot that an open gets
  qp_t  free_slot;
  logic reused;  // it has been open before
  logic full;
  assign reused    = 32'(regs_q.fresh) == QPS;
  assign free_slot = reused ? regs_q.slots[regs_q.head] : regs_q.fresh[7:0];
  assign full      = reused && regs_q.count == '0;

  // The request chosen, or the one in work, and its slot
  state_e request;
  qp_t    slot;
  logic   asks;  // qp, and no close of the QP of the frame in work

  assign asks = qp_valid_i && !(qp_op_i == QP_CLOSE && work_valid_i && work_qp_i == qp_qpn_i[7:0]);

  always_comb begin
    request = regs_q.state;
    if (regs_q.state == Idle) begin
      if (asks && regs_q.waited == 2'd2) request = Qp;
      else if (find_valid_i) request = Find;
      else if (upd_valid_i) request = Upd;
      else if (build_valid_i) request = Build;
      else if (done_valid_i) request = Done;
      else if (end_valid_i) request = End;
      else if (asks) request = Qp;
    end
    unique case (request)
      Find:    slot = find_qpn_i[7:0];
      Upd:     slot = upd_qp_i;
      Build:   slot = build_qp_i;
      Done:    slot = done_qp_i;
      End:     slot = end_qp_i;
      Qp:      slot = qp_op_i == QP_OPEN ? free_slot : qp_qpn_i[7:0];
      default: slot = '0;
    endcase
  end

  // Its context, what the requests ask of it, and what is written back
  ctx_t    ctx;
  ctx_t    after;
  logic    is_open;  // under the number asked for
  logic    find_ok;
  logic    mine;   // the QP is open, and to the destination named
  logic    whole;  // every message posted on it has completed
  logic    marks;  // qp_drain's mark holds
  qp_rsp_t qp_rsp;

  assign ctx = ctx_rdata_i;
  assign is_open = 9'(slot) < regs_q.fresh && ctx.open &&
                   ctx.gen == (request == Find ? find_qpn_i[23:8] : qp_qpn_i[23:8]);
  assign find_ok = find_bare_i || is_open && !regs_q.dead[slot] &&
                   cfg_peer_ip_i[32*ctx.dest+:32] == find_dest_ip_i;
  assign mine = is_open && ctx.dest == qp_dest_i;
  assign whole = ctx.posted == ctx.done;
  assign marks = ctx.open && (end_close_i || !regs_q.dead[slot]);

  always_comb begin
    qp_rsp = '0;
    unique case (qp_op_i)
      QP_OPEN: begin
        qp_rsp.ok   = !full;
        qp_rsp.full = full;
        qp_rsp.qpn  = {reused ? ctx.gen + 16'd1 : 16'd1, slot};
        qp_rsp.dest = qp_dest_i;
      end
      QP_POST, QP_CLOSE: begin
        qp_rsp.ok     = qp_op_i == QP_POST ? mine && !regs_q.dead[slot] : is_open;
        qp_rsp.failed = qp_op_i == QP_POST && mine && regs_q.dead[slot];
        qp_rsp.qpn    = qp_qpn_i;
        qp_rsp.dest   = ctx.dest;
        qp_rsp.msn    = ctx.posted;
      end
      default: qp_rsp.ok = 1'b0;
    endcase
    qp_rsp.group = group_of(slot, qp_rsp.dest, cfg_groups_i);
    if (!qp_rsp.ok) begin
      qp_rsp = '{full: qp_rsp.full, failed: qp_rsp.failed, default: '0};
    end
  end

  logic frees;  // the slot
  always_comb begin
    regs_d                 = regs_q;
    regs_d.state           = Idle;
    regs_d.find_rsp_valid  = 1'b0;
    regs_d.upd_done        = 1'b0;
    regs_d.build_rsp_valid = 1'b0;
    regs_d.qp_rsp_valid    = 1'b0;
    regs_d.end_rsp_valid   = 1'b0;
    regs_d.created         = 1'b0;
    regs_d.closed          = 1'b0;
    regs_d.freed           = 1'b0;
    regs_d.drain           = 1'b0;
    after                  = ctx;
    frees                  = 1'b0;
    ctx_we_o               = 1'b0;

    // SCH-1: the receiving sides of each destination
    if (rx_created_valid_i) begin
      regs_d.rx_refs[rx_created_dest_i] = regs_q.rx_refs[rx_created_dest_i] + 9'd1;
    end
    if (rx_closed_valid_i) begin
      regs_d.rx_refs[rx_closed_dest_i] = regs_d.rx_refs[rx_closed_dest_i] - 9'd1;
      if (regs_d.rx_refs[rx_closed_dest_i] == '0 && regs_q.refs[rx_closed_dest_i] == '0) begin
        regs_d.lives[rx_closed_dest_i] = 1'b0;
      end
    end

    unique case (regs_q.state)
      // Chooses a request and reads its context.
      Idle: begin
        regs_d.state  = request;
        regs_d.waited = !qp_valid_i || request == Qp ? 2'd0 : regs_q.waited + 2'(asks);
      end
      // Answers a look-up.
      Find: begin
        regs_d.find_rsp_valid = 1'b1;
        regs_d.find_rsp       = '0;
        if (find_ok) begin
          regs_d.find_rsp = '{
              ok: 1'b1,
              qp: slot,
              given: ctx.given,
              cum: ctx.cum,
              group: group_of(slot, ctx.dest, cfg_groups_i),
              dest: ctx.dest,
              recovers: ctx.recovers,
              recover: ctx.recover
          };
        end
      end
      // Stores what an acknowledgement tells.
      Upd: begin
        regs_d.upd_done = 1'b1;
        ctx_we_o        = 1'b1;
        after.cum       = upd_cum_i;
        after.recovers  = upd_recovers_i;
        after.recover   = upd_recover_i;
        if (upd_learn_i) begin
          after.remote_valid = 1'b1;
          after.remote       = upd_remote_i;
        end
      end
      // Gives a PSN.
      Build: begin
        regs_d.build_rsp_valid = 1'b1;
        regs_d.build_rsp       = {ctx.gen, slot, ctx.remote_valid, ctx.remote};
        ctx_we_o               = 1'b1;
        if (!build_again_i) begin
          after.given = build_psn_i + 24'd1;
        end
      end
      // Counts a message that has completed.
      Done: begin
        ctx_we_o   = 1'b1;
        after.done = ctx.done + 16'd1;
      end
      // Opens, posts or closes. The first QP of a group is answered later.
      Qp: begin
        regs_d.qp_rsp_valid = 1'b1;
        regs_d.qp_rsp       = qp_rsp;
        ctx_we_o            = qp_rsp.ok;
        if (qp_op_i == QP_OPEN && qp_rsp.ok) begin
          if (!cfg_groups_i || !regs_d.lives[qp_rsp.dest]) begin
            regs_d.state        = Opening;
            regs_d.qp_rsp_valid = 1'b0;
          end else begin
            regs_d.created = 1'b1;
          end
          regs_d.lives[qp_rsp.dest] = regs_d.lives[qp_rsp.dest] || cfg_groups_i;
          regs_d.refs[qp_rsp.dest]  = regs_q.refs[qp_rsp.dest] + 9'd1;
          if (reused) begin
            regs_d.head  = (regs_q.head + 8'd1) & SLOT_MASK;
            regs_d.count = regs_q.count - 9'd1;
          end else begin
            regs_d.fresh = regs_q.fresh + 9'd1;
          end
          after = '{
              gen: qp_rsp.qpn[23:8],
              dest: qp_rsp.dest,
              open: 1'b1,
              given: cfg_initial_psn_i,
              cum: cfg_initial_psn_i - 24'd1,
              posted: 16'd1,
              default: '0
          };
        end else if (qp_op_i == QP_POST) begin
          after.posted = ctx.posted + 16'd1;
        end else if (qp_rsp.ok && (!whole || regs_q.dead[slot])) begin
          regs_d.dead[slot] = 1'b1;
          regs_d.drain      = 1'b1;
        end else if (qp_rsp.ok) begin
          frees         = 1'b1;
          regs_d.closed = 1'b1;
        end
      end
      // Marks a QP, or frees its slot.
      End: begin
        regs_d.end_rsp_valid = 1'b1;
        regs_d.end_rsp = '{
            ok: marks,
            qpn: {ctx.gen, slot},
            group: group_of(slot, ctx.dest, cfg_groups_i)
        };
        ctx_we_o = end_free_i;
        frees = end_free_i;
        regs_d.freed = end_free_i;
        if (end_free_i || marks) begin
          regs_d.dead[slot] = !end_free_i;
        end
      end
      // Waits for window before the open is answered.
      default: begin
        regs_d.state        = open_ready_i ? Idle : Opening;
        regs_d.qp_rsp_valid = open_ready_i;
        regs_d.created      = open_ready_i;
      end
    endcase

    if (frees) begin
      after.open                = 1'b0;
      regs_d.refs[ctx.dest]     = regs_q.refs[ctx.dest] - 9'd1;
      regs_d.slots[regs_q.tail] = slot;
      regs_d.tail               = (regs_q.tail + 8'd1) & SLOT_MASK;
      regs_d.count              = regs_q.count + 9'd1;
      if (regs_d.refs[ctx.dest] == '0 && regs_d.rx_refs[ctx.dest] == '0) begin
        regs_d.lives[ctx.dest] = 1'b0;
      end
    end
  end

  assign ctx_re_o    = regs_q.state == Idle && request != Idle;
  assign ctx_raddr_o = ctx_re_o ? 32'(slot & SLOT_MASK) : '0;
  assign ctx_waddr_o = ctx_we_o ? 32'(slot & SLOT_MASK) : '0;
  assign ctx_wdata_o = ctx_we_o ? after : '0;

  //////////////
  // Contract //
  //////////////

  // A group that window does not take stays as it is.
  `ASSERT(OpenWaits_A, open_valid_o && !open_ready_i |=> open_valid_o)
  `ASSERT(OpenStable_A, open_valid_o && !open_ready_i |=> $stable(open_group_o))
  // A closed slot has been open.
  `ASSERT(ClosedWereOpen_A, regs_q.count <= regs_q.fresh && 32'(regs_q.fresh) <= QPS)
  // No more messages complete than were posted.
  `ASSERT(DoneAfterPost_A, done_ready_o |-> ctx.posted != ctx.done)
  // A response comes for one requester at a time.
  `ASSERT(OneResponse_A, $onehot0({find_rsp_valid_o, upd_done_o, build_rsp_valid_o, qp_rsp_valid_o,
                                   end_rsp_valid_o}))

endmodule
