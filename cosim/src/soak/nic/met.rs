//! Windows that shut, timers that come too late, a queue that is full: what a NIC's transport met.

use std::collections::BTreeMap;

use rtl_model::ack_take;
use rtl_model::nic::Nic;
use rtl_model::retransmit::{Job, State};

/// What the report lists even if it never happened.
pub const NAMES: [&str; 3] = ["PSN window shut", "congestion window shut", "control queue full"];
/// The same where data may be lost.
pub const LOSSES: [&str; 4] =
    ["recovery begins", "stale timer", "whole PSN window shut", "gap of more than 512"];

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

    fn queue(&mut self, nic: &Nic) {
        let full = nic.i.ctl_queue.in_valid && !nic.o.ctl_queue.in_ready;
        self.met("control queue full", full && !self.full);
        self.full = full;
    }
}
