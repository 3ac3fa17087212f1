//! Replay store: hands out slots and keeps the record of each packet until it is acknowledged.
//!
//! Twin of `hdl/replay_store.sv`. The payloads lie in memories beside it, a slot each.
//!
//! PKT-6: a slot is free when its packet is acknowledged and no copy of it is in egress; the last
//! packet of a message also waits for `final`, sent with `WQE_COMPLETE`. SEG-5 counts on it:
//! `slot` is valid while any slot is free, apart from the 2 clocks after each one taken from
//! those freed, and 4 clocks after a slot is freed where there was none. Slots go out fresh ones
//! first, 0 upward, then in the order in which they were freed.
//!
//! A look finds the packet of a PSN or of a slot; a hit was built and is not retired. One of them
//! retires it. CPL-2: another hits what is retired, waits for `final`, and has no copy in egress.
//! Its `final` waits while such a copy is decided. Between the turn of a copy, `hold`, and its
//! `gone` the slot counts as in egress. The end of serialisation of a packet that is not retired goes on to `retransmit` as `sent`.
//!
//! Latency: a record is kept in the clock in which `build` is taken (always); a look taken in
//! clock N is answered in clock N + 3, of a slot N + 2, a final takes 2 clocks; `gone` acts at
//! once, is `sent` a clock later, and holds back for a clock a look or a final that is about to
//! act. Look before final (section 16: the acknowledgement before its completion); build, gone and
//! one of them may meet in one clock.
//!
//! QP-6: a retire with `discard` does not wait for a `final`, also where the packet is retired; a
//! toss frees a slot that was never built, in a clock in which nothing else may free one.
//!
//! Borders: the last slot of all taken; acknowledged in egress and the other way round; a last
//! packet's `final` before and after `gone`; PSNs modulo PSNS; both ends of the memory of free
//! ones. A PSN is built before it is retired or final, once each; a slot is gone once after its
//! build or hold, and is not looked for in the clock of its build. Memory ports are combinational:
//! writes of `map` and `rec` from `build`, reads of `map` from requests, of `rec` from `map_rdata`;
//! those of `fl` come from registers.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BadBits, BitMap, Field, Item, Reader, Writer};
use crate::sizes::Sizes;
use crate::types::{Psn, Segment};

/// A word of the memory `map`: the slot of a PSN outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct SlotWord {
    /// The slot.
    #[bits(10)]
    pub slot: u16,
}

/// A word of the memory `rec`: a packet built and not retired, and all that its headers are made
/// of, without a read from the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Record {
    /// Slot of the QP at the sender.
    pub qp: u8,
    /// Destination.
    #[bits(6)]
    pub dest: u8,
    /// The group in whose flight it is.
    pub group: u8,
    /// Message entry.
    #[bits(10)]
    pub msg: u16,
    /// Its PSN.
    pub psn: Psn,
    /// Offset of the payload in the slot's first word.
    #[bits(6)]
    pub off: u8,
    /// Payload bytes.
    #[bits(14)]
    pub len: u16,
    /// Where it goes at the peer.
    pub raddr: u64,
    /// Remote key.
    pub rkey: u32,
    /// Bytes of the whole message.
    pub msg_len: u32,
    /// Messages of the QP before this one.
    pub msn: u16,
    /// First packet of its message.
    pub first: bool,
    /// Last packet of its message.
    pub last: bool,
}

impl Record {
    /// The record of a segment.
    pub fn of(seg: &Segment) -> Self {
        Self {
            qp: seg.qp,
            dest: seg.dest,
            group: seg.group,
            msg: seg.msg,
            psn: seg.psn,
            off: (seg.laddr & 63) as u8,
            len: seg.len,
            raddr: seg.raddr,
            rkey: seg.rkey,
            msg_len: seg.msg_len,
            msn: seg.msn,
            first: seg.first,
            last: seg.last,
        }
    }

