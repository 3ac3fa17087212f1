//! Every bench, in one program: a line for each block.

mod port_rx;
mod port_tx;
mod ram_1r1w;
