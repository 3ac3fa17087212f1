//! A scenario's whole state: NICs, hosts, wires, drivers. One value that can be copied and saved.
//!
//! The environment is a function of the golden NICs' outputs, the scenario and the seed. A clock
//! is: every block drives its registers; hosts and wires take what is on the ports and give the
//! inputs of this clock; readys; a check may look; the edge.

use std::net::Ipv4Addr;

use rtl_model::host_interface::{CQE_BYTES, CqeEntry, index, peer_value, register_offset};
use rtl_model::nic::{self, Nic};
use rtl_model::rng::Rng;
use rtl_model::timer_wheel::END;
use rtl_model::types::{Qpn, TlpBeat};
use serde::{Deserialize, Serialize};

use crate::book::Book;
use crate::driver::{Action, BAR, CQ_BASE, CQ_LOG2, Driver, MessageState};
use crate::event::{Event, Nowhere, Sink, events};
use crate::fault::Faults;
use crate::host::{Host, Room};
use crate::pcie::PcieBuffers;
use crate::run::FaultResult;
use crate::scenario::CLK_PS;
use crate::settings::{NicSettings, Settings};
use crate::switch::Switch;
use crate::switch::route::next_hop;
use crate::wire::{Assembler, WireBeat};

/// Clocks of a microsecond, at the end of which `tick` comes.
const CLOCKS_PER_US: u64 = 1_000_000 / CLK_PS;

/// One NIC with its host.
#[derive(Clone, Serialize, Deserialize)]
pub struct Node {
    /// The golden NIC.
    pub nic: Nic,
    /// The inputs of this clock.
    pub inputs: nic::Inputs,
    /// What it must hold.
    pub book: Book,
    /// Its host.
    pub host: Host,
    /// Puts together what it sends,
    tap: Assembler,
    /// and what it gets.
    ear: Assembler,
    arriving: u32,
    /// The most that each buffer of the PCIe link has held.
    pub pcie_most: PcieBuffers,
    /// Clocks in which a transfer of the NIC waited for room in its buffer, and in the host's.
    pub pcie_waited: [u64; 2],
}

/// How far a scenario has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Something moves, or is due.
    Going,
    /// Every message is complete at both ends, every close written, and nothing moves.
    Finished,
    /// Nothing moves and nothing is due: what is not complete never will be.
    Stuck,
}

/// A scenario under way.
#[derive(Clone, Serialize, Deserialize)]
pub struct World {
    /// The scenario.
    pub settings: Settings,
    /// This clock; 0 is the first after reset.
    pub clock: u64,
    /// The clock from which messages' times count.
    pub boot: u64,
    /// The NICs.
    pub nodes: Vec<Node>,
    /// What is between their ports.
    pub switch: Switch,
    /// The hosts' drivers.
    pub driver: Driver,
    faults: Faults,
    /// The first promise that did not hold: clock, NIC, what is held and what is counted.
    pub broken: Option<String>,
    #[serde(skip)]
    actions: Vec<Action>,
}

impl World {
    /// A scenario before its first clock. Memories start from words drawn from the seed. Boot ends
    /// when every NIC is configured and has swept its tables.
    pub fn new(settings: &Settings) -> Self {
        let (dests, qps) = (u64::from(settings.sizes.dests), u64::from(settings.sizes.qps));
        // `rx_track` sweeps its table of peers.
        let boot = dests * qps + 300;
        Self::booting(settings, boot.max(Self::configured(settings)))
    }

    /// Clocks until every host has written its NIC's registers; the limit, if that comes first. No
    /// peer may send before: settings stay while a frame arrives.
    fn configured(settings: &Settings) -> u64 {
        let mut world = Self::booting(settings, settings.limit);
        while world.clock < settings.limit && !world.nodes.iter().all(|n| n.host.quiet()) {
            world.step(&mut Nowhere);
        }
        // From a host to `csr` by way of the NIC.
        world.clock + 100
    }

