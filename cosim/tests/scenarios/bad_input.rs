//! What users, hosts and networks do wrong: each is told or counted by its reason, and what is
//! right goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cosim::record::Recorder;
use cosim::settings::Settings;
use cosim::wire::{Assembler, WireBeat};
use cosim::world::World;

use crate::common::{PAIR, agrees, lockstep, message, nics, scenario, settings};

fn nicstep(scenario: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
    command.arg("run").arg(scenario).args(["--model-only"]).args(more);
    command.output().expect("nicstep runs")
}

/// Runs a text; gives the exit code and what stands on the error output, the file's folder cut off.
fn told(text: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.toml");
    fs::write(&path, text).expect("written");
    let output = nicstep(&path, &[]);
    let err = String::from_utf8(output.stderr).expect("is text");
    (output.status.code(), err.replace(&format!("{}/", folder.path().display()), ""))
}

/// A text with one line wrong: the line, the key, what the message says of it.
struct Wrong {
    text: String,
    line: &'static str,
    key: &'static str,
    says: &'static [&'static str],
}

/// A line among the attributes of both NICs.
fn head(line: &'static str, key: &'static str, says: &'static [&'static str]) -> Wrong {
    let text = scenario(&format!("limit = \"50us\"\n[defaults]\n{line}"), &message("1B", ""));
    Wrong { text, line, key, says }
}

/// A line above all tables.
fn top(line: &'static str, key: &'static str, says: &'static [&'static str]) -> Wrong {
    let limit = if line.starts_with("limit") { "" } else { "limit = \"50us\"\n" };
    Wrong { text: scenario(&format!("{limit}{line}"), &message("1B", "")), line, key, says }
}

/// A line of the message.
fn posted(line: &'static str, key: &'static str, says: &'static [&'static str]) -> Wrong {
    Wrong { text: scenario("limit = \"50us\"", &message("1B", line)), line, key, says }
}

/// A rule of the switch.
fn ruled(line: &'static str, key: &'static str, says: &'static [&'static str]) -> Wrong {
    let text = scenario("limit = \"50us\"", &(message("1B", "") + "[[switch]]\n" + line));
    Wrong { text, line, key, says }
}

/// The lines of the second NIC.
fn nic(line: &'static str, key: &'static str, says: &'static [&'static str]) -> Wrong {
    let pair = PAIR.replacen("name = \"b\"\naddress = \"10.0.0.2\"", line, 1);
    Wrong { text: format!("limit = \"50us\"\n{pair}"), line: "[[nic]]", key, says }
}

