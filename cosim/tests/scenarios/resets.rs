//! Resets of a whole NIC, cold and in the middle of traffic.

use cosim::check::{Checked, NicRtl, Stop};
use cosim::diagnose::headline;
use cosim::event::Event;
use cosim::settings::Settings;
use cosim::world::World;
use verilated::{Built, Start};

use crate::common::{Log, built, message, scenario, settings};

/// NICs whose registers start from these drawn values.
fn cold(settings: &Settings, built: &Built, seed: u32) -> Checked {
    let world = World::new(settings);
    let start = |n: usize| Start::Random(seed + n as u32);
    let rtl = |(n, node): (usize, &cosim::world::Node)| {
        NicRtl::new(built, &node.nic, start(n)).expect("set up")
    };
    let rtl = world.nodes.iter().enumerate().map(rtl).collect();
    Checked { world, rtl }
}

/// The events of some clocks in lockstep.
fn trace(settings: &Settings, checked: &mut Checked, clocks: u64) -> Vec<(u64, usize, Event)> {
    let mut log = Log::default();
    match checked.run(clocks, &mut log, |_| ()) {
        Ok(()) => log.0,
        Err(Stop::Differs(m)) => panic!("{}", headline(settings, &m)),
        Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
    }
}

/// Case 26: with other start values of all registers, and after a reset in the middle of traffic,
/// with what the first life has left in every memory, a run is the same event by event. In
/// both builds.
#[test]
fn a_second_life_is_as_the_first() {
    let both = message("60000B", "count = 3\noutstanding = 2")
        + &message("9000B", "count = 20\noutstanding = 3\none_qp = true")
            .replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
    let rules = "[[switch]]\naction = \"drop\"\nprobability = 0.05\n\
                 kind = [\"data\", \"retransmission\", \"ACK\", \"SACK\"]\n\
                 [[switch]]\naction = \"trim\"\nprobability = 0.05\n";
    for (build, seed, clocks) in
        [("small", 1, 12_000), ("small", 2, 12_000), ("small", 3, 12_000), ("default", 4, 29_000)]
    {
        let head = format!(
            "seed = {seed}\nlimit = \"400us\"\nbuild = \"{build}\"\n[defaults]\n\
             InitialAckTimeout = \"3us\"\nSACKLossMinRetxPkts = 3\n"
        );
        let settings = settings(&scenario(&head, &(both.clone() + rules)));
        let built = built(&settings);
        let mut checked = cold(&settings, &built, 100 * seed);
        let first = trace(&settings, &mut checked, clocks);
        let queued = first.iter().filter(|e| matches!(e.2, Event::Queued { .. })).count();
        assert!(queued >= 3, "seed {seed}: {queued} packets went again");

        let mut checked = cold(&settings, &built, 7_000 + seed);
        trace(&settings, &mut checked, clocks - 7_000 + 777 * u64::from(seed));
        checked.reset(World::new(&settings)).expect("resets");
        let second = trace(&settings, &mut checked, clocks);
        let unlike = first.iter().zip(&second).find(|(a, b)| a != b);
        assert!(unlike.is_none(), "seed {seed}: {unlike:?}");
        assert_eq!(first.len(), second.len(), "seed {seed}");
    }
}
