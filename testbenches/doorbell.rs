//! `doorbell`: model and RTL get the same host writes and must agree on every clock.
//!
//! The oracle is the table of refusals written down a second time, over bytes, and the clock in
//! which each write was taken.

use std::collections::BTreeMap;

use rtl_model::doorbell::{Inputs, Outputs, Regs};
use rtl_model::host_interface::Wqe;
use rtl_model::types::{Qpn, Refuse, Word};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

fn after_reset(seed: u64) -> Lockstep<Regs> {
    Lockstep::new("doorbell", &Sizes::DEFAULT, Start::Random(seed as u32)).expect("builds")
}

/// QP-3, QP-5.
#[test]
fn ring_after_15() -> Result<(), Mismatch> {
    let mut pair = after_reset(1);
    for row in Table::read("doorbell/ring_after_15.txt") {
        let out = pair.clock(&Inputs {
            page_valid: row.bit("valid"),
            page_addr: row.hex("addr"),
            page_len: row.dec("len") as u16,
            page_full: row.bit("full"),
            page_data: Word::from_bytes(&row.bytes("wqe")),
            qp_ready: row.bit("qp_ready"),
            qp_rsp_valid: row.bit("rsp"),
            qp_rsp_ok: row.bit("ok"),
            qp_rsp_qpn: Qpn(7),
            qp_rsp_msn: 2,
            msg_valid: true,
            msg: 5,
            post_sched_ready: row.bit("sched"),
            post_done_ready: row.bit("done"),
            err_ready: row.bit("err"),
            close_ready: row.bit("close"),
            cfg_peer_valid: 1,
            ..Inputs::default()
        })?;
        row.expect("page_ready", u8::from(out.page_ready));
        row.expect("csr", u8::from(out.csr_valid));
        row.expect("qp", u8::from(out.qp_valid));
        row.expect("op", out.qp_op);
        row.expect("sched_v", u8::from(out.post_sched_valid));
        row.expect("done_v", u8::from(out.post_done_valid));
        row.expect("err_v", u8::from(out.err_valid));
        row.expect("code", format!("{:?}", out.err_code));
        row.expect("close_v", u8::from(out.close_valid));
        row.expect("refuse", u8::from(out.refuse_valid));
        row.expect("ring", u8::from(out.ring));
        if out.csr_valid {
            assert_eq!((out.csr_index, out.csr_data), (0x1ff, 0x0123_4567_89ab_cdef));
        }
        if out.post_sched_valid || out.post_done_valid {
            assert_eq!((out.post_qpn, out.post_msg, out.post_msn), (Qpn(7), 5, 2));
        }
    }
    Ok(())
}

/// A host write.
#[derive(Clone, Debug)]
struct Page {
    addr: u64,
    len: u16,
    full: bool,
    bytes: [u8; 64],
}

/// What the bus shows while there is no write.
const NO_PAGE: Page = Page { addr: 0, len: 0, full: false, bytes: [0; 64] };

/// What is to come of a write, as far as the host can tell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Register,
    Ask(u8),
    CloseReceiver,
    Refused(Refuse),
    /// Refused outside the doorbell page: no error completion.
    Counted,
}

/// The table of `docs/host-interface.md`, over the bytes. `peers` as in the register.
fn fate(page: &Page, peers: u64, entry: bool) -> Fate {
    let at = page.addr & 0xffff;
    let whole = |bytes| page.full && page.len == bytes && at.is_multiple_of(u64::from(bytes));
    match at >> 12 {
        0 if whole(8) => return Fate::Register,
        1 if whole(64) => {}
        1 => return Fate::Refused(Refuse::Size),
        _ => return Fate::Counted,
    }
    let b = &page.bytes;
    if b[0] == 0 || b[0] > 3 {
        return Fate::Refused(Refuse::Opcode);
    }
    let zero: Vec<usize> = match (b[0], b[1] & 1) {
        (1, 0) => [2, 3, 7, 9, 10, 11, 36, 37, 38, 39].into_iter().chain(48..64).collect(),
        (1, _) => (2..8).chain(9..12).chain(36..40).chain(48..64).collect(),
        _ => [1, 2, 3, 7].into_iter().chain(8..40).chain(48..64).collect(),
    };
    if b[1] & 0xfe != 0 || zero.into_iter().any(|n| b[n] != 0) {
        return Fate::Refused(Refuse::Reserved);
    }
    match b[0] {
        2 => Fate::Ask(2),
        3 => Fate::CloseReceiver,
        _ if b[8] >= 64 || peers >> b[8] & 1 == 0 => Fate::Refused(Refuse::Peer),
        _ if b[15] & 0x80 != 0 => Fate::Refused(Refuse::Length),
        _ if !entry => Fate::Refused(Refuse::MsgFull),
        _ => Fate::Ask(1 - b[1]),
    }
}

