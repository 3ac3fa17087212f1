//! `timer_wheel`: model and RTL get the same inputs and must agree on every clock; a sorted map of
//! the timers and a wheel of another library expire the same ones at the same ticks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hierarchical_hash_wheel_timer::wheels::quad_wheel::{QuadWheelWithOverflow, no_prune};
use rtl_model::block::Block;
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::timer_wheel::{END, Inputs, Outputs, Record, Regs, Spoke, spokes};
use testbenches::{Late, Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// 8 s doubled 25 times, in microseconds (TMR-5).
const LONGEST: u64 = 8_000_000 << 25;

/// The block: in lockstep, or the model alone.
enum Pair {
    Both(Box<Lockstep<Regs>>),
    Model(Box<Regs>),
}

/// The block with its memories.
struct Dut {
    pair: Pair,
    rec: Ram<Record>,
    spoke: Ram<Spoke>,
}

impl Dut {
    fn with(pair: Pair, sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "memory");
        let mut rec = Ram::new(sizes.slots as usize);
        let mut spoke = Ram::new(spokes(sizes) as usize);
        rec.randomize(&mut rng);
        spoke.randomize(&mut rng);
        Self { pair, rec, spoke }
    }

    fn both(sizes: &Sizes, seed: u64) -> Self {
        let start = Start::Random(seed as u32);
        let pair = Lockstep::new("timer_wheel", sizes, start).expect("builds");
        Self::with(Pair::Both(Box::new(pair)), sizes, seed)
    }

    fn model(sizes: &Sizes, seed: u64) -> Self {
        Self::with(Pair::Model(Box::new(Regs::reset(sizes))), sizes, seed)
    }

    /// The same block as if these ticks had been counted and served without a timer.
    fn at(mut self, tick: u64) -> Self {
        let set = |regs: &mut Regs| (regs.now, regs.at) = (tick, tick);
        match &mut self.pair {
            Pair::Model(regs) => set(regs),
            Pair::Both(pair) => {
                let mut regs = pair.regs().clone();
                set(&mut regs);
                pair.load(regs).expect("loads");
            }
        }
        self
    }

    fn regs(&self) -> &Regs {
        match &self.pair {
            Pair::Both(pair) => pair.regs(),
            Pair::Model(regs) => regs,
        }
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.rec_rdata = self.rec.rdata;
        i.spoke_rdata = self.spoke.rdata;
        let o = match &mut self.pair {
            Pair::Both(pair) => pair.clock(i)?,
            Pair::Model(regs) => {
                let mut o = Outputs::default();
                regs.drive(&mut o);
                if !regs.idle(i) {
                    regs.ready(i, &mut o);
                    regs.clock(i, &o);
                }
                o
            }
        };
        self.rec.clock(&ram_1r1w::Inputs {
            we: o.rec_we,
            waddr: o.rec_waddr,
            wdata: o.rec_wdata,
            re: o.rec_re,
            raddr: o.rec_raddr,
        });
        self.spoke.clock(&ram_1r1w::Inputs {
            we: o.spoke_we,
            waddr: o.spoke_waddr,
            wdata: o.spoke_wdata,
            re: o.spoke_re,
            raddr: o.spoke_raddr,
        });
        Ok(o)
    }
}

/// TMR-1, cases 6 and 7: a timer of 1 µs armed 0, 1, 499, 999 ns after a tick expires at 1, 2, 2,
/// 2 µs; one turn of the lowest wheel, armed in the clock in which the same slot's expiry is taken,
/// expires once, one turn later; cancelled, not at all.
#[test]
fn armed_beside_a_tick() -> Result<(), Mismatch> {
    let mut dut = Dut::both(&Sizes::SMALL, 1);
    for row in Table::read("timer_wheel/armed_beside_a_tick.txt") {
        for _ in 0..row.dec("after") {
            dut.clock(&mut Inputs { exp_ready: true, ..Inputs::default() })?;
        }
        let now = dut.regs().now;
        let op = row.text("op");
        let (slot, span) = (row.dec("slot") as u16, row.dec("span"));
        let out = dut.clock(&mut Inputs {
            tick: row.bit("tick"),
            arm_valid: op == "arm",
            arm_slot: slot,
            arm_gen: 7,
            arm_start: now + 1,
            arm_span: span,
            cancel_valid: op == "cancel",
            cancel_slot: slot,
            exp_ready: true,
            ..Inputs::default()
        })?;
        row.expect("now", out.now);
        let expired = out.exp_valid.then(|| format!("{}@{}", out.exp_slot, out.exp_tick));
        row.expect("expired", expired.unwrap_or("none".to_owned()));
        row.expect("running", out.running);
    }
    Ok(())
}

