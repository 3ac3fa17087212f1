//! Cases 14 to 19 between whole NICs, in lockstep: pauses in the middle of a frame, Xoff and Xon to
//! the byte, class vectors, a pool that stays at Xoff, disciplines while classes come and go, and
//! settings that change under traffic.

use std::collections::BTreeSet;

use cosim::driver::BAR;
use cosim::event::{Event, Nowhere};
use cosim::run::Mode;
use cosim::settings::Settings;
use cosim::switch::settings::PauseSettings;
use cosim::world::World;
use rtl_model::host_interface::{index, level, register_offset};

use crate::common::{
    Log, PAIR, finished, from_here, lockstep, lockstep_with, message, scenario, settings,
};

/// The model alone until `look` has seen enough.
fn until(settings: &Settings, mut look: impl FnMut(&World) -> bool) -> World {
    let mut world = World::new(settings);
    loop {
        assert!(world.clock < settings.limit, "the limit came first: {:?}", world.waits());
        world.settle(&mut Nowhere);
        let enough = look(&world);
        world.edge();
        if enough {
            return world;
        }
    }
}

/// A pause to NIC `to` at a clock after boot.
fn pause(to: usize, classes: u8, quanta: [u16; 8], at: u64) -> PauseSettings {
    PauseSettings { table: 1, to, classes, quanta, at, count: 1, gap: 1 }
}

/// Clock and remainder of each frame's end at NIC a, and the clocks in which class 0 is held there
/// with whether a frame is on its way.
type Ends = (Vec<(u64, u32)>, Vec<(u64, bool)>);

fn ends(pauses: Vec<PauseSettings>) -> Ends {
    let text = scenario("limit = \"40us\"\nbuild = \"small\"", &message("20480B", "at = \"1us\""));
    let mut settings = settings(&text);
    settings.switch.pauses = pauses;
    let (mut ends, mut held) = (Vec::new(), Vec::new());
    let done = lockstep(&settings, &mut Log::default(), |world| {
        let (i, o) = (&world.nodes[0].nic.i.egress_arbiter, &world.nodes[0].nic.o.egress_arbiter);
        if o.end_valid {
            ends.push((world.clock, o.end_back));
        }
        if i.paused & 1 == 1 {
            held.push((world.clock, world.nodes[0].nic.b.egress_arbiter.left > i.cfg_wire_rate));
        }
    });
    assert_eq!(done.world.driver.intact, 1);
    (ends, held)
}

/// Case 14, PFC-4: a pause in the middle of a frame and an XON 10 clocks later, with every start of
/// the pause in the frame: it ends whole, and the next starts as if never paused. Quanta 0 without a
/// pause changes nothing; without the XON the next frame waits.
#[test]
fn case_14_pfc_4_a_pause_in_the_middle_of_a_frame() {
    let (free, held) = ends(Vec::new());
    assert_eq!((free.len(), held.len()), (5, 0));
    let all = [65_535; 8];
    // From the pause at the switch to the class being held.
    let (_, first) = ends(vec![pause(0, 1, [2; 8], 0)]);
    let boot = World::new(&settings(&scenario("limit = \"1us\"\nbuild = \"small\"", ""))).boot;
    let delay = first[0].0 - boot;
    for into in [2, 30, 60, 72] {
        let at = free[0].0 + into - delay - boot;
        let (short, held) = ends(vec![pause(0, 1, all, at), pause(0, 1, [0; 8], at + 10)]);
        assert_eq!(held.len(), 10, "{into} clocks into the second frame");
        assert!(held.iter().all(|h| h.1), "the frame is on its way all the time: {held:?}");
        assert_eq!(short, free, "each frame ends as if never paused");
        let (long, held) = ends(vec![pause(0, 1, [100; 8], at)]);
        assert_eq!(long[..2], free[..2], "the frame being sent ends whole");
        let resumed = held[held.len() - 1].0;
        assert!(long[2].0 > resumed + 80 && long[2].0 < resumed + 90, "the third one waits");
    }
    let (none, held) = ends(vec![pause(0, 0xff, [0; 8], 1_200)]);
    assert_eq!((none, held.len()), (free, 0), "quanta 0 without a pause");
}

