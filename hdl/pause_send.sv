// Pause send: tells the switch to pause or to resume a traffic class, by what its pool holds.
//
// Twin of rtl-model/src/pause_send.rs. A frame stands at the port 3 clocks after the event that
// asks for it, behind the frames asked for before it. Throughput 1 frame a clock.
// PFC-1: an arrival that finds no pause outstanding and, itself included, Xoff or more sends one,
// also where it is then dropped. PFC-2: half a pause time after each pause, Xoff or more sends it
// again, less an XON, even above Xon. PFC-3: a release to Xon or less sends an XON at once.
// Section 12: the frame has 64 B with the FCS, names one class and asks for its quanta; 0 resumes.
//
// Half a pause time counts from the clock that asks for the pause. Its fraction carries over: the
// n-th check comes at the first clock at or after n halves, at least a clock behind the one before.
// A unit here is half of one: a quantum is 512,000 and a clock drains twice `cfg_wire_rate`.
//
// Borders and choices:
// - Section 16: of one clock's events the arrival comes first, then the release, then the check. An
//   arrival and a release in one clock can send a pause and an XON.
// - An XON, of either kind, ends "outstanding", and the counting with it.
// - A class that is switched off while its pause is outstanding is resumed at the next check.
// - Where frames are asked for faster than the port takes them, 16 wait in order and 2 more a
//   class; one more of that class takes the place of its youngest.