    fn booting(settings: &Settings, boot: u64) -> Self {
        let nodes = (0..settings.nics.len()).map(|n| Node::new(settings, n, boot)).collect();
        let mut world = Self {
            settings: settings.clone(),
            clock: 0,
            boot,
            nodes,
            switch: Switch::new(settings, boot),
            driver: Driver::new(settings),
            faults: Faults::new(settings),
            broken: None,
            actions: Vec::new(),
        };
        for n in 0..world.nodes.len() {
            world.write_registers(n);
        }
        world
    }

    /// What the driver writes before anything else: identity, peers, the scenario's attributes.
    fn write_registers(&mut self, n: usize) {
        let mut writes = registers(&self.settings.nics[n], next_hop(&self.settings, n));
        for (d, peer) in self.settings.nics.iter().enumerate() {
            writes.push((index::PEER + d as u16, peer_value(ip(peer.address), true)));
        }
        self.nodes[n].host.memory.map(CQ_BASE, (CQE_BYTES as u64) << CQ_LOG2);
        for (at, value) in writes {
            let addr = BAR + register_offset(at);
            self.nodes[n].host.post(1, addr, &value.to_le_bytes());
        }
    }

    /// Whether all is done, something still moves or is due, or neither.
    pub fn state(&self) -> State {
        let moves = self.clock <= self.boot || !self.switch.quiet();
        if moves || !self.faults.finished() || !self.switch.finished() {
            State::Going
        } else if self.driver.finished() {
            let quiet = self.nodes.iter().all(Node::quiet);
            if quiet { State::Finished } else { State::Going }
        } else if self.driver.due(self.boot) == u64::MAX && self.nodes.iter().all(Node::still) {
            State::Stuck
        } else {
            State::Going
        }
    }

    /// Every message is complete at both ends, every close written, and nothing moves.
    pub fn finished(&self) -> bool {
        self.state() == State::Finished
    }

    /// What came of each fault.
    pub fn fault_results(&self) -> Vec<FaultResult> {
        self.faults.results(&self.nodes, |n| self.settings.nics[n].name.clone())
    }

    /// Who waits for what, for a run that does not end.
    pub fn waits(&self) -> Vec<String> {
        let mut out = Vec::new();
        let open = |m: &&MessageState| m.refused.is_none() && m.failed.is_none();
        for message in self.driver.messages.iter().filter(open) {
            let names = ["SEND_COMPLETE", "WQE_COMPLETE", "RECV_COMPLETE"];
            let missing = names.iter().zip(message.done).find(|(_, done)| done.is_none());
            if let Some((name, _)) = missing {
                let nics = &self.settings.nics;
                let (from, to) = (&nics[message.from].name, &nics[message.to].name);
                out.push(format!("message {from} to {to}, {} B: {name}", message.bytes));
            }
        }
        for (node, settings) in self.nodes.iter().zip(&self.settings.nics) {
            for what in node.nic.waits().into_iter().chain(node.host.waits()) {
                out.push(format!("{}: {what}", settings.name));
            }
        }
        out
    }

    /// First half of a clock: outputs from registers, the environment's answers, readys. After it
    /// `inputs` and outputs of each NIC are those that hold before the edge.
    pub fn settle(&mut self, sink: &mut impl Sink) {
        let clock = self.clock;
        for n in 0..self.nodes.len() {
            self.nodes[n].nic.drive();
            self.take_outputs(n, sink);
        }
        self.act(clock);
        for act in self.switch.acts.drain(..) {
            sink.event(clock, act.from, &Event::Switch(act));
        }
        for n in 0..self.nodes.len() {
            let node = &mut self.nodes[n];
            let wire = self.switch.take(clock, n);
            if let Some((len, bytes)) = node.give_inputs(clock, wire, sink.wants_frames()) {
                sink.event(clock, n, &Event::Arrived { len, bytes });
            }
            for event in node.host.events.drain(..) {
                sink.event(clock, n, &Event::Link(event));
            }
            node.nic.ready(&node.inputs);
            events(&node.nic, |event| sink.event(clock, n, &event));
            if let Err(what) = node.account() {
                let name = &self.settings.nics[n].name;
                self.broken.get_or_insert_with(|| format!("clock {clock}: {name}: {what}"));
            }
        }
        if sink.due() <= clock {
            sink.look(self);
        }
    }

