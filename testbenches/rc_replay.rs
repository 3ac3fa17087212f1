//! `rc_replay`: model and RTL get the same inputs and must agree on every clock; plain code on PSNs
//! that do not wrap says what retires, what is lost and what each packet is (MSN-4, MSN-7).

use std::collections::{BTreeMap, VecDeque};

use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::rc_pkg::{Entry, Loss, Op, RcWqe, Request, Response, RspKind, Status};
use rtl_model::rc_replay::{Inputs, Outputs, Regs};
use rtl_model::types::Psn;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// PSNs that a connection starts from.
const STARTS: [i64; 5] = [0, 0xff_fffe, 0xff_ffff, 0x7f_fff0, 0x98_7654];

/// The block with its memories and a host that posts.
struct Dut {
    pair: Lockstep<Regs>,
    wqes: Ram<RcWqe>,
    entries: Ram<Entry>,
    tail: usize,
}

impl Dut {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let (mut wqes, mut entries) =
            (Ram::new(sizes.wqes as usize), Ram::new(sizes.packets as usize));
        let mut rng = Rng::new(seed, "memories");
        wqes.randomize(&mut rng);
        entries.randomize(&mut rng);
        let start = Start::Random(seed as u32);
        let pair = Lockstep::new("rc_replay", sizes, start).expect("builds");
        Self { pair, wqes, entries, tail: 0 }
    }

    fn clock(&mut self, i: &Inputs) -> Result<Outputs, Mismatch> {
        let i = Inputs { wqe_rdata: self.wqes.rdata, entry_rdata: self.entries.rdata, ..*i };
        let o = self.pair.clock(&i)?;
        if o.wqe_re {
            self.wqes.read(o.wqe_raddr);
        }
        self.entries.clock(&ram_1r1w::Inputs {
            we: o.entry_we,
            waddr: o.entry_waddr,
            wdata: o.entry_wdata,
            re: o.entry_re,
            raddr: o.entry_raddr,
        });
        Ok(o)
    }

    /// What a host posts lies in its memory from the next clock on.
    fn post(&mut self, wqe: RcWqe) {
        let depth = self.wqes.depth();
        self.wqes.poke(self.tail, wqe);
        self.tail = (self.tail + 1) % depth;
    }
}

fn open(psn: i64, retries: u8, depth: u8, timeout: u32) -> Inputs {
    Inputs {
        open: true,
        cfg_psn: Psn::new(psn as u32),
        cfg_mtu: 8,
        cfg_retries: retries,
        cfg_depth: depth,
        cfg_timeout: timeout,
        tx_ready: true,
        ..Inputs::default()
    }
}

fn answer(kind: RspKind, psn: i64, syndrome: u8) -> Response {
    Response { kind, psn: Psn::new(psn as u32), syndrome, ..Response::default() }
}

/// A packet that may go out: the request, where its payload lies, the last PSN that it takes.
#[derive(Clone, Debug)]
struct Packet {
    wqe: RcWqe,
    offset: u32,
    last_psn: i64,
}

/// What is posted and out, in plain numbers.
struct Plain {
    next_post: i64,
    next: i64,
    acked: i64,
    packets: BTreeMap<i64, Packet>,
    /// READs and ATOMICs out: first and last PSN, whether an ATOMIC.
    waits: VecDeque<(i64, i64, bool)>,
    past: Option<i64>,
    budget: u8,
    retries: u8,
    failed: Option<Status>,
}

impl Plain {
    fn new(psn: i64, budget: u8) -> Self {
        Self {
            next_post: psn,
            next: psn,
            acked: psn,
            packets: BTreeMap::new(),
            waits: VecDeque::new(),
            past: None,
            budget,
            retries: budget,
            failed: None,
        }
    }

    fn post(&mut self, wqe: RcWqe) {
        let psns = i64::from(if wqe.op == Op::Atomic { 1 } else { wqe.len.div_ceil(256).max(1) });
        let last = self.next_post + psns - 1;
        if wqe.op.waits() {
            self.packets.insert(self.next_post, Packet { wqe, offset: 0, last_psn: last });
        } else {
            for n in 0..psns {
                let packet = Packet { wqe, offset: n as u32 * 256, last_psn: self.next_post + n };
                self.packets.insert(self.next_post + n, packet);
            }
        }
        self.next_post = last + 1;
    }

