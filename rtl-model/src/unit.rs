//! What a unit is: blocks and memories with the wires between them, the twin of a top module.

use crate::image::Image;
use crate::rng::Rng;
use crate::sizes::Sizes;

/// Takes an instance: name in the RTL, outputs, registers.
pub type See<'a> = dyn FnMut(&str, &dyn Image, &dyn Image) + 'a;

/// Blocks, memories and wires. A clock is `drive`, `ready`, `clock`, as a block's is.
pub trait Unit: Clone {
    /// Input ports, without the `_i`.
    type Inputs: Image + Clone + Default;
    /// Output ports, without the `_o`.
    type Outputs: Image + Clone + Default;
    /// The top module.
    const TOP: &'static str;

    /// After a reset, memories all zeros.
    fn reset(sizes: &Sizes) -> Self;

    /// Draws the words of all memories.
    fn randomize(&mut self, rng: &mut Rng);

    /// First phase: every output that comes from registers alone, and the inputs that follow.
    fn drive(&mut self);

    /// Second phase: the ports, and what passes through from inputs.
    fn ready(&mut self, ports: &Self::Inputs);

    /// Third phase: the rising edge.
    fn clock(&mut self, ports: &Self::Inputs);

    /// The output ports in this clock.
    fn ports(&self) -> Self::Outputs;

    /// Shows every instance but the unit itself.
    fn instances(&self, see: &mut See<'_>);

    /// Shows the whole contents of every memory: name in the RTL, words.
    fn memories(&self, see: &mut dyn FnMut(&str, Vec<u32>));
}
