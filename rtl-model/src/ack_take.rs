//! The sender's end of acknowledgements: finds the QP, retires what a frame acknowledges, finds
//! what is lost, and tells `window`, `qp_table`, `tx_scheduler`, `retransmit` and `completion`.
//!
//! Twin of `hdl/ack_take.sv`. ACK-2, SACK-4, SACK-5, LOS-1, LOS-2, NAK-1, NAK-2, QP-4, SEG-4,
//! CPL-1, PTH-1. One frame at a time, taken when idle. Without partners' waits a frame that changes
//! nothing takes 5 clocks, an ACK 6, and 2 more where the QP's record changes. L clocks from a
//! request to retire to its response: n packets take n (1 + L) more, or 6 n where that is longer,
//! and a bitmap 6 more; a SACK and the ACK of its packet stay below 83 clocks for L up to 30.
//!
//! A record of what is outstanding (`sack_bitmap`): `packet_build`'s packets are set in it as they
//! come, before anything else; a QP that opens begins without. A frame is ignored whole and counted
//! as `DropPsn` if any PSN that it names (its own, the one that drew it, the highest listed) is at
//! or above the next one to give, as a signed 24-bit difference with 0x800000 below; one for no
//! open QP of that peer as `DropQp`. The packet that is being built counts as not given (SACK-5):
//! it is in nobody's record yet. Order: retire (window less each packet's nominal size) up to
//! the cumulative PSN, then what the bitmap lists beyond it; gap search; record; `ack`; for a
//! cumulative ACK alone `cover`, with the frame's own PSN. A listed PSN below the new cumulative
//! one is passed over, so that the ring is not asked outside the window.
//!
//! LOS-1: with a bit set and no recovery, each packet outstanding more than `cfg_loss` below the
//! highest one listed is `lose`; `retransmit` says whether it goes again. LOS-2: if any does, none
//! is looked for until the last PSN given before this frame is acknowledged.
//! NAK-1: a packet outstanding is `lose` with the code's cause; TRIMMED marks its path, as does a
//! SACK with m = 1, whatever became of the packet. PTH-2: a SACK that answers a probe has its id
//! where others have the PSN that drew them. NAK-2: a `lose` that is fatal is `spent`.
//!
//! RTT-1, ACK-2: `timed` tells `rtt_sample` of a SACK or a NACK, known by its code, whose packet was
//! outstanding: how often it was sent, and when last. Where a SACK does not retire the packet that
//! drew it, because its bitmap is about others, `retransmit` is asked before the gap search, 8
//! clocks or so. An answer to a probe is told by `probed`, with the same stamps.
//!
//! QP-6: a purge, taken between two frames, goes the way of an ACK for the last PSN given, whatever
//! state its QP is in. It discards each packet past the cumulative PSN, the retired ones too,
//! because a message's last packet keeps its slot; the messages that `completion` has are
//! forgotten. Those up to the old cumulative PSN, which `cover` carries, still have slots that are
//! released.
//!
//! CPL-2: a check, taken between two frames, is clear if all of a message up to its last packet was
//! given and is retired. A PSN at or below the cumulative one is; the record knows of the others.
//!
//! Choices: every SACK, ACK and NACK that is not ignored starts a pass through `ack`, moved or not
//! (SEG-4). SACKs and NACKs teach the receiver's number. A NACK with another code changes nothing
//! else and is counted in `other`; so are probes and whatever else comes here, released at once.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::retransmit::Cause;
use crate::sack_bitmap::Op;
use crate::sizes::Sizes;
use crate::types::{Drop, Kind, Parsed, Psn, Qpn};

/// What the block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(4)]
pub enum State {
    /// Takes a frame.
    #[default]
    Idle = 0,
    /// Asks for its QP.
    Find = 1,
    /// The QP is on its way.
    Found = 2,
    /// Retires packet after packet.
    Retire = 3,
    /// Looks for the next packet lost, or at the one that a NACK names.
    Gap = 4,
    /// `retransmit` is told of it.
    Lose = 5,
    /// Its answer is on its way.
    Lost = 6,
    /// Asks for the record to change.
    Update = 7,
    /// The change is on its way.
    Updated = 8,
    /// `tx_scheduler` is told.
    Tell = 9,
    /// `completion` is told.
    Cover = 10,
    /// Takes a QP to empty.
    Purge = 11,
    /// Takes a message to look at.
    Check = 12,
}

