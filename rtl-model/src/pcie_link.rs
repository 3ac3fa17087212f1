//! The NIC's end of the PCIe link, transmit side: holds TLPs, and sends each at its exact time.
//!
//! Twin of `hdl/pcie_link.sv`. PCI-2, PCI-4, PCI-6. Throughput 1 word of 64 B a clock in; out,
//! `cfg_pcie_rate` units a clock, a byte being 8,000: no remainder is lost while TLPs wait.
//!
//! Latency: a TLP whose last word is taken in clock a begins on the link at the start of clock
//! a + 3 if the link is free, else at the exact end of the one before. A TLP that ends at the start
//! of clock n, or less than a clock before, has its last beat in clock n + 1; `tlp_back` are the
//! units by which it ended before n. So the fixed latency from the exact end, rounded up to a
//! clock, is 1. Beats that are not the last go out every second clock from the second clock after
//! the begin on.
//!
//! Room: a TLP takes 16 B of header room and its payload's DWs, rounded up to 16 B, of data room
//! from its first word until it has ended; a read needs header room only. The same room is taken in
//! the host's receive buffer from its begin until the host tells on `room_*`, in units of 16 B,
//! that it is free again; a unit too many is passed over. Room told in clock a lets a TLP begin at
//! the start of clock a + 2.
//! Reads and writes alternate when both wait and have room at the host, a read first; one without
//! room there leaves its turn to the other, and has it when there is room. A link with no TLP
//! waiting forgets whose turn it was.
//!
//! A CQE write with cost 0 is off the link: it goes to `cqe_*`, one clock after the last beat of
//! the last write that was accepted before it, or 3 clocks after its own word, whichever is later.
//! It holds its room until then, and takes none at the host.
//!
//! Around it stand a `ram_1r1w` of 4,096 rows of 128 B (a TLP begins on a row, so that one read
//! gives a beat: a 65 B write lasts 1.57 clocks) and three `ram_fifo`s, depth 1,024 each, for what
//! waits: reads, writes, CQEs off the link. All 1,024 headers fit, whatever they are.
//!
//! Borders: room exactly enough and 1 B short, here and at the host; room told in the clock in
//! which more is taken; 29 and 30 B of payload (29 B: one a clock); a TLP that ends exactly with a
//! clock; a spare over the next cost; 32, 33 and 129 DWs; the wrap of the rows; 4,096 rows and
//! 1,024 headers held. Limits: one TLP starts a clock; a rate over 512,000 units (64 B a clock)
//! makes long TLPs wait for their rows; 255 DWs a TLP.

use derive::{Image, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::Wide;
use crate::sizes::Sizes;
use crate::tlp_engine::{CQE, CQE_BYTES, READ};
use crate::types::{BYTE_UNITS, Beat, Word};

/// Rows of the payload memory.
pub const ROWS: u16 = 4096;
/// TLPs that the transmit buffer can hold, and the depth of the queues around it.
pub const HEADERS: u16 = 1024;
/// Bytes of header room that a TLP takes, and what its payload is rounded up to. PCI-4.
const GRAIN: u32 = 16;
/// DWs of a row, which is a beat.
const ROW_DWS: u8 = 32;

/// A TLP that waits for the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Entry {
    /// 0 read, 1 payload write, 2 CQE write.
    #[bits(2)]
    pub kind: u8,
    /// Payload DWs.
    pub dws: u8,
    /// Bytes of time on the link.
    #[bits(13)]
    pub cost: u16,
    /// Header.
    pub hdr: Wide<2>,
}

