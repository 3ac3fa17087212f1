//! `payload_fetch`: model and RTL get the same segments and completions and must agree on every
//! clock; the bytes in the replay banks are held against a host memory that is a plain array.

use std::collections::VecDeque;

use rtl_model::image::Wide;
use rtl_model::payload_fetch::{
    BAD_ABORT, BAD_COUNT, BAD_LONG, BAD_POISON, BAD_REQUEST, BAD_SHORT, BAD_TAG, Inputs, Outputs,
    Record, Regs, SLOT_ROWS,
};
use rtl_model::ram_1r1w::Ram;
use rtl_model::types::{Psn, Segment, Word};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Bytes of the host memory.
const HOST: usize = 64 * 1024;

/// Where it lies: across 4 GiB.
const BASE: u64 = 0xffff_8000;

/// Lengths at which lines, reads and pages change.
const LENGTHS: [u16; 13] = [0, 0, 1, 3, 4, 63, 64, 65, 4095, 4096, 4097, 8191, 8192];

/// Offsets in a page.
const OFFSETS: [u64; 10] = [0x000, 0x000, 0x001, 0x03f, 0x040, 0x07f, 0x800, 0xfc0, 0xffe, 0xfff];

/// Percentages of clocks with a segment, with a completion's next word, and in which `tlp_engine`,
/// the order FIFO and `packet_build` are ready; who ends what has failed is as `packet_build`.
const PACES: [[u64; 5]; 5] = [
    [100, 100, 100, 100, 100],
    [100, 75, 75, 75, 75],
    [75, 100, 25, 100, 75],
    [100, 40, 100, 25, 100],
    [50, 100, 100, 100, 5],
];

/// Reads of a segment: none crosses a page.
fn reads(addr: u64, len: u16) -> Vec<(u64, u16)> {
    let mut out = Vec::new();
    let (mut at, end) = (addr, addr + u64::from(len));
    while at < end {
        let next = end.min((at / 4096 + 1) * 4096);
        out.push((at, (next - at) as u16));
        at = next;
    }
    out
}

/// A read that the host has not answered whole.
#[derive(Clone, Debug)]
struct Read {
    tag: u8,
    addr: u64,
    left: u16,
    flight: usize,
}

/// One word of a completion.
#[derive(Clone, Copy, Debug, Default)]
struct CplWord {
    tag: u8,
    first: bool,
    last: bool,
    data: Word,
    bytes: u16,
    status: u8,
    poison: bool,
    count: u16,
    lower: u8,
}

/// What the host does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Tag,
    Count,
    Lower,
    Long,
    OffLine,
    Empty,
    Poison,
    LatePoison,
    Status,
}

const FAULTS: [Fault; 9] = [
    Fault::Tag,
    Fault::Count,
    Fault::Lower,
    Fault::Long,
    Fault::OffLine,
    Fault::Empty,
    Fault::Poison,
    Fault::LatePoison,
    Fault::Status,
];

/// The reason by the status, 1 to 7: whatever has no name is an unsupported request.
const OF_STATUS: [u8; 8] =
    [0, BAD_REQUEST, BAD_REQUEST, BAD_REQUEST, BAD_ABORT, BAD_REQUEST, BAD_REQUEST, BAD_REQUEST];

/// A segment on its way.
struct Flight {
    seg: Segment,
    /// Reads not yet made.
    reads: VecDeque<(u64, u16)>,
    /// The reason of its first bad completion.
    failed: Option<u8>,
    /// QP-6: its QP had ended when its turn came.
    dead: bool,
}

