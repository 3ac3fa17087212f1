//! The keys of a scenario: those that the parser takes, those that have a rule, and those that
//! docs/scenarios.md describes are the same, and values stop where it says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cosim::keys::{FAULT, MESSAGE, NIC, PARAMETERS, SWITCH, TOP};

use crate::common::{message, project, scenario, try_settings};

type Keys = BTreeSet<String>;

/// Tables within a NIC.
const INNER: [&str; 5] =
    ["Downlink", "EgressBufferManager", "IngressBufferManager", "PCIe", "HostPCIe"];

/// Keys that are taken apart only to be refused with the place where they belong.
const REFUSED: [(&str, &str); 12] = [
    ("PCIe.DrainDelay", "\"1ns\""),
    ("PCIe.DrainStops", "\"1ns\""),
    ("PCIe.Disorder", "\"1ns\""),
    ("PCIe.Latency", "\"1ns\""),
    ("PCIe.RCB", "64"),
    ("PCIe.SourceBase", "0x20000000"),
    ("PCIe.TargetBase", "0x20000000"),
    ("HostPCIe.ReadRequestSize", "\"64B\""),
    ("EgressBufferManager.PFCEnableVector", "[1]"),
    ("EgressBufferManager.PfcStaticXoffThreshold", "[0.5]"),
    ("EgressBufferManager.PfcXonResumeThreshold", "[0.5]"),
    ("EgressBufferManager.QuantaValue", "[1]"),
];

/// A scenario with a line in one of its tables.
fn with(table: &str, line: &str) -> String {
    let after = |needle: &str, text: String| text.replacen(needle, &format!("{needle}\n{line}"), 1);
    let rest = "[[fault]]\nnic = \"a\"\nkind = \"near-misses\"\n[SimulationParameters]\n";
    let whole = scenario("limit = \"50us\"\n[defaults]", &(message("1B", "") + rest));
    match table {
        "" => format!("{line}\n{whole}"),
        "nic" => after("[defaults]", whole),
        "message" | "fault" => after(&format!("[[{table}]]"), whole),
        "switch" => format!("{whole}[[switch]]\n{line}\n"),
        _ => format!("{whole}{line}\n"),
    }
}

/// The keys that the parser names when it meets one that there is not.
fn parsed(table: &str, prefix: &str) -> Keys {
    let error = try_settings(&with(table, &format!("{prefix}zz = 1"))).expect_err("no such key");
    assert!(error.what.starts_with("unknown field `zz`"), "{error}");
    let quoted = error.what.split('`').skip(3).step_by(2);
    quoted.map(|key| format!("{prefix}{key}")).collect()
}

fn names(keys: &[(&str, &str)]) -> Keys {
    keys.iter().map(|(key, _)| (*key).to_owned()).collect()
}

/// The tables of a scenario by name, with their keys.
const TABLES: [(&str, &[(&str, &str)]); 6] = [
    ("", TOP),
    ("nic", NIC),
    ("message", MESSAGE),
    ("fault", FAULT),
    ("switch", SWITCH),
    ("SimulationParameters", PARAMETERS),
];

#[test]
fn every_key_that_is_taken_has_a_rule() {
    for (table, keys) in TABLES {
        let mut taken = parsed(table, "");
        for inner in INNER.into_iter().filter(|_| table == "nic") {
            assert!(taken.remove(inner));
            taken.extend(parsed(table, &format!("{inner}.")));
        }
        for (key, value) in REFUSED.into_iter().filter(|_| table == "nic") {
            assert!(taken.remove(key), "{key}");
            let error = try_settings(&with(table, &format!("{key} = {value}"))).expect_err(key);
            assert_eq!(error.key, format!("defaults.{key}"), "{error}");
        }
        assert_eq!(taken, names(keys), "{table}");
    }
}

/// A row of a table of keys in docs/scenarios.md: the table that its keys are in, the keys, what
/// the last columns say.
struct Row {
    table: &'static str,
    keys: Vec<String>,
    values: String,
    rule: Option<String>,
}

