// Receiver sides: finds or creates the QP of a data packet, judges its PSN, says what is
// delivered and what is answered.
//
// Twin of rtl-model/src/rx_track.rs. QP-4, QP-5, RX-3 to RX-8, ACK-1, SACK-1, SACK-2, MSN-8, CPL-1.
// A packet waits at `in` until it is judged: 5 clocks after it came with R set, 3 with R clear, 1
// without a QP to look for; longer while `deliver` or `answer` of the one before wait. What follows
// from it is there a clock later. A close takes 3 clocks and waits for one packet at most.
//
// Memory `peer`, DESTS x QPS words by {destination, sender's slot}: the receiver side of that
// sender, or the last generation closed. It is swept after reset, a word a clock; nothing is taken
// meanwhile. Memory `rctx`, QPS words by receiver's slot; a slot below `fresh` has been written.
//
// In this version a PSN ahead of the expected one is dropped and counted as DropPsn, within
// cfg_range of the cumulative PSN (Gap: a bitmap unit will hold it) or not (Beyond, RX-4). One
// difference, PSN less cumulative PSN, decides: 0 and down to 0x800000 a duplicate, 1 in order.
//
// Choices: an R packet with a newer generation than the sender's side that is open is dropped as
// DropQp, until the host closes that side. Where no generation was closed, any is new. A trimmed
// packet in the window releases its charge and no more: relt_valid without drop_valid counts it.
// Whoever gives back the charge has it: 0 bytes, duplicates and drops give it back here, and their
// words are passed over by a delivery with `write` clear. RECV_COMPLETE names METH's msn. With
// `answer` held up the next packet waits.
//
// It is longer than a module should be: one state machine has thirty events and words of six
// partners.

