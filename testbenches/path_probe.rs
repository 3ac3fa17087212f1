//! `path_probe`: model and RTL get the same inputs and must agree on every clock; a plain record of
//! each value gives the same probes at the same ticks, on the same QPs (PTH-2).

use std::collections::VecDeque;

use rtl_model::image::{Item, Wide};
use rtl_model::path_probe::{Due, Inputs, Outputs, Regs, State, place_of};
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::retransmit::{Moment, TIMEOUT_PLACES};
use rtl_model::types::{Frame, Qpn};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Clocks of a microsecond here: a sweep of a few dozen values fits.
const TICK: u64 = 2_000;

/// The same where few values are bad, so that ids go round.
const SHORT_TICK: u64 = 150;

/// The block with its two memories.
struct Dut {
    pair: Lockstep<Regs>,
    due: Ram<Due>,
    at: Ram<Moment>,
}

fn port<T: Item>(we: bool, waddr: u32, wdata: T, re: bool, raddr: u32) -> ram_1r1w::Inputs<T> {
    ram_1r1w::Inputs { we, waddr, wdata, re, raddr }
}

impl Dut {
    fn new(sizes: &Sizes, seed: u32) -> Self {
        let mut rng = Rng::new(u64::from(seed), "memories");
        let words = sizes.dests as usize * 128;
        let mut dut = Self {
            pair: Lockstep::new("path_probe", sizes, Start::Random(seed)).expect("builds"),
            due: Ram::new(words),
            at: Ram::new(words),
        };
        dut.due.randomize(&mut rng);
        dut.at.randomize(&mut rng);
        dut
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.due_rdata = self.due.rdata;
        i.at_rdata = self.at.rdata;
        let o = self.pair.clock(i)?;
        self.due.clock(&port(o.due_we, o.due_waddr, o.due_wdata, o.due_re, o.due_raddr));
        self.at.clock(&port(o.at_we, o.at_waddr, o.at_wdata, o.at_re, o.at_raddr));
        Ok(o)
    }
}

/// A value of a destination.
#[derive(Clone, Copy, Debug, Default)]
struct Value {
    bad: bool,
    /// It has been bad, so its word is known.
    known: bool,
    due: u64,
    /// First half of its probes' ids, and how many there were.
    life: u8,
    probes: u64,
    /// When the last one's serialisation ended.
    at: Option<u64>,
    /// Clocks of its last turns.
    fell: u64,
    rose: u64,
    /// Clock of its last probe.
    given: u64,
}

/// A destination and a value.
type Path = (u8, u8);

/// A value is in work.
fn works(state: State) -> bool {
    matches!(state, State::Judge | State::Room | State::Give | State::Write)
}

/// What runs have met.
#[derive(Debug, Default)]
struct Seen {
    probes: u64,
    missed: u64,
    passed: u64,
    good: u64,
    stale: u64,
    samples: u64,
    fell_at_work: u64,
}

/// What is known of a clock's sample: nothing, or that there is one, or none.
#[derive(Clone, Copy, Default)]
enum Sampled {
    #[default]
    Unsaid,
    Known(Option<(u8, u64)>),
}