/// Cells of a line, those at its ends left out.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(project("docs/scenarios.md")).expect("is there");
    let (mut section, mut head, mut rows) = ("", Vec::new(), Vec::new());
    for line in text.lines() {
        section = line.strip_prefix("## ").unwrap_or(section);
        if !line.starts_with('|') {
            head.clear();
        } else if head.is_empty() {
            head = cells(line);
        } else if !line.starts_with("|---") && head[0] == "key" {
            let row = cells(line);
            let cell = |name| head.iter().position(|h| *h == name).map(|n| row[n].to_owned());
            let table = match (section, cell("where").as_deref()) {
                ("Top level", _) => "",
                ("Attributes of a NIC", _) | (_, Some("NIC")) => "nic",
                ("Messages", _) => "message",
                ("The switch", _) => "switch",
                ("Faults", _) => "fault",
                (_, Some("`[SimulationParameters]`")) => "SimulationParameters",
                other => panic!("{other:?}: keys of which table?"),
            };
            let keys = row[0].split('`').skip(1).step_by(2);
            let keys = keys.map(|key| key.trim_matches(['[', ']']).to_owned()).collect();
            let values = cell("values").unwrap_or_default();
            rows.push(Row { table, keys, values, rule: cell("rule") });
        }
    }
    rows
}

#[test]
fn every_key_that_is_taken_is_described() {
    let mut described: BTreeMap<_, Keys> = BTreeMap::new();
    for row in rows() {
        described.entry(row.table).or_default().extend(row.keys);
    }
    for (table, keys) in TABLES {
        assert_eq!(described[table], names(keys), "{table}");
    }
}

#[test]
fn the_rules_of_a_nics_keys_are_those_described() {
    for Row { keys, rule, .. } in rows() {
        for (key, rule) in keys.iter().filter_map(|key| Some((key, rule.as_ref()?))) {
            let (_, own) = NIC.iter().find(|(name, _)| name == key).expect("has a rule");
            assert!(rule.split(", ").any(|r| r == *own), "{key}: {rule}, and {own}");
        }
    }
}

/// What else a rule of the switch needs to have a key.
fn needs(key: &str) -> &'static str {
    match key {
        "copies" => "action = \"duplicate\"\n",
        "frames" | "most_frames" => "action = \"reorder\"\n",
        "quanta" => "action = \"pause\"\nto = \"a\"\nclasses = [0]\n",
        "classes" => "action = \"pause\"\nto = \"a\"\n",
        _ => "action = \"drop\"\n",
    }
}

/// A border as a number and its unit.
fn border(text: &str) -> (i128, &str) {
    if let Some(hex) = text.strip_prefix("0x") {
        return (i128::from_str_radix(hex, 16).expect("hexadecimal"), "");
    }
    let unit = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..unit].parse().expect("a number"), &text[unit..])
}

/// Where a row says "from … to …" both are taken, and their neighbours outside are not.
#[test]
fn values_stop_where_it_is_described() {
    let mut tried = 0;
    for row in rows() {
        let parts: Vec<_> = row.values.split('`').collect();
        let [before, low, " to ", high, ..] = parts[..] else { continue };
        for key in &row.keys {
            let set = |(number, unit): (i128, &str)| {
                let value = if unit.is_empty() {
                    number.to_string()
                } else {
                    format!("\"{number}{unit}\"")
                };
                let value = if before == "each " { format!("[{value}, {value}]") } else { value };
                let more = if row.table == "switch" { needs(key) } else { "" };
                let line = format!("{more}{key} = {value}");
                let text = with(row.table, &line);
                // The line stands beside the message's own key of that name.
                let text =
                    if key == "bytes" { text.replacen("\nbytes = \"1B\"", "", 1) } else { text };
                (line, try_settings(&text))
            };
            let (mut inside, mut outside) = (vec![], vec![]);
            for (text, step) in [(low, -1), (high, 1)] {
                if text.starts_with(|c: char| c.is_ascii_digit()) {
                    let (number, unit) = border(text);
                    inside.push((number, unit));
                    outside.push((number + step, unit));
                }
            }
            for (line, settled) in inside.into_iter().map(set) {
                // Another rule may forbid it beside what the scenario has; its range does not.
                let fits = settled.err().is_none_or(|e| !e.what.contains("is not from"));
                assert!(fits, "{line} is described and refused");
            }
            for (line, settled) in outside.into_iter().map(set) {
                let error = settled.err().unwrap_or_else(|| panic!("{line} is taken"));
                assert!(
                    error.key.contains(key.rsplit('.').next().expect("a part")),
                    "{line}: {error}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 80, "{tried} borders");
}
