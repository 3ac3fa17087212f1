//! Probes: a packet without payload on each entropy value that is bad, until one is answered.
//!
//! Twin of `hdl/path_probe.sv`. PTH-2: one probe per bad value every `InitialAckTimeout`, on the
//! destination's lowest open QP, without PSN and window. `path_select` says which values are bad;
//! memory `due` has a word a value here: the tick of its next probe, and the id of the last one.
//!
//! A value that falls is due at the tick count of that clock + floor(T), at least 1: timers expire
//! at ticks, and the clock in which the value falls belongs to the last one. Then every floor(T).
//! When the tick count reaches the soonest of all, a sweep visits every bad value, by destination
//! and value, ascending: 2 clocks a value that is not due; one that is due asks `tx_scheduler` for
//! room, and goes to `packet_build`: about 20 clocks. Without room, or without an open QP that is
//! not in error, the period passes. A sweep that comes late counts the next period from its own
//! tick, where the period has passed already.
//! Throughput: a sweep of all 128 values of a destination fits into 1 microsecond where none is
//! due.
//!
//! A probe's id: 8 bits that count the falls of values, 8 that count the probes on this value
//! since. An answer with m = 0 and the first 8 bits of the value's word makes the value good: so
//! an answer to an earlier probe does too, and one from before the value fell does not. An answer
//! to the last probe is a sample for RTT-1: `sample_at` is the clock in which the probe's
//! serialisation ended. An answer is judged within 3 clocks; it takes 8 at most until `path_select`
//! has told that the value rose, and the next one comes later than that.
//! Memory `at`, a word a value: when its last probe ended. The port tells which probe it sends by
//! the frame's slot and off: {dest[2:0], value} and dest[5:3].
//!
//! Borders: a tick count equal to due and one less; a value that falls again while its probe is on
//! its way; the last value of the last destination; T below 1 us and without end.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::header::{ICRC_BYTES, PROBE_BYTES};
use crate::image::{BadBits, BitMap, Field, Item, Reader, Wide, Writer};
use crate::path_select::{PORTS, is_sprayed, number, value_of, wide};
use crate::retransmit::{Moment, TIMEOUT_PLACES};
use crate::sizes::Sizes;
use crate::timer_wheel::END;
use crate::types::{Frame, Qpn};

/// The next probe of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Due {
    /// When.
    #[bits(48)]
    pub tick: u64,
    /// One was sent.
    pub sent: bool,
    /// First half of its id.
    pub life: u8,
    /// The other half: probes since the value fell.
    pub count: u8,
}

