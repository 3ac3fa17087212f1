//! `tx_scheduler`: model and RTL get the same inputs and must agree on every clock; a sequential
//! scheduler without clocks, given the same accepted events, must name the same segments.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rtl_model::ram_1r1w::Ram;
use rtl_model::tx_scheduler::{Context, Inputs, Message, Outputs, Regs, State, Work};
use rtl_model::types::{Psn, Segment};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Wire and nominal overhead of the profile `mrc`.
const WIRE: u8 = 78;
const NOMINAL: u8 = 60;
/// Clocks from a half event to its pass (SEG-4).
const HALF_CLOCKS: u64 = 15;

/// The block with its three memories.
struct Dut {
    pair: Lockstep<Regs>,
    qctx: Ram<Context>,
    smsg: Ram<Message>,
    work: Ram<Work>,
}

impl Dut {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "memories");
        let mut dut = Self {
            pair: Lockstep::new("tx_scheduler", sizes, Start::Random(seed as u32)).expect("builds"),
            qctx: Ram::new(sizes.qps as usize),
            smsg: Ram::new(sizes.msgs as usize),
            work: Ram::new(sizes.qps as usize),
        };
        dut.qctx.randomize(&mut rng);
        dut.smsg.randomize(&mut rng);
        dut.work.randomize(&mut rng);
        dut
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.qctx_rdata = self.qctx.rdata;
        i.smsg_rdata = self.smsg.rdata;
        i.work_rdata = self.work.rdata;
        let o = self.pair.clock(i)?;
        self.qctx.clock(&port(o.qctx_we, o.qctx_waddr, o.qctx_wdata, o.qctx_re, o.qctx_raddr));
        self.smsg.clock(&port(o.smsg_we, o.smsg_waddr, o.smsg_wdata, o.smsg_re, o.smsg_raddr));
        self.work.clock(&port(o.work_we, o.work_waddr, o.work_wdata, o.work_re, o.work_raddr));
        Ok(o)
    }
}

fn port<T: rtl_model::image::Item>(
    we: bool,
    waddr: u32,
    wdata: T,
    re: bool,
    raddr: u32,
) -> rtl_model::ram_1r1w::Inputs<T> {
    rtl_model::ram_1r1w::Inputs { we, waddr, wdata, re, raddr }
}

/// A message as the reference knows it.
#[derive(Clone, Debug)]
struct Posted {
    msg: u16,
    laddr: u64,
    raddr: u64,
    rkey: u32,
    len: u64,
    msn: u16,
    /// Bytes issued.
    sent: u64,
    /// Of its first packet, once that is issued.
    first: Psn,
}

/// A QP as the reference knows it; packets are counted from 0, not in PSNs.
#[derive(Clone, Debug, Default)]
struct Qp {
    dest: u8,
    group: u8,
    queue: VecDeque<Posted>,
    next: u64,
    acked: u64,
    /// A packet waits to go again, as the block knows it.
    flagged: bool,
}

/// The rules SCH-1, SCH-2, SCH-3, SCH-4, SCH-5 and SEG-1, SEG-2, one event after the other.
#[derive(Default)]
struct Reference {
    mss: u64,
    range: u64,
    initial: u32,
    list: VecDeque<u8>,
    starved: BTreeSet<u8>,
    last: BTreeMap<u8, u8>,
    qps: BTreeMap<u8, Qp>,
    /// The group that asks its window before it joins.
    joining: Option<u8>,
    /// It goes to the head.
    joins_front: bool,
    /// The first PSN of the message last issued.
    first: Psn,
}

impl Reference {
    fn ready(&self, qp: &Qp) -> bool {
        !qp.queue.is_empty() && qp.next - qp.acked < self.range
    }

    /// QPs of a group with work, in the order of their turns.
    fn turns(&self, group: u8) -> Vec<u8> {
        let last = self.last.get(&group).copied().unwrap_or(255);
        let able = |qp: &Qp| qp.flagged || self.ready(qp);
        let work = |(n, qp): (&u8, &Qp)| (qp.group == group && able(qp)).then_some(*n);
        let all: Vec<u8> = self.qps.iter().filter_map(work).collect();
        let after = all.iter().copied().filter(|n| *n > last);
        let upto = all.iter().copied().filter(|n| *n <= last);
        after.chain(upto).collect()
    }

    /// SCH-4, SCH-5: a packet waits in the group, so it goes to the head.
    fn front(&self, group: u8) -> bool {
        self.qps.values().any(|qp| qp.group == group && qp.flagged)
    }

    /// The group goes back after its turn.
    fn back(&mut self, group: u8) {
        if self.turns(group).is_empty() {
            return;
        }
        if self.front(group) {
            self.list.push_front(group);
        } else {
            self.list.push_back(group);
        }
    }

    fn len(&self, qp: u8) -> u64 {
        let msg = &self.qps[&qp].queue[0];
        self.mss.min(msg.len - msg.sent)
    }

    fn psn(&self, n: u64) -> Psn {
        Psn((u64::from(self.initial).wrapping_add(n) & 0xff_ffff) as u32)
    }

    fn changed(&mut self, group: u8) {
        assert!(self.joining.is_none(), "group {group} changes while another joins");
        if !self.list.contains(&group) && !self.turns(group).is_empty() {
            self.joining = Some(group);
            self.joins_front = self.front(group);
        }
    }

    /// The head's turn on this QP: the segment that it sends.
    fn issue(&mut self, qp: u8, slot: u16) -> Segment {
        let group = self.list.pop_front().expect("a turn needs a ready group");
        let len = self.len(qp);
        let psn = self.psn(self.qps[&qp].next);
        let ctx = self.qps.get_mut(&qp).expect("open");
        let msg = &mut ctx.queue[0];
        if msg.sent == 0 {
            msg.first = psn;
        }
        let segment = Segment {
            qp,
            dest: ctx.dest,
            group,
            slot,
            msg: msg.msg,
            psn,
            laddr: msg.laddr.wrapping_add(msg.sent),
            len: len as u16,
            raddr: msg.raddr.wrapping_add(msg.sent),
            rkey: msg.rkey,
            msg_len: msg.len as u32,
            msn: msg.msn,
            first: msg.sent == 0,
            last: msg.sent + len == msg.len,
        };
        msg.sent += len;
        self.first = msg.first;
        if segment.last {
            ctx.queue.pop_front();
        }
        ctx.next += 1;
        self.last.insert(group, qp);
        self.back(group);
        segment
    }
}

/// What one random run is about.
#[derive(Clone, Copy, Debug)]
struct Case {
    mss: u16,
    range: u16,
    initial: u32,
    /// Egress data pool.
    pool: u32,
    /// Congestion window of each group.
    cwnd: u64,
    slots: u16,
    tags: u16,
    groups: bool,
    /// Chance of a partner to be ready, in percent.
    ready: u64,
    /// Chance of a release, an acknowledgement, a return, in percent.
    pace: u64,
    /// Chance of a post, in percent.
    posts: u64,
    /// Chance of a loss, in percent.
    losses: u64,
    /// Chance of a probe, in percent.
    probes: u64,
    /// The prefetch buffer; 0: there is none.
    prefetch: u32,
}

impl Case {
    const PLAIN: Self = Self {
        mss: 4096,
        range: 1024,
        initial: 0,
        pool: 230_400,
        cwnd: 108 * 4156,
        slots: 1024,
        tags: 256,
        groups: true,
        ready: 75,
        pace: 10,
        posts: 5,
        losses: 0,
        probes: 0,
        prefetch: 0,
    };

