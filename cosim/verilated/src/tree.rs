//! Verilator's description of an elaborated design (`--json-only`), as far as it is needed here.

use std::collections::HashMap;

use rtl_model::image::{Field, image_words};
use serde_json::Value;

use crate::design::Compare;
use crate::error::BuildError;
use crate::layout::{Instance, Layout, Memory};

/// The tree, with its nodes by address.
pub struct Tree<'a> {
    top: String,
    modules: HashMap<&'a str, &'a Value>,
    types: HashMap<&'a str, &'a Value>,
    root: &'a Value,
}

fn text<'a>(node: &'a Value, key: &str) -> &'a str {
    node[key].as_str().unwrap_or("")
}

fn list<'a>(node: &'a Value, key: &str) -> &'a [Value] {
    node[key].as_array().map_or(&[], Vec::as_slice)
}

/// `|a - b| + 1` of `[a:b]` or `a:b`.
fn span(range: &str) -> Option<u32> {
    let (a, b) = range.trim_matches(['[', ']']).split_once(':')?;
    let (a, b) = (a.parse::<i64>().ok()?, b.parse::<i64>().ok()?);
    u32::try_from((a - b).abs() + 1).ok()
}

impl<'a> Tree<'a> {
    /// Indexes a parsed tree whose top module is `top`.
    pub fn new(root: &'a Value, top: &str) -> Result<Self, BuildError> {
        let by_addr = |nodes: &'a [Value]| nodes.iter().map(|n| (text(n, "addr"), n));
        let modules: HashMap<_, _> = by_addr(list(root, "modulesp")).collect();
        let types = list(root, "miscsp").iter().flat_map(|m| by_addr(list(m, "typesp"))).collect();
        let root = list(root, "modulesp")
            .iter()
            .find(|m| text(m, "type") == "MODULE" && text(m, "origName") == top)
            .ok_or_else(|| BuildError::Tree { top: top.into(), what: "no such module".into() })?;
        Ok(Self { top: top.to_owned(), modules, types, root })
    }

