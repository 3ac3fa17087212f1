// Packet build: a segment whose payload has arrived gets its flags, its path and its headers.
//
// Twin of rtl-model/src/packet_build.rs. The four requests stand from the clock after the hand-off
// on; the frame is out two clocks after the last answer (two after replay_store has taken its
// record, where that is later). One packet is in work at a time: throughput is a packet in two
// clocks more than the slowest answer takes, well within a payload of 256 B at 400 Gbps.
// PKT-1: entropy and headers once the payload is there. PKT-3: codepoint of a first transmission or
// of a retransmission. PKT-4: class 0. PKT-5: ACK-request on the last packet of a message, on a
// tight window and on a retransmission, which has the retransmit flag too.
// PTH-2: a probe goes before both, on the value that path_probe names: headers and PETH, no
// payload, no trim, R and this side's own number, and the value's place in slot and off. It asks
// qp_table alone, and is given no PSN.
// PKT-6: a retransmission goes before a segment that is handed on at the same time. It asks neither
// window nor replay_store, which has its record, and is given no PSN: its entropy value is new.
// QP-4: while the peer's number is unknown, R is set and the QP field is this side's own number.
// RTT-1: with cfg_stamps a TSETH stands behind METH, and each data packet and probe says when its
// frame was made: clocks in whole steps of 128, modulo 2^16. One that goes again says so anew.
// Section 12: Ethernet, IPv4, UDP, BTH, METH, RETH, then zeros up to `cfg_data_hdr`.
//
// Borders and choices:
// - A 0-byte packet is a data packet too (`frame_o.data` set): its slot is released as any other's.
// - The frame is written down (rec_*) before it can leave, so no answer to it can come too early.
//
// It is longer than a module should be: new packets and repeated ones each have ports of their own,
// and the stability of what it asks four partners is asserted.

