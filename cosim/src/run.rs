//! Runs a scenario: lockstep, the model alone, or the RTL from the model's inputs.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rtl_model::image::{Bits, Image, Writer, image_words};
use rtl_model::types::Refuse;
use serde::Serialize;
use verilated::{Built, Compare, Layout, Rtl, RtlError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::check::{CheckError, Checked, NicMismatch, NicRtl, RtlChoice, Stop, build_nic};
use crate::event::{Nowhere, Sink};
use crate::pcie::PcieStats;
use crate::record::{NicCounts, Recorder, Timed};
use crate::scenario::FaultKind;
use crate::settings::Settings;
use crate::world::{State, World};

/// Clocks between two looks at the progress bar and at whether all is done.
const BATCH: u64 = 1_024;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Model and RTL, every output and register compared at every clock.
    Lockstep,
    /// The model alone.
    ModelOnly,
    /// The RTL from the inputs that the model's environment gives; its ports are compared.
    RtlOnly,
}

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// All messages are through and nothing moves.
    Finished,
    /// The limit came first; who waits for what.
    Limit(Vec<String>),
    /// Nothing moves and nothing is due, and yet not all is done; who waits for what.
    Stuck(Vec<String>),
    /// The golden side has broken a promise: clock, NIC, what is held and what is counted.
    Broken(String),
    /// The twins differ.
    Mismatch(Box<NicMismatch>),
    /// An assertion of the RTL failed, at this NIC.
    Assertion(usize, RtlError),
    /// A memory differed at the end: NIC, memory, word, both values.
    Memory(usize, String, usize, String, String),
}

/// What is compared at each clock, over all NICs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Registers.
    pub registers: usize,
    /// Output ports of blocks.
    pub outputs: usize,
    /// Bits of both.
    pub bits: u64,
    /// Memories compared whole at the end.
    pub memories: usize,
}

impl Compared {
    fn of(layout: &Layout, nics: usize) -> Self {
        let outputs = layout.places.iter().filter(|p| p.kind == verilated::Kind::Output).count();
        Self {
            registers: (layout.places.len() - outputs) * nics,
            outputs: outputs * nics,
            bits: layout.compared_bits() * nics as u64,
            memories: layout.memories.len() * nics,
        }
    }
}

/// One message in `result.json`.
#[derive(Clone, Debug, Serialize)]
pub struct MessageResult {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Bytes.
    pub bytes: u32,
    /// QP number at the sender.
    pub qpn: Option<u32>,
    /// Clock of the post.
    pub posted: Option<u64>,
    /// Clock in which the `SEND_COMPLETE` entry had arrived.
    pub send_complete: Option<u64>,
    /// The same for `WQE_COMPLETE`.
    pub wqe_complete: Option<u64>,
    /// The same for `RECV_COMPLETE`.
    pub recv_complete: Option<u64>,
    /// The refusal code, where the doorbell was refused.
    pub refused: Option<u8>,
    /// The clock in which its QP came into error (QP-6): it never completes.
    pub failed: Option<u64>,
    /// Why it never completes: what put its QP in error, or the refusal by name.
    pub why: Option<String>,
}

/// What came of a `[[switch]]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleResult {
    /// Its place in the scenario, from 1.
    pub table: usize,
    /// What it does.
    pub action: &'static str,
    /// Frames that it means; of a pause, frames sent.
    pub matched: u64,
    /// Frames that it acted on.
    pub acted: u64,
    /// How many it was asked for, where the scenario says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
}