/// Case 15, PFC-3: the pool drains to 1,440,001 B and no XON goes, or to 1,440,000 B and one does,
/// with that release; the pauses do not reach the peer, so that nothing else changes.
#[test]
fn case_15_pfc_3_xon_to_the_byte() {
    for over in [0, 1] {
        let slow = "DataRate = \"50Gbps\"\nIngressBufferManager.PFCEnableVector = [1]\n\
                    PCIe.LaneCount = 4\nPCIe.TXDataBufferSize = \"4KB\"\n";
        let deaf = "[[switch]]\naction = \"drop\"\nkind = \"pause\"\n";
        let top = "limit = \"600us\"\nprofile = \"uet\"\n[defaults]\nMaxCongestionWindow = 1100\n\
                   InitialAckTimeout = \"4ms\"\n";
        // 1,000 full packets and one that is charged with 704 B, or a byte more.
        let bytes = message(&format!("{}B", 1000 * 4096 + 616 + over), "");
        let settings = settings(&format!("{top}{PAIR}{slow}\n{bytes}{deaf}"));
        let mut came = 0;
        let world = until(&settings, |world| {
            let b = &world.nodes[1].nic.o;
            came += u64::from(b.ingress_pool.arr_valid && b.ingress_pool.arr_cls == 0);
            came == 1001
        });
        assert_eq!(world.nodes[1].nic.b.pause_send.out, 1, "a pause is outstanding");
        let (mut before, mut xon) = (0, Vec::new());
        from_here(world, 130_000, &mut Nowhere, |world| {
            let b = &world.nodes[1].nic;
            if b.o.pause_send.xon & 1 == 1 {
                // The release stands in the two clocks before.
                xon.push((before, b.o.ingress_pool.held(0)));
            }
            assert_eq!(b.o.pause_send.xoff, 0);
            before =
                if b.o.ingress_pool.rel_cls & 1 == 1 { b.o.ingress_pool.held(0) } else { before };
        });
        let at = if over == 0 { 1_440_000 } else { 1_440_001 - 4184 };
        assert_eq!(xon, [(at, at)], "{over} B more");
    }
}

/// Case 16, PFC-4: a frame with any one bit of the vector, or any of several, and times for all
/// classes: each class that is named is held for its own time, and no other one moves.
#[test]
fn case_16_pfc_4_only_the_named_classes_are_held() {
    let times: [u16; 8] = std::array::from_fn(|c| 20 + 7 * c as u16);
    let vectors: Vec<u8> = (0..8).map(|c| 1 << c).chain([0, 0xff, 0xa5, 0x5a, 0x81]).collect();
    let text = scenario("limit = \"60us\"\nbuild = \"small\"", &message("4096B", ""));
    let mut settings = settings(&text);
    let at = |n: usize| 500 * n as u64;
    let frames = vectors.iter().enumerate();
    settings.switch.pauses = frames.map(|(n, v)| pause(0, *v, times, at(n))).collect();
    let mut held = vec![[0_u64; 8]; vectors.len()];
    lockstep(&settings, &mut Log::default(), |world| {
        let paused = world.nodes[0].nic.i.egress_arbiter.paused;
        assert_eq!(world.nodes[1].nic.i.egress_arbiter.paused, 0, "the other NIC's go on");
        let Some(since) = world.clock.checked_sub(world.boot + 100) else { return };
        let n = (since / 500) as usize;
        for class in (0..8).filter(|c| paused >> c & 1 == 1) {
            held[n][class] += 1;
        }
    });
    for (vector, held) in vectors.iter().zip(held) {
        let want: [u64; 8] = std::array::from_fn(|c| {
            let time = (u64::from(times[c]) * 512_000).div_ceil(400_000) + 100;
            if vector >> c & 1 == 1 { time } else { 0 }
        });
        assert_eq!(held, want, "vector {vector:#010b}");
    }
}

