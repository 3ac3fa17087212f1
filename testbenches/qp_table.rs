//! `qp_table`: model and RTL get the same requests and must agree on every clock.
//!
//! The oracle is a plain table that serves the same requests one after the other.

use std::collections::{HashMap, HashSet, VecDeque};

use rtl_model::image::Wide;
use rtl_model::qp_table::{CLOSE, Ctx, Inputs, OPEN, Outputs, POST, Regs};
use rtl_model::ram_1r1w::Ram;
use rtl_model::types::{Psn, Qpn};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Both sides and their memory, which starts with random contents.
struct Bench {
    pair: Lockstep<Regs>,
    ctx: Ram<Ctx>,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let start = Start::Random(seed as u32);
        let mut ctx = Ram::new(sizes.qps as usize);
        ctx.randomize(&mut Rng::new(seed, "ctx"));
        Self { pair: Lockstep::new("qp_table", sizes, start).expect("builds"), ctx }
    }

    fn clock(&mut self, i: &Inputs) -> Result<Outputs, Mismatch> {
        let out = self.pair.clock(&Inputs { ctx_rdata: self.ctx.rdata, ..*i })?;
        if out.ctx_re {
            self.ctx.read(out.ctx_raddr);
        }
        if out.ctx_we {
            self.ctx.write(out.ctx_waddr, out.ctx_wdata);
        }
        Ok(out)
    }
}

/// QP-1, QP-5.
#[test]
fn open_close_open() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes { qps: 2, ..Sizes::SMALL }, 1);
    for row in Table::read("qp_table/open_close_open.txt") {
        let out = bench.clock(&Inputs {
            qp_valid: row.bit("valid"),
            qp_op: row.dec("op") as u8,
            qp_qpn: Qpn(row.hex("qpn") as u32),
            qp_dest: row.dec("dest") as u8,
            done_valid: row.bit("done"),
            open_ready: row.bit("open_ready"),
            cfg_groups: true,
            ..Inputs::default()
        })?;
        row.expect("ready", u8::from(out.qp_ready));
        row.expect("done_ready", u8::from(out.done_ready));
        row.expect("open", u8::from(out.open_valid));
        row.expect("rsp", u8::from(out.qp_rsp_valid));
        row.expect("ok", u8::from(out.qp_rsp_ok));
        row.expect("full", u8::from(out.qp_rsp_full));
        row.expect("msn", out.qp_rsp_msn);
        row.expect("rsp_qpn", format!("{:06x}", out.qp_rsp_qpn.0));
        row.expect("created", u8::from(out.created_valid));
        row.expect("closed", u8::from(out.closed_valid));
    }
    Ok(())
}

/// Section 16, QP-5: a close ends before a post of the same clock opens: with the table full, the post
/// finds the slot that the close has freed, in its next generation.
#[test]
fn section_16_a_close_ends_before_a_post() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes { qps: 2, ..Sizes::SMALL }, 2);
    let mut i = Inputs { open_ready: true, cfg_groups: true, qp_op: OPEN, ..Inputs::default() };
    let mut told = Vec::new();
    for clock in 0..60 {
        if clock % 20 == 0 {
            i.qp_valid = true;
        }
        if clock == 40 {
            (i.end_valid, i.end_qp, i.end_close, i.end_free) = (true, 1, true, true);
        }
        let out = bench.clock(&i)?;
        i.qp_valid &= !out.qp_ready;
        if i.end_valid && out.end_ready {
            i.end_valid = false;
            told.push(("closed", true, 1));
        }
        if out.qp_rsp_valid {
            told.push(("opened", out.qp_rsp_ok, out.qp_rsp_qpn.0));
        }
    }
    let opened = |qpn| ("opened", true, qpn);
    assert_eq!(told, [opened(0x100), opened(0x101), ("closed", true, 1), opened(0x201)]);
    Ok(())
}

