//! More than two NICs: each frame goes to the NIC it is for, many send to one, groups of several
//! destinations take turns.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use cosim::check::{Checked, Stop};
use cosim::diagnose::headline;
use cosim::driver::BAR;
use cosim::event::{Event, Sink};
use cosim::made::Made;
use cosim::record::Recorder;
use cosim::switch::What;
use cosim::switch::frame::{Kind, pause};
use cosim::switch::route::SWITCH_MAC;
use cosim::wire::WireBeat;
use cosim::world::{World, mac};
use rtl_model::fcs;
use rtl_model::host_interface::{index, peer_value, register_offset};
use rtl_model::types::Beat;

use crate::common::{Both, Log, agrees, built, lockstep, nics, number, settings};

const SMALL: &str = "limit = \"900us\"\nbuild = \"small\"\n";

/// Messages from one NIC to another, by their numbers.
fn post(from: usize, to: usize, bytes: &str, more: &str) -> String {
    format!("[[message]]\nfrom = \"n{from}\"\nto = \"n{to}\"\nbytes = \"{bytes}\"\n{more}\n")
}

/// A scenario of so many NICs.
fn joined(head: &str, count: usize, rest: &str) -> String {
    format!("{head}{}\n{rest}", nics(count))
}

/// Every message arrived whole, with its three completions, and no host was touched elsewhere.
fn all_whole(world: &World) {
    for m in &world.driver.messages {
        assert!(m.done.iter().all(Option::is_some), "{m:?}");
    }
    assert_eq!(world.driver.intact as usize, world.driver.messages.len());
    assert_eq!((world.driver.corrupted.len(), world.driver.stray_entries), (0, 0));
    for node in &world.nodes {
        let counts = node.host.counts;
        assert_eq!((counts.stray_reads, counts.stray_writes, counts.unknown), (0, 0, 0));
    }
}

/// Frames that have arrived at a NIC, with their clocks.
fn arrived(log: &Log, nic: usize) -> Vec<(u64, &[u8])> {
    let mut frames = Vec::new();
    for (clock, _, event) in log.0.iter().filter(|e| e.1 == nic) {
        if let Event::Arrived { bytes, .. } = event {
            frames.push((*clock, bytes.as_slice()));
        }
    }
    frames
}

/// The number of the NIC that a frame comes from: the last octet of its address less one.
fn source(frame: &[u8]) -> usize {
    usize::from(frame[29]) - 1
}

/// QP-1: three NICs, all to all, messages of all sizes both ways at once: each is whole. What
/// arrives has the receiver's MAC address and a right FCS, though it was sent to the switch's.
#[test]
fn qp_1_three_nics_all_to_all() {
    let mut messages = String::new();
    for (from, to) in (0..3).flat_map(|f| (0..3).map(move |t| (f, t))).filter(|(f, t)| f != t) {
        for bytes in ["0B", "1B", "50B", "51B", "4096B", "4097B", "30KB"] {
            messages += &post(from, to, bytes, "offset = 5");
        }
    }
    let settings = settings(&joined(SMALL, 3, &messages));
    let mut log = Log::default();
    let checked = lockstep(&settings, &mut log, |_| ());
    assert_eq!(checked.rtl.len(), 3);
    all_whole(&checked.world);
    for (n, nic) in settings.nics.iter().enumerate() {
        let frames = arrived(&log, n);
        let sources: BTreeSet<_> = frames.iter().map(|f| source(f.1)).collect();
        assert_eq!(sources, (0..3).filter(|s| *s != n).collect());
        for (_, frame) in frames {
            assert_eq!(number(&frame[..6]), mac(nic));
            assert_eq!(fcs::after(fcs::INIT, frame), fcs::RESIDUE, "{} B", frame.len());
        }
    }
    let mut lengths = BTreeSet::new();
    for (_, _, event) in &log.0 {
        if let Event::Sent { bytes, .. } = event {
            lengths.insert(bytes.len());
            assert_eq!(number(&bytes[..6]), SWITCH_MAC);
        }
    }
    // An FCS at the end of a beat, and over it: 78 + 50 B, 78 + 51 B.
    assert!([128, 129, 4174].iter().all(|len| lengths.contains(len)), "{lengths:?}");
}

/// The same in the default build, few clocks.
#[test]
fn qp_1_three_nics_in_the_default_build() {
    let head = "limit = \"60us\"\nbuild = \"default\"\n";
    let messages: String =
        [(0, 1), (1, 2), (2, 0), (2, 1)].map(|(f, t)| post(f, t, "9000B", "")).concat();
    let (run, _) = agrees("default", &settings(&joined(head, 3, &messages)));
    all_whole(&run.world);
}

