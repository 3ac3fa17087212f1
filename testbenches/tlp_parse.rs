//! `tlp_parse`: model and RTL get the same beats and must agree on every clock; what comes out is
//! held against the TLPs that went in, and against a host memory that is a plain array of bytes.

use std::collections::VecDeque;

use rtl_model::image::Wide;
use rtl_model::tlp_parse::{
    BAD_ADDRESS, BAD_LENGTH, BAD_ORDER, BAD_POISON, BAD_TYPE, Inputs, Outputs, Regs,
};
use testbenches::{Late, Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Length fields at which the beats, halves and lines of a completion change.
const LENGTHS: [u32; 13] = [1, 2, 15, 16, 17, 31, 32, 33, 48, 64, 127, 128, 0];

/// DWs of a line in which a payload starts.
const DW_IN_LINE: [u32; 5] = [0, 1, 2, 14, 15];

/// Percentages of clocks in which doorbell is ready, and in which a beat is there.
const PACES: [(u64, u64); 4] = [(100, 100), (75, 100), (25, 75), (50, 25)];

const CPLD: u32 = 0x4a;

/// Where a write starts, and its length in DWs: last ones inside a page and first ones over it.
const PAGE_ENDS: [(u64, u32); 6] =
    [(0xfc0, 16), (0xfc4, 16), (0xffc, 1), (0x1_0000_0ff8, 2), (0x1_0000_0ffc, 2), (0x2000, 0)];

fn after_reset(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("tlp_parse", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

/// One beat, as on the bus.
#[derive(Clone, Copy, Debug)]
struct Beat {
    sop: bool,
    eop: bool,
    hdr: [u32; 4],
    dws: u8,
    data: [u8; 128],
}

const NO_BEAT: Beat = Beat { sop: false, eop: false, hdr: [0; 4], dws: 0, data: [0; 128] };

/// A header: DW 0 from fmt, type and length field; the rest as given.
fn header(kind: u32, length: u32, dw1: u32, dw2: u32, dw3: u32) -> [u32; 4] {
    [kind << 24 | (length & 0x3ff), dw1, dw2, dw3]
}

fn completion(tag: u8, status: u32, count: usize, lower: u32, length: u32) -> [u32; 4] {
    let count = (count % 4096) as u32;
    header(
        CPLD,
        length,
        0x0200 << 16 | status << 13 | count,
        0x0100_0000 | u32::from(tag) << 8 | lower,
        0,
    )
}

/// The beats of a payload in whole DWs, behind a header.
fn beats(hdr: [u32; 4], payload: &[u8], rng: &mut Rng) -> Vec<Beat> {
    assert!(payload.len().is_multiple_of(4));
    let count = payload.len().div_ceil(128).max(1);
    let one = |n: usize| {
        let part = &payload[(128 * n).min(payload.len())..(128 * n + 128).min(payload.len())];
        let mut data = [0; 128];
        rng.fill(&mut data);
        data[..part.len()].copy_from_slice(part);
        // The header counts with the first beat only.
        let hdr = if n == 0 { hdr } else { std::array::from_fn(|_| rng.bits() as u32) };
        Beat { sop: n == 0, eop: n + 1 == count, hdr, dws: (part.len() / 4) as u8, data }
    };
    let mut one = one;
    (0..count).map(&mut one).collect()
}

/// What comes out, TLP by TLP.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    /// Tag, the lines' bytes, byte count, payload bytes, lower address, status, poison at the end.
    Completion {
        tag: u8,
        lines: Vec<u8>,
        count: u16,
        bytes: u16,
        lower: u8,
        status: u8,
        poison: bool,
    },
    /// Address, bytes, full, the first 8 of them.
    Page {
        addr: u64,
        len: u16,
        full: bool,
        head: [u8; 8],
    },
    Bad(u8),
}

/// A pair with a queue of beats before it and a list of events behind it.
struct Bench {
    pair: Lockstep<Regs>,
    queue: VecDeque<Beat>,
    shown: bool,
    lines: Vec<u8>,
    events: Vec<Event>,
    bad: Vec<u8>,
    words: usize,
}

impl Bench {
    fn new(seed: u32) -> Self {
        Self {
            pair: after_reset(seed),
            queue: VecDeque::new(),
            shown: false,
            lines: Vec::new(),
            events: Vec::new(),
            bad: Vec::new(),
            words: 0,
        }
    }

    fn clock(&mut self, ready: bool, offered: bool) -> Result<Outputs, Mismatch> {
        self.shown |= offered && !self.queue.is_empty();
        let beat = self.queue.front().copied().unwrap_or(NO_BEAT);
        let [a, b, c, d] = beat.hdr.map(u64::from);
        let out = self.pair.clock(&Inputs {
            rx_valid: self.shown,
            rx_sop: beat.sop,
            rx_eop: beat.eop,
            rx_hdr: Wide([b << 32 | a, d << 32 | c]),
            rx_dws: beat.dws,
            rx_data: Wide::from_bytes(&beat.data),
            page_ready: ready,
        })?;
        if self.shown && out.rx_ready {
            self.queue.pop_front();
            self.shown = false;
        }
        self.note(&out, ready);
        Ok(out)
    }

    fn note(&mut self, out: &Outputs, ready: bool) {
        if out.cpl_valid {
            assert_eq!(out.cpl_first, self.lines.is_empty(), "first word");
            let mut line = [0; 64];
            out.cpl_data.to_bytes(&mut line);
            self.lines.extend(line);
            self.words += 1;
            if out.cpl_last {
                self.events.push(Event::Completion {
                    tag: out.cpl_tag,
                    lines: std::mem::take(&mut self.lines),
                    count: out.cpl_count,
                    bytes: out.cpl_bytes,
                    lower: out.cpl_lower,
                    status: out.cpl_status,
                    poison: out.cpl_poison,
                });
            }
        }
        if out.page_valid && ready {
            let mut head = [0; 8];
            out.page_data.to_bytes(&mut head);
            let (addr, len, full) = (out.page_addr, out.page_len, out.page_full);
            self.events.push(Event::Page { addr, len, full, head });
        }
        if out.bad_valid {
            self.bad.push(out.bad_reason);
            self.events.push(Event::Bad(out.bad_reason));
        }
    }

    /// Clocks until everything is out.
    fn drain(&mut self, rng: &mut Rng, (ready, offered): (u64, u64)) -> Result<(), Mismatch> {
        let mut idle = 0;
        while idle < 24 {
            self.clock(rng.percent(ready), rng.percent(offered))?;
            idle = if self.queue.is_empty() { idle + 1 } else { 0 };
        }
        Ok(())
    }

    /// Completions come in the same order as bad events, pages may wait: each kind by itself.
    fn check(&mut self, want: Vec<Event>) {
        let got = std::mem::take(&mut self.events);
        let sort = |events: Vec<Event>| {
            let (pages, others): (Vec<_>, Vec<_>) =
                events.into_iter().partition(|e| matches!(e, Event::Page { .. }));
            let (bad, completions): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|e| matches!(e, Event::Bad(_)));
            [pages, bad, completions]
        };
        for (got, want) in sort(got).iter().zip(&sort(want)) {
            for (n, (got, want)) in got.iter().zip(want).enumerate() {
                assert!(same(got, want), "event {n}:\n got {got:x?}\nwant {want:x?}");
            }
            assert_eq!(got.len(), want.len(), "events of a kind");
        }
    }
}

/// Equal; of a completion's lines, only the bytes that the wanted one has set.
fn same(got: &Event, want: &Event) -> bool {
    let (Event::Completion { lines: a, .. }, Event::Completion { lines: b, lower, bytes, .. }) =
        (got, want)
    else {
        return got == want;
    };
    let from = usize::from(lower % 64);
    let payload = from..from + usize::from(*bytes);
    let strip = |e: &Event| match e.clone() {
        Event::Completion { tag, count, bytes, lower, status, poison, .. } => {
            (tag, count, bytes, lower, status, poison)
        }
        _ => unreachable!("both are completions"),
    };
    strip(got) == strip(want)
        && (a.len() == b.len() && a[payload.clone()] == b[payload] || strip(want).5)
}

/// Random completions of reads of a host memory: lines equal the memory's (PCI-1, PCI-5).
#[test]
fn pci_1_pci_5_lines_equal_host_memory() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "tlp_parse lines");
    let mut memory = vec![0; 16 * 1024];
    rng.fill(&mut memory);
    for (seed, pace) in (0..).zip(PACES) {
        let mut bench = Bench::new(seed);
        let mut want = Vec::new();
        for tag in 0..60_u8 {
            let dw = u64::from(rng.pick(&DW_IN_LINE));
            let mut at = (64 * rng.below(64) + 4 * dw + rng.below(4)) as usize;
            let page = 4096 - at % 4096;
            let mut left = (rng.pick(&[1, 2, 3, 4, 5, 60, 64, 65, 127, 500, 513, 4096])).min(page);
            let rcb = rng.pick(&[64, 128]);
            while left > 0 {
                let end = match rng.below(3) {
                    0 => (at / rcb + 1) * rcb,
                    _ => (at + 512) / rcb * rcb,
                };
                let bytes = left.min(end - at);
                let (from, to) = (at / 4 * 4, (at + bytes).div_ceil(4) * 4);
                let length = ((to - from) / 4) as u32;
                let hdr = completion(tag, 0, left, (at % 128) as u32, length);
                bench.queue.extend(beats(hdr, &memory[from..to], &mut rng));
                let lines = at / 64 * 64..(at + bytes).div_ceil(64) * 64;
                want.push(Event::Completion {
                    tag,
                    lines: memory[lines].to_vec(),
                    count: left as u16,
                    bytes: bytes as u16,
                    lower: (at % 128) as u8,
                    status: 0,
                    poison: false,
                });
                at += bytes;
                left -= bytes;
            }
        }
        bench.drain(&mut rng, pace)?;
        bench.check(want);
    }
    Ok(())
}

