//! The state of each PSN of each open QP: not sent, fetching, queued in egress, on the wire, waiting
//! to go again, or retired; exactly one (RTX-2, PKT-6, SEG-2).

use std::collections::BTreeMap;

use rtl_model::image::BitMap;
use rtl_model::nic::{Nic, blocks};
use rtl_model::replay_store::Look;
use rtl_model::retransmit::{Job, State};
use rtl_model::types::{Psn, Segment};
use serde::{Deserialize, Serialize};

use super::Checked;
use super::flight::Flight;
use crate::settings::NicSettings;

/// Where a packet is that was issued and is not retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    /// Its payload is fetched, or handed on and not built.
    Fetching,
    /// In egress.
    Queued,
    /// On the wire, or lost there: its timer runs.
    OnWire,
    /// It waits to go again.
    Waiting,
}

/// Such a packet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Packet {
    slot: u16,
    group: u8,
    /// Nominal bytes.
    bytes: u64,
    place: Place,
}

/// PSNs of a QP: from `next` on they are not sent, up to `cum` they are retired; of those between
/// them the ones that have a packet are not.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Qp {
    next: Psn,
    cum: Psn,
}

/// A QP's table index and a PSN.
type Key = (u8, u32);

/// All packets of a NIC.
#[derive(Clone, Serialize, Deserialize)]
pub struct Packets {
    qps: Vec<Qp>,
    unretired: BTreeMap<Key, Packet>,
    /// Whose each slot is, from the issue until it is free again.
    owners: Vec<Option<Key>>,
    used: u16,
    /// A slot was taken in the clock before: `tx_scheduler` shows a new segment.
    issued: bool,
    /// QP whose record in `tx_scheduler` has changed.
    touched: Option<u8>,
    /// Slots of packets built and not retired, and of copies in egress.
    live: BitMap,
    egress: BitMap,
    /// Of those built, where they are.
    on_wire: BitMap,
    waits: BitMap,
    /// `MaxPSNRange`.
    range: u64,
    flight: Flight,
}

impl Packets {
    /// No QP is open.
    pub fn new(nic: &Nic, settings: &NicSettings) -> Self {
        let store = &nic.b.replay_store;
        let none = BitMap::repeat(false, store.live.len());
        Self {
            qps: vec![Qp::default(); nic.b.tx_scheduler.next.len()],
            unretired: BTreeMap::new(),
            owners: vec![None; store.live.len()],
            used: 0,
            issued: false,
            touched: None,
            live: none.clone(),
            egress: none.clone(),
            on_wire: none.clone(),
            waits: none,
            range: settings.range,
            flight: Flight::new(settings),
        }
    }

    /// A clock; blocks that sleep are not looked at.
    pub fn look(&mut self, nic: &Nic) -> Checked {
        let places = nic.awake(blocks::PLACES);
        if places {
            self.retire(nic)?;
            self.free(nic)?;
        }
        if nic.awake(blocks::TABLE) {
            self.lifecycle(nic)?;
        }
        if places {
            self.issue(nic)?;
        }
        if nic.awake(blocks::TURNS) {
            self.flight.enter(nic)?;
        }
        self.record(nic)?;
        if places {
            self.compare(nic)?;
        }
        let flight = nic.awake(blocks::FLIGHT);
        if flight {
            self.flight.compare(nic)?;
        }
        if nic.awake(blocks::DRAIN) {
            self.fails(nic)?;
        }
        if places {
            self.sends(nic)?;
            self.goes_again(nic)?;
        }
        if nic.awake(blocks::TURNS) {
            self.acknowledged(nic)?;
        }
        if flight { self.flight.take(nic) } else { Ok(()) }
    }

