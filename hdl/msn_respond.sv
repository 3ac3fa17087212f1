// Responder: checks the PSN of each request, carries it out once, counts messages and answers.
//
// Twin of rtl-model/src/msn_respond.rs. A request is carried out 1 clock after it is taken; its
// answer stands at the port a clock later. Throughput: a request every 2 clocks where no answer
// waits, a packet of a READ's response a clock. It is longer than a module should be: what a
// request is decides both what is done and what is answered.
//
// S002 and IBTA Vol 1, 9.7. The request with the expected PSN is new. One behind it, by up to 2^23,
// is a duplicate; one ahead of it shows a gap, which is refused once: NAK, sequence error, with the
// expected PSN. What follows is dropped until that PSN comes.
// MSN-1: the MSN counts new request messages once they are complete, modulo 2^24, and stands in the
// AETH of every answer: positive, negative, to a duplicate; of a READ's response in the first and
// the last packet alone. MSN-2: with cfg_early a READ or ATOMIC counts when it is found valid, so
// that its first response packet has it counted; else with the last packet of its response. Once
// in either case.
// MSN-7: a duplicate SEND or WRITE is acknowledged again, with its own PSN, and not delivered. A
// duplicate READ is answered again from its record, from the packet that it asks for to the end; a
// duplicate ATOMIC with the result that its record holds, without memory being touched. Without a
// record a duplicate is dropped. The last READS READs and ATOMICs have records.
//
// Choices: one request at a time, so answers leave in the order of PSNs. Acknowledgements that are
// owed are one packet as soon as cfg_coalesce of them are (0 is 1), or no request waits, or a
// duplicate does; the answer to a READ or ATOMIC, or a negative one, stands for them too. MSNs
// start from cfg_msn, which is 0 on a real wire; other values are for the wrap. cfg_psn is the PSN
// of the first request. Every SEND finds a receive buffer; the host's memory takes every access.
// Borders: expected PSN, 1, 2^23 - 1 and 2^23 beside it, on both sides; the wrap of PSN and MSN; a
// READ of 0 B, of one packet, of one byte more; the record that is pushed out next; an answer that
// waits; the last acknowledgement that can be owed.