/// What the sweep is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// Until a value is due.
    #[default]
    Idle = 0,
    /// The next destination with bad values.
    Dest = 1,
    /// Asks which, and waits for the answer.
    Look = 2,
    /// The next value; reads its word.
    Value = 3,
    /// Has it: is it due, is there a QP.
    Judge = 4,
    /// Asks for room, and waits for the answer.
    Room = 5,
    /// The probe goes.
    Give = 6,
    /// Writes the word back.
    Write = 7,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `csr`: `InitialAckTimeout` in microseconds, 41 binary places.
    pub cfg_timeout: u64,
    /// From `csr`.
    pub cfg_icrc: bool,
    /// From `timer_wheel`.
    #[bits(48)]
    pub ticks: u64,
    /// Clocks since reset.
    #[bits(48)]
    pub now: u64,
    /// From `path_select`: destinations with bad values.
    pub troubled: u64,
    /// From `path_select`: a value is bad.
    pub fell_valid: bool,
    /// From `path_select`: a value is good again.
    pub rose_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub told_dest: u8,
    /// Which.
    #[bits(7)]
    pub told_value: u8,
    /// From `path_select`.
    pub look_ready: bool,
    /// From `path_select`: the answer.
    pub look_rsp_valid: bool,
    /// The values that are bad.
    pub look_rsp_bad: Wide<2>,
    /// From `ack_take`: an answer to a probe.
    pub probed_valid: bool,
    /// From which destination.
    #[bits(6)]
    pub probed_dest: u8,
    /// Its port.
    pub probed_port: u16,
    /// The probe's id.
    pub probed_id: u16,
    /// m = 0.
    pub probed_good: bool,
    /// From `qp_table`: a QP opens.
    pub created_valid: bool,
    /// Its number.
    pub created_qpn: Qpn,
    /// Its destination.
    #[bits(6)]
    pub created_dest: u8,
    /// From `qp_table`: a QP closes.
    pub closed_valid: bool,
    /// Its number.
    pub closed_qpn: Qpn,
    /// From `qp_table`: QPs in error or being closed.
    pub dead: Wide<4>,
    /// From `tx_scheduler`.
    pub room_ready: bool,
    /// From `tx_scheduler`: the answer.
    pub room_rsp_valid: bool,
    /// The room is reserved.
    pub room_rsp_ok: bool,
    /// From `packet_build`.
    pub probe_ready: bool,
    /// From `egress_arbiter`: a frame starts.
    pub tx_valid: bool,
    /// Its class.
    #[bits(4)]
    pub tx_cls: u8,
    /// The frame.
    pub tx: Frame,
    /// From `egress_arbiter`: the frame has ended. Another one starts in that clock or later.
    pub end_valid: bool,
    /// The value's word, from the memory.
    pub due_rdata: Due,
    /// When the value's last probe ended, from the memory.
    pub at_rdata: Moment,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `path_select`: which values are bad?
    pub look_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub look_dest: u8,
    /// To `path_select`: a value is good again.
    pub good_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub good_dest: u8,
    /// Which.
    #[bits(7)]
    pub good_value: u8,
    /// To `tx_scheduler`: room for a probe, please.
    pub room_valid: bool,
    /// Its bytes on the wire.
    #[bits(14)]
    pub room_bytes: u16,
    /// To `packet_build`: a probe.
    pub probe_valid: bool,
    /// On which QP.
    pub probe_qp: u8,
    /// To which destination.
    #[bits(6)]
    pub probe_dest: u8,
    /// On which value.
    #[bits(7)]
    pub probe_value: u8,
    /// Its id.
    pub probe_id: u16,
    /// To the log: a probe's round trip.
    pub sample_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub sample_dest: u8,
    /// The clock in which the probe's serialisation ended.
    #[bits(48)]
    pub sample_at: u64,
    /// To the log: a period without room.
    pub missed_valid: bool,
    /// Next probes: write.
    pub due_we: bool,
    /// Next probes: where.
    pub due_waddr: u32,
    /// Next probes: what.
    pub due_wdata: Due,
    /// Next probes: read.
    pub due_re: bool,
    /// Next probes: where.
    pub due_raddr: u32,
    /// Ends of probes: write.
    pub at_we: bool,
    /// Ends of probes: where.
    pub at_waddr: u32,
    /// Ends of probes: what.
    pub at_wdata: Moment,
    /// Ends of probes: read.
    pub at_re: bool,
    /// Ends of probes: where.
    pub at_raddr: u32,
}

/// Destinations of the build: a parameter of the RTL, and no bits of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    dests: u8,
}

