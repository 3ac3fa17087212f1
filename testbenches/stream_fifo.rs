//! `stream_fifo`: model and RTL agree on every clock, and both with a plain queue (case 21).

use std::collections::VecDeque;

use rtl_model::block::Block;
use rtl_model::image::{BadBits, Field, Image, Reader, Writer};
use rtl_model::stream_fifo::{Inputs, Outputs, StreamFifo};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Setup, Sizes, Start, Table};

/// How often the producer has an entry and the consumer takes one, in percent, for some clocks
/// each: full, empty, and everything between.
const PHASES: [(u64, u64); 8] =
    [(100, 100), (75, 0), (75, 25), (25, 75), (0, 75), (100, 50), (50, 100), (75, 75)];

/// The cell with `D` places, as a bench builds it.
#[derive(Clone)]
struct Fifo<const D: usize>(StreamFifo<u64>);

impl<const D: usize> Image for Fifo<D> {
    fn layout(&self, out: &mut Vec<Field>) {
        self.0.layout(out);
    }
    fn write(&self, out: &mut Writer<'_>) {
        self.0.write(out);
    }
    fn read(&mut self, words: &mut Reader<'_>) -> Result<(), BadBits> {
        self.0.read(words)
    }
}

impl<const D: usize> Block for Fifo<D> {
    type Inputs = Inputs<u64>;
    type Outputs = Outputs<u64>;

    fn reset(_sizes: &Sizes) -> Self {
        Self(StreamFifo::new(D))
    }
    fn drive(&self, o: &mut Self::Outputs) {
        self.0.drive(o);
    }
    fn ready(&self, i: &Self::Inputs, o: &mut Self::Outputs) {
        self.0.ready(i, o);
    }
    fn clock(&mut self, i: &Self::Inputs, o: &Self::Outputs) {
        self.0.clock(i, o);
    }
    fn idle(&self, i: &Self::Inputs) -> bool {
        self.0.idle(i)
    }
}

fn after_reset<const D: usize>(seed: u32) -> Lockstep<Fifo<D>> {
    let setup = Setup::new("stream_fifo", &Sizes::DEFAULT, Start::Random(seed))
        .parameter("WIDTH", 64)
        .parameter("DEPTH", D as u64);
    Lockstep::with(setup).expect("builds")
}

#[test]
fn a_full_one_that_pops_is_not_ready() -> Result<(), Mismatch> {
    let mut pair = after_reset::<2>(1);
    for row in Table::read("stream_fifo/full_one_that_pops_is_not_ready.txt") {
        let out = pair.clock(&Inputs {
            in_valid: row.bit("in_valid"),
            in_data: row.hex("in_data"),
            out_ready: row.bit("out_ready"),
        })?;
        row.expect("in_ready", u8::from(out.in_ready));
        row.expect("out_valid", u8::from(out.out_valid));
        row.expect("out_data", format!("{:x}", out.out_data));
    }
    Ok(())
}

fn agrees_with_a_queue<const D: usize>(seed: u32) -> Result<(), Mismatch> {
    let mut rng = Rng::new(seed.into(), "stream_fifo");
    let mut pair = after_reset::<D>(seed);
    let mut queue = VecDeque::new();
    let mut waiting = None; // an entry stays until the cell takes it
    for clock in 0..12_000 {
        let (fill, drain) = PHASES[clock / 50 % PHASES.len()];
        if waiting.is_none() && rng.percent(fill) {
            waiting = Some(rng.bits());
        }
        let i = Inputs {
            in_valid: waiting.is_some(),
            in_data: waiting.unwrap_or_else(|| rng.bits()),
            out_ready: rng.percent(drain),
        };
        let out = pair.clock(&i)?;
        assert_eq!(out.in_ready, queue.len() < D, "ready, with {} entries", queue.len());
        assert_eq!(out.out_valid.then_some(out.out_data), queue.front().copied());
        if out.out_valid && i.out_ready {
            queue.pop_front();
        }
        if i.in_valid && out.in_ready {
            queue.extend(waiting.take());
        }
        if rng.below(2_000) == 0 {
            pair.reset().expect("resets");
            queue.clear();
        }
    }
    Ok(())
}

#[test]
fn depths_1_2_3_4_are_queues() -> Result<(), Mismatch> {
    let reached = Reached::begin("stream_fifo");
    for seed in 1..=2 {
        agrees_with_a_queue::<1>(seed)?;
        agrees_with_a_queue::<2>(seed)?;
        agrees_with_a_queue::<3>(seed)?;
        agrees_with_a_queue::<4>(seed)?;
    }
    reached.check();
    Ok(())
}

#[test]
fn depths_of_a_byte_are_queues() -> Result<(), Mismatch> {
    agrees_with_a_queue::<16>(3)?;
    agrees_with_a_queue::<255>(4)
}