    /// Message lengths at the borders of SEG-1.
    fn length(&self, rng: &mut Rng) -> u64 {
        let mss = u64::from(self.mss);
        let lengths = [0, 1, mss - 1, mss, mss + 1, 2 * mss, 2 * mss + 1, 8_193.min(40 * mss)];
        rng.pick(&lengths)
    }
}

/// A packet that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Packet {
    nominal: u64,
    slot: u16,
    /// The message that ends with it.
    ends: Option<u16>,
    /// It waits to go again.
    waits: bool,
}

/// Everything around the block, and the reference beside it.
struct Bench {
    dut: Dut,
    case: Case,
    rng: Rng,
    /// For probes, and for payloads.
    rooms: Rng,
    payload: Rng,
    i: Inputs,
    reference: Reference,
    sizes: Sizes,
    /// Bytes in flight of each group.
    flight: BTreeMap<u8, u64>,
    answer: Option<(u64, bool)>,
    asked: Option<Outputs>,
    occupied: u32,
    frames: VecDeque<u32>,
    free_slots: VecDeque<u16>,
    late_slots: Vec<u16>,
    tags_out: Vec<u16>,
    free_msgs: VecDeque<u16>,
    msn: BTreeMap<u8, u16>,
    /// Packets not acknowledged, oldest first.
    unacked: BTreeMap<u8, VecDeque<Packet>>,
    /// The QP whose packet is asked for, and when the answer comes.
    asking: Option<(u8, u64)>,
    /// The answer is a packet that is on offer.
    offered: bool,
    /// What the end of its turn must say in this clock.
    expected_end: Option<bool>,
    /// What its turn must reserve in this clock.
    expected_resv: Option<u16>,
    /// What a probe is answered in this clock.
    expected_room: Option<bool>,
    /// BUF-5: payloads fetched and not committed, with when they arrive; bytes of the buffer.
    payloads: VecDeque<(u16, u64)>,
    prefetched: u32,
    /// Some were given back in the clock before.
    released: bool,
    /// A commit is told in this clock.
    expected_give: bool,
    /// No commit before a pass begins; the last thing was one.
    held: bool,
    yields: bool,
    prefetch_armed: bool,
    few_slots: bool,
    rings: Vec<u64>,
    half_due: Vec<u64>,
    armed: bool,
    stopped: bool,
    passing: bool,
    few_tags: bool,
    expected: Option<Segment>,
    /// Messages issued: QP, entry, last PSN, first PSN, slot of the last packet.
    ends: VecDeque<(u8, u16, Psn, Psn, u16)>,
    /// The copy that is asked for: when it is there, whether, and its payload.
    copy: Option<(u64, bool, u16)>,
    /// The end of a copy must be told in this clock.
    copy_ends: bool,
    segments: u64,
    seen: Seen,
}

/// Borders that a run has met.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    psn_shut: u64,
    window_shut: u64,
    stops: u64,
    bells: u64,
    stall_slots: u64,
    stall_tags: u64,
    passed_over: u64,
    rejoins: u64,
    rejoins_stopped: u64,
    exact_fit: u64,
    wraps: u64,
    drops: u64,
    waits: u64,
    resent: u64,
    misses: u64,
    resends_shut: u64,
    resends_stopped: u64,
    slotless: u64,
    rooms: u64,
    roomless: u64,
    copies: u64,
    copies_missed: u64,
    copies_stopped: u64,
    commits: u64,
    commits_held: u64,
    withdrawn: u64,
    yielded: u64,
}

impl Bench {
    fn new(case: Case, sizes: Sizes, seed: u64) -> Self {
        let mut bench = Self {
            dut: Dut::new(&sizes, seed),
            case,
            rng: Rng::new(seed, "tx_scheduler"),
            rooms: Rng::new(seed, "rooms"),
            payload: Rng::new(seed, "payloads"),
            i: Inputs::default(),
            reference: Reference::default(),
            sizes,
            flight: BTreeMap::new(),
            answer: None,
            asked: None,
            occupied: 0,
            frames: VecDeque::new(),
            free_slots: VecDeque::new(),
            late_slots: Vec::new(),
            tags_out: Vec::new(),
            free_msgs: VecDeque::new(),
            msn: BTreeMap::new(),
            unacked: BTreeMap::new(),
            asking: None,
            offered: false,
            expected_end: None,
            expected_resv: None,
            expected_room: None,
            payloads: VecDeque::new(),
            prefetched: 0,
            released: false,
            expected_give: false,
            held: false,
            yields: false,
            prefetch_armed: false,
            few_slots: false,
            rings: Vec::new(),
            half_due: Vec::new(),
            armed: false,
            stopped: false,
            passing: false,
            few_tags: false,
            expected: None,
            ends: VecDeque::new(),
            copy: None,
            copy_ends: false,
            segments: 0,
            seen: Seen::default(),
        };
        bench.start();
        bench
    }

    /// The state around the block after a reset.
    fn start(&mut self) {
        let case = self.case;
        self.reference = Reference {
            mss: u64::from(case.mss),
            range: u64::from(case.range),
            initial: case.initial,
            ..Reference::default()
        };
        self.i = Inputs {
            cfg_mss: case.mss,
            cfg_range: case.range,
            cfg_initial_psn: Psn(case.initial),
            cfg_wire_overhead: WIRE,
            cfg_nominal_overhead: NOMINAL,
            egress_free: case.pool,
            cfg_prefetch_on: case.prefetch > 0,
            prefetch_free: case.prefetch,
            tags_free: case.tags,
            ..Inputs::default()
        };
        self.flight.clear();
        self.answer = None;
        self.asked = None;
        self.occupied = 0;
        self.frames.clear();
        self.free_slots = (0..case.slots).collect();
        self.late_slots.clear();
        self.tags_out.clear();
        self.free_msgs = (0..self.sizes.msgs as u16).collect();
        self.msn.clear();
        self.unacked.clear();
        (self.asking, self.offered, self.expected_end) = (None, false, None);
        (self.expected_resv, self.expected_room) = (None, None);
        self.payloads.clear();
        (self.prefetched, self.released, self.expected_give) = (0, false, false);
        (self.held, self.yields, self.prefetch_armed) = (false, false, false);
        self.few_slots = false;
        self.rings.clear();
        self.half_due.clear();
        (self.armed, self.stopped, self.passing) = (false, false, false);
        self.few_tags = false;
        self.expected = None;
        self.ends.clear();
        (self.copy, self.copy_ends) = (None, false);
    }

    fn reset(&mut self) {
        self.dut.pair.reset().expect("resets");
        self.start();
    }

    fn ready(&mut self) -> bool {
        self.rng.percent(self.case.ready)
    }

    fn pace(&mut self) -> bool {
        self.rng.percent(self.case.pace)
    }

    /// Offers a message now and then; half of them on an open QP.
    fn offer_post(&mut self) {
        if self.i.post_valid || !self.rng.percent(self.case.posts) {
            return;
        }
        let Some(msg) = self.free_msgs.pop_front() else { return };
        let slot = self.rng.below(u64::from(self.sizes.qps)) as u8;
        // A QP whose messages are all acknowledged is closed and opened again, half of the time.
        let busy = self.reference.qps.get(&slot).is_some_and(|qp| !qp.queue.is_empty())
            || self.unacked.get(&slot).is_some_and(|u| !u.is_empty())
            || self.reference.qps.get(&slot).is_some_and(|qp| qp.flagged)
            || (self.i.wait_valid && self.i.wait_qp == slot);
        let known = self.reference.qps.get(&slot).map(|qp| (qp.dest, qp.group));
        let open = known.is_none() || (!busy && self.rng.percent(50));
        let dest = self.rng.below(u64::from(self.sizes.dests)) as u8;
        let group = if self.case.groups { dest } else { slot };
        let (dest, group) = if open { (dest, group) } else { known.expect("open") };
        if open {
            self.msn.insert(slot, 0);
        }
        let msn = self.msn.get_mut(&slot).expect("open");
        self.i.post_valid = true;
        self.i.post_qp = slot;
        self.i.post_dest = dest;
        self.i.post_group = group;
        self.i.post_open = open;
        self.i.post_msg = msg;
        self.i.post_laddr = self.rng.bits();
        self.i.post_raddr = self.rng.bits();
        self.i.post_rkey = self.rng.bits() as u32;
        self.i.post_len = self.case.length(&mut self.rng) as u32;
        self.i.post_msn = *msn;
        *msn += 1;
    }

