//! testbenches.
