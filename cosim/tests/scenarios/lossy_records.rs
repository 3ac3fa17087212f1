//! The records of a lossy run in lockstep, value by value: what `mrc-transport-stats`, `mrc-events`
//! and `mrc-monitor` say is worked out a second time from the log of events and the bytes of its
//! frames.

use std::collections::BTreeMap;
use std::path::Path;

use cosim::event::Event;
use cosim::record::Recorder;
use cosim::run::Mode;
use cosim::settings::Settings;
use cosim::world::World;
use rtl_model::retransmit::Cause;
use rtl_model::types::{Cqe, Drop, Why};

use crate::common::{
    Both, Log, lockstep, message, number as big_endian, run_into, scenario, settings,
};
use crate::pcie::back;
use crate::records::{Row, number, table};

/// Every loss once, by message: 0 has a gap, 1 two trims, 2 a timeout, 3 an end in error, 4 a lost
/// ACK and a copy of a packet.
fn lossy(more: &str) -> Settings {
    let head = "limit = \"4ms\"\nbuild = \"small\"\n[defaults]\nEnableMonitor = true\n\
                TransportStatsReportInterval = \"7us\"\nInitialAckTimeout = \"12us\"\n\
                LinearRetryCount = 2\nExponentialRetryCount = 0\nSACKLossMinRetxPkts = 3\n";
    let messages = message("40KB", "")
        + &message("20KB", "at = \"15us\"")
        + &message("100B", "at = \"20us\"")
        + &message("200B", "at = \"25us\"")
        + &back(&message("12KB", "at = \"60us\""));
    let rule = |text: &str| format!("[[switch]]\n{text}\n");
    let rules = [
        "action = \"drop\"\nmessage = 0\npsn = 2\ntransmission = 1",
        "action = \"trim\"\nmessage = 1\npsn = 1\ntransmission = 1",
        "action = \"trim-last-hop\"\nmessage = 1\npsn = 3\ntransmission = 1",
        "action = \"drop\"\nmessage = 2\ntransmission = 1",
        "action = \"drop\"\nmessage = 3",
        "action = \"drop\"\nkind = \"ACK\"\nfrom = \"a\"\ncount = 1",
        "action = \"duplicate\"\nmessage = 4\npsn = 0\ncount = 1",
    ];
    let text = scenario(head, &messages) + &rules.map(rule).concat();
    settings(&text.replace("name = \"b\"", &format!("name = \"b\"\n{more}")))
}

/// The records of a run in lockstep, in the folder, with the log of its events.
fn run(folder: &Path) -> (World, Log) {
    let settings = lossy("");
    let mut recorder = Recorder::new(&World::new(&settings), Some(folder)).expect("made");
    let mut log = Log::default();
    let checked = lockstep(&settings, &mut Both(&mut recorder, &mut log), |_| ());
    recorder.finish(&checked.world, &()).expect("written");
    (checked.world, log)
}

/// A frame by its bytes, in the words of the records.
fn kind(bytes: &[u8]) -> &'static str {
    match (bytes[42], bytes[15] >> 2) {
        (0xc6..=0xca, 12 | 16) => "trimmed",
        (0xc6..=0xca, 8) => "retransmission",
        (0xc6..=0xca, _) => "data",
        (0xd1, _) => "ACK",
        (0xdc, _) => "SACK",
        (0xdd, _) => "NACK",
        (0xde, _) => "probe",
        other => panic!("{other:?}"),
    }
}

