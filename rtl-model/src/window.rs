//! window: to be written.
