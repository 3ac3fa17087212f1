//! packet_parse: to be written.