/// TMR-1, case 7: a timer that is armed again in the clock in which its expiry is taken, for exactly
/// one turn of the lowest wheel, expires once more and one turn later; with 16 and with 64 spokes.
#[test]
fn case_7_armed_for_one_turn_as_it_expires() -> Result<(), Mismatch> {
    for (sizes, turn) in [(Sizes::SMALL, 16), (Sizes::DEFAULT, 64)] {
        assert_eq!(spokes(&sizes) % turn, 0, "whole wheels");
        for first in [1, 2, turn - 1, turn, turn + 1] {
            let mut dut = Dut::both(&sizes, 7);
            let mut i =
                Inputs { arm_valid: true, arm_slot: 3, exp_ready: true, ..Inputs::default() };
            (i.arm_start, i.arm_span) = (1, u64::from(first));
            dut.clock(&mut i)?;
            let mut expired = Vec::new();
            for clock in 0..16 * 5 * turn {
                let mut i = Inputs { tick: clock % 16 == 0, exp_ready: true, ..Inputs::default() };
                // The expiry is on offer in this clock: it is taken, and the slot armed.
                let mut o = Outputs::default();
                dut.regs().drive(&mut o);
                if o.exp_valid && expired.is_empty() {
                    (i.arm_valid, i.arm_slot, i.arm_gen) = (true, 3, 1);
                    (i.arm_start, i.arm_span) = (dut.regs().now, u64::from(turn));
                }
                let o = dut.clock(&mut i)?;
                expired.extend(o.exp_valid.then_some((o.exp_tick, o.now, o.exp_gen)));
            }
            let (due, again) = (u64::from(1 + first), u64::from(1 + first + turn));
            assert_eq!(expired, [(due, due, 0), (again, again, 1)], "turn {turn}, from {first}");
            assert_eq!(dut.regs().running, 0);
        }
    }
    Ok(())
}

/// Case 11, TMR-1: four timers of one tick and two of the next, whose expiries wait for 0 to 5 clocks
/// until `retransmit` takes them, expire once each.
#[test]
fn case_11_expiries_count_once_whatever_waits() -> Result<(), Mismatch> {
    for low in 0..=5 {
        let mut dut = Dut::both(&Sizes::SMALL, 11);
        let (mut taker, mut expired) = (Late::by(low), Vec::new());
        for clock in 0..200_u16 {
            let mut i = Inputs {
                tick: clock % 50 == 49,
                arm_valid: clock < 6,
                arm_slot: clock % 6,
                arm_start: 1,
                arm_span: u64::from(clock / 4),
                exp_ready: taker.ready(dut.regs().exp_valid),
                ..Inputs::default()
            };
            let out = dut.clock(&mut i)?;
            expired.extend(i.exp_ready.then_some((out.exp_tick, out.exp_slot)));
        }
        expired.sort_unstable();
        assert_eq!(expired, [(1, 0), (1, 1), (1, 2), (1, 3), (2, 4), (2, 5)], "{low} clocks");
        assert_eq!(dut.regs().running, 0);
    }
    Ok(())
}

/// Timers as a sorted map, and what they come to.
#[derive(Default)]
struct Timers {
    live: BTreeSet<(u64, u16)>,
    slots: BTreeMap<u16, (u64, u8)>,
    generations: BTreeMap<u16, u8>,
    /// An expiry that was on offer when its slot was cancelled or armed again.
    stale: Option<(u16, u8)>,
    /// The clock of each tick with a timer that is still to come.
    ticked: BTreeMap<u64, u64>,
    expired: u64,
    cancelled: u64,
    rearmed: u64,
    latest: u64,
}

impl Timers {
    fn drop_slot(&mut self, slot: u16, o: &Outputs) {
        if let Some((due, generation)) = self.slots.remove(&slot) {
            self.live.remove(&(due, slot));
            if o.exp_valid && o.exp_slot == slot && o.exp_gen == generation {
                self.stale = Some((slot, generation));
            }
        }
    }

