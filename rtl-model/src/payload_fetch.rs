//! payload_fetch: to be written.
