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

/// Rules whose tests fail under a fault of either twin, each of which a row names.
const BOTH: [&str; 8] = ["MSN-1", "MSN-2", "MSN-3", "MSN-4", "MSN-5", "MSN-6", "MSN-7", "MSN-8"];

/// `nicstep mutate --model` plants those of the model.
#[test]
fn every_row_of_the_model_stands_in_its_file_once() {
    let root = project_root();
    let (rtl, model) = (mutants::all(&root), mutants::model::all(&root));
    let (rtl, model) = (rtl.expect("rows"), model.expect("rows"));
    for mutant in &model {
        let text = fs::read_to_string(mutants::model::source(&root, mutant)).expect("a source");
        mutant.apply(&text).map_or_else(|e| panic!("failed to {e}"), drop);
    }
    for rule in BOTH {
        let names = |m: &Mutant| m.what.starts_with(&format!("{rule}: "));
        let found = [&rtl, &model].map(|all| all.iter().any(names));
        assert_eq!(found, [true, true], "{rule}: a fault of the RTL, a fault of the model");
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
