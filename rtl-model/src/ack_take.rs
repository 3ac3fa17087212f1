//! The sender's end of acknowledgements: finds the QP, retires what the cumulative PSN covers, and
//! tells `window`, `qp_table`, `tx_scheduler` and `completion`.
//!
//! Twin of `hdl/ack_take.sv`. ACK-2, SACK-5 (cumulative part), QP-4, SEG-4, CPL-1.
//! One frame at a time, taken when idle. Without partners' waits a frame takes 4 clocks, an ACK 5;
//! 2 more where the QP's record changes, and 1 + n (1 + L) more to retire n packets, L clocks from a
//! request to its response. A response of `replay_store` waits here while the window is busy.
//!
//! A frame whose PSN is at or above the next one to give (given), as a signed 24-bit difference
//! with 0x800000 below, is ignored whole and counted as `DropPsn`; one for no open QP of that peer
//! as `DropQp`. At or below the cumulative PSN nothing is retired and the record keeps its PSN.
//! `InitialPSN` − 1 is legal. Order: retire (window less each packet's nominal size), record,
//! `ack`, and for a cumulative ACK alone `cover`, with the frame's own PSN.
//!
//! Choices: every SACK, ACK and NACK that is not ignored starts a pass through `ack`, moved or not
//! (SEG-4). SACKs and NACKs teach the receiver's number. NACKs are counted in `other` after that;
//! probes and whatever else comes here are counted in `other` and released at once. A SACK's bitmap
//! and drawing PSN are not looked at in this version.
//!
//! QP-6: a purge, taken between two frames, goes the way of an ACK for the last PSN given, whatever
//! state its QP is in: packets are discarded, and the messages that `completion` has are forgotten.
//! Those up to the old cumulative PSN, which `cover` carries, still have slots that are released.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::sizes::Sizes;
use crate::types::{Drop, Kind, Parsed, Psn, Qpn};