/// A CQE that waits for the writes before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct CqeEntry {
    /// Goes once so many writes have left.
    pub after: u16,
    /// Its bytes.
    pub data: Wide<4>,
    /// Header.
    pub hdr: Wide<2>,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Inputs {
    /// Units that a clock drains, from `csr`.
    #[bits(20)]
    pub cfg_pcie_rate: u32,
    /// Bytes of header room, from `csr`.
    pub cfg_tx_hdr_buf: u32,
    /// Bytes of data room, from `csr`.
    pub cfg_tx_data_buf: u32,
    /// Bytes of header room at the host, from `csr`.
    pub cfg_far_hdr_buf: u32,
    /// Bytes of data room at the host, from `csr`.
    pub cfg_far_data_buf: u32,
    /// A word of a TLP, from `tlp_engine`.
    pub tx_valid: bool,
    /// The first of its TLP.
    pub tx_first: bool,
    /// The last of its TLP.
    pub tx_last: bool,
    /// 0 read, 1 payload write, 2 CQE write.
    #[bits(2)]
    pub tx_kind: u8,
    /// The TLP's header.
    pub tx_hdr: Wide<2>,
    /// Payload DWs.
    #[bits(10)]
    pub tx_dws: u16,
    /// Bytes of time on the link.
    #[bits(13)]
    pub tx_cost: u16,
    /// The word.
    pub tx_data: Word,
    /// The row read in the last clock that read one.
    pub buf_rdata: Beat,
    /// The queue of reads takes one.
    pub rpush_ready: bool,
    /// A read waits.
    pub rhead_valid: bool,
    /// The oldest one.
    pub rhead: Entry,
    /// The queue of writes takes one.
    pub wpush_ready: bool,
    /// A write waits.
    pub whead_valid: bool,
    /// The oldest one.
    pub whead: Entry,
    /// The queue of CQEs takes one.
    pub cpush_ready: bool,
    /// A CQE off the link waits.
    pub chead_valid: bool,
    /// The oldest one.
    pub chead: CqeEntry,
    /// The host tells that room is free again.
    pub room_valid: bool,
    /// Headers.
    pub room_hdr: u16,
    /// Units of 16 B of payload.
    pub room_data: u16,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Outputs {
    /// To `tlp_engine`.
    pub tx_ready: bool,
    /// To `tlp_engine`: units of 16 B for payload that nothing has taken.
    #[bits(28)]
    pub tx_free: u32,
    /// Write a row this clock.
    pub buf_we: bool,
    /// Row to write.
    pub buf_waddr: u32,
    /// What to write.
    pub buf_wdata: Beat,
    /// Read a row this clock.
    pub buf_re: bool,
    /// Row to read.
    pub buf_raddr: u32,
    /// A read goes to its queue.
    pub rpush_valid: bool,
    /// The read.
    pub rpush: Entry,
    /// The oldest read is taken.
    pub rhead_ready: bool,
    /// A write goes to its queue.
    pub wpush_valid: bool,
    /// The write.
    pub wpush: Entry,
    /// The oldest write is taken.
    pub whead_ready: bool,
    /// A CQE off the link goes to its queue.
    pub cpush_valid: bool,
    /// The CQE.
    pub cpush: CqeEntry,
    /// The oldest CQE is taken.
    pub chead_ready: bool,
    /// A beat, to the host.
    pub tlp_valid: bool,
    /// The first of its TLP.
    pub tlp_sop: bool,
    /// The last of its TLP.
    pub tlp_eop: bool,
    /// The TLP's header.
    pub tlp_hdr: Wide<2>,
    /// Payload DWs in this beat.
    pub tlp_dws: u8,
    /// The payload.
    pub tlp_data: Beat,
    /// With `tlp_eop`: units between the exact end and clock n.
    #[bits(20)]
    pub tlp_back: u32,
    /// A TLP has left the link; with `tlp_eop`.
    pub sent_valid: bool,
    /// What it was.
    #[bits(2)]
    pub sent_kind: u8,
    /// A CQE off the link, to the host.
    pub cqe_valid: bool,
    /// Its header.
    pub cqe_hdr: Wide<2>,
    /// Its bytes.
    pub cqe_data: Wide<4>,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// TLPs in the transmit buffer.
    #[bits(11)]
    pub held: u16,
    /// Payload bytes in it, each TLP's rounded up to 16.
    pub data_used: u32,
    /// Rows in it.
    #[bits(13)]
    pub rows_used: u16,
    /// Headers in the host's receive buffer and on the link.
    #[bits(28)]
    pub far_hdr: u32,
    /// Payload there, in units of 16 B.
    #[bits(28)]
    pub far_data: u32,
    /// The row being filled.
    pub row: Beat,
    /// Its low half is filled.
    pub row_half: bool,
    /// It is full, or ends its TLP.
    pub row_write: bool,
    /// Where it goes.
    #[bits(12)]
    pub row_tail: u16,
    /// Writes taken.
    pub writes_in: u16,
    /// `entry` goes to the reads,
    pub rpush: bool,
    /// to the writes,
    pub wpush: bool,
    /// or with the row's first 32 B to the CQEs.
    pub cpush: bool,
    /// The TLP coming in.
    pub entry: Entry,
    /// A TLP is on the link.
    pub busy: bool,
    /// Units that it still needs.
    #[bits(26)]
    pub left: u32,
    /// The TLP on the link.
    pub tlp: Entry,
    /// The last TLP begun was a read.
    pub read_last: bool,
    /// Rows of it that are not read.
    #[bits(4)]
    pub rows_left: u8,
    /// No row is read in this clock.
    pub gap: bool,
    /// Next row to read.
    #[bits(12)]
    pub row_head: u16,
    /// `buf_rdata` is a beat that is not the last,
    pub mid: bool,
    /// but the first.
    pub mid_first: bool,
    /// `done_tlp` has ended; `buf_rdata` is its last beat.
    pub done: bool,
    /// The TLP that ended.
    pub done_tlp: Entry,
    /// Units that it left of its last clock.
    #[bits(20)]
    pub done_back: u32,
    /// Writes whose last beat is out.
    pub writes_out: u16,
    /// A beat goes out.
    pub out_valid: bool,
    /// The first of its TLP.
    pub out_sop: bool,
    /// The last of its TLP.
    pub out_eop: bool,
    /// The TLP's header.
    pub out_hdr: Wide<2>,
    /// Payload DWs in this beat.
    pub out_dws: u8,
    /// The payload.
    pub out_data: Beat,
    /// Units between the exact end and clock n.
    #[bits(20)]
    pub out_back: u32,
    /// What the TLP is.
    #[bits(2)]
    pub out_kind: u8,
    /// A CQE off the link goes out.
    pub cqe_valid: bool,
    /// The CQE.
    pub cqe: CqeEntry,
}

/// Rows that so many DWs take.
fn rows_of(dws: u8) -> u8 {
    dws.div_ceil(ROW_DWS)
}

/// Data room that so many DWs take, in units of 16 B. PCI-4.
fn units_of(dws: u8) -> u32 {
    u32::from(dws.div_ceil(4))
}

/// The same in bytes.
fn room_of(dws: u8) -> u32 {
    units_of(dws) * GRAIN
}

/// The TLP coming in is a CQE off the link.
fn off_link(i: &Inputs) -> bool {
    i.tx_kind == CQE && i.tx_cost == 0
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        o.buf_we = self.row_write;
        o.buf_waddr = u32::from(self.row_tail);
        o.buf_wdata = self.row;
        o.buf_re = self.rows_left > 0 && !self.gap;
        o.buf_raddr = u32::from(self.row_head);
        o.rpush_valid = self.rpush;
        o.rpush = self.entry;
        o.wpush_valid = self.wpush;
        o.wpush = self.entry;
        o.cpush_valid = self.cpush;
        o.cpush.after = self.writes_in;
        o.cpush.data.0.copy_from_slice(&self.row.0[..4]);
        o.cpush.hdr = self.entry.hdr;
        o.tlp_valid = self.out_valid;
        o.tlp_sop = self.out_sop;
        o.tlp_eop = self.out_eop;
        o.tlp_hdr = self.out_hdr;
        o.tlp_dws = self.out_dws;
        o.tlp_data = self.out_data;
        o.tlp_back = self.out_back;
        o.sent_valid = self.out_valid && self.out_eop;
        o.sent_kind = self.out_kind;
        o.cqe_valid = self.cqe_valid;
        o.cqe_hdr = self.cqe.hdr;
        o.cqe_data = self.cqe.data;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.tx_ready = !self.stuck(i) && (!i.tx_first || self.has_room(i));
        let free = !self.busy || self.ends(i);
        o.tx_free = i.cfg_tx_data_buf.saturating_sub(self.data_used) / GRAIN;
        let (read, write) = self.fits(i);
        o.rhead_ready = free && read && !(write && self.read_last);
        o.whead_ready = free && write && !o.rhead_ready;
        o.chead_ready = self.writes_out.wrapping_sub(i.chead.after) < 0x8000;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let ends = self.ends(i);
        self.beat_out(i);
        self.cqe_out(i, o);
        self.done = ends;
        if ends {
            self.done_tlp = self.tlp;
            self.done_back = i.cfg_pcie_rate - self.left;
            self.busy = false;
            self.held -= 1;
            self.data_used -= room_of(self.tlp.dws);
            self.rows_used -= u16::from(rows_of(self.tlp.dws));
        }
        self.read_row(o.buf_re);
        if i.room_valid {
            self.far_hdr = self.far_hdr.saturating_sub(i.room_hdr.into());
            self.far_data = self.far_data.saturating_sub(i.room_data.into());
        }
        if !self.busy {
            self.begin(i, o, if ends { self.done_back } else { 0 });
        } else if self.left > i.cfg_pcie_rate {
            self.left -= i.cfg_pcie_rate;
        }
        self.word_in(i, o);
    }

    fn idle(&self, i: &Inputs) -> bool {
        let out = self.out_valid || self.cqe_valid || self.done || self.mid;
        let inward = i.tx_valid && (!i.tx_first || self.has_room(i)) || i.room_valid;
        let words = self.row_write || self.rpush || self.wpush || self.cpush;
        let (read, write) = self.fits(i);
        let waits = i.rhead_valid || i.whead_valid;
        let begins = read || write || i.chead_valid || self.read_last && !waits;
        !self.busy && !out && !inward && !words && !begins && !self.mid_first
    }
}

