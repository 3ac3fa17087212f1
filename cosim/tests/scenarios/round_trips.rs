//! What a sender measures of the round trip (RTT-1), held against what was on the wire.

use std::collections::BTreeMap;

use cosim::event::Event;
use cosim::switch::frame::Kind;
use rtl_model::rtt_sample::Origin;

use crate::common::{Log, from_here, listed, lockstep, message, model, number, scenario, settings};

/// A run in lockstep to its end, with every message whole.
fn whole(head: &str, messages: &str) -> Log {
    let mut log = Log::default();
    let checked = lockstep(&settings(&scenario(head, messages)), &mut log, |_| ());
    let driver = &checked.world.driver;
    assert_eq!(driver.intact, driver.messages.len() as u64, "messages that are whole");
    log
}

/// What NIC `a` measured: origin and nanoseconds, in order.
fn samples(log: &Log) -> Vec<(Origin, u64)> {
    let of = |e: &(u64, usize, Event)| match e.2 {
        Event::RoundTrip { origin, rtt, .. } if e.1 == 0 => Some((origin, rtt)),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// Frames that gave NIC `a` no sample though their packet was outstanding.
fn unsure(log: &Log) -> usize {
    log.0.iter().filter(|e| e.1 == 0 && e.2 == Event::RoundTripUnsure).count()
}

/// A frame on the wire: clock, bytes.
type Seen = (u64, Vec<u8>);

/// Frames of NIC `a`, each with the first clock at or after its exact end at 400 Gbps, and those
/// that have come to it.
fn wire(log: &Log) -> [Vec<Seen>; 2] {
    let rate = 400_000;
    let mut seen = [Vec::new(), Vec::new()];
    for (clock, nic, event) in &log.0 {
        match event {
            Event::Sent { back, bytes } if *nic == 0 => {
                let end = (clock * rate - u64::from(*back)).div_ceil(rate);
                seen[0].push((end, bytes.clone()));
            }
            Event::Arrived { bytes, .. } if *nic == 0 => seen[1].push((*clock, bytes.clone())),
            _ => {}
        }
    }
    seen
}

fn again(frame: &[u8]) -> bool {
    frame[50] & 0x20 != 0
}

/// The rule by the wire alone, where a packet is sent twice at most and each frame is of use: from
/// the end of what drew it to its arrival, less its service time.
fn by_the_wire(log: &Log) -> Vec<(Origin, u64)> {
    let [sent, came] = wire(log);
    let data = sent.iter().filter(|(_, f)| f[42] >> 4 == 0xc);
    let ends: BTreeMap<(u64, bool), u64> =
        data.map(|(end, f)| ((number(&f[51..54]), again(f)), *end)).collect();
    let of = |(clock, f): &Seen| match f[42] {
        0xdc => {
            let passed = clock - ends[&(drew(f), again(f))];
            Some((Origin::Sack, passed.saturating_sub(128 * service(f))))
        }
        0xdd => Some((Origin::Nack, clock - ends[&(number(&f[51..54]), again(f))])),
        _ => None,
    };
    came.iter().filter_map(of).collect()
}

/// The PSN that drew a SACK: its distance from the cumulative one is signed.
fn drew(sack: &[u8]) -> u64 {
    let distance = i16::from_be_bytes([sack[56], sack[57]]);
    (number(&sack[67..70]).wrapping_add_signed(distance.into())) & 0xff_ffff
}

/// Steps of 128 ns in a SACK.
fn service(sack: &[u8]) -> u64 {
    number(&sack[82..84])
}

/// RTT-1, `LocalDatabase`: 178 B end at 3.56 ns of a clock's start; 100 ns to the receiver; its SACK
/// of 94 B ends 25.88 ns after that arrival is seen, and takes 100 ns back. Then a long message, each
/// packet of which draws a SACK.
#[test]
fn rtt_1_quiet_network() {
    let log = whole("limit = \"100us\"\n", &message("100B", ""));
    assert_eq!(samples(&log), [(Origin::Sack, 100 + 26 + 100)]);
    let log = whole("limit = \"100us\"\n", &message("409600B", ""));
    assert_eq!(samples(&log).len(), 100);
    assert_eq!(samples(&log), by_the_wire(&log));
    assert_eq!(unsure(&log), 0);
}

/// RTT-1, RTT-2: packets of 8,192 B take 165 ns, which is a step of service time; with a Delay of
/// 1 ns that is more than the whole way, and a sample is never below nothing.
#[test]
fn rtt_1_service_time_is_left_out() {
    for (delay, most) in [("300ns", 600), ("1ns", 0)] {
        let head = format!("limit = \"100us\"\n[defaults]\nMSS = 8192\nDelay = \"{delay}\"\n");
        let log = whole(&head, &message("81920B", ""));
        let [_, came] = wire(&log);
        let steps = came.iter().filter(|(_, f)| f[42] == 0xdc).map(|(_, f)| service(f));
        assert!(steps.min() >= Some(1), "each packet alone takes more than 128 ns");
        assert_eq!(samples(&log), by_the_wire(&log));
        assert!(samples(&log).iter().all(|(_, rtt)| *rtt <= most), "{:?}", samples(&log));
    }
}

/// RTT-1: a packet that is lost once gives a sample of its second transmission; one lost twice
/// gives none, nor does one whose first SACK comes after it has gone again.
#[test]
fn rtt_1_which_transmission_must_be_known() {
    let head = "limit = \"300us\"\n[defaults]\nInitialAckTimeout = \"20us\"\n";
    let lost = |n: u32| {
        format!(
            "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\npsn = 0\n\
             count = {n}\n"
        )
    };
    let log = whole(head, &(message("100B", "") + &lost(1)));
    assert_eq!(samples(&log), by_the_wire(&log));
    assert_eq!((samples(&log).len(), unsure(&log)), (1, 0));

    let log = whole(head, &(message("100B", "") + &lost(2)));
    assert_eq!((samples(&log), unsure(&log)), (vec![], 1));

    let late = "[[switch]]\naction = \"delay\"\nkind = \"SACK\"\nby = \"30us\"\n\
                [[switch]]\naction = \"delay\"\nkind = \"ACK\"\nby = \"30us\"\n";
    let log = whole(head, &(message("100B", "") + late));
    assert_eq!((samples(&log), unsure(&log)), (vec![], 1), "ACK-2: the second one is too late");
}

/// RTT-1, NAK-1: a NACK gives a sample of the transmission that was trimmed, without service time;
/// the SACK of the one after it gives another.
#[test]
fn rtt_1_a_nack_gives_one() {
    let trim = "[[switch]]\naction = \"trim\"\nkind = \"data\"\npsn = 0\ntransmission = 1\n";
    let log = whole("limit = \"100us\"\n", &(message("100B", "") + trim));
    let found = samples(&log);
    assert_eq!(found.iter().map(|s| s.0).collect::<Vec<_>>(), [Origin::Nack, Origin::Sack]);
    assert_eq!((found, unsure(&log)), (by_the_wire(&log), 0));
}

/// RTT-1, SACK-3, ACK-2: behind a gap the receiver holds far more PSNs than a bitmap has, so that
/// most SACKs do not list the packet that drew them; each gives its sample all the same.
#[test]
fn rtt_1_a_packet_that_its_sack_does_not_list() {
    let lost = "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 3\ntransmission = 1\n";
    let head = "limit = \"200us\"\n[defaults]\nInitialAckTimeout = \"60us\"\n";
    let log = whole(head, &(message("1024000B", "") + lost));
    let [_, came] = wire(&log);
    let elsewhere =
        |(_, f): &&Seen| drew(f) > number(&f[51..54]) && !listed(f).1.contains(&drew(f));
    let sacks = came.iter().filter(|(_, f)| f[42] == 0xdc);
    assert!(sacks.filter(elsewhere).count() > 100, "SACKs about others");
    assert_eq!(samples(&log), by_the_wire(&log));
    assert_eq!(samples(&log).len(), 250, "one for each packet");
}

/// RTT-1, PTH-2: the answer to the probe that brings a value back gives a sample, from that probe's
/// end.
#[test]
fn rtt_1_an_answer_to_a_probe_gives_one() {
    let text = message("600KB", "")
        + &message("100B", "at = \"40us\"")
        + "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 3\nuntil = \"15us\"\n\
           [[switch]]\naction = \"drop\"\nkind = \"probe\"\nuntil = \"45us\"\n\
           [[switch]]\naction = \"delay\"\nkind = \"ACK\"\nby = \"60us\"\n";
    let head = "limit = \"300us\"\n[defaults]\nInitialAckTimeout = \"20us\"\n";
    let log = whole(head, &text);
    let [sent, came] = wire(&log);
    let answers = came.iter().filter(|(_, f)| f[42] == 0xdc && f[55] & 2 != 0);
    let of = |(clock, f): &Seen| {
        let probe = sent.iter().find(|(_, p)| p[42] == 0xde && p[58..60] == f[56..58]);
        (Origin::Probe, clock - probe.expect("sent").0 - 128 * service(f))
    };
    let due: Vec<_> = answers.map(of).collect();
    let found: Vec<_> = samples(&log).into_iter().filter(|s| s.0 == Origin::Probe).collect();
    assert_eq!(found, due[..1], "the answer that brings it back");
}

/// The head of a scenario with time stamps.
fn stamped(more: &str) -> String {
    format!("limit = \"300us\"\n[defaults]\nRTTTimestampMode = \"WireTimestamp\"\n{more}")
}

/// What each transmission of NIC `a` says of when it was built, by PSN and retransmit flag; held
/// against the clock before the one in which its frame shows.
fn stamps(log: &Log) -> BTreeMap<(u64, bool), u64> {
    let [sent, _] = wire(log);
    let data = sent.iter().filter(|(_, f)| f[42] >> 4 == 0xc);
    let of = |f: &[u8]| {
        assert_eq!((f[50] & 0x10, &f[60..62]), (0x10, &[0, 1][..]), "ts, 128 ns, type 1");
        ((number(&f[51..54]), again(f)), number(&f[58..60]))
    };
    let said: BTreeMap<_, _> = data.map(|(_, f)| of(f)).collect();
    for (clock, nic, event) in &log.0 {
        match event {
            Event::Made(made) if *nic == 0 && made.kind.is_data() => {
                let key = (u64::from(made.psn), made.kind == Kind::Retransmission);
                // Of a packet that goes again several times the last one counts.
                let later = log.0.iter().filter(|e| {
                    e.0 > *clock
                        && e.1 == 0
                        && matches!(&e.2, Event::Made(m) if m.kind == made.kind && m.psn == made.psn)
                });
                if later.count() == 0 {
                    assert_eq!(said[&key], (clock - 1) >> 7 & 0xffff, "{key:?}");
                }
            }
            _ => {}
        }
    }
    said
}

/// The rule by the wire alone, in steps of 128 ns, each frame of use: its arrival less when what
/// drew it was built less its service time; a frame without an echo gives none.
fn by_the_stamps(log: &Log) -> Vec<(Origin, u64)> {
    let said = stamps(log);
    let [_, came] = wire(log);
    let of = |(clock, f): &Seen| {
        let origin = match f[42] {
            0xdc => Origin::Sack,
            0xdd => Origin::Nack,
            _ => return None,
        };
        let echo = if f[42] == 0xdc { service(f) } else { number(&f[72..74]) };
        if f[50] & 0x10 == 0 {
            assert_eq!(echo, 0, "nothing is echoed");
            return None;
        }
        let psn = if f[42] == 0xdc { drew(f) } else { number(&f[51..54]) };
        let service = (echo - said[&(psn, again(f))]) & 0xffff;
        Some((origin, (((clock >> 7) - said[&(psn, again(f))] - service) & 0xffff) << 7))
    };
    came.iter().filter_map(of).collect()
}

/// RTT-1, `WireTimestamp`, PKT-1, section 0: packets carry a TSETH, 4 B more; each SACK echoes its
/// packet's with the service time, which packets of 8,192 B have.
#[test]
fn rtt_1_wire_timestamps_quiet() {
    let log = whole(&stamped(""), &(message("100B", "") + &message("409600B", "at = \"10us\"")));
    let [sent, _] = wire(&log);
    let sizes: Vec<_> = sent.iter().map(|(_, f)| f.len()).filter(|n| *n > 94).collect();
    assert_eq!((sizes[0], sizes[1]), (182, 4_178));
    assert_eq!((samples(&log).len(), unsure(&log)), (101, 0));

    let log = whole(&stamped("MSS = 8192\nDelay = \"1us\"\n"), &message("819200B", ""));
    assert_eq!(samples(&log), by_the_stamps(&log));
    let (said, [_, came]) = (stamps(&log), wire(&log));
    let sacks = came.iter().filter(|(_, f)| f[42] == 0xdc);
    let steps = sacks.map(|(_, f)| (service(f) - said[&(drew(f), false)]) & 0xffff);
    assert!(steps.min() >= Some(1), "a packet alone takes more than 128 ns");
    // From when it was built: two Delays, its own 165 ns, and what it waits for.
    assert!(samples(&log).iter().all(|(_, rtt)| *rtt >= 2_048), "{:?}", samples(&log));
}

/// RTT-1, `WireTimestamp`: a packet sent three times gives a sample of its third transmission, and a
/// SACK that comes after its packet has gone again one of the first; ACK-2: the SACK of a packet
/// that is acknowledged gives none.
#[test]
fn rtt_1_wire_timestamps_of_packets_sent_more_than_once() {
    let head = stamped("InitialAckTimeout = \"20us\"\n");
    let lost = "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\npsn = 0\n\
                count = 2\n";
    let log = whole(&head, &(message("100B", "") + lost));
    assert_eq!((samples(&log), unsure(&log)), (by_the_stamps(&log), 0));
    assert_eq!(samples(&log).len(), 1);

    let late = "[[switch]]\naction = \"delay\"\nkind = \"SACK\"\nby = \"30us\"\n\
                [[switch]]\naction = \"delay\"\nkind = \"ACK\"\nby = \"30us\"\n";
    let log = whole(&head, &(message("100B", "") + late));
    assert_eq!(samples(&log), by_the_stamps(&log)[..1]);
    assert!(samples(&log)[0].1 > 30_000);
}

/// RTT-1, NAK-1, `WireTimestamp`: a trim cuts TSETH, so its NACK gives no sample; the SACK of the
/// packet's second transmission does. A packet out of the window is whole: its NACK gives one.
#[test]
fn rtt_1_wire_timestamps_and_nacks() {
    let trim = "[[switch]]\naction = \"trim\"\nkind = \"data\"\npsn = 0\ntransmission = 1\n";
    let log = whole(&stamped(""), &(message("100B", "") + trim));
    assert_eq!((samples(&log), unsure(&log)), (by_the_stamps(&log), 1));
    assert_eq!(samples(&log).iter().map(|s| s.0).collect::<Vec<_>>(), [Origin::Sack]);

    // Nothing is in order yet: PSNs 4 and 5 are refused, and taken when they come again.
    let late = "[[switch]]\naction = \"delay\"\nkind = \"data\"\npsn = 0\nby = \"480ns\"\n";
    let text = scenario(&stamped(""), &(message("24576B", "") + late))
        .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nMaxPSNRange = 4");
    let mut log = Log::default();
    let checked = lockstep(&settings(&text), &mut log, |_| ());
    assert_eq!(checked.world.driver.intact, 1);
    let [_, came] = wire(&log);
    let refused = came.iter().filter(|(_, f)| f[42] == 0xdd);
    let refused: Vec<_> = refused.map(|(_, f)| (number(&f[51..54]), f[56])).collect();
    assert_eq!(refused, [(4, 0x0b), (5, 0x0b)]);
    let of_nacks = |all: Vec<(Origin, u64)>| -> Vec<_> {
        all.into_iter().filter(|sample| sample.0 == Origin::Nack).collect()
    };
    let found = of_nacks(samples(&log));
    assert_eq!((found.len(), found), (2, of_nacks(by_the_stamps(&log))));
}

/// RTT-1, PTH-2, `WireTimestamp`: an answer to a probe echoes the probe's own time.
#[test]
fn rtt_1_wire_timestamps_in_probes() {
    let text = message("600KB", "")
        + &message("100B", "at = \"40us\"")
        + "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 3\nuntil = \"15us\"\n\
           [[switch]]\naction = \"drop\"\nkind = \"probe\"\nuntil = \"45us\"\n\
           [[switch]]\naction = \"delay\"\nkind = \"ACK\"\nby = \"60us\"\n";
    let log = whole(&stamped("InitialAckTimeout = \"20us\"\n"), &text);
    let [sent, came] = wire(&log);
    let answers = came.iter().filter(|(_, f)| f[42] == 0xdc && f[55] & 2 != 0);
    let of = |(clock, f): &Seen| {
        let probe = sent.iter().find(|(_, p)| p[42] == 0xde && p[58..60] == f[56..58]);
        let built = number(&probe.expect("sent").1[66..68]);
        let served = (service(f) - built) & 0xffff;
        assert!(served < 16, "the echo is the probe's time and the service time");
        (Origin::Probe, (((clock >> 7) - built - served) & 0xffff) << 7)
    };
    let due: Vec<_> = answers.map(of).collect();
    let found: Vec<_> = samples(&log).into_iter().filter(|s| s.0 == Origin::Probe).collect();
    assert_eq!(found, due);
    assert!(!found.is_empty());
}

/// RTT-1, `WireTimestamp`: a packet is built in the last steps before the stamps wrap, after 8.4 ms,
/// and its SACK comes after that.
#[test]
fn rtt_1_wire_timestamps_wrap() {
    let head = stamped("Delay = \"300ns\"\n").replace("300us", "9ms");
    let mut log = Log::default();
    let text = scenario(&head, &message("100B", "at = \"8371500ns\""));
    // Lockstep from shortly before the stamps wrap, at 8,388,608 ns.
    let world = model(&settings(&text), &mut log, |world| world.clock == 8_387_800);
    let world = from_here(world, 2_200, &mut log, |_| ());
    assert_eq!(world.driver.intact, 1);
    let said = stamps(&log)[&(0, false)];
    let [_, came] = wire(&log);
    let sack = came.iter().find(|(_, f)| f[42] == 0xdc).expect("a SACK");
    assert!(said > 65_530 && sack.0 >> 7 & 0xffff < 10, "{said}, {}", sack.0);
    assert_eq!(samples(&log), by_the_stamps(&log));
    assert!((600..900).contains(&samples(&log)[0].1), "{:?}", samples(&log));
}
