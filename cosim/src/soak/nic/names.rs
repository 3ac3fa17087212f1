//! What a soak's report lists even if it never happened.

use std::collections::BTreeMap;

use super::{ledger, met};
use crate::host::Spoil;

/// Drops (RX-1, RX-2 …), refusals, deeds.
const DROPS: [&str; 14] = [
    "Short",
    "Fcs",
    "EtherType",
    "Mac",
    "IpHeader",
    "IpSum",
    "IpAddr",
    "Port",
    "Opcode",
    "Length",
    "Peer",
    "Qp",
    "Psn",
    "Icrc",
];
const REFUSALS: [&str; 9] =
    ["Size", "Opcode", "Reserved", "Peer", "Length", "Qp", "QpFull", "MsgFull", "QpError"];
/// What the switch does to frames in any run, and what only a lossy run bears.
const DEEDS: [&str; 11] = [
    "mark data",
    "mark ACK",
    "mark SACK",
    "mark NACK",
    "delay ACK",
    "delay SACK",
    "duplicate data",
    "duplicate ACK",
    "duplicate SACK",
    "pause pause",
    "paused pause",
];
const LOSSES: [&str; 19] = [
    "mark probe",
    "mark retransmission",
    "delay NACK",
    "duplicate NACK",
    "drop data",
    "drop retransmission",
    "drop ACK",
    "drop SACK",
    "drop NACK",
    "corrupt data",
    "corrupt retransmission",
    "trim data",
    "trim retransmission",
    "trim-last-hop data",
    "trim-last-hop retransmission",
    "reorder data",
    "reorder retransmission",
    "delay data",
    "delay retransmission",
];

/// What follows from losses: packets that go again and why, QPs whose budget ends, paths.
const RECOVERY: [&str; 19] = [
    "again Gap",
    "again Trimmed",
    "again LastHop",
    "again Range",
    "again Timeout",
    "again Cover",
    "QP error Timeout",
    "QP error Nack",
    "path bad",
    "path good",
    "path skipped",
    "path probes_missed",
    "control frames dropped",
    "no round trip known",
    "run without an end",
    "timer expired",
    "trimmed",
    "drop Pool",
    "drop QpFull",
];

/// Of the PCIe link: clocks of waiting for each buffer, rounds of all tags.
pub const PCIE: [&str; 5] = [
    "PCIe wait NIC TX",
    "PCIe wait NIC RX",
    "PCIe wait host TX",
    "PCIe wait host RX",
    "PCIe tags wrap",
];

/// Every name, none of which has happened yet.
pub fn listed(lossy: bool) -> BTreeMap<String, u64> {
    let drops = DROPS.iter().map(|d| format!("drop {d}"));
    let refusals = REFUSALS.iter().map(|r| format!("refuse {r}"));
    let deeds = DEEDS.iter().map(|d| format!("switch {d}"));
    let losses = LOSSES.iter().map(|d| format!("switch {d}"));
    let follows =
        RECOVERY.iter().chain(&met::LOSSES).chain(&ledger::LOSSES).map(|&what| what.to_owned());
    // One that comes twice is not drawn.
    let wrong = Spoil::NAMES.iter().filter(|name| **name != "twice");
    let wrong = wrong.map(|name| format!("wrong answer {name}"));
    let links = PCIE.map(str::to_owned).into_iter().chain(wrong);
    let bad = (1..=7).map(|n| format!("bad TLP {:#04x}", 0x10 | n));
    let failed = (2..=7).map(|n| format!("failed read {n}"));
    let joined = [2, 3, 4].map(|n| format!("run of {n} NICs"));
    let rest =
        ["QP error Read", "replay stall", "tag stall", "duplicate", "out of order", "PSN wrap"];
    drops
        .chain(refusals)
        .chain(deeds)
        .chain(losses.chain(follows).filter(|_| lossy))
        .chain(rest.map(str::to_owned))
        .chain(joined)
        .chain(links)
        .chain(bad)
        .chain(failed)
        .chain(ledger::NAMES.map(str::to_owned))
        .chain(met::NAMES.map(str::to_owned))
        .map(|name| (name, 0))
        .collect()
}
