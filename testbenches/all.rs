//! Every bench, in one program: a line for each block.

mod payload_fetch;
mod payload_write;
mod ram_1r1w;
mod tlp_parse;
