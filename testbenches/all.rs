//! Every bench, in one program: a line for each block.

mod path_select;
mod ram_1r1w;
mod replay_store;
mod tx_scheduler;
mod window;