/// The counters that an event adds to, with what it adds.
fn adds(event: &Event) -> Vec<(&'static str, u64)> {
    let one = |name| vec![(name, 1)];
    match event {
        Event::Sent { bytes, .. } => {
            let name = match kind(bytes) {
                "data" => "data_tx",
                "retransmission" => "retransmissions",
                "ACK" => "ack_tx",
                "SACK" => "sack_tx",
                "NACK" => "nack_tx",
                _ => "probe_tx",
            };
            vec![(name, 1), ("bytes_tx", bytes.len() as u64)]
        }
        Event::Arrived { bytes, .. } => {
            let name = match kind(bytes) {
                "data" | "retransmission" => "data_rx",
                "trimmed" => "trimmed_rx",
                "ACK" => "ack_rx",
                "SACK" => "sack_rx",
                "NACK" => "nack_rx",
                _ => "probe_rx",
            };
            vec![(name, 1), ("bytes_rx", bytes.len() as u64)]
        }
        Event::Queued { cause: Cause::Timeout, .. } => one("timeouts"),
        Event::Queued { cause: Cause::Gap, .. } => one("sack_gaps"),
        Event::Queued { cause: Cause::Trimmed, .. } => one("nack_trimmed"),
        Event::Queued { cause: Cause::LastHop, .. } => one("nack_trimmed_lasthop"),
        Event::Queued { cause: Cause::Range, .. } => one("nack_psn_oor_window"),
        Event::OutOfOrder => one("ooo"),
        Event::Duplicate => one("duplicates"),
        Event::Dropped(Drop::Pool) => one("rx_drops"),
        Event::Dropped(_) => one("dropped"),
        Event::ControlDropped(frames) => vec![("ctrl_drops", u64::from(*frames))],
        Event::Stalled { slots: true } => one("replay_stalls"),
        Event::Stalled { slots: false } => one("tag_stalls"),
        Event::PathBad { .. } => one("paths_bad"),
        Event::PathGood { .. } => one("paths_good"),
        Event::PathSkipped { .. } => one("paths_skipped"),
        Event::ProbeMissed => one("probes_missed"),
        Event::RoundTrip { .. } => one("rtt_samples"),
        Event::RoundTripUnsure => one("rtt_unsure"),
        Event::QpCreated { .. } => one("qp_created"),
        Event::QpClosed { .. } => one("qp_closed"),
        Event::QpError { .. } => one("qp_error"),
        Event::Posted { .. } => one("messages_posted"),
        Event::Completed { kind: Cqe::Send, .. } => one("send_complete"),
        Event::Completed { kind: Cqe::Wqe, .. } => one("wqe_complete"),
        Event::Received { .. } => one("recv_complete"),
        _ => vec![],
    }
}

/// What NIC `nic` has counted up to a clock, that one included.
fn counted(log: &Log, nic: usize, until: u64) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for (_, _, event) in log.0.iter().filter(|e| e.1 == nic && e.0 <= until) {
        for (name, n) in adds(event) {
            *counts.entry(name).or_default() += n;
        }
    }
    counts
}

/// Every column of every row of `mrc-transport-stats`, over the run and over the interval; each loss
/// is counted as often as it was arranged (RX-7, SACK-6, NAK-1, CPL-2, QP-6).
#[test]
fn rx_7_sack_6_every_counter_is_what_the_log_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let (world, log) = run(folder.path());
    let rows = table(folder.path(), "mrc-transport-stats");
    // The copy that asks for an ACK (CPL-2) is no retransmission: NIC b sends one.
    let asked = log.0.iter().find(|e| matches!(e.2, Event::Queued { cause: Cause::Cover, .. }));
    let asked = asked.expect("one asks").0;
    let again = |e: &&(u64, usize, Event)| matches!(&e.2, Event::Sent { bytes, .. } if e.1 == 1 && e.0 > asked && kind(bytes) == "retransmission");
    let asked = log.0.iter().find(again).expect("it is sent").0;
    for (nic, name) in ["a", "b"].into_iter().enumerate() {
        let mine: Vec<&Row> = rows.iter().filter(|r| r["nic"] == name).collect();
        assert_eq!(mine.len() as u64, world.clock.div_ceil(7_000), "{name}");
        let mut last = BTreeMap::new();
        for row in mine {
            let at = number(row, "time_ns");
            let mut counts = counted(&log, nic, at);
            if nic == 1 && at >= asked {
                *counts.entry("retransmissions").or_default() -= 1;
                counts.insert("completion_rerequests", 1);
            }
            for column in row.keys().filter_map(|c| c.strip_prefix("total_")) {
                let now = counts.get(column).copied().unwrap_or(0);
                let was = last.get(column).copied().unwrap_or(0);
                let cells =
                    ["total_", "ivl_total_"].map(|form| number(row, &(form.to_owned() + column)));
                assert_eq!(cells, [now, now - was], "{name} at {at}: {column}");
            }
            let known = |column: &&str| row.contains_key(&format!("total_{column}"));
            assert!(counts.keys().all(known), "a column is missing: {counts:?}");
            last = counts;
        }
        let want: &[(&str, u64)] = if nic == 0 {
            &[
                ("qp_error", 1),
                ("sack_gaps", 1),
                ("nack_trimmed", 1),
                ("nack_trimmed_lasthop", 1),
                // Of message 2 one, of message 3 two, and the third is the error (TMR-4).
                ("timeouts", 3),
                ("nack_rx", 2),
                ("messages_posted", 4),
                ("wqe_complete", 3),
                ("duplicates", 2),
                ("ooo", 0),
            ]
        } else {
            &[("completion_rerequests", 1), ("trimmed_rx", 2), ("nack_tx", 2), ("recv_complete", 3)]
        };
        for (column, n) in want {
            assert_eq!(last.get(column).copied().unwrap_or(0), *n, "{name}: {column}");
        }
        assert!(nic == 0 || last["ooo"] > 3, "what came behind the gap");
    }
}

