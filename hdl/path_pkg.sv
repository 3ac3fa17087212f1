// Entropy values: which may be used, and which comes next.
//
// Twin of the types in rtl-model/src/path_select.rs. Value v is UDP source port 256 + v.

package path_pkg;

  // A value of the 128 that a destination's packets are sprayed over.
  typedef logic [6:0] value_t;
  typedef logic [127:0] values_t;  // a bit each

  // A destination's word in path_select's memory.
  typedef struct packed {
    values_t bad;   // assumed bad, until a probe is answered
    values_t skip;  // to be passed over once
  } flags_t;

  function automatic logic [15:0] port_of(value_t value);
    return {9'd2, value};
  endfunction

  // Whether a port is one of the 128.
  function automatic logic is_sprayed(logic [15:0] port);
    return port[15:7] == 9'd2;
  endfunction

  // The first of `values` from `start` on, which comes round; `start` itself without any.
  function automatic value_t first_from(values_t values, value_t start);
    first_from = start;
    for (int k = 127; k >= 0; k--) begin
      if (values[start+7'(k)]) begin
        first_from = start + 7'(k);
      end
    end
  endfunction

  // The values from `start` up to `stop`, which is not one of them.
  function automatic values_t between(value_t start, value_t stop);
    for (int v = 0; v < 128; v++) begin
      between[v] = 7'(v) - start < stop - start;
    end
  endfunction

endpackage
