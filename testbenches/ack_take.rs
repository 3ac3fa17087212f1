//! `ack_take`: model and RTL get the same frames and partners and must agree on every clock; what
//! the partners are told must be what a plain sender without clocks makes of the same frames.

use std::collections::{BTreeSet, HashMap, VecDeque};

use rtl_model::ack_take::{Inputs, Outputs, Regs};
use rtl_model::image::Wide;
use rtl_model::retransmit::Cause;
use rtl_model::sack_bitmap::Op;
use rtl_model::types::{Drop, Kind, Parsed, Psn, Qpn};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Differences of PSNs where SACK-5 changes its mind, and their neighbours.
const BORDERS: [u32; 8] = [0, 1, 0x7f_ffff, 0x80_0000, 0x80_0001, 0xff_fffe, 0xff_ffff, 2];
/// PSNs from which every difference is tried.
const BASES: [u32; 20] = [
    0, 1, 2, 3, 0xff, 0x100, 0x3ff, 0x400, 0xffff, 0x1_0000, 0x12_3456, 0x7f_fffe, 0x7f_ffff,
    0x80_0000, 0x80_0001, 0xab_cdef, 0xff_fc00, 0xff_fffd, 0xff_fffe, 0xff_ffff,
];
/// The nominal size of a packet beside its payload.
const NOMINAL: u16 = 60;
/// PSNs of the window.
const PSNS: i64 = 1024;

/// What a partner is told, or the counters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Find(Qpn, u32),
    Retire(u8, Psn),
    Discard(u8, Psn),
    Sub(u8, u16),
    Lose(u8, Psn, Cause),
    Spent(u8),
    Skip(u8, u16),
    Probed(u8, u16, u16, bool),
    /// With `Probed` and `Timed`: group, arrival, whether there is an echo, service time or echo.
    Stamped(u8, u64, bool, u16),
    /// NACK, transmissions, end of the last one, destination, retransmit flag; then `Stamped`.
    Timed(bool, u8, u64, u8, bool),
    Update(u8, Psn, Option<Qpn>, (bool, Psn)),
    Ack(u8, u8, Psn),
    Cover(u8, Psn),
    Forget(u8, Psn),
    Purged,
    Checked(bool),
    Release(u16),
    Drop(Drop),
    Other,
}

/// A QP of the plain sender. PSNs are not wrapped.
#[derive(Clone, Debug, Default)]
struct Connection {
    ip: u32,
    group: u8,
    dest: u8,
    /// The next PSN to give and the cumulative one.
    given: i64,
    cum: i64,
    /// Given and not acknowledged.
    outstanding: BTreeSet<i64>,
    /// LOS-2, and what the register keeps of it.
    recovers: bool,
    recover: i64,
}

fn psn(n: i64) -> Psn {
    Psn::new(n.rem_euclid(1 << 24) as u32)
}

/// The number next to `near` that has this PSN.
fn unwrapped(psn: Psn, near: i64) -> i64 {
    near + i64::from(psn.ahead_of(self::psn(near)))
}

/// Payload bytes of a packet: any function of its QP and PSN.
fn payload(qp: u8, psn: Psn) -> u16 {
    const LENGTHS: [u16; 6] = [0, 1, 1024, 4095, 4096, 8192];
    LENGTHS[(u32::from(qp) + psn.0) as usize % LENGTHS.len()]
}

/// Its bytes are in flight; it goes again when it is lost; its budget is spent.
fn flies(psn: Psn) -> bool {
    psn.0 % 5 != 1
}

fn goes_again(psn: Psn) -> bool {
    psn.0 % 3 != 1
}

fn is_spent(psn: Psn) -> bool {
    psn.0 % 7 == 2
}

/// How often a packet was sent, and when last; a response may have no transmission to tell of.
fn sent(psn: Psn) -> u8 {
    [1, 2, 0, 3, 255][psn.0 as usize % 5]
}

fn ended(psn: Psn) -> u64 {
    u64::from(psn.0).wrapping_mul(0x9e37_79b9) & 0xffff_ffff_ffff
}

/// A sender without clocks: ACK-2, SACK-4, SACK-5, LOS-1, LOS-2, NAK-1, QP-4.
#[derive(Default)]
struct Sender {
    qps: HashMap<u32, Connection>,
    /// `SACKLossMinRetxPkts`.
    loss: i64,
}

/// The bytes of SETH or NETH.
fn bytes(p: &Parsed) -> [u8; 32] {
    let mut bytes = [0; 32];
    p.ctrl.to_bytes(&mut bytes);
    bytes
}

/// The PSNs that a SACK lists, from the cumulative one.
fn listed(p: &Parsed) -> Vec<i64> {
    let b = bytes(p);
    let base = i64::from(i16::from_be_bytes([b[18], b[19]]));
    // Bit 0 is the lowest bit of the last byte.
    let bit = |n: &i64| b[27 - *n as usize / 8] >> (n % 8) & 1 == 1;
    (0..64).filter(bit).map(|n| base + n).collect()
}

