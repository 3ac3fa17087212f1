//! A module with every shape of register, on two levels: what is read, compared, loaded.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rtl_model::image::Field;
use rtl_model::rng::Rng;
use verilated::{
    BuildError, Built, Compare, Design, Kind, Optimise, Options, Rtl, RtlError, Start, Tool, build,
};

fn rtl_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rtl")
}

fn design(compare: Compare) -> Design {
    Design {
        hdl: rtl_folder(),
        top: "mix".into(),
        parameters: vec![("SLOTS".into(), 16), ("UNKNOWN".into(), 1)],
        own: Vec::new(),
        options: Options { compare, ..Options::default() },
    }
}

fn built(compare: Compare) -> Built {
    let tool = Tool::find().expect("a Verilator");
    build(&tool, &design(compare)).expect("builds")
}

/// Random inputs of `mix`, each field within its width.
fn inputs(rng: &mut Rng, fields: &[Field]) -> Vec<u32> {
    let mut words = Vec::new();
    for field in fields {
        for n in 0..field.words() as u32 {
            let left = field.width - 32 * n;
            words.push(rng.bits() as u32 & u32::MAX.checked_shr(32 - left.min(32)).unwrap_or(0));
        }
    }
    words
}

fn started(built: &Built, start: Start) -> Rtl {
    let mut rtl = Rtl::new(built, start).expect("loads");
    let idle = vec![0; built.layout().input_words];
    rtl.settle(&idle).expect("settles");
    rtl.reset(false);
    rtl.step_bare(&idle).expect("resets");
    rtl.reset(true);
    rtl
}

fn field(name: &str, width: u32, elements: Option<u32>) -> Field {
    Field { name: name.into(), width, elements }
}

#[test]
fn the_layout_is_that_of_the_source() {
    let built = built(Compare::All);
    let layout = built.layout();
    let paths: Vec<_> = layout.instances.iter().map(|i| i.path.as_str()).collect();
    assert_eq!(paths, ["mix", "mix.g_check[0].u_check", "mix.g_check[1].u_check", "mix.u_ram"]);
    let want = [
        field("data", 512, None),
        field("stamp", 45, None),
        field("slots", 16, Some(16)),
        field("broad", 70, Some(4)),
        field("lanes", 8, None),
        field("pair", 27, None),
        field("pairs", 27, Some(3)),
        field("map", 16, None),
        field("hit", 2, None),
        field("flags", 1, Some(5)),
    ];
    assert_eq!(layout.instances[0].regs, want);
    let names: Vec<_> = layout.instances[0].inputs.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["push", "addr", "data", "lanes", "time"]);
    assert_eq!(layout.instances[3].regs, [field("rdata", 70, None)]);
    assert_eq!((layout.memories[0].width, layout.memories[0].depth), (70, 16));
    assert_eq!(layout.memory("u_ram"), Some(0));
    // Ports of mix, its registers, two checkers with outputs and registers, the read register.
    let mix = 512 + 45 + 70 + 2 + 512 + 45 + 256 + 280 + 8 + 27 + 81 + 16 + 2 + 5;
    assert_eq!(layout.compared_bits(), mix + 2 * (4 + 27) + 70);
}

#[test]
fn two_instances_agree_and_every_field_counts() {
    let built = built(Compare::All);
    let layout = built.layout();
    let mut rng = Rng::new(1, "mix");
    let (mut a, mut b) = (started(&built, Start::Zeros), started(&built, Start::Random(3)));
    let words = vec![5; layout.memories[0].words()];
    let words: Vec<_> = words.chunks(3).flat_map(|_| [7, 8, 9]).collect();
    a.load_memory(0, &words).expect("fits");
    b.load_memory(0, &words).expect("fits");
    let loaded = a.read();
    b.load(&loaded).expect("fits");
    for _ in 0..2000 {
        let i = inputs(&mut rng, &layout.instances[0].inputs);
        a.settle(&i).expect("settles");
        let image = a.read();
        assert_eq!(b.step(&i, &image).expect("runs"), None);
        a.step_bare(&i).expect("runs");
    }
    let i = inputs(&mut rng, &layout.instances[0].inputs);
    a.settle(&i).expect("settles");
    let image = a.read();
    for place in &layout.places {
        let field = layout.field(place);
        for bit in [0, field.width - 1] {
            for element in [0, field.elements.unwrap_or(1) - 1] {
                let at = element as usize * field.element_words() + bit as usize / 32;
                let mut wrong = image.clone();
                wrong[place.offset + at] ^= 1 << (bit % 32);
                let found = b.step(&i, &wrong).expect("runs").expect("differs");
                assert_eq!(&found.place, place);
                assert_eq!(found.rtl, image[place.offset..place.offset + field.words()]);
            }
        }
    }
    assert_eq!(b.step(&i, &image).expect("runs"), None, "a difference gives no edge");
}