    /// QP-2, QP-5: opens and closes.
    fn lifecycle(&mut self, nic: &Nic) -> Checked {
        let table = &nic.o.qp_table;
        if table.closed_valid {
            let qp = table.closed_qpn.slot();
            if let Some((key, left)) = self.unretired.range((qp, 0)..=(qp, u32::MAX)).next() {
                return Err(format!("QP and PSN {key:?} at its close: {left:?}"));
            }
        }
        if table.created_valid {
            let first = nic.i.qp_table.cfg_initial_psn;
            let qp = usize::from(table.created_qpn.slot());
            self.qps[qp] = Qp { next: first, cum: first.minus(1) };
        }
        Ok(())
    }

    /// PKT-6: a slot is free again, as the packet in it is retired.
    fn free(&mut self, nic: &Nic) -> Checked {
        let store = &nic.b.replay_store;
        if store.freed_valid {
            let owner = self.owners[usize::from(store.freed)].take();
            let left = owner.and_then(|key| self.unretired.get(&key));
            if owner.is_none() || left.is_some_and(|p| p.slot == store.freed) {
                return Err(format!("slot {} of {owner:?} is freed: {left:?}", store.freed));
            }
            self.used -= 1;
        }
        Ok(())
    }

    /// SEG-2: the next PSN of its QP, and no other, is fetched into a slot that is free.
    fn issue(&mut self, nic: &Nic) -> Checked {
        let taken = nic.o.replay_store.slot_valid && nic.i.replay_store.slot_ready;
        if !std::mem::replace(&mut self.issued, taken) {
            return Ok(());
        }
        let seg = &nic.b.tx_scheduler.seg;
        let (key, qp) = ((seg.qp, seg.psn.0), &mut self.qps[usize::from(seg.qp)]);
        if seg.psn != qp.next {
            return Err(format!("QP and PSN {key:?} are issued after {:?}", qp.next.minus(1)));
        }
        qp.next = qp.next.plus(1);
        let beyond = qp.next.minus(qp.cum.0).minus(1).0;
        if u64::from(beyond) > self.range {
            return Err(format!("QP {}: {beyond} PSNs beyond {:?}", seg.qp, qp.cum));
        }
        self.touched = Some(seg.qp);
        self.used += 1;
        let bytes = nominal(nic, seg);
        let packet = Packet { slot: seg.slot, group: seg.group, bytes, place: Place::Fetching };
        let owner = self.owners[usize::from(seg.slot)].replace(key);
        let other = self.unretired.insert(key, packet);
        if owner.is_some() || other.is_some() {
            return Err(format!("slot {} for {key:?} is of {owner:?}, {other:?}", seg.slot));
        }
        self.flight.count(seg.group, bytes)
    }

    /// ACK-2, SACK-4, QP-6: what is acknowledged or discarded is retired, wherever it is.
    fn retire(&mut self, nic: &Nic) -> Checked {
        let store = &nic.b.replay_store;
        if !(store.rsp_valid && store.rsp_hit && store.op == Look::Retire) {
            return Ok(());
        }
        let key = (store.rsp.qp, store.rsp.psn.0);
        let slot = usize::from(store.rsp_slot);
        let Some(packet) = self.unretired.remove(&key).filter(|p| p.slot == store.rsp_slot) else {
            return Err(format!("slot {slot} retires {key:?}, which is in no place"));
        };
        for map in [&mut self.live, &mut self.on_wire, &mut self.waits] {
            map.set(slot, false);
        }
        match packet.place {
            Place::Fetching => return Err(format!("{key:?} is retired, and was not built")),
            Place::Waiting => {}
            Place::Queued | Place::OnWire => self.flight.leave(packet.group, packet.bytes),
        }
        Ok(())
    }

    /// The packet in a slot goes from one place to another.
    fn go(&mut self, slot: u16, from: Place, to: Place) -> Result<Packet, String> {
        let at = usize::from(slot);
        let owner = self.owners[at];
        let packet = owner.and_then(|key| self.unretired.get_mut(&key));
        let Some(packet) = packet.filter(|p| p.slot == slot && p.place == from) else {
            let packet = owner.and_then(|key| self.unretired.get(&key));
            return Err(format!("slot {slot} goes {from:?} to {to:?}, but holds {packet:?}"));
        };
        packet.place = to;
        for (map, place) in [
            (&mut self.egress, Place::Queued),
            (&mut self.on_wire, Place::OnWire),
            (&mut self.waits, Place::Waiting),
        ] {
            map.set(at, to == place);
        }
        Ok(*packet)
    }

