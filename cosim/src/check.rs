//! The RTL of a whole NIC beside the golden one: every output and register, every clock.

use std::path::PathBuf;

use rtl_model::image::{Field, Image, Writer, image_words};
use rtl_model::nic::{Nic, Places};
use rtl_model::sizes::Sizes;
use thiserror::Error;
use verilated::{
    BuildError, Built, Compare, Design, Difference, Kind, Layout, Optimise, Options, Rtl, RtlError,
    Start, Tool, build,
};

use crate::event::Sink;
use crate::report::{first_element, hex};
use crate::world::{Node, World};

/// Failed to set up or run the RTL of a NIC.
#[derive(Debug, Error)]
pub enum CheckError {
    /// The RTL does not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The RTL does not run.
    #[error(transparent)]
    Rtl(#[from] RtlError),
    /// The two sides do not have the same instances, ports or registers.
    #[error("match model and RTL: {0}")]
    Layout(String),
}

/// The top module of the project's RTL.
pub const TOP: &str = "nic";

/// What to build.
#[derive(Clone, Debug)]
pub struct RtlChoice {
    /// The folder with the RTL.
    pub hdl: PathBuf,
    /// Its top module.
    pub top: String,
    /// Values of parameters beside the sizes.
    pub parameters: Vec<(String, u64)>,
    /// Whether the RTL's assertions are checked as well.
    pub assertions: bool,
}

impl Default for RtlChoice {
    fn default() -> Self {
        let hdl = std::env::var_os("NICSTEP_HDL")
            .map_or_else(|| verilated::project_root().join("hdl"), PathBuf::from);
        Self { hdl, top: TOP.into(), parameters: Vec::new(), assertions: false }
    }
}

/// Builds the RTL of a NIC, or finds it in the cache.
///
/// # Errors
/// When a tool is missing or the RTL does not build.
pub fn build_nic(choice: &RtlChoice, sizes: &Sizes, compare: Compare) -> Result<Built, CheckError> {
    let tool = Tool::find().map_err(BuildError::from)?;
    let sizes = sizes.parameters().into_iter().map(|(n, v)| (n.to_owned(), u64::from(v)));
    let design = Design {
        hdl: choice.hdl.clone(),
        top: choice.top.clone(),
        parameters: sizes.chain(choice.parameters.iter().cloned()).collect(),
        options: Options { optimise: Optimise::Run, compare, assertions: choice.assertions },
    };
    Ok(build(&tool, &design)?)
}

/// A difference between a NIC's twins.
#[derive(Clone, Debug)]
pub struct NicMismatch {
    /// The clock.
    pub clock: u64,
    /// Index of the NIC.
    pub nic: usize,
    /// The block's instance, such as `u_window`.
    pub block: String,
    /// `register` or `output`.
    pub kind: &'static str,
    /// The field, with its element.
    pub field: String,
    /// The model's value, hexadecimal.
    pub model: String,
    /// The RTL's value, hexadecimal.
    pub rtl: String,
}

/// One NIC's RTL.
pub struct NicRtl {
    /// The instance.
    pub rtl: Rtl,
    places: Places,
    inputs: Vec<u32>,
    /// The image that the RTL must show.
    pub expected: Vec<u32>,
}

impl NicRtl {
    /// A fresh instance, its memories and their read registers those of the model, after a reset.
    ///
    /// # Errors
    /// When the library does not load, or the two sides do not match.
    pub fn new(built: &Built, nic: &mut Nic, start: Start) -> Result<Self, CheckError> {
        let mut new = Self::unset(built, nic, start)?;
        let idle = vec![0; new.inputs.len()];
        new.rtl.reset(true);
        new.rtl.settle(&idle)?;
        new.rtl.reset(false);
        new.rtl.step_bare(&idle)?;
        new.rtl.reset(true);
        new.load_memories(nic)?;
        // The read registers of memories have no reset; all else keeps what the reset made of it.
        let mut image = new.rtl.read();
        new.write_expected(nic, true);
        for place in &new.rtl.layout().places {
            let instance = &new.rtl.layout().instances[place.instance];
            if place.kind == Kind::Register && instance.has_rdata {
                let words = place.offset..place.offset + instance.regs[place.field].words();
                image[words.clone()].copy_from_slice(&new.expected[words]);
            }
        }
        new.rtl.load(&image)?;
        Ok(new)
    }

