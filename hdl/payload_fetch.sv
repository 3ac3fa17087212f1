// Payload fetch: turns segments into reads, puts what comes back into the replay payload banks, and
// hands segments on in the order in which they came.
//
// Twin of rtl-model/src/payload_fetch.rs. Latency: segment to its first read and to the order FIFO
// 2 and 1 clocks; completion word to bank 2 clocks; a segment's last word to its hand-off 3 clocks,
// head waiting. Throughput: one read a clock (a segment that is one read takes a clock), but for
// the clocks in which a completion changes its tag's record; one word a clock; one hand-off a
// clock.
//
// PCI-1: hand-off in issue order over all, whatever order the completions come in; a segment of 0
// bytes makes no read and waits its turn.
// PCI-5: a segment inside a 4 KiB page is one read; each page it reaches into is one, up to 3.
// PCI-8: a completion is checked when its first word comes, against its tag's record, in this
// order: 1 no read has the tag; 4 unsupported request, and any status without a name; 5 completer
// abort; 2 byte count or lower address are not those that are due; 7 more bytes than are due; 6
// none, or an end off a line before the read's end. Then 3, poisoned. Each but 1 and 3 ends the
// read: the tag is free after the completion's last word. 3 leaves the read to its end, so that
// what is still to come of it meets no other read. A segment with a failed read is not handed on:
// in its turn it goes to failed_*, with the reason that came first. A tag comes round again after
// all others. There is no completion timeout: a read that is never answered keeps its tag, and the
// segments behind it wait for their turn.
// QP-6: so does, with reason 0, one whose QP has ended by its turn.
// BUF-5: with a prefetch buffer a segment first waits to be committed (commit_*), and is handed on
// in the clock after; one whose QP ends before that has failed too.
// SEG-5: tags_free counts a segment's reads as soon as it is taken; with fewer than 3 only a
// segment of 0 bytes is taken.
//
// Word w of a slot is host line laddr / 64 + w; it lies in bank w % 2, row slot * 65 + w / 2.
// tlp_parse gives as many words a completion as cpl_lower and cpl_bytes say.
// tagr (TAGS words of 38 bits): its write and read ports pass through from a completion's first
// word; the record of a tag is {slot:10, line:8, left:13, lower:7}. A record written in the clock
// in which it is read is taken from `fwd`.
//
// Borders: pages 0xfff, 0x000, 0x001 with lengths 0, 1, 4,096, 4,097, 8,192; tags wrap; tags_free
// of 2 and 3; same tag in consecutive words; a record change against a new read; last word, bank
// row 64.
//
// It is longer than a module should be: a tag, a slot and a segment change together, and the ports
// take a fifth of it.

