//! The compare can fail: every bit of every register of the RTL is flipped, and named at once; the
//! same for a bit of every memory. What is compared is all that the elaborated design holds.

mod elaborated;

use std::collections::BTreeSet;
use std::fs;

use cosim::check::{Checked, RtlChoice, Stop, build_nic};
use cosim::event::Nowhere;
use cosim::scenario::Source;
use cosim::settings::{Settings, settle};
use cosim::world::World;
use elaborated::tree;
use rtl_model::rng::Rng;
use rtl_model::sizes::Sizes;
use serde_json::Value;
use verilated::{Built, Compare, Kind};

/// Clocks at which bits are flipped.
const STOPS: u64 = 8;

/// Traffic both ways that is under way at every stop.
const SCENARIO: &str = r#"
seed = 11
limit = "1ms"
build = "small"
nic = [{ name = "a", address = "10.0.0.1" }, { name = "b", address = "10.0.0.2" }]

[[message]]
from = "a"
to = "b"
bytes = "1B"
most = "20000B"
count = 100
outstanding = 8

[[message]]
from = "b"
to = "a"
bytes = "1B"
most = "20000B"
count = 100
outstanding = 8
"#;

fn settings() -> Settings {
    let (source, file) = Source::parse("flips".into(), SCENARIO.into()).expect("parses");
    settle(&source, &file).expect("settles")
}

/// Without assertions, which a flipped bit may well break before anything differs.
fn built() -> Built {
    let choice = RtlChoice { assertions: false, ..RtlChoice::default() };
    build_nic(&choice, &Sizes::SMALL, Compare::All).expect("builds")
}

/// Fresh RTL beside worlds that have run for a while, at clocks drawn from the seed.
fn stops(built: &Built, rng: &mut Rng) -> Vec<Checked> {
    let mut world = World::new(&settings());
    let first = world.boot + 1000;
    let mut stops = Vec::new();
    for stop in 0..STOPS {
        let until = first + 400 * stop + rng.below(400);
        while world.clock < until {
            world.step(&mut Nowhere);
        }
        let mut checked = Checked::resume(world.clone(), built).expect("resumes");
        for _ in 0..20 {
            checked.step(&mut Nowhere).expect("agrees");
        }
        stops.push(checked);
    }
    stops
}

/// What the flips are held against: the same traffic agrees from reset to the end.
#[test]
fn nothing_differs_unless_flipped() {
    let mut checked = Checked::new(World::new(&settings()), &built()).expect("starts");
    while !checked.world.finished() {
        checked.step(&mut Nowhere).expect("agrees");
    }
    for (node, rtl) in checked.world.nodes.iter().zip(&checked.rtl) {
        assert_eq!(rtl.memory_differences(&node.nic), []);
    }
    assert_eq!(checked.world.driver.corrupted, [] as [usize; 0]);
}

/// Many clocks at once: a memory's word that has flipped is found at the clock at which it is read,
/// as it is clock by clock, wherever in a group that clock lies.
#[test]
fn a_difference_inside_a_group_has_its_clock() {
    let built = built();
    let mut rng = Rng::new(3, "flips");
    let mut seen = BTreeSet::new();
    for checked in stops(&built, &mut rng) {
        let world = checked.world;
        let stop = |all_at_once: bool| {
            let mut again = Checked::resume(world.clone(), &built).expect("resumes");
            let rtl = &mut again.rtl[1].rtl;
            let ingress = rtl.layout().memory("u_ingress_ring").expect("a memory");
            let flipped: Vec<_> = rtl.read_memory(ingress).iter().map(|word| !word).collect();
            rtl.load_memory(ingress, &flipped).expect("fits");
            let stopped = if all_at_once {
                again.run(5_000, &mut Nowhere, |_| ())
            } else {
                (0..5_000).try_for_each(|_| again.step(&mut Nowhere))
            };
            let Err(Stop::Differs(m)) = stopped else { panic!("does not differ") };
            assert_eq!(m.nic, 1);
            (m.clock, m.block.clone(), m.field.clone(), m.model.clone(), m.rtl.clone())
        };
        let found = stop(true);
        assert_eq!(found, stop(false));
        seen.insert(found.0 - world.clock);
    }
    assert!(seen.iter().any(|clocks| *clocks > 1), "{seen:?}");
}

/// One bit of a register: index of its place, element of an array, bit.
struct Case {
    place: usize,
    element: u32,
    bit: u32,
}

