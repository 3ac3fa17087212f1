//! The requester and the responder wired together, in lockstep with their RTL, and held against the
//! sequential reference: MSN-1 to MSN-7, and S002's case of eleven steps (MSN-6).

use std::collections::VecDeque;

use cosim::check::RtlChoice;
use cosim::rc::event::Event;
use cosim::rc::run::{Outcome, Run, run_with};
use cosim::rc::scenario::{Kind, Settings, WorkSettings, read};
use cosim::rc::soak::draw;
use cosim::rc::world::World;
use cosim::run::Mode;
use rtl_model::rc_pkg::{Loss, Op, Response, RspKind, Status};
use rtl_model::sizes::Sizes;
use rtl_model::types::Psn;
use testbenches::Table;
use verilated::project_root;

use crate::rc_reference::{Answer, Owed, Requester, Responder};

/// Clocks of a whole `nicstep soak rc`.
const SOAK_CLOCKS: u64 = 10_000_000;

type Log = Vec<(u64, Event)>;

/// A run in lockstep whose twins agree, with its events.
fn lockstep(settings: &Settings, look: impl FnMut(&World)) -> (Run, Log) {
    let mut log = Log::new();
    let choice = RtlChoice::default();
    let run = run_with(settings, Mode::Lockstep, &choice, &mut log, look)
        .unwrap_or_else(|e| panic!("builds: failed to {e}"));
    match &run.outcome {
        Outcome::Finished | Outcome::Failed => (run, log),
        Outcome::Mismatch(m) => {
            panic!(
                "{} {} of {} differs at clock {}: model {} rtl {}",
                m.kind, m.field, m.block, m.clock, m.model, m.rtl
            )
        }
        other => panic!("{other:?}"),
    }
}

/// Replays a run's log on the reference: every answer, every retirement, in order.
fn check(settings: &Settings, log: &Log) {
    let mtu = 1 << settings.mtu;
    let (psn, msn) = (u64::from(settings.psn), u64::from(settings.msn));
    let mut responder = Responder {
        expected: psn,
        msn,
        early: settings.early,
        mtu,
        kept: VecDeque::new(),
        room: settings.records as usize,
        refused: false,
        delivered: 0,
        payloads: 0,
        executed: 0,
    };
    let mut requester = Requester::new(psn, msn, mtu);
    let (mut owed, mut retiring) = (Owed::default(), VecDeque::new());
    let (mut delivered, mut executed, mut failed) = (0, 0, false);
    for (clock, event) in log {
        match event {
            Event::Posted(_, wqe) => requester.post(wqe.op, u64::from(wqe.len)),
            Event::Arrived(req) => owed.add(responder.request(req)),
            Event::Answered(rsp, _) if refused(rsp) => owed.refused(u64::from(rsp.psn.0)),
            Event::Answered(rsp, _) => owed.left(&Answer::of(rsp)),
            Event::Delivered(_) => delivered += 1,
            Event::Executed(_) => executed += 1,
            Event::Failed(_) => failed = true,
            Event::Took(rsp) if !failed => retiring.extend(requester.answer(&Answer::of(rsp))),
            Event::Retired(cqe) if cqe.status == Status::Success => {
                let next = retiring.pop_front();
                assert_eq!(next, Some(u64::from(cqe.ssn.0)), "retires at clock {clock}");
            }
            _ => {}
        }
    }
    owed.settle();
    assert_eq!(delivered, responder.payloads, "payloads");
    assert_eq!(executed, responder.executed, "atomic operations");
    assert!(failed || retiring.is_empty(), "{retiring:?} never retired");
    assert!(failed || requester.left().is_empty(), "{:?} are left", requester.left());
}

/// Not an acknowledgement, and not of a gap: the network has made a refusal of it.
fn refused(rsp: &Response) -> bool {
    rsp.refuses() && !Answer::of(rsp).nak
}

/// S002's case.
fn case() -> Settings {
    let path = project_root().join("fixtures/scenarios/rc_eleven_steps.toml");
    read(&path).unwrap_or_else(|e| panic!("{e}"))
}

fn psns(log: &Log, pick: impl Fn(&Event) -> Option<Psn>) -> Vec<u32> {
    log.iter().filter_map(|(_, e)| pick(e)).map(|p| p.0).collect()
}

