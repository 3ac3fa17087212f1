//! `rx_track`: model and RTL get the same packets and closes and must agree on every clock; what
//! comes out must be what a plain receiver without clocks makes of the same order of arrivals.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use rtl_model::image::Wide;
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::rx_track::{End, Inputs, Outputs, Peer, Regs, Side, State};
use rtl_model::sack_bitmap::Op;
use rtl_model::types::{Answer, Delivery, Drop, Kind, Nack, Parsed, Psn, Qpn};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Differences from the cumulative PSN where the judgement changes, and their neighbours.
const BORDERS: [u32; 9] =
    [0, 1, 2, 0x7f_ffff, 0x80_0000, 0x80_0001, 0xff_fffe, 0xff_ffff, 0x40_0000];
/// The same around `cfg_range`, to be added to it.
const RANGE_BORDERS: [u32; 3] = [0xff_ffff, 0, 1];
/// Initial PSNs, from which every difference is tried.
const BASES: [u32; 20] = [
    0, 1, 2, 3, 0xff, 0x100, 0x3ff, 0x400, 0xffff, 0x1_0000, 0x12_3456, 0x7f_fffe, 0x7f_ffff,
    0x80_0000, 0x80_0001, 0xab_cdef, 0xff_fc00, 0xff_fffd, 0xff_fffe, 0xff_ffff,
];
/// Differences of generations where QP-5 changes its mind.
const GENERATIONS: [u16; 6] = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
/// Payloads around the steps of SACK-1.
const LENGTHS: [u16; 13] = [0, 1, 255, 256, 1023, 1024, 1025, 1365, 1366, 2047, 2048, 4095, 4096];

/// What follows from one packet or close.
#[derive(Clone, Debug, Default, PartialEq)]
struct Effects {
    drops: Vec<Drop>,
    dups: u32,
    ooo: u32,
    recv: Vec<(Qpn, u16)>,
    created: Option<(Qpn, u8)>,
    closed: Option<(Qpn, u8)>,
    rel2: Vec<u16>,
    relt: Vec<u16>,
    deliver: Vec<Delivery>,
    answer: Option<Answer>,
    ctrl_drops: u8,
}

impl Effects {
    fn drop(&self) -> Drop {
        self.drops.first().copied().unwrap_or_default()
    }
}

/// One receiver side of the plain receiver; its numbers never wrap.
struct Connection {
    dest: u8,
    sender: u32,
    next: i64,
    since_sack: u64,
    bytes: u64,
    messages: u64,
    /// PSNs held, and of last packets what their `RECV_COMPLETE` will say.
    held: BTreeMap<i64, Option<(u16, u32)>>,
    walk: i64,
    asked: bool,
    ooo: u16,
}

impl Connection {
    /// RX-7: whether the packet is new; the messages that it completes.
    fn arrive(&mut self, psn: i64, p: &Parsed, nominal: u64) -> (bool, Vec<(u16, u32)>) {
        let mut whole = Vec::new();
        if psn < self.next || self.held.contains_key(&psn) {
            return (false, whole);
        }
        self.bytes += nominal;
        self.held.insert(psn, p.last.then_some((p.msn, p.msg_len)));
        while let Some(end) = self.held.remove(&self.next) {
            whole.extend(end);
            self.next += 1;
        }
        self.messages += whole.len() as u64;
        if psn >= self.next {
            self.ooo = (self.ooo + 1) % 0x8000;
        }
        (true, whole)
    }

    /// SACK-3: base and bits of the next report.
    fn report(&mut self) -> (u16, u64) {
        let above = self.held.range(self.walk..).next();
        let Some((&base, _)) = above.or_else(|| self.held.iter().next()) else { return (1, 0) };
        self.walk = base + 64;
        let bits = self.held.range(base..base + 64).map(|(n, _)| 1 << (n - base)).sum();
        ((base - (self.next - 1)).cast_unsigned() as u16, bits)
    }
}

/// A receiver without clocks: QP-4, QP-5, RX-3 to RX-8, ACK-1, SACK-1 to SACK-3, SACK-6, NAK-1.
struct Receiver {
    sizes: Sizes,
    open: HashMap<u32, Connection>,
    by_sender: HashMap<(u8, u8), u32>,
    last_closed: HashMap<(u8, u8), u16>,
    free: VecDeque<u8>,
    lives: HashMap<u8, u32>,
    /// Control frames that are not built.
    waiting: u16,
}

impl Receiver {
    fn new(sizes: &Sizes) -> Self {
        Self {
            sizes: *sizes,
            open: HashMap::new(),
            by_sender: HashMap::new(),
            last_closed: HashMap::new(),
            free: (0..sizes.qps).map(|s| s as u8).collect(),
            lives: HashMap::new(),
            waiting: 0,
        }
    }

    fn dest(&self, i: &Inputs, ip: u32) -> Option<u8> {
        let dests = 0..self.sizes.dests as u8;
        let address = |d: u8| (i.cfg_peer_ip.0[usize::from(d / 2)] >> (d % 2 * 32)) as u32;
        dests.into_iter().find(|d| i.cfg_peer_valid >> d & 1 == 1 && address(*d) == ip)
    }

    /// The number of the packet's side; creates it, and says so.
    fn side(&mut self, i: &Inputs, dest: u8) -> Result<(u32, bool), Drop> {
        let p = &i.r#in;
        let (slot, generation) = (p.qpn.slot(), p.qpn.generation());
        if u32::from(slot) >= self.sizes.qps {
            return Err(Drop::Qp);
        }
        if !p.by_sender {
            let mine = self.open.get(&p.qpn.0).is_some_and(|c| c.dest == dest);
            return if mine { Ok((p.qpn.0, false)) } else { Err(Drop::Qp) };
        }
        if let Some(own) = self.by_sender.get(&(dest, slot)) {
            let same = self.open[own].sender == p.qpn.0;
            return if same { Ok((*own, false)) } else { Err(Drop::Qp) };
        }
        if let Some(last) = self.last_closed.get(&(dest, slot)) {
            // One of the 0x7fff generations that follow the last one closed.
            let follows = (1..0x8000_u32).contains(&(u32::from(generation.wrapping_sub(*last))));
            if !follows {
                return Err(Drop::Qp);
            }
        }
        if p.kind == Kind::Probe {
            return Err(Drop::Qp);
        }
        let ours = self.free.pop_front().ok_or(Drop::QpFull)?;
        let life = self.lives.entry(ours).or_insert(0);
        *life += 1;
        let own = (*life & 0xffff) << 8 | u32::from(ours);
        self.by_sender.insert((dest, slot), own);
        let first = i64::from(i.cfg_initial_psn.0);
        let connection = Connection {
            dest,
            sender: p.qpn.0,
            next: first,
            since_sack: 0,
            bytes: 0,
            messages: 0,
            held: BTreeMap::new(),
            walk: first,
            asked: false,
            ooo: 0,
        };
        self.open.insert(own, connection);
        Ok((own, true))
    }

