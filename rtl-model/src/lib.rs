//! The golden model of nicstep: the registers of an RDMA NIC, clock by clock.
//!
//! Each block has a module here and one of the same name in `hdl/`; both have the same registers
//! with the same values at every clock. Nothing here needs Verilator or C++.

extern crate self as rtl_model;

pub mod ack_ask;
pub mod ack_build;
pub mod ack_hold;
pub mod ack_take;
pub mod block;
pub mod completion;
pub mod csr;
pub mod doorbell;
pub mod egress_arbiter;
pub mod fcs;
pub mod header;
pub mod host_interface;
pub mod image;
pub mod ingress_pool;
pub mod msn_respond;
pub mod nic;
pub mod packed;
pub mod packet_build;
pub mod packet_parse;
pub mod path_probe;
pub mod path_select;
pub mod pause_hold;
pub mod pause_send;
pub mod payload_fetch;
pub mod payload_write;
pub mod pcie_link;
pub mod pcie_room;
pub mod port_rx;
pub mod port_tx;
pub mod prefetch_pool;
pub mod qp_drain;
pub mod qp_table;
pub mod ram_1r1w;
pub mod ram_fifo;
pub mod rc_pkg;
pub mod rc_replay;
pub mod rc_requester;
pub mod rc_responder;
pub mod replay_store;
pub mod retransmit;
pub mod rng;
pub mod rtt_sample;
pub mod rx_track;
pub mod sack_bitmap;
pub mod sizes;
pub mod stream_fifo;
pub mod timer_wheel;
pub mod tlp_engine;
pub mod tlp_parse;
pub mod tx_scheduler;
pub mod types;
pub mod unit;
pub mod window;
pub mod wqe_retire;