impl Item for Build {
    fn layout(&self, _name: &str, _width: u32, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _width: u32, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What the sweep is doing.
    pub state: State,
    /// Destinations still to be visited.
    pub rest: u64,
    /// The one in work.
    #[bits(6)]
    pub dest: u8,
    /// Its values still to be visited.
    pub values: Wide<2>,
    /// The value in work.
    #[bits(7)]
    pub value: u8,
    /// Its word.
    pub due: Due,
    /// It has fallen again meanwhile.
    pub gone: bool,
    /// The QP of its probe.
    pub qp: u8,
    /// The request waits for `path_select`.
    pub look_valid: bool,
    /// The request waits for `tx_scheduler`.
    pub room_valid: bool,
    /// The first tick at which some value may be due.
    #[bits(48)]
    pub soonest: u64,
    /// Values that have fallen.
    pub life: u8,
    /// One that is to be written.
    pub fell_valid: bool,
    /// Its destination.
    #[bits(6)]
    pub fell_dest: u8,
    /// The value.
    #[bits(7)]
    pub fell_value: u8,
    /// The tick count as it fell.
    #[bits(48)]
    pub fell_tick: u64,
    /// An answer that is to be judged.
    pub answer_valid: bool,
    /// Its word has been read.
    pub answer_read: bool,
    /// Destination of the last one.
    #[bits(6)]
    pub answer_dest: u8,
    /// Its value.
    #[bits(7)]
    pub answer_value: u8,
    /// Its id.
    pub answer_id: u16,
    /// The value is good.
    pub good_valid: bool,
    /// It is the last probe's answer.
    pub samples: bool,
    /// A round trip.
    pub sample_valid: bool,
    /// When its probe ended.
    #[bits(48)]
    pub sample_at: u64,
    /// A period without room.
    pub missed: bool,
    /// The port sends a probe.
    pub sends: bool,
    /// To which destination.
    #[bits(6)]
    pub sends_dest: u8,
    /// On which value.
    #[bits(7)]
    pub sends_value: u8,
    /// QPs that are open.
    pub is_open: BitMap,
    /// The destination of each.
    #[bits(6)]
    pub dests: Vec<u8>,
    /// Destinations of the build.
    pub build: Build,
}

/// What the memory `due` is used for in a clock.
#[derive(Clone, Copy)]
struct Use {
    /// Writes a value that fell.
    writes: bool,
    /// Reads for the sweep.
    reads: bool,
    /// Reads for an answer.
    asks: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            state: State::Idle,
            rest: 0,
            dest: 0,
            values: Wide::ZERO,
            value: 0,
            due: Due::default(),
            gone: false,
            qp: 0,
            look_valid: false,
            room_valid: false,
            soonest: END,
            life: 0,
            fell_valid: false,
            fell_dest: 0,
            fell_value: 0,
            fell_tick: 0,
            answer_valid: false,
            answer_read: false,
            answer_dest: 0,
            answer_value: 0,
            answer_id: 0,
            good_valid: false,
            samples: false,
            sample_valid: false,
            sample_at: 0,
            missed: false,
            sends: false,
            sends_dest: 0,
            sends_value: 0,
            is_open: BitMap::repeat(false, sizes.qps as usize),
            dests: vec![0; sizes.qps as usize],
            build: Build { dests: sizes.dests as u8 },
        }
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            look_valid: self.look_valid,
            look_dest: self.dest,
            good_valid: self.good_valid,
            good_dest: self.answer_dest,
            good_value: self.answer_value,
            room_valid: self.room_valid,
            room_bytes: PROBE_BYTES,
            probe_valid: self.state == State::Give,
            probe_qp: self.qp,
            probe_dest: self.dest,
            probe_value: self.value,
            probe_id: u16::from_be_bytes([self.due.life, self.due.count]),
            sample_valid: self.sample_valid,
            sample_dest: self.answer_dest,
            sample_at: self.sample_at,
            missed_valid: self.missed,
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.room_bytes = PROBE_BYTES + if i.cfg_icrc { ICRC_BYTES } else { 0 };
        let port = self.uses(i);
        (o.due_we, o.due_waddr, o.due_wdata) = (false, 0, Due::default());
        if port.writes {
            let at = self.word(self.fell_dest, self.fell_value);
            (o.due_we, o.due_waddr, o.due_wdata) = (true, at, self.fallen(i));
        } else if self.state == State::Write && !self.gone {
            let at = self.word(self.dest, self.value);
            (o.due_we, o.due_waddr, o.due_wdata) = (true, at, self.due);
        }
        (o.due_re, o.due_raddr) = (false, 0);
        if port.reads {
            let value = number(self.values).trailing_zeros() as u8;
            (o.due_re, o.due_raddr) = (true, self.word(self.dest, value));
        } else if port.asks {
            (o.due_re, o.due_raddr) = (true, self.word(self.answer_dest, self.answer_value));
        }
        (o.at_re, o.at_raddr) = if port.asks { (true, o.due_raddr) } else { (false, 0) };
        (o.at_we, o.at_waddr, o.at_wdata) = (false, 0, Moment::default());
        if self.ended(i) {
            o.at_we = true;
            o.at_waddr = self.word(self.sends_dest, self.sends_value);
            o.at_wdata = Moment { clock: i.now };
        }
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        let port = self.uses(i);
        let ended = self.ended(i);
        let (rises, told) = (self.rises(i), self.told(i));
        let falls_again =
            i.fell_valid && (i.told_dest, i.told_value) == (self.dest, self.value) && self.works();
        (self.good_valid, self.sample_valid, self.missed) = (false, false, false);
        self.look_valid &= !i.look_ready;
        self.room_valid &= !i.room_ready;
        let fallen = self.fallen(i);
        self.sweep(i, port.reads);
        if port.writes {
            self.fell_valid = false;
            self.life = self.life.wrapping_add(1);
            self.soonest = self.soonest.min(fallen.tick);
        }
        self.gone |= falls_again;
        if i.fell_valid {
            self.fell_valid = true;
            (self.fell_dest, self.fell_value) = (i.told_dest, i.told_value);
            self.fell_tick = i.ticks;
        }
        self.answers(i, port.asks, rises, told);
        self.sends &= !ended;
        if i.tx_valid && i.tx_cls == 0 && !i.tx.data {
            self.sends = true;
            (self.sends_dest, self.sends_value) = value_in(i.tx.slot, i.tx.off);
        }
        self.qps(i);
    }

    fn idle(&self, i: &Inputs) -> bool {
        let due = i.troubled != 0 && i.ticks >= self.soonest;
        let told = i.fell_valid || i.rose_valid || i.probed_valid;
        let table = i.created_valid || i.closed_valid;
        let port = i.tx_valid && i.tx_cls == 0 && !i.tx.data || self.ended(i);
        let waits = self.fell_valid || self.answer_valid || self.answer_read;
        let said = self.good_valid || self.sample_valid || self.missed;
        self.state == State::Idle && !(due || told || table || port || waits || said)
    }
}

