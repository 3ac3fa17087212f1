//! Egress arbiter: which frame the port sends next, when it ends, and what the egress pools hold.
//!
//! Twin of `hdl/egress_arbiter.sv`. A frame taken in clock n starts with `tx_valid` in n + 1, at
//! the start of that clock or, behind another frame, at that one's exact end. Throughput 1 frame
//! per clock, bound by the link.
//!
//! ARB-1: PFC's frames first, never paused, then a class with a frame that is not paused. ARB-2:
//! by `StrictPriority`, `RoundRobin` or `WeightedRoundRobin`. PKT-2, section 2: exact pacing.
//! BUF-1, BUF-3: a pool a class, reserved by others, released at a frame's end; PFC has none.
//!
//! A byte is 8,000 units and a clock drains `cfg_wire_rate` of them. A frame with `left` units at
//! the start of a clock ends in it if left ≤ rate; `end_valid` comes in the next clock and the
//! exact end is `end_back` units before that clock's start. A frame that waits meanwhile starts
//! there; when none waits the remainder is dropped.
//!
//! Borders and choices:
//! - left equal to the rate ends in the clock, with back 0.
//! - The release shows in `egress_free`, `ctl_free`, `occ` and `half_valid` with `end_valid`.
//! - Section 16: of one clock's events the release comes first, so a reservation in the same clock
//!   does not count against half. `half_valid`: data releases leave 2 × occupancy ≤ pool.
//! - A frame that costs less than the remainder before it starts with 0 units; none does at
//!   400 Gbps.
//! - Free bytes are registers: one clock behind a change of a pool's size, 0 where it holds more.
//! - Every setting may change at any time and acts on the next choice. Turns and what is left of a
//!   weight stay while the port idles, other disciplines serve, or nobody may send; what is left is
//!   never more than the weight is now. The first turn is the highest class's that has a pool.
//! - `RoundRobin` goes on behind the class served last, by whichever discipline; class 0 first.
//! - `WeightedRoundRobin` passes over a class whose weight is 0. Discipline 3 is `StrictPriority`.
//! - In the NIC classes 0 (data) and 1 (control) have queues (PKT-4).

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::host_interface::CLASSES;
use crate::image::Wide;
use crate::sizes::Sizes;
use crate::types::{BYTE_UNITS, Frame};

/// The class of a PFC frame.
const PFC_CLS: u8 = 8;
/// Discipline: `RoundRobin`.
const ROUND_ROBIN: u8 = 1;
/// Discipline: `WeightedRoundRobin`.
const WEIGHTED: u8 = 2;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `pause_send`.
    pub pfc_valid: bool,
    /// Its frame.
    pub pfc: Frame,
    /// From the class queues, a bit a class.
    pub cls_valid: u8,
    /// The first frame of each.
    pub cls0: Frame,
    /// Of class 1.
    pub cls1: Frame,
    /// Of class 2.
    pub cls2: Frame,
    /// Of class 3.
    pub cls3: Frame,
    /// Of class 4.
    pub cls4: Frame,
    /// Of class 5.
    pub cls5: Frame,
    /// Of class 6.
    pub cls6: Frame,
    /// Of class 7.
    pub cls7: Frame,
    /// From `pause_hold`: classes held.
    pub paused: u8,
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
    /// A reservation of any class.
    pub oresv_valid: bool,
    /// The class.
    #[bits(3)]
    pub oresv_cls: u8,
    /// Its bytes.
    #[bits(14)]
    pub oresv_bytes: u16,
    /// From `qp_drain`: a reservation of class 0 is given back.
    pub unresv_valid: bool,
    /// Its bytes.
    #[bits(14)]
    pub unresv_bytes: u16,
    /// From `csr`: units a clock.
    #[bits(20)]
    pub cfg_wire_rate: u32,
    /// From `csr`: bytes of each class's pool.
    pub cfg_egress_pool: Wide<4>,
    /// From `csr`: the discipline.
    #[bits(2)]
    pub cfg_sched: u8,
    /// From `csr`: packets in a turn of each class.
    pub cfg_weights: u64,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `pause_send`.
    pub pfc_ready: bool,
    /// To the class queues, a bit a class.
    pub cls_ready: u8,
    /// To `port_tx`: a frame starts.
    pub tx_valid: bool,
    /// The frame.
    pub tx: Frame,
    /// Its class; 8 is PFC.
    #[bits(4)]
    pub tx_cls: u8,
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
    /// Its class; 8 is PFC.
    #[bits(4)]
    pub end_cls: u8,
    /// To `tx_scheduler`: bytes free of class 0's pool.
    pub egress_free: u32,
    /// To `ack_build`: bytes free of class 1's pool.
    pub ctl_free: u32,
    /// To `tx_scheduler`: a release has left class 0's pool at most half full.
    pub half_valid: bool,
    /// Bytes reserved of each class.
    pub occ: Wide<4>,
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
    /// Its class; 8 is PFC.
    #[bits(4)]
    pub tx_cls: u8,
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
    /// Its class.
    #[bits(4)]
    pub end_cls: u8,
    /// Its release left class 0's pool at most half full.
    pub half: bool,
    /// Bytes reserved of each class's pool.
    pub occ: [u32; CLASSES],
    /// The rest of each.
    pub free: [u32; CLASSES],
    /// The class served last.
    #[bits(3)]
    pub last: u8,
    /// There has been a turn by weight.
    pub begun: bool,
    /// Whose it is, or was.
    #[bits(3)]
    pub turn: u8,
    /// Packets left of it.
    pub credit: u8,
}