fn wrong() -> Vec<Wrong> {
    vec![
        // Keys that do not exist, and values that are no values.
        head("MMS = 4096", "MMS", &["unknown field `MMS`", "MSS"]),
        top("limt = \"5us\"", "limt", &["unknown field"]),
        head("PCIe.Lanes = 16", "PCIe.Lanes", &["unknown field `Lanes`", "LaneCount"]),
        head("MSS = \"large\"", "MSS", &["invalid type"]),
        head("MSS = -1", "MSS", &["invalid value"]),
        head("MSS 4096", "MSS 4096", &[]),
        // Units.
        top("limit = \"5KB\"", "limit", &["`5KB` is not a time", "ns"]),
        head("DataRate = \"400\"", "DataRate", &["`400` is not a rate", "Gbps"]),
        head("Delay = \"0.0001ns\"", "Delay", &["finer than"]),
        head("Delay = \"1.5ns\"", "Delay", &["whole number of clocks"]),
        // Sizes and rates that cannot work.
        top("limit = \"0ns\"", "limit", &["at least one clock"]),
        head("MSS = 0", "MSS", &["0 is not from 1 to 8192", "SEG-1"]),
        head("MSS = 8193", "MSS", &["8193 is not from 1 to 8192", "SEG-1"]),
        head("MaxPSNRange = 1025", "MaxPSNRange", &["1025 is not from 1 to 1024", "SEG-2"]),
        head("InitialPSN = 16777216", "InitialPSN", &["0 to 16777215", "QP-4"]),
        head("MaxCongestionWindow = 0", "MaxCongestionWindow", &["CC-1"]),
        head("Delay = \"0ns\"", "Delay", &["at least a clock", "PKT-2"]),
        head("DataRate = \"500Gbps\"", "DataRate", &["more than the bus carries", "PKT-2"]),
        head("DataRate = \"1bps\"", "DataRate", &["whole number of units", "PKT-2"]),
        head("PCIe.LaneCount = 33", "LaneCount", &["33 is not from 1 to 32", "PCI-2"]),
        head("PCIe.LaneBps = \"64Gbps\"", "LaneCount × LaneBps", &["bus carries", "PCI-2"]),
        head("HostPCIe.RCB = 96", "RCB", &["64 or 128", "PCI-5"]),
        head("PCIe.TXDataBufferSize = \"511B\"", "TXDataBufferSize", &["511 B", "PCI-4"]),
        head("PCIe.TXHeaderBufferSize = \"15B\"", "TXHeaderBufferSize", &["15 B", "PCI-4"]),
        // Messages and NICs.
        posted("count = 2\noutstanding = 0", "outstanding", &["0 is not from 1", "QP-2"]),
        posted("at = \"2us\"\nuntil = \"2us\"", "until", &["is not later than `at`"]),
        posted("most = \"0B\"", "most", &["0 B is less than `bytes`, 1 B", "QP-2"]),
        posted("most = \"2147483648B\"", "most", &["2147483648 B", "QP-2"]),
        nic("name = \"a\"\naddress = \"10.0.0.2\"", "name", &["two NICs are called `a`", "QP-1"]),
        nic("name = \"b\"\naddress = \"10.0.0.1\"", "address", &["have the address", "QP-1"]),
        nic("name = \"b\"", "address", &["needs an IPv4 address", "QP-1"]),
        nic("address = \"10.0.0.2\"", "name", &["needs a name", "QP-1"]),
        // The switch.
        ruled("action = \"lose\"", "action", &["unknown variant `lose`", "drop"]),
        ruled("action = \"drop\"\nfrm = \"a\"", "frm", &["unknown field `frm`", "from"]),
        ruled("action = \"drop\"\nto = \"c\"", "to", &["no NIC `c`", "QP-1"]),
        ruled("action = \"drop\"\nkind = \"CNP\"", "kind", &["`CNP` is not a kind", "`data`"]),
        ruled("action = \"drop\"\npsn = 16777216", "psn", &["0 to 16777215", "QP-2"]),
        ruled("action = \"drop\"\nprobability = 1.01", "probability", &["more than 1"]),
        ruled("action = \"drop\"\nprobability = -0.5", "probability", &["decimal number"]),
        ruled("action = \"drop\"\nby = \"1ns\"", "by", &["no meaning for drop", "switch"]),
        ruled("action = \"drop\"\nevery = 0", "every", &["0 is not from 1"]),
        ruled("action = \"delay\"", "by", &["a delay needs it"]),
        ruled("action = \"delay\"\nby = \"2ns\"\nmost = \"1ns\"", "most", &["less than `by`"]),
        ruled("action = \"trim\"\nkind = \"ACK\"", "kind", &["only data", "PKT-3"]),
        ruled("action = \"mark\"\nmessage = 1\nkind = \"SACK\"", "kind", &["only data", "PKT-3"]),
        ruled("to = \"a\"\naction = \"pause\"", "classes", &["a pause needs it", "PFC-4"]),
        ruled("to = \"a\"\naction = \"pause\"\nclasses = [8]", "classes", &["0 to 7", "PFC-4"]),
        head("Downlink.DataRate = \"500Gbps\"", "DataRate", &["bus carries", "PKT-2"]),
        head("Downlink.BufferSize = \"0B\"", "BufferSize", &["0 B is not from 1"]),
        nic(
            "name = \"b\"\naddress = \"10.0.0.2\"\nICRCEnable = true",
            "ICRCEnable",
            &["sends none", "PKT-1"],
        ),
        head(
            "RTTTimestampMode = \"Wire\"",
            "RTTTimestampMode",
            &["unknown variant", "WireTimestamp"],
        ),
        nic(
            "name = \"b\"\naddress = \"10.0.0.2\"\nRTTTimestampMode = \"WireTimestamp\"",
            "RTTTimestampMode",
            &["at the other NIC", "RTT-1"],
        ),
        Wrong {
            text: scenario(
                "profile = \"uet\"\nlimit = \"50us\"\n[defaults]\n\
                 RTTTimestampMode = \"WireTimestamp\"",
                &message("1B", ""),
            ),
            line: "RTTTimestampMode = \"WireTimestamp\"",
            key: "RTTTimestampMode",
            says: &["profile `uet`", "section 0"],
        },
    ]
}

