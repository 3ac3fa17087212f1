//! Bits of packet sequence numbers: a ring of PSNS bits a QP, in words of 64.
//!
//! Twin of `hdl/sack_bitmap.sv`. RX-7, RX-8, SACK-3, SACK-4, LOS-1. One unit for each such record:
//! what a receiver holds out of order, what a sender has outstanding, what waits to go again. From
//! the clock in which a request is taken to that of its response: `Wipe`, `Test`, `Set` and
//! `Clear` 3; `Next`, `Take` and `Top` 3, or 5 where another word holds the bit; `Block` 4;
//! `Report` 4 or 6; `Hold` 6 or 8; `Advance` 3, then 2 for each word that the run goes on in, a
//! response each. The next request is taken as the response is: a `Set` each 3 clocks, a `Hold` in
//! at most 8; of a sender's packet `Set` and `Clear` in 6, `Set` and `Take` in 6 or 8. So each unit,
//! one a direction, keeps up with a packet every 8 clocks.
//!
//! The bit of a PSN lies at PSN modulo PSNS. A QP's bits lie less than PSNS apart, so a
//! `MaxPSNRange` of 1 to PSNS needs nothing of this unit. `any` says which words of a QP hold a
//! bit: the others count as empty whatever the memory holds, so that a `Wipe` writes one word, and
//! a search goes to the right word at once. A `Wipe` comes before anything else of a QP. A search
//! and a block end at most PSNS past the lowest PSN that may be set, and a run starts past a gap.
//!
//! `Report` (SACK-3): the base is the lowest bit at or above walk, else the lowest; walk counts
//! where it is in [low, low + PSNS). Bits at or above low + PSNS are those below the base, and
//! clear. `Advance` (RX-7): bit i of a response is the mark `last` of psn + i, far counts from the
//! start of the run, and more is set while the run goes on. Marks are set with their bit and read
//! by `Advance`.
//!
//! Borders: PSN 0xffffff to 0; the last bit of a word to the first; the last word to word 0; the
//! part of the first word before the start, which comes last; end = psn + PSNS.
//!
//! A word written in the clock in which it is read is forwarded from the write port, which keeps
//! what it wrote last.

use bitvec::prelude::{BitSlice, Lsb0};
use bitvec::view::BitView;
use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BadBits, Field, Item, Reader, Writer};
use crate::sizes::Sizes;
use crate::types::Psn;

/// What is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(4)]
pub enum Op {
    /// No bit of the QP is set.
    #[default]
    Wipe = 0,
    /// The bit of psn.
    Test = 1,
    /// Sets it, with its marks; what it was.
    Set = 2,
    /// Clears it; what it was.
    Clear = 3,
    /// The lowest bit in [psn, end).
    Next = 4,
    /// The same, and clears it.
    Take = 5,
    /// The highest bit in [psn, end).
    Top = 6,
    /// 64 bits from psn, those in [psn, end).
    Block = 7,
    /// The lowest bit from walk on, else from low on, and the 63 after it.
    Report = 8,
    /// `Set`, then `Report`.
    Hold = 9,
    /// Clears the run that starts at psn.
    Advance = 10,
}

/// Marks beside the 64 bits of a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Marks {
    /// Last packets of their messages.
    pub last: u64,
    /// Packets with the ACK-request flag.
    pub asked: u64,
}

/// PSNs of the ring: a parameter of the RTL, and no bits of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Psns(pub u32);

