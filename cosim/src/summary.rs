//! The table at the end of a run.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::record::reason;
use crate::run::{MessageResult, Mode, Run, RunResult};

/// Messages that the table lists one by one, and as many more that never complete.
const LISTED: usize = 16;

/// What a reader wants to see at once.
#[allow(clippy::cast_precision_loss)] // a speed to three digits
pub fn summary(result: &RunResult, run: &Run) -> String {
    let mut out = String::new();
    let seconds = run.wall.as_secs_f64().max(1e-9);
    let khz = (result.clocks * result.nics.len() as u64) as f64 / seconds / 1e3;
    row(&mut out, "clocks", &format!("{} ({} NICs)", result.clocks, result.nics.len()));
    row(
        &mut out,
        "simulated",
        &format!("{} ns, {} of them boot", result.simulated_ns, result.boot),
    );
    row(&mut out, "speed", &format!("{khz:.0} kHz (NIC clocks a second)"));
    let c = &result.compared;
    let compared = match result.mode {
        Mode::ModelOnly => "nothing: the model alone".to_owned(),
        _ => format!(
            "{} registers, {} output ports, {} bits a clock; {} memories at the end",
            c.registers, c.outputs, c.bits, c.memories
        ),
    };
    row(&mut out, "compared", &compared);
    messages(&mut out, result);
    for (name, counts) in &result.nics {
        row(&mut out, &format!("NIC {name} sent"), &list(&counts.sent));
        let bytes = format!("{} sent, {} arrived", counts.bytes_sent, counts.bytes_arrived);
        row(&mut out, "  bytes", &bytes);
        let lists = [
            ("  dropped", &counts.dropped),
            ("  refused", &counts.refused),
            ("  QPs in error", &counts.qp_errors),
            ("  switch", &counts.switch),
        ];
        for (title, map) in lists.into_iter().filter(|l| !l.1.is_empty()) {
            row(&mut out, title, &list(map));
        }
        if !counts.bad_tlps.is_empty() {
            let bad = counts.bad_tlps.iter().map(|(code, n)| format!("{} {n}", reason(*code)));
            row(&mut out, "  bad TLPs", &bad.collect::<Vec<_>>().join(", "));
        }
    }
    short(&mut out, result);
    row(&mut out, "seed", &result.seed.to_string());
    row(&mut out, "digest", &result.digest);
    row(&mut out, "outcome", result.outcome);
    out
}

/// Tables of the scenario that did nothing, or less than they were asked for.
fn short(out: &mut String, result: &RunResult) {
    let mut tell = |title: &str, what: &str, acted: u64, asked: Option<u64>| match asked {
        Some(asked) if acted < asked => {
            row(out, title, &format!("{what}: done {acted} of {asked}"));
        }
        None if acted == 0 => row(out, title, &format!("{what}: never done")),
        _ => {}
    };
    for rule in &result.switch {
        tell(&format!("switch {}", rule.table), rule.action, rule.acted, rule.asked);
    }
    for (fault, place) in result.faults.iter().zip(1..) {
        let what = format!("{} to {}", fault.kind.name(), fault.nic);
        tell(&format!("fault {place}"), &what, fault.acted, Some(fault.asked));
    }
}

fn messages(out: &mut String, result: &RunResult) {
    let bytes: u64 = result.messages.iter().map(|m| u64::from(m.bytes)).sum();
    let mut whole = format!("{}, {bytes} B; {} whole", result.messages.len(), result.intact);
    let lost =
        |what: fn(&MessageResult) -> bool| result.messages.iter().filter(|m| what(m)).count();
    for (what, count) in [
        ("in a QP in error", lost(|m| m.failed.is_some())),
        ("refused", lost(|m| m.refused.is_some())),
    ] {
        if count > 0 {
            let _ = write!(whole, ", {count} {what}");
        }
    }
    row(out, "messages", &whole);
    let time = |at: Option<u64>| at.map_or("-".to_owned(), |t| t.to_string());
    // Behind the first ones those that never complete.
    let (first, others) = result.messages.split_at(result.messages.len().min(LISTED));
    let others: Vec<_> = others.iter().filter(|m| m.why.is_some()).take(LISTED).collect();
    for m in first.iter().chain(others.iter().copied()) {
        let why = match (&m.why, m.failed) {
            (Some(why), Some(at)) => format!("  failed {at:>7} ns: {why}"),
            (Some(why), None) => format!("  refused: {why}"),
            (None, _) => String::new(),
        };
        let _ = writeln!(
            out,
            "  {} -> {}  {:>8} B  posted {:>7}  SEND {:>7}  WQE {:>7}  RECV {:>7} ns{why}",
            m.from,
            m.to,
            m.bytes,
            time(m.posted),
            time(m.send_complete),
            time(m.wqe_complete),
            time(m.recv_complete)
        );
    }
    let more = result.messages.len() - first.len() - others.len();
    if more > 0 {
        let _ = writeln!(out, "  ... and {more} more");
    }
}

fn list<K: std::fmt::Display>(map: &BTreeMap<K, u64>) -> String {
    map.iter().map(|(k, n)| format!("{k} {n}")).collect::<Vec<_>>().join(", ")
}

fn row(out: &mut String, title: &str, value: &str) {
    let _ = writeln!(out, "{title:<14} {value}");
}
