//! `qp_drain`: model and RTL get the same partners and must agree on every clock; the partners hold
//! QPs, segments and packets and see that each ends once, in time, and nothing of it is left.

use std::collections::VecDeque;

use rtl_model::qp_drain::{Inputs, Outputs, Regs};
use rtl_model::types::{Qpn, Segment, Why};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Bytes of a packet beside its payload: on the wire and nominal.
const WIRE: u16 = 78;
const NOMINAL: u16 = 60;
/// Payloads: none, one byte, full packets.
const LENGTHS: [u16; 4] = [0, 1, 4096, 8192];

/// QP-6: a failed read, then a close of the same QP, clock by clock.
#[test]
fn qp_6_a_failed_read_and_a_close() -> Result<(), Mismatch> {
    let mut pair =
        Lockstep::<Regs>::new("qp_drain", &Sizes::SMALL, Start::Random(1)).expect("builds");
    let seg = Segment { qp: 3, group: 2, slot: 5, len: 100, ..Segment::default() };
    for row in Table::read("qp_drain/a_failed_read_and_a_close.txt") {
        let o = pair.clock(&Inputs {
            failed_valid: row.text("failed") != "-",
            failed: seg,
            failed_reason: row.text("failed").parse().unwrap_or(0),
            drain_valid: row.bit("drain"),
            drain_qp: 3,
            end_ready: row.bit("end_r"),
            end_rsp_valid: row.bit("rsp"),
            end_rsp_ok: true,
            end_rsp_qpn: Qpn::new(1, 3),
            end_rsp_group: 2,
            post_done_valid: row.bit("post"),
            post_qp: 3,
            drop_ready: row.bit("drop_r"),
            hand_valid: row.bit("hand"),
            hand_ready: true,
            hand: seg,
            seg_valid: row.bit("seg"),
            seg_ready: true,
            seg,
            built_valid: row.bit("built"),
            purge_ready: true,
            purge_done: row.bit("purged"),
            toss_ready: row.bit("toss_r"),
            flight_ready: true,
            cfg_wire_overhead: WIRE as u8,
            cfg_nominal_overhead: NOMINAL as u8,
            ..Inputs::default()
        })?;
        let when = |valid: bool, text: String| if valid { text } else { ".".to_owned() };
        row.expect("failed_r", u8::from(o.failed_ready));
        row.expect("toss", when(o.toss_valid, o.toss_slot.to_string()));
        row.expect("flight", when(o.flight_valid, o.flight_bytes.to_string()));
        row.expect("unresv", when(o.unresv_valid, o.unresv_bytes.to_string()));
        row.expect("drop", when(o.drop_valid, o.drop_qp.to_string()));
        let end = format!("{}{}", u8::from(o.end_close), u8::from(o.end_free));
        row.expect("end", when(o.end_valid, end));
        row.expect("error", when(o.error_valid, format!("{:?}", o.error_why)));
        row.expect("purge", when(o.purge_valid, o.purge_qp.to_string()));
    }
    Ok(())
}

/// A QP as its partners see it.
#[derive(Clone, Copy, Debug, Default)]
struct Qp {
    generation: u16,
    /// `qp_table` has marked it; a close of the host is under way.
    dead: bool,
    closing: bool,
    /// Its queue has been dropped since the mark; it is empty.
    dropped: bool,
    purged: bool,
    /// The first reason that is due, unless it has been marked.
    due: Option<Why>,
}

/// What `qp_table` has been asked.
#[derive(Clone, Copy, Debug)]
struct Ask {
    qp: u8,
    close: bool,
    free: bool,
    left: u64,
}

