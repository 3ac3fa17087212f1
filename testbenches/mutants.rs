//! The benches can fail: a fault planted in each file of `hdl/` is found by the file's bench.
//!
//! One fault a file here, drawn with a fixed seed; `nicstep mutate` plants all of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

use cosim::mutants::{self, Mutant};
use testbenches::{Rng, hdl, oracle};
use verilated::project_root;

use crate::rooms::{RULES, shown, tests};

#[test]
fn every_row_stands_in_its_file_once() {
    let root = project_root();
    let all = mutants::all(&root).expect("rows");
    for mutant in &all {
        let path = root.join(format!("hdl/{}.sv", mutant.source));
        let text = fs::read_to_string(&path).expect("a source");
        mutant.apply(&text).map_or_else(|e| panic!("failed to {e}"), drop);
    }
    let with_faults: BTreeSet<_> = all.iter().map(|m| m.source.clone()).collect();
    let blocks = hdl::blocks(&root.join("hdl")).into_iter();
    let without: Vec<_> = blocks.filter(|m| !with_faults.contains(m)).collect();
    assert!(without.is_empty(), "no fault is planted in {without:?}");
}

/// Rules that neither twin keeps: settings against BUF-2 are refused before a run starts.
const NEITHER: [&str; 1] = ["BUF-2"];

/// A row breaks the rule, and what must find it names the rule.
fn breaks(mutant: &Mutant, rule: &str, benches: &Path) -> bool {
    if !mutant.rules().contains(&rule) {
        return false;
    }
    let filter = mutant.filter();
    if let Some(bench) = filter.strip_suffix("::") {
        let path = benches.join(format!("{bench}.rs"));
        return shown(rule, &fs::read_to_string(path).unwrap_or_default());
    }
    let names = |line: &str| line.starts_with("fn ") && line.contains(&filter);
    tests(benches).lines().any(names)
}

/// `nicstep mutate --rules` lists them.
#[test]
fn every_rule_has_a_fault_in_each_twin() {
    let root = project_root();
    let (rtl, model) = (mutants::all(&root), mutants::model::all(&root));
    for (folder, all) in [("mutants", rtl), ("mutants_model", model)] {
        let all = all.expect("rows");
        let rules = RULES.split_whitespace().filter(|rule| !NEITHER.contains(rule));
        let broken = |rule: &str| all.iter().any(|m| breaks(m, rule, &root.join("testbenches")));
        let without: Vec<_> = rules.filter(|rule| !broken(rule)).collect();
        assert!(without.is_empty(), "fixtures/{folder}/ has no row, or its bench not: {without:?}");
    }
}

/// `nicstep mutate --model` plants those of the model.
#[test]
fn every_row_of_the_model_stands_in_its_file_once() {
    let root = project_root();
    for mutant in mutants::model::all(&root).expect("rows") {
        let text = fs::read_to_string(mutants::model::source(&root, &mutant)).expect("a source");
        mutant.apply(&text).map_or_else(|e| panic!("failed to {e}"), drop);
    }
}

#[test]
fn a_fault_in_every_file_is_found() {
    let root = project_root();
    let all = mutants::all(&root).expect("rows");
    let files: BTreeSet<_> = all.iter().map(|m| m.source.clone()).collect();
    let mut rng = Rng::new(1, "mutants");
    let pick = |file: &String| -> Mutant {
        let rows: Vec<_> = all.iter().filter(|m| m.source == *file).collect();
        rows[rng.below(rows.len() as u64) as usize].clone()
    };
    let mut drawn: Vec<_> = files.iter().map(pick).collect();
    drawn.push(Mutant::comment("window", "window"));
    let program = env::current_exe().expect("this program");
    let verdicts = mutants::run_all(&drawn, &root.join("hdl"), &program, 2, |_| ());
    let verdicts = verdicts.unwrap_or_else(|e| panic!("failed to {e}"));
    let wrong = drawn.iter().zip(&verdicts).filter(|(m, v)| !mutants::right(m, v)).count();
    let table = mutants::table(&drawn, &verdicts);
    assert!(wrong == 0, "{table}");
    oracle::say(&format!("{} faults planted, each found by its bench", files.len()));
}
