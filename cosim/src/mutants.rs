//! Faults planted in copies of the RTL, which the benches must find.
//!
//! `fixtures/mutants/X.txt` holds the faults of `hdl/X.sv`. Its first line names the bench that
//! finds them (`… the bench of Y …`); a row is `what | find => replace`: the text between ` | ` and
//! ` => ` stands in the file once and is replaced by the text behind, up to the line's end.
//! `fixtures/mutants_model/X.txt` holds those of the model, for `model`. A row names the rules that
//! it breaks: `MSN-1: what`, or `what (RX-4, NAK-1)`.

pub mod model;

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, thread};

use tempfile::TempDir;
use thiserror::Error;

/// Time after which a bench that does not end is given up.
const LIMIT: Duration = Duration::from_secs(900);

/// Failed to plant a fault.
#[derive(Debug, Error)]
pub enum MutantError {
    /// A file or folder cannot be used, or the bench cannot be run.
    #[error("use {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A row that is none, or a text that does not stand there once.
    #[error("plant {file}:{line}: {what}")]
    Row {
        /// The file of the row.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The benches do not build.
    #[error("build the benches:\n{0}")]
    Benches(String),
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> MutantError {
    let path = path.to_owned();
    move |source| MutantError::File { path, source }
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The file of `hdl/` that it is planted in, without `.sv`.
    pub source: String,
    /// The bench that must find it.
    pub bench: String,
    /// What is wrong then.
    pub what: String,
    find: String,
    replace: String,
    line: usize,
    /// Below `fixtures/`.
    folder: &'static str,
}

/// Name and number of a rule.
fn parts(rule: &str) -> Option<(&str, u32)> {
    let (name, number) = rule.split_once('-')?;
    number.parse().ok().map(|number| (name, number))
}

/// The folder with the faults of the RTL.
const RTL: &str = "mutants";

impl Mutant {
    /// An edit that changes nothing but comments, in the file of that name.
    pub fn comment(source: &str, bench: &str) -> Self {
        let what = "a comment changes: nothing to find".to_owned();
        let (source, bench) = (source.to_owned(), bench.to_owned());
        Self {
            source,
            bench,
            what,
            find: String::new(),
            replace: String::new(),
            line: 0,
            folder: RTL,
        }
    }

    /// True for an edit of comments alone.
    pub fn is_comment(&self) -> bool {
        self.find.is_empty()
    }

    /// The rules that it breaks.
    pub fn rules(&self) -> Vec<&str> {
        let behind = self.what.strip_suffix(')').and_then(|what| what.rsplit_once('('));
        let behind = behind.into_iter().flat_map(|(_, rules)| rules.split(", "));
        self.before().into_iter().chain(behind.filter(|rule| parts(rule).is_some())).collect()
    }

    /// The rule whose tests alone must find it.
    fn before(&self) -> Option<&str> {
        let (rule, _) = self.what.split_once(": ")?;
        parts(rule).map(|_| rule)
    }

    /// The tests that must find it: all of its bench; of a fault against a rule (`MSN-1: …`) those
    /// alone that have the rule in their names (`msn_1_…`), in any bench.
    pub fn filter(&self) -> String {
        match self.before().and_then(parts) {
            Some((name, number)) => format!("{}_{number}_", name.to_lowercase()),
            None => format!("{}::", self.bench),
        }
    }

    fn error(&self, what: impl Into<String>) -> MutantError {
        let file = format!("fixtures/{}/{}.txt", self.folder, self.source);
        MutantError::Row { file, line: self.line, what: what.into() }
    }

    /// The text of the file with the fault in it.
    ///
    /// # Errors
    /// When what is to be replaced does not stand there once.
    pub fn apply(&self, text: &str) -> Result<String, MutantError> {
        if self.is_comment() {
            return Ok(format!("// A comment.\n{text}"));
        }
        match text.matches(&self.find).count() {
            1 if self.find == self.replace => Err(self.error("replaces a text by itself")),
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            n => Err(self.error(format!("`{}` stands there {n} times, wanted once", self.find))),
        }
    }

    /// A copy of the folder with the RTL, with the fault in it.
    ///
    /// # Errors
    /// When files cannot be copied, or as `apply`.
    pub fn plant(&self, hdl: &Path) -> Result<TempDir, MutantError> {
        let copy = TempDir::new().map_err(at(hdl))?;
        for file in fs::read_dir(hdl).map_err(at(hdl))?.flatten() {
            fs::copy(file.path(), copy.path().join(file.file_name())).map_err(at(&file.path()))?;
        }
        let path = copy.path().join(format!("{}.sv", self.source));
        let text = fs::read_to_string(&path).map_err(at(&path))?;
        fs::write(&path, self.apply(&text)?).map_err(at(&path))?;
        Ok(copy)
    }
}

/// The faults of a file of `fixtures/mutants/`, by its text.
///
/// # Errors
/// When a row is none.
pub fn parse(source: &str, text: &str) -> Result<Vec<Mutant>, MutantError> {
    parse_in(RTL, source, text)
}

fn parse_in(folder: &'static str, source: &str, text: &str) -> Result<Vec<Mutant>, MutantError> {
    let wrong = |line: usize, what: &str| {
        let file = format!("fixtures/{folder}/{source}.txt");
        Err(MutantError::Row { file, line, what: what.to_owned() })
    };
    let bench = text.lines().next().and_then(|l| l.split_once("the bench of "));
    let bench = bench.and_then(|(_, rest)| rest.split(' ').next());
    let Some(bench) = bench else {
        return wrong(1, "names no bench: `… the bench of NAME …`");
    };
    let mut mutants = Vec::new();
    for (n, row) in text.lines().enumerate().filter(|(_, l)| !l.starts_with('#')) {
        let parts = row.split_once(" | ").and_then(|(what, edit)| {
            // Nothing in place of the text, and no blank at the line's end.
            let edit = edit.strip_suffix(" =>").map(|find| (find, ""));
            let edit = edit.or_else(|| row[what.len() + 3..].split_once(" => "));
            edit.map(|(find, replace)| (what, find, replace))
        });
        let Some((what, find, replace)) = parts.filter(|(_, find, _)| !find.is_empty()) else {
            return wrong(n + 1, "is no row `what | find => replace`");
        };
        mutants.push(Mutant {
            source: source.to_owned(),
            bench: bench.to_owned(),
            what: what.to_owned(),
            find: find.to_owned(),
            replace: replace.to_owned(),
            line: n + 1,
            folder,
        });
    }
    Ok(mutants)
}

/// All faults below a project's folder, by file, then in the order of the rows.
///
/// # Errors
/// When a file cannot be read or a row is none.
pub fn all(root: &Path) -> Result<Vec<Mutant>, MutantError> {
    all_in(RTL, root)
}

fn all_in(name: &'static str, root: &Path) -> Result<Vec<Mutant>, MutantError> {
    let folder = root.join("fixtures").join(name);
    let files = fs::read_dir(&folder).map_err(at(&folder))?.flatten();
    let mut paths: Vec<_> = files.map(|f| f.path()).collect();
    paths.sort();
    let mut mutants = Vec::new();
    for path in paths {
        let source = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        mutants.extend(parse_in(name, &source, &fs::read_to_string(&path).map_err(at(&path))?)?);
    }
    Ok(mutants)
}

/// What a bench makes of RTL with a fault in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A test failed.
    Caught {
        /// The test.
        test: String,
        /// The register, output or assertion that it names; else the first line of its panic.
        by: String,
    },
    /// All tests passed.
    Survived,
    /// It says nothing: the RTL does not build, there is no such bench, or it does not end.
    Nothing(String),
}

/// Plants a fault and runs its bench up to the first test that fails. `program` is the test
/// program of all benches.
///
/// # Errors
/// When the fault cannot be planted or the program not be run.
///
/// # Panics
/// When a thread that watches the program does.
pub fn run(mutant: &Mutant, hdl: &Path, program: &Path) -> Result<Verdict, MutantError> {
    let copy = mutant.plant(hdl)?;
    bench(mutant, copy.path(), hdl, program)
}

/// Runs a mutant's bench on the RTL of a folder, in the project of another one.
fn bench(
    mutant: &Mutant,
    hdl: &Path,
    at_home: &Path,
    program: &Path,
) -> Result<Verdict, MutantError> {
    let mut child = Command::new(program)
        .args([&mutant.filter(), "--nocapture", "--test-threads=1"])
        .current_dir(at_home)
        .env("NICSTEP_HDL", hdl)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(at(program))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (child, done) = (Arc::new(Mutex::new(child)), Arc::new(AtomicBool::new(false)));
    let stderr = thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stderr.map(|mut s| s.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    });
    let watch = {
        let (child, done) = (child.clone(), done.clone());
        thread::spawn(move || kill_at_limit(&child, &done))
    };
    let kill = || {
        let mut child = child.lock().expect("no thread panics with it");
        let _ = child.kill();
        let _ = child.wait();
    };
    let (mut test, mut failed, mut passed) = (String::new(), false, 0);
    for line in BufReader::new(stdout.expect("is piped")).lines().map_while(Result::ok) {
        if let Some(rest) = line.strip_prefix("test ") {
            rest.split(' ').next().unwrap_or("").clone_into(&mut test);
        }
        if line.ends_with("FAILED") {
            failed = true;
            break;
        }
        passed += usize::from(line.ends_with("ok"));
    }
    done.store(true, Ordering::Relaxed);
    kill();
    let late = watch.join().expect("does not panic");
    let said = stderr.join().expect("does not panic");
    Ok(match (failed, late) {
        (_, true) => Verdict::Nothing(format!("{test} does not end")),
        (true, _) if said.contains("uilds: failed to") => Verdict::Nothing(said),
        (true, _) => Verdict::Caught { test, by: reason(&said) },
        (false, _) if passed == 0 => Verdict::Nothing(format!("no test ran\n{said}")),
        (false, _) => Verdict::Survived,
    })
}

