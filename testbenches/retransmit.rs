//! `retransmit`: model and RTL get the same inputs and must agree on every clock; packets as plain
//! records, each in one state, give the same timers, queues, budgets and answers.

use std::collections::{BTreeMap, VecDeque};

use rtl_model::image::{Item, Wide};
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::replay_store::{Look, Record};
use rtl_model::retransmit::{
    Cause, Inputs, Moment, NO_BUDGET, Outputs, Regs, State, TIMEOUT_PLACES, Timer,
};
use rtl_model::sack_bitmap::Op;
use rtl_model::timer_wheel::END;
use rtl_model::types::Psn;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// The block with its three memories.
struct Dut {
    pair: Lockstep<Regs>,
    tims: Ram<Timer>,
    tim: Ram<Timer>,
    at: Ram<Moment>,
}

fn port<T: Item>(we: bool, waddr: u32, wdata: T, re: bool, raddr: u32) -> ram_1r1w::Inputs<T> {
    ram_1r1w::Inputs { we, waddr, wdata, re, raddr }
}

impl Dut {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "memories");
        let start = Start::Random(seed as u32);
        let slots = sizes.slots as usize;
        let mut dut = Self {
            pair: Lockstep::new("retransmit", sizes, start).expect("builds"),
            tims: Ram::new(slots),
            tim: Ram::new(slots),
            at: Ram::new(slots),
        };
        dut.tims.randomize(&mut rng);
        dut.tim.randomize(&mut rng);
        dut.at.randomize(&mut rng);
        dut
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.tims_rdata = self.tims.rdata;
        i.tim_rdata = self.tim.rdata;
        i.at_rdata = self.at.rdata;
        let o = self.pair.clock(i)?;
        self.tims.clock(&port(o.tim_we, o.tim_waddr, o.tim_wdata, o.tims_re, o.tims_raddr));
        self.tim.clock(&port(o.tim_we, o.tim_waddr, o.tim_wdata, o.tim_re, o.tim_raddr));
        self.at.clock(&port(o.at_we, o.at_waddr, o.at_wdata, o.at_re, o.at_raddr));
        Ok(o)
    }
}

/// Where a packet is (RTX-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Being built, queued or serialised.
    Egress,
    /// Its timer runs.
    Wire,
    /// It waits to go again.
    Waits,
}

/// A packet that is not retired.
#[derive(Clone, Copy, Debug)]
struct Packet {
    slot: u16,
    rec: Record,
    port: u16,
    place: Place,
    /// Number of its next timer.
    number: u32,
    timeouts: u32,
    nacks: u32,
    gapped: bool,
    sent: u32,
    at: u64,
    /// The clock in which its timer started.
    came: u64,
    generation: u8,
}

impl Packet {
    /// RTT-1: transmissions that are told; the first one not before it has ended.
    fn told(self) -> u32 {
        if self.place == Place::Egress && self.sent == 1 { 0 } else { self.sent.min(255) }
    }

    /// RTT-1: that clock is when its last transmission ended. An answer of the very clock in which
    /// the end comes is drawn by nothing, and may have the end before.
    fn is_timed(self, at: u64, now: u64) -> bool {
        self.told() == 0 || self.at == at || now < self.came + 2
    }
}

/// One setting of the timers.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Nanoseconds.
    timeout: u64,
    linear: u8,
    expo: u8,
    fixed: bool,
    /// Chance of a partner to be ready, in percent.
    ready: u64,
    /// QPs, of those that there are.
    qps: u64,
}

impl Case {
    /// TMR-3: whole microseconds of timer `k`.
    fn span(&self, k: u32) -> u64 {
        let doublings = if self.fixed { 0 } else { k.saturating_sub(u32::from(self.linear)) };
        (((u128::from(self.timeout) << doublings) / 1_000).clamp(1, u128::from(END))) as u64
    }

    fn limit(&self) -> u32 {
        u32::from(self.linear) + u32::from(self.expo)
    }

    fn settings(&self) -> Inputs {
        Inputs {
            cfg_timeout: ((u128::from(self.timeout) << TIMEOUT_PLACES) / 1_000) as u64,
            cfg_linear: self.linear,
            cfg_expo: self.expo,
            cfg_fixed: self.fixed,
            cfg_nominal_overhead: 60,
            ..Inputs::default()
        }
    }
}

/// What the block is about to act on.
#[derive(Clone, Copy, Debug)]
enum At {
    Retire,
    Lose(Cause),
    Expire(u8),
    Ask,
    Copy,
}

