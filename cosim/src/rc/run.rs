//! Runs a scenario of a reliable connection: lockstep, the model alone, or the RTL from the
//! model's inputs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rtl_model::image::{Image, Writer, image_words};
use rtl_model::rc_requester::Requester;
use rtl_model::rc_responder::Responder;
use rtl_model::unit::Unit;
use serde::Serialize;
use verilated::{Compare, RtlError, Start};

use super::event::Sink;
use super::record::{Completion, Recorder};
use super::scenario::Settings;
use super::twin::{Twin, UnitMismatch, build_unit};
use super::world::{State, World, responder_sizes};
use crate::check::{CheckError, RtlChoice};
use crate::run::{Digest, Mode};

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// Every work request is retired and nothing moves.
    Finished,
    /// The same, and some of them were flushed.
    Failed,
    /// The limit came first; who waits for what.
    Limit(Vec<String>),
    /// A promise was broken: order, number of completions, bytes.
    Broken(Vec<String>),
    /// The twins differ.
    Mismatch(Box<UnitMismatch>),
    /// An assertion of the RTL of this unit failed.
    Assertion(&'static str, RtlError),
}

impl Outcome {
    /// In a word, for `result.json`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Limit(_) => "limit",
            Self::Broken(_) => "broken",
            Self::Mismatch(_) => "mismatch",
            Self::Assertion(..) => "assertion",
        }
    }
}

/// A run that has ended.
pub struct Run {
    /// How.
    pub outcome: Outcome,
    /// The world as it was then.
    pub world: World,
    /// Registers, output ports, bits and memories that were compared.
    pub compared: [u64; 4],
    /// A hash over all ports at every clock, and all state at the end.
    pub digest: u64,
    /// Wall time of the loop.
    pub wall: Duration,
}

/// `result.json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// The scenario's path.
    pub scenario: String,
    /// Seed.
    pub seed: u64,
    /// What ran.
    pub mode: Mode,
    /// How it ended, in a word.
    pub outcome: &'static str,
    /// Clocks.
    pub clocks: u64,
    /// A hash over all ports at every clock, and all state at the end.
    pub digest: String,
    /// Registers, output ports and bits compared at each clock, memories at the end.
    pub compared: [u64; 4],
    /// Work requests posted.
    pub posted: u64,
    /// Retired as they should.
    pub succeeded: u64,
    /// Ended with the reason of the connection's failure: the oldest that was not covered.
    pub failed: u64,
    /// Flushed behind it.
    pub flushed: u64,
    /// Most of them under way at once.
    pub most: usize,
    /// Completion entries, in the order in which they were written; the first 4,096.
    pub completions: Vec<Completion>,
    /// How often what happened; stalls in clocks.
    pub counts: BTreeMap<&'static str, u64>,
}

impl RunResult {
    /// What a run says.
    pub fn new(scenario: &str, mode: Mode, run: &Run, recorder: &mut Recorder) -> Self {
        let hosts = &run.world.hosts;
        Self {
            scenario: scenario.to_owned(),
            seed: run.world.settings.seed,
            mode,
            outcome: run.outcome.word(),
            clocks: run.world.clock,
            digest: format!("{:016x}", run.digest),
            compared: run.compared,
            posted: hosts.posted,
            succeeded: hosts.succeeded,
            failed: hosts.failed,
            flushed: hosts.flushed,
            most: hosts.most,
            completions: std::mem::take(&mut recorder.completions),
            counts: run.world.counts.by_name(),
        }
    }
}

/// Hashes both units' ports as they are before an edge.
#[derive(Default)]
struct Ports {
    words: Vec<u32>,
    digest: Digest,
}

impl Ports {
    fn add(&mut self, world: &World) {
        let (a, b) = (world.requester.ports(), world.responder.ports());
        if self.words.is_empty() {
            self.words = vec![0; image_words(&a.fields()) + image_words(&b.fields())];
        }
        let mut out = Writer::new(&mut self.words);
        a.write(&mut out);
        b.write(&mut out);
        self.digest.add(&self.words);
    }

    fn finish(mut self, world: &World) -> u64 {
        world.requester.instances(&mut |_, _, regs| self.digest.add(&regs.to_words()));
        world.responder.instances(&mut |_, _, regs| self.digest.add(&regs.to_words()));
        world.requester.memories(&mut |_, words| self.digest.add(&words));
        self.digest.0
    }
}

