//! The RTL of a whole NIC beside the golden one: every output and register, every clock.

use std::path::PathBuf;

use rtl_model::image::{Changes, Image, Writer, image_words};
use rtl_model::nic::{self, Nic, Place, Places};
use rtl_model::sizes::Sizes;
use thiserror::Error;
use verilated::{
    BuildError, Built, Compare, Design, Difference, Kind, Layout, Optimise, Options, Rtl, RtlError,
    Start, Tool, build,
};

use crate::event::Sink;
use crate::lockstep::first_unlike;
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
    /// How it is compiled.
    pub optimise: Optimise,
}

impl Default for RtlChoice {
    fn default() -> Self {
        let hdl = std::env::var_os("NICSTEP_HDL")
            .map_or_else(|| verilated::project_root().join("hdl"), PathBuf::from);
        let (top, parameters) = (TOP.into(), Vec::new());
        Self { hdl, top, parameters, assertions: true, optimise: Optimise::Run }
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
        parameters: sizes.collect(),
        own: choice.parameters.clone(),
        options: Options { optimise: choice.optimise, compare, assertions: choice.assertions },
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

/// Clocks that the golden side is ahead of the RTL at most. Each RTL then follows through all of
/// them at once: its code and state stay in the caches meanwhile.
const GROUP: u64 = 32;

/// One NIC's RTL.
pub struct NicRtl {
    /// The instance.
    pub rtl: Rtl,
    places: Places,
    /// What it must show in the clocks that it has not followed yet.
    log: Changes,
    /// The inputs last logged.
    fed: Option<nic::Inputs>,
    /// The part of a log that is the inputs, and its words.
    inputs: (usize, usize),
    /// The image that the RTL must show, as `look` has left it.
    pub expected: Vec<u32>,
}

impl NicRtl {
    /// A fresh instance, its memories and their read registers those of the model, after a reset.
    ///
    /// # Errors
    /// When the library does not load, or the two sides do not match.
    pub fn new(built: &Built, nic: &Nic, start: Start) -> Result<Self, CheckError> {
        let mut new = Self::unset(built, nic, start)?;
        new.reset(nic)?;
        Ok(new)
    }

    /// Resets it, whatever it has been doing; its memories are those of the model afterwards.
    ///
    /// # Errors
    /// When an assertion of the RTL fails, or the two sides do not match.
    pub fn reset(&mut self, nic: &Nic) -> Result<(), CheckError> {
        let idle = vec![0; self.inputs.1];
        self.rtl.reset(true);
        self.rtl.settle(&idle)?;
        self.rtl.reset(false);
        self.rtl.step_bare(&idle)?;
        self.rtl.reset(true);
        self.load_memories(nic)?;
        self.fed = None;
        nic.write_image(&self.places, &mut self.expected);
        self.rtl.expect(&self.expected)?;
        // The read registers of memories have no reset; all else keeps what the reset made of it.
        let mut image = self.rtl.read();
        for place in &self.rtl.layout().places {
            let instance = &self.rtl.layout().instances[place.instance];
            if place.kind == Kind::Register && instance.has_rdata {
                let words = place.offset..place.offset + instance.regs[place.field].words();
                image[words.clone()].copy_from_slice(&self.expected[words]);
            }
        }
        Ok(self.rtl.load(&image)?)
    }

    /// A fresh instance in the model's state, whatever clock that is.
    ///
    /// # Errors
    /// As `new`.
    pub fn loaded(built: &Built, nic: &Nic) -> Result<Self, CheckError> {
        let mut new = Self::unset(built, nic, Start::Random(1))?;
        new.rtl.load(&new.expected)?;
        new.load_memories(nic)?;
        Ok(new)
    }

    fn unset(built: &Built, nic: &Nic, start: Start) -> Result<Self, CheckError> {
        let layout = built.layout();
        let mut new = Self {
            rtl: Rtl::new(built, start)?,
            places: places(layout, nic)?,
            log: Changes::default(),
            fed: None,
            inputs: (2 * layout.instances.len(), layout.input_words),
            expected: vec![0; layout.expected_words],
        };
        nic.write_image(&new.places, &mut new.expected);
        new.rtl.expect(&new.expected)?;
        Ok(new)
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

    /// Logs a clock that the golden side has settled.
    fn note(&mut self, node: &mut Node) {
        self.log.clock();
        if self.fed != Some(node.inputs) {
            self.fed = Some(node.inputs);
            self.log.part(self.inputs.0, self.inputs.1, |out| node.inputs.write(out));
        }
        node.nic.write_changes(&self.places, &mut self.log);
    }

    /// Takes the clocks of the log: the first with a difference, if there is one.
    fn follow(&mut self) -> Result<Option<(usize, Difference)>, RtlError> {
        let found = self.rtl.follow(&self.log);
        self.log.clear();
        found
    }

    /// Compares, and if all are equal gives the rising edge.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn step(&mut self, node: &mut Node) -> Result<Option<Difference>, RtlError> {
        self.note(node);
        Ok(self.follow()?.map(|(_, difference)| difference))
    }

    /// Sets the clock's inputs and evaluates, without a compare or an edge.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn look(&mut self, node: &Node) -> Result<(), RtlError> {
        node.nic.write_image(&self.places, &mut self.expected);
        self.rtl.settle(&input_words(node))
    }

    /// The rising edge, without a compare.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn edge(&mut self, node: &Node) -> Result<(), RtlError> {
        self.rtl.step_bare(&input_words(node))
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
            if let Some(what) = first_unlike(kind, &model, rtl) {
                failed.get_or_insert(format!("{name}: {what}"));
            }
        }
        places.0.push(Place {
            instance: at,
            outputs: (instance.offset, instance.output_words()),
            regs: (instance.regs_offset(), instance.reg_words()),
        });
    });
    if let Some(at) = seen.iter().position(|s| !s) {
        failed.get_or_insert(format!("the model has no instance {}", layout.instances[at].path));
    }
    failed.map_or(Ok(places), |what| Err(CheckError::Layout(what)))
}

