//! An assertion of the RTL that fails ends the run, and is told with its name, NIC and clock.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{message, project, scenario};

/// A copy of the RTL in which no header that begins takes room at the host (PCI-4).
fn faulty(folder: &Path) {
    const TAKES: &str = "regs_d.far_hdr + 28'd1;";
    for file in fs::read_dir(project("hdl")).expect("hdl").flatten() {
        let mut text = fs::read_to_string(file.path()).expect("a file");
        if file.file_name() == "pcie_link.sv" {
            assert_eq!(text.matches(TAKES).count(), 1);
            text = text.replace(TAKES, "regs_d.far_hdr;");
        }
        fs::write(folder.join(file.file_name()), text).expect("a file");
    }
}

/// Exit code, what is printed, and what is said.
fn nicstep(hdl: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
    let out = command.env("NICSTEP_HDL", hdl).args(args).output().expect("runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("is text");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// The fault breaks a balance in the clock before the twins differ: a run says which, where and
/// when, and shows the ports of the block and the waves that led there; a soak says it too.
#[test]
fn a_failed_assertion_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let hdl = folder.path().join("hdl");
    fs::create_dir(&hdl).expect("a folder");
    faulty(&hdl);
    let path = folder.path().join("t.toml");
    let text = scenario("limit = \"50us\"\nbuild = \"small\"", &message("9KB", ""));
    fs::write(&path, text).expect("a file");

    let out_folder = folder.path().join("out");
    let run = ["run", &path.to_string_lossy(), "--out", &out_folder.to_string_lossy()];
    let (code, out, err) = nicstep(&hdl, &run);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("outcome        assertion\n"), "{out}");
    let head = "nicstep: NIC a failed to hold the assertions of the RTL at clock ";
    let clock = err.strip_prefix(head).and_then(|rest| rest.split_once(":\n"));
    let clock: u64 = clock.expect(&err).0.parse().expect(&err);
    assert!((100..2_000).contains(&clock), "{err}");
    assert!(err.contains("u_pcie_link.FarHdrBalance_A"), "{err}");
    assert!(err.contains("Ports of u_pcie_link in the last 10 clocks:\n"), "{err}");
    let rows = err.lines().skip_while(|l| !l.starts_with("Ports of")).skip(2).take(10);
    let clocks = rows.map(|l| l.split_whitespace().next().unwrap_or("").to_owned());
    assert!(clocks.eq((clock - 9..=clock).map(|n| n.to_string())), "{err}");
    assert!(fs::read(out_folder.join("waves.fst")).expect("waves").len() > 1_000);

    let soak = ["soak", "nic", "--seeds", "1", "--each", "1000"];
    let (code, out, err) = nicstep(&hdl, &soak);
    assert_eq!(code, Some(1), "{out}{err}");
    let told = out.lines().position(|l| {
        l.starts_with("seed 1: NIC a failed to hold the assertions of the RTL at clock ")
    });
    let told = out.lines().skip(told.expect(&out)).collect::<Vec<_>>().join("\n");
    assert!(told.contains("u_pcie_link.FarHdrBalance_A"), "{told}");
}