/// BUF-1, BUF-2, ARB-2, PFC-1, BUF-6, case 19: attributes of the two buffers.
fn wrong_buffers() -> Vec<Wrong> {
    let egress = "EgressBufferManager";
    let pools = "PoolAllocationVector";
    let sched = "EgressBufferManager.QueueSchedulingType";
    let (weights, low) = ("WRRQueueWeights", "ReceiverCongestionLowThreshold");
    vec![
        // Pools of the wrong shape.
        head("EgressBufferManager.PoolAllocationVector = [1]", pools, &["0 and 1", "BUF-1"]),
        head("EgressBufferManager.PoolAllocationVector = [0.5, 0, 0.5]", pools, &["BUF-1"]),
        head("EgressBufferManager.PoolAllocationVector = [0, 1]", pools, &["BUF-1"]),
        head("EgressBufferManager.PoolAllocationVector = [0.5, -0.5]", pools, &["BUF-1"]),
        head("EgressBufferManager.PoolAllocationVector = [0.5, \"x\"]", pools, &["BUF-1"]),
        head("EgressBufferManager.TotalBufferSize = \"0B\"", "TotalBufferSize", &["BUF-1"]),
        head(
            "EgressBufferManager.PoolAllocationVector = [0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]",
            pools,
            &["at most 8 shares", "BUF-1"],
        ),
        head("IngressBufferManager.PoolAllocationVector = [1, 0]", pools, &["BUF-1"]),
        // Disciplines, pauses, thresholds.
        top("profile = \"udp\"", "profile", &["unknown variant", "uet"]),
        head("EgressBufferManager.QueueSchedulingType = \"Fifo\"", sched, &["WeightedRoundRobin"]),
        head("EgressBufferManager.WRRQueueWeights = [1, 0]", weights, &["class 1", "ARB-2"]),
        head("EgressBufferManager.WRRQueueWeights = [0, 5]", weights, &["class 0", "ARB-2"]),
        head("EgressBufferManager.WRRQueueWeights = [1, 256]", weights, &["0 to 255", "ARB-2"]),
        head(
            "EgressBufferManager.PFCEnableVector = [1]",
            "EgressBufferManager.PFCEnableVector",
            &["sent by the ingress buffer's pools", "PFC-1"],
        ),
        head(
            "IngressBufferManager.PFCEnableVector = [1, 2]",
            "PFCEnableVector",
            &["2 is not from 0 to 1", "PFC-1"],
        ),
        head(
            "IngressBufferManager.PFCEnableVector = [0, 0, 1]",
            "PFCEnableVector",
            &["class 2 has no ingress pool", "PFC-1"],
        ),
        head(
            "IngressBufferManager.QuantaValue = [0]\nIngressBufferManager.PFCEnableVector = [1]",
            "QuantaValue",
            &["0 for class 0, which sends pauses", "PFC-1"],
        ),
        head("IngressBufferManager.QuantaValue = [65536]", "QuantaValue", &["0 to 65535", "PFC-1"]),
        head("ReceiverCongestionLowThreshold = \"x\"", low, &["not a decimal number", "BUF-6"]),
        // BUF-2: pools that would stop for ever, told at the NIC.
        nic(
            "name = \"b\"\naddress = \"10.0.0.2\"\n\
             EgressBufferManager.TotalBufferSize = \"4637B\"",
            egress,
            &["data pool of 4173 B < 4174 B", "BUF-2"],
        ),
        nic(
            "name = \"b\"\naddress = \"10.0.0.2\"\n\
             EgressBufferManager.PoolAllocationVector = [0.9, 0.00036]",
            egress,
            &["control pool of 92 B < 94 B", "BUF-2"],
        ),
        nic(
            "name = \"b\"\naddress = \"10.0.0.2\"\n\
             IngressBufferManager.TotalBufferSize = \"8MB\"",
            "IngressBufferManager",
            &["B of memory", "BUF-2"],
        ),
    ]
}

/// A line in place of the second NIC's name or address.
fn identified(line: &'static str, key: &'static str, says: &'static [&'static str]) -> Wrong {
    let own = if key.ends_with("name") { "name = \"b\"" } else { "address = \"10.0.0.2\"" };
    Wrong { text: format!("limit = \"50us\"\n{}", PAIR.replacen(own, line, 1)), line, key, says }
}

/// Values that cannot be, or that would change nothing.
fn inert() -> Vec<Wrong> {
    let pools = "IngressBufferManager.PoolAllocationVector";
    let (low, high) = ("ReceiverCongestionLowThreshold", "ReceiverCongestionHighThreshold");
    let named = |line| identified(line, "nic.name", &["letters, digits", "QP-1"]);
    let addressed = |line| identified(line, "nic.address", &["no address of one NIC", "QP-1"]);
    let mut all = vec![
        // Keys with the tables that they are in, whatever is wrong.
        head("MSS = \"large\"", "defaults.MSS", &["whole number", "SEG-1"]),
        head("PCIe.LaneCount = \"x\"", "defaults.PCIe.LaneCount", &["PCI-2"]),
        head("PCIe.LaneCount = 33", "defaults.PCIe.LaneCount", &["PCI-2"]),
        head("Downlink.DataRate = \"4\"", "defaults.Downlink.DataRate", &["PKT-2"]),
        head(
            "EgressBufferManager.TotalBufferSize = 5",
            "defaults.EgressBufferManager.TotalBufferSize",
            &["a size in quotes", "BUF-1"],
        ),
        posted("offset = 4096", "message.offset", &["4096 is not from 0 to 4095", "PCI-5"]),
        posted("one_qp = 1", "message.one_qp", &["boolean", "QP-1"]),
        posted("count = 0", "message.count", &["0 is less than 1", "docs/scenarios.md"]),
        top("build = \"tiny\"", "build", &["unknown variant `tiny`", "docs/scenarios.md"]),
        top("seed = -1", "seed", &["whole number", "docs/scenarios.md"]),
        // The two ends of the link.
        head("PCIe.RCB = 64", "defaults.PCIe.RCB", &["write HostPCIe.RCB", "PCI-5"]),
        head("PCIe.Latency = \"1ns\"", "PCIe.Latency", &["write HostPCIe.Latency", "PCI-1"]),
        head(
            "HostPCIe.ReadRequestSize = \"64B\"",
            "defaults.HostPCIe.ReadRequestSize",
            &["write PCIe.ReadRequestSize", "PCI-3"],
        ),
        // Buffers.
        head("IngressBufferManager.PoolAllocationVector = [1.5, 0.1]", pools, &["BUF-1"]),
        head("ReceiverCongestionHighThreshold = 100.5", high, &["more than 100", "BUF-6"]),
        head("ReceiverCongestionHighThreshold = 25", high, &["not below", "BUF-6"]),
        head("ReceiverCongestionLowThreshold = 75", low, &["not below", "BUF-6"]),
        nic(
            "name = \"b\"\naddress = \"10.0.0.2\"\n\
             IngressBufferManager.TotalBufferSize = \"4637B\"",
            "nic.IngressBufferManager",
            &["data pool of 4173 B < 4174 B", "RX-2"],
        ),
        nic(
            "name = \"b\"\naddress = \"10.0.0.2\"\n\
             IngressBufferManager.PoolAllocationVector = [0.9, 0.00002]",
            "nic.IngressBufferManager",
            &["control pool of 80 B < 94 B", "RX-2"],
        ),
        head(
            "MaxCongestionWindow = 4\nCongestionWindow = \"9000B\"",
            "defaults.CongestionWindow",
            &["give one of the two", "CC-1"],
        ),
    ];
    // Names and addresses.
    for line in ["name = \"\"", "name = \"../b\"", "name = \"b\\nc\"", "name = \".b\""] {
        all.push(named(line));
    }
    for line in [
        "address = \"0.0.0.0\"",
        "address = \"255.255.255.255\"",
        "address = \"224.0.0.1\"",
        "address = \"239.1.2.3\"",
    ] {
        all.push(addressed(line));
    }
    all.into_iter().chain(idle_rules()).collect()
}

