// Timer wheel: one timer for each replay slot, in whole microseconds, on wheels of wheels.
//
// Twin of rtl-model/src/timer_wheel.rs. TMR-1, TMR-5: a timer armed with its start (the number of
// the first tick at or after it: `now_o` + 1 in the clock of the start) and its span expires at
// tick start + span, never early and once; spans have 48 bits and the sum stays at its end,
// 2^48 - 1. Each wheel has 64 spokes (16 where there are at most 64 timers) of the time to the
// power of its level; a spoke is a word with a bit for each timer. A tick opens one spoke, that of
// the highest digit that it changes, and each timer there expires or moves to a lower wheel.
// Arming is always taken and costs one clock of the memory; a cancelled timer leaves its bit behind
// (lazy), and only `armed` and the timer's record decide what a bit stands for when it is read. So
// a stale bit never hits the slot's next owner; an expiry that is on offer when its slot is
// cancelled or armed again is told by its generation, which the owner compares.
// Latency: without a backlog an expiry is on offer 5 clocks after its tick. Throughput: a bit a
// clock, so 1,024 expiries, or a spoke of 1,024 timers that move, take 1,024 clocks. Ticks that
// come meanwhile are counted and served in order, each in one clock where nothing is due.
// Order: by tick; within a tick by slot, ascending. `exp_tick_o` is the tick that was due.
// Bound on the delay: 5 clocks, one for each bit of the spokes opened since the wheel was last idle
// (at most SLOTS a spoke, and no more in sum than timers armed times wheels), 3 for each of these
// spokes, and one for each arm and each clock that an expiry waits meanwhile. With no stale bits
// that is at most 2 x SLOTS bits: all timers move at one tick and expire at the next.
// Borders: a tick in the clock of an arm; spans 1, 63, 64, 65 and one turn of each wheel; the end
// of 48 bits; a slot armed in the clock in which its bit is read or its expiry is made.
// An arm whose tick has been served already (a backlog of its span) expires at the next one.
// Memory ports are combinational, from the arm, registers and read data.
// It is longer than a module should be: what is armed, opened and moved shares one memory's ports.

