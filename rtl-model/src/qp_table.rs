//! qp_table: to be written.
