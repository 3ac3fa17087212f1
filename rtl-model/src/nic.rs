//! The NIC: every block and memory, and the wires between them; no logic.
//!
//! Twin of `hdl/nic.sv`. A clock is `drive`, then `ready` with the inputs of the clock, then
//! `clock`. Blocks sleep. One that has not changed is not driven again, nor are the wires from it;
//! one that has not changed, sees the inputs of the clock before and has not used a memory is not
//! looked at; of the others one that says it is idle is not clocked. `set_sleep(false)` evaluates
//! every block at every clock; the values are the same.

mod lists;
mod wires;

use derive::Image;
use lists::{always, blocks, fifo, memories, messages, never};
use serde::{Deserialize, Serialize};

use wires::from;

use crate::block::Block;
use crate::host_interface::{CLASSES, level};
use crate::image::{Changes, Image, Wide, Writer};
use crate::pcie_link;
use crate::ram_1r1w::Ram;
use crate::ram_fifo::{self, RamFifo};
use crate::rng::Rng;
use crate::sizes::Sizes;
use crate::stream_fifo::{self, StreamFifo};
use crate::types::{
    Beat, Delivery, Frame, PageWrite, Parsed, Psn, Qpn, Reply, Segment, TlpBeat, Word,
};
use crate::{
    ack_ask, ack_build, ack_hold, ack_take, completion, csr, doorbell, egress_arbiter,
    ingress_pool, packet_build, packet_parse, path_probe, path_select, pause_hold, pause_send,
    payload_fetch, payload_write, pcie_room, port_rx, port_tx, prefetch_pool, qp_drain, qp_table,
    replay_store, retransmit, rtt_sample, rx_track, sack_bitmap, timer_wheel, tlp_engine,
    tlp_parse, tx_scheduler, window,
};

/// Input ports of the NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Inputs {
    /// A beat of a TLP comes from the host.
    pub rx_valid: bool,
    /// The beat.
    pub rx: TlpBeat,
    /// A whole microsecond.
    pub tick: bool,
    /// Clocks since reset.
    #[bits(48)]
    pub now: u64,
    /// The host tells that room in its receive buffer is free again.
    pub room_valid: bool,
    /// Headers.
    pub room_hdr: u16,
    /// Units of 16 B of payload.
    pub room_data: u16,
    /// A beat of a frame comes from the wire.
    pub wire_valid: bool,
    /// First beat of its frame.
    pub wire_sop: bool,
    /// Last beat of its frame.
    pub wire_eop: bool,
    /// Bytes that count.
    pub wire_bytes: u8,
    /// The bytes.
    pub wire_data: Beat,
}

/// Output ports of the NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image)]
pub struct Outputs {
    /// There is room for a beat of a TLP.
    pub rx_ready: bool,
    /// A beat of a TLP goes to the host.
    pub tlp_valid: bool,
    /// First beat of its TLP.
    pub tlp_sop: bool,
    /// Last beat of its TLP.
    pub tlp_eop: bool,
    /// The header, with the first beat.
    pub tlp_hdr: Wide<2>,
    /// DWs of data in this beat.
    pub tlp_dws: u8,
    /// The data.
    pub tlp_data: Beat,
    /// Units from the exact end of the transfer to this clock, less the latency; with the last beat.
    #[bits(20)]
    pub tlp_back: u32,
    /// Room in the receive buffer is free again, to the host.
    pub freed_valid: bool,
    /// A header's.
    pub freed_hdr: bool,
    /// Units of 16 B of payload.
    #[bits(4)]
    pub freed_data: u8,
    /// A completion entry goes to the host at no cost of link time.
    pub cqe_valid: bool,
    /// Its header.
    pub cqe_hdr: Wide<2>,
    /// The entry.
    pub cqe_data: Wide<4>,
    /// A beat of a frame goes to the wire.
    pub wire_valid: bool,
    /// First beat of its frame.
    pub wire_sop: bool,
    /// Last beat of its frame.
    pub wire_eop: bool,
    /// Bytes that count.
    pub wire_bytes: u8,
    /// The bytes.
    pub wire_data: Beat,
    /// Units from the exact end of serialisation to this clock, less the latency.
    #[bits(20)]
    pub wire_back: u32,
}