impl Regs {
    /// A queue does not take the entry before.
    fn stuck(&self, i: &Inputs) -> bool {
        self.rpush && !i.rpush_ready || self.wpush && !i.wpush_ready || self.cpush && !i.cpush_ready
    }

    /// A read waits and has room at the host; so does a write.
    fn fits(&self, i: &Inputs) -> (bool, bool) {
        let hdr = self.far_hdr < i.cfg_far_hdr_buf / GRAIN;
        let data = self.far_data + units_of(i.whead.dws) <= i.cfg_far_data_buf / GRAIN;
        (i.rhead_valid && hdr, i.whead_valid && hdr && data)
    }

    /// The TLP coming in fits: header, payload, and rows.
    fn has_room(&self, i: &Inputs) -> bool {
        let headers = u32::from(self.held + 1);
        let data = u64::from(self.data_used) + u64::from(room_of(i.tx_dws as u8));
        let rows = self.rows_used + u16::from(rows_of(i.tx_dws as u8));
        headers <= u32::from(HEADERS)
            && headers * GRAIN <= i.cfg_tx_hdr_buf
            && (i.tx_kind == READ || data <= u64::from(i.cfg_tx_data_buf) && rows <= ROWS)
    }

    /// The TLP on the link ends in this clock; its last row is read by then.
    fn ends(&self, i: &Inputs) -> bool {
        self.busy && self.left <= i.cfg_pcie_rate && self.rows_left < 2
    }

