//! Port, transmit side: turns frames into beats of 128 B on the wire, with payload, ICRC and FCS.
//!
//! Twin of `hdl/port_tx.sv`. PKT-1, PKT-2. Latency L = 3 clocks: the last beat comes exactly
//! 3 clocks after the end event; a frame's full beats come 4, 6, 8, … clocks after its start event.
//! At most 496 Gbps: then a last beat never has to come before its bytes are there, and every pace
//! from one frame of 62 B a clock down is sustained.
//!
//! A frame's payload lies in its replay slot from byte `off` on: word w of slot s is in bank w % 2
//! at row 65 × s + w / 2. Each beat reads one pair of words, the second of which is kept as residue
//! for the beat behind it; the pair before the last beat is followed without a gap. Stages: read
//! (row out), join (words in: shift, mask, header), sum (CRC), wire. The last beat waits in the sum
//! stage for its end.
//!
//! With `cfg_icrc` an IPv4 frame has an ICRC before its FCS, made in the join stage; any other
//! frame, PFC's above all, has none.
//!
//! Borders: no payload; FCS split over two beats (frame of 128 n + 1 … 3 B) or alone in the last
//! one (128 n + 4 B), and so for the ICRC (128 n + 5 … 8 B); off 0 and 63; off − `hdr_len` either side of −64 (which bank comes first);
//! 8,192 B of payload; frames back to back with one clock between start and end.
//!
//! Choices: a frame with payload has `hdr_len` > off (every data header is longer than a word).
//! What follows the header of a frame without `data` is zero. `wire_back` is zero on all but last
//! beats.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::fcs;
use crate::image::Wide;
use crate::sizes::Sizes;
use crate::types::{Beat, Frame, Word};

