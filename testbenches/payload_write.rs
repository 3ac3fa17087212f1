//! `payload_write`: model and RTL get the same deliveries and ring words and must agree on every
//! clock; what the transfers write is held against a host memory that is a plain array of bytes.

use std::collections::VecDeque;

use rtl_model::payload_write::{Inputs, Outputs, Regs};
use rtl_model::ram_1r1w::Ram;
use rtl_model::types::{Delivery, Qpn, Word};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Bytes of the host memory.
const HOST: usize = 64 * 1024;

/// Lengths at which words, transfers and pages change.
const LENGTHS: [u16; 17] =
    [0, 1, 3, 4, 5, 63, 64, 65, 509, 511, 512, 513, 1024, 4095, 4096, 8191, 8192];

/// Offsets in a page: each byte of a DW, the last transfer before the end, the end, the start.
const OFFSETS: [u64; 17] = [
    0x000, 0x001, 0x002, 0x003, 0x03d, 0x040, 0xdff, 0xe00, 0xe01, 0xe02, 0xe03, 0xe04, 0xfc1,
    0xffc, 0xffd, 0xffe, 0xfff,
];

/// Percentages of clocks in which a delivery is there, `tlp_engine` and completion are ready.
const PACES: [(u64, u64, u64); 5] =
    [(100, 100, 100), (100, 75, 25), (75, 25, 75), (25, 100, 100), (100, 50, 5)];

/// Transfers of a payload: from `addr`, at most `most` bytes with the pad bytes, none over a page.
fn transfers(addr: u64, len: u16, most: u64) -> Vec<(u64, u16)> {
    let mut out = Vec::new();
    let (mut at, end) = (addr, addr + u64::from(len));
    while at < end {
        let dw = at / 4 * 4;
        let page = (at / 4096 + 1) * 4096;
        let next = end.min(page).min(dw + most);
        out.push((at, (next - at) as u16));
        at = next;
    }
    out
}

/// What a delivery leads to, in order.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Transfer(u64, u16),
    Release(u16),
    Free(u8),
    Complete { qpn: u32, msn: u16, len: u32, dest: u8 },
}

