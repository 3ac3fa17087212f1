// The NIC's end of the PCIe link, transmit side: holds TLPs, and sends each at its exact time.
//
// Twin of rtl-model/src/pcie_link.rs. PCI-2, PCI-4, PCI-6. Throughput 1 word of 64 B a clock in;
// out, cfg_pcie_rate_i units a clock, a byte being 8,000: no remainder is lost while TLPs wait.
//
// Latency: a TLP whose last word is taken in clock a begins on the link at the start of clock a + 3
// if the link is free, else at the exact end of the one before. A TLP that ends at the start of
// clock n, or less than a clock before, has its last beat in clock n + 1; tlp_back_o are the units
// by which it ended before n. So the fixed latency from the exact end, rounded up to a clock, is 1.
// Beats that are not the last go out every second clock from the second clock after the begin on.
//
// Room: a TLP takes 16 B of header room and its payload's DWs, rounded up to 16 B, of data room
// from its first word until it has ended; a read needs header room only. The same room is taken in
// the host's receive buffer from its begin until the host tells on room_*, in units of 16 B, that
// it is free again; a unit too many is passed over. Room told in clock a lets a TLP begin at the
// start of clock a + 2.
// Reads and writes alternate when both wait and have room at the host, a read first; one without
// room there leaves its turn to the other, and has it when there is room. A link with no TLP
// waiting forgets whose turn it was.
//
// A CQE write with cost 0 is off the link: it goes to cqe_*, one clock after the last beat of the
// last write that was accepted before it, or 3 clocks after its own word, whichever is later. It
// holds its room until then, and takes none at the host.
//
// Around it stand a ram_1r1w of 4,096 rows of 128 B (a TLP begins on a row, so that one read gives
// a beat: a 65 B write lasts 1.57 clocks) and three ram_fifos, DEPTH 1,024 each, for what waits:
// reads, writes, CQEs off the link. All 1,024 headers fit, whatever they are.
//
// Borders: room exactly enough and 1 B short, here and at the host; room told in the clock in which
// more is taken; 29 and 30 B of payload (29 B: one a clock); a TLP that ends exactly with a clock;
// a spare over the next cost; 32, 33 and 129 DWs; the wrap of the rows; 4,096 rows and 1,024
// headers held. Limits: one TLP starts a clock; a rate over 512,000 units (64 B a clock) makes long
// TLPs wait for their rows; 255 DWs a TLP.
//
// It is longer than a module should be: the accounting of room needs both ends of the buffer, and
// nine groups of ports take a third of it.

