//! A switch's port to one NIC: queues, exact pacing, and the wire behind it.
//!
//! A frame that nothing holds up passes straight: each beat arrives a Delay after it left its
//! NIC. Any other frame is stored whole. It ends on the downlink at the later of the moment at
//! which it was there to be sent and the moment at which the downlink had time for all of it; it
//! arrives a Delay after that. Pause frames go first, then control, trimmed, all else.

use std::collections::{BTreeMap, VecDeque};

use rtl_model::types::{BYTE_UNITS, Beat};
use serde::{Deserialize, Serialize};

use super::frame;
use crate::host::Moment;
use crate::wire::{Wire, WireBeat};

/// Queues: all else, trimmed, control.
const QUEUES: usize = 3;
/// Clocks between the start of a frame and its first beat, at most.
const LEAD: u64 = 2;
/// Bits of a pause's unit.
const QUANTUM_BITS: u64 = 512;

/// How a downlink is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownlinkSettings {
    /// Units a clock.
    pub rate: u64,
    /// Clocks from a frame's end to its arrival, for what the switch itself sends.
    pub delay: u64,
    /// Bytes of data that can wait; a retransmission may use half as much again.
    pub buffer: Option<u64>,
    /// Bytes that wait from which on data is marked.
    pub mark: Option<u64>,
    /// Pause frames of the NIC pause this port; else they pass to the other NICs.
    pub pausable: bool,
}

/// A whole frame on its way through the switch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stored {
    /// Index of the NIC that sent it; of its receiver where none has.
    pub from: usize,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// From when on it may be sent.
    pub ready: Moment,
    /// Clocks from its end on the downlink to its arrival.
    pub delay: u64,
}

/// What a queue did to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Queued {
    /// It waits.
    Waits,
    /// It waits, marked.
    Marked,
    /// It waits, cut down to its headers.
    Trimmed,
    /// There was no room.
    Dropped,
}

/// The port to one NIC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Downlink {
    settings: DownlinkSettings,
    /// On its way to the NIC.
    wire: Wire,
    queues: [VecDeque<Stored>; QUEUES],
    /// Pause frames of the switch.
    urgent: VecDeque<Stored>,
    /// Bytes of data in the queues.
    waiting: u64,
    /// Frames with an extra delay, by the clock in which they go on.
    later: BTreeMap<(u64, u64), Stored>,
    /// Frames that others pass: how many still, and the clock in which they go on anyway.
    behind: Vec<(u64, u64, Stored)>,
    serial: u64,
    /// A frame is passing straight.
    straight: bool,
    /// So did the last one, of this NIC: another one of it is behind it on its own link.
    level: Option<usize>,
    /// Exact end of the last frame, in units.
    free: u128,
    /// Until when each class is paused.
    paused: [u64; 8],
    /// Pauses on their way to the switch: clock, classes, times.
    pauses: VecDeque<(u64, u8, [u16; 8])>,
}

impl Downlink {
    /// Nothing on its way.
    pub fn new(settings: DownlinkSettings) -> Self {
        Self {
            settings,
            wire: Wire::default(),
            queues: Default::default(),
            urgent: VecDeque::new(),
            waiting: 0,
            later: BTreeMap::new(),
            behind: Vec::new(),
            serial: 0,
            straight: false,
            level: None,
            free: 0,
            paused: [0; 8],
            pauses: VecDeque::new(),
        }
    }

    /// Nothing is on its way to the NIC, and no pause to this port.
    pub fn quiet(&self) -> bool {
        self.wire.quiet() && !self.holds() && self.pauses.is_empty()
    }

    fn holds(&self) -> bool {
        self.queued() || !self.later.is_empty() || !self.behind.is_empty()
    }

    fn queued(&self) -> bool {
        !self.urgent.is_empty() || self.queues.iter().any(|q| !q.is_empty())
    }

    /// The next clock in which something happens here; `u64::MAX` for never.
    pub fn due(&self) -> u64 {
        let later = self.later.keys().next().map_or(u64::MAX, |key| key.0);
        let behind = self.behind.iter().map(|b| b.1).min().unwrap_or(u64::MAX);
        let pause = self.pauses.front().map_or(u64::MAX, |p| p.0);
        let queue = if self.queued() { 0 } else { u64::MAX };
        self.wire.due().min(later).min(behind).min(pause).min(queue)
    }

