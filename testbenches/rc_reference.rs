//! The reliable connection in plain sequential Rust: no clocks, no registers, written from MSN-1…8
//! alone. Benches hold what both twins do against it.
//!
//! `Responder` answers requests in the order in which they are taken; `Requester` retires work
//! requests in the order in which answers arrive.

use std::collections::VecDeque;

use rtl_model::rc_pkg::{Op, Request, Response, RspKind};

/// All sequence numbers are modulo this.
const TURN: u64 = 1 << 24;

/// MSN-3: those that wait for a response of their own.
fn waits(op: Op) -> bool {
    op == Op::Read || op == Op::Atomic
}

fn minus(a: u64, b: u64) -> u64 {
    (a + TURN - b) % TURN
}

/// An answer: kind, PSN, MSN where it has an AETH, bytes, whether it is a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub kind: RspKind,
    pub psn: u64,
    pub msn: Option<u64>,
    pub bytes: u64,
    pub nak: bool,
    /// Of a new SEND or WRITE: a later answer may stand for it.
    pub merges: bool,
    /// And it asked for one.
    pub asked: bool,
}

impl Answer {
    /// What a response packet says.
    pub fn of(rsp: &Response) -> Self {
        let msn = (rsp.kind != RspKind::ReadMiddle).then_some(u64::from(rsp.msn.0));
        let (psn, bytes) = (u64::from(rsp.psn.0), u64::from(rsp.bytes));
        Self {
            kind: rsp.kind,
            psn,
            msn,
            bytes,
            nak: rsp.syndrome == 0x60,
            merges: false,
            asked: false,
        }
    }
}

/// Answers that are owed, and those that leave.
#[derive(Default)]
pub struct Owed(VecDeque<Answer>);

impl Owed {
    /// More are owed.
    pub fn add(&mut self, answers: Vec<Answer>) {
        self.0.extend(answers);
    }

    /// One has left: the next one owed, or one that stands for acknowledgements before it.
    pub fn left(&mut self, answer: &Answer) {
        let mut asked = false;
        while let Some(next) = self.0.pop_front() {
            asked |= next.asked;
            let same = (Answer { merges: false, asked: false, ..next }) == *answer;
            if same && (asked || !next.merges) {
                return;
            }
            assert!(next.merges, "{answer:?} left, {next:?} was next");
        }
        panic!("{answer:?} left, and nothing is owed");
    }

    /// The answer with this PSN leaves as a refusal.
    pub fn refused(&mut self, psn: u64) {
        while let Some(next) = self.0.pop_front() {
            if next.psn == psn {
                return;
            }
            assert!(next.merges, "PSN {psn} is refused, {next:?} was next");
        }
        panic!("PSN {psn} is refused, and nothing is owed");
    }

    /// No more will leave.
    pub fn settle(&self) {
        let still = self.0.iter().find(|a| !a.merges || a.asked);
        assert!(still.is_none(), "{still:?} is still owed");
    }
}

/// A READ or ATOMIC that can be answered again: first PSN, PSNs, bytes, whether it is an ATOMIC.
type Kept = (u64, u64, u64, bool);

/// The responder's side.
pub struct Responder {
    pub expected: u64,
    pub msn: u64,
    pub early: bool,
    pub mtu: u64,
    /// READs and ATOMICs kept, and how many can be.
    pub kept: VecDeque<Kept>,
    pub room: usize,
    pub refused: bool,
    /// Messages delivered, the packets of their payloads, atomic operations done.
    pub delivered: u64,
    pub payloads: u64,
    pub executed: u64,
}

impl Responder {
    /// What a request draws.
    pub fn request(&mut self, req: &Request) -> Vec<Answer> {
        let psn = u64::from(req.psn.0);
        match minus(psn, self.expected) {
            0 => self.fresh(req, psn),
            ahead if ahead < TURN / 2 => self.gap(),
            _ => self.duplicate(req, psn),
        }
    }

    fn ack(&self, kind: RspKind, psn: u64) -> Answer {
        Answer { kind, psn, msn: Some(self.msn), bytes: 0, nak: false, merges: false, asked: false }
    }

    fn gap(&mut self) -> Vec<Answer> {
        let nak = Answer { nak: true, ..self.ack(RspKind::Ack, self.expected) };
        if std::mem::replace(&mut self.refused, true) { Vec::new() } else { vec![nak] }
    }

