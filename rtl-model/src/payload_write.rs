//! Payload write: writes received payloads to host memory in the order in which they arrived.
//!
//! Twin of `hdl/payload_write.sv`. Latency: delivery to its first word 3 clocks; last word accepted
//! to release, freed words and completion 1 clock. Throughput: one word of a transfer a clock,
//! without a gap between transfers and between deliveries, so 64 B a clock where the address is a
//! multiple of 4; a delivery without words takes a clock. Completions: one every second clock.
//!
//! PCI-5: a transfer ends at the largest payload, 128 B × (1 + `cfg_max_payload`), pad bytes of its
//! first DW included (so 128 DWs at most), and at each 4 KiB boundary. Its first word starts with
//! the `addr[1:0]` pad bytes, which are not enabled; all transfers of a payload but the first start
//! on a DW. After a 4 KiB cut the payload's offset in its words is anything: each word is cut out
//! of the two payload words that hold it.
//! PCI-6: the charge is released when `tlp_engine` has taken the last word; for 0 bytes, when its
//! turn comes. A delivery with `write` clear passes its words over and releases nothing.
//! RX-8: a completion follows the payload writes before it.
//! Ring words of a payload are freed together, with its release, written or not.
//! `wr_addr` and `wr_len` hold for all words of a transfer.
//!
//! The ring's read port passes through from `wr_ready` and `comp_ready`.
//!
//! Borders: `addr[1:0]` 0 to 3; lengths 0, 1, 3, 4, 5, 64, 512, 513, 4,096, 8,192; page offsets
//! 0xe00, 0xe04, 0xfff, 0x000; last ring word; 511 B then 1 B; a completion while another waits.

use derive::{Image, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BadBits, Field, Item, Reader, Wide, Writer};
use crate::port_tx::{pack, unpack};
use crate::sizes::Sizes;
use crate::types::{Delivery, Qpn, Word};

/// No transfer crosses a boundary of this many bytes. PCI-5.
const PAGE: u64 = 4096;
/// A transfer carries at most so many of these bytes, pad bytes included. PCI-3.
const PAYLOAD_STEP: u16 = 128;
/// Bytes of a word.
const WORD: u16 = 64;

/// What follows a delivery's last word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct After {
    /// To release.
    #[bits(14)]
    pub charge: u16,
    /// It is released: the payload is written.
    pub write: bool,
    /// `RECV_COMPLETE` follows.
    pub complete: bool,
    /// Ring words to free.
    pub words: u8,
    /// Receiver's number.
    pub qpn: Qpn,
    /// Messages of the QP before this one.
    pub msn: u16,
    /// Bytes of the whole message.
    pub msg_len: u32,
    /// The peer.
    #[bits(6)]
    pub dest: u8,
}

/// Words of the ingress buffer: a constant of the build, so no bits of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingWords(u32);

