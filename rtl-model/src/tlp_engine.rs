//! Builds the TLPs that the NIC sends: headers of reads, of payload writes and of CQE writes.
//!
//! Twin of `hdl/tlp_engine.sv`. Latency 1 clock, throughput 1 word of 64 B a clock; a read and a
//! CQE write take one clock each. The readys pass through from `tx_ready`.
//!
//! PCI-2, PCI-3, PCI-5, section 13: a header lies beside the data, DW0 in bits 31:0, DW3 zero in
//! the 3-DW form, which addresses below 4 GiB take. A write has tag 0. The cost is the time on the
//! link: a read `cfg_read_request` + `cfg_pcie_overhead` whatever it reads, a write its payload and
//! the overhead, a CQE write 32 B and the overhead with `cfg_cqe_on_link` and else 0.
//!
//! TLPs never interleave. When a read and a write both wait, they alternate, a read first; a clock
//! in which nothing waits forgets whose turn it was. A CQE write goes before a payload write that
//! has not begun, and in its turn. A write whose payload does not fit into the `tx_free`
//! units of the transmit buffer leaves its turn to the reads, which need no room for payload
//! (PCI-4): so no read stands behind a write that waits.
//!
//! Borders: 1 DW and 2 DWs, offsets 0 to 3 (case 25); 1,024 DWs, whose length field is 0 (case 3);
//! 4 GiB; a write of 1 word, of several, of 129 DWs; all three sources waiting at once. The
//! address of a CQE is on a DW; bits 1:0 of it are taken as zero.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::Wide;
use crate::sizes::Sizes;
use crate::types::Word;

/// Bytes of a CQE.
pub const CQE_BYTES: u16 = 32;