struct Bench {
    pair: Lockstep<Regs>,
    sizes: Sizes,
    tagr: Ram<Record>,
    banks: [Vec<[u8; 64]>; 2],
    memory: Vec<u8>,
    free: Vec<u16>,
    seg: Option<Segment>,
    /// Segments taken and not handed on, oldest first; `first` counts those that were.
    flights: VecDeque<Flight>,
    first: usize,
    order: VecDeque<Segment>,
    taken: usize,
    next_read: usize,
    open: Vec<Read>,
    words: VecDeque<CplWord>,
    /// QPs that have ended.
    dead: Wide<4>,
    /// Payloads wait to be committed (BUF-5); percentage of clocks in which they are.
    prefetch: Option<u64>,
    committed: Option<Segment>,
    faults: u64,
    counted: Vec<u8>,
    caused: Vec<u8>,
    handed: usize,
    failed: usize,
    rd_taken: u64,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u32, rng: &mut Rng) -> Self {
        let mut tagr = Ram::new(sizes.tags as usize);
        tagr.randomize(rng);
        let mut memory = vec![0; HOST];
        rng.fill(&mut memory);
        let rows = (sizes.slots * SLOT_ROWS) as usize;
        Self {
            pair: Lockstep::new("payload_fetch", sizes, Start::Random(seed)).expect("builds"),
            sizes: *sizes,
            tagr,
            banks: [vec![[0xee; 64]; rows], vec![[0xee; 64]; rows]],
            memory,
            free: (0..sizes.slots as u16).collect(),
            seg: None,
            flights: VecDeque::new(),
            first: 0,
            order: VecDeque::new(),
            taken: 0,
            next_read: 0,
            open: Vec::new(),
            words: VecDeque::new(),
            dead: Wide::ZERO,
            prefetch: None,
            committed: None,
            faults: 0,
            counted: Vec::new(),
            caused: Vec::new(),
            handed: 0,
            failed: 0,
            rd_taken: 0,
        }
    }

    fn segment(&mut self, rng: &mut Rng) -> Option<Segment> {
        if self.free.is_empty() {
            return None;
        }
        let slot = self.free.swap_remove(rng.below(self.free.len() as u64) as usize);
        let len = match rng.below(4) {
            0 => rng.below(8193) as u16,
            1 => rng.below(130) as u16,
            _ => rng.pick(&LENGTHS),
        };
        let offset = if rng.percent(75) { rng.pick(&OFFSETS) } else { rng.below(4096) };
        let laddr = BASE + 4096 * rng.below(13) + offset;
        Some(Segment {
            qp: rng.bits() as u8,
            slot,
            laddr,
            len,
            dest: rng.below(64) as u8,
            group: rng.bits() as u8,
            msg: rng.below(1_024) as u16,
            psn: Psn(rng.below(1 << 24) as u32),
            raddr: rng.bits(),
            rkey: rng.bits() as u32,
            msg_len: rng.bits() as u32,
            msn: rng.bits() as u16,
            first: rng.percent(50),
            last: rng.percent(50),
        })
    }

    /// A tag that no read has nor takes in the next clock: the drawn one where the build has no
    /// such tag, else the free one that comes last.
    fn stray_tag(&self, drawn: u8) -> Option<u8> {
        let (busy, next) = (&self.pair.regs().busy, usize::from(self.pair.regs().next_tag));
        if usize::from(drawn) >= busy.len() {
            return Some(drawn);
        }
        let free = (0..busy.len()).map(|n| (next + n) % busy.len()).filter(|tag| !busy[*tag]);
        free.skip(4).last().map(|tag| tag as u8)
    }

    /// The host answers a part of one of the open reads, any of them; `now` says that the answer's
    /// first word comes in this clock.
    fn answer(&mut self, rng: &mut Rng, now: bool) {
        let fault = if rng.percent(self.faults) { rng.pick(&FAULTS) } else { Fault::None };
        if fault == Fault::Tag {
            if let Some(tag) = self.stray_tag(rng.bits() as u8).filter(|_| now) {
                let word = CplWord {
                    tag,
                    count: 4,
                    bytes: 4,
                    first: true,
                    last: true,
                    ..CplWord::default()
                };
                self.words.push_back(word);
                self.caused.push(BAD_TAG);
            }
            return;
        }
        if self.open.is_empty() {
            return;
        }
        let n = rng.below(self.open.len() as u64) as usize;
        let Read { tag, addr, left, flight } = self.open[n].clone();
        let rcb = rng.pick(&[64, 128]);
        let end = match rng.below(3) {
            0 => (addr / rcb + 1) * rcb,
            1 => (addr + 512) / rcb * rcb,
            _ => addr + 512,
        };
        let mut bytes = left.min((end - addr) as u16);
        if bytes < left {
            bytes = ((addr + u64::from(bytes)) / rcb * rcb - addr) as u16;
        }
        let (mut count, mut lower, mut status) = (left, (addr % 128) as u8, 0);
        let mut claim = bytes;
        let mut reason = Some(BAD_COUNT);
        match fault {
            Fault::Count => count = rng.pick(&[left - 1, left + 1, 0, 4096 ^ left]),
            Fault::Lower => lower ^= rng.pick(&[1, 4, 64]),
            Fault::Long => {
                claim = left + rng.pick(&[1, 4]);
                reason = Some(BAD_LONG);
            }
            Fault::Empty => {
                claim = 0;
                reason = Some(BAD_SHORT);
            }
            Fault::OffLine if bytes > 1 => {
                claim = bytes - 1;
                reason = Some(BAD_SHORT);
                if (addr + u64::from(claim)) % 64 == 0 {
                    reason = None;
                }
            }
            Fault::Poison | Fault::LatePoison => reason = Some(BAD_POISON),
            Fault::Status => {
                status = rng.between(1, 7) as u8;
                reason = Some(OF_STATUS[usize::from(status)]);
            }
            _ => reason = None,
        }
        let fault = if reason.is_none() { Fault::None } else { fault };
        if fault == Fault::None {
            claim = bytes;
        }
        let words = match fault {
            Fault::Status | Fault::Empty => 1,
            _ => (addr % 64 + u64::from(bytes)).div_ceil(64),
        };
        for w in 0..words {
            let at = (addr / 64 * 64 + 64 * w - BASE) as usize;
            self.words.push_back(CplWord {
                tag,
                first: w == 0,
                last: w + 1 == words,
                data: Word::from_bytes(&self.memory[at..at + 64]),
                bytes: claim,
                status,
                poison: fault == Fault::Poison || fault == Fault::LatePoison && w + 1 == words,
                count,
                lower,
            });
        }
        if let Some(reason) = reason {
            self.caused.push(reason);
            let first = self.first;
            self.flights[flight - first].failed.get_or_insert(reason);
        }
        let ends = reason.is_some_and(|r| r != BAD_POISON);
        self.open[n].addr += u64::from(bytes);
        self.open[n].left -= bytes;
        if ends || self.open[n].left == 0 {
            self.open.swap_remove(n);
        }
    }

    fn clock(&mut self, rng: &mut Rng, pace: [u64; 5], more: bool) -> Result<Outputs, Mismatch> {
        let [seg, cpl, rd, ord, hand] = pace.map(|percent| rng.percent(percent));
        if self.seg.is_none() && seg && more {
            self.seg = self.segment(rng);
        }
        if self.words.is_empty() {
            self.answer(rng, cpl);
        }
        // Words follow each other with any gaps; those of two completions never mix.
        let word = if cpl { self.words.pop_front() } else { None };
        let c = word.unwrap_or_default();
        let commit = self.prefetch.is_some_and(|percent| rng.percent(percent));
        let commit = self.pair.regs().commit_valid && commit;
        let out = self.pair.clock(&Inputs {
            seg_valid: self.seg.is_some(),
            seg: self.seg.unwrap_or_default(),
            rd_ready: rd,
            cpl_valid: word.is_some(),
            cpl_tag: c.tag,
            cpl_first: c.first,
            cpl_last: c.last,
            cpl_data: c.data,
            cpl_bytes: c.bytes,
            cpl_status: c.status,
            cpl_poison: c.poison,
            cpl_count: c.count,
            cpl_lower: c.lower,
            ord_ready: ord,
            head_valid: !self.order.is_empty(),
            head: self.order.front().copied().unwrap_or_default(),
            hand_ready: hand,
            failed_ready: hand,
            tagr_rdata: self.tagr.rdata,
            dead: self.dead,
            commit_ready: commit,
            cfg_prefetch_on: self.prefetch.is_some(),
        })?;
        self.note_commit(&out, commit);
        if out.tagr_re {
            self.tagr.read(out.tagr_raddr);
        }
        if out.tagr_we {
            self.tagr.write(out.tagr_waddr, out.tagr_wdata);
        }
        self.note(&out, rd, ord, hand);
        Ok(out)
    }

    /// BUF-5: what waits is the oldest segment; it is committed, or its QP ends before.
    fn note_commit(&mut self, out: &Outputs, commit: bool) {
        if let Some(seg) = self.committed.take() {
            assert!(out.hand_valid && out.hand == seg, "handed on in the clock after");
        }
        assert!(!(out.hand_valid && out.commit_valid), "BUF-5: not before it is committed");
        if !out.commit_valid {
            return;
        }
        let oldest = self.flights.front_mut().expect("on its way");
        assert_eq!(out.hand, oldest.seg, "PCI-1: in issue order");
        if commit {
            self.committed = Some(out.hand);
        } else {
            let qp = out.hand.qp;
            oldest.dead |= self.dead.0[usize::from(qp / 64)] >> (qp % 64) & 1 == 1;
        }
    }

    fn note(&mut self, out: &Outputs, rd: bool, ord: bool, hand: bool) {
        for (n, bank) in self.banks.iter_mut().enumerate() {
            if out.bank_we >> n & 1 != 0 {
                out.bank_wdata.to_bytes(&mut bank[out.bank_waddr as usize]);
            }
        }
        if out.head_ready
            && let Some(head) = self.order.pop_front()
        {
            let dead = self.dead.0[usize::from(head.qp / 64)] >> (head.qp % 64) & 1 == 1;
            let flight = self.flights.iter_mut().find(|f| f.seg == head);
            flight.expect("on its way").dead = dead;
        }
        if out.ord_valid && ord {
            self.order.push_back(out.ord);
        }
        if out.rd_valid && rd {
            self.rd_taken += 1;
            let first = self.first;
            while self.flights[self.next_read - first].reads.is_empty() {
                self.next_read += 1;
            }
            let flight = &mut self.flights[self.next_read - first];
            let due = flight.reads.pop_front();
            assert_eq!(Some((out.rd_addr, out.rd_len)), due, "PCI-5: reads in order, a page each");
            assert!(self.open.iter().all(|r| r.tag != out.rd_tag), "PCI-8: a tag with one read");
            let (tag, addr, left) = (out.rd_tag, out.rd_addr, out.rd_len);
            self.open.push(Read { tag, addr, left, flight: self.next_read });
        }
        if out.seg_ready
            && let Some(seg) = self.seg.take()
        {
            let reads = reads(seg.laddr, seg.len).into();
            self.flights.push_back(Flight { seg, reads, failed: None, dead: false });
            self.taken += 1;
        }
        if out.bad_valid {
            self.counted.push(out.bad_reason);
        }
        if out.failed_valid && hand {
            let flight = self.leave();
            assert_eq!(out.failed, flight.seg, "PCI-8: in its turn");
            let reason = flight.failed.or(flight.dead.then_some(0));
            assert_eq!(Some(out.failed_reason), reason, "PCI-8: the reason that came first");
            self.failed += 1;
        }
        if out.hand_valid && hand {
            let flight = self.leave();
            assert_eq!(flight.failed, None, "a segment is handed on that has a fault");
            assert!(!flight.dead, "QP-6: a segment is handed on whose QP has ended");
            assert_eq!(out.hand, flight.seg, "PCI-1: hand-off in issue order");
            self.handed += 1;
            assert_eq!(self.stored(&out.hand), self.host(&out.hand), "payload in the banks");
        }
        assert!(out.tags_free <= self.sizes.tags as u16);
    }

    fn leave(&mut self) -> Flight {
        let flight = self.flights.pop_front().expect("a segment is there");
        self.first += 1;
        self.next_read = self.next_read.max(self.first);
        self.free.push(flight.seg.slot);
        flight
    }

    /// The payload as the banks hold it.
    fn stored(&self, seg: &Segment) -> Vec<u8> {
        let from = (seg.laddr % 64) as usize;
        let to = from + usize::from(seg.len);
        let word = |w: usize| self.banks[w % 2][usize::from(seg.slot) * SLOT_ROWS as usize + w / 2];
        (0..to.div_ceil(64)).flat_map(word).collect::<Vec<u8>>()[from.min(to)..]
            .iter()
            .copied()
            .take(usize::from(seg.len))
            .collect()
    }

    fn host(&self, seg: &Segment) -> Vec<u8> {
        let from = (seg.laddr - BASE) as usize;
        self.memory[from..from + usize::from(seg.len)].to_vec()
    }

    /// Clocks until nothing is under way: every tag and every segment comes back.
    fn drain(&mut self, rng: &mut Rng, pace: [u64; 5]) -> Result<(), Mismatch> {
        let faults = std::mem::take(&mut self.faults);
        for _ in 0..40_000 {
            let out = self.clock(rng, pace, false)?;
            if self.flights.is_empty() && self.seg.is_none() && self.words.is_empty() {
                for _ in 0..4 {
                    self.clock(rng, pace, false)?;
                }
                assert!(out.tags_free <= self.sizes.tags as u16);
                break;
            }
        }
        let out = self.clock(rng, pace, false)?;
        self.faults = faults;
        assert!(self.flights.is_empty(), "every segment has its turn");
        assert_eq!(u32::from(out.tags_free), self.sizes.tags, "no tag is lost");
        assert_eq!(self.counted, self.caused, "PCI-8: each fault is counted once, in order");
        assert_eq!(self.handed + self.failed, self.taken);
        Ok(())
    }
}