impl Sender {
    /// What a frame makes the block say, in order; `Sub` stands behind its `Retire`.
    fn frame(&mut self, p: &Parsed) -> Vec<Told> {
        let mut told = Vec::new();
        let release = Told::Release(p.charge);
        if !matches!(p.kind, Kind::Ack | Kind::Sack | Kind::Nack) {
            return vec![Told::Other, release];
        }
        told.push(Told::Find(p.qpn, p.src_ip));
        let qp = p.qpn.slot();
        let loss = self.loss;
        let Some(c) = self.qps.get_mut(&p.qpn.0).filter(|c| c.ip == p.src_ip) else {
            told.extend([Told::Drop(Drop::Qp), release]);
            return told;
        };
        let b = bytes(p);
        let sack = p.kind == Kind::Sack;
        let bits = if sack { listed(p) } else { Vec::new() };
        let probe = sack && b[1] & 2 != 0;
        let drew = (sack && !probe).then(|| i64::from(i16::from_be_bytes([b[2], b[3]])));
        let times = Times::of(p, c);
        // Each PSN named is one of the 2^23 below the next one to give, or the frame is ignored.
        let offsets = [Some(0), drew, bits.last().copied()];
        let below = |offset: i64| (c.given - i64::from(p.psn.0) - offset).rem_euclid(1 << 24);
        if offsets.iter().flatten().any(|offset| !(1..=1 << 23).contains(&below(*offset))) {
            told.extend([Told::Drop(Drop::Psn), release]);
            return told;
        }
        let named = c.given - below(0);
        let skips = if sack { b[1] >> 5 & 3 == 1 } else { p.kind == Kind::Nack && b[2] == 1 };
        if skips {
            told.push(Told::Skip(c.dest, p.sport));
        }
        if probe {
            let id = u16::from_be_bytes([b[2], b[3]]);
            told.push(Told::Probed(c.dest, p.sport, id, b[1] & 0x60 == 0));
            told.push(times.stamp);
        }
        let moves = p.kind != Kind::Nack && named > c.cum;
        if moves {
            c.cum = named;
        }
        c.recovers &= c.recover > c.cum;
        let covered = if p.kind == Kind::Nack { i64::MIN } else { c.cum };
        let acked = |n: &i64| *n <= covered || bits.contains(&(*n - named));
        let retired: Vec<i64> = c.outstanding.iter().copied().filter(acked).collect();
        // RTT-1, ACK-2: it is outstanding; else it is asked for, past the cumulative PSN.
        let drew = drew.map(|drew| named + drew);
        let here = drew.filter(|n| retired.contains(n));
        for n in retired {
            let at = told.len() + 1;
            c.retire(qp, n, false, &mut told);
            if here == Some(n) {
                told.splice(at..at, times.of_packet(n));
            }
        }
        if let Some(n) = drew.filter(|n| here.is_none() && *n > c.cum) {
            told.push(Told::Lose(qp, psn(n), Cause::Sample));
            if c.outstanding.contains(&n) {
                told.extend(times.of_packet(n));
            }
        }
        let learn = (p.kind != Kind::Ack)
            .then(|| Qpn(u32::from(b[12]) << 16 | u32::from(b[8]) << 8 | u32::from(b[9])));
        let codes = [(1, Cause::Trimmed), (2, Cause::LastHop), (0x0b, Cause::Range)];
        let cause = codes.iter().find(|(code, _)| *code == b[2]);
        match p.kind {
            Kind::Sack => c.gaps(qp, bits.last().map(|top| named + top - loss), &mut told),
            Kind::Nack if cause.is_some() && c.outstanding.contains(&named) => {
                let cause = cause.map_or(Cause::Gap, |c| c.1);
                let at = told.len() + 1;
                Connection::lose(qp, named, cause, &mut told);
                told.splice(at..at, times.of_packet(named));
            }
            _ => {}
        }
        if moves || learn.is_some() {
            told.push(Told::Update(qp, psn(c.cum), learn, (c.recovers, psn(c.recover))));
        }
        told.push(Told::Ack(qp, c.group, psn(c.cum)));
        if p.kind == Kind::Ack {
            told.push(Told::Cover(qp, p.psn));
        }
        if p.kind == Kind::Nack && cause.is_none() {
            told.push(Told::Other);
        }
        told.push(release);
        told
    }

    /// CPL-2: what a check makes the block say.
    fn check(&self, qpn: Qpn, first: i64, last: i64) -> [Told; 2] {
        let c = &self.qps[&qpn.0];
        let retired = |n: i64| n < c.given && !c.outstanding.contains(&n);
        let clear = last < c.given && (first..=last).all(retired);
        [Told::Find(Qpn(u32::from(qpn.slot())), 0), Told::Checked(clear)]
    }

    /// QP-6: what a purge makes the block say.
    fn purge(&mut self, qpn: Qpn) -> Vec<Told> {
        let qp = qpn.slot();
        let c = self.qps.get_mut(&qpn.0).expect("open");
        let mut told = vec![Told::Find(Qpn(u32::from(qp)), 0)];
        let cum = c.cum;
        for n in cum + 1..c.given {
            c.retire(qp, n, true, &mut told);
        }
        c.recovers = false;
        c.cum = c.given - 1;
        if c.cum != cum {
            told.push(Told::Update(qp, psn(c.cum), None, (c.recovers, psn(c.recover))));
        }
        told.extend([Told::Ack(qp, c.group, psn(c.cum)), Told::Forget(qp, psn(cum)), Told::Purged]);
        told
    }
}

/// RTT-1: what a frame says of the round trip.
struct Times {
    stamp: Told,
    nack: bool,
    dest: u8,
    rtx: bool,
}

impl Times {
    fn of(p: &Parsed, c: &Connection) -> Self {
        let b = bytes(p);
        let word = match p.kind {
            Kind::Nack => u16::from_be_bytes([b[18], b[19]]),
            _ => (p.cc as u16).swap_bytes(),
        };
        let stamp = Told::Stamped(c.group, p.at, p.stamped, word);
        Self { stamp, nack: p.kind == Kind::Nack, dest: c.dest, rtx: p.rtx }
    }

    /// Of a packet that is outstanding; nothing where no transmission of it has ended.
    fn of_packet(&self, n: i64) -> Vec<Told> {
        let (sent, at) = (sent(psn(n)), ended(psn(n)));
        let timed = Told::Timed(self.nack, sent, at, self.dest, self.rtx);
        if sent == 0 { vec![] } else { vec![timed, self.stamp] }
    }
}

impl Connection {
    fn retire(&mut self, qp: u8, n: i64, discard: bool, told: &mut Vec<Told>) {
        let outstanding = self.outstanding.remove(&n);
        let of = psn(n);
        told.push(if discard { Told::Discard(qp, of) } else { Told::Retire(qp, of) });
        if outstanding && flies(of) {
            told.push(Told::Sub(self.group, payload(qp, of) + NOMINAL));
        }
    }

