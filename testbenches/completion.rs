//! `completion`: model and RTL get the same events and must agree on every clock.
//!
//! The oracle keeps a list of messages for each QP and says what each event makes; every byte of
//! an entry comes from `CqeEntry::to_bytes`.

use std::collections::{HashMap, VecDeque};

use rtl_model::completion::{Entry, Inputs, List, Message, Outputs, Regs};
use rtl_model::host_interface::CqeEntry;
use rtl_model::ram_1r1w::Ram;
use rtl_model::types::{Cqe, Psn, Qpn, Refuse};
use testbenches::{Late, Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Two places of the queue between which every bit of an address changes.
const BASES: [u64; 2] = [0x0123_4567_89ab_cde0, 0xfedc_ba98_7654_3200];

/// Both sides and their memories, which start with random contents.
struct Bench {
    pair: Lockstep<Regs>,
    cmsg: Ram<Message>,
    cqp: Ram<List>,
    fl: Ram<Entry>,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "memories");
        let mut bench = Self {
            pair: Lockstep::new("completion", sizes, Start::Random(seed as u32)).expect("builds"),
            cmsg: Ram::new(sizes.msgs as usize),
            cqp: Ram::new(sizes.qps as usize),
            fl: Ram::new(sizes.msgs as usize),
        };
        bench.cmsg.randomize(&mut rng);
        bench.cqp.randomize(&mut rng);
        bench.fl.randomize(&mut rng);
        bench
    }

    fn clock(&mut self, i: &Inputs) -> Result<Outputs, Mismatch> {
        let out = self.pair.clock(&Inputs {
            cmsg_rdata: self.cmsg.rdata,
            cqp_rdata: self.cqp.rdata,
            fl_rdata: self.fl.rdata,
            ..*i
        })?;
        if out.cmsg_re {
            self.cmsg.read(out.cmsg_raddr);
        }
        if out.cmsg_we {
            self.cmsg.write(out.cmsg_waddr, out.cmsg_wdata);
        }
        if out.cqp_re {
            self.cqp.read(out.cqp_raddr);
        }
        if out.cqp_we {
            self.cqp.write(out.cqp_waddr, out.cqp_wdata);
        }
        if out.fl_re {
            self.fl.read(out.fl_raddr);
        }
        if out.fl_we {
            self.fl.write(out.fl_waddr, out.fl_wdata);
        }
        Ok(out)
    }
}

fn bytes(out: &Outputs) -> [u8; 32] {
    let mut bytes = [0; 32];
    out.cqe_data.to_bytes(&mut bytes);
    bytes
}

/// CPL-1.
#[test]
fn cover() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::SMALL, 1);
    for row in Table::read("completion/cover.txt") {
        // Both entries are taken as they come.
        let msg_ready = bench.pair.regs().msg_valid && bench.pair.regs().msg < 2;
        let out = bench.clock(&Inputs {
            msg_ready,
            post_done_valid: row.bit("post"),
            post_done_open: row.bit("open"),
            post_done_qp: 3,
            post_done_qpn: Qpn(0x103),
            post_done_msg: row.dec("msg") as u16,
            sent_valid: row.bit("sent"),
            sent_qp: 3,
            sent_msg: row.dec("s_msg") as u16,
            sent_slot: row.hex("s_psn") as u16 & 0x3ff,
            sent_psn: Psn(row.hex("s_psn") as u32),
            cover_valid: row.bit("cover"),
            cover_qp: 3,
            cover_cum: Psn(row.hex("cum") as u32),
            cqe_ready: row.bit("cqe_ready"),
            final_ready: true,
            done_ready: true,
            cfg_cq_base: 0x1000,
            cfg_cq_log2: 1,
            ..Inputs::default()
        })?;
        row.expect("post_r", u8::from(out.post_done_ready));
        row.expect("sent_r", u8::from(out.sent_ready));
        row.expect("cover_r", u8::from(out.cover_ready));
        row.expect("cqe", u8::from(out.cqe_valid));
        let entry = CqeEntry::from_bytes(&bytes(&out)).expect("an entry");
        row.expect("kind", format!("{:?}", entry.kind));
        row.expect("phase", u8::from(entry.phase));
        row.expect("addr", format!("{:x}", out.cqe_addr));
        row.expect("final", u8::from(out.final_valid));
        // The slots are the low bits of the PSNs.
        row.expect("f_slot", format!("{:x}", out.final_slot));
        row.expect("done", u8::from(out.done_valid));
    }
    Ok(())
}

