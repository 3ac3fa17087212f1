//! `sack_bitmap`: model and RTL get the same requests and must agree on every clock; an ordered map
//! of numbers that never wrap, one a QP, gives the same responses.

use std::collections::{BTreeMap, VecDeque};

use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::sack_bitmap::{Inputs, Marks, Op, Outputs, Regs};
use rtl_model::types::Psn;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Requests, those that fill the ring more often.
const OPS: [Op; 13] = [
    Op::Set,
    Op::Set,
    Op::Hold,
    Op::Test,
    Op::Top,
    Op::Block,
    Op::Report,
    Op::Set,
    Op::Hold,
    Op::Clear,
    Op::Next,
    Op::Take,
    Op::Advance,
];

/// Where windows start: around the wrap of PSNs, half the number space, and words of the ring.
const LOWS: [i64; 14] = [
    0, 1, 63, 64, 0x3ff, 0x400, 0x7f_ffc0, 0x7f_ffff, 0x80_0000, 0xff_fc00, 0xff_ffbf, 0xff_ffc0,
    0xff_fffe, 0xff_ffff,
];
/// Values of `MaxPSNRange`, around words and the smallest and largest.
const RANGES: [i64; 11] = [1, 2, 63, 64, 65, 127, 128, 129, 1000, 1023, 1024];
/// Offsets at borders of words and blocks.
const OFFSETS: [i64; 9] = [0, 1, 31, 62, 63, 64, 65, 127, 128];

/// A request in numbers that never wrap.
#[derive(Clone, Copy, Debug)]
struct Request {
    op: Op,
    qp: u8,
    psn: i64,
    end: i64,
    low: i64,
    walk: i64,
    last: bool,
    asked: bool,
}

/// A response; `psn` only where it means something.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Response {
    hit: Option<bool>,
    psn: Option<Psn>,
    bits: u64,
    far: u16,
    asked: bool,
    more: bool,
}

const NOTHING: Response =
    Response { hit: None, psn: None, bits: 0, far: 0, asked: false, more: false };

fn wire(n: i64) -> Psn {
    Psn(n.rem_euclid(1 << 24) as u32)
}

/// The record of one QP, a plain ordered map.
#[derive(Clone, Default)]
struct Record {
    bits: BTreeMap<i64, (bool, bool)>,
}

impl Record {
    fn block(&self, from: i64, end: i64) -> u64 {
        self.bits.range(from..end.min(from + 64).max(from)).map(|(n, _)| 1 << (n - from)).sum()
    }

    fn answer(&mut self, r: &Request, psns: i64) -> Vec<Response> {
        let held = self.bits.contains_key(&r.psn);
        let one = vec![Response { hit: Some(held), ..NOTHING }];
        match r.op {
            Op::Wipe => {
                self.bits.clear();
                vec![NOTHING]
            }
            Op::Test => one,
            Op::Set => {
                self.bits.entry(r.psn).or_insert((r.last, r.asked));
                one
            }
            Op::Clear => {
                self.bits.remove(&r.psn);
                one
            }
            Op::Next | Op::Take | Op::Top => {
                let mut range = self.bits.range(r.psn..r.end).map(|(n, _)| *n);
                let found = if r.op == Op::Top { range.next_back() } else { range.next() };
                if let (Op::Take, Some(n)) = (r.op, found) {
                    self.bits.remove(&n);
                }
                let hit = Some(found.is_some());
                vec![Response { hit, psn: found.map(wire), ..NOTHING }]
            }
            Op::Block => vec![Response {
                hit: Some(false),
                psn: Some(wire(r.psn)),
                bits: self.block(r.psn, r.end),
                ..NOTHING
            }],
            Op::Report => vec![self.report(r, psns)],
            Op::Hold => {
                self.bits.entry(r.psn).or_insert((r.last, r.asked));
                vec![Response { hit: Some(held), ..self.report(r, psns) }]
            }
            Op::Advance => self.advance(r.psn, psns),
        }
    }

    fn report(&self, r: &Request, psns: i64) -> Response {
        // Numbers wrap on the wire: a walk below low is far above it there.
        let ahead = (r.walk - r.low).rem_euclid(1 << 24);
        let walk = if ahead < psns { r.low + ahead } else { r.low };
        let above = self.bits.range(walk..).next();
        let base = above.or_else(|| self.bits.iter().next()).map(|(n, _)| *n);
        Response {
            hit: Some(false),
            psn: base.map(wire),
            bits: base.map_or(0, |b| self.block(b, b + 64)),
            ..NOTHING
        }
    }

