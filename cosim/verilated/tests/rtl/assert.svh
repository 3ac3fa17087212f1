// Assertions of a block: a label and a property over clk_i, off while rst_ni is low.
//
// Synthesis (SYNTHESIS or YOSYS defined) sees nothing of them.

`ifndef ASSERT_SVH
`define ASSERT_SVH

`ifdef SYNTHESIS
`define ASSERT(name, prop)
`elsif YOSYS
`define ASSERT(name, prop)
`else
`define ASSERT(name, prop) \
  name : assert property (@(posedge clk_i) disable iff (!rst_ni) (prop)) \
  else $error("assertion %s failed", `"name`");
`endif

`endif
