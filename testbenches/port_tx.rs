//! `port_tx`: model and RTL get the same frames and must agree on every clock; each frame must be
//! header, payload and FCS to the byte, and be on the wire when the head comment says.

use std::collections::VecDeque;

use rtl_model::block::Block;
use rtl_model::image::Wide;
use rtl_model::port_tx::{Inputs, Outputs, Regs};
use rtl_model::ram_1r1w::Ram;
use rtl_model::types::{BYTE_UNITS, Frame, Word};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table, icrc_of};

/// Clocks from an end event to the last beat.
const LATENCY: u64 = 3;
/// Rows of a slot in each bank.
const SLOT_ROWS: usize = 65;

/// Header lengths of frames with payload: both profiles, with and without a timestamp, and others.
const DATA_HEADERS: [u8; 6] = [74, 78, 102, 74, 64, 104];
/// Header lengths of control frames, and others.
const CONTROL_HEADERS: [u8; 6] = [58, 74, 90, 58, 60, 104];
/// Offsets of a payload, around where the first bank changes (off − `hdr_len` is −64) and the ends.
const OFFSETS: [u8; 10] = [0, 1, 9, 10, 11, 13, 14, 15, 62, 63];
/// Frame lengths past whole beats, around where the FCS is split or alone.
const TAILS: [u16; 9] = [0, 1, 2, 3, 4, 5, 127, 64, 126];
/// Payloads, and their neighbours.
const PAYLOADS: [u16; 9] = [0, 1, 50, 63, 64, 1024, 4096, 8191, 8192];
/// Rates in units a clock: 400 Gbps, the most a beat bus carries, and others.
pub const RATES: [u64; 5] = [400_000, 496_000, 495_999, 100_000, 250_001];

/// The pace of a link: starts and ends of frames, as the arbiter tells them.
#[derive(Clone, Default)]
pub struct Pace {
    busy: bool,
    left: u64,
    spare: u64,
}

impl Pace {
    /// One clock: how long ago the frame under way ended, if it did, and whether a frame may start.
    pub fn clock(&mut self, rate: u64) -> (Option<u64>, bool) {
        self.spare = 0;
        if !self.busy {
            return (None, true);
        }
        if self.left > rate {
            self.left -= rate;
            return (None, false);
        }
        self.busy = false;
        self.spare = rate - self.left;
        (Some(self.spare), true)
    }

    /// A frame starts after this clock.
    pub fn start(&mut self, len: u64) {
        self.busy = true;
        self.left = len * BYTE_UNITS - self.spare;
    }
}

/// Replay payload.
pub struct Banks(pub [Ram<Word>; 2]);

impl Banks {
    /// Unknown words, for that many slots.
    pub fn new(slots: u32, rng: &mut Rng) -> Self {
        let mut banks = Self([(); 2].map(|()| Ram::new(slots as usize * SLOT_ROWS)));
        banks.0.iter_mut().for_each(|bank| bank.randomize(rng));
        banks
    }

    /// The rising edge.
    pub fn clock(&mut self, o: &Outputs) {
        let rows = [o.bank_raddr0, o.bank_raddr1];
        for (n, (bank, row)) in self.0.iter_mut().zip(rows).enumerate() {
            if o.bank_re >> n & 1 == 1 {
                bank.read(row);
            }
        }
    }

    /// Bytes of a slot.
    fn bytes(&self, slot: u16, from: usize, len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(len + 64);
        for word in from / 64..(from + len).div_ceil(64) {
            let mut bytes = [0; 64];
            let row = usize::from(slot) * SLOT_ROWS + word / 2;
            self.0[word % 2].peek(row).to_bytes(&mut bytes);
            out.extend(bytes);
        }
        out.drain(..from % 64);
        out.truncate(len);
        out
    }
}

