//! Checks the golden model against the RTL, clock by clock.

pub mod lockstep;
pub mod report;