    /// The beat that arrives in `clock`.
    pub fn take(&mut self, clock: u64) -> Option<WireBeat> {
        self.wire.take(clock)
    }

    /// Whether a frame of `from` at `rate` whose first beat comes in `clock` may pass straight:
    /// nothing is before it on the downlink or the wire.
    pub fn is_free(&self, clock: u64, rate: u64, delay: u64, from: usize) -> bool {
        let ended = self.free <= u128::from(clock.saturating_sub(LEAD)) * self.rate();
        let open = !self.straight && !self.queued() && self.paused.iter().all(|p| *p <= clock);
        let later = self.wire.last() < clock + delay;
        open && later && rate <= self.settings.rate && (self.level == Some(from) || ended)
    }

    fn rate(&self) -> u128 {
        u128::from(self.settings.rate)
    }

    /// A moment in units of this downlink; a remainder is rounded to the next whole unit.
    fn units(&self, at: &Moment) -> u128 {
        let back = u128::from(at.back) * self.rate() / u128::from(at.rate);
        (u128::from(at.clock) * self.rate()).saturating_sub(back)
    }

    /// One beat of a frame of `from` that passes straight, with the moment of its end.
    pub fn pass(&mut self, beat: WireBeat, end: &Moment, delay: u64, from: usize) {
        self.straight = !beat.eop;
        self.wire.put(end.clock + delay, beat);
        if beat.eop {
            self.level = Some(from);
            self.free = self.units(end);
            self.passed();
        }
    }

    /// One more frame has gone past those that wait to be passed.
    fn passed(&mut self) {
        for (left, ..) in &mut self.behind {
            *left = left.saturating_sub(1);
        }
    }

    /// A frame that goes on `clocks` later.
    pub fn delay(&mut self, mut stored: Stored, clocks: u64) {
        stored.ready.clock += clocks;
        self.serial += 1;
        self.later.insert((stored.ready.clock, self.serial), stored);
    }

    /// A frame that goes on once `frames` others have, or `wait` clocks later.
    pub fn reorder(&mut self, stored: Stored, frames: u64, wait: u64) {
        let until = stored.ready.clock + wait;
        self.behind.push((frames, until, stored));
    }

    /// A pause frame of the switch.
    pub fn pause(&mut self, clock: u64, to: usize, bytes: Vec<u8>) {
        let stored = self.own(clock, to, bytes);
        self.urgent.push_back(stored);
    }

    /// A frame that no NIC has sent.
    pub fn inject(&mut self, clock: u64, to: usize, bytes: Vec<u8>) {
        let stored = self.own(clock, to, bytes);
        self.admit(stored);
    }

    fn own(&self, clock: u64, to: usize, bytes: Vec<u8>) -> Stored {
        let (delay, rate) = (self.settings.delay, self.settings.rate);
        Stored { from: to, bytes, ready: Moment { clock, back: 0, rate }, delay }
    }

    /// A pause frame of the NIC, which arrives here at `clock`.
    pub fn paused_by(&mut self, clock: u64, bytes: &[u8]) {
        let (classes, times) = frame::pause_of(bytes);
        self.pauses.push_back((clock, classes, times));
    }

    /// Puts a frame into its queue; data that finds no room is trimmed or dropped.
    pub fn admit(&mut self, mut stored: Stored) -> Queued {
        let mut done = Queued::Waits;
        let kind = frame::Kind::of(&stored.bytes);
        if frame::queue(&stored.bytes) == 0 && kind.is_data() {
            let len = stored.bytes.len() as u64;
            let more = if frame::trimmable_again(&stored.bytes) { 3 } else { 2 };
            let limit = self.settings.buffer.map_or(u64::MAX, |b| b.saturating_mul(more) / 2);
            if self.waiting + len > limit {
                if !frame::trimmable(&stored.bytes) {
                    return Queued::Dropped;
                }
                stored.bytes = frame::trimmed(&stored.bytes, true);
                done = Queued::Trimmed;
            } else if self.settings.mark.is_some_and(|m| self.waiting >= m)
                && frame::markable(&stored.bytes)
            {
                stored.bytes = frame::marked(&stored.bytes);
                done = Queued::Marked;
            }
        }
        let queue = frame::queue(&stored.bytes);
        if queue == 0 {
            self.waiting += stored.bytes.len() as u64;
        }
        self.queues[queue].push_back(stored);
        done
    }