    fn advance(&mut self, psn: i64, psns: i64) -> Vec<Response> {
        let mut parts = Vec::new();
        let mut at = psn;
        loop {
            let mut part = Response { psn: Some(wire(at)), ..NOTHING };
            let start = at;
            while let Some((last, asked)) = self.bits.remove(&at) {
                part.bits |= u64::from(last) << (at - start);
                part.asked |= asked;
                at += 1;
                if at % 64 == 0 {
                    break;
                }
            }
            part.far = (at - psn).cast_unsigned() as u16;
            part.hit = Some(at > psn);
            // It looks into the next word of the ring where that holds any bit.
            let word = |n: i64| n.rem_euclid(psns) / 64;
            part.more =
                at > start && at % 64 == 0 && self.bits.keys().any(|n| word(*n) == word(at));
            parts.push(part);
            if !part.more {
                return parts;
            }
        }
    }
}

/// The block with its memories, and a record of each QP beside it.
struct Dut {
    pair: Lockstep<Regs>,
    bits: Ram<u64>,
    mark: Ram<Marks>,
    any: Ram<u16>,
    psns: i64,
    records: Vec<Record>,
    due: VecDeque<Response>,
    /// Clocks since the request was taken, and how long it may take.
    since: u32,
    most: u32,
}

/// The longest that a request takes to its first response.
fn most(op: Op) -> u32 {
    match op {
        Op::Wipe | Op::Test | Op::Set | Op::Clear | Op::Advance => 3,
        Op::Block => 4,
        Op::Next | Op::Take | Op::Top => 5,
        Op::Report => 6,
        Op::Hold => 8,
    }
}

impl Dut {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "sack_bitmap memories");
        let words = (sizes.qps * sizes.psns / 64) as usize;
        let (mut bits, mut mark) = (Ram::new(words), Ram::new(words));
        let mut any = Ram::new(sizes.qps as usize);
        bits.randomize(&mut rng);
        mark.randomize(&mut rng);
        any.randomize(&mut rng);
        let pair = Lockstep::new("sack_bitmap", sizes, Start::Random(seed as u32));
        Self {
            pair: pair.expect("builds"),
            bits,
            mark,
            any,
            psns: i64::from(sizes.psns),
            records: vec![Record::default(); sizes.qps as usize],
            due: VecDeque::new(),
            since: 0,
            most: 0,
        }
    }

    /// One clock, with a request or none; whether the request was taken.
    fn clock(&mut self, request: Option<&Request>, ready: bool) -> Result<bool, Mismatch> {
        let mut i = request.map_or_else(Inputs::default, |r| Inputs {
            req_valid: true,
            req_op: r.op,
            req_qp: r.qp,
            req_psn: wire(r.psn),
            req_end: wire(r.end),
            req_low: wire(r.low),
            req_walk: wire(r.walk),
            req_last: r.last,
            req_asked: r.asked,
            ..Inputs::default()
        });
        i.rsp_ready = ready;
        i.bits_rdata = self.bits.rdata;
        i.mark_rdata = self.mark.rdata;
        i.any_rdata = self.any.rdata;
        let o = self.pair.clock(&i)?;
        self.memories(&o);
        self.since += 1;
        if o.rsp_valid {
            assert!(self.since <= self.most, "a response in {} clocks", self.since);
            if ready {
                self.compare(&o);
            } else {
                (self.since, self.most) = (0, 1);
            }
        }
        let taken = i.req_valid && o.req_ready;
        if let (true, Some(r)) = (taken, request) {
            assert!(self.due.is_empty(), "one at a time");
            let record = &mut self.records[usize::from(r.qp)];
            self.due = record.answer(r, self.psns).into();
            (self.since, self.most) = (0, most(r.op));
        }
        Ok(taken)
    }

    fn memories(&mut self, o: &Outputs) {
        self.bits.clock(&ram_1r1w::Inputs {
            we: o.bits_we,
            waddr: o.bits_waddr,
            wdata: o.bits_wdata,
            re: o.bits_re,
            raddr: o.bits_raddr,
        });
        self.mark.clock(&ram_1r1w::Inputs {
            we: o.mark_we,
            waddr: o.mark_waddr,
            wdata: o.mark_wdata,
            re: o.mark_re,
            raddr: o.mark_raddr,
        });
        self.any.clock(&ram_1r1w::Inputs {
            we: o.any_we,
            waddr: o.any_waddr,
            wdata: o.any_wdata,
            re: o.any_re,
            raddr: o.any_raddr,
        });
    }

    fn compare(&mut self, o: &Outputs) {
        let due = self.due.pop_front().expect("a response that was asked for");
        let seen = Response {
            hit: due.hit.map(|_| o.rsp_hit),
            psn: due.psn.map(|_| o.rsp_psn),
            bits: o.rsp_bits,
            far: o.rsp_far,
            asked: o.rsp_asked,
            more: o.rsp_more,
        };
        assert_eq!(seen, due, "clock {}", self.pair.clocks());
        (self.since, self.most) = (0, 2);
    }

    /// A request with room for its responses at once: what came, and the clocks to the first.
    fn ask(&mut self, r: &Request) -> Result<(Vec<Response>, u32), Mismatch> {
        while !self.clock(Some(r), true)? {}
        let all: Vec<_> = self.due.iter().copied().collect();
        let mut clocks = None;
        for clock in 1.. {
            self.clock(None, true)?;
            if self.due.len() < all.len() {
                clocks.get_or_insert(clock);
            }
            if self.due.is_empty() {
                break;
            }
        }
        Ok((all, clocks.unwrap_or(0)))
    }
}

