//! The receiver in whole scenarios: order, duplicates, gaps, trimming.

use std::collections::{BTreeMap, BTreeSet};

use cosim::check::{Checked, Stop};
use cosim::diagnose::headline;
use cosim::event::Event;
use cosim::settings::Settings;
use cosim::switch::What;
use cosim::world::World;

use crate::common::{
    Log, agrees, built, fixture, listed, lockstep, message, number, scenario, settings,
};

const SMALL: &str = "limit = \"200us\"\nbuild = \"small\"\n";

/// Some clocks in lockstep, whatever the messages come to.
fn for_clocks(settings: &Settings, clocks: u64) -> Log {
    let mut log = Log::default();
    let mut checked = Checked::new(World::new(settings), &built(settings)).expect("set up");
    for _ in 0..clocks {
        match checked.step(&mut log) {
            Ok(()) => {}
            Err(Stop::Differs(m)) => panic!("{}", headline(settings, &m)),
            Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
        }
    }
    log
}

/// The frames with this opcode that a NIC sent.
fn sent(log: &Log, nic: usize, opcode: u8) -> Vec<Vec<u8>> {
    let of = |e: &(u64, usize, Event)| match &e.2 {
        Event::Sent { bytes, .. } if e.1 == nic && bytes[42] == opcode => Some(bytes.clone()),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// QP-5, RX-6, RX-7, RX-8, SACK-1 to SACK-3 and cases 28 and 29: data both ways is shuffled and all
/// of it duplicated, several messages on one QP. Every message is whole, told once, in order.
#[test]
fn rx_7_shuffled_and_duplicated() {
    let settings = fixture("shuffled.toml");
    let (run, recorder) = agrees("shuffled", &settings);
    assert_eq!(run.world.driver.corrupted, Vec::<usize>::new());
    for counts in &recorder.counts {
        assert!(counts.out_of_order > 1 && counts.duplicates > 10, "{counts:?}");
        assert!(counts.dropped["Qp"] > 0, "copies come after the close: {counts:?}");
        assert_eq!((counts.trimmed, counts.ctrl_drops), (0, 0));
        assert_eq!(counts.completions["RECV_COMPLETE"], 16);
        assert_eq!(counts.completions["WQE_COMPLETE"], 16);
    }
}

/// What each QP of each NIC told its host, in order: kind, MSN, bytes.
type Told = BTreeMap<(usize, u32), Vec<(String, u16, u32)>>;

fn told(log: &Log) -> Told {
    let mut told = Told::new();
    for (_, nic, event) in &log.0 {
        let (qpn, entry) = match event {
            Event::Completed { kind, qpn, msn, bytes } => {
                (qpn, (format!("{kind:?}"), *msn, *bytes))
            }
            // Beside the sender's side of that number.
            Event::Received { qpn, msn } => (qpn, ("Recv".into(), *msn, 0)),
            _ => continue,
        };
        told.entry((*nic, *qpn)).or_default().push(entry);
    }
    for of_qp in told.values_mut() {
        of_qp.sort();
    }
    told
}

/// Case 28: the network sends every packet twice, control frames and retransmissions too, and loses
/// some the first time: delivered bytes, messages' numbers and completions are those of a run without
/// copies.
#[test]
fn case_28_every_packet_comes_twice() {
    let back = |there: &str| there.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
    let there = message("0B", "most = \"30000B\"\ncount = 8\noutstanding = 4\none_qp = true");
    let lost = "[[switch]]\naction = \"drop\"\nkind = \"data\"\nevery = 9\ncount = 6\n\
                [[switch]]\naction = \"drop\"\nkind = \"ACK\"\ncount = 1\nskip = 3\n";
    let twice = "[[switch]]\naction = \"duplicate\"\nby = \"0ns\"\nmost = \"1us\"\nkind = [\"data\", \
                 \"retransmission\", \"ACK\", \"SACK\", \"NACK\", \"probe\"]\n";
    let run = |rules: &str| {
        let head = "limit = \"900us\"\nbuild = \"small\"\n[defaults]\nCloseDelay = \"5us\"\n\
                    InitialAckTimeout = \"20us\"\n";
        let settings = settings(&scenario(head, &(there.clone() + &back(&there) + rules)));
        let mut log = Log::default();
        let checked = lockstep(&settings, &mut log, |_| ());
        let driver = &checked.world.driver;
        assert_eq!((driver.intact, driver.stray_entries, driver.corrupted.len()), (16, 0, 0));
        let written = checked.world.nodes.iter().map(|n| n.host.counts.bytes_written);
        (told(&log), written.collect::<Vec<_>>(), log)
    };
    let (once, twice) = (run(lost), run(&format!("{lost}{twice}")));
    assert_eq!((&once.0, &once.1), (&twice.0, &twice.1));
    assert_eq!(once.0.values().map(Vec::len).sum::<usize>(), 16 * 3);
    // Each kind was copied.
    let copied = twice.2.0.iter().filter_map(|e| match &e.2 {
        Event::Switch(act) if act.what == What::Duplicate => Some(format!("{:?}", act.seen.kind)),
        _ => None,
    });
    let copied: BTreeSet<_> = copied.collect();
    for kind in ["Data", "Retransmission", "Ack", "Sack"] {
        assert!(copied.contains(kind), "{copied:?}");
    }
}

/// Case 29, LOS-1: a packet comes behind the 512 after it, twice in a message, and none goes again;
/// one that comes far behind more of them does.
#[test]
fn case_29_a_shuffle_at_the_border_of_the_allowance() {
    for (frames, again) in [(512, 0), (640, 2)] {
        let rule = |psn: u32| {
            format!(
                "[[switch]]\naction = \"reorder\"\nkind = \"data\"\npsn = {psn}\n\
                 frames = {frames}\nby = \"80us\"\n"
            )
        };
        let rules = rule(3) + &rule(900);
        let text = scenario("limit = \"400us\"\n", &(message("7MB", "") + &rules));
        let mut log = Log::default();
        let checked = lockstep(&settings(&text), &mut log, |_| ());
        assert_eq!(checked.world.driver.intact, 1);
        let queued = log.0.iter().filter(|e| matches!(e.2, Event::Queued { .. })).count();
        assert_eq!(queued, again, "{frames} pass");
        let ahead = log.0.iter().filter(|e| e.2 == Event::OutOfOrder).count();
        assert!(ahead >= 2 * 512, "{ahead}");
    }
}

/// RX-8: several messages wait behind one packet; its arrival completes them, one `RECV_COMPLETE` a
/// clock, in order.
#[test]
fn rx_8_one_packet_completes_several_messages() {
    let rule = "[[switch]]\naction = \"delay\"\nkind = \"data\"\npsn = 0\nby = \"3us\"\n";
    let text = scenario(SMALL, &(message("1000B", "count = 6\none_qp = true") + rule));
    let mut log = Log::default();
    lockstep(&settings(&text), &mut log, |_| ());
    let of_b = |e: &(u64, usize, Event)| match e.2 {
        Event::Received { msn, .. } => Some((e.0, msn)),
        _ => None,
    };
    let recv: Vec<_> = log.0.iter().filter_map(of_b).collect();
    assert_eq!(recv.iter().map(|r| r.1).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(recv[5].0 - recv[1].0, 4, "one a clock: {recv:?}");
    // Each of the last packets asked for an ACK over the gap; one more covers all of them.
    let acks = sent(&log, 1, 0xd1);
    assert_eq!(number(&acks.last().expect("an ACK")[51..54]), 5);
}

/// SACK-1, SACK-3: while PSN 0 is late each later packet draws a SACK, whose bitmap lists what is
/// held; base and bits together name exactly those that have arrived.
#[test]
fn sack_3_lists_what_is_held() {
    let rule = "[[switch]]\naction = \"delay\"\nkind = \"data\"\npsn = 0\nby = \"5us\"\n";
    let text = scenario(SMALL, &(message("409600B", "") + rule));
    let mut log = Log::default();
    lockstep(&settings(&text), &mut log, |_| ());
    let mut known = BTreeSet::new();
    let (mut gaps, mut last) = (0, 0);
    for sack in sent(&log, 1, 0xdc) {
        let (drew, psns) = listed(&sack);
        if psns.is_empty() {
            continue;
        }
        gaps += 1;
        assert!(psns.iter().all(|p| (1..100).contains(p) && *p <= drew), "{psns:?} at {drew}");
        known.extend(psns);
        last = drew;
    }
    assert!(gaps > 10, "{gaps} SACKs over the gap");
    // A report behind the last one is at most a walk old.
    assert!(known.len() as u64 + 64 >= last && known.iter().all(|p| *p <= last));
}

/// RX-4, RX-5, NAK-1: a trimmed packet is `NACKed` with its code and delivers nothing, if the
/// receiver has `TrimmingEnabled`.
#[test]
fn rx_5_trimmed_packets_are_refused_by_code() {
    for (action, code) in [("trim", 1), ("trim-last-hop", 2)] {
        let rule =
            format!("[[switch]]\naction = \"{action}\"\nkind = \"data\"\npsn = 2\ncount = 1\n");
        let text = scenario(SMALL, &(message("16384B", "") + &rule));
        let log = for_clocks(&settings(&text), 4_000);
        assert_eq!(log.0.iter().filter(|e| e.2 == Event::Trimmed).count(), 1);
        let nacks = sent(&log, 1, 0xdd);
        assert_eq!(nacks.len(), 1);
        let nack = &nacks[0];
        assert_eq!((nack.len(), nack[54], nack[56]), (78, 0x20, code));
        assert_eq!((number(&nack[51..54]), number(&nack[67..70])), (2, 2), "both name PSN 2");
        assert_eq!(nack[15] >> 2, 46, "control");

        let deaf = text
            .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nTrimmingEnabled = false");
        let log = for_clocks(&settings(&deaf), 4_000);
        assert_eq!(log.0.iter().filter(|e| e.2 == Event::Trimmed).count(), 1);
        assert!(sent(&log, 1, 0xdd).is_empty(), "the receiver's own setting decides");
    }
}

/// RX-4, NAK-1: a receiver with a smaller window refuses what lies beyond it.
#[test]
fn rx_4_beyond_the_receivers_window() {
    let rule = "[[switch]]\naction = \"delay\"\nkind = \"data\"\npsn = 0\nby = \"2us\"\n";
    let text = scenario(SMALL, &(message("40960B", "") + rule))
        .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nMaxPSNRange = 4");
    let log = for_clocks(&settings(&text), 4_000);
    let nacks = sent(&log, 1, 0xdd);
    // Nothing is in order yet: 3 is the last in the window.
    let psns: Vec<_> = nacks.iter().map(|n| number(&n[67..70])).collect();
    assert_eq!(psns[..6], [4, 5, 6, 7, 8, 9]);
    assert!(nacks.iter().all(|n| n[56] == 0x0b));
}