/// Rules and faults that could never act.
fn idle_rules() -> Vec<Wrong> {
    let drop = |line, key, says| ruled(line, key, says);
    vec![
        drop("action = \"drop\"\nkind = \"zz\"", "switch.kind", &["`zz`", "docs/scenarios.md"]),
        drop("action = \"drop\"\nkind = [\"data\", 3]", "switch.kind", &["docs/scenarios.md"]),
        drop("action = \"drop\"\nkind = []", "switch.kind", &["never act"]),
        drop("action = \"drop\"\nkind = \"other\"", "switch.kind", &["`other` is not a kind"]),
        drop("action = \"drop\"\ncount = 0", "switch.count", &["0 is less than 1"]),
        drop("action = \"drop\"\nmessage = 1", "switch.message", &["1 messages, counted from 0"]),
        drop("action = \"drop\"\nfrom = \"a\"\nto = \"a\"", "switch.to", &["`from`"]),
        drop("action = \"trim\"\nfrom = \"b\"", "switch.from", &["no message"]),
        drop("action = \"mark\"\nkind = \"data\"\nto = \"a\"", "switch.to", &["no message"]),
        drop("action = \"drop\"\nuntil = \"0ns\"", "switch.until", &["not later than `after`"]),
        drop("action = \"drop\"\nafter = \"5ns\"\nuntil = \"5ns\"", "switch.until", &["`after`"]),
        drop("action = \"drop\"\nprobability = 0", "switch.probability", &["never act"]),
        drop("action = \"drop\"\nprobability = 0.0", "switch.probability", &["never act"]),
        drop("to = \"a\"\naction = \"pause\"\nclasses = []", "switch.classes", &["PFC-4"]),
        drop("to = \"a\"\nclasses = [1]\naction = \"pause\"\ncount = 0", "switch.count", &["less"]),
        faulty("nic = \"a\"\nkind = \"near-misses\"\ncount = 0", "fault.count", &["less than 1"]),
        faulty("kind = \"zz\"", "fault.kind", &["unknown variant `zz`", "docs/scenarios.md"]),
        faulty("nic = 3", "fault.nic", &["a string", "QP-1"]),
    ]
}

/// A fault.
fn faulty(line: &'static str, key: &'static str, says: &'static [&'static str]) -> Wrong {
    let text = scenario("limit = \"50us\"", &(message("1B", "") + "[[fault]]\n" + line));
    Wrong { text, line, key, says }
}

/// Keys that have to be there: the line is that of their table, or the first one.
#[test]
fn missing_keys_are_named_with_their_table() {
    let whole = scenario("build = \"small\"\nlimit = \"50us\"", &message("1B", ""));
    for (gone, table, key, rule) in [
        ("limit = \"50us\"\n", "", "limit", "docs/scenarios.md"),
        ("from = \"a\"\n", "[[message]]", "message.from", "QP-1"),
        ("to = \"b\"\n", "[[message]]", "message.to", "QP-1"),
        ("bytes = \"1B\"\n", "[[message]]", "message.bytes", "QP-2"),
        ("address = \"10.0.0.2\"\n", "[[nic]]", "nic.address", "QP-1"),
    ] {
        let text = whole.replacen(gone, "", 1);
        assert_ne!(text, whole, "{gone} stands there");
        let at = text.lines().collect::<Vec<_>>().iter().rposition(|l| *l == table);
        let line = if table.is_empty() { 1 } else { at.expect("stands there") + 1 };
        let (code, err) = told(&text);
        assert_eq!(code, Some(2), "{err}");
        let wanted = format!("nicstep: bad.toml:{line}: {key}: ");
        assert!(err.starts_with(&wanted), "{err}\nnot {wanted}");
        assert!(err.trim_end().ends_with(&format!("({rule})")), "{err}");
    }
}

