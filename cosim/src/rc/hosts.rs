//! The two hosts of a reliable connection: what is posted, both memories, and what must come of it.
//!
//! Everything that can be known of a work request when it is posted is known here: atomic
//! operations happen once and in post order, so their results follow; a SEND goes to the next
//! receive buffer; a READ brings what its region was filled with.

use std::collections::VecDeque;

use rtl_model::rc_pkg::{Op, RcCqe, RcWqe, Status};
use rtl_model::rng::Rng;
use rtl_model::types::Psn;

use super::scenario::{Settings, WorkSettings};
use crate::memory::Memory;

/// Where the requester's buffers start.
const LOCAL: u64 = 0x2000_0000_0000_0000;
/// Where the responder's regions start.
const REMOTE: u64 = 0x5000_0000_0000_0000;
/// Where the responder's receive buffers start.
const RECEIVE: u64 = 0x9000_0000_0000_0000;
/// Where the words of atomic operations lie.
pub const WORDS: u64 = 0x1_0000;
/// How many there are.
const WORD_COUNT: u64 = 4;
/// From one buffer to the next: each of a run has its own.
const STEP: u64 = 0x20_0000;
// A run has less than 2^32 clocks, and posts one work request a clock at most.
const _: () = assert!(REMOTE - LOCAL >= STEP << 32 && RECEIVE - REMOTE >= STEP << 32);

/// A work request under way.
#[derive(Clone, Debug)]
struct Posted {
    ssn: Psn,
    wqe: RcWqe,
    number: u64,
    /// Where the payload arrives: a receive buffer, the responder's region, the requester's buffer.
    target: u64,
    /// What an ATOMIC brings back.
    result: u64,
    /// A packet of it has left: its memory is there.
    left: bool,
}

/// An atomic operation that is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Where.
    pub addr: u64,
    /// Fetch and add; else compare and swap.
    pub add: bool,
    /// What is added, or swapped in.
    pub operand: u64,
    /// What is compared.
    pub compare: u64,
}

impl Operation {
    fn of(wqe: &RcWqe) -> Self {
        Self { addr: wqe.raddr, add: wqe.add, operand: wqe.operand, compare: wqe.compare }
    }

    /// What stands there afterwards.
    fn apply(&self, old: u64) -> u64 {
        match self.add {
            true => old.wrapping_add(self.operand),
            false if old == self.compare => self.operand,
            false => old,
        }
    }
}

/// Both hosts.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The requester's memory.
    pub local: Memory,
    /// The responder's memory.
    pub remote: Memory,
    /// Broken promises.
    pub broken: Vec<String>,
    /// Work requests posted.
    pub posted: u64,
    /// Those that retired as they should.
    pub succeeded: u64,
    /// Those that ended with the reason of the connection's failure: one at most.
    pub failed: u64,
    /// Those that were flushed behind it.
    pub flushed: u64,
    /// Completion entries written.
    pub entries: u64,
    /// Most work requests posted and not retired.
    pub most: usize,
    plans: VecDeque<WorkSettings>,
    next: Option<RcWqe>,
    rng: Rng,
    seed: u64,
    ssn: Psn,
    outstanding: VecDeque<Posted>,
    owed: VecDeque<RcCqe>,
    /// What the words of atomic operations will hold once all that is posted is done.
    words: [u64; WORD_COUNT as usize],
    operations: VecDeque<Operation>,
    sends: u64,
    received: u64,
    /// The responder's regions of work requests that were under way when the connection failed.
    late: Vec<u64>,
}

impl Hosts {
    /// Nothing posted.
    pub fn new(settings: &Settings) -> Self {
        let mut remote = Memory::default();
        remote.map(WORDS, WORD_COUNT * 8);
        Self {
            local: Memory::default(),
            remote,
            broken: Vec::new(),
            posted: 0,
            succeeded: 0,
            failed: 0,
            flushed: 0,
            entries: 0,
            most: 0,
            plans: settings.work.iter().filter(|w| w.count > 0).cloned().collect(),
            next: None,
            rng: Rng::new(settings.seed, "work"),
            seed: settings.seed,
            ssn: Psn::new(settings.msn),
            outstanding: VecDeque::new(),
            owed: VecDeque::new(),
            words: [0; WORD_COUNT as usize],
            operations: VecDeque::new(),
            sends: 0,
            received: 0,
            late: Vec::new(),
        }
    }

    /// Everything is posted, retired and completed.
    pub fn finished(&self) -> bool {
        let posted = self.plans.is_empty() && self.next.is_none();
        posted && self.outstanding.is_empty() && self.owed.is_empty()
    }