    /// A fresh instance in the model's state, whatever clock that is.
    ///
    /// # Errors
    /// As `new`.
    pub fn loaded(built: &Built, nic: &mut Nic) -> Result<Self, CheckError> {
        let mut new = Self::unset(built, nic, Start::Random(1))?;
        new.write_expected(nic, true);
        new.rtl.load(&new.expected)?;
        new.load_memories(nic)?;
        Ok(new)
    }

    fn unset(built: &Built, nic: &Nic, start: Start) -> Result<Self, CheckError> {
        let layout = built.layout();
        let places = places(layout, nic)?;
        Ok(Self {
            rtl: Rtl::new(built, start)?,
            places,
            inputs: vec![0; layout.input_words],
            expected: vec![0; layout.expected_words],
        })
    }

    fn load_memories(&mut self, nic: &Nic) -> Result<(), CheckError> {
        let mut failed = Ok(());
        nic.memories(&mut |name, words| {
            if failed.is_ok() {
                failed = self.load_memory(name, &words);
            }
        });
        failed
    }

    fn load_memory(&mut self, name: &str, words: &[u32]) -> Result<(), CheckError> {
        let index = self.rtl.layout().memory(name);
        let index = index.ok_or_else(|| CheckError::Layout(format!("the RTL has no {name}")))?;
        Ok(self.rtl.load_memory(index, words)?)
    }

    fn write_expected(&mut self, nic: &mut Nic, all: bool) {
        nic.write_image(&self.places, &mut self.expected, all);
    }

    /// Compares, and if all are equal gives the rising edge.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn step(&mut self, node: &mut Node) -> Result<Option<Difference>, RtlError> {
        self.show(node);
        self.rtl.step(&self.inputs, &self.expected)
    }

    fn show(&mut self, node: &mut Node) {
        node.nic.write_image(&self.places, &mut self.expected, false);
        node.inputs.write(&mut Writer::new(&mut self.inputs));
    }

    /// Sets the clock's inputs and evaluates, without a compare or an edge.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn look(&mut self, node: &mut Node) -> Result<(), RtlError> {
        self.show(node);
        self.rtl.settle(&self.inputs)
    }

    /// The rising edge, without a compare.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn edge(&mut self) -> Result<(), RtlError> {
        self.rtl.step_bare(&self.inputs)
    }

    /// Whole memories that differ: name, first word, both values.
    pub fn memory_differences(&self, nic: &Nic) -> Vec<(String, usize, String, String)> {
        let mut found = Vec::new();
        nic.memories(&mut |name, words| {
            let Some(index) = self.rtl.layout().memory(name) else { return };
            let rtl = self.rtl.read_memory(index);
            let width = self.rtl.layout().memories[index].width;
            let per = width.div_ceil(32) as usize;
            if let Some(at) = words.chunks(per).zip(rtl.chunks(per)).position(|(a, b)| a != b) {
                let range = at * per..(at + 1) * per;
                let (model, rtl) = (&words[range.clone()], &rtl[range]);
                found.push((name.to_owned(), at, hex(model, width), hex(rtl, width)));
            }
        });
        found
    }

    /// A difference in words.
    pub fn describe(&self, clock: u64, nic: usize, d: &Difference) -> NicMismatch {
        let layout = self.rtl.layout();
        let field = layout.field(&d.place);
        let (element, model, rtl) = first_element(field, &d.expected, &d.rtl);
        let name = element.map_or_else(|| field.name.clone(), |n| format!("{}[{n}]", field.name));
        let path = &layout.instances[d.place.instance].path;
        NicMismatch {
            clock,
            nic,
            block: path.rsplit('.').next().unwrap_or(path).to_owned(),
            kind: if d.place.kind == Kind::Output { "output" } else { "register" },
            field: name,
            model: hex(model, field.width),
            rtl: hex(rtl, field.width),
        }
    }
}

