//! `path_select`: model and RTL get the same inputs and must agree on every clock; each destination
//! as a plain circle of 128 values, walked one by one, gives the same ports (PTH-1).

use std::collections::VecDeque;

use rtl_model::image::{Item, Wide};
use rtl_model::path_select::{Flags, Inputs, Link, Outputs, Regs};
use rtl_model::ram_1r1w::{self, Ram};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// The block with its three memories.
struct Dut {
    pair: Lockstep<Regs>,
    flag: Ram<Flags>,
    next: Ram<Link>,
    prev: Ram<Link>,
}

fn port<T: Item>(we: bool, waddr: u32, wdata: T, re: bool, raddr: u32) -> ram_1r1w::Inputs<T> {
    ram_1r1w::Inputs { we, waddr, wdata, re, raddr }
}

impl Dut {
    fn new(sizes: &Sizes, seed: u32) -> Self {
        let mut rng = Rng::new(u64::from(seed), "memories");
        let dests = sizes.dests as usize;
        let mut dut = Self {
            pair: Lockstep::new("path_select", sizes, Start::Random(seed)).expect("builds"),
            flag: Ram::new(dests),
            next: Ram::new(dests * 128),
            prev: Ram::new(dests * 128),
        };
        dut.flag.randomize(&mut rng);
        dut.next.randomize(&mut rng);
        dut.prev.randomize(&mut rng);
        dut
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.flag_rdata = self.flag.rdata;
        i.next_rdata = self.next.rdata;
        i.prev_rdata = self.prev.rdata;
        let o = self.pair.clock(i)?;
        self.flag.clock(&port(o.flag_we, o.flag_waddr, o.flag_wdata, o.flag_re, o.flag_raddr));
        self.next.clock(&port(o.next_we, o.next_waddr, o.next_wdata, o.next_re, o.next_raddr));
        self.prev.clock(&port(o.prev_we, o.prev_waddr, o.prev_wdata, o.prev_re, o.prev_raddr));
        Ok(o)
    }
}

/// The values of one destination.
#[derive(Clone)]
struct Circle {
    step: usize,
    skip: [bool; 128],
    /// Longest bad first.
    bad: Vec<u8>,
    last: u8,
}

impl Circle {
    const NEW: Self = Self { step: 0, skip: [false; 128], bad: Vec::new(), last: 0 };

    fn is_bad(&self, value: u8) -> bool {
        self.bad.contains(&value)
    }

    /// The next port: from the step on, one value after the other, at most two rounds.
    fn draw(&mut self) -> u16 {
        for n in 0..256 {
            if n == 128 && self.bad.len() == 128 {
                self.last = self.bad[0];
                return 256 + u16::from(self.last);
            }
            let value = self.step as u8;
            self.step = (self.step + 1) % 128;
            let marked = std::mem::take(&mut self.skip[usize::from(value)]);
            if !marked && !self.is_bad(value) {
                self.last = value;
                return 256 + u16::from(value);
            }
        }
        panic!("two rounds without a value");
    }

    fn falls(&mut self, value: u8) -> bool {
        let falls = !self.is_bad(value);
        if falls {
            self.bad.push(value);
        }
        falls
    }

    fn rises(&mut self, value: u8) -> bool {
        let rises = self.is_bad(value);
        self.bad.retain(|v| *v != value);
        rises
    }

    fn bad_word(&self) -> Wide<2> {
        let word = self.bad.iter().fold(0u128, |word, v| word | 1 << v);
        Wide([word as u64, (word >> 64) as u64])
    }
}

/// What runs have met.
#[derive(Debug, Default)]
struct Seen {
    all_bad: u64,
    all_marked: u64,
    one_left: u64,
    marked_just_drawn: u64,
    fell_and_rose: u64,
}

struct Bench {
    dut: Dut,
    i: Inputs,
    circles: Vec<Circle>,
    data: Option<u16>,
    ack: Option<u16>,
    look: Option<Wide<2>>,
    /// Values that have turned, bad or not, and are not told yet.
    turns: VecDeque<(u8, u8, bool)>,
    seen: Seen,
}

impl Bench {
    fn new(sizes: &Sizes, seed: u32) -> Self {
        Self {
            dut: Dut::new(sizes, seed),
            i: Inputs::default(),
            circles: vec![Circle::NEW; sizes.dests as usize],
            data: None,
            ack: None,
            look: None,
            turns: VecDeque::new(),
            seen: Seen::default(),
        }
    }