    /// Work requests under way, oldest first: SSN and what they are.
    pub fn waits(&self) -> Vec<(Psn, Op)> {
        self.outstanding.iter().map(|p| (p.ssn, p.wqe.op)).collect()
    }

    /// What is not posted yet: what comes first, and how many there are.
    pub fn unposted(&self) -> Option<String> {
        let more: u64 = self.plans.iter().map(|plan| plan.count).sum();
        if let Some(wqe) = self.next {
            return Some(format!("post of {:?}, {} B, and {more} behind it", wqe.op, wqe.len));
        }
        let plan = self.plans.front()?;
        Some(format!("{more} to be posted: {:?}, at {} ns", plan.kind, plan.at))
    }

    /// The work request that waits to be posted in this clock.
    pub fn next(&mut self, clock: u64) -> Option<RcWqe> {
        if self.next.is_none()
            && let Some(plan) = self.plans.front_mut().filter(|p| p.at <= clock)
        {
            let plan_now = plan.clone();
            plan.count -= 1;
            if plan.count == 0 {
                self.plans.pop_front();
            }
            self.next = Some(self.draw(&plan_now));
        }
        self.next
    }

    fn draw(&mut self, plan: &WorkSettings) -> RcWqe {
        let rng = &mut self.rng;
        let op = plan
            .kind
            .op()
            .unwrap_or_else(|| rng.pick(&[Op::Send, Op::Write, Op::Read, Op::Atomic]));
        let signal = plan.signal.unwrap_or_else(|| rng.percent(50));
        // A drawn length is often one at a packet's border.
        let len = rng.between(plan.bytes.0, plan.bytes.1);
        let low = rng.below(64);
        let base = self.posted * STEP + low;
        let mut wqe = RcWqe { op, signal, len: len as u32, ..RcWqe::default() };
        (wqe.laddr, wqe.raddr) = (LOCAL + base, REMOTE + base);
        if op == Op::Atomic {
            let at = rng.below(WORD_COUNT);
            let guess = if rng.percent(60) { self.words[at as usize] } else { rng.bits() };
            (wqe.len, wqe.raddr) = (8, WORDS + at * 8);
            (wqe.add, wqe.operand, wqe.compare) = (rng.percent(50), rng.bits(), guess);
        }
        wqe
    }

    /// It is posted; gives its SSN.
    pub fn post(&mut self) -> Psn {
        let Some(wqe) = self.next.take() else { return self.ssn };
        self.ssn = self.ssn.plus(1);
        let number = self.posted;
        self.posted += 1;
        let (mut target, mut result) = (wqe.laddr, 0);
        match wqe.op {
            Op::Send => {
                target = RECEIVE + self.sends * STEP;
                self.sends += 1;
            }
            Op::Write => target = wqe.raddr,
            Op::Read => {}
            Op::Atomic => {
                let word = &mut self.words[((wqe.raddr - WORDS) / 8) as usize];
                result = *word;
                *word = Operation::of(&wqe).apply(result);
            }
        }
        let posted = Posted { ssn: self.ssn, wqe, number, target, result, left: false };
        self.outstanding.push_back(posted);
        self.most = self.most.max(self.outstanding.len());
        self.ssn
    }

    /// A packet leaves whose place in the requester's memory is this. With the first one of a work
    /// request come its buffers and its bytes, so that one that never leaves has none.
    pub fn leaves(&mut self, laddr: u64) {
        let Some(first) = self.outstanding.front().map(|p| p.number) else { return };
        let number = laddr.wrapping_sub(LOCAL) / STEP;
        let Some(place) = number.checked_sub(first) else { return };
        let Some(posted) = self.outstanding.get_mut(place as usize).filter(|p| !p.left) else {
            return;
        };
        posted.left = true;
        let (wqe, target) = (posted.wqe, posted.target);
        let len = u64::from(wqe.len);
        self.local.map(wqe.laddr, len);
        match wqe.op {
            Op::Send | Op::Write => {
                self.local.write(wqe.laddr, &self.bytes(number, len));
                self.remote.map(target, len);
            }
            Op::Read => {
                self.remote.map(wqe.raddr, len);
                self.remote.write(wqe.raddr, &self.bytes(number, len));
            }
            Op::Atomic => self.operations.push_back(Operation::of(&wqe)),
        }
    }

    /// A message's bytes.
    fn bytes(&self, number: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![0; len as usize];
        Rng::new(self.seed, &format!("work request {number}")).fill(&mut bytes);
        bytes
    }