/// The block, its partners, and what it must do.
struct Bench {
    dut: Dut,
    i: Inputs,
    rng: Rng,
    values: Vec<[Value; 128]>,
    qps: Vec<Option<u8>>,
    falls: u8,
    timeout: u64,
    /// Clocks of a microsecond.
    tick: u64,
    /// Chance of a partner to be ready, of room, and of an event where one may be, in percent.
    ready: u64,
    room: u64,
    look: Option<(u64, u8)>,
    asks_room: Option<u64>,
    missed: bool,
    /// When the value in work was found due: clock and tick count.
    found: (u64, u64),
    /// Probes given and not sent, the one being sent, those that may be answered.
    queue: VecDeque<(Path, u16)>,
    sending: Option<(u64, Option<(Path, u16)>)>,
    flying: Vec<(Path, u16)>,
    answer: Option<(u64, Path, bool)>,
    expected_good: Option<(u64, Path)>,
    sample: Sampled,
    due_sample: Sampled,
    /// Until when there may be one or not.
    unsure: u64,
    /// Destinations that had a QP as the tick began.
    probed: Vec<bool>,
    next_fall: u64,
    next_answer: u64,
    seen: Seen,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u32) -> Self {
        let mut bench = Self {
            dut: Dut::new(sizes, seed),
            i: Inputs::default(),
            rng: Rng::new(u64::from(seed), "path_probe"),
            values: vec![[Value::default(); 128]; sizes.dests as usize],
            qps: vec![None; sizes.qps as usize],
            falls: 0,
            timeout: 5,
            tick: TICK,
            ready: 60,
            room: 85,
            look: None,
            asks_room: None,
            missed: false,
            found: (0, 0),
            queue: VecDeque::new(),
            sending: None,
            flying: Vec::new(),
            answer: None,
            expected_good: None,
            sample: Sampled::Unsaid,
            due_sample: Sampled::Unsaid,
            unsure: 0,
            probed: vec![false; sizes.dests as usize],
            next_fall: 0,
            next_answer: 0,
            seen: Seen::default(),
        };
        bench.wait_for(5);
        bench
    }

    /// Sets `InitialAckTimeout`, in whole microseconds.
    fn wait_for(&mut self, micros: u64) {
        self.timeout = micros;
        self.i.cfg_timeout = micros << TIMEOUT_PLACES | 1;
    }

    fn reset(&mut self) {
        self.dut.pair.reset().expect("resets");
        let ticks = self.i.ticks;
        self.i = Inputs { ticks, now: self.i.now, ..Inputs::default() };
        self.wait_for(self.timeout);
        self.values.fill([Value::default(); 128]);
        self.qps.fill(None);
        (self.falls, self.look, self.asks_room, self.missed) = (0, None, None, false);
        self.queue.clear();
        self.flying.clear();
        (self.sending, self.answer, self.expected_good) = (None, None, None);
        (self.sample, self.due_sample) = (Sampled::Unsaid, Sampled::Unsaid);
    }

    fn value(&mut self, (dest, value): Path) -> &mut Value {
        &mut self.values[usize::from(dest)][usize::from(value)]
    }

    fn bad_of(&self, dest: u8) -> u128 {
        let bit = |v: usize| u128::from(self.values[usize::from(dest)][v].bad) << v;
        (0..128).map(bit).sum()
    }

    /// The lowest open QP to a destination that is not in error.
    fn lowest(&self, dest: u8) -> Option<u8> {
        let dead = |q: usize| self.i.dead.0[q / 64] >> (q % 64) & 1 == 1;
        (0..self.qps.len()).find(|q| self.qps[*q] == Some(dest) && !dead(*q)).map(|q| q as u8)
    }

    fn clock(&mut self) -> Result<Outputs, Mismatch> {
        self.drive();
        let o = self.dut.clock(&mut self.i)?;
        self.serve(&o);
        self.events(&o);
        self.i.now += 1;
        Ok(o)
    }

    /// What the partners answer in this clock.
    fn drive(&mut self) {
        let now = self.i.now;
        if self.dut.pair.regs().state == State::Judge {
            self.found = (now, self.i.ticks);
        }
        let troubled = |d: usize| u64::from(self.values[d].iter().any(|v| v.bad)) << d;
        self.i.troubled = (0..self.values.len()).map(troubled).sum();
        self.i.look_rsp_valid = false;
        if let Some((_, dest)) = self.look.take_if(|(due, _)| *due <= now) {
            let bad = self.bad_of(dest);
            self.i.look_rsp_valid = true;
            self.i.look_rsp_bad = Wide([bad as u64, (bad >> 64) as u64]);
        }
        self.i.room_rsp_valid = self.asks_room.take_if(|due| *due <= now).is_some();
        self.i.room_rsp_ok = self.rng.percent(self.room);
        self.i.look_ready = self.look.is_none() && self.rng.percent(self.ready);
        self.i.room_ready = self.asks_room.is_none() && self.rng.percent(self.ready);
        self.i.probe_ready = self.rng.percent(self.ready);
        self.drive_port(now);
    }

    /// The port: data, control frames and probes, one after the other.
    fn drive_port(&mut self, now: u64) {
        (self.i.tx_valid, self.i.end_valid) = (false, false);
        if let Some((_, path)) = self.sending.take_if(|(end, _)| *end <= now) {
            self.i.end_valid = true;
            if let Some((path, id)) = path {
                self.value(path).at = Some(now);
                self.flying.push((path, id));
            }
        }
        if self.sending.is_some() || self.rng.percent(60) {
            return;
        }
        let path = if self.rng.percent(50) { self.queue.pop_front() } else { None };
        self.i.tx_valid = true;
        self.i.tx = Frame { data: false, slot: 77, off: 1, ..Frame::default() };
        self.i.tx_cls = u8::from(path.is_none() && self.rng.percent(50));
        if let Some(((dest, value), _)) = path {
            (self.i.tx.slot, self.i.tx.off) = place_of(dest, value);
        } else if self.i.tx_cls == 0 {
            self.i.tx.data = true;
        }
        self.sending = Some((now + 1 + self.rng.below(5), path));
    }

    /// What the block asks and says, against the record.
    fn serve(&mut self, o: &Outputs) {
        let now = self.i.now;
        if o.look_valid && self.i.look_ready {
            self.look = Some((now + 1 + self.rng.below(3), o.look_dest));
        }
        assert_eq!(o.missed_valid, std::mem::take(&mut self.missed), "clock {now}");
        let regs = self.dut.pair.regs();
        let path = (regs.dest, regs.value);
        if o.room_valid && self.i.room_ready {
            self.asks_room = Some(now + 1 + self.rng.below(3));
        }
        if self.i.room_rsp_valid && !self.i.room_rsp_ok {
            self.missed = true;
            self.seen.missed += 1;
            self.goes_on(path);
        }
        if o.probe_valid && self.i.probe_ready {
            self.given(o);
        }
        if let Sampled::Known(want) = self.due_sample {
            let got = o.sample_valid.then_some((o.sample_dest, o.sample_at));
            assert_eq!(got, want, "clock {now}: a sample");
            self.seen.samples += u64::from(want.is_some());
        } else {
            let sure = now > self.unsure;
            assert!(!(o.sample_valid && sure), "clock {now}: a sample of nothing");
        }
        self.due_sample = std::mem::take(&mut self.sample);
        if o.good_valid {
            let path = (o.good_dest, o.good_value);
            let due = self.expected_good.take().map(|(_, path)| path);
            let known = self.value(path).known;
            assert!(due == Some(path) || !known, "clock {now}: {path:?} is good, wanted {due:?}");
            let last = self.answer.is_some_and(|(.., last)| last);
            self.answer = Some((now + 3 + self.rng.below(5), path, last));
        }
        if let Some((until, path)) = self.expected_good {
            assert!(now <= until, "clock {now}: {path:?} was answered");
        }
    }

    /// The next period of a value whose probe is due. One that has fallen since it was found due
    /// has a word of its own.
    fn goes_on(&mut self, path: Path) {
        let (found, ticks) = self.found;
        let timeout = self.timeout.max(1);
        let value = self.value(path);
        if value.fell + 1 >= found {
            return;
        }
        let again = value.due + timeout;
        value.due = if again > ticks { again } else { ticks + timeout };
    }

    /// A probe goes to `packet_build`.
    fn given(&mut self, o: &Outputs) {
        let now = self.i.now;
        let path = (o.probe_dest, o.probe_value);
        let (found, ticks) = self.found;
        let value = *self.value(path);
        self.seen.probes += 1;
        self.queue.push_back((path, o.probe_id));
        assert_eq!(Some(o.probe_qp), self.lowest(path.0), "clock {now}: the lowest open QP");
        if value.fell + 1 >= found {
            self.seen.fell_at_work += 1;
            return;
        }
        assert!(value.bad || value.rose + 400 > now, "clock {now}: {path:?} is good");
        assert!(value.due <= ticks, "clock {now}: {path:?} is due at {}", value.due);
        self.goes_on(path);
        let value = self.value(path);
        value.probes += 1;
        (value.at, value.given) = (None, now);
        let id = u16::from_be_bytes([value.life, value.probes as u8]);
        assert_eq!(o.probe_id, id, "clock {now}: the id of {path:?}");
    }

    /// Values that fall and rise, answers, QPs: as blocks around this one let them.
    fn events(&mut self, o: &Outputs) {
        let now = self.i.now + 1;
        (self.i.fell_valid, self.i.rose_valid, self.i.probed_valid) = (false, false, false);
        (self.i.created_valid, self.i.closed_valid) = (false, false);
        let idle = self.dut.pair.regs().state == State::Idle && !o.look_valid;
        let tick = self.tick;
        let regs = self.dut.pair.regs();
        let served = idle && (regs.soonest > self.i.ticks || self.i.troubled == 0);
        if served && now % tick == tick / 2 {
            self.turn_qps();
        }
        if now.is_multiple_of(tick) {
            if served {
                self.all_served();
            }
            self.i.ticks += 1;
            self.probed = (0..self.values.len()).map(|d| self.lowest(d as u8).is_some()).collect();
        }
        if let Some((_, path, last)) = self.answer.filter(|(due, ..)| *due == now) {
            self.answer = None;
            if self.value(path).bad {
                self.rises(path, last);
            }
        } else if now >= self.next_fall && self.rng.percent(self.fall_chance()) {
            self.falls();
        }
        let hurry = works(self.dut.pair.regs().state) && self.rng.percent(40);
        let may = now >= self.next_answer && self.answer.is_none() && self.tick == TICK;
        if may && (hurry || self.rng.below(300) == 0) {
            self.answers(now);
        }
    }

    fn fall_chance(&self) -> u64 {
        let bad: usize = self.values.iter().flatten().filter(|v| v.bad).count();
        let regs = self.dut.pair.regs();
        let at_work =
            self.values[usize::from(regs.dest) % self.values.len()][usize::from(regs.value)];
        if works(regs.state) && !at_work.bad {
            return 60;
        }
        let most = if self.tick == TICK { 24 } else { 3 };
        if bad < most { 2 } else { 0 }
    }

    fn rises(&mut self, path: Path, last: bool) {
        let now = self.i.now + 1;
        let value = self.value(path);
        (value.bad, value.rose) = (false, now);
        let (at, given) = (value.at, value.given);
        self.i.rose_valid = true;
        (self.i.told_dest, self.i.told_value) = path;
        // The word of one that was probed just now may not be written yet.
        if given + 60 > now {
            self.unsure = now + 3;
            return;
        }
        self.sample = Sampled::Known(None);
        if last && let Some(at) = at {
            self.sample = Sampled::Known(Some((path.0, at)));
        }
        self.seen.good += 1;
    }

    fn falls(&mut self) {
        let now = self.i.now + 1;
        let dests = self.values.len() as u64;
        let any = self.rng.below(dests);
        let dest = self.rng.pick(&[0, 1, dests - 1, any]) as u8;
        // One that has risen just now, or is in work, or at an end, or any.
        let regs = self.dut.pair.regs();
        let (work, answered) = (regs.value, regs.answer_value);
        let any = self.rng.below(128) as u8;
        let mut path = (dest, self.rng.pick(&[any, any, work, answered, 0, 127]));
        if works(regs.state) {
            path = (regs.dest, regs.value);
        }
        if self.value(path).bad {
            return;
        }
        let (falls, due) = (self.falls, self.i.ticks + self.timeout.max(1));
        *self.value(path) =
            Value { bad: true, known: true, due, life: falls, fell: now, ..Value::default() };
        self.falls = falls.wrapping_add(1);
        self.i.fell_valid = true;
        (self.i.told_dest, self.i.told_value) = path;
        self.next_fall = now + 11;
    }

    /// An answer to a probe that is out, or to none.
    fn answers(&mut self, now: u64) {
        if self.flying.is_empty() {
            return;
        }
        let regs = self.dut.pair.regs();
        let (work, at_work) = ((regs.dest, regs.value), works(regs.state));
        let mut at = self.rng.below(self.flying.len() as u64) as usize;
        if at_work && let Some(n) = self.flying.iter().position(|(path, _)| *path == work) {
            at = n;
        }
        let ((dest, value), mut id) = self.flying.swap_remove(at);
        let mut port = 256 + u16::from(value);
        let clean = self.rng.percent(90);
        match self.rng.below(12) {
            0 => id ^= 0x0100,
            1 => port = self.rng.pick(&[255, 384, 0, 4_791]),
            _ => {}
        }
        self.i.probed_valid = true;
        (self.i.probed_dest, self.i.probed_port) = (dest, port);
        (self.i.probed_id, self.i.probed_good) = (id, clean);
        self.next_answer = now + 20;
        let of = *self.value((dest, value));
        let [life, count] = id.to_be_bytes();
        let hits = of.known && of.probes > 0 && of.life == life;
        if clean && port / 128 == 2 && hits {
            self.expected_good = Some((now + 8, (dest, value)));
            self.answer = Some((0, (dest, value), count == of.probes as u8));
        } else {
            self.seen.stale += 1;
        }
    }

    fn turn_qps(&mut self) {
        let at = self.rng.below(self.qps.len() as u64) as usize;
        let qpn = Qpn::new(self.rng.bits() as u16, at as u8);
        if self.qps[at].is_some() && self.rng.percent(40) {
            self.qps[at] = None;
            (self.i.closed_valid, self.i.closed_qpn) = (true, qpn);
            self.i.dead.0[at / 64] &= !(1 << (at % 64));
        } else if self.qps[at].is_some() {
            self.i.dead.0[at / 64] ^= 1 << (at % 64);
        } else {
            let dests = self.values.len() as u64;
            let any = self.rng.below(dests);
            let dest = self.rng.pick(&[0, 1, dests - 1, any]) as u8;
            self.qps[at] = Some(dest);
            (self.i.created_valid, self.i.created_qpn) = (true, qpn);
            self.i.created_dest = dest;
        }
    }

    /// Before a tick, with nothing in work, no bad value is due; a period without QP has passed.
    fn all_served(&mut self) {
        let (ticks, timeout) = (self.i.ticks, self.timeout.max(1));
        for dest in 0..self.values.len() {
            let has_qp = self.probed[dest];
            for (n, value) in self.values[dest].iter_mut().enumerate() {
                if value.bad && value.due <= ticks {
                    assert!(
                        !has_qp,
                        "tick {ticks}: {dest}, {n}: {value:?}, {:?}, at {}",
                        self.dut.due.peek(dest * 128 + n),
                        self.i.now
                    );
                    let again = value.due + timeout;
                    value.due = if again > ticks { again } else { ticks + timeout };
                    self.seen.passed += 1;
                }
            }
        }
    }
}