/// What the block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(4)]
pub enum State {
    /// Takes a frame.
    #[default]
    Idle = 0,
    /// Asks for its QP.
    Find = 1,
    /// The QP is on its way.
    Found = 2,
    /// Retires packet after packet.
    Retire = 3,
    /// Asks for the record to change.
    Update = 4,
    /// The change is on its way.
    Updated = 5,
    /// `tx_scheduler` is told.
    Tell = 6,
    /// `completion` is told.
    Cover = 7,
    /// Takes a QP to empty.
    Purge = 8,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ingress_pool`.
    pub in_valid: bool,
    /// From `ingress_pool`: a control frame.
    pub r#in: Parsed,
    /// From `qp_drain`: a QP to empty.
    pub purge_valid: bool,
    /// Its slot.
    pub purge_qp: u8,
    /// From `qp_table`.
    pub find_ready: bool,
    /// From `qp_table`: the QP comes.
    pub find_rsp_valid: bool,
    /// It is open, and that peer's.
    pub find_rsp_ok: bool,
    /// Its slot.
    pub find_rsp_qp: u8,
    /// The next PSN to give.
    pub find_rsp_given: Psn,
    /// The cumulative PSN.
    pub find_rsp_cum: Psn,
    /// Its group.
    pub find_rsp_group: u8,
    /// From `qp_table`.
    pub upd_ready: bool,
    /// From `qp_table`: the record has changed.
    pub upd_done: bool,
    /// From `replay_store`.
    pub retire_ready: bool,
    /// From `replay_store`: a packet was retired.
    pub retire_rsp_valid: bool,
    /// Its payload bytes.
    #[bits(14)]
    pub retire_rsp_len: u16,
    /// Its group.
    pub retire_rsp_group: u8,
    /// It was its message's last.
    pub retire_rsp_last: bool,
    /// From `retransmit`: its bytes were in flight.
    pub retire_rsp_flight: bool,
    /// From `window`.
    pub sub_ready: bool,
    /// From `tx_scheduler`.
    pub ack_ready: bool,
    /// From `completion`.
    pub cover_ready: bool,
    /// Level: bytes of a data packet's nominal size beside its payload.
    #[bits(7)]
    pub cfg_nominal_overhead: u8,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `ingress_pool`.
    pub in_ready: bool,
    /// To `qp_drain`.
    pub purge_ready: bool,
    /// Event: it is empty.
    pub purge_done: bool,
    /// To `qp_table`.
    pub find_valid: bool,
    /// The number to look up.
    pub find_qpn: Qpn,
    /// The peer it must be of.
    pub find_dest_ip: u32,
    /// By slot alone.
    pub find_bare: bool,
    /// To `qp_table`.
    pub upd_valid: bool,
    /// The QP.
    pub upd_qp: u8,
    /// Its cumulative PSN.
    pub upd_cum: Psn,
    /// It learns the receiver's number.
    pub upd_learn: bool,
    /// That number.
    pub upd_remote: Qpn,
    /// To `replay_store`.
    pub retire_valid: bool,
    /// The QP.
    pub retire_qp: u8,
    /// The packet.
    pub retire_psn: Psn,
    /// It is discarded, not acknowledged.
    pub retire_discard: bool,
    /// To `window`.
    pub sub_valid: bool,
    /// The group.
    pub sub_group: u8,
    /// Bytes that leave its flight.
    #[bits(14)]
    pub sub_bytes: u16,
    /// To `tx_scheduler`.
    pub ack_valid: bool,
    /// The QP.
    pub ack_qp: u8,
    /// Its group.
    pub ack_group: u8,
    /// Its cumulative PSN.
    pub ack_cum: Psn,
    /// To `completion`.
    pub cover_valid: bool,
    /// The QP.
    pub cover_qp: u8,
    /// The PSN that the ACK carries.
    pub cover_cum: Psn,
    /// The QP's messages are forgotten.
    pub cover_forget: bool,
    /// Event: release of the control class, to `ingress_pool`.
    pub relc_valid: bool,
    /// Bytes of it.
    #[bits(14)]
    pub relc_bytes: u16,
    /// Event: a frame was ignored.
    pub drop_valid: bool,
    /// Why.
    pub drop_reason: Drop,
    /// Event: a NACK, a probe or another frame without effect here.
    pub other_valid: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What the block is doing.
    pub state: State,
    /// A QP is emptied, there is no frame.
    pub purge: bool,
    /// The frame's kind.
    pub kind: Kind,
    /// The frame's peer.
    pub dest_ip: u32,
    /// The frame's QP number.
    pub qpn: Qpn,
    /// The frame's PSN; in a purge the cumulative one before it.
    pub psn: Psn,
    /// The receiver's number.
    pub remote: Qpn,
    /// What the ingress pool holds for the frame.
    #[bits(14)]
    pub charge: u16,
    /// The QP.
    pub qp: u8,
    /// Its group.
    pub group: u8,
    /// Its cumulative PSN after this frame.
    pub cum: Psn,
    /// A request to `replay_store`.
    pub retire_valid: bool,
    /// The PSN that is being retired.
    pub retire_psn: Psn,
    /// Its response is on its way.
    pub retiring: bool,
    /// A request to `window`.
    pub sub_valid: bool,
    /// Bytes that leave flight.
    #[bits(14)]
    pub sub_bytes: u16,
    /// A response waits for `sub`.
    pub held: bool,
    /// Its bytes.
    #[bits(14)]
    pub held_bytes: u16,
    /// Event.
    pub relc_valid: bool,
    /// Event.
    pub drop_valid: bool,
    /// Why.
    pub drop_reason: Drop,
    /// Event.
    pub other_valid: bool,
    /// Event.
    pub purge_done: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self {
            state: State::Idle,
            purge: false,
            kind: Kind::Data,
            dest_ip: 0,
            qpn: Qpn::default(),
            psn: Psn::default(),
            remote: Qpn::default(),
            charge: 0,
            qp: 0,
            group: 0,
            cum: Psn::default(),
            retire_valid: false,
            retire_psn: Psn::default(),
            retiring: false,
            sub_valid: false,
            sub_bytes: 0,
            held: false,
            held_bytes: 0,
            relc_valid: false,
            drop_valid: false,
            drop_reason: Drop::None,
            other_valid: false,
            purge_done: false,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.in_ready = self.state == State::Idle;
        o.purge_ready = self.state == State::Purge;
        o.purge_done = self.purge_done;
        o.find_valid = self.state == State::Find;
        o.find_qpn = self.qpn;
        o.find_dest_ip = self.dest_ip;
        o.find_bare = self.purge;
        o.upd_valid = self.state == State::Update;
        o.upd_qp = self.qp;
        o.upd_cum = self.cum;
        o.upd_learn = self.kind != Kind::Ack;
        o.upd_remote = self.remote;
        o.retire_valid = self.retire_valid;
        o.retire_qp = self.qp;
        o.retire_psn = self.retire_psn;
        o.retire_discard = self.purge;
        o.sub_valid = self.sub_valid;
        o.sub_group = self.group;
        o.sub_bytes = self.sub_bytes;
        o.ack_valid = self.state == State::Tell;
        o.ack_qp = self.qp;
        o.ack_group = self.group;
        o.ack_cum = self.cum;
        o.cover_valid = self.state == State::Cover;
        o.cover_qp = self.qp;
        o.cover_cum = self.psn;
        o.cover_forget = self.purge;
        o.relc_valid = self.relc_valid;
        o.relc_bytes = self.charge;
        o.drop_valid = self.drop_valid;
        o.drop_reason = self.drop_reason;
        o.other_valid = self.other_valid;
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.relc_valid = false;
        self.drop_valid = false;
        self.other_valid = false;
        self.purge_done = false;
        match self.state {
            State::Idle if i.in_valid => self.take(i),
            State::Idle if i.purge_valid => self.state = State::Purge,
            State::Purge => {
                self.purge = true;
                self.kind = Kind::Ack;
                self.qpn = Qpn(u32::from(i.purge_qp));
                self.state = State::Find;
            }
            State::Find if i.find_ready => self.state = State::Found,
            State::Found if i.find_rsp_valid => self.found(i),
            State::Retire => self.retire(i),
            State::Update if i.upd_ready => self.state = State::Updated,
            State::Updated if i.upd_done => self.state = State::Tell,
            State::Tell if i.ack_ready && self.kind == Kind::Ack => self.state = State::Cover,
            State::Tell if i.ack_ready => {
                self.other_valid = self.kind == Kind::Nack;
                self.finish(i);
            }
            State::Cover if i.cover_ready => self.finish(i),
            _ => {}
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        self.state == State::Idle
            && !i.in_valid
            && !i.purge_valid
            && !self.purge_done
            && !self.relc_valid
            && !self.drop_valid
            && !self.other_valid
    }
}

impl Regs {
    fn take(&mut self, i: &Inputs) {
        let p: &Parsed = &i.r#in;
        let byte = |n: usize| (p.ctrl.0[n / 8] >> (n % 8 * 8)) as u8;
        self.kind = p.kind;
        self.dest_ip = p.src_ip;
        self.qpn = p.qpn;
        self.psn = p.psn;
        self.remote = Qpn(u32::from_be_bytes([0, byte(12), byte(8), byte(9)]));
        self.charge = p.charge;
        if matches!(p.kind, Kind::Ack | Kind::Sack | Kind::Nack) {
            self.state = State::Find;
        } else {
            self.other_valid = true;
            self.finish(i);
        }
    }

    /// Gives the frame's charge back; between two frames a purge may come.
    fn finish(&mut self, i: &Inputs) {
        let next = i.purge_valid && !self.purge;
        self.state = if next { State::Purge } else { State::Idle };
        self.relc_valid = !self.purge;
        self.purge_done = self.purge;
        self.purge = false;
    }

    fn found(&mut self, i: &Inputs) {
        let moves = self.kind != Kind::Nack && self.psn.ahead_of(i.find_rsp_cum) > 0;
        self.qp = i.find_rsp_qp;
        self.group = i.find_rsp_group;
        self.cum = if moves { self.psn } else { i.find_rsp_cum };
        self.retire_psn = i.find_rsp_cum.plus(1);
        if self.purge {
            self.psn = i.find_rsp_cum;
            self.cum = i.find_rsp_given.minus(1);
            self.retire_valid = self.cum != i.find_rsp_cum;
            self.state = if self.retire_valid { State::Retire } else { State::Tell };
        } else if !i.find_rsp_ok || self.psn.ahead_of(i.find_rsp_given) >= 0 {
            self.drop_valid = true;
            self.drop_reason = if i.find_rsp_ok { Drop::Psn } else { Drop::Qp };
            self.finish(i);
        } else if moves {
            self.state = State::Retire;
            self.retire_valid = true;
        } else if self.kind == Kind::Ack {
            self.state = State::Tell;
        } else {
            self.state = State::Update;
        }
    }

    fn retire(&mut self, i: &Inputs) {
        let was_retiring = self.retiring;
        if self.retire_valid && i.retire_ready {
            self.retire_valid = false;
            self.retiring = true;
        }
        if i.sub_ready {
            self.sub_valid = self.held;
            if self.held {
                self.sub_bytes = self.held_bytes;
                self.held = false;
            }
        }
        if was_retiring && i.retire_rsp_valid {
            self.retiring = false;
            let nominal = (i.retire_rsp_len + u16::from(i.cfg_nominal_overhead)) & 0x3fff;
            if i.retire_rsp_flight && self.sub_valid {
                self.held = true;
                self.held_bytes = nominal;
            } else if i.retire_rsp_flight {
                self.sub_valid = true;
                self.sub_bytes = nominal;
            }
        }
        // The next request goes out when its response has a place to wait.
        if !self.retire_valid && !self.retiring && !self.held {
            if self.retire_psn != self.cum {
                self.retire_valid = true;
                self.retire_psn = self.retire_psn.plus(1);
            } else if !self.sub_valid {
                self.state = State::Update;
            }
        }
    }
}
