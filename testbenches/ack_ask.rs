//! `ack_ask`: model and RTL get the same inputs and must agree on every clock; each message must be
//! looked at when it is due, while it is there, and its copy be wanted while it is not complete.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rtl_model::ack_ask::{Inputs, Node, Outputs, Regs};
use rtl_model::ram_1r1w::Ram;
use rtl_model::retransmit::TIMEOUT_PLACES;
use rtl_model::types::Psn;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// The block with its memory.
struct Dut {
    pair: Lockstep<Regs>,
    node: Ram<Node>,
}

impl Dut {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let start = Start::Random(seed as u32);
        let mut dut = Self {
            pair: Lockstep::new("ack_ask", sizes, start).expect("builds"),
            node: Ram::new(sizes.msgs as usize),
        };
        dut.node.randomize(&mut Rng::new(seed, "memories"));
        dut
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.node_rdata = self.node.rdata;
        let o = self.pair.clock(i)?;
        if o.node_re {
            self.node.read(o.node_raddr);
        }
        if o.node_we {
            self.node.write(o.node_waddr, o.node_wdata);
        }
        Ok(o)
    }
}

/// `cfg_timeout` of so many nanoseconds.
fn timeout(ns: u64) -> u64 {
    ((u128::from(ns) << TIMEOUT_PLACES) / 1_000) as u64
}

/// CPL-2.
#[test]
fn cpl_2_looked_at_until_it_is_complete() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 1);
    for row in Table::read("ack_ask/lost_ack.txt") {
        let of = |name: &str| row.text(name) != "-";
        let o = dut.clock(&mut Inputs {
            cfg_timeout: timeout(2_750),
            sent_valid: row.bit("sent"),
            sent_ready: true,
            sent_qp: 5,
            sent_msg: 3,
            sent_slot: 9,
            sent_first: Psn(0xff_fffe),
            sent_psn: Psn(1),
            left_valid: of("left"),
            left_msg: 3,
            ticks: row.dec("ticks"),
            exp_valid: of("exp_tick"),
            exp_slot: 3,
            exp_tick: row.text("exp_tick").parse().unwrap_or(0),
            check_ready: row.bit("check_ready"),
            check_rsp_valid: of("rsp"),
            check_rsp_clear: row.text("rsp") == "1",
            copy_done: row.bit("copy_done"),
            ..Inputs::default()
        })?;
        let some = |valid: bool, text: String| if valid { text } else { "-".into() };
        row.expect("arm", some(o.arm_valid, format!("{}:{}", o.arm_start, o.arm_span)));
        row.expect("cancel", some(o.cancel_valid, o.cancel_slot.to_string()));
        row.expect("exp_ready", u8::from(o.exp_ready));
        let ends = format!("{:06x}:{:06x}", o.check_first.0, o.check_last.0);
        row.expect("check", some(o.check_valid, ends));
        row.expect("copy", u8::from(o.copy_valid));
        row.expect("live", u8::from(o.copy_live));
    }
    Ok(())
}

/// CPL-2: floor(2 × T) whole microseconds, at least 1.
#[test]
fn cpl_2_periods() -> Result<(), Mismatch> {
    let rows = [(1, 1), (499, 1), (500, 1), (999, 1), (1_000, 2), (1_499, 2), (1_500, 3)];
    for (ns, micros) in rows.into_iter().chain([(150_000, 300), (8_000_000_000, 16_000_000)]) {
        let mut dut = Dut::new(&Sizes::SMALL, 1);
        let o = dut.clock(&mut Inputs { cfg_timeout: timeout(ns), ..Inputs::default() })?;
        assert_eq!(o.arm_span, micros, "T = {ns} ns");
    }
    Ok(())
}

/// A message that is sent and not complete.
#[derive(Clone, Copy, Debug)]
struct Message {
    node: Node,
    /// The tick at which it is looked at next.
    due: u64,
    /// Its timer runs from here on.
    start: u64,
}

/// What the block is at work on.
#[derive(Clone, Copy, Debug)]
struct Work {
    msg: u16,
    node: Node,
    /// It has left meanwhile.
    gone: bool,
}

/// What a run has met.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    checks: u64,
    copies: u64,
    unclear: u64,
    gone_before: u64,
    gone_after: u64,
    spoilt: u64,
}

