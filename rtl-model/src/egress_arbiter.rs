//! Egress arbiter: which frame the port sends next, when it ends, and what the egress pools hold.
//!
//! Twin of `hdl/egress_arbiter.sv`. A frame taken in clock n starts with `tx_valid` in n + 1, at
//! the start of that clock or, behind another frame, at that one's exact end. Throughput 1 frame
//! per clock, bound by the link.
//!
//! ARB-1, ARB-2: control before data (`StrictPriority`). PKT-2, section 2: exact pacing. BUF-1,
//! BUF-3: pools of classes 0 (data) and 1 (control), reserved by others, released at a frame's end.
//!
//! A byte is 8,000 units and a clock drains `cfg_wire_rate` of them. A frame with `left` units at
//! the start of a clock ends in it if left ≤ rate; `end_valid` comes in the next clock and the
//! exact end is `end_back` units before that clock's start. A frame that waits meanwhile starts
//! there; when none waits the remainder is dropped.
//!
//! Borders and choices:
//! - left equal to the rate ends in the clock, with back 0.
//! - The release shows in `egress_free` or `ctl_free`, and `half_valid`, with `end_valid`.
//! - Section 16: of one clock's events the release comes first, so a reservation in the same clock
//!   does not count against half. `half_valid`: a data release leaves 2 × occupancy ≤ pool.
//! - A frame that costs less than the remainder before it starts with 0 units; none does at
//!   400 Gbps.
//! - Free bytes are registers: one clock behind a change of a pool's size, 0 where it holds more.
//! - `cfg_sched` and the weights have no effect yet: every setting is `StrictPriority`.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::sizes::Sizes;
use crate::types::{BYTE_UNITS, Frame};

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From the data queue.
    pub dat_valid: bool,
    /// Its first frame.
    pub dat: Frame,
    /// From the control queue.
    pub ctl_valid: bool,
    /// Its first frame.
    pub ctl: Frame,
    /// From `tx_scheduler`: a reservation of class 0.
    pub resv_valid: bool,
    /// Its bytes.
    #[bits(14)]
    pub resv_bytes: u16,
    /// From `ack_build`: a reservation of class 1.
    pub cresv_valid: bool,
    /// Its bytes.
    #[bits(14)]
    pub cresv_bytes: u16,
    /// From `qp_drain`: a reservation of class 0 is given back.
    pub unresv_valid: bool,
    /// Its bytes.
    #[bits(14)]
    pub unresv_bytes: u16,
    /// From `csr`: units a clock.
    #[bits(20)]
    pub cfg_wire_rate: u32,
    /// From `csr`: bytes of class 0's pool.
    pub cfg_egress_pool0: u32,
    /// From `csr`: bytes of class 1's pool.
    pub cfg_egress_pool1: u32,
    /// From `csr`: without effect yet.
    #[bits(2)]
    pub cfg_sched: u8,
    /// From `csr`: without effect yet.
    pub cfg_weight0: u8,
    /// From `csr`: without effect yet.
    pub cfg_weight1: u8,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To the data queue.
    pub dat_ready: bool,
    /// To the control queue.
    pub ctl_ready: bool,
    /// To `port_tx`: a frame starts.
    pub tx_valid: bool,
    /// The frame.
    pub tx: Frame,
    /// It is of class 1.
    pub tx_ctl: bool,
    /// To `port_tx`: a frame has ended.
    pub end_valid: bool,
    /// Units from its exact end to the start of this clock.
    #[bits(20)]
    pub end_back: u32,
    /// Its bytes on the wire.
    #[bits(14)]
    pub end_len: u16,
    /// It is a data packet.
    pub end_data: bool,
    /// Its replay slot.
    #[bits(10)]
    pub end_slot: u16,
    /// It is of class 1.
    pub end_ctl: bool,
    /// To `tx_scheduler`: bytes free of class 0's pool.
    pub egress_free: u32,
    /// To `ack_build`: bytes free of class 1's pool.
    pub ctl_free: u32,
    /// To `tx_scheduler`: a release has left class 0's pool at most half full.
    pub half_valid: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// `tx` is being serialised.
    pub busy: bool,
    /// Units of it left at the start of this clock.
    #[bits(27)]
    pub left: u32,
    /// `tx` starts.
    pub tx_valid: bool,
    /// The last frame granted.
    pub tx: Frame,
    /// It is of class 1.
    pub tx_ctl: bool,
    /// A frame has ended.
    pub end_valid: bool,
    /// Units from its exact end to the start of this clock.
    #[bits(20)]
    pub end_back: u32,
    /// Its bytes.
    #[bits(14)]
    pub end_len: u16,
    /// It was a data packet.
    pub end_data: bool,
    /// Its replay slot.
    #[bits(10)]
    pub end_slot: u16,
    /// It was of class 1.
    pub end_ctl: bool,
    /// Its release left class 0's pool at most half full.
    pub half: bool,
    /// Bytes reserved of class 0's pool.
    pub occ0: u32,
    /// Bytes reserved of class 1's pool.
    pub occ1: u32,
    /// The rest of class 0's pool.
    pub egress_free: u32,
    /// The rest of class 1's pool.
    pub ctl_free: u32,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_: &Sizes) -> Self {
        Self {
            busy: false,
            left: 0,
            tx_valid: false,
            tx: Frame::default(),
            tx_ctl: false,
            end_valid: false,
            end_back: 0,
            end_len: 0,
            end_data: false,
            end_slot: 0,
            end_ctl: false,
            half: false,
            occ0: 0,
            occ1: 0,
            egress_free: 0,
            ctl_free: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.tx_valid = self.tx_valid;
        o.tx = self.tx;
        o.tx_ctl = self.tx_ctl;
        o.end_valid = self.end_valid;
        o.end_back = self.end_back;
        o.end_len = self.end_len;
        o.end_data = self.end_data;
        o.end_slot = self.end_slot;
        o.end_ctl = self.end_ctl;
        o.egress_free = self.egress_free;
        o.ctl_free = self.ctl_free;
        o.half_valid = self.half;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.ctl_ready = !self.busy || self.left <= i.cfg_wire_rate;
        o.dat_ready = o.ctl_ready && !i.ctl_valid;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        self.end_valid = false;
        self.half = false;
        self.tx_valid = false;

        if i.unresv_valid {
            self.release(u32::from(i.unresv_bytes), i.cfg_egress_pool0);
        }
        // What is left of this clock for the next frame.
        let mut spare = 0;
        if self.busy {
            if let Some(back) = i.cfg_wire_rate.checked_sub(self.left) {
                spare = back;
                self.end(back, i.cfg_egress_pool0);
            } else {
                self.left -= i.cfg_wire_rate;
            }
        }

        if i.ctl_valid && o.ctl_ready {
            self.start(&i.ctl, true, spare);
        } else if i.dat_valid && o.dat_ready {
            self.start(&i.dat, false, spare);
        }

        if i.resv_valid {
            self.occ0 = self.occ0.wrapping_add(u32::from(i.resv_bytes));
        }
        if i.cresv_valid {
            self.occ1 = self.occ1.wrapping_add(u32::from(i.cresv_bytes));
        }
        self.egress_free = i.cfg_egress_pool0.saturating_sub(self.occ0);
        self.ctl_free = i.cfg_egress_pool1.saturating_sub(self.occ1);
    }

    fn idle(&self, i: &Inputs) -> bool {
        let output = self.busy || self.tx_valid || self.end_valid || self.half;
        let reserves = i.resv_valid || i.cresv_valid || i.unresv_valid;
        let input = i.dat_valid || i.ctl_valid || reserves;
        !output
            && !input
            && self.egress_free == i.cfg_egress_pool0.saturating_sub(self.occ0)
            && self.ctl_free == i.cfg_egress_pool1.saturating_sub(self.occ1)
    }
}

impl Regs {
    /// The frame being sent ends, `back` units before the end of this clock (PKT-2, BUF-3).
    fn end(&mut self, back: u32, pool0: u32) {
        self.busy = false;
        self.end_valid = true;
        self.end_back = back;
        self.end_len = self.tx.len;
        self.end_data = self.tx.data;
        self.end_slot = self.tx.slot;
        self.end_ctl = self.tx_ctl;
        let len = u32::from(self.tx.len);
        if self.tx_ctl {
            self.occ1 = self.occ1.wrapping_sub(len);
        } else {
            self.release(len, pool0);
        }
    }

    /// Class 0 gives bytes back.
    fn release(&mut self, bytes: u32, pool0: u32) {
        self.occ0 = self.occ0.wrapping_sub(bytes);
        self.half = 2 * u64::from(self.occ0) <= u64::from(pool0);
    }

    /// A frame starts `spare` units before the end of this clock.
    fn start(&mut self, frame: &Frame, ctl: bool, spare: u32) {
        self.busy = true;
        self.left = (u32::from(frame.len) * BYTE_UNITS as u32).saturating_sub(spare);
        self.tx_valid = true;
        self.tx = *frame;
        self.tx_ctl = ctl;
    }
}
