//! Frames as a switch sees them: what they are, and what it writes into them.

use rtl_model::fcs;
use rtl_model::header::{
    BASE_BYTES, ETHERTYPE_PFC, OP_ACK, OP_FIRST, OP_LAST, OP_MIDDLE, OP_NACK, OP_ONLY, OP_PROBE,
    OP_SACK, PFC_BYTES, PFC_MAC, PFC_OPCODE, TRIMMED_BYTES, ip_sum,
};
use serde::{Deserialize, Serialize};

/// Codepoint of data that may be trimmed (PKT-3).
const TRIMMABLE: u8 = 4;
/// Codepoint of a retransmission that may be trimmed (PKT-3).
const TRIMMABLE_RTX: u8 = 8;
/// Codepoint of control frames (PKT-3).
const CONTROL: u8 = 46;
/// Codepoint that a switch writes into a packet that it trims (PKT-3).
const TRIMMED: u8 = 12;
/// The same on the hop to a NIC (PKT-3).
const TRIMMED_LAST_HOP: u8 = 16;
/// METH, behind BTH: the last header that trimming leaves.
const METH_BYTES: usize = 4;
/// TSETH, where BTH's ts flag is set.
const TSETH_BYTES: usize = 4;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A data packet's first transmission.
    #[serde(rename = "data")]
    Data,
    /// A data packet with the retransmit flag.
    #[serde(rename = "retransmission")]
    Retransmission,
    /// A cumulative ACK.
    #[serde(rename = "ACK")]
    Ack,
    /// A SACK.
    #[serde(rename = "SACK")]
    Sack,
    /// A NACK.
    #[serde(rename = "NACK")]
    Nack,
    /// A probe.
    #[serde(rename = "probe")]
    Probe,
    /// A PFC frame.
    #[serde(rename = "pause")]
    Pause,
    /// None of these.
    #[serde(rename = "other")]
    Other,
}

impl Kind {
    /// By the opcode and BTH's retransmit flag.
    pub fn of(frame: &[u8]) -> Self {
        if frame.get(12..14) == Some(&ETHERTYPE_PFC.to_be_bytes()) {
            return Self::Pause;
        }
        match (frame.get(42).copied(), frame.get(50)) {
            (Some(OP_FIRST | OP_MIDDLE | OP_LAST | OP_ONLY), Some(flags)) if flags & 0x20 != 0 => {
                Self::Retransmission
            }
            (Some(OP_FIRST | OP_MIDDLE | OP_LAST | OP_ONLY), _) => Self::Data,
            (Some(OP_ACK), _) => Self::Ack,
            (Some(OP_SACK), _) => Self::Sack,
            (Some(OP_NACK), _) => Self::Nack,
            (Some(OP_PROBE), _) => Self::Probe,
            _ => Self::Other,
        }
    }

    /// A data packet, sent for the first time or again.
    pub fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Retransmission)
    }

    /// As scenarios and records write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Retransmission => "retransmission",
            Self::Ack => "ACK",
            Self::Sack => "SACK",
            Self::Nack => "NACK",
            Self::Probe => "probe",
            Self::Pause => "pause",
            Self::Other => "other",
        }
    }
}

/// What a rule can ask of a frame; all of it stands in the first 128 B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// What it is.
    pub kind: Kind,
    /// BTH's PSN.
    pub psn: u32,
    /// The message that a data packet belongs to: the scenario's hosts number their messages in
    /// `R_Key`.
    pub message: Option<u32>,
}

impl Seen {
    /// Of a frame's first beat, or the whole frame.
    pub fn of(frame: &[u8]) -> Self {
        let kind = Kind::of(frame);
        let number = |at: usize| {
            frame.get(at..).and_then(|rest| rest.first_chunk()).map(|b| u32::from_be_bytes(*b))
        };
        let stamped = frame.get(50).is_some_and(|flags| flags & 0x10 != 0);
        let reth = usize::from(BASE_BYTES) + METH_BYTES + if stamped { TSETH_BYTES } else { 0 };
        let message = kind.is_data().then(|| number(reth + 8)).flatten();
        Self { kind, psn: number(50).map_or(0, |n| n & 0xff_ffff), message }
    }
}

