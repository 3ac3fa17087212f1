//! Verilator's own description of the whole NIC, for tests that read it without the layout's code.

use std::fs;
use std::process::Command;

use cosim::check::RtlChoice;
use serde_json::Value;
use verilated::Tool;

/// The tree of `nic` with these parameters.
pub fn tree(parameters: &[String]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let hdl = RtlChoice::default().hdl;
    let files = fs::read_dir(&hdl).expect("a folder").flatten();
    let names = files.filter_map(|f| f.file_name().into_string().ok());
    let mut packages: Vec<_> = names.filter(|n| n.ends_with("_pkg.sv")).collect();
    packages.sort_by_key(|n| (n != "nic_pkg.sv", n.clone()));
    let mut verilator: Command = Tool::find().expect("Verilator").command();
    verilator.current_dir(hdl).args(["--json-only", "-Wno-fatal", "-Wno-lint", "-Wno-style"]);
    verilator.args(["+libext+.sv", "-y", ".", "-I.", "--prefix", "Vtop", "--no-timing"]);
    verilator.args(parameters).arg("--Mdir").arg(folder.path()).args(["--top-module", "nic"]);
    let done = verilator.args(packages).arg("nic.sv").output().expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = fs::read(folder.path().join("Vtop.tree.json")).expect("a tree");
    serde_json::from_slice(&text).expect("JSON")
}