/// PTH-2: one value bad, one QP: what goes out, tick by tick.
#[test]
fn pth_2_every_timeout_until_answered() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::DEFAULT, 1);
    let mut bad = 0u64;
    let mut i = Inputs::default();
    for row in Table::read("path_probe/every_timeout.txt") {
        i.ticks = row.dec("ticks");
        i.cfg_timeout = row.dec("timeout") << TIMEOUT_PLACES;
        i.room_rsp_ok = row.bit("room");
        let (mut probe, mut missed, mut good, mut sample) = (None, 0, 0, None);
        let mut event = row.text("event").to_owned();
        for clock in 0..40 {
            (i.fell_valid, i.rose_valid, i.probed_valid) = (false, good == 1 && clock == 30, false);
            (i.created_valid, i.closed_valid) = (false, false);
            (i.told_dest, i.told_value) = (63, 5);
            match std::mem::take(&mut event).as_str() {
                "fell" => (i.fell_valid, bad) = (true, 1 << 5),
                "open" => {
                    (i.created_valid, i.created_qpn, i.created_dest) = (true, Qpn(0x1_07), 63);
                }
                "close" => (i.closed_valid, i.closed_qpn) = (true, Qpn(0x1_07)),
                "dead" => i.dead = Wide([1 << 7, 0, 0, 0]),
                answer if answer.len() == 4 => {
                    i.probed_valid = true;
                    (i.probed_dest, i.probed_port, i.probed_good) = (63, 261, true);
                    i.probed_id = u16::from_str_radix(answer, 16).expect("an id");
                }
                _ => {}
            }
            if i.rose_valid {
                bad = 0;
            }
            i.troubled = u64::from(bad != 0) << 63;
            (i.look_ready, i.room_ready, i.probe_ready) = (true, true, true);
            let o = dut.clock(&mut i)?;
            (i.look_rsp_valid, i.look_rsp_bad) = (o.look_valid, Wide([bad, 0]));
            i.room_rsp_valid = o.room_valid;
            i.end_valid = i.tx_valid;
            i.tx_valid = o.probe_valid;
            if o.probe_valid {
                (i.tx.slot, i.tx.off) = place_of(o.probe_dest, o.probe_value);
                probe = Some(format!("{:02x}:{:04x}", o.probe_qp, o.probe_id));
            }
            missed += u32::from(o.missed_valid);
            good += u32::from(o.good_valid);
            if o.sample_valid {
                sample = Some(i.now - o.sample_at);
            }
            i.now += 1;
        }
        row.expect("probe", probe.unwrap_or_else(|| ".".into()));
        row.expect("missed", missed);
        row.expect("good", good);
        row.expect("sample", sample.map_or(".".into(), |s| s.to_string()));
    }
    Ok(())
}