fn builds() -> [(&'static str, Sizes, u32); 2] {
    [("small", Sizes::SMALL, 10_000), ("default", Sizes::DEFAULT, 6_000)]
}

/// Random segments and completions in any order between reads, in both builds and each pace.
#[test]
fn pci_1_pci_5_banks_equal_host_memory_in_issue_order() -> Result<(), Mismatch> {
    for (name, sizes, clocks) in builds() {
        let mut rng = Rng::new(0x5eed, &format!("payload_fetch {name}"));
        for (seed, pace) in (0..).zip(PACES) {
            let mut bench = Bench::new(&sizes, seed, &mut rng);
            for _ in 0..clocks {
                bench.clock(&mut rng, pace, true)?;
            }
            bench.drain(&mut rng, pace)?;
            assert!(bench.handed > 10 && bench.failed == 0 && bench.counted.is_empty());
        }
    }
    Ok(())
}

/// QP-6: QPs end meanwhile. The host misbehaves in each way: counted, the segment fails, tags come back, others go on.
#[test]
fn pci_8_faults_are_counted_and_free_their_tag() -> Result<(), Mismatch> {
    for (name, sizes, clocks) in builds() {
        let mut rng = Rng::new(0x5eed, &format!("payload_fetch faults {name}"));
        let mut reached = Vec::new();
        for (seed, pace) in (20..).zip(PACES) {
            let mut bench = Bench::new(&sizes, seed, &mut rng);
            bench.faults = 20;
            for n in 0..clocks {
                if n % 64 == 0 {
                    bench.dead = Wide(std::array::from_fn(|_| rng.bits() & rng.bits()));
                }
                bench.clock(&mut rng, pace, true)?;
            }
            bench.drain(&mut rng, pace)?;
            reached.extend(bench.counted);
            assert!(bench.handed > 0 && bench.failed > 0);
        }
        for reason in BAD_TAG..=BAD_LONG {
            assert!(reached.contains(&reason), "reason {reason} in the {name} build");
        }
    }
    Ok(())
}

/// BUF-5, QP-6, PCI-8: with a prefetch buffer a segment is handed on once it is committed and no
/// sooner, in issue order; one whose QP ends while it waits comes to nothing, as a failed one does.
#[test]
fn buf_5_payloads_wait_to_be_committed() -> Result<(), Mismatch> {
    for (name, sizes, clocks) in builds() {
        let mut rng = Rng::new(0x5eed, &format!("payload_fetch prefetch {name}"));
        for ((seed, pace), commits) in (40..).zip(PACES).zip([100, 50, 10, 75, 3]) {
            let mut bench = Bench::new(&sizes, seed, &mut rng);
            (bench.prefetch, bench.faults) = (Some(commits), 5);
            for n in 0..clocks {
                if n % 64 == 0 {
                    let mut mask = |_| rng.bits() & rng.bits() & rng.bits();
                    bench.dead = Wide(std::array::from_fn(&mut mask));
                }
                bench.clock(&mut rng, pace, true)?;
            }
            bench.drain(&mut rng, pace)?;
            assert!(bench.handed > 10 && bench.failed > 5, "{} {}", bench.handed, bench.failed);
        }
    }
    Ok(())
}

/// Case of an engine that lost a tag for each error: 300 reads answered UR, then one that is not.
#[test]
fn pci_8_300_reads_answered_ur_then_one_more() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "payload_fetch ur");
    let mut bench = Bench::new(&Sizes::DEFAULT, 1, &mut rng);
    let segment =
        |slot: u16| Segment { laddr: BASE + 64, len: 64, slot, qp: 7, ..Segment::default() };
    for n in 0..301_u16 {
        bench.seg = Some(segment(n));
        while bench.seg.is_some() {
            let open = std::mem::take(&mut bench.open);
            bench.clock(&mut rng, PACES[0], false)?;
            bench.open.splice(0..0, open);
        }
        while bench.open.is_empty() {
            bench.clock(&mut rng, PACES[0], false)?;
        }
        if n < 300 {
            let read = bench.open.pop().expect("one");
            let (tag, status) = (read.tag, 1);
            bench.words.push_back(CplWord {
                tag,
                status,
                first: true,
                last: true,
                ..CplWord::default()
            });
            bench.caused.push(BAD_REQUEST);
            bench.flights[0].failed = Some(BAD_REQUEST);
        }
        while !bench.flights.is_empty() {
            bench.clock(&mut rng, PACES[0], false)?;
        }
    }
    assert_eq!((bench.failed, bench.handed), (300, 1));
    bench.drain(&mut rng, PACES[0])
}