/// QP-4: the number of a message is 16 bits wide and goes on at 0, and a QP that has completed as
/// many as were posted closes, whatever the two counts have wrapped to.
#[test]
fn qp_4_the_number_of_a_message_wraps() -> Result<(), Mismatch> {
    for sizes in [Sizes::SMALL, Sizes::DEFAULT] {
        let mut bench = Bench::new(&sizes, 4);
        let ask = |bench: &mut Bench, op, qpn| -> Result<Outputs, Mismatch> {
            let mut i = Inputs { qp_valid: true, qp_op: op, qp_qpn: qpn, ..Inputs::default() };
            (i.qp_dest, i.open_ready) = (3, true);
            loop {
                let out = bench.clock(&i)?;
                i.qp_valid &= !out.qp_ready;
                if out.qp_rsp_valid {
                    return Ok(out);
                }
            }
        };
        let open = ask(&mut bench, OPEN, Qpn(0))?;
        let (qpn, slot) = (open.qp_rsp_qpn, usize::from(open.qp_rsp_qpn.slot()));
        assert!(open.qp_rsp_ok);
        let ctx = *bench.ctx.peek(slot);
        bench.ctx.poke(slot, Ctx { posted: 0xfffe, done: 0xfffd, ..ctx });
        for msn in [0xfffe, 0xffff, 0, 1] {
            let post = ask(&mut bench, POST, qpn)?;
            assert_eq!((post.qp_rsp_ok, post.qp_rsp_msn), (true, msn));
        }
        let mut i = Inputs { done_valid: true, done_qp: qpn.slot(), ..Inputs::default() };
        for _ in 0..5 {
            while !bench.clock(&i)?.done_ready {}
        }
        i.done_valid = false;
        bench.clock(&i)?;
        let close = ask(&mut bench, CLOSE, qpn)?;
        assert_eq!((close.closed_valid, close.drain_valid, close.qp_rsp_msn), (true, false, 2));
    }
    Ok(())
}

/// A slot's life.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    open: bool,
    /// In error, or being closed.
    dead: bool,
    generation: u16,
    dest: u8,
    given: Psn,
    cum: Psn,
    remote: Option<Qpn>,
    /// LOS-2: no gap is looked for until this is acknowledged.
    recover: (bool, Psn),
    posted: u16,
    done: u16,
}

impl Side {
    fn qpn(&self, slot: u8) -> Qpn {
        Qpn::new(self.generation, slot)
    }
}

/// What a look-up finds: whether, slot, next PSN, cumulative PSN, group, destination, recovery.
type Found = (bool, u8, Psn, Psn, u8, u8, (bool, Psn));

/// A response that must come in the next clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Due {
    find: Option<Found>,
    upd: bool,
    build: Option<(Qpn, bool, Qpn)>,
    qp: Option<Answer>,
    /// Whether a mark holds, the QP and its group, and whether its slot is free.
    end: Option<(bool, Qpn, u8, bool)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Answer {
    ok: bool,
    full: bool,
    failed: bool,
    qpn: Qpn,
    group: u8,
    dest: u8,
    msn: u16,
    created: bool,
    closed: bool,
    drain: bool,
}

/// The plain table.
struct Plain {
    qps: usize,
    sides: HashMap<u8, Side>,
    closed: VecDeque<u8>,
    /// Groups that have an open QP.
    groups: HashMap<u8, u32>,
    /// Open receiving sides of a destination.
    receiving: HashMap<u8, u32>,
    /// Groups of destinations that live.
    lives: HashSet<u8>,
    /// An open waits for window.
    opening: Option<Answer>,
    initial: Psn,
    by_dest: bool,
    ips: [u32; 64],
    /// What happened how often.
    counts: HashMap<&'static str, u32>,
}