    /// Acknowledges some packets of a QP, or repeats an old acknowledgement.
    fn offer_ack(&mut self, all: bool) {
        if self.i.ack_valid || !(all || self.pace()) {
            return;
        }
        let open: Vec<u8> = if all {
            self.unacked.iter().filter(|(_, u)| !u.is_empty()).map(|(n, _)| *n).collect()
        } else {
            self.reference.qps.keys().copied().collect()
        };
        if open.is_empty() {
            return;
        }
        let qp = self.rng.pick(&open);
        // Not while a post may open the slot anew, nor while a packet of it is offered.
        let asking = self.asking.is_some_and(|(of, _)| of == qp);
        if self.i.post_valid && self.i.post_qp == qp || asking {
            return;
        }
        let packets = self.unacked.entry(qp).or_default();
        let n = if all { packets.len() as u64 } else { self.rng.below(packets.len() as u64 + 1) };
        let ctx = &self.reference.qps[&qp];
        let (group, acked) = (ctx.group, ctx.acked);
        for packet in packets.drain(..n as usize) {
            if !packet.waits {
                *self.flight.get_mut(&group).expect("in flight") -= packet.nominal;
            }
            self.late_slots.push(packet.slot);
            self.free_msgs.extend(packet.ends);
        }
        let cum = self.reference.psn(acked + n).minus(1);
        self.i.ack_valid = true;
        self.i.ack_qp = qp;
        self.i.ack_group = group;
        // One that does not advance comes from behind, up to half of the numbers away.
        self.i.ack_cum = if n == 0 {
            cum.minus(self.rng.pick(&[0, 1, 1024, 0x7f_ffff, 0x80_0000]))
        } else {
            cum
        };
    }

    /// Loses a packet now and then: its bytes leave flight, and it waits to go again.
    fn offer_wait(&mut self) {
        if self.case.losses == 0 || self.i.wait_valid || !self.rng.percent(self.case.losses) {
            return;
        }
        let lost = |p: &Packet| !p.waits;
        let open = self.unacked.iter().filter(|(_, u)| u.iter().any(lost)).map(|(n, _)| *n);
        let open: Vec<u8> = open.collect();
        if open.is_empty() {
            return;
        }
        let qp = self.rng.pick(&open);
        // A slot that a post may open anew has nothing to lose.
        if self.i.post_valid && self.i.post_qp == qp || self.asking.is_some_and(|(of, _)| of == qp)
        {
            return;
        }
        let packets = self.unacked.get_mut(&qp).expect("open");
        let on_wire: Vec<usize> = (0..packets.len()).filter(|n| lost(&packets[*n])).collect();
        let packet = &mut packets[self.rng.pick(&on_wire)];
        packet.waits = true;
        let group = self.reference.qps[&qp].group;
        *self.flight.get_mut(&group).expect("in flight") -= packet.nominal;
        (self.i.wait_valid, self.i.wait_qp, self.i.wait_group) = (true, qp, group);
    }

    /// The packets of a QP that wait, lowest PSN first.
    fn waiting(&self, qp: u8) -> Vec<Packet> {
        let all = self.unacked.get(&qp).into_iter().flatten();
        all.filter(|p| p.waits).copied().collect()
    }

    /// CPL-2: a copy for an ACK now and then.
    fn offer_copy(&mut self) {
        self.i.copy_valid |= self.rng.percent(1);
    }

    /// CPL-2: the copy is there, or is not: it goes, or stops the pass.
    fn copied(&mut self) -> Turn {
        let (_, hit, len) = self.copy.take().expect("asked for");
        let size = u32::from(len) + u32::from(WIRE);
        let fits = self.i.egress_free >= size;
        if hit {
            self.expected_end = Some(fits);
        }
        self.copy_ends = !hit || fits;
        if !hit {
            self.seen.copies_missed += 1;
        } else if fits {
            self.expected_resv = Some(size as u16);
            self.seen.copies += 1;
        } else {
            (self.armed, self.stopped, self.held) = (true, true, true);
            self.seen.copies_stopped += 1;
            return Turn::Stop;
        }
        Turn::None
    }

    /// `retransmit` answers.
    fn offer_packet(&mut self, now: u64) {
        self.i.ask_ready = self.asking.is_none();
        self.i.offer_valid = self.asking.is_some_and(|(_, due)| due == now);
        if let Some((qp, _)) = self.asking.filter(|_| self.i.offer_valid) {
            let waiting = self.waiting(qp);
            self.i.offer_hit = !waiting.is_empty();
            self.i.offer_len = waiting.first().map_or(0, |p| p.nominal as u16 - u16::from(NOMINAL));
            self.i.offer_more = waiting.len() > 1;
        }
        if let Some((due, hit, len)) = self.copy {
            self.i.ask_ready = false;
            self.i.offer_valid = due == now;
            (self.i.offer_hit, self.i.offer_len) = (hit, len);
        }
    }

    /// The block asks for a packet, and hears of it.
    fn asked_for(&mut self, o: &Outputs, now: u64, all: bool) {
        if let Some((qp, _)) = self.asking.filter(|_| self.i.offer_valid) {
            self.offered = self.i.offer_hit;
            if !self.offered {
                self.reference.qps.get_mut(&qp).expect("open").flagged = false;
                self.asking = None;
                self.seen.misses += 1;
            }
        }
        if o.ask_valid && self.i.ask_ready && o.ask_copy {
            assert!(self.i.copy_valid, "clock {now}: no copy is wanted");
            let due = now + 1 + self.rng.below(12) * u64::from(!all);
            let len = self.rng.pick(&[0, 1, self.case.mss]);
            self.copy = Some((due, self.rng.percent(75), len));
        } else if o.ask_valid && self.i.ask_ready {
            let head = *self.reference.list.front().expect("a turn");
            let turns = self.reference.turns(head);
            let at = turns.iter().position(|qp| *qp == o.ask_qp).expect("a QP with work");
            let over = turns[..at].iter().all(|qp| !self.reference.qps[qp].flagged);
            assert!(
                at == 0 || (over && (self.few_tags || self.few_slots)),
                "clock {now}: its turn"
            );
            self.seen.slotless += u64::from(at > 0 && self.few_slots);
            let ctx = &self.reference.qps[&o.ask_qp];
            assert!(ctx.flagged, "clock {now}: nothing waits");
            assert_eq!(o.ask_from, self.reference.psn(ctx.acked), "clock {now}: from");
            self.asking = Some((o.ask_qp, now + 1 + self.rng.below(12) * u64::from(!all)));
        }
    }

