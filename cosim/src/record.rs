//! What a run leaves behind: `result.json`, `frames.pcapng`, and the tables of `records`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use rtl_model::types::Cqe;
use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::event::{Event, Sink};
use crate::host::{LinkEvent, Moment};
use crate::records::Records;
use crate::records::round_trips;
use crate::records::table::Format;
use crate::world::World;

/// Moments that `result.json` lists, from the first on.
const MOMENTS: usize = 4_096;

/// Failed to write a record.
#[derive(Debug, Error)]
#[error("failed to write {path}: {source}")]
pub struct RecordError {
    path: PathBuf,
    source: io::Error,
}

impl RecordError {
    /// A file that could not be written.
    pub fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), source }
    }
}

/// An exact number of nanoseconds, as a fraction in lowest terms.
pub fn exact_ns(moment: &Moment) -> String {
    let rate = u128::from(moment.rate);
    exact_ratio(u128::from(moment.clock) * rate - u128::from(moment.back), rate)
}

/// A fraction in lowest terms; a whole number as it is.
pub fn exact_ratio(num: u128, den: u128) -> String {
    let (mut a, mut b) = (num, den);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let (num, den) = (num / a.max(1), den / a.max(1));
    if den == 1 { num.to_string() } else { format!("{num}/{den}") }
}

/// Something with an exact end.
#[derive(Clone, Debug, Serialize)]
pub struct Timed {
    /// The NIC.
    pub nic: String,
    /// `read`, `completion`, `write` or `frame`.
    pub kind: &'static str,
    /// Address, or 0 for a frame.
    pub addr: u64,
    /// Bytes: of the read, the write, or the frame on the wire.
    pub bytes: u64,
    /// The clock in which it is seen.
    pub clock: u64,
    /// Its exact end.
    pub end_ns: String,
}

/// Round trips of one origin (RTT-1), in ns.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RoundTrips {
    /// How many.
    pub samples: u64,
    /// The last one.
    pub last_ns: u64,
    /// The shortest.
    pub least_ns: u64,
    /// The longest.
    pub most_ns: u64,
}

impl RoundTrips {
    /// Takes a sample.
    fn add(&mut self, rtt: u64) {
        self.least_ns = if self.samples == 0 { rtt } else { self.least_ns.min(rtt) };
        self.most_ns = self.most_ns.max(rtt);
        self.last_ns = rtt;
        self.samples += 1;
    }
}

/// Counts of one NIC.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NicCounts {
    /// Frames sent, by kind.
    pub sent: BTreeMap<&'static str, u64>,
    /// Bytes sent, FCS included.
    pub bytes_sent: u64,
    /// Frames that arrived.
    pub frames_arrived: u64,
    /// Bytes that arrived.
    pub bytes_arrived: u64,
    /// Drops by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Page writes refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Bad TLPs by the block's reason; in `result.json` by its name.
    #[serde(serialize_with = "by_name")]
    pub bad_tlps: BTreeMap<u8, u64>,
    /// Segments whose payload could not be read, by `payload_fetch`'s reason (PCI-8); in
    /// `result.json` by its name.
    #[serde(serialize_with = "by_name_of_a_read")]
    pub failed_reads: BTreeMap<u8, u64>,
    /// Beats from the host without room in the receive buffer (PCI-4).
    pub overruns: u64,
    /// QPs put in error (QP-6), by what did it.
    pub qp_errors: BTreeMap<String, u64>,
    /// Duplicates.
    pub duplicates: u64,
    /// Packets held out of order (RX-7).
    pub out_of_order: u64,
    /// Trimmed packets (RX-5).
    pub trimmed: u64,
    /// Control frames that found no room to wait (SACK-6).
    pub ctrl_drops: u64,
    /// Turns refused for want of replay slots (SEG-5).
    pub replay_stalls: u64,
    /// Timers that have expired.
    pub expiries: u64,
    /// Packets that were queued to go again, by cause.
    pub queued: BTreeMap<String, u64>,
    /// Turns refused for want of tags (SEG-5).
    pub tag_stalls: u64,
    /// Entropy values assumed bad, good again and to be passed over once (PTH-1), and probes
    /// without room (PTH-2), by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<&'static str, u64>,
    /// Round trips measured, by origin.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub round_trips: BTreeMap<&'static str, RoundTrips>,
    /// SACKs and NACKs that gave none, because it is not known which transmission drew them.
    pub round_trips_unsure: u64,
    /// Completions by kind.
    pub completions: BTreeMap<&'static str, u64>,
    /// What the switch did to this NIC's frames, and pauses that it sent to it: deed and kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub switch: BTreeMap<String, u64>,
}

