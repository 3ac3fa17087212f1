//! What hosts and the network do that they should not, drawn from the seed.

use rtl_model::host_interface::{DOORBELL_PAGE, OP_WRITE, Wqe};
use rtl_model::rng::Rng;
use rtl_model::types::Qpn;
use serde::{Deserialize, Serialize};

use crate::driver::BAR;
use crate::scenario::FaultKind;
use crate::settings::{FaultSettings, Settings};
use crate::world::Node;

/// Clocks between two faults of one entry.
const GAP: u64 = 37;
/// The longest garbage, bytes.
const LONGEST: u64 = 200;

/// All faults of a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Faults {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    settings: FaultSettings,
    done: u64,
    rng: Rng,
}

impl Faults {
    /// None done yet.
    pub fn new(settings: &Settings) -> Self {
        let entry = |(n, f): (usize, &FaultSettings)| Entry {
            settings: f.clone(),
            done: 0,
            rng: Rng::new(settings.seed, &format!("fault {n}")),
        };
        Self { entries: settings.faults.iter().enumerate().map(entry).collect() }
    }

    /// All have been done.
    pub fn finished(&self) -> bool {
        self.entries.iter().all(|e| e.done == e.settings.count)
    }

    /// Does what is due in `clock`.
    pub fn step(&mut self, clock: u64, boot: u64, nodes: &mut [Node]) {
        for entry in &mut self.entries {
            let s = &entry.settings;
            if entry.done < s.count && clock >= boot + s.at + entry.done * GAP {
                let kind = s.kind;
                let node = &mut nodes[s.nic];
                let n = entry.done;
                entry.done += 1;
                entry.act(kind, n, clock, node);
            }
        }
    }
}

impl Entry {
    /// The n-th fault; lengths run through 0 to 200 so that each occurs.
    fn act(&mut self, kind: FaultKind, n: u64, clock: u64, node: &mut Node) {
        let mut bytes = vec![0; (n % (LONGEST + 1)) as usize];
        self.rng.fill(&mut bytes);
        match kind {
            FaultKind::GarbageFrames => node.wire.stray(bytes),
            FaultKind::GarbageTlps => {
                bytes.resize(bytes.len().div_ceil(4) * 4, 0);
                let header = std::array::from_fn(|_| self.rng.bits() as u32);
                node.host.send_raw(clock, header, bytes);
            }
            FaultKind::BadDoorbells => {
                let (offset, bytes) = self.doorbell(n);
                node.host.post(clock, BAR + DOORBELL_PAGE + offset, &bytes);
            }
        }
    }

    /// A doorbell write with one thing wrong: size, place, opcode, a reserved bit, peer, length,
    /// a QP that is not open.
    fn doorbell(&mut self, n: u64) -> (u64, Vec<u8>) {
        let good = Wqe { opcode: OP_WRITE, open: true, length: 64, ..Wqe::default() };
        let of = |wqe: Wqe| (0, wqe.to_bytes().to_vec());
        match n % 7 {
            0 => (0, vec![1; 1 + self.rng.below(63) as usize]),
            1 => (4, good.to_bytes().to_vec()),
            2 => of(Wqe { opcode: self.rng.between(4, 255) as u8, ..good }),
            3 => {
                let mut bytes = good.to_bytes().to_vec();
                bytes[48 + self.rng.below(16) as usize] = 1 << self.rng.below(8);
                (0, bytes)
            }
            4 => of(Wqe { dest: self.rng.between(2, 255) as u8, ..good }),
            5 => of(Wqe { length: 0x8000_0000 | self.rng.bits() as u32, ..good }),
            _ => of(Wqe {
                open: false,
                qpn: Qpn(self.rng.between(0xff_ff00, 0xff_ffff) as u32),
                ..good
            }),
        }
    }
}