    /// Holds a packet that goes out against what is posted; it may be a READ's rest.
    fn goes(&mut self, tx: &Request, laddr: u64) -> i64 {
        let near =
            (self.acked - 300..self.next + 5000).find(|p| *p & 0xff_ffff == i64::from(tx.psn.0));
        let psn = near.expect("a PSN near those that are out");
        let (first, packet) = self.packets.range(..=psn).next_back().expect("is posted");
        let skip = (psn - first) as u32 * 256;
        assert!(psn <= packet.last_psn && (skip == 0 || packet.wqe.op == Op::Read), "{tx:?}");
        assert!(psn <= self.next, "in order");
        let (wqe, offset) = (&packet.wqe, packet.offset + skip);
        let left = wqe.len - offset;
        let bytes = if wqe.op.waits() { 0 } else { left.min(256) };
        let wanted = Request {
            op: wqe.op,
            first: wqe.op.waits() || offset == 0,
            last: wqe.op.waits() || left <= 256,
            ack_req: tx.ack_req,
            psn: tx.psn,
            raddr: wqe.raddr.wrapping_add(u64::from(offset)),
            len: left,
            bytes: bytes as u16,
            add: wqe.add,
            operand: wqe.operand,
            compare: wqe.compare,
        };
        assert_eq!((*tx, laddr), (wanted, wqe.laddr.wrapping_add(u64::from(offset))));
        if psn == self.next {
            self.next = packet.last_psn + 1;
            if wqe.op.waits() {
                self.waits.push_back((psn, packet.last_psn, wqe.op == Op::Atomic));
            }
        }
        psn
    }

    /// What an answer does: the loss that it shows.
    fn arrives(&mut self, kind: RspKind, psn: i64, syndrome: u8) -> Option<Loss> {
        if self.failed.is_some() || !(self.acked..self.next).contains(&psn) {
            return None;
        }
        let nak = kind == RspKind::Ack && syndrome & 0x60 != 0;
        let arrived = if nak { psn - 1 } else { psn };
        let before = self.acked;
        let mut loss = None;
        let oldest = self.waits.front().copied();
        let due = oldest.map(|(first, ..)| first.max(self.acked));
        let of_kind = oldest.is_some_and(|(_, _, atomic)| atomic == (kind == RspKind::Atomic));
        if kind != RspKind::Ack && due == Some(psn) && of_kind {
            self.acked = psn + 1;
            self.past = None;
            if oldest.is_some_and(|(_, last, _)| last == psn) {
                self.waits.pop_front();
            }
        } else if let Some(due) = due.filter(|due| arrived >= *due) {
            self.acked = due;
            if self.past.is_none_or(|past| arrived <= past) {
                loss = Some(Loss::Implied);
            }
            self.past = Some(arrived);
        } else if kind == RspKind::Ack {
            self.acked = arrived + 1;
            loss = nak.then_some(Loss::Nak);
        }
        if self.acked > before {
            self.retries = self.budget;
        }
        if nak && syndrome != 0x60 {
            self.failed = Some(Status::Remote);
        } else if loss.is_some() {
            self.spend();
        }
        loss
    }

    fn spend(&mut self) {
        match self.retries.checked_sub(1) {
            Some(left) => self.retries = left,
            None => self.failed = Some(Status::Retries),
        }
    }
}

struct Bench {
    dut: Dut,
    plain: Plain,
    rng: Rng,
    posted: VecDeque<u64>,
    issue: bool,
    /// What the next outputs must show.
    loss: Option<Loss>,
    timeout: u32,
    still: u32,
    /// The next request at the port is a new one.
    fresh: bool,
    /// Losses by kind, failures, full stores, shut gates.
    seen: BTreeMap<String, u64>,
    wqes: usize,
}

impl Bench {
    fn post(&mut self) {
        let rng = &mut self.rng;
        let op = rng.pick(&[Op::Send, Op::Write, Op::Read, Op::Atomic]);
        let len = rng.pick(&[0, 1, 255, 256, 257, 512, 1300, 256 * 20]);
        let wqe = RcWqe {
            op,
            add: rng.percent(50),
            signal: rng.percent(50),
            len: if op == Op::Atomic { 8 } else { len },
            laddr: rng.bits(),
            raddr: rng.bits(),
            operand: rng.bits(),
            compare: rng.bits(),
        };
        self.dut.post(wqe);
        self.plain.post(wqe);
        self.posted.push_back(0);
        self.issue = true;
    }

