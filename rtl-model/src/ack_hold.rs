//! ACK hold: what an answer says of this NIC's backlog, and how long it waits for it.
//!
//! Twin of `hdl/ack_hold.sv`. An answer of clock n is in `answer_fifo`'s port in n + 1; one that a
//! FIFO shows in clock n, and need not wait, is at `ack_build` in n + 1. Throughput 1 a clock.
//! SACK-6: service time and penalty are fixed in the clock in which `rx_track` hands the answer
//! over, and so are its backlogs.
//!
//! BUF-6: the penalty is 0 where the data pool holds less than `cfg_penalty_low`, 127 from
//! `cfg_penalty_high` on, between them floor((held − low) × 127 ÷ (high − low)).
//!
//! BUF-7 (`cfg_ack_hold`, uet): an answer without a NACK waits for the bytes of its backlog at the
//! rate of this end of the PCIe link: it is at `ack_build` in the first clock n at which
//! (n − its clock) × rate ≥ bytes × 8,000, or behind the answer before it. Its SACK reports that
//! time. Its backlog is what the data pool holds, at least the packet's own charge.
//!
//! RTT-2 (else): nothing waits. A SACK reports the time at the wire's rate of its packet and the
//! bytes of control frames ahead of it: handed over and not yet started.
//! Times are floored to 128 ns and are 65,535 of those at most.
//!
//! Borders and choices:
//! - held of exactly low: 0; of exactly high: 127; one less: 126. low ≥ high: nothing between.
//! - A packet that is charged no more (a duplicate) is not in the pool; its charge counts only
//!   where the pool holds less.
//! - NACKs are not held: beside answers that are, they have a FIFO of their own and go first.
//! - The clock that stamps answers runs while some wait, so that the block can sleep.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::header::{ACK_BYTES, ICRC_BYTES, NACK_BYTES, SACK_BYTES};
use crate::sizes::Sizes;
use crate::types::{Answer, BYTE_UNITS, Nack, Reply};

/// The class of control frames (PKT-4).
const CONTROL_CLS: u8 = 1;
/// The penalty's largest value (BUF-6).
const PENALTY_MOST: u8 = 127;
/// Bits of a time stamp.
const TIME_MASK: u64 = (1 << 40) - 1;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `rx_track`.
    pub in_valid: bool,
    /// From `rx_track`.
    pub r#in: Answer,
    /// From `answer_fifo`.
    pub held_ready: bool,
    /// From `nack_fifo`.
    pub nack_ready: bool,
    /// From `answer_fifo`: it holds an answer.
    pub head_valid: bool,
    /// The oldest one.
    pub head: Reply,
    /// From `nack_fifo`: it holds an answer.
    pub nhead_valid: bool,
    /// The oldest one.
    pub nhead: Reply,
    /// From `ack_build`.
    pub out_ready: bool,
    /// From `ingress_pool`: bytes of the data pool.
    pub occ: u32,
    /// From `egress_arbiter`: a frame starts.
    pub tx_valid: bool,
    /// Its class.
    #[bits(4)]
    pub tx_cls: u8,
    /// Its bytes.
    #[bits(14)]
    pub tx_len: u16,
    /// Level: units a clock on the wire.
    #[bits(20)]
    pub cfg_wire_rate: u32,
    /// Level: units a clock from NIC to host.
    #[bits(20)]
    pub cfg_pcie_rate: u32,
    /// Level: bytes of a frame that the pool does not charge.
    #[bits(5)]
    pub cfg_charge_less: u8,
    /// Level: zero bytes after AETH.
    #[bits(5)]
    pub cfg_ack_extra: u8,
    /// Level: `ICRCEnable`.
    pub cfg_icrc: bool,
    /// Level: bytes from which the penalty starts.
    pub cfg_penalty_low: u32,
    /// Level: bytes from which it is whole.
    pub cfg_penalty_high: u32,
    /// Level: answers wait for the backlog.
    pub cfg_ack_hold: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `rx_track`.
    pub in_ready: bool,
    /// To `answer_fifo`.
    pub held_valid: bool,
    /// To `nack_fifo`.
    pub nack_valid: bool,
    /// To either.
    pub stamped: Reply,
    /// To `answer_fifo`.
    pub head_ready: bool,
    /// To `nack_fifo`.
    pub nhead_ready: bool,
    /// To `ack_build`.
    pub out_valid: bool,
    /// To `ack_build`.
    pub out: Reply,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// `stamped` waits for `answer_fifo`.
    pub held_valid: bool,
    /// `stamped` waits for `nack_fifo`.
    pub nack_valid: bool,
    /// For either.
    pub stamped: Reply,
    /// `out` waits for `ack_build`.
    pub out_valid: bool,
    /// To `ack_build`.
    pub out: Reply,
    /// Clocks in which answers waited.
    #[bits(40)]
    pub now: u64,
    /// Answers stamped, and not yet at `ack_build`.
    #[bits(12)]
    pub waiting: u16,
    /// Bytes of control frames handed over and not yet started.
    pub ahead: u32,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self {
            held_valid: false,
            nack_valid: false,
            stamped: Reply::default(),
            out_valid: false,
            out: Reply::default(),
            now: 0,
            waiting: 0,
            ahead: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.held_valid = self.held_valid;
        o.nack_valid = self.nack_valid;
        o.stamped = self.stamped;
        o.out_valid = self.out_valid;
        o.out = self.out;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let open = !self.out_valid || i.out_ready;
        o.in_ready = (!self.held_valid || i.held_ready) && (!self.nack_valid || i.nack_ready);
        o.nhead_ready = open;
        o.head_ready = open && !i.nhead_valid && self.due(i);
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let comes = i.in_valid && o.in_ready;
        let nack_goes = i.nhead_valid && o.nhead_ready;
        let goes = nack_goes || i.head_valid && o.head_ready;
        let stamped = comes.then(|| self.stamp(i));

        self.held_valid &= !i.held_ready;
        self.nack_valid &= !i.nack_ready;
        self.out_valid &= !i.out_ready;
        if comes || self.waiting > 0 {
            self.now = (self.now + 1) & TIME_MASK;
        }
        if let Some(stamped) = stamped {
            let beside = i.cfg_ack_hold && i.r#in.nack != Nack::None;
            (self.held_valid, self.nack_valid) = (!beside, beside);
            self.stamped = stamped;
            self.ahead = self.ahead.wrapping_add(frames(i));
        }
        if goes {
            self.out_valid = true;
            self.out = if nack_goes { i.nhead } else { i.head };
        }
        self.waiting =
            self.waiting.wrapping_add(u16::from(comes)).wrapping_sub(u16::from(goes)) & 0xfff;
        if i.tx_valid && i.tx_cls == CONTROL_CLS {
            self.ahead = self.ahead.wrapping_sub(u32::from(i.tx_len));
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let leaves = self.held_valid && i.held_ready
            || self.nack_valid && i.nack_ready
            || self.out_valid && i.out_ready;
        let starts = i.tx_valid && i.tx_cls == CONTROL_CLS;
        !i.in_valid && !i.head_valid && !i.nhead_valid && self.waiting == 0 && !leaves && !starts
    }
}