    /// RTX-1: the window has answered for a packet that waits.
    fn answered_again(&mut self, asked: &Outputs, qp: u8) -> Turn {
        let (group, size) = (asked.try_group, u32::from(self.i.offer_len) + u32::from(WIRE));
        assert_eq!(asked.try_bytes, self.i.offer_len + u16::from(NOMINAL));
        if self.i.try_rsp_ok && !asked.try_commit && self.i.egress_free >= size {
            return Turn::None; // it asks again
        }
        let takes = self.i.try_rsp_ok && asked.try_commit;
        self.expected_end = Some(takes);
        (self.asking, self.offered) = (None, false);
        if takes {
            assert!(self.i.egress_free >= size, "SEG-4");
            self.expected_resv = Some(size as u16);
            self.reference.list.pop_front();
            self.reference.last.insert(group, qp);
            self.reference.qps.get_mut(&qp).expect("open").flagged = self.i.offer_more;
            let mut packets = self.unacked.get_mut(&qp).expect("open").iter_mut();
            packets.find(|p| p.waits).expect("it waits").waits = false;
            self.reference.back(group);
            self.seen.resent += 1;
        } else if self.i.try_rsp_ok {
            (self.armed, self.stopped, self.held) = (true, true, true);
            self.seen.resends_stopped += 1;
            return Turn::Stop;
        } else {
            self.reference.list.pop_front();
            self.seen.resends_shut += 1;
        }
        Turn::None
    }

    /// Ends a QP now and then, with what it has posted.
    fn offer_drop(&mut self) {
        if self.i.drop_valid || !self.rng.percent(1) {
            return;
        }
        let open: Vec<u8> = self.reference.qps.keys().copied().collect();
        if open.is_empty() {
            return;
        }
        let qp = self.rng.pick(&open);
        // qp_drain waits for a post.
        if self.i.post_valid && self.i.post_qp == qp {
            return;
        }
        self.i.drop_valid = true;
        self.i.drop_qp = qp;
        self.i.drop_group = self.reference.qps[&qp].group;
    }

    /// QP-6: what the QP has posted and not issued is forgotten.
    fn take_drop(&mut self) {
        let qp = self.reference.qps.get_mut(&self.i.drop_qp).expect("open");
        self.seen.drops += u64::from(!qp.queue.is_empty());
        self.free_msgs.extend(qp.queue.drain(..).map(|m| m.msg));
        qp.flagged = false;
        self.reference.changed(self.i.drop_group);
    }

    /// BUF-5: the oldest payload has arrived, or its QP ends while it waits.
    fn offer_payload(&mut self, now: u64, all: bool) {
        self.i.prefetch_half =
            std::mem::take(&mut self.released) && 2 * self.prefetched <= self.case.prefetch;
        self.i.prefetch_free = self.case.prefetch - self.prefetched;
        let Some((len, due)) = self.payloads.front().copied() else { return };
        if self.i.commit_valid && !all && self.payload.percent(2) {
            self.i.commit_valid = false;
            self.payloads.pop_front();
            self.give_back(len);
            self.seen.withdrawn += 1;
        } else if due <= now {
            (self.i.commit_valid, self.i.commit_len) = (true, len);
        }
    }

    fn give_back(&mut self, len: u16) {
        self.prefetched -= u32::from(len) + u32::from(WIRE);
        self.released = true;
    }

    /// BUF-5: a commit takes egress room, or is held until a pass begins; it goes before all but
    /// acknowledgements, drops, packets that wait and probes, and lets a turn through.
    fn commit(&mut self, o: &Outputs, state: State, now: u64) {
        let after = self.dut.pair.regs().state;
        if state == State::Idle && after == State::Commit {
            let busy = o.seg_valid && !self.i.seg_ready || o.sent_valid && !self.i.sent_ready;
            let turn = self.passing && !self.reference.list.is_empty() && !busy;
            assert!(!self.held, "clock {now}: a commit begins while they are held");
            assert!(!(self.yields && turn), "clock {now}: a commit begins before a turn");
        } else if state == State::Idle && matches!(after, State::Pick | State::Ask) {
            self.seen.yielded += u64::from(self.yields && self.i.commit_valid);
            self.yields = false;
        }
        let size = u32::from(self.i.commit_len) + u32::from(WIRE);
        let fits = self.i.egress_free >= size;
        let commits = state == State::Commit && self.i.commit_valid;
        assert_eq!(o.commit_ready, commits && fits, "clock {now}: a commit");
        if commits && fits {
            (self.expected_resv, self.expected_give) = (Some(size as u16), true);
            self.yields = true;
            self.seen.commits += 1;
        } else if commits {
            (self.armed, self.held) = (true, true);
            self.seen.commits_held += 1;
        }
    }

    /// Releases, returns and levels of this clock.
    /// PTH-2: a probe wants room, more than there is at times.
    fn offer_room(&mut self) {
        if !self.i.room_valid && self.rooms.percent(self.case.probes) {
            let left = self.i.egress_free.min(8_000) as u16;
            self.i.room_valid = true;
            self.i.room_bytes = self.rooms.pick(&[74, 78, 74, left, left + 1]);
        }
    }

    /// What a probe is told, two clocks after it was taken up.
    fn answer_room(&mut self, o: &Outputs, now: u64) {
        let got = o.room_rsp_valid.then_some(o.room_rsp_ok);
        assert_eq!(got, self.expected_room.take(), "clock {now}: room for a probe");
        if o.room_ready {
            let fits = self.i.egress_free >= u32::from(self.i.room_bytes);
            self.expected_room = Some(fits);
            self.expected_resv = fits.then_some(self.i.room_bytes);
            self.seen.rooms += u64::from(fits);
            self.seen.roomless += u64::from(!fits);
        }
    }

    fn drive(&mut self, all: bool) {
        let now = self.dut.pair.clocks();
        self.i.half_valid = false;
        if (all || self.pace())
            && let Some(bytes) = self.frames.pop_front()
        {
            self.occupied -= bytes;
            self.i.half_valid = 2 * self.occupied <= self.case.pool;
        }
        self.i.egress_free = self.case.pool - self.occupied;
        self.offer_payload(now, all);
        if (all || self.pace()) && !self.late_slots.is_empty() {
            let at = self.rng.below(self.late_slots.len() as u64) as usize;
            self.free_slots.push_back(self.late_slots.swap_remove(at));
        }
        if !self.i.slot_valid && !self.free_slots.is_empty() && (all || self.ready()) {
            self.i.slot_valid = true;
            self.i.slot = self.free_slots[0];
        }
        if (all || self.pace()) && !self.tags_out.is_empty() {
            let at = self.rng.below(self.tags_out.len() as u64) as usize;
            self.tags_out.swap_remove(at);
        }
        self.i.tags_free = self.case.tags - self.tags_out.iter().sum::<u16>();
        self.few_tags |= self.i.tags_free < 3;
        self.few_slots |= !self.i.slot_valid;
        self.offer_packet(now);
        self.i.seg_ready = self.i.tags_free >= 3 && (all || self.ready());
        self.i.sent_ready = all || self.ready();
        self.i.try_ready = self.answer.is_none() && (all || self.ready());
        let answer = self.answer.filter(|(due, _)| *due <= now);
        self.i.try_rsp_valid = answer.is_some();
        if let Some((_, ok)) = answer {
            self.i.try_rsp_ok = ok;
            self.answer = None;
        }
        self.i.ring = self.rings.contains(&now);
        self.rings.retain(|at| *at != now);
    }

