//! ingress_pool: to be written.
