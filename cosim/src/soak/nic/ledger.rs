//! What the buffers, pauses and disciplines of a NIC met.

use std::collections::BTreeMap;

use rtl_model::host_interface::{CLASSES, level};
use rtl_model::nic::Nic;

/// What the report lists even if it never happened.
pub const NAMES: [&str; 18] = [
    "PFC pause",
    "PFC pause again",
    "PFC XON at a check",
    "PFC XON at a release",
    "paused data",
    "paused control",
    "egress stop",
    "egress half",
    "control waits for its pool",
    "choice StrictPriority",
    "choice RoundRobin",
    "choice WeightedRoundRobin",
    "penalty told",
    "service time told",
    "prefetch stop",
    "prefetch half",
    "commit held",
    "payload dropped in the prefetch buffer",
];
/// The same where an ingress pool may fill.
pub const LOSSES: [&str; 1] = ["ingress above half"];

/// Of one NIC.
#[derive(Default)]
pub struct Ledger {
    /// Classes with a pause outstanding.
    paused: u8,
    /// Releases of the clock before that leave Xon or less.
    drained: u8,
    stopped: bool,
    /// Stopped for want of room in the prefetch buffer; commits are held.
    fetching: [bool; 2],
    /// How often each thing happened.
    pub seen: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// A clock of the NIC, before its edge.
    pub fn look(&mut self, nic: &Nic) {
        self.prefetch(nic);
        self.pauses(nic);
        self.port(nic);
        self.answers(nic);
    }

    fn met(&mut self, what: &'static str, n: u64) {
        if n > 0 {
            *self.seen.entry(what).or_default() += n;
        }
    }

    /// BUF-5.
    fn prefetch(&mut self, nic: &Nic) {
        let (i, o) = (&nic.i.prefetch_pool, &nic.o.prefetch_pool);
        let now = &nic.b.tx_scheduler;
        let waits = [now.prefetch_armed, now.held && nic.o.payload_fetch.commit_valid];
        self.met("prefetch stop", u64::from(waits[0] && !self.fetching[0]));
        self.met("prefetch half", o.half_valid.into());
        self.met("commit held", u64::from(waits[1] && !self.fetching[1]));
        self.met("payload dropped in the prefetch buffer", i.drop_valid.into());
        self.fetching = waits;
    }

    /// PFC-1 to PFC-3.
    fn pauses(&mut self, nic: &Nic) {
        let (i, o) = (&nic.i.pause_send, &nic.o.pause_send);
        let of = |bits: u8| u64::from(bits.count_ones());
        self.met("PFC pause", of(o.xoff & !self.paused));
        self.met("PFC pause again", of(o.xoff & self.paused));
        self.met("PFC XON at a release", of(o.xon & self.drained));
        self.met("PFC XON at a check", of(o.xon & !self.drained));
        self.paused = (self.paused | o.xoff) & !o.xon;
        let low = |c: &usize| level(&i.occ, *c) <= level(&i.cfg_xon, *c);
        self.drained = (0..CLASSES).filter(low).fold(0, |all, c| all | i.rel_cls & 1 << c);
    }

    /// PFC-4, SEG-4, SACK-6, ARB-2.
    fn port(&mut self, nic: &Nic) {
        let (i, o) = (&nic.i.egress_arbiter, &nic.o.egress_arbiter);
        let waits = i.paused & i.cls_valid;
        self.met("paused data", (waits & 1).into());
        self.met("paused control", (waits >> 1 & 1).into());
        let stopped = nic.b.tx_scheduler.stopped;
        self.met("egress stop", u64::from(stopped && !self.stopped));
        self.stopped = stopped;
        self.met("egress half", o.half_valid.into());
        let room = o.ctl_free >= 94 || level(&i.cfg_egress_pool, 1) < 94;
        self.met("control waits for its pool", u64::from(!room && nic.i.ack_build.answer_valid));
        if o.cls_ready != 0 && (i.cls_valid & !i.paused).count_ones() > 1 {
            let choices = [9, 10, 11].map(|n| NAMES[n]);
            self.met(choices[usize::from(i.cfg_sched) % 3], 1);
        }
    }

    /// BUF-6, BUF-7, RTT-2; what the data pool holds.
    fn answers(&mut self, nic: &Nic) {
        let (i, o) = (&nic.i.ack_hold, &nic.o.ack_hold);
        let told = o.held_valid && i.held_ready && o.stamped.answer.sack;
        self.met("penalty told", u64::from(told && o.stamped.penalty > 0));
        self.met("service time told", u64::from(told && o.stamped.service > 0));
        let sizes = &nic.i.ingress_pool.cfg_ingress_pool;
        let above = 2 * u64::from(nic.o.ingress_pool.held(0)) > u64::from(level(sizes, 0));
        self.met("ingress above half", above.into());
    }
}