/// Case 11, CPL-1: two messages whose entries, slots and QPs all wait for 0 to 5 clocks until their
/// partner takes them are each told once.
#[test]
fn case_11_completions_count_once_whatever_waits() -> Result<(), Mismatch> {
    for low in 0..=5 {
        let mut bench = Bench::new(&Sizes::SMALL, 1);
        let [mut cqe, mut last, mut done] = [(); 3].map(|()| Late::by(low));
        let (mut step, mut kinds, mut told) = (0, Vec::new(), [0; 3]);
        for _ in 0..100 {
            let regs = bench.pair.regs();
            let i = Inputs {
                msg_ready: regs.msg_valid && regs.msg < 2,
                post_done_valid: step < 2,
                post_done_open: step == 0,
                post_done_qp: 3,
                post_done_qpn: Qpn(0x103),
                post_done_msg: step,
                sent_valid: step == 2 || step == 3,
                sent_qp: 3,
                sent_msg: step & 1,
                sent_slot: step & 1,
                sent_psn: Psn(u32::from(step & 1)),
                cover_valid: step == 4,
                cover_qp: 3,
                cover_cum: Psn(1),
                cqe_ready: cqe.ready(regs.cqe_valid),
                final_ready: last.ready(regs.final_valid),
                done_ready: done.ready(regs.done_valid),
                cfg_cq_base: 0x1000,
                cfg_cq_log2: 3,
                ..Inputs::default()
            };
            let out = bench.clock(&i)?;
            let takes = [out.post_done_ready, out.sent_ready, out.cover_ready];
            let offers = [i.post_done_valid, i.sent_valid, i.cover_valid];
            step += u16::from((0..3).any(|n| offers[n] && takes[n]));
            if i.cqe_ready {
                kinds.push(CqeEntry::from_bytes(&bytes(&out)).expect("an entry").kind);
            }
            told[0] += u32::from(out.log_valid);
            told[1] += u32::from(i.final_ready);
            told[2] += u32::from(i.done_ready);
        }
        assert_eq!((step, kinds), (5, vec![Cqe::Send, Cqe::Send, Cqe::Wqe, Cqe::Wqe]), "{low}");
        assert_eq!(told, [4, 2, 2], "logged, slots and QPs after {low} clocks");
    }
    Ok(())
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Posted {
    entry: CqeEntry,
    msg: u16,
    last: Option<Psn>,
    /// Of its last packet.
    slot: u16,
}

/// A QP as the partners see it.
#[derive(Clone, Debug, Default)]
struct Side {
    qpn: Qpn,
    dest: u8,
    messages: VecDeque<Posted>,
    /// The next PSN.
    next: Psn,
    posted: u16,
}

/// Distances of a cover from a last PSN at which its answer changes, and their neighbours.
const AROUND: [i32; 7] = [-1, 0, 1, -1, 0, -0x80_0000, 0x7f_ffff];
/// PSNs that a QP starts with.
const STARTS: [u32; 4] = [0, 0xff_fff0, 0x7f_fff0, 0xff_ffff];
/// Packets of a message.
const PACKETS: [u32; 5] = [1, 1, 2, 3, 17];

struct World {
    bench: Bench,
    rng: Rng,
    i: Inputs,
    sides: Vec<Side>,
    /// The next message's post opens its QP again.
    reopens: Vec<bool>,
    /// Free entries, longest free first.
    free: VecDeque<u16>,
    /// The entry taken for the next post.
    held: Option<u16>,
    /// Clocks without an entry at hand though one is free.
    without: u32,
    /// Messages completed by the cover in work.
    completed: u32,
    /// A message was forgotten in the clock before.
    forgot: bool,
    /// What the event of the clock before must have made.
    made: Option<CqeEntry>,
    /// Partners that must be told of a message: the slot of its last packet, its QP, its entry.
    finals: VecDeque<u16>,
    dones: VecDeque<u8>,
    lefts: VecDeque<u16>,
    produced: u64,
    counts: HashMap<&'static str, u32>,
}

impl World {
    fn new(sizes: &Sizes, seed: u64, log2: u8) -> Self {
        let mut rng = Rng::new(seed, "completion");
        let mut lives = vec![Side::default(); sizes.qps as usize];
        for side in &mut lives {
            side.next = Psn(rng.pick(&STARTS));
        }
        Self {
            bench: Bench::new(sizes, seed),
            i: Inputs {
                cfg_cq_base: BASES[seed as usize % 2],
                cfg_cq_log2: log2,
                ..Inputs::default()
            },
            rng,
            reopens: vec![true; lives.len()],
            sides: lives,
            free: (0..sizes.msgs as u16).collect(),
            held: None,
            without: 0,
            completed: 0,
            forgot: false,
            made: None,
            finals: VecDeque::new(),
            dones: VecDeque::new(),
            lefts: VecDeque::new(),
            produced: 0,
            counts: HashMap::new(),
        }
    }

    fn reset(&mut self) {
        self.bench.pair.reset().expect("resets");
        for side in &mut self.sides {
            side.messages.clear();
        }
        self.reopens.fill(true);
        self.free = (0..self.bench.cmsg.depth() as u16).collect();
        self.held = None;
        self.without = 0;
        self.completed = 0;
        self.forgot = false;
        self.made = None;
        self.finals.clear();
        self.dones.clear();
        self.lefts.clear();
        self.produced = 0;
        let Inputs { cfg_cq_base, cfg_cq_log2, .. } = self.i;
        self.i = Inputs { cfg_cq_base, cfg_cq_log2, ..Inputs::default() };
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Events that wait stay; new ones are drawn.
    fn draw(&mut self, posts: u64, covers: u64) {
        let qps = self.sides.len() as u64;
        // Few QPs, so that each has several messages.
        let busy = self.rng.below(4.min(qps)) as u8;
        let any = self.rng.below(qps) as u8;
        let qp = if self.rng.percent(90) { busy } else { any };
        let at = usize::from(qp);
        // A QP that is being forgotten has no post and nothing sent.
        let ends = self.i.cover_valid && self.i.cover_forget && self.i.cover_qp == qp;
        if !self.i.post_done_valid
            && !ends
            && self.rng.percent(posts)
            && let Some(msg) = self.held.take()
        {
            let side = &mut self.sides[at];
            // A QP without messages may have been closed and opened again.
            let open = self.reopens[at] || side.messages.is_empty() && self.rng.percent(50);
            if open {
                side.qpn = Qpn::new(side.qpn.generation().wrapping_add(1), qp);
                side.dest = self.rng.below(64) as u8;
                side.posted = 0;
            }
            self.reopens[at] = false;
            self.i.post_done_valid = true;
            self.i.post_done_qp = qp;
            self.i.post_done_qpn = side.qpn;
            self.i.post_done_dest = side.dest;
            self.i.post_done_open = open;
            self.i.post_done_msg = msg;
            self.i.post_done_len = self.rng.bits() as u32 & 0x7fff_ffff;
            self.i.post_done_msn = side.posted;
            self.i.post_done_cookie = self.rng.bits();
            side.posted = side.posted.wrapping_add(1);
        }
        if !self.i.sent_valid && !ends && self.rng.percent(30) {
            let unsent = self.sides[at].messages.iter().find(|m| m.last.is_none());
            // Also a message whose post waits: the post goes first.
            let posting = self.i.post_done_valid && self.i.post_done_qp == qp;
            let posting = posting.then_some(self.i.post_done_msg);
            if let Some(msg) = unsent.map(|m| m.msg).or(posting) {
                let packets = self.rng.pick(&PACKETS);
                let side = &mut self.sides[at];
                self.i.sent_valid = true;
                self.i.sent_qp = qp;
                self.i.sent_msg = msg;
                self.i.sent_psn = side.next.plus(packets - 1);
                self.i.sent_slot = self.i.sent_psn.0 as u16 & 0x3ff ^ msg;
                side.next = side.next.plus(packets);
            }
        }
        if !self.i.cover_valid && self.rng.percent(covers) && !self.reopens[at] {
            let side = &self.sides[at];
            let lasts: Vec<Psn> = side.messages.iter().filter_map(|m| m.last).collect();
            let by = self.rng.pick(&AROUND);
            let near = &lasts[..lasts.len().min(if self.rng.percent(60) { 1 } else { 4 })];
            let target = if near.is_empty() { side.next.minus(1) } else { self.rng.pick(near) };
            self.i.cover_valid = true;
            self.i.cover_qp = qp;
            self.i.cover_cum = target.plus(by.cast_unsigned());
            self.i.cover_forget = self.rng.percent(12);
        }
        if !self.i.comp_valid && self.rng.percent(10) {
            self.i.comp_valid = true;
            self.i.comp_qpn = Qpn(self.rng.bits() as u32 & 0xff_ffff);
            self.i.comp_msn = self.rng.bits() as u16;
            self.i.comp_len = self.rng.bits() as u32 & 0x7fff_ffff;
            self.i.comp_dest = self.rng.below(64) as u8;
        }
        if !self.i.err_valid && self.rng.percent(10) {
            self.i.err_valid = true;
            self.i.err_code = self.rng.pick(&[Refuse::Size, Refuse::Reserved, Refuse::MsgFull]);
            self.i.err_cookie = self.rng.bits();
            self.i.err_qpn = Qpn(self.rng.bits() as u32 & 0xff_ffff);
            self.i.err_len = self.rng.bits() as u32;
        }
    }

    /// The oldest message of the QP that the cover names, if the cover completes it.
    fn covered(&self) -> Option<Posted> {
        let side = &self.sides[usize::from(self.i.cover_qp)];
        let head = side.messages.front().copied()?;
        let past = (self.i.cover_cum.0.wrapping_sub(head.last?.0)) & 0xff_ffff;
        (past < 0x80_0000).then_some(head)
    }

    /// An entry is new: it is what the last event made, or the cover's oldest message.
    fn entry(&mut self, out: &Outputs) {
        let mut want = self.made.take().unwrap_or_else(|| {
            let head = self.covered().expect("a message that the cover completes");
            let qp = self.i.cover_qp;
            self.sides[usize::from(qp)].messages.pop_front();
            self.finals.push_back(head.slot);
            self.dones.push_back(qp);
            self.lefts.push_back(head.msg);
            self.free.push_back(head.msg);
            self.completed += 1;
            CqeEntry { kind: Cqe::Wqe, ..head.entry }
        });
        let entries = 1 << self.i.cfg_cq_log2;
        let lap = self.produced / entries;
        want.phase = lap.is_multiple_of(2);
        assert_eq!(bytes(out), want.to_bytes(), "entry {}", self.produced);
        let offset = 32 * (self.produced % entries);
        assert_eq!(out.cqe_addr, self.i.cfg_cq_base.wrapping_add(offset));
        let log = (out.log_kind, out.log_qpn, out.log_msn, out.log_len);
        assert_eq!(log, (want.kind, want.qpn, want.msn, want.length));
        self.produced += 1;
        if self.produced.is_multiple_of(entries) {
            self.count("end of the ring");
        }
    }

    /// `replay_store` and `qp_table` are told of each message once, in order.
    fn partners(&mut self, i: &Inputs, out: &Outputs) {
        let final_now = self.finals.front().copied();
        assert_eq!(out.final_valid.then_some(out.final_slot), final_now);
        assert_eq!(out.left_valid.then_some(out.left_msg), self.lefts.pop_front());
        if i.final_ready {
            self.finals.pop_front();
        }
        assert_eq!(out.done_valid.then_some(out.done_qp), self.dones.front().copied());
        if i.done_ready {
            self.dones.pop_front();
        }
    }

    /// Events that were taken in this clock.
    fn events(&mut self, i: &Inputs, out: &Outputs) {
        if i.post_done_valid && out.post_done_ready {
            let entry = CqeEntry {
                msn: i.post_done_msn,
                qpn: i.post_done_qpn,
                length: i.post_done_len,
                dest: i.post_done_dest,
                cookie: i.post_done_cookie,
                ..CqeEntry::default()
            };
            let posted = Posted { entry, msg: i.post_done_msg, last: None, slot: 0 };
            self.sides[usize::from(i.post_done_qp)].messages.push_back(posted);
            self.i.post_done_valid = false;
        }
        if i.sent_valid && out.sent_ready {
            let messages = &mut self.sides[usize::from(i.sent_qp)].messages;
            let posted = messages.iter_mut().find(|m| m.last.is_none()).expect("posted before");
            assert_eq!(posted.msg, i.sent_msg);
            posted.last = Some(i.sent_psn);
            posted.slot = i.sent_slot;
            self.made = Some(CqeEntry { kind: Cqe::Send, ..posted.entry });
            self.i.sent_valid = false;
        }
        if i.cover_valid && out.cover_ready {
            assert!(self.covered().is_none(), "a message was left");
            if i.cover_forget {
                let at = usize::from(i.cover_qp);
                assert!(self.sides[at].messages.is_empty(), "a message was not forgotten");
                self.reopens[at] = true;
                self.count("forgets");
            }
            self.count(match self.completed {
                0 => "covers nothing",
                1 => "covers one",
                _ => "covers several",
            });
            self.completed = 0;
            self.i.cover_valid = false;
        }
        if i.comp_valid && out.comp_ready {
            self.made = Some(CqeEntry {
                kind: Cqe::Recv,
                msn: i.comp_msn,
                qpn: i.comp_qpn,
                length: i.comp_len,
                dest: i.comp_dest,
                ..CqeEntry::default()
            });
            self.i.comp_valid = false;
        }
        if i.err_valid && out.err_ready {
            self.made = Some(CqeEntry {
                kind: Cqe::Error,
                code: i.err_code,
                qpn: i.err_qpn,
                length: i.err_len,
                cookie: i.err_cookie,
                ..CqeEntry::default()
            });
            self.i.err_valid = false;
        }
    }

    /// QP-6: the cover's oldest message is gone, and its slot if its last packet is covered.
    fn forget(&mut self) {
        let covered = self.covered();
        let qp = self.i.cover_qp;
        let head = self.sides[usize::from(qp)].messages.pop_front().expect("a message");
        if let Some(head) = covered {
            self.finals.push_back(head.slot);
            self.count("forgotten with a slot");
        }
        self.lefts.push_back(head.msg);
        self.free.push_back(head.msg);
        self.count("forgotten");
    }

    fn clock(&mut self, ready: u64) -> Result<(), Mismatch> {
        if self.forgot {
            self.forget();
        }
        let regs = self.bench.pair.regs();
        let entry = regs.msg_valid.then_some(regs.msg);
        if entry.is_some() {
            assert_eq!(entry, self.free.front().copied(), "the entry free for longest");
            self.without = 0;
        } else if !self.free.is_empty() {
            self.without += 1;
            assert!(self.without < 5, "a free entry is at hand in time");
        } else {
            self.count("no entry");
        }
        self.i.cqe_ready = self.rng.percent(ready);
        self.i.final_ready = self.rng.percent(ready);
        self.i.done_ready = self.rng.percent(ready);
        self.i.msg_ready = entry.is_some() && self.held.is_none() && self.rng.percent(50);
        let i = self.i;
        let out = self.bench.clock(&i)?;
        self.forgot = out.fl_we && i.cover_forget;
        if i.msg_ready {
            self.held = self.free.pop_front();
        }
        if out.log_valid {
            self.entry(&out);
        }
        assert!(self.made.is_none(), "an entry is missing");
        self.partners(&i, &out);
        self.events(&i, &out);
        Ok(())
    }
}

fn random(sizes: &Sizes, seed: u64, log2: u8) -> Result<(), Mismatch> {
    let mut world = World::new(sizes, seed, log2);
    for clock in 0..20_000_u64 {
        if clock == 11_111 {
            world.reset();
        }
        let (posts, covers) = if clock % 10_000 < 6_000 { (60, 2) } else { (10, 60) };
        world.draw(posts, covers);
        // A while with partners that take nothing.
        let stuck = clock % 2_000 < 50;
        world.clock(if stuck { 0 } else { [25, 75, 100][(clock / 500 % 3) as usize] })?;
    }
    for what in ["covers nothing", "covers one", "covers several", "end of the ring", "no entry"]
        .into_iter()
        .chain(["forgets", "forgotten", "forgotten with a slot"])
    {
        // The lists of the default build are so long that few are forgotten.
        let rare = what == "forgets" && sizes.msgs > 16;
        assert!(rare || world.counts.get(what).is_some_and(|n| *n > 3), "{what} is rare: {seed}");
    }
    Ok(())
}

/// CPL-1, QP-6: every entry, in every order of events.
#[test]
fn random_events_agree() -> Result<(), Mismatch> {
    let reached = Reached::begin("completion");
    for seed in 1..=3 {
        random(&Sizes::SMALL, seed, seed as u8 - 1)?;
        random(&Sizes::DEFAULT, seed + 3, 5)?;
    }
    reached.check();
    Ok(())
}
