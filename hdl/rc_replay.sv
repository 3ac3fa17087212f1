// Requester's replay store: packets of work requests, sent, retired by PSN, and sent again.
//
// Twin of rtl-model/src/rc_replay.rs. A post shows as a packet 4 clocks later where nothing else
// waits; throughput is a packet every 3 clocks, every 4 where it goes again, and a response in
// every clock. It is longer than a module should be: its three machines, for what arrives, for
// loss and for what goes out, share the store.
//
// S002. Each packet gets an entry as it goes: work request, PSNs, offset. From it and the work
// request the packet is built, the first time and every other: its PSN, addresses and lengths are
// in no other place. MSN-7: an entry retires by PSN, whatever its work request does by MSN. A READ
// is one packet and takes the PSNs of its whole response.
// A positive acknowledgement of PSN p retires all up to p, a negative one all before p.
// MSN-4: neither retires a READ or ATOMIC whose response has not come, nor what is behind it. One
// that would have (`past` below), or a response out of turn, says that the response was lost.
// Every loss, be it that, a negative acknowledgement or a timeout, spends a retry and goes back to
// the first PSN not retired: a READ resumes at the first packet of its response that is missing.
// One retry is spent for each transmission: in an ordered network the next transmission has
// answered when a response past the READ is not newer than the last one that was; until then they
// are the old transmission's, and spend nothing.
// A budget that is spent when the next loss comes fails the connection, and so does a negative
// acknowledgement with another syndrome. The store is empty then and nothing more is sent.
//
// Choices: the budget is full again whenever a PSN retires (IBTA Vol 1, 9.7.5.1.4: cfg_retries, 7
// unless the host says otherwise). The timer runs while PSNs are out and none waits to be sent; a
// packet sent, a PSN retired and a loss start it again; cfg_timeout is in clocks, 0 is never (IBTA:
// 4.096 us times a power of two). READs and ATOMICs wait for one another from cfg_depth on. An
// acknowledgement is asked for by a message's last packet that has nothing behind it, and by every
// packet once the store is half full: one answer for all that stands before it. Responses for PSNs
// that are not out are dropped, as are those to nothing that waits.
// Borders: PSN compares at 0, 2^23 and the wrap; acknowledgement at, before and past the oldest
// READ; the last response; the store full, half full, empty; depth reached; budget 0; timeout - 1.

