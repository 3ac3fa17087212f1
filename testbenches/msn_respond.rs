//! `msn_respond`: model and RTL get the same inputs and must agree on every clock; the sequential
//! reference gives the same answers, counts and operations (MSN-1, MSN-2, MSN-7).

use std::collections::VecDeque;

use rtl_model::msn_respond::{Inputs, Outputs, Regs};
use rtl_model::rc_pkg::{Op, Request, Response, RspKind};
use rtl_model::types::Psn;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

use crate::rc_reference::{Answer, Owed, Responder};

/// Sequence numbers that a connection starts from.
const STARTS: [u32; 6] = [0, 0xff_fffe, 0xff_ffff, 0x7f_fffe, 0x45_6789, 0x3a_9876];

fn after_reset(sizes: &Sizes, seed: u32) -> Lockstep<Regs> {
    Lockstep::new("msn_respond", sizes, Start::Random(seed)).expect("builds")
}

/// The block with a host behind it.
struct Dut {
    pair: Lockstep<Regs>,
    rng: Rng,
    /// Percent of clocks in which wire and host take nothing.
    stall: u64,
    atomic: Option<u64>,
    answers: Vec<Response>,
    delivered: u64,
    executed: u64,
    drops: Vec<String>,
}

impl Dut {
    fn new(sizes: &Sizes, seed: u32, stall: u64) -> Self {
        Self {
            pair: after_reset(sizes, seed),
            rng: Rng::new(u64::from(seed), "msn_respond"),
            stall,
            atomic: None,
            answers: Vec::new(),
            delivered: 0,
            executed: 0,
            drops: Vec::new(),
        }
    }

    /// One clock; gives whether the request was taken.
    fn clock(&mut self, i: &Inputs) -> Result<bool, Mismatch> {
        let mut i = *i;
        let ready = |rng: &mut Rng, stall| stall == 0 || !rng.percent(stall);
        i.rsp_ready = ready(&mut self.rng, self.stall);
        i.atomic_ready = ready(&mut self.rng, self.stall);
        // What stood in memory is often 0.
        i.result = if self.rng.percent(30) { 0 } else { self.rng.bits() };
        i.result_valid = self.atomic.is_some() && ready(&mut self.rng, self.stall);
        if i.result_valid {
            self.atomic = None;
        }
        let o: Outputs = self.pair.clock(&i)?;
        if o.atomic_valid && i.atomic_ready {
            self.atomic = Some(0);
            self.executed += 1;
        }
        self.delivered += u64::from(o.deliver_valid && o.deliver_last);
        if o.drop_valid {
            self.drops.push(format!("{:?}", o.drop));
        }
        if o.rsp_valid && i.rsp_ready {
            self.answers.push(o.rsp);
        }
        Ok(i.req_valid && o.req_ready)
    }

    /// A request, and all that it draws.
    fn request(&mut self, i: &Inputs) -> Result<(), Mismatch> {
        while !self.clock(i)? {}
        self.rest()
    }

    fn rest(&mut self) -> Result<(), Mismatch> {
        for _ in 0..40 {
            self.clock(&Inputs::default())?;
        }
        Ok(())
    }
}

fn op(text: &str) -> Op {
    match text {
        "send" => Op::Send,
        "write" => Op::Write,
        "read" => Op::Read,
        "atomic" => Op::Atomic,
        _ => panic!("no kind {text}"),
    }
}

/// MSN-1, MSN-7: new, duplicate, gap, on both sides of their borders.
#[test]
fn msn_1_half_is_behind() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 1, 0);
    let psn = Psn::new(0xff_fffe);
    let open = Inputs { open: true, cfg_psn: psn, cfg_msn: psn, cfg_mtu: 8, ..Inputs::default() };
    dut.clock(&Inputs { cfg_early: true, cfg_coalesce: 1, ..open })?;
    for row in Table::read("msn_respond/half_is_behind.txt") {
        let req = Request {
            op: op(row.text("op")),
            first: true,
            last: true,
            ack_req: true,
            psn: Psn::new(row.hex("psn") as u32),
            len: row.dec("len") as u32,
            ..Request::default()
        };
        dut.request(&Inputs { req_valid: true, req, ..Inputs::default() })?;
        row.expect("msn", format!("{:06x}", dut.pair.regs().msn.0));
        row.expect("expected", format!("{:06x}", dut.pair.regs().expected.0));
        let drops = std::mem::take(&mut dut.drops).join(",");
        row.expect("drop", if drops.is_empty() { "-" } else { &drops });
        let said = |r: &Response| {
            let kind = if r.refuses() { "Nak".to_owned() } else { format!("{:?}", r.kind) };
            format!("{kind}:{:06x}:{:06x}", r.psn.0, r.msn.0)
        };
        let answers: Vec<_> = std::mem::take(&mut dut.answers).iter().map(said).collect();
        row.expect("answers", if answers.is_empty() { "-".into() } else { answers.join(",") });
    }
    Ok(())
}

