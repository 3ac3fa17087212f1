//! Every bench, in one program: a line for each block.

// References count PSNs and places without a wrap.
#![allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)]

mod ack_build;
mod ack_hold;
mod ack_take;
mod completion;
mod csr;
mod doorbell;
mod egress_arbiter;
mod ingress_pool;
mod msn_respond;
mod mutants;
mod packet_build;
mod packet_parse;
mod path_select;
mod pause_hold;
mod pause_send;
mod payload_fetch;
mod payload_write;
mod pcie_link;
mod pcie_room;
mod port_rx;
mod port_tx;
mod prove;
mod qp_drain;
mod qp_table;
mod ram_1r1w;
mod ram_fifo;
mod rc_pair;
mod rc_reference;
mod rc_replay;
mod replay_store;
mod retransmit;
mod rooms;
mod rx_track;
mod sack_bitmap;
mod stream_fifo;
mod timer_wheel;
mod tlp_engine;
mod tlp_oracle;
mod tlp_parse;
mod tshark;
mod tx_scheduler;
mod window;
mod wqe_retire;
