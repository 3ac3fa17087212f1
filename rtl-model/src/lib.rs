//! The golden model of nicstep: the registers of an RDMA NIC, clock by clock.
//!
//! Each block has a module here and one of the same name in `hdl/`; both have the same registers
//! with the same values at every clock. Nothing here needs Verilator or C++.

extern crate self as rtl_model;

pub mod block;
pub mod image;
pub mod ram_1r1w;
pub mod rng;
pub mod sizes;