impl Plain {
    fn group(&self, slot: u8, dest: u8) -> u8 {
        if self.by_dest { dest } else { slot }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn side(&self, qpn: Qpn) -> Option<Side> {
        self.sides.get(&qpn.slot()).copied().filter(|s| s.open && s.qpn(qpn.slot()) == qpn)
    }

    /// SCH-1: a receiving side begins or ends, before any request of the clock (section 16).
    fn receive(&mut self, i: &Inputs) {
        if i.rx_created_valid {
            *self.receiving.entry(i.rx_created_dest).or_default() += 1;
        }
        if i.rx_closed_valid {
            *self.receiving.get_mut(&i.rx_closed_dest).expect("has a side") -= 1;
            self.end_group(i.rx_closed_dest);
        }
    }

    /// SCH-1: the group of a destination ends with the last QP of either direction.
    fn end_group(&mut self, dest: u8) {
        let open = |of: &HashMap<u8, u32>| of.get(&dest).is_some_and(|n| *n > 0);
        if self.by_dest && !open(&self.groups) && !open(&self.receiving) && self.lives.remove(&dest)
        {
            self.count("group ends");
        }
    }

    /// Serves the request that was taken in this clock.
    fn serve(&mut self, i: &Inputs, out: &Outputs) -> Due {
        let mut due = Due::default();
        self.receive(i);
        if out.find_ready && i.find_valid {
            let side = self.side(i.find_qpn);
            let found = side.filter(|s| !s.dead && self.ips[usize::from(s.dest)] == i.find_dest_ip);
            let bare = i.find_bare.then(|| self.sides[&i.find_qpn.slot()]);
            let found = bare.or(found);
            self.count(if found.is_some() { "found" } else { "not found" });
            let slot = i.find_qpn.slot();
            let none = (false, 0, Psn(0), Psn(0), 0, 0, (false, Psn(0)));
            due.find = Some(found.map_or(none, |s| {
                (true, slot, s.given, s.cum, self.group(slot, s.dest), s.dest, s.recover)
            }));
        }
        if out.upd_ready && i.upd_valid {
            let side = self.sides.get_mut(&i.upd_qp).expect("was open");
            side.cum = i.upd_cum;
            side.recover = (i.upd_recovers, i.upd_recover);
            if i.upd_learn {
                side.remote = Some(i.upd_remote);
            }
            due.upd = true;
        }
        if out.build_ready && i.build_valid {
            let side = self.sides.get_mut(&i.build_qp).expect("was open");
            side.given = i.build_psn.plus(1);
            let remote = side.remote.unwrap_or_default();
            due.build = Some((side.qpn(i.build_qp), side.remote.is_some(), remote));
        }
        if out.done_ready && i.done_valid {
            let side = self.sides.get_mut(&i.done_qp).expect("was open");
            side.done = side.done.wrapping_add(1);
        }
        if out.end_ready && i.end_valid {
            due.end = Some(self.end(i));
        }
        if out.qp_ready && i.qp_valid {
            due.qp = match i.qp_op {
                OPEN => self.open(i.qp_dest),
                POST => Some(self.post(i.qp_qpn, i.qp_dest)),
                CLOSE => Some(self.close(i.qp_qpn)),
                _ => Some(Answer::default()),
            };
        }
        if out.open_valid && i.open_ready {
            due.qp = self.opening.take();
        }
        due
    }

    fn open(&mut self, dest: u8) -> Option<Answer> {
        let slot = if self.sides.len() < self.qps {
            self.sides.len() as u8
        } else if let Some(slot) = self.closed.pop_front() {
            self.count("reused");
            slot
        } else {
            self.count("full");
            return Some(Answer { full: true, ..Answer::default() });
        };
        let before = self.sides.get(&slot).map_or(0, |s| s.generation);
        if before == 0xffff {
            self.count("wrapped");
        }
        let side = Side {
            open: true,
            generation: before.wrapping_add(1),
            dest,
            given: self.initial,
            cum: self.initial.minus(1),
            posted: 1,
            ..Side::default()
        };
        self.sides.insert(slot, side);
        let (qpn, group) = (side.qpn(slot), self.group(slot, dest));
        let answer = Answer { ok: true, qpn, group, dest, created: true, ..Answer::default() };
        let open = self.groups.entry(group).or_default();
        *open += 1;
        let first = *open == 1;
        if first && self.lives.contains(&group) {
            self.count("kept by the receiving side");
        }
        if !self.by_dest || self.lives.insert(group) {
            self.count("group");
            self.opening = Some(answer);
            return None;
        }
        Some(answer)
    }

    fn post(&mut self, qpn: Qpn, dest: u8) -> Answer {
        let Some(side) = self.side(qpn).filter(|s| s.dest == dest) else {
            self.count("post refused");
            return Answer::default();
        };
        if side.dead {
            self.count("failed");
            return Answer { failed: true, ..Answer::default() };
        }
        self.sides.get_mut(&qpn.slot()).expect("open").posted = side.posted.wrapping_add(1);
        let group = self.group(qpn.slot(), dest);
        Answer { ok: true, qpn, group, dest, msn: side.posted, ..Answer::default() }
    }

    fn close(&mut self, qpn: Qpn) -> Answer {
        let Some(side) = self.side(qpn) else {
            self.count("close of none refused");
            return Answer::default();
        };
        let (dest, group) = (side.dest, self.group(qpn.slot(), side.dest));
        let answer = Answer { ok: true, qpn, group, dest, msn: side.posted, ..Answer::default() };
        if side.posted != side.done || side.dead {
            self.count("drained");
            self.sides.get_mut(&qpn.slot()).expect("open").dead = true;
            return Answer { drain: true, ..answer };
        }
        self.count("closed");
        self.free(qpn.slot());
        Answer { closed: true, ..answer }
    }

    fn free(&mut self, slot: u8) {
        let side = self.sides.get_mut(&slot).expect("open");
        (side.open, side.dead) = (false, false);
        let dest = side.dest;
        self.closed.push_back(slot);
        let group = self.group(slot, dest);
        *self.groups.get_mut(&group).expect("has a QP") -= 1;
        self.end_group(group);
    }

    /// QP-6: a mark holds once for an error, again for a close.
    fn end(&mut self, i: &Inputs) -> (bool, Qpn, u8, bool) {
        let slot = i.end_qp;
        let side = self.sides[&slot];
        let ok = side.open && (i.end_close || !side.dead);
        if i.end_free {
            self.count("freed");
            self.free(slot);
        } else if ok {
            self.count("marked");
            self.sides.get_mut(&slot).expect("open").dead = true;
        } else {
            self.count("not marked");
        }
        (ok, side.qpn(slot), self.group(slot, side.dest), i.end_free)
    }
}

/// What came in this clock.
fn seen(out: &Outputs) -> Due {
    Due {
        find: out.find_rsp_valid.then_some((
            out.find_rsp_ok,
            out.find_rsp_qp,
            out.find_rsp_given,
            out.find_rsp_cum,
            out.find_rsp_group,
            out.find_rsp_dest,
            (out.find_rsp_recovers, out.find_rsp_recover),
        )),
        upd: out.upd_done,
        build: out.build_rsp_valid.then_some((
            out.build_rsp_qpn,
            out.build_rsp_remote_valid,
            out.build_rsp_remote,
        )),
        qp: out.qp_rsp_valid.then_some(Answer {
            ok: out.qp_rsp_ok,
            full: out.qp_rsp_full,
            failed: out.qp_rsp_failed,
            qpn: out.qp_rsp_qpn,
            group: out.qp_rsp_group,
            dest: out.qp_rsp_dest,
            msn: out.qp_rsp_msn,
            created: out.created_valid,
            closed: out.closed_valid,
            drain: out.drain_valid,
        }),
        end: out.end_rsp_valid.then_some((
            out.end_rsp_ok,
            out.end_rsp_qpn,
            out.end_rsp_group,
            out.closed_valid,
        )),
    }
}

/// PSNs at which a number wraps or a sign changes, and their neighbours.
const PSNS: [u32; 6] = [0, 1, 0x7f_ffff, 0x80_0000, 0xff_fffe, 0xff_ffff];
/// Destinations, the first and the last among them.
const DESTS: [u8; 4] = [0, 1, 62, 63];

struct World {
    bench: Bench,
    rng: Rng,
    plain: Plain,
    i: Inputs,
    due: Due,
    before: Inputs,
    /// No request under way.
    quiet: Inputs,
    /// Requests taken while a qp waited.
    passed: u32,
}

impl World {
    fn new(sizes: &Sizes, seed: u64, by_dest: bool) -> Self {
        let mut rng = Rng::new(seed, "qp_table");
        let mut ips = [0; 64];
        for ip in &mut ips {
            *ip = rng.bits() as u32;
        }
        let initial = Psn(rng.pick(&PSNS));
        let mut cfg_peer_ip = Wide::<32>::ZERO;
        for (dest, ip) in ips.iter().enumerate() {
            cfg_peer_ip.0[dest / 2] |= u64::from(*ip) << (32 * (dest % 2));
        }
        let i = Inputs {
            cfg_initial_psn: initial,
            cfg_groups: by_dest,
            cfg_peer_ip,
            ..Inputs::default()
        };
        let plain = Plain {
            qps: sizes.qps as usize,
            sides: HashMap::new(),
            closed: VecDeque::new(),
            groups: HashMap::new(),
            receiving: HashMap::new(),
            lives: HashSet::new(),
            opening: None,
            initial,
            by_dest,
            ips,
            counts: HashMap::new(),
        };
        Self {
            bench: Bench::new(sizes, seed),
            rng,
            plain,
            i,
            due: Due::default(),
            before: i,
            quiet: i,
            passed: 0,
        }
    }

