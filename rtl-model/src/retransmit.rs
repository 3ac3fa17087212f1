//! Retransmit: what is on the wire under its timer, what waits to go again, and how often it may.
//!
//! Twin of `hdl/retransmit.sv`. RTX-2: a packet that was built is in egress, on the wire (`on_wire`,
//! its timer runs), or waits to go again (`waits`); the end of its serialisation, the clock in
//! which `replay_store`'s `sent` comes here, puts it on the wire and starts its timer (TMR-1).
//!
//! One thing at a time, in this order (section 16): a retire, a lose (a SACK's gap or a NACK), an
//! expiry, an ask of `tx_scheduler`. Without waits of partners: a retire is answered 8 clocks
//! after it is taken, 4 more before the next where the packet waits; a lose is answered after 8
//! and takes 12, an expiry 11; an ask is answered 11 clocks after it is taken, or in the next one
//! where nothing waits, and ends 4 after its turn. An end of serialisation is taken in every clock.
//!
//! RTX-1: only a packet on the wire is queued, so at most once at a time: its timer stops, its
//! bytes leave flight, and its QP's group hears of it. A packet that is retired while it waits is
//! not sent. Lowest PSN first: a QP's waiting PSNs are bits of a `sack_bitmap` of its own.
//!
//! TMR-3: timer k lasts T for k ≤ Linear, else T × 2^(k − Linear), with `FixedRexmitTimeEnable`
//! always T; `cfg_timeout` is T in microseconds with 41 binary places, so that floor(T × 2^n) is
//! exact to 41 doublings. Only a timeout advances k; a gap or a NACK starts at 1 again. TMR-4,
//! NAK-2: at most Linear + Exponential timeouts and as many NACKs queue a packet in its life, 25
//! Exponential: any number; one more timeout is a `fail`, though its bytes leave flight and the
//! window shrinks once as in any (QP-6); one more NACK is answered fatal and changes nothing. A
//! gap queues a packet once in its life (LOS-1).
//!
//! CC-1: a timeout, a gap and the two TRIMMED codes shrink the window. QP-6: a QP in error queues
//! nothing and sends nothing; what it has is retired by its drain.
//!
//! RTT-1: a retire and a lose are answered with how often the packet was sent, and when last; a
//! lose with `Cause::Sample` asks for nothing else. The clock of the end is that
//! of the frame's last beat, one before `sent`.
//!
//! CPL-2: an ask for a copy looks for the packet that `ack_ask` names, which is retired and waits
//! for its message's end; no timer, no flight, no count of its life knows of the copy. It is
//! answered 8 clocks after it is taken, or in the next one where `ack_ask` wants none any more.
//!
//! Borders: k at and above Linear; the last timeout and NACK of the budget; an expiry of a slot's
//! last life, told by its generation; the last packet that waits; QPs and slots at both ends.
//!
//! An expiry is taken within 60 clocks, and a slot is not armed twice in that time, so that one bit
//! of generation tells its lives apart. Retires, asks and ends of serialisation are taken while
//! news of a queueing waits, so `tx_scheduler` and this block never wait for each other. The memory
//! of timers has two copies, of which one answers the ends of serialisation.

use derive::{Image, ImageEnum, Packed};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::image::{BitMap, Wide};
use crate::replay_store::{Look, Psns, Record};
use crate::sack_bitmap::Op;
use crate::sizes::Sizes;
use crate::timer_wheel::END;
use crate::types::{Psn, Segment};

/// `ExponentialRetryCount` that stands for no budget (TMR-4).
pub const NO_BUDGET: u8 = 25;
/// Binary places of `cfg_timeout`.
pub const TIMEOUT_PLACES: u32 = 41;

/// Why a packet goes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum Cause {
    /// A SACK's gap.
    #[default]
    Gap = 0,
    /// A NACK: it was trimmed on the way.
    Trimmed = 1,
    /// A NACK: it was trimmed on the last hop.
    LastHop = 2,
    /// A NACK: its PSN was out of the receiver's window.
    Range = 3,
    /// Its timer.
    Timeout = 4,
    /// No cumulative ACK has covered its message (CPL-2).
    Cover = 5,
    /// It does not: a SACK asks when the packet that drew it was sent (RTT-1).
    Sample = 6,
}