/// What a NIC says of its window goes before what the defaults say, in packets or in bytes.
#[test]
fn a_nics_own_window_goes_before_the_defaults() {
    let pair = |own: &str| PAIR.replacen("name = \"b\"", &format!("name = \"b\"\n{own}"), 1);
    let text =
        |head: &str, own: &str| format!("limit = \"50us\"\n[defaults]\n{head}\n{}", pair(own));
    let window = |head, own| settings(&text(head, own)).nics.iter().map(|n| n.window).collect();
    let both: Vec<u64> = window("CongestionWindow = \"9000B\"", "MaxCongestionWindow = 2");
    assert_eq!(both, [9_000, 2 * (4_096 + 60)]);
    let both: Vec<u64> = window("MaxCongestionWindow = 2", "CongestionWindow = \"9000B\"");
    assert_eq!(both, [2 * (4_096 + 60), 9_000]);
}

/// A rule, a pause or a fault that did less than it was asked for is named at the end, and one that
/// did nothing; those that did what they were asked for are not.
#[test]
fn what_did_not_act_is_named_at_the_end() {
    let tables = "[[switch]]\naction = \"mark\"\nkind = \"data\"\ncount = 3\n\
                  [[switch]]\naction = \"drop\"\nkind = \"NACK\"\n\
                  [[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [7]\nquanta = 1\ncount = 2\n\
                  [[switch]]\naction = \"mark\"\nkind = \"SACK\"\n\
                  [[fault]]\nnic = \"a\"\nkind = \"late-completion\"\ncount = 3\n\
                  [[fault]]\nnic = \"b\"\nkind = \"near-misses\"\ncount = 4\n";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("idle.toml");
    fs::write(&path, scenario("limit = \"80us\"", &(message("1B", "") + tables))).expect("written");
    let output = nicstep(&path, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).expect("is text");
    let said: Vec<_> =
        out.lines().filter(|l| l.starts_with("switch ") || l.starts_with("fault ")).collect();
    assert_eq!(
        said,
        [
            "switch 1       mark: done 1 of 3",
            "switch 2       drop: never done",
            "fault 1        late-completion to a: done 1 of 3",
        ],
        "{out}"
    );
}

/// What goes nowhere is told before the run: exit code 2.
#[test]
fn orders_that_cannot_be_carried_out_are_refused_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("good.toml");
    fs::write(&path, scenario("limit = \"50us\"", &message("1B", ""))).expect("written");
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    let (good, below) = (path.display().to_string(), file.join("x").display().to_string());
    let orders: [&[&str]; 14] = [
        &["run", &good, "--model-only", "--hdl", "hdl"],
        &["run", &good, "--model-only", "--top", "nic"],
        &["run", &good, "--model-only", "-G", "QPS=16"],
        &["run", &good, "--model-only", "--out", &below],
        &["run", &good, "-G", "QPS"],
        &["run", &good, "-G", "NO_SUCH=3"],
        &["mutate", "--block", "window", "--jobs", "0"],
        &["soak", "nic", "--model-only", "--seeds", "0"],
        &["soak", "nic", "--model-only", "--clocks", "0"],
        &["soak", "nic", "--model-only", "--each", "0"],
        &["soak", "rc", "--model-only", "--seeds", "0"],
        &["soak", "rc", "--model-only", "--clocks", "0"],
        &["soak", "nic", "--model-only", "--out", &below],
        &["mutate", "--block", "no_such_block"],
    ];
    for order in orders {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
        let output = command.args(order).output().expect("nicstep runs");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{order:?}: {err}");
        assert!(output.stdout.is_empty(), "{order:?} ran");
    }
}

/// Every refusal is one line: file, line, key, what is wrong, and the rule.
#[test]
fn scenario_errors_name_file_line_key_and_rule() {
    for Wrong { text, line, key, says } in wrong().into_iter().chain(wrong_buffers()).chain(inert())
    {
        let (code, err) = told(&text);
        assert_eq!(code, Some(2), "{line}: {err}");
        assert_eq!(err.lines().count(), 1, "{line}: {err}");
        let wanted = line.lines().last().expect("a line");
        // Of several like it, the last one: the second NIC.
        let at = text.lines().collect::<Vec<_>>().iter().rposition(|l| *l == wanted);
        let place = format!("nicstep: bad.toml:{}: ", at.expect("stands in the text") + 1);
        assert!(err.starts_with(&place), "{line}: {err}\nnot {place}");
        assert!(err[place.len()..].split(": ").next().expect("a key").ends_with(key), "{err}");
        assert!(err.trim_end().ends_with(')'), "a rule: {err}");
        for part in says {
            assert!(err.contains(part), "{line}: {err}\nwithout {part}");
        }
    }
}

