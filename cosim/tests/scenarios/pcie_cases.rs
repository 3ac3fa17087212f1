//! The PCIe link, in lockstep: what went wrong on others' links, and the forms of a request.

use std::collections::BTreeMap;

use cosim::host::Room;
use cosim::record::Recorder;
use cosim::run::Mode;
use cosim::settings::Settings;
use cosim::tlp::{Tlp, parse};
use cosim::world::{Node, World};
use rtl_model::tlp_engine::WRITE;
use rtl_model::types::Why;

use crate::common::{finished, lockstep, message, model, scenario, settings};
use crate::pcie::{back, sizes, whole};

/// The request that a NIC begins to send in this clock, and whether it has the 4-DW form.
fn request(node: &Node) -> Option<(Tlp, bool)> {
    let o = node.nic.ports();
    let [low, high] = o.tlp_hdr.0;
    let header = [low, low >> 32, high, high >> 32].map(|w| w as u32);
    let long = header[0] >> 29 & 1 == 1;
    assert!(long || header[3] == 0, "DW 3 of a 3-DW header");
    (o.tlp_valid && o.tlp_sop).then(|| (parse(&header), long))
}

fn counts(settings: &Settings) -> Recorder {
    Recorder::new(&World::new(settings), None).expect("counts only")
}

/// PCI-5: sources and targets that begin below 4 GiB and end above it: below, reads and writes have
/// the 3-DW form, from 4 GiB on the 4-DW one, and each byte is asked for once and written once.
#[test]
fn pci_5_three_dws_below_4_gib_and_four_from_there_on() {
    let text = scenario(
        "limit = \"200us\"\nbuild = \"small\"\n[defaults.HostPCIe]\nSourceBase = 0xffff_8000",
        &message("9001B", "count = 6\noutstanding = 2\noffset = 2"),
    )
    .replace("name = \"b\"", "name = \"b\"\nHostPCIe.TargetBase = 0xffff_b000");
    let settings = settings(&text);
    // First byte past what has been read and written, and transfers in the two forms.
    let (mut reads, mut writes) = ([0_u64; 2], [0_u64; 2]);
    let (mut read_bytes, mut written, mut at_border) = (0, 0, 0);
    let checked = lockstep(&settings, &mut counts(&settings), |world| {
        if let Some((Tlp::Read { addr, len, .. }, long)) = request(&world.nodes[0]) {
            assert_eq!(long, addr >> 32 != 0, "a read at {addr:#x}");
            reads[usize::from(long)] += 1;
            read_bytes += u64::from(len);
            at_border += u64::from(addr == 1 << 32 || addr + u64::from(len) == 1 << 32);
        }
        if let Some((Tlp::Write { addr, len }, long)) = request(&world.nodes[1])
            && addr >= 0xffff_b000
        {
            assert_eq!(long, addr >> 32 != 0, "a write at {addr:#x}");
            writes[usize::from(long)] += 1;
            written += u64::from(len);
            at_border += u64::from(addr == 1 << 32 || addr + u64::from(len) == 1 << 32);
        }
    });
    whole(&checked.world);
    assert_eq!((read_bytes, written), (6 * 9001, 6 * 9001));
    assert!(reads.iter().all(|n| *n > 5) && writes.iter().all(|n| *n > 30), "{reads:?} {writes:?}");
    assert_eq!(at_border, 4, "the last below and the first above, read and written");
}

/// PCI-8: a tag is asked with again only after all its data has come, and after every other tag;
/// with a slow host nearly all are out at once.
#[test]
fn pci_8_a_tag_is_reused_only_after_its_data() {
    let text = "limit = \"200us\"\nbuild = \"small\"\n[defaults]\nMSS = 700\n\
                HostPCIe.Latency = \"2us\"\nHostPCIe.Disorder = \"200ns\"\nHostPCIe.RCB = 64";
    let settings =
        settings(&scenario(text, &message("9800B", "count = 12\noutstanding = 1\noffset = 1")));
    let mut left = BTreeMap::new();
    let (mut used, mut most) = ([0_u32; 16], 0);
    let checked = lockstep(&settings, &mut counts(&settings), |world| {
        let node = &world.nodes[0];
        let rx = &node.inputs.rx;
        if node.inputs.rx_valid && rx.sop && rx.hdr.0[0] as u32 >> 24 == 0x4a {
            let (tag, due) = (rx.hdr.0[1] >> 8 & 0xff, rx.hdr.0[0] >> 32 & 0xfff);
            let bytes = (4 * (rx.hdr.0[0] & 0x3ff) - (rx.hdr.0[1] & 3)).min(due);
            let n = left.get_mut(&tag).expect("a read has the tag");
            *n -= bytes;
            if *n == 0 {
                left.remove(&tag);
            }
        }
        if let Some((Tlp::Read { len, tag, .. }, _)) = request(node) {
            let before = left.insert(u64::from(tag), u64::from(len));
            assert_eq!(before, None, "tag {tag} is reused before its data has come");
            used[usize::from(tag)] += 1;
            most = most.max(left.len());
        }
    });
    whole(&checked.world);
    assert!(most >= 14, "as many tags at once as there are packets: {most}");
    assert!(used.iter().all(|n| *n >= 5), "{used:?}");
}

