//! Whole scenarios: two NICs, their hosts and the wire, model and RTL.

mod bad_input;
mod buffer_cases;
mod buffer_figures;
mod common;
mod complete;
mod ends;
mod figures;
mod frames;
mod groups;
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
mod resets;
mod shapes;
mod soak;
mod switch;