    /// The segment again; of its place in host memory only the offset in a word is left.
    pub fn segment(&self, slot: u16) -> Segment {
        Segment {
            qp: self.qp,
            dest: self.dest,
            group: self.group,
            slot,
            msg: self.msg,
            psn: self.psn,
            laddr: u64::from(self.off),
            len: self.len,
            raddr: self.raddr,
            rkey: self.rkey,
            msg_len: self.msg_len,
            msn: self.msn,
            first: self.first,
            last: self.last,
        }
    }
}

/// A word of the memory `path`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Path {
    /// Entropy value of the slot's last frame.
    pub port: u16,
}

/// What is wanted of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum Look {
    /// The packet of a PSN.
    #[default]
    Psn = 0,
    /// The packet of a slot.
    Slot = 1,
    /// The packet of a PSN, which is retired.
    Retire = 2,
    /// That of a slot, retired, which waits for its message's end alone.
    Held = 3,
}

impl Look {
    /// It names a slot, not a PSN.
    fn by_slot(self) -> bool {
        matches!(self, Self::Slot | Self::Held)
    }
}

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `tx_scheduler`.
    pub slot_ready: bool,
    /// From `packet_build`: a packet is built.
    pub build_valid: bool,
    /// From `packet_build`.
    pub build: Segment,
    /// From `packet_build`: a frame of a packet is made.
    pub made_valid: bool,
    /// From `packet_build`.
    #[bits(10)]
    pub made_slot: u16,
    /// From `packet_build`: its entropy value.
    pub made_port: u16,
    /// From `retransmit`: a packet is looked for.
    pub look_valid: bool,
    /// From `retransmit`.
    pub look_op: Look,
    /// From `retransmit`.
    pub look_qp: u8,
    /// From `retransmit`.
    pub look_psn: Psn,
    /// From `retransmit`.
    #[bits(10)]
    pub look_slot: u16,
    /// From `retransmit`: it is discarded, not acknowledged.
    pub look_discard: bool,
    /// From `retransmit`: a copy is on its way to egress.
    pub hold_valid: bool,
    /// From `retransmit`.
    #[bits(10)]
    pub hold_slot: u16,
    /// From `retransmit`: whether the packet of `hold_slot` goes again is being decided.
    pub copying: bool,
    /// From `completion`: a message is complete.
    pub final_valid: bool,
    /// From `completion`.
    #[bits(10)]
    pub final_slot: u16,
    /// From `qp_drain`: a segment came to nothing.
    pub toss_valid: bool,
    /// From `qp_drain`: its slot.
    #[bits(10)]
    pub toss_slot: u16,
    /// From `port_tx`: a frame is serialised.
    pub gone_valid: bool,
    /// From `port_tx`: it has a slot.
    pub gone_data: bool,
    /// From `port_tx`.
    #[bits(10)]
    pub gone_slot: u16,
    /// From the memory of slots by PSN.
    pub map_rdata: SlotWord,
    /// From the memory of records.
    pub rec_rdata: Record,
    /// From the memory of entropy values.
    pub path_rdata: Path,
    /// From the memory of free slots.
    pub fl_rdata: SlotWord,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `tx_scheduler`: a free slot.
    pub slot_valid: bool,
    /// To `tx_scheduler`.
    #[bits(10)]
    pub slot: u16,
    /// To `packet_build`.
    pub build_ready: bool,
    /// To `retransmit`.
    pub look_ready: bool,
    /// To `retransmit`.
    pub look_rsp_valid: bool,
    /// To `retransmit`: it was built and is not retired.
    pub look_rsp_hit: bool,
    /// To `retransmit`.
    #[bits(10)]
    pub look_rsp_slot: u16,
    /// To `retransmit`.
    pub look_rsp: Record,
    /// To `retransmit`: its last entropy value.
    pub look_rsp_port: u16,
    /// To `completion`.
    pub final_ready: bool,
    /// To `qp_drain`.
    pub toss_ready: bool,
    /// To `retransmit`: a packet that is not retired has left egress.
    pub sent_valid: bool,
    /// To `retransmit`.
    #[bits(10)]
    pub sent_slot: u16,
    /// Slots handed out and not free again.
    #[bits(11)]
    pub used: u16,
    /// To the memory of slots by PSN: word qp × PSNS + psn mod PSNS.
    pub map_we: bool,
    /// To the memory of slots by PSN.
    pub map_waddr: u32,
    /// To the memory of slots by PSN.
    pub map_wdata: SlotWord,
    /// To the memory of slots by PSN.
    pub map_re: bool,
    /// To the memory of slots by PSN.
    pub map_raddr: u32,
    /// To the memory of records, a word a slot.
    pub rec_we: bool,
    /// To the memory of records.
    pub rec_waddr: u32,
    /// To the memory of records.
    pub rec_wdata: Record,
    /// To the memory of records.
    pub rec_re: bool,
    /// To the memory of records.
    pub rec_raddr: u32,
    /// To the memory of entropy values, a word a slot.
    pub path_we: bool,
    /// To the memory of entropy values.
    pub path_waddr: u32,
    /// To the memory of entropy values.
    pub path_wdata: Path,
    /// To the memory of entropy values.
    pub path_re: bool,
    /// To the memory of entropy values.
    pub path_raddr: u32,
    /// To the memory of free slots, a FIFO of SLOTS words.
    pub fl_we: bool,
    /// To the memory of free slots.
    pub fl_waddr: u32,
    /// To the memory of free slots.
    pub fl_wdata: SlotWord,
    /// To the memory of free slots.
    pub fl_re: bool,
    /// To the memory of free slots.
    pub fl_raddr: u32,
}

