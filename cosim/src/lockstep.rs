//! One block's model and its RTL, given the same inputs and compared at every clock.

use std::env;
use std::fmt::{self, Write as _};
use std::path::PathBuf;

use rtl_model::block::Block;
use rtl_model::image::{Field, Image, Writer, image_words};
use rtl_model::sizes::Sizes;
use thiserror::Error;
pub use verilated::Start;
use verilated::{
    BuildError, Compare, Design, Difference, Kind, Layout, Options, Rtl, RtlError, Tool, build,
};

use crate::reach::{self, Reach};
use crate::report::{History, first_element, hex};

/// Simulated time of a clock, at the core clock of 1 GHz.
pub const CLOCK_NS: u64 = 1;

/// Failed to set up a pair.
#[derive(Error)]
pub enum SetupError {
    /// The RTL does not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The RTL does not run.
    #[error(transparent)]
    Rtl(#[from] RtlError),
    /// The two sides do not have the same ports or registers.
    #[error("match {module}: {what}")]
    Layout {
        /// The block.
        module: String,
        /// The first field that differs, on both sides.
        what: String,
    },
}

impl From<verilated::ToolError> for SetupError {
    fn from(e: verilated::ToolError) -> Self {
        Self::Build(e.into())
    }
}

/// A test that returns it shows what a reader needs, not the fields.
impl fmt::Debug for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {self}")
    }
}

/// The end of a lockstep run: a difference, a failed assertion, or a broken promise.
pub struct Mismatch {
    /// The clock, counted from the end of the first reset.
    pub clock: u64,
    /// The register or port, without the block's name; empty when it was an assertion.
    pub field: String,
    /// The model's value, in hexadecimal.
    pub model: String,
    /// The RTL's value, in hexadecimal.
    pub rtl: String,
    text: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The same as `Display`: a test prints what it returns with `Debug`.
impl fmt::Debug for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Mismatch {}

/// What a pair is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The block.
    pub module: String,
    /// The module that stands for it, and the name of its file in the folder.
    pub top: String,
    /// The folder with the RTL.
    pub hdl: PathBuf,
    /// The sizes of the build.
    pub sizes: Sizes,
    /// What the RTL's registers hold before the first reset.
    pub start: Start,
    /// More parameters than those of the sizes.
    pub parameters: Vec<(String, u64)>,
    /// How the RTL is built. `compare` is `Top` here whatever stands in it.
    pub options: Options,
}

impl Setup {
    /// A module of the project. Other RTL can stand for it: `NICSTEP_HDL` is its folder instead of
    /// the project's `hdl/`, `NICSTEP_TOP` its module, `NICSTEP_PARAMETERS` its parameters, as
    /// `NAME=VALUE,NAME=VALUE`.
    ///
    /// # Panics
    /// When those are written otherwise.
    pub fn new(module: &str, sizes: &Sizes, start: Start) -> Self {
        let project = || verilated::project_root().join("hdl");
        Self {
            module: module.to_owned(),
            top: env::var("NICSTEP_TOP").unwrap_or_else(|_| module.to_owned()),
            hdl: env::var_os("NICSTEP_HDL").map_or_else(project, PathBuf::from),
            sizes: *sizes,
            start,
            parameters: parameters(&env::var("NICSTEP_PARAMETERS").unwrap_or_default()),
            options: Options::default(),
        }
    }

    /// The same with another parameter.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: u64) -> Self {
        self.parameters.push((name.to_owned(), value));
        self
    }

    /// The same with the RTL of another folder.
    #[must_use]
    pub fn hdl(mut self, folder: impl Into<PathBuf>) -> Self {
        self.hdl = folder.into();
        self
    }

    fn design(&self) -> Design {
        let sizes = self.sizes.parameters().into_iter();
        let mut parameters: Vec<_> =
            sizes.map(|(name, value)| (name.to_owned(), u64::from(value))).collect();
        parameters.retain(|(name, _)| self.parameters.iter().all(|(own, _)| own != name));
        parameters.extend(self.parameters.iter().cloned());
        Design {
            hdl: self.hdl.clone(),
            top: self.top.clone(),
            parameters,
            own: Vec::new(),
            options: Options { compare: Compare::Top, ..self.options },
        }
    }
}

/// A block's model and its RTL.
pub struct Lockstep<B: Block> {
    setup: Setup,
    rtl: Rtl,
    regs: B,
    outputs: B::Outputs,
    inputs: Vec<u32>,
    expected: Vec<u32>,
    after: Vec<u32>,
    regs_offset: usize,
    history: History,
    reach: Option<Reach>,
    clock: u64,
}