`include "assert.svh"

module pause_send
  import nic_pkg::*;
  import header_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // The clock before, from ingress_pool: an arrival with the bytes that its class then holds, the
  // classes of releases, and the bytes that each holds behind both
  input logic           arr_valid_i,
  input logic   [  2:0] arr_cls_i,
  input bytes_t         arr_occ_i,
  input logic   [  7:0] rel_cls_i,
  input logic   [255:0] occ_i,

  // Frames, to egress_arbiter
  output logic   frame_valid_o,
  input  logic   frame_ready_i,
  output frame_t frame_o,

  // Frames asked for by class, to counters
  output logic [7:0] xoff_o,
  output logic [7:0] xon_o,

  // Settings, from csr
  input logic  [ 47:0] cfg_own_mac_i,
  input rate_t         cfg_wire_rate_i,
  input logic  [  7:0] cfg_pfc_enable_i,
  input logic  [ 23:0] cfg_pfc_delay_i,
  input logic  [127:0] cfg_quanta_i,
  input logic  [255:0] cfg_xoff_i,
  input logic  [255:0] cfg_xon_i
);

  typedef logic [44:0] time_t;  // halves of units: 65,535 quanta and 2^24 clocks

  localparam int unsigned DEPTH = 16;
  localparam logic [6:0] PFC_HDR = 7'd60;  // without FCS
  localparam time_t QUANTUM_UNITS = 45'(64 * BYTE_UNITS);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic [7:0]         out;          // a pause is outstanding
    time_t              left[8];      // to the next check, at the start of this clock
    logic [7:0]         asked;        // a frame waits for the queue
    logic [7:0]         asked_xon;    // and it is an XON
    logic [7:0]         behind;       // another one behind it
    logic [7:0]         behind_xon;
    logic [4*DEPTH-1:0] queue;        // XON and class, the oldest lowest
    logic [4:0]         count;
    logic               frame_valid;
    frame_t             frame;
    logic [7:0]         xoff;
    logic [7:0]         xon;
  } regs_t;

  localparam regs_t RESET = '{left: '{default: '0}, frame: frame_t'(0), default: '0};

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

  assign frame_valid_o = regs_q.frame_valid;
  assign frame_o       = regs_q.frame;
  assign xoff_o        = regs_q.xoff;
  assign xon_o         = regs_q.xon;

  ////////////
  // Frames //
  ////////////

  // A PFC frame of a class, FCS left out. Numbers go most significant byte first.
  function automatic frame_t pfc_frame(logic [47:0] mac, logic [2:0] cls, logic [15:0] quanta);
    frame_t frame;
    frame                           = frame_t'(0);
    frame.hdr[8*0+:48]              = num48(PFC_MAC);
    frame.hdr[8*6+:48]              = num48(mac);
    frame.hdr[8*12+:16]             = num16(ETHERTYPE_PFC);
    frame.hdr[8*14+:16]             = num16(PFC_OPCODE);
    frame.hdr[8*17+:8]              = 8'd1 << cls;
    frame.hdr[8*18+16*32'(cls)+:16] = num16(quanta);
    frame.hdr_len                   = PFC_HDR;
    frame.len                       = PFC_BYTES;
    return frame;
  endfunction

  ////////////////
  // Next state //
  ////////////////

  time_t delay;
  time_t step;
  assign delay = time_t'(cfg_pfc_delay_i) * time_t'(cfg_wire_rate_i);
  assign step  = time_t'({cfg_wire_rate_i, 1'b0});

  time_t       half;
  time_t       over;  // what the check leaves of this clock
  logic        due;
  logic        full;  // Xoff or more
  logic  [1:0] asks;  // a pause, then an XON
  logic  [2:0] cls;
  logic        taken;

  always_comb begin
    regs_d = regs_q;

    // The port has taken the frame; the oldest of the queue follows it.
    if (frame_ready_i) begin
      regs_d.frame_valid = 1'b0;
    end
    if (!regs_d.frame_valid && regs_q.count != '0) begin
      regs_d.frame_valid = 1'b1;
      regs_d.frame = pfc_frame(
        cfg_own_mac_i,
        regs_q.queue[2:0],
        regs_q.queue[3] ? '0 : cfg_quanta_i[{regs_q.queue[2:0], 4'd0}+:16]
      );
      regs_d.queue = regs_q.queue >> 4;
      regs_d.count = regs_q.count - 5'd1;
    end

    // One of the frames asked for joins the queue, the lowest class first.
    cls = '0;
    for (int unsigned c = 8; c > 0; c--) begin
      if (regs_q.asked[c-1]) begin
        cls = 3'(c - 1);
      end
    end
    taken = regs_q.asked != '0 && regs_d.count != 5'(DEPTH);
    if (taken) begin
      regs_d.queue[{regs_d.count[3:0], 2'd0}+:4] = {regs_q.asked_xon[cls], cls};
      regs_d.count                               = regs_d.count + 5'd1;
      regs_d.asked[cls]                          = regs_q.behind[cls];
      regs_d.asked_xon[cls]                      = regs_q.behind_xon[cls];
      regs_d.behind[cls]                         = 1'b0;
    end

    regs_d.xoff = '0;
    regs_d.xon  = '0;
    half        = '0;
    over        = '0;
    due         = 1'b0;
    full        = 1'b0;
    asks        = '0;
    for (int unsigned c = 0; c < 8; c++) begin
      half = time_t'(cfg_quanta_i[16*c+:16]) * QUANTUM_UNITS + delay;
      over = step - regs_q.left[c];
      due  = regs_q.out[c] && regs_q.left[c] <= step;
      full = cfg_pfc_enable_i[c] && occ_i[32*c+:32] >= cfg_xoff_i[32*c+:32];
      asks = '0;
      if (regs_q.out[c]) begin
        regs_d.left[c] = regs_q.left[c] - step;
      end

      // Arrival.
      if (arr_valid_i && arr_cls_i == 3'(c) && cfg_pfc_enable_i[c] && !regs_q.out[c] &&
          arr_occ_i >= cfg_xoff_i[32*c+:32]) begin
        asks[0]        = 1'b1;
        regs_d.out[c]  = 1'b1;
        regs_d.left[c] = half;
      end

      // Release, or else the check.
      if (regs_d.out[c] && rel_cls_i[c] && occ_i[32*c+:32] <= cfg_xon_i[32*c+:32]) begin
        asks[1]       = 1'b1;
        regs_d.out[c] = 1'b0;
      end else if (due && full) begin
        asks[0]        = 1'b1;
        regs_d.left[c] = half > over ? half - over : '0;
      end else if (due) begin
        asks[1]       = 1'b1;
        regs_d.out[c] = 1'b0;
      end

      // What is asked for waits, the youngest in the last place.
      for (int unsigned k = 0; k < 2; k++) begin
        if (asks[k] && !regs_d.asked[c]) begin
          regs_d.asked[c]     = 1'b1;
          regs_d.asked_xon[c] = k == 1;
        end else if (asks[k]) begin
          regs_d.behind[c]     = 1'b1;
          regs_d.behind_xon[c] = k == 1;
        end
      end
      regs_d.xoff[c] = asks[0];
      regs_d.xon[c]  = asks[1];
    end
  end

  //////////////
  // Contract //
  //////////////

  // A frame that the port does not take stays as it is.
  `ASSERT(FrameWaits_A, frame_valid_o && !frame_ready_i |=> frame_valid_o && $stable(frame_o))

  // One waits behind another, and the queue holds what it can.
  `ASSERT(Behind_A, (regs_q.behind & ~regs_q.asked) == '0)
  `ASSERT(Fits_A, regs_q.count <= 5'(DEPTH))

endmodule