/// What a class is served as.
#[derive(Clone, Copy)]
struct Choice {
    class: u8,
    /// By weight: packets of this turn, this one included.
    credit: u8,
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
            tx_cls: 0,
            end_valid: false,
            end_back: 0,
            end_len: 0,
            end_data: false,
            end_slot: 0,
            end_cls: 0,
            half: false,
            occ: [0; CLASSES],
            free: [0; CLASSES],
            last: 7,
            begun: false,
            turn: 0,
            credit: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.tx_valid = self.tx_valid;
        o.tx = self.tx;
        o.tx_cls = self.tx_cls;
        o.end_valid = self.end_valid;
        o.end_back = self.end_back;
        o.end_len = self.end_len;
        o.end_data = self.end_data;
        o.end_slot = self.end_slot;
        o.end_cls = self.end_cls;
        [o.egress_free, o.ctl_free, ..] = self.free;
        o.half_valid = self.half;
        for (word, pair) in o.occ.0.iter_mut().zip(self.occ.chunks(2)) {
            *word = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        }
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.pfc_ready = !self.busy || self.left <= i.cfg_wire_rate;
        o.cls_ready = 0;
        if o.pfc_ready && !i.pfc_valid {
            o.cls_ready = self.choose(i).map_or(0, |choice| 1 << choice.class);
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        self.end_valid = false;
        self.half = false;
        self.tx_valid = false;

        if i.unresv_valid {
            self.release(0, u32::from(i.unresv_bytes), pool(i, 0));
        }
        // What is left of this clock for the next frame.
        let mut spare = 0;
        if self.busy {
            if let Some(back) = i.cfg_wire_rate.checked_sub(self.left) {
                spare = back;
                self.end(back, pool(i, 0));
            } else {
                self.left -= i.cfg_wire_rate;
            }
        }

        if i.pfc_valid && o.pfc_ready {
            self.start(&i.pfc, PFC_CLS, spare);
        } else if o.cls_ready != 0
            && let Some(choice) = self.choose(i)
        {
            self.last = choice.class;
            if i.cfg_sched == WEIGHTED {
                self.begun = true;
                self.turn = choice.class;
                self.credit = choice.credit - 1;
            }
            self.start(frame(i, choice.class), choice.class, spare);
        }
        self.reserve(i);
    }

