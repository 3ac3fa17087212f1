//! Groups of QPs and their congestion windows: what they share, how long they live, what they lose.

use std::collections::BTreeSet;

use cosim::check::{Checked, Stop};
use cosim::diagnose::headline;
use cosim::event::Event;
use cosim::made::Made;
use cosim::switch::frame::Kind;
use cosim::world::World;

use crate::common::{Log, built, lockstep, message, scenario, settings};

/// A run in lockstep: its events, and the values of a group's window at NIC `a` with their clocks.
fn windows(text: &str, group: usize) -> (Log, Vec<(u64, u32)>) {
    let mut log = Log::default();
    let mut seen: Vec<(u64, u32)> = Vec::new();
    let settings = settings(text);
    let Checked { world, .. } = lockstep(&settings, &mut log, |world| {
        let cwnd = world.nodes[0].nic.m.window_win.peek(group).cwnd;
        if seen.last().is_none_or(|last| last.1 != cwnd) {
            seen.push((world.clock - world.boot.min(world.clock), cwnd));
        }
    });
    assert_eq!(world.driver.intact, world.driver.messages.len() as u64, "messages that are whole");
    // The memory starts from drawn words.
    seen.remove(0);
    (log, seen)
}

/// The window of the group of NIC `b`, without clocks.
fn values(head: &str, messages: &str, rules: &str) -> Vec<u32> {
    let head = format!("limit = \"600us\"\nbuild = \"small\"\n{head}");
    let (_, seen) = windows(&scenario(&head, &(messages.to_owned() + rules)), 1);
    seen.into_iter().map(|w| w.1).collect()
}

/// A rule of the switch.
fn rule(action: &str, more: &str) -> String {
    format!("[[switch]]\naction = \"{action}\"\n{more}\n")
}

/// CC-1: a group starts from `MaxCongestionWindow` × U, U = MSS + 60, with `uet` MSS + 88, or from
/// the bytes that `CongestionWindow` gives.
#[test]
fn cc_1_a_group_starts_from_its_window() {
    let rows = [
        ("", 108 * 4156),
        ("profile = \"uet\"\n", 107 * 4184),
        ("[defaults]\nMSS = 1000\n", 108 * 1060),
        ("profile = \"uet\"\n[defaults]\nMSS = 1000\nMaxCongestionWindow = 3\n", 3 * 1088),
        ("[defaults]\nCongestionWindow = \"450000B\"\n", 450_000),
    ];
    for (head, window) in rows {
        assert_eq!(values(head, &message("100B", ""), ""), [window], "{head}");
    }
}

/// CC-1: less one U for each packet that a gap or a timer finds lost, and for each NACK of the two
/// TRIMMED codes that queues one; nothing for one that is out of the receiver's window; never below
/// one U.
#[test]
fn cc_1_each_loss_takes_one_unit() {
    let (w, u) = (108 * 4156, 4156);
    let ten = message("40960B", "");
    // A gap.
    let head = "[defaults]\nSACKLossMinRetxPkts = 0\n";
    let lost = rule("drop", "kind = \"data\"\npsn = 2\n");
    assert_eq!(values(head, &ten, &lost), [w, w - u]);
    // Two timeouts of one packet.
    let head = "[defaults]\nInitialAckTimeout = \"20us\"\n";
    let lost = rule("drop", "psn = 0\ncount = 2\n");
    assert_eq!(values(head, &message("100B", ""), &lost), [w, w - u, w - 2 * u]);
    // NACKs.
    for action in ["trim", "trim-last-hop"] {
        let cut = rule(action, "kind = \"data\"\nskip = 2\nevery = 3\ncount = 2\n");
        assert_eq!(values("", &ten, &cut), [w, w - u, w - 2 * u], "{action}");
    }
    // With another unit.
    let head = "profile = \"uet\"\n[defaults]\nMSS = 1000\n";
    let cut = rule("trim", "kind = \"data\"\ncount = 1\n");
    assert_eq!(values(head, &message("5000B", ""), &cut), [107 * 1088, 106 * 1088]);
    // The floor.
    let head = "[defaults]\nInitialAckTimeout = \"20us\"\nMaxCongestionWindow = 2\n";
    let lost = rule("drop", "psn = 0\ncount = 4\n");
    assert_eq!(values(head, &message("100B", ""), &lost), [2 * u, u]);
}

/// CC-1, NAK-1: what the receiver's window refuses costs the congestion window nothing.
#[test]
fn cc_1_a_refusal_costs_nothing() {
    let late = rule("delay", "kind = \"data\"\npsn = 0\nby = \"2us\"\n");
    let text = scenario("limit = \"200us\"\nbuild = \"small\"\n", &(message("40960B", "") + &late))
        .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nMaxPSNRange = 4");
    let (log, seen) = windows(&text, 1);
    assert!(log.0.iter().any(|e| matches!(e.2, Event::Queued { .. })));
    assert_eq!(seen.len(), 1, "{seen:?}");
}

