//! TLP parser: sorts what the host sends into completions of our reads and writes to our pages.
//!
//! Twin of `hdl/tlp_parse.sv`. Latency 1 clock from a beat's first half to its word, and from a
//! write's last beat to its page. Throughput: one 64-B word a clock, so a beat of a completion
//! takes 2 clocks (1 when at most 16 DWs are left); a completion that does not start on a line and
//! reaches into one more takes a clock for the rest; all other beats take 1. A write waits while
//! the one before it has not been taken; completions do not wait for it.
//!
//! PCI-1, PCI-5, PCI-8, section 13. A completion's payload starts at DW 0 of the bus, pad bytes of
//! the lower address included; its words here are lines of 64 B of the host's address, that is
//! rotated by lower address bits 5:2. Only the first completion of a read needs it.
//! `cpl_bytes`, `cpl_tag`, `cpl_status`, `cpl_count` and `cpl_lower` hold for all words of a TLP.
//! `cpl_poison`: the EP bit, on every word; and on the last word of a completion whose beats turn
//! out not to be what its length field says. So each completion ends, whatever the host does.
//! `cpl_bytes`: the payload's bytes; where the length field and the byte count do not agree, those
//! of the length field, so that `payload_fetch` finds them to be wrong.
//!
//! Each TLP ends in exactly one of: the last word of a completion, a page, a bad event; a
//! completion that is cut or has the wrong beats is also counted as bad. Reasons: 1 type that the
//! NIC does not take (all but `MWr`, Cpl and `CplD`; a tag over 8 bits), 2 length field and beats
//! disagree, 3 a beat without a start, or a start inside a TLP (that clock takes no beat),
//! 4 poisoned write, 5 write over a 4 KiB boundary. What follows up to the next end or start is
//! passed over and not counted again. A digest (TD) is taken to have been stripped below this bus.
//! `page_len` stops at 2,044 B.
//!
//! Borders: 0, 1, 31, 32, 33 DWs a beat; length 1, 16, 17, 32, 33, 128, 0 (1,024 DWs); lower
//! address bits 5:2 of 0, 1, 15, and the last DW in the same line or the next; start in the middle.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::Wide;
use crate::port_tx::{pack, unpack};
use crate::sizes::Sizes;
use crate::types::{Beat, Word};

/// A type that the NIC does not take.
pub const BAD_TYPE: u8 = 1;
/// Length field and beats disagree.
pub const BAD_LENGTH: u8 = 2;
/// A beat without a start, or a start inside a TLP.
pub const BAD_ORDER: u8 = 3;
/// A poisoned write.
pub const BAD_POISON: u8 = 4;
/// A write over a 4 KiB boundary.
pub const BAD_ADDRESS: u8 = 5;

/// DWs of a beat, and of its half.
const BEAT_DWS: u16 = 32;
const HALF_DWS: u16 = 16;

/// Where the parser is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// The next beat starts a TLP.
    #[default]
    Idle = 0,
    /// Inside a completion.
    Read = 1,
    /// What is left of a completion's last half, in a line of its own.
    Rest = 2,
    /// Inside a write.
    Write = 3,
    /// Inside a TLP that has been counted as bad.
    Skip = 4,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From the receive buffer.
    pub rx_valid: bool,
    /// First beat of a TLP.
    pub rx_sop: bool,
    /// Last beat of a TLP.
    pub rx_eop: bool,
    /// Header, with the first beat; DW 0 is the lowest.
    pub rx_hdr: Wide<2>,
    /// DWs in the beat.
    pub rx_dws: u8,
    /// Payload.
    pub rx_data: Beat,
    /// From `doorbell`.
    pub page_ready: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To the receive buffer.
    pub rx_ready: bool,
    /// To `payload_fetch`.
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
    /// To `doorbell`.
    pub page_valid: bool,
    /// Address of its first DW.
    pub page_addr: u64,
    /// Bytes of its DWs.
    #[bits(11)]
    pub page_len: u16,
    /// Every byte is enabled.
    pub page_full: bool,
    /// The first 64 B.
    pub page_data: Word,
    /// To the counters.
    pub bad_valid: bool,
    /// Why.
    #[bits(3)]
    pub bad_reason: u8,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Where the parser is.
    pub state: State,
    /// The beat's second half is next.
    pub half: bool,
    /// DWs of the TLP not yet passed on.
    #[bits(11)]
    pub left: u16,
    /// DW of the line in which the payload starts.
    #[bits(4)]
    pub rot: u8,
    /// The half before, rotated.
    pub res: Word,
    /// A word for `payload_fetch`.
    pub cpl_valid: bool,
    /// Its tag.
    pub cpl_tag: u8,
    /// First of its completion.
    pub cpl_first: bool,
    /// Last of its completion.
    pub cpl_last: bool,
    /// The word.
    pub cpl_data: Word,
    /// Payload bytes of its completion.
    #[bits(13)]
    pub cpl_bytes: u16,
    /// Status.
    #[bits(3)]
    pub cpl_status: u8,
    /// Poisoned, or broken off.
    pub cpl_poison: bool,
    /// Byte count.
    #[bits(13)]
    pub cpl_count: u16,
    /// Lower address.
    #[bits(7)]
    pub cpl_lower: u8,
    /// A write for `doorbell`.
    pub page_valid: bool,
    /// Its address.
    pub page_addr: u64,
    /// Bytes of its DWs.
    #[bits(11)]
    pub page_len: u16,
    /// Every byte is enabled.
    pub page_full: bool,
    /// The first 64 B.
    pub page_data: Word,
    /// A refused TLP.
    pub bad_valid: bool,
    /// Why.
    #[bits(3)]
    pub bad_reason: u8,
}