    fn idle(&self, i: &Inputs) -> bool {
        let output = self.busy || self.tx_valid || self.end_valid || self.half;
        let input = i.pfc_valid || i.cls_valid & !i.paused != 0;
        let reservation = i.resv_valid || i.cresv_valid || i.oresv_valid || i.unresv_valid;
        let known =
            |class: usize| self.free[class] == pool(i, class).saturating_sub(self.occ[class]);
        !output && !input && !reservation && (0..CLASSES).all(known)
    }
}

/// The bytes of a class's pool.
fn pool(i: &Inputs, class: usize) -> u32 {
    (i.cfg_egress_pool.0[class / 2] >> (32 * (class % 2))) as u32
}

/// The packets in a class's turn.
fn weight(i: &Inputs, class: u8) -> u8 {
    (i.cfg_weights >> (8 * class)) as u8
}

/// The first frame of a class.
fn frame(i: &Inputs, class: u8) -> &Frame {
    let frames = [&i.cls0, &i.cls1, &i.cls2, &i.cls3, &i.cls4, &i.cls5, &i.cls6, &i.cls7];
    frames[usize::from(class)]
}

/// The classes from `first` on, wrapping, and `first` itself last.
fn after(first: u8) -> impl Iterator<Item = u8> {
    (1..=8).map(move |n| first.wrapping_add(n) & 7)
}

impl Regs {
    /// The class that is served next, if any may be (ARB-2).
    fn choose(&self, i: &Inputs) -> Option<Choice> {
        let able = |class: &u8| i.cls_valid & !i.paused & 1 << class != 0;
        let plain = |class| Choice { class, credit: 0 };
        match i.cfg_sched {
            ROUND_ROBIN => after(self.last).find(able).map(plain),
            WEIGHTED => {
                let turn = if self.begun { self.turn } else { top(i) };
                let whole = weight(i, turn);
                let credit = if self.begun { self.credit.min(whole) } else { whole };
                if able(&turn) && credit > 0 {
                    return Some(Choice { class: turn, credit });
                }
                let class = after(turn).find(|class| able(class) && weight(i, *class) > 0)?;
                Some(Choice { class, credit: weight(i, class) })
            }
            _ => (0..8).rev().find(able).map(plain),
        }
    }

    /// The frame being sent ends `back` units before the end of this clock.
    fn end(&mut self, back: u32, data_pool: u32) {
        self.busy = false;
        self.end_valid = true;
        self.end_back = back;
        self.end_len = self.tx.len;
        self.end_data = self.tx.data;
        self.end_slot = self.tx.slot;
        self.end_cls = self.tx_cls;
        if self.tx_cls != PFC_CLS {
            self.release(usize::from(self.tx_cls), u32::from(self.tx.len), data_pool);
        }
    }

    /// Bytes of a class are free again.
    fn release(&mut self, class: usize, bytes: u32, data_pool: u32) {
        self.occ[class] = self.occ[class].wrapping_sub(bytes);
        if class == 0 {
            self.half = 2 * u64::from(self.occ[0]) <= u64::from(data_pool);
        }
    }

    /// A frame starts, `spare` units before the next clock.
    fn start(&mut self, frame: &Frame, class: u8, spare: u32) {
        self.busy = true;
        self.tx_valid = true;
        self.left = (u32::from(frame.len) * BYTE_UNITS as u32).saturating_sub(spare);
        self.tx = *frame;
        self.tx_cls = class;
    }

    /// This clock's reservations, and what is free behind them.
    fn reserve(&mut self, i: &Inputs) {
        let other = (i.oresv_valid, usize::from(i.oresv_cls), i.oresv_bytes);
        let [data, control] = [(i.resv_valid, 0, i.resv_bytes), (i.cresv_valid, 1, i.cresv_bytes)];
        for (_, class, bytes) in [data, control, other].into_iter().filter(|r| r.0) {
            self.occ[class] = self.occ[class].wrapping_add(u32::from(bytes));
        }
        for class in 0..CLASSES {
            self.free[class] = pool(i, class).saturating_sub(self.occ[class]);
        }
    }
}

/// The highest class with a pool.
fn top(i: &Inputs) -> u8 {
    (1..8).rev().find(|class| pool(i, usize::from(*class)) > 0).unwrap_or(0)
}
