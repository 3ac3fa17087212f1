//! Faults planted in a copy of the model, which the benches must find.
//!
//! A row of `fixtures/mutants_model/X.txt` is as one of the RTL's, and stands for
//! `rtl-model/src/X.rs`. The copy is of the whole project, below the target folder, and stays there:
//! what the benches are built of besides the model is built once.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Mutant, MutantError, Verdict, all_in, at, bench, benches};

/// The folder with the faults of the model.
const MODEL: &str = "mutants_model";

/// What of the project is copied.
const PARTS: [&str; 8] = [
    "Cargo.toml",
    "Cargo.lock",
    "rtl-model",
    "cosim",
    "testbenches",
    "hdl",
    "fixtures",
    "tools.txt",
];

/// All faults of the model, by file, then in the order of the rows.
///
/// # Errors
/// When a file cannot be read or a row is none.
pub fn all(root: &Path) -> Result<Vec<Mutant>, MutantError> {
    all_in(MODEL, root)
}

/// The file that a fault is planted in.
pub fn source(root: &Path, mutant: &Mutant) -> PathBuf {
    root.join(format!("rtl-model/src/{}.rs", mutant.source))
}

/// Plants each in turn, builds the benches and runs its own; `each` sees how many are done.
///
/// # Errors
/// When the project cannot be copied, or a fault not be planted.
pub fn run_all(
    mutants: &[Mutant],
    root: &Path,
    mut each: impl FnMut(usize),
) -> Result<Vec<Verdict>, MutantError> {
    let copy = root.join("target/model-mutants");
    fs::create_dir_all(&copy).map_err(at(&copy))?;
    for part in PARTS {
        copy_changed(&root.join(part), &copy.join(part))?;
    }
    for tools in [".tools", ".tools-test"] {
        link(&root.join(tools), &copy.join(tools))?;
    }
    share_target(root, &copy)?;
    let mut verdicts = Vec::new();
    for mutant in mutants {
        verdicts.push(run(mutant, root, &copy)?);
        each(verdicts.len());
    }
    Ok(verdicts)
}

fn run(mutant: &Mutant, root: &Path, copy: &Path) -> Result<Verdict, MutantError> {
    let (from, to) = (source(root, mutant), source(copy, mutant));
    let text = fs::read_to_string(&from).map_err(at(&from))?;
    fs::write(&to, mutant.apply(&text)?).map_err(at(&to))?;
    let verdict = match benches(copy) {
        Ok(program) => bench(mutant, &copy.join("hdl"), copy, &program),
        Err(MutantError::Benches(said)) => Ok(Verdict::Nothing(said)),
        Err(e) => Err(e),
    };
    fs::write(&to, text).map_err(at(&to))?;
    verdict
}

/// Copies a file or folder; a file that is the same already keeps its time.
fn copy_changed(from: &Path, to: &Path) -> Result<(), MutantError> {
    if from.is_dir() {
        fs::create_dir_all(to).map_err(at(to))?;
        for entry in fs::read_dir(from).map_err(at(from))?.flatten() {
            copy_changed(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    let bytes = fs::read(from).map_err(at(from))?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        Ok(())
    } else {
        fs::write(to, bytes).map_err(at(to))
    }
}

/// Crates of others are built once for the project and its copy.
fn share_target(root: &Path, copy: &Path) -> Result<(), MutantError> {
    let folder = copy.join(".cargo");
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let target = root.join("target");
    let text = format!("[build]\ntarget-dir = {:?}\n", target.display().to_string());
    fs::write(folder.join("config.toml"), text).map_err(at(&folder))
}

/// Tools are shared with the project.
fn link(from: &Path, to: &Path) -> Result<(), MutantError> {
    match std::os::unix::fs::symlink(from, to) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(at(to)(e)),
        _ => Ok(()),
    }
}