/// Bytes of a beat.
const BEAT: usize = 128;
/// Bytes of the FCS.
const FCS: usize = 4;
/// Bytes of the ICRC.
const ICRC: usize = 4;
/// Bits of `hdr` with the `EtherType`, and IPv4's.
const ETHERTYPE: (usize, u64) = (32, 0x0008);
/// Rows of a replay slot in each bank.
const SLOT_ROWS: u32 = 65;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Inputs {
    /// Event: a frame's serialisation starts. From `egress_arbiter`.
    pub tx_valid: bool,
    /// The frame.
    pub tx: Frame,
    /// Event: a frame's serialisation has ended. From `egress_arbiter`.
    pub end_valid: bool,
    /// How long before this clock it ended, in units.
    #[bits(20)]
    pub end_back: u32,
    /// Level: `ICRCEnable`. From `csr`.
    pub cfg_icrc: bool,
    /// Even word of the replay payload, as read.
    pub bank_rdata0: Word,
    /// Odd word of the replay payload, as read.
    pub bank_rdata1: Word,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Outputs {
    /// Banks read in this clock.
    #[bits(2)]
    pub bank_re: u8,
    /// Row of the even words.
    pub bank_raddr0: u32,
    /// Row of the odd words.
    pub bank_raddr1: u32,
    /// Event: a beat, to the wire.
    pub wire_valid: bool,
    /// First of its frame.
    pub wire_sop: bool,
    /// Last of its frame.
    pub wire_eop: bool,
    /// Bytes in it, 1 to 128.
    pub wire_bytes: u8,
    /// The bytes, zero past their end.
    pub wire_data: Beat,
    /// How long before the end event's clock the frame ended, in units.
    #[bits(20)]
    pub wire_back: u32,
    /// Event: a frame has left. To `replay_store`.
    pub gone_valid: bool,
    /// It has a replay slot.
    pub gone_data: bool,
    /// The slot.
    #[bits(10)]
    pub gone_slot: u16,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Read stage: it holds a frame.
    pub read_valid: bool,
    /// Full beats keep a clock between them.
    pub read_wait: bool,
    /// The next pair is the frame's first.
    pub read_sop: bool,
    /// Bytes of the frame from this beat on.
    #[bits(14)]
    pub read_left: u16,
    /// Header.
    #[bits(832)]
    pub read_hdr: Wide<13>,
    /// Bytes of it.
    #[bits(7)]
    pub read_hdr_len: u8,
    /// The frame has an ICRC.
    pub read_icrc: bool,
    /// Bytes follow the header from the slot.
    pub read_payload: bool,
    /// A pair begins with an odd word: in bank 1, one row back.
    pub read_odd: bool,
    /// Where the beat begins in its residue.
    #[bits(6)]
    pub read_shift: u8,
    /// Row of the pair's even word.
    #[bits(17)]
    pub read_row: u32,
    /// The frame has a replay slot.
    pub read_data: bool,
    /// The slot.
    #[bits(10)]
    pub read_slot: u16,
    /// Join stage: a beat's words are there.
    pub join_valid: bool,
    /// As in the read stage, and so are the next fields.
    pub join_sop: bool,
    /// See `read_left`.
    #[bits(14)]
    pub join_left: u16,
    /// See `read_hdr`.
    #[bits(832)]
    pub join_hdr: Wide<13>,
    /// See `read_hdr_len`.
    #[bits(7)]
    pub join_hdr_len: u8,
    /// See `read_icrc`.
    pub join_icrc: bool,
    /// See `read_payload`.
    pub join_payload: bool,
    /// See `read_odd`.
    pub join_odd: bool,
    /// See `read_shift`.
    #[bits(6)]
    pub join_shift: u8,
    /// See `read_data`.
    pub join_data: bool,
    /// See `read_slot`.
    #[bits(10)]
    pub join_slot: u16,
    /// Second word of the pair before.
    pub residue: Word,
    /// CRC register of the ICRC over the frame's bytes before this beat.
    pub icrc: u32,
    /// Sum stage: it holds a beat.
    pub sum_valid: bool,
    /// First of its frame.
    pub sum_sop: bool,
    /// Bytes of the frame from this beat on.
    #[bits(14)]
    pub sum_left: u16,
    /// The bytes, zero from the FCS on.
    pub sum_beat: Beat,
    /// The frame has a replay slot.
    pub sum_data: bool,
    /// The slot.
    #[bits(10)]
    pub sum_slot: u16,
    /// CRC register over the frame's bytes before this beat.
    pub crc: u32,
    /// An end, one clock old.
    pub end1_valid: bool,
    /// Its `back`.
    #[bits(20)]
    pub end1_back: u32,
    /// An end, two clocks old.
    pub end2_valid: bool,
    /// Its `back`.
    #[bits(20)]
    pub end2_back: u32,
    /// A beat is on the wire.
    pub wire_valid: bool,
    /// First of its frame.
    pub wire_sop: bool,
    /// Last of its frame.
    pub wire_eop: bool,
    /// Bytes in it.
    pub wire_bytes: u8,
    /// The bytes.
    pub wire_data: Beat,
    /// See `Outputs`.
    #[bits(20)]
    pub wire_back: u32,
    /// Its frame has a replay slot.
    pub gone_data: bool,
    /// The slot.
    #[bits(10)]
    pub gone_slot: u16,
}

/// How many of a beat's bytes come before the FCS, with `left` bytes from this beat on.
fn before_fcs(left: u16) -> usize {
    usize::from(left).saturating_sub(FCS).min(BEAT)
}

/// How many come before what follows the payload: the FCS, and an ICRC before it.
fn before_trailer(left: u16, icrc: bool) -> usize {
    if icrc { usize::from(left).saturating_sub(ICRC + FCS).min(BEAT) } else { before_fcs(left) }
}

/// Sets whole 8-byte groups of `out` from a wide value; faster than any number of bytes.
pub(crate) fn unpack<const N: usize>(wide: &Wide<N>, out: &mut [u8]) {
    for (group, word) in out.chunks_exact_mut(8).zip(wide.0) {
        group.copy_from_slice(&word.to_le_bytes());
    }
}

/// A wide value from whole 8-byte groups.
pub(crate) fn pack<const N: usize>(bytes: &[u8]) -> Wide<N> {
    let mut out = [0; N];
    for (word, group) in out.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*group);
    }
    Wide(out)
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        let payload = self.read_payload && before_trailer(self.read_left, self.read_icrc) > 0;
        let read = self.issues() && payload;
        // The odd word before the first even one lies in the header.
        let odd = read && !(self.read_odd && self.read_sop);
        o.bank_re = u8::from(odd) << 1 | u8::from(read);
        o.bank_raddr0 = self.read_row;
        o.bank_raddr1 = self.read_row.wrapping_sub(u32::from(self.read_odd));
        o.wire_valid = self.wire_valid;
        o.wire_sop = self.wire_sop;
        o.wire_eop = self.wire_eop;
        o.wire_bytes = self.wire_bytes;
        o.wire_data = self.wire_data;
        o.wire_back = self.wire_back;
        o.gone_valid = self.wire_valid && self.wire_eop;
        o.gone_data = self.gone_data;
        o.gone_slot = self.gone_slot;
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        // From the wire back, so that each stage finds the one before it as it was.
        let last = usize::from(self.sum_left) <= BEAT;
        self.wire_valid = self.sum_valid && (!last || self.end2_valid);
        if self.wire_valid {
            self.sum_valid = false;
            self.send(last);
        }

        self.end2_valid = self.end1_valid;
        if self.end1_valid {
            self.end2_back = self.end1_back;
        }
        self.end1_valid = i.end_valid;
        if i.end_valid {
            self.end1_back = i.end_back;
        }

        if self.join_valid {
            self.join(i);
        }

        self.join_valid = self.issues();
        self.read_wait = false;
        if self.join_valid {
            self.read();
        }
        if i.tx_valid {
            self.start(&i.tx, i.cfg_icrc);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        // A last beat may well wait in the sum stage.
        let sum_moves = self.sum_valid && usize::from(self.sum_left) > BEAT;
        let moves = self.read_valid || self.join_valid || sum_moves || self.wire_valid;
        !(moves || self.end1_valid || self.end2_valid || i.tx_valid || i.end_valid)
    }
}

