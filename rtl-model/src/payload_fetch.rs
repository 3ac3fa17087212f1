//! Payload fetch: turns segments into reads, puts what comes back into the replay payload banks,
//! and hands segments on in the order in which they came.
//!
//! Twin of `hdl/payload_fetch.sv`. Latency: segment to its first read and to the order FIFO 2 and 1
//! clocks; completion word to bank 2 clocks; a segment's last word to its hand-off 3 clocks, head
//! waiting. Throughput: one read a clock (a segment that is one read takes a clock), but for the
//! clocks in which a completion changes its tag's record; one word a clock; one hand-off a clock.
//!
//! PCI-1: hand-off in issue order over all, whatever order the completions come in; a segment of 0
//! bytes makes no read and waits its turn.
//! PCI-5: a segment inside a 4 KiB page is one read; each page it reaches into is one, up to 3.
//! PCI-8: a completion is checked when its first word comes, against its tag's record, in this
//! order: 1 no read has the tag; 4 unsupported request, and any status without a name; 5 completer
//! abort; 2 byte count or lower address are not those that are due; 7 more bytes than are due; 6
//! none, or an end off a line before the read's end. Then 3, poisoned. Each but 1 and 3 ends the
//! read: the tag is free after the completion's last word. 3 leaves the read to its end, so that
//! what is still to come of it meets no other read. A segment with a failed read is not handed on:
//! in its turn it goes to `failed_*`, with the reason that came first. A tag comes round again after
//! all others. There is no completion timeout: a read that is never answered keeps its tag, and the
//! segments behind it wait for their turn.
//! QP-6: so does, with reason 0, one whose QP has ended by its turn.
//! BUF-5: with a prefetch buffer a segment first waits to be committed (`commit_*`), and is handed on
//! in the clock after; one whose QP ends before that has failed too.
//! SEG-5: `tags_free` counts a segment's reads as soon as it is taken; with fewer than 3 only a
//! segment of 0 bytes is taken.
//!
//! Word w of a slot is host line laddr / 64 + w; it lies in bank w % 2, row slot × 65 + w / 2.
//! `tlp_parse` gives as many words a completion as `cpl_lower` and `cpl_bytes` say.
//! tagr (TAGS words of 38 bits): its write and read ports pass through from a completion's first
//! word; the record of a tag is `Record`. A record written in the clock in which it is read is
//! taken from `fwd`.
//!
//! Borders: pages 0xfff, 0x000, 0x001 with lengths 0, 1, 4,096, 4,097, 8,192; tags wrap;
//! `tags_free` of 2 and 3; same tag in consecutive words; a record change against a new read; last
//! word, bank row 64.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BitMap, Wide};
use crate::sizes::Sizes;
use crate::types::{Segment, Word};

/// No read has the tag.
pub const BAD_TAG: u8 = 1;
/// Byte count or lower address are not those that are due.
pub const BAD_COUNT: u8 = 2;
/// Poisoned, or broken off.
pub const BAD_POISON: u8 = 3;
/// Unsupported request, or a status without a name.
pub const BAD_REQUEST: u8 = 4;
/// Completer abort.
pub const BAD_ABORT: u8 = 5;
/// No bytes, or an end off a line before the read's end.
pub const BAD_SHORT: u8 = 6;
/// More bytes than are due.
pub const BAD_LONG: u8 = 7;

/// The status of a completer abort.
const COMPLETER_ABORT: u8 = 4;

/// No read crosses a boundary of this many bytes. PCI-5.
const PAGE: u16 = 4096;
/// Reads that a segment needs at most.
const MOST_READS: u16 = 3;
/// Rows that a slot takes in each bank.
pub const SLOT_ROWS: u32 = 65;

/// What a read still waits for; a word of `tagr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Record {
    /// Replay slot.
    #[bits(10)]
    pub slot: u16,
    /// Word of the slot that comes next.
    pub line: u8,
    /// Bytes.
    #[bits(13)]
    pub left: u16,
    /// Address of the next byte.
    #[bits(7)]
    pub lower: u8,
}

