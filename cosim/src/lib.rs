//! cosim.
