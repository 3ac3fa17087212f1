//! Frame check sequence: the CRC-32 of Ethernet.
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

#[cfg(test)]
mod tests {
    use super::{INIT, RESIDUE, after};
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
}
