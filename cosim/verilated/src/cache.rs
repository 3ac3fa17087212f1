//! Folders that appear whole or not at all, one maker at a time.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use fs4::fs_std::FileExt;
use sha2::{Digest, Sha256};

use crate::error::BuildError;

/// Turns an I/O error into one that names the file.
pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::File { path, source }
}

/// A hash of parts, as hex. Each part counts with its length.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update((part.len() as u64).to_le_bytes());
        sha.update(part);
    }
    let digest = sha.finalize();
    let mut hex = String::new();
    for byte in &digest[..16] {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Where built libraries are kept: `NICSTEP_CACHE`, else `target/nicstep-rtl` in the project.
pub fn folder() -> PathBuf {
    std::env::var_os("NICSTEP_CACHE")
        .map_or_else(|| crate::tool::project_root().join("target/nicstep-rtl"), PathBuf::from)
}

/// Returns the folder `name` of the cache, made by `make` if it is not there yet.
pub fn entry(
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), BuildError>,
) -> Result<PathBuf, BuildError> {
    let (root, done) = (folder(), folder().join(name));
    if done.is_dir() {
        return Ok(done);
    }
    fs::create_dir_all(&root).map_err(at(&root))?;
    let lock_path = root.join(format!("{name}.lock"));
    let lock = File::create(&lock_path).map_err(at(&lock_path))?;
    lock.lock_exclusive().map_err(at(&lock_path))?;
    if !done.is_dir() {
        let temp =
            tempfile::Builder::new().prefix("making-").tempdir_in(&root).map_err(at(&root))?;
        make(temp.path())?;
        fs::rename(temp.keep(), &done).map_err(at(&done))?;
    }
    Ok(done)
}
