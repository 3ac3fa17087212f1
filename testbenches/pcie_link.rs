//! `pcie_link`: model and RTL agree on every clock, and both with exact times in plain fractions.
//!
//! The oracle keeps absolute times: numerators over the rate, a clock being `rate` of them. It has
//! no remainder that is carried on, so that none can be lost.

use std::collections::{BTreeMap, VecDeque};

use rtl_model::block::Block;
use rtl_model::image::{Item, Wide};
use rtl_model::pcie_link::{CqeEntry, Entry, Inputs, Outputs, Regs};
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::ram_fifo::{self, RamFifo};
use rtl_model::tlp_engine::{CQE, READ, WRITE};
use rtl_model::types::{Beat, Word};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// 16 lanes of 31.52 Gbps, in units a clock.
const RATE: u32 = 504_320;

/// Payload lengths around the borders: a clock's worth of time, a word, a beat, the largest.
const LENGTHS: [u16; 20] =
    [1, 28, 29, 30, 31, 64, 65, 92, 125, 126, 127, 128, 129, 130, 255, 256, 257, 384, 511, 512];

/// A queue of the environment: the cell, its memory, and its outputs in this clock.
struct Queue<T: Item + Clone + Default> {
    fifo: RamFifo<T>,
    ram: Ram<T>,
    o: ram_fifo::Outputs<T>,
}

impl<T: Item + Copy + Default> Queue<T> {
    fn new(seed: u64) -> Self {
        let mut ram = Ram::new(1024);
        ram.randomize(&mut Rng::new(seed, "queue"));
        Self { fifo: RamFifo::new(1024), ram, o: ram_fifo::Outputs::default() }
    }

    fn drive(&mut self) {
        self.fifo.drive(&mut self.o);
    }

    fn clock(&mut self, in_valid: bool, in_data: T, out_ready: bool) {
        let i = ram_fifo::Inputs { in_valid, in_data, out_ready, ram_rdata: self.ram.rdata };
        self.fifo.ready(&i, &mut self.o);
        self.fifo.clock(&i, &self.o);
        self.ram.clock(&ram_1r1w::Inputs {
            we: self.o.ram_we,
            waddr: self.o.ram_waddr,
            wdata: self.o.ram_wdata,
            re: self.o.ram_re,
            raddr: self.o.ram_raddr,
        });
    }
}

/// A TLP on its way through the link.
#[derive(Clone, Default)]
struct Tlp {
    entry: Entry,
    words: Vec<Word>,
}

impl Tlp {
    fn new(kind: u8, len: u16, off: u16, on_link: bool, rng: &mut Rng) -> Self {
        let dws = if kind == READ { 0 } else { (off + len).div_ceil(4) };
        let cost = match (kind, on_link) {
            (READ, _) => 98,
            (CQE, false) => 0,
            _ => len + 34,
        };
        let hdr = Wide([rng.bits(), rng.bits()]);
        let words = (0..dws.div_ceil(16).max(1)).map(|_| Wide(std::array::from_fn(|_| rng.bits())));
        let words = words.collect();
        Self { entry: Entry { kind, dws: dws as u8, cost, hdr }, words }
    }

    fn off_link(&self) -> bool {
        self.entry.kind == CQE && self.entry.cost == 0
    }

    fn rows(&self) -> u64 {
        if self.off_link() { 0 } else { u64::from(self.entry.dws).div_ceil(32) }
    }

    /// Payload in units of 16 B.
    fn units(&self) -> u64 {
        (4 * u64::from(self.entry.dws)).div_ceil(16)
    }

    fn data_room(&self) -> u64 {
        16 * self.units()
    }

    /// Its payload DWs as bytes.
    fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0; 64 * self.words.len()];
        for (chunk, word) in out.chunks_mut(64).zip(&self.words) {
            word.to_bytes(chunk);
        }
        out.truncate(4 * usize::from(self.entry.dws));
        out
    }
}

/// A beat that must come in a certain clock.
#[derive(Debug, PartialEq)]
struct Wanted {
    sop: bool,
    eop: bool,
    hdr: Wide<2>,
    bytes: Vec<u8>,
    back: Option<u128>,
    kind: Option<u8>,
}

impl Wanted {
    fn seen(o: &Outputs) -> Self {
        let mut bytes = vec![0; 4 * usize::from(o.tlp_dws)];
        o.tlp_data.to_bytes(&mut bytes);
        Self {
            sop: o.tlp_sop,
            eop: o.tlp_eop,
            hdr: o.tlp_hdr,
            bytes,
            back: o.tlp_eop.then_some(u128::from(o.tlp_back)),
            kind: o.tlp_eop.then_some(o.sent_kind),
        }
    }
}

