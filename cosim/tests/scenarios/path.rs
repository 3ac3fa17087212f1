//! The first whole path: model and RTL, alone and together, saved and continued.

use std::{fs, thread};

use cosim::check::{Checked, Stop};
use cosim::diagnose::headline;
use cosim::event::Nowhere;
use cosim::run::{Mode, Outcome, PortDigest, RunResult, world_at};
use cosim::settings::Settings;
use cosim::snapshot::{Snapshot, SnapshotError, VERSION};
use cosim::world::World;
use rtl_model::rng::Rng;

use crate::common::{built, fixture, message, nics, run_into, scenario, settings};

/// What a run leaves: digest, events, frames, and the closing state in words.
#[derive(PartialEq, Eq, Debug)]
struct Left {
    digest: u64,
    events: Vec<u8>,
    frames: Vec<u8>,
    messages: String,
}

fn left(settings: &Settings, mode: Mode) -> Left {
    let folder = tempfile::tempdir().expect("a folder");
    let (run, recorder) = run_into(settings, mode, Some(folder.path()));
    assert!(matches!(run.outcome, Outcome::Finished), "{mode:?}: {:?}", run.outcome);
    assert_eq!(run.world.driver.corrupted, Vec::<usize>::new());
    let result = RunResult::new("first_write", mode, &run, &recorder);
    let messages = serde_json::to_string(&(&result.messages, &result.nics, &result.moments));
    recorder.finish(&run.world, &result).expect("written");
    let read = |name: &str| fs::read(folder.path().join(name)).expect("a record");
    Left {
        digest: run.digest,
        events: read("mrc-events.csv"),
        frames: read("frames.pcapng"),
        messages: messages.expect("is JSON"),
    }
}

/// `first_write` agrees at every clock; the model alone and the RTL alone leave the same bytes;
/// the same seed leaves them again, in two threads at once too.
#[test]
fn first_write_is_the_same_in_every_mode() {
    let settings = fixture("first_write.toml");
    let both = left(&settings, Mode::Lockstep);
    assert!(both.frames.len() > 1_000_000);
    let events = String::from_utf8_lossy(&both.events);
    for event in ["MESSAGE_POSTED", "SEND_COMPLETE", "WQE_COMPLETE", "RECV_COMPLETE"] {
        assert_eq!(events.matches(event).count(), 10, "{event}");
    }
    assert!(both == left(&settings, Mode::RtlOnly), "RTL only differs");
    thread::scope(|scope| {
        let runs = [(); 2].map(|()| scope.spawn(|| left(&settings, Mode::ModelOnly)));
        for run in runs {
            assert!(both == run.join().expect("runs"), "model only differs");
        }
    });
    let other = left(&Settings { seed: 2, ..settings }, Mode::ModelOnly);
    assert_ne!(both.digest, other.digest, "the seed makes no difference");
}

/// Four NICs, all to all, some of it lost: every mode leaves the same bytes, and a saved run goes on
/// to the same state.
#[test]
fn four_nics_are_the_same_in_every_mode() {
    let mut text = format!("limit = \"200us\"\nbuild = \"small\"{}\n", nics(4));
    for (from, to) in (0..4).flat_map(|f| (0..4).map(move |t| (f, t))).filter(|(f, t)| f != t) {
        let ends = format!("[[message]]\nfrom = \"n{from}\"\nto = \"n{to}\"\n");
        text += &(ends + "bytes = \"0B\"\nmost = \"9000B\"\ncount = 3\n");
    }
    text += "[[switch]]\naction = \"trim\"\nprobability = 0.1\n";
    let settings = settings(&text);
    let both = left(&settings, Mode::Lockstep);
    assert!(both == left(&settings, Mode::RtlOnly), "RTL only differs");
    assert!(both == left(&settings, Mode::ModelOnly), "model only differs");

    let (whole, _) = finish(World::new(&settings), PortDigest::default());
    let (world, ports) = run_to(&settings, 1_500);
    let bytes = Snapshot::of(world).to_bytes().expect("saved");
    let loaded = Snapshot::from_bytes(&bytes).expect("loads").world;
    assert_eq!(finish_checked(loaded, PortDigest::after(ports.digest)), whole);
}

