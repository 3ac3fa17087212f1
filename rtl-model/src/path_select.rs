//! Entropy values: each packet to a destination leaves on the next of 128 UDP source ports that
//! may be used.
//!
//! Twin of `hdl/path_select.sv`. One thing at a time, 2 clocks each: it is chosen and its words
//! are read in one clock, it is taken in the next, and its answer or event comes in the third, in
//! which the next is chosen. Order of choice, after section 16: a value to be passed over once and
//! a value that is good again (frames received), a value assumed bad (timers), a look, a port for
//! data, a port for an ACK. So a request sees every event of its own clock and before. Events wait
//! here, one of each kind; the next of a kind comes 8 clocks later at the earliest. Bad and good of
//! different clocks go in their order.
//!
//! PTH-1: port = 256 + (step mod 128), one step a destination, shared by data and ACKs, outliving
//! groups. A draw goes round from the step: a value that is bad is passed over; so is one marked
//! skip-once, which then loses its mark, as any other that is passed over; the step ends after the
//! value drawn. Where all that are not bad are marked, a whole round takes the marks away, and the
//! next one draws. Where all 128 are bad, a whole round passes, the step stays, and the value
//! longest bad is drawn. A value assumed bad again keeps its place; one that is good again keeps
//! its mark.
//!
//! Memory `flag`, DESTS words: bad and skip of each value; a word counts once it is `marked`.
//! Memories `next` and `prev`, DESTS x 128 words by {destination, value}: a list of each
//! destination's bad values, longest bad first. Ports of memories are combinational.
//!
//! Borders: step 127 wraps to value 0; the value just drawn; one usable value, none, all marked;
//! the first, the last and the only value of a list; a port that is none of the 128 means nothing.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BitMap, Wide};
use crate::sizes::Sizes;

/// First of the ports that are sprayed over.
pub const FIRST_PORT: u16 = 256;
/// How many there are.
pub const PORTS: u8 = 128;

/// A destination's word: a bit for each of its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Flags {
    /// Assumed bad, until a probe is answered.
    pub bad: Wide<2>,
    /// To be passed over once.
    pub skip: Wide<2>,
}

/// A word of the lists: a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Link {
    /// The value.
    #[bits(7)]
    pub value: u8,
}