/// A packet that is not there.
const PACKET: Packet = Packet {
    slot: 0,
    rec: Record {
        qp: 0,
        dest: 0,
        group: 0,
        msg: 0,
        psn: Psn(0),
        off: 0,
        len: 0,
        raddr: 0,
        rkey: 0,
        msg_len: 0,
        msn: 0,
        first: false,
        last: false,
    },
    port: 0,
    place: Place::Egress,
    number: 1,
    timeouts: 0,
    nacks: 0,
    gapped: false,
    sent: 1,
    at: 0,
    came: 0,
    generation: 0,
};

/// What is under way, and what its answer must be.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// The packet as it was, if it was there.
    Retire(Option<Packet>),
    /// Queued, fatal, and the packet as it was, if it was there.
    Lose(bool, bool, Option<Packet>),
    Ask,
}

/// What a run has met.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    timeouts: u64,
    nacks: u64,
    gaps: u64,
    fatal: u64,
    fails: u64,
    stale: u64,
    taken: u64,
    left: u64,
    misses: u64,
    retired_waiting: u64,
    doubled: u64,
    copied: u64,
    copies_missed: u64,
    asked: u64,
}

struct Bench {
    dut: Dut,
    case: Case,
    rng: Rng,
    sizes: Sizes,
    i: Inputs,
    packets: Vec<Packet>,
    free: Vec<u16>,
    /// Of each slot's last timer.
    generations: Vec<u8>,
    next: BTreeMap<u8, Psn>,
    /// The answer of the store of packets, and when.
    look: Option<(u64, bool, Packet)>,
    /// The answer of the bitmap.
    map: Option<(u64, Psn)>,
    rings: BTreeMap<u8, Vec<Psn>>,
    job: Option<Job>,
    /// The packet on offer.
    offer: Option<(u8, u16)>,
    /// Last packets that are retired and wait for their message's end.
    held: Vec<Packet>,
    /// Copies that have gone: QP and PSN.
    covers: VecDeque<(u8, Psn)>,
    /// The QP that is asked for was in error.
    dead: bool,
    /// Ends of serialisation: the timers that must start.
    starting: VecDeque<(u64, u16, u64, u64)>,
    /// Losses that window, scheduler and drain must hear of.
    news: VecDeque<(u8, u16, bool)>,
    waits: VecDeque<(u8, u8)>,
    fails: VecDeque<u8>,
    cancels: VecDeque<u16>,
    bads: VecDeque<(u8, u16)>,
    again: VecDeque<u16>,
    seen: Seen,
}

impl Bench {
    fn new(case: Case, sizes: Sizes, seed: u64) -> Self {
        let mut bench = Self {
            dut: Dut::new(&sizes, seed),
            case,
            rng: Rng::new(seed, "retransmit"),
            sizes,
            i: Inputs::default(),
            packets: Vec::new(),
            free: Vec::new(),
            generations: Vec::new(),
            next: BTreeMap::new(),
            look: None,
            map: None,
            rings: BTreeMap::new(),
            job: None,
            offer: None,
            held: Vec::new(),
            covers: VecDeque::new(),
            dead: false,
            starting: VecDeque::new(),
            news: VecDeque::new(),
            waits: VecDeque::new(),
            fails: VecDeque::new(),
            cancels: VecDeque::new(),
            bads: VecDeque::new(),
            again: VecDeque::new(),
            seen: Seen::default(),
        };
        bench.start();
        bench
    }

    fn start(&mut self) {
        self.i = self.case.settings();
        self.packets.clear();
        self.held.clear();
        self.covers.clear();
        self.free = (0..self.sizes.slots as u16).collect();
        self.generations = vec![0; self.sizes.slots as usize];
        self.next = (0..self.case.qps as u8).map(|qp| (qp, Psn(0xff_fff0))).collect();
        (self.look, self.map, self.job, self.offer) = (None, None, None, None);
        self.rings.clear();
        for queue in [&mut self.cancels, &mut self.again] {
            queue.clear();
        }
        self.starting.clear();
        self.news.clear();
        self.waits.clear();
        self.fails.clear();
        self.bads.clear();
    }

    fn qp(&mut self) -> u8 {
        // Both ends of the table.
        let qp = self.rng.below(self.case.qps) as u8;
        if qp == 1 { (self.sizes.qps - 1) as u8 } else { qp }
    }

    /// A packet is built, into egress.
    fn build(&mut self) {
        let qp = self.qp();
        let psn = *self.next.entry(qp).or_insert(Psn(5));
        let oldest = self.packets.iter().filter(|p| p.rec.qp == qp).map(|p| p.rec.psn);
        let most = self.sizes.psns.cast_signed() - 1;
        let room = oldest.map(|o| psn.ahead_of(o)).max().unwrap_or(0) < most;
        // Few packets, so that each is lost often.
        if self.free.is_empty() || !room || self.packets.len() > 12 {
            return;
        }
        let slot = self.free.swap_remove(self.rng.below(self.free.len() as u64) as usize);
        self.next.insert(qp, psn.plus(1));
        let rec = Record {
            qp,
            dest: self.rng.below(64) as u8,
            group: self.rng.bits() as u8,
            msg: self.rng.below(1024) as u16,
            psn,
            off: self.rng.below(64) as u8,
            len: self.rng.pick(&[0, 1, 4096, 8192]),
            raddr: self.rng.bits(),
            rkey: self.rng.bits() as u32,
            msg_len: self.rng.bits() as u32,
            msn: self.rng.bits() as u16,
            first: self.rng.percent(50),
            last: self.rng.percent(50),
        };
        self.packets.push(Packet {
            slot,
            rec,
            port: self.rng.bits() as u16,
            generation: self.generations[usize::from(slot)],
            ..PACKET
        });
    }