/// Where the next packet to retire comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(2)]
pub enum Hunt {
    /// Outstanding in [from, limit).
    #[default]
    Range = 0,
    /// The bitmap waits for what is outstanding of it.
    Block = 1,
    /// Outstanding and listed.
    Bits = 2,
    /// Nowhere.
    None = 3,
}

/// NAK-1: the cause that a NACK's code is; a gap for a code that is none.
fn cause(code: u8) -> Cause {
    match code {
        0x01 => Cause::Trimmed,
        0x02 => Cause::LastHop,
        0x0b => Cause::Range,
        _ => Cause::Gap,
    }
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ingress_pool`.
    pub in_valid: bool,
    /// From `ingress_pool`: a control frame.
    pub r#in: Parsed,
    /// From `qp_drain`: a QP to empty.
    pub purge_valid: bool,
    /// Its slot.
    pub purge_qp: u8,
    /// From `ack_ask`: is a message retired?
    pub check_valid: bool,
    /// Its QP.
    pub check_qp: u8,
    /// From this packet …
    pub check_first: Psn,
    /// … to this one.
    pub check_last: Psn,
    /// From `packet_build`: a packet is being built for the first time.
    pub building_valid: bool,
    /// Its QP.
    pub building_qp: u8,
    /// Its PSN.
    pub building_psn: Psn,
    /// From `packet_build`: a packet is built.
    pub built_valid: bool,
    /// Its QP above its PSN.
    pub built: u32,
    /// From `qp_table`: a QP opens.
    pub created_valid: bool,
    /// Its number.
    pub created_qpn: Qpn,
    /// From `sack_bitmap`.
    pub map_ready: bool,
    /// From `sack_bitmap`: an answer.
    pub map_rsp_valid: bool,
    /// There is one, or there was.
    pub map_rsp_hit: bool,
    /// Which.
    pub map_rsp_psn: Psn,
    /// A block.
    pub map_rsp_bits: u64,
    /// From `qp_table`.
    pub find_ready: bool,
    /// From `qp_table`: the QP comes.
    pub find_rsp_valid: bool,
    /// It is open, and that peer's.
    pub find_rsp_ok: bool,
    /// Its slot.
    pub find_rsp_qp: u8,
    /// The next PSN to give.
    pub find_rsp_given: Psn,
    /// The cumulative PSN.
    pub find_rsp_cum: Psn,
    /// Its group.
    pub find_rsp_group: u8,
    /// Its destination.
    #[bits(6)]
    pub find_rsp_dest: u8,
    /// It is in recovery …
    pub find_rsp_recovers: bool,
    /// … until this is acknowledged.
    pub find_rsp_recover: Psn,
    /// From `qp_table`.
    pub upd_ready: bool,
    /// From `qp_table`: the record has changed.
    pub upd_done: bool,
    /// From `replay_store`.
    pub retire_ready: bool,
    /// From `replay_store`: a packet was retired.
    pub retire_rsp_valid: bool,
    /// Its bytes were in flight.
    pub retire_rsp_flight: bool,
    /// Its payload bytes.
    #[bits(14)]
    pub retire_rsp_len: u16,
    /// Its group.
    pub retire_rsp_group: u8,
    /// It was its message's last.
    pub retire_rsp_last: bool,
    /// How often it was sent.
    pub retire_rsp_sent: u8,
    /// When last: the clock in which that ended.
    #[bits(48)]
    pub retire_rsp_at: u64,
    /// From `window`.
    pub sub_ready: bool,
    /// From `retransmit`.
    pub lose_ready: bool,
    /// From `retransmit`: the packet's fate.
    pub lose_rsp_valid: bool,
    /// It goes again.
    pub lose_rsp_queued: bool,
    /// Its budget is spent.
    pub lose_rsp_fatal: bool,
    /// How often it was sent; 0 if it is retired.
    pub lose_rsp_sent: u8,
    /// When last: the clock in which that ended.
    #[bits(48)]
    pub lose_rsp_at: u64,
    /// From `tx_scheduler`.
    pub ack_ready: bool,
    /// From `completion`.
    pub cover_ready: bool,
    /// Level: bytes of a data packet's nominal size beside its payload.
    #[bits(7)]
    pub cfg_nominal_overhead: u8,
    /// Level: `SACKLossMinRetxPkts`.
    #[bits(11)]
    pub cfg_loss: u16,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `ingress_pool`.
    pub in_ready: bool,
    /// To `qp_drain`.
    pub purge_ready: bool,
    /// Event: it is empty.
    pub purge_done: bool,
    /// Event, to `qp_drain`: a packet's budget is spent.
    pub spent_valid: bool,
    /// The QP.
    pub spent_qp: u8,
    /// To `ack_ask`.
    pub check_ready: bool,
    /// Event, to `ack_ask`: the answer.
    pub check_rsp_valid: bool,
    /// It is.
    pub check_rsp_clear: bool,
    /// To the queue of packets built.
    pub built_ready: bool,
    /// To `sack_bitmap`.
    pub map_valid: bool,
    /// What is asked.
    pub map_op: Op,
    /// Of which QP.
    pub map_qp: u8,
    /// Where.
    pub map_psn: Psn,
    /// Where it ends.
    pub map_end: Psn,
    /// To `sack_bitmap`.
    pub map_rsp_ready: bool,
    /// To `qp_table`.
    pub work_valid: bool,
    /// To `qp_table`: the slot of that frame's QP.
    pub work_qp: u8,
    /// To `qp_table`.
    pub find_valid: bool,
    /// The number to look up.
    pub find_qpn: Qpn,
    /// The peer it must be of.
    pub find_dest_ip: u32,
    /// By slot alone.
    pub find_bare: bool,
    /// To `qp_table`.
    pub upd_valid: bool,
    /// The QP.
    pub upd_qp: u8,
    /// Its cumulative PSN.
    pub upd_cum: Psn,
    /// It learns the receiver's number.
    pub upd_learn: bool,
    /// That number.
    pub upd_remote: Qpn,
    /// It is in recovery …
    pub upd_recovers: bool,
    /// … until this is acknowledged.
    pub upd_recover: Psn,
    /// To `replay_store`.
    pub retire_valid: bool,
    /// The QP.
    pub retire_qp: u8,
    /// The packet.
    pub retire_psn: Psn,
    /// It is discarded, not acknowledged.
    pub retire_discard: bool,
    /// To `window`.
    pub sub_valid: bool,
    /// The group.
    pub sub_group: u8,
    /// Bytes that leave its flight.
    #[bits(14)]
    pub sub_bytes: u16,
    /// To `retransmit`: a packet is lost.
    pub lose_valid: bool,
    /// The QP.
    pub lose_qp: u8,
    /// The packet.
    pub lose_psn: Psn,
    /// Why.
    pub lose_cause: Cause,
    /// Event, to `path_select`: a path is passed over once.
    pub skip_valid: bool,
    /// Of this destination.
    #[bits(6)]
    pub skip_dest: u8,
    /// Its entropy value.
    pub skip_port: u16,
    /// Event, to `path_probe`: an answer to a probe, of the same destination and port.
    pub probed_valid: bool,
    /// The probe's id.
    pub probed_id: u16,
    /// m = 0.
    pub probed_good: bool,
    /// Event, to `rtt_sample`: the packet that drew the frame was outstanding.
    pub timed_valid: bool,
    /// The frame is a NACK.
    pub timed_nack: bool,
    /// How often the packet was sent.
    pub timed_sent: u8,
    /// The clock in which the last time ended.
    #[bits(48)]
    pub timed_at: u64,
    /// To `rtt_sample`, with `timed` or `probed`: the QP's group.
    pub timed_group: u8,
    /// The clock in which the frame had arrived.
    #[bits(48)]
    pub timed_arrived: u64,
    /// Its retransmit flag.
    pub timed_rtx: bool,
    /// It has an echo.
    pub timed_stamped: bool,
    /// A SACK's service time, with what it echoes; a NACK's echo.
    pub timed_word: u16,
    /// To `tx_scheduler`.
    pub ack_valid: bool,
    /// The QP.
    pub ack_qp: u8,
    /// Its group.
    pub ack_group: u8,
    /// Its cumulative PSN.
    pub ack_cum: Psn,
    /// To `completion`.
    pub cover_valid: bool,
    /// The QP.
    pub cover_qp: u8,
    /// The PSN that the ACK carries.
    pub cover_cum: Psn,
    /// The QP's messages are forgotten.
    pub cover_forget: bool,
    /// Event: release of the control class, to `ingress_pool`.
    pub relc_valid: bool,
    /// Bytes of it.
    #[bits(14)]
    pub relc_bytes: u16,
    /// Event: a frame was ignored.
    pub drop_valid: bool,
    /// Why.
    pub drop_reason: Drop,
    /// Event: a NACK, a probe or another frame without effect here.
    pub other_valid: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What the block is doing.
    pub state: State,
    /// A QP is emptied, there is no frame.
    pub purge: bool,
    /// A message is looked at, there is none either.
    pub check: bool,
    /// The frame's kind.
    pub kind: Kind,
    /// The frame's peer.
    pub dest_ip: u32,
    /// The frame's QP number.
    pub qpn: Qpn,
    /// The frame's PSN; in a purge the cumulative one before it; in a check the message's last.
    pub psn: Psn,
    /// The receiver's number.
    pub remote: Qpn,
    /// What the ingress pool holds for the frame.
    #[bits(14)]
    pub charge: u16,
    /// Entropy value of the packet that drew it.
    pub port: u16,
    /// A SACK's m is 1, a NACK's code TRIMMED.
    pub skip: bool,
    /// Of a NACK.
    pub code: u8,
    /// A SACK answers a probe.
    pub probe: bool,
    /// Its m is 0.
    pub clean: bool,
    /// The PSN that drew a SACK, from the frame's, or the probe's id.
    pub drew: u16,
    /// The clock in which the frame had arrived.
    #[bits(48)]
    pub arrived: u64,
    /// The frame's retransmit flag.
    pub rtx: bool,
    /// It has an echo.
    pub stamped: bool,
    /// A SACK's service time, with what it echoes; a NACK's echo.
    pub word: u16,
    /// Of the bitmap, from the frame's.
    pub base: u16,
    /// The bitmap; then what of it is outstanding.
    pub bits: u64,
    /// The QP.
    pub qp: u8,
    /// Its group.
    pub group: u8,
    /// Its destination.
    #[bits(6)]
    pub dest: u8,
    /// The next PSN to give.
    pub given: Psn,
    /// Its cumulative PSN after this frame.
    pub cum: Psn,
    /// That is another than before.
    pub moved: bool,
    /// In recovery …
    pub recovers: bool,
    /// … until this is acknowledged.
    pub recover: Psn,
    /// Where the next packet to retire comes from.
    pub hunt: Hunt,
    /// Of the hunt; then of the gap search.
    pub from: Psn,
    /// Where the range ends.
    pub limit: Psn,
    /// PSN of bit 0; in a check the message's first.
    pub block: Psn,
    /// Gaps are looked for.
    pub gap: bool,
    /// Packets below it are lost.
    pub gap_end: Psn,
    /// The packet that drew a SACK is to be looked for: the frame does not retire it.
    pub seeks: bool,
    /// `next_psn` is to be retired.
    pub next_valid: bool,
    /// A packet.
    pub next_psn: Psn,
    /// A request to `sack_bitmap`.
    pub map_valid: bool,
    /// Its response is on its way.
    pub map_wait: bool,
    /// It is for the frame, not for a packet built or a QP opened.
    pub map_own: bool,
    /// What is asked.
    pub map_op: Op,
    /// Of which QP.
    pub map_qp: u8,
    /// Where.
    pub map_psn: Psn,
    /// Where it ends.
    pub map_end: Psn,
    /// A QP has opened.
    pub wipe: bool,
    /// Its slot.
    pub wipe_qp: u8,
    /// A request to `replay_store`.
    pub retire_valid: bool,
    /// The PSN that is being retired.
    pub retire_psn: Psn,
    /// Its response is on its way.
    pub retiring: bool,
    /// A request to `window`.
    pub sub_valid: bool,
    /// Bytes that leave flight.
    #[bits(14)]
    pub sub_bytes: u16,
    /// A response waits for `sub`.
    pub held: bool,
    /// Its bytes.
    #[bits(14)]
    pub held_bytes: u16,
    /// A packet lost.
    pub lose_psn: Psn,
    /// Event.
    pub skip_valid: bool,
    /// Event.
    pub probed_valid: bool,
    /// Event.
    pub timed_valid: bool,
    /// How often the packet was sent.
    pub timed_sent: u8,
    /// When last.
    #[bits(48)]
    pub timed_at: u64,
    /// Event.
    pub relc_valid: bool,
    /// Event.
    pub drop_valid: bool,
    /// Why.
    pub drop_reason: Drop,
    /// Event.
    pub other_valid: bool,
    /// Event.
    pub purge_done: bool,
    /// Event.
    pub spent_valid: bool,
    /// Event.
    pub check_rsp_valid: bool,
    /// All of it is retired.
    pub check_rsp_clear: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self::default()
    }

    fn drive(&self, o: &mut Outputs) {
        *o = Outputs {
            in_ready: self.state == State::Idle,
            purge_ready: self.state == State::Purge,
            purge_done: self.purge_done,
            spent_valid: self.spent_valid,
            spent_qp: self.qp,
            check_ready: self.state == State::Check,
            check_rsp_valid: self.check_rsp_valid,
            check_rsp_clear: self.check_rsp_clear,
            built_ready: self.map_free() && !self.wipe,
            map_valid: self.map_valid,
            map_op: self.map_op,
            map_qp: self.map_qp,
            map_psn: self.map_psn,
            map_end: self.map_end,
            map_rsp_ready: self.map_wait,
            work_valid: self.state != State::Idle,
            work_qp: if matches!(self.state, State::Find | State::Found) {
                self.qpn.slot()
            } else {
                self.qp
            },
            find_valid: self.state == State::Find,
            find_qpn: self.qpn,
            find_dest_ip: self.dest_ip,
            find_bare: self.purge || self.check,
            upd_valid: self.state == State::Update,
            upd_qp: self.qp,
            upd_cum: self.cum,
            upd_learn: self.kind != Kind::Ack,
            upd_remote: self.remote,
            upd_recovers: self.recovers,
            upd_recover: self.recover,
            retire_valid: self.retire_valid,
            retire_qp: self.qp,
            retire_psn: self.retire_psn,
            retire_discard: self.purge,
            sub_valid: self.sub_valid,
            sub_group: self.group,
            sub_bytes: self.sub_bytes,
            lose_valid: self.state == State::Lose,
            lose_qp: self.qp,
            lose_psn: self.lose_psn,
            lose_cause: self.lose_cause(),
            skip_valid: self.skip_valid,
            skip_dest: self.dest,
            skip_port: self.port,
            probed_valid: self.probed_valid,
            probed_id: self.drew,
            probed_good: self.clean,
            timed_valid: self.timed_valid,
            timed_nack: self.kind == Kind::Nack,
            timed_sent: self.timed_sent,
            timed_at: self.timed_at,
            timed_group: self.group,
            timed_arrived: self.arrived,
            timed_rtx: self.rtx,
            timed_stamped: self.stamped,
            timed_word: self.word,
            ack_valid: self.state == State::Tell,
            ack_qp: self.qp,
            ack_group: self.group,
            ack_cum: self.cum,
            cover_valid: self.state == State::Cover,
            cover_qp: self.qp,
            cover_cum: self.psn,
            cover_forget: self.purge,
            relc_valid: self.relc_valid,
            relc_bytes: self.charge,
            drop_valid: self.drop_valid,
            drop_reason: self.drop_reason,
            other_valid: self.other_valid,
        };
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.relc_valid = false;
        self.drop_valid = false;
        self.other_valid = false;
        self.purge_done = false;
        self.spent_valid = false;
        self.skip_valid = false;
        self.probed_valid = false;
        self.timed_valid = false;
        self.check_rsp_valid = false;
        let answered = i.map_rsp_valid && self.map_wait && self.map_own;
        let asks = self.asks();
        self.map(i, asks);
        match self.state {
            State::Idle if i.in_valid => self.take(i),
            State::Idle if i.purge_valid => self.state = State::Purge,
            State::Idle if i.check_valid => self.state = State::Check,
            State::Check => {
                self.check = true;
                self.kind = Kind::Ack;
                self.qpn = Qpn(u32::from(i.check_qp));
                (self.block, self.psn) = (i.check_first, i.check_last);
                self.state = State::Find;
            }
            State::Purge => {
                self.purge = true;
                self.kind = Kind::Ack;
                self.qpn = Qpn(u32::from(i.purge_qp));
                self.state = State::Find;
            }
            State::Find if i.find_ready => self.state = State::Found,
            State::Found if i.find_rsp_valid => self.found(i),
            State::Retire => {
                let before = (self.hunt, self.next_valid);
                self.hunt(i, answered);
                self.retire(i, before);
            }
            State::Gap if answered && self.check => self.checked(!i.map_rsp_hit),
            State::Gap if answered => {
                self.lose_psn = if self.kind == Kind::Nack { self.psn } else { i.map_rsp_psn };
                self.state = if i.map_rsp_hit { State::Lose } else { State::Update };
            }
            State::Gap if asks.is_none() => self.state = State::Update,
            State::Lose if i.lose_ready => self.state = State::Lost,
            State::Lost if i.lose_rsp_valid => self.lost(i),
            State::Update if i.upd_ready => self.state = State::Updated,
            State::Updated if i.upd_done => self.state = State::Tell,
            State::Tell if i.ack_ready && self.kind == Kind::Ack => self.state = State::Cover,
            State::Tell if i.ack_ready => {
                self.other_valid = self.kind == Kind::Nack && cause(self.code) == Cause::Gap;
                self.finish(i);
            }
            State::Cover if i.cover_ready => self.finish(i),
            _ => {}
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let events = self.relc_valid
            || self.drop_valid
            || self.other_valid
            || self.purge_done
            || self.spent_valid
            || self.skip_valid
            || self.check_rsp_valid
            || self.probed_valid
            || self.timed_valid;
        let asked =
            i.in_valid || i.purge_valid || i.check_valid || i.built_valid || i.created_valid;
        // A request's owner is forgotten once the record is free.
        let record = !self.map_free() || self.wipe || self.map_own;
        self.state == State::Idle && !events && !asked && !record
    }
}

/// The next PSN to give; the one that is being built counts as not given.
fn given(i: &Inputs) -> Psn {
    let last = i.building_qp == i.find_rsp_qp && i.building_psn == i.find_rsp_given.minus(1);
    if i.building_valid && last { i.building_psn } else { i.find_rsp_given }
}

/// A signed 16-bit distance added to a PSN.
fn beside(psn: Psn, distance: u16) -> Psn {
    psn.plus(i32::from(distance.cast_signed()).cast_unsigned())
}

impl Regs {
    fn map_free(&self) -> bool {
        !self.map_valid && !self.map_wait
    }

    /// What the frame asks of the record.
    fn asks(&self) -> Option<(Op, Psn, Psn)> {
        match (self.state, self.hunt) {
            (State::Retire, _) if self.next_valid => None,
            (State::Retire, Hunt::Range) if self.from != self.limit && !self.purge => {
                Some((Op::Take, self.from, self.limit))
            }
            (State::Retire, Hunt::Block) => {
                let left = self.given.minus(self.block.0).0.min(64);
                Some((Op::Block, self.block, self.block.plus(left)))
            }
            (State::Retire, Hunt::Bits) if self.bits != 0 => {
                Some((Op::Clear, self.block.plus(self.bits.trailing_zeros()), self.limit))
            }
            (State::Gap, _) if self.kind == Kind::Nack => Some((Op::Test, self.from, self.gap_end)),
            (State::Gap, _) if self.from != self.gap_end => {
                Some((Op::Next, self.from, self.gap_end))
            }
            _ => None,
        }
    }

    /// The record: a QP that opens, a packet built, what the frame asks, in this order.
    fn map(&mut self, i: &Inputs, asks: Option<(Op, Psn, Psn)>) {
        let free = self.map_free();
        if self.map_valid && i.map_ready {
            (self.map_valid, self.map_wait) = (false, true);
        } else if self.map_wait && i.map_rsp_valid {
            self.map_wait = false;
        }
        if free {
            self.map_own = false;
            if self.wipe {
                self.wipe = false;
                self.map_valid = true;
                (self.map_op, self.map_qp) = (Op::Wipe, self.wipe_qp);
            } else if i.built_valid {
                self.map_valid = true;
                (self.map_op, self.map_qp) = (Op::Set, (i.built >> 24) as u8);
                self.map_psn = Psn::new(i.built);
            } else if let Some((op, psn, end)) = asks {
                (self.map_own, self.map_valid) = (true, true);
                (self.map_op, self.map_qp) = (op, self.qp);
                (self.map_psn, self.map_end) = (psn, end);
            }
        }
        if i.created_valid {
            (self.wipe, self.wipe_qp) = (true, i.created_qpn.slot());
        }
    }

    fn take(&mut self, i: &Inputs) {
        let p: &Parsed = &i.r#in;
        let byte = |n: usize| (p.ctrl.0[n / 8] >> (n % 8 * 8)) as u8;
        let pair = |n: usize| u16::from_be_bytes([byte(n), byte(n + 1)]);
        self.kind = p.kind;
        self.dest_ip = p.src_ip;
        self.qpn = p.qpn;
        self.psn = p.psn;
        self.remote = Qpn(u32::from_be_bytes([0, byte(12), byte(8), byte(9)]));
        self.charge = p.charge;
        self.port = p.sport;
        self.code = byte(2);
        self.skip = match p.kind {
            Kind::Nack => byte(2) == 1,
            Kind::Sack => byte(1) >> 5 & 3 == 1,
            _ => false,
        };
        self.probe = p.kind == Kind::Sack && byte(1) >> 1 & 1 == 1;
        self.clean = byte(1) & 0x60 == 0;
        self.drew = pair(2);
        (self.arrived, self.rtx) = (p.at, p.rtx);
        self.stamped = p.stamped;
        self.word = match p.kind {
            Kind::Nack => pair(18),
            _ => (p.cc as u16).swap_bytes(),
        };
        self.base = pair(18);
        self.bits = u64::from_be_bytes(std::array::from_fn(|n| byte(20 + n)));
        if matches!(p.kind, Kind::Ack | Kind::Sack | Kind::Nack) {
            self.state = State::Find;
        } else {
            self.other_valid = true;
            self.finish(i);
        }
    }

    /// Gives the frame's charge back; between two frames a purge or a check may come.
    fn finish(&mut self, i: &Inputs) {
        self.state = match () {
            () if i.purge_valid && !self.purge => State::Purge,
            () if i.check_valid => State::Check,
            () => State::Idle,
        };
        self.relc_valid = !self.purge;
        self.purge_done = self.purge;
        self.purge = false;
    }

    /// CPL-2: a message has been looked at.
    fn checked(&mut self, clear: bool) {
        self.check = false;
        self.check_rsp_valid = true;
        self.check_rsp_clear = clear;
        self.state = State::Idle;
    }

    /// CPL-2: what is left of the message to look at in the record.
    fn look_at(&mut self, i: &Inputs, message: (Psn, Psn), wrong: bool) {
        let (first, last) = message;
        let next = i.find_rsp_cum.plus(1);
        self.from = if first.ahead_of(next) < 0 { next } else { first };
        self.gap_end = last.plus(1);
        let acked = last.ahead_of(i.find_rsp_cum) <= 0;
        if acked || wrong {
            self.checked(acked);
        } else {
            self.check_rsp_clear = false;
            self.state = State::Gap;
        }
    }

    /// SACK-5: the frame names a PSN that is not given.
    fn wrong(&self, given: Psn, lists: bool, top: Psn) -> bool {
        let not_given = |psn: Psn| psn.ahead_of(given) >= 0;
        not_given(self.psn)
            || self.kind == Kind::Sack && !self.probe && not_given(beside(self.psn, self.drew))
            || lists && not_given(top)
    }

    fn found(&mut self, i: &Inputs) {
        let lists = self.kind == Kind::Sack && self.bits != 0;
        let base = beside(self.psn, self.base);
        let top = base.plus(63_u32.saturating_sub(self.bits.leading_zeros()));
        let beyond = self.psn.ahead_of(i.find_rsp_cum) > 0;
        let given = given(i);
        let wrong = self.wrong(given, lists, top);
        let message = (self.block, self.psn);
        self.qp = i.find_rsp_qp;
        self.group = i.find_rsp_group;
        self.dest = i.find_rsp_dest;
        self.given = given;
        self.moved = self.kind != Kind::Nack && beyond;
        self.cum = if self.moved { self.psn } else { i.find_rsp_cum };
        let first = self.cum.plus(1);
        let sack = self.kind == Kind::Sack && !self.probe;
        self.seeks = sack && self.draws().ahead_of(self.cum) > 0;
        self.recover = i.find_rsp_recover;
        self.recovers = i.find_rsp_recovers && self.recover.ahead_of(first) >= 0;
        self.from = i.find_rsp_cum.plus(1);
        self.limit = first;
        self.gap_end = top.minus(u32::from(i.cfg_loss));
        self.gap = lists && !self.recovers && self.gap_end.ahead_of(first) > 0;
        self.hunt = Hunt::Range;
        self.block = base;
        let below = first.ahead_of(base);
        if !lists {
            self.bits = 0;
        } else if below >= 0 {
            self.block = first;
            self.bits = self.bits.checked_shr(below.cast_unsigned()).unwrap_or(0);
        }
        if self.purge {
            self.psn = i.find_rsp_cum;
            self.cum = i.find_rsp_given.minus(1);
            self.limit = i.find_rsp_given;
            self.moved = self.cum != i.find_rsp_cum;
            self.recovers = false;
            self.state = State::Retire;
        } else if self.check {
            self.look_at(i, message, wrong);
        } else if !i.find_rsp_ok || wrong {
            self.drop_valid = true;
            self.drop_reason = if i.find_rsp_ok { Drop::Psn } else { Drop::Qp };
            self.finish(i);
        } else {
            self.skip_valid = self.skip;
            self.probed_valid = self.probe;
            self.state = State::Retire;
            if self.kind == Kind::Nack {
                self.from = self.psn;
                let known = cause(self.code) != Cause::Gap && beyond;
                self.state = if known { State::Gap } else { State::Update };
            }
        }
    }

    /// Where the next packet to retire comes from.
    fn hunt(&mut self, i: &Inputs, answered: bool) {
        match self.hunt {
            Hunt::Range if answered => {
                self.next_valid = i.map_rsp_hit;
                self.next_psn = i.map_rsp_psn;
                self.from = if i.map_rsp_hit { i.map_rsp_psn.plus(1) } else { self.limit };
            }
            Hunt::Block if answered => {
                self.bits &= i.map_rsp_bits;
                self.hunt = Hunt::Bits;
            }
            Hunt::Bits | Hunt::None if answered => {
                self.next_valid = true;
                self.next_psn = self.map_psn;
                self.bits &= self.bits.wrapping_sub(1);
            }
            Hunt::Range if self.from == self.limit => {
                self.hunt = if self.bits == 0 { Hunt::None } else { Hunt::Block };
            }
            Hunt::Range if self.purge && !self.next_valid => {
                self.next_valid = true;
                self.next_psn = self.from;
                self.from = self.from.plus(1);
            }
            Hunt::Bits if self.bits == 0 => self.hunt = Hunt::None,
            _ => {}
        }
    }

    /// The packet that was at hand before this clock goes to `replay_store`, its bytes to `window`.
    fn retire(&mut self, i: &Inputs, (hunt, had): (Hunt, bool)) {
        let was_retiring = self.retiring;
        if self.retire_valid && i.retire_ready {
            self.retire_valid = false;
            self.retiring = true;
        }
        if i.sub_ready {
            self.sub_valid = self.held;
            if self.held {
                self.sub_bytes = self.held_bytes;
                self.held = false;
            }
        }
        if was_retiring && i.retire_rsp_valid {
            self.retiring = false;
            if self.kind == Kind::Sack && !self.probe && self.retire_psn == self.draws() {
                self.seeks = false;
                self.time(i.retire_rsp_sent, i.retire_rsp_at);
            }
            let nominal = (i.retire_rsp_len + u16::from(i.cfg_nominal_overhead)) & 0x3fff;
            if !i.retire_rsp_flight {
                // It was out of flight already.
            } else if self.sub_valid {
                self.held = true;
                self.held_bytes = nominal;
            } else {
                self.sub_valid = true;
                self.sub_bytes = nominal;
            }
        }
        // The next request goes out when its response has a place to wait.
        if self.retire_valid || self.retiring || self.held {
            return;
        }
        if had {
            self.next_valid = false;
            self.retire_valid = true;
            self.retire_psn = self.next_psn;
        } else if hunt == Hunt::None && !self.sub_valid {
            self.from = self.cum.plus(1);
            if self.seeks {
                self.lose_psn = self.draws();
            }
            self.state = match () {
                () if self.seeks => State::Lose,
                () if self.gap => State::Gap,
                () if self.kind != Kind::Ack || self.moved => State::Update,
                () => State::Tell,
            };
        }
    }

    /// The PSN that drew a SACK.
    fn draws(&self) -> Psn {
        beside(self.psn, self.drew)
    }

    fn lose_cause(&self) -> Cause {
        match self.kind {
            Kind::Nack => cause(self.code),
            _ if self.seeks => Cause::Sample,
            _ => Cause::Gap,
        }
    }

    /// RTT-1: the packet that drew the frame was sent so often and last at that clock.
    fn time(&mut self, sent: u8, at: u64) {
        self.timed_valid = sent != 0;
        (self.timed_sent, self.timed_at) = (sent, at);
    }

    /// `retransmit` has judged a packet that is lost.
    fn lost(&mut self, i: &Inputs) {
        if self.seeks || self.kind == Kind::Nack {
            self.time(i.lose_rsp_sent, i.lose_rsp_at);
        }
        if self.seeks {
            self.seeks = false;
            self.state = if self.gap { State::Gap } else { State::Update };
            return;
        }
        self.from = self.lose_psn.plus(1);
        self.state = if self.kind == Kind::Nack { State::Update } else { State::Gap };
        self.spent_valid = i.lose_rsp_fatal;
        if i.lose_rsp_queued && self.kind != Kind::Nack {
            self.recovers = true;
            self.recover = self.given.minus(1);
        }
    }
}