    fn reset(&mut self) {
        self.bench.pair.reset().expect("resets");
        self.plain.sides.clear();
        self.plain.closed.clear();
        self.plain.groups.clear();
        self.plain.receiving.clear();
        self.plain.lives.clear();
        self.plain.opening = None;
        self.due = Due::default();
        self.i = self.quiet;
        self.before = self.i;
        self.passed = 0;
    }

    /// A slot that is or was open.
    fn slot(&mut self) -> Option<u8> {
        let n = self.plain.sides.len() as u64;
        (n > 0).then(|| self.rng.below(n) as u8)
    }

    /// A number, mostly of an open QP, else one that is wrong in one way.
    fn number(&mut self) -> Qpn {
        let Some(slot) = self.slot() else { return Qpn(self.rng.bits() as u32 & 0xff_ffff) };
        let qpn = self.plain.sides[&slot].qpn(slot);
        match self.rng.below(12) {
            0 => Qpn::new(qpn.generation().wrapping_sub(1), slot),
            1 => Qpn::new(qpn.generation().wrapping_add(1), slot),
            2 => Qpn::new(qpn.generation(), slot.wrapping_add(self.plain.qps as u8)),
            3 => Qpn::new(qpn.generation(), self.plain.sides.len() as u8),
            4 => Qpn::new(0, slot),
            _ => qpn,
        }
    }

