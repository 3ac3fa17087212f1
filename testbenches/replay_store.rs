//! `replay_store`: model and RTL get the same inputs and must agree on every clock; a set of the
//! slots that may be free holds every slot handed out.

use std::collections::{BTreeMap, BTreeSet};

use rtl_model::image::Item;
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::replay_store::{Inputs, Look, Outputs, Path, Record, Regs, SlotWord};
use rtl_model::types::{Psn, Segment};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// PSNs that QPs start from: they wrap, modulo PSNS and modulo 2^24.
const FIRST_PSNS: [u32; 4] = [0, 0xff_fffe, 127, 1023];

/// The block with its four memories.
struct Dut {
    pair: Lockstep<Regs>,
    map: Ram<SlotWord>,
    rec: Ram<Record>,
    path: Ram<Path>,
    fl: Ram<SlotWord>,
}

fn port<T: Item>(we: bool, waddr: u32, wdata: T, re: bool, raddr: u32) -> ram_1r1w::Inputs<T> {
    ram_1r1w::Inputs { we, waddr, wdata, re, raddr }
}

impl Dut {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "memories");
        let start = Start::Random(seed as u32);
        let mut dut = Self {
            pair: Lockstep::new("replay_store", sizes, start).expect("builds"),
            map: Ram::new((sizes.qps * sizes.psns) as usize),
            rec: Ram::new(sizes.slots as usize),
            path: Ram::new(sizes.slots as usize),
            fl: Ram::new(sizes.slots as usize),
        };
        dut.map.randomize(&mut rng);
        dut.rec.randomize(&mut rng);
        dut.path.randomize(&mut rng);
        dut.fl.randomize(&mut rng);
        dut
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.map_rdata = self.map.rdata;
        i.rec_rdata = self.rec.rdata;
        i.path_rdata = self.path.rdata;
        i.fl_rdata = self.fl.rdata;
        let o = self.pair.clock(i)?;
        self.map.clock(&port(o.map_we, o.map_waddr, o.map_wdata, o.map_re, o.map_raddr));
        self.rec.clock(&port(o.rec_we, o.rec_waddr, o.rec_wdata, o.rec_re, o.rec_raddr));
        self.path.clock(&port(o.path_we, o.path_waddr, o.path_wdata, o.path_re, o.path_raddr));
        self.fl.clock(&port(o.fl_we, o.fl_waddr, o.fl_wdata, o.fl_re, o.fl_raddr));
        Ok(o)
    }
}

/// PKT-6.
#[test]
fn a_slot_waits_for_all_three() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 1);
    let mut slots = BTreeMap::new();
    for row in Table::read("replay_store/waits_for_all_three.txt") {
        let of = |name: &str| row.text(name) != "-";
        let psn = |name: &str| Psn(if of(name) { row.hex(name) as u32 } else { 0 });
        if of("build") {
            slots.insert(psn("build").0, row.dec("of_slot") as u16);
        }
        let o = dut.clock(&mut Inputs {
            slot_ready: row.bit("slot_ready"),
            build_valid: of("build"),
            build: Segment {
                qp: 15,
                psn: psn("build"),
                slot: if of("build") { row.dec("of_slot") as u16 } else { 0 },
                len: 100 + psn("build").0 as u16,
                last: row.bit("last"),
                group: 9,
                msg: 5,
                ..Segment::default()
            },
            look_valid: of("retire"),
            look_op: Look::Retire,
            look_qp: 15,
            look_psn: psn("retire"),
            final_valid: of("final"),
            final_slot: slots.get(&psn("final").0).copied().unwrap_or(0),
            gone_valid: of("gone"),
            gone_data: row.text("gone") != "ctl",
            gone_slot: row.text("gone").parse().unwrap_or(0),
            ..Inputs::default()
        })?;
        row.expect("slot", if o.slot_valid { o.slot.to_string() } else { "none".into() });
        row.expect("retire_ready", u8::from(o.look_ready));
        row.expect("final_ready", u8::from(o.final_ready));
        row.expect("rsp_valid", u8::from(o.look_rsp_valid));
        row.expect("rsp_len", o.look_rsp.len);
        row.expect("rsp_last", u8::from(o.look_rsp.last));
        row.expect("used", o.used);
    }
    Ok(())
}