#[test]
fn a_state_goes_from_one_instance_to_another() {
    let built = built(Compare::All);
    let ports = &built.layout().instances[0].inputs;
    let mut rng = Rng::new(2, "mix");
    let mut a = started(&built, Start::Random(1));
    for late in [false, true] {
        for _ in 0..100 {
            a.step_bare(&inputs(&mut rng, ports)).expect("runs");
        }
        // The late one has been evaluated before, with other registers.
        let mut b = Rtl::new(&built, Start::Random(2)).expect("loads");
        if late {
            b = started(&built, Start::Random(2));
            b.run_bare(&inputs(&mut rng, ports), 0, 10).expect("runs");
        }
        b.load(&a.read()).expect("fits");
        b.load_memory(0, &a.read_memory(0)).expect("fits");
        assert_eq!(a.read_memory(0), b.read_memory(0));
        // The same inputs as before: nothing but the load itself can settle the wires.
        for _ in 0..100 {
            let i = inputs(&mut rng, ports);
            a.settle(&i).expect("settles");
            assert_eq!(b.step(&i, &a.read()).expect("runs"), None);
            a.step_bare(&i).expect("runs");
        }
    }
}

#[test]
fn a_load_settles_without_new_inputs() {
    let built = built(Compare::Top);
    let mut rtl = started(&built, Start::Zeros);
    let idle = vec![0; built.layout().input_words];
    rtl.settle(&idle).expect("settles");
    let mut image = rtl.read();
    let of = |name: &str, kind| {
        let layout = built.layout();
        let mut places = layout.places.iter();
        places.find(|p| p.kind == kind && layout.field(p).name == name).expect("is").offset
    };
    image[of("data", Kind::Register)] = 0x1234;
    rtl.load(&image).expect("fits");
    rtl.settle(&idle).expect("settles");
    assert_eq!(rtl.read()[of("data", Kind::Output)], 0x1234);
}

#[test]
fn a_run_is_the_same_as_steps_and_as_an_optimised_run() {
    let built = built(Compare::All);
    let ports = &built.layout().instances[0].inputs;
    let mut rng = Rng::new(3, "mix");
    let beats: Vec<_> = (0..50).map(|_| inputs(&mut rng, ports)).collect();
    let mut one = started(&built, Start::Random(9));
    for i in &beats {
        one.step_bare(i).expect("runs");
    }
    let options = Options { optimise: Optimise::Run, compare: Compare::All, assertions: false };
    let fast = build(&Tool::find().expect("one"), &Design { options, ..design(Compare::All) });
    for built in [&built, &fast.expect("builds")] {
        let mut all = started(built, Start::Random(9));
        let words = built.layout().input_words;
        all.run_bare(&beats.concat(), words, beats.len()).expect("runs");
        assert_eq!(one.read(), all.read());
        assert_eq!(one.clocks(), all.clocks());
    }
}

#[test]
fn a_bare_build_compares_nothing() {
    let built = built(Compare::Nothing);
    assert_eq!(built.layout().expected_words, 0);
    let mut rtl = started(&built, Start::Zeros);
    let idle = vec![0; built.layout().input_words];
    assert_eq!(rtl.step(&idle, &[]).expect("runs"), None);
}

#[test]
fn a_failed_assertion_is_an_error_once() {
    let built = built(Compare::Top);
    let mut rtl = started(&built, Start::Zeros);
    let mut i = vec![0; built.layout().input_words];
    i[1] = 0xdead_beef;
    let error = rtl.step_bare(&i).expect_err("fails");
    assert!(
        matches!(&error, RtlError::Assertion { clock: 1, text } if text.contains("NoGolden_A")),
        "{error}"
    );
    i[1] = 0;
    rtl.step_bare(&i).expect("goes on");
    let error = rtl.step(&i, &[]).expect_err("is too short");
    assert!(matches!(error, RtlError::Length { .. }), "{error}");
}