    /// One clock with what is offered, checked against the reference.
    #[allow(clippy::too_many_lines)] // one port after another
    fn clock(&mut self, all: bool) -> Result<(), Mismatch> {
        self.drive(all);
        let now = self.dut.pair.clocks();
        let (state, starved) = (self.dut.pair.regs().state, self.dut.pair.regs().starved.clone());
        let copies = self.dut.pair.regs().copies;
        let o = self.dut.clock(&mut self.i)?;
        assert_eq!(o.passing, self.passing, "clock {now}: passing");
        let mut begins = self.i.ring || self.half_due.contains(&now);
        self.half_due.retain(|due| *due != now);
        let halves = [self.i.half_valid && self.armed, self.i.prefetch_half && self.prefetch_armed];
        self.armed &= !halves[0];
        self.prefetch_armed &= !halves[1];
        if halves != [false; 2] {
            self.half_due.push(now + HALF_CLOCKS);
            self.seen.bells += 1;
        }

        if let Some(want) = self.expected.take() {
            assert!(o.seg_valid && o.seg == want, "clock {now}: {:?}\nwanted {want:?}", o.seg);
            let (on, size) = (self.case.prefetch > 0, want.len + u16::from(WIRE));
            assert_eq!((o.resv_valid, o.take_valid, o.resv_bytes), (!on, on, size));
        } else {
            assert!(!o.take_valid, "clock {now}: nothing is fetched");
            let got = o.resv_valid.then_some(o.resv_bytes);
            assert_eq!(got, self.expected_resv.take(), "clock {now}: a reservation");
        }
        assert_eq!(o.end_valid.then_some(o.end_take), self.expected_end.take(), "clock {now}");
        assert_eq!(o.give_valid, std::mem::take(&mut self.expected_give), "clock {now}");
        if o.take_valid {
            self.prefetched += u32::from(o.resv_bytes);
            assert!(self.prefetched <= self.case.prefetch, "clock {now}: more than the buffer");
        }
        if o.give_valid {
            self.give_back(o.resv_bytes - u16::from(WIRE));
        }
        self.commit(&o, state, now);
        if o.resv_valid {
            self.occupied += u32::from(o.resv_bytes);
            assert!(self.occupied <= self.case.pool, "clock {now}: more than the pool");
            self.frames.push_back(u32::from(o.resv_bytes));
        }
        if o.seg_valid && self.i.seg_ready {
            let pages = self.rng.between(1, 3) as u16;
            if o.seg.len > 0 {
                self.tags_out.push(pages);
            }
            if self.case.prefetch > 0 {
                let late = self.payload.below(60) * u64::from(!all);
                self.payloads.push_back((o.seg.len, now + 3 + late));
            }
        }
        if o.sent_valid && self.i.sent_ready {
            let got = (o.sent_qp, o.sent_msg, o.sent_psn, o.sent_first, o.sent_slot);
            assert_eq!(self.ends.pop_front(), Some(got));
        }
        self.answer_room(&o, now);
        assert_eq!(o.copy_done, std::mem::take(&mut self.copy_ends), "clock {now}: a copy ends");
        self.asked_for(&o, now, all);
        self.stalls(&o);
        let regs = self.dut.pair.regs();
        if state == State::Pick
            && regs.state == State::Idle
            && !regs.stall_tags
            && !regs.stall_slots
        {
            // SCH-5: one that is not ready when its turn comes leaves the list.
            let group = self.reference.list.pop_front().expect("a turn");
            assert!(self.reference.turns(group).is_empty(), "clock {now}: {group} has work");
        }

        if o.try_valid && self.i.try_ready {
            let flight = self.flight.entry(o.try_group).or_default();
            let ok = self.case.cwnd > *flight;
            if ok && o.try_commit {
                *flight += u64::from(o.try_bytes);
            }
            self.seen.window_shut += u64::from(!ok);
            self.answer = Some((now + 2 + self.rng.below(3) * u64::from(!all), ok));
            self.asked = Some(o);
        }
        let mut ends = self.i.try_rsp_valid.then(|| self.answered(&o, now));
        if self.copy.is_some() && self.i.offer_valid {
            ends = Some(self.copied());
        }
        let regs = self.dut.pair.regs();
        begins |= regs.copies && !copies;
        let turn = state == State::Idle && regs.state == State::Pick;
        assert!(!(turn && copies), "clock {now}: a copy goes before every group");

        if o.post_ready {
            self.take_post(now);
        }
        if o.ack_ready {
            self.take_ack();
            begins = true;
        }
        if o.drop_ready {
            self.take_drop();
            begins = true;
        }
        if o.wait_ready {
            self.seen.waits += 1;
            self.reference.qps.get_mut(&self.i.wait_qp).expect("open").flagged = true;
            self.reference.changed(self.i.wait_group);
            begins = true;
        }
        let left = &self.dut.pair.regs().starved;
        if state == State::Idle && *left != starved {
            let group = (0..left.len()).find(|n| left[*n] != starved[*n]).expect("one") as u8;
            assert_eq!(self.reference.starved.pop_first(), Some(group), "lowest rejoins first");
            assert!(self.i.slot_valid && self.i.tags_free >= 3, "room for one that rejoins");
            self.reference.list.push_back(group);
            begins |= !self.stopped;
            self.seen.rejoins_stopped += u64::from(self.stopped);
            self.seen.rejoins += 1;
        }

        // A pass ends when no group is ready, in a clock without anything else to do, or stops.
        let quiet = state == State::Idle
            && !self.i.ack_valid
            && !self.i.drop_valid
            && !self.i.post_valid
            && !self.i.wait_valid
            && !self.i.room_valid
            && !copies
            && !self.dut.pair.regs().copies
            && self.dut.pair.regs().state != State::Commit
            && self.reference.list.is_empty();
        if quiet || ends == Some(Turn::Stop) {
            self.passing = false;
        }
        if begins {
            (self.passing, self.stopped, self.held) = (true, false, false);
        }
        if o.commit_ready {
            self.payloads.pop_front();
            self.i.commit_valid = false;
        }
        if o.post_ready {
            self.i.post_valid = false;
        }
        if o.ack_ready {
            self.i.ack_valid = false;
        }
        if o.drop_ready {
            self.i.drop_valid = false;
        }
        if o.wait_ready {
            self.i.wait_valid = false;
        }
        if o.room_ready {
            self.i.room_valid = false;
        }
        if o.copy_done {
            self.i.copy_valid = false;
        }
        Ok(())
    }

    /// A turn refused for want of slots or tags (SEG-5).
    fn stalls(&mut self, o: &Outputs) {
        if !(o.stall_slots || o.stall_tags) {
            return;
        }
        let group = self.reference.list.pop_front().expect("a turn");
        if o.stall_tags {
            assert!(self.few_tags, "tags were there");
            let turns = self.reference.turns(group);
            assert!(turns.iter().all(|qp| self.reference.len(*qp) > 0), "0 bytes need no tag");
            self.seen.stall_tags += 1;
        } else {
            self.seen.stall_slots += 1;
        }
        assert!(!self.reference.front(group), "a packet that waits needs neither");
        self.few_tags = self.i.tags_free < 3;
        self.few_slots = !self.i.slot_valid;
        self.reference.starved.insert(group);
    }