/// MSN-2: early, the first packet of a READ's response has it counted; late, the last one; once in
/// either case, and only there is there an AETH (MSN-1).
#[test]
fn msn_2_a_read_counts_early_or_late() -> Result<(), Mismatch> {
    for early in [true, false] {
        let mut dut = Dut::new(&Sizes::SMALL, 2, 0);
        let open = Inputs { open: true, cfg_mtu: 8, cfg_early: early, ..Inputs::default() };
        dut.clock(&open)?;
        let read = Request {
            op: Op::Read,
            first: true,
            last: true,
            len: 1000,
            raddr: 0x1000,
            ..Request::default()
        };
        let i = Inputs { req_valid: true, req: read, ..Inputs::default() };
        dut.request(&i)?;
        let said = |a: &[Response]| {
            a.iter().map(|r| (r.kind, r.msn.0, r.syndrome, r.bytes)).collect::<Vec<_>>()
        };
        let first = u32::from(early);
        let wanted = [
            (RspKind::ReadFirst, first, 0x1f, 256),
            (RspKind::ReadMiddle, 0, 0, 256),
            (RspKind::ReadMiddle, 0, 0, 256),
            (RspKind::ReadLast, 1, 0x1f, 232),
        ];
        assert_eq!(said(&dut.answers), wanted);
        dut.answers.clear();
        // Again: not counted again, so that the first packet has it in either case.
        dut.request(&i)?;
        assert_eq!(said(&dut.answers)[0], (RspKind::ReadFirst, 1, 0x1f, 256));
        assert_eq!(dut.pair.regs().msn, Psn::new(1));
    }
    Ok(())
}

/// Coalesced acknowledgements: one for as many as are owed, as soon as nothing waits.
#[test]
fn acknowledgements_are_merged() -> Result<(), Mismatch> {
    for (coalesce, answers) in [(0, 6), (1, 6), (2, 3), (4, 2), (255, 1)] {
        let mut dut = Dut::new(&Sizes::SMALL, 3, 0);
        let open = Inputs { open: true, cfg_mtu: 8, cfg_coalesce: coalesce, ..Inputs::default() };
        dut.clock(&open)?;
        for n in 0..6 {
            let req = Request {
                first: true,
                last: true,
                ack_req: true,
                psn: Psn::new(n),
                ..Request::default()
            };
            while !dut.clock(&Inputs { req_valid: true, req, ..Inputs::default() })? {}
        }
        dut.rest()?;
        assert_eq!(dut.answers.len(), answers, "coalesce {coalesce}");
        let last = dut.answers.last().expect("an answer");
        assert_eq!((last.psn, last.msn), (Psn::new(5), Psn::new(6)));
    }
    Ok(())
}

/// Requests as a requester sends them, lost and repeated.
struct Source {
    rng: Rng,
    next: u32,
    mtu: u8,
    /// What can come again: the last requests sent.
    sent: VecDeque<Request>,
    message: Option<(Op, u32, u32)>,
}

impl Source {
    fn request(&mut self) -> Request {
        let rng = &mut self.rng;
        if !self.sent.is_empty() && rng.percent(35) {
            let mut again = self.sent[rng.below(self.sent.len() as u64) as usize];
            let span = again.len.div_ceil(1 << self.mtu).max(1);
            if again.op == Op::Read && span > 1 && rng.percent(50) {
                // Resumed.
                let skip = rng.below(u64::from(span)) as u32;
                again.psn = again.psn.plus(skip);
                again.len -= skip << self.mtu;
                again.raddr = again.raddr.wrapping_add(u64::from(skip << self.mtu));
            }
            return again;
        }
        if rng.percent(4) {
            let far = rng.pick(&[1, 2, 0x7f_ffff, 0x80_0000, 0x80_0001, 0xff_ffff]);
            let psn = Psn::new(self.next).plus(far);
            return Request { op: Op::Send, psn, last: true, ..Request::default() };
        }
        let req = self.fresh();
        self.sent.push_back(req);
        if self.sent.len() > 12 {
            self.sent.pop_front();
        }
        req
    }