/// Where each instance of the model lies in the RTL's image; checks that both have the same.
fn places(layout: &Layout, nic: &Nic) -> Result<Places, CheckError> {
    let mut places = Places::default();
    let mut seen = vec![false; layout.instances.len()];
    let mut failed = None;
    nic.instances(&mut |name, outputs: &dyn Image, regs: &dyn Image| {
        let found = layout.instances.iter().position(|i| last(&i.path) == name);
        let Some(at) = found else {
            failed.get_or_insert(format!("the RTL has no instance {name}"));
            return;
        };
        seen[at] = true;
        let instance = &layout.instances[at];
        let none = Vec::new();
        let rtl_outputs = if instance.outputs_compared { &instance.outputs } else { &none };
        for (kind, model, rtl) in
            [("output", outputs.fields(), rtl_outputs), ("register", regs.fields(), &instance.regs)]
        {
            if let Some(what) = unlike(&model, rtl) {
                failed.get_or_insert(format!("{name}: {kind} {what}"));
            }
        }
        places.0.push((instance.offset, instance.regs_offset()));
        debug_assert_eq!(image_words(&regs.fields()), image_words(&instance.regs));
    });
    if let Some(at) = seen.iter().position(|s| !s) {
        failed.get_or_insert(format!("the model has no instance {}", layout.instances[at].path));
    }
    failed.map_or(Ok(places), |what| Err(CheckError::Layout(what)))
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn unlike(model: &[Field], rtl: &[Field]) -> Option<String> {
    let n = (0..model.len().max(rtl.len())).find(|n| model.get(*n) != rtl.get(*n))?;
    Some(format!("{n} is {:?} in the model and {:?} in the RTL", model.get(n), rtl.get(n)))
}

/// A world whose NICs run in lockstep with their RTL.
pub struct Checked {
    /// The golden side.
    pub world: World,
    /// One RTL a NIC.
    pub rtl: Vec<NicRtl>,
}

/// Why a lockstep run stopped.
#[derive(Debug)]
pub enum Stop {
    /// The twins differ.
    Differs(Box<NicMismatch>),
    /// An assertion of the RTL failed at this NIC.
    Assertion(usize, RtlError),
}

impl Checked {
    /// A world and fresh RTL beside each of its NICs; registers start from the seed.
    ///
    /// # Errors
    /// When the RTL does not load or match.
    pub fn new(mut world: World, built: &Built) -> Result<Self, CheckError> {
        let seed = world.settings.seed as u32;
        let rtl = world.nodes.iter_mut().enumerate().map(|(n, node)| {
            NicRtl::new(built, &mut node.nic, Start::Random(seed.wrapping_add(n as u32)))
        });
        let rtl = rtl.collect::<Result<_, _>>()?;
        Ok(Self { world, rtl })
    }

    /// The same for a world that has been running.
    ///
    /// # Errors
    /// As `new`.
    pub fn resume(mut world: World, built: &Built) -> Result<Self, CheckError> {
        let rtl = world.nodes.iter_mut().map(|node| NicRtl::loaded(built, &mut node.nic));
        let rtl = rtl.collect::<Result<_, _>>()?;
        Ok(Self { world, rtl })
    }

    /// One clock in lockstep.
    ///
    /// # Errors
    /// At the first difference or failed assertion.
    pub fn step(&mut self, sink: &mut impl Sink) -> Result<(), Stop> {
        self.step_with(sink, |_| ())
    }

    /// The same, with a look at the world before the edge.
    ///
    /// # Errors
    /// As `step`.
    pub fn step_with(
        &mut self,
        sink: &mut impl Sink,
        look: impl FnOnce(&World),
    ) -> Result<(), Stop> {
        self.world.settle(sink);
        look(&self.world);
        let clock = self.world.clock;
        for (n, (node, rtl)) in self.world.nodes.iter_mut().zip(&mut self.rtl).enumerate() {
            match rtl.step(node) {
                Ok(None) => {}
                Ok(Some(d)) => return Err(Stop::Differs(Box::new(rtl.describe(clock, n, &d)))),
                Err(e) => return Err(Stop::Assertion(n, e)),
            }
        }
        self.world.edge();
        Ok(())
    }
}