impl Item for RingWords {
    fn layout(&self, _name: &str, _width: u32, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _width: u32, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// The largest payload is 128 B × (1 + this), from `csr`.
    #[bits(2)]
    pub cfg_max_payload: u8,
    /// From `rx_track`.
    pub in_valid: bool,
    /// The delivery.
    pub r#in: Delivery,
    /// From the ingress buffer.
    pub ring_rdata: Word,
    /// From `tlp_engine`.
    pub wr_ready: bool,
    /// From `completion`.
    pub comp_ready: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `rx_track`.
    pub in_ready: bool,
    /// To the ingress buffer: read this clock.
    pub ring_re: bool,
    /// Word to read.
    pub ring_raddr: u32,
    /// To `tlp_engine`.
    pub wr_valid: bool,
    /// First word of a transfer.
    pub wr_first: bool,
    /// Last word of a transfer.
    pub wr_last: bool,
    /// Address of the transfer's first byte.
    pub wr_addr: u64,
    /// Bytes of the transfer, 1 to 512.
    #[bits(10)]
    pub wr_len: u16,
    /// The word; the first one starts with the pad bytes of its DW.
    pub wr_data: Word,
    /// To `ingress_pool`: bytes released.
    pub rel_valid: bool,
    /// How many.
    #[bits(14)]
    pub rel_bytes: u16,
    /// To `ingress_pool`: ring words freed.
    pub free_valid: bool,
    /// How many.
    pub free_words: u8,
    /// To `completion`: a message is received.
    pub comp_valid: bool,
    /// Receiver's number.
    pub comp_qpn: Qpn,
    /// Messages of the QP before it.
    pub comp_msn: u16,
    /// Its bytes.
    pub comp_len: u32,
    /// The peer.
    #[bits(6)]
    pub comp_dest: u8,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order. Three stages: `a` cuts the
/// delivery and reads the ring, `b` turns the word, `w` holds it.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A delivery is being cut.
    pub a_valid: bool,
    /// Address of the next byte.
    pub a_addr: u64,
    /// Bytes of the payload still to go.
    #[bits(14)]
    pub a_left: u16,
    /// Bytes of the transfer still to go, 0 before its first word.
    #[bits(10)]
    pub a_rest: u16,
    /// Place of the next byte in the payload's words.
    #[bits(6)]
    pub a_pos: u8,
    /// Next ring word.
    pub a_word: u16,
    /// What follows.
    pub a_after: After,
    /// A word is to be turned.
    pub b_valid: bool,
    /// No word: only what follows.
    pub b_none: bool,
    /// First word of its transfer.
    pub b_first: bool,
    /// Last word of its transfer.
    pub b_last: bool,
    /// Last word of its delivery.
    pub b_end: bool,
    /// A completion follows what begins here.
    pub b_tells: bool,
    /// Bytes from the start of `prev` to the word's start, 1 to 64.
    #[bits(7)]
    pub b_turn: u8,
    /// Address of its transfer.
    pub b_addr: u64,
    /// Bytes of its transfer.
    #[bits(10)]
    pub b_len: u16,
    /// What follows.
    pub b_after: After,
    /// The ring word before the one being read.
    pub prev: Word,
    /// A word for `tlp_engine`.
    pub wr_valid: bool,
    /// First word of its transfer.
    pub wr_first: bool,
    /// Last word of its transfer.
    pub wr_last: bool,
    /// Address of its transfer.
    pub wr_addr: u64,
    /// Bytes of its transfer.
    #[bits(10)]
    pub wr_len: u16,
    /// The word.
    pub wr_data: Word,
    /// No word: only what follows.
    pub w_none: bool,
    /// Last word of its delivery.
    pub w_end: bool,
    /// What follows.
    pub w_after: After,
    /// Bytes are released.
    pub rel_valid: bool,
    /// How many.
    #[bits(14)]
    pub rel_bytes: u16,
    /// Ring words are freed.
    pub free_valid: bool,
    /// How many.
    pub free_words: u8,
    /// A message is received.
    pub comp_valid: bool,
    /// Receiver's number.
    pub comp_qpn: Qpn,
    /// Messages of the QP before it.
    pub comp_msn: u16,
    /// Its bytes.
    pub comp_len: u32,
    /// The peer.
    #[bits(6)]
    pub comp_dest: u8,
    /// Words of the ring: a parameter of the RTL.
    pub ring: RingWords,
}

/// What the delivery in `a` does in a clock.
#[derive(Clone, Copy)]
struct Cut {
    /// The word is the first of a transfer of this many bytes.
    opens: Option<u16>,
    /// Bytes of the transfer, this word's included.
    rest: u16,
    /// Bytes of this word.
    bytes: u16,
    /// There is no word.
    none: bool,
    /// It is the delivery's last.
    ends: bool,
    /// It takes another ring word.
    needs: bool,
}

/// What moves in a clock.
#[derive(Clone, Copy)]
struct Flow {
    /// What is in `w` leaves.
    done: bool,
    b_goes: bool,
    a_goes: bool,
}

/// The 64 bytes that start at byte `turn` of `low` and `high`; `turn` is 1 to 64.
fn turned(low: &Word, high: &Word, turn: u8) -> Word {
    let mut bytes = [0; 128];
    unpack(low, &mut bytes[..64]);
    unpack(high, &mut bytes[64..]);
    pack(&bytes[usize::from(turn)..][..64])
}

impl Regs {
    fn cut(&self, i: &Inputs) -> Cut {
        let pad = (self.a_addr % 4) as u16;
        let to_page = (PAGE - self.a_addr % PAGE) as u16;
        let payload = PAYLOAD_STEP * (u16::from(i.cfg_max_payload) + 1);
        let opens = (self.a_rest == 0).then(|| self.a_left.min(to_page).min(payload - pad));
        let rest = opens.unwrap_or(self.a_rest);
        let bytes = rest.min(WORD - pad);
        let none = !self.a_after.write || self.a_left == 0;
        let ends = none || bytes == self.a_left;
        let needs = !none && (self.a_pos == 0 || u16::from(self.a_pos) + bytes > WORD);
        Cut { opens, rest, bytes, none, ends, needs }
    }

    fn flow(&self, i: &Inputs) -> Flow {
        let room = !self.wr_valid || i.wr_ready;
        let before = self.holds_word() && self.w_end && self.w_after.complete;
        let meets = before || self.comp_valid && !i.comp_ready;
        let held = self.b_tells && meets;
        let b_goes = self.b_valid && room && !held;
        let a_goes = self.a_valid && (!self.b_valid || b_goes);
        Flow { done: self.wr_valid && i.wr_ready || self.w_none, b_goes, a_goes }
    }

    /// Something is in `w`.
    fn holds_word(&self) -> bool {
        self.wr_valid || self.w_none
    }

    /// What is in `w` leaves, and what follows it becomes visible.
    fn leave(&mut self) {
        self.wr_valid = false;
        self.w_none = false;
        if !self.w_end {
            return;
        }
        let after = &self.w_after;
        if after.write {
            self.rel_valid = true;
            self.rel_bytes = after.charge;
        }
        if after.words > 0 {
            self.free_valid = true;
            self.free_words = after.words;
        }
        if after.complete {
            self.comp_valid = true;
            self.comp_qpn = after.qpn;
            self.comp_msn = after.msn;
            self.comp_len = after.msg_len;
            self.comp_dest = after.dest;
        }
    }