    /// The next TLP goes onto the free link, `spare` units ago.
    fn begin(&mut self, i: &Inputs, o: &Outputs, spare: u32) {
        self.tlp = match (o.rhead_ready, o.whead_ready) {
            (true, _) => i.rhead,
            (false, true) => i.whead,
            (false, false) => {
                self.read_last &= i.rhead_valid || i.whead_valid;
                return;
            }
        };
        self.read_last = o.rhead_ready;
        self.far_hdr += 1;
        self.far_data += units_of(self.tlp.dws);
        self.busy = true;
        self.left = (u32::from(self.tlp.cost) * BYTE_UNITS as u32).saturating_sub(spare);
        self.rows_left = rows_of(self.tlp.dws);
    }

    /// Rows of the TLP on the link: every second clock, the last one at once.
    fn read_row(&mut self, re: bool) {
        self.mid_first = re && self.rows_left == rows_of(self.tlp.dws);
        self.mid = re && self.rows_left > 1;
        self.gap = re && self.rows_left > 2;
        if re {
            self.row_head = (self.row_head + 1) % ROWS;
            self.rows_left -= 1;
        }
    }

    /// The row read in the last clock goes out: in the middle of a TLP, or at its end.
    fn beat_out(&mut self, i: &Inputs) {
        self.out_valid = self.mid || self.done;
        if self.mid {
            self.out_sop = self.mid_first;
            self.out_eop = false;
            self.out_hdr = self.tlp.hdr;
            self.out_dws = ROW_DWS;
            self.out_data = i.buf_rdata;
        }
        if self.done {
            let Entry { kind, dws, hdr, .. } = self.done_tlp;
            self.out_sop = dws <= ROW_DWS;
            self.out_eop = true;
            self.out_hdr = hdr;
            self.out_dws = dws - rows_of(dws).saturating_sub(1) * ROW_DWS;
            self.out_back = self.done_back;
            self.out_kind = kind;
            if dws > 0 {
                self.out_data = i.buf_rdata;
            }
            if kind != READ {
                self.writes_out = self.writes_out.wrapping_add(1);
            }
        }
    }

