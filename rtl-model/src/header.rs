//! Header bytes of the frames that the NIC sends: one struct a header (protocol section 12).
//!
//! Twin of `hdl/header_pkg.sv`. Numbers lie in a header most significant byte first. A frame's
//! header is put together front to back:
//!
//! ```
//! use rtl_model::header::{Base, CcState, Header, Seth};
//! let (base, seth, cc) = (Base::default(), Seth::default(), CcState::default());
//! let mut hdr = Header::default();
//! hdr.put(&base.bytes()).put(&seth.bytes()).put(&cc.bytes()); // a SACK: 54 + 28 + 8 bytes
//! assert_eq!(hdr.len(), 90);
//! let _bits = hdr.wide(); // for `Frame::hdr`
//! ```
//!
//! `Base::len` is the frame on the wire, FCS included: the lengths of IPv4 and UDP follow from it.

use crate::image::Wide;
use crate::types::{Psn, Qpn};

/// IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// MAC control, of which PFC is one.
pub const ETHERTYPE_PFC: u16 = 0x8808;
/// Where PFC frames go.
pub const PFC_MAC: u64 = 0x0180_c200_0001;
/// The first two bytes of a PFC frame's content.
pub const PFC_OPCODE: u16 = 0x0101;
/// `RoCEv2`'s UDP port.
pub const UDP_PORT: u16 = 4791;
/// UDP's protocol number in IPv4.
pub const IP_UDP: u8 = 17;

/// Ethernet's header.
pub const ETH_BYTES: u16 = 14;
/// IPv4's header.
pub const IP_BYTES: u16 = 20;
/// The frame check sequence.
pub const FCS_BYTES: u16 = 4;
/// Bytes of the invariant CRC, where there is one (PKT-1).
pub const ICRC_BYTES: u16 = 4;
/// Ethernet, IPv4, UDP and BTH.
pub const BASE_BYTES: u16 = 54;

/// BTH opcode of the first packet of a Write.
pub const OP_FIRST: u8 = 0xc6;
/// BTH opcode of a middle packet of a Write.
pub const OP_MIDDLE: u8 = 0xc7;
/// BTH opcode of the last packet of a Write.
pub const OP_LAST: u8 = 0xc8;
/// BTH opcode of the only packet of a Write.
pub const OP_ONLY: u8 = 0xca;
/// BTH opcode of a cumulative ACK.
pub const OP_ACK: u8 = 0xd1;
/// BTH opcode of a SACK.
pub const OP_SACK: u8 = 0xdc;
/// BTH opcode of a NACK.
pub const OP_NACK: u8 = 0xdd;
/// BTH opcode of a probe.
pub const OP_PROBE: u8 = 0xde;

/// A cumulative ACK on the wire, FCS included (`mrc`).
pub const ACK_BYTES: u16 = 62;
/// A SACK on the wire.
pub const SACK_BYTES: u16 = 94;
/// A NACK on the wire.
pub const NACK_BYTES: u16 = 78;
/// A probe on the wire.
pub const PROBE_BYTES: u16 = 74;
/// A trimmed data packet on the wire.
pub const TRIMMED_BYTES: u16 = 62;
/// A PFC frame on the wire.
pub const PFC_BYTES: u16 = 64;

/// Header bytes, put together front to back; up to the 104 of `Frame::hdr`.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    bytes: [u8; 104],
    len: usize,
}

impl Default for Header {
    fn default() -> Self {
        Self { bytes: [0; 104], len: 0 }
    }
}

impl Header {
    /// Appends one header.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
        self
    }

    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No bytes so far.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The bits of `Frame::hdr`, zero past the end.
    #[inline]
    pub fn wide(&self) -> Wide<13> {
        Wide::from_bytes(&self.bytes)
    }
}

/// What Ethernet, IPv4, UDP and BTH of one frame carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// The next hop, in the low 48 bits.
    pub dst_mac: u64,
    /// This NIC, in the low 48 bits.
    pub src_mac: u64,
    /// This NIC.
    pub src_ip: u32,
    /// The peer.
    pub dst_ip: u32,
    /// Codepoint (PKT-3).
    pub dscp: u8,
    /// ECN field.
    pub ecn: u8,
    /// Time to live.
    pub ttl: u8,
    /// Bytes of the frame on the wire, FCS included.
    pub len: u16,
    /// UDP source port: the entropy value.
    pub sport: u16,
    /// BTH's opcode.
    pub opcode: u8,
    /// BTH's QP field.
    pub qpn: Qpn,
    /// BTH's A bit.
    pub ack_req: bool,
    /// BTH's R bit: `qpn` is the sender's own number.
    pub by_sender: bool,
    /// BTH's retransmit flag.
    pub rtx: bool,
    /// BTH's ts flag.
    pub ts: bool,
    /// BTH's PSN field.
    pub psn: Psn,
}