/// Table indices of the QPs of the data packets that NIC `a` makes, in order; true for one again.
fn made(log: &Log) -> Vec<(u8, bool)> {
    let of = |e: &(u64, usize, Event)| match e.2 {
        Event::Made(Made { kind: Kind::Data, qp: Some(qp), .. }) if e.1 == 0 => Some((qp, false)),
        Event::Made(Made { kind: Kind::Retransmission, qp: Some(qp), .. }) if e.1 == 0 => {
            Some((qp, true))
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// SCH-1, SCH-3, SEG-3: QPs to one destination are one group with one window, and take turns in it;
/// without groups each has a window.
#[test]
fn sch_1_one_window_for_a_destination_or_one_for_each_qp() {
    for (groups, qps) in [("true", vec![0, 1]), ("false", vec![0, 0, 1, 1, 2, 2])] {
        let head = format!(
            "limit = \"100us\"\nbuild = \"small\"\n[defaults]\nMaxCongestionWindow = 2\n\
             QPGroupsEnabled = {groups}\n"
        );
        let silent = rule("drop", "kind = [\"ACK\", \"SACK\"]");
        let text = scenario(&head, &(message("40960B", "count = 3") + &silent));
        let settings = settings(&text);
        let mut log = Log::default();
        let mut checked = Checked::new(World::new(&settings), &built(&settings)).expect("set up");
        for _ in 0..checked.world.boot + 4_000 {
            match checked.step(&mut log) {
                Ok(()) => {}
                Err(Stop::Differs(m)) => panic!("{}", headline(&settings, &m)),
                Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
            }
        }
        let mut sent: Vec<u8> = made(&log).iter().map(|m| m.0).collect();
        sent.sort_unstable();
        assert_eq!(sent, qps, "QPGroupsEnabled = {groups}");
    }
}

/// SCH-1, CC-1: a group, with what its window has lost, lives while any of its QPs does: a message
/// posted before the first QP is closed goes on with its window, one posted after the last is closed
/// starts a new one.
#[test]
fn sch_1_a_group_lives_as_long_as_its_qps() {
    let lost = rule("drop", "message = 0\ncount = 1\n");
    let messages = message("100B", "")
        + &message("100B", "at = \"40us\"")
        + &message("100B", "at = \"60us\"")
        + &message("100B", "at = \"200us\"");
    for (close, again) in [("30us", 200_000), ("0ns", 40_000)] {
        let head = format!(
            "limit = \"600us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"20us\"\n\
             CloseDelay = \"{close}\"\n"
        );
        let (_, seen) = windows(&scenario(&head, &(messages.clone() + &lost)), 1);
        let w = 108 * 4156;
        let values: Vec<u32> = seen.iter().map(|s| s.1).collect();
        assert_eq!(values, [w, w - 4156, w], "closed after {close}");
        let begins = seen[2].0;
        assert!((again..again + 300).contains(&begins), "closed after {close}: {begins}");
    }
}

/// SCH-1, CC-1: a receiving side keeps a group too, with what its window has lost, though no QP to
/// its destination is open; the first QP after the last side is closed starts a new one.
#[test]
fn sch_1_a_receiving_side_keeps_the_group() {
    let lost = rule("drop", "message = 0\nfrom = \"a\"\ncount = 1\n");
    let messages = message("100B", "")
        + &message("100B", "at = \"120us\"")
        + &message("100B", "at = \"500us\"")
        + &lost;
    // It comes at 1 Gbps, some 185 us long.
    let back = message("20000B", "").replace("\"a\"\nto = \"b\"", "\"b\"\nto = \"a\"");
    let head = "limit = \"900us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"40us\"\nMSS = 500\n";
    for (more, again) in [(String::new(), 120_000), (back, 500_000)] {
        let text = scenario(head, &(messages.clone() + &more))
            .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nDataRate = \"1Gbps\"");
        let (_, seen) = windows(&text, 1);
        let (w, u) = (108 * 560, 560);
        let values: Vec<u32> = seen.iter().map(|s| s.1).collect();
        assert_eq!(values, [w, w - u, w], "{seen:?}");
        let begins = seen[2].0;
        assert!((again..again + 300).contains(&begins), "{begins} and not {again}");
    }
}

/// SCH-5, SCH-4, RTX-1: with a window of one packet each, a QP whose packet is trimmed joins at the
/// head, before those that wait for the pool; those whose packet is acknowledged join at the tail.
#[test]
fn sch_5_to_the_head_with_a_retransmission_else_to_the_tail() {
    let head = "limit = \"300us\"\nbuild = \"small\"\n[defaults]\nQPGroupsEnabled = false\n\
                MaxCongestionWindow = 1\nDataRate = \"50Gbps\"\n[defaults.EgressBufferManager]\n\
                TotalBufferSize = \"10000B\"\n";
    let cut = rule("trim", "kind = \"data\"\nmessage = 0\ncount = 1\n");
    let text = scenario(head, &(message("12288B", "count = 6") + &cut));
    let mut log = Log::default();
    let Checked { world, .. } = lockstep(&settings(&text), &mut log, |_| ());
    assert_eq!(world.driver.intact, 6);
    let made = made(&log);
    // Two packets fill the pool; the third QP's turn has come when the NACK does.
    let again = made.iter().position(|m| m.1).expect("one goes again");
    assert_eq!(made[again].0, 0);
    let before: Vec<u8> = made[..again].iter().map(|m| m.0).collect();
    assert!(before.starts_with(&[0, 1]) && before.len() < 6, "{made:?}");
    // All that waited go before any that was acknowledged: each QP once, then in the same order.
    let first: Vec<u8> = made.iter().filter(|m| !m.1).map(|m| m.0).take(6).collect();
    assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), 6, "the tail: {made:?}");
}
