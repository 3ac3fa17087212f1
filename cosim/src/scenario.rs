//! Scenarios: TOML in, checked settings out, every refusal with file, line, key and rule.

use std::fs;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys::{HERE, rule_of};
use crate::records::settings::Parameters;
use crate::switch::settings::{DownlinkTable, Table};
use crate::units::{Decimal, Rate, Size, Time};

/// A scenario that cannot be run.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{file}{}: {key}: {what}{}", place(*line), rule.map(|r| format!(" ({r})")).unwrap_or_default())]
pub struct ScenarioError {
    /// The scenario's path.
    pub file: String,
    /// Line, from 1; 0 where there is none.
    pub line: usize,
    /// The key, or what stands in its place.
    pub key: String,
    /// What is wrong with it.
    pub what: String,
    /// The rule that says so.
    pub rule: Option<&'static str>,
}

/// A line of a text that is no scenario at all is longer than any key.
const LONGEST_KEY: usize = 60;

/// A line as it stands behind the file's name.
fn place(line: usize) -> String {
    if line == 0 { String::new() } else { format!(":{line}") }
}

/// Core clock: picoseconds of a clock.
pub const CLK_PS: u64 = 1_000;

/// The file as it stands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What it shows.
    #[serde(default)]
    pub about: String,
    /// Seed of everything random.
    #[serde(default = "one")]
    pub seed: u64,
    /// Simulated time after which the run is given up.
    pub limit: Spanned<Time>,
    /// Sizes of the build: `default` or `small`.
    #[serde(default)]
    pub build: Build,
    /// Constants of all NICs: `mrc` or `uet`.
    #[serde(default)]
    pub profile: Profile,
    /// Attributes of every NIC that does not say otherwise.
    #[serde(default)]
    pub defaults: Nic,
    /// The NICs, in order.
    #[serde(default)]
    pub nic: Vec<Spanned<Nic>>,
    /// Messages to post.
    #[serde(default)]
    pub message: Vec<Spanned<Message>>,
    /// What a host does that it should not.
    #[serde(default)]
    pub fault: Vec<Spanned<Fault>>,
    /// What the switch between the NICs does.
    #[serde(default)]
    pub switch: Vec<Spanned<Table>>,
    /// What holds for all NICs' records.
    #[serde(default, rename = "SimulationParameters")]
    pub parameters: Parameters,
}

fn one() -> u64 {
    1
}

/// Sizes by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Build {
    /// 256 QPs, 1,024 PSNs.
    #[default]
    Default,
    /// 16 QPs, 128 PSNs, 4 destinations, or as many QPs and destinations as there are NICs.
    Small,
}

/// Profiles by name (section 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// S000's NIC.
    #[default]
    Mrc,
    /// S003's NIC.
    Uet,
}

/// How round trips are measured (RTT-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum TimestampMode {
    /// From what the sender has written down of each packet.
    #[default]
    LocalDatabase = 0,
    /// From times that packets carry and answers echo.
    WireTimestamp = 1,
}

/// The egress scheduling types, as in the register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Scheduling {
    /// The highest class with a frame.
    #[default]
    StrictPriority = 0,
    /// One frame a class in turn.
    RoundRobin = 1,
    /// As many as its weight.
    WeightedRoundRobin = 2,
}

/// A buffer's attributes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct Buffer {
    /// Bytes of all pools.
    pub total_buffer_size: Option<Spanned<Size>>,
    /// Share of each class, exact decimals.
    pub pool_allocation_vector: Option<Spanned<Vec<toml::Value>>>,
    /// Which class sends next; without effect on ingress (BUF-4).
    pub queue_scheduling_type: Option<Spanned<Scheduling>>,
    /// Packets in a class's turn; without effect on ingress.
    #[serde(rename = "WRRQueueWeights")]
    pub wrr_queue_weights: Option<Spanned<Vec<u64>>>,
    /// Classes that send pauses; ingress only.
    #[serde(rename = "PFCEnableVector")]
    pub pfc_enable_vector: Option<Spanned<Vec<u64>>>,
    /// Share of each pool from which a pause goes; ingress only.
    pub pfc_static_xoff_threshold: Option<Spanned<Vec<toml::Value>>>,
    /// Share of each pool up to which it is resumed; ingress only.
    pub pfc_xon_resume_threshold: Option<Spanned<Vec<toml::Value>>>,
    /// Quanta that a pause of each class asks for; ingress only.
    pub quanta_value: Option<Spanned<Vec<u64>>>,
}

