//! FIFO over a memory: a `ram_1r1w` stands beside it, the two oldest entries lie in flops.
//!
//! Twin of `hdl/ram_fifo.sv`. Latency 1 clock when empty: an entry that finds no older one in the
//! memory and a free place in the output stage goes there at once. Throughput 1 in and 1 out a
//! clock at every level; when full it is not ready, also in a clock in which it pops.
//!
//! `ram_we`, `ram_wdata` and `ram_re` depend on this clock's inputs: an entry is written to the
//! memory in the clock in which it comes, and read once the output stage has a place for it, which
//! counts the entry that leaves in that clock. `ram_wdata` is zero without a write. No word is
//! read before the clock after its write.
//!
//! Borders: the output stage with 0, 1 and 2 entries, with and without a read under way; depth − 1
//! and depth entries; the wrap of both pointers; depth 1 (case 21). The depth is any from 1 up.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BadBits, Field, Image, Item, Reader, Writer};
use crate::sizes::Sizes;

/// Depth where none is asked for, as the RTL's parameter.
const DEPTH: u32 = 16;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Inputs<T: Item> {
    /// An entry comes.
    pub in_valid: bool,
    /// The entry.
    pub in_data: T,
    /// The oldest entry is taken.
    pub out_ready: bool,
    /// The word read in the last clock that read one.
    pub ram_rdata: T,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Outputs<T: Item> {
    /// There is a place for an entry.
    pub in_ready: bool,
    /// There is an entry.
    pub out_valid: bool,
    /// The oldest entry.
    pub out_data: T,
    /// Write this clock.
    pub ram_we: bool,
    /// Word to write.
    pub ram_waddr: u32,
    /// What to write.
    pub ram_wdata: T,
    /// Read this clock.
    pub ram_re: bool,
    /// Word to read.
    pub ram_raddr: u32,
    /// Entries held, wherever they are.
    pub level: u32,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order, and the depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RamFifo<T: Item + Clone + Default> {
    /// Output stage, the oldest entry first.
    pub items: [T; 2],
    /// Entries in it.
    pub held: u8,
    /// `ram_rdata` carries the next entry for it.
    pub reading: bool,
    /// Oldest entry in the memory that is not read.
    pub head: u32,
    /// Free word.
    pub tail: u32,
    /// Entries in all.
    pub level: u32,
    /// Words of the memory; a parameter, no register.
    depth: u32,
}

impl<T: Item + Clone + Default> RamFifo<T> {
    /// An empty FIFO for `depth` entries.
    ///
    /// # Panics
    /// When the depth is 0.
    pub fn new(depth: u32) -> Self {
        assert!(depth > 0, "a ram_fifo has at least one place");
        Self {
            items: [T::default(), T::default()],
            held: 0,
            reading: false,
            head: 0,
            tail: 0,
            level: 0,
            depth,
        }
    }

    /// Words of the memory beside it.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Entries that the output stage holds after this clock, the one being read included, without
    /// one that comes now.
    fn sure(&self, pops: bool) -> u8 {
        self.held - u8::from(pops) + u8::from(self.reading)
    }

    /// The memory holds entries that are not read.
    fn stored(&self) -> bool {
        self.level != u32::from(self.held) + u32::from(self.reading)
    }

    fn after(&self, place: u32) -> u32 {
        if place + 1 == self.depth { 0 } else { place + 1 }
    }
}

/// By hand, since the depth is no register.
impl<T: Item + Clone + Default> Image for RamFifo<T> {
    fn layout(&self, out: &mut Vec<Field>) {
        self.items.layout("items", 0, out);
        self.held.layout("held", 2, out);
        self.reading.layout("reading", 0, out);
        self.head.layout("head", 0, out);
        self.tail.layout("tail", 0, out);
        self.level.layout("level", 0, out);
    }

    fn write(&self, out: &mut Writer<'_>) {
        self.items.write(out);
        self.held.write(out);
        self.reading.write(out);
        self.head.write(out);
        self.tail.write(out);
        self.level.write(out);
    }

    fn read(&mut self, words: &mut Reader<'_>) -> Result<(), BadBits> {
        self.items.read(0, words).map_err(|e| e.field("items"))?;
        self.held.read(2, words).map_err(|e| e.field("held"))?;
        self.reading.read(0, words).map_err(|e| e.field("reading"))?;
        self.head.read(0, words).map_err(|e| e.field("head"))?;
        self.tail.read(0, words).map_err(|e| e.field("tail"))?;
        self.level.read(0, words).map_err(|e| e.field("level"))
    }
}

impl<T: Item + Clone + Default> Block for RamFifo<T> {
    type Inputs = Inputs<T>;
    type Outputs = Outputs<T>;

    fn reset(_sizes: &Sizes) -> Self {
        Self::new(DEPTH)
    }

    fn drive(&self, o: &mut Self::Outputs) {
        o.in_ready = self.level < self.depth;
        o.out_valid = self.held > 0;
        o.out_data.clone_from(&self.items[0]);
        o.ram_waddr = self.tail;
        o.ram_raddr = self.head;
        o.level = self.level;
    }

    fn ready(&self, i: &Self::Inputs, o: &mut Self::Outputs) {
        let place = self.sure(self.held > 0 && i.out_ready) < 2;
        let stored = self.stored();
        let wrote = o.ram_we;
        o.ram_re = stored && place;
        o.ram_we = i.in_valid && self.level < self.depth && (stored || !place);
        if o.ram_we {
            o.ram_wdata.clone_from(&i.in_data);
        } else if wrote {
            o.ram_wdata = T::default();
        }
    }

    fn clock(&mut self, i: &Self::Inputs, o: &Self::Outputs) {
        let pops = o.out_valid && i.out_ready;
        let pushes = i.in_valid && o.in_ready;
        let mut at = self.held;
        if pops {
            let [first, second] = &mut self.items;
            first.clone_from(second);
            at -= 1;
        }
        if self.reading {
            self.items[usize::from(at)].clone_from(&i.ram_rdata);
            at += 1;
        }
        if pushes && !o.ram_we {
            self.items[usize::from(at)].clone_from(&i.in_data);
            at += 1;
        }
        self.held = at;
        self.reading = o.ram_re;
        if o.ram_we {
            self.tail = self.after(self.tail);
        }
        if o.ram_re {
            self.head = self.after(self.head);
        }
        self.level = self.level + u32::from(pushes) - u32::from(pops);
    }

    fn idle(&self, i: &Self::Inputs) -> bool {
        let pushes = i.in_valid && self.level < self.depth;
        let pops = i.out_ready && self.held > 0;
        !pushes && !pops && !self.reading && (self.held == 2 || !self.stored())
    }
}
