//! `nicstep`: runs scenarios of the golden NIC model and its RTL.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use cosim::check::{CheckError, RtlChoice, build_nic};
use cosim::diagnose::{Spot, diagnose, headline};
use cosim::mutants::{self, Mutant, MutantError};
use cosim::record::Recorder;
use cosim::records::table::Format;
use cosim::run::{Mode, Outcome, Run, RunResult, run};
use cosim::scenario::Source;
use cosim::settings::{Settings, settle};
use cosim::summary::summary;
use verilated::{BuildError, Compare, Layout};

/// Exit codes: what a script can rely on.
mod code {
    /// The twins differ, or an expectation failed.
    pub const MISMATCH: u8 = 1;
    /// Bad input.
    pub const INPUT: u8 = 2;
    /// Tools missing or broken.
    pub const TOOLS: u8 = 3;
    /// The limit came first, or nothing moves any more.
    pub const LIMIT: u8 = 4;
}

/// A clocked golden model of an RDMA NIC, checked on every clock against its RTL.
#[derive(Parser)]
#[command(
    name = "nicstep",
    version,
    after_help = "Exit codes: 0 agrees, 1 mismatch or failed expectation, \
2 bad input, 3 tools missing or broken, 4 time limit, or nothing moves and not all is done."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scenario, in lockstep unless asked otherwise.
    Run(RunArgs),
    /// Plant each fault of fixtures/mutants/ in a copy of hdl/; its bench must find it.
    Mutate(MutateArgs),
    /// Run with drawn settings for a long time, and say what was met.
    #[command(subcommand)]
    Soak(cosim::soak::Unit),
}

#[derive(Args)]
struct MutateArgs {
    /// The faults of this file of hdl/, or of this bench, only.
    #[arg(long, value_name = "NAME")]
    block: Option<String>,
    /// How many to run at a time.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = cosim::soak::some())]
    jobs: u64,
    /// Those of `fixtures/mutants_model`/ instead, in a copy of rtl-model/, one at a time.
    #[arg(long)]
    model: bool,
    /// Plant nothing: list the faults of both twins by the rule that each breaks.
    #[arg(long)]
    rules: bool,
}

#[derive(Args)]
struct RunArgs {
    /// The scenario, a TOML file.
    scenario: PathBuf,
    /// Seed, instead of the scenario's.
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for result.json, frames.pcapng and the records, and waves.fst after a mismatch.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The records as Parquet instead of CSV; needs a nicstep built with `--features parquet`.
    #[arg(long, requires = "out")]
    parquet: bool,
    /// The model alone; needs no Verilator.
    #[arg(long, conflicts_with_all = ["rtl_only", "hdl", "top", "parameters"])]
    model_only: bool,
    /// The RTL alone, from the inputs that the model's environment gives; its ports are compared.
    #[arg(long)]
    rtl_only: bool,
    /// Leave the RTL's assertions out; with them a run takes up to a third longer.
    #[arg(long, conflicts_with = "model_only")]
    no_assertions: bool,
    /// Folder with the RTL.
    #[arg(long, value_name = "DIR")]
    hdl: Option<PathBuf>,
    /// Top module of the RTL, instead of `nic`; of a reliable connection what stands for `rc` in
    /// `rc_requester` and `rc_responder`.
    #[arg(long, value_name = "MODULE")]
    top: Option<String>,
    /// A parameter of the top module, beside those of the build's sizes.
    #[arg(long = "parameter", short = 'G', value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, u64)>,
}

fn parameter(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("give NAME=VALUE")?;
    Ok((name.to_owned(), value.parse().map_err(|e| format!("{value}: {e}"))?))
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Run(args) => run_command(&args),
        Command::Mutate(args) => mutate(&args),
        Command::Soak(unit) => soak(&unit),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, text)) => {
            eprintln!("nicstep: {text}");
            ExitCode::from(code)
        }
    }
}

type Failure = (u8, String);

