//! `replay_store`: model and RTL get the same inputs and must agree on every clock; a set of the
//! slots that may be free holds every slot handed out.

use std::collections::BTreeSet;

use rtl_model::image::Item;
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::replay_store::{Inputs, Outputs, Record, Regs, SlotWord};
use rtl_model::types::Psn;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// PSNs that QPs start from: they wrap, modulo PSNS and modulo 2^24.
const FIRST_PSNS: [u32; 4] = [0, 0xff_fffe, 127, 1023];

/// The block with its three memories.
struct Dut {
    pair: Lockstep<Regs>,
    map: Ram<SlotWord>,
    rec: Ram<Record>,
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
            fl: Ram::new(sizes.slots as usize),
        };
        // The memory of slots by PSN is large: its words are written before they are read.
        dut.rec.randomize(&mut rng);
        dut.fl.randomize(&mut rng);
        dut
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.map_rdata = self.map.rdata;
        i.rec_rdata = self.rec.rdata;
        i.fl_rdata = self.fl.rdata;
        let o = self.pair.clock(i)?;
        self.map.clock(&port(o.map_we, o.map_waddr, o.map_wdata, o.map_re, o.map_raddr));
        self.rec.clock(&port(o.rec_we, o.rec_waddr, o.rec_wdata, o.rec_re, o.rec_raddr));
        self.fl.clock(&port(o.fl_we, o.fl_waddr, o.fl_wdata, o.fl_re, o.fl_raddr));
        Ok(o)
    }
}

/// PKT-6.
#[test]
fn a_slot_waits_for_all_three() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 1);
    for row in Table::read("replay_store/waits_for_all_three.txt") {
        let of = |name: &str| row.text(name) != "-";
        let psn = |name: &str| Psn(if of(name) { row.hex(name) as u32 } else { 0 });
        let o = dut.clock(&mut Inputs {
            slot_ready: row.bit("slot_ready"),
            build_valid: of("build"),
            build_qp: 15,
            build_psn: psn("build"),
            build_slot: if of("build") { row.dec("of_slot") as u16 } else { 0 },
            build_len: 100 + psn("build").0 as u16,
            build_last: row.bit("last"),
            build_group: 9,
            build_msg: 5,
            retire_valid: of("retire"),
            retire_qp: 15,
            retire_psn: psn("retire"),
            final_valid: of("final"),
            final_qp: 15,
            final_psn: psn("final"),
            gone_valid: of("gone"),
            gone_data: row.text("gone") != "ctl",
            gone_slot: row.text("gone").parse().unwrap_or(0),
            ..Inputs::default()
        })?;
        row.expect("slot", if o.slot_valid { o.slot.to_string() } else { "none".into() });
        row.expect("retire_ready", u8::from(o.retire_ready));
        row.expect("final_ready", u8::from(o.final_ready));
        row.expect("rsp_valid", u8::from(o.retire_rsp_valid));
        row.expect("rsp_len", o.retire_rsp_len);
        row.expect("rsp_last", u8::from(o.retire_rsp_last));
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
    gone: bool,
    retired: bool,
    complete: bool,
}

impl Packet {
    fn done(&self) -> bool {
        self.gone && self.retired && (self.complete || !self.record.last)
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
    /// The record that the retire under way must answer with, and the clock of it.
    due: Option<(Record, u64)>,
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
        self.without = 0;
    }

