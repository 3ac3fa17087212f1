//! ack_take: to be written.
