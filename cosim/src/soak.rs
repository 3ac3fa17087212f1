//! `nicstep soak`: long runs with drawn settings, and a report of what they met.

pub mod nic;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::check::{CheckError, RtlChoice};
use crate::run::Mode;

/// What is soaked.
#[derive(Subcommand)]
pub enum Unit {
    /// The reliable connection: requester and responder over a network that loses packets.
    Rc(Amount),
    /// Whole NICs: random legal scenarios, with promises that hold in every clock.
    Nic(Nics),
}

/// How long, and with what.
#[derive(Args)]
pub struct Nics {
    #[command(flatten)]
    amount: Amount,
    /// Clocks of each seed after boot.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = some())]
    each: u64,
    /// Data may be lost, corrupted, trimmed, reordered and delayed too.
    #[arg(long)]
    lossy: bool,
    /// File for the whole report as JSON, with each seed's scenario.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How long.
#[derive(Args)]
pub struct Amount {
    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Seeds at most, no end unless given; each is a run with settings of its own.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true, value_parser = some())]
    pub seeds: u64,
    /// Ends after the run in which so many clocks are through.
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = some())]
    pub clocks: u64,
    /// The model alone; needs no Verilator.
    #[arg(long)]
    pub model_only: bool,
    /// Leave the RTL's assertions out; with them a soak takes up to a third longer.
    #[arg(long)]
    pub no_assertions: bool,
}

/// A number from 1 on.
pub fn some() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..)
}

impl Amount {
    /// What runs.
    pub fn mode(&self) -> Mode {
        if self.model_only { Mode::ModelOnly } else { Mode::Lockstep }
    }

    fn choice(&self) -> RtlChoice {
        RtlChoice { assertions: !self.no_assertions, ..RtlChoice::default() }
    }
}

impl Unit {
    /// The file that the whole report goes to.
    pub fn out(&self) -> Option<&Path> {
        match self {
            Self::Rc(_) => None,
            Self::Nic(nics) => nics.out.as_deref(),
        }
    }
}

/// A soak's report, and what is wrong with it, if anything.
pub struct Soaked {
    /// The report.
    pub text: String,
    /// The whole of it, where there is more.
    pub json: String,
    /// Why it is not as it should be.
    pub wrong: Option<String>,
}

/// Soaks.
///
/// # Errors
/// When the RTL cannot be had.
pub fn soak(unit: &Unit) -> Result<Soaked, CheckError> {
    match unit {
        Unit::Rc(amount) => rc(amount),
        Unit::Nic(nics) => nic(nics),
    }
}

fn nic(nics: &Nics) -> Result<Soaked, CheckError> {
    let amount = &nics.amount;
    let bar = indicatif::ProgressBar::new(amount.clocks);
    let choice = amount.choice();
    let plan = nic::Plan {
        first: amount.seed,
        seeds: amount.seeds,
        clocks: amount.clocks,
        each: nics.each,
        lossy: nics.lossy,
        mode: amount.mode(),
    };
    let report = nic::soak(&plan, &choice, |n| bar.set_position(n))?;
    bar.finish_and_clear();
    let wrong = report.complaint();
    let json = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
    Ok(Soaked { text: report.table(), json, wrong })
}

fn rc(amount: &Amount) -> Result<Soaked, CheckError> {
    use crate::rc::soak::{soak, text};
    let bar = indicatif::ProgressBar::new(amount.clocks);
    let choice = amount.choice();
    let (seed, seeds, clocks) = (amount.seed, amount.seeds, amount.clocks);
    let report = soak(seed, seeds, clocks, amount.mode(), &choice, |n| bar.set_position(n))?;
    bar.finish_and_clear();
    Ok(Soaked { text: text(&report), json: String::new(), wrong: report.complaint() })
}
