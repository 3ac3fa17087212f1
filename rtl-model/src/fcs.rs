//! fcs: to be written.
