//! `pause_send`: model and RTL against each other, and both against exact times and plain lists.

use std::collections::VecDeque;

use rtl_model::image::Wide;
use rtl_model::pause_send::{Inputs, Outputs, Regs};
use rtl_model::types::Frame;
use testbenches::{Lockstep, Mismatch, Rng, Sizes, Start, Table};

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("pause_send", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

fn levels(of: [u32; 8]) -> Wide<4> {
    Wide(std::array::from_fn(|n| u64::from(of[2 * n]) | u64::from(of[2 * n + 1]) << 32))
}

fn quanta(of: [u16; 8]) -> Wide<2> {
    let bytes: Vec<u8> = of.into_iter().flat_map(u16::to_le_bytes).collect();
    Wide::from_bytes(&bytes)
}

/// S003's defaults, PFC on for class 0.
fn settings() -> Inputs {
    Inputs {
        frame_ready: true,
        cfg_own_mac: 0x0200_0a00_0002,
        cfg_wire_rate: 400_000,
        cfg_pfc_enable: 1,
        cfg_pfc_delay: 100,
        cfg_quanta: quanta([65_535; 8]),
        cfg_xoff: levels([2_880_000, 320_000, 0, 0, 0, 0, 0, 0]),
        cfg_xon: levels([1_440_000, 160_000, 0, 0, 0, 0, 0, 0]),
        ..Inputs::default()
    }
}

/// Class and quanta of a PFC frame, its other bytes checked (section 12).
fn read(frame: &Frame, mac: u64) -> (usize, u16) {
    let mut b = [0; 104];
    frame.hdr.to_bytes(&mut b);
    assert_eq!((frame.hdr_len, frame.len, frame.data), (60, 64, false));
    assert_eq!(b[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
    assert_eq!(b[6..12], mac.to_be_bytes()[2..]);
    assert_eq!(b[12..17], [0x88, 0x08, 1, 1, 0]);
    assert!(b[17].is_power_of_two(), "one class");
    let class = b[17].trailing_zeros() as usize;
    let time = |c: usize| u16::from_be_bytes([b[18 + 2 * c], b[19 + 2 * c]]);
    assert!((0..8).all(|c| c == class || time(c) == 0), "no other class has a time");
    assert_eq!(b[34..], [0; 70]);
    (class, time(class))
}

/// PFC-1, PFC-3, case 15: the borders of Xoff and Xon to the byte.
#[test]
fn pfc_1_pfc_3_xoff_and_xon_to_the_byte() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read("pause_send/xoff_and_xon_to_the_byte.txt") {
        let arrival = row.dec("arrival") as u32;
        let out = pair.clock(&Inputs {
            arr_valid: arrival > 0,
            arr_occ: arrival,
            rel_cls: row.dec("release") as u8,
            occ: Wide([row.dec("occ"), 0, 0, 0]),
            ..settings()
        })?;
        row.expect("xoff", out.xoff);
        row.expect("xon", out.xon);
        let frame = if out.frame_valid {
            format!("{}", read(&out.frame, settings().cfg_own_mac).1)
        } else {
            ".".to_owned()
        };
        row.expect("frame", frame);
    }
    Ok(())
}

/// The clocks of the first `n` pauses of a class that stays at Xoff, from the first.
fn refreshes(quanta_of: u16, n: usize) -> Result<Vec<u64>, Mismatch> {
    let mut pair = pair(2);
    let mut levels = settings();
    levels.cfg_quanta = quanta([quanta_of; 8]);
    levels.occ = Wide([2_880_000, 0, 0, 0]);
    pair.clock(&Inputs { arr_valid: true, arr_occ: 2_880_000, ..levels })?;
    let mut at = Vec::new();
    while at.len() < n {
        if pair.clock(&levels)?.xoff == 1 {
            at.push(pair.clocks());
        }
    }
    Ok(at.iter().map(|c| c - at[0]).collect())
}

/// PFC-2, case 17: every 41,992.4 ns, and with one quantum every 50.64 ns, at the first clock at or
/// after, however often.
#[test]
fn pfc_2_refreshes_do_not_drift() -> Result<(), Mismatch> {
    for (quanta, tenths_of_ps, n) in [(65_535, 419_924_000_u64, 24), (1, 506_400, 400)] {
        let at = refreshes(quanta, n)?;
        for (k, clocks) in at.iter().enumerate() {
            assert_eq!(*clocks, (k as u64 * tenths_of_ps).div_ceil(10_000), "refresh {k}");
        }
    }
    Ok(())
}

/// A class as the rules have it: when its first pause was sent, and the units (section 2) from there
/// to its next check, each half with the quanta of the clock that asks for its pause.
#[derive(Clone, Copy, Default)]
struct Class {
    since: Option<(u64, u64)>,
}

impl Class {
    /// What a clock's events send: pauses (false) and XONs (true), in order.
    fn step(&mut self, i: &Inputs, c: usize, clock: u64) -> Vec<bool> {
        let of = |level: &Wide<4>| (level.0[c / 2] >> (32 * (c % 2))) as u32;
        let enabled = i.cfg_pfc_enable >> c & 1 == 1;
        let mut sent = Vec::new();
        let quanta = i.cfg_quanta.0[c / 4] >> (16 * (c % 4)) & 0xffff;
        let (rate, delay) = (u64::from(i.cfg_wire_rate), u64::from(i.cfg_pfc_delay));
        let half = quanta * 512_000 + delay * rate; // over 2 × rate
        let due = |(at, units): (u64, u64)| clock == at + units.div_ceil(2 * rate);
        let check = self.since.is_some_and(due);
        let arrives = i.arr_valid && usize::from(i.arr_cls) == c;
        if self.since.is_none() && enabled && arrives && i.arr_occ >= of(&i.cfg_xoff) {
            self.since = Some((clock, half));
            sent.push(false);
        }
        if self.since.is_some() && i.rel_cls >> c & 1 == 1 && of(&i.occ) <= of(&i.cfg_xon) {
            self.since = None;
            sent.push(true);
        } else if check {
            let again = enabled && of(&i.occ) >= of(&i.cfg_xoff);
            self.since =
                if again { self.since.map(|(at, units)| (at, units + half)) } else { None };
            sent.push(!again);
        }
        sent
    }
}

fn events(out: &Outputs, class: usize) -> (bool, bool) {
    (out.xoff >> class & 1 == 1, out.xon >> class & 1 == 1)
}

/// Other thresholds and quanta, at the borders of what arrives and is held.
fn redraw(rng: &mut Rng, i: &mut Inputs) {
    i.cfg_quanta = quanta(std::array::from_fn(|_| rng.pick(&[1, 2, 7, 300, 65_535])));
    i.cfg_xoff = levels(std::array::from_fn(|_| rng.pick(&[41, 99, 100, 101])));
    i.cfg_xon = levels(std::array::from_fn(|_| rng.pick(&[0, 39, 40, 41, 100, 200])));
}

/// PFC-1 to PFC-3, case 16: eight classes at their borders; each frame asked for goes out, a class's
/// in order, its own quanta or 0 in it. All settings change while pauses are outstanding.
#[test]
fn pfc_2_random_events_agree_with_exact_times() -> Result<(), Mismatch> {
    let (mut pauses, mut resumes, mut both) = (0, 0, 0);
    for seed in 3..=5 {
        let mut rng = Rng::new(u64::from(seed), "pause_send");
        let mut pair = pair(seed);
        let mut i = settings();
        i.cfg_quanta = quanta(std::array::from_fn(|c| [1, 2, 65_535, 7][c % 4]));
        i.cfg_xoff = levels([100; 8]);
        i.cfg_xon = levels([40, 40, 40, 40, 40, 100, 200, 0]);
        i.cfg_pfc_delay = rng.pick(&[64, 99, 100]);
        i.cfg_wire_rate = rng.pick(&[400_000, 399_999, 496_000]);
        let mut told = i.cfg_quanta; // of the clock before: what a frame was built with
        let mut classes = [Class::default(); 8];
        let mut asked: [VecDeque<bool>; 8] = Default::default();
        let mut expected: [Vec<bool>; 8] = Default::default();
        for clock in 0..40_000 {
            if clock == 20_000 {
                pair.reset().expect("resets");
                classes = Default::default();
                asked = Default::default();
                expected = Default::default();
            }
            if clock % 2_000 == 0 {
                i.cfg_pfc_enable = rng.bits() as u8;
            }
            // Behind an arrival, so that a frame waits meanwhile.
            if clock % 2_000 == 2 && clock > 2_000 {
                redraw(&mut rng, &mut i);
            }
            // Slow enough that no frame takes another one's place.
            i.arr_valid = clock % 4 == 0 && rng.percent(80);
            i.arr_cls = rng.below(8) as u8;
            i.arr_occ = rng.pick(&[0, 99, 100, 101, 5_000]);
            let released = if rng.percent(50) { 1 << i.arr_cls } else { 1 << rng.below(8) };
            i.rel_cls = if clock % 4 == 0 && rng.percent(60) { released } else { 0 };
            if rng.percent(30) {
                i.occ = levels(std::array::from_fn(|_| rng.pick(&[0, 39, 40, 41, 99, 100, 101])));
            }
            i.frame_ready = true;
            let out = pair.clock(&i)?;
            for (class, sent) in expected.iter().enumerate() {
                let want = (sent.contains(&false), sent.contains(&true));
                assert_eq!(events(&out, class), want, "class {class} at {clock}");
                asked[class].extend(sent);
                pauses += usize::from(want.0);
                resumes += usize::from(want.1);
                both += usize::from(want.0 && want.1);
            }
            if out.frame_valid {
                let (class, time) = read(&out.frame, i.cfg_own_mac);
                let xon = asked[class].pop_front().expect("it was asked for");
                let own = told.0[class / 4] >> (16 * (class % 4)) & 0xffff;
                assert_eq!(u64::from(time), if xon { 0 } else { own }, "class {class} at {clock}");
            }
            told = i.cfg_quanta;
            for (class, sent) in expected.iter_mut().enumerate() {
                *sent = classes[class].step(&i, class, clock);
            }
        }
    }
    assert!(pauses > 1_000 && resumes > 1_000 && both > 5, "{pauses} {resumes} {both}");
    Ok(())
}

/// A port that is rarely free: model and RTL agree on what waits, and the youngest of a class is
/// never lost.
#[test]
fn frames_wait_for_the_port() -> Result<(), Mismatch> {
    let mut rng = Rng::new(6, "pause_send waits");
    let mut pair = pair(6);
    let mut i = settings();
    i.cfg_quanta = quanta([1; 8]);
    i.cfg_xoff = levels([100; 8]);
    i.cfg_xon = levels([50; 8]);
    i.cfg_pfc_enable = 0xff;
    let mut last = [None; 8];
    let mut full = 0;
    for clock in 0..20_000 {
        let quiet = clock % 4_000 >= 3_000;
        i.arr_valid = !quiet && rng.percent(60);
        i.arr_cls = rng.below(8) as u8;
        i.arr_occ = rng.pick(&[99, 100]);
        i.rel_cls = if quiet { 0xff } else { rng.bits() as u8 & rng.bits() as u8 };
        i.occ = levels([if quiet { 0 } else { rng.pick(&[50, 51, 100]) }; 8]);
        i.frame_ready = quiet || rng.percent(5);
        let out = pair.clock(&i)?;
        full += usize::from(pair.regs().count == 16 && pair.regs().behind != 0);
        if out.frame_valid && i.frame_ready {
            let (class, time) = read(&out.frame, i.cfg_own_mac);
            last[class] = Some(time);
        }
        if clock % 4_000 == 3_999 {
            assert_eq!(last, [Some(0); 8], "every class was resumed in the end");
        }
    }
    assert!(full > 100, "{full}");
    Ok(())
}