    /// Requests that wait stay; new ones come with `arrive` percent each.
    fn draw(&mut self, arrive: u64, opens: u64) {
        if !self.i.find_valid && self.rng.percent(arrive) {
            self.i.find_valid = true;
            self.i.find_qpn = self.number();
            let opened = self.plain.sides.contains_key(&self.i.find_qpn.slot());
            self.i.find_bare = opened && self.rng.percent(10);
            let dest = self.plain.sides.get(&self.i.find_qpn.slot()).map_or(0, |s| s.dest);
            let other = self.rng.percent(10);
            let dest = if other { self.rng.pick(&DESTS) } else { dest };
            self.i.find_dest_ip = self.plain.ips[usize::from(dest)];
        }
        if !self.i.upd_valid
            && self.rng.percent(arrive)
            && let Some(slot) = self.slot()
        {
            self.i.upd_valid = true;
            self.i.upd_qp = slot;
            self.i.upd_cum = Psn(self.rng.pick(&PSNS));
            self.i.upd_recovers = self.rng.percent(50);
            self.i.upd_recover = Psn(self.rng.pick(&PSNS));
            self.i.upd_learn = self.rng.percent(30);
            self.i.upd_remote = Qpn(self.rng.bits() as u32 & 0xff_ffff);
        }
        if !self.i.build_valid
            && self.rng.percent(arrive)
            && let Some(slot) = self.slot()
        {
            self.i.build_valid = true;
            self.i.build_qp = slot;
            self.i.build_psn = Psn(self.rng.pick(&PSNS));
        }
        if !self.i.done_valid && self.rng.percent(100 - opens) {
            let slot = self.slot();
            if let Some(slot) = slot.filter(|s| {
                let side = &self.plain.sides[s];
                side.posted != side.done
            }) {
                self.i.done_valid = true;
                self.i.done_qp = slot;
            }
        }
        if !self.i.end_valid
            && self.rng.percent(30)
            && let Some(slot) = self.slot()
        {
            // A slot is freed once, while its QP is open and has ended; nobody else closes it then.
            let side = self.plain.sides[&slot];
            let closes = self.i.qp_valid && self.i.qp_op == CLOSE;
            let dones = self.i.done_valid && self.i.done_qp == slot;
            self.i.end_valid = true;
            self.i.end_qp = slot;
            self.i.end_close = self.rng.percent(30);
            self.i.end_free = side.open && side.dead && !closes && !dones && self.rng.percent(90);
        }
        let frees = self.i.end_valid && self.i.end_free;
        if !self.i.qp_valid && !frees && self.rng.percent(60) {
            self.i.qp_valid = true;
            self.i.qp_op = match self.rng.below(100) {
                n if n < opens => OPEN,
                99 => 3,
                n if n % 4 == 0 => POST,
                _ => CLOSE,
            };
            self.i.qp_qpn = self.number();
            let dest = self.plain.sides.get(&self.i.qp_qpn.slot()).map(|s| s.dest);
            let other = self.i.qp_op == OPEN || self.rng.percent(10);
            let drawn = self.rng.pick(&DESTS);
            self.i.qp_dest = dest.filter(|_| !other).unwrap_or(drawn);
        }
    }

