//! Every bench, in one program: a line for each block.

mod completion;
mod csr;
mod doorbell;
mod qp_table;
mod ram_1r1w;