    /// An answer, most often near where something changes.
    fn answer(&mut self) -> (RspKind, i64, u8) {
        let (plain, rng) = (&self.plain, &mut self.rng);
        let oldest = plain.waits.front().copied().unwrap_or((plain.acked, plain.acked, false));
        let due = oldest.0.max(plain.acked);
        let psns = [
            due,
            due,
            due,
            due - 1,
            due + 1,
            oldest.1,
            oldest.1 + 1,
            plain.acked,
            plain.acked - 1,
            plain.next - 1,
            plain.next,
            plain.acked + 0x7f_ffff,
            plain.acked - 0x80_0000,
        ];
        let read = [RspKind::ReadOnly, RspKind::ReadFirst, RspKind::ReadMiddle, RspKind::ReadLast];
        let kind = match rng.below(10) {
            0..4 => RspKind::Ack,
            4..7 => rng.pick(&read),
            _ if oldest.2 => RspKind::Atomic,
            7..9 => rng.pick(&read),
            _ => RspKind::Atomic,
        };
        let syndrome = match rng.below(60) {
            0 => rng.pick(&[0x61, 0x63, 0x20]),
            1..8 => 0x60,
            _ => 0x1f,
        };
        (kind, rng.pick(&psns), if kind == RspKind::Ack { syndrome } else { 0x1f })
    }

    fn clock(&mut self, answers: bool) -> Result<(), Mismatch> {
        let mut i = Inputs { tx_ready: self.rng.percent(70), issued: self.issue, ..open_not() };
        self.issue = false;
        if self.posted.len() < self.wqes && self.rng.percent(20) {
            self.post();
        }
        let mut rx = None;
        if answers && self.rng.percent(12) {
            let (kind, psn, syndrome) = self.answer();
            i.rx_valid = true;
            i.rx = Response { result: self.rng.bits(), ..answer(kind, psn, syndrome) };
            i.rx.msn = Psn::new(self.rng.bits() as u32);
            i.rx.bytes = self.rng.below(4097) as u16;
            rx = Some((kind, psn, syndrome));
        }
        let before = self.plain.acked;
        let regs = self.dut.pair.regs().clone();
        let o = self.dut.clock(&i)?;
        self.check(&regs, &o);
        if o.tx_valid && self.fresh && self.plain.failed.is_none() {
            self.plain.goes(&o.tx, o.tx_laddr);
        }
        self.fresh = !o.tx_valid || i.tx_ready;
        if let Some((kind, psn, syndrome)) = rx {
            self.loss = self.plain.arrives(kind, psn, syndrome);
        }
        let news = self.plain.acked > before || self.loss.is_some();
        self.still = if news || o.tx_valid { 0 } else { self.still + 1 };
        Ok(())
    }

    /// Holds registers and outputs of a clock, before what arrives in it, against the plain numbers.
    fn check(&mut self, regs: &Regs, o: &Outputs) {
        if o.loss_valid && o.loss == Loss::Timeout {
            assert!(self.still > self.timeout, "after {} clocks", self.still);
            self.plain.spend();
            self.still = 0;
        } else {
            assert_eq!(o.loss_valid.then_some(o.loss), self.loss);
        }
        self.loss = None;
        assert_eq!(i64::from(regs.acked.0), self.plain.acked & 0xff_ffff, "retired");
        assert_eq!(regs.failed, self.plain.failed.is_some());
        if let Some(status) = self.plain.failed.filter(|_| o.fail_valid) {
            assert_eq!(o.fail_status, status);
        } else if !regs.failed {
            assert_eq!(regs.retries, self.plain.retries, "retries");
        }
        if o.freed {
            self.posted.pop_front();
        }
        let mut saw = |what: &str, so: bool| {
            *self.seen.entry(what.to_owned()).or_default() += u64::from(so);
        };
        if o.loss_valid {
            saw(&format!("{:?}", o.loss), true);
        }
        if o.fail_valid {
            saw(&format!("{:?}", o.fail_status), true);
        }
        saw("stray", o.stray);
        saw("full", o.stall_full);
        saw("depth", o.stall_depth);
    }

    fn open(&mut self, sizes: &Sizes) -> Result<(), Mismatch> {
        // What waits for the wire goes first.
        while self.dut.pair.regs().tx_valid {
            self.dut.clock(&Inputs { tx_ready: true, ..Inputs::default() })?;
        }
        let rng = &mut self.rng;
        let psn = rng.pick(&STARTS);
        let budget = rng.pick(&[0, 1, 3, 7, 7]);
        let depth = rng.between(1, u64::from(sizes.reads)) as u8;
        self.timeout = rng.pick(&[0, 1, 50, 200]);
        self.plain = Plain::new(psn, budget);
        (self.dut.tail, self.still, self.loss, self.issue) = (0, 0, None, false);
        self.fresh = true;
        self.posted.clear();
        self.dut.clock(&open(psn, budget, depth, self.timeout)).map(|_| ())
    }
}

/// Levels that hold their value while nothing is opened.
fn open_not() -> Inputs {
    Inputs { open: false, ..open(0, 7, 1, 0) }
}

