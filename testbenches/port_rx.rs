//! `port_rx`: model and RTL get the same beats and must agree on every clock; of each frame the
//! words of its payload come, then its frame event, as a reference by bytes says.

use std::collections::VecDeque;

use rtl_model::image::Wide;
use rtl_model::port_rx::{Inputs, Outputs, Regs};
use rtl_model::port_tx;
use rtl_model::timer_wheel::END;
use rtl_model::types::{Beat, Frame};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table, icrc_of};

use crate::port_tx::{Banks, RATES, Source, draw, model_clock, on_the_wire};

/// Bytes before the payload, of both profiles, and the ends of the range.
const DATA_HDRS: [u8; 5] = [74, 102, 74, 64, 125];
/// Bytes of a last beat: around each number of words, and around the FCS.
const LAST: [u8; 14] = [0, 1, 3, 4, 5, 14, 15, 62, 78, 79, 82, 127, 128, 255];

/// What must come of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
struct Frames {
    hdr: Wide<13>,
    len: u16,
    fcs_ok: bool,
    icrc_ok: bool,
    words: Vec<[u8; 64]>,
    /// When its last beat came.
    at: u64,
}

/// The reference: bytes of the frame under way, and what must come of those before.
#[derive(Default)]
struct Reference {
    data_hdr: usize,
    icrc: bool,
    under_way: Option<Vec<u8>>,
    /// Bytes of its first beat.
    first: usize,
    /// Words that the frame under way may have, once spoilt.
    limit: Option<usize>,
    now: u64,
    due: VecDeque<Frames>,
}

impl Reference {
    fn new(data_hdr: u8, icrc: bool) -> Self {
        Self { data_hdr: data_hdr.into(), icrc, ..Self::default() }
    }

    fn levels(&self) -> Inputs {
        let cfg_data_hdr = self.data_hdr as u8;
        Inputs { cfg_data_hdr, cfg_icrc: self.icrc, ..Inputs::default() }
    }

    /// The frame under way is over; `whole` when a last beat with bytes was there.
    fn over(&mut self, whole: bool) {
        let Some(mut bytes) = self.under_way.take() else { return };
        let mut frame = Frames {
            hdr: Wide::from_bytes(&bytes[..self.first.min(104)]),
            len: bytes.len().min(0x3fff) as u16,
            icrc_ok: !self.icrc,
            at: self.now,
            ..Frames::default()
        };
        let whole = whole && self.limit.is_none();
        let mut limit = self.limit.take().unwrap_or(128).min(128);
        if whole {
            let fcs = bytes.split_off(bytes.len().saturating_sub(4));
            frame.fcs_ok = fcs == crc32fast::hash(&bytes).to_le_bytes();
            if self.icrc {
                let icrc = bytes.split_off(bytes.len().saturating_sub(4));
                frame.icrc_ok = bytes.len() >= 50 && icrc == icrc_of(&bytes[14..]);
            }
        } else {
            limit = limit.min(full_words(bytes.len()));
        }
        let payload = bytes.get(self.data_hdr..).unwrap_or_default();
        for word in payload.chunks(64).take(limit) {
            let mut padded = [0; 64];
            padded[..word.len()].copy_from_slice(word);
            frame.words.push(padded);
        }
        self.due.push_back(frame);
    }

    fn beat(&mut self, i: &Inputs) {
        self.now = i.now;
        if !i.wire_valid {
            return;
        }
        if i.wire_sop {
            self.over(false);
            self.under_way = Some(Vec::new());
            self.first = i.wire_bytes.min(128).into();
            self.limit = None;
        }
        let Some(bytes) = &mut self.under_way else { return };
        let size = usize::from(i.wire_bytes.min(128));
        let bad = if i.wire_eop { size == 0 } else { size < 128 };
        if bad && self.limit.is_none() {
            self.limit = Some(full_words(bytes.len()));
        }
        let mut beat = [0; 128];
        i.wire_data.to_bytes(&mut beat);
        bytes.extend(&beat[..size]);
        if i.wire_eop {
            self.over(true);
        }
    }
}

/// Words that have come of the full beats of a frame that goes on: two of each but the first.
fn full_words(bytes: usize) -> usize {
    2 * (bytes / 128).saturating_sub(1)
}

/// Gathers what comes.
#[derive(Default)]
struct Sink {
    words: Vec<[u8; 64]>,
    frames: u64,
}