/// A link end's attributes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct Pcie {
    /// Lanes.
    pub lane_count: Option<Spanned<u64>>,
    /// Rate of a lane.
    pub lane_bps: Option<Spanned<Rate>>,
    /// Header bytes that can wait for the link.
    #[serde(rename = "TXHeaderBufferSize")]
    pub tx_header_buffer_size: Option<Spanned<Size>>,
    /// Payload bytes that can wait for the link.
    #[serde(rename = "TXDataBufferSize")]
    pub tx_data_buffer_size: Option<Spanned<Size>>,
    /// Header bytes that this end can receive.
    #[serde(rename = "RXHeaderBufferSize")]
    pub rx_header_buffer_size: Option<Spanned<Size>>,
    /// Payload bytes that this end can receive.
    #[serde(rename = "RXDataBufferSize")]
    pub rx_data_buffer_size: Option<Spanned<Size>>,
    /// Payload of a transfer at most: 128, 256 or 512 B.
    pub max_payload_size: Option<Spanned<Size>>,
    /// Bytes of time that a transfer costs beside its payload.
    pub transfer_overhead: Option<Spanned<Size>>,
    /// Bytes of time that a read request of the NIC costs beside that.
    pub read_request_size: Option<Spanned<Size>>,
    /// How long a transfer stands in the host's receive buffer.
    pub drain_delay: Option<Spanned<Time>>,
    /// When the host stops to take transfers out of its receive buffer, counted from boot's end.
    pub drain_stops: Option<Spanned<Time>>,
    /// How much later than `Latency` a completion of the host may start, drawn for each.
    pub disorder: Option<Spanned<Time>>,
    /// Read completion boundary of the host: 64 or 128.
    #[serde(rename = "RCB")]
    pub rcb: Option<Spanned<u64>>,
    /// From a request's end to its completion's start.
    pub latency: Option<Spanned<Time>>,
    /// Where the host's sources begin.
    pub source_base: Option<Spanned<u64>>,
    /// Where its targets begin.
    pub target_base: Option<Spanned<u64>>,
}