/// Case 11, PCI-1, QP-2, CPL-1, TMR-1: doorbells that meet a busy `doorbell` for 0 clocks and more,
/// completions and transfers that meet full buffers, and expiries that meet a busy `retransmit`, each
/// count once: as many messages, each with its completions, and as many expiries as are told.
#[test]
fn case_11_what_comes_once_counts_once_whatever_waits() {
    let mut seen = [(); 4].map(|()| BTreeMap::<u64, u64>::new());
    let mut expired = 0;
    for gap in 0..16 {
        let mut messages = String::new();
        for n in 0..8 {
            messages += &message("65B", &format!("at = \"{}ns\"", n * gap));
        }
        messages += "[[switch]]\naction = \"drop\"\nkind = \"data\"\nprobability = 0.3\n";
        let head = "limit = \"100us\"\nbuild = \"small\"\n[defaults]\nMSS = 64\n\
                    InitialAckTimeout = \"2us\"\n\
                    PCIe.TXHeaderBufferSize = \"16B\"\nPCIe.LaneCount = 2";
        let settings = settings(&scenario(head, &messages));
        let mut clocks = [0; 4];
        let mut recorder = counts(&settings);
        let checked = lockstep(&settings, &mut recorder, |world| {
            let (i, o) = (&world.nodes[0].nic.i, &world.nodes[0].nic.o);
            let events = [
                (o.tlp_parse.page_valid, o.doorbell.page_ready),
                (o.tlp_engine.tx_valid, o.pcie_link.tx_ready),
                (o.completion.cqe_valid, i.completion.cqe_ready),
                (o.timer_wheel.exp_valid, o.retransmit.exp_ready),
            ];
            for (n, (valid, ready)) in events.into_iter().enumerate() {
                waited(&mut clocks[n], valid, ready, &mut seen[n]);
            }
        });
        whole(&checked.world);
        let driver = &checked.world.driver;
        assert_eq!((driver.messages.len(), driver.entries, driver.stray_entries), (8, 24, 0));
        expired += recorder.counts[0].expiries;
    }
    let taken = seen.each_ref().map(|of| of.values().sum::<u64>());
    assert_eq!(taken[2..], [16 * 8 * 2, expired], "entries of a's host, and expiries");
    for (what, seen) in ["doorbell", "transfer", "completion", "expiry"].iter().zip(&seen) {
        assert!(seen.len() >= 4, "{what}: {seen:?}");
    }
    assert!((0..=5).all(|clocks| seen[0].contains_key(&clocks)), "{seen:?}");
}

/// Counts the clocks that an event waits until it is taken.
fn waited(clocks: &mut u64, valid: bool, ready: bool, seen: &mut BTreeMap<u64, u64>) {
    match (valid, ready) {
        (true, false) => *clocks += 1,
        (true, true) => *seen.entry(std::mem::take(clocks)).or_default() += 1,
        _ => {}
    }
}

/// Case 21, PCI-4: header buffers of one, two and three places at both ends, and payload buffers of
/// as many transfers: each fills to the last place and never further, places are taken in the clock
/// in which others become free, and what goes through keeps its order and its bytes.
#[test]
fn case_21_buffers_of_one_two_and_three_places() {
    for places in [1, 2, 3] {
        let mut text = "limit = \"400us\"\nbuild = \"small\"\n[defaults]\n".to_owned();
        text += &sizes("PCIe", 16 * places, 512 * places);
        text += &sizes("HostPCIe", 16 * places, 512 * places);
        text += "HostPCIe.DrainDelay = \"40ns\"\n";
        let one = message("0B", "most = \"6000B\"\ncount = 12\noutstanding = 4\noffset = 3");
        let settings = settings(&scenario(&text, &(back(&one) + &one)));
        let full = Room { headers: places, data: 32 * places };
        let mut both = 0;
        let mut recorder = counts(&settings);
        let checked = lockstep(&settings, &mut recorder, |world| {
            for node in &world.nodes {
                let i = &node.nic.i.pcie_room;
                let comes = i.in_valid && i.in_ready && i.in_sop;
                both += u64::from(comes && i.out_valid && i.out_ready);
            }
        });
        whole(&checked.world);
        assert!(places == 1 || both > 0, "{places} places");
        for (node, counts) in checked.world.nodes.iter().zip(&recorder.counts) {
            let most = node.pcie_most;
            for room in [most.nic_transmit, most.host_transmit, most.host_receive] {
                assert_eq!(room.headers, places, "each fills");
                assert!(full.holds(room), "and no more than that");
            }
            assert_eq!(counts.overruns, 0);
            let waited = node.pcie_waited();
            assert!(waited.nic_transmit > 0 && waited.host_transmit > 0);
        }
    }
}

