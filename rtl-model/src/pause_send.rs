//! Pause send: tells the switch to pause or to resume a traffic class, by what its pool holds.
//!
//! Twin of `hdl/pause_send.sv`. A frame stands at the port 3 clocks after the event that asks for
//! it, behind the frames asked for before it. Throughput 1 frame a clock.
//!
//! PFC-1: an arrival that finds no pause outstanding and, itself included, Xoff or more sends one,
//! also where it is then dropped. PFC-2: half a pause time after each pause, Xoff or more sends it
//! again, less an XON, even above Xon. PFC-3: a release to Xon or less sends an XON at once.
//! Section 12: the frame has 64 B with the FCS, names one class and asks for its quanta; 0 resumes.
//!
//! Half a pause time counts from the clock that asks for the pause. Its fraction carries over: the
//! n-th check comes at the first clock at or after n halves, at least a clock behind the one before.
//! A unit here is half of one: a quantum is 512,000 and a clock drains twice `cfg_wire_rate`.
//!
//! Borders and choices:
//! - Section 16: of one clock's events the arrival comes first, then the release, then the check.
//!   An arrival and a release in one clock can send a pause and an XON.
//! - An XON, of either kind, ends "outstanding", and the counting with it.
//! - A class that is switched off while its pause is outstanding is resumed at the next check.
//! - Where frames are asked for faster than the port takes them, 16 wait in order and 2 more a
//!   class; one more of that class takes the place of its youngest.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::header::{ETHERTYPE_PFC, PFC_BYTES, PFC_MAC, PFC_OPCODE};
use crate::host_interface::{CLASSES, level};
use crate::image::Wide;
use crate::pause_hold::{QUANTUM_UNITS, quanta_of};
use crate::sizes::Sizes;
use crate::types::Frame;

