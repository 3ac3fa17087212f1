//! A host's driver: boot, messages, completions, closes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rtl_model::host_interface::{CQE_BYTES, CqeEntry, DOORBELL_PAGE, OP_WRITE, Wqe};
use rtl_model::rng::{Bytes, Rng};
use rtl_model::types::{Cqe, Qpn, Why};
use serde::{Deserialize, Serialize};

use crate::settings::{MessageSettings, Settings};

/// Where sources start unless a scenario says so: above 4 GiB.
pub const SOURCES: u64 = 0x2_0000_0000;
/// Where targets start.
pub const TARGETS: u64 = 0x5_0000_0000;
/// The lowest place where either may start.
pub const LOWEST: u64 = 0x2000_0000;
/// Where the host sees the NIC's pages.
pub const BAR: u64 = 0xf000_0000;
/// The completion ring's address.
pub const CQ_BASE: u64 = 0x1000_0000;
/// Completion entries of the ring, as a power of two.
pub const CQ_LOG2: u32 = 12;

/// One message of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageState {
    /// Entry of the scenario it belongs to.
    pub entry: usize,
    /// Sender's index.
    pub from: usize,
    /// Receiver's index.
    pub to: usize,
    /// Bytes.
    pub bytes: u32,
    /// Source at the sender.
    pub laddr: u64,
    /// Target at the receiver.
    pub raddr: u64,
    /// Clock of the doorbell's post by the driver.
    pub posted: Option<u64>,
    /// QP number at the sender, once known.
    pub qpn: Option<Qpn>,
    /// Messages of the QP before it, once its `SEND_COMPLETE` has come.
    pub msn: Option<u16>,
    /// Clocks in which the completion entries had arrived: send, WQE, receive.
    pub done: [Option<u64>; 3],
    /// The refusal, where there was one.
    pub refused: Option<u8>,
    /// The clock in which its QP went into error: it never completes.
    pub failed: Option<u64>,
    /// What put its QP in error (QP-6).
    pub why: Option<Why>,
}

/// What a host shall do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Write to the NIC's pages.
    Post {
        /// The host.
        nic: usize,
        /// The address.
        addr: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Map a message's two buffers.
    Map {
        /// The message.
        message: usize,
    },
    /// A message is through: hold the target against the source, then unmap both.
    Check {
        /// The message.
        message: usize,
    },
}

/// All drivers of a scenario. One value, for messages have two ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Driver {
    /// The messages so far.
    pub messages: Vec<MessageState>,
    /// What came back for writes that belong to no message, by refusal code.
    pub refusals: BTreeMap<u8, u64>,
    /// Completion entries read.
    pub entries: u64,
    /// Writes into the ring that were not the next entry, and entries that were not due: one that
    /// comes again, one of another number than its message's, one without a message.
    pub stray_entries: u64,
    /// Messages whose target did not equal their source.
    pub corrupted: Vec<usize>,
    /// Messages found whole at the receiver.
    pub intact: u64,
    plans: Vec<Plan>,
    sources: Vec<u64>,
    targets: Vec<u64>,
    rings: Vec<u64>,
    closes: BTreeMap<u64, Vec<(usize, Wqe)>>,
    /// (sender's index, its QP number) → receiver's number, seen in SACKs on the wire.
    learned: BTreeMap<(usize, Qpn), Qpn>,
    /// Messages posted and not complete, by (sender's index, QP number).
    live: BTreeMap<(usize, Qpn), BTreeSet<usize>>,
    /// Messages that the NIC has taken and not completed, by (sender's index, QP number).
    carried: BTreeMap<(usize, Qpn), BTreeSet<usize>>,
    /// Messages complete at the sender whose receive completion is not matched yet.
    unmatched: BTreeSet<usize>,
    /// QPs that went into error: sender's index, its number.
    failed: BTreeSet<(usize, Qpn)>,
    /// QPs that went into error before the receiver's number was known: sender's index, its number,
    /// receiver's index.
    orphans: Vec<(usize, Qpn, usize)>,
    /// Receive completions by (receiver's index, its QP number), not yet matched to a message.
    arrived: BTreeMap<(usize, Qpn), VecDeque<(u16, u64)>>,
    seed: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Plan {
    settings: MessageSettings,
    left: u64,
    open: u64,
    rng: Rng,
    /// The QP that all messages share, once it is known; the first message waits for it.
    shared: Option<Qpn>,
    asked: bool,
}