    /// Second half: the rising edge.
    ///
    /// # Panics
    /// When a promise is broken and nobody has asked.
    pub fn edge(&mut self) {
        self.keeps();
        for node in &mut self.nodes {
            node.nic.clock(&node.inputs);
        }
        self.clock += 1;
    }

    /// One clock without a check.
    pub fn step(&mut self, sink: &mut impl Sink) {
        self.settle(sink);
        self.edge();
    }

    /// Every promise holds.
    ///
    /// # Panics
    /// When one is broken.
    pub fn keeps(&self) {
        if let Some(what) = &self.broken {
            panic!("{what}");
        }
    }

    /// What a finished run has not given back.
    pub fn left(&self) -> Option<String> {
        let clock = self.clock;
        self.nodes.iter().zip(&self.settings.nics).find_map(|(node, settings)| {
            let what = node.rest().err()?;
            Some(format!("clock {clock}: {}: {what}", settings.name))
        })
    }

    fn act(&mut self, clock: u64) {
        let mut actions = std::mem::take(&mut self.actions);
        let nodes = &self.nodes;
        self.driver.close_orphans(clock, |nic, from, qpn| nodes[nic].nic.receiving(from, qpn));
        if self.driver.due(self.boot) <= clock {
            self.driver.step(clock, self.boot, &mut actions);
        }
        self.faults.step(clock, self.boot, &mut self.nodes, &mut self.switch);
        self.switch.step(clock);
        for action in actions.drain(..) {
            self.perform(clock, action);
        }
        self.actions = actions;
    }

    fn perform(&mut self, clock: u64, action: Action) {
        match action {
            Action::Post { nic, addr, bytes } => self.nodes[nic].host.post(clock, addr, &bytes),
            Action::Map { message } => {
                let (m, bytes) = (&self.driver.messages[message], self.driver.payload(message));
                let len = u64::from(m.bytes);
                self.nodes[m.from].host.memory.map_source(m.laddr, len, bytes);
                self.nodes[m.to].host.memory.map_target(m.raddr, len, bytes);
            }
            Action::Check { message } => self.check_message(message),
        }
    }

    /// The target must equal the source, byte for byte; then both buffers go.
    fn check_message(&mut self, id: usize) {
        let m = &self.driver.messages[id];
        let (from, to, laddr, raddr) = (m.from, m.to, m.laddr, m.raddr);
        self.driver.judge(id, self.nodes[to].host.memory.arrived(raddr));
        self.nodes[from].host.memory.unmap(laddr);
        self.nodes[to].host.memory.unmap(raddr);
    }

    fn take_outputs(&mut self, n: usize, sink: &mut impl Sink) {
        let clock = self.clock;
        let node = &mut self.nodes[n];
        let frames = sink.wants_frames();
        let o = &node.nic.o.pcie_link;
        if o.tlp_valid {
            let beat = TlpBeat {
                sop: o.tlp_sop,
                eop: o.tlp_eop,
                hdr: o.tlp_hdr,
                dws: o.tlp_dws,
                data: o.tlp_data,
            };
            node.host.take(clock, &beat, u64::from(o.tlp_back));
        }
        if o.cqe_valid {
            let words = o.cqe_hdr.0;
            let header = [words[0], words[0] >> 32, words[1], words[1] >> 32].map(|w| w as u32);
            let mut data = [0; CQE_BYTES];
            o.cqe_data.to_bytes(&mut data);
            node.host.take_cqe(clock, &header, &data);
        }
        let freed = &node.nic.o.pcie_room;
        if freed.freed_valid {
            let (headers, data) = (u64::from(freed.freed_hdr), u64::from(freed.freed_data));
            node.host.transmit.freed(Room { headers, data });
        }
        let bell = &node.nic.o.doorbell;
        if bell.post_sched_valid {
            self.driver.taken(n, bell.post_qpn, bell.post_cookie);
        }
        let drain = &node.nic.o.qp_drain;
        if drain.error_valid {
            let delay = self.settings.nics[n].close_delay;
            self.driver.qp_failed(clock, n, (drain.error_qpn, drain.error_why), delay);
        }
        node.host.drain(clock);
        if let Some((beat, back)) = node.wire_out() {
            self.send(n, beat, back, frames, sink);
        }
        self.read_completions(n);
    }

