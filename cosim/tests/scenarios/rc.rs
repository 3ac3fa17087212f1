//! The reliable connection as a user runs it: scenarios, modes, refusals, the soak, what docs/rc.md
//! says. What it does is held against a reference in `testbenches/rc_pair.rs`.

use std::fs;
use std::process::{Command, Output};

use cosim::check::RtlChoice;
use cosim::rc::run::{Outcome, run};
use cosim::rc::scenario::{is_rc, parse, read};
use cosim::rc::soak::soak;
use cosim::run::Mode;

use crate::common::project;

const CASE: &str = "fixtures/scenarios/rc_eleven_steps.toml";

fn nicstep(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
    command.current_dir(project("")).args(args).output().expect("runs")
}

/// One digest, whatever runs.
#[test]
fn modes_agree() {
    let settings = read(&project(CASE)).unwrap_or_else(|e| panic!("{e}"));
    let digests = [Mode::ModelOnly, Mode::Lockstep, Mode::RtlOnly].map(|mode| {
        let run = run(&settings, mode, &RtlChoice::default(), &mut ());
        let run = run.unwrap_or_else(|e| panic!("failed to {e}"));
        assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
        run.digest
    });
    assert!(digests.iter().all(|d| *d == digests[0]), "{digests:x?}");
}

/// A fault in the RTL is told with block, register, clock and both values, and ends with 1.
#[test]
fn a_difference_is_named() {
    let hdl = tempfile::tempdir().expect("a folder");
    for file in fs::read_dir(project("hdl")).expect("hdl").flatten() {
        let text = fs::read_to_string(file.path()).expect("a file");
        let text = text.replace("regs_d.ssn = regs_q.ssn + 24'd1;", "regs_d.ssn = regs_q.ssn;");
        fs::write(hdl.path().join(file.file_name()), text).expect("a file");
    }
    let out = nicstep(&["run", CASE, "--hdl", &hdl.path().display().to_string()]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    for part in
        ["register ssn of u_retire in rc_requester", "clock 221", "model 000002", "rtl   000001"]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
}

/// `--out` keeps what happened.
#[test]
fn records_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let out =
        nicstep(&["run", CASE, "--model-only", "--out", &folder.path().display().to_string()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("a record");
    let result: serde_json::Value = serde_json::from_str(&read("result.json")).expect("JSON");
    assert_eq!(result["outcome"], "finished");
    assert_eq!(result["completions"][1]["ssn"], 4);
    assert_eq!(result["counts"]["loss seen: past a READ or ATOMIC"], 1);
    let events = read("events.csv");
    for row in
        ["219,ANSWER_ARRIVED,104,4,Ack", "220,RETRY,,,Implied", "436,RETIRED,,4,Send Success"]
    {
        assert!(events.lines().any(|l| l == row), "{row} in\n{events}");
    }
}

/// What cannot be is refused with file, line and key.
#[test]
fn bad_keys_are_refused() {
    let head = "unit = \"rc\"\nlimit = \"1us\"\n";
    let cases = [
        ("[connection]\nMTU = \"1000B\"", "MTU", 4),
        ("[connection]\nRetryCount = 8", "RetryCount", 4),
        ("[connection]\nInitialMSN = 16777216", "InitialMSN", 4),
        ("[connection]\nAckTimeout = \"1.5ns\"", "AckTimeout", 4),
        ("[connection]\nReadAtomicDepth = 17", "ReadAtomicDepth", 4),
        ("[connection]\nResponderRecords = 3", "ResponderRecords", 4),
        ("[connection]\nCountReads = \"never\"", "CountReads", 4),
        ("[network]\nRequestLoss = 101", "RequestLoss", 4),
        ("[network]\nMood = 1", "Mood", 4),
        ("[[work]]\nop = \"send\"\nbytes = \"2MiB\"", "bytes", 5),
        ("[[work]]\nop = \"send\"\nbytes = \"8B\"\nmost = \"7B\"", "most", 6),
        ("[[work]]\nop = \"send\"\nat = \"1ps\"", "at", 5),
    ];
    for (text, key, line) in cases {
        let error = parse("t.toml", &format!("{head}{text}\n")).expect_err(text).to_string();
        assert!(error.starts_with(&format!("t.toml:{line}: {key}: ")), "{error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.toml");
    fs::write(&path, format!("{head}seed = -1\n")).expect("a file");
    assert!(is_rc(&path));
    let out = nicstep(&["run", &path.display().to_string()]);
    assert_eq!(out.status.code(), Some(2));
}

/// A NIC's scenario is none of these.
#[test]
fn units_are_told_apart() {
    assert!(is_rc(&project(CASE)));
    assert!(!is_rc(&project("fixtures/scenarios/first_write.toml")));
}

/// A connection that cannot end is given up with 4, and says who waits.
#[test]
fn the_limit_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("limit.toml");
    let text = "unit = \"rc\"\nlimit = \"1us\"\n[connection]\nAckTimeout = \"0ns\"\n\
                [network]\nDropRequests = [1]\n[[work]]\nop = \"send\"\n";
    fs::write(&path, text).expect("a file");
    let out = nicstep(&["run", &path.display().to_string(), "--model-only"]);
    assert_eq!(out.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&out.stderr).contains("Send, SSN 1"));
}

/// A short soak in lockstep; `nicstep soak rc` is the long one.
#[test]
fn a_short_soak_agrees() {
    let choice = RtlChoice::default();
    let report = soak(7, 3, 400_000, Mode::Lockstep, &choice, |_| ());
    let report = report.unwrap_or_else(|e| panic!("failed to {e}"));
    assert_eq!(report.wrong, None);
    let (clocks, most) = (report.clocks[0], report.most);
    assert!(clocks > 10_000 && most > 16, "the default build: {clocks} clocks, {most} at once");
}

/// What docs/rc.md says to type works.
#[test]
fn commands_of_the_page_run() {
    let text = fs::read_to_string(project("docs/rc.md")).expect("a page");
    let commands = text.lines().filter_map(|l| l.strip_prefix("cargo run -p cosim -- "));
    let commands: Vec<_> = commands.collect();
    assert_eq!(commands.len(), 2);
    for command in commands {
        let out = nicstep(&command.split(' ').collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{command}: {said}");
    }
}
