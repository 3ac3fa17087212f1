//! Requester's list of work requests: retires them by MSN, oldest first, and completes them.
//!
//! Twin of `hdl/wqe_retire.sv`. A response that arrives in clock n retires from clock n + 1 on (one
//! whose READ or ATOMIC is answered in it, from n + 2 on), its entry stands at the port a clock
//! later. Throughput: one post a clock, one work request retired a clock, and a response in every
//! clock whatever else goes on: the walk never holds up what arrives.
//!
//! S002, MSN-3: each work request has an SSN in post order, the first that after the MSN that the
//! responder starts from. The newest MSN retires every one with SSN ≤ MSN, modulo 2^24, oldest
//! first, and stops at the first READ or ATOMIC without its response. MSN-5: one that is retired is
//! handed to CQE generation, where its signal flag decides whether an entry is written. Nothing of
//! that crosses the wire.
//! MSN-7: replay entries retire by PSN, elsewhere (`rc_replay`). The place of a work request is
//! free again once it is retired here and its packets are there.
//!
//! After a failure those that can still retire do so; then the oldest completes with the reason,
//! and those behind it, and those posted later, as flushed. These entries are written whatever the
//! signal flag says (IBTA Vol 1, 10.7.3.1).
//!
//! Choices: an MSN older than the newest one, or past the last post, changes nothing, nor does one
//! after a failure. SSN and MSN start from `cfg_msn`, which is 0 on a real wire; other values are
//! for the wrap.
//! Borders: MSN one below, equal to and past the oldest SSN; past the last post; the wrap of SSNs;
//! WQES posted; the entry's port taken late.

use bitvec::bitvec;
use bitvec::order::Lsb0;
use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::BitMap;
use crate::rc_pkg::{Op, RcCqe, RcWqe, Response, RspKind, Status};
use crate::sizes::Sizes;
use crate::types::Psn;

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From the host: a connection begins.
    pub open: bool,
    /// From the host: the MSN that the responder starts from.
    pub cfg_msn: Psn,
    /// From the host.
    pub post_valid: bool,
    /// From the host.
    pub post: RcWqe,
    /// From the wire.
    pub rx_valid: bool,
    /// From the wire.
    pub rx: Response,
    /// From `rc_replay`: a READ or ATOMIC has its response.
    pub done_valid: bool,
    /// From `rc_replay`.
    #[bits(6)]
    pub done_wqe: u8,
    /// From `rc_replay`: a work request has no packets there any more.
    pub freed: bool,
    /// From `rc_replay`: the connection has failed.
    pub fail_valid: bool,
    /// From `rc_replay`.
    pub fail_status: Status,
    /// From the host.
    pub cqe_ready: bool,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To the host.
    pub post_ready: bool,
    /// To the memory of work requests.
    pub wqe_we: bool,
    /// To the memory of work requests.
    pub wqe_waddr: u32,
    /// To the memory of work requests.
    pub wqe_wdata: RcWqe,
    /// To `rc_replay`: one more is posted.
    pub issued: bool,
    /// To the host.
    pub cqe_valid: bool,
    /// To the host.
    pub cqe: RcCqe,
    /// For the records: one has retired.
    pub retired_valid: bool,
    /// For the records.
    pub retired: RcCqe,
    /// For the records: the walk waits for the host.
    pub stall_cqe: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A connection is there.
    pub open: bool,
    /// It has failed.
    pub failed: bool,
    /// Status of the next one that is flushed.
    pub fail_status: Status,
    /// SSN of the oldest.
    pub ssn: Psn,
    /// The newest MSN.
    pub msn: Psn,
    /// Place of the oldest.
    #[bits(6)]
    pub head: u8,
    /// Place of the next post.
    #[bits(6)]
    pub tail: u8,
    /// Those not retired.
    #[bits(7)]
    pub count: u8,
    /// Those with packets in the replay store, or still to be sent.
    #[bits(7)]
    pub held: u8,
    /// What each place asks for.
    #[bits(2)]
    pub op: Vec<Op>,
    /// Each place's signal flag.
    pub signal: BitMap,
    /// A READ or ATOMIC has its response.
    pub answered: BitMap,
    /// One more is posted.
    pub issued: bool,
    /// `cqe` waits for the host.
    pub cqe_valid: bool,
    /// The entry.
    pub cqe: RcCqe,
    /// `retired` has just retired.
    pub retired_valid: bool,
    /// The one last retired.
    pub retired: RcCqe,
    /// The walk waits for the host.
    pub stall_cqe: bool,
}