/// What the link must do, from the clocks in which words are taken alone.
struct Oracle {
    rate: u128,
    clock: u64,
    waiting: [VecDeque<(u64, Tlp)>; 2], // reads, writes: first clock in which one can be chosen
    on_link: Option<(Tlp, u128, u64)>,  // with its exact end and the clock in which it ends
    read_last: bool,
    beats: BTreeMap<u64, Wanted>,
    cqes: VecDeque<(u64, usize, Tlp)>, // first clock, writes before it
    next_cqe: u64,
    writes_in: usize,
    write_ends: VecDeque<u64>, // clocks of the writes' last beats
    held: u64,
    data: u64,
    rows: u64,
    ended: u64,
    end_clocks: Vec<u64>, // clocks of all last beats
    far: (u64, u64),      // headers and units taken at the host
    far_size: (u64, u64),
}

impl Oracle {
    fn new(rate: u32) -> Self {
        Self {
            rate: rate.into(),
            clock: 0,
            waiting: [VecDeque::new(), VecDeque::new()],
            on_link: None,
            read_last: false,
            beats: BTreeMap::new(),
            cqes: VecDeque::new(),
            next_cqe: 0,
            writes_in: 0,
            write_ends: VecDeque::new(),
            held: 0,
            data: 0,
            rows: 0,
            ended: 0,
            end_clocks: Vec::new(),
            far: (0, 0),
            far_size: (0, 0),
        }
    }

    /// PCI-4: the TLP fits into what is free in this clock.
    fn room(&self, tlp: &Tlp, hdr_buf: u32, data_buf: u32) -> bool {
        let read = tlp.entry.kind == READ;
        self.held < 1024
            && 16 * (self.held + 1) <= hdr_buf.into()
            && (read || self.data + tlp.data_room() <= data_buf.into())
            && (read || self.rows + u64::from(tlp.entry.dws).div_ceil(32) <= 4096)
    }

    /// The outputs of this clock, then its edge.
    fn check(&mut self, i: &Inputs, o: &Outputs) {
        let now = self.clock;
        let seen = o.tlp_valid.then(|| Wanted::seen(o));
        assert_eq!(seen, self.beats.remove(&now), "beat in clock {now}");
        assert_eq!(o.sent_valid, o.tlp_valid && o.tlp_eop);
        self.cqe(o);
        self.far_size = (u64::from(i.cfg_far_hdr_buf) / 16, u64::from(i.cfg_far_data_buf) / 16);
        let before = self.far;
        self.link();
        if i.room_valid {
            // What begins in this clock is not what is free in it.
            let (hdr, data) = (u64::from(i.room_hdr), u64::from(i.room_data));
            self.far.0 -= before.0.min(hdr);
            self.far.1 -= before.1.min(data);
        }
        self.clock += 1;
    }

    /// Off the link: a clock after the last beat of the last write before it.
    fn cqe(&mut self, o: &Outputs) {
        let due = self.cqes.front().is_some_and(|(first, after, _)| {
            let behind = after.checked_sub(1).map(|n| self.write_ends.get(n));
            let open = match behind {
                None => true,
                Some(end) => end.is_some_and(|end| *end < self.clock),
            };
            open && *first <= self.clock
        });
        assert_eq!(o.cqe_valid, due, "CQE in clock {}", self.clock);
        if due {
            let (_, _, tlp) = self.cqes.pop_front().expect("due");
            assert_eq!(o.cqe_hdr, tlp.entry.hdr);
            assert_eq!(o.cqe_data.0, tlp.words[0].0[..4]);
        }
        // Its room is free again in the clock in which it shows.
        while self.next_cqe > 0 && self.cqe_shows_next() {
            self.next_cqe -= 1;
            self.held -= 1;
            self.data -= 32;
        }
    }

    /// One more CQE than those already accounted shows in the next clock.
    fn cqe_shows_next(&self) -> bool {
        let accounted = self.cqes.len() as u64 - self.next_cqe;
        accounted == 0
            && self.cqes.front().is_some_and(|(first, after, _)| {
                let next = self.clock + 1;
                let behind = after.checked_sub(1).map(|n| self.write_ends.get(n));
                behind.is_none_or(|end| end.is_some_and(|end| *end < next)) && *first <= next
            })
    }