/// What a TLP was refused for: the reasons of `tlp_parse`, and from 0x10 on those of
/// `payload_fetch` (PCI-8).
pub fn reason(code: u8) -> &'static str {
    match code {
        0x01 => "type",
        0x02 => "length",
        0x03 => "order",
        0x04 => "poisoned write",
        0x05 => "write across a page",
        0x11 => "unexpected tag",
        0x12 => "wrong count",
        0x13 => "poisoned",
        0x14 => "unsupported request",
        0x15 => "completer abort",
        0x16 => "short",
        0x17 => "long",
        _ => "other",
    }
}

fn by_name<S: Serializer>(counts: &BTreeMap<u8, u64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().map(|(code, n)| (reason(*code), n)))
}

fn by_name_of_a_read<S: Serializer>(counts: &BTreeMap<u8, u64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(counts.iter().map(|(code, n)| (reason(0x10 | code), n)))
}

/// The kind of a frame by its opcode, for tables.
pub fn frame_kind(bytes: &[u8]) -> &'static str {
    match bytes.get(42) {
        Some(0xc6) => "WRITE_FIRST",
        Some(0xc7) => "WRITE_MIDDLE",
        Some(0xc8) => "WRITE_LAST",
        Some(0xca) => "WRITE_ONLY",
        Some(0xd1) => "ACK",
        Some(0xdc) => "SACK",
        Some(0xdd) => "NACK",
        Some(0xde) => "PROBE",
        _ => "OTHER",
    }
}

/// Collects what a run's events say.
pub struct Recorder {
    names: Vec<String>,
    boot: u64,
    wire_rates: Vec<u64>,
    /// Counts of each NIC.
    pub counts: Vec<NicCounts>,
    /// The first exact ends.
    pub moments: Vec<Timed>,
    records: Option<Records>,
    /// The next clock in which a row may be due.
    due: u64,
    frames: Option<PcapNgWriter<BufWriter<File>>>,
    folder: Option<PathBuf>,
    failed: Option<RecordError>,
}

impl Recorder {
    /// A recorder that writes into `folder`, or only counts.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(world: &World, folder: Option<&Path>) -> Result<Self, RecordError> {
        Self::with_format(world, folder, Format::default())
    }

    /// The same with tables in this format.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn with_format(
        world: &World,
        folder: Option<&Path>,
        format: Format,
    ) -> Result<Self, RecordError> {
        let names: Vec<_> = world.settings.nics.iter().map(|n| n.name.clone()).collect();
        let mut recorder = Self {
            counts: vec![NicCounts::default(); names.len()],
            wire_rates: world.settings.nics.iter().map(|n| n.wire_rate).collect(),
            names,
            boot: world.boot,
            moments: Vec::new(),
            records: None,
            due: u64::MAX,
            frames: None,
            folder: folder.map(Path::to_owned),
            failed: None,
        };
        if let Some(folder) = folder {
            fs::create_dir_all(folder).map_err(|e| RecordError::new(folder, e))?;
            let records = Records::new(folder, &world.settings, format)?;
            recorder.due = records.due(0);
            recorder.records = Some(records);
            recorder.open_frames(&folder.join("frames.pcapng"))?;
        }
        Ok(recorder)
    }

    fn open_frames(&mut self, path: &Path) -> Result<(), RecordError> {
        let at = |source| RecordError { path: path.to_owned(), source };
        let file = BufWriter::new(File::create(path).map_err(at)?);
        let mut writer = PcapNgWriter::new(file).map_err(|e| at(io::Error::other(e)))?;
        for name in &self.names {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(name.clone())),
                    InterfaceDescriptionOption::IfTsResol(9),
                    // The frames end with their 4-byte FCS.
                    InterfaceDescriptionOption::IfFcsLen(4),
                ],
            };
            writer.write_pcapng_block(interface).map_err(|e| at(io::Error::other(e)))?;
        }
        self.frames = Some(writer);
        Ok(())
    }

    /// Writes what is left at the end of a run, and `result.json`.
    ///
    /// # Errors
    /// When a write has failed, here or earlier.
    pub fn finish(self, world: &World, result: &impl Serialize) -> Result<(), RecordError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join("result.json");
        let text = serde_json::to_string_pretty(result).unwrap_or_default();
        let at = |source| RecordError { path: path.clone(), source };
        fs::write(&path, text + "\n").map_err(at)?;
        self.records.map_or(Ok(()), |records| records.finish(world))
    }

    fn moment(&mut self, nic: usize, kind: &'static str, addr: u64, bytes: u64, end: &Moment) {
        if self.moments.len() < MOMENTS && end.clock > self.boot {
            self.moments.push(Timed {
                nic: self.names[nic].clone(),
                kind,
                addr,
                bytes,
                clock: end.clock,
                end_ns: exact_ns(end),
            });
        }
    }

    fn sent(&mut self, clock: u64, nic: usize, back: u32, bytes: &[u8]) {
        let counts = &mut self.counts[nic];
        *counts.sent.entry(frame_kind(bytes)).or_default() += 1;
        counts.bytes_sent += bytes.len() as u64;
        let end = Moment { clock, back: u64::from(back), rate: self.wire_rates[nic] };
        self.moment(nic, "frame", 0, bytes.len() as u64, &end);
        if let Some(writer) = &mut self.frames {
            let packet = EnhancedPacketBlock {
                interface_id: nic as u32,
                timestamp: Duration::from_nanos(clock),
                original_len: bytes.len() as u32,
                data: Cow::Borrowed(bytes),
                options: vec![],
            };
            if let Err(e) = writer.write_pcapng_block(packet) {
                let source = io::Error::other(e);
                self.failed.get_or_insert(RecordError { path: "frames.pcapng".into(), source });
            }
        }
    }

    fn link(&mut self, nic: usize, event: &LinkEvent) {
        match event {
            LinkEvent::Read { end, addr, len } => {
                self.moment(nic, "read", *addr, u64::from(*len), end);
            }
            LinkEvent::Completed { end, addr, len } => {
                self.moment(nic, "completion", *addr, u64::from(*len), end);
            }
            LinkEvent::Written { end, addr, len } => {
                self.moment(nic, "write", *addr, u64::from(*len), end);
            }
        }
    }

    fn completion(&mut self, nic: usize, kind: Cqe) {
        let name = match kind {
            Cqe::Send => "SEND_COMPLETE",
            Cqe::Wqe => "WQE_COMPLETE",
            Cqe::Recv => "RECV_COMPLETE",
            Cqe::Error => return,
        };
        *self.counts[nic].completions.entry(name).or_default() += 1;
    }
}

