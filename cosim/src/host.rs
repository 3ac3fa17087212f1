//! A host: memory, the host-to-NIC side of the PCIe link, doorbells and the completion ring.
//!
//! One implementation feeds both twins; it sees only what the golden NIC puts on its ports. A
//! completion starts on the link at the exact end of its request, or when the link is free.

use std::collections::VecDeque;

use rtl_model::image::Wide;
use rtl_model::types::{BYTE_UNITS, TlpBeat};
use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use crate::tlp::{self, Completion, Header, Tlp};

/// Protocol bytes of a transfer beside its payload (PCI-3).
pub const OVERHEAD: u64 = 34;
/// Bytes that a read request costs beside that (PCI-3).
const READ_REQUEST: u64 = 64;
/// Data bytes of a beat.
const BEAT: usize = 128;

/// How a host's side of the link is set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HostConfig {
    /// Units a clock of the host-to-NIC direction.
    pub rate: u64,
    /// Units a clock of the NIC-to-host direction, in which the NIC's remainders count.
    pub nic_rate: u64,
    /// Read completion boundary, 64 or 128.
    pub rcb: u64,
    /// Clocks from a request's end to its completion's start.
    pub latency: u64,
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

/// A TLP that waits for the host-to-NIC direction.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Waiting {
    header: Header,
    data: Vec<u8>,
    /// Units of link time.
    cost: u128,
    /// Absolute time from which it may start, in units of this direction.
    from: u128,
    /// The read whose last completion this is.
    last_of: Option<(u64, u32)>,
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
}

/// What has gone over one direction of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// TLPs.
    pub transfers: u64,
    /// Bytes of payload.
    pub payload: u64,
    /// Bytes of link time.
    pub bytes: u64,
}

impl LinkCounts {
    /// One more TLP; `request` is what a read costs beside the overhead of every TLP.
    fn add(&mut self, payload: u64, request: u64) {
        self.transfers += 1;
        self.payload += payload;
        self.bytes += payload + request + OVERHEAD;
    }
}

/// The host of one NIC.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Its memory.
    pub memory: Memory,
    /// Counts.
    pub counts: HostCounts,
    /// What the NIC has sent.
    pub taken: LinkCounts,
    /// What was sent to the NIC.
    pub given: LinkCounts,
    /// Settings.
    pub config: HostConfig,
    /// What happened since this was last emptied.
    pub events: Vec<LinkEvent>,
    /// Writes that came since this was last emptied, first byte and length.
    pub written: Vec<(u64, u32)>,
    beats: VecDeque<(u64, TlpBeat)>,
    /// Exact end of the last transfer, in units.
    free: u128,
    /// Clock of the last beat that ended a TLP.
    ended: u64,
    /// The TLP that is arriving.
    arriving: Option<(Header, Vec<u8>)>,
}