    fn fresh(&mut self, req: &Request, psn: u64) -> Vec<Answer> {
        self.refused = false;
        let bytes = u64::from(req.len);
        let psns = if req.op == Op::Read { bytes.div_ceil(self.mtu).max(1) } else { 1 };
        self.expected = (psn + psns) % TURN;
        if waits(req.op) {
            self.kept.push_back((psn, psns, bytes, req.op == Op::Atomic));
            if self.kept.len() > self.room {
                self.kept.pop_front();
            }
        }
        let before = self.msn;
        self.msn = (before + u64::from(req.last)) % TURN;
        match req.op {
            Op::Send | Op::Write => {
                self.delivered += u64::from(req.last);
                self.payloads += 1;
                let ack = self.ack(RspKind::Ack, psn);
                vec![Answer { merges: true, asked: req.ack_req, ..ack }]
            }
            Op::Atomic => {
                self.executed += 1;
                vec![self.ack(RspKind::Atomic, psn)]
            }
            Op::Read => {
                let first = if self.early { self.msn } else { before };
                self.read(psn, psns, bytes, first)
            }
        }
    }

    /// A READ's response; its first packet carries the MSN `first`, its last one the newest.
    fn read(&self, psn: u64, psns: u64, bytes: u64, first: u64) -> Vec<Answer> {
        let packet = |n: u64| {
            let (kind, msn) = match (n == 0, n + 1 == psns) {
                (true, true) => (RspKind::ReadOnly, Some(self.msn)),
                (true, false) => (RspKind::ReadFirst, Some(first)),
                (false, true) => (RspKind::ReadLast, Some(self.msn)),
                (false, false) => (RspKind::ReadMiddle, None),
            };
            let bytes = (bytes - n * self.mtu).min(self.mtu);
            Answer {
                kind,
                psn: (psn + n) % TURN,
                msn,
                bytes,
                nak: false,
                merges: false,
                asked: false,
            }
        };
        (0..psns).map(packet).collect()
    }

    fn duplicate(&mut self, req: &Request, psn: u64) -> Vec<Answer> {
        if !waits(req.op) {
            return vec![self.ack(RspKind::Ack, psn)];
        }
        let holds = |k: &&Kept| minus(psn, k.0) < k.1 && k.3 == (req.op == Op::Atomic);
        match self.kept.iter().find(holds).copied() {
            None => Vec::new(),
            Some((_, _, _, true)) => vec![self.ack(RspKind::Atomic, psn)],
            Some((start, psns, bytes, false)) => {
                let gone = minus(psn, start);
                self.read(psn, psns - gone, bytes - gone * self.mtu, self.msn)
            }
        }
    }
}

/// A work request that is not retired: SSN, and what is missing of its response.
struct Waiting {
    ssn: u64,
    /// Next and last PSN of the response of a READ or ATOMIC that is not complete.
    response: Option<(u64, u64)>,
}

/// The requester's side.
pub struct Requester {
    pub psn: u64,
    pub ssn: u64,
    pub msn: u64,
    pub mtu: u64,
    list: VecDeque<Waiting>,
}

impl Requester {
    /// Nothing posted.
    pub fn new(psn: u64, msn: u64, mtu: u64) -> Self {
        Self { psn, ssn: msn, msn, mtu, list: VecDeque::new() }
    }

    /// One more, of so many bytes.
    pub fn post(&mut self, op: Op, bytes: u64) {
        self.ssn = (self.ssn + 1) % TURN;
        let psns = if op == Op::Atomic { 1 } else { bytes.div_ceil(self.mtu).max(1) };
        let last = (self.psn + psns - 1) % TURN;
        let response = waits(op).then_some((self.psn, last));
        self.list.push_back(Waiting { ssn: self.ssn, response });
        self.psn = (last + 1) % TURN;
    }

    /// The SSNs that retire with an answer, in their order.
    pub fn answer(&mut self, answer: &Answer) -> Vec<u64> {
        let oldest = self.list.iter_mut().find_map(|w| w.response.is_some().then_some(w));
        if let Some(waiting) = oldest
            && let Some((next, last)) = waiting.response
            && answer.kind != RspKind::Ack
            && answer.psn == next
        {
            waiting.response = (next != last).then_some(((next + 1) % TURN, last));
        }
        self.msn = answer.msn.unwrap_or(self.msn);
        let mut retired = Vec::new();
        while let Some(front) = self.list.front()
            && minus(self.msn, front.ssn) < TURN / 2
            && front.response.is_none()
        {
            retired.push(front.ssn);
            self.list.pop_front();
        }
        retired
    }

    /// SSNs posted and not retired.
    pub fn left(&self) -> Vec<u64> {
        self.list.iter().map(|w| w.ssn).collect()
    }
}