/// A frame as it must be on the wire, with or without an ICRC: the oracle, by bytes and `crc32fast`.
pub fn on_the_wire(frame: &Frame, banks: &Banks, icrc: bool) -> Vec<u8> {
    let mut bytes = vec![0; 104];
    frame.hdr.to_bytes(&mut bytes);
    bytes.truncate(usize::from(frame.hdr_len));
    let icrc = icrc && bytes[12..14] == [8, 0];
    let payload = usize::from(frame.len) - bytes.len() - if icrc { 8 } else { 4 };
    if frame.data {
        bytes.extend(banks.bytes(frame.slot, usize::from(frame.off), payload));
    } else {
        bytes.resize(bytes.len() + payload, 0);
    }
    if icrc {
        bytes.extend(icrc_of(&bytes[14..]));
    }
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

/// A frame at or near a border.
pub fn draw(rng: &mut Rng, slots: u32) -> Frame {
    let mut hdr = [0; 104];
    rng.fill(&mut hdr);
    if rng.percent(70) {
        hdr[12..14].copy_from_slice(&[8, 0]);
    }
    let data = rng.percent(70);
    let hdr_len = rng.pick(if data { &DATA_HEADERS } else { &CONTROL_HEADERS });
    let least = u16::from(hdr_len) + 8;
    let len = match rng.below(4) {
        _ if !data && rng.percent(90) => least,
        0 => least + rng.pick(&PAYLOADS),
        1 => least + rng.below(300) as u16,
        _ => (rng.between(1, 4) as u16 * 128 + rng.pick(&TAILS)).max(least),
    };
    let slot = rng.below(4) as u32 * (slots - 1) / 3;
    let off = if rng.percent(70) { rng.pick(&OFFSETS) } else { rng.below(64) as u8 };
    Frame { hdr: Wide::from_bytes(&hdr), hdr_len, len, data, slot: slot as u16, off }
}

/// A frame under way, for the check of what leaves.
struct Expected {
    bytes: Vec<u8>,
    frame: Frame,
    start: u64,
    end: Option<(u64, u64)>,
}

/// Checks beats against the frames that were started.
#[derive(Default)]
pub struct Checker {
    under_way: VecDeque<Expected>,
    sent: usize,
    /// Frames that have left whole.
    pub frames: u64,
}

impl Checker {
    fn started(&mut self, clock: u64, i: &Inputs, banks: &Banks) {
        let (frame, bytes) = (&i.tx, on_the_wire(&i.tx, banks, i.cfg_icrc));
        self.under_way.push_back(Expected { bytes, frame: *frame, start: clock, end: None });
    }

    fn ended(&mut self, clock: u64, back: u64) {
        let first = self.under_way.iter_mut().find(|e| e.end.is_none());
        first.expect("a frame is under way").end = Some((clock, back));
    }

    /// The beat due in this clock, no other, is there (PKT-1, PKT-2).
    fn check(&mut self, clock: u64, o: &Outputs) {
        let due = self.under_way.front().is_some_and(|e| {
            let full = e.bytes.len() - self.sent > 128;
            let at = e.start + LATENCY + 1 + self.sent as u64 / 64;
            if full { at == clock } else { e.end.is_some_and(|(end, _)| end + LATENCY == clock) }
        });
        assert_eq!(o.wire_valid, due, "a beat at clock {clock}");
        assert_eq!(o.gone_valid, o.wire_valid && o.wire_eop);
        if !due {
            return;
        }
        let e = &self.under_way[0];
        let bytes = &e.bytes[self.sent..];
        let size = bytes.len().min(128);
        assert_eq!(usize::from(o.wire_bytes), size);
        assert_eq!(o.wire_data, Wide::from_bytes(&bytes[..size]), "{:?}", e.frame);
        assert_eq!(o.wire_sop, self.sent == 0);
        assert_eq!(o.wire_eop, bytes.len() <= 128);
        self.sent += size;
        if o.wire_eop {
            assert_eq!(Some(u64::from(o.wire_back)), e.end.map(|(_, back)| back));
            assert_eq!((o.gone_data, o.gone_slot), (e.frame.data, e.frame.slot));
            self.under_way.pop_front();
            self.sent = 0;
            self.frames += 1;
        }
    }
}

/// Frames at a pace, into one side of a check.
pub struct Source {
    rng: Rng,
    pace: Pace,
    /// Inputs of the next clock.
    pub next: Inputs,
    /// Units a clock.
    pub rate: u64,
    /// Share of clocks in which a frame waits.
    pub load: u64,
    /// Level: `ICRCEnable`.
    pub icrc: bool,
    slots: u32,
    draw: fn(&mut Rng, u32) -> Frame,
}

impl Source {
    /// A source that waits to start, and how it draws frames for that many slots.
    pub fn new(
        seed: u64,
        slots: u32,
        rate: u64,
        load: u64,
        draw: fn(&mut Rng, u32) -> Frame,
    ) -> Self {
        let rng = Rng::new(seed, "port_tx source");
        let (pace, next) = (Pace::default(), Inputs::default());
        Self { rng, pace, next, rate, load, icrc: false, slots, draw }
    }

    /// Inputs of this clock.
    pub fn clock(&mut self, banks: &Banks) -> Inputs {
        let mut i = self.next;
        i.cfg_icrc = self.icrc;
        i.bank_rdata0 = banks.0[0].rdata;
        i.bank_rdata1 = banks.0[1].rdata;
        let (end, free) = self.pace.clock(self.rate);
        self.next = Inputs::default();
        if let Some(back) = end {
            self.next.end_valid = true;
            self.next.end_back = back as u32;
        }
        if free && self.rng.percent(self.load) {
            self.next.tx_valid = true;
            self.next.tx = (self.draw)(&mut self.rng, self.slots);
            self.pace.start(self.next.tx.len.into());
        }
        i
    }
}

fn pair(sizes: &Sizes, seed: u32) -> Lockstep<Regs> {
    Lockstep::new("port_tx", sizes, Start::Random(seed)).expect("builds")
}

/// One clock of the pair with its banks, checked.
fn step(
    pair: &mut Lockstep<Regs>,
    banks: &mut Banks,
    checker: &mut Checker,
    i: &Inputs,
) -> Result<Outputs, Mismatch> {
    let clock = pair.clocks();
    if i.end_valid {
        checker.ended(clock, i.end_back.into());
    }
    if i.tx_valid {
        checker.started(clock, i, banks);
    }
    let o = pair.clock(i)?;
    checker.check(clock, &o);
    banks.clock(&o);
    Ok(o)
}

fn random(sizes: &Sizes, seed: u32) -> Result<(), Mismatch> {
    let mut rng = Rng::new(seed.into(), "port_tx");
    let mut banks = Banks::new(sizes.slots, &mut rng);
    let mut pair = pair(sizes, seed);
    let mut frames = 0;
    for (n, rate) in RATES.into_iter().enumerate() {
        // A reset in mid-traffic at each change of pace.
        if n > 0 {
            pair.reset().expect("resets");
        }
        let mut checker = Checker::default();
        let load = rng.pick(&[100, 100, 30]);
        let mut source = Source::new(rng.bits(), sizes.slots, rate, load, draw);
        source.icrc = n % 2 == 0;
        for _ in 0..6_000 {
            let i = source.clock(&banks);
            step(&mut pair, &mut banks, &mut checker, &i)?;
        }
        frames += checker.frames;
    }
    assert!(frames > 1_000, "{frames} frames");
    Ok(())
}

/// PKT-1, PKT-2: every byte, ICRC and FCS too, and every clock of what leaves, at each pace.
#[test]
fn random_frames_leave_whole_and_in_time() -> Result<(), Mismatch> {
    let reached = Reached::begin("port_tx");
    for seed in 1..=3 {
        random(&Sizes::SMALL, seed)?;
    }
    random(&Sizes::DEFAULT, 4)?;
    reached.check();
    Ok(())
}

/// PKT-2: the shortest frames, one each 1.24 clocks at 400 Gbps and one a clock at 496.
#[test]
fn shortest_frames_leave_back_to_back() -> Result<(), Mismatch> {
    let mut rng = Rng::new(1, "port_tx shortest");
    let mut banks = Banks::new(Sizes::SMALL.slots, &mut rng);
    for (rate, frames) in [(400_000, 800), (496_000, 992)] {
        let mut pair = pair(&Sizes::SMALL, 1);
        let (mut checker, mut pace) = (Checker::default(), Pace::default());
        let mut next = Inputs::default();
        for _ in 0..1_000 {
            let i = next;
            let (end, free) = pace.clock(rate);
            next = Inputs::default();
            next.end_valid = end.is_some();
            next.end_back = end.unwrap_or(0) as u32;
            if free {
                next.tx_valid = true;
                let mut hdr = [0; 58];
                rng.fill(&mut hdr);
                next.tx = Frame { hdr: Wide::from_bytes(&hdr), hdr_len: 58, len: 62, ..next.tx };
                pace.start(62);
            }
            step(&mut pair, &mut banks, &mut checker, &i)?;
        }
        assert!(checker.frames >= frames, "{} frames at {rate}", checker.frames);
    }
    Ok(())
}

/// The model alone: a source and its banks, for other benches.
pub fn model_clock(regs: &mut Regs, banks: &mut Banks, i: &Inputs) -> Outputs {
    let mut o = Outputs::default();
    regs.drive(&mut o);
    regs.clock(i, &o);
    banks.clock(&o);
    o
}

/// PKT-2: clock by clock.
#[test]
fn last_beat_waits_for_its_end() -> Result<(), Mismatch> {
    let mut banks = Banks::new(Sizes::SMALL.slots, &mut Rng::new(1, "banks"));
    let (mut pair, mut checker) = (pair(&Sizes::SMALL, 1), Checker::default());
    for row in Table::read("port_tx/last_beat_waits_for_its_end.txt") {
        let mut i = Inputs { tx_valid: row.text("len") != "-", ..Inputs::default() };
        if i.tx_valid {
            i.tx.hdr = Wide([0x0706_0504_0302_0100; 13]);
            i.tx.hdr_len = row.dec("hdr_len") as u8;
            i.tx.len = row.dec("len") as u16;
            i.tx.off = row.dec("off") as u8;
            i.tx.data = i.tx.len > u16::from(i.tx.hdr_len) + 4;
            i.tx.slot = 2;
        }
        i.end_valid = row.text("end_back") != "-";
        i.end_back = if i.end_valid { row.dec("end_back") as u32 } else { 0 };
        i.bank_rdata0 = banks.0[0].rdata;
        i.bank_rdata1 = banks.0[1].rdata;
        let o = step(&mut pair, &mut banks, &mut checker, &i)?;
        row.expect("bank_re", o.bank_re);
        row.expect("raddr0", o.bank_raddr0);
        row.expect("raddr1", o.bank_raddr1);
        let beat = format!(
            "{}{}{}",
            o.wire_bytes,
            if o.wire_sop { "s" } else { "" },
            if o.wire_eop { "e" } else { "" }
        );
        row.expect("beat", if o.wire_valid { beat } else { "0".into() });
        row.expect("back", o.wire_back);
    }
    Ok(())
}

/// PKT-1: a frame whose FCS others have printed.
#[test]
fn pause_frame_has_its_fcs() -> Result<(), Mismatch> {
    let mut pair = pair(&Sizes::SMALL, 1);
    for row in Table::read("port_tx/pause_frame_has_its_fcs.txt") {
        let mut i = Inputs { end_valid: row.bit("end_valid"), ..Inputs::default() };
        if row.text("hdr") != "-" {
            let hdr = row.bytes("hdr");
            i.tx_valid = true;
            i.tx.hdr_len = hdr.len() as u8;
            i.tx.len = hdr.len() as u16 + 4;
            i.tx.hdr = Wide::from_bytes(&hdr);
        }
        let o = pair.clock(&i)?;
        row.expect("wire_valid", u8::from(o.wire_valid));
        let mut bytes = [0; 128];
        o.wire_data.to_bytes(&mut bytes);
        let fcs = u32::from_be_bytes(*bytes[60..].first_chunk().expect("a beat is longer"));
        row.expect("fcs", format!("{fcs:08x}"));
    }
    Ok(())
}

/// PKT-1: a packet whose ICRC another NIC has sent; without `ICRCEnable` it has none.
#[test]
fn captured_packet_has_its_icrc() -> Result<(), Mismatch> {
    let mut pair = pair(&Sizes::SMALL, 1);
    for row in Table::read("port_tx/captured_packet_has_its_icrc.txt") {
        let mut i = Inputs { end_valid: row.bit("end_valid"), ..Inputs::default() };
        i.cfg_icrc = row.bit("icrc");
        if row.text("hdr") != "-" {
            let hdr = row.bytes("hdr");
            i.tx_valid = true;
            i.tx.hdr_len = hdr.len() as u8;
            i.tx.len = hdr.len() as u16 + if i.cfg_icrc { 8 } else { 4 };
            i.tx.hdr = Wide::from_bytes(&hdr);
        }
        let o = pair.clock(&i)?;
        row.expect("wire_valid", u8::from(o.wire_valid));
        let mut bytes = [0; 128];
        o.wire_data.to_bytes(&mut bytes);
        let trailer = u64::from_be_bytes(*bytes[70..].first_chunk().expect("a beat is longer"));
        row.expect("trailer", format!("{trailer:016x}"));
    }
    Ok(())
}
