//! A scenario's NICs with every attribute settled: what goes into registers and into the hosts.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use rtl_model::header::{ICRC_BYTES, TSETH_BYTES};
use rtl_model::retransmit::TIMEOUT_PLACES;
use rtl_model::sizes::Sizes;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::buffers::{Buffers, Overheads, SACK_WIRE};
use crate::driver::{LOWEST, SOURCES, TARGETS};
use crate::host::{HostConfig, Room};
use crate::keys::{HERE, rule_of};
use crate::records::settings::{IntervalSettings, RecordSettings};
use crate::scenario::{
    Build, CLK_PS, Fault, FaultKind, File, Message, Nic, Pcie, Profile, ScenarioError, Source,
    TimestampMode,
};
use crate::switch::downlink::DownlinkSettings;
use crate::switch::settings::SwitchSettings;
use crate::units::{Rate, Size, Time};

/// The smallest frame: a cumulative ACK (ACK-1).
const ACK_WIRE: u64 = 62;
/// Limits of a link buffer: room for one header, and for all that its memory can hold.
const HEADER_BUFFER: std::ops::RangeInclusive<u64> = 16..=16_384;
/// Room for one transfer, and for all that its memory can hold.
const DATA_BUFFER: std::ops::RangeInclusive<u64> = 512..=262_144;
/// Words that the ingress buffer keeps for a frame that is still coming.
pub(crate) const INGRESS_SPARE_WORDS: u64 = 130;

/// One NIC and its host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NicSettings {
    /// Name in records.
    pub name: String,
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// Largest payload.
    pub mss: u64,
    /// PSN window.
    pub range: u64,
    /// PSNs that a packet may be behind the highest one listed without being lost.
    pub loss: u64,
    /// First PSN.
    pub initial_psn: u64,
    /// Units a clock on the wire.
    pub wire_rate: u64,
    /// Units a clock from NIC to host.
    pub pcie_rate: u64,
    /// Clocks from the end of serialisation to arrival.
    pub delay: u64,
    /// Initial window, bytes.
    pub window: u64,
    /// One group for each destination.
    pub groups: bool,
    /// First transmissions may be trimmed.
    pub trimming: bool,
    /// Retransmissions have a codepoint of their own.
    pub distinct_rtx: bool,
    /// The first timers of a packet: microseconds with 41 binary places.
    pub ack_timeout: u64,
    /// Timers that last as long as the first.
    pub linear: u64,
    /// Timers after them; 25: no budget.
    pub expo: u64,
    /// All timers last as long as the first.
    pub fixed: bool,
    /// Completion entries take link time.
    pub cqe_on_link: bool,
    /// Frames carry an invariant CRC.
    pub icrc: bool,
    /// Data packets carry the time of their making (RTT-1).
    pub stamps: bool,
    /// Clocks from a completion to the close.
    pub close_delay: u64,
    /// What the profile sets.
    pub overheads: Overheads,
    /// Pools, disciplines, PFC, the penalty.
    pub buffers: Buffers,
    /// The switch's port to it.
    pub downlink: DownlinkSettings,
    /// Which records it has.
    pub records: RecordSettings,
    /// Header bytes that can wait for the PCIe link.
    pub tx_header: u64,
    /// Payload bytes that can wait for the PCIe link.
    pub tx_data: u64,
    /// Header bytes that can be received.
    pub rx_header: u64,
    /// Payload bytes that can be received.
    pub rx_data: u64,
    /// Header and payload bytes that the host can receive.
    pub far: [u64; 2],
    /// Payload of a write at most.
    pub max_payload: u64,
    /// Bytes of time of a transfer beside its payload.
    pub overhead: u64,
    /// Bytes of time of a read beside that.
    pub read_request: u64,
    /// The host's side.
    pub host: HostConfig,
    /// Where the host's sources and targets begin.
    pub bases: [u64; 2],
}

/// Messages of one entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageSettings {
    /// Index of the sender.
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// Least and most bytes.
    pub bytes: (u64, u64),
    /// How many.
    pub count: u64,
    /// Posted and not complete, at most.
    pub outstanding: u64,
    /// Clocks after boot.
    pub at: u64,
    /// Low address bits.
    pub offset: u64,
    /// All on one QP.
    pub one_qp: bool,
}