`include "assert.svh"

module packet_build
  import nic_pkg::*;
  import header_pkg::*;
  import path_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Segments in issue order, from payload_fetch
  input  logic     hand_valid_i,
  output logic     hand_ready_o,
  input  segment_t hand_i,

  // Packets that go again, from retransmit
  input  logic     again_valid_i,
  output logic     again_ready_o,
  input  segment_t again_i,

  // Probes, from path_probe
  input  logic          probe_valid_i,
  output logic          probe_ready_o,
  input  qp_t           probe_qp_i,
  input  dest_t         probe_dest_i,
  input  value_t        probe_value_i,
  input  logic   [15:0] probe_id_i,

  // Is the group's window tight?, to window
  output logic   query_valid_o,
  input  logic   query_ready_i,
  output group_t query_group_o,
  input  logic   query_rsp_valid_i,
  input  logic   query_rsp_tight_i,

  // The entropy value, to path_select
  output logic         data_valid_o,
  input  logic         data_ready_i,
  output dest_t        data_dest_o,
  input  logic         data_rsp_valid_i,
  input  logic  [15:0] data_rsp_port_i,

  // The PSN is given; the numbers of both sides, to qp_table
  output logic build_valid_o,
  input  logic build_ready_i,
  output qp_t  build_qp_o,
  output psn_t build_psn_o,
  output logic build_again_o,             // it was given before
  input  logic build_rsp_valid_i,
  input  qpn_t build_rsp_qpn_i,
  input  logic build_rsp_remote_valid_i,
  input  qpn_t build_rsp_remote_i,

  // The packet's record, to replay_store
  output logic     rec_valid_o,
  input  logic     rec_ready_i,
  output segment_t rec_o,

  // Frames, to the data queue
  output logic   frame_valid_o,
  input  logic   frame_ready_i,
  output frame_t frame_o,

  // The packet that is being built for the first time, to ack_take
  output logic building_valid_o,
  output qp_t  building_qp_o,
  output psn_t building_psn_o,

  // A packet was built for the first time, to the log
  output logic built_valid_o,
  output qp_t  built_qp_o,
  output psn_t built_psn_o,
  output logic built_ack_req_o,

  // A packet's frame was made, a first one or not, to replay_store and the log
  output logic         made_valid_o,
  output slot_t        made_slot_o,
  output logic  [15:0] made_port_o,
  output logic         made_again_o,

  // Settings, from csr
  input logic [  31:0] cfg_own_ip_i,
  input logic [  47:0] cfg_own_mac_i,
  input logic [  47:0] cfg_hop_mac_i,
  input logic [2047:0] cfg_peer_ip_i,
  input logic [   5:0] cfg_dscp0_i,
  input logic [   5:0] cfg_dscp1_i,
  input logic [   5:0] cfg_dscp2_i,
  input logic          cfg_distinct_rtx_i,   // retransmissions have a codepoint of their own
  input logic [   1:0] cfg_ecn_i,
  input logic          cfg_trimming_i,
  input logic [   7:0] cfg_ttl_i,
  input logic [   6:0] cfg_data_hdr_i,
  input logic [   6:0] cfg_wire_overhead_i,
  input logic          cfg_icrc_i,           // ICRCEnable: 4 B more (PKT-1)
  input logic          cfg_stamps_i,         // WireTimestamp

  // Clocks since reset, from the port
  input micros_t now_i
);

  localparam logic [6:0] PROBE_HDR = 7'd70;  // without FCS

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic        busy;           // `seg` is in work
    segment_t    seg;
    logic        rtx;            // it goes again
    logic        probe;          // it is a probe
    logic [15:0] probe_id;
    logic        query_valid;    // requests that wait to be taken
    logic        data_valid;
    logic        build_valid;
    logic        rec_valid;
    logic        query_done;     // answers that are there
    logic        data_done;
    logic        build_done;
    logic        tight;
    logic [15:0] sport;
    qpn_t        own_qpn;
    logic        remote_valid;
    qpn_t        remote;
    logic        frame_valid;    // `frame` waits for the data queue
    frame_t      frame;
    logic        built_valid;
    qp_t         built_qp;
    psn_t        built_psn;
    logic        built_ack_req;
    logic        made_valid;
    slot_t       made_slot;
    logic [15:0] made_port;
    logic        made_again;
  } regs_t;

  localparam regs_t RESET = '{
      busy: 1'b0,
      seg: segment_t'(0),
      rtx: 1'b0,
      probe: 1'b0,
      probe_id: '0,
      query_valid: 1'b0,
      data_valid: 1'b0,
      build_valid: 1'b0,
      rec_valid: 1'b0,
      query_done: 1'b0,
      data_done: 1'b0,
      build_done: 1'b0,
      tight: 1'b0,
      sport: '0,
      own_qpn: '0,
      remote_valid: 1'b0,
      remote: '0,
      frame_valid: 1'b0,
      frame: frame_t'(0),
      built_valid: 1'b0,
      built_qp: '0,
      built_psn: '0,
      built_ack_req: 1'b0,
      made_valid: 1'b0,
      made_slot: '0,
      made_port: '0,
      made_again: 1'b0
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

  logic finish;  // all is there, and so is room for the frame
  assign finish = regs_q.busy && regs_q.query_done && regs_q.data_done && regs_q.build_done &&
                  !regs_q.rec_valid && (!regs_q.frame_valid || frame_ready_i);

  logic free;  // for the next packet
  assign free = !regs_q.busy || finish;
  assign probe_ready_o = free;
  assign again_ready_o = free && !probe_valid_i;
  assign hand_ready_o = free && !again_valid_i && !probe_valid_i;
  assign query_valid_o = regs_q.query_valid;
  assign query_group_o = regs_q.seg.group;
  assign data_valid_o = regs_q.data_valid;
  assign data_dest_o = regs_q.seg.dest;
  assign build_valid_o = regs_q.build_valid;
  assign build_qp_o = regs_q.seg.qp;
  assign build_psn_o = regs_q.seg.psn;
  assign build_again_o = regs_q.rtx || regs_q.probe;
  assign building_valid_o = regs_q.busy && !build_again_o;
  assign building_qp_o = regs_q.seg.qp;
  assign building_psn_o = regs_q.seg.psn;
  assign rec_valid_o = regs_q.rec_valid;
  assign rec_o = regs_q.seg;
  assign frame_valid_o = regs_q.frame_valid;
  assign frame_o = regs_q.frame;
  assign built_valid_o = regs_q.built_valid;
  assign built_qp_o = regs_q.built_qp;
  assign built_psn_o = regs_q.built_psn;
  assign built_ack_req_o = regs_q.built_ack_req;
  assign made_valid_o = regs_q.made_valid;
  assign made_slot_o = regs_q.made_slot;
  assign made_port_o = regs_q.made_port;
  assign made_again_o = regs_q.made_again;

  ////////////////
  // Next state //
  ////////////////

  logic          ack_req;
  logic   [ 7:0] opcode;
  base_t         base;
  reth_t         target;
  peth_t         probe;
  frame_t        frame;
  logic   [15:0] stamp;  // now, 128 ns

  assign ack_req = !regs_q.probe && (regs_q.seg.last || regs_q.tight || regs_q.rtx);

  always_comb begin
    unique case ({
      regs_q.seg.first, regs_q.seg.last
    })
      2'b11:   opcode = OP_ONLY;
      2'b10:   opcode = OP_FIRST;
      2'b01:   opcode = OP_LAST;
      default: opcode = OP_MIDDLE;
    endcase

    base = base_t'(0);
    base.dst_mac = cfg_hop_mac_i;
    base.src_mac = cfg_own_mac_i;
    base.src_ip = cfg_own_ip_i;
    base.dst_ip = cfg_peer_ip_i[{regs_q.seg.dest, 5'd0}+:32];
    base.dscp      = !cfg_trimming_i || regs_q.probe ? cfg_dscp0_i
        : regs_q.rtx && cfg_distinct_rtx_i ? cfg_dscp2_i : cfg_dscp1_i;
    base.rtx = regs_q.rtx;
    base.ts = cfg_stamps_i;
    base.ecn = cfg_ecn_i;
    base.ttl = cfg_ttl_i;
    base.len = regs_q.seg.len + len_t'(cfg_wire_overhead_i);
    if (regs_q.probe) begin
      base.len = PROBE_BYTES + (cfg_icrc_i ? ICRC_BYTES : '0);
    end
    base.sport = regs_q.sport;
    base.opcode = regs_q.probe ? OP_PROBE : opcode;
    base.by_sender = !regs_q.remote_valid || regs_q.probe;
    base.qpn = base.by_sender ? regs_q.own_qpn : regs_q.remote;
    base.ack_req = ack_req;
    base.psn = regs_q.seg.psn;

    target.raddr = regs_q.seg.raddr;
    target.rkey = regs_q.seg.rkey;
    target.msg_len = regs_q.seg.msg_len;

    stamp = cfg_stamps_i ? now_i[22:7] : '0;
    frame.hdr = 832'({reth(target), meth(regs_q.seg.msn), base_header(base)});
    if (cfg_stamps_i) begin
      frame.hdr = 832'({reth(target), tseth(stamp), meth(regs_q.seg.msn), base_header(base)});
    end
    frame.hdr_len = cfg_data_hdr_i;
    frame.len = base.len;
    frame.data = !regs_q.probe;
    frame.slot = regs_q.seg.slot;
    frame.off = regs_q.seg.laddr[5:0];

    probe.probe_id = regs_q.probe_id;
    probe.own_pdc = regs_q.own_qpn[15:0];
    probe.peer_pdc = regs_q.remote_valid ? regs_q.remote[15:0] : '0;
    probe.timestamp = stamp;
    if (regs_q.probe) begin
      frame.hdr = 832'({peth(probe), base_header(base)});
      frame.hdr_len = PROBE_HDR;
    end
  end

  always_comb begin
    regs_d = regs_q;

    // Requests, each until it is taken.
    regs_d.query_valid = regs_q.query_valid && !query_ready_i;
    regs_d.data_valid = regs_q.data_valid && !data_ready_i;
    regs_d.build_valid = regs_q.build_valid && !build_ready_i;
    regs_d.rec_valid = regs_q.rec_valid && !rec_ready_i;

    // Answers.
    if (query_rsp_valid_i) begin
      regs_d.query_done = 1'b1;
      regs_d.tight      = query_rsp_tight_i;
    end
    if (data_rsp_valid_i) begin
      regs_d.data_done = 1'b1;
      regs_d.sport     = data_rsp_port_i;
    end
    if (build_rsp_valid_i) begin
      regs_d.build_done   = 1'b1;
      regs_d.own_qpn      = build_rsp_qpn_i;
      regs_d.remote_valid = build_rsp_remote_valid_i;
      regs_d.remote       = build_rsp_remote_i;
    end

    // The frame.
    if (frame_ready_i) begin
      regs_d.frame_valid = 1'b0;
    end
    regs_d.built_valid = finish && !build_again_o;
    regs_d.made_valid  = finish && !regs_q.probe;
    if (finish) begin
      regs_d.made_slot     = regs_q.seg.slot;
      regs_d.made_port     = regs_q.sport;
      regs_d.made_again    = regs_q.rtx;
      regs_d.busy          = 1'b0;
      regs_d.frame_valid   = 1'b1;
      regs_d.frame         = frame;
      regs_d.built_qp      = regs_q.seg.qp;
      regs_d.built_psn     = regs_q.seg.psn;
      regs_d.built_ack_req = ack_req;
    end

    // The next packet.
    if (free && (probe_valid_i || again_valid_i || hand_valid_i)) begin
      regs_d.busy        = 1'b1;
      regs_d.probe       = probe_valid_i;
      regs_d.rtx         = again_valid_i && !probe_valid_i;
      regs_d.seg         = again_valid_i ? again_i : hand_i;
      regs_d.query_valid = !again_valid_i;
      regs_d.data_valid  = 1'b1;
      regs_d.build_valid = 1'b1;
      regs_d.rec_valid   = !again_valid_i;
      regs_d.query_done  = again_valid_i;
      regs_d.tight       = 1'b0;
      regs_d.data_done   = 1'b0;
      regs_d.build_done  = 1'b0;
    end
    if (free && probe_valid_i) begin
      regs_d.probe_id    = probe_id_i;
      regs_d.seg         = segment_t'(0);
      regs_d.seg.qp      = probe_qp_i;
      regs_d.seg.dest    = probe_dest_i;
      regs_d.seg.slot    = {probe_dest_i[2:0], probe_value_i};
      regs_d.seg.laddr   = 64'(probe_dest_i[5:3]);
      regs_d.sport       = port_of(probe_value_i);
      regs_d.query_valid = 1'b0;
      regs_d.data_valid  = 1'b0;
      regs_d.rec_valid   = 1'b0;
      regs_d.query_done  = 1'b1;
      regs_d.data_done   = 1'b1;
    end
  end

  //////////////
  // Contract //
  //////////////

  // What a partner does not take stays as it is.
  `ASSERT(QueryWaits_A, query_valid_o && !query_ready_i |=> query_valid_o && $stable(query_group_o))
  `ASSERT(DataWaits_A, data_valid_o && !data_ready_i |=> data_valid_o && $stable(data_dest_o))
  `ASSERT(BuildWaits_A, build_valid_o && !build_ready_i |=> build_valid_o && $stable(build_psn_o))
  `ASSERT(RecWaits_A, rec_valid_o && !rec_ready_i |=> rec_valid_o && $stable(rec_o))
  `ASSERT(FrameWaits_A, frame_valid_o && !frame_ready_i |=> frame_valid_o && $stable(frame_o))

  // A packet is logged as its frame goes out.
  `ASSERT(BuiltWithFrame_A, built_valid_o |-> frame_valid_o && made_valid_o)

  // Bits of the count that no stamp has.
  logic unused;
  assign unused = &{1'b0, now_i};

  // A probe has no slot to be given back.
  `ASSERT(MadeWithSlot_A, made_valid_o |-> frame_o.data)

endmodule
