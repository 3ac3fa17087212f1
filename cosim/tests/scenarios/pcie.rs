//! The PCIe link, in lockstep: buffers at both ends and their room, splits, hosts that answer late,
//! in another order, wrongly or never.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cosim::check::RtlChoice;
use cosim::host::Room;
use cosim::record::Recorder;
use cosim::run::Run;
use cosim::settings::Settings;
use cosim::world::World;
use rtl_model::types::Why;

use crate::common::{agrees, lockstep, message, scenario, settings};

pub fn back(one: &str) -> String {
    one.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"")
}

/// Messages both ways, unaligned, with more attributes.
fn both_ways(build: &str, attributes: &str) -> Settings {
    let head = format!("limit = \"400us\"\nbuild = \"{build}\"\n[defaults]\n{attributes}");
    let one = message("0B", "most = \"9000B\"\ncount = 12\noutstanding = 4\noffset = 3");
    settings(&scenario(&head, &(back(&one) + &one)))
}

/// Every message arrived whole, and no buffer holds anything.
pub fn whole(world: &World) {
    for m in &world.driver.messages {
        assert!(m.refused.is_none() && m.done.iter().all(Option::is_some), "{m:?}");
    }
    assert_eq!(world.driver.intact as usize, world.driver.messages.len());
    for node in &world.nodes {
        let now = node.pcie_buffers();
        for room in [now.nic_transmit, now.nic_receive, now.host_transmit, now.host_receive] {
            assert_eq!(room, Room::default(), "all room is free at the end");
        }
        assert_eq!(node.nic.b.payload_fetch.busy.count_ones(), 0, "no tag is lost");
    }
}

/// The four sizes of an end, in bytes.
pub fn sizes(end: &str, header: u64, data: u64) -> String {
    let mut out = String::new();
    for side in ["TX", "RX"] {
        let _ = writeln!(out, "{end}.{side}HeaderBufferSize = \"{header}B\"");
        let _ = writeln!(out, "{end}.{side}DataBufferSize = \"{data}B\"");
    }
    out
}

/// PCI-4: every buffer holds one transfer, at both ends, and neither reads, writes nor completions
/// wedge the others; nor with a slow host, nor with completion entries on the link.
#[test]
fn pci_4_every_buffer_at_its_minimum_never_wedges() {
    for (build, more) in [
        ("small", ""),
        ("small", "CqeOnLink = true\nHostPCIe.Latency = \"700ns\"\n"),
        ("default", "HostPCIe.DrainDelay = \"40ns\"\n"),
    ] {
        let text = sizes("PCIe", 16, 512) + &sizes("HostPCIe", 16, 512) + more;
        let (run, recorder) = agrees("least buffers", &both_ways(build, &text));
        whole(&run.world);
        let one = Room { headers: 1, data: 32 };
        for (node, counts) in run.world.nodes.iter().zip(&recorder.counts) {
            let most = node.pcie_most;
            for room in [most.nic_transmit, most.host_transmit] {
                assert_eq!(room, one, "each buffer has been full, and no more than that");
            }
            // A host that drains at once never holds anything at the end of a clock.
            let held = if more.contains("DrainDelay") { one } else { Room::default() };
            assert_eq!(most.host_receive, held);
            // The NIC takes beats out while those behind them still come.
            assert!(most.nic_receive.headers == 1 && most.nic_receive.data <= 32);
            assert_eq!(counts.overruns, 0);
        }
    }
}

/// PCI-4: the host takes each transfer out of its receive buffer 2 µs late. The NIC fills it to the
/// unit and waits; nothing is lost.
#[test]
fn pci_4_a_host_that_drains_late_holds_the_nic_up() {
    let text = "HostPCIe.DrainDelay = \"2us\"\nHostPCIe.RXHeaderBufferSize = \"160B\"\n\
                HostPCIe.RXDataBufferSize = \"3KB\"\n";
    let (late, _) = agrees("late", &both_ways("small", text));
    whole(&late.world);
    for node in &late.world.nodes {
        // 3,000 B are 187 units: five transfers of 512 B and one of what is left.
        let most = node.pcie_most.host_receive;
        assert!(most.headers == 10 || most.data > 187 - 32, "{most:?}");
    }
    let (soon, _) = agrees("soon", &both_ways("small", ""));
    assert!(late.world.clock > 2 * soon.world.clock, "the sender has waited");
}