    fn any(&mut self, fit: impl Fn(&Packet) -> bool) -> Option<Packet> {
        let fit: Vec<Packet> = self.packets.iter().filter(|p| fit(p)).copied().collect();
        (!fit.is_empty()).then(|| self.rng.pick(&fit))
    }

    /// Requests of this clock.
    fn offer(&mut self) {
        if self.rng.percent(30) {
            self.build();
        }
        let ready = self.case.ready;
        let going = self.job.is_some();
        if !self.i.retire_valid && !going && self.rng.percent(4) {
            // What is asked for may be there no more.
            let gone = self.rng.percent(10);
            if let Some(p) = self.any(|_| true) {
                self.i.retire_valid = true;
                self.i.retire_qp = p.rec.qp;
                self.i.retire_psn = if gone { p.rec.psn.plus(1 << 20) } else { p.rec.psn };
                self.i.retire_discard = self.rng.percent(20);
            }
        }
        if !self.i.lose_valid
            && !going
            && self.rng.percent(6)
            && let Some(p) = self.any(|_| true)
        {
            self.i.lose_valid = true;
            self.i.lose_qp = p.rec.qp;
            self.i.lose_psn = p.rec.psn;
            let causes = [Cause::Gap, Cause::Trimmed, Cause::LastHop, Cause::Range, Cause::Sample];
            self.i.lose_cause = self.rng.pick(&causes);
        }
        if !self.i.exp_valid && self.rng.percent(6) {
            // One in eight has been overtaken by a later timer, or by its end.
            let stale = self.rng.percent(12);
            if let Some(p) = self.any(|p| stale || p.place == Place::Wire) {
                self.i.exp_valid = true;
                self.i.exp_slot = p.slot;
                self.i.exp_gen = p.generation ^ u8::from(stale);
            }
        }
        self.end_held(going);
        if !self.i.ask_valid && self.offer.is_none() && !going && self.rng.percent(15) {
            self.i.ask_valid = true;
            self.i.ask_copy = self.rng.percent(20);
            self.i.copy_live = self.rng.percent(80);
            self.i.copy_slot = self.rng.below(u64::from(self.sizes.slots)) as u16;
            if !self.held.is_empty() && self.rng.percent(80) {
                self.i.copy_slot = self.rng.pick(&self.held).slot;
            }
            self.i.ask_qp = self.qp();
            let low = self.packets.iter().filter(|p| p.rec.qp == self.i.ask_qp).map(|p| p.rec.psn);
            let low = low.min_by_key(|psn| psn.ahead_of(Psn(0xff_fff0)));
            self.i.ask_from = low.unwrap_or_default();
        }
        self.i.sent_valid = false;
        if self.rng.percent(25)
            && let Some(p) = self.any(|p| p.place == Place::Egress)
            && self.again.iter().all(|slot| *slot != p.slot)
            && self.starting.iter().all(|(_, slot, ..)| *slot != p.slot)
            && !(self.dut.pair.regs().job == rtl_model::retransmit::Job::Retire
                && self.dut.pair.regs().psn == p.rec.psn)
            && !(self.i.retire_valid && self.i.retire_psn == p.rec.psn)
        {
            self.i.sent_valid = true;
            self.i.sent_slot = p.slot;
        }
        self.i.look_ready = self.rng.percent(ready);
        self.i.map_ready = self.rng.percent(ready);
        self.i.loss_ready = self.rng.percent(ready);
        self.i.wait_ready = self.rng.percent(ready);
        self.i.fail_ready = self.rng.percent(ready);
        self.i.again_ready = self.rng.percent(ready);
        self.i.end_valid = self.offer.is_some() && self.rng.percent(30);
        self.i.end_take = self.rng.percent(70);
        self.i.now = self.i.now.wrapping_add(1) & END;
        self.i.ticks = self.i.now / 16;
    }

    /// A message ends now and then: its last packet's slot is free.
    fn end_held(&mut self, going: bool) {
        let busy = going || self.offer.is_some() || self.i.ask_valid || !self.again.is_empty();
        if !busy && !self.held.is_empty() && self.rng.percent(5) {
            self.free.push(self.held.remove(0).slot);
        }
    }