    /// The window has answered: what becomes of the turn, or of a group that joins.
    fn answered(&mut self, o: &Outputs, now: u64) -> Turn {
        let asked = self.asked.take().expect("asked");
        let (group, ok) = (asked.try_group, self.i.try_rsp_ok);
        if asked.try_bytes == 0 {
            assert_eq!(self.reference.joining.take(), Some(group), "clock {now}: joins");
            if ok {
                self.reference.starved.remove(&group);
                if self.reference.joins_front {
                    self.reference.list.push_front(group);
                } else {
                    self.reference.list.push_back(group);
                }
            }
            return Turn::None;
        }
        assert_eq!(self.reference.list.front(), Some(&group), "clock {now}: the head's turn");
        if let Some((qp, _)) = self.asking.filter(|_| self.offered) {
            return self.answered_again(&asked, qp);
        }
        let len = asked.try_bytes - u16::from(NOMINAL);
        let size = u32::from(len) + u32::from(WIRE);
        if !ok {
            assert!(!o.slot_ready);
            self.reference.list.pop_front();
            return Turn::None;
        }
        let on = self.case.prefetch > 0;
        let free = if on { self.i.prefetch_free } else { self.i.egress_free };
        if !asked.try_commit {
            assert!(!o.slot_ready);
            if free >= size {
                return Turn::None; // it asks again
            }
            self.armed |= !on;
            self.prefetch_armed |= on;
            self.stopped = true;
            self.seen.stops += 1;
            return Turn::Stop;
        }

        assert!(o.slot_ready && self.i.slot_valid, "clock {now}: issued");
        assert!(free >= size, "clock {now}: SEG-4");
        self.seen.exact_fit += u64::from(free == size);
        let turns = self.reference.turns(group);
        let mut qp = turns[0];
        if self.few_tags || self.few_slots {
            // One with 0 bytes may have gone before those that lack tags.
            let got = self.dut.pair.regs().seg.qp;
            let over = turns.iter().position(|n| *n == got).expect("a QP with work");
            let lacks = |n: &u8| self.few_slots || self.reference.len(*n) > 0;
            assert!(turns[..over].iter().all(lacks), "passed over");
            let waits = |n: &u8| self.reference.qps[n].flagged;
            assert!(!turns[..=over].iter().any(waits), "RTX-1: new data first");
            self.seen.passed_over += u64::from(over > 0);
            qp = got;
        }
        self.few_tags = self.i.tags_free < 3;
        self.few_slots = !self.i.slot_valid;
        assert!(!self.reference.qps[&qp].flagged, "clock {now}: RTX-1");
        assert_eq!(self.reference.len(qp), u64::from(len));
        let segment = self.reference.issue(qp, self.i.slot);
        self.segments += 1;
        self.seen.wraps += u64::from(segment.psn.0 == 0 && self.case.initial != 0);
        let ctx = &self.reference.qps[&qp];
        self.seen.psn_shut += u64::from(!ctx.queue.is_empty() && !self.reference.ready(ctx));
        if segment.last {
            let first = self.reference.first;
            self.ends.push_back((segment.qp, segment.msg, segment.psn, first, segment.slot));
        }
        let ends = segment.last.then_some(segment.msg);
        let nominal = u64::from(asked.try_bytes);
        let packet = Packet { nominal, slot: segment.slot, ends, waits: false };
        self.unacked.entry(qp).or_default().push_back(packet);
        self.expected = Some(segment);
        self.free_slots.pop_front();
        self.i.slot_valid = false;
        Turn::None
    }

    fn take_post(&mut self, now: u64) {
        let i = &self.i;
        if i.post_open {
            let qp = Qp { dest: i.post_dest, group: i.post_group, ..Qp::default() };
            self.reference.qps.insert(i.post_qp, qp);
        }
        let qp = self.reference.qps.get_mut(&i.post_qp).expect("open");
        qp.queue.push_back(Posted {
            msg: i.post_msg,
            laddr: i.post_laddr,
            raddr: i.post_raddr,
            rkey: i.post_rkey,
            len: u64::from(i.post_len),
            msn: i.post_msn,
            sent: 0,
            first: Psn(0),
        });
        self.reference.changed(i.post_group);
        self.rings.push(now + 1 + self.rng.below(15));
    }

    fn take_ack(&mut self) {
        let i = &self.i;
        let initial = self.case.initial;
        let qp = self.reference.qps.get_mut(&i.ack_qp).expect("open");
        let cum = u64::from(i.ack_cum.plus(1).0.wrapping_sub(initial) & 0xff_ffff);
        if cum > qp.acked && cum <= qp.next {
            qp.acked = cum;
        }
        self.reference.changed(i.ack_group);
    }

    /// Posts and acknowledgements for some clocks.
    fn run(&mut self, clocks: u64) -> Result<(), Mismatch> {
        for _ in 0..clocks {
            self.offer_post();
            self.offer_ack(false);
            self.offer_drop();
            self.offer_wait();
            self.offer_room();
            self.offer_copy();
            self.clock(false)?;
        }
        Ok(())
    }

    /// No more posts, every partner at its best: all that was posted must go out.
    fn drain(&mut self) -> Result<(), Mismatch> {
        for clock in 0..400_000 {
            self.offer_ack(true);
            self.clock(true)?;
            let idle = self.reference.qps.values().all(|qp| qp.queue.is_empty())
                && self.unacked.values().all(VecDeque::is_empty)
                && self.ends.is_empty()
                && !(self.i.post_valid
                    || self.i.ack_valid
                    || self.i.drop_valid
                    || self.i.wait_valid
                    || self.i.room_valid
                    || self.i.copy_valid)
                && self.payloads.is_empty()
                && self.prefetched == 0
                && !(self.dut.pair.regs().passing);
            if idle && clock > 50 {
                assert_eq!(self.dut.pair.regs().count, 0);
                assert_eq!(self.flight.values().sum::<u64>(), 0);
                return Ok(());
            }
        }
        panic!("work is left that nothing wakes: {:?}", self.dut.pair.regs());
    }
}

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    None,
    Stop,
}

fn play(case: Case, sizes: Sizes, seed: u64, clocks: u64) -> Result<Seen, Mismatch> {
    let mut bench = Bench::new(case, sizes, seed);
    bench.run(clocks / 4)?;
    bench.reset();
    bench.run(clocks)?;
    bench.drain()?;
    bench.run(clocks / 4)?;
    bench.drain()?;
    println!("{} segments, {:?}", bench.segments, bench.seen);
    Ok(bench.seen)
}

/// Plays a fixture: one message of 4,097 B to a new QP 2 of group 1, and what its columns say.
fn rows(file: &str) -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 1);
    for row in Table::read(file) {
        let o = dut.clock(&mut Inputs {
            cfg_mss: 4096,
            cfg_range: row.dec("range") as u16,
            cfg_initial_psn: Psn(0xff_ffff),
            cfg_wire_overhead: WIRE,
            cfg_nominal_overhead: NOMINAL,
            post_valid: row.bit("post_valid"),
            post_qp: 2,
            post_dest: 3,
            post_group: 1,
            post_open: true,
            post_msg: 4,
            post_laddr: 0xffff_ffff_f000,
            post_len: 4097,
            ring: row.bit("ring"),
            ack_valid: row.bit("ack_valid"),
            ack_qp: 2,
            ack_group: 1,
            ack_cum: Psn(row.hex("ack_cum") as u32),
            try_ready: true,
            try_rsp_valid: row.text("try_rsp") != "-",
            try_rsp_ok: row.text("try_rsp") == "ok",
            egress_free: row.dec("egress_free") as u32,
            half_valid: row.bit("half_valid"),
            slot_valid: row.bit("slot_valid"),
            slot: 7,
            seg_ready: row.bit("seg_ready"),
            tags_free: row.dec("tags_free") as u16,
            sent_ready: true,
            ..Inputs::default()
        })?;
        row.expect("post_ready", u8::from(o.post_ready));
        row.expect("ack_ready", u8::from(o.ack_ready));
        row.expect("try_valid", u8::from(o.try_valid));
        row.expect("try_bytes", o.try_bytes);
        row.expect("try_commit", u8::from(o.try_commit));
        row.expect("slot_ready", u8::from(o.slot_ready));
        row.expect("resv_valid", u8::from(o.resv_valid));
        row.expect("resv_bytes", o.resv_bytes);
        row.expect("seg_valid", u8::from(o.seg_valid));
        row.expect("psn", format!("{:06x}", o.seg.psn.0));
        row.expect("laddr", format!("{:x}", o.seg.laddr));
        row.expect("len", o.seg.len);
        row.expect("first", u8::from(o.seg.first));
        row.expect("last", u8::from(o.seg.last));
        row.expect("sent_valid", u8::from(o.sent_valid));
        row.expect("stall", u8::from(o.stall_slots) + 2 * u8::from(o.stall_tags));
        row.expect("passing", u8::from(o.passing));
    }
    Ok(())
}

