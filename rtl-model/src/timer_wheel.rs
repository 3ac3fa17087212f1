//! Timer wheel: one timer for each replay slot, in whole microseconds, on wheels of wheels.
//!
//! Twin of `hdl/timer_wheel.sv`. TMR-1, TMR-5: a timer armed with its start (the number of the
//! first tick at or after it: `now` + 1 in the clock of the start) and its span expires at tick
//! start + span, never early and once; spans have 48 bits and the sum stays at its end, 2^48 - 1.
//! Each wheel has 64 spokes (16 where there are at most 64 timers) of the time to the power of its
//! level; a spoke is a word with a bit for each timer. A tick opens one spoke, that of the highest
//! digit that it changes, and each timer there expires or moves to a lower wheel.
//!
//! Arming is always taken and costs one clock of the memory; a cancelled timer leaves its bit
//! behind (lazy), and only `armed` and the timer's record decide what a bit stands for when it is
//! read. So a stale bit never hits the slot's next owner; an expiry that is on offer when its slot
//! is cancelled or armed again is told by its generation, which the owner compares.
//!
//! Latency: without a backlog an expiry is on offer 5 clocks after its tick. Throughput: a bit a
//! clock, so 1,024 expiries, or a spoke of 1,024 timers that move, take 1,024 clocks. Ticks that
//! come meanwhile are counted and served in order, each in one clock where nothing is due. Order:
//! by tick; within a tick by slot, ascending. `exp_tick` is the tick that was due.
//!
//! Bound on the delay: 5 clocks, one for each bit of the spokes opened since the wheel was last
//! idle (at most SLOTS a spoke, and no more in sum than timers armed times wheels), 3 for each of
//! these spokes, and one for each arm and each clock that an expiry waits meanwhile. With no stale
//! bits that is at most 2 × SLOTS bits: all timers move at one tick and expire at the next.
//!
//! Borders: a tick in the clock of an arm; spans 1, 63, 64, 65 and one turn of each wheel; the end
//! of 48 bits; a slot armed in the clock in which its bit is read or its expiry is made. An arm
//! whose tick has been served already (a backlog of its span) expires at the next one.
//! Memory ports are combinational, from the arm, registers and read data.

use derive::{Image, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BitMap, Wide};
use crate::sizes::Sizes;

/// The last tick that a timer can have.
pub const END: u64 = (1 << 48) - 1;

/// A bit for each timer.
pub type Bits = Wide<16>;

/// A word of the memory `rec`: a slot's timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Record {
    /// Which of the slot's timers it is.
    pub r#gen: u8,
    /// The tick at which it expires.
    #[bits(48)]
    pub due: u64,
}