/// What becomes of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum Fate {
    /// No read has its tag.
    #[default]
    Ignore = 0,
    /// Its words are stored.
    Take = 1,
    /// So are they, and it is the read's last.
    Finish = 2,
    /// It ends the read, nothing is stored.
    Kill = 3,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `tx_scheduler`.
    pub seg_valid: bool,
    /// The segment.
    pub seg: Segment,
    /// From `tlp_engine`.
    pub rd_ready: bool,
    /// From `tlp_parse`.
    pub cpl_valid: bool,
    /// Tag.
    pub cpl_tag: u8,
    /// First word of a completion.
    pub cpl_first: bool,
    /// Last word of a completion.
    pub cpl_last: bool,
    /// One line of the host's memory.
    pub cpl_data: Word,
    /// Payload bytes of the completion.
    #[bits(13)]
    pub cpl_bytes: u16,
    /// Status; 0 is success.
    #[bits(3)]
    pub cpl_status: u8,
    /// Poisoned, or broken off.
    pub cpl_poison: bool,
    /// Byte count: what is left of the read.
    #[bits(13)]
    pub cpl_count: u16,
    /// Lower address.
    #[bits(7)]
    pub cpl_lower: u8,
    /// From the order FIFO.
    pub ord_ready: bool,
    /// From the order FIFO: the oldest segment not handed on.
    pub head_valid: bool,
    /// That segment.
    pub head: Segment,
    /// From `packet_build`.
    pub hand_ready: bool,
    /// From `tx_scheduler`: the segment is committed to the wire.
    pub commit_ready: bool,
    /// From the memory `tagr`.
    pub tagr_rdata: Record,
    /// Whoever ends what cannot be sent.
    pub failed_ready: bool,
    /// From `qp_table`: QPs in error or being closed.
    pub dead: Wide<4>,
    /// From `csr`: payloads wait in the prefetch buffer.
    pub cfg_prefetch_on: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `tx_scheduler`.
    pub seg_ready: bool,
    /// To `tlp_engine`.
    pub rd_valid: bool,
    /// Address of the first byte.
    pub rd_addr: u64,
    /// Bytes, 1 to 4,096.
    #[bits(13)]
    pub rd_len: u16,
    /// Tag.
    pub rd_tag: u8,
    /// To the replay payload banks.
    #[bits(2)]
    pub bank_we: u8,
    /// Row.
    pub bank_waddr: u32,
    /// Word.
    pub bank_wdata: Word,
    /// To the order FIFO.
    pub ord_valid: bool,
    /// The segment.
    pub ord: Segment,
    /// To the order FIFO.
    pub head_ready: bool,
    /// To `packet_build`.
    pub hand_valid: bool,
    /// The segment.
    pub hand: Segment,
    /// To `tx_scheduler`: it waits to be committed to the wire; withdrawn if its QP ends.
    pub commit_valid: bool,
    /// To the memory `tagr`.
    pub tagr_we: bool,
    /// Word to write.
    pub tagr_waddr: u32,
    /// What to write.
    pub tagr_wdata: Record,
    /// Read this clock.
    pub tagr_re: bool,
    /// Word to read.
    pub tagr_raddr: u32,
    /// To `tx_scheduler`: tags that no segment has.
    #[bits(9)]
    pub tags_free: u16,
    /// To the counters: a refused completion.
    pub bad_valid: bool,
    /// Why.
    #[bits(3)]
    pub bad_reason: u8,
    /// A segment that came to nothing, in its turn.
    pub failed_valid: bool,
    /// The segment.
    pub failed: Segment,
    /// Why: the reason of the first refused completion.
    #[bits(3)]
    pub failed_reason: u8,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A segment has reads to make.
    pub cur_valid: bool,
    /// Address of its next read.
    pub cur_addr: u64,
    /// Bytes still to read.
    #[bits(14)]
    pub cur_left: u16,
    /// Its slot.
    #[bits(10)]
    pub cur_slot: u16,
    /// Word of the slot at `cur_addr`.
    pub cur_line: u8,
    /// A read for `tlp_engine`.
    pub rd_valid: bool,
    /// Its address.
    pub rd_addr: u64,
    /// Its bytes.
    #[bits(13)]
    pub rd_len: u16,
    /// Its tag.
    pub rd_tag: u8,
    /// A segment for the order FIFO.
    pub ord_valid: bool,
    /// That segment.
    pub ord: Segment,
    /// Tags with a read.
    pub busy: BitMap,
    /// The search for a free tag starts here.
    pub next_tag: u8,
    /// Tags that no segment has.
    #[bits(9)]
    pub tags_free: u16,
    /// A completion's word, with its record.
    pub c_valid: bool,
    /// Its tag.
    pub c_tag: u8,
    /// First of its completion.
    pub c_first: bool,
    /// Last of its completion.
    pub c_last: bool,
    /// The word.
    pub c_data: Word,
    /// Payload bytes of its completion.
    #[bits(13)]
    pub c_bytes: u16,
    /// Status.
    #[bits(3)]
    pub c_status: u8,
    /// Poisoned, or broken off.
    pub c_poison: bool,
    /// Byte count.
    #[bits(13)]
    pub c_count: u16,
    /// Lower address.
    #[bits(7)]
    pub c_lower: u8,
    /// A record was written in the clock before.
    pub fwd_valid: bool,
    /// Its tag.
    pub fwd_tag: u8,
    /// That record.
    pub fwd: Record,
    /// Fate of the completion under way.
    pub t_fate: Fate,
    /// Its slot.
    #[bits(10)]
    pub t_slot: u16,
    /// Word of the slot for its next word.
    pub t_line: u8,
    /// Counted as poisoned.
    pub t_poison: bool,
    /// A word for the banks.
    #[bits(2)]
    pub bank_we: u8,
    /// Its row.
    pub bank_waddr: u32,
    /// The word.
    pub bank_wdata: Word,
    /// Reads that a slot waits for, 0 to 3: the low bit.
    pub reads_low: BitMap,
    /// The high bit.
    pub reads_high: BitMap,
    /// Why a read of the slot has failed, 0 if none has: bit 0,
    pub why_0: BitMap,
    /// bit 1,
    pub why_1: BitMap,
    /// bit 2.
    pub why_2: BitMap,
    /// A segment for `packet_build`.
    pub hand_valid: bool,
    /// The same, but it has failed.
    pub failed_valid: bool,
    /// The same, but it is not committed yet.
    pub commit_valid: bool,
    /// That segment.
    pub hand: Segment,
    /// Why it has failed.
    #[bits(3)]
    pub failed_reason: u8,
    /// A refused completion.
    pub bad_valid: bool,
    /// Why.
    #[bits(3)]
    pub bad_reason: u8,
}

