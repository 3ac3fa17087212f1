//! The scenario's switch: every deed by rule, counted, on real bytes, at exact times.

use cosim::event::{Event, Nowhere};
use cosim::run::{Mode, Outcome};
use cosim::settings::Settings;
use cosim::switch::frame::{Kind, Seen};
use cosim::switch::{Act, What};
use cosim::world::World;
use rtl_model::fcs;
use rtl_model::header::ip_sum;

use crate::common::{Log, fixture, lockstep, message, model, run_into, scenario, settings};

const SMALL: &str = "limit = \"60us\"\nbuild = \"small\"\n";

/// Deeds of a run.
fn acts(log: &Log) -> Vec<(u64, Act)> {
    let act = |e: &(u64, usize, Event)| match e.2 {
        Event::Switch(act) => Some((e.0, act)),
        _ => None,
    };
    log.0.iter().filter_map(act).collect()
}

/// Clocks and lengths of what arrived at a NIC.
fn arrivals(log: &Log, nic: usize) -> Vec<(u64, u32)> {
    let arrived = |e: &(u64, usize, Event)| match e.2 {
        Event::Arrived { len, .. } if e.1 == nic => Some((e.0, len)),
        _ => None,
    };
    log.0.iter().filter_map(arrived).collect()
}

/// Frames as they arrive at a NIC while a world runs for some clocks.
fn arriving(settings: &Settings, nic: usize, clocks: u64) -> Vec<Vec<u8>> {
    let mut world = World::new(settings);
    let (mut frames, mut frame) = (Vec::new(), Vec::new());
    for _ in 0..clocks {
        world.settle(&mut Nowhere);
        let i = &world.nodes[nic].inputs;
        if i.wire_valid {
            let mut bytes = [0; 128];
            i.wire_data.to_bytes(&mut bytes);
            frame.extend_from_slice(&bytes[..usize::from(i.wire_bytes)]);
            if i.wire_eop {
                frames.push(std::mem::take(&mut frame));
            }
        }
        world.edge();
    }
    frames
}

fn whole(frame: &[u8]) {
    assert_eq!(fcs::after(fcs::INIT, frame), fcs::RESIDUE, "FCS");
    assert_eq!(ip_sum(&frame[14..34]), 0xffff, "IPv4 checksum");
    assert_eq!(usize::from(frame[16]) << 8 | usize::from(frame[17]), frame.len() - 18);
}

/// PKT-2: a frame that is stored ends on a downlink of the same rate when it ends at its NIC, and
/// so arrives in the same clock as one that passes straight.
#[test]
fn pkt_2_stored_and_straight_frames_arrive_in_the_same_clocks() {
    let text = |rule| {
        let bytes =
            [0, 1, 50, 51, 179, 180, 4096, 4097, 65_536].map(|b| message(&format!("{b}B"), ""));
        scenario(SMALL, &format!("{}{rule}", bytes.concat()))
    };
    let stored = "[[switch]]\naction = \"delay\"\nby = \"0ns\"\n";
    let [straight, stored] = ["", stored].map(|rule| {
        let mut log = Log::default();
        model(&settings(&text(rule)), &mut log, |_| false);
        (arrivals(&log, 0), arrivals(&log, 1))
    });
    assert!(straight.1.len() > 20);
    assert_eq!(straight, stored);
}

/// PKT-2: behind a downlink of half the rate frames arrive back to back, each at the first clock at
/// or after its exact time; the sender's own pace is that of its own link.
#[test]
fn pkt_2_a_slow_downlink_paces_exactly() {
    let text = scenario(SMALL, &message("81920B", "")).replace(
        "address = \"10.0.0.2\"",
        "address = \"10.0.0.2\"\nDownlink.DataRate = \"190Gbps\"",
    );
    let settings = settings(&text);
    assert_eq!((settings.nics[0].wire_rate, settings.nics[1].wire_rate), (400_000, 190_000));
    let mut log = Log::default();
    lockstep(&settings, &mut log, |_| ());
    let data: Vec<_> = arrivals(&log, 1).into_iter().filter(|a| a.1 == 4174).map(|a| a.0).collect();
    assert_eq!(data.len(), 20);
    // The first one's exact end is not whole: its fraction decides, the same for all.
    let cost = 4174 * 8_000_u64;
    let end = |n: u64, fraction: u64| (data[0] * 190_000 - fraction + n * cost).div_ceil(190_000);
    let fits = |fraction: &u64| data.iter().zip(0..).all(|(at, n)| *at == end(n, *fraction));
    assert!((0..190_000).step_by(500).any(|f| fits(&f)), "{data:?}");
}