/// A word of the memory `tim`: a packet's timers and what has been counted of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Timer {
    /// Of its next timer, from 1.
    #[bits(6)]
    pub number: u8,
    /// Timeouts of its life.
    #[bits(6)]
    pub timeouts: u8,
    /// NACKs that have queued it.
    #[bits(6)]
    pub nacks: u8,
    /// Transmissions, its first one included.
    pub sent: u8,
    /// A gap has queued it.
    pub gapped: bool,
}

impl Timer {
    /// A packet that was built just now.
    const FIRST: Self = Self { number: 1, timeouts: 0, nacks: 0, sent: 1, gapped: false };
}

/// A word of the memory `at`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Packed, Serialize, Deserialize)]
pub struct Moment {
    /// Clock of the last end of serialisation.
    #[bits(48)]
    pub clock: u64,
}

/// Input ports.
#[derive(Clone, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `csr`: T in microseconds, 41 binary places.
    pub cfg_timeout: u64,
    /// From `csr`: `LinearRetryCount`.
    #[bits(3)]
    pub cfg_linear: u8,
    /// From `csr`: `ExponentialRetryCount`.
    #[bits(5)]
    pub cfg_expo: u8,
    /// From `csr`: `FixedRexmitTimeEnable`.
    pub cfg_fixed: bool,
    /// From `csr`.
    #[bits(7)]
    pub cfg_nominal_overhead: u8,
    /// From `qp_table`: QPs in error.
    pub error: Wide<4>,
    /// From the port: clocks since reset.
    #[bits(48)]
    pub now: u64,
    /// From `ack_take`: a packet is acknowledged or discarded.
    pub retire_valid: bool,
    /// From `ack_take`.
    pub retire_qp: u8,
    /// From `ack_take`.
    pub retire_psn: Psn,
    /// From `ack_take`: it waits for no `final`.
    pub retire_discard: bool,
    /// From `ack_take`: a packet is lost.
    pub lose_valid: bool,
    /// From `ack_take`.
    pub lose_qp: u8,
    /// From `ack_take`.
    pub lose_psn: Psn,
    /// From `ack_take`.
    pub lose_cause: Cause,
    /// From `replay_store`: a packet is on the wire.
    pub sent_valid: bool,
    /// From `replay_store`.
    #[bits(10)]
    pub sent_slot: u16,
    /// From `replay_store`.
    pub look_ready: bool,
    /// From `replay_store`.
    pub look_rsp_valid: bool,
    /// From `replay_store`: it was built and is not retired.
    pub look_rsp_hit: bool,
    /// From `replay_store`.
    #[bits(10)]
    pub look_rsp_slot: u16,
    /// From `replay_store`.
    pub look_rsp: Record,
    /// From `replay_store`: its last entropy value.
    pub look_rsp_port: u16,
    /// From `timer_wheel`: ticks counted.
    #[bits(48)]
    pub ticks: u64,
    /// From `timer_wheel`: a timer has expired.
    pub exp_valid: bool,
    /// From `timer_wheel`.
    #[bits(10)]
    pub exp_slot: u16,
    /// From `timer_wheel`.
    pub exp_gen: u8,
    /// From the bitmap.
    pub map_ready: bool,
    /// From the bitmap.
    pub map_rsp_valid: bool,
    /// From the bitmap.
    pub map_rsp_psn: Psn,
    /// From `window`.
    pub loss_ready: bool,
    /// From `tx_scheduler`.
    pub wait_ready: bool,
    /// From `tx_scheduler`: what waits?
    pub ask_valid: bool,
    /// From `tx_scheduler`.
    pub ask_qp: u8,
    /// From `tx_scheduler`: the first PSN that is not acknowledged.
    pub ask_from: Psn,
    /// From `tx_scheduler`: what `ack_ask` wants, not what waits.
    pub ask_copy: bool,
    /// From `tx_scheduler`: the turn ends.
    pub end_valid: bool,
    /// From `tx_scheduler`: with the packet.
    pub end_take: bool,
    /// From `ack_ask`: a message's last packet is wanted again.
    pub copy_live: bool,
    /// From `ack_ask`.
    #[bits(10)]
    pub copy_slot: u16,
    /// From `packet_build`.
    pub again_ready: bool,
    /// From `qp_drain`.
    pub fail_ready: bool,
    /// From the memory of timers, for an end of serialisation.
    pub tims_rdata: Timer,
    /// From the memory of timers.
    pub tim_rdata: Timer,
    /// From the memory of moments.
    pub at_rdata: Moment,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `ack_take`.
    pub retire_ready: bool,
    /// To `ack_take`.
    pub retire_rsp_valid: bool,
    /// To `ack_take`.
    #[bits(14)]
    pub retire_rsp_len: u16,
    /// To `ack_take`.
    pub retire_rsp_group: u8,
    /// To `ack_take`.
    pub retire_rsp_last: bool,
    /// To `ack_take`: its bytes were in flight.
    pub retire_rsp_flight: bool,
    /// To `ack_take`: transmissions.
    pub retire_rsp_sent: u8,
    /// To `ack_take`: when the last one ended; a clock that is none without a transmission.
    #[bits(48)]
    pub retire_rsp_at: u64,
    /// To `ack_take`: its entropy value.
    pub retire_rsp_port: u16,
    /// To `ack_take`.
    pub lose_ready: bool,
    /// To `ack_take`.
    pub lose_rsp_valid: bool,
    /// To `ack_take`: it goes again.
    pub lose_rsp_queued: bool,
    /// To `ack_take`: the budget is spent.
    pub lose_rsp_fatal: bool,
    /// To `ack_take`: transmissions before it goes again, 0 if it is retired.
    pub lose_rsp_sent: u8,
    /// To `ack_take`: when the last one ended.
    #[bits(48)]
    pub lose_rsp_at: u64,
    /// To `replay_store`.
    pub look_valid: bool,
    /// To `replay_store`.
    pub look_op: Look,
    /// To `replay_store`.
    pub look_qp: u8,
    /// To `replay_store`.
    pub look_psn: Psn,
    /// To `replay_store`.
    #[bits(10)]
    pub look_slot: u16,
    /// To `replay_store`.
    pub look_discard: bool,
    /// To `replay_store`: a copy is on its way to egress.
    pub hold_valid: bool,
    /// To `replay_store`.
    #[bits(10)]
    pub hold_slot: u16,
    /// To `replay_store`: whether the packet of that slot goes again is being decided (CPL-2).
    pub copying: bool,
    /// To `timer_wheel`.
    pub arm_valid: bool,
    /// To `timer_wheel`.
    #[bits(10)]
    pub arm_slot: u16,
    /// To `timer_wheel`.
    pub arm_gen: u8,
    /// To `timer_wheel`.
    #[bits(48)]
    pub arm_start: u64,
    /// To `timer_wheel`.
    #[bits(48)]
    pub arm_span: u64,
    /// To `timer_wheel`.
    pub cancel_valid: bool,
    /// To `timer_wheel`.
    #[bits(10)]
    pub cancel_slot: u16,
    /// To `timer_wheel`.
    pub exp_ready: bool,
    /// To the bitmap.
    pub map_valid: bool,
    /// To the bitmap.
    pub map_op: Op,
    /// To the bitmap.
    pub map_qp: u8,
    /// To the bitmap.
    pub map_psn: Psn,
    /// To the bitmap.
    pub map_end: Psn,
    /// To `window`: bytes leave flight.
    pub loss_valid: bool,
    /// To `window`.
    pub loss_group: u8,
    /// To `window`, nominal.
    #[bits(14)]
    pub loss_bytes: u16,
    /// To `window`.
    pub loss_shrink: bool,
    /// To `tx_scheduler`: a QP has a packet that waits.
    pub wait_valid: bool,
    /// To `tx_scheduler`.
    pub wait_qp: u8,
    /// To `tx_scheduler`.
    pub wait_group: u8,
    /// To `tx_scheduler`.
    pub ask_ready: bool,
    /// To `tx_scheduler`: the answer.
    pub offer_valid: bool,
    /// To `tx_scheduler`.
    pub offer_hit: bool,
    /// To `tx_scheduler`.
    #[bits(14)]
    pub offer_len: u16,
    /// To `tx_scheduler`: another one waits behind it.
    pub offer_more: bool,
    /// To `packet_build`.
    pub again_valid: bool,
    /// To `packet_build`.
    pub again: Segment,
    /// To `path_select`.
    pub bad_valid: bool,
    /// To `path_select`.
    #[bits(6)]
    pub bad_dest: u8,
    /// To `path_select`.
    pub bad_port: u16,
    /// To `qp_drain`.
    pub fail_valid: bool,
    /// To `qp_drain`.
    pub fail_qp: u8,
    /// To the log: a packet was queued, or a copy of it.
    pub queued_valid: bool,
    /// To the log.
    pub queued_qp: u8,
    /// To the log.
    pub queued_psn: Psn,
    /// To the log.
    pub queued_cause: Cause,
    /// To both memories of timers, a word a slot.
    pub tim_we: bool,
    /// To both memories of timers.
    pub tim_waddr: u32,
    /// To both memories of timers.
    pub tim_wdata: Timer,
    /// To the memory of timers for ends of serialisation.
    pub tims_re: bool,
    /// To the memory of timers for ends of serialisation.
    pub tims_raddr: u32,
    /// To the memory of timers.
    pub tim_re: bool,
    /// To the memory of timers.
    pub tim_raddr: u32,
    /// To the memory of moments, a word a slot.
    pub at_we: bool,
    /// To the memory of moments.
    pub at_waddr: u32,
    /// To the memory of moments.
    pub at_wdata: Moment,
    /// To the memory of moments.
    pub at_re: bool,
    /// To the memory of moments.
    pub at_raddr: u32,
}

