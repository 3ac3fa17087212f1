//! What host and NIC share: BAR pages, work requests, completion entries, registers.
//!
//! Twin of `hdl/host_pkg.sv`; `docs/host-interface.md` is the same as tables. All fields are
//! little-endian. Nothing here is a block: `csr`, `doorbell`, `completion` and the host's side of
//! the environment all read these layouts.

use serde::{Deserialize, Serialize};

use crate::image::Wide;
use crate::types::{Cqe, Qpn, Refuse};

/// Bytes of the BAR; address bits above are the host's choice.
pub const BAR_BYTES: u64 = 0x1_0000;
/// Where the register page starts in the BAR: 8 B a register, at 8 times its index.
pub const REGISTER_PAGE: u64 = 0x0000;
/// Where the doorbell page starts in the BAR. Each 64 B of it take a work request.
pub const DOORBELL_PAGE: u64 = 0x1000;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 0x1000;

/// Bytes of a work request.
pub const WQE_BYTES: usize = 64;
/// Bytes of a completion entry.
pub const CQE_BYTES: usize = 32;
/// The longest message, in bytes.
pub const MAX_LENGTH: u32 = 0x7fff_ffff;

/// Opcode: an RDMA Write (QP-2).
pub const OP_WRITE: u8 = 1;
/// Opcode: close the sender side of a QP (QP-5).
pub const OP_CLOSE_SENDER: u8 = 2;
/// Opcode: close the receiver side of a QP (QP-5).
pub const OP_CLOSE_RECEIVER: u8 = 3;
/// Flag: open a new QP for this message.
pub const FLAG_OPEN: u8 = 1;

/// Bits that must be zero in a write to an open QP, as eight words.
pub const RESERVED_POST: [u64; 8] =
    [0xff00_0000_ffff_fe00, 0x0000_0000_ffff_ff00, 0, 0, 0xffff_ffff_0000_0000, 0, !0, !0];
/// Bits that must be zero in a write that opens its QP: the QP number too.
pub const RESERVED_OPEN: [u64; 8] =
    [0xffff_ffff_ffff_fe00, 0x0000_0000_ffff_ff00, 0, 0, 0xffff_ffff_0000_0000, 0, !0, !0];
/// Bits that must be zero in a close: all but opcode, QP number and cookie.
pub const RESERVED_CLOSE: [u64; 8] = [0xff00_0000_ffff_ff00, !0, !0, !0, !0, 0, !0, !0];

/// A work request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Wqe {
    /// Byte 0: what to do.
    pub opcode: u8,
    /// Byte 1, bit 0: open a new QP.
    pub open: bool,
    /// Bytes 4–6: the QP; 0 where it is to be opened.
    pub qpn: Qpn,
    /// Byte 8: index of the destination.
    pub dest: u8,
    /// Bytes 12–15: bytes of the message.
    pub length: u32,
    /// Bytes 16–23: where the payload lies in host memory.
    pub laddr: u64,
    /// Bytes 24–31: where it goes at the peer.
    pub raddr: u64,
    /// Bytes 32–35: remote key.
    pub rkey: u32,
    /// Bytes 40–47: returned in the completions.
    pub cookie: u64,
}

impl Wqe {
    /// A request to close the sender side of `qpn`.
    pub fn close_sender(qpn: Qpn) -> Self {
        Self { opcode: OP_CLOSE_SENDER, qpn, ..Self::default() }
    }

    /// A request to close the receiver side of `qpn`.
    pub fn close_receiver(qpn: Qpn) -> Self {
        Self { opcode: OP_CLOSE_RECEIVER, qpn, ..Self::default() }
    }

