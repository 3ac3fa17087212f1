//! What README shows is what a newcomer gets.

use std::fs;
use std::process::Command;

use crate::common::project;

/// The first command's table: each line that README prints, but for `...`, is one of the run's.
#[test]
fn the_first_command_prints_what_readme_shows() {
    let readme = fs::read_to_string(project("README.md")).expect("README");
    let (_, behind) = readme.split_once("```\nclocks ").expect("the table of a run");
    let (table, _) = behind.split_once("```").expect("its end");
    let shown: Vec<_> =
        format!("clocks {table}").lines().map(str::to_owned).filter(|l| l != "  ...").collect();
    assert!(shown.len() > 8, "{shown:?}");

    let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
    command.current_dir(project("")).args(["run", "fixtures/scenarios/first_write.toml"]);
    let output = command.output().expect("the program has run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in shown {
        assert!(printed.lines().any(|l| l == line), "README shows `{line}` of:\n{printed}");
    }
}