impl Regs {
    /// The read stage's beat moves on.
    fn issues(&self) -> bool {
        self.read_valid && !self.read_wait
    }

    /// A frame enters the read stage.
    fn start(&mut self, frame: &Frame, enabled: bool) {
        let icrc = enabled && frame.hdr.0[1] >> ETHERTYPE.0 & 0xffff == ETHERTYPE.1;
        let bare = usize::from(frame.hdr_len) + FCS + if icrc { ICRC } else { 0 };
        // The frame's first byte is this far before its replay slot's.
        let lead = frame.hdr_len.wrapping_sub(frame.off);
        self.read_valid = true;
        self.read_wait = false;
        self.read_sop = true;
        self.read_left = frame.len;
        self.read_hdr = frame.hdr;
        self.read_hdr_len = frame.hdr_len;
        self.read_icrc = icrc;
        self.read_payload = frame.data && usize::from(frame.len) > bare;
        self.read_odd = lead > 64;
        self.read_shift = lead.wrapping_neg() % 64;
        self.read_row = u32::from(frame.slot) * SLOT_ROWS;
        self.read_data = frame.data;
        self.read_slot = frame.slot;
    }

    /// The rows of a pair go out; the rest of its beat moves to the join stage.
    fn read(&mut self) {
        self.join_sop = self.read_sop;
        self.join_left = self.read_left;
        if self.read_sop {
            self.join_hdr = self.read_hdr;
        }
        self.join_hdr_len = self.read_hdr_len;
        self.join_icrc = self.read_icrc;
        self.join_payload = self.read_payload;
        self.join_odd = self.read_odd;
        self.join_shift = self.read_shift;
        self.join_data = self.read_data;
        self.join_slot = self.read_slot;

        let left = usize::from(self.read_left);
        self.read_valid = left > BEAT;
        self.read_wait = left > 2 * BEAT; // a last beat follows at once
        self.read_sop = false;
        self.read_left = self.read_left.wrapping_sub(BEAT as u16) & 0x3fff;
        self.read_row = (self.read_row + 1) & 0x1_ffff;
    }

