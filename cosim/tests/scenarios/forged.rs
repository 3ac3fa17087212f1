//! Control frames that nobody sent, given to a whole NIC in lockstep: malformed ones, and ones that
//! name PSNs never sent. And case 23, whose packet beyond the window is one.

use std::collections::BTreeSet;

use cosim::event::Event;
use cosim::switch::frame::sealed;
use cosim::world::World;
use rtl_model::retransmit::Cause;
use rtl_model::types::Drop;

use crate::common::{Log, listed, message, number, scenario};
use crate::ends::Play;

/// The frames with this opcode that a NIC sent, without FCS.
fn sent(log: &Log, nic: usize, opcode: u8) -> Vec<Vec<u8>> {
    let of = |e: &(u64, usize, Event)| match &e.2 {
        Event::Sent { bytes, .. } if e.1 == nic && bytes[42] == opcode => {
            Some(bytes[..bytes.len() - 4].to_vec())
        }
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Reasons of the frames that NIC a has dropped.
fn drops(log: &Log) -> Vec<Drop> {
    let of = |e: &(u64, usize, Event)| match e.2 {
        Event::Dropped(reason) if e.1 == 0 => Some(reason),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Events of NIC a that an acknowledgement or a NACK can bring.
fn effects(log: &Log) -> usize {
    let of = |e: &&(u64, usize, Event)| {
        let brought = matches!(
            e.2,
            Event::Queued { .. }
                | Event::Completed { .. }
                | Event::RoundTrip { .. }
                | Event::RoundTripUnsure
                | Event::PathSkipped { .. }
                | Event::QpError { .. }
                | Event::Segment { .. }
        );
        e.1 == 0 && brought
    };
    log.0.iter().filter(of).count()
}

/// Bytes in flight, replay slots taken, and the timers that run.
fn held(world: &World) -> (u32, u32, u32) {
    let o = &world.nodes[0].nic.o;
    (o.window.flight_sum, u32::from(o.replay_store.used), u32::from(o.timer_wheel.running))
}

fn put(frame: &mut [u8], at: usize, psn: u32) {
    frame[at..at + 3].copy_from_slice(&psn.to_be_bytes()[1..]);
}

/// A SACK with this cumulative PSN, drawn by one and listing one so far beyond it, m = 1.
fn sack(template: &[u8], cum: u32, drew: i16, lists: i16) -> Vec<u8> {
    let mut frame = template.to_vec();
    frame[55] |= 0x20;
    put(&mut frame, 51, cum);
    put(&mut frame, 67, cum);
    frame[56..58].copy_from_slice(&drew.to_be_bytes());
    frame[72..74].copy_from_slice(&lists.to_be_bytes());
    frame[74..82].copy_from_slice(&1_u64.to_be_bytes());
    frame
}

/// A NACK of this PSN with this code.
fn nack(template: &[u8], psn: u32, code: u8) -> Vec<u8> {
    let mut frame = template.to_vec();
    put(&mut frame, 51, psn);
    put(&mut frame, 67, psn);
    frame[56] = code;
    frame
}

/// The forged frames for a QP that has given PSNs 0 to 19, of which 0 is outstanding, and why each is
/// dropped: for a PSN that was not sent, or none where it is taken without effect.
fn forged(log: &Log) -> Vec<(&'static str, Vec<u8>, Option<Drop>)> {
    let [ack, selective, mut refusal] =
        [0xd1, 0xdc, 0xdd].map(|kind| sent(log, 1, kind).pop().expect("sent"));
    // That of the other message's packet, with the numbers of this QP.
    for numbers in [47..50, 62..67] {
        refusal[numbers.clone()].copy_from_slice(&selective[numbers]);
    }
    let [mut covers, mut before] = [ack.clone(), ack.clone()];
    put(&mut covers, 51, 20);
    put(&mut before, 51, 0xff_ffff);
    let psn = Some(Drop::Psn);
    let mut all = vec![
        ("an ACK of the next PSN", covers, psn),
        ("a SACK whose cumulative PSN is the next", sack(&selective, 20, -20, 1), psn),
        ("a SACK drawn by the next PSN", sack(&selective, 0xff_ffff, 21, 2), psn),
        ("a SACK drawn far ahead", sack(&selective, 0xff_ffff, 0x7fff, 2), psn),
        ("a SACK that lists the next PSN", sack(&selective, 0xff_ffff, 6, 21), psn),
        ("a SACK that lists PSNs far ahead", sack(&selective, 0xff_ffff, 6, 0x7fff), psn),
        ("a NACK of the next PSN", nack(&refusal, 20, 1), psn),
        ("a NACK of a PSN far ahead", nack(&refusal, 0x7f_ffff, 2), psn),
        ("a NACK with an unknown code", nack(&refusal, 0, 0x05), None),
        ("a NACK without a code", nack(&refusal, 0, 0), None),
        ("an ACK of the PSN before the first", before, None),
    ];
    // Of another length than their kind has.
    for frame in [ack, selective, refusal] {
        all.push(("a frame cut by a byte", frame[..frame.len() - 1].to_vec(), Some(Drop::Length)));
        all.push(("a frame with a byte more", [&frame[..], &[0]].concat(), Some(Drop::Length)));
    }
    all
}

/// SACK-5, NAK-1, RX-1: none of the forged frames changes anything but its counter, and traffic both
/// ways behind them is whole.
#[test]
fn sack_5_frames_that_name_psns_never_sent_change_nothing() {
    for build in ["small", "default"] {
        let head = format!(
            "limit = \"400us\"\nbuild = \"{build}\"\n[defaults]\nInitialAckTimeout = \"60us\"\n"
        );
        let rules = "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 0\nmessage = 1\n\
                     transmission = 1\n[[switch]]\naction = \"trim\"\nkind = \"data\"\nmessage = 0\n\
                     count = 1\n";
        // The first one shows an ACK, a SACK and a NACK.
        let first = message("4096B", "") + &message("81920B", "at = \"3us\"");
        let later = message("200KB", "at = \"40us\"");
        let back = later.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
        let mut play = Play::new(&scenario(&head, &(first + &later + &back + rules)));
        let start = play.checked.world.boot + 10_000;
        play.until("all but one are retired", |world, _| world.clock == start);
        let (before, still) = (effects(&play.log), held(&play.checked.world));
        assert_eq!(still, (4156, 2, 1), "one packet, and the last one's slot");
        let mut dropped = drops(&play.log);
        for (what, frame, reason) in forged(&play.log) {
            let at = play.checked.world.clock;
            play.checked.world.switch.inject(at, 0, sealed(frame));
            let mut others = 0;
            while play.checked.world.clock < at + 400 {
                let now = play.checked.world.clock + 1;
                play.until(what, |world, _| world.clock == now);
                others += u32::from(play.checked.world.nodes[0].nic.b.ack_take.other_valid);
            }
            dropped.extend(reason);
            assert_eq!(drops(&play.log), dropped, "{what}");
            assert_eq!(others, u32::from(what.starts_with("a NACK with")), "{what}");
            assert_eq!(effects(&play.log), before, "{what}");
            assert_eq!(held(&play.checked.world), still, "{what}");
        }
        play.until("ends", |world, _| world.clock.is_multiple_of(64) && world.finished());
        play.nothing_is_left();
        assert_eq!(drops(&play.log), dropped);
        assert_eq!(play.checked.world.driver.intact, 4, "{build}");
    }
}

/// Case 23, SACK-3, RX-4, LOS-1: `SACKLossMinRetxPkts` is 1,023, PSN 0 is lost, 1 to 1,023 arrive.
/// The blocks of the next 16 SACKs, drawn by copies of PSN 1,023, together list 1 to 1,023, and all of
/// them leave flight at the sender, which finds no gap. PSN 1,024 is dropped and `NACKed`, and the
/// sender ignores the NACK of what it has not sent.
#[test]
fn case_23_a_window_that_is_full_behind_a_gap() {
    let head = "limit = \"400us\"\n[defaults]\nSACKLossMinRetxPkts = 1023\n";
    let rules = "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 0\ntransmission = 1\n\
                 [[switch]]\naction = \"duplicate\"\nkind = \"data\"\npsn = 1023\ncopies = 20\n";
    let mut play = Play::new(&scenario(head, &(message("4MiB", "") + rules)));
    let start = play.checked.world.boot + 110_000;
    play.until("all have arrived", |world, _| world.clock == start);
    let sacks: Vec<_> = sent(&play.log, 1, 0xdc).iter().map(|sack| listed(sack)).collect();
    let first = sacks.iter().position(|s| s.0 == 1023).expect("PSN 1,023 has come");
    let union: BTreeSet<u64> =
        sacks[first + 1..first + 17].iter().flat_map(|s| s.1.clone()).collect();
    assert!(union.into_iter().eq(1..=1023), "the blocks of 16 SACKs");
    assert_eq!(held(&play.checked.world).0, 4156, "PSN 0 alone is in flight");

    let mut beyond = sent(&play.log, 0, 0xc8).remove(0);
    assert_eq!(number(&beyond[51..54]), 1023);
    put(&mut beyond, 51, 1024);
    play.checked.world.switch.inject(start, 1, sealed(beyond));
    play.until("is answered", |world, _| world.clock == start + 2_000);
    let nacks = sent(&play.log, 1, 0xdd);
    let nacks: Vec<_> = nacks.iter().map(|n| (number(&n[51..54]), n[56])).collect();
    assert_eq!(nacks, [(1024, 0x0b)]);
    assert_eq!(drops(&play.log), [Drop::Psn]);
    play.until("ends", |world, _| world.clock.is_multiple_of(64) && world.finished());
    let queued = play.log.0.iter().filter_map(|e| match e.2 {
        Event::Queued { psn, cause, .. } => Some((psn, cause)),
        _ => None,
    });
    assert_eq!(queued.collect::<Vec<_>>(), [(0, Cause::Timeout)]);
    play.nothing_is_left();
    assert_eq!(play.checked.world.driver.intact, 1);
}