/// A packet from its slot to its end.
#[derive(Clone, Copy, Debug)]
struct Packet {
    qp: u8,
    psn: Psn,
    slot: u16,
    record: Record,
    port: u16,
    gone: bool,
    retired: bool,
    complete: bool,
}

/// What a look must be answered with, and the clock of it at the earliest.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: u64,
    /// Of a packet that is not retired.
    packet: Option<Packet>,
    /// A slot whose packet must be retired and wait for its `final` alone.
    held: Option<u16>,
}

impl Packet {
    fn done(&self) -> bool {
        self.gone && self.retired && (self.complete || !self.record.last)
    }

    /// CPL-2: a copy of it may be sent for an ACK.
    fn held(&self) -> bool {
        self.gone && self.retired && !self.complete && self.record.last
    }
}

/// How one run goes: percentages of clocks in which each thing is offered.
#[derive(Clone, Copy)]
struct Pace {
    take: u64,
    build: u64,
    gone: u64,
    retire: u64,
    complete: u64,
}

struct Bench {
    dut: Dut,
    rng: Rng,
    sizes: Sizes,
    i: Inputs,
    /// Slots that may be free.
    free: BTreeSet<u16>,
    handed: u32,
    /// Slots handed out and not built.
    taken: Vec<u16>,
    live: Vec<Packet>,
    next: Vec<Psn>,
    /// The look under way.
    due: Option<Due>,
    /// The slot whose end of serialisation must be told in this clock.
    sent: Option<u16>,
    held: u32,
    /// A copy that is being decided (CPL-2): its slot, the clocks left, whether it may be made.
    copy: Option<(u16, u64, bool)>,
    /// Copies of packets that are retired.
    copied: u32,
    missed: u32,
    without: u32,
    full: u32,
    tossed: u32,
}

impl Bench {
    fn new(sizes: Sizes, seed: u64) -> Self {
        let mut bench = Self {
            dut: Dut::new(&sizes, seed),
            rng: Rng::new(seed, "replay_store"),
            sizes,
            i: Inputs::default(),
            free: BTreeSet::new(),
            handed: 0,
            taken: Vec::new(),
            live: Vec::new(),
            next: Vec::new(),
            due: None,
            sent: None,
            held: 0,
            copy: None,
            copied: 0,
            missed: 0,
            without: 0,
            full: 0,
            tossed: 0,
        };
        bench.start();
        bench
    }

    fn start(&mut self) {
        self.i = Inputs::default();
        self.free = (0..self.sizes.slots as u16).collect();
        self.handed = 0;
        self.taken.clear();
        self.live.clear();
        self.next = (0..self.sizes.qps).map(|_| Psn(self.rng.pick(&FIRST_PSNS))).collect();
        self.due = None;
        self.sent = None;
        self.without = 0;
    }

