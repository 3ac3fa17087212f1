//! tlp_engine: to be written.