    /// Holds the outputs of a clock against the timers, and takes its inputs. `served` is the tick
    /// that the wheel had come to.
    fn check(&mut self, clock: u64, served: u64, i: &Inputs, o: &Outputs) {
        if o.exp_valid && i.exp_ready {
            let got = (o.exp_slot, o.exp_gen);
            if self.stale == Some(got) {
                self.stale = None;
            } else {
                let first = self.live.pop_first().expect("a timer runs");
                assert_eq!((o.exp_tick, o.exp_slot), first, "clock {clock}: another was due");
                assert_eq!(self.slots.remove(&o.exp_slot), Some((o.exp_tick, o.exp_gen)));
                assert!(o.exp_tick <= o.now, "clock {clock}: early");
                let since = clock - self.ticked.get(&o.exp_tick).copied().unwrap_or(clock);
                self.latest = self.latest.max(since);
                self.expired += 1;
            }
        }
        if i.cancel_valid {
            self.cancelled += u64::from(self.slots.contains_key(&i.cancel_slot));
            self.drop_slot(i.cancel_slot, o);
        }
        if i.arm_valid {
            self.rearmed += u64::from(self.slots.contains_key(&i.arm_slot));
            self.drop_slot(i.arm_slot, o);
            // One that has been served already: the next.
            let due = (i.arm_start + i.arm_span).min(END).max(served + 1);
            self.live.insert((due, i.arm_slot));
            self.slots.insert(i.arm_slot, (due, i.arm_gen));
        }
        if i.tick {
            self.ticked.insert(o.now + 1, clock);
            while self.ticked.len() > 8_192 {
                self.ticked.pop_first();
            }
        }
    }

    /// The next generation of a slot.
    fn generation(&mut self, slot: u16) -> u8 {
        let generation = self.generations.entry(slot).or_default();
        *generation = generation.wrapping_add(1);
        *generation
    }
}

/// A span: of a border of some wheel, or any below the reach of the run.
fn span(rng: &mut Rng, digit: u32, reach: u64) -> u64 {
    let turn = 1 << (digit * (1 + rng.below(3) as u32));
    let near = [1, 2, turn - 1, turn, turn + 1, LONGEST, END];
    match rng.below(10) {
        0..3 => rng.pick(&near),
        3..6 => 1 + rng.below(20),
        6..9 => (1 + rng.below(15)) << (4 * rng.below(12)),
        _ => 1 + rng.below(reach),
    }
}

/// What a run of random traffic is made of.
struct Run {
    ticks: u64,
    clocks_per_tick: u64,
    /// Percent of clocks with an arm, with a cancel, and in which an expiry is taken.
    arm: u64,
    cancel: u64,
    take: u64,
}

/// Random arms, cancels and re-arms against the sorted map.
fn traffic(dut: &mut Dut, rng: &mut Rng, sizes: &Sizes, run: &Run) -> Result<Timers, Mismatch> {
    let mut timers = Timers::default();
    let digit = if sizes.slots > 64 { 6 } else { 4 };
    for clock in 0..run.ticks * run.clocks_per_tick {
        let mut i = Inputs { exp_ready: rng.percent(run.take), ..Inputs::default() };
        i.tick = clock % run.clocks_per_tick == 0;
        if rng.percent(run.arm) {
            i.arm_valid = true;
            i.arm_slot = rng.below(u64::from(sizes.slots)) as u16;
            i.arm_gen = timers.generation(i.arm_slot);
            i.arm_start = dut.regs().now + 1;
            i.arm_span = span(rng, digit, 1 << (3 * digit));
            if rng.percent(5) {
                // A start of some ticks ago.
                i.arm_start -= rng.below(4).min(dut.regs().now);
                i.arm_span = 1;
            }
        }
        if rng.percent(run.cancel) {
            i.cancel_valid = true;
            i.cancel_slot = rng.below(u64::from(sizes.slots)) as u16;
        }
        let served = dut.regs().at;
        let o = dut.clock(&mut i)?;
        timers.check(clock, served, &i, &o);
        assert_eq!(usize::from(dut.regs().running), dut.regs().armed.count_ones());
    }
    finish(dut, &mut timers, run.ticks * run.clocks_per_tick)?;
    Ok(timers)
}