    #[allow(clippy::too_many_lines)] // one port after another
    fn offer(&mut self, pace: Pace) {
        let rng = &mut self.rng;
        self.i.slot_ready = rng.percent(pace.take);
        self.i.build_valid = false;
        if !self.taken.is_empty() && rng.percent(pace.build) {
            let qp = rng.below(u64::from(self.sizes.qps)) as u8;
            let psn = self.next[usize::from(qp)];
            // The PSN that has the same word must be through.
            let word = |psn: Psn| psn.0 % self.sizes.psns;
            let at = rng.below(self.taken.len() as u64) as usize;
            // A slot is not looked for in the clock of its build.
            let looked = self.i.look_valid && self.i.look_slot == self.taken[at];
            let again = self.live.iter().any(|p| p.qp == qp && word(p.psn) == word(psn));
            if !again && !looked {
                let slot = self.taken.swap_remove(at);
                self.next[usize::from(qp)] = psn.plus(1);
                self.i.build_valid = true;
                self.i.build = Segment {
                    qp,
                    psn,
                    slot,
                    len: rng.pick(&[0, 1, 4096, 8192]),
                    last: rng.percent(40),
                    group: rng.bits() as u8,
                    msg: rng.below(1024) as u16,
                    dest: rng.below(64) as u8,
                    laddr: rng.bits(),
                    raddr: rng.bits(),
                    rkey: rng.bits() as u32,
                    msg_len: rng.bits() as u32,
                    msn: rng.bits() as u16,
                    first: rng.percent(50),
                };
            }
        }
        let pick = |rng: &mut Rng, live: &[Packet], fit: &dyn Fn(&Packet) -> bool| {
            let fit: Vec<Packet> = live.iter().filter(|p| fit(p)).copied().collect();
            (!fit.is_empty()).then(|| fit[rng.below(fit.len() as u64) as usize])
        };
        if !self.i.toss_valid && !self.taken.is_empty() && rng.percent(pace.build / 7) {
            self.i.toss_valid = true;
            self.i.toss_slot = self.taken.swap_remove(rng.below(self.taken.len() as u64) as usize);
        }
        self.i.gone_valid = false;
        if rng.percent(pace.gone) {
            // Half of all frames are control frames, which have no slot.
            self.i.gone_valid = true;
            self.i.gone_data = false;
            self.i.gone_slot = rng.below(u64::from(self.sizes.slots)) as u16;
            if rng.percent(80)
                && let Some(p) = pick(rng, &self.live, &|p| !p.gone)
            {
                self.i.gone_data = true;
                self.i.gone_slot = p.slot;
            }
        }
        if !self.i.look_valid
            && self.due.is_none()
            && self.copy.is_none()
            && rng.percent(pace.retire)
        {
            let ops = [Look::Retire, Look::Retire, Look::Psn, Look::Slot, Look::Held];
            self.i.look_op = rng.pick(&ops);
            if self.live.iter().any(Packet::held) && rng.percent(30) {
                self.i.look_op = Look::Held;
            }
            self.i.look_slot = rng.below(u64::from(self.sizes.slots)) as u16;
            let retires = self.i.look_op == Look::Retire;
            if let Some(p) = pick(rng, &self.live, &|p| !(retires && p.retired)) {
                // What is discarded never completes.
                let completes = self.i.final_valid && self.i.final_slot == p.slot;
                self.i.look_discard = !completes && !p.complete && rng.percent(20);
                self.i.look_valid = true;
                self.i.look_qp = p.qp;
                self.i.look_psn = p.psn;
                if !retires && rng.percent(10) {
                    // A PSN of the same word that was never built.
                    self.i.look_psn = p.psn.plus(4 * self.sizes.psns);
                } else if rng.percent(70) {
                    self.i.look_slot = p.slot;
                }
            }
        }
        if self.i.look_valid
            && self.i.look_op == Look::Held
            && let Some(p) = pick(rng, &self.live, &Packet::held)
        {
            self.i.look_slot = p.slot;
        }
        if self.i.build_valid && self.i.look_slot == self.i.build.slot {
            self.i.look_valid &= !matches!(self.i.look_op, Look::Slot | Look::Held);
        }
        // A copy of a packet that has left, with its new entropy value.
        self.i.hold_valid = false;
        self.i.copying = false;
        if let Some((slot, left, hit)) = &mut self.copy {
            (self.i.copying, self.i.hold_slot) = (true, *slot);
            *left = left.saturating_sub(u64::from(self.due.is_none()));
            if *left == 0 {
                self.i.copying = false;
                self.i.hold_valid = *hit && rng.percent(80);
                self.copy = None;
            }
        } else if rng.percent(pace.gone / 4)
            && let Some(p) = pick(rng, &self.live, &|p| p.held())
                .or_else(|| pick(rng, &self.live, &|p| p.gone && !p.retired))
            && !(self.i.look_valid && self.i.look_op == Look::Retire)
            && self.due.is_none()
        {
            self.i.hold_valid = true;
            self.i.hold_slot = p.slot;
        }
        self.i.made_valid = false;
        if rng.percent(pace.gone)
            && let Some(p) = pick(rng, &self.live, &|p| !p.gone)
            && self.due.is_none()
            && !self.i.look_valid
        {
            self.i.made_valid = true;
            self.i.made_slot = p.slot;
            self.i.made_port = rng.bits() as u16;
        }
        if !self.i.final_valid
            && rng.percent(pace.complete)
            && let Some(p) = pick(rng, &self.live, &|p| p.record.last && !p.complete)
            && !(self.i.look_valid
                && self.i.look_discard
                && (self.i.look_qp, self.i.look_psn) == (p.qp, p.psn))
        {
            self.i.final_valid = true;
            self.i.final_slot = p.slot;
        }
    }

