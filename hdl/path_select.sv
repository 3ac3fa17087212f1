// Entropy values: each packet to a destination leaves on the next of 128 UDP source ports that may
// be used.
//
// Twin of rtl-model/src/path_select.rs. One thing at a time, 2 clocks each: it is chosen and its
// words are read in one clock, it is taken in the next, and its answer or event comes in the
// third, in which the next is chosen. Order of choice, after section 16: a value to be passed over
// once and a value that is good again (frames received), a value assumed bad (timers), a look, a
// port for data, a port for an ACK. So a request sees every event of its own clock and before.
// Events wait here, one of each kind; the next of a kind comes 8 clocks later at the earliest.
//
// PTH-1: port = 256 + (step mod 128), one step a destination, shared by data and ACKs, outliving
// groups. A draw goes round from the step: a value that is bad is passed over; so is one marked
// skip-once, which then loses its mark, as any other that is passed over; the step ends after the
// value drawn. Where all that are not bad are marked, a whole round takes the marks away, and the
// next one draws. Where all 128 are bad, a whole round passes, the step stays, and the value
// longest bad is drawn. A value assumed bad again keeps its place; one that is good again keeps
// its mark.
//
// Memory `flag`, DESTS words: bad and skip of each value; a word counts once it is `marked`.
// Memories `next` and `prev`, DESTS x 128 words by {destination, value}: a list of each
// destination's bad values, longest bad first. Ports of memories are combinational.
// Borders: step 127 wraps to value 0; the value just drawn; one usable value, none, all marked;
// the first, the last and the only value of a list; a port that is none of the 128 means nothing.
// It is longer than a module should be: six kinds of request work on the same three memories.

