//! Prefetch pool: what the prefetch buffer holds of payloads fetched and not yet committed.
//!
//! Twin of `hdl/prefetch_pool.sv`. Latency 1 clock from an event to `free`, `occ` and `half_valid`;
//! throughput an event of each kind a clock.
//!
//! BUF-5: a packet takes its size on the wire when the fetch of its payload is issued, and gives it
//! back when it is committed to the wire or comes to nothing. SEG-4: a release that leaves
//! 2 × occupancy ≤ size may begin a pass. Section 16: of one clock's events the releases come
//! first, so what is taken in the same clock does not count against half.
//!
//! Borders and choices:
//! - A commit and a drop may come in one clock.
//! - Twice the occupancy equal to the size is half.
//! - Free bytes are a register: one clock behind a change of the size, 0 where it holds more.
//! - Without a prefetch buffer nothing comes here, and the pool stays empty.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::sizes::Sizes;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `tx_scheduler`: a fetch has been issued.
    pub take_valid: bool,
    /// From `tx_scheduler`: a packet has been committed to the wire.
    pub commit_valid: bool,
    /// Bytes of either on the wire.
    #[bits(14)]
    pub bytes: u16,
    /// From `qp_drain`: a fetch has come to nothing.
    pub drop_valid: bool,
    /// Its packet's bytes on the wire.
    #[bits(14)]
    pub drop_bytes: u16,
    /// From `csr`: its size.
    pub cfg_prefetch: u32,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `tx_scheduler`: bytes left.
    pub free: u32,
    /// To `tx_scheduler`: a release has left 2 × occupancy ≤ size.
    pub half_valid: bool,
    /// Bytes held.
    pub occ: u32,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// Bytes held.
    pub occ: u32,
    /// The rest of the size.
    pub free: u32,
    /// A release has left half or less.
    pub half: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_: &Sizes) -> Self {
        Self { occ: 0, free: 0, half: false }
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs { free: self.free, half_valid: self.half, occ: self.occ };
    }

    fn clock(&mut self, i: &Inputs, _: &Outputs) {
        if i.commit_valid {
            self.occ = self.occ.wrapping_sub(i.bytes.into());
        }
        if i.drop_valid {
            self.occ = self.occ.wrapping_sub(i.drop_bytes.into());
        }
        let released = i.commit_valid || i.drop_valid;
        self.half = released && 2 * u64::from(self.occ) <= u64::from(i.cfg_prefetch);
        if i.take_valid {
            self.occ = self.occ.wrapping_add(i.bytes.into());
        }
        self.free = i.cfg_prefetch.saturating_sub(self.occ);
    }

    fn idle(&self, i: &Inputs) -> bool {
        !(self.half || i.take_valid || i.commit_valid || i.drop_valid)
            && self.free == i.cfg_prefetch.saturating_sub(self.occ)
    }
}
