//! SystemVerilog as a library: finds Verilator, builds a module at run time, steps it clock by
//! clock and compares it with an expected image in the same call.
//!
//! The host side is a C++ class behind cxx that holds a function table; the RTL itself is a shared
//! library that is built on first use and loaded with `dlopen`. `Tool::find` gives the tool,
//! `build` makes (or finds in the cache) the library and its [`Layout`], `Rtl::new` makes an
//! instance.

mod builder;
mod cache;
mod compile;
mod design;
mod error;
mod host;
mod layout;
mod rtl;
mod shim;
mod tool;
mod tree;

pub use builder::build;
pub use design::{Built, Compare, Design, Optimise, Options};
pub use error::{BuildError, RtlError, ToolError};
pub use layout::{Instance, Kind, Layout, Memory, Place};
pub use rtl::{Difference, Rtl, Start};
pub use tool::{Tool, project_root};
