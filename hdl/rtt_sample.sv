// RTT sample: round-trip times from what comes back for a packet or a probe.
//
// Twin of rtl-model/src/rtt_sample.rs. RTT-1, LocalDatabase: the clock in which the frame had
// arrived, less the one in which the serialisation of what drew it ended, less the service time
// that it reports. Latency 1 clock, a sample a clock.
//
// RTT-1, WireTimestamp (`cfg_stamps`): the same clock in whole steps of 128, less the word that the
// frame echoes, modulo 2^16: of a SACK when its packet was built and the service time, of a NACK
// when. However often the packet was sent; a frame without an echo is `unsure`. An answer to a
// probe gives its sample at once, and path_probe is not asked.
//
// Unit: a clock is 1 ns, a step of service time 128. Both ends are taken up to the next whole
// clock, and what is left is never less than nothing. A NACK has no service time.
//
// Which transmission drew a frame is known for a packet sent once, and for one sent twice whose
// frame has the retransmit flag: the second. Any other pair of count and flag is `unsure`, no
// sample. ack_take tells only of packets that were outstanding.
//
// A probe: ack_take tells of the answer, path_probe a few clocks later when the probe had left, if
// it was the last one on its value. ack_take has no other frame by then; of two events in one clock
// that of path_probe is taken. path_probe counts an end where egress_arbiter does, 3 clocks before
// the last beat is on the wire.
//
// Borders: a service time equal to the time that has passed, and a step more; clocks across the
// wrap of 48 bits; counts 1, 2, 3 and 255 with and without the flag.

`include "assert.svh"

module rtt_sample
  import nic_pkg::*;
(
  input logic clk_i,
  input logic rst_ni,

  // SACKs and NACKs for packets that were outstanding, and answers to probes, from ack_take
  input logic          timed_valid_i,
  input logic          timed_nack_i,
  input logic   [ 7:0] timed_sent_i,     // transmissions of the packet
  input logic   [47:0] timed_at_i,       // clock of the end of the last one
  input logic          probed_valid_i,
  input group_t        timed_group_i,
  input dest_t         timed_dest_i,
  input logic   [47:0] timed_arrived_i,  // clock in which the frame had arrived
  input logic          timed_rtx_i,      // its retransmit flag
  input logic          timed_stamped_i,  // it has an echo
  input logic   [15:0] timed_word_i,     // its service time, or what it echoes

  // Answers to the last probe on a value, from path_probe
  input logic        probe_valid_i,
  input logic [47:0] probe_at_i,     // clock of that one's end

  // Level, from csr: WireTimestamp
  input logic cfg_stamps_i,

  // Samples, and frames that have none, to the log
  output logic           sample_valid_o,
  output origin_e        sample_origin_o,
  output group_t         sample_group_o,
  output dest_t          sample_dest_o,
  output logic    [47:0] sample_rtt_o,     // ns
  output logic           unsure_valid_o
);

  // From the end of a frame in egress_arbiter to its last beat
  localparam logic [47:0] PORT_CLOCKS = 48'd3;

  ///////////////
  // Registers //
  ///////////////

  typedef struct {
    // The last answer to a probe
    group_t      group;
    dest_t       dest;
    logic [47:0] arrived;
    logic [15:0] word;
    // The last sample
    logic        sample_valid;
    origin_e     sample_origin;
    group_t      sample_group;
    dest_t       sample_dest;
    logic [47:0] sample_rtt;
    logic        unsure_valid;
  } regs_t;

  localparam regs_t RESET = '{sample_origin: OriginSack, default: '0};

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

  assign sample_valid_o  = regs_q.sample_valid;
  assign sample_origin_o = regs_q.sample_origin;
  assign sample_group_o  = regs_q.sample_group;
  assign sample_dest_o   = regs_q.sample_dest;
  assign sample_rtt_o    = regs_q.sample_rtt;
  assign unsure_valid_o  = regs_q.unsure_valid;

  ////////////////
  // Next state //
  ////////////////

  // From a clock to a later one, less steps of service time.
  function automatic logic [47:0] round_trip(logic [47:0] arrived, logic [47:0] ended,
                                             logic [15:0] service);
    logic [47:0] passed;
    logic [47:0] served;
    passed = arrived - ended;
    served = {25'd0, service, 7'd0};
    return passed > served ? passed - served : '0;
  endfunction

  logic [15:0] steps;  // from when what drew the frame was built
  assign steps = timed_arrived_i[22:7] - timed_word_i;

  logic sure;  // it is known which transmission drew the frame
  assign sure = timed_rtx_i ? timed_sent_i == 8'd2 : timed_sent_i == 8'd1;

  always_comb begin
    regs_d = regs_q;

    regs_d.sample_valid = probe_valid_i || timed_valid_i && sure;
    regs_d.unsure_valid = timed_valid_i && !probe_valid_i && !sure;
    if (cfg_stamps_i) begin
      regs_d.sample_valid = (timed_valid_i || probed_valid_i) && timed_stamped_i;
      regs_d.unsure_valid = (timed_valid_i || probed_valid_i) && !timed_stamped_i;
      if (timed_valid_i || probed_valid_i) begin
        regs_d.sample_origin = probed_valid_i ? OriginProbe
            : timed_nack_i ? OriginNack : OriginSack;
        regs_d.sample_group = timed_group_i;
        regs_d.sample_dest = timed_dest_i;
        regs_d.sample_rtt = {25'd0, steps, 7'd0};
      end
    end else if (probe_valid_i) begin
      regs_d.sample_origin = OriginProbe;
      regs_d.sample_group  = regs_q.group;
      regs_d.sample_dest   = regs_q.dest;
      regs_d.sample_rtt    = round_trip(regs_q.arrived, probe_at_i + PORT_CLOCKS, regs_q.word);
    end else if (timed_valid_i) begin
      regs_d.sample_origin = timed_nack_i ? OriginNack : OriginSack;
      regs_d.sample_group = timed_group_i;
      regs_d.sample_dest = timed_dest_i;
      regs_d.sample_rtt = round_trip(timed_arrived_i, timed_at_i, timed_nack_i ? '0 : timed_word_i);
    end

    if (probed_valid_i && !cfg_stamps_i) begin
      regs_d.group   = timed_group_i;
      regs_d.dest    = timed_dest_i;
      regs_d.arrived = timed_arrived_i;
      regs_d.word    = timed_word_i;
    end
  end

  //////////////
  // Contract //
  //////////////

  // A frame gives a sample, or none.
  `ASSERT(OneOutcome_A, !(sample_valid_o && unsure_valid_o))

  // Each frame is judged in the next clock.
  logic comes;  // a frame, or the end of a probe that it waits for
  assign comes = timed_valid_i || (cfg_stamps_i ? probed_valid_i : probe_valid_i);
  `ASSERT(Judged_A, comes |=> sample_valid_o || unsure_valid_o)

endmodule