/// Segments of one read each leave at one a clock: more than the 0.64 a clock that a link of
/// 63.04 B a clock can take at 98 B each (PCI-3).
#[test]
fn pci_3_a_read_a_clock() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "payload_fetch rate");
    let mut bench = Bench::new(&Sizes::DEFAULT, 1, &mut rng);
    for slot in 0..200 {
        bench.seg = Some(Segment { laddr: BASE + 8, len: 100, slot, ..Segment::default() });
        bench.words.push_back(CplWord::default()); // the host stays silent
        bench.clock(&mut rng, [100, 0, 100, 100, 100], false)?;
    }
    assert_eq!(bench.taken, 200);
    assert!(bench.rd_taken >= 198);
    Ok(())
}

/// After a reset in the middle of traffic nothing of it is left.
#[test]
fn a_reset_in_mid_traffic_leaves_nothing_behind() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "payload_fetch reset");
    let mut bench = Bench::new(&Sizes::SMALL, 5, &mut rng);
    for round in 0..20 {
        for _ in 0..rng.between(20, 200) {
            bench.clock(&mut rng, PACES[round % 5], true)?;
        }
        bench.pair.reset().expect("resets");
        let slots = bench.sizes.slots as u16;
        bench.free = (0..slots).collect();
        bench.seg = None;
        bench.first += bench.flights.len();
        bench.next_read = bench.first;
        bench.flights.clear();
        bench.order.clear();
        bench.open.clear();
        bench.words.clear();
        (bench.taken, bench.handed, bench.failed) = (0, 0, 0);
        for _ in 0..200 {
            bench.clock(&mut rng, PACES[round % 5], true)?;
        }
        bench.drain(&mut rng, PACES[round % 5])?;
    }
    Ok(())
}

