//! Snapshots: a scenario under way as bytes, and back.
//!
//! The bytes are postcard's: the version, the layout's hash, then the world. Both numbers are read
//! and judged before the world is, so that old bytes are refused with a reason.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rtl_model::nic::Nic;
use rtl_model::sizes::Sizes;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::world::World;

/// Goes up with every change of what a world holds beside the blocks' registers.
pub const VERSION: u32 = 7;

/// A scenario between two clocks.
#[derive(Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// Of the format.
    pub version: u32,
    /// Of the names and widths of every register and output.
    pub layout_hash: u64,
    /// The scenario.
    pub world: World,
}

/// Failed to save or load a snapshot.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The file cannot be read or written.
    #[error("{verb} {}: {source}", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another version of the format.
    #[error("load a snapshot of version {found}: this program reads version {VERSION}")]
    Version {
        /// The snapshot's.
        found: u32,
    },
    /// Another set of registers.
    #[error(
        "load a snapshot of layout {found:016x}: the blocks of this program have layout \
         {wanted:016x}"
    )]
    Layout {
        /// The snapshot's.
        found: u64,
        /// This program's.
        wanted: u64,
    },
    /// The bytes end early, go on too long, or are not a world.
    #[error("decode a snapshot: {0}")]
    Decode(String),
}

/// A hash of the name, width and number of elements of every output and register. It is the same
/// for every build: a build's sizes are in the snapshot.
pub fn layout_hash() -> u64 {
    let mut hash = Sha256::new();
    Nic::reset(&Sizes::SMALL).instances(&mut |name, outputs, regs| {
        for (kind, fields) in [("output", outputs.fields()), ("register", regs.fields())] {
            for f in fields {
                let line = format!("{name} {kind} {} {} {:?}\n", f.name, f.width, f.elements);
                hash.update(line.as_bytes());
            }
        }
    });
    hash.finalize().iter().take(8).fold(0, |n, byte| n << 8 | u64::from(*byte))
}

impl Snapshot {
    /// A world as it stands between two clocks.
    pub fn of(world: World) -> Self {
        Self { version: VERSION, layout_hash: layout_hash(), world }
    }

    /// The bytes.
    ///
    /// # Errors
    /// When the world cannot be encoded.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        postcard::to_stdvec(self).map_err(|e| SnapshotError::Decode(e.to_string()))
    }

    /// The snapshot of these bytes.
    ///
    /// # Errors
    /// When version or layout are not this program's, or the bytes are not a snapshot.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let decode = |e: postcard::Error| SnapshotError::Decode(e.to_string());
        let (version, rest) = postcard::take_from_bytes(bytes).map_err(decode)?;
        if version != VERSION {
            return Err(SnapshotError::Version { found: version });
        }
        let (layout_hash, rest) = postcard::take_from_bytes(rest).map_err(decode)?;
        let wanted = self::layout_hash();
        if layout_hash != wanted {
            return Err(SnapshotError::Layout { found: layout_hash, wanted });
        }
        let (world, rest) = postcard::take_from_bytes(rest).map_err(decode)?;
        if !rest.is_empty() {
            return Err(SnapshotError::Decode(format!("{} B too many", rest.len())));
        }
        Ok(Self { version, layout_hash, world })
    }

    /// Saves it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), SnapshotError> {
        let file = |source| SnapshotError::File { verb: "write", path: path.to_owned(), source };
        fs::write(path, self.to_bytes()?).map_err(file)
    }

    /// Loads it.
    ///
    /// # Errors
    /// When the file cannot be read, and as `from_bytes`.
    pub fn read(path: &Path) -> Result<Self, SnapshotError> {
        let file = |source| SnapshotError::File { verb: "read", path: path.to_owned(), source };
        Self::from_bytes(&fs::read(path).map_err(file)?)
    }
}
