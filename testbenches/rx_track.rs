//! `rx_track`: model and RTL get the same packets and closes and must agree on every clock; what
//! comes out must be what a plain receiver without clocks makes of the same order of arrivals.

use std::collections::{HashMap, VecDeque};

use rtl_model::image::Wide;
use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::rx_track::{Inputs, Outputs, Peer, Regs, Side, State};
use rtl_model::types::{Answer, Delivery, Drop, Kind, Parsed, Psn, Qpn};
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

/// What follows from one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Effects {
    drop: Drop,
    dup: bool,
    recv: Option<(Qpn, u16)>,
    created: Option<(Qpn, u8)>,
    closed: Option<Qpn>,
    rel2: Option<u16>,
    relt: Option<u16>,
    deliver: Option<Delivery>,
    answer: Option<Answer>,
}

/// One receiver side of the plain receiver.
struct Connection {
    dest: u8,
    sender: u32,
    next: i64,
    since_sack: u64,
    bytes: u64,
    messages: u64,
}

/// A receiver without clocks: QP-4, QP-5, RX-3 to RX-8, ACK-1, SACK-1.
struct Receiver {
    sizes: Sizes,
    open: HashMap<u32, Connection>,
    by_sender: HashMap<(u8, u8), u32>,
    last_closed: HashMap<(u8, u8), u16>,
    free: VecDeque<u8>,
    lives: HashMap<u8, u32>,
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
        let ours = self.free.pop_front().ok_or(Drop::QpFull)?;
        let life = self.lives.entry(ours).or_insert(0);
        *life += 1;
        let own = (*life & 0xffff) << 8 | u32::from(ours);
        self.by_sender.insert((dest, slot), own);
        let connection = Connection {
            dest,
            sender: p.qpn.0,
            next: i64::from(i.cfg_initial_psn.0),
            since_sack: 0,
            bytes: 0,
            messages: 0,
        };
        self.open.insert(own, connection);
        Ok((own, true))
    }

    fn packet(&mut self, i: &Inputs) -> Effects {
        let p = &i.r#in;
        let mut e = Effects::default();
        let data = p.kind == Kind::Data;
        if data {
            e.rel2 = Some(p.charge);
            let skip = Delivery { len: p.len, word: p.word, ..Delivery::default() };
            e.deliver = (p.len > 0).then_some(skip);
        } else {
            e.relt = Some(p.charge);
        }
        if !data && p.kind != Kind::Trimmed {
            e.drop = Drop::Opcode;
            return e;
        }
        let Some(dest) = self.dest(i, p.src_ip) else {
            e.drop = Drop::Peer;
            return e;
        };
        let own = match self.side(i, dest) {
            Ok((own, created)) => {
                e.created = created.then_some((Qpn(own), dest));
                own
            }
            Err(drop) => {
                e.drop = drop;
                return e;
            }
        };
        let c = self.open.get_mut(&own).expect("found");
        // From the cumulative PSN, −0x800000 to 0x7fffff.
        let beyond = i64::from(p.psn.0) - (c.next - 1);
        let beyond = (beyond + 0x80_0000).rem_euclid(0x100_0000) - 0x80_0000;
        if beyond > i64::from(i.cfg_range) || (data && beyond > 1) {
            e.drop = Drop::Psn;
            return e;
        }
        if !data {
            return e;
        }
        let (in_order, mut whole) = (beyond == 1, false);
        if in_order {
            whole = p.last;
            c.next += 1;
            c.bytes += u64::from(p.len) + u64::from(i.cfg_nominal_overhead);
            c.messages += u64::from(p.last);
            if p.len > 0 {
                e.rel2 = None;
            }
            e.recv = p.last.then_some((Qpn(own), p.msn));
            let written = Delivery {
                addr: p.raddr,
                len: p.len,
                word: p.word,
                charge: if p.len > 0 { p.charge } else { 0 },
                write: true,
                complete: p.last,
                qpn: Qpn(own),
                msn: p.msn,
                msg_len: p.msg_len,
                dest,
            };
            e.deliver = (p.len > 0 || p.last).then_some(written);
        }
        e.dup = !in_order;
        c.since_sack += u64::from(p.len.max(1024));
        let ack = p.ack_req || whole;
        if ack || p.rtx || c.since_sack > 4095 {
            c.since_sack = 0;
            e.answer = Some(Answer {
                sack: true,
                ack,
                dst_ip: p.src_ip,
                dest,
                sender_qpn: Qpn(c.sender),
                own_qpn: Qpn(own),
                cum: Psn((c.next - 1).rem_euclid(0x100_0000) as u32),
                drew: p.psn,
                sack_offset: 1,
                bitmap: 0,
                msn: (c.messages % 0x100_0000) as u32,
                ooo: 0,
                rcvd: (c.bytes.div_ceil(256) % 0x100_0000) as u32,
                entropy: p.sport,
                ce: p.ce,
                rtx: p.rtx,
                size: p.len + u16::from(i.cfg_wire_overhead),
            });
        }
        e
    }

    fn close(&mut self, own: Qpn) -> Effects {
        let Some(c) = self.open.remove(&own.0) else { return Effects::default() };
        let sender = (c.dest, c.sender as u8);
        self.by_sender.remove(&sender);
        self.last_closed.insert(sender, (c.sender >> 8) as u16);
        self.free.push_back(own.slot());
        Effects { closed: Some(own), ..Effects::default() }
    }
}

