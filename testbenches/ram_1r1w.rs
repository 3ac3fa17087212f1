//! `ram_1r1w`: the memory cell and its twin, read register and whole contents.

use derive::Image;
use rtl_model::block::Block;
use rtl_model::image::{BadBits, Field, Image, Item, Reader, Writer};
use rtl_model::ram_1r1w::{Inputs, Ram};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Setup, Sizes, Start, Table};

/// Words in the cell under test.
const DEPTH: usize = 32;

/// The cell as a block: its register is `rdata`, its words are loaded and read in bulk.
#[derive(Clone)]
struct Cell(Ram<u64>);

#[derive(Clone, Default, Image)]
struct Outputs {
    rdata: u64,
}

impl Image for Cell {
    fn layout(&self, out: &mut Vec<Field>) {
        self.0.rdata.layout("rdata", 0, out);
    }
    fn write(&self, out: &mut Writer<'_>) {
        self.0.rdata.write(out);
    }
    fn read(&mut self, words: &mut Reader<'_>) -> Result<(), BadBits> {
        self.0.rdata.read(0, words)
    }
}

impl Block for Cell {
    type Inputs = Inputs<u64>;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        let mut ram = Ram::new(DEPTH);
        ram.randomize(&mut Rng::new(0x5eed, "contents"));
        Self(ram)
    }

    fn drive(&self, o: &mut Outputs) {
        o.rdata = self.0.rdata;
    }

    fn clock(&mut self, i: &Inputs<u64>, _o: &Outputs) {
        self.0.clock(i);
    }

    fn idle(&self, i: &Inputs<u64>) -> bool {
        !i.we && !i.re
    }
}

fn loaded() -> Lockstep<Cell> {
    let setup = Setup::new("ram_1r1w", &Sizes::DEFAULT, Start::Random(1))
        .parameter("WIDTH", 64)
        .parameter("DEPTH", DEPTH as u64);
    let mut pair = Lockstep::<Cell>::with(setup).expect("builds");
    let words = pair.regs().0.dump();
    pair.rtl().load_memory(0, &words).expect("fits");
    pair
}

#[test]
fn old_word_first() -> Result<(), Mismatch> {
    let mut pair = loaded();
    for row in Table::read("ram_1r1w/old_word_first.txt") {
        let out = pair.clock(&Inputs {
            we: row.bit("we"),
            waddr: row.hex("waddr") as u32,
            wdata: row.hex("wdata"),
            re: row.bit("re"),
            raddr: row.hex("raddr") as u32,
        })?;
        row.expect("rdata", format!("{:016x}", out.rdata));
    }
    Ok(())
}

#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("ram_1r1w");
    let mut rng = Rng::new(0x5eed, "ram_1r1w");
    let mut pair = loaded();
    for _ in 0..100_000 {
        let waddr = rng.below(DEPTH as u64) as u32;
        // Half of all reads are of the word being written.
        let raddr = if rng.percent(50) { waddr } else { rng.below(DEPTH as u64) as u32 };
        pair.clock(&Inputs {
            we: rng.percent(60),
            waddr,
            wdata: rng.bits(),
            re: rng.percent(60),
            raddr,
        })?;
    }
    let words = pair.regs().0.dump();
    assert_eq!(pair.rtl().read_memory(0), words, "whole contents");
    reached.check();
    Ok(())
}

#[test]
fn a_read_of_the_word_being_written_gives_the_old_one() -> Result<(), Mismatch> {
    let mut pair = loaded();
    let old = *pair.regs().0.peek(3);
    pair.clock(&Inputs { we: true, waddr: 3, wdata: !old, re: true, raddr: 3 })?;
    assert_eq!(pair.clock(&Inputs { re: true, raddr: 3, ..Inputs::default() })?.rdata, old);
    assert_eq!(pair.clock(&Inputs::default())?.rdata, !old);
    assert_eq!(pair.clock(&Inputs::default())?.rdata, !old, "held");
    Ok(())
}