/// A run in lockstep in which nothing moves any more, and not all is done.
fn stuck(settings: &Settings) -> (Run, Recorder, Vec<String>) {
    use cosim::run::{Mode, Outcome, run};
    let mut recorder = Recorder::new(&World::new(settings), None).expect("counts only");
    let run = run(settings, Mode::Lockstep, &RtlChoice::default(), &mut recorder).expect("builds");
    let waits = match &run.outcome {
        Outcome::Stuck(waits) => waits.clone(),
        other => panic!("{other:?}"),
    };
    (run, recorder, waits)
}

fn says(waits: &[String], what: &str) {
    assert!(waits.iter().any(|w| w.contains(what)), "{waits:#?}\nwithout {what}");
}

/// PCI-4: the host of `a` stops to drain. What `a` sends to its host waits, and the run says so;
/// what `b` writes to its own host goes on.
#[test]
fn pci_4_a_host_that_never_drains_is_named() {
    let text = "limit = \"60us\"\nbuild = \"small\"\n[defaults]\n";
    let mut text = scenario(text, &message("3000B", "count = 6"));
    text = text.replace(
        "name = \"a\"",
        "name = \"a\"\nHostPCIe.DrainStops = \"0ns\"\nHostPCIe.RXHeaderBufferSize = \"64B\"",
    );
    let (run, _, waits) = stuck(&settings(&text));
    says(&waits, "a: a read waits for the host's receive buffer: 64 of 64 B of headers");
    says(&waits, "transfers stand in the host's buffer for ever");
    assert!(run.world.nodes[1].quiet());
}

/// PCI-3, PCI-5: largest payloads of 128, 256 and 512 B, RCB 64 and 128, any address: no transfer
/// is longer, none crosses a page, completions end on the RCB, and all bytes arrive.
#[test]
fn pci_5_splits_by_payload_rcb_and_page() {
    for (payload, rcb) in [(128, 64), (128, 128), (256, 64), (512, 64), (512, 128)] {
        let text = format!(
            "PCIe.MaxPayloadSize = \"{payload}B\"\nHostPCIe.MaxPayloadSize = \"{payload}B\"\n\
             HostPCIe.RCB = {rcb}\nMSS = 8192\n"
        );
        let settings = both_ways("small", &text);
        let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
        let mut seen = BTreeMap::<bool, u64>::new();
        let checked = lockstep(&settings, &mut recorder, |world| {
            for node in &world.nodes {
                let (o, i) = (node.nic.ports(), &node.inputs);
                if o.tlp_valid && o.tlp_sop && o.tlp_hdr.0[0] >> 30 & 1 == 1 {
                    let dws = o.tlp_hdr.0[0] & 0x3ff;
                    assert!((1..=payload / 4).contains(&dws));
                    let long = o.tlp_hdr.0[0] >> 29 & 1 == 1;
                    let [low, high] = [o.tlp_hdr.0[1] & 0xffff_ffff, o.tlp_hdr.0[1] >> 32];
                    let offset = if long { high } else { low } & 0xfff;
                    assert!(offset + 4 * dws <= 4096, "a write over a page");
                    assert_eq!(long, low != 0 && long, "an address below 4 GiB in 4 DWs");
                    *seen.entry(true).or_default() += 1;
                }
                if i.rx_valid && i.rx.sop && i.rx.hdr.0[0] as u32 >> 24 == 0x4a {
                    let dws = i.rx.hdr.0[0] & 0x3ff;
                    let left = (i.rx.hdr.0[0] >> 32) & 0xfff;
                    let lower = i.rx.hdr.0[1] & 0x7f;
                    assert!((1..=payload / 4).contains(&dws));
                    let ends = lower - lower % 4 + 4 * dws;
                    let last = 4 * dws >= left + lower % 4 && left != 0;
                    assert!(last || ends % rcb == 0, "a completion that ends off the RCB");
                    *seen.entry(false).or_default() += 1;
                }
            }
        });
        whole(&checked.world);
        assert!(seen[&true] > 100 && seen[&false] > 100, "{seen:?}");
    }
}

