// Receiver sides: finds or creates the QP of a packet, judges its PSN, says what is delivered and
// what is answered.
//
// Twin of rtl-model/src/rx_track.rs. QP-4, QP-5, RX-3 to RX-8, ACK-1, SACK-1 to SACK-3, SACK-6,
// NAK-1, PTH-2, MSN-8, CPL-1.
// A packet waits at `in` until it is judged: 3 clocks after it came with R clear, 5 with R set, 1
// without a QP to look for, 4 more where it creates one; what follows is there a clock later. Where
// sack_bitmap has a part in it, the next packet is taken up 4 clocks after the judgement of a
// packet ahead, 7 or 9 with a SACK: 6, 9 or 11 clocks a packet, 8 at most on average where every
// fourth draws a SACK. One that fills a gap takes 5 and 2 for each word of the run, 1 for each
// message that it completes, and 5 to 7 for a SACK. A close takes 3 and waits for one packet.
//
// Memory `peer`, DESTS x QPS words by {destination, sender's slot}: the receiver side of that
// sender, or the last generation closed. It is swept after reset, a word a clock; nothing is taken
// meanwhile. Memory `rctx`, QPS words by receiver's slot; a slot below `fresh` has been written.
// Memory `ends`, QPS x PSNS words by slot and PSN: what the RECV_COMPLETE of a held last packet
// says. The bits of held PSNs are sack_bitmap's.
//
// One difference, PSN less cumulative PSN, decides: 0 and down to 0x800000 a duplicate, 1 in order,
// up to cfg_range ahead, then out of the window (RX-4).
//
// It never waits for PCIe (ACK-1): `deliver` has no ready. Its queue holds 2 x INGRESS_WORDS; where
// half of it less PSNS is taken, data is dropped as DropPool, before anything else changes. Nor do
// answers wait for the control pool: `waiting` counts frames made and not built, and the one after
// the 1,024th is dropped and counted (SACK-6).
//
// Choices: an R packet with a newer generation than the sender's side that is open is dropped as
// DropQp, until the host closes that side. Where no generation was closed, any is new. A trimmed
// packet that is not dropped is relt_valid without drop_valid. Whoever gives back the charge has
// it: 0 bytes, duplicates and drops give it back here, and their words are passed over by a
// delivery with `write` clear. RECV_COMPLETE names METH's msn. A SACK's walk moves though the SACK
// is dropped. A message that is completed by an arrival, its own or one it had held up, draws a
// SACK. A probe creates no side; its answer lists nothing and moves no walk.
//
// It is longer than a module should be: one state machine has forty events and words of eight
// partners.