/// "Drop the n-th transmission of PSN p of message m": that frame and no other.
#[test]
fn one_transmission_of_one_packet_is_dropped() {
    let rule = "[[switch]]\naction = \"drop\"\npsn = 7\nmessage = 1\ntransmission = 1\n";
    let text = scenario(SMALL, &(message("40960B", "count = 2") + rule));
    let settings = settings(&text);
    let mut world = World::new(&settings);
    let mut log = Log::default();
    for _ in 0..6_000 {
        world.step(&mut log);
    }
    let seen = Seen { kind: Kind::Data, psn: 7, message: Some(1) };
    let acts = acts(&log);
    assert_eq!(acts.len(), 1, "{acts:?}");
    let want = Act { from: 0, to: 1, rule: Some(0), what: What::Drop, seen, bytes: 4174 };
    assert_eq!(acts[0].1, want);
    let sent = |e: &&(u64, usize, Event)| matches!(&e.2, Event::Sent { bytes, .. } if e.1 == 0 && bytes.len() == 4174);
    let got = arrivals(&log, 1).iter().filter(|a| a.1 == 4174).count();
    assert_eq!(log.0.iter().filter(sent).count(), got + 1);
}

/// PKT-3: a trimmed packet is the 44 B datagram with the codepoint of its hop; one that says no
/// trim is dropped instead. Every frame that arrives is whole.
#[test]
fn pkt_3_trimmed_or_dropped_by_codepoint() {
    for (action, codepoint) in [("trim", 12), ("trim-last-hop", 16)] {
        let rule = format!("[[switch]]\naction = \"{action}\"\nkind = \"data\"\npsn = 2\n");
        let text = scenario(SMALL, &(message("16384B", "") + &rule));
        let frames = arriving(&settings(&text), 1, 4_000);
        for frame in &frames {
            whole(frame);
        }
        let trimmed: Vec<_> = frames.iter().filter(|f| f.len() == 62).collect();
        assert_eq!(trimmed.len(), 1);
        assert_eq!((trimmed[0][15] >> 2, Seen::of(trimmed[0]).psn), (codepoint, 2));

        let head = format!(
            "{SMALL}[defaults]\nTrimmingEnabled = false\nUseDistinctDSCPForRetransmits = false"
        );
        let text = scenario(&head, &(message("16384B", "") + &rule));
        let settings = settings(&text);
        let mut log = Log::default();
        let mut world = World::new(&settings);
        (0..4_000).for_each(|_| world.step(&mut log));
        assert!(acts(&log).iter().all(|a| a.1.what == What::Drop), "{:?}", acts(&log));
        assert!(!acts(&log).is_empty() && arrivals(&log, 1).iter().all(|a| a.1 != 62));
    }
}

/// CE is written, the IPv4 checksum and the FCS are right again; nothing is dropped for it.
#[test]
fn marked_frames_are_whole() {
    let rule = "[[switch]]\naction = \"mark\"\nfrom = \"a\"\nevery = 2\n";
    let text = scenario(SMALL, &(message("40960B", "") + rule));
    let settings = settings(&text);
    let frames = arriving(&settings, 1, 5_000);
    for frame in &frames {
        whole(frame);
    }
    let marked = frames.iter().filter(|f| f[15] & 3 == 3).count();
    assert!(frames.len() >= 10 && marked == frames.len() / 2, "{marked} of {}", frames.len());
    lockstep(&settings, &mut Nowhere, |_| ());
}

/// A frame to be passed by two waits for them, or for its time; a duplicate follows its original.
#[test]
fn reordered_and_duplicated_frames_take_their_places() {
    let rules = "[[switch]]\naction = \"reorder\"\nkind = \"data\"\npsn = 3\nframes = 2\n\
                 [[switch]]\naction = \"duplicate\"\nkind = \"data\"\npsn = 6\ncopies = 2\n\
                 [[switch]]\naction = \"reorder\"\nkind = \"data\"\npsn = 9\nframes = 9\nby = \"1us\"\n";
    let text = scenario(SMALL, &(message("40960B", "") + rules));
    let settings = settings(&text);
    let psns: Vec<_> = arriving(&settings, 1, 5_000)
        .iter()
        .map(|f| Seen::of(f))
        .filter(|seen| seen.kind == Kind::Data)
        .map(|seen| seen.psn)
        .collect();
    assert_eq!(psns[..12], [0, 1, 2, 4, 5, 3, 6, 6, 6, 7, 8, 9]);
    let mut log = Log::default();
    let mut world = World::new(&settings);
    (0..5_000).for_each(|_| world.step(&mut log));
    let of_9 = acts(&log).iter().find(|a| a.1.seen.psn == 9).expect("reordered").0;
    assert!(arrivals(&log, 1).iter().any(|a| a.0 == of_9 + 1_000 + 100), "1 us, then the Delay");
}

/// A queue with room for two frames: what comes beyond it is trimmed, by the codepoint of the last
/// hop; what waits above the threshold is marked.
#[test]
fn a_full_downlink_trims_and_marks() {
    let text = scenario(SMALL, &message("163840B", "")).replace(
        "address = \"10.0.0.2\"",
        "address = \"10.0.0.2\"\nDownlink.DataRate = \"100Gbps\"\nDownlink.BufferSize = \"20KB\"\n\
         Downlink.MarkThreshold = \"10KB\"",
    );
    let mut log = Log::default();
    let mut world = World::new(&settings(&text));
    (0..16_000).for_each(|_| world.step(&mut log));
    let count = |what| acts(&log).iter().filter(|a| a.1.what == what && a.1.rule.is_none()).count();
    assert!(count(What::TrimLastHop) > 3 && count(What::Mark) > 3, "{:?}", acts(&log));
    assert_eq!(count(What::Drop), 0);
    let trimmed = arrivals(&log, 1).iter().filter(|a| a.1 == 62).count();
    assert!(trimmed >= count(What::TrimLastHop) - 1);
}

