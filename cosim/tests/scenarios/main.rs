//! Whole scenarios: two NICs, their hosts and the wire, model and RTL.

mod bad_input;
mod buffer_cases;
mod common;
mod ends;
mod figures;
mod frames;
mod keys;
mod large;
mod path;
mod pauses;
mod pcie;
mod pcie_cases;
mod probes;
mod rc;
mod readme;
mod receive;
mod records;
mod recover;
mod resend;
mod shapes;
mod soak;
mod switch;
