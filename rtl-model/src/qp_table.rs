//! Contexts of the sender sides: opens, closes and looks up QPs, counts their messages and PSNs.
//!
//! Twin of `hdl/qp_table.sv` and of the types in `hdl/qp_pkg.sv`. One request at a time, 2 clocks
//! each: the context is read in the clock in which a request is chosen, the request is taken in
//! the next one, and its response or event comes in the third, in which the next request is
//! chosen. Order of choice: find, upd, build, done, end, qp; but a qp lets two others go first, no more,
//! so that QP-3's 15 clocks hold under any load. An open that starts a group is answered only after
//! `window` has taken the group.
//!
//! QP-1, QP-5: a number is generation:16 slot:8. Slots never open come first, in ascending order,
//! then the one closed longest ago. The generation starts at 1 and wraps from 0xffff to 0.
//! QP-4: PSNs start at `cfg_initial_psn`. SCH-1: a group is a destination, or else a QP. That of a
//! destination lives while a QP to it or a receiving side from it is open, and starts anew in
//! `window` with the first QP of its life. What `rx_track` tells counts before a request of the
//! same clock (section 16).
//! QP-5: a close waits while `ack_take` has a frame of that slot's QP in work, which would go on to
//! the next QP there; other requests do not wait.
//! QP-6: `dead` has a bit for each QP that is in error or is being closed: it takes no message and
//! no frame is its own. A close with a message outstanding is `drain`; `qp_drain` then frees the
//! slot. A bare find is by slot, and finds any QP.
//! Borders: the table full; a number of another generation, of a slot beyond the table or never
//! open; a close with a message outstanding; the first and the last QP of a group; its last
//! receiving side, which closes as a QP opens or closes.
//!
//! The ctx memory (QPS words of 153 bits) has no defined contents at start: only slots below
//! `fresh` have been written. Its port is combinational from the requests and from `ctx_rdata`.
//! Fields of a response are zero where its ok is clear. `cfg_groups` stays while a QP or a receiving
//! side is open.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::Wide;
use crate::sizes::Sizes;
use crate::types::{Psn, Qpn};

/// Asked by `doorbell`: a new QP with one message.
pub const OPEN: u8 = 0;
/// Asked by `doorbell`: one message more.
pub const POST: u8 = 1;
/// Asked by `doorbell`: close the QP.
pub const CLOSE: u8 = 2;

/// Requests that a waiting qp lets go first.
const PATIENCE: u8 = 2;