/// The codepoint of an IPv4 frame; 0 where the frame has none.
pub fn dscp(frame: &[u8]) -> u8 {
    frame.get(15).map_or(0, |tos| tos >> 2)
}

/// A data packet whose codepoint lets a switch trim it (PKT-3).
pub fn trimmable(frame: &[u8]) -> bool {
    Kind::of(frame).is_data() && matches!(dscp(frame), TRIMMABLE | TRIMMABLE_RTX)
}

/// A retransmission by its codepoint.
pub fn trimmable_again(frame: &[u8]) -> bool {
    dscp(frame) == TRIMMABLE_RTX
}

/// The queue of a frame at a downlink: 2 control, 1 trimmed, 0 all else.
pub fn queue(frame: &[u8]) -> usize {
    match dscp(frame) {
        CONTROL => 2,
        TRIMMED | TRIMMED_LAST_HOP => 1,
        _ => 0,
    }
}

/// The packet cut down to its IPv4, UDP, BTH and METH headers, 62 B with Ethernet (PKT-3).
pub fn trimmed(frame: &[u8], last_hop: bool) -> Vec<u8> {
    let mut bytes = frame[..usize::from(BASE_BYTES) + METH_BYTES].to_vec();
    let codepoint = if last_hop { TRIMMED_LAST_HOP } else { TRIMMED };
    bytes[15] = codepoint << 2 | bytes[15] & 3;
    bytes[16..18].copy_from_slice(&(TRIMMED_BYTES - 18).to_be_bytes());
    bytes[38..40].copy_from_slice(&(TRIMMED_BYTES - 38).to_be_bytes());
    changed(frame, bytes)
}

/// The frame with CE in its ECN field.
pub fn marked(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame[..frame.len() - 4].to_vec();
    bytes[15] |= 3;
    changed(frame, bytes)
}

/// The new bytes of a frame with their checksums. One that was spoilt before stays so: its FCS is
/// wrong.
fn changed(was: &[u8], bytes: Vec<u8>) -> Vec<u8> {
    let mut frame = sealed(summed(bytes));
    let spoilt = fcs::after(fcs::INIT, was) != fcs::RESIDUE;
    let last = frame.len() - 1;
    frame[last] ^= u8::from(spoilt);
    frame
}

/// The frame says that it can be marked: ECT(0), ECT(1), or marked already.
pub fn markable(frame: &[u8]) -> bool {
    Kind::of(frame) != Kind::Pause && frame.len() > 62 - 4 && frame[15] & 3 != 0
}

/// A PFC frame: which classes it names, and the time of each in 512 bit times.
pub fn pause(classes: u8, quanta: &[u16; 8]) -> Vec<u8> {
    let mut bytes = PFC_MAC.to_be_bytes()[2..].to_vec();
    bytes.extend([2, 0, 0, 0, 0, 0xfe]);
    bytes.extend(ETHERTYPE_PFC.to_be_bytes());
    bytes.extend(PFC_OPCODE.to_be_bytes());
    bytes.extend([0, classes]);
    bytes.extend(quanta.iter().flat_map(|q| q.to_be_bytes()));
    bytes.resize(usize::from(PFC_BYTES) - 4, 0);
    sealed(bytes)
}

/// Classes and times of a PFC frame.
pub fn pause_of(frame: &[u8]) -> (u8, [u16; 8]) {
    let time = |n: usize| u16::from_be_bytes([frame[18 + 2 * n], frame[19 + 2 * n]]);
    (frame[17], std::array::from_fn(time))
}