impl Driver {
    /// Nothing posted.
    pub fn new(settings: &Settings) -> Self {
        let plan = |(n, m): (usize, &MessageSettings)| Plan {
            settings: m.clone(),
            left: m.count,
            open: 0,
            rng: Rng::new(settings.seed, &format!("message {n} bytes")),
            shared: None,
            asked: false,
        };
        let nics = settings.nics.len();
        Self {
            messages: Vec::new(),
            refusals: BTreeMap::new(),
            entries: 0,
            stray_entries: 0,
            corrupted: Vec::new(),
            intact: 0,
            plans: settings.messages.iter().enumerate().map(plan).collect(),
            sources: settings.nics.iter().map(|n| n.bases[0]).collect(),
            targets: settings.nics.iter().map(|n| n.bases[1]).collect(),
            rings: vec![0; nics],
            closes: BTreeMap::new(),
            learned: BTreeMap::new(),
            live: BTreeMap::new(),
            carried: BTreeMap::new(),
            unmatched: BTreeSet::new(),
            failed: BTreeSet::new(),
            orphans: Vec::new(),
            arrived: BTreeMap::new(),
            seed: settings.seed,
        }
    }

    /// Every message is posted and complete at both ends, and every close has been written.
    pub fn finished(&self) -> bool {
        self.plans.iter().all(|p| p.left == 0 && p.open == 0) && self.closes.is_empty()
    }

    /// The next clock at which something is due without a completion; `u64::MAX` for never.
    pub fn due(&self, boot: u64) -> u64 {
        let close = self.closes.keys().next().copied().unwrap_or(u64::MAX);
        let starts = self.plans.iter().filter(|p| p.ready()).map(|p| boot + p.settings.at);
        starts.min().unwrap_or(u64::MAX).min(close)
    }

    /// What is to do in `clock`.
    pub fn step(&mut self, clock: u64, boot: u64, out: &mut Vec<Action>) {
        for n in 0..self.plans.len() {
            self.plans[n].end(clock - boot.min(clock));
            while self.plans[n].ready() && boot + self.plans[n].settings.at <= clock {
                self.post(n, clock, out);
            }
        }
        while let Some(entry) = self.closes.first_entry().filter(|e| *e.key() <= clock) {
            for (nic, wqe) in entry.remove() {
                out.push(ring(nic, &wqe));
            }
        }
    }

    fn post(&mut self, n: usize, clock: u64, out: &mut Vec<Action>) {
        let plan = &mut self.plans[n];
        let s = plan.settings.clone();
        let bytes = plan.rng.between(s.bytes.0, s.bytes.1);
        plan.left -= 1;
        plan.open += 1;
        let share = s.one_qp.then_some(plan.shared).flatten();
        plan.asked = true;
        let room = (bytes + s.offset).div_ceil(4096).max(1) * 4096;
        let (laddr, raddr) = (self.sources[s.from] + s.offset, self.targets[s.to] + s.offset);
        self.sources[s.from] += room;
        self.targets[s.to] += room;
        let id = self.messages.len();
        out.push(Action::Map { message: id });
        let wqe = Wqe {
            opcode: OP_WRITE,
            open: share.is_none(),
            qpn: share.unwrap_or_default(),
            dest: s.to as u8,
            length: bytes as u32,
            laddr,
            raddr,
            rkey: id as u32,
            cookie: id as u64 + 1,
        };
        out.push(ring(s.from, &wqe));
        self.messages.push(MessageState {
            entry: n,
            from: s.from,
            to: s.to,
            bytes: bytes as u32,
            laddr,
            raddr,
            posted: Some(clock),
            qpn: share,
            msn: None,
            done: [None; 3],
            refused: None,
            failed: None,
            why: None,
        });
        if let Some(qpn) = share {
            self.live.entry((s.from, qpn)).or_default().insert(id);
        }
    }

    /// A message's bytes.
    pub fn payload(&self, message: usize) -> Bytes {
        Rng::new(self.seed, &format!("message {message} payload")).bytes()
    }

    /// A message's target has been held against its source.
    pub fn judge(&mut self, message: usize, equal: bool) {
        if equal {
            self.intact += 1;
        } else {
            self.corrupted.push(message);
        }
    }

    /// A SACK has crossed the wire: the receiver's number of a QP is known.
    pub fn learn(&mut self, sender: usize, qpn: Qpn, receivers: Qpn) {
        self.learned.insert((sender, qpn), receivers);
    }

    /// Whether a write of the NIC fell into the completion ring.
    pub fn is_entry(addr: u64) -> bool {
        (CQ_BASE..CQ_BASE + ((CQE_BYTES as u64) << CQ_LOG2)).contains(&addr)
    }

    /// The address of the next entry that a host expects, and the phase it will have.
    pub fn next_entry(&self, nic: usize) -> (u64, bool) {
        let at = self.rings[nic];
        (CQ_BASE + at % (1 << CQ_LOG2) * CQE_BYTES as u64, at >> CQ_LOG2 & 1 == 0)
    }

