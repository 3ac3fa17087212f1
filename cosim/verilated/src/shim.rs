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
    function(&mut out, "void set_inputs(Vtop& top, const uint32_t* w)", &of_top(&inputs(layout)));
    parts(&mut out, layout);
    function(&mut out, "void mark(const Root& root, Lines& lines)", &marks(layout));
    let head = "uint32_t expect_part(Root& root, uint32_t part, const uint32_t* w)";
    function(&mut out, head, &expect(layout));
    function(&mut out, "void read_all(Root& root, uint32_t* w)", &read(layout));
    function(&mut out, "void load_all(Root& root, const uint32_t* w)", &load(layout));
    let (reads, loads) = memories(&layout.memories);
    function(&mut out, "void read_mem(Vtop& top, uint32_t index, uint32_t* w)", &of_top(&reads));
    function(
        &mut out,
        "void load_mem(Vtop& top, uint32_t index, const uint32_t* w)",
        &of_top(&loads),
    );
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
    let _ = writeln!(out, "{head} {{\n{body}}}\n");
}

/// The body of a function that is given the module, with its root object at hand.
fn of_top(body: &str) -> String {
    format!("  auto& root = *top.rootp;\n  (void)root; (void)w;\n{body}")
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

/// Where each part of the image begins, and its words.
fn parts(out: &mut String, layout: &Layout) {
    let (mut at, mut words) = (String::new(), String::new());
    for instance in &layout.instances {
        let (outputs, regs) = (instance.output_words(), instance.reg_words());
        let _ = write!(at, "{}, {}, ", instance.offset, instance.regs_offset());
        let _ = write!(words, "{outputs}, {regs}, ");
    }
    let count = 2 * layout.instances.len() + 1;
    let _ = writeln!(out, "const uint32_t PARTS = {count};");
    let _ = writeln!(out, "const uint32_t PART_AT[] = {{{at}0}};");
    let _ = writeln!(out, "const uint32_t PART_WORDS[] = {{{words}{}}};\n", layout.input_words);
}

/// True for an output that is read at a register, which is compared itself.
fn is_copy(layout: &Layout, place: &Place) -> bool {
    let instance = &layout.instances[place.instance];
    let inner = place.kind == Kind::Output && place.instance != 0;
    inner && instance.regs_compared && instance.copies[place.field].is_some()
}

fn marks(layout: &Layout) -> String {
    let mut out = "  (void)root; (void)lines;\n".to_owned();
    for place in layout.places.iter().filter(|p| !is_copy(layout, p)) {
        let _ = writeln!(out, "  NICSTEP_MARK({});", variable(layout, place));
    }
    out
}

/// A case for each part. An output that is nothing but a register has no place of its own in what
/// is expected: it must be equal to the register there.
fn expect(layout: &Layout) -> String {
    let mut out = "  uint32_t bad = 0;\n  (void)root; (void)w;\n  switch (part) {\n".to_owned();
    let parts = layout.places.chunk_by(|a, b| (a.instance, a.kind) == (b.instance, b.kind));
    for part in parts {
        let (first, kind) = (part[0].offset, u8::from(part[0].kind == Kind::Register));
        let _ = writeln!(out, "    case {}:", 2 * part[0].instance + usize::from(kind));
        for place in part {
            let (name, at) = (variable(layout, place), place.offset - first);
            let how = if is_copy(layout, place) { "ne" } else { "expect" };
            let _ = writeln!(out, "      bad |= {how}({name}, w + {at});");
        }
        out.push_str("      break;\n");
    }
    out.push_str("  }\n  return bad;\n");
    out
}

fn read(layout: &Layout) -> String {
    let mut out = "  (void)root; (void)w;\n".to_owned();
    for place in &layout.places {
        let _ = writeln!(out, "  get({}, w + {});", variable(layout, place), place.offset);
    }
    out
}

fn load(layout: &Layout) -> String {
    let mut out = "  (void)root; (void)w;\n".to_owned();
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