    fn partners(&mut self, now: u64) {
        self.i.look_rsp_valid = self.look.is_some_and(|(due, ..)| due <= now);
        if let Some((_, hit, p)) = self.look.filter(|_| self.i.look_rsp_valid) {
            self.i.look_rsp_hit = hit;
            self.i.look_rsp_slot = p.slot;
            self.i.look_rsp = p.rec;
            self.i.look_rsp_port = p.port;
            self.look = None;
        }
        self.i.map_rsp_valid = self.map.is_some_and(|(due, _)| due <= now);
        if let Some((_, psn)) = self.map.filter(|_| self.i.map_rsp_valid) {
            self.i.map_rsp_psn = psn;
            self.map = None;
        }
    }

    fn has_error(&self, qp: u8) -> bool {
        self.i.error.0[usize::from(qp / 64)] >> (qp % 64) & 1 == 1
    }

    fn find(&mut self, slot: u16) -> &mut Packet {
        self.packets.iter_mut().find(|p| p.slot == slot).expect("there")
    }

    /// RTX-1: a packet on the wire is queued.
    fn queue(&mut self, slot: u16, cause: Cause, fails: bool) {
        let p = *self.find(slot);
        self.find(slot).place = Place::Waits;
        self.news.push_back((p.rec.group, p.rec.len + 60, cause != Cause::Range));
        if cause == Cause::Timeout {
            self.bads.push_back((p.rec.dest, p.port));
        } else {
            self.cancels.push_back(slot);
        }
        if fails {
            self.fails.push_back(p.rec.qp);
            self.seen.fails += 1;
        } else {
            self.waits.push_back((p.rec.qp, p.rec.group));
        }
    }

    /// The clock in which the block acts on what has been looked up.
    fn acts(&mut self, job: At, slot: u16, hit: bool, i: &Inputs) {
        match job {
            At::Retire => self.retire(slot, hit),
            At::Ask => {
                let qp = self.find(slot).rec.qp;
                self.offer = Some((qp, slot));
            }
            At::Copy => {
                let of = self.held.iter().find(|p| p.slot == slot).map(|p| p.rec.qp);
                let qp = of.filter(|qp| hit && !self.has_error(*qp));
                self.offer = qp.map(|qp| (qp, slot));
            }
            At::Expire(generation) => self.expire(slot, generation),
            At::Lose(cause) => self.lose(slot, hit, cause),
        }
        self.i.error = i.error;
    }

    fn retire(&mut self, slot: u16, hit: bool) {
        let packet = hit.then(|| *self.find(slot));
        if let Some(p) = packet {
            self.packets.retain(|p| p.slot != slot);
            if p.rec.last && p.place == Place::Wire && self.held.len() < 3 {
                self.held.push(p);
            } else {
                self.free.push(slot);
            }
            if p.place == Place::Wire {
                self.cancels.push_back(slot);
            }
            self.seen.retired_waiting += u64::from(p.place == Place::Waits);
        }
        self.job = Some(Job::Retire(packet));
    }

    /// TMR-2, TMR-3, TMR-4: a timer that runs, of this life of the slot, and of no QP in error.
    fn expire(&mut self, slot: u16, generation: u8) {
        let limited = self.case.expo != NO_BUDGET;
        let p = self.packets.iter().find(|p| p.slot == slot).copied();
        let runs = |p: &Packet| p.place == Place::Wire && p.generation == generation;
        let Some(p) = p.filter(|p| runs(p) && !self.has_error(p.rec.qp)) else {
            self.seen.stale += 1;
            return;
        };
        let fails = limited && p.timeouts == self.case.limit();
        let p = self.find(slot);
        (p.number, p.timeouts) = ((p.number + 1).min(63), (p.timeouts + 1).min(63));
        self.seen.timeouts += 1;
        self.queue(slot, Cause::Timeout, fails);
    }

    /// LOS-1, NAK-1, NAK-2.
    fn lose(&mut self, slot: u16, hit: bool, cause: Cause) {
        let limited = self.case.expo != NO_BUDGET;
        let p = self.packets.iter().find(|p| hit && p.slot == slot).copied();
        let meant = p.is_some_and(|p| {
            let again = cause == Cause::Gap && p.gapped;
            let asked = cause == Cause::Sample;
            p.place == Place::Wire && !self.has_error(p.rec.qp) && !again && !asked
        });
        let nacks = p.map_or(0, |p| p.nacks);
        let fatal = meant && cause != Cause::Gap && limited && nacks == self.case.limit();
        self.job = Some(Job::Lose(meant && !fatal, fatal, p));
        self.seen.asked += u64::from(cause == Cause::Sample && p.is_some());
        self.seen.fatal += u64::from(fatal);
        if meant && !fatal {
            let gap = cause == Cause::Gap;
            let p = self.find(slot);
            p.number = 1;
            p.gapped |= gap;
            p.nacks = (p.nacks + u32::from(!gap)).min(63);
            self.seen.gaps += u64::from(gap);
            self.seen.nacks += u64::from(!gap);
            self.queue(slot, cause, false);
        }
    }