/// RX-2, LOS-1: four NICs send to one whose ingress pool holds three packets: it drops, and all is
/// recovered. Frames of one clock come in the order of the NICs.
#[test]
fn rx_2_incast_of_four_drops_and_recovers() {
    let head = format!(
        "{SMALL}[defaults]\nInitialAckTimeout = \"10us\"\nSACKLossMinRetxPkts = 3\n\
         IngressBufferManager.TotalBufferSize = \"14000B\"\n\
         PCIe.TXDataBufferSize = \"1KB\"\nPCIe.LaneCount = 4\n"
    );
    let messages: String = (0..4).map(|n| post(n, 4, "20000B", "count = 2")).collect();
    let settings = settings(&joined(&head, 5, &messages));
    let (mut log, world) = (Log::default(), World::new(&settings));
    let mut counts = Recorder::new(&world, None).expect("counts only");
    let checked = lockstep(&settings, &mut Both(&mut log, &mut counts), |_| ());
    all_whole(&checked.world);
    let dropped = &counts.counts[4].dropped;
    assert!(dropped.get("Pool").is_some_and(|n| *n > 3), "{dropped:?}");
    assert!(counts.counts[..4].iter().all(|c| c.queued.values().sum::<u64>() > 0));
    // All four begin in the same clock.
    let first: Vec<_> = arrived(&log, 4).iter().map(|f| source(f.1)).take(4).collect();
    assert_eq!(first, [0, 1, 2, 3]);
}

/// PKT-2: two NICs that send at full rate fill the port to a third and no more: frames end there
/// at its exact rate, with none of two NICs at once.
#[test]
fn pkt_2_two_senders_share_one_port_exactly() {
    let head = format!("{SMALL}[defaults]\nDelay = \"100ns\"\n");
    let messages = post(0, 2, "81920B", "") + &post(1, 2, "81920B", "at = \"40ns\"");
    let mut log = Log::default();
    let checked = lockstep(&settings(&joined(&head, 3, &messages)), &mut log, |_| ());
    all_whole(&checked.world);
    let frames: Vec<_> = arrived(&log, 2).into_iter().filter(|f| f.1.len() == 4174).collect();
    assert_eq!(frames.len(), 40);
    // Both have sent: from the third frame on the port is never free.
    let ends: Vec<_> = frames[3..33].iter().map(|f| f.0).collect();
    for (n, end) in ends.iter().enumerate() {
        let exact = (n as u64 * 4174 * 8).div_ceil(400);
        let came = end - ends[0];
        assert!(came.abs_diff(exact) <= 1, "frame {n}: {came} for {exact}");
    }
    let sources: BTreeSet<_> = frames[3..13].iter().map(|f| source(f.1)).collect();
    assert_eq!(sources.len(), 2);
}

/// Table index of the QP and the place of its destination, of each data packet that NIC `n0` makes,
/// with its clock; true for one again.
fn made(log: &Log) -> Vec<(u64, u8, u8, bool)> {
    let mut dests = BTreeMap::new();
    let mut out = Vec::new();
    for (clock, nic, event) in &log.0 {
        match event {
            Event::Posted { qpn, dest, .. } if *nic == 0 => {
                dests.insert((qpn & 0xff) as u8, *dest);
            }
            Event::Made(Made { kind, qp: Some(qp), .. }) if *nic == 0 && kind.is_data() => {
                out.push((*clock, *qp, dests[qp], *kind == Kind::Retransmission));
            }
            _ => {}
        }
    }
    out
}

/// Turns that only the egress pool holds up, of four packets: replay slots and tags are left.
const POOL: &str = "limit = \"900us\"\nbuild = \"small\"\n[defaults.EgressBufferManager]\n\
                    TotalBufferSize = \"20000B\"\n";

/// SCH-1, SCH-2, SCH-3, SCH-4: QPs to three destinations are three groups: they take turns, one
/// packet each, and the QPs of each take turns in it.
#[test]
fn sch_3_groups_of_three_destinations_take_turns() {
    let messages: String =
        (1..4).map(|to| post(0, to, "49152B", "count = 2")).collect::<Vec<_>>().concat();
    let mut log = Log::default();
    let checked = lockstep(&settings(&joined(POOL, 4, &messages)), &mut log, |_| ());
    all_whole(&checked.world);
    let made = made(&log);
    assert_eq!(made.len(), 6 * 12);
    // Once all six are posted, until the first QP has no data left.
    let turns = &made[16..56];
    for pair in turns.windows(4) {
        let dests: BTreeSet<_> = pair[..3].iter().map(|m| m.2).collect();
        assert_eq!(dests, BTreeSet::from([1, 2, 3]), "{turns:?}");
        assert_eq!(pair[0].2, pair[3].2);
        assert_ne!(pair[0].1, pair[3].1, "the other QP of the group: {turns:?}");
    }
}