    fn offer(&mut self, pace: Pace) {
        let rng = &mut self.rng;
        self.i.slot_ready = rng.percent(pace.take);
        self.i.build_valid = false;
        if !self.taken.is_empty() && rng.percent(pace.build) {
            let qp = rng.below(u64::from(self.sizes.qps)) as u8;
            let psn = self.next[usize::from(qp)];
            // The PSN that has the same word must be through.
            let word = |psn: Psn| psn.0 % self.sizes.psns;
            if !self.live.iter().any(|p| p.qp == qp && word(p.psn) == word(psn)) {
                let slot = self.taken.swap_remove(rng.below(self.taken.len() as u64) as usize);
                self.next[usize::from(qp)] = psn.plus(1);
                self.i.build_valid = true;
                self.i.build_qp = qp;
                self.i.build_psn = psn;
                self.i.build_slot = slot;
                self.i.build_len = rng.pick(&[0, 1, 4096, 8192]);
                self.i.build_last = rng.percent(40);
                self.i.build_group = rng.bits() as u8;
                self.i.build_msg = rng.below(1024) as u16;
            }
        }
        let pick = |rng: &mut Rng, live: &[Packet], fit: &dyn Fn(&Packet) -> bool| {
            let fit: Vec<Packet> = live.iter().filter(|p| fit(p)).copied().collect();
            (!fit.is_empty()).then(|| fit[rng.below(fit.len() as u64) as usize])
        };
        if !self.i.toss_valid && !self.taken.is_empty() && rng.percent(pace.build / 10) {
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
        if !self.i.retire_valid
            && self.due.is_none()
            && rng.percent(pace.retire)
            && let Some(p) = pick(rng, &self.live, &|p| !p.retired)
        {
            // What is discarded never completes.
            let completes =
                self.i.final_valid && (self.i.final_qp, self.i.final_psn) == (p.qp, p.psn);
            self.i.retire_discard = !completes && !p.complete && rng.percent(20);
            self.i.retire_valid = true;
            self.i.retire_qp = p.qp;
            self.i.retire_psn = p.psn;
        }
        if !self.i.final_valid
            && rng.percent(pace.complete)
            && let Some(p) = pick(rng, &self.live, &|p| p.record.last && !p.complete)
            && !(self.i.retire_valid
                && self.i.retire_discard
                && (self.i.retire_qp, self.i.retire_psn) == (p.qp, p.psn))
        {
            self.i.final_valid = true;
            self.i.final_qp = p.qp;
            self.i.final_psn = p.psn;
        }
    }

    fn packet(&mut self, qp: u8, psn: Psn) -> &mut Packet {
        self.live.iter_mut().find(|p| p.qp == qp && p.psn == psn).expect("live")
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

        assert_eq!(o.retire_rsp_valid, self.due.is_some_and(|(_, at)| at <= now) && o.retire_ready);
        if o.retire_rsp_valid {
            let (record, _) = self.due.take().expect("under way");
            assert_eq!((o.retire_rsp_len, o.retire_rsp_group), (record.len, record.group));
            assert_eq!(o.retire_rsp_last, record.last);
        }
        if self.i.build_valid {
            let i = &self.i;
            self.live.push(Packet {
                qp: i.build_qp,
                psn: i.build_psn,
                slot: i.build_slot,
                record: Record {
                    len: i.build_len,
                    last: i.build_last,
                    group: i.build_group,
                    msg: i.build_msg,
                },
                gone: false,
                retired: false,
                complete: false,
            });
        }
        if self.i.gone_valid && self.i.gone_data {
            let slot = self.i.gone_slot;
            let packet = self.live.iter_mut().find(|p| p.slot == slot && !p.gone);
            packet.expect("in egress").gone = true;
        }
        if self.i.retire_valid && o.retire_ready {
            let discard = self.i.retire_discard;
            let packet = self.packet(self.i.retire_qp, self.i.retire_psn);
            packet.retired = true;
            packet.complete |= discard;
            self.due = Some((packet.record, now + 3));
            self.i.retire_valid = false;
        }
        if self.i.final_valid && o.final_ready {
            self.packet(self.i.final_qp, self.i.final_psn).complete = true;
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

/// PKT-6, QP-6, SEG-5: no slot twice, none lost; both sizes, with a reset on the way.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("replay_store");
    for (seed, sizes, clocks) in [(1, Sizes::SMALL, 3_000), (2, Sizes::DEFAULT, 3_500)] {
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