    fn lose(qp: u8, n: i64, cause: Cause, told: &mut Vec<Told>) -> bool {
        told.push(Told::Lose(qp, psn(n), cause));
        if is_spent(psn(n)) {
            told.push(Told::Spent(qp));
        }
        goes_again(psn(n))
    }

    /// LOS-1, LOS-2: what is outstanding below `end` is lost.
    fn gaps(&mut self, qp: u8, end: Option<i64>, told: &mut Vec<Told>) {
        let Some(end) = end.filter(|_| !self.recovers) else { return };
        for n in self.outstanding.clone().range(..end) {
            if Self::lose(qp, *n, Cause::Gap, told) {
                (self.recovers, self.recover) = (true, self.given - 1);
            }
        }
    }
}

/// A response on its way: clocks left, then what it says.
type Late<T> = Option<(u64, T)>;

fn tick<T>(late: &mut Late<T>) {
    if let Some((left, _)) = late {
        *left = left.saturating_sub(1);
    }
}

/// What `sack_bitmap` answers.
type Answer = (bool, Psn, u64);

/// A pair with its partners.
struct Bench {
    pair: Lockstep<Regs>,
    sender: Sender,
    /// What `qp_table` knows; it follows the sender once the block has said so.
    table: HashMap<u32, Connection>,
    /// What `sack_bitmap` holds, by slot: the QP's number and its PSNs outstanding.
    rings: HashMap<u8, (Qpn, BTreeSet<i64>)>,
    /// Packets built that are on their way into the record.
    built: VecDeque<(Qpn, i64)>,
    map: Late<Answer>,
    find: Late<Option<Connection>>,
    update: Late<()>,
    retire: Late<(u8, Psn, bool)>,
    lose: Late<(Psn, bool)>,
    found: Qpn,
    /// The QP that is to be purged.
    purge: Qpn,
    /// The QP of the message that is looked at, its first packet and its last.
    check: (Qpn, i64, i64),
    /// The QP that has opened, until its ring is wiped; then it is ready.
    opening: Option<Qpn>,
    ready: Vec<Qpn>,
    due: VecDeque<Told>,
    /// Clocks from a request to its response, up to and including.
    latency: (u64, u64),
    rng: Rng,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        Self {
            pair: Lockstep::new("ack_take", sizes, Start::Random(seed as u32)).expect("builds"),
            sender: Sender { loss: 512, ..Sender::default() },
            table: HashMap::new(),
            rings: HashMap::new(),
            built: VecDeque::new(),
            map: None,
            find: None,
            update: None,
            retire: None,
            lose: None,
            found: Qpn::default(),
            purge: Qpn::default(),
            check: (Qpn::default(), 0, 0),
            opening: None,
            ready: Vec::new(),
            due: VecDeque::new(),
            latency: (1, 1),
            rng: Rng::new(seed, "ack_take partners"),
        }
    }

    /// A QP that has been open for a while.
    fn open(&mut self, qpn: Qpn, c: &Connection) {
        self.sender.qps.insert(qpn.0, c.clone());
        self.table.insert(qpn.0, c.clone());
        self.rings.insert(qpn.slot(), (qpn, c.outstanding.clone()));
    }

    fn forget(&mut self) {
        (self.find, self.update, self.retire, self.lose) = (None, None, None, None);
        self.map = None;
        self.due.clear();
        self.sender.qps.clear();
        self.table.clear();
        self.rings.clear();
        self.built.clear();
        self.opening = None;
        self.ready.clear();
    }

    fn wait(&mut self) -> u64 {
        self.rng.between(self.latency.0, self.latency.1)
    }

    /// A clock; `i` brings the frame and the readys, this the responses.
    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.cfg_nominal_overhead = NOMINAL as u8;
        i.cfg_loss = self.sender.loss as u16;
        i.built_valid = !self.built.is_empty();
        if let Some((qpn, n)) = self.built.front() {
            i.built = u32::from(qpn.slot()) << 24 | psn(*n).0;
        }
        let any = self.rng.bits();
        i.find_rsp_ok = any & 1 == 1;
        i.find_rsp_cum = Psn::new(any as u32);
        i.find_rsp_given = Psn::new((any >> 8) as u32);
        i.retire_rsp_len = (any >> 32) as u16 & 0x3fff;
        self.answers(i);
        let o = self.pair.clock(i)?;
        if i.map_rsp_valid && o.map_rsp_ready {
            self.map = None;
        }
        tick(&mut self.update);
        tick(&mut self.map);
        tick(&mut self.find);
        tick(&mut self.retire);
        tick(&mut self.lose);
        self.serve(i, &o);
        Ok(o)
    }

    fn answers(&mut self, i: &mut Inputs) {
        i.find_rsp_valid = false;
        i.retire_rsp_valid = false;
        i.lose_rsp_valid = false;
        i.map_rsp_valid = false;
        if let Some((1, found)) = self.find.take_if(|(left, _)| *left == 1) {
            i.find_rsp_valid = true;
            i.find_rsp_ok = found.is_some();
            if let Some(c) = found {
                i.find_rsp_qp = self.found.slot();
                i.find_rsp_group = c.group;
                i.find_rsp_dest = c.dest;
                i.find_rsp_given = psn(c.given);
                i.find_rsp_cum = psn(c.cum);
                i.find_rsp_recovers = c.recovers;
                i.find_rsp_recover = psn(c.recover);
                // A purge comes once all is built.
                if !self.pair.regs().purge {
                    self.building(i, &c);
                }
            }
        }
        i.upd_done = matches!(self.update, Some((1, ())));
        if i.upd_done {
            self.update = None;
        }
        if let Some((1, (qp, which, flight))) = self.retire {
            self.retire = None;
            i.retire_rsp_valid = true;
            i.retire_rsp_flight = flight;
            i.retire_rsp_len = payload(qp, which);
            i.retire_rsp_group = i.find_rsp_group;
            i.retire_rsp_last = which.0 % 3 == 0;
            (i.retire_rsp_sent, i.retire_rsp_at) = (sent(which), ended(which));
        }
        if let Some((1, (which, there))) = self.lose {
            self.lose = None;
            i.lose_rsp_valid = true;
            i.lose_rsp_queued = goes_again(which);
            i.lose_rsp_fatal = is_spent(which);
            i.lose_rsp_sent = if there { sent(which) } else { 0 };
            i.lose_rsp_at = ended(which);
        }
        // It waits until it is taken.
        if let Some((left, (hit, psn, bits))) = self.map
            && left <= 1
        {
            i.map_rsp_valid = true;
            (i.map_rsp_hit, i.map_rsp_psn, i.map_rsp_bits) = (hit, psn, bits);
        }
    }

    /// SACK-5: a packet that is being built, of this QP or of another, given already or not yet.
    fn building(&mut self, i: &mut Inputs, c: &Connection) {
        i.building_valid = true;
        i.building_qp = i.find_rsp_qp;
        i.building_psn = psn(c.given);
        match self.rng.below(4) {
            0 => i.find_rsp_given = psn(c.given + 1),
            1 => i.building_qp ^= 1,
            2 => (i.building_valid, i.building_psn) = (false, psn(c.given - 1)),
            _ => {}
        }
        if i.building_qp != i.find_rsp_qp {
            i.building_psn = psn(c.given - 1);
        }
    }

    /// The record does what it is asked.
    fn record(&mut self, o: &Outputs) -> Answer {
        let none = (false, Psn(0), 0);
        if o.map_op == Op::Wipe {
            let qpn = self.opening.take().expect("a QP has opened");
            assert_eq!(qpn.slot(), o.map_qp);
            self.rings.get_mut(&o.map_qp).expect("open").1.clear();
            self.ready.push(qpn);
            return none;
        }
        if o.map_op == Op::Set {
            let (qpn, n) = self.built.pop_front().expect("a packet is built");
            assert_eq!((o.map_qp, o.map_psn), (qpn.slot(), psn(n)));
            self.rings.get_mut(&o.map_qp).expect("open").1.insert(n);
            for qps in [&mut self.sender.qps, &mut self.table] {
                let c = qps.get_mut(&qpn.0).expect("open");
                c.given = n + 1;
                c.outstanding.insert(n);
            }
            return none;
        }
        let (qpn, ring) = self.rings.get_mut(&o.map_qp).expect("open");
        let c = &self.table[&qpn.0];
        let at = unwrapped(o.map_psn, c.cum);
        let end = at + i64::from(o.map_end.0.wrapping_sub(o.map_psn.0) & 0xff_ffff);
        assert!((c.cum + 1..c.given).contains(&at), "the ring is asked in the window");
        match o.map_op {
            Op::Test => (ring.contains(&at), Psn(0), 0),
            Op::Clear => (ring.remove(&at), Psn(0), 0),
            Op::Next | Op::Take => {
                assert!(end <= c.given, "the ring is asked up to the next PSN to give");
                let found = ring.range(at..end).next().copied();
                if let (Op::Take, Some(n)) = (o.map_op, found) {
                    ring.remove(&n);
                }
                (found.is_some(), psn(found.unwrap_or(0)), 0)
            }
            Op::Block => {
                assert!(end <= c.given && end <= at + 64);
                let bits = ring.range(at..end).fold(0, |bits, n| bits | 1 << (n - at));
                (false, Psn(0), bits)
            }
            op => panic!("{op:?} is not asked"),
        }
    }

    /// What a frame says of its path and of the round trip.
    fn marked(&mut self, o: &Outputs) {
        if o.skip_valid {
            self.told(Told::Skip(o.skip_dest, o.skip_port));
        }
        if o.probed_valid {
            self.told(Told::Probed(o.skip_dest, o.skip_port, o.probed_id, o.probed_good));
            self.told(Told::Stamped(o.timed_group, o.timed_arrived, o.timed_stamped, o.timed_word));
        }
        if o.timed_valid {
            let (sent, at) = (o.timed_sent, o.timed_at);
            self.told(Told::Timed(o.timed_nack, sent, at, o.skip_dest, o.timed_rtx));
            self.told(Told::Stamped(o.timed_group, o.timed_arrived, o.timed_stamped, o.timed_word));
        }
    }

    fn serve(&mut self, i: &Inputs, o: &Outputs) {
        // Events of the frame before come first in a clock.
        if o.drop_valid {
            self.told(Told::Drop(o.drop_reason));
        }
        if o.other_valid {
            self.told(Told::Other);
        }
        if o.relc_valid {
            self.told(Told::Release(o.relc_bytes));
            assert!(self.due.is_empty(), "the release is the last of a frame");
            self.rings_agree();
        }
        if o.purge_done {
            self.told(Told::Purged);
            self.rings_agree();
        }
        self.marked(o);
        if o.spent_valid {
            self.told(Told::Spent(o.spent_qp));
        }
        if o.check_rsp_valid {
            self.told(Told::Checked(o.check_rsp_clear));
        }
        if o.check_ready && i.check_valid {
            assert!(self.due.is_empty(), "a check comes between two frames");
            let (qpn, first, last) = self.check;
            self.due.extend(self.sender.check(qpn, first, last));
        }
        if o.purge_ready && i.purge_valid {
            assert!(self.due.is_empty(), "a purge comes between two frames");
            self.due.extend(self.sender.purge(self.purge));
        }
        if o.in_ready && i.in_valid {
            self.due.extend(self.sender.frame(&i.r#in));
        }
        if o.map_valid && i.map_ready {
            assert!(self.map.is_none(), "one at a time");
            let answer = self.record(o);
            self.map = Some((self.wait() + 2, answer));
        }
        if o.find_valid && i.find_ready {
            let ip = if o.find_bare { 0 } else { o.find_dest_ip };
            self.told(Told::Find(o.find_qpn, ip));
            self.found = match () {
                () if !o.find_bare => o.find_qpn,
                () if self.pair.regs().check => self.check.0,
                () => self.purge,
            };
            let c = self.table.get(&self.found.0);
            let c = c.filter(|c| o.find_bare || c.ip == o.find_dest_ip).cloned();
            self.find = Some((self.wait(), c));
        }
        if o.retire_valid && i.retire_ready {
            assert!(self.retire.is_none(), "one at a time");
            self.told(if o.retire_discard {
                Told::Discard(o.retire_qp, o.retire_psn)
            } else {
                Told::Retire(o.retire_qp, o.retire_psn)
            });
            let mut flight = flies(o.retire_psn);
            // A purge asks for each packet, also for those that are retired.
            if o.retire_discard {
                let at = unwrapped(o.retire_psn, self.table[&self.purge.0].cum);
                flight &= self.rings.get_mut(&o.retire_qp).expect("open").1.remove(&at);
            }
            self.retire = Some((self.wait(), (o.retire_qp, o.retire_psn, flight)));
        }
        if o.sub_valid && i.sub_ready {
            self.told(Told::Sub(o.sub_group, o.sub_bytes));
        }
        if o.lose_valid && i.lose_ready {
            self.told(Told::Lose(o.lose_qp, o.lose_psn, o.lose_cause));
            let at = unwrapped(o.lose_psn, self.table[&self.found.0].given);
            let there = self.rings[&o.lose_qp].1.contains(&at);
            self.lose = Some((self.wait(), (o.lose_psn, there)));
        }
        if o.upd_valid && i.upd_ready {
            let learn = o.upd_learn.then_some(o.upd_remote);
            let recover = (o.upd_recovers, o.upd_recover);
            self.told(Told::Update(o.upd_qp, o.upd_cum, learn, recover));
            let after = self.sender.qps[&self.found.0].clone();
            self.table.insert(self.found.0, after);
            self.update = Some((self.wait(), ()));
        }
        if o.ack_valid && i.ack_ready {
            self.told(Told::Ack(o.ack_qp, o.ack_group, o.ack_cum));
        }
        if o.cover_valid && i.cover_ready {
            self.told(if o.cover_forget {
                Told::Forget(o.cover_qp, o.cover_cum)
            } else {
                Told::Cover(o.cover_qp, o.cover_cum)
            });
        }
    }

    /// SACK-4: the record holds what is outstanding, no more.
    fn rings_agree(&self) {
        if let Some(c) = self.sender.qps.get(&self.found.0) {
            assert_eq!(self.rings[&self.found.slot()].1, c.outstanding);
        }
    }

    /// Holds one thing said against the next due. A retire request may go out, and be answered,
    /// before the bytes of the one before have left flight.
    fn told(&mut self, said: Told) {
        let clock = self.pair.clocks();
        let early = matches!(
            said,
            Told::Retire(..) | Told::Discard(..) | Told::Timed(..) | Told::Stamped(..)
        );
        let waits = |due: &Told| matches!(due, Told::Sub(..));
        let at = if early { self.due.iter().position(|due| !waits(due)) } else { Some(0) };
        let due = at.and_then(|at| self.due.remove(at));
        assert_eq!(Some(said), due, "clock {clock}");
    }

    /// CPL-2: a message to look at now and then, near the borders of its QP.
    fn draw_check(&mut self, rng: &mut Rng, i: &mut Inputs, numbers: &[Qpn]) {
        if i.check_valid || self.pair.regs().check || rng.below(60) != 0 {
            return;
        }
        let qpn = rng.pick(numbers);
        let c = &self.sender.qps[&qpn.0];
        let inside = rng.below((c.given - c.cum).cast_unsigned() + 2).cast_signed();
        let end = rng.pick(&[c.given - 1, c.given, c.cum, c.cum + 1, c.cum - 1 + inside]);
        let first = end - rng.pick(&[0, 0, 1, 2, 30, 1023, 5000]);
        self.check = (qpn, first, end);
        i.check_valid = true;
        i.check_qp = qpn.slot();
        (i.check_first, i.check_last) = (psn(first), psn(end));
    }

    /// One frame from idle, every partner ready; its clocks until the block is idle again.
    fn frame(&mut self, p: Parsed) -> Result<u32, Mismatch> {
        let mut i = Inputs {
            in_valid: true,
            r#in: p,
            map_ready: true,
            find_ready: true,
            upd_ready: true,
            retire_ready: true,
            sub_ready: true,
            lose_ready: true,
            ack_ready: true,
            cover_ready: true,
            find_rsp_group: self.sender.qps.get(&p.qpn.0).map_or(0, |c| c.group),
            ..Inputs::default()
        };
        assert!(self.clock(&mut i)?.in_ready);
        i.in_valid = false;
        let mut clocks = 1;
        while !self.clock(&mut i)?.in_ready {
            clocks += 1;
        }
        assert!(self.due.is_empty(), "all is said");
        Ok(clocks)
    }
}

const PEER: u32 = 0x0a00_0002;

/// A frame for a QP.
fn frame(kind: Kind, qpn: Qpn, psn: u32) -> Parsed {
    Parsed { kind, qpn, psn: Psn::new(psn), src_ip: PEER, charge: 62, ..Parsed::default() }
}

/// SETH: m, the PSN that drew it, base and bitmap, both PSNs from the cumulative one.
fn seth(m: u8, drew: i16, base: i16, bits: u64) -> Wide<4> {
    let mut b = [0; 28];
    b[1] = m << 5;
    b[2..4].copy_from_slice(&drew.to_be_bytes());
    (b[8], b[9], b[12]) = (2, 3, 1);
    b[18..20].copy_from_slice(&base.to_be_bytes());
    b[20..].copy_from_slice(&bits.to_be_bytes());
    Wide::from_bytes(&b)
}

/// NETH with a code.
fn neth(code: u8) -> Wide<4> {
    Wide::from_bytes(&[0x20, 0, code])
}

/// A QP with all of `outstanding` given, nothing else acknowledged beyond `cum`.
fn connection(cum: i64, given: i64) -> Connection {
    let outstanding = (cum + 1..given).collect();
    Connection { ip: PEER, group: 7, dest: 5, given, cum, outstanding, ..Connection::default() }
}

/// ACK-2, SACK-5, case 27: every difference from the next PSN to give and from the cumulative one.
#[test]
fn sack_5_differences_from_20_bases() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 31);
    for (n, base) in BASES.into_iter().enumerate() {
        // InitialPSN is the base: nothing in order yet, then five packets given, two acknowledged.
        for (given, cum) in [(0, -1), (5, -1), (5, 1), (5, 4)] {
            for kind in [Kind::Ack, Kind::Sack, Kind::Nack] {
                let around = [given, cum].map(|from| BORDERS.map(|d| psn(from).plus(d)));
                for offset in around.concat() {
                    let qpn = Qpn::new(n as u16 + 1, n as u8);
                    let base = i64::from(base);
                    bench.open(qpn, &connection(base + cum, base + given));
                    let named = psn(base).plus(offset.0);
                    bench.frame(frame(kind, qpn, named.0))?;
                    // The outcome without the base: the PSN is 1 to 2^23 below the next to give.
                    let below = (given - i64::from(offset.0)).rem_euclid(1 << 24);
                    let legal = (1..=1 << 23).contains(&below);
                    let moved = legal && kind != Kind::Nack && given - below > cum;
                    let expected = base + if moved { given - below } else { cum };
                    let after = bench.table[&qpn.0].cum;
                    assert_eq!(after, expected, "{kind:?} of {named:?} from {base:#x}");
                }
            }
        }
    }
    Ok(())
}

