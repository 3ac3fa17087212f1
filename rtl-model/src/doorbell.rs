//! Doorbell: takes the host's writes to the BAR, checks work requests, has them carried out.
//!
//! Twin of `hdl/doorbell.sv`. One write at a time: taken in clock N, checked in N+1. A register
//! write reaches `csr` in N+2. A work request asks `qp_table` from N+2 on and is handed to
//! `tx_scheduler` and `completion` when the answer has come, at the earliest in N+5.
//!
//! QP-2: a write of 64 B in the doorbell page is a work request; it opens its QP if it says so.
//! QP-3: `ring` is high in clock N+15, exactly, if `tx_scheduler` took the message by N+14; if it
//! took it later, in the clock after that.
//! QP-5: a close of the sender side goes to `qp_table`, one of the receiver side to `rx_track`.
//!
//! Refusals, the first that applies: size, opcode, reserved bits, peer, length, message table, QP.
//! The message table is looked at before `qp_table` is asked, so that nothing has to be undone.
//! Each is one refuse event; one in the doorbell page is also an error for `completion`.
//! Borders: 1 to 64 DWs; each reserved bit; length 2^31 − 1 and 2^31; dest 63 and 64; the last
//! register and the first doorbell address; a ring while the next write is in work.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::host_interface::{
    DOORBELL_PAGE, MAX_LENGTH, OP_CLOSE_RECEIVER, OP_CLOSE_SENDER, OP_WRITE, PAGE_BYTES,
    REGISTER_PAGE, WQE_BYTES, Wqe,
};
use crate::qp_table::{CLOSE, OPEN, POST};
use crate::sizes::Sizes;
use crate::types::{Qpn, Refuse, Word};