/// What came of a `[[fault]]` table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FaultResult {
    /// What came.
    pub kind: FaultKind,
    /// The NIC that met it.
    pub nic: String,
    /// How often it came; of a read's answer, how many reads were answered so.
    pub acted: u64,
    /// How often it was asked for.
    pub asked: u64,
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
    /// Clock from which messages' times count.
    pub boot: u64,
    /// Simulated time.
    pub simulated_ns: u64,
    /// A hash over the ports of every NIC at every clock, and all state at the end.
    pub digest: String,
    /// What was compared at each clock; nothing for the model alone.
    pub compared: Compared,
    /// The messages, in the order of their posts.
    pub messages: Vec<MessageResult>,
    /// Messages whose bytes were found whole at the receiver.
    pub intact: u64,
    /// Counts of each NIC, by name.
    pub nics: std::collections::BTreeMap<String, NicCounts>,
    /// The PCIe link of each NIC, by name.
    pub pcie: std::collections::BTreeMap<String, PcieStats>,
    /// The tables of the switch, in the order of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub switch: Vec<RuleResult>,
    /// The faults, in the order of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultResult>,
    /// The first exact ends of transfers and frames after boot.
    pub moments: Vec<Timed>,
}

/// A run that has ended.
pub struct Run {
    /// How.
    pub outcome: Outcome,
    /// The world as it was then.
    pub world: World,
    /// What was compared.
    pub compared: Compared,
    /// The ports' hash.
    pub digest: u64,
    /// Wall time of the loop.
    pub wall: Duration,
}

/// A hash that depends on every word and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Digest {
    /// Adds words.
    pub fn add(&mut self, words: &[u32]) {
        for words in words.chunks(128) {
            let mut bytes = [0; 512];
            for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
                *bytes = word.to_le_bytes();
            }
            self.0 = xxh3_64_with_seed(&bytes[..4 * words.len()], self.0);
        }
    }
}

/// Hashes the ports of a world's NICs as they are before an edge.
#[derive(Default)]
pub struct PortDigest {
    words: Vec<u32>,
    /// The hash so far.
    pub digest: Digest,
}

impl PortDigest {
    /// Goes on from the hash of the clocks before.
    pub fn after(digest: Digest) -> Self {
        Self { words: Vec::new(), digest }
    }

    /// Adds a clock, after `World::settle`.
    pub fn add(&mut self, world: &World) {
        for node in &world.nodes {
            let ports = node.nic.ports();
            if self.words.is_empty() {
                self.words = vec![0; image_words(&ports.fields())];
            }
            ports.write(&mut Writer::new(&mut self.words));
            self.digest.add(&self.words);
        }
    }