/// Kills a bench that does not end in time; true when it had to.
fn kill_at_limit(child: &Mutex<std::process::Child>, done: &AtomicBool) -> bool {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if done.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let _ = child.lock().expect("no thread panics with it").kill();
    true
}

/// What a failed test names, from what it said.
fn reason(text: &str) -> String {
    for line in text.lines() {
        let line = line.trim_start_matches("Error: ");
        if let Some((field, block)) = line.split_once(" of ")
            && block.ends_with(" differs")
        {
            return field.to_owned();
        }
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(label) = words.rev().find(|w| w.ends_with("_A") && w.len() > 2) {
            return format!("assertion {label}");
        }
    }
    let mut lines = text.lines().skip_while(|l| !l.contains("panicked at"));
    lines.nth(1).unwrap_or("").chars().take(60).collect()
}

/// Runs faults, `jobs` at a time; `each` sees how many are done. The verdicts are in order.
///
/// # Errors
/// At the first that cannot be run.
///
/// # Panics
/// When `each` does.
pub fn run_all(
    mutants: &[Mutant],
    hdl: &Path,
    program: &Path,
    jobs: usize,
    each: impl Fn(usize) + Sync,
) -> Result<Vec<Verdict>, MutantError> {
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let verdicts: Vec<_> = mutants.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(mutant) = mutants.get(at)
                {
                    let verdict = run(mutant, hdl, program);
                    *verdicts[at].lock().expect("no thread panics with it") = Some(verdict);
                    each(done.fetch_add(1, Ordering::Relaxed) + 1);
                }
            });
        }
    });
    let verdicts = verdicts.into_iter().map(|v| v.into_inner().expect("no thread panicked"));
    verdicts.map(|v| v.expect("each has run")).collect()
}

