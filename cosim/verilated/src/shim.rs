//! Generates what stands between the function table and the Verilated C++: one straight line of
//! C++ for every field.

use std::fmt::Write as _;

use rtl_model::image::Field;

use crate::layout::{Instance, Kind, Layout, Memory, Place};

/// The configuration that makes the compared variables public, for reading and by name.
pub fn config(layout: &Layout) -> String {
    let mut marks = Vec::new();
    for instance in &layout.instances {
        let module = &instance.module;
        let mut mark = |var: &str| {
            marks.push(format!("public_flat_rd -module \"{module}\" -var \"{var}\""));
        };
        if instance.regs_compared {
            instance
                .regs
                .iter()
                .for_each(|f| mark(if is_rdata(f, instance) { "rdata_q" } else { "regs_q" }));
        }
        if instance.outputs_compared && instance.path.contains('.') {
            let outputs = instance.outputs.iter().zip(&instance.copies);
            let own = outputs.filter(|(_, copied)| !(instance.regs_compared && copied.is_some()));
            own.for_each(|(f, _)| mark(&format!("{}_o", f.name)));
        }
        if layout.memories.iter().any(|m| m.path == instance.path) {
            mark("mem_q");
        }
    }
    marks.sort();
    marks.dedup();
    format!("`verilator_config\n{}\n", marks.join("\n"))
}

/// True for the read register of a memory, which is a variable of its own.
fn is_rdata(field: &Field, instance: &Instance) -> bool {
    field.name == "rdata" && instance.regs.last() == Some(field) && instance.has_rdata
}

/// The C++ name of a variable in an instance, all of them flattened into the root.
fn flat(path: &str, variable: &str) -> String {
    let parts: Vec<_> = path.split('.').map(mangle).collect();
    format!("root.{}__DOT__{variable}", parts.join("__DOT__"))
}

/// `g_lane[1]` as Verilator spells it.
fn mangle(part: &str) -> String {
    part.replace('[', "__BRA__").replace(']', "__KET__").replace('-', "__02D")
}

/// The C++ expression of a compared field.
fn variable(layout: &Layout, place: &Place) -> String {
    let instance = &layout.instances[place.instance];
    let field = layout.field(place);
    match place.kind {
        Kind::Output if place.instance == 0 => format!("root.{}_o", field.name),
        Kind::Output => match instance.copies[place.field] {
            Some((register, element)) if instance.regs_compared => {
                let name = &instance.regs[register].name;
                let element = element.map_or(String::new(), |n| format!("[{n}]"));
                flat(&instance.path, &format!("regs_q.__PVT__{name}{element}"))
            }
            _ => flat(&instance.path, &format!("{}_o", field.name)),
        },
        Kind::Register if is_rdata(field, instance) => flat(&instance.path, "rdata_q"),
        Kind::Register => flat(&instance.path, &format!("regs_q.__PVT__{}", field.name)),
    }
}

/// The whole C++ file: the Verilated code in `sources`, then the table.
pub fn source(layout: &Layout, sources: &[String]) -> String {
    let mut out = String::new();
    for file in sources {
        let _ = writeln!(out, "#include \"{file}\"");
    }
    out.push_str("#include \"shim.h\"\n\nnamespace {\n\n");
    function(&mut out, "void set_inputs(Vtop& top, const uint32_t* w)", &inputs(layout));
    out.push_str("__attribute__((noinline, cold))\n");
    let head = "int64_t first_difference(Vtop& top, const uint32_t* w)";
    function(&mut out, head, &first_difference(layout));
    function(&mut out, "int64_t differs(Vtop& top, const uint32_t* w)", &compare(layout));
    function(&mut out, "void read_all(Vtop& top, uint32_t* w)", &read(layout));
    function(&mut out, "void load_all(Vtop& top, const uint32_t* w)", &load(layout));
    let (reads, loads) = memories(&layout.memories);
    function(&mut out, "void read_mem(Vtop& top, uint32_t index, uint32_t* w)", &reads);
    function(&mut out, "void load_mem(Vtop& top, uint32_t index, const uint32_t* w)", &loads);
    level(&mut out, "set_reset", layout.has_reset.then_some("rst_ni"));
    level(&mut out, "set_clock", layout.has_clock.then_some("clk_i"));
    out.push_str("}  // namespace\n\n");
    let _ = writeln!(
        out,
        "NICSTEP_EXPORT({}, {}, {})",
        layout.input_words,
        layout.expected_words,
        layout.memories.len()
    );
    out
}

