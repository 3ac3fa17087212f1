//! `rtt_sample`: model and RTL against each other, and both against plain subtraction.

use rtl_model::rtt_sample::{Inputs, Origin, Outputs, Regs};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// The last clock count.
const LAST: u64 = (1 << 48) - 1;
/// Clocks that pass, around steps of service time and their ends.
const PASSED: [u64; 10] = [0, 1, 127, 128, 129, 300, 128 * 65_535 - 1, 128 * 65_535, 1 << 40, LAST];
/// Counts of transmissions around those that are sure.
const SENT: [u8; 6] = [1, 2, 1, 2, 3, 255];

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("rtt_sample", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

/// RTT-1: what gives a sample, by hand, in both modes.
#[test]
fn rtt_1_which_transmission() -> Result<(), Mismatch> {
    by_hand("rtt_sample/which_transmission.txt")
}

/// RTT-1: times echoed across the wrap of 16 bits.
#[test]
fn rtt_1_echoed_times() -> Result<(), Mismatch> {
    by_hand("rtt_sample/echoed_times.txt")
}

fn by_hand(file: &str) -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read(file) {
        let frame = row.text("frame");
        let o = pair.clock(&Inputs {
            timed_valid: frame == "sack" || frame == "nack",
            timed_nack: frame == "nack",
            timed_sent: row.dec("sent") as u8,
            timed_rtx: row.bit("rtx"),
            timed_at: row.dec("at"),
            timed_arrived: row.dec("arrived"),
            timed_word: row.dec("service") as u16,
            probed_valid: frame == "answer",
            probe_valid: frame == "end",
            probe_at: row.dec("at"),
            timed_stamped: row.text("mode") == "echo",
            cfg_stamps: row.text("mode") != "local",
            ..Inputs::default()
        })?;
        let origin = o.sample_valid.then(|| format!("{:?}", o.sample_origin));
        row.expect("origin", origin.unwrap_or_else(|| ".".into()));
        row.expect("rtt", o.sample_rtt);
        row.expect("unsure", u8::from(o.unsure_valid));
    }
    Ok(())
}

/// A sample, or none though a frame came.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    Sample(Origin, u8, u8, u64),
    Unsure,
}

fn said(o: &Outputs) -> Option<Said> {
    assert!(!(o.sample_valid && o.unsure_valid), "one outcome");
    let sample = Said::Sample(o.sample_origin, o.sample_group, o.sample_dest, o.sample_rtt);
    match () {
        () if o.sample_valid => Some(sample),
        () if o.unsure_valid => Some(Said::Unsure),
        () => None,
    }
}

/// The rule, without a wrap: clocks are counted on from the end.
fn round_trip(passed: u64, service: u16) -> u64 {
    let rest = i128::from(passed) - 128 * i128::from(service);
    rest.max(0) as u64
}

/// The last answer to a probe: group, destination, arrival, service time.
type Answer = (u8, u8, u64, u16);

/// What a clock's frame comes to.
fn expected(i: &Inputs, passed: u64, answer: &Answer) -> Option<Said> {
    if i.cfg_stamps {
        let origin = match (i.probed_valid, i.timed_nack) {
            _ if !(i.timed_valid || i.probed_valid) => return None,
            (true, _) => Origin::Probe,
            (false, true) => Origin::Nack,
            (false, false) => Origin::Sack,
        };
        // Steps since the one that is echoed, as many as 16 bits can tell.
        let steps = i128::from(i.timed_arrived / 128) - i128::from(i.timed_word);
        let rtt = 128 * steps.rem_euclid(1 << 16) as u64;
        let sample = Said::Sample(origin, i.timed_group, i.timed_dest, rtt);
        return Some(if i.timed_stamped { sample } else { Said::Unsure });
    }
    if i.probe_valid {
        let (group, dest, arrived, service) = *answer;
        // The last beat is 3 clocks behind; clocks are counted from there.
        let passed = (i128::from(arrived) - i128::from(i.probe_at) - 3).rem_euclid(1 << 48) as u64;
        return Some(Said::Sample(Origin::Probe, group, dest, round_trip(passed, service)));
    }
    if !i.timed_valid {
        return None;
    }
    let (origin, service) =
        if i.timed_nack { (Origin::Nack, 0) } else { (Origin::Sack, i.timed_word) };
    Some(match (i.timed_sent, i.timed_rtx) {
        (1, false) | (2, true) => {
            Said::Sample(origin, i.timed_group, i.timed_dest, round_trip(passed, service))
        }
        _ => Said::Unsure,
    })
}

/// RTT-1: random frames, probes answered at any distance from their ends, a reset between.
#[test]
fn rtt_1_random_frames_agree() -> Result<(), Mismatch> {
    let reached = Reached::begin("rtt_sample");
    for seed in 2..=4 {
        let mut rng = Rng::new(u64::from(seed), "rtt_sample");
        let mut pair = pair(seed);
        let (mut last, mut answer) = (None, (0, 0, 0, 0));
        let mut counts = [0; 4];
        for clock in 0..30_000 {
            if clock == 15_000 {
                pair.reset().expect("resets");
                (last, answer) = (None, (0, 0, 0, 0));
            }
            let passed = if rng.percent(50) { rng.pick(&PASSED) } else { rng.bits() & LAST };
            let any = rng.bits() & LAST;
            let at = rng.pick(&[0, 1, LAST, any]);
            let step = (passed / 128).min(65_535) as u16;
            let i = Inputs {
                timed_valid: rng.percent(40),
                timed_nack: rng.percent(30),
                timed_sent: rng.pick(&SENT),
                timed_at: at,
                probed_valid: rng.percent(20),
                timed_group: rng.bits() as u8,
                timed_dest: rng.below(64) as u8,
                timed_arrived: at.wrapping_add(passed) & LAST,
                timed_rtx: rng.percent(50),
                timed_word: rng.pick(&[0, step, step.saturating_add(1), any as u16]),
                probe_valid: rng.percent(20),
                probe_at: rng.pick(&[at, any]),
                timed_stamped: rng.percent(80),
                cfg_stamps: clock / 1_000 % 2 == 1,
            };
            let o = pair.clock(&i)?;
            assert_eq!(said(&o), last, "clock {clock}");
            last = expected(&i, passed, &answer);
            match last {
                Some(Said::Sample(origin, ..)) => counts[origin as usize] += 1,
                Some(Said::Unsure) => counts[3] += 1,
                None => {}
            }
            if i.probed_valid && !i.cfg_stamps {
                answer = (i.timed_group, i.timed_dest, i.timed_arrived, i.timed_word);
            }
        }
        assert!(counts.iter().all(|n| *n > 500), "each outcome: {counts:?}");
    }
    reached.check();
    Ok(())
}
