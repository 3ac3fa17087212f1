//! Transmit scheduler: turns of the ready groups, one segment each, through the three gates.
//!
//! Twin of `hdl/tx_scheduler.sv`. One thing at a time, in this order (section 16): an ack, a drop,
//! a packet that waits, room for a probe, a commit, a copy that is new, a post, a starved group that
//! rejoins, a turn. A turn takes 7 clocks: `seg` is valid 7 clocks after it began, in the clock in
//! which the next one may begin; 2 more for each QP passed over for tags, more while `window` serves
//! others. An ack takes 2 clocks and a post 3, each 3 more where its group may join the list, and
//! room for a probe 2, as a commit.
//!
//! SEG-1: segments and their PSNs. SEG-2: a QP's bit in `work` is set while it has data and its
//! PSN window is open. SEG-3, SEG-4, SEG-5: a turn checks QP, slot, tags, then window and pool at
//! once: the try commits if the pool has room; if not, a shut window still makes the group leave,
//! and an open one stops the pass. A half event belongs to a stop that came before it; so
//! `egress_free` must show a release when `half_valid` does, and a reservation within 3 clocks.
//!
//! SCH-1..5: the list; QPs ascending, cyclic from after the last served. An insertion at the
//! head, for retransmissions, would only be `next[group] = head`. QP-3: a post joins, `ring`
//! begins the pass. A pass begins with `ring`, with an ack, 15 clocks after a half event, and with
//! a starved group that rejoins, unless the pool stopped the last one. A post or an ack takes its
//! group from the starved ones to the list, as it may have 0 bytes to send. CC-1's initial window:
//! `window`. QP-6: a drop forgets the queue of its QP and is an ack in all else.
//!
//! RTX-1, SCH-3: the turn of a QP with a packet that waits asks `retransmit` for it (2 clocks and
//! what the answer takes), tries window and pool as for new data, needs neither slot nor tags nor
//! PSN room, and ends there with `end`, taken or not. Nothing to offer is no turn: the QP's bit
//! goes. SCH-4, SCH-5: a group in which such a QP is left goes to the head, joining too. SEG-5:
//! without a slot the QPs with data are passed over only where another has a packet that waits.
//!
//! CPL-2: a copy that `ack_ask` wants begins a pass and goes before every group, in a turn that asks
//! `retransmit` for it and needs room in the pool alone; without, it stops the pass.
//!
//! BUF-5: with a prefetch buffer a fetch takes room there, and the stop of a pass for want of it ends
//! as any other. A payload that waits takes egress room as it is committed, in the order of
//! `payload_fetch`, pass or none; a turn that can begin goes between two commits, so that a packet
//! that goes again is not kept from the room. A packet that the egress pool refuses holds commits
//! until the next pass begins (`held`); fetches go on. Bytes are in flight from the fetch on
//! (SEG-3), so a commit needs no window.
//!
//! Borders: message lengths 0, 1, MSS − 1, MSS, MSS + 1, 2^31 − 1; MSS 1 to 8,192; PSN 0xffffff to
//! 0; `next − cum` = range + 1 shuts the PSN window, also at 1 and 1,024; `egress_free` = size
//! fits; tags 2 and 3; one group on the list; an ack 0 or 0x800000 ahead of `cum` changes no PSN.
//! `cfg_range` and `cfg_mss` stay while a QP has data. `qctx` and `smsg` are written before they
//! are read, a `work` word counts once `known`. Memory ports are combinational, from requests and
//! read data, and read data must stay until the next read.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BitMap, Wide};
use crate::sizes::Sizes;
use crate::types::{Psn, Segment};