/// PFC-4: pause frames at their times, a Delay later at the NIC, on a wire that is busy too.
#[test]
fn pauses_are_sent_at_their_times() {
    let rule = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0, 3]\nquanta = 2\n\
                at = \"500ns\"\ngap = \"700ns\"\ncount = 3\n";
    let text = scenario(SMALL, &(message("163840B", "") + rule));
    let settings = settings(&text);
    let mut log = Log::default();
    let mut world = World::new(&settings);
    (0..4_000).for_each(|_| world.step(&mut log));
    let sent: Vec<_> = acts(&log).iter().map(|a| (a.0 - world.boot, a.1.what)).collect();
    assert_eq!(sent, [500, 1200, 1900].map(|at| (at, What::Pause)));
    let arrived = arrivals(&log, 0).into_iter().filter(|a| a.1 == 64);
    let late: Vec<_> = arrived.zip(&sent).map(|(a, s)| a.0 - world.boot - s.0).collect();
    assert_eq!(late.len(), 3);
    // Behind at most one frame of control, itself 1.28 ns long.
    assert!(late.iter().all(|l| (100..=105).contains(l)), "{late:?}");
    let frames = arriving(&settings, 0, 3_000);
    let pause = frames.iter().find(|f| Kind::of(f) == Kind::Pause).expect("a pause");
    assert_eq!(pause[16..34], [0, 9, 0, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// The port of a NIC that honours pauses holds the class for 512 bit times each and the Delay.
#[test]
fn a_port_honours_its_nics_pauses() {
    let text = scenario(SMALL, &message("163840B", ""))
        .replace("address = \"10.0.0.2\"", "address = \"10.0.0.2\"\nDownlink.HonoursPauses = true");
    let settings = settings(&text);
    let mut world = World::new(&settings);
    let mut log = Log::default();
    let at = world.boot + 800;
    while world.clock < at + 6_000 {
        if world.clock == at {
            let frame = cosim::switch::frame::pause(1, &[1_000, 0, 0, 0, 0, 0, 0, 0]);
            let beat = cosim::wire::WireBeat {
                sop: true,
                eop: true,
                bytes: 64,
                data: rtl_model::types::Beat::from_bytes(&frame),
            };
            let quiet = !world.nodes[1].nic.o.port_tx.wire_valid;
            assert!(quiet, "the port is free in that clock");
            world.switch.put(at, 1, beat, 0);
        }
        world.step(&mut log);
    }
    assert_eq!(acts(&log).iter().map(|a| a.1.what).collect::<Vec<_>>(), [What::Paused]);
    // It holds from the Delay on, 1,280 ns and the Delay again; control would go on.
    let (from, to) = (at + 100, at + 100 + 1_280 + 100);
    let data: Vec<_> = arrivals(&log, 1).iter().filter(|a| a.1 == 4174).map(|a| a.0).collect();
    assert_eq!(data.len(), 40);
    let held = data.iter().filter(|at| **at > from + 300 && **at < to + 100).count();
    assert_eq!(held, 0, "{data:?} in {from}..{to}");
    let first = data.iter().find(|at| **at > from + 300).expect("goes on");
    assert_eq!(*first, to + 84 + 100, "a frame's time and the Delay after the pause");
}

/// The same scenario and seed leave the same deeds in every mode, and others with another seed.
#[test]
fn deeds_depend_on_scenario_and_seed_alone() {
    let mut settings = fixture("switch.toml");
    let left = |settings: &Settings, mode| {
        let folder = tempfile::tempdir().expect("a folder");
        let (run, recorder) = run_into(settings, mode, Some(folder.path()));
        assert!(matches!(run.outcome, Outcome::Finished), "{mode:?}: {:?}", run.outcome);
        assert_eq!(run.world.driver.corrupted, Vec::<usize>::new());
        recorder.finish(&run.world, &()).expect("written");
        let deeds = std::fs::read_to_string(folder.path().join("switch.csv")).expect("a record");
        (run.digest, deeds)
    };
    let both = left(&settings, Mode::Lockstep);
    for deed in ["mark", "duplicate", "delay", "reorder", "drop"] {
        assert!(both.1.contains(&format!(",{deed},")), "no {deed} in {}", both.1);
    }
    assert_eq!(left(&settings, Mode::ModelOnly), both);
    assert_eq!(left(&settings, Mode::RtlOnly), both);
    settings.seed += 1;
    assert_ne!(left(&settings, Mode::ModelOnly).1, both.1);
}
