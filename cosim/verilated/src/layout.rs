//! What a built module is made of: instances, their ports and registers, memories.

use rtl_model::image::Field;
use serde::{Deserialize, Serialize};

/// Everything that a built module's images hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The module itself first, then its inner instances in declaration order, depth first.
    pub instances: Vec<Instance>,
    /// All memories, in the order of the instances that hold them.
    pub memories: Vec<Memory>,
    /// Words of the input image: the input ports of the module without `clk_i` and `rst_ni`.
    pub input_words: usize,
    /// Words of the expected image: each compared instance's outputs, then its registers.
    pub expected_words: usize,
    /// Compared fields in the order of the image.
    pub places: Vec<Place>,
    /// True when the module has a `clk_i`.
    pub has_clock: bool,
    /// True when the module has a `rst_ni`.
    pub has_reset: bool,
}

/// One instance of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// From the top, such as `nic.u_rx.g_lane[1].u_fifo`.
    pub path: String,
    /// The module's name in the source.
    pub module: String,
    /// Input ports without `_i`, `clk_i` and `rst_ni`.
    #[serde(with = "serde_fields")]
    pub inputs: Vec<Field>,
    /// Output ports without `_o`.
    #[serde(with = "serde_fields")]
    pub outputs: Vec<Field>,
    /// For each output that is nothing but a field of `regs_q` its index, and the element where the
    /// field is an array. Such an output is read at its register.
    pub copies: Vec<Option<(usize, Option<u32>)>>,
    /// The fields of `regs_q`, then `rdata` where the module has an `rdata_q`.
    #[serde(with = "serde_fields")]
    pub regs: Vec<Field>,
    /// True when the module has an `rdata_q`.
    pub has_rdata: bool,
    /// First word of its outputs in the expected image; its registers follow.
    pub offset: usize,
    /// True when its outputs are in the image. The cell `ram_1r1w` inside another module has
    /// none there: its output is its read register.
    pub outputs_compared: bool,
    /// True when its registers are in the image.
    pub regs_compared: bool,
}

impl Instance {
    /// Words of its outputs in the image.
    pub fn output_words(&self) -> usize {
        if self.outputs_compared { rtl_model::image::image_words(&self.outputs) } else { 0 }
    }

    /// Words of its registers in the image.
    pub fn reg_words(&self) -> usize {
        if self.regs_compared { rtl_model::image::image_words(&self.regs) } else { 0 }
    }

    /// First word of its registers in the image.
    pub fn regs_offset(&self) -> usize {
        self.offset + self.output_words()
    }
}

/// A memory of the RTL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The instance that holds its `mem_q`.
    pub path: String,
    /// Bits of a word.
    pub width: u32,
    /// Words.
    pub depth: u32,
}

impl Memory {
    /// 32-bit words of the whole contents.
    pub fn words(&self) -> usize {
        self.width.div_ceil(32) as usize * self.depth as usize
    }
}

/// What a compared field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// An output port.
    Output,
    /// A register.
    Register,
}

/// Where a compared field lies in the expected image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Index into `instances`.
    pub instance: usize,
    /// Output or register.
    pub kind: Kind,
    /// Index into that instance's `outputs` or `regs`.
    pub field: usize,
    /// First word.
    pub offset: usize,
}

impl Layout {
    /// The field at a place.
    pub fn field(&self, place: &Place) -> &Field {
        let instance = &self.instances[place.instance];
        match place.kind {
            Kind::Output => &instance.outputs[place.field],
            Kind::Register => &instance.regs[place.field],
        }
    }

    /// Bits compared at each clock.
    pub fn compared_bits(&self) -> u64 {
        self.places.iter().map(|p| self.field(p).bits()).sum()
    }

    /// The memory whose instance path ends with `path`.
    pub fn memory(&self, path: &str) -> Option<usize> {
        self.memories.iter().position(|m| m.path == path || m.path.ends_with(&format!(".{path}")))
    }

    /// Gives every compared field its place.
    pub(crate) fn place(&mut self) {
        let mut at = 0;
        for (n, instance) in self.instances.iter_mut().enumerate() {
            instance.offset = at;
            let outputs = instance.outputs_compared.then_some((Kind::Output, &instance.outputs));
            let regs = instance.regs_compared.then_some((Kind::Register, &instance.regs));
            for (kind, fields) in outputs.into_iter().chain(regs) {
                for (field, f) in fields.iter().enumerate() {
                    self.places.push(Place { instance: n, kind, field, offset: at });
                    at += f.words();
                }
            }
        }
        self.expected_words = at;
    }
}

mod serde_fields {
    use rtl_model::image::Field;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(fields: &[Field], s: S) -> Result<S::Ok, S::Error> {
        let plain: Vec<_> = fields.iter().map(|f| (&f.name, f.width, f.elements)).collect();
        plain.serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<Field>, D::Error> {
        let plain = Vec::<(String, u32, Option<u32>)>::deserialize(d)?;
        Ok(plain
            .into_iter()
            .map(|(name, width, elements)| Field { name, width, elements })
            .collect())
    }
}