/// What goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// Takes the next thing to do.
    #[default]
    Idle = 0,
    /// Asks for the packet's record.
    Look = 1,
    /// The record is on its way; its timer is read as it comes.
    Looked = 2,
    /// Has both.
    Act = 3,
    /// `tx_scheduler` has the packet, and ends its turn.
    Offer = 4,
    /// Asks the bitmap.
    Map = 5,
    /// The bitmap's answer is on its way.
    Mapped = 6,
}

/// What it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum Job {
    /// A packet is acknowledged or discarded.
    #[default]
    Retire = 0,
    /// A packet is lost.
    Lose = 1,
    /// A timer has expired.
    Expire = 2,
    /// A turn.
    Ask = 3,
    /// The turn of a copy for an ACK.
    Copy = 4,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What goes on.
    pub state: State,
    /// What for.
    pub job: Job,
    /// How the packet is looked up.
    pub look_op: Look,
    /// Of the packet in work.
    pub qp: u8,
    /// Of the packet in work.
    pub psn: Psn,
    /// Of the packet in work.
    #[bits(10)]
    pub slot: u16,
    /// It waits for no `final`.
    pub discard: bool,
    /// Why it goes again.
    pub cause: Cause,
    /// Generation of the expiry.
    pub r#gen: bool,
    /// What the bitmap is asked.
    pub map_op: Op,
    /// The packet in work is there.
    pub hit: bool,
    /// Its record.
    pub rec: Record,
    /// Its last entropy value.
    pub port: u16,
    /// Slots whose timer word does not count: a first one.
    pub fresh: BitMap,
    /// Packets on the wire.
    pub on_wire: BitMap,
    /// Packets that wait to go again.
    pub waits: BitMap,
    /// Generation of each slot's last timer.
    pub gens: BitMap,
    /// QPs whose ring of the bitmap was wiped once.
    pub wiped: BitMap,
    /// Packets of each QP that wait.
    #[bits(11)]
    pub waiting: Vec<u16>,
    /// A packet on the wire, its timer word was read.
    pub sent_valid: bool,
    /// Its slot.
    #[bits(10)]
    pub sent_slot: u16,
    /// The first tick at or after its start.
    #[bits(48)]
    pub sent_start: u64,
    /// The clock.
    #[bits(48)]
    pub sent_at: u64,
    /// Its timer starts.
    pub arm_valid: bool,
    /// Its slot.
    #[bits(10)]
    pub arm_slot: u16,
    /// The first tick at or after its start.
    #[bits(48)]
    pub arm_start: u64,
    /// Ticks from there.
    #[bits(48)]
    pub arm_span: u64,
    /// A retire is answered.
    pub retire_rsp_valid: bool,
    /// The packet retired was in flight.
    pub flight: bool,
    /// Transmissions of a packet that is retired or lost.
    pub sent: u8,
    /// The end of the last one.
    #[bits(48)]
    pub at: u64,
    /// A lose is answered.
    pub lose_rsp_valid: bool,
    /// It goes again.
    pub lose_queued: bool,
    /// The budget is spent.
    pub lose_fatal: bool,
    /// The packet in work goes to egress.
    pub hold_valid: bool,
    /// Its timer stops.
    pub cancel_valid: bool,
    /// Bytes leave flight.
    pub loss_valid: bool,
    /// Whose.
    pub loss_group: u8,
    /// How many.
    #[bits(14)]
    pub loss_bytes: u16,
    /// The window shrinks.
    pub loss_shrink: bool,
    /// News for `tx_scheduler`.
    pub wait_valid: bool,
    /// A QP that has a packet that waits.
    pub wait_qp: u8,
    /// Its group.
    pub wait_group: u8,
    /// An ask is answered.
    pub offer_valid: bool,
    /// With the packet in work.
    pub offer_hit: bool,
    /// Another one waits behind it.
    pub offer_more: bool,
    /// A packet goes again.
    pub again_valid: bool,
    /// As a segment.
    pub again: Segment,
    /// The entropy value of the packet in work is assumed bad.
    pub bad_valid: bool,
    /// A budget is spent.
    pub fail_valid: bool,
    /// Whose.
    pub fail_qp: u8,
    /// The packet in work was queued.
    pub queued_valid: bool,
    /// PSNS of this build; no register.
    pub psns: Psns,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(sizes: &Sizes) -> Self {
        let slots = BitMap::repeat(false, sizes.slots as usize);
        let mut fresh = slots.clone();
        fresh.fill(true);
        Self {
            state: State::Idle,
            job: Job::Retire,
            look_op: Look::Psn,
            qp: 0,
            psn: Psn(0),
            slot: 0,
            discard: false,
            cause: Cause::Gap,
            r#gen: false,
            map_op: Op::Wipe,
            hit: false,
            rec: Record::default(),
            port: 0,
            fresh,
            on_wire: slots.clone(),
            waits: slots.clone(),
            gens: slots,
            wiped: BitMap::repeat(false, sizes.qps as usize),
            waiting: vec![0; sizes.qps as usize],
            sent_valid: false,
            sent_slot: 0,
            sent_start: 0,
            sent_at: 0,
            arm_valid: false,
            arm_slot: 0,
            arm_start: 0,
            arm_span: 0,
            retire_rsp_valid: false,
            flight: false,
            sent: 0,
            at: 0,
            lose_rsp_valid: false,
            lose_queued: false,
            lose_fatal: false,
            hold_valid: false,
            cancel_valid: false,
            loss_valid: false,
            loss_group: 0,
            loss_bytes: 0,
            loss_shrink: false,
            wait_valid: false,
            wait_qp: 0,
            wait_group: 0,
            offer_valid: false,
            offer_hit: false,
            offer_more: false,
            again_valid: false,
            again: Segment::default(),
            bad_valid: false,
            fail_valid: false,
            fail_qp: 0,
            queued_valid: false,
            psns: Psns(sizes.psns),
        }
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            retire_rsp_valid: self.retire_rsp_valid,
            retire_rsp_len: self.rec.len,
            retire_rsp_group: self.rec.group,
            retire_rsp_last: self.rec.last,
            retire_rsp_flight: self.flight,
            retire_rsp_sent: self.sent,
            retire_rsp_at: self.at,
            retire_rsp_port: self.port,
            lose_rsp_valid: self.lose_rsp_valid,
            lose_rsp_queued: self.lose_queued,
            lose_rsp_fatal: self.lose_fatal,
            lose_rsp_sent: self.sent,
            lose_rsp_at: self.at,
            look_valid: self.state == State::Look,
            look_op: self.look_op,
            look_qp: self.qp,
            look_psn: self.psn,
            look_slot: self.slot,
            look_discard: self.discard,
            hold_valid: self.hold_valid,
            hold_slot: self.slot,
            copying: self.job == Job::Copy && self.state != State::Idle,
            cancel_valid: self.cancel_valid,
            cancel_slot: self.slot,
            map_valid: self.state == State::Map,
            map_op: self.map_op,
            map_qp: self.qp,
            map_psn: self.psn,
            map_end: self.psn.plus(self.psns.0),
            loss_valid: self.loss_valid,
            loss_group: self.loss_group,
            loss_bytes: self.loss_bytes,
            loss_shrink: self.loss_shrink,
            wait_valid: self.wait_valid,
            wait_qp: self.wait_qp,
            wait_group: self.wait_group,
            offer_valid: self.offer_valid,
            offer_hit: self.offer_hit,
            offer_len: self.rec.len,
            offer_more: self.offer_more,
            again_valid: self.again_valid,
            again: self.again,
            bad_valid: self.bad_valid,
            bad_dest: self.rec.dest,
            bad_port: self.port,
            fail_valid: self.fail_valid,
            fail_qp: self.fail_qp,
            queued_valid: self.queued_valid,
            queued_qp: self.qp,
            queued_psn: self.psn,
            queued_cause: self.cause,
            arm_valid: self.arm_valid,
            arm_slot: self.arm_slot,
            arm_gen: u8::from(self.gens[self.index(self.arm_slot)]),
            arm_start: self.arm_start,
            arm_span: self.arm_span,
            at_we: self.sent_valid,
            at_waddr: u32::from(self.sent_slot),
            at_wdata: Moment { clock: self.sent_at },
            ..Outputs::default()
        };
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        let idle = self.state == State::Idle;
        o.retire_ready = idle;
        o.lose_ready = idle && !i.retire_valid && self.told();
        o.exp_ready = o.lose_ready && !i.lose_valid;
        let takes = self.told() && (i.lose_valid || i.exp_valid);
        o.ask_ready = idle && !i.retire_valid && !takes && !self.again_valid;
        o.tims_re = i.sent_valid;
        o.tims_raddr = if i.sent_valid { u32::from(i.sent_slot) } else { 0 };
        let reads = self.state == State::Looked && i.look_rsp_valid;
        let slot = if reads { u32::from(i.look_rsp_slot) } else { 0 };
        (o.tim_re, o.tim_raddr) = (reads, slot);
        (o.at_re, o.at_raddr) = (reads, slot);
        let word = self.next_timer(i);
        o.tim_we = word.is_some();
        o.tim_waddr = if o.tim_we { u32::from(self.slot) } else { 0 };
        o.tim_wdata = word.unwrap_or_default();
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let span = self.sent_valid.then(|| self.span(i));
        self.clear_events(i);
        match self.state {
            State::Idle => self.take_first(i, o),
            State::Look if i.look_ready => self.state = State::Looked,
            State::Looked if i.look_rsp_valid => {
                self.slot = i.look_rsp_slot;
                self.hit = i.look_rsp_hit;
                self.rec = i.look_rsp;
                self.port = i.look_rsp_port;
                self.state = State::Act;
            }
            State::Act => self.act(i),
            State::Offer if i.end_valid => self.end_turn(i),
            State::Map if i.map_ready => self.state = State::Mapped,
            State::Mapped if i.map_rsp_valid => self.mapped(i),
            _ => {}
        }
        self.start_timer(span);
        self.sent_valid = i.sent_valid;
        if i.sent_valid {
            self.sent_slot = i.sent_slot;
            self.sent_start = (i.ticks + 1) & END;
            self.sent_at = i.now.wrapping_sub(1) & END;
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let events = self.retire_rsp_valid
            || self.lose_rsp_valid
            || self.hold_valid
            || self.cancel_valid
            || self.offer_valid
            || self.bad_valid
            || self.queued_valid
            || self.sent_valid
            || self.arm_valid;
        let news = self.loss_valid && i.loss_ready
            || self.wait_valid && i.wait_ready
            || self.fail_valid && i.fail_ready
            || self.again_valid && i.again_ready;
        let asked = i.retire_valid
            || self.told() && (i.lose_valid || i.exp_valid)
            || i.ask_valid && !self.again_valid;
        self.state == State::Idle && !events && !news && !asked && !i.sent_valid
    }
}

