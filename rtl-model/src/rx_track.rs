//! Receiver sides: finds or creates the QP of a packet, judges its PSN, says what is delivered and
//! what is answered.
//!
//! Twin of `hdl/rx_track.sv`. QP-4, QP-5, RX-3 to RX-8, ACK-1, SACK-1 to SACK-3, SACK-6, NAK-1,
//! PTH-2, MSN-8, CPL-1. A packet waits at `in` until it is judged: 3 clocks after it came with R
//! clear, 5 with R set, 1 without a QP to look for, 4 more where it creates one; what follows is
//! there a clock later. Where `sack_bitmap` has a part in it, the next packet is taken up 4 clocks
//! after the judgement of a packet ahead, 7 or 9 with a SACK: 6, 9 or 11 clocks a packet, 8 at most
//! on average where every fourth draws a SACK. One that fills a gap takes 5 and 2 for each word of
//! the run, 1 for each message that it completes, and 5 to 7 for a SACK. A close takes 3 and waits
//! for one packet.
//!
//! Memory `peer`, DESTS × QPS words by destination and sender's slot: the receiver side of that
//! sender, or the last generation closed. It is swept after reset, a word a clock; nothing is taken
//! meanwhile. Memory `rctx`, QPS words by receiver's slot; a slot below `fresh` has been written.
//! Memory `ends`, QPS × PSNS words by slot and PSN: what the `RECV_COMPLETE` of a held last packet
//! says. The bits of held PSNs are `sack_bitmap`'s.
//!
//! One difference, PSN less cumulative PSN, decides: 0 and down to 0x800000 a duplicate, 1 in
//! order, up to `cfg_range` ahead, then out of the window (RX-4).
//!
//! It never waits for PCIe (ACK-1): `deliver` has no ready. Its queue holds 2 × `INGRESS_WORDS`;
//! where half of it less PSNS is taken, data is dropped as `Pool`, before anything else changes.
//! Nor do answers wait for the control pool: `waiting` counts frames made and not built, and the
//! one after the 1,024th is dropped and counted (SACK-6).
//!
//! Choices: an R packet with a newer generation than the sender's side that is open is dropped as
//! `Qp`, until the host closes that side. Where no generation was closed, any is new. A trimmed
//! packet that is not dropped is `relt_valid` without `drop_valid`. Whoever gives back the charge
//! has it: 0 bytes, duplicates and drops give it back here, and their words are passed over by a
//! delivery with `write` clear. `RECV_COMPLETE` names METH's msn. A SACK's walk moves though the
//! SACK is dropped. A message that is completed by an arrival, its own or one it had held up, draws
//! a SACK. A probe creates no side; its answer lists nothing and moves no walk.

mod side;

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::header;
use crate::image::{BadBits, Field, Item, Reader, Wide, Writer};
use crate::sack_bitmap::Op;
use crate::sizes::Sizes;
use crate::types::{Answer, Delivery, Drop, Kind, Nack, Parsed, Psn, Qpn};
pub use side::{COUNT_LEAST, COUNT_PASS, End, Peer, Side};

/// Control frames that wait at most (SACK-6).
pub const WAITING_MOST: u16 = 1024;

/// Sizes of the build that no register shows: parameters of the RTL, and no bits of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Destinations.
    pub dests: u32,
    /// PSNs of the ring.
    pub psns: u32,
    /// Words of the ingress buffer.
    pub ingress_words: u32,
}

