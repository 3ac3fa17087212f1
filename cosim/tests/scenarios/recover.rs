//! What SACKs and NACKs tell a sender: gaps, trimming, windows, and what goes again.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cosim::check::{Checked, Stop};
use cosim::diagnose::headline;
use cosim::event::Event;
use cosim::settings::Settings;
use cosim::switch::What;
use cosim::world::World;
use rtl_model::retransmit::Cause;

use crate::common::{Log, built, listed, lockstep, message, number, scenario, settings};

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

/// A run in lockstep to its end, with every message whole.
fn whole(text: &str) -> Log {
    let mut log = Log::default();
    let checked = lockstep(&settings(text), &mut log, |_| ());
    let driver = &checked.world.driver;
    assert_eq!(driver.intact, driver.messages.len() as u64, "messages that are whole");
    log
}

/// Clock, PSN and cause of what NIC `a` queued to go again.
fn queued(log: &Log) -> Vec<(u64, u32, Cause)> {
    let of = |e: &(u64, usize, Event)| match e.2 {
        Event::Queued { psn, cause, .. } if e.1 == 0 => Some((e.0, psn, cause)),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Clocks and bytes of the frames with this opcode that a NIC sent.
fn sent(log: &Log, nic: usize, opcode: u8) -> Vec<(u64, Vec<u8>)> {
    let of = |e: &(u64, usize, Event)| match &e.2 {
        Event::Sent { bytes, .. } if e.1 == nic && bytes[42] == opcode => {
            Some((e.0, bytes.clone()))
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Clocks and PSNs of the data frames that NIC `a` sent, of first transmissions or of others.
fn data(log: &Log, again: bool) -> Vec<(u64, u32)> {
    let of = |e: &(u64, usize, Event)| match &e.2 {
        Event::Sent { bytes, .. }
            if e.1 == 0 && bytes[42] >> 4 == 0xc && (bytes[50] & 0x20 != 0) == again =>
        {
            Some((e.0, number(&bytes[51..54]) as u32))
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// LOS-1, LOS-2, SACK-4, RTX-1: at line rate PSN 0 is lost; the first SACK that lists a PSN 513
/// beyond it is the one in which the gap is found, 42.8 µs of line time behind it. It goes again
/// once.
#[test]
fn los_1_a_gap_is_found_by_the_first_sack_513_beyond_it() {
    let rule = "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 0\n";
    let settings = settings(&scenario("limit = \"100us\"\n", &(message("2457600B", "") + rule)));
    let (mut log, mut in_work) = (Log::default(), Vec::new());
    let checked = lockstep(&settings, &mut log, |world| {
        let nic = &world.nodes[0].nic;
        if nic.o.retransmit.queued_valid {
            let take = &nic.b.ack_take;
            in_work.push((u64::from(take.psn.0), u64::from(take.drew)));
        }
    });
    assert_eq!(checked.world.driver.intact, 1);
    let gaps = queued(&log);
    let [(found, 0, Cause::Gap)] = gaps[..] else { panic!("{gaps:?}") };
    let sacks = sent(&log, 1, 0xdc);
    let tells = |sack: &(u64, Vec<u8>)| listed(&sack.1).1.last().is_some_and(|top| *top >= 513);
    let first = sacks.iter().position(tells).expect("a SACK beyond");
    // Cumulative PSN and distance of the one that drew it: no two SACKs of the run have both.
    let names = |sack: &(u64, Vec<u8>)| (number(&sack.1[51..54]), number(&sack.1[56..58]));
    assert_eq!(in_work, [names(&sacks[first])], "SACK {first}");
    assert_eq!(sacks.iter().filter(|sack| names(sack) == in_work[0]).count(), 1);
    // Exact ends: 513 × 83.48 ns, in units of a clock at 400 Gbps.
    let ends: Vec<u64> = log.0.iter().filter_map(first_end).collect();
    assert_eq!(ends[513] - ends[0], 513 * 4174 * 8_000);
    assert!(found * 400_000 > ends[513] + 200 * 400_000, "not before 513 can have been listed");
    assert_eq!(data(&log, true).iter().map(|d| d.1).collect::<Vec<_>>(), [0]);
}

/// The exact end of a first transmission of NIC `a`, in units of a clock at 400 Gbps.
fn first_end((clock, nic, event): &(u64, usize, Event)) -> Option<u64> {
    match event {
        Event::Sent { back, bytes } if *nic == 0 && bytes[42] >> 4 == 0xc => {
            (bytes[50] & 0x20 == 0).then(|| clock * 400_000 - u64::from(*back))
        }
        _ => None,
    }
}

/// LOS-1, LOS-2, case 24: PSNs wrap in the middle of a burst of losses: each goes again once, and a
/// gap after recovery is found again.
#[test]
fn los_2_psns_wrap_in_a_burst_of_losses() {
    let burst: Vec<u32> = (0xff_fff8..=0xff_ffff).chain(0..6).collect();
    let mut rules = String::new();
    for psn in burst.iter().chain(&[60]) {
        let _ = write!(
            rules,
            "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = {psn}\ntransmission = 1\n"
        );
    }
    let head = "limit = \"100us\"
[defaults]
InitialPSN = 16777208
SACKLossMinRetxPkts = 0
";
    let log = whole(&scenario(head, &(message("524288B", "") + &rules)));
    let gaps = queued(&log);
    assert!(gaps.iter().all(|q| q.2 == Cause::Gap), "{gaps:?}");
    let psns: Vec<u32> = gaps.iter().map(|q| q.1).collect();
    assert_eq!(psns[..burst.len()], burst, "in the order of the wrapped PSNs");
    assert_eq!(psns[burst.len()..], [60]);
}

/// Case 29: a shuffle within the allowance makes nothing go again.
#[test]
fn los_1_order_within_the_allowance_is_no_loss() {
    let rule = "[[switch]]\naction = \"reorder\"\nkind = \"data\"\nframes = 1\nmost_frames = 12\n\
                probability = 0.5\n";
    let head = "limit = \"100us\"\n[defaults]\nSACKLossMinRetxPkts = 64\n";
    let log = whole(&scenario(head, &(message("409600B", "") + rule)));
    assert!(log.0.iter().any(|e| e.2 == Event::OutOfOrder));
    assert_eq!(queued(&log), []);
}

/// NAK-1, RX-5, CC-1, PKT-3: packets that are trimmed go again at once, for either codepoint; where
/// the receiver does not trim, by their timers.
#[test]
fn nak_1_trimmed_packets_go_again_at_once() {
    for (action, cause) in [("trim", Cause::Trimmed), ("trim-last-hop", Cause::LastHop)] {
        let rule = format!(
            "[[switch]]\naction = \"{action}\"\nkind = \"data\"\nskip = 2\nevery = 3\ncount = 2\n"
        );
        let small =
            "limit = \"200us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"20us\"\n";
        let text = scenario(small, &(message("40960B", "") + &rule));
        let log = whole(&text);
        let again = queued(&log);
        assert_eq!(
            again.iter().map(|q| (q.1, q.2)).collect::<Vec<_>>(),
            [4, 7].map(|p| (p, cause))
        );
        for ((end, psn), (start, ..)) in data(&log, true).iter().zip(&again) {
            assert!(end - start < 400, "PSN {psn} waits {} ns", end - start);
        }
        let deaf = text
            .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nTrimmingEnabled = false");
        let log = whole(&deaf);
        let again = queued(&log);
        assert_eq!(again.len(), 2);
        assert!(again.iter().all(|q| q.2 == Cause::Timeout), "{again:?}");
    }
}

/// PKT-3, TMR-2: where the sender's packets say that they are not to be trimmed, a switch that would
/// drops them; no NACK comes, and they go again by their timers, with the same codepoint.
#[test]
fn pkt_3_a_sender_without_trimming_meets_a_switch_that_trims() {
    let rule = "[[switch]]\naction = \"trim\"\nkind = \"data\"\nskip = 2\nevery = 3\ncount = 2\n";
    let head = "limit = \"200us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"20us\"\n";
    let text = scenario(head, &(message("40960B", "") + rule))
        .replace("address = \"10.0.0.1\"", "address = \"10.0.0.1\"\nTrimmingEnabled = false");
    let log = whole(&text);
    let dropped =
        log.0.iter().filter(|e| matches!(&e.2, Event::Switch(act) if act.what == What::Drop));
    assert_eq!(dropped.count(), 2);
    assert!(!log.0.iter().any(|e| e.2 == Event::Trimmed), "none arrives trimmed");
    assert_eq!(sent(&log, 1, 0xdd), []);
    let again: Vec<_> = queued(&log).iter().map(|q| (q.1, q.2)).collect();
    assert_eq!(again, [4, 7].map(|psn| (psn, Cause::Timeout)));
    let mut codepoints = log.0.iter().filter_map(|e| match &e.2 {
        Event::Sent { bytes, .. } if e.1 == 0 && bytes[42] >> 4 == 0xc => Some(bytes[15] >> 2),
        _ => None,
    });
    assert!(codepoints.all(|dscp| dscp == 0), "no trim");
}

/// NAK-1, RX-4: what the receiver's window refuses goes again until the window has come there, at
/// no cost to the congestion window.
#[test]
fn nak_1_out_of_the_receivers_window() {
    let rule = "[[switch]]\naction = \"delay\"\nkind = \"data\"\npsn = 0\nby = \"2us\"\n";
    let small = "limit = \"200us\"\nbuild = \"small\"\n";
    let text = scenario(small, &(message("40960B", "") + rule))
        .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nMaxPSNRange = 4");
    let log = whole(&text);
    let again = queued(&log);
    assert!(again.len() >= 6 && again.iter().all(|q| q.2 == Cause::Range && q.1 > 3), "{again:?}");
}

/// NAK-2, QP-6: a packet that is always trimmed is refused as often as the budget allows, and once
/// more; then its QP is in error.
#[test]
fn nak_2_a_packet_that_is_always_trimmed_ends_its_qp() {
    let rule = "[[switch]]\naction = \"trim\"\npsn = 1\n";
    let head = "limit = \"300us\"\nbuild = \"small\"\n[defaults]\nLinearRetryCount = 3\n\
                ExponentialRetryCount = 2\n";
    let text = scenario(head, &(message("16384B", "") + rule));
    let log = for_clocks(&settings(&text), 12_000);
    assert_eq!(queued(&log).len(), 5);
    let why = log.0.iter().find_map(|e| match e.2 {
        Event::QpError { why, .. } => Some(why),
        _ => None,
    });
    assert_eq!(why, Some(rtl_model::types::Why::Nack));
}

/// TMR-3, the timeouts of case 12: "drop the third transmission of PSN 7 of message 2", and the two
/// before it: the fourth arrives, after three timeouts.
#[test]
fn the_third_transmission_of_one_packet_is_dropped() {
    let mut rules = String::new();
    for n in 1..=3 {
        let _ = write!(
            rules,
            "[[switch]]\naction = \"drop\"\npsn = 7\nmessage = 2\ntransmission = {n}\n"
        );
    }
    let head = "limit = \"200us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"10us\"\n";
    let log = whole(&scenario(head, &(message("40960B", "count = 3") + &rules)));
    let again = queued(&log);
    assert_eq!(again.iter().map(|q| (q.1, q.2)).collect::<Vec<_>>(), [(7, Cause::Timeout); 3]);
    assert_eq!(data(&log, true).len(), 3);
}

/// Case 12, TMR-3, NAK-1: two timeouts of a packet, then a NACK for it: its schedule starts at timer
/// 1 again, where its third would have lasted four times as long; that of the other packet goes on.
#[test]
fn tmr_3_a_nack_starts_the_schedule_again() {
    let mut rules = String::new();
    for (action, psn, nth) in [
        ("drop", 0, 1),
        ("drop", 0, 2),
        ("trim", 0, 3),
        ("drop", 0, 4),
        ("drop", 1, 1),
        ("drop", 1, 2),
        ("drop", 1, 3),
    ] {
        let _ = write!(
            rules,
            "[[switch]]\naction = \"{action}\"\npsn = {psn}\nmessage = 0\ntransmission = {nth}\n"
        );
    }
    let head = "limit = \"300us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"10us\"\n\
                LinearRetryCount = 1\n";
    let log = whole(&scenario(head, &(message("8192B", "") + &rules)));
    let again = queued(&log);
    let of = |psn: u32| again.iter().filter(move |q| q.1 == psn).copied().collect::<Vec<_>>();
    let causes = |of: &[(u64, u32, Cause)]| of.iter().map(|q| q.2).collect::<Vec<_>>();
    let (nacked, other) = (of(0), of(1));
    let timeout = Cause::Timeout;
    assert_eq!(causes(&nacked), [timeout, timeout, Cause::Trimmed, timeout]);
    assert_eq!(causes(&other), [timeout; 3]);
    // From the end of the copy before to the expiry: whole microseconds, off a tick.
    let lasts = |psn: u32, of: &[(u64, u32, Cause)]| {
        let all = [data(&log, false), data(&log, true)].concat();
        let end = |q: &(u64, u32, Cause)| {
            all.iter().filter(|d| d.1 == psn && d.0 < q.0).map(|d| d.0).max().expect("sent before")
        };
        of.iter().filter(|q| q.2 == timeout).map(|q| (q.0 - end(q)) / 1_000).collect::<Vec<_>>()
    };
    assert_eq!(lasts(0, &nacked), [10, 20, 10]);
    assert_eq!(lasts(1, &other), [10, 20, 40]);
}

/// SACK-1: a SACK every 4, 4, 3, 2, 2, 1 packets for these payloads.
#[test]
fn sack_1_one_for_each_4095_bytes() {
    let rows = [(1, 4), (1365, 4), (1366, 3), (2048, 2), (4095, 2), (4096, 1)];
    for (payload, every) in rows {
        let head = format!("limit = \"100us\"\n[defaults]\nMSS = {payload}\n");
        let log = whole(&scenario(&head, &message(&format!("{}B", 24 * payload), "")));
        let drew: Vec<u64> = sent(&log, 1, 0xdc).iter().map(|s| listed(&s.1).0).collect();
        let due: Vec<u64> = (0..24).filter(|psn| (psn + 1) % every == 0).collect();
        assert_eq!(drew, due, "payloads of {payload} B");
    }
}

/// SEG-2: with no answer and a window that is wider, 1,024 packets of 4,096 B are sent: 4 MiB.
#[test]
fn seg_2_4_mib_of_psns() {
    let head = "limit = \"200us\"\n[defaults]\nMaxCongestionWindow = 2000\n";
    let rule = "[[switch]]\naction = \"drop\"\nkind = [\"ACK\", \"SACK\"]\n";
    let text = scenario(head, &(message("6MiB", "") + rule));
    let log = for_clocks(&settings(&text), 16_700 + 90_000);
    let first = data(&log, false);
    assert_eq!((first.len() * 4096, first.last().map(|f| f.1)), (4 << 20, Some(1023)));
}

/// SEG-3, CC-1: at a window of 450,000 B, 109 packets are in flight: 108 leave 1,152 B of room, and
/// any room will do.
#[test]
fn seg_3_109_packets_in_450_000_bytes() {
    let rule = "[[switch]]\naction = \"drop\"\nkind = [\"ACK\", \"SACK\"]\n";
    for (window, packets) in [("450000B", 109), ("448848B", 108), ("448849B", 109)] {
        let head = format!("limit = \"100us\"\n[defaults]\nCongestionWindow = \"{window}\"\n");
        let text = scenario(&head, &(message("1MiB", "") + rule));
        let log = for_clocks(&settings(&text), 16_700 + 12_000);
        let mut by_psn = BTreeMap::new();
        for (_, psn) in data(&log, false) {
            *by_psn.entry(psn).or_insert(0) += 1;
        }
        assert_eq!(by_psn.len(), packets, "a window of {window}");
    }
}

/// Clocks of the SACKs that list this PSN as NIC `a` takes them in, the cumulative PSN behind it.
fn reported(log: &Log, psn: u32) -> Vec<u64> {
    let of = |e: &(u64, usize, Event)| match &e.2 {
        Event::Arrived { bytes, .. } if e.1 == 0 && bytes[42] == 0xdc => {
            let behind = u64::from(psn).wrapping_sub(number(&bytes[67..70])) & 0xff_ffff;
            let beyond = (1..1 << 23).contains(&behind);
            (beyond && listed(bytes).1.contains(&psn.into())).then_some(e.0)
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Case 2, RTX-1: SACKs come later than the timers, and while packets wait for the line to go
/// again: those that are acknowledged meanwhile are not sent, and their group goes on. So are those
/// that a bitmap lists while PSN 0, which is lost, keeps the cumulative PSN behind them.
#[test]
fn rtx_1_what_is_acknowledged_while_it_waits_is_not_sent() {
    let head = "limit = \"300us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"3us\"\n\
                DataRate = \"50Gbps\"\n[defaults.EgressBufferManager]\n\
                TotalBufferSize = \"10000B\"\n";
    let late = "[[switch]]\naction = \"delay\"\nkind = [\"SACK\", \"ACK\"]\nby = \"3600ns\"\n";
    let lost = "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 0\ntransmission = 1\n";
    let messages = message("40960B", "count = 3\none_qp = true");
    let log = whole(&scenario(head, &(messages + late + lost)));
    let (queued, again) = (queued(&log), data(&log, true));
    let n = [queued.len(), again.len()];
    assert!(n[1] > 0 && n[0] > n[1] + 5, "{} were queued, {} went again", n[0], n[1]);
    let by_bitmap = |(at, psn, _): &&(u64, u32, Cause)| {
        let never = again.iter().all(|sent| sent.1 != *psn);
        never && reported(&log, *psn).first().is_some_and(|report| report > at)
    };
    assert!(queued.iter().any(|q| by_bitmap(&q)), "{queued:?}");
}

/// Case 4, SACK-2, SACK-3: with base, base + 1 and base + 63 received, the eight bytes of the
/// bitmap are these, most significant first.
#[test]
fn sack_3_bytes_of_the_bitmap() {
    let mut rules = String::new();
    for psn in [0].into_iter().chain(3..64) {
        let _ = write!(
            rules,
            "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = {psn}\ntransmission = 1\n"
        );
    }
    let head = "limit = \"200us\"\n[defaults]\nInitialAckTimeout = \"20us\"\n";
    let log = whole(&scenario(head, &(message("266240B", "") + &rules)));
    let sacks = sent(&log, 1, 0xdc);
    let (_, sack) = sacks.iter().find(|s| listed(&s.1).0 == 64).expect("PSN 64 draws one");
    assert_eq!(sack[74..82], [0x80, 0, 0, 0, 0, 0, 0, 3]);
    // Nothing is in order yet: the cumulative PSN is the one before 0, the base is PSN 1.
    assert_eq!(sack[67..70], [0xff, 0xff, 0xff]);
    assert_eq!(sack[72..74], [0, 2]);
}

/// Case 13, TMR-4: without any timeout in its budget a lone packet ends its QP at its first timer,
/// which lasts 300 µs, twice the default `InitialAckTimeout`, where `LinearRetryCount` is 0. In both
/// builds.
#[test]
fn tmr_4_an_empty_budget_ends_at_the_first_timer() {
    for build in ["small", "default"] {
        let head = format!(
            "limit = \"500us\"\nbuild = \"{build}\"\n[defaults]\nLinearRetryCount = 0\n\
             ExponentialRetryCount = 0\n"
        );
        let rule = "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\n";
        let settings = settings(&scenario(&head, &(message("100B", "") + rule)));
        let (mut log, mut starts) = (Log::default(), Vec::new());
        // It ends with every message failed.
        let checked = lockstep(&settings, &mut log, |world| {
            let o = &world.nodes[0].nic.o;
            if o.retransmit.arm_valid {
                starts.push(o.retransmit.arm_start);
            }
        });
        assert!(checked.world.driver.messages[0].failed.is_some());
        let errors = log.0.iter().filter(|e| matches!(e.2, Event::QpError { .. }));
        let errors: Vec<u64> = errors.map(|e| e.0).collect();
        let ([start], [error]) = (&starts[..], &errors[..]) else {
            panic!("{starts:?} {errors:?}")
        };
        assert_eq!(error / 1_000 - start, 300, "{build}");
        let (end, _) = sent(&log, 0, 0xca)[0];
        assert_eq!((error - end) / 1_000, 300, "{build}");
        assert_eq!(data(&log, true), []);
    }
}
