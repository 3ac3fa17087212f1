//! smoke
use rtl_model::replay_store::{Inputs, Regs};
use testbenches::{Lockstep, Mismatch, Sizes, Start};
#[test]
fn smoke() -> Result<(), Mismatch> {
    for s in [Sizes::SMALL, Sizes::DEFAULT] {
    let mut pair = Lockstep::<Regs>::new("replay_store", &s, Start::Random(1)).expect("builds");
    for _ in 0..1000 { pair.clock(&Inputs::default())?; } }
    Ok(())
}
