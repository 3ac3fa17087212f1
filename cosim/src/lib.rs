//! Lockstep of the golden model and the Verilated RTL, and the scenarios that drive it.

pub mod host;
pub mod lockstep;
pub mod memory;
pub mod report;
pub mod scenario;
pub mod settings;
pub mod tlp;
pub mod units;
