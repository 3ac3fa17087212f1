//! The reliable connection as a user runs it: scenarios, modes, refusals, the soak, what docs/rc.md
//! says. What it does is held against a reference in `testbenches/rc_pair.rs`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cosim::check::RtlChoice;
use cosim::rc::run::{Outcome, Run, run, run_with};
use cosim::rc::scenario::{is_rc, parse, read};
use cosim::rc::soak::{Report, soak};
use cosim::run::Mode;

use crate::common::project;

const CASE: &str = "fixtures/scenarios/rc_eleven_steps.toml";

fn nicstep(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
    command.current_dir(project("")).args(args).output().expect("runs")
}

/// `nicstep run` of a scenario's text.
fn run_text(text: &str, args: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.toml");
    fs::write(&path, text).expect("a file");
    let out = nicstep(&[&["run", &path.display().to_string()], args].concat());
    (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
}

/// The model alone, and the most pages that both hosts held at once.
fn run_model(text: &str) -> (Run, usize) {
    let settings = parse("t.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let mut most = 0;
    let look = |world: &cosim::rc::world::World| {
        most = most.max(world.hosts.local.pages() + world.hosts.remote.pages());
    };
    let run = run_with(&settings, Mode::ModelOnly, &RtlChoice::default(), &mut (), look);
    (run.unwrap_or_else(|e| panic!("failed to {e}")), most)
}

/// A copy of the RTL in which each of these texts is another.
fn edited_hdl(folder: &Path, edits: &[(&str, &str)]) {
    for file in fs::read_dir(project("hdl")).expect("hdl").flatten() {
        let mut text = fs::read_to_string(file.path()).expect("a file");
        for (find, replace) in edits {
            text = text.replace(find, replace);
        }
        fs::write(folder.join(file.file_name()), text).expect("a file");
    }
}

/// SSNs of the requester stand still.
const STUCK: (&str, &str) = ("regs_d.ssn = regs_q.ssn + 24'd1;", "regs_d.ssn = regs_q.ssn;");

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

/// A fault in the RTL is told with block, register, clock, both values and the block's ports of the
/// last ten clocks, and ends with 1; both twins are in waves.fst.
#[test]
fn a_difference_is_named() {
    let (hdl, out) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("one"));
    edited_hdl(hdl.path(), &[STUCK]);
    let folder = out.path().display().to_string();
    let ran = nicstep(&["run", CASE, "--hdl", &hdl.path().display().to_string(), "--out", &folder]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    for part in [
        "register ssn of u_retire in rc_requester",
        "clock 221",
        "model 000002",
        "rtl   000001",
        "Ports of u_retire in the last 10 clocks:",
        "Of values longer than 20 digits, the first and the last 8 are shown.",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let rows = said.lines().skip_while(|l| !l.starts_with("Ports of")).skip(1);
    let rows: Vec<_> = rows.take(11).collect();
    assert!(rows[0].contains(" done_wqe ") && rows[0].contains(" retired_valid "), "{said}");
    let clocks = rows[1..].iter().map(|l| l.split_whitespace().next().unwrap_or("").to_owned());
    assert!(clocks.eq((212..=221).map(|n: u32| n.to_string())), "{said}");
    let waves = fs::read(out.path().join("waves.fst")).expect("waves");
    assert!(waves.len() > 1_000);
    assert!(!said.contains("does not show the difference"), "{said}");
}

/// A difference in a memory's read register, which has no ports of its own, shows the unit's.
#[test]
fn a_difference_in_a_read_register_is_named() {
    let hdl = tempfile::tempdir().expect("a folder");
    edited_hdl(hdl.path(), &[("rdata_q <= mem_q[", "rdata_q <= ~mem_q[")]);
    let ran = nicstep(&["run", CASE, "--hdl", &hdl.path().display().to_string()]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    let parts = ["register rdata of u_wqes", "Ports of rc_requester in the last 10 clocks:"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    assert!(!said.contains("does not show the difference"), "{said}");
}

/// A difference in a memory's words is found at the end, and told with its word.
#[test]
fn a_difference_in_a_memory_is_named() {
    let hdl = tempfile::tempdir().expect("a folder");
    let write = "mem_q[waddr_i[ADDR_BITS-1:0]] <= wdata_i;";
    edited_hdl(hdl.path(), &[(write, &format!("{write} mem_q[DEPTH-1] <= wdata_i;"))]);
    let ran = nicstep(&["run", CASE, "--hdl", &hdl.path().display().to_string()]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("memory word 63 of u_wqes in rc_requester"), "{said}");
    assert!(!said.contains("does not show the difference"), "{said}");
}

/// RTL with other instances is told by its ports, and its waves have both twins too.
#[test]
fn a_difference_at_the_ports_is_shown() {
    let (hdl, out) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("one"));
    edited_hdl(hdl.path(), &[STUCK, ("u_retire", "u_mine")]);
    let folder = out.path().display().to_string();
    let hdl = hdl.path().display().to_string();
    let run = ["run", CASE, "--rtl-only", "--no-assertions", "--hdl", &hdl, "--out", &folder];
    let ran = nicstep(&run);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    let parts = ["output cqe of rc_requester", "Ports of rc_requester in the last 10 clocks:"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    assert!(!said.contains("does not show the difference"), "{said}");
    assert!(out.path().join("waves.fst").exists());
}

/// `--top mine` brings `mine_requester` and `mine_responder`, and `-G` their parameters.
#[test]
fn other_tops_are_run() {
    let hdl = tempfile::tempdir().expect("a folder");
    edited_hdl(hdl.path(), &[]);
    let folder = hdl.path().display().to_string();
    let mine = ["run", CASE, "--hdl", &folder, "--top", "mine"];
    let said = |out: &Output| String::from_utf8_lossy(&out.stderr).into_owned();
    let out = nicstep(&mine);
    assert_ne!(out.status.code(), Some(0), "there is no such top yet");
    assert!(said(&out).contains("mine_requester"), "{}", said(&out));
    for end in ["requester", "responder"] {
        let text = fs::read_to_string(project(&format!("hdl/rc_{end}.sv"))).expect("a file");
        let text = text.replace(&format!("module rc_{end}"), &format!("module mine_{end}"));
        fs::write(hdl.path().join(format!("mine_{end}.sv")), text).expect("a file");
    }
    let out = nicstep(&mine);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    let out = nicstep(&[&mine[..], &["-G", "WQES=16"]].concat());
    assert_eq!(out.status.code(), Some(2), "the model has 64 work requests: {}", said(&out));
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
        ("[network]\nDropRequests = [1,\n 0]", "DropRequests", 5),
        ("[network]\nDropResponses = [0]", "DropResponses", 4),
        ("[network]\nRefuseResponse = 0", "RefuseResponse", 4),
        ("[[work]]\nop = \"atomic\"\nbytes = \"64B\"", "bytes", 5),
        ("[[work]]\nop = \"atomic\"\nmost = \"64B\"", "most", 5),
        ("[[work]]\nop = \"send\"\ncount = 0", "count", 5),
        ("[[work]]\nbytes = \"64B\"", "op", 3),
        ("[connection]\nMTU = 4096", "MTU", 4),
        ("[connection]\nRetryCount = \"7\"", "RetryCount", 4),
    ];
    for (text, key, line) in cases {
        let error = parse("t.toml", &format!("{head}{text}\n")).expect_err(text).to_string();
        let place = format!("t.toml:{line}: ");
        let told = error.strip_prefix(&place).unwrap_or_else(|| panic!("{error}\nnot {place}"));
        let (path, _) = told.split_once(": ").expect("a key");
        assert!(path.rsplit('.').next() == Some(key), "{error}");
        assert!(error.ends_with("(docs/rc.md)"), "{error}");
    }
    let (code, said) = run_text(&format!("{head}seed = -1\n"), &[]);
    assert!(code == Some(2) && said.contains(":3: seed: "), "{said}");
    let none = parse("t.toml", "unit = \"rc\"\nlimit = \"0ns\"\n").expect_err("no clock");
    assert_eq!((none.line, none.key.as_str()), (2, "limit"));
}

/// A value of the wrong kind is told with what is wanted, and its units.
#[test]
fn wanted_units_are_told() {
    let head = "unit = \"rc\"\nlimit = \"1us\"\n[connection]\n";
    let cases = [
        ("MTU = 4096", "a size in quotes: a number and one of B, "),
        ("AckTimeout = 8192", "a time in quotes: a number and one of ps, ns, "),
        ("RetryCount = \"7\"", "expected a whole number"),
    ];
    for (text, part) in cases {
        let error = parse("t.toml", &format!("{head}{text}\n")).expect_err(text).to_string();
        assert!(error.contains(part), "{error}");
    }
}

/// A scenario is a reliable connection's by its key `unit`, however TOML lets it be written.
#[test]
fn units_are_told_apart() {
    assert_eq!(is_rc(&project(CASE)), Ok(true));
    assert_eq!(is_rc(&project("fixtures/scenarios/first_write.toml")), Ok(false));
    let rest = "limit = \"1us\"\n";
    let legal = [
        "unit = 'rc'\n",
        "\"unit\" = \"rc\" # with a reason\n",
        "\u{feff}unit = \"rc\"\n",
        "about = \"\"\"\n[x]\nunit = \"nic\"\n\"\"\"\nunit = \"\"\"rc\"\"\"\n",
    ];
    for text in legal {
        let (code, said) = run_text(&format!("{text}{rest}"), &["--model-only"]);
        assert_eq!(code, Some(0), "{text}: {said}");
    }
    for text in ["\nunit = \"nic\"\n", "\nunit = 1\n", "\n\"unit\" = \"RC\"\n"] {
        let (code, said) = run_text(&format!("{text}{rest}"), &["--model-only"]);
        assert!(code == Some(2) && said.contains("t.toml:2: unit: can be \"rc\""), "{said}");
    }
}

/// A run that cannot end in time is given up with 4, and says who waits for what.
#[test]
fn the_limit_is_told() {
    let head = "unit = \"rc\"\nlimit = \"1us\"\n";
    let lost = "[connection]\nAckTimeout = \"0ns\"\n[network]\nDropRequests = [1]\n";
    let send = "[[work]]\nop = \"send\"\n";
    let cases = [
        (format!("{lost}{send}"), "Send, SSN 1\n"),
        (format!("{lost}{send}"), "timer: off, AckTimeout is 0"),
        (format!("{lost}{send}"), "replay store: 1 packets from PSN 0, 1 of them sent"),
        (format!("[network]\nDropRequests = [1]\n{send}"), " of 8192 ns"),
        (format!("{send}at = \"5us\"\n"), "1 to be posted: Send, at 5000 ns"),
        (format!("{lost}RequestLoss = 100\n{send}count = 100\n"), "post of Send, 8 B, and "),
        (format!("[network]\nDelay = \"10us\"\n{send}"), "1 requests under way: PSN 0, until "),
        (
            "[host]\nAtomicLatency = \"1s\"\n[[work]]\nop = \"atomic\"\n".to_owned(),
            "atomic operation in the responder's memory, until ",
        ),
    ];
    for (text, part) in cases {
        let (code, said) = run_text(&format!("{head}{text}"), &["--model-only"]);
        assert!(code == Some(4) && said.contains(part), "{part} in {said}");
    }
}

/// Buffers of many work requests do not run into one another.
#[test]
fn regions_never_meet() {
    let text = "unit = \"rc\"\nlimit = \"10ms\"\n[[work]]\nop = \"write\"\ncount = 8192\n\
                bytes = \"100B\"\n[[work]]\nop = \"write\"\nbytes = \"100B\"\n[[work]]\n\
                op = \"send\"\ncount = 2\nbytes = \"100B\"\n";
    let (run, most) = run_model(text);
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
    assert!(most < 300, "{most} pages");
    assert_eq!(run.world.hosts.succeeded, 8_195);
}

/// What is flushed takes no memory: neither what was never sent, nor in the end what was.
#[test]
fn flushed_work_requests_hold_no_memory() {
    for op in ["read", "write", "send"] {
        let text = format!(
            "unit = \"rc\"\nlimit = \"4ms\"\n[connection]\nRetryCount = 0\n\
             AckTimeout = \"100ns\"\n[network]\nRequestLoss = 100\n[[work]]\nop = \"{op}\"\n\
             count = 100000\nbytes = \"1MiB\"\n"
        );
        let (run, most) = run_model(&text);
        assert!(matches!(run.outcome, Outcome::Failed), "{op}: {:?}", run.outcome);
        let hosts = &run.world.hosts;
        // The replay store has packets of one SEND or WRITE, or 16 READs.
        assert!(most <= 16 * 258, "{op}: {most} pages");
        assert_eq!((hosts.local.pages(), hosts.remote.pages()), (0, 0), "{op}");
        assert_eq!((hosts.failed, hosts.flushed), (1, 99_999), "{op}");
    }
}

/// The summary and `result.json` count the one that failed apart from those flushed behind it.
#[test]
fn failed_and_flushed_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, out) = (folder.path().join("t.toml"), folder.path().display().to_string());
    let text = "unit = \"rc\"\nlimit = \"1ms\"\n[network]\nRefuseResponse = 1\n[[work]]\n\
                op = \"send\"\ncount = 100\n";
    fs::write(&path, text).expect("a file");
    let ran = nicstep(&["run", &path.display().to_string(), "--model-only", "--out", &out]);
    // The twins agree and all promises are kept: a failed connection is no failure of the run.
    assert_eq!(ran.status.code(), Some(0));
    let said = String::from_utf8_lossy(&ran.stdout);
    let result = fs::read_to_string(folder.path().join("result.json")).expect("a record");
    let result: serde_json::Value = serde_json::from_str(&result).expect("JSON");
    let flushed = result["flushed"].as_u64().expect("a number");
    assert_eq!(result["outcome"], "failed");
    assert!(flushed > 0 && result["counts"]["flushed"] == flushed, "{result}");
    assert!(said.contains(&format!(" retired, 1 failed, {flushed} flushed;")), "{said}");
}

/// A soak in the model alone.
fn soak_model(first: u64, seeds: u64, clocks: u64) -> Report {
    let report = soak(first, seeds, clocks, Mode::ModelOnly, &RtlChoice::default(), |_| ());
    report.unwrap_or_else(|e| panic!("failed to {e}"))
}

/// A soak goes on until a tenth of its clocks are in the default build, and complains of what so
/// long a one must have met.
#[test]
fn soaks_have_their_share_of_the_default_build() {
    for first in [1, 61, 64] {
        let report = soak_model(first, u64::MAX, 1_000_000);
        assert!(report.clocks[0] * 10 >= report.all_clocks(), "{first}: {:?}", report.clocks);
    }
    let mut report = soak_model(1, 1, 1);
    let share = "a tenth of the clocks in the default build".to_owned();
    assert!(report.missing().contains(&share), "{:?}", report.missing());
    assert_eq!(report.complaint(), None, "it is short");
    report.clocks[1] = 10_000_000;
    let said = report.complaint().unwrap_or_default();
    assert!(said.contains(&share) && said.contains("64 work requests at once"), "{said}");
}

/// None at all is bad input; a short soak says what it has not met, and ends with 0.
#[test]
fn short_soaks_are_told() {
    for none in [["--clocks", "0"], ["--seeds", "0"]] {
        let out = nicstep(&[&["soak", "rc", "--model-only"], &none[..]].concat());
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(2) && said.contains(none[0]), "{said}");
    }
    let out = nicstep(&["soak", "rc", "--model-only", "--seeds", "1"]);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(said.contains("not met        ") && said.contains("from 10000000 clocks on"), "{said}");
}

/// A short soak in lockstep; `nicstep soak rc` is the long one.
#[test]
fn a_short_soak_agrees() {
    let report = soak(7, 3, 400_000, Mode::Lockstep, &RtlChoice::default(), |_| ());
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