    fn packet(&mut self, i: &Inputs) -> Effects {
        let p = &i.r#in;
        let mut e = Effects::default();
        let wanted = self.judge(i, &mut e).unwrap_or_else(|drop| {
            e.drops.push(drop);
            None
        });
        if matches!(p.kind, Kind::Data | Kind::Probe) {
            let written = e.deliver.first().is_some_and(|d| d.write && d.len > 0);
            e.rel2.extend((!written).then_some(p.charge));
        } else {
            e.relt.push(p.charge);
        }
        let words = Delivery { len: p.len, word: p.word, ..Delivery::default() };
        if p.kind == Kind::Data && p.len > 0 && e.deliver.is_empty() {
            e.deliver.push(words);
        }
        if let Some(answer) = wanted {
            e.drops.extend((answer.nack == Nack::Range).then_some(Drop::Psn));
            self.queue(answer, &mut e);
        }
        e
    }

    /// SACK-6: 1,024 frames wait at most.
    fn queue(&mut self, mut answer: Answer, e: &mut Effects) {
        let mut fits = |wants: bool| {
            let goes = wants && self.waiting < 1024;
            self.waiting += u16::from(goes);
            e.ctrl_drops += u8::from(wants && !goes);
            goes
        };
        answer.sack = fits(answer.sack);
        let nack = fits(answer.nack != Nack::None);
        answer.ack = fits(answer.ack);
        e.answer = (answer.sack || nack || answer.ack).then_some(answer);
    }

    /// What becomes of it, and the answer that it draws.
    fn judge(&mut self, i: &Inputs, e: &mut Effects) -> Result<Option<Answer>, Drop> {
        let p = &i.r#in;
        if !matches!(p.kind, Kind::Data | Kind::Trimmed | Kind::Probe) {
            return Err(Drop::Opcode);
        }
        if p.kind == Kind::Data && i.deliver_level >= full(&self.sizes) {
            return Err(Drop::Pool);
        }
        let dest = self.dest(i, p.src_ip).ok_or(Drop::Peer)?;
        let (own, created) = self.side(i, dest)?;
        e.created = created.then_some((Qpn(own), dest));
        let c = self.open.get_mut(&own).expect("found");
        let mut answer = Answer {
            dst_ip: p.src_ip,
            dest,
            sender_qpn: Qpn(c.sender),
            own_qpn: Qpn(own),
            drew: p.psn,
            sack_offset: 1,
            entropy: p.sport,
            ce: p.ce,
            rtx: p.rtx,
            stamped: p.stamped,
            stamp: p.stamp,
            size: p.len + u16::from(i.cfg_wire_overhead),
            ..Answer::default()
        };
        // From the cumulative PSN, −0x800000 to 0x7fffff.
        let beyond = i64::from(p.psn.0) - (c.next - 1);
        let beyond = (beyond + 0x80_0000).rem_euclid(0x100_0000) - 0x80_0000;
        if p.kind == Kind::Probe {
            let id = p.ctrl.0[0].to_le_bytes();
            answer.drew = Psn(u32::from(id[4]) << 8 | u32::from(id[5]));
            (answer.probe, answer.sack, answer.ce, answer.size) = (true, true, false, 74);
        } else if beyond > i64::from(i.cfg_range) {
            answer.nack = Nack::Range;
        } else if p.kind == Kind::Trimmed {
            if !i.cfg_trimming {
                return Ok(None);
            }
            answer.nack = if p.last_hop { Nack::LastHop } else { Nack::Trimmed };
        } else {
            arrival(c, c.next - 1 + beyond, i, &mut answer, e);
        }
        answer.cum = Psn((c.next - 1).rem_euclid(0x100_0000) as u32);
        answer.msn = (c.messages % 0x100_0000) as u32;
        answer.ooo = c.ooo;
        answer.rcvd = (c.bytes.div_ceil(256) % 0x100_0000) as u32;
        let draws = answer.sack || answer.ack || answer.nack != Nack::None;
        Ok(draws.then_some(answer))
    }

    fn close(&mut self, own: Qpn) -> Effects {
        let Some(c) = self.open.remove(&own.0) else { return Effects::default() };
        let sender = (c.dest, c.sender as u8);
        self.by_sender.remove(&sender);
        self.last_closed.insert(sender, (c.sender >> 8) as u16);
        self.free.push_back(own.slot());
        Effects { closed: Some((own, sender.0)), ..Effects::default() }
    }
}

/// RX-6 to RX-8, ACK-1, SACK-1: an untrimmed packet in the window.
fn arrival(c: &mut Connection, psn: i64, i: &Inputs, answer: &mut Answer, e: &mut Effects) {
    let p = &i.r#in;
    let own = answer.own_qpn;
    let (expected, over_a_gap) = (c.next, psn > c.next);
    let nominal = u64::from(p.len) + u64::from(i.cfg_nominal_overhead);
    let (new, whole) = c.arrive(psn, p, nominal);
    let end = |qpn, (msn, msg_len)| Delivery {
        write: true,
        complete: true,
        qpn,
        msn,
        msg_len,
        dest: c.dest,
        ..Delivery::default()
    };
    e.recv = whole.iter().map(|(msn, _)| (own, *msn)).collect();
    e.dups = u32::from(!new);
    e.ooo = u32::from(new && over_a_gap);
    let mut passed = whole.iter().copied();
    if new {
        let complete = p.last && !over_a_gap;
        if complete {
            passed.next();
        }
        let written = Delivery {
            addr: p.raddr,
            len: p.len,
            word: p.word,
            charge: if p.len > 0 { p.charge } else { 0 },
            complete,
            ..end(own, (p.msn, p.msg_len))
        };
        e.deliver.extend((p.len > 0 || complete).then_some(written));
    }
    e.deliver.extend(passed.map(|m| end(own, m)));
    c.asked |= over_a_gap && p.ack_req;
    let closed = c.next > expected + 1 && c.asked;
    c.asked &= !c.held.is_empty();
    c.since_sack += u64::from(p.len.max(1024));
    answer.ack = p.ack_req || !whole.is_empty();
    answer.sack = answer.ack || p.rtx || c.since_sack > 4095 || closed;
    if answer.sack {
        c.since_sack = 0;
        (answer.sack_offset, answer.bitmap) = c.report();
    }
}

/// What the queue of deliveries holds where data is dropped.
fn full(sizes: &Sizes) -> u32 {
    sizes.ingress_words - sizes.psns - 8
}

