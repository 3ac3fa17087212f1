//! What to build, and what comes of it.

use std::path::{Path, PathBuf};

use crate::layout::Layout;

/// What is compared at each clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compare {
    /// Nothing, and no register is made public: the fastest RTL.
    Nothing,
    /// Outputs and registers of the module itself.
    #[default]
    Top,
    /// Outputs and registers of every instance.
    All,
}

/// How much the C++ compiler does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Optimise {
    /// `-O1`: builds fast.
    #[default]
    Build,
    /// `-O3 -march=native`: runs fast.
    Run,
}

impl Optimise {
    /// Flags for the compiler.
    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Build => &["-O1"],
            Self::Run => &["-O3", "-march=native"],
        }
    }
}

/// How a module is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// What the C++ compiler does.
    pub optimise: Optimise,
    /// What is compared.
    pub compare: Compare,
    /// Whether the RTL's assertions are checked.
    pub assertions: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { optimise: Optimise::Build, compare: Compare::Top, assertions: true }
    }
}

/// What to build.
#[derive(Clone, Debug)]
pub struct Design {
    /// The folder with one module a file, packages in `*_pkg.sv`.
    pub hdl: PathBuf,
    /// The module.
    pub top: String,
    /// Values of parameters; those that the module does not declare are passed over.
    pub parameters: Vec<(String, u64)>,
    /// Values of parameters that the module has to declare.
    pub own: Vec<(String, u64)>,
    /// How to build it.
    pub options: Options,
}

/// A built module.
#[derive(Clone, Debug)]
pub struct Built {
    pub(crate) library: PathBuf,
    pub(crate) layout: Layout,
}

impl Built {
    /// Instances, fields, memories.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The library.
    pub fn library(&self) -> &Path {
        &self.library
    }
}
