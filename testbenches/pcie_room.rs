//! `pcie_room`: model and RTL get the same beats and must agree on every clock; a queue of beats
//! beside them says what is held, what is free again, and what came without room.

use std::collections::VecDeque;

use rtl_model::pcie_room::{Inputs, Outputs, Regs};
use testbenches::{Late, Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// DWs of a beat around the borders of a unit and of a beat.
const DWS: [u8; 14] = [0, 1, 3, 4, 5, 8, 9, 28, 29, 31, 32, 33, 64, 255];

/// Header and data room, in bytes: the least, a unit short, the default.
const ROOMS: [(u32, u32); 5] = [(16, 512), (31, 527), (64, 1_024), (160, 4_096), (16_000, 256_000)];

fn after_reset(sizes: &Sizes, seed: u32) -> Lockstep<Regs> {
    Lockstep::new("pcie_room", sizes, Start::Random(seed)).expect("builds")
}

#[test]
fn pci_4_counted_beat_by_beat() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::DEFAULT, 1);
    for row in Table::read("pcie_room/counted_beat_by_beat.txt") {
        let out = pair.clock(&Inputs {
            cfg_rx_hdr_buf: 32,
            cfg_rx_data_buf: 34 * 16,
            in_valid: row.text("in") != "-",
            in_ready: row.bit("in_ready"),
            in_sop: row.text("in") == "s",
            in_dws: row.dec("in_dws") as u8,
            out_valid: row.text("out") != "-",
            out_ready: row.bit("out_ready"),
            out_sop: row.text("out") == "s",
            out_dws: row.dec("out_dws") as u8,
        })?;
        row.expect("freed", u8::from(out.freed_valid));
        row.expect("freed_hdr", u8::from(out.freed_hdr));
        row.expect("freed_data", out.freed_data);
        row.expect("over", u8::from(out.over_valid));
    }
    Ok(())
}

/// Case 11, PCI-4: in a buffer with room for one TLP, the credit of one whose beats wait for 0 to 5
/// clocks until `tlp_parse` takes them comes once: the next one has room, and no more is told.
#[test]
fn case_11_credits_count_once_whatever_waits() -> Result<(), Mismatch> {
    for low in 0..=5 {
        let mut pair = after_reset(&Sizes::SMALL, 1);
        let (mut parse, mut waits, mut told) = (Late::by(low), VecDeque::new(), (0, 0, 0));
        for clock in 0..100 {
            let mut i = Inputs { cfg_rx_hdr_buf: 16, cfg_rx_data_buf: 160, ..Inputs::default() };
            // Two beats, of 32 and of 5 DWs: 10 units of payload.
            (i.in_valid, i.in_ready, i.in_sop) = (clock % 25 < 2, true, clock % 25 == 0);
            i.in_dws = if i.in_sop { 32 } else { 5 };
            (i.out_sop, i.out_dws) = waits.front().copied().unwrap_or_default();
            i.out_valid = !waits.is_empty();
            i.out_ready = parse.ready(i.out_valid);
            let out = pair.clock(&i)?;
            assert!(!out.over_valid, "no room after {low} clocks");
            if i.out_ready {
                waits.pop_front();
            }
            if i.in_valid {
                waits.push_back((i.in_sop, i.in_dws));
            }
            if out.freed_valid {
                told.0 += 1;
                told.1 += u32::from(out.freed_hdr);
                told.2 += u32::from(out.freed_data);
            }
        }
        assert_eq!(told, (8, 4, 40), "beats, headers and units after {low} clocks");
    }
    Ok(())
}

/// Bytes of payload of a beat, rounded up to 16, in units.
fn units(dws: u8) -> u64 {
    (u64::from(dws.min(32)) * 4).div_ceil(16)
}

/// The buffer as a queue, and what the outputs of the next clock must be.
#[derive(Default)]
struct Buffer {
    beats: VecDeque<(bool, u8)>,
    freed: Option<(bool, u64)>,
    over: bool,
    told: (u64, u64),
    came: (u64, u64),
}

impl Buffer {
    fn held(&self) -> (u64, u64) {
        let headers = self.beats.iter().filter(|b| b.0).count() as u64;
        (headers, self.beats.iter().map(|b| units(b.1)).sum())
    }

    fn clock(&mut self, i: &Inputs, o: Outputs) {
        let freed = o.freed_valid.then(|| (o.freed_hdr, u64::from(o.freed_data)));
        assert_eq!((freed, o.over_valid), (self.freed, self.over));
        if let Some((hdr, data)) = freed {
            self.told.0 += u64::from(hdr);
            self.told.1 += data;
        }
        // PCI-4: what came is held, or the host has been told that it is free.
        let held = self.held();
        assert_eq!(self.came, (self.told.0 + held.0, self.told.1 + held.1), "used + free");
        let need = (held.0 + u64::from(i.in_sop), held.1 + units(i.in_dws));
        let size = (u64::from(i.cfg_rx_hdr_buf) / 16, u64::from(i.cfg_rx_data_buf) / 16);
        self.over = i.in_valid && (!i.in_ready || need.0 > size.0 || need.1 > size.1);
        self.freed = None;
        if i.out_valid && i.out_ready {
            let (sop, dws) = self.beats.pop_front().expect("a beat waits");
            self.freed = Some((sop, units(dws)));
        }
        if i.in_valid && i.in_ready {
            self.beats.push_back((i.in_sop, i.in_dws));
            self.came.0 += u64::from(i.in_sop);
            self.came.1 += units(i.in_dws);
        }
    }
}

fn traffic(sizes: &Sizes, seed: u32) -> Result<(), Mismatch> {
    let mut rng = Rng::new(seed.into(), "pcie_room");
    let mut pair = after_reset(sizes, seed);
    let mut buffer = Buffer::default();
    let (mut over, mut empty) = (0, 0);
    let mut i = Inputs::default();
    for clock in 0..30_000 {
        let phase = clock / 300;
        let (busy, drain) = ([100, 50, 20, 80][phase % 4], [50, 100, 100, 20, 0][phase % 5]);
        if clock % 300 == 0 {
            (i.cfg_rx_hdr_buf, i.cfg_rx_data_buf) = rng.pick(&ROOMS);
        }
        i.in_valid = rng.percent(busy);
        i.in_ready = buffer.beats.len() < 600 && rng.percent(98);
        i.in_sop = rng.percent(40);
        i.in_dws = if rng.percent(70) { rng.pick(&DWS) } else { rng.bits() as u8 };
        i.out_valid = !buffer.beats.is_empty();
        i.out_ready = rng.percent(drain);
        (i.out_sop, i.out_dws) = buffer.beats.front().copied().unwrap_or_default();
        let out = pair.clock(&i)?;
        buffer.clock(&i, out);
        over += u64::from(buffer.over);
        empty += u64::from(buffer.beats.is_empty());
        if rng.below(7_000) == 0 {
            pair.reset().expect("resets");
            buffer = Buffer::default();
        }
    }
    assert!(over > 100 && empty > 10, "{over} beats without room, empty in {empty} clocks");
    Ok(())
}

#[test]
fn pci_4_random_beats_are_conserved() -> Result<(), Mismatch> {
    let reached = Reached::begin("pcie_room");
    traffic(&Sizes::SMALL, 1)?;
    traffic(&Sizes::DEFAULT, 2)?;
    traffic(&Sizes::SMALL, 3)?;
    reached.check();
    Ok(())
}