/// What goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum State {
    /// Takes a look or a final, and reads its slot, or the slot's record.
    #[default]
    Idle = 0,
    /// Has the slot, reads the record.
    Find = 1,
    /// Has the record.
    Answer = 2,
    /// Has the slot.
    Final = 3,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// `slot` is offered.
    pub slot_valid: bool,
    /// A free slot.
    #[bits(10)]
    pub slot: u16,
    /// `fl` was read for `slot`.
    pub fetching: bool,
    /// Slots never handed out start here.
    #[bits(11)]
    pub fresh: u16,
    /// First of the free slots in memory.
    #[bits(10)]
    pub fl_head: u16,
    /// Where the next one goes.
    #[bits(10)]
    pub fl_tail: u16,
    /// How many there are.
    #[bits(11)]
    pub fl_count: u16,
    /// `freed` is on its way into the memory.
    pub freed_valid: bool,
    /// A slot freed.
    #[bits(10)]
    pub freed: u16,
    /// Slots handed out and not free again.
    #[bits(11)]
    pub used: u16,
    /// What goes on.
    pub state: State,
    /// Slot of the look in `Answer`.
    #[bits(10)]
    pub found: u16,
    /// Of the look, and what it is for.
    pub op: Look,
    /// Whose packet it looks for.
    pub qp: u8,
    /// Which one.
    pub psn: Psn,
    /// It waits for no `final`.
    pub discards: bool,
    /// A look is answered.
    pub rsp_valid: bool,
    /// The packet was built and is not retired.
    pub rsp_hit: bool,
    /// Its slot.
    #[bits(10)]
    pub rsp_slot: u16,
    /// Its record.
    pub rsp: Record,
    /// Its last entropy value.
    pub rsp_port: u16,
    /// A packet that is not retired has left egress.
    pub sent_valid: bool,
    /// Its slot.
    #[bits(10)]
    pub sent_slot: u16,
    /// Slots whose packet was built and is not retired.
    pub live: BitMap,
    /// Slots whose packet is acknowledged.
    pub acked: BitMap,
    /// Slots of which a copy waits or is being serialised.
    pub egress: BitMap,
    /// Slots that wait for `final`.
    pub hold_last: BitMap,
    /// PSNS of this build; no register.
    pub psns: Psns,
}

/// A size that the model carries along, a parameter of the RTL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Psns(pub u32);