/// Case 16, PFC-1: both pools of NIC b reach Xoff, all classes have quanta; its frames name those
/// classes alone that it has enabled, one each, with that one's time or 0 and no other.
#[test]
fn case_16_pfc_1_only_enabled_classes_are_named() {
    let quanta = [300, 500, 700, 900, 1_100, 1_300, 1_500, 1_700];
    for enabled in 0..4_u8 {
        let pools = format!(
            "IngressBufferManager.TotalBufferSize = \"60KB\"\n\
             IngressBufferManager.PFCEnableVector = [{}, {}]\n\
             IngressBufferManager.PfcStaticXoffThreshold = [0.6, 0.03]\n\
             IngressBufferManager.PfcXonResumeThreshold = [0.3, 0.01]\n\
             IngressBufferManager.QuantaValue = {quanta:?}\n\
             PCIe.LaneCount = 9\nPCIe.TXDataBufferSize = \"4KB\"\n",
            enabled & 1,
            enabled >> 1,
        );
        let back = message("100B", "count = 60\noutstanding = 12")
            .replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
        let there = message("400KB", "");
        let settings =
            settings(&format!("limit = \"300us\"\nbuild = \"small\"\n{PAIR}{pools}{there}{back}"));
        let (mut log, mut most) = (Log::default(), [0; 2]);
        let done = lockstep(&settings, &mut log, |world| {
            let pool = &world.nodes[1].nic.o.ingress_pool;
            most = [most[0].max(pool.held(0)), most[1].max(pool.held(1))];
        });
        assert_eq!(done.world.driver.intact, 61);
        let xoff = settings.nics[1].buffers.xoff;
        if enabled & 1 == 0 {
            assert!(u64::from(most[0]) >= xoff[0], "{most:?}");
        }
        assert!(u64::from(most[1]) >= xoff[1], "{most:?}");
        let mut named = BTreeSet::new();
        for (_, nic, event) in &log.0 {
            let Event::Sent { bytes, .. } = event else { continue };
            if bytes[12..14] != [0x88, 0x08] {
                continue;
            }
            assert_eq!((*nic, bytes.len(), bytes[16]), (1, 64, 0));
            assert!(bytes[17].is_power_of_two(), "one class");
            let class = bytes[17].trailing_zeros() as usize;
            let time = |c: usize| u16::from_be_bytes([bytes[18 + 2 * c], bytes[19 + 2 * c]]);
            assert!([0, quanta[class]].contains(&time(class)));
            assert!((0..8).all(|c| c == class || time(c) == 0), "{bytes:?}");
            named.insert((class, time(class) == 0));
        }
        let want = (0..2).filter(|c| enabled >> c & 1 == 1);
        let want: BTreeSet<_> = want.flat_map(|c| [(c, false), (c, true)]).collect();
        assert_eq!(named, want, "pauses and XONs of the enabled classes");
    }
}

/// BUF-1, PFC-1, PFC-3: vectors of eight entries, whose sum need not be 1: each class of each buffer
/// has its pool and its thresholds, exact and rounded as the rules compare them.
#[test]
fn buf_1_eight_classes_in_both_buffers() {
    let shares = "PoolAllocationVector = [0.5, 0.3, 0.25, 0.1, 0.07, 0.031, 0.0021, 0.001]\n";
    let own = format!(
        "EgressBufferManager.{shares}IngressBufferManager.{shares}\
         IngressBufferManager.TotalBufferSize = \"60001B\"\n\
         IngressBufferManager.PfcXonResumeThreshold = [0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.9, 1]\n\
         IngressBufferManager.PFCEnableVector = [0, 1, 1, 1, 1, 1, 1, 1]\n"
    );
    let text = format!("limit = \"40us\"\nbuild = \"small\"\n[defaults]\n{own}{PAIR}");
    let settings = settings(&(text + &message("20000B", "count = 3")));
    let mut found: Vec<Vec<u32>> = Vec::new();
    let done = lockstep(&settings, &mut Log::default(), |world| {
        if world.clock == world.boot {
            let csr = &world.nodes[1].nic.o.csr;
            let banks = [csr.cfg_egress_pool, csr.cfg_ingress_pool, csr.cfg_xoff, csr.cfg_xon];
            found = banks.iter().map(|b| (0..8).map(|c| level(b, c)).collect()).collect();
        }
    });
    assert_eq!(done.world.driver.intact, 3);
    let wanted: [Vec<u32>; 4] = [
        vec![128_000, 76_800, 64_000, 25_600, 17_920, 7_936, 537, 256],
        vec![30_000, 18_000, 15_000, 6_000, 4_200, 1_860, 126, 60],
        // At or above 0.8 of 30,000.5 B, and at or below 0.4 of it …
        vec![24_001, 14_401, 12_001, 4_801, 3_361, 1_489, 101, 49],
        vec![12_000, 7_200, 6_000, 2_400, 1_680, 744, 113, 60],
    ];
    assert_eq!(found, wanted);
}

