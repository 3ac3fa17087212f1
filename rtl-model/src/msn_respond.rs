//! Responder: checks the PSN of each request, carries it out once, counts messages and answers.
//!
//! Twin of `hdl/msn_respond.sv`. A request is carried out 1 clock after it is taken; its answer
//! stands at the port a clock later. Throughput: a request every 2 clocks where no answer waits, a
//! packet of a READ's response a clock. It is longer than a module should be: what a request is
//! decides both what is done and what is answered.
//!
//! S002 and IBTA Vol 1, 9.7. The request with the expected PSN is new. One behind it, by up to
//! 2^23, is a duplicate; one ahead of it shows a gap, which is refused once: NAK, sequence error,
//! with the expected PSN. What follows is dropped until that PSN comes.
//! MSN-1: the MSN counts new request messages once they are complete, modulo 2^24, and stands in
//! the AETH of every answer: positive, negative, to a duplicate; of a READ's response in the first
//! and the last packet alone. MSN-2: with `cfg_early` a READ or ATOMIC counts when it is found
//! valid, so that its first response packet has it counted; else with the last packet of its
//! response. Once in either case.
//! MSN-7: a duplicate SEND or WRITE is acknowledged again, with its own PSN, and not delivered. A
//! duplicate READ is answered again from its record, from the packet that it asks for to the end; a
//! duplicate ATOMIC with the result that its record holds, without memory being touched. Without a
//! record a duplicate is dropped. The last READS READs and ATOMICs have records.
//!
//! Choices: one request at a time, so answers leave in the order of PSNs. Acknowledgements that are
//! owed are one packet as soon as `cfg_coalesce` of them are (0 is 1), or no request waits, or a
//! duplicate does; the answer to a READ or ATOMIC, or a negative one, stands for them too. MSNs
//! start from `cfg_msn`, which is 0 on a real wire;
//! other values are for the wrap. `cfg_psn` is the PSN of the first request. Every SEND finds a
//! receive buffer; the host's memory takes every access.
//! Borders: expected PSN, 1, 2^23 − 1 and 2^23 beside it, on both sides; the wrap of PSN and MSN; a
//! READ of 0 B, of one packet, of one byte more; the record that is pushed out next; an answer that
//! waits; the last acknowledgement that can be owed.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::rc_pkg::{
    Op, RcDrop, Record, Request, Response, RspKind, SYNDROME_ACK, SYNDROME_SEQUENCE, part, span,
};
use crate::sizes::Sizes;
use crate::types::Psn;

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From the host: a connection begins.
    pub open: bool,
    /// From the host: the PSN of the first request.
    pub cfg_psn: Psn,
    /// From the host: the MSN to start from.
    pub cfg_msn: Psn,
    /// From the host: the path MTU as a power of two.
    #[bits(4)]
    pub cfg_mtu: u8,
    /// From the host: READs and ATOMICs count at validation.
    pub cfg_early: bool,
    /// From the host: acknowledgements that one packet stands for.
    pub cfg_coalesce: u8,
    /// From the wire.
    pub req_valid: bool,
    /// From the wire.
    pub req: Request,
    /// From the host: it takes an atomic operation.
    pub atomic_ready: bool,
    /// From the host: an atomic operation is done.
    pub result_valid: bool,
    /// From the host: what stood there.
    pub result: u64,
    /// From the wire.
    pub rsp_ready: bool,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To the wire.
    pub req_ready: bool,
    /// To the host: the payload of the last request taken has a place.
    pub deliver_valid: bool,
    /// To the host: in the next receive buffer.
    pub deliver_send: bool,
    /// To the host: its message is complete.
    pub deliver_last: bool,
    /// To the host: an address, or an offset in the receive buffer.
    pub deliver_addr: u64,
    /// To the host.
    pub atomic_valid: bool,
    /// To the host: fetch and add.
    pub atomic_add: bool,
    /// To the host.
    pub atomic_addr: u64,
    /// To the host.
    pub atomic_operand: u64,
    /// To the host.
    pub atomic_compare: u64,
    /// To the wire.
    pub rsp_valid: bool,
    /// To the wire.
    pub rsp: Response,
    /// To the host: where the answer's payload lies.
    pub rsp_addr: u64,
    /// For the records: a duplicate was answered or dropped.
    pub dup_valid: bool,
    /// For the records.
    pub dup_op: Op,
    /// For the records: a request was dropped.
    pub drop_valid: bool,
    /// For the records.
    pub drop: RcDrop,
    /// For the records: an answer waits for the wire.
    pub stall_rsp: bool,
}

