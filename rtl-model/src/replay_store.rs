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
//! Latency: a record is kept in the clock in which `build` is taken (always); a retire taken in
//! clock N is answered in clock N + 3, a final takes 2 clocks; `gone` acts at once and holds back
//! for a clock a retire or a final that is about to act. Retire before final (section 16: the
//! acknowledgement before its completion); build, gone and one of them may meet in one clock.
//!
//! QP-6: a retire with `discard` does not wait for a `final`; a toss frees a slot that was never
//! built, in a clock in which nothing else may free one.
//!
//! Borders: the last slot of all taken; acknowledged in egress and the other way round; a last
//! packet's `final` before and after `gone`; PSNs modulo PSNS; both ends of the memory of free
//! ones. A PSN is built before it is retired or final, once each; a slot is gone once after its
//! build. Memory ports are combinational: writes of `map` and `rec` from `build`, reads of `map`
//! from requests, of `rec` from `map_rdata`; those of `fl` come from registers.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BadBits, BitMap, Field, Item, Reader, Writer};
use crate::sizes::Sizes;
use crate::types::Psn;

/// A word of the memory `map`: the slot of a PSN outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct SlotWord {
    /// The slot.
    #[bits(10)]
    pub slot: u16,
}

/// A word of the memory `rec`: what a slot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Record {
    /// Payload bytes.
    #[bits(14)]
    pub len: u16,
    /// Last packet of its message.
    pub last: bool,
    /// The group in whose flight it is.
    pub group: u8,
    /// Message entry.
    #[bits(10)]
    pub msg: u16,
}

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `tx_scheduler`.
    pub slot_ready: bool,
    /// From `packet_build`: a packet is built.
    pub build_valid: bool,
    /// From `packet_build`.
    pub build_qp: u8,
    /// From `packet_build`.
    pub build_psn: Psn,
    /// From `packet_build`.
    #[bits(10)]
    pub build_slot: u16,
    /// From `packet_build`.
    #[bits(14)]
    pub build_len: u16,
    /// From `packet_build`.
    pub build_last: bool,
    /// From `packet_build`.
    pub build_group: u8,
    /// From `packet_build`.
    #[bits(10)]
    pub build_msg: u16,
    /// From `ack_take`: a packet is acknowledged.
    pub retire_valid: bool,
    /// From `ack_take`.
    pub retire_qp: u8,
    /// From `ack_take`.
    pub retire_psn: Psn,
    /// From `ack_take`: it is discarded, not acknowledged.
    pub retire_discard: bool,
    /// From `completion`: a message is complete.
    pub final_valid: bool,
    /// From `completion`.
    pub final_qp: u8,
    /// From `completion`: of its last packet.
    pub final_psn: Psn,
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
    /// To `ack_take`.
    pub retire_ready: bool,
    /// To `ack_take`.
    pub retire_rsp_valid: bool,
    /// To `ack_take`.
    #[bits(14)]
    pub retire_rsp_len: u16,
    /// To `ack_take`.
    pub retire_rsp_group: u8,
    /// To `ack_take`.
    pub retire_rsp_last: bool,
    /// To `completion`.
    pub final_ready: bool,
    /// To `qp_drain`.
    pub toss_ready: bool,
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
    /// Takes a retire or a final, and reads its slot.
    #[default]
    Idle = 0,
    /// Has the slot, reads the record.
    Retire = 1,
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
    /// Slot of the retire in `Answer`.
    #[bits(10)]
    pub retiring: u16,
    /// That retire waits for no `final`.
    pub discards: bool,
    /// The record is an answer.
    pub rsp_valid: bool,
    /// Payload bytes of the packet last retired.
    #[bits(14)]
    pub rsp_len: u16,
    /// Its group.
    pub rsp_group: u8,
    /// It was the last of its message.
    pub rsp_last: bool,
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
            retiring: 0,
            discards: false,
            rsp_valid: false,
            rsp_len: 0,
            rsp_group: 0,
            rsp_last: false,
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
            retire_rsp_valid: self.rsp_valid,
            retire_rsp_len: self.rsp_len,
            retire_rsp_group: self.rsp_group,
            retire_rsp_last: self.rsp_last,
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
        o.retire_ready = self.state == State::Idle;
        o.final_ready = self.state == State::Idle && !i.retire_valid;
        o.toss_ready =
            !(matches!(self.state, State::Answer | State::Final) || i.gone_valid && i.gone_data);
        if i.build_valid {
            o.map_we = true;
            o.map_waddr = self.place(i.build_qp, i.build_psn);
            o.map_wdata = SlotWord { slot: i.build_slot };
            o.rec_we = true;
            o.rec_waddr = u32::from(i.build_slot);
            o.rec_wdata = Record {
                len: i.build_len,
                last: i.build_last,
                group: i.build_group,
                msg: i.build_msg,
            };
        }
        match self.state {
            State::Idle if i.retire_valid || i.final_valid => {
                let (qp, psn) = if i.retire_valid {
                    (i.retire_qp, i.retire_psn)
                } else {
                    (i.final_qp, i.final_psn)
                };
                o.map_re = true;
                o.map_raddr = self.place(qp, psn);
            }
            State::Retire => {
                o.rec_re = true;
                o.rec_raddr = u32::from(i.map_rdata.slot);
            }
            _ => {}
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let gone = i.gone_valid && i.gone_data;
        self.rsp_valid = false;
        self.freed_valid = false;
        if gone {
            let slot = self.index(i.gone_slot);
            self.egress.set(slot, false);
            self.free_if_done(i.gone_slot);
        }
        match self.state {
            State::Idle if i.retire_valid => {
                self.state = State::Retire;
                self.discards = i.retire_discard;
            }
            State::Idle if i.final_valid => self.state = State::Final,
            State::Retire => {
                self.retiring = i.map_rdata.slot;
                self.state = State::Answer;
            }
            State::Answer if !gone => {
                let Record { len, last, group, .. } = i.rec_rdata;
                (self.rsp_valid, self.rsp_len) = (true, len);
                (self.rsp_last, self.rsp_group) = (last, group);
                let slot = self.index(self.retiring);
                self.acked.set(slot, true);
                if self.discards {
                    self.hold_last.set(slot, false);
                }
                self.free_if_done(self.retiring);
                self.state = State::Idle;
            }
            State::Final if !gone => {
                let slot = self.index(i.map_rdata.slot);
                self.hold_last.set(slot, false);
                self.free_if_done(i.map_rdata.slot);
                self.state = State::Idle;
            }
            _ => {}
        }
        if i.toss_valid && o.toss_ready {
            self.free(i.toss_slot);
        }
        if i.build_valid {
            let slot = self.index(i.build_slot);
            self.egress.set(slot, true);
            self.hold_last.set(slot, i.build_last);
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
            && !(self.freed_valid || self.fetching || self.rsp_valid)
            && !(i.build_valid
                || i.retire_valid
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