impl Regs {
    /// A slot as a place in the bit maps.
    fn index(&self, slot: u16) -> usize {
        usize::from(slot) & (self.on_wire.len() - 1)
    }

    /// A QP as a place in the arrays.
    fn place(&self, qp: u8) -> usize {
        usize::from(qp) & (self.waiting.len() - 1)
    }

    /// No news of a queueing waits.
    fn told(&self) -> bool {
        !(self.loss_valid || self.wait_valid || self.fail_valid)
    }

    /// TMR-3: how long the timer of the packet that has come on the wire lasts.
    fn span(&self, i: &Inputs) -> u64 {
        let first = self.fresh[self.index(self.sent_slot)];
        let number = if first { 1 } else { i.tims_rdata.number };
        let doublings = if i.cfg_fixed { 0 } else { number.saturating_sub(i.cfg_linear) };
        let micros = u128::from(i.cfg_timeout) << doublings >> TIMEOUT_PLACES;
        micros.clamp(1, u128::from(END)) as u64
    }

    /// The timer word of the packet in work.
    fn timer(&self, i: &Inputs) -> Timer {
        if self.fresh[self.index(self.slot)] { Timer::FIRST } else { i.tim_rdata }
    }

    /// The packet in work is on the wire and meant.
    fn hits(&self, i: &Inputs) -> bool {
        let at = self.index(self.slot);
        let meant = match self.job {
            Job::Expire => self.r#gen == self.gens[at],
            _ if self.cause == Cause::Sample => false,
            _ => !(self.cause == Cause::Gap && self.timer(i).gapped),
        };
        self.hit && self.on_wire[at] && !has_error(i, self.rec.qp) && meant
    }