/// The place of a value in a frame that has no replay slot: slot and off.
pub fn place_of(dest: u8, value: u8) -> (u16, u8) {
    (u16::from(dest & 7) << 7 | u16::from(value), dest >> 3)
}

/// Destination and value of such a place.
pub fn value_in(slot: u16, off: u8) -> (u8, u8) {
    ((off & 7) << 3 | (slot >> 7) as u8, (slot & 127) as u8)
}

/// Whole microseconds of `InitialAckTimeout`, at least 1.
fn span(i: &Inputs) -> u64 {
    (i.cfg_timeout >> TIMEOUT_PLACES).max(1)
}

fn later(tick: u64, span: u64) -> u64 {
    (tick + span).min(END)
}

impl Regs {
    fn uses(&self, i: &Inputs) -> Use {
        let falling = i.fell_valid || self.fell_valid;
        let reads = self.state == State::Value && self.values != Wide::ZERO && !falling;
        Use {
            writes: self.fell_valid && self.state != State::Write,
            reads,
            asks: self.answer_valid && !reads && !falling,
        }
    }

    /// A value is in work.
    fn works(&self) -> bool {
        matches!(self.state, State::Judge | State::Room | State::Give | State::Write)
    }

    /// The word of a value.
    fn word(&self, dest: u8, value: u8) -> u32 {
        u32::from(dest % self.build.dests) * u32::from(PORTS) + u32::from(value)
    }

    /// The word of a value that fell.
    fn fallen(&self, i: &Inputs) -> Due {
        let tick = later(self.fell_tick, span(i));
        Due { tick, sent: false, life: self.life, count: 0 }
    }

    /// A probe's serialisation has ended.
    fn ended(&self, i: &Inputs) -> bool {
        self.sends && i.end_valid
    }

    /// The answer is one to a probe of this life of the value.
    fn rises(&self, i: &Inputs) -> bool {
        let [life, _] = self.answer_id.to_be_bytes();
        self.answer_read && i.due_rdata.sent && i.due_rdata.life == life
    }