/// A context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Ctx {
    /// How often the slot has been opened.
    pub generation: u16,
    /// Destination.
    #[bits(6)]
    pub dest: u8,
    /// The QP is open.
    pub open: bool,
    /// The receiver's number is known.
    pub remote_valid: bool,
    /// The receiver's number.
    pub remote: Qpn,
    /// The next PSN to give.
    pub given: Psn,
    /// Everything up to it is acknowledged.
    pub cum: Psn,
    /// Messages, modulo 2^16.
    pub posted: u16,
    /// Of them completed.
    pub done: u16,
    /// No gap is looked for (LOS-2) …
    pub recovers: bool,
    /// … until everything up to this is acknowledged.
    pub recover: Psn,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Inputs {
    /// From `ack_take`: look up the QP of a frame.
    pub find_valid: bool,
    pub find_qpn: Qpn,
    pub find_bare: bool,
    pub find_dest_ip: u32,
    /// From `ack_take`: the new cumulative PSN, and the receiver's number.
    pub upd_valid: bool,
    pub upd_qp: u8,
    pub upd_cum: Psn,
    pub upd_learn: bool,
    pub upd_remote: Qpn,
    pub upd_recovers: bool,
    pub upd_recover: Psn,
    /// From `packet_build`: this PSN is given.
    pub build_valid: bool,
    pub build_qp: u8,
    pub build_psn: Psn,
    /// From `packet_build`: it was given before.
    pub build_again: bool,
    /// From `ack_take`: a frame is in work, of the QP in this slot.
    pub work_valid: bool,
    pub work_qp: u8,
    /// From `doorbell`: open, post or close.
    pub qp_valid: bool,
    #[bits(2)]
    pub qp_op: u8,
    pub qp_qpn: Qpn,
    #[bits(6)]
    pub qp_dest: u8,
    /// From `completion`: a message has completed.
    pub done_valid: bool,
    pub done_qp: u8,
    /// From `qp_drain`: mark this QP, or free its slot.
    pub end_valid: bool,
    pub end_qp: u8,
    pub end_close: bool,
    pub end_free: bool,
    /// From `rx_track`: a receiving side is there, one is closed.
    pub rx_created_valid: bool,
    #[bits(6)]
    pub rx_created_dest: u8,
    pub rx_closed_valid: bool,
    #[bits(6)]
    pub rx_closed_dest: u8,
    /// From `window`.
    pub open_ready: bool,
    /// From the memory.
    pub ctx_rdata: Ctx,
    /// From `csr`.
    pub cfg_initial_psn: Psn,
    pub cfg_groups: bool,
    pub cfg_peer_ip: Wide<32>,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
#[allow(missing_docs)]
pub struct Outputs {
    /// To `ack_take`.
    pub find_ready: bool,
    pub find_rsp_valid: bool,
    pub find_rsp_ok: bool,
    pub find_rsp_qp: u8,
    pub find_rsp_given: Psn,
    pub find_rsp_cum: Psn,
    pub find_rsp_group: u8,
    #[bits(6)]
    pub find_rsp_dest: u8,
    pub find_rsp_recovers: bool,
    pub find_rsp_recover: Psn,
    pub upd_ready: bool,
    pub upd_done: bool,
    /// To `packet_build`.
    pub build_ready: bool,
    pub build_rsp_valid: bool,
    pub build_rsp_qpn: Qpn,
    pub build_rsp_remote_valid: bool,
    pub build_rsp_remote: Qpn,
    /// To `doorbell`.
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
    /// To `completion`.
    pub done_ready: bool,
    /// To `qp_drain`: the host closes a QP with a message outstanding.
    pub drain_valid: bool,
    pub drain_qp: u8,
    pub end_ready: bool,
    pub end_rsp_valid: bool,
    pub end_rsp_ok: bool,
    pub end_rsp_qpn: Qpn,
    pub end_rsp_group: u8,
    /// To `payload_fetch`: QPs in error or being closed.
    pub dead: Wide<4>,
    /// To `window`: a group begins.
    pub open_valid: bool,
    pub open_group: u8,
    /// For the log.
    pub created_valid: bool,
    pub created_qpn: Qpn,
    #[bits(6)]
    pub created_dest: u8,
    pub closed_valid: bool,
    pub closed_qpn: Qpn,
    /// To the memory.
    pub ctx_we: bool,
    pub ctx_waddr: u32,
    pub ctx_wdata: Ctx,
    pub ctx_re: bool,
    pub ctx_raddr: u32,
}

/// The request whose context has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
#[allow(missing_docs)]
pub enum State {
    #[default]
    Idle = 0,
    Find = 1,
    Upd = 2,
    Build = 3,
    Done = 4,
    Qp = 5,
    /// Waits for `window` before the open is answered.
    Opening = 6,
    End = 7,
}

/// Answer to a look-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct FindRsp {
    /// The QP is open under that number, and its peer has that address.
    pub ok: bool,
    /// Its slot.
    pub qp: u8,
    /// The next PSN to give.
    pub given: Psn,
    /// Everything up to it is acknowledged.
    pub cum: Psn,
    /// Its group.
    pub group: u8,
    /// Its destination.
    #[bits(6)]
    pub dest: u8,
    /// No gap is looked for …
    pub recovers: bool,
    /// … until everything up to this is acknowledged.
    pub recover: Psn,
}

/// Answer to `packet_build`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct BuildRsp {
    /// The QP's own number.
    pub qpn: Qpn,
    /// The receiver's number is known.
    pub remote_valid: bool,
    /// The receiver's number.
    pub remote: Qpn,
}

/// Answer to `doorbell`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct QpRsp {
    /// Done.
    pub ok: bool,
    /// Not done for want of a slot.
    pub full: bool,
    /// Not done, for the QP is in error or is being closed.
    pub failed: bool,
    /// The QP.
    pub qpn: Qpn,
    /// Its group.
    pub group: u8,
    /// Its destination.
    #[bits(6)]
    pub dest: u8,
    /// Messages posted on it before.
    pub msn: u16,
}