/// The bits of held PSNs: a plain map for each slot, and the responses under way.
#[derive(Default)]
struct Maps {
    held: HashMap<u8, HashMap<u32, (bool, bool)>>,
    due: VecDeque<(u32, Inputs)>,
}

impl Maps {
    /// The responses to a request, each with the clocks until it comes.
    fn request(&mut self, o: &Outputs) {
        let held = self.held.entry(o.map_qp).or_default();
        let mut rsp = Inputs { map_rsp_valid: true, map_rsp_psn: o.map_psn, ..Inputs::default() };
        let clocks = match o.map_op {
            Op::Hold => 6,
            Op::Report => 4,
            _ => 3,
        };
        match o.map_op {
            Op::Wipe => held.clear(),
            Op::Set | Op::Hold => {
                rsp.map_rsp_hit = held.contains_key(&o.map_psn.0);
                held.entry(o.map_psn.0).or_insert((o.map_last, o.map_asked));
            }
            Op::Advance => return self.advance(o.map_qp, o.map_psn),
            _ => {}
        }
        if matches!(o.map_op, Op::Hold | Op::Report) {
            let above = |n: u32| n.wrapping_sub(o.map_low.0) & 0xff_ffff;
            let mut all: Vec<u32> = held.keys().map(|n| above(*n)).collect();
            all.sort_unstable();
            let walk = o.map_walk.ahead_of(o.map_low);
            let base = all.iter().find(|n| n.cast_signed() >= walk).or(all.first()).copied();
            let base = base.expect("a report of what is held");
            rsp.map_rsp_psn = o.map_low.plus(base);
            let bits = all.iter().filter(|n| (base..base + 64).contains(*n));
            rsp.map_rsp_bits = bits.map(|n| 1 << (n - base)).sum();
        }
        self.due.push_back((clocks, rsp));
    }

    /// Parts of a run, cut where PSNs are a multiple of 64; one that ends there is followed by an
    /// empty one.
    fn advance(&mut self, qp: u8, psn: Psn) {
        let held = self.held.entry(qp).or_default();
        let (mut at, mut far) = (psn, 0);
        loop {
            let mut rsp = Inputs { map_rsp_valid: true, map_rsp_psn: at, ..Inputs::default() };
            while let Some((last, asked)) = held.remove(&at.0) {
                rsp.map_rsp_bits |= u64::from(last) << at.ahead_of(rsp.map_rsp_psn);
                rsp.map_rsp_asked |= asked;
                at = at.plus(1);
                far += 1;
                if at.0 % 64 == 0 {
                    rsp.map_rsp_more = true;
                    break;
                }
            }
            (rsp.map_rsp_hit, rsp.map_rsp_far) = (far > 0, far);
            let more = rsp.map_rsp_more;
            self.due.push_back((if self.due.is_empty() { 3 } else { 2 }, rsp));
            if !more {
                return;
            }
        }
    }

    /// The response of this clock, if one is there.
    fn show(&mut self, i: &mut Inputs) {
        i.map_rsp_valid = false;
        let Some((clocks, rsp)) = self.due.front_mut() else { return };
        *clocks = clocks.saturating_sub(1);
        if *clocks == 0 {
            i.map_rsp_valid = true;
            i.map_rsp_hit = rsp.map_rsp_hit;
            i.map_rsp_psn = rsp.map_rsp_psn;
            i.map_rsp_bits = rsp.map_rsp_bits;
            i.map_rsp_far = rsp.map_rsp_far;
            i.map_rsp_asked = rsp.map_rsp_asked;
            i.map_rsp_more = rsp.map_rsp_more;
        }
    }
}

/// A pair with its memories, held against the plain receiver.
struct Bench {
    pair: Lockstep<Regs>,
    peer: Ram<Peer>,
    rctx: Ram<Side>,
    ends: Ram<End>,
    maps: Maps,
    receiver: Receiver,
    sizes: Sizes,
    /// What the last packet or close taken comes to, and what was seen of it.
    due: Effects,
    seen: Effects,
    /// The answer shown has been seen before.
    shown: bool,
}

fn address(dest: u8) -> u32 {
    0x0a00_0100 + u32::from(dest)
}

/// Levels: every destination but the last one of the build exists.
fn levels(sizes: &Sizes) -> Inputs {
    let mut i = Inputs {
        cfg_peer_valid: (1_u64 << (sizes.dests - 1)) - 1,
        cfg_range: sizes.psns as u16,
        cfg_wire_overhead: 78,
        cfg_nominal_overhead: 60,
        cfg_trimming: true,
        answer_ready: true,
        map_ready: true,
        ..Inputs::default()
    };
    let pair = |n: u8| u64::from(address(2 * n)) | u64::from(address(2 * n + 1)) << 32;
    i.cfg_peer_ip = Wide(std::array::from_fn(|n| pair(n as u8)));
    i
}

