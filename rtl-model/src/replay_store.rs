//! replay_store: to be written.
