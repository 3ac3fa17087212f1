//! What a run leaves behind: `events.csv`, `frames.pcapng`, `result.json`, and the closing table.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use rtl_model::types::Cqe;
use serde::Serialize;
use thiserror::Error;

use crate::event::{Event, Sink};
use crate::host::{LinkEvent, Moment};
use crate::switch::Act;
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
    /// Bad TLPs by the block's reason.
    pub bad_tlps: BTreeMap<u8, u64>,
    /// Segments whose payload could not be read, by `payload_fetch`'s reason (PCI-8).
    pub failed_reads: BTreeMap<u8, u64>,
    /// Beats from the host without room in the receive buffer (PCI-4).
    pub overruns: u64,
    /// QPs put in error (QP-6), by what did it.
    pub qp_errors: BTreeMap<String, u64>,
    /// Duplicates.
    pub duplicates: u64,
    /// Turns refused for want of replay slots (SEG-5).
    pub replay_stalls: u64,
    /// Turns refused for want of tags (SEG-5).
    pub tag_stalls: u64,
    /// Completions by kind.
    pub completions: BTreeMap<&'static str, u64>,
    /// What the switch did to this NIC's frames, and pauses that it sent to it: deed and kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub switch: BTreeMap<String, u64>,
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
    events: Option<BufWriter<File>>,
    switch: Option<BufWriter<File>>,
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
        let names: Vec<_> = world.settings.nics.iter().map(|n| n.name.clone()).collect();
        let mut recorder = Self {
            counts: vec![NicCounts::default(); names.len()],
            wire_rates: world.settings.nics.iter().map(|n| n.wire_rate).collect(),
            names,
            boot: world.boot,
            moments: Vec::new(),
            events: None,
            switch: None,
            frames: None,
            folder: folder.map(Path::to_owned),
            failed: None,
        };
        if let Some(folder) = folder {
            let at = |path: &Path| {
                let path = path.to_owned();
                move |source| RecordError { path, source }
            };
            fs::create_dir_all(folder).map_err(at(folder))?;
            let path = folder.join("events.csv");
            let mut events = BufWriter::new(File::create(&path).map_err(at(&path))?);
            writeln!(events, "clock,time_ns,nic,event,qpn,msn,peer,bytes").map_err(at(&path))?;
            recorder.events = Some(events);
            let path = folder.join("switch.csv");
            let mut switch = BufWriter::new(File::create(&path).map_err(at(&path))?);
            let heading = "clock,time_ns,from,to,rule,action,kind,psn,message,bytes";
            writeln!(switch, "{heading}").map_err(at(&path))?;
            recorder.switch = Some(switch);
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

    /// Writes what is left, and `result.json`.
    ///
    /// # Errors
    /// When a write has failed, here or earlier.
    pub fn finish(mut self, result: &impl Serialize) -> Result<(), RecordError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join("result.json");
        let text = serde_json::to_string_pretty(result).unwrap_or_default();
        let at = |source| RecordError { path: path.clone(), source };
        fs::write(&path, text + "\n").map_err(at)?;
        for file in [&mut self.events, &mut self.switch].into_iter().flatten() {
            file.flush().map_err(at)?;
        }
        Ok(())
    }

    fn row(&mut self, clock: u64, nic: usize, event: &str, rest: std::fmt::Arguments<'_>) {
        if let Some(file) = &mut self.events {
            let name = &self.names[nic];
            if let Err(source) = writeln!(file, "{clock},{clock},{name},{event},{rest}") {
                self.failed.get_or_insert(RecordError { path: "events.csv".into(), source });
            }
        }
    }

    /// One line of `switch.csv`; a queue's deed has no rule.
    fn switched(&mut self, clock: u64, act: &Act) {
        let (what, kind) = (act.what.name(), act.seen.kind.name());
        *self.counts[act.from].switch.entry(format!("{what} {kind}")).or_default() += 1;
        if let Some(file) = &mut self.switch {
            let text = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
            let (rule, message) = (act.rule.map(|r| r as u64), act.seen.message.map(u64::from));
            let (from, to) = (&self.names[act.from], &self.names[act.to]);
            let (rule, message) = (text(rule), text(message));
            let (psn, bytes) = (act.seen.psn, act.bytes);
            let row = writeln!(
                file,
                "{clock},{clock},{from},{to},{rule},{what},{kind},{psn},{message},{bytes}"
            );
            if let Err(source) = row {
                self.failed.get_or_insert(RecordError { path: "switch.csv".into(), source });
            }
        }
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

    fn completion(&mut self, clock: u64, nic: usize, kind: Cqe, rest: std::fmt::Arguments<'_>) {
        let name = match kind {
            Cqe::Send => "SEND_COMPLETE",
            Cqe::Wqe => "WQE_COMPLETE",
            Cqe::Recv => "RECV_COMPLETE",
            Cqe::Error => return,
        };
        *self.counts[nic].completions.entry(name).or_default() += 1;
        self.row(clock, nic, name, rest);
    }
}

impl Sink for Recorder {
    fn event(&mut self, clock: u64, nic: usize, event: &Event) {
        let counts = &mut self.counts[nic];
        match event {
            Event::QpCreated { qpn, dest, .. } => {
                self.row(clock, nic, "QP_CREATED", format_args!("{qpn:#08x},,{dest},"));
            }
            Event::QpClosed { qpn, .. } => {
                self.row(clock, nic, "QP_CLOSED", format_args!("{qpn:#08x},,,"));
            }
            Event::QpError { qpn, why } => {
                *counts.qp_errors.entry(format!("{why:?}")).or_default() += 1;
                self.row(clock, nic, "QP_ERROR", format_args!("{qpn:#08x},,,"));
            }
            Event::Posted { qpn, msn, bytes, dest } => {
                let rest = format_args!("{qpn:#08x},{msn},{dest},{bytes}");
                self.row(clock, nic, "MESSAGE_POSTED", rest);
            }
            Event::Completed { kind, qpn, msn, bytes } => {
                self.completion(clock, nic, *kind, format_args!("{qpn:#08x},{msn},,{bytes}"));
            }
            Event::Received { qpn, msn } => {
                self.completion(clock, nic, Cqe::Recv, format_args!("{qpn:#08x},{msn},,"));
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
            Event::Stalled { slots: true } => counts.replay_stalls += 1,
            Event::Stalled { slots: false } => counts.tag_stalls += 1,
            Event::Segment { .. } | Event::Built { .. } => {}
            Event::Link(event) => self.link(nic, event),
            Event::Sent { back, bytes } => self.sent(clock, nic, *back, bytes),
            Event::Arrived { len } => {
                counts.frames_arrived += 1;
                counts.bytes_arrived += u64::from(*len);
            }
            Event::Switch(act) => self.switched(clock, act),
        }
    }
}
