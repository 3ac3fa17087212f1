//! rx_track: to be written.
