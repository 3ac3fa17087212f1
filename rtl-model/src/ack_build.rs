//! ack_build: to be written.