/// A pair with its two memories, held against the plain receiver at every clock.
struct Bench {
    pair: Lockstep<Regs>,
    peer: Ram<Peer>,
    rctx: Ram<Side>,
    receiver: Receiver,
    sizes: Sizes,
    /// What the last clock's handshake must show in this one.
    due: Effects,
    deliveries: VecDeque<Delivery>,
    answers: VecDeque<Answer>,
    /// What the last packet or close taken came to.
    last: Effects,
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
        deliver_ready: true,
        answer_ready: true,
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
        peer.randomize(&mut rng);
        rctx.randomize(&mut rng);
        Self {
            pair: Lockstep::new("rx_track", sizes, Start::Random(seed as u32)).expect("builds"),
            peer,
            rctx,
            receiver: Receiver::new(sizes),
            sizes: *sizes,
            due: Effects::default(),
            deliveries: VecDeque::new(),
            answers: VecDeque::new(),
            last: Effects::default(),
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
        self.due = Effects::default();
        self.deliveries.clear();
        self.answers.clear();
    }

    fn sweep(&mut self) -> Result<(), Mismatch> {
        let mut i = levels(&self.sizes);
        i.in_valid = true;
        i.r#in.kind = Kind::Probe;
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
        let o = self.pair.clock(i)?;
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
        self.check(i, &o);
        Ok(o)
    }

    /// Holds this clock's outputs against what the plain receiver made of the last one.
    fn check(&mut self, i: &Inputs, o: &Outputs) {
        let seen = Effects {
            drop: if o.drop_valid { o.drop_reason } else { Drop::None },
            dup: o.dup_valid,
            recv: o.recv_valid.then_some((o.recv_qpn, o.recv_msn)),
            created: o.created_valid.then_some((o.created_qpn, o.created_dest)),
            closed: o.closed_valid.then_some(o.closed_qpn),
            rel2: o.rel2_valid.then_some(o.rel2_bytes),
            relt: o.relt_valid.then_some(o.relt_bytes),
            deliver: None,
            answer: None,
        };
        let clock = self.pair.clocks();
        assert_eq!(seen, Effects { deliver: None, answer: None, ..self.due }, "clock {clock}");
        self.due = Effects::default();
        if o.deliver_valid && i.deliver_ready {
            assert_eq!(Some(o.deliver), self.deliveries.pop_front(), "clock {clock}");
        }
        if o.answer_valid && i.answer_ready {
            assert_eq!(Some(o.answer), self.answers.pop_front(), "clock {clock}");
        }
        assert!(!(o.in_ready && o.close_ready), "one at a time");
        if o.in_ready && i.in_valid {
            self.due = self.receiver.packet(i);
            self.deliveries.extend(self.due.deliver);
            self.answers.extend(self.due.answer);
            self.last = self.due;
        }
        if o.close_ready && i.close_valid {
            self.due = self.receiver.close(i.close_qpn);
            self.last = self.due;
        }
    }

