//! `pause_hold`: model and RTL against each other, and both against exact times.

use rtl_model::image::Wide;
use rtl_model::pause_hold::{Inputs, Regs};
use testbenches::{Lockstep, Mismatch, Rng, Sizes, Start, Table};

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("pause_hold", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

fn times(quanta: [u16; 8]) -> Wide<2> {
    let bytes: Vec<u8> = quanta.into_iter().flat_map(u16::to_le_bytes).collect();
    Wide::from_bytes(&bytes)
}

/// PFC-4, case 14: held to the first clock at or after the exact end; XON; no pause to end.
#[test]
fn pfc_4_a_quantum_and_the_delay() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read("pause_hold/a_quantum_and_the_delay.txt") {
        let quanta = row.dec("quanta") as u16;
        let out = pair.clock(&Inputs {
            pfc_valid: row.bit("pfc"),
            pfc_classes: row.hex("classes") as u8,
            pfc_quanta: times([quanta; 8]),
            cfg_wire_rate: 400_000,
            cfg_pfc_delay: 2,
        })?;
        row.expect("paused", format!("{:02x}", out.paused));
    }
    Ok(())
}

/// S003: 65,535 quanta at 400 Gbps are 83.885 µs, and 0.1 µs of Delay more.
#[test]
fn pfc_4_the_longest_pause_of_s003() -> Result<(), Mismatch> {
    let mut pair = pair(2);
    let levels = Inputs { cfg_wire_rate: 400_000, cfg_pfc_delay: 100, ..Inputs::default() };
    let mut quanta = [9; 8];
    quanta[3] = 65_535;
    pair.clock(&Inputs { pfc_valid: true, pfc_classes: 8, pfc_quanta: times(quanta), ..levels })?;
    let mut held = 0;
    while pair.clock(&levels)?.paused == 8 {
        held += 1;
    }
    assert_eq!(held, 83_985, "83.9848 us and the clock that they end in");
    Ok(())
}

/// PFC-4, case 16: for each class the last frame that names it counts, whatever the others say.
#[test]
fn pfc_4_random_frames_hold_only_the_named() -> Result<(), Mismatch> {
    for seed in 3..=5 {
        let mut rng = Rng::new(u64::from(seed), "pause_hold");
        let mut pair = pair(seed);
        let mut i = Inputs { cfg_wire_rate: 400_000, ..Inputs::default() };
        // The clock in which each class may be chosen again.
        let mut until = [0_u64; 8];
        for clock in 0..30_000_u64 {
            if clock == 15_000 {
                pair.reset().expect("resets");
                until = [0; 8];
            }
            if clock % 1_000 == 0 && until.iter().all(|u| *u <= clock) {
                i.cfg_wire_rate = rng.pick(&[400_000, 512_000, 256_000, 99_999, 1 << 19]);
                i.cfg_pfc_delay = rng.pick(&[1, 2, 100]);
            }
            i.pfc_valid = rng.percent(3) && clock % 1_000 < 700;
            i.pfc_classes = rng.bits() as u8;
            i.pfc_quanta = times(std::array::from_fn(|_| rng.pick(&[0, 1, 2, 5, 40])));
            let out = pair.clock(&i)?;
            for (class, until) in until.iter_mut().enumerate() {
                assert_eq!(
                    out.paused >> class & 1 == 1,
                    clock < *until,
                    "class {class} at {clock}"
                );
                if i.pfc_valid && i.pfc_classes >> class & 1 == 1 {
                    let quanta = i.pfc_quanta.0[class / 4] >> (16 * (class % 4)) & 0xffff;
                    let time = (quanta * 512_000).div_ceil(u64::from(i.cfg_wire_rate));
                    let time = time + u64::from(i.cfg_pfc_delay);
                    *until = if quanta == 0 { 0 } else { clock + 1 + time };
                }
            }
        }
    }
    Ok(())
}