/// MSN-4, MSN-7, in both sizes: every answer near where it changes something, a wire that takes its
/// time, timeouts, failures, a reset on the way.
#[test]
fn msn_4_msn_7_random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("rc_replay");
    let mut seen = BTreeMap::new();
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::DEFAULT), (3, Sizes::SMALL)] {
        let mut bench = Bench {
            dut: Dut::new(&sizes, seed),
            plain: Plain::new(0, 7),
            rng: Rng::new(seed, "rc_replay"),
            posted: VecDeque::new(),
            issue: false,
            loss: None,
            timeout: 0,
            still: 0,
            fresh: true,
            seen: std::mem::take(&mut seen),
            wqes: sizes.wqes as usize,
        };
        for round in 0..60 {
            if round == 30 {
                bench.dut.pair.reset().expect("resets");
            }
            bench.open(&sizes)?;
            let quiet = bench.rng.percent(20);
            for clock in 0..800 {
                bench.clock(!quiet && clock > 20)?;
            }
        }
        seen = bench.seen;
    }
    // Three losses, two failures, strays, the store full, the depth reached.
    assert!(seen.len() == 8 && seen.values().all(|n| *n > 0), "{seen:?}");
    reached.check();
    Ok(())
}

/// MSN-4: acknowledgements at, before and past a READ; what goes again, from where, for how many
/// retries.
#[test]
fn msn_4_past_a_read() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 4);
    dut.clock(&open(0xff_fffe, 7, 4, 0))?;
    // SEND, READ of three packets, SEND: PSNs fffffe, ffffff to 000001, 000002.
    for (op, len) in [(Op::Send, 10), (Op::Read, 700), (Op::Send, 10)] {
        dut.post(RcWqe { op, len, raddr: 0x1000, laddr: 0x8000, ..RcWqe::default() });
        dut.clock(&Inputs { issued: true, tx_ready: true, ..Inputs::default() })?;
    }
    let mut sent = Vec::new();
    for row in Table::read("rc_replay/past_a_read.txt") {
        let mut i = Inputs { tx_ready: true, ..Inputs::default() };
        let psn = row.text("psn");
        if psn != "-" {
            let kind = match row.text("kind") {
                "first" => RspKind::ReadFirst,
                "middle" => RspKind::ReadMiddle,
                "last" => RspKind::ReadLast,
                _ => RspKind::Ack,
            };
            let syndrome = if row.text("kind") == "nak" { 0x60 } else { 0x1f };
            i.rx_valid = true;
            i.rx = answer(kind, row.hex("psn").cast_signed(), syndrome);
        }
        let mut losses = 0;
        for _ in 0..30 {
            let o = dut.clock(&i)?;
            i.rx_valid = false;
            if o.tx_valid {
                sent.push(format!("{:06x}", o.tx.psn.0));
            }
            losses += u64::from(o.loss_valid);
        }
        row.expect("acked", format!("{:06x}", dut.pair.regs().acked.0));
        row.expect("losses", losses);
        row.expect("retries", dut.pair.regs().retries);
        row.expect("entries", dut.pair.regs().used);
        let now = std::mem::take(&mut sent).join(",");
        row.expect("sent", if now.is_empty() { "-".into() } else { now });
    }
    Ok(())
}

/// The timer: never early, never late, not while nothing is out, and not with a timeout of 0.
#[test]
fn a_timeout_comes_at_its_clock() -> Result<(), Mismatch> {
    for timeout in [0, 1, 2, 100] {
        let mut dut = Dut::new(&Sizes::SMALL, 5);
        dut.clock(&open(0, 2, 4, timeout))?;
        for _ in 0..300 {
            assert!(!dut.clock(&Inputs { tx_ready: true, ..Inputs::default() })?.loss_valid);
        }
        dut.post(RcWqe { len: 1, ..RcWqe::default() });
        let mut i = Inputs { issued: true, tx_ready: true, ..Inputs::default() };
        let (mut sent, mut losses) = (None, Vec::new());
        for clock in 0..1_000_u32 {
            let o = dut.clock(&i)?;
            i.issued = false;
            if o.tx_valid {
                sent = Some(clock);
            }
            if o.loss_valid {
                losses.push(clock - sent.expect("is out"));
            }
        }
        // The first clock behind the packet is 0; the event shows a clock after the last one.
        let wanted = if timeout == 0 { vec![] } else { vec![timeout + 2; 3] };
        assert_eq!(losses, wanted, "a timeout of {timeout}");
        assert_eq!(dut.pair.regs().failed, timeout > 0, "two retries, then it fails");
    }
    Ok(())
}