    /// One packet from idle, with its effects; checks how long it takes.
    fn packet(&mut self, i: &Inputs, p: Parsed) -> Result<Effects, Mismatch> {
        let mut i = Inputs { in_valid: true, r#in: p, ..i.clone() };
        let mut clocks = 1;
        while !self.clock(&mut i)?.in_ready {
            clocks += 1;
            assert!(clocks <= 8, "at most 8 clocks a packet");
        }
        i.in_valid = false;
        self.clock(&mut i)?;
        Ok(self.last)
    }

    /// One close from idle.
    fn close(&mut self, i: &Inputs, qpn: Qpn) -> Result<Effects, Mismatch> {
        let mut i = Inputs { close_valid: true, close_qpn: qpn, ..i.clone() };
        while !self.clock(&mut i)?.close_ready {}
        i.close_valid = false;
        self.clock(&mut i)?;
        Ok(self.last)
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
        "trim" => Kind::Trimmed,
        "ack" => Kind::Ack,
        other => panic!("no kind {other}"),
    }
}

fn play(file: &str) -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 1)?;
    let mut i = levels(&Sizes::SMALL);
    i.cfg_initial_psn = Psn(0xff_fffe);
    i.cfg_range = 4;
    for row in Table::read(file) {
        i.in_valid = row.bit("in");
        i.r#in = Parsed {
            kind: kind(row.text("kind")),
            by_sender: row.bit("R"),
            ack_req: row.bit("A"),
            last: row.bit("last"),
            ..data(1, Qpn(row.hex("qpn") as u32), row.hex("psn") as u32, row.dec("len") as u16)
        };
        i.close_valid = row.bit("close");
        i.close_qpn = Qpn(row.hex("cqpn") as u32);
        i.answer_ready = row.bit("aready");
        let o = bench.clock(&mut i)?;
        row.expect("in_ready", u8::from(o.in_ready));
        row.expect("close_ready", u8::from(o.close_ready));
        let drop = if o.drop_valid { format!("{:?}", o.drop_reason) } else { ".".into() };
        row.expect("drop", drop);
        row.expect("dup", u8::from(o.dup_valid));
        row.expect("recv", u8::from(o.recv_valid));
        let number =
            |valid: bool, qpn: Qpn| if valid { format!("{:06x}", qpn.0) } else { ".".into() };
        row.expect("made", number(o.created_valid, o.created_qpn));
        row.expect("shut", number(o.closed_valid, o.closed_qpn));
        let release = match (o.rel2_valid, o.relt_valid) {
            (false, false) => ".".into(),
            (true, _) => format!("d{}", o.rel2_bytes),
            (_, true) => format!("c{}", o.relt_bytes),
        };
        row.expect("release", release);
        let deliver = match (o.deliver_valid, o.deliver.write) {
            (false, _) => ".".into(),
            (true, write) => format!("{}{}", if write { "w" } else { "s" }, o.deliver.len),
        };
        row.expect("deliver", deliver);
        let answer = match (o.answer_valid, o.answer.ack) {
            (false, _) => ".".into(),
            (true, ack) => format!("{}{:06x}", if ack { "SA" } else { "S" }, o.answer.cum.0),
        };
        row.expect("answer", answer);
    }
    Ok(())
}

