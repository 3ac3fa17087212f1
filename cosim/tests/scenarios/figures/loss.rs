//! Figures of what is lost, out of runs: timers, gaps, what answers a packet that was cut.

use cosim::event::{Event, Nowhere};
use cosim::settings::Settings;
use cosim::world::World;
use rtl_model::retransmit::{Cause, Timer};

use super::{DATA, Figures, NACK, PROBE, SACK, Seen, n, see, whole};
use crate::common::{from_here, listed, message, number, scenario, settings};

/// A lone packet that never arrives, with 25 doublings and so no budget.
fn lone(linear: usize) -> Settings {
    let head = format!("limit = \"12ms\"\n[defaults]\nLinearRetryCount = {linear}\n");
    let lost = "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\n";
    settings(&scenario(&head, &(message("100B", "") + lost)))
}

/// What the timers of NIC a show.
#[derive(Default)]
struct Timers {
    /// Slot, start and span of the one that runs.
    armed: Option<(u16, u64, u64)>,
    /// Ticks from each arm to its expiry.
    lasted: Vec<u64>,
}

impl Timers {
    fn look(&mut self, world: &World) {
        let o = &world.nodes[0].nic.o;
        if o.timer_wheel.exp_valid && o.retransmit.exp_ready {
            let (_, start, _) = self.armed.take().expect("it was armed");
            // By the clock: within the microsecond that begins with its tick.
            self.lasted.push(world.clock / 1_000 - start);
        }
        if o.retransmit.arm_valid {
            let arm = &o.retransmit;
            self.armed = Some((arm.arm_slot, arm.arm_start, arm.arm_span));
        }
    }

    /// A microsecond before the next expiry is due.
    fn almost(&mut self, mut world: World) -> World {
        while self.armed.is_none_or(|(_, start, span)| world.clock + 1_000 < 1_000 * (start + span))
        {
            world.settle(&mut Nowhere);
            self.look(&world);
            world.edge();
        }
        world
    }
}

/// TMR-1, TMR-3: how long the first timers of a lone packet last, in whole microseconds. The end of
/// each, with the arm of the next, is in lockstep.
fn lasted(linear: usize, count: usize) -> Vec<u64> {
    let mut world = World::new(&lone(linear));
    let mut timers = Timers::default();
    while timers.lasted.len() < count {
        world = timers.almost(world);
        world = from_here(world, 2_000, &mut Nowhere, |world| timers.look(world));
    }
    timers.lasted
}

/// TMR-3: the spans of timers up to the 32nd, which no run waits for: while a packet's second timer
/// runs, the number of the one before is put into the packet's record, in both twins.
fn spans() -> Vec<u64> {
    let mut timers = Timers::default();
    let first = timers.almost(World::new(&lone(7)));
    let second = from_here(first, 2_000, &mut Nowhere, |world| timers.look(world));
    let before = timers.almost(second);
    let slot = timers.armed.expect("it runs").0;
    let of = |timer: u8| {
        let mut world = before.clone();
        let memories = &mut world.nodes[0].nic.m;
        for ram in [&mut memories.retransmit_tim, &mut memories.retransmit_tims] {
            let record = *ram.peek(slot.into());
            assert_eq!(record.number, 2);
            ram.poke(slot.into(), Timer { number: timer - 1, ..record });
        }
        let mut timers = Timers { armed: timers.armed, ..Timers::default() };
        from_here(world, 2_000, &mut Nowhere, |world| timers.look(world));
        assert_eq!(timers.lasted, [150]);
        timers.armed.expect("the next").2
    };
    [150, 150].into_iter().chain((3..=32).map(of)).collect()
}

/// TMR-1, TMR-3, TMR-5: when the timers of a packet expire, as sums of what they last. What a run of
/// 10 ms shows is measured; the later ones come out of the spans.
fn schedules(out: &mut Figures) {
    let micros = |of: &[u64]| n(of.iter().sum());
    for (name, linear, count) in [("L0.", 0, 4), ("L1.", 1, 4), ("", 7, 10)] {
        let lasted = lasted(linear, count);
        for timer in 1..=count {
            out.insert(key(name, timer), micros(&lasted[..timer]));
        }
    }
    let spans = spans();
    for timer in 1..=14 {
        let sum = micros(&spans[..timer]);
        // The first ten are the same as in the run.
        assert_eq!(*out.entry(key("", timer)).or_insert(sum), sum, "timer {timer}");
    }
    out.insert("mrc.timer32_s", n(spans[31]) / n(1_000_000));
    out.insert("mrc.expiry32_s", micros(&spans) / n(1_000_000));
    // The sum of the others twice: all doublings but the first are what came before and T more.
    let sum = micros(&spans[..7]) + n(2 * spans[31]) - n(2 * spans[6]);
    out.insert("mrc.expiry32_s_by_sum", sum / n(1_000_000));
}

fn key(name: &str, timer: usize) -> &'static str {
    format!("mrc.retry.{name}expiry{timer}_us").leak()
}