impl RunArgs {
    fn mode(&self) -> Mode {
        match (self.model_only, self.rtl_only) {
            (true, _) => Mode::ModelOnly,
            (_, true) => Mode::RtlOnly,
            _ => Mode::Lockstep,
        }
    }

    #[cfg(feature = "parquet")]
    #[allow(clippy::unnecessary_wraps)] // as without the feature
    fn format(&self) -> Result<Format, Failure> {
        Ok(if self.parquet { Format::Parquet } else { Format::Csv })
    }

    #[cfg(not(feature = "parquet"))]
    fn format(&self) -> Result<Format, Failure> {
        if !self.parquet {
            return Ok(Format::Csv);
        }
        let what = "--parquet: this nicstep is built without Parquet; build it with \
                    `cargo build --release --features parquet`";
        Err((code::INPUT, what.into()))
    }

    fn choice(&self) -> RtlChoice {
        let default = RtlChoice::default();
        RtlChoice {
            hdl: self.hdl.clone().unwrap_or(default.hdl),
            top: self.top.clone().unwrap_or(default.top),
            parameters: self.parameters.clone(),
            assertions: !self.no_assertions,
            optimise: default.optimise,
        }
    }

    /// The command that does the same again.
    fn again(&self, seed: u64) -> String {
        let mut text = format!("nicstep run {} --seed {seed}", self.scenario.display());
        if let Some(hdl) = &self.hdl {
            let _ = write!(text, " --hdl {}", hdl.display());
        }
        if let Some(top) = &self.top {
            let _ = write!(text, " --top {top}");
        }
        if self.rtl_only {
            text += " --rtl-only";
        }
        if self.no_assertions {
            text += " --no-assertions";
        }
        for (name, value) in &self.parameters {
            let _ = write!(text, " -G {name}={value}");
        }
        text
    }
}