/// Clocks a frame as the head comment states them; a SACK and the ACK of its packet in time.
#[test]
fn clocks_a_frame() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 32);
    let qpn = Qpn::new(1, 0);
    bench.open(qpn, &connection(0, 1000));
    assert_eq!(bench.frame(frame(Kind::Probe, qpn, 0))?, 1);
    assert_eq!(bench.frame(frame(Kind::Ack, Qpn::new(2, 0), 0))?, 3);
    assert_eq!(bench.frame(frame(Kind::Ack, qpn, 0))?, 7);
    assert_eq!(bench.frame(frame(Kind::Sack, qpn, 0))?, 6 + 2);
    assert_eq!(bench.frame(frame(Kind::Nack, qpn, 0))?, 4 + 2);
    // A SACK and its ACK, the response of replay_store 8 clocks late.
    bench.latency = (8, 8);
    let mut cum = 0;
    for packets in [1, 2, 4] {
        cum += packets;
        let sack = Parsed { ctrl: seth(0, 0, 1, 0), ..frame(Kind::Sack, qpn, cum) };
        let clocks = bench.frame(sack)? + bench.frame(frame(Kind::Ack, qpn, cum))?;
        assert!(clocks <= 60 + 16 * packets, "{packets} packets: {clocks} clocks");
    }
    Ok(())
}