    /// The 64 bytes that the host writes.
    pub fn to_bytes(&self) -> [u8; WQE_BYTES] {
        let mut out = [0; WQE_BYTES];
        out[0] = self.opcode;
        out[1] = if self.open { FLAG_OPEN } else { 0 };
        out[4..8].copy_from_slice(&self.qpn.0.to_le_bytes());
        out[8] = self.dest;
        out[12..16].copy_from_slice(&self.length.to_le_bytes());
        out[16..24].copy_from_slice(&self.laddr.to_le_bytes());
        out[24..32].copy_from_slice(&self.raddr.to_le_bytes());
        out[32..36].copy_from_slice(&self.rkey.to_le_bytes());
        out[40..48].copy_from_slice(&self.cookie.to_le_bytes());
        out
    }

    /// The fields of 64 bytes, whatever stands in the reserved bits.
    pub fn from_bytes(bytes: &[u8; WQE_BYTES]) -> Self {
        Self::from_words(&words(bytes))
    }

    /// The fields of eight 64-bit words.
    pub fn from_words(words: &[u64; 8]) -> Self {
        Self {
            opcode: words[0] as u8,
            open: words[0] >> 8 & u64::from(FLAG_OPEN) != 0,
            qpn: Qpn((words[0] >> 32) as u32 & 0xff_ffff),
            dest: words[1] as u8,
            length: (words[1] >> 32) as u32,
            laddr: words[2],
            raddr: words[3],
            rkey: words[4] as u32,
            cookie: words[5],
        }
    }

    /// The bits that must be zero for this opcode and these flags, as eight words.
    pub fn reserved(&self) -> &'static [u64; 8] {
        match (self.opcode, self.open) {
            (OP_WRITE, false) => &RESERVED_POST,
            (OP_WRITE, true) => &RESERVED_OPEN,
            _ => &RESERVED_CLOSE,
        }
    }
}

/// Bytes as little-endian words.
pub fn words<const N: usize>(bytes: &[u8]) -> [u64; N] {
    std::array::from_fn(|n| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[8 * n..8 * n + 8]);
        u64::from_le_bytes(word)
    })
}

/// A completion entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CqeEntry {
    /// Byte 0, bits 1:0: what it tells.
    pub kind: Cqe,
    /// Byte 0, bit 7: 1 in the ring's first lap, then the other value in each lap.
    pub phase: bool,
    /// Byte 1: why a work request was refused.
    pub code: Refuse,
    /// Bytes 2–3: messages of the QP before this one.
    pub msn: u16,
    /// Bytes 4–6: this NIC's own number of the QP; as in the work request where it was refused.
    pub qpn: Qpn,
    /// Bytes 8–11: bytes of the message.
    pub length: u32,
    /// Byte 12: index of the destination; 0 where the work request was refused.
    pub dest: u8,
    /// Bytes 16–23: of the work request; 0 for `RECV_COMPLETE`.
    pub cookie: u64,
}

