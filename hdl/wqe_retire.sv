// Requester's list of work requests: retires them by MSN, oldest first, and completes them.
//
// Twin of rtl-model/src/wqe_retire.rs. A response that arrives in clock n retires from clock n + 1
// on (one whose READ or ATOMIC is answered in it, from n + 2 on), its entry stands at the port a
// clock later. Throughput: one post a clock, one work request retired a clock, and a response
// in every clock whatever else goes on: the walk never holds up what arrives.
//
// S002, MSN-3: each work request has an SSN in post order, the first that after the MSN that the
// responder starts from. The newest MSN retires every one with SSN <= MSN, modulo 2^24, oldest
// first, and stops at the first READ or ATOMIC without its response. MSN-5: one that is retired is
// handed to CQE generation, where its signal flag decides whether an entry is written. Nothing of
// that crosses the wire.
// MSN-7: replay entries retire by PSN, elsewhere (rc_replay). The place of a work request is free
// again once it is retired here and its packets are there.
//
// After a failure those that can still retire do so; then the oldest completes with the reason, and
// those behind it, and those posted later, as flushed. These entries are written whatever the
// signal flag says (IBTA Vol 1, 10.7.3.1).
//
// Choices: an MSN older than the newest one, or past the last post, changes nothing, nor does one
// after a failure. SSN and MSN
// start from cfg_msn, which is 0 on a real wire; other values are for the wrap.
// Borders: MSN one below, equal to and past the oldest SSN; past the last post; the wrap of SSNs;
// WQES posted; the entry's port taken late.