/// Sum of the 16-bit words of an IPv4 header, folded: 0xffff where its checksum is right.
#[inline]
pub fn ip_sum(header: &[u8]) -> u16 {
    let mut sum =
        header.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum::<u32>();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

impl Base {
    /// Ethernet, IPv4 with its checksum, UDP and BTH: the first bytes of every frame but PFC's.
    #[inline]
    pub fn bytes(&self) -> [u8; 54] {
        let mut b = [0; 54];
        let ip_len = self.len.wrapping_sub(ETH_BYTES + FCS_BYTES) & 0x3fff;
        let udp_len = self.len.wrapping_sub(ETH_BYTES + IP_BYTES + FCS_BYTES) & 0x3fff;
        b[0..6].copy_from_slice(&self.dst_mac.to_be_bytes()[2..]);
        b[6..12].copy_from_slice(&self.src_mac.to_be_bytes()[2..]);
        b[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        // IPv4: header of five words, id 0, DF.
        b[14] = 0x45;
        b[15] = self.dscp << 2 | self.ecn;
        b[16..18].copy_from_slice(&ip_len.to_be_bytes());
        b[20] = 0x40;
        b[22] = self.ttl;
        b[23] = IP_UDP;
        b[26..30].copy_from_slice(&self.src_ip.to_be_bytes());
        b[30..34].copy_from_slice(&self.dst_ip.to_be_bytes());
        let sum = !ip_sum(&b[14..34]);
        b[24..26].copy_from_slice(&sum.to_be_bytes());
        // UDP, its checksum not used.
        b[34..36].copy_from_slice(&self.sport.to_be_bytes());
        b[36..38].copy_from_slice(&UDP_PORT.to_be_bytes());
        b[38..40].copy_from_slice(&udp_len.to_be_bytes());
        // BTH.
        let flags = [self.ack_req, self.by_sender, self.rtx, self.ts];
        b[42] = self.opcode;
        b[44..46].copy_from_slice(&[0xff; 2]);
        b[47..50].copy_from_slice(&self.qpn.0.to_be_bytes()[1..]);
        b[50] = flags.iter().fold(0, |f, bit| f << 1 | u8::from(*bit)) << 4;
        b[51..54].copy_from_slice(&self.psn.0.to_be_bytes()[1..]);
        b
    }
}

/// METH of a message; rqmsn equals msn (QP-4).
#[inline]
pub fn meth(msn: u16) -> [u8; 4] {
    let [high, low] = msn.to_be_bytes();
    [high, low, high, low]
}

/// Bytes of TSETH.
pub const TSETH_BYTES: u16 = 4;

/// TSETH: when the packet was built, in steps of 128 ns (resolution 0, type 1).
#[inline]
pub fn tseth(stamp: u16) -> [u8; 4] {
    let [high, low] = stamp.to_be_bytes();
    [high, low, 0, 1]
}

/// AETH: an acknowledgement with credit 0x1f; `msn` counts completed messages, 24 bits.
#[inline]
pub fn aeth(msn: u32) -> [u8; 4] {
    (0x1f00_0000 | msn & 0xff_ffff).to_be_bytes()
}

/// RETH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reth {
    /// Where the packet's payload goes at the peer.
    pub raddr: u64,
    /// Remote key.
    pub rkey: u32,
    /// Bytes of the whole message.
    pub msg_len: u32,
}

impl Reth {
    /// The header.
    #[inline]
    pub fn bytes(&self) -> [u8; 16] {
        let mut b = [0; 16];
        b[0..8].copy_from_slice(&self.raddr.to_be_bytes());
        b[8..12].copy_from_slice(&self.rkey.to_be_bytes());
        b[12..16].copy_from_slice(&self.msg_len.to_be_bytes());
        b
    }
}

/// SETH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seth {
    /// m: 0 none, 1 skip the entropy value once, 2 always.
    pub mark: u8,
    /// pr: this answers a probe.
    pub probe: bool,
    /// Drawing PSN less cumulative PSN, or the probe's id.
    pub psn_offset: u16,
    /// Entropy value of the packet that drew it.
    pub entropy: u16,
    /// Number of the side that sends this SACK.
    pub receiver_qpn: Qpn,
    /// Low 16 bits of the sender's number.
    pub sender_pdc: u16,
    /// Cumulative PSN.
    pub cum: Psn,
    /// `MaxPSNRange` in units of 128.
    pub mpr: u8,
    /// Base of the bitmap, from the cumulative PSN.
    pub sack_offset: u16,
    /// Bit i is PSN cum + `sack_offset` + i.
    pub bitmap: u64,
}