    /// What the block asks of the store of packets.
    fn looks(&mut self, o: &Outputs, now: u64) {
        let held = o.look_op == Look::Held;
        let of = if held { &self.held } else { &self.packets };
        let found = of.iter().find(|p| match o.look_op {
            Look::Slot | Look::Held => p.slot == o.look_slot,
            Look::Psn | Look::Retire => (p.rec.qp, p.rec.psn) == (o.look_qp, o.look_psn),
        });
        let other = Packet { slot: o.look_slot, ..PACKET };
        let due = now + 2 + self.rng.below(3);
        self.look = Some((due, found.is_some(), found.copied().unwrap_or(other)));
    }

    /// What the block asks of the bitmap.
    fn maps(&mut self, o: &Outputs, now: u64) {
        let ring = self.rings.get_mut(&o.map_qp);
        let mut psn = Psn(0);
        match (o.map_op, ring) {
            (Op::Wipe, None) => {
                self.rings.insert(o.map_qp, Vec::new());
            }
            (Op::Set, Some(ring)) => {
                assert!(!ring.contains(&o.map_psn));
                ring.push(o.map_psn);
            }
            (Op::Clear, Some(ring)) => {
                assert!(ring.contains(&o.map_psn));
                ring.retain(|psn| *psn != o.map_psn);
            }
            (Op::Next, Some(ring)) => {
                assert_eq!(o.map_end, o.map_psn.plus(self.sizes.psns));
                psn = *ring.iter().min_by_key(|p| p.ahead_of(o.map_psn)).expect("one waits");
            }
            (op, ring) => panic!("{op:?} of {ring:?}"),
        }
        self.map = Some((now + 3, psn));
    }

    /// Outputs that come when something has been decided, each in its order.
    fn told(&mut self, i: &Inputs, o: &Outputs, now: u64) {
        if o.cancel_valid {
            assert_eq!(self.cancels.pop_front(), Some(o.cancel_slot), "clock {now}: cancel");
        }
        if o.bad_valid {
            assert_eq!(self.bads.pop_front(), Some((o.bad_dest, o.bad_port)), "clock {now}: bad");
        }
        if o.loss_valid && i.loss_ready {
            let got = (o.loss_group, o.loss_bytes, o.loss_shrink);
            assert_eq!(self.news.pop_front(), Some(got), "clock {now}: loss");
        }
        if o.wait_valid && i.wait_ready {
            assert_eq!(self.waits.pop_front(), Some((o.wait_qp, o.wait_group)), "clock {now}");
        }
        if o.fail_valid && i.fail_ready {
            assert_eq!(self.fails.pop_front(), Some(o.fail_qp), "clock {now}: fail");
            self.i.error.0[usize::from(o.fail_qp / 64)] |= 1 << (o.fail_qp % 64);
        }
        if o.again_valid && i.again_ready {
            let slot = self.again.pop_front().expect("one goes again");
            // It may have been retired on its way.
            assert_eq!(o.again.slot, slot, "clock {now}: again");
            if let Some(p) = self.packets.iter().chain(&self.held).find(|p| p.slot == slot) {
                assert_eq!(o.again, p.rec.segment(slot), "clock {now}: again");
            }
        }
    }