    fn link(&mut self) {
        let now = self.clock;
        let clock_end = u128::from(now + 1) * self.rate;
        let begin = match self.on_link.take() {
            Some((tlp, end, at)) if at == now => {
                self.give_back(&tlp);
                end
            }
            Some(busy) => {
                self.on_link = Some(busy);
                return;
            }
            None => clock_end,
        };
        let [reads, writes] = &self.waiting;
        let waits = |q: &VecDeque<(u64, Tlp)>| q.front().is_some_and(|(first, _)| *first <= now);
        // PCI-4: the one whose turn it is, of those with room at the host.
        let fits = |q: &VecDeque<(u64, Tlp)>| {
            q.front().is_some_and(|(first, tlp)| {
                *first <= now
                    && self.far.0 < self.far_size.0
                    && (tlp.entry.kind == READ || self.far.1 + tlp.units() <= self.far_size.1)
            })
        };
        let (read, write) = (fits(reads), fits(writes));
        if !read && !write {
            self.read_last &= waits(reads) || waits(writes);
            return;
        }
        self.read_last = read && !(write && self.read_last);
        let which = usize::from(!self.read_last);
        let (_, tlp) = self.waiting[which].pop_front().expect("waits");
        self.far.0 += 1;
        self.far.1 += tlp.units();
        // At most one TLP starts a clock: it ends at the start of the next one at the earliest.
        let end = (begin + u128::from(tlp.entry.cost) * 8_000).max(clock_end);
        let at = (end.div_ceil(self.rate) as u64 - 1).max(now + 1);
        let bytes = tlp.bytes();
        let count = bytes.len().div_ceil(128).max(1);
        for n in 0..count {
            let eop = n + 1 == count;
            let wanted = Wanted {
                sop: n == 0,
                eop,
                hdr: tlp.entry.hdr,
                bytes: bytes[128 * n..bytes.len().min(128 * n + 128)].to_vec(),
                back: eop.then(|| u128::from(at + 1) * self.rate - end),
                kind: eop.then_some(tlp.entry.kind),
            };
            let when = if eop { at + 2 } else { now + 3 + 2 * n as u64 };
            assert!(self.beats.insert(when, wanted).is_none(), "two beats in clock {when}");
        }
        if tlp.entry.kind != READ {
            self.write_ends.push_back(at + 2);
        }
        self.end_clocks.push(at + 2);
        self.on_link = Some((tlp, end, at));
    }

    fn give_back(&mut self, tlp: &Tlp) {
        self.held -= 1;
        self.data -= tlp.data_room();
        self.rows -= tlp.rows();
        self.ended += 1;
    }

    /// A TLP's first word was taken in the clock that `check` has just seen the end of.
    fn first_word(&mut self, tlp: &Tlp) {
        self.held += 1;
        self.data += tlp.data_room();
        self.rows += tlp.rows();
    }

    /// A TLP's last word was taken in that clock.
    fn last_word(&mut self, tlp: Tlp) {
        let taken = self.clock - 1;
        if tlp.off_link() {
            self.cqes.push_back((taken + 3, self.writes_in, tlp));
            self.next_cqe += 1;
        } else {
            let read = tlp.entry.kind == READ;
            self.writes_in += usize::from(!read);
            self.waiting[usize::from(!read)].push_back((taken + 2, tlp));
        }
    }

    /// Nothing is on its way any more.
    fn empty(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
            && self.on_link.is_none()
            && self.beats.is_empty()
            && self.cqes.is_empty()
    }
}

/// The link with what stands around it, and the oracle beside it.
struct Bench {
    pair: Lockstep<Regs>,
    rows: Ram<Beat>,
    reads: Queue<Entry>,
    writes: Queue<Entry>,
    cqes: Queue<CqeEntry>,
    i: Inputs,
    tlp: Option<(Tlp, usize)>,
    /// The host keeps what has arrived for at most so many clocks; then room is told.
    hold: u64,
    /// In so many percent of the clocks it tells of room that was not taken.
    too_many: u64,
    kept: VecDeque<(u64, u16, u16)>,
    units: u16,
    clocks: u64,
    rng: Rng,
    oracle: Option<Oracle>,
}

impl Bench {
    fn after_reset(sizes: &Sizes, seed: u32, rate: u32) -> Self {
        let mut rows = Ram::new(4096);
        rows.randomize(&mut Rng::new(seed.into(), "rows"));
        let i = Inputs {
            cfg_pcie_rate: rate,
            cfg_tx_hdr_buf: 16_000,
            cfg_tx_data_buf: 256_000,
            cfg_far_hdr_buf: 16_000,
            cfg_far_data_buf: 256_000,
            ..Inputs::default()
        };
        Self {
            pair: Lockstep::new("pcie_link", sizes, Start::Random(seed)).expect("builds"),
            rows,
            reads: Queue::new(1),
            writes: Queue::new(2),
            cqes: Queue::new(3),
            i,
            tlp: None,
            hold: 0,
            too_many: 0,
            kept: VecDeque::new(),
            units: 0,
            clocks: 0,
            rng: Rng::new(seed.into(), "host"),
            oracle: Some(Oracle::new(rate)),
        }
    }