/// Answer to `qp_drain`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct EndRsp {
    /// A mark holds.
    pub ok: bool,
    /// The QP.
    pub qpn: Qpn,
    /// Its group.
    pub group: u8,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Regs {
    pub state: State,
    /// Requests chosen while a qp waited.
    #[bits(2)]
    pub waited: u8,
    pub find_rsp_valid: bool,
    pub find_rsp: FindRsp,
    pub upd_done: bool,
    pub build_rsp_valid: bool,
    pub build_rsp: BuildRsp,
    pub qp_rsp_valid: bool,
    pub qp_rsp: QpRsp,
    pub end_rsp_valid: bool,
    pub end_rsp: EndRsp,
    pub created: bool,
    pub closed: bool,
    /// Closed, by `qp_drain`.
    pub freed: bool,
    pub drain: bool,
    /// Slots that have been open; the next one never was.
    #[bits(9)]
    pub fresh: u16,
    /// Of the list of closed slots.
    pub head: u8,
    pub tail: u8,
    #[bits(9)]
    pub count: u16,
    /// Closed slots, oldest at head.
    pub slots: Vec<u8>,
    /// Open QPs of a destination.
    #[bits(9)]
    pub refs: Vec<u16>,
    /// Open receiving sides of a destination.
    #[bits(9)]
    pub rx_refs: Vec<u16>,
    /// Destinations whose group has begun in `window` and has not ended.
    pub lives: u64,
    /// QPs in error or being closed.
    pub dead: Wide<4>,
}

