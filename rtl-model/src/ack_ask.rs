//! Asks again for a cumulative ACK: the last packet of a message that SACKs have retired whole goes
//! again while no ACK covers it.
//!
//! Twin of `hdl/ack_ask.sv`. CPL-2: a message is looked at every 2 × `InitialAckTimeout` from its
//! `SEND_COMPLETE` on, the clock in which `completion` logs it, one after its `sent` is taken: a
//! `timer_wheel` with a timer for each message entry tells at the first tick at or after that. If
//! `ack_take` finds it retired from its first packet to its last, `tx_scheduler` is told of a copy,
//! and `retransmit` which packet that is. It ends when its message leaves `completion`: with its
//! `WQE_COMPLETE`, or forgotten at an error or a close.
//!
//! One message at a time: 3 clocks from its expiry to the check; with a copy it lasts until
//! `tx_scheduler` has sent it, so that others are looked at later where the egress pool is full,
//! each with the period that it had (a later one than its period: at the next tick).
//!
//! The period is floor(2 × T) whole microseconds, at least 1, of `cfg_timeout`, which is T in
//! microseconds with 41 binary places; the ticks of a message are those of its first one, plus the
//! period, again and again.
//!
//! Borders: an expiry on offer, or in work, whose message leaves; `SEND_COMPLETE` on a tick; 2 × T
//! below 1 microsecond, and at 8 s; both ends of the table of messages.
//!
//! The memory `node` (MSGS words of 66 bits) has no defined contents at start: a word is written
//! before its timer is armed. Its ports are combinational, from registers and the expiry.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::retransmit::TIMEOUT_PLACES;
use crate::sizes::Sizes;
use crate::timer_wheel::END;
use crate::types::Psn;

/// A word of the memory `node`: a message that is sent and not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Node {
    /// Replay slot of its last packet.
    #[bits(10)]
    pub slot: u16,
    /// Slot of its QP.
    pub qp: u8,
    /// PSN of its first packet.
    pub first: Psn,
    /// PSN of its last packet.
    pub last: Psn,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `csr`: microseconds with 41 binary places.
    pub cfg_timeout: u64,
    /// From `tx_scheduler`, to `completion`: the last fetch of a message is issued.
    pub sent_valid: bool,
    /// From `completion`, to `tx_scheduler`.
    pub sent_ready: bool,
    /// From `tx_scheduler`.
    pub sent_qp: u8,
    /// From `tx_scheduler`.
    #[bits(10)]
    pub sent_msg: u16,
    /// From `tx_scheduler`: of the last packet.
    #[bits(10)]
    pub sent_slot: u16,
    /// From `tx_scheduler`: of the first packet.
    pub sent_first: Psn,
    /// From `tx_scheduler`: of the last packet.
    pub sent_psn: Psn,
    /// From `completion`: a message is complete or forgotten.
    pub left_valid: bool,
    /// From `completion`.
    #[bits(10)]
    pub left_msg: u16,
    /// From `retransmit`'s `timer_wheel`: ticks counted.
    #[bits(48)]
    pub ticks: u64,
    /// From `timer_wheel`: a message is to be looked at.
    pub exp_valid: bool,
    /// From `timer_wheel`.
    #[bits(10)]
    pub exp_slot: u16,
    /// From `timer_wheel`.
    #[bits(48)]
    pub exp_tick: u64,
    /// From `ack_take`.
    pub check_ready: bool,
    /// From `ack_take`: the answer.
    pub check_rsp_valid: bool,
    /// From `ack_take`: the message is retired whole.
    pub check_rsp_clear: bool,
    /// From `tx_scheduler`: the copy went, or there is none any more.
    pub copy_done: bool,
    /// From the memory of messages.
    pub node_rdata: Node,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `timer_wheel`.
    pub arm_valid: bool,
    /// To `timer_wheel`: the message.
    #[bits(10)]
    pub arm_slot: u16,
    /// To `timer_wheel`.
    #[bits(48)]
    pub arm_start: u64,
    /// To `timer_wheel`.
    #[bits(48)]
    pub arm_span: u64,
    /// To `timer_wheel`.
    pub cancel_valid: bool,
    /// To `timer_wheel`: the message.
    #[bits(10)]
    pub cancel_slot: u16,
    /// To `timer_wheel`.
    pub exp_ready: bool,
    /// To `ack_take`: is a message retired?
    pub check_valid: bool,
    /// To `ack_take`: its QP.
    pub check_qp: u8,
    /// To `ack_take`: from this packet …
    pub check_first: Psn,
    /// … to this one.
    pub check_last: Psn,
    /// To `tx_scheduler`: a copy is to go.
    pub copy_valid: bool,
    /// To `retransmit`: it is still wanted.
    pub copy_live: bool,
    /// To `retransmit`.
    #[bits(10)]
    pub copy_slot: u16,
    /// To the memory of messages, a word a message entry.
    pub node_we: bool,
    /// To the memory of messages.
    pub node_waddr: u32,
    /// To the memory of messages.
    pub node_wdata: Node,
    /// To the memory of messages.
    pub node_re: bool,
    /// To the memory of messages.
    pub node_raddr: u32,
}