/// What becomes of the oldest in a clock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    Stays,
    Retires,
    Flushes,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        let wqes = sizes.wqes as usize;
        Self {
            open: false,
            failed: false,
            fail_status: Status::Success,
            ssn: Psn::default(),
            msn: Psn::default(),
            head: 0,
            tail: 0,
            count: 0,
            held: 0,
            op: vec![Op::Send; wqes],
            signal: bitvec![u64, Lsb0; 0; wqes],
            answered: bitvec![u64, Lsb0; 0; wqes],
            issued: false,
            cqe_valid: false,
            cqe: RcCqe::default(),
            retired_valid: false,
            retired: RcCqe::default(),
            stall_cqe: false,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        let free = self.failed || usize::from(self.held) < self.op.len();
        o.post_ready = self.open && free && usize::from(self.count) < self.op.len();
        o.wqe_waddr = u32::from(self.tail);
        o.issued = self.issued;
        o.cqe_valid = self.cqe_valid;
        o.cqe = self.cqe;
        o.retired_valid = self.retired_valid;
        o.retired = self.retired;
        o.stall_cqe = self.stall_cqe;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.wqe_we = i.post_valid && o.post_ready;
        o.wqe_wdata = i.post;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let walk = self.walk();
        let writes = self.signal[usize::from(self.head)] || walk == Walk::Flushes;
        let blocked = writes && self.cqe_valid && !i.cqe_ready;
        let (msn, posted) = (self.newest(i), o.wqe_we);
        let failed = self.failed;
        if posted {
            self.post(&i.post);
        }
        if i.done_valid {
            let at = usize::from(i.done_wqe) & (self.op.len() - 1);
            self.answered.set(at, true);
        }
        self.msn = msn;
        self.cqe_valid &= !i.cqe_ready;
        self.retired_valid = walk != Walk::Stays && !blocked;
        self.stall_cqe = walk != Walk::Stays && blocked;
        if self.retired_valid {
            self.retire(walk == Walk::Flushes, writes);
        }
        self.issued = posted && !failed;
        self.held = (self.held + u8::from(self.issued)).wrapping_sub(u8::from(i.freed)) & 0x7f;
        if i.fail_valid {
            self.failed = true;
            self.fail_status = i.fail_status;
        }
        if i.open {
            self.open(i.cfg_msn);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let inputs =
            i.open || i.post_valid || i.rx_valid || i.done_valid || i.freed || i.fail_valid;
        let walks = self.walk() != Walk::Stays || self.retired_valid || self.stall_cqe;
        !(inputs || walks || self.issued || self.cqe_valid && i.cqe_ready)
    }
}

impl Regs {
    /// What becomes of the oldest, the host willing.
    fn walk(&self) -> Walk {
        let at = usize::from(self.head);
        let waits = self.op[at].waits() && !self.answered[at];
        if self.count == 0 {
            Walk::Stays
        } else if self.msn.ahead_of(self.ssn) >= 0 && !waits {
            Walk::Retires
        } else if self.failed {
            Walk::Flushes
        } else {
            Walk::Stays
        }
    }

    /// The newest MSN with what arrives: one that lies between it and the last post.
    fn newest(&self, i: &Inputs) -> Psn {
        let has_one = i.rx_valid && i.rx.kind != RspKind::ReadMiddle;
        let last = self.ssn.plus(u32::from(self.count)).minus(1);
        let fits = i.rx.msn.minus(self.msn.0) <= last.minus(self.msn.0);
        if has_one && self.open && !self.failed && fits { i.rx.msn } else { self.msn }
    }

    fn post(&mut self, wqe: &RcWqe) {
        let at = usize::from(self.tail);
        self.op[at] = wqe.op;
        self.signal.set(at, wqe.signal);
        self.answered.set(at, false);
        self.tail = self.next(self.tail);
        self.count += 1;
    }

    /// The place after another.
    fn next(&self, at: u8) -> u8 {
        (at + 1) & (self.op.len() as u8 - 1)
    }

    fn retire(&mut self, flushes: bool, writes: bool) {
        let status = if flushes { self.fail_status } else { Status::Success };
        self.retired = RcCqe { ssn: self.ssn, op: self.op[usize::from(self.head)], status };
        if flushes {
            self.fail_status = Status::Flushed;
            // None behind it is covered any more.
            self.msn = self.ssn;
        }
        if writes {
            self.cqe_valid = true;
            self.cqe = self.retired;
        }
        self.head = self.next(self.head);
        self.ssn = self.ssn.plus(1);
        self.count -= 1;
    }

    fn open(&mut self, msn: Psn) {
        self.open = true;
        self.failed = false;
        self.fail_status = Status::Success;
        (self.ssn, self.msn) = (msn.plus(1), msn);
        (self.head, self.tail, self.count, self.held) = (0, 0, 0, 0);
        self.issued = false;
    }
}
