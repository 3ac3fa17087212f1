//! The soak: random legal scenarios, one a seed, with promises that hold in every clock, and a
//! report of what happened and what never did.

pub mod draw;
pub mod ledger;
mod link;
pub mod met;
mod names;
mod pools;
pub mod watch;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::check::{CheckError, RtlChoice};
use crate::diagnose::headline;
use crate::host::Spoil;
use crate::record::{NicCounts, Recorder};
use crate::run::{Mode, Outcome, run};
use crate::scenario::Source;
use crate::settings::settle;
use crate::world::{Node, World};
use draw::Scope;
use names::{PCIE, listed};
use watch::Watch;

/// Of so many runs one is of the default build.
const DEFAULT_EVERY: u64 = 5;

/// From so many clocks on nothing that is listed may be missing, and a tenth of them must be in the
/// default build.
const LONG: u64 = 20_000_000;

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
    /// `finished`, `limit` or `stuck` where there is no end, or what went wrong.
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

fn one(
    seed: u64,
    scope: &Scope,
    mode: Mode,
    choice: &RtlChoice,
    happened: &mut BTreeMap<String, u64>,
) -> Result<SeedResult, CheckError> {
    let draw::Drawn { text: scenario, ends } = draw::scenario(seed, scope);
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
    let books = watch.books.iter().map(|book| &book.seen);
    for (name, n) in books.chain(watch.met.iter().map(|met| &met.seen)).flatten() {
        *happened.entry((*name).into()).or_default() += n;
    }
    run.world.nodes.iter().for_each(|node| pcie(happened, node));
    *happened.entry("run without an end".into()).or_default() += u64::from(!ends);
    let (mut passed, mut outcome) = match &run.outcome {
        Outcome::Finished => (true, "finished".to_owned()),
        cut @ (Outcome::Limit(_) | Outcome::Stuck(_)) if !ends => (true, cut.word().to_owned()),
        Outcome::Mismatch(m) => (false, headline(&settings, m)),
        Outcome::Limit(waits) => (false, format!("does not end: {}", waits.join("; "))),
        Outcome::Broken(what) => (false, what.clone()),
        Outcome::Assertion(nic, error) => (
            false,
            format!("NIC {} failed to {}", settings.nics[*nic].name, error.to_string().trim_end()),
        ),
        Outcome::Stuck(waits) => (false, format!("stuck: {}", waits.join("; "))),
        other @ Outcome::Memory(..) => (false, format!("{other:?}")),
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
    ];
    for (name, n) in PCIE.iter().zip(counted) {
        *happened.entry((*name).into()).or_default() += n;
    }
    for (name, n) in Spoil::NAMES.iter().zip(counts.spoiled).filter(|s| s.1 > 0) {
        *happened.entry(format!("wrong answer {name}")).or_default() += n;
    }
}

fn add(happened: &mut BTreeMap<String, u64>, counts: &NicCounts) {
    let mut more = |name: String, n: u64| {
        if n > 0 {
            *happened.entry(name).or_default() += n;
        }
    };
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
    more("control frames dropped".into(), counts.ctrl_drops);
    more("no round trip known".into(), counts.round_trips_unsure);
    counts.paths.iter().for_each(|(what, n)| more(format!("path {what}"), *n));
    counts.queued.iter().for_each(|(cause, n)| more(format!("again {cause}"), *n));
}

impl Report {
    /// Every run ended as it should.
    pub fn passed(&self) -> bool {
        self.runs.iter().all(|r| r.passed)
    }

    /// Why it is not as it should be: a run that failed, or what so long a soak has not met.
    pub fn complaint(&self) -> Option<String> {
        if !self.passed() {
            return Some("a seed failed".into());
        }
        let never = self.never();
        match () {
            () if self.clocks < LONG => None,
            () if !never.is_empty() => Some(format!("never met: {}", never.join(", "))),
            () if self.default_clocks * 10 < self.clocks => {
                Some("less than a tenth of the clocks were in the default build".into())
            }
            () => None,
        }
    }

    /// What is listed and has not happened.
    fn never(&self) -> Vec<&str> {
        self.happened.iter().filter(|h| *h.1 == 0).map(|h| h.0.as_str()).collect()
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
        let never = self.never();
        if !never.is_empty() {
            let _ = writeln!(out, "never: {}", never.join(", "));
        }
        for run in self.runs.iter().filter(|r| !r.passed) {
            let _ = writeln!(out, "seed {}: {}", run.seed, run.outcome);
        }
        out
    }
}