/// A message at the full rate of the wire, to a NIC whose end of the PCIe link has so many lanes, and
/// so little room for what waits there that a backlog stands in the ingress pool.
fn full_rate(lanes: u64, bytes: &str) -> Settings {
    let head = "limit = \"400us\"\n[defaults]\nMaxCongestionWindow = 1000";
    let text = scenario(head, &message(bytes, ""));
    let lanes = format!("name = \"b\"\nPCIe.LaneCount = {lanes}\nPCIe.TXDataBufferSize = \"8KB\"");
    settings(&text.replace("name = \"b\"", &lanes))
}

/// What a receiver at full rate meets: clocks in which packets come to the ingress pool, and in which
/// the last transfer of a full one has left for the host; the most that the pool holds.
#[derive(Default)]
struct Paces {
    came: Vec<u64>,
    written: Vec<u64>,
    transfers: u64,
    most: u32,
}

impl Paces {
    fn look(&mut self, world: &World) {
        let o = &world.nodes[1].nic.o;
        self.most = self.most.max(o.ingress_pool.held(0));
        if o.ingress_pool.arr_valid && o.ingress_pool.arr_cls == 0 {
            self.came.push(world.clock);
        }
        if o.pcie_link.sent_valid && o.pcie_link.sent_kind == WRITE {
            self.transfers += 1;
            if self.transfers.is_multiple_of(8) {
                self.written.push(world.clock);
            }
        }
    }

    /// The most that waits in the ingress data pool, in packets.
    fn backlog(&self) -> u64 {
        u64::from(self.most) / 4174
    }
}

/// From the first to the last of these clocks so many bytes go each time, to the clock.
fn exactly(clocks: &[u64], bytes: u64, rate: u64) -> bool {
    let times = clocks.len() as u64 - 1;
    let took = (clocks[clocks.len() - 1] - clocks[0]) * rate;
    took.abs_diff(times * bytes * 8_000) < rate
}

/// PCI-7: of 16 to 8 lanes at full-rate receiving, 14 and more keep up: packets are soon written as
/// they come, to the clock, and what waits does not grow, however long the message is. With 13 and
/// fewer one comes each 83.48 ns and one goes each 4,368 B of the link, to the clock, so that what
/// waits grows by the difference; and more waits the fewer lanes there are.
#[test]
fn pci_7_fourteen_lanes_keep_up_and_thirteen_do_not() {
    let mut short = Vec::new();
    for lanes in (8..=16).rev() {
        let (settings, mut paces) = (full_rate(lanes, "400KB"), Paces::default());
        whole(&lockstep(&settings, &mut counts(&settings), |world| paces.look(world)).world);
        let (came, written) = (&paces.came[..97], &paces.written[..97]);
        assert!(exactly(came, 4_174, 400_000), "{lanes} lanes: {came:?}");
        let slower = 4_368 * 400_000 > 4_174 * lanes * 31_520;
        assert_eq!(slower, lanes <= 13);
        if slower {
            assert!(exactly(written, 4_368, lanes * 31_520), "{lanes} lanes: {written:?}");
        } else {
            assert!(exactly(&written[48..], 4_174, 400_000), "{lanes} lanes: {written:?}");
        }
        short.push(paces.backlog());
    }
    // A message five times as long, in the model.
    let longer = |lanes| {
        let (settings, mut paces) = (full_rate(lanes, "2MB"), Paces::default());
        whole(&model(&settings, &mut counts(&settings), |world| {
            paces.look(world);
            false
        }));
        paces.backlog()
    };
    let long: Vec<u64> = (8..=16).rev().map(longer).collect();
    assert_eq!(short[..3], long[..3], "16, 15 and 14 lanes: {short:?} {long:?}");
    assert!(long[..3].iter().all(|n| *n <= 2), "{long:?}");
    assert!(long[2..].windows(2).all(|w| w[0] < w[1]), "{long:?}");
    assert!((3..9).all(|n| short[n] < long[n]), "{short:?} {long:?}");
}

/// PCI-8: an answer that is a DW too short is found, also where a DW less would end it on a line, as
/// a part of it may.
#[test]
fn pci_8_a_short_answer_never_ends_as_a_part_may() {
    for bytes in [4, 60, 64, 68, 72, 132, 4_096] {
        let text = scenario(
            "limit = \"8s\"\nbuild = \"small\"",
            &(message(&format!("{bytes}B"), "")
                + "[[fault]]\nnic = \"a\"\nkind = \"short-completion\"\n"),
        );
        let run = finished(&text, Mode::Lockstep);
        assert_eq!(run.world.driver.messages[0].why, Some(Why::Read), "{bytes} B");
    }
}

/// PCI-4: an answer that is a DW too long waits for a read whose answer both buffers have room for:
/// one that never fits would keep all behind it for ever.
#[test]
fn pci_4_a_long_answer_fits_the_buffers() {
    let head = "limit = \"1ms\"\nbuild = \"small\"\n[defaults]\nPCIe.RXDataBufferSize = \"512B\"";
    let messages = message("4096B", "") + &message("100B", "at = \"10us\"");
    let long = "[[fault]]\nnic = \"a\"\nkind = \"long-completion\"\n";
    let run = finished(&(scenario(head, &messages) + long), Mode::Lockstep);
    let why = |n: usize| run.world.driver.messages[n].why;
    assert_eq!((why(0), why(1)), (None, Some(Why::Read)));
}
