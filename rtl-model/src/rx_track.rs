//! Receiver sides: finds or creates the QP of a data packet, judges its PSN, says what is
//! delivered and what is answered.
//!
//! Twin of `hdl/rx_track.sv`. QP-4, QP-5, RX-3 to RX-8, ACK-1, SACK-1, SACK-2, MSN-8, CPL-1.
//! A packet waits at `in` until it is judged: 5 clocks after it came with R set, 3 with R clear, 1
//! without a QP to look for; longer while `deliver` or `answer` of the one before wait. What
//! follows from it is there a clock later. A close takes 3 clocks and waits for one packet at most.
//!
//! Memory `peer`, DESTS × QPS words by destination and sender's slot: the receiver side of that
//! sender, or the last generation closed. It is swept after reset, a word a clock; nothing is taken
//! meanwhile. Memory `rctx`, QPS words by receiver's slot; a slot below `fresh` has been written.
//!
//! In this version a PSN ahead of the expected one is dropped and counted as `DropPsn`, within
//! `cfg_range` of the cumulative PSN (a bitmap unit will hold it) or not (RX-4). One difference,
//! PSN less cumulative PSN, decides: 0 and down to 0x800000 a duplicate, 1 in order.
//!
//! Choices: an R packet with a newer generation than the sender's side that is open is dropped as
//! `DropQp`, until the host closes that side. Where no generation was closed, any is new. A trimmed
//! packet in the window releases its charge and no more: `relt_valid` without `drop_valid` counts
//! it. Whoever gives back the charge has it: 0 bytes, duplicates and drops give it back here, and
//! their words are passed over by a delivery with `write` clear. `RECV_COMPLETE` names METH's msn.
//! With `answer` held up the next packet waits.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BadBits, Field, Item, Reader, Wide, Writer};
use crate::sizes::Sizes;
use crate::types::{Answer, Delivery, Drop, Kind, Parsed, Psn, Qpn};

/// What a packet counts at least towards the next SACK (SACK-1).
pub const COUNT_LEAST: u16 = 1024;
/// A count over it draws a SACK (SACK-1).
pub const COUNT_PASS: u16 = 4095;

/// Destinations of the build: a parameter of the RTL, and no bits of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dests(pub u32);

impl Item for Dests {
    fn layout(&self, _name: &str, _width: u32, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _width: u32, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// A sender's slot: its receiver side, or its last life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Peer {
    /// It has a receiver side.
    pub open: bool,
    /// It has none, and `generation` is the last one closed.
    pub closed: bool,
    /// Of the sender's number.
    pub generation: u16,
    /// Of the receiver side.
    pub slot: u8,
}

/// A receiver side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Side {
    /// Not closed.
    pub open: bool,
    /// Of our number.
    pub generation: u16,
    /// The peer.
    #[bits(6)]
    pub dest: u8,
    /// The sender's number.
    pub sender_qpn: Qpn,
    /// The next PSN in order.
    pub expected: Psn,
    /// Bytes counted since the last SACK.
    #[bits(12)]
    pub count: u16,
    /// Nominal bytes received.
    pub rcvd: u32,
    /// Messages completed in order.
    #[bits(24)]
    pub msn: u32,
}

/// What the block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
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
    /// Reads `rctx`.
    Read = 4,
    /// Judges the packet and lets it go.
    Judge = 5,
    /// Reads `rctx` for a close.
    Aim = 6,
    /// Closes the side.
    Shut = 7,
}