/// Byte enables of a request, byte by byte.
fn enables(addr: u64, len: u64) -> (u64, u64, u64) {
    let dws: Vec<u64> = (addr / 4..(addr + len).div_ceil(4)).collect();
    let of = |dw: u64| {
        (0..4).filter(|n| (addr..addr + len).contains(&(4 * dw + n))).map(|n| 1 << n).sum()
    };
    let last = if dws.len() > 1 { of(dws[dws.len() - 1]) } else { 0 };
    (dws.len() as u64, of(dws[0]), last)
}

/// Case 25, PCI-5: byte enables and lower addresses for offsets 0 to 3 and lengths 1 to 9.
#[test]
fn pci_5_byte_enables_and_lower_addresses() {
    // One after the other, so that reads, completions and writes come in the order of the list.
    let mut messages = String::new();
    for (n, (offset, len)) in (0..4).flat_map(|o| (1..10).map(move |l| (o, l))).enumerate() {
        let more = format!("offset = {offset}\nat = \"{}ns\"", 1_500 * n);
        messages += &message(&format!("{len}B"), &more);
    }
    let settings = settings(&scenario("limit = \"200us\"", &messages));
    let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
    let (mut reads, mut lowers, mut writes) = (Vec::new(), Vec::new(), Vec::new());
    let checked = lockstep(&settings, &mut recorder, |world| {
        let header = |hdr: [u64; 2]| (hdr[0] & 0x3ff, hdr[0] >> 32 & 0xf, hdr[0] >> 36 & 0xf);
        let (a, b) = (world.nodes[0].nic.ports(), world.nodes[1].nic.ports());
        if a.tlp_valid && a.tlp_sop && a.tlp_hdr.0[0] >> 30 & 1 == 0 {
            reads.push(header(a.tlp_hdr.0));
        }
        if b.tlp_valid && b.tlp_sop && b.tlp_hdr.0[0] >> 30 & 1 == 1 {
            writes.push(header(b.tlp_hdr.0));
        }
        let rx = &world.nodes[0].inputs;
        if rx.rx_valid && rx.rx.hdr.0[0] as u32 >> 24 == 0x4a {
            lowers.push((rx.rx.hdr.0[1] & 0x7f, rx.rx.hdr.0[0] >> 32 & 0xfff, rx.rx.dws));
        }
    });
    whole(&checked.world);
    let wanted: Vec<_> = (0..4).flat_map(|o| (1..10).map(move |l| enables(o, l))).collect();
    assert_eq!((&reads, &writes), (&wanted, &wanted));
    let wanted: Vec<_> = (0..4)
        .flat_map(|o: u64| (1..10).map(move |l: u64| (o, l, (o + l).div_ceil(4) as u8)))
        .collect();
    assert_eq!(lowers, wanted);
}

/// Case 22, PCI-4: room for k completion headers, more than k completions due at once: the host
/// waits, the NIC's buffer never overflows, and all go on.
#[test]
fn pci_4_completions_wait_for_headers_at_the_nic() {
    for k in [1, 4] {
        let text = format!(
            "limit = \"200us\"\n[defaults]\nMSS = 64\nPCIe.RXHeaderBufferSize = \"{}B\"\n\
             HostPCIe.Latency = \"2us\"\n",
            16 * k
        );
        let settings = settings(&scenario(&text, &message("6400B", "")));
        let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
        let (mut most, mut held_up) = (0, 0);
        let checked = lockstep(&settings, &mut recorder, |world| {
            let host = &world.nodes[0].host.transmit;
            most = most.max(host.far().headers);
            held_up += u64::from(host.far().headers == k && host.used().headers > k);
            assert!(u64::from(world.nodes[0].nic.b.pcie_room.hdr_used) <= k);
        });
        whole(&checked.world);
        assert_eq!((most, recorder.counts[0].overruns), (k, 0));
        assert!(held_up > 10, "a completion more than there is room for has waited");
    }
}