/// SACK-4, LOS-1, LOS-2, cases 24 and 29: a bitmap retires what it lists; with an allowance of 3
/// the fourth PSN beyond a gap finds it, once; a new gap is found after recovery.
#[test]
fn los_1_los_2_a_gap_is_found_once() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 36);
    bench.sender.loss = 3;
    let qpn = Qpn::new(3, 9);
    // PSNs from 0xfffffc on, across the wrap; the first one is lost.
    let first = 0xff_fffc;
    bench.open(qpn, &connection(first - 1, first + 12));
    let lost = |bench: &Bench| bench.sender.qps[&qpn.0].recovers;
    let sack = |bits: u64| Parsed {
        ctrl: seth(0, 2, 2, bits),
        ..frame(Kind::Sack, qpn, psn(first - 1).0)
    };
    bench.frame(sack(0b111))?;
    assert!(!lost(&bench), "3 beyond it: reordering");
    bench.frame(sack(0b1111))?;
    assert!(lost(&bench), "4 beyond it");
    assert_eq!(bench.sender.qps[&qpn.0].recover, first + 11);
    // In recovery: another gap is not looked for.
    bench.frame(sack(0b11_1110_1111))?;
    assert_eq!(bench.sender.qps[&qpn.0].outstanding, [first, first + 5, first + 11].into());
    // Nor where the cumulative PSN is one short of the last one sent.
    bench.frame(frame(Kind::Ack, qpn, psn(first + 10).0))?;
    assert!(lost(&bench), "one short");
    // It is over once the cumulative PSN is there; the next SACK with a bit set looks again.
    bench.frame(frame(Kind::Ack, qpn, psn(first + 11).0))?;
    for n in first + 12..first + 20 {
        for qps in [&mut bench.sender.qps, &mut bench.table] {
            let c = qps.get_mut(&qpn.0).expect("open");
            c.outstanding.insert(n);
            c.given = n + 1;
        }
        bench.rings.get_mut(&9).expect("open").1.insert(n);
    }
    bench.frame(Parsed {
        ctrl: seth(0, 7, 2, 0b1111),
        ..frame(Kind::Sack, qpn, psn(first + 11).0)
    })?;
    assert_eq!(bench.sender.qps[&qpn.0].recover, first + 19);
    Ok(())
}