/// A pair between a ring and a host memory.
struct Bench {
    pair: Lockstep<Regs>,
    /// The largest payload, 128 to 512.
    payload: u16,
    ring: Ram<Word>,
    base: u64,
    host: Vec<u8>,
    want: Vec<u8>,
    queue: VecDeque<Delivery>,
    shown: bool,
    word: usize,
    at: usize,
    accepted: u64,
    events: Vec<Event>,
    expected: Vec<Event>,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u32, rng: &mut Rng) -> Self {
        let mut words = Ram::new(sizes.ingress_words as usize);
        words.randomize(rng);
        Self {
            pair: Lockstep::new("payload_write", sizes, Start::Random(seed)).expect("builds"),
            payload: 512,
            ring: words,
            // Two bases between which every bit of an address changes.
            base: [0x0123_4567_89ab_0000, 0xfedc_ba98_7654_0000][seed as usize % 2],
            host: vec![0; HOST],
            want: vec![0; HOST],
            queue: VecDeque::new(),
            shown: false,
            word: sizes.ingress_words as usize - 3,
            at: 0,
            accepted: 0,
            events: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// Puts a payload into the ring and queues its delivery.
    fn deliver(&mut self, mut d: Delivery, rng: &mut Rng) {
        d.word = self.word as u16;
        let mut payload = vec![0; usize::from(d.len)];
        rng.fill(&mut payload);
        for chunk in payload.chunks(64) {
            let mut bytes = [0; 64];
            rng.fill(&mut bytes);
            bytes[..chunk.len()].copy_from_slice(chunk);
            self.ring.poke(self.word, Word::from_bytes(&bytes));
            self.word = (self.word + 1) % self.ring.depth();
        }
        if d.write {
            let from = (d.addr - self.base) as usize;
            self.want[from..from + payload.len()].copy_from_slice(&payload);
            let transfers = transfers(d.addr, d.len, self.payload.into()).into_iter();
            self.expected.extend(transfers.map(|(addr, len)| Event::Transfer(addr, len)));
            self.expected.push(Event::Release(d.charge));
        }
        if d.len > 0 {
            self.expected.push(Event::Free(d.len.div_ceil(64) as u8));
        }
        if d.complete {
            let (qpn, msn, len, dest) = (d.qpn.0, d.msn, d.msg_len, d.dest);
            self.expected.push(Event::Complete { qpn, msn, len, dest });
        }
        self.queue.push_back(d);
    }

    /// `completion` may wait for `tlp_engine`, which takes nothing else within a transfer.
    fn clock(&mut self, offered: bool, wr: bool, comp: bool) -> Result<Outputs, Mismatch> {
        let comp = comp && self.at == 0;
        self.shown |= offered && !self.queue.is_empty();
        let out = self.pair.clock(&Inputs {
            cfg_max_payload: (self.payload / 128 - 1) as u8,
            in_valid: self.shown,
            r#in: self.queue.front().copied().unwrap_or_default(),
            ring_rdata: self.ring.rdata,
            wr_ready: wr,
            comp_ready: comp,
        })?;
        if out.ring_re {
            self.ring.read(out.ring_raddr);
        }
        if self.shown && out.in_ready {
            self.queue.pop_front();
            self.shown = false;
        }
        // What follows a delivery's last word is seen a clock after it, before the next ones.
        if out.rel_valid {
            self.events.push(Event::Release(out.rel_bytes));
        }
        if out.free_valid {
            self.events.push(Event::Free(out.free_words));
        }
        if out.comp_valid && comp {
            let (qpn, msn, len, dest) = (out.comp_qpn.0, out.comp_msn, out.comp_len, out.comp_dest);
            self.events.push(Event::Complete { qpn, msn, len, dest });
        }
        if out.wr_valid && wr {
            self.accepted += 1;
            self.write(&out);
        }
        Ok(out)
    }

    /// Writes an accepted word as the host would: the enabled bytes, word after word.
    fn write(&mut self, out: &Outputs) {
        let pad = (out.wr_addr % 4) as usize;
        let whole = pad + usize::from(out.wr_len);
        assert!(
            whole <= usize::from(self.payload)
                && out.wr_addr % 4096 + u64::from(out.wr_len) <= 4096,
            "PCI-5"
        );
        assert_eq!(out.wr_first, self.at == 0, "first word");
        let mut bytes = [0; 64];
        out.wr_data.to_bytes(&mut bytes);
        let start = (out.wr_addr - self.base) as usize;
        for (n, byte) in (self.at..).zip(bytes) {
            if (pad..whole).contains(&n) {
                self.host[start + n - pad] = byte;
            }
        }
        self.at += 64;
        assert_eq!(out.wr_last, self.at >= whole, "last word");
        if out.wr_last {
            self.at = 0;
            self.events.push(Event::Transfer(out.wr_addr, out.wr_len));
        }
    }

    fn drain(
        &mut self,
        rng: &mut Rng,
        (offered, wr, comp): (u64, u64, u64),
    ) -> Result<(), Mismatch> {
        let (mut quiet, mut clocks) = (0, 0);
        while quiet < 100 {
            clocks += 1;
            assert!(clocks < 100_000, "payload_write and completion wait for each other");
            let out = self.clock(rng.percent(offered), rng.percent(wr), rng.percent(comp))?;
            let busy = out.wr_valid || out.comp_valid || !self.queue.is_empty();
            quiet = if busy { 0 } else { quiet + 1 };
        }
        Ok(())
    }

    /// Each kind of event by itself is in order; a delivery's completion follows its transfers.
    fn check(&mut self) {
        assert!(self.host == self.want, "host memory: the payloads and nothing else");
        let kinds = |events: &[Event], kind: fn(&Event) -> bool| {
            events.iter().filter(|e| kind(e)).cloned().collect::<Vec<_>>()
        };
        let (got, want) = (std::mem::take(&mut self.events), std::mem::take(&mut self.expected));
        let all: [fn(&Event) -> bool; 4] = [
            |e| matches!(e, Event::Transfer(..)),
            |e| matches!(e, Event::Release(_)),
            |e| matches!(e, Event::Free(_)),
            |e| matches!(e, Event::Complete { .. }),
        ];
        for kind in all {
            assert_eq!(kinds(&got, kind), kinds(&want, kind));
        }
        // Transfers that come before the n-th completion.
        let before = |events: &[Event]| {
            let mut transfers = 0;
            let mut out = Vec::new();
            for event in events {
                match event {
                    Event::Transfer(..) => transfers += 1,
                    Event::Complete { .. } => out.push(transfers),
                    _ => {}
                }
            }
            out
        };
        let mut pairs = before(&got).into_iter().zip(before(&want));
        assert!(pairs.all(|(got, want)| got >= want), "RX-8: none passes its message's writes");
    }
}

fn delivery(bench: &Bench, rng: &mut Rng) -> Delivery {
    let len = match rng.below(4) {
        0 => rng.below(8193) as u16,
        1 => rng.below(70) as u16,
        _ => rng.pick(&LENGTHS),
    };
    let page = 4096 * rng.below(13);
    let offset = if rng.percent(75) { rng.pick(&OFFSETS) } else { rng.below(4096) };
    Delivery {
        addr: bench.base + page + offset,
        len,
        charge: rng.below(1 << 14) as u16,
        write: rng.percent(85),
        complete: rng.percent(40),
        qpn: Qpn(rng.below(1 << 24) as u32),
        msn: rng.bits() as u16,
        msg_len: rng.bits() as u32,
        dest: rng.below(64) as u8,
        word: 0,
    }
}

/// Random deliveries at the borders, in both builds, in each pace.
/// RX-6: a payload goes to its place as it arrives, whatever the order.
#[test]
fn pci_5_pci_6_host_memory_equals_the_payloads() -> Result<(), Mismatch> {
    let reached = Reached::begin("payload_write");
    for (name, sizes) in [("small", Sizes::SMALL), ("default", Sizes::DEFAULT)] {
        let mut rng = Rng::new(0x5eed, &format!("payload_write {name}"));
        for (seed, pace) in (0..).zip(PACES) {
            let mut bench = Bench::new(&sizes, seed, &mut rng);
            for _ in 0..40 {
                bench.payload = rng.pick(&[512, 512, 128, 256, 384]);
                // The ring of the small build holds a few payloads at a time.
                for _ in 0..rng.between(1, 7) {
                    let d = delivery(&bench, &mut rng);
                    bench.deliver(d, &mut rng);
                }
                bench.drain(&mut rng, pace)?;
                bench.check();
            }
        }
    }
    reached.check();
    Ok(())
}

/// Every offset of the table with every length of it, back to back, for each largest payload.
#[test]
fn pci_5_every_offset_with_every_length() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "payload_write borders");
    let mut bench = Bench::new(&Sizes::DEFAULT, 9, &mut rng);
    for payload in [512, 256, 128] {
        bench.payload = payload;
        for offset in OFFSETS {
            for len in LENGTHS {
                let d = Delivery {
                    addr: bench.base + offset,
                    len,
                    write: true,
                    complete: true,
                    charge: len,
                    ..Delivery::default()
                };
                bench.deliver(d, &mut rng);
            }
            bench.drain(&mut rng, (100, 100, 100))?;
            bench.check();
        }
    }
    Ok(())
}