/// The rows of `mrc-events`, one by one, and the reason of the error.
#[test]
fn qp_6_the_events_are_those_of_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, log) = run(folder.path());
    let cells = |name: &str, qpn: u32, rest: [Option<u64>; 3], why: &str| {
        let rest = rest.map(|n| n.map_or(String::new(), |n| n.to_string()));
        let [msn, peer, bytes] = rest;
        [name.to_owned(), format!("{qpn:#08x}"), msn, peer, bytes, why.to_owned()]
    };
    let want = |event: &Event| {
        Some(match event {
            Event::QpCreated { qpn, dest, .. } => {
                cells("QP_CREATED", *qpn, [None, Some((*dest).into()), None], "")
            }
            Event::QpClosed { qpn, .. } => cells("QP_CLOSED", *qpn, [None; 3], ""),
            Event::QpError { qpn, why } => {
                assert_eq!(*why, Why::Timeout);
                cells("QP_ERROR", *qpn, [None; 3], "Timeout")
            }
            Event::Posted { qpn, msn, bytes, dest } => {
                let rest = [Some((*msn).into()), Some((*dest).into()), Some((*bytes).into())];
                cells("MESSAGE_POSTED", *qpn, rest, "")
            }
            Event::Completed { kind, qpn, msn, bytes } => {
                let name = if *kind == Cqe::Send { "SEND_COMPLETE" } else { "WQE_COMPLETE" };
                cells(name, *qpn, [Some((*msn).into()), None, Some((*bytes).into())], "")
            }
            Event::Received { qpn, msn } => {
                cells("RECV_COMPLETE", *qpn, [Some((*msn).into()), None, None], "")
            }
            _ => return None,
        })
    };
    let want: Vec<_> = log
        .0
        .iter()
        .filter_map(|(clock, nic, event)| {
            Some((clock.to_string(), ["a", "b"][*nic].to_owned(), want(event)?))
        })
        .collect();
    let columns = ["event", "qpn", "msn", "peer", "bytes", "why"];
    let told: Vec<_> = table(folder.path(), "mrc-events")
        .iter()
        .map(|r| (r["time_ns"].clone(), r["nic"].clone(), columns.map(|c| r[c].clone())))
        .collect();
    assert_eq!(told, want);
    let of = |name: &str| told.iter().filter(|r| r.2[0] == name).count();
    // The receiver's side of message 3 is never made.
    assert_eq!(["QP_CREATED", "QP_CLOSED", "QP_ERROR"].map(of), [9, 9, 1]);
}

/// What is known of a NIC's packets before they are sent.
#[derive(Default)]
struct Known {
    /// Transmissions by message and PSN.
    sent: BTreeMap<(u64, u64), u64>,
    /// The last cause by QP slot and PSN.
    causes: BTreeMap<(u8, u64), &'static str>,
}

/// The PSN at a signed distance from a SACK's cumulative one (section 12).
fn beside(sack: &[u8], at: usize) -> u64 {
    let ahead = u16::from_be_bytes([sack[at], sack[at + 1]]).cast_signed();
    big_endian(&sack[67..70]).wrapping_add_signed(ahead.into()) & 0xff_ffff
}

/// The last cells of a frame received: what drew a SACK, what it lists, a NACK's code.
fn received(bytes: &[u8]) -> [String; 3] {
    let none = String::new;
    match kind(bytes) {
        "SACK" => {
            let (base, bits) = (beside(bytes, 72), big_endian(&bytes[74..82]));
            let listed = (0..64).filter(|n| bits >> n & 1 == 1);
            let listed: Vec<_> = listed.map(|n| ((base + n) & 0xff_ffff).to_string()).collect();
            let answer = bytes[55] & 2 != 0;
            let drew = if answer { none() } else { beside(bytes, 56).to_string() };
            [drew, listed.join(" "), none()]
        }
        "NACK" => {
            let code = ["TRIMMED", "TRIMMED_LASTHOP"][usize::from(bytes[56]) - 1];
            [none(), none(), code.to_owned()]
        }
        _ => [none(), none(), none()],
    }
}

impl Known {
    fn queued(&mut self, qp: u8, psn: u32, cause: Cause) {
        let name = match cause {
            Cause::Gap => "sack_gap",
            Cause::Trimmed => "nack_trimmed",
            Cause::LastHop => "nack_trimmed_lasthop",
            Cause::Timeout => "timeout",
            Cause::Cover => "completion",
            Cause::Range | Cause::Sample => return,
        };
        self.causes.insert((qp, psn.into()), name);
    }

