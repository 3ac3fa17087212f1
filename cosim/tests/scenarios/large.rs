//! The largest message (QP-2): it is there at once and takes no memory for its bytes.

use std::fs;
use std::process::Command;

use cosim::event::Nowhere;
use cosim::world::World;

use crate::common::{message, scenario, settings};

/// Bytes of the largest message, 2^31 - 1, as a scenario writes it.
const LARGEST: &str = "2147483647B";
/// What a run may have of memory, in KiB.
const ROOM: u64 = 1_000_000_000 / 1_024;

/// Both ways at once, in lockstep and in the model alone, in an address space of 1 GB: the limit
/// ends the run, not the want of memory.
#[test]
fn qp_2_the_largest_message_runs_in_a_gigabyte() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.toml");
    let back = message(LARGEST, "").replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
    let text = scenario("limit = \"22us\"", &(message(LARGEST, "") + &back));
    fs::write(&path, text).expect("written");
    for mode in ["", "--model-only"] {
        let run = format!("ulimit -v {ROOM}; exec \"$0\" run \"$1\" {mode}");
        let mut command = Command::new("sh");
        command.args(["-c", &run, env!("CARGO_BIN_EXE_nicstep")]).arg(&path);
        let output = command.output().expect("sh runs");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{mode}: {err}");
        assert!(err.contains("message a to b, 2147483647 B: SEND_COMPLETE"), "{mode}: {err}");
    }
}

/// What has arrived of it needs no page at either host: only the completion ring has one.
#[test]
fn bytes_that_are_as_sent_take_no_pages() {
    let settings = settings(&scenario("limit = \"60us\"", &message(LARGEST, "offset = 3")));
    let mut world = World::new(&settings);
    while world.clock < 30_000 {
        world.step(&mut Nowhere);
    }
    assert!(world.nodes[1].host.counts.bytes_written > 500_000);
    let pages: Vec<_> = world.nodes.iter().map(|n| n.host.memory.pages()).collect();
    assert!(pages.iter().all(|n| *n <= 1), "{pages:?}");
}
