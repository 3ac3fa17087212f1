//! packet_build: to be written.
