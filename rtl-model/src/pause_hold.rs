//! Pause hold: which traffic classes the switch has paused, and until when.
//!
//! Twin of `hdl/pause_hold.sv`. A frame of clock n acts on `paused` in n + 1. Throughput 1 frame
//! per clock.
//!
//! PFC-4: a class that a frame names is held for 512 bit times a quantum and the link's Delay,
//! whatever this NIC itself may send; a fresh frame restarts the time in full; quanta 0, or the
//! end, resumes. The frame that is being sent ends whole: that is `egress_arbiter`'s.
//!
//! A quantum is 512,000 units and a clock drains `cfg_wire_rate` of them; the pause of a frame of
//! clock n holds the choices from n + 1 on, up to the first clock at or after its exact end.
//!
//! Borders: a clear bit of the vector leaves its class alone, whatever its time says; quanta 0
//! without a pause changes nothing; a time whose units are a multiple of the rate; a frame in the
//! clock in which the time before it ends.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::host_interface::CLASSES;
use crate::image::Wide;
use crate::sizes::Sizes;
use crate::types::BYTE_UNITS;

/// Units of a quantum: 512 bit times.
pub const QUANTUM_UNITS: u64 = 64 * BYTE_UNITS;
/// Bits of a time.
const TIME_MASK: u64 = (1 << 45) - 1;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `packet_parse`: a PFC frame has arrived.
    pub pfc_valid: bool,
    /// The classes that it names.
    pub pfc_classes: u8,
    /// What it asks for each, 16 bits a class.
    pub pfc_quanta: Wide<2>,
    /// From `csr`: units a clock.
    #[bits(20)]
    pub cfg_wire_rate: u32,
    /// From `csr`: the link's Delay, clocks.
    #[bits(24)]
    pub cfg_pfc_delay: u32,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `egress_arbiter`: the classes held.
    pub paused: u8,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// The classes held.
    pub paused: u8,
    /// Units of each pause left at the start of this clock.
    #[bits(45)]
    pub left: [u64; CLASSES],
}

/// The quanta of a class in a frame's times.
pub fn quanta_of(times: &Wide<2>, class: usize) -> u16 {
    (times.0[class / 4] >> (16 * (class % 4))) as u16
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_: &Sizes) -> Self {
        Self { paused: 0, left: [0; CLASSES] }
    }

    fn drive(&self, o: &mut Outputs) {
        o.paused = self.paused;
    }

    fn clock(&mut self, i: &Inputs, _: &Outputs) {
        let rate = u64::from(i.cfg_wire_rate);
        for class in 0..CLASSES {
            if i.pfc_valid && i.pfc_classes >> class & 1 == 1 {
                let quanta = quanta_of(&i.pfc_quanta, class);
                self.hold(class, quanta != 0);
                let delay = u64::from(i.cfg_pfc_delay) * rate;
                self.left[class] = (u64::from(quanta) * QUANTUM_UNITS + delay) & TIME_MASK;
            } else if self.paused >> class & 1 == 1 {
                self.hold(class, self.left[class] > rate);
                self.left[class] = self.left[class].wrapping_sub(rate) & TIME_MASK;
            }
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        self.paused == 0 && !i.pfc_valid
    }
}

impl Regs {
    fn hold(&mut self, class: usize, on: bool) {
        self.paused = self.paused & !(1 << class) | u8::from(on) << class;
    }
}