fn settings(args: &RunArgs) -> Result<Settings, Failure> {
    let input = |e: cosim::scenario::ScenarioError| (code::INPUT, e.to_string());
    let (source, file) = Source::read(&args.scenario).map_err(input)?;
    let mut settings = settle(&source, &file).map_err(input)?;
    settings.seed = args.seed.unwrap_or(settings.seed);
    Ok(settings)
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn tools(e: CheckError) -> Failure {
    let code = match &e {
        CheckError::Build(BuildError::Tool(_)) | CheckError::Rtl(_) => code::TOOLS,
        CheckError::Build(_) | CheckError::Layout(_) => code::INPUT,
    };
    (code, format!("failed to {e}"))
}

fn soak(unit: &cosim::soak::Unit) -> Result<(), Failure> {
    // A file that cannot be written is told before the run, not after it.
    let unwritten = |path: &Path, e: std::io::Error| {
        (code::INPUT, format!("failed to write {}: {e}", path.display()))
    };
    if let Some(path) = unit.out() {
        std::fs::write(path, "").map_err(|e| unwritten(path, e))?;
    }
    let soaked = cosim::soak::soak(unit).map_err(tools)?;
    print!("{}", soaked.text);
    if let Some(path) = unit.out() {
        std::fs::write(path, &soaked.json).map_err(|e| unwritten(path, e))?;
    }
    soaked.wrong.map_or(Ok(()), |wrong| Err((code::MISMATCH, wrong)))
}

/// A scenario of the reliable connection.
fn run_rc(args: &RunArgs) -> Result<(), Failure> {
    use cosim::rc::{record, run, scenario, summary};
    if args.parquet {
        let what = "--parquet: a reliable connection has no records of that kind (docs/rc.md)";
        return Err((code::INPUT, what.into()));
    }
    let mut settings = scenario::read(&args.scenario).map_err(|e| (code::INPUT, e.to_string()))?;
    settings.seed = args.seed.unwrap_or(settings.seed);
    let (mode, out) = (args.mode(), args.out.as_deref());
    let file = |e: std::io::Error| (code::INPUT, format!("failed to write records: {e}"));
    let mut recorder = record::Recorder::new(out).map_err(file)?;
    let run = run::run(&settings, mode, &args.choice(), &mut recorder).map_err(tools)?;
    let name = args.scenario.display().to_string();
    let result = run::RunResult::new(&name, mode, &run, &mut recorder);
    recorder.finish(out, &result).map_err(file)?;
    print!("{}", summary::summary(&result, &run));
    judge_rc(args, &settings, &run.outcome)
}

/// Turns the outcome into an exit code and a text.
fn judge_rc(
    args: &RunArgs,
    settings: &cosim::rc::scenario::Settings,
    outcome: &cosim::rc::run::Outcome,
) -> Result<(), Failure> {
    use cosim::rc::diagnose::{Spot, diagnose};
    use cosim::rc::{run::Outcome, summary::headline};
    let waves = args.out.as_ref().map(|o| o.join("waves.fst"));
    let window = |spot| {
        let looked = diagnose(settings, args.mode(), &args.choice(), &spot, waves.as_deref());
        looked.unwrap_or_else(|e| format!("failed to look at the window: {e}\n"))
    };
    let again = format!("To see it again: {}", args.again(settings.seed));
    match outcome {
        Outcome::Finished | Outcome::Failed => Ok(()),
        Outcome::Limit(waits) => {
            let text = format!("the limit of {} clocks came first; waiting:\n  ", settings.limit);
            Err((code::LIMIT, text + &waits.join("\n  ")))
        }
        Outcome::Broken(what) => Err((code::MISMATCH, what.join("\n"))),
        Outcome::Mismatch(m) => {
            Err((code::MISMATCH, headline(settings, m) + &window(Spot::Differs(m)) + &again))
        }
        Outcome::Assertion(unit, error) => {
            let ports = window(Spot::Failed(unit, error));
            let error = error.to_string();
            let text = format!("{unit} failed to {}\n{ports}", error.trim_end());
            Err((code::MISMATCH, text + &again))
        }
    }
}

fn run_command(args: &RunArgs) -> Result<(), Failure> {
    let unit = cosim::rc::scenario::is_rc(&args.scenario);
    if unit.map_err(|e| (code::INPUT, e.to_string()))? {
        return run_rc(args);
    }
    let format = args.format()?;
    let settings = settings(args)?;
    let mode = args.mode();
    let world = cosim::world::World::new(&settings);
    let out = args.out.as_deref();
    let mut recorder =
        Recorder::with_format(&world, out, format).map_err(|e| (code::INPUT, e.to_string()))?;
    drop(world);
    let run = run(&settings, mode, &args.choice(), &mut recorder).map_err(tools)?;
    let scenario = args.scenario.display().to_string();
    let result = RunResult::new(&scenario, mode, &run, &recorder);
    recorder.finish(&run.world, &result).map_err(|e| (code::INPUT, e.to_string()))?;
    print!("{}", summary(&result, &run));
    judge(args, &settings, &run)
}

/// Every fault, then for every bench an edit of comments, which it must pass.
fn mutate(args: &MutateArgs) -> Result<(), Failure> {
    let failed = |e: MutantError| match e {
        MutantError::Row { .. } => (code::INPUT, format!("failed to {e}")),
        _ => (code::TOOLS, format!("failed to {e}")),
    };
    let root = verilated::project_root();
    if args.rules {
        let mut all = mutants::all(&root).map_err(failed)?;
        all.extend(mutants::model::all(&root).map_err(failed)?);
        print!("{}", mutants::by_rule(&all));
        return Ok(());
    }
    let all = if args.model { mutants::model::all(&root) } else { mutants::all(&root) };
    let mut faults = all.map_err(failed)?;
    faults.retain(|m| args.block.as_ref().is_none_or(|b| *b == m.source || *b == m.bench));
    let mut files: Vec<_> = faults.iter().map(|m| (m.source.clone(), m.bench.clone())).collect();
    files.dedup();
    if !args.model {
        faults.extend(files.iter().map(|(source, bench)| Mutant::comment(source, bench)));
    }
    if faults.is_empty() {
        let name = args.block.as_deref().unwrap_or_default();
        let folder = if args.model { "mutants_model" } else { "mutants" };
        return Err((code::INPUT, format!("fixtures/{folder}/ has nothing of `{name}`")));
    }
    let bar = indicatif::ProgressBar::new(faults.len() as u64);
    let verdicts = if args.model {
        mutants::model::run_all(&faults, &root, |n| bar.set_position(n as u64))
    } else {
        let program = mutants::benches(&root).map_err(failed)?;
        let hdl = RtlChoice::default().hdl;
        mutants::run_all(&faults, &hdl, &program, args.jobs as usize, |n| {
            bar.set_position(n as u64);
        })
    };
    bar.finish_and_clear();
    let verdicts = verdicts.map_err(failed)?;
    print!("{}", mutants::table(&faults, &verdicts));
    let wrong = faults.iter().zip(&verdicts).filter(|(m, v)| !mutants::right(m, v)).count();
    println!("{} planted, {wrong} with the wrong end", faults.len());
    if wrong == 0 { Ok(()) } else { Err((code::MISMATCH, "not every fault was found".into())) }
}

/// The ports around a spot, and its waves where there is a folder for them.
fn window(
    args: &RunArgs,
    settings: &Settings,
    spot: impl FnOnce(&Layout) -> Spot,
) -> Result<String, Failure> {
    let waves = args.out.as_ref().map(|o| o.join("waves.fst"));
    let built = build_nic(&args.choice(), &settings.sizes, Compare::All).map_err(tools)?;
    let looked = diagnose(settings, &built, &spot(built.layout()), waves.as_deref());
    Ok(looked.unwrap_or_else(|e| format!("failed to look at the window: {e}\n")))
}

/// Turns the outcome into an exit code and a text.
fn judge(args: &RunArgs, settings: &Settings, run: &Run) -> Result<(), Failure> {
    let again = args.again(settings.seed);
    match &run.outcome {
        Outcome::Finished if run.world.driver.corrupted.is_empty() => Ok(()),
        Outcome::Finished => {
            let bad = &run.world.driver.corrupted;
            Err((code::MISMATCH, format!("messages {bad:?} did not arrive as they were sent")))
        }
        Outcome::Limit(waits) => {
            let text = format!("the limit of {} clocks came first; waiting:\n  ", settings.limit);
            Err((code::LIMIT, text + &waits.join("\n  ")))
        }
        Outcome::Stuck(waits) => {
            let text = format!("nothing moves at clock {}; waiting:\n  ", run.world.clock);
            Err((code::LIMIT, text + &waits.join("\n  ")))
        }
        Outcome::Broken(what) => {
            Err((code::MISMATCH, format!("broken promise, {what}\nTo see it again: {again}")))
        }
        Outcome::Mismatch(m) => {
            let text = headline(settings, m) + &window(args, settings, |_| Spot::of(m))?;
            Err((code::MISMATCH, format!("{text}To see it again: {again}")))
        }
        Outcome::Assertion(nic, error) => {
            let name = &settings.nics[*nic].name;
            let failed = |layout: &Layout| Spot::failed(*nic, error, layout);
            let ports = window(args, settings, failed)?;
            let error = error.to_string();
            let text = format!("NIC {name} failed to {}\n{ports}", error.trim_end());
            Err((code::MISMATCH, format!("{text}To see it again: {again}")))
        }
        Outcome::Memory(nic, memory, word, model, rtl) => {
            let name = &settings.nics[*nic].name;
            let text = format!("memory {memory} of NIC {name} differs at word {word} at the end\n");
            let values = format!("  model {model}\n  rtl   {rtl}\nTo see it again: {again}");
            Err((code::MISMATCH, text + &values))
        }
    }
}
