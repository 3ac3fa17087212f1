//! After a mismatch: runs the window around it again, prints what led there, writes the waves.

use std::fmt::Write as _;
use std::path::Path;

use fst_writer::FstWriteError;
use rtl_model::image::Image;
use thiserror::Error;
use verilated::Built;

use crate::check::{CheckError, NicMismatch, NicRtl};
use crate::event::Nowhere;
use crate::report::{CLOCKS_SHOWN, History};
use crate::run::world_at;
use crate::settings::Settings;
use crate::waves::Waves;

/// Clocks before the mismatch that the waves show.
pub const BEFORE: u64 = 64;
/// Clocks after it, in which the twins go their own ways.
pub const AFTER: u64 = 8;

/// Failed to look at a mismatch.
#[derive(Debug, Error)]
pub enum DiagnoseError {
    /// The RTL cannot be had.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The waves cannot be written.
    #[error("failed to write waves: {0}")]
    Waves(#[from] FstWriteError),
}

/// Prints the ports of the block in the clocks before the mismatch, and writes the waves.
///
/// The model runs from the start to the window without its RTL; fresh RTL is loaded with the
/// model's state there, and both take the window's clocks.
///
/// # Errors
/// When the RTL does not load or the file cannot be written.
pub fn diagnose(
    settings: &Settings,
    built: &Built,
    mismatch: &NicMismatch,
    waves: Option<&Path>,
) -> Result<String, DiagnoseError> {
    let from = mismatch.clock.saturating_sub(BEFORE);
    let mut world = world_at(settings, from);
    let mut rtl = NicRtl::loaded(built, &world.nodes[mismatch.nic].nic)?;
    let layout = built.layout();
    let name = &settings.nics[mismatch.nic].name;
    let mut file = waves.map(|path| Waves::new(path, name, layout)).transpose()?;
    let instance = layout.instances.iter().find(|i| i.path.ends_with(&mismatch.block));
    let mut history = instance.map(|i| History::new(&i.inputs, &i.outputs));
    let mut seen = false;
    for clock in from..=mismatch.clock + AFTER {
        world.settle(&mut Nowhere);
        let node = &world.nodes[mismatch.nic];
        rtl.look(node).map_err(CheckError::from)?;
        if let (Some(history), Some(i)) = (&mut history, instance)
            && clock <= mismatch.clock
        {
            let mut inputs = node.nic.inputs_of(&mismatch.block);
            if inputs.is_empty() {
                inputs = node.inputs.to_words(); // the NIC's own
            }
            history.push(clock, &inputs, &rtl.expected[i.offset..i.regs_offset()]);
        }
        let shown = rtl.rtl.read();
        seen |= clock == mismatch.clock && shown != rtl.expected;
        if let Some(file) = &mut file {
            file.clock(clock, &rtl.expected, &shown)?;
        }
        rtl.edge(node).map_err(CheckError::from)?;
        world.edge();
    }
    file.map_or(Ok(()), Waves::finish)?;
    let mut text = String::new();
    if let Some(history) = history {
        let _ = writeln!(text, "Ports of {} in the last {CLOCKS_SHOWN} clocks:", mismatch.block);
        let _ = writeln!(text, "{history}");
    }
    if !seen {
        text.push_str("The window, begun from the model's state, does not show the difference: ");
        text.push_str("it hangs on state from before the window.\n");
    }
    Ok(text)
}

/// What a mismatch is, in the first lines of a report.
pub fn headline(settings: &Settings, m: &NicMismatch) -> String {
    let nic = &settings.nics[m.nic].name;
    let mut text = format!("{} {} of {} differs at NIC {nic}\n", m.kind, m.field, m.block);
    let _ = writeln!(text, "  model {}", m.model);
    let _ = writeln!(text, "  rtl   {}", m.rtl);
    let _ = writeln!(text, "  at clock {}, {} ns", m.clock, m.clock);
    text
}