/// PCI-1, PCI-8: completions in any order between reads, mixed with each other: hand-off stays in
/// issue order, and every byte arrives.
#[test]
fn pci_1_completions_in_any_order_between_reads() {
    for build in ["small", "default"] {
        let settings = both_ways(build, "HostPCIe.Disorder = \"600ns\"\nMSS = 4096\n");
        let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
        let mut tags: [Vec<u64>; 2] = Default::default();
        let checked = lockstep(&settings, &mut recorder, |world| {
            for (node, tags) in world.nodes.iter().zip(&mut tags) {
                if node.inputs.rx_valid && node.inputs.rx.hdr.0[0] as u32 >> 24 == 0x4a {
                    tags.push(node.inputs.rx.hdr.0[1] >> 8 & 0xff);
                }
            }
        });
        whole(&checked.world);
        for tags in &tags {
            let backward = tags.windows(2).filter(|t| t[1] < t[0]).count();
            // Tags wrap once in a while; this is more often.
            assert!(backward > tags.len() / 20, "{backward} of {}", tags.len());
        }
    }
}

fn fault(kind: &str, count: u64) -> String {
    format!("[[fault]]\nnic = \"a\"\nkind = \"{kind}\"\ncount = {count}\n")
}

/// Case 10, PCI-8: each kind of bad answer is counted by its reason, frees its tag, fails its segment, puts
/// its QP in error, and other traffic goes on: `b`'s messages arrive whole, and those of `a` that were read.
#[test]
fn pci_8_bad_answers_are_counted_and_the_engine_goes_on() {
    for (kind, reason, fails) in [
        ("unsupported-request", 4, true),
        ("completer-abort", 5, true),
        ("poisoned-completion", 3, true),
        ("short-completion", 6, true),
        ("long-completion", 7, true),
        ("wrong-count", 2, true),
        ("repeated-completion", 1, false),
    ] {
        let one = message("700B", "count = 6\noutstanding = 1\noffset = 1");
        let lost = message("2000B", "");
        let text = scenario(
            "limit = \"60us\"\nbuild = \"small\"",
            &(lost
                + &back(&one)
                + &one.replace("outstanding = 1", "outstanding = 1\nat = \"5us\"")),
        ) + &fault(kind, 1);
        let settings = settings(&text);
        let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
        let mut checked =
            cosim::check::Checked::new(World::new(&settings), &crate::common::built(&settings))
                .expect("set up");
        for _ in 0..60_000 {
            checked.step_with(&mut recorder, |_| ()).unwrap_or_else(|_| panic!("{kind}: differs"));
        }
        let counts = &recorder.counts[0];
        assert_eq!(counts.bad_tlps, [(0x10 | reason, 1)].into(), "{kind}");
        let failed: BTreeMap<u8, u64> = if fails { [(reason, 1)].into() } else { [].into() };
        assert_eq!(counts.failed_reads, failed, "{kind}");
        let node = &checked.world.nodes[0];
        assert_eq!(node.host.counts.spoiled.iter().sum::<u64>(), 1, "{kind}");
        assert_eq!(node.nic.b.payload_fetch.tags_free, 16, "{kind}: a tag is lost");
        let done = |m: &&cosim::driver::MessageState| m.done.iter().all(Option::is_some);
        let messages = &checked.world.driver.messages;
        assert_eq!(messages.iter().filter(done).count(), 12 + usize::from(!fails), "{kind}");
        let why: Vec<_> = messages.iter().filter_map(|m| m.why).collect();
        assert_eq!(why, [Why::Read].repeat(usize::from(fails)), "{kind}: the QP is in error");
        assert_eq!(checked.world.driver.corrupted.len(), 0, "{kind}");
    }
}