/// PTH-2: in both sizes, with a reset on the way; timeouts at their borders.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("path_probe");
    let mut seen = Seen::default();
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::DEFAULT), (3, Sizes::SMALL)] {
        let mut bench = Bench::new(&sizes, seed);
        bench.wait_for([5, 2, 1][seed as usize - 1]);
        bench.i.ticks = if seed == 3 { (1 << 47) - 40 } else { 0 };
        for clock in 0..250_000u64 {
            if clock == 100_000 {
                bench.reset();
            }
            if clock % 20_000 == 0 && clock < 200_000 {
                (bench.ready, bench.room) = bench.rng.pick(&[(100, 100), (60, 85), (5, 40)]);
            }
            if clock == 200_000 {
                // Three values stay bad, and are probed at each of many ticks.
                bench.reset();
                (bench.tick, bench.ready, bench.room) = (SHORT_TICK, 100, 100);
                bench.wait_for(1);
            }
            bench.clock()?;
        }
        let s = bench.seen;
        seen.probes += s.probes;
        seen.missed += s.missed;
        seen.passed += s.passed;
        seen.good += s.good;
        seen.stale += s.stale;
        seen.samples += s.samples;
        seen.fell_at_work += s.fell_at_work;
    }
    println!("{seen:?}");
    assert!(seen.probes > 1_000 && seen.missed > 100 && seen.passed > 50, "{seen:?}");
    assert!(seen.good > 100 && seen.stale > 50 && seen.samples > 50, "{seen:?}");
    assert!(seen.fell_at_work > 0, "{seen:?}");
    reached.check();
    Ok(())
}

/// PTH-2, TMR-5: a timeout below a microsecond is one, and one without end never comes.
#[test]
fn pth_2_timeouts_at_both_ends() -> Result<(), Mismatch> {
    for (micros, probes) in [(0, true), (1, true), ((1 << 23) - 1, false)] {
        let mut bench = Bench::new(&Sizes::SMALL, 9);
        bench.wait_for(micros);
        bench.qps[3] = Some(0);
        (bench.i.created_valid, bench.i.created_qpn) = (true, Qpn::new(1, 3));
        for _ in 0..30_000 {
            bench.clock()?;
        }
        assert_eq!(bench.seen.probes > 20, probes, "{micros} us: {:?}", bench.seen);
    }
    Ok(())
}