    /// Frames whose time has come go into their queues, and the next one onto the wire. Gives what
    /// the queues did to them.
    pub fn step(&mut self, clock: u64, mut told: impl FnMut(usize, &[u8], Queued)) {
        while let Some((at, classes, times)) = self.pauses.front().copied().filter(|p| p.0 <= clock)
        {
            self.pauses.pop_front();
            self.hold(at, classes, &times);
        }
        if self.holds() {
            self.release(clock, &mut told);
            while !self.straight && self.free < u128::from(clock + 1) * self.rate() {
                let Some(stored) = self.next(clock) else { break };
                self.send(clock, &stored);
            }
        }
    }

    /// PFC-4 at the switch: the classes are held for as long as the frame says, and the Delay.
    fn hold(&mut self, clock: u64, classes: u8, times: &[u16; 8]) {
        let quantum = QUANTUM_BITS / 8 * BYTE_UNITS;
        for (class, time) in times.iter().enumerate().filter(|(class, _)| classes >> class & 1 == 1)
        {
            let clocks = (u64::from(*time) * quantum).div_ceil(self.settings.rate);
            self.paused[class] =
                if *time == 0 { clock } else { clock + clocks + self.settings.delay };
        }
    }

    fn release(&mut self, clock: u64, told: &mut impl FnMut(usize, &[u8], Queued)) {
        while let Some(entry) = self.later.first_entry().filter(|e| e.key().0 <= clock) {
            let stored = entry.remove();
            self.take_in(stored, told);
        }
        while let Some(at) = self.behind.iter().position(|b| b.0 == 0 || b.1 <= clock) {
            let (_, _, mut stored) = self.behind.remove(at);
            stored.ready = Moment { clock, back: 0, rate: self.settings.rate };
            self.take_in(stored, told);
        }
    }

    fn take_in(&mut self, stored: Stored, told: &mut impl FnMut(usize, &[u8], Queued)) {
        let (from, bytes) = (stored.from, stored.bytes.clone());
        let done = self.admit(stored);
        told(from, &bytes, done);
    }

    /// The frame whose turn it is.
    fn next(&mut self, clock: u64) -> Option<Stored> {
        if let Some(stored) = self.urgent.pop_front() {
            return Some(stored);
        }
        for queue in (0..QUEUES).rev() {
            if self.paused[class(queue)] > clock {
                continue;
            }
            if let Some(stored) = self.queues[queue].pop_front() {
                if queue == 0 {
                    self.waiting -= stored.bytes.len() as u64;
                }
                return Some(stored);
            }
        }
        None
    }

    /// Gives a frame its exact place on the downlink and lays out its beats.
    fn send(&mut self, clock: u64, stored: &Stored) {
        let cost = stored.bytes.len() as u128 * u128::from(BYTE_UNITS);
        let resumed = self.paused[class(frame::queue(&stored.bytes))];
        let begun = self.free.max(u128::from(resumed) * self.rate());
        let end = (begun + cost).max(self.units(&stored.ready));
        self.free = end;
        self.level = None;
        self.lay_out(clock, end.div_ceil(self.rate()) as u64 + stored.delay, &stored.bytes);
        self.passed();
    }

    /// The last beat in the clock of the arrival, the others two clocks apart before it; later
    /// where the Delay is too short for that.
    fn lay_out(&mut self, clock: u64, arrival: u64, bytes: &[u8]) {
        let beats = bytes.len().div_ceil(128).max(1) as u64;
        let mut at = self.wire.last().max(clock);
        for n in 0..beats {
            let part = &bytes[n as usize * 128..bytes.len().min((n as usize + 1) * 128)];
            let eop = n == beats - 1;
            let gap = if n == 0 || eop { 1 } else { 2 };
            at = (arrival - 2 * (beats - 1 - n).min(arrival / 2)).max(at + gap);
            let beat = WireBeat {
                sop: n == 0,
                eop,
                bytes: part.len() as u8,
                data: Beat::from_bytes(part),
            };
            self.wire.put(at, beat);
        }
    }
}

/// The NIC's class of a queue: control and trimmed frames are of class 1 (PKT-4).
fn class(queue: usize) -> usize {
    usize::from(queue > 0)
}
