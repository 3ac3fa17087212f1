//! The RTL of a unit beside the golden one: every output and register, every clock.

use rtl_model::image::{Image, Writer};
use rtl_model::sizes::Sizes;
use rtl_model::unit::Unit;
use verilated::{
    BuildError, Built, Compare, Design, Difference, Kind, Layout, Options, Rtl, RtlError, Start,
    Tool, build,
};

use crate::check::{CheckError, RtlChoice, TOP};
use crate::lockstep::first_unlike;
use crate::report::{first_element, hex};

/// The top module that stands for a unit's: of `--top mine` it is `mine_requester`, and
/// `mine_responder`; the project's own where the choice is still the NIC's.
fn top<U: Unit>(choice: &RtlChoice) -> String {
    match choice.top.as_str() {
        TOP => U::TOP.to_owned(),
        name => format!("{name}{}", U::TOP.trim_start_matches("rc")),
    }
}

/// Builds the RTL of a unit, or finds it in the cache.
///
/// # Errors
/// When a tool is missing or the RTL does not build.
pub fn build_unit<U: Unit>(
    choice: &RtlChoice,
    sizes: &Sizes,
    compare: Compare,
) -> Result<Built, CheckError> {
    let tool = Tool::find().map_err(BuildError::from)?;
    let sizes = sizes.parameters().into_iter().map(|(n, v)| (n.to_owned(), u64::from(v)));
    let design = Design {
        hdl: choice.hdl.clone(),
        top: top::<U>(choice),
        parameters: sizes.chain(choice.parameters.iter().cloned()).collect(),
        own: Vec::new(),
        options: Options { optimise: choice.optimise, compare, assertions: choice.assertions },
    };
    Ok(build(&tool, &design)?)
}

/// The kind of a difference in a memory, which is found at the end.
pub const MEMORY: &str = "memory";

/// A difference between a unit's twins.
#[derive(Clone, Debug)]
pub struct UnitMismatch {
    /// The clock.
    pub clock: u64,
    /// The unit's top module.
    pub unit: &'static str,
    /// The block's instance, such as `u_replay`.
    pub block: String,
    /// `register`, `output` or `memory`.
    pub kind: &'static str,
    /// The field, with its element.
    pub field: String,
    /// The model's value, hexadecimal.
    pub model: String,
    /// The RTL's value, hexadecimal.
    pub rtl: String,
}

/// Where an instance lies in the image: first word of its outputs, of its registers.
type Place = (usize, usize);

/// One unit's RTL.
pub struct Twin {
    rtl: Rtl,
    unit: &'static str,
    places: Vec<Place>,
    inside: bool,
    inputs: Vec<u32>,
    expected: Vec<u32>,
}

impl Twin {
    /// A fresh instance after a reset, its memories and their read registers those of the model.
    ///
    /// # Errors
    /// When the library does not load, or the two sides do not match.
    pub fn new<U: Unit>(built: &Built, unit: &U, start: Start) -> Result<Self, CheckError> {
        let mut new = Self::unset(built, unit, start)?;
        new.reset()?;
        new.load_memories(unit)?;
        new.load_reads(unit)?;
        Ok(new)
    }

    /// A fresh instance in the model's state, whatever clock that is.
    ///
    /// # Errors
    /// As `new`.
    pub fn loaded<U: Unit>(built: &Built, unit: &U) -> Result<Self, CheckError> {
        let mut new = Self::unset(built, unit, Start::Random(1))?;
        new.show(unit);
        new.rtl.load(&new.expected)?;
        new.load_memories(unit)?;
        Ok(new)
    }

    fn unset<U: Unit>(built: &Built, unit: &U, start: Start) -> Result<Self, CheckError> {
        let layout = built.layout();
        // With the top alone nothing inside is compared.
        let inside = layout.instances.iter().skip(1).any(|i| i.regs_compared);
        let places = if inside { places(layout, unit)? } else { Vec::new() };
        Ok(Self {
            rtl: Rtl::new(built, start)?,
            unit: U::TOP,
            places,
            inside,
            inputs: vec![0; layout.input_words],
            expected: vec![0; layout.expected_words],
        })
    }

    fn reset(&mut self) -> Result<(), RtlError> {
        let idle = vec![0; self.inputs.len()];
        self.rtl.reset(true);
        self.rtl.settle(&idle)?;
        self.rtl.reset(false);
        self.rtl.step_bare(&idle)?;
        self.rtl.reset(true);
        Ok(())
    }

    /// Memories hold the model's words.
    fn load_memories<U: Unit>(&mut self, unit: &U) -> Result<(), CheckError> {
        let mut failed = Ok(());
        unit.memories(&mut |name, words| {
            let Some(index) = self.rtl.layout().memory(name) else { return };
            if failed.is_ok() {
                failed = self.rtl.load_memory(index, &words);
            }
        });
        Ok(failed?)
    }

    /// The read registers of memories have no reset: they start from the model's.
    fn load_reads<U: Unit>(&mut self, unit: &U) -> Result<(), CheckError> {
        if !self.inside {
            return Ok(());
        }
        let mut image = self.rtl.read();
        self.show(unit);
        for place in &self.rtl.layout().places {
            let instance = &self.rtl.layout().instances[place.instance];
            if place.kind == Kind::Register && instance.has_rdata {
                let words = place.offset..place.offset + instance.regs[place.field].words();
                image[words.clone()].copy_from_slice(&self.expected[words]);
            }
        }
        Ok(self.rtl.load(&image)?)
    }

