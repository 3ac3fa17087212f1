//! What must hold in every clock of a soak beside the NICs' books, whatever is wrong around them.

use std::collections::BTreeMap;

use rtl_model::types::{Cqe, Qpn};

use crate::event::{Event, Sink};
use crate::made::Made;
use crate::record::Recorder;
use crate::switch::frame::Kind;
use crate::world::{State, World};

use super::ledger::Ledger;
use super::met::Met;

/// Counts what happens and keeps the first thing that must not.
pub struct Watch {
    /// Counts of the run.
    pub recorder: Recorder,
    /// Packets sent with the last PSN before the wrap.
    pub psn_wraps: u64,
    /// New packets made, and messages completed, of the QP in each slot of each NIC.
    sent: BTreeMap<(usize, u8), [u64; 2]>,
    /// What each NIC's buffers met.
    pub books: Vec<Ledger>,
    /// What each NIC's transport met.
    pub met: Vec<Met>,
    /// The first broken promise, with its clock.
    pub broken: Option<(u64, String)>,
}

impl Watch {
    /// A watch that has seen nothing.
    pub fn new(recorder: Recorder) -> Self {
        let (sent, books) = (BTreeMap::new(), Vec::new());
        let met = Vec::new();
        Self { recorder, psn_wraps: 0, sent, books, met, broken: None }
    }

    fn hold(&mut self, clock: u64, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.broken.is_none() {
            self.broken = Some((clock, what()));
        }
    }

    /// CPL-1: no more messages of a QP are complete than it has packets made, as each has one.
    fn sends_first(&mut self, clock: u64, nic: usize, event: &Event) {
        match event {
            Event::QpCreated { qpn, sender: true, .. } => {
                self.sent.insert((nic, Qpn(*qpn).slot()), [0; 2]);
            }
            Event::Made(Made { kind: Kind::Data, qp: Some(qp), .. }) => {
                self.sent.entry((nic, *qp)).or_default()[0] += 1;
            }
            Event::Completed { kind: Cqe::Wqe, qpn, .. } => {
                let [made, done] = self.sent.entry((nic, Qpn(*qpn).slot())).or_default();
                *done += 1;
                let (made, done) = (*made, *done);
                self.hold(clock, done <= made, || {
                    format!(
                        "NIC {nic}: {done} messages of QP {qpn:#x} complete, {made} packets made"
                    )
                });
            }
            _ => {}
        }
    }

    /// Once more at the end: each message that is complete is whole.
    pub fn rest(&mut self, world: &World) {
        self.check(world);
        if world.state() != State::Finished {
            return;
        }
        let complete = world.driver.messages.iter().filter(|m| m.done[2].is_some()).count() as u64;
        let intact = world.driver.intact;
        self.hold(world.clock, complete == intact, || {
            format!("{complete} messages complete, {intact} of them whole")
        });
        for (n, m) in world.driver.messages.iter().enumerate() {
            let fate =
                m.done.iter().all(Option::is_some) || m.failed.is_some() || m.refused.is_some();
            self.hold(world.clock, fate, || {
                format!("message {n} is neither whole, in error nor refused")
            });
        }
    }

    fn check(&mut self, world: &World) {
        let clock = world.clock;
        for (node, settings) in world.nodes.iter().zip(&world.settings.nics) {
            let name = &settings.name;
            let counts = &node.host.counts;
            self.hold(clock, counts.stray_writes == 0, || {
                format!("{name}: a write outside the host's buffers")
            });
            self.hold(clock, counts.stray_reads == 0, || {
                format!("{name}: a read outside the host's buffers")
            });
        }
        let driver = &world.driver;
        self.hold(clock, driver.corrupted.is_empty(), || {
            format!("messages {:?} are not as they were sent", driver.corrupted)
        });
        self.hold(clock, driver.stray_entries == 0, || "a completion too many".into());
    }
}

impl Sink for Watch {
    fn event(&mut self, clock: u64, nic: usize, event: &Event) {
        if let Event::Made(Made { kind: Kind::Data, psn: 0xff_ffff, .. }) = event {
            self.psn_wraps += 1;
        }
        self.sends_first(clock, nic, event);
        self.recorder.event(clock, nic, event);
    }

    fn due(&self) -> u64 {
        0
    }

    fn look(&mut self, world: &World) {
        self.books.resize_with(world.nodes.len(), Ledger::default);
        let psns = world.settings.sizes.psns;
        self.met.resize_with(world.nodes.len(), || Met::new(psns));
        for (n, node) in world.nodes.iter().enumerate().filter(|_| world.clock > world.boot) {
            self.met[n].look(&node.nic);
            self.books[n].look(&node.nic);
        }
        self.check(world);
    }
}