struct Bench {
    dut: Dut,
    rng: Rng,
    i: Inputs,
    msgs: u16,
    period: u64,
    /// Clocks of a tick.
    tick: u64,
    /// By entry.
    there: BTreeMap<u16, Message>,
    /// A message whose `sent` was taken in the clock before.
    new: Option<(u16, Node)>,
    /// Timers that the block must start: entry and start, in any order.
    arms: VecDeque<(u16, u64)>,
    cancels: VecDeque<u16>,
    /// Timers of the wheel: what is due, by entry.
    wheel: BTreeMap<u16, u64>,
    /// The expiry on offer is of a message that has left.
    stale: bool,
    work: Option<Work>,
    /// Entries that a message has left, and which are not posted again yet.
    free: BTreeSet<u16>,
    seen: Seen,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u64, period: u64) -> Self {
        let mut bench = Self {
            dut: Dut::new(sizes, seed),
            rng: Rng::new(seed, "ack_ask"),
            i: Inputs::default(),
            msgs: sizes.msgs as u16,
            period,
            tick: 16,
            there: BTreeMap::new(),
            new: None,
            arms: VecDeque::new(),
            cancels: VecDeque::new(),
            wheel: BTreeMap::new(),
            stale: false,
            work: None,
            free: BTreeSet::new(),
            seen: Seen::default(),
        };
        bench.start();
        bench
    }

    fn start(&mut self) {
        self.i = Inputs { cfg_timeout: timeout(500 * self.period), ..Inputs::default() };
        self.there.clear();
        (self.new, self.stale, self.work) = (None, false, None);
        self.arms.clear();
        self.cancels.clear();
        self.wheel.clear();
        self.free = (0..self.msgs).collect();
    }

    /// The partners of this clock.
    fn drive(&mut self, ready: u64) {
        let rng = &mut self.rng;
        let any = |rng: &mut Rng, from: Vec<u16>| (!from.is_empty()).then(|| rng.pick(&from));
        if !self.i.sent_valid
            && rng.percent(12)
            && let Some(msg) = any(rng, self.free.iter().copied().collect())
        {
            self.i.sent_valid = true;
            self.i.sent_msg = msg;
            self.i.sent_qp = rng.bits() as u8;
            self.i.sent_slot = rng.below(1024) as u16;
            self.i.sent_first = Psn(rng.bits() as u32 & 0xff_ffff);
            self.i.sent_psn = Psn(rng.bits() as u32 & 0xff_ffff);
        }
        self.i.sent_ready = rng.percent(ready);
        self.i.left_valid = false;
        // Mostly those that something is under way for.
        let near = [self.work.map(|w| w.msg), self.i.exp_valid.then_some(self.i.exp_slot)];
        let near = near.into_iter().flatten().filter(|m| self.there.contains_key(m)).collect();
        let all = self.there.keys().copied().collect();
        let from = if rng.percent(50) { near } else { all };
        if rng.percent(8)
            && let Some(msg) = any(rng, from)
        {
            (self.i.left_valid, self.i.left_msg) = (true, msg);
        }
        let now = self.dut.pair.clocks() / self.tick;
        self.i.ticks = now;
        let due = |(msg, due): (&u16, &u64)| (*due <= now).then_some(*msg);
        let ready_to: Vec<u16> = self.wheel.iter().filter_map(due).collect();
        if !self.i.exp_valid
            && let Some(msg) = any(rng, ready_to)
        {
            self.i.exp_valid = true;
            self.i.exp_slot = msg;
            self.i.exp_tick = self.wheel.remove(&msg).expect("runs");
        }
        self.i.check_ready = rng.percent(ready);
        self.i.check_rsp_valid = false;
        self.i.copy_done = false;
    }

    fn clock(&mut self, ready: u64) -> Result<(), Mismatch> {
        self.drive(ready);
        let regs = *self.dut.pair.regs();
        self.i.check_rsp_valid =
            regs.state == rtl_model::ack_ask::State::Checked && self.rng.percent(ready);
        self.i.check_rsp_clear = self.rng.percent(60);
        self.i.copy_done =
            regs.state == rtl_model::ack_ask::State::Copy && self.rng.percent(ready / 2 + 1);
        let mut i = self.i;
        let o = self.dut.clock(&mut i)?;
        let now = self.dut.pair.clocks();

        // Timers: each of its message, from the first tick at or after its start.
        if o.arm_valid {
            let arm = (o.arm_slot, o.arm_start);
            let at = self.arms.iter().position(|a| *a == arm);
            self.arms.remove(at.unwrap_or_else(|| panic!("clock {now}: {arm:?} is not due")));
            assert_eq!(o.arm_span, self.period);
            self.wheel.insert(o.arm_slot, o.arm_start + o.arm_span);
        }
        assert_eq!(o.cancel_valid.then_some(o.cancel_slot), self.cancels.pop_front());
        if o.cancel_valid {
            self.wheel.remove(&o.cancel_slot);
        }
        assert!(self.arms.len() <= 2, "clock {now}: a timer is not started: {:?}", self.arms);

        self.asks(&i, &o, now);
        self.expiry(&i, &o, now);
        self.leaves(&i);
        // The clock of the log is the one after.
        if let Some((msg, node)) = self.new.take() {
            let start = i.ticks + 1;
            self.arms.push_back((msg, start));
            self.there.insert(msg, Message { node, due: start + self.period, start });
        }
        if i.sent_valid && i.sent_ready {
            let (slot, qp, first, last) = (i.sent_slot, i.sent_qp, i.sent_first, i.sent_psn);
            self.new = Some((i.sent_msg, Node { slot, qp, first, last }));
            self.free.remove(&i.sent_msg);
            self.i.sent_valid = false;
        }
        Ok(())
    }

    /// The check and the copy of the message in work.
    fn asks(&mut self, i: &Inputs, o: &Outputs, now: u64) {
        if o.check_valid {
            let work = self.work.expect("in work");
            let got = (o.check_qp, o.check_first, o.check_last);
            assert_eq!(got, (work.node.qp, work.node.first, work.node.last), "clock {now}");
            if i.check_ready {
                self.seen.checks += 1;
            }
        }
        if o.copy_valid {
            let work = self.work.expect("in work");
            assert_eq!((o.copy_slot, o.copy_live), (work.node.slot, !work.gone), "clock {now}");
        }
        if i.check_rsp_valid {
            let gone = self.work.expect("in work").gone || self.goes(i);
            self.seen.gone_before += u64::from(gone);
            self.seen.unclear += u64::from(!i.check_rsp_clear);
            if gone || !i.check_rsp_clear {
                self.work = None;
            }
        }
        if i.copy_done {
            let work = self.work.take().expect("in work");
            self.seen.copies += 1;
            self.seen.gone_after += u64::from(work.gone);
        }
    }

    /// The message in work leaves in this clock.
    fn goes(&self, i: &Inputs) -> bool {
        self.work.is_some_and(|w| i.left_valid && i.left_msg == w.msg)
    }

    /// An expiry is taken: of a message that is there it is the next thing to be done.
    fn expiry(&mut self, i: &Inputs, o: &Outputs, now: u64) {
        if !(i.exp_valid && o.exp_ready) {
            return;
        }
        self.i.exp_valid = false;
        let leaves = i.left_valid && i.left_msg == i.exp_slot
            || o.cancel_valid && o.cancel_slot == i.exp_slot;
        if std::mem::take(&mut self.stale) || leaves {
            self.seen.spoilt += 1;
            assert!(!o.node_re, "clock {now}: it has left");
            return;
        }
        let message = self.there.get_mut(&i.exp_slot).expect("there");
        assert_eq!(i.exp_tick, message.due, "clock {now}: it is looked at when it is due");
        message.start = message.due;
        message.due += self.period;
        self.arms.push_back((i.exp_slot, message.start));
        self.work = Some(Work { msg: i.exp_slot, node: message.node, gone: false });
    }

    fn leaves(&mut self, i: &Inputs) {
        if !i.left_valid {
            return;
        }
        let msg = i.left_msg;
        let start = self.there.remove(&msg).expect("there").start;
        self.free.insert(msg);
        self.cancels.push_back(msg);
        // What is offered goes on being offered.
        self.stale = self.i.exp_valid && self.i.exp_slot == msg;
        if let Some(work) = self.work.as_mut().filter(|w| w.msg == msg) {
            work.gone = true;
        }
        // Its next timer starts no more.
        let regs = self.dut.pair.regs();
        if !(regs.arm_valid && regs.arm_msg == msg) {
            self.arms.retain(|a| *a != (msg, start));
        }
    }
}

/// CPL-2: messages come and go, at each point of their way; partners at every pace; both sizes, with
/// a reset on the way.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("ack_ask");
    for (seed, sizes, period) in
        [(1, Sizes::SMALL, 3), (2, Sizes::DEFAULT, 40), (3, Sizes::SMALL, 1)]
    {
        let mut bench = Bench::new(&sizes, seed, period);
        for clock in 0..60_000_u64 {
            if clock == 9_000 {
                bench.dut.pair.reset().expect("resets");
                bench.start();
            }
            bench.clock([100, 30, 75][(clock / 3_000 % 3) as usize])?;
        }
        let seen = bench.seen;
        println!("{seen:?}");
        let met = [seen.checks, seen.copies, seen.unclear, seen.gone_before, seen.gone_after];
        assert!(met.iter().all(|n| *n > 20) && seen.spoilt > 5, "period {period}: {seen:?}");
    }
    reached.check();
    Ok(())
}
