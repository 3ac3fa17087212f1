//! The reliable connection of S002: a requester and a responder, wired over a network that can lose
//! any packet, their hosts, and runs of them, in lockstep with their RTL or without.
//!
//! The environment is a function of the golden outputs, the scenario and the seed, as the NIC's is.

pub mod diagnose;
pub mod event;
pub mod hosts;
pub mod network;
pub mod record;
pub mod run;
pub mod scenario;
pub mod soak;
pub mod summary;
pub mod twin;
pub mod world;
