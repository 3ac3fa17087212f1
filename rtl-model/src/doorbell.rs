//! doorbell: to be written.