/// Case 11, PCI-1, QP-2: completions between pages, each page of which waits for 0 to 5 clocks until
/// `doorbell` takes it, so that the completions behind the second one wait too, come out once each.
#[test]
fn case_11_completions_count_once_whatever_waits() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "tlp_parse case 11");
    let line: Vec<u8> = (0..64).collect();
    for low in 0..=5 {
        let (mut bench, mut doorbell) = (Bench::new(3), Late::by(low));
        let (mut tags, mut pages) = (Vec::new(), Vec::new());
        for tag in 0..6 {
            bench.queue.extend(beats(header(0x40, 16, 0xff, 64 * tag, 0), &line, &mut rng));
            bench.queue.extend(beats(completion(tag as u8, 0, 64, 0, 16), &line, &mut rng));
        }
        for _ in 0..100 {
            let ready = doorbell.ready(bench.pair.regs().page_valid);
            bench.clock(ready, true)?;
        }
        for event in &bench.events {
            match event {
                Event::Completion { tag, .. } => tags.push(*tag),
                Event::Page { addr, .. } => pages.push(addr / 64),
                Event::Bad(_) => panic!("{event:?} after {low} clocks"),
            }
        }
        assert_eq!((&tags[..], &pages[..]), (&[0, 1, 2, 3, 4, 5][..], &[0, 1, 2, 3, 4, 5][..]));
    }
    Ok(())
}

