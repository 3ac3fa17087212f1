//! Paths that are lost and come back: values left out, passed over and probed (PTH-1, PTH-2).

use std::collections::BTreeSet;

use cosim::check::Checked;
use cosim::event::Event;
use cosim::switch::frame::Kind;
use rtl_model::image::Wide;

use crate::common::{Log, lockstep, message, scenario, settings};

/// Frames of a kind that a NIC has sent: clock of the end, bytes.
fn sent(log: &Log, nic: usize, kind: Kind) -> Vec<(u64, Vec<u8>)> {
    let of = |(clock, at, e): &(u64, usize, Event)| match e {
        Event::Sent { bytes, .. } if *at == nic && Kind::of(bytes) == kind => {
            Some((*clock, bytes.clone()))
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

fn port(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[34], frame[35]])
}

/// Clock in which a value of NIC a is told to be bad, or good again.
fn turns(log: &Log, bad: bool) -> Vec<(u64, u16)> {
    let of = |(clock, nic, e): &(u64, usize, Event)| match e {
        Event::PathBad { port, .. } if *nic == 0 && bad => Some((*clock, *port)),
        Event::PathGood { port, .. } if *nic == 0 && !bad => Some((*clock, *port)),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// PTH-1, PTH-2, TMR-2, BUF-4: two packets of a long message are lost. Their values are bad from the
/// timeout on, probed every 20 us while the first two probes on each are lost, and good again with
/// the answer to the third. Meanwhile no packet is on them; then some are.
#[test]
fn pth_2_a_lost_path_is_probed_until_it_answers() {
    let text = message("2MB", "")
        + &message("600KB", "at = \"90us\"")
        + "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 3\nuntil = \"50us\"\n\
           [[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 9\nuntil = \"50us\"\n\
           [[switch]]\naction = \"drop\"\nkind = \"probe\"\nuntil = \"75us\"\n\
           [[switch]]\naction = \"delay\"\nkind = \"ACK\"\nby = \"60us\"\n";
    let head = "limit = \"400us\"\n[defaults]\nInitialAckTimeout = \"20us\"\n\
                SACKLossMinRetxPkts = 1024\n";
    let mut log = Log::default();
    let s = settings(&scenario(head, &text));
    let Checked { world, .. } = lockstep(&s, &mut log, |_| {});
    assert_eq!(world.driver.intact, 2);

    let (bad, good) = (turns(&log, true), turns(&log, false));
    assert_eq!((bad.len(), good.len()), (2, 2), "{bad:?} {good:?}");
    let probes = sent(&log, 0, Kind::Probe);
    assert!(probes.len() >= 6, "{} probes", probes.len());
    for (fell, value) in bad {
        let (rose, _) = *good.iter().find(|(_, port)| *port == value).expect("good again");
        let mine: Vec<_> = probes.iter().filter(|(_, frame)| port(frame) == value).collect();
        // At the ticks 20, 40 and 60 us after the one at which its timer expired.
        let tick = fell / 1_000;
        let after: Vec<u64> = mine.iter().map(|(clock, _)| clock / 1_000 - tick).collect();
        assert_eq!(after[..2], [20, 40], "{value}: {after:?}");
        for (_, probe) in &mine {
            assert_eq!((probe.len(), probe[42], probe[15] >> 2), (74, 0xde, 0), "no trim");
            assert_eq!(probe[50], 0x40, "R, and no flag else");
            assert_eq!(probe[51..54], [0, 0, 0], "no PSN");
        }
        let data = sent(&log, 0, Kind::Data);
        let on = |from: u64, to: u64| {
            let here = |(at, f): &&(u64, Vec<u8>)| port(f) == value && (from..to).contains(at);
            data.iter().filter(here).count()
        };
        // What was drawn before may still leave.
        assert_eq!(on(fell + 6_000, rose), 0, "{value} is left out");
        assert!(on(rose, u64::MAX) > 0, "{value} is back");
        // Its answer is a SACK with pr and the id of the last probe, on the same value.
        let id = &mine[mine.len() - 1].1[58..60];
        let answer = |(_, f): &&(u64, Vec<u8>)| f[55] & 2 != 0 && f[56..58] == *id;
        let answers = sent(&log, 1, Kind::Sack);
        let answers: Vec<_> = answers.iter().filter(answer).collect();
        assert_eq!(answers.len(), 1, "{value}: one answer");
        assert_eq!((port(&answers[0].1), answers[0].1[55]), (value, 2), "m = 0");
        assert!(answers[0].0 < rose && rose < answers[0].0 + 1_000, "good with the answer");
    }
    // BUF-3, BUF-4: what the probes and their answers held is free again.
    for (node, n) in world.nodes.iter().zip(&s.nics) {
        let (pool, arbiter) = (&node.nic.o.ingress_pool, &node.nic.o.egress_arbiter);
        assert_eq!(pool.occ, Wide::ZERO, "ingress");
        assert_eq!(u64::from(arbiter.egress_free), n.buffers.egress[0], "egress");
    }
}

/// Ports of the packets that NIC a has sent, new and again, in the order of their draws.
fn drawn(log: &Log) -> Vec<(u64, u16)> {
    let of = |(clock, nic, e): &(u64, usize, Event)| match e {
        Event::Sent { bytes, .. }
            if *nic == 0 && matches!(Kind::of(bytes), Kind::Data | Kind::Retransmission) =>
        {
            Some((*clock, port(bytes)))
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// PTH-1: a trimmed packet's NACK, and a marked packet's SACK with m = 1, have its value passed over
/// once: the round robin goes on two values later there, in one round; in the next it is drawn.
#[test]
fn pth_1_a_value_is_passed_over_once() {
    for action in ["trim", "mark"] {
        let rule = format!("[[switch]]\naction = \"{action}\"\nkind = \"data\"\npsn = 5\n");
        let s = settings(&scenario("limit = \"200us\"", &(message("2MB", "") + &rule)));
        let mut log = Log::default();
        lockstep(&s, &mut log, |_| {});
        let ports: Vec<u16> = drawn(&log).iter().map(|(_, port)| *port).collect();
        assert!(ports.len() > 3 * 128, "{} packets", ports.len());
        let lost = ports[5];
        let skips = |e: &&(u64, usize, Event)| matches!(e.2, Event::PathSkipped { .. });
        assert_eq!(log.0.iter().filter(skips).count(), 1, "{action}");
        let step = |pair: &[u16]| (pair[1] + 128 - pair[0]) % 128;
        let gaps: Vec<usize> =
            (0..ports.len() - 1).filter(|n| step(&ports[*n..n + 2]) != 1).collect();
        let [gap] = gaps[..] else { panic!("{action}: {gaps:?}") };
        assert_eq!((ports[gap] + 1, ports[gap + 1]), (lost, lost + 1), "{action}");
        assert_eq!(gap + 1, 5 + 128, "{action}: at its next turn");
        assert!(ports[gap + 1..].contains(&lost), "{action}: and then it is drawn");
    }
}

/// PTH-1: where all 128 values are bad, each packet is on the one that was bad first, until a probe
/// brings one back.
#[test]
fn pth_1_without_a_usable_value_the_longest_bad_is_used() {
    let text = message("400KB", "")
        + "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\nuntil = \"60us\"\n\
           [[switch]]\naction = \"drop\"\nkind = \"probe\"\nuntil = \"60us\"\n";
    let head = "limit = \"600us\"\n[defaults]\nMSS = 1024\nInitialAckTimeout = \"20us\"\n\
                MaxCongestionWindow = 1000\nSACKLossMinRetxPkts = 1024\nFixedRexmitTimeEnable = true\n";
    let mut log = Log::default();
    let s = settings(&scenario(head, &text));
    let Checked { world, .. } = lockstep(&s, &mut log, |_| {});
    assert_eq!(world.driver.intact, 1);
    let (bad, good) = (turns(&log, true), turns(&log, false));
    let first = bad[0].1;
    let distinct = |n: usize| bad[..=n].iter().map(|b| b.1).collect::<BTreeSet<_>>().len();
    let all = (0..bad.len()).find(|n| distinct(*n) == 128).expect("all are bad");
    // What was drawn before may still leave.
    let span = bad[all].0 + 6_000..good[0].0;
    let meanwhile: Vec<u16> =
        drawn(&log).iter().filter(|(at, _)| span.contains(at)).map(|(_, port)| *port).collect();
    assert!(meanwhile.len() > 100, "{} packets", meanwhile.len());
    assert!(meanwhile.iter().all(|port| *port == first), "{first}: {meanwhile:?}");
}

/// PTH-1: what is known of a destination's values outlives its QPs and their group, and is one whatever
/// `QPGroupsEnabled` is: a value that has fallen is left out of a message whose QP is opened after all
/// have closed, and the numbering of ports goes on where it was.
#[test]
fn pth_1_a_destinations_values_outlive_its_groups() {
    for groups in [true, false] {
        let head = format!(
            "limit = \"300us\"\n[defaults]\nInitialAckTimeout = \"20us\"\n\
             SACKLossMinRetxPkts = 1024\nQPGroupsEnabled = {groups}\n"
        );
        let rules = "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 3\nuntil = \"40us\"\n\
                     [[switch]]\naction = \"drop\"\nkind = \"probe\"\n";
        let text = message("40KB", "") + &message("1MB", "at = \"60us\"") + rules;
        let mut log = Log::default();
        lockstep(&settings(&scenario(&head, &text)), &mut log, |_| {});
        let posts = |e: &&(u64, usize, Event)| matches!(e.2, Event::Posted { .. });
        let second = log.0.iter().filter(posts).nth(1).expect("two messages").0;
        let closes = |e: &&(u64, usize, Event)| matches!(e.2, Event::QpClosed { .. });
        let ends: Vec<u64> = log.0.iter().filter(closes).map(|e| e.0).collect();
        assert!(ends[..2].iter().all(|at| *at < second), "both sides: {ends:?}, {second}");
        let [(fell, bad)] = turns(&log, true)[..] else { panic!("{:?}", turns(&log, true)) };
        assert!(fell < second && turns(&log, false).is_empty(), "{bad} stays bad");
        let drawn = drawn(&log);
        let first = drawn.iter().position(|(at, _)| *at > second).expect("it is sent");
        assert!(drawn.len() - first > 128, "{} packets", drawn.len() - first);
        let after = |port: u16| 256 + (port - 256 + 1) % 128;
        for pair in drawn[first - 1..].windows(2) {
            let next = after(pair[0].1);
            assert_eq!(pair[1].1, if next == bad { after(next) } else { next }, "{groups}");
        }
    }
}