fn request(op: Op, psn: i64, end: i64, low: i64, walk: i64) -> Request {
    Request { op, qp: 1, psn, end, low, walk, last: false, asked: false }
}

fn op(name: &str) -> Op {
    let all = [
        Op::Wipe,
        Op::Test,
        Op::Set,
        Op::Clear,
        Op::Next,
        Op::Take,
        Op::Top,
        Op::Block,
        Op::Report,
        Op::Hold,
        Op::Advance,
    ];
    all.into_iter().find(|op| format!("{op:?}") == name).unwrap_or_else(|| panic!("no {name}"))
}

/// RX-7, SACK-3, LOS-1: a ring of 128 across the wrap of PSNs, by hand, with the clocks.
#[test]
fn across_words_and_both_wraps() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 1);
    for row in Table::read("sack_bitmap/across_both_wraps.txt") {
        // The oracle's numbers do not wrap: what is below half the space comes after the wrap.
        let at = |name: &str| {
            let n = row.hex(name).cast_signed();
            if n < 0x80_0000 { n + 0x100_0000 } else { n }
        };
        let mut r = request(op(row.text("op")), at("psn"), at("end"), at("low"), at("walk"));
        (r.last, r.asked) = (row.text("marks").contains('l'), row.text("marks").contains('a'));
        let (all, clocks) = dut.ask(&r)?;
        let last = all.last().expect("a response");
        let show = |psn: Option<Psn>| psn.map_or("-".to_owned(), |p| format!("{:06x}", p.0));
        row.expect("hit", last.hit.map_or("-".to_owned(), |h| u8::from(h).to_string()));
        row.expect("at", show(last.psn));
        row.expect("bits", format!("{:x}", all.iter().fold(0, |b, r| b | r.bits)));
        row.expect("far", last.far);
        row.expect("parts", all.len());
        row.expect("clocks", clocks);
    }
    Ok(())
}

/// RX-7: a run of every length from every place of a word, over the whole ring, in both builds.
#[test]
fn runs_cross_words_and_come_round() -> Result<(), Mismatch> {
    for sizes in [Sizes::SMALL, Sizes::DEFAULT] {
        let mut dut = Dut::new(&sizes, 2);
        let psns = i64::from(sizes.psns);
        for (n, start) in LOWS.into_iter().enumerate() {
            let length = [psns, psns - 1, 64, 65, 1, 63][n % 6];
            dut.ask(&request(Op::Wipe, start, start, start, start))?;
            for psn in start..start + length {
                dut.ask(&request(Op::Set, psn, psn, start, start))?;
            }
            let (top, _) = dut.ask(&request(Op::Top, start, start + psns, start, start))?;
            assert_eq!(top[0].psn, Some(wire(start + length - 1)));
            let (all, _) = dut.ask(&request(Op::Advance, start, start, start, start))?;
            assert_eq!(i64::from(all.last().expect("a part").far), length);
            let (none, _) = dut.ask(&request(Op::Next, start, start + psns, start, start))?;
            assert_eq!(none[0].hit, Some(false), "the run is cleared");
        }
    }
    Ok(())
}

