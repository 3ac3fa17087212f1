//! tx_scheduler: to be written.