/// A word of the memory `spoke`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Spoke {
    /// Its timers.
    pub timers: Bits,
}

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From the port: a whole microsecond.
    pub tick: bool,
    /// From `retransmit`: a timer starts.
    pub arm_valid: bool,
    /// From `retransmit`.
    #[bits(10)]
    pub arm_slot: u16,
    /// From `retransmit`: comes back with the expiry.
    pub arm_gen: u8,
    /// From `retransmit`: the first tick at or after the start.
    #[bits(48)]
    pub arm_start: u64,
    /// From `retransmit`: ticks from there.
    #[bits(48)]
    pub arm_span: u64,
    /// From `retransmit`: a timer stops.
    pub cancel_valid: bool,
    /// From `retransmit`.
    #[bits(10)]
    pub cancel_slot: u16,
    /// From `retransmit`.
    pub exp_ready: bool,
    /// From the memory of records.
    pub rec_rdata: Record,
    /// From the memory of spokes.
    pub spoke_rdata: Spoke,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// Ticks counted.
    #[bits(48)]
    pub now: u64,
    /// To `retransmit`: a timer has expired.
    pub exp_valid: bool,
    /// To `retransmit`.
    #[bits(10)]
    pub exp_slot: u16,
    /// To `retransmit`.
    pub exp_gen: u8,
    /// To `retransmit`: the tick at which it was due.
    #[bits(48)]
    pub exp_tick: u64,
    /// Timers that run.
    #[bits(11)]
    pub running: u16,
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
    /// To the memory of spokes, those of wheel 0 first.
    pub spoke_we: bool,
    /// To the memory of spokes.
    pub spoke_waddr: u32,
    /// To the memory of spokes.
    pub spoke_wdata: Spoke,
    /// To the memory of spokes.
    pub spoke_re: bool,
    /// To the memory of spokes.
    pub spoke_raddr: u32,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Ticks counted.
    #[bits(48)]
    pub now: u64,
    /// Of them served or under way.
    #[bits(48)]
    pub at: u64,
    /// Timers that run.
    pub armed: BitMap,
    /// How many.
    #[bits(11)]
    pub running: u16,
    /// Spokes whose word counts.
    pub known: BitMap,
    /// `spoke` was read for `walk`.
    pub opening: bool,
    /// `walk` is not empty.
    pub walking: bool,
    /// Bits of the spoke opened that are not read yet.
    pub walk: Bits,
    /// The record of `read` was read.
    pub read_valid: bool,
    /// A timer of the spoke opened.
    #[bits(10)]
    pub read: u16,
    /// `spoke` was read to put `put` there.
    pub put_valid: bool,
    /// A timer.
    #[bits(10)]
    pub put: u16,
    /// The spoke last read.
    #[bits(9)]
    pub spoke: u16,
    /// `kept` was written in the clock before.
    pub kept_valid: bool,
    /// Where.
    #[bits(9)]
    pub kept_spoke: u16,
    /// The word last written.
    pub kept: Bits,
    /// An expiry is on offer.
    pub exp_valid: bool,
    /// Its slot.
    #[bits(10)]
    pub exp_slot: u16,
    /// Which of the slot's timers.
    pub exp_gen: u8,
    /// When it was due.
    #[bits(48)]
    pub exp_tick: u64,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        Self {
            now: 0,
            at: 0,
            armed: BitMap::repeat(false, sizes.slots as usize),
            running: 0,
            known: BitMap::repeat(false, spokes(sizes) as usize),
            opening: false,
            walking: false,
            walk: Bits::ZERO,
            read_valid: false,
            read: 0,
            put_valid: false,
            put: 0,
            spoke: 0,
            kept_valid: false,
            kept_spoke: 0,
            kept: Bits::ZERO,
            exp_valid: false,
            exp_slot: 0,
            exp_gen: 0,
            exp_tick: 0,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.now = self.now;
        o.exp_valid = self.exp_valid;
        o.exp_slot = self.exp_slot;
        o.exp_gen = self.exp_gen;
        o.exp_tick = self.exp_tick;
        o.running = self.running;
        o.rec_re = false;
        o.rec_raddr = 0;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let fate = self.fate(i);
        o.rec_re = self.walking && !fate.stuck;
        o.rec_raddr = if o.rec_re { u32::from(lowest(&self.walk)) } else { 0 };
        o.rec_we = i.arm_valid;
        (o.rec_waddr, o.rec_wdata) = (0, Record::default());
        if i.arm_valid {
            o.rec_waddr = u32::from(i.arm_slot);
            o.rec_wdata = Record { r#gen: i.arm_gen, due: self.due(i) };
        }
        let into = if i.arm_valid {
            Some(self.spoke_of(self.due(i)))
        } else if fate.moves {
            Some(self.spoke_of(i.rec_rdata.due))
        } else {
            self.opens(i)
        };
        o.spoke_re = into.is_some();
        o.spoke_raddr = u32::from(into.unwrap_or(0));
        o.spoke_we = self.put_valid;
        (o.spoke_waddr, o.spoke_wdata) = (0, Spoke::default());
        if self.put_valid {
            o.spoke_waddr = u32::from(self.spoke);
            o.spoke_wdata.timers = self.word(i);
            set(&mut o.spoke_wdata.timers, self.put, true);
        }
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let (fate, word) = (self.fate(i), self.word(i));
        let (serves, opens) = (self.serves(i), self.opens(i).is_some());
        self.exp_valid &= !i.exp_ready;
        if fate.fires && !fate.stuck {
            self.expire(i);
        }
        self.put(i, o, fate.moves);
        if self.opening {
            self.walk = word;
            self.walking = true;
            self.known.set(usize::from(self.spoke), false);
        }
        if o.spoke_re {
            self.spoke = o.spoke_raddr as u16;
        }
        self.pick(i, o, fate.stuck);
        self.mark(i);
        self.opening = opens;
        if serves {
            self.at = self.next();
        }
        self.now = (self.now + u64::from(i.tick)) & END;
    }

    fn idle(&self, i: &Inputs) -> bool {
        !(i.tick || i.arm_valid || i.cancel_valid)
            && self.at == self.now
            && !(self.opening || self.walking || self.read_valid)
            && !(self.put_valid || self.kept_valid)
            && !(self.exp_valid && i.exp_ready)
    }
}

/// What the timer whose record was read comes to.
struct Fate {
    fires: bool,
    moves: bool,
    stuck: bool,
}

impl Regs {
    /// Bits of a wheel: of 64 spokes, or of 16.
    fn digit(&self) -> u32 {
        if self.armed.len() > 64 { 6 } else { 4 }
    }