    fn answers(&mut self, o: &Outputs, now: u64) {
        if o.queued_valid && o.queued_cause == Cause::Cover {
            let got = (o.queued_qp, o.queued_psn);
            assert_eq!(self.covers.pop_front(), Some(got), "clock {now}: a copy");
        }
        assert!(self.covers.is_empty(), "clock {now}: a copy is not told");
        if o.retire_rsp_valid {
            let Some(Job::Retire(packet)) = self.job.take() else { panic!("clock {now}: retired") };
            let flight = packet.is_some_and(|p| p.place != Place::Waits);
            assert_eq!(o.retire_rsp_flight, flight, "clock {now}: in flight");
            assert_eq!(u32::from(o.retire_rsp_sent), packet.map_or(0, Packet::told));
            if let Some(p) = packet {
                let got = (o.retire_rsp_len, o.retire_rsp_group, o.retire_rsp_last);
                assert_eq!(got, (p.rec.len, p.rec.group, p.rec.last), "clock {now}");
                assert_eq!(o.retire_rsp_port, p.port);
                assert!(p.is_timed(o.retire_rsp_at, now), "clock {now}: when");
            }
        }
        if o.lose_rsp_valid {
            let Some(Job::Lose(queued, fatal, packet)) = self.job.take() else {
                panic!("clock {now}: lost")
            };
            assert_eq!((o.lose_rsp_queued, o.lose_rsp_fatal), (queued, fatal), "clock {now}");
            // RTT-1.
            let told = packet.map_or(0, Packet::told);
            assert_eq!(u32::from(o.lose_rsp_sent), told, "clock {now}: sent");
            assert!(packet.is_none_or(|p| p.is_timed(o.lose_rsp_at, now)), "clock {now}: when");
        }
        if o.offer_valid && self.i.ask_copy {
            // CPL-2.
            let held = self.offer.and_then(|(_, s)| self.held.iter().find(|p| p.slot == s));
            assert_eq!(o.offer_hit, held.is_some(), "clock {now}: a copy on offer");
            if let Some(held) = held {
                assert_eq!((o.offer_len, o.offer_more), (held.rec.len, false));
            } else {
                self.seen.copies_missed += 1;
            }
            self.job = None;
        } else if o.offer_valid {
            let qp = self.i.ask_qp;
            let mut waiting: Vec<Packet> = self.packets.clone();
            waiting.retain(|p| p.rec.qp == qp && p.place == Place::Waits);
            let first = waiting.iter().min_by_key(|p| p.rec.psn.ahead_of(self.i.ask_from));
            let dead = self.dead;
            assert_eq!(o.offer_hit, first.is_some() && !dead, "clock {now}: offer");
            if let Some(first) = first.filter(|_| o.offer_hit) {
                // RTX-1: lowest PSN first.
                assert_eq!(self.offer, Some((qp, first.slot)), "clock {now}: offer");
                assert_eq!((o.offer_len, o.offer_more), (first.rec.len, waiting.len() > 1));
            } else {
                self.seen.misses += 1;
            }
            self.job = None;
        }
    }

    /// The end of a turn: the packet goes back to egress, or stays.
    fn end_turn(&mut self) {
        let (qp, slot) = self.offer.take().expect("offered");
        if self.i.ask_copy {
            if self.i.end_take {
                let held = self.held.iter().find(|p| p.slot == slot).expect("held");
                self.covers.push_back((qp, held.rec.psn));
                self.again.push_back(slot);
                self.seen.copied += 1;
            }
        } else if self.i.end_take {
            let p = self.find(slot);
            p.place = Place::Egress;
            p.sent += 1;
            self.again.push_back(slot);
            self.seen.taken += 1;
        } else {
            self.seen.left += 1;
        }
    }

    /// TMR-1: timers start two clocks after the end of serialisation comes.
    fn timers(&mut self, now: u64) -> Option<(u16, u64, u64, u8)> {
        let (_, slot, start, at) = *self.starting.front().filter(|(due, ..)| *due == now)?;
        self.starting.pop_front();
        let case = self.case;
        let p = self.packets.iter_mut().find(|p| p.slot == slot).expect("not retired meanwhile");
        p.place = Place::Wire;
        p.generation ^= 1;
        self.generations[usize::from(slot)] = p.generation;
        (p.at, p.came) = (at, now);
        let span = case.span(p.number);
        self.seen.doubled += u64::from(p.number > u32::from(case.linear));
        Some((slot, start, span, p.generation))
    }

    /// TMR-4: a packet whose timer runs has timed out as often as a budget allows, or once less,
    /// without all the clocks that it takes.
    fn age(&mut self) {
        let limit = self.case.limit();
        let fresh = self.dut.pair.regs().fresh.clone();
        let may = |p: &&mut Packet| p.place == Place::Wire && !fresh[usize::from(p.slot)];
        let Some(p) = self.packets.iter_mut().find(may) else { return };
        p.timeouts = limit - u32::from(limit > 0 && self.rng.percent(30));
        if self.case.expo == NO_BUDGET {
            // It would have been spent long ago, or the count stays at its end.
            p.timeouts = if self.rng.percent(50) { limit } else { 63 };
        }
        for memory in [&mut self.dut.tims, &mut self.dut.tim] {
            let mut timer = *memory.peek(usize::from(p.slot));
            timer.timeouts = p.timeouts as u8;
            memory.poke(usize::from(p.slot), timer);
        }
    }

    fn clock(&mut self) -> Result<(), Mismatch> {
        let now = self.dut.pair.clocks();
        if now.is_multiple_of(128) && self.dut.pair.regs().state == State::Idle {
            self.age();
        }
        self.offer();
        self.step()
    }