    /// A beat is made of header, residue and pair, up to the FCS.
    fn join(&mut self, i: &Inputs) {
        let mut beat = [0; BEAT];
        if self.join_payload {
            let pair = if self.join_odd {
                [&i.bank_rdata1, &i.bank_rdata0]
            } else {
                [&i.bank_rdata0, &i.bank_rdata1]
            };
            let mut slot = [0; 3 * BEAT / 2];
            for (bytes, word) in slot.chunks_exact_mut(64).zip([&self.residue, pair[0], pair[1]]) {
                unpack(word, bytes);
            }
            let size = before_trailer(self.join_left, self.join_icrc);
            beat[..size].copy_from_slice(&slot[usize::from(self.join_shift)..][..size]);
            self.residue = *pair[1];
        }
        if self.join_sop {
            let mut header = [0; 104];
            unpack(&self.join_hdr, &mut header);
            let len = usize::from(self.join_hdr_len).min(header.len());
            beat[..len].copy_from_slice(&header[..len]);
        }
        if self.join_icrc {
            self.add_icrc(&mut beat);
        }
        self.sum_valid = true;
        self.sum_sop = self.join_sop;
        self.sum_left = self.join_left;
        self.sum_beat = pack(&beat);
        self.sum_data = self.join_data;
        self.sum_slot = self.join_slot;
    }

    /// As much of the ICRC as the beat holds; the rest goes with the one behind it.
    fn add_icrc(&mut self, beat: &mut [u8; BEAT]) {
        let size = before_trailer(self.join_left, true);
        if size > 0 {
            let mut covered = *beat;
            if self.join_sop {
                fcs::mask(&mut covered);
            }
            let crc = if self.join_sop { fcs::ICRC_INIT } else { self.icrc };
            self.icrc = fcs::after(crc, &covered[..size]);
        }
        let icrc = (!self.icrc).to_le_bytes();
        let room = before_fcs(self.join_left) - size;
        if size > 0 {
            beat[size..][..room].copy_from_slice(&icrc[..room]);
        } else {
            beat[..room].copy_from_slice(&icrc[ICRC - room..]);
        }
    }

    /// The sum stage's beat goes to the wire, with as much of the FCS as it holds.
    fn send(&mut self, last: bool) {
        let mut beat = [0; BEAT];
        unpack(&self.sum_beat, &mut beat);
        let size = before_fcs(self.sum_left);
        if size > 0 {
            let crc = if self.sum_sop { fcs::INIT } else { self.crc };
            self.crc = fcs::after(crc, &beat[..size]);
        }
        let fcs = (!self.crc).to_le_bytes();
        if size == 0 {
            // Its first bytes, if any, went with the beat before.
            let left = usize::from(self.sum_left).clamp(1, FCS);
            beat[..left].copy_from_slice(&fcs[FCS - left..]);
        } else {
            let room = FCS.min(BEAT - size);
            beat[size..][..room].copy_from_slice(&fcs[..room]);
        }
        self.wire_sop = self.sum_sop;
        self.wire_eop = last;
        self.wire_bytes = if last { self.sum_left as u8 } else { BEAT as u8 };
        self.wire_data = pack(&beat);
        self.wire_back = if last { self.end2_back } else { 0 };
        self.gone_data = self.sum_data;
        self.gone_slot = self.sum_slot;
    }
}