fn input_words(node: &Node) -> Vec<u32> {
    let mut words = vec![0; image_words(&node.inputs.fields())];
    node.inputs.write(&mut Writer::new(&mut words));
    words
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
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
    pub fn new(world: World, built: &Built) -> Result<Self, CheckError> {
        let seed = world.settings.seed as u32;
        let rtl = world.nodes.iter().enumerate().map(|(n, node)| {
            NicRtl::new(built, &node.nic, Start::Random(seed.wrapping_add(n as u32)))
        });
        let rtl = rtl.collect::<Result<_, _>>()?;
        Ok(Self { world, rtl })
    }

    /// The same for a world that has been running.
    ///
    /// # Errors
    /// As `new`.
    pub fn resume(world: World, built: &Built) -> Result<Self, CheckError> {
        let rtl = world.nodes.iter().map(|node| NicRtl::loaded(built, &node.nic));
        let rtl = rtl.collect::<Result<_, _>>()?;
        Ok(Self { world, rtl })
    }

    /// Resets every NIC and goes on with a world that begins; the words of all memories stay.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn reset(&mut self, world: World) -> Result<(), CheckError> {
        let old = std::mem::replace(&mut self.world, world);
        for ((node, was), rtl) in self.world.nodes.iter_mut().zip(old.nodes).zip(&mut self.rtl) {
            node.nic.m = was.nic.m;
            rtl.reset(&node.nic)?;
        }
        Ok(())
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
        mut look: impl FnMut(&World),
    ) -> Result<(), Stop> {
        self.group(1, sink, &mut look)?;
        self.world.keeps();
        Ok(())
    }

    /// Many clocks in lockstep, with a look at the world before each edge. When it stops, the
    /// world has gone on to the end of a group of clocks, the RTL has not.
    ///
    /// # Errors
    /// At the first clock with a difference or a failed assertion.
    pub fn run(
        &mut self,
        clocks: u64,
        sink: &mut impl Sink,
        look: impl FnMut(&World),
    ) -> Result<(), Stop> {
        self.advance(clocks, sink, look)?;
        self.world.keeps();
        Ok(())
    }

    /// The same, but it ends before the edge of a clock in which the world has broken a promise.
    ///
    /// # Errors
    /// As `run`.
    pub fn advance(
        &mut self,
        clocks: u64,
        sink: &mut impl Sink,
        mut look: impl FnMut(&World),
    ) -> Result<(), Stop> {
        let mut left = clocks;
        while left > 0 && self.world.broken.is_none() {
            let now = left.min(GROUP);
            self.group(now, sink, &mut look)?;
            left -= now;
        }
        Ok(())
    }

    /// The golden side takes all clocks; then each RTL does.
    fn group(
        &mut self,
        clocks: u64,
        sink: &mut impl Sink,
        look: &mut impl FnMut(&World),
    ) -> Result<(), Stop> {
        let first = self.world.clock;
        for _ in 0..clocks {
            self.world.settle(sink);
            look(&self.world);
            for (node, rtl) in self.world.nodes.iter_mut().zip(&mut self.rtl) {
                rtl.note(node);
            }
            if self.world.broken.is_some() {
                break;
            }
            self.world.edge();
        }
        let mut stop: Option<(u64, Stop)> = None;
        for (n, rtl) in self.rtl.iter_mut().enumerate() {
            let from = rtl.rtl.clocks();
            let (clock, found) = match rtl.follow() {
                Ok(None) => continue,
                Ok(Some((at, d))) => {
                    let clock = first + at as u64;
                    (clock, Stop::Differs(Box::new(rtl.describe(clock, n, &d))))
                }
                Err(e) => {
                    let at =
                        if let RtlError::Assertion { clock, .. } = &e { clock - from } else { 0 };
                    (first + at, Stop::Assertion(n, e.at(first + at)))
                }
            };
            if stop.as_ref().is_none_or(|(earliest, _)| clock < *earliest) {
                stop = Some((clock, found));
            }
        }
        stop.map_or(Ok(()), |(_, stop)| Err(stop))
    }
}