/// Lengths at the border, bytes of a message.
const LENGTHS: [u32; 7] = [0, 1, 4_096, 0x7fff_fffe, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
/// Offsets in the BAR at which pages begin and end.
const OFFSETS: [u64; 10] = [0, 8, 0xff8, 0xffc, 0x1000, 0x1004, 0x1040, 0x1fc0, 0x1ff0, 0x2000];

fn draw(rng: &mut Rng) -> Page {
    let wqe = Wqe {
        opcode: rng.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 0, 4, 0x81]),
        open: rng.percent(50),
        qpn: Qpn(rng.bits() as u32 & 0xff_ffff),
        dest: rng.pick(&[0, 1, 63, 0, 1, 63, 62, 64, 255]),
        length: rng.pick(&LENGTHS),
        laddr: rng.bits(),
        raddr: rng.bits(),
        rkey: rng.bits() as u32,
        cookie: rng.bits(),
    };
    let wqe = match wqe.opcode {
        1 if wqe.open && rng.percent(90) => Wqe { qpn: Qpn(0), ..wqe },
        2 | 3 if rng.percent(80) => {
            Wqe { opcode: wqe.opcode, qpn: wqe.qpn, cookie: wqe.cookie, ..Wqe::default() }
        }
        _ => wqe,
    };
    let mut page = Page {
        addr: rng.bits() << 16 | (0x1000 + 64 * rng.below(64)),
        len: 64,
        full: true,
        bytes: wqe.to_bytes(),
    };
    match rng.below(16) {
        0 => page.addr = page.addr & !0xffff | rng.pick(&OFFSETS),
        1 => page.len = 4 * rng.between(1, 64) as u16,
        2 => page.full = false,
        3 => page.bytes[rng.below(64) as usize] ^= 1 << rng.below(8),
        4 | 5 => {
            page.addr = page.addr & !0xffff | rng.below(512) << 3;
            page.len = rng.pick(&[8, 8, 8, 4, 12, 64]);
        }
        6 => rng.fill(&mut page.bytes),
        _ => {}
    }
    page
}

/// Both sides and the partners of the block.
struct World {
    pair: Lockstep<Regs>,
    rng: Rng,
    i: Inputs,
    page: Option<Page>,
    /// What the next write is, where a test wants to say; else it is drawn.
    next: Option<Page>,
    /// The write in work, its fate and the clock in which it was taken.
    work: Option<(Page, Fate, u64)>,
    /// `qp_table` has the question; it answers in so many clocks.
    asked: Option<u64>,
    /// The answer given.
    answer: Option<Inputs>,
    taken: [bool; 2],
    rings: Vec<u64>,
    register: Option<(u16, u64)>,
    refused: Option<Refuse>,
    clock: u64,
    /// In percent: partners are ready.
    ready: u64,
    counts: BTreeMap<String, u32>,
}

impl World {
    fn new(seed: u64, ready: u64) -> Self {
        Self {
            pair: after_reset(seed),
            rng: Rng::new(seed, "doorbell"),
            i: Inputs { cfg_peer_valid: 0x8000_0000_0000_0003, ..Inputs::default() },
            page: None,
            next: None,
            work: None,
            asked: None,
            answer: None,
            taken: [false; 2],
            rings: Vec::new(),
            register: None,
            refused: None,
            clock: 0,
            ready,
            counts: BTreeMap::new(),
        }
    }

    fn reset(&mut self) {
        self.pair.reset().expect("resets");
        self.work = None;
        self.asked = None;
        self.answer = None;
        self.taken = [false; 2];
        self.rings.clear();
        self.register = None;
        self.refused = None;
    }