/// The word in `c`, judged.
struct Judged {
    fate: Fate,
    slot: u16,
    line: u8,
    /// Why it is refused, if it is, and this is the first word.
    refused: Option<u8>,
    /// The record, if the completion changes it.
    renewed: Option<Record>,
}

/// Lines of 64 B between the line at `lower` and the byte `bytes` further on.
fn lines(lower: u8, bytes: u16) -> u8 {
    ((u16::from(lower % 64) + bytes) / 64) as u8
}

/// Reads that a segment needs.
fn reads(seg: &Segment) -> u16 {
    match seg.len {
        0 => 0,
        len => ((seg.laddr % u64::from(PAGE)) as u16 + len).div_ceil(PAGE),
    }
}

/// The QP is in error or being closed.
fn dead(i: &Inputs, qp: u8) -> bool {
    i.dead.0[usize::from(qp / 64)] >> (qp % 64) & 1 == 1
}

impl Regs {
    fn judge(&self, rdata: Record) -> Judged {
        if !self.c_first {
            let (fate, slot, line) = (self.t_fate, self.t_slot, self.t_line);
            return Judged { fate, slot, line, refused: None, renewed: None };
        }
        let due = if self.fwd_valid && self.fwd_tag == self.c_tag { self.fwd } else { rdata };
        let tag = usize::from(self.c_tag);
        let (bytes, left) = (self.c_bytes, due.left);
        let after = u16::from(due.lower) + bytes;
        let on_line = after % 64 == 0;
        let as_due = self.c_count == left && self.c_lower == due.lower;
        let refused = match () {
            () if tag >= self.busy.len() || !self.busy[tag] => Some(BAD_TAG),
            () if self.c_status == COMPLETER_ABORT => Some(BAD_ABORT),
            () if self.c_status != 0 => Some(BAD_REQUEST),
            () if !as_due => Some(BAD_COUNT),
            () if bytes > left => Some(BAD_LONG),
            () if bytes == 0 || bytes < left && !on_line => Some(BAD_SHORT),
            () => None,
        };
        let fate = match refused {
            Some(BAD_TAG) => Fate::Ignore,
            Some(_) => Fate::Kill,
            None if bytes == left => Fate::Finish,
            None => Fate::Take,
        };
        let renewed = (fate == Fate::Take).then(|| Record {
            slot: due.slot,
            line: due.line.wrapping_add(lines(due.lower, bytes)),
            left: left - bytes,
            lower: (after % 128) as u8,
        });
        Judged { fate, slot: due.slot, line: due.line, refused, renewed }
    }

