// Control frames of the receiver: a SACK, a cumulative ACK, or both, or a NACK, from one answer.
//
// Twin of rtl-model/src/ack_build.rs. ACK-1, SACK-1, SACK-2, NAK-1, MSN-8, PTH-1, PTH-2, BUF-3. An
// answer waits at `answer` until its last frame is built: 2 clocks after it came for a SACK or a
// NACK, 5 for a SACK and an ACK; longer while path_select, the egress pool or `frame` keep it. The
// SACK goes first.
//
// A frame is built when the control pool has room for it: 94 B, 78 B, or 62 B and cfg_ack_extra
// bytes of zeros (uet: 16, section 0). Its reservation goes out in the same clock as the frame.
// ctl_free must count a reservation from the clock after its event on; the next frame is built
// then at the earliest. The ACK's port is the next of this NIC's own spraying; a SACK or a NACK
// goes on the entropy value of the packet that drew it.
//
// Choices: an ack_psn_offset that 16 bits do not hold is clipped to -32,768, which is below every
// window, so that no sender takes it for a packet it has out. The SACK that answers a probe has
// the probe's id there. A NACK's timestamp is 0. An answer without a frame is passed over.

`include "assert.svh"

module ack_build
  import nic_pkg::*;
  import header_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Answers, from ack_hold
  input  logic   answer_valid_i,
  output logic   answer_ready_o,
  input  reply_t reply_i,

  // The ACK's port, from path_select
  output logic         ack_valid_o,
  input  logic         ack_ready_i,
  output dest_t        ack_dest_o,
  input  logic         ack_rsp_valid_i,
  input  logic  [15:0] ack_rsp_port_i,

  // Control pool, of egress_arbiter
  input  bytes_t ctl_free_i,
  output logic   cresv_valid_o,
  output len_t   cresv_bytes_o,

  // Frames, to the control class queue
  output logic   frame_valid_o,
  input  logic   frame_ready_i,
  output frame_t frame_o,

  // Levels, from csr
  input logic [31:0] cfg_own_ip_i,
  input logic [47:0] cfg_own_mac_i,
  input logic [47:0] cfg_hop_mac_i,
  input logic [ 5:0] cfg_dscp3_i,
  input logic [ 1:0] cfg_ecn_i,
  input logic [ 7:0] cfg_ttl_i,
  input logic [10:0] cfg_range_i,
  input logic [ 4:0] cfg_ack_extra_i,
  input logic        cfg_icrc_i        // ICRCEnable: 4 B more (PKT-1)
);

  localparam logic [6:0] SACK_HDR = 7'd90;  // without FCS
  localparam logic [6:0] ACK_HDR = 7'd58;
  localparam logic [6:0] NACK_HDR = 7'd74;

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    First,  // takes up an answer, builds its SACK or NACK
    Port,  // asks for the ACK's port
    Wait,  // the port is on its way
    Second,  // builds the ACK
    Done  // lets the answer go
  } state_e;

  typedef struct {
    state_e      state;
    dest_t       ack_dest;
    logic [15:0] port;
    logic        cresv_valid;
    len_t        cresv_bytes;
    logic        frame_valid;
    frame_t      frame;
  } regs_t;

  localparam regs_t RESET = '{state: First, frame: frame_t'(0), default: '0};

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

  assign answer_ready_o = regs_q.state == Done;
  assign ack_valid_o    = regs_q.state == Port;
  assign ack_dest_o     = regs_q.ack_dest;
  assign cresv_valid_o  = regs_q.cresv_valid;
  assign cresv_bytes_o  = regs_q.cresv_bytes;
  assign frame_valid_o  = regs_q.frame_valid;
  assign frame_o        = regs_q.frame;

  ////////////
  // Frames //
  ////////////

  answer_t   answer;
  logic      nack;  // which of the three is being built
  logic      sack;
  psn_t      offset;  // the PSN that drew it, from the cumulative PSN
  logic      fits;  // in 16 bits, signed
  base_t     base;
  seth_t     report;
  neth_t     refusal;
  cc_state_t state;
  frame_t    frame;

  assign answer = reply_i.answer;
  assign nack = regs_q.state == First && answer.nack != NackNone;
  assign sack = regs_q.state == First && !nack;
  assign offset = answer.drew - answer.cum;
  assign fits = offset[23:15] == '0 || offset[23:15] == '1;

  assign base = '{
          dst_mac: cfg_hop_mac_i,
          src_mac: cfg_own_mac_i,
          src_ip: cfg_own_ip_i,
          dst_ip: answer.dst_ip,
          dscp: cfg_dscp3_i,
          ecn: cfg_ecn_i,
          ttl: cfg_ttl_i,
          len:
          (
          nack ? NACK_BYTES : sack ? SACK_BYTES : ACK_BYTES + len_t'(cfg_ack_extra_i)
          ) + (
          cfg_icrc_i ? ICRC_BYTES : '0
          ),
          sport: regs_q.state == First ? answer.entropy : regs_q.port,
          opcode: nack ? OP_NACK : sack ? OP_SACK : OP_ACK,
          qpn: answer.sender_qpn,
          ack_req: 1'b0,
          by_sender: 1'b0,
          rtx: regs_q.state == First && answer.rtx,
          ts: regs_q.state == First && answer.stamped,
          psn: nack ? answer.drew : answer.cum
      };

  assign report = '{
          mark: answer.ce ? 2'd1 : 2'd0,
          probe: answer.probe,
          psn_offset: answer.probe ? answer.drew[15:0] : fits ? offset[15:0] : 16'h8000,
          entropy: answer.entropy,
          receiver_qpn: answer.own_qpn,
          sender_pdc: answer.sender_qpn[15:0],
          cum: answer.cum,
          mpr: 8'(cfg_range_i[10:7]),
          sack_offset: answer.sack_offset,
          bitmap: answer.bitmap
      };

  // NAK-1: the codes on the wire.
  logic [7:0] reason;
  always_comb begin
    unique case (answer.nack)
      NackTrimmed: reason = 8'h01;
      NackLastHop: reason = 8'h02;
      default:     reason = 8'h0b;  // NackRange
    endcase
  end

  logic [15:0] echo;  // when what drew the frame was built (RTT-1)
  assign echo = answer.stamped ? answer.stamp : '0;

  assign refusal = '{
          reason: reason,
          entropy: answer.entropy,
          receiver_qpn: answer.own_qpn,
          sender_pdc: answer.sender_qpn[15:0],
          psn: answer.drew,
          timestamp: echo
      };

  assign state = '{
          service: reply_i.service + echo,
          ooo: answer.ooo,
          penalty: reply_i.penalty,
          rcvd: answer.rcvd
      };

  always_comb begin
    frame     = frame_t'(0);
    frame.len = base.len;
    if (nack) begin
      frame.hdr     = 832'({neth(refusal), base_header(base)});
      frame.hdr_len = NACK_HDR;
    end else if (sack) begin
      frame.hdr     = 832'({cc_state(state), seth(report), base_header(base)});
      frame.hdr_len = SACK_HDR;
    end else begin
      frame.hdr     = 832'({aeth(answer.msn), base_header(base)});
      frame.hdr_len = ACK_HDR + 7'(cfg_ack_extra_i);
    end
  end

  ////////////////
  // Next state //
  ////////////////

  logic reports;  // the answer has a SACK or a NACK
  logic room;  // the frame can be built
  assign reports = answer.sack || answer.nack != NackNone;
  assign room = ctl_free_i >= bytes_t'(base.len) && (!regs_q.frame_valid || frame_ready_i);

  always_comb begin
    regs_d = regs_q;

    // Events last a clock.
    regs_d.cresv_valid = 1'b0;
    if (frame_ready_i) begin
      regs_d.frame_valid = 1'b0;
    end

    unique case (regs_q.state)
      First: begin
        if (answer_valid_i && (!reports || room)) begin
          regs_d.state    = answer.ack ? Port : Done;
          regs_d.ack_dest = answer.dest;
        end
      end
      Port: begin
        if (ack_ready_i) begin
          regs_d.state = Wait;
        end
      end
      Wait: begin
        if (ack_rsp_valid_i) begin
          regs_d.state = Second;
          regs_d.port  = ack_rsp_port_i;
        end
      end
      Second: begin
        if (room) begin
          regs_d.state = Done;
        end
      end
      default: regs_d.state = First;  // Done
    endcase

    if (room && (regs_q.state == Second
        || (regs_q.state == First && answer_valid_i && reports))) begin
      regs_d.cresv_valid = 1'b1;
      regs_d.cresv_bytes = base.len;
      regs_d.frame_valid = 1'b1;
      regs_d.frame       = frame;
    end
  end

  // What only ack_hold needs.
  logic unused;
  assign unused = &{1'b0, answer.size, reply_i.bytes, reply_i.since, cfg_range_i[6:0]};

  //////////////
  // Contract //
  //////////////

  // An answer stays until it is taken.
  `ASSERT(AnswerWaits_A, regs_q.state != First |-> answer_valid_i)

  // A frame that the queue does not take stays as it is.
  `ASSERT(FrameWaits_A, frame_valid_o && !frame_ready_i |=> frame_valid_o)
  `ASSERT(FrameStable_A, frame_valid_o && !frame_ready_i |=> $stable(frame_o))

  // So does a request for a port.
  `ASSERT(PortWaits_A, ack_valid_o && !ack_ready_i |=> ack_valid_o && $stable(ack_dest_o))

  // No frame without its reservation, no reservation without room.
  `ASSERT(Reserved_A, cresv_valid_o |-> frame_valid_o && cresv_bytes_o == frame_o.len)
  `ASSERT(RoomFirst_A, cresv_valid_o |-> $past(ctl_free_i) >= 32'(cresv_bytes_o))

  // ctl_free has seen a reservation before the next frame is built.
  `ASSERT(Apart_A, cresv_valid_o |=> !cresv_valid_o)

endmodule