impl Item for Build {
    fn layout(&self, _name: &str, _width: u32, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _width: u32, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// What the block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(4)]
pub enum State {
    /// Clears `peer`.
    #[default]
    Sweep = 0,
    /// Takes up a packet or a close.
    Idle = 1,
    /// Reads `peer`.
    Peer = 2,
    /// Finds the side or makes room for a new one.
    Look = 3,
    /// Empties the bitmap of a new one.
    Wipe = 4,
    /// Reads `rctx`.
    Read = 5,
    /// Judges the packet and lets it go.
    Judge = 6,
    /// Waits for `sack_bitmap`.
    Ask = 7,
    /// A gap is filled: passes last packets, then answers.
    Settle = 8,
    /// Reads `rctx` for a close.
    Aim = 9,
    /// Closes the side.
    Shut = 10,
}

/// Where an untrimmed data packet in the window lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is dropped, trimmed or a probe.
    Nowhere,
    /// Below the expected PSN.
    Behind,
    /// The expected PSN.
    InOrder,
    /// Above it.
    Ahead,
}

/// Input ports, without the `_i`.
#[derive(Clone, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ingress_pool`.
    pub in_valid: bool,
    /// From `ingress_pool`: a data or trimmed packet, or a probe.
    pub r#in: Parsed,
    /// Memory of senders.
    pub peer_rdata: Peer,
    /// Memory of receiver sides.
    pub rctx_rdata: Side,
    /// Memory of held last packets.
    pub ends_rdata: End,
    /// From `sack_bitmap`.
    pub map_ready: bool,
    /// From `sack_bitmap`.
    pub map_rsp_valid: bool,
    /// From `sack_bitmap`: the PSN was held; the run is not empty.
    pub map_rsp_hit: bool,
    /// From `sack_bitmap`: the base, or the start of this part of the run.
    pub map_rsp_psn: Psn,
    /// From `sack_bitmap`: the block, or the last packets of the run.
    pub map_rsp_bits: u64,
    /// From `sack_bitmap`: length of the run.
    #[bits(11)]
    pub map_rsp_far: u16,
    /// From `sack_bitmap`: an ACK-request packet is in the run.
    pub map_rsp_asked: bool,
    /// From `sack_bitmap`: the run goes on.
    pub map_rsp_more: bool,
    /// Level: what the queue of deliveries holds.
    pub deliver_level: u32,
    /// From `ack_build`.
    pub answer_ready: bool,
    /// From `ack_build`: it has built one frame.
    pub sent_valid: bool,
    /// From `doorbell`.
    pub close_valid: bool,
    /// From `doorbell`: the receiver side to close.
    pub close_qpn: Qpn,
    /// Level: destinations that exist.
    pub cfg_peer_valid: u64,
    /// Level: their addresses, 32 bits each.
    pub cfg_peer_ip: Wide<32>,
    /// Level: `MaxPSNRange`.
    #[bits(11)]
    pub cfg_range: u16,
    /// Level: `TrimmingEnabled`.
    pub cfg_trimming: bool,
    /// Level: `InitialPSN`.
    pub cfg_initial_psn: Psn,
    /// Level: bytes of a data packet on the wire beside its payload.
    #[bits(7)]
    pub cfg_wire_overhead: u8,
    /// Level: bytes of a data packet's nominal size beside its payload.
    #[bits(7)]
    pub cfg_nominal_overhead: u8,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `ingress_pool`.
    pub in_ready: bool,
    /// Memory of senders.
    pub peer_we: bool,
    /// Memory of senders.
    pub peer_waddr: u32,
    /// Memory of senders.
    pub peer_wdata: Peer,
    /// Memory of senders.
    pub peer_re: bool,
    /// Memory of senders.
    pub peer_raddr: u32,
    /// Memory of receiver sides.
    pub rctx_we: bool,
    /// Memory of receiver sides.
    pub rctx_waddr: u32,
    /// Memory of receiver sides.
    pub rctx_wdata: Side,
    /// Memory of receiver sides.
    pub rctx_re: bool,
    /// Memory of receiver sides.
    pub rctx_raddr: u32,
    /// Memory of held last packets.
    pub ends_we: bool,
    /// Memory of held last packets.
    pub ends_waddr: u32,
    /// Memory of held last packets.
    pub ends_wdata: End,
    /// Memory of held last packets.
    pub ends_re: bool,
    /// Memory of held last packets.
    pub ends_raddr: u32,
    /// To `sack_bitmap`.
    pub map_valid: bool,
    /// To `sack_bitmap`.
    pub map_op: Op,
    /// To `sack_bitmap`.
    pub map_qp: u8,
    /// To `sack_bitmap`.
    pub map_psn: Psn,
    /// To `sack_bitmap`.
    pub map_low: Psn,
    /// To `sack_bitmap`.
    pub map_walk: Psn,
    /// To `sack_bitmap`.
    pub map_last: bool,
    /// To `sack_bitmap`.
    pub map_asked: bool,
    /// To `sack_bitmap`.
    pub map_rsp_ready: bool,
    /// To `payload_write`.
    pub deliver_valid: bool,
    /// To `payload_write`, in arrival order.
    pub deliver: Delivery,
    /// To `ack_build`.
    pub answer_valid: bool,
    /// To `ack_build`.
    pub answer: Answer,
    /// To `doorbell`.
    pub close_ready: bool,
    /// Event: a packet was dropped.
    pub drop_valid: bool,
    /// Why.
    pub drop_reason: Drop,
    /// Event: `RECV_COMPLETE`.
    pub recv_valid: bool,
    /// Of which side.
    pub recv_qpn: Qpn,
    /// Of which message.
    pub recv_msn: u16,
    /// Event, to `qp_table` and the log: a side was created.
    pub created_valid: bool,
    /// Its number.
    pub created_qpn: Qpn,
    /// Its peer.
    #[bits(6)]
    pub created_dest: u8,
    /// Event: a side was closed.
    pub closed_valid: bool,
    /// Its number.
    pub closed_qpn: Qpn,
    /// Its peer.
    #[bits(6)]
    pub closed_dest: u8,
    /// Event: a duplicate.
    pub dup_valid: bool,
    /// Event: a PSN out of order is held.
    pub ooo_valid: bool,
    /// Event: control frames dropped for want of room to wait.
    #[bits(2)]
    pub ctrl_drops: u8,
    /// Release of the data class, to `ingress_pool`.
    pub rel2_valid: bool,
    /// Bytes of it.
    #[bits(14)]
    pub rel2_bytes: u16,
    /// Release of the control class, to `ingress_pool`.
    pub relt_valid: bool,
    /// Bytes of it.
    #[bits(14)]
    pub relt_bytes: u16,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Parameters.
    pub build: Build,
    /// What the block is doing.
    pub state: State,
    /// Next word of `peer` to clear.
    #[bits(14)]
    pub sweep: u16,
    /// A close goes before the next packet.
    pub close_turn: bool,
    /// The packet's peer.
    #[bits(6)]
    pub dest: u8,
    /// The sender's slot until `Look`, then ours.
    pub slot: u8,
    /// The side is to be created.
    pub create: bool,
    /// `rctx` was written as it was read.
    pub forward: bool,
    /// Why the packet is dropped, where that was found before `Judge`.
    pub drop: Drop,
    /// Slots never opened start here.
    #[bits(9)]
    pub fresh: u16,
    /// Slots closed, oldest first from `free_head`.
    pub free: Vec<u8>,
    /// The oldest.
    pub free_head: u8,
    /// How many.
    #[bits(9)]
    pub free_count: u16,
    /// Of the packet that waits for `sack_bitmap`.
    pub side: Side,
    /// It draws a SACK.
    pub sack: bool,
    /// A last packet is in order.
    pub passed: bool,
    /// PSNs held were passed.
    pub closed_gap: bool,
    /// A request waits for `sack_bitmap`.
    pub map_valid: bool,
    /// What it asks.
    pub map_op: Op,
    /// Last packets to pass, from `pass_psn` on.
    pub lasts: u64,
    /// The first PSN that `lasts` may name.
    pub pass_psn: Psn,
    /// `ends_rdata` is of the one passed.
    pub pass: bool,
    /// Control frames that are not built.
    #[bits(11)]
    pub waiting: u16,
    /// Memory of senders.
    pub peer_we: bool,
    /// Memory of senders.
    pub peer_waddr: u32,
    /// Memory of senders.
    pub peer_wdata: Peer,
    /// Memory of receiver sides.
    pub rctx_we: bool,
    /// Memory of receiver sides.
    pub rctx_waddr: u8,
    /// Memory of receiver sides.
    pub rctx_wdata: Side,
    /// Memory of held last packets.
    pub ends_we: bool,
    /// Memory of held last packets.
    pub ends_waddr: u32,
    /// Memory of held last packets.
    pub ends_wdata: End,
    /// `deliver` is a delivery.
    pub deliver_valid: bool,
    /// To `payload_write`.
    pub deliver: Delivery,
    /// `answer` waits.
    pub answer_valid: bool,
    /// To `ack_build`.
    pub answer: Answer,
    /// Event.
    pub drop_valid: bool,
    /// Why.
    pub drop_reason: Drop,
    /// Event.
    pub recv_valid: bool,
    /// Of which side.
    pub recv_qpn: Qpn,
    /// Of which message.
    pub recv_msn: u16,
    /// Event.
    pub created_valid: bool,
    /// Which side.
    pub created_qpn: Qpn,
    /// Its peer.
    #[bits(6)]
    pub created_dest: u8,
    /// Event.
    pub closed_valid: bool,
    /// Which side.
    pub closed_qpn: Qpn,
    /// Its peer.
    #[bits(6)]
    pub closed_dest: u8,
    /// Event.
    pub dup_valid: bool,
    /// Event.
    pub ooo_valid: bool,
    /// Event.
    #[bits(2)]
    pub ctrl_drops: u8,
    /// Release of the data class.
    pub rel2_valid: bool,
    /// Release of the control class.
    pub relt_valid: bool,
    /// Bytes of either.
    #[bits(14)]
    pub rel_bytes: u16,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        assert!(sizes.qps <= 256 && sizes.dests <= 64, "sizes fit their fields");
        Self {
            build: Build {
                dests: sizes.dests,
                psns: sizes.psns,
                ingress_words: sizes.ingress_words,
            },
            state: State::Sweep,
            sweep: 0,
            close_turn: false,
            dest: 0,
            slot: 0,
            create: false,
            forward: false,
            drop: Drop::None,
            fresh: 0,
            free: vec![0; sizes.qps as usize],
            free_head: 0,
            free_count: 0,
            side: Side::default(),
            sack: false,
            passed: false,
            closed_gap: false,
            map_valid: false,
            map_op: Op::Wipe,
            lasts: 0,
            pass_psn: Psn(0),
            pass: false,
            waiting: 0,
            peer_we: false,
            peer_waddr: 0,
            peer_wdata: Peer::default(),
            rctx_we: false,
            rctx_waddr: 0,
            rctx_wdata: Side::default(),
            ends_we: false,
            ends_waddr: 0,
            ends_wdata: End::default(),
            deliver_valid: false,
            deliver: Delivery::default(),
            answer_valid: false,
            answer: Answer::default(),
            drop_valid: false,
            drop_reason: Drop::None,
            recv_valid: false,
            recv_qpn: Qpn::default(),
            recv_msn: 0,
            created_valid: false,
            created_qpn: Qpn::default(),
            created_dest: 0,
            closed_valid: false,
            closed_qpn: Qpn::default(),
            closed_dest: 0,
            dup_valid: false,
            ooo_valid: false,
            ctrl_drops: 0,
            rel2_valid: false,
            relt_valid: false,
            rel_bytes: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.in_ready = self.state == State::Judge && !self.answer_valid;
        o.peer_we = self.peer_we;
        o.peer_waddr = self.peer_waddr;
        o.peer_wdata = self.peer_wdata;
        o.peer_re = self.state == State::Peer;
        o.peer_raddr = self.peer_word(self.dest, self.slot);
        o.rctx_we = self.rctx_we;
        o.rctx_waddr = u32::from(self.rctx_waddr);
        o.rctx_wdata = self.rctx_wdata;
        o.rctx_re = matches!(self.state, State::Read | State::Aim);
        o.rctx_raddr = u32::from(self.slot);
        o.ends_we = self.ends_we;
        o.ends_waddr = self.ends_waddr;
        o.ends_wdata = self.ends_wdata;
        o.ends_re = self.lasts != 0;
        o.ends_raddr = self.end_word(self.pass_psn.plus(self.lasts.trailing_zeros().min(63)));
        o.map_valid = self.map_valid;
        o.map_op = self.map_op;
        o.map_qp = self.slot;
        let run = self.map_op == Op::Advance;
        o.map_psn = if run { self.side.expected } else { self.answer.drew };
        o.map_low = self.side.expected;
        o.map_walk = self.side.walk;
        o.map_last = self.deliver.complete;
        o.map_asked = self.answer.ack;
        o.map_rsp_ready = self.hears();
        o.deliver_valid = self.deliver_valid;
        o.deliver = self.deliver;
        o.answer_valid = self.answer_valid;
        o.answer = self.answer;
        o.close_ready = self.state == State::Shut;
        o.drop_valid = self.drop_valid;
        o.drop_reason = self.drop_reason;
        o.recv_valid = self.recv_valid;
        o.recv_qpn = self.recv_qpn;
        o.recv_msn = self.recv_msn;
        o.created_valid = self.created_valid;
        o.created_qpn = self.created_qpn;
        o.created_dest = self.created_dest;
        o.closed_valid = self.closed_valid;
        o.closed_qpn = self.closed_qpn;
        o.closed_dest = self.closed_dest;
        o.dup_valid = self.dup_valid;
        o.ooo_valid = self.ooo_valid;
        o.ctrl_drops = self.ctrl_drops;
        o.rel2_valid = self.rel2_valid;
        o.rel2_bytes = self.rel_bytes;
        o.relt_valid = self.relt_valid;
        o.relt_bytes = self.rel_bytes;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let wrote = self.rctx_we && self.rctx_waddr == self.slot;
        self.peer_we = false;
        self.rctx_we = false;
        self.ends_we = false;
        self.deliver_valid = false;
        self.drop_valid = false;
        self.recv_valid = false;
        self.created_valid = false;
        self.closed_valid = false;
        self.dup_valid = false;
        self.ooo_valid = false;
        self.ctrl_drops = 0;
        self.rel2_valid = false;
        self.relt_valid = false;
        self.answer_valid &= !i.answer_ready;
        self.map_valid &= !i.map_ready;
        let (lasts, pass) = (self.lasts, self.pass);
        match self.state {
            State::Sweep => self.clear_one(),
            State::Idle => self.take_up(i),
            State::Peer => self.state = State::Look,
            State::Look => self.look(&i.r#in, i.peer_rdata),
            State::Wipe => {
                if i.map_rsp_valid {
                    self.state = State::Read;
                }
            }
            State::Read => self.read(State::Judge, wrote),
            State::Judge => {
                if o.in_ready {
                    self.state = State::Idle;
                    self.close_turn = i.close_valid;
                    self.judge(i);
                }
            }
            State::Ask => {
                if i.map_rsp_valid && o.map_rsp_ready {
                    self.told(i);
                }
            }
            State::Settle => {
                if lasts == 0 && !pass {
                    self.settle(i);
                }
            }
            State::Aim => self.read(State::Shut, wrote),
            State::Shut => {
                self.state = State::Idle;
                self.close(i.close_qpn, self.found(i));
            }
        }
        if lasts != 0 {
            self.lasts = lasts & (lasts - 1);
        }
        self.pass = lasts != 0;
        if pass {
            self.pass_last(i.ends_rdata);
        }
        self.waiting = self.waiting.wrapping_sub(u16::from(i.sent_valid)) & 0x7ff;
    }

    fn idle(&self, i: &Inputs) -> bool {
        let waits = match self.state {
            State::Idle => !i.in_valid && !i.close_valid && !self.close_turn,
            State::Judge => self.answer_valid,
            State::Wipe => !i.map_rsp_valid,
            State::Ask => !i.map_rsp_valid && self.lasts == 0 && !self.pass,
            _ => false,
        };
        let taken =
            self.answer_valid && i.answer_ready || self.map_valid && i.map_ready || i.sent_valid;
        let events = self.peer_we
            || self.rctx_we
            || self.ends_we
            || self.deliver_valid
            || self.drop_valid
            || self.recv_valid
            || self.created_valid
            || self.closed_valid
            || self.dup_valid
            || self.ooo_valid
            || self.ctrl_drops != 0
            || self.rel2_valid
            || self.relt_valid;
        waits && !taken && !events
    }
}

/// PETH's probe id: bytes 4 and 5, most significant first.
fn probe_id(p: &Parsed) -> u16 {
    ((p.ctrl.0[0] >> 32) as u16).swap_bytes()
}

impl Regs {
    /// QPs of a side.
    fn qps(&self) -> u32 {
        self.free.len() as u32
    }