    /// Reads an entry that has arrived at a host.
    pub fn completion(
        &mut self,
        clock: u64,
        nic: usize,
        entry: &CqeEntry,
        close_delay: u64,
        out: &mut Vec<Action>,
    ) {
        self.rings[nic] += 1;
        self.entries += 1;
        match entry.kind {
            Cqe::Recv => {
                let at = self.arrived.entry((nic, entry.qpn)).or_default();
                at.push_back((entry.msn, clock));
            }
            Cqe::Error => self.refused(clock, entry, close_delay),
            Cqe::Send => self.sent(clock, entry),
            Cqe::Wqe => self.completed(clock, entry, close_delay),
        }
        self.settle(out);
    }

    fn message(&mut self, entry: &CqeEntry) -> Option<usize> {
        let id = (entry.cookie as usize).checked_sub(1)?;
        (id < self.messages.len()).then_some(id)
    }

    fn refused(&mut self, clock: u64, entry: &CqeEntry, close_delay: u64) {
        *self.refusals.entry(entry.code as u8).or_default() += 1;
        let Some(id) = self.message(entry) else { return };
        self.messages[id].refused = Some(entry.code as u8);
        let plan = &mut self.plans[self.messages[id].entry];
        plan.open -= 1;
        // The next message asks for the QP that this one did not get.
        plan.asked &= plan.shared.is_some();
        let (from, to) = (self.messages[id].from, self.messages[id].to);
        let Some(qpn) = self.messages[id].qpn else { return };
        let last = match self.leave_failed(id, qpn) {
            Some(last) => last,
            None => self.retire(clock + close_delay, id, qpn),
        };
        if last
            && let Some(receivers) = self.learned.get(&(from, qpn)).copied()
            && !self.waits_for_receiver(from, qpn)
        {
            self.close_receiver(clock, from, qpn, to, receivers);
        }
    }

    fn sent(&mut self, clock: u64, entry: &CqeEntry) {
        let Some(id) = self.message(entry) else { return };
        let message = &mut self.messages[id];
        if message.done[0].is_some() {
            self.stray_entries += 1;
            return;
        }
        message.done[0] = Some(clock);
        message.msn = Some(entry.msn);
        message.qpn = Some(entry.qpn);
        let plan = &mut self.plans[message.entry];
        plan.shared = plan.settings.one_qp.then_some(entry.qpn);
        if message.done[1].is_none() && message.failed.is_none() {
            self.live.entry((message.from, entry.qpn)).or_default().insert(id);
        }
    }

    /// The NIC has taken a message: its QP is known.
    pub fn taken(&mut self, nic: usize, qpn: Qpn, cookie: u64) {
        let Some(id) = (cookie as usize).checked_sub(1) else { return };
        if id < self.messages.len() && self.messages[id].done[1].is_none() {
            self.carried.entry((nic, qpn)).or_default().insert(id);
        }
    }

    /// A QP has gone into error: what it carries never completes. The sender's side is closed as
    /// after a completion, and the receiver's once what did arrive is matched.
    pub fn qp_failed(&mut self, clock: u64, nic: usize, (qpn, why): (Qpn, Why), close_delay: u64) {
        let failed = self.carried.remove(&(nic, qpn)).unwrap_or_default();
        self.live.remove(&(nic, qpn));
        self.failed.insert((nic, qpn));
        for id in &failed {
            let message = &mut self.messages[*id];
            message.failed = Some(clock);
            message.why = Some(why);
            message.qpn = Some(qpn);
            let plan = &mut self.plans[message.entry];
            plan.open -= 1;
            if plan.shared == Some(qpn) || plan.shared.is_none() {
                (plan.shared, plan.asked) = (None, false);
            }
        }
        let due = clock + close_delay;
        self.closes.entry(due).or_default().push((nic, Wqe::close_sender(qpn)));
        let Some(to) = failed.first().map(|id| self.messages[*id].to) else { return };
        match self.learned.get(&(nic, qpn)).copied() {
            None => self.orphans.push((nic, qpn, to)),
            Some(_) if self.waits_for_receiver(nic, qpn) => {}
            Some(receivers) => self.close_receiver(due, nic, qpn, to, receivers),
        }
    }

    /// Closes what receivers have open of QPs in error, now that there is something: `side` tells a
    /// receiver's number from its index, the sender's and the sender's number.
    pub fn close_orphans(&mut self, clock: u64, side: impl Fn(usize, usize, Qpn) -> Option<Qpn>) {
        let found = |(from, qpn, to)| side(to, from, qpn).map(|number| (from, qpn, to, number));
        let open: Vec<_> = self.orphans.iter().copied().filter_map(found).collect();
        for (from, qpn, to, receivers) in open {
            self.orphans.retain(|o| *o != (from, qpn, to));
            self.close_receiver(clock, from, qpn, to, receivers);
        }
    }

