//! What a run tells its recorders.

use rtl_model::nic::Nic;
use rtl_model::path_select::FIRST_PORT;
use rtl_model::retransmit::Cause;
use rtl_model::rtt_sample::Origin;
use rtl_model::types::{Cqe, Drop, Refuse, Why};
use serde::{Deserialize, Serialize};

use crate::host::LinkEvent;
use crate::made::{self, Made};
use crate::switch::Act;
use crate::world::World;

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
    /// A QP is in error (QP-6).
    QpError {
        /// Its number at this NIC.
        qpn: u32,
        /// Why.
        why: Why,
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
    /// A segment's payload could not be read (PCI-8): it will not be sent.
    ReadFailed {
        /// Table index of its QP at this NIC.
        qp: u8,
        /// Its PSN.
        psn: u32,
        /// Bytes.
        len: u16,
        /// The reason of `payload_fetch`.
        reason: u8,
    },
    /// A beat from the host came without room in the receive buffer (PCI-4).
    Overrun,
    /// A duplicate arrived (RX-7).
    Duplicate,
    /// A packet came out of order and is held (RX-7).
    OutOfOrder,
    /// A trimmed packet of an open QP arrived in its window (RX-5).
    Trimmed,
    /// Control frames found no room to wait (SACK-6).
    ControlDropped(u8),
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
    /// A packet was made: it waits at the egress queue now.
    Made(Made),
    /// A timer's expiry was served; its packet may be acknowledged or the timer's slot another's.
    Expired {
        /// Replay slot.
        slot: u16,
        /// The tick at which it was due.
        tick: u64,
    },
    /// A packet was queued to go again.
    Queued {
        /// Table index of its QP at this NIC.
        qp: u8,
        /// Its PSN.
        psn: u32,
        /// Why.
        cause: Cause,
    },
    /// An entropy value is assumed bad (PTH-1).
    PathBad {
        /// The peer's address index.
        dest: u8,
        /// The value.
        port: u16,
    },
    /// A probe on it was answered: it is good again (PTH-2).
    PathGood {
        /// The peer's address index.
        dest: u8,
        /// The value.
        port: u16,
    },
    /// An entropy value is to be passed over once (PTH-1).
    PathSkipped {
        /// The peer's address index.
        dest: u8,
        /// The value.
        port: u16,
    },
    /// A probe found no room in the egress pool (PTH-2).
    ProbeMissed,
    /// A round trip was measured (RTT-1).
    RoundTrip {
        /// By what.
        origin: Origin,
        /// The peer's address index.
        dest: u8,
        /// Nanoseconds.
        rtt: u64,
    },
    /// A SACK or a NACK gave no sample: it is not known which transmission drew it (RTT-1).
    RoundTripUnsure,
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
        /// The bytes, FCS included, where frames are wanted.
        bytes: Vec<u8>,
    },
    /// The switch did something to a frame of this NIC, or sent it a pause.
    Switch(Act),
}

/// Takes events as they come: clock, index of the NIC, event.
pub trait Sink {
    /// One event.
    fn event(&mut self, clock: u64, nic: usize, event: &Event);

    /// True when frames' bytes are wanted; they cost time to put together.
    fn wants_frames(&self) -> bool {
        true
    }

    /// The first clock in which it wants to see the world before the edge; never, unless said.
    fn due(&self) -> u64 {
        u64::MAX
    }