#[test]
fn files_and_nics_that_are_not_there_are_named() {
    let output = nicstep(Path::new("no/such.toml"), &[]);
    let err = String::from_utf8(output.stderr).expect("is text");
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.starts_with("nicstep: no/such.toml: ") && err.contains("cannot be read"), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");

    // The first of the NICs that are too many is named, each of which has three lines.
    for (count, line) in [(0, 1), (1, 2), (65, 2 + 3 * 64)] {
        let (code, err) = told(&format!("limit = \"50us\"{}", nics(count)));
        assert_eq!(code, Some(2), "{err}");
        let wanted = format!("bad.toml:{line}: nic: {count} NICs: a scenario joins 2 to 64 (QP-1)");
        assert_eq!(err.trim(), format!("nicstep: {wanted}"));
    }

    let stranger = scenario("limit = \"50us\"", &message("1B", "").replace("\"b\"", "\"c\""));
    let (code, err) = told(&stranger);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains(": message.to: there is no NIC `c` (QP-1)"), "{err}");
    let itself = scenario("limit = \"50us\"", &message("1B", "").replace("\"b\"", "\"a\""));
    let (_, err) = told(&itself);
    assert!(err.contains(": message.to: a NIC does not write to itself (QP-1)"), "{err}");
}

/// A limit that comes too soon: exit code 4, and who waits for what.
#[test]
fn a_limit_too_small_says_who_waits() {
    let text = scenario("limit = \"20us\"", &message("1MiB", ""));
    let (code, err) = told(&text);
    assert_eq!(code, Some(4), "{err}");
    assert!(err.contains("the limit of 20000 clocks came first"), "{err}");
    assert!(err.contains("message a to b, 1048576 B: SEND_COMPLETE"), "{err}");
    assert!(err.contains("  a: busy blocks: ") && err.contains("  b: busy blocks: "), "{err}");
}

type Counts = BTreeMap<String, u64>;

fn add(counts: &mut Counts, reason: &str) {
    *counts.entry(reason.to_owned()).or_default() += 1;
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// RX-1 byte by byte, and what becomes of frames that no NIC of the scenario has sent.
fn frame_reason(f: &[u8], own: [u8; 4], peers: &[[u8; 4]]) -> Option<&'static str> {
    if f.len() < 58 {
        return Some("Short");
    }
    let (body, fcs) = f.split_at(f.len() - 4);
    if crc32fast::hash(body).to_le_bytes() != fcs {
        return Some("Fcs");
    }
    match number(&f[12..14]) {
        0x8808 => return None,
        0x0800 => {}
        _ => return Some("EtherType"),
    }
    if f[..6] != [&[2, 0][..], &own].concat() {
        return Some("Mac");
    }
    if f[14] != 0x45 || number(&f[20..22]) & 0x3fff != 0 || f[23] != 17 {
        return Some("IpHeader");
    }
    let sum: u64 = f[14..34].chunks(2).map(number).sum();
    if (sum & 0xffff) + (sum >> 16) != 0xffff {
        return Some("IpSum");
    }
    if f[30..34] != own {
        return Some("IpAddr");
    }
    if number(&f[36..38]) != 4791 {
        return Some("Port");
    }
    let data = [0xc6, 0xc7, 0xc8, 0xca].contains(&f[42]);
    let trimmed = data && [12, 16].contains(&(f[15] >> 2));
    let length = match f[42] {
        _ if trimmed => f.len() == 62,
        _ if data => (78..=78 + 8192).contains(&f.len()),
        0xd1 => f.len() == 62,
        0xdc => f.len() == 94,
        0xdd => f.len() == 78,
        0xde => f.len() == 74,
        _ => return Some("Opcode"),
    };
    let datagram = f.len() as u64 - 18;
    if !length || number(&f[16..18]) != datagram || number(&f[38..40]) != datagram - 20 {
        return Some("Length");
    }
    // What follows hangs on the QPs; these scenarios open none of such numbers.
    match (number(&f[47..49]), data) {
        (_, true) if !peers.iter().any(|p| f[26..30] == *p) => Some("Peer"),
        // Also the NACK that a packet of 0x7fff draws: it comes to a NIC that has not sent that.
        (0xffff, _) | (0x7fff, false) => Some("Qp"),
        (0x7fff, true) if f[50] & 0x40 != 0 => Some("Psn"),
        _ => None,
    }
}

/// PCI-8, header by header: reasons of `tlp_parse`, and 0x11 for a completion that answers no read.
/// Gives also whether a write came through, and whether into the doorbell page.
fn tlp_reasons(header: [u32; 4], dws: u32) -> (Vec<u8>, Option<bool>) {
    let kind = header[0] >> 24;
    let length = match (kind & 0x40 != 0, header[0] & 0x3ff) {
        (false, _) => 0,
        (true, 0) => 1024,
        (true, n) => n,
    };
    let completion = matches!(kind, 0x0a | 0x4a) && header[0] & (1 << 23 | 1 << 19) == 0;
    let write = matches!(kind, 0x40 | 0x60);
    if !completion && !write {
        return (vec![1], None);
    }
    let first = (length <= 32) == (dws <= 32) && length.min(32) == dws.min(32);
    let addr = if kind == 0x60 { header[3] } else { header[2] } & 0xffc;
    let mut reasons = Vec::new();
    if completion && header[2] >> 15 & 1 == 1 {
        reasons.push(0x11);
    }
    if !first {
        reasons.push(2);
    } else if write && header[0] >> 14 & 1 == 1 {
        reasons.push(4);
    } else if write && addr + 4 * length > 4096 {
        reasons.push(5);
    } else if length != dws {
        reasons.push(2);
    }
    let addr = if kind == 0x60 { header[3] } else { header[2] };
    let through = write && reasons.is_empty();
    (reasons, through.then_some(addr & 0xf000 == 0x1000))
}