impl Regs {
    /// The oldest answer need not wait, from the next clock on.
    fn due(&self, i: &Inputs) -> bool {
        let passed = (self.now + 1).wrapping_sub(i.head.since) & TIME_MASK;
        let units = u128::from(passed) * u128::from(i.cfg_pcie_rate);
        units & ((1 << 60) - 1) >= u128::from(i.head.bytes) * u128::from(BYTE_UNITS)
    }

    /// An answer with what it says of the backlog.
    fn stamp(&self, i: &Inputs) -> Reply {
        let size = u32::from(i.r#in.size);
        let backlog = if i.cfg_ack_hold {
            i.occ.max(size.wrapping_sub(u32::from(i.cfg_charge_less)))
        } else {
            size.wrapping_add(self.ahead)
        };
        let held = i.cfg_ack_hold && i.r#in.nack == Nack::None;
        Reply {
            answer: i.r#in,
            service: service(
                backlog,
                if i.cfg_ack_hold { i.cfg_pcie_rate } else { i.cfg_wire_rate },
            ),
            penalty: penalty(i.occ, i.cfg_penalty_low, i.cfg_penalty_high),
            bytes: if held { backlog } else { 0 },
            since: self.now,
        }
    }
}

/// The time that bytes take, in whole steps of 128 ns: bytes × 8,000 ÷ rate ns.
fn service(bytes: u32, rate: u32) -> u16 {
    let parts = (u64::from(bytes) * 125) & TIME_MASK;
    let steps = parts.checked_div(2 * u64::from(rate)).unwrap_or(TIME_MASK);
    steps.min(0xffff) as u16
}

/// BUF-6.
fn penalty(held: u32, low: u32, high: u32) -> u8 {
    if held < low {
        0
    } else if held >= high {
        PENALTY_MOST
    } else {
        (u64::from(held - low) * u64::from(PENALTY_MOST) / u64::from(high - low)) as u8
    }
}

/// What an answer's frames take on the wire.
fn frames(i: &Inputs) -> u32 {
    let icrc = if i.cfg_icrc { ICRC_BYTES } else { 0 };
    let first = match (i.r#in.nack, i.r#in.sack) {
        (Nack::None, false) => 0,
        (Nack::None, true) => SACK_BYTES + icrc,
        _ => NACK_BYTES + icrc,
    };
    let second = ACK_BYTES + u16::from(i.cfg_ack_extra) + icrc;
    u32::from(first) + if i.r#in.ack { u32::from(second) } else { 0 }
}