impl Bench {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let mut rng = Rng::new(seed, "rx_track memories");
        let mut peer = Ram::new((sizes.dests * sizes.qps) as usize);
        let mut rctx = Ram::new(sizes.qps as usize);
        let mut ends = Ram::new((sizes.qps * sizes.psns) as usize);
        peer.randomize(&mut rng);
        rctx.randomize(&mut rng);
        ends.randomize(&mut rng);
        Self {
            pair: Lockstep::new("rx_track", sizes, Start::Random(seed as u32)).expect("builds"),
            peer,
            rctx,
            ends,
            maps: Maps::default(),
            receiver: Receiver::new(sizes),
            sizes: *sizes,
            due: Effects::default(),
            seen: Effects::default(),
            shown: false,
        }
    }

    /// Past the sweep of `peer`.
    fn swept(sizes: &Sizes, seed: u64) -> Result<Self, Mismatch> {
        let mut bench = Self::new(sizes, seed);
        bench.sweep()?;
        Ok(bench)
    }

    /// A reset in the middle of whatever goes on; the memories keep what they hold.
    fn reset(&mut self) {
        self.pair.reset().expect("a reset");
        self.receiver = Receiver::new(&self.sizes);
        self.maps.due.clear();
        self.due = Effects::default();
        self.seen = Effects::default();
        self.shown = false;
    }

    fn sweep(&mut self) -> Result<(), Mismatch> {
        let mut i = levels(&self.sizes);
        i.in_valid = true;
        i.r#in.kind = Kind::Ack;
        for _ in 0..self.sizes.dests * self.sizes.qps {
            let out = self.clock(&mut i)?;
            assert!(!out.in_ready && !out.close_ready, "nothing is taken in the sweep");
        }
        assert_eq!(self.pair.regs().state, State::Idle);
        while !self.clock(&mut i)?.in_ready {}
        i.in_valid = false;
        self.clock(&mut i)?;
        let clear = (0..self.peer.depth()).all(|n| *self.peer.peek(n) == Peer::default());
        assert!(clear, "every word is swept");
        Ok(())
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.peer_rdata = self.peer.rdata;
        i.rctx_rdata = self.rctx.rdata;
        i.ends_rdata = self.ends.rdata;
        self.maps.show(i);
        let o = self.pair.clock(i)?;
        self.memories(&o);
        if i.map_rsp_valid && o.map_rsp_ready {
            self.maps.due.pop_front();
        }
        if o.map_valid && i.map_ready {
            assert!(self.maps.due.is_empty(), "one request at a time");
            self.maps.request(&o);
        }
        self.check(i, &o);
        Ok(o)
    }

    fn memories(&mut self, o: &Outputs) {
        self.peer.clock(&ram_1r1w::Inputs {
            we: o.peer_we,
            waddr: o.peer_waddr,
            wdata: o.peer_wdata,
            re: o.peer_re,
            raddr: o.peer_raddr,
        });
        self.rctx.clock(&ram_1r1w::Inputs {
            we: o.rctx_we,
            waddr: o.rctx_waddr,
            wdata: o.rctx_wdata,
            re: o.rctx_re,
            raddr: o.rctx_raddr,
        });
        self.ends.clock(&ram_1r1w::Inputs {
            we: o.ends_we,
            waddr: o.ends_waddr,
            wdata: o.ends_wdata,
            re: o.ends_re,
            raddr: o.ends_raddr,
        });
    }

    /// Adds this clock's outputs to what was seen; with the next packet or close all of it must be
    /// there.
    fn check(&mut self, i: &Inputs, o: &Outputs) {
        let seen = &mut self.seen;
        seen.drops.extend(o.drop_valid.then_some(o.drop_reason));
        seen.dups += u32::from(o.dup_valid);
        seen.ooo += u32::from(o.ooo_valid);
        seen.recv.extend(o.recv_valid.then_some((o.recv_qpn, o.recv_msn)));
        seen.created = seen.created.or(o.created_valid.then_some((o.created_qpn, o.created_dest)));
        seen.closed = seen.closed.or(o.closed_valid.then_some((o.closed_qpn, o.closed_dest)));
        seen.rel2.extend(o.rel2_valid.then_some(o.rel2_bytes));
        seen.relt.extend(o.relt_valid.then_some(o.relt_bytes));
        seen.deliver.extend(o.deliver_valid.then_some(o.deliver));
        seen.answer = seen.answer.or((o.answer_valid && !self.shown).then_some(o.answer));
        self.shown = o.answer_valid && !i.answer_ready;
        seen.ctrl_drops += o.ctrl_drops;
        let clock = self.pair.clocks();
        assert!(!(o.in_ready && o.close_ready), "one at a time");
        let (packet, close) = (o.in_ready && i.in_valid, o.close_ready && i.close_valid);
        if packet || close {
            assert_eq!(self.seen, self.due, "clock {clock}");
            self.seen = Effects::default();
            self.due =
                if packet { self.receiver.packet(i) } else { self.receiver.close(i.close_qpn) };
        }
        self.receiver.waiting -= u16::from(i.sent_valid);
    }

    /// Clocks until nothing more follows; what was seen, in which number of them.
    fn settle(&mut self, i: &mut Inputs) -> Result<u32, Mismatch> {
        i.in_valid = false;
        i.close_valid = false;
        let mut clocks = 0;
        while self.pair.regs().state != State::Idle {
            self.clock(i)?;
            clocks += 1;
            assert!(clocks < 3000, "it ends");
        }
        self.clock(i)?;
        let clock = self.pair.clocks();
        assert_eq!(self.seen, self.due, "clock {clock}");
        Ok(clocks)
    }

    /// One packet from idle, with its effects, and the clocks to its judgement.
    fn judged(&mut self, i: &Inputs, p: Parsed) -> Result<(Effects, u32), Mismatch> {
        let mut i = Inputs { in_valid: true, r#in: p, ..i.clone() };
        let mut clocks = 1;
        while !self.clock(&mut i)?.in_ready {
            clocks += 1;
            assert!(clocks <= 10, "at most 10 clocks a packet");
        }
        self.settle(&mut i)?;
        // Control frames are built at once.
        let frames = self.receiver.waiting;
        for _ in 0..frames {
            i.sent_valid = true;
            self.clock(&mut i)?;
        }
        Ok((self.seen.clone(), clocks))
    }

    fn packet(&mut self, i: &Inputs, p: Parsed) -> Result<Effects, Mismatch> {
        Ok(self.judged(i, p)?.0)
    }

    /// One close from idle.
    fn close(&mut self, i: &Inputs, qpn: Qpn) -> Result<Effects, Mismatch> {
        let mut i = Inputs { close_valid: true, close_qpn: qpn, ..i.clone() };
        while !self.clock(&mut i)?.close_ready {}
        self.settle(&mut i)?;
        Ok(self.seen.clone())
    }
}

/// A data packet by the sender's number.
fn data(dest: u8, sender: Qpn, psn: u32, len: u16) -> Parsed {
    Parsed {
        kind: Kind::Data,
        src_ip: address(dest),
        qpn: sender,
        by_sender: true,
        psn: Psn::new(psn),
        len,
        charge: len + 78,
        ..Parsed::default()
    }
}

fn kind(name: &str) -> Kind {
    match name {
        "data" => Kind::Data,
        "trim" | "hop" => Kind::Trimmed,
        "ack" => Kind::Ack,
        "probe" => Kind::Probe,
        other => panic!("no kind {other}"),
    }
}

/// Items joined by `+`, or a dot.
fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<_> = items.into_iter().collect();
    if items.is_empty() { ".".into() } else { items.join("+") }
}

/// An answer as fixtures write it.
fn reply(a: &Answer) -> String {
    let kind = match (a.nack, a.probe, a.sack, a.ack) {
        (Nack::Trimmed, ..) => return format!("N1:{:06x}", a.drew.0),
        (Nack::LastHop, ..) => return format!("N2:{:06x}", a.drew.0),
        (Nack::Range, ..) => return format!("NB:{:06x}", a.drew.0),
        (_, true, ..) => return format!("P{:04x}:{:06x}", a.drew.0, a.cum.0),
        (_, _, true, true) => "SA",
        (_, _, true, false) => "S",
        _ => "A",
    };
    format!("{kind}{:06x}+{}:{:x}", a.cum.0, a.sack_offset, a.bitmap)
}

