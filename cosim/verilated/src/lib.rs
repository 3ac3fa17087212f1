//! verilated.