    fn clock(&mut self, arrive: u64) -> Result<(), Mismatch> {
        let rng = &mut self.rng;
        if self.page.is_none() && (self.next.is_some() || rng.percent(arrive)) {
            self.page = Some(self.next.take().unwrap_or_else(|| draw(rng)));
        }
        let page = self.page.clone().unwrap_or(NO_PAGE);
        self.i.page_valid = self.page.is_some();
        self.i.page_addr = page.addr;
        self.i.page_len = page.len;
        self.i.page_full = page.full;
        self.i.page_data = Word::from_bytes(&page.bytes);
        // An entry that is offered stays; sometimes there is none.
        if !self.i.msg_valid && rng.percent(5) {
            self.i.msg_valid = true;
            self.i.msg = rng.below(1_024) as u16;
        }
        self.i.qp_ready = rng.percent(self.ready);
        self.i.post_sched_ready = rng.percent(self.ready);
        self.i.post_done_ready = rng.percent(self.ready);
        self.i.err_ready = rng.percent(self.ready);
        self.i.close_ready = rng.percent(self.ready);
        self.i.qp_rsp_valid = self.asked == Some(0);
        self.i.qp_rsp_ok = rng.percent(80);
        self.i.qp_rsp_full = rng.percent(40);
        self.i.qp_rsp_failed = rng.percent(40);
        self.i.qp_rsp_qpn = Qpn(rng.bits() as u32 & 0xff_ffff);
        self.i.qp_rsp_group = rng.bits() as u8;
        self.i.qp_rsp_msn = rng.bits() as u16;
        if let Some((page, ..)) = &self.work {
            self.i.qp_rsp_dest = page.bytes[8] & 0x3f;
        }
        let out = self.pair.clock(&self.i)?;
        self.events(&out);
        self.work(&out);
        self.clock += 1;
        Ok(())
    }

    /// Events, which must come in their clock and in no other.
    fn events(&mut self, out: &Outputs) {
        assert_eq!(out.ring, self.rings.contains(&self.clock), "QP-3: clock {}", self.clock);
        self.rings.retain(|at| *at > self.clock);
        let register = out.csr_valid.then_some((out.csr_index, out.csr_data));
        assert_eq!(register, self.register.take());
        let refused = out.refuse_valid.then_some(out.refuse_code);
        assert_eq!(refused, self.refused.take());
        if let Some(code) = refused {
            *self.counts.entry(format!("{code:?}")).or_default() += 1;
        }
    }

    /// The write in work takes its next step.
    fn work(&mut self, out: &Outputs) {
        assert_eq!(out.page_ready, self.work.is_none(), "one write at a time");
        let Some((page, mut fate_now, since)) = self.work.clone() else {
            assert!(!out.qp_valid && !out.post_sched_valid && !out.post_done_valid);
            assert!(!out.err_valid && !out.close_valid);
            if let Some(page) = self.page.take() {
                self.work = Some((page, Fate::Counted, self.clock));
                self.answer = None;
                self.taken = [false; 2];
            }
            return;
        };
        let age = self.clock - since;
        let wqe = Wqe::from_bytes(&page.bytes);
        if age == 1 {
            fate_now = fate(&page, self.i.cfg_peer_valid, self.i.msg_valid);
            self.work = Some((page.clone(), fate_now, since));
            *self.counts.entry(format!("{fate_now:?}")).or_default() += 1;
            match fate_now {
                Fate::Register => {
                    self.register = Some((
                        (page.addr & 0xfff) as u16 / 8,
                        u64::from_le_bytes(page.bytes[..8].try_into().expect("8 bytes")),
                    ));
                    self.work = None;
                }
                Fate::Counted => {
                    self.refused = Some(Refuse::Size);
                    self.work = None;
                }
                Fate::Refused(code) => self.refused = Some(code),
                Fate::Ask(_) | Fate::CloseReceiver => {}
            }
            assert!(!out.qp_valid && !out.err_valid && !out.close_valid);
            return;
        }
        assert_eq!(out.err_valid, matches!(fate_now, Fate::Refused(_)));
        assert_eq!(out.close_valid, fate_now == Fate::CloseReceiver);
        match fate_now {
            Fate::Refused(code) => {
                let blank = code == Refuse::Size;
                let want = if blank { Wqe::default() } else { wqe };
                let got = (out.err_code, out.err_cookie, out.err_qpn, out.err_len);
                assert_eq!(got, (code, want.cookie, want.qpn, want.length));
                if self.i.err_ready {
                    self.work = None;
                }
            }
            Fate::CloseReceiver => {
                assert_eq!(out.close_qpn, wqe.qpn);
                if self.i.close_ready {
                    self.work = None;
                }
            }
            Fate::Ask(op) => self.ask(out, op, &page, &wqe, since),
            Fate::Register | Fate::Counted => unreachable!("ended at the check"),
        }
    }