    /// Adds all registers and memories.
    pub fn finish(mut self, world: &World) -> u64 {
        for node in &world.nodes {
            node.nic.instances(&mut |_, _, regs| self.digest.add(&regs.to_words()));
            node.nic.memories(&mut |_, words| self.digest.add(&words));
        }
        self.digest.0
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
    let world = World::new(settings);
    match mode {
        Mode::ModelOnly => Ok(run_model(world, sink)),
        Mode::Lockstep => {
            let built = build_nic(choice, &settings.sizes, Compare::All)?;
            Ok(run_lockstep(Checked::new(world, &built)?, &built, sink))
        }
        Mode::RtlOnly => {
            let built = build_nic(choice, &settings.sizes, Compare::Top)?;
            run_rtl(world, &built, sink)
        }
    }
}

/// A loop around so many clocks at once: bar, limit, end.
fn drive<E>(
    limit: u64,
    mut step: impl FnMut(u64) -> Result<(), E>,
    mut look: impl FnMut() -> State,
) -> Result<State, E> {
    let bar = bar(limit);
    let mut clock = 0;
    let state = loop {
        let state = look();
        if state != State::Going || clock >= limit {
            break state;
        }
        let now = BATCH.min(limit - clock);
        step(now)?;
        clock += now;
        bar.set_position(clock);
    };
    bar.finish_and_clear();
    Ok(state)
}

/// A bar with clocks, simulated time, kHz and time left; nothing where no terminal is.
fn bar(limit: u64) -> ProgressBar {
    let style = "{bar:30} {human_pos}/{human_len} clocks (ns) {per_sec} left at most {eta}";
    let style =
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(limit).with_style(style)
}

fn ended(state: State, world: &World) -> Outcome {
    if let Some(what) = &world.broken {
        return Outcome::Broken(what.clone());
    }
    if world.driver.stray_entries > 0 {
        let n = world.driver.stray_entries;
        return Outcome::Broken(format!("{n} completion entries that were not due (CPL-1)"));
    }
    match state {
        State::Finished => world.left().map_or(Outcome::Finished, Outcome::Broken),
        State::Stuck => Outcome::Stuck(world.waits()),
        State::Going => Outcome::Limit(world.waits()),
    }
}

fn run_model(mut world: World, sink: &mut impl Sink) -> Run {
    let start = Instant::now();
    let mut ports = PortDigest::default();
    let limit = world.settings.limit;
    let cell = std::cell::RefCell::new(&mut world);
    let stopped = drive(
        limit,
        |clocks| {
            let mut world = cell.borrow_mut();
            for _ in 0..clocks {
                world.settle(sink);
                ports.add(&world);
                if world.broken.is_some() {
                    return Err(());
                }
                world.edge();
            }
            Ok(())
        },
        || cell.borrow().state(),
    );
    let state = stopped.unwrap_or(State::Going);
    let wall = start.elapsed();
    let outcome = ended(state, &world);
    let digest = ports.finish(&world);
    Run { outcome, world, compared: Compared::default(), digest, wall }
}

fn run_lockstep(checked: Checked, built: &Built, sink: &mut impl Sink) -> Run {
    let start = Instant::now();
    let compared = Compared::of(built.layout(), checked.rtl.len());
    let limit = checked.world.settings.limit;
    let mut ports = PortDigest::default();
    let cell = std::cell::RefCell::new(checked);
    let stopped = drive(
        limit,
        |clocks| {
            let mut checked = cell.borrow_mut();
            checked.advance(clocks, sink, |world| ports.add(world)).map_err(Some)?;
            if checked.world.broken.is_some() { Err(None) } else { Ok(()) }
        },
        || cell.borrow().world.state(),
    );
    let wall = start.elapsed();
    let Checked { world, rtl } = cell.into_inner();
    let outcome = match stopped {
        Err(Some(Stop::Differs(mismatch))) => Outcome::Mismatch(mismatch),
        Err(Some(Stop::Assertion(nic, error))) => Outcome::Assertion(nic, error),
        Err(None) => ended(State::Going, &world),
        Ok(state) => differing_memory(&rtl, &world).unwrap_or_else(|| ended(state, &world)),
    };
    let digest = ports.finish(&world);
    Run { outcome, world, compared, digest, wall }
}

fn differing_memory(rtl: &[NicRtl], world: &World) -> Option<Outcome> {
    let mut pairs = rtl.iter().zip(&world.nodes).enumerate();
    pairs.find_map(|(n, (rtl, node))| {
        let found = rtl.memory_differences(&node.nic).into_iter().next()?;
        Some(Outcome::Memory(n, found.0, found.1, found.2, found.3))
    })
}

/// The RTL from the model's inputs: its own ports are compared, nothing inside.
fn run_rtl(mut world: World, built: &Built, sink: &mut impl Sink) -> Result<Run, CheckError> {
    let start = Instant::now();
    let inner = build_nic_all_memories(&world, built)?;
    let mut rtl = inner;
    let layout = built.layout();
    let mut inputs = vec![0; layout.input_words];
    let mut expected = vec![0; layout.expected_words];
    let mut ports = PortDigest::default();
    let mut outcome = None;
    let mut state = State::Going;
    while world.clock < world.settings.limit && outcome.is_none() && state == State::Going {
        world.settle(sink);
        ports.add(&world);
        for (n, (node, rtl)) in world.nodes.iter().zip(&mut rtl).enumerate() {
            node.inputs.write(&mut Writer::new(&mut inputs));
            node.nic.ports().write(&mut Writer::new(&mut expected));
            match rtl.step(&inputs, &expected) {
                Ok(None) => {}
                Ok(Some(d)) => {
                    outcome = Some(Outcome::Mismatch(Box::new(top(&world, n, layout, &d))));
                }
                Err(e) => outcome = Some(Outcome::Assertion(n, e.at(world.clock))),
            }
        }
        if world.broken.is_some() {
            break;
        }
        world.edge();
        if world.clock.is_multiple_of(BATCH) {
            state = world.state();
        }
    }
    let wall = start.elapsed();
    let outcome = outcome.unwrap_or_else(|| ended(state, &world));
    let compared = Compared::of(layout, world.nodes.len());
    let digest = ports.finish(&world);
    Ok(Run { outcome, world, compared, digest, wall })
}

fn build_nic_all_memories(world: &World, built: &Built) -> Result<Vec<Rtl>, CheckError> {
    let seed = world.settings.seed as u32;
    let each = world.nodes.iter().enumerate().map(|(n, node)| {
        let start = verilated::Start::Random(seed.wrapping_add(n as u32));
        let mut rtl = Rtl::new(built, start)?;
        let idle = vec![0; built.layout().input_words];
        rtl.reset(true);
        rtl.settle(&idle)?;
        rtl.reset(false);
        rtl.step_bare(&idle)?;
        rtl.reset(true);
        let mut failed = Ok(());
        node.nic.memories(&mut |name, words| {
            if let Some(index) = built.layout().memory(name)
                && failed.is_ok()
            {
                failed = rtl.load_memory(index, &words);
            }
        });
        failed?;
        Ok(rtl)
    });
    each.collect()
}

fn top(world: &World, nic: usize, layout: &Layout, d: &verilated::Difference) -> NicMismatch {
    let field = layout.field(&d.place);
    NicMismatch {
        clock: world.clock,
        nic,
        block: "nic".into(),
        kind: "output",
        field: field.name.clone(),
        model: crate::report::hex(&d.expected, field.width),
        rtl: crate::report::hex(&d.rtl, field.width),
    }
}

/// A world after `clocks` clocks, without a check.
pub fn world_at(settings: &Settings, clocks: u64) -> World {
    let mut world = World::new(settings);
    for _ in 0..clocks {
        world.step(&mut Nowhere);
    }
    world
}

/// A refusal by its name.
fn refusal(code: u8) -> String {
    Refuse::from_bits(code.into()).map_or_else(|| code.to_string(), |refuse| format!("{refuse:?}"))
}

impl RunResult {
    /// What a run says, for `result.json`.
    pub fn new(scenario: &str, mode: Mode, run: &Run, recorder: &Recorder) -> Self {
        let world = &run.world;
        let name = |n: usize| world.settings.nics[n].name.clone();
        let messages = world.driver.messages.iter().map(|m| MessageResult {
            from: name(m.from),
            to: name(m.to),
            bytes: m.bytes,
            qpn: m.qpn.map(|q| q.0),
            posted: m.posted,
            send_complete: m.done[0],
            wqe_complete: m.done[1],
            recv_complete: m.done[2],
            refused: m.refused,
            failed: m.failed,
            why: m.why.map(|why| format!("{why:?}")).or_else(|| m.refused.map(refusal)),
        });
        // The world has gone on from there to the end of a group of clocks.
        let clocks = if let Outcome::Mismatch(m) = &run.outcome { m.clock } else { world.clock };
        let pcie = world.nodes.iter().enumerate().map(|(n, node)| (name(n), PcieStats::of(node)));
        let counts = recorder.counts.iter().enumerate().map(|(n, c)| (name(n), c.clone()));
        Self {
            scenario: scenario.to_owned(),
            seed: world.settings.seed,
            mode,
            outcome: run.outcome.word(),
            clocks,
            boot: world.boot,
            simulated_ns: clocks,
            digest: format!("{:016x}", run.digest),
            compared: run.compared,
            messages: messages.collect(),
            intact: world.driver.intact,
            nics: counts.collect(),
            pcie: pcie.collect(),
            switch: world.switch.results(),
            faults: world.fault_results(),
            moments: recorder.moments.clone(),
        }
    }
}

impl Outcome {
    /// In a word, for `result.json`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Limit(_) => "limit",
            Self::Stuck(_) => "stuck",
            Self::Broken(_) => "broken",
            Self::Mismatch(_) | Self::Memory(..) => "mismatch",
            Self::Assertion(..) => "assertion",
        }
    }
}
