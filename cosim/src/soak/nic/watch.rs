//! What must hold in every clock of every run, whatever is wrong around the NICs.

use std::collections::BTreeMap;

use rtl_model::types::{Cqe, Qpn};

use crate::event::{Event, Sink};
use crate::made::Made;
use crate::record::Recorder;
use crate::records::buffers::pools;
use crate::switch::frame::Kind;
use crate::world::{Node, State, World};

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
    /// A book for each NIC.
    pub books: Vec<Ledger>,
    /// What each NIC met.
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

    /// Once more at the end: what a NIC at rest has given back.
    pub fn rest(&mut self, world: &World) {
        self.check(world);
        if world.state() != State::Finished {
            return;
        }
        for (node, settings) in world.nodes.iter().zip(&world.settings.nics) {
            for pool in pools(&node.nic, settings) {
                let what =
                    || format!("{}: {} B left in {}", settings.name, pool.occupancy, pool.name);
                self.hold(world.clock, pool.occupancy == 0, what);
            }
            let left = node.nic.o.prefetch_pool.occ;
            let what = || format!("{}: {left} B left in the prefetch buffer", settings.name);
            self.hold(world.clock, left == 0, what);
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

    /// RTX-2: a packet built and not retired is in egress, on the wire, waits to go again, or is
    /// between two of these for a clock; never in two.
    fn one_place(&mut self, clock: u64, name: &str, node: &Node) {
        let (store, again) = (&node.nic.b.replay_store, &node.nic.b.retransmit);
        for slot in store.live.iter_ones() {
            let between = store.sent_valid && usize::from(store.sent_slot) == slot
                || again.sent_valid && usize::from(again.sent_slot) == slot
                || again.hold_valid && usize::from(again.slot) == slot;
            let places = [store.egress[slot], again.on_wire[slot], again.waits[slot], between];
            let one = places.iter().filter(|p| **p).count() == 1;
            self.hold(clock, one, || format!("{name}: slot {slot} is in {places:?}"));
        }
    }

    fn check(&mut self, world: &World) {
        let clock = world.clock;
        for (node, settings) in world.nodes.iter().zip(&world.settings.nics) {
            let name = &settings.name;
            self.one_place(clock, name, node);
            // Pools: what is held and what is free are the size, and neither is negative.
            for pool in pools(&node.nic, settings) {
                let fits = clock <= world.boot || pool.occupancy <= pool.size;
                self.hold(clock, fits, || {
                    format!("{name}: {} B in {} of {} B", pool.occupancy, pool.name, pool.size)
                });
            }
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
        self.met.resize_with(world.nodes.len(), Met::default);
        for (n, node) in world.nodes.iter().enumerate().filter(|_| world.clock > world.boot) {
            self.met[n].look(&node.nic);
            let wrong = self.books[n].look(&node.nic);
            let name = &world.settings.nics[n].name;
            self.hold(world.clock, wrong.is_none(), || {
                format!("{name}: {}", wrong.unwrap_or_default())
            });
        }
        self.check(world);
    }
}