/// What the block is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum State {
    /// The next request.
    #[default]
    Idle = 0,
    /// A READ's response goes out.
    Reading = 1,
    /// An ATOMIC waits for host memory to take it.
    Asking = 2,
    /// And for its result.
    Waiting = 3,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A connection is there.
    pub open: bool,
    /// The PSN of the next new request.
    pub expected: Psn,
    /// Messages complete.
    pub msn: Psn,
    /// Path MTU as a power of two.
    #[bits(4)]
    pub mtu: u8,
    /// READs and ATOMICs count at validation.
    pub early: bool,
    /// Acknowledgements that one packet stands for.
    pub coalesce: u8,
    /// The gap before `expected` has its negative acknowledgement.
    pub refused: bool,
    /// Acknowledgements owed.
    pub owed: u8,
    /// `req` has been taken and is not carried out.
    pub req_valid: bool,
    /// The request last taken.
    pub req: Request,
    /// What the block is at.
    pub state: State,
    /// Where the next payload of the message goes.
    pub follows: u64,
    /// `Reading`: where the next payload lies.
    pub addr: u64,
    /// `Reading`: of the next packet of the response.
    pub psn: Psn,
    /// Its last PSN.
    pub last_psn: Psn,
    /// Bytes still to go.
    #[bits(21)]
    pub left: u32,
    /// No packet of the response has gone yet.
    pub begins: bool,
    /// The response's last packet counts the message.
    pub counts: bool,
    /// Of the last READs and ATOMICs.
    pub record: Vec<Record>,
    /// Place of the next record.
    #[bits(4)]
    pub place: u8,
    /// How many there are.
    #[bits(5)]
    pub records: u8,
    /// The payload of the last request taken has a place.
    pub deliver_valid: bool,
    /// In the next receive buffer.
    pub deliver_send: bool,
    /// Its message is complete.
    pub deliver_last: bool,
    /// An address, or an offset in the receive buffer.
    pub deliver_addr: u64,
    /// `rsp` waits for the wire.
    pub rsp_valid: bool,
    /// The answer.
    pub rsp: Response,
    /// Where its payload lies.
    pub rsp_addr: u64,
    /// A duplicate was answered or dropped.
    pub dup_valid: bool,
    /// What it was.
    pub dup_op: Op,
    /// A request was dropped.
    pub drop_valid: bool,
    /// Why.
    pub drop: RcDrop,
    /// An answer waits for the wire.
    pub stall_rsp: bool,
}