/// SCH-4, RTX-1: a group whose retransmission waits behind its other QP goes back to the head: it
/// has the next turn too, before the groups that wait. The others take turns as before.
#[test]
fn sch_4_a_retransmission_brings_its_group_to_the_head() {
    let messages: String =
        (1..4).map(|to| post(0, to, "81920B", "count = 2")).collect::<Vec<_>>().concat();
    let cut = "[[switch]]\naction = \"trim\"\nfrom = \"n0\"\nto = \"n2\"\nkind = \"data\"\n\
               skip = 6\nevery = 2\ncount = 5\n";
    let mut log = Log::default();
    let checked = lockstep(&settings(&joined(POOL, 4, &(messages + cut))), &mut log, |_| ());
    all_whole(&checked.world);
    let made = made(&log);
    let again: Vec<_> = (1..made.len()).filter(|n| made[*n].3).collect();
    assert_eq!(again.len(), 5, "{made:?}");
    assert!(again.iter().all(|n| made[*n].2 == 2), "only NIC n2's are trimmed: {made:?}");
    // Where the other QP had its turn, the retransmission comes right behind it.
    let behind = again.iter().filter(|n| made[**n - 1].2 == 2).count();
    assert!(behind > 0, "{made:?}");
    for n in again.iter().copied().filter(|n| made[n - 1].2 != 2) {
        // Its own turn, a round after the group's last one.
        let last = made[..n].iter().rposition(|m| m.2 == 2).expect("it had turns");
        assert_eq!(n - last, 3, "{made:?}");
    }
}

/// SCH-5: with a window of one packet each, the group whose packet is trimmed joins at the head,
/// before one that waits for the pool; those whose packet is acknowledged join at the tail.
#[test]
fn sch_5_a_group_joins_at_the_head_or_the_tail() {
    let head = format!(
        "{SMALL}[defaults]\nMaxCongestionWindow = 1\nDataRate = \"50Gbps\"\n\
         EgressBufferManager.TotalBufferSize = \"10000B\"\n"
    );
    let messages: String = (1..5).map(|to| post(0, to, "12288B", "")).collect::<Vec<_>>().concat();
    let cut = "[[switch]]\naction = \"trim\"\nto = \"n1\"\nkind = \"data\"\ncount = 1\n";
    let mut log = Log::default();
    let checked = lockstep(&settings(&joined(&head, 5, &(messages + cut))), &mut log, |_| ());
    all_whole(&checked.world);
    let made = made(&log);
    let dests: Vec<_> = made.iter().map(|m| (m.2, m.3)).collect();
    let again = dests.iter().position(|d| d.1).expect("one goes again");
    assert_eq!(dests[again].0, 1);
    let waits = dests[..again].iter().all(|d| d.0 != 4);
    assert!(waits, "n4 waits for the pool: {dests:?}");
    // The tail: n4 before any second packet.
    let rest: Vec<_> = dests[again + 1..].iter().map(|d| d.0).collect();
    assert_eq!(rest[0], 4, "{dests:?}");
}

/// A frame for an address that no NIC has goes nowhere: it is counted by that reason, and the rest
/// goes on.
#[test]
fn a_frame_for_nobody_is_dropped_and_counted() {
    let messages = post(0, 1, "10000B", "") + &post(0, 2, "10000B", "");
    let settings = settings(&joined(SMALL, 3, &messages));
    let mut world = World::new(&settings);
    // The last write of boot: place 2 of the peer table has a stranger's address.
    let place = BAR + register_offset(index::PEER + 2);
    let stranger = peer_value(u32::from_be_bytes([10, 0, 0, 99]), true);
    world.nodes[0].host.post(2, place, &stranger.to_le_bytes());
    let mut counts = Recorder::new(&world, None).expect("counts only");
    let mut log = Log::default();
    let mut checked = Checked::new(world, &built(&settings)).expect("set up");
    for _ in 0..4_000 {
        step(&mut checked, &mut Both(&mut log, &mut counts));
    }
    assert_eq!(checked.world.driver.intact, 1, "the message to n1");
    assert_eq!(counts.counts[0].switch, [("drop-no-address data".to_owned(), 3)].into());
    let deeds = log.0.iter().filter_map(|e| match &e.2 {
        Event::Switch(act) => Some((act.what, act.from, act.to, act.rule)),
        _ => None,
    });
    assert!(
        deeds.clone().count() == 3 && deeds.into_iter().all(|d| d == (What::NoAddress, 0, 0, None))
    );
    assert!(arrived(&log, 2).is_empty());
}