/// Serves what has been counted: nothing that was due is left.
fn finish(dut: &mut Dut, timers: &mut Timers, from: u64) -> Result<(), Mismatch> {
    for clock in from..from + 8_192 {
        let mut i = Inputs { exp_ready: true, ..Inputs::default() };
        let served = dut.regs().at;
        let o = dut.clock(&mut i)?;
        timers.check(clock, served, &i, &o);
    }
    let now = dut.regs().now;
    assert_eq!(dut.regs().at, now, "all ticks are served");
    assert!(timers.live.iter().all(|(due, _)| *due > now), "a timer was lost");
    Ok(())
}

/// TMR-1, TMR-5: in both sizes, the tick every 16 clocks, with a reset on the way.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("timer_wheel");
    for (seed, sizes, arm) in [(1, Sizes::SMALL, 8), (2, Sizes::DEFAULT, 20), (3, Sizes::SMALL, 1)]
    {
        let mut rng = Rng::new(seed, "timer_wheel");
        let mut dut = Dut::both(&sizes, seed);
        let run = Run { ticks: 3_000, clocks_per_tick: 16, arm, cancel: 1, take: 60 };
        let timers = traffic(&mut dut, &mut rng, &sizes, &run)?;
        let counts = [timers.expired, timers.rearmed, timers.cancelled];
        assert!(counts.iter().all(|n| *n > 50), "{counts:?}");
        if let Pair::Both(pair) = &mut dut.pair {
            pair.reset().expect("resets");
        }
        // A turn of the whole count away from its end: the top digits move too.
        let mut dut = dut.at(END - 2_000);
        let run = Run { ticks: 1_500, ..run };
        traffic(&mut dut, &mut rng, &sizes, &run)?;
        drop(dut);
    }
    reached.check();
    Ok(())
}

/// TMR-1 at 1,000 clocks a tick.
#[test]
fn a_tick_of_a_thousand_clocks() -> Result<(), Mismatch> {
    let sizes = Sizes::DEFAULT;
    let mut rng = Rng::new(5, "timer_wheel");
    let run = Run { ticks: 100, clocks_per_tick: 1_000, arm: 2, cancel: 1, take: 100 };
    let timers = traffic(&mut Dut::both(&sizes, 5), &mut rng, &sizes, &run)?;
    assert!(timers.latest < 5 + 1_024, "an expiry came {} clocks after its tick", timers.latest);
    Ok(())
}

/// The long runs of both twins, against the map and against the crate: 10 million ticks of 16
/// clocks, 100,000 of 1,000.
#[test]
#[ignore = "takes half an hour"]
fn ten_million_ticks() -> Result<(), Mismatch> {
    for (seed, sizes) in [(12, Sizes::DEFAULT), (11, Sizes::SMALL)] {
        for (ticks, clocks_per_tick) in [(100_000, 1_000), (10_000_000, 16)] {
            let mut rng = Rng::new(seed, "timer_wheel");
            let run = Run { ticks, clocks_per_tick, arm: 4, cancel: 2, take: 90 };
            let timers = traffic(&mut Dut::both(&sizes, seed), &mut rng, &sizes, &run)?;
            println!("{ticks} ticks: {} expired, latest {}", timers.expired, timers.latest);
            let dut = Dut::both(&sizes, seed);
            println!("{:?}", against_the_crate(dut, &sizes, seed, ticks, clocks_per_tick)?);
        }
    }
    Ok(())
}

/// A shorter one for every day.
#[test]
fn two_hundred_thousand_ticks() -> Result<(), Mismatch> {
    for (seed, sizes) in [(21, Sizes::SMALL), (22, Sizes::DEFAULT)] {
        let mut rng = Rng::new(seed, "timer_wheel");
        let run = Run { ticks: 100_000, clocks_per_tick: 16, arm: 4, cancel: 2, take: 90 };
        traffic(&mut Dut::model(&sizes, seed), &mut rng, &sizes, &run)?;
    }
    Ok(())
}

/// The timers of the crate `hierarchical_hash_wheel_timer`, and what they come to.
struct Crate {
    wheel: QuadWheelWithOverflow<(u16, u32)>,
    ticks: u64,
    /// Of each slot the generation, and whether its timer runs.
    slots: Vec<(u32, bool)>,
    /// What has expired there and is to come here.
    due: VecDeque<(u64, u16, u8)>,
    /// An expiry that was on offer when its slot was cancelled or armed again.
    stale: Option<(u16, u8)>,
    counts: CrateCounts,
}

/// What happened how often.
#[derive(Debug, Default)]
struct CrateCounts {
    expired: u64,
    cancelled: u64,
    rearmed: u64,
    stale: u64,
}