/// Where a request's PSN lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    New,
    Duplicate,
    Gap,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            open: false,
            expected: Psn::default(),
            msn: Psn::default(),
            mtu: 0,
            early: false,
            coalesce: 0,
            refused: false,
            owed: 0,
            req_valid: false,
            req: Request::default(),
            state: State::Idle,
            follows: 0,
            addr: 0,
            psn: Psn::default(),
            last_psn: Psn::default(),
            left: 0,
            begins: false,
            counts: false,
            record: vec![Record::default(); sizes.reads as usize],
            place: 0,
            records: 0,
            deliver_valid: false,
            deliver_send: false,
            deliver_last: false,
            deliver_addr: 0,
            rsp_valid: false,
            rsp: Response::default(),
            rsp_addr: 0,
            dup_valid: false,
            dup_op: Op::Send,
            drop_valid: false,
            drop: RcDrop::Gap,
            stall_rsp: false,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.req_ready = self.open && !self.req_valid && self.state == State::Idle;
        o.deliver_valid = self.deliver_valid;
        o.deliver_send = self.deliver_send;
        o.deliver_last = self.deliver_last;
        o.deliver_addr = self.deliver_addr;
        o.atomic_valid = self.state == State::Asking;
        o.atomic_add = self.req.add;
        o.atomic_addr = self.req.raddr;
        o.atomic_operand = self.req.operand;
        o.atomic_compare = self.req.compare;
        o.rsp_valid = self.rsp_valid;
        o.rsp = self.rsp;
        o.rsp_addr = self.rsp_addr;
        o.dup_valid = self.dup_valid;
        o.dup_op = self.dup_op;
        o.drop_valid = self.drop_valid;
        o.drop = self.drop;
        o.stall_rsp = self.stall_rsp;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let room = !self.rsp_valid || i.rsp_ready;
        self.stall_rsp = !room;
        self.rsp_valid &= !i.rsp_ready;
        self.deliver_valid = false;
        self.dup_valid = false;
        self.drop_valid = false;
        match self.state {
            State::Idle if room => self.look(i),
            State::Reading if room => self.read_on(),
            State::Asking if i.atomic_ready => self.state = State::Waiting,
            State::Waiting if i.result_valid => self.finish_atomic(i.result),
            _ => {}
        }
        if i.req_valid && o.req_ready {
            self.req_valid = true;
            self.req = i.req;
        }
        if i.open {
            self.open(i);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let events = self.deliver_valid || self.dup_valid || self.drop_valid || self.stall_rsp;
        let held = self.req_valid || self.rsp_valid || self.owed > 0;
        !events && !held && self.state == State::Idle && !i.req_valid && !i.open
    }
}

impl Regs {
    /// The request that has been taken, or none: acknowledgements that are owed go first.
    fn look(&mut self, i: &Inputs) {
        let req = self.req;
        let moves = !req.op.waits();
        if !self.req_valid {
            if self.owed > 0 && !i.req_valid {
                self.pay();
            }
            return;
        }
        let place = match req.psn.ahead_of(self.expected) {
            0 => Place::New,
            1.. => Place::Gap,
            ..0 => Place::Duplicate,
        };
        if self.owed > 0 && place == Place::Duplicate {
            self.pay();
            return;
        }
        self.req_valid = false;
        match place {
            Place::New if moves => self.take_in(&req),
            Place::New => self.begin(&req),
            Place::Duplicate => self.repeat(&req),
            Place::Gap => self.refuse(),
        }
    }

    /// An answer with an AETH goes to the port.
    fn answer(&mut self, psn: Psn) {
        self.rsp_valid = true;
        self.rsp = Response { psn, syndrome: SYNDROME_ACK, msn: self.msn, ..Response::default() };
    }

    /// One acknowledgement for all that are owed.
    fn pay(&mut self) {
        self.owed = 0;
        self.answer(self.expected.minus(1));
    }

    /// A new SEND or WRITE.
    fn take_in(&mut self, req: &Request) {
        self.advance_to(req.psn);
        let at = match (req.first, req.op) {
            (false, _) => self.follows,
            (_, Op::Send) => 0,
            _ => req.raddr,
        };
        self.deliver_valid = true;
        self.deliver_send = req.op == Op::Send;
        self.deliver_last = req.last;
        self.deliver_addr = at;
        self.follows = at.wrapping_add(u64::from(req.bytes));
        self.msn = self.msn.plus(u32::from(req.last));
        self.owed = self.owed.wrapping_add(u8::from(req.ack_req));
        if self.owed > 0 && self.owed >= self.coalesce {
            self.owed = 0;
            self.answer(req.psn);
        }
        (self.psn, self.last_psn, self.begins) = (req.psn, req.psn, true);
    }

    /// The gap is closed; all up to here have come.
    fn advance_to(&mut self, last: Psn) {
        self.refused = false;
        self.expected = last.plus(1);
    }

    /// A new READ or ATOMIC.
    fn begin(&mut self, req: &Request) {
        let read = req.op == Op::Read;
        let psns = if read { span(req.len, self.mtu) } else { 1 };
        let last_psn = req.psn.plus(psns).minus(1);
        self.advance_to(last_psn);
        self.owed = 0;
        let at = usize::from(self.place) & (self.record.len() - 1);
        self.record[at] = Record {
            psn: req.psn,
            last_psn,
            atomic: !read,
            raddr: req.raddr,
            len: req.len,
            result: 0,
        };
        if read {
            self.keep();
        }
        self.msn = self.msn.plus(u32::from(self.early));
        self.counts = !self.early;
        (self.addr, self.left) = (req.raddr, req.len);
        (self.psn, self.last_psn, self.begins) = (req.psn, last_psn, true);
        self.state = if read { State::Reading } else { State::Asking };
    }

