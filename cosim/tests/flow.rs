//! What passes through a block within a clock, derived from Verilator's description of the NIC.
//!
//! Valids, data and events come from registers; only readys and memory ports may hang on inputs
//! other than the levels of `csr`, and the graph of what hangs on what has no cycle. The model
//! relies on both: it drives everything else before it asks for readys, and asks once.

mod elaborated;

use std::collections::{BTreeMap, BTreeSet};

use elaborated::tree;
use serde_json::Value;

/// Ends of output names that may hang on inputs: readys, and ports of memories.
const THROUGH: [&str; 8] =
    ["_ready_o", "_we_o", "_waddr_o", "_wdata_o", "_re_o", "_raddr_o", "_raddr0_o", "_raddr1_o"];

/// What a variable of a module is made of within a clock: names of variables, by name.
type Flow = BTreeMap<String, BTreeSet<String>>;

fn text<'a>(node: &'a Value, key: &str) -> &'a str {
    node[key].as_str().unwrap_or("")
}

fn list<'a>(node: &'a Value, key: &str) -> &'a [Value] {
    node[key].as_array().map_or(&[], Vec::as_slice)
}

/// Variables read, or written, anywhere below a node.
fn variables(node: &Value, written: bool, out: &mut BTreeSet<String>) {
    match node {
        Value::Object(map) => {
            if text(node, "type") == "VARREF" {
                let access = text(node, "access");
                if access == "RW" || (access == "WR") == written {
                    out.insert(text(node, "name").to_owned());
                }
            }
            map.values().for_each(|v| variables(v, written, out));
        }
        Value::Array(items) => items.iter().for_each(|v| variables(v, written, out)),
        _ => {}
    }
}

/// Adds what the statements assign within a clock, where `conditions` decide about them.
fn follow(nodes: &[Value], conditions: &BTreeSet<String>, flow: &mut Flow) {
    for node in nodes {
        let mut more = conditions.clone();
        match text(node, "type") {
            "ASSIGN" | "ASSIGNW" => {
                let mut targets = BTreeSet::new();
                variables(&node["lhsp"], true, &mut targets);
                variables(&node["lhsp"], false, &mut more);
                variables(&node["rhsp"], false, &mut more);
                for target in targets {
                    flow.entry(target).or_default().extend(more.iter().cloned());
                }
            }
            // What has a sensitivity list is a register or an assertion.
            "ALWAYS" if !list(node, "sentreep").is_empty() => {}
            "ALWAYS" | "BEGIN" | "GENBLOCK" | "LOOP" | "JUMPBLOCK" | "IF" | "CASE" | "CASEITEM"
            | "LOOPTEST" => {
                for key in ["condp", "exprp", "condsp"] {
                    variables(&node[key], false, &mut more);
                }
                for key in ["stmtsp", "itemsp", "thensp", "elsesp"] {
                    follow(list(node, key), &more, flow);
                }
            }
            "VAR"
            | "TYPEDEF"
            | "CELL"
            | "FUNC"
            | "INITIAL"
            | "INITIALSTATIC"
            | "INITIALAUTOMATICSTMT"
            | "JUMPGO" => {}
            other => panic!("a {other} at {}: does something pass through it?", text(node, "loc")),
        }
    }
}

/// Everything that a variable is made of.
fn closure(flow: &Flow, of: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut next = vec![of];
    while let Some(name) = next.pop() {
        for from in flow.get(name).into_iter().flatten() {
            if seen.insert(from.clone()) {
                next.push(from);
            }
        }
    }
    seen
}

/// Ports of a module in one direction.
fn ports<'a>(module: &'a Value, direction: &'a str) -> impl Iterator<Item = &'a str> {
    let vars = list(module, "stmtsp").iter().filter(|n| text(n, "type") == "VAR");
    vars.filter(move |v| text(v, "direction") == direction).map(|v| text(v, "name"))
}

/// Each output of a module that hangs on inputs, and on which.
fn through(module: &Value) -> BTreeMap<&str, BTreeSet<String>> {
    let mut flow = Flow::new();
    follow(list(module, "stmtsp"), &BTreeSet::new(), &mut flow);
    let inputs: BTreeSet<_> = ports(module, "INPUT").collect();
    let made_of = |output| {
        let mut all = closure(&flow, output);
        all.retain(|name| inputs.contains(name.as_str()));
        all
    };
    let outputs = ports(module, "OUTPUT").map(|output| (output, made_of(output)));
    outputs.filter(|(_, inputs)| !inputs.is_empty()).collect()
}