fn play(file: &str) -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 1)?;
    let mut i = levels(&Sizes::SMALL);
    i.cfg_initial_psn = Psn(0xff_fffe);
    i.cfg_range = 4;
    for (n, row) in Table::read(file).into_iter().enumerate() {
        let flags = row.text("flags");
        let qpn = Qpn(row.hex("qpn") as u32);
        let (e, clocks) = if row.text("kind") == "close" {
            (bench.close(&i, qpn)?, 3)
        } else {
            let sent = data(1, qpn, row.hex("psn") as u32, row.dec("len") as u16);
            let packet = Parsed {
                kind: kind(row.text("kind")),
                last_hop: row.text("kind") == "hop",
                by_sender: flags.contains('R'),
                ack_req: flags.contains('A'),
                rtx: flags.contains('x'),
                last: flags.contains('l'),
                msn: n as u16,
                ctrl: Wide([0xcdab_0000_0000, 0, 0, 0]),
                ..sent
            };
            bench.judged(&i, packet)?
        };
        row.expect("clocks", clocks);
        row.expect("drop", list(e.drops.iter().map(|d| format!("{d:?}"))));
        row.expect("dup", e.dups);
        row.expect("ooo", e.ooo);
        row.expect("recv", e.recv.len());
        row.expect("made", list(e.created.map(|(q, _)| format!("{:06x}", q.0))));
        row.expect("shut", list(e.closed.map(|(q, _)| format!("{:06x}", q.0))));
        let data = e.rel2.iter().map(|n| format!("d{n}"));
        row.expect("release", list(data.chain(e.relt.iter().map(|n| format!("c{n}")))));
        let deliver = |d: &Delivery| {
            format!(
                "{}{}{}",
                if d.write { "w" } else { "s" },
                d.len,
                if d.complete { "!" } else { "" }
            )
        };
        row.expect("deliver", list(e.deliver.iter().map(deliver)));
        row.expect("answer", list(e.answer.iter().map(reply)));
    }
    Ok(())
}

/// RX-3, RX-4, RX-5, RX-7, RX-8, ACK-1, NAK-1, PTH-2: what each difference from the cumulative PSN draws.
#[test]
fn window_borders() -> Result<(), Mismatch> {
    play("rx_track/window_borders.txt")
}

/// RX-7, RX-8, SACK-1, SACK-3: gaps open and close, messages complete in PSN order.
#[test]
fn gaps_open_and_close() -> Result<(), Mismatch> {
    play("rx_track/gaps_open_and_close.txt")
}

/// QP-4, QP-5: creation, generations, closes.
#[test]
fn lives_of_a_number() -> Result<(), Mismatch> {
    play("rx_track/lives_of_a_number.txt")
}

/// RX-4, RX-7, and the case of PSN compares: the judgement depends on the difference alone.
#[test]
fn differences_from_20_bases() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 2)?;
    let mut i = levels(&Sizes::SMALL);
    let mut sender = 0x101;
    for base in BASES {
        i.cfg_initial_psn = Psn(base);
        let cum = base.wrapping_sub(1);
        let range = u32::from(i.cfg_range);
        let around = RANGE_BORDERS.map(|d| range.wrapping_add(d) & 0xff_ffff);
        let mut differences: Vec<u32> = BORDERS.into_iter().chain(around).collect();
        differences.retain(|d| *d != 1);
        for trimmed in [true, false] {
            let own = {
                let first = data(0, Qpn(sender), base.wrapping_add(1), 10);
                let e = bench.packet(&i, Parsed { kind: Kind::Trimmed, ..first })?;
                e.created.expect("a trimmed packet creates the side").0
            };
            for difference in &differences {
                let kind = if trimmed { Kind::Trimmed } else { Kind::Data };
                let psn = cum.wrapping_add(*difference);
                let e = bench.packet(&i, Parsed { kind, ..data(0, Qpn(sender), psn, 10) })?;
                let below = *difference == 0 || *difference >= 0x80_0000;
                let inside = below || *difference <= range;
                let drop = if inside { Drop::None } else { Drop::Psn };
                let held = u32::from(!below && inside && !trimmed);
                assert_eq!(e.drop(), drop, "{difference:#x} from {cum:#x}");
                assert_eq!(e.dups, u32::from(below && !trimmed), "{difference:#x} from {cum:#x}");
                assert_eq!(e.ooo, held, "{difference:#x} from {cum:#x}");
            }
            let e = bench.packet(&i, data(0, Qpn(sender), base, 10))?;
            assert!(e.drop() == Drop::None && e.dups == 0, "in order from {base:#x}");
            bench.close(&i, own)?;
            sender += 0x100;
        }
    }
    Ok(())
}

/// QP-5: at or below the last generation closed nothing is created, signed over 16 bits.
#[test]
fn generations_at_or_below_the_closed_one_are_dropped() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 3)?;
    let i = levels(&Sizes::SMALL);
    let mut slot = 0;
    for first in [0_u16, 1, 0x7fff, 0x8000, 0xffff] {
        for difference in GENERATIONS {
            let (dest, sender) = (slot / 16 % 3, slot % 16);
            slot += 1;
            let number = |g: u16| Qpn::new(g, sender);
            let next = first.wrapping_add(difference);
            // A fresh pair of peer and slot each time: 48 of them, 30 used.
            let e = bench.packet(&i, data(dest, number(first), 0, 1))?;
            let own = e.created.expect("any generation is new").0;
            let e = bench.packet(&i, data(dest, number(next), 1, 1))?;
            let expected = if difference == 0 { Drop::None } else { Drop::Qp };
            assert_eq!(e.drop(), expected, "{difference:#x} while {first:#x} is open");
            bench.close(&i, own)?;
            let e = bench.packet(&i, data(dest, number(next), 0, 1))?;
            let newer = (1..0x8000).contains(&difference);
            assert_eq!(e.created.is_some(), newer, "{difference:#x} after {first:#x}");
            assert_eq!(e.drop(), if newer { Drop::None } else { Drop::Qp });
            if let Some((own, _)) = e.created {
                bench.close(&i, own)?;
            }
        }
    }
    Ok(())
}

