//! The soak: random legal scenarios, one a seed, with promises that hold in every clock, and a
//! report of what happened and what never did.

pub mod draw;
pub mod ledger;
mod link;
mod pools;
pub mod watch;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::check::{CheckError, RtlChoice};
use crate::diagnose::headline;
use crate::record::{NicCounts, Recorder};
use crate::run::{Mode, Outcome, run};
use crate::scenario::Source;
use crate::settings::settle;
use crate::world::{Node, World};
use draw::Scope;
use watch::Watch;

/// Of so many runs one is of the default build.
const DEFAULT_EVERY: u64 = 5;

/// What the report lists even if it never happened, beside what the pools' books do: drops (RX-1,
/// RX-2 …), refusals, deeds.
const DROPS: [&str; 13] = [
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
const LOSSES: [&str; 18] = [
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
    "reorder data",
    "reorder retransmission",
    "delay data",
    "delay retransmission",
];

/// What follows from losses: packets that go again and why, QPs whose budget ends, paths.
const RECOVERY: [&str; 15] = [
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
    "timer expired",
    "trimmed",
    "drop Pool",
    "drop QpFull",
];

/// Of the PCIe link: clocks of waiting for each buffer, rounds of all tags, wrong answers.
const PCIE: [&str; 6] = [
    "PCIe wait NIC TX",
    "PCIe wait NIC RX",
    "PCIe wait host TX",
    "PCIe wait host RX",
    "PCIe tags wrap",
    "PCIe wrong answer",
];

/// What to soak.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The first seed.
    pub first: u64,
    /// How many.
    pub seeds: u64,
    /// Ends after the run in which so many clocks are through.
    pub clocks: u64,
    /// Clocks of each seed after boot.
    pub each: u64,
    /// Data may be lost, corrupted, trimmed, reordered and delayed, control frames be lost.
    pub lossy: bool,
    /// What runs.
    pub mode: Mode,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct SeedResult {
    /// Seed.
    pub seed: u64,
    /// Build.
    pub build: &'static str,
    /// Clocks, boot included.
    pub clocks: u64,
    /// Messages that arrived whole.
    pub intact: u64,
    /// `finished` or `limit`, or what went wrong.
    pub outcome: String,
    /// Whether that is right.
    pub passed: bool,
    /// The scenario's file.
    pub scenario: String,
}

/// What a soak leaves.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What ran.
    pub mode: Mode,
    /// Clocks of all runs.
    pub clocks: u64,
    /// Those of the default build.
    pub default_clocks: u64,
    /// Messages that arrived whole.
    pub intact: u64,
    /// How often each thing happened, all NICs and all runs together.
    pub happened: BTreeMap<String, u64>,
    /// The runs.
    pub runs: Vec<SeedResult>,
}

/// Runs a plan; `told` hears how many clocks are through.
///
/// # Errors
/// When the RTL cannot be had; a run that fails stands in the report.
///
/// # Panics
/// When a scenario that was drawn is refused.
pub fn soak(
    plan: &Plan,
    choice: &RtlChoice,
    mut told: impl FnMut(u64),
) -> Result<Report, CheckError> {
    let mut report = Report {
        mode: plan.mode,
        clocks: 0,
        default_clocks: 0,
        intact: 0,
        happened: listed(plan.lossy),
        runs: Vec::new(),
    };
    for seed in plan.first..plan.first.saturating_add(plan.seeds) {
        let default_build = seed % DEFAULT_EVERY == DEFAULT_EVERY - 1;
        let scope = Scope { default_build, lossy: plan.lossy, clocks: plan.each };
        let result = one(seed, &scope, plan.mode, choice, &mut report.happened)?;
        report.clocks += result.clocks;
        told(report.clocks);
        report.default_clocks += if default_build { result.clocks } else { 0 };
        report.intact += result.intact;
        report.runs.push(result);
        if report.clocks >= plan.clocks {
            break;
        }
    }
    Ok(report)
}

fn listed(lossy: bool) -> BTreeMap<String, u64> {
    let drops = DROPS.iter().map(|d| format!("drop {d}"));
    let refusals = REFUSALS.iter().map(|r| format!("refuse {r}"));
    let deeds = DEEDS.iter().map(|d| format!("switch {d}"));
    let losses = LOSSES.iter().map(|d| format!("switch {d}"));
    let follows = RECOVERY.iter().map(|&what| what.to_owned());
    let links = PCIE.map(str::to_owned);
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
        .map(|name| (name, 0))
        .collect()
}