/// It has no bits.
impl Item for Psns {
    fn layout(&self, _name: &str, _width: u32, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _width: u32, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        let none = BitMap::repeat(false, sizes.slots as usize);
        Self {
            slot_valid: false,
            slot: 0,
            fetching: false,
            fresh: 0,
            fl_head: 0,
            fl_tail: 0,
            fl_count: 0,
            freed_valid: false,
            freed: 0,
            used: 0,
            state: State::Idle,
            found: 0,
            op: Look::Psn,
            qp: 0,
            psn: Psn(0),
            discards: false,
            rsp_valid: false,
            rsp_hit: false,
            rsp_slot: 0,
            rsp: Record::default(),
            rsp_port: 0,
            sent_valid: false,
            sent_slot: 0,
            live: none.clone(),
            acked: none.clone(),
            egress: none.clone(),
            hold_last: none,
            psns: Psns(sizes.psns),
        }
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            slot_valid: self.slot_valid,
            slot: self.slot,
            look_rsp_valid: self.rsp_valid,
            look_rsp_hit: self.rsp_hit,
            look_rsp_slot: self.rsp_slot,
            look_rsp: self.rsp,
            look_rsp_port: self.rsp_port,
            sent_valid: self.sent_valid,
            sent_slot: self.sent_slot,
            used: self.used,
            fl_we: self.freed_valid,
            fl_waddr: u32::from(self.fl_tail),
            fl_wdata: SlotWord { slot: self.freed },
            fl_re: self.refills(),
            fl_raddr: u32::from(self.fl_head),
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.build_ready = true;
        let idle = self.state == State::Idle;
        o.look_ready = idle;
        let copying = i.copying && i.final_valid && i.hold_slot == i.final_slot;
        o.final_ready = idle && !i.look_valid && !copying;
        o.toss_ready =
            !(matches!(self.state, State::Answer | State::Final) || i.gone_valid && i.gone_data);
        if i.build_valid {
            o.map_we = true;
            o.map_waddr = self.place(i.build.qp, i.build.psn);
            o.map_wdata = SlotWord { slot: i.build.slot };
            o.rec_we = true;
            o.rec_waddr = u32::from(i.build.slot);
            o.rec_wdata = Record::of(&i.build);
        }
        if i.made_valid {
            o.path_we = true;
            o.path_waddr = u32::from(i.made_slot);
            o.path_wdata = Path { port: i.made_port };
        }
        let slot = match self.state {
            State::Idle if i.look_valid && i.look_op.by_slot() => Some(i.look_slot),
            // A word never written may say anything.
            State::Find => Some(self.index(i.map_rdata.slot) as u16),
            _ => None,
        };
        if let Some(slot) = slot {
            (o.rec_re, o.rec_raddr) = (true, u32::from(slot));
            (o.path_re, o.path_raddr) = (true, u32::from(slot));
        } else if idle && i.look_valid {
            o.map_re = true;
            o.map_raddr = self.place(i.look_qp, i.look_psn);
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let gone = i.gone_valid && i.gone_data;
        self.rsp_valid = false;
        self.sent_valid = false;
        self.freed_valid = false;
        if gone {
            let slot = self.index(i.gone_slot);
            self.egress.set(slot, false);
            self.sent_valid = self.live[slot];
            self.sent_slot = i.gone_slot;
            self.free_if_done(i.gone_slot);
        }
        match self.state {
            State::Idle if i.look_valid => {
                self.state = if i.look_op.by_slot() { State::Answer } else { State::Find };
                self.found = i.look_slot;
                self.op = i.look_op;
                self.qp = i.look_qp;
                self.psn = i.look_psn;
                self.discards = i.look_discard;
            }
            State::Idle if i.final_valid && o.final_ready => {
                self.found = i.final_slot;
                self.state = State::Final;
            }
            State::Find => {
                self.found = self.index(i.map_rdata.slot) as u16;
                self.state = State::Answer;
            }
            State::Answer if !gone => self.answer(i),
            State::Final if !gone => {
                let slot = self.index(self.found);
                self.hold_last.set(slot, false);
                self.free_if_done(self.found);
                self.state = State::Idle;
            }
            _ => {}
        }
        if i.toss_valid && o.toss_ready {
            self.free(i.toss_slot);
        }
        if i.build_valid {
            let slot = self.index(i.build.slot);
            self.egress.set(slot, true);
            self.live.set(slot, true);
            self.hold_last.set(slot, i.build.last);
        }
        if i.hold_valid {
            let slot = self.index(i.hold_slot);
            self.egress.set(slot, true);
        }
        self.refill(i, o);
    }

    fn idle(&self, i: &Inputs) -> bool {
        let offer_stays = if self.slot_valid {
            !i.slot_ready
        } else {
            self.fresh == self.slots() && self.fl_count == 0
        };
        self.state == State::Idle
            && offer_stays
            && !(self.freed_valid || self.fetching || self.rsp_valid || self.sent_valid)
            && !(i.build_valid
                || i.made_valid
                || i.look_valid
                || i.hold_valid
                || i.final_valid
                || i.toss_valid
                || (i.gone_valid && i.gone_data))
    }
}

impl Regs {
    fn slots(&self) -> u16 {
        self.acked.len() as u16
    }