    /// A look is taken: what it finds.
    fn take_look(&mut self, now: u64) {
        let i = self.i;
        self.i.look_valid = false;
        let found = self.live.iter_mut().find(|p| match i.look_op {
            Look::Slot | Look::Held => p.slot == i.look_slot,
            _ => (p.qp, p.psn) == (i.look_qp, i.look_psn),
        });
        let packet = found.as_deref().filter(|p| !p.retired).copied();
        if let (Look::Retire, Some(p)) = (i.look_op, found) {
            p.retired = true;
            p.complete |= i.look_discard;
        }
        let by_slot = matches!(i.look_op, Look::Slot | Look::Held);
        let at = now + if by_slot { 2 } else { 3 };
        let held = (i.look_op == Look::Held).then_some(i.look_slot);
        if let Some(slot) = held {
            self.copy = Some((slot, self.rng.between(1, 9), false));
        }
        self.due = Some(Due { at, packet, held });
    }

    fn clock(&mut self, pace: Pace) -> Result<(), Mismatch> {
        self.offer(pace);
        let built = usize::from(self.i.build_valid) + usize::from(self.i.toss_valid);
        let used = (self.taken.len() + self.live.len() + built) as u16;
        let o = self.dut.clock(&mut self.i)?;
        let now = self.dut.pair.clocks();
        // One retire or final at most is under way.
        assert!((used..=used + 1).contains(&o.used), "clock {now}: {} used of {used}", o.used);
        self.full += u32::from(u32::from(o.used) == self.sizes.slots);
        assert!(o.build_ready);

        if o.slot_valid && self.i.slot_ready {
            assert!(self.free.remove(&o.slot), "clock {now}: slot {} is in use", o.slot);
            let fresh = self.handed < self.sizes.slots;
            assert!(!fresh || u32::from(o.slot) == self.handed, "clock {now}: fresh ones first");
            self.handed += 1;
            self.taken.push(o.slot);
        }
        self.without = if o.slot_valid || self.free.is_empty() { 0 } else { self.without + 1 };
        // A row of `gone` may hold back the retire that frees it.
        assert!(self.without <= 60, "clock {now}: a free slot is not handed out");

        assert_eq!(o.look_rsp_valid, self.due.is_some_and(|d| d.at <= now) && o.look_ready);
        if o.look_rsp_valid {
            let mut due = self.due.take().expect("under way");
            if let Some(slot) = due.held {
                // As it is when the look acts.
                let held = self.live.iter().find(|p| p.slot == slot && p.held());
                due.packet = held.copied();
            }
            assert_eq!(o.look_rsp_hit, due.packet.is_some(), "clock {now}");
            self.missed += u32::from(due.packet.is_none());
            if let Some((_, _, hit)) = &mut self.copy {
                *hit = due.packet.is_some();
            }
            if let Some(packet) = due.packet {
                let got = (o.look_rsp_slot, o.look_rsp, o.look_rsp_port);
                assert_eq!(got, (packet.slot, packet.record, packet.port), "clock {now}");
            }
        }
        assert_eq!(o.sent_valid.then_some(o.sent_slot), self.sent.take(), "clock {now}");
        if self.i.build_valid {
            let i = &self.i;
            self.live.push(Packet {
                qp: i.build.qp,
                psn: i.build.psn,
                slot: i.build.slot,
                record: Record::of(&i.build),
                port: self.dut.path.peek(usize::from(i.build.slot)).port,
                gone: false,
                retired: false,
                complete: false,
            });
        }
        let i = &self.i;
        let owned = self.live.iter().any(|p| p.slot == i.hold_slot);
        assert!(!i.hold_valid || owned, "clock {now}: a copy of slot {} that is free", i.hold_slot);
        for p in self.live.iter_mut().filter(|p| i.made_valid && p.slot == i.made_slot) {
            p.port = i.made_port;
        }
        for p in self.live.iter_mut().filter(|p| i.hold_valid && p.slot == i.hold_slot) {
            p.gone = false;
            self.held += 1;
            self.copied += u32::from(p.retired);
        }
        if self.i.gone_valid && self.i.gone_data {
            let slot = self.i.gone_slot;
            let packet = self.live.iter_mut().find(|p| p.slot == slot && !p.gone);
            let packet = packet.expect("in egress");
            packet.gone = true;
            // A retire that is not answered yet has not acted: the end goes first.
            let under_way = self.due.is_some_and(|d| d.packet.is_some_and(|p| p.slot == slot));
            self.sent = (!packet.retired || under_way).then_some(slot);
        }
        if self.i.look_valid && o.look_ready {
            self.take_look(now);
        }
        if self.i.final_valid && o.final_ready {
            let slot = self.i.final_slot;
            self.live.iter_mut().find(|p| p.slot == slot).expect("live").complete = true;
            self.i.final_valid = false;
        }
        if self.i.toss_valid && o.toss_ready {
            self.tossed += 1;
            self.free.insert(self.i.toss_slot);
            self.i.toss_valid = false;
        }
        let free = &mut self.free;
        self.live.retain(|p| !p.done() || !free.insert(p.slot));
        Ok(())
    }
}

