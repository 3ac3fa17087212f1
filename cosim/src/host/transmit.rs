//! The host's transmit side: what is due, the transmit buffer, and each transfer's exact time.
//!
//! Times are absolute, in units of this direction: `rate` of them are a clock. A transfer enters
//! the buffer in the clock in which it is due, or in the first one with room, in the order in which
//! transfers are due. It begins at the exact end of the one before it, and one that waited for room
//! at the NIC at the start of the clock in which the NIC told of it.

use std::collections::{BTreeMap, VecDeque};

use rtl_model::image::Wide;
use rtl_model::types::{BYTE_UNITS, TlpBeat};
use serde::{Deserialize, Serialize};

use super::{HostConfig, LinkCounts, LinkEvent, Moment, Room};
use crate::tlp::Header;

/// Data bytes of a beat.
pub const BEAT: usize = 128;

/// A transfer on its way to the NIC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outgoing {
    /// Header.
    pub header: Header,
    /// Payload, pad bytes of its DWs included.
    pub data: Vec<u8>,
    /// Payload bytes that cost time.
    pub bytes: u64,
    /// The read whose last completion this is.
    pub last_of: Option<(u64, u32)>,
}

impl Outgoing {
    /// What it takes of a buffer.
    pub(super) fn room(&self) -> Room {
        Room::of_payload((self.data.len() as u64).div_ceil(4))
    }
}

/// The transmit side.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Transmit {
    /// By the time from which each may start, then in the order in which they came.
    due: BTreeMap<(u128, u64), Outgoing>,
    sequence: u64,
    /// In the transmit buffer, with the time from which each may start.
    buffer: VecDeque<(u128, Outgoing)>,
    /// What the buffer holds, transfers on the link included.
    used: Room,
    /// When a transfer on the link gives its room back.
    leaving: VecDeque<(u64, Room)>,
    /// What the NIC's receive buffer holds, transfers on the link included.
    far: Room,
    /// The oldest transfer could start but for room at the NIC.
    held_up: bool,
    beats: VecDeque<(u64, TlpBeat)>,
    /// What those beats will take in the NIC's receive buffer.
    flying: Room,
    /// Exact end of the last transfer.
    free: u128,
    /// Clock of the last beat that ended a transfer.
    ended: u64,
    /// What has been sent.
    pub sent: LinkCounts,
    /// Clocks in which a transfer waited for room in this buffer, and in the NIC's.
    pub waited: [u64; 2],
}

impl Transmit {
    /// Lets a transfer start from a time on.
    pub fn push(&mut self, from: u128, tlp: Outgoing) {
        self.due.insert((from, self.sequence), tlp);
        self.sequence += 1;
    }

    /// The NIC tells that room in its receive buffer is free again.
    pub fn freed(&mut self, room: Room) {
        self.far -= room;
    }

    /// The beat that the NIC gets in `clock`, at most one.
    pub fn beat(&mut self, clock: u64) -> Option<TlpBeat> {
        if self.beats.front()?.0 > clock {
            return None;
        }
        let beat = self.beats.pop_front()?.1;
        self.flying -= Room::of_beat(&beat);
        Some(beat)
    }

    /// Nothing is on its way.
    pub fn quiet(&self) -> bool {
        self.due.is_empty() && self.buffer.is_empty() && self.beats.is_empty()
    }

    /// What the transmit buffer holds.
    pub fn used(&self) -> Room {
        self.used
    }

    /// What is on its way to the NIC.
    pub fn flying(&self) -> Room {
        self.flying
    }

    /// What the NIC's receive buffer holds, as far as the host knows.
    pub fn far(&self) -> Room {
        self.far
    }

    /// What waits, for a run that does not end.
    pub fn waits(&self, config: &HostConfig) -> Option<String> {
        let (used, size) = (self.far, config.nic_receive);
        let waiting = self.due.len() + self.buffer.len();
        (waiting > 0).then(|| {
            format!(
                "{waiting} transfers from the host wait; the NIC's receive buffer holds {} of {} \
                 headers and {} of {} × 16 B",
                used.headers, size.headers, used.data, size.data
            )
        })
    }

    /// Fills the buffer and starts what can start by `clock`.
    pub fn run(&mut self, clock: u64, config: &HostConfig, events: &mut Vec<LinkEvent>) {
        let rate = u128::from(config.rate);
        let now = u128::from(clock) * rate;
        while let Some(&(at, room)) = self.leaving.front()
            && at <= clock
        {
            self.leaving.pop_front();
            self.used -= room;
        }
        loop {
            self.fill(now, config);
            let Some((from, tlp)) = self.buffer.front() else { break };
            if self.free > now {
                break;
            }
            let far = self.far + tlp.room();
            if !config.nic_receive.holds(far) {
                self.held_up = true;
                break;
            }
            let start = if self.held_up { now } else { self.free.max(*from) };
            self.held_up = false;
            self.far = far;
            let Some((from, tlp)) = self.buffer.pop_front() else { break };
            self.begin(start.max(from), &tlp, config, events);
        }
        self.waited[0] += u64::from(self.due.first_key_value().is_some_and(|(k, _)| k.0 <= now));
        self.waited[1] += u64::from(self.held_up);
    }