/// NAK-1, PTH-1: each code, for a packet outstanding, an acknowledged one, and one not given.
#[test]
fn nak_1_codes_and_what_they_change() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 37);
    let qpn = Qpn::new(3, 9);
    for code in [0, 1, 2, 3, 0x0a, 0x0b, 0x0c, 0xff] {
        for named in [8, 10, 11, 19, 20] {
            bench.open(qpn, &connection(10, 20));
            let nack = Parsed { ctrl: neth(code), sport: 300, ..frame(Kind::Nack, qpn, named) };
            bench.frame(nack)?;
        }
    }
    Ok(())
}

/// ACK-2, SACK-4, LOS-1, QP-4: what each frame makes the block say, clock by clock.
#[test]
fn sack_4_ack_and_sack() -> Result<(), Mismatch> {
    let mut pair =
        Lockstep::<Regs>::new("ack_take", &Sizes::DEFAULT, Start::Random(3)).expect("builds");
    for row in Table::read("ack_take/ack_and_sack.txt") {
        let kind = match row.text("kind") {
            "ack" => Kind::Ack,
            "sack" => Kind::Sack,
            "nack" => Kind::Nack,
            _ => Kind::Probe,
        };
        let bits = row.hex("bits");
        let ctrl = if kind == Kind::Nack { neth(bits as u8) } else { seth(1, 2, 2, bits) };
        let o = pair.clock(&Inputs {
            in_valid: row.bit("in"),
            r#in: Parsed { ctrl, sport: 300, ..frame(kind, Qpn(0x00_0105), row.hex("psn") as u32) },
            find_ready: true,
            find_rsp_valid: row.bit("found"),
            find_rsp_ok: true,
            find_rsp_qp: 5,
            find_rsp_given: Psn(6),
            find_rsp_cum: Psn(row.hex("cum") as u32),
            find_rsp_group: 7,
            find_rsp_dest: 3,
            map_ready: true,
            map_rsp_valid: row.text("map") != "-",
            map_rsp_hit: row.text("map") != "0",
            map_rsp_psn: Psn(u32::from_str_radix(row.text("map"), 16).unwrap_or(0)),
            map_rsp_bits: u64::from_str_radix(row.text("map"), 16).unwrap_or(0),
            upd_ready: true,
            upd_done: row.bit("done"),
            retire_ready: true,
            retire_rsp_valid: row.text("rsp") != "-",
            retire_rsp_flight: row.text("rsp") != "out",
            retire_rsp_len: row.text("rsp").parse().unwrap_or(0),
            retire_rsp_group: 7,
            retire_rsp_sent: 3,
            sub_ready: true,
            lose_ready: true,
            lose_rsp_valid: row.text("lost") != "-",
            lose_rsp_queued: true,
            ack_ready: true,
            cover_ready: true,
            cfg_nominal_overhead: 60,
            cfg_loss: 1,
            ..Inputs::default()
        })?;
        let hex = |valid: bool, psn: Psn| if valid { format!("{:06x}", psn.0) } else { ".".into() };
        row.expect("in_ready", u8::from(o.in_ready));
        row.expect("find", hex(o.find_valid, Psn(o.find_qpn.0)));
        let asked = format!("{:?}:{:06x}", o.map_op, o.map_psn.0);
        row.expect("ask", if o.map_valid { &asked } else { "." });
        row.expect("retire", hex(o.retire_valid, o.retire_psn));
        let bytes = o.sub_bytes.to_string();
        row.expect("sub", if o.sub_valid { &bytes } else { "." });
        row.expect("lose", hex(o.lose_valid, o.lose_psn));
        row.expect("upd", hex(o.upd_valid, o.upd_cum));
        row.expect("recover", hex(o.upd_valid && o.upd_recovers, o.upd_recover));
        row.expect("ack", hex(o.ack_valid, o.ack_cum));
        row.expect("cover", hex(o.cover_valid, o.cover_cum));
        row.expect("timed", u8::from(o.timed_valid));
        row.expect("skip", if o.skip_valid { o.skip_port.to_string() } else { ".".into() });
        row.expect("release", u8::from(o.relc_valid));
    }
    Ok(())
}

