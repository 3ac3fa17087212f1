// Bits of packet sequence numbers: a ring of PSNS bits a QP, in words of 64.
//
// Twin of rtl-model/src/sack_bitmap.rs. RX-7, RX-8, SACK-3, SACK-4, LOS-1. One unit for each such
// record: what a receiver holds out of order, what a sender has outstanding, what waits to go
// again. From the clock in which a request is taken to that of its response: Wipe, Test, Set and
// Clear 3; Next, Take and Top 3, or 5 where another word holds the bit; Block 4; Report 4 or 6;
// Hold 6 or 8; Advance 3, then 2 for each word that the run goes on in, a response each. The next
// request is taken as the response is: a Set each 3 clocks, a Hold in at most 8; of a sender's
// packet Set and Clear in 6, Set and Take in 6 or 8. So each unit, one a direction, keeps up with a
// packet every 8 clocks.
//
// The bit of a PSN lies at PSN modulo PSNS. A QP's bits lie less than PSNS apart, so a MaxPSNRange
// of 1 to PSNS needs nothing of this unit. `any` says which words of a QP hold a bit: the others
// count as empty whatever the memory holds, so that a Wipe writes one word, and a search goes to
// the right word at once. A Wipe comes before anything else of a QP. A search and a block end at
// most PSNS past the lowest PSN that may be set, and a run starts past a gap.
//
// Report (SACK-3): the base is the lowest bit at or above walk, else the lowest; walk counts where
// it is in [low, low + PSNS). Bits at or above low + PSNS are those below the base, and clear.
// Advance (RX-7): bit i of a response is the mark `last` of psn + i, far counts from the start of
// the run, and more is set while the run goes on. Marks are set with their bit and read by Advance.
//
// Borders: PSN 0xffffff to 0; the last bit of a word to the first; the last word to word 0; the
// part of the first word before the start, which comes last; end = psn + PSNS.
//
// A word written in the clock in which it is read is forwarded from the write port, which keeps
// what it wrote last.
//
// It is longer than a module should be: eleven requests share one path through words, searches and
// writes.