    fn reset(&mut self) {
        self.pair.reset().expect("resets");
        self.reads.fifo = RamFifo::new(1024);
        self.writes.fifo = RamFifo::new(1024);
        self.cqes.fifo = RamFifo::new(1024);
        self.tlp = None;
        self.kept.clear();
        self.units = 0;
        self.i.room_valid = false;
        self.oracle = self.oracle.as_ref().map(|_| Oracle::new(self.i.cfg_pcie_rate));
    }

    /// One clock. `word`: the next word of the TLP comes. `open`: the queues take and give.
    fn clock(&mut self, word: bool, open: [bool; 3]) -> Result<Outputs, Mismatch> {
        self.reads.drive();
        self.writes.drive();
        self.cqes.drive();
        let i = &mut self.i;
        i.tx_valid = word && self.tlp.is_some();
        if let Some((tlp, at)) = &self.tlp {
            i.tx_first = *at == 0;
            i.tx_last = at + 1 == tlp.words.len();
            i.tx_kind = tlp.entry.kind;
            i.tx_hdr = tlp.entry.hdr;
            i.tx_dws = tlp.entry.dws.into();
            i.tx_cost = tlp.entry.cost;
            i.tx_data = tlp.words[*at];
        }
        i.buf_rdata = self.rows.rdata;
        i.rpush_ready = open[0] && self.reads.o.in_ready;
        i.rhead_valid = open[0] && self.reads.o.out_valid;
        i.rhead = self.reads.o.out_data;
        i.wpush_ready = open[1] && self.writes.o.in_ready;
        i.whead_valid = open[1] && self.writes.o.out_valid;
        i.whead = self.writes.o.out_data;
        i.cpush_ready = open[2] && self.cqes.o.in_ready;
        i.chead_valid = open[2] && self.cqes.o.out_valid;
        i.chead = self.cqes.o.out_data;
        (i.room_valid, i.room_hdr, i.room_data) = (false, 0, 0);
        while self.kept.front().is_some_and(|(due, ..)| *due <= self.clocks) {
            let (_, hdr, data) = self.kept.pop_front().expect("just seen");
            i.room_valid = true;
            i.room_hdr += hdr;
            i.room_data += data;
        }
        if self.rng.percent(self.too_many) {
            i.room_valid = true;
            i.room_hdr += self.rng.below(4) as u16;
            i.room_data += self.rng.below(40) as u16;
        }
        self.clocks += 1;
        let o = self.pair.clock(i)?;
        self.host(&o);
        self.reads.clock(o.rpush_valid && open[0], o.rpush, o.rhead_ready && open[0]);
        self.writes.clock(o.wpush_valid && open[1], o.wpush, o.whead_ready && open[1]);
        self.cqes.clock(o.cpush_valid && open[2], o.cpush, o.chead_ready && open[2]);
        self.rows.clock(&ram_1r1w::Inputs {
            we: o.buf_we,
            waddr: o.buf_waddr,
            wdata: o.buf_wdata,
            re: o.buf_re,
            raddr: o.buf_raddr,
        });
        if let Some(oracle) = &mut self.oracle {
            let first = self.i.tx_first;
            if let (true, Some((tlp, _))) = (self.i.tx_valid, &self.tlp) {
                let room = oracle.room(tlp, self.i.cfg_tx_hdr_buf, self.i.cfg_tx_data_buf);
                let clock = oracle.clock;
                assert_eq!(o.tx_ready, !first || room, "ready in clock {clock}");
            }
            oracle.check(&self.i, &o);
        }
        if self.i.tx_valid && o.tx_ready {
            let (tlp, at) = self.tlp.as_mut().expect("comes");
            if let (Some(oracle), 0) = (&mut self.oracle, *at) {
                oracle.first_word(tlp);
            }
            *at += 1;
            if *at == tlp.words.len() {
                let (tlp, _) = self.tlp.take().expect("comes");
                if let Some(oracle) = &mut self.oracle {
                    oracle.last_word(tlp);
                }
            }
        }
        Ok(o)
    }

    /// The host's receive buffer: each transfer stands for a while, then its room is told.
    fn host(&mut self, o: &Outputs) {
        if o.tlp_valid {
            self.units += u16::from(o.tlp_dws).div_ceil(4);
        }
        if o.tlp_valid && o.tlp_eop {
            let due = self.clocks + self.rng.below(self.hold + 1);
            let due = due.max(self.kept.back().map_or(0, |k| k.0));
            self.kept.push_back((due, 1, self.units));
            self.units = 0;
        }
    }