`include "assert.svh"

module timer_wheel
  import nic_pkg::*;
#(
  parameter int unsigned SLOTS = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  // A whole microsecond, from the port; ticks counted, to retransmit
  input  logic    tick_i,
  output micros_t now_o,

  // Timers to arm and to cancel, from retransmit
  input logic          arm_valid_i,
  input slot_t         arm_slot_i,
  input logic    [7:0] arm_gen_i,
  input micros_t       arm_start_i,
  input micros_t       arm_span_i,
  input logic          cancel_valid_i,
  input slot_t         cancel_slot_i,

  // Expiries, to retransmit
  output logic          exp_valid_o,
  input  logic          exp_ready_i,
  output slot_t         exp_slot_o,
  output logic    [7:0] exp_gen_o,
  output micros_t       exp_tick_o,

  // Timers that run
  output logic [10:0] running_o,

  // Record of each slot: generation in 55:48, due in 47:0
  output logic        rec_we_o,
  output logic [31:0] rec_waddr_o,
  output logic [55:0] rec_wdata_o,
  output logic        rec_re_o,
  output logic [31:0] rec_raddr_o,
  input  logic [55:0] rec_rdata_i,

  // Spokes, those of wheel 0 first: a bit for each slot
  output logic          spoke_we_o,
  output logic [  31:0] spoke_waddr_o,
  output logic [1023:0] spoke_wdata_o,
  output logic          spoke_re_o,
  output logic [  31:0] spoke_raddr_o,
  input  logic [1023:0] spoke_rdata_i
);

  localparam int unsigned SB = $clog2(SLOTS);
  localparam int unsigned DIGIT = SLOTS > 64 ? 6 : 4;  // bits of a wheel
  localparam int unsigned WHEELS = 48 / DIGIT;
  localparam int unsigned SPOKES = WHEELS << DIGIT;
  localparam int unsigned PB = $clog2(SPOKES);

  typedef logic [8:0] spoke_t;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    micros_t           now;         // ticks counted
    micros_t           at;          // of them served or under way
    logic [SLOTS-1:0]  armed;
    logic [10:0]       running;     // bits of `armed`
    logic [SPOKES-1:0] known;       // spokes whose word counts
    logic              opening;     // `spoke` was read for `walk`
    logic              walking;     // `walk` is not empty
    logic [1023:0]     walk;        // bits of the spoke opened that are not read yet
    logic              read_valid;  // the record of `read` was read
    slot_t             read;
    logic              put_valid;   // `spoke` was read to put `put` there
    slot_t             put;
    spoke_t            spoke;       // last read
    logic              kept_valid;  // `kept` was written in the clock before
    spoke_t            kept_spoke;
    logic [1023:0]     kept;
    logic              exp_valid;
    slot_t             exp_slot;
    logic [7:0]        exp_gen;
    micros_t           exp_tick;
  } regs_t;

  localparam regs_t RESET = '{default: '0};

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

  // The spoke of a later tick: the highest digit in which it differs from `at`, and its value.
  function automatic spoke_t spoke_of(micros_t due, micros_t at);
    spoke_of = '0;
    for (int unsigned w = 0; w < WHEELS; w++) begin
      if (due[w*DIGIT+:DIGIT] != at[w*DIGIT+:DIGIT]) begin
        spoke_of = spoke_t'(w << DIGIT) | spoke_t'(due[w*DIGIT+:DIGIT]);
      end
    end
  endfunction

  // The lowest timer of a spoke that is not empty.
  function automatic slot_t lowest(logic [1023:0] bits);
    logic [31:0] part;
    part   = '0;
    lowest = '0;
    for (int i = 31; i >= 0; i--) begin
      if (bits[32*i+:32] != '0) begin
        lowest[9:5] = 5'(i);
        part        = bits[32*i+:32];
      end
    end
    for (int i = 31; i >= 0; i--) begin
      if (part[i]) begin
        lowest[4:0] = 5'(i);
      end
    end
  endfunction

  // The tick of an arm: the sum stays at its end, and lies behind the tick served.
  micros_t next;
  micros_t due;
  assign next = regs_q.at + 48'd1;
  always_comb begin
    due = arm_start_i + arm_span_i;
    if (due < arm_start_i) begin
      due = '1;
    end
    if (due < next) begin
      due = next;
    end
  end

  // The timer whose record was read: it expires, moves, or is nothing any more.
  logic alive;
  logic fires;
  logic moves;
  logic stuck;
  assign alive = regs_q.read_valid && regs_q.armed[regs_q.read[SB-1:0]]
      && !(cancel_valid_i && cancel_slot_i == regs_q.read)
      && !(arm_valid_i && arm_slot_i == regs_q.read);
  assign fires = alive && rec_rdata_i[47:0] == regs_q.at;
  assign moves = alive && !fires;
  assign stuck = fires ? regs_q.exp_valid && !exp_ready_i : moves && arm_valid_i;

  logic  picks;  // the next timer's record is read
  slot_t pick;
  assign picks = regs_q.walking && !stuck;
  assign pick  = picks ? lowest(regs_q.walk) : '0;

  logic   puts;  // a timer into a spoke, which is read
  spoke_t into;
  slot_t  put;
  assign puts = arm_valid_i || moves;
  assign put  = arm_valid_i ? arm_slot_i : regs_q.read;
  assign into = spoke_of(arm_valid_i ? due : rec_rdata_i[47:0], regs_q.at);

  logic   serves;  // the next tick
  spoke_t opens;
  logic   filled;  // its spoke is not empty
  assign serves = regs_q.at != regs_q.now && !regs_q.walking && !regs_q.read_valid
      && !regs_q.opening && !arm_valid_i;
  assign opens = spoke_of(next, regs_q.at);
  assign filled = regs_q.known[opens[PB-1:0]] || (regs_q.put_valid && regs_q.spoke == opens);

  logic [1023:0] word;  // of the spoke last read
  always_comb begin
    word = '0;
    if (regs_q.kept_valid && regs_q.kept_spoke == regs_q.spoke) begin
      word = regs_q.kept;
    end else if (regs_q.known[regs_q.spoke[PB-1:0]]) begin
      word = spoke_rdata_i;
    end
  end

  assign rec_we_o    = arm_valid_i;
  assign rec_waddr_o = arm_valid_i ? 32'(arm_slot_i) : '0;
  assign rec_wdata_o = arm_valid_i ? {arm_gen_i, due} : '0;
  assign rec_re_o    = picks;
  assign rec_raddr_o = 32'(pick);

  always_comb begin
    spoke_re_o    = puts || (serves && filled);
    spoke_raddr_o = puts ? 32'(into) : spoke_re_o ? 32'(opens) : '0;
    spoke_we_o    = regs_q.put_valid;
    spoke_waddr_o = regs_q.put_valid ? 32'(regs_q.spoke) : '0;
    spoke_wdata_o = '0;
    if (regs_q.put_valid) begin
      spoke_wdata_o             = word;
      spoke_wdata_o[regs_q.put] = 1'b1;
    end
  end

  assign now_o       = regs_q.now;
  assign exp_valid_o = regs_q.exp_valid;
  assign exp_slot_o  = regs_q.exp_slot;
  assign exp_gen_o   = regs_q.exp_gen;
  assign exp_tick_o  = regs_q.exp_tick;
  assign running_o   = regs_q.running;

  ////////////////
  // Next state //
  ////////////////

  logic starts;  // a timer that did not run
  logic stops;  // a timer that ran, and is not armed in this clock
  assign starts = arm_valid_i && !regs_q.armed[arm_slot_i[SB-1:0]];
  assign stops  = cancel_valid_i && regs_q.armed[cancel_slot_i[SB-1:0]]
      && !(arm_valid_i && arm_slot_i == cancel_slot_i);

  always_comb begin
    regs_d = regs_q;

    if (tick_i) begin
      regs_d.now = regs_q.now + 48'd1;
    end

    // A tick: its spoke, unless it is empty.
    if (serves) begin
      regs_d.at = next;
    end
    regs_d.opening = serves && filled;
    if (regs_q.opening) begin
      regs_d.walk                        = word;
      regs_d.walking                     = 1'b1;
      regs_d.known[regs_q.spoke[PB-1:0]] = 1'b0;
    end

    // The records of its timers, and what they come to.
    if (!stuck) begin
      regs_d.read_valid = picks && !(arm_valid_i && arm_slot_i == pick);
    end
    if (picks) begin
      regs_d.read       = pick;
      regs_d.walk[pick] = 1'b0;
      regs_d.walking    = regs_d.walk != '0;
    end
    regs_d.exp_valid = regs_q.exp_valid && !exp_ready_i;
    if (fires && !stuck) begin
      regs_d.exp_valid                  = 1'b1;
      regs_d.exp_slot                   = regs_q.read;
      regs_d.exp_gen                    = rec_rdata_i[55:48];
      regs_d.exp_tick                   = regs_q.at;
      regs_d.armed[regs_q.read[SB-1:0]] = 1'b0;
    end

    // A timer into its spoke.
    regs_d.put_valid = puts;
    if (puts) begin
      regs_d.put = put;
    end
    if (spoke_re_o) begin
      regs_d.spoke = spoke_raddr_o[8:0];
    end
    regs_d.kept_valid = regs_q.put_valid;
    if (regs_q.put_valid) begin
      regs_d.known[regs_q.spoke[PB-1:0]] = 1'b1;
      regs_d.kept_spoke                  = regs_q.spoke;
      regs_d.kept                        = spoke_wdata_o;
    end

    if (cancel_valid_i) begin
      regs_d.armed[cancel_slot_i[SB-1:0]] = 1'b0;
    end
    if (arm_valid_i) begin
      regs_d.armed[arm_slot_i[SB-1:0]] = 1'b1;
    end
    regs_d.running = regs_q.running + 11'(starts) - 11'(stops) - 11'(fires && !stuck);
  end

  //////////////
  // Contract //
  //////////////

  // An expiry stays until it is taken.
  `ASSERT(ExpiryWaits_A, exp_valid_o && !exp_ready_i |=> exp_valid_o && $stable(exp_slot_o))
  // TMR-1: never early.
  `ASSERT(NeverEarly_A, exp_valid_o |-> exp_tick_o <= regs_q.now)
  // No timer that runs has been passed over: what is read lies at or behind the tick served.
  `ASSERT(NonePassed_A, alive |-> rec_rdata_i[47:0] >= regs_q.at)
  // A spoke is opened with all that was put there, and with something.
  `ASSERT(OpensSome_A, regs_q.opening |-> word != '0)

endmodule
