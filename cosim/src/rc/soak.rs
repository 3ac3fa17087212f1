//! A soak of the reliable connection: run after run, each with settings drawn from its seed, in
//! lockstep, until so many clocks are through.

use std::fmt::Write as _;

use rtl_model::rng::Rng;
use rtl_model::sizes::Sizes;

use super::diagnose::{Spot, diagnose};
use super::record::Counts;
use super::run::{Outcome, run};
use super::scenario::{Kind, Settings, WorkSettings};
use super::summary::headline;
use super::twin::UnitMismatch;
use crate::check::{CheckError, RtlChoice};
use crate::run::{Digest, Mode};

/// What a soak has gone through.
pub struct Report {
    /// A line for each seed: settings and outcome.
    pub lines: Vec<String>,
    /// Clocks in the default build and in the small one.
    pub clocks: [u64; 2],
    /// Work requests posted, retired, failed, flushed.
    pub work: [u64; 4],
    /// Runs that ended with a failed connection.
    pub failed: u64,
    /// Most work requests under way at once.
    pub most: usize,
    /// How often what happened.
    pub counts: Counts,
    /// A hash over the digests of all runs.
    pub digest: u64,
    /// The first run that did not end as it should: its seed and why.
    pub wrong: Option<String>,
}

/// Clocks from which on a soak must have met all that `missing` tells.
pub const LONG: u64 = 10_000_000;

/// Of this many clocks one at least is in the default build.
const SHARE: u64 = 10;

impl Report {
    /// Clocks in both builds.
    pub fn all_clocks(&self) -> u64 {
        self.clocks.iter().sum()
    }

    /// Whether the default build has its share.
    fn shared(&self) -> bool {
        self.clocks[0].saturating_mul(SHARE) >= self.all_clocks()
    }

    /// What this soak has not met.
    pub fn missing(&self) -> Vec<String> {
        let never = self.counts.rows().filter(|(_, n)| *n == 0);
        let mut missing: Vec<_> = never.map(|(name, _)| name.to_owned()).collect();
        if !self.shared() {
            missing.push("a tenth of the clocks in the default build".to_owned());
        }
        let most = Sizes::DEFAULT.wqes;
        if self.most < most as usize {
            missing.push(format!("{most} work requests at once"));
        }
        missing
    }

    /// What is wrong with it: a run, or what so long a soak should have met.
    pub fn complaint(&self) -> Option<String> {
        let missing = self.missing();
        let late = self.all_clocks() >= LONG && !missing.is_empty();
        let never = late.then(|| format!("never met: {}", missing.join(", ")));
        self.wrong.clone().or(never)
    }
}

/// Runs `seeds` of them at most, from seed `first` on, until `clocks` are through and a tenth of
/// all are in the default build.
///
/// # Errors
/// When the RTL cannot be had.
pub fn soak(
    first: u64,
    seeds: u64,
    clocks: u64,
    mode: Mode,
    choice: &RtlChoice,
    mut each: impl FnMut(u64),
) -> Result<Report, CheckError> {
    let mut report = Report {
        lines: Vec::new(),
        clocks: [0; 2],
        work: [0; 4],
        failed: 0,
        most: 0,
        counts: Counts::default(),
        digest: 0,
        wrong: None,
    };
    let mut digest = Digest::default();
    for seed in first..=first.saturating_add(seeds.saturating_sub(1)) {
        let through = report.all_clocks() >= clocks && report.shared();
        if through || report.wrong.is_some() {
            break;
        }
        let settings = draw(seed);
        let run = run(&settings, mode, choice, &mut ())?;
        let (world, hosts) = (&run.world, &run.world.hosts);
        let small = usize::from(settings.sizes == Sizes::SMALL);
        report.clocks[small] += world.clock;
        let work = [hosts.posted, hosts.succeeded, hosts.failed, hosts.flushed];
        for (sum, n) in report.work.iter_mut().zip(work) {
            *sum += n;
        }
        report.most = report.most.max(hosts.most);
        report.counts.merge(&world.counts);
        digest.add(&[run.digest as u32, (run.digest >> 32) as u32]);
        report.lines.push(line(&settings, world.clock, hosts.posted, run.outcome.word()));
        match &run.outcome {
            Outcome::Finished => {}
            Outcome::Failed => report.failed += 1,
            Outcome::Mismatch(m) => report.wrong = Some(difference(&settings, mode, choice, m)),
            Outcome::Assertion(unit, error) => {
                let error = error.to_string();
                report.wrong = Some(format!("seed {seed}: {unit} failed to {}", error.trim_end()));
            }
            other => report.wrong = Some(format!("seed {seed}: {other:?}")),
        }
        each(report.all_clocks());
    }
    report.digest = digest.0;
    Ok(report)
}

