//! `prefetch_pool`: model and RTL against each other, and both against a list of packets.

use std::collections::VecDeque;

use rtl_model::prefetch_pool::{Inputs, Regs};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("prefetch_pool", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

/// BUF-5, SEG-4: full to the byte, exactly half, a byte more, two releases in a clock.
#[test]
fn buf_5_half_is_told_once_a_release() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read("prefetch_pool/half_is_told_once_a_release.txt") {
        let out = pair.clock(&Inputs {
            take_valid: row.bit("take"),
            commit_valid: row.bit("commit"),
            bytes: row.dec("bytes") as u16,
            drop_valid: row.bit("drop"),
            drop_bytes: row.dec("drop_bytes") as u16,
            cfg_prefetch: 8_404,
        })?;
        row.expect("free", out.free);
        row.expect("half", u8::from(out.half_valid));
        row.expect("occ", out.occ);
    }
    Ok(())
}

/// BUF-5: of full packets of 4,202 B a buffer of 262,144 B has room for 62.
#[test]
fn buf_5_62_packets_fit() -> Result<(), Mismatch> {
    let mut pair = pair(2);
    let mut i = Inputs { bytes: 4_202, cfg_prefetch: 262_144, ..Inputs::default() };
    pair.clock(&i)?;
    let mut packets = 0;
    loop {
        let out = pair.clock(&i)?;
        packets += u64::from(i.take_valid);
        i.take_valid = !i.take_valid && out.free >= 4_202;
        if !i.take_valid && out.free < 4_202 {
            assert_eq!((packets, out.occ), (62, 62 * 4_202));
            return Ok(());
        }
    }
}

/// Everything around the block: what it holds, as a list.
struct Bench {
    pair: Lockstep<Regs>,
    size: u32,
    packets: VecDeque<u16>,
    /// A release in the clock before left half or less.
    half: bool,
    full: u64,
    halves: u64,
    both: u64,
}

impl Bench {
    fn clock(&mut self, rng: &mut Rng, pace: u64) -> Result<(), Mismatch> {
        let held: u32 = self.packets.iter().map(|p| u32::from(*p)).sum();
        let left = self.size - held;
        let mut i = Inputs { cfg_prefetch: self.size, ..Inputs::default() };
        let exact = u16::try_from(left).unwrap_or(4_202).min(8_298);
        let bytes = rng.pick(&[106, 107, 4_201, 4_202, 8_298, exact]);
        let mut gone = Vec::new();
        if rng.percent(pace) && u32::from(bytes) <= left {
            (i.take_valid, i.bytes) = (true, bytes);
        } else if rng.percent(50) && !self.packets.is_empty() {
            let packet = self.packets.pop_front().expect("held");
            (i.commit_valid, i.bytes) = (true, packet);
            gone.push(packet);
        }
        if rng.percent(15) && !self.packets.is_empty() {
            let at = rng.below(self.packets.len() as u64) as usize;
            let packet = self.packets.remove(at).expect("held");
            (i.drop_valid, i.drop_bytes) = (true, packet);
            gone.push(packet);
        }
        let out = self.pair.clock(&i)?;
        assert_eq!((out.occ, out.free), (held, left), "conservation");
        assert_eq!(out.half_valid, self.half, "SEG-4: after a release that leaves half");
        let after = held - gone.iter().map(|p| u32::from(*p)).sum::<u32>();
        self.half = !gone.is_empty() && 2 * after <= self.size;
        self.packets.extend(i.take_valid.then_some(bytes));
        self.full += u64::from(left == 0);
        self.halves += u64::from(self.half);
        self.both += u64::from(gone.len() == 2);
        Ok(())
    }
}

/// BUF-5: fetches, commits and drops at borders: buffers of one packet, of an odd size, and of 62.
#[test]
fn buf_5_random_traffic_is_conserved() -> Result<(), Mismatch> {
    let reached = Reached::begin("prefetch_pool");
    for (seed, size) in [(3, 8_298), (4, 8_403), (5, 8_404), (6, 262_144)] {
        let mut rng = Rng::new(u64::from(seed), "prefetch_pool");
        let mut bench = Bench {
            pair: pair(seed),
            size,
            packets: VecDeque::new(),
            half: false,
            full: 0,
            halves: 0,
            both: 0,
        };
        bench.pair.clock(&Inputs { cfg_prefetch: size, ..Inputs::default() })?;
        for clock in 0..20_000_u64 {
            if clock == 9_000 {
                bench.pair.reset().expect("resets");
                (bench.packets, bench.half) = (VecDeque::new(), false);
                bench.pair.clock(&Inputs { cfg_prefetch: size, ..Inputs::default() })?;
            }
            bench.clock(&mut rng, if clock / 500 % 2 == 0 { 70 } else { 10 })?;
        }
        assert!(bench.full > 20 && bench.halves > 100 && bench.both > 20, "size {size}");
    }
    reached.check();
    Ok(())
}

/// A size that the host lowers below what is held leaves nothing free until enough has gone.
#[test]
fn buf_5_a_size_below_what_is_held() -> Result<(), Mismatch> {
    let mut pair = pair(7);
    let mut i = Inputs { cfg_prefetch: 9_000, ..Inputs::default() };
    pair.clock(&i)?;
    (i.take_valid, i.bytes) = (true, 4_202);
    pair.clock(&i)?;
    i.take_valid = false;
    i.cfg_prefetch = 4_201;
    pair.clock(&i)?;
    assert_eq!(pair.clock(&i)?.free, 0);
    i.commit_valid = true;
    pair.clock(&i)?;
    i.commit_valid = false;
    let out = pair.clock(&i)?;
    assert_eq!((out.free, out.occ, out.half_valid), (4_201, 0, true));
    Ok(())
}
