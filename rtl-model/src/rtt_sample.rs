//! RTT sample: round-trip times from what comes back for a packet or a probe.
//!
//! Twin of `hdl/rtt_sample.sv`. RTT-1, `LocalDatabase`: the clock in which the frame had arrived,
//! less the one in which the serialisation of what drew it ended, less the service time that it
//! reports. Latency 1 clock, a sample a clock.
//!
//! RTT-1, `WireTimestamp` (`cfg_stamps`): the same clock in whole steps of 128, less the word that the
//! frame echoes, modulo 2^16: of a SACK when its packet was built and the service time, of a NACK
//! when. However often the packet was sent; a frame without an echo is `unsure`. An answer to a probe
//! gives its sample at once, and `path_probe` is not asked.
//!
//! Unit: a clock is 1 ns, a step of service time 128. Both ends are taken up to the next whole
//! clock, and what is left is never less than nothing. A NACK has no service time.
//!
//! Which transmission drew a frame is known for a packet sent once, and for one sent twice whose
//! frame has the retransmit flag: the second. Any other pair of count and flag is `unsure`, no
//! sample. `ack_take` tells only of packets that were outstanding.
//!
//! A probe: `ack_take` tells of the answer, `path_probe` a few clocks later when the probe had left,
//! if it was the last one on its value. `ack_take` has no other frame by then; of two events in
//! one clock that of `path_probe` is taken. `path_probe` counts an end where `egress_arbiter` does,
//! 3 clocks before the last beat is on the wire.
//!
//! Borders: a service time equal to the time that has passed, and a step more; clocks across the
//! wrap of 48 bits; counts 1, 2, 3 and 255 with and without the flag.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::sizes::Sizes;

/// Bits of a clock count.
const CLOCK_MASK: u64 = (1 << 48) - 1;
/// A step of service time, or of a time stamp, is 2 to this many clocks.
pub const STEP_BITS: u32 = 7;

/// From the end of a frame in `egress_arbiter` to its last beat.
const PORT_CLOCKS: u64 = 3;

/// What a sample comes from.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    ImageEnum,
    Serialize,
    Deserialize,
)]
#[bits(2)]
pub enum Origin {
    /// A SACK.
    #[default]
    Sack = 0,
    /// A NACK.
    Nack = 1,
    /// The answer to a probe.
    Probe = 2,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ack_take`: a SACK or a NACK for a packet that was outstanding.
    pub timed_valid: bool,
    /// It is a NACK.
    pub timed_nack: bool,
    /// How often the packet was sent.
    pub timed_sent: u8,
    /// The clock in which the last time ended.
    #[bits(48)]
    pub timed_at: u64,
    /// From `ack_take`: an answer to a probe.
    pub probed_valid: bool,
    /// With either: the QP's group.
    pub timed_group: u8,
    /// Its destination.
    #[bits(6)]
    pub timed_dest: u8,
    /// The clock in which the frame had arrived.
    #[bits(48)]
    pub timed_arrived: u64,
    /// Its retransmit flag.
    pub timed_rtx: bool,
    /// It has an echo.
    pub timed_stamped: bool,
    /// Its service time, or what it echoes.
    pub timed_word: u16,
    /// From `path_probe`: the answer was to the last probe on its value.
    pub probe_valid: bool,
    /// The clock in which that one's serialisation ended.
    #[bits(48)]
    pub probe_at: u64,
    /// From `csr`: `RTTTimestampMode` is `WireTimestamp`.
    pub cfg_stamps: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// Event: a sample.
    pub sample_valid: bool,
    /// What it comes from.
    pub sample_origin: Origin,
    /// The group.
    pub sample_group: u8,
    /// The destination.
    #[bits(6)]
    pub sample_dest: u8,
    /// Nanoseconds.
    #[bits(48)]
    pub sample_rtt: u64,
    /// Event: none, because it is not known which transmission drew the frame.
    pub unsure_valid: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// An answer to a probe: its QP's group.
    pub group: u8,
    /// Its destination.
    #[bits(6)]
    pub dest: u8,
    /// When it had arrived.
    #[bits(48)]
    pub arrived: u64,
    /// Its service time.
    pub word: u16,
    /// Event.
    pub sample_valid: bool,
    /// What the last sample comes from.
    pub sample_origin: Origin,
    /// Its group.
    pub sample_group: u8,
    /// Its destination.
    #[bits(6)]
    pub sample_dest: u8,
    /// Nanoseconds.
    #[bits(48)]
    pub sample_rtt: u64,
    /// Event.
    pub unsure_valid: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            sample_valid: self.sample_valid,
            sample_origin: self.sample_origin,
            sample_group: self.sample_group,
            sample_dest: self.sample_dest,
            sample_rtt: self.sample_rtt,
            unsure_valid: self.unsure_valid,
        };
    }

    fn clock(&mut self, i: &Inputs, _: &Outputs) {
        if i.cfg_stamps {
            self.by_the_echo(i);
            return;
        }
        let sure = i.timed_sent == 1 && !i.timed_rtx || i.timed_sent == 2 && i.timed_rtx;
        self.sample_valid = i.probe_valid || i.timed_valid && sure;
        self.unsure_valid = i.timed_valid && !i.probe_valid && !sure;
        if i.probe_valid {
            self.sample_origin = Origin::Probe;
            (self.sample_group, self.sample_dest) = (self.group, self.dest);
            self.sample_rtt = round_trip(self.arrived, i.probe_at + PORT_CLOCKS, self.word);
        } else if i.timed_valid {
            let word = if i.timed_nack { 0 } else { i.timed_word };
            self.sample_origin = if i.timed_nack { Origin::Nack } else { Origin::Sack };
            (self.sample_group, self.sample_dest) = (i.timed_group, i.timed_dest);
            self.sample_rtt = round_trip(i.timed_arrived, i.timed_at, word);
        }
        if i.probed_valid {
            (self.group, self.dest) = (i.timed_group, i.timed_dest);
            (self.arrived, self.word) = (i.timed_arrived, i.timed_word);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let events = self.sample_valid || self.unsure_valid;
        !(events || i.timed_valid || i.probed_valid || i.probe_valid)
    }
}

impl Regs {
    /// `WireTimestamp`: the frame says when what drew it was built.
    fn by_the_echo(&mut self, i: &Inputs) {
        let comes = i.timed_valid || i.probed_valid;
        self.sample_valid = comes && i.timed_stamped;
        self.unsure_valid = comes && !i.timed_stamped;
        if comes {
            self.sample_origin = match (i.probed_valid, i.timed_nack) {
                (true, _) => Origin::Probe,
                (false, true) => Origin::Nack,
                (false, false) => Origin::Sack,
            };
            (self.sample_group, self.sample_dest) = (i.timed_group, i.timed_dest);
            let steps = ((i.timed_arrived >> STEP_BITS) as u16).wrapping_sub(i.timed_word);
            self.sample_rtt = u64::from(steps) << STEP_BITS;
        }
    }
}

/// From a clock to a later one, less steps of service time.
fn round_trip(arrived: u64, ended: u64, service: u16) -> u64 {
    let passed = arrived.wrapping_sub(ended) & CLOCK_MASK;
    passed.saturating_sub(u64::from(service) << STEP_BITS)
}
