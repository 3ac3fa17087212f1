//! Ingress pool: charges received frames to their class or drops them, and keeps their payload.
//!
//! Twin of `hdl/ingress_pool.sv`. A verdict of clock n leaves on its stream in n + 1; a word of
//! clock n is on the ring's write port in n + 1. Throughput 1 word and 1 verdict per clock.
//!
//! BUF-1: a pool for each of eight classes, its size a register; one without an entry has no room.
//! BUF-4, RX-2: charged on arrival to the class that `packet_parse` gives it (PKT-4) or dropped
//! (Pool), released by whoever is done with it.
//!
//! A frame's words lie in the ring from `base` on; they count once its verdict takes them, else
//! the next frame overwrites them. A verdict comes before the next frame's first word, or with it.
//!
//! Borders and choices:
//! - Section 16: in one clock the arrival is judged first, on what was held before it; then come
//!   the releases. A frame that fills its pool to the byte is taken.
//! - A data frame is taken only if 130 words of the ring stay free after it: so the next frame's
//!   words, at most 128, never reach words that are held, whatever its verdict will be.
//! - A stream that has not taken the frame before drops the new one (Pool).
//! - Words past 128 of one frame are not written.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::host_interface::{CLASSES, level};
use crate::image::{BadBits, Field, Item, Reader, Wide, Writer};
use crate::sizes::Sizes;
use crate::types::{Drop, Kind, Parsed, Word};

/// Words of the largest payload, 8,192 B.
const FRAME_WORDS: u8 = 128;
/// Words of the ring that stay free behind the last frame taken.
const MARGIN_WORDS: u32 = 130;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `port_rx`: a payload word.
    pub word_valid: bool,
    /// The word.
    pub word_data: Word,
    /// From `packet_parse`: a verdict.
    pub in_valid: bool,
    /// The frame's fields.
    pub r#in: Parsed,
    /// Its class.
    #[bits(3)]
    pub in_cls: u8,
    /// Why it is dropped.
    pub in_drop: Drop,
    /// Words that came for it.
    pub in_words: u8,
    /// From `rx_track`.
    pub dat_ready: bool,
    /// From `ack_take`.
    pub ctl_ready: bool,
    /// From `payload_write`: a data frame's write was accepted.
    pub rel_valid: bool,
    /// Its class.
    #[bits(3)]
    pub rel_cls: u8,
    /// Its charge.
    #[bits(14)]
    pub rel_bytes: u16,
    /// From `rx_track`: a data frame that is not written is done.
    pub rel2_valid: bool,
    /// Its class.
    #[bits(3)]
    pub rel2_cls: u8,
    /// Its charge.
    #[bits(14)]
    pub rel2_bytes: u16,
    /// From `rx_track`: a trimmed frame is done.
    pub relt_valid: bool,
    /// Its class.
    #[bits(3)]
    pub relt_cls: u8,
    /// Its charge.
    #[bits(14)]
    pub relt_bytes: u16,
    /// From `ack_take`: a control frame is done.
    pub relc_valid: bool,
    /// Its class.
    #[bits(3)]
    pub relc_cls: u8,
    /// Its charge.
    #[bits(14)]
    pub relc_bytes: u16,
    /// From `payload_write`: words have been read.
    pub free_valid: bool,
    /// How many.
    pub free_words: u8,
    /// From `csr`: bytes of each class's pool.
    pub cfg_ingress_pool: Wide<4>,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// The ring: write this clock.
    pub ring_we: bool,
    /// Word to write.
    pub ring_waddr: u32,
    /// What to write.
    pub ring_wdata: Word,
    /// To `rx_track`: a data or trimmed frame.
    pub dat_valid: bool,
    /// The frame.
    pub dat: Parsed,
    /// To `ack_take`: a control frame.
    pub ctl_valid: bool,
    /// The frame.
    pub ctl: Parsed,
    /// To counters: a frame was dropped.
    pub drop_valid: bool,
    /// Why.
    pub drop_reason: Drop,
    /// Bytes held of each class's pool.
    pub occ: Wide<4>,
    /// To `pause_send`: a packet arrived in the clock before.
    pub arr_valid: bool,
    /// Its class.
    #[bits(3)]
    pub arr_cls: u8,
    /// What its class then held, it included, taken or not.
    pub arr_occ: u32,
    /// To `pause_send`: the classes of which something was released in the clock before.
    pub rel_cls: u8,
}

impl Outputs {
    /// Bytes held of a class's pool.
    pub fn held(&self, class: usize) -> u32 {
        level(&self.occ, class)
    }
}

/// Words of the ring: a parameter of the RTL and no register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingWords(pub u32);