    /// TMR-4, NAK-2: its budget is spent.
    fn spent(&self, i: &Inputs) -> bool {
        let limit = i.cfg_linear + i.cfg_expo;
        let timer = self.timer(i);
        let counted = match (self.job, self.cause) {
            (Job::Expire, _) => timer.timeouts == limit,
            (_, Cause::Gap) => false,
            _ => timer.nacks == limit,
        };
        counted && i.cfg_expo != NO_BUDGET
    }

    /// The packet in work is queued in this clock.
    fn queues(&self, i: &Inputs) -> bool {
        let may = match self.job {
            Job::Expire => true,
            Job::Lose => !self.spent(i),
            Job::Retire | Job::Ask | Job::Copy => false,
        };
        self.state == State::Act && may && self.hits(i)
    }

    /// The timer word that the packet in work gets in this clock.
    fn next_timer(&self, i: &Inputs) -> Option<Timer> {
        let mut timer = self.timer(i);
        if self.state == State::Offer && self.job == Job::Ask && i.end_valid && i.end_take {
            timer.sent = timer.sent.saturating_add(1);
        } else if !self.queues(i) {
            return None;
        } else if self.job == Job::Expire {
            timer.number = (timer.number + 1).min(63);
            timer.timeouts = (timer.timeouts + 1).min(63);
        } else {
            timer.number = 1;
            if self.cause == Cause::Gap {
                timer.gapped = true;
            } else {
                timer.nacks = (timer.nacks + 1).min(63);
            }
        }
        Some(timer)
    }