`include "assert.svh"

module rx_track
  import nic_pkg::*;
  import track_pkg::*;
#(
  parameter int unsigned QPS   = 256,
  parameter int unsigned DESTS = 64
) (
  input logic clk_i,
  input logic rst_ni,

  // Data and trimmed packets, from ingress_pool
  input  logic    in_valid_i,
  output logic    in_ready_o,
  input  parsed_t in_i,

  // Memory of senders
  output logic         peer_we_o,
  output logic  [31:0] peer_waddr_o,
  output peer_t        peer_wdata_o,
  output logic         peer_re_o,
  output logic  [31:0] peer_raddr_o,
  input  peer_t        peer_rdata_i,

  // Memory of receiver sides
  output logic         rctx_we_o,
  output logic  [31:0] rctx_waddr_o,
  output side_t        rctx_wdata_o,
  output logic         rctx_re_o,
  output logic  [31:0] rctx_raddr_o,
  input  side_t        rctx_rdata_i,

  // To payload_write, in arrival order
  output logic      deliver_valid_o,
  input  logic      deliver_ready_i,
  output delivery_t deliver_o,

  // To ack_build
  output logic    answer_valid_o,
  input  logic    answer_ready_i,
  output answer_t answer_o,

  // Receiver sides to close, from doorbell
  input  logic close_valid_i,
  output logic close_ready_o,
  input  qpn_t close_qpn_i,

  // Events
  output logic         drop_valid_o,
  output drop_e        drop_reason_o,
  output logic         recv_valid_o,
  output qpn_t         recv_qpn_o,
  output logic  [15:0] recv_msn_o,
  output logic         created_valid_o,
  output qpn_t         created_qpn_o,
  output dest_t        created_dest_o,
  output logic         closed_valid_o,
  output qpn_t         closed_qpn_o,
  output logic         dup_valid_o,

  // Releases, to ingress_pool: data class, control class
  output logic rel2_valid_o,
  output len_t rel2_bytes_o,
  output logic relt_valid_o,
  output len_t relt_bytes_o,

  // Levels, from csr
  input logic [  63:0] cfg_peer_valid_i,
  input logic [2047:0] cfg_peer_ip_i,
  input logic [  10:0] cfg_range_i,
  input psn_t          cfg_initial_psn_i,
  input logic [   6:0] cfg_wire_overhead_i,
  input logic [   6:0] cfg_nominal_overhead_i
);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Sweep,  // clears `peer`
    Idle,   // takes up a packet or a close
    Peer,   // reads `peer`
    Look,   // finds the side or makes room for a new one
    Read,   // reads `rctx`
    Judge,  // judges the packet and lets it go
    Aim,    // reads `rctx` for a close
    Shut    // closes the side
  } state_e;

  typedef struct {
    state_e      state;
    logic [13:0] sweep;          // next word to clear
    logic        close_turn;     // a close goes before the next packet
    dest_t       dest;
    qp_t         slot;           // the sender's until Look, then ours
    logic        create;
    drop_e       drop;           // found before Judge
    logic [8:0]  fresh;          // slots never opened start here
    qp_t         free[QPS];      // slots closed, oldest first
    qp_t         free_head;
    logic [8:0]  free_count;
    logic        peer_we;
    logic [31:0] peer_waddr;
    peer_t       peer_wdata;
    logic        rctx_we;
    qp_t         rctx_waddr;
    side_t       rctx_wdata;
    logic        deliver_valid;
    delivery_t   deliver;
    logic        answer_valid;
    answer_t     answer;
    logic        drop_valid;
    drop_e       drop_reason;
    logic        recv_valid;
    qpn_t        recv_qpn;
    logic [15:0] recv_msn;
    logic        created_valid;
    qpn_t        created_qpn;
    dest_t       created_dest;
    logic        closed_valid;
    qpn_t        closed_qpn;
    logic        dup_valid;
    logic        rel2_valid;
    logic        relt_valid;
    len_t        rel_bytes;
  } regs_t;

  localparam regs_t RESET = '{
      state: Sweep,
      drop: DropNone,
      drop_reason: DropNone,
      free: '{default: '0},
      peer_wdata: peer_t'(0),
      rctx_wdata: side_t'(0),
      deliver: delivery_t'(0),
      answer: answer_t'(0),
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

  assign in_ready_o      = regs_q.state == Judge && !regs_q.deliver_valid && !regs_q.answer_valid;
  assign peer_we_o       = regs_q.peer_we;
  assign peer_waddr_o    = regs_q.peer_waddr;
  assign peer_wdata_o    = regs_q.peer_wdata;
  assign peer_re_o       = regs_q.state == Peer;
  assign peer_raddr_o    = peer_word(regs_q.dest, regs_q.slot);
  assign rctx_we_o       = regs_q.rctx_we;
  assign rctx_waddr_o    = 32'(regs_q.rctx_waddr);
  assign rctx_wdata_o    = regs_q.rctx_wdata;
  assign rctx_re_o       = regs_q.state == Read || regs_q.state == Aim;
  assign rctx_raddr_o    = 32'(regs_q.slot);
  assign deliver_valid_o = regs_q.deliver_valid;
  assign deliver_o       = regs_q.deliver;
  assign answer_valid_o  = regs_q.answer_valid;
  assign answer_o        = regs_q.answer;
  assign close_ready_o   = regs_q.state == Shut;
  assign drop_valid_o    = regs_q.drop_valid;
  assign drop_reason_o   = regs_q.drop_reason;
  assign recv_valid_o    = regs_q.recv_valid;
  assign recv_qpn_o      = regs_q.recv_qpn;
  assign recv_msn_o      = regs_q.recv_msn;
  assign created_valid_o = regs_q.created_valid;
  assign created_qpn_o   = regs_q.created_qpn;
  assign created_dest_o  = regs_q.created_dest;
  assign closed_valid_o  = regs_q.closed_valid;
  assign closed_qpn_o    = regs_q.closed_qpn;
  assign dup_valid_o     = regs_q.dup_valid;
  assign rel2_valid_o    = regs_q.rel2_valid;
  assign rel2_bytes_o    = regs_q.rel_bytes;
  assign relt_valid_o    = regs_q.relt_valid;
  assign relt_bytes_o    = regs_q.rel_bytes;

  ///////////////
  // Judgement //
  ///////////////

  // A sender's slot in the memory `peer`.
  function automatic logic [31:0] peer_word(dest_t dest, qp_t slot);
    return 32'(dest) * QPS + 32'(slot);
  endfunction

  // `n` places after `head` in the ring of free slots.
  function automatic qp_t wrap(qp_t head, logic [8:0] n);
    return qp_t'((32'(head) + 32'(n)) % QPS);
  endfunction

  logic  from_peer;  // the packet's source is a destination of ours
  dest_t source;  // that destination, the lowest of several
  always_comb begin
    from_peer = 1'b0;
    source    = '0;
    if (regs_q.state == Idle && in_valid_i) begin
      for (int unsigned d = 0; d < DESTS; d++) begin
        if (!from_peer && cfg_peer_valid_i[d] && cfg_peer_ip_i[32*d+:32] == in_i.src_ip) begin
          from_peer = 1'b1;
          source    = dest_t'(d);
        end
      end
    end
  end

  logic  [15:0] newer;  // the packet's generation less the one known; the top bit: it is older
  logic         mine;  // the side that was read is that of the packet's number and peer
  side_t        side;  // that side, or the one that is created
  qpn_t         own;  // its number
  psn_t         beyond;  // how far the packet is beyond the cumulative PSN
  logic         in_window;  // at most cfg_range (RX-4)
  logic         in_order;
  drop_e        verdict;
  logic         data;  // untrimmed
  logic         counts;  // data in order or a duplicate: what may draw an answer
  logic         whole;  // completes its message
  logic  [14:0] count;
  logic         sack;
  side_t        after;  // the side after an arrival that counts

  assign newer = in_i.qpn[23:8] - peer_rdata_i.generation;
  assign mine = 9'(regs_q.slot) < regs_q.fresh && rctx_rdata_i.open
      && rctx_rdata_i.dest == regs_q.dest && rctx_rdata_i.generation == in_i.qpn[23:8];

  always_comb begin
    side = rctx_rdata_i;
    if (regs_q.create) begin
      side = new_side(
        9'(regs_q.slot) < regs_q.fresh ? rctx_rdata_i.generation + 16'd1 : 16'd1,
        regs_q.dest,
        in_i.qpn,
        cfg_initial_psn_i
      );
    end
  end

  assign own       = {side.generation, regs_q.slot};
  assign data      = in_i.kind == KindData;
  assign beyond    = in_i.psn - side.expected + 24'd1;
  assign in_window = beyond[PSN_BITS-1] || beyond <= psn_t'(cfg_range_i);
  assign in_order  = in_window && beyond == 24'd1;

  always_comb begin
    verdict = regs_q.drop;
    if (verdict == DropNone) begin
      if (!in_i.by_sender && !mine) begin
        verdict = DropQp;
      end else if (!in_window) begin
        verdict = DropPsn;  // Beyond
      end else if (data && !beyond[PSN_BITS-1] && beyond > 24'd1) begin
        verdict = DropPsn;  // Gap
      end
    end
  end

  assign counts = data && verdict == DropNone;
  assign whole  = in_order && in_i.last;
  assign count  = counted(side.count, in_i.len);
  assign sack   = count > COUNT_PASS || in_i.ack_req || in_i.rtx || whole;

  always_comb begin
    after = side;
    if (in_order) begin
      after = advanced(side, in_i.len, cfg_nominal_overhead_i, in_i.last);
    end
    after.count = sack ? 12'd0 : count[11:0];
  end

  logic closes;  // the number to close is that of the side that was read, and open
  assign closes = 9'(regs_q.slot) < regs_q.fresh && rctx_rdata_i.open
      && rctx_rdata_i.generation == close_qpn_i[23:8];

  // Neither key nor control fields play a part here.
  logic unused;
  assign unused = &{1'b0, in_i};

  ////////////////
  // Next state //
  ////////////////

  always_comb begin
    regs_d               = regs_q;

    // Events and writes last a clock.
    regs_d.peer_we       = 1'b0;
    regs_d.rctx_we       = 1'b0;
    regs_d.drop_valid    = 1'b0;
    regs_d.recv_valid    = 1'b0;
    regs_d.created_valid = 1'b0;
    regs_d.closed_valid  = 1'b0;
    regs_d.dup_valid     = 1'b0;
    regs_d.rel2_valid    = 1'b0;
    regs_d.relt_valid    = 1'b0;
    if (deliver_ready_i) begin
      regs_d.deliver_valid = 1'b0;
    end
    if (answer_ready_i) begin
      regs_d.answer_valid = 1'b0;
    end

    unique case (regs_q.state)
      Sweep: begin
        regs_d.peer_we    = 1'b1;
        regs_d.peer_waddr = 32'(regs_q.sweep);
        regs_d.peer_wdata = peer_t'(0);
        regs_d.sweep      = regs_q.sweep + 14'd1;
        if (32'(regs_q.sweep) == DESTS * QPS - 1) begin
          regs_d.state = Idle;
        end
      end

      Idle: begin
        if (regs_q.close_turn) begin
          regs_d.slot       = close_qpn_i[7:0];
          regs_d.close_turn = 1'b0;
          if (close_valid_i) begin
            regs_d.state = 32'(close_qpn_i[7:0]) < QPS ? Aim : Shut;
          end
        end else if (in_valid_i) begin
          regs_d.dest   = source;
          regs_d.slot   = in_i.qpn[7:0];
          regs_d.create = 1'b0;
          regs_d.drop   = DropNone;
          regs_d.state  = Judge;
          if (!(in_i.kind inside {KindData, KindTrimmed})) begin
            regs_d.drop = DropOpcode;
          end else if (!from_peer) begin
            regs_d.drop = DropPeer;
          end else if (32'(in_i.qpn[7:0]) >= QPS) begin
            regs_d.drop = DropQp;
          end else begin
            regs_d.state = in_i.by_sender ? Peer : Read;
          end
        end else begin
          regs_d.close_turn = close_valid_i;
        end
      end

      Peer: regs_d.state = Look;

      Look: begin
        regs_d.state = Read;
        regs_d.slot  = peer_rdata_i.slot;
        if (peer_rdata_i.open ? newer != '0
            : peer_rdata_i.closed && (newer == '0 || newer[15])) begin
          regs_d.drop  = DropQp;
          regs_d.state = Judge;
        end else if (!peer_rdata_i.open) begin
          regs_d.create = 1'b1;
          regs_d.slot   = regs_q.free[regs_q.free_head];
          if (32'(regs_q.fresh) < QPS) begin
            regs_d.slot = regs_q.fresh[7:0];
          end else if (regs_q.free_count == '0) begin
            regs_d.drop  = DropQpFull;
            regs_d.state = Judge;
          end
        end
      end

      Read: regs_d.state = Judge;

      Judge: begin
        if (in_ready_o) begin
          regs_d.state      = Idle;
          regs_d.close_turn = close_valid_i;

          // The side.
          if (counts || (regs_q.create && regs_q.drop == DropNone)) begin
            regs_d.rctx_we    = 1'b1;
            regs_d.rctx_waddr = regs_q.slot;
            regs_d.rctx_wdata = counts ? after : side;
          end
          if (regs_q.create && regs_q.drop == DropNone) begin
            if (32'(regs_q.fresh) < QPS) begin
              regs_d.fresh = regs_q.fresh + 9'd1;
            end else begin
              regs_d.free_head  = wrap(regs_q.free_head, 9'd1);
              regs_d.free_count = regs_q.free_count - 9'd1;
            end
            regs_d.peer_we = 1'b1;
            regs_d.peer_waddr = peer_word(regs_q.dest, in_i.qpn[7:0]);
            regs_d.peer_wdata = '{
                open: 1'b1,
                closed: 1'b0,
                generation: in_i.qpn[23:8],
                slot: regs_q.slot
            };
            regs_d.created_valid = 1'b1;
            regs_d.created_qpn = own;
            regs_d.created_dest = regs_q.dest;
          end

          // What becomes of the packet.
          regs_d.drop_valid  = verdict != DropNone;
          regs_d.drop_reason = verdict;
          regs_d.dup_valid   = counts && !in_order;
          regs_d.rel2_valid  = data && !(counts && in_order && in_i.len != '0);
          regs_d.relt_valid  = !data;
          regs_d.rel_bytes   = in_i.charge;
          regs_d.recv_valid  = counts && whole;
          regs_d.recv_qpn    = own;
          regs_d.recv_msn    = in_i.msn;

          // RX-6: what is in order goes to the host, words of what is not are passed over.
          if (counts && in_order && (in_i.len != '0 || whole)) begin
            regs_d.deliver_valid = 1'b1;
            regs_d.deliver = '{
                addr: in_i.raddr,
                len: in_i.len,
                word: in_i.word,
                charge: in_i.len != '0 ? in_i.charge : '0,
                write: 1'b1,
                complete: whole,
                qpn: own,
                msn: in_i.msn,
                msg_len: in_i.msg_len,
                dest: regs_q.dest
            };
          end else if (data && in_i.len != '0) begin
            regs_d.deliver_valid = 1'b1;
            regs_d.deliver       = delivery_t'(0);
            regs_d.deliver.len   = in_i.len;
            regs_d.deliver.word  = in_i.word;
          end

          // SACK-1, ACK-1: whatever draws an ACK draws a SACK, too.
          if (counts && sack) begin
            regs_d.answer_valid = 1'b1;
            regs_d.answer = '{
                sack: 1'b1,
                ack: in_i.ack_req || whole,
                dst_ip: in_i.src_ip,
                dest: regs_q.dest,
                sender_qpn: side.sender_qpn,
                own_qpn: own,
                cum: after.expected - 24'd1,
                drew: in_i.psn,
                sack_offset: 16'd1,  // nothing is held (SACK-3)
                bitmap: '0,
                msn: after.msn,
                ooo: '0,
                rcvd: in_units(after.rcvd),
                entropy: in_i.sport,
                ce: in_i.ce,
                rtx: in_i.rtx,
                size: in_i.len + len_t'(cfg_wire_overhead_i)
            };
          end
        end
      end

      Aim: regs_d.state = Shut;

      Shut: begin
        regs_d.state = Idle;
        if (closes) begin
          regs_d.rctx_we = 1'b1;
          regs_d.rctx_waddr = regs_q.slot;
          regs_d.rctx_wdata = rctx_rdata_i;
          regs_d.rctx_wdata.open = 1'b0;
          regs_d.peer_we = 1'b1;
          regs_d.peer_waddr = peer_word(rctx_rdata_i.dest, rctx_rdata_i.sender_qpn[7:0]);
          regs_d.peer_wdata = '{
              open: 1'b0,
              closed: 1'b1,
              generation: rctx_rdata_i.sender_qpn[23:8],
              slot: '0
          };
          regs_d.free[wrap(regs_q.free_head, regs_q.free_count)] = regs_q.slot;
          regs_d.free_count = regs_q.free_count + 9'd1;
          regs_d.closed_valid = 1'b1;
          regs_d.closed_qpn = close_qpn_i;
        end
      end
    endcase
  end

  //////////////
  // Contract //
  //////////////

  // A packet and a close stay until they are taken.
  `ASSERT(PacketWaits_A, regs_q.state inside {Peer, Look, Read, Judge} |-> in_valid_i)
  `ASSERT(CloseWaits_A, regs_q.state inside {Aim, Shut} |-> close_valid_i)

  // What is not taken stays as it is.
  `ASSERT(DeliverWaits_A, deliver_valid_o && !deliver_ready_i |=> deliver_valid_o)
  `ASSERT(DeliverStable_A, deliver_valid_o && !deliver_ready_i |=> $stable(deliver_o))
  `ASSERT(AnswerWaits_A, answer_valid_o && !answer_ready_i |=> answer_valid_o)
  `ASSERT(AnswerStable_A, answer_valid_o && !answer_ready_i |=> $stable(answer_o))

  // `peer` and `rctx` agree on who a side belongs to.
  logic known;
  logic agrees;
  assign known  = regs_q.state == Judge && regs_q.drop == DropNone && in_i.by_sender;
  assign agrees = rctx_rdata_i.open && rctx_rdata_i.sender_qpn == in_i.qpn;
  `ASSERT(SidesAgree_A, known && !regs_q.create |-> agrees && rctx_rdata_i.dest == regs_q.dest)

  // No slot is lost or handed out twice.
  `ASSERT(FreeSlots_A, regs_q.free_count <= regs_q.fresh && 32'(regs_q.fresh) <= QPS)

endmodule