    fn reset(&mut self) {
        self.dut.pair.reset().expect("resets");
        self.i = Inputs::default();
        self.circles.fill(Circle::NEW);
        (self.data, self.ack, self.look) = (None, None, None);
        self.turns.clear();
    }

    fn clock(&mut self) -> Result<Outputs, Mismatch> {
        let o = self.dut.clock(&mut self.i)?;
        self.answers(&o);
        self.requests(&o);
        self.events();
        Ok(o)
    }

    /// What comes out, against what is due.
    fn answers(&mut self, o: &Outputs) {
        assert_eq!(o.data_rsp_valid.then_some(o.data_rsp_port), self.data.take());
        assert_eq!(o.ack_rsp_valid.then_some(o.ack_rsp_port), self.ack.take());
        assert_eq!(o.look_rsp_valid.then_some(o.look_rsp_bad), self.look.take());
        if o.fell_valid || o.rose_valid {
            let told = (o.told_dest, o.told_value, o.fell_valid);
            assert_eq!(Some(told), self.turns.pop_front(), "a turn");
        }
    }

    /// What is taken, after every event of the clocks before.
    fn requests(&mut self, o: &Outputs) {
        if o.data_ready || o.ack_ready || o.look_ready {
            assert!(self.turns.is_empty(), "a request goes before an event");
            let troubled = |d: usize| u64::from(!self.circles[d].bad.is_empty()) << d;
            assert_eq!(o.troubled, (0..self.circles.len()).map(troubled).sum::<u64>());
        }
        if o.data_ready {
            self.data = Some(self.draw(self.i.data_dest));
            self.i.data_valid = false;
        }
        if o.ack_ready {
            self.ack = Some(self.draw(self.i.ack_dest));
            self.i.ack_valid = false;
        }
        if o.look_ready {
            self.look = Some(self.circles[usize::from(self.i.look_dest)].bad_word());
            self.i.look_valid = false;
        }
    }

    fn draw(&mut self, dest: u8) -> u16 {
        let circle = &mut self.circles[usize::from(dest)];
        let good = |v: &u8| !circle.is_bad(*v);
        let free = (0..128u8).filter(good).filter(|v| !circle.skip[usize::from(*v)]).count();
        self.seen.all_bad += u64::from(circle.bad.len() == 128);
        self.seen.all_marked += u64::from(circle.bad.len() < 128 && free == 0);
        self.seen.one_left += u64::from(free == 1);
        circle.draw()
    }

    /// This clock's events, in the order of section 16.
    fn events(&mut self) {
        let i = &mut self.i;
        let both = i.good_valid && i.bad_valid;
        let same = (i.good_dest, 256 + u16::from(i.good_value)) == (i.bad_dest, i.bad_port);
        self.seen.fell_and_rose += u64::from(both && same);
        if i.skip_valid && (256..384).contains(&i.skip_port) {
            let circle = &mut self.circles[usize::from(i.skip_dest)];
            circle.skip[usize::from(i.skip_port - 256)] = true;
            self.seen.marked_just_drawn += u64::from(i.skip_port == 256 + u16::from(circle.last));
        }
        if i.good_valid && self.circles[usize::from(i.good_dest)].rises(i.good_value) {
            self.turns.push_back((i.good_dest, i.good_value, false));
        }
        if i.bad_valid && (256..384).contains(&i.bad_port) {
            let value = (i.bad_port - 256) as u8;
            if self.circles[usize::from(i.bad_dest)].falls(value) {
                self.turns.push_back((i.bad_dest, value, true));
            }
        }
        (i.skip_valid, i.good_valid, i.bad_valid) = (false, false, false);
    }
}