/// `tx_kind` of a read.
pub const READ: u8 = 0;
/// `tx_kind` of a payload write.
pub const WRITE: u8 = 1;
/// `tx_kind` of a CQE write.
pub const CQE: u8 = 2;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Inputs {
    /// Requester ID, from `csr`.
    pub cfg_rid: u16,
    /// CQE writes cost link time, from `csr`.
    pub cfg_cqe_on_link: bool,
    /// Bytes of time that a TLP costs beside its payload, from `csr`. PCI-3.
    pub cfg_pcie_overhead: u8,
    /// Bytes of time that a read costs beside that, from `csr`. PCI-3.
    #[bits(10)]
    pub cfg_read_request: u16,
    /// A read, from `payload_fetch`.
    pub rd_valid: bool,
    /// Where it reads.
    pub rd_addr: u64,
    /// 1 to 4,096 B, within a page of 4 KiB.
    #[bits(13)]
    pub rd_len: u16,
    /// Its tag.
    pub rd_tag: u8,
    /// A word of a payload write, from `payload_write`.
    pub wr_valid: bool,
    /// The first of its TLP.
    pub wr_first: bool,
    /// The last of its TLP.
    pub wr_last: bool,
    /// Where the TLP writes.
    pub wr_addr: u64,
    /// 1 to 512 B in the TLP.
    #[bits(10)]
    pub wr_len: u16,
    /// The word; byte 0 of the first one is that of the first DW.
    pub wr_data: Word,
    /// A CQE, from `completion`.
    pub cqe_valid: bool,
    /// Where it goes.
    pub cqe_addr: u64,
    /// Its bytes.
    pub cqe_data: Wide<4>,
    /// From `pcie_link`.
    pub tx_ready: bool,
    /// Units of 16 B for payload in the transmit buffer, before the word that waits.
    #[bits(28)]
    pub tx_free: u32,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Outputs {
    /// To `payload_fetch`.
    pub rd_ready: bool,
    /// To `payload_write`.
    pub wr_ready: bool,
    /// To `completion`.
    pub cqe_ready: bool,
    /// A word of a TLP, to `pcie_link`.
    pub tx_valid: bool,
    /// The first of its TLP.
    pub tx_first: bool,
    /// The last of its TLP.
    pub tx_last: bool,
    /// 0 read, 1 payload write, 2 CQE write.
    #[bits(2)]
    pub tx_kind: u8,
    /// The TLP's header.
    pub tx_hdr: Wide<2>,
    /// Payload DWs.
    #[bits(10)]
    pub tx_dws: u16,
    /// Bytes of time on the link.
    #[bits(13)]
    pub tx_cost: u16,
    /// The word.
    pub tx_data: Word,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A word waits for `pcie_link`.
    pub valid: bool,
    /// The first of its TLP.
    pub first: bool,
    /// The last of its TLP.
    pub last: bool,
    /// What the TLP is.
    #[bits(2)]
    pub kind: u8,
    /// Its header.
    pub hdr: Wide<2>,
    /// Its payload DWs.
    #[bits(10)]
    pub dws: u16,
    /// Its cost.
    #[bits(13)]
    pub cost: u16,
    /// The word; zero in a read.
    pub data: Word,
    /// A payload write has begun and not ended.
    pub open: bool,
    /// The last TLP begun was a read.
    pub read_last: bool,
}

/// A memory request's header for the bytes from `addr` on, and the DWs that they touch.
fn request(write: bool, addr: u64, len: u16, tag: u8, rid: u16) -> (Wide<2>, u16) {
    let first_byte = addr % 4;
    let end = first_byte + u64::from(len); // past the last byte, from the first DW on
    let dws = end.div_ceil(4);
    // One bit a byte of the first and the last DW, as if they were two.
    let mut first_be = 0xf << first_byte & 0xf;
    let mut last_be = 0xf >> (dws * 4 - end);
    if dws == 1 {
        first_be &= last_be;
        last_be = 0;
    }
    let far = addr >> 32 != 0;
    let dw0 = u64::from(write) << 30 | u64::from(far) << 29 | (dws % 1024);
    let dw1 = u64::from(rid) << 16 | u64::from(tag) << 8 | last_be << 4 | first_be;
    let low = addr & 0xffff_fffc;
    let address = if far { low << 32 | addr >> 32 } else { low };
    (Wide([dw1 << 32 | dw0, address]), dws as u16)
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        o.tx_valid = self.valid;
        o.tx_first = self.first;
        o.tx_last = self.last;
        o.tx_kind = self.kind;
        o.tx_hdr = self.hdr;
        o.tx_dws = self.dws;
        o.tx_cost = self.cost;
        o.tx_data = self.data;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let free = i.tx_ready || !self.valid;
        let start = free && !self.open;
        let (wr_fits, cqe_fits) = self.fits(i);
        let write_turn = !i.rd_valid || self.read_last;
        o.rd_ready = start && !((wr_fits || cqe_fits) && self.read_last);
        o.cqe_ready = start && write_turn && cqe_fits;
        o.wr_ready = free && (self.open || write_turn && wr_fits);
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        if !self.open && !i.rd_valid && !i.wr_valid && !i.cqe_valid {
            self.read_last = false;
        }
        if self.valid && !i.tx_ready {
            return;
        }
        self.valid = true;
        let overhead = u16::from(i.cfg_pcie_overhead);
        if i.rd_valid && o.rd_ready {
            let (hdr, _) = request(false, i.rd_addr, i.rd_len, i.rd_tag, i.cfg_rid);
            self.begin(READ, hdr, 0, i.cfg_read_request + overhead);
            self.data = Wide::ZERO;
        } else if i.cqe_valid && o.cqe_ready {
            let (hdr, dws) = request(true, i.cqe_addr & !3, CQE_BYTES, 0, i.cfg_rid);
            let cost = if i.cfg_cqe_on_link { CQE_BYTES + overhead } else { 0 };
            self.begin(CQE, hdr, dws, cost);
            self.data = Wide::ZERO;
            self.data.0[..4].copy_from_slice(&i.cqe_data.0);
        } else if i.wr_valid && o.wr_ready {
            if i.wr_first {
                let (hdr, dws) = request(true, i.wr_addr, i.wr_len, 0, i.cfg_rid);
                self.begin(WRITE, hdr, dws, i.wr_len + overhead);
            }
            self.kind = WRITE;
            self.first = i.wr_first;
            self.last = i.wr_last;
            self.data = i.wr_data;
            self.open = !i.wr_last;
        } else {
            self.valid = false;
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let (wr_fits, cqe_fits) = self.fits(i);
        let held = (i.wr_valid || i.cqe_valid) && !(self.open && i.wr_valid);
        let held = held && !i.rd_valid && !wr_fits && !cqe_fits;
        let waits = self.valid && !i.tx_ready || !self.valid && held;
        let nothing = !i.rd_valid && !i.wr_valid && !i.cqe_valid;
        let forgets = self.read_last && !self.open && nothing;
        !forgets && (waits || nothing && !self.valid)
    }
}

/// Units of 16 B that so many DWs take. PCI-4.
fn units_of(dws: u64) -> u32 {
    dws.div_ceil(4) as u32
}

impl Regs {
    /// A payload write waits, behind no CQE, and has room; a CQE waits and has room.
    fn fits(&self, i: &Inputs) -> (bool, bool) {
        let pending = if self.valid && self.first { units_of(self.dws.into()) } else { 0 };
        let room = i.tx_free.saturating_sub(pending);
        let dws = (i.wr_addr % 4 + u64::from(i.wr_len)).div_ceil(4);
        let wr = i.wr_valid && !i.cqe_valid && room >= units_of(dws);
        (wr, i.cqe_valid && room >= units_of(u64::from(CQE_BYTES) / 4))
    }

    /// A payload write or a CQE waits for room in the transmit buffer.
    pub fn short_of_room(&self, i: &Inputs) -> bool {
        let (wr, cqe) = self.fits(i);
        !self.open && (i.cqe_valid && !cqe || i.wr_valid && !i.cqe_valid && !wr)
    }

    /// A TLP of one word; a longer write corrects `last`.
    fn begin(&mut self, kind: u8, hdr: Wide<2>, dws: u16, cost: u16) {
        self.first = true;
        self.last = true;
        self.kind = kind;
        self.hdr = hdr;
        self.dws = dws;
        self.cost = cost;
        self.read_last = kind == READ;
    }
}