/// Rows of a fixture: the order FIFO holds one segment, DW n of a completion's word is `base` + n.
fn play(file: &str) -> Result<(), Mismatch> {
    let mut pair =
        Lockstep::<Regs>::new("payload_fetch", &Sizes::SMALL, Start::Random(1)).expect("builds");
    let mut tagr = Ram::<Record>::new(16);
    let mut order = VecDeque::new();
    for row in Table::read(file) {
        let base = row.hex("base") as u32;
        let data: Vec<u8> = (0..16).flat_map(|n| (base + n).to_le_bytes()).collect();
        let ends = row.text("ends");
        let out = pair.clock(&Inputs {
            seg_valid: row.bit("seg"),
            seg: Segment {
                laddr: row.hex("laddr"),
                len: row.dec("len") as u16,
                slot: row.dec("slot") as u16,
                qp: row.dec("slot") as u8,
                ..Segment::default()
            },
            rd_ready: row.bit("rd_ready"),
            cpl_valid: ends != "no",
            cpl_tag: row.hex("tag") as u8,
            cpl_first: ends.starts_with('1'),
            cpl_last: ends.ends_with('1'),
            cpl_data: Word::from_bytes(&data),
            cpl_bytes: row.dec("bytes") as u16,
            cpl_status: row.dec("status") as u8,
            cpl_poison: row.bit("poison"),
            cpl_count: row.dec("count") as u16,
            cpl_lower: row.hex("lower") as u8,
            ord_ready: true,
            head_valid: !order.is_empty(),
            head: order.front().copied().unwrap_or_default(),
            hand_ready: row.bit("hand_ready"),
            failed_ready: row.bit("hand_ready"),
            tagr_rdata: tagr.rdata,
            ..Inputs::default()
        })?;
        if out.tagr_re {
            tagr.read(out.tagr_raddr);
        }
        if out.tagr_we {
            tagr.write(out.tagr_waddr, out.tagr_wdata);
        }
        if out.head_ready {
            order.pop_front();
        }
        if out.ord_valid {
            order.push_back(out.ord);
        }
        row.expect("seg_ready", u8::from(out.seg_ready));
        row.expect("free", out.tags_free);
        row.expect("rd", u8::from(out.rd_valid));
        row.expect("rd_addr", format!("{:x}", out.rd_addr));
        row.expect("rd_len", out.rd_len);
        row.expect("rd_tag", format!("{:x}", out.rd_tag));
        row.expect("bank", out.bank_we);
        row.expect("row", out.bank_waddr);
        row.expect("dw0", format!("{:x}", out.bank_wdata.0[0] as u32));
        let handed = if out.hand_valid { out.hand.slot.to_string() } else { "no".into() };
        row.expect("hand", handed);
        row.expect("bad", if out.bad_valid { out.bad_reason } else { 0 });
        let failed = format!("{}:{}", out.failed.slot, out.failed_reason);
        row.expect("failed", if out.failed_valid { failed } else { "no".into() });
    }
    Ok(())
}

#[test]
fn pci_5_a_read_for_each_page() -> Result<(), Mismatch> {
    play("payload_fetch/a_read_for_each_page.txt")
}

#[test]
fn pci_8_a_completion_is_held_against_its_read() -> Result<(), Mismatch> {
    play("payload_fetch/a_completion_is_held_against_its_read.txt")
}

#[test]
fn random_tests_reach_all() -> Result<(), Mismatch> {
    let reached = Reached::begin("payload_fetch");
    pci_1_pci_5_banks_equal_host_memory_in_issue_order()?;
    pci_8_faults_are_counted_and_free_their_tag()?;
    buf_5_payloads_wait_to_be_committed()?;
    reached.check();
    Ok(())
}
