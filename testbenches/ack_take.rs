//! `ack_take`: model and RTL get the same frames and partners and must agree on every clock; what
//! the partners are told must be what a plain sender without clocks makes of the same frames.

use std::collections::{HashMap, VecDeque};

use rtl_model::ack_take::{Inputs, Outputs, Regs};
use rtl_model::image::Wide;
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

/// What a partner is told, or the counters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    Find(Qpn, u32),
    Retire(u8, Psn),
    Discard(u8, Psn),
    Sub(u8, u16),
    Update(u8, Psn, Option<Qpn>),
    Ack(u8, u8, Psn),
    Cover(u8, Psn),
    Forget(u8, Psn),
    Purged,
    Release(u16),
    Drop(Drop),
    Other,
}

/// A QP of the plain sender.
#[derive(Clone, Copy, Debug)]
struct Connection {
    ip: u32,
    group: u8,
    /// The next PSN to give and the cumulative one, not wrapped.
    given: i64,
    cum: i64,
}

fn psn(n: i64) -> Psn {
    Psn::new(n.rem_euclid(1 << 24) as u32)
}

/// Payload bytes of a packet: any function of its QP and PSN.
fn payload(qp: u8, psn: Psn) -> u16 {
    const LENGTHS: [u16; 6] = [0, 1, 1024, 4095, 4096, 8192];
    LENGTHS[(u32::from(qp) + psn.0) as usize % LENGTHS.len()]
}

/// A sender without clocks: ACK-2, SACK-5, QP-4.
#[derive(Default)]
struct Sender {
    qps: HashMap<u32, Connection>,
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
        let Some(c) = self.qps.get_mut(&p.qpn.0).filter(|c| c.ip == p.src_ip) else {
            told.extend([Told::Drop(Drop::Qp), release]);
            return told;
        };
        // The frame's PSN is one of the 2^23 below the next one to give, or it is ignored.
        let below = (c.given - i64::from(p.psn.0)).rem_euclid(1 << 24);
        if below == 0 || below > 1 << 23 {
            told.extend([Told::Drop(Drop::Psn), release]);
            return told;
        }
        let named = c.given - below;
        let moves = p.kind != Kind::Nack && named > c.cum;
        if moves {
            for n in c.cum + 1..=named {
                told.push(Told::Retire(qp, psn(n)));
                told.push(Told::Sub(c.group, payload(qp, psn(n)) + NOMINAL));
            }
            c.cum = named;
        }
        let mut bytes = [0; 32];
        p.ctrl.to_bytes(&mut bytes);
        let number =
            Qpn(u32::from(bytes[12]) << 16 | u32::from(bytes[8]) << 8 | u32::from(bytes[9]));
        let learn = (p.kind != Kind::Ack).then_some(number);
        if moves || learn.is_some() {
            told.push(Told::Update(qp, psn(c.cum), learn));
        }
        told.push(Told::Ack(qp, c.group, psn(c.cum)));
        if p.kind == Kind::Ack {
            told.push(Told::Cover(qp, p.psn));
        }
        if p.kind == Kind::Nack {
            told.push(Told::Other);
        }
        told.push(release);
        told
    }
}

impl Sender {
    /// QP-6: what a purge makes the block say.
    fn purge(&mut self, qpn: Qpn) -> Vec<Told> {
        let qp = qpn.slot();
        let c = self.qps.get_mut(&qpn.0).expect("open");
        let mut told = vec![Told::Find(Qpn(u32::from(qp)), 0)];
        let cum = c.cum;
        for n in c.cum + 1..c.given {
            told.push(Told::Discard(qp, psn(n)));
            told.push(Told::Sub(c.group, payload(qp, psn(n)) + NOMINAL));
        }
        c.cum = c.given - 1;
        if c.cum != cum {
            told.push(Told::Update(qp, psn(c.cum), None));
        }
        told.push(Told::Ack(qp, c.group, psn(c.cum)));
        told.push(Told::Forget(qp, psn(cum)));
        told.push(Told::Purged);
        told
    }
}

/// A response on its way: clocks left, then what it says.
type Late<T> = Option<(u64, T)>;

fn tick<T>(late: &mut Late<T>) {
    if let Some((left, _)) = late {
        *left -= 1;
    }
}

