//! `mrc-transport-stats`: each counter over the whole run and over the interval.

use std::path::Path;

use rtl_model::retransmit::Cause;
use rtl_model::types::{Cqe, Drop};

use super::origin::Origins;
use super::table::{Cell, Column, Format, Table};
use crate::event::Event;
use crate::record::RecordError;
use crate::switch::frame::{self, Kind};

/// The counters, each with its column's name and what it counts; a new one is a row here and an arm
/// in `counted`.
macro_rules! counters {
    ($($name:ident $column:literal $about:literal,)*) => {
        /// A counter of the transport.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Counter {
            $(#[doc = $about] $name,)*
        }

        /// Columns and what they count, in order.
        pub const COUNTERS: &[(&str, &str)] = &[$(($column, $about),)*];
    };
}

counters! {
    DataTx "data_tx" "data packets sent for the first time",
    BytesTx "bytes_tx" "bytes of all frames sent, Ethernet header and FCS included",
    Retransmissions "retransmissions" "data packets sent again",
    ReRequests "completion_rerequests" "last packets sent again for a cumulative ACK alone",
    Timeouts "timeouts" "packets queued to go again because their timer had expired (TMR-2)",
    Gaps "sack_gaps" "packets queued to go again because a SACK showed a gap (LOS-1)",
    Trimmed "nack_trimmed" "packets queued to go again by a NACK `TRIMMED` (NAK-1)",
    LastHop "nack_trimmed_lasthop" "packets queued to go again by a NACK `TRIMMED_LASTHOP` (NAK-1)",
    Range "nack_psn_oor_window" "packets queued to go again by a NACK `PSN_OOR_WINDOW` (NAK-1)",
    AckTx "ack_tx" "cumulative ACKs sent",
    SackTx "sack_tx" "SACKs sent",
    NackTx "nack_tx" "NACKs sent",
    ProbeTx "probe_tx" "probes sent",
    DataRx "data_rx" "data packets that arrived, trimmed ones left out",
    BytesRx "bytes_rx" "bytes of all frames that arrived, Ethernet header and FCS included",
    TrimmedRx "trimmed_rx" "trimmed packets that arrived",
    AckRx "ack_rx" "cumulative ACKs that arrived",
    SackRx "sack_rx" "SACKs that arrived",
    NackRx "nack_rx" "NACKs that arrived",
    ProbeRx "probe_rx" "probes that arrived",
    OutOfOrder "ooo" "packets that came out of order and are held (RX-7)",
    Duplicates "duplicates" "packets received before",
    RxDrops "rx_drops" "packets whose receive pool was full",
    Dropped "dropped" "frames dropped for any other reason",
    ControlDrops "ctrl_drops" "control frames that found no room to wait (SACK-6)",
    ReplayStalls "replay_stalls" "turns refused for want of replay slots",
    TagStalls "tag_stalls" "turns refused for want of tags",
    PathsBad "paths_bad" "entropy values taken out of their destination's rotation",
    PathsGood "paths_good" "entropy values that a probe's answer has brought back",
    PathsSkipped "paths_skipped" "entropy values marked to be passed over once",
    ProbesMissed "probes_missed" "probes that found no room in the egress pool",
    RttSamples "rtt_samples" "round trips measured",
    RttUnsure "rtt_unsure" "SACKs and NACKs without a sample, because it is not known which \
        transmission drew them",
    QpCreated "qp_created" "sides of QPs opened",
    QpClosed "qp_closed" "sides of QPs closed",
    QpError "qp_error" "QPs that came into error",
    Posted "messages_posted" "messages posted",
    SendComplete "send_complete" "completions `SEND_COMPLETE`",
    WqeComplete "wqe_complete" "completions `WQE_COMPLETE`",
    RecvComplete "recv_complete" "completions `RECV_COMPLETE`",
}