impl Sink for Recorder {
    fn event(&mut self, clock: u64, nic: usize, event: &Event) {
        if let Some(records) = &mut self.records {
            records.event(clock, nic, event);
        }
        let counts = &mut self.counts[nic];
        match event {
            Event::Completed { kind, .. } => self.completion(nic, *kind),
            Event::Received { .. } => self.completion(nic, Cqe::Recv),
            Event::QpError { why, .. } => {
                *counts.qp_errors.entry(format!("{why:?}")).or_default() += 1;
            }
            Event::Dropped(reason) => {
                *counts.dropped.entry(format!("{reason:?}")).or_default() += 1;
            }
            Event::Refused(reason) => {
                *counts.refused.entry(format!("{reason:?}")).or_default() += 1;
            }
            Event::BadTlp(reason) => *counts.bad_tlps.entry(*reason).or_default() += 1,
            Event::ReadFailed { reason, .. } => {
                *counts.failed_reads.entry(*reason).or_default() += 1;
            }
            Event::Overrun => counts.overruns += 1,
            Event::Duplicate => counts.duplicates += 1,
            Event::OutOfOrder => counts.out_of_order += 1,
            Event::Trimmed => counts.trimmed += 1,
            Event::ControlDropped(frames) => counts.ctrl_drops += u64::from(*frames),
            Event::Stalled { slots: true } => counts.replay_stalls += 1,
            Event::Stalled { slots: false } => counts.tag_stalls += 1,
            Event::Expired { .. } => counts.expiries += 1,
            Event::Queued { cause, .. } => {
                *counts.queued.entry(format!("{cause:?}")).or_default() += 1;
            }
            Event::PathBad { .. } => *counts.paths.entry("bad").or_default() += 1,
            Event::PathGood { .. } => *counts.paths.entry("good").or_default() += 1,
            Event::PathSkipped { .. } => *counts.paths.entry("skipped").or_default() += 1,
            Event::ProbeMissed => *counts.paths.entry("probes_missed").or_default() += 1,
            Event::RoundTrip { origin, rtt, .. } => {
                counts.round_trips.entry(round_trips::name(*origin)).or_default().add(*rtt);
            }
            Event::RoundTripUnsure => counts.round_trips_unsure += 1,
            Event::QpCreated { .. }
            | Event::QpClosed { .. }
            | Event::Posted { .. }
            | Event::Segment { .. }
            | Event::Made(_) => {}
            Event::Link(event) => self.link(nic, event),
            Event::Sent { back, bytes } => self.sent(clock, nic, *back, bytes),
            Event::Arrived { len, .. } => {
                counts.frames_arrived += 1;
                counts.bytes_arrived += u64::from(*len);
            }
            Event::Switch(act) => {
                let deed = format!("{} {}", act.what.name(), act.seen.kind.name());
                *counts.switch.entry(deed).or_default() += 1;
            }
        }
    }

    fn due(&self) -> u64 {
        self.due
    }

    fn look(&mut self, world: &World) {
        if let Some(records) = &mut self.records {
            records.look(world);
            self.due = records.due(world.clock);
        }
    }
}