    fn turn(&mut self, ring: &Word) {
        self.b_valid = false;
        self.wr_valid = !self.b_none;
        self.w_none = self.b_none;
        self.w_end = self.b_end;
        if !self.b_none {
            self.wr_first = self.b_first;
            self.wr_last = self.b_last;
            self.wr_addr = self.b_addr;
            self.wr_len = self.b_len;
            self.wr_data = turned(&self.prev, ring, self.b_turn);
            self.prev = *ring;
        }
        if self.b_end {
            self.w_after = self.b_after;
        }
    }

    fn advance(&mut self, cut: &Cut) {
        let pad = (self.a_addr % 4) as u8;
        let at = if self.a_pos == 0 { WORD as u8 } else { self.a_pos };
        self.b_valid = true;
        self.b_none = cut.none;
        self.b_first = cut.opens.is_some();
        self.b_last = cut.bytes == cut.rest;
        self.b_end = cut.ends;
        let last = cut.none || cut.opens == Some(self.a_left);
        self.b_tells = self.a_after.complete && last;
        self.b_turn = at - pad;
        if let Some(len) = cut.opens {
            self.b_addr = self.a_addr;
            self.b_len = len;
        }
        if cut.ends {
            self.b_after = self.a_after;
        }
        self.a_valid = !cut.ends;
        self.a_addr = self.a_addr.wrapping_add(u64::from(cut.bytes));
        self.a_left -= cut.bytes;
        self.a_rest = cut.rest - cut.bytes;
        self.a_pos = ((u16::from(self.a_pos) + cut.bytes) % WORD) as u8;
        self.a_word = ((u32::from(self.a_word) + u32::from(cut.needs)) % self.ring.0) as u16;
    }

    fn take(&mut self, d: &Delivery) {
        self.a_valid = true;
        self.a_addr = d.addr;
        self.a_left = d.len;
        self.a_rest = 0;
        self.a_pos = 0;
        self.a_word = d.word;
        self.a_after = After {
            charge: d.charge,
            write: d.write,
            complete: d.complete,
            words: d.len.div_ceil(WORD) as u8,
            qpn: d.qpn,
            msn: d.msn,
            msg_len: d.msg_len,
            dest: d.dest,
        };
    }
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            a_valid: false,
            a_addr: 0,
            a_left: 0,
            a_rest: 0,
            a_pos: 0,
            a_word: 0,
            a_after: After::default(),
            b_valid: false,
            b_none: false,
            b_first: false,
            b_last: false,
            b_end: false,
            b_tells: false,
            b_turn: 0,
            b_addr: 0,
            b_len: 0,
            b_after: After::default(),
            prev: Wide::ZERO,
            wr_valid: false,
            wr_first: false,
            wr_last: false,
            wr_addr: 0,
            wr_len: 0,
            wr_data: Wide::ZERO,
            w_none: false,
            w_end: false,
            w_after: After::default(),
            rel_valid: false,
            rel_bytes: 0,
            free_valid: false,
            free_words: 0,
            comp_valid: false,
            comp_qpn: Qpn::default(),
            comp_msn: 0,
            comp_len: 0,
            comp_dest: 0,
            ring: RingWords(sizes.ingress_words),
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.ring_re = false;
        o.ring_raddr = 0;
        o.wr_valid = self.wr_valid;
        o.wr_first = self.wr_first;
        o.wr_last = self.wr_last;
        o.wr_addr = self.wr_addr;
        o.wr_len = self.wr_len;
        o.wr_data = self.wr_data;
        o.rel_valid = self.rel_valid;
        o.rel_bytes = self.rel_bytes;
        o.free_valid = self.free_valid;
        o.free_words = self.free_words;
        o.comp_valid = self.comp_valid;
        o.comp_qpn = self.comp_qpn;
        o.comp_msn = self.comp_msn;
        o.comp_len = self.comp_len;
        o.comp_dest = self.comp_dest;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.in_ready = !self.a_valid;
        if self.flow(i).a_goes {
            let cut = self.cut(i);
            o.in_ready = cut.ends;
            o.ring_re = cut.needs;
            o.ring_raddr = if cut.needs { u32::from(self.a_word) } else { 0 };
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let flow = self.flow(i);
        self.rel_valid = false;
        self.free_valid = false;
        if i.comp_ready {
            self.comp_valid = false;
        }
        if flow.done {
            self.leave();
        }
        if flow.b_goes {
            self.turn(&i.ring_rdata);
        }
        if flow.a_goes {
            let cut = self.cut(i);
            self.advance(&cut);
        }
        if i.in_valid && o.in_ready {
            self.take(&i.r#in);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let flow = self.flow(i);
        let moves = flow.done || flow.b_goes || flow.a_goes;
        let takes = i.in_valid && !self.a_valid;
        let events = self.rel_valid || self.free_valid || self.comp_valid && i.comp_ready;
        !moves && !takes && !events
    }
}