    /// The record in its place stays.
    fn keep(&mut self) {
        self.place = (self.place + 1) & (self.record.len() as u8 - 1);
        self.records = (self.records + 1).min(self.record.len() as u8);
    }

    /// The record that a duplicate READ or ATOMIC asks for.
    fn find(&self, req: &Request) -> Option<Record> {
        let held = &self.record[..usize::from(self.records)];
        let holds = |r: &&Record| {
            r.atomic == (req.op == Op::Atomic)
                && r.psn.ahead_of(req.psn) <= 0
                && req.psn.ahead_of(r.last_psn) <= 0
        };
        held.iter().rfind(holds).copied()
    }

    fn repeat(&mut self, req: &Request) {
        self.dup_valid = true;
        self.dup_op = req.op;
        let found = self.find(req);
        (self.psn, self.begins) = (req.psn, true);
        self.last_psn = found.unwrap_or_default().last_psn;
        match found {
            _ if !req.op.waits() => self.answer(req.psn),
            None => {
                self.drop_valid = true;
                self.drop = RcDrop::Record;
            }
            Some(record) if record.atomic => {
                self.answer(req.psn);
                (self.rsp.kind, self.rsp.result) = (RspKind::Atomic, record.result);
            }
            Some(record) => {
                let gone = req.psn.minus(record.psn.0).0 << self.mtu & 0xff_ffff;
                self.counts = false;
                self.addr = record.raddr.wrapping_add(u64::from(gone));
                self.left = record.len.wrapping_sub(gone) & 0x1f_ffff;
                self.state = State::Reading;
            }
        }
    }

    /// One behind a gap: the first is refused.
    fn refuse(&mut self) {
        if self.refused {
            self.drop_valid = true;
            self.drop = RcDrop::Gap;
        } else {
            self.answer(self.expected);
            self.rsp.syndrome = SYNDROME_SEQUENCE;
            self.owed = 0;
        }
        self.refused = true;
    }

    /// The next packet of a READ's response.
    fn read_on(&mut self) {
        let ends = self.psn == self.last_psn;
        self.msn = self.msn.plus(u32::from(ends && self.counts));
        self.answer(self.psn);
        let bytes = part(self.left, self.mtu);
        self.rsp.kind = match (self.begins, ends) {
            (true, true) => RspKind::ReadOnly,
            (true, false) => RspKind::ReadFirst,
            (false, true) => RspKind::ReadLast,
            (false, false) => RspKind::ReadMiddle,
        };
        if self.rsp.kind == RspKind::ReadMiddle {
            (self.rsp.syndrome, self.rsp.msn) = (0, Psn::default());
        }
        self.rsp.bytes = bytes;
        self.rsp_addr = self.addr;
        self.begins = false;
        self.psn = self.psn.plus(1);
        self.addr = self.addr.wrapping_add(u64::from(bytes));
        self.left -= u32::from(bytes);
        if ends {
            self.state = State::Idle;
        }
    }

    /// Host memory has done the operation; what stood there is kept, and is the answer.
    fn finish_atomic(&mut self, result: u64) {
        let at = usize::from(self.place) & (self.record.len() - 1);
        self.record[at].result = result;
        self.keep();
        self.msn = self.msn.plus(u32::from(self.counts));
        self.answer(self.psn);
        (self.rsp.kind, self.rsp.result) = (RspKind::Atomic, result);
        self.state = State::Idle;
    }

    /// A connection begins.
    fn open(&mut self, i: &Inputs) {
        let reads = self.record.len() as u32;
        *self = Self {
            open: true,
            expected: i.cfg_psn,
            msn: i.cfg_msn,
            mtu: i.cfg_mtu,
            early: i.cfg_early,
            coalesce: i.cfg_coalesce,
            ..Self::reset(&Sizes { reads, ..Sizes::DEFAULT })
        };
    }
}