    /// Receiving sides, few of a destination, so that the last one often closes.
    fn draw_receiving(&mut self, most: u32) {
        let (opens, closes) = (self.rng.pick(&DESTS), self.rng.pick(&DESTS));
        let open = |dest| self.plain.receiving.get(&dest).copied().unwrap_or(0);
        self.i.rx_created_valid = open(opens) < most && self.rng.percent(8);
        self.i.rx_created_dest = opens;
        self.i.rx_closed_valid = open(closes) > 0 && self.rng.percent(8);
        self.i.rx_closed_dest = closes;
    }

    /// Frames in work, many of the QP that is to be closed; each comes to its end.
    fn draw_work(&mut self) {
        if self.i.work_valid {
            self.i.work_valid = !self.rng.percent(15);
        } else if self.rng.percent(30) {
            self.i.work_valid = true;
            let slot = self.rng.below(self.plain.qps as u64) as u8;
            self.i.work_qp = if self.rng.percent(50) { self.i.qp_qpn.slot() } else { slot };
            self.plain.count(if in_work(&self.i) { "held" } else { "other" });
        }
    }

    /// A request is taken only if none was waiting that goes before it; a qp waits for two.
    fn order(&mut self, before: &Inputs, out: &Outputs) {
        let waited = [
            before.find_valid,
            before.upd_valid,
            before.build_valid,
            before.done_valid,
            before.end_valid,
        ];
        let others =
            [out.find_ready, out.upd_ready, out.build_ready, out.done_ready, out.end_ready];
        for (n, taken) in others.into_iter().enumerate() {
            assert!(!taken || waited[..n].iter().all(|w| !w), "order of choice");
            self.passed += u32::from(taken && before.qp_valid && !in_work(before));
        }
        assert!(self.passed <= 2, "QP-3: a post waits for two requests, no more");
        if out.qp_ready {
            assert!(!in_work(before), "QP-5: a close of the QP whose frame is in work");
            assert!(self.passed == 2 || waited.iter().all(|w| !w), "order of choice");
            self.plain.count(if self.passed == 2 { "pressed" } else { "free" });
            self.passed = 0;
        }
    }

