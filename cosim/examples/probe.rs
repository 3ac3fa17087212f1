//! probe record SCEN OUT N | model SCEN N | lock SCEN N | digest SCEN N
use cosim::check::{Checked, RtlChoice, build_nic};
use cosim::event::Nowhere;
use cosim::scenario::Source;
use cosim::settings::settle;
use cosim::world::World;
use rtl_model::image::{Image, Writer, image_words};
use std::io::Write;
use verilated::Compare;
fn cpu() -> f64 {
    let t = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    t.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (s, f) = Source::read(std::path::Path::new(&a[2])).expect("r");
    let settings = settle(&s, &f).expect("s");
    let mut world = World::new(&settings);
    let warm = world.boot + 20_000;
    match a[1].as_str() {
        "record" => {
            let words = image_words(&world.nodes[0].inputs.fields());
            let n: usize = a[4].parse().unwrap();
            let mut buf = vec![0u32; words];
            let mut out = std::io::BufWriter::new(std::fs::File::create(&a[3]).unwrap());
            for _ in 0..n {
                world.settle(&mut Nowhere);
                world.nodes[0].inputs.write(&mut Writer::new(&mut buf));
                for w in &buf {
                    out.write_all(&w.to_le_bytes()).unwrap();
                }
                world.edge();
            }
            println!("{words}");
        }
        "model" => {
            let n: u64 = a[3].parse().unwrap();
            for _ in 0..warm {
                world.step(&mut Nowhere);
            }
            let mut best = f64::MAX;
            for _ in 0..20 {
                let t = cpu();
                for _ in 0..n {
                    world.step(&mut Nowhere);
                }
                best = best.min(cpu() - t);
            }
            println!("{} {:.1} ns", world.clock, best * 1e9 / (2.0 * n as f64));
        }
        _ => {
            let n: u64 = a[3].parse().unwrap();
            for _ in 0..warm {
                world.step(&mut Nowhere);
            }
            let all = build_nic(&RtlChoice::default(), &settings.sizes, Compare::All).expect("b");
            let mut c = Checked::resume(world, &all).expect("r");
            let mut best = f64::MAX;
            for _ in 0..16 {
                let t = cpu();
                for _ in 0..n {
                    c.step(&mut Nowhere).unwrap_or_else(|s| panic!("{s:?}"));
                }
                best = best.min(cpu() - t);
            }
            println!("lock {} {:.1} ns", c.world.clock, best * 1e9 / (2.0 * n as f64));
        }
    }
}
