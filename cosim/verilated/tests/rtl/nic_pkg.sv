// Types of the example blocks.

package nic_pkg;

  localparam int unsigned PSN_BITS = 24;

  typedef logic [PSN_BITS-1:0] psn_t;

  typedef enum logic [1:0] {
    Expected,
    Duplicate,
    Gap
  } verdict_e;

endpackage