/// A fault that a NIC meets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FaultSettings {
    /// Index of the NIC.
    pub nic: usize,
    /// What comes.
    pub kind: FaultKind,
    /// How often.
    pub count: u64,
    /// Clocks after boot.
    pub at: u64,
}

/// A whole scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// Seed of everything random.
    pub seed: u64,
    /// Clocks after which the run is given up.
    pub limit: u64,
    /// Sizes of the build.
    pub sizes: Sizes,
    /// The NICs.
    pub nics: Vec<NicSettings>,
    /// The messages.
    pub messages: Vec<MessageSettings>,
    /// The faults.
    pub faults: Vec<FaultSettings>,
    /// What the switch does.
    pub switch: SwitchSettings,
    /// What holds for all NICs' records.
    pub records: IntervalSettings,
}

/// Checks a parsed scenario and settles its attributes.
///
/// # Errors
/// At the first attribute that cannot work.
pub fn settle(source: &Source, file: &File) -> Result<Settings, ScenarioError> {
    let mut sizes = match file.build {
        Build::Default => Sizes::DEFAULT,
        Build::Small => Sizes::SMALL,
    };
    joined(source, &file.nic)?;
    // A place of the peer table and a group for each NIC (QP-1, SCH-1).
    let places = file.nic.len().next_power_of_two() as u32;
    (sizes.dests, sizes.qps) = (sizes.dests.max(places), sizes.qps.max(places));
    let check = Check { source, sizes, profile: file.profile };
    let limit = check.clocks("limit", Some(&file.limit), 0)?;
    if limit == 0 {
        return Err(source.error(file.limit.span(), "limit", "must be at least one clock", None));
    }
    let mut nics = Vec::new();
    for nic in &file.nic {
        let settled = check.nic(nic, &file.defaults)?;
        check.unlike(nic, &settled, &nics)?;
        nics.push(settled);
    }
    // A port whose rate is not given keeps pace with every NIC.
    let fastest = nics.iter().map(|n: &NicSettings| n.wire_rate).max().unwrap_or_default();
    for nic in nics.iter_mut().filter(|n| n.downlink.rate == 0) {
        nic.downlink.rate = fastest;
    }
    let message = |m| check.message(m, &nics);
    let messages = file.message.iter().map(message).collect::<Result<Vec<_>, _>>()?;
    let fault = |f: &Spanned<Fault>| check.fault(f.get_ref(), &nics);
    let faults = file.fault.iter().map(fault).collect::<Result<_, _>>()?;
    let records = check.parameters(&file.parameters)?;
    let switch = check.switch(&file.switch, &nics, &messages)?;
    Ok(Settings { seed: file.seed, limit, sizes, nics, messages, faults, switch, records })
}

/// NICs of a scenario: as many as the peer table has places (QP-1).
const NICS: std::ops::RangeInclusive<usize> = 2..=64;

fn joined(source: &Source, nics: &[Spanned<Nic>]) -> Result<(), ScenarioError> {
    if NICS.contains(&nics.len()) {
        return Ok(());
    }
    let at = nics.get(*NICS.end()).or(nics.last()).map_or(0..0, Spanned::span);
    let (least, most) = (NICS.start(), NICS.end());
    let what = format!("{} NICs: a scenario joins {least} to {most}", nics.len());
    let error = source.error(at, "nic", what, Some("QP-1"));
    Err(ScenarioError { key: "nic".into(), ..error })
}

/// Holds a scenario's values against the rules; what is wrong is told with its place.
pub struct Check<'a> {
    pub(crate) source: &'a Source,
    pub(crate) sizes: Sizes,
    profile: Profile,
}

/// The NIC's own attribute, else the defaults'.
macro_rules! pick {
    ($nic:expr, $defaults:expr, $($field:ident).+) => {
        $nic.$($field).+.as_ref().or($defaults.$($field).+.as_ref())
    };
}
pub(crate) use pick;

impl NicSettings {
    /// The window's unit, with or without time stamps (CC-1).
    pub fn unit(&self) -> u64 {
        let stamp = if self.stamps { u64::from(TSETH_BYTES) } else { 0 };
        self.mss + self.overheads.nominal - stamp
    }

    /// Bytes of an ICRC in each frame.
    pub fn trailer(&self) -> u64 {
        if self.icrc { u64::from(ICRC_BYTES) } else { 0 }
    }
}

