//! tlp_parse: to be written.
