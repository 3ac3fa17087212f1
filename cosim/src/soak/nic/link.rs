//! The PCIe links of a drawn scenario: sizes, times and what a host answers wrongly.

use std::fmt::Write as _;

use rtl_model::rng::Rng;

/// Answers that are counted and end their read. One that comes again is not among them: on a link
/// that is out of order or out of tags it may meet the next read of its tag, as on any PCIe link.
const ANSWERS: [&str; 8] = [
    "unsupported-request",
    "completer-abort",
    "poisoned-completion",
    "short-completion",
    "long-completion",
    "wrong-count",
    "late-completion",
    "stray-completions",
];

/// When the first NIC's host drains no more, in three of a hundred scenarios, which then has no end.
pub fn stops(seed: u64, clocks: u64) -> Option<u64> {
    let rng = &mut Rng::new(seed, "soak stops");
    rng.percent(3).then(|| rng.below(clocks))
}

/// A read of the first NIC that is never answered, in three of a hundred scenarios, which then has no
/// end.
pub fn loses(seed: u64, clocks: u64) -> Option<String> {
    let rng = &mut Rng::new(seed, "soak loses");
    let at = rng.below(clocks);
    let fault =
        format!("[[fault]]\nnic = \"a\"\nkind = \"lost-completion\"\ncount = 1\nat = \"{at}ns\"\n");
    rng.percent(3).then_some(fault)
}

/// Both ends of a NIC's link; `slow` draws the rate of its lanes.
pub fn link(text: &mut String, rng: &mut Rng, slow: &mut Rng, stops: Option<u64>) {
    let _ = writeln!(text, "[nic.PCIe]\nLaneBps = \"{}bps\"", lane(slow));
    end(text, rng);
    let _ = writeln!(text, "ReadRequestSize = \"{}B\"", rng.pick(&[0, 64, 64, 1_023]));
    let _ = writeln!(text, "[nic.HostPCIe]\nLaneBps = \"{}bps\"", lane(slow));
    if let Some(clock) = stops {
        let _ = writeln!(text, "DrainStops = \"{clock}ns\"");
    }
    end(text, rng);
    let _ = writeln!(
        text,
        "RCB = {}\nLatency = \"{}ns\"\nDisorder = \"{}ns\"\nDrainDelay = \"{}ns\"",
        rng.pick(&[64, 128]),
        rng.pick(&[0, 0, 1, 70, 500]),
        rng.pick(&[0, 0, 0, 3, 300]),
        rng.pick(&[0, 0, 0, 1, 40, 600]),
    );
}

/// Bits a second of a lane, mostly as by default.
fn lane(rng: &mut Rng) -> u64 {
    rng.pick(&[31_520_000_000, 31_520_000_000, 31_520_000_000, 15_760_000_000, 7_001_000_000])
}

fn end(text: &mut String, rng: &mut Rng) {
    let _ = writeln!(text, "LaneCount = {}", rng.pick(&[1, 2, 4, 8, 13, 14, 16]));
    let _ = writeln!(text, "MaxPayloadSize = \"{}B\"", rng.pick(&[128, 256, 512, 512]));
    let _ = writeln!(text, "TransferOverhead = \"{}B\"", rng.pick(&[0, 34, 34, 34, 255]));
    for side in ["TX", "RX"] {
        let header = rng.pick(&[16, 32, 47, 160, 16_000, 16_000]);
        let data = rng.pick(&[512, 527, 1_024, 5_000, 256_000, 256_000]);
        let _ = writeln!(text, "{side}HeaderBufferSize = \"{header}B\"");
        let _ = writeln!(text, "{side}DataBufferSize = \"{data}B\"");
    }
}

/// Wrong answers to a few reads of a third of the scenarios.
pub fn faults(text: &mut String, rng: &mut Rng, nics: &[&str]) {
    if !rng.percent(35) {
        return;
    }
    for kind in ANSWERS {
        if rng.percent(25) {
            let _ = writeln!(
                text,
                "[[fault]]\nnic = \"{}\"\nkind = \"{kind}\"\ncount = {}\nat = \"{}ns\"",
                rng.pick(nics),
                rng.between(1, 3),
                rng.between(0, 3_000),
            );
        }
    }
}
