//! Words of `rx_track`'s memories, and what a packet makes of a receiver side.
//!
//! Twin of `hdl/track_pkg.sv`.

use derive::Packed;
use serde::{Deserialize, Serialize};

use crate::types::{Parsed, Psn, Qpn};

/// What a packet counts at least towards the next SACK (SACK-1).
pub const COUNT_LEAST: u16 = 1024;
/// A count over it draws a SACK (SACK-1).
pub const COUNT_PASS: u16 = 4095;

/// A sender's slot: its receiver side, or its last life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Peer {
    /// It has a receiver side.
    pub open: bool,
    /// It has none, and `generation` is the last one closed.
    pub closed: bool,
    /// Of the sender's number.
    pub generation: u16,
    /// Of the receiver side.
    pub slot: u8,
}

/// A receiver side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Side {
    /// Not closed.
    pub open: bool,
    /// Of our number.
    pub generation: u16,
    /// The peer.
    #[bits(6)]
    pub dest: u8,
    /// The sender's number.
    pub sender_qpn: Qpn,
    /// The next PSN in order.
    pub expected: Psn,
    /// Bytes counted since the last SACK.
    #[bits(12)]
    pub count: u16,
    /// Nominal bytes received.
    pub rcvd: u32,
    /// Messages completed in order.
    #[bits(24)]
    pub msn: u32,
    /// PSNs held out of order.
    #[bits(11)]
    pub held: u16,
    /// Where the next report starts (SACK-3).
    pub walk: Psn,
    /// An ACK-request packet came over a gap (SACK-1).
    pub asked: bool,
    /// PSNs that came out of order.
    #[bits(15)]
    pub ooo: u16,
}

impl Side {
    /// SACK-1: counts a packet, and says whether it alone draws a SACK. `whole`: it is in order
    /// and the last of its message.
    pub(super) fn count(&mut self, p: &Parsed, whole: bool) -> bool {
        self.count += p.len.max(COUNT_LEAST);
        let sack = self.count > COUNT_PASS || p.ack_req || p.rtx || whole;
        if sack {
            self.count = 0;
        }
        sack
    }

    /// RX-7: a packet that is new.
    pub(super) fn receive(&mut self, len: u16, overhead: u8) {
        self.rcvd = self.rcvd.wrapping_add(u32::from(len) + u32::from(overhead));
    }

    /// RX-7: a packet in order.
    pub(super) fn advance(&mut self, len: u16, overhead: u8, last: bool) {
        self.receive(len, overhead);
        self.expected = self.expected.plus(1);
        self.msn = (self.msn + u32::from(last)) & 0xff_ffff;
    }
}

/// A last packet that is held: what its `RECV_COMPLETE` will say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct End {
    /// METH's msn.
    pub msn: u16,
    /// Bytes of the message.
    pub msg_len: u32,
}