    fn ask(&mut self, out: &Outputs, op: u8, page: &Page, wqe: &Wqe, since: u64) {
        if let Some(answer) = self.answer {
            assert_eq!(out.post_sched_valid, !self.taken[0]);
            assert_eq!(out.post_done_valid, !self.taken[1]);
            let got = (out.post_qpn, out.post_group, out.post_msn, out.post_msg);
            let want = (answer.qp_rsp_qpn, answer.qp_rsp_group, answer.qp_rsp_msn, answer.msg);
            assert_eq!(got, want);
            let got = Wqe {
                opcode: 1,
                open: out.post_open,
                qpn: wqe.qpn,
                dest: out.post_dest,
                length: out.post_len,
                laddr: out.post_laddr,
                raddr: out.post_raddr,
                rkey: out.post_rkey,
                cookie: out.post_cookie,
            };
            assert_eq!(got, *wqe);
            assert_eq!(out.post_qp, out.post_qpn.slot());
            if !self.taken[0] && self.i.post_sched_ready {
                self.taken[0] = true;
                self.rings.push((since + 15).max(self.clock + 1));
            }
            self.taken[1] |= self.i.post_done_ready;
            if self.taken == [true; 2] {
                self.work = None;
            }
        } else if let Some(left) = self.asked {
            assert!(!out.qp_valid);
            self.asked = left.checked_sub(1);
            if left > 0 {
                assert!(!out.msg_ready);
                return;
            }
            assert_eq!(out.msg_ready, self.i.qp_rsp_ok && op != 2);
            if !self.i.qp_rsp_ok {
                let code = match (self.i.qp_rsp_full, self.i.qp_rsp_failed) {
                    (true, _) => Refuse::QpFull,
                    (_, true) => Refuse::QpError,
                    _ => Refuse::Qp,
                };
                self.refused = Some(code);
                self.work = Some((page.clone(), Fate::Refused(code), since));
            } else if op == 2 {
                self.work = None;
            } else {
                self.answer = Some(self.i);
                self.i.msg_valid = false;
            }
        } else {
            assert!(out.qp_valid);
            assert_eq!((out.qp_op, out.qp_qpn, out.qp_dest), (op, wqe.qpn, wqe.dest & 0x3f));
            if self.i.qp_ready {
                self.asked = Some(if self.ready == 100 { 0 } else { self.rng.below(12) });
            }
        }
    }
}

/// QP-2, QP-3: every fate of a write, with partners that are ready always, often, seldom.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("doorbell");
    for (seed, ready) in [(1, 100), (2, 75), (3, 25), (4, 75)] {
        let mut world = World::new(seed, ready);
        for clock in 0..30_000 {
            if clock == 15_003 {
                world.reset();
            }
            // A while with partners that take nothing.
            world.ready = if (7_000..7_100).contains(&clock) { 0 } else { ready };
            world.clock(if clock % 4_000 < 2_000 { 90 } else { 10 })?;
        }
        assert!(world.counts.values().all(|n| *n > 4), "{:?}", world.counts);
        assert!(world.counts.len() > 14, "{:?}", world.counts);
    }
    reached.check();
    Ok(())
}

fn run(world: &mut World, page: Page) -> Result<Option<Fate>, Mismatch> {
    world.next = Some(page);
    let mut fate = None;
    for _ in 0..20 {
        world.clock(0)?;
        fate = world.work.as_ref().map(|(_, fate, _)| *fate).or(fate);
    }
    Ok(fate)
}

/// QP-2: each bit of a work request is refused or not as the table says, one by one.
#[test]
fn each_reserved_bit_is_refused() -> Result<(), Mismatch> {
    let mut world = World::new(5, 100);
    let mut refused = 0;
    for base in [
        Wqe { opcode: 1, length: 1, ..Wqe::default() },
        Wqe { opcode: 1, length: 1, open: true, ..Wqe::default() },
        Wqe::close_sender(Qpn(0x100)),
        Wqe::close_receiver(Qpn(0x100)),
    ] {
        for bit in 8..512 {
            let mut bytes = base.to_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let fate = run(&mut world, Page { addr: 0x1000, len: 64, full: true, bytes })?;
            refused += u32::from(fate == Some(Fate::Refused(Refuse::Reserved)));
        }
    }
    // flags 7 (8 in a close), 2-3, 7, 9-11, 36-39, 48-63; with OPEN the number; in a close all of
    // dest to rkey. Base 2 without its OPEN bit is a legal post.
    let post = 7 + 16 + 8 + 24 + 32 + 128;
    assert_eq!(refused, post + (post + 24) + 2 * (8 + 16 + 8 + 256 + 128));
    Ok(())
}

/// A write of 1 to 64 DWs: 16 are a work request, 2 a register.
#[test]
fn only_whole_writes_are_taken() -> Result<(), Mismatch> {
    let mut world = World::new(6, 100);
    let bytes = Wqe { opcode: 1, open: true, ..Wqe::default() }.to_bytes();
    for dws in 1..=64 {
        for addr in OFFSETS {
            for full in [true, false] {
                run(&mut world, Page { addr, len: 4 * dws, full, bytes })?;
            }
        }
    }
    let taken = |name: &str| world.counts[name];
    assert_eq!((taken("Ask(0)"), taken("Register")), (3, 3), "{:?}", world.counts);
    Ok(())
}