    fn clock(&mut self, ready: u64) -> Result<(), Mismatch> {
        self.i.open_ready = self.rng.percent(ready);
        // As many as `rx_track` has slots; mostly one or two, so that a group ends now and then.
        let most = if (self.bench.pair.clocks() / 5_000).is_multiple_of(2) {
            2
        } else {
            self.plain.qps as u32 / 4
        };
        self.draw_receiving(most);
        self.draw_work();
        let (i, before) = (self.i, self.before);
        let out = self.bench.clock(&i)?;
        assert_eq!(seen(&out), self.due, "clock {}", self.bench.pair.clocks());
        assert_eq!(out.open_valid, self.plain.opening.is_some());
        if let Some(answer) = self.plain.opening {
            assert_eq!(out.open_group, answer.group);
        }
        self.order(&before, &out);
        self.due = self.plain.serve(&i, &out);
        self.before = i;
        self.i.find_valid &= !out.find_ready;
        self.i.upd_valid &= !out.upd_ready;
        self.i.build_valid &= !out.build_ready;
        self.i.done_valid &= !out.done_ready;
        self.i.end_valid &= !out.end_ready;
        self.i.qp_valid &= !out.qp_ready;
        for word in 0..4 {
            let slots = (0..64).filter(|bit| {
                let slot = 64 * word + bit;
                self.plain.sides.get(&(slot as u8)).is_some_and(|s| s.dead)
            });
            let dead = slots.fold(0, |bits, bit| bits | 1_u64 << bit);
            assert_eq!(self.bench.pair.regs().dead.0[word], dead, "dead");
        }
        Ok(())
    }

    /// A request is under way.
    fn busy(&self) -> bool {
        let i = &self.i;
        let asked =
            i.find_valid | i.upd_valid | i.build_valid | i.done_valid | i.end_valid | i.qp_valid;
        asked || self.due != Due::default() || self.plain.opening.is_some()
    }