/// QP-5: a full table drops and counts; then the oldest closed slot comes first, a life later.
#[test]
fn a_full_table_drops_and_slots_return_oldest_closed_first() -> Result<(), Mismatch> {
    for sizes in [Sizes::SMALL, Sizes::DEFAULT] {
        let mut bench = Bench::swept(&sizes, 4)?;
        let i = levels(&sizes);
        let number = |n: u32| data((n / sizes.qps) as u8, Qpn(0x100 + n % sizes.qps), 0, 1);
        for n in 0..sizes.qps {
            let e = bench.packet(&i, number(n))?;
            assert_eq!(e.created, Some((Qpn(0x100 + n), 0)), "fresh slots in order");
        }
        for _ in 0..2 {
            let e = bench.packet(&i, number(sizes.qps))?;
            assert_eq!((e.drop(), e.created), (Drop::QpFull, None));
        }
        for slot in [5, 3, 9] {
            bench.close(&i, Qpn(0x100 + slot))?;
        }
        let e = bench.close(&i, Qpn(0x100 + 3))?;
        assert_eq!(e.closed, None, "a stale number is ignored");
        for (n, slot) in [5, 3, 9].into_iter().enumerate() {
            let e = bench.packet(&i, number(sizes.qps + n as u32))?;
            assert_eq!(e.created, Some((Qpn(0x200 + slot), 1)), "the second life of {slot}");
        }
        let e = bench.packet(&i, number(sizes.qps + 3))?;
        assert_eq!(e.drop(), Drop::QpFull);
        // With R clear the old life's number is nobody's.
        let old = Parsed { by_sender: false, ..data(1, Qpn(0x100 + 5), 1, 1) };
        assert_eq!(bench.packet(&i, old)?.drop(), Drop::Qp);
        let new = Parsed { by_sender: false, ..data(1, Qpn(0x200 + 5), 1, 1) };
        assert_eq!(bench.packet(&i, new)?.drop(), Drop::None);
        let stranger = Parsed { by_sender: false, ..data(0, Qpn(0x200 + 5), 2, 1) };
        assert_eq!(bench.packet(&i, stranger)?.drop(), Drop::Qp);
    }
    Ok(())
}

/// SACK-1: figures `mrc.sack_every_n_pkts.payload…`.
#[test]
fn a_sack_every_n_packets() -> Result<(), Mismatch> {
    const FIGURES: [(u16, usize); 10] = [
        (0, 4),
        (1, 4),
        (1024, 4),
        (1025, 4),
        (1365, 4),
        (1366, 3),
        (2047, 3),
        (2048, 2),
        (4095, 2),
        (4096, 1),
    ];
    let mut bench = Bench::swept(&Sizes::SMALL, 5)?;
    let i = levels(&Sizes::SMALL);
    for (n, (payload, every)) in FIGURES.into_iter().enumerate() {
        for dups in [false, true] {
            let sender = Qpn(0x100 + n as u32);
            let dest = u8::from(dups);
            let mut since = 0;
            for psn in 0..12 {
                // Duplicates count as well: each of them is PSN 0 again.
                let psn = if dups { 0 } else { psn };
                let e = bench.packet(&i, data(dest, sender, psn, payload))?;
                since += 1;
                if let Some(answer) = e.answer {
                    assert!(answer.sack && !answer.ack);
                    assert_eq!(since, every, "payload {payload}");
                    since = 0;
                }
            }
            assert_eq!(since, 0, "payload {payload}: 12 is a multiple of {every}");
            let own = *bench.receiver.by_sender.get(&(dest, n as u8)).expect("open");
            bench.close(&i, Qpn(own))?;
        }
    }
    Ok(())
}

/// SACK-2, MSN-8: received bytes count units of 256, rounded up, modulo 2^24; so do messages; what
/// comes out of order counts modulo 2^15.
#[test]
fn counters_wrap() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 6)?;
    let i = levels(&Sizes::SMALL);
    let sender = Qpn(0x101);
    let first = Parsed { kind: Kind::Trimmed, ..data(0, sender, 1, 0) };
    let own = bench.packet(&i, first)?.created.expect("created").0;
    // 2^32 bytes are 2^24 units.
    let start = (1_u64 << 32) - 360;
    let side = *bench.rctx.peek(0);
    bench.rctx.poke(0, Side { rcvd: start as u32, msn: 0xff_fffe, ooo: 0x7fff, ..side });
    let c = bench.receiver.open.get_mut(&own.0).expect("open");
    (c.bytes, c.messages, c.ooo) = (start, 0xff_fffe, 0x7fff);
    let mut reports = Vec::new();
    for psn in 0..5 {
        let whole = Parsed { last: true, ..data(0, sender, psn, 0) };
        let answer = bench.packet(&i, whole)?.answer.expect("complete");
        reports.push((answer.rcvd, answer.msn));
    }
    // 60 bytes each, so −300, then −240 to −60: those round up to all 2^24 units, which are 0.
    let expected = [(0xff_ffff, 0xff_ffff), (0, 0), (0, 1), (0, 2), (0, 3)];
    assert_eq!(reports, expected);
    let one = bench.packet(&i, Parsed { rtx: true, ..data(0, sender, 5, 1) })?;
    let one = one.answer.expect("retransmit flag");
    assert_eq!((one.rcvd, one.ooo), (1, 0x7fff), "1 byte is a unit");
    let ahead = bench.packet(&i, Parsed { rtx: true, ..data(0, sender, 7, 1) })?;
    assert_eq!(ahead.answer.expect("retransmit flag").ooo, 0, "2^15 events are 0");
    Ok(())
}

/// RX-4, SACK-3, case 23: PSN 0 is lost and 1 to 1,023 are held. The reports that 16 duplicates
/// draw list all of them; 1,023 is the last that is accepted, and 1,024 draws a NACK.
#[test]
fn sixteen_reports_list_a_full_window() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::DEFAULT, 7)?;
    let i = levels(&Sizes::DEFAULT);
    let sender = Qpn(0x101);
    let mut listed = BTreeSet::new();
    let mut list = |a: Option<Answer>| {
        let a = a.expect("a SACK");
        let base = a.cum.plus(u32::from(a.sack_offset));
        listed.extend((0..64).filter(|n| a.bitmap >> n & 1 == 1).map(|n| base.plus(n).0));
        listed.len()
    };
    for psn in 1..1024 {
        assert_eq!(bench.packet(&i, data(0, sender, psn, 1))?.ooo, 1);
    }
    let e = bench.packet(&i, data(0, sender, 1024, 1))?;
    assert_eq!((e.drop(), e.answer.expect("a NACK").nack), (Drop::Psn, Nack::Range));
    for n in 1..=16 {
        let e = bench.packet(&i, data(0, sender, 1023, 4096))?;
        assert_eq!(e.dups, 1);
        assert!(list(e.answer) == 1023 || n < 16, "1 to 1,023 within 16 SACKs");
    }
    let e = bench.packet(&i, data(0, sender, 0, 1))?;
    assert_eq!(bench.rctx.peek(0).expected, Psn(1024), "the run is passed whole");
    assert_eq!(e.drop(), Drop::None);
    Ok(())
}

