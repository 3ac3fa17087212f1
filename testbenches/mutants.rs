//! The benches can fail: a fault planted in each file of `hdl/` is found by the file's bench.
//!
//! One fault a file here, drawn with a fixed seed; `nicstep mutate` plants all of them.

use std::collections::BTreeSet;
use std::{env, fs};

use cosim::mutants::{self, Mutant};
use testbenches::{Rng, hdl, oracle};
use verilated::project_root;

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
