//! A world that is saved and loaded goes on as if it had not been, from any clock.

use std::path::Path;

use cosim::event::Nowhere;
use cosim::scenario::Source;
use cosim::settings::settle;
use cosim::snapshot::Snapshot;
use cosim::world::World;

/// Clocks that a loaded world runs beside the one it was saved from.
const BESIDE: u64 = 12;

/// What a memory has read is no register of a block: it must come back all the same.
#[test]
fn a_lossy_run_goes_on_from_clocks_all_along_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/scenarios");
    let (source, file) = Source::read(&folder.join("lossy.toml")).expect("reads");
    let mut world = World::new(&settle(&source, &file).expect("settles"));
    let mut saved = 0;
    while !world.finished() {
        world.step(&mut Nowhere);
        if world.clock > world.boot && world.clock.is_multiple_of(307) {
            saved += 1;
            goes_on(&world);
        }
    }
    assert!(saved > 80, "{saved} clocks tried");
}

fn goes_on(world: &World) {
    let bytes = Snapshot::of(world.clone()).to_bytes().expect("is saved");
    let mut loaded = Snapshot::from_bytes(&bytes).expect("is loaded").world;
    let mut straight = world.clone();
    for _ in 0..BESIDE {
        loaded.settle(&mut Nowhere);
        straight.settle(&mut Nowhere);
        for (a, b) in straight.nodes.iter().zip(&loaded.nodes) {
            let mut want = Vec::new();
            a.nic.instances(&mut |name, o, r| want.push((name.to_owned(), [o, r].map(words))));
            let mut want = want.into_iter();
            b.nic.instances(&mut |name, o, r| {
                let got = Some((name.to_owned(), [o, r].map(words)));
                assert_eq!(want.next(), got, "saved at {}, clock {}", world.clock, loaded.clock);
            });
        }
        loaded.edge();
        straight.edge();
    }
}

fn words(image: &dyn rtl_model::image::Image) -> Vec<u32> {
    image.to_words()
}