    /// A sender's slot in the memory `peer`.
    fn peer_word(&self, dest: u8, slot: u8) -> u32 {
        u32::from(dest) * self.qps() + u32::from(slot)
    }

    /// A PSN of the side in the memory `ends`.
    fn end_word(&self, psn: Psn) -> u32 {
        u32::from(self.slot) * self.build.psns + psn.0 % self.build.psns
    }

    /// `rctx` is read; a write in the same clock comes too late for it.
    fn read(&mut self, then: State, wrote: bool) {
        self.state = then;
        self.forward = wrote;
    }

    /// The side that was read, or written meanwhile.
    fn found(&self, i: &Inputs) -> Side {
        if self.forward { self.rctx_wdata } else { i.rctx_rdata }
    }

    /// A response of `sack_bitmap` has room.
    fn hears(&self) -> bool {
        matches!(self.state, State::Wipe | State::Ask) && self.lasts == 0
    }

    /// Clears the next word of `peer`.
    fn clear_one(&mut self) {
        self.peer_we = true;
        self.peer_waddr = u32::from(self.sweep);
        self.peer_wdata = Peer::default();
        if u32::from(self.sweep) + 1 == self.build.dests * self.qps() {
            self.state = State::Idle;
        }
        self.sweep = (self.sweep + 1) & 0x3fff;
    }