    /// Moves what is due into the transmit buffer.
    fn fill(&mut self, now: u128, config: &HostConfig) {
        while let Some(entry) = self.due.first_entry() {
            let from = entry.key().0;
            let used = self.used + entry.get().room();
            if from > now || !config.transmit.holds(used) {
                break;
            }
            self.used = used;
            // One that had to wait for room starts with a clock.
            let late = now - from >= u128::from(config.rate);
            self.buffer.push_back((if late { now } else { from }, entry.remove()));
        }
    }

    /// Gives a transfer its exact place on the link: its last beat comes in the first clock at or
    /// after its end. At most one transfer ends a clock.
    fn begin(
        &mut self,
        start: u128,
        tlp: &Outgoing,
        config: &HostConfig,
        events: &mut Vec<LinkEvent>,
    ) {
        let rate = u128::from(config.rate);
        let cost = u128::from(tlp.bytes + config.overhead) * u128::from(BYTE_UNITS);
        let end = start + cost;
        let first = (start / rate) as u64 + 1;
        let clock = (end.div_ceil(rate) as u64).max(self.ended + 1).max(first);
        self.free = end.max(u128::from(clock - 1) * rate + 1);
        self.ended = clock;
        self.leaving.push_back((clock, tlp.room()));
        self.sent.add(tlp.bytes, tlp.bytes + config.overhead);
        if let Some((addr, len)) = tlp.last_of {
            let back = (u128::from(clock) * rate).saturating_sub(end) as u64;
            let end = Moment { clock, back, rate: config.rate };
            events.push(LinkEvent::Completed { end, addr, len });
        }
        self.lay_out(clock, tlp);
    }

    /// The beats: the last one in the clock `end`, the others two clocks apart before it.
    fn lay_out(&mut self, end: u64, tlp: &Outgoing) {
        let beats = tlp.data.len().div_ceil(BEAT).max(1);
        let [a, b, c, d] = tlp.header.map(u64::from);
        for at in 0..beats {
            let bytes = &tlp.data[at * BEAT..tlp.data.len().min((at + 1) * BEAT)];
            let after = (beats - 1 - at) as u64;
            let beat = TlpBeat {
                sop: at == 0,
                eop: after == 0,
                hdr: Wide([b << 32 | a, d << 32 | c]),
                dws: bytes.len().div_ceil(4) as u8,
                data: Wide::from_bytes(bytes),
            };
            self.flying += Room::of_beat(&beat);
            self.beats.push_back((end - (2 * after).saturating_sub(1), beat));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 lanes of 31.52 Gbps, in units a clock.
    const RATE: u64 = 504_320;

    fn config() -> HostConfig {
        let room = Room { headers: 1_000, data: 16_000 };
        HostConfig {
            rate: RATE,
            nic_rate: RATE,
            rcb: 128,
            max_payload: 512,
            overhead: 34,
            nic_costs: [34, 64],
            latency: 0,
            disorder: 0,
            transmit: room,
            receive: room,
            nic_receive: room,
            drain: 0,
            drain_stops: u64::MAX,
        }
    }

    /// Clocks of the last beats of so many transfers of one length, all due at the start of clock
    /// 1; the NIC frees room as soon as a transfer has arrived.
    fn ends(len: usize, count: u64, config: &HostConfig) -> Vec<u64> {
        let mut transmit = Transmit::default();
        let tlp = Outgoing { header: [0; 4], data: vec![0; len], bytes: len as u64, last_of: None };
        let (mut pushed, mut out) = (0, Vec::new());
        for clock in 1.. {
            while pushed < count && transmit.due.len() < 4 {
                transmit.push(RATE.into(), tlp.clone());
                pushed += 1;
            }
            transmit.run(clock, config, &mut Vec::new());
            if transmit.beat(clock).is_some_and(|beat| beat.eop) {
                out.push(clock);
                transmit.freed(tlp.room());
            }
            if out.len() as u64 == count {
                break;
            }
        }
        out
    }

    #[test]
    fn pci_2_a_million_of_30_64_92_and_512_bytes_to_the_nic_lose_no_time() {
        for len in [30, 64, 92, 512] {
            let mut exact = u128::from(RATE);
            for end in ends(len, 1_000_000, &config()) {
                exact += (len as u128 + 34) * 8_000;
                assert_eq!(u128::from(end), exact.div_ceil(RATE.into()), "{len} B");
            }
        }
    }

    /// At most one transfer ends a clock.
    #[test]
    fn pci_2_29_bytes_to_the_nic_run_at_one_a_clock() {
        for len in [29, 1, 0] {
            let ends = ends(len, 1_000, &config());
            assert!(ends.windows(2).all(|w| w[1] == w[0] + 1), "{len} B");
        }
    }

    /// Room for one transfer, here or at the NIC: the next begins with the clock in which there is
    /// some.
    #[test]
    fn pci_4_a_transfer_without_room_waits() {
        let one = Room { headers: 1, data: 32 };
        let here = HostConfig { transmit: one, ..config() };
        let there = HostConfig { nic_receive: one, ..config() };
        // 546 B take 8.66 clocks. Here: free at the start of the clock in which the last beat comes.
        // There: told in that clock, and seen in the next.
        for (config, gap) in [(here, 9), (there, 10)] {
            let ends = ends(512, 100, &config);
            assert!(ends.windows(2).all(|w| w[1] == w[0] + gap), "{ends:?}");
        }
    }
}