    /// PCI-8, QP-6: a segment comes to nothing.
    fn fails(&mut self, nic: &Nic) -> Checked {
        let (fetch, drain) = (&nic.o.payload_fetch, &nic.i.qp_drain);
        if drain.failed_valid && nic.o.qp_drain.failed_ready {
            let key = (fetch.failed.qp, fetch.failed.psn.0);
            let packet = self.unretired.remove(&key).filter(|p| p.place == Place::Fetching);
            let Some(packet) = packet else {
                return Err(format!("{key:?} comes to nothing, and was not fetched"));
            };
            self.flight.leave(packet.group, packet.bytes);
        }
        Ok(())
    }

    /// Builds and ends of serialisation.
    fn sends(&mut self, nic: &Nic) -> Checked {
        let i = &nic.i.replay_store;
        if i.build_valid {
            let (key, slot) = ((i.build.qp, i.build.psn.0), i.build.slot);
            if self.owners[usize::from(slot)] != Some(key) {
                return Err(format!("slot {slot} is built as {key:?}"));
            }
            self.go(slot, Place::Fetching, Place::Queued)?;
            self.live.set(slot.into(), true);
        }
        if i.gone_valid && i.gone_data {
            let slot = usize::from(i.gone_slot);
            if !self.egress[slot] {
                return Err(format!("slot {slot} is serialised, and was not in egress"));
            }
            self.egress.set(slot, false);
            if self.live[slot] {
                self.go(i.gone_slot, Place::Queued, Place::OnWire)?;
            }
        }
        Ok(())
    }

    /// RTX-1: from the wire to those that wait, and from there to egress; CPL-2: a copy of what is
    /// retired.
    fn goes_again(&mut self, nic: &Nic) -> Checked {
        let (again, i) = (&nic.b.retransmit, &nic.i.retransmit);
        let slot = again.slot;
        if again.state == State::Act && nic.o.retransmit.tim_we {
            let packet = self.go(slot, Place::OnWire, Place::Waiting)?;
            self.flight.leave(packet.group, packet.bytes);
        }
        if again.state != State::Offer || !i.end_valid || !i.end_take {
            return Ok(());
        }
        if again.job == Job::Ask {
            let packet = self.go(slot, Place::Waiting, Place::Queued)?;
            return self.flight.count(packet.group, packet.bytes);
        }
        let at = usize::from(slot);
        if again.job != Job::Copy || self.live[at] || self.owners[at].is_none() || self.egress[at] {
            return Err(format!("slot {slot} of {:?} goes as a copy", self.owners[at]));
        }
        self.egress.set(at, true);
        Ok(())
    }

    /// ACK-2: all up to a cumulative PSN is retired.
    fn acknowledged(&mut self, nic: &Nic) -> Checked {
        let i = &nic.i.tx_scheduler;
        if !(i.ack_valid && nic.o.tx_scheduler.ack_ready) {
            return Ok(());
        }
        let qp = &mut self.qps[usize::from(i.ack_qp)];
        self.touched = Some(i.ack_qp);
        while i.ack_cum.ahead_of(qp.cum) > 0 {
            qp.cum = qp.cum.plus(1);
            let left = self.unretired.get(&(i.ack_qp, qp.cum.0));
            if left.is_some() || qp.cum.ahead_of(qp.next) >= 0 {
                let (qp, psn) = (i.ack_qp, qp.cum);
                return Err(format!("QP {qp}: {psn:?} is acknowledged, but {left:?}"));
            }
        }
        Ok(())
    }