    /// A CQE off the link goes, and gives its room back.
    fn cqe_out(&mut self, i: &Inputs, o: &Outputs) {
        self.cqe_valid = i.chead_valid && o.chead_ready;
        if self.cqe_valid {
            self.cqe = i.chead;
            self.held -= 1;
            self.data_used -= u32::from(CQE_BYTES);
        }
    }

    /// A word comes in: into its row, and with the last one the TLP into its queue.
    fn word_in(&mut self, i: &Inputs, o: &Outputs) {
        if self.row_write {
            self.row_tail = (self.row_tail + 1) % ROWS;
            self.row_write = false;
        }
        if self.stuck(i) {
            return;
        }
        (self.rpush, self.wpush, self.cpush) = (false, false, false);
        if !(i.tx_valid && o.tx_ready) {
            return;
        }
        let off_link = off_link(i);
        self.entry = Entry { kind: i.tx_kind, dws: i.tx_dws as u8, cost: i.tx_cost, hdr: i.tx_hdr };
        if i.tx_kind != READ {
            let (low, high) = self.row.0.split_at_mut(8);
            if self.row_half {
                high.copy_from_slice(&i.tx_data.0);
            } else {
                low.copy_from_slice(&i.tx_data.0);
                high.fill(0);
            }
            self.row_write = (self.row_half || i.tx_last) && !off_link;
            self.row_half = !self.row_half && !i.tx_last;
        }
        if i.tx_first {
            self.held += 1;
            self.data_used += room_of(i.tx_dws as u8);
            if !off_link {
                self.rows_used += u16::from(rows_of(self.entry.dws));
            }
        }
        if i.tx_last {
            self.rpush = i.tx_kind == READ;
            self.cpush = off_link;
            self.wpush = !self.rpush && !off_link;
            self.writes_in = self.writes_in.wrapping_add(u16::from(self.wpush));
        }
    }
}