impl Check<'_> {
    pub(crate) fn error<T>(
        &self,
        at: &Spanned<T>,
        key: &str,
        what: impl Into<String>,
        rule: &'static str,
    ) -> ScenarioError {
        self.source.error(at.span(), key, what, Some(rule))
    }

    pub(crate) fn number(
        &self,
        key: &str,
        value: Option<&Spanned<u64>>,
        default: u64,
        legal: std::ops::RangeInclusive<u64>,
        rule: &'static str,
    ) -> Result<u64, ScenarioError> {
        let Some(value) = value else { return Ok(default.min(*legal.end())) };
        if legal.contains(value.get_ref()) {
            return Ok(*value.get_ref());
        }
        let (least, most) = (legal.start(), legal.end());
        let what = match *most {
            u64::MAX => format!("{} is less than {least}", value.get_ref()),
            _ => format!("{} is not from {least} to {most}", value.get_ref()),
        };
        Err(self.error(value, key, what, rule))
    }

    pub(crate) fn clocks(
        &self,
        key: &str,
        value: Option<&Spanned<Time>>,
        default: u64,
    ) -> Result<u64, ScenarioError> {
        let Some(value) = value else { return Ok(default) };
        let ps = value.get_ref().0;
        if ps % CLK_PS == 0 {
            return Ok(ps / CLK_PS);
        }
        let what = format!("is not a whole number of clocks of {CLK_PS} ps");
        let mut error = self.source.error(value.span(), key, what, None);
        error.rule = Some(rule_of(&error.key));
        Err(error)
    }

    /// Microseconds with 41 binary places, rounded down.
    fn ack_timeout(&self, value: Option<&Spanned<Time>>) -> Result<u64, ScenarioError> {
        let ps = value.map_or(150_000_000, |v| v.get_ref().0);
        if let Some(value) = value.filter(|_| !(1_000..=8_000_000_000_000).contains(&ps)) {
            let what = "is not from 1 ns to 8 s".to_owned();
            return Err(self.error(value, "InitialAckTimeout", what, "TMR-3"));
        }
        Ok(((u128::from(ps) << TIMEOUT_PLACES) / 1_000_000) as u64)
    }

    /// Units a clock of a rate; `most` is what the bus can carry.
    fn rate(rate: u64, most: u64, rule: &'static str) -> Result<u64, (String, &'static str)> {
        let units = u128::from(rate) * u128::from(CLK_PS);
        if rate == 0 || units % 1_000_000_000 != 0 {
            return Err((format!("{rate} bps is not a whole number of units a clock"), rule));
        }
        let units = (units / 1_000_000_000) as u64;
        if units > most {
            return Err((
                format!("{rate} bps is more than the bus carries ({} Gbps)", most / 1_000),
                rule,
            ));
        }
        Ok(units)
    }

    pub(crate) fn wire_rate(&self, value: Option<&Spanned<Rate>>) -> Result<u64, ScenarioError> {
        let Some(value) = value else { return Ok(400_000) };
        // At most one frame starts a clock, and the smallest is a cumulative ACK.
        let most = ACK_WIRE * rtl_model::types::BYTE_UNITS;
        Self::rate(value.get_ref().0, most, "PKT-2")
            .map_err(|(what, rule)| self.error(value, "DataRate", what, rule))
    }

    fn pcie_rate(&self, end: &Pcie, defaults: &Pcie) -> Result<u64, ScenarioError> {
        let lanes = end.lane_count.as_ref().or(defaults.lane_count.as_ref());
        let bps = end.lane_bps.as_ref().or(defaults.lane_bps.as_ref());
        let count = self.number("LaneCount", lanes, 16, 1..=32, "PCI-2")?;
        let lane = bps.map_or(31_520_000_000, |b| b.get_ref().0);
        // At most one TLP starts a clock: 30 B of payload and 34 B of overhead.
        let most = 64 * rtl_model::types::BYTE_UNITS;
        Self::rate(count.saturating_mul(lane), most, "PCI-2").map_err(|(what, rule)| {
            let span = lanes.map_or_else(|| bps.map_or(0..0, Spanned::span), Spanned::span);
            self.source.error(span, "LaneCount × LaneBps", what, Some(rule))
        })
    }

    pub(crate) fn size(
        &self,
        key: &str,
        value: Option<&Spanned<Size>>,
        default: u64,
        legal: std::ops::RangeInclusive<u64>,
        rule: &'static str,
    ) -> Result<u64, ScenarioError> {
        let Some(value) = value else { return Ok(default) };
        let bytes = value.get_ref().0;
        if legal.contains(&bytes) {
            return Ok(bytes);
        }
        let what = format!("{bytes} B is not from {} to {} B", legal.start(), legal.end());
        Err(self.error(value, key, what, rule))
    }

    /// CC-1: the window that a group starts with, in bytes.
    fn window(
        &self,
        n: &Nic,
        d: &Nic,
        mss: u64,
        overheads: Overheads,
    ) -> Result<u64, ScenarioError> {
        let bytes_of = |n: &Nic| n.congestion_window.clone();
        for table in [n, d] {
            if let (Some(_), Some(bytes)) = (&table.max_congestion_window, bytes_of(table)) {
                let what = "stands beside MaxCongestionWindow: give one of the two";
                return Err(self.error(&bytes, "CongestionWindow", what, "CC-1"));
            }
        }
        // What the NIC says goes before what the defaults say, in either unit.
        let defaults = n.max_congestion_window.is_none().then(|| bytes_of(d)).flatten();
        let packets = self.number(
            "MaxCongestionWindow",
            pick!(n, d, max_congestion_window),
            overheads.window,
            1..=100_000,
            "CC-1",
        )?;
        self.size(
            "CongestionWindow",
            bytes_of(n).or(defaults).as_ref(),
            packets * (mss + overheads.nominal),
            1..=u64::from(u32::MAX),
            "CC-1",
        )
    }

    fn nic(&self, at: &Spanned<Nic>, d: &Nic) -> Result<NicSettings, ScenarioError> {
        let n = at.get_ref();
        let (name, address) = self.identity(at)?;
        let overheads = self.profile.overheads();
        let mss = self.number("MSS", pick!(n, d, mss), 4096, 1..=8192, "SEG-1")?;
        let psns = u64::from(self.sizes.psns);
        let loss = pick!(n, d, sack_loss_min_retx_pkts);
        let loss = self.number("SACKLossMinRetxPkts", loss, 512, 0..=2047, "LOS-1")?;
        let range =
            self.number("MaxPSNRange", pick!(n, d, max_psn_range), 1024, 1..=psns, "SEG-2")?;
        let window = self.window(n, d, mss, overheads)?;
        let delay = self.clocks("Delay", pick!(n, d, delay), 100)?;
        if delay == 0 || delay >> 24 > 0 {
            let span = pick!(n, d, delay).map_or(0..0, Spanned::span);
            let what = "must be at least a clock, and less than 2^24";
            return Err(self.source.error(span, "Delay", what, Some("PKT-2")));
        }
        let pcie_rate = self.pcie_rate(&n.pcie, &d.pcie)?;
        let link = self.link_buffers(&n.pcie, &d.pcie)?;
        let far = self.link_buffers(&n.host_pcie, &d.host_pcie)?;
        let overhead = self.overhead(&n.pcie, &d.pcie)?;
        let read_request = self.size(
            "ReadRequestSize",
            pick!(n, d, pcie.read_request_size),
            64,
            0..=1023,
            "PCI-3",
        )?;
        let host = HostConfig {
            nic_rate: pcie_rate,
            nic_costs: [overhead, read_request],
            nic_receive: Room::of_bytes(link[2], link[3]),
            transmit: Room::of_bytes(far[0], far[1]),
            receive: Room::of_bytes(far[2], far[3]),
            ..self.host(n, d)?
        };
        let icrc = pick!(n, d, icrc_enable).copied().unwrap_or(false);
        let (stamps, overheads) = self.stamps(pick!(n, d, rtt_timestamp_mode), overheads)?;
        let trailer = if icrc { u64::from(ICRC_BYTES) } else { 0 };
        let largest = [mss + overheads.wire + trailer, SACK_WIRE + trailer];
        self.one_end_only(&n.pcie, &n.host_pcie)?;
        self.one_end_only(&d.pcie, &d.host_pcie)?;
        let buffers = self.buffers(at, d, largest, overheads.charge_less)?;
        let data_rate = self.wire_rate(pick!(n, d, data_rate))?;
        let downlink = self.downlink(&n.downlink, &d.downlink, delay)?;
        let settled = NicSettings {
            name,
            address,
            mss,
            range,
            loss,
            initial_psn: self.number(
                "InitialPSN",
                pick!(n, d, initial_psn),
                0,
                0..=0xff_ffff,
                "QP-4",
            )?,
            wire_rate: if downlink.rate == 0 { data_rate } else { data_rate.min(downlink.rate) },
            pcie_rate,
            delay,
            window,
            groups: pick!(n, d, qp_groups_enabled).copied().unwrap_or(true),
            trimming: pick!(n, d, trimming_enabled).copied().unwrap_or(true),
            distinct_rtx: pick!(n, d, use_distinct_dscp_for_retransmits).copied().unwrap_or(true),
            ack_timeout: self.ack_timeout(pick!(n, d, initial_ack_timeout))?,
            linear: self.number(
                "LinearRetryCount",
                pick!(n, d, linear_retry_count),
                7,
                0..=7,
                "TMR-3",
            )?,
            expo: self.number(
                "ExponentialRetryCount",
                pick!(n, d, exponential_retry_count),
                25,
                0..=25,
                "TMR-4",
            )?,
            fixed: pick!(n, d, fixed_rexmit_time_enable).copied().unwrap_or(false),
            cqe_on_link: pick!(n, d, cqe_on_link).copied().unwrap_or(false),
            icrc,
            stamps,
            close_delay: self.clocks("CloseDelay", pick!(n, d, close_delay), 0)?,
            overheads,
            buffers,
            downlink,
            records: self.records(n, d)?,
            tx_header: link[0],
            tx_data: link[1],
            rx_header: link[2],
            rx_data: link[3],
            far: [far[2], far[3]],
            max_payload: self.max_payload(&n.pcie, &d.pcie)?,
            overhead,
            read_request,
            host,
            bases: self.bases(&n.host_pcie, &d.host_pcie)?,
        };
        Ok(settled)
    }

    /// A link end's buffers: transmit and receive, headers and payload (PCI-4).
    fn link_buffers(&self, end: &Pcie, d: &Pcie) -> Result<[u64; 4], ScenarioError> {
        let header = |key, value| self.size(key, value, 16_000, HEADER_BUFFER, "PCI-4");
        let data = |key, value| self.size(key, value, 256_000, DATA_BUFFER, "PCI-4");
        Ok([
            header("TXHeaderBufferSize", pick!(end, d, tx_header_buffer_size))?,
            data("TXDataBufferSize", pick!(end, d, tx_data_buffer_size))?,
            header("RXHeaderBufferSize", pick!(end, d, rx_header_buffer_size))?,
            data("RXDataBufferSize", pick!(end, d, rx_data_buffer_size))?,
        ])
    }

    /// A key of one end of the link at the other end, where it would change nothing.
    fn one_end_only(&self, nic: &Pcie, host: &Pcie) -> Result<(), ScenarioError> {
        let (times, places) =
            ("a time of the host's: write HostPCIe", "the host's: write HostPCIe");
        let wrong = [
            (nic.drain_delay.as_ref().map(Spanned::span), "DrainDelay", times, "PCI-4"),
            (nic.drain_stops.as_ref().map(Spanned::span), "DrainStops", times, "PCI-4"),
            (nic.disorder.as_ref().map(Spanned::span), "Disorder", times, "PCI-1"),
            (nic.latency.as_ref().map(Spanned::span), "Latency", times, "PCI-1"),
            (nic.rcb.as_ref().map(Spanned::span), "RCB", places, "PCI-5"),
            (nic.source_base.as_ref().map(Spanned::span), "SourceBase", places, "PCI-5"),
            (nic.target_base.as_ref().map(Spanned::span), "TargetBase", places, "PCI-5"),
            (
                host.read_request_size.as_ref().map(Spanned::span),
                "ReadRequestSize",
                "the NIC's, a host reads nothing: write PCIe",
                "PCI-3",
            ),
        ];
        let first = wrong.into_iter().find_map(|(span, key, what, rule)| {
            span.map(|span| self.source.error(span, key, format!("is {what}.{key}"), Some(rule)))
        });
        first.map_or(Ok(()), Err)
    }

    fn bases(&self, end: &Pcie, d: &Pcie) -> Result<[u64; 2], ScenarioError> {
        Ok([
            self.base("SourceBase", pick!(end, d, source_base), SOURCES)?,
            self.base("TargetBase", pick!(end, d, target_base), TARGETS)?,
        ])
    }

    /// Where buffers begin: clear of the completion ring, each of them on a page.
    fn base(
        &self,
        key: &str,
        value: Option<&Spanned<u64>>,
        default: u64,
    ) -> Result<u64, ScenarioError> {
        if let Some(value) = value.filter(|v| v.get_ref() % 4096 != 0) {
            return Err(self.error(value, key, "is not on a page of 4,096 B", "PCI-5"));
        }
        self.number(key, value, default, LOWEST..=1 << 60, "PCI-5")
    }

    fn overhead(&self, end: &Pcie, d: &Pcie) -> Result<u64, ScenarioError> {
        self.size("TransferOverhead", pick!(end, d, transfer_overhead), 34, 0..=255, "PCI-3")
    }

    fn max_payload(&self, end: &Pcie, d: &Pcie) -> Result<u64, ScenarioError> {
        let Some(size) = pick!(end, d, max_payload_size) else { return Ok(512) };
        if [128, 256, 512].contains(&size.get_ref().0) {
            return Ok(size.get_ref().0);
        }
        Err(self.error(size, "MaxPayloadSize", "must be 128, 256 or 512 B", "PCI-3"))
    }

    fn records(&self, n: &Nic, d: &Nic) -> Result<RecordSettings, ScenarioError> {
        let every = pick!(n, d, transport_stats_report_interval);
        Ok(RecordSettings {
            transport: pick!(n, d, enable_transport_stats).copied().unwrap_or(true),
            transport_every: self.interval("TransportStatsReportInterval", every)?,
            events: pick!(n, d, enable_event_logging).copied().unwrap_or(true),
            monitor: pick!(n, d, enable_monitor).copied().unwrap_or(false),
            buffers: pick!(n, d, enable_buffer_stats).copied().unwrap_or(false),
        })
    }

    /// The host's side, but for what the NIC's side says.
    fn host(&self, n: &Nic, d: &Nic) -> Result<HostConfig, ScenarioError> {
        let (end, d) = (&n.host_pcie, &d.host_pcie);
        let rcb = pick!(end, d, rcb);
        if let Some(rcb) = rcb.filter(|r| ![64, 128].contains(r.get_ref())) {
            return Err(self.error(rcb, "RCB", "must be 64 or 128", "PCI-5"));
        }
        Ok(HostConfig {
            rate: self.pcie_rate(end, d)?,
            rcb: rcb.map_or(128, |r| *r.get_ref()),
            max_payload: self.max_payload(end, d)? as u32,
            overhead: self.overhead(end, d)?,
            latency: self.clocks("Latency", pick!(end, d, latency), 0)?,
            disorder: self.clocks("Disorder", pick!(end, d, disorder), 0)?,
            drain: self.clocks("DrainDelay", pick!(end, d, drain_delay), 0)?,
            drain_stops: self.clocks("DrainStops", pick!(end, d, drain_stops), u64::MAX)?,
            nic_rate: 1,
            nic_costs: [0; 2],
            transmit: Room::default(),
            receive: Room::default(),
            nic_receive: Room::default(),
        })
    }

    fn identity(&self, at: &Spanned<Nic>) -> Result<(String, Ipv4Addr), ScenarioError> {
        let nic = at.get_ref();
        let Some(name) = &nic.name else {
            return Err(self.error(at, "name", "a NIC needs a name", "QP-1"));
        };
        let Some(address) = &nic.address else {
            return Err(self.error(at, "address", "a NIC needs an IPv4 address", "QP-1"));
        };
        self.name(name)?;
        let text = address.get_ref();
        let parsed: Ipv4Addr = text.parse().map_err(|_| {
            self.error(address, "address", format!("`{text}` is not an IPv4 address"), "QP-1")
        })?;
        if parsed.is_unspecified() || parsed.is_broadcast() || parsed.is_multicast() {
            let what = format!("{text} is no address of one NIC");
            return Err(self.error(address, "address", what, "QP-1"));
        }
        Ok((name.get_ref().clone(), parsed))
    }

    /// A name stands in records and scopes: letters, digits and `-`, `_`, `.`, up to 64.
    fn name(&self, name: &Spanned<String>) -> Result<(), ScenarioError> {
        let text = name.get_ref();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts && text.len() <= 64 && text.chars().all(plain) {
            return Ok(());
        }
        let what = format!(
            "{text:?} is not 1 to 64 letters, digits, `-`, `_` and `.`, from a letter or digit on"
        );
        Err(self.error(name, "name", what, "QP-1"))
    }

    /// RTT-1: whether packets carry the time of their making, and their headers with it.
    fn stamps(
        &self,
        mode: Option<&Spanned<TimestampMode>>,
        overheads: Overheads,
    ) -> Result<(bool, Overheads), ScenarioError> {
        let wire = |m: &&Spanned<TimestampMode>| *m.get_ref() == TimestampMode::WireTimestamp;
        let Some(mode) = mode.filter(wire) else { return Ok((false, overheads)) };
        if self.profile == Profile::Uet {
            let what = "profile `uet` has no time stamps in its packets";
            return Err(self.error(mode, "RTTTimestampMode", what, "section 0"));
        }
        Ok((true, overheads.stamped()))
    }

    fn unlike(
        &self,
        at: &Spanned<Nic>,
        new: &NicSettings,
        nics: &[NicSettings],
    ) -> Result<(), ScenarioError> {
        let names: HashSet<_> = nics.iter().map(|n| &n.name).collect();
        if names.contains(&new.name) {
            let what = format!("two NICs are called `{}`", new.name);
            return Err(self.error(at, "name", what, "QP-1"));
        }
        if nics.iter().any(|n| n.address == new.address) {
            let what = format!("two NICs have the address {}", new.address);
            return Err(self.error(at, "address", what, "QP-1"));
        }
        if nics.iter().any(|n| n.icrc != new.icrc) {
            let what = "one NIC expects an ICRC and the other one sends none";
            return Err(self.error(at, "ICRCEnable", what, "PKT-1"));
        }
        if nics.iter().any(|n| n.stamps != new.stamps) {
            let what = "is another one at the other NIC: both ends lay out packets alike";
            return Err(self.error(at, "RTTTimestampMode", what, "RTT-1"));
        }
        if nics.iter().any(|n| n.initial_psn != new.initial_psn) {
            let what = "is not that of the NICs before: a QP's first PSN is the same at both ends";
            return Err(self.error(at, "InitialPSN", what, "QP-4"));
        }
        Ok(())
    }

    pub(crate) fn index(
        &self,
        key: &str,
        name: &Spanned<String>,
        nics: &[NicSettings],
    ) -> Result<usize, ScenarioError> {
        nics.iter().position(|n| n.name == *name.get_ref()).ok_or_else(|| {
            let what = format!("there is no NIC `{}`", name.get_ref());
            self.error(name, key, what, "QP-1")
        })
    }

    fn message(
        &self,
        at: &Spanned<Message>,
        nics: &[NicSettings],
    ) -> Result<MessageSettings, ScenarioError> {
        let m = at.get_ref();
        let (from, to) = (self.index("from", &m.from, nics)?, self.index("to", &m.to, nics)?);
        if from == to {
            return Err(self.error(&m.to, "to", "a NIC does not write to itself", "QP-1"));
        }
        let least = m.bytes.get_ref().0;
        let most = m.most.as_ref().unwrap_or(&m.bytes);
        if most.get_ref().0 > i32::MAX as u64 {
            let what = format!("{} B is above 2^31 - 1 B", most.get_ref().0);
            let key = if m.most.is_some() { "most" } else { "bytes" };
            return Err(self.error(most, key, what, "QP-2"));
        }
        if most.get_ref().0 < least {
            let what = format!("{} B is less than `bytes`, {least} B", most.get_ref().0);
            return Err(self.error(most, "most", what, "QP-2"));
        }
        let offset = self.number("offset", m.offset.as_ref(), 0, 0..=4_095, "PCI-5")?;
        let outstanding = self.number(
            "outstanding",
            m.outstanding.as_ref(),
            u64::from(self.sizes.msgs),
            1..=u64::from(self.sizes.msgs),
            "QP-2",
        )?;
        Ok(MessageSettings {
            from,
            to,
            bytes: (least, most.get_ref().0),
            count: self.number("count", m.count.as_ref(), 1, 1..=u64::MAX, HERE)?,
            outstanding,
            at: self.clocks("at", m.at.as_ref(), 0)?,
            offset,
            one_qp: m.one_qp,
        })
    }

    fn fault(&self, f: &Fault, nics: &[NicSettings]) -> Result<FaultSettings, ScenarioError> {
        Ok(FaultSettings {
            nic: self.index("nic", &f.nic, nics)?,
            kind: f.kind,
            count: self.number("count", f.count.as_ref(), 1, 1..=u64::MAX, HERE)?,
            at: self.clocks("at", f.at.as_ref(), 0)?,
        })
    }
}