fn function(out: &mut String, head: &str, body: &str) {
    let _ =
        writeln!(out, "{head} {{\n  auto& root = *top.rootp;\n  (void)root; (void)w;\n{body}}}\n");
}

/// A function that sets a port which not every module has.
fn level(out: &mut String, name: &str, port: Option<&str>) {
    let set = port.map_or(String::new(), |port| format!("  top.{port} = level;\n"));
    let _ = writeln!(
        out,
        "void {name}(Vtop& top, uint32_t level) {{\n  (void)top; (void)level;\n{set}}}\n"
    );
}

fn inputs(layout: &Layout) -> String {
    let mut out = String::new();
    let mut at = 0;
    for field in &layout.instances[0].inputs {
        let _ = writeln!(out, "  put(top.{}_i, w + {at});", field.name);
        at += field.words();
    }
    out
}

/// Bytes of a field's element in C++; more than one word counts as words.
fn element_bytes(field: &Field) -> usize {
    match field.width {
        ..=8 => 1,
        9..=16 => 2,
        33..=64 => 8,
        _ => 4,
    }
}

/// Elements of that size in a field.
fn elements(field: &Field) -> usize {
    let of_words = if field.width > 64 { field.element_words() } else { 1 };
    of_words * field.elements.unwrap_or(1) as usize
}

/// All fields at once: the members of a `regs_q` lie in memory in the order of the image, and those
/// of one size without a gap.
fn compare(layout: &Layout) -> String {
    let mut out = "  Sum sum;\n".to_owned();
    let runs = layout.places.chunk_by(|a, b| {
        let member = |p: &Place| {
            let instance = &layout.instances[p.instance];
            p.kind == Kind::Register && !is_rdata(layout.field(p), instance)
        };
        let size = |p: &Place| element_bytes(layout.field(p));
        a.instance == b.instance && member(a) && member(b) && size(a) == size(b)
    });
    for (run, lane) in runs.zip((0..4).cycle()) {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        let (size, at) = (element_bytes(layout.field(first)), first.offset);
        let n: usize = run.iter().map(|p| elements(layout.field(p))).sum();
        let (from, to) = (variable(layout, first), variable(layout, last));
        let _ = if run.len() == 1 {
            writeln!(out, "  fields<{lane}, {size}, {n}>(sum, &{from}, w + {at});")
        } else {
            let member = |name: &str| name.trim_start_matches("root.").to_owned();
            let (from, to) = (member(&from), member(&to));
            writeln!(out, "  NICSTEP_RUN({lane}, {size}, {n}, {from}, {to}, w + {at})")
        };
    }
    out.push_str("  return sum.any() ? first_difference(top, w) : NICSTEP_EQUAL;\n");
    out
}

fn first_difference(layout: &Layout) -> String {
    let mut out = String::new();
    for (n, place) in layout.places.iter().enumerate() {
        let name = variable(layout, place);
        let _ = writeln!(out, "  if (ne({name}, w + {})) return {n};", place.offset);
    }
    out.push_str("  return NICSTEP_EQUAL;\n");
    out
}

fn read(layout: &Layout) -> String {
    let mut out = String::new();
    for place in &layout.places {
        let _ = writeln!(out, "  get({}, w + {});", variable(layout, place), place.offset);
    }
    out
}

fn load(layout: &Layout) -> String {
    let mut out = String::new();
    for place in layout.places.iter().filter(|p| p.kind == Kind::Register) {
        let _ = writeln!(out, "  put({}, w + {});", variable(layout, place), place.offset);
    }
    out
}

fn memories(memories: &[Memory]) -> (String, String) {
    let (mut reads, mut loads) =
        ("  switch (index) {\n".to_owned(), "  switch (index) {\n".to_owned());
    for (n, memory) in memories.iter().enumerate() {
        let name = flat(&memory.path, "mem_q");
        let _ = writeln!(reads, "    case {n}: get({name}, w); break;");
        let _ = writeln!(loads, "    case {n}: put({name}, w); break;");
    }
    reads.push_str("  }\n");
    loads.push_str("  }\n");
    (reads, loads)
}