    /// TMR-1: the packet that has come on the wire gets its timer.
    fn start_timer(&mut self, span: Option<u64>) {
        self.arm_valid = span.is_some();
        if let Some(span) = span {
            let at = self.index(self.sent_slot);
            self.arm_slot = self.sent_slot;
            self.arm_start = self.sent_start;
            self.arm_span = span;
            self.on_wire.set(at, true);
            let last = self.gens[at];
            self.gens.set(at, !last);
        }
    }

    fn clear_events(&mut self, i: &Inputs) {
        self.retire_rsp_valid = false;
        self.lose_rsp_valid = false;
        self.hold_valid = false;
        self.cancel_valid = false;
        self.offer_valid = false;
        self.bad_valid = false;
        self.queued_valid = false;
        self.again_valid &= !i.again_ready;
        self.loss_valid &= !i.loss_ready;
        self.wait_valid &= !i.wait_ready;
        self.fail_valid &= !i.fail_ready;
    }

    /// `Idle`: what goes first.
    fn take_first(&mut self, i: &Inputs, o: &Outputs) {
        if i.retire_valid {
            self.start(Job::Retire, Look::Retire, i.retire_qp, i.retire_psn);
            self.discard = i.retire_discard;
        } else if i.lose_valid && o.lose_ready {
            self.start(Job::Lose, Look::Psn, i.lose_qp, i.lose_psn);
            self.cause = i.lose_cause;
        } else if i.exp_valid && o.exp_ready {
            self.start(Job::Expire, Look::Slot, self.qp, self.psn);
            self.slot = i.exp_slot;
            self.r#gen = i.exp_gen & 1 == 1;
            self.cause = Cause::Timeout;
        } else if i.ask_valid && o.ask_ready && i.ask_copy {
            self.start(Job::Copy, Look::Held, self.qp, self.psn);
            self.slot = i.copy_slot;
            self.cause = Cause::Cover;
            if !i.copy_live {
                self.offer_valid = true;
                self.offer_hit = false;
                self.state = State::Idle;
            }
        } else if i.ask_valid && o.ask_ready {
            self.job = Job::Ask;
            self.qp = i.ask_qp;
            self.psn = i.ask_from;
            self.map_op = Op::Next;
            let at = self.place(i.ask_qp);
            if self.waiting[at] == 0 || has_error(i, i.ask_qp) {
                self.offer_valid = true;
                self.offer_hit = false;
            } else {
                self.state = State::Map;
            }
        }
    }

