//! Every bench, in one program: a line for each block.

mod pcie_link;
mod ram_1r1w;
mod ram_fifo;
mod rooms;
mod stream_fifo;
mod tlp_engine;
mod tlp_oracle;
mod tshark;