fn modules(tree: &Value) -> impl Iterator<Item = &Value> {
    list(tree, "modulesp").iter().filter(|m| text(m, "type") == "MODULE")
}

/// The whole NIC's graph: what each wire is made of within a clock.
fn nic(tree: &Value) -> Flow {
    let through: BTreeMap<_, _> = modules(tree).map(|m| (text(m, "addr"), through(m))).collect();
    let top = modules(tree).find(|m| text(m, "origName") == "nic").expect("the NIC");
    let mut flow = Flow::new();
    follow(list(top, "stmtsp"), &BTreeSet::new(), &mut flow);
    for cell in list(top, "stmtsp").iter().filter(|n| text(n, "type") == "CELL") {
        let port = |pin: &str| format!("{}.{pin}", text(cell, "name"));
        let outputs = &through[text(cell, "modp")];
        for pin in list(cell, "pinsp") {
            let name = text(pin, "name");
            let mut wires = BTreeSet::new();
            if name.ends_with("_i") {
                variables(&pin["exprp"], false, &mut wires);
                flow.entry(port(name)).or_default().extend(wires);
            } else if let Some(inputs) = outputs.get(name) {
                variables(&pin["exprp"], true, &mut wires);
                for wire in wires {
                    flow.entry(wire).or_default().extend(inputs.iter().map(|i| port(i)));
                }
            }
        }
    }
    flow
}

/// A path from a name back to itself.
fn cycle(flow: &Flow) -> Option<String> {
    flow.keys().find(|name| closure(flow, name).contains(*name)).cloned()
}

/// Architecture, section 4: in every module, only readys and memory ports pass through, and levels
/// made of registers and of what `csr` holds.
#[test]
fn only_readys_and_memory_ports_hang_on_inputs() {
    let tree = tree(&[]);
    let mut readys = 0;
    for module in modules(&tree).filter(|m| text(m, "origName") != "nic") {
        for (output, inputs) in through(module) {
            let name = text(module, "origName");
            // What csr holds stands still in a clock: the model derives such a level with readys.
            let level = inputs.iter().all(|input| input.starts_with("cfg_"));
            let may = level || THROUGH.iter().any(|end| output.ends_with(end));
            assert!(may, "{name}.{output} hangs on {inputs:?}");
            readys += usize::from(output.ends_with("_ready_o"));
        }
    }
    println!("{readys} readys hang on inputs, no valid and no data");
    assert!(readys > 20);
}

/// Architecture, section 4: sink to source there is an order in which each ready is asked once.
#[test]
fn readys_have_an_order() {
    let flow = nic(&tree(&[]));
    assert_eq!(cycle(&flow), None, "a ready hangs on itself");
    let edges: usize = flow.values().map(BTreeSet::len).sum();
    assert!(edges > 500, "{edges} edges");
    println!("{} wires and ports, {edges} edges, no cycle", flow.len());
}

/// The checks can fail: a valid that passes through, a loop over two blocks.
#[test]
fn what_is_wrong_is_found() {
    let read = |name: &str| serde_json::json!({"type": "VARREF", "name": name, "access": "RD"});
    let write = |name: &str| serde_json::json!({"type": "VARREF", "name": name, "access": "WR"});
    let port = |name: &str, direction: &str| serde_json::json!({"type": "VAR", "name": name, "direction": direction});
    let assign = serde_json::json!({"type": "ASSIGN", "lhsp": [write("y")], "rhsp": [read("a_i")]});
    let branch = serde_json::json!({"type": "IF", "condp": [read("b_i")], "thensp": [assign]});
    let out =
        serde_json::json!({"type": "ASSIGNW", "lhsp": [write("x_valid_o")], "rhsp": [read("y")]});
    let module = serde_json::json!({"stmtsp": [
        port("a_i", "INPUT"), port("b_i", "INPUT"), port("c_i", "INPUT"), port("x_valid_o", "OUTPUT"),
        {"type": "ALWAYS", "sentreep": [], "stmtsp": [branch]},
        {"type": "ALWAYS", "sentreep": [], "stmtsp": [out]},
    ]});
    let found = through(&module);
    assert_eq!(found["x_valid_o"].iter().collect::<Vec<_>>(), ["a_i", "b_i"]);

    let mut flow = nic(&tree(&[]));
    // tlp_engine's ready hangs on pcie_link's; were it the other way round as well:
    let back = "u_pcie_link.tx_dws_i";
    flow.entry(back.to_owned()).or_default().insert("tlp_engine_rd_ready".to_owned());
    assert!(cycle(&flow).is_some());
}