/// A length field that reaches past the byte count by a DW or more stands as it is, so that
/// `payload_fetch` finds the completion to be wrong; up to 3 bytes are the last DW's rest (PCI-8).
#[test]
fn pci_8_a_length_over_the_byte_count_stands() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "tlp_parse excess");
    let mut bench = Bench::new(2);
    let mut want = Vec::new();
    for pad in 0..4 {
        for (over, stands) in [(0, false), (1, false), (3, false), (4, true), (5, true)] {
            let room = 64 - pad;
            let count = room - over;
            let bytes = if stands { room } else { count };
            let hdr = completion(9, 0, count, pad as u32, 16);
            let payload: Vec<u8> = (0..64).collect();
            bench.queue.extend(beats(hdr, &payload, &mut rng));
            want.push(Event::Completion {
                tag: 9,
                lines: payload,
                count: count as u16,
                bytes: bytes as u16,
                lower: pad as u8,
                status: 0,
                poison: false,
            });
        }
    }
    bench.drain(&mut rng, PACES[0])?;
    bench.check(want);
    Ok(())
}

/// Writes of every kind, well and badly formed: a page or one bad event each (section 13).
#[test]
fn section_13_writes_are_pages_or_counted() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "tlp_parse writes");
    for (seed, pace) in (0..).zip(PACES) {
        let mut bench = Bench::new(seed);
        let mut want = Vec::new();
        for _ in 0..300 {
            let (mut addr, mut length) = rng.pick(&PAGE_ENDS);
            if rng.percent(60) {
                (addr, length) = (rng.bits() & !3, u32::from(rng.pick(&[1_u8, 2, 16, 33, 128])));
                addr = addr & !0xfff | (addr % 0x800);
            }
            let long = addr >> 32 != 0 || rng.percent(20);
            let enables = rng.pick(&[0xff, 0xff, 0x0f, 0xf0, 0x7f]);
            let dw1 = rng.bits() as u32 & !0xff | enables;
            let hints = rng.below(4) as u32;
            let low = addr as u32 | hints;
            let mut hdr = if long {
                header(0x60, length, dw1, (addr >> 32) as u32, low)
            } else {
                header(0x40, length, dw1, low, 0)
            };
            let dws = if length == 0 { 1024 } else { length as usize };
            let poisoned = rng.percent(10);
            hdr[0] |= u32::from(poisoned) << 14;
            let mut payload = vec![0; 4 * dws];
            rng.fill(&mut payload);
            let short = rng.percent(10);
            let sent = if short { &payload[4..] } else { &payload };
            bench.queue.extend(beats(hdr, sent, &mut rng));
            // A short multi-beat one is found at its last beat, after what its first one says.
            let late = sent.len() > 128;
            want.push(match () {
                () if short && !late => Event::Bad(BAD_LENGTH),
                () if poisoned => Event::Bad(BAD_POISON),
                () if addr % 4096 + 4 * dws as u64 > 4096 => Event::Bad(BAD_ADDRESS),
                () if short => Event::Bad(BAD_LENGTH),
                () => Event::Page {
                    addr,
                    len: (4 * dws).min(2044) as u16,
                    full: enables == if dws == 1 { 0x0f } else { 0xff },
                    head: match dws {
                        1 => payload[..4].iter().chain(&[0; 4]).copied().collect::<Vec<_>>(),
                        _ => payload[..8].to_vec(),
                    }
                    .try_into()
                    .expect("8 bytes"),
                },
            });
            // One DW: what stands behind it is not the payload.
            if dws == 1
                && let Some(beat) = bench.queue.back_mut()
            {
                beat.data[4..8].fill(0);
            }
        }
        bench.drain(&mut rng, pace)?;
        bench.check(want);
    }
    Ok(())
}