/// RX-3, RX-4, RX-5, RX-7, RX-8, ACK-1: what each difference from the cumulative PSN draws.
#[test]
fn window_borders() -> Result<(), Mismatch> {
    play("rx_track/window_borders.txt")
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
                let e = bench.packet(&i, data(0, Qpn(sender), base.wrapping_add(1), 10))?;
                assert_eq!(e.drop, Drop::Psn, "a packet ahead creates the side and is dropped");
                e.created.expect("created").0
            };
            for difference in &differences {
                let kind = if trimmed { Kind::Trimmed } else { Kind::Data };
                let psn = cum.wrapping_add(*difference);
                let e = bench.packet(&i, Parsed { kind, ..data(0, Qpn(sender), psn, 10) })?;
                let below = *difference == 0 || *difference >= 0x80_0000;
                let drop = match (below, trimmed) {
                    (true, _) => Drop::None,
                    (false, true) if *difference <= range => Drop::None,
                    _ => Drop::Psn,
                };
                assert_eq!(e.drop, drop, "{difference:#x} from {cum:#x}");
                assert_eq!(e.dup, below && !trimmed, "{difference:#x} from {cum:#x}");
            }
            let e = bench.packet(&i, data(0, Qpn(sender), base, 10))?;
            assert!(e.drop == Drop::None && !e.dup, "in order from {base:#x}");
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
            assert_eq!(e.drop, expected, "{difference:#x} while {first:#x} is open");
            bench.close(&i, own)?;
            let e = bench.packet(&i, data(dest, number(next), 0, 1))?;
            let newer = (1..0x8000).contains(&difference);
            assert_eq!(e.created.is_some(), newer, "{difference:#x} after {first:#x}");
            assert_eq!(e.drop, if newer { Drop::None } else { Drop::Qp });
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
            assert_eq!((e.drop, e.created), (Drop::QpFull, None));
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
        assert_eq!(e.drop, Drop::QpFull);
        // With R clear the old life's number is nobody's.
        let old = Parsed { by_sender: false, ..data(1, Qpn(0x100 + 5), 1, 1) };
        assert_eq!(bench.packet(&i, old)?.drop, Drop::Qp);
        let new = Parsed { by_sender: false, ..data(1, Qpn(0x200 + 5), 1, 1) };
        assert_eq!(bench.packet(&i, new)?.drop, Drop::None);
        let stranger = Parsed { by_sender: false, ..data(0, Qpn(0x200 + 5), 2, 1) };
        assert_eq!(bench.packet(&i, stranger)?.drop, Drop::Qp);
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

/// SACK-2, MSN-8: received bytes count units of 256, rounded up, modulo 2^24; so do messages.
#[test]
fn counters_wrap() -> Result<(), Mismatch> {
    let mut bench = Bench::swept(&Sizes::SMALL, 6)?;
    let i = levels(&Sizes::SMALL);
    let sender = Qpn(0x101);
    let own = bench.packet(&i, data(0, sender, 1, 0))?.created.expect("created").0;
    // 2^32 bytes are 2^24 units.
    let start = (1_u64 << 32) - 360;
    let side = *bench.rctx.peek(0);
    bench.rctx.poke(0, Side { rcvd: start as u32, msn: 0xff_fffe, ..side });
    let c = bench.receiver.open.get_mut(&own.0).expect("open");
    (c.bytes, c.messages) = (start, 0xff_fffe);
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
    assert_eq!(one.answer.expect("retransmit flag").rcvd, 1, "1 byte is a unit");
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
            first: rng.percent(30),
            last: rng.percent(30),
            ce: rng.percent(10),
            ack_req: rng.percent(15),
            rtx: rng.percent(10),
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
        i.deliver_ready = false;
        i.answer_ready = false;
        let mut drops = [0; 16];
        let mut taken = 0;
        for clock in 0..clocks {
            if clock == clocks / 2 {
                bench.reset();
                i.in_valid = false;
                i.close_valid = false;
                self.lives.clear();
            }
            if !i.in_valid && !i.close_valid && clock % 1024 < 16 {
                i.cfg_initial_psn = Psn(self.rng.pick(&BASES));
                i.cfg_range = self.rng.pick(&[1, 2, 4, 127, 128, 1023, 1024]);
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
            i.deliver_ready = self.rng.percent(self.ready);
            i.answer_ready = self.rng.percent(self.ready);
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

/// RX-3 to RX-8, QP-4, QP-5, ACK-1, SACK-1: random packets and closes, with back-pressure and a
/// reset in the middle; the plain receiver holds against every event, delivery and answer.
/// QP-4, QP-5, RX-3, RX-8, ACK-1, SACK-1, SACK-2 all at once.
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
        for reason in [Drop::Opcode, Drop::Peer, Drop::Qp, Drop::Psn] {
            assert!(drops[reason as usize] > 0, "{reason:?} comes up");
        }
        assert!(sizes.qps > 16 || drops[Drop::QpFull as usize] > 0, "a small table is full");
    }
    reached.check();
    Ok(())
}