`include "assert.svh"

module rc_replay
  import nic_pkg::*;
  import rc_pkg::*;
#(
  parameter int unsigned WQES    = 64,
  parameter int unsigned PACKETS = 256,
  parameter int unsigned READS   = 16
) (
  input logic clk_i,
  input logic rst_ni,

  // The connection, from the host; opened while nothing waits at tx
  input logic        open_i,
  input psn_t        cfg_psn_i,
  input mtu_t        cfg_mtu_i,
  input logic [ 2:0] cfg_retries_i,
  input logic [ 4:0] cfg_depth_i,
  input logic [31:0] cfg_timeout_i,

  // Posted, answered, free again, failed: from and to wqe_retire
  input  logic       issued_i,
  output logic       done_valid_o,
  output wqe_index_t done_wqe_o,
  output logic       freed_o,
  output logic       fail_valid_o,
  output rc_status_e fail_status_o,

  // The memory of work requests
  output logic           wqe_re_o,
  output logic    [31:0] wqe_raddr_o,
  input  rc_wqe_t        wqe_rdata_i,

  // The memory of entries
  output logic             entry_we_o,
  output logic      [31:0] entry_waddr_o,
  output rc_entry_t        entry_wdata_o,
  output logic             entry_re_o,
  output logic      [31:0] entry_raddr_o,
  input  rc_entry_t        entry_rdata_i,

  // Requests, to the wire; the payload lies at `laddr` in host memory
  output logic               tx_valid_o,
  input  logic               tx_ready_i,
  output rc_request_t        tx_o,
  output logic        [63:0] tx_laddr_o,

  // Responses, from the wire
  input logic         rx_valid_i,
  input rc_response_t rx_i,

  // The payload of the response of the last clock, to host memory
  output logic        place_valid_o,
  output logic [63:0] place_addr_o,

  // For the records: losses, dropped responses, gates that are shut, nothing in the store
  output logic     loss_valid_o,
  output rc_loss_e loss_o,
  output logic     stray_o,
  output logic     stall_full_o,
  output logic     stall_depth_o,
  output logic     empty_o
);

  localparam int unsigned READ = $clog2(READS);

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Choose = 3'd0,
    Head   = 3'd1,  // the oldest entry comes from its memory
    Again  = 3'd2,  // the entry to be sent again comes
    Build  = 3'd3,  // the work request comes
    Send   = 3'd4
  } state_e;

  typedef struct {
    logic        open;
    logic        failed;
    mtu_t        mtu;
    logic [2:0]  budget;          // retries after a PSN retires
    logic [4:0]  depth;           // READs and ATOMICs without a response
    logic [31:0] timeout;
    psn_t        next_psn;        // of the next packet that is new
    psn_t        acked;           // first PSN not retired
    logic [2:0]  retries;
    logic [31:0] timer;
    logic        rewind;          // go back to the oldest entry
    logic        past_valid;      // a response past the oldest READ has come, to `past`
    psn_t        past;
    wqe_index_t  wqe;             // the work request that is sent next
    logic [6:0]  posted;          // those not sent whole
    length_t     offset;          // sent of the next one
    logic [7:0]  head;            // the oldest entry
    logic [8:0]  used;
    logic [8:0]  sent;            // of the entries, in this transmission
    logic        head_known;      // `head_last`, `head_ends` are the oldest entry's
    psn_t        head_last;
    logic        head_ends;
    rc_waiting_t waiting[READS];
    logic [3:0]  first;           // the oldest of them
    logic [4:0]  waits;
    state_e      state;
    logic        again;           // Build is of a packet that goes again
    rc_entry_t   entry;
    logic        tx_valid;
    rc_request_t tx;
    logic [63:0] tx_laddr;
    logic        place_valid;
    logic [63:0] place_addr;
    logic        done_valid;
    wqe_index_t  done_wqe;
    logic        freed;
    logic        fail_valid;
    rc_status_e  fail_status;
    logic        loss_valid;
    rc_loss_e    loss;
    logic        stray;
    logic        stall_full;
    logic        stall_depth;
  } regs_t;

  localparam regs_t RESET = '{
      waiting: '{default: rc_waiting_t'('0)},
      state: Choose,
      entry: rc_entry_t'('0),
      tx: rc_request_t'('0),
      fail_status: RcSuccess,
      loss: LossTimeout,
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

  //////////////////
  // What arrives //
  //////////////////

  logic live;
  assign live = regs_q.open && !regs_q.failed;

  rc_waiting_t oldest;  // READ or ATOMIC without its response
  psn_t due;  // the next PSN of that response
  assign oldest = regs_q.waiting[regs_q.first[READ-1:0]];
  assign due    = ahead(regs_q.acked, oldest.psn) ? regs_q.acked : oldest.psn;

  logic taken;  // for a PSN that is out
  logic refuses;  // a negative acknowledgement
  logic fatal;  // and of another kind than a sequence error
  logic answers;  // the oldest READ or ATOMIC
  logic past;  // the oldest READ or ATOMIC, and not its answer
  psn_t upto;  // all before it have arrived
  psn_t acked;  // all before it are retired
  logic news;
  assign taken = rx_valid_i && live && rx_i.psn - regs_q.acked < regs_q.next_psn - regs_q.acked;
  assign refuses = taken && rx_i.kind == RspAck && rx_i.syndrome[6:5] != 2'd0;
  assign fatal = refuses && rx_i.syndrome != SYNDROME_SEQUENCE;
  assign answers = taken && rx_i.kind != RspAck && regs_q.waits != '0 && rx_i.psn == due &&
      (rx_i.kind == RspAtomic) == oldest.atomic;
  assign upto = refuses ? rx_i.psn : rx_i.psn + 24'd1;
  assign past = taken && !answers && regs_q.waits != '0 && ahead(upto, due);

  logic stray;
  assign stray = rx_valid_i && live && !answers && !past && (!taken || rx_i.kind != RspAck);

  always_comb begin
    acked = regs_q.acked;
    if (past) begin
      acked = due;
    end else if (taken && !stray) begin
      acked = upto;
    end
  end

  assign news = acked != regs_q.acked;

  //////////
  // Loss //
  //////////

  logic goes;  // a packet waits for the wire, or to go again
  logic implied;
  logic refused;
  logic expired;
  logic lost;
  logic fails;
  logic [2:0] retries;
  assign goes = regs_q.tx_valid || regs_q.rewind || regs_q.sent < regs_q.used;
  assign implied = past && (!regs_q.past_valid || !ahead(upto - 24'd1, regs_q.past));
  assign refused = refuses && !past;
  assign expired = live && regs_q.timeout != '0 && regs_q.timer == regs_q.timeout && !news && !goes;
  assign lost = implied || refused || expired;
  assign retries = news ? regs_q.budget : regs_q.retries;
  assign fails = fatal || (lost && retries == '0);

  ///////////////////
  // What goes out //
  ///////////////////

  logic pops;  // the oldest entry is retired
  logic [7:0] second;  // entry after the oldest
  assign pops = regs_q.state == Choose && regs_q.head_known && ahead(
      regs_q.acked, regs_q.head_last
  );
  assign second = (regs_q.head + 8'd1) & 8'(PACKETS - 1);

  logic looks;  // for the oldest entry
  logic goes_again;
  logic goes_on;  // with a new packet
  logic full;
  assign looks = regs_q.state == Choose && !regs_q.head_known && regs_q.used != '0;
  assign goes_again = regs_q.state == Choose && !pops && !looks && !regs_q.rewind &&
      regs_q.sent < regs_q.used;
  assign full = regs_q.used == 9'(PACKETS);
  assign goes_on = regs_q.state == Choose && !pops && !looks && !regs_q.rewind &&
      regs_q.sent == regs_q.used && regs_q.posted != '0 && !full;

  // Build: the entry of the packet, new or again, and what is sent of it.
  rc_wqe_t wqe;
  logic waits;  // for a response of its own
  rc_entry_t entry;
  length_t offset;
  length_t left;
  psn_t psn;
  logic whole;  // its last packet
  logic enters;  // the store
  logic builds;
  logic blocked;  // by READs and ATOMICs
  span_t psns;
  assign wqe   = wqe_rdata_i;
  assign waits = wqe.op == RcRead || wqe.op == RcAtomic;
  assign psns  = wqe.op == RcRead ? span(wqe.len, regs_q.mtu) : 13'd1;

  always_comb begin
    entry.wqe = regs_q.wqe;
    entry.psn = regs_q.next_psn;
    entry.last_psn = regs_q.next_psn + {11'd0, psns} - 24'd1;
    entry.offset = regs_q.offset;
    entry.last = waits || wqe.len - regs_q.offset <= (21'd1 << regs_q.mtu);
    if (regs_q.again) begin
      entry = regs_q.entry;
    end
    // A READ resumes behind what has come of its response.
    psn = entry.psn;
    offset = entry.offset;
    if (wqe.op == RcRead && ahead(regs_q.acked, entry.psn)) begin
      psn = regs_q.acked;
      offset = 21'((regs_q.acked - entry.psn) << regs_q.mtu);
    end
  end

  assign left = wqe.len - offset;
  assign whole = entry.last;
  assign blocked = !regs_q.again && waits && regs_q.waits >= regs_q.depth;
  assign builds = regs_q.state == Build && live && !regs_q.rewind && !blocked &&
      !(regs_q.again && ahead(
      regs_q.acked, entry.last_psn
  ));
  assign enters = builds && !regs_q.again;

  logic [8:0] after;  // entries with this one
  logic alone;  // nothing is to go behind it
  assign after = regs_q.used + {8'd0, enters};
  assign alone = regs_q.posted == {6'd0, !regs_q.again} && regs_q.sent + 9'd1 == after;

  /////////////
  // Outputs //
  /////////////

  assign wqe_re_o = goes_on || regs_q.state == Again;
  assign wqe_raddr_o = {26'd0, regs_q.state == Again ? entry_rdata_i.wqe : regs_q.wqe};
  assign entry_we_o = enters;
  assign entry_waddr_o = {24'd0, (regs_q.head + regs_q.used[7:0]) & 8'(PACKETS - 1)};
  assign entry_wdata_o = entry;
  assign entry_re_o = looks || goes_again || (pops && regs_q.used > 9'd1);
  assign entry_raddr_o = {
    24'd0, pops ? second : looks ? regs_q.head : (regs_q.head + regs_q.sent[7:0]) & 8'(PACKETS - 1)
  };

  assign tx_valid_o = regs_q.tx_valid;
  assign tx_o = regs_q.tx;
  assign tx_laddr_o = regs_q.tx_laddr;
  assign place_valid_o = regs_q.place_valid;
  assign place_addr_o = regs_q.place_addr;
  assign done_valid_o = regs_q.done_valid;
  assign done_wqe_o = regs_q.done_wqe;
  assign freed_o = regs_q.freed;
  assign fail_valid_o = regs_q.fail_valid;
  assign fail_status_o = regs_q.fail_status;
  assign loss_valid_o = regs_q.loss_valid;
  assign loss_o = regs_q.loss;
  assign stray_o = regs_q.stray;
  assign stall_full_o = regs_q.stall_full;
  assign stall_depth_o = regs_q.stall_depth;
  assign empty_o = regs_q.used == '0 && regs_q.posted == '0;

  ////////////////
  // Next state //
  ////////////////

  logic finishes;  // the oldest READ or ATOMIC
  logic [READ-1:0] place;  // of one more
  assign finishes = answers && rx_i.psn == oldest.last_psn;
  assign place = regs_q.first[READ-1:0] + regs_q.waits[READ-1:0];

  always_comb begin
    regs_d = regs_q;

    // What goes out.
    regs_d.freed = pops && regs_q.head_ends;
    regs_d.stall_full = regs_q.state == Choose && regs_q.posted != '0 && full;
    regs_d.stall_depth = regs_q.state == Build && blocked && live;
    regs_d.posted = regs_q.posted + {6'd0, issued_i && live};
    unique case (regs_q.state)
      // Retires, goes back, sends again, sends: in this order.
      Choose: begin
        if (pops) begin
          regs_d.head = second;
          regs_d.used = regs_q.used - 9'd1;
          regs_d.sent = regs_q.sent == '0 ? '0 : regs_q.sent - 9'd1;
          regs_d.head_known = 1'b0;
          if (regs_q.used > 9'd1) begin
            regs_d.state = Head;
          end
        end else if (looks) begin
          regs_d.state = Head;
        end else if (regs_q.rewind) begin
          regs_d.rewind = 1'b0;
          regs_d.sent   = '0;
        end else if (goes_again) begin
          regs_d.state = Again;
        end else if (goes_on) begin
          regs_d.state = Build;
          regs_d.again = 1'b0;
        end
      end
      Head: begin
        regs_d.head_known = 1'b1;
        regs_d.head_last = entry_rdata_i.last_psn;
        regs_d.head_ends = entry_rdata_i.last;
        regs_d.state = Choose;
      end
      Again: begin
        regs_d.entry = entry_rdata_i;
        regs_d.again = 1'b1;
        regs_d.state = Build;
      end
      Build: begin
        regs_d.state = builds ? Send : Choose;
      end
      default: begin
        if (tx_ready_i) begin
          regs_d.tx_valid = 1'b0;
          regs_d.state = Choose;
        end
      end
    endcase
    if (builds) begin
      regs_d.tx_valid = 1'b1;
      regs_d.tx_laddr = wqe.laddr + {43'd0, offset};
      regs_d.tx = '{
          op: wqe.op,
          first: waits || offset == '0,
          last: whole,
          ack_req: (whole && alone) || after >= 9'(PACKETS / 2),
          psn: psn,
          raddr: wqe.raddr + {43'd0, offset},
          len: left,
          bytes: waits ? '0 : part(left, regs_q.mtu),
          add: wqe.add,
          operand: wqe.operand,
          compare: wqe.compare
      };
      regs_d.sent = regs_q.sent + 9'd1;
      regs_d.used = after;
    end
    if (enters) begin
      regs_d.next_psn = entry.last_psn + 24'd1;
      regs_d.offset   = whole ? '0 : regs_q.offset + (21'd1 << regs_q.mtu);
      if (whole) begin
        regs_d.wqe = (regs_q.wqe + 6'd1) & 6'(WQES - 1);
        regs_d.posted = regs_d.posted - 7'd1;
      end
      if (waits) begin
        regs_d.waiting[place] = '{
            wqe: regs_q.wqe,
            psn: entry.psn,
            last_psn: entry.last_psn,
            atomic: wqe.op == RcAtomic,
            laddr: wqe.laddr
        };
      end
    end

    // What arrives.
    regs_d.acked = acked;
    regs_d.stray = stray;
    regs_d.place_valid = answers;
    regs_d.done_valid = finishes;
    if (answers) begin
      regs_d.place_addr = oldest.laddr + {40'd0, (due - oldest.psn) << regs_q.mtu};
      regs_d.done_wqe   = oldest.wqe;
      regs_d.past_valid = 1'b0;
    end
    if (finishes) begin
      regs_d.first = (regs_q.first + 4'd1) & 4'(READS - 1);
    end
    regs_d.waits = regs_q.waits + {4'd0, enters && waits} - {4'd0, finishes};
    if (past) begin
      regs_d.past_valid = 1'b1;
      regs_d.past = upto - 24'd1;
    end

    // Loss.
    regs_d.loss_valid = lost;
    if (lost) begin
      regs_d.loss   = implied ? LossImplied : refused ? LossNak : LossTimeout;
      regs_d.rewind = 1'b1;
    end
    regs_d.retries = lost && !fails ? retries - 3'd1 : retries;
    if (goes || news || lost || acked == regs_q.next_psn) begin
      regs_d.timer = '0;
    end else begin
      regs_d.timer = regs_q.timer + 32'd1;
    end
    regs_d.fail_valid = fails;
    if (fails) begin
      regs_d.fail_status = fatal ? RcRemote : RcRetries;
      regs_d.failed = 1'b1;
    end
    if (regs_q.failed) begin
      regs_d.used = '0;
      regs_d.sent = '0;
      regs_d.posted = '0;
      regs_d.head_known = 1'b0;
      regs_d.waits = '0;
      regs_d.rewind = 1'b0;
    end

    if (open_i) begin
      regs_d = RESET;
      regs_d.open = 1'b1;
      regs_d.mtu = cfg_mtu_i;
      regs_d.budget = cfg_retries_i;
      regs_d.retries = cfg_retries_i;
      regs_d.depth = cfg_depth_i;
      regs_d.timeout = cfg_timeout_i;
      regs_d.next_psn = cfg_psn_i;
      regs_d.acked = cfg_psn_i;
    end
  end

  // The signal flag is wqe_retire's, as is the MSN; payloads are the host's.
  logic unused;
  assign unused = &{1'b0, wqe.signal, rx_i.msn, rx_i.bytes, rx_i.result, oldest.wqe, entry.wqe};

  //////////////
  // Contract //
  //////////////

  // A request waits for the wire.
  `ASSERT(RequestWaits_A, tx_valid_o && !tx_ready_i && !open_i |=> tx_valid_o && $stable(tx_o))
  // The store holds what has been sent in this transmission, and no more than it has places for.
  `ASSERT(Used_A, regs_q.sent <= regs_q.used && regs_q.used <= 9'(PACKETS))
  // READs and ATOMICs without a response stay within the depth.
  `ASSERT(Depth_A, regs_q.waits <= regs_q.depth || !live)
  // What is retired has been sent.
  `ASSERT(Retired_A, !ahead(regs_q.acked, regs_q.next_psn))

endmodule
