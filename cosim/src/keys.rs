//! The keys of a scenario, and the rule behind each.

/// The rule of what no rule of the NIC says.
pub const HERE: &str = "docs/scenarios.md";

/// The rule of the keys of a reliable connection.
pub const RC: &str = "docs/rc.md";

/// Keys above all tables.
pub const TOP: &[(&str, &str)] = &[
    ("about", HERE),
    ("seed", HERE),
    ("limit", HERE),
    ("profile", "section 0"),
    ("build", HERE),
    ("defaults", HERE),
    ("nic", "QP-1"),
    ("message", "QP-2"),
    ("fault", HERE),
    ("switch", HERE),
    ("SimulationParameters", "section 15"),
];

/// Keys of `[[nic]]` and, but for the first two, of `[defaults]`.
pub const NIC: &[(&str, &str)] = &[
    ("name", "QP-1"),
    ("address", "QP-1"),
    ("MSS", "SEG-1"),
    ("MaxPSNRange", "SEG-2"),
    ("SACKLossMinRetxPkts", "LOS-1"),
    ("InitialPSN", "QP-4"),
    ("DataRate", "PKT-2"),
    ("Delay", "PKT-2"),
    ("MaxCongestionWindow", "CC-1"),
    ("CongestionWindow", "CC-1"),
    ("QPGroupsEnabled", "SCH-1"),
    ("TrimmingEnabled", "PKT-3"),
    ("UseDistinctDSCPForRetransmits", "PKT-3"),
    ("InitialAckTimeout", "TMR-3"),
    ("LinearRetryCount", "TMR-3"),
    ("ExponentialRetryCount", "TMR-4"),
    ("FixedRexmitTimeEnable", "TMR-3"),
    ("CqeOnLink", "PCI-6"),
    ("RTTTimestampMode", "RTT-1"),
    ("ICRCEnable", "PKT-1"),
    ("CloseDelay", "QP-5"),
    ("EnableTransportStats", "section 15"),
    ("TransportStatsReportInterval", "section 15"),
    ("EnableEventLogging", "section 15"),
    ("EnableMonitor", "section 15"),
    ("EnableBufferStats", "section 15"),
    ("ReceiverCongestionLowThreshold", "BUF-6"),
    ("ReceiverCongestionHighThreshold", "BUF-6"),
    ("Downlink.DataRate", "PKT-2"),
    ("Downlink.BufferSize", "PKT-3"),
    ("Downlink.MarkThreshold", "PKT-3"),
    ("Downlink.HonoursPauses", "PFC-4"),
    ("PrefetchBufferEnable", "BUF-5"),
    ("PrefetchBufferSize", "BUF-5"),
    ("EgressBufferManager.TotalBufferSize", "BUF-1"),
    ("EgressBufferManager.PoolAllocationVector", "BUF-1"),
    ("EgressBufferManager.QueueSchedulingType", "ARB-1"),
    ("EgressBufferManager.WRRQueueWeights", "ARB-2"),
    ("IngressBufferManager.TotalBufferSize", "BUF-1"),
    ("IngressBufferManager.PoolAllocationVector", "BUF-1"),
    ("IngressBufferManager.QueueSchedulingType", "BUF-4"),
    ("IngressBufferManager.WRRQueueWeights", "BUF-4"),
    ("IngressBufferManager.PFCEnableVector", "PFC-1"),
    ("IngressBufferManager.PfcStaticXoffThreshold", "PFC-1"),
    ("IngressBufferManager.PfcXonResumeThreshold", "PFC-3"),
    ("IngressBufferManager.QuantaValue", "PFC-1"),
    ("PCIe.LaneCount", "PCI-2"),
    ("PCIe.LaneBps", "PCI-2"),
    ("PCIe.TXHeaderBufferSize", "PCI-4"),
    ("PCIe.TXDataBufferSize", "PCI-4"),
    ("PCIe.RXHeaderBufferSize", "PCI-4"),
    ("PCIe.RXDataBufferSize", "PCI-4"),
    ("PCIe.MaxPayloadSize", "PCI-3"),
    ("PCIe.TransferOverhead", "PCI-3"),
    ("PCIe.ReadRequestSize", "PCI-3"),
    ("HostPCIe.LaneCount", "PCI-2"),
    ("HostPCIe.LaneBps", "PCI-2"),
    ("HostPCIe.TXHeaderBufferSize", "PCI-4"),
    ("HostPCIe.TXDataBufferSize", "PCI-4"),
    ("HostPCIe.RXHeaderBufferSize", "PCI-4"),
    ("HostPCIe.RXDataBufferSize", "PCI-4"),
    ("HostPCIe.MaxPayloadSize", "PCI-3"),
    ("HostPCIe.TransferOverhead", "PCI-3"),
    ("HostPCIe.DrainDelay", "PCI-4"),
    ("HostPCIe.DrainStops", "PCI-4"),
    ("HostPCIe.Disorder", "PCI-1"),
    ("HostPCIe.RCB", "PCI-5"),
    ("HostPCIe.Latency", "PCI-1"),
    ("HostPCIe.SourceBase", "PCI-5"),
    ("HostPCIe.TargetBase", "PCI-5"),
];

/// Keys of `[[message]]`.
pub const MESSAGE: &[(&str, &str)] = &[
    ("from", "QP-1"),
    ("to", "QP-1"),
    ("bytes", "QP-2"),
    ("most", "QP-2"),
    ("count", HERE),
    ("outstanding", "QP-2"),
    ("at", HERE),
    ("offset", "PCI-5"),
    ("one_qp", "QP-1"),
];

/// Keys of `[[fault]]`.
pub const FAULT: &[(&str, &str)] =
    &[("nic", "QP-1"), ("kind", HERE), ("count", HERE), ("at", HERE)];

/// Keys of `[[switch]]`.
pub const SWITCH: &[(&str, &str)] = &[
    ("action", HERE),
    ("from", "QP-1"),
    ("to", "QP-1"),
    ("kind", HERE),
    ("psn", "QP-2"),
    ("message", HERE),
    ("transmission", HERE),
    ("after", HERE),
    ("until", HERE),
    ("skip", HERE),
    ("every", HERE),
    ("probability", HERE),
    ("count", HERE),
    ("copies", HERE),
    ("frames", HERE),
    ("most_frames", HERE),
    ("by", HERE),
    ("most", HERE),
    ("classes", "PFC-4"),
    ("quanta", "PFC-4"),
    ("at", HERE),
    ("gap", HERE),
];

/// Keys of `[SimulationParameters]`.
pub const PARAMETERS: &[(&str, &str)] = &[
    ("NDStatsReportInterval", "section 15"),
    ("NetworkBufferStatsReportingInterval", "section 15"),
    ("EnableNetworkBufferStatsReporting", "section 15"),
    ("EnableNetworkBufferSeries", "section 15"),
];

/// The rule of a key with all tables that it is in, or of the nearest of those.
pub fn rule_of(path: &str) -> &'static str {
    let (table, key) = path.split_once('.').unwrap_or(("", path));
    let keys = match table {
        "nic" | "defaults" => NIC,
        "message" => MESSAGE,
        "fault" => FAULT,
        "switch" => SWITCH,
        "SimulationParameters" => PARAMETERS,
        "connection" | "network" | "host" | "work" => return RC,
        _ => TOP,
    };
    keys.iter().find(|(name, _)| *name == key).map_or(HERE, |(_, rule)| *rule)
}