    /// Gives every closed slot its last generation before the wrap.
    fn age(&mut self) {
        for slot in self.plain.closed.clone() {
            let at = usize::from(slot);
            let old = *self.bench.ctx.peek(at);
            self.bench.ctx.poke(at, Ctx { generation: 0xffff, ..old });
            self.plain.sides.get_mut(&slot).expect("closed").generation = 0xffff;
        }
    }
}

/// A close is asked for, of the QP whose frame `ack_take` has in work.
fn in_work(i: &Inputs) -> bool {
    i.qp_valid && i.qp_op == CLOSE && i.work_valid && i.work_qp == i.qp_qpn.slot()
}

fn random(sizes: &Sizes, seed: u64, by_dest: bool) -> Result<(), Mismatch> {
    let mut world = World::new(sizes, seed, by_dest);
    for clock in 0..40_000_u64 {
        if clock == 9_999 {
            world.reset();
        }
        let phase = clock % 5_000;
        let (opens, arrive) = if phase < 2_500 { (80, 5) } else { (10, 30) };
        // Ageing changes memory words past the port, so only while no request is under way.
        if clock % 1_000 < 900 {
            world.draw(arrive, opens);
        } else if clock % 1_000 == 999 && !world.busy() {
            world.age();
        }
        world.clock([0, 25, 75, 100][(clock / 50 % 4) as usize])?;
    }
    // Of 256 QPs to four destinations the last one is seldom closed.
    let small = by_dest && world.plain.qps == 16;
    for what in ["found", "not found", "full", "reused", "wrapped", "group", "post refused"]
        .into_iter()
        .chain(["close of none refused", "drained", "freed", "marked", "not marked", "failed"])
        .chain(["closed", "pressed", "held", "other"])
        .chain(["group ends", "kept by the receiving side"].into_iter().filter(|_| small))
    {
        assert!(world.plain.counts.get(what).is_some_and(|n| *n > 3), "{what} is rare: {seed}");
    }
    Ok(())
}

/// QP-1, QP-5, QP-6, SCH-1: every request against the plain table.
#[test]
fn random_requests_agree() -> Result<(), Mismatch> {
    let reached = Reached::begin("qp_table");
    for seed in 1..=3 {
        random(&Sizes::SMALL, seed, true)?;
        random(&Sizes::SMALL, seed + 3, false)?;
        random(&Sizes::DEFAULT, seed + 6, seed % 2 == 0)?;
    }
    reached.check();
    Ok(())
}

/// SCH-1: a group lives while a QP of either direction is open, also where the last one of one
/// direction closes in the clock in which the first one of the other opens.
#[test]
fn sch_1_receiving_sides_keep_a_group() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::SMALL, 5);
    let base = Inputs { cfg_groups: true, open_ready: true, ..Inputs::default() };
    let first = Inputs { qp_valid: true, qp_op: OPEN, qp_dest: 63, ..base };
    // What is asked; whether a side is created or closed in the clock in which it is taken.
    let ask = |bench: &mut Bench, i: Inputs, [created, closed]: [bool; 2]| {
        bench.clock(&i)?;
        bench.clock(&Inputs {
            rx_created_valid: created,
            rx_created_dest: 63,
            rx_closed_valid: closed,
            rx_closed_dest: 63,
            ..i
        })?;
        let out = bench.clock(&base)?;
        let opens = out.open_valid;
        let out = if opens { bench.clock(&base)? } else { out };
        Ok::<_, Mismatch>((opens, out.qp_rsp_qpn))
    };
    let through = |bench: &mut Bench, qpn: Qpn, sides: [bool; 2]| {
        let done = Inputs { done_valid: true, done_qp: qpn.slot(), ..base };
        ask(bench, done, [false; 2])?;
        let close = Inputs { qp_valid: true, qp_op: CLOSE, qp_qpn: qpn, ..base };
        ask(bench, close, sides).map(|_| ())
    };
    // A side that is there before any QP does not begin the group in window.
    let (begins, qpn) = ask(&mut bench, first, [true, false])?;
    assert!(begins);
    through(&mut bench, qpn, [false; 2])?;
    let (begins, qpn) = ask(&mut bench, first, [false; 2])?;
    assert!(!begins, "the receiving side keeps it");
    // The last side closes as the QP does, and as the next one opens.
    through(&mut bench, qpn, [false, true])?;
    let (begins, qpn) = ask(&mut bench, first, [false; 2])?;
    assert!(begins, "both ended in one clock");
    through(&mut bench, qpn, [true, false])?;
    let (begins, qpn) = ask(&mut bench, first, [false, true])?;
    assert!(begins, "the side goes before the QP that opens");
    through(&mut bench, qpn, [true, true])?;
    let (begins, _) = ask(&mut bench, first, [false; 2])?;
    assert!(begins, "a side that came and went");
    Ok(())
}

/// QP-5: the generation goes up at each open, of each slot by itself, and comes round.
#[test]
fn generations_wrap() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes { qps: 2, ..Sizes::SMALL }, 9);
    let base = Inputs { cfg_groups: true, open_ready: true, ..Inputs::default() };
    let ask = |bench: &mut Bench, i: Inputs| -> Result<Outputs, Mismatch> {
        bench.clock(&i)?;
        bench.clock(&i)?;
        loop {
            let out = bench.clock(&base)?;
            if out.qp_rsp_valid || i.done_valid {
                return Ok(out);
            }
        }
    };
    let open = Inputs { qp_valid: true, qp_op: OPEN, ..base };
    let mut aged = 0_u16;
    for n in 0..4_000_u32 {
        if n == 2_000 {
            aged = 0xffff - 1_500;
            for slot in 0..2 {
                let old = *bench.ctx.peek(slot);
                bench.ctx.poke(slot, Ctx { generation: old.generation + aged, ..old });
            }
        }
        let qpn = ask(&mut bench, open)?.qp_rsp_qpn;
        // The slot closed longest ago: two slots in turn.
        let generation = ((n / 2 + 1) as u16).wrapping_add(aged);
        assert_eq!(qpn, Qpn::new(generation, (n % 2) as u8));
        ask(&mut bench, Inputs { done_valid: true, done_qp: qpn.slot(), ..base })?;
        let close = Inputs { qp_valid: true, qp_op: CLOSE, qp_qpn: qpn, ..base };
        assert!(ask(&mut bench, close)?.qp_rsp_ok);
    }
    Ok(())
}