/// MSN-6: the case is played whole, and every state that S002 names stands at its step.
#[test]
fn msn_6_eleven_steps_are_played_whole() {
    let settings = case();
    let mut rows: VecDeque<_> = Table::read("rc_replay/eleven_steps.txt").into_iter().collect();
    let (_, log) = lockstep(&settings, |world| {
        let Some(row) = rows.front() else { return };
        if world.clock < row.dec("clock") {
            return;
        }
        let (list, store) = (&world.requester.retire, &world.requester.replay);
        let respond = &world.responder.respond;
        row.expect("posted", world.hosts.posted);
        row.expect("next_psn", store.next_psn.0);
        row.expect("entries", store.used);
        row.expect("sent", store.sent);
        row.expect("acked", store.acked.0);
        row.expect("retries", store.retries);
        row.expect("ssn", list.ssn.0);
        row.expect("newest_msn", list.msn.0);
        row.expect("expected", respond.expected.0);
        row.expect("msn", respond.msn.0);
        rows.pop_front();
    });
    assert!(rows.is_empty(), "the run ended before line {}", rows[0].line());
    check(&settings, &log);
    let sent = psns(&log, |e| if let Event::Sent(r, _) = e { Some(r.psn) } else { None });
    assert_eq!(sent, [100, 101, 102, 104, 102, 104], "go-back-N from 102");
    let lost: Vec<_> = log
        .iter()
        .filter_map(|(_, e)| match e {
            Event::Answered(rsp, true) => Some((rsp.psn.0, rsp.kind)),
            _ => None,
        })
        .collect();
    assert_eq!(lost, [(102, RspKind::ReadFirst), (103, RspKind::ReadLast)]);
    let retired: Vec<_> = log
        .iter()
        .filter_map(|(clock, e)| match e {
            Event::Retired(cqe) => Some((*clock, cqe.ssn.0)),
            _ => None,
        })
        .collect();
    let ssns: Vec<_> = retired.iter().map(|r| r.1).collect();
    assert_eq!(ssns, [1, 2, 3, 4]);
    assert_eq!(retired[3].0, retired[2].0 + 1, "two entries in one burst");
    let losses = log.iter().filter(|(_, e)| *e == Event::Lost(Loss::Implied)).count();
    assert_eq!(losses, 1, "one retry is spent");
    let delivered = log.iter().filter(|(_, e)| *e == Event::Delivered(true)).count();
    assert_eq!(delivered, 3, "each SEND is delivered once");
    let twice: Vec<_> = log
        .iter()
        .filter_map(|(_, e)| if let Event::Duplicate(op) = e { Some(*op) } else { None })
        .collect();
    assert_eq!(twice, [Op::Read, Op::Send], "what goes again is met as duplicates");
    let entries: Vec<_> = log
        .iter()
        .filter_map(|(_, e)| match e {
            Event::Completed(cqe) => Some((cqe.ssn.0, cqe.status)),
            _ => None,
        })
        .collect();
    assert_eq!(entries, [(3, Status::Success), (4, Status::Success)], "those that are signalled");
}

/// MSN-1, MSN-2, MSN-3, MSN-4, MSN-7: the case with every single packet of either way lost in turn,
/// those of the second transmission too; READ and ATOMIC; first, in the middle, last; early and
/// late count; PSN and MSN at their wraps.
#[test]
fn msn_4_every_single_packet_of_the_case_is_lost_in_turn() {
    for variant in variants() {
        let mut settings = vary(case(), variant);
        let own = settings.drops.clone();
        let mut lost = [0, 0];
        for (way, lost) in lost.iter_mut().enumerate() {
            for n in 1.. {
                settings.drops.clone_from(&own);
                settings.drops[way].push(n);
                let (run, log) = lockstep(&settings, |_| ());
                assert_eq!(run.world.hosts.succeeded, 4, "{variant:?}: {:?}", settings.drops);
                check(&settings, &log);
                if packets(&log, way).len() < n as usize {
                    break;
                }
                assert!(packets(&log, way)[n as usize - 1], "{variant:?}: {n} is not lost");
                *lost += 1;
            }
        }
        assert!(lost[0] >= 4 && lost[1] >= 4, "{variant:?}: {lost:?} packets to lose");
    }
}

/// Whether each packet of a way was lost, in their order.
fn packets(log: &Log, way: usize) -> Vec<bool> {
    log.iter()
        .filter_map(|(_, e)| match (e, way) {
            (Event::Sent(_, lost), 0) | (Event::Answered(_, lost), 1) => Some(*lost),
            _ => None,
        })
        .collect()
}

/// The case with its READ in another place, or an ATOMIC for it.
fn vary(mut case: Settings, (place, kind, early, start): Variant) -> Settings {
    (case.early, case.timeout) = (early, 2_000);
    (case.psn, case.msn) = start;
    let (sends, read) = (case.work[0].clone(), case.work[1].clone());
    let bytes = if kind == Kind::Read { read.bytes } else { (8, 8) };
    let part = |count| WorkSettings { count, ..sends.clone() };
    case.work = vec![part(place), WorkSettings { kind, bytes, ..read }, part(3 - place)];
    case
}

/// Place of the READ or ATOMIC, what it is, early count, first PSN and MSN.
type Variant = (u64, Kind, bool, (u32, u32));

fn variants() -> Vec<Variant> {
    let mut out = Vec::new();
    for place in [0, 1, 2, 3] {
        for kind in [Kind::Read, Kind::Atomic] {
            for early in [true, false] {
                for start in [(100, 0), (0xff_fffe, 0xff_fffe), (0xff_fffd, 0xff_ffff)] {
                    out.push((place, kind, early, start));
                }
            }
        }
    }
    out
}