/// Frames that wait in order.
const DEPTH: u8 = 16;
/// Bytes of a PFC frame without the FCS.
const PFC_HDR: u8 = 60;
/// Bits of a time.
const TIME_MASK: u64 = (1 << 45) - 1;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ingress_pool`: a packet arrived in the clock before.
    pub arr_valid: bool,
    /// Its class.
    #[bits(3)]
    pub arr_cls: u8,
    /// What its class held with it, taken or not.
    pub arr_occ: u32,
    /// From `ingress_pool`: classes of which something was released in the clock before.
    pub rel_cls: u8,
    /// From `ingress_pool`: what each class holds behind both.
    pub occ: Wide<4>,
    /// From `egress_arbiter`.
    pub frame_ready: bool,
    /// From `csr`: this NIC's MAC.
    #[bits(48)]
    pub cfg_own_mac: u64,
    /// From `csr`: units a clock.
    #[bits(20)]
    pub cfg_wire_rate: u32,
    /// From `csr`: classes that send pauses.
    pub cfg_pfc_enable: u8,
    /// From `csr`: the link's Delay, clocks.
    #[bits(24)]
    pub cfg_pfc_delay: u32,
    /// From `csr`: what a pause of each class asks for.
    pub cfg_quanta: Wide<2>,
    /// From `csr`: occupancy of each class from which a pause goes.
    pub cfg_xoff: Wide<4>,
    /// From `csr`: occupancy of each class up to which an XON goes.
    pub cfg_xon: Wide<4>,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `egress_arbiter`.
    pub frame_valid: bool,
    /// A PFC frame.
    pub frame: Frame,
    /// Classes of which a pause was asked for in the clock before.
    pub xoff: u8,
    /// And of which an XON was.
    pub xon: u8,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A pause of the class is outstanding.
    pub out: u8,
    /// Halves of units to its next check, at the start of this clock.
    #[bits(45)]
    pub left: [u64; CLASSES],
    /// A frame waits for the queue.
    pub asked: u8,
    /// And it is an XON.
    pub asked_xon: u8,
    /// Another one waits behind it.
    pub behind: u8,
    /// And that is an XON.
    pub behind_xon: u8,
    /// XON and class of each frame, 4 bits, the oldest lowest.
    pub queue: u64,
    /// Frames in the queue.
    #[bits(5)]
    pub count: u8,
    /// `frame` waits for the port.
    pub frame_valid: bool,
    /// The last frame built.
    pub frame: Frame,
    /// Classes of which a pause was asked for.
    pub xoff: u8,
    /// Classes of which an XON was.
    pub xon: u8,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_: &Sizes) -> Self {
        Self {
            out: 0,
            left: [0; CLASSES],
            asked: 0,
            asked_xon: 0,
            behind: 0,
            behind_xon: 0,
            queue: 0,
            count: 0,
            frame_valid: false,
            frame: Frame::default(),
            xoff: 0,
            xon: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.frame_valid = self.frame_valid;
        o.frame = self.frame;
        o.xoff = self.xoff;
        o.xon = self.xon;
    }

    fn clock(&mut self, i: &Inputs, _: &Outputs) {
        let asked = self.asked;
        self.frame_valid &= !i.frame_ready;
        if !self.frame_valid && self.count > 0 {
            let class = usize::from(self.queue as u8 & 7);
            let quanta = if self.queue & 8 == 0 { quanta_of(&i.cfg_quanta, class) } else { 0 };
            self.frame_valid = true;
            self.frame = pfc_frame(i.cfg_own_mac, class, quanta);
            self.queue >>= 4;
            self.count -= 1;
        }
        if asked != 0 && self.count < DEPTH {
            self.join(asked.trailing_zeros());
        }
        (self.xoff, self.xon) = (0, 0);
        for class in 0..CLASSES {
            self.watch(i, class);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let waits = self.asked != 0 || self.count > 0 || self.frame_valid;
        let told = self.xoff | self.xon != 0;
        // Nothing is sent for a class that is off; a release asks only where a pause is out.
        let arrival = i.arr_valid && i.cfg_pfc_enable != 0;
        !waits && !told && !arrival && self.out == 0
    }
}

/// A PFC frame of a class, FCS left out (section 12).
fn pfc_frame(mac: u64, class: usize, quanta: u16) -> Frame {
    let mut bytes = [0; 104];
    bytes[..6].copy_from_slice(&PFC_MAC.to_be_bytes()[2..]);
    bytes[6..12].copy_from_slice(&mac.to_be_bytes()[2..]);
    bytes[12..14].copy_from_slice(&ETHERTYPE_PFC.to_be_bytes());
    bytes[14..16].copy_from_slice(&PFC_OPCODE.to_be_bytes());
    bytes[17] = 1 << class;
    bytes[18 + 2 * class..20 + 2 * class].copy_from_slice(&quanta.to_be_bytes());
    Frame { hdr: Wide::from_bytes(&bytes), hdr_len: PFC_HDR, len: PFC_BYTES, ..Frame::default() }
}

/// Sets or clears a class's bit.
fn set(mask: &mut u8, class: usize, on: bool) {
    *mask = *mask & !(1 << class) | u8::from(on) << class;
}

impl Regs {
    /// The frame asked for first of a class joins the queue.
    fn join(&mut self, class: u32) {
        let xon = self.asked_xon >> class & 1;
        let entry = u64::from(xon) << 3 | u64::from(class);
        let at = 4 * u32::from(self.count);
        self.queue = self.queue & !(15 << at) | entry << at;
        self.count += 1;
        let class = class as usize;
        let (behind, behind_xon) =
            (self.behind >> class & 1 == 1, self.behind_xon >> class & 1 == 1);
        set(&mut self.asked, class, behind);
        set(&mut self.asked_xon, class, behind_xon);
        set(&mut self.behind, class, false);
    }

    /// One class's events of the clock before, and its check.
    fn watch(&mut self, i: &Inputs, class: usize) {
        let (occ, xoff) = (level(&i.occ, class), level(&i.cfg_xoff, class));
        let enabled = i.cfg_pfc_enable >> class & 1 == 1;
        let was_out = self.out >> class & 1 == 1;
        let arrives = i.arr_valid && usize::from(i.arr_cls) == class;
        let pauses = arrives && enabled && !was_out && i.arr_occ >= xoff;
        if pauses {
            self.left[class] = half(i, class);
            self.pause(class);
        }
        let step = 2 * u64::from(i.cfg_wire_rate);
        let left = self.left[class];
        if was_out {
            self.left[class] = left.wrapping_sub(step) & TIME_MASK;
        }
        let drained = i.rel_cls >> class & 1 == 1 && occ <= level(&i.cfg_xon, class);
        if (was_out || pauses) && drained {
            self.resume(class);
        } else if was_out && left <= step {
            if enabled && occ >= xoff {
                self.left[class] = half(i, class).saturating_sub(step - left);
                self.pause(class);
            } else {
                self.resume(class);
            }
        }
    }

    fn pause(&mut self, class: usize) {
        set(&mut self.out, class, true);
        set(&mut self.xoff, class, true);
        self.ask(class, false);
    }

    fn resume(&mut self, class: usize) {
        set(&mut self.out, class, false);
        set(&mut self.xon, class, true);
        self.ask(class, true);
    }

    /// A frame waits for the queue, the youngest in the last place.
    fn ask(&mut self, class: usize, xon: bool) {
        if self.asked >> class & 1 == 0 {
            set(&mut self.asked, class, true);
            set(&mut self.asked_xon, class, xon);
        } else {
            set(&mut self.behind, class, true);
            set(&mut self.behind_xon, class, xon);
        }
    }
}

/// Half a pause time of a class, in halves of units: its quanta and the Delay.
fn half(i: &Inputs, class: usize) -> u64 {
    let quanta = u64::from(quanta_of(&i.cfg_quanta, class));
    quanta * QUANTUM_UNITS + u64::from(i.cfg_pfc_delay) * u64::from(i.cfg_wire_rate)
}