/// What a header says.
#[derive(Clone, Copy)]
struct Header(Wide<2>);

impl Header {
    fn dw(self, n: usize) -> u32 {
        (self.0.0[n / 2] >> (32 * (n % 2))) as u32
    }

    /// Fmt and type.
    fn kind(self) -> u8 {
        (self.dw(0) >> 24) as u8
    }

    fn has_data(self) -> bool {
        self.kind() & 0x40 != 0
    }

    fn is_completion(self) -> bool {
        let long_tag = self.dw(0) & (1 << 23 | 1 << 19) != 0;
        matches!(self.kind(), 0x0a | 0x4a) && !long_tag
    }

    fn is_write(self) -> bool {
        matches!(self.kind(), 0x40 | 0x60)
    }

    fn poisoned(self) -> bool {
        self.dw(0) & 1 << 14 != 0
    }

    /// DWs of payload.
    fn dws(self) -> u16 {
        match self.dw(0) & 0x3ff {
            _ if !self.has_data() => 0,
            0 => 1024,
            n => n as u16,
        }
    }

    /// Bytes left of the read, this completion's included.
    fn count(self) -> u16 {
        match self.dw(1) & 0xfff {
            0 => 4096,
            n => n as u16,
        }
    }

    fn lower(self) -> u8 {
        (self.dw(2) & 0x7f) as u8
    }

    /// Payload bytes of a completion: to the end of its DWs, but in the last of a read.
    fn bytes(self) -> u16 {
        if !self.has_data() {
            return 0;
        }
        let room = 4 * self.dws() - u16::from(self.lower() & 3);
        if (self.count()..self.count() + 4).contains(&room) { self.count() } else { room }
    }

    /// Address of a write's first DW.
    fn addr(self) -> u64 {
        let low = |dw: u32| u64::from(dw & !3);
        match self.kind() {
            0x60 => u64::from(self.dw(2)) << 32 | low(self.dw(3)),
            _ => low(self.dw(2)),
        }
    }

    fn crosses_page(self) -> bool {
        self.addr() % 4096 + 4 * u64::from(self.dws()) > 4096
    }

    fn all_enabled(self) -> bool {
        let enables = self.dw(1) & 0xff;
        enables == if self.dws() == 1 { 0x0f } else { 0xff }
    }
}

/// What becomes of a beat, or of its half.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It belongs to nothing, or to what has been counted.
    Pass,
    /// It is counted.
    Bad(u8),
    /// It is a completion's.
    Completion,
    /// It is a write's.
    Write,
}

impl Regs {
    fn midway(&self) -> bool {
        matches!(self.state, State::Read | State::Write)
    }

    /// The beat starts a TLP.
    fn starts(&self, i: &Inputs) -> bool {
        !self.midway() && i.rx_sop
    }

    /// A TLP starts before the one under way has ended.
    fn cut(&self, i: &Inputs) -> bool {
        self.midway() && !self.half && i.rx_sop
    }

    /// A write behind one that has not been taken.
    fn waits(&self, i: &Inputs) -> bool {
        self.page_valid && !i.page_ready && self.starts(i) && Header(i.rx_hdr).is_write()
    }

    /// DWs before this beat or half.
    fn left(&self, i: &Inputs) -> u16 {
        if self.starts(i) { Header(i.rx_hdr).dws() } else { self.left }
    }

    fn of_completion(&self, i: &Inputs) -> bool {
        self.state == State::Read || self.starts(i) && Header(i.rx_hdr).is_completion()
    }

    /// The beat is what the length field says.
    fn fits(&self, i: &Inputs) -> bool {
        let left = self.left(i);
        self.half || i.rx_eop == (left <= BEAT_DWS) && u16::from(i.rx_dws) == left.min(BEAT_DWS)
    }

    fn fate(&self, i: &Inputs) -> Fate {
        let h = Header(i.rx_hdr);
        let starts = self.starts(i);
        if self.cut(i) {
            return Fate::Bad(BAD_ORDER);
        }
        if !self.midway() && !starts {
            return if self.state == State::Idle { Fate::Bad(BAD_ORDER) } else { Fate::Pass };
        }
        if starts && !h.is_completion() && !h.is_write() {
            return Fate::Bad(BAD_TYPE);
        }
        if !self.fits(i) {
            return Fate::Bad(BAD_LENGTH);
        }
        match self.of_completion(i) {
            true => Fate::Completion,
            false if starts && h.poisoned() => Fate::Bad(BAD_POISON),
            false if starts && h.crosses_page() => Fate::Bad(BAD_ADDRESS),
            false => Fate::Write,
        }
    }