impl Sink {
    /// The frame that is told in this clock, with the words since the one before (RX-1).
    fn take(&mut self, o: &Outputs) -> Option<Frames> {
        if o.word_valid {
            let mut word = [0; 64];
            o.word_data.to_bytes(&mut word);
            self.words.push(word);
        }
        if !o.frame_valid {
            return None;
        }
        let words = std::mem::take(&mut self.words);
        assert_eq!(usize::from(o.frame_words), words.len());
        assert!(words.len() <= 128);
        self.frames += 1;
        Some(Frames {
            hdr: o.frame_hdr,
            len: o.frame_len,
            fcs_ok: o.frame_fcs_ok,
            icrc_ok: o.frame_icrc_ok,
            at: o.frame_at,
            words,
        })
    }
}

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("port_rx", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

/// One clock, held against the reference.
fn step(
    pair: &mut Lockstep<Regs>,
    reference: &mut Reference,
    sink: &mut Sink,
    i: &Inputs,
) -> Result<(), Mismatch> {
    // RTT-1: clocks across the wrap of the count.
    let now = (pair.clocks() + END - 1_000) & END;
    let i = &Inputs { now, ..*i };
    reference.beat(i);
    let o = pair.clock(i)?;
    if let Some(frame) = sink.take(&o) {
        assert_eq!(Some(frame), reference.due.pop_front(), "at clock {}", pair.clocks());
    }
    Ok(())
}

/// Clocks without a beat; then all frames have come.
fn drain(
    pair: &mut Lockstep<Regs>,
    reference: &mut Reference,
    sink: &mut Sink,
) -> Result<(), Mismatch> {
    let i = reference.levels();
    for _ in 0..12 {
        step(pair, reference, sink, &i)?;
    }
    assert_eq!(reference.due, [], "frames that never came");
    Ok(())
}

/// Frames that just fill or just overfill what a clock can carry.
fn dense(rng: &mut Rng, slots: u32) -> Frame {
    let mut frame = draw(rng, slots);
    let len = match rng.below(4) {
        0 => 62,
        1 => rng.between(62, 128),
        2 => rng.between(129, 300),
        _ => rng.between(300, 700),
    };
    frame.len = (len as u16).max(u16::from(frame.hdr_len) + 8);
    frame
}

/// PKT-1, PKT-2, RX-1: what `port_tx` sends at each pace comes back, but for flipped bits.
fn looped(seed: u32, draw: fn(&mut Rng, u32) -> Frame, clocks: u32) -> Result<u64, Mismatch> {
    let slots = Sizes::SMALL.slots;
    let mut rng = Rng::new(seed.into(), "port_rx");
    let mut banks = Banks::new(slots, &mut rng);
    let mut pair = pair(seed);
    let mut frames = 0;
    for rate in RATES {
        pair.reset().expect("resets");
        let icrc = rng.percent(50);
        let most = if icrc { 121 } else { 125 };
        let mut reference = Reference::new(rng.pick(&DATA_HDRS).min(most), icrc);
        let mut sink = Sink::default();
        let mut source = Source::new(rng.bits(), slots, rate, 100, draw);
        source.icrc = icrc;
        let mut tx = port_tx::Regs::default();
        let mut under_way = VecDeque::new();
        for _ in 0..clocks {
            let sent = source.clock(&banks);
            if sent.tx_valid {
                let mut bytes = on_the_wire(&sent.tx, &banks, icrc);
                if rng.percent(10) {
                    let at = rng.below(bytes.len() as u64) as usize;
                    bytes[at] ^= 1 << rng.below(8);
                    if rng.percent(30) {
                        // A router that spoils what it forwards: the FCS is right again.
                        let end = bytes.len() - 4;
                        let fcs = crc32fast::hash(&bytes[..end]).to_le_bytes();
                        bytes[end..].copy_from_slice(&fcs);
                    }
                }
                under_way.push_back(bytes);
            }
            let o = model_clock(&mut tx, &mut banks, &sent);
            let mut i = reference.levels();
            if o.wire_valid {
                i.wire_valid = true;
                i.wire_sop = o.wire_sop;
                i.wire_eop = o.wire_eop;
                i.wire_bytes = o.wire_bytes;
                let size = usize::from(o.wire_bytes);
                let rest = under_way[0].split_off(size);
                i.wire_data = Wide::from_bytes(&under_way[0]);
                under_way[0] = rest;
                if o.wire_eop {
                    under_way.pop_front();
                }
            }
            step(&mut pair, &mut reference, &mut sink, &i)?;
        }
        drain(&mut pair, &mut reference, &mut sink)?;
        frames += sink.frames;
    }
    Ok(frames)
}

#[test]
fn what_port_tx_sends_comes_back() -> Result<(), Mismatch> {
    for seed in 1..=3 {
        assert!(looped(seed, draw, 5_000)? > 500);
    }
    Ok(())
}

/// Short frames at every pace: none is lost, whatever words the ones before have left.
#[test]
fn short_frames_come_back_to_back() -> Result<(), Mismatch> {
    for seed in 1..=3 {
        assert!(looped(seed, dense, 5_000)? > 2_000);
    }
    Ok(())
}

/// Beats of any kind; some frames are right.
struct Garbage {
    rng: Rng,
    crc: crc32fast::Hasher,
    gap: u64,
    quiet: u64,
}

impl Garbage {
    fn new(seed: u64, gap: u64) -> Self {
        Self { rng: Rng::new(seed, "garbage"), crc: crc32fast::Hasher::new(), gap, quiet: 0 }
    }

    fn clock(&mut self, data_hdr: u8) -> Inputs {
        let mut i = Inputs { cfg_data_hdr: data_hdr, ..Inputs::default() };
        let rng = &mut self.rng;
        let mut bytes = [0; 128];
        rng.fill(&mut bytes);
        i.wire_data = Wide::from_bytes(&bytes);
        if self.quiet > 0 {
            self.quiet -= 1;
            return i;
        }
        self.quiet =
            if self.gap == 0 { u64::from(rng.percent(20)) } else { rng.below(3) + self.gap };
        i.wire_valid = true;
        i.wire_sop = rng.percent(20);
        i.wire_eop = rng.percent(25);
        i.wire_bytes = if i.wire_eop || rng.percent(4) { rng.pick(&LAST) } else { 128 };
        if i.wire_sop {
            self.crc.reset();
        }
        let size = usize::from(i.wire_bytes.min(128));
        if i.wire_eop && size >= 4 {
            self.crc.update(&bytes[..size - 4]);
            if rng.percent(80) {
                let fcs = self.crc.clone().finalize().to_le_bytes();
                bytes[size - 4..size].copy_from_slice(&fcs);
                i.wire_data = Wide::from_bytes(&bytes);
            }
            self.crc.reset();
        } else {
            self.crc.update(&bytes[..size]);
        }
        i
    }
}

/// RX-1: no first beat, two of them, empty and short beats: each frame is told as it came.
#[test]
fn broken_frames_are_told() -> Result<(), Mismatch> {
    for seed in 1..=4 {
        let mut garbage = Garbage::new(seed, 3);
        let mut pair = pair(seed as u32);
        let icrc = seed % 2 == 0;
        let data_hdr = DATA_HDRS[seed as usize].min(if icrc { 121 } else { 125 });
        let (mut reference, mut sink) = (Reference::new(data_hdr, icrc), Sink::default());
        for _ in 0..10_000 {
            let i = Inputs { cfg_icrc: icrc, ..garbage.clock(data_hdr) };
            step(&mut pair, &mut reference, &mut sink, &i)?;
        }
        assert!(sink.frames > 300, "{} frames", sink.frames);
    }
    Ok(())
}

/// RX-1: more beats than a link brings; words and frames still fit together.
#[test]
fn a_flood_is_survived() -> Result<(), Mismatch> {
    for seed in 1..=4 {
        let mut garbage = Garbage::new(seed, 0);
        let mut pair = pair(seed as u32);
        let mut sink = Sink::default();
        for clock in 0..10_000 {
            if clock % 3_000 == 2_999 {
                pair.reset().expect("resets");
                sink.words.clear();
            }
            let o = pair.clock(&garbage.clock(DATA_HDRS[seed as usize]))?;
            sink.take(&o);
        }
        assert!(sink.frames > 400, "{} frames", sink.frames);
        // A right frame is told as right, after whatever was.
        let quiet = Inputs { cfg_data_hdr: DATA_HDRS[seed as usize], ..Inputs::default() };
        let frame: Vec<u8> =
            (0..60).chain(crc32fast::hash(&(0..60).collect::<Vec<_>>()).to_le_bytes()).collect();
        for _ in 0..12 {
            sink.take(&pair.clock(&quiet)?);
        }
        let wire_data = Wide::from_bytes(&frame);
        let one = Inputs {
            wire_valid: true,
            wire_sop: true,
            wire_eop: true,
            wire_bytes: 64,
            wire_data,
            ..quiet
        };
        let mut last = sink.take(&pair.clock(&one)?);
        for _ in 0..4 {
            last = sink.take(&pair.clock(&quiet)?).or(last);
        }
        assert!(last.is_some_and(|f| f.fcs_ok && f.len == 64));
    }
    Ok(())
}

/// RX-1: 8,192 B of payload and a byte more; far more, up to where the length stays.
#[test]
fn long_frames_stop_at_the_limit() -> Result<(), Mismatch> {
    let mut rng = Rng::new(1, "long");
    let mut pair = pair(1);
    for data_hdr in [74, 102] {
        let (mut reference, mut sink) = (Reference::new(data_hdr, false), Sink::default());
        for len in [2112, 8192, 8193, 8192 + 64, 8192 + 129, 16_383, 16_384, 16_385, 20_000] {
            let len = if len < 10_000 { len + usize::from(data_hdr) + 4 } else { len };
            let mut bytes = vec![0; len - 4];
            rng.fill(&mut bytes);
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            for (n, beat) in bytes.chunks(128).enumerate() {
                let mut i = Inputs { cfg_data_hdr: data_hdr, ..Inputs::default() };
                step(&mut pair, &mut reference, &mut sink, &i)?;
                i.wire_valid = true;
                i.wire_sop = n == 0;
                i.wire_eop = (n + 1) * 128 >= len;
                i.wire_bytes = beat.len() as u8;
                i.wire_data = Wide::from_bytes(beat);
                step(&mut pair, &mut reference, &mut sink, &i)?;
            }
        }
        drain(&mut pair, &mut reference, &mut sink)?;
        assert_eq!(sink.frames, 9);
    }
    Ok(())
}

/// Bytes counted from 1 within their frame, none of them zero.
fn counted(from: usize) -> Beat {
    let mut bytes = [0; 128];
    for (n, byte) in bytes.iter_mut().enumerate() {
        *byte = ((from + n) % 251) as u8 + 1;
    }
    Wide::from_bytes(&bytes)
}

/// RX-1: clock by clock.
#[test]
fn frame_follows_its_words() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    let mut from = 0;
    for row in Table::read("port_rx/frame_follows_its_words.txt") {
        let mut i = Inputs { cfg_data_hdr: 74, ..Inputs::default() };
        let beat = row.text("beat");
        if beat != "-" {
            i.wire_valid = true;
            i.wire_sop = beat.contains('s');
            i.wire_eop = beat.ends_with('e');
            i.wire_bytes = beat.trim_end_matches(['s', 'e']).parse().expect("bytes of a beat");
            from = if i.wire_sop { 0 } else { from + 128 };
            i.wire_data = counted(from);
        }
        let o = pair.clock(&i)?;
        let mut word = [0; 64];
        o.word_data.to_bytes(&mut word);
        let bytes = word.iter().filter(|b| **b != 0).count();
        let word = if o.word_valid { format!("{}+{bytes}", word[0]) } else { "0".into() };
        row.expect("word", word);
        row.expect("frame", u8::from(o.frame_valid));
        row.expect("len", o.frame_len);
        row.expect("words", o.frame_words);
    }
    Ok(())
}