/// IPv4's checksum written.
fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes[24..26].fill(0);
    let sum = !ip_sum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The bytes with their FCS.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let fcs = !fcs::after(fcs::INIT, &bytes);
    bytes.extend(fcs.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtl_model::header::{Base, Header, Reth, meth};
    use rtl_model::types::{Psn, Qpn};

    fn packet(dscp: u8, rtx: bool, payload: usize) -> Vec<u8> {
        let base = Base {
            dscp,
            ecn: 2,
            ttl: 64,
            len: 78 + payload as u16,
            opcode: OP_ONLY,
            qpn: Qpn(0x10203),
            rtx,
            psn: Psn(0x00ab_cdef),
            src_ip: 0x0a00_0001,
            dst_ip: 0x0a00_0002,
            ..Base::default()
        };
        let mut header = Header::default();
        let reth = Reth { rkey: 7, ..Reth::default() };
        header.put(&base.bytes()).put(&meth(3)).put(&reth.bytes());
        let mut bytes = header.bytes().to_vec();
        bytes.resize(74 + payload, 0x55);
        sealed(bytes)
    }

    fn whole(frame: &[u8]) {
        assert_eq!(fcs::after(fcs::INIT, frame), fcs::RESIDUE);
        assert_eq!(ip_sum(&frame[14..34]), 0xffff);
        assert_eq!(u16::from_be_bytes([frame[16], frame[17]]) as usize, frame.len() - 18);
        assert_eq!(u16::from_be_bytes([frame[38], frame[39]]) as usize, frame.len() - 38);
    }

    #[test]
    fn seen_is_what_was_built() {
        let seen = Seen::of(&packet(4, false, 100));
        assert_eq!(seen, Seen { kind: Kind::Data, psn: 0xab_cdef, message: Some(7) });
        assert_eq!(Seen::of(&packet(4, true, 0)).kind, Kind::Retransmission);
        assert_eq!(Seen::of(&[]).kind, Kind::Other);
    }

    /// PKT-3: 44 B datagram, either codepoint, ECN kept, headers through METH kept.
    #[test]
    fn a_trimmed_packet_is_whole() {
        for payload in [0, 1, 4096, 8192] {
            let from = packet(4, false, payload);
            for (last_hop, codepoint) in [(false, 12), (true, 16)] {
                let frame = trimmed(&from, last_hop);
                assert_eq!((frame.len(), dscp(&frame), frame[15] & 3), (62, codepoint, 2));
                assert_eq!(frame[42..58], from[42..58]);
                whole(&frame);
            }
        }
        assert!(trimmable(&packet(4, false, 1)) && trimmable(&packet(8, true, 1)));
        assert!(!trimmable(&packet(0, false, 1)) && !trimmable(&packet(46, false, 1)));
    }

    #[test]
    fn a_marked_packet_is_whole() {
        for payload in 0..200 {
            let from = packet(8, true, payload);
            let frame = marked(&from);
            assert_eq!((frame.len(), frame[15]), (from.len(), 8 << 2 | 3));
            assert_eq!(frame[26..frame.len() - 4], from[26..from.len() - 4]);
            whole(&frame);
        }
    }

    /// RX-1: what was corrupted before is found by its FCS still.
    #[test]
    fn a_spoilt_packet_stays_spoilt() {
        let mut from = packet(4, false, 100);
        from[48] ^= 1;
        for frame in [trimmed(&from, false), marked(&from)] {
            assert_ne!(fcs::after(fcs::INIT, &frame), fcs::RESIDUE);
        }
    }

    #[test]
    fn a_pause_says_what_was_asked() {
        let quanta = [1, 2, 3, 4, 5, 6, 7, 0xffff];
        let frame = pause(0b1000_0011, &quanta);
        assert_eq!((frame.len(), Kind::of(&frame)), (64, Kind::Pause));
        assert_eq!(fcs::after(fcs::INIT, &frame), fcs::RESIDUE);
        assert_eq!(pause_of(&frame), (0b1000_0011, quanta));
    }
}