/// What the ports of one NIC have seen, and what that should count.
#[derive(Default)]
struct Expected {
    frame: Assembler,
    header: [u32; 4],
    dws: u32,
    lengths: BTreeMap<usize, u64>,
    /// DWs of TLPs.
    tlps: BTreeSet<u32>,
    dropped: Counts,
    bad: BTreeMap<u8, u64>,
    /// Writes that came through and are no work request: all, and those in the doorbell page.
    size: (u64, u64),
}

impl Expected {
    fn look(&mut self, world: &World, n: usize) {
        let i = &world.nodes[n].inputs;
        let addresses: Vec<_> = world.settings.nics.iter().map(|s| s.address.octets()).collect();
        if i.wire_valid {
            let beat = WireBeat {
                sop: i.wire_sop,
                eop: i.wire_eop,
                bytes: i.wire_bytes,
                data: i.wire_data,
            };
            if let Some(frame) = self.frame.beat(&beat) {
                *self.lengths.entry(frame.len()).or_default() += 1;
                if let Some(reason) = frame_reason(&frame, addresses[n], &addresses) {
                    add(&mut self.dropped, reason);
                }
            }
        }
        if i.rx_valid && world.clock > world.boot {
            if i.rx.sop {
                let [low, high] = i.rx.hdr.0;
                self.header = [low, low >> 32, high, high >> 32].map(|w| w as u32);
                self.dws = 0;
            }
            self.dws += u32::from(i.rx.dws);
            if i.rx.eop {
                self.tlps.insert(self.dws);
                let (reasons, written) = tlp_reasons(self.header, self.dws);
                for reason in reasons {
                    *self.bad.entry(reason).or_default() += 1;
                }
                // Whole writes of 64 B are the drivers' and `bad-doorbells`'.
                let odd = written.filter(|_| self.header[1] & 1 == 0);
                self.size.0 += u64::from(odd.is_some());
                self.size.1 += u64::from(odd == Some(true));
            }
        }
    }
}

/// Runs in lockstep; holds the counters of both NICs against what their ports have seen.
fn counted(settings: &Settings) -> (World, Recorder, Vec<Expected>) {
    let mut recorder = Recorder::new(&World::new(settings), None).expect("counts only");
    let mut seen = vec![Expected::default(), Expected::default()];
    let checked = lockstep(settings, &mut recorder, |world| {
        seen.iter_mut().enumerate().for_each(|(n, s)| s.look(world, n));
    });
    for (seen, counts) in seen.iter().zip(&recorder.counts) {
        assert_eq!(seen.dropped, counts.dropped);
        assert_eq!(seen.bad, counts.bad_tlps);
    }
    (checked.world, recorder, seen)
}

/// Every message that was not refused arrived whole, with one completion of each kind.
fn all_whole(world: &World) {
    let driver = &world.driver;
    let taken = driver.messages.iter().filter(|m| m.refused.is_none());
    for m in taken.clone() {
        assert!(m.done.iter().all(Option::is_some), "{m:?}");
    }
    assert_eq!(driver.intact as usize, taken.count());
    assert_eq!((driver.corrupted.len(), driver.stray_entries), (0, 0));
    for node in &world.nodes {
        let counts = node.host.counts;
        assert_eq!((counts.stray_reads, counts.stray_writes, counts.unknown), (0, 0, 0));
    }
}

/// Small messages each way, one after the other, beside which the faults come.
fn beside(build: &str, faults: &str) -> Settings {
    let one = message("0B", "most = \"6000B\"\ncount = 10\noutstanding = 1\noffset = 3");
    let other = one.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
    let head = format!("limit = \"200us\"\nbuild = \"{build}\"");
    settings(&scenario(&head, &format!("{one}{other}{faults}")))
}

fn fault(nic: &str, kind: &str, count: u64) -> String {
    format!("[[fault]]\nnic = \"{nic}\"\nkind = \"{kind}\"\ncount = {count}\n")
}

/// RX-1, RX-3, RX-4, RX-5: frames of every length from 0 to 200, and frames with one thing wrong.
#[test]
fn rx_1_bad_frames_are_counted_by_reason_beside_traffic() {
    for build in ["small", "default"] {
        let faults =
            ["a", "b"].map(|n| fault(n, "garbage-frames", 201) + &fault(n, "near-misses", 320));
        let (world, recorder, seen) = counted(&beside(build, &faults.concat()));
        all_whole(&world);
        for (seen, counts) in seen.iter().zip(&recorder.counts) {
            assert!((0..=200).all(|len| seen.lengths.contains_key(&len)));
            let reasons: Vec<_> = counts.dropped.keys().map(String::as_str).collect();
            let wanted = [
                "EtherType",
                "Fcs",
                "IpAddr",
                "IpHeader",
                "IpSum",
                "Length",
                "Mac",
                "Opcode",
                "Peer",
                "Port",
                "Psn",
                "Qp",
                "Short",
            ];
            assert_eq!(reasons, wanted, "{build}");
        }
    }
}

