//! packet_build
