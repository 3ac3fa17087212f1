//! The pools of a NIC kept in a book of their own, and what its buffers, pauses and disciplines met.

use std::collections::BTreeMap;

use rtl_model::host_interface::{CLASSES, level};
use rtl_model::image::Wide;
use rtl_model::nic::Nic;
use rtl_model::types::Drop;

/// What the report lists even if it never happened.
pub const NAMES: [&str; 20] = [
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
    "ingress above half",
    "ingress pools above class 1",
    "prefetch stop",
    "prefetch half",
    "commit held",
    "payload dropped in the prefetch buffer",
];

/// One NIC's book.
#[derive(Default)]
pub struct Ledger {
    /// What each pool holds by the events seen; nothing before the first clock.
    held: Option<[[i64; CLASSES]; 2]>,
    /// Class and charge of an arrival whose verdict comes with the next clock.
    judged: Option<(usize, i64)>,
    /// Classes with a pause outstanding.
    paused: u8,
    /// Releases of the clock before that leave Xon or less.
    drained: u8,
    stopped: bool,
    /// What the prefetch buffer holds by the events seen.
    prefetched: i64,
    /// Its size in the clock before.
    prefetch_size: i64,
    /// Stopped for want of room in it; commits are held.
    fetching: [bool; 2],
    /// Egress pools in the clock before.
    sizes: Option<Wide<4>>,
    /// How often each thing happened.
    pub seen: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// A clock of the NIC, before its edge: the pool that does not hold what came less what went.
    pub fn look(&mut self, nic: &Nic) -> Option<String> {
        let wrong = self.balance(nic).or_else(|| self.prefetch(nic));
        self.pauses(nic);
        self.port(nic);
        self.answers(nic);
        wrong
    }

    fn met(&mut self, what: &'static str, n: u64) {
        if n > 0 {
            *self.seen.entry(what).or_default() += n;
        }
    }

    /// BUF-1, BUF-3, BUF-4: every charge and reservation against every release.
    fn balance(&mut self, nic: &Nic) -> Option<String> {
        let (pool, port) = (&nic.o.ingress_pool, &nic.o.egress_arbiter);
        let now: [[i64; CLASSES]; 2] =
            [&pool.occ, &port.occ].map(|occ| std::array::from_fn(|c| level(occ, c).into()));
        let judged = self.judged.take().filter(|_| !pool.drop_valid);
        let held = self.held.get_or_insert(now);
        if let Some((class, charge)) = judged {
            held[0][class] += charge;
        }
        if port.end_valid && usize::from(port.end_cls) < CLASSES {
            held[1][usize::from(port.end_cls)] -= i64::from(port.end_len);
        }
        let wrong = (*held != now).then(|| format!("pools hold {now:?}, by the book {held:?}"));
        *held = now;
        let i = &nic.i.ingress_pool;
        if i.in_valid && i.in_drop == Drop::None {
            self.judged = Some((usize::from(i.in_cls), i.r#in.charge.into()));
        }
        for (valid, class, bytes) in [
            (i.rel_valid, i.rel_cls, i.rel_bytes),
            (i.rel2_valid, i.rel2_cls, i.rel2_bytes),
            (i.relt_valid, i.relt_cls, i.relt_bytes),
            (i.relc_valid, i.relc_cls, i.relc_bytes),
        ] {
            held[0][usize::from(class)] -= if valid { i64::from(bytes) } else { 0 };
        }
        let i = &nic.i.egress_arbiter;
        held[1][0] += if i.resv_valid { i64::from(i.resv_bytes) } else { 0 };
        held[1][1] += if i.cresv_valid { i64::from(i.cresv_bytes) } else { 0 };
        held[1][0] -= if i.unresv_valid { i64::from(i.unresv_bytes) } else { 0 };
        // Free bytes are a clock behind a pool that the host changes.
        let sizes = nic.i.egress_arbiter.cfg_egress_pool;
        let same = self.sizes.replace(sizes) == Some(sizes);
        wrong.or_else(|| if same { free(nic) } else { None })
    }

    /// BUF-5: what is fetched is held until it is committed or has come to nothing.
    fn prefetch(&mut self, nic: &Nic) -> Option<String> {
        let (i, o) = (&nic.i.prefetch_pool, &nic.o.prefetch_pool);
        let (held, size) = (i64::from(o.occ), i64::from(i.cfg_prefetch));
        // Free bytes are a clock behind a size that the host changes.
        let same = std::mem::replace(&mut self.prefetch_size, size) == size;
        let wrong = self.prefetched != held || same && held + i64::from(o.free) != size;
        let book = self.prefetched;
        let of = |valid: bool, bytes: u16| if valid { i64::from(bytes) } else { 0 };
        self.prefetched += of(i.take_valid, i.bytes);
        self.prefetched -= of(i.commit_valid, i.bytes) + of(i.drop_valid, i.drop_bytes);
        let now = &nic.b.tx_scheduler;
        let waits = [now.prefetch_armed, now.held && nic.o.payload_fetch.commit_valid];
        self.met("prefetch stop", u64::from(waits[0] && !self.fetching[0]));
        self.met("prefetch half", o.half_valid.into());
        self.met("commit held", u64::from(waits[1] && !self.fetching[1]));
        self.met("payload dropped in the prefetch buffer", i.drop_valid.into());
        self.fetching = waits;
        wrong.then(|| format!("{o:?} of {size} B prefetched, by the book {book}"))
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
        self.met("ingress pools above class 1", u64::from(level(sizes, 2) > 0));
    }
}

/// What is reserved and what is free are the pool, unless it has become too small.
fn free(nic: &Nic) -> Option<String> {
    let port = &nic.o.egress_arbiter;
    let free = [port.egress_free, port.ctl_free];
    let whole = |c: usize| {
        let (occ, size) = (level(&port.occ, c), level(&nic.i.egress_arbiter.cfg_egress_pool, c));
        free[c] == 0 || occ + free[c] == size
    };
    let wrong = (0..2).find(|c| !whole(*c))?;
    Some(format!("class {wrong} has {free:?} B free of what {:?} holds", port.occ))
}