/// A NIC's attributes, by the names of the sources.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct Nic {
    /// Its name in messages and records.
    #[serde(rename = "name")]
    pub name: Option<Spanned<String>>,
    /// Its IPv4 address.
    #[serde(rename = "address")]
    pub address: Option<Spanned<String>>,
    /// Largest payload of a packet.
    #[serde(rename = "MSS")]
    pub mss: Option<Spanned<u64>>,
    /// PSN window.
    #[serde(rename = "MaxPSNRange")]
    pub max_psn_range: Option<Spanned<u64>>,
    /// PSNs that a packet may be behind the highest one listed without being lost.
    #[serde(rename = "SACKLossMinRetxPkts")]
    pub sack_loss_min_retx_pkts: Option<Spanned<u64>>,
    /// First PSN of a QP.
    #[serde(rename = "InitialPSN")]
    pub initial_psn: Option<Spanned<u64>>,
    /// Link rate.
    pub data_rate: Option<Spanned<Rate>>,
    /// From the end of serialisation to arrival.
    pub delay: Option<Spanned<Time>>,
    /// Largest window, in full packets.
    pub max_congestion_window: Option<Spanned<u64>>,
    /// The same in bytes.
    pub congestion_window: Option<Spanned<Size>>,
    /// One group for each destination.
    #[serde(rename = "QPGroupsEnabled")]
    pub qp_groups_enabled: Option<bool>,
    /// First transmissions may be trimmed.
    pub trimming_enabled: Option<bool>,
    /// Retransmissions have a codepoint of their own.
    #[serde(rename = "UseDistinctDSCPForRetransmits")]
    pub use_distinct_dscp_for_retransmits: Option<bool>,
    /// The first timers of a packet.
    pub initial_ack_timeout: Option<Spanned<Time>>,
    /// Timers that last as long as the first.
    pub linear_retry_count: Option<Spanned<u64>>,
    /// Timers after them, each twice as long as the one before; 25: no budget.
    pub exponential_retry_count: Option<Spanned<u64>>,
    /// All timers last as long as the first.
    pub fixed_rexmit_time_enable: Option<bool>,
    /// Completion entries take time on the link.
    pub cqe_on_link: Option<bool>,
    /// How round trips are measured.
    #[serde(rename = "RTTTimestampMode")]
    pub rtt_timestamp_mode: Option<Spanned<TimestampMode>>,
    /// Frames carry an invariant CRC.
    #[serde(rename = "ICRCEnable")]
    pub icrc_enable: Option<bool>,
    /// From a completion to the host's close.
    pub close_delay: Option<Spanned<Time>>,
    /// `mrc-transport-stats`.
    pub enable_transport_stats: Option<bool>,
    /// Between its rows.
    pub transport_stats_report_interval: Option<Spanned<Time>>,
    /// `mrc-events`.
    pub enable_event_logging: Option<bool>,
    /// `mrc-monitor`.
    pub enable_monitor: Option<bool>,
    /// `net-buff-stats` and `net-buff-series`, where the simulation has them.
    pub enable_buffer_stats: Option<bool>,
    /// Percent of the data pool from which the receiver penalty starts.
    #[serde(rename = "ReceiverCongestionLowThreshold")]
    pub receiver_low: Option<Spanned<toml::Value>>,
    /// Percent of the data pool from which it is whole.
    #[serde(rename = "ReceiverCongestionHighThreshold")]
    pub receiver_high: Option<Spanned<toml::Value>>,
    /// Payloads wait in a prefetch buffer until they are committed to the wire.
    pub prefetch_buffer_enable: Option<bool>,
    /// Its bytes.
    pub prefetch_buffer_size: Option<Spanned<Size>>,
    /// The switch's port to this NIC.
    #[serde(default)]
    pub downlink: DownlinkTable,
    /// Transmit buffer.
    #[serde(default)]
    pub egress_buffer_manager: Buffer,
    /// Receive buffer.
    #[serde(default)]
    pub ingress_buffer_manager: Buffer,
    /// The NIC's end of the PCIe link.
    #[serde(default, rename = "PCIe")]
    pub pcie: Pcie,
    /// The host's end of the PCIe link.
    #[serde(default, rename = "HostPCIe")]
    pub host_pcie: Pcie,
}

/// One message, or many alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Sender.
    pub from: Spanned<String>,
    /// Receiver.
    pub to: Spanned<String>,
    /// Bytes; with `most`, the least.
    pub bytes: Spanned<Size>,
    /// Bytes at most, drawn evenly.
    pub most: Option<Spanned<Size>>,
    /// How many.
    pub count: Option<Spanned<u64>>,
    /// How many of them may be posted and not complete; all, unless given.
    pub outstanding: Option<Spanned<u64>>,
    /// Posted no earlier, counted from the end of boot.
    pub at: Option<Spanned<Time>>,
    /// From then on none is posted, counted from the end of boot.
    pub until: Option<Spanned<Time>>,
    /// Low bits of the buffers' addresses, so that they are not aligned.
    pub offset: Option<Spanned<u64>>,
    /// One QP for all of them instead of a new one each.
    #[serde(default)]
    pub one_qp: bool,
}

