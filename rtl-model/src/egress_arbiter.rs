//! egress_arbiter: to be written.
