//! Every bench, in one program: a line for each block.

mod ack_build;
mod ack_take;
mod csr;
mod egress_arbiter;
mod ingress_pool;
mod packet_build;
mod packet_parse;
mod path_select;
mod payload_write;
mod pcie_link;
mod port_rx;
mod port_tx;
mod ram_1r1w;
mod ram_fifo;
mod replay_store;
mod rooms;
mod rx_track;
mod stream_fifo;
mod tlp_engine;
mod tlp_oracle;
mod tlp_parse;
mod tshark;
mod tx_scheduler;
mod window;
