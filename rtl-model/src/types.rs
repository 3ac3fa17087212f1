//! Types on ports between blocks.
//!
//! Twin of `hdl/nic_pkg.sv`. Index types have their width of the default build in every build; a
//! smaller build leaves their top bits zero. In words and beats byte 0 is bits 7:0.

use derive::{ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::image::{Bits, Wide};

/// 64 B.
pub type Word = Wide<8>;
/// 128 B.
pub type Beat = Wide<16>;

/// Units that a byte costs on a paced link.
pub const BYTE_UNITS: u64 = 8_000;

/// A packet sequence number, modulo 2^24.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Psn(pub u32);

impl Psn {
    const MASK: u32 = 0xff_ffff;

    /// The low 24 bits of a number.
    pub fn new(bits: u32) -> Self {
        Self(bits & Self::MASK)
    }

    /// `n` further on.
    #[must_use]
    pub fn plus(self, n: u32) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// `n` back.
    #[must_use]
    pub fn minus(self, n: u32) -> Self {
        Self::new(self.0.wrapping_sub(n))
    }

    /// How far this one is ahead of `other`, as a signed 24-bit difference: 0x800000 is behind.
    pub fn ahead_of(self, other: Self) -> i32 {
        (self.0.wrapping_sub(other.0) << 8).cast_signed() >> 8
    }
}

impl Bits for Psn {
    const WIDTH: u32 = 24;
    #[inline]
    fn to_bits(&self) -> u64 {
        u64::from(self.0)
    }
    fn from_bits(bits: u64) -> Option<Self> {
        u32::try_from(bits).ok().filter(|b| *b <= Self::MASK).map(Self)
    }
}

/// A QP number: generation:16 slot:8 (QP-5).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Qpn(pub u32);

impl Qpn {
    /// A number from its parts.
    pub fn new(generation: u16, slot: u8) -> Self {
        Self(u32::from(generation) << 8 | u32::from(slot))
    }

    /// The slot in the table.
    pub fn slot(self) -> u8 {
        self.0 as u8
    }

    /// How often the slot had been opened, this time included.
    pub fn generation(self) -> u16 {
        (self.0 >> 8) as u16
    }
}

impl Bits for Qpn {
    const WIDTH: u32 = 24;
    #[inline]
    fn to_bits(&self) -> u64 {
        u64::from(self.0)
    }
    fn from_bits(bits: u64) -> Option<Self> {
        u32::try_from(bits).ok().filter(|b| *b <= 0xff_ffff).map(Self)
    }
}

/// One segment of a message, from its turn to its packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Segment {
    /// Slot of the QP at the sender.
    pub qp: u8,
    /// Destination.
    #[bits(6)]
    pub dest: u8,
    /// Group.
    pub group: u8,
    /// Replay slot.
    #[bits(10)]
    pub slot: u16,
    /// Message entry.
    #[bits(10)]
    pub msg: u16,
    /// The PSN it gets.
    pub psn: Psn,
    /// Where its payload lies in host memory.
    pub laddr: u64,
    /// Payload bytes.
    #[bits(14)]
    pub len: u16,
    /// Where it goes at the peer.
    pub raddr: u64,
    /// Remote key.
    pub rkey: u32,
    /// Bytes of the whole message.
    pub msg_len: u32,
    /// Messages of the QP before this one.
    pub msn: u16,
    /// First of its message.
    pub first: bool,
    /// Last of its message.
    pub last: bool,
}

/// One frame on its way to the port. `hdr` holds the first `hdr_len` bytes of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Frame {
    /// Header bytes.
    #[bits(832)]
    pub hdr: Wide<13>,
    /// How many of them count.
    #[bits(7)]
    pub hdr_len: u8,
    /// Bytes on the wire, FCS included.
    #[bits(14)]
    pub len: u16,
    /// A payload follows the header, from the replay slot.
    pub data: bool,
    /// Replay slot.
    #[bits(10)]
    pub slot: u16,
    /// Offset of the payload in the slot's first word.
    #[bits(6)]
    pub off: u8,
}

/// What a received frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
#[allow(missing_docs)]
pub enum Kind {
    #[default]
    Data = 0,
    Trimmed = 1,
    Ack = 2,
    Sack = 3,
    Nack = 4,
    Probe = 5,
}