#[test]
fn instances_run_on_threads() {
    let built = built(Compare::All);
    let images: Vec<_> = thread::scope(|scope| {
        let run = |_| {
            scope.spawn(|| {
                let mut rng = Rng::new(4, "mix");
                let mut rtl = started(&built, Start::Random(5));
                for _ in 0..500 {
                    rtl.step_bare(&inputs(&mut rng, &built.layout().instances[0].inputs))
                        .expect("runs");
                }
                rtl.read()
            })
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().map(|t| t.join().expect("ends")).collect()
    });
    assert!(images.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn a_second_build_is_found_in_the_cache() {
    let first = built(Compare::Top);
    let start = Instant::now();
    let second = built(Compare::Top);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert_eq!((first.library(), first.layout()), (second.library(), second.layout()));
}

#[test]
fn random_starts_follow_the_seed() {
    let built = built(Compare::Top);
    let first = |start| {
        let mut rtl = Rtl::new(&built, start).expect("loads");
        rtl.settle(&vec![0; built.layout().input_words]).expect("settles");
        rtl.read()
    };
    assert_eq!(first(Start::Random(1)), first(Start::Random(1)));
    assert_ne!(first(Start::Random(1)), first(Start::Random(2)));
    assert!(first(Start::Zeros).iter().all(|w| *w == 0));
}

/// Builds a module of this text.
fn build_text(body: &str) -> Result<Built, BuildError> {
    let dir = tempfile::tempdir().expect("a folder");
    let text = format!(
        "module odd (input logic clk_i, input logic a_i, output logic b_o);\n{body}\nendmodule\n"
    );
    std::fs::write(dir.path().join("odd.sv"), text).expect("written");
    let design = Design { hdl: dir.path().into(), top: "odd".into(), ..design(Compare::Top) };
    build(&Tool::find().expect("a Verilator"), &design)
}

#[test]
fn hidden_state_is_refused() {
    let regs = "typedef struct { logic x; } regs_t; regs_t regs_q;\n";
    for (body, want) in [
        ("logic c; always_ff @(posedge clk_i) c <= a_i; assign b_o = c;", "c ("),
        ("always_ff @(posedge clk_i) b_o <= a_i;", "b_o ("),
        ("logic c; always @(posedge clk_i) c = a_i; assign b_o = c;", "BLKSEQ"),
        ("logic c; always @* if (a_i) c = clk_i; assign b_o = c;", "LATCH"),
        (
            "logic [1:0] c; always_ff @(posedge clk_i) {c[0], regs_q.x} <= {a_i, a_i}; assign b_o = c[0];",
            "c (",
        ),
    ] {
        let error = build_text(&format!("{regs}{body}")).expect_err(body);
        assert!(error.to_string().contains(want), "{body}: {error}");
    }
    let fine = "always_ff @(posedge clk_i) regs_q.x <= a_i; assign b_o = regs_q.x;";
    build_text(&format!("{regs}{fine}")).expect("builds");
}

#[test]
fn a_loop_without_a_register_is_an_error() {
    let built = build_text("logic c; assign c = a_i && !c; assign b_o = c;").expect("builds");
    let mut rtl = Rtl::new(&built, Start::Zeros).expect("loads");
    rtl.settle(&[0]).expect("settles");
    let error = rtl.settle(&[1]).expect_err("swings");
    assert!(error.to_string().contains("converge"), "{error}");
}

#[test]
fn names_that_clash_are_refused() {
    let clash = "typedef struct { logic x__y; } regs_t; regs_t regs_q;
        always_ff @(posedge clk_i) regs_q.x__y <= a_i; assign b_o = a_i;";
    let error = build_text(clash).expect_err("clashes");
    assert!(error.to_string().contains("x__y"), "{error}");
}

#[test]
fn an_error_carries_what_verilator_says() {
    let error = build_text("assign b_o = nothing;").expect_err("is wrong");
    assert!(matches!(error, BuildError::Program { .. }), "{error}");
    assert!(error.to_string().contains("odd.sv:2"), "{error}");
}

#[test]
fn a_tool_that_is_none_is_an_error() {
    let error = Tool::at("/nowhere/verilator_bin".into(), None).expect_err("is none");
    assert!(error.to_string().contains("/nowhere/verilator_bin"), "{error}");
    let error = Tool::at("true".into(), None).expect_err("says nothing");
    assert!(error.to_string().contains("5.022"), "{error}");
}

/// Not a test of its own: what the next one runs in a process without a Verilator.
#[test]
#[ignore = "run by without_python_the_error_says_what_to_do"]
fn find_alone() {
    let error = Tool::find().expect_err("there is none");
    assert!(error.to_string().is_empty(), "{error}");
}

#[test]
fn without_python_the_error_says_what_to_do() {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("tools.txt"), "").expect("written");
    let mut alone = Command::new(std::env::current_exe().expect("a program"));
    alone.args(["--ignored", "--exact", "find_alone"]).current_dir(&dir).env("PATH", "/nowhere");
    let output = alone.env_remove("VERILATOR_BIN").env_remove("VERILATOR_ROOT").output();
    let output = output.expect("runs");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    for want in ["putting Verilator into", "python3", "VERILATOR_BIN", "VERILATOR_ROOT", ".tools"] {
        assert!(said.contains(want), "{want} in:\n{said}");
    }
}

/// The cells and headers here are those of the project, and all of it lints.
#[test]
fn the_examples_lint() {
    let tool = Tool::find().expect("a Verilator");
    let hdl = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hdl");
    for (folder, top) in [(rtl_folder(), "mix"), (hdl.clone(), "ram_1r1w")] {
        let mut command = tool.command();
        command.current_dir(&folder).args(["--lint-only", "-Wall", "--no-timing", "--assert"]);
        command.args(["+libext+.sv", "-y", ".", "-I.", "--top-module", top]);
        if folder.join("nic_pkg.sv").is_file() {
            command.arg("nic_pkg.sv");
        }
        command.arg(hdl.join("lint.vlt"));
        let output = command.arg(format!("{top}.sv")).output().expect("runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for file in ["assert.svh", "ram_1r1w.sv"] {
        let read = |folder: &Path| std::fs::read(folder.join(file)).expect("a file");
        assert_eq!(read(&hdl), read(&rtl_folder()), "{file}");
    }
}
