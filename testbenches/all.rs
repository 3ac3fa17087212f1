//! Every bench, in one program: a line for each block.

mod egress_arbiter;
mod ingress_pool;
mod packet_build;
mod packet_parse;
mod ram_1r1w;