/// A difference and the ports that led there.
fn difference(settings: &Settings, mode: Mode, choice: &RtlChoice, m: &UnitMismatch) -> String {
    let ports = diagnose(settings, mode, choice, &Spot::Differs(m), None);
    let ports = ports.unwrap_or_else(|e| format!("failed to look at the window: {e}"));
    headline(settings, m) + &ports
}

/// The settings of a seed. Every third is of the default build; many start at a wrap.
pub fn draw(seed: u64) -> Settings {
    let mut rng = Rng::new(seed, "soak");
    let sizes = if seed.is_multiple_of(3) { Sizes::DEFAULT } else { Sizes::SMALL };
    let mtu = rng.pick(&[8, 8, 9, 10, 12]);
    let sequence = |rng: &mut Rng| match rng.below(3) {
        0 => 0,
        1 => 0xff_fff0 + rng.below(16) as u32,
        _ => rng.below(1 << 24) as u32,
    };
    let (psn, msn) = (sequence(&mut rng), sequence(&mut rng));
    let losses = [0, 1, 3, 10, 20, 30];
    // A responder with fewer records than READs and ATOMICs under way is misused, and must still
    // not carry anything out twice.
    let misused = rng.percent(20);
    let records = if misused { 2 } else { sizes.reads };
    let least = if misused { u64::from(sizes.reads) } else { 1 };
    let depth = rng.between(least, u64::from(sizes.reads)) as u8;
    let delay = rng.pick(&[1, 10, 100, 400]);
    Settings {
        seed,
        limit: 5_000_000,
        mtu,
        psn,
        msn,
        retries: rng.pick(&[7, 7, 7, 3, 0]),
        timeout: (4 * delay + rng.pick(&[200, 600, 2_000])) as u32,
        depth,
        records,
        early: rng.percent(50),
        coalesce: rng.pick(&[1, 1, 2, 8, 255]),
        delay,
        loss: [rng.pick(&losses), rng.pick(&losses)],
        refuse: rng.percent(15).then(|| rng.between(1, 200)),
        stall: rng.pick(&[0, 0, 20, 60]),
        cqe_stall: rng.pick(&[0, 0, 30, 95]),
        atomic: rng.pick(&[0, 10, 100]),
        work: work(&mut rng, mtu),
        ..Settings::plain(sizes)
    }
}

/// Bursts of all kinds, with lengths around a few packets.
fn work(rng: &mut Rng, mtu: u8) -> Vec<WorkSettings> {
    let packet = 1 << mtu;
    let mut at = 0;
    let bursts = rng.between(3, 12);
    let draw = |_| {
        at += rng.pick(&[0, 0, 5_000, 20_000]);
        let kind = rng.pick(&[Kind::Mixed, Kind::Mixed, Kind::Send, Kind::Read, Kind::Atomic]);
        let bytes = rng.pick(&[
            (0, 2 * packet),
            (packet - 1, packet + 1),
            (0, 0),
            (3 * packet, 6 * packet),
            (18 * packet, 20 * packet),
        ]);
        let signal = rng.pick(&[None, Some(true), Some(false)]);
        WorkSettings { kind, bytes, count: rng.between(20, 120), signal, at }
    };
    (0..bursts).map(draw).collect()
}

fn line(s: &Settings, clocks: u64, posted: u64, outcome: &str) -> String {
    format!(
        "{:>6} {:<7} {clocks:>8} {posted:>5} {outcome:<8} MTU {:>4} PSN {:06x} MSN {:06x} {:<5} \
         loss {:>2}/{:>2} retries {} depth {:>2} records {:>2} coalesce {:>3} delay {:>3} \
         timeout {:>4} stall {:>2}/{:>2}",
        s.seed,
        if s.sizes == Sizes::SMALL { "small" } else { "default" },
        1 << s.mtu,
        s.psn,
        s.msn,
        if s.early { "early" } else { "late" },
        s.loss[0],
        s.loss[1],
        s.retries,
        s.depth,
        s.records,
        s.coalesce,
        s.delay,
        s.timeout,
        s.stall,
        s.cqe_stall,
    )
}

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    for line in &report.lines {
        let _ = writeln!(out, "{line}");
    }
    let [default, small] = report.clocks;
    let [posted, retired, failed, flushed] = report.work;
    let _ = writeln!(out, "\nruns           {} ({} failed)", report.lines.len(), report.failed);
    let all = report.all_clocks();
    let _ = writeln!(out, "clocks         {all}: {default} default build, {small} small");
    let most = report.most;
    let _ = writeln!(
        out,
        "work requests  {posted} posted, {retired} retired, {failed} failed, {flushed} flushed; \
         {most} at once"
    );
    for (what, n) in report.counts.rows() {
        let _ = writeln!(out, "  {what:<36} {n:>9}");
    }
    let missing = report.missing();
    if !missing.is_empty() && all < LONG {
        let missing = missing.join(", ");
        let _ = writeln!(out, "not met        {missing}; from {LONG} clocks on all must be");
    }
    let _ = writeln!(out, "digest         {:016x}", report.digest);
    out
}
