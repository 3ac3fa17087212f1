//! Completions whose cumulative ACK is lost: the sender asks for it again.

use std::path::Path;

use cosim::check::Checked;
use cosim::event::Event;
use cosim::record::Recorder;
use cosim::world::World;
use rtl_model::retransmit::Cause;
use rtl_model::types::Cqe;

use crate::common::{Both, Log, lockstep, message, number, scenario, settings};

/// Head of a scenario of the small build.
const SMALL: &str = "limit = \"2000us\"\nbuild = \"small\"\n";
/// The first ACK is lost.
const LOST: &str = "[[switch]]\naction = \"drop\"\nkind = \"ACK\"\ncount = 1\n";

/// A run in lockstep whose messages are all whole.
fn whole(text: &str) -> (Checked, Recorder, Log) {
    looking(text, None, |_| ())
}

/// The same with its records in a folder and a look before each edge.
fn looking(
    text: &str,
    folder: Option<&Path>,
    look: impl FnMut(&World),
) -> (Checked, Recorder, Log) {
    let settings = settings(text);
    let mut recorder = Recorder::new(&World::new(&settings), folder).expect("makes files");
    let mut log = Log::default();
    let checked = lockstep(&settings, &mut Both(&mut recorder, &mut log), look);
    let driver = &checked.world.driver;
    assert_eq!(driver.intact, driver.messages.len() as u64, "messages that are whole");
    assert_eq!(driver.stray_entries, 0, "completions too many");
    (checked, recorder, log)
}

/// Clocks of the completions of this kind at NIC `a`.
fn completed(log: &Log, kind: Cqe) -> Vec<u64> {
    let of = |e: &&(u64, usize, Event)| {
        e.1 == 0 && matches!(e.2, Event::Completed { kind: k, .. } if k == kind)
    };
    log.0.iter().filter(of).map(|e| e.0).collect()
}