impl Crate {
    fn new(slots: u32) -> Self {
        Self {
            wheel: QuadWheelWithOverflow::new(no_prune::<(u16, u32)>),
            ticks: 0,
            slots: vec![(0, false); slots as usize],
            due: VecDeque::new(),
            stale: None,
            counts: CrateCounts::default(),
        }
    }

    /// The slot's timer is no more; whether it ran.
    fn drop_slot(&mut self, slot: u16, o: &Outputs) -> bool {
        let (generation, runs) = &mut self.slots[usize::from(slot)];
        let ran = std::mem::take(runs);
        if ran && o.exp_valid && (o.exp_slot, o.exp_gen) == (slot, *generation as u8) {
            self.stale = Some((slot, *generation as u8));
        }
        self.due.retain(|(_, s, _)| *s != slot);
        ran
    }

    /// Holds the outputs of a clock against the crate's expiries, and takes its inputs.
    fn check(&mut self, i: &Inputs, o: &Outputs) {
        if o.exp_valid && i.exp_ready {
            if self.stale == Some((o.exp_slot, o.exp_gen)) {
                self.stale = None;
                self.counts.stale += 1;
            } else {
                let got = (o.exp_tick, o.exp_slot, o.exp_gen);
                assert_eq!(Some(got), self.due.pop_front(), "tick {}", self.ticks);
                self.slots[usize::from(o.exp_slot)].1 = false;
                self.counts.expired += 1;
            }
        }
        // One that has just been taken is no longer on offer.
        let o = &Outputs { exp_valid: o.exp_valid && !i.exp_ready, ..*o };
        if i.cancel_valid {
            self.counts.cancelled += u64::from(self.drop_slot(i.cancel_slot, o));
        }
        if i.arm_valid {
            self.counts.rearmed += u64::from(self.drop_slot(i.arm_slot, o));
            let (generation, runs) = &mut self.slots[usize::from(i.arm_slot)];
            (*generation, *runs) = (*generation + 1, true);
            let delay = Duration::from_millis(i.arm_start + i.arm_span - self.ticks);
            self.wheel.insert_with_delay((i.arm_slot, *generation), delay).expect("inserts");
        }
        if i.tick {
            self.ticks += 1;
            // The crate keeps what is cancelled; it is told by its generation.
            let slots = &self.slots;
            let live =
                |(slot, generation): &(u16, u32)| slots[usize::from(*slot)] == (*generation, true);
            let mut due: Vec<_> = self.wheel.tick().into_iter().filter(live).collect();
            due.sort_unstable();
            self.due.extend(due.iter().map(|(s, generation)| (self.ticks, *s, *generation as u8)));
        }
    }
}

/// Random arms, re-arms and cancels, a tick every 16 clocks: the same timers expire at the same
/// ticks as the crate's.
fn against_the_crate(
    mut dut: Dut,
    sizes: &Sizes,
    seed: u64,
    ticks: u64,
    clocks_per_tick: u64,
) -> Result<CrateCounts, Mismatch> {
    let mut rng = Rng::new(seed, "timer_wheel");
    let mut other = Crate::new(sizes.slots);
    for clock in 0..ticks * clocks_per_tick {
        let draw = rng.below(1_000);
        let tick = clock % clocks_per_tick == 0;
        let mut i = Inputs { tick, exp_ready: draw >= 100, ..Inputs::default() };
        // As many a tick, however long that is.
        let acts = clocks_per_tick == 16 || rng.below(clocks_per_tick) < 16;
        if acts && draw % 50 < 2 {
            (i.arm_valid, i.arm_slot) = (true, rng.below(u64::from(sizes.slots)) as u16);
            i.arm_gen = (other.slots[usize::from(i.arm_slot)].0 + 1) as u8;
            i.arm_start = dut.regs().now + 1;
            i.arm_span = span(&mut rng, 8, 100_000).min(1 << 24);
        }
        if acts && (draw % 50 == 1 || draw % 50 == 2) {
            (i.cancel_valid, i.cancel_slot) = (true, rng.below(u64::from(sizes.slots)) as u16);
        }
        let o = dut.clock(&mut i)?;
        other.check(&i, &o);
    }
    for _ in 0..8_192 {
        let mut i = Inputs { exp_ready: true, ..Inputs::default() };
        let o = dut.clock(&mut i)?;
        other.check(&i, &o);
    }
    assert!(other.due.is_empty(), "{:?} did not expire", other.due);
    let counts = &other.counts;
    let all = [counts.expired, counts.cancelled, counts.rearmed];
    assert!(all.iter().all(|n| *n > ticks / 100), "{counts:?}");
    Ok(other.counts)
}

