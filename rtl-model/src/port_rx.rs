//! Port, receive side: checks frames and cuts their payload into words of 64 B.
//!
//! Twin of `hdl/port_rx.sv`. RX-1 (FCS, length), PKT-1 (ICRC). Latency 2 clocks from a beat to its first word,
//! and from a frame's last beat to its frame event when no word waits; one word a clock. The frame
//! event comes with the frame's last word, at most one a clock. Frames at up to 496 Gbps are
//! sustained at every size, single-beat ones one a clock.
//!
//! A queue of four beats stands between arrival, where the FCS is checked, and read-out, which puts
//! the frame's bytes from `cfg_data_hdr` on into words: none from a frame's first beat unless it is
//! also the last, two from each other full beat, up to three from the last one. A first beat takes
//! no clock of its own behind a last one. The last word's bytes past the payload are zero.
//!
//! With `cfg_icrc` the last 8 B are no payload: an ICRC, which is checked, and the FCS. Frames that
//! have none (PFC's, trimmed ones) are too short to have payload. A frame below 58 B has no right
//! ICRC.
//!
//! Borders: frames of `cfg_data_hdr` + 4 (+ 8) and one byte more; FCS split over two beats; 1, 2 and 3
//! words from a last beat; payload a multiple of 64; 8,192 B of payload and more; length at its
//! limit.
//!
//! Whatever arrives: beats before a first one are passed over. A first beat inside a frame ends
//! that frame, with a bad FCS. So does an empty last beat; a beat that is not full though not the
//! last spoils the frame, and no more words come from it. After 8,192 B no more words come. More
//! beats at a time than a link brings are lost, with the rest of their frame. More than 128 bytes
//! count as 128. `frame_words` counts the words that came.

