//! Frame check sequence and invariant CRC: the CRC-32 of Ethernet.
//!
//! Twin of `hdl/fcs_pkg.sv`. The numbers here are the CRC register itself, least significant bit
//! first on the wire, not complemented: [`INIT`] before a frame, and the FCS is its complement,
//! least significant byte first. Over a frame with its right FCS the register ends at [`RESIDUE`].
//! (`crc32fast` counts in complements: its value of the bytes so far is the register's complement.)

use crc32fast::Hasher;

/// The register before a frame's first byte.
pub const INIT: u32 = !0;

/// The register after a frame and its right FCS.
pub const RESIDUE: u32 = 0xdebb_20e3;

/// The register after more bytes.
#[must_use]
pub fn after(crc: u32, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(!crc);
    hasher.update(bytes);
    !hasher.finalize()
}

/// The register of an ICRC before a frame's Ethernet header, whose 14 bytes count as zeros: after
/// them it is that over the 8 bytes of ones which an ICRC begins with. PKT-1.
pub const ICRC_INIT: u32 = {
    let mut crc = RESIDUE;
    let mut bits = 14 * 8;
    while bits > 0 {
        crc = undo_bit(crc);
        bits -= 1;
    }
    crc
};

/// The register before the last zero bit.
const fn undo_bit(crc: u32) -> u32 {
    if crc >> 31 == 1 { (crc ^ 0xedb8_8320) << 1 | 1 } else { crc << 1 }
}

/// The register before the last four bytes of a frame, which are given as they come.
#[must_use]
pub fn before(crc: u32, bytes: [u8; 4]) -> u32 {
    (0..32).fold(crc, |crc, _| undo_bit(crc)) ^ u32::from_le_bytes(bytes)
}

/// A frame's first bytes, BTH included, as the ICRC has them: what routers may change (TOS, TTL, the
/// checksums of IPv4 and UDP, BTH's byte 4) as ones, the Ethernet header as zeros.
pub fn mask(bytes: &mut [u8]) {
    bytes[..14].fill(0);
    for at in [15, 22, 24, 25, 40, 41, 46] {
        bytes[at] = 0xff;
    }
}

#[cfg(test)]
mod tests {
    use super::{ICRC_INIT, INIT, RESIDUE, after, before, mask};
    use crate::rng::Rng;

    /// Bit by bit, from the polynomial.
    fn slowly(mut crc: u32, bytes: &[u8]) -> u32 {
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
            }
        }
        crc
    }

    #[test]
    fn the_register_is_not_complemented() {
        assert_eq!(!after(INIT, b"123456789"), 0xcbf4_3926);
        assert_eq!(after(INIT, b"123456789"), slowly(INIT, b"123456789"));
        assert_eq!(after(INIT, &[0xff; 8]), 0xdebb_20e3);
    }

    #[test]
    fn bytes_may_come_in_parts() {
        let mut rng = Rng::new(1, "fcs");
        for len in 0..300 {
            let mut bytes = vec![0; len];
            rng.fill(&mut bytes);
            let cut = rng.between(0, len as u64) as usize;
            let crc = after(after(INIT, &bytes[..cut]), &bytes[cut..]);
            assert_eq!(crc, slowly(INIT, &bytes));
            bytes.extend((!crc).to_le_bytes());
            assert_eq!(after(INIT, &bytes), RESIDUE);
        }
    }

    #[test]
    fn four_bytes_can_be_taken_back() {
        assert_eq!(before(after(0x1234_5678, b"abcd"), *b"abcd"), 0x1234_5678);
    }

    /// PKT-1: by the definition, over eight bytes of ones and the masked datagram.
    #[test]
    fn icrc_begins_with_eight_bytes_of_ones() {
        let mut frame = [0; 70];
        Rng::new(1, "icrc").fill(&mut frame);
        let plain = frame;
        mask(&mut frame);
        let whole = after(after(INIT, &[0xff; 8]), &frame[14..]);
        assert_eq!(after(ICRC_INIT, &frame), whole);
        assert_eq!(&frame[14..16], &[plain[14], 0xff], "TOS, and nothing beside it");
    }
}
