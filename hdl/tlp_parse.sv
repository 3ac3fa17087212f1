// TLP parser: sorts what the host sends into completions of our reads and writes to our pages.
//
// Twin of rtl-model/src/tlp_parse.rs. Latency 1 clock from a beat's first half to its word, and
// from a write's last beat to its page. Throughput: one 64-B word a clock, so a beat of a
// completion takes 2 clocks (1 when at most 16 DWs are left); a completion that does not start on
// a line and reaches into one more takes a clock for the rest; all other beats take 1. A write
// waits while the one before it has not been taken; completions do not wait for it.
//
// PCI-1, PCI-5, PCI-8, section 13. A completion's payload starts at DW 0 of the bus, pad bytes
// of the lower address included; its words here are lines of 64 B of the host's address, that is
// rotated by lower address bits 5:2. Only the first completion of a read needs it.
// cpl_bytes, cpl_tag, cpl_status, cpl_count and cpl_lower hold for all words of a TLP.
// cpl_poison: the EP bit, on every word; and on the last word of a completion whose beats turn
// out not to be what its length field says. So each completion ends, whatever the host does.
// cpl_bytes: the payload's bytes; where the length field and the byte count do not agree, those
// of the length field, so that payload_fetch finds them to be wrong.
//
// Each TLP ends in exactly one of: the last word of a completion, a page, a bad event; a
// completion that is cut or has the wrong beats is also counted as bad. Reasons: 1 type that the
// NIC does not take (all but MWr, Cpl and CplD; a tag over 8 bits), 2 length field and beats
// disagree, 3 a beat without a start, or a start inside a TLP (that clock takes no beat),
// 4 poisoned write, 5 write over a 4 KiB boundary. What follows up to the next end or start is
// passed over and not counted again. A digest (TD) is taken to have been stripped below this bus.
// page_len stops at 2,044 B.
//
// Borders: 0, 1, 31, 32, 33 DWs a beat; length 1, 16, 17, 32, 33, 128, 0 (1,024 DWs); lower
// address bits 5:2 of 0, 1, 15, and the last DW in the same line or the next; start in the middle.
//
// It is longer than a module should be: every kind of bad TLP is told from every other in one
// place.

