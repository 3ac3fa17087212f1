//! After a mismatch or a failed assertion: runs the window around it again, prints what led there,
//! writes the waves.

use std::fmt::Write as _;
use std::path::Path;

use fst_writer::FstWriteError;
use rtl_model::image::Image;
use thiserror::Error;
use verilated::{Built, Instance, Layout, RtlError};

use crate::check::{CheckError, NicMismatch, NicRtl};
use crate::event::Nowhere;
use crate::report::{CLOCKS_SHOWN, History};
use crate::run::world_at;
use crate::settings::Settings;
use crate::waves::Waves;

/// Clocks before it that the waves show.
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

/// Where to look.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The NIC.
    pub nic: usize,
    /// The clock.
    pub clock: u64,
    /// The block's instance, where it is known.
    pub block: Option<String>,
    /// Whether the twins differ there.
    pub differs: bool,
}

impl Spot {
    /// That of a mismatch.
    pub fn of(m: &NicMismatch) -> Self {
        Self { nic: m.nic, clock: m.clock, block: Some(m.block.clone()), differs: true }
    }

    /// That of a failed assertion.
    pub fn failed(nic: usize, error: &RtlError, layout: &Layout) -> Self {
        let clock = if let RtlError::Assertion { clock, .. } = error { *clock } else { 0 };
        Self { nic, clock, block: error.instance(layout).map(Into::into), differs: false }
    }
}

/// Prints the ports of the block in the clocks before the spot, and writes the waves.
///
/// The model runs from the start to the window without its RTL; fresh RTL is loaded with the
/// model's state there, and both take the window's clocks. Assertions are silent.
///
/// # Errors
/// When the RTL does not load or the file cannot be written.
pub fn diagnose(
    settings: &Settings,
    built: &Built,
    spot: &Spot,
    waves: Option<&Path>,
) -> Result<String, DiagnoseError> {
    let from = spot.clock.saturating_sub(BEFORE);
    let mut world = world_at(settings, from);
    let mut rtl = NicRtl::loaded(built, &world.nodes[spot.nic].nic)?;
    rtl.rtl.silence();
    let layout = built.layout();
    let name = &settings.nics[spot.nic].name;
    let mut file = waves.map(|path| Waves::new(path, name, layout)).transpose()?;
    let block = spot.block.as_deref().unwrap_or_default();
    let named = |i: &&Instance| spot.block.is_some() && i.path.ends_with(block);
    let instance = layout.instances.iter().find(named);
    let mut history = instance.map(|i| History::new(&i.inputs, &i.outputs));
    let mut seen = false;
    for clock in from..=spot.clock + AFTER {
        world.settle(&mut Nowhere);
        let node = &world.nodes[spot.nic];
        rtl.look(node).map_err(CheckError::from)?;
        if let (Some(history), Some(i)) = (&mut history, instance)
            && clock <= spot.clock
        {
            let mut inputs = node.nic.inputs_of(block);
            if inputs.is_empty() {
                inputs = node.inputs.to_words(); // the NIC's own
            }
            history.push(clock, &inputs, &rtl.expected[i.offset..i.regs_offset()]);
        }
        let shown = rtl.rtl.read();
        seen |= clock == spot.clock && shown != rtl.expected;
        if let Some(file) = &mut file {
            file.clock(clock, &rtl.expected, &shown)?;
        }
        rtl.edge(node).map_err(CheckError::from)?;
        world.edge();
    }
    file.map_or(Ok(()), Waves::finish)?;
    let mut text = String::new();
    if let Some(history) = history {
        let _ = writeln!(text, "Ports of {block} in the last {CLOCKS_SHOWN} clocks:");
        let _ = writeln!(text, "{history}");
    }
    if spot.differs && !seen {
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