impl CqeEntry {
    /// The 32 bytes that the NIC writes.
    pub fn to_bytes(&self) -> [u8; CQE_BYTES] {
        let mut out = [0; CQE_BYTES];
        for (chunk, word) in out.chunks_mut(8).zip(self.to_words()) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    /// The same as four 64-bit words.
    pub fn to_words(&self) -> [u64; 4] {
        [
            self.kind as u64
                | u64::from(self.phase) << 7
                | (self.code as u64) << 8
                | u64::from(self.msn) << 16
                | u64::from(self.qpn.0) << 32,
            u64::from(self.length) | u64::from(self.dest) << 32,
            self.cookie,
            0,
        ]
    }

    /// The fields of 32 bytes; `None` where a kind or a code has no name.
    pub fn from_bytes(bytes: &[u8; CQE_BYTES]) -> Option<Self> {
        use crate::image::Bits;
        let w: [u64; 4] = words(bytes);
        Some(Self {
            kind: Cqe::from_bits(w[0] & 3)?,
            phase: w[0] >> 7 & 1 != 0,
            code: Refuse::from_bits(w[0] >> 8 & 0xff)?,
            msn: (w[0] >> 16) as u16,
            qpn: Qpn((w[0] >> 32) as u32 & 0xff_ffff),
            length: w[1] as u32,
            dest: (w[1] >> 32) as u8,
            cookie: w[2],
        })
    }
}

/// Register indices: the offset in the register page ÷ 8.
#[allow(missing_docs)]
pub mod index {
    pub const MSS: u16 = 0;
    pub const RANGE: u16 = 1;
    pub const INITIAL_PSN: u16 = 2;
    pub const WIRE_RATE: u16 = 3;
    pub const PCIE_RATE: u16 = 4;
    pub const OWN_IP: u16 = 5;
    pub const OWN_MAC: u16 = 6;
    pub const HOP_MAC: u16 = 7;
    pub const CQ_BASE: u16 = 8;
    pub const CQ_LOG2: u16 = 9;
    pub const INIT_WINDOW: u16 = 10;
    pub const UNIT: u16 = 11;
    pub const FLAGS: u16 = 12;
    pub const DSCP: u16 = 13;
    pub const TX_HDR_BUF: u16 = 14;
    pub const TX_DATA_BUF: u16 = 15;
    pub const OVERHEADS: u16 = 16;
    pub const RID: u16 = 17;
    pub const TTL: u16 = 18;
    pub const WEIGHTS: u16 = 36;
    pub const ACK_TIMEOUT: u16 = 216;
    pub const RETRY: u16 = 217;
    /// Destination 0; destination d is d further on.
    pub const PEER: u16 = 64;
    /// Class 0 of each bank; class c is c further on.
    pub const EGRESS_POOL: u16 = 128;
    pub const INGRESS_POOL: u16 = 136;
    pub const XOFF: u16 = 144;
    pub const XON: u16 = 152;
    pub const QUANTA: u16 = 160;
    pub const PFC: u16 = 168;
    pub const PENALTY: u16 = 169;
    pub const ACK_HOLD: u16 = 170;
    pub const PREFETCH: u16 = 171;
    pub const LOSS: u16 = 232;
    pub const RX_HDR_BUF: u16 = 192;
    pub const RX_DATA_BUF: u16 = 193;
    pub const FAR_HDR_BUF: u16 = 194;
    pub const FAR_DATA_BUF: u16 = 195;
    pub const PCIE_COSTS: u16 = 196;
    pub const MAX_PAYLOAD: u16 = 197;
    pub const TRAILER: u16 = 248;
    pub const STAMPS: u16 = 249;
}

/// Destinations that the registers can hold.
pub const PEERS: u16 = 64;
/// Bits of a destination's register: the address and the valid bit.
pub const PEER_MASK: u64 = 0x1_ffff_ffff;
/// The largest payload of a packet, in bytes (SEG-1).
pub const MAX_MSS: u64 = 8_192;

/// Where the register stands in the BAR.
pub fn register_offset(index: u16) -> u64 {
    REGISTER_PAGE + 8 * u64::from(index)
}

/// A destination's register.
pub fn peer_value(ip: u32, valid: bool) -> u64 {
    u64::from(ip) | u64::from(valid) << 32
}

/// A run of bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterField {
    /// The level that it drives is `cfg_` and this.
    pub name: &'static str,
    /// Its lowest bit.
    pub low: u32,
    /// Its bits.
    pub width: u32,
    /// Its value after a reset.
    pub reset: u64,
    /// The least value that a write may carry.
    pub least: u64,
    /// The greatest value that a write may carry.
    pub most: u64,
}

impl RegisterField {
    const fn new(name: &'static str, low: u32, width: u32, reset: u64) -> Self {
        let most = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        Self { name, low, width, reset, least: 0, most }
    }

    const fn within(name: &'static str, width: u32, reset: u64, least: u64, most: u64) -> Self {
        Self { name, low: 0, width, reset, least, most }
    }

    /// Its bits in place.
    pub fn mask(&self) -> u64 {
        (if self.width == 64 { u64::MAX } else { (1 << self.width) - 1 }) << self.low
    }

    /// Its value in a register's.
    pub fn of(&self, value: u64) -> u64 {
        (value & self.mask()) >> self.low
    }

    /// The register's value with this field set.
    #[must_use]
    pub fn set(&self, register: u64, value: u64) -> u64 {
        register & !self.mask() | value << self.low & self.mask()
    }
}