impl Item for Psns {
    fn layout(&self, _name: &str, _width: u32, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _width: u32, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

impl Psns {
    fn words(self) -> u32 {
        self.0 / 64
    }

    /// The word of a PSN.
    fn word(self, psn: Psn) -> u8 {
        (psn.0 / 64 % self.words()) as u8
    }

    /// The word after.
    fn after(self, word: u8) -> u8 {
        ((u32::from(word) + 1) % self.words()) as u8
    }

    /// How far a place in the ring is past a PSN.
    fn past(self, psn: Psn, word: u8, bit: usize) -> u32 {
        let place = u32::from(word) * 64 + bit as u32;
        place.wrapping_sub(psn.0) & (self.0 - 1)
    }
}

/// What the block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum State {
    /// Takes a request.
    #[default]
    Idle = 0,
    /// Reads a word.
    Read = 1,
    /// Works on it.
    Work = 2,
    /// Joins the word after it.
    Pair = 3,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From the block whose record it is.
    pub req_valid: bool,
    /// What is asked.
    pub req_op: Op,
    /// Of which QP.
    pub req_qp: u8,
    /// Where.
    pub req_psn: Psn,
    /// Where it ends: the first PSN past it.
    pub req_end: Psn,
    /// The lowest PSN that may be set; of `Report` and `Hold`.
    pub req_low: Psn,
    /// Where the report walks on; of `Report` and `Hold`.
    pub req_walk: Psn,
    /// Mark; of `Set` and `Hold`.
    pub req_last: bool,
    /// Mark; of `Set` and `Hold`.
    pub req_asked: bool,
    /// From the block whose record it is.
    pub rsp_ready: bool,
    /// Memory of bits.
    pub bits_rdata: u64,
    /// Memory of marks.
    pub mark_rdata: Marks,
    /// Memory of words that hold a bit.
    pub any_rdata: u16,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To the block whose record it is.
    pub req_ready: bool,
    /// To the block whose record it is.
    pub rsp_valid: bool,
    /// The bit was set; one was found; the run is not empty.
    pub rsp_hit: bool,
    /// The bit that was found, the base, the start of this part of the run.
    pub rsp_psn: Psn,
    /// A block, or marks.
    pub rsp_bits: u64,
    /// Length of the run so far.
    #[bits(11)]
    pub rsp_far: u16,
    /// This part of the run has a mark `asked`.
    pub rsp_asked: bool,
    /// Another part follows.
    pub rsp_more: bool,
    /// Memory of bits.
    pub bits_we: bool,
    /// Memory of bits.
    pub bits_waddr: u32,
    /// Memory of bits.
    pub bits_wdata: u64,
    /// Memory of bits.
    pub bits_re: bool,
    /// Memory of bits.
    pub bits_raddr: u32,
    /// Memory of marks.
    pub mark_we: bool,
    /// Memory of marks.
    pub mark_waddr: u32,
    /// Memory of marks.
    pub mark_wdata: Marks,
    /// Memory of marks.
    pub mark_re: bool,
    /// Memory of marks.
    pub mark_raddr: u32,
    /// Memory of words that hold a bit.
    pub any_we: bool,
    /// Memory of words that hold a bit.
    pub any_waddr: u32,
    /// Memory of words that hold a bit.
    pub any_wdata: u16,
    /// Memory of words that hold a bit.
    pub any_re: bool,
    /// Memory of words that hold a bit.
    pub any_raddr: u32,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Parameter.
    pub psns: Psns,
    /// What the block is doing.
    pub state: State,
    /// What was asked; a `Hold` becomes a `Report` once its bit is set.
    pub op: Op,
    /// `any` is still to be read.
    pub fresh: bool,
    /// The QP.
    pub qp: u8,
    /// Of the bit, of the block, of the run that is left.
    pub psn: Psn,
    /// The first PSN past the end.
    pub stop: Psn,
    /// The lowest PSN that may be set.
    pub low: Psn,
    /// Where the report walks on, in [low, low + PSNS).
    pub walk: Psn,
    /// Mark.
    pub last: bool,
    /// Mark.
    pub asked: bool,
    /// The word being read.
    #[bits(4)]
    pub word: u8,
    /// It is not the word of the start.
    pub moved: bool,
    /// Words of the QP that hold a bit.
    pub any: u16,
    /// The first word of a block.
    pub kept: u64,
    /// Memory of bits.
    pub bits_we: bool,
    /// Memory of bits, and of marks.
    pub bits_waddr: u32,
    /// Memory of bits.
    pub bits_wdata: u64,
    /// Memory of marks.
    pub mark_we: bool,
    /// Memory of marks.
    pub mark_wdata: Marks,
    /// Memory of words that hold a bit.
    pub any_we: bool,
    /// Memory of words that hold a bit.
    pub any_waddr: u8,
    /// Memory of words that hold a bit.
    pub any_wdata: u16,
    /// A response waits.
    pub rsp_valid: bool,
    /// See `Outputs`.
    pub rsp_hit: bool,
    /// See `Outputs`.
    pub rsp_psn: Psn,
    /// See `Outputs`.
    pub rsp_bits: u64,
    /// See `Outputs`.
    #[bits(11)]
    pub rsp_far: u16,
    /// See `Outputs`.
    pub rsp_asked: bool,
    /// See `Outputs`.
    pub rsp_more: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        assert!((128..=1024).contains(&sizes.psns), "two to sixteen words a QP");
        Self {
            psns: Psns(sizes.psns),
            state: State::Idle,
            op: Op::Wipe,
            fresh: false,
            qp: 0,
            psn: Psn(0),
            stop: Psn(0),
            low: Psn(0),
            walk: Psn(0),
            last: false,
            asked: false,
            word: 0,
            moved: false,
            any: 0,
            kept: 0,
            bits_we: false,
            bits_waddr: 0,
            bits_wdata: 0,
            mark_we: false,
            mark_wdata: Marks::default(),
            any_we: false,
            any_waddr: 0,
            any_wdata: 0,
            rsp_valid: false,
            rsp_hit: false,
            rsp_psn: Psn(0),
            rsp_bits: 0,
            rsp_far: 0,
            rsp_asked: false,
            rsp_more: false,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        let pairs = self.state == State::Work && matches!(self.op, Op::Block | Op::Report);
        let read = self.state == State::Read;
        o.rsp_valid = self.rsp_valid;
        o.rsp_hit = self.rsp_hit;
        o.rsp_psn = self.rsp_psn;
        o.rsp_bits = self.rsp_bits;
        o.rsp_far = self.rsp_far;
        o.rsp_asked = self.rsp_asked;
        o.rsp_more = self.rsp_more;
        o.bits_we = self.bits_we;
        o.bits_waddr = self.bits_waddr;
        o.bits_wdata = self.bits_wdata;
        o.bits_re = read || pairs;
        o.bits_raddr = self.address(if pairs { self.psns.after(self.word) } else { self.word });
        o.mark_we = self.mark_we;
        o.mark_waddr = self.bits_waddr;
        o.mark_wdata = self.mark_wdata;
        o.mark_re = read;
        o.mark_raddr = self.address(self.word);
        o.any_we = self.any_we;
        o.any_waddr = u32::from(self.any_waddr);
        o.any_wdata = self.any_wdata;
        o.any_re = read && self.fresh;
        o.any_raddr = u32::from(self.qp);
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.req_ready = self.state == State::Idle && (!self.rsp_valid || i.rsp_ready);
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        self.bits_we = false;
        self.mark_we = false;
        self.any_we = false;
        let waits = self.rsp_valid && !i.rsp_ready;
        self.rsp_valid = waits;
        match self.state {
            State::Idle => {
                if i.req_valid && o.req_ready {
                    self.take(i);
                }
            }
            State::Read => self.state = State::Work,
            State::Work => {
                if !(waits && self.op == Op::Advance) {
                    self.work(i);
                }
            }
            State::Pair => {
                self.state = State::Idle;
                self.rsp_valid = true;
                self.rsp_psn = self.psn;
                self.rsp_bits = self.block(self.any >> self.word & 1 == 1, i.bits_rdata);
            }
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let waits = match self.state {
            State::Idle => !i.req_valid || self.rsp_valid && !i.rsp_ready,
            State::Work => self.op == Op::Advance && self.rsp_valid && !i.rsp_ready,
            _ => false,
        };
        let taken = self.rsp_valid && i.rsp_ready;
        waits && !taken && !(self.bits_we || self.mark_we || self.any_we)
    }
}

/// The lowest bit at `from` or above.
fn lowest(word: u64, from: usize) -> Option<usize> {
    let bits: &BitSlice<u64, Lsb0> = word.view_bits();
    bits[from..].first_one().map(|n| from + n)
}

/// The highest bit at `from` or below.
fn highest(word: u64, from: usize) -> Option<usize> {
    let bits: &BitSlice<u64, Lsb0> = word.view_bits();
    bits[..=from].last_one()
}

impl Regs {
    /// Where a word lies in the memories of bits and marks.
    fn address(&self, word: u8) -> u32 {
        u32::from(self.qp) * self.psns.words() + u32::from(word)
    }

    /// Takes a request.
    fn take(&mut self, i: &Inputs) {
        let ahead = i.req_walk.0.wrapping_sub(i.req_low.0) & 0xff_ffff;
        let walk = if ahead < self.psns.0 { i.req_walk } else { i.req_low };
        let start = match i.req_op {
            Op::Top => i.req_end.minus(1),
            Op::Report => walk,
            _ => i.req_psn,
        };
        *self = Self {
            state: State::Read,
            op: i.req_op,
            fresh: true,
            qp: i.req_qp,
            psn: i.req_psn,
            stop: i.req_end,
            low: i.req_low,
            walk,
            last: i.req_last,
            asked: i.req_asked,
            word: self.psns.word(start),
            moved: false,
            rsp_hit: false,
            rsp_psn: i.req_psn,
            rsp_bits: 0,
            rsp_far: 0,
            rsp_asked: false,
            rsp_more: false,
            ..*self
        };
    }

    /// The word that was read, if it counts as holding a bit.
    fn read(&self, counts: bool, rdata: u64) -> u64 {
        if !counts {
            return 0;
        }
        let written = self.bits_waddr == self.address(self.word);
        if written { self.bits_wdata } else { rdata }
    }

    /// Works on a word.
    fn work(&mut self, i: &Inputs) {
        if self.fresh {
            self.any = i.any_rdata;
            self.fresh = false;
        }
        let counts = self.any >> self.word & 1 == 1;
        let bits = self.read(counts, i.bits_rdata);
        let marks = if counts { i.mark_rdata } else { Marks::default() };
        match self.op {
            Op::Wipe | Op::Test | Op::Set | Op::Clear | Op::Hold => self.one_bit(bits, marks),
            Op::Next | Op::Take | Op::Top => self.search(bits),
            Op::Block => self.pair(bits),
            Op::Report => self.report(bits),
            Op::Advance => self.advance(bits, marks),
        }
    }

    /// Writes the word and what `any` says of it.
    fn write(&mut self, before: u64, after: u64) {
        self.bits_we = before != after;
        self.bits_waddr = self.address(self.word);
        self.bits_wdata = after;
        let any = self.any & !(1 << self.word) | u16::from(after != 0) << self.word;
        self.sum(any);
    }

    /// Writes which words hold a bit.
    fn sum(&mut self, any: u16) {
        self.any_we = self.any != any;
        self.any_waddr = self.qp;
        self.any_wdata = any;
        self.any = any;
    }

    fn respond(&mut self, hit: bool) {
        self.state = State::Idle;
        self.rsp_valid = true;
        self.rsp_hit = hit;
    }

    /// The requests that concern the bit of psn alone.
    fn one_bit(&mut self, bits: u64, marks: Marks) {
        let at = self.psn.0 as usize % 64;
        let held = bits.view_bits::<Lsb0>()[at];
        let mut after = bits;
        match self.op {
            Op::Set | Op::Hold => after.view_bits_mut::<Lsb0>().set(at, true),
            Op::Clear => after.view_bits_mut::<Lsb0>().set(at, false),
            _ => {}
        }
        let any = self.any;
        self.write(bits, after);
        if self.op == Op::Wipe {
            (self.any_we, self.any_wdata, self.any) = (any != 0, 0, 0);
        }
        if matches!(self.op, Op::Set | Op::Hold) && !held {
            self.mark(at, marks);
        }
        if self.op == Op::Hold {
            self.rsp_hit = held;
            self.op = Op::Report;
            self.word = self.psns.word(self.walk);
            self.state = State::Read;
        } else {
            self.respond(held);
        }
    }

    /// Sets the marks of a bit that is new.
    fn mark(&mut self, at: usize, mut marks: Marks) {
        marks.last.view_bits_mut::<Lsb0>().set(at, self.last);
        marks.asked.view_bits_mut::<Lsb0>().set(at, self.asked);
        self.mark_we = true;
        self.mark_wdata = marks;
    }

    /// Where a search stands: the bit in this word, or the word to go to.
    fn find(&self, bits: u64, start: Psn) -> Result<usize, u8> {
        let down = self.op == Op::Top;
        let off = start.0 as usize % 64;
        let (past, all) = if down {
            (highest(bits, off), highest(bits, 63).unwrap_or(0))
        } else {
            (lowest(bits, off), lowest(bits, 0).unwrap_or(63))
        };
        let home = self.psns.word(start);
        if self.moved {
            return Ok(all);
        }
        let other = self.nearest(home, down);
        past.or((other == home).then_some(all)).ok_or(other)
    }

    /// The nearest word with a bit past `word`; the word itself comes last.
    fn nearest(&self, word: u8, down: bool) -> u8 {
        let words = self.psns.words();
        let step = |n: u32| (u32::from(word) + if down { words - n } else { n }) % words;
        (1..words).map(step).find(|w| self.any >> w & 1 == 1).unwrap_or(word.into()) as u8
    }

    /// Goes to another word.
    fn go_to(&mut self, word: u8) {
        self.word = word;
        self.moved = true;
        self.state = State::Read;
    }

    /// `Next`, `Take` and `Top`.
    fn search(&mut self, bits: u64) {
        let range = self.stop.0.wrapping_sub(self.psn.0) & 0xff_ffff;
        let start = if self.op == Op::Top { self.stop.minus(1) } else { self.psn };
        let at = match self.find(bits, start) {
            Ok(at) => at,
            Err(word) => {
                self.write(bits, bits);
                return self.go_to(word);
            }
        };
        let up = self.psns.past(start, self.word, at);
        let gone = if self.op == Op::Top { up.wrapping_neg() & (self.psns.0 - 1) } else { up };
        let hit = self.any != 0 && gone < range;
        let takes = hit && self.op == Op::Take;
        self.write(bits, bits & !(u64::from(takes) << at));
        self.rsp_psn = if self.op == Op::Top { start.minus(gone) } else { start.plus(gone) };
        self.respond(hit);
    }

    /// `Block`: keeps the first word, and waits for the second.
    fn pair(&mut self, bits: u64) {
        self.write(bits, bits);
        self.kept = bits;
        self.word = self.psns.after(self.word);
        self.state = State::Pair;
    }

    /// `Report`: finds the base; the rest is a block.
    fn report(&mut self, bits: u64) {
        match self.find(bits, self.walk) {
            Ok(at) => {
                self.psn = self.low.plus(self.psns.past(self.low, self.word, at));
                self.stop = self.low.plus(self.psns.0);
                self.moved = true;
                self.pair(bits);
            }
            Err(word) => {
                self.write(bits, bits);
                self.go_to(word);
            }
        }
    }

    /// The bits from psn on in the word kept and in this one, up to the end.
    fn block(&self, counts: bool, rdata: u64) -> u64 {
        let both = u128::from(self.read(counts, rdata)) << 64 | u128::from(self.kept);
        let room = self.stop.0.wrapping_sub(self.psn.0) & 0xff_ffff;
        let mask = if room < 64 { (1 << room) - 1 } else { u64::MAX };
        (both >> (self.psn.0 % 64)) as u64 & mask
    }

    /// `Advance`: what the run takes of this word.
    fn advance(&mut self, bits: u64, marks: Marks) {
        let from = self.psn.0 as usize % 64;
        let end = lowest(!bits, from).unwrap_or(64);
        let length = (end - from) as u32;
        let run = if length == 64 { u64::MAX } else { (1 << length) - 1 };
        let next = self.psns.after(self.word);
        let more = end == 64 && self.any >> next & 1 == 1;
        self.rsp_psn = self.psn;
        self.rsp_bits = marks.last >> from & run;
        self.rsp_asked = marks.asked >> from & run != 0;
        self.rsp_far = (self.rsp_far + length as u16) & 0x7ff;
        self.rsp_more = more;
        self.write(bits, bits & !(run << from));
        self.psn = self.psn.plus(length);
        self.word = next;
        self.respond(self.rsp_hit || length > 0);
        if more {
            self.state = State::Read;
        }
    }
}