    fn completed(&mut self, clock: u64, entry: &CqeEntry, close_delay: u64) {
        let Some(id) = self.message(entry) else { return };
        if self.messages[id].failed.is_some() {
            // The entry stood in the host's buffer when the QP went into error.
            return;
        }
        if self.messages[id].done[1].is_some() || self.messages[id].msn != Some(entry.msn) {
            self.stray_entries += 1;
            return;
        }
        self.messages[id].done[1] = Some(clock);
        self.messages[id].qpn = Some(entry.qpn);
        if let Some(carried) = self.carried.get_mut(&(self.messages[id].from, entry.qpn)) {
            carried.remove(&id);
        }
        self.unmatched.insert(id);
        self.retire(clock + close_delay, id, entry.qpn);
    }

    /// A message was posted to a shared QP that has gone into error since, and is refused: whether it
    /// is the last of them. The sender's side is closed already. `None` where the QP lives.
    fn leave_failed(&mut self, id: usize, qpn: Qpn) -> Option<bool> {
        let plan = &self.plans[self.messages[id].entry];
        let key = (self.messages[id].from, qpn);
        let failed = plan.settings.one_qp && plan.shared != Some(qpn);
        let of_qp = self.live.get_mut(&key).filter(|_| failed)?;
        of_qp.remove(&id);
        let last = of_qp.is_empty();
        if last {
            self.live.remove(&key);
        }
        Some(last)
    }

    /// A message is done with its QP; after the last one the sender's side is closed at `due`.
    fn retire(&mut self, due: u64, id: usize, qpn: Qpn) -> bool {
        let nic = self.messages[id].from;
        let of_qp = self.live.entry((nic, qpn)).or_default();
        of_qp.remove(&id);
        let plan = &self.plans[self.messages[id].entry];
        let last = of_qp.is_empty() && !(plan.settings.one_qp && plan.left > 0);
        if last {
            self.live.remove(&(nic, qpn));
            self.closes.entry(due).or_default().push((nic, Wqe::close_sender(qpn)));
        }
        last
    }

    /// Some message of a QP is complete at the sender, its receive completion still to come.
    fn waits_for_receiver(&self, from: usize, qpn: Qpn) -> bool {
        let of = |m: &MessageState| m.from == from && m.qpn == Some(qpn);
        self.unmatched.iter().any(|id| of(&self.messages[*id]))
    }

    /// The receiver's side of a QP goes too. What has arrived and is not matched belongs to a message
    /// that has failed at its sender, or to none.
    fn close_receiver(&mut self, due: u64, from: usize, qpn: Qpn, to: usize, receivers: Qpn) {
        let left = self.arrived.remove(&(to, receivers)).map_or(0, |a| a.len());
        // One in error may be closed once more, for a SACK that was under way.
        if !self.failed.contains(&(from, qpn)) {
            self.stray_entries += left as u64;
        }
        self.learned.remove(&(from, qpn));
        self.closes.entry(due).or_default().push((to, Wqe::close_receiver(receivers)));
    }

    /// Matches receive completions to messages; closes the receiver's side once all are matched.
    fn settle(&mut self, out: &mut Vec<Action>) {
        for id in self.unmatched.iter().copied().collect::<Vec<_>>() {
            let message = &self.messages[id];
            let (Some(clock), Some(qpn)) = (message.done[1], message.qpn) else { continue };
            let Some(receivers) = self.learned.get(&(message.from, qpn)).copied() else { continue };
            let key = (message.to, receivers);
            let Some(arrived) = self.arrived.get_mut(&key) else { continue };
            let Some((msn, at)) = arrived.pop_front() else { continue };
            self.stray_entries += u64::from(message.msn != Some(msn));
            let from = message.from;
            self.unmatched.remove(&id);
            self.messages[id].done[2] = Some(at);
            self.plans[self.messages[id].entry].open -= 1;
            out.push(Action::Check { message: id });
            if !self.live.contains_key(&(from, qpn)) && !self.waits_for_receiver(from, qpn) {
                let to = self.messages[id].to;
                self.close_receiver(clock, from, qpn, to, receivers);
            }
        }
    }
}

impl Plan {
    /// Nothing more is posted once its time is over.
    fn end(&mut self, clock: u64) {
        if clock >= self.settings.until {
            self.left = 0;
        }
    }

    fn ready(&self) -> bool {
        let waits = self.settings.one_qp && self.asked && self.shared.is_none();
        self.left > 0 && self.open < self.settings.outstanding && !waits
    }
}

/// A doorbell write.
fn ring(nic: usize, wqe: &Wqe) -> Action {
    Action::Post { nic, addr: BAR + DOORBELL_PAGE, bytes: wqe.to_bytes().into() }
}