/// SACK-3, case 23: blocks of 64 walk over 1,023 held PSNs and wrap; 16 of them list all.
#[test]
fn reports_walk_and_wrap() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::DEFAULT, 3);
    let low = 0xff_fe00; // 512 before the wrap
    dut.ask(&request(Op::Wipe, low, low, low, low))?;
    for psn in low + 1..low + 1024 {
        dut.ask(&request(Op::Set, psn, psn, low, low))?;
    }
    let mut walk = low;
    let mut listed = vec![false; 1024];
    let mut bases = Vec::new();
    for _ in 0..17 {
        let (all, clocks) = dut.ask(&request(Op::Report, low, low, low, walk))?;
        assert!(clocks <= 6);
        let base = i64::from(all[0].psn.expect("a base").ahead_of(wire(low))) + low;
        bases.push(base - low);
        for n in 0..64 {
            if all[0].bits >> n & 1 == 1 {
                listed[(base - low).cast_unsigned() as usize + n] = true;
            }
        }
        if bases.len() == 16 {
            assert!(!listed[0] && listed[1..].iter().all(|l| *l), "1 to 1,023 in 16 reports");
        }
        walk = base + 64;
    }
    assert_eq!((bases[0], bases[15], bases[16]), (1, 961, 1), "and from the first again");
    Ok(())
}

/// LOS-1, RX-7: one Set each 3 clocks, one Hold in at most 8, for any place of the bits.
#[test]
fn a_packet_every_eight_clocks() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::DEFAULT, 4);
    dut.ask(&request(Op::Wipe, 0, 0, 0, 0))?;
    for (op, most) in [(Op::Set, 3), (Op::Hold, 8)] {
        let start = dut.pair.clocks();
        let mut taken = 0;
        for n in 0..200 {
            // Far apart, so that each report finds its base in another word.
            let psn = 1 + n * 331 % 1000;
            let r = request(op, psn, psn, 0, psn + 1);
            while !dut.clock(Some(&r), true)? {}
            taken += 1;
        }
        let clocks = dut.pair.clocks() - start;
        assert!(clocks <= taken * most, "{taken} requests in {clocks} clocks");
    }
    Ok(())
}

/// A sender's packet, set as it is sent and cleared as it is acknowledged, 800 packets later:
/// `Set` and `Clear` in 6 clocks, `Set` and `Take` in at most 8, `Take` too from another word. Each
/// direction has a unit of its own, so this holds beside the receiver's `Hold`.
#[test]
fn los_1_a_sent_and_an_acknowledged_packet_in_eight_clocks() -> Result<(), Mismatch> {
    for (op, psns, most) in [(Op::Clear, 1, 6), (Op::Take, 1, 6), (Op::Take, 65, 8)] {
        let mut dut = Dut::new(&Sizes::DEFAULT, 5);
        let mut clocks = 0;
        // Across the wrap of PSNs; the window fills up, then moves.
        let low = 0xff_ff00;
        dut.ask(&request(Op::Wipe, low, low, low, low))?;
        for n in 0..2_800 {
            let (psn, oldest) = (low + n, low + (n - 800).max(0));
            let start = dut.pair.clocks();
            let set = request(Op::Set, psn, psn, oldest, oldest);
            while !dut.clock(Some(&set), true)? {}
            if n < 800 {
                continue;
            }
            // The search starts at the packet, or in the word before its own.
            let from = oldest - (psns - 1);
            let gone = request(op, from, oldest + 1, oldest, oldest);
            while !dut.clock(Some(&gone), true)? {}
            clocks += dut.pair.clocks() - start;
        }
        assert!(clocks <= 2_000 * most, "{op:?}: 2,000 packets in {clocks} clocks");
        assert!(clocks > 2_000 * (most - 1), "{op:?}: 2,000 packets in {clocks} clocks");
    }
    Ok(())
}

/// Random requests over a few QPs, each with a window that moves.
struct Traffic {
    rng: Rng,
    lows: Vec<i64>,
    ranges: Vec<i64>,
    wiped: Vec<bool>,
    /// Bits are set and none is cleared, so that runs get long.
    fill: bool,
}

impl Traffic {
    fn new(seed: u64, sizes: &Sizes) -> Self {
        let mut rng = Rng::new(seed, "sack_bitmap");
        let qps = sizes.qps as usize;
        let lows = (0..qps).map(|_| rng.pick(&LOWS)).collect();
        let ranges = (0..qps).map(|_| rng.pick(&RANGES).min(i64::from(sizes.psns))).collect();
        Self { rng, lows, ranges, wiped: vec![false; qps], fill: false }
    }