fn one(
    seed: u64,
    scope: &Scope,
    mode: Mode,
    choice: &RtlChoice,
    happened: &mut BTreeMap<String, u64>,
) -> Result<SeedResult, CheckError> {
    let scenario = draw::scenario(seed, scope);
    let settings = Source::parse(format!("seed {seed}"), scenario.clone())
        .and_then(|(source, file)| settle(&source, &file));
    let settings = settings.unwrap_or_else(|e| panic!("a drawn scenario is legal: {e}"));
    let recorder = Recorder::new(&World::new(&settings), None).expect("writes no file");
    let mut watch = Watch::new(recorder);
    let run = run(&settings, mode, choice, &mut watch)?;
    watch.rest(&run.world);
    for counts in &watch.recorder.counts {
        add(happened, counts);
    }
    *happened.entry("PSN wrap".into()).or_default() += watch.psn_wraps;
    *happened.entry(format!("run of {} NICs", settings.nics.len())).or_default() += 1;
    for (name, n) in watch.books.iter().flat_map(|book| &book.seen) {
        *happened.entry((*name).into()).or_default() += n;
    }
    run.world.nodes.iter().for_each(|node| pcie(happened, node));
    let (mut passed, mut outcome) = match &run.outcome {
        ended @ (Outcome::Finished | Outcome::Limit(_)) => (true, ended.word().to_owned()),
        Outcome::Mismatch(m) => (false, headline(&settings, m)),
        Outcome::Broken(what) => (false, what.clone()),
        Outcome::Stuck(waits) => (false, format!("stuck: {}", waits.join("; "))),
        other => (false, format!("{other:?}")),
    };
    if let Some((clock, what)) = watch.broken.filter(|_| passed) {
        (passed, outcome) = (false, format!("clock {clock}: {what}"));
    }
    Ok(SeedResult {
        seed,
        build: if scope.default_build { "default" } else { "small" },
        clocks: run.world.clock,
        intact: run.world.driver.intact,
        outcome,
        passed,
        scenario,
    })
}

/// Clocks for which each buffer of a link held something up, and what else its NIC met there.
fn pcie(happened: &mut BTreeMap<String, u64>, node: &Node) {
    let (waited, tags) = (node.pcie_waited(), node.nic.b.payload_fetch.busy.len() as u64);
    let counts = &node.host.counts;
    let counted = [
        waited.nic_transmit,
        waited.nic_receive,
        waited.host_transmit,
        waited.host_receive,
        (counts.reads + counts.stray_reads) / tags,
        counts.spoiled,
    ];
    for (name, n) in PCIE.iter().zip(counted) {
        *happened.entry((*name).into()).or_default() += n;
    }
}

fn add(happened: &mut BTreeMap<String, u64>, counts: &NicCounts) {
    let mut more = |name: String, n: u64| *happened.entry(name).or_default() += n;
    counts.dropped.iter().for_each(|(name, n)| more(format!("drop {name}"), *n));
    counts.refused.iter().for_each(|(name, n)| more(format!("refuse {name}"), *n));
    counts.switch.iter().for_each(|(name, n)| more(format!("switch {name}"), *n));
    counts.qp_errors.iter().for_each(|(name, n)| more(format!("QP error {name}"), *n));
    counts.bad_tlps.iter().for_each(|(reason, n)| more(format!("bad TLP {reason:#04x}"), *n));
    counts.failed_reads.iter().for_each(|(reason, n)| more(format!("failed read {reason}"), *n));
    more("replay stall".into(), counts.replay_stalls);
    more("tag stall".into(), counts.tag_stalls);
    more("duplicate".into(), counts.duplicates);
    more("out of order".into(), counts.out_of_order);
    more("trimmed".into(), counts.trimmed);
    more("timer expired".into(), counts.expiries);
    counts.paths.iter().for_each(|(what, n)| more(format!("path {what}"), *n));
    counts.queued.iter().for_each(|(cause, n)| more(format!("again {cause}"), *n));
}

impl Report {
    /// Every run ended as it should.
    pub fn passed(&self) -> bool {
        self.runs.iter().all(|r| r.passed)
    }

    /// For a terminal: what happened how often, what never did, and which seeds failed.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let (runs, clocks, default) = (self.runs.len(), self.clocks, self.default_clocks);
        let _ =
            writeln!(out, "{runs} seeds, {clocks} clocks, {default} of them in the default build");
        let _ = writeln!(out, "{} messages whole", self.intact);
        for (name, n) in self.happened.iter().filter(|h| *h.1 > 0) {
            let _ = writeln!(out, "  {name:<28} {n:>10}");
        }
        let never: Vec<_> =
            self.happened.iter().filter(|h| *h.1 == 0).map(|h| h.0.as_str()).collect();
        if !never.is_empty() {
            let _ = writeln!(out, "never: {}", never.join(", "));
        }
        for run in self.runs.iter().filter(|r| !r.passed) {
            let _ = writeln!(out, "seed {}: {}", run.seed, run.outcome);
        }
        out
    }
}