/// Runs a world to its end; hashes from `ports` on.
fn finish(mut world: World, mut ports: PortDigest) -> (u64, World) {
    while !(world.clock.is_multiple_of(64) && world.finished()) {
        assert!(world.clock < world.settings.limit, "{:?}", world.waits());
        world.settle(&mut Nowhere);
        ports.add(&world);
        world.edge();
    }
    (ports.finish(&world), world)
}

/// The same in lockstep from wherever the world stands.
fn finish_checked(world: World, mut ports: PortDigest) -> u64 {
    let settings = world.settings.clone();
    let mut checked = Checked::resume(world, &built(&settings)).expect("resumes");
    while !(checked.world.clock.is_multiple_of(64) && checked.world.finished()) {
        assert!(checked.world.clock < settings.limit, "{:?}", checked.world.waits());
        match checked.step_with(&mut Nowhere, |world| ports.add(world)) {
            Ok(()) => {}
            Err(Stop::Differs(m)) => panic!("{}", headline(&settings, &m)),
            Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
        }
    }
    ports.finish(&checked.world)
}

/// A run to `clock`, and the hash so far.
fn run_to(settings: &Settings, clock: u64) -> (World, PortDigest) {
    let mut world = World::new(settings);
    let mut ports = PortDigest::default();
    while world.clock < clock {
        world.settle(&mut Nowhere);
        ports.add(&world);
        world.edge();
    }
    (world, ports)
}

/// A snapshot at any clock, loaded, goes on as if nothing had been: alone and in lockstep.
#[test]
fn a_saved_run_goes_on_the_same() {
    let settings = fixture("first_write.toml");
    let (whole, end) = finish(World::new(&settings), PortDigest::default());
    let mut rng = Rng::new(settings.seed, "clock of the snapshot");
    let folder = tempfile::tempdir().expect("a folder");
    for round in 0..2 {
        let clock = rng.between(end.boot, end.clock - 2000);
        let (world, ports) = run_to(&settings, clock);
        let path = folder.path().join("snapshot");
        Snapshot::of(world).write(&path).expect("saved");
        let loaded = || Snapshot::read(&path).expect("loads").world;
        let so_far = || PortDigest::after(ports.digest);
        assert_eq!(finish(loaded(), so_far()).0, whole, "from clock {clock}");
        if round == 0 {
            assert_eq!(finish_checked(loaded(), so_far()), whole, "lockstep from clock {clock}");
        }
    }
}

/// A snapshot of another version or layout, or cut short, is refused with the reason.
#[test]
fn old_snapshots_are_refused() {
    let text = scenario("limit = \"20us\"\nbuild = \"small\"", &message("64B", ""));
    let snapshot = Snapshot::of(world_at(&settings(&text), 100));
    let error = |bytes: &[u8]| Snapshot::from_bytes(bytes).err().expect("is refused");
    let bytes = snapshot.to_bytes().expect("bytes");
    assert!(Snapshot::from_bytes(&bytes).is_ok());

    let version = Snapshot { version: VERSION + 1, ..snapshot.clone() };
    let e = error(&version.to_bytes().expect("bytes"));
    assert!(matches!(e, SnapshotError::Version { found } if found == VERSION + 1), "{e}");
    assert!(e.to_string().contains(&format!("version {}", VERSION + 1)), "{e}");

    let layout = Snapshot { layout_hash: !snapshot.layout_hash, ..snapshot };
    let e = error(&layout.to_bytes().expect("bytes"));
    assert!(matches!(e, SnapshotError::Layout { .. }), "{e}");
    assert!(e.to_string().contains(&format!("{:016x}", layout.layout_hash)), "{e}");

    let e = error(&bytes[..bytes.len() / 2]);
    assert!(matches!(e, SnapshotError::Decode(_)), "{e}");
    let e = error(&[bytes, vec![0]].concat());
    assert!(e.to_string().contains("1 B too many"), "{e}");
}

/// Blocks that sleep and blocks that never do come to the same values.
#[test]
fn sleep_makes_no_difference() {
    let settings = fixture("first_write.toml");
    let (asleep, _) = finish(World::new(&settings), PortDigest::default());
    let mut world = World::new(&settings);
    world.nodes.iter_mut().for_each(|n| n.nic.set_sleep(false));
    assert_eq!(finish(world, PortDigest::default()).0, asleep);
}