    /// Names of the parameters that the top module declares.
    pub fn parameters(&self) -> Vec<&'a str> {
        let vars = list(self.root, "stmtsp").iter();
        vars.filter(|v| v["isGParam"] == true).map(|v| text(v, "name")).collect()
    }

    /// The layout, with compared fields as `compare` says.
    pub fn layout(&self, compare: Compare) -> Result<Layout, BuildError> {
        self.check_targets()?;
        let mut layout = Layout::default();
        let mut path = vec![self.top.clone()];
        self.instance(self.root, &mut path, compare, &mut layout)?;
        layout.input_words = image_words(&layout.instances[0].inputs);
        let has = |port| list(self.root, "stmtsp").iter().any(|v| text(v, "name") == port);
        (layout.has_clock, layout.has_reset) = (has("clk_i"), has("rst_ni"));
        layout.place();
        Ok(layout)
    }

    /// Refuses names that Verilator spells in another way in C++.
    fn plain(&self, name: &str) -> Result<String, BuildError> {
        if name.contains("__") || name.contains('\\') {
            let name = name.replace("___05F", "__");
            return Err(self.wrong(format!("the name {name} holds `__` or a backslash")));
        }
        Ok(name.to_owned())
    }

    fn wrong(&self, what: String) -> BuildError {
        BuildError::Tree { top: self.top.clone(), what }
    }

    /// Adds an instance of `module`, then the instances in it.
    fn instance(
        &self,
        module: &'a Value,
        path: &mut Vec<String>,
        compare: Compare,
        layout: &mut Layout,
    ) -> Result<(), BuildError> {
        let is_top = path.len() == 1;
        let name = self.plain(text(module, "origName"))?;
        let mut new = Instance {
            path: path.join("."),
            module: name.clone(),
            outputs_compared: match compare {
                Compare::Nothing => false,
                Compare::Top => is_top,
                Compare::All => is_top || name != "ram_1r1w",
            },
            regs_compared: match compare {
                Compare::Nothing => false,
                Compare::Top => is_top,
                Compare::All => true,
            },
            ..Instance::default()
        };
        self.variables(module, &mut new, layout)?;
        layout.instances.push(new);
        self.cells(list(module, "stmtsp"), path, compare, layout)
    }

    /// Ports, registers and memories of one module.
    fn variables(
        &self,
        module: &'a Value,
        new: &mut Instance,
        layout: &mut Layout,
    ) -> Result<(), BuildError> {
        let mut rdata = None;
        for var in list(module, "stmtsp").iter().filter(|n| text(n, "type") == "VAR") {
            let (name, dtype) = (text(var, "name"), text(var, "dtypep"));
            match (text(var, "direction"), name) {
                ("INPUT", "clk_i" | "rst_ni") => {}
                ("INPUT", _) => new.inputs.push(self.port(name, "_i", dtype)?),
                ("OUTPUT", _) => new.outputs.push(self.port(name, "_o", dtype)?),
                ("INOUT" | "REF", _) => {
                    return Err(self.wrong(format!("port {name} is neither input nor output")));
                }
                (_, "regs_q") => new.regs = self.members(dtype)?,
                (_, "rdata_q") => rdata = Some(self.field("rdata", dtype)?),
                (_, "mem_q") => {
                    let Field { width, elements, .. } = self.field(name, dtype)?;
                    let depth = elements.unwrap_or(1);
                    layout.memories.push(Memory { path: new.path.clone(), width, depth });
                }
                _ => {}
            }
        }
        new.copies = vec![None; new.outputs.len()];
        for (output, register, element) in copies(module) {
            let output = new.outputs.iter().position(|f| f.name == output);
            let register = new.regs.iter().position(|f| f.name == register);
            if let (Some(output), Some(register)) = (output, register) {
                new.copies[output] = Some((register, element));
            }
        }
        new.has_rdata = rdata.is_some();
        new.regs.extend(rdata);
        Ok(())
    }

    /// Follows cells through generate blocks.
    fn cells(
        &self,
        nodes: &'a [Value],
        path: &mut Vec<String>,
        compare: Compare,
        layout: &mut Layout,
    ) -> Result<(), BuildError> {
        for node in nodes {
            match text(node, "type") {
                "CELL" => {
                    let modp = text(node, "modp");
                    let module = self
                        .modules
                        .get(modp)
                        .ok_or_else(|| self.wrong(format!("no module at {modp}")))?;
                    if !list(node, "rangep").is_empty() {
                        let name = text(node, "name");
                        return Err(self.wrong(format!("{name} is an array of instances")));
                    }
                    path.push(self.plain(text(node, "name"))?);
                    self.instance(module, path, compare, layout)?;
                    path.pop();
                }
                "GENBLOCK" | "BEGIN" => {
                    path.push(self.plain(text(node, "name"))?);
                    self.cells(list(node, "itemsp"), path, compare, layout)?;
                    path.pop();
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn port(&self, name: &str, suffix: &str, dtype: &str) -> Result<Field, BuildError> {
        let short = name
            .strip_suffix(suffix)
            .ok_or_else(|| self.wrong(format!("port {name} does not end in {suffix}")))?;
        self.field(short, dtype)
    }

    /// The type at an address, through names and enums.
    fn resolve(&self, mut addr: &'a str) -> Result<&'a Value, BuildError> {
        loop {
            let node =
                self.types.get(addr).ok_or_else(|| self.wrong(format!("no type at {addr}")))?;
            match text(node, "type") {
                "REFDTYPE" | "ENUMDTYPE" | "CONSTDTYPE" | "MEMBERDTYPE" => {
                    addr = text(node, "refDTypep");
                }
                _ => return Ok(node),
            }
        }
    }

    fn members(&self, dtype: &'a str) -> Result<Vec<Field>, BuildError> {
        let node = self.resolve(dtype)?;
        if text(node, "type") != "STRUCTDTYPE" || node["packed"] == true {
            return Err(self.wrong("regs_q is not an unpacked struct".into()));
        }
        let members = list(node, "membersp").iter();
        members.map(|m| self.field(text(m, "name"), text(m, "dtypep"))).collect()
    }

    fn field(&self, name: &str, dtype: &'a str) -> Result<Field, BuildError> {
        let node = self.resolve(dtype)?;
        let name = self.plain(name)?;
        if text(node, "type") != "UNPACKARRAYDTYPE" {
            return Ok(Field { width: self.width(node, &name)?, name, elements: None });
        }
        let elements = span(text(node, "declRange"));
        let item = self.resolve(text(node, "refDTypep"))?;
        Ok(Field { width: self.width(item, &name)?, name, elements })
    }

    /// Bits of a packed type.
    fn width(&self, node: &'a Value, name: &str) -> Result<u32, BuildError> {
        let inner = |key| self.width(self.resolve(text(node, key))?, name);
        let members = || {
            let members = list(node, "membersp").iter();
            members.map(|m| self.width(self.resolve(text(m, "dtypep"))?, name))
        };
        let unknown = || self.wrong(format!("{name} has a type that images do not hold"));
        match text(node, "type") {
            "BASICDTYPE" => match (span(text(node, "range")), text(node, "keyword")) {
                (Some(width), _) => Ok(width),
                (None, "logic" | "bit" | "LOGIC_IMPLICIT") => Ok(1),
                _ => Err(unknown()),
            },
            "PACKARRAYDTYPE" => {
                let count = span(text(node, "declRange")).ok_or_else(unknown)?;
                Ok(count * inner("refDTypep")?)
            }
            "STRUCTDTYPE" if node["packed"] == true => members().sum(),
            "UNIONDTYPE" if node["packed"] == true => {
                members().try_fold(0, |most, width| Ok(most.max(width?)))
            }
            _ => Err(unknown()),
        }
    }

    /// Every variable assigned at a clock edge must be one that an image or a memory holds.
    fn check_targets(&self) -> Result<(), BuildError> {
        let mut modules: Vec<_> = self.modules.values().collect();
        modules.sort_by_key(|m| text(m, "name"));
        for module in modules {
            let mut targets = Vec::new();
            nonblocking(module, &mut targets);
            let vars = variables_by_addr(module);
            for target in targets {
                let variable = text(target, "name");
                let declared = vars.get(text(target, "varp")).is_some_and(|var| {
                    matches!(variable, "regs_q" | "mem_q" | "rdata_q")
                        // The shadow of a `$past` in an assertion, which the tool itself makes.
                        || text(var, "varType") == "MODULETEMP" && variable.starts_with("_Vpast")
                });
                if !declared {
                    return Err(BuildError::Undeclared {
                        module: text(module, "origName").to_owned(),
                        variable: variable.to_owned(),
                        location: text(target, "loc").to_owned(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// The outputs that a module assigns from one whole field of `regs_q`: names of port and field, and
/// the element of an array.
fn copies(module: &Value) -> Vec<(&str, &str, Option<u32>)> {
    let assigns = list(module, "stmtsp").iter().filter(|n| text(n, "keyword") == "cont_assign");
    assigns.filter_map(|n| copy(only(n, "stmtsp")?)).collect()
}

fn copy(assign: &Value) -> Option<(&str, &str, Option<u32>)> {
    let output = only(assign, "lhsp").filter(|n| text(n, "type") == "VARREF")?;
    let output = text(output, "name").strip_suffix("_o")?;
    let mut from = only(assign, "rhsp")?;
    let mut element = None;
    if text(from, "type") == "ARRAYSEL" {
        let at = only(from, "bitp").filter(|n| text(n, "type") == "CONST")?;
        let (_, digits) = text(at, "name").split_once("'h")?;
        element = Some(u32::from_str_radix(digits, 16).ok()?);
        from = only(from, "fromp")?;
    }
    let regs = only(from, "fromp").filter(|_| text(from, "type") == "STRUCTSEL")?;
    let whole = text(regs, "type") == "VARREF" && text(regs, "name") == "regs_q";
    whole.then(|| (output, text(from, "name"), element))
}

/// The only node of a list.
fn only<'a>(node: &'a Value, key: &str) -> Option<&'a Value> {
    let nodes = list(node, key);
    nodes.first().filter(|_| nodes.len() == 1)
}

/// The variables declared directly in a module (not those of its inner blocks).
fn variables_by_addr(module: &Value) -> HashMap<&str, &Value> {
    let nodes = list(module, "stmtsp").iter();
    nodes.filter(|n| text(n, "type") == "VAR").map(|n| (text(n, "addr"), n)).collect()
}

/// Collects what nonblocking assignments below a node assign. (That nothing else holds state, no
/// latch and no blocking assignment at an edge, Verilator checks: see `STATE_ERRORS`.)
fn nonblocking<'a>(node: &'a Value, out: &mut Vec<&'a Value>) {
    match node {
        Value::Object(map) => {
            if text(node, "type") == "ASSIGNDLY" {
                written(&node["lhsp"], out);
            }
            map.values().for_each(|v| nonblocking(v, out));
        }
        Value::Array(items) => items.iter().for_each(|v| nonblocking(v, out)),
        _ => {}
    }
}

/// Collects the variables written below a node.
fn written<'a>(node: &'a Value, out: &mut Vec<&'a Value>) {
    match node {
        Value::Object(map) => {
            if text(node, "type") == "VARREF" && text(node, "access") != "RD" {
                out.push(node);
            }
            map.values().for_each(|v| written(v, out));
        }
        Value::Array(items) => items.iter().for_each(|v| written(v, out)),
        _ => {}
    }
}