`include "assert.svh"

module path_select
  import nic_pkg::*;
  import path_pkg::*;
#(
  parameter int unsigned DESTS = 64
) (
  input logic clk_i,
  input logic rst_ni,

  // Values to be passed over once, from ack_take
  input logic         skip_valid_i,
  input dest_t        skip_dest_i,
  input logic  [15:0] skip_port_i,

  // Values assumed bad, from retransmit
  input logic         bad_valid_i,
  input dest_t        bad_dest_i,
  input logic  [15:0] bad_port_i,

  // Values that are good again, from path_probe
  input logic   good_valid_i,
  input dest_t  good_dest_i,
  input value_t good_value_i,

  // Which values are bad; destinations that have some; what changed: to path_probe
  input  logic           look_valid_i,
  output logic           look_ready_o,
  input  dest_t          look_dest_i,
  output logic           look_rsp_valid_o,
  output values_t        look_rsp_bad_o,
  output logic    [63:0] troubled_o,
  output logic           fell_valid_o,      // a value was good
  output logic           rose_valid_o,      // it was bad
  output dest_t          told_dest_o,
  output value_t         told_value_o,

  // Requests and their answers, packet_build
  input  logic         data_valid_i,
  output logic         data_ready_o,
  input  dest_t        data_dest_i,
  output logic         data_rsp_valid_o,
  output logic  [15:0] data_rsp_port_o,

  // Requests and their answers, ack_build
  input  logic         ack_valid_i,
  output logic         ack_ready_o,
  input  dest_t        ack_dest_i,
  output logic         ack_rsp_valid_o,
  output logic  [15:0] ack_rsp_port_o,

  // Flags, a word a destination
  output logic          flag_we_o,
  output logic   [31:0] flag_waddr_o,
  output flags_t        flag_wdata_o,
  output logic          flag_re_o,
  output logic   [31:0] flag_raddr_o,
  input  flags_t        flag_rdata_i,

  // Lists of bad values, a word a value
  output logic          next_we_o,
  output logic   [31:0] next_waddr_o,
  output value_t        next_wdata_o,
  output logic          next_re_o,
  output logic   [31:0] next_raddr_o,
  input  value_t        next_rdata_i,
  output logic          prev_we_o,
  output logic   [31:0] prev_waddr_o,
  output value_t        prev_wdata_o,
  output logic          prev_re_o,
  output logic   [31:0] prev_raddr_o,
  input  value_t        prev_rdata_i
);

  localparam int unsigned INDEX = $clog2(DESTS);

  typedef logic [INDEX-1:0] index_t;

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle,  // chooses what is done next and reads its words
    Skip,
    Good,
    Bad,
    Look,
    Data,
    Ack
  } state_e;

  typedef struct {
    state_e           state;           // what is done
    dest_t            dest;            // of it
    value_t           value;
    logic             skip_valid;      // an event that waits
    dest_t            skip_dest;
    value_t           skip_value;
    logic             bad_valid;
    dest_t            bad_dest;
    value_t           bad_value;
    logic             good_valid;
    dest_t            good_dest;
    value_t           good_value;
    logic             late;            // it came after the bad one that waits
    value_t           step[DESTS];
    value_t           head[DESTS];     // the value longest bad
    value_t           tail[DESTS];
    logic [DESTS-1:0] marked;          // the destination's word has bits
    logic [DESTS-1:0] troubled;        // some of its values are bad
    logic             look_rsp_valid;
    values_t          look_rsp_bad;
    logic             fell_valid;
    logic             rose_valid;
    dest_t            told_dest;
    value_t           told_value;
    logic             data_rsp_valid;
    logic [15:0]      data_rsp_port;
    logic             ack_rsp_valid;
    logic [15:0]      ack_rsp_port;
  } regs_t;

  localparam regs_t RESET = '{
      state: Idle,
      step: '{default: '0},
      head: '{default: '0},
      tail: '{default: '0},
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

  assign look_ready_o     = regs_q.state == Look;
  assign look_rsp_valid_o = regs_q.look_rsp_valid;
  assign look_rsp_bad_o   = regs_q.look_rsp_bad;
  assign troubled_o       = 64'(regs_q.troubled);
  assign fell_valid_o     = regs_q.fell_valid;
  assign rose_valid_o     = regs_q.rose_valid;
  assign told_dest_o      = regs_q.told_dest;
  assign told_value_o     = regs_q.told_value;
  assign data_ready_o     = regs_q.state == Data;
  assign data_rsp_valid_o = regs_q.data_rsp_valid;
  assign data_rsp_port_o  = regs_q.data_rsp_port;
  assign ack_ready_o      = regs_q.state == Ack;
  assign ack_rsp_valid_o  = regs_q.ack_rsp_valid;
  assign ack_rsp_port_o   = regs_q.ack_rsp_port;

  ////////////////
  // Next state //
  ////////////////

  // What is done next.
  state_e next;
  dest_t  next_dest;
  value_t next_value;
  logic   told;  // an event comes in this clock
  assign told = skip_valid_i || good_valid_i || bad_valid_i;
  always_comb begin
    next       = Idle;
    next_dest  = '0;
    next_value = '0;
    if (regs_q.skip_valid) begin
      next       = Skip;
      next_dest  = regs_q.skip_dest;
      next_value = regs_q.skip_value;
    end else if (regs_q.good_valid && !(regs_q.late && regs_q.bad_valid)) begin
      next       = Good;
      next_dest  = regs_q.good_dest;
      next_value = regs_q.good_value;
    end else if (regs_q.bad_valid) begin
      next       = Bad;
      next_dest  = regs_q.bad_dest;
      next_value = regs_q.bad_value;
    end else if (!told && look_valid_i) begin
      next      = Look;
      next_dest = look_dest_i;
    end else if (!told && data_valid_i) begin
      next      = Data;
      next_dest = data_dest_i;
    end else if (!told && ack_valid_i) begin
      next      = Ack;
      next_dest = ack_dest_i;
    end
  end

  logic reads;
  assign reads = regs_q.state == Idle && next != Idle;
  assign flag_re_o = reads;
  assign flag_raddr_o = reads ? 32'(next_dest[INDEX-1:0]) : '0;
  assign next_re_o = reads && next == Good;
  assign next_raddr_o = next_re_o ? 32'({next_dest[INDEX-1:0], next_value}) : '0;
  assign prev_re_o = next_re_o;
  assign prev_raddr_o = next_raddr_o;

  // The destination of what is done, and its flags before and after.
  index_t at;
  flags_t was;
  flags_t now;
  logic   bad;  // the value
  assign at  = regs_q.dest[INDEX-1:0];
  assign was = regs_q.marked[at] ? flag_rdata_i : '0;
  assign bad = was.bad[regs_q.value];

  // A draw.
  value_t  step;
  values_t usable;
  logic    some;  // value is neither bad nor marked
  value_t  drawn;
  assign step   = regs_q.step[at];
  assign usable = ~was.bad & ~was.skip;
  assign some   = usable != '0;
  assign drawn  = &was.bad ? regs_q.head[at] : first_from(some ? usable : ~was.bad, step);

  always_comb begin
    now = was;
    unique case (regs_q.state)
      Skip: now.skip[regs_q.value] = 1'b1;
      Good: now.bad[regs_q.value] = 1'b0;
      Bad: now.bad[regs_q.value] = 1'b1;
      Data, Ack: now.skip = some ? was.skip & ~between(step, drawn) : '0;
      default: ;
    endcase
  end

  assign flag_we_o    = regs_q.state != Idle && now != was;
  assign flag_waddr_o = flag_we_o ? 32'(at) : '0;
  assign flag_wdata_o = flag_we_o ? now : '0;

  // The list: a value that falls goes behind the last one, one that rises leaves it.
  logic   falls;
  logic   rises;
  logic   first;
  logic   last;
  logic   only;  // the list was empty, or the value is all of it
  value_t tail;
  assign falls = regs_q.state == Bad && !bad;
  assign rises = regs_q.state == Good && bad;
  assign tail = regs_q.tail[at];
  assign first = regs_q.value == regs_q.head[at];
  assign last = regs_q.value == tail;
  assign only = falls ? was.bad == '0 : first || last;

  assign next_we_o = (falls || rises) && !only;
  assign next_waddr_o = next_we_o ? 32'({at, falls ? tail : prev_rdata_i}) : '0;
  assign next_wdata_o = next_we_o ? (falls ? regs_q.value : next_rdata_i) : '0;
  assign prev_we_o = next_we_o;
  assign prev_waddr_o = prev_we_o ? 32'({at, falls ? regs_q.value : next_rdata_i}) : '0;
  assign prev_wdata_o = prev_we_o ? (falls ? tail : prev_rdata_i) : '0;

  always_comb begin
    regs_d                = regs_q;

    // Answers and events last a clock.
    regs_d.look_rsp_valid = regs_q.state == Look;
    regs_d.data_rsp_valid = regs_q.state == Data;
    regs_d.ack_rsp_valid  = regs_q.state == Ack;
    regs_d.fell_valid     = falls;
    regs_d.rose_valid     = rises;

    unique case (regs_q.state)
      Idle: begin
        regs_d.state = next;
        regs_d.dest  = next_dest;
        regs_d.value = next_value;
      end
      Skip:    regs_d.skip_valid = 1'b0;
      Good:    regs_d.good_valid = 1'b0;
      Bad: begin
        regs_d.bad_valid = 1'b0;
        regs_d.late      = 1'b0;
      end
      Look:    regs_d.look_rsp_bad = was.bad;
      Data:    regs_d.data_rsp_port = port_of(drawn);
      default: regs_d.ack_rsp_port = port_of(drawn);  // Ack
    endcase

    if (regs_q.state != Idle) begin
      regs_d.state        = Idle;
      regs_d.marked[at]   = now != '0;
      regs_d.troubled[at] = now.bad != '0;
    end
    if (regs_q.state inside {Data, Ack} && !(&was.bad)) begin
      regs_d.step[at] = drawn + 7'd1;
    end
    if (falls || rises) begin
      regs_d.told_dest  = regs_q.dest;
      regs_d.told_value = regs_q.value;
    end
    if (falls) begin
      regs_d.tail[at] = regs_q.value;
      if (only) begin
        regs_d.head[at] = regs_q.value;
      end
    end
    if (rises && first && !last) begin
      regs_d.head[at] = next_rdata_i;
    end
    if (rises && last && !first) begin
      regs_d.tail[at] = prev_rdata_i;
    end

    // Events that come.
    if (skip_valid_i && is_sprayed(skip_port_i)) begin
      regs_d.skip_valid = 1'b1;
      regs_d.skip_dest  = skip_dest_i;
      regs_d.skip_value = skip_port_i[6:0];
    end
    if (bad_valid_i && is_sprayed(bad_port_i)) begin
      regs_d.bad_valid = 1'b1;
      regs_d.bad_dest  = bad_dest_i;
      regs_d.bad_value = bad_port_i[6:0];
    end
    if (good_valid_i) begin
      regs_d.good_valid = 1'b1;
      regs_d.late       = regs_d.bad_valid && !bad_valid_i;
      regs_d.good_dest  = good_dest_i;
      regs_d.good_value = good_value_i;
    end
  end

  //////////////
  // Contract //
  //////////////

  // A thing at a time is answered or told.
  `ASSERT(OneAnswer_A, $onehot0({data_rsp_valid_o, ack_rsp_valid_o, look_rsp_valid_o, fell_valid_o,
                                 rose_valid_o}))
  // Ports stay within the 128 that are sprayed over.
  `ASSERT(DataPort_A, data_rsp_valid_o |-> is_sprayed(data_rsp_port_o))
  `ASSERT(AckPort_A, ack_rsp_valid_o |-> is_sprayed(ack_rsp_port_o))
  // A request stays until it is taken.
  `ASSERT(LookWaits_A, look_ready_o |-> look_valid_i)
  `ASSERT(DataWaits_A, data_ready_o |-> data_valid_i)
  `ASSERT(AckWaits_A, ack_ready_o |-> ack_valid_i)
  // An event was taken before the next of its kind comes.
  `ASSERT(SkipApart_A, skip_valid_i |-> !regs_q.skip_valid)
  `ASSERT(BadApart_A, bad_valid_i |-> !regs_q.bad_valid)
  `ASSERT(GoodApart_A, good_valid_i |-> !regs_q.good_valid)
  // A value that is good is drawn while there is one.
  `ASSERT(GoodFirst_A, regs_q.state inside {Data, Ack} && !(&was.bad) |-> !was.bad[drawn])

endmodule