/// Input ports, without the `_i`.
#[derive(Clone, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ingress_pool`.
    pub in_valid: bool,
    /// From `ingress_pool`: a data or trimmed packet.
    pub r#in: Parsed,
    /// Memory of senders.
    pub peer_rdata: Peer,
    /// Memory of receiver sides.
    pub rctx_rdata: Side,
    /// From `payload_write`.
    pub deliver_ready: bool,
    /// From `ack_build`.
    pub answer_ready: bool,
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
    /// Event: a side was created.
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
    /// Event: a duplicate.
    pub dup_valid: bool,
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
    /// Parameter.
    pub dests: Dests,
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
    /// `deliver` waits.
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
    /// Event.
    pub dup_valid: bool,
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
            dests: Dests(sizes.dests),
            state: State::Sweep,
            sweep: 0,
            close_turn: false,
            dest: 0,
            slot: 0,
            create: false,
            drop: Drop::None,
            fresh: 0,
            free: vec![0; sizes.qps as usize],
            free_head: 0,
            free_count: 0,
            peer_we: false,
            peer_waddr: 0,
            peer_wdata: Peer::default(),
            rctx_we: false,
            rctx_waddr: 0,
            rctx_wdata: Side::default(),
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
            dup_valid: false,
            rel2_valid: false,
            relt_valid: false,
            rel_bytes: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.in_ready = self.state == State::Judge && !self.deliver_valid && !self.answer_valid;
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
        o.dup_valid = self.dup_valid;
        o.rel2_valid = self.rel2_valid;
        o.rel2_bytes = self.rel_bytes;
        o.relt_valid = self.relt_valid;
        o.relt_bytes = self.rel_bytes;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        self.peer_we = false;
        self.rctx_we = false;
        self.drop_valid = false;
        self.recv_valid = false;
        self.created_valid = false;
        self.closed_valid = false;
        self.dup_valid = false;
        self.rel2_valid = false;
        self.relt_valid = false;
        self.deliver_valid &= !i.deliver_ready;
        self.answer_valid &= !i.answer_ready;
        match self.state {
            State::Sweep => self.clear_one(),
            State::Idle => self.take_up(i),
            State::Peer => self.state = State::Look,
            State::Look => self.look(&i.r#in, i.peer_rdata),
            State::Read => self.state = State::Judge,
            State::Judge => {
                if o.in_ready {
                    self.state = State::Idle;
                    self.close_turn = i.close_valid;
                    self.judge(i);
                }
            }
            State::Aim => self.state = State::Shut,
            State::Shut => {
                self.state = State::Idle;
                self.close(i.close_qpn, i.rctx_rdata);
            }
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let waits = match self.state {
            State::Idle => !i.in_valid && !i.close_valid && !self.close_turn,
            State::Judge => self.deliver_valid || self.answer_valid,
            _ => false,
        };
        let taken = self.deliver_valid && i.deliver_ready || self.answer_valid && i.answer_ready;
        let events = self.peer_we
            || self.rctx_we
            || self.drop_valid
            || self.recv_valid
            || self.created_valid
            || self.closed_valid
            || self.dup_valid
            || self.rel2_valid
            || self.relt_valid;
        waits && !taken && !events
    }
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

    /// Clears the next word of `peer`.
    fn clear_one(&mut self) {
        self.peer_we = true;
        self.peer_waddr = u32::from(self.sweep);
        self.peer_wdata = Peer::default();
        if u32::from(self.sweep) + 1 == self.dests.0 * self.qps() {
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
        self.drop = match (p.kind, source) {
            (Kind::Data | Kind::Trimmed, Some(_)) if u32::from(self.slot) < self.qps() => {
                Drop::None
            }
            (Kind::Data | Kind::Trimmed, Some(_)) => Drop::Qp,
            (Kind::Data | Kind::Trimmed, None) => Drop::Peer,
            _ => Drop::Opcode,
        };
        self.state = match (self.drop, p.by_sender) {
            (Drop::None, true) => State::Peer,
            (Drop::None, false) => State::Read,
            _ => State::Judge,
        };
    }

    /// The destination that the packet is from, the lowest of several.
    fn source(&self, i: &Inputs) -> Option<u8> {
        (0..self.dests.0 as usize)
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
        } else if known.closed && newer <= 0 {
            self.drop = Drop::Qp;
        } else {
            self.create = true;
            if u32::from(self.fresh) < self.qps() {
                self.slot = self.fresh as u8;
                self.state = State::Read;
            } else {
                self.slot = self.free[usize::from(self.free_head)];
                if self.free_count == 0 {
                    self.drop = Drop::QpFull;
                } else {
                    self.state = State::Read;
                }
            }
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

    /// RX-4, RX-5, RX-7: what the packet is, and what follows.
    fn judge(&mut self, i: &Inputs) {
        let p = &i.r#in;
        let data = p.kind == Kind::Data;
        let found = i.rctx_rdata;
        let create = self.create && self.drop == Drop::None;
        let mut side = if self.create { self.created(p, found, i.cfg_initial_psn) } else { found };
        let own = Qpn::new(side.generation, self.slot);
        let mine = u16::from(self.slot) < self.fresh
            && found.open
            && found.dest == self.dest
            && found.generation == p.qpn.generation();
        let beyond = p.psn.ahead_of(side.expected.minus(1));
        let verdict = if self.drop != Drop::None {
            self.drop
        } else if !p.by_sender && !mine {
            Drop::Qp
        } else if beyond > i32::from(i.cfg_range) || data && beyond > 1 {
            Drop::Psn
        } else {
            Drop::None
        };
        if create {
            self.open(p, own);
        }

        let in_order = data && verdict == Drop::None && beyond == 1;
        let whole = in_order && p.last;
        self.drop_valid = verdict != Drop::None;
        self.drop_reason = verdict;
        self.recv_valid = whole;
        self.recv_qpn = own;
        self.recv_msn = p.msn;
        self.relt_valid = !data;
        self.rel2_valid = data && !(in_order && p.len > 0);
        self.rel_bytes = p.charge;
        if data {
            self.deliver(p, in_order, own);
        }
        if data && verdict == Drop::None {
            self.dup_valid = !in_order;
            if in_order {
                let nominal = u32::from(p.len) + u32::from(i.cfg_nominal_overhead);
                side.expected = side.expected.plus(1);
                side.rcvd = side.rcvd.wrapping_add(nominal);
                side.msn = (side.msn + u32::from(p.last)) & 0xff_ffff;
            }
            self.count(i, &mut side, own, whole);
            self.write(side);
        } else if create {
            self.write(side);
        }
    }

    /// Writes the side back.
    fn write(&mut self, side: Side) {
        self.rctx_we = true;
        self.rctx_waddr = self.slot;
        self.rctx_wdata = side;
    }

    /// RX-6: an arrival in order goes to the host; the words of any other are passed over.
    fn deliver(&mut self, p: &Parsed, in_order: bool, own: Qpn) {
        if p.len == 0 && !(in_order && p.last) {
            return;
        }
        self.deliver_valid = true;
        self.deliver = Delivery { len: p.len, word: p.word, ..Delivery::default() };
        if in_order {
            self.deliver = Delivery {
                addr: p.raddr,
                charge: if p.len > 0 { p.charge } else { 0 },
                write: true,
                complete: p.last,
                qpn: own,
                msn: p.msn,
                msg_len: p.msg_len,
                dest: self.dest,
                ..self.deliver
            };
        }
    }

    /// ACK-1, SACK-1: counts an arrival and answers it where it draws an answer.
    fn count(&mut self, i: &Inputs, side: &mut Side, own: Qpn, whole: bool) {
        let p = &i.r#in;
        side.count += p.len.max(COUNT_LEAST);
        if !(side.count > COUNT_PASS || p.ack_req || p.rtx || whole) {
            return;
        }
        side.count = 0;
        self.answer_valid = true;
        self.answer = Answer {
            sack: true,
            ack: p.ack_req || whole,
            dst_ip: p.src_ip,
            dest: self.dest,
            sender_qpn: side.sender_qpn,
            own_qpn: own,
            cum: side.expected.minus(1),
            drew: p.psn,
            sack_offset: 1, // nothing is held (SACK-3)
            bitmap: 0,
            msn: side.msn,
            ooo: 0,
            rcvd: (side.rcvd.wrapping_add(255)) >> 8, // a carry out is 2^24 units, which is 0
            entropy: p.sport,
            ce: p.ce,
            rtx: p.rtx,
            size: (p.len + u16::from(i.cfg_wire_overhead)) & 0x3fff,
        };
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
    }
}
