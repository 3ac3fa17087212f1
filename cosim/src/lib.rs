//! Lockstep of the golden model and the Verilated RTL, and the scenarios that drive it.

pub mod buffers;
pub mod check;
pub mod diagnose;
pub mod driver;
pub mod event;
pub mod fault;
pub mod host;
pub mod lockstep;
pub mod memory;
pub mod mutants;
pub mod reach;
pub mod record;
pub mod records;
pub mod report;
pub mod run;
pub mod scenario;
pub mod settings;
pub mod snapshot;
pub mod summary;
pub mod switch;
pub mod tlp;
pub mod units;
pub mod waves;
pub mod wire;
pub mod world;