/// Two NICs, b with a small pool behind half of its lanes: it pauses from 0.3 of the pool on, and
/// resumes at this share of it.
fn slow_receiver(limit: &str, xon: &str) -> String {
    format!(
        "limit = \"{limit}\"\nbuild = \"small\"\n{PAIR}\
         IngressBufferManager.TotalBufferSize = \"60KB\"\nPCIe.LaneCount = 8\n\
         PCIe.TXDataBufferSize = \"4KB\"\nIngressBufferManager.PFCEnableVector = [1]\n\
         IngressBufferManager.PfcStaticXoffThreshold = [0.3]\n\
         IngressBufferManager.PfcXonResumeThreshold = [{xon}]\n\n"
    )
}

/// PFC-3: with Xon at or above Xoff a pause is followed by an XON with the next release, and the next
/// arrival at Xoff pauses again.
#[test]
fn pfc_3_xon_above_xoff_resumes_with_the_next_release() {
    let text = slow_receiver("200us", "1");
    let (mut out, mut xons, mut released) = (false, 0, false);
    let settings = settings(&(text + &message("400KB", "")));
    let done = lockstep(&settings, &mut Log::default(), |world| {
        let (i, o) = (&world.nodes[1].nic.i.pause_send, &world.nodes[1].nic.o.pause_send);
        let (xoff, xon) = (o.xoff & 1 == 1, o.xon & 1 == 1);
        // What is told here comes of the events of the clock before.
        assert_eq!(xon, released && (out || xoff), "clock {}", world.clock);
        assert!(!xoff || !out, "no pause while one is outstanding");
        xons += u32::from(xon);
        out = (out || xoff) && !xon;
        released = i.rel_cls & 1 == 1;
    });
    assert_eq!(done.world.driver.intact, 1);
    assert!(xons > 20, "{xons}");
}

/// Case 17, PFC-2: a pool that stays at Xoff for 1 ms: the pause goes out again each half pause time,
/// 41,992.4 ns or 50.64 ns, each at the first clock at or after; the peer is never resumed. The first
/// and the last 30 µs are in lockstep.
#[test]
fn case_17_pfc_2_a_pool_at_xoff_for_a_millisecond() {
    for (quanta, tenths_of_ps) in [(65_535, 419_924_000_u64), (1, 506_400)] {
        let slow = format!(
            "IngressBufferManager.PFCEnableVector = [1]\nIngressBufferManager.QuantaValue = [{quanta}]\n\
             IngressBufferManager.TotalBufferSize = \"60KB\"\nPCIe.LaneCount = 1\n\
             PCIe.LaneBps = \"1Mbps\"\nPCIe.TXDataBufferSize = \"512B\"\n"
        );
        let top = "limit = \"3ms\"\nbuild = \"small\"\nprofile = \"uet\"\n[defaults]\n\
                   InitialAckTimeout = \"8ms\"\n";
        let settings = settings(&format!("{top}{PAIR}{slow}\n{}", message("400KB", "")));
        let (mut at, mut held) = (Vec::new(), None);
        let mut look = |world: &World| {
            let (a, b) = (&world.nodes[0].nic, &world.nodes[1].nic);
            if b.o.pause_send.xoff & 1 == 1 {
                at.push(world.clock);
            }
            assert_eq!(b.o.pause_send.xon, 0);
            let paused = a.i.egress_arbiter.paused;
            if paused == 1 {
                held.get_or_insert(world.clock);
            }
            assert_eq!(u8::from(held.is_some()), paused, "never resumed");
        };
        let world = from_here(World::new(&settings), 30_000, &mut Nowhere, &mut look);
        let mut world = world;
        while world.clock < 1_000_000 {
            world.settle(&mut Nowhere);
            look(&world);
            world.edge();
        }
        from_here(world, 30_000, &mut Nowhere, &mut look);
        let last = at[at.len() - 1] - at[0];
        assert!(last > 950_000, "{last}");
        for (k, clock) in at.iter().enumerate() {
            let exact = (k as u64 * tenths_of_ps).div_ceil(10_000);
            assert_eq!(clock - at[0], exact, "refresh {k} of quanta {quanta}");
        }
        assert!(at.len() as u64 >= 950_000 / (tenths_of_ps / 10_000 + 1), "{}", at.len());
    }
}

