//! Every bench, in one program: a line for each block.

mod ram_1r1w;