`include "assert.svh"

module tlp_parse
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Beats, from the receive buffer
  input  logic          rx_valid_i,
  output logic          rx_ready_o,
  input  logic          rx_sop_i,
  input  logic          rx_eop_i,
  input  logic  [127:0] rx_hdr_i,
  input  logic  [  7:0] rx_dws_i,
  input  beat_t         rx_data_i,

  // Completions, to payload_fetch
  output logic         cpl_valid_o,
  output tag_t         cpl_tag_o,
  output logic         cpl_first_o,
  output logic         cpl_last_o,
  output word_t        cpl_data_o,
  output logic  [12:0] cpl_bytes_o,
  output logic  [ 2:0] cpl_status_o,
  output logic         cpl_poison_o,
  output logic  [12:0] cpl_count_o,
  output logic  [ 6:0] cpl_lower_o,

  // Writes, to doorbell
  output logic         page_valid_o,
  input  logic         page_ready_i,
  output logic  [63:0] page_addr_o,
  output logic  [10:0] page_len_o,
  output logic         page_full_o,
  output word_t        page_data_o,

  // Refused TLPs, to counters
  output logic       bad_valid_o,
  output logic [2:0] bad_reason_o
);

  typedef enum logic [2:0] {
    Idle  = 3'd0,  // the next beat starts a TLP
    Read  = 3'd1,  // inside a completion
    Rest  = 3'd2,  // what is left of a completion's last half, in a line of its own
    Write = 3'd3,  // inside a write
    Skip  = 3'd4   // inside a TLP that has been counted as bad
  } state_e;

  localparam logic [2:0] BAD_TYPE = 3'd1;
  localparam logic [2:0] BAD_LENGTH = 3'd2;
  localparam logic [2:0] BAD_ORDER = 3'd3;
  localparam logic [2:0] BAD_POISON = 3'd4;
  localparam logic [2:0] BAD_ADDRESS = 3'd5;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    state_e      state;
    logic        half;        // the beat's second half is next
    logic [10:0] left;        // DWs of the TLP not yet passed on
    logic [3:0]  rot;         // DW of the line in which the payload starts
    word_t       res;         // the half before, rotated
    logic        cpl_valid;
    tag_t        cpl_tag;
    logic        cpl_first;
    logic        cpl_last;
    word_t       cpl_data;
    logic [12:0] cpl_bytes;
    logic [2:0]  cpl_status;
    logic        cpl_poison;
    logic [12:0] cpl_count;
    logic [6:0]  cpl_lower;
    logic        page_valid;
    logic [63:0] page_addr;
    logic [10:0] page_len;
    logic        page_full;
    word_t       page_data;
    logic        bad_valid;
    logic [2:0]  bad_reason;
  } regs_t;

  localparam regs_t RESET = '{state: Idle, default: '0};

  regs_t regs_d;
  regs_t regs_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      regs_q <= RESET;
    end else begin
      regs_q <= regs_d;
    end
  end

  ////////////
  // Header //
  ////////////

  logic [ 7:0] kind;  // fmt and type
  logic        is_cpl;  // Cpl or CplD, with a tag of 8 bits
  logic        is_write;
  logic        is_long;  // 4-DW header
  logic [10:0] dws;  // of the length field
  logic [12:0] count;  // byte count
  logic [12:0] room;  // bytes from the lower address to the last DW's end
  logic [63:0] addr;
  logic        crosses;

  assign kind = rx_hdr_i[31:24];
  assign is_cpl = (kind == 8'h0a || kind == 8'h4a) && !rx_hdr_i[23] && !rx_hdr_i[19];
  assign is_write = kind == 8'h40 || kind == 8'h60;
  assign is_long = kind[5];
  assign dws = kind[6] ? {rx_hdr_i[9:0] == '0, rx_hdr_i[9:0]} : 11'd0;
  assign count = {rx_hdr_i[43:32] == '0, rx_hdr_i[43:32]};
  assign room = {dws, 2'b0} - 13'(rx_hdr_i[65:64]);
  assign addr     = is_long ? {rx_hdr_i[95:64], rx_hdr_i[127:98], 2'b0}
                            : {32'b0, rx_hdr_i[95:66], 2'b0};
  assign crosses = 12'(addr[11:2]) + 12'(dws) > 12'd1024;

  logic [12:0] excess;  // of the DWs over the byte count
  logic [12:0] bytes;
  assign excess = room - count;
  assign bytes  = !kind[6] ? 13'd0 : excess < 13'd4 ? count : room;

  //////////
  // Beat //
  //////////

  logic        start;  // the beat starts a TLP
  logic        cut;  // a TLP starts where another has not ended
  logic [10:0] left;  // DWs before this beat or half
  logic        fits;  // the beat is what the length field says; its second half is, with the first
  logic        midway;

  assign midway = regs_q.state == Read || regs_q.state == Write;
  assign start = !midway && rx_sop_i;
  assign cut = midway && !regs_q.half && rx_sop_i;
  assign left = start ? dws : regs_q.left;
  assign fits   = regs_q.half
      || rx_eop_i == (left <= 11'd32) && rx_dws_i == (left < 11'd32 ? 8'(left) : 8'd32);

  // The half's DWs go up by `rot`; those that leave at the top wait for the next word.
  logic  [3:0] rot;
  word_t       half;
  word_t       turned;
  word_t       below;  // ones where the half before ends
  word_t       merged;
  logic        spills;  // DWs of the half that reach into one more line
  logic        ends;  // the TLP's last half

  assign rot    = midway ? regs_q.rot : kind[6] ? rx_hdr_i[69:66] : 4'd0;
  assign half   = regs_q.half ? rx_data_i[1023:512] : rx_data_i[511:0];
  assign turned = word_t'({half, half} >> {5'd16 - 5'(rot), 5'b0});
  assign below  = ~({512{1'b1}} << {rot, 5'b0});
  assign merged = (regs_q.res & below) | (turned & ~below);
  assign ends   = left <= 11'd16;
  assign spills = ends && left + 11'(rot) > 11'd16;

  logic reads;  // the beat is a completion's
  logic waits;  // a write behind one that has not been taken
  logic two;  // the beat's second half holds DWs of a completion
  assign reads = regs_q.state == Read || start && is_cpl;
  assign waits = start && is_write && regs_q.page_valid && !page_ready_i;
  assign two   = reads && fits && !regs_q.half && !ends;

  /////////////
  // Outputs //
  /////////////

  // Without a beat the bus has no meaning.
  assign rx_ready_o   = regs_q.state != Rest && !(rx_valid_i && (cut || waits || two));
  assign cpl_valid_o  = regs_q.cpl_valid;
  assign cpl_tag_o    = regs_q.cpl_tag;
  assign cpl_first_o  = regs_q.cpl_first;
  assign cpl_last_o   = regs_q.cpl_last;
  assign cpl_data_o   = regs_q.cpl_data;
  assign cpl_bytes_o  = regs_q.cpl_bytes;
  assign cpl_status_o = regs_q.cpl_status;
  assign cpl_poison_o = regs_q.cpl_poison;
  assign cpl_count_o  = regs_q.cpl_count;
  assign cpl_lower_o  = regs_q.cpl_lower;
  assign page_valid_o = regs_q.page_valid;
  assign page_addr_o  = regs_q.page_addr;
  assign page_len_o   = regs_q.page_len;
  assign page_full_o  = regs_q.page_full;
  assign page_data_o  = regs_q.page_data;
  assign bad_valid_o  = regs_q.bad_valid;
  assign bad_reason_o = regs_q.bad_reason;

  ////////////////
  // Next state //
  ////////////////

  logic bad;
  logic [2:0] reason;

  always_comb begin
    bad    = 1'b1;
    reason = BAD_ORDER;
    if (cut || !midway && !rx_sop_i) begin
      bad = cut || regs_q.state == Idle;
    end else if (start && !is_cpl && !is_write) begin
      reason = BAD_TYPE;
    end else if (!fits) begin
      reason = BAD_LENGTH;
    end else if (start && is_write && rx_hdr_i[14]) begin
      reason = BAD_POISON;
    end else if (start && is_write && crosses) begin
      reason = BAD_ADDRESS;
    end else begin
      bad = 1'b0;
    end
  end

  logic stray;  // passed over: part of nothing, or of what has been counted
  assign stray = !midway && !rx_sop_i;

  always_comb begin
    regs_d           = regs_q;
    regs_d.cpl_valid = 1'b0;
    regs_d.bad_valid = 1'b0;
    if (page_ready_i) begin
      regs_d.page_valid = 1'b0;
    end

    if (regs_q.state == Rest) begin
      regs_d.state     = Idle;
      regs_d.cpl_valid = 1'b1;
      regs_d.cpl_first = 1'b0;
      regs_d.cpl_last  = 1'b1;
      regs_d.cpl_data  = regs_q.res;
    end else if (rx_valid_i && !waits) begin
      if (reads) begin
        regs_d.cpl_valid = 1'b1;
        regs_d.cpl_first = start;
        regs_d.cpl_last  = bad || ends && !spills;
        regs_d.cpl_data  = merged;
        if (start) begin
          regs_d.cpl_tag    = rx_hdr_i[79:72];
          regs_d.cpl_bytes  = bytes;
          regs_d.cpl_status = rx_hdr_i[47:45];
          regs_d.cpl_poison = rx_hdr_i[14];
          regs_d.cpl_count  = count;
          regs_d.cpl_lower  = rx_hdr_i[70:64];
        end
        if (bad) begin
          regs_d.cpl_poison = 1'b1;
        end
      end

      if (bad || stray) begin
        regs_d.bad_valid  = bad;
        regs_d.bad_reason = bad ? reason : regs_q.bad_reason;
        regs_d.state      = cut || rx_eop_i ? Idle : Skip;
      end else if (reads) begin
        regs_d.state = !ends ? Read : spills ? Rest : Idle;
        regs_d.half  = two;
        regs_d.left  = ends ? 11'd0 : left - 11'd16;
        regs_d.rot   = rot;
        regs_d.res   = turned;
      end else begin
        regs_d.state = rx_eop_i ? Idle : Write;
        regs_d.left  = rx_eop_i ? 11'd0 : left - 11'd32;
        if (start) begin
          regs_d.page_addr = addr;
          regs_d.page_len = dws > 11'd511 ? 11'd2044 : {dws[8:0], 2'b0};
          regs_d.page_full = rx_hdr_i[35:32] == 4'hf
              && rx_hdr_i[39:36] == (dws == 11'd1 ? 4'h0 : 4'hf);
          regs_d.page_data = rx_data_i[511:0];
        end
        regs_d.page_valid = rx_eop_i;
      end
    end
  end

  //////////////
  // Contract //
  //////////////

  // A page that doorbell does not take stays as it is.
  `ASSERT(PageWaits_A, page_valid_o && !page_ready_i |=> page_valid_o)
  `ASSERT(PageStable_A, page_valid_o && !page_ready_i |=> $stable({page_addr_o, page_len_o,
                                                                   page_full_o}))
  `ASSERT(PageDataStable_A, page_valid_o && !page_ready_i |=> $stable(page_data_o))
  // Whether a beat would be taken does not hang on a bus that carries none.
  `ASSERT(ReadyIdle_A, !rx_valid_i && regs_q.state != Rest |-> rx_ready_o)
  // A completion's words follow each other up to its last one.
  `ASSERT(CplFirst_A, cpl_valid_o && cpl_last_o |=> !cpl_valid_o || cpl_first_o)

  // Requester, completer and byte-count-modified bits are not looked at, nor are the attributes.
  logic unused;
  assign unused = &{1'b0, rx_hdr_i[63:48], rx_hdr_i[44], rx_hdr_i[30:28], rx_hdr_i[22:20],
                    rx_hdr_i[18:15], rx_hdr_i[13:10], rx_hdr_i[71], rx_hdr_i[97:96]};

endmodule