/// PTH-1: 128 ports from 256 up, then from the first again; marked and bad values are passed over.
#[test]
fn pth_1_goes_round_what_may_be_used() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 1);
    let mut none = (0, 0);
    for row in Table::read("path_select/round.txt") {
        let dest = row.dec("dest") as u8;
        for _ in 0..row.dec("times") {
            let port = if row.text("port") == "-" { 0 } else { row.dec("port") as u16 };
            match row.text("what") {
                "skip" => {
                    bench.i.skip_valid = true;
                    (bench.i.skip_dest, bench.i.skip_port) = (dest, port);
                }
                "bad" => {
                    bench.i.bad_valid = true;
                    (bench.i.bad_dest, bench.i.bad_port) = (dest, port);
                }
                "good" => {
                    bench.i.good_valid = true;
                    (bench.i.good_dest, bench.i.good_value) = (dest, (port - 256) as u8);
                }
                "data" => (bench.i.data_valid, bench.i.data_dest) = (true, dest),
                "ack" => (bench.i.ack_valid, bench.i.ack_dest) = (true, dest),
                other => panic!("{other} is nothing to do"),
            }
            let mut drawn = None;
            for _ in 0..8 {
                let o = bench.clock()?;
                none.0 += u32::from(o.fell_valid);
                none.1 += u32::from(o.rose_valid);
                if o.data_rsp_valid {
                    drawn = Some(o.data_rsp_port);
                } else if o.ack_rsp_valid {
                    drawn = Some(o.ack_rsp_port);
                }
            }
            row.expect("drawn", drawn.map_or_else(|| "none".to_owned(), |p| p.to_string()));
        }
        row.expect("fell", none.0);
        row.expect("rose", none.1);
    }
    Ok(())
}

/// PTH-1, section 16: data goes first, events before both; 2 clocks each.
#[test]
fn pth_1_events_then_data_then_acks() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::SMALL, 2);
    for row in Table::read("path_select/order.txt") {
        bench.i.skip_valid = row.bit("skip");
        bench.i.skip_port = 256;
        bench.i.bad_valid = row.bit("bad");
        bench.i.bad_port = 257;
        bench.i.good_valid = row.bit("good");
        bench.i.good_value = 1;
        bench.i.look_valid |= row.bit("look");
        bench.i.data_valid |= row.bit("data");
        bench.i.ack_valid |= row.bit("ack");
        let o = bench.clock()?;
        row.expect("looks", u8::from(o.look_rsp_valid));
        row.expect("fell", u8::from(o.fell_valid));
        row.expect("rose", u8::from(o.rose_valid));
        row.expect("data_port", if o.data_rsp_valid { o.data_rsp_port } else { 0 });
        row.expect("ack_port", if o.ack_rsp_valid { o.ack_rsp_port } else { 0 });
    }
    Ok(())
}

/// One stretch of random traffic: chances in percent, when there may be one.
#[derive(Clone, Copy)]
struct Mix {
    skip: u64,
    bad: u64,
    good: u64,
    draw: u64,
}

const MIXES: [Mix; 5] = [
    Mix { skip: 10, bad: 10, good: 10, draw: 60 },
    Mix { skip: 0, bad: 100, good: 0, draw: 25 },
    Mix { skip: 60, bad: 100, good: 100, draw: 50 },
    Mix { skip: 100, bad: 2, good: 10, draw: 2 },
    Mix { skip: 10, bad: 0, good: 100, draw: 100 },
];

/// Where the next event of a kind may come, and the destination at which traffic is aimed.
#[derive(Default)]
struct Aim {
    skip: u64,
    bad: u64,
    good: u64,
    dest: u8,
}

impl Aim {
    /// A value at a border of a destination: just drawn, next, longest bad, bad since last, good.
    fn value(bench: &Bench, dest: u8, rng: &mut Rng, turn: bool) -> u8 {
        let circle = &bench.circles[usize::from(dest)];
        let any = rng.below(128) as u8;
        let step = circle.step as u8;
        match rng.below(8) {
            0 => circle.last,
            1 => step,
            2 => (step + 127) % 128,
            3 => circle.bad.first().copied().unwrap_or(any),
            4 => circle.bad.last().copied().unwrap_or(any),
            // One that turns.
            _ => {
                (0..128).map(|n| (any + n) % 128).find(|v| circle.is_bad(*v) != turn).unwrap_or(any)
            }
        }
    }

