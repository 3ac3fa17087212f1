//! `csr`: model and RTL get the same writes and must agree on every clock.

use std::collections::HashMap;

use rtl_model::csr::{Inputs, Outputs, Regs};
use rtl_model::host_interface::{
    BANKS, CLASSES, PEER_MASK, PEERS, REGISTERS, Register, bank_of, index,
};
use rtl_model::image::Image;
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Values at which a register's answer changes, and their neighbours.
const VALUES: [u64; 16] = [
    0,
    1,
    0x1f,
    0x20,
    0x3f,
    0x40,
    128,
    129,
    1_024,
    1_025,
    8_192,
    8_193,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_ffff_ffff,
    u64::MAX,
];

/// Indices at which there begin or end registers.
const INDICES: [u16; 22] = [
    0, 1, 8, 18, 19, 36, 37, 63, 64, 67, 68, 127, 128, 143, 167, 171, 191, 192, 197, 198, 247, 248,
];

fn after_reset(sizes: &Sizes, seed: u64) -> Lockstep<Regs> {
    Lockstep::new("csr", sizes, Start::Random(seed as u32)).expect("builds")
}

/// The levels by their names, 64 bits of each.
fn levels(out: &Outputs) -> HashMap<String, u64> {
    let words = out.to_words();
    let mut at = 0;
    out.fields()
        .into_iter()
        .map(|field| {
            let low = u64::from(words[at]);
            let high = if field.words() > 1 { u64::from(words[at + 1]) } else { 0 };
            at += field.words();
            (field.name, high << 32 | low)
        })
        .collect()
}

#[test]
fn limits() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::DEFAULT, 1);
    for row in Table::read("csr/limits.txt") {
        let out = pair.clock(&Inputs {
            wr_valid: row.bit("wr_valid"),
            wr_index: row.hex("wr_index") as u16,
            wr_data: row.hex("wr_data"),
        })?;
        row.expect("bad_write", u8::from(out.bad_write));
        row.expect("mss", out.cfg_mss);
        row.expect("range", out.cfg_range);
        row.expect("cq_base", format!("{:x}", out.cfg_cq_base));
        row.expect("peer_valid", format!("{:x}", out.cfg_peer_valid));
    }
    Ok(())
}

/// What a host believes that it has written, field by field.
struct Host {
    sizes: Sizes,
    registers: HashMap<u16, u64>,
    banks: Vec<[u64; CLASSES]>,
    peers: Vec<u64>,
    refused: bool,
}

impl Host {
    fn new(sizes: &Sizes) -> Self {
        let mut registers: HashMap<_, _> = REGISTERS.iter().map(|r| (r.index, r.reset())).collect();
        registers.insert(index::RANGE, u64::from(sizes.psns.min(1_024)));
        let banks = BANKS.iter().map(|b| b.reset).collect();
        let peers = vec![0; usize::from(PEERS)];
        Self { sizes: *sizes, registers, banks, peers, refused: false }
    }

    fn write(&mut self, at: u16, value: u64) {
        let dest = at.wrapping_sub(index::PEER);
        if u32::from(dest) < self.sizes.dests {
            self.refused = value & !PEER_MASK != 0;
            if !self.refused {
                self.peers[usize::from(dest)] = value;
            }
            return;
        }
        for (bank, values) in BANKS.iter().zip(&mut self.banks) {
            if let Some(held) = values.get_mut(usize::from(at.wrapping_sub(bank.first))) {
                self.refused = value >> bank.width != 0;
                if !self.refused {
                    *held = value;
                }
                return;
            }
        }
        self.refused = !REGISTERS.iter().any(|r| r.index == at && r.takes(value));
        if !self.refused {
            let most = if at == index::RANGE { u64::from(self.sizes.psns) } else { u64::MAX };
            self.registers.insert(at, value.min(most));
        }
    }

    fn check(&self, out: &Outputs) {
        let levels = levels(out);
        assert_eq!(out.bad_write, self.refused);
        for register in REGISTERS {
            for field in register.fields {
                let want = field.of(self.registers[&register.index]);
                assert_eq!(levels[&format!("cfg_{}", field.name)], want, "{}", field.name);
            }
        }
        let (pools, on) = (out.cfg_egress_pool.0, out.cfg_xon.0);
        let levels: [&[u64]; 5] =
            [&pools, &out.cfg_ingress_pool.0, &out.cfg_xoff.0, &on, &out.cfg_quanta.0];
        for ((bank, level), want) in BANKS.iter().zip(levels).zip(&self.banks) {
            for (class, want) in want.iter().enumerate() {
                let at = bank.width as usize * class;
                let got = level[at / 64] >> (at % 64) & ((1 << bank.width) - 1);
                assert_eq!(got, *want, "{} of class {class}", bank.name);
            }
        }
        for (dest, want) in self.peers.iter().enumerate() {
            let ip = out.cfg_peer_ip.0[dest / 2] >> (32 * (dest % 2)) & 0xffff_ffff;
            assert_eq!(ip | (out.cfg_peer_valid >> dest & 1) << 32, *want, "destination {dest}");
        }
    }
}

fn random(sizes: &Sizes, seed: u64) -> Result<(), Mismatch> {
    let mut rng = Rng::new(seed, "csr");
    let mut pair = after_reset(sizes, seed);
    let mut host = Host::new(sizes);
    for clock in 0..12_000 {
        if clock == 5_000 {
            pair.reset().expect("resets");
            host = Host::new(sizes);
        }
        let wr_valid = rng.percent(80);
        let wr_index = match rng.below(5) {
            0 => rng.pick(&INDICES),
            3 => 128 + rng.below(48) as u16,
            1 => rng.below(512) as u16,
            2 => index::PEER + rng.below(64) as u16,
            _ => REGISTERS[rng.below(REGISTERS.len() as u64) as usize].index,
        };
        let mask = bank_of(wr_index).map_or(PEER_MASK, |(bank, _)| (1 << bank.width) - 1);
        let mask = REGISTERS.iter().find(|r| r.index == wr_index).map_or(mask, Register::mask);
        let wr_data = match rng.below(4) {
            0 => rng.pick(&VALUES),
            1 => rng.bits() & mask | 1 << rng.below(64),
            _ => rng.bits() & mask,
        };
        let out = pair.clock(&Inputs { wr_valid, wr_index, wr_data })?;
        host.check(&out);
        host.refused = false;
        if wr_valid {
            host.write(wr_index, wr_data);
        }
    }
    Ok(())
}

#[test]
fn random_writes_agree() -> Result<(), Mismatch> {
    let reached = Reached::begin("csr");
    for seed in 1..=3 {
        random(&Sizes::DEFAULT, seed)?;
        random(&Sizes::SMALL, seed)?;
    }
    reached.check();
    Ok(())
}

/// Every bit that no field has, one by one, in every register and in every hole between them.
#[test]
fn each_bit_without_a_field_is_refused() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::SMALL, 4);
    let mut host = Host::new(&Sizes::SMALL);
    for wr_index in (0..70).chain(120..180).chain([511]) {
        let reset = host.registers.get(&wr_index).copied().unwrap_or(0);
        for bit in 0..64 {
            let wr_data = reset ^ 1 << bit;
            host.check(&pair.clock(&Inputs { wr_valid: true, wr_index, wr_data })?);
            host.write(wr_index, wr_data);
        }
    }
    host.check(&pair.clock(&Inputs::default())?);
    Ok(())
}
