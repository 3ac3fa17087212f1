//! The soak, short: random legal scenarios in lockstep, and the watch that judges them.

use cosim::check::RtlChoice;
use cosim::driver::Driver;
use cosim::event::Sink;
use cosim::record::Recorder;
use cosim::run::{Mode, Outcome, run, world_at};
use cosim::soak::nic::ledger::{LOSSES, NAMES};
use cosim::soak::nic::watch::Watch;
use cosim::soak::nic::{Plan, draw, soak};
use cosim::world::World;
use rtl_model::host_interface::CqeEntry;
use rtl_model::types::{Cqe, Qpn, Refuse};

use crate::common::{message, scenario, settings};

/// A few seeds in lockstep, one of them in the default build; `nicstep soak nic` has no end of them.
#[test]
fn short_soak_agrees() {
    let plan = Plan {
        first: 1,
        seeds: 5,
        clocks: u64::MAX,
        each: 4_000,
        lossy: false,
        mode: Mode::Lockstep,
    };
    let report = soak(&plan, &RtlChoice::default(), |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{}", report.table());
    assert!(report.intact > 10, "{}", report.table());
    assert!(report.default_clocks * 10 >= report.clocks);
}

/// The model alone runs more of them; what it runs is drawn from the seed alone.
#[test]
fn drawn_scenarios_are_legal_and_keep_their_promises() {
    let plan = Plan {
        first: 100,
        seeds: 25,
        clocks: u64::MAX,
        each: 5_000,
        lossy: false,
        mode: Mode::ModelOnly,
    };
    let report = soak(&plan, &RtlChoice::default(), |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{}", report.table());
    for name in ["drop Fcs", "refuse Opcode", "switch mark data", "duplicate", "PSN wrap"] {
        assert!(report.happened[name] > 0, "{name}\n{}", report.table());
    }
    // What only a lossy run can meet is not listed.
    for name in ["trimmed", "control frames dropped", "recovery begins", "ingress above half"] {
        assert!(report.happened.get(name) != Some(&0), "{name}\n{}", report.table());
    }
    let scope = draw::Scope { default_build: false, lossy: true, clocks: 5_000 };
    assert_eq!(draw::scenario(7, &scope), draw::scenario(7, &scope));
    assert_ne!(draw::scenario(7, &scope), draw::scenario(8, &scope));
}

/// BUF-1 to BUF-7, ARB-2, PFC-1 to PFC-4: each thing that the buffers' books list happens in drawn
/// scenarios, and so do drops for want of a pool.
#[test]
fn drawn_buffers_fill_pause_and_drop() {
    let plan = Plan {
        first: 1,
        seeds: 120,
        clocks: u64::MAX,
        each: 40_000,
        lossy: true,
        mode: Mode::ModelOnly,
    };
    let report = soak(&plan, &RtlChoice::default(), |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{}", report.table());
    for name in NAMES.iter().chain(&LOSSES).chain(&["drop Pool", "switch paused pause"]) {
        assert!(report.happened[*name] > 0, "{name}\n{}", report.table());
    }
}

/// CPL-2: data lost, trimmed, corrupted, delayed and reordered, control frames lost, between two to
/// four NICs: lockstep and every promise hold.
#[test]
fn short_soak_with_loss_agrees() {
    let (mode, clocks) = (Mode::Lockstep, u64::MAX);
    let plan = Plan { first: 1015, seeds: 6, clocks, each: 30_000, lossy: true, mode };
    let report = soak(&plan, &RtlChoice::default(), |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{}", report.table());
    for name in ["switch drop data", "switch drop ACK", "again Gap", "again Trimmed"]
        .into_iter()
        .chain(["again Timeout", "again Cover", "run of 3 NICs", "run of 4 NICs"])
    {
        assert!(report.happened[name] > 0, "{name}\n{}", report.table());
    }
}

/// A word is on its way from a memory while all blocks are idle: that is no end. The seed has met it.
#[test]
fn a_run_is_not_stuck_while_a_word_comes_from_a_memory() {
    let (mode, clocks) = (Mode::ModelOnly, u64::MAX);
    let plan = Plan { first: 2_000_074, seeds: 1, clocks, each: 20_000, lossy: true, mode };
    let report = soak(&plan, &RtlChoice::default(), |_| ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{}", report.table());
}

/// Each promise of the watch is seen to be broken.
#[test]
fn the_watch_sees_what_is_wrong() {
    let settings = settings(&scenario("limit = \"50us\"\nbuild = \"small\"", &message("9KB", "")));
    let world = world_at(&settings, 1_000);
    let seen = |spoil: &dyn Fn(&mut World)| {
        let mut world = world.clone();
        spoil(&mut world);
        let mut watch = Watch::new(Recorder::new(&world, None).expect("writes no file"));
        (0..2).for_each(|_| watch.look(&world));
        watch.broken.map(|b| b.1)
    };
    assert_eq!(seen(&|_| ()), None);
    let told = |spoil: &dyn Fn(&mut World), what: &str| {
        let broken = seen(spoil).unwrap_or_default();
        assert!(broken.contains(what), "`{broken}` is not `{what}`");
    };
    told(&|w| w.driver.corrupted.push(3), "messages [3]");
    told(&|w| w.driver.stray_entries = 1, "a completion too many");
    told(&|w| w.nodes[0].host.counts.stray_writes = 1, "a: a write outside");
    told(&|w| w.nodes[1].host.counts.stray_reads = 1, "b: a read outside");
}

/// CPL-1: a host reads these entries of its only message, kind and number: how many were not due.
fn not_due(entries: &[(Cqe, u16)]) -> u64 {
    let settings = settings(&scenario("limit = \"50us\"\nbuild = \"small\"", &message("9KB", "")));
    let (mut driver, mut out) = (Driver::new(&settings), Vec::new());
    driver.step(0, 0, &mut out);
    let (senders, receivers) = (Qpn(0x100), Qpn(0x200));
    driver.learn(0, senders, receivers);
    for &(kind, msn) in entries {
        let (nic, qpn, cookie) =
            if kind == Cqe::Recv { (1, receivers, 0) } else { (0, senders, 1) };
        let (phase, code, length, dest) = (true, Refuse::default(), 9_000, 1);
        let entry = CqeEntry { kind, phase, code, msn, qpn, length, dest, cookie };
        driver.completion(10, nic, &entry, 0, &mut out);
    }
    driver.stray_entries
}

/// CPL-1: of each message exactly one `SEND_COMPLETE`, `WQE_COMPLETE` and `RECV_COMPLETE` is due.
#[test]
fn cpl_1_each_completion_is_due_once() {
    use Cqe::{Recv, Send, Wqe};
    assert_eq!(not_due(&[(Send, 0), (Recv, 0), (Wqe, 0)]), 0);
    assert_eq!(not_due(&[(Send, 0), (Wqe, 0), (Recv, 0)]), 0);
    assert_eq!(not_due(&[(Send, 0), (Send, 0), (Recv, 0), (Wqe, 0)]), 1);
    assert_eq!(not_due(&[(Send, 0), (Wqe, 0), (Wqe, 0), (Recv, 0)]), 1);
    assert_eq!(not_due(&[(Send, 0), (Recv, 0), (Recv, 1), (Wqe, 0)]), 1);
    assert_eq!(not_due(&[(Send, 0), (Recv, 1), (Wqe, 0)]), 1);
    assert_eq!(not_due(&[(Send, 0), (Recv, 0), (Wqe, 1)]), 1);
}

/// QP-5, CPL-1: answers to duplicates come while `completion` waits for a slow link and QPs close
/// and open in the same slots. No frame goes on to the next QP there: none is complete before its
/// packet is made.
#[test]
fn qp_5_no_frame_goes_on_to_the_next_qp() {
    const SLOW: &str = "build = \"small\"\n[defaults.HostPCIe]\nLatency = \"500ns\"\n\
        [defaults.PCIe]\nLaneCount = 1\nTransferOverhead = \"255B\"\n\
        ReadRequestSize = \"1023B\"\nTXHeaderBufferSize = \"47B\"\n";
    const SWITCH: &str = "[[switch]]\naction = \"duplicate\"\nkind = \"data\"\nby = \"0ns\"\n\
        most = \"400ns\"\nprobability = 0.3\n\
        [[switch]]\naction = \"drop\"\nkind = \"data\"\nprobability = 0.1\n";
    let short = message("0B", "most = \"1B\"\ncount = 100000\noutstanding = 16");
    let long = "[[message]]\nfrom = \"b\"\nto = \"a\"\nbytes = \"0B\"\nmost = \"4095B\"\n\
        count = 100000\noutstanding = 4\n";
    for seed in 1..=5 {
        let head = format!("seed = {seed}\nlimit = \"40us\"\n{SLOW}");
        let s = settings(&scenario(&head, &format!("{short}{long}{SWITCH}")));
        let recorder = Recorder::new(&World::new(&s), None).expect("writes no file");
        let mut watch = Watch::new(recorder);
        let run = run(&s, Mode::Lockstep, &RtlChoice::default(), &mut watch);
        let run = run.unwrap_or_else(|e| panic!("{e}"));
        assert!(matches!(run.outcome, Outcome::Limit(_)), "{:?}", run.outcome);
        assert_eq!(watch.broken, None, "seed {seed}");
    }
}