/// Whether the verdict is the right one: a fault is caught, an edit of comments is not.
pub fn right(mutant: &Mutant, verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Caught { test, .. } => !mutant.is_comment() && test.contains(&mutant.filter()),
        Verdict::Survived => mutant.is_comment(),
        Verdict::Nothing(_) => false,
    }
}

/// A table: block, what was planted, the test that found it, what the test names.
pub fn table(mutants: &[Mutant], verdicts: &[Verdict]) -> String {
    let rows = mutants.iter().zip(verdicts).map(|(mutant, verdict)| {
        let (test, by) = match verdict {
            Verdict::Caught { test, by } => (test.as_str(), by.as_str()),
            Verdict::Survived if mutant.is_comment() => ("all pass", ""),
            Verdict::Survived => ("SURVIVES", ""),
            Verdict::Nothing(why) => ("NO VERDICT", why.as_str()),
        };
        [mutant.source.as_str(), &mutant.what, test, by].map(str::to_owned)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.insert(0, ["file", "what", "caught by", "which names"].map(str::to_owned));
    let width = |n: usize| rows.iter().map(|r| r[n].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let line = |row: &[String; 4]| {
        let [a, b, c, d] = row;
        let text = format!(
            "{a:<w0$}  {b:<w1$}  {c:<w2$}  {d}",
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2]
        );
        text.trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// A table: rule, file, what breaks the rule there. Faults that name no rule are left out.
pub fn by_rule(mutants: &[Mutant]) -> String {
    let rows = mutants.iter().flat_map(|m| m.rules().into_iter().map(move |rule| (rule, m)));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(rule, _)| parts(rule));
    let line = |(rule, m): (&str, &Mutant)| {
        let file = if m.folder == RTL {
            format!("hdl/{}.sv", m.source)
        } else {
            format!("rtl-model/src/{}.rs", m.source)
        };
        format!("{rule:<7} {file:<32} {}\n", m.what)
    };
    rows.into_iter().map(line).collect()
}

/// Builds the test program of all benches and gives its path.
///
/// # Errors
/// When it does not build.
pub fn benches(root: &Path) -> Result<PathBuf, MutantError> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["test", "-p", "testbenches", "--test", "blocks", "--no-run"]);
    let done = command.arg("--message-format=json").output().map_err(at(Path::new("cargo")))?;
    let messages = String::from_utf8_lossy(&done.stdout);
    let messages = messages.lines().filter_map(|l| serde_json::from_str(l).ok());
    let mut built = messages.filter(|m: &serde_json::Value| m["target"]["name"] == "blocks");
    let path = built.find_map(|m| m["executable"].as_str().map(PathBuf::from));
    let said = || String::from_utf8_lossy(&done.stderr).into_owned();
    path.filter(|_| done.status.success()).ok_or_else(|| MutantError::Benches(said()))
}

#[cfg(test)]
mod tests {
    use super::{Mutant, by_rule, parse, reason};

    fn row(row: &str) -> Result<Mutant, String> {
        let text = format!("# Faults of hdl/x.sv; the bench of y finds each of them.\n#\n{row}\n");
        parse("x", &text).map_err(|e| e.to_string()).map(|mut m| m.remove(0))
    }

    #[test]
    fn a_row_has_three_parts() {
        let mutant = row("one less |  a | b => c => d").expect("a row");
        assert_eq!((mutant.bench.as_str(), mutant.what.as_str()), ("y", "one less"));
        assert_eq!(mutant.apply("1; a | b;").expect("once"), "1;c => d;");
        let gone = row("nothing there |  && b =>").expect("a row");
        assert_eq!(gone.apply("a && b;").expect("once"), "a;");
        let error = row("no arrow | a").expect_err("no row");
        assert_eq!(error, "plant fixtures/mutants/x.txt:3: is no row `what | find => replace`");
    }

    /// A rule's fault is for the rule's tests: those of MSN-10 are not those of MSN-1.
    #[test]
    fn a_fault_against_a_rule_is_for_its_tests() {
        assert_eq!(row("MSN-1: all count | a => b").expect("a row").filter(), "msn_1_");
        assert_eq!(row("late: all count | a => b").expect("a row").filter(), "y::");
        assert_eq!(row("all count | a => b").expect("a row").filter(), "y::");
    }

    #[test]
    fn a_fault_names_its_rules() {
        let all = row("all count (SEG-2, RX-4) | a => b").expect("a row");
        assert_eq!(all.rules(), ["SEG-2", "RX-4"]);
        assert_eq!(row("MSN-1: all count | a => b").expect("a row").rules(), ["MSN-1"]);
        assert!(row("late: a call (of two) | a => b").expect("a row").rules().is_empty());
        let line = |rule| format!("{rule:<7} {:<32} all count (SEG-2, RX-4)\n", "hdl/x.sv");
        assert_eq!(by_rule(&[all]), line("RX-4") + &line("SEG-2"));
    }

    #[test]
    fn a_text_stands_there_once() {
        let mutant = row("any | a => b").expect("a row");
        let error = mutant.apply("a a").expect_err("twice").to_string();
        assert_eq!(error, "plant fixtures/mutants/x.txt:3: `a` stands there 2 times, wanted once");
        assert!(mutant.apply("c").is_err());
        assert!(row("any | a => a").expect("a row").apply("a").is_err());
    }

    #[test]
    fn a_failed_test_names_a_field() {
        assert_eq!(reason("Error: register room of window differs\n  model 1"), "register room");
        let label = "Error: window failed to hold: nic.sv:3: Assertion failed in top.Room_A: x";
        assert_eq!(reason(label), "assertion Room_A");
        assert_eq!(reason("thread 'a' panicked at b.rs:3:4:\nclock 3: sum\nnote"), "clock 3: sum");
    }
}