/// 0 to 50 DWs (0 to 200 bytes) behind every fmt and type, length fields right and wrong: each TLP
/// is one completion, page or bad event, and nothing wedges (PCI-8).
#[test]
fn pci_8_garbage_of_every_type_and_length_is_counted() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "tlp_parse garbage");
    let mut bench = Bench::new(3);
    for kind in 0..=255 {
        for dws in 0..=50_u32 {
            let length = if rng.percent(70) { dws } else { rng.pick(&LENGTHS) };
            let mut hdr = header(kind, length, rng.bits() as u32, rng.bits() as u32, 0);
            hdr[0] |= rng.bits() as u32 & 0x00ff_fc00;
            let mut payload = vec![0; 4 * dws as usize];
            rng.fill(&mut payload);
            bench.queue.extend(beats(hdr, &payload, &mut rng));
            while !bench.queue.is_empty() {
                bench.clock(rng.percent(75), true)?;
            }
            for _ in 0..3 {
                bench.clock(true, true)?;
            }
            let events = std::mem::take(&mut bench.events);
            let bad = bench.bad.drain(..).collect::<Vec<_>>();
            let taken = matches!(kind, 0x0a | 0x40 | 0x4a | 0x60);
            match events[..] {
                [Event::Bad(reason)] => assert_eq!(reason == BAD_TYPE, !taken || is_long_tag(hdr)),
                // A completion that breaks off is also counted.
                [Event::Bad(_), Event::Completion { poison, .. }]
                | [Event::Completion { poison, .. }, Event::Bad(_)] => {
                    assert!(poison && taken && bad == [BAD_LENGTH]);
                }
                [Event::Completion { .. }] => assert!(matches!(kind, 0x0a | 0x4a)),
                [Event::Page { .. }] => assert!(matches!(kind, 0x40 | 0x60)),
                _ => panic!("{kind:02x} with {dws} DWs and length {length}: {events:x?}"),
            }
            assert!(bench.lines.is_empty(), "a completion without an end");
        }
    }
    Ok(())
}

fn is_long_tag(hdr: [u32; 4]) -> bool {
    matches!(hdr[0] >> 24, 0x0a | 0x4a) && hdr[0] & 0x0088_0000 != 0
}

