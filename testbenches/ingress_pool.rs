//! `ingress_pool`: model and RTL against each other, and both against plain queues.

use std::collections::VecDeque;

use rtl_model::image::Wide;
use rtl_model::ingress_pool::{Inputs, Outputs, Regs};
use rtl_model::types::{Drop, Kind, Parsed, Psn, Qpn, Word};
use testbenches::{Late, Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// Words of the largest payload.
const FRAME_WORDS: u32 = 128;
/// Words that stay free behind the last frame taken.
const MARGIN: u32 = 130;
/// Pools of the default configuration.
const DEFAULTS: [u32; 8] = [3_600_000, 400_000, 0, 0, 0, 0, 0, 0];
/// Words of payloads around their borders.
const WORDS: [u32; 6] = [0, 1, 2, 64, 127, 128];

/// PKT-4: data and probes have class 0, all else class 1.
fn class(kind: Kind) -> usize {
    usize::from(!matches!(kind, Kind::Data | Kind::Probe))
}

/// Pools of eight classes.
fn pools(of: [u32; 8]) -> Wide<4> {
    Wide(std::array::from_fn(|n| u64::from(of[2 * n]) | u64::from(of[2 * n + 1]) << 32))
}

/// Data, trimmed packets and probes go to `rx_track`, all else to `ack_take`.
fn stream(kind: Kind) -> usize {
    usize::from(!matches!(kind, Kind::Data | Kind::Trimmed | Kind::Probe))
}

fn pair(sizes: &Sizes, seed: u32) -> Lockstep<Regs> {
    Lockstep::new("ingress_pool", sizes, Start::Random(seed)).expect("builds")
}

/// PKT-4: control frames take the pool of class 1, all else that of class 0.
#[test]
fn rx_2_full_to_the_byte() -> Result<(), Mismatch> {
    let mut pair = pair(&Sizes::SMALL, 1);
    for row in Table::read("ingress_pool/full_to_the_byte.txt") {
        let number = |name| row.dec(name) as u16;
        let kind = match row.text("kind") {
            "Trimmed" => Kind::Trimmed,
            "Ack" => Kind::Ack,
            _ => Kind::Data,
        };
        let out = pair.clock(&Inputs {
            word_valid: row.bit("word"),
            in_valid: row.text("kind") != ".",
            r#in: Parsed { kind, charge: number("charge"), ..Parsed::default() },
            in_cls: class(kind) as u8,
            in_drop: if row.text("drop") == "Fcs" { Drop::Fcs } else { Drop::None },
            in_words: number("words") as u8,
            dat_ready: row.bit("dat_ready"),
            ctl_ready: true,
            rel_valid: number("rel") > 0,
            rel_bytes: number("rel"),
            relt_valid: number("relt") > 0,
            relt_cls: 1,
            relt_bytes: number("relt"),
            relc_valid: number("relc") > 0,
            relc_cls: 1,
            relc_bytes: number("relc"),
            free_valid: number("free") > 0,
            free_words: number("free") as u8,
            cfg_ingress_pool: pools([300, 130, 0, 0, 0, 0, 0, 0]),
            ..Inputs::default()
        })?;
        row.expect("ring_we", u8::from(out.ring_we));
        row.expect("ring_waddr", out.ring_waddr);
        row.expect("dat_valid", u8::from(out.dat_valid));
        row.expect("at", out.dat.word);
        row.expect("drop_valid", u8::from(out.drop_valid));
        row.expect("drop_reason", format!("{:?}", out.drop_reason));
        row.expect("occ0", out.held(0));
        row.expect("occ1", out.held(1));
    }
    Ok(())
}

/// Case 11, BUF-4: releases from all four partners at once, at any clock of 0 to 5 in which a frame
/// waits for `rx_track`, give their room back once, and the frame is taken once.
#[test]
fn case_11_releases_count_once_whatever_waits() -> Result<(), Mismatch> {
    for (low, at) in (0..=5).flat_map(|low| (0..=low).map(move |at| (low, at))) {
        let mut pair = pair(&Sizes::SMALL, 1);
        let (mut track, mut taken) = (Late::by(low), 0);
        for clock in 0..12 {
            // A frame that is taken at once, then the one that waits from clock 3 on.
            let i = Inputs {
                in_valid: clock == 0 || clock == 2,
                r#in: Parsed { kind: Kind::Data, charge: 100, ..Parsed::default() },
                dat_ready: clock < 3 || track.ready(pair.regs().dat_valid),
                rel_valid: clock == 3 + at,
                rel_bytes: 40,
                rel2_valid: clock == 3 + at,
                rel2_bytes: 30,
                relt_valid: clock == 3 + at,
                relt_bytes: 20,
                relc_valid: clock == 3 + at,
                relc_bytes: 10,
                cfg_ingress_pool: pools([200, 0, 0, 0, 0, 0, 0, 0]),
                ..Inputs::default()
            };
            let out = pair.clock(&i)?;
            taken += u32::from(out.dat_valid && i.dat_ready);
            let held = 100 * (u32::from(clock > 0) + u32::from(clock > 2))
                - 100 * u32::from(clock > 3 + at);
            assert_eq!(out.held(0), held, "clock {clock}, released in {at} of {low}");
        }
        assert_eq!(taken, 2, "frames");
    }
    Ok(())
}

/// One frame from its first word to its release.
#[derive(Clone, Default)]
struct Arrival {
    parsed: Parsed,
    class: usize,
    drop: Drop,
    words: Vec<Word>,
}

/// How a stretch of the test runs, in percent.
#[derive(Clone, Copy)]
struct Pace {
    words: u64,
    dat_ready: u64,
    ctl_ready: u64,
    release: u64,
}

/// Full speed and back-pressure, filling and draining.
const PACES: [Pace; 6] = [
    Pace { words: 100, dat_ready: 100, ctl_ready: 100, release: 0 },
    Pace { words: 100, dat_ready: 75, ctl_ready: 25, release: 20 },
    Pace { words: 60, dat_ready: 25, ctl_ready: 75, release: 90 },
    Pace { words: 90, dat_ready: 0, ctl_ready: 0, release: 50 },
    Pace { words: 20, dat_ready: 100, ctl_ready: 100, release: 100 },
    Pace { words: 100, dat_ready: 100, ctl_ready: 100, release: 8 },
];

/// The block's partners, with a plain record of what it must hold.
struct Around {
    rng: Rng,
    ring: Vec<Word>,
    pools: [u32; 8],
    /// Any class for any frame, not those of PKT-4 alone.
    any: bool,
    /// Words of a frame at most: few, so that verdicts are dense in small pools.
    most: u32,
    next_word: u64,
    /// On its way in, and how many of its words have come.
    coming: Arrival,
    came: usize,
    /// Taken and on its stream, data then control.
    streams: [VecDeque<Arrival>; 2],
    /// With the partners, not released.
    data: VecDeque<Arrival>,
    trimmed: VecDeque<Arrival>,
    control: VecDeque<Arrival>,
    /// Words of the taken data frames, not yet free; the front ones are read.
    unread: VecDeque<(u32, Word)>,
    readable: usize,
    base: u32,
    occ: [u32; 8],
    dropped: Option<Drop>,
    /// Class and occupancy of what has arrived, itself included; classes released.
    arrived: Option<(usize, u32)>,
    released: u8,
    seen: [usize; 3], // frames taken, dropped for want of a pool, of the ring
}

impl Around {
    fn new(sizes: &Sizes, seed: u32, pools: [u32; 8]) -> Self {
        let mut around = Self {
            rng: Rng::new(u64::from(seed), "ingress_pool"),
            ring: vec![Word::ZERO; sizes.ingress_words as usize],
            pools,
            any: pools[2] > 0,
            most: if pools[0] < 10_000 { 2 } else { FRAME_WORDS },
            next_word: 0,
            coming: Arrival::default(),
            came: 0,
            streams: Default::default(),
            data: VecDeque::new(),
            trimmed: VecDeque::new(),
            control: VecDeque::new(),
            unread: VecDeque::new(),
            readable: 0,
            base: 0,
            occ: [0; 8],
            dropped: None,
            arrived: None,
            released: 0,
            seen: [0; 3],
        };
        around.coming = around.draw();
        around
    }

    fn ring_words(&self) -> u32 {
        self.ring.len() as u32
    }

    /// Another frame, aimed at the borders of pool and ring.
    fn draw(&mut self) -> Arrival {
        let rng = &mut self.rng;
        let kind = match rng.below(10) {
            0 => Kind::Trimmed,
            1 => Kind::Ack,
            2 => Kind::Sack,
            3 => Kind::Probe,
            _ => Kind::Data,
        };
        let class = if self.any { rng.below(8) as usize } else { class(kind) };
        let room = self.pools[class].saturating_sub(self.occ[class]);
        let charge = match rng.below(4) {
            0 if room < 8_000 => room + rng.below(2) as u32,
            1 => 1 + rng.below(100) as u32,
            _ => 62 + rng.below(200) as u32,
        };
        let left = self.ring.len() as u32 - MARGIN - self.unread.len() as u32;
        let words = match rng.below(3) {
            0 if left < FRAME_WORDS => left + rng.below(2) as u32,
            1 => rng.below(u64::from(FRAME_WORDS) + 1) as u32,
            _ => rng.pick(&WORDS),
        };
        let words = words.min(self.most);
        // What is not data may have brought words too; they are forgotten.
        let words = if kind == Kind::Data || rng.percent(20) { words } else { 0 };
        let mix = rng.bits();
        let drop = if rng.percent(8) {
            rng.pick(&[Drop::Fcs, Drop::Length, Drop::IpAddr, Drop::Icrc])
        } else {
            Drop::None
        };
        let parsed = Parsed {
            stamped: rng.percent(50),
            stamp: rng.bits() as u16,
            at: rng.bits() & 0xffff_ffff_ffff,
            kind,
            charge: charge as u16,
            first: rng.percent(50),
            last: rng.percent(50),
            src_ip: rng.bits() as u32,
            sport: rng.bits() as u16,
            ce: rng.percent(50),
            qpn: Qpn(rng.below(1 << 24) as u32),
            psn: Psn(rng.below(1 << 24) as u32),
            ack_req: rng.percent(50),
            by_sender: rng.percent(50),
            rtx: rng.percent(50),
            msn: rng.bits() as u16,
            raddr: rng.bits(),
            rkey: rng.bits() as u32,
            msg_len: rng.bits() as u32,
            len: rng.below(1 << 14) as u16,
            word: rng.bits() as u16,
            ctrl: Wide([rng.bits(), rng.bits(), rng.bits(), rng.bits() >> 32]),
            cc: rng.bits(),
            last_hop: mix & 1 == 1,
        };
        // A word is told by its number, and has every bit both ways.
        let words = (0..words)
            .map(|n| {
                let number = self.next_word + u64::from(n);
                Wide(std::array::from_fn(|at| if at % 2 == 0 { number } else { !number } ^ mix))
            })
            .collect();
        self.next_word += u64::from(FRAME_WORDS);
        Arrival { parsed, class, drop, words }
    }

    /// RX-2 and BUF-4 on the plain record, before this clock's releases.
    fn judge(&mut self, arrival: &Arrival, stream_room: [bool; 2]) -> Drop {
        let kind = arrival.parsed.kind;
        let (data, class, stream) = (kind == Kind::Data, arrival.class, stream(kind));
        let words = self.unread.len() + arrival.words.len();
        let ring = !data || words as u32 + MARGIN <= self.ring_words();
        let pool = self.occ[class] + u32::from(arrival.parsed.charge) <= self.pools[class];
        if arrival.drop != Drop::None {
            arrival.drop
        } else if stream_room[stream] && ring && pool {
            self.seen[0] += 1;
            Drop::None
        } else {
            self.seen[1] += usize::from(!pool);
            self.seen[2] += usize::from(!ring && pool && stream_room[stream]);
            Drop::Pool
        }
    }

    /// This clock's inputs; outputs are known from the registers already.
    fn inputs(&mut self, pace: Pace) -> Inputs {
        let rng = &mut self.rng;
        let mut i = Inputs {
            dat_ready: rng.percent(pace.dat_ready),
            ctl_ready: rng.percent(pace.ctl_ready),
            cfg_ingress_pool: self::pools(self.pools),
            ..Inputs::default()
        };
        if self.came == self.coming.words.len() && rng.percent(pace.words) {
            i.in_valid = true;
            i.r#in = self.coming.parsed;
            i.in_cls = self.coming.class as u8;
            i.in_drop = self.coming.drop;
            i.in_words = self.coming.words.len() as u8;
        }
        let release = |list: &VecDeque<Arrival>, rng: &mut Rng| {
            let front = list.front().map_or((0, 0), |a| (a.class as u8, a.parsed.charge));
            if rng.percent(pace.release) { front } else { (0, 0) }
        };
        (i.rel_cls, i.rel_bytes) = release(&self.data, rng);
        i.rel_valid = i.rel_bytes > 0;
        if let Some(second) = self.data.get(usize::from(i.rel_valid))
            && rng.percent(pace.release / 4)
        {
            i.rel2_valid = true;
            (i.rel2_cls, i.rel2_bytes) = (second.class as u8, second.parsed.charge);
        }
        (i.relt_cls, i.relt_bytes) = release(&self.trimmed, rng);
        i.relt_valid = i.relt_bytes > 0;
        (i.relc_cls, i.relc_bytes) = release(&self.control, rng);
        i.relc_valid = i.relc_bytes > 0;
        if self.readable > 0 && rng.percent(pace.release) {
            i.free_valid = true;
            i.free_words = 1 + rng.below(self.readable.min(255) as u64) as u8;
        }
        i
    }

    /// The word that comes in this clock: of the next frame where a verdict comes too.
    fn word(&mut self, i: &mut Inputs, pace: Pace) {
        if self.came < self.coming.words.len() && self.rng.percent(pace.words) {
            i.word_valid = true;
            i.word_data = self.coming.words[self.came];
            self.came += 1;
        }
    }

    /// Holds the outputs against the record.
    fn check(&mut self, out: &Outputs) {
        let held: [u32; 8] = std::array::from_fn(|class| out.held(class));
        assert_eq!(held, self.occ, "what is charged is what is not released");
        let reason = out.drop_valid.then_some(out.drop_reason);
        assert_eq!(reason, self.dropped, "the drop of the clock before");
        let arrived = out.arr_valid.then_some((usize::from(out.arr_cls), out.arr_occ));
        assert_eq!(arrived, self.arrived, "class and occupancy for Xoff, taken or not");
        assert_eq!(out.rel_cls, self.released, "classes released in the clock before");
        let held = [(out.dat_valid, &out.dat), (out.ctl_valid, &out.ctl)];
        for (stream, (valid, parsed)) in held.into_iter().enumerate() {
            let want = self.streams[stream].front();
            assert_eq!(valid.then_some(parsed), want.map(|a| &a.parsed), "stream {stream}");
        }
    }

    /// The edge: the arrival, then what the partners do (section 16).
    fn edge(&mut self, i: &Inputs, out: &Outputs, verdict: Option<(Arrival, Drop)>) {
        if out.ring_we {
            self.ring[out.ring_waddr as usize] = out.ring_wdata;
        }
        let taken = [out.dat_valid && i.dat_ready, out.ctl_valid && i.ctl_ready];
        for (stream, taken) in self.streams.iter_mut().zip(taken) {
            if !taken {
                continue;
            }
            let arrival = stream.pop_front().expect("it was valid");
            match arrival.parsed.kind {
                Kind::Data => {
                    self.readable += arrival.words.len();
                    self.data.push_back(arrival);
                }
                Kind::Probe => self.data.push_back(arrival),
                Kind::Trimmed => self.trimmed.push_back(arrival),
                _ => self.control.push_back(arrival),
            }
        }
        self.dropped = None;
        // PFC-1: a frame without a fault counts for Xoff, even if it is then dropped.
        let sound = verdict.iter().map(|(arrival, _)| arrival).find(|a| a.drop == Drop::None);
        self.arrived = sound.map(|a| (a.class, self.occ[a.class] + u32::from(a.parsed.charge)));
        if let Some((mut arrival, why)) = verdict {
            if why == Drop::None {
                let kind = arrival.parsed.kind;
                self.occ[arrival.class] += u32::from(arrival.parsed.charge);
                let stream = stream(kind);
                if stream == 0 {
                    arrival.parsed.word = self.base as u16;
                }
                if kind == Kind::Data {
                    for word in &arrival.words {
                        self.unread.push_back((self.base, *word));
                        self.base = (self.base + 1) % self.ring.len() as u32;
                    }
                }
                self.streams[stream].push_back(arrival);
            } else {
                self.dropped = Some(why);
            }
        }
        if i.free_valid {
            for _ in 0..i.free_words {
                let (at, word) = self.unread.pop_front().expect("held");
                assert_eq!(self.ring[at as usize], word, "word {at} is as it came");
            }
            self.readable -= usize::from(i.free_words);
        }
        self.released = 0;
        let mut gone = |list: &mut VecDeque<Arrival>, valid: bool| {
            if valid {
                let arrival = list.pop_front().expect("held");
                self.occ[arrival.class] -= u32::from(arrival.parsed.charge);
                self.released |= 1 << arrival.class;
            }
        };
        gone(&mut self.data, i.rel_valid);
        gone(&mut self.data, i.rel2_valid);
        gone(&mut self.trimmed, i.relt_valid);
        gone(&mut self.control, i.relc_valid);
    }

    /// One clock of both twins and of the record.
    fn clock(&mut self, pair: &mut Lockstep<Regs>, pace: Pace) -> Result<(), Mismatch> {
        let mut i = self.inputs(pace);
        let regs = pair.regs();
        let room = [!regs.dat_valid || i.dat_ready, !regs.ctl_valid || i.ctl_ready];
        let mut verdict = None;
        if i.in_valid {
            let arrival = self.coming.clone();
            let why = self.judge(&arrival, room);
            verdict = Some((arrival, why));
            self.coming = self.draw();
            self.came = 0;
        }
        self.word(&mut i, pace);
        let out = pair.clock(&i)?;
        self.check(&out);
        self.edge(&i, &out, verdict);
        Ok(())
    }
}

/// Random traffic through filling and draining, with a reset in the middle.
fn traffic(
    sizes: &Sizes,
    seed: u32,
    pools: [u32; 8],
    stretch: u64,
) -> Result<[usize; 3], Mismatch> {
    let mut pair = pair(sizes, seed);
    let mut around = Around::new(sizes, seed, pools);
    for round in 0..2 {
        for pace in PACES {
            for _ in 0..stretch {
                around.clock(&mut pair, pace)?;
            }
        }
        if round == 0 {
            pair.reset().expect("resets");
            let before = around.seen;
            around = Around { seen: before, ..Around::new(sizes, seed + 100, pools) };
        }
    }
    Ok(around.seen)
}

#[test]
fn random_tests_reach_all() -> Result<(), Mismatch> {
    let reached = Reached::begin("ingress_pool");
    buf_4_random_traffic_in_small_pools()?;
    buf_1_eight_classes_are_charged_apart()?;
    rx_2_random_traffic_fills_the_ring()?;
    reached.check();
    Ok(())
}

#[test]
fn buf_4_random_traffic_in_small_pools() -> Result<(), Mismatch> {
    for (seed, [data, control]) in [(1, [1_000, 300]), (2, [300, 130]), (3, [5_000, 62])] {
        let pools = [data, control, 0, 0, 0, 0, 0, 0];
        let [taken, pool, _] = traffic(&Sizes::SMALL, seed, pools, 3_000)?;
        assert!(taken > 500 && pool > 500, "{taken} taken, {pool} without a pool");
    }
    Ok(())
}

/// BUF-1: eight pools, frames of every class; each fills and empties by itself.
#[test]
fn buf_1_eight_classes_are_charged_apart() -> Result<(), Mismatch> {
    for seed in 8..=10 {
        let pools = [5_000, 1_000, 300, 62, 8_000, 130, 2_000, 600];
        let [taken, pool, _] = traffic(&Sizes::SMALL, seed, pools, 3_000)?;
        assert!(taken > 500 && pool > 500, "{taken} taken, {pool} without a pool");
    }
    Ok(())
}

#[test]
fn rx_2_random_traffic_fills_the_ring() -> Result<(), Mismatch> {
    for seed in 4..=6 {
        let [taken, _, ring] = traffic(&Sizes::SMALL, seed, DEFAULTS, 3_000)?;
        assert!(taken > 300 && ring > 20, "{taken} taken, {ring} without a ring");
    }
    Ok(())
}

#[test]
fn rx_2_the_default_ring_fills_and_wraps() -> Result<(), Mismatch> {
    let mut pair = pair(&Sizes::DEFAULT, 7);
    let mut around = Around::new(&Sizes::DEFAULT, 7, DEFAULTS);
    for (pace, clocks) in [(0, 120_000), (5, 20_000), (4, 10_000), (0, 20_000), (4, 60_000)] {
        for _ in 0..clocks {
            around.clock(&mut pair, PACES[pace])?;
        }
    }
    let [taken, _, ring] = around.seen;
    assert!(taken > 1_000 && ring > 20, "{taken} taken, {ring} without a ring");
    Ok(())
}

/// BUF-1, S003: 860 full packets of 4,184 B charged fit 3,600,000 B, and one more does not.
#[test]
fn buf_1_860_packets_fill_the_default_pool() -> Result<(), Mismatch> {
    for (charge, packets) in [(4_184, 860), (4_174, 862)] {
        let mut pair = pair(&Sizes::DEFAULT, 8);
        let mut taken = 0;
        for _ in 0..=packets {
            let packet = Parsed { charge, ..Parsed::default() };
            let out = pair.clock(&Inputs {
                in_valid: true,
                r#in: packet,
                dat_ready: true,
                cfg_ingress_pool: pools(DEFAULTS),
                ..Inputs::default()
            })?;
            taken += usize::from(out.dat_valid);
        }
        let last = pair.clock(&Inputs { dat_ready: true, ..Inputs::default() })?;
        assert!(last.drop_valid && !last.dat_valid);
        assert_eq!((taken, last.held(0)), (packets, packets as u32 * u32::from(charge)));
    }
    Ok(())
}