/// One choice of NIC a's port: who might have been served, and who was.
struct Choice {
    able: u8,
    taken: u8,
    /// Classes with a frame, paused or not.
    waiting: u8,
    /// The discipline then, and the weights.
    sched: u8,
    weights: u64,
}

/// The choices between classes of NIC a's port in a run both ways, with the switch pausing classes
/// now and then, and the host writing what `host` has it write.
fn choices(
    discipline: &str,
    pauses: &[(u8, u16, u64)],
    host: impl FnMut(&mut World),
) -> Vec<Choice> {
    let own = format!("EgressBufferManager.QueueSchedulingType = \"{discipline}\"\n");
    let there = message("60KB", "count = 3");
    let back = message("6000B", "count = 40\noutstanding = 10")
        .replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
    let head = format!("limit = \"300us\"\n[defaults]\nMSS = 300\n{own}");
    let mut settings = settings(&scenario(&head, &(there + &back)));
    let of = |(classes, quanta, at): &(u8, u16, u64)| pause(0, *classes, [*quanta; 8], *at);
    settings.switch.pauses = pauses.iter().map(of).collect();
    let mut seen = Vec::new();
    let done = lockstep_with(&settings, &mut Log::default(), host, |world| {
        let (i, o) = (&world.nodes[0].nic.i.egress_arbiter, &world.nodes[0].nic.o.egress_arbiter);
        if o.cls_ready != 0 {
            let (able, waiting, taken) = (i.cls_valid & !i.paused, i.cls_valid, o.cls_ready);
            let (sched, weights) = (i.cfg_sched, i.cfg_weights);
            seen.push(Choice { able, taken, waiting, sched, weights });
        }
    });
    assert_eq!(done.world.driver.intact, 43);
    assert!(seen.iter().all(|c| c.taken.is_power_of_two() && c.taken & !c.able == 0));
    seen
}

/// Holds both classes, so that both have much to send behind it, then control in its turns.
const HOLDS: [(u8, u16, u64); 14] = [
    (3, 2_000, 1_500),
    (2, 1, 4_190),
    (2, 1, 4_325),
    (2, 1, 4_450),
    (3, 1_500, 6_500),
    (2, 1, 8_540),
    (2, 1, 8_670),
    (2, 1, 8_803),
    (1, 60, 9_000),
    (2, 300, 9_700),
    (3, 1_000, 12_000),
    (2, 1, 13_410),
    (2, 1, 13_535),
    (2, 1, 13_662),
];

/// Case 18, ARB-2: round robin while control comes and goes and classes are paused: while both may
/// send they are served in turn, so that their counts differ by 1 at most.
#[test]
fn case_18_arb_2_round_robin_is_fair() {
    let seen = choices("RoundRobin", &HOLDS, |_| ());
    let (mut counts, mut most, mut alone) = ([0_i32; 2], 0, 0);
    for choice in &seen {
        if choice.able != 3 {
            counts = [0; 2];
            alone += 1;
            continue;
        }
        counts[usize::from(choice.taken == 2)] += 1;
        assert!((counts[0] - counts[1]).abs() <= 1, "{counts:?}");
        most = most.max(counts[0] + counts[1]);
    }
    assert!(most >= 10 && alone > 100, "{most} in a row between both, {alone} of one alone");
}