    /// Sends these back to back, and waits until nothing is left.
    fn send(&mut self, tlps: impl IntoIterator<Item = Tlp>) -> Result<(), Mismatch> {
        for tlp in tlps {
            self.tlp = Some((tlp, 0));
            while self.tlp.is_some() {
                self.clock(true, [true; 3])?;
            }
        }
        while !self.oracle.as_ref().is_none_or(Oracle::empty) {
            self.clock(false, [true; 3])?;
        }
        Ok(())
    }
}

fn play(file: &str, bench: &mut Bench) -> Result<(), Mismatch> {
    let mut rng = Rng::new(1, "contents");
    for row in Table::read(&format!("pcie_link/{file}")) {
        let kind = match row.text("tx") {
            "read" => Some(READ),
            "write" => Some(WRITE),
            "cqe" => Some(CQE),
            _ => None,
        };
        if let (Some(kind), None) = (kind, &bench.tlp) {
            let mut tlp = Tlp::new(kind, row.dec("len") as u16, 0, row.bit("on_link"), &mut rng);
            tlp.entry.hdr = Wide([row.hex("hdr"), 0]);
            bench.tlp = Some((tlp, 0));
        }
        let out = bench.clock(kind.is_some(), [true; 3])?;
        row.expect("tx_ready", u8::from(out.tx_ready));
        let beat = match (out.tlp_valid, out.tlp_sop, out.tlp_eop) {
            (false, ..) => "-",
            (_, true, true) => "only",
            (_, true, false) => "first",
            (_, false, true) => "last",
            (_, false, false) => "mid",
        };
        if row.text("beat") != "." {
            row.expect("beat", beat);
        }
        row.expect("tlp_hdr", format!("{:x}", out.tlp_hdr.0[0]));
        row.expect("tlp_back", out.tlp_back);
        row.expect("cqe_valid", u8::from(out.cqe_valid));
    }
    Ok(())
}

#[test]
fn pci_2_pci_4_pci_6_directed_rows() -> Result<(), Mismatch> {
    for file in [
        "thirty_bytes_carry_over.txt",
        "reads_and_writes_alternate.txt",
        "cqe_waits_for_its_writes.txt",
    ] {
        play(file, &mut Bench::after_reset(&Sizes::DEFAULT, 1, RATE))?;
    }
    let mut bench = Bench::after_reset(&Sizes::DEFAULT, 1, RATE);
    (bench.i.cfg_tx_hdr_buf, bench.i.cfg_tx_data_buf) = (32, 64);
    play("room_exactly_enough.txt", &mut bench)
}

/// 20,000 of one kind behind a lead that keeps the link busy: each ends at the first clock at or
/// after its exact time, for any number of them.
fn back_to_back(kind: u8, len: u16, cost: u128) -> Result<(), Mismatch> {
    const COUNT: usize = 20_000;
    // A read comes in every clock, and needs no lead; behind writes it would go out of turn.
    let lead = if kind == READ { 0 } else { 100 };
    let mut rng = Rng::new(1, "contents");
    let mut bench = Bench::after_reset(&Sizes::DEFAULT, 1, RATE);
    let slow: Vec<_> = (0..lead).map(|_| Tlp::new(WRITE, 512, 0, true, &mut rng)).collect();
    let body = Tlp::new(kind, len, 0, true, &mut rng);
    bench.send(slow.into_iter().chain(std::iter::repeat_n(body, COUNT)))?;
    let ends = &bench.oracle.as_ref().expect("runs").end_clocks;
    // The link begins three clocks after the first TLP's last word: in clock 3 or 10.
    let mut exact = if lead > 0 { 10 } else { 3 } * u128::from(RATE);
    for (n, end) in ends.iter().enumerate() {
        exact += if n < lead { 546 } else { cost } * 8_000;
        assert_eq!(u128::from(*end), exact.div_ceil(u128::from(RATE)) + 1, "TLP {n}");
    }
    assert_eq!(ends.len(), lead + COUNT);
    Ok(())
}

#[test]
fn pci_2_pci_3_20000_of_30_bytes_lose_no_time() -> Result<(), Mismatch> {
    back_to_back(WRITE, 30, 64)
}

#[test]
fn pci_2_pci_3_20000_of_64_bytes_lose_no_time() -> Result<(), Mismatch> {
    back_to_back(WRITE, 64, 98)
}

#[test]
fn pci_2_pci_3_20000_of_92_bytes_lose_no_time() -> Result<(), Mismatch> {
    back_to_back(WRITE, 92, 126)
}