/// Clocks from a half event to its pass (SEG-4).
pub const HALF_BELL_CLOCKS: u32 = 15;
/// PCIe tags that a segment may need: one a 4 KiB page that it touches.
pub const SEGMENT_TAGS: u16 = 3;

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `csr`: payload bytes of a full segment.
    #[bits(14)]
    pub cfg_mss: u16,
    /// From `csr`: `MaxPSNRange`.
    #[bits(11)]
    pub cfg_range: u16,
    /// From `csr`.
    pub cfg_initial_psn: Psn,
    /// From `csr`.
    #[bits(7)]
    pub cfg_wire_overhead: u8,
    /// From `csr`.
    #[bits(7)]
    pub cfg_nominal_overhead: u8,
    /// From `csr`: payloads wait in the prefetch buffer (BUF-5).
    pub cfg_prefetch_on: bool,
    /// From `doorbell`: a message.
    pub post_valid: bool,
    /// From `doorbell`.
    pub post_qp: u8,
    /// From `doorbell`.
    #[bits(6)]
    pub post_dest: u8,
    /// From `doorbell`.
    pub post_group: u8,
    /// From `doorbell`: the QP is new.
    pub post_open: bool,
    /// From `doorbell`.
    #[bits(10)]
    pub post_msg: u16,
    /// From `doorbell`.
    pub post_laddr: u64,
    /// From `doorbell`.
    pub post_raddr: u64,
    /// From `doorbell`.
    pub post_rkey: u32,
    /// From `doorbell`.
    pub post_len: u32,
    /// From `doorbell`.
    pub post_msn: u16,
    /// From `doorbell`: a pass begins.
    pub ring: bool,
    /// From `ack_take`: a cumulative PSN.
    pub ack_valid: bool,
    /// From `ack_take`.
    pub ack_qp: u8,
    /// From `ack_take`.
    pub ack_group: u8,
    /// From `ack_take`.
    pub ack_cum: Psn,
    /// From `qp_drain`: a QP sends nothing more.
    pub drop_valid: bool,
    /// From `qp_drain`.
    pub drop_qp: u8,
    /// From `qp_drain`.
    pub drop_group: u8,
    /// From `retransmit`: a QP has a packet that waits to go again.
    pub wait_valid: bool,
    /// From `retransmit`.
    pub wait_qp: u8,
    /// From `retransmit`.
    pub wait_group: u8,
    /// From `retransmit`.
    pub ask_ready: bool,
    /// From `retransmit`: the answer.
    pub offer_valid: bool,
    /// From `retransmit`.
    pub offer_hit: bool,
    /// From `retransmit`: payload bytes, until the end of the turn.
    #[bits(14)]
    pub offer_len: u16,
    /// From `retransmit`: another one waits behind it, until the end of the turn.
    pub offer_more: bool,
    /// From `ack_ask`: a message's last packet is to go again for an ACK.
    pub copy_valid: bool,
    /// From `window`.
    pub try_ready: bool,
    /// From `window`.
    pub try_rsp_valid: bool,
    /// From `window`.
    pub try_rsp_ok: bool,
    /// From `egress_arbiter`: bytes left in the data pool.
    pub egress_free: u32,
    /// From `egress_arbiter`: a release has left 2 × occupancy ≤ pool.
    pub half_valid: bool,
    /// From `prefetch_pool`: bytes left.
    pub prefetch_free: u32,
    /// From `prefetch_pool`: a release has left 2 × occupancy ≤ size.
    pub prefetch_half: bool,
    /// From `payload_fetch`: a payload waits to be committed; may be withdrawn.
    pub commit_valid: bool,
    /// Its bytes.
    #[bits(14)]
    pub commit_len: u16,
    /// From `path_probe`: room for a probe.
    pub room_valid: bool,
    /// Its bytes on the wire.
    #[bits(14)]
    pub room_bytes: u16,
    /// From `replay_store`.
    pub slot_valid: bool,
    /// From `replay_store`.
    #[bits(10)]
    pub slot: u16,
    /// From `payload_fetch`.
    pub seg_ready: bool,
    /// From `payload_fetch`.
    #[bits(9)]
    pub tags_free: u16,
    /// From `completion`.
    pub sent_ready: bool,
    /// From the memory of QP contexts.
    pub qctx_rdata: Context,
    /// From the memory of messages.
    pub smsg_rdata: Message,
    /// From the memory of QPs with work.
    pub work_rdata: Work,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `doorbell`.
    pub post_ready: bool,
    /// To `ack_take`.
    pub ack_ready: bool,
    /// To `qp_drain`.
    pub drop_ready: bool,
    /// To `retransmit`.
    pub wait_ready: bool,
    /// To `retransmit`: which packet goes again?
    pub ask_valid: bool,
    /// To `retransmit`.
    pub ask_qp: u8,
    /// To `retransmit`: the first PSN that is not acknowledged.
    pub ask_from: Psn,
    /// To `retransmit`: which copy for an ACK?
    pub ask_copy: bool,
    /// To `retransmit`: the turn ends.
    pub end_valid: bool,
    /// To `retransmit`: with the packet.
    pub end_take: bool,
    /// To `ack_ask`: the copy went, or there is none any more.
    pub copy_done: bool,
    /// To `window`: is it open?
    pub try_valid: bool,
    /// To `window`.
    pub try_group: u8,
    /// To `window`, nominal.
    #[bits(14)]
    pub try_bytes: u16,
    /// To `window`: if it is, the bytes enter flight.
    pub try_commit: bool,
    /// To `egress_arbiter`.
    pub resv_valid: bool,
    /// To `egress_arbiter`.
    #[bits(14)]
    pub resv_bytes: u16,
    /// To `prefetch_pool`: `resv_bytes` are taken there.
    pub take_valid: bool,
    /// To `prefetch_pool`: they are given back.
    pub give_valid: bool,
    /// To `payload_fetch`: the payload is committed in this clock.
    pub commit_ready: bool,
    /// To `path_probe`.
    pub room_ready: bool,
    /// To `path_probe`: the answer.
    pub room_rsp_valid: bool,
    /// It is reserved.
    pub room_rsp_ok: bool,
    /// To `replay_store`.
    pub slot_ready: bool,
    /// To `payload_fetch`.
    pub seg_valid: bool,
    /// To `payload_fetch`.
    pub seg: Segment,
    /// To `completion`: a message's last segment is issued.
    pub sent_valid: bool,
    /// To `completion`.
    pub sent_qp: u8,
    /// To `completion`.
    #[bits(10)]
    pub sent_msg: u16,
    /// To `completion`: of the last packet.
    #[bits(10)]
    pub sent_slot: u16,
    /// To `completion`: of the last packet.
    pub sent_psn: Psn,
    /// To `ack_ask`: of the first packet.
    pub sent_first: Psn,
    /// A pass runs.
    pub passing: bool,
    /// A turn was refused for want of a slot.
    pub stall_slots: bool,
    /// A turn was refused for want of tags.
    pub stall_tags: bool,
    /// To the memory of QP contexts, a word a QP.
    pub qctx_we: bool,
    /// To the memory of QP contexts.
    pub qctx_waddr: u32,
    /// To the memory of QP contexts.
    pub qctx_wdata: Context,
    /// To the memory of QP contexts.
    pub qctx_re: bool,
    /// To the memory of QP contexts.
    pub qctx_raddr: u32,
    /// To the memory of messages, a word a message entry.
    pub smsg_we: bool,
    /// To the memory of messages.
    pub smsg_waddr: u32,
    /// To the memory of messages.
    pub smsg_wdata: Message,
    /// To the memory of messages.
    pub smsg_re: bool,
    /// To the memory of messages.
    pub smsg_raddr: u32,
    /// To the memory of QPs with work, a word a group.
    pub work_we: bool,
    /// To the memory of QPs with work.
    pub work_waddr: u32,
    /// To the memory of QPs with work.
    pub work_wdata: Work,
    /// To the memory of QPs with work.
    pub work_re: bool,
    /// To the memory of QPs with work.
    pub work_raddr: u32,
}