    /// One half of a completion's beat: the word it fills, and what is left of it.
    fn word(&mut self, i: &Inputs, rot: u8) {
        let half = if self.half { &i.rx_data.0[8..] } else { &i.rx_data.0[..8] };
        let half: Word = Wide(*half.first_chunk().expect("half a beat"));
        let before = 4 * usize::from(rot);
        let mut twice = [0; 128];
        unpack(&half, &mut twice[..64]);
        unpack(&half, &mut twice[64..]);
        let turned = &mut twice[64 - before..][..64];
        let rest = pack(turned);
        if before > 0 {
            let mut kept = [0; 64];
            unpack(&self.res, &mut kept);
            turned[..before].copy_from_slice(&kept[..before]);
        }
        self.cpl_data = pack(turned);
        self.res = rest;
    }

    /// Takes the beat at the input, or its half.
    fn take(&mut self, i: &Inputs) {
        let h = Header(i.rx_hdr);
        let (fate, starts, left) = (self.fate(i), self.starts(i), self.left(i));
        let cut = self.cut(i);
        let rot = match () {
            () if self.midway() => self.rot,
            () if h.has_data() => h.lower() >> 2 & 15,
            () => 0,
        };
        let ends = left <= HALF_DWS;
        let spills = ends && left + u16::from(rot) > HALF_DWS;

        if self.of_completion(i) {
            let rest = self.res;
            self.word(i, rot);
            self.cpl_valid = true;
            self.cpl_first = starts;
            self.cpl_last = matches!(fate, Fate::Bad(_)) || ends && !spills;
            if starts {
                self.cpl_tag = (h.dw(2) >> 8) as u8;
                self.cpl_bytes = h.bytes();
                self.cpl_status = (h.dw(1) >> 13 & 7) as u8;
                self.cpl_poison = h.poisoned();
                self.cpl_count = h.count();
                self.cpl_lower = h.lower();
            }
            if fate != Fate::Completion {
                self.cpl_poison = true;
                self.res = rest;
            }
        }

        match fate {
            Fate::Bad(reason) => {
                self.bad_valid = true;
                self.bad_reason = reason;
                self.state = if cut || i.rx_eop { State::Idle } else { State::Skip };
            }
            Fate::Pass => self.state = if i.rx_eop { State::Idle } else { State::Skip },
            Fate::Completion => {
                self.state = match () {
                    () if !ends => State::Read,
                    () if spills => State::Rest,
                    () => State::Idle,
                };
                self.half = !self.half && !ends;
                self.left = left.saturating_sub(HALF_DWS);
                self.rot = rot;
            }
            Fate::Write => {
                self.state = if i.rx_eop { State::Idle } else { State::Write };
                self.left = left.saturating_sub(BEAT_DWS);
                self.page_valid = i.rx_eop;
                if starts {
                    self.page_addr = h.addr();
                    self.page_len = (4 * h.dws()).min(2044);
                    self.page_full = h.all_enabled();
                    self.page_data.0.copy_from_slice(&i.rx_data.0[..8]);
                }
            }
        }
    }
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        o.cpl_valid = self.cpl_valid;
        o.cpl_tag = self.cpl_tag;
        o.cpl_first = self.cpl_first;
        o.cpl_last = self.cpl_last;
        o.cpl_data = self.cpl_data;
        o.cpl_bytes = self.cpl_bytes;
        o.cpl_status = self.cpl_status;
        o.cpl_poison = self.cpl_poison;
        o.cpl_count = self.cpl_count;
        o.cpl_lower = self.cpl_lower;
        o.page_valid = self.page_valid;
        o.page_addr = self.page_addr;
        o.page_len = self.page_len;
        o.page_full = self.page_full;
        o.page_data = self.page_data;
        o.bad_valid = self.bad_valid;
        o.bad_reason = self.bad_reason;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let two = || self.of_completion(i) && self.fits(i) && !self.half && self.left(i) > HALF_DWS;
        // Without a beat the bus has no meaning.
        let stays = i.rx_valid && (self.cut(i) || self.waits(i) || two());
        o.rx_ready = self.state != State::Rest && !stays;
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.cpl_valid = false;
        self.bad_valid = false;
        let waits = self.waits(i);
        if i.page_ready {
            self.page_valid = false;
        }
        if self.state == State::Rest {
            self.state = State::Idle;
            self.cpl_valid = true;
            self.cpl_first = false;
            self.cpl_last = true;
            self.cpl_data = self.res;
        } else if i.rx_valid && !waits {
            self.take(i);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let still = !self.cpl_valid && !self.bad_valid && self.state != State::Rest;
        still && !i.rx_valid && !(self.page_valid && i.page_ready)
    }
}
