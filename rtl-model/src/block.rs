//! What every block is: registers, and three phases a clock.

use crate::image::Image;
use crate::sizes::Sizes;

/// A block of the NIC. The implementing type is its registers, the twin of `regs_t`.
///
/// A clock has three phases: every block's `drive`, then every block's `ready` from sink to
/// source, then every block's `clock`. There is no fixpoint: only readys pass through a block.
pub trait Block: Image + Clone {
    /// Input ports, without the `_i`.
    type Inputs: Image + Clone + Default;
    /// Output ports, without the `_o`.
    type Outputs: Image + Clone + Default;

    /// The registers after a reset.
    fn reset(sizes: &Sizes) -> Self;

    /// Sets every output that comes from registers alone: valids, data, events, levels.
    fn drive(&self, o: &mut Self::Outputs);

    /// Sets the outputs that pass through from inputs: readys, and nothing else.
    fn ready(&self, _i: &Self::Inputs, _o: &mut Self::Outputs) {}

    /// The rising edge, in place. `o` is what `drive` and `ready` made of this clock.
    fn clock(&mut self, i: &Self::Inputs, o: &Self::Outputs);

    /// True when `clock` with these inputs leaves every register as it is, so that the block may
    /// be passed over. False is always right, only slower.
    fn idle(&self, _i: &Self::Inputs) -> bool {
        false
    }
}

/// The registers after one more clock, and the outputs of this one; for replay and tests.
pub fn next<B: Block>(regs: &B, i: &B::Inputs) -> (B, B::Outputs) {
    let mut o = B::Outputs::default();
    regs.drive(&mut o);
    regs.ready(i, &mut o);
    let mut after = regs.clone();
    after.clock(i, &o);
    (after, o)
}