    /// A request's payload goes to the responder's memory.
    pub fn deliver(&mut self, send: bool, last: bool, addr: u64, payload: &[u8]) {
        let at = if send { RECEIVE + self.received * STEP + addr } else { addr };
        if !self.remote.mapped(at, payload.len() as u64) {
            self.broken
                .push(format!("{} B delivered to {at:#x}, which is no target", payload.len()));
        }
        self.remote.write(at, payload);
        self.received += u64::from(send && last);
    }

    /// A response's payload goes to the requester's memory.
    pub fn place(&mut self, addr: u64, payload: &[u8]) {
        if !self.local.mapped(addr, payload.len() as u64) {
            self.broken
                .push(format!("{} B placed at {addr:#x}, which is no buffer", payload.len()));
        }
        self.local.write(addr, payload);
    }

    /// The responder's memory does an atomic operation, and gives what stood there.
    pub fn execute(&mut self, operation: Operation) -> u64 {
        let wanted = self.operations.pop_front();
        if wanted != Some(operation) {
            self.broken.push(format!("{operation:?} was done, {wanted:?} was next"));
        }
        let mut bytes = [0; 8];
        self.remote.read(operation.addr, &mut bytes);
        let old = u64::from_le_bytes(bytes);
        self.remote.write(operation.addr, &operation.apply(old).to_le_bytes());
        old
    }

    /// A work request has retired: in post order, once, and what it asked for is done.
    pub fn retired(&mut self, cqe: &RcCqe) {
        let Some(posted) = self.outstanding.pop_front() else {
            self.broken.push(format!("{cqe:?} retired, and nothing is posted"));
            return;
        };
        if (posted.ssn, posted.wqe.op) != (cqe.ssn, cqe.op) {
            self.broken.push(format!("{cqe:?} retired, SSN {} was next", posted.ssn.0));
        }
        if cqe.status == Status::Success {
            if self.failed + self.flushed > 0 {
                self.broken.push(format!("{cqe:?} retired behind one that was flushed"));
            }
            self.succeeded += 1;
            self.check(&posted);
        } else if cqe.status == Status::Flushed {
            self.flushed += 1;
        } else {
            self.failed += 1;
        }
        if posted.wqe.signal || cqe.status != Status::Success {
            self.owed.push_back(*cqe);
        }
        self.local.unmap(posted.wqe.laddr);
        let region = match posted.wqe.op {
            Op::Write | Op::Read => posted.wqe.raddr,
            Op::Send => posted.target,
            Op::Atomic => return,
        };
        if cqe.status == Status::Success {
            self.remote.unmap(region);
        } else if posted.left {
            // What was under way when the connection failed still arrives.
            self.late.push(region);
        }
    }

    /// Nothing is under way to the responder: what only a late packet could reach is given back.
    pub fn release(&mut self) {
        for region in self.late.drain(..) {
            self.remote.unmap(region);
        }
    }

    /// What has arrived is what was sent.
    fn check(&mut self, posted: &Posted) {
        let len = u64::from(posted.wqe.len);
        let here = matches!(posted.wqe.op, Op::Read | Op::Atomic);
        let mut got = vec![0; len as usize];
        let memory = if here { &self.local } else { &self.remote };
        memory.read(posted.target, &mut got);
        let want = match posted.wqe.op {
            Op::Atomic => posted.result.to_le_bytes().to_vec(),
            _ => self.bytes(posted.number, len),
        };
        if got != want {
            let (op, ssn) = (posted.wqe.op, posted.ssn.0);
            self.broken.push(format!("{op:?} of SSN {ssn}: {len} B are not those that were sent"));
        }
    }

    /// A completion entry was written: the next one that is wanted.
    pub fn completed(&mut self, cqe: &RcCqe) {
        self.entries += 1;
        let wanted = self.owed.pop_front();
        if wanted != Some(*cqe) {
            self.broken.push(format!("{cqe:?} was written, {wanted:?} was next"));
        }
    }

    /// At the end, without a failure: all was done once, and is counted.
    pub fn settle(&mut self, msn: Psn) {
        let counts = [
            ("SENDs received", self.received, self.sends),
            ("atomic operations left", self.operations.len() as u64, 0),
            ("MSN", u64::from(msn.0), u64::from(self.ssn.0)),
        ];
        for (what, got, want) in counts.into_iter().filter(|(_, got, want)| got != want) {
            self.broken.push(format!("{what} at the end: {got}, wanted {want}"));
        }
    }
}