    /// Takes up a packet or a close: what is known without a memory.
    fn take_up(&mut self, i: &Inputs) {
        if self.close_turn {
            self.slot = i.close_qpn.slot();
            self.close_turn = false;
            if i.close_valid {
                let exists = u32::from(self.slot) < self.qps();
                self.state = if exists { State::Aim } else { State::Shut };
            }
            return;
        }
        if !i.in_valid {
            self.close_turn = i.close_valid;
            return;
        }
        let p = &i.r#in;
        let source = self.source(i);
        self.dest = source.unwrap_or(0);
        self.slot = p.qpn.slot();
        self.create = false;
        let room = self.build.ingress_words - self.build.psns - 8;
        self.drop = match (p.kind, source) {
            (Kind::Ack | Kind::Sack | Kind::Nack, _) => Drop::Opcode,
            (Kind::Data, _) if i.deliver_level >= room => Drop::Pool,
            (_, None) => Drop::Peer,
            _ if u32::from(self.slot) >= self.qps() => Drop::Qp,
            _ => Drop::None,
        };
        self.state = match (self.drop, p.by_sender) {
            (Drop::None, true) => State::Peer,
            (Drop::None, false) => State::Read,
            _ => State::Judge,
        };
    }

    /// The destination that the packet is from, the lowest of several.
    fn source(&self, i: &Inputs) -> Option<u8> {
        (0..self.build.dests as usize)
            .find(|d| {
                let ip = (i.cfg_peer_ip.0[d / 2] >> (d % 2 * 32)) as u32;
                ip == i.r#in.src_ip && i.cfg_peer_valid >> d & 1 == 1
            })
            .map(|d| d as u8)
    }

