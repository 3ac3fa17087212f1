//! The two buffers of a drawn NIC: pools, discipline, weights, thresholds and pauses.

use std::fmt::Write as _;

use rtl_model::rng::Rng;

/// Bytes around a payload, of the profile that has more of them, with an ICRC.
const OVERHEAD: u64 = 110;
/// Bytes of a small ingress buffer, half of it for control: what fills is the data pool.
const SMALL: u64 = 40_000;

/// Shares of classes, the data class's in tenths first: few and many, with a sum below, of and above
/// 1.
const SHARES: [(u64, &str); 5] = [
    (9, "0.9, 0.1"),
    (5, "0.5, 0.25"),
    (5, "0.5, 0.5, 0.5"),
    (5, "0.5, 0.25, 0.1, 0.05, 0.05, 0.02, 0.02, 0.01"),
    (8, "0.8, 0.3, 0.07, 0.031"),
];

/// Both buffers of a NIC; `small` where its ingress data pool may fill.
pub fn pools(text: &mut String, rng: &mut Rng, mss: u64, small: bool) {
    egress(text, rng, mss);
    ingress(text, rng, mss, small);
}

fn egress(text: &mut String, rng: &mut Rng, mss: u64) {
    let (tenths, shares) = rng.pick(&SHARES);
    // At least one full packet, and at least a SACK of control: 98 B of a tenth, with an ICRC.
    let full = (mss + OVERHEAD) * rng.pick(&[1, 2, 3, 9, 20]);
    let total = (full * 10).div_ceil(tenths).max(980);
    let _ = writeln!(
        text,
        "EgressBufferManager.TotalBufferSize = \"{total}B\"\n\
         EgressBufferManager.PoolAllocationVector = [{shares}]\n\
         EgressBufferManager.QueueSchedulingType = \"{}\"\n\
         EgressBufferManager.WRRQueueWeights = [{}, {}, 1, 2, 3, 1, 255, 1]",
        rng.pick(&["StrictPriority", "RoundRobin", "WeightedRoundRobin"]),
        rng.pick(&[1, 1, 3, 255]),
        rng.pick(&[5, 1, 2, 255]),
    );
}

/// A prefetch buffer now and then, mostly of few packets; its draws are its own.
pub fn prefetch(rng: &mut Rng, mss: u64) -> Option<String> {
    rng.percent(40).then(|| {
        let packets = rng.pick(&[1, 1, 2, 5, 62]);
        let bytes = packets * (mss + OVERHEAD) + rng.pick(&[0, 0, 1, mss]);
        format!("PrefetchBufferEnable = true\nPrefetchBufferSize = \"{bytes}B\"\n")
    })
}

fn ingress(text: &mut String, rng: &mut Rng, mss: u64, small: bool) {
    if small {
        let data = (mss + OVERHEAD) * rng.pick(&[2, 3, 4]);
        let share = (data * 10_000).div_ceil(SMALL);
        let _ = writeln!(
            text,
            "IngressBufferManager.TotalBufferSize = \"{SMALL}B\"\n\
             IngressBufferManager.PoolAllocationVector = [0.{share:04}, 0.5]"
        );
    } else {
        let shares = rng.pick(&["0.9, 0.1", "0.9, 0.1, 0.05", "0.9, 0.1, 0.1, 0.1, 0.1"]);
        let _ = writeln!(text, "IngressBufferManager.PoolAllocationVector = [{shares}]");
    }
    let on = |rng: &mut Rng| u8::from(rng.percent(40));
    let [xoff, xon] = [["0.8", "0.3", "0.05"], ["0.4", "0.02", "1"]];
    let _ = writeln!(
        text,
        "IngressBufferManager.PFCEnableVector = [{}, {}]\n\
         IngressBufferManager.PfcStaticXoffThreshold = [{}, {}]\n\
         IngressBufferManager.PfcXonResumeThreshold = [{}, {}]\n\
         IngressBufferManager.QuantaValue = [{}, {}]\n\
         Downlink.HonoursPauses = {}",
        on(rng),
        on(rng),
        rng.pick(&xoff),
        rng.pick(&["0.8", "0.03", "0.01"]),
        rng.pick(&xon),
        rng.pick(&xon),
        rng.pick(&[1, 20, 300, 65_535]),
        rng.pick(&[1, 20, 300]),
        rng.percent(25),
    );
}
