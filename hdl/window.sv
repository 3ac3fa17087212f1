// Congestion window and bytes in flight of each group.
//
// Twin of rtl-model/src/window.rs. An operation takes 2 clocks: a request taken in clock N is
// answered, and its effect is in force, in clock N + 2; so throughput is 1 operation in 2 clocks.
// One request at a time, in this order: open, sub, lose, toss, query, try.
// SEG-3: a group may send while its window is larger than its bytes in flight. CC-1: a new group
// starts from `cfg_init_window` with nothing in flight; acknowledged packets leave flight (sub), so
// do those that will go again (lose) and those that came to nothing (toss). A lose with `shrink`
// takes a unit from the window, down to one unit; a window below a unit stays as it is.
// PKT-5, its tightness query: less than one nominal packet of room, signed, or a window below
// 4,095 B. Section 16: acknowledgements (sub) before the hand-off (query) before a turn (try).
// Borders: flight = window - 1 is open, flight = window is shut, flight may exceed the window by up
// to one packet less a byte; room = unit - 1 is tight, room = unit is not; window 4,094 is tight,
// 4,095 is not; 2 units and a byte less shrink to one. A word is written by `open` before any other
// operation names it. The memory port is combinational: `win` is read as a request is taken and
// written a clock later.

`include "assert.svh"

module window
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // Levels, from csr
  input bytes_t cfg_init_window_i,
  input len_t   cfg_unit_i,         // one nominal packet

  // New groups, from qp_table
  input  logic   open_valid_i,
  output logic   open_ready_o,
  input  group_t open_group_i,

  // Packets acknowledged, from ack_take
  input  logic   sub_valid_i,
  output logic   sub_ready_o,
  input  group_t sub_group_i,
  input  len_t   sub_bytes_i,  // nominal

  // Packets that wait to go again, from retransmit
  input  logic   lose_valid_i,
  output logic   lose_ready_o,
  input  group_t lose_group_i,
  input  len_t   lose_bytes_i,  // nominal
  input  logic   lose_shrink_i, // lost on the way: the window shrinks

  // Segments that came to nothing, from qp_drain
  input  logic   toss_valid_i,
  output logic   toss_ready_o,
  input  group_t toss_group_i,
  input  len_t   toss_bytes_i,  // nominal

  // Is the window nearly full? From packet_build
  input  logic   query_valid_i,
  output logic   query_ready_o,
  input  group_t query_group_i,
  output logic   query_rsp_valid_o,
  output logic   query_rsp_tight_o,

  // Is the window open? From tx_scheduler; with `commit` the bytes then enter flight
  input  logic   try_valid_i,
  output logic   try_ready_o,
  input  group_t try_group_i,
  input  len_t   try_bytes_i,      // nominal
  input  logic   try_commit_i,
  output logic   try_rsp_valid_o,
  output logic   try_rsp_ok_o,

  // Bytes in flight of all groups
  output bytes_t flight_sum_o,

  // Memory of windows, a word a group: window in 63:32, flight in 31:0
  output logic        win_we_o,
  output logic [31:0] win_waddr_o,
  output logic [63:0] win_wdata_o,
  output logic        win_re_o,
  output logic [31:0] win_raddr_o,
  input  logic [63:0] win_rdata_i
);

  // A window below this asks for acknowledgement on every packet (PKT-5).
  localparam bytes_t SMALL_WINDOW = 32'd4095;

  ///////////////
  // Registers //
  ///////////////

  typedef enum logic [2:0] {
    Idle,   // takes the next request
    Open,   // the rest have read the group's word
    Sub,
    Query,
    Try
  } state_e;

  typedef struct {
    state_e state;
    group_t group;
    len_t   bytes;
    logic   shrink;
    logic   commit;
    logic   query_rsp_valid;
    logic   query_rsp_tight;
    logic   try_rsp_valid;
    logic   try_rsp_ok;
    bytes_t flight_sum;
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

  /////////////
  // Outputs //
  /////////////

  bytes_t             cwnd;
  bytes_t             flight;
  bytes_t             bytes;
  logic signed [32:0] room;  // below zero where flight has passed the window
  logic               ok;
  logic               tight;
  assign cwnd   = win_rdata_i[63:32];
  assign flight = win_rdata_i[31:0];
  assign bytes  = {18'd0, regs_q.bytes};
  assign room   = $signed({1'b0, cwnd}) - $signed({1'b0, flight});
  assign ok     = room > 33'sd0;
  assign tight  = room < $signed({19'd0, cfg_unit_i}) || cwnd < SMALL_WINDOW;

  logic idle;
  assign idle              = regs_q.state == Idle;
  assign open_ready_o      = idle;
  assign sub_ready_o       = idle && !open_valid_i;
  assign lose_ready_o      = sub_ready_o && !sub_valid_i;
  assign toss_ready_o      = lose_ready_o && !lose_valid_i;
  assign query_ready_o     = toss_ready_o && !toss_valid_i;
  assign try_ready_o       = query_ready_o && !query_valid_i;

  assign query_rsp_valid_o = regs_q.query_rsp_valid;
  assign query_rsp_tight_o = regs_q.query_rsp_tight;
  assign try_rsp_valid_o   = regs_q.try_rsp_valid;
  assign try_rsp_ok_o      = regs_q.try_rsp_ok;
  assign flight_sum_o      = regs_q.flight_sum;

  state_e taken;  // the request taken, if any
  group_t group;
  always_comb begin
    taken = Idle;
    group = '0;
    if (idle && open_valid_i) begin
      taken = Open;
      group = open_group_i;
    end else if (idle && sub_valid_i) begin
      taken = Sub;
      group = sub_group_i;
    end else if (idle && lose_valid_i) begin
      taken = Sub;
      group = lose_group_i;
    end else if (idle && toss_valid_i) begin
      taken = Sub;
      group = toss_group_i;
    end else if (idle && query_valid_i) begin
      taken = Query;
      group = query_group_i;
    end else if (idle && try_valid_i) begin
      taken = Try;
      group = try_group_i;
    end
  end

  // CC-1: the window after a loss
  bytes_t unit;
  bytes_t shrunk;
  assign unit   = {18'd0, cfg_unit_i};
  assign shrunk = cwnd <= unit ? cwnd : cwnd - unit < unit ? unit : cwnd - unit;

  always_comb begin
    win_re_o    = taken != Idle;
    win_raddr_o = {24'd0, group};
    win_we_o    = 1'b0;
    win_waddr_o = '0;
    win_wdata_o = '0;
    if (regs_q.state == Open || regs_q.state == Sub
        || (regs_q.state == Try && ok && regs_q.commit)) begin
      win_we_o    = 1'b1;
      win_waddr_o = {24'd0, regs_q.group};
      unique case (regs_q.state)
        Open:    win_wdata_o = {cfg_init_window_i, 32'd0};
        Sub:     win_wdata_o = {regs_q.shrink ? shrunk : cwnd, flight - bytes};
        default: win_wdata_o = {cwnd, flight + bytes};
      endcase
    end
  end

  ////////////////
  // Next state //
  ////////////////

  always_comb begin
    regs_d                 = regs_q;

    regs_d.state           = taken;
    regs_d.query_rsp_valid = regs_q.state == Query;
    regs_d.try_rsp_valid   = regs_q.state == Try;
    if (taken != Idle) begin
      regs_d.group = group;
    end

    unique case (regs_q.state)
      Idle: begin
        if (taken == Sub) begin
          regs_d.bytes  = sub_valid_i ? sub_bytes_i : lose_valid_i ? lose_bytes_i : toss_bytes_i;
          regs_d.shrink = !sub_valid_i && lose_valid_i && lose_shrink_i;
        end else if (taken == Try) begin
          regs_d.bytes  = try_bytes_i;
          regs_d.commit = try_commit_i;
        end
      end
      Sub: regs_d.flight_sum = regs_q.flight_sum - bytes;
      Query: regs_d.query_rsp_tight = tight;
      Try: begin
        regs_d.try_rsp_ok = ok;
        if (ok && regs_q.commit) begin
          regs_d.flight_sum = regs_q.flight_sum + bytes;
        end
      end
      default: ;
    endcase
  end

  //////////////
  // Contract //
  //////////////

  // Nothing leaves flight that did not enter it.
  `ASSERT(NoUnderflow_A, regs_q.state == Sub |-> flight >= bytes)
  `ASSERT(SumCoversGroup_A, regs_q.state == Sub |-> regs_q.flight_sum >= flight)
  // At most one request is answered a clock.
  `ASSERT(OneAnswer_A, !(query_rsp_valid_o && try_rsp_valid_o))

endmodule
