// Probes: a packet without payload on each entropy value that is bad, until one is answered.
//
// Twin of rtl-model/src/path_probe.rs. PTH-2: one probe per bad value every InitialAckTimeout, on
// the destination's lowest open QP, without PSN and window. path_select says which values are bad;
// memory `due` has a word a value here: the tick of its next probe, and the id of the last one.
//
// A value that falls is due at the tick count of that clock + floor(T), at least 1: timers expire
// at ticks, and the clock in which the value falls belongs to the last one. Then every floor(T).
// When the tick count reaches the soonest of all, a sweep visits every bad value, by destination
// and value, ascending: 2 clocks a value that is not due; one that is due asks tx_scheduler for
// room, and goes to packet_build: about 20 clocks. Without room, or without an open QP that is not
// in error, the period passes. A sweep that comes late counts the next period from its own tick,
// where the period has passed already.
// Throughput: a sweep of all 128 values of a destination fits into 1 microsecond where none is due.
//
// A probe's id: 8 bits that count the falls of values, 8 that count the probes on this value since.
// An answer with m = 0 and the first 8 bits of the value's word makes the value good: so an answer
// to an earlier probe does too, and one from before the value fell does not. An answer to the last
// probe is a sample for RTT-1: `sample_at_o` is the clock in which the probe's serialisation ended.
// An answer is judged within 3 clocks; it takes 8 at most until path_select has told that the value
// rose, and the next one comes later than that.
// Memory `at`, a word a value: when its last probe ended. The port tells which probe it sends by
// the frame's slot and off: {dest[2:0], value} and dest[5:3].
// Borders: a tick count equal to due and one less; a value that falls again while its probe is on
// its way; the last value of the last destination; T below 1 us and without end.
//
// It is longer than a module should be: it has seven partners, and its ports take half of it.