    /// Reads that the segment under way still has to make; their tags are kept.
    pub fn unmade(&self) -> usize {
        let offset = (self.cur_addr % u64::from(PAGE)) as u16;
        if self.cur_valid { usize::from((offset + self.cur_left).div_ceil(PAGE)) } else { 0 }
    }

    /// Bytes of the next read: to the segment's end or the page's.
    fn read_bytes(&self) -> u16 {
        let to_page = PAGE - (self.cur_addr % u64::from(PAGE)) as u16;
        self.cur_left.min(to_page)
    }

    /// The first free tag from `next_tag` on, around the end.
    fn free_tag(&self) -> usize {
        let next = usize::from(self.next_tag);
        let behind = || self.busy[..next].first_zero();
        self.busy[next..].first_zero().map(|n| next + n).or_else(behind).unwrap_or(0)
    }

    fn slot(&self, slot: u16) -> usize {
        usize::from(slot) & (self.why_0.len() - 1)
    }

    fn waits(&self, slot: u16) -> bool {
        let slot = self.slot(slot);
        self.reads_low[slot] || self.reads_high[slot]
    }

    /// Why the slot has failed; 0 if it has not.
    fn why(&self, slot: usize) -> u8 {
        let bits = [&self.why_0, &self.why_1, &self.why_2];
        bits.iter().zip(0..).map(|(bits, n)| u8::from(bits[slot]) << n).sum()
    }

    fn set_why(&mut self, slot: usize, why: u8) {
        for (bits, n) in [&mut self.why_0, &mut self.why_1, &mut self.why_2].into_iter().zip(0..) {
            bits.set(slot, why >> n & 1 != 0);
        }
    }

    fn set_reads(&mut self, slot: usize, reads: u16) {
        self.reads_low.set(slot, reads & 1 != 0);
        self.reads_high.set(slot, reads & 2 != 0);
    }

    /// The completion's word in `c`.
    fn complete(&mut self, rdata: Record) {
        let Judged { fate, slot, line, refused, .. } = self.judge(rdata);
        let at = self.slot(slot);
        let stores = matches!(fate, Fate::Take | Fate::Finish);
        let counted = self.t_poison && !self.c_first;
        let poisoned = stores && self.c_poison && !counted;
        self.t_fate = fate;
        self.t_slot = slot;
        self.t_line = line.wrapping_add(1);
        self.t_poison = counted || poisoned;

        if stores {
            self.bank_we = 1 << (line % 2);
            self.bank_waddr = u32::from(slot) * SLOT_ROWS + u32::from(line / 2);
            self.bank_wdata = self.c_data;
        }
        let reason = if poisoned { Some(BAD_POISON) } else { refused };
        if let Some(reason) = reason {
            self.bad_valid = true;
            self.bad_reason = reason;
            if fate != Fate::Ignore && self.why(at) == 0 {
                self.set_why(at, reason);
            }
        }
        if self.c_last && matches!(fate, Fate::Finish | Fate::Kill) {
            self.busy.set(usize::from(self.c_tag), false);
            self.tags_free += 1;
            let waits = u16::from(self.reads_low[at]) | u16::from(self.reads_high[at]) << 1;
            self.set_reads(at, waits.wrapping_sub(1));
        }
    }

