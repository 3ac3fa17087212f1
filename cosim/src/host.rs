//! A host: memory, its end of the PCIe link, doorbells and the completion ring.
//!
//! One implementation feeds both twins; it sees only what the golden NIC puts on its ports.
//!
//! PCI-4: a transfer from the NIC stands in the receive buffer until the host takes it, at once or
//! `drain` clocks later, in the order of arrival; then its room is told to the NIC as free, memory
//! is written or the read is answered. A read leaves the receive buffer though its completions may
//! wait for the transmit buffer: so writes are never held up by reads. PCI-1: a completion may
//! start at the exact end of its request, `latency` clocks later, and up to `disorder` clocks more,
//! drawn for each completion; those of one read keep their order.

mod answer;
mod room;
mod transmit;

use std::collections::{BTreeMap, VecDeque};

use rtl_model::rng::Rng;
use rtl_model::types::TlpBeat;
use serde::{Deserialize, Serialize};

pub use answer::{Read, Spoil};
pub use room::{Room, UNIT};
pub use transmit::{BEAT, Outgoing, Transmit};

use crate::memory::Memory;
use crate::tlp::{self, Header, Tlp};

/// How a host's side of the link is set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HostConfig {
    /// Units a clock of the host-to-NIC direction.
    pub rate: u64,
    /// Units a clock of the NIC-to-host direction, in which the NIC's remainders count.
    pub nic_rate: u64,
    /// Read completion boundary, 64 or 128.
    pub rcb: u64,
    /// Payload bytes of a completion at most (PCI-3).
    pub max_payload: u32,
    /// Bytes of time that a transfer costs beside its payload (PCI-3).
    pub overhead: u64,
    /// The same of the NIC's transfers, and what a read request costs beside it (PCI-3).
    pub nic_costs: [u64; 2],
    /// Clocks from a request's end to its completion's start.
    pub latency: u64,
    /// Clocks that a completion may be late beside that, drawn for each.
    pub disorder: u64,
    /// This end's transmit buffer.
    pub transmit: Room,
    /// This end's receive buffer.
    pub receive: Room,
    /// The NIC's receive buffer.
    pub nic_receive: Room,
    /// Clocks that a transfer stands in the receive buffer.
    pub drain: u64,
    /// From this clock on nothing leaves the receive buffer.
    pub drain_stops: u64,
}

/// What one direction has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Transfers.
    pub transfers: u64,
    /// Payload bytes.
    pub payload: u64,
    /// Bytes of time on the link: payload and overhead.
    pub bytes: u64,
}

impl LinkCounts {
    fn add(&mut self, payload: u64, cost: u64) {
        self.transfers += 1;
        self.payload += payload;
        self.bytes += cost;
    }
}

/// A TLP's place on the link: it has ended at the start of `clock`, less `back ÷ rate` clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The first clock at or after it.
    pub clock: u64,
    /// Units before the start of that clock.
    pub back: u64,
    /// Units of a clock.
    pub rate: u64,
}

/// What happened on the link, for the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkEvent {
    /// A read request has arrived.
    Read {
        /// Its end.
        end: Moment,
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u32,
    },
    /// The last completion of a read has left.
    Completed {
        /// Its end.
        end: Moment,
        /// First byte of the read.
        addr: u64,
        /// Bytes of the read.
        len: u32,
    },
    /// A write has arrived.
    Written {
        /// Its end.
        end: Moment,
        /// First byte.
        addr: u64,
        /// Bytes.
        len: u32,
    },
}

/// Counts of what a NIC should not have done, and of the link's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounts {
    /// Reads answered.
    pub reads: u64,
    /// Writes taken.
    pub writes: u64,
    /// Payload bytes written by the NIC.
    pub bytes_written: u64,
    /// Reads outside the regions, answered with Unsupported Request.
    pub stray_reads: u64,
    /// Writes outside the regions, dropped.
    pub stray_writes: u64,
    /// TLPs that are neither a read nor a write.
    pub unknown: u64,
    /// Reads answered wrongly, late or never, on request, by `Spoil::kind`.
    pub spoiled: [u64; 8],
    /// What the NIC has sent.
    pub from_nic: LinkCounts,
}

/// A transfer that stands in the receive buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Received {
    /// The clock in which it is taken.
    due: u64,
    end: Moment,
    header: Header,
    data: Vec<u8>,
    /// Nothing for a CQE that was off the link.
    room: Room,
}

