//! The table at the end of a run of a reliable connection.

use std::fmt::Write as _;

use super::run::{Run, RunResult};
use super::scenario::Settings;
use super::twin::UnitMismatch;
use crate::run::Mode;

/// Completions that the table lists one by one.
const LISTED: usize = 16;

/// What a reader wants to see at once.
#[allow(clippy::cast_precision_loss)] // a speed to three digits
pub fn summary(result: &RunResult, run: &Run) -> String {
    let mut out = String::new();
    let khz = result.clocks as f64 / run.wall.as_secs_f64().max(1e-9) / 1e3;
    row(&mut out, "clocks", &format!("{} (requester and responder)", result.clocks));
    row(&mut out, "speed", &format!("{khz:.0} kHz"));
    let [registers, outputs, bits, memories] = result.compared;
    let compared = match result.mode {
        Mode::ModelOnly => "nothing: the model alone".to_owned(),
        _ => format!(
            "{registers} registers, {outputs} output ports, {bits} bits a clock; {memories} \
             memories at the end"
        ),
    };
    row(&mut out, "compared", &compared);
    let RunResult { posted, succeeded, failed, flushed, most, .. } = result;
    let work = format!(
        "{posted} posted, {succeeded} retired, {failed} failed, {flushed} flushed; {most} at once \
         at most"
    );
    row(&mut out, "work requests", &work);
    for c in result.completions.iter().take(LISTED) {
        let _ =
            writeln!(out, "  SSN {:>8}  {:<6}  {:<7}  at {:>7} ns", c.ssn, c.op, c.status, c.clock);
    }
    if result.completions.len() > LISTED {
        let _ = writeln!(out, "  ... and {} more", result.completions.len() - LISTED);
    }
    for (what, n) in run.world.counts.rows().filter(|(_, n)| *n > 0) {
        let _ = writeln!(out, "  {what:<36} {n:>9}");
    }
    for (key, n, left) in run.world.never() {
        row(&mut out, "never met", &format!("{key}: {n}, {left} have left"));
    }
    row(&mut out, "seed", &result.seed.to_string());
    row(&mut out, "digest", &result.digest);
    row(&mut out, "outcome", result.outcome);
    out
}

/// What a difference is, in the first lines of a report.
pub fn headline(settings: &Settings, m: &UnitMismatch) -> String {
    let UnitMismatch { clock, unit, block, kind, field, model, rtl } = m;
    let seed = settings.seed;
    format!(
        "{kind} {field} of {block} in {unit} differs at clock {clock}, {clock} ns\n  model \
         {model}\n  rtl   {rtl}\n  seed  {seed}\n"
    )
}

fn row(out: &mut String, title: &str, value: &str) {
    let _ = writeln!(out, "{title:<14} {value}");
}