/// A pair with its partners.
struct Bench {
    pair: Lockstep<Regs>,
    sender: Sender,
    /// What `qp_table` knows; it follows the sender once the block has said so.
    table: HashMap<u32, Connection>,
    find: Late<Option<Connection>>,
    update: Late<()>,
    retire: Late<(u8, Psn)>,
    found: Qpn,
    /// The QP that is to be purged.
    purge: Qpn,
    due: VecDeque<Told>,
    /// Clocks from a request to its response, up to and including.
    latency: (u64, u64),
    rng: Rng,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        Self {
            pair: Lockstep::new("ack_take", sizes, Start::Random(seed as u32)).expect("builds"),
            sender: Sender::default(),
            table: HashMap::new(),
            find: None,
            update: None,
            retire: None,
            found: Qpn::default(),
            purge: Qpn::default(),
            due: VecDeque::new(),
            latency: (1, 1),
            rng: Rng::new(seed, "ack_take partners"),
        }
    }

    fn open(&mut self, qpn: Qpn, c: Connection) {
        self.sender.qps.insert(qpn.0, c);
        self.table.insert(qpn.0, c);
    }

    fn wait(&mut self) -> u64 {
        self.rng.between(self.latency.0, self.latency.1)
    }

    /// A clock; `i` brings the frame and the readys, this the responses.
    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.cfg_nominal_overhead = NOMINAL as u8;
        i.find_rsp_valid = false;
        i.upd_done = false;
        i.retire_rsp_valid = false;
        let any = self.rng.bits();
        i.find_rsp_ok = any & 1 == 1;
        i.find_rsp_cum = Psn::new(any as u32);
        i.find_rsp_given = Psn::new((any >> 8) as u32);
        i.retire_rsp_len = (any >> 32) as u16 & 0x3fff;
        if let Some((1, found)) = self.find {
            self.find = None;
            i.find_rsp_valid = true;
            i.find_rsp_ok = found.is_some();
            if let Some(c) = found {
                i.find_rsp_qp = self.found.slot();
                i.find_rsp_group = c.group;
                i.find_rsp_given = psn(c.given);
                i.find_rsp_cum = psn(c.cum);
            }
        }
        if let Some((1, ())) = self.update {
            self.update = None;
            i.upd_done = true;
        }
        if let Some((1, (qp, which))) = self.retire {
            self.retire = None;
            i.retire_rsp_valid = true;
            i.retire_rsp_len = payload(qp, which);
            i.retire_rsp_group = i.find_rsp_group;
            i.retire_rsp_flight = true;
            i.retire_rsp_last = which.0 % 3 == 0;
        }
        let o = self.pair.clock(i)?;
        tick(&mut self.find);
        tick(&mut self.update);
        tick(&mut self.retire);
        self.serve(i, &o);
        Ok(o)
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
        }
        if o.purge_done {
            self.told(Told::Purged);
        }
        if o.purge_ready && i.purge_valid {
            assert!(self.due.is_empty(), "a purge comes between two frames");
            self.due.extend(self.sender.purge(self.purge));
        }
        if o.in_ready && i.in_valid {
            self.due.extend(self.sender.frame(&i.r#in));
        }
        if o.find_valid && i.find_ready {
            let ip = if o.find_bare { 0 } else { o.find_dest_ip };
            self.told(Told::Find(o.find_qpn, ip));
            self.found = if o.find_bare { self.purge } else { o.find_qpn };
            let c = self.table.get(&self.found.0);
            let c = c.filter(|c| o.find_bare || c.ip == o.find_dest_ip).copied();
            self.find = Some((self.wait(), c));
        }
        if o.retire_valid && i.retire_ready {
            assert!(self.retire.is_none(), "one at a time");
            self.told(if o.retire_discard {
                Told::Discard(o.retire_qp, o.retire_psn)
            } else {
                Told::Retire(o.retire_qp, o.retire_psn)
            });
            self.retire = Some((self.wait(), (o.retire_qp, o.retire_psn)));
        }
        if o.sub_valid && i.sub_ready {
            self.told(Told::Sub(o.sub_group, o.sub_bytes));
        }
        if o.upd_valid && i.upd_ready {
            let learn = o.upd_learn.then_some(o.upd_remote);
            self.told(Told::Update(o.upd_qp, o.upd_cum, learn));
            let after = self.sender.qps[&self.found.0];
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

    /// Holds one thing said against the next due. A retire request may go out before the bytes of
    /// the one before have left flight.
    fn told(&mut self, said: Told) {
        let clock = self.pair.clocks();
        let early = matches!(said, Told::Retire(..) | Told::Discard(..))
            && matches!(self.due.front(), Some(Told::Sub(..)));
        let due = if early { self.due.remove(1) } else { self.due.pop_front() };
        assert_eq!(Some(said), due, "clock {clock}");
    }

    /// One frame from idle, every partner ready; its clocks until the block is idle again.
    fn frame(&mut self, p: Parsed) -> Result<u32, Mismatch> {
        let mut i = Inputs {
            in_valid: true,
            r#in: p,
            find_ready: true,
            upd_ready: true,
            retire_ready: true,
            sub_ready: true,
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

/// ACK-2, SACK-5: every difference from the next PSN to give and from the cumulative one.
#[test]
fn differences_from_20_bases() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 31);
    for (n, base) in BASES.into_iter().enumerate() {
        // InitialPSN is the base: nothing in order yet, then five packets given, two acknowledged.
        for (given, cum) in [(0, -1), (5, -1), (5, 1), (5, 4)] {
            for kind in [Kind::Ack, Kind::Sack, Kind::Nack] {
                let around = [given, cum].map(|from| BORDERS.map(|d| psn(from).plus(d)));
                for offset in around.concat() {
                    let qpn = Qpn::new(n as u16 + 1, n as u8);
                    let base = i64::from(base);
                    let c = Connection { ip: PEER, group: 7, given: base + given, cum: base + cum };
                    bench.open(qpn, c);
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

/// Clocks a frame as the head comment states them; a PSN retired in 4 clocks or less.
#[test]
fn clocks_a_frame() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 32);
    let qpn = Qpn::new(1, 0);
    bench.open(qpn, Connection { ip: PEER, group: 7, given: 100, cum: 0 });
    assert_eq!(bench.frame(frame(Kind::Probe, qpn, 0))?, 1);
    assert_eq!(bench.frame(frame(Kind::Ack, Qpn::new(2, 0), 0))?, 3);
    assert_eq!(bench.frame(frame(Kind::Ack, qpn, 0))?, 5);
    assert_eq!(bench.frame(frame(Kind::Sack, qpn, 0))?, 4 + 2);
    assert_eq!(bench.frame(frame(Kind::Nack, qpn, 50))?, 4 + 2);
    let mut cum = 0;
    for n in [1, 2, 10] {
        cum += n;
        assert_eq!(bench.frame(frame(Kind::Ack, qpn, cum))?, 5 + 2 + 1 + 2 * n);
    }
    Ok(())
}

/// ACK-2, SACK-5, QP-4: what each frame makes the block say, clock by clock.
#[test]
fn ack_and_sack() -> Result<(), Mismatch> {
    let mut pair =
        Lockstep::<Regs>::new("ack_take", &Sizes::DEFAULT, Start::Random(3)).expect("builds");
    for row in Table::read("ack_take/ack_and_sack.txt") {
        let ctrl = Wide::from_bytes(&[0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x03, 0, 0, 0x01]);
        let kind = match row.text("kind") {
            "ack" => Kind::Ack,
            "sack" => Kind::Sack,
            "nack" => Kind::Nack,
            _ => Kind::Probe,
        };
        let psn = row.hex("psn") as u32;
        let o = pair.clock(&Inputs {
            in_valid: row.bit("in"),
            r#in: Parsed { ctrl, ..frame(kind, Qpn(0x00_0105), psn) },
            find_ready: true,
            find_rsp_valid: row.bit("found"),
            find_rsp_ok: row.bit("ok"),
            find_rsp_qp: 5,
            find_rsp_given: Psn(row.hex("given") as u32),
            find_rsp_cum: Psn(row.hex("cum") as u32),
            find_rsp_group: 7,
            upd_ready: true,
            upd_done: row.bit("done"),
            retire_ready: row.bit("rready"),
            retire_rsp_valid: row.bit("rsp"),
            retire_rsp_len: row.dec("len") as u16,
            retire_rsp_group: 7,
            retire_rsp_flight: true,
            retire_rsp_last: false,
            sub_ready: row.bit("sready"),
            ack_ready: row.bit("aready"),
            cover_ready: true,
            cfg_nominal_overhead: 60,
            ..Inputs::default()
        })?;
        let hex = |valid: bool, psn: Psn| if valid { format!("{:06x}", psn.0) } else { ".".into() };
        row.expect("in_ready", u8::from(o.in_ready));
        row.expect("find", hex(o.find_valid, Psn(o.find_qpn.0)));
        row.expect("retire", hex(o.retire_valid, o.retire_psn));
        let bytes = o.sub_bytes.to_string();
        row.expect("sub", if o.sub_valid { &bytes } else { "." });
        row.expect("upd", hex(o.upd_valid, o.upd_cum));
        row.expect("learn", hex(o.upd_valid && o.upd_learn, Psn(o.upd_remote.0)));
        row.expect("ack", hex(o.ack_valid, o.ack_cum));
        row.expect("cover", hex(o.cover_valid, o.cover_cum));
        row.expect("release", u8::from(o.relc_valid));
        let drop = if o.drop_valid { format!("{:?}", o.drop_reason) } else { ".".into() };
        row.expect("drop", drop);
        row.expect("other", u8::from(o.other_valid));
    }
    Ok(())
}

/// ACK-2, SACK-5, QP-4, QP-6: random frames and partners; the plain sender holds against all that is said.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("ack_take");
    for (seed, sizes) in [(33, Sizes::SMALL), (34, Sizes::DEFAULT), (35, Sizes::DEFAULT)] {
        let mut rng = Rng::new(seed, "ack_take");
        let mut bench = Bench::new(&sizes, seed);
        let mut i = Inputs::default();
        let (mut ready, mut drops, mut retired, mut purges) = (75, [0; 16], 0, 0);
        let mut numbers: Vec<Qpn> = Vec::new();
        for clock in 0..100_000_u32 {
            if clock == 50_000 {
                bench.pair.reset().expect("a reset");
                (bench.find, bench.update, bench.retire) = (None, None, None);
                bench.due.clear();
                bench.sender.qps.clear();
                bench.table.clear();
                numbers.clear();
                i.in_valid = false;
                i.purge_valid = false;
            }
            let purging = i.purge_valid || bench.pair.regs().purge;
            if !purging && !numbers.is_empty() && rng.percent(2) {
                bench.purge = rng.pick(&numbers);
                i.purge_valid = true;
                i.purge_qp = bench.purge.slot();
            }
            if numbers.len() < 8 {
                let qpn = Qpn::new(rng.bits() as u16, rng.below(u64::from(sizes.qps)) as u8);
                if numbers.iter().all(|n| n.slot() != qpn.slot()) {
                    let initial = i64::from(rng.pick(&BASES));
                    let ip = rng.bits() as u32;
                    let group = rng.bits() as u8;
                    bench.open(qpn, Connection { ip, group, given: initial, cum: initial - 1 });
                    numbers.push(qpn);
                }
            }
            if clock % 512 == 0 {
                ready = rng.pick(&[0, 25, 75, 100]);
                bench.latency = (1, rng.pick(&[1, 2, 3, 8]));
            }
            // Packets are built while the block is at work on other QPs.
            let qpn = rng.pick(&numbers);
            let idle = bench.due.is_empty();
            if rng.percent(30) {
                let c = bench.sender.qps.get_mut(&qpn.0).expect("open");
                if c.given - c.cum < 12
                    && (idle || bench.pair.regs().qpn != qpn && bench.purge != qpn)
                {
                    c.given += rng.between(1, 3).cast_signed();
                    bench.table.insert(qpn.0, *c);
                }
            }
            if !i.in_valid && rng.percent(75) {
                let c = bench.sender.qps[&qpn.0];
                let from = rng.pick(&[c.given, c.cum, c.given, c.cum + 1]);
                let near = i64::from(rng.pick(&BORDERS));
                let inside = rng.below((c.given - c.cum).cast_unsigned() + 1).cast_signed();
                let named = if rng.percent(40) { from + near } else { c.cum + inside };
                let kinds = [Kind::Ack, Kind::Ack, Kind::Sack, Kind::Sack, Kind::Nack, Kind::Probe];
                let mut bytes = [0; 28];
                rng.fill(&mut bytes);
                i.r#in = Parsed {
                    src_ip: if rng.percent(97) { c.ip } else { c.ip ^ 1 },
                    charge: rng.below(0x4000) as u16,
                    ctrl: Wide::from_bytes(&bytes),
                    cc: rng.bits(),
                    ..frame(rng.pick(&kinds), qpn, psn(named).0)
                };
                if rng.percent(3) {
                    i.r#in.qpn.0 ^= 1 << rng.below(24);
                }
                i.in_valid = true;
            }
            i.find_ready = rng.percent(ready);
            i.upd_ready = rng.percent(ready);
            i.retire_ready = rng.percent(ready);
            i.sub_ready = rng.percent(ready);
            i.ack_ready = rng.percent(ready);
            i.cover_ready = rng.percent(ready);
            let o = bench.clock(&mut i)?;
            if o.drop_valid {
                drops[o.drop_reason as usize] += 1;
            }
            retired += u32::from(o.sub_valid && i.sub_ready);
            if o.in_ready {
                i.in_valid = false;
            }
            if o.purge_ready {
                i.purge_valid = false;
            }
            purges += u32::from(o.purge_done);
        }
        assert!(purges > 100, "{purges} purges");
        assert!(drops[Drop::Qp as usize] > 20 && drops[Drop::Psn as usize] > 20, "{drops:?}");
        assert!(retired > 1000, "{retired} packets retired");
    }
    reached.check();
    Ok(())
}
