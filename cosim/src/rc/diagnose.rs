//! After a mismatch or a failed assertion: runs the window around it again, prints what led there,
//! writes the waves.

use std::fmt::Write as _;
use std::path::Path;

use rtl_model::image::Image;
use rtl_model::rc_requester::Requester;
use rtl_model::rc_responder::Responder;
use rtl_model::unit::Unit;
use verilated::{Built, Compare, Layout, RtlError};

use super::run::start;
use super::scenario::Settings;
use super::twin::{MEMORY, Twin, UnitMismatch, build_unit};
use super::world::{World, responder_sizes};
use crate::check::{CheckError, RtlChoice};
use crate::diagnose::{AFTER, BEFORE, DiagnoseError};
use crate::report::{CLOCKS_SHOWN, History};
use crate::run::Mode;
use crate::waves::Waves;

/// Where to look.
#[derive(Clone, Copy, Debug)]
pub enum Spot<'a> {
    /// Where the twins differ.
    Differs(&'a UnitMismatch),
    /// Where an assertion of this unit failed.
    Failed(&'static str, &'a RtlError),
}

impl Spot<'_> {
    fn unit(&self) -> &'static str {
        match self {
            Self::Differs(m) => m.unit,
            Self::Failed(unit, _) => unit,
        }
    }

    fn clock(&self) -> u64 {
        match self {
            Self::Differs(m) => m.clock,
            Self::Failed(_, RtlError::Assertion { clock, .. }) => *clock,
            Self::Failed(..) => 0,
        }
    }

    /// The block's instance; nothing where it is not known.
    fn block(&self, layout: &Layout) -> String {
        match self {
            Self::Differs(m) => m.block.clone(),
            Self::Failed(_, error) => error.instance(layout).unwrap_or_default().to_owned(),
        }
    }

    /// Whether the ports or registers differ at its clock.
    fn differs(&self) -> bool {
        matches!(self, Self::Differs(m) if m.kind != MEMORY)
    }
}

/// Prints the ports of the block in the clocks before the spot, and writes the waves.
///
/// The model runs from the start to the window without its RTL; fresh RTL is loaded with the
/// model's state there, and both take the window's clocks. Assertions are silent. RTL of which the ports alone are
/// compared has no state that could be loaded: it runs from the start.
///
/// # Errors
/// When the RTL cannot be had or the file cannot be written.
pub fn diagnose(
    settings: &Settings,
    mode: Mode,
    choice: &RtlChoice,
    spot: &Spot,
    waves: Option<&Path>,
) -> Result<String, DiagnoseError> {
    let inside = mode != Mode::RtlOnly;
    let compare = if inside { Compare::All } else { Compare::Top };
    if spot.unit() == Requester::TOP {
        let built = build_unit::<Requester>(choice, &settings.sizes, compare)?;
        let end = |w: &World| Twin::new(&built, &w.requester, start(settings, 0));
        let twin = if inside { None } else { Some(end(&World::new(settings))?) };
        window(settings, &built, twin, spot, waves, |w| (&w.requester, &w.requester_inputs))
    } else {
        let built = build_unit::<Responder>(choice, &responder_sizes(settings), compare)?;
        let end = |w: &World| Twin::new(&built, &w.responder, start(settings, 1));
        let twin = if inside { None } else { Some(end(&World::new(settings))?) };
        window(settings, &built, twin, spot, waves, |w| (&w.responder, &w.responder_inputs))
    }
}

/// `fresh` is RTL after its reset, where none can be loaded.
fn window<U: Unit>(
    settings: &Settings,
    built: &Built,
    fresh: Option<Twin>,
    spot: &Spot,
    waves: Option<&Path>,
    end: impl Fn(&World) -> (&U, &U::Inputs),
) -> Result<String, DiagnoseError> {
    let from = spot.clock().saturating_sub(BEFORE);
    let begin = if fresh.is_some() { 0 } else { from };
    let mut world = world_at(settings, begin);
    let mut twin = fresh.map_or_else(|| Twin::loaded(built, end(&world).0), Ok)?;
    twin.silence();
    let layout = built.layout();
    let mut file = waves.map(|path| Waves::new(path, U::TOP, layout)).transpose()?;
    let mut shown = Shown::of(&world, layout, &spot.block(layout));
    let mut seen = false;
    for clock in begin..=spot.clock() + AFTER {
        world.settle(&mut ());
        let (unit, inputs) = end(&world);
        let (model, rtl) = twin.look(unit, inputs).map_err(CheckError::from)?;
        if clock <= spot.clock() {
            shown.push(clock, &world, &inputs.to_words(), model);
        }
        seen |= clock == spot.clock() && rtl != model;
        if let Some(file) = file.as_mut().filter(|_| clock >= from) {
            file.clock(clock, model, &rtl)?;
        }
        twin.edge().map_err(CheckError::from)?;
        world.edge();
    }
    file.map_or(Ok(()), Waves::finish)?;
    let name = shown.name.as_deref().unwrap_or(U::TOP);
    let mut text = format!("Ports of {name} in the last {CLOCKS_SHOWN} clocks:\n");
    let _ = writeln!(text, "{}", shown.history);
    if spot.differs() && !seen {
        text.push_str("The window, begun from the model's state, does not show the difference: ");
        text.push_str("it hangs on state from before the window.\n");
    }
    Ok(text)
}

/// A world after `clocks` clocks, without a check.
fn world_at(settings: &Settings, clocks: u64) -> World {
    let mut world = World::new(settings);
    for _ in 0..clocks {
        world.settle(&mut ());
        world.edge();
    }
    world
}

/// The ports that a report shows: the block's, or its unit's where it is the unit or a memory.
struct Shown {
    name: Option<String>,
    outputs: std::ops::Range<usize>,
    history: History,
}

impl Shown {
    fn of(world: &World, layout: &Layout, block: &str) -> Self {
        let is_block = inputs_of(world, block).is_some();
        let found = layout.instances.iter().find(|i| i.path.ends_with(block));
        let instance = found.filter(|_| is_block).unwrap_or(&layout.instances[0]);
        Self {
            name: is_block.then(|| block.to_owned()),
            outputs: instance.offset..instance.regs_offset(),
            history: History::new(&instance.inputs, &instance.outputs),
        }
    }

    fn push(&mut self, clock: u64, world: &World, unit_inputs: &[u32], image: &[u32]) {
        let of_block = self.name.as_ref().and_then(|name| inputs_of(world, name));
        let inputs = of_block.as_deref().unwrap_or(unit_inputs);
        self.history.push(clock, inputs, &image[self.outputs.clone()]);
    }
}

/// What a block sees in this clock; none for a unit and for a memory.
fn inputs_of(world: &World, block: &str) -> Option<Vec<u32>> {
    match block {
        "u_retire" => Some(world.requester.i_retire.to_words()),
        "u_replay" => Some(world.requester.i_replay.to_words()),
        "u_respond" => Some(world.responder.i_respond.to_words()),
        _ => None,
    }
}