    fn send(&mut self, n: usize, beat: WireBeat, back: u32, frames: bool, sink: &mut impl Sink) {
        let clock = self.clock;
        if beat.sop {
            self.watch(&beat);
        }
        if frames && let Some(bytes) = self.nodes[n].tap.beat(&beat) {
            sink.event(clock, n, &Event::Sent { back, bytes });
        }
        self.switch.put(clock, n, beat, back);
    }

    /// A SACK tells the sender the receiver's number; the drivers learn it here (QP-4).
    fn watch(&mut self, beat: &WireBeat) {
        let mut b = [0; 96];
        beat.data.to_bytes(&mut b);
        if beat.bytes >= 90 && b[42] == 0xdc {
            let to = u32::from_be_bytes([b[30], b[31], b[32], b[33]]);
            let sender = self.settings.nics.iter().position(|s| ip(s.address) == to);
            let qpn = Qpn(u32::from_be_bytes([0, b[47], b[48], b[49]]));
            let receivers = Qpn(u32::from_be_bytes([0, b[54 + 12], b[54 + 8], b[54 + 9]]));
            if let Some(sender) = sender {
                self.driver.learn(sender, qpn, receivers);
            }
        }
    }

    fn read_completions(&mut self, n: usize) {
        if self.nodes[n].host.written.is_empty() {
            return;
        }
        let written = std::mem::take(&mut self.nodes[n].host.written);
        for (addr, len) in written {
            if !Driver::is_entry(addr) {
                continue;
            }
            let (want, phase) = self.driver.next_entry(n);
            let mut bytes = [0; CQE_BYTES];
            self.nodes[n].host.memory.read(addr, &mut bytes);
            let entry = CqeEntry::from_bytes(&bytes);
            let Some(entry) = entry.filter(|e| addr == want && e.phase == phase && len == 32)
            else {
                self.driver.stray_entries += 1;
                continue;
            };
            let delay = self.settings.nics[n].close_delay;
            let mut actions = std::mem::take(&mut self.actions);
            self.driver.completion(self.clock, n, &entry, delay, &mut actions);
            self.actions = actions;
        }
    }
}

impl Node {
    fn new(settings: &Settings, n: usize, boot: u64) -> Self {
        let mut nic = Nic::reset(&settings.sizes);
        nic.randomize(&mut Rng::new(settings.seed, &format!("nic {n} memories")));
        let mut host = settings.nics[n].host;
        host.drain_stops = host.drain_stops.saturating_add(boot);
        Self {
            book: Book::new(&nic, &settings.nics[n]),
            nic,
            inputs: nic::Inputs::default(),
            host: Host::new(host, Rng::new(settings.seed, &format!("host {n}"))),
            tap: Assembler::default(),
            ear: Assembler::default(),
            arriving: 0,
            pcie_most: PcieBuffers::default(),
            pcie_waited: [0; 2],
        }
    }

    /// Nothing will ever move at this NIC or its host, unless something comes in.
    fn still(&self) -> bool {
        let nic = &self.nic;
        // A block may be idle while what it has read from a memory is still on its way.
        self.host.quiet() && !nic.times() && nic.stands(&self.inputs)
    }

    /// Nothing moves at this NIC or its host.
    pub fn quiet(&self) -> bool {
        self.host.quiet() && self.nic.quiet()
    }

    /// The beat that leaves the port in this clock, and the remainder of its end.
    fn wire_out(&self) -> Option<(WireBeat, u32)> {
        let o = &self.nic.o.port_tx;
        let beat =
            WireBeat { sop: o.wire_sop, eop: o.wire_eop, bytes: o.wire_bytes, data: o.wire_data };
        o.wire_valid.then_some((beat, o.wire_back))
    }

