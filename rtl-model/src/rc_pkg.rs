//! Types of the reliable connection: its requester, its responder, and the packets between them.
//!
//! Twin of `hdl/rc_pkg.sv`. A unit of its own beside the MRC NIC (S002): ordered, go-back-N, with
//! a 24-bit MSN. It shares the arithmetic of PSNs with the NIC and nothing else. Index types have
//! their width of the default build in every build.

use derive::{ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::types::Psn;

/// AETH syndrome of an acknowledgement without a credit. IBTA Vol 1, 9.7.5.2.
pub const SYNDROME_ACK: u8 = 0x1f;
/// AETH syndrome of a negative acknowledgement: PSN sequence error. IBTA Vol 1, 9.7.5.2.
pub const SYNDROME_SEQUENCE: u8 = 0x60;
/// Bytes of the longest message.
pub const LONGEST: u32 = 1 << 20;

macro_rules! coded {
    ($(#[$doc:meta])* $name:ident $bits:literal { $($(#[$vdoc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
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
        #[bits($bits)]
        pub enum $name { $($(#[$vdoc])* $variant = $value,)* }
    };
}

coded! {
    /// What a work request asks for.
    Op 2 {
        /// To a buffer that the responder's host has posted.
        #[default]
        Send = 0,
        /// To an address of the responder's host.
        Write = 1,
        /// From an address of the responder's host.
        Read = 2,
        /// On eight bytes of the responder's host.
        Atomic = 3,
    }
}

impl Op {
    /// A READ or ATOMIC: it has a response of its own.
    pub fn waits(self) -> bool {
        matches!(self, Self::Read | Self::Atomic)
    }
}

coded! {
    /// How a work request ended.
    Status 2 {
        /// As it should.
        #[default]
        Success = 0,
        /// The retry budget was spent on it.
        Retries = 1,
        /// The responder refused it.
        Remote = 2,
        /// It stood behind one that failed.
        Flushed = 3,
    }
}

coded! {
    /// Why packets go again; each spends a retry.
    Loss 2 {
        /// Nothing came for too long.
        #[default]
        Timeout = 0,
        /// A negative acknowledgement: sequence error.
        Nak = 1,
        /// A response past a READ or ATOMIC that waits for its own.
        Implied = 2,
    }
}

coded! {
    /// Why the responder drops a request without an answer.
    RcDrop 1 {
        /// Behind a gap that has its negative acknowledgement.
        #[default]
        Gap = 0,
        /// A duplicate READ or ATOMIC whose record is gone.
        Record = 1,
    }
}

coded! {
    /// What a response packet is. All but the middle one have an AETH.
    RspKind 3 {
        /// Positive or negative, by its syndrome.
        #[default]
        Ack = 0,
        /// The first of several packets of a READ's response.
        ReadFirst = 1,
        /// One between the first and the last.
        ReadMiddle = 2,
        /// The last of several.
        ReadLast = 3,
        /// The only one.
        ReadOnly = 4,
        /// An ATOMIC's result.
        Atomic = 5,
    }
}

/// A work request as it is posted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct RcWqe {
    /// What it asks for.
    pub op: Op,
    /// ATOMIC: fetch and add; else compare and swap.
    pub add: bool,
    /// A completion entry is wanted.
    pub signal: bool,
    /// Bytes; of an ATOMIC 8.
    #[bits(21)]
    pub len: u32,
    /// Where the payload comes from, or the response goes.
    pub laddr: u64,
    /// Where it goes, or the response comes from.
    pub raddr: u64,
    /// ATOMIC: what is added, or swapped in.
    pub operand: u64,
    /// ATOMIC: what is compared.
    pub compare: u64,
}

/// A request packet. The payload goes beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Request {
    /// What its message is.
    pub op: Op,
    /// First of its message.
    pub first: bool,
    /// Last of its message.
    pub last: bool,
    /// An acknowledgement is asked for.
    pub ack_req: bool,
    /// BTH.
    pub psn: Psn,
    /// RETH or `AtomicETH` of a first packet.
    pub raddr: u64,
    /// RETH: bytes of the message; of a READ those still wanted.
    #[bits(21)]
    pub len: u32,
    /// Bytes of its payload.
    #[bits(13)]
    pub bytes: u16,
    /// `AtomicETH`.
    pub add: bool,
    /// `AtomicETH`.
    pub operand: u64,
    /// `AtomicETH`.
    pub compare: u64,
}

/// A response packet. The payload goes beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Response {
    /// What it is.
    pub kind: RspKind,
    /// BTH.
    pub psn: Psn,
    /// AETH; zero where there is none.
    pub syndrome: u8,
    /// AETH; zero where there is none.
    pub msn: Psn,
    /// Bytes of its payload.
    #[bits(13)]
    pub bytes: u16,
    /// `AtomicAckETH`.
    pub result: u64,
}

impl Response {
    /// A negative acknowledgement.
    pub fn refuses(&self) -> bool {
        self.kind == RspKind::Ack && self.syndrome & 0x60 != 0
    }
}

/// One entry of the replay store: a packet, rebuilt from it and its work request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Entry {
    /// Place of its work request.
    #[bits(6)]
    pub wqe: u8,
    /// Its PSN.
    pub psn: Psn,
    /// Of a READ that of its last response.
    pub last_psn: Psn,
    /// Of its payload in the message.
    #[bits(21)]
    pub offset: u32,
    /// Last of its work request.
    pub last: bool,
}

/// A READ or ATOMIC sent, its response not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Waiting {
    /// Place of its work request.
    #[bits(6)]
    pub wqe: u8,
    /// First PSN of the response.
    pub psn: Psn,
    /// Last PSN of the response.
    pub last_psn: Psn,
    /// An ATOMIC.
    pub atomic: bool,
    /// Where the response goes.
    pub laddr: u64,
}

/// What the responder keeps of a READ or ATOMIC, to answer it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Record {
    /// First PSN of the response.
    pub psn: Psn,
    /// Last PSN of the response.
    pub last_psn: Psn,
    /// An ATOMIC.
    pub atomic: bool,
    /// Where the data lies.
    pub raddr: u64,
    /// Bytes of the response.
    #[bits(21)]
    pub len: u32,
    /// An ATOMIC's.
    pub result: u64,
}

/// A completion entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct RcCqe {
    /// Send sequence number.
    pub ssn: Psn,
    /// What the work request was.
    pub op: Op,
    /// How it ended.
    pub status: Status,
}

/// PSNs of a message of `len` bytes: one for each packet, of a READ in its response. At least 1.
pub fn span(len: u32, mtu: u8) -> u32 {
    if len == 0 { 1 } else { len.div_ceil(1 << mtu) & 0x1fff }
}

/// Bytes of the next packet where `left` are to go.
pub fn part(left: u32, mtu: u8) -> u16 {
    left.min(1 << mtu) as u16 & 0x1fff
}

#[cfg(test)]
mod tests {
    use super::{part, span};

    #[test]
    fn a_message_has_a_packet_and_a_psn_for_each_mtu() {
        let spans = [(0, 1), (1, 1), (4096, 1), (4097, 2), (8192, 2), (1 << 20, 256)];
        assert!(spans.iter().all(|(len, psns)| span(*len, 12) == *psns));
        assert_eq!(span(1 << 20, 8), 4096);
        assert_eq!((part(0, 12), part(4097, 12), part(255, 8)), (0, 4096, 255));
    }
}