/// Where an instance lies in the RTL's image.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Its index among the RTL's instances.
    pub instance: usize,
    /// First word of its outputs, and how many they are.
    pub outputs: (usize, usize),
    /// The same for its registers.
    pub regs: (usize, usize),
}

/// The place of each instance, in the order of `Nic::instances`.
#[derive(Clone, Debug, Default)]
pub struct Places(pub Vec<Place>);

macro_rules! structs {
    ([] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => {
        /// The blocks' registers.
        #[derive(Clone, PartialEq, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub struct Blocks { $(pub $name: $regs,)* }

        impl Blocks {
            fn reset(sizes: &Sizes) -> Self {
                Self { $($name: $new(sizes),)* }
            }
        }

        /// The blocks' inputs.
        #[derive(Clone, Default)]
        #[allow(missing_docs)]
        pub struct BlockInputs { $(pub $name: $in,)* }

        /// The blocks' outputs.
        #[derive(Clone, Default)]
        #[allow(missing_docs)]
        pub struct BlockOutputs { $(pub $name: $out,)* }
    };
}
blocks!(structs);

/// The blocks' numbers: their bits in a mask.
#[allow(non_upper_case_globals)]
mod at {
    macro_rules! numbers {
        ([] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => {
            $(pub const $name: u32 = $k;)*
        };
    }
    super::blocks!(numbers);
}

/// The memories' numbers: their bits in a mask.
#[allow(non_upper_case_globals)]
mod ram {
    macro_rules! numbers {
        ([] $($k:literal $name:ident $u:literal ($word:ty) ($depth:expr);)*) => {
            $(pub const $name: u32 = $k;)*
        };
    }
    super::memories!(numbers);
}

/// The blocks that the NIC's output ports come from.
const PORTS: u64 = 1 << at::rx_fifo | 1 << at::pcie_link | 1 << at::pcie_room | 1 << at::port_tx;

/// Blocks as masks, for `Nic::awake`.
pub mod blocks {
    use super::at;

    /// The ingress pools.
    pub const INGRESS: u64 = 1 << at::ingress_pool;
    /// The egress pools.
    pub const EGRESS: u64 = 1 << at::egress_arbiter;
    /// The prefetch buffer.
    pub const PREFETCH: u64 = 1 << at::prefetch_pool;
    /// The PCIe transmit buffer.
    pub const LINK: u64 = 1 << at::pcie_link;
    /// Opens and closes of QPs.
    pub const TABLE: u64 = 1 << at::qp_table;
    /// Places of packets.
    pub const PLACES: u64 = 1 << at::replay_store | 1 << at::retransmit;
    /// Turns.
    pub const TURNS: u64 = 1 << at::tx_scheduler;
    /// Ends of QPs, and of segments that come to nothing.
    pub const DRAIN: u64 = 1 << at::qp_drain;
    /// Bytes in flight, and who tells of them.
    pub const FLIGHT: u64 =
        1 << at::window | 1 << at::ack_take | 1 << at::retransmit | 1 << at::qp_drain;
}

macro_rules! memory_struct {
    ([] $($k:literal $name:ident $u:literal ($word:ty) ($depth:expr);)*) => {
        /// The memories.
        #[derive(Clone, Serialize, Deserialize)]
        #[allow(missing_docs)]
        pub struct Memories { $(pub $name: Ram<$word>,)* }

        impl Memories {
            fn new(sizes: &Sizes) -> Self {
                Self { $($name: Ram::new($depth(sizes)),)* }
            }
        }
    };
}
memories!(memory_struct);

/// A NIC.
#[derive(Clone, Serialize, Deserialize)]
pub struct Nic {
    /// The blocks.
    pub b: Blocks,
    /// The memories.
    pub m: Memories,
    /// What the blocks see.
    #[serde(skip)]
    pub i: BlockInputs,
    /// What the blocks show.
    #[serde(skip)]
    pub o: BlockOutputs,
    /// Blocks whose registers have changed and are to be driven.
    #[serde(skip, default = "all")]
    due: u64,
    /// Blocks that are awake in this clock: changed, or with other inputs, or woken by `stir`.
    #[serde(skip, default = "all")]
    wake: u64,
    /// Blocks that have used a memory, and are awake in the next clock.
    #[serde(skip, default = "all")]
    stir: u64,
    /// A memory has been written in the last clock.
    #[serde(skip, default = "yes")]
    wrote: bool,
    /// Blocks that have changed since the image was written.
    #[serde(skip, default = "all")]
    changed: u64,
    /// Blocks that were awake since the image was written.
    #[serde(skip, default = "all")]
    seen: u64,
    /// Memories that have been read since the image was written.
    #[serde(skip, default = "all")]
    read: u64,
    /// Outputs and inputs are not those of the registers yet.
    #[serde(skip, default = "yes")]
    fresh: bool,
    #[serde(default = "yes")]
    sleep: bool,
}

fn all() -> u64 {
    u64::MAX
}

fn yes() -> bool {
    true
}

impl Nic {
    /// A NIC after a reset, its memories all zeros.
    pub fn reset(sizes: &Sizes) -> Self {
        Self {
            b: Blocks::reset(sizes),
            m: Memories::new(sizes),
            i: BlockInputs::default(),
            o: BlockOutputs::default(),
            due: all(),
            wake: all(),
            stir: all(),
            wrote: true,
            changed: all(),
            seen: all(),
            read: all(),
            fresh: true,
            sleep: true,
        }
    }

    /// Draws the words of all memories.
    pub fn randomize(&mut self, rng: &mut Rng) {
        macro_rules! each {
            ([$m:expr, $rng:expr] $($k:literal $name:ident $u:literal ($word:ty) ($depth:expr);)*) => {
                $($m.$name.randomize($rng);)*
            };
        }
        memories!(each, self.m, rng);
        self.fresh = true;
    }

    /// Whether blocks that are idle may be passed over.
    pub fn set_sleep(&mut self, sleep: bool) {
        self.sleep = sleep;
    }

    /// First phase: every output that comes from registers alone, and the inputs that follow.
    pub fn drive(&mut self) {
        let due = if self.sleep && !self.fresh { self.due } else { all() };
        self.wake = due | self.stir;
        macro_rules! each {
            ([$s:expr, $due:expr] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => {
                $(if $due >> $k & 1 == 1 {
                    $s.b.$name.drive(&mut $s.o.$name);
                    from::$name($s);
                })*
            };
        }
        blocks!(each, self, due);
        if self.fresh {
            self.connect_memories();
            self.fresh = false;
        }
        self.changed |= due;
        (self.due, self.stir, self.wrote) = (0, 0, false);
    }

    /// Second phase: the ports, and what passes through from inputs.
    pub fn ready(&mut self, ports: &Inputs) {
        self.connect_ports(ports);
        self.connect_readys();
        self.seen |= self.wake;
    }

    /// One of these blocks has changed with the last edge, or may change with this one; after
    /// `ready`.
    pub fn awake(&self, blocks: u64) -> bool {
        self.wake & blocks != 0
    }

    /// Third phase: the rising edge.
    pub fn clock(&mut self, _ports: &Inputs) {
        let (wake, sleep, mut due) = (self.wake, self.sleep, 0);
        macro_rules! each {
            ([$s:expr, $due:expr] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => {
                $(if wake >> $k & 1 == 1 && !(sleep && $s.b.$name.idle(&$s.i.$name)) {
                    $s.b.$name.clock(&$s.i.$name, &$s.o.$name);
                    $due |= 1 << $k;
                })*
            };
        }
        blocks!(each, self, due);
        self.due |= due;
        self.clock_memories();
    }

    /// Every block is idle with the inputs of the last clock.
    pub fn quiet(&self) -> bool {
        macro_rules! each {
            ([$s:expr] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => {
                true $(&& $s.b.$name.idle(&$s.i.$name))*
            };
        }
        blocks!(each, self)
    }

    /// Nothing changes any more until something comes in or a tick does: blocks wait for each
    /// other. Two clocks, for a memory may be read in the first and its word be used in the other.
    pub fn stands(&self, ports: &Inputs) -> bool {
        let still =
            Inputs { rx_valid: false, wire_valid: false, room_valid: false, tick: false, ..*ports };
        let mut next = self.clone();
        (0..2).all(|_| {
            next.drive();
            next.ready(&still);
            next.clock(&still);
            !next.wrote && next.b == self.b
        })
    }

    /// A timer runs at whose end something is sent: that of a packet, of a message whose ACK is to
    /// be asked for again, or of a probe.
    pub fn times(&self) -> bool {
        let asks = |msg: usize| self.covered(self.m.ack_ask_node.peek(msg));
        self.b.timer_wheel.running > 0
            || self.i.path_probe.troubled != 0
            || self.b.ask_wheel.armed.iter_ones().any(asks)
    }

    /// CPL-2: SACKs have retired all of a message, so that its next expiry sends a copy. Of another
    /// one it changes nothing.
    fn covered(&self, message: &ack_ask::Node) -> bool {
        let qp = usize::from(message.qp);
        let ctx = self.m.qp_table_ctx.peek(qp);
        let known = *self.m.sent_bitmap_any.peek(qp);
        let psns = self.m.sent_bitmap_bits.depth() / self.m.sent_bitmap_any.depth() * 64;
        let outstanding = |psn: Psn| {
            let at = psn.0 as usize % psns;
            let bits = self.m.sent_bitmap_bits.peek((qp * psns + at) / 64);
            known >> (at / 64) & 1 == 1 && bits >> (at % 64) & 1 == 1
        };
        let len = message.last.ahead_of(message.first).max(0).cast_unsigned();
        let mut packets = (0..=len).map(|n| message.first.plus(n));
        message.last.ahead_of(ctx.given) < 0
            && !packets.any(|psn| psn.ahead_of(ctx.cum) > 0 && outstanding(psn))
    }

    /// The NIC's output ports in this clock.
    pub fn ports(&self) -> Outputs {
        let (pcie, port, room) = (&self.o.pcie_link, &self.o.port_tx, &self.o.pcie_room);
        Outputs {
            rx_ready: self.o.rx_fifo.in_ready,
            tlp_valid: pcie.tlp_valid,
            tlp_sop: pcie.tlp_sop,
            tlp_eop: pcie.tlp_eop,
            tlp_hdr: pcie.tlp_hdr,
            tlp_dws: pcie.tlp_dws,
            tlp_data: pcie.tlp_data,
            tlp_back: pcie.tlp_back,
            freed_valid: room.freed_valid,
            freed_hdr: room.freed_hdr,
            freed_data: room.freed_data,
            cqe_valid: pcie.cqe_valid,
            cqe_hdr: pcie.cqe_hdr,
            cqe_data: pcie.cqe_data,
            wire_valid: port.wire_valid,
            wire_sop: port.wire_sop,
            wire_eop: port.wire_eop,
            wire_bytes: port.wire_bytes,
            wire_data: port.wire_data,
            wire_back: port.wire_back,
        }
    }

    /// Shows every instance: name in the RTL, outputs, registers. The NIC itself comes first.
    pub fn instances(&self, see: &mut dyn FnMut(&str, &dyn Image, &dyn Image)) {
        see("nic", &self.ports(), &());
        macro_rules! each {
            ([$s:expr, $see:expr] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => {
                $($see($u, &$s.o.$name, &$s.b.$name);)*
            };
        }
        blocks!(each, self, see);
        macro_rules! each {
            ([$s:expr, $see:expr] $($k:literal $name:ident $u:literal ($word:ty) ($depth:expr);)*) => {
                $($see($u, &(), &$s.m.$name);)*
            };
        }
        memories!(each, self, see);
    }

    /// Shows the whole contents of every memory: name in the RTL, words.
    pub fn memories(&self, see: &mut dyn FnMut(&str, Vec<u32>)) {
        macro_rules! each {
            ([$s:expr, $see:expr] $($k:literal $name:ident $u:literal ($word:ty) ($depth:expr);)*) => {
                $($see($u, $s.m.$name.dump());)*
            };
        }
        memories!(each, self, see);
    }

    /// The words of a block's inputs, by its name in the RTL; none for another name.
    pub fn inputs_of(&self, instance: &str) -> Vec<u32> {
        macro_rules! each {
            ([$s:expr, $of:expr] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => {
                match $of { $($u => $s.i.$name.to_words(),)* _ => Vec::new() }
            };
        }
        blocks!(each, self, instance)
    }

    /// Writes the whole image.
    ///
    /// # Panics
    /// When `places` are not those of a NIC.
    pub fn write_image(&self, places: &Places, image: &mut [u32]) {
        let mut places = places.0.iter();
        self.instances(&mut |_, outputs, regs| {
            let place = places.next().expect("a place for each instance");
            outputs.write(&mut Writer::new(&mut image[place.outputs.0..]));
            regs.write(&mut Writer::new(&mut image[place.regs.0..]));
        });
    }

    /// Adds to the log's clock the outputs and registers that may have changed since the last one.
    ///
    /// # Panics
    /// When `places` are not those of a NIC.
    pub fn write_changes(&mut self, places: &Places, log: &mut Changes) {
        let (changed, seen, read) = (self.changed, self.seen, self.read);
        let mut places = places.0.iter();
        let mut place = || places.next().expect("a place for each instance");
        let top = place();
        if (changed | seen) & PORTS != 0 {
            log.part(2 * top.instance, top.outputs.1, |out| self.ports().write(out));
        }
        macro_rules! each {
            ([$s:expr, $log:expr, $place:expr, $changed:expr, $seen:expr] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out:ty) ($new:expr) ($comb:path);)*) => { $(
                let place = $place();
                // Registers come first.
                if $changed >> $k & 1 == 1 {
                    $log.part(2 * place.instance + 1, place.regs.1, |out| $s.b.$name.write(out));
                }
                if $changed >> $k & 1 == 1 || $seen >> $k & 1 == 1 && $comb(&$s.o.$name) {
                    $log.part(2 * place.instance, place.outputs.1, |out| $s.o.$name.write(out));
                }
            )* };
        }
        blocks!(each, self, log, place, changed, seen);
        macro_rules! each {
            ([$s:expr, $log:expr, $place:expr, $read:expr] $($k:literal $name:ident $u:literal ($word:ty) ($depth:expr);)*) => { $(
                let place = $place();
                if $read >> $k & 1 == 1 {
                    $log.part(2 * place.instance + 1, place.regs.1, |out| $s.m.$name.write(out));
                }
            )* };
        }
        memories!(each, self, log, place, read);
        (self.changed, self.seen, self.read) = (0, 0, 0);
    }

    /// Conservation on the PCIe link (PCI-4, PCI-8): the transmit buffer holds what waits in its
    /// queues and is on the link, and every tag is free, with a read, or kept for one.
    ///
    /// # Errors
    /// What is held and what is counted, where they differ.
    pub fn conserved(&self) -> Result<(), String> {
        let (link, engine) = (&self.b.pcie_link, &self.b.tlp_engine);
        let queues = self.o.pcie_reads.level + self.o.pcie_writes.level + self.o.pcie_cqes.level;
        let pushed = u32::from(link.rpush || link.wpush || link.cpush);
        let partial = if engine.valid { !engine.first } else { engine.open };
        let held = queues + pushed + u32::from(link.busy) + u32::from(partial);
        if u32::from(link.held) != held {
            return Err(format!("{held} transfers wait, {} headers are taken", link.held));
        }
        let fetch = &self.b.payload_fetch;
        let (busy, free) = (fetch.busy.count_ones(), usize::from(fetch.tags_free));
        if busy + free + fetch.unmade() != fetch.busy.len() {
            return Err(format!("{busy} tags with a read, {free} free, {} kept", fetch.unmade()));
        }
        Ok(())
    }

    /// The number of the receiving side that is open for a sender's QP: the sender's place in the
    /// peer table, its number.
    pub fn receiving(&self, dest: usize, sender: Qpn) -> Option<Qpn> {
        let qps = self.m.rx_track_rctx.depth();
        let peer = self.m.rx_track_peer.peek(dest * qps + usize::from(sender.slot()));
        let side = self.m.rx_track_rctx.peek(usize::from(peer.slot));
        // The side's word is written after the peer's, and is another's until then.
        let same = side.sender_qpn == sender && usize::from(side.dest) == dest;
        let number = u32::from(side.generation) << 8 | u32::from(peer.slot);
        (peer.open && side.open && same).then_some(Qpn(number))
    }

    /// What is on the link to the host: begun, and not seen there whole by the end of this clock.
    pub fn on_link(&self) -> (u32, u32) {
        let link = &self.b.pcie_link;
        let of =
            |there: bool, dws: u8| if there { (1, u32::from(dws.div_ceil(4))) } else { (0, 0) };
        let (a, b) = (of(link.busy, link.tlp.dws), of(link.done, link.done_tlp.dws));
        (a.0 + b.0, a.1 + b.1)
    }

    /// A transfer waits for room in the transmit buffer, or the link stands still though one waits,
    /// for want of room at the host.
    pub fn short_of_room(&self) -> [bool; 2] {
        let (link, i, o) = (&self.b.pcie_link, &self.i.pcie_link, &self.o.pcie_link);
        let taken = !i.tx_valid || o.tx_ready;
        let waits = i.rhead_valid || i.whead_valid;
        let begins = o.rhead_ready || o.whead_ready;
        let write = self.b.tlp_engine.short_of_room(&self.i.tlp_engine);
        [!taken || write, waits && !link.busy && !begins]
    }

    /// Tags, buffers and credits of the PCIe link that something waits for.
    fn pcie_waits(&self) -> Vec<String> {
        let (link, i) = (&self.b.pcie_link, &self.i.pcie_link);
        let mut out = Vec::new();
        let busy: Vec<_> = self.b.payload_fetch.busy.iter_ones().map(|t| t.to_string()).collect();
        if !busy.is_empty() {
            out.push(format!("tags without all their data: {}", busy.join(", ")));
        }
        if i.tx_valid && !self.o.pcie_link.tx_ready {
            out.push(format!(
                "a transfer waits for the transmit buffer: {} of {} B of headers, {} of {} B of data",
                16 * link.held, i.cfg_tx_hdr_buf, link.data_used, i.cfg_tx_data_buf
            ));
        }
        if link.busy {
            let (kind, ns) = (link.tlp.kind, link.left.div_ceil(i.cfg_pcie_rate.max(1)));
            let what = if kind == tlp_engine::READ { "read" } else { "write" };
            out.push(format!("a {what} is on the link to the host for another {ns} ns"));
        }
        if i.chead_valid && !self.o.pcie_link.chead_ready {
            out.push("a completion entry waits for the writes before it".into());
        }
        for (kind, waits) in [("read", i.rhead_valid), ("write", i.whead_valid)] {
            if waits && !link.busy {
                out.push(format!(
                    "a {kind} waits for the host's receive buffer: {} of {} B of headers, {} of {} \
                     B of data",
                    16 * link.far_hdr,
                    i.cfg_far_hdr_buf,
                    16 * link.far_data,
                    i.cfg_far_data_buf
                ));
            }
        }
        out
    }

    /// Pauses, egress pools and the port that something waits for.
    fn port_waits(&self) -> Vec<String> {
        let (hold, i, arbiter) = (&self.b.pause_hold, &self.i.pause_hold, &self.b.egress_arbiter);
        let rate = u64::from(i.cfg_wire_rate.max(1));
        let mut out = Vec::new();
        for class in (0..CLASSES).filter(|class| hold.paused >> class & 1 == 1) {
            let ns = hold.left[class].div_ceil(rate);
            out.push(format!("class {class} is paused for another {ns} ns (PFC)"));
        }
        for class in (0..CLASSES).filter(|class| self.b.pause_send.out >> class & 1 == 1) {
            let taken = level(&self.o.ingress_pool.occ, class);
            let pool = level(&self.o.csr.cfg_ingress_pool, class);
            out.push(format!("class {class} keeps the switch paused (PFC): {taken} of {pool} B"));
        }
        if arbiter.busy {
            let ns = u64::from(arbiter.left).div_ceil(rate);
            out.push(format!("a frame is on its way out for another {ns} ns"));
        }
        let scheduler = &self.b.tx_scheduler;
        if scheduler.stopped && scheduler.armed {
            let (taken, pool) = (arbiter.occ[0], level(&self.o.csr.cfg_egress_pool, 0));
            out.push(format!("the pass is stopped by the egress pool: {taken} of {pool} B"));
        }
        out
    }

    /// What waits in the NIC, for a run that does not end.
    pub fn waits(&self) -> Vec<String> {
        let mut out = Vec::new();
        macro_rules! each {
            ([$s:expr, $out:expr] $($k:literal $name:ident $u:literal ($regs:ty) ($in:ty) ($out_ty:ty) ($new:expr) ($comb:path);)*) => {
                $(if !$s.b.$name.idle(&$s.i.$name) { $out.push(stringify!($name)); })*
            };
        }
        let mut busy: Vec<&str> = Vec::new();
        blocks!(each, self, busy);
        if !busy.is_empty() {
            out.push(format!("busy blocks: {}", busy.join(", ")));
        }
        out.extend(self.pcie_waits());
        out.extend(self.port_waits());
        if self.b.timer_wheel.running > 0 {
            out.push(format!("timers of packets run: {}", self.b.timer_wheel.running));
        }
        let starved = self.b.tx_scheduler.starved.any();
        let streams = [
            ("a segment waits for payload_fetch (tags)", &self.o.tx_scheduler.seg_valid),
            ("a group waits for replay slots or tags", &starved),
            ("a fetch waits for the prefetch buffer", &self.b.tx_scheduler.prefetch_armed),
            ("a payload waits for the egress pool", &self.o.payload_fetch.commit_valid),
            ("a frame waits for the port", &self.o.dat_queue.out_valid),
            ("a control frame waits for the port", &self.o.ctl_queue.out_valid),
            ("a frame waits for rx_track", &self.o.dat_fifo.out_valid),
            ("a payload waits for the PCIe link", &self.o.deliver_fifo.out_valid),
            ("an answer waits for the backlog", &self.o.answer_fifo.out_valid),
            ("an answer waits for the control pool", &self.o.ack_hold.out_valid),
        ];
        out.extend(streams.iter().filter(|s| *s.1).map(|s| s.0.to_owned()));
        out
    }
}