/// MSN-4: each transmission of a READ whose response is lost spends one retry, and no more.
#[test]
fn msn_4_one_retry_is_spent_for_each_transmission() {
    for lost in 0..=8 {
        let mut settings = case();
        // Answers: two of the READ and one of the SEND behind it, for each transmission.
        settings.drops[1] = (0..lost).flat_map(|n| [3 * n + 1, 3 * n + 2]).collect();
        let (run, log) = lockstep(&settings, |_| ());
        let losses = log.iter().filter(|(_, e)| *e == Event::Lost(Loss::Implied)).count();
        assert_eq!(losses as u64, lost, "losses of {lost} transmissions");
        // Seven retries: the eighth loss is one too many.
        assert_eq!(run.world.failed(), lost > 7, "{lost} transmissions lost");
        if lost > 7 {
            let ends: Vec<_> = log
                .iter()
                .filter_map(|(_, e)| match e {
                    Event::Completed(cqe) => Some((cqe.ssn.0, cqe.status)),
                    _ => None,
                })
                .collect();
            assert_eq!(ends, [(3, Status::Retries), (4, Status::Flushed)]);
        }
        check(&settings, &log);
    }
}

/// MSN-5: the signal flag decides whether an entry is written, and nothing else.
#[test]
fn msn_5_the_signal_flag_decides_on_an_entry() {
    for signal in [false, true] {
        let mut settings = case();
        settings.drops = [Vec::new(), Vec::new()];
        for work in &mut settings.work {
            work.signal = Some(signal);
        }
        let (run, log) = lockstep(&settings, |_| ());
        let retired = log.iter().filter(|(_, e)| matches!(e, Event::Retired(_))).count();
        assert_eq!((retired, run.world.hosts.entries), (4, if signal { 4 } else { 0 }));
    }
}

/// MSN-3: one acknowledgement retires many.
#[test]
fn msn_3_one_msn_retires_three_sends() {
    let mut settings = Settings::plain(Sizes::SMALL);
    settings.work = vec![WorkSettings {
        kind: Kind::Send,
        bytes: (100, 100),
        count: 3,
        signal: Some(true),
        at: 0,
    }];
    let (_, log) = lockstep(&settings, |_| ());
    let answers = log.iter().filter(|(_, e)| matches!(e, Event::Took(_))).count();
    let retired: Vec<_> =
        log.iter().filter(|(_, e)| matches!(e, Event::Retired(_))).map(|(c, _)| *c).collect();
    assert_eq!(answers, 1, "one acknowledgement");
    // At most one a clock.
    assert_eq!(retired, [retired[0], retired[0] + 1, retired[0] + 2]);
    check(&settings, &log);
}

/// MSN-7: nothing that is lost or comes twice is delivered or done twice, whatever is drawn.
#[test]
fn msn_7_random_runs_agree_with_the_reference() {
    for seed in 1..=24 {
        let mut settings = draw(seed);
        settings.work.truncate(3);
        let (_, log) = lockstep(&settings, |_| ());
        check(&settings, &log);
    }
}

/// MSN-3, MSN-7: the reference agrees with every completion of the runs that `nicstep soak rc`
/// draws; the soak holds the RTL against the model in the same runs.
#[test]
fn msn_3_msn_7_all_runs_of_the_soak_agree_with_the_reference() {
    let (mut seed, mut clocks) = (1, 0);
    while clocks < SOAK_CLOCKS {
        let settings = draw(seed);
        let mut log = Log::new();
        let run = run_with(&settings, Mode::ModelOnly, &RtlChoice::default(), &mut log, |_| ());
        let run = run.unwrap_or_else(|e| panic!("failed to {e}"));
        assert!(matches!(run.outcome, Outcome::Finished | Outcome::Failed), "seed {seed}");
        check(&settings, &log);
        (seed, clocks) = (seed + 1, clocks + run.world.clock);
    }
}

/// After a failure all that is left is flushed, in order, and what is posted later too.
#[test]
fn a_failure_flushes_in_order() {
    for refuse in [None, Some(2)] {
        let mut settings = Settings::plain(Sizes::SMALL);
        settings.timeout = 500;
        settings.refuse = refuse;
        settings.loss = if refuse.is_some() { [0, 0] } else { [100, 0] };
        settings.work = vec![WorkSettings {
            kind: Kind::Mixed,
            bytes: (0, 9000),
            count: 30,
            signal: Some(false),
            at: 0,
        }];
        let (run, log) = lockstep(&settings, |_| ());
        assert!(run.world.failed());
        let ends: Vec<_> = log
            .iter()
            .filter_map(|(_, e)| match e {
                Event::Retired(cqe) if cqe.status != Status::Success => Some(cqe.status),
                _ => None,
            })
            .collect();
        let first = if refuse.is_some() { Status::Remote } else { Status::Retries };
        assert_eq!(ends[0], first);
        assert!(ends[1..].iter().all(|s| *s == Status::Flushed));
        assert_eq!(run.world.hosts.succeeded + ends.len() as u64, 30);
        assert_eq!(ends.len() as u64, run.world.hosts.entries, "all that fails has an entry");
    }
}