`include "assert.svh"

module wqe_retire
  import nic_pkg::*;
  import rc_pkg::*;
#(
  parameter int unsigned WQES = 64
) (
  input logic clk_i,
  input logic rst_ni,

  // The connection, from the host
  input logic open_i,
  input psn_t cfg_msn_i,

  // Work requests, from the host
  input  logic    post_valid_i,
  output logic    post_ready_o,
  input  rc_wqe_t post_i,

  // The memory of work requests
  output logic           wqe_we_o,
  output logic    [31:0] wqe_waddr_o,
  output rc_wqe_t        wqe_wdata_o,

  // Responses, from the wire
  input logic         rx_valid_i,
  input rc_response_t rx_i,

  // Posted, answered, free again, failed: to and from rc_replay
  output logic       issued_o,
  input  logic       done_valid_i,
  input  wqe_index_t done_wqe_i,
  input  logic       freed_i,
  input  logic       fail_valid_i,
  input  rc_status_e fail_status_i,

  // Completion entries, to the host
  output logic    cqe_valid_o,
  input  logic    cqe_ready_i,
  output rc_cqe_t cqe_o,

  // For the records: each one retired; the walk waits for the host
  output logic    retired_valid_o,
  output rc_cqe_t retired_o,
  output logic    stall_cqe_o
);

  localparam int unsigned INDEX = $clog2(WQES);

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic            open;
    logic            failed;
    rc_status_e      fail_status;    // of the next one that is flushed
    psn_t            ssn;            // of the oldest
    psn_t            msn;            // the newest
    wqe_index_t      head;           // place of the oldest
    wqe_index_t      tail;           // place of the next post
    logic [6:0]      count;          // not retired
    logic [6:0]      held;           // packets in the replay store, or still to be sent
    logic [1:0]      op[WQES];
    logic [WQES-1:0] signal;
    logic [WQES-1:0] answered;       // a READ or ATOMIC has its response
    logic            issued;
    logic            cqe_valid;
    rc_cqe_t         cqe;
    logic            retired_valid;
    rc_cqe_t         retired;
    logic            stall_cqe;
  } regs_t;

  localparam regs_t RESET = '{
      fail_status: RcSuccess,
      op: '{default: '0},
      cqe: rc_cqe_t'('0),
      retired: rc_cqe_t'('0),
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

  logic free;  // a place for a post
  assign free            = regs_q.count < 7'(WQES) && (regs_q.failed || regs_q.held < 7'(WQES));

  assign post_ready_o    = regs_q.open && free;
  assign wqe_we_o        = post_valid_i && post_ready_o;
  assign wqe_waddr_o     = {26'd0, regs_q.tail};
  assign wqe_wdata_o     = post_i;
  assign issued_o        = regs_q.issued;
  assign cqe_valid_o     = regs_q.cqe_valid;
  assign cqe_o           = regs_q.cqe;
  assign retired_valid_o = regs_q.retired_valid;
  assign retired_o       = regs_q.retired;
  assign stall_cqe_o     = regs_q.stall_cqe;

  ////////////////
  // Next state //
  ////////////////

  // The oldest, and whether it goes in this clock.
  logic [INDEX-1:0] at;
  rc_op_e op;
  logic waits;  // for its own response
  logic covered;
  logic flushes;
  logic writes;  // an entry
  logic walks;
  rc_cqe_t entry;
  assign at      = regs_q.head[INDEX-1:0];
  assign op      = rc_op_e'(regs_q.op[at]);
  assign waits   = (op == RcRead || op == RcAtomic) && !regs_q.answered[at];
  assign covered = regs_q.count != '0 && !ahead(regs_q.ssn, regs_q.msn) && !waits;
  assign flushes = regs_q.count != '0 && regs_q.failed && !covered;
  assign writes  = regs_q.signal[at] || flushes;
  assign walks   = (covered || flushes) && (!writes || !regs_q.cqe_valid || cqe_ready_i);
  assign entry   = '{ssn: regs_q.ssn, op: op, status: flushes ? regs_q.fail_status : RcSuccess};

  // The MSN that arrives, counted from the newest; an AETH has one in every case.
  logic has_msn;
  psn_t more;
  psn_t most;  // up to the last post
  assign has_msn = rx_valid_i && regs_q.open && !regs_q.failed && rx_i.kind != RspReadMiddle;
  assign more    = rx_i.msn - regs_q.msn;
  assign most    = regs_q.ssn - 24'd1 + {17'd0, regs_q.count} - regs_q.msn;

  logic posts;
  assign posts = post_valid_i && post_ready_o;

  always_comb begin
    regs_d = regs_q;

    regs_d.issued = posts && !regs_q.failed;
    if (posts) begin
      regs_d.op[regs_q.tail[INDEX-1:0]] = post_i.op;
      regs_d.signal[regs_q.tail[INDEX-1:0]] = post_i.signal;
      regs_d.answered[regs_q.tail[INDEX-1:0]] = 1'b0;
      regs_d.tail = (regs_q.tail + 6'd1) & 6'(WQES - 1);
    end
    if (done_valid_i) begin
      regs_d.answered[done_wqe_i[INDEX-1:0]] = 1'b1;
    end

    if (has_msn && more <= most) begin
      regs_d.msn = rx_i.msn;
    end

    if (cqe_ready_i) begin
      regs_d.cqe_valid = 1'b0;
    end
    regs_d.retired_valid = walks;
    regs_d.stall_cqe = (covered || flushes) && !walks;
    if (walks) begin
      regs_d.retired = entry;
      regs_d.head = (regs_q.head + 6'd1) & 6'(WQES - 1);
      regs_d.ssn = regs_q.ssn + 24'd1;
      if (flushes) begin
        regs_d.fail_status = RcFlushed;
        // None behind it is covered any more.
        regs_d.msn = regs_q.ssn;
      end
      if (writes) begin
        regs_d.cqe_valid = 1'b1;
        regs_d.cqe = entry;
      end
    end
    regs_d.count = regs_q.count + {6'd0, posts} - {6'd0, walks};
    regs_d.held  = regs_q.held + {6'd0, posts && !regs_q.failed} - {6'd0, freed_i};

    if (fail_valid_i) begin
      regs_d.failed = 1'b1;
      regs_d.fail_status = fail_status_i;
    end

    if (open_i) begin
      regs_d.open = 1'b1;
      regs_d.failed = 1'b0;
      regs_d.fail_status = RcSuccess;
      regs_d.ssn = cfg_msn_i + 24'd1;
      regs_d.msn = cfg_msn_i;
      regs_d.head = '0;
      regs_d.tail = '0;
      regs_d.count = '0;
      regs_d.held = '0;
      regs_d.issued = 1'b0;
    end
  end

  // Of a post only what decides here is looked at, of a response its AETH.
  logic unused;
  assign unused = &{1'b0, rx_i.psn, rx_i.syndrome, rx_i.bytes, rx_i.result, done_wqe_i};

  //////////////
  // Contract //
  //////////////

  // An entry waits for the host.
  `ASSERT(EntryWaits_A, cqe_valid_o && !cqe_ready_i |=> cqe_valid_o && $stable(cqe_o))
  // No more work requests than there are places.
  `ASSERT(Count_A, regs_q.count <= 7'(WQES) && regs_q.held <= 7'(WQES))
  // The newest MSN lies between the one before the oldest SSN and the last post.
  `ASSERT(Msn_A, regs_q.msn - (regs_q.ssn - 24'd1) <= {17'd0, regs_q.count} || !regs_q.open)

endmodule
