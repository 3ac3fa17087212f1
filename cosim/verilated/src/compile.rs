//! The C++ side of a build: precompiled headers, the shared runtime, one file a module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::{self, at, hash};
use crate::design::Optimise;
use crate::error::BuildError;
use crate::tool::Tool;

/// The parts of a library that are the same for every module.
pub const FILES: [(&str, &str); 4] = [
    ("table.h", include_str!("table.h")),
    ("print.h", include_str!("print.h")),
    ("shim.h", include_str!("shim.h")),
    ("runtime.cc", include_str!("runtime.cc")),
];

/// Flags of every call. They must be the same throughout: a precompiled header that was made with
/// others (even `-pthread`) is passed over without a word.
const FLAGS: [&str; 12] = [
    "-pthread",
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fcf-protection=none",
    "-w",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TRACE=0",
    "-DVL_USER_FINISH=1",
    "-DVL_USER_STOP=1",
    "-DVL_USER_FATAL=1",
];

/// The compiler, with the headers of the Verilator it works for.
pub struct Compiler {
    program: String,
    /// What a cached result depends on: the compiler, the machine, Verilator.
    pub version: String,
    include: PathBuf,
}

impl Compiler {
    /// `CXX`, else g++.
    pub fn find(tool: &Tool) -> Result<Self, BuildError> {
        let program = std::env::var("CXX").unwrap_or_else(|_| "g++".into());
        let mut version = output(Command::new(&program).arg("--version"), &program, "-")?;
        version.push_str(tool.version());
        // A cache that moves to another machine must not keep code for this one.
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        version.extend(cpus.lines().find(|l| l.starts_with("model name")));
        version.extend(cpus.lines().find(|l| l.starts_with("flags")));
        Ok(Self { program, version, include: tool.include()? })
    }

    fn command(&self, optimise: Optimise) -> Command {
        let mut command = Command::new(&self.program);
        command.args(FLAGS).args(optimise.flags());
        command.arg("-I").arg(&self.include).arg("-I").arg(self.include.join("vltstd"));
        command
    }

    fn run(&self, command: &mut Command, top: &str) -> Result<(), BuildError> {
        output(command, &self.program, top).map(|_| ())
    }

    /// Compiles `all.cc` in `code` and links it with the runtime into `library`.
    pub fn library(
        &self,
        code: &Path,
        library: &Path,
        optimise: Optimise,
        top: &str,
    ) -> Result<(), BuildError> {
        let headers = self.shared("headers", optimise, |dir| self.headers(dir, optimise))?;
        let runtime = self.shared("runtime", Optimise::Run, |dir| self.runtime(dir))?;
        let mut command = self.command(optimise);
        command.arg("-I").arg(&headers).arg("-I").arg(code);
        command.args(["-include", "pre.h", "-shared", "-Wl,-Bsymbolic", "-o"]).arg(library);
        command.arg(code.join("all.cc"));
        command.args(["verilated.o", "threads.o", "runtime.o"].map(|o| runtime.join(o)));
        self.run(&mut command, top)
    }

    /// A cache entry that does not depend on the module.
    fn shared(
        &self,
        kind: &str,
        optimise: Optimise,
        make: impl FnOnce(&Path) -> Result<(), BuildError>,
    ) -> Result<PathBuf, BuildError> {
        let mut parts: Vec<&[u8]> = FILES.iter().map(|(_, text)| text.as_bytes()).collect();
        parts.extend(FLAGS.iter().chain(optimise.flags()).map(|f| f.as_bytes()));
        parts.push(self.version.as_bytes());
        cache::entry(&format!("{kind}-{}", hash(parts)), |dir| {
            for (name, text) in FILES {
                fs::write(dir.join(name), text).map_err(at(dir))?;
            }
            make(dir)
        })
    }

    /// Precompiles what every module includes.
    fn headers(&self, dir: &Path, optimise: Optimise) -> Result<(), BuildError> {
        let pre = "#include \"print.h\"\n#include \"verilated.h\"\n";
        fs::write(dir.join("pre.h"), pre).map_err(at(dir))?;
        let mut command = self.command(optimise);
        command.current_dir(dir).args(["-x", "c++-header", "pre.h", "-o", "pre.h.gch"]);
        self.run(&mut command, "pre.h")
    }

    /// Compiles Verilator's runtime.
    fn runtime(&self, dir: &Path) -> Result<(), BuildError> {
        for (source, object) in [
            (self.include.join("verilated.cpp"), "verilated.o"),
            (self.include.join("verilated_threads.cpp"), "threads.o"),
            (dir.join("runtime.cc"), "runtime.o"),
        ] {
            let mut command = self.command(Optimise::Run);
            command.args(["-include", "print.h", "-I"]).arg(dir).arg("-c");
            command.arg(source).arg("-o").arg(dir.join(object));
            self.run(&mut command, object)?;
        }
        Ok(())
    }
}

/// Runs a program to its end; what it prints is the result or the error.
pub fn output(command: &mut Command, program: &str, top: &str) -> Result<String, BuildError> {
    let failed = |output: String| BuildError::Program {
        program: program.to_owned(),
        top: top.to_owned(),
        output,
    };
    let done = command.output().map_err(|e| failed(e.to_string()))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()))
}