/// Case 19, ARB-2: weights [1, 5]: control five, data one; control that runs out, or is paused, gives
/// up its turn: data goes at once, and behind it control has a fresh five.
#[test]
fn case_19_arb_2_weights_are_kept() {
    let seen = choices("WeightedRoundRobin", &HOLDS, |_| ());
    // The rule over a list: whose turn it is, and what is left of it.
    let (mut turn, mut left) = (1_u8, 5);
    let (mut whole, mut ran_out, mut paused, mut fresh) = (0, 0, 0, 0);
    let mut given_up = false;
    for choice in &seen {
        let able = |class: u8| choice.able >> class & 1 == 1;
        if !(able(turn) && left > 0) {
            let lost = turn == 1 && left > 0 && left < 5;
            whole += u32::from(turn == 1 && left == 0 && able(0));
            ran_out += u32::from(lost && choice.waiting & 2 == 0);
            paused += u32::from(lost && choice.waiting & 2 == 2);
            given_up |= lost;
            if able(1 - turn) {
                turn = 1 - turn;
            }
            left = if turn == 1 { 5 } else { 1 };
            fresh += u32::from(turn == 1 && given_up);
            given_up &= turn == 0;
        }
        assert_eq!(choice.taken, 1 << turn);
        left -= 1;
    }
    let counts = (whole, ran_out, paused, fresh);
    assert!(whole >= 3 && ran_out >= 3 && paused >= 1 && fresh >= 3, "{counts:?}");
}

/// The host writes a register of a NIC now.
fn write(world: &mut World, nic: usize, at: u16, value: u64) {
    let now = world.clock;
    world.nodes[nic].host.post(now, BAR + register_offset(at), &value.to_le_bytes());
}

/// ARB-2 over a list of choices between classes 0 and 1: the class served last, whose turn by weight
/// it is, and what is left of it.
struct Turns {
    last: u8,
    turn: u8,
    left: u64,
}

impl Turns {
    fn serve(&mut self, choice: &Choice) -> u8 {
        let able = |class: u8| choice.able >> class & 1 == 1;
        let weight = |class: u8| choice.weights >> (8 * class) & 0xff;
        self.last = match choice.sched {
            0 => u8::from(able(1)),
            1 if able(1 - self.last) => 1 - self.last,
            1 => self.last,
            _ => {
                self.left = self.left.min(weight(self.turn));
                if !able(self.turn) || self.left == 0 {
                    self.turn = if able(1 - self.turn) { 1 - self.turn } else { self.turn };
                    self.left = weight(self.turn);
                }
                self.left -= 1;
                self.turn
            }
        };
        self.last
    }
}

/// ARB-2: discipline and weights change every 97 clocks while both classes have frames: each choice
/// is that of the setting then, turns and what is left of a weight are kept, and all arrives whole.
#[test]
fn arb_2_disciplines_and_weights_change_under_traffic() {
    let cycle = [(0, 0x0501), (1, 0x0501), (2, 0x0501), (2, 0x0302)];
    let seen = choices("StrictPriority", &HOLDS, |world| {
        let since = world.clock.saturating_sub(world.boot);
        if since > 0 && since < 20_000 && since.is_multiple_of(97) {
            let (sched, weights) = cycle[(since / 97) as usize % 4];
            let flags = u64::from(world.nodes[0].nic.b.csr.flags) & !0x30;
            write(world, 0, index::FLAGS, flags | u64::from(sched) << 4);
            write(world, 0, index::WEIGHTS, weights);
        }
    });
    let mut turns = Turns { last: 1, turn: 1, left: u64::MAX };
    let mut between = [0; 4];
    for (n, choice) in seen.iter().enumerate() {
        assert_eq!(choice.taken, 1 << turns.serve(choice), "choice {n}");
        let which = cycle.iter().position(|c| *c == (choice.sched, choice.weights));
        if let Some(which) = which.filter(|_| choice.able == 3) {
            between[which] += 1;
        }
    }
    assert!(between.iter().all(|n| *n >= 10), "choices between both: {between:?}");
}