impl<B: Block> Lockstep<B> {
    /// Builds the RTL of that name, checks that both sides have the same ports and registers, and
    /// resets both.
    ///
    /// # Errors
    /// When the tools fail, or the two sides do not match; the error names the field.
    pub fn new(module: &str, sizes: &Sizes, start: Start) -> Result<Self, SetupError> {
        Self::with(Setup::new(module, sizes, start))
    }

    /// The same with more choices.
    ///
    /// # Errors
    /// As `new`.
    pub fn with(setup: Setup) -> Result<Self, SetupError> {
        let built = build(&Tool::find()?, &setup.design())?;
        let regs = B::reset(&setup.sizes);
        check_layout::<B>(&setup.module, built.layout(), &regs)?;
        let rtl = Rtl::new(&built, setup.start)?;
        let top = &built.layout().instances[0];
        let mut pair = Self {
            history: History::new(&top.inputs, &top.outputs),
            reach: reach::wanted(&setup.module).then(|| Reach::of(built.layout(), &regs)),
            inputs: vec![0; built.layout().input_words],
            expected: vec![0; built.layout().expected_words],
            after: vec![0; image_words(&top.regs)],
            regs_offset: top.regs_offset(),
            outputs: B::Outputs::default(),
            regs,
            rtl,
            setup,
            clock: 0,
        };
        pair.reset()?;
        Ok(pair)
    }

    /// The model's registers.
    pub fn regs(&self) -> &B {
        &self.regs
    }

    /// Clocks since the pair was made, resets not counted.
    pub fn clocks(&self) -> u64 {
        self.clock
    }

    /// The RTL, for what a bench does past the ports: memories, a flipped bit.
    pub fn rtl(&mut self) -> &mut Rtl {
        &mut self.rtl
    }

    /// One rising clock with `rst_ni` low, on both sides, in the middle of whatever went on. A
    /// module without `rst_ni` is given the model's registers instead.
    ///
    /// # Errors
    /// When an assertion fails in that clock.
    pub fn reset(&mut self) -> Result<(), RtlError> {
        self.regs = B::reset(&self.setup.sizes);
        if !self.rtl.layout().has_reset {
            return self.load_regs();
        }
        self.rtl.reset(true);
        self.rtl.settle(&self.inputs)?;
        self.rtl.reset(false);
        self.rtl.step_bare(&self.inputs)?;
        self.rtl.reset(true);
        Ok(())
    }

    /// Puts both sides into a state, without the clocks that lead there.
    ///
    /// # Errors
    /// When the state has other sizes than the RTL.
    pub fn load(&mut self, regs: B) -> Result<(), RtlError> {
        self.regs = regs;
        self.load_regs()
    }

    fn load_regs(&mut self) -> Result<(), RtlError> {
        let image = self.regs.to_words();
        self.expected[self.regs_offset..].copy_from_slice(&image);
        self.rtl.load(&self.expected)
    }

    /// One clock: model and RTL get these inputs, outputs and registers are compared before the
    /// edge, then both take it. The outputs are those before the edge.
    ///
    /// # Errors
    /// At the first difference, or when an assertion of the RTL fails.
    ///
    /// # Panics
    /// When the model says that it is idle and then changes a register.
    pub fn clock(&mut self, i: &B::Inputs) -> Result<B::Outputs, Mismatch> {
        self.regs.drive(&mut self.outputs);
        self.regs.ready(i, &mut self.outputs);
        i.write(&mut Writer::new(&mut self.inputs));
        let (outputs, regs) = self.expected.split_at_mut(self.regs_offset);
        self.outputs.write(&mut Writer::new(outputs));
        self.regs.write(&mut Writer::new(regs));
        self.history.push(self.clock, &self.inputs, outputs);
        match self.rtl.step(&self.inputs, &self.expected) {
            Ok(None) => {}
            Ok(Some(difference)) => return Err(self.mismatch(&difference)),
            Err(error) => return Err(self.failed(&error)),
        }
        if let Some(reach) = &mut self.reach {
            reach.see(&self.expected);
        }
        let idle = self.regs.idle(i);
        self.regs.clock(i, &self.outputs);
        if idle {
            self.check_idle();
        }
        self.clock += 1;
        Ok(self.outputs.clone())
    }

    fn check_idle(&mut self) {
        self.regs.write(&mut Writer::new(&mut self.after));
        let before = &self.expected[self.regs_offset..];
        let module = &self.setup.module;
        assert!(
            before == self.after,
            "{module} says it is idle at clock {}, and changes",
            self.clock
        );
    }

