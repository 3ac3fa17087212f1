//! `wqe_retire`: model and RTL get the same inputs and must agree on every clock; a plain list of
//! what is posted says what retires, how, and in which order (MSN-3, MSN-5).

use std::collections::VecDeque;

use rtl_model::rc_pkg::{Op, RcCqe, RcWqe, Response, RspKind, Status};
use rtl_model::types::Psn;
use rtl_model::wqe_retire::{Inputs, Outputs, Regs};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// MSNs that a connection starts from: a real wire's, and those around the wrap and the half.
const STARTS: [u32; 6] = [0, 0xff_fffe, 0xff_ffff, 0x7f_ffff, 0x7f_fff0, 0x12_3456];

fn after_reset(sizes: &Sizes, seed: u32) -> Lockstep<Regs> {
    Lockstep::new("wqe_retire", sizes, Start::Random(seed)).expect("builds")
}

fn open(msn: u32) -> Inputs {
    Inputs { open: true, cfg_msn: Psn::new(msn), ..Inputs::default() }
}

fn ack(msn: u32) -> Response {
    Response { msn: Psn::new(msn), syndrome: 0x1f, ..Response::default() }
}

/// MSN-3, MSN-5: oldest first, up to the MSN, held back by a READ; the wrap of the SSN.
#[test]
fn msn_3_covered_and_held_back() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::SMALL, 1);
    pair.clock(&open(0xff_fffd))?;
    for row in Table::read("wqe_retire/covered_and_held_back.txt") {
        let mut i = Inputs { cqe_ready: row.bit("cqe_ready"), ..Inputs::default() };
        let post = row.text("post");
        i.post_valid = post != "-";
        i.post.signal = post == post.to_uppercase();
        i.post.op = match post.to_lowercase().as_str() {
            "w" => Op::Write,
            "r" => Op::Read,
            "a" => Op::Atomic,
            _ => Op::Send,
        };
        i.rx_valid = row.text("msn") != "-";
        if i.rx_valid {
            i.rx = ack(row.hex("msn") as u32);
        }
        i.done_valid = row.text("done") != "-";
        if i.done_valid {
            i.done_wqe = row.dec("done") as u8;
        }
        let o = pair.clock(&i)?;
        row.expect("ready", u8::from(o.post_ready));
        row.expect("retired", u8::from(o.retired_valid));
        row.expect("ssn", format!("{:06x}", o.retired.ssn.0));
        row.expect("cqe", u8::from(o.cqe_valid));
        row.expect("stall", u8::from(o.stall_cqe));
    }
    Ok(())
}

/// What is posted and not retired, as a plain list.
#[derive(Default)]
struct List {
    items: VecDeque<(Psn, RcWqe, bool)>,
    places: VecDeque<u8>,
    ssn: u32,
    failed: Option<Status>,
    entries: VecDeque<RcCqe>,
    held: u32,
}

impl List {
    /// Holds what retires against the list.
    fn retires(&mut self, cqe: RcCqe) {
        let (ssn, wqe, answered) = self.items.pop_front().expect("something is posted");
        self.places.pop_front();
        assert_eq!((cqe.ssn, cqe.op), (ssn, wqe.op), "post order");
        if cqe.status == Status::Success {
            assert!(answered || !wqe.op.waits(), "{cqe:?} has no response");
        } else {
            let wanted = self.failed.replace(Status::Flushed);
            assert_eq!(Some(cqe.status), wanted, "{cqe:?}");
        }
        if wqe.signal || cqe.status != Status::Success {
            self.entries.push_back(cqe);
        }
    }
}

struct Bench {
    pair: Lockstep<Regs>,
    rng: Rng,
    list: List,
    /// The newest MSN, counted from the start without a wrap, and what is covered by it.
    start: u32,
    covered: i64,
    retired: i64,
}

impl Bench {
    fn inputs(&mut self) -> Inputs {
        let (rng, list) = (&mut self.rng, &mut self.list);
        let mut i = Inputs { cqe_ready: rng.percent(70), ..Inputs::default() };
        i.post_valid = rng.percent(40);
        let ops = [Op::Send, Op::Write, Op::Read, Op::Atomic, Op::Send];
        i.post = RcWqe { op: rng.pick(&ops), signal: rng.percent(50), ..RcWqe::default() };
        (i.post.laddr, i.post.raddr) = (rng.bits(), rng.bits());
        (i.post.operand, i.post.compare) = (rng.bits(), rng.bits());
        (i.post.add, i.post.len) = (rng.percent(50), rng.below(1 << 21) as u32);
        if rng.percent(25) {
            let past = rng.pick(&[-2, -1, 0, 1, 2, 3, list.items.len() as i64, 1 << 23]);
            let to = self.covered + past;
            i.rx_valid = true;
            i.rx = ack((i64::from(self.start) + to).rem_euclid(1 << 24) as u32);
            i.rx.kind = rng.pick(&[RspKind::Ack, RspKind::ReadOnly, RspKind::ReadMiddle]);
            let most = self.retired + list.items.len() as i64;
            let taken = i.rx.kind != RspKind::ReadMiddle && list.failed.is_none();
            if taken && past >= 0 && to <= most {
                self.covered = to;
            }
        }
        let waits = list.items.iter().position(|(_, w, done)| w.op.waits() && !done);
        if let Some(at) = waits.filter(|_| rng.percent(30)) {
            (i.done_valid, i.done_wqe) = (true, list.places[at]);
            list.items[at].2 = true;
        }
        i.freed = list.held > 0 && rng.percent(35);
        i
    }