fn step(checked: &mut Checked, sink: &mut impl Sink) {
    match checked.step(sink) {
        Ok(()) => {}
        Err(Stop::Differs(m)) => panic!("{}", headline(&checked.world.settings, &m)),
        Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
    }
}

/// PFC-4: a pause of one NIC that its port does not take passes to all others and not back.
#[test]
fn pfc_4_a_pause_passes_to_all_other_nics() {
    let messages: String = (0..3).map(|n| post(n, (n + 1) % 3, "40960B", "")).collect();
    let settings = settings(&joined(SMALL, 3, &messages));
    let mut checked = Checked::new(World::new(&settings), &built(&settings)).expect("set up");
    let at = checked.world.boot + 50;
    let mut paused = [0; 3];
    while checked.world.clock < at + 400 {
        if checked.world.clock == at {
            let frame = pause(1, &[1_000, 0, 0, 0, 0, 0, 0, 0]);
            let beat = WireBeat { sop: true, eop: true, bytes: 64, data: Beat::from_bytes(&frame) };
            assert!(!checked.world.nodes[1].nic.o.port_tx.wire_valid, "its port is free");
            checked.world.switch.put(at, 1, beat, 0);
        }
        step(&mut checked, &mut Log::default());
        for (paused, node) in paused.iter_mut().zip(&checked.world.nodes) {
            *paused |= node.nic.i.egress_arbiter.paused;
        }
    }
    assert_eq!(paused, [1, 0, 1]);
}

/// Rules name any two NICs: only frames between them are meant.
#[test]
fn rules_name_the_nics_that_they_mean() {
    let messages: String =
        [(0, 1), (0, 2), (1, 2), (2, 1)].map(|(from, to)| post(from, to, "20480B", "")).concat();
    let rule = "[[switch]]\naction = \"drop\"\nfrom = \"n0\"\nto = \"n2\"\nkind = \"data\"\n\
                count = 2\n[[switch]]\naction = \"mark\"\nto = \"n1\"\nkind = \"data\"\n";
    let head = format!("{SMALL}[defaults]\nInitialAckTimeout = \"10us\"\n");
    let mut log = Log::default();
    let checked = lockstep(&settings(&joined(&head, 3, &(messages + rule))), &mut log, |_| ());
    all_whole(&checked.world);
    let mut deeds = BTreeMap::<_, u64>::new();
    for (_, _, event) in &log.0 {
        if let Event::Switch(act) = event {
            *deeds.entry((act.rule, act.from, act.to)).or_default() += 1;
        }
    }
    let wanted = [((Some(0), 0, 2), 2), ((Some(1), 0, 1), 5), ((Some(1), 2, 1), 5)];
    assert_eq!(deeds, wanted.into());
}

/// QP-1, SCH-1, RX-8: 64 NICs, each with all places of its peer table taken: the first one sends to
/// each of the others, and each of them to it, so that payloads, their completions and those of what
/// it sends meet at its `tlp_engine`. A tenth of the frames is lost (RTX-1).
#[test]
fn qp_1_sixty_four_nics() {
    let mut messages = String::new();
    for n in 1..64 {
        let _ = write!(
            messages,
            "{}{}",
            post(0, n, "1500B", &format!("at = \"{}ns\"", 400 * n)),
            post(n, 0, "1500B", "")
        );
    }
    messages += "[[switch]]\naction = \"drop\"\nprobability = 0.1\n";
    let rate = "MSS = 1024\nDataRate = \"496Gbps\"\nInitialAckTimeout = \"5us\"\n";
    let head = format!("{SMALL}[defaults]\n{rate}");
    let settings = settings(&joined(&head, 64, &messages));
    assert_eq!((settings.sizes.dests, settings.sizes.qps), (64, 64));
    let (run, recorder) = agrees("64 NICs", &settings);
    let messages = &run.world.driver.messages;
    let refused: Vec<_> = messages.iter().filter(|m| m.refused.is_some()).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let again = recorder.counts.iter().filter(|nic| nic.queued.values().sum::<u64>() > 0).count();
    assert!(again > 10, "{again} NICs have sent a packet again");
    all_whole(&run.world);
    assert_eq!(run.world.nodes[0].nic.b.csr.peer_valid, u64::MAX);
}