/// Clocks from the one in which a write is taken to its ring (QP-3: 15 ns).
const RING_CLOCKS: u8 = 15;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Inputs {
    /// From `tlp_parse`.
    pub page_valid: bool,
    pub page_addr: u64,
    /// Bytes of the write.
    #[bits(11)]
    pub page_len: u16,
    /// Every byte of it is enabled.
    pub page_full: bool,
    pub page_data: Word,
    /// From `qp_table`.
    pub qp_ready: bool,
    pub qp_rsp_valid: bool,
    pub qp_rsp_ok: bool,
    pub qp_rsp_full: bool,
    pub qp_rsp_failed: bool,
    pub qp_rsp_qpn: Qpn,
    pub qp_rsp_group: u8,
    #[bits(6)]
    pub qp_rsp_dest: u8,
    pub qp_rsp_msn: u16,
    /// From `completion`: free message entries.
    pub msg_valid: bool,
    #[bits(10)]
    pub msg: u16,
    /// From `tx_scheduler`.
    pub post_sched_ready: bool,
    /// From `completion`.
    pub post_done_ready: bool,
    /// From `completion`.
    pub err_ready: bool,
    /// From `rx_track`.
    pub close_ready: bool,
    /// From `csr`.
    pub cfg_peer_valid: u64,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Outputs {
    /// To `tlp_parse`.
    pub page_ready: bool,
    /// To `csr`.
    pub csr_valid: bool,
    #[bits(9)]
    pub csr_index: u16,
    pub csr_data: u64,
    /// To `tx_scheduler`: a pass begins.
    pub ring: bool,
    /// To `qp_table`.
    pub qp_valid: bool,
    #[bits(2)]
    pub qp_op: u8,
    pub qp_qpn: Qpn,
    #[bits(6)]
    pub qp_dest: u8,
    /// To `completion`.
    pub msg_ready: bool,
    /// To `tx_scheduler` and `completion`: a message.
    pub post_sched_valid: bool,
    pub post_done_valid: bool,
    pub post_qp: u8,
    pub post_qpn: Qpn,
    #[bits(6)]
    pub post_dest: u8,
    pub post_group: u8,
    pub post_open: bool,
    #[bits(10)]
    pub post_msg: u16,
    pub post_laddr: u64,
    pub post_raddr: u64,
    pub post_rkey: u32,
    pub post_len: u32,
    pub post_msn: u16,
    pub post_cookie: u64,
    /// To `completion`: a request was refused.
    pub err_valid: bool,
    pub err_code: Refuse,
    pub err_cookie: u64,
    pub err_qpn: Qpn,
    pub err_len: u32,
    /// To `rx_track`.
    pub close_valid: bool,
    pub close_qpn: Qpn,
    /// To the counters: any refusal.
    pub refuse_valid: bool,
    pub refuse_code: Refuse,
}

/// What the write in work waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// There is none.
    #[default]
    Idle = 0,
    /// For its check.
    Check = 1,
    /// For `qp_table` to take the question.
    Ask = 2,
    /// For its answer.
    Answer = 3,
    /// For both partners to take the message.
    Post = 4,
    /// For `rx_track`.
    Close = 5,
    /// For `completion` to take the refusal.
    Err = 6,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What the write in work waits for.
    pub state: State,
    /// Its address in the BAR.
    pub addr: u16,
    /// Its bytes.
    #[bits(11)]
    pub len: u16,
    /// All of them are enabled.
    pub full: bool,
    /// Its first 64 B: the work request.
    pub wqe: Word,
    /// Clocks since it was taken, up to 14.
    #[bits(4)]
    pub age: u8,
    /// A register write.
    pub csr: bool,
    /// `tx_scheduler` has not taken the message.
    pub post_sched: bool,
    /// `completion` has not taken it.
    pub post_done: bool,
    /// Its message entry.
    #[bits(10)]
    pub msg: u16,
    /// Its QP.
    pub qpn: Qpn,
    /// The QP's group.
    pub group: u8,
    /// Messages posted on the QP before.
    pub msn: u16,
    /// The last write was refused.
    pub refuse: bool,
    /// Why.
    pub code: Refuse,
    /// Bit k: a ring in 14 − k clocks.
    #[bits(15)]
    pub rings: u16,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self {
            state: State::Idle,
            addr: 0,
            len: 0,
            full: false,
            wqe: Word::ZERO,
            age: 1,
            csr: false,
            post_sched: false,
            post_done: false,
            msg: 0,
            qpn: Qpn(0),
            group: 0,
            msn: 0,
            refuse: false,
            code: Refuse::None,
            rings: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        let wqe = Wqe::from_words(&self.wqe.0);
        o.page_ready = self.state == State::Idle;
        o.csr_valid = self.csr;
        o.csr_index = self.addr >> 3 & 0x1ff;
        o.csr_data = self.wqe.0[0];
        o.ring = self.rings >> (RING_CLOCKS - 1) != 0;
        o.qp_valid = self.state == State::Ask;
        o.qp_op = match wqe.opcode {
            OP_CLOSE_SENDER => CLOSE,
            _ if wqe.open => OPEN,
            _ => POST,
        };
        o.qp_qpn = wqe.qpn;
        o.qp_dest = wqe.dest & 0x3f;
        o.msg_ready = false;
        o.post_sched_valid = self.post_sched;
        o.post_done_valid = self.post_done;
        o.post_qp = self.qpn.slot();
        o.post_qpn = self.qpn;
        o.post_dest = wqe.dest & 0x3f;
        o.post_group = self.group;
        o.post_open = wqe.open;
        o.post_msg = self.msg;
        o.post_laddr = wqe.laddr;
        o.post_raddr = wqe.raddr;
        o.post_rkey = wqe.rkey;
        o.post_len = wqe.length;
        o.post_msn = self.msn;
        o.post_cookie = wqe.cookie;
        o.err_valid = self.state == State::Err;
        o.err_code = self.code;
        // What is no work request has no fields.
        let wqe = if self.code == Refuse::Size { Wqe::default() } else { wqe };
        o.err_cookie = wqe.cookie;
        o.err_qpn = wqe.qpn;
        o.err_len = wqe.length;
        o.close_valid = self.state == State::Close;
        o.close_qpn = o.qp_qpn;
        o.refuse_valid = self.refuse;
        o.refuse_code = self.code;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.msg_ready = self.state == State::Answer
            && i.qp_rsp_valid
            && i.qp_rsp_ok
            && self.wqe.0[0] as u8 != OP_CLOSE_SENDER;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        self.csr = false;
        self.refuse = false;
        self.rings = self.rings << 1 & 0x7fff;
        let age = self.age;
        self.age = (age + 1).min(RING_CLOCKS - 1);
        match self.state {
            State::Idle => {
                self.age = 1;
                if i.page_valid {
                    self.state = State::Check;
                    self.addr = i.page_addr as u16;
                    self.len = i.page_len;
                    self.full = i.page_full;
                    self.wqe = i.page_data;
                }
            }
            State::Check => self.check(i),
            State::Ask => {
                if i.qp_ready {
                    self.state = State::Answer;
                }
            }
            State::Answer if i.qp_rsp_valid && i.qp_rsp_ok => {
                // A close of the sender side takes no message entry.
                self.post_sched = o.msg_ready;
                self.post_done = o.msg_ready;
                self.state = if o.msg_ready { State::Post } else { State::Idle };
                self.msg = i.msg;
                self.qpn = i.qp_rsp_qpn;
                self.group = i.qp_rsp_group;
                self.msn = i.qp_rsp_msn;
            }
            State::Answer if i.qp_rsp_valid => {
                self.refuse(match (i.qp_rsp_full, i.qp_rsp_failed) {
                    (true, _) => Refuse::QpFull,
                    (false, true) => Refuse::QpError,
                    (false, false) => Refuse::Qp,
                });
                self.state = State::Err;
            }
            State::Answer => {}
            State::Post => {
                if self.post_sched && i.post_sched_ready {
                    self.post_sched = false;
                    self.rings |= 1 << age;
                }
                self.post_done &= !i.post_done_ready;
                if !self.post_sched && !self.post_done {
                    self.state = State::Idle;
                }
            }
            State::Close => {
                if i.close_ready {
                    self.state = State::Idle;
                }
            }
            State::Err => {
                if i.err_ready {
                    self.state = State::Idle;
                }
            }
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        // The age is back at 1 one clock after the last write.
        let told = self.csr || self.refuse || self.rings != 0;
        self.state == State::Idle && self.age == 1 && !i.page_valid && !told
    }
}

impl Regs {
    /// Sends the write where it goes.
    fn check(&mut self, i: &Inputs) {
        let page = u64::from(self.addr) & !(PAGE_BYTES - 1);
        let whole = |bytes: u16| self.full && self.len == bytes && self.addr.is_multiple_of(bytes);
        self.code = Refuse::None;
        if page == REGISTER_PAGE {
            self.csr = whole(8);
            self.state = State::Idle;
            if !self.csr {
                self.refuse(Refuse::Size);
            }
        } else if page == DOORBELL_PAGE {
            let wqe = Wqe::from_words(&self.wqe.0);
            let code = if whole(WQE_BYTES as u16) { self.judge(&wqe, i) } else { Refuse::Size };
            if code != Refuse::None {
                self.refuse(code);
                self.state = State::Err;
            } else if wqe.opcode == OP_CLOSE_RECEIVER {
                self.state = State::Close;
            } else {
                self.state = State::Ask;
            }
        } else {
            self.refuse(Refuse::Size);
            self.state = State::Idle;
        }
    }

    /// Why a work request is refused, as far as it can be told without `qp_table`.
    fn judge(&self, wqe: &Wqe, i: &Inputs) -> Refuse {
        if !(OP_WRITE..=OP_CLOSE_RECEIVER).contains(&wqe.opcode) {
            return Refuse::Opcode;
        }
        if self.wqe.0.iter().zip(wqe.reserved()).any(|(word, zero)| word & zero != 0) {
            return Refuse::Reserved;
        }
        if wqe.opcode != OP_WRITE {
            return Refuse::None;
        }
        if wqe.dest > 63 || i.cfg_peer_valid >> wqe.dest & 1 == 0 {
            Refuse::Peer
        } else if wqe.length > MAX_LENGTH {
            Refuse::Length
        } else if !i.msg_valid {
            Refuse::MsgFull
        } else {
            Refuse::None
        }
    }

    fn refuse(&mut self, code: Refuse) {
        self.refuse = true;
        self.code = code;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr;
    use crate::host_interface::{DOORBELL_PAGE, index, peer_value, register_offset};

    /// A work request behind a register write sees the new value, however close they come.
    #[test]
    fn a_work_request_sees_the_register_write_before_it() {
        let mut doorbell = Regs::reset(&Sizes::DEFAULT);
        let mut csr = csr::Regs::reset(&Sizes::DEFAULT);
        let wqe = Wqe { opcode: OP_WRITE, open: true, dest: 5, ..Wqe::default() };
        let peer = peer_value(0x0a00_0002, true).to_le_bytes();
        let writes = [
            (register_offset(index::PEER + 5), Word::from_bytes(&peer), 8),
            (DOORBELL_PAGE, Word::from_bytes(&wqe.to_bytes()), 64),
        ];
        let mut next = writes.into_iter().peekable();
        let (mut o, mut levels) = (Outputs::default(), csr::Outputs::default());
        for _ in 0..6 {
            doorbell.drive(&mut o);
            csr.drive(&mut levels);
            let (page_addr, page_data, page_len) = next.peek().copied().unwrap_or(writes[1]);
            let i = Inputs {
                page_valid: next.peek().is_some(),
                page_addr,
                page_data,
                page_len,
                page_full: true,
                msg_valid: true,
                cfg_peer_valid: levels.cfg_peer_valid,
                ..Inputs::default()
            };
            let write =
                csr::Inputs { wr_valid: o.csr_valid, wr_index: o.csr_index, wr_data: o.csr_data };
            if o.page_ready {
                next.next();
            }
            doorbell.clock(&i, &o);
            csr.clock(&write, &levels);
        }
        assert_eq!((doorbell.state, doorbell.code), (State::Ask, Refuse::None));
    }
}