/// What goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// Takes an expiry, and reads its message.
    #[default]
    Idle = 0,
    /// Has it.
    Read = 1,
    /// Asks `ack_take`.
    Check = 2,
    /// Its answer is on its way.
    Checked = 3,
    /// Waits until the copy has gone.
    Copy = 4,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What goes on.
    pub state: State,
    /// The message in work.
    #[bits(10)]
    pub msg: u16,
    /// It has left meanwhile.
    pub gone: bool,
    /// The slot of its last packet.
    #[bits(10)]
    pub slot: u16,
    /// Its QP.
    pub qp: u8,
    /// Its first packet.
    pub first: Psn,
    /// Its last one.
    pub last: Psn,
    /// A message has its `SEND_COMPLETE` in this clock.
    pub new_valid: bool,
    /// Its entry.
    #[bits(10)]
    pub new_msg: u16,
    /// The slot of its last packet.
    #[bits(10)]
    pub new_slot: u16,
    /// Its QP.
    pub new_qp: u8,
    /// Its first packet.
    pub new_first: Psn,
    /// Its last one.
    pub new_last: Psn,
    /// The next timer of the message in work is to be armed.
    pub next_valid: bool,
    /// From when on it counts.
    #[bits(48)]
    pub next_start: u64,
    /// A timer is armed.
    pub arm_valid: bool,
    /// Of this message.
    #[bits(10)]
    pub arm_msg: u16,
    /// From when on it counts.
    #[bits(48)]
    pub arm_start: u64,
    /// A timer is cancelled.
    pub cancel_valid: bool,
    /// Of this message.
    #[bits(10)]
    pub cancel_msg: u16,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        let (qp, first, last) = (self.new_qp, self.new_first, self.new_last);
        let node = Node { slot: self.new_slot, qp, first, last };
        *o = Outputs {
            arm_valid: self.arm_valid,
            arm_slot: self.arm_msg,
            arm_start: self.arm_start,
            cancel_valid: self.cancel_valid,
            cancel_slot: self.cancel_msg,
            check_valid: self.state == State::Check,
            check_qp: self.qp,
            check_first: self.first,
            check_last: self.last,
            copy_valid: self.state == State::Copy,
            copy_live: self.state == State::Copy && !self.gone,
            copy_slot: self.slot,
            node_we: self.new_valid,
            node_waddr: if self.new_valid { u32::from(self.new_msg) } else { 0 },
            node_wdata: if self.new_valid { node } else { Node::default() },
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.arm_span = period(i.cfg_timeout);
        o.exp_ready = self.state == State::Idle || self.spoilt(i);
        o.node_re = self.takes(i);
        o.node_raddr = if o.node_re { u32::from(i.exp_slot) } else { 0 };
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        let takes = self.takes(i);
        let leaves = i.left_valid && i.left_msg == self.msg;
        self.gone |= leaves;
        self.next_valid &= !leaves;
        self.arm(i);
        self.new_valid = i.sent_valid && i.sent_ready;
        if self.new_valid {
            (self.new_msg, self.new_slot, self.new_qp) = (i.sent_msg, i.sent_slot, i.sent_qp);
            (self.new_first, self.new_last) = (i.sent_first, i.sent_psn);
        }
        self.cancel_valid = i.left_valid;
        if i.left_valid {
            self.cancel_msg = i.left_msg;
        }
        match self.state {
            State::Idle if takes => {
                self.msg = i.exp_slot;
                self.gone = false;
                (self.next_valid, self.next_start) = (true, i.exp_tick);
                self.state = State::Read;
            }
            State::Read => {
                let Node { slot, qp, first, last } = i.node_rdata;
                (self.slot, self.qp, self.first, self.last) = (slot, qp, first, last);
                self.state = if self.gone { State::Idle } else { State::Check };
            }
            State::Check if i.check_ready => self.state = State::Checked,
            State::Checked if i.check_rsp_valid => {
                let copies = i.check_rsp_clear && !self.gone;
                self.state = if copies { State::Copy } else { State::Idle };
            }
            State::Copy if i.copy_done => self.state = State::Idle,
            _ => {}
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let events = self.new_valid || self.next_valid || self.arm_valid || self.cancel_valid;
        let asked = i.sent_valid && i.sent_ready || i.left_valid || i.exp_valid;
        self.state == State::Idle && !events && !asked
    }
}

/// CPL-2: whole microseconds of 2 × T, at least 1.
fn period(timeout: u64) -> u64 {
    (timeout >> (TIMEOUT_PLACES - 1)).max(1)
}

impl Regs {
    /// The expiry on offer is of a message that leaves in this clock, or left in the one before.
    fn spoilt(&self, i: &Inputs) -> bool {
        let leaves = i.left_valid && i.left_msg == i.exp_slot;
        let left = self.cancel_valid && self.cancel_msg == i.exp_slot;
        i.exp_valid && (leaves || left)
    }

    /// An expiry is taken.
    fn takes(&self, i: &Inputs) -> bool {
        i.exp_valid && self.state == State::Idle && !self.spoilt(i)
    }

    /// The timer of a new message goes before the next one of that in work.
    fn arm(&mut self, i: &Inputs) {
        self.arm_valid = self.new_valid || self.next_valid;
        if self.new_valid {
            self.arm_msg = self.new_msg;
            self.arm_start = (i.ticks + 1) & END;
        } else if self.next_valid {
            self.next_valid = false;
            self.arm_msg = self.msg;
            self.arm_start = self.next_start;
        }
    }
}