/// What a host or the network does that it should not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The NIC that meets it.
    pub nic: Spanned<String>,
    /// What comes.
    pub kind: FaultKind,
    /// How often.
    pub count: Option<Spanned<u64>>,
    /// When the first comes, counted from the end of boot.
    pub at: Option<Spanned<Time>>,
}

/// Kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Frames of random bytes, 0 to 200 of them.
    GarbageFrames,
    /// Frames that would be this NIC's, but for one thing wrong in each; all but one kind of them
    /// have a right FCS.
    NearMisses,
    /// TLPs of 0 to 200 bytes whose headers are random, or half right. Completions have tags from
    /// 128 up, and writes leave a byte out, so that none is taken.
    GarbageTlps,
    /// Doorbell writes with something wrong in each.
    BadDoorbells,
    /// Completions with data for all tags, those of reads under way too; none is what is due.
    StrayCompletions,
    /// The next read is answered Unsupported Request.
    UnsupportedRequest,
    /// The next read is answered Completer Abort.
    CompleterAbort,
    /// One completion of the next read is poisoned.
    PoisonedCompletion,
    /// The last completion of the next read carries a DW too few.
    ShortCompletion,
    /// The last completion of the next read carries a DW too many.
    LongCompletion,
    /// The first completion of the next read has a wrong byte count, and none follows.
    WrongCount,
    /// The last completion of the next read comes twice.
    RepeatedCompletion,
    /// The next read is answered 20 µs later than it should be.
    LateCompletion,
    /// The next read is never answered.
    LostCompletion,
}

impl FaultKind {
    /// As scenarios write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GarbageFrames => "garbage-frames",
            Self::NearMisses => "near-misses",
            Self::GarbageTlps => "garbage-tlps",
            Self::BadDoorbells => "bad-doorbells",
            Self::StrayCompletions => "stray-completions",
            Self::UnsupportedRequest => "unsupported-request",
            Self::CompleterAbort => "completer-abort",
            Self::PoisonedCompletion => "poisoned-completion",
            Self::ShortCompletion => "short-completion",
            Self::LongCompletion => "long-completion",
            Self::WrongCount => "wrong-count",
            Self::RepeatedCompletion => "repeated-completion",
            Self::LateCompletion => "late-completion",
            Self::LostCompletion => "lost-completion",
        }
    }
}

/// A scenario's text, for turning places into lines.
pub struct Source {
    file: String,
    text: String,
}

impl Source {
    /// Reads and parses a file.
    ///
    /// # Errors
    /// When it cannot be read, is not TOML, or has an unknown key or a value of the wrong kind.
    pub fn read(path: &Path) -> Result<(Self, File), ScenarioError> {
        Self::read_as(path)
    }