/// A SACK, ACK or NACK near the borders of a QP.
fn drawn(rng: &mut Rng, qpn: Qpn, c: &Connection) -> Parsed {
    let from = rng.pick(&[c.given, c.cum, c.given, c.cum + 1]);
    let near = i64::from(rng.pick(&BORDERS));
    let inside = rng.below((c.given - c.cum).cast_unsigned()).cast_signed();
    let named = match rng.below(5) {
        // Recovery ends.
        0 | 1 if c.recovers => c.given - 1,
        0 | 1 => from + near,
        2 => c.cum,
        _ => c.cum + rng.below(inside.cast_unsigned() + 1).cast_signed(),
    };
    // Mostly SACKs that leave much of the window as it is, so that gaps are found.
    let kinds =
        [Kind::Ack, Kind::Sack, Kind::Sack, Kind::Sack, Kind::Sack, Kind::Nack, Kind::Probe];
    let kind = rng.pick(&kinds);
    // The highest bit set is below the next PSN to give, mostly; the base may lie below the window.
    let base = rng.pick(&[1, 2, 1, -3, -63, -64, -200, inside as i16]);
    let room = c.given - named - i64::from(base);
    let width = room.clamp(0, 64) as u32;
    let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
    let mask = if rng.percent(3) { u64::MAX } else { mask };
    let (any, few) = (rng.bits(), rng.bits() & rng.bits());
    let bits = rng.pick(&[0, u64::MAX, any, few, 1 << 63, 1]) & mask;
    let drew = if rng.percent(3) { rng.bits() as i16 } else { (c.given - named - 1) as i16 };
    let ctrl = match kind {
        Kind::Nack => neth(rng.pick(&[1, 2, 0x0b, 1, 5])),
        _ => seth(rng.below(3) as u8, drew, base, bits),
    };
    let answers = kind == Kind::Sack && rng.percent(15);
    // Any number of the receiver's.
    let mut bytes = [0; 32];
    ctrl.to_bytes(&mut bytes);
    bytes[1] |= u8::from(answers) << 1;
    if kind == Kind::Nack {
        // RTT-1: what it echoes.
        (bytes[18], bytes[19]) = (rng.bits() as u8, rng.bits() as u8);
    }
    (bytes[8], bytes[9], bytes[12]) = (rng.bits() as u8, rng.bits() as u8, rng.bits() as u8);
    let ctrl = Wide::from_bytes(&bytes);
    Parsed {
        src_ip: if rng.percent(92) { c.ip } else { c.ip ^ 1 },
        charge: rng.below(0x4000) as u16,
        ctrl,
        sport: rng.bits() as u16,
        cc: rng.bits(),
        at: rng.bits() & 0xffff_ffff_ffff,
        rtx: rng.percent(50),
        stamped: rng.percent(50),
        ..frame(kind, qpn, psn(named).0)
    }
}