/// What goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(4)]
pub enum State {
    /// Takes the next thing to do and reads for it.
    #[default]
    Idle = 0,
    /// A turn: has the group's word, chooses a QP.
    Pick = 1,
    /// Has its context.
    Fetch = 2,
    /// Has its message: slots, tags, pool.
    Judge = 3,
    /// Waits for the window, then issues, leaves or stops.
    TurnWindow = 4,
    /// Has the QP's context, writes the message.
    PostCtx = 5,
    /// Has the tail of its queue, links the message to it.
    PostLink = 6,
    /// Has the QP's context.
    AckCtx = 7,
    /// Has the QP's context.
    DropCtx = 8,
    /// Has the group's word.
    WaitCtx = 9,
    /// Asks `retransmit` for a packet, and waits for it.
    Ask = 10,
    /// Waits for the window, then sends it again, leaves or stops.
    AskWindow = 11,
    /// Waits for the window, then the group joins.
    JoinWindow = 12,
    /// Reserves for a probe, if there is room.
    Room = 13,
    /// The same for a payload.
    Commit = 14,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What goes on.
    pub state: State,
    /// A pass runs.
    pub passing: bool,
    /// The pool stopped the last one.
    pub stopped: bool,
    /// Waits for the first half event since a stop.
    pub armed: bool,
    /// The same of the prefetch buffer.
    pub prefetch_armed: bool,
    /// No commit until a pass begins.
    pub held: bool,
    /// The last one was a commit.
    pub yields: bool,
    /// Half events on their way to a pass.
    #[bits(15)]
    pub bells: u16,
    /// First group of the ready list.
    pub head: u8,
    /// Last one.
    pub tail: u8,
    /// How many there are.
    #[bits(9)]
    pub count: u16,
    /// The group after each.
    pub next: Vec<u8>,
    /// Groups on the list.
    pub on_list: BitMap,
    /// Groups that left it for want of slots or tags.
    pub starved: BitMap,
    /// Groups whose word in the memory counts.
    pub known: BitMap,
    /// The QP chosen in this turn.
    pub qp: u8,
    /// It is not above the QP last served.
    pub wrapped: bool,
    /// Another was passed over before it.
    pub again: bool,
    /// For want of a slot.
    pub slotless: bool,
    /// The group that is to join goes to the head.
    pub front: bool,
    /// A copy for an ACK waits.
    pub copies: bool,
    /// The turn is its.
    pub copying: bool,
    /// It went, or there is none.
    pub copy_done: bool,
    /// `retransmit` is asked.
    pub ask_valid: bool,
    /// The first PSN that is not acknowledged.
    pub ask_from: Psn,
    /// The turn of a packet that goes again ends.
    pub end_valid: bool,
    /// With the packet.
    pub end_take: bool,
    /// The window is asked.
    pub try_valid: bool,
    /// The group asked about.
    pub try_group: u8,
    /// Nominal bytes.
    #[bits(14)]
    pub try_bytes: u16,
    /// They enter flight if it is open.
    pub try_commit: bool,
    /// `resv_bytes` are reserved.
    pub resv_valid: bool,
    /// Bytes of the last packet on the wire.
    #[bits(14)]
    pub resv_bytes: u16,
    /// They are taken in the prefetch buffer.
    pub take_valid: bool,
    /// They are given back there.
    pub give_valid: bool,
    /// `room_rsp_ok` is an answer.
    pub room_rsp_valid: bool,
    /// A probe's room is reserved.
    pub room_rsp_ok: bool,
    /// `seg` waits for `payload_fetch`.
    pub seg_valid: bool,
    /// The last segment.
    pub seg: Segment,
    /// A message's end waits for `completion`.
    pub sent_valid: bool,
    /// Its QP.
    pub sent_qp: u8,
    /// Its entry.
    #[bits(10)]
    pub sent_msg: u16,
    /// The slot of its last packet.
    #[bits(10)]
    pub sent_slot: u16,
    /// Its last PSN.
    pub sent_psn: Psn,
    /// Its first one.
    pub sent_first: Psn,
    /// A turn was refused for want of a slot.
    pub stall_slots: bool,
    /// A turn was refused for want of tags.
    pub stall_tags: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        let none = BitMap::repeat(false, sizes.qps as usize);
        Self {
            state: State::Idle,
            passing: false,
            stopped: false,
            armed: false,
            prefetch_armed: false,
            held: false,
            yields: false,
            bells: 0,
            head: 0,
            tail: 0,
            count: 0,
            next: vec![0; sizes.qps as usize],
            on_list: none.clone(),
            starved: none.clone(),
            known: none,
            qp: 0,
            wrapped: false,
            again: false,
            slotless: false,
            front: false,
            copies: false,
            copying: false,
            copy_done: false,
            ask_valid: false,
            ask_from: Psn(0),
            end_valid: false,
            end_take: false,
            try_valid: false,
            try_group: 0,
            try_bytes: 0,
            try_commit: false,
            resv_valid: false,
            resv_bytes: 0,
            take_valid: false,
            give_valid: false,
            room_rsp_valid: false,
            room_rsp_ok: false,
            seg_valid: false,
            seg: Segment::default(),
            sent_valid: false,
            sent_qp: 0,
            sent_msg: 0,
            sent_slot: 0,
            sent_psn: Psn::default(),
            sent_first: Psn::default(),
            stall_slots: false,
            stall_tags: false,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            ask_valid: self.ask_valid,
            ask_qp: self.qp,
            ask_from: self.ask_from,
            ask_copy: self.copying,
            end_valid: self.end_valid,
            end_take: self.end_take,
            copy_done: self.copy_done,
            try_valid: self.try_valid,
            try_group: self.try_group,
            try_bytes: self.try_bytes,
            try_commit: self.try_commit,
            resv_valid: self.resv_valid,
            resv_bytes: self.resv_bytes,
            take_valid: self.take_valid,
            give_valid: self.give_valid,
            room_ready: self.state == State::Room,
            room_rsp_valid: self.room_rsp_valid,
            room_rsp_ok: self.room_rsp_ok,
            seg_valid: self.seg_valid,
            seg: self.seg,
            sent_valid: self.sent_valid,
            sent_qp: self.sent_qp,
            sent_msg: self.sent_msg,
            sent_slot: self.sent_slot,
            sent_psn: self.sent_psn,
            sent_first: self.sent_first,
            passing: self.passing,
            stall_slots: self.stall_slots,
            stall_tags: self.stall_tags,
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        match self.state {
            State::Idle => self.read_first(i, o),
            State::Pick => {
                if let Some(choice) = self.choose(i) {
                    o.qctx_re = true;
                    o.qctx_raddr = u32::from(choice.qp);
                }
            }
            State::Fetch => {
                o.smsg_re = true;
                o.smsg_raddr = u32::from(i.qctx_rdata.head);
            }
            State::Judge | State::JoinWindow | State::Room => {}
            State::Commit => o.commit_ready = i.commit_valid && fits(i, i.commit_len),
            State::Ask => {
                if i.offer_valid && !i.offer_hit && !self.copying {
                    self.mark(i, o, self.head, self.qp, false);
                }
            }
            State::AskWindow => {
                if self.passes(i) {
                    self.mark(i, o, self.head, self.qp, i.offer_more);
                    o.work_wdata.last = self.qp;
                }
            }
            State::WaitCtx => {
                o.wait_ready = true;
                self.mark(i, o, i.wait_group, i.wait_qp, true);
            }
            State::TurnWindow => {
                if self.passes(i) {
                    o.slot_ready = true;
                    let segment = Piece::of(i);
                    let ctx = i.qctx_rdata.after_issue(&segment, i.smsg_rdata.next);
                    self.write_back(i, o, self.head, self.qp, ctx);
                    o.work_wdata.last = self.qp;
                }
            }
            State::PostCtx => {
                o.smsg_we = true;
                o.smsg_waddr = u32::from(i.post_msg);
                o.smsg_wdata = Message {
                    laddr: i.post_laddr,
                    raddr: i.post_raddr,
                    rkey: i.post_rkey,
                    len: i.post_len,
                    msn: i.post_msn,
                    next: 0,
                };
                if i.qctx_rdata.queued && !i.post_open {
                    o.smsg_re = true;
                    o.smsg_raddr = u32::from(i.qctx_rdata.tail);
                }
            }
            State::PostLink => {
                o.post_ready = true;
                let was = if i.post_open { Context::new(i) } else { i.qctx_rdata };
                if was.queued {
                    o.smsg_we = true;
                    o.smsg_waddr = u32::from(was.tail);
                    o.smsg_wdata = Message { next: i.post_msg, ..i.smsg_rdata };
                }
                self.write_back(i, o, i.post_group, i.post_qp, was.after_post(i.post_msg));
            }
            State::AckCtx => {
                o.ack_ready = true;
                let ctx = i.qctx_rdata.after_ack(i.ack_cum);
                self.write_back(i, o, i.ack_group, i.ack_qp, ctx);
            }
            State::DropCtx => {
                o.drop_ready = true;
                self.write_back(i, o, i.drop_group, i.drop_qp, i.qctx_rdata.after_drop());
                o.work_wdata.rtx = set(o.work_wdata.rtx, i.drop_qp, false);
            }
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let news = self.news(i);
        let mut begins = i.ring || self.bells >> (HALF_BELL_CLOCKS - 1) == 1;
        let half = i.half_valid && self.armed || i.prefetch_half && self.prefetch_armed;
        self.bells = (self.bells << 1 | u16::from(half)) & 0x7fff;
        self.armed &= !i.half_valid;
        self.prefetch_armed &= !i.prefetch_half;
        self.try_valid &= !i.try_ready;
        self.seg_valid &= !i.seg_ready;
        self.sent_valid &= !i.sent_ready;
        self.ask_valid &= !i.ask_ready;
        self.end_valid = false;
        self.copy_done = false;
        self.resv_valid = false;
        self.take_valid = false;
        self.give_valid = false;
        self.room_rsp_valid = false;
        self.stall_slots = false;
        self.stall_tags = false;

        match self.state {
            State::Idle => begins |= self.take_first(i, news),
            State::Pick => self.pick(i),
            State::Fetch => self.fetch(i),
            State::Judge => self.judge(i),
            State::TurnWindow if i.try_rsp_valid => self.end_turn(i, o),
            State::Ask if i.offer_valid && self.copying => self.end_copy(i),
            State::Ask if i.offer_valid => self.ask(i),
            State::AskWindow if i.try_rsp_valid => self.end_ask(i, o),
            State::WaitCtx => {
                begins = true;
                let at = self.index(i.wait_group);
                self.known.set(at, true);
                self.ask_to_join(i.wait_group, &o.work_wdata);
            }
            State::PostCtx => self.state = State::PostLink,
            State::Room => self.reserve(i),
            State::Commit => self.commit(i, o.commit_ready),
            State::PostLink => {
                let at = self.index(i.post_group);
                self.known.set(at, true);
                self.ask_to_join(i.post_group, &o.work_wdata);
            }
            State::AckCtx => {
                begins |= i.ack_valid;
                self.ask_to_join(i.ack_group, &o.work_wdata);
            }
            State::DropCtx => {
                begins |= i.drop_valid;
                self.ask_to_join(i.drop_group, &o.work_wdata);
            }
            State::JoinWindow if i.try_rsp_valid => {
                if i.try_rsp_ok {
                    self.push(self.try_group, self.front);
                }
                self.state = State::Idle;
            }
            State::TurnWindow | State::JoinWindow | State::Ask | State::AskWindow => {}
        }

        if begins {
            self.passing = true;
            self.stopped = false;
            self.held = false;
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        self.state == State::Idle
            && !self.passing
            && !i.ring
            && !i.ack_valid
            && !i.drop_valid
            && !i.post_valid
            && self.bells == 0
            && !(self.armed && i.half_valid || self.prefetch_armed && i.prefetch_half)
            && !(self.take_valid || self.give_valid || i.commit_valid && !self.held)
            && !(self.seg_valid && i.seg_ready)
            && !(self.sent_valid && i.sent_ready)
            && !(self.resv_valid || self.stall_slots || self.stall_tags)
            && !(self.again || self.wrapped || self.slotless)
            && !(i.wait_valid || self.end_valid || self.copy_done || self.news(i))
            && !(i.room_valid || self.room_rsp_valid)
            && !(room(i) && self.starved.any())
    }
}

/// SEG-5: room for any segment of a starved group.
fn room(i: &Inputs) -> bool {
    i.slot_valid && i.tags_free >= SEGMENT_TAGS
}

impl Regs {
    /// A group as a place in the arrays.
    fn index(&self, group: u8) -> usize {
        usize::from(group) & (self.next.len() - 1)
    }

    /// The group's word.
    fn work(&self, i: &Inputs, group: u8) -> Work {
        if self.known[self.index(group)] { i.work_rdata } else { Work::NEW }
    }

    /// The QP of the head group whose turn it is, after those passed over.
    fn choose(&self, i: &Inputs) -> Option<Choice> {
        let work = self.work(i, self.head);
        let from = if self.again { self.qp } else { work.last };
        work.choose(from, self.wrapped)
    }

    /// `Idle`: reads for what goes first.
    fn read_first(&self, i: &Inputs, o: &mut Outputs) {
        let group = if i.ack_valid {
            o.qctx_re = true;
            o.qctx_raddr = u32::from(i.ack_qp);
            i.ack_group
        } else if i.drop_valid {
            o.qctx_re = true;
            o.qctx_raddr = u32::from(i.drop_qp);
            i.drop_group
        } else if i.wait_valid {
            i.wait_group
        } else if self.news(i) {
            return;
        } else if i.post_valid {
            o.qctx_re = true;
            o.qctx_raddr = u32::from(i.post_qp);
            i.post_group
        } else if self.passing && self.count > 0 {
            self.head
        } else {
            return;
        };
        o.work_re = true;
        o.work_raddr = u32::from(group);
    }

    /// Writes a QP's context and its bit in the group's word.
    fn write_back(&self, i: &Inputs, o: &mut Outputs, group: u8, qp: u8, ctx: Context) {
        o.qctx_we = true;
        o.qctx_waddr = u32::from(qp);
        o.qctx_wdata = ctx;
        o.work_we = true;
        o.work_waddr = u32::from(group);
        o.work_wdata = self.work(i, group);
        o.work_wdata.qps = set(o.work_wdata.qps, qp, ctx.queued && ctx.psn_open(i.cfg_range));
    }

    /// Writes whether a QP has a packet that waits into the group's word.
    fn mark(&self, i: &Inputs, o: &mut Outputs, group: u8, qp: u8, waits: bool) {
        o.work_we = true;
        o.work_waddr = u32::from(group);
        o.work_wdata = self.work(i, group);
        o.work_wdata.rtx = set(o.work_wdata.rtx, qp, waits);
    }

    /// The window is open, and the bytes asked about have entered flight.
    fn passes(&self, i: &Inputs) -> bool {
        i.try_rsp_valid && i.try_rsp_ok && self.try_commit
    }

    /// `Idle`: what goes first. True when a pass begins.
    fn take_first(&mut self, i: &Inputs, news: bool) -> bool {
        self.again = false;
        self.wrapped = false;
        self.slotless = false;
        if i.ack_valid {
            self.state = State::AckCtx;
        } else if i.drop_valid {
            self.state = State::DropCtx;
        } else if i.wait_valid {
            self.state = State::WaitCtx;
        } else if i.room_valid {
            self.state = State::Room;
        } else if self.commits(i) {
            self.state = State::Commit;
        } else if news {
            self.copies = true;
            return true;
        } else if i.post_valid {
            self.state = State::PostCtx;
        } else if room(i) && self.starved.any() {
            let group = self.starved.first_one().expect("one is starved");
            self.push(group as u8, false);
            return !self.stopped;
        } else if self.passing && self.copies {
            self.copying = true;
            self.ask_valid = true;
            self.yields = false;
            self.state = State::Ask;
        } else if self.count == 0 {
            self.passing = false;
        } else if self.passing && !self.seg_valid && !self.sent_valid {
            self.yields = false;
            self.state = State::Pick;
        }
        false
    }

    /// BUF-5: a commit can begin; between two of them a turn goes that can begin as well.
    fn commits(&self, i: &Inputs) -> bool {
        let turns = self.copies || self.count > 0 && !self.seg_valid && !self.sent_valid;
        i.commit_valid && !self.held && !(self.yields && self.passing && turns)
    }

    /// BUF-5: a payload is committed to the wire, or the egress pool has no room.
    fn commit(&mut self, i: &Inputs, commits: bool) {
        self.state = State::Idle;
        if commits {
            self.yields = true;
            self.resv_valid = true;
            self.give_valid = true;
            self.resv_bytes = i.commit_len + u16::from(i.cfg_wire_overhead);
        } else if i.commit_valid {
            self.held = true;
            self.armed = true;
        }
    }

    /// PTH-2: room for a probe; `egress_free` shows what was reserved before.
    fn reserve(&mut self, i: &Inputs) {
        self.state = State::Idle;
        self.room_rsp_valid = true;
        self.room_rsp_ok = i.egress_free >= u32::from(i.room_bytes);
        self.resv_valid = self.room_rsp_ok;
        if self.room_rsp_ok {
            self.resv_bytes = i.room_bytes;
        }
    }

    fn pick(&mut self, i: &Inputs) {
        if let Some(choice) = self.choose(i) {
            self.qp = choice.qp;
            self.wrapped = choice.wrapped;
            self.state = State::Fetch;
        } else {
            self.qp = 0;
            self.wrapped = true;
            self.stall_tags = self.again && !self.slotless;
            self.stall_slots = self.slotless;
            self.pop(self.again);
            self.state = State::Idle;
        }
    }

    /// RTX-1: a packet that waits goes before new data.
    fn fetch(&mut self, i: &Inputs) {
        self.state = State::Judge;
        if self.work(i, self.head).waits(self.qp) {
            self.ask_valid = true;
            self.ask_from = i.qctx_rdata.cum.plus(1);
            self.state = State::Ask;
        }
    }

    /// `retransmit` offers a packet, or none.
    fn ask(&mut self, i: &Inputs) {
        self.state = State::Idle;
        if i.offer_hit {
            self.try_valid = true;
            self.try_group = self.head;
            self.try_bytes = i.offer_len + u16::from(i.cfg_nominal_overhead);
            self.try_commit = fits(i, i.offer_len);
            self.state = State::AskWindow;
        }
    }

    /// CPL-2: a copy is new.
    fn news(&self, i: &Inputs) -> bool {
        let first = i.ack_valid || i.drop_valid || i.wait_valid;
        i.copy_valid && !self.copies && !self.copy_done && !first
    }

    /// CPL-2: the turn of a copy ends: taken, without one, or with a full pool.
    fn end_copy(&mut self, i: &Inputs) {
        let fits = fits(i, i.offer_len);
        self.state = State::Idle;
        self.copying = false;
        self.end_valid = i.offer_hit;
        self.end_take = fits;
        if i.offer_hit && !fits {
            self.stop();
            return;
        }
        (self.copies, self.copy_done) = (false, true);
        if i.offer_hit {
            self.resv_valid = true;
            self.resv_bytes = i.offer_len + u16::from(i.cfg_wire_overhead);
        }
    }

    /// The turn of a packet that waits ends: taken, with a shut window, or with a full pool.
    fn end_ask(&mut self, i: &Inputs, o: &Outputs) {
        if i.try_rsp_ok && !self.try_commit && fits(i, i.offer_len) {
            self.try_valid = true;
            self.try_commit = true;
            return;
        }
        self.state = State::Idle;
        self.end_valid = true;
        self.end_take = self.passes(i);
        if self.end_take {
            self.resv_valid = true;
            self.resv_bytes = i.offer_len + u16::from(i.cfg_wire_overhead);
            self.go_back(&o.work_wdata);
        } else if !i.try_rsp_ok {
            self.pop(false);
        } else {
            self.stop();
        }
    }

    /// The egress pool has stopped the pass.
    fn stop(&mut self) {
        self.passing = false;
        self.stopped = true;
        self.armed = true;
        self.held = true;
    }

    /// SCH-4: after its turn a group with work left goes to the head if a packet waits, else to the
    /// tail.
    fn go_back(&mut self, work: &Work) {
        let group = self.head;
        self.pop(false);
        if work.any() {
            self.push(group, work.any_waits());
        }
    }

    fn judge(&mut self, i: &Inputs) {
        let Piece { len, .. } = Piece::of(i);
        if !i.slot_valid && self.work(i, self.head).any_waits() {
            self.again = true;
            self.slotless = true;
            self.state = State::Pick;
        } else if !i.slot_valid {
            self.stall_slots = true;
            self.pop(true);
            self.state = State::Idle;
        } else if len > 0 && i.tags_free < SEGMENT_TAGS {
            self.again = true;
            self.state = State::Pick;
        } else {
            self.try_valid = true;
            self.try_group = self.head;
            self.try_bytes = len + u16::from(i.cfg_nominal_overhead);
            self.try_commit = fetchable(i, len);
            self.state = State::TurnWindow;
        }
    }

    fn end_turn(&mut self, i: &Inputs, o: &Outputs) {
        if !i.try_rsp_ok {
            self.pop(false);
        } else if self.try_commit {
            self.issue(i);
            self.go_back(&o.work_wdata);
        } else if fetchable(i, Piece::of(i).len) {
            self.try_valid = true;
            self.try_commit = true;
            return;
        } else {
            self.passing = false;
            self.stopped = true;
            self.armed |= !i.cfg_prefetch_on;
            self.prefetch_armed |= i.cfg_prefetch_on;
        }
        self.state = State::Idle;
    }

    fn issue(&mut self, i: &Inputs) {
        let (ctx, msg) = (&i.qctx_rdata, &i.smsg_rdata);
        let Piece { len, last } = Piece::of(i);
        self.resv_valid = !i.cfg_prefetch_on;
        self.take_valid = i.cfg_prefetch_on;
        self.resv_bytes = len + u16::from(i.cfg_wire_overhead);
        self.seg_valid = true;
        self.seg = Segment {
            qp: self.qp,
            dest: ctx.dest,
            group: self.head,
            slot: i.slot,
            msg: ctx.head,
            psn: ctx.next,
            laddr: msg.laddr.wrapping_add(u64::from(ctx.sent)),
            len,
            raddr: msg.raddr.wrapping_add(u64::from(ctx.sent)),
            rkey: msg.rkey,
            msg_len: msg.len,
            msn: msg.msn,
            first: ctx.sent == 0,
            last,
        };
        if last {
            self.sent_valid = true;
            self.sent_qp = self.qp;
            self.sent_msg = ctx.head;
            self.sent_slot = i.slot;
            self.sent_psn = ctx.next;
            self.sent_first = if ctx.sent == 0 { ctx.next } else { ctx.first };
        }
    }

    /// After a post or an ack: a group with work that is not on the list joins if its window is
    /// open.
    fn ask_to_join(&mut self, group: u8, work: &Work) {
        self.state = State::Idle;
        self.front = work.any_waits();
        if work.any() && !self.on_list[self.index(group)] {
            self.try_valid = true;
            self.try_group = group;
            self.try_bytes = 0;
            self.try_commit = false;
            self.state = State::JoinWindow;
        }
    }

    /// The head leaves the list.
    fn pop(&mut self, starve: bool) {
        let at = self.index(self.head);
        self.on_list.set(at, false);
        self.starved.set(at, starve);
        self.head = self.next[at];
        self.count = self.count.wrapping_sub(1) & 0x1ff;
    }

    /// A group goes to the tail, or in front.
    fn push(&mut self, group: u8, front: bool) {
        if self.count == 0 {
            self.head = group;
            self.tail = group;
        } else if front {
            let at = self.index(group);
            self.next[at] = self.head;
            self.head = group;
        } else {
            let at = self.index(self.tail);
            self.next[at] = group;
            self.tail = group;
        }
        self.count += 1;
        let at = self.index(group);
        self.on_list.set(at, true);
        self.starved.set(at, false);
    }
}

/// SEG-4: the egress pool has room for a packet with this payload.
fn fits(i: &Inputs, len: u16) -> bool {
    i.egress_free >= u32::from(len) + u32::from(i.cfg_wire_overhead)
}

/// SEG-4, BUF-5: there is room for one that is to be fetched.
fn fetchable(i: &Inputs, len: u16) -> bool {
    let free = if i.cfg_prefetch_on { i.prefetch_free } else { i.egress_free };
    free >= u32::from(len) + u32::from(i.cfg_wire_overhead)
}

/// SEG-1: the next segment of the QP whose context and message have been read.
struct Piece {
    len: u16,
    last: bool,
}

impl Piece {
    fn of(i: &Inputs) -> Self {
        let left = i.smsg_rdata.len.wrapping_sub(i.qctx_rdata.sent);
        let last = left <= u32::from(i.cfg_mss);
        Self { len: if last { left as u16 } else { i.cfg_mss }, last }
    }
}

/// A QP's word: PSNs and the queue of its messages not issued to the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Context {
    /// Destination.
    #[bits(6)]
    pub dest: u8,
    /// The queue is not empty: `head` to `tail`.
    pub queued: bool,
    /// First message of the queue.
    #[bits(10)]
    pub head: u16,
    /// Last message of the queue.
    #[bits(10)]
    pub tail: u16,
    /// The PSN that its next segment gets.
    pub next: Psn,
    /// Acknowledged up to and with this one.
    pub cum: Psn,
    /// Bytes of the head message that are issued; 0 between messages.
    pub sent: u32,
    /// The first PSN of the head message, where `sent` is not 0.
    pub first: Psn,
}

impl Context {
    /// A new QP.
    fn new(i: &Inputs) -> Self {
        let next = i.cfg_initial_psn;
        Self { dest: i.post_dest, next, cum: next.minus(1), ..Self::default() }
    }