    fn drive(&mut self, bench: &mut Bench, clock: u64, mix: Mix, rng: &mut Rng) {
        let dests = bench.circles.len() as u64;
        let pick = |rng: &mut Rng| {
            if rng.percent(90) { self.dest } else { rng.below(dests) as u8 }
        };
        if clock >= self.skip && rng.percent(mix.skip) {
            let dest = pick(rng);
            let turn = rng.percent(50);
            let value = Self::value(bench, dest, rng, turn);
            bench.i.skip_valid = true;
            bench.i.skip_dest = dest;
            bench.i.skip_port = if rng.percent(3) {
                rng.pick(&[0, 255, 384, 4791, 0xffff])
            } else {
                256 + u16::from(value)
            };
            self.skip = clock + 8;
        }
        if clock >= self.bad && rng.percent(mix.bad) {
            let dest = pick(rng);
            bench.i.bad_valid = true;
            bench.i.bad_dest = dest;
            bench.i.bad_port = 256 + u16::from(Self::value(bench, dest, rng, true));
            if rng.percent(3) {
                bench.i.bad_port = rng.pick(&[0, 255, 384, 4791, 0xffff]);
            }
            self.bad = clock + 8;
        }
        if clock >= self.good && rng.percent(mix.good) {
            bench.i.good_valid = true;
            bench.i.good_dest = pick(rng);
            bench.i.good_value = Self::value(bench, bench.i.good_dest, rng, false);
            if bench.i.bad_valid && bench.i.bad_port / 128 == 2 && rng.percent(50) {
                bench.i.good_dest = bench.i.bad_dest;
                bench.i.good_value = (bench.i.bad_port % 128) as u8;
            }
            self.good = clock + 8;
        }
        for (valid, dest) in [
            (&mut bench.i.data_valid, &mut bench.i.data_dest),
            (&mut bench.i.ack_valid, &mut bench.i.ack_dest),
            (&mut bench.i.look_valid, &mut bench.i.look_dest),
        ] {
            if !*valid && rng.percent(mix.draw) {
                (*valid, *dest) = (true, pick(rng));
            }
        }
    }
}

/// PTH-1, in both sizes, with a reset on the way: values fall until all 128 are bad, are marked
/// until all are, and rise again.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("path_select");
    let mut seen = Seen::default();
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::DEFAULT), (3, Sizes::SMALL)] {
        let mut rng = Rng::new(seed, "path_select");
        let mut bench = Bench::new(&sizes, seed as u32);
        let mut aim = Aim::default();
        for clock in 0..90_000u64 {
            if clock == 34_000 {
                bench.reset();
            }
            if clock % 9_000 == 0 {
                aim.dest = rng.pick(&[0, 1, sizes.dests as u8 - 2, sizes.dests as u8 - 1]);
            }
            let mix = MIXES[(clock / 1_800 % 5) as usize];
            aim.drive(&mut bench, clock, mix, &mut rng);
            bench.clock()?;
        }
        seen.all_bad += bench.seen.all_bad;
        seen.all_marked += bench.seen.all_marked;
        seen.one_left += bench.seen.one_left;
        seen.marked_just_drawn += bench.seen.marked_just_drawn;
        seen.fell_and_rose += bench.seen.fell_and_rose;
    }
    println!("{seen:?}");
    assert!(seen.all_bad > 100 && seen.all_marked > 5 && seen.one_left > 20, "{seen:?}");
    assert!(seen.marked_just_drawn > 100 && seen.fell_and_rose > 100, "{seen:?}");
    reached.check();
    Ok(())
}

/// PTH-1: 64 destinations, each with values of its own.
#[test]
fn pth_1_destinations_are_apart() -> Result<(), Mismatch> {
    let mut bench = Bench::new(&Sizes::DEFAULT, 4);
    let mut rng = Rng::new(4, "destinations");
    for clock in 0..60_000u64 {
        if clock % 8 == 0 {
            for kind in 0..3 {
                let (dest, value) = (rng.below(64) as u8, rng.below(128) as u8);
                let (valid, port) = (rng.percent(60), 256 + u16::from(value));
                let i = &mut bench.i;
                match kind {
                    0 => (i.skip_valid, i.skip_dest, i.skip_port) = (valid, dest, port),
                    1 => (i.bad_valid, i.bad_dest, i.bad_port) = (valid, dest, port),
                    _ => (i.good_valid, i.good_dest, i.good_value) = (valid, dest, value),
                }
            }
        }
        if !bench.i.data_valid {
            (bench.i.data_valid, bench.i.data_dest) = (rng.percent(70), rng.below(64) as u8);
        }
        if !bench.i.ack_valid {
            (bench.i.ack_valid, bench.i.ack_dest) = (rng.percent(30), rng.below(64) as u8);
        }
        bench.clock()?;
    }
    let troubled = bench.circles.iter().filter(|c| c.bad.len() > 1).count();
    assert!(troubled == 64, "{troubled} destinations with bad values");
    Ok(())
}