/// `doorbell` asks, and not for a close of the QP whose frame `ack_take` has in work.
fn asks(i: &Inputs) -> bool {
    let in_work = i.work_valid && i.work_qp == i.qp_qpn.slot();
    i.qp_valid && !(i.qp_op == CLOSE && in_work)
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            state: State::Idle,
            waited: 0,
            find_rsp_valid: false,
            find_rsp: FindRsp::default(),
            upd_done: false,
            build_rsp_valid: false,
            build_rsp: BuildRsp::default(),
            qp_rsp_valid: false,
            qp_rsp: QpRsp::default(),
            end_rsp_valid: false,
            end_rsp: EndRsp::default(),
            created: false,
            closed: false,
            freed: false,
            drain: false,
            fresh: 0,
            head: 0,
            tail: 0,
            count: 0,
            slots: vec![0; sizes.qps as usize],
            refs: vec![0; 64],
            rx_refs: vec![0; 64],
            lives: 0,
            dead: Wide::ZERO,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.find_ready = self.state == State::Find;
        o.upd_ready = self.state == State::Upd;
        o.build_ready = self.state == State::Build;
        o.qp_ready = self.state == State::Qp;
        o.done_ready = self.state == State::Done;
        o.find_rsp_valid = self.find_rsp_valid;
        o.find_rsp_ok = self.find_rsp.ok;
        o.find_rsp_qp = self.find_rsp.qp;
        o.find_rsp_given = self.find_rsp.given;
        o.find_rsp_cum = self.find_rsp.cum;
        o.find_rsp_group = self.find_rsp.group;
        o.find_rsp_dest = self.find_rsp.dest;
        o.find_rsp_recovers = self.find_rsp.recovers;
        o.find_rsp_recover = self.find_rsp.recover;
        o.upd_done = self.upd_done;
        o.build_rsp_valid = self.build_rsp_valid;
        o.build_rsp_qpn = self.build_rsp.qpn;
        o.build_rsp_remote_valid = self.build_rsp.remote_valid;
        o.build_rsp_remote = self.build_rsp.remote;
        o.qp_rsp_valid = self.qp_rsp_valid;
        o.qp_rsp_ok = self.qp_rsp.ok;
        o.qp_rsp_full = self.qp_rsp.full;
        o.qp_rsp_failed = self.qp_rsp.failed;
        o.qp_rsp_qpn = self.qp_rsp.qpn;
        o.qp_rsp_group = self.qp_rsp.group;
        o.qp_rsp_dest = self.qp_rsp.dest;
        o.qp_rsp_msn = self.qp_rsp.msn;
        o.drain_valid = self.drain;
        o.drain_qp = self.qp_rsp.qpn.slot();
        o.end_ready = self.state == State::End;
        o.end_rsp_valid = self.end_rsp_valid;
        o.end_rsp_ok = self.end_rsp.ok;
        o.end_rsp_qpn = self.end_rsp.qpn;
        o.end_rsp_group = self.end_rsp.group;
        o.dead = self.dead;
        o.open_valid = self.state == State::Opening;
        o.open_group = self.qp_rsp.group;
        o.created_valid = self.created;
        o.created_qpn = self.qp_rsp.qpn;
        o.created_dest = self.qp_rsp.dest;
        o.closed_valid = self.closed || self.freed;
        o.closed_qpn = if self.freed { self.end_rsp.qpn } else { self.qp_rsp.qpn };
        o.ctx_we = false;
        o.ctx_waddr = 0;
        o.ctx_wdata = Ctx::default();
        o.ctx_re = false;
        o.ctx_raddr = 0;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        if self.state == State::Idle {
            if let Some((_, slot)) = self.choose(i) {
                o.ctx_re = true;
                o.ctx_raddr = self.word(slot);
            }
        } else if let Some((slot, ctx)) = self.write_back(i) {
            o.ctx_we = true;
            o.ctx_waddr = self.word(slot);
            o.ctx_wdata = ctx;
        }
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.find_rsp_valid = false;
        self.upd_done = false;
        self.build_rsp_valid = false;
        self.qp_rsp_valid = false;
        self.end_rsp_valid = false;
        self.created = false;
        self.closed = false;
        self.freed = false;
        self.drain = false;
        self.receiving(i);
        match self.state {
            State::Idle => {
                self.state = self.choose(i).map_or(State::Idle, |(state, _)| state);
                let waits = i.qp_valid && self.state != State::Qp;
                self.waited = if waits { self.waited + u8::from(asks(i)) } else { 0 };
                return;
            }
            State::Find => {
                self.find_rsp_valid = true;
                self.find_rsp = self.find(i);
            }
            State::Upd => self.upd_done = true,
            State::Build => {
                let ctx = &i.ctx_rdata;
                self.build_rsp_valid = true;
                self.build_rsp = BuildRsp {
                    qpn: Qpn::new(ctx.generation, i.build_qp),
                    remote_valid: ctx.remote_valid,
                    remote: ctx.remote,
                };
            }
            State::Done => {}
            State::End => self.end(i),
            State::Qp => {
                self.answer(i);
                return;
            }
            State::Opening => {
                if !i.open_ready {
                    return;
                }
                self.qp_rsp_valid = true;
                self.created = true;
            }
        }
        self.state = State::Idle;
    }

    fn idle(&self, i: &Inputs) -> bool {
        let asked =
            i.find_valid | i.upd_valid | i.build_valid | i.done_valid | i.end_valid | i.qp_valid;
        let told = self.find_rsp_valid
            | self.upd_done
            | self.build_rsp_valid
            | self.qp_rsp_valid
            | self.end_rsp_valid;
        let receiving = i.rx_created_valid || i.rx_closed_valid;
        // The events come with `qp_rsp_valid` or `end_rsp_valid`.
        self.state == State::Idle && !asked && !told && !receiving
    }
}

impl Regs {
    fn qps(&self) -> u16 {
        self.slots.len() as u16
    }

    /// The word of a slot; a slot beyond the table falls back into it.
    fn word(&self, slot: u8) -> u32 {
        u32::from(slot) % self.slots.len() as u32
    }

    /// The slot after this one in the list of closed slots.
    fn after(&self, at: u8) -> u8 {
        self.word(at.wrapping_add(1)) as u8
    }

    /// All slots have been open: an open takes the one closed longest ago.
    fn reuses(&self) -> bool {
        self.fresh == self.qps()
    }

    fn free_slot(&self) -> u8 {
        if self.reuses() { self.slots[usize::from(self.head)] } else { self.fresh as u8 }
    }

    /// The slot that `doorbell` asks for.
    fn qp_slot(&self, i: &Inputs) -> u8 {
        if i.qp_op == OPEN { self.free_slot() } else { i.qp_qpn.slot() }
    }