/// The host of one NIC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Its memory.
    pub memory: Memory,
    /// Counts.
    pub counts: HostCounts,
    /// Settings.
    pub config: HostConfig,
    /// What happened since this was last emptied.
    pub events: Vec<LinkEvent>,
    /// Writes that came since this was last emptied, first byte and length.
    pub written: Vec<(u64, u32)>,
    /// Its transmit side.
    pub transmit: Transmit,
    /// How the next reads are to be answered, and which entry of the faults says so.
    pub spoils: VecDeque<(Spoil, usize)>,
    /// The TLP that is arriving.
    arriving: Option<(Header, Vec<u8>)>,
    received: VecDeque<Received>,
    used: Room,
    /// Room that has become free in this clock.
    freed: Room,
    /// Reads that were never answered, by tag.
    lost: BTreeMap<u8, Read>,
    rng: Rng,
}

impl Host {
    /// A host with empty memory.
    pub fn new(config: HostConfig, rng: Rng) -> Self {
        Self {
            memory: Memory::default(),
            counts: HostCounts::default(),
            config,
            events: Vec::new(),
            written: Vec::new(),
            transmit: Transmit::default(),
            spoils: VecDeque::new(),
            arriving: None,
            received: VecDeque::new(),
            used: Room::default(),
            freed: Room::default(),
            lost: BTreeMap::new(),
            rng,
        }
    }

    /// Queues a write to the NIC's pages at the start of `clock`.
    pub fn post(&mut self, clock: u64, addr: u64, bytes: &[u8]) {
        let header = tlp::write(addr, bytes.len() as u32);
        self.send_raw(clock, header, bytes.to_vec());
    }

    /// Queues any TLP at the start of `clock`, for scenarios in which the host misbehaves.
    pub fn send_raw(&mut self, clock: u64, header: Header, data: Vec<u8>) {
        let from = u128::from(clock) * u128::from(self.config.rate);
        let bytes = data.len() as u64;
        self.transmit.push(from, Outgoing { header, data, bytes, last_of: None });
    }

    /// Nothing moves here, nor will.
    pub fn quiet(&self) -> bool {
        let stands = self.received.front().is_none_or(|r| r.due == u64::MAX);
        self.transmit.quiet() && self.arriving.is_none() && stands
    }

    /// What the receive buffer holds.
    pub fn used(&self) -> Room {
        self.used
    }

    /// Room of the receive buffer that the NIC is told of in this clock.
    pub fn take_freed(&mut self) -> Room {
        std::mem::take(&mut self.freed)
    }

    /// Lets start what can start, and gives the beat that the NIC gets in `clock`, at most one.
    pub fn beat(&mut self, clock: u64) -> Option<TlpBeat> {
        self.transmit.run(clock, &self.config, &mut self.events);
        self.transmit.beat(clock)
    }

    /// What waits, for a run that does not end.
    pub fn waits(&self) -> Vec<String> {
        let mut out: Vec<_> = self.transmit.waits(&self.config).into_iter().collect();
        for (tag, read) in &self.lost {
            out.push(format!("tag {tag}: {} B at {:#x}, never answered", read.len, read.addr));
        }
        if let Some(first) = self.received.front() {
            let until = if first.due == u64::MAX { "for ever" } else { "for a while" };
            out.push(format!(
                "{} transfers stand in the host's buffer {until}",
                self.received.len()
            ));
        }
        out
    }

    /// Takes a beat that the NIC put on the link in `clock`; `back` counts on its last beat.
    ///
    /// # Panics
    /// When the NIC overruns the receive buffer.
    pub fn take(&mut self, clock: u64, beat: &TlpBeat, back: u64) {
        if beat.sop {
            let [low, high] = beat.hdr.0;
            let header = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
            self.arriving = Some((header, Vec::with_capacity(tlp::MAX_PAYLOAD as usize)));
        }
        let Some((_, data)) = &mut self.arriving else {
            self.counts.unknown += 1;
            return;
        };
        let mut bytes = [0; BEAT];
        beat.data.to_bytes(&mut bytes);
        data.extend_from_slice(&bytes[..usize::from(beat.dws) * 4]);
        if beat.eop
            && let Some((header, data)) = self.arriving.take()
        {
            let room = Room::of_payload(data.len() as u64 / 4);
            self.used += room;
            assert!(self.config.receive.holds(self.used), "PCI-4: the host's buffer is overrun");
            let end = Moment { clock, back, rate: self.config.nic_rate };
            self.stand(end, header, data, room);
        }
    }