/// RX-8: one arrival completes 20 messages; their events come in PSN order, one a clock.
#[test]
fn one_recv_complete_a_clock_in_order() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 8)?;
    let mut i = levels(&Sizes::SMALL);
    for psn in (1..=20).rev() {
        let p = Parsed { last: true, msn: psn as u16, ..data(0, Qpn(0x101), psn, 1) };
        assert!(bench.packet(&i, p)?.recv.is_empty());
    }
    i.r#in = Parsed { last: true, ..data(0, Qpn(0x101), 0, 1) };
    i.in_valid = true;
    while !bench.clock(&mut i)?.in_ready {}
    i.in_valid = false;
    let mut recv = Vec::new();
    for _ in 0..40 {
        let o = bench.clock(&mut i)?;
        recv.extend(o.recv_valid.then_some((bench.pair.clocks(), o.recv_msn)));
    }
    let msns: Vec<_> = recv.iter().map(|(_, msn)| *msn).collect();
    assert_eq!(msns, (0..=20).collect::<Vec<u16>>());
    assert_eq!(recv[20].0 - recv[1].0, 19, "20 of them in 20 clocks");
    Ok(())
}

/// ACK-1, SACK-6: 1,024 control frames wait; of the answer that would be the 1,024th and the next
/// only the first goes. Deliveries and judgements go on.
#[test]
fn the_1025th_control_frame_is_dropped() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::DEFAULT, 9)?;
    let mut i = levels(&Sizes::DEFAULT);
    let mut drops = 0;
    for psn in 0..1025 {
        // A SACK alone, then SACKs with their ACKs.
        i.r#in = Parsed { rtx: psn == 0, ack_req: psn > 0, ..data(0, Qpn(0x101), psn, 1) };
        i.in_valid = true;
        while !bench.clock(&mut i)?.in_ready {}
        bench.settle(&mut i)?;
        drops += u32::from(bench.seen.ctrl_drops);
        assert_eq!(bench.seen.deliver.len(), 1);
        if psn == 512 {
            let a = bench.seen.answer.expect("a SACK");
            assert!(a.sack && !a.ack && drops == 1, "1 + 511 × 2 + 1 frames wait");
        }
    }
    assert_eq!(drops, 1 + 512 * 2);
    i.sent_valid = true;
    bench.clock(&mut i)?;
    i.sent_valid = false;
    let e = bench.packet(&i, Parsed { rtx: true, ..data(0, Qpn(0x101), 1025, 1) })?;
    assert!(e.answer.is_some() && e.ctrl_drops == 0, "one is built, one more may wait");
    Ok(())
}

/// ACK-1, RX-2: where the queue of deliveries is full data is dropped, and nothing else changes.
#[test]
fn a_full_queue_of_deliveries_drops_data() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 10)?;
    let mut i = levels(&Sizes::SMALL);
    for (level, drop) in [(0, Drop::Pool), (1, Drop::None)] {
        i.deliver_level = full(&Sizes::SMALL) - level;
        let e = bench.packet(&i, data(0, Qpn(0x101), 0, 1))?;
        assert_eq!((e.drop(), e.created.is_none()), (drop, drop == Drop::Pool));
    }
    i.deliver_level = u32::MAX;
    let e = bench.packet(&i, Parsed { kind: Kind::Trimmed, ..data(0, Qpn(0x101), 1, 0) })?;
    assert_eq!(e.drop(), Drop::None, "trimmed packets bring no delivery");
    Ok(())
}

/// RX-7, SACK-1: packets in order 3 clocks each, ahead of a gap 6, with a report 9; every fourth
/// with a SACK makes less than 8.
#[test]
fn a_packet_every_eight_clocks() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::DEFAULT, 11)?;
    let mut i = levels(&Sizes::DEFAULT);
    let own = bench.packet(&i, data(0, Qpn(0x101), 0, 1))?.created.expect("created").0;
    i.sent_valid = false;
    for (first, len, clocks) in [(1, 1000, 3 * 64), (66, 1000, 64 * 8), (200, 4096, 64 * 9)] {
        let start = bench.pair.clocks();
        for psn in first..first + 64 {
            i.r#in = Parsed { by_sender: false, ..data(0, own, psn, len) };
            i.in_valid = true;
            while !bench.clock(&mut i)?.in_ready {}
        }
        bench.settle(&mut i)?;
        let took = bench.pair.clocks() - start;
        assert!(took <= clocks + 10, "{took} clocks for 64 packets from {first}");
    }
    Ok(())
}

/// Cases 28 and 29, RX-7, RX-8: every packet twice, in any order within the window: each payload is
/// written once, each message completed once, in order.
#[test]
fn duplicated_and_shuffled_is_as_in_order() -> Result<(), Mismatch> {
    const PACKETS: u32 = 120;
    let mut rng = Rng::new(12, "shuffle");
    for round in 0..6 {
        let mut bench = Bench::swept(&Sizes::SMALL, 12 + round)?;
        let mut i = levels(&Sizes::SMALL);
        i.cfg_initial_psn = Psn(0xff_ffc0);
        let mut order: Vec<u32> = (0..PACKETS).chain(0..PACKETS).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, rng.below(n as u64 + 1) as usize);
        }
        let (mut written, mut recv, mut bytes) = (BTreeSet::new(), Vec::new(), 0);
        for n in order {
            let psn = i.cfg_initial_psn.plus(n).0;
            let p = data(0, Qpn(0x101), psn, (n % 3 * 100) as u16);
            let last = n % 5 == 4;
            let e =
                bench.packet(&i, Parsed { last, msn: (n / 5) as u16, raddr: u64::from(n), ..p })?;
            recv.extend(e.recv.iter().map(|(_, msn)| *msn));
            for d in e.deliver.iter().filter(|d| d.write && d.len > 0) {
                assert!(written.insert(d.addr), "payload {n} is written once");
                bytes += u32::from(d.len);
            }
        }
        assert_eq!(recv, (0..24).collect::<Vec<u16>>());
        assert_eq!(bytes, (0..PACKETS).map(|n| n % 3 * 100).sum::<u32>());
        let side = *bench.rctx.peek(0);
        assert_eq!((side.expected, side.held, side.msn), (i.cfg_initial_psn.plus(PACKETS), 0, 24));
    }
    Ok(())
}

/// Random packets and closes at the borders.
struct Traffic {
    rng: Rng,
    /// The generation that each sender's slot is in.
    lives: HashMap<(u8, u8), u16>,
    ready: u64,
}

