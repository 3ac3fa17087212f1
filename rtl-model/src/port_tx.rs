//! port_tx: to be written.