    /// The request to serve next, and its slot.
    fn choose(&self, i: &Inputs) -> Option<(State, u8)> {
        let asks = asks(i);
        if asks && self.waited == PATIENCE {
            Some((State::Qp, self.qp_slot(i)))
        } else if i.find_valid {
            Some((State::Find, i.find_qpn.slot()))
        } else if i.upd_valid {
            Some((State::Upd, i.upd_qp))
        } else if i.build_valid {
            Some((State::Build, i.build_qp))
        } else if i.done_valid {
            Some((State::Done, i.done_qp))
        } else if i.end_valid {
            Some((State::End, i.end_qp))
        } else if asks {
            Some((State::Qp, self.qp_slot(i)))
        } else {
            None
        }
    }

    /// The context that was read is that of an open QP of this number.
    fn is_open(&self, ctx: &Ctx, qpn: Qpn) -> bool {
        u16::from(qpn.slot()) < self.fresh && ctx.open && ctx.generation == qpn.generation()
    }

    fn is_dead(&self, slot: u8) -> bool {
        self.dead.0[usize::from(slot / 64)] >> (slot % 64) & 1 == 1
    }

    fn set_dead(&mut self, slot: u8, dead: bool) {
        let word = &mut self.dead.0[usize::from(slot / 64)];
        *word = *word & !(1 << (slot % 64)) | u64::from(dead) << (slot % 64);
    }

    fn find(&self, i: &Inputs) -> FindRsp {
        let ctx = &i.ctx_rdata;
        let ip = (i.cfg_peer_ip.0[usize::from(ctx.dest) / 2] >> (32 * (ctx.dest % 2))) as u32;
        let qp = i.find_qpn.slot();
        let own = self.is_open(ctx, i.find_qpn) && !self.is_dead(qp) && ip == i.find_dest_ip;
        if !own && !i.find_bare {
            return FindRsp::default();
        }
        let group = group(qp, ctx.dest, i.cfg_groups);
        FindRsp {
            ok: true,
            qp,
            given: ctx.given,
            cum: ctx.cum,
            group,
            dest: ctx.dest,
            recovers: ctx.recovers,
            recover: ctx.recover,
        }
    }

    /// What `doorbell` is told.
    fn qp_rsp(&self, i: &Inputs) -> QpRsp {
        let ctx = &i.ctx_rdata;
        let (ok, qpn, dest, msn) = match i.qp_op {
            OPEN => {
                let full = self.reuses() && self.count == 0;
                if full {
                    return QpRsp { full, ..QpRsp::default() };
                }
                let before = if self.reuses() { ctx.generation } else { 0 };
                (true, Qpn::new(before.wrapping_add(1), self.free_slot()), i.qp_dest, 0)
            }
            POST => {
                let ok = self.is_open(ctx, i.qp_qpn) && ctx.dest == i.qp_dest;
                if ok && self.is_dead(i.qp_qpn.slot()) {
                    return QpRsp { failed: true, ..QpRsp::default() };
                }
                (ok, i.qp_qpn, ctx.dest, ctx.posted)
            }
            CLOSE => (self.is_open(ctx, i.qp_qpn), i.qp_qpn, ctx.dest, ctx.posted),
            _ => return QpRsp::default(),
        };
        if !ok {
            return QpRsp::default();
        }
        let group = group(qpn.slot(), dest, i.cfg_groups);
        QpRsp { ok, qpn, group, dest, msn, ..QpRsp::default() }
    }