    /// QP-5, by the sender's number: its open side, a new one, or neither.
    fn look(&mut self, p: &Parsed, known: Peer) {
        let newer = p.qpn.generation().wrapping_sub(known.generation).cast_signed();
        self.slot = known.slot;
        self.state = State::Judge;
        if known.open {
            if newer == 0 {
                self.state = State::Read;
            } else {
                self.drop = Drop::Qp;
            }
        } else if known.closed && newer <= 0 || p.kind == Kind::Probe {
            self.drop = Drop::Qp;
        } else {
            self.make_room();
        }
    }

    /// A slot for a new side: one never used, else the one closed for longest.
    fn make_room(&mut self) {
        self.create = true;
        let fresh = u32::from(self.fresh) < self.qps();
        self.slot = if fresh { self.fresh as u8 } else { self.free[usize::from(self.free_head)] };
        self.map_op = Op::Wipe;
        if fresh || self.free_count > 0 {
            self.state = State::Wipe;
            self.map_valid = true;
        } else {
            self.drop = Drop::QpFull;
        }
    }

    /// The side that `Look` made room for.
    fn created(&self, p: &Parsed, last: Side, initial: Psn) -> Side {
        let again = u16::from(self.slot) < self.fresh;
        Side {
            open: true,
            generation: if again { last.generation.wrapping_add(1) } else { 1 },
            dest: self.dest,
            sender_qpn: p.qpn,
            expected: initial,
            walk: initial,
            ..Side::default()
        }
    }

