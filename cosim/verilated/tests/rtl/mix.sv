// Every shape of register the binding handles, over two levels, for its tests.

`include "assert.svh"

module mix
  import nic_pkg::*;
#(
  parameter int unsigned SLOTS = 8
) (
  input logic clk_i,
  input logic rst_ni,

  input  logic         push_i,
  input  logic [ 31:0] addr_i,
  input  logic [511:0] data_i,
  input  logic [  1:0][3:0] lanes_i,
  input  logic [ 44:0] time_i,
  output logic [511:0] data_o,
  output logic [ 44:0] time_o,
  output logic [ 69:0] word_o,
  output verdict_e verdict_o
);

  typedef struct packed {
    logic     on;
    verdict_e verdict;
    psn_t     psn;
  } pair_t;

  typedef struct {
    logic [511:0]     data;
    logic [44:0]      stamp;
    logic [15:0]      slots[SLOTS];
    logic [69:0]      broad[4];
    logic [1:0][3:0]  lanes;
    pair_t            pair;
    pair_t            pairs[3];
    logic [SLOTS-1:0] map;
    logic [1:0]       hit;
    logic             flags[5];
  } regs_t;

  localparam regs_t RESET = '{
      slots: '{default: '0},
      broad: '{default: '0},
      pairs: '{default: '0},
      flags: '{default: '0},
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

  verdict_e verdict[2];
  logic [1:0] verdict_valid;
  logic [1:0] req_ready;

  for (genvar n = 0; n < 2; n++) begin : g_check
    psn_check u_check (
      .clk_i,
      .rst_ni,
      .req_valid_i(push_i),
      .req_ready_o(req_ready[n]),
      .req_psn_i(addr_i[23:0] + psn_t'(n)),
      .verdict_valid_o(verdict_valid[n]),
      .verdict_ready_i(1'b1),
      .verdict_o(verdict[n])
    );
  end

  ram_1r1w #(
    .WIDTH(70),
    .DEPTH(16)
  ) u_ram (
    .clk_i,
    .we_i(push_i),
    .waddr_i(addr_i & 32'd15),
    .wdata_i(data_i[69:0]),
    .re_i(!push_i),
    .raddr_i((addr_i + 32'd1) & 32'd15),
    .rdata_o(word_o)
  );

  assign data_o = regs_q.data;
  assign time_o = regs_q.stamp;
  assign verdict_o = verdict[0];

  always_comb begin
    regs_d = regs_q;
    if (push_i) begin
      regs_d.data = data_i ^ (regs_q.data << 1);
      regs_d.stamp = time_i;
      regs_d.slots[addr_i[$clog2(SLOTS)-1:0]] = data_i[15:0];
      regs_d.broad[addr_i[1:0]] = data_i[100:31];
      regs_d.lanes = lanes_i;
      regs_d.pair = '{on: 1'b1, verdict: verdict[1], psn: addr_i[23:0]};
      regs_d.pairs[0] = regs_q.pair;
      regs_d.pairs[1] = regs_q.pairs[0];
      regs_d.pairs[2] = regs_q.pairs[1];
      regs_d.map[addr_i[$clog2(SLOTS)-1:0]] = data_i[0];
      regs_d.hit = verdict_valid & req_ready;
      regs_d.flags[{1'b0, addr_i[1:0]}] = data_i[1];
    end
  end

  `ASSERT(NoGolden_A, addr_i != 32'hdead_beef)

endmodule
