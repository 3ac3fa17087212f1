//! The files of `hdl/`, and a check of each.

use std::fs;
use std::path::Path;
use std::thread;

/// The names of a folder's `*.sv` without the ending: packages first, `nic_pkg` before them.
pub fn sources(hdl: &Path) -> Vec<String> {
    let files = fs::read_dir(hdl).into_iter().flatten().flatten();
    let names = files.filter_map(|f| f.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter_map(|n| Some(n.strip_suffix(".sv")?.to_owned())).collect();
    names.sort_by_key(|n| (!is_package(n), n != "nic_pkg", n.clone()));
    names
}

/// Those that are modules.
pub fn modules(hdl: &Path) -> Vec<String> {
    sources(hdl).into_iter().filter(|n| !is_package(n)).collect()
}

/// Modules that hold instances and wires and no logic.
pub const TOPS: [&str; 3] = ["nic", "rc_requester", "rc_responder"];

/// Those that are blocks or cells.
pub fn blocks(hdl: &Path) -> Vec<String> {
    modules(hdl).into_iter().filter(|m| !TOPS.contains(&m.as_str())).collect()
}

/// Whether the name is a package's.
pub fn is_package(name: &str) -> bool {
    name.ends_with("_pkg")
}

/// Runs a check on each name, two at a time, and gives what it finds.
///
/// # Panics
/// When a check does.
pub fn each(names: &[String], check: impl Fn(&str) -> Option<String> + Sync) -> Vec<String> {
    let half = |first: usize| -> Vec<String> {
        names.iter().skip(first).step_by(2).filter_map(|n| check(n)).collect()
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| half(1));
        let mut found = half(0);
        found.extend(other.join().expect("a check panicked"));
        found
    })
}