`include "assert.svh"

module pcie_link
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Levels, from csr
  input rate_t  cfg_pcie_rate_i,
  input bytes_t cfg_tx_hdr_buf_i,
  input bytes_t cfg_tx_data_buf_i,
  input bytes_t cfg_far_hdr_buf_i,
  input bytes_t cfg_far_data_buf_i,

  // TLPs, from tlp_engine
  input  logic          tx_valid_i,
  output logic          tx_ready_o,
  input  logic          tx_first_i,
  input  logic          tx_last_i,
  input  logic  [  1:0] tx_kind_i,   // 0 read, 1 payload write, 2 CQE write
  input  logic  [127:0] tx_hdr_i,
  input  logic  [  9:0] tx_dws_i,
  input  logic  [ 12:0] tx_cost_i,
  input  word_t         tx_data_i,
  output logic  [ 27:0] tx_free_o,   // units of 16 B for payload that nothing has taken

  // Payload rows, a ram_1r1w
  output logic         buf_we_o,
  output logic  [31:0] buf_waddr_o,
  output beat_t        buf_wdata_o,
  output logic         buf_re_o,
  output logic  [31:0] buf_raddr_o,
  input  beat_t        buf_rdata_i,

  // Reads that wait, through a ram_fifo
  output logic         rpush_valid_o,
  input  logic         rpush_ready_i,
  output logic [150:0] rpush_o,
  input  logic         rhead_valid_i,
  output logic         rhead_ready_o,
  input  logic [150:0] rhead_i,

  // Writes that wait, through a ram_fifo
  output logic         wpush_valid_o,
  input  logic         wpush_ready_i,
  output logic [150:0] wpush_o,
  input  logic         whead_valid_i,
  output logic         whead_ready_o,
  input  logic [150:0] whead_i,

  // CQEs off the link that wait, through a ram_fifo
  output logic         cpush_valid_o,
  input  logic         cpush_ready_i,
  output logic [399:0] cpush_o,
  input  logic         chead_valid_i,
  output logic         chead_ready_o,
  input  logic [399:0] chead_i,

  // Room that is free again in the host's receive buffer, from the host
  input logic        room_valid_i,
  input logic [15:0] room_hdr_i,
  input logic [15:0] room_data_i,

  // Beats, to the host
  output logic tlp_valid_o,
  output logic tlp_sop_o,
  output logic tlp_eop_o,
  output logic [127:0] tlp_hdr_o,
  output logic [7:0] tlp_dws_o,  // payload DWs in this beat
  output beat_t tlp_data_o,
  output logic [19:0] tlp_back_o,  // with tlp_eop_o: units between the exact end and clock n
  output logic sent_valid_o,  // a TLP has left the link; with tlp_eop_o
  output logic [1:0] sent_kind_o,

  // CQEs off the link, to the host
  output logic         cqe_valid_o,
  output logic [127:0] cqe_hdr_o,
  output logic [255:0] cqe_data_o
);

  localparam logic [12:0] ROWS = 13'd4096;
  localparam logic [10:0] HEADERS = 11'd1024;

  localparam logic [1:0] READ = 2'd0;
  localparam logic [1:0] CQE = 2'd2;

  // A TLP that waits for the link. Twin of pcie_link::Entry.
  typedef struct packed {
    logic [1:0]   kind;
    logic [7:0]   dws;
    logic [12:0]  cost;
    logic [127:0] hdr;
  } entry_t;

  // A CQE that waits for the writes before it. Twin of pcie_link::CqeEntry.
  typedef struct packed {
    logic [15:0]  after;  // goes once so many writes have left
    logic [255:0] data;
    logic [127:0] hdr;
  } cqe_entry_t;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    // Room taken
    logic [10:0]  held;        // TLPs
    bytes_t       data_used;   // payload bytes, each TLP's rounded up to 16
    logic [12:0]  rows_used;
    // Room taken at the host, in units of 16 B
    logic [27:0]  far_hdr;
    logic [27:0]  far_data;
    // Words in
    beat_t        row;         // the row being filled
    logic         row_half;    // its low half is filled
    logic         row_write;   // it is full, or ends its TLP
    logic [11:0]  row_tail;    // where it goes
    logic [15:0]  writes_in;   // writes taken
    logic         rpush;       // `entry` goes to the reads,
    logic         wpush;       // to the writes,
    logic         cpush;       // or with the row's first 32 B to the CQEs
    entry_t       entry;
    // The link
    logic         busy;
    logic [25:0]  left;        // units that the TLP still needs
    entry_t       tlp;         // on the link
    logic         read_last;   // the last TLP begun was a read
    logic [3:0]   rows_left;   // rows of it that are not read
    logic         gap;         // no row is read in this clock
    logic [11:0]  row_head;    // next row to read
    logic         mid;         // buf_rdata_i is a beat that is not the last
    logic         mid_first;   // but the first
    logic         done;        // `done_tlp` has ended; buf_rdata_i is its last beat
    entry_t       done_tlp;
    logic [19:0]  done_back;
    logic [15:0]  writes_out;  // writes whose last beat is out
    // Out
    logic         out_valid;
    logic         out_sop;
    logic         out_eop;
    logic [127:0] out_hdr;
    logic [7:0]   out_dws;
    beat_t        out_data;
    logic [19:0]  out_back;
    logic [1:0]   out_kind;
    logic         cqe_valid;
    cqe_entry_t   cqe;
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

  // Rows that so many DWs take.
  function automatic logic [3:0] rows_of(logic [7:0] dws);
    return 4'((9'(dws) + 9'd31) >> 5);
  endfunction

  // DWs of them in the last row.
  function automatic logic [7:0] last_dws_of(logic [7:0] dws);
    return dws == '0 ? '0 : 8'(5'(dws - 8'd1)) + 8'd1;
  endfunction

  // Data room that so many DWs take, in units of 16 B. PCI-4.
  function automatic logic [6:0] units_of(logic [7:0] dws);
    return 7'((9'(dws) + 9'd3) >> 2);
  endfunction

  // The same in bytes.
  function automatic logic [10:0] room_of(logic [7:0] dws);
    return {units_of(dws), 4'd0};
  endfunction

  // What is left of `used`; units too many are passed over.
  function automatic logic [27:0] less(logic [27:0] used, logic [15:0] freed);
    return used > 28'(freed) ? used - 28'(freed) : '0;
  endfunction

  logic off_link;  // the TLP coming in is a CQE off the link
  logic hdr_room;
  logic data_room;
  logic row_room;
  logic stuck;  // a queue does not take the entry before
  assign off_link = tx_kind_i == CQE && tx_cost_i == '0;
  assign hdr_room = regs_q.held < HEADERS && {17'd0, regs_q.held + 11'd1, 4'd0} <= cfg_tx_hdr_buf_i;
  assign data_room = 33'(regs_q.data_used) + 33'(room_of(tx_dws_i[7:0])) <= 33'(cfg_tx_data_buf_i);
  assign row_room = regs_q.rows_used + 13'(rows_of(tx_dws_i[7:0])) <= ROWS;
  assign stuck = regs_q.rpush && !rpush_ready_i || regs_q.wpush && !wpush_ready_i
               || regs_q.cpush && !cpush_ready_i;

  assign tx_ready_o = !stuck
                    && (!tx_first_i || hdr_room && (tx_kind_i == READ || data_room && row_room));

  assign tx_free_o = regs_q.data_used < cfg_tx_data_buf_i
                     ? 28'((cfg_tx_data_buf_i - regs_q.data_used) >> 4) : '0;

  // The link
  logic        ends;  // the TLP ends in this clock
  logic [19:0] spare;  // units of this clock that it leaves
  logic        free;
  logic        read_turn;  // if both wait and have room, the read goes
  logic        far_room;  // for one more header at the host
  logic        read_goes;  // if a TLP begins
  logic        write_fits;  // a write waits and has room at the host
  logic [28:0] write_needs;  // units at the host with the oldest write
  logic [ 7:0] write_dws;  // of the oldest one
  logic [15:0] after;  // the CQE goes once so many writes have left
  assign ends = regs_q.busy && regs_q.left <= 26'(cfg_pcie_rate_i) && regs_q.rows_left < 4'd2;
  assign spare = ends ? cfg_pcie_rate_i - regs_q.left[19:0] : '0;
  assign free = !regs_q.busy || ends;
  assign read_turn = !regs_q.read_last;
  assign write_dws = whead_i[148:141];
  assign after = chead_i[399:384];

  assign far_room = regs_q.far_hdr < cfg_far_hdr_buf_i[31:4];
  assign write_needs = 29'(regs_q.far_data) + 29'(units_of(write_dws));
  assign write_fits = whead_valid_i && far_room && write_needs <= 29'(cfg_far_data_buf_i[31:4]);
  assign read_goes = rhead_valid_i && far_room && (read_turn || !write_fits);

  assign rhead_ready_o = free && read_goes;
  assign whead_ready_o = free && write_fits && !read_goes;
  assign chead_ready_o = 16'(regs_q.writes_out - after) < 16'h8000;

  assign buf_we_o = regs_q.row_write;
  assign buf_waddr_o = 32'(regs_q.row_tail);
  assign buf_wdata_o = regs_q.row;
  assign buf_re_o = regs_q.rows_left != '0 && !regs_q.gap;
  assign buf_raddr_o = 32'(regs_q.row_head);

  assign rpush_valid_o = regs_q.rpush;
  assign rpush_o = regs_q.entry;
  assign wpush_valid_o = regs_q.wpush;
  assign wpush_o = regs_q.entry;
  assign cpush_valid_o = regs_q.cpush;
  assign cpush_o = {regs_q.writes_in, regs_q.row[255:0], regs_q.entry.hdr};

  assign tlp_valid_o = regs_q.out_valid;
  assign tlp_sop_o = regs_q.out_sop;
  assign tlp_eop_o = regs_q.out_eop;
  assign tlp_hdr_o = regs_q.out_hdr;
  assign tlp_dws_o = regs_q.out_dws;
  assign tlp_data_o = regs_q.out_data;
  assign tlp_back_o = regs_q.out_back;
  assign sent_valid_o = regs_q.out_valid && regs_q.out_eop;
  assign sent_kind_o = regs_q.out_kind;
  assign cqe_valid_o = regs_q.cqe_valid;
  assign cqe_hdr_o = regs_q.cqe.hdr;
  assign cqe_data_o = regs_q.cqe.data;

  ////////////////
  // Next state //
  ////////////////

  logic take;  // a word
  logic begins;  // a TLP, on the link
  logic cqe_goes;
  assign take     = tx_valid_i && tx_ready_o;
  assign begins   = rhead_ready_o || whead_ready_o;
  assign cqe_goes = chead_valid_i && chead_ready_o;

  entry_t        head;  // the TLP that begins if one does
  logic   [25:0] cost_units;  // that it needs
  assign head = read_goes ? rhead_i : whead_i;
  assign cost_units = 26'(head.cost) * 26'(BYTE_UNITS);

  always_comb begin
    regs_d = regs_q;

    // Words in. Each push is of one clock unless its queue is full.
    if (!stuck) begin
      regs_d.rpush = take && tx_last_i && tx_kind_i == READ;
      regs_d.wpush = take && tx_last_i && tx_kind_i != READ && !off_link;
      regs_d.cpush = take && tx_last_i && off_link;
    end
    regs_d.row_write = 1'b0;
    if (take) begin
      regs_d.entry = '{kind: tx_kind_i, dws: tx_dws_i[7:0], cost: tx_cost_i, hdr: tx_hdr_i};
      if (tx_kind_i != READ) begin
        regs_d.row       = regs_q.row_half ? {tx_data_i, regs_q.row[511:0]} : {512'd0, tx_data_i};
        regs_d.row_half  = !regs_q.row_half && !tx_last_i;
        regs_d.row_write = (regs_q.row_half || tx_last_i) && !off_link;
      end
    end
    regs_d.row_tail  = regs_q.row_tail + 12'(regs_q.row_write);
    regs_d.writes_in = regs_q.writes_in + 16'(regs_d.wpush && !stuck);

    // The link. The remainder carries over to a TLP that already waits.
    if (free) begin
      regs_d.busy = begins;
      if (begins) begin
        regs_d.read_last = read_goes;
      end else if (!rhead_valid_i && !whead_valid_i) begin
        regs_d.read_last = 1'b0;
      end
    end else if (regs_q.left > 26'(cfg_pcie_rate_i)) begin
      regs_d.left = regs_q.left - 26'(cfg_pcie_rate_i);
    end
    if (begins) begin
      regs_d.tlp  = head;
      regs_d.left = cost_units > 26'(spare) ? cost_units - 26'(spare) : '0;
    end

    // Rows of the TLP on the link; the last one follows the one before at once.
    if (buf_re_o) begin
      regs_d.row_head  = regs_q.row_head + 12'd1;
      regs_d.rows_left = regs_q.rows_left - 4'd1;
    end
    if (begins) begin
      regs_d.rows_left = rows_of(head.dws);
    end
    regs_d.gap       = buf_re_o && regs_q.rows_left > 4'd2;
    regs_d.mid       = buf_re_o && regs_q.rows_left > 4'd1;
    regs_d.mid_first = buf_re_o && regs_q.rows_left == rows_of(regs_q.tlp.dws);

    // The end of a TLP, and its last beat.
    regs_d.done      = ends;
    if (ends) begin
      regs_d.done_tlp  = regs_q.tlp;
      regs_d.done_back = spare;
    end
    regs_d.writes_out = regs_q.writes_out + 16'(regs_q.done && regs_q.done_tlp.kind != READ);

    regs_d.out_valid  = regs_q.mid || regs_q.done;
    if (regs_q.mid) begin
      regs_d.out_sop  = regs_q.mid_first;
      regs_d.out_eop  = 1'b0;
      regs_d.out_hdr  = regs_q.tlp.hdr;
      regs_d.out_dws  = 8'd32;
      regs_d.out_data = buf_rdata_i;
    end
    if (regs_q.done) begin
      regs_d.out_sop  = regs_q.done_tlp.dws <= 8'd32;
      regs_d.out_eop  = 1'b1;
      regs_d.out_hdr  = regs_q.done_tlp.hdr;
      regs_d.out_dws  = last_dws_of(regs_q.done_tlp.dws);
      regs_d.out_back = regs_q.done_back;
      regs_d.out_kind = regs_q.done_tlp.kind;
      if (regs_q.done_tlp.dws != '0) begin
        regs_d.out_data = buf_rdata_i;
      end
    end

    // CQEs off the link.
    regs_d.cqe_valid = cqe_goes;
    if (cqe_goes) begin
      regs_d.cqe = chead_i;
    end

    // Room: taken with the first word, given back at the end.
    if (take && tx_first_i) begin
      regs_d.held      = regs_d.held + 11'd1;
      regs_d.data_used = regs_d.data_used + 32'(room_of(tx_dws_i[7:0]));
      regs_d.rows_used = regs_d.rows_used + (off_link ? '0 : 13'(rows_of(tx_dws_i[7:0])));
    end
    if (ends) begin
      regs_d.held      = regs_d.held - 11'd1;
      regs_d.data_used = regs_d.data_used - 32'(room_of(regs_q.tlp.dws));
      regs_d.rows_used = regs_d.rows_used - 13'(rows_of(regs_q.tlp.dws));
    end
    if (room_valid_i) begin
      regs_d.far_hdr  = less(regs_q.far_hdr, room_hdr_i);
      regs_d.far_data = less(regs_q.far_data, room_data_i);
    end
    if (begins) begin
      regs_d.far_hdr  = regs_d.far_hdr + 28'd1;
      regs_d.far_data = regs_d.far_data + 28'(units_of(head.dws));
    end
    if (cqe_goes) begin
      regs_d.held      = regs_d.held - 11'd1;
      regs_d.data_used = regs_d.data_used - 32'd32;
    end
  end

  // No TLP has more than 255 DWs; what is left of a unit at the host holds nothing.
  logic unused;
  assign unused = &{1'b0, tx_dws_i[9:8], cfg_far_hdr_buf_i[3:0], cfg_far_data_buf_i[3:0]};

  //////////////
  // Contract //
  //////////////

  // What a queue does not take waits, and stays as it is.
  `ASSERT(RpushWaits_A, rpush_valid_o && !rpush_ready_i |=> rpush_valid_o && $stable(rpush_o))
  `ASSERT(WpushWaits_A, wpush_valid_o && !wpush_ready_i |=> wpush_valid_o && $stable(wpush_o))
  `ASSERT(CpushWaits_A, cpush_valid_o && !cpush_ready_i |=> cpush_valid_o && $stable(cpush_o))
  // A beat in the middle and a last one never meet.
  `ASSERT(OneBeat_A, !(regs_q.mid && regs_q.done))
  // PCI-4: no TLP begins without room at the host.
  `ASSERT(FarHdr_A, begins |-> regs_q.far_hdr < cfg_far_hdr_buf_i[31:4])
  `ASSERT(FarData_A, whead_ready_o |-> write_needs <= 29'(cfg_far_data_buf_i[31:4]))
  // What waits or is on the link is held, with room for its data and rows.
  `ASSERT(Held_A,
          regs_q.held >= 11'(regs_q.busy) + 11'(regs_q.rpush || regs_q.wpush || regs_q.cpush))
  `ASSERT(HeldData_A, regs_q.data_used <= {11'd0, regs_q.held, 10'd0})
  `ASSERT(HeldRows_A, 14'(regs_q.rows_used) <= {regs_q.held, 3'd0})
  // Room is never given back that was not taken.
  `ASSERT(Room_A, regs_q.held <= HEADERS && regs_q.rows_used <= ROWS)
  `ASSERT(Empty_A, regs_q.held == '0 |-> regs_q.data_used == '0 && regs_q.rows_used == '0)

  // What of the room that the host tells of is taken there.
  function automatic logic [27:0] given(logic valid, logic [15:0] freed, logic [27:0] used);
    return !valid ? '0 : 28'(freed) < used ? 28'(freed) : used;
  endfunction

  logic [7:0] come_dws;  // of the TLP that comes,
  logic [7:0] gone_dws;  // that ends,
  logic [7:0] begun_dws;  // that begins
  assign come_dws  = take && tx_first_i ? tx_dws_i[7:0] : '0;
  assign gone_dws  = regs_d.done ? regs_d.done_tlp.dws : '0;
  assign begun_dws = whead_ready_o ? write_dws : '0;

  logic [10:0] held_then;  // held in the next clock, with what goes
  bytes_t data_then;
  logic [12:0] rows_then;
  logic [27:0] far_hdr_then;
  logic [27:0] far_data_then;
  assign held_then = regs_d.held + 11'(regs_d.done) + 11'(regs_d.cqe_valid);
  assign data_then = regs_d.data_used + 32'(room_of(gone_dws)) + (regs_d.cqe_valid ? 32 : 0);
  assign rows_then = regs_d.rows_used + 13'(rows_of(gone_dws));
  assign far_hdr_then = regs_d.far_hdr + given(room_valid_i, room_hdr_i, regs_q.far_hdr);
  assign far_data_then = regs_d.far_data + given(room_valid_i, room_data_i, regs_q.far_data);

  // PCI-4: no room is lost and none is made, here and at the host.
  `ASSERT(HeldBalance_A, held_then == regs_q.held + 11'(take && tx_first_i))
  `ASSERT(DataBalance_A, data_then == regs_q.data_used + 32'(room_of(come_dws)))
  `ASSERT(RowsBalance_A, rows_then == regs_q.rows_used + (off_link ? '0 : 13'(rows_of(come_dws))))
  `ASSERT(FarHdrBalance_A, far_hdr_then == regs_q.far_hdr + 28'(begins))
  `ASSERT(FarDataBalance_A, far_data_then == regs_q.far_data + 28'(units_of(begun_dws)))

endmodule
