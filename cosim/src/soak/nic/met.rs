//! Windows that shut, timers that come too late, a queue that is full: what a NIC's transport met.

use std::collections::BTreeMap;

use rtl_model::ack_take;
use rtl_model::nic::Nic;
use rtl_model::retransmit::{Job, State};
use rtl_model::sack_bitmap::Op;

use crate::made::{self, Made};
use crate::switch::frame::Kind;

/// What the report lists even if it never happened.
pub const NAMES: [&str; 4] =
    ["PSN window shut", "congestion window shut", "control queue full", "PSN ring wraps"];
/// The same where data may be lost.
pub const LOSSES: [&str; 6] = [
    "recovery begins",
    "stale timer",
    "whole PSN window shut",
    "gap of more than 512",
    "SACK walk wraps",
    "window at its floor",
];

/// What one NIC met.
pub struct Met {
    /// How often each thing happened; a stall or a recovery counts once, however long it is.
    pub seen: BTreeMap<&'static str, u64>,
    full: bool,
    recovers: bool,
    lost: bool,
    /// PSNs of window in this build.
    psns: u32,
}

impl Met {
    /// Nothing yet, of a build with so many PSNs of window.
    pub fn new(psns: u32) -> Self {
        Self { seen: BTreeMap::new(), full: false, recovers: false, lost: false, psns }
    }

    /// A clock of the NIC, before its edge.
    pub fn look(&mut self, nic: &Nic) {
        self.windows(nic);
        self.queue(nic);
        self.wraps(nic);
        let again = &nic.b.retransmit;
        let stale = again.state == State::Act && again.job == Job::Expire && !again.hit;
        self.met("stale timer", stale);
    }

    fn met(&mut self, what: &'static str, happens: bool) {
        if happens {
            *self.seen.entry(what).or_default() += 1;
        }
    }

    /// SEG-2, CC-1, LOS-2.
    fn windows(&mut self, nic: &Nic) {
        let (i, o) = (&nic.i.tx_scheduler, &nic.o.tx_scheduler);
        let qp = &o.qctx_wdata;
        let ahead = qp.next.minus(qp.cum.0).minus(1).0;
        let shut = o.qctx_we && qp.queued && ahead == u32::from(i.cfg_range);
        self.met("PSN window shut", shut);
        self.met("whole PSN window shut", shut && ahead == self.psns);
        self.met("congestion window shut", i.try_rsp_valid && !i.try_rsp_ok);
        let recovers = nic.b.ack_take.recovers;
        self.met("recovery begins", recovers && !self.recovers);
        self.recovers = recovers;
        let take = &nic.b.ack_take;
        let lost =
            take.state == ack_take::State::Lost && take.gap && nic.i.ack_take.cfg_loss >= 512;
        self.met("gap of more than 512", lost && !self.lost);
        self.lost = lost;
    }

    /// PSNs in their ring, SACKs back to their first block (SACK-3), a window that shrinks no more.
    fn wraps(&mut self, nic: &Nic) {
        let last = |made: Made| made.kind == Kind::Data && made.psn % self.psns == self.psns - 1;
        self.met("PSN ring wraps", made::data(nic).is_some_and(last));
        let (track, i) = (&nic.b.rx_track, &nic.i.rx_track);
        let reports = i.map_rsp_valid && matches!(track.map_op, Op::Report | Op::Hold);
        let back = i.map_rsp_psn.ahead_of(track.side.walk) < 0;
        self.met("SACK walk wraps", reports && back);
        let (i, o) = (&nic.i.window, &nic.o.window);
        let shrinks = o.win_we && nic.b.window.shrink;
        self.met("window at its floor", shrinks && o.win_wdata.cwnd == u32::from(i.cfg_unit));
    }

    fn queue(&mut self, nic: &Nic) {
        let full = nic.i.ctl_queue.in_valid && !nic.o.ctl_queue.in_ready;
        self.met("control queue full", full && !self.full);
        self.full = full;
    }
}
