//! QP-5, QP-6: what hosts open they close, whatever became of the QP; and no peer sends to a NIC
//! that its host has not configured yet.

use cosim::run::{Mode, Outcome, Run};

use crate::common::{finished, message, run_into, scenario, settings};

/// Receiving sides of a NIC that are open: those ever used less those that are free again.
fn open_sides(run: &Run, nic: usize) -> u16 {
    let track = &run.world.nodes[nic].nic.b.rx_track;
    assert!(track.fresh > 0, "no side was ever open");
    track.fresh - track.free_count
}

/// The first read after `at` is refused: its QP goes into error.
fn refused_read(at: &str) -> String {
    format!("[[fault]]\nnic = \"a\"\nkind = \"unsupported-request\"\nat = \"{at}\"\n")
}

/// QP-6: a QP fails before any SACK has told the receiver's number. Its first packet opens a side
/// at the receiver later; the host closes that one too.
#[test]
fn qp_6_a_side_that_opens_after_the_error_is_closed() {
    let head = "limit = \"1ms\"\nbuild = \"small\"\n[defaults]\nDelay = \"5us\"";
    let messages = message("0B", "most = \"64B\"\none_qp = true\ncount = 30\noutstanding = 8");
    let run = finished(&(scenario(head, &messages) + &refused_read("110ns")), Mode::Lockstep);
    // The error comes before the first packet has arrived.
    let failed = run.world.driver.messages.iter().filter_map(|m| m.failed).min();
    assert!(failed.is_some_and(|clock| clock < run.world.boot + 5_000), "{failed:?}");
    assert_eq!(open_sides(&run, 1), 0);
}

/// QP-6: posts to a shared QP that has just failed are refused, while more messages of their table
/// wait for another one. The last of them closes the receiver's side.
#[test]
fn qp_6_refused_posts_to_a_failed_qp_close_its_other_side() {
    let head = "limit = \"1ms\"\nbuild = \"small\"";
    let messages = message("0B", "most = \"64B\"\none_qp = true\ncount = 60\noutstanding = 16");
    let run = finished(&(scenario(head, &messages) + &refused_read("100ns")), Mode::Lockstep);
    let messages = &run.world.driver.messages;
    assert!(messages.iter().any(|m| m.failed.is_some()), "no QP failed");
    assert!(messages.iter().any(|m| m.refused == Some(9)), "no post was refused for it");
    assert_eq!(open_sides(&run, 1), 0);
}

/// Settings stay while a frame arrives: boot goes on until the host on the slowest link has written
/// its NIC's registers, though the tables are swept by then.
#[test]
fn boot_waits_for_a_host_on_a_slow_link() {
    let text = |link: &str| {
        let nic = "name = \"b\"\n";
        let head = "limit = \"1ms\"\nbuild = \"small\"";
        scenario(head, &message("3KB", "count = 3"))
            .replace(nic, &format!("{nic}HostPCIe.LaneCount = 1\n{link}"))
    };
    let usual = finished(&text(""), Mode::Lockstep).world.boot;
    let slow = finished(&text("HostPCIe.LaneBps = \"1Gbps\"\n"), Mode::Lockstep).world;
    assert!(slow.boot > usual + 10_000, "{usual} {}", slow.boot);
    // No limit that is shorter holds a run up.
    let settings = settings(&text("HostPCIe.LaneBps = \"1Mbps\"\n"));
    let run = run_into(&settings, Mode::ModelOnly, None).0;
    assert!(matches!(run.outcome, Outcome::Limit(_)), "{:?}", run.outcome);
}
