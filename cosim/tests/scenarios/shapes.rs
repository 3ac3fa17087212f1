//! Random shapes of scenarios, in lockstep: whatever the attributes, every message arrives whole,
//! with one completion of each kind, and nothing is written elsewhere.
//!
//! `NICSTEP_SHAPES=n` runs n of each build instead of the few that every test run has.

use std::fmt::Write as _;

use rtl_model::rng::Rng;

use crate::common::{PAIR, agrees, message, settings};

/// MSS at the borders of words, beats, pages and SACK counts.
const MSS: [u64; 16] =
    [1, 2, 63, 64, 65, 127, 128, 1000, 1365, 1366, 2048, 4095, 4096, 4097, 8191, 8192];

/// One build's scenarios: what it can hold.
struct Build {
    name: &'static str,
    psns: u64,
    /// Bytes on the wire that may be under way to a slow receiver, so that its pool takes them all:
    /// nothing is dropped, so that each count is exact.
    flight: u64,
}

const SMALL: Build = Build { name: "small", psns: 128, flight: 50_000 };
const DEFAULT: Build = Build { name: "default", psns: 1024, flight: 3_000_000 };

/// A share of 1 MB that makes a pool of so many bytes.
fn share(bytes: u64) -> String {
    format!("{}.{:06}", bytes / 1_000_000, bytes % 1_000_000)
}

fn draw(build: &Build, seed: u64) -> String {
    let rng = &mut Rng::new(seed, &format!("shape {}", build.name));
    let mss = rng.pick(&MSS);
    let most = (build.flight / (mss + 78)).min(build.psns);
    // A PSN window that shuts before the count of a SACK is full opens by timers alone, 150 µs each
    // (SACK-1): too long for these runs.
    let least = 4096_u64.div_ceil(mss.max(1024));
    let range = rng.pick(&[1, 2, 3, most, most, most]).clamp(least, most);
    let window = rng.pick(&[1, 1, 2, 7, 108]);
    let initial = rng.pick(&[0, 1, 0x7f_fffe, 0xff_fff0, 0xff_fffe, 0xff_ffff]);
    let mut text =
        format!("seed = {seed}\nlimit = \"600us\"\nbuild = \"{}\"\n[defaults]\n", build.name);
    let _ = writeln!(text, "MSS = {mss}\nMaxPSNRange = {range}\nMaxCongestionWindow = {window}");
    let _ =
        writeln!(text, "InitialPSN = {initial}\nDataRate = \"{}Gbps\"", rng.pick(&[100, 200, 400]));
    let _ = writeln!(text, "Delay = \"{}ns\"", rng.pick(&[1, 2, 100, 100, 700]));
    let _ = writeln!(text, "CloseDelay = \"{}ns\"", rng.pick(&[0, 0, 1, 300]));
    for flag in ["QPGroupsEnabled", "CqeOnLink", "TrimmingEnabled"] {
        let _ = writeln!(text, "{flag} = {}", rng.percent(50));
    }
    if rng.percent(50) {
        // One full packet and one SACK, or a byte more.
        let [data, control] = [mss + 78 + rng.below(2), 94 + rng.below(2)].map(share);
        let _ = writeln!(text, "EgressBufferManager.TotalBufferSize = \"1MB\"");
        let _ = writeln!(text, "EgressBufferManager.PoolAllocationVector = [{data}, {control}]");
    }
    for end in ["PCIe", "HostPCIe"] {
        let _ = writeln!(text, "{end}.LaneCount = {}", rng.between(4, 16));
    }
    if rng.percent(50) {
        let _ = writeln!(text, "PCIe.TXHeaderBufferSize = \"{}B\"", rng.pick(&[16, 32, 100]));
        let _ = writeln!(text, "PCIe.TXDataBufferSize = \"{}B\"", rng.pick(&[512, 513, 1100]));
    }
    let _ = writeln!(text, "HostPCIe.RCB = {}", rng.pick(&[64, 128]));
    let _ = writeln!(text, "HostPCIe.Latency = \"{}ns\"", rng.pick(&[0, 0, 1, 40, 900]));
    text += PAIR;

    let sizes = [0, 1, mss - 1, mss, mss + 1, 2 * mss];
    for entry in 0..rng.between(2, 4) {
        let bytes = rng.pick(&sizes);
        let mut more = format!("count = {}\none_qp = {}\n", rng.between(1, 4), rng.percent(50));
        if rng.percent(50) {
            let _ = writeln!(more, "most = \"{}B\"", bytes + rng.below(mss + 2));
        }
        let _ = writeln!(more, "offset = {}", rng.pick(&[0, 1, 63, 64, 2000, 4092, 4095]));
        let _ = writeln!(more, "at = \"{}ns\"", rng.below(400));
        let one = message(&format!("{bytes}B"), &more);
        let back = one.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
        text += if entry % 2 == 0 { &one } else { &back };
    }
    text
}

fn holds(build: &Build, seed: u64) {
    let text = draw(build, seed);
    println!("{text}");
    let (run, recorder) = agrees("the scenario above", &settings(&text));
    let (world, driver) = (&run.world, &run.world.driver);
    let messages = driver.messages.len() as u64;
    for m in &driver.messages {
        assert!(m.refused.is_none() && m.done.iter().all(Option::is_some), "{m:?}");
    }
    assert_eq!((driver.intact, driver.corrupted.len()), (messages, 0));
    assert_eq!((driver.entries, driver.stray_entries), (3 * messages, 0));
    for kind in ["SEND_COMPLETE", "WQE_COMPLETE", "RECV_COMPLETE"] {
        let each = recorder.counts.iter().map(|c| c.completions.get(kind).copied().unwrap_or(0));
        assert_eq!(each.sum::<u64>(), messages, "{kind}");
    }
    let bytes: u64 = driver.messages.iter().map(|m| u64::from(m.bytes)).sum();
    let written: u64 = world.nodes.iter().map(|n| n.host.counts.bytes_written).sum();
    assert_eq!(written, bytes + 32 * driver.entries);
    for (node, counts) in world.nodes.iter().zip(&recorder.counts) {
        let host = node.host.counts;
        assert_eq!((host.stray_reads, host.stray_writes, host.unknown), (0, 0, 0));
        assert!(counts.dropped.is_empty() && counts.bad_tlps.is_empty());
    }
}

/// How many of a build: a few, or what the environment asks for.
fn rounds(few: u64) -> u64 {
    std::env::var("NICSTEP_SHAPES").map_or(few, |n| n.parse().expect("NICSTEP_SHAPES is a number"))
}

/// SEG-1 to SEG-5, SCH-1, PCI-2 to PCI-6, QP-4, CPL-1, BUF-2, CC-1, in the small build.
#[test]
fn random_shapes_agree_in_the_small_build() {
    (0..rounds(16)).for_each(|seed| holds(&SMALL, seed));
}

/// The same in the default build.
#[test]
fn random_shapes_agree_in_the_default_build() {
    (0..rounds(5)).for_each(|seed| holds(&DEFAULT, seed));
}