`include "assert.svh"

module payload_fetch
  import nic_pkg::*;
#(
  parameter int unsigned SLOTS = 1024,
  parameter int unsigned TAGS  = 256
) (
  input logic clk_i,
  input logic rst_ni,

  // Segments, from tx_scheduler
  input  logic     seg_valid_i,
  output logic     seg_ready_o,
  input  segment_t seg_i,

  // Reads, to tlp_engine
  output logic        rd_valid_o,
  input  logic        rd_ready_i,
  output logic [63:0] rd_addr_o,
  output logic [12:0] rd_len_o,
  output tag_t        rd_tag_o,

  // Completions, from tlp_parse
  input logic         cpl_valid_i,
  input tag_t         cpl_tag_i,
  input logic         cpl_first_i,
  input logic         cpl_last_i,
  input word_t        cpl_data_i,
  input logic  [12:0] cpl_bytes_i,
  input logic  [ 2:0] cpl_status_i,
  input logic         cpl_poison_i,
  input logic  [12:0] cpl_count_i,
  input logic  [ 6:0] cpl_lower_i,

  // Payload, to the replay payload banks
  output logic  [ 1:0] bank_we_o,
  output logic  [31:0] bank_waddr_o,
  output word_t        bank_wdata_o,

  // Segments in order, to the order FIFO and back
  output logic     ord_valid_o,
  input  logic     ord_ready_i,
  output segment_t ord_o,
  input  logic     head_valid_i,
  output logic     head_ready_o,
  input  segment_t head_i,

  // Segments with their payload, to packet_build
  output logic     hand_valid_o,
  input  logic     hand_ready_i,
  output segment_t hand_o,

  // With a prefetch buffer: `hand_o` waits to be committed to the wire, tx_scheduler
  output logic commit_valid_o,  // withdrawn if its QP ends
  input  logic commit_ready_i,

  // Memory: what is due for each tag
  output logic        tagr_we_o,
  output logic [31:0] tagr_waddr_o,
  output logic [37:0] tagr_wdata_o,
  output logic        tagr_re_o,
  output logic [31:0] tagr_raddr_o,
  input  logic [37:0] tagr_rdata_i,

  // Tags that no segment has, to tx_scheduler
  output logic [8:0] tags_free_o,

  // Refused completions
  output logic       bad_valid_o,
  output logic [2:0] bad_reason_o,

  // Segments that came to nothing, in their turn
  output logic           failed_valid_o,
  input  logic           failed_ready_i,
  output segment_t       failed_o,
  output logic     [2:0] failed_reason_o,

  // QPs in error or being closed, from qp_table
  input logic [255:0] dead_i,

  // Payloads wait in the prefetch buffer, from csr
  input logic cfg_prefetch_on_i
);

  localparam int unsigned SLOT_BITS = $clog2(SLOTS);
  localparam int unsigned TAG_BITS = $clog2(TAGS);

  // What a read still waits for.
  typedef struct packed {
    slot_t       slot;
    logic [7:0]  line;   // word of the slot that comes next
    logic [12:0] left;   // bytes
    logic [6:0]  lower;  // address of the next byte
  } record_t;

  typedef enum logic [1:0] {
    Ignore = 2'd0,  // no read has its tag
    Take   = 2'd1,  // its words are stored
    Finish = 2'd2,  // so are they, and it is the read's last
    Kill   = 2'd3   // it ends the read, nothing is stored
  } fate_e;

  localparam logic [2:0] BAD_TAG = 3'd1;
  localparam logic [2:0] BAD_COUNT = 3'd2;
  localparam logic [2:0] BAD_POISON = 3'd3;
  localparam logic [2:0] BAD_REQUEST = 3'd4;
  localparam logic [2:0] BAD_ABORT = 3'd5;
  localparam logic [2:0] BAD_SHORT = 3'd6;
  localparam logic [2:0] BAD_LONG = 3'd7;

  localparam logic [2:0] COMPLETER_ABORT = 3'd4;  // a status

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    logic             cur_valid;      // a segment has reads to make
    logic [63:0]      cur_addr;
    len_t             cur_left;
    slot_t            cur_slot;
    logic [7:0]       cur_line;       // word of the slot at cur_addr
    logic             rd_valid;
    logic [63:0]      rd_addr;
    logic [12:0]      rd_len;
    tag_t             rd_tag;
    logic             ord_valid;
    segment_t         ord;
    logic [TAGS-1:0]  busy;           // tags with a read
    tag_t             next_tag;       // the search for a free tag starts here
    logic [8:0]       tags_free;
    logic             c_valid;        // a completion's word, with its record
    tag_t             c_tag;
    logic             c_first;
    logic             c_last;
    word_t            c_data;
    logic [12:0]      c_bytes;
    logic [2:0]       c_status;
    logic             c_poison;
    logic [12:0]      c_count;
    logic [6:0]       c_lower;
    logic             fwd_valid;      // written in the clock before
    tag_t             fwd_tag;
    record_t          fwd;
    fate_e            t_fate;         // of the completion under way
    slot_t            t_slot;
    logic [7:0]       t_line;         // of its next word
    logic             t_poison;       // counted as poisoned
    logic [1:0]       bank_we;
    logic [31:0]      bank_waddr;
    word_t            bank_wdata;
    logic [SLOTS-1:0] reads_low;      // reads that a slot waits for, 0 to 3
    logic [SLOTS-1:0] reads_high;
    logic [SLOTS-1:0] why_0;          // why a read of the slot has failed, 0 if none has
    logic [SLOTS-1:0] why_1;
    logic [SLOTS-1:0] why_2;
    logic             hand_valid;
    logic             failed_valid;   // the same, but it has failed
    logic             commit_valid;   // the same, but it is not committed yet
    segment_t         hand;
    logic [2:0]       failed_reason;
    logic             bad_valid;
    logic [2:0]       bad_reason;
  } regs_t;

  localparam regs_t RESET = '{t_fate: Ignore, tags_free: 9'(TAGS), default: '0};

  regs_t regs_d;
  regs_t regs_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      regs_q <= RESET;
    end else begin
      regs_q <= regs_d;
    end
  end

  ////////////////
  // Completion //
  ////////////////

  record_t        due;
  logic           known;
  logic    [ 2:0] reason;  // why it is refused, 0 if it is not
  logic           finishes;
  logic    [12:0] ends_at;  // from the start of the first word's line
  fate_e          fate;
  slot_t          slot;
  logic    [ 7:0] line;
  logic           stores;
  logic           poisoned;  // for the first time
  logic           closes;  // the read, and with it its tag
  logic           renews;  // the record
  logic           refuses;
  logic           fails;  // the slot
  logic    [ 2:0] bad;  // why

  assign due      = regs_q.fwd_valid && regs_q.fwd_tag == regs_q.c_tag ? regs_q.fwd
                                                                       : record_t'(tagr_rdata_i);
  assign known = 32'(regs_q.c_tag) < TAGS && regs_q.busy[regs_q.c_tag[TAG_BITS-1:0]];
  assign finishes = regs_q.c_bytes == due.left;
  assign ends_at = 13'(due.lower[5:0]) + regs_q.c_bytes;

  always_comb begin
    if (!known) begin
      reason = BAD_TAG;
    end else if (regs_q.c_status != '0) begin
      reason = regs_q.c_status == COMPLETER_ABORT ? BAD_ABORT : BAD_REQUEST;
    end else if (regs_q.c_count != due.left || regs_q.c_lower != due.lower) begin
      reason = BAD_COUNT;
    end else if (regs_q.c_bytes > due.left) begin
      reason = BAD_LONG;
    end else if (regs_q.c_bytes == '0 || !finishes && ends_at[5:0] != '0) begin
      reason = BAD_SHORT;
    end else begin
      reason = '0;
    end
  end

  always_comb begin
    fate = regs_q.t_fate;
    slot = regs_q.t_slot;
    line = regs_q.t_line;
    if (regs_q.c_first) begin
      slot = due.slot;
      line = due.line;
      if (!known) begin
        fate = Ignore;
      end else if (reason != '0) begin
        fate = Kill;
      end else begin
        fate = finishes ? Finish : Take;
      end
    end
  end

  assign stores   = regs_q.c_valid && (fate == Take || fate == Finish);
  assign poisoned = stores && regs_q.c_poison && (regs_q.c_first || !regs_q.t_poison);
  assign closes   = regs_q.c_valid && regs_q.c_last && (fate == Finish || fate == Kill);
  assign renews   = regs_q.c_valid && regs_q.c_first && fate == Take;
  assign refuses  = regs_q.c_valid && regs_q.c_first && (fate == Ignore || fate == Kill);
  assign fails    = poisoned || refuses && fate == Kill;
  assign bad      = poisoned ? BAD_POISON : reason;

  ////////////
  // Issue  //
  ////////////

  logic [TAGS-1:0] from_next;  // free tags at or after next_tag
  tag_t            tag;
  logic            issues;
  len_t            to_page;  // bytes to the page's end
  len_t            size;  // of the read
  logic            completes;  // the segment's reads
  logic            takes;  // a segment
  logic [    13:0] span;  // from its first page's start to its end, and a page
  logic [     1:0] reads;  // that it needs

  always_comb begin
    from_next = ~regs_q.busy & ({TAGS{1'b1}} << regs_q.next_tag);
    tag       = '0;
    for (int unsigned n = TAGS; n > 0; n--) begin
      if (from_next == '0 ? !regs_q.busy[n-1] : from_next[n-1]) begin
        tag = tag_t'(n - 1);
      end
    end
  end

  assign issues = regs_q.cur_valid && (!regs_q.rd_valid || rd_ready_i) && !renews;
  assign to_page = 14'd4096 - 14'(regs_q.cur_addr[11:0]);
  assign size = regs_q.cur_left < to_page ? regs_q.cur_left : to_page;
  assign completes = issues && size == regs_q.cur_left;
  assign takes = seg_valid_i && seg_ready_o;
  assign span = 14'(seg_i.laddr[11:0]) + seg_i.len + 14'd4095;
  assign reads = seg_i.len == '0 ? 2'd0 : 2'(span >> 12);

  /////////////
  // Outputs //
  /////////////

  record_t       renewed;
  record_t       opened;
  logic          head_waits;
  logic    [2:0] why;  // a read of the head has failed
  logic          ends;  // the head is not handed on
  logic          head_room;

  assign renewed = '{
          slot: due.slot,
          line: due.line + 8'(ends_at[12:6]),
          left: due.left - regs_q.c_bytes,
          lower: due.lower + regs_q.c_bytes[6:0]
      };
  assign opened = '{
          slot: regs_q.cur_slot,
          line: regs_q.cur_line,
          left: size[12:0],
          lower: regs_q.cur_addr[6:0]
      };
  assign head_waits = regs_q.reads_low[head_i.slot[SLOT_BITS-1:0]]
      || regs_q.reads_high[head_i.slot[SLOT_BITS-1:0]];

  assign seg_ready_o = (regs_q.tags_free >= 9'd3 || seg_i.len == '0)
      && (!regs_q.cur_valid || completes) && (!regs_q.ord_valid || ord_ready_i);
  assign why = {
    regs_q.why_2[head_i.slot[SLOT_BITS-1:0]],
    regs_q.why_1[head_i.slot[SLOT_BITS-1:0]],
    regs_q.why_0[head_i.slot[SLOT_BITS-1:0]]
  };
  assign ends = why != '0 || dead_i[head_i.qp];
  assign head_room = (!regs_q.hand_valid || hand_ready_i)
      && (!regs_q.failed_valid || failed_ready_i) && !regs_q.commit_valid;
  assign head_ready_o = head_valid_i && !head_waits && head_room;

  assign tagr_we_o = renews || issues;
  assign tagr_waddr_o = renews ? 32'(regs_q.c_tag) : issues ? 32'(tag) : '0;
  assign tagr_wdata_o = renews ? renewed : issues ? opened : '0;
  assign tagr_re_o = cpl_valid_i && cpl_first_i;
  assign tagr_raddr_o = tagr_re_o ? 32'(cpl_tag_i[TAG_BITS-1:0]) : '0;

  assign rd_valid_o = regs_q.rd_valid;
  assign rd_addr_o = regs_q.rd_addr;
  assign rd_len_o = regs_q.rd_len;
  assign rd_tag_o = regs_q.rd_tag;
  assign bank_we_o = regs_q.bank_we;
  assign bank_waddr_o = regs_q.bank_waddr;
  assign bank_wdata_o = regs_q.bank_wdata;
  assign ord_valid_o = regs_q.ord_valid;
  assign ord_o = regs_q.ord;
  assign hand_valid_o = regs_q.hand_valid;
  assign hand_o = regs_q.hand;
  assign commit_valid_o = regs_q.commit_valid;
  assign tags_free_o = regs_q.tags_free;
  assign bad_valid_o = regs_q.bad_valid;
  assign bad_reason_o = regs_q.bad_reason;
  assign failed_valid_o = regs_q.failed_valid;
  assign failed_o = regs_q.hand;
  assign failed_reason_o = regs_q.failed_reason;

  ////////////////
  // Next state //
  ////////////////

  always_comb begin
    regs_d = regs_q;

    // Issue: a new segment, then its reads
    if (rd_ready_i) begin
      regs_d.rd_valid = 1'b0;
    end
    if (issues) begin
      regs_d.rd_valid = 1'b1;
      regs_d.rd_addr = regs_q.cur_addr;
      regs_d.rd_len = size[12:0];
      regs_d.rd_tag = tag;
      regs_d.busy[tag[TAG_BITS-1:0]] = 1'b1;
      regs_d.next_tag = (tag + 8'd1) & tag_t'(TAGS - 1);
      regs_d.cur_valid = !completes;
      regs_d.cur_addr = regs_q.cur_addr + 64'(size);
      regs_d.cur_left = regs_q.cur_left - size;
      regs_d.cur_line = regs_q.cur_line + 8'((14'(regs_q.cur_addr[5:0]) + size) >> 6);
    end
    if (ord_ready_i) begin
      regs_d.ord_valid = 1'b0;
    end
    if (takes) begin
      regs_d.ord_valid = 1'b1;
      regs_d.ord       = seg_i;
      if (seg_i.len != '0) begin
        regs_d.cur_valid = 1'b1;
        regs_d.cur_addr  = seg_i.laddr;
        regs_d.cur_left  = seg_i.len;
        regs_d.cur_slot  = seg_i.slot;
        regs_d.cur_line  = '0;
      end
    end
    regs_d.tags_free = regs_q.tags_free + 9'(closes) - (takes ? 9'(reads) : 9'd0);

    // Completion
    regs_d.c_valid   = cpl_valid_i;
    if (cpl_valid_i) begin
      regs_d.c_tag    = cpl_tag_i;
      regs_d.c_first  = cpl_first_i;
      regs_d.c_last   = cpl_last_i;
      regs_d.c_data   = cpl_data_i;
      regs_d.c_bytes  = cpl_bytes_i;
      regs_d.c_status = cpl_status_i;
      regs_d.c_poison = cpl_poison_i;
      regs_d.c_count  = cpl_count_i;
      regs_d.c_lower  = cpl_lower_i;
    end
    regs_d.fwd_valid = tagr_we_o;
    if (tagr_we_o) begin
      regs_d.fwd_tag = tagr_waddr_o[7:0];
      regs_d.fwd     = tagr_wdata_o;
    end
    if (regs_q.c_valid) begin
      regs_d.t_fate   = fate;
      regs_d.t_slot   = slot;
      regs_d.t_line   = line + 8'd1;
      regs_d.t_poison = poisoned || regs_q.t_poison && !regs_q.c_first;
    end
    regs_d.bank_we = stores ? {line[0], !line[0]} : 2'b0;
    if (stores) begin
      regs_d.bank_waddr = {16'b0, slot, 6'b0} + 32'(slot) + 32'(line[7:1]);
      regs_d.bank_wdata = regs_q.c_data;
    end
    if (closes) begin
      regs_d.busy[regs_q.c_tag[TAG_BITS-1:0]] = 1'b0;
    end

    // Slots
    if (closes) begin
      regs_d.reads_low[slot[SLOT_BITS-1:0]] = !regs_q.reads_low[slot[SLOT_BITS-1:0]];
      regs_d.reads_high[slot[SLOT_BITS-1:0]] = regs_q.reads_low[slot[SLOT_BITS-1:0]]
          && regs_q.reads_high[slot[SLOT_BITS-1:0]];
    end
    if (fails && !regs_q.why_0[slot[SLOT_BITS-1:0]] && !regs_q.why_1[slot[SLOT_BITS-1:0]]
        && !regs_q.why_2[slot[SLOT_BITS-1:0]]) begin
      regs_d.why_0[slot[SLOT_BITS-1:0]] = bad[0];
      regs_d.why_1[slot[SLOT_BITS-1:0]] = bad[1];
      regs_d.why_2[slot[SLOT_BITS-1:0]] = bad[2];
    end
    if (takes) begin
      regs_d.reads_low[seg_i.slot[SLOT_BITS-1:0]]  = reads[0];
      regs_d.reads_high[seg_i.slot[SLOT_BITS-1:0]] = reads[1];
      regs_d.why_0[seg_i.slot[SLOT_BITS-1:0]]      = 1'b0;
      regs_d.why_1[seg_i.slot[SLOT_BITS-1:0]]      = 1'b0;
      regs_d.why_2[seg_i.slot[SLOT_BITS-1:0]]      = 1'b0;
    end

    // Hand-off
    if (hand_ready_i) begin
      regs_d.hand_valid = 1'b0;
    end
    if (failed_ready_i) begin
      regs_d.failed_valid = 1'b0;
    end
    if (regs_q.commit_valid && commit_ready_i) begin
      regs_d.commit_valid = 1'b0;
      regs_d.hand_valid   = 1'b1;
    end else if (regs_q.commit_valid && dead_i[regs_q.hand.qp]) begin
      regs_d.commit_valid  = 1'b0;
      regs_d.failed_valid  = 1'b1;
      regs_d.failed_reason = '0;
    end
    if (head_ready_o) begin
      regs_d.hand_valid   = !ends && !cfg_prefetch_on_i;
      regs_d.commit_valid = !ends && cfg_prefetch_on_i;
      regs_d.failed_valid = ends;
      regs_d.hand         = head_i;
      if (ends) begin
        regs_d.failed_reason = why;
      end
    end

    regs_d.bad_valid = refuses || poisoned;
    if (refuses || poisoned) begin
      regs_d.bad_reason = bad;
    end
  end

  //////////////
  // Contract //
  //////////////

  // What a partner does not take stays as it is.
  `ASSERT(ReadWaits_A, rd_valid_o && !rd_ready_i |=> rd_valid_o)
  `ASSERT(ReadStable_A, rd_valid_o && !rd_ready_i |=> $stable({rd_addr_o, rd_len_o, rd_tag_o}))
  `ASSERT(OrderWaits_A, ord_valid_o && !ord_ready_i |=> ord_valid_o && $stable(ord_o))
  `ASSERT(HandWaits_A, hand_valid_o && !hand_ready_i |=> hand_valid_o && $stable(hand_o))
  `ASSERT(FailedWaits_A, failed_valid_o && !failed_ready_i |=> failed_valid_o && $stable
                         ({failed_o, failed_reason_o}))
  `ASSERT(OneWay_A, $onehot0({hand_valid_o, failed_valid_o, commit_valid_o}))
  // BUF-5: a payload waits to be committed until it is, or until its QP ends.
  `ASSERT(CommitWaits_A,
          commit_valid_o && !commit_ready_i |=> (commit_valid_o || failed_valid_o) && $stable
          (hand_o))
  // PCI-5: no read crosses a page.
  `ASSERT(OnePage_A, rd_valid_o |-> 13'(rd_addr_o[11:0]) + rd_len_o <= 13'd4096)
  // A read that is made has a free tag.
  `ASSERT(TagIsFree_A, issues |-> !regs_q.busy[tag[TAG_BITS-1:0]])
  // No word lies past its slot.
  `ASSERT(InsideSlot_A, stores |-> line <= 8'd128)

  logic [13:0] to_end;  // `span` of what is left then of the segment under way
  logic [ 1:0] unmade;  // reads that it still has to make then
  assign to_end = 14'(regs_d.cur_addr[11:0]) + regs_d.cur_left + 14'd4095;
  assign unmade = regs_d.cur_valid ? 2'(to_end >> 12) : 2'd0;

  // PCI-8: every tag is free, with a read, or kept for one that the segment still has to make.
  `ASSERT(Tags_A, 32'(regs_d.tags_free) + $countones(regs_d.busy) + 32'(unmade) == TAGS)

endmodule
