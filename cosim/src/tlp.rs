//! TLP headers as the host writes and reads them (PCIe Base, section 2.2; protocol 13).

use serde::{Deserialize, Serialize};

/// The four header DWs, DW 0 first.
pub type Header = [u32; 4];

/// A request or completion, as far as the host cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tlp {
    /// Memory read.
    Read {
        /// First byte wanted.
        addr: u64,
        /// Bytes wanted.
        len: u32,
        /// The requester's tag.
        tag: u8,
        /// The requester.
        requester: u16,
    },
    /// Memory write.
    Write {
        /// First byte written.
        addr: u64,
        /// Bytes written.
        len: u32,
    },
    /// Anything else.
    Other,
}

/// Bytes that a first or last DW leaves out at its low end and at its high end.
fn gaps(be: u32) -> (u32, u32) {
    (be.trailing_zeros().min(4), (be << 28).leading_zeros().min(4))
}

/// Reads the header of a request from the NIC.
pub fn parse(header: &Header) -> Tlp {
    let (fmt, kind) = (header[0] >> 29, header[0] >> 24 & 0x1f);
    if kind != 0 || fmt > 3 {
        return Tlp::Other;
    }
    let length = header[0] & 0x3ff;
    let dws = if length == 0 { 1024 } else { length };
    let (first, last) = (header[1] & 0xf, header[1] >> 4 & 0xf);
    let (low, high) = gaps(if dws == 1 { first } else { last });
    let low = if dws == 1 { low } else { gaps(first).0 };
    let addr = if fmt & 1 == 1 {
        u64::from(header[2]) << 32 | u64::from(header[3])
    } else {
        u64::from(header[2])
    };
    let (addr, len) = (addr + u64::from(low), (dws * 4).saturating_sub(low + high));
    if fmt & 2 == 2 {
        return Tlp::Write { addr, len };
    }
    Tlp::Read { addr, len, tag: (header[1] >> 8) as u8, requester: (header[1] >> 16) as u16 }
}

/// DWs that `len` bytes from `addr` touch.
pub fn dws(addr: u64, len: u32) -> u32 {
    ((addr as u32 & 3) + len).div_ceil(4)
}

/// The header of a host's memory write.
pub fn write(addr: u64, len: u32) -> Header {
    let dws = dws(addr, len);
    let first = 0xf_u32 << (addr & 3) & 0xf;
    let end = ((addr as u32 & 3) + len) & 3;
    let last = if end == 0 { 0xf } else { 0xf >> (4 - end) };
    let be = if dws == 1 { first & last } else { last << 4 | first };
    let wide = u32::from(addr >> 32 != 0);
    let at = addr as u32 & !3;
    let tail = if wide == 1 { [(addr >> 32) as u32, at] } else { [at, 0] };
    [0x4000_0000 | wide << 29 | dws & 0x3ff, be, tail[0], tail[1]]
}

/// What a completion says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// First byte it carries.
    pub addr: u64,
    /// Bytes it carries.
    pub len: u32,
    /// Bytes left, these included.
    pub left: u32,
    /// Status: 0 is successful.
    pub status: u8,
    /// The request's tag.
    pub tag: u8,
    /// The request's requester.
    pub requester: u16,
}

/// The header of a completion, with data where there is any.
pub fn completion(c: &Completion) -> Header {
    let dws = if c.len == 0 { 0 } else { dws(c.addr, c.len) };
    let fmt_type = if c.len == 0 { 0x0a00_0000 } else { 0x4a00_0000 };
    [
        fmt_type | dws & 0x3ff,
        u32::from(c.status) << 13 | c.left & 0xfff,
        u32::from(c.requester) << 16 | u32::from(c.tag) << 8 | (c.addr as u32 & 0x7f),
        0,
    ]
}

/// Largest payload of a transfer.
pub const MAX_PAYLOAD: u32 = 512;

/// Bit of DW 0: the payload is poisoned.
pub const POISONED: u32 = 1 << 14;

/// Bytes of each completion of a read (PCI-5): at most `most`, all but the last end on the RCB.
pub fn completion_lengths(addr: u64, len: u32, most: u32, rcb: u64) -> Vec<u32> {
    let (mut at, mut left) = (addr, len);
    let mut out = Vec::new();
    while left > 0 {
        let piece = left.min(most - (at % rcb) as u32);
        out.push(piece);
        at = at.wrapping_add(u64::from(piece));
        left -= piece;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// figures.json: `tlp_mrd64_4096B_addr_123456000_tag5a_rid0100`, `tlp_first_cpld_512B_of_4096`.
    #[test]
    fn byte_vectors() {
        let read = parse(&[0x2000_0000, 0x0100_5aff, 0x0000_0001, 0x2345_6000]);
        let addr = 0x1_2345_6000;
        assert_eq!(read, Tlp::Read { addr, len: 4096, tag: 0x5a, requester: 0x0100 });
        let c = Completion { addr, len: 512, left: 4096, status: 0, tag: 0x5a, requester: 0x100 };
        assert_eq!(completion(&c)[..3], [0x4a00_0080, 0x0000_0000, 0x0100_5a00]);
    }

    #[test]
    fn writes_read_back() {
        for addr in (0..4).chain([0xf_ffff_fffe]) {
            for len in 1..10 {
                assert_eq!(parse(&write(addr, len)), Tlp::Write { addr, len });
            }
        }
    }

    #[test]
    fn unaligned_completions_end_on_the_rcb() {
        assert_eq!(completion_lengths(0x1003, 1024, 512, 128), [509, 512, 3]);
        assert_eq!(completion_lengths(0x1003, 300, 128, 128), [125, 128, 47]);
        assert_eq!(completion_lengths(0x1043, 1024, 512, 64), [509, 512, 3]);
        assert_eq!(completion_lengths(0x1043, 1024, 512, 128), [445, 512, 67]);
        assert_eq!(completion_lengths(0x1000, 4096, 512, 64).len(), 8);
    }
}
