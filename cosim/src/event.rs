//! What a run tells its recorders.

use rtl_model::types::{Cqe, Drop, Refuse};
use serde::{Deserialize, Serialize};

use crate::host::LinkEvent;

/// An event of one NIC, in the clock in which its block shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A QP's side was opened (QP-2, QP-4).
    QpCreated {
        /// Its number at this NIC.
        qpn: u32,
        /// True for the sender's side.
        sender: bool,
        /// The peer's address index.
        dest: u8,
    },
    /// A QP's side was closed (QP-5).
    QpClosed {
        /// Its number at this NIC.
        qpn: u32,
        /// True for the sender's side.
        sender: bool,
    },
    /// A message was posted (QP-2).
    Posted {
        /// QP.
        qpn: u32,
        /// Messages of the QP before this one.
        msn: u16,
        /// Bytes.
        bytes: u32,
        /// The peer's address index.
        dest: u8,
    },
    /// `SEND_COMPLETE` or `WQE_COMPLETE` (CPL-1).
    Completed {
        /// Which.
        kind: Cqe,
        /// QP.
        qpn: u32,
        /// Messages of the QP before this one.
        msn: u16,
        /// Bytes.
        bytes: u32,
    },
    /// `RECV_COMPLETE`, at the arrival (RX-8).
    Received {
        /// QP.
        qpn: u32,
        /// Messages of the QP before this one.
        msn: u16,
    },
    /// A frame was dropped (RX-1, RX-2 …).
    Dropped(Drop),
    /// A page write was refused.
    Refused(Refuse),
    /// A TLP from the host was bad (PCI-8); the reason is the block's.
    BadTlp(u8),
    /// A duplicate arrived (RX-7).
    Duplicate,
    /// A turn was refused for want of replay slots or tags (SEG-5).
    Stalled {
        /// True for slots, false for tags.
        slots: bool,
    },
    /// The scheduler issued a fetch.
    Segment {
        /// Its PSN.
        psn: u32,
        /// Payload bytes.
        len: u16,
    },
    /// A packet was built: its PSN is given.
    Built {
        /// Its PSN.
        psn: u32,
        /// ACK-request flag.
        ack_request: bool,
    },
    /// Something moved on the PCIe link.
    Link(LinkEvent),
    /// A frame's serialisation ended.
    Sent {
        /// Units before the start of this clock.
        back: u32,
        /// The bytes, FCS included.
        bytes: Vec<u8>,
    },
    /// A frame arrived.
    Arrived {
        /// Bytes.
        len: u32,
    },
}

/// Takes events as they come: clock, index of the NIC, event.
pub trait Sink {
    /// One event.
    fn event(&mut self, clock: u64, nic: usize, event: &Event);

    /// True when frames' bytes are wanted; they cost time to put together.
    fn wants_frames(&self) -> bool {
        true
    }
}

/// Takes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Sink for Nowhere {
    fn event(&mut self, _clock: u64, _nic: usize, _event: &Event) {}
    fn wants_frames(&self) -> bool {
        false
    }
}