fn cases(built: &Built) -> Vec<Case> {
    let layout = built.layout();
    let places = layout.places.iter().enumerate().filter(|(_, p)| p.kind == Kind::Register);
    let elements = places.flat_map(|(place, p)| {
        let field = layout.field(p);
        (0..field.elements.unwrap_or(1)).map(move |element| (place, element, field.width))
    });
    let bits = elements.flat_map(|(place, element, width)| {
        (0..width).map(move |bit| Case { place, element, bit })
    });
    bits.collect()
}

/// Flips the bits at a world's clock, one after the other, in the RTL of one of its NICs.
fn flip(checked: &mut Checked, nic: usize, cases: &[&Case]) {
    checked.world.settle(&mut Nowhere);
    let clock = checked.world.clock;
    let (node, rtl) = (&mut checked.world.nodes[nic], &mut checked.rtl[nic]);
    rtl.look(node).expect("evaluates");
    let image = rtl.rtl.read();
    let layout = rtl.rtl.layout().clone();
    for case in cases {
        let place = &layout.places[case.place];
        let field = layout.field(place);
        let word = case.element as usize * field.element_words() + case.bit as usize / 32;
        let mut flipped = image.clone();
        flipped[place.offset + word] ^= 1 << (case.bit % 32);
        rtl.rtl.load(&flipped).expect("fits");
        let path = &layout.instances[place.instance].path;
        let element = field.elements.map_or(String::new(), |_| format!("[{}]", case.element));
        let want = (path.rsplit('.').next().expect("a name"), field.name.clone() + &element);
        let found = rtl.step(node).expect("no assertion");
        let Some(found) = found else {
            panic!("clock {clock}, NIC {nic}: bit {} of {want:?} is not compared", case.bit)
        };
        let found = rtl.describe(clock, nic, &found);
        assert_eq!((found.block.as_str(), found.field), want, "clock {clock}, bit {}", case.bit);
        assert_eq!(found.kind, "register");
    }
    rtl.rtl.load(&image).expect("fits");
    assert_eq!(rtl.step(node).expect("no assertion"), None, "clock {clock}: all as it was");
}

#[test]
fn every_register_bit_that_flips_is_named() {
    let built = built();
    let mut rng = Rng::new(1, "flips");
    let cases = cases(&built);
    let mut stops = stops(&built, &mut rng);
    let mut drawn: Vec<[Vec<&Case>; 2]> = vec![[Vec::new(), Vec::new()]; stops.len()];
    for case in &cases {
        let (stop, nic) = (rng.below(STOPS), rng.below(2));
        drawn[stop as usize][nic as usize].push(case);
    }
    for (checked, drawn) in stops.iter_mut().zip(&drawn) {
        // Both NICs lie at the same clock: `settle` twice would not be the same clock.
        let mut again = Checked::resume(checked.world.clone(), &built).expect("resumes");
        flip(checked, 0, &drawn[0]);
        flip(&mut again, 1, &drawn[1]);
    }
    let layout = built.layout();
    let registers = layout.places.iter().filter(|p| p.kind == Kind::Register);
    let bits: u64 = registers.clone().map(|p| layout.field(p).bits()).sum();
    let covered: BTreeSet<usize> = cases.iter().map(|c| c.place).collect();
    let elements: BTreeSet<_> = cases.iter().map(|c| (c.place, c.element)).collect();
    assert_eq!(covered.len(), registers.count());
    assert_eq!(cases.len() as u64, bits);
    println!(
        "{} registers, {} with each element of an array, {bits} bits: each flipped and named",
        covered.len(),
        elements.len()
    );
}

#[test]
fn drawn_bits_of_every_memory_are_named() {
    let built = built();
    let mut rng = Rng::new(2, "flips");
    let layout = built.layout().clone();
    for (n, checked) in stops(&built, &mut rng).into_iter().enumerate().take(2) {
        let (node, mut rtl) = (&checked.world.nodes[n], checked.rtl.into_iter().nth(n));
        let rtl = rtl.as_mut().expect("a NIC");
        let mut names = Vec::new();
        node.nic.memories(&mut |name, _| names.push(format!("nic.{name}")));
        let of_rtl: Vec<_> = layout.memories.iter().map(|m| m.path.clone()).collect();
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(sorted(&names), sorted(&of_rtl), "each is compared");
        assert_eq!(names.len(), of_rtl.len());
        for (index, memory) in layout.memories.iter().enumerate() {
            let whole = rtl.rtl.read_memory(index);
            let per = memory.words() / memory.depth as usize;
            for _ in 0..4 {
                let at = rng.below(u64::from(memory.depth)) as usize;
                let bit = rng.below(u64::from(memory.width)) as usize;
                let mut flipped = whole.clone();
                flipped[at * per + bit / 32] ^= 1 << (bit % 32);
                rtl.rtl.load_memory(index, &flipped).expect("fits");
                let found = rtl.memory_differences(&node.nic);
                let found: Vec<_> = found.iter().map(|f| (format!("nic.{}", f.0), f.1)).collect();
                assert_eq!(found, [(memory.path.clone(), at)], "bit {bit}");
            }
            rtl.rtl.load_memory(index, &whole).expect("fits");
            assert_eq!(rtl.memory_differences(&node.nic), []);
        }
    }
    println!("{} memories: four bits of each flipped and named", layout.memories.len());
}