    /// `path_select` tells of the value answered.
    fn told(&self, i: &Inputs) -> bool {
        i.rose_valid && (i.told_dest, i.told_value) == (self.answer_dest, self.answer_value)
    }

    /// The destination's lowest open QP.
    fn lowest_qp(&self, i: &Inputs) -> Option<u8> {
        let dead = |q: usize| i.dead.0[q / 64] >> (q % 64) & 1 == 1;
        self.is_open.iter_ones().find(|q| !dead(*q) && self.dests[*q] == self.dest).map(|q| q as u8)
    }

    fn sweep(&mut self, i: &Inputs, reads: bool) {
        match self.state {
            State::Idle if i.troubled != 0 && i.ticks >= self.soonest => {
                self.rest = i.troubled;
                self.soonest = END;
                self.state = State::Dest;
            }
            State::Dest => {
                self.dest = self.rest.trailing_zeros().min(63) as u8;
                self.look_valid |= self.rest != 0;
                self.state = if self.rest == 0 { State::Idle } else { State::Look };
                self.rest &= self.rest.wrapping_sub(1);
            }
            State::Look if i.look_rsp_valid => {
                self.values = i.look_rsp_bad;
                self.state = State::Value;
            }
            State::Value => {
                self.gone = false;
                let values = number(self.values);
                if values == 0 {
                    self.state = State::Dest;
                } else if reads {
                    self.value = values.trailing_zeros() as u8;
                    self.values = wide(values & (values - 1));
                    self.state = State::Judge;
                }
            }
            State::Judge => self.judge(i),
            State::Room if i.room_rsp_valid => {
                self.missed = !i.room_rsp_ok;
                self.state = State::Write;
                if i.room_rsp_ok {
                    self.due.sent = true;
                    self.due.count = self.due.count.wrapping_add(1);
                    self.state = State::Give;
                }
            }
            State::Give if i.probe_ready => self.state = State::Write,
            State::Write => {
                if !self.gone {
                    self.soonest = self.soonest.min(self.due.tick);
                }
                self.state = State::Value;
            }
            State::Idle | State::Look | State::Room | State::Give => {}
        }
    }

    /// Is the value due, and is there a QP to probe it on?
    fn judge(&mut self, i: &Inputs) {
        self.due = i.due_rdata;
        if self.due.tick > i.ticks {
            self.soonest = self.soonest.min(self.due.tick);
            self.state = State::Value;
            return;
        }
        let span = span(i);
        let again = later(self.due.tick, span);
        self.due.tick = if again > i.ticks { again } else { later(i.ticks, span) };
        self.state = State::Write;
        if let Some(qp) = self.lowest_qp(i) {
            self.qp = qp;
            self.room_valid = true;
            self.state = State::Room;
        }
    }

    fn answers(&mut self, i: &Inputs, asks: bool, rises: bool, told: bool) {
        self.answer_read = asks;
        self.answer_valid &= !asks;
        if rises {
            let [_, count] = self.answer_id.to_be_bytes();
            self.good_valid = true;
            self.samples = i.due_rdata.count == count;
            if self.answer_dest == self.dest {
                self.values = wide(number(self.values) & !(1 << self.answer_value));
            }
        }
        if told {
            (self.sample_valid, self.sample_at) = (self.samples, i.at_rdata.clock);
            self.samples = false;
        }
        if i.probed_valid && i.probed_good && is_sprayed(i.probed_port) {
            self.answer_valid = true;
            (self.answer_dest, self.answer_value) = (i.probed_dest, value_of(i.probed_port));
            self.answer_id = i.probed_id;
            self.samples = false;
        }
    }

    fn qps(&mut self, i: &Inputs) {
        let at = |qpn: Qpn| usize::from(qpn.slot()) & (self.dests.len() - 1);
        if i.created_valid {
            let slot = at(i.created_qpn);
            self.is_open.set(slot, true);
            self.dests[slot] = i.created_dest;
        }
        if i.closed_valid {
            let slot = usize::from(i.closed_qpn.slot()) & (self.dests.len() - 1);
            self.is_open.set(slot, false);
        }
    }
}
