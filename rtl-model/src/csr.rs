//! csr: to be written.