/// RX-1: a frame whose FCS others have printed, and the same with a bit turned.
#[test]
fn pause_frame_is_right() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read("port_rx/pause_frame_is_right.txt") {
        let mut i = Inputs { cfg_data_hdr: 74, ..Inputs::default() };
        if row.text("frame") != "-" {
            let bytes = row.bytes("frame");
            i.wire_valid = true;
            i.wire_sop = true;
            i.wire_eop = true;
            i.wire_bytes = bytes.len() as u8;
            i.wire_data = Wide::from_bytes(&bytes);
        }
        let o = pair.clock(&i)?;
        row.expect("frame_valid", u8::from(o.frame_valid));
        row.expect("len", o.frame_len);
        row.expect("fcs_ok", u8::from(o.frame_fcs_ok));
    }
    Ok(())
}

/// PKT-1, RX-1: a packet whose ICRC another NIC has sent, spoilt, and forwarded.
#[test]
fn captured_icrc_is_right() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read("port_rx/captured_icrc_is_right.txt") {
        let mut i = Inputs { cfg_data_hdr: 74, cfg_icrc: row.bit("icrc"), ..Inputs::default() };
        if row.text("frame") != "-" {
            let bytes = row.bytes("frame");
            i.wire_valid = true;
            i.wire_sop = true;
            i.wire_eop = true;
            i.wire_bytes = bytes.len() as u8;
            i.wire_data = Wide::from_bytes(&bytes);
        }
        let o = pair.clock(&i)?;
        row.expect("frame_valid", u8::from(o.frame_valid));
        row.expect("len", o.frame_len);
        row.expect("fcs_ok", u8::from(o.frame_fcs_ok));
        row.expect("icrc_ok", u8::from(o.frame_icrc_ok));
    }
    Ok(())
}

#[test]
fn random_tests_reach_all() -> Result<(), Mismatch> {
    let reached = Reached::begin("port_rx");
    what_port_tx_sends_comes_back()?;
    short_frames_come_back_to_back()?;
    broken_frames_are_told()?;
    a_flood_is_survived()?;
    long_frames_stop_at_the_limit()?;
    reached.check();
    Ok(())
}