/// Aligned payloads of 4,096 B back to back leave a word in each clock: 64 B a clock, over the 63
/// that the link can take; unaligned ones over 63 (PCI-6, PCI-7).
#[test]
fn pci_6_more_than_63_bytes_a_clock() -> Result<(), Mismatch> {
    for (addr, len, most) in [(0, 4096, 64 * 8), (4, 4096, 65 * 8), (1, 8192, 130 * 8)] {
        let mut rng = Rng::new(0x5eed, "payload_write rate");
        let mut bench = Bench::new(&Sizes::DEFAULT, 1, &mut rng);
        for n in 0..8 {
            let addr = bench.base + addr + n % 4 * 8192;
            bench.deliver(Delivery { addr, len, write: true, ..Delivery::default() }, &mut rng);
        }
        for _ in 0..3 {
            bench.clock(true, true, true)?;
        }
        for _ in 0..most {
            bench.clock(true, true, true)?;
        }
        assert!(bench.queue.is_empty());
        let words: usize = bench
            .expected
            .iter()
            .map(|e| match e {
                Event::Transfer(addr, len) => {
                    (usize::from(*len) + (addr % 4) as usize).div_ceil(64)
                }
                _ => 0,
            })
            .sum();
        assert_eq!(bench.accepted as usize, words, "all words in {most} clocks");
        assert!(u32::from(len) * 8 >= 63 * most);
    }
    Ok(())
}