/// What an end's registers hold before its reset: the requester is 0, the responder 1.
pub fn start(settings: &Settings, end: u32) -> Start {
    Start::Random((settings.seed as u32).wrapping_add(end))
}

/// The RTL of both ends.
struct Twins {
    requester: Twin,
    responder: Twin,
}

impl Twins {
    fn new(world: &World, choice: &RtlChoice, compare: Compare) -> Result<Self, CheckError> {
        let s = &world.settings;
        let requester = build_unit::<Requester>(choice, &s.sizes, compare)?;
        let responder = build_unit::<Responder>(choice, &responder_sizes(s), compare)?;
        Ok(Self {
            requester: Twin::new(&requester, &world.requester, start(s, 0))?,
            responder: Twin::new(&responder, &world.responder, start(s, 1))?,
        })
    }

    /// One clock of both, before the model's edge.
    fn step(&mut self, world: &World) -> Result<(), Outcome> {
        let clock = world.clock;
        let failed = |unit| move |e: RtlError| Outcome::Assertion(unit, e.at(clock));
        let (a, b) = (&mut self.requester, &mut self.responder);
        let found = a.step(clock, &world.requester, &world.requester_inputs);
        let found = found.map_err(failed(Requester::TOP))?;
        let other = b.step(clock, &world.responder, &world.responder_inputs);
        let other = other.map_err(failed(Responder::TOP))?;
        found.or(other).map_or(Ok(()), |m| Err(Outcome::Mismatch(Box::new(m))))
    }

    fn memories(&self, world: &World) -> Option<Outcome> {
        let found = self.requester.memory_difference(world.clock, &world.requester);
        found.map(|m| Outcome::Mismatch(Box::new(m)))
    }

    fn compared(&self) -> [u64; 4] {
        let (a, b) = (self.requester.compared(), self.responder.compared());
        std::array::from_fn(|n| a[n] + b[n])
    }
}

/// Runs to the end of the scenario.
///
/// # Errors
/// When the RTL cannot be had.
pub fn run(
    settings: &Settings,
    mode: Mode,
    choice: &RtlChoice,
    sink: &mut impl Sink,
) -> Result<Run, CheckError> {
    run_with(settings, mode, choice, sink, |_| ())
}

/// The same, with a look at the world before each edge.
///
/// # Errors
/// As `run`.
pub fn run_with(
    settings: &Settings,
    mode: Mode,
    choice: &RtlChoice,
    sink: &mut impl Sink,
    mut look: impl FnMut(&World),
) -> Result<Run, CheckError> {
    let mut world = World::new(settings);
    let compare = match mode {
        Mode::ModelOnly => None,
        Mode::Lockstep => Some(Compare::All),
        Mode::RtlOnly => Some(Compare::Top),
    };
    let mut twins = compare.map(|c| Twins::new(&world, choice, c)).transpose()?;
    let start = Instant::now();
    let mut ports = Ports::default();
    let mut stopped = None;
    while stopped.is_none() && world.clock < settings.limit && world.state() == State::Going {
        world.settle(sink);
        look(&world);
        ports.add(&world);
        if let Some(twins) = &mut twins {
            stopped = twins.step(&world).err();
        }
        if stopped.is_none() {
            world.edge();
        }
    }
    let wall = start.elapsed();
    let differs = || twins.as_ref().and_then(|t| t.memories(&world));
    let outcome = stopped.or_else(differs).unwrap_or(Outcome::Finished);
    let outcome = judge(outcome, &mut world);
    let compared = twins.as_ref().map_or([0; 4], Twins::compared);
    let digest = ports.finish(&world);
    Ok(Run { outcome, world, compared, digest, wall })
}

/// A run whose twins agree: whether all is done, and as it should be.
fn judge(outcome: Outcome, world: &mut World) -> Outcome {
    if !matches!(outcome, Outcome::Finished) {
        return outcome;
    }
    let done = world.state() == State::Finished;
    if done && !world.failed() {
        world.hosts.settle(world.responder.respond.msn);
    }
    match (&world.hosts.broken[..], done, world.failed()) {
        ([], false, _) => Outcome::Limit(world.waits()),
        ([], true, true) => Outcome::Failed,
        ([], true, false) => Outcome::Finished,
        (broken, ..) => Outcome::Broken(broken.to_vec()),
    }
}