    /// A slot as a place in the bit maps.
    fn index(&self, slot: u16) -> usize {
        usize::from(slot & (self.slots() - 1))
    }

    /// The slot after this one in the ring of free ones.
    fn after(&self, at: u16) -> u16 {
        (at + 1) & (self.slots() - 1)
    }

    /// The address of a QP's PSN in `map`.
    fn place(&self, qp: u8, psn: Psn) -> u32 {
        u32::from(qp) * self.psns.0 + (psn.0 & (self.psns.0 - 1))
    }

    /// `Answer`: the record is there.
    fn answer(&mut self, i: &Inputs) {
        let rec = i.rec_rdata;
        let at = self.index(self.found);
        let same = self.op.by_slot() || (rec.qp, rec.psn) == (self.qp, self.psn);
        let hit = same
            && match self.op {
                Look::Held => !self.live[at] && self.hold_last[at] && !self.egress[at],
                _ => self.live[at],
            };
        self.rsp_valid = true;
        self.rsp_hit = hit;
        self.rsp_slot = self.found;
        self.rsp = rec;
        self.rsp_port = i.path_rdata.port;
        self.state = State::Idle;
        if self.op == Look::Retire {
            if hit {
                self.live.set(at, false);
                self.acked.set(at, true);
            }
            if same && self.discards {
                self.hold_last.set(at, false);
            }
        }
        self.free_if_done(self.found);
    }

    /// `slot` is to be read from `fl`.
    fn refills(&self) -> bool {
        !self.slot_valid && !self.fetching && self.fresh == self.slots() && self.fl_count > 0
    }

    /// PKT-6: acknowledged, no copy in egress, no completion to wait for.
    fn free_if_done(&mut self, slot: u16) {
        let at = self.index(slot);
        if self.acked[at] && !self.egress[at] && !self.hold_last[at] {
            self.acked.set(at, false);
            self.free(slot);
        }
    }

    fn free(&mut self, slot: u16) {
        self.freed_valid = true;
        self.freed = slot;
        self.used = self.used.wrapping_sub(1) & 0x7ff;
    }

    /// The ring of free slots and the one on offer.
    fn refill(&mut self, i: &Inputs, o: &Outputs) {
        if o.fl_we {
            self.fl_tail = self.after(self.fl_tail);
            self.fl_count = (self.fl_count + 1) & 0x7ff;
        }
        if o.fl_re {
            self.fl_head = self.after(self.fl_head);
            self.fl_count = self.fl_count.wrapping_sub(1) & 0x7ff;
        }
        if self.slot_valid && i.slot_ready {
            self.slot_valid = false;
            self.used = (self.used + 1) & 0x7ff;
        }
        if self.fetching {
            self.slot_valid = true;
            self.slot = i.fl_rdata.slot;
        } else if self.fresh != self.slots() && !self.slot_valid {
            self.slot_valid = true;
            self.slot = self.fresh;
            self.fresh += 1;
        }
        self.fetching = o.fl_re;
    }
}