/// What the block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// Chooses what is done next and reads its words.
    #[default]
    Idle = 0,
    /// A value is to be passed over once.
    Skip = 1,
    /// A value is good again.
    Good = 2,
    /// A value is assumed bad.
    Bad = 3,
    /// Shows which values are bad.
    Look = 4,
    /// Draws a port for data.
    Data = 5,
    /// Draws a port for an ACK.
    Ack = 6,
}

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ack_take`: a value to be passed over once.
    pub skip_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub skip_dest: u8,
    /// Its port.
    pub skip_port: u16,
    /// From `retransmit`: a value assumed bad.
    pub bad_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub bad_dest: u8,
    /// Its port.
    pub bad_port: u16,
    /// From `path_probe`: a value that is good again.
    pub good_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub good_dest: u8,
    /// The value.
    #[bits(7)]
    pub good_value: u8,
    /// From `path_probe`: wants to know which values are bad.
    pub look_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub look_dest: u8,
    /// From `packet_build`.
    pub data_valid: bool,
    /// From `packet_build`.
    #[bits(6)]
    pub data_dest: u8,
    /// From `ack_build`.
    pub ack_valid: bool,
    /// From `ack_build`.
    #[bits(6)]
    pub ack_dest: u8,
    /// The destination's flags, from the memory.
    pub flag_rdata: Flags,
    /// The bad value after this one, from the memory.
    pub next_rdata: Link,
    /// The bad value before this one, from the memory.
    pub prev_rdata: Link,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `path_probe`.
    pub look_ready: bool,
    /// To `path_probe`.
    pub look_rsp_valid: bool,
    /// The values that are bad.
    pub look_rsp_bad: Wide<2>,
    /// Destinations of which some value is bad.
    pub troubled: u64,
    /// A value that was good is bad.
    pub fell_valid: bool,
    /// A value that was bad is good.
    pub rose_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub told_dest: u8,
    /// The value.
    #[bits(7)]
    pub told_value: u8,
    /// To `packet_build`.
    pub data_ready: bool,
    /// To `packet_build`.
    pub data_rsp_valid: bool,
    /// To `packet_build`.
    pub data_rsp_port: u16,
    /// To `ack_build`.
    pub ack_ready: bool,
    /// To `ack_build`.
    pub ack_rsp_valid: bool,
    /// To `ack_build`.
    pub ack_rsp_port: u16,
    /// Flags: write.
    pub flag_we: bool,
    /// Flags: where.
    pub flag_waddr: u32,
    /// Flags: what.
    pub flag_wdata: Flags,
    /// Flags: read.
    pub flag_re: bool,
    /// Flags: where.
    pub flag_raddr: u32,
    /// Lists, forward: write.
    pub next_we: bool,
    /// Lists, forward: where.
    pub next_waddr: u32,
    /// Lists, forward: what.
    pub next_wdata: Link,
    /// Lists, forward: read.
    pub next_re: bool,
    /// Lists, forward: where.
    pub next_raddr: u32,
    /// Lists, backward: write.
    pub prev_we: bool,
    /// Lists, backward: where.
    pub prev_waddr: u32,
    /// Lists, backward: what.
    pub prev_wdata: Link,
    /// Lists, backward: read.
    pub prev_re: bool,
    /// Lists, backward: where.
    pub prev_raddr: u32,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What is done.
    pub state: State,
    /// The destination in work.
    #[bits(6)]
    pub dest: u8,
    /// The value in work.
    #[bits(7)]
    pub value: u8,
    /// A value to be passed over once waits.
    pub skip_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub skip_dest: u8,
    /// The value.
    #[bits(7)]
    pub skip_value: u8,
    /// A value assumed bad waits.
    pub bad_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub bad_dest: u8,
    /// The value.
    #[bits(7)]
    pub bad_value: u8,
    /// A value that is good again waits.
    pub good_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub good_dest: u8,
    /// The value.
    #[bits(7)]
    pub good_value: u8,
    /// It came after the bad one that waits.
    pub late: bool,
    /// Step of each destination, modulo 128.
    #[bits(7)]
    pub step: Vec<u8>,
    /// The value longest bad of each destination.
    #[bits(7)]
    pub head: Vec<u8>,
    /// The one that is bad since last.
    #[bits(7)]
    pub tail: Vec<u8>,
    /// The destination's word has bits.
    pub marked: BitMap,
    /// Some of its values are bad.
    pub troubled: BitMap,
    /// `look_rsp_bad` is an answer.
    pub look_rsp_valid: bool,
    /// The values last shown.
    pub look_rsp_bad: Wide<2>,
    /// A value that was good is bad.
    pub fell_valid: bool,
    /// A value that was bad is good.
    pub rose_valid: bool,
    /// Of which destination.
    #[bits(6)]
    pub told_dest: u8,
    /// The value.
    #[bits(7)]
    pub told_value: u8,
    /// `data_rsp_port` is an answer.
    pub data_rsp_valid: bool,
    /// The last port given to data.
    pub data_rsp_port: u16,
    /// `ack_rsp_port` is an answer.
    pub ack_rsp_valid: bool,
    /// The last port given to an acknowledgement.
    pub ack_rsp_port: u16,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        let dests = sizes.dests as usize;
        let none = BitMap::repeat(false, dests);
        Self {
            state: State::Idle,
            dest: 0,
            value: 0,
            skip_valid: false,
            skip_dest: 0,
            skip_value: 0,
            bad_valid: false,
            bad_dest: 0,
            bad_value: 0,
            good_valid: false,
            good_dest: 0,
            good_value: 0,
            late: false,
            step: vec![0; dests],
            head: vec![0; dests],
            tail: vec![0; dests],
            marked: none.clone(),
            troubled: none,
            look_rsp_valid: false,
            look_rsp_bad: Wide::ZERO,
            fell_valid: false,
            rose_valid: false,
            told_dest: 0,
            told_value: 0,
            data_rsp_valid: false,
            data_rsp_port: 0,
            ack_rsp_valid: false,
            ack_rsp_port: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            look_ready: self.state == State::Look,
            look_rsp_valid: self.look_rsp_valid,
            look_rsp_bad: self.look_rsp_bad,
            troubled: self.troubled.as_raw_slice()[0],
            fell_valid: self.fell_valid,
            rose_valid: self.rose_valid,
            told_dest: self.told_dest,
            told_value: self.told_value,
            data_ready: self.state == State::Data,
            data_rsp_valid: self.data_rsp_valid,
            data_rsp_port: self.data_rsp_port,
            ack_ready: self.state == State::Ack,
            ack_rsp_valid: self.ack_rsp_valid,
            ack_rsp_port: self.ack_rsp_port,
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        (o.flag_re, o.flag_raddr) = (false, 0);
        (o.next_re, o.next_raddr) = (false, 0);
        (o.prev_re, o.prev_raddr) = (false, 0);
        if self.state != State::Idle {
            self.write(i, o);
            return;
        }
        let (next, dest, value) = self.choose(i);
        if next != State::Idle {
            (o.flag_re, o.flag_raddr) = (true, self.at(dest) as u32);
        }
        if next == State::Good {
            (o.next_re, o.next_raddr) = (true, self.word(dest, value));
            (o.prev_re, o.prev_raddr) = (true, o.next_raddr);
        }
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.look_rsp_valid = self.state == State::Look;
        self.data_rsp_valid = self.state == State::Data;
        self.ack_rsp_valid = self.state == State::Ack;
        (self.fell_valid, self.rose_valid) = (false, false);
        if self.state == State::Idle {
            (self.state, self.dest, self.value) = self.choose(i);
        } else {
            self.work(i);
            self.state = State::Idle;
        }
        if i.skip_valid && is_sprayed(i.skip_port) {
            self.skip_valid = true;
            (self.skip_dest, self.skip_value) = (i.skip_dest, value_of(i.skip_port));
        }
        if i.bad_valid && is_sprayed(i.bad_port) {
            self.bad_valid = true;
            (self.bad_dest, self.bad_value) = (i.bad_dest, value_of(i.bad_port));
        }
        if i.good_valid {
            self.good_valid = true;
            self.late = self.bad_valid && !i.bad_valid;
            (self.good_dest, self.good_value) = (i.good_dest, i.good_value);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let told = i.skip_valid || i.bad_valid || i.good_valid;
        let waits = self.skip_valid || self.bad_valid || self.good_valid;
        let asked = i.look_valid || i.data_valid || i.ack_valid;
        // What is in work at rest is nothing: the fields of the last choice are not kept.
        let rest = self.state == State::Idle && self.dest == 0 && self.value == 0;
        let said = self.look_rsp_valid
            || self.data_rsp_valid
            || self.ack_rsp_valid
            || self.fell_valid
            || self.rose_valid;
        rest && !(told || waits || asked || said)
    }
}

/// What a draw finds.
struct Draw {
    value: u8,
    skip: u128,
    step: u8,
}

impl Regs {
    /// The index of a destination.
    fn at(&self, dest: u8) -> usize {
        usize::from(dest) & (self.step.len() - 1)
    }

    /// The word of a value in the lists.
    fn word(&self, dest: u8, value: u8) -> u32 {
        self.at(dest) as u32 * u32::from(PORTS) + u32::from(value)
    }

    /// What is done next, of which destination and value.
    fn choose(&self, i: &Inputs) -> (State, u8, u8) {
        let told = i.skip_valid || i.good_valid || i.bad_valid;
        if self.skip_valid {
            (State::Skip, self.skip_dest, self.skip_value)
        } else if self.good_valid && !(self.late && self.bad_valid) {
            (State::Good, self.good_dest, self.good_value)
        } else if self.bad_valid {
            (State::Bad, self.bad_dest, self.bad_value)
        } else if told {
            (State::Idle, 0, 0)
        } else if i.look_valid {
            (State::Look, i.look_dest, 0)
        } else if i.data_valid {
            (State::Data, i.data_dest, 0)
        } else if i.ack_valid {
            (State::Ack, i.ack_dest, 0)
        } else {
            (State::Idle, 0, 0)
        }
    }

    /// Bad and marked values of the destination in work.
    fn flags(&self, i: &Inputs) -> (u128, u128) {
        if self.marked[self.at(self.dest)] {
            (number(i.flag_rdata.bad), number(i.flag_rdata.skip))
        } else {
            (0, 0)
        }
    }

    /// The same after what is in work.
    fn flags_after(&self, i: &Inputs) -> (u128, u128) {
        let (bad, skip) = self.flags(i);
        let bit = 1 << self.value;
        match self.state {
            State::Skip => (bad, skip | bit),
            State::Good => (bad & !bit, skip),
            State::Bad => (bad | bit, skip),
            State::Data | State::Ack => (bad, self.draw(bad, skip).skip),
            State::Idle | State::Look => (bad, skip),
        }
    }

    /// PTH-1: goes round from the step.
    fn draw(&self, bad: u128, mut skip: u128) -> Draw {
        let at = self.at(self.dest);
        let start = self.step[at];
        if bad == u128::MAX {
            return Draw { value: self.head[at], skip: 0, step: start };
        }
        let usable = !(bad | skip);
        let pool = if usable == 0 { !bad } else { usable };
        let past = pool.rotate_right(u32::from(start)).trailing_zeros();
        skip = match (usable, past) {
            (0, _) => 0,
            (_, 0) => skip,
            _ => skip & !(u128::MAX >> (128 - past)).rotate_left(u32::from(start)),
        };
        let value = (start + past as u8) % PORTS;
        Draw { value, skip, step: (value + 1) % PORTS }
    }

    /// A value that falls, or one that rises.
    fn turns(&self, i: &Inputs) -> (bool, bool) {
        let bad = self.flags(i).0 >> self.value & 1 == 1;
        (self.state == State::Bad && !bad, self.state == State::Good && bad)
    }

    /// What is written of the flags and the list.
    fn write(&self, i: &Inputs, o: &mut Outputs) {
        (o.flag_we, o.flag_waddr, o.flag_wdata) = (false, 0, Flags::default());
        (o.next_we, o.next_waddr, o.next_wdata) = (false, 0, Link::default());
        (o.prev_we, o.prev_waddr, o.prev_wdata) = (false, 0, Link::default());
        let at = self.at(self.dest);
        let (bad, skip) = self.flags_after(i);
        if (bad, skip) != self.flags(i) {
            (o.flag_we, o.flag_waddr) = (true, at as u32);
            o.flag_wdata = Flags { bad: wide(bad), skip: wide(skip) };
        }
        let (before, after) = match self.turns(i) {
            (true, _) if self.flags(i).0 != 0 => (self.tail[at], self.value),
            (_, true) if self.value != self.head[at] && self.value != self.tail[at] => {
                (i.prev_rdata.value, i.next_rdata.value)
            }
            _ => return,
        };
        (o.next_we, o.next_waddr) = (true, self.word(self.dest, before));
        o.next_wdata = Link { value: after };
        (o.prev_we, o.prev_waddr) = (true, self.word(self.dest, after));
        o.prev_wdata = Link { value: before };
    }

    /// Does what is in work.
    fn work(&mut self, i: &Inputs) {
        let at = self.at(self.dest);
        let before = self.flags(i);
        let (bad, skip) = self.flags_after(i);
        let (falls, rises) = self.turns(i);
        match self.state {
            State::Skip => self.skip_valid = false,
            State::Good => self.good_valid = false,
            State::Bad => (self.bad_valid, self.late) = (false, false),
            State::Look => self.look_rsp_bad = wide(bad),
            State::Idle | State::Data | State::Ack => {
                let draw = self.draw(before.0, before.1);
                let port = FIRST_PORT + u16::from(draw.value);
                self.step[at] = draw.step;
                if self.state == State::Data {
                    self.data_rsp_port = port;
                } else {
                    self.ack_rsp_port = port;
                }
            }
        }
        self.marked.set(at, bad != 0 || skip != 0);
        self.troubled.set(at, bad != 0);
        (self.fell_valid, self.rose_valid) = (falls, rises);
        if falls || rises {
            (self.told_dest, self.told_value) = (self.dest, self.value);
        }
        let (first, last) = (self.value == self.head[at], self.value == self.tail[at]);
        if falls {
            self.tail[at] = self.value;
            if before.0 == 0 {
                self.head[at] = self.value;
            }
        } else if rises && first && !last {
            self.head[at] = i.next_rdata.value;
        } else if rises && last && !first {
            self.tail[at] = i.prev_rdata.value;
        }
    }
}

/// Whether a port is one of the 128.
pub(crate) fn is_sprayed(port: u16) -> bool {
    port / u16::from(PORTS) == FIRST_PORT / u16::from(PORTS)
}

/// The value of such a port.
pub(crate) fn value_of(port: u16) -> u8 {
    (port % u16::from(PORTS)) as u8
}

/// A bit for each value, as a number.
pub(crate) fn number(w: Wide<2>) -> u128 {
    u128::from(w.0[1]) << 64 | u128::from(w.0[0])
}

/// The other way.
pub(crate) fn wide(n: u128) -> Wide<2> {
    Wide([n as u64, (n >> 64) as u64])
}
