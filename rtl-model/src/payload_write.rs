//! payload_write: to be written.
