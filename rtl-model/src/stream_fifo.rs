//! stream_fifo: to be written.