    /// `tx_count` and `rtx_origin` of a frame that leaves.
    fn leaves(&mut self, bytes: &[u8], world: &World) -> [String; 2] {
        if !matches!(kind(bytes), "data" | "retransmission") {
            return [String::new(), String::new()];
        }
        let (message, psn) = (big_endian(&bytes[66..70]), big_endian(&bytes[51..54]));
        let count = self.sent.entry((message, psn)).or_default();
        *count += 1;
        let again = kind(bytes) == "retransmission";
        let qpn = world.driver.messages[message as usize].qpn.expect("posted").0;
        let cause = if again { self.causes[&(qpn as u8, psn)] } else { "" };
        [count.to_string(), cause.to_owned()]
    }
}

/// The cells of a frame's row behind time, NIC and direction.
fn row(bytes: &[u8], last: [String; 5]) -> Vec<String> {
    let dscp = match bytes[15] >> 2 {
        4 => "trimmable",
        8 => "trimmable retransmission",
        46 => "control",
        12 => "trimmed",
        16 => "trimmed on the last hop",
        0 => "no trim",
        other => panic!("{other}"),
    };
    let n = |at: std::ops::Range<usize>| big_endian(&bytes[at]).to_string();
    let data = matches!(kind(bytes), "data" | "retransmission");
    let message = if data { n(66..70) } else { String::new() };
    let flag = (bytes[50] >> 7).to_string();
    let mut row = vec![kind(bytes).to_owned(), n(47..50), n(51..54), flag, dscp.to_owned()];
    row.extend([n(34..36), message, bytes.len().to_string()]);
    row.extend(last);
    row
}

/// Every row of `mrc-monitor`, from the bytes of the frames and the causes in the log.
#[test]
fn the_monitor_says_what_the_frames_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let (world, log) = run(folder.path());
    let mut known = [Known::default(), Known::default()];
    let mut want = Vec::new();
    for (clock, nic, event) in &log.0 {
        let (direction, cells) = match event {
            Event::Queued { qp, psn, cause } => {
                known[*nic].queued(*qp, *psn, *cause);
                continue;
            }
            Event::Sent { bytes, .. } => {
                let [count, cause] = known[*nic].leaves(bytes, &world);
                let none = String::new;
                ("tx", row(bytes, [count, cause, none(), none(), none()]))
            }
            Event::Arrived { bytes, .. } => {
                let [drew, listed, code] = received(bytes);
                ("rx", row(bytes, [String::new(), String::new(), drew, listed, code]))
            }
            _ => continue,
        };
        let head = [clock.to_string(), ["a", "b"][*nic].to_owned(), direction.to_owned()];
        want.push([head.to_vec(), cells].concat());
    }
    let columns = [
        "time_ns",
        "nic",
        "direction",
        "packet_type",
        "qpn",
        "bth_psn",
        "ar_bit",
        "dscp",
        "entropy",
        "message",
        "bytes",
        "tx_count",
        "rtx_origin",
        "sack_psn",
        "sack_list",
        "nack_code",
    ];
    let told = table(folder.path(), "mrc-monitor");
    assert_eq!(told.len(), want.len());
    for (told, want) in told.iter().zip(&want) {
        assert_eq!(columns.map(|c| told[c].clone()).to_vec(), *want);
    }
    let some = |column: &str, value: &str| told.iter().any(|r| r[column] == value);
    for origin in ["sack_gap", "nack_trimmed", "nack_trimmed_lasthop", "timeout", "completion"] {
        assert!(some("rtx_origin", origin), "{origin}");
    }
    for code in ["TRIMMED", "TRIMMED_LASTHOP"] {
        assert!(some("nack_code", code), "{code}");
    }
    assert!(some("tx_count", "3"), "message 3 goes three times");
    assert!(told.iter().any(|r| r["sack_list"].contains(' ')), "SACKs list what is held");
}

/// A NIC that is to keep no record has no row in it, and the other one has all of its own.
#[test]
fn a_record_that_is_off_has_no_rows() {
    for (key, record) in
        [("EnableEventLogging", "mrc-events"), ("EnableTransportStats", "mrc-transport-stats")]
    {
        let [all, some] = ["", &format!("{key} = false")].map(|more| {
            let folder = tempfile::tempdir().expect("a folder");
            let (run, recorder) = run_into(&lossy(more), Mode::ModelOnly, Some(folder.path()));
            recorder.finish(&run.world, &()).expect("written");
            table(folder.path(), record)
        });
        let of = |rows: &[Row], nic: &str| -> Vec<Row> {
            rows.iter().filter(|r| r["nic"] == nic).cloned().collect()
        };
        assert!(!of(&all, "b").is_empty() && of(&some, "b").is_empty(), "{key}");
        assert_eq!(of(&some, "a"), of(&all, "a"), "{key}");
    }
}