/// SEG-1, SEG-2, QP-3.
#[test]
fn a_window_of_one_packet_takes_turns_with_acks() -> Result<(), Mismatch> {
    rows("tx_scheduler/window_of_one_packet.txt")
}

/// SEG-4, SEG-5.
#[test]
fn stops_and_stalls_end_differently() -> Result<(), Mismatch> {
    rows("tx_scheduler/stops_and_stalls.txt")
}

/// SEG-1, SEG-2, SEG-3, SEG-4, SEG-5, SCH-1, SCH-2, SCH-3, SCH-4, SCH-5, RTX-1, CPL-2, QP-3, QP-6:
/// groups or none, back-pressure from none to heavy, both sizes.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    for (seed, ready) in [(1, 75), (2, 25), (3, 100)] {
        let case = Case { ready, groups: seed != 2, ..Case::PLAIN };
        assert!(play(case, Sizes::DEFAULT, seed, 4_000)?.drops > 3);
        let case = Case { posts: 20, slots: 16, tags: 16, ..case };
        play(case, Sizes::SMALL, seed, 4_000)?;
        let seen =
            play(Case { losses: 10, initial: 0xff_fff0, ..case }, Sizes::SMALL, seed, 4_000)?;
        assert!(seen.resent > 20 && seen.misses > 0, "{seen:?}");
        assert!(seen.copies > 10 && seen.copies_missed > 2, "{seen:?}");
    }
    Ok(())
}

/// SEG-1: message lengths around the MSS, for the least, an odd and the greatest MSS; PSNs wrap.
#[test]
fn segments_at_the_borders_of_the_mss() -> Result<(), Mismatch> {
    for (seed, mss) in [(11, 1), (12, 2), (13, 1023), (14, 8192)] {
        let case = Case { mss, initial: 0xff_fffe, posts: 20, pace: 40, ..Case::PLAIN };
        assert!(play(case, Sizes::SMALL, seed, 3_000)?.wraps > 0, "MSS {mss}");
    }
    Ok(())
}

/// SEG-2: PSN windows of 1 and 2 packets, of others' groups too, across the wrap.
#[test]
fn psn_windows_shut_and_open() -> Result<(), Mismatch> {
    for (seed, range) in [(21, 1), (22, 2), (23, 5)] {
        let case = Case { range, mss: 64, initial: 0xff_fffd, posts: 40, ..Case::PLAIN };
        let seen = play(Case { pace: 30, ..case }, Sizes::SMALL, seed, 7_000)?;
        assert!(seen.psn_shut > 20 && seen.wraps > 0, "range {range}: {seen:?}");
    }
    Ok(())
}

/// SEG-3: windows that a packet fills to the byte, to one byte less, and that hold one packet.
#[test]
fn congestion_windows_shut_and_open() -> Result<(), Mismatch> {
    let mut again_shut = 0;
    for (seed, cwnd) in [(31, 2 * 4156), (32, 2 * 4156 + 1), (33, 1), (34, 60), (35, 61)] {
        let case = Case { cwnd, posts: 30, pace: 30, groups: seed != 34, ..Case::PLAIN };
        let seen = play(case, Sizes::SMALL, seed, 3_000)?;
        assert!(seen.window_shut > 20, "window {cwnd}: {seen:?}");
        let case = Case { losses: 10, ..case };
        again_shut += play(case, Sizes::SMALL, seed, 3_000)?.resends_shut;
    }
    assert!(again_shut > 0, "a packet that waits never met a shut window");
    Ok(())
}

/// SEG-4: pools that packets fill exactly; a pool of one packet; half events.
#[test]
fn the_pool_stops_the_pass() -> Result<(), Mismatch> {
    let (mut bells, mut again_stopped, mut copies_stopped) = (0, 0, 0);
    for (seed, pool) in [(41, 4174), (42, 3 * 4174), (43, 3 * 4174 + 1), (44, 8 * 4174 - 1)] {
        let case = Case { pool, posts: 30, pace: 3, ready: 90, ..Case::PLAIN };
        let seen = play(case, Sizes::SMALL, seed, 5_000)?;
        assert!(seen.stops > 10 && seen.bells > 0, "pool {pool}: {seen:?}");
        bells += seen.bells;
        let case = Case { losses: 10, ..case };
        let lossy = play(case, Sizes::SMALL, seed, 3_000)?;
        again_stopped += lossy.resends_stopped;
        copies_stopped += lossy.copies_stopped;
        assert!(seen.exact_fit > 0 || pool % 4174 != 0, "pool {pool}: {seen:?}");
    }
    assert!(bells > 20 && again_stopped > 0, "{bells} {again_stopped}");
    assert!(copies_stopped > 3, "{copies_stopped} copies stopped the pass");
    // PTH-2: probes take of the same pool, to its last byte.
    let (mut rooms, mut roomless) = (0, 0);
    for (seed, pool) in [(45, 4174), (46, 3 * 4174 + 73), (47, 9_000)] {
        let case = Case { pool, posts: 30, pace: 3, losses: 10, probes: 5, ..Case::PLAIN };
        let seen = play(case, Sizes::SMALL, seed, 5_000)?;
        rooms += seen.rooms;
        roomless += seen.roomless;
    }
    assert!(rooms > 50 && roomless > 50, "{rooms} {roomless}");
    Ok(())
}

/// BUF-5, SEG-4, RTX-1: fetches fill a prefetch buffer of one packet, of some, and of 62; commits fill
/// egress pools, held by them now and then, beside packets that go again, copies and probes; a
/// payload is withdrawn in any clock.
#[test]
fn buf_5_fetches_and_commits_have_a_pool_each() -> Result<(), Mismatch> {
    let mut all = Seen::default();
    for (seed, prefetch, pool) in [
        (71, 4174, 4174),
        (72, 3 * 4174, 2 * 4174),
        (73, 3 * 4174 + 1, 230_400),
        (74, 62 * 4174, 3 * 4174 + 77),
        (75, 8 * 4174 - 1, 9_000),
    ] {
        let case = Case { prefetch, pool, posts: 30, pace: 3, ready: 90, ..Case::PLAIN };
        let seen = play(case, Sizes::SMALL, seed, 5_000)?;
        assert!(seen.commits > 20, "{prefetch}: {seen:?}");
        let lossy = Case { losses: 10, probes: 3, slots: 16, tags: 16, ..case };
        let lossy = play(lossy, Sizes::SMALL, seed, 4_000)?;
        for seen in [seen, lossy] {
            all.stops += seen.stops;
            all.exact_fit += seen.exact_fit;
            all.commits_held += seen.commits_held;
            all.withdrawn += seen.withdrawn;
            all.yielded += seen.yielded;
            all.resent += seen.resent;
            all.copies_stopped += seen.copies_stopped;
            all.resends_stopped += seen.resends_stopped;
        }
    }
    assert!(all.stops > 20 && all.exact_fit > 5 && all.commits_held > 20, "{all:?}");
    assert!(all.withdrawn > 5 && all.yielded > 20 && all.resent > 5, "{all:?}");
    assert!(all.copies_stopped > 0 && all.resends_stopped > 0, "{all:?}");
    Ok(())
}