    /// PSNs of a QP as `tx_scheduler` has written them.
    fn record(&mut self, nic: &Nic) -> Checked {
        // The record of what is outstanding must hear of each packet, or it never retires.
        if nic.i.built_fifo.in_valid && !nic.o.built_fifo.in_ready {
            return Err("a packet is built that the queue to its record has no place for".into());
        }
        if let Some(qp) = self.touched.take() {
            let (book, now) =
                (self.qps[usize::from(qp)], nic.m.tx_scheduler_qctx.peek(usize::from(qp)));
            // An acknowledgement is written in its clock, an issue in the one before.
            if (now.next, now.cum) != (book.next, book.cum) {
                let (next, cum) = (now.next, now.cum);
                return Err(format!("QP {qp}: next {next:?}, cum {cum:?}, by the book {book:?}"));
            }
        }
        Ok(())
    }

    /// Slots and places against the book.
    fn compare(&self, nic: &Nic) -> Checked {
        let (store, again) = (&nic.b.replay_store, &nic.b.retransmit);
        if store.used != self.used {
            return Err(format!("{} slots are taken, by the book {}", store.used, self.used));
        }
        let moves = store.sent_valid || again.sent_valid || again.hold_valid;
        if !moves && self.same(nic) {
            return Ok(());
        }
        let bit = |valid: bool, slot: u16, word: usize| {
            u64::from(valid && usize::from(slot) / 64 == word) << (slot % 64)
        };
        let words = |map: &BitMap, word: usize| map.as_raw_slice()[word];
        for word in 0..self.live.as_raw_slice().len() {
            let live = words(&store.live, word);
            // Between egress and its timer, and between its turn and egress, are clocks.
            let on_wire = words(&again.on_wire, word)
                | bit(store.sent_valid, store.sent_slot, word)
                | bit(again.sent_valid, again.sent_slot, word);
            let egress = words(&store.egress, word) | bit(again.hold_valid, again.slot, word);
            let now = [live, egress, on_wire & live, words(&again.waits, word) & live];
            let book = [&self.live, &self.egress, &self.on_wire, &self.waits];
            let wrong =
                now.iter().zip(book).fold(0, |wrong, (now, book)| wrong | now ^ words(book, word));
            if wrong != 0 {
                let slot = 64 * word + wrong.trailing_zeros() as usize;
                return Err(self.differs(slot, now.map(|bits| bits >> (slot % 64) & 1)));
            }
        }
        Ok(())
    }

    /// No packet is between two places, and each is where the book has it.
    fn same(&self, nic: &Nic) -> bool {
        let (store, again) = (&nic.b.replay_store, &nic.b.retransmit);
        let live = store.live.as_raw_slice();
        let built = |now: &BitMap, book: &BitMap| {
            let words = live.iter().zip(now.as_raw_slice()).zip(book.as_raw_slice());
            words.fold(0, |wrong, ((live, now), book)| wrong | live & now ^ book) == 0
        };
        live == self.live.as_raw_slice()
            && store.egress.as_raw_slice() == self.egress.as_raw_slice()
            && built(&again.on_wire, &self.on_wire)
            && built(&again.waits, &self.waits)
    }

    fn differs(&self, slot: usize, now: [u64; 4]) -> String {
        let owner = self.owners[slot];
        let packet = owner.and_then(|key| self.unretired.get(&key));
        format!(
            "slot {slot} is in {now:?} of live, egress, wire, waiting; by the book {owner:?} is \
             {packet:?}"
        )
    }

    /// Nothing is in flight, no slot is taken.
    pub fn rest(&self, nic: &Nic) -> Checked {
        if let Some((key, packet)) = self.unretired.first_key_value() {
            return Err(format!("QP and PSN {key:?} at the end: {packet:?}"));
        }
        let used = nic.b.replay_store.used;
        if used > 0 {
            return Err(format!("{used} replay slots are taken at the end"));
        }
        match nic.b.window.flight_sum {
            0 => Ok(()),
            left => Err(format!("{left} B left in flight")),
        }
    }
}

/// Bytes that a segment counts for in a window.
fn nominal(nic: &Nic, seg: &Segment) -> u64 {
    u64::from(seg.len) + u64::from(nic.i.retransmit.cfg_nominal_overhead)
}