#[test]
fn pci_2_pci_3_20000_of_512_bytes_lose_no_time() -> Result<(), Mismatch> {
    back_to_back(WRITE, 512, 546)
}

#[test]
fn pci_2_pci_3_20000_reads_lose_no_time() -> Result<(), Mismatch> {
    back_to_back(READ, 0, 98)
}

/// 1,000,000 of one length in the model alone, behind a lead that keeps the link busy: the same.
fn a_million(len: u16) {
    const LEAD: u64 = 2_500;
    const COUNT: u64 = 1_000_000;
    let entry = |n: u64| {
        let len = if n < LEAD { 512 } else { len };
        Entry { kind: WRITE, dws: len.div_ceil(4) as u8, cost: len + 34, hdr: Wide::ZERO }
    };
    let mut link = Regs::reset(&Sizes::DEFAULT);
    let mut o = Outputs::default();
    let mut i = Inputs {
        cfg_pcie_rate: RATE,
        cfg_tx_hdr_buf: 16_000,
        cfg_tx_data_buf: 256_000,
        cfg_far_hdr_buf: 16_000,
        cfg_far_data_buf: 256_000,
        wpush_ready: true,
        tx_kind: WRITE,
        room_hdr: 1,
        ..Inputs::default()
    };
    let mut queue = VecDeque::new();
    let (mut begun, mut word, mut ended) = (0, 0, 0);
    let mut exact = 10 * u128::from(RATE);
    for clock in 0_u128.. {
        link.drive(&mut o);
        let next = entry(begun);
        let words = u16::from(next.dws).div_ceil(16);
        i.tx_valid = begun < LEAD + COUNT;
        (i.tx_first, i.tx_last) = (word == 0, word + 1 == words);
        (i.tx_dws, i.tx_cost) = (next.dws.into(), next.cost);
        i.whead_valid = !queue.is_empty();
        i.whead = queue.front().copied().unwrap_or_default();
        i.room_valid = o.sent_valid;
        i.room_data = u16::from(entry(ended).dws).div_ceil(4);
        link.ready(&i, &mut o);
        if o.sent_valid {
            exact += u128::from(entry(ended).cost) * 8_000;
            assert_eq!(clock, exact.div_ceil(RATE.into()) + 1, "transfer {ended}");
            ended += 1;
            if ended == LEAD + COUNT {
                return;
            }
        }
        if i.whead_valid && o.whead_ready {
            queue.pop_front();
        }
        if o.wpush_valid {
            queue.push_back(o.wpush);
        }
        if i.tx_valid && o.tx_ready {
            word = (word + 1) % words;
            begun += u64::from(word == 0);
        }
        link.clock(&i, &o);
    }
}

#[test]
fn pci_2_pci_3_a_million_of_30_64_92_and_512_bytes_lose_no_time_in_the_model() {
    [30, 64, 92, 512].into_iter().for_each(a_million);
}

/// 98 B in 1225 ÷ 788 ns and 8 × 546 B in 13650 ÷ 197 ns, as the figures have them.
#[test]
fn pci_3_a_read_takes_1_55_ns() -> Result<(), Mismatch> {
    for (kind, len, count, num, den) in [(READ, 0, 1, 1225, 788), (WRITE, 512, 8, 13_650, 197)] {
        let mut rng = Rng::new(1, "contents");
        let mut bench = Bench::after_reset(&Sizes::DEFAULT, 1, RATE);
        let words = Tlp::new(kind, len, 0, true, &mut rng).words.len() as u128;
        bench.tlp = None;
        let mut back = 0;
        let mut last = 0;
        let mut sent = 0;
        while sent < count {
            if bench.tlp.is_none() && bench.oracle.as_ref().is_some_and(|o| o.writes_in < count) {
                bench.tlp = Some((Tlp::new(kind, len, 0, true, &mut rng), 0));
            }
            let clock = bench.oracle.as_ref().expect("runs").clock;
            let out = bench.clock(kind != READ || clock == 0, [true; 3])?;
            if out.sent_valid {
                sent += 1;
                (last, back) = (u128::from(clock), u128::from(out.tlp_back));
            }
        }
        // Begin: three clocks after the last word; end: `back` before the clock before the beat.
        let begin = words + 2;
        let units = (last - 1 - begin) * u128::from(RATE) - back;
        assert_eq!(units * den, num * u128::from(RATE), "{num}/{den} ns");
    }
    Ok(())
}

