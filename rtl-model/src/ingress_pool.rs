//! Ingress pool: charges received frames to their class or drops them, and keeps their payload.
//!
//! Twin of `hdl/ingress_pool.sv`. A verdict of clock n leaves on its stream in n + 1; a word of
//! clock n is on the ring's write port in n + 1. Throughput 1 word and 1 verdict per clock.
//!
//! BUF-1: pools of classes 0 (data) and 1 (control, trimmed). BUF-4, RX-2: charged on arrival or
//! dropped (Pool), released by whoever is done with it. PKT-4: trimmed is charged to control, probes
//! to data.
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
use crate::image::{BadBits, Field, Item, Reader, Writer};
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
    /// Its charge.
    #[bits(14)]
    pub rel_bytes: u16,
    /// From `rx_track`: a data frame that is not written is done.
    pub rel2_valid: bool,
    /// Its charge.
    #[bits(14)]
    pub rel2_bytes: u16,
    /// From `rx_track`: a trimmed frame is done.
    pub relt_valid: bool,
    /// Its charge.
    #[bits(14)]
    pub relt_bytes: u16,
    /// From `ack_take`: a control frame is done.
    pub relc_valid: bool,
    /// Its charge.
    #[bits(14)]
    pub relc_bytes: u16,
    /// From `payload_write`: words have been read.
    pub free_valid: bool,
    /// How many.
    pub free_words: u8,
    /// From `csr`: bytes of class 0's pool.
    pub cfg_ingress_pool0: u32,
    /// From `csr`: bytes of class 1's pool.
    pub cfg_ingress_pool1: u32,
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
    /// Bytes held of class 0's pool.
    pub occ0: u32,
    /// Bytes held of class 1's pool.
    pub occ1: u32,
    /// To `pause_send`: a packet arrived in the clock before.
    pub arr_valid: bool,
    /// It is of class 1.
    pub arr_ctl: bool,
    /// What its class then held, it included, taken or not.
    pub arr_occ: u32,
    /// Something of class 0 was released in the clock before.
    pub rel0: bool,
    /// Something of class 1 was.
    pub rel1: bool,
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
    /// Bytes held of class 0's pool.
    pub occ0: u32,
    /// Bytes held of class 1's pool.
    pub occ1: u32,
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
    /// It was of class 1.
    pub arr_ctl: bool,
    /// What its class held with it.
    pub arr_occ: u32,
    /// Something of class 0 was released.
    pub rel0: bool,
    /// Something of class 1 was.
    pub rel1: bool,
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
            occ0: 0,
            occ1: 0,
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
            arr_ctl: false,
            arr_occ: 0,
            rel0: false,
            rel1: false,
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
        o.occ0 = self.occ0;
        o.occ1 = self.occ1;
        o.arr_valid = self.arr_valid;
        o.arr_ctl = self.arr_ctl;
        o.arr_occ = self.arr_occ;
        o.rel0 = self.rel0;
        o.rel1 = self.rel1;
    }

    fn clock(&mut self, i: &Inputs, _: &Outputs) {
        let dat_room = !self.dat_valid || i.dat_ready;
        let ctl_room = !self.ctl_valid || i.ctl_ready;
        self.dat_valid &= !i.dat_ready;
        self.ctl_valid &= !i.ctl_ready;

        self.rel0 = i.rel_valid || i.rel2_valid;
        self.rel1 = i.relt_valid || i.relc_valid;
        self.arr_valid = i.in_valid && i.in_drop == Drop::None;
        if self.arr_valid {
            self.arr_ctl = !matches!(i.r#in.kind, Kind::Data | Kind::Probe);
            let held = if self.arr_ctl { self.occ1 } else { self.occ0 };
            self.arr_occ = held.wrapping_add(u32::from(i.r#in.charge));
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

        let sum = |a: bool, a_bytes: u16, b: bool, b_bytes: u16| {
            u32::from(a) * u32::from(a_bytes) + u32::from(b) * u32::from(b_bytes)
        };
        let gone0 = sum(i.rel_valid, i.rel_bytes, i.rel2_valid, i.rel2_bytes);
        let gone1 = sum(i.relt_valid, i.relt_bytes, i.relc_valid, i.relc_bytes);
        self.occ0 = self.occ0.wrapping_sub(gone0);
        self.occ1 = self.occ1.wrapping_sub(gone1);
        if i.free_valid {
            self.held = self.held.wrapping_sub(u32::from(i.free_words)) & 0x1_ffff;
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let output = self.ring_we
            || self.drop_valid
            || self.arr_valid
            || self.rel0
            || self.rel1
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

    /// Takes a frame without a fault, or says that there is no room for it (RX-2).
    fn arrive(&mut self, i: &Inputs, dat_room: bool, ctl_room: bool) -> Drop {
        let frame = &i.r#in;
        let fits =
            |occ: u32, pool: u32| u64::from(occ) + u64::from(frame.charge) <= u64::from(pool);
        let charge = u32::from(frame.charge);
        let words = u32::from(i.in_words);
        match frame.kind {
            Kind::Data => {
                let ring_room = self.held + words + MARGIN_WORDS <= self.ring_words.0;
                if !(dat_room && ring_room && fits(self.occ0, i.cfg_ingress_pool0)) {
                    return Drop::Pool;
                }
                self.occ0 += charge;
                self.held += words;
                self.dat_valid = true;
                self.dat = Parsed { word: self.base, ..*frame };
                self.base = self.wrap(self.base.wrapping_add(u16::from(i.in_words)));
            }
            Kind::Probe => {
                if !(dat_room && fits(self.occ0, i.cfg_ingress_pool0)) {
                    return Drop::Pool;
                }
                self.occ0 += charge;
                self.dat_valid = true;
                self.dat = Parsed { word: self.base, ..*frame };
            }
            Kind::Trimmed => {
                if !(dat_room && fits(self.occ1, i.cfg_ingress_pool1)) {
                    return Drop::Pool;
                }
                self.occ1 += charge;
                self.dat_valid = true;
                self.dat = Parsed { word: self.base, ..*frame };
            }
            Kind::Ack | Kind::Sack | Kind::Nack => {
                if !(ctl_room && fits(self.occ1, i.cfg_ingress_pool1)) {
                    return Drop::Pool;
                }
                self.occ1 += charge;
                self.ctl_valid = true;
                self.ctl = *frame;
            }
        }
        Drop::None
    }
}