    fn start(&mut self, job: Job, look: Look, qp: u8, psn: Psn) {
        self.job = job;
        self.look_op = look;
        self.qp = qp;
        self.psn = psn;
        self.state = State::Look;
    }

    /// `Act`: record and timer are there.
    fn act(&mut self, i: &Inputs) {
        let (queues, spent) = (self.queues(i), self.spent(i));
        let hits = self.hits(i);
        self.state = State::Idle;
        if self.hit {
            self.qp = self.rec.qp;
            self.psn = self.rec.psn;
        }
        match self.job {
            Job::Retire => self.retire(i),
            Job::Ask => {
                self.offer_valid = true;
                self.offer_hit = true;
                self.offer_more = self.waiting[self.place(self.rec.qp)] != 1;
                self.state = State::Offer;
            }
            Job::Copy => {
                self.offer_valid = true;
                self.offer_hit = self.hit && !has_error(i, self.rec.qp);
                self.offer_more = false;
                self.state = if self.offer_hit { State::Offer } else { State::Idle };
            }
            Job::Lose | Job::Expire => {
                self.look_back(i);
                self.lose_rsp_valid = self.job == Job::Lose;
                self.lose_queued = queues;
                self.lose_fatal = hits && spent;
            }
        }
        if queues {
            self.queue(i, spent);
        }
    }