impl Host {
    /// A host with empty memory.
    pub fn new(config: HostConfig) -> Self {
        Self {
            memory: Memory::default(),
            counts: HostCounts::default(),
            taken: LinkCounts::default(),
            given: LinkCounts::default(),
            config,
            events: Vec::new(),
            written: Vec::new(),
            beats: VecDeque::new(),
            free: 0,
            ended: 0,
            arriving: None,
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
        self.queue(&Waiting { header, cost: cost(data.len()), data, from, last_of: None });
    }

    /// Nothing waits and nothing arrives.
    pub fn quiet(&self) -> bool {
        self.beats.is_empty() && self.arriving.is_none()
    }

    /// The beat that the NIC gets in `clock`, at most one.
    pub fn beat(&mut self, clock: u64) -> Option<TlpBeat> {
        if self.beats.front()?.0 > clock {
            return None;
        }
        self.beats.pop_front().map(|b| b.1)
    }

    /// Takes a beat that the NIC put on the link in `clock`; `back` counts on its last beat.
    ///
    /// # Panics
    /// Never: a TLP ends only after it has begun.
    pub fn take(&mut self, clock: u64, beat: &TlpBeat, back: u64) {
        if beat.sop {
            let header = [
                beat.hdr.0[0] as u32,
                (beat.hdr.0[0] >> 32) as u32,
                beat.hdr.0[1] as u32,
                (beat.hdr.0[1] >> 32) as u32,
            ];
            self.arriving = Some((header, Vec::with_capacity(tlp::MAX_PAYLOAD as usize)));
        }
        let Some((_, data)) = &mut self.arriving else {
            self.counts.unknown += 1;
            return;
        };
        let mut bytes = [0; BEAT];
        beat.data.to_bytes(&mut bytes);
        data.extend_from_slice(&bytes[..usize::from(beat.dws) * 4]);
        if beat.eop {
            let (header, data) = self.arriving.take().expect("just seen");
            match tlp::parse(&header) {
                Tlp::Read { .. } => self.taken.add(0, READ_REQUEST),
                Tlp::Write { len, .. } => self.taken.add(len.into(), 0),
                Tlp::Other => self.taken.add(data.len() as u64, 0),
            }
            self.arrived(Moment { clock, back, rate: self.config.nic_rate }, &header, &data);
        }
    }

    /// Takes a completion entry that costs no link time (PCI-6).
    pub fn take_cqe(&mut self, clock: u64, header: &Header, data: &[u8]) {
        self.arrived(Moment { clock, back: 0, rate: self.config.nic_rate }, header, data);
    }

    fn arrived(&mut self, end: Moment, header: &Header, data: &[u8]) {
        match tlp::parse(header) {
            Tlp::Read { addr, len, tag, requester } => {
                self.events.push(LinkEvent::Read { end, addr, len });
                self.answer(end, &Completion { addr, len, left: len, status: 0, tag, requester });
            }
            Tlp::Write { addr, len } if self.memory.mapped(addr, u64::from(len)) => {
                let skip = (addr & 3) as usize;
                self.memory.write(addr, &data[skip..skip + len as usize]);
                self.counts.writes += 1;
                self.counts.bytes_written += u64::from(len);
                self.events.push(LinkEvent::Written { end, addr, len });
                self.written.push((addr, len));
            }
            Tlp::Write { .. } => self.counts.stray_writes += 1,
            Tlp::Other => self.counts.unknown += 1,
        }
    }

    /// Answers a read, from the exact end of its request on.
    fn answer(&mut self, end: Moment, read: &Completion) {
        let rate = u128::from(self.config.rate);
        // Where the two directions' rates differ, a remainder is rounded down to a whole unit of
        // this direction: the completion starts later by less than one unit.
        let back = u128::from(end.back) * rate / u128::from(end.rate);
        let from = (u128::from(end.clock + self.config.latency) * rate).saturating_sub(back);
        if !self.memory.mapped(read.addr, u64::from(read.len)) {
            self.counts.stray_reads += 1;
            let header = tlp::completion(&Completion { len: 0, left: 0, status: 1, ..*read });
            self.queue(&Waiting { header, data: vec![], cost: cost(0), from, last_of: None });
            return;
        }
        self.counts.reads += 1;
        let (mut addr, mut left) = (read.addr, read.len);
        for len in tlp::completion_lengths(read.addr, read.len, self.config.rcb) {
            let header = tlp::completion(&Completion { addr, len, left, ..*read });
            let pad = (addr & 3) as usize;
            let mut data = vec![0; tlp::dws(addr, len) as usize * 4];
            self.memory.read(addr, &mut data[pad..pad + len as usize]);
            let cost = cost(len as usize);
            addr += u64::from(len);
            left -= len;
            let last_of = (left == 0).then_some((read.addr, read.len));
            self.queue(&Waiting { header, data, cost, from, last_of });
        }
    }

    /// Gives a TLP its exact place on the link and lays out its beats: the last in the first clock
    /// at or after its end, the others two clocks apart before it. At most one TLP ends a clock.
    fn queue(&mut self, tlp: &Waiting) {
        self.given.add((tlp.cost / u128::from(BYTE_UNITS)) as u64 - OVERHEAD, 0);
        let rate = u128::from(self.config.rate);
        let end = self.free.max(tlp.from) + tlp.cost;
        let first = (tlp.from / rate) as u64 + 1;
        let clock = (end.div_ceil(rate) as u64).max(self.ended + 1).max(first);
        self.free = end.max(u128::from(clock - 1) * rate + 1);
        self.ended = clock;
        if let Some((addr, len)) = tlp.last_of {
            let back = (u128::from(clock) * rate).saturating_sub(end) as u64;
            let end = Moment { clock, back, rate: self.config.rate };
            self.events.push(LinkEvent::Completed { end, addr, len });
        }
        self.lay_out(clock, tlp);
    }

    fn lay_out(&mut self, end: u64, tlp: &Waiting) {
        let beats = tlp.data.len().div_ceil(BEAT).max(1);
        let header = tlp.header;
        for at in 0..beats {
            let bytes = &tlp.data[at * BEAT..tlp.data.len().min((at + 1) * BEAT)];
            let after = (beats - 1 - at) as u64;
            let beat = TlpBeat {
                sop: at == 0,
                eop: after == 0,
                hdr: Wide([
                    u64::from(header[1]) << 32 | u64::from(header[0]),
                    u64::from(header[3]) << 32 | u64::from(header[2]),
                ]),
                dws: bytes.len().div_ceil(4) as u8,
                data: Wide::from_bytes(bytes),
            };
            self.beats.push_back((end - (2 * after).saturating_sub(1), beat));
        }
    }
}

/// Link time of a transfer with that much payload, in units (PCI-3).
fn cost(len: usize) -> u128 {
    (len as u128 + u128::from(OVERHEAD)) * u128::from(BYTE_UNITS)
}