    fn mismatch(&self, difference: &Difference) -> Mismatch {
        let layout = self.rtl.layout();
        let field = layout.field(&difference.place);
        let (element, model, rtl) = first_element(field, &difference.expected, &difference.rtl);
        let name = element.map_or_else(|| field.name.clone(), |n| format!("{}[{n}]", field.name));
        let kind = kind(difference.place.kind);
        let (model, rtl) = (hex(model, field.width), hex(rtl, field.width));
        let mut text = format!(
            "{kind} {name} of {} differs\n  model {model}\n  rtl   {rtl}\n",
            self.setup.module
        );
        if let Some(others) = self.others(difference) {
            let _ = writeln!(text, "  also differ: {others}");
        }
        self.report(&mut text);
        Mismatch { clock: self.clock, field: name, model, rtl, text }
    }

    /// Names of the other fields that differ at the same clock.
    fn others(&self, difference: &Difference) -> Option<String> {
        let (layout, rtl) = (self.rtl.layout(), self.rtl.read());
        let places = layout.places.iter().filter(|p| **p != difference.place);
        let differ = places.filter(|p| {
            let words = p.offset..p.offset + layout.field(p).words();
            rtl[words.clone()] != self.expected[words]
        });
        let names: Vec<_> =
            differ.map(|p| format!("{} {}", kind(p.kind), layout.field(p).name)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    fn failed(&self, error: &RtlError) -> Mismatch {
        let mut text = format!("{} failed to {error}\n", self.setup.module);
        self.report(&mut text);
        let none = String::new;
        Mismatch { clock: self.clock, field: none(), model: none(), rtl: none(), text }
    }

    /// Adds when it was, the ports of the last clocks, and how to see it again.
    fn report(&self, text: &mut String) {
        let (clock, start) = (self.clock, self.setup.start);
        let _ = writeln!(
            text,
            "  at clock {clock}, {} ns; RTL started from {start:?}",
            clock * CLOCK_NS
        );
        let _ = writeln!(text, "\nPorts of the last clocks (hexadecimal, inputs, then outputs):");
        let _ = write!(text, "{}", self.history);
        let _ = writeln!(text, "\nTo see it again: {}", command());
    }
}

/// What it has reached goes to who collects it.
impl<B: Block> Drop for Lockstep<B> {
    fn drop(&mut self) {
        if let Some(reached) = &self.reach {
            let build = format!("{:?} {:?}", self.setup.sizes, self.setup.parameters);
            reach::keep(&self.setup.module, build, reached);
        }
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Output => "output",
        Kind::Register => "register",
    }
}

/// The command that runs the current test alone.
fn command() -> String {
    let package = env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "testbenches".into());
    let thread = std::thread::current();
    let hdl =
        env::var("NICSTEP_HDL").map_or_else(|_| String::new(), |h| format!("NICSTEP_HDL={h} "));
    format!("{hdl}cargo test -p {package} -- --exact {}", thread.name().unwrap_or("main"))
}

fn check_layout<B: Block>(module: &str, layout: &Layout, regs: &B) -> Result<(), SetupError> {
    let top = &layout.instances[0];
    let sides = [
        ("input", B::Inputs::default().fields(), &top.inputs),
        ("output", B::Outputs::default().fields(), &top.outputs),
        ("register", regs.fields(), &top.regs),
    ];
    for (kind, model, rtl) in sides {
        if let Some(what) = first_unlike(kind, &model, rtl) {
            return Err(SetupError::Layout { module: module.to_owned(), what });
        }
    }
    Ok(())
}

/// The first field that is not the same on both sides, in words.
pub(crate) fn first_unlike(kind: &str, model: &[Field], rtl: &[Field]) -> Option<String> {
    let n = (0..model.len().max(rtl.len())).find(|n| model.get(*n) != rtl.get(*n))?;
    let show = |field: Option<&Field>| {
        field.map_or("nothing".to_owned(), |f| {
            let array = f.elements.map_or(String::new(), |n| format!(" × {n}"));
            format!("{} ({} bits{array})", f.name, f.width)
        })
    };
    let (model, rtl) = (show(model.get(n)), show(rtl.get(n)));
    Some(format!("{kind} {n} is {model} in the model and {rtl} in the RTL"))
}

/// Parameters from `NAME=VALUE,NAME=VALUE`, or from nothing.
fn parameters(text: &str) -> Vec<(String, u64)> {
    let one = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().parse().ok()?))
    };
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let wrong = |pair| panic!("NICSTEP_PARAMETERS: `{pair}` is not NAME=VALUE");
    pairs.map(|pair| one(pair).unwrap_or_else(|| wrong(pair))).collect()
}
