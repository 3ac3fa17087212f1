//! `window`: model and RTL get the same inputs and must agree on every clock; plain sums in the
//! order in which requests are taken give the same answers.

use std::collections::{BTreeMap, VecDeque};

use rtl_model::ram_1r1w::{self, Ram};
use rtl_model::window::{Inputs, Outputs, Regs, Win};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// The profile's nominal packet. One of MSS 1 has 61 B: then a window below 4,095 B has room.
const UNIT: u16 = 4156;

/// Windows that a new group starts with: PKT-5's border, one packet, the profile's, none.
const WINDOWS: [u32; 10] =
    [0, 4094, 4095, 4096, 4155, 4156, 4157, 2 * 4156 - 1, 2 * 4156 + 1, 108 * 4156];

/// Bytes that a try brings in, beside those that reach a border.
const BYTES: [u16; 5] = [60, 61, 4156, 8252, 1];

/// The block with its memory.
struct Dut {
    pair: Lockstep<Regs>,
    win: Ram<Win>,
}

impl Dut {
    fn new(sizes: &Sizes, seed: u64) -> Self {
        let mut win = Ram::new(sizes.qps as usize);
        win.randomize(&mut Rng::new(seed, "memory"));
        let start = Start::Random(seed as u32);
        Self { pair: Lockstep::new("window", sizes, start).expect("builds"), win }
    }

    fn clock(&mut self, i: &mut Inputs) -> Result<Outputs, Mismatch> {
        i.win_rdata = self.win.rdata;
        let o = self.pair.clock(i)?;
        self.win.clock(&ram_1r1w::Inputs {
            we: o.win_we,
            waddr: o.win_waddr,
            wdata: o.win_wdata,
            re: o.win_re,
            raddr: o.win_raddr,
        });
        Ok(o)
    }
}

/// SEG-3, CC-1, PKT-5.
#[test]
fn window_and_room_to_the_byte() -> Result<(), Mismatch> {
    let mut dut = Dut::new(&Sizes::SMALL, 1);
    for row in Table::read("window/room_to_the_byte.txt") {
        let op = row.text("op");
        let (group, bytes) = (row.dec("group") as u8, row.dec("bytes") as u16);
        let o = dut.clock(&mut Inputs {
            cfg_init_window: row.dec("init") as u32,
            cfg_unit: UNIT,
            open_valid: op.contains('o'),
            open_group: group,
            sub_valid: op.contains('s'),
            sub_group: group,
            sub_bytes: bytes,
            query_valid: op.contains('q'),
            query_group: group,
            try_valid: op.contains('t') || op.contains('c'),
            try_group: group,
            try_bytes: bytes,
            try_commit: op.contains('c'),
            ..Inputs::default()
        })?;
        let readys = [o.open_ready, o.sub_ready, o.query_ready, o.try_ready];
        row.expect("ready", readys.map(|r| if r { '1' } else { '0' }).iter().collect::<String>());
        row.expect("query_rsp", o.query_rsp_valid.then_some(o.query_rsp_tight).map_or(0, answer));
        row.expect("try_rsp", o.try_rsp_valid.then_some(o.try_rsp_ok).map_or(0, answer));
        row.expect("flight_sum", o.flight_sum);
    }
    Ok(())
}

/// 0 none, 1 no, 2 yes.
fn answer(yes: bool) -> u8 {
    1 + u8::from(yes)
}

/// The rules on plain numbers, one request after the other.
#[derive(Default)]
struct Sums {
    groups: BTreeMap<u8, (i64, i64)>,
    /// Answers due in this clock and the next two: of queries and of tries.
    due: VecDeque<(Option<bool>, Option<bool>)>,
    /// The sum of all flights, as it is now, and when it was last changed.
    totals: VecDeque<i64>,
    /// A group was opened in the last clock; its window is the register's value in this one.
    opened: bool,
    tight: u32,
    at_border: u32,
    floors: u32,
}

impl Sums {
    fn sum(&self) -> i64 {
        self.groups.values().map(|(_, flight)| flight).sum()
    }

    fn check(&mut self, i: &mut Inputs, o: &Outputs) {
        let (query, ok) = self.due.pop_front().unwrap_or_default();
        assert_eq!(o.query_rsp_valid.then_some(o.query_rsp_tight), query);
        assert_eq!(o.try_rsp_valid.then_some(o.try_rsp_ok), ok);
        self.due.resize(1, (None, None));
        let mut answers = (None, None);
        self.opened = i.open_valid && o.open_ready;
        if i.open_valid && o.open_ready {
            self.groups.insert(i.open_group, (i64::from(i.cfg_init_window), 0));
            i.open_valid = false;
        } else if i.sub_valid && o.sub_ready {
            self.groups.get_mut(&i.sub_group).expect("open").1 -= i64::from(i.sub_bytes);
            i.sub_valid = false;
        } else if i.lose_valid && o.lose_ready {
            let (cwnd, flight) = self.groups.get_mut(&i.lose_group).expect("open");
            *flight -= i64::from(i.lose_bytes);
            let unit = i64::from(i.cfg_unit);
            if i.lose_shrink && *cwnd > unit {
                self.floors += u32::from(*cwnd < 2 * unit);
                *cwnd = (*cwnd - unit).max(unit);
            }
            i.lose_valid = false;
        } else if i.toss_valid && o.toss_ready {
            self.groups.get_mut(&i.toss_group).expect("open").1 -= i64::from(i.toss_bytes);
            i.toss_valid = false;
        } else if i.query_valid && o.query_ready {
            let (cwnd, flight) = self.groups[&i.query_group];
            let tight = cwnd - flight < i64::from(i.cfg_unit) || cwnd < 4095;
            self.tight += u32::from(tight);
            answers.0 = Some(tight);
            i.query_valid = false;
        } else if i.try_valid && o.try_ready {
            let (cwnd, flight) = self.groups.get_mut(&i.try_group).expect("open");
            let open = *cwnd > *flight;
            self.at_border += u32::from((*cwnd - *flight).abs() <= 1);
            if open && i.try_commit {
                *flight += i64::from(i.try_bytes);
            }
            answers.1 = Some(open);
            i.try_valid = false;
        }
        self.due.push_back(answers);
        // The sum follows a clock later than the request is taken.
        self.totals.push_back(self.sum());
        if self.totals.len() > 2 {
            self.totals.pop_front();
        }
    }
}