/// Case 10, PCI-8: stray completions for all tags, those of reads under way too. Each one for a read ends
/// it, each other one is unexpected; no tag is lost, and no wrong byte is delivered.
#[test]
fn pci_8_stray_completions_meet_tags_in_flight() {
    let one = message("3000B", "count = 40\noutstanding = 4");
    let text = scenario(
        "limit = \"60us\"\nbuild = \"default\"\n[defaults]\nMSS = 256\nHostPCIe.Latency = \"3us\"",
        &(back(&one) + &one),
    ) + &fault("stray-completions", 400);
    let settings = settings(&text);
    let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
    let mut checked =
        cosim::check::Checked::new(World::new(&settings), &crate::common::built(&settings))
            .expect("set up");
    for _ in 0..160_000 {
        checked.step_with(&mut recorder, |_| ()).unwrap_or_else(|_| panic!("differs"));
    }
    let bad = &recorder.counts[0].bad_tlps;
    assert!(bad[&0x11] > 100 && bad[&0x12] > 3, "{bad:?}");
    let node = &checked.world.nodes[0];
    assert_eq!(node.nic.b.payload_fetch.busy.count_ones(), 0, "a tag is lost");
    assert_eq!(checked.world.driver.corrupted.len(), 0);
    let back: Vec<_> = checked.world.driver.messages.iter().filter(|m| m.from == 1).collect();
    assert!(back.len() == 40 && back.iter().all(|m| m.done.iter().all(Option::is_some)));
}

/// Case 9, PCI-8: 300 reads answered Unsupported Request on an engine with 256 tags, 254 of them
/// at once, as a segment may need three (SEG-5): one error each, no tag lost, and the next read
/// works. Three QPs, so that an error of one QP does not keep the reads of the next from being
/// made.
#[test]
fn pci_8_300_reads_answered_ur_and_read_301_works() {
    // The faults come 37 clocks apart: all are there before the first read.
    let head = "limit = \"80us\"\n[defaults]\nMSS = 64\nMaxCongestionWindow = 1000\n\
                HostPCIe.Latency = \"6us\"";
    let messages = message(&format!("{}B", 254 * 64), "at = \"12us\"")
        + &message(&format!("{}B", 46 * 64), "at = \"15us\"")
        + &message("64B", "at = \"34us\"");
    let text = scenario(head, &messages) + &fault("unsupported-request", 300);
    let settings = settings(&text);
    let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
    let mut checked =
        cosim::check::Checked::new(World::new(&settings), &crate::common::built(&settings))
            .expect("set up");
    let mut most = 0;
    for _ in 0..66_000 {
        let step = checked.step_with(&mut recorder, |world| {
            most = most.max(world.nodes[0].nic.b.payload_fetch.busy.count_ones());
        });
        step.unwrap_or_else(|_| panic!("differs"));
    }
    assert_eq!(most, 254, "as many reads at once as can be");
    let counts = &recorder.counts[0];
    assert_eq!(counts.bad_tlps, [(0x14, 300)].into());
    assert_eq!(counts.failed_reads, [(4, 300)].into());
    assert_eq!(checked.world.nodes[0].nic.b.payload_fetch.tags_free, 256);
    let messages = &checked.world.driver.messages;
    assert!(messages[2].done.iter().all(Option::is_some), "read 301 works");
    assert_eq!(checked.world.driver.intact, 1);
}

/// PCI-1: an answer 20 µs late holds the segments behind it in their order; all arrive in the end,
/// and the other direction goes on meanwhile.
#[test]
fn pci_1_a_late_answer_keeps_the_order() {
    let one = message("700B", "count = 6");
    let text = scenario("limit = \"60us\"\nbuild = \"small\"", &(one.clone() + &back(&one)))
        + &fault("late-completion", 1);
    let (run, recorder) = agrees("late", &settings(&text));
    whole(&run.world);
    assert!(recorder.counts[0].bad_tlps.is_empty());
    for m in &run.world.driver.messages {
        let at = m.done[1].expect("complete") - run.world.boot;
        assert!(if m.from == 0 { at > 20_000 } else { at < 10_000 }, "{m:?}");
    }
}

/// PCI-8: a read that is never answered: its tag is named, and the other direction is whole.
#[test]
fn pci_8_a_read_that_is_never_answered_is_named() {
    let one = message("700B", "count = 3");
    let text = scenario("limit = \"60us\"\nbuild = \"small\"", &(one.clone() + &back(&one)))
        + &fault("lost-completion", 1);
    let (run, _, waits) = stuck(&settings(&text));
    says(&waits, "a: tags without all their data: 0");
    says(&waits, "a: tag 0: 700 B at 0x");
    says(&waits, "message a to b, 700 B: WQE_COMPLETE");
    let other = run.world.driver.messages.iter().filter(|m| m.from == 1);
    assert!(other.clone().count() == 3 && { other }.all(|m| m.done.iter().all(Option::is_some)));
}