/// Below 30 B of payload at most one TLP a clock: 29 B, and the smallest.
#[test]
fn pci_2_29_bytes_run_at_one_a_clock() -> Result<(), Mismatch> {
    for len in [29, 1] {
        let mut rng = Rng::new(1, "contents");
        let mut bench = Bench::after_reset(&Sizes::DEFAULT, 1, RATE);
        let tlp = Tlp::new(WRITE, len, 0, true, &mut rng);
        bench.send(std::iter::repeat_n(tlp, 3_000))?;
        let ends = &bench.oracle.as_ref().expect("runs").end_clocks;
        assert!(ends.windows(2).all(|w| w[1] == w[0] + 1), "{len} B");
    }
    Ok(())
}

/// A gap drops the remainder: the next TLP begins at the start of a clock, whenever it comes.
#[test]
fn pci_2_idle_gaps_drop_the_remainder() -> Result<(), Mismatch> {
    let mut rng = Rng::new(1, "contents");
    let mut bench = Bench::after_reset(&Sizes::DEFAULT, 1, RATE);
    for n in 0..200 {
        bench
            .send([Tlp::new(WRITE, 30, 0, true, &mut rng), Tlp::new(READ, 0, 0, true, &mut rng)])?;
        for _ in 0..n % 7 {
            bench.clock(false, [true; 3])?;
        }
    }
    Ok(())
}

/// A TLP without room at the host waits; it begins two clocks after it is told of room, and at the
/// start of a clock.
#[test]
fn pci_4_the_host_holds_a_transfer_up() -> Result<(), Mismatch> {
    // Room for one header; for one header more than there is; for one unit less than is needed.
    for (hdr, data, hold) in [(16, 512, 0), (31, 527, 0), (16, 512, 25), (4_096, 512, 25)] {
        let mut rng = Rng::new(1, "contents");
        let mut bench = Bench::after_reset(&Sizes::DEFAULT, 1, RATE);
        (bench.i.cfg_far_hdr_buf, bench.i.cfg_far_data_buf) = (hdr, data);
        bench.hold = hold;
        let tlp = Tlp::new(WRITE, 512, 0, true, &mut rng);
        bench.send(std::iter::repeat_n(tlp, 50))?;
        let ends = &bench.oracle.as_ref().expect("runs").end_clocks;
        // 546 B take 8.66 clocks: the last beat comes 9 + 1 after the begin, this host tells of its
        // room in the next clock, and the next begin is 2 later.
        let gaps: Vec<_> = ends.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(gaps.iter().all(|gap| (13..=13 + hold).contains(gap)), "{gaps:?}");
        assert!(gaps.contains(&13) && (hold == 0 || gaps.iter().any(|gap| *gap > 20)));
    }
    Ok(())
}

/// Case 11, PCI-4: room that the host gives back in a clock from which on all queues are busy for 0
/// to 5 clocks counts once: each read goes, and no third one while the host has room for two.
#[test]
fn case_11_credits_count_once_whatever_waits() -> Result<(), Mismatch> {
    for low in 0..=5_u32 {
        let mut rng = Rng::new(1, "contents");
        let mut bench = Bench::after_reset(&Sizes::SMALL, 1, RATE);
        (bench.i.cfg_far_hdr_buf, bench.hold, bench.oracle) = (32, 20, None);
        let (mut sent, mut told, mut most, mut reads, mut shut) = (0, 0, 0, 20, 0);
        for _ in 0..600 {
            if bench.tlp.is_none() && reads > 0 {
                bench.tlp = Some((Tlp::new(READ, 0, 0, true, &mut rng), 0));
                reads -= 1;
            }
            if bench.kept.front().is_some_and(|kept| kept.0 <= bench.clocks) {
                shut = low;
            }
            let out = bench.clock(true, [shut == 0; 3])?;
            shut = shut.saturating_sub(1);
            told += bench.i.room_hdr;
            sent += u16::from(out.sent_valid);
            most = most.max(sent - told);
        }
        assert_eq!((sent, told, most), (20, 20, 2), "{low} clocks");
    }
    Ok(())
}

/// Reads need no data room: they pass a write that waits for it, and it goes once there is some.
#[test]
fn pci_4_reads_pass_a_write_without_room() -> Result<(), Mismatch> {
    let mut rng = Rng::new(1, "contents");
    let mut bench = Bench::after_reset(&Sizes::DEFAULT, 1, RATE);
    bench.i.cfg_far_data_buf = 512;
    bench.hold = 400;
    let mut kinds = Vec::new();
    let mut plan = [WRITE, WRITE, READ, READ, READ, READ, WRITE].into_iter();
    for _ in 0..1_500 {
        if bench.tlp.is_none() {
            bench.tlp = plan.next().map(|kind| (Tlp::new(kind, 512, 0, true, &mut rng), 0));
        }
        let out = bench.clock(true, [true; 3])?;
        kinds.extend(out.sent_valid.then_some(out.sent_kind));
    }
    assert_eq!(kinds, [WRITE, READ, READ, READ, READ, WRITE, WRITE]);
    Ok(())
}