/// Why a received frame was dropped; RX-1 in the order in which it is checked.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    ImageEnum,
    Serialize,
    Deserialize,
)]
#[bits(5)]
pub enum Drop {
    /// Not dropped.
    #[default]
    None = 0,
    /// Too short for the headers.
    Short = 1,
    /// Bad frame check sequence.
    Fcs = 2,
    /// Unknown `EtherType`.
    EtherType = 3,
    /// Addressed elsewhere.
    Mac = 4,
    /// Version, header length, fragment or protocol.
    IpHeader = 5,
    /// Bad IPv4 checksum.
    IpSum = 6,
    /// Addressed elsewhere.
    IpAddr = 7,
    /// Unknown UDP port.
    Port = 8,
    /// Unknown opcode.
    Opcode = 9,
    /// Lengths of frame, IPv4 and UDP disagree, or exceed the limits.
    Length = 10,
    /// No room in the ingress pool (RX-2).
    Pool = 11,
    /// Source address of no destination.
    Peer = 12,
    /// No such QP, or another peer's.
    Qp = 13,
    /// No free receiver side.
    QpFull = 14,
    /// PSN out of the window, or never sent.
    Psn = 15,
    /// Bad invariant CRC; checked after `Length`, with `ICRCEnable` only.
    Icrc = 16,
}

/// Why a NACK is sent (NAK-1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum Nack {
    /// None is sent.
    #[default]
    None = 0,
    /// Trimmed on the way.
    Trimmed = 1,
    /// Trimmed on the last hop.
    LastHop = 2,
    /// PSN out of the window.
    Range = 3,
}

/// A received frame, parsed. Fields that its kind does not have are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Parsed {
    /// A time of its sender's is in it: BTH's ts flag, and the header is there (RTT-1).
    pub stamped: bool,
    /// That time, of a data packet or a probe: when it was built, in steps of 128 ns.
    pub stamp: u16,
    /// Trimmed on the last hop.
    pub last_hop: bool,
    /// What it is.
    pub kind: Kind,
    /// Opcode first or only.
    pub first: bool,
    /// Opcode last or only.
    pub last: bool,
    /// Source address.
    pub src_ip: u32,
    /// UDP source port: the entropy value.
    pub sport: u16,
    /// CE-marked.
    pub ce: bool,
    /// BTH's QP field.
    pub qpn: Qpn,
    /// BTH's PSN field.
    pub psn: Psn,
    /// BTH's A bit.
    pub ack_req: bool,
    /// BTH's R bit: `qpn` is the sender's own number.
    pub by_sender: bool,
    /// BTH's retransmit flag.
    pub rtx: bool,
    /// METH's msn.
    pub msn: u16,
    /// RETH's address.
    pub raddr: u64,
    /// RETH's key.
    pub rkey: u32,
    /// RETH's length: of the whole message.
    pub msg_len: u32,
    /// Payload bytes.
    #[bits(14)]
    pub len: u16,
    /// Bytes that the ingress pool holds for it.
    #[bits(14)]
    pub charge: u16,
    /// First word of its payload in the ingress buffer.
    pub word: u16,
    /// SETH, NETH or PETH; AETH in the low 4 bytes.
    #[bits(224)]
    pub ctrl: Wide<4>,
    /// `CC_STATE`.
    pub cc: u64,
    /// The clock in which it had arrived whole.
    #[bits(48)]
    pub at: u64,
}

/// One arrival's answer: a SACK, a cumulative ACK, or both (the SACK goes first); or a NACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Answer {
    /// What drew it has said when it was built (RTT-1).
    pub stamped: bool,
    /// Then, in steps of 128 ns.
    pub stamp: u16,
    /// The SACK answers a probe, whose id is in `drew`.
    pub probe: bool,
    /// A NACK goes.
    pub nack: Nack,
    /// A SACK goes.
    pub sack: bool,
    /// A cumulative ACK goes.
    pub ack: bool,
    /// The peer's address.
    pub dst_ip: u32,
    /// The peer.
    #[bits(6)]
    pub dest: u8,
    /// The sender's number.
    pub sender_qpn: Qpn,
    /// The receiver's number.
    pub own_qpn: Qpn,
    /// Cumulative PSN.
    pub cum: Psn,
    /// The PSN that drew it.
    pub drew: Psn,
    /// Base of the bitmap, from the cumulative PSN.
    pub sack_offset: u16,
    /// Bit i is PSN cum + `sack_offset` + i.
    pub bitmap: u64,
    /// Messages completed in order.
    #[bits(24)]
    pub msn: u32,
    /// Out-of-order events.
    #[bits(15)]
    pub ooo: u16,
    /// Received bytes in units of 256.
    #[bits(24)]
    pub rcvd: u32,
    /// Entropy value of the packet that drew it.
    pub entropy: u16,
    /// That packet was CE-marked.
    pub ce: bool,
    /// That packet's retransmit flag.
    pub rtx: bool,
    /// That packet's size on the wire.
    #[bits(14)]
    pub size: u16,
}