    /// A clock with the requests as they are.
    fn step(&mut self) -> Result<(), Mismatch> {
        let now = self.dut.pair.clocks();
        self.partners(now);
        let starts = self.timers(now);
        let regs = self.dut.pair.regs();
        let acts = (regs.state == State::Act).then(|| {
            let job = match regs.job {
                rtl_model::retransmit::Job::Retire => At::Retire,
                rtl_model::retransmit::Job::Ask => At::Ask,
                rtl_model::retransmit::Job::Copy => At::Copy,
                rtl_model::retransmit::Job::Expire => At::Expire(u8::from(regs.r#gen)),
                rtl_model::retransmit::Job::Lose => At::Lose(regs.cause),
            };
            (job, regs.slot, regs.hit)
        });
        let mut i = self.i.clone();
        let o = self.dut.clock(&mut i)?;

        let arm = (o.arm_slot, o.arm_start, o.arm_span, o.arm_gen);
        assert_eq!(o.arm_valid.then_some(arm), starts, "clock {now}: TMR-1");
        self.told(&i, &o, now);
        self.answers(&o, now);
        if o.look_valid && self.i.look_ready {
            self.looks(&o, now);
        }
        if o.map_valid && self.i.map_ready {
            self.maps(&o, now);
        }
        if self.i.end_valid {
            self.end_turn();
        }
        if let Some((job, slot, hit)) = acts {
            let i = self.i.clone();
            self.acts(job, slot, hit, &i);
        }
        if self.i.sent_valid {
            let start = self.i.ticks + 1;
            let ended = self.i.now.wrapping_sub(1) & END;
            self.starting.push_back((now + 2, self.i.sent_slot, start, ended));
        }
        if self.i.retire_valid && o.retire_ready {
            self.i.retire_valid = false;
            self.job = Some(Job::Ask);
        }
        if self.i.lose_valid && o.lose_ready {
            self.i.lose_valid = false;
            self.job = Some(Job::Ask);
        }
        if self.i.exp_valid && o.exp_ready {
            self.i.exp_valid = false;
        }
        if self.i.ask_valid && o.ask_ready {
            self.i.ask_valid = false;
            self.dead = i.error.0[usize::from(i.ask_qp / 64)] >> (i.ask_qp % 64) & 1 == 1;
            self.job = Some(Job::Ask);
        }
        Ok(())
    }
}

/// What the block may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// The packet of this PSN is acknowledged.
    Retire(u16),
    /// A gap shows that the packet of this PSN is lost.
    Lose(u16),
    /// The timer of the packet of this PSN expires.
    Expire(u16),
    /// A turn of its QP.
    Turn,
}

impl Bench {
    /// Packets of QP 0 whose timers run, each in the slot of its PSN; every partner is ready.
    fn with_packets(packets: u16) -> Result<Self, Mismatch> {
        let mut bench = Self::new(CASES[0], Sizes::SMALL, 16);
        let i = &mut bench.i;
        (i.look_ready, i.map_ready, i.end_take) = (true, true, true);
        (i.loss_ready, i.wait_ready, i.fail_ready, i.again_ready) = (true, true, true, true);
        for slot in 0..packets {
            let rec = Record { psn: Psn(slot.into()), ..PACKET.rec };
            bench.packets.push(Packet { slot, rec, ..PACKET });
            (bench.i.sent_valid, bench.i.sent_slot) = (true, slot);
            bench.step()?;
        }
        bench.i.sent_valid = false;
        for _ in 0..4 {
            bench.step()?;
        }
        Ok(bench)
    }

    fn ask(&mut self, ask: Ask) {
        let i = &mut self.i;
        match ask {
            Ask::Retire(psn) => (i.retire_valid, i.retire_psn) = (true, Psn(psn.into())),
            Ask::Lose(psn) => (i.lose_valid, i.lose_psn) = (true, Psn(psn.into())),
            Ask::Expire(slot) => (i.exp_valid, i.exp_slot, i.exp_gen) = (true, slot, 1),
            Ask::Turn => i.ask_valid = true,
        }
    }