    /// The same for a file of another shape.
    ///
    /// # Errors
    /// As `read`.
    pub fn read_as<F: serde::de::DeserializeOwned>(
        path: &Path,
    ) -> Result<(Self, F), ScenarioError> {
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|e| ScenarioError {
            file: file.clone(),
            line: 0,
            key: "scenario".into(),
            what: format!("cannot be read: {e}"),
            rule: None,
        })?;
        Self::parse_as(file, text)
    }

    /// Parses a text; `file` stands in errors.
    ///
    /// # Errors
    /// As `read`.
    pub fn parse(file: String, text: String) -> Result<(Self, File), ScenarioError> {
        Self::parse_as(file, text)
    }

    /// The same for a text of another shape.
    ///
    /// # Errors
    /// As `read`.
    pub fn parse_as<F: serde::de::DeserializeOwned>(
        file: String,
        text: String,
    ) -> Result<(Self, F), ScenarioError> {
        let source = Self { file, text };
        match toml::from_str(&source.text) {
            Ok(parsed) => Ok((source, parsed)),
            Err(e) => Err(source.refused(&e)),
        }
    }

    /// What the parser refuses, with the rule of the key.
    fn refused(&self, e: &toml::de::Error) -> ScenarioError {
        let span = e.span().unwrap_or(0..0);
        let what = e.message().trim().replace("expected u64", "expected a whole number");
        let missing = what.strip_prefix("missing field `").and_then(|m| m.strip_suffix('`'));
        let place = self.place_at(&span);
        let key = match (missing, &place) {
            (Some(key), _) => key.to_owned(),
            (None, Some(place)) => place.path.last().cloned().unwrap_or_default(),
            (None, None) => self.line_key(&span),
        };
        let what = if missing.is_some() { "is required".to_owned() } else { what };
        let mut error = self.error(span, &key, what, None);
        error.rule = Some(rule_of(&error.key));
        error
    }

    /// What stands before the `=` of a line, in a text that is not TOML.
    fn line_key(&self, span: &Range<usize>) -> String {
        let start = self.text[..span.start].rfind('\n').map_or(0, |n| n + 1);
        let line = self.text[start..].lines().next().unwrap_or("");
        let key = line.split('=').next().unwrap_or("").trim();
        let any = !key.is_empty() && key.len() <= LONGEST_KEY;
        if any { key.to_owned() } else { "scenario".into() }
    }

    /// What stands at a place; nothing for an empty one, which means the whole file.
    fn place_at(&self, span: &Range<usize>) -> Option<Place> {
        let whole = DeTable::parse(&self.text).ok()?;
        let mut place = if span.is_empty() { None } else { find(whole.get_ref(), span.start) }?;
        place.path.reverse();
        Some(place)
    }

    /// An error at a place; an empty one means the whole file. `key` is the last part of the key,
    /// the path to it is that of the place.
    pub fn error(
        &self,
        span: Range<usize>,
        key: &str,
        what: impl Into<String>,
        rule: Option<&'static str>,
    ) -> ScenarioError {
        let line = self.text[..span.start.min(self.text.len())].matches('\n').count() + 1;
        let mut path = self.place_at(&span).map_or_else(Vec::new, |mut place| {
            if !place.table {
                place.path.pop();
            }
            place.path
        });
        path.push(key.to_owned());
        let (file, key) = (self.file.clone(), path.join("."));
        ScenarioError { file, line, key, what: what.into(), rule: rule.or(Some(HERE)) }
    }
}

/// What stands at a place of a file.
struct Place {
    /// Its key and the tables that it is in, the last one first until it is whole.
    path: Vec<String>,
    /// It is a table and no value.
    table: bool,
}

/// The value or the table that a place lies in.
fn find(table: &DeTable<'_>, at: usize) -> Option<Place> {
    table.iter().find_map(|(key, value)| {
        let inside = value.span().contains(&at);
        let (found, table) = match value.get_ref() {
            DeValue::Table(inner) => (find(inner, at), true),
            DeValue::Array(all) => {
                let tables = all.iter().filter_map(|e| Some((e.span(), e.get_ref().as_table()?)));
                let mut of_tables = tables.map(|(span, inner)| {
                    let whole = || span.contains(&at).then(|| Place { path: vec![], table: true });
                    find(inner, at).or_else(whole)
                });
                (of_tables.find_map(|found| found), false)
            }
            _ => (None, false),
        };
        let here = || (inside || key.span().contains(&at)).then(|| Place { path: vec![], table });
        let mut place = found.or_else(here)?;
        place.path.push(key.get_ref().to_string());
        Some(place)
    })
}

/// The share of a class as an exact decimal, from a number or a string.
///
/// # Errors
/// When it is neither, or has more than 18 digits.
pub fn share(value: &toml::Value) -> Result<Decimal, String> {
    match value {
        toml::Value::Integer(n) => Decimal::parse(&n.to_string()),
        // The shortest text that reads back as the number is what the file says.
        toml::Value::Float(f) => Decimal::parse(&f.to_string()),
        toml::Value::String(s) => Decimal::parse(s),
        _ => Err("is not a number".into()),
    }
}