    /// Takes the slot and writes the sender's record.
    fn open(&mut self, p: &Parsed, own: Qpn) {
        if u32::from(self.fresh) < self.qps() {
            self.fresh += 1;
        } else {
            self.free_head = self.free_place(1);
            self.free_count -= 1;
        }
        self.peer_we = true;
        self.peer_waddr = self.peer_word(self.dest, p.qpn.slot());
        self.peer_wdata =
            Peer { open: true, closed: false, generation: p.qpn.generation(), slot: self.slot };
        self.created_valid = true;
        self.created_qpn = own;
        self.created_dest = self.dest;
    }

    /// Where the `n`th slot of the free ones lies.
    fn free_place(&self, n: u16) -> u8 {
        ((u32::from(self.free_head) + u32::from(n)) % self.qps()) as u8
    }

    /// RX-4, RX-5: the packet's place, or why it is dropped or answered by a NACK.
    fn place(&self, i: &Inputs, side: &Side) -> (Place, Drop, Nack) {
        let p = &i.r#in;
        let found = self.found(i);
        let mine = u16::from(self.slot) < self.fresh
            && found.open
            && found.dest == self.dest
            && found.generation == p.qpn.generation();
        let beyond = p.psn.ahead_of(side.expected.minus(1));
        match p.kind {
            _ if self.drop != Drop::None => (Place::Nowhere, self.drop, Nack::None),
            _ if !p.by_sender && !mine => (Place::Nowhere, Drop::Qp, Nack::None),
            Kind::Probe => (Place::Nowhere, Drop::None, Nack::None),
            _ if beyond > i32::from(i.cfg_range) => (Place::Nowhere, Drop::Psn, Nack::Range),
            Kind::Trimmed => {
                let nack = if p.last_hop { Nack::LastHop } else { Nack::Trimmed };
                (Place::Nowhere, Drop::None, if i.cfg_trimming { nack } else { Nack::None })
            }
            _ if beyond == 1 => (Place::InOrder, Drop::None, Nack::None),
            _ if beyond > 1 => (Place::Ahead, Drop::None, Nack::None),
            _ => (Place::Behind, Drop::None, Nack::None),
        }
    }

