//! QP drain: ends a QP before its messages do, on error or when the host closes it (QP-6).
//!
//! Twin of `hdl/qp_drain.sv`. One QP at a time, lowest slot first; without partners' waits 8 clocks
//! and what the purge takes; a close is also as long as the fetches that are under way. A segment
//! that came to nothing takes 3 clocks and may come between, while a QP waits for its fetches or
//! there is none in work. Requests are noted in the clock in which they come.
//!
//! The order makes each thing end once. `qp_table` marks the QP (it takes no message from then on,
//! and `payload_fetch` hands on no segment of it); `doorbell`'s post under way is waited for;
//! `tx_scheduler` forgets its queue; `packet_build` ends what it has of it; `ack_take` discards
//! what is not retired (flight, slots, messages). A close then waits for the fetches under way, so
//! that no segment of the old QP meets a new one, and frees the slot. A second drain of a QP finds
//! nothing left.
//!
//! A segment that came to nothing gives back its slot, its egress room and its bytes in flight, and
//! `tx_scheduler` may go on with its group; if its read has failed (a reason) its QP ends. So in an
//! error the bytes of payloads still to come leave flight as they arrive. BUF-5: with a prefetch
//! buffer its room is there, as it was not committed; a close waits for the commits of others.
//!
//! Why: the first reason is kept, but a close comes before any. An error is told once, as `error`.
//! Borders: a hand-off, a build or an issue in the clock in which their wait begins; a failed read
//! in the middle of a close; both ends of the table.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::BitMap;
use crate::sizes::Sizes;
use crate::types::{Qpn, Segment, Why};

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Inputs {
    /// From `payload_fetch`: a segment that came to nothing; reason 0: its QP has ended.
    pub failed_valid: bool,
    pub failed: Segment,
    #[bits(3)]
    pub failed_reason: u8,
    /// From `retransmit`: a budget is spent.
    pub fail_valid: bool,
    pub fail_qp: u8,
    pub fail_why: Why,
    /// From `ack_take`: NACKs have spent a packet's budget.
    pub spent_valid: bool,
    pub spent_qp: u8,
    /// From `qp_table`: the host closes a QP with messages outstanding.
    pub drain_valid: bool,
    pub drain_qp: u8,
    /// From `qp_table`.
    pub end_ready: bool,
    pub end_rsp_valid: bool,
    pub end_rsp_ok: bool,
    pub end_rsp_qpn: Qpn,
    pub end_rsp_group: u8,
    /// Of `doorbell`: the post under way.
    pub post_sched_valid: bool,
    pub post_done_valid: bool,
    pub post_qp: u8,
    /// From `tx_scheduler`.
    pub drop_ready: bool,
    /// Of `tx_scheduler`: a segment issued.
    pub seg_valid: bool,
    pub seg_ready: bool,
    pub seg: Segment,
    /// Of `payload_fetch`: a segment handed on.
    pub hand_valid: bool,
    pub hand_ready: bool,
    pub hand: Segment,
    /// Of `packet_build`: a packet is built.
    pub built_valid: bool,
    /// From `ack_take`.
    pub purge_ready: bool,
    pub purge_done: bool,
    /// From `replay_store`.
    pub toss_ready: bool,
    /// From `window`.
    pub flight_ready: bool,
    /// From `csr`.
    #[bits(7)]
    pub cfg_wire_overhead: u8,
    /// From `csr`.
    #[bits(7)]
    pub cfg_nominal_overhead: u8,
    /// From `csr`: payloads wait in the prefetch buffer (BUF-5).
    pub cfg_prefetch_on: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Outputs {
    /// To `payload_fetch`.
    pub failed_ready: bool,
    /// To `retransmit`.
    pub fail_ready: bool,
    /// To `qp_table`: a mark, or a slot to be free.
    pub end_valid: bool,
    pub end_qp: u8,
    pub end_close: bool,
    pub end_free: bool,
    /// To `tx_scheduler`: a QP that sends nothing more.
    pub drop_valid: bool,
    pub drop_qp: u8,
    pub drop_group: u8,
    /// To `ack_take`: a QP to empty.
    pub purge_valid: bool,
    pub purge_qp: u8,
    /// To `replay_store`: a slot.
    pub toss_valid: bool,
    #[bits(10)]
    pub toss_slot: u16,
    /// To `window`: bytes leave flight.
    pub flight_valid: bool,
    pub flight_group: u8,
    #[bits(14)]
    pub flight_bytes: u16,
    /// To `egress_arbiter`: a reservation.
    pub unresv_valid: bool,
    /// To `prefetch_pool` instead, where there is one (BUF-5).
    pub unfetch_valid: bool,
    #[bits(14)]
    pub unresv_bytes: u16,
    /// For the log.
    pub error_valid: bool,
    pub error_qpn: Qpn,
    pub error_why: Why,
}

/// What goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(4)]
pub enum State {
    /// Takes a segment, or a QP that is to end.
    #[default]
    Idle = 0,
    /// Asks `qp_table`.
    Mark = 1,
    /// Its answer is on its way.
    Marked = 2,
    /// Waits for `doorbell`'s post.
    Settle = 3,
    /// `tx_scheduler` is told.
    Drop = 4,
    /// Waits for `packet_build`.
    Build = 5,
    /// Asks `ack_take`.
    Purge = 6,
    /// Waits for its end.
    Purged = 7,
    /// A close: waits for the fetches under way.
    Fetches = 8,
    /// Asks `qp_table` for the slot.
    Free = 9,
    /// Its answer is on its way.
    Freed = 10,
    /// A segment gives back what it has.
    Toss = 11,
    /// `tx_scheduler` is told.
    Tossed = 12,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What goes on.
    pub state: State,
    /// QPs that are to end.
    pub due: BitMap,
    /// Why.
    pub why: Vec<Why>,
    /// The QP in work.
    pub qp: u8,
    /// Its group.
    pub group: u8,
    /// Why it ends.
    pub cause: Why,
    /// `left` counts down.
    pub counts: bool,
    /// Builds or fetches to wait for.
    #[bits(11)]
    pub left: u16,
    /// Segments issued and not handed on.
    #[bits(11)]
    pub fetching: u16,
    /// Segments handed on and not built.
    #[bits(2)]
    pub building: u8,
    /// A close waits for its fetches.
    pub emptying: bool,
    /// QP of the segment in work.
    pub toss_qp: u8,
    /// Its group.
    pub toss_group: u8,
    /// Its slot waits for `replay_store`.
    pub toss_valid: bool,
    /// That slot.
    #[bits(10)]
    pub toss_slot: u16,
    /// Its bytes wait for `window`.
    pub flight_valid: bool,
    /// Those bytes, nominal.
    #[bits(14)]
    pub flight_bytes: u16,
    /// Event.
    pub unresv_valid: bool,
    /// Event, instead.
    pub unfetch_valid: bool,
    /// Its bytes on the wire.
    #[bits(14)]
    pub unresv_bytes: u16,
    /// Event.
    pub error_valid: bool,
    /// The QP last marked.
    pub error_qpn: Qpn,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            state: State::Idle,
            due: BitMap::repeat(false, sizes.qps as usize),
            why: vec![Why::Read; sizes.qps as usize],
            qp: 0,
            group: 0,
            cause: Why::Read,
            counts: false,
            left: 0,
            fetching: 0,
            building: 0,
            emptying: false,
            toss_qp: 0,
            toss_group: 0,
            toss_valid: false,
            toss_slot: 0,
            flight_valid: false,
            flight_bytes: 0,
            unresv_valid: false,
            unfetch_valid: false,
            unresv_bytes: 0,
            error_valid: false,
            error_qpn: Qpn::default(),
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.failed_ready = matches!(self.state, State::Idle | State::Fetches);
        o.fail_ready = true;
        o.end_valid = matches!(self.state, State::Mark | State::Free);
        o.end_qp = self.qp;
        o.end_close = self.cause == Why::Close;
        o.end_free = self.state == State::Free;
        o.drop_valid = matches!(self.state, State::Drop | State::Tossed);
        (o.drop_qp, o.drop_group) = if self.state == State::Tossed {
            (self.toss_qp, self.toss_group)
        } else {
            (self.qp, self.group)
        };
        o.purge_valid = self.state == State::Purge;
        o.purge_qp = self.qp;
        o.toss_valid = self.toss_valid;
        o.toss_slot = self.toss_slot;
        o.flight_valid = self.flight_valid;
        o.flight_group = self.toss_group;
        o.flight_bytes = self.flight_bytes;
        o.unresv_valid = self.unresv_valid;
        o.unfetch_valid = self.unfetch_valid;
        o.unresv_bytes = self.unresv_bytes;
        o.error_valid = self.error_valid;
        o.error_qpn = self.error_qpn;
        o.error_why = self.cause;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let fails = i.failed_valid && o.failed_ready;
        self.count(i, fails);
        self.toss_valid &= !i.toss_ready;
        self.flight_valid &= !i.flight_ready;
        self.unresv_valid = false;
        self.unfetch_valid = false;
        self.error_valid = false;
        self.go_on(i, fails);
        if fails {
            self.toss(i);
        }
        if i.fail_valid {
            self.note(i.fail_qp, i.fail_why);
        }
        if i.spent_valid {
            self.note(i.spent_qp, Why::Nack);
        }
        if i.drain_valid {
            self.note(i.drain_qp, Why::Close);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let asked = i.failed_valid || i.fail_valid || i.spent_valid || i.drain_valid;
        let moves = i.seg_valid && i.seg_ready || i.hand_valid && i.hand_ready || i.built_valid;
        let tells = self.unresv_valid || self.unfetch_valid || self.error_valid;
        self.state == State::Idle && !asked && !moves && !tells && self.due.not_any()
    }
}

impl Regs {
    /// What is on its way, and what a wait still has before it.
    fn count(&mut self, i: &Inputs, fails: bool) {
        let handed = i.hand_valid && i.hand_ready;
        let issued = u16::from(i.seg_valid && i.seg_ready);
        let ended = u16::from(handed) + u16::from(fails);
        self.fetching = (self.fetching + issued).wrapping_sub(ended) & 0x7ff;
        self.building =
            (self.building + u8::from(handed)).wrapping_sub(u8::from(i.built_valid)) & 3;
    }

    /// A wait for builds or fetches: begins when none of this QP is still to come.
    fn wait(&mut self, more: bool, now: u16, ended: bool) -> bool {
        if !self.counts {
            self.counts = !more;
            self.left = now;
            return false;
        }
        let over = self.left == 0;
        self.left = self.left.saturating_sub(u16::from(ended));
        over
    }

    /// A segment is no longer fetched, in this clock.
    fn fetched(i: &Inputs, fails: bool) -> bool {
        i.hand_valid && i.hand_ready || fails
    }

    fn go_on(&mut self, i: &Inputs, fails: bool) {
        match self.state {
            State::Idle if !fails => self.choose(),
            State::Mark if i.end_ready => self.state = State::Marked,
            State::Marked if i.end_rsp_valid => {
                self.group = i.end_rsp_group;
                self.error_qpn = i.end_rsp_qpn;
                self.error_valid = i.end_rsp_ok && self.cause != Why::Close;
                self.state = if i.end_rsp_ok { State::Settle } else { State::Idle };
            }
            State::Settle => {
                let posting = i.post_sched_valid || i.post_done_valid;
                if !(posting && i.post_qp == self.qp) {
                    self.state = State::Drop;
                }
            }
            State::Drop if i.drop_ready => self.state = State::Build,
            State::Build => {
                let more = i.hand_valid && i.hand.qp == self.qp;
                if self.wait(more, u16::from(self.building), i.built_valid) {
                    self.counts = false;
                    self.state = State::Purge;
                }
            }
            State::Purge if i.purge_ready => self.state = State::Purged,
            State::Purged if i.purge_done => {
                self.emptying = self.cause == Why::Close;
                self.state = if self.emptying { State::Fetches } else { State::Idle };
            }
            State::Fetches => {
                let more = i.seg_valid && i.seg.qp == self.qp;
                if self.wait(more, self.fetching, Self::fetched(i, fails)) && !fails {
                    self.counts = false;
                    self.emptying = false;
                    self.state = State::Free;
                }
            }
            State::Free if i.end_ready => self.state = State::Freed,
            State::Freed if i.end_rsp_valid => {
                self.due.set(usize::from(self.qp), false);
                self.state = State::Idle;
            }
            State::Toss | State::Tossed => self.give_back(i),
            _ => {}
        }
    }

    fn choose(&mut self) {
        if let Some(qp) = self.due.first_one() {
            self.qp = qp as u8;
            self.cause = self.why[qp];
            self.due.set(qp, false);
            self.state = State::Mark;
        }
    }

    /// The segment in work; a close that waits for its fetches counts on meanwhile.
    fn give_back(&mut self, i: &Inputs) {
        if self.counts {
            self.left = self.left.saturating_sub(u16::from(Self::fetched(i, false)));
        }
        if self.state == State::Toss {
            if !self.toss_valid && !self.flight_valid {
                self.state = State::Tossed;
            }
        } else if i.drop_ready {
            self.state = if self.emptying { State::Fetches } else { State::Idle };
        }
    }

    /// Takes a segment that came to nothing.
    fn toss(&mut self, i: &Inputs) {
        self.state = State::Toss;
        self.toss_qp = i.failed.qp;
        self.toss_group = i.failed.group;
        self.toss_slot = i.failed.slot;
        self.toss_valid = true;
        self.flight_valid = true;
        self.flight_bytes = (i.failed.len + u16::from(i.cfg_nominal_overhead)) & 0x3fff;
        self.unresv_valid = !i.cfg_prefetch_on;
        self.unfetch_valid = i.cfg_prefetch_on;
        self.unresv_bytes = (i.failed.len + u16::from(i.cfg_wire_overhead)) & 0x3fff;
        if i.failed_reason != 0 {
            self.note(i.failed.qp, Why::Read);
        }
    }

    /// A QP is to end: the first reason counts, but a close comes before any.
    fn note(&mut self, qp: u8, why: Why) {
        let at = usize::from(qp) & (self.why.len() - 1);
        if !self.due[at] || why == Why::Close {
            self.why[at] = why;
        }
        self.due.set(at, true);
    }
}