    /// SEG-2: fewer than `range` packets lie beyond the cumulative PSN.
    fn psn_open(&self, range: u16) -> bool {
        self.next.minus(self.cum.0).minus(1).0 < u32::from(range)
    }

    /// A post: the queue grows by `msg`.
    fn after_post(mut self, msg: u16) -> Self {
        if !self.queued {
            self.head = msg;
        }
        self.tail = msg;
        self.queued = true;
        self
    }

    /// An acknowledgement: only one that advances counts.
    fn after_ack(mut self, cum: Psn) -> Self {
        if cum.ahead_of(self.cum) > 0 {
            self.cum = cum;
        }
        self
    }

    /// The QP sends nothing more.
    fn after_drop(mut self) -> Self {
        self.queued = false;
        self.sent = 0;
        self
    }

    /// The issue of a segment of the head message; `next` comes after that message.
    fn after_issue(mut self, piece: &Piece, next: u16) -> Self {
        if self.sent == 0 {
            self.first = self.next;
        }
        self.next = self.next.plus(1);
        self.sent = self.sent.wrapping_add(u32::from(piece.len));
        if piece.last {
            self.sent = 0;
            self.queued = self.head != self.tail;
            self.head = next;
        }
        self
    }
}

/// A message's word: as posted, and the one after it in the QP's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Message {
    /// Where its payload lies in host memory.
    pub laddr: u64,
    /// Where it goes at the peer.
    pub raddr: u64,
    /// Remote key.
    pub rkey: u32,
    /// Bytes.
    pub len: u32,
    /// Messages of the QP before this one.
    pub msn: u16,
    /// The message after it.
    #[bits(10)]
    pub next: u16,
}