    /// Sets this clock's inputs; gives length and, if wanted, bytes of a frame that has arrived
    /// whole.
    fn give_inputs(
        &mut self,
        clock: u64,
        wire: Option<WireBeat>,
        frames: bool,
    ) -> Option<(u32, Vec<u8>)> {
        let i = &mut self.inputs;
        let freed = self.host.take_freed();
        i.room_valid = freed != Room::default();
        if i.room_valid {
            (i.room_hdr, i.room_data) = (freed.headers as u16, freed.data as u16);
        }
        i.tick = clock > 0 && clock.is_multiple_of(CLOCKS_PER_US);
        i.now = clock & END;
        let beat = self.host.beat(clock);
        i.rx_valid = beat.is_some();
        if let Some(beat) = beat {
            i.rx = beat;
        }
        i.wire_valid = wire.is_some();
        let beat = wire?;
        (i.wire_sop, i.wire_eop) = (beat.sop, beat.eop);
        (i.wire_bytes, i.wire_data) = (beat.bytes, beat.data);
        self.arriving = if beat.sop { 0 } else { self.arriving } + u32::from(beat.bytes);
        let bytes = frames.then(|| self.ear.beat(&beat)).flatten().unwrap_or_default();
        beat.eop.then_some((self.arriving, bytes))
    }
}

/// An address as a number.
pub fn ip(address: Ipv4Addr) -> u32 {
    u32::from(address)
}

/// A locally administered MAC address made of the IPv4 address.
pub fn mac(s: &NicSettings) -> u64 {
    0x0200_0000_0000 | u64::from(ip(s.address))
}

/// The register writes of a NIC's settings.
fn registers(s: &NicSettings, hop: u64) -> Vec<(u16, u64)> {
    let own = u64::from(ip(s.address));
    let flags = u64::from(s.groups)
        | u64::from(s.trimming) << 1
        | u64::from(s.distinct_rtx) << 2
        | u64::from(s.cqe_on_link) << 3
        | s.buffers.sched << 4
        | 2 << 6;
    let over = &s.overheads;
    let overheads = over.data_header
        | (over.wire + s.trailer()) << 8
        | (over.nominal + s.trailer()) << 16
        | over.charge_less << 24
        | over.ack_extra << 32;
    let mut writes = vec![
        (index::MSS, s.mss),
        (index::RANGE, s.range),
        (index::LOSS, s.loss),
        (index::INITIAL_PSN, s.initial_psn),
        (index::WIRE_RATE, s.wire_rate),
        (index::PCIE_RATE, s.pcie_rate),
        (index::OWN_IP, own),
        (index::OWN_MAC, mac(s)),
        (index::HOP_MAC, hop),
        (index::CQ_BASE, CQ_BASE),
        (index::CQ_LOG2, u64::from(CQ_LOG2)),
        (index::INIT_WINDOW, s.window),
        (index::UNIT, s.unit()),
        (index::FLAGS, flags),
        (index::ACK_TIMEOUT, s.ack_timeout),
        (index::RETRY, s.linear | s.expo << 8 | u64::from(s.fixed) << 16),
        (index::TX_HDR_BUF, s.tx_header),
        (index::TX_DATA_BUF, s.tx_data),
        (index::RX_HDR_BUF, s.rx_header),
        (index::RX_DATA_BUF, s.rx_data),
        (index::FAR_HDR_BUF, s.far[0]),
        (index::FAR_DATA_BUF, s.far[1]),
        (index::PCIE_COSTS, s.overhead | s.read_request << 16),
        (index::MAX_PAYLOAD, s.max_payload / 128 - 1),
        (index::OVERHEADS, overheads),
        (index::TRAILER, u64::from(s.icrc)),
        (index::STAMPS, u64::from(s.stamps)),
        (index::PFC, s.buffers.pfc_enable | s.delay << 8),
        (index::ACK_HOLD, u64::from(over.ack_hold)),
    ];
    writes.extend(s.buffers.registers());
    writes
}
