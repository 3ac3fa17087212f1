//! Packets that a NIC has made and not yet sent, in the order of their queue, and what caused those
//! that go again.

use std::collections::{BTreeMap, VecDeque};

use rtl_model::retransmit::Cause;

use crate::event::Event;
use crate::made::Made;
use crate::switch::frame::Kind;

/// The origin of a message's last packet that asks for a cumulative ACK (CPL-2).
const COVER: &str = "completion";

/// Those of one NIC. Data packets leave in the order in which they were made, and so do control
/// frames, and probes.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    data: VecDeque<(Made, Option<&'static str>)>,
    control: VecDeque<(Made, Option<&'static str>)>,
    probes: VecDeque<(Made, Option<&'static str>)>,
    /// By table index of the QP, and PSN.
    causes: BTreeMap<(u8, u32), &'static str>,
}

impl Origins {
    /// A packet waits to go again.
    pub fn queued(&mut self, qp: u8, psn: u32, cause: Cause) {
        let name = match cause {
            Cause::Gap => "sack_gap",
            Cause::Trimmed => "nack_trimmed",
            Cause::LastHop => "nack_trimmed_lasthop",
            Cause::Range => "nack_psn_oor_window",
            Cause::Timeout => "timeout",
            Cause::Cover => COVER,
            // A question: nothing is queued.
            Cause::Sample => return,
        };
        self.causes.insert((qp, psn), name);
    }

    /// A packet has been made.
    pub fn made(&mut self, made: Made) {
        let again = made.qp.filter(|_| made.kind == Kind::Retransmission);
        let cause = again.and_then(|qp| self.causes.remove(&(qp, made.psn)));
        let queue = match made.kind {
            Kind::Probe => &mut self.probes,
            kind if kind.is_data() => &mut self.data,
            _ => &mut self.control,
        };
        queue.push_back((made, cause));
    }

    /// Follows an event; true where a packet leaves that only asks for a cumulative ACK (CPL-2).
    pub fn asks(&mut self, event: &Event) -> bool {
        match event {
            Event::Made(made) => self.made(*made),
            Event::Queued { qp, psn, cause } => self.queued(*qp, *psn, *cause),
            Event::Sent { bytes, .. } => {
                let cause = self.leaves(Kind::of(bytes)).and_then(|(_, cause)| cause);
                return cause == Some(COVER);
            }
            _ => {}
        }
        false
    }

    /// The packet that a frame of this kind is, with the cause of a retransmission; none of a frame
    /// that no block has told of.
    pub fn leaves(&mut self, kind: Kind) -> Option<(Made, Option<&'static str>)> {
        match kind {
            Kind::Pause | Kind::Other => None,
            Kind::Data | Kind::Retransmission => self.data.pop_front(),
            Kind::Ack | Kind::Sack | Kind::Nack => self.control.pop_front(),
            Kind::Probe => self.probes.pop_front(),
        }
    }
}
