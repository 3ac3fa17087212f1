//! port_rx: to be written.