    /// Writes what the RTL must show.
    fn show<U: Unit>(&mut self, unit: &U) {
        unit.ports().write(&mut Writer::new(&mut self.expected));
        let mut places = self.places.iter();
        if self.inside {
            let expected = &mut self.expected;
            unit.instances(&mut |_, outputs, regs| {
                let (at, regs_at) = *places.next().expect("a place for each instance");
                outputs.write(&mut Writer::new(&mut expected[at..]));
                regs.write(&mut Writer::new(&mut expected[regs_at..]));
            });
        }
    }

    /// No assertion is checked from here on.
    pub fn silence(&mut self) {
        self.rtl.silence();
    }

    /// Compares, and if all are equal gives the rising edge.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn step<U: Unit>(
        &mut self,
        clock: u64,
        unit: &U,
        inputs: &U::Inputs,
    ) -> Result<Option<UnitMismatch>, RtlError> {
        self.show(unit);
        inputs.write(&mut Writer::new(&mut self.inputs));
        let found = self.rtl.step(&self.inputs, &self.expected)?;
        Ok(found.map(|d| self.describe(clock, &d)))
    }

    /// The clock's inputs, without a compare or an edge: what must be shown, and what is.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn look<U: Unit>(
        &mut self,
        unit: &U,
        inputs: &U::Inputs,
    ) -> Result<(&[u32], Vec<u32>), RtlError> {
        self.show(unit);
        inputs.write(&mut Writer::new(&mut self.inputs));
        self.rtl.settle(&self.inputs)?;
        Ok((&self.expected, self.rtl.read()))
    }

    /// The rising edge behind `look`.
    ///
    /// # Errors
    /// When an assertion of the RTL fails.
    pub fn edge(&mut self) -> Result<(), RtlError> {
        self.rtl.step_bare(&self.inputs)
    }

    fn describe(&self, clock: u64, d: &Difference) -> UnitMismatch {
        let layout = self.rtl.layout();
        let field = layout.field(&d.place);
        let (element, model, rtl) = first_element(field, &d.expected, &d.rtl);
        let name = element.map_or_else(|| field.name.clone(), |n| format!("{}[{n}]", field.name));
        UnitMismatch {
            clock,
            unit: self.unit,
            block: last(&layout.instances[d.place.instance].path).to_owned(),
            kind: if d.place.kind == Kind::Output { "output" } else { "register" },
            field: name,
            model: hex(model, field.width),
            rtl: hex(rtl, field.width),
        }
    }

    /// The first word of a memory that differs at the end.
    pub fn memory_difference<U: Unit>(&self, clock: u64, unit: &U) -> Option<UnitMismatch> {
        let mut found = None;
        unit.memories(&mut |name, words| {
            let Some(index) = self.rtl.layout().memory(name) else { return };
            let width = self.rtl.layout().memories[index].width;
            let per = width.div_ceil(32) as usize;
            let rtl = self.rtl.read_memory(index);
            let differ = words.chunks(per).zip(rtl.chunks(per)).position(|(a, b)| a != b);
            let Some(at) = differ.filter(|_| found.is_none()) else { return };
            let range = at * per..(at + 1) * per;
            found = Some(UnitMismatch {
                clock,
                unit: self.unit,
                block: name.to_owned(),
                kind: MEMORY,
                field: format!("word {at}"),
                model: hex(&words[range.clone()], width),
                rtl: hex(&rtl[range], width),
            });
        });
        found
    }

    /// Registers, output ports, bits and memories that are compared.
    pub fn compared(&self) -> [u64; 4] {
        let layout = self.rtl.layout();
        let outputs = layout.places.iter().filter(|p| p.kind == Kind::Output).count();
        let registers = layout.places.len() - outputs;
        let memories = layout.memories.len() as u64;
        [registers as u64, outputs as u64, layout.compared_bits(), memories]
    }
}

/// Where each instance of the model lies in the RTL's image; checks that both have the same.
fn places<U: Unit>(layout: &Layout, unit: &U) -> Result<Vec<Place>, CheckError> {
    let mut out = Vec::new();
    let mut seen = vec![false; layout.instances.len()];
    seen[0] = true;
    let mut failed = first_unlike("port", &unit.ports().fields(), &layout.instances[0].outputs);
    unit.instances(&mut |name, outputs, regs| {
        let Some(at) = layout.instances.iter().position(|i| last(&i.path) == name) else {
            failed.get_or_insert(format!("the RTL has no instance {name}"));
            return;
        };
        seen[at] = true;
        let instance = &layout.instances[at];
        let shown = if instance.outputs_compared { &instance.outputs[..] } else { &[] };
        for (kind, model, rtl) in
            [("output", outputs.fields(), shown), ("register", regs.fields(), &instance.regs)]
        {
            if let Some(what) = first_unlike(kind, &model, rtl) {
                failed.get_or_insert(format!("{name}: {what}"));
            }
        }
        out.push((instance.offset, instance.regs_offset()));
    });
    if let Some(at) = seen.iter().position(|s| !s) {
        failed.get_or_insert(format!("the model has no instance {}", layout.instances[at].path));
    }
    failed.map_or(Ok(out), |what| Err(CheckError::Layout(what)))
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
