//! `nic`: the wiring. Two whole NICs of the small build, with everything going on that ports of theirs
//! carry: every output and register of every block agrees on every clock. What a block does wrong
//! its own bench finds; here is found what goes to the wrong port, or nowhere. Whole runs are in
//! cosim/tests/scenarios.

use cosim::check::RtlChoice;
use cosim::event::Nowhere;
use cosim::run::{Mode, Outcome, run};
use cosim::scenario::Source;
use cosim::settings::settle;
use verilated::Optimise;

/// Loss, trimming, pauses both ways, timers, a full link, bad frames, TLPs and doorbells.
const SCENARIO: &str = r#"
limit = "60us"
build = "small"

[defaults]
InitialAckTimeout = "3us"
SACKLossMinRetxPkts = 2
PCIe.TXDataBufferSize = "1KB"
IngressBufferManager.PFCEnableVector = [1]
IngressBufferManager.PfcStaticXoffThreshold = [0.1]
IngressBufferManager.PfcXonResumeThreshold = [0.05]

[[nic]]
name = "a"
address = "10.0.0.1"

[[nic]]
name = "b"
address = "10.0.0.2"

[[message]]
from = "a"
to = "b"
bytes = "0B"
most = "20000B"
count = 12
outstanding = 4

[[message]]
from = "b"
to = "a"
bytes = "0B"
most = "20000B"
count = 12
outstanding = 4
one_qp = true

[[switch]]
action = "drop"
kind = "data"
probability = 0.1

[[switch]]
action = "trim"
kind = "data"
probability = 0.1

[[switch]]
action = "pause"
to = "a"
classes = [0]
quanta = 20
at = "2us"

[[fault]]
nic = "b"
kind = "near-misses"
count = 48

[[fault]]
nic = "a"
kind = "garbage-tlps"
count = 60

[[fault]]
nic = "b"
kind = "bad-doorbells"
count = 14

[[fault]]
nic = "a"
kind = "unsupported-request"
at = "4us"
"#;

#[test]
fn every_port_of_every_block_agrees() {
    let (source, file) = Source::parse("nic.toml".into(), SCENARIO.into()).expect("is right");
    let settings = settle(&source, &file).expect("is right");
    let choice = RtlChoice { optimise: Optimise::Build, ..RtlChoice::default() };
    let run = run(&settings, Mode::Lockstep, &choice, &mut Nowhere)
        .unwrap_or_else(|e| panic!("nic builds: failed to {e}"));
    match run.outcome {
        Outcome::Finished | Outcome::Limit(_) => {}
        Outcome::Mismatch(m) => panic!("{} {} of {} differs", m.kind, m.field, m.block),
        other => panic!("{other:?}"),
    }
    assert!(run.world.driver.intact >= 8, "{} messages whole", run.world.driver.intact);
}