    /// RX-4, RX-5, RX-7: what the packet is, and what follows.
    fn judge(&mut self, i: &Inputs) {
        let p = &i.r#in;
        let create = self.create && self.drop == Drop::None;
        let found = self.found(i);
        let mut side = if self.create { self.created(p, found, i.cfg_initial_psn) } else { found };
        let own = Qpn::new(side.generation, self.slot);
        let (place, verdict, nack) = self.place(i, &side);
        if create {
            self.open(p, own);
        }
        let whole = place == Place::InOrder && p.last;
        self.drop_valid = verdict != Drop::None;
        self.drop_reason = verdict;
        self.dup_valid = place == Place::Behind;
        self.recv_valid = whole;
        self.recv_qpn = own;
        self.recv_msn = p.msn;
        self.release(p, place);
        self.deliver(p, place, own);

        let mut reply = self.reply(i, &side, own);
        reply.nack = nack;
        reply.sack = reply.probe && verdict == Drop::None;
        if place != Place::Nowhere {
            reply.sack = side.count(p, whole);
            reply.ack = p.ack_req || whole;
        }
        if place == Place::InOrder {
            side.advance(p.len, i.cfg_nominal_overhead, p.last);
        }
        side.asked |= place == Place::Ahead && p.ack_req;
        self.side = side;
        self.sack = reply.sack && !reply.probe;
        self.passed = whole;
        self.closed_gap = false;
        match self.question(place) {
            Some(op) => {
                self.state = State::Ask;
                self.answer = reply;
                self.map_valid = true;
                self.map_op = op;
            }
            None => self.end(side, reply, create || place != Place::Nowhere),
        }
    }

    /// What `sack_bitmap` is asked about a packet.
    fn question(&self, place: Place) -> Option<Op> {
        match place {
            Place::Ahead if self.sack => Some(Op::Hold),
            Place::Ahead => Some(Op::Set),
            Place::InOrder if self.side.held > 0 => Some(Op::Advance),
            Place::Behind if self.side.held > 0 && self.sack => Some(Op::Report),
            _ => None,
        }
    }

    /// The charge of what is not delivered; of a packet ahead that is for later.
    fn release(&mut self, p: &Parsed, place: Place) {
        let kept = place == Place::Ahead || place == Place::InOrder && p.len > 0;
        self.relt_valid = p.kind != Kind::Data && p.kind != Kind::Probe;
        self.rel2_valid = !self.relt_valid && !kept;
        self.rel_bytes = p.charge;
    }

    /// RX-6: what is new goes to the host; the words of any other are passed over. What becomes of
    /// a packet ahead is kept for later.
    fn deliver(&mut self, p: &Parsed, place: Place, own: Qpn) {
        let words = Delivery { len: p.len, word: p.word, ..Delivery::default() };
        if matches!(place, Place::InOrder | Place::Ahead) {
            self.deliver_valid = place == Place::InOrder && (p.len > 0 || p.last);
            self.deliver = Delivery {
                addr: p.raddr,
                charge: if p.len > 0 { p.charge } else { 0 },
                write: true,
                complete: p.last,
                qpn: own,
                msn: p.msn,
                msg_len: p.msg_len,
                dest: self.dest,
                ..words
            };
        } else if p.kind == Kind::Data && p.len > 0 {
            self.deliver_valid = true;
            self.deliver = words;
        }
    }

    /// The answer as far as the packet alone says it.
    fn reply(&self, i: &Inputs, side: &Side, own: Qpn) -> Answer {
        let p = &i.r#in;
        let probe = p.kind == Kind::Probe;
        let wire = (p.len + u16::from(i.cfg_wire_overhead)) & 0x3fff;
        Answer {
            probe,
            dst_ip: p.src_ip,
            dest: self.dest,
            sender_qpn: side.sender_qpn,
            own_qpn: own,
            drew: if probe { Psn(u32::from(probe_id(p))) } else { p.psn },
            sack_offset: 1, // as where nothing is held (SACK-3)
            entropy: p.sport,
            ce: p.ce && !probe,
            rtx: p.rtx,
            stamped: p.stamped,
            stamp: p.stamp,
            size: if probe { header::PROBE_BYTES } else { wire },
            ..Answer::default()
        }
    }

    /// `sack_bitmap` has answered.
    fn told(&mut self, i: &Inputs) {
        let (mut side, mut answer) = (self.side, self.answer);
        match self.map_op {
            Op::Advance => return self.fill(i),
            Op::Set | Op::Hold if i.map_rsp_hit => self.held_already(),
            Op::Set | Op::Hold => {
                side.receive(self.deliver.len, i.cfg_nominal_overhead);
                side.held = (side.held + 1) & 0x7ff;
                side.ooo = (side.ooo + 1) & 0x7fff;
                self.hold();
            }
            _ => {}
        }
        if self.map_op != Op::Set {
            let cum = self.side.expected.minus(1);
            side.walk = i.map_rsp_psn.plus(64);
            answer.sack_offset = i.map_rsp_psn.ahead_of(cum).cast_unsigned() as u16;
            answer.bitmap = i.map_rsp_bits;
        }
        self.end(side, answer, true);
        self.take_up(i);
    }

