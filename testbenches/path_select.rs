//! `path_select`: model and RTL get the same inputs and must agree on every clock; a plain count
//! of the requests of each destination gives the same ports.

use std::collections::BTreeMap;

use rtl_model::path_select::{Inputs, Outputs, Regs};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

fn after_reset(sizes: &Sizes, seed: u32) -> Lockstep<Regs> {
    Lockstep::new("path_select", sizes, Start::Random(seed)).expect("builds")
}

/// PTH-1: 128 ports from 256 up, then from the first again; data goes first.
#[test]
fn both_share_a_step_that_wraps() -> Result<(), Mismatch> {
    let mut pair = after_reset(&Sizes::DEFAULT, 1);
    for _ in 0..126 {
        pair.clock(&Inputs { data_valid: true, data_dest: 63, ..Inputs::default() })?;
    }
    for row in Table::read("path_select/both_share_a_step.txt") {
        let out = pair.clock(&Inputs {
            data_valid: row.bit("data_valid"),
            data_dest: row.dec("data_dest") as u8,
            ack_valid: row.bit("ack_valid"),
            ack_dest: row.dec("ack_dest") as u8,
        })?;
        row.expect("data_ready", u8::from(out.data_ready));
        row.expect("ack_ready", u8::from(out.ack_ready));
        row.expect("data_rsp_valid", u8::from(out.data_rsp_valid));
        row.expect("data_rsp_port", out.data_rsp_port);
        row.expect("ack_rsp_valid", u8::from(out.ack_rsp_valid));
        row.expect("ack_rsp_port", out.ack_rsp_port);
    }
    Ok(())
}

/// Requests of both sides, and the ports that a count of them gives.
#[derive(Default)]
struct Counts {
    used: BTreeMap<u8, u32>,
    i: Inputs,
    data: Option<u16>,
    ack: Option<u16>,
}

impl Counts {
    fn port(&mut self, dest: u8) -> u16 {
        let n = self.used.entry(dest).or_default();
        *n += 1;
        256 + ((*n - 1) % 128) as u16
    }

    /// Holds the answers of the last clock, and takes the requests of this one.
    fn check(&mut self, o: Outputs) {
        assert_eq!(o.data_rsp_valid.then_some(o.data_rsp_port), self.data.take());
        assert_eq!(o.ack_rsp_valid.then_some(o.ack_rsp_port), self.ack.take());
        if self.i.data_valid && o.data_ready {
            self.data = Some(self.port(self.i.data_dest));
            self.i.data_valid = false;
        }
        if self.i.ack_valid && o.ack_ready {
            self.ack = Some(self.port(self.i.ack_dest));
            self.i.ack_valid = false;
        }
    }
}

/// PTH-1, in both sizes, with a reset on the way.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("path_select");
    for (seed, sizes) in [(1, Sizes::SMALL), (2, Sizes::DEFAULT), (3, Sizes::SMALL)] {
        let mut rng = Rng::new(seed, "path_select");
        let mut pair = after_reset(&sizes, seed as u32);
        let mut counts = Counts::default();
        for clock in 0..20_000 {
            if clock == 7_000 {
                pair.reset().expect("resets");
                counts = Counts::default();
            }
            // Few destinations, so that their steps wrap often.
            let dests = [0, 1, 2, sizes.dests as u8 - 1];
            if !counts.i.data_valid && rng.percent(50) {
                counts.i.data_valid = true;
                counts.i.data_dest = rng.pick(&dests);
            }
            if !counts.i.ack_valid && rng.percent(50) {
                counts.i.ack_valid = true;
                counts.i.ack_dest = rng.pick(&dests);
            }
            let out = pair.clock(&counts.i)?;
            counts.check(out);
        }
    }
    reached.check();
    Ok(())
}