    fn retire(&mut self, i: &Inputs) {
        let at = self.index(self.slot);
        let waits = self.waits[at];
        self.retire_rsp_valid = true;
        self.flight = self.hit && !waits;
        self.look_back(i);
        if self.hit {
            self.cancel_valid = self.on_wire[at];
            self.fresh.set(at, true);
            self.on_wire.set(at, false);
            if waits {
                self.unqueue();
            }
        }
    }

    /// RTT-1: how often the packet in work was sent, and when last. None counts that is still in
    /// egress for the first time.
    fn look_back(&mut self, i: &Inputs) {
        let at = self.index(self.slot);
        let first = self.fresh[at] && !self.on_wire[at];
        self.sent = if self.hit && !first { self.timer(i).sent } else { 0 };
        self.at = i.at_rdata.clock;
    }

    /// The packet in work waits no more.
    fn unqueue(&mut self) {
        let (at, qp) = (self.index(self.slot), self.place(self.rec.qp));
        self.waits.set(at, false);
        self.waiting[qp] -= 1;
        self.map_op = Op::Clear;
        self.state = State::Map;
    }

    /// RTX-1: the packet in work waits to go again.
    fn queue(&mut self, i: &Inputs, spent: bool) {
        let (at, qp) = (self.index(self.slot), self.place(self.rec.qp));
        let expired = self.job == Job::Expire;
        self.on_wire.set(at, false);
        self.waits.set(at, true);
        self.fresh.set(at, false);
        self.waiting[qp] += 1;
        self.cancel_valid = !expired;
        self.loss_valid = true;
        self.loss_group = self.rec.group;
        self.loss_bytes = self.rec.len + u16::from(i.cfg_nominal_overhead);
        self.loss_shrink = self.cause != Cause::Range;
        self.bad_valid = expired;
        self.queued_valid = !spent;
        self.wait_valid = !spent;
        self.wait_qp = self.rec.qp;
        self.wait_group = self.rec.group;
        self.fail_valid = spent;
        self.fail_qp = self.rec.qp;
        self.map_op = if self.wiped.replace(qp, true) { Op::Set } else { Op::Wipe };
        self.state = State::Map;
    }

    /// `Offer`: `tx_scheduler` takes the packet or leaves it.
    fn end_turn(&mut self, i: &Inputs) {
        self.state = State::Idle;
        if i.end_take {
            self.hold_valid = true;
            self.again_valid = true;
            self.again = self.rec.segment(self.slot);
            if self.job == Job::Copy {
                self.queued_valid = true;
            } else {
                let at = self.index(self.slot);
                self.fresh.set(at, false);
                self.unqueue();
            }
        }
    }

    /// The bitmap has answered.
    fn mapped(&mut self, i: &Inputs) {
        self.state = State::Idle;
        match self.map_op {
            Op::Wipe => {
                self.map_op = Op::Set;
                self.state = State::Map;
            }
            Op::Next => {
                self.psn = i.map_rsp_psn;
                self.look_op = Look::Psn;
                self.state = State::Look;
            }
            _ => {}
        }
    }
}

/// A QP is in error (QP-6).
fn has_error(i: &Inputs, qp: u8) -> bool {
    i.error.0[usize::from(qp / 64)] >> (qp % 64) & 1 == 1
}