/// The same with what it says of the backlog, and until when it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// Service time in steps of 128 ns (RTT-2, BUF-7).
    pub service: u16,
    /// BUF-6.
    #[bits(7)]
    pub penalty: u8,
    /// Bytes that it waits for.
    pub bytes: u32,
    /// `ack_hold`'s clock as it came.
    #[bits(40)]
    pub since: u64,
}

/// One payload on its way from the ingress buffer to host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Delivery {
    /// Where it goes.
    pub addr: u64,
    /// Payload bytes.
    #[bits(14)]
    pub len: u16,
    /// First word in the ingress buffer.
    pub word: u16,
    /// Released once the write is accepted.
    #[bits(14)]
    pub charge: u16,
    /// Clear: the words are passed over and nothing is released.
    pub write: bool,
    /// `RECV_COMPLETE` follows it.
    pub complete: bool,
    /// Receiver's number, for the CQE.
    pub qpn: Qpn,
    /// Messages of the QP before this one.
    pub msn: u16,
    /// Bytes of the whole message.
    pub msg_len: u32,
    /// The peer.
    #[bits(6)]
    pub dest: u8,
}

/// One beat of a TLP on the bus: the header beside the data, which starts at DW 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct TlpBeat {
    /// First beat of its TLP.
    pub sop: bool,
    /// Last beat of its TLP.
    pub eop: bool,
    /// DW 0 in bits 31:0; valid with `sop`.
    pub hdr: Wide<2>,
    /// DWs of data in this beat.
    pub dws: u8,
    /// The data.
    pub data: Beat,
}

/// One write of the host to the NIC's pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct PageWrite {
    /// Where.
    pub addr: u64,
    /// Bytes of the whole DWs written.
    #[bits(11)]
    pub len: u16,
    /// Every byte is enabled.
    pub full: bool,
    /// The first 64 B.
    pub data: Word,
}

/// Kinds of completion, as in a CQE's byte 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum Cqe {
    /// `SEND_COMPLETE`.
    #[default]
    Send = 0,
    /// `WQE_COMPLETE`.
    Wqe = 1,
    /// `RECV_COMPLETE`.
    Recv = 2,
    /// A doorbell page write was refused.
    Error = 3,
}

/// Why a doorbell page write was refused, as in a CQE's byte 1.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    ImageEnum,
    Serialize,
    Deserialize,
)]
#[bits(4)]
pub enum Refuse {
    /// Not refused.
    #[default]
    None = 0,
    /// Not 64 B, not at a 64 B boundary, or some byte not enabled.
    Size = 1,
    /// Unknown opcode.
    Opcode = 2,
    /// A reserved bit is set.
    Reserved = 3,
    /// No such destination.
    Peer = 4,
    /// Over 2^31 − 1 bytes.
    Length = 5,
    /// No open QP of that number.
    Qp = 6,
    /// No free sender side.
    QpFull = 7,
    /// No free message entry.
    MsgFull = 8,
    /// The QP is in error, or is being closed.
    QpError = 9,
}

/// Why a QP ends before its messages do (QP-6). All but the last put it in error.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    ImageEnum,
    Serialize,
    Deserialize,
)]
#[bits(2)]
pub enum Why {
    /// A payload could not be read (PCI-8).
    #[default]
    Read = 0,
    /// One timeout more than the budget (TMR-4).
    Timeout = 1,
    /// One NACK more than the budget (NAK-2).
    Nack = 2,
    /// The host closes it.
    Close = 3,
}