    fn clock(&mut self, i: &Inputs) -> Result<Outputs, Mismatch> {
        let o = self.pair.clock(i)?;
        if o.retired_valid {
            self.list.retires(o.retired);
            self.retired += 1;
            let covered = self.retired <= self.covered;
            assert!(covered || o.retired.status != Status::Success, "past the newest MSN");
        }
        if o.cqe_valid && i.cqe_ready {
            let wanted = self.list.entries.pop_front();
            assert_eq!(wanted, Some(o.cqe), "entries in order");
        }
        let list = &mut self.list;
        list.held -= u32::from(i.freed && list.held > 0);
        if i.post_valid && o.post_ready {
            list.ssn = (list.ssn + 1) % (1 << 24);
            list.items.push_back((Psn::new(list.ssn), i.post, false));
            list.places.push_back(o.wqe_waddr as u8);
            assert!(o.wqe_we && o.wqe_wdata == i.post);
            list.held += u32::from(list.failed.is_none());
        }
        if i.fail_valid {
            list.failed = Some(i.fail_status);
        }
        Ok(o)
    }

    fn open(&mut self) -> Result<(), Mismatch> {
        self.start = self.rng.pick(&STARTS);
        (self.covered, self.retired) = (0, 0);
        let entries = std::mem::take(&mut self.list.entries);
        self.list = List { ssn: self.start, entries, ..List::default() };
        let start = self.start;
        self.pair.clock(&open(start)).map(|_| ())
    }
}

/// MSN-3, MSN-5, in both sizes: posts, MSNs around the borders, responses late and early, failures,
/// a host that takes its time, a reset on the way.
#[test]
fn msn_3_msn_5_random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("wqe_retire");
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::DEFAULT), (3, Sizes::SMALL)] {
        let mut bench = Bench {
            pair: after_reset(&sizes, seed as u32),
            rng: Rng::new(seed, "wqe_retire"),
            list: List::default(),
            start: 0,
            covered: 0,
            retired: 0,
        };
        for round in 0..40 {
            if round == 20 {
                bench.pair.reset().expect("resets");
                bench.list.entries.clear();
            }
            bench.open()?;
            for clock in 0..500 {
                let mut i = bench.inputs();
                if clock == 400 && round % 3 == 0 {
                    i.fail_valid = true;
                    i.fail_status = bench.rng.pick(&[Status::Retries, Status::Remote]);
                    i.done_valid = false;
                }
                bench.clock(&i)?;
            }
            bench.settle()?;
        }
    }
    reached.check();
    Ok(())
}

impl Bench {
    /// Nothing comes any more: all that is covered retires, and nothing else.
    fn settle(&mut self) -> Result<(), Mismatch> {
        for _ in 0..200 {
            self.clock(&Inputs { cqe_ready: true, ..Inputs::default() })?;
        }
        assert!(self.list.entries.is_empty(), "every entry is written");
        if self.list.failed.is_some() {
            assert!(self.list.items.is_empty(), "all are flushed");
        } else if let Some((_, wqe, answered)) = self.list.items.front() {
            let waits = wqe.op.waits() && !answered;
            assert!(waits || self.covered <= self.retired, "the oldest is covered and stays");
        }
        Ok(())
    }
}

/// MSN-3: the walk takes one a clock and never holds up what arrives: an MSN in every clock.
#[test]
fn msn_3_an_answer_in_every_clock() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::SMALL, 5);
    pair.clock(&open(0))?;
    let post = RcWqe { signal: true, ..RcWqe::default() };
    for _ in 0..Sizes::SMALL.wqes {
        pair.clock(&Inputs { post_valid: true, post, ..Inputs::default() })?;
    }
    assert!(!pair.clock(&Inputs::default())?.post_ready, "the list is full");
    for n in 1..=Sizes::SMALL.wqes {
        pair.clock(&Inputs { rx_valid: true, rx: ack(n), ..Inputs::default() })?;
    }
    assert_eq!(pair.regs().msn, Psn::new(Sizes::SMALL.wqes), "each was taken");
    assert_eq!(pair.regs().ssn, Psn::new(2), "the host takes nothing: one has its entry");
    let mut burst = 0;
    for _ in 0..Sizes::SMALL.wqes {
        burst += u32::from(pair.clock(&Inputs { cqe_ready: true, ..Inputs::default() })?.cqe_valid);
    }
    assert_eq!(burst, Sizes::SMALL.wqes, "one in every clock");
    // All have retired, but their packets have not: no place is free.
    assert!(!pair.clock(&Inputs::default())?.post_ready);
    pair.clock(&Inputs { freed: true, ..Inputs::default() })?;
    assert!(pair.clock(&Inputs::default())?.post_ready);
    Ok(())
}
