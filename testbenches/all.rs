//! Every bench, in one program: a line for each block.

mod ack_build;
mod ack_take;
mod ram_1r1w;
mod rx_track;
