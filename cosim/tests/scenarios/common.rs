//! What the scenario tests share: texts, loops, sinks.

use std::path::{Path, PathBuf};

use cosim::check::{Checked, RtlChoice, Stop, build_nic};
use cosim::diagnose::headline;
use cosim::event::{Event, Nowhere, Sink};
use cosim::record::Recorder;
use cosim::run::{Mode, Outcome, Run, run};
use cosim::scenario::{ScenarioError, Source};
use cosim::settings::{Settings, settle};
use cosim::world::World;
use rtl_model::nic::Nic;
use verilated::{Built, Compare};

/// Two NICs with nothing special about them.
pub const PAIR: &str = r#"
[[nic]]
name = "a"
address = "10.0.0.1"

[[nic]]
name = "b"
address = "10.0.0.2"
"#;

/// So many NICs, `n0`, `n1` and so on, with nothing special about them.
pub fn nics(count: usize) -> String {
    let nic = |n| format!("\n[[nic]]\nname = \"n{n}\"\naddress = \"10.0.0.{}\"", n + 1);
    (0..count).map(nic).collect()
}

/// One message of `bytes` from `a` to `b`, with more keys.
pub fn message(bytes: &str, more: &str) -> String {
    format!("[[message]]\nfrom = \"a\"\nto = \"b\"\nbytes = \"{bytes}\"\n{more}\n")
}

/// A scenario: head and defaults, the two NICs, messages.
pub fn scenario(head: &str, messages: &str) -> String {
    format!("{head}\n{PAIR}\n{messages}")
}

/// The settings of a text.
pub fn try_settings(text: &str) -> Result<Settings, ScenarioError> {
    let (source, file) = Source::parse("text.toml".into(), text.into())?;
    settle(&source, &file)
}

/// The settings of a text that is right.
pub fn settings(text: &str) -> Settings {
    try_settings(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A file of the project.
pub fn project(path: &str) -> PathBuf {
    verilated::project_root().join(path)
}

/// The settings of a scenario of the project.
pub fn fixture(name: &str) -> Settings {
    let path = project("fixtures/scenarios").join(name);
    let (source, file) = Source::read(&path).unwrap_or_else(|e| panic!("{e}"));
    settle(&source, &file).unwrap_or_else(|e| panic!("{e}"))
}

/// The RTL of a build, every block compared.
pub fn built(settings: &Settings) -> Built {
    build_nic(&RtlChoice::default(), &settings.sizes, Compare::All)
        .unwrap_or_else(|e| panic!("failed to {e}"))
}

/// The run of a text, which comes to its end.
pub fn finished(text: &str, mode: Mode) -> Run {
    let run = run_into(&settings(text), mode, None).0;
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}\n{text}", run.outcome);
    run
}

/// Runs a scenario and writes its records into `folder`.
pub fn run_into(settings: &Settings, mode: Mode, folder: Option<&Path>) -> (Run, Recorder) {
    let world = World::new(settings);
    let mut recorder = Recorder::new(&world, folder).unwrap_or_else(|e| panic!("{e}"));
    drop(world);
    let run = run(settings, mode, &RtlChoice::default(), &mut recorder)
        .unwrap_or_else(|e| panic!("failed to {e}"));
    (run, recorder)
}

/// Runs a scenario in lockstep; panics, with `name`, where it does not agree to its end.
pub fn agrees(name: &str, settings: &Settings) -> (Run, Recorder) {
    let (run, recorder) = run_into(settings, Mode::Lockstep, None);
    match &run.outcome {
        Outcome::Finished => (run, recorder),
        Outcome::Limit(waits) => panic!("{name}: the limit came first: {waits:?}"),
        Outcome::Mismatch(m) => panic!("{name}: {}", headline(settings, m)),
        other => panic!("{name}: {other:?}"),
    }
}

/// Keeps every event.
#[derive(Default)]
pub struct Log(pub Vec<(u64, usize, Event)>);

impl Sink for Log {
    fn event(&mut self, clock: u64, nic: usize, event: &Event) {
        self.0.push((clock, nic, event.clone()));
    }
}

/// Both get every event.
pub struct Both<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Sink, B: Sink> Sink for Both<'_, A, B> {
    fn event(&mut self, clock: u64, nic: usize, event: &Event) {
        self.0.event(clock, nic, event);
        self.1.event(clock, nic, event);
    }

    fn due(&self) -> u64 {
        self.0.due().min(self.1.due())
    }

    fn look(&mut self, world: &World) {
        if self.0.due() <= world.clock {
            self.0.look(world);
        }
        if self.1.due() <= world.clock {
            self.1.look(world);
        }
    }
}