/// Everything at once; slots short; acknowledgements late; egress late; completions late.
const PACES: [Pace; 5] = [
    Pace { take: 75, build: 75, gone: 60, retire: 60, complete: 60 },
    Pace { take: 100, build: 100, gone: 80, retire: 20, complete: 60 },
    Pace { take: 25, build: 50, gone: 80, retire: 80, complete: 80 },
    Pace { take: 100, build: 100, gone: 15, retire: 90, complete: 90 },
    Pace { take: 100, build: 100, gone: 100, retire: 90, complete: 10 },
];

/// PKT-6, QP-6, SEG-5, CPL-2: no slot twice, none lost; both sizes, with a reset on the way.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("replay_store");
    for (seed, sizes, clocks) in [(1, Sizes::SMALL, 15_000), (2, Sizes::DEFAULT, 3_500)] {
        let mut bench = Bench::new(sizes, seed);
        let mut wraps = 0;
        for (n, pace) in PACES.iter().enumerate() {
            if n == 1 {
                bench.dut.pair.reset().expect("resets");
                bench.start();
            }
            for _ in 0..clocks {
                bench.clock(*pace)?;
            }
            wraps += bench.handed / sizes.slots;
        }
        assert!(bench.full > 10, "never full");
        assert!(bench.tossed > 20, "{} tossed", bench.tossed);
        assert!(bench.held > 100 && bench.missed > 20, "{} {}", bench.held, bench.missed);
        assert!(bench.copied > 5, "{} copies of packets that are retired", bench.copied);
        assert!(wraps > 2, "the memory of free slots never came round");

        // All end; then every slot is there once, and not one more.
        let drain = Pace { take: 0, build: 100, gone: 90, retire: 90, complete: 90 };
        while !(bench.live.is_empty() && bench.taken.is_empty() && !bench.i.toss_valid) {
            bench.clock(drain)?;
        }
        bench.clock(drain)?;
        let before = bench.handed;
        let take = Pace { take: 100, build: 0, gone: 0, retire: 0, complete: 0 };
        for _ in 0..4 * sizes.slots {
            bench.clock(take)?;
        }
        assert_eq!(bench.handed - before, sizes.slots);
    }
    reached.check();
    Ok(())
}