/// What an event adds, and to which counters.
fn counted(event: &Event, mut add: impl FnMut(Counter, u64)) {
    let mut one = |counter| add(counter, 1);
    match event {
        Event::PathBad { .. } => one(Counter::PathsBad),
        Event::PathGood { .. } => one(Counter::PathsGood),
        Event::PathSkipped { .. } => one(Counter::PathsSkipped),
        Event::ProbeMissed => one(Counter::ProbesMissed),
        Event::RoundTrip { .. } => one(Counter::RttSamples),
        Event::RoundTripUnsure => one(Counter::RttUnsure),
        Event::QpCreated { .. } => one(Counter::QpCreated),
        Event::QpClosed { .. } => one(Counter::QpClosed),
        Event::QpError { .. } => one(Counter::QpError),
        Event::Posted { .. } => one(Counter::Posted),
        Event::Completed { kind: Cqe::Send, .. } => one(Counter::SendComplete),
        Event::Completed { kind: Cqe::Wqe, .. } => one(Counter::WqeComplete),
        Event::Received { .. } => one(Counter::RecvComplete),
        Event::Queued { cause, .. } => queued(*cause).into_iter().for_each(one),
        Event::OutOfOrder => one(Counter::OutOfOrder),
        Event::ControlDropped(frames) => add(Counter::ControlDrops, u64::from(*frames)),
        Event::Duplicate => one(Counter::Duplicates),
        Event::Dropped(Drop::Pool) => one(Counter::RxDrops),
        Event::Dropped(_) => one(Counter::Dropped),
        Event::Stalled { slots: true } => one(Counter::ReplayStalls),
        Event::Stalled { slots: false } => one(Counter::TagStalls),
        Event::Sent { bytes, .. } => {
            sent(Kind::of(bytes)).into_iter().for_each(&mut one);
            add(Counter::BytesTx, bytes.len() as u64);
        }
        Event::Arrived { bytes, .. } => {
            arrived(bytes).into_iter().for_each(&mut one);
            add(Counter::BytesRx, bytes.len() as u64);
        }
        _ => {}
    }
}

/// Why a packet goes again; one that only asks for an ACK is counted when it is sent (CPL-2).
fn queued(cause: Cause) -> Option<Counter> {
    match cause {
        Cause::Timeout => Some(Counter::Timeouts),
        Cause::Gap => Some(Counter::Gaps),
        Cause::Trimmed => Some(Counter::Trimmed),
        Cause::LastHop => Some(Counter::LastHop),
        Cause::Range => Some(Counter::Range),
        Cause::Cover | Cause::Sample => None,
    }
}

fn sent(kind: Kind) -> Option<Counter> {
    match kind {
        Kind::Data => Some(Counter::DataTx),
        Kind::Retransmission => Some(Counter::Retransmissions),
        Kind::Ack => Some(Counter::AckTx),
        Kind::Sack => Some(Counter::SackTx),
        Kind::Nack => Some(Counter::NackTx),
        Kind::Probe => Some(Counter::ProbeTx),
        Kind::Pause | Kind::Other => None,
    }
}

fn arrived(bytes: &[u8]) -> Option<Counter> {
    match Kind::of(bytes) {
        Kind::Data | Kind::Retransmission if frame::queue(bytes) == 1 => Some(Counter::TrimmedRx),
        Kind::Data | Kind::Retransmission => Some(Counter::DataRx),
        Kind::Ack => Some(Counter::AckRx),
        Kind::Sack => Some(Counter::SackRx),
        Kind::Nack => Some(Counter::NackRx),
        Kind::Probe => Some(Counter::ProbeRx),
        Kind::Pause | Kind::Other => None,
    }
}

/// The record of every NIC.
pub struct Transport {
    table: Table,
    /// Counts of each NIC so far, and at its last row.
    counts: Vec<[Vec<u64>; 2]>,
    /// Packets that wait to leave, by NIC.
    origins: Vec<Origins>,
}

impl Transport {
    /// The record for so many NICs.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, nics: usize, format: Format) -> Result<Self, RecordError> {
        let mut columns =
            vec![Column::count("time_ns", "end of the interval"), Column::text("nic", "NIC")];
        for (name, about) in COUNTERS {
            columns.push(Column::count(format!("total_{name}"), format!("{about}, so far")));
            let interval = format!("{about}, since the last row");
            columns.push(Column::count(format!("ivl_total_{name}"), interval));
        }
        let row = "each NIC with EnableTransportStats, each TransportStatsReportInterval, all QPs \
                   taken together";
        let table = Table::new(folder, "mrc-transport-stats", row, &columns, format)?;
        let zero = vec![0; COUNTERS.len()];
        let origins = vec![Origins::default(); nics];
        Ok(Self { table, counts: vec![[zero.clone(), zero]; nics], origins })
    }

    /// Counts an event.
    pub fn event(&mut self, nic: usize, event: &Event) {
        let counts = &mut self.counts[nic][0];
        let asks = self.origins[nic].asks(event);
        counted(event, |counter, n| {
            let again = asks && counter == Counter::Retransmissions;
            counts[if again { Counter::ReRequests } else { counter } as usize] += n;
        });
    }

    /// The row of a NIC.
    pub fn row(&mut self, time_ns: u64, nic: usize, name: &str) {
        let [now, last] = &mut self.counts[nic];
        let mut cells = vec![Cell::from(time_ns), name.into()];
        for (now, last) in now.iter().zip(last.iter_mut()) {
            cells.extend([Cell::from(*now), Cell::from(*now - *last)]);
            *last = *now;
        }
        self.table.row(&cells);
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When a write has failed.
    pub fn finish(self) -> Result<(), RecordError> {
        self.table.finish()
    }
}