/// Runs the model until all is done or `look`, called before each edge, says that it has seen
/// enough; panics at the limit.
pub fn model(
    settings: &Settings,
    sink: &mut impl Sink,
    mut look: impl FnMut(&World) -> bool,
) -> World {
    let mut world = World::new(settings);
    while !(world.clock.is_multiple_of(64) && world.finished()) {
        assert!(world.clock < settings.limit, "the limit came first: {:?}", world.waits());
        world.settle(sink);
        let enough = look(&world);
        world.edge();
        if enough {
            break;
        }
    }
    world
}

/// The same in lockstep.
pub fn lockstep(settings: &Settings, sink: &mut impl Sink, look: impl FnMut(&World)) -> Checked {
    lockstep_with(settings, sink, |_| (), look)
}

/// The same with a hand of the host's in it: `host` comes before each clock.
pub fn lockstep_with(
    settings: &Settings,
    sink: &mut impl Sink,
    mut host: impl FnMut(&mut World),
    mut look: impl FnMut(&World),
) -> Checked {
    let mut checked = Checked::new(World::new(settings), &built(settings)).expect("set up");
    while !(checked.world.clock.is_multiple_of(64) && checked.world.finished()) {
        host(&mut checked.world);
        let world = &checked.world;
        assert!(world.clock < settings.limit, "the limit came first: {:?}", world.waits());
        match checked.step_with(sink, &mut look) {
            Ok(()) => {}
            Err(Stop::Differs(m)) => panic!("{}", headline(settings, &m)),
            Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
        }
    }
    checked
}

/// Big-endian.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// Drawing PSN and listed PSNs of a SACK, by place in the frame.
pub fn listed(sack: &[u8]) -> (u64, Vec<u64>) {
    let seth = &sack[54..82];
    let cum = number(&seth[13..16]);
    let drew = (cum + number(&seth[2..4])) & 0xff_ffff;
    let base = cum + number(&seth[18..20]);
    let bits = number(&seth[20..28]);
    (drew, (0..64).filter(|n| bits >> n & 1 == 1).map(|n| (base + n) & 0xff_ffff).collect())
}

/// In lockstep until `look` has seen enough; gives whether it has before the limit.
pub fn until(settings: &Settings, mut look: impl FnMut(&World) -> bool) -> bool {
    let mut checked = Checked::new(World::new(settings), &built(settings)).expect("set up");
    let mut enough = false;
    while !enough && checked.world.clock < settings.limit {
        match checked.run(64, &mut Nowhere, |world| enough |= look(world)) {
            Ok(()) => {}
            Err(Stop::Differs(m)) => panic!("{}", headline(settings, &m)),
            Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
        }
    }
    enough
}

/// So many clocks in lockstep, from the state that the model has reached.
pub fn from_here(
    world: World,
    clocks: u64,
    sink: &mut impl Sink,
    look: impl FnMut(&World),
) -> World {
    let built = built(&world.settings);
    let mut checked = Checked::resume(world, &built).expect("set up");
    match checked.run(clocks, sink, look) {
        Ok(()) => checked.world,
        Err(Stop::Differs(m)) => panic!("{}", headline(&checked.world.settings, &m)),
        Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
    }
}

/// Passes of a NIC's scheduler, out of its registers (SEG-4).
#[derive(Debug, Default)]
pub struct Passes {
    passing: bool,
    stopped: bool,
    /// Clocks of the half events that ring, each with the releases before it and its own.
    pub rings: Vec<(u64, usize)>,
    /// Clocks in which a pass begins.
    pub begins: Vec<u64>,
    /// Clocks in which a pool stops one.
    pub stops: Vec<u64>,
}

impl Passes {
    /// A clock: what its registers show was done in the one before.
    pub fn look(&mut self, clock: u64, nic: &Nic, releases: usize) {
        let regs = &nic.b.tx_scheduler;
        if regs.bells & 1 == 1 {
            self.rings.push((clock - 1, releases));
        }
        if regs.passing && !self.passing {
            self.begins.push(clock - 1);
        }
        if regs.stopped && !self.stopped {
            self.stops.push(clock - 1);
        }
        (self.passing, self.stopped) = (regs.passing, regs.stopped);
    }

    /// From the first ring on: each is in a stop of its own, and begins one pass 15 clocks later.
    pub fn ring_once_a_stop(&self) {
        let first = self.rings[0].0;
        let begins: Vec<u64> = self.begins.iter().copied().filter(|at| *at > first).collect();
        let due: Vec<u64> = self.rings.iter().map(|ring| ring.0 + 15).collect();
        assert_eq!(begins[..], due[..begins.len()], "{self:?}");
        assert!(begins.len() + 1 >= due.len() && begins.len() >= 3, "{self:?}");
        let stops: Vec<u64> = self.stops.iter().copied().filter(|at| *at > first).collect();
        for (n, stop) in stops.iter().enumerate() {
            let next = self.rings.get(n + 1).map_or(u64::MAX, |ring| ring.0);
            assert!((begins[n]..next).contains(stop), "stop {n}: {self:?}");
        }
        assert!(stops.len() + 1 >= self.rings.len(), "{self:?}");
    }
}
