//! From a folder of SystemVerilog to a loadable library and its layout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cache::{self, at, hash};
use crate::compile::{Compiler, FILES, output};
use crate::design::{Built, Design};
use crate::error::BuildError;
use crate::shim;
use crate::tool::Tool;
use crate::tree::Tree;

/// The generators of this crate: a cached library is stale when one of them changes.
const GENERATORS: [&str; 5] = [
    include_str!("compile.rs"),
    include_str!("shim.rs"),
    include_str!("tree.rs"),
    include_str!("layout.rs"),
    include_str!("builder.rs"),
];

/// Warnings that are errors: each tells of state that no register struct declares.
const STATE_ERRORS: [&str; 4] = ["LATCH", "BLKSEQ", "COMBDLY", "MULTIDRIVEN"];

/// Builds a module, or finds it in the cache.
///
/// # Errors
/// When the RTL does not elaborate, has state outside the declared registers and memories, or
/// does not compile; the error carries what the program printed.
pub fn build(tool: &Tool, design: &Design) -> Result<Built, BuildError> {
    let work = Work { tool, design, compiler: Compiler::find(tool)? };
    // What the folder holds leads to the name of the library, which itself depends only on the
    // files that the module uses: a change in another block builds nothing anew.
    let given = format!("{:?} {:?}", design.parameters, design.own);
    let entry = cache::entry(&format!("known-{}", work.key(&work.sources()?, &given)?), |dir| {
        let scratch = tempfile::tempdir().map_err(at(dir))?;
        let (tree, parameters) = work.describe(scratch.path())?;
        let files = files_of(scratch.path(), &design.top)?;
        let name = format!("rtl-{}", work.key(&files, &parameters.join(" "))?);
        cache::entry(&name, |dir| work.make(&tree, &parameters, dir))?;
        fs::write(dir.join("name"), &name).map_err(at(dir))
    })?;
    let name = fs::read_to_string(entry.join("name")).map_err(at(&entry))?;
    let done = cache::entry(&name, |dir| {
        let scratch = tempfile::tempdir().map_err(at(dir))?;
        let (tree, parameters) = work.describe(scratch.path())?;
        work.make(&tree, &parameters, dir)
    })?;
    let layout = parse(&done.join("layout.json"), &design.top)?;
    Ok(Built { library: done.join("rtl.so"), layout })
}

/// The files that an elaboration in `dir` has read, from Verilator's own list.
fn files_of(dir: &Path, top: &str) -> Result<Vec<PathBuf>, BuildError> {
    let meta: Value = parse(&dir.join("Vtop.tree.meta.json"), top)?;
    let files = meta["files"].as_object().into_iter().flatten();
    let files = files.filter_map(|(_, f)| f["realpath"].as_str()).map(PathBuf::from);
    let mut files: Vec<_> = files.filter(|f| f.is_file()).collect();
    files.sort();
    Ok(files)
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path, top: &str) -> Result<T, BuildError> {
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
    fn key(&self, files: &[PathBuf], parameters: &str) -> Result<String, BuildError> {
        let mut parts: Vec<Vec<u8>> = Vec::new();
        parts.extend(FILES.iter().map(|(_, text)| text.as_bytes().to_vec()));
        parts.extend(GENERATORS.map(|text| text.as_bytes().to_vec()));
        parts.push(self.compiler.version.clone().into());
        parts.push(format!("{} {parameters} {:?}", self.design.top, self.design.options).into());
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
        for rule in STATE_ERRORS {
            command.arg(format!("-Wwarn-{rule}")).arg(format!("-Werror-{rule}"));
        }
        command.args(["+libext+.sv", "-y", ".", "-I.", "--prefix", "Vtop"]);
        command.args(["--x-assign", "unique", "--x-initial", "unique"]);
        command.arg(if self.design.options.assertions { "--assert" } else { "--no-assert" });
        command.arg("--Mdir").arg(dir.canonicalize().map_err(at(dir))?);
        command.args(["--top-module", &self.design.top]);
        command.args(packages.iter().filter_map(|f| f.file_name()));
        command.arg(format!("{}.sv", self.design.top));
        Ok(command)
    }

    /// The module's description, with those parameters that it declares, and these.
    fn describe(&self, dir: &Path) -> Result<(Value, Vec<String>), BuildError> {
        let top = &self.design.top;
        output(self.verilator(dir)?.arg("--json-only"), "verilator", top)?;
        let tree = parse(&dir.join("Vtop.tree.json"), top)?;
        let parameters = self.parameters(&Tree::new(&tree, top)?)?;
        if parameters.is_empty() {
            return Ok((tree, parameters));
        }
        output(self.verilator(dir)?.arg("--json-only").args(&parameters), "verilator", top)?;
        Ok((parse(&dir.join("Vtop.tree.json"), top)?, parameters))
    }

    fn parameters(&self, tree: &Tree<'_>) -> Result<Vec<String>, BuildError> {
        let declared = tree.parameters();
        let own = &self.design.own;
        if let Some((name, _)) = own.iter().find(|(name, _)| !declared.contains(&name.as_str())) {
            let (top, name) = (self.design.top.clone(), name.clone());
            return Err(BuildError::Parameter { top, name, declared: declared.join(", ") });
        }
        let given = self.design.parameters.iter().filter(|(name, _)| {
            declared.contains(&name.as_str()) && own.iter().all(|(own, _)| own != name)
        });
        Ok(given.chain(own).map(|(name, value)| format!("-G{name}={value}")).collect())
    }

    /// Fills `dir` with the library and its layout.
    fn make(&self, tree: &Value, parameters: &[String], dir: &Path) -> Result<(), BuildError> {
        let top = &self.design.top;
        let options = self.design.options;
        let layout = Tree::new(tree, top)?.layout(options.compare)?;
        let write = |name: &str, text: &[u8]| {
            let path = dir.join(name);
            fs::write(&path, text).map_err(at(&path))
        };
        let code = dir.join("code");
        fs::create_dir_all(&code).map_err(at(&code))?;
        write("public.vlt", shim::config(&layout).as_bytes())?;
        let mut command = self.verilator(&code)?;
        command.args(["--cc", "--flatten"]).args(parameters);
        command.arg(dir.canonicalize().map_err(at(dir))?.join("public.vlt"));
        output(&mut command, "verilator", top)?;
        write("code/all.cc", shim::source(&layout, &cpp_files(&code)?).as_bytes())?;
        self.compiler.library(&code, &dir.join("rtl.so"), options.optimise, top)?;
        fs::remove_dir_all(&code).map_err(at(&code))?;
        let json = serde_json::to_vec(&layout)
            .map_err(|e| BuildError::Tree { top: top.clone(), what: e.to_string() })?;
        write("layout.json", &json)
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
