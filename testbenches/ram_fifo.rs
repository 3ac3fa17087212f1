//! `ram_fifo`: model and RTL agree on every clock, and both with a plain queue (case 21).

use std::collections::VecDeque;

use rtl_model::block::Block;
use rtl_model::image::{BadBits, Field, Image, Reader, Writer};
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::ram_fifo::{Inputs, Outputs, RamFifo};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Setup, Sizes, Start, Table};

/// How often the producer has an entry and the consumer takes one, in percent, for some clocks
/// each: full, empty, and everything between.
const PHASES: [(u64, u64); 8] =
    [(100, 100), (75, 0), (75, 25), (25, 75), (0, 75), (100, 50), (50, 100), (75, 75)];

/// The cell for `D` entries, as a bench builds it.
#[derive(Clone)]
struct Fifo<const D: u32>(RamFifo<u64>);

impl<const D: u32> Image for Fifo<D> {
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

impl<const D: u32> Block for Fifo<D> {
    type Inputs = Inputs<u64>;
    type Outputs = Outputs<u64>;

    fn reset(_sizes: &Sizes) -> Self {
        Self(RamFifo::new(D))
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

/// The cell and the memory beside it.
struct Bench<const D: u32> {
    pair: Lockstep<Fifo<D>>,
    ram: Ram<u64>,
}

impl<const D: u32> Bench<D> {
    fn after_reset(seed: u32) -> Self {
        let setup = Setup::new("ram_fifo", &Sizes::DEFAULT, Start::Random(seed))
            .parameter("WIDTH", 64)
            .parameter("DEPTH", u64::from(D));
        let mut ram = Ram::new(D as usize);
        ram.randomize(&mut Rng::new(seed.into(), "contents"));
        Self { pair: Lockstep::with(setup).expect("builds"), ram }
    }

    fn clock(&mut self, in_data: Option<u64>, out_ready: bool) -> Result<Outputs<u64>, Mismatch> {
        let out = self.pair.clock(&Inputs {
            in_valid: in_data.is_some(),
            in_data: in_data.unwrap_or(0xdead),
            out_ready,
            ram_rdata: self.ram.rdata,
        })?;
        self.ram.clock(&ram_1r1w::Inputs {
            we: out.ram_we,
            waddr: out.ram_waddr,
            wdata: out.ram_wdata,
            re: out.ram_re,
            raddr: out.ram_raddr,
        });
        Ok(out)
    }
}

#[test]
fn entries_go_past_the_memory_or_through_it() -> Result<(), Mismatch> {
    let mut bench = Bench::<4>::after_reset(1);
    for row in Table::read("ram_fifo/past_the_memory_or_through_it.txt") {
        let in_data = row.bit("in_valid").then(|| row.hex("in_data"));
        let out = bench.clock(in_data, row.bit("out_ready"))?;
        row.expect("in_ready", u8::from(out.in_ready));
        row.expect("out_valid", u8::from(out.out_valid));
        row.expect("out_data", format!("{:x}", out.out_data));
        row.expect("ram_we", u8::from(out.ram_we));
        row.expect("ram_re", u8::from(out.ram_re));
        row.expect("level", out.level);
    }
    Ok(())
}

fn agrees_with_a_queue<const D: u32>(seed: u32) -> Result<(), Mismatch> {
    let mut rng = Rng::new(seed.into(), "ram_fifo");
    let mut bench = Bench::<D>::after_reset(seed);
    let mut queue = VecDeque::new();
    let mut waiting = None; // an entry stays until the cell takes it
    for clock in 0..12_000 {
        let (fill, drain) = PHASES[clock / (20 + 2 * D as usize) % PHASES.len()];
        if waiting.is_none() && rng.percent(fill) {
            waiting = Some(rng.bits());
        }
        let out_ready = rng.percent(drain);
        let out = bench.clock(waiting, out_ready)?;
        // An entry shows in the clock after it came, if none is older: at every level.
        assert_eq!(out.in_ready, queue.len() < D as usize, "ready, with {} entries", queue.len());
        assert_eq!(out.out_valid.then_some(out.out_data), queue.front().copied());
        assert_eq!(out.level as usize, queue.len());
        if out.out_valid && out_ready {
            queue.pop_front();
        }
        if out.in_ready {
            queue.extend(waiting.take());
        }
        if rng.below(2_000) == 0 {
            bench.pair.reset().expect("resets");
            queue.clear();
        }
    }
    Ok(())
}

#[test]
fn depths_1_2_3_4_are_queues() -> Result<(), Mismatch> {
    let reached = Reached::begin("ram_fifo");
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
fn a_deep_one_is_a_queue() -> Result<(), Mismatch> {
    agrees_with_a_queue::<37>(3)?;
    agrees_with_a_queue::<128>(4)
}