/// The smallest buffers that hold one TLP, and every limit that is not the registers'.
#[test]
fn pci_4_full_buffers_hold_what_they_can() -> Result<(), Mismatch> {
    let mut rng = Rng::new(1, "contents");
    // One lane, so that the buffer fills: 1,024 headers of reads; 4,096 rows, by 4 and by 5.
    for (kind, len, off, full) in
        [(READ, 0, 0, 1024), (WRITE, 512, 0, 1024), (WRITE, 512, 1, 819), (WRITE, 30, 0, 1024)]
    {
        let mut bench = Bench::after_reset(&Sizes::SMALL, 2, 31_520);
        (bench.i.cfg_tx_hdr_buf, bench.i.cfg_tx_data_buf) = (1 << 20, 1 << 20);
        let tlp = Tlp::new(kind, len, off, true, &mut rng);
        let mut most = 0;
        for _ in 0..1_500 {
            bench.tlp = Some((tlp.clone(), 0));
            for _ in 0..200 {
                if bench.tlp.is_none() {
                    break;
                }
                bench.clock(true, [true; 3])?;
                most = most.max(bench.oracle.as_ref().expect("runs").held);
            }
        }
        assert_eq!(most, full, "headers of {len} B held at once");
    }
    Ok(())
}

fn traffic(sizes: &Sizes, seed: u32, rate: u32, check: bool) -> Result<(), Mismatch> {
    let mut rng = Rng::new(seed.into(), "pcie_link");
    let mut bench = Bench::after_reset(sizes, seed, rate);
    if !check {
        bench.oracle = None;
    }
    // Room for a few TLPs, or for many.
    let rooms = [(16, 512), (33, 544), (100, 1100), (16_000, 256_000), (16_000, 3_000)];
    let wide = (16_000, 256_000);
    let far = [wide, wide, wide, wide, (16, 512), (31, 527), (48, 1_024), (16_000, 512)];
    for clock in 0..32_000 {
        let phase = clock / 700;
        let (busy, words) = ([100, 20, 75, 4, 100][phase % 5], [100, 100, 75, 25][phase % 4]);
        let open = if check { 100 } else { [100, 75, 25, 0][phase % 4] };
        if clock % 700 == 0 {
            (bench.i.cfg_tx_hdr_buf, bench.i.cfg_tx_data_buf) = rng.pick(&rooms);
            (bench.i.cfg_far_hdr_buf, bench.i.cfg_far_data_buf) = rng.pick(&far);
            bench.hold = rng.pick(&[0, 0, 0, 3, 40]);
            bench.too_many = rng.pick(&[0, 0, 2]);
        }
        if bench.tlp.is_none() && rng.percent(busy) {
            let kind = rng.pick(&[READ, READ, WRITE, WRITE, WRITE, CQE]);
            let len = if kind == CQE { 32 } else { rng.pick(&LENGTHS) };
            let off = if kind == CQE { 0 } else { (rng.below(4) as u16).min(512 - len.min(509)) };
            // On the link or off it, for a whole phase each.
            bench.tlp = Some((Tlp::new(kind, len, off, phase % 2 == 0, &mut rng), 0));
        }
        let queues = std::array::from_fn(|_| rng.percent(open));
        bench.clock(rng.percent(words), queues)?;
        if rng.below(9_000) == 0 {
            bench.reset();
        }
    }
    Ok(())
}

#[test]
fn pci_2_pci_4_pci_6_random_traffic_is_exact() -> Result<(), Mismatch> {
    traffic(&Sizes::SMALL, 1, RATE, true)?;
    traffic(&Sizes::DEFAULT, 2, RATE, true)?;
    traffic(&Sizes::DEFAULT, 3, 512_000, true)?; // 30 B take a clock, exactly
    traffic(&Sizes::DEFAULT, 4, 409_760, true)?; // 13 lanes
    traffic(&Sizes::DEFAULT, 5, 31_520, true) // one lane
}

#[test]
fn random_traffic_agrees_with_slow_queues_and_any_rate() -> Result<(), Mismatch> {
    let reached = Reached::begin("pcie_link");
    traffic(&Sizes::SMALL, 6, RATE, false)?;
    traffic(&Sizes::DEFAULT, 7, 0xf_ffff, false)?; // more than the rows can carry
    traffic(&Sizes::DEFAULT, 8, 8_000, false)?;
    reached.check();
    Ok(())
}