    /// Takes a completion entry that costs no link time (PCI-6), and no room.
    pub fn take_cqe(&mut self, clock: u64, header: &Header, data: &[u8]) {
        let end = Moment { clock, back: 0, rate: self.config.nic_rate };
        self.stand(end, *header, data.to_vec(), Room::default());
    }

    fn stand(&mut self, end: Moment, header: Header, data: Vec<u8>, room: Room) {
        let due = end.clock + self.config.drain;
        let due = if due >= self.config.drain_stops { u64::MAX } else { due };
        self.received.push_back(Received { due, end, header, data, room });
    }

    /// Takes what is due out of the receive buffer, after the beats of `clock`.
    pub fn drain(&mut self, clock: u64) {
        while self.received.front().is_some_and(|r| r.due <= clock) {
            let Some(r) = self.received.pop_front() else { break };
            self.used -= r.room;
            self.freed += r.room;
            self.arrived(&r);
        }
    }

    /// A transfer is taken.
    fn arrived(&mut self, transfer: &Received) {
        let Received { due, end, ref header, ref data, room } = *transfer;
        let [overhead, read_request] = self.config.nic_costs;
        match tlp::parse(header) {
            Tlp::Read { addr, len, tag, requester } => {
                self.counts.from_nic.add(0, read_request + overhead);
                self.events.push(LinkEvent::Read { end, addr, len });
                self.answer(Moment { clock: due, ..end }, &Read { addr, len, tag, requester });
            }
            Tlp::Write { addr, len } if self.memory.mapped(addr, u64::from(len)) => {
                let skip = (addr & 3) as usize;
                self.memory.write(addr, &data[skip..skip + len as usize]);
                self.counts.writes += 1;
                self.counts.bytes_written += u64::from(len);
                if room != Room::default() {
                    self.counts.from_nic.add(u64::from(len), u64::from(len) + overhead);
                }
                self.events.push(LinkEvent::Written { end, addr, len });
                self.written.push((addr, len));
            }
            Tlp::Write { .. } => self.counts.stray_writes += 1,
            Tlp::Other => self.counts.unknown += 1,
        }
    }

    /// Answers a read, from the exact end of its request on.
    fn answer(&mut self, end: Moment, read: &Read) {
        if !self.memory.mapped(read.addr, u64::from(read.len)) {
            self.counts.stray_reads += 1;
            self.send_at(&end, self.config.latency, vec![read.refused(UNSUPPORTED)]);
            return;
        }
        self.counts.reads += 1;
        let right = read.answer(&self.memory, self.config.max_payload, self.config.rcb);
        let fits = |spoil: &Spoil| *spoil != Spoil::Long || self.holds_longer(&right);
        let Some((spoil, _)) = self.spoils.front().copied().filter(|(spoil, _)| fits(spoil)) else {
            self.send_at(&end, self.config.latency, right);
            return;
        };
        self.spoils.pop_front();
        self.counts.spoiled[spoil.kind()] += 1;
        let spoiled = read.spoiled(right, spoil, &mut self.rng);
        match spoil {
            Spoil::Lost => {
                self.lost.insert(read.tag, *read);
            }
            Spoil::Late(clocks) => self.send_at(&end, self.config.latency + clocks, spoiled),
            _ => self.send_at(&end, self.config.latency, spoiled),
        }
    }

    /// Both buffers on the way hold the last of these with a DW more; what does not fit would stay
    /// for ever, and all behind it.
    fn holds_longer(&self, tlps: &[Outgoing]) -> bool {
        let Some(mut last) = tlps.last().cloned() else { return false };
        last.data.extend([0; 4]);
        self.config.transmit.holds(last.room()) && self.config.nic_receive.holds(last.room())
    }

    fn send_at(&mut self, end: &Moment, later: u64, tlps: Vec<Outgoing>) {
        let rate = u128::from(self.config.rate);
        // Where the two directions' rates differ, a remainder is rounded down to a whole unit of
        // this direction: the completion starts later by less than one unit.
        let back = u128::from(end.back) * rate / u128::from(end.rate);
        let mut from = (u128::from(end.clock + later) * rate).saturating_sub(back);
        for tlp in tlps {
            if self.config.disorder > 0 {
                from += u128::from(self.rng.below(self.config.disorder + 1)) * rate;
            }
            self.transmit.push(from, tlp);
        }
    }
}

/// The status of a completion for what is not there.
const UNSUPPORTED: u8 = 1;