/// A group's word: the QP last served, a bit for each QP with data and its PSN window open, and one
/// for each QP with a packet that waits to go again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Work {
    /// The QP last served.
    pub last: u8,
    /// QPs with data.
    pub qps: Wide<4>,
    /// QPs with a packet that waits.
    pub rtx: Wide<4>,
}

/// The same QPs, with one in or out.
fn set(qps: Wide<4>, qp: u8, on: bool) -> Wide<4> {
    let Wide(mut words) = qps;
    let (word, bit) = (usize::from(qp / 64), qp % 64);
    words[word] = words[word] & !(1 << bit) | u64::from(on) << bit;
    Wide(words)
}

/// A QP of a group in its turn.
struct Choice {
    qp: u8,
    /// It is not above the QP last served.
    wrapped: bool,
}

impl Work {
    /// No QP has work, and the lowest will come first.
    const NEW: Self = Self { last: 0xff, qps: Wide::ZERO, rtx: Wide::ZERO };

    /// Some QP has work.
    fn any(&self) -> bool {
        self.qps.0 != [0; 4] || self.any_waits()
    }

    /// Some QP has a packet that waits.
    fn any_waits(&self) -> bool {
        self.rtx.0 != [0; 4]
    }

    /// This one has.
    fn waits(&self, qp: u8) -> bool {
        self.rtx.0[usize::from(qp / 64)] >> (qp % 64) & 1 == 1
    }

    /// The lowest QP with work from `low` up.
    fn from(&self, low: u16) -> Option<u8> {
        let first = usize::from(low / 64);
        (first..4).find_map(|word| {
            let mask = if word == first { u64::MAX << (low % 64) } else { u64::MAX };
            let bits = (self.qps.0[word] | self.rtx.0[word]) & mask;
            (bits != 0).then(|| word as u8 * 64 + bits.trailing_zeros() as u8)
        })
    }

    /// SCH-3: the next QP after `from`, ascending and cyclic up to and with the one last served.
    fn choose(&self, from: u8, wrapped: bool) -> Option<Choice> {
        let above = self.from(u16::from(from) + 1);
        if !wrapped && let Some(qp) = above {
            return Some(Choice { qp, wrapped: false });
        }
        let qp = if wrapped { above } else { self.from(0) };
        qp.filter(|qp| *qp <= self.last).map(|qp| Choice { qp, wrapped: true })
    }
}
