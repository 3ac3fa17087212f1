//! ram_fifo: to be written.