impl Item for RingWords {
    fn layout(&self, _: &str, _: u32, _: &mut Vec<Field>) {}
    fn write(&self, _: &mut Writer<'_>) {}
    fn read(&mut self, _: u32, _: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Words of the ring.
    pub ring_words: RingWords,
    /// First word after the last frame taken.
    pub base: u16,
    /// Words taken and not yet free.
    #[bits(17)]
    pub held: u32,
    /// Words so far of the frame that is coming in.
    pub count: u8,
    /// Bytes held of each pool.
    pub occ: [u32; CLASSES],
    /// A word goes to the ring.
    pub ring_we: bool,
    /// Where.
    pub ring_waddr: u16,
    /// The word.
    pub ring_wdata: Word,
    /// `dat` waits for `rx_track`.
    pub dat_valid: bool,
    /// The last data or trimmed frame taken.
    pub dat: Parsed,
    /// `ctl` waits for `ack_take`.
    pub ctl_valid: bool,
    /// The last control frame taken.
    pub ctl: Parsed,
    /// A frame was dropped.
    pub drop_valid: bool,
    /// Why the last one was.
    pub drop_reason: Drop,
    /// A packet arrived.
    pub arr_valid: bool,
    /// Its class.
    #[bits(3)]
    pub arr_cls: u8,
    /// What its class held with it.
    pub arr_occ: u32,
    /// Classes of which something was released.
    pub rel_cls: u8,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            ring_words: RingWords(sizes.ingress_words),
            base: 0,
            held: 0,
            count: 0,
            occ: [0; CLASSES],
            ring_we: false,
            ring_waddr: 0,
            ring_wdata: Word::ZERO,
            dat_valid: false,
            dat: Parsed::default(),
            ctl_valid: false,
            ctl: Parsed::default(),
            drop_valid: false,
            drop_reason: Drop::None,
            arr_valid: false,
            arr_cls: 0,
            arr_occ: 0,
            rel_cls: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.ring_we = self.ring_we;
        o.ring_waddr = u32::from(self.ring_waddr);
        o.ring_wdata = self.ring_wdata;
        o.dat_valid = self.dat_valid;
        o.dat = self.dat;
        o.ctl_valid = self.ctl_valid;
        o.ctl = self.ctl;
        o.drop_valid = self.drop_valid;
        o.drop_reason = self.drop_reason;
        for (out, pair) in o.occ.0.iter_mut().zip(self.occ.chunks_exact(2)) {
            *out = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        }
        o.arr_valid = self.arr_valid;
        o.arr_cls = self.arr_cls;
        o.arr_occ = self.arr_occ;
        o.rel_cls = self.rel_cls;
    }

    fn clock(&mut self, i: &Inputs, _: &Outputs) {
        let dat_room = !self.dat_valid || i.dat_ready;
        let ctl_room = !self.ctl_valid || i.ctl_ready;
        self.dat_valid &= !i.dat_ready;
        self.ctl_valid &= !i.ctl_ready;

        self.arr_valid = i.in_valid && i.in_drop == Drop::None;
        if self.arr_valid {
            self.arr_cls = i.in_cls;
            self.arr_occ = self.held_of(i).wrapping_add(u32::from(i.r#in.charge));
        }
        self.drop_valid = false;
        if i.in_valid {
            self.count = 0;
            let why = if i.in_drop == Drop::None {
                self.arrive(i, dat_room, ctl_room)
            } else {
                i.in_drop
            };
            if why != Drop::None {
                self.drop_valid = true;
                self.drop_reason = why;
            }
        }

        self.ring_we = i.word_valid && self.count < FRAME_WORDS;
        if self.ring_we {
            self.ring_waddr = self.wrap(self.base.wrapping_add(u16::from(self.count)));
            self.ring_wdata = i.word_data;
            self.count += 1;
        }

        self.rel_cls = 0;
        self.release(i.rel_valid, i.rel_cls, i.rel_bytes);
        self.release(i.rel2_valid, i.rel2_cls, i.rel2_bytes);
        self.release(i.relt_valid, i.relt_cls, i.relt_bytes);
        self.release(i.relc_valid, i.relc_cls, i.relc_bytes);
        if i.free_valid {
            self.held = self.held.wrapping_sub(u32::from(i.free_words)) & 0x1_ffff;
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let output = self.ring_we
            || self.drop_valid
            || self.arr_valid
            || self.rel_cls != 0
            || self.dat_valid && i.dat_ready
            || self.ctl_valid && i.ctl_ready;
        let input = i.word_valid || i.in_valid || i.free_valid;
        let release = i.rel_valid || i.rel2_valid || i.relt_valid || i.relc_valid;
        !output && !input && !release
    }
}

impl Regs {
    fn wrap(&self, word: u16) -> u16 {
        word & (self.ring_words.0 - 1) as u16
    }

    /// Bytes held of the arriving frame's class.
    fn held_of(&self, i: &Inputs) -> u32 {
        self.occ[usize::from(i.in_cls)]
    }

    fn release(&mut self, valid: bool, class: u8, bytes: u16) {
        if valid {
            let occ = &mut self.occ[usize::from(class)];
            *occ = occ.wrapping_sub(u32::from(bytes));
            self.rel_cls |= 1 << class;
        }
    }

    /// Takes a frame without a fault, or says that there is no room for it (RX-2).
    fn arrive(&mut self, i: &Inputs, dat_room: bool, ctl_room: bool) -> Drop {
        let frame = &i.r#in;
        let (kind, words) = (frame.kind, u32::from(i.in_words));
        let to_dat = matches!(kind, Kind::Data | Kind::Trimmed | Kind::Probe);
        let stream = if to_dat { dat_room } else { ctl_room };
        let held = u64::from(self.held_of(i)) + u64::from(frame.charge);
        let pool = held <= u64::from(level(&i.cfg_ingress_pool, usize::from(i.in_cls)));
        let ring = kind != Kind::Data || self.held + words + MARGIN_WORDS <= self.ring_words.0;
        if !(stream && pool && ring) {
            return Drop::Pool;
        }
        self.occ[usize::from(i.in_cls)] = held as u32;
        if to_dat {
            self.dat_valid = true;
            self.dat = Parsed { word: self.base, ..*frame };
        } else {
            self.ctl_valid = true;
            self.ctl = *frame;
        }
        if kind == Kind::Data {
            self.held += words;
            self.base = self.wrap(self.base.wrapping_add(u16::from(i.in_words)));
        }
        Drop::None
    }
}