    fn is_taken(&self, ask: Ask) -> bool {
        !match ask {
            Ask::Retire(_) => self.i.retire_valid,
            Ask::Lose(_) => self.i.lose_valid,
            Ask::Expire(_) => self.i.exp_valid,
            Ask::Turn => self.i.ask_valid,
        }
    }
}

/// Section 16: an acknowledgement goes before a gap, a gap before an expiry, an expiry before a
/// turn, all asked for in one clock. So a packet that is acknowledged or found lost in the clock of
/// its expiry draws no timeout, and the turn finds what either has queued.
#[test]
fn section_16_acknowledgement_gap_expiry_turn() -> Result<(), Mismatch> {
    use Ask::{Expire, Lose, Retire, Turn};
    let rows: [(&[Ask], [u64; 4]); 5] = [
        (&[Retire(0), Lose(1), Expire(0), Turn], [1, 0, 1, 1]),
        (&[Retire(0), Lose(0)], [0, 0, 0, 0]),
        (&[Retire(0), Expire(0), Turn], [0, 0, 1, 0]),
        (&[Lose(1), Expire(1), Turn], [1, 0, 1, 1]),
        (&[Expire(1), Turn], [0, 1, 0, 1]),
    ];
    for (asks, met) in rows {
        let mut bench = Bench::with_packets(2)?;
        for ask in asks {
            bench.ask(*ask);
        }
        let mut left = asks.to_vec();
        for _ in 0..100 {
            bench.i.end_valid = bench.offer.is_some();
            bench.step()?;
            if left.iter().any(|ask| bench.is_taken(*ask)) {
                let first = left.remove(0);
                assert!(bench.is_taken(first), "{asks:?}: {first:?} is not first");
                assert!(!left.iter().any(|ask| bench.is_taken(*ask)), "{asks:?}: two at once");
            }
        }
        assert!(left.is_empty(), "{asks:?}: {left:?} not taken");
        let seen = bench.seen;
        assert_eq!([seen.gaps, seen.timeouts, seen.stale, seen.taken], met, "{asks:?}");
    }
    Ok(())
}

const CASES: [Case; 5] = [
    Case { timeout: 150_000, linear: 7, expo: 25, fixed: false, ready: 75, qps: 4 },
    Case { timeout: 1, linear: 0, expo: 24, fixed: false, ready: 30, qps: 2 },
    Case { timeout: 1_999, linear: 2, expo: 1, fixed: false, ready: 90, qps: 8 },
    Case { timeout: 8_000_000_000, linear: 1, expo: 25, fixed: false, ready: 75, qps: 4 },
    Case { timeout: 999, linear: 1, expo: 0, fixed: true, ready: 50, qps: 4 },
];

/// RTX-1, RTX-2, TMR-1, TMR-2, TMR-3, TMR-4, NAK-2, LOS-1, CC-1, CPL-2, QP-6: both sizes, with a
/// reset on the way.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("retransmit");
    let (mut misses, mut fails, mut fatal) = (0, 0, 0);
    let (mut copied, mut copies_missed) = (0, 0);
    for (seed, sizes) in
        [(1, Sizes::SMALL), (2, Sizes::DEFAULT), (3, Sizes::SMALL), (4, Sizes::SMALL)]
    {
        for (n, case) in CASES.into_iter().enumerate() {
            let mut bench = Bench::new(case, sizes, seed * 10 + n as u64);
            for clock in 0..12_000 {
                if clock == 3_000 {
                    bench.dut.pair.reset().expect("resets");
                    bench.start();
                }
                if clock % 1_000 == 0 {
                    // QPs in error are closed and opened again.
                    bench.i.error = Wide::ZERO;
                }
                bench.clock()?;
            }
            let seen = bench.seen;
            let met = [seen.timeouts, seen.nacks, seen.gaps, seen.stale, seen.taken, seen.left];
            assert!(seen.asked > 5, "{case:?}: {seen:?}");
            assert!(met.iter().all(|n| *n > 2), "{case:?}: {seen:?}");
            assert!(seen.retired_waiting > 5, "{case:?}: {seen:?}");
            misses += seen.misses;
            (copied, copies_missed) = (copied + seen.copied, copies_missed + seen.copies_missed);
            (fails, fatal) = (fails + seen.fails, fatal + seen.fatal);
        }
    }
    assert!(fails > 2 && fatal > 0, "budgets: {fails} {fatal}");
    assert!(misses > 20, "{misses} asks found nothing");
    assert!(copied > 20 && copies_missed > 20, "copies: {copied} {copies_missed}");
    reached.check();
    Ok(())
}

/// TMR-3: sums of durations 150, 300 … 1,050, 1,350, 1,950, 3,150 µs; floor(T × 2^n), not
/// 2^n × floor(T); at least 1 µs; TMR-5: 8 s doubled 25 times.
#[test]
fn timers_last_as_the_table_says() -> Result<(), Mismatch> {
    for row in Table::read("retransmit/schedule.txt") {
        let case = Case {
            timeout: row.dec("timeout_ns"),
            linear: row.dec("linear") as u8,
            expo: NO_BUDGET,
            fixed: row.bit("fixed"),
            ready: 100,
            qps: 1,
        };
        let mut dut = Dut::new(&Sizes::SMALL, 1);
        let number = row.dec("timer");
        dut.tims.poke(0, Timer { number: number as u8, ..Timer::default() });
        let mut regs = dut.pair.regs().clone();
        regs.fresh.set(0, false);
        dut.pair.load(regs).expect("loads");
        let mut i = case.settings();
        i.sent_valid = true;
        dut.clock(&mut i)?;
        i.sent_valid = false;
        dut.clock(&mut i)?;
        let o = dut.clock(&mut i)?;
        assert!(o.arm_valid);
        row.expect("span_us", o.arm_span);
    }
    Ok(())
}