/// Verilator's own description of the whole NIC, read here and not by the layout's code.
struct Tree {
    root: Value,
}

fn at<'a>(list: &'a Value, addr: &Value) -> &'a Value {
    let nodes = list.as_array().expect("a list");
    nodes.iter().find(|n| n["addr"] == *addr).expect("a node at each address")
}

impl Tree {
    fn new() -> Self {
        let nic = fs::read_to_string(RtlChoice::default().hdl.join("nic.sv")).expect("the NIC");
        let declared = |name: &str| nic.contains(&format!("parameter int unsigned {name}"));
        let mut small: Vec<_> = Sizes::SMALL.parameters().into_iter().collect();
        small.retain(|(name, _)| declared(name));
        let given = small.iter().map(|(name, value)| format!("-G{name}={value}"));
        Self { root: tree(&given.collect::<Vec<_>>()) }
    }

    /// Bits of a type, arrays and structs of any kind with all they hold.
    fn bits(&self, addr: &Value) -> u64 {
        let node = at(&self.root["miscsp"][0]["typesp"], addr);
        let count = |range: &Value| {
            let range = range.as_str().expect("a range").trim_matches(['[', ']']);
            let (a, b) = range.split_once(':').expect("two ends");
            a.parse::<i64>().expect("a number").abs_diff(b.parse().expect("a number")) + 1
        };
        match node["type"].as_str().expect("a type") {
            "BASICDTYPE" => node.get("range").map_or(1, count),
            "STRUCTDTYPE" => {
                let members = node["membersp"].as_array().expect("members");
                members.iter().map(|m| self.bits(&m["dtypep"])).sum()
            }
            "PACKARRAYDTYPE" | "UNPACKARRAYDTYPE" => {
                count(&node["declRange"]) * self.bits(&node["refDTypep"])
            }
            _ => self.bits(&node["refDTypep"]),
        }
    }

    /// Adds the bits of the variables of that name in a module and in all below it.
    fn sum(&self, module: &Value, names: &[&str], bits: &mut u64, instances: &mut u64) {
        *instances += 1;
        self.nodes(&module["stmtsp"], names, bits, instances);
    }

    fn nodes(&self, nodes: &Value, names: &[&str], bits: &mut u64, instances: &mut u64) {
        for node in nodes.as_array().into_iter().flatten() {
            match node["type"].as_str().unwrap_or("") {
                "VAR" if names.iter().any(|n| node["name"] == **n) => {
                    *bits += self.bits(&node["dtypep"]);
                }
                "CELL" => {
                    let module = at(&self.root["modulesp"], &node["modp"]);
                    self.sum(module, names, bits, instances);
                }
                "GENBLOCK" | "BEGIN" => self.nodes(&node["itemsp"], names, bits, instances),
                _ => {}
            }
        }
    }
}

#[test]
fn all_that_the_design_holds_is_compared() {
    let tree = Tree::new();
    let modules = tree.root["modulesp"].as_array().expect("modules");
    let top = modules.iter().find(|m| m["origName"] == "nic").expect("the top module");
    let total = |names: &[&str]| {
        let (mut bits, mut instances) = (0, 0);
        tree.sum(top, names, &mut bits, &mut instances);
        (bits, instances)
    };
    let built = built();
    let layout = built.layout();
    let registers = layout.places.iter().filter(|p| p.kind == Kind::Register);
    let bits: u64 = registers.map(|p| layout.field(p).bits()).sum();
    assert_eq!((bits, layout.instances.len() as u64), total(&["regs_q", "rdata_q"]));
    let stored = layout.memories.iter().map(|m| u64::from(m.width) * u64::from(m.depth));
    assert_eq!(stored.clone().sum::<u64>(), total(&["mem_q"]).0);
    // Nothing else is assigned at a clock edge: a build refuses such a design.
    println!(
        "{} instances: {bits} register bits at each clock, {} memory bits at the end",
        layout.instances.len(),
        stored.sum::<u64>()
    );
}
