//! How fast model, bare RTL and lockstep are, as ratios of one run.
//!
//! NIC clocks = clocks × NICs, wall time, one thread. *Bare* is the same RTL sources at the same
//! optimisation with no public marks and no assertions, its inputs replayed from memory. Each
//! round times the same clocks of all three, one after the other; the report has the medians and
//! the spread of the rounds' ratios. `NICSTEP_REPORT=FILE` writes it to a file.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use cosim::check::{Checked, RtlChoice, build_nic};
use cosim::event::Nowhere;
use cosim::scenario::Source;
use cosim::settings::{Settings, settle};
use cosim::world::World;
use criterion::Criterion;
use rtl_model::image::{Image, Writer, image_words};
use verilated::{Compare, Rtl, Start};

/// Clocks of a round.
const ROUND: u64 = 20_000;
/// Clocks after boot before the first round, so that both directions are full.
const WARM: u64 = 20_000;
/// Rounds.
const ROUNDS: usize = 7;

fn settings(name: &str) -> Settings {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let (source, file) = Source::read(&folder.join(name)).expect("reads");
    settle(&source, &file).expect("settles")
}

/// The inputs of each NIC, clock after clock, and the world at the end.
fn record(world: &mut World, clocks: u64) -> Vec<Vec<u32>> {
    let words = image_words(&world.nodes[0].inputs.fields());
    let mut inputs = vec![vec![0; words * clocks as usize]; world.nodes.len()];
    for clock in 0..clocks as usize {
        world.settle(&mut Nowhere);
        for (node, inputs) in world.nodes.iter().zip(&mut inputs) {
            node.inputs.write(&mut Writer::new(&mut inputs[clock * words..(clock + 1) * words]));
        }
        world.edge();
    }
    inputs
}

/// What the three are given: the model, the checked pair, and bare RTL with its inputs.
struct Bench {
    model: World,
    checked: Checked,
    bare: Vec<Rtl>,
    recorder: World,
    words: usize,
}

impl Bench {
    fn new(name: &str) -> Self {
        let settings = settings(name);
        let choice = RtlChoice { assertions: false, ..RtlChoice::default() };
        let all = build_nic(&choice, &settings.sizes, Compare::All).expect("builds");
        let nothing = build_nic(&choice, &settings.sizes, Compare::Nothing).expect("builds");
        let mut recorder = World::new(&settings);
        let warm = recorder.boot + WARM;
        let words = image_words(&recorder.nodes[0].inputs.fields());
        let mut bare: Vec<_> = recorder
            .nodes
            .iter()
            .map(|_| Rtl::new(&nothing, Start::Random(1)).expect("loads"))
            .collect();
        for rtl in &mut bare {
            let idle = vec![0; words];
            rtl.reset(true);
            rtl.settle(&idle).expect("settles");
            rtl.reset(false);
            rtl.step_bare(&idle).expect("steps");
            rtl.reset(true);
        }
        let inputs = record(&mut recorder, warm);
        for (rtl, inputs) in bare.iter_mut().zip(&inputs) {
            rtl.run_bare(inputs, words, warm as usize).expect("runs");
        }
        let checked = Checked::resume(recorder.clone(), &all).expect("loads");
        Self { model: recorder.clone(), checked, bare, recorder, words }
    }

    /// Wall times of the next clocks: bare, model, lockstep.
    fn round(&mut self, clocks: u64) -> [Duration; 3] {
        let inputs = record(&mut self.recorder, clocks);
        let start = Instant::now();
        for (rtl, inputs) in self.bare.iter_mut().zip(&inputs) {
            rtl.run_bare(black_box(inputs), self.words, clocks as usize).expect("runs");
        }
        let bare = start.elapsed();
        let start = Instant::now();
        for _ in 0..clocks {
            self.model.step(&mut Nowhere);
        }
        let model = start.elapsed();
        let start = Instant::now();
        self.checked.run(clocks, &mut Nowhere, |_| ()).unwrap_or_else(|stop| panic!("{stop:?}"));
        [bare, model, start.elapsed()]
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Medians over the rounds, with the lowest and highest.
#[allow(clippy::cast_precision_loss)] // a speed to three digits
fn report(name: &str, rounds: &[[Duration; 3]]) -> String {
    let clocks = (ROUND * 2) as f64;
    let mut out =
        format!("### {name}\n\n| what | median | lowest | highest |\n|---|---|---|---|\n");
    let mut row = |what: &str, unit: &str, of: &dyn Fn(&[f64; 3]) -> f64| {
        let mut values: Vec<_> =
            rounds.iter().map(|r| of(&r.map(|d| clocks / d.as_secs_f64() / 1e3))).collect();
        let middle = median(&mut values);
        let (low, high) = (values[0], values[values.len() - 1]);
        let _ = writeln!(out, "| {what} | {middle:.2}{unit} | {low:.2} | {high:.2} |");
    };
    row("bare RTL, thousand NIC clocks a second", "", &|r| r[0]);
    row("model alone, thousand NIC clocks a second", "", &|r| r[1]);
    row("lockstep, thousand NIC clocks a second", "", &|r| r[2]);
    row("model ÷ bare", " ×", &|r| r[1] / r[0]);
    row("lockstep ÷ bare", " ×", &|r| r[2] / r[0]);
    out
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args().sample_size(10);
    let mut text = String::new();
    for name in ["full_rate.toml", "random_sizes.toml"] {
        let mut bench = Bench::new(name);
        let rounds: Vec<_> = (0..ROUNDS).map(|_| bench.round(ROUND)).collect();
        text += &report(name, &rounds);
        text += "\n";
        criterion.bench_function(&format!("model, 1,000 clocks of {name}"), |b| {
            b.iter(|| (0..1_000).for_each(|_| bench.model.step(&mut Nowhere)));
        });
    }
    println!("{text}");
    if let Some(path) = std::env::var_os("NICSTEP_REPORT") {
        std::fs::write(path, &text).expect("writes the report");
    }
    criterion.final_summary();
}