/// After a reset in the middle of traffic, the next deliveries come out whole.
#[test]
fn a_reset_in_mid_traffic_leaves_nothing_behind() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "payload_write reset");
    let mut bench = Bench::new(&Sizes::SMALL, 5, &mut rng);
    for round in 0..40 {
        for _ in 0..4 {
            let d = delivery(&bench, &mut rng);
            bench.deliver(d, &mut rng);
        }
        for _ in 0..rng.below(90) {
            bench.clock(true, rng.percent(75), rng.percent(75))?;
        }
        bench.pair.reset().expect("resets");
        bench.queue.clear();
        bench.events.clear();
        bench.expected.clear();
        bench.host.clone_from(&bench.want);
        (bench.shown, bench.at) = (false, 0);
        let d = delivery(&bench, &mut rng);
        bench.deliver(d, &mut rng);
        bench.drain(&mut rng, PACES[round % PACES.len()])?;
        bench.check();
    }
    Ok(())
}

/// Rows of a fixture: a payload's byte n is n % 251, its words start at word 5 of the ring.
fn play(file: &str) -> Result<(), Mismatch> {
    let mut pair =
        Lockstep::<Regs>::new("payload_write", &Sizes::DEFAULT, Start::Random(1)).expect("builds");
    let mut ring = Ram::<Word>::new(256);
    for n in 0..130 {
        let bytes: Vec<u8> = (64 * n..64 * n + 64).map(|b| (b % 251) as u8).collect();
        ring.poke(5 + n, Word::from_bytes(&bytes));
    }
    for row in Table::read(file) {
        let out = pair.clock(&Inputs {
            cfg_max_payload: 3,
            in_valid: row.bit("valid"),
            r#in: Delivery {
                addr: row.hex("addr"),
                len: row.dec("len") as u16,
                word: 5,
                charge: row.dec("charge") as u16,
                write: row.bit("write"),
                complete: row.bit("complete"),
                ..Delivery::default()
            },
            ring_rdata: ring.rdata,
            wr_ready: row.bit("wr_ready"),
            comp_ready: row.bit("comp_ready"),
        })?;
        if out.ring_re {
            ring.read(out.ring_raddr);
        }
        row.expect("ready", u8::from(out.in_ready));
        row.expect("wr", u8::from(out.wr_valid));
        row.expect("ends", format!("{}{}", u8::from(out.wr_first), u8::from(out.wr_last)));
        row.expect("wr_addr", format!("{:x}", out.wr_addr));
        row.expect("wr_len", out.wr_len);
        row.expect("b0_b3", format!("{:08x}", (out.wr_data.0[0] as u32).swap_bytes()));
        row.expect("rel", if out.rel_valid { out.rel_bytes.to_string() } else { "no".into() });
        row.expect("free", if out.free_valid { out.free_words } else { 0 });
        row.expect("comp", u8::from(out.comp_valid));
    }
    Ok(())
}

#[test]
fn pci_5_cuts_at_512_bytes_and_at_the_page() -> Result<(), Mismatch> {
    play("payload_write/cuts_at_512_bytes_and_at_the_page.txt")
}

#[test]
fn pci_6_released_when_the_last_word_is_accepted() -> Result<(), Mismatch> {
    play("payload_write/released_when_the_last_word_is_accepted.txt")
}