/// Beats without any order: after them a right completion comes out whole, in any pace.
#[test]
fn pci_8_beats_without_order_do_not_wedge() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "tlp_parse chaos");
    let good: Vec<u8> = (0..128).collect();
    for (seed, pace) in (0..).zip(PACES) {
        let mut bench = Bench::new(10 + seed);
        for round in 0..200_u8 {
            for _ in 0..rng.between(1, 40) {
                let kind = rng.pick(&[0x4a, 0x4a, 0x4a, 0x40, 0x60, 0x0a, 0x00]);
                let length = rng.pick(&LENGTHS);
                let mut hdr = header(kind, length, rng.bits() as u32, rng.bits() as u32, 0);
                hdr[0] |= (rng.bits() as u32) & 1 << rng.pick(&[14, 19, 20]);
                let dws = match rng.below(3) {
                    0 => rng.below(256) as u8,
                    1 => 32,
                    _ => length as u8,
                };
                let mut data = [0; 128];
                rng.fill(&mut data);
                let (sop, eop) = (rng.percent(40), rng.percent(40));
                bench.queue.push_back(Beat { sop, eop, hdr, dws, data });
            }
            if round % 10 == 9 {
                for _ in 0..rng.below(20) {
                    bench.clock(rng.percent(50), true)?;
                }
                bench.pair.reset().expect("resets");
                bench.queue.clear();
                bench.lines.clear();
                bench.shown = false;
            }
            bench.queue.extend(beats(completion(round, 0, 127, 1, 32), &good, &mut rng));
            bench.drain(&mut rng, pace)?;
            let Some(Event::Completion { tag, lines, bytes, poison, .. }) =
                bench.events.iter().rfind(|e| matches!(e, Event::Completion { .. }))
            else {
                panic!("no completion");
            };
            assert_eq!((*tag, *bytes, *poison), (round, 127, false));
            assert_eq!(lines[..], good[..], "the good one, whole");
            bench.events.clear();
        }
        assert!(bench.bad.contains(&BAD_ORDER) && bench.bad.contains(&BAD_LENGTH));
    }
    Ok(())
}

/// One word a clock: aligned completions of 512 B back to back take 8 clocks each.
#[test]
fn a_word_a_clock() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "tlp_parse pace");
    let mut bench = Bench::new(0);
    for tag in 0..32 {
        bench.queue.extend(beats(completion(tag, 0, 512, 0, 128), &[7; 512], &mut rng));
    }
    // The last word is seen a clock after its beat.
    for _ in 0..=32 * 8 {
        bench.clock(true, true)?;
    }
    assert_eq!(bench.words, 32 * 8);
    Ok(())
}

/// Rows of a fixture: DW n of a beat's payload is `base` + n.
fn play(file: &str) -> Result<(), Mismatch> {
    let mut pair = after_reset(1);
    for row in Table::read(file) {
        let dw = |name: &str| row.hex(name);
        let base = row.hex("base") as u32;
        let mut data = [0; 128];
        for (n, dw) in (0..).zip(data.chunks_mut(4)) {
            dw.copy_from_slice(&(base + n).to_le_bytes());
        }
        let out = pair.clock(&Inputs {
            rx_valid: row.bit("valid"),
            rx_sop: row.bit("sop"),
            rx_eop: row.bit("eop"),
            rx_hdr: Wide([dw("dw1") << 32 | dw("dw0"), dw("dw3") << 32 | dw("dw2")]),
            rx_dws: row.dec("dws") as u8,
            rx_data: Wide::from_bytes(&data),
            page_ready: row.bit("page_ready"),
        })?;
        row.expect("ready", u8::from(out.rx_ready));
        row.expect("cpl", u8::from(out.cpl_valid));
        row.expect("ends", format!("{}{}", u8::from(out.cpl_first), u8::from(out.cpl_last)));
        row.expect("tag", format!("{:02x}", out.cpl_tag));
        row.expect("bytes", out.cpl_bytes);
        row.expect("poison", u8::from(out.cpl_poison));
        row.expect("low", format!("{:x}", out.cpl_data.0[0] as u32));
        row.expect("high", format!("{:x}", out.cpl_data.0[7] >> 32));
        row.expect("page", u8::from(out.page_valid));
        row.expect("addr", format!("{:x}", out.page_addr));
        row.expect("len", out.page_len);
        row.expect("full", u8::from(out.page_full));
        row.expect("bad", if out.bad_valid { out.bad_reason } else { 0 });
    }
    Ok(())
}

#[test]
fn pci_5_lower_address_turns_the_words() -> Result<(), Mismatch> {
    play("tlp_parse/lower_address_turns_the_words.txt")
}

#[test]
fn pci_8_each_bad_tlp_is_counted_once() -> Result<(), Mismatch> {
    play("tlp_parse/each_bad_tlp_is_counted_once.txt")
}

#[test]
fn random_tests_reach_all() -> Result<(), Mismatch> {
    let reached = Reached::begin("tlp_parse");
    pci_1_pci_5_lines_equal_host_memory()?;
    section_13_writes_are_pages_or_counted()?;
    pci_8_garbage_of_every_type_and_length_is_counted()?;
    pci_8_beats_without_order_do_not_wedge()?;
    reached.check();
    Ok(())
}