impl Traffic {
    fn packet(&mut self, bench: &Bench, i: &Inputs) -> Parsed {
        let rng = &mut self.rng;
        let nobody = bench.sizes.dests as u8 - 1;
        let dest = if rng.percent(95) { rng.below(3) as u8 } else { nobody };
        let senders = bench.sizes.qps.min(if rng.percent(97) { 12 } else { 256 });
        let past_the_end = u64::from(rng.percent(2));
        let slot = rng.below(u64::from(senders) + past_the_end) as u8;
        let life = self.lives.entry((dest, slot)).or_insert_with(|| rng.pick(&GENERATIONS));
        if rng.percent(3) {
            *life = life.wrapping_add(rng.pick(&GENERATIONS));
        }
        let mut qpn = Qpn::new(*life, slot);
        if rng.percent(5) {
            qpn = Qpn::new(life.wrapping_add(rng.pick(&GENERATIONS)), slot);
        }
        let by_sender = rng.percent(60);
        let own = bench.receiver.by_sender.get(&(dest, slot)).copied();
        if !by_sender {
            qpn = Qpn(own.unwrap_or_else(|| rng.below(1 << 10) as u32));
            if rng.percent(5) {
                qpn = Qpn(qpn.0 ^ 1 << rng.below(24));
            }
        }
        let next = own.map_or(i.cfg_initial_psn, |own| {
            Psn::new(bench.receiver.open[&own].next.rem_euclid(0x100_0000) as u32)
        });
        let psn = match rng.below(10) {
            0 => next.minus(1).plus(rng.pick(&BORDERS)),
            3 => next.plus(rng.below(u64::from(i.cfg_range.min(70))) as u32),
            4..7 => next.plus(1 + rng.below(6) as u32),
            1 => next.minus(1).plus(u32::from(i.cfg_range)).plus(rng.pick(&RANGE_BORDERS)),
            2 => next.minus(rng.below(5) as u32),
            _ => next,
        };
        let kinds = [Kind::Trimmed, Kind::Trimmed, Kind::Trimmed, Kind::Probe, Kind::Ack];
        let kind = if rng.percent(90) { Kind::Data } else { rng.pick(&kinds) };
        let any = rng.bits();
        let len = if rng.percent(80) { rng.pick(&LENGTHS) } else { rng.below(8_193) as u16 };
        Parsed {
            kind,
            last_hop: rng.percent(50),
            ctrl: Wide([any, any, 0, 0]),
            first: rng.percent(30),
            last: rng.percent(30),
            ce: rng.percent(10),
            ack_req: rng.percent(15),
            rtx: rng.percent(10),
            stamped: rng.percent(50),
            stamp: rng.bits() as u16,
            sport: any as u16,
            msn: (any >> 16) as u16,
            rkey: any as u32,
            msg_len: (any >> 32) as u32,
            word: (any >> 8) as u16,
            raddr: rng.bits(),
            charge: len + 78,
            cc: any,
            by_sender,
            ..data(dest, qpn, psn.0, len)
        }
    }

    fn close(&mut self, bench: &Bench) -> Qpn {
        // In the order of numbers: a hash map's order is not the same in every run.
        let mut open: Vec<u32> = bench.receiver.open.keys().copied().collect();
        open.sort_unstable();
        let mut qpn = self.rng.below(1 << 9) as u32;
        if !open.is_empty() {
            qpn = self.rng.pick(&open);
        }
        if self.rng.percent(10) {
            qpn ^= 1 << self.rng.below(24);
        }
        Qpn(qpn)
    }

    /// `clocks` clocks, with a reset in the middle.
    fn run(&mut self, bench: &mut Bench, clocks: u32) -> Result<[u32; 16], Mismatch> {
        let mut i = levels(&bench.sizes);
        i.answer_ready = false;
        let mut drops = [0; 16];
        let mut taken = 0;
        for clock in 0..clocks {
            if clock == clocks / 2 {
                bench.reset();
                i.in_valid = false;
                i.close_valid = false;
                i.sent_valid = false;
                self.lives.clear();
            }
            if !i.in_valid && !i.close_valid && clock % 1024 < 16 {
                i.cfg_initial_psn = Psn(self.rng.pick(&BASES));
                i.cfg_range = self.rng.pick(&[1, 2, 4, 127, 128, 1023, 1024]);
            }
            // Both are looked at while a packet is offered.
            if !i.in_valid && self.rng.percent(2) {
                i.cfg_trimming = self.rng.percent(75);
                let around = full(&bench.sizes) + 1 - self.rng.below(3) as u32;
                i.deliver_level = if self.rng.percent(20) { around } else { 0 };
            }
            if !i.in_valid && self.rng.percent(75) {
                i.r#in = self.packet(bench, &i);
                i.in_valid = true;
            }
            if !i.close_valid && self.rng.percent(2) {
                i.close_qpn = self.close(bench);
                i.close_valid = true;
            }
            if clock % 512 == 0 {
                self.ready = self.rng.pick(&[0, 25, 75, 75, 100, 100]);
            }
            i.answer_ready = self.rng.percent(self.ready);
            i.map_ready = self.rng.percent(90);
            // Where the room of an answer is not being looked at.
            let state = bench.pair.regs().state;
            let apart = !matches!(state, State::Judge | State::Ask | State::Settle);
            let builds = clock % (clocks / 2) > clocks / 5 * 2 && self.rng.percent(90);
            i.sent_valid = apart && builds && bench.receiver.waiting > 0;
            let o = bench.clock(&mut i)?;
            if o.drop_valid {
                drops[o.drop_reason as usize] += 1;
            }
            taken += u32::from(o.in_ready);
            if o.in_ready {
                i.in_valid = false;
            }
            if o.close_ready {
                i.close_valid = false;
            }
        }
        assert!(taken > clocks / 20, "packets were taken");
        Ok(drops)
    }
}

/// QP-4, QP-5, RX-3, RX-4, RX-5, RX-6, RX-7, RX-8, ACK-1, SACK-1, SACK-2, SACK-3, SACK-6, NAK-1,
/// PTH-2, MSN-8 all at once: random packets and closes, with back-pressure and a reset in the
/// middle; the plain receiver holds against every event, delivery and answer.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("rx_track");
    for (sizes, seed, clocks) in
        [(Sizes::SMALL, 11, 150_000), (Sizes::SMALL, 12, 150_000), (Sizes::DEFAULT, 13, 200_000)]
    {
        let mut bench = Bench::new(&sizes, seed);
        let mut traffic =
            Traffic { rng: Rng::new(seed, "rx_track"), lives: HashMap::new(), ready: 75 };
        let drops = traffic.run(&mut bench, clocks)?;
        for reason in [Drop::Opcode, Drop::Pool, Drop::Peer, Drop::Qp, Drop::Psn] {
            assert!(drops[reason as usize] > 0, "{reason:?} comes up");
        }
        assert!(sizes.qps > 16 || drops[Drop::QpFull as usize] > 0, "a small table is full");
    }
    reached.check();
    Ok(())
}