    /// A PSN of the window, at borders more often.
    fn place(&mut self, low: i64, range: i64) -> i64 {
        let offset = match self.rng.below(4) {
            0 => self.rng.pick(&OFFSETS),
            1 => range - 1 - self.rng.pick(&OFFSETS),
            _ => self.rng.below(range as u64) as i64,
        };
        low + offset.rem_euclid(range)
    }

    fn request(&mut self, dut: &Dut) -> Request {
        let last_qp = (self.lows.len() - 1) as u8;
        let qp = self.rng.pick(&[0, 1, 2, last_qp]);
        let at = usize::from(qp);
        let record = &dut.records[at];
        if record.bits.is_empty() && self.rng.percent(30) {
            self.ranges[at] = self.rng.pick(&RANGES).min(dut.psns);
            self.lows[at] = self.rng.pick(&LOWS);
        }
        let (low, range) = (self.lows[at], self.ranges[at]);
        let end_of_all = low + dut.psns;
        let psn = self.place(low, range);
        let end = match self.rng.below(3) {
            0 => end_of_all,
            1 => psn + self.rng.pick(&OFFSETS),
            _ => psn + self.rng.below(dut.psns as u64) as i64,
        };
        let walk = match self.rng.below(4) {
            0 => low - 1,
            1 => end_of_all - self.rng.pick(&[0, 1]),
            2 => low + 0x80_0000,
            _ => psn,
        };
        let mut op = self.rng.pick(if self.fill { &OPS[..7] } else { &OPS });
        if !self.wiped[at] || !self.fill && self.rng.percent(1) {
            op = Op::Wipe;
            self.wiped[at] = true;
        }
        // From the first bit, or past a gap: a run ends in the window.
        let first = record.bits.keys().next().copied();
        let psn = match (op, first) {
            (Op::Advance, Some(first)) if first == low || self.rng.percent(50) => first,
            // Where the first run ends, so that it grows.
            (Op::Set, Some(first)) if self.fill => {
                (first..low + range).find(|n| !record.bits.contains_key(n)).unwrap_or(psn)
            }
            _ => psn,
        };
        Request {
            op,
            qp,
            psn,
            end: end.clamp(psn, end_of_all),
            low,
            walk,
            last: self.rng.percent(30),
            asked: self.rng.percent(10),
        }
    }

    /// The window moves on to the lowest bit now and then.
    fn step(&mut self, dut: &Dut) {
        for at in [0, 1, 2, self.lows.len() - 1] {
            if let (Some((first, _)), true) =
                (dut.records[at].bits.iter().next(), self.rng.percent(10))
            {
                self.lows[at] = *first;
            }
        }
    }

    fn run(&mut self, dut: &mut Dut, clocks: u32) -> Result<(), Mismatch> {
        let mut waiting: Option<Request> = None;
        let mut taken = 0;
        for clock in 0..clocks {
            if clock == clocks / 2 {
                dut.pair.reset().expect("resets");
                dut.records.fill(Record::default());
                dut.due.clear();
                self.wiped.fill(false);
                waiting = None;
            }
            self.fill = clock % 8192 < 3072;
            // A request is drawn when those before it are answered or about to be.
            if waiting.is_none() && dut.due.len() <= 1 && self.rng.percent(80) {
                if !self.fill {
                    self.step(dut);
                }
                waiting = Some(self.request(dut));
            }
            let ready = self.rng.percent(if clock % 4096 < 2048 { 100 } else { 50 });
            if dut.clock(waiting.as_ref(), ready)? {
                waiting = None;
                taken += 1;
            }
        }
        assert!(taken > clocks / 10, "{taken} requests were taken");
        Ok(())
    }
}

/// RX-7, RX-8, SACK-3, SACK-4, LOS-1: every request at the borders of words, of the ring and of
/// PSNs, under back-pressure, with a reset on the way.
#[test]
fn random_requests_agree() -> Result<(), Mismatch> {
    let reached = Reached::begin("sack_bitmap");
    for (sizes, seed, clocks) in [
        (Sizes::SMALL, 11, 100_000),
        (Sizes::SMALL, 12, 100_000),
        (Sizes::DEFAULT, 13, 200_000),
        (Sizes::DEFAULT, 14, 100_000),
    ] {
        let mut dut = Dut::new(&sizes, seed);
        Traffic::new(seed, &sizes).run(&mut dut, clocks)?;
    }
    reached.check();
    Ok(())
}