    /// A read of the segment in `cur`.
    fn issue(&mut self, tag: u8) {
        let bytes = self.read_bytes();
        self.rd_valid = true;
        self.rd_addr = self.cur_addr;
        self.rd_len = bytes;
        self.rd_tag = tag;
        self.busy.set(usize::from(tag), true);
        self.next_tag = ((usize::from(tag) + 1) % self.busy.len()) as u8;
        self.cur_valid = bytes != self.cur_left;
        self.cur_line = self.cur_line.wrapping_add(lines(self.cur_addr as u8, bytes));
        self.cur_addr = self.cur_addr.wrapping_add(u64::from(bytes));
        self.cur_left -= bytes;
    }

    /// BUF-5: what waits is committed, or its QP has ended before.
    fn commit(&mut self, i: &Inputs) {
        if self.commit_valid && i.commit_ready {
            self.commit_valid = false;
            self.hand_valid = true;
        } else if self.commit_valid && dead(i, self.hand.qp) {
            self.commit_valid = false;
            self.failed_valid = true;
            self.failed_reason = 0;
        }
    }

    fn take(&mut self, seg: &Segment) {
        self.ord_valid = true;
        self.ord = *seg;
        if seg.len > 0 {
            self.cur_valid = true;
            self.cur_addr = seg.laddr;
            self.cur_left = seg.len;
            self.cur_slot = seg.slot;
            self.cur_line = 0;
        }
        let slot = self.slot(seg.slot);
        self.set_reads(slot, reads(seg));
        self.set_why(slot, 0);
        self.tags_free -= reads(seg);
    }
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        let tags = BitMap::repeat(false, sizes.tags as usize);
        let slots = BitMap::repeat(false, sizes.slots as usize);
        Self {
            cur_valid: false,
            cur_addr: 0,
            cur_left: 0,
            cur_slot: 0,
            cur_line: 0,
            rd_valid: false,
            rd_addr: 0,
            rd_len: 0,
            rd_tag: 0,
            ord_valid: false,
            ord: Segment::default(),
            busy: tags,
            next_tag: 0,
            tags_free: sizes.tags as u16,
            c_valid: false,
            c_tag: 0,
            c_first: false,
            c_last: false,
            c_data: Wide::ZERO,
            c_bytes: 0,
            c_status: 0,
            c_poison: false,
            c_count: 0,
            c_lower: 0,
            fwd_valid: false,
            fwd_tag: 0,
            fwd: Record::default(),
            t_fate: Fate::Ignore,
            t_slot: 0,
            t_line: 0,
            t_poison: false,
            bank_we: 0,
            bank_waddr: 0,
            bank_wdata: Wide::ZERO,
            reads_low: slots.clone(),
            reads_high: slots.clone(),
            why_0: slots.clone(),
            why_1: slots.clone(),
            why_2: slots,
            hand_valid: false,
            failed_valid: false,
            commit_valid: false,
            hand: Segment::default(),
            failed_reason: 0,
            bad_valid: false,
            bad_reason: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.rd_valid = self.rd_valid;
        o.rd_addr = self.rd_addr;
        o.rd_len = self.rd_len;
        o.rd_tag = self.rd_tag;
        o.bank_we = self.bank_we;
        o.bank_waddr = self.bank_waddr;
        o.bank_wdata = self.bank_wdata;
        o.ord_valid = self.ord_valid;
        o.ord = self.ord;
        o.hand_valid = self.hand_valid;
        o.hand = self.hand;
        o.commit_valid = self.commit_valid;
        o.tagr_we = false;
        o.tagr_waddr = 0;
        o.tagr_wdata = Record::default();
        o.tagr_re = false;
        o.tagr_raddr = 0;
        o.tags_free = self.tags_free;
        o.bad_valid = self.bad_valid;
        o.bad_reason = self.bad_reason;
        o.failed_valid = self.failed_valid;
        o.failed = self.hand;
        o.failed_reason = self.failed_reason;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let renewed = if self.c_valid { self.judge(i.tagr_rdata).renewed } else { None };
        let issues = self.cur_valid && (!self.rd_valid || i.rd_ready) && renewed.is_none();
        let completes = issues && self.read_bytes() == self.cur_left;
        let next = !self.cur_valid || completes;
        let tags = self.tags_free >= MOST_READS || i.seg.len == 0;
        o.seg_ready = tags && next && (!self.ord_valid || i.ord_ready);
        let room = (!self.hand_valid || i.hand_ready) && (!self.failed_valid || i.failed_ready);
        let room = room && !self.commit_valid;
        o.head_ready = room && i.head_valid && !self.waits(i.head.slot);

        o.tagr_we = renewed.is_some() || issues;
        if let Some(record) = renewed {
            o.tagr_waddr = u32::from(self.c_tag);
            o.tagr_wdata = record;
        } else if issues {
            o.tagr_waddr = self.free_tag() as u32;
            o.tagr_wdata = Record {
                slot: self.cur_slot,
                line: self.cur_line,
                left: self.read_bytes(),
                lower: (self.cur_addr % 128) as u8,
            };
        }
        o.tagr_re = i.cpl_valid && i.cpl_first;
        if o.tagr_re {
            o.tagr_raddr = u32::from(i.cpl_tag) & (self.busy.len() as u32 - 1);
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        self.bank_we = 0;
        self.bad_valid = false;
        self.hand_valid &= !i.hand_ready;
        self.failed_valid &= !i.failed_ready;
        self.commit(i);
        if o.head_ready {
            let why = self.why(self.slot(i.head.slot));
            let ends = why != 0 || dead(i, i.head.qp);
            self.hand_valid = !ends && !i.cfg_prefetch_on;
            self.commit_valid = !ends && i.cfg_prefetch_on;
            self.failed_valid = ends;
            self.hand = i.head;
            if ends {
                self.failed_reason = why;
            }
        }

        let mut issues = o.tagr_we;
        if self.c_valid {
            // A record that a completion changes keeps the port from a read.
            let tag = self.c_tag;
            self.complete(i.tagr_rdata);
            issues &= !(self.c_first && self.t_fate == Fate::Take);
            debug_assert!(issues || !o.tagr_we || o.tagr_waddr == u32::from(tag));
        }
        if i.rd_ready {
            self.rd_valid = false;
        }
        if issues {
            self.issue(o.tagr_waddr as u8);
        }
        if i.ord_ready {
            self.ord_valid = false;
        }
        if i.seg_valid && o.seg_ready {
            self.take(&i.seg);
        }

        self.fwd_valid = o.tagr_we;
        if o.tagr_we {
            self.fwd_tag = o.tagr_waddr as u8;
            self.fwd = o.tagr_wdata;
        }
        self.c_valid = i.cpl_valid;
        if i.cpl_valid {
            self.c_tag = i.cpl_tag;
            self.c_first = i.cpl_first;
            self.c_last = i.cpl_last;
            self.c_data = i.cpl_data;
            self.c_bytes = i.cpl_bytes;
            self.c_status = i.cpl_status;
            self.c_poison = i.cpl_poison;
            self.c_count = i.cpl_count;
            self.c_lower = i.cpl_lower;
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let events = self.bank_we != 0 || self.bad_valid || self.fwd_valid;
        let streams = self.rd_valid && i.rd_ready
            || self.ord_valid && i.ord_ready
            || self.hand_valid && i.hand_ready
            || self.failed_valid && i.failed_ready
            || self.commit_valid && (i.commit_ready || dead(i, self.hand.qp));
        let arrives = i.seg_valid || i.cpl_valid || self.c_valid || self.cur_valid;
        let hands = i.head_valid && !self.commit_valid && !self.waits(i.head.slot);
        !events && !streams && !arrives && !hands
    }
}