    /// The slot and context that the request in work writes.
    fn write_back(&self, i: &Inputs) -> Option<(u8, Ctx)> {
        let mut ctx = i.ctx_rdata;
        let slot = match self.state {
            State::Upd => {
                ctx.cum = i.upd_cum;
                ctx.recovers = i.upd_recovers;
                ctx.recover = i.upd_recover;
                if i.upd_learn {
                    ctx.remote_valid = true;
                    ctx.remote = i.upd_remote;
                }
                i.upd_qp
            }
            State::Build => {
                if !i.build_again {
                    ctx.given = i.build_psn.plus(1);
                }
                i.build_qp
            }
            State::Done => {
                ctx.done = ctx.done.wrapping_add(1);
                i.done_qp
            }
            State::Qp => {
                let rsp = self.qp_rsp(i);
                if !rsp.ok {
                    return None;
                }
                match i.qp_op {
                    OPEN => {
                        ctx = Ctx {
                            generation: rsp.qpn.generation(),
                            dest: rsp.dest,
                            open: true,
                            given: i.cfg_initial_psn,
                            cum: i.cfg_initial_psn.minus(1),
                            posted: 1,
                            ..Ctx::default()
                        }
                    }
                    POST => ctx.posted = ctx.posted.wrapping_add(1),
                    _ => ctx.open = self.drains(&ctx, rsp.qpn.slot()),
                }
                rsp.qpn.slot()
            }
            State::End if i.end_free => {
                ctx.open = false;
                i.end_qp
            }
            State::Idle | State::Find | State::Opening | State::End => return None,
        };
        Some((slot, ctx))
    }

    /// Answers `doorbell`, and keeps the lists.
    fn answer(&mut self, i: &Inputs) {
        self.state = State::Idle;
        self.qp_rsp_valid = true;
        self.qp_rsp = self.qp_rsp(i);
        if !self.qp_rsp.ok {
            return;
        }
        let refs = usize::from(self.qp_rsp.dest);
        match i.qp_op {
            OPEN => {
                if i.cfg_groups && self.lives >> refs & 1 == 1 {
                    self.created = true;
                } else {
                    self.state = State::Opening;
                    self.qp_rsp_valid = false;
                }
                self.lives |= u64::from(i.cfg_groups) << refs;
                self.refs[refs] += 1;
                if self.reuses() {
                    self.head = self.after(self.head);
                    self.count -= 1;
                } else {
                    self.fresh += 1;
                }
            }
            CLOSE if self.drains(&i.ctx_rdata, i.qp_qpn.slot()) => {
                self.set_dead(i.qp_qpn.slot(), true);
                self.drain = true;
            }
            CLOSE => {
                self.closed = true;
                self.free(i.qp_qpn.slot(), refs);
            }
            _ => {}
        }
    }

    /// A close of this QP is for `qp_drain`: a message is outstanding, or it is in error.
    fn drains(&self, ctx: &Ctx, slot: u8) -> bool {
        ctx.posted != ctx.done || self.is_dead(slot)
    }

    /// The slot goes to the closed ones; its QP no longer counts for its destination.
    fn free(&mut self, slot: u8, refs: usize) {
        self.refs[refs] -= 1;
        self.end_group(refs);
        self.slots[usize::from(self.tail)] = slot;
        self.tail = self.after(self.tail);
        self.count += 1;
    }

    /// SCH-1: counts the receiving sides of each destination.
    fn receiving(&mut self, i: &Inputs) {
        if i.rx_created_valid {
            self.rx_refs[usize::from(i.rx_created_dest)] += 1;
        }
        if i.rx_closed_valid {
            let dest = usize::from(i.rx_closed_dest);
            self.rx_refs[dest] -= 1;
            self.end_group(dest);
        }
    }

    /// A group without any QP of either direction ends.
    fn end_group(&mut self, dest: usize) {
        if self.refs[dest] == 0 && self.rx_refs[dest] == 0 {
            self.lives &= !(1 << dest);
        }
    }

    /// Marks a QP, or frees its slot.
    fn end(&mut self, i: &Inputs) {
        let (ctx, slot) = (&i.ctx_rdata, i.end_qp);
        let ok = ctx.open && (i.end_close || !self.is_dead(slot));
        self.end_rsp_valid = true;
        self.end_rsp = EndRsp {
            ok,
            qpn: Qpn::new(ctx.generation, slot),
            group: group(slot, ctx.dest, i.cfg_groups),
        };
        if i.end_free {
            self.freed = true;
            self.free(slot, usize::from(ctx.dest));
        }
        if i.end_free || ok {
            self.set_dead(slot, !i.end_free);
        }
    }
}

/// The group of a QP (SCH-1).
fn group(slot: u8, dest: u8, groups: bool) -> u8 {
    if groups { dest } else { slot }
}