/// One register. Bits that no field has, and alignment bits, must be written as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name.
    pub name: &'static str,
    /// Offset ÷ 8.
    pub index: u16,
    /// Bits that must be zero though a field has them: alignment.
    pub aligned: u64,
    /// Its fields, lowest first.
    pub fields: &'static [RegisterField],
}

impl Register {
    /// Bits that a write may set.
    pub fn mask(&self) -> u64 {
        self.fields.iter().fold(0, |mask, f| mask | f.mask()) & !self.aligned
    }

    /// Its value after a reset.
    pub fn reset(&self) -> u64 {
        self.fields.iter().fold(0, |value, f| f.set(value, f.reset))
    }

    /// True where `csr` takes the value; otherwise the write is refused whole.
    pub fn takes(&self, value: u64) -> bool {
        value & !self.mask() == 0
            && self.fields.iter().all(|f| (f.least..=f.most).contains(&f.of(value)))
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&'static RegisterField> {
        self.fields.iter().find(|f| f.name == name)
    }
}

/// Eight registers of one kind, one a traffic class, at indices that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    /// The level that they drive is `cfg_` and this: class 0 in its lowest bits.
    pub name: &'static str,
    /// Index of class 0's.
    pub first: u16,
    /// Bits of each.
    pub width: u32,
    /// Value after a reset of each.
    pub reset: [u64; CLASSES],
}

impl Bank {
    /// True where `csr` takes the value.
    pub fn takes(&self, value: u64) -> bool {
        value >> self.width == 0
    }

    /// The bank's reset values as one level.
    pub fn level<const N: usize>(&self) -> Wide<N> {
        let mut level = Wide::ZERO;
        for (class, value) in self.reset.iter().enumerate() {
            let at = self.width as usize * class;
            level.0[at / 64] |= value << (at % 64);
        }
        level
    }
}

/// Traffic classes of each buffer (BUF-1).
pub const CLASSES: usize = 8;

/// A number of a class, in a level of 32 bits each.
pub fn level(of: &Wide<4>, class: usize) -> u32 {
    (of.0[class / 2] >> (32 * (class % 2))) as u32
}

/// The banks, in the order of their indices.
pub const BANKS: &[Bank] = &[
    bank("egress_pool", index::EGRESS_POOL, 32, 230_400, 25_600),
    bank("ingress_pool", index::INGRESS_POOL, 32, 3_600_000, 400_000),
    bank("xoff", index::XOFF, 32, 2_880_000, 320_000),
    bank("xon", index::XON, 32, 1_440_000, 160_000),
    bank("quanta", index::QUANTA, 16, 65_535, 65_535),
];

/// A bank whose classes 0 and 1 have these values after a reset.
const fn bank(name: &'static str, first: u16, width: u32, zero: u64, one: u64) -> Bank {
    Bank { name, first, width, reset: [zero, one, 0, 0, 0, 0, 0, 0] }
}

/// The bank and the class of a register.
pub fn bank_of(index: u16) -> Option<(&'static Bank, usize)> {
    let bank = BANKS.iter().find(|b| (b.first..b.first + CLASSES as u16).contains(&index))?;
    Some((bank, usize::from(index - bank.first)))
}

/// A field and its register, by the field's name.
pub fn field(name: &str) -> Option<(&'static Register, &'static RegisterField)> {
    REGISTERS.iter().find_map(|r| r.field(name).map(|f| (r, f)))
}

macro_rules! registers {
    ($($name:literal $index:ident [$($field:expr),* $(,)?];)*) => {
        /// Every register but the destinations' and the banks', in the order of their indices.
        pub const REGISTERS: &[Register] = &[$(Register {
            name: $name,
            index: index::$index,
            aligned: if index::$index == index::CQ_BASE { CQE_BYTES as u64 - 1 } else { 0 },
            fields: &[$($field),*],
        }),*];
    };
}