use derive::{Image, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::fcs;
use crate::image::Wide;
use crate::port_tx::{pack, unpack};
use crate::sizes::Sizes;
use crate::types::{Beat, Word};

/// Bytes of a beat.
const BEAT: u8 = 128;
/// Beats in the queue.
const BEATS: u8 = 4;
/// Words of a frame at most: 8,192 B.
const WORDS: u8 = 128;
/// A frame with fewer bytes ends before BTH and FCS do.
const STUB: usize = 58;
/// The largest length told.
const LEN_MAX: u16 = 0x3fff;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Inputs {
    /// Event: a beat, from the wire.
    pub wire_valid: bool,
    /// First of its frame.
    pub wire_sop: bool,
    /// Last of its frame.
    pub wire_eop: bool,
    /// Bytes in it, 0 to 128.
    pub wire_bytes: u8,
    /// The bytes.
    pub wire_data: Beat,
    /// Clocks since reset.
    #[bits(48)]
    pub now: u64,
    /// Level: bytes before a data packet's payload, 64 to 125. From `csr`.
    #[bits(7)]
    pub cfg_data_hdr: u8,
    /// Level: `ICRCEnable`; then `cfg_data_hdr` is 121 at most. From `csr`.
    pub cfg_icrc: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Outputs {
    /// Event: a word of payload, to `ingress_pool`.
    pub word_valid: bool,
    /// The word.
    pub word_data: Word,
    /// Event: a frame has come, to `packet_parse`.
    pub frame_valid: bool,
    /// Its of its first beat, zero past the end.
    #[bits(832)]
    pub frame_hdr: Wide<13>,
    /// Its length with FCS; stays at 16,383.
    #[bits(14)]
    pub frame_len: u16,
    /// It is whole and its FCS is right.
    pub frame_fcs_ok: bool,
    /// Its ICRC is right, or `cfg_icrc` is clear.
    pub frame_icrc_ok: bool,
    /// Words that came of it.
    pub frame_words: u8,
    /// The clock in which its last beat came.
    #[bits(48)]
    pub frame_at: u64,
}

/// What stands beside a beat in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Tag {
    /// First of its frame.
    pub sop: bool,
    /// Last of its frame.
    pub eop: bool,
    /// The last beat of a frame with the right FCS.
    pub good: bool,
    /// And with the right ICRC, or `cfg_icrc` is clear.
    pub icrc: bool,
    /// No words from this beat.
    pub spoilt: bool,
    /// Bytes in it.
    pub bytes: u8,
    /// The clock in which it came.
    #[bits(48)]
    pub at: u64,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Arrival: inside a frame.
    pub open: bool,
    /// One of its beats was not full.
    pub spoilt: bool,
    /// CRC register over its beats so far.
    pub crc: u32,
    /// The same for the ICRC.
    pub icrc: u32,
    /// The last 3 bytes of the beat before.
    #[bits(24)]
    pub last: u32,
    /// Queue: beats, zero past their bytes.
    pub beats: [Beat; BEATS as usize],
    /// What stands beside them.
    pub tags: [Tag; BEATS as usize],
    /// The oldest one.
    #[bits(2)]
    pub head: u8,
    /// How many there are.
    #[bits(3)]
    pub count: u8,
    /// Read-out: a frame is being read out.
    pub reading: bool,
    /// Words read out of this beat.
    #[bits(2)]
    pub step: u8,
    /// Bytes of the frame in the beats before.
    #[bits(14)]
    pub len: u16,
    /// Words of the frame.
    pub words: u8,
    /// First bytes of the frame.
    #[bits(832)]
    pub hdr: Wide<13>,
    /// Second half of the beat before.
    pub carry: Word,
    /// A word goes out.
    pub word_valid: bool,
    /// The word.
    pub word_data: Word,
    /// A frame event goes out.
    pub frame_valid: bool,
    /// See `Outputs`.
    #[bits(832)]
    pub frame_hdr: Wide<13>,
    /// See `Outputs`.
    #[bits(14)]
    pub frame_len: u16,
    /// See `Outputs`.
    pub frame_fcs_ok: bool,
    /// See `Outputs`.
    pub frame_icrc_ok: bool,
    /// See `Outputs`.
    pub frame_words: u8,
    /// See `Outputs`.
    #[bits(48)]
    pub frame_at: u64,
}

/// The first bytes of a beat, as many as a frame event has.
fn header(beat: &Beat) -> Wide<13> {
    Wide(*beat.0.first_chunk().expect("a beat is longer"))
}

/// The halves of a beat.
fn halves(beat: &Beat) -> [Word; 2] {
    let half = |n: usize| Wide(*beat.0[8 * n..].first_chunk().expect("half a beat"));
    [half(0), half(1)]
}

/// `len` and `bytes` together, up to the largest length.
fn longer(len: u16, bytes: u8) -> u16 {
    (len + u16::from(bytes)).min(LEN_MAX)
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        o.word_valid = self.word_valid;
        o.word_data = self.word_data;
        o.frame_valid = self.frame_valid;
        o.frame_hdr = self.frame_hdr;
        o.frame_len = self.frame_len;
        o.frame_fcs_ok = self.frame_fcs_ok;
        o.frame_icrc_ok = self.frame_icrc_ok;
        o.frame_words = self.frame_words;
        o.frame_at = self.frame_at;
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        let held = self.count;
        let to = (self.head + held) % BEATS;
        self.word_valid = false;
        self.frame_valid = false;
        if held > 0 {
            self.read_out(i.cfg_data_hdr % 64, i.cfg_icrc);
        }
        if i.wire_valid && (i.wire_sop || self.open) {
            // A full queue loses the beat, and the rest of its frame with it.
            let room = held < BEATS;
            self.open = room && !i.wire_eop;
            if room {
                self.arrive(i, to);
            }
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        self.count == 0 && !i.wire_valid && !self.word_valid && !self.frame_valid
    }
}

impl Regs {
    /// A beat is checked and enters the queue.
    fn arrive(&mut self, i: &Inputs, to: u8) {
        let bytes = i.wire_bytes.min(BEAT);
        let whole = if i.wire_eop { bytes > 0 } else { bytes == BEAT };
        let crc = if i.wire_sop { fcs::INIT } else { self.crc };
        self.spoilt = !whole || (self.spoilt && !i.wire_sop);
        let (mut good, mut icrc) = (false, !i.cfg_icrc);
        let mut beat = i.wire_data;
        if !self.spoilt || bytes < BEAT {
            let mut raw = [0; BEAT as usize];
            unpack(&beat, &mut raw);
            let size = usize::from(bytes);
            if !self.spoilt {
                let crc = fcs::after(crc, &raw[..size]);
                if i.wire_eop {
                    good = crc == fcs::RESIDUE;
                } else {
                    self.crc = crc;
                }
                if i.cfg_icrc {
                    icrc = self.check_icrc(i, &raw[..size]);
                }
            }
            if bytes < BEAT {
                raw[size..].fill(0);
                beat = pack(&raw);
            }
        }
        let tag = Tag {
            sop: i.wire_sop,
            eop: i.wire_eop,
            good,
            icrc,
            spoilt: self.spoilt,
            bytes,
            at: i.now,
        };
        self.beats[usize::from(to)] = beat;
        self.tags[usize::from(to)] = tag;
        self.count += 1;
    }

    /// The ICRC grows by a beat; whether it is the frame's last one and the ICRC right.
    fn check_icrc(&mut self, i: &Inputs, bytes: &[u8]) -> bool {
        if i.wire_sop && bytes.len() < STUB {
            return false;
        }
        // With the last bytes of the beat before, among which an FCS may begin.
        let mut all = [0; 3 + BEAT as usize];
        all[..3].copy_from_slice(&self.last.to_le_bytes()[..3]);
        all[3..][..bytes.len()].copy_from_slice(bytes);
        let fcs = *all[..bytes.len() + 3].last_chunk().expect("more than an FCS");
        let beat = &mut all[3..][..bytes.len()];
        let mut crc = self.icrc;
        if i.wire_sop {
            crc = fcs::ICRC_INIT;
            fcs::mask(beat);
        }
        crc = fcs::after(crc, beat);
        if i.wire_eop {
            return fcs::before(crc, fcs) == fcs::RESIDUE;
        }
        self.icrc = crc;
        self.last = u32::from_le_bytes(fcs) >> 8;
        false
    }

    /// Words that a beat completes, whatever came before it.
    fn completes(tag: Tag, shift: u8, trailer: u8) -> u8 {
        let trailer = i16::from(trailer);
        // Bytes at hand past the payload's place in a word, without what follows the payload.
        let at_hand = match (tag.sop, tag.eop) {
            _ if tag.spoilt => 0,
            (true, false) => 0,
            (false, false) => 2 * 64,
            (true, true) => i16::from(tag.bytes) - trailer - 64 - i16::from(shift),
            (false, true) => i16::from(tag.bytes) - trailer + 64 - i16::from(shift),
        };
        at_hand.max(0).cast_unsigned().div_ceil(64) as u8
    }

    /// One word of the oldest beat, or all of it when it has none.
    fn read_out(&mut self, shift: u8, icrc: bool) {
        let at = usize::from(self.head);
        let tag = self.tags[at];
        let trailer = if icrc { 8 } else { 4 };
        if tag.sop && self.reading {
            // The frame before never ended.
            self.reading = false;
            self.tell(self.hdr, self.len, [false, !icrc], tag.at);
            return;
        }
        let base = if tag.sop { 0 } else { self.words - self.step };
        let wanted = Self::completes(tag, shift, trailer);
        let some = wanted.min(WORDS - base);
        if some > 0 {
            let cut = tag.eop && self.step + 1 == wanted;
            self.word(at, tag, shift, cut.then_some(trailer));
        }
        self.words = base + self.step + u8::from(some > 0);
        self.step += 1;
        if self.step < some {
            return;
        }

        self.step = 0;
        self.pop(at, tag);
        if tag.eop {
            self.tell(self.hdr, self.len, [tag.good, tag.icrc], tag.at);
            let next = usize::from(self.head);
            let beat = self.tags[next];
            if self.count > 0 && beat.sop && !beat.eop {
                // The next frame's first beat has no word: it goes along.
                self.words = 0;
                self.pop(next, beat);
            }
        }
    }

    /// The oldest beat leaves the queue; the frame grows by it.
    fn pop(&mut self, at: usize, tag: Tag) {
        self.head = (self.head + 1) % BEATS;
        self.count -= 1;
        self.reading = !tag.eop;
        self.len = longer(if tag.sop { 0 } else { self.len }, tag.bytes);
        self.carry = halves(&self.beats[at])[1];
        if tag.sop {
            self.hdr = header(&self.beats[at]);
        }
    }

    /// A word goes out; with the bytes behind the payload when that ends in it.
    fn word(&mut self, at: usize, tag: Tag, shift: u8, trailer: Option<u8>) {
        let [low, high] = halves(&self.beats[at]);
        let pair = match self.step {
            _ if tag.sop => [high, Wide::ZERO],
            0 => [self.carry, low],
            1 => [low, high],
            _ => [high, Wide::ZERO],
        };
        let mut bytes = [0; 128];
        unpack(&pair[0], &mut bytes[..64]);
        unpack(&pair[1], &mut bytes[64..]);
        let bytes = &mut bytes[usize::from(shift)..][..64];
        if let Some(trailer) = trailer {
            let tail = tag.bytes.wrapping_sub(trailer).wrapping_sub(shift) % 64;
            if tail > 0 {
                bytes[usize::from(tail)..].fill(0);
            }
        }
        self.word_valid = true;
        self.word_data = pack(bytes);
    }

    /// A frame event goes out; whether FCS and ICRC are right, and when its last beat came.
    fn tell(&mut self, hdr: Wide<13>, len: u16, [fcs_ok, icrc_ok]: [bool; 2], at: u64) {
        self.frame_valid = true;
        self.frame_hdr = hdr;
        self.frame_len = len;
        self.frame_fcs_ok = fcs_ok;
        self.frame_icrc_ok = icrc_ok;
        self.frame_words = self.words;
        self.frame_at = at;
    }
}