/// Clocks and PSNs of the last packets that NIC `a` sends again for an ACK.
fn asked(log: &Log) -> Vec<(u64, u32)> {
    let of = |e: &(u64, usize, Event)| match e.2 {
        Event::Queued { psn, cause: Cause::Cover, .. } if e.1 == 0 => Some((e.0, psn)),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Data frames that NIC `a` sent.
fn data(log: &Log) -> Vec<Vec<u8>> {
    let of = |e: &(u64, usize, Event)| match &e.2 {
        Event::Sent { bytes, .. } if e.1 == 0 && bytes[42] >> 4 == 0xc => Some(bytes.clone()),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// A lone message of 100 B, posted so many nanoseconds after boot, whose first ACK is lost: the clock
/// of its `SEND_COMPLETE`, and that of the last tick before its packet is asked for again.
fn asked_again(head: &str, at: u64) -> (u64, u64) {
    // The message asks for a SACK and an ACK.
    let text = scenario(head, &(message("100B", &format!("at = \"{at}ns\"")) + LOST));
    let mut ticks = Vec::new();
    let folder = tempfile::tempdir().expect("a folder");
    let (checked, recorder, log) = looking(&text, Some(folder.path()), |world| {
        if world.nodes[0].nic.i.ask_wheel.tick {
            ticks.push(world.clock);
        }
    });
    let sends = completed(&log, Cqe::Send);
    let ([send], [(copy, 0)]) = (&sends[..], &asked(&log)[..]) else { panic!("{sends:?}") };
    let frames = data(&log);
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[1][50] & 0xa0, 0xa0, "ACK-request and retransmit flags");
    assert_eq!(frames[0][51..98], frames[1][51..98], "the same packet");
    let [a, b] = &recorder.counts[..] else { panic!() };
    assert_eq!((b.duplicates, b.sent["ACK"], b.sent["SACK"]), (1, 2, 2));
    // What the receiver reports: the duplicate adds no bytes.
    let told = |e: &(u64, usize, Event)| match &e.2 {
        Event::Sent { bytes, .. } if e.1 == 1 && bytes[42] == 0xdc => Some(number(&bytes[87..90])),
        _ => None,
    };
    let told: Vec<_> = log.0.iter().filter_map(told).collect();
    assert_eq!(told, [1, 1], "160 B in units of 256 B, before and after");
    assert_eq!(a.queued.iter().collect::<Vec<_>>(), [(&"Cover".to_owned(), &1)]);
    assert_eq!(a.completions["WQE_COMPLETE"], 1);
    let received = log.0.iter().filter(|e| matches!(e.2, Event::Received { .. }));
    assert_eq!(received.count(), 1);
    let nic = &checked.world.nodes[0].nic;
    assert_eq!((nic.o.replay_store.used, nic.o.window.flight_sum), (0, 0));
    let before = ticks.iter().rev().find(|tick| *tick <= copy).expect("ticks");
    assert!(copy - before < 60, "asked {} clocks after a tick", copy - before);
    recorder.finish(&checked.world, &()).expect("written");
    let record = folder.path().join("mrc-transport-stats.csv");
    let record = std::fs::read_to_string(record).expect("a record");
    let rows: Vec<Vec<&str>> = record.lines().map(|row| row.split(',').collect()).collect();
    let total = |name: &str| {
        let at = rows[0].iter().position(|column| *column == name).expect(name);
        rows.iter().skip(1).map(|row| row[at].parse::<u64>().expect("counts")).max()
    };
    assert_eq!(total("total_completion_rerequests"), Some(1));
    assert_eq!(total("total_retransmissions"), Some(0), "the copy is none");
    (*send, *before)
}

/// CPL-2, case 1: only the cumulative ACK of a one-packet message is lost. 2 × `InitialAckTimeout`
/// after its `SEND_COMPLETE`, at the first tick at or after that, the packet goes again with both
/// flags: 301 µs later in a run, 300 where `SEND_COMPLETE` falls on a tick, 301 a clock behind it.
/// It is a duplicate there and draws an ACK; bytes and messages are counted once, and no
/// retransmission is. In both builds.
#[test]
fn cpl_2_a_lost_ack_is_asked_for_again() {
    for head in [SMALL, "limit = \"2000us\"\n"] {
        let (send, tick) = asked_again(head, 0);
        assert!(tick - send > 300_000 && tick - send < 301_000, "sent {send}, asked {tick}");
        assert_eq!((tick - send).div_ceil(1_000), 301);
        let on = 1_000 - send % 1_000;
        let (send, tick) = asked_again(head, on);
        assert_eq!((send % 1_000, tick - send), (0, 300_000), "on a tick");
        let (send, tick) = asked_again(head, on + 1);
        assert_eq!((send % 1_000, tick - send), (1, 300_999), "a clock behind it");
    }
}

/// CPL-2: each period a copy, as long as no ACK comes; with a short timer the period is floor(2 × T),
/// not 2 × floor(T).
#[test]
fn cpl_2_each_period_until_an_ack_comes() {
    let head = format!("{SMALL}[defaults]\nInitialAckTimeout = \"6750ns\"\n");
    let lost = LOST.replace("count = 1", "count = 3");
    let (_, recorder, log) = whole(&scenario(&head, &(message("9000B", "") + &lost)));
    let copies = asked(&log);
    assert!(copies.iter().all(|c| c.1 == 2), "the last of three: {copies:?}");
    let sent = completed(&log, Cqe::Send)[0].next_multiple_of(1_000);
    let ticks: Vec<u64> = copies.iter().map(|c| (c.0 - sent) / 1_000).collect();
    assert_eq!(ticks, [13, 26, 39]);
    assert_eq!(recorder.counts[1].duplicates, 3);
    // Its packets were retired by SACKs: none went again by its timer.
    assert_eq!(recorder.counts[0].queued.len(), 1);
}

/// CPL-2, RTX-1: a copy needs no window: it goes while that of its group is shut, and while nothing
/// else of the group can go.
#[test]
fn cpl_2_a_copy_needs_no_window() {
    let head = format!(
        "{SMALL}[defaults]\nInitialAckTimeout = \"20us\"\nMaxCongestionWindow = 2\n\
         LinearRetryCount = 7\n"
    );
    // The second message is on its way for long: its packets fill the window of both.
    let late = "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\nmessage = 1\n\
                until = \"70us\"\n";
    let text = message("100B", "") + &message("40960B", "at = \"1us\"") + LOST + late;
    let (_, _, log) = whole(&scenario(&head, &text));
    let copies = asked(&log);
    let [(copy, 0)] = copies[..] else { panic!("{copies:?}") };
    let frames = log.0.iter().filter(|e| e.1 == 0 && matches!(e.2, Event::Sent { .. }));
    let next = frames.map(|e| e.0).find(|clock| *clock > copy).expect("it goes");
    assert!(next - copy < 300, "asked for at {copy}, sent at {next}");
}

/// CPL-2, PKT-6: the last packet of a message is known by its slot: its message completes after more
/// packets of its QP than there are PSNs in the map, and every slot comes back.
#[test]
fn pkt_6_a_last_packet_outlives_its_place_in_the_map() {
    let lost = "[[switch]]\naction = \"drop\"\nkind = \"ACK\"\nuntil = \"30us\"\n";
    let messages = message("100B", "one_qp = true") + &message("1MiB", "one_qp = true");
    let (checked, _, log) = whole(&scenario(SMALL, &(messages + lost)));
    let first = completed(&log, Cqe::Wqe)[0];
    let frames = log.0.iter().filter(|e| {
        e.1 == 0
            && e.0 < first
            && matches!(&e.2, Event::Sent { bytes, .. } if bytes[42] >> 4 == 0xc)
    });
    assert!(frames.count() > 128 + 16, "packets of the QP before its first message completes");
    let nic = &checked.world.nodes[0].nic;
    assert_eq!((nic.o.replay_store.used, nic.o.window.flight_sum), (0, 0));
    assert_eq!(nic.b.replay_store.hold_last.count_ones(), 0);
}
