//! path_select: to be written.
