//! Blocks that sleep: the values are those of a NIC in which every block is evaluated.

use std::path::Path;

use cosim::event::Nowhere;
use cosim::scenario::Source;
use cosim::settings::settle;
use cosim::world::World;

/// Every output port, register and memory of a world.
fn state(world: &World) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for node in &world.nodes {
        node.nic.instances(&mut |_, outputs, regs| {
            all.extend([outputs, regs].map(rtl_model::image::Image::to_words));
        });
        node.nic.memories(&mut |_, words| all.push(words));
    }
    all
}

#[test]
fn sleep_changes_nothing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let (source, file) = Source::read(&folder.join("first_write.toml")).expect("reads");
    let mut asleep = World::new(&settle(&source, &file).expect("settles"));
    let mut awake = asleep.clone();
    for node in &mut awake.nodes {
        node.nic.set_sleep(false);
    }
    for clock in 0..60_000 {
        asleep.settle(&mut Nowhere);
        awake.settle(&mut Nowhere);
        for (a, b) in asleep.nodes.iter().zip(&awake.nodes) {
            assert_eq!(a.nic.ports(), b.nic.ports(), "clock {clock}");
        }
        asleep.edge();
        awake.edge();
    }
    assert_eq!(state(&asleep), state(&awake));
}