`include "assert.svh"

module sack_bitmap
  import nic_pkg::*;
  import bitmap_pkg::*;
#(
  parameter int unsigned PSNS = 1024
) (
  input logic clk_i,
  input logic rst_ni,

  // Requests, from the block whose record it is
  input  logic    req_valid_i,
  output logic    req_ready_o,
  input  bitmap_e req_op_i,
  input  qp_t     req_qp_i,
  input  psn_t    req_psn_i,
  input  psn_t    req_end_i,
  input  psn_t    req_low_i,
  input  psn_t    req_walk_i,
  input  logic    req_last_i,
  input  logic    req_asked_i,

  // Responses, to it
  output logic        rsp_valid_o,
  input  logic        rsp_ready_i,
  output logic        rsp_hit_o,
  output psn_t        rsp_psn_o,
  output logic [63:0] rsp_bits_o,
  output logic [10:0] rsp_far_o,
  output logic        rsp_asked_o,
  output logic        rsp_more_o,

  // Memory of bits, QPS x PSNS / 64 words
  output logic        bits_we_o,
  output logic [31:0] bits_waddr_o,
  output logic [63:0] bits_wdata_o,
  output logic        bits_re_o,
  output logic [31:0] bits_raddr_o,
  input  logic [63:0] bits_rdata_i,

  // Memory of marks, of the same shape; the record of a sender has none
  output logic          mark_we_o,
  output logic   [31:0] mark_waddr_o,
  output marks_t        mark_wdata_o,
  output logic          mark_re_o,
  output logic   [31:0] mark_raddr_o,
  input  marks_t        mark_rdata_i,

  // Memory of words that hold a bit, QPS words
  output logic        any_we_o,
  output logic [31:0] any_waddr_o,
  output logic [15:0] any_wdata_o,
  output logic        any_re_o,
  output logic [31:0] any_raddr_o,
  input  logic [15:0] any_rdata_i
);

  localparam int unsigned WORDS = PSNS / 64;
  localparam int unsigned POS_BITS = $clog2(PSNS);
  typedef logic [POS_BITS-1:0] pos_t;

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [1:0] {
    Idle,  // takes a request
    Read,  // reads a word
    Work,  // works on it
    Pair   // joins the word after it
  } state_e;

  typedef struct {
    state_e      state;
    bitmap_e     op;          // a Hold becomes a Report once its bit is set
    logic        fresh;       // `any` is still to be read
    qp_t         qp;
    psn_t        psn;         // of the bit, of the block, of the run that is left
    psn_t        stop;        // end
    psn_t        low;
    psn_t        walk;        // in [low, low + PSNS)
    logic        last;
    logic        asked;
    logic [3:0]  word;        // being read
    logic        moved;       // it is not the word of the start
    logic [15:0] any;         // words of the QP that hold a bit
    logic [63:0] kept;        // the first word of a block
    logic        bits_we;
    logic [31:0] bits_waddr;
    logic [63:0] bits_wdata;
    logic        mark_we;
    marks_t      mark_wdata;
    logic        any_we;
    qp_t         any_waddr;
    logic [15:0] any_wdata;
    logic        rsp_valid;
    logic        rsp_hit;
    psn_t        rsp_psn;
    logic [63:0] rsp_bits;
    logic [10:0] rsp_far;
    logic        rsp_asked;
    logic        rsp_more;
  } regs_t;

  localparam regs_t RESET = '{state: Idle, op: MapWipe, mark_wdata: marks_t'(0), default: '0};

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

  logic pairs;  // the word after the one that is worked on is wanted, too
  logic [3:0] next_word;
  assign pairs        = regs_q.state == Work && regs_q.op inside {MapBlock, MapReport};
  assign next_word    = 4'((32'(regs_q.word) + 1) % WORDS);

  assign req_ready_o  = regs_q.state == Idle && (!regs_q.rsp_valid || rsp_ready_i);
  assign rsp_valid_o  = regs_q.rsp_valid;
  assign rsp_hit_o    = regs_q.rsp_hit;
  assign rsp_psn_o    = regs_q.rsp_psn;
  assign rsp_bits_o   = regs_q.rsp_bits;
  assign rsp_far_o    = regs_q.rsp_far;
  assign rsp_asked_o  = regs_q.rsp_asked;
  assign rsp_more_o   = regs_q.rsp_more;
  assign bits_we_o    = regs_q.bits_we;
  assign bits_waddr_o = regs_q.bits_waddr;
  assign bits_wdata_o = regs_q.bits_wdata;
  assign bits_re_o    = regs_q.state == Read || pairs;
  assign bits_raddr_o = address(regs_q.qp, pairs ? next_word : regs_q.word);
  assign mark_we_o    = regs_q.mark_we;
  assign mark_waddr_o = regs_q.bits_waddr;
  assign mark_wdata_o = regs_q.mark_wdata;
  assign mark_re_o    = regs_q.state == Read;
  assign mark_raddr_o = address(regs_q.qp, regs_q.word);
  assign any_we_o     = regs_q.any_we;
  assign any_waddr_o  = 32'(regs_q.any_waddr);
  assign any_wdata_o  = regs_q.any_wdata;
  assign any_re_o     = regs_q.state == Read && regs_q.fresh;
  assign any_raddr_o  = 32'(regs_q.qp);

  ///////////
  // Words //
  ///////////

  // Where a word lies.
  function automatic logic [31:0] address(qp_t qp, logic [3:0] word);
    return 32'(qp) * WORDS + 32'(word);
  endfunction

  // The word of a PSN.
  function automatic logic [3:0] word_of(psn_t psn);
    return 4'((32'(psn) / 64) % WORDS);
  endfunction

  // The nearest word with a bit past `word`; the word itself comes last.
  function automatic logic [3:0] nearest(logic [15:0] any, logic [3:0] word, logic down);
    logic [3:0] at;
    nearest = word;
    for (int unsigned n = WORDS - 1; n > 0; n--) begin
      at = 4'((32'(word) + (down ? WORDS - n : n)) % WORDS);
      if (any[at]) begin
        nearest = at;
      end
    end
  endfunction

  logic   [15:0] any;  // words of the QP that hold a bit
  logic   [63:0] bits;  // the word that was read
  marks_t        marks;
  logic          forward;
  assign any     = regs_q.fresh ? any_rdata_i : regs_q.any;
  assign forward = regs_q.bits_waddr == address(regs_q.qp, regs_q.word);
  always_comb begin
    bits  = '0;
    marks = marks_t'(0);
    if (any[regs_q.word]) begin
      bits  = forward ? regs_q.bits_wdata : bits_rdata_i;
      marks = mark_rdata_i;
    end
  end

  //////////////
  // Searches //
  //////////////

  logic down;
  psn_t start;
  pos_t start_pos;
  logic [63:0] past;  // bits of the word at the start and past it
  logic [3:0] other;  // the word to go to where it has none
  logic here;  // the bit is in this word, or nowhere
  logic [63:0] among;
  pos_t found_pos;
  pos_t gone;  // from the start to the bit
  psn_t found;
  logic bounded;  // the bit lies in [psn, stop)

  assign down = regs_q.op == MapTop;
  always_comb begin
    start = regs_q.psn;
    if (down) begin
      start = regs_q.stop - 24'd1;
    end else if (regs_q.op == MapReport) begin
      start = regs_q.walk;
    end
  end
  assign start_pos = start[POS_BITS-1:0];
  assign past = down ? bits & ('1 >> (6'd63 - start[5:0])) : bits & ('1 << start[5:0]);
  assign other = nearest(any, word_of(start), down);
  assign here = regs_q.moved || past != '0 || other == word_of(start);
  assign among = regs_q.moved || past == '0 ? bits : past;
  assign found_pos = POS_BITS'({regs_q.word, down ? highest(among) : lowest(among)});
  assign gone = down ? start_pos - found_pos : found_pos - start_pos;
  assign found = down ? start - psn_t'(gone) : start + psn_t'(gone);
  assign bounded = any != '0 && psn_t'(gone) < regs_q.stop - regs_q.psn;

  // SACK-3: the base of a report, whose place is counted from low.
  pos_t above;
  assign above = found_pos - regs_q.low[POS_BITS-1:0];

  // The run from psn on in this word, and whether it may go on in the next.
  logic [63:0] ahead;
  logic [ 6:0] length;
  logic [63:0] run;
  logic        more;
  assign ahead  = bits >> regs_q.psn[5:0];
  assign length = ahead == '1 ? 7'd64 : 7'(lowest(~ahead));
  assign run    = length[6] ? '1 : (64'd1 << length) - 64'd1;
  assign more   = 7'(regs_q.psn[5:0]) + length == 7'd64 && any[next_word];

  // The block from psn on: the word kept and this one, up to stop.
  psn_t room;
  logic [63:0] block;
  assign room = regs_q.stop - regs_q.psn;
  always_comb begin
    block = 64'({bits, regs_q.kept} >> regs_q.psn[5:0]);
    if (room < 24'd64) begin
      block &= (64'd1 << room[5:0]) - 64'd1;
    end
  end

  ////////////////
  // Next state //
  ////////////////

  psn_t walk;  // of a request
  logic goes_on;  // not held up by a response that waits
  logic [63:0] one;  // the bit of psn
  logic held;
  logic sets;
  logic [63:0] bits_after;
  marks_t marks_after;
  logic [15:0] any_after;
  assign walk    = req_walk_i - req_low_i < psn_t'(PSNS) ? req_walk_i : req_low_i;
  assign goes_on = regs_q.op != MapAdvance || !regs_q.rsp_valid || rsp_ready_i;
  assign one     = 64'd1 << regs_q.psn[5:0];
  assign held    = |(bits & one);
  assign sets    = regs_q.op inside {MapSet, MapHold};

  always_comb begin
    unique case (regs_q.op)
      MapSet, MapHold: bits_after = bits | one;
      MapClear:        bits_after = bits & ~one;
      MapTake:         bits_after = bits & ~(64'(here && bounded) << found_pos[5:0]);
      MapAdvance:      bits_after = bits & ~(run << regs_q.psn[5:0]);
      default:         bits_after = bits;
    endcase
    marks_after.last  = marks.last & ~one | 64'(regs_q.last) << regs_q.psn[5:0];
    marks_after.asked = marks.asked & ~one | 64'(regs_q.asked) << regs_q.psn[5:0];
    any_after         = any & ~(16'd1 << regs_q.word) | 16'(bits_after != '0) << regs_q.word;
    if (regs_q.op == MapWipe) begin
      any_after = '0;
    end
  end

  always_comb begin
    regs_d         = regs_q;

    // Writes last a clock.
    regs_d.bits_we = 1'b0;
    regs_d.mark_we = 1'b0;
    regs_d.any_we  = 1'b0;
    if (rsp_ready_i) begin
      regs_d.rsp_valid = 1'b0;
    end

    unique case (regs_q.state)
      Idle: begin
        if (req_valid_i && req_ready_o) begin
          regs_d.state = Read;
          regs_d.op    = req_op_i;
          regs_d.fresh = 1'b1;
          regs_d.qp    = req_qp_i;
          regs_d.psn   = req_psn_i;
          regs_d.stop  = req_end_i;
          regs_d.low   = req_low_i;
          regs_d.walk  = walk;
          regs_d.last  = req_last_i;
          regs_d.asked = req_asked_i;
          regs_d.moved = 1'b0;
          unique case (req_op_i)
            MapTop:    regs_d.word = word_of(req_end_i - 24'd1);
            MapReport: regs_d.word = word_of(walk);
            default:   regs_d.word = word_of(req_psn_i);
          endcase
          regs_d.rsp_hit   = 1'b0;
          regs_d.rsp_psn   = req_psn_i;
          regs_d.rsp_bits  = '0;
          regs_d.rsp_far   = '0;
          regs_d.rsp_asked = 1'b0;
          regs_d.rsp_more  = 1'b0;
        end
      end

      Read: regs_d.state = Work;

      Work: begin
        if (goes_on) begin
          regs_d.any        = any_after;
          regs_d.fresh      = 1'b0;
          regs_d.any_we     = any_after != any;
          regs_d.any_waddr  = regs_q.qp;
          regs_d.any_wdata  = any_after;
          regs_d.bits_we    = bits_after != bits;
          regs_d.bits_waddr = address(regs_q.qp, regs_q.word);
          regs_d.bits_wdata = bits_after;
          if (sets && !held) begin
            regs_d.mark_we    = 1'b1;
            regs_d.mark_wdata = marks_after;
          end
        end
        unique case (regs_q.op)
          MapNext, MapTake, MapTop: begin
            if (here) begin
              regs_d.state     = Idle;
              regs_d.rsp_valid = 1'b1;
              regs_d.rsp_hit   = bounded;
              regs_d.rsp_psn   = found;
            end else begin
              regs_d.word  = other;
              regs_d.moved = 1'b1;
              regs_d.state = Read;
            end
          end

          MapBlock: begin
            regs_d.kept  = bits;
            regs_d.word  = next_word;
            regs_d.state = Pair;
          end

          MapReport: begin
            regs_d.word  = other;
            regs_d.moved = 1'b1;
            regs_d.state = Read;
            if (here) begin
              regs_d.kept  = bits;
              regs_d.psn   = regs_q.low + psn_t'(above);
              regs_d.stop  = regs_q.low + psn_t'(PSNS);
              regs_d.word  = next_word;
              regs_d.state = Pair;
            end
          end

          MapHold: begin
            regs_d.rsp_hit = held;
            regs_d.op      = MapReport;
            regs_d.word    = word_of(regs_q.walk);
            regs_d.state   = Read;
          end

          MapAdvance: begin
            if (goes_on) begin
              regs_d.psn       = regs_q.psn + psn_t'(length);
              regs_d.word      = next_word;
              regs_d.state     = more ? Read : Idle;
              regs_d.rsp_valid = 1'b1;
              regs_d.rsp_hit   = regs_q.rsp_hit || length != '0;
              regs_d.rsp_psn   = regs_q.psn;
              regs_d.rsp_bits  = marks.last >> regs_q.psn[5:0] & run;
              regs_d.rsp_far   = regs_q.rsp_far + 11'(length);
              regs_d.rsp_asked = |(marks.asked >> regs_q.psn[5:0] & run);
              regs_d.rsp_more  = more;
            end
          end

          default: begin  // Wipe, Test, Set, Clear
            regs_d.state     = Idle;
            regs_d.rsp_valid = 1'b1;
            regs_d.rsp_hit   = held;
          end
        endcase
      end

      Pair: begin
        regs_d.state     = Idle;
        regs_d.rsp_valid = 1'b1;
        regs_d.rsp_psn   = regs_q.psn;
        regs_d.rsp_bits  = block;
      end
    endcase
  end

  //////////////
  // Contract //
  //////////////

  // A response that is not taken stays as it is.
  `ASSERT(ResponseWaits_A, rsp_valid_o && !rsp_ready_i |=> rsp_valid_o)
  `ASSERT(ResponseStable_A, rsp_valid_o && !rsp_ready_i |=> $stable({rsp_hit_o, rsp_psn_o}))
  `ASSERT(BitsStable_A, rsp_valid_o && !rsp_ready_i |=> $stable(rsp_bits_o))

  // A word that counts as holding a bit holds one.
  `ASSERT(AnyHolds_A,
          regs_q.state == Work && regs_q.op != MapWipe && any[regs_q.word] |-> bits != '0)

  // The response of one request is out before the next one works.
  `ASSERT(OneAtATime_A, regs_q.state == Work && regs_q.op != MapAdvance |-> !rsp_valid_o)

endmodule