    /// The world before the edge of a clock that it wants to see.
    fn look(&mut self, _world: &World) {}
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

/// Shows what a NIC's blocks say in this clock.
pub fn events(nic: &Nic, mut see: impl FnMut(Event)) {
    sender_events(nic, &mut see);
    timer_events(nic, &mut see);
    path_events(nic, &mut see);
    receiver_events(nic, &mut see);
}

fn sender_events(nic: &Nic, see: &mut impl FnMut(Event)) {
    let o = &nic.o;
    let table = &o.qp_table;
    if table.created_valid {
        let (qpn, dest) = (table.created_qpn.0, table.created_dest);
        see(Event::QpCreated { qpn, sender: true, dest });
    }
    if table.closed_valid {
        see(Event::QpClosed { qpn: table.closed_qpn.0, sender: true });
    }
    if o.qp_drain.error_valid {
        see(Event::QpError { qpn: o.qp_drain.error_qpn.0, why: o.qp_drain.error_why });
    }
    let bell = &o.doorbell;
    if bell.post_sched_valid && nic.i.doorbell.post_sched_ready {
        let (qpn, msn, bytes, dest) =
            (bell.post_qpn.0, bell.post_msn, bell.post_len, bell.post_dest);
        see(Event::Posted { qpn, msn, bytes, dest });
    }
    if bell.refuse_valid {
        see(Event::Refused(bell.refuse_code));
    }
    let done = &o.completion;
    if done.log_valid && matches!(done.log_kind, Cqe::Send | Cqe::Wqe) {
        let (qpn, msn, bytes) = (done.log_qpn.0, done.log_msn, done.log_len);
        see(Event::Completed { kind: done.log_kind, qpn, msn, bytes });
    }
    for (stalled, slots) in [(o.tx_scheduler.stall_slots, true), (o.tx_scheduler.stall_tags, false)]
    {
        if stalled {
            see(Event::Stalled { slots });
        }
    }
    let fetch = &o.payload_fetch;
    if fetch.failed_valid && nic.i.payload_fetch.failed_ready {
        let (seg, reason) = (&fetch.failed, fetch.failed_reason);
        see(Event::ReadFailed { qp: seg.qp, psn: seg.psn.0, len: seg.len, reason });
    }
    for made in [made::data(nic), made::control(nic), made::probe(nic)].into_iter().flatten() {
        see(Event::Made(made));
    }
}

fn timer_events(nic: &Nic, see: &mut impl FnMut(Event)) {
    let (wheel, again) = (&nic.o.timer_wheel, &nic.o.retransmit);
    if wheel.exp_valid && again.exp_ready {
        see(Event::Expired { slot: wheel.exp_slot, tick: wheel.exp_tick });
    }
    if again.queued_valid {
        let (qp, psn, cause) = (again.queued_qp, again.queued_psn.0, again.queued_cause);
        see(Event::Queued { qp, psn, cause });
    }
}

fn path_events(nic: &Nic, see: &mut impl FnMut(Event)) {
    let (paths, take) = (&nic.o.path_select, &nic.o.ack_take);
    let (dest, port) = (paths.told_dest, FIRST_PORT + u16::from(paths.told_value));
    if take.skip_valid {
        see(Event::PathSkipped { dest: take.skip_dest, port: take.skip_port });
    }
    if paths.rose_valid {
        see(Event::PathGood { dest, port });
    }
    if paths.fell_valid {
        see(Event::PathBad { dest, port });
    }
    if nic.o.path_probe.missed_valid {
        see(Event::ProbeMissed);
    }
    let rtt = &nic.o.rtt_sample;
    if rtt.sample_valid {
        let (origin, dest, rtt) = (rtt.sample_origin, rtt.sample_dest, rtt.sample_rtt);
        see(Event::RoundTrip { origin, dest, rtt });
    }
    if rtt.unsure_valid {
        see(Event::RoundTripUnsure);
    }
}

fn receiver_events(nic: &Nic, see: &mut impl FnMut(Event)) {
    let o = &nic.o;
    let track = &o.rx_track;
    if track.created_valid {
        let (qpn, dest) = (track.created_qpn.0, track.created_dest);
        see(Event::QpCreated { qpn, sender: false, dest });
    }
    if track.closed_valid {
        see(Event::QpClosed { qpn: track.closed_qpn.0, sender: false });
    }
    if track.recv_valid {
        see(Event::Received { qpn: track.recv_qpn.0, msn: track.recv_msn });
    }
    if track.dup_valid {
        see(Event::Duplicate);
    }
    if track.ooo_valid {
        see(Event::OutOfOrder);
    }
    if track.relt_valid && !track.drop_valid {
        see(Event::Trimmed);
    }
    if track.ctrl_drops > 0 {
        see(Event::ControlDropped(track.ctrl_drops));
    }
    for (dropped, reason) in [
        (o.ingress_pool.drop_valid, o.ingress_pool.drop_reason),
        (track.drop_valid, track.drop_reason),
        (o.ack_take.drop_valid, o.ack_take.drop_reason),
    ] {
        if dropped {
            see(Event::Dropped(reason));
        }
    }
    if o.pcie_room.over_valid {
        see(Event::Overrun);
    }
    for (bad, reason) in [
        (o.tlp_parse.bad_valid, o.tlp_parse.bad_reason),
        (o.payload_fetch.bad_valid, 0x10 | o.payload_fetch.bad_reason),
    ] {
        if bad {
            see(Event::BadTlp(reason));
        }
    }
}
