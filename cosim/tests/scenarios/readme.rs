//! What README shows is what a newcomer gets.

use std::fs;
use std::process::Command;

use crate::common::project;

/// A line as it is on every machine.
fn anywhere(line: &str) -> String {
    match line.split_whitespace().collect::<Vec<_>>()[..] {
        ["speed", _, "kHz", ..] => "speed".to_owned(),
        _ => line.to_owned(),
    }
}

/// The first command's table: what README prints of it, `...` for messages beside, is what the run
/// prints, line by line.
#[test]
fn the_first_command_prints_what_readme_shows() {
    let readme = fs::read_to_string(project("README.md")).expect("README");
    let (_, behind) = readme.split_once("```\nclocks ").expect("the table of a run");
    let (table, _) = behind.split_once("```").expect("its end");
    let shown: Vec<_> =
        format!("clocks {table}").lines().filter(|l| *l != "  ...").map(anywhere).collect();
    assert!(shown.len() > 8, "{shown:?}");

    let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
    command.current_dir(project("")).args(["run", "fixtures/scenarios/first_write.toml"]);
    let output = command.output().expect("the program has run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(anywhere).collect();
    let listed = |line: &String| line.contains(" -> ") && line.contains("posted");
    let kept: Vec<_> = printed.into_iter().filter(|l| !listed(l) || shown.contains(l)).collect();
    assert_eq!(kept.iter().filter(|l| listed(l)).count(), 1, "a message is shown");
    assert_eq!(kept, shown);
}