/// SEG-5: slots and tags run out; starved groups rejoin; 0 bytes go past those that lack tags.
#[test]
fn slots_and_tags_run_out() -> Result<(), Mismatch> {
    let (mut passed_over, mut rejoins_stopped, mut slotless) = (0, 0, 0);
    for seed in 51..54 {
        let case = Case { slots: 3, posts: 30, pace: 20, groups: seed == 51, ..Case::PLAIN };
        let slots = play(case, Sizes::SMALL, seed, 3_000)?;
        assert!(slots.stall_slots > 20 && slots.rejoins > 20, "{slots:?}");
        let lossy = Case { losses: 10, ..case };
        slotless += play(lossy, Sizes::SMALL, seed, 3_000)?.slotless;
        let case = Case { slots: 16, tags: 4, pace: 4, ..case };
        let tags = play(case, Sizes::SMALL, seed, 6_000)?;
        assert!(tags.stall_tags > 5 && tags.rejoins > 5, "{tags:?}");
        passed_over += tags.passed_over;
        // Both: a group that rejoins does not begin the pass that the pool has stopped.
        let case = Case { tags: 6, pool: 2 * 4174, ready: 25, groups: true, ..case };
        let both = play(case, Sizes::SMALL, seed, 6_000)?;
        rejoins_stopped += both.rejoins_stopped;
    }
    assert!(passed_over > 5 && rejoins_stopped > 5, "{passed_over} {rejoins_stopped}");
    assert!(slotless > 0, "no packet that waits went past those without a slot");
    Ok(())
}

/// Posts one message and waits until it is taken.
fn post(bench: &mut Bench, qp: u8, open: bool, msg: u16, len: u32) -> Result<(), Mismatch> {
    bench.i.post_valid = true;
    bench.i.post_qp = qp;
    bench.i.post_dest = 1;
    bench.i.post_group = 1;
    bench.i.post_open = open;
    bench.i.post_msg = msg;
    bench.i.post_len = len;
    while bench.i.post_valid {
        bench.clock(true)?;
    }
    bench.free_msgs.retain(|m| *m != msg);
    Ok(())
}

/// SEG-1: the greatest message starts, and its end is that of any other.
#[test]
fn the_longest_message_starts_and_ends() -> Result<(), Mismatch> {
    let case = Case { mss: 8192, range: 8, cwnd: 1 << 30, ..Case::PLAIN };
    let mut bench = Bench::new(case, Sizes::SMALL, 61);
    post(&mut bench, 3, true, 5, i32::MAX as u32)?;
    for _ in 0..200 {
        bench.clock(true)?;
    }
    assert_eq!(bench.segments, 8);
    let mut ctx = *bench.dut.qctx.peek(3);
    assert_eq!(ctx.sent, 8 * 8192);
    // Two segments are left: 8,192 bytes and one.
    ctx.sent = i32::MAX as u32 - 8193;
    bench.dut.qctx.poke(3, ctx);
    bench.reference.qps.get_mut(&3).expect("open").queue[0].sent = u64::from(ctx.sent);
    bench.drain()?;
    assert_eq!(bench.segments, 10);
    Ok(())
}

/// SEG-2 at its default: 1,024 packets and no more, until the cumulative PSN moves by one.
#[test]
fn a_thousand_and_twenty_four_psns() -> Result<(), Mismatch> {
    let case = Case { mss: 1, cwnd: 1 << 30, initial: 0xff_ff00, ..Case::PLAIN };
    let mut bench = Bench::new(case, Sizes::DEFAULT, 62);
    post(&mut bench, 200, true, 7, 1_030)?;
    for _ in 0..1_024 * 8 + 100 {
        bench.clock(true)?;
    }
    assert_eq!(bench.segments, 1_024);
    let Packet { nominal: bytes, slot, .. } =
        bench.unacked.get_mut(&200).expect("sent").pop_front().expect("one");
    *bench.flight.get_mut(&1).expect("group") -= bytes;
    bench.late_slots.push(slot);
    bench.i.ack_valid = true;
    bench.i.ack_qp = 200;
    bench.i.ack_group = 1;
    bench.i.ack_cum = Psn(0xff_ff00);
    for _ in 0..100 {
        bench.clock(true)?;
    }
    assert_eq!(bench.segments, 1_025);
    bench.drain()
}

/// SEG-3 without acknowledgements: the window takes as many packets as it is longer than what is
/// in flight, one more where a byte is left.
#[test]
fn the_window_counts_to_the_byte() -> Result<(), Mismatch> {
    for (cwnd, packets) in [(108 * 4156, 108), (108 * 4156 + 1, 109), (108 * 4156 - 1, 108)] {
        let case = Case { cwnd, ..Case::PLAIN };
        let mut bench = Bench::new(case, Sizes::DEFAULT, 63);
        post(&mut bench, 9, true, 7, 200 * 4096)?;
        for _ in 0..2_000 {
            bench.clock(true)?;
        }
        assert_eq!(bench.segments, packets, "window {cwnd}");
    }
    Ok(())
}

/// SEG-4 at its defaults: 55 packets of 4,174 B in 230,400 B; the 28th release rings, and the pass
/// begins 15 clocks after it.
#[test]
fn fifty_five_packets_fill_the_pool() -> Result<(), Mismatch> {
    let mut bench = Bench::new(Case { pace: 0, ..Case::PLAIN }, Sizes::DEFAULT, 64);
    post(&mut bench, 9, true, 7, 200 * 4096)?;
    for _ in 0..20 + 55 * 20 {
        bench.clock(false)?;
    }
    assert_eq!((bench.segments, bench.seen.stops), (55, 1));
    for _ in 1..28 {
        bench.case.pace = 100;
        bench.clock(false)?;
        bench.case.pace = 0;
        assert!(!bench.i.half_valid && !bench.passing);
        bench.clock(false)?;
    }
    bench.case.pace = 100;
    let half = bench.dut.pair.clocks();
    bench.clock(false)?;
    bench.case.pace = 0;
    assert!(bench.i.half_valid);
    while !bench.passing {
        bench.clock(false)?;
    }
    // `passing` is a register: it is set at the end of the clock in which the pass begins.
    assert_eq!(bench.dut.pair.clocks() - 1 - half, 15);
    assert_eq!(bench.segments, 55);
    Ok(())
}

/// A turn takes at most 8 clocks where nobody holds it up.
#[test]
fn a_turn_takes_seven_clocks() -> Result<(), Mismatch> {
    let case = Case { ready: 100, pool: 1 << 30, cwnd: 1 << 30, mss: 256, ..Case::PLAIN };
    let mut bench = Bench::new(case, Sizes::DEFAULT, 65);
    post(&mut bench, 9, true, 7, 1 << 20)?;
    for _ in 0..40 {
        bench.clock(true)?;
    }
    let before = bench.segments;
    for _ in 0..7 * 100 {
        bench.clock(true)?;
    }
    assert_eq!(bench.segments - before, 100);
    Ok(())
}

#[test]
fn random_tests_reach_all() -> Result<(), Mismatch> {
    let reached = Reached::begin("tx_scheduler");
    random_traffic_agrees()?;
    segments_at_the_borders_of_the_mss()?;
    psn_windows_shut_and_open()?;
    congestion_windows_shut_and_open()?;
    the_pool_stops_the_pass()?;
    slots_and_tags_run_out()?;
    buf_5_fetches_and_commits_have_a_pool_each()?;
    reached.check();
    Ok(())
}