/// ACK-2, SACK-4, SACK-5, LOS-1, LOS-2, NAK-1, NAK-2, CPL-2, QP-4, QP-6, PTH-2: random frames; the
/// plain sender holds against all that is said.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("ack_take");
    for (seed, sizes) in [(33, Sizes::SMALL), (34, Sizes::DEFAULT), (35, Sizes::DEFAULT)] {
        let mut rng = Rng::new(seed, "ack_take");
        let mut bench = Bench::new(&sizes, seed);
        let mut i = Inputs::default();
        let (mut ready, mut drops) = (75, [0; 16]);
        let (mut retired, mut purges, mut lost, mut spent) = (0, 0, 0, 0);
        let mut checks = [0; 2];
        for clock in 0..200_000_u32 {
            if clock == 100_000 {
                bench.pair.reset().expect("a reset");
                bench.forget();
                (i.in_valid, i.purge_valid, i.check_valid) = (false, false, false);
            }
            let idle = bench.due.is_empty();
            let purging = i.purge_valid || bench.pair.regs().purge;
            i.created_valid = false;
            let numbers = bench.ready.clone();
            if numbers.len() < 8 && bench.opening.is_none() && rng.percent(10) {
                let qpn = Qpn::new(rng.bits() as u16, rng.below(u64::from(sizes.qps)) as u8);
                if numbers.iter().all(|n| n.slot() != qpn.slot()) {
                    let any = rng.bits() as u32 & 0xff_ffff;
                    let border = rng.pick(&BASES);
                    let initial = i64::from(rng.pick(&[border, any]));
                    let (ip, group) = (rng.bits() as u32, rng.bits() as u8);
                    let dest = rng.below(64) as u8;
                    let c = Connection { ip, group, dest, ..connection(initial - 1, initial) };
                    bench.open(qpn, &c);
                    // What was there before is wiped.
                    bench.rings.get_mut(&qpn.slot()).expect("open").1.insert(initial + 3);
                    (i.created_valid, i.created_qpn) = (true, qpn);
                    bench.opening = Some(qpn);
                }
            }
            if numbers.is_empty() {
                i.map_ready = bench.map.is_none();
                bench.clock(&mut i)?;
                continue;
            }
            if clock % 512 == 0 {
                ready = rng.pick(&[10, 25, 75, 100]);
                bench.latency = (1, rng.pick(&[1, 2, 3, 8]));
            }
            // No frame is in work while the allowance changes.
            if idle && !i.in_valid && !purging && rng.below(20) == 0 {
                bench.sender.loss = rng.pick(&[0, 1, 3, 0, 1, 512, 1023]);
            }
            if !purging && rng.below(400) == 0 {
                let qpn = rng.pick(&numbers);
                if bench.built.iter().all(|b| b.0 != qpn) {
                    bench.purge = qpn;
                    i.purge_valid = true;
                    i.purge_qp = qpn.slot();
                }
            }
            bench.draw_check(&mut rng, &mut i, &numbers);
            // Packets are built while the block is at work on other QPs.
            let qpn = rng.pick(&numbers);
            let busy = !idle && (bench.found == qpn || bench.pair.regs().qpn == qpn)
                || i.in_valid && i.r#in.qpn == qpn
                || (i.purge_valid || bench.pair.regs().purge) && bench.purge == qpn
                || (i.check_valid || bench.pair.regs().check) && bench.check.0 == qpn;
            let c = &bench.sender.qps[&qpn.0];
            let pending = bench.built.iter().filter(|b| b.0 == qpn).count() as i64;
            let next = c.given + pending;
            if !busy && next - c.cum < PSNS.min(90) && bench.built.len() < 8 && rng.percent(40) {
                bench.built.push_back((qpn, next));
            } else if !i.in_valid && pending == 0 && rng.percent(60) {
                i.r#in = drawn(&mut rng, qpn, &bench.sender.qps[&qpn.0].clone());
                if rng.percent(15) {
                    i.r#in.qpn.0 ^= rng.bits() as u32 & 0xff_ffff;
                }
                i.in_valid = bench.built.iter().all(|b| b.0 != i.r#in.qpn);
            }
            let mut yes = || rng.percent(ready);
            (i.find_ready, i.upd_ready, i.retire_ready) = (yes(), yes(), yes());
            (i.sub_ready, i.ack_ready, i.cover_ready) = (yes(), yes(), yes());
            (i.lose_ready, i.map_ready) = (yes(), yes() && bench.map.is_none());
            let o = bench.clock(&mut i)?;
            if o.drop_valid {
                drops[o.drop_reason as usize] += 1;
            }
            retired += u32::from(o.sub_valid && i.sub_ready);
            lost += u32::from(o.lose_valid && i.lose_ready);
            spent += u32::from(o.spent_valid);
            purges += u32::from(o.purge_done);
            if o.in_ready {
                i.in_valid = false;
            }
            if o.purge_ready {
                i.purge_valid = false;
            }
            i.check_valid &= !o.check_ready;
            checks[usize::from(o.check_rsp_clear)] += u32::from(o.check_rsp_valid);
        }
        let counts = (retired, purges, lost, spent);
        assert!(drops[Drop::Qp as usize] > 20 && drops[Drop::Psn as usize] > 20, "{drops:?}");
        assert!(checks.iter().all(|n| *n > 50), "checks, clear or not: {checks:?}");
        assert!(retired > 500 && purges > 50 && lost > 50 && spent > 5, "{counts:?}");
    }
    reached.check();
    Ok(())
}