impl Seth {
    /// The header.
    #[inline]
    pub fn bytes(&self) -> [u8; 28] {
        let mut b = [0; 28];
        b[0] = 0x10;
        b[1] = self.mark << 5 | u8::from(self.probe) << 1;
        b[2..4].copy_from_slice(&self.psn_offset.to_be_bytes());
        b[6..8].copy_from_slice(&self.entropy.to_be_bytes());
        b[8..10].copy_from_slice(&(self.receiver_qpn.0 as u16).to_be_bytes());
        b[10..12].copy_from_slice(&self.sender_pdc.to_be_bytes());
        b[12] = (self.receiver_qpn.0 >> 16) as u8;
        b[13..16].copy_from_slice(&self.cum.0.to_be_bytes()[1..]);
        b[16] = 0x10;
        b[17] = self.mpr;
        b[18..20].copy_from_slice(&self.sack_offset.to_be_bytes());
        b[20..28].copy_from_slice(&self.bitmap.to_be_bytes());
        b
    }
}

/// `CC_STATE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CcState {
    /// Service time in 128 ns steps.
    pub service: u16,
    /// Out-of-order events, 15 bits.
    pub ooo: u16,
    /// Receiver penalty, 7 bits.
    pub penalty: u8,
    /// Received bytes in units of 256, 24 bits.
    pub rcvd: u32,
}

impl CcState {
    /// The header.
    #[inline]
    pub fn bytes(&self) -> [u8; 8] {
        let mut b = [0; 8];
        b[0..2].copy_from_slice(&self.service.to_be_bytes());
        b[2..4].copy_from_slice(&(self.ooo & 0x7fff).to_be_bytes());
        b[4] = self.penalty & 0x7f;
        b[5..8].copy_from_slice(&self.rcvd.to_be_bytes()[1..]);
        b
    }
}

/// NETH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neth {
    /// Code (NAK-1).
    pub reason: u8,
    /// Entropy value of the packet that drew it.
    pub entropy: u16,
    /// Number of the side that sends this NACK.
    pub receiver_qpn: Qpn,
    /// Low 16 bits of the sender's number.
    pub sender_pdc: u16,
    /// The PSN that is named.
    pub psn: Psn,
    /// Echoed time.
    pub timestamp: u16,
}

impl Neth {
    /// The header.
    #[inline]
    pub fn bytes(&self) -> [u8; 20] {
        let mut b = [0; 20];
        b[0] = 0x20;
        b[2] = self.reason;
        b[6..8].copy_from_slice(&self.entropy.to_be_bytes());
        b[8..10].copy_from_slice(&(self.receiver_qpn.0 as u16).to_be_bytes());
        b[10..12].copy_from_slice(&self.sender_pdc.to_be_bytes());
        b[12] = (self.receiver_qpn.0 >> 16) as u8;
        b[13..16].copy_from_slice(&self.psn.0.to_be_bytes()[1..]);
        b[16] = 0x20;
        b[18..20].copy_from_slice(&self.timestamp.to_be_bytes());
        b
    }
}

/// PETH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peth {
    /// The probe's id.
    pub probe_id: u16,
    /// Low 16 bits of the number of the side that sends it.
    pub own_pdc: u16,
    /// Low 16 bits of the peer's number.
    pub peer_pdc: u16,
    /// When it was built, in 128 ns steps (resolution 0, type 1 as in TSETH).
    pub timestamp: u16,
}