/// The crate `hierarchical_hash_wheel_timer` expires the same timers at the same ticks (TMR-1).
#[test]
fn another_wheel_agrees() -> Result<(), Mismatch> {
    for (seed, sizes) in [(31, Sizes::SMALL), (32, Sizes::DEFAULT)] {
        against_the_crate(Dut::model(&sizes, seed), &sizes, seed, 2_000_000, 16)?;
        against_the_crate(Dut::both(&sizes, seed), &sizes, seed, 2_000, 1_000)?;
    }
    Ok(())
}

/// All timers at one tick, then a spoke of all of them that moves and expires at the next tick:
/// one a clock, in ascending order, within the bound that the head comment gives.
#[test]
fn a_tick_of_all_timers_and_a_full_cascade() -> Result<(), Mismatch> {
    let sizes = Sizes::DEFAULT;
    // At tick 64 every timer of 65 moves down and every timer of 64 expires.
    for (due, bound) in [(60, 5 + 1_024), (64, 5 + 1_024), (65, 8 + 2 * 1_024)] {
        let mut dut = Dut::both(&sizes, 3);
        let mut timers = Timers::default();
        let mut clock = 0;
        for slot in 0..1_024 {
            let mut i = Inputs { arm_valid: true, arm_slot: slot, ..Inputs::default() };
            (i.arm_start, i.arm_span) = (1, due - 1);
            let served = dut.regs().at;
            let o = dut.clock(&mut i)?;
            timers.check(clock, served, &i, &o);
            clock += 1;
        }
        for tick in 0..66 * 16 {
            let mut i = Inputs { tick: tick % 16 == 0, exp_ready: true, ..Inputs::default() };
            let served = dut.regs().at;
            let o = dut.clock(&mut i)?;
            timers.check(clock, served, &i, &o);
            clock += 1;
        }
        finish(&mut dut, &mut timers, clock)?;
        assert_eq!(timers.expired, 1_024);
        assert!(timers.latest < bound, "due {due}: {} clocks, bound {bound}", timers.latest);
    }
    Ok(())
}

/// TMR-5, case 8: spans to 8 s doubled 25 times, and the end of 48 bits: never early, nor from a sum
/// that runs over; and due they are when their tick comes.
#[test]
fn the_longest_spans_are_not_early() -> Result<(), Mismatch> {
    for (sizes, from) in [(Sizes::SMALL, 3), (Sizes::DEFAULT, 3), (Sizes::SMALL, END - 700)] {
        let mut dut = Dut::both(&sizes, 4).at(from);
        let mut timers = Timers::default();
        for (slot, doublings) in (0..16).zip([0, 1, 12, 24, 25, 25, 25, 25]) {
            let mut i = Inputs { arm_valid: true, arm_slot: slot, ..Inputs::default() };
            (i.arm_start, i.arm_span) = (from + 1, 8_000_000 << doublings);
            let served = dut.regs().at;
            let o = dut.clock(&mut i)?;
            timers.check(u64::from(slot), served, &i, &o);
        }
        for clock in 8..600 * 16 {
            let mut i = Inputs { tick: clock % 16 == 0, exp_ready: true, ..Inputs::default() };
            let served = dut.regs().at;
            let o = dut.clock(&mut i)?;
            timers.check(clock, served, &i, &o);
        }
        assert_eq!((timers.expired, dut.regs().running), (0, 8));
        // The count is set on to just before a timer's tick, its bits still where they were.
        let (due, _) = *timers.live.first().expect("they run");
        let moved = (due ^ dut.regs().at).checked_ilog2().unwrap_or(0);
        let digit = if sizes.slots > 64 { 6 } else { 4 };
        let low = (1 << (moved / digit * digit)) - 1;
        let mut dut = dut.at((due & !low) - 1);
        for clock in 9_600..9_600 + 64 {
            let mut i = Inputs { tick: clock % 16 == 0, exp_ready: true, ..Inputs::default() };
            let served = dut.regs().at;
            let o = dut.clock(&mut i)?;
            timers.check(clock, served, &i, &o);
            assert!(due & low == 0 || !o.exp_valid);
        }
    }
    Ok(())
}