`include "assert.svh"

module msn_respond
  import nic_pkg::*;
  import rc_pkg::*;
#(
  parameter int unsigned READS = 16
) (
  input logic clk_i,
  input logic rst_ni,

  // The connection, from the host; opened while nothing waits here
  input logic       open_i,
  input psn_t       cfg_psn_i,
  input psn_t       cfg_msn_i,
  input mtu_t       cfg_mtu_i,
  input logic       cfg_early_i,
  input logic [7:0] cfg_coalesce_i,

  // Requests, from the wire
  input  logic        req_valid_i,
  output logic        req_ready_o,
  input  rc_request_t req_i,

  // The payload of the last request taken, to host memory: a WRITE's to the address, a SEND's to
  // that offset in its receive buffer
  output logic        deliver_valid_o,
  output logic        deliver_send_o,
  output logic        deliver_last_o,
  output logic [63:0] deliver_addr_o,

  // Atomic operations, to host memory
  output logic        atomic_valid_o,
  input  logic        atomic_ready_i,
  output logic        atomic_add_o,
  output logic [63:0] atomic_addr_o,
  output logic [63:0] atomic_operand_o,
  output logic [63:0] atomic_compare_o,
  input  logic        result_valid_i,
  input  logic [63:0] result_i,

  // Answers, to the wire; the payload lies at `addr` in host memory
  output logic                rsp_valid_o,
  input  logic                rsp_ready_i,
  output rc_response_t        rsp_o,
  output logic         [63:0] rsp_addr_o,

  // For the records: duplicates, drops, an answer that waits
  output logic     dup_valid_o,
  output rc_op_e   dup_op_o,
  output logic     drop_valid_o,
  output rc_drop_e drop_o,
  output logic     stall_rsp_o
);

  localparam int unsigned READ = $clog2(READS);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [1:0] {
    Idle    = 2'd0,
    Reading = 2'd1,  // a READ's response goes out
    Asking  = 2'd2,  // an ATOMIC waits for host memory to take it
    Waiting = 2'd3   // and for its result
  } state_e;

  typedef struct {
    logic         open;
    psn_t         expected;       // PSN
    psn_t         msn;
    mtu_t         mtu;
    logic         early;
    logic [7:0]   coalesce;
    logic         refused;        // the gap before `expected` has its negative acknowledgement
    logic [7:0]   owed;           // acknowledgements
    logic         req_valid;      // `req` has been taken and is not carried out
    rc_request_t  req;
    state_e       state;
    logic [63:0]  follows;        // where the next payload of the message goes
    logic [63:0]  addr;           // Reading: where the next payload lies
    psn_t         psn;            // Reading: of the next packet of the response
    psn_t         last_psn;
    length_t      left;
    logic         begins;         // no packet of the response has gone yet
    logic         counts;         // the response's last packet counts the message
    rc_record_t   record[READS];
    logic [3:0]   place;          // of the next record
    logic [4:0]   records;
    logic         deliver_valid;
    logic         deliver_send;
    logic         deliver_last;
    logic [63:0]  deliver_addr;
    logic         rsp_valid;
    rc_response_t rsp;
    logic [63:0]  rsp_addr;
    logic         dup_valid;
    rc_op_e       dup_op;
    logic         drop_valid;
    rc_drop_e     drop;
    logic         stall_rsp;
  } regs_t;

  localparam regs_t RESET = '{
      req: rc_request_t'('0),
      state: Idle,
      record: '{default: rc_record_t'('0)},
      rsp: rc_response_t'('0),
      dup_op: RcSend,
      drop: RcDropGap,
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

  assign req_ready_o      = regs_q.open && !regs_q.req_valid && regs_q.state == Idle;
  assign deliver_valid_o  = regs_q.deliver_valid;
  assign deliver_send_o   = regs_q.deliver_send;
  assign deliver_last_o   = regs_q.deliver_last;
  assign deliver_addr_o   = regs_q.deliver_addr;
  assign atomic_valid_o   = regs_q.state == Asking;
  assign atomic_add_o     = regs_q.req.add;
  assign atomic_addr_o    = regs_q.req.raddr;
  assign atomic_operand_o = regs_q.req.operand;
  assign atomic_compare_o = regs_q.req.compare;
  assign rsp_valid_o      = regs_q.rsp_valid;
  assign rsp_o            = regs_q.rsp;
  assign rsp_addr_o       = regs_q.rsp_addr;
  assign dup_valid_o      = regs_q.dup_valid;
  assign dup_op_o         = regs_q.dup_op;
  assign drop_valid_o     = regs_q.drop_valid;
  assign drop_o           = regs_q.drop;
  assign stall_rsp_o      = regs_q.stall_rsp;

  ////////////////
  // Next state //
  ////////////////

  // What the request is.
  rc_request_t req;
  logic fresh;
  logic gap;
  logic moves;  // a SEND or WRITE
  psn_t last_psn;
  assign req = regs_q.req;
  assign fresh = req.psn == regs_q.expected;
  assign gap = ahead(req.psn, regs_q.expected);
  assign moves = req.op == RcSend || req.op == RcWrite;
  assign last_psn = req.psn + {11'd0, req.op == RcRead ? span(req.len, regs_q.mtu) : 13'd1} - 24'd1;

  // Its record, where it is a duplicate READ or ATOMIC.
  logic found;
  rc_record_t record;
  always_comb begin
    found  = 1'b0;
    record = rc_record_t'('0);
    for (int unsigned n = 0; n < READS; n++) begin
      if (5'(n) < regs_q.records && regs_q.record[n].atomic == (req.op == RcAtomic) && !ahead(
              regs_q.record[n].psn, req.psn
          ) && !ahead(
              req.psn, regs_q.record[n].last_psn
          )) begin
        found  = 1'b1;
        record = regs_q.record[n];
      end
    end
  end

  // What is done in this clock.
  logic room;  // for an answer
  logic looks;  // at the request
  logic owes;  // acknowledgements that go before a duplicate
  logic pays;
  logic carries;  // the request out
  logic repeats;
  logic [63:0] at;  // its payload goes
  logic [23:0] gone;  // bytes of a READ that a duplicate does not ask for
  assign room = !regs_q.rsp_valid || rsp_ready_i;
  assign looks = regs_q.state == Idle && regs_q.req_valid && room;
  assign owes = regs_q.owed != '0 && !fresh && !gap;
  assign pays    = regs_q.state == Idle && room && regs_q.owed != '0 &&
      (regs_q.req_valid ? owes : !req_valid_i);
  assign carries = looks && !owes && fresh;
  assign repeats = looks && !owes && !fresh && !gap;
  assign at = !req.first ? regs_q.follows : req.op == RcSend ? '0 : req.raddr;
  assign gone = (req.psn - record.psn) << regs_q.mtu;

  logic counts;  // a message in this clock
  logic reads;  // a packet of a READ's response goes
  logic ends;  // the last one
  logic [7:0] owed;
  assign reads = regs_q.state == Reading && room;
  assign ends = regs_q.psn == regs_q.last_psn;
  assign owed = regs_q.owed + {7'd0, req.ack_req};
  assign counts = (carries && (moves ? req.last : regs_q.early)) ||
      (reads && ends && regs_q.counts) ||
      (regs_q.state == Waiting && result_valid_i && !regs_q.early);

  psn_t msn;  // with what this clock counts
  assign msn = regs_q.msn + {23'd0, counts};

  rc_response_t ack;
  assign ack = '{kind: RspAck, syndrome: SYNDROME_ACK, msn: msn, default: '0};

  always_comb begin
    regs_d = regs_q;

    regs_d.msn = msn;
    if (rsp_ready_i) begin
      regs_d.rsp_valid = 1'b0;
    end
    regs_d.deliver_valid = carries && moves;
    regs_d.dup_valid = repeats;
    regs_d.drop_valid = 1'b0;
    regs_d.stall_rsp = regs_q.rsp_valid && !rsp_ready_i;

    if (req_valid_i && req_ready_o) begin
      regs_d.req_valid = 1'b1;
      regs_d.req = req_i;
    end
    if (pays) begin
      regs_d.owed = '0;
      regs_d.rsp_valid = 1'b1;
      regs_d.rsp = ack;
      regs_d.rsp.psn = regs_q.expected - 24'd1;
    end else if (looks) begin
      regs_d.req_valid = 1'b0;
    end

    // A new request.
    if (carries) begin
      regs_d.refused  = 1'b0;
      regs_d.expected = last_psn + 24'd1;
      if (moves) begin
        regs_d.deliver_send = req.op == RcSend;
        regs_d.deliver_last = req.last;
        regs_d.deliver_addr = at;
        regs_d.follows = at + {51'd0, req.bytes};
        regs_d.owed = owed;
        if (owed != '0 && owed >= regs_q.coalesce) begin
          regs_d.owed = '0;
          regs_d.rsp_valid = 1'b1;
          regs_d.rsp = ack;
          regs_d.rsp.psn = req.psn;
        end
      end else begin
        regs_d.owed = '0;
        regs_d.record[regs_q.place[READ-1:0]] = '{
            psn: req.psn,
            last_psn: last_psn,
            atomic: req.op == RcAtomic,
            raddr: req.raddr,
            len: req.len,
            result: '0
        };
        regs_d.counts = !regs_q.early;
        regs_d.addr = req.raddr;
        regs_d.left = req.len;
        regs_d.state = req.op == RcRead ? Reading : Asking;
        if (req.op == RcRead) begin
          regs_d.place   = (regs_q.place + 4'd1) & 4'(READS - 1);
          regs_d.records = regs_q.records + {4'd0, regs_q.records < 5'(READS)};
        end
      end
    end

    // A duplicate.
    if (repeats) begin
      regs_d.dup_op = req.op;
      if (moves) begin
        regs_d.rsp_valid = 1'b1;
        regs_d.rsp = ack;
        regs_d.rsp.psn = req.psn;
      end else if (!found) begin
        regs_d.drop_valid = 1'b1;
        regs_d.drop = RcDropRecord;
      end else if (req.op == RcAtomic) begin
        regs_d.rsp_valid = 1'b1;
        regs_d.rsp = ack;
        regs_d.rsp.kind = RspAtomic;
        regs_d.rsp.psn = req.psn;
        regs_d.rsp.result = record.result;
      end else begin
        regs_d.counts = 1'b0;
        regs_d.addr   = record.raddr + {40'd0, gone};
        regs_d.left   = record.len - 21'(gone);
        regs_d.state  = Reading;
      end
    end
    if (looks && !owes && !gap) begin
      regs_d.psn = req.psn;
      regs_d.last_psn = fresh ? last_psn : record.last_psn;
      regs_d.begins = 1'b1;
    end

    // One behind a gap.
    if (looks && gap) begin
      regs_d.refused = 1'b1;
      if (regs_q.refused) begin
        regs_d.drop_valid = 1'b1;
        regs_d.drop = RcDropGap;
      end else begin
        regs_d.rsp_valid = 1'b1;
        regs_d.rsp = ack;
        regs_d.rsp.syndrome = SYNDROME_SEQUENCE;
        regs_d.rsp.psn = regs_q.expected;
        regs_d.owed = '0;
      end
    end

    // A packet of a READ's response.
    if (reads) begin
      regs_d.rsp_valid = 1'b1;
      regs_d.rsp = ack;
      regs_d.rsp.psn = regs_q.psn;
      regs_d.rsp.bytes = part(regs_q.left, regs_q.mtu);
      regs_d.rsp_addr = regs_q.addr;
      if (regs_q.begins) begin
        regs_d.rsp.kind = ends ? RspReadOnly : RspReadFirst;
      end else if (ends) begin
        regs_d.rsp.kind = RspReadLast;
      end else begin
        regs_d.rsp.kind = RspReadMiddle;
        regs_d.rsp.syndrome = '0;
        regs_d.rsp.msn = '0;
      end
      regs_d.begins = 1'b0;
      regs_d.psn = regs_q.psn + 24'd1;
      regs_d.addr = regs_q.addr + {51'd0, part(regs_q.left, regs_q.mtu)};
      regs_d.left = regs_q.left - {8'd0, part(regs_q.left, regs_q.mtu)};
      if (ends) begin
        regs_d.state = Idle;
      end
    end

    // An atomic operation.
    if (regs_q.state == Asking && atomic_ready_i) begin
      regs_d.state = Waiting;
    end
    if (regs_q.state == Waiting && result_valid_i) begin
      regs_d.record[regs_q.place[READ-1:0]].result = result_i;
      regs_d.place = (regs_q.place + 4'd1) & 4'(READS - 1);
      regs_d.records = regs_q.records + {4'd0, regs_q.records < 5'(READS)};
      regs_d.rsp_valid = 1'b1;
      regs_d.rsp = ack;
      regs_d.rsp.kind = RspAtomic;
      regs_d.rsp.psn = regs_q.psn;
      regs_d.rsp.result = result_i;
      regs_d.state = Idle;
    end

    if (open_i) begin
      regs_d = RESET;
      regs_d.open = 1'b1;
      regs_d.expected = cfg_psn_i;
      regs_d.msn = cfg_msn_i;
      regs_d.mtu = cfg_mtu_i;
      regs_d.early = cfg_early_i;
      regs_d.coalesce = cfg_coalesce_i;
    end
  end

  // Operands go from the request's register to memory; of a record its kind has been looked at.
  logic unused;
  assign unused = &{1'b0, req.add, req.operand, req.compare, record.atomic};

  //////////////
  // Contract //
  //////////////

  // An answer waits for the wire.
  `ASSERT(AnswerWaits_A, rsp_valid_o && !rsp_ready_i && !open_i |=> rsp_valid_o && $stable(rsp_o))
  // An atomic operation is asked for until it is taken.
  `ASSERT(AtomicWaits_A, atomic_valid_o && !atomic_ready_i && !open_i |=> atomic_valid_o)
  // A result comes to an operation that waits for one, and finds room for its answer.
  `ASSERT(Result_A, result_valid_i |-> regs_q.state == Waiting && !regs_q.rsp_valid)

endmodule
