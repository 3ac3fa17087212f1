//! Lockstep on a small example: it agrees, and every kind of fault in one side is found and named.

use std::fs;
use std::path::{Path, PathBuf};

use cosim::lockstep::{Lockstep, Mismatch, Setup, SetupError, Start};
use derive::{Image, ImageEnum};
use rtl_model::block::Block;
use rtl_model::rng::Rng;
use rtl_model::sizes::Sizes;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum)]
#[bits(2)]
enum Verdict {
    #[default]
    Expected,
    Duplicate,
    Gap,
}

#[derive(Clone, Debug, Default, Image)]
struct Inputs {
    req_valid: bool,
    #[bits(24)]
    req_psn: u32,
    verdict_ready: bool,
}

#[derive(Clone, Debug, Default, Image)]
struct Outputs {
    req_ready: bool,
    verdict_valid: bool,
    verdict: Verdict,
}

#[derive(Clone, Debug, Default, Image)]
struct Regs {
    #[bits(24)]
    expected_psn: u32,
    valid: bool,
    verdict: Verdict,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        o.verdict_valid = self.valid;
        o.verdict = self.verdict;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.req_ready = i.verdict_ready || !self.valid;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        if !o.req_ready {
            return;
        }
        self.valid = i.req_valid;
        if i.req_valid {
            let ahead = i.req_psn.wrapping_sub(self.expected_psn) & 0xff_ffff;
            self.verdict = match ahead {
                0 => Verdict::Expected,
                1..0x80_0000 => Verdict::Gap,
                _ => Verdict::Duplicate,
            };
            if ahead == 0 {
                self.expected_psn = (self.expected_psn + 1) & 0xff_ffff;
            }
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        self.valid && !i.verdict_ready
    }
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("verilated/tests/rtl")
}

fn setup(hdl: &Path) -> Setup {
    Setup::new("psn_check", &Sizes::DEFAULT, Start::Random(7)).hdl(hdl)
}

/// Random traffic around the borders, with a reset now and then.
fn run(pair: &mut Lockstep<Regs>, clocks: u64) -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "psn_check");
    let mut waiting = None;
    for _ in 0..clocks {
        if waiting.is_none() && rng.percent(75) {
            let offset = rng.pick(&[0, 0, 0, 1, 0x7f_ffff, 0x80_0000, 0x80_0001, 0xff_ffff]);
            waiting = Some((pair.regs().expected_psn + offset) & 0xff_ffff);
        }
        let out = pair.clock(&Inputs {
            req_valid: waiting.is_some(),
            req_psn: waiting.unwrap_or(0),
            verdict_ready: rng.percent(75),
        })?;
        if out.req_ready {
            waiting = None;
        }
        if rng.below(1000) == 0 {
            pair.reset().expect("a reset breaks no assertion");
            waiting = None;
        }
    }
    Ok(())
}

/// The example with one piece of its text changed.
fn mutant(from: &str, to: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for file in ["assert.svh", "nic_pkg.sv", "psn_check.sv"] {
        let text = fs::read_to_string(example().join(file)).expect("an example file");
        if file == "psn_check.sv" {
            assert!(text.contains(from), "{from}");
            fs::write(dir.path().join(file), text.replacen(from, to, 1)).expect("written");
        } else {
            fs::write(dir.path().join(file), text).expect("written");
        }
    }
    dir
}

#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let mut pair = Lockstep::<Regs>::with(setup(&example())).expect("builds");
    run(&mut pair, 100_000)?;
    assert_eq!(pair.clocks(), 100_000);
    Ok(())
}

#[test]
fn a_changed_compare_is_caught() {
    let rtl = mutant("ahead[PSN_BITS-1]", "ahead > 24'h80_0000");
    let mut pair = Lockstep::<Regs>::with(setup(rtl.path())).expect("builds");
    let mismatch = run(&mut pair, 100_000).expect_err("differs");
    assert_eq!(mismatch.field, "verdict");
    assert_eq!((mismatch.model.as_str(), mismatch.rtl.as_str()), ("1", "2"));
    let text = mismatch.to_string();
    assert!(text.contains("register verdict of psn_check"), "{text}");
    assert!(text.contains("req_valid"), "{text}");
    assert!(text.contains("cargo test"), "{text}");
}

#[test]
fn a_flipped_bit_is_named() {
    let mut pair = Lockstep::<Regs>::with(setup(&example())).expect("builds");
    run(&mut pair, 1000).expect("agrees");
    let mut image = pair.rtl().read();
    let layout = pair.rtl().layout().clone();
    let place = layout.places.iter().find(|p| layout.field(p).name == "expected_psn").expect("is");
    image[place.offset] ^= 1 << 13;
    pair.rtl().load(&image).expect("fits");
    let mismatch = pair.clock(&Inputs::default()).expect_err("differs");
    assert_eq!(mismatch.field, "expected_psn");
    assert_eq!(mismatch.clock, 1000);
}

#[test]
fn a_state_can_be_put_in() -> Result<(), Mismatch> {
    let mut pair = Lockstep::<Regs>::with(setup(&example())).expect("builds");
    let regs = Regs { expected_psn: 0xff_fffe, valid: true, verdict: Verdict::Gap };
    pair.load(regs).expect("fits");
    run(&mut pair, 1000)
}

#[test]
fn an_assertion_is_an_error() {
    let rtl = mutant("verdict_valid_o && !verdict_ready_i |=> verdict_valid_o", "!verdict_valid_o");
    let mut pair = Lockstep::<Regs>::with(setup(rtl.path())).expect("builds");
    let mismatch = run(&mut pair, 100).expect_err("fails");
    assert!(mismatch.to_string().contains("VerdictWaits_A"), "{mismatch}");
}

#[test]
fn a_field_of_another_width_is_named() {
    let rtl = mutant("logic     valid; ", "logic [1:0] valid; ");
    let Err(error) = Lockstep::<Regs>::with(setup(rtl.path())) else { panic!("was built") };
    assert!(matches!(error, SetupError::Layout { .. }), "{error}");
    let want = "register 1 is valid (1 bits) in the model and valid (2 bits) in the RTL";
    assert!(error.to_string().contains(want), "{error}");
}

#[test]
fn a_register_out_of_the_struct_is_refused() {
    let rtl = mutant(
        "always_comb begin",
        "psn_t stray;\n always_ff @(posedge clk_i) stray <= ahead;\n always_comb begin",
    );
    let Err(error) = Lockstep::<Regs>::with(setup(rtl.path())) else { panic!("was built") };
    assert!(error.to_string().contains("stray"), "{error}");
    assert!(error.to_string().contains("psn_check"), "{error}");
}
