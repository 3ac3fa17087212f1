//! Whole scenarios: two NICs, their hosts and the wire, model and RTL.

mod common;
mod figures;
mod path;
