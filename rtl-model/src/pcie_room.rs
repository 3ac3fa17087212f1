//! The NIC's end of the PCIe link, receive side: counts what the receive buffer holds, and tells
//! the host what is free again.
//!
//! Twin of `hdl/pcie_room.sv`. PCI-4. Latency 1 clock from a beat that leaves the buffer to the room
//! that the host is told of; throughput 1 beat in and 1 out a clock.
//!
//! The beats stand in `rx_fifo`; this block sees them come and go. Room is counted in units of 16 B:
//! a header takes one, with the first beat of its TLP; payload its DWs, rounded up, beat by beat. As
//! all beats of a TLP but the last carry 32 DWs, that is the payload's DWs rounded up once. Both are
//! free when the beat has been taken by `tlp_parse`.
//!
//! The host takes room when a TLP begins on its link, which is earlier than here: so a host that
//! keeps to what it was told never needs more than `cfg_rx_hdr_buf` and `cfg_rx_data_buf`. A beat
//! that comes without room is told on `over_valid`, and kept as long as `rx_fifo` has a place for
//! it; one that `rx_fifo` has no place for is lost, told too, and not counted.
//!
//! Borders: room exactly enough, and one unit short; 0, 1, 4, 5, 31, 32 DWs a beat; more than 32,
//! which are 32; a beat that comes in the clock in which one goes.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::sizes::Sizes;

/// Bytes of a unit.
const UNIT: u32 = 16;
/// DWs of a unit.
const UNIT_DWS: u8 = 4;
/// DWs of a beat, at most.
const BEAT_DWS: u8 = 32;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Inputs {
    /// Bytes of header room, from `csr`.
    pub cfg_rx_hdr_buf: u32,
    /// Bytes of data room, from `csr`.
    pub cfg_rx_data_buf: u32,
    /// A beat comes from the host.
    pub in_valid: bool,
    /// `rx_fifo` has a place for it.
    pub in_ready: bool,
    /// The first beat of its TLP.
    pub in_sop: bool,
    /// DWs of payload in it.
    pub in_dws: u8,
    /// A beat waits for `tlp_parse`.
    pub out_valid: bool,
    /// It is taken.
    pub out_ready: bool,
    /// The first beat of its TLP.
    pub out_sop: bool,
    /// DWs of payload in it.
    pub out_dws: u8,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Outputs {
    /// Room is free again, to the host.
    pub freed_valid: bool,
    /// A header's.
    pub freed_hdr: bool,
    /// Units of payload.
    #[bits(4)]
    pub freed_data: u8,
    /// A beat came without room.
    pub over_valid: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Headers held.
    #[bits(13)]
    pub hdr_used: u16,
    /// Units of payload held.
    pub data_used: u16,
    /// Room is free again.
    pub freed_valid: bool,
    /// A header's.
    pub freed_hdr: bool,
    /// Units of payload.
    #[bits(4)]
    pub freed_data: u8,
    /// A beat came without room.
    pub over_valid: bool,
}

/// Units that a beat's payload takes.
fn units_of(dws: u8) -> u8 {
    dws.min(BEAT_DWS).div_ceil(UNIT_DWS)
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        o.freed_valid = self.freed_valid;
        o.freed_hdr = self.freed_hdr;
        o.freed_data = self.freed_data;
        o.over_valid = self.over_valid;
    }

    fn ready(&self, _i: &Inputs, _o: &mut Outputs) {}

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.over_valid = false;
        if i.in_valid {
            let headers = self.hdr_used + u16::from(i.in_sop);
            let data = self.data_used + u16::from(units_of(i.in_dws));
            let headers_over = u32::from(headers) > i.cfg_rx_hdr_buf / UNIT;
            let data_over = u32::from(data) > i.cfg_rx_data_buf / UNIT;
            self.over_valid = !i.in_ready || headers_over || data_over;
            if i.in_ready {
                self.hdr_used = headers;
                self.data_used = data;
            }
        }
        self.freed_valid = i.out_valid && i.out_ready;
        if self.freed_valid {
            self.freed_hdr = i.out_sop;
            self.freed_data = units_of(i.out_dws);
            self.hdr_used -= u16::from(i.out_sop);
            self.data_used -= u16::from(self.freed_data);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let moves = i.in_valid || i.out_valid && i.out_ready;
        !(moves || self.freed_valid || self.over_valid)
    }
}