`include "assert.svh"

module rx_track
  import nic_pkg::*;
  import header_pkg::*;
  import bitmap_pkg::*;
  import track_pkg::*;
#(
  parameter int unsigned QPS           = 256,
  parameter int unsigned DESTS         = 64,
  parameter int unsigned PSNS          = 1024,
  parameter int unsigned INGRESS_WORDS = 65536
) (
  input logic clk_i,
  input logic rst_ni,

  // Data and trimmed packets and probes, from ingress_pool
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

  // Memory of held last packets
  output logic        ends_we_o,
  output logic [31:0] ends_waddr_o,
  output end_t        ends_wdata_o,
  output logic        ends_re_o,
  output logic [31:0] ends_raddr_o,
  input  end_t        ends_rdata_i,

  // Held PSNs, in sack_bitmap
  output logic           map_valid_o,
  input  logic           map_ready_i,
  output bitmap_e        map_op_o,
  output qp_t            map_qp_o,
  output psn_t           map_psn_o,
  output psn_t           map_low_o,
  output psn_t           map_walk_o,
  output logic           map_last_o,
  output logic           map_asked_o,
  input  logic           map_rsp_valid_i,
  output logic           map_rsp_ready_o,
  input  logic           map_rsp_hit_i,
  input  psn_t           map_rsp_psn_i,
  input  logic    [63:0] map_rsp_bits_i,
  input  logic    [10:0] map_rsp_far_i,
  input  logic           map_rsp_asked_i,
  input  logic           map_rsp_more_i,

  // To payload_write, in arrival order; what its queue holds
  output logic             deliver_valid_o,
  output delivery_t        deliver_o,
  input  logic      [31:0] deliver_level_i,

  // To ack_build
  output logic    answer_valid_o,
  input  logic    answer_ready_i,
  output answer_t answer_o,
  input  logic    sent_valid_i,    // it has built one frame

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
  output dest_t        closed_dest_o,
  output logic         dup_valid_o,
  output logic         ooo_valid_o,
  output logic  [ 1:0] ctrl_drops_o,

  // Releases, to ingress_pool: data class, control class
  output logic rel2_valid_o,
  output len_t rel2_bytes_o,
  output logic relt_valid_o,
  output len_t relt_bytes_o,

  // Levels, from csr
  input logic [  63:0] cfg_peer_valid_i,
  input logic [2047:0] cfg_peer_ip_i,
  input logic [  10:0] cfg_range_i,
  input logic          cfg_trimming_i,
  input psn_t          cfg_initial_psn_i,
  input logic [   6:0] cfg_wire_overhead_i,
  input logic [   6:0] cfg_nominal_overhead_i
);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [3:0] {
    Sweep,   // clears `peer`
    Idle,    // takes up a packet or a close
    Peer,    // reads `peer`
    Look,    // finds the side or makes room for a new one
    Wipe,    // empties the bitmap of a new one
    Read,    // reads `rctx`
    Judge,   // judges the packet and lets it go
    Ask,     // waits for sack_bitmap
    Settle,  // a gap is filled: passes last packets, then answers
    Aim,     // reads `rctx` for a close
    Shut     // closes the side
  } state_e;

  typedef struct {
    state_e      state;
    logic [13:0] sweep;          // next word to clear
    logic        close_turn;     // a close goes before the next packet
    dest_t       dest;
    qp_t         slot;           // the sender's until Look, then ours
    logic        create;
    logic        forward;        // `rctx` was written as it was read
    drop_e       drop;           // found before Judge
    logic [8:0]  fresh;          // slots never opened start here
    qp_t         free[QPS];      // slots closed, oldest first
    qp_t         free_head;
    logic [8:0]  free_count;
    side_t       side;           // of the packet that waits for sack_bitmap
    logic        sack;           // it draws a SACK
    logic        passed;         // a last packet is in order
    logic        closed_gap;     // PSNs held were passed
    logic        map_valid;
    bitmap_e     map_op;
    logic [63:0] lasts;          // last packets to pass, from pass_psn on
    psn_t        pass_psn;
    logic        pass;           // ends_rdata is of the one passed
    logic [10:0] waiting;        // control frames that are not built
    logic        peer_we;
    logic [31:0] peer_waddr;
    peer_t       peer_wdata;
    logic        rctx_we;
    qp_t         rctx_waddr;
    side_t       rctx_wdata;
    logic        ends_we;
    logic [31:0] ends_waddr;
    end_t        ends_wdata;
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
    dest_t       closed_dest;
    logic        dup_valid;
    logic        ooo_valid;
    logic [1:0]  ctrl_drops;
    logic        rel2_valid;
    logic        relt_valid;
    len_t        rel_bytes;
  } regs_t;

  localparam regs_t RESET = '{
      state: Sweep,
      drop: DropNone,
      drop_reason: DropNone,
      free: '{default: '0},
      side: side_t'(0),
      map_op: MapWipe,
      peer_wdata: peer_t'(0),
      rctx_wdata: side_t'(0),
      ends_wdata: end_t'(0),
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

  psn_t passing;  // the next last packet to pass
  assign passing         = regs_q.pass_psn + psn_t'(lowest(regs_q.lasts));

  assign in_ready_o      = regs_q.state == Judge && !regs_q.answer_valid;
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
  assign ends_we_o       = regs_q.ends_we;
  assign ends_waddr_o    = regs_q.ends_waddr;
  assign ends_wdata_o    = regs_q.ends_wdata;
  assign ends_re_o       = regs_q.lasts != '0;
  assign ends_raddr_o    = end_word(regs_q.slot, passing);
  assign map_valid_o     = regs_q.map_valid;
  assign map_op_o        = regs_q.map_op;
  assign map_qp_o        = regs_q.slot;
  assign map_psn_o       = regs_q.map_op == MapAdvance ? regs_q.side.expected : regs_q.answer.drew;
  assign map_low_o       = regs_q.side.expected;
  assign map_walk_o      = regs_q.side.walk;
  assign map_last_o      = regs_q.deliver.complete;
  assign map_asked_o     = regs_q.answer.ack;
  assign map_rsp_ready_o = regs_q.state inside {Wipe, Ask} && regs_q.lasts == '0;
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
  assign closed_dest_o   = regs_q.closed_dest;
  assign dup_valid_o     = regs_q.dup_valid;
  assign ooo_valid_o     = regs_q.ooo_valid;
  assign ctrl_drops_o    = regs_q.ctrl_drops;
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

  // A PSN in the memory `ends`.
  function automatic logic [31:0] end_word(qp_t slot, psn_t psn);
    return 32'(slot) * PSNS + 32'(psn) % PSNS;
  endfunction

  // `n` places after `head` in the ring of free slots.
  function automatic qp_t wrap(qp_t head, logic [8:0] n);
    return qp_t'((32'(head) + 32'(n)) % QPS);
  endfunction

  // The end of a packet that waited for sack_bitmap.
  logic told;  // by sack_bitmap
  logic settles;
  logic draws;  // a SACK, now that all is in order that can be
  logic late;
  assign told = regs_q.state == Ask && map_rsp_valid_i && map_rsp_ready_o;
  assign settles = regs_q.state == Settle && regs_q.lasts == '0 && !regs_q.pass;
  assign draws = regs_q.sack || regs_q.passed || (regs_q.closed_gap && regs_q.side.asked);
  assign late = (told && regs_q.map_op != MapAdvance)
      || (settles && !(draws && regs_q.side.held != '0));

  logic takes;  // a packet or a close is taken up
  assign takes = regs_q.state == Idle || late;

  logic full;  // the queue of deliveries has no room for what a packet may bring
  assign full = deliver_level_i >= INGRESS_WORDS - PSNS - 8;

  logic  from_peer;  // the packet's source is a destination of ours
  dest_t source;  // that destination, the lowest of several
  always_comb begin
    from_peer = 1'b0;
    source    = '0;
    if (takes && in_valid_i) begin
      for (int unsigned d = 0; d < DESTS; d++) begin
        if (!from_peer && cfg_peer_valid_i[d] && cfg_peer_ip_i[32*d+:32] == in_i.src_ip) begin
          from_peer = 1'b1;
          source    = dest_t'(d);
        end
      end
    end
  end

  logic  [15:0] newer;  // the packet's generation less the one known; the top bit: it is older
  side_t        found;  // the side that was read, or written meanwhile
  logic         mine;  // the side that was read is that of the packet's number and peer
  logic         creates;
  side_t        side;  // that side, or the one that is created
  qpn_t         own;  // its number
  assign found = regs_q.forward ? regs_q.rctx_wdata : rctx_rdata_i;
  assign newer = in_i.qpn[23:8] - peer_rdata_i.generation;
  assign mine = 9'(regs_q.slot) < regs_q.fresh && found.open
      && found.dest == regs_q.dest && found.generation == in_i.qpn[23:8];
  assign creates = regs_q.create && regs_q.drop == DropNone;
  assign own = {side.generation, regs_q.slot};

  always_comb begin
    side = found;
    if (regs_q.create) begin
      side = new_side(
        9'(regs_q.slot) < regs_q.fresh ? found.generation + 16'd1 : 16'd1,
        regs_q.dest,
        in_i.qpn,
        cfg_initial_psn_i
      );
    end
  end

  logic  data;  // untrimmed
  logic  probe;
  psn_t  beyond;  // how far the packet is beyond the cumulative PSN
  drop_e verdict;
  logic  counts;  // untrimmed data in the window
  logic  in_order;
  logic  ahead;
  nack_e nack;
  assign data     = in_i.kind == KindData;
  assign probe    = in_i.kind == KindProbe;
  assign beyond   = in_i.psn - side.expected + 24'd1;
  assign counts   = data && verdict == DropNone;
  assign in_order = counts && beyond == 24'd1;
  assign ahead    = counts && !beyond[PSN_BITS-1] && beyond > 24'd1;

  always_comb begin
    verdict = regs_q.drop;
    nack    = NackNone;
    if (verdict == DropNone) begin
      if (!in_i.by_sender && !mine) begin
        verdict = DropQp;
      end else if (!probe && !beyond[PSN_BITS-1] && beyond > psn_t'(cfg_range_i)) begin
        verdict = DropPsn;
        nack    = NackRange;
      end else if (in_i.kind == KindTrimmed && cfg_trimming_i) begin
        nack = in_i.last_hop ? NackLastHop : NackTrimmed;
      end
    end
  end

  // SACK-1, as far as the arrival alone says it.
  logic         whole;  // in order and the last of its message
  logic  [14:0] count;
  logic         sack;
  side_t        after;
  assign whole = in_order && in_i.last;
  assign count = counted(side.count, in_i.len);
  assign sack  = counts && (count > COUNT_PASS || in_i.ack_req || in_i.rtx || whole);

  always_comb begin
    after = side;
    if (in_order) begin
      after = advanced(side, in_i.len, cfg_nominal_overhead_i, in_i.last);
    end
    if (counts) begin
      after.count = sack ? 12'd0 : count[11:0];
    end
    if (ahead && in_i.ack_req) begin
      after.asked = 1'b1;
    end
  end

  // What the bitmap has a part in.
  logic asks;
  assign asks = ahead || (side.held != '0 && (in_order || (counts && sack)));

  // The answer as far as it is known at the judgement.
  answer_t reply;
  assign reply = '{
          probe: probe,
          nack: nack,
          sack: sack || (probe && verdict == DropNone),
          ack: counts && (in_i.ack_req || whole),
          dst_ip: in_i.src_ip,
          dest: regs_q.dest,
          sender_qpn: side.sender_qpn,
          own_qpn: own,
          cum: '0,
          drew: probe ? psn_t'(num16(in_i.ctrl[47:32])) : in_i.psn,
          sack_offset: 16'd1,  // as where nothing is held (SACK-3)
          bitmap: '0,
          msn: '0,
          ooo: '0,
          rcvd: '0,
          entropy: in_i.sport,
          ce: in_i.ce && !probe,
          rtx: in_i.rtx,
          stamped: in_i.stamped,
          stamp: in_i.stamp,
          size: probe ? PROBE_BYTES : in_i.len + len_t'(cfg_wire_overhead_i)
      };

  logic closes;  // the number to close is that of the side that was read, and open
  assign closes = 9'(regs_q.slot) < regs_q.fresh && found.open
      && found.generation == close_qpn_i[23:8];

  // Neither key nor control fields play a part here.
  logic unused;
  assign unused = &{1'b0, in_i};

  ////////////////
  // Next state //
  ////////////////

  // What the end of a packet brings together.
  logic           ends;
  logic           keeps;  // the side is written back
  side_t          last_side;
  answer_t        last_answer;
  logic    [10:0] room;  // for control frames (SACK-6)
  logic           report;  // a SACK or a NACK goes
  logic           ack;
  assign room = WAITING_MOST - regs_q.waiting;

  always_comb begin
    regs_d               = regs_q;

    // Events and writes last a clock.
    regs_d.peer_we       = 1'b0;
    regs_d.rctx_we       = 1'b0;
    regs_d.ends_we       = 1'b0;
    regs_d.deliver_valid = 1'b0;
    regs_d.drop_valid    = 1'b0;
    regs_d.recv_valid    = 1'b0;
    regs_d.created_valid = 1'b0;
    regs_d.closed_valid  = 1'b0;
    regs_d.dup_valid     = 1'b0;
    regs_d.ooo_valid     = 1'b0;
    regs_d.ctrl_drops    = '0;
    regs_d.rel2_valid    = 1'b0;
    regs_d.relt_valid    = 1'b0;
    if (answer_ready_i) begin
      regs_d.answer_valid = 1'b0;
    end
    if (map_ready_i) begin
      regs_d.map_valid = 1'b0;
    end

    ends        = late;
    keeps       = 1'b1;
    last_side   = regs_q.side;
    last_answer = regs_q.answer;

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

      Idle: ;  // as below

      Peer: regs_d.state = Look;

      Look: begin
        regs_d.state = Read;
        regs_d.slot  = peer_rdata_i.slot;
        if (peer_rdata_i.open ? newer != '0
            : peer_rdata_i.closed && (newer == '0 || newer[15])) begin
          regs_d.drop  = DropQp;
          regs_d.state = Judge;
        end else if (!peer_rdata_i.open && in_i.kind == KindProbe) begin
          regs_d.drop  = DropQp;
          regs_d.state = Judge;
        end else if (!peer_rdata_i.open) begin
          regs_d.create    = 1'b1;
          regs_d.slot      = regs_q.free[regs_q.free_head];
          regs_d.state     = Wipe;
          regs_d.map_valid = 1'b1;
          regs_d.map_op    = MapWipe;
          if (32'(regs_q.fresh) < QPS) begin
            regs_d.slot = regs_q.fresh[7:0];
          end else if (regs_q.free_count == '0) begin
            regs_d.drop      = DropQpFull;
            regs_d.state     = Judge;
            regs_d.map_valid = 1'b0;
          end
        end
      end

      Wipe: begin
        if (map_rsp_valid_i) begin
          regs_d.state = Read;
        end
      end

      Read: begin
        regs_d.state   = Judge;
        regs_d.forward = regs_q.rctx_we && regs_q.rctx_waddr == regs_q.slot;
      end

      Judge: begin
        if (in_ready_o) begin
          regs_d.state      = Idle;
          regs_d.close_turn = close_valid_i;

          // The side.
          if (creates) begin
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

          // What becomes of the packet; of one ahead that is for Ask to say.
          regs_d.drop_valid  = verdict != DropNone;
          regs_d.drop_reason = verdict;
          regs_d.dup_valid   = counts && !in_order && !ahead;
          regs_d.rel2_valid  = (data || probe) && !ahead && !(in_order && in_i.len != '0);
          regs_d.relt_valid  = !data && !probe;
          regs_d.rel_bytes   = in_i.charge;
          regs_d.recv_valid  = whole;
          regs_d.recv_qpn    = own;
          regs_d.recv_msn    = in_i.msn;

          // RX-6: what is new goes to the host, words of what is not are passed over.
          if (in_order || ahead) begin
            regs_d.deliver_valid = in_order && (in_i.len != '0 || whole);
            regs_d.deliver = '{
                addr: in_i.raddr,
                len: in_i.len,
                word: in_i.word,
                charge: in_i.len != '0 ? in_i.charge : '0,
                write: 1'b1,
                complete: in_i.last,
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

          // Whether there is more to it.
          ends              = !asks;
          keeps             = counts || creates;
          last_side         = after;
          last_answer       = reply;
          regs_d.side       = after;
          regs_d.sack       = sack;
          regs_d.passed     = whole;
          regs_d.closed_gap = 1'b0;
          if (asks) begin
            regs_d.state     = Ask;
            regs_d.answer    = reply;
            regs_d.map_valid = 1'b1;
            regs_d.map_op    = MapReport;
            if (in_order) begin
              regs_d.map_op = MapAdvance;
            end else if (ahead) begin
              regs_d.map_op = sack ? MapHold : MapSet;
            end
          end
        end
      end

      Ask: begin
        if (told) begin
          if (regs_q.map_op == MapAdvance) begin
            // RX-7: a gap is filled.
            regs_d.lasts    = map_rsp_bits_i;
            regs_d.pass_psn = map_rsp_psn_i;
            regs_d.passed   = regs_q.passed || map_rsp_bits_i != '0;
            if (!map_rsp_more_i) begin
              regs_d.state         = Settle;
              regs_d.closed_gap    = map_rsp_hit_i;
              regs_d.side.expected = regs_q.side.expected + psn_t'(map_rsp_far_i);
              regs_d.side.held     = regs_q.side.held - map_rsp_far_i;
            end
          end

          if (regs_q.map_op inside {MapSet, MapHold}) begin
            if (map_rsp_hit_i) begin
              regs_d.dup_valid     = 1'b1;
              regs_d.rel2_valid    = 1'b1;
              regs_d.deliver_valid = regs_q.deliver.len != '0;
              regs_d.deliver       = delivery_t'(0);
              regs_d.deliver.len   = regs_q.deliver.len;
              regs_d.deliver.word  = regs_q.deliver.word;
            end else begin
              last_side = received(regs_q.side, regs_q.deliver.len, cfg_nominal_overhead_i);
              last_side.held = regs_q.side.held + 11'd1;
              last_side.ooo = regs_q.side.ooo + 15'd1;
              regs_d.ooo_valid = 1'b1;
              regs_d.rel2_valid = regs_q.deliver.len == '0;
              regs_d.deliver_valid = regs_q.deliver.len != '0;
              regs_d.deliver.complete = 1'b0;
              regs_d.ends_we = regs_q.deliver.complete;
              regs_d.ends_waddr = end_word(regs_q.slot, regs_q.answer.drew);
              regs_d.ends_wdata = '{msn: regs_q.deliver.msn, msg_len: regs_q.deliver.msg_len};
            end
          end

          if (regs_q.map_op inside {MapReport, MapHold}) begin
            last_side.walk          = map_rsp_psn_i + 24'd64;
            last_answer.sack_offset = 16'(map_rsp_psn_i - regs_q.side.expected + 24'd1);
            last_answer.bitmap      = map_rsp_bits_i;
          end
        end
      end

      Settle: begin
        if (settles) begin
          // SACK-1, ACK-1: what the arrival completed and closed.
          last_answer.sack = draws;
          last_answer.ack  = regs_q.answer.ack || regs_q.passed;
          if (draws) begin
            last_side.count = '0;
          end
          if (regs_q.side.held == '0) begin
            last_side.asked = 1'b0;
          end
          regs_d.side   = last_side;
          regs_d.answer = last_answer;
          if (!late) begin
            regs_d.state     = Ask;
            regs_d.map_valid = 1'b1;
            regs_d.map_op    = MapReport;
          end
        end
      end

      Aim: begin
        regs_d.state   = Shut;
        regs_d.forward = regs_q.rctx_we && regs_q.rctx_waddr == regs_q.slot;
      end

      Shut: begin
        regs_d.state = Idle;
        if (closes) begin
          regs_d.rctx_we = 1'b1;
          regs_d.rctx_waddr = regs_q.slot;
          regs_d.rctx_wdata = found;
          regs_d.rctx_wdata.open = 1'b0;
          regs_d.peer_we = 1'b1;
          regs_d.peer_waddr = peer_word(found.dest, found.sender_qpn[7:0]);
          regs_d.peer_wdata = '{
              open: 1'b0,
              closed: 1'b1,
              generation: found.sender_qpn[23:8],
              slot: '0
          };
          regs_d.free[wrap(regs_q.free_head, regs_q.free_count)] = regs_q.slot;
          regs_d.free_count = regs_q.free_count + 9'd1;
          regs_d.closed_valid = 1'b1;
          regs_d.closed_qpn = close_qpn_i;
          regs_d.closed_dest = found.dest;
        end
      end
    endcase

    // RX-8: one last packet a clock, in PSN order.
    regs_d.pass = regs_q.lasts != '0;
    if (regs_q.lasts != '0) begin
      regs_d.lasts = regs_q.lasts & (regs_q.lasts - 64'd1);
    end
    if (regs_q.pass) begin
      regs_d.side.msn         = regs_q.side.msn + 24'd1;
      regs_d.recv_valid       = 1'b1;
      regs_d.recv_qpn         = regs_q.answer.own_qpn;
      regs_d.recv_msn         = ends_rdata_i.msn;
      regs_d.deliver_valid    = 1'b1;
      regs_d.deliver          = delivery_t'(0);
      regs_d.deliver.write    = 1'b1;
      regs_d.deliver.complete = 1'b1;
      regs_d.deliver.qpn      = regs_q.answer.own_qpn;
      regs_d.deliver.msn      = ends_rdata_i.msn;
      regs_d.deliver.msg_len  = ends_rdata_i.msg_len;
      regs_d.deliver.dest     = regs_q.dest;
    end

    // The side goes back, the answer goes out.
    report = 1'b0;
    ack    = 1'b0;
    if (ends) begin
      regs_d.state = Idle;
      if (keeps) begin
        regs_d.rctx_we    = 1'b1;
        regs_d.rctx_waddr = regs_q.slot;
        regs_d.rctx_wdata = last_side;
      end

      // SACK-6: what finds no room to wait is as if lost.
      report = (last_answer.sack || last_answer.nack != NackNone) && room != '0;
      ack    = last_answer.ack && room > 11'(report);
      if (last_answer.sack || last_answer.nack != NackNone || last_answer.ack) begin
        regs_d.answer_valid = report || ack;
        regs_d.answer = last_answer;
        regs_d.answer.sack = last_answer.sack && report;
        regs_d.answer.ack = ack;
        regs_d.answer.cum = last_side.expected - 24'd1;
        regs_d.answer.msn = last_side.msn;
        regs_d.answer.ooo = last_side.ooo;
        regs_d.answer.rcvd = in_units(last_side.rcvd);
        regs_d.ctrl_drops   = 2'((last_answer.sack || last_answer.nack != NackNone) && !report)
            + 2'(last_answer.ack && !ack);
      end
    end
    regs_d.waiting = regs_q.waiting + 11'(report) + 11'(ack) - 11'(sent_valid_i);

    // The next packet or close.
    if (takes) begin
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
        if (!(in_i.kind inside {KindData, KindTrimmed, KindProbe})) begin
          regs_d.drop = DropOpcode;
        end else if (data && full) begin
          regs_d.drop = DropPool;
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
  end

  //////////////
  // Contract //
  //////////////

  // A packet and a close stay until they are taken.
  `ASSERT(PacketWaits_A, regs_q.state inside {Peer, Look, Wipe, Read, Judge} |-> in_valid_i)
  `ASSERT(CloseWaits_A, regs_q.state inside {Aim, Shut} |-> close_valid_i)

  // What is not taken stays as it is.
  `ASSERT(AnswerWaits_A, answer_valid_o && !answer_ready_i |=> answer_valid_o)
  `ASSERT(AnswerStable_A, answer_valid_o && !answer_ready_i |=> $stable(answer_o))
  `ASSERT(MapWaits_A, map_valid_o && !map_ready_i |=> map_valid_o && $stable(map_psn_o))

  // sack_bitmap answers what was asked, and when.
  `ASSERT(Asked_A, map_rsp_valid_i |-> regs_q.state inside {Wipe, Ask})

  // No more is passed than is held; a held packet that asked has left the side's mark.
  logic advanced_rsp;
  assign advanced_rsp = map_rsp_valid_i && regs_q.state == Ask && regs_q.map_op == MapAdvance;
  `ASSERT(Held_A, advanced_rsp |-> map_rsp_far_i <= regs_q.side.held)
  `ASSERT(Mark_A, advanced_rsp && map_rsp_asked_i |-> regs_q.side.asked)

  // No more control frames wait than may.
  `ASSERT(Waiting_A, regs_q.waiting <= WAITING_MOST)

  // `peer` and `rctx` agree on who a side belongs to.
  logic known;
  logic agrees;
  assign known  = regs_q.state == Judge && regs_q.drop == DropNone && in_i.by_sender;
  assign agrees = found.open && found.sender_qpn == in_i.qpn;
  `ASSERT(SidesAgree_A, known && !regs_q.create |-> agrees && found.dest == regs_q.dest)

  // No slot is lost or handed out twice.
  `ASSERT(FreeSlots_A, regs_q.free_count <= regs_q.fresh && 32'(regs_q.fresh) <= QPS)

endmodule