    fn fresh(&mut self) -> Request {
        let rng = &mut self.rng;
        let whole = 1 << self.mtu;
        let (op, len, at) = self.message.take().unwrap_or_else(|| {
            let op = rng.pick(&[Op::Send, Op::Write, Op::Read, Op::Atomic]);
            let len = rng.pick(&[0, 1, whole - 1, whole, whole + 1, 3 * whole, 5 * whole - 1]);
            // The longest READs, where they have few enough packets.
            let longest = if rng.percent(50) { 1 << 20 } else { rng.below(1 << 20) as u32 };
            let long = self.mtu == 12 && op == Op::Read && rng.percent(20);
            (
                op,
                if op == Op::Atomic {
                    8
                } else if long {
                    longest
                } else {
                    len
                },
                0,
            )
        });
        let bytes = if op.waits() { 0 } else { (len - at).min(whole) };
        let last = op.waits() || at + bytes == len;
        let req = Request {
            op,
            first: at == 0,
            last,
            ack_req: rng.percent(60),
            psn: Psn::new(self.next),
            raddr: rng.bits(),
            len,
            bytes: bytes as u16,
            add: rng.percent(50),
            operand: rng.bits(),
            compare: rng.bits(),
        };
        if !last {
            self.message = Some((op, len, at + bytes));
        }
        let psns = if op == Op::Read { len.div_ceil(whole).max(1) } else { 1 };
        self.next = Psn::new(self.next).plus(psns).0;
        req
    }
}

/// MSN-1, MSN-2, MSN-7, in both sizes: everything that can be new, repeated or missing, against the
/// sequential reference; wires and hosts that take their time, a reset on the way.
#[test]
fn msn_1_msn_2_msn_7_random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("msn_respond");
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::DEFAULT), (3, Sizes::SMALL)] {
        let mut dut = Dut::new(&sizes, seed, 40);
        let mut rng = Rng::new(u64::from(seed), "connections");
        for round in 0..60 {
            if round == 30 {
                dut.pair.reset().expect("resets");
                dut.atomic = None;
            }
            let loss = rng.pick(&[0, 5, 30]);
            connection(&mut dut, &mut rng, &sizes, loss)?;
        }
    }
    reached.check();
    Ok(())
}

fn connection(dut: &mut Dut, rng: &mut Rng, sizes: &Sizes, loss: u64) -> Result<(), Mismatch> {
    let (psn, msn) = (rng.pick(&STARTS), rng.pick(&STARTS));
    let (mtu, early) = (rng.pick(&[8, 9, 10, 12]), rng.percent(50));
    let coalesce = rng.pick(&[0, 1, 3, 255]);
    (dut.delivered, dut.executed) = (0, 0);
    dut.answers.clear();
    dut.clock(&Inputs {
        open: true,
        cfg_psn: Psn::new(psn),
        cfg_msn: Psn::new(msn),
        cfg_mtu: mtu,
        cfg_early: early,
        cfg_coalesce: coalesce,
        ..Inputs::default()
    })?;
    let mut reference = Responder {
        expected: u64::from(psn),
        msn: u64::from(msn),
        early,
        mtu: 1 << mtu,
        kept: VecDeque::new(),
        room: sizes.reads as usize,
        refused: false,
        delivered: 0,
        payloads: 0,
        executed: 0,
    };
    let mut source =
        Source { rng: rng.clone(), next: psn, mtu, sent: VecDeque::new(), message: None };
    let mut owed = Owed::default();
    for _ in 0..150 {
        let req = source.request();
        if rng.percent(loss) && req.psn.0 != reference.expected as u32 {
            continue;
        }
        while !dut.clock(&Inputs { req_valid: true, req, ..Inputs::default() })? {}
        owed.add(reference.request(&req));
        for _ in 0..rng.pick(&[0, 0, 1, 5]) {
            dut.clock(&Inputs::default())?;
        }
    }
    for _ in 0..400 {
        dut.clock(&Inputs::default())?;
    }
    for answer in std::mem::take(&mut dut.answers) {
        owed.left(&Answer::of(&answer));
    }
    owed.settle();
    let pairs = [(dut.delivered, reference.delivered), (dut.executed, reference.executed)];
    assert!(pairs.iter().all(|(got, want)| got == want), "{pairs:?}");
    let regs = dut.pair.regs();
    assert_eq!((u64::from(regs.msn.0), regs.owed), (reference.msn, 0));
    Ok(())
}