/// PFC-1, PFC-3, BUF-1: thresholds, quanta, a pool's size and the enabled classes change under
/// traffic: each pause and each XON is that of the levels then, its frame says the quanta then, and
/// with PFC off none goes, whatever the pool holds.
#[test]
fn pfc_1_pfc_3_levels_change_under_traffic() {
    let text = slow_receiver("2ms", "0.2");
    let settings = settings(&(text + &message("1MB", "")));
    let writes = [
        (6_000, index::XOFF, 30_000),
        (6_000, index::XON, 25_000),
        (12_000, index::QUANTA, 50_000),
        (18_000, index::XOFF, 40_000),
        (18_000, index::INGRESS_POOL, 50_000),
        (24_000, index::PFC, 100 << 8),
    ];
    let host = |world: &mut World| {
        let since = world.clock.saturating_sub(world.boot);
        for (_, at, value) in writes.iter().filter(|w| w.0 == since) {
            write(world, 1, *at, *value);
        }
    };
    let (mut log, mut told, mut above) = (Log::default(), Vec::new(), 0);
    let (mut out, mut due) = (false, (false, false));
    let done = lockstep_with(&settings, &mut log, host, |world| {
        let nic = &world.nodes[1].nic;
        let (i, o) = (&nic.i.pause_send, &nic.o.pause_send);
        let pool = level(&nic.o.csr.cfg_ingress_pool, 0);
        assert_eq!((o.xoff & 1 == 1, o.xon & 1 == 1), due, "clock {}", world.clock);
        out = (out || due.0) && !due.1;
        let [xoff, xon] = [i.cfg_xoff, i.cfg_xon].map(|levels| level(&levels, 0));
        let full = i.arr_valid && i.arr_cls == 0 && i.arr_occ >= xoff;
        let pause = full && !out && i.cfg_pfc_enable & 1 == 1;
        due = (pause, (out || pause) && i.rel_cls & 1 == 1 && level(&i.occ, 0) <= xon);
        above += u32::from(full && i.cfg_pfc_enable == 0);
        if pause {
            told.push([xoff, xon, i.cfg_quanta.0[0] as u32 & 0xffff, pool]);
        }
    });
    assert_eq!(done.world.driver.intact, 1);
    told.dedup();
    let wanted = [
        [16_200, 10_800, 65_535, 54_000],
        [30_000, 25_000, 65_535, 54_000],
        [30_000, 25_000, 50_000, 54_000],
        [40_000, 25_000, 50_000, 50_000],
    ];
    assert_eq!(told, wanted);
    assert!(above > 0, "the pool is at Xoff with PFC off");
    let frames = log.0.iter().filter_map(|(_, nic, event)| match event {
        Event::Sent { bytes, .. } if *nic == 1 && bytes[12..14] == [0x88, 0x08] => {
            Some(u16::from_be_bytes([bytes[18], bytes[19]]))
        }
        _ => None,
    });
    let mut asked: Vec<_> = frames.filter(|time| *time > 0).collect();
    asked.dedup();
    assert_eq!(asked, [65_535, 50_000]);
}

/// BUF-4: what is received leaves in order of arrival, whatever the ingress buffer's discipline and
/// weights say: every port does the same in every clock. The egress buffer's make a difference.
#[test]
fn buf_4_the_ingress_discipline_changes_nothing() {
    let there = message("60KB", "count = 3");
    let back = there.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
    let digest = |own: &str| {
        let head = format!("limit = \"300us\"\n[defaults]\nMSS = 300\n{own}");
        finished(&scenario(&head, &(there.clone() + &back)), Mode::Lockstep).digest
    };
    let of = |side: &str, kind: &str| {
        let vector = format!("{side}BufferManager.WRRQueueWeights = [9, 1]\n");
        digest(&format!("{side}BufferManager.QueueSchedulingType = \"{kind}\"\n{vector}"))
    };
    let plain = digest("");
    assert_eq!(of("Ingress", "RoundRobin"), plain);
    assert_eq!(of("Ingress", "WeightedRoundRobin"), plain);
    assert_ne!(of("Egress", "WeightedRoundRobin"), plain);
}