/// PCI-8: TLPs with every length of data from 0 to 200 B that there is, 0 to 50 DWs, most of them of
/// types that are taken.
#[test]
fn pci_8_bad_tlps_are_counted_by_reason_beside_traffic() {
    for build in ["small", "default"] {
        let faults = ["a", "b"].map(|n| fault(n, "garbage-tlps", 804));
        let (world, recorder, seen) = counted(&beside(build, &faults.concat()));
        all_whole(&world);
        let mut reasons = BTreeMap::<u8, u64>::new();
        for (seen, counts) in seen.iter().zip(&recorder.counts) {
            assert!((0..=50).all(|dws| seen.tlps.contains(&dws)), "{build}");
            assert_eq!(counts.refused.values().sum::<u64>(), seen.size.0, "{build}");
            assert_eq!(counts.refused.get("Size").copied().unwrap_or(0), seen.size.0, "{build}");
            reasons.extend(&seen.bad);
        }
        assert_eq!(reasons.keys().copied().collect::<Vec<_>>(), [1, 2, 4, 5, 0x11], "{build}");
        let answered: u64 = seen.iter().map(|s| s.size.1).sum();
        assert_eq!(world.driver.refusals.values().sum::<u64>(), answered, "{build}");
    }
}

/// QP-2: work requests with one thing wrong: each is counted and draws an error completion.
#[test]
fn qp_2_bad_doorbells_are_answered_beside_traffic() {
    for build in ["small", "default"] {
        let faults = ["a", "b"].map(|n| fault(n, "bad-doorbells", 210));
        let (world, recorder, _) = counted(&beside(build, &faults.concat()));
        all_whole(&world);
        let wanted = [
            ("Length", 30),
            ("Opcode", 30),
            ("Peer", 30),
            ("Qp", 30),
            ("Reserved", 30),
            ("Size", 60),
        ];
        let wanted: Counts = wanted.map(|(reason, n)| (reason.to_owned(), n)).into();
        for counts in &recorder.counts {
            assert_eq!(counts.refused, wanted, "{build}");
        }
        let answers: BTreeMap<u8, u64> =
            [(1, 120), (2, 60), (3, 60), (4, 60), (5, 60), (6, 60)].into();
        assert_eq!(world.driver.refusals, answers, "{build}");
    }
}

/// All three at once.
#[test]
fn every_fault_at_once_leaves_the_traffic_whole() {
    for build in ["small", "default"] {
        let kinds = ["garbage-frames", "near-misses", "garbage-tlps", "bad-doorbells"];
        let faults = ["a", "b"].map(|n| kinds.map(|kind| fault(n, kind, 210)).concat());
        all_whole(&counted(&beside(build, &faults.concat())).0);
    }
}

/// QP-5: with every sender's side open until much later, one more message finds none.
#[test]
fn qp_5_a_full_qp_table_refuses() {
    for (build, qps, close, outstanding) in [("small", 16, "20us", 8), ("default", 256, "60us", 64)]
    {
        let head =
            format!("limit = \"300us\"\nbuild = \"{build}\"\n[defaults]\nCloseDelay = \"{close}\"");
        let more = format!("count = {}\noutstanding = {outstanding}", qps + 20);
        let settings = settings(&scenario(&head, &message("1B", &more)));
        let (run, recorder) = agrees("full table", &settings);
        all_whole(&run.world);
        let refused = recorder.counts[0].refused.clone();
        assert_eq!(refused, [("QpFull".to_owned(), 20)].into(), "{build}");
        assert_eq!(run.world.driver.refusals, [(7, 20)].into(), "{build}");
        let sent: Vec<_> = run.world.driver.messages.iter().map(|m| m.refused).collect();
        assert_eq!(sent.iter().position(Option::is_some), Some(qps), "{build}");
    }
}

/// QP-2: with every message entry taken, one more message finds none.
#[test]
fn qp_2_a_full_message_table_refuses() {
    for (build, msgs, delay) in [("small", 16, "3us"), ("default", 1024, "30us")] {
        let head = format!(
            "limit = \"300us\"\nbuild = \"{build}\"\n[defaults]\nDelay = \"{delay}\"\n\
             DataRate = \"20Gbps\"\nMaxCongestionWindow = 100000"
        );
        let more = format!("count = {}\none_qp = true", msgs - 5);
        let two = message("0B", &more).repeat(2);
        let (run, recorder) = agrees("full table", &settings(&scenario(&head, &two)));
        all_whole(&run.world);
        let refused = recorder.counts[0].refused.clone();
        assert_eq!(refused.keys().collect::<Vec<_>>(), ["MsgFull"], "{build}");
        assert_eq!(run.world.driver.refusals, [(8, refused["MsgFull"])].into(), "{build}");
    }
}