/// Offers requests that reach the borders from where the groups are.
fn offer(i: &mut Inputs, sums: &Sums, rng: &mut Rng, sizes: &Sizes) {
    let groups: Vec<u8> = sums.groups.keys().copied().collect();
    if !i.open_valid && !sums.opened && rng.percent(if groups.is_empty() { 100 } else { 3 }) {
        let group = rng.below(u64::from(sizes.qps)) as u8;
        let flight = sums.groups.get(&group).map_or(0, |(_, flight)| *flight);
        // A group that is opened again has nothing in flight, and nobody asks for it meanwhile.
        let asked = [
            (i.sub_valid, i.sub_group),
            (i.lose_valid, i.lose_group),
            (i.toss_valid, i.toss_group),
            (i.query_valid, i.query_group),
            (i.try_valid, i.try_group),
        ];
        if flight == 0 && asked.iter().all(|(valid, of)| !valid || *of != group) {
            i.open_valid = true;
            i.open_group = group;
            i.cfg_init_window = rng.pick(&WINDOWS);
        }
    }
    if groups.is_empty() {
        return;
    }
    offer_leaving(i, sums, rng, &groups);
    if !i.query_valid && rng.percent(30) {
        i.query_valid = true;
        i.query_group = rng.pick(&groups);
    }
    if !i.try_valid && rng.percent(60) {
        i.try_valid = true;
        i.try_group = rng.pick(&groups);
        i.try_commit = rng.percent(70);
        let (cwnd, flight) = sums.groups[&i.try_group];
        // To the window less a byte, to it, to a packet of room, and to one more or less.
        let room = cwnd - flight;
        let unit = i64::from(i.cfg_unit);
        let near = [room - 1, room, room + 1, room - unit, room - unit + 1];
        let near = u16::try_from(rng.pick(&near)).unwrap_or(1).clamp(1, 16_383);
        i.try_bytes = if rng.percent(60) { near } else { rng.pick(&BYTES) };
    }
}

/// What leaves flight is in flight, whoever else asks for bytes of the same group.
fn offer_leaving(i: &mut Inputs, sums: &Sums, rng: &mut Rng, groups: &[u8]) {
    for who in 0..3 {
        let asked = [
            (i.sub_valid, i.sub_group, i.sub_bytes),
            (i.lose_valid, i.lose_group, i.lose_bytes),
            (i.toss_valid, i.toss_group, i.toss_bytes),
        ];
        if asked[who].0 || !rng.percent(20) {
            continue;
        }
        let group = rng.pick(groups);
        let asked = asked.iter().filter(|(valid, of, _)| *valid && *of == group);
        let flight = sums.groups[&group].1 - asked.map(|a| i64::from(a.2)).sum::<i64>();
        let bytes = rng.pick(&[1, 61, 4156, flight, flight - 1]).min(16_383);
        if !(1..=flight).contains(&bytes) {
            continue;
        }
        let bytes = u16::try_from(bytes).unwrap_or(0);
        match who {
            0 => (i.sub_valid, i.sub_group, i.sub_bytes) = (true, group, bytes),
            1 => {
                (i.lose_valid, i.lose_group, i.lose_bytes) = (true, group, bytes);
                i.lose_shrink = rng.percent(50);
            }
            _ => (i.toss_valid, i.toss_group, i.toss_bytes) = (true, group, bytes),
        }
    }
}

/// SEG-3, CC-1, PKT-5, section 16's order; both sizes, with a reset on the way.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("window");
    let mut floors = 0;
    let small = Sizes::SMALL;
    for (seed, sizes, unit) in [(1, small, UNIT), (2, Sizes::DEFAULT, UNIT), (3, small, 61)] {
        let mut rng = Rng::new(seed, "window");
        let mut dut = Dut::new(&sizes, seed);
        let mut sums = Sums::default();
        let mut i = Inputs { cfg_unit: unit, ..Inputs::default() };
        for clock in 0..20_000 {
            if clock == 9_000 {
                dut.pair.reset().expect("resets");
                sums = Sums::default();
                i = Inputs { cfg_unit: unit, ..Inputs::default() };
            }
            offer(&mut i, &sums, &mut rng, &sizes);
            let o = dut.clock(&mut i)?;
            let sum = if sums.totals.len() < 2 { 0 } else { sums.totals[0] };
            assert_eq!(i64::from(o.flight_sum), sum, "clock {clock}: sum of flights");
            sums.check(&mut i, &o);
        }
        assert!(sums.tight > 500 && sums.at_border > 100, "{} {}", sums.tight, sums.at_border);
        floors += sums.floors;
    }
    assert!(floors > 10, "{floors} windows came down to a unit");
    reached.check();
    Ok(())
}
