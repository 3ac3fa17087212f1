//! The soak, short: random legal scenarios in lockstep, and the watch that judges them.

use cosim::check::RtlChoice;
use cosim::run::Mode;
use cosim::soak::nic::{Plan, draw, soak};

/// A few seeds in lockstep, one of them in the default build; `nicstep soak nic` has no end of them.
#[test]
fn short_soak_agrees() {
    let plan = Plan {
        first: 1,
        seeds: 5,
        clocks: u64::MAX,
        each: 4_000,
        lossy: false,
        mode: Mode::Lockstep,
    };
    let report = soak(&plan, &RtlChoice::default(), |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{}", report.table());
    assert!(report.intact > 10, "{}", report.table());
    assert!(report.default_clocks * 10 >= report.clocks);
}

/// The model alone runs more of them; what it runs is drawn from the seed alone.
#[test]
fn drawn_scenarios_are_legal_and_keep_their_promises() {
    let plan = Plan {
        first: 100,
        seeds: 25,
        clocks: u64::MAX,
        each: 5_000,
        lossy: false,
        mode: Mode::ModelOnly,
    };
    let report = soak(&plan, &RtlChoice::default(), |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{}", report.table());
    for name in ["drop Fcs", "refuse Opcode", "switch mark data", "duplicate", "PSN wrap"] {
        assert!(report.happened[name] > 0, "{name}\n{}", report.table());
    }
    let scope = draw::Scope { default_build: false, lossy: true, clocks: 5_000 };
    assert_eq!(draw::scenario(7, &scope), draw::scenario(7, &scope));
    assert_ne!(draw::scenario(7, &scope), draw::scenario(8, &scope));
}