    /// RX-7: a duplicate of a PSN that is held.
    fn held_already(&mut self) {
        let Delivery { len, word, .. } = self.deliver;
        self.dup_valid = true;
        self.rel2_valid = true;
        self.deliver_valid = len > 0;
        self.deliver = Delivery { len, word, ..Delivery::default() };
    }

    /// RX-7, RX-8: a PSN out of order; its `RECV_COMPLETE` waits for the gap to fill.
    fn hold(&mut self) {
        self.ooo_valid = true;
        self.rel2_valid = self.deliver.len == 0;
        self.deliver_valid = self.deliver.len > 0;
        self.ends_we = self.deliver.complete;
        self.ends_waddr = self.end_word(self.answer.drew);
        self.ends_wdata = End { msn: self.deliver.msn, msg_len: self.deliver.msg_len };
        self.deliver.complete = false;
    }

    /// RX-7: a part of the run that follows a gap that was filled.
    fn fill(&mut self, i: &Inputs) {
        self.lasts = i.map_rsp_bits;
        self.pass_psn = i.map_rsp_psn;
        self.passed |= i.map_rsp_bits != 0;
        if !i.map_rsp_more {
            self.state = State::Settle;
            self.closed_gap = i.map_rsp_hit;
            self.side.expected = self.side.expected.plus(u32::from(i.map_rsp_far));
            self.side.held = self.side.held.wrapping_sub(i.map_rsp_far) & 0x7ff;
        }
    }

    /// RX-8: a last packet is passed.
    fn pass_last(&mut self, end: End) {
        let own = self.answer.own_qpn;
        self.side.msn = (self.side.msn + 1) & 0xff_ffff;
        self.recv_valid = true;
        self.recv_qpn = own;
        self.recv_msn = end.msn;
        self.deliver_valid = true;
        self.deliver = Delivery {
            write: true,
            complete: true,
            qpn: own,
            msn: end.msn,
            msg_len: end.msg_len,
            dest: self.dest,
            ..Delivery::default()
        };
    }

    /// ACK-1, SACK-1: what the arrival completed and closed is answered.
    fn settle(&mut self, i: &Inputs) {
        let closed = self.closed_gap && self.side.asked;
        self.answer.sack = self.sack || self.passed || closed;
        self.answer.ack |= self.passed;
        if self.answer.sack {
            self.side.count = 0;
        }
        self.side.asked &= self.side.held > 0;
        if self.answer.sack && self.side.held > 0 {
            self.state = State::Ask;
            self.map_valid = true;
            self.map_op = Op::Report;
        } else {
            self.end(self.side, self.answer, true);
            self.take_up(i);
        }
    }

    /// The side goes back, the answer goes out, unless it finds no room to wait (SACK-6).
    fn end(&mut self, side: Side, answer: Answer, keeps: bool) {
        self.state = State::Idle;
        if keeps {
            self.write(side);
        }
        let report = answer.sack || answer.nack != Nack::None;
        if !report && !answer.ack {
            return;
        }
        let room = WAITING_MOST.wrapping_sub(self.waiting) & 0x7ff;
        let first = report && room > 0;
        let ack = answer.ack && room > u16::from(first);
        self.answer_valid = first || ack;
        self.answer = Answer {
            sack: answer.sack && first,
            ack,
            cum: side.expected.minus(1),
            msn: side.msn,
            ooo: side.ooo,
            rcvd: side.rcvd.wrapping_add(255) >> 8, // a carry out is 2^24 units, which is 0
            ..answer
        };
        self.waiting += u16::from(first) + u16::from(ack);
        self.ctrl_drops = u8::from(report && !first) + u8::from(answer.ack && !ack);
    }

    /// Writes the side back.
    fn write(&mut self, side: Side) {
        self.rctx_we = true;
        self.rctx_waddr = self.slot;
        self.rctx_wdata = side;
    }

    /// QP-5: the host closes a side. A number that is not open is ignored.
    fn close(&mut self, qpn: Qpn, found: Side) {
        let known = u16::from(self.slot) < self.fresh;
        if !known || !found.open || found.generation != qpn.generation() {
            return;
        }
        self.write(Side { open: false, ..found });
        self.peer_we = true;
        self.peer_waddr = self.peer_word(found.dest, found.sender_qpn.slot());
        self.peer_wdata =
            Peer { open: false, closed: true, generation: found.sender_qpn.generation(), slot: 0 };
        let tail = self.free_place(self.free_count);
        self.free[usize::from(tail)] = self.slot;
        self.free_count += 1;
        self.closed_valid = true;
        self.closed_qpn = qpn;
        self.closed_dest = found.dest;
    }
}