`include "assert.svh"

module path_probe
  import nic_pkg::*;
  import path_pkg::*;
  import header_pkg::*;
#(
  parameter int unsigned DESTS = 64,
  parameter int unsigned QPS   = 256
) (
  input logic clk_i,
  input logic rst_ni,

  // Levels, from csr
  input logic [63:0] cfg_timeout_i,  // microseconds, 41 binary places
  input logic        cfg_icrc_i,

  // Whole microseconds, from timer_wheel; clocks since reset, from the port
  input micros_t ticks_i,
  input micros_t now_i,

  // Bad values, path_select
  input  logic    [63:0] troubled_i,
  input  logic           fell_valid_i,
  input  logic           rose_valid_i,
  input  dest_t          told_dest_i,
  input  value_t         told_value_i,
  output logic           look_valid_o,
  input  logic           look_ready_i,
  output dest_t          look_dest_o,
  input  logic           look_rsp_valid_i,
  input  values_t        look_rsp_bad_i,
  output logic           good_valid_o,
  output dest_t          good_dest_o,
  output value_t         good_value_o,

  // Answers, from ack_take
  input logic         probed_valid_i,
  input dest_t        probed_dest_i,
  input logic  [15:0] probed_port_i,
  input logic  [15:0] probed_id_i,
  input logic         probed_good_i,   // m = 0

  // QPs, from qp_table
  input logic          created_valid_i,
  input qpn_t          created_qpn_i,
  input dest_t         created_dest_i,
  input logic          closed_valid_i,
  input qpn_t          closed_qpn_i,
  input logic  [255:0] dead_i,

  // Room in the egress pool, tx_scheduler
  output logic room_valid_o,
  input  logic room_ready_i,
  output len_t room_bytes_o,
  input  logic room_rsp_valid_i,
  input  logic room_rsp_ok_i,

  // Probes, to packet_build
  output logic          probe_valid_o,
  input  logic          probe_ready_i,
  output qp_t           probe_qp_o,
  output dest_t         probe_dest_o,
  output value_t        probe_value_o,
  output logic   [15:0] probe_id_o,

  // What the port sends, from egress_arbiter
  input logic         tx_valid_i,
  input logic   [3:0] tx_cls_i,
  input frame_t       tx_i,
  input logic         end_valid_i,

  // Round trips of probes; periods without room: to the log
  output logic         sample_valid_o,
  output dest_t        sample_dest_o,
  output logic  [47:0] sample_at_o,
  output logic         missed_valid_o,

  // The next probe of each value: due in 64:17, one was sent in 16, its id in 15:0
  output logic        due_we_o,
  output logic [31:0] due_waddr_o,
  output logic [64:0] due_wdata_o,
  output logic        due_re_o,
  output logic [31:0] due_raddr_o,
  input  logic [64:0] due_rdata_i,

  // Clock of the end of the last probe on each value
  output logic        at_we_o,
  output logic [31:0] at_waddr_o,
  output logic [47:0] at_wdata_o,
  output logic        at_re_o,
  output logic [31:0] at_raddr_o,
  input  logic [47:0] at_rdata_i
);

  localparam int unsigned INDEX = $clog2(DESTS);

  typedef struct packed {
    micros_t    tick;
    logic       sent;
    logic [7:0] life;
    logic [7:0] count;
  } due_t;

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle,   // until a value is due
    Dest,   // the next destination with bad values
    Look,   // asks which, and waits for the answer
    Value,  // the next value; reads its word
    Judge,  // has it: is it due, is there a QP
    Room,   // asks for room, and waits for the answer
    Give,   // the probe goes
    Write   // writes the word back
  } state_e;

  typedef struct {
    state_e         state;
    logic [63:0]    rest;          // destinations still to be visited
    dest_t          dest;
    values_t        values;        // of it, still to be visited
    value_t         value;
    due_t           due;           // its word
    logic           gone;          // it has fallen again meanwhile
    qp_t            qp;
    logic           look_valid;    // requests that wait to be taken
    logic           room_valid;
    micros_t        soonest;       // the first tick at which some value may be due
    logic [7:0]     life;          // values that have fallen
    logic           fell_valid;    // one that is to be written
    dest_t          fell_dest;
    value_t         fell_value;
    micros_t        fell_tick;
    logic           answer_valid;  // an answer that is to be judged
    logic           answer_read;   // its word has been read
    dest_t          answer_dest;   // of the last one
    value_t         answer_value;
    logic [15:0]    answer_id;
    logic           good_valid;
    logic           samples;       // it is the last probe's
    logic           sample_valid;
    logic [47:0]    sample_at;
    logic           missed;
    logic           sends;         // the port sends a probe
    dest_t          sends_dest;
    value_t         sends_value;
    logic [QPS-1:0] is_open;
    dest_t          dests[QPS];    // of each QP
  } regs_t;

  localparam regs_t RESET = '{
      state: Idle,
      due: due_t'(0),
      soonest: '1,
      dests: '{default: '0},
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

  assign look_valid_o   = regs_q.look_valid;
  assign look_dest_o    = regs_q.dest;
  assign good_valid_o   = regs_q.good_valid;
  assign good_dest_o    = regs_q.answer_dest;
  assign good_value_o   = regs_q.answer_value;
  assign room_valid_o   = regs_q.room_valid;
  assign room_bytes_o   = PROBE_BYTES + (cfg_icrc_i ? ICRC_BYTES : '0);
  assign probe_valid_o  = regs_q.state == Give;
  assign probe_qp_o     = regs_q.qp;
  assign probe_dest_o   = regs_q.dest;
  assign probe_value_o  = regs_q.value;
  assign probe_id_o     = {regs_q.due.life, regs_q.due.count};
  assign sample_valid_o = regs_q.sample_valid;
  assign sample_dest_o  = regs_q.answer_dest;
  assign sample_at_o    = regs_q.sample_at;
  assign missed_valid_o = regs_q.missed;

  ////////////////
  // Next state //
  ////////////////

  // The lowest bit of a word; 63 and 127 without any.
  function automatic dest_t lowest64(logic [63:0] word);
    lowest64 = '1;
    for (int n = 63; n >= 0; n--) begin
      if (word[n]) begin
        lowest64 = 6'(n);
      end
    end
  endfunction

  function automatic value_t lowest128(values_t word);
    lowest128 = '1;
    for (int n = 127; n >= 0; n--) begin
      if (word[n]) begin
        lowest128 = 7'(n);
      end
    end
  endfunction

  function automatic logic [31:0] word(dest_t dest, value_t value);
    return 32'({dest[INDEX-1:0], value});
  endfunction

  function automatic micros_t later(micros_t tick, micros_t span);
    logic [48:0] sum;
    sum = 49'(tick) + 49'(span);
    return sum[48] ? '1 : sum[47:0];
  endfunction

  // The destination's lowest open QP.
  logic has_qp;
  qp_t  lowest_qp;
  always_comb begin
    has_qp    = 1'b0;
    lowest_qp = '0;
    for (int q = int'(QPS) - 1; q >= 0; q--) begin
      if (regs_q.is_open[q] && !dead_i[q] && regs_q.dests[q] == regs_q.dest) begin
        has_qp    = 1'b1;
        lowest_qp = qp_t'(q);
      end
    end
  end

  // When the value that is due is due again.
  micros_t span;
  due_t    due;
  micros_t again;
  assign span  = cfg_timeout_i[63:41] == '0 ? 48'd1 : {25'd0, cfg_timeout_i[63:41]};
  assign due   = due_rdata_i;
  assign again = later(due.tick, span);

  logic falling;  // a value's word is about to be written
  logic writes;  // a value that fell
  logic reads;  // the sweep
  logic asks;  // an answer
  assign falling = fell_valid_i || regs_q.fell_valid;
  assign writes = regs_q.fell_valid && regs_q.state != Write;
  assign reads = regs_q.state == Value && regs_q.values != '0 && !falling;
  assign asks = regs_q.answer_valid && !reads && !falling;

  due_t written;
  always_comb begin
    written = regs_q.due;
    if (writes) begin
      written = '{
          tick: later(regs_q.fell_tick, span),
          sent: 1'b0,
          life: regs_q.life,
          count: '0
      };
    end
  end

  assign due_we_o = writes || regs_q.state == Write && !regs_q.gone;
  assign due_waddr_o = !due_we_o ? '0 : writes ? word(
      regs_q.fell_dest, regs_q.fell_value
  ) : word(
      regs_q.dest, regs_q.value
  );
  assign due_wdata_o = due_we_o ? written : '0;
  assign due_re_o = reads || asks;
  assign due_raddr_o = reads ? word(
      regs_q.dest, lowest128(regs_q.values)
  ) : asks ? word(
      regs_q.answer_dest, regs_q.answer_value
  ) : '0;
  assign at_re_o = asks;
  assign at_raddr_o = asks ? due_raddr_o : '0;

  logic ended;  // a probe
  assign ended      = regs_q.sends && end_valid_i;
  assign at_we_o    = ended;
  assign at_waddr_o = ended ? word(regs_q.sends_dest, regs_q.sends_value) : '0;
  assign at_wdata_o = ended ? now_i : '0;

  // An answer.
  logic rises;
  logic told;  // path_select tells of the value answered
  assign rises = regs_q.answer_read && due.sent && due.life == regs_q.answer_id[15:8];
  assign told = rose_valid_i && told_dest_i == regs_q.answer_dest
      && told_value_i == regs_q.answer_value;

  logic falls_again;  // the value in work
  assign falls_again = fell_valid_i && told_dest_i == regs_q.dest && told_value_i == regs_q.value;

  always_comb begin
    regs_d              = regs_q;

    // Events last a clock.
    regs_d.good_valid   = 1'b0;
    regs_d.sample_valid = 1'b0;
    regs_d.missed       = 1'b0;
    if (look_ready_i) begin
      regs_d.look_valid = 1'b0;
    end
    if (room_ready_i) begin
      regs_d.room_valid = 1'b0;
    end

    unique case (regs_q.state)
      Idle: begin
        if (troubled_i != '0 && ticks_i >= regs_q.soonest) begin
          regs_d.rest    = troubled_i;
          regs_d.soonest = '1;
          regs_d.state   = Dest;
        end
      end
      Dest: begin
        regs_d.dest = lowest64(regs_q.rest);
        regs_d.rest = regs_q.rest & (regs_q.rest - 64'd1);
        if (regs_q.rest == '0) begin
          regs_d.state = Idle;
        end else begin
          regs_d.look_valid = 1'b1;
          regs_d.state      = Look;
        end
      end
      Look: begin
        if (look_rsp_valid_i) begin
          regs_d.values = look_rsp_bad_i;
          regs_d.state  = Value;
        end
      end
      Value: begin
        regs_d.gone = 1'b0;
        if (regs_q.values == '0) begin
          regs_d.state = Dest;
        end else if (reads) begin
          regs_d.value  = lowest128(regs_q.values);
          regs_d.values = regs_q.values & (regs_q.values - 128'd1);
          regs_d.state  = Judge;
        end
      end
      Judge: begin
        regs_d.due   = due;
        regs_d.state = Write;
        if (due.tick > ticks_i) begin
          if (due.tick < regs_q.soonest) begin
            regs_d.soonest = due.tick;
          end
          regs_d.state = Value;
        end else begin
          regs_d.due.tick = again > ticks_i ? again : later(ticks_i, span);
          if (has_qp) begin
            regs_d.qp         = lowest_qp;
            regs_d.room_valid = 1'b1;
            regs_d.state      = Room;
          end
        end
      end
      Room: begin
        if (room_rsp_valid_i) begin
          regs_d.missed = !room_rsp_ok_i;
          regs_d.state  = Write;
          if (room_rsp_ok_i) begin
            regs_d.due.sent  = 1'b1;
            regs_d.due.count = regs_q.due.count + 8'd1;
            regs_d.state     = Give;
          end
        end
      end
      Give: begin
        if (probe_ready_i) begin
          regs_d.state = Write;
        end
      end
      default: begin  // Write
        if (!regs_q.gone && regs_q.due.tick < regs_q.soonest) begin
          regs_d.soonest = regs_q.due.tick;
        end
        regs_d.state = Value;
      end
    endcase

    // Values that fall.
    if (writes) begin
      regs_d.fell_valid = 1'b0;
      regs_d.life       = regs_q.life + 8'd1;
      if (written.tick < regs_d.soonest) begin
        regs_d.soonest = written.tick;
      end
    end
    if (falls_again && !(regs_q.state inside {Idle, Dest, Look, Value})) begin
      regs_d.gone = 1'b1;
    end
    if (fell_valid_i) begin
      regs_d.fell_valid = 1'b1;
      regs_d.fell_dest  = told_dest_i;
      regs_d.fell_value = told_value_i;
      regs_d.fell_tick  = ticks_i;
    end

    // Answers.
    regs_d.answer_read = asks;
    if (asks) begin
      regs_d.answer_valid = 1'b0;
    end
    if (rises) begin
      regs_d.good_valid = 1'b1;
      regs_d.samples    = due.count == regs_q.answer_id[7:0];
      if (regs_q.answer_dest == regs_q.dest) begin
        regs_d.values[regs_q.answer_value] = 1'b0;
      end
    end
    if (told) begin
      regs_d.sample_valid = regs_q.samples;
      regs_d.sample_at    = at_rdata_i;
      regs_d.samples      = 1'b0;
    end
    if (probed_valid_i && probed_good_i && is_sprayed(probed_port_i)) begin
      regs_d.answer_valid = 1'b1;
      regs_d.answer_dest  = probed_dest_i;
      regs_d.answer_value = probed_port_i[6:0];
      regs_d.answer_id    = probed_id_i;
      regs_d.samples      = 1'b0;
    end

    // The port.
    if (ended) begin
      regs_d.sends = 1'b0;
    end
    if (tx_valid_i && tx_cls_i == '0 && !tx_i.data) begin
      regs_d.sends       = 1'b1;
      regs_d.sends_dest  = {tx_i.off[2:0], tx_i.slot[9:7]};
      regs_d.sends_value = tx_i.slot[6:0];
    end

    // QPs.
    if (created_valid_i) begin
      regs_d.is_open[created_qpn_i[$clog2(QPS)-1:0]] = 1'b1;
      regs_d.dests[created_qpn_i[$clog2(QPS)-1:0]]   = created_dest_i;
    end
    if (closed_valid_i) begin
      regs_d.is_open[closed_qpn_i[$clog2(QPS)-1:0]] = 1'b0;
    end
  end

  // What else a frame and a number have.
  logic unused;
  assign unused = &{1'b0, tx_i, created_qpn_i, closed_qpn_i, cfg_timeout_i[40:0]};

  //////////////
  // Contract //
  //////////////

  // What a partner does not take stays as it is.
  `ASSERT(LookWaits_A, look_valid_o && !look_ready_i |=> look_valid_o && $stable(look_dest_o))
  `ASSERT(RoomWaits_A, room_valid_o && !room_ready_i |=> room_valid_o)
  `ASSERT(ProbeWaits_A, probe_valid_o && !probe_ready_i |=> probe_valid_o && $stable
                        ({probe_qp_o, probe_dest_o, probe_value_o, probe_id_o}))
  // The port sends one frame at a time.
  `ASSERT(OneFrame_A, tx_valid_i && regs_q.sends |-> end_valid_i)
  // A value that fell is written before the next one falls, an answer judged before the next comes.
  `ASSERT(FellApart_A, fell_valid_i |-> !regs_q.fell_valid)
  `ASSERT(ProbedApart_A, probed_valid_i |-> !regs_q.answer_valid && !regs_q.answer_read)
  // A QP that opens was not open.
  `ASSERT(OpensOnce_A, created_valid_i |-> !regs_q.is_open[created_qpn_i[$clog2(QPS)-1:0]])

endmodule
