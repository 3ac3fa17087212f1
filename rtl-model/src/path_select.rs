//! Entropy values: each packet to a destination leaves on the next of 128 UDP source ports.
//!
//! Twin of `hdl/path_select.sv`. Latency 1 clock, throughput 1 request a clock, data before
//! acknowledgements; a request whose answer is given keeps nothing here.
//!
//! PTH-1, the spraying: port = 256 + (step mod 128), one counter a destination, shared by data
//! and acknowledgements, outliving groups. Section 16: port choice comes last in a clock, so a
//! request sees every step taken in earlier clocks.
//!
//! Borders: step 127 wraps to port 256; both requesters in one clock; one destination or several.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::sizes::Sizes;

/// First of the ports that are sprayed over.
pub const FIRST_PORT: u16 = 256;
/// How many there are.
pub const PORTS: u8 = 128;

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `packet_build`.
    pub data_valid: bool,
    /// From `packet_build`.
    #[bits(6)]
    pub data_dest: u8,
    /// From `ack_build`.
    pub ack_valid: bool,
    /// From `ack_build`.
    #[bits(6)]
    pub ack_dest: u8,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `packet_build`.
    pub data_ready: bool,
    /// To `packet_build`.
    pub data_rsp_valid: bool,
    /// To `packet_build`.
    pub data_rsp_port: u16,
    /// To `ack_build`.
    pub ack_ready: bool,
    /// To `ack_build`.
    pub ack_rsp_valid: bool,
    /// To `ack_build`.
    pub ack_rsp_port: u16,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Step of each destination, modulo 128.
    #[bits(7)]
    pub step: Vec<u8>,
    /// `data_rsp_port` is an answer.
    pub data_rsp_valid: bool,
    /// The last port given to data.
    pub data_rsp_port: u16,
    /// `ack_rsp_port` is an answer.
    pub ack_rsp_valid: bool,
    /// The last port given to an acknowledgement.
    pub ack_rsp_port: u16,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            step: vec![0; sizes.dests as usize],
            data_rsp_valid: false,
            data_rsp_port: 0,
            ack_rsp_valid: false,
            ack_rsp_port: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.data_rsp_valid = self.data_rsp_valid;
        o.data_rsp_port = self.data_rsp_port;
        o.ack_rsp_valid = self.ack_rsp_valid;
        o.ack_rsp_port = self.ack_rsp_port;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.data_ready = true;
        o.ack_ready = !i.data_valid;
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.data_rsp_valid = false;
        self.ack_rsp_valid = false;
        if i.data_valid {
            self.data_rsp_valid = true;
            self.data_rsp_port = self.step_to(i.data_dest);
        } else if i.ack_valid {
            self.ack_rsp_valid = true;
            self.ack_rsp_port = self.step_to(i.ack_dest);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        !(i.data_valid || i.ack_valid || self.data_rsp_valid || self.ack_rsp_valid)
    }
}

impl Regs {
    /// The destination's next port.
    fn step_to(&mut self, dest: u8) -> u16 {
        let at = usize::from(dest) & (self.step.len() - 1);
        let step = &mut self.step[at];
        let port = FIRST_PORT + u16::from(*step);
        *step = (*step + 1) % PORTS;
        port
    }
}