struct Bench {
    pair: Lockstep<Regs>,
    rng: Rng,
    i: Inputs,
    qps: Vec<Qp>,
    /// Segments issued, oldest first; those handed on and not built.
    fetching: VecDeque<Segment>,
    building: VecDeque<Segment>,
    ask: Option<Ask>,
    purging: Option<(u8, u64)>,
    /// The segment that is given back, what of it is still to come, and its drop.
    tossed: Option<(Segment, [bool; 3])>,
    errors: u32,
    closes: u32,
    tosses: u32,
    broken: u32,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let start = Start::Random(seed as u32);
        let mut bench = Self {
            pair: Lockstep::new("qp_drain", sizes, start).expect("builds"),
            rng: Rng::new(seed, "qp_drain"),
            i: Inputs::default(),
            qps: vec![Qp::default(); sizes.qps as usize],
            fetching: VecDeque::new(),
            building: VecDeque::new(),
            ask: None,
            purging: None,
            tossed: None,
            errors: 0,
            closes: 0,
            tosses: 0,
            broken: 0,
        };
        bench.start();
        bench
    }

    fn start(&mut self) {
        self.i = Inputs {
            cfg_wire_overhead: WIRE as u8,
            cfg_nominal_overhead: NOMINAL as u8,
            ..Inputs::default()
        };
        for qp in &mut self.qps {
            *qp = Qp { generation: self.rng.bits() as u16, ..Qp::default() };
        }
        self.fetching.clear();
        self.building.clear();
        (self.ask, self.purging, self.tossed) = (None, None, None);
    }

    /// One of few QPs, so that much happens to each; both ends of the table.
    fn some_qp(&mut self) -> u8 {
        let last = (self.qps.len() - 1) as u8;
        let any = self.rng.bits() as u8 & last;
        if self.rng.percent(90) { self.rng.pick(&[0, 1, 2, last]) } else { any }
    }

    fn at(&mut self, qp: u8) -> &mut Qp {
        &mut self.qps[usize::from(qp)]
    }

    fn group(qp: u8) -> u8 {
        qp / 2
    }

    /// New events of the partners; what waits stays.
    fn offer(&mut self, pace: u64) {
        let qp = self.some_qp();
        let side = *self.at(qp);
        if !self.i.seg_valid
            && !side.dropped
            && self.rng.percent(pace)
            && self.fetching.len() < 1000
        {
            let any = self.rng.below(8193) as u16;
            let len = if self.rng.percent(50) { self.rng.pick(&LENGTHS) } else { any };
            self.i.seg_valid = true;
            self.i.seg = Segment {
                qp,
                group: Self::group(qp),
                slot: self.rng.below(1024) as u16,
                len,
                ..Segment::default()
            };
        }
        let post = self.i.post_sched_valid || self.i.post_done_valid;
        if post {
            self.i.post_sched_valid &= self.rng.percent(80);
            self.i.post_done_valid &= self.rng.percent(80);
        } else if !side.dead && self.rng.percent(10) {
            (self.i.post_sched_valid, self.i.post_done_valid) = (true, true);
            self.i.post_qp = qp;
        }
        self.i.drain_valid = !side.closing && self.rng.percent(1);
        if self.i.drain_valid {
            self.i.drain_qp = qp;
            let side = self.at(qp);
            (side.dead, side.closing) = (true, true);
        }
        let qp = self.some_qp();
        self.i.fail_valid = !self.at(qp).closing && self.rng.below(200) == 0;
        if self.i.fail_valid {
            self.i.fail_qp = qp;
            self.i.fail_why = self.rng.pick(&[Why::Timeout, Why::Read]);
        }
        let qp = self.some_qp();
        self.i.spent_valid = !self.at(qp).closing && self.rng.below(200) == 0;
        self.i.spent_qp = qp;
        self.offer_head(pace);
        let built = !self.building.is_empty() && self.rng.percent(pace);
        self.i.built_valid = built;
    }

    /// The oldest fetch is handed on, or comes to nothing.
    fn offer_head(&mut self, pace: u64) {
        if self.i.hand_valid || self.i.failed_valid || !self.rng.percent(pace) {
            return;
        }
        let Some(seg) = self.fetching.front().copied() else { return };
        self.i.failed_reason = if self.rng.percent(3) { self.rng.between(1, 7) as u8 } else { 0 };
        if self.i.failed_reason > 0 || self.at(seg.qp).dead {
            self.i.failed_valid = true;
            self.i.failed = seg;
        } else if self.building.len() < 2 {
            self.i.hand_valid = true;
            self.i.hand = seg;
        }
    }

    fn answers(&mut self) {
        self.i.end_rsp_valid = false;
        if let Some(ask) = &mut self.ask {
            ask.left -= 1;
            if ask.left == 0 {
                let ask = self.ask.take().expect("asked");
                self.answer(ask);
            }
        }
        self.i.purge_done = false;
        if let Some((qp, left)) = self.purging {
            self.purging = (left > 1).then(|| (qp, left - 1));
            if left == 1 {
                self.i.purge_done = true;
                self.at(qp).purged = true;
            }
        }
    }

    /// `qp_table` marks a QP once for an error, again for a close; or frees its slot.
    fn answer(&mut self, ask: Ask) {
        let side = self.at(ask.qp);
        let ok = ask.close || !side.dead;
        let generation = side.generation;
        if ask.free {
            *side = Qp { generation: generation.wrapping_add(1), ..Qp::default() };
        } else if ok {
            side.dead = true;
        }
        self.i.end_rsp_valid = true;
        self.i.end_rsp_ok = ok;
        self.i.end_rsp_qpn = Qpn::new(generation, ask.qp);
        self.i.end_rsp_group = Self::group(ask.qp);
    }

    fn clock(&mut self, pace: u64, ready: u64) -> Result<(), Mismatch> {
        self.answers();
        self.offer(pace);
        let mut yes = || self.rng.percent(ready);
        (self.i.seg_ready, self.i.hand_ready, self.i.drop_ready) = (yes(), yes(), yes());
        // payload_fetch takes nothing for long, now and then.
        self.i.seg_ready &= !(self.pair.clocks() / 100).is_multiple_of(16);
        (self.i.toss_ready, self.i.flight_ready, self.i.purge_ready) = (yes(), yes(), yes());
        self.i.end_ready = yes();
        let i = self.i;
        let o = self.pair.clock(&i)?;
        self.see(&o);
        self.moves(&o);
        Ok(())
    }

    /// What the block says, held against what its partners have.
    fn see(&mut self, o: &Outputs) {
        assert!(o.fail_ready);
        if o.error_valid {
            self.errors += 1;
            let qp = o.error_qpn.slot();
            let why = self.at(qp).due.take();
            assert_eq!(Some(o.error_why), why, "the first reason");
            assert!(self.at(qp).dead && o.error_why != Why::Close);
        }
        if o.end_valid && self.i.end_ready {
            assert!(self.ask.is_none());
            let (qp, close, free) = (o.end_qp, o.end_close, o.end_free);
            if free {
                assert!(close && self.at(qp).purged, "an empty QP is freed");
                let left = self.fetching.iter().any(|s| s.qp == qp);
                let comes = self.i.seg_valid && self.i.seg.qp == qp;
                assert!(!left && !comes, "segments are left");
                self.closes += 1;
            } else {
                // A close comes before any other reason; an error that is not told is forgotten.
                let side = self.at(qp);
                if close || side.dead {
                    side.due = None;
                }
            }
            self.ask = Some(Ask { qp, close, free, left: self.rng.between(1, 3) });
        }
        if o.drop_valid && self.i.drop_ready {
            if let Some((seg, left)) = self.tossed.take() {
                assert_eq!((o.drop_qp, left), (seg.qp, [false; 3]), "given back before");
            } else {
                let posting = self.i.post_sched_valid || self.i.post_done_valid;
                assert!(self.at(o.drop_qp).dead, "a drop needs a mark");
                // A post that began before the mark is over.
                assert!(!(posting && self.i.post_qp == o.drop_qp), "a post comes behind it");
                self.at(o.drop_qp).dropped = true;
            }
            assert_eq!(o.drop_group, Self::group(o.drop_qp));
        }
        if o.purge_valid && self.i.purge_ready {
            let qp = o.purge_qp;
            let built = self.building.iter().chain(self.i.hand_valid.then_some(&self.i.hand));
            assert!(!built.into_iter().any(|s| s.qp == qp), "packet_build has some of it");
            assert!(self.at(qp).dropped, "tx_scheduler goes on");
            self.purging = Some((qp, self.rng.between(1, 9)));
        }
        self.see_toss(o);
    }

    fn see_toss(&mut self, o: &Outputs) {
        let told = [
            (o.toss_valid && self.i.toss_ready, u32::from(o.toss_slot)),
            (o.flight_valid && self.i.flight_ready, u32::from(o.flight_bytes)),
            (o.unresv_valid || o.unfetch_valid, u32::from(o.unresv_bytes)),
        ];
        let wrong = if self.i.cfg_prefetch_on { o.unresv_valid } else { o.unfetch_valid };
        assert!(!wrong, "BUF-5: room is given back where it was taken");
        for (n, (_, value)) in told.into_iter().enumerate().filter(|(_, (valid, _))| *valid) {
            let (seg, left) = self.tossed.as_mut().expect("a segment");
            assert!(std::mem::take(&mut left[n]), "given back once");
            let want = [seg.slot, seg.len + NOMINAL, seg.len + WIRE][n];
            assert_eq!(value, u32::from(want));
            assert!(n != 1 || o.flight_group == seg.group);
        }
    }

    /// What the partners make of the handshakes of this clock.
    fn moves(&mut self, o: &Outputs) {
        let i = self.i;
        if i.built_valid {
            self.building.pop_front();
        }
        if i.hand_valid && i.hand_ready {
            self.building.extend(self.fetching.pop_front());
            self.i.hand_valid = false;
        }
        if i.failed_valid && o.failed_ready {
            let seg = self.fetching.pop_front().expect("fetched");
            assert!(self.tossed.is_none(), "one segment at a time");
            self.tossed = Some((seg, [true; 3]));
            self.tosses += 1;
            self.i.failed_valid = false;
            if i.failed_reason > 0 {
                self.broken += 1;
                self.note(seg.qp, Why::Read);
            }
        }
        if i.fail_valid {
            self.note(i.fail_qp, i.fail_why);
        }
        if i.spent_valid {
            self.note(i.spent_qp, Why::Nack);
        }
        if i.seg_valid && i.seg_ready {
            self.fetching.push_back(i.seg);
            self.i.seg_valid = false;
        }
    }

    fn note(&mut self, qp: u8, why: Why) {
        let side = self.at(qp);
        if !side.closing {
            side.due.get_or_insert(why);
        }
    }
}

/// QP-6, BUF-5: errors and closes in any order, with segments at every place of their way; without a
/// prefetch buffer, and with one.
#[test]
fn qp_6_random_ends_agree() -> Result<(), Mismatch> {
    let reached = Reached::begin("qp_drain");
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::SMALL), (3, Sizes::DEFAULT)] {
        let mut bench = Bench::new(&sizes, seed);
        for clock in 0..60_000_u64 {
            if clock == 20_000 {
                bench.pair.reset().expect("resets");
                bench.start();
                bench.i.cfg_prefetch_on = true;
            }
            let pace = [60, 20, 90, 40][(clock / 1_000 % 4) as usize];
            let ready = [75, 25, 100][(clock / 500 % 3) as usize];
            bench.clock(pace, ready)?;
        }
        let counts = (bench.errors, bench.closes, bench.tosses, bench.broken);
        assert!(bench.errors > 50 && bench.closes > 100, "{counts:?}");
        assert!(bench.tosses > 500 && bench.broken > 100, "{counts:?}");
    }
    reached.check();
    Ok(())
}
