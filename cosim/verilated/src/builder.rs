//! From a folder of SystemVerilog to a loadable library and its layout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cache::{self, at, hash};
use crate::error::BuildError;
use crate::layout::Layout;
use crate::shim;
use crate::tool::Tool;
use crate::tree::Tree;

/// The parts of a library that are the same for every module.
const FILES: [(&str, &str); 4] = [
    ("table.h", include_str!("table.h")),
    ("print.h", include_str!("print.h")),
    ("shim.h", include_str!("shim.h")),
    ("runtime.cc", include_str!("runtime.cc")),
];

/// What is compared at each clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compare {
    /// Nothing, and no register is made public: the fastest RTL.
    Nothing,
    /// Outputs and registers of the module itself.
    #[default]
    Top,
    /// Outputs and registers of every instance.
    All,
}

/// How much the C++ compiler does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Optimise {
    /// `-O1`: builds fast.
    #[default]
    Build,
    /// `-O3 -march=native`: runs fast.
    Run,
}

impl Optimise {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Build => &["-O1"],
            Self::Run => &["-O3", "-march=native"],
        }
    }
}

/// How a module is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// What the C++ compiler does.
    pub optimise: Optimise,
    /// What is compared.
    pub compare: Compare,
    /// Whether the RTL's assertions are checked.
    pub assertions: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { optimise: Optimise::Build, compare: Compare::Top, assertions: true }
    }
}

/// What to build.
#[derive(Clone, Debug)]
pub struct Design {
    /// The folder with one module a file, packages in `*_pkg.sv`.
    pub hdl: PathBuf,
    /// The module.
    pub top: String,
    /// Values of parameters; those that the module does not declare are passed over.
    pub parameters: Vec<(String, u64)>,
    /// How to build it.
    pub options: Options,
}

/// A built module.
#[derive(Clone, Debug)]
pub struct Built {
    library: PathBuf,
    layout: Layout,
}

impl Built {
    /// Instances, fields, memories.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The library.
    pub fn library(&self) -> &Path {
        &self.library
    }
}

/// Builds a module, or finds it in the cache.
///
/// # Errors
/// When the RTL does not elaborate, has state outside the declared registers and memories, or
/// does not compile; the error carries what the program printed.
pub fn build(tool: &Tool, design: &Design) -> Result<Built, BuildError> {
    let work = Work { tool, design, compiler: compiler()? };
    let sources = work.sources()?;
    let known = format!("known-{}", work.key(&sources)?);
    let entry = cache::entry(&known, |dir| {
        let tree = work.describe(dir)?;
        let name = format!("rtl-{}", work.key(&files_of(dir, &design.top)?)?);
        fs::write(dir.join("name"), &name).map_err(at(dir))?;
        cache::entry(&name, |dir| work.make(&tree, dir)).map(|_| ())
    })?;
    let name = fs::read_to_string(entry.join("name")).map_err(at(&entry))?;
    let done = cache::entry(&name, |dir| {
        let scratch = tempfile::tempdir().map_err(at(dir))?;
        work.make(&work.describe(scratch.path())?, dir)
    })?;
    let path = done.join("layout.json");
    let text = fs::read(&path).map_err(at(&path))?;
    let layout = serde_json::from_slice(&text)
        .map_err(|e| BuildError::Tree { top: design.top.clone(), what: e.to_string() })?;
    Ok(Built { library: done.join("rtl.so"), layout })
}

/// The compiler: `CXX`, else g++.
struct Compiler {
    program: String,
    version: String,
}

fn compiler() -> Result<Compiler, BuildError> {
    let program = std::env::var("CXX").unwrap_or_else(|_| "g++".into());
    let mut version = output(Command::new(&program).arg("--version"), &program, "-")?;
    // A cache that moves to another machine must not keep code for this one.
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    version.extend(cpus.lines().find(|l| l.starts_with("model name")));
    version.extend(cpus.lines().find(|l| l.starts_with("flags")));
    Ok(Compiler { program, version })
}

/// Runs a program to its end; what it prints is the result or the error.
fn output(command: &mut Command, program: &str, top: &str) -> Result<String, BuildError> {
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

/// The files that an elaboration in `dir` has read, from Verilator's own list.
fn files_of(dir: &Path, top: &str) -> Result<Vec<PathBuf>, BuildError> {
    let path = dir.join("Vtop.tree.meta.json");
    let meta: Value = parse(&path, top)?;
    let files = meta["files"].as_object().into_iter().flatten();
    let mut files: Vec<_> = files
        .filter_map(|(_, f)| f["realpath"].as_str())
        .map(PathBuf::from)
        .filter(|f| f.is_file())
        .collect();
    files.sort();
    Ok(files)
}

fn parse(path: &Path, top: &str) -> Result<Value, BuildError> {
    let text = fs::read(path).map_err(at(path))?;
    serde_json::from_slice(&text)
        .map_err(|e| BuildError::Tree { top: top.to_owned(), what: e.to_string() })
}

/// One build under way.
struct Work<'a> {
    tool: &'a Tool,
    design: &'a Design,
    compiler: Compiler,
}

