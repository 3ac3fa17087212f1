//! Small FIFO in flops: a stream goes in, the same stream comes out.
//!
//! Twin of `hdl/stream_fifo.sv`. Latency 1 clock; throughput 1 entry a clock from depth 2 up, and
//! one every second clock at depth 1: a full FIFO is not ready, also in a clock in which it pops.
//! Neither valid nor ready passes through, so that it cuts every path between its two sides.
//!
//! Borders: empty and full, push and pop in one clock at 1 and at depth − 1 entries, the wrap of
//! the head; depth 1 (case 21). The depth is 1 to 255.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::Item;
use crate::sizes::Sizes;

/// Depth where none is asked for, as the RTL's parameter.
const DEPTH: usize = 4;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Inputs<T: Item> {
    /// An entry comes.
    pub in_valid: bool,
    /// The entry.
    pub in_data: T,
    /// The oldest entry is taken.
    pub out_ready: bool,
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
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct StreamFifo<T: Item + Clone + Default> {
    /// The entries' places.
    pub items: Vec<T>,
    /// The oldest entry's place.
    pub head: u8,
    /// Entries held.
    pub count: u8,
}

impl<T: Item + Clone + Default> StreamFifo<T> {
    /// An empty FIFO with `depth` places.
    ///
    /// # Panics
    /// When the depth is not 1 to 255.
    pub fn new(depth: usize) -> Self {
        assert!((1..=255).contains(&depth), "a stream_fifo has 1 to 255 places, not {depth}");
        Self { items: vec![T::default(); depth], head: 0, count: 0 }
    }
}

impl<T: Item + Clone + Default> Block for StreamFifo<T> {
    type Inputs = Inputs<T>;
    type Outputs = Outputs<T>;

    fn reset(_sizes: &Sizes) -> Self {
        Self::new(DEPTH)
    }

    fn drive(&self, o: &mut Self::Outputs) {
        o.in_ready = usize::from(self.count) < self.items.len();
        o.out_valid = self.count > 0;
        o.out_data.clone_from(&self.items[usize::from(self.head)]);
    }

    fn clock(&mut self, i: &Self::Inputs, o: &Self::Outputs) {
        let depth = self.items.len();
        if i.in_valid && o.in_ready {
            let end = usize::from(self.head) + usize::from(self.count);
            self.items[if end < depth { end } else { end - depth }].clone_from(&i.in_data);
            self.count += 1;
        }
        if o.out_valid && i.out_ready {
            let next = usize::from(self.head) + 1;
            self.head = if next == depth { 0 } else { next as u8 };
            self.count -= 1;
        }
    }

    fn idle(&self, i: &Self::Inputs) -> bool {
        let takes = i.in_valid && usize::from(self.count) < self.items.len();
        let gives = i.out_ready && self.count > 0;
        !takes && !gives
    }
}