/// LOS-1: a message of so many packets at line rate, PSN 0 lost, whose last packet comes 20 times, so
/// that the SACKs list all that has arrived: the run, and the last PSN of the SACK that finds the
/// gap, if one does before a timer.
fn lost(packets: u64) -> (Seen, Option<u64>) {
    let last = packets - 1;
    let rules = format!(
        "[[switch]]\naction = \"drop\"\nkind = \"data\"\npsn = 0\n[[switch]]\n\
         action = \"duplicate\"\nkind = \"data\"\npsn = {last}\ncopies = 20\n"
    );
    let text = format!("{}{rules}", message(&format!("{}B", packets * 4096), ""));
    let mut found = None;
    let seen = see(&scenario("limit = \"200us\"\n", &text), |world| {
        let nic = &world.nodes[0].nic;
        if nic.o.retransmit.queued_valid && nic.o.retransmit.queued_cause == Cause::Gap {
            assert_eq!((nic.o.retransmit.queued_psn.0, found), (0, None));
            found = Some((nic.b.ack_take.psn.0, nic.b.ack_take.drew));
        }
        world.clock > world.boot + 100_000
    });
    let top = found.map(|(cum, drew)| {
        let sacks = seen.of_opcode(1, &[SACK]);
        let of = |f: &&&[u8]| {
            [number(&f[51..54]), number(&f[56..58])] == [u64::from(cum), u64::from(drew)]
        };
        // Those that the copies draw have one name and differ in what they list.
        let tops = sacks.iter().filter(of).filter_map(|f| listed(f).1.pop());
        tops.max().expect("the SACK in work")
    });
    (seen, top)
}

/// LOS-1: the fewest packets behind a lost one that tell of it, what they carry with it, and the time
/// from its end to theirs.
fn gap(out: &mut Figures) {
    assert_eq!(lost(513).1, None, "512 packets behind it are within the allowance");
    let (seen, top) = lost(514);
    let top = top.expect("found") as usize;
    let frames = seen.frames(0);
    let data: Vec<_> = frames.iter().filter(|f| DATA.contains(&f.1[42])).collect();
    out.insert("mrc.sackloss_time_us", (data[top].0 - data[0].0) / n(1000));
    let payload: u64 = data[..top].iter().map(|f| f.1.len() as u64 - 78).sum();
    out.insert("mrc.sackloss_payload_MB", n(payload) / n(1_000_000));
}

/// NAK-1, PKT-3: packets that are cut, behind a port of 1 Gbps, and the NACKs for them.
fn trimmed(out: &mut Figures) {
    let rule = "[[switch]]\naction = \"trim\"\nkind = \"data\"\n[[switch]]\n\
                action = \"delay\"\nkind = \"NACK\"\nby = \"20us\"\n";
    let head = "limit = \"200us\"\nbuild = \"small\"\n[defaults]\nMSS = 100\n";
    let text = scenario(head, &(message("1600B", "") + rule)).replace(
        "address = \"10.0.0.2\"",
        "address = \"10.0.0.2\"\nDownlink.DataRate = \"1Gbps\"\nDataRate = \"1Gbps\"",
    );
    let seen = whole(&text);
    let cut = seen.events.iter().filter_map(|e| match &e.2 {
        Event::Arrived { bytes, .. } if e.1 == 1 && bytes[15] >> 2 == 12 => Some((e.0, bytes)),
        _ => None,
    });
    let cut: Vec<_> = cut.collect();
    assert_eq!(cut.len(), 16);
    out.insert("mrc.trimmed_wire", n(cut[0].1.len() as u64));
    out.insert("mrc.trimmed_ip", n(number(&cut[0].1[16..18])));
    // They wait for each other there: a frame's time at 1 Gbps is 400 of those at 400 Gbps.
    let span = n(cut[15].0 - cut[0].0) / n(15);
    out.insert("mrc.trimmed_ser_ns", span / n(400));
    let nacks = seen.of_opcode(1, &[NACK]);
    assert_eq!(nacks.len(), 16);
    out.insert("mrc.nack_wire", n(nacks[0].len() as u64));
}

/// PTH-2: a packet is lost until a probe has gone out on the value that it had.
fn probe(out: &mut Figures) {
    let rule = "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\ncount = 4\n";
    let head = "limit = \"200us\"\nbuild = \"small\"\n[defaults]\nInitialAckTimeout = \"10us\"\n";
    let seen = whole(&scenario(head, &(message("100B", "") + rule)));
    out.insert("mrc.rel_probe_wire", n(seen.of_opcode(0, &[PROBE])[0].len() as u64));
}

/// CPL-2: a message whose ACKs are lost is asked for again and again.
fn rerequest(out: &mut Figures) {
    let rule = "[[switch]]\naction = \"drop\"\nkind = \"ACK\"\ncount = 2\n";
    let head = "limit = \"2ms\"\nbuild = \"small\"\n";
    let seen = whole(&scenario(head, &(message("100B", "") + rule)));
    let asked = seen.events.iter().filter_map(|e| match e.2 {
        Event::Queued { cause: Cause::Cover, .. } => Some(e.0),
        _ => None,
    });
    let [first, second] = asked.collect::<Vec<_>>()[..] else { panic!("asked twice") };
    // Each within its microsecond.
    out.insert("mrc.rerequest_period_us", n(second / 1_000 - first / 1_000));
}

/// Every figure of this file.
pub(super) fn measured(out: &mut Figures) {
    schedules(out);
    gap(out);
    trimmed(out);
    probe(out);
    rerequest(out);
}