use RegisterField as F;
registers! {
    "mss" MSS [F::within("mss", 14, 4_096, 1, MAX_MSS)];
    "range" RANGE [F::within("range", 11, 1_024, 1, 2_047)];
    "initial_psn" INITIAL_PSN [F::new("initial_psn", 0, 24, 0)];
    "wire_rate" WIRE_RATE [F::within("wire_rate", 20, 400_000, 1, 0xf_ffff)];
    "pcie_rate" PCIE_RATE [F::within("pcie_rate", 20, 504_320, 1, 0xf_ffff)];
    "own_ip" OWN_IP [F::new("own_ip", 0, 32, 0x0a00_0001)];
    "own_mac" OWN_MAC [F::new("own_mac", 0, 48, 0x0200_0000_0001)];
    "hop_mac" HOP_MAC [F::new("hop_mac", 0, 48, 0x0200_0000_00fe)];
    "cq_base" CQ_BASE [F::new("cq_base", 0, 64, 0)];
    "cq_log2" CQ_LOG2 [F::new("cq_log2", 0, 5, 10)];
    "init_window" INIT_WINDOW [F::new("init_window", 0, 32, 108 * 4_156)];
    "unit" UNIT [F::new("unit", 0, 14, 4_156)];
    "flags" FLAGS [
        F::new("groups", 0, 1, 1),
        F::new("trimming", 1, 1, 1),
        F::new("distinct_rtx", 2, 1, 1),
        F::new("cqe_on_link", 3, 1, 0),
        F::new("sched", 4, 2, 0),
        F::new("ecn", 6, 2, 2),
    ];
    "dscp" DSCP [
        F::new("dscp0", 0, 6, 0),
        F::new("dscp1", 8, 6, 4),
        F::new("dscp2", 16, 6, 8),
        F::new("dscp3", 24, 6, 46),
        F::new("dscp4", 32, 6, 12),
        F::new("dscp5", 40, 6, 16),
    ];
    "tx_hdr_buf" TX_HDR_BUF [F::new("tx_hdr_buf", 0, 32, 16_000)];
    "tx_data_buf" TX_DATA_BUF [F::new("tx_data_buf", 0, 32, 256_000)];
    "overheads" OVERHEADS [
        F::new("data_hdr", 0, 7, 74),
        F::new("wire_overhead", 8, 7, 78),
        F::new("nominal_overhead", 16, 7, 60),
        F::new("charge_less", 24, 5, 0),
        F::new("ack_extra", 32, 5, 0),
    ];
    "rid" RID [F::new("rid", 0, 16, 0x0100)];
    "ttl" TTL [F::new("ttl", 0, 8, 64)];
    "weights" WEIGHTS [F::new("weights", 0, 64, 0x0501)];
    "pfc" PFC [F::new("pfc_enable", 0, 8, 0), F::new("pfc_delay", 8, 24, 100)];
    "penalty" PENALTY [
        F::new("penalty_low", 0, 32, 900_000),
        F::new("penalty_high", 32, 32, 2_700_000),
    ];
    "ack_hold" ACK_HOLD [F::new("ack_hold", 0, 1, 0)];
    "prefetch" PREFETCH [
        F::new("prefetch", 0, 32, 262_144),
        F::new("prefetch_on", 32, 1, 0),
    ];
    "rx_hdr_buf" RX_HDR_BUF [F::new("rx_hdr_buf", 0, 32, 16_000)];
    "rx_data_buf" RX_DATA_BUF [F::new("rx_data_buf", 0, 32, 256_000)];
    "far_hdr_buf" FAR_HDR_BUF [F::new("far_hdr_buf", 0, 32, 16_000)];
    "far_data_buf" FAR_DATA_BUF [F::new("far_data_buf", 0, 32, 256_000)];
    "pcie_costs" PCIE_COSTS [
        F::new("pcie_overhead", 0, 8, 34),
        F::new("read_request", 16, 10, 64),
    ];
    "max_payload" MAX_PAYLOAD [F::new("max_payload", 0, 2, 3)];
    "ack_timeout" ACK_TIMEOUT [F::within("timeout", 64, 150 << 41, 1, u64::MAX)];
    "retry" RETRY [
        F::new("linear", 0, 3, 7),
        F { name: "expo", low: 8, width: 5, reset: 25, least: 0, most: 25 },
        F::new("fixed", 16, 1, 0),
    ];
    "loss" LOSS [F::new("loss", 0, 11, 512)];
    "trailer" TRAILER [F::new("icrc", 0, 1, 0)];
    "stamps" STAMPS [F::new("stamps", 0, 1, 0)];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One field in each place, so that an exchange of two shows.
    fn odd() -> Wqe {
        Wqe {
            opcode: OP_WRITE,
            open: false,
            qpn: Qpn(0x04_0506),
            dest: 0x08,
            length: 0x0f0e_0d0c,
            laddr: 0x1716_1514_1312_1110,
            raddr: 0x1f1e_1d1c_1b1a_1918,
            rkey: 0x2322_2120,
            cookie: 0x2f2e_2d2c_2b2a_2928,
        }
    }

    /// QP-2: every byte of a work request is at its place.
    #[test]
    fn wqe_bytes_are_little_endian() {
        let mut want = [0_u8; 64];
        want[0] = 1;
        want[4..7].copy_from_slice(&[6, 5, 4]);
        want[8] = 8;
        for at in (12..36).chain(40..48) {
            want[at] = at as u8;
        }
        assert_eq!(odd().to_bytes(), want);
        assert_eq!(Wqe::from_bytes(&want), odd());
    }

    /// A bit is either reserved or some field's, for each opcode.
    #[test]
    fn reserved_bits_are_those_no_field_has() {
        for (opcode, open) in [(OP_WRITE, false), (OP_WRITE, true), (OP_CLOSE_SENDER, false)] {
            let base = Wqe { opcode, open, ..Wqe::default() };
            for bit in 16..512 {
                let mut bytes = base.to_bytes();
                bytes[bit / 8] |= 1 << (bit % 8);
                let wqe = Wqe::from_bytes(&bytes);
                let reserved = base.reserved()[bit / 64] >> (bit % 64) & 1 == 1;
                let closing = opcode != OP_WRITE && wqe.qpn.0 == 0 && wqe.cookie == 0;
                let named = wqe != base && !(open && wqe.qpn.0 != 0) && !closing;
                assert_eq!(reserved, !named, "bit {bit} of opcode {opcode}, open {open}");
            }
        }
    }

    #[test]
    fn cqe_bytes_are_little_endian() {
        let cqe = CqeEntry {
            kind: Cqe::Error,
            phase: true,
            code: Refuse::MsgFull,
            msn: 0x0302,
            qpn: Qpn(0x06_0504),
            length: 0x0b0a_0908,
            dest: 12,
            cookie: 0x1716_1514_1312_1110,
        };
        let mut want: [u8; 32] = std::array::from_fn(|at| at as u8);
        want[0] = 0x83;
        want[1] = 8;
        for zero in [7, 13, 14, 15].into_iter().chain(24..32) {
            want[zero] = 0;
        }
        assert_eq!(cqe.to_bytes(), want);
        assert_eq!(CqeEntry::from_bytes(&want), Some(cqe));
    }

    #[test]
    fn registers_are_in_order_and_take_their_reset() {
        assert!(REGISTERS.windows(2).all(|r| r[0].index < r[1].index));
        for register in REGISTERS {
            assert!(register.takes(register.reset()), "{}", register.name);
            let bits: u32 = register.fields.iter().map(|f| f.width).sum();
            let all = register.fields.iter().fold(0, |mask, f| mask | f.mask());
            assert_eq!(bits, all.count_ones(), "{}: fields overlap", register.name);
        }
        assert!(!REGISTERS[0].takes(0) && !REGISTERS[0].takes(8_193) && REGISTERS[0].takes(8_192));
        let base = REGISTERS[usize::from(index::CQ_BASE)];
        assert!(base.takes(0x20) && !base.takes(0x10));
    }
}