impl Work<'_> {
    /// Every source in the folder, sorted.
    fn sources(&self) -> Result<Vec<PathBuf>, BuildError> {
        let hdl = &self.design.hdl;
        let files = fs::read_dir(hdl).map_err(at(hdl))?.flatten().map(|f| f.path());
        let mut files: Vec<_> =
            files.filter(|f| f.extension().is_some_and(|e| e == "sv" || e == "svh")).collect();
        files.sort();
        Ok(files)
    }

    /// A hash of everything that the library depends on, when these are its sources.
    fn key(&self, files: &[PathBuf]) -> Result<String, BuildError> {
        let mut parts: Vec<Vec<u8>> =
            FILES.iter().map(|(_, text)| text.as_bytes().to_vec()).collect();
        parts.push(include_bytes!("shim.rs").to_vec());
        parts.push(include_bytes!("tree.rs").to_vec());
        parts.push(include_bytes!("layout.rs").to_vec());
        parts.push(include_bytes!("builder.rs").to_vec());
        parts.push(self.tool.version().into());
        parts.push(self.compiler.version.clone().into());
        let design = self.design;
        parts.push(format!("{} {:?} {:?}", design.top, design.parameters, design.options).into());
        for file in files {
            parts.push(file.file_name().unwrap_or_default().as_encoded_bytes().to_vec());
            parts.push(fs::read(file).map_err(at(file))?);
        }
        Ok(hash(parts.iter().map(Vec::as_slice)))
    }

    /// A Verilator call with the sources: the packages by name, the modules as they are used.
    fn verilator(&self, dir: &Path) -> Result<Command, BuildError> {
        let hdl = self.design.hdl.canonicalize().map_err(at(&self.design.hdl))?;
        let is_package = |f: &PathBuf| f.to_string_lossy().ends_with("_pkg.sv");
        let mut packages: Vec<_> = self.sources()?.into_iter().filter(is_package).collect();
        packages.sort_by_key(|f| (!f.ends_with("nic_pkg.sv"), f.clone()));
        let mut command = self.tool.command();
        command.current_dir(&hdl).args(["--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style"]);
        command.args(["+libext+.sv", "-y", ".", "-I.", "--prefix", "Vtop"]);
        command.args(["--x-assign", "unique", "--x-initial", "unique"]);
        command.arg(if self.design.options.assertions { "--assert" } else { "--no-assert" });
        command.arg("--Mdir").arg(dir.canonicalize().map_err(at(dir))?);
        command.args(["--top-module", &self.design.top]);
        command.args(packages.iter().filter_map(|f| f.file_name()));
        command.arg(format!("{}.sv", self.design.top));
        Ok(command)
    }

    /// The module's description, with those parameters that it declares.
    fn describe(&self, dir: &Path) -> Result<Value, BuildError> {
        let top = &self.design.top;
        output(self.verilator(dir)?.arg("--json-only"), "verilator", top)?;
        let tree = parse(&dir.join("Vtop.tree.json"), top)?;
        let parameters = self.parameters(&Tree::new(&tree, top)?);
        if parameters.is_empty() {
            return Ok(tree);
        }
        output(self.verilator(dir)?.arg("--json-only").args(parameters), "verilator", top)?;
        parse(&dir.join("Vtop.tree.json"), top)
    }

    fn parameters(&self, tree: &Tree<'_>) -> Vec<String> {
        let declared = tree.parameters();
        let given = self.design.parameters.iter();
        given
            .filter(|(name, _)| declared.contains(&name.as_str()))
            .map(|(name, value)| format!("-G{name}={value}"))
            .collect()
    }

    /// Fills `dir` with the library and its layout.
    fn make(&self, tree: &Value, dir: &Path) -> Result<(), BuildError> {
        let top = &self.design.top;
        let tree = Tree::new(tree, top)?;
        let layout = tree.layout(self.design.options.compare)?;
        let write = |name: &str, text: &[u8]| {
            let path = dir.join(name);
            fs::write(&path, text).map_err(at(&path))
        };
        let code = dir.join("code");
        fs::create_dir_all(&code).map_err(at(&code))?;
        write("public.vlt", shim::config(&layout).as_bytes())?;
        let mut command = self.verilator(&code)?;
        command.args(["--cc", "--flatten"]).args(self.parameters(&tree));
        command.arg(dir.canonicalize().map_err(at(dir))?.join("public.vlt"));
        output(&mut command, "verilator", top)?;
        write("code/all.cc", shim::source(&layout, &cpp_files(&code)?).as_bytes())?;
        self.compile(&code, &dir.join("rtl.so"))?;
        fs::remove_dir_all(&code).map_err(at(&code))?;
        let json = serde_json::to_vec(&layout)
            .map_err(|e| BuildError::Tree { top: top.clone(), what: e.to_string() })?;
        write("layout.json", &json)
    }

    /// Flags of every call of the compiler.
    fn flags(&self, optimise: Optimise) -> Result<Vec<String>, BuildError> {
        let include = self.tool.include()?;
        let mut flags = vec![
            "-std=gnu++17".to_owned(),
            "-fPIC".into(),
            "-fvisibility=hidden".into(),
            "-fcf-protection=none".into(),
            "-w".into(),
            "-DVM_COVERAGE=0".into(),
            "-DVM_SC=0".into(),
            "-DVM_TRACE=0".into(),
            "-DVL_USER_FINISH=1".into(),
            "-DVL_USER_STOP=1".into(),
            "-DVL_USER_FATAL=1".into(),
            format!("-I{}", include.display()),
            format!("-I{}", include.join("vltstd").display()),
        ];
        flags.extend(optimise.flags().iter().map(|f| (*f).to_owned()));
        Ok(flags)
    }

    /// Compiles `all.cc` in `code` and links it with the runtime.
    fn compile(&self, code: &Path, library: &Path) -> Result<(), BuildError> {
        let optimise = self.design.options.optimise;
        let headers = self.shared("headers", optimise, |dir, flags| {
            let mut command = Command::new(&self.compiler.program);
            command.current_dir(dir).args(flags).args([
                "-x",
                "c++-header",
                "pre.h",
                "-o",
                "pre.h.gch",
            ]);
            output(&mut command, &self.compiler.program, "pre.h").map(|_| ())
        })?;
        let runtime =
            self.shared("runtime", Optimise::Run, |dir, flags| self.runtime(dir, flags))?;
        let mut command = Command::new(&self.compiler.program);
        command.args(self.flags(optimise)?).arg("-I").arg(&headers).arg("-I").arg(code);
        command.args(["-include", "pre.h", "-shared", "-Wl,-Bsymbolic", "-o"]).arg(library);
        command.arg(code.join("all.cc"));
        command.args(["verilated.o", "threads.o", "runtime.o"].map(|o| runtime.join(o)));
        command.arg("-pthread");
        output(&mut command, &self.compiler.program, &self.design.top).map(|_| ())
    }

    /// A cache entry that does not depend on the module.
    fn shared(
        &self,
        kind: &str,
        optimise: Optimise,
        make: impl FnOnce(&Path, &[String]) -> Result<(), BuildError>,
    ) -> Result<PathBuf, BuildError> {
        let flags = self.flags(optimise)?;
        let mut parts: Vec<&[u8]> = FILES.iter().map(|(_, text)| text.as_bytes()).collect();
        parts.extend(flags.iter().map(String::as_bytes));
        parts.extend([self.tool.version().as_bytes(), self.compiler.version.as_bytes()]);
        cache::entry(&format!("{kind}-{}", hash(parts)), |dir| {
            for (name, text) in FILES {
                fs::write(dir.join(name), text).map_err(at(dir))?;
            }
            let pre = "#include \"print.h\"\n#include \"verilated.h\"\n";
            fs::write(dir.join("pre.h"), pre).map_err(at(dir))?;
            make(dir, &flags)
        })
    }

    /// Compiles Verilator's runtime, once for all modules.
    fn runtime(&self, dir: &Path, flags: &[String]) -> Result<(), BuildError> {
        let include = self.tool.include()?;
        for (source, object) in [
            (include.join("verilated.cpp"), "verilated.o"),
            (include.join("verilated_threads.cpp"), "threads.o"),
            (dir.join("runtime.cc"), "runtime.o"),
        ] {
            let mut command = Command::new(&self.compiler.program);
            command.args(flags).args(["-include", "print.h", "-I"]).arg(dir).arg("-c");
            command.arg(source).arg("-o").arg(dir.join(object));
            output(&mut command, &self.compiler.program, object)?;
        }
        Ok(())
    }
}

/// The C++ files that Verilator wrote, sorted.
fn cpp_files(dir: &Path) -> Result<Vec<String>, BuildError> {
    let files = fs::read_dir(dir).map_err(at(dir))?.flatten();
    let mut names: Vec<_> = files.filter_map(|f| f.file_name().into_string().ok()).collect();
    names.retain(|n| Path::new(n).extension().is_some_and(|e| e == "cpp"));
    names.sort();
    // The compiler sees `Vtop__Syms.h` in full before anything that uses it.
    names.sort_by_key(|n| !n.starts_with("Vtop__Syms"));
    Ok(names)
}