impl Peth {
    /// The header.
    #[inline]
    pub fn bytes(&self) -> [u8; 16] {
        let mut b = [0; 16];
        b[0] = 0x30;
        b[4..6].copy_from_slice(&self.probe_id.to_be_bytes());
        b[8..10].copy_from_slice(&self.own_pdc.to_be_bytes());
        b[10..12].copy_from_slice(&self.peer_pdc.to_be_bytes());
        b[12..14].copy_from_slice(&self.timestamp.to_be_bytes());
        b[15] = 1;
        b
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 12, by hand.
    #[test]
    fn bytes_are_those_of_the_layout() {
        let base = Base {
            dst_mac: 0x0200_0000_00fe,
            src_mac: 0x0200_0000_0001,
            src_ip: 0x0a00_0001,
            dst_ip: 0x0a00_0002,
            dscp: 4,
            ecn: 2,
            ttl: 64,
            len: 4174,
            sport: 0x0123,
            opcode: OP_ONLY,
            qpn: Qpn(0x00_0102),
            ack_req: true,
            by_sender: true,
            rtx: false,
            ts: false,
            psn: Psn(0xab_cdef),
        };
        let want = [
            0x02, 0, 0, 0, 0, 0xfe, 0x02, 0, 0, 0, 0, 0x01, 0x08, 0x00, // Ethernet
            0x45, 0x12, 0x10, 0x3c, 0, 0, 0x40, 0, 64, 17, 0x16, 0x9d, // IPv4
            10, 0, 0, 1, 10, 0, 0, 2, //
            0x01, 0x23, 0x12, 0xb7, 0x10, 0x28, 0, 0, // UDP
            0xca, 0, 0xff, 0xff, 0, 0x00, 0x01, 0x02, 0xc0, 0xab, 0xcd, 0xef, // BTH
        ];
        assert_eq!(base.bytes(), want);
        assert_eq!(ip_sum(&want[14..34]), 0xffff);
        assert_eq!(meth(0x1234), [0x12, 0x34, 0x12, 0x34]);
        assert_eq!(tseth(0x1234), [0x12, 0x34, 0, 1]);
        assert_eq!(aeth(0x01_0203), [0x1f, 1, 2, 3]);
    }

    #[test]
    fn seth_and_cc_state_by_hand() {
        let seth = Seth {
            mark: 1,
            probe: true,
            psn_offset: 0xfffe,
            entropy: 0x0145,
            receiver_qpn: Qpn(0x0a_0b0c),
            sender_pdc: 0x0d0e,
            cum: Psn(0x11_2233),
            mpr: 8,
            sack_offset: 1,
            bitmap: 0x8000_0000_0000_0003,
        };
        let want = [
            0x10, 0x22, 0xff, 0xfe, 0, 0, 0x01, 0x45, 0x0b, 0x0c, 0x0d, 0x0e, 0x0a, 0x11, 0x22,
            0x33, 0x10, 8, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0x03,
        ];
        assert_eq!(seth.bytes(), want);
        let cc = CcState { service: 1, ooo: 0x7fff, penalty: 0x7f, rcvd: 0x01_0203 };
        assert_eq!(cc.bytes(), [0, 1, 0x7f, 0xff, 0x7f, 1, 2, 3]);
    }

    #[test]
    fn neth_and_peth_by_hand() {
        let neth = Neth {
            reason: 0x0b,
            entropy: 0x0145,
            receiver_qpn: Qpn(0x0a_0b0c),
            sender_pdc: 0x0d0e,
            psn: Psn(0x11_2233),
            timestamp: 0x4455,
        };
        let want = [
            0x20, 0, 0x0b, 0, 0, 0, 0x01, 0x45, 0x0b, 0x0c, 0x0d, 0x0e, 0x0a, 0x11, 0x22, 0x33,
            0x20, 0, 0x44, 0x55,
        ];
        assert_eq!(neth.bytes(), want);
        let peth = Peth { probe_id: 0x0102, own_pdc: 0x0304, peer_pdc: 0x0506, timestamp: 0x0708 };
        assert_eq!(peth.bytes(), [0x30, 0, 0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 7, 8, 0, 1]);
        let reth = Reth { raddr: 0x0102_0304_0506_0708, rkey: 0x090a_0b0c, msg_len: 0x0d0e_0f10 };
        assert_eq!(reth.bytes(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    }
}