    /// The spoke of a later tick: the highest digit in which it differs from `at`, and its value.
    fn spoke_of(&self, due: u64) -> u16 {
        let bits = self.digit();
        let wheel = (due ^ self.at).checked_ilog2().unwrap_or(0) / bits;
        let value = due >> (wheel * bits) & ((1 << bits) - 1);
        (wheel << bits) as u16 | value as u16
    }

    /// The tick after the one served.
    fn next(&self) -> u64 {
        (self.at + 1) & END
    }

    /// The tick of an arm: the sum stays at its end, and lies behind the tick served.
    fn due(&self, i: &Inputs) -> u64 {
        (i.arm_start + i.arm_span).min(END).max(self.next())
    }

    fn fate(&self, i: &Inputs) -> Fate {
        let alive = self.read_valid
            && self.armed[usize::from(self.read)]
            && !(i.cancel_valid && i.cancel_slot == self.read)
            && !(i.arm_valid && i.arm_slot == self.read);
        let fires = alive && i.rec_rdata.due == self.at;
        let moves = alive && !fires;
        let held = self.exp_valid && !i.exp_ready;
        Fate { fires, moves, stuck: fires && held || moves && i.arm_valid }
    }

    /// The next tick is served.
    fn serves(&self, i: &Inputs) -> bool {
        self.at != self.now && !(self.walking || self.read_valid || self.opening) && !i.arm_valid
    }

    /// Its spoke, if there is anything.
    fn opens(&self, i: &Inputs) -> Option<u16> {
        let spoke = self.spoke_of(self.next());
        let filled = self.known[usize::from(spoke)] || self.put_valid && self.spoke == spoke;
        (self.serves(i) && filled).then_some(spoke)
    }

    /// The word of the spoke last read.
    fn word(&self, i: &Inputs) -> Bits {
        if self.kept_valid && self.kept_spoke == self.spoke {
            self.kept
        } else if self.known[usize::from(self.spoke)] {
            i.spoke_rdata.timers
        } else {
            Bits::ZERO
        }
    }

    fn expire(&mut self, i: &Inputs) {
        self.exp_valid = true;
        self.exp_slot = self.read;
        self.exp_gen = i.rec_rdata.r#gen;
        self.exp_tick = self.at;
        self.armed.set(usize::from(self.read), false);
        self.running = self.running.wrapping_sub(1) & 0x7ff;
    }

    /// The record of the next timer is read.
    fn pick(&mut self, i: &Inputs, o: &Outputs, stuck: bool) {
        let pick = o.rec_raddr as u16;
        if !stuck {
            self.read_valid = o.rec_re && !(i.arm_valid && i.arm_slot == pick);
        }
        if o.rec_re {
            self.read = pick;
            set(&mut self.walk, pick, false);
            self.walking = self.walk != Bits::ZERO;
        }
    }

    /// A timer on its way into a spoke.
    fn put(&mut self, i: &Inputs, o: &Outputs, moves: bool) {
        self.kept_valid = self.put_valid;
        if self.put_valid {
            self.known.set(usize::from(self.spoke), true);
            self.kept_spoke = self.spoke;
            self.kept = o.spoke_wdata.timers;
        }
        self.put_valid = i.arm_valid || moves;
        if self.put_valid {
            self.put = if i.arm_valid { i.arm_slot } else { self.read };
        }
    }

    /// Timers that start and stop.
    fn mark(&mut self, i: &Inputs) {
        if i.cancel_valid {
            let was = self.armed.replace(usize::from(i.cancel_slot), false);
            self.running = self.running.wrapping_sub(u16::from(was)) & 0x7ff;
        }
        if i.arm_valid {
            let was = self.armed.replace(usize::from(i.arm_slot), true);
            self.running = self.running.wrapping_add(u16::from(!was)) & 0x7ff;
        }
    }
}

/// Spokes of all wheels of a build.
pub fn spokes(sizes: &Sizes) -> u32 {
    if sizes.slots > 64 { 8 << 6 } else { 12 << 4 }
}

/// The lowest timer of a spoke that is not empty.
fn lowest(bits: &Bits) -> u16 {
    let word = bits.0.iter().position(|w| *w != 0).unwrap_or(0);
    (64 * word) as u16 + (bits.0[word].trailing_zeros() & 63) as u16
}

fn set(bits: &mut Bits, at: u16, to: bool) {
    let (word, bit) = (usize::from(at / 64), at % 64);
    bits.0[word] = bits.0[word] & !(1 << bit) | u64::from(to) << bit;
}
