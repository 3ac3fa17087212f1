//! Control frames of the receiver: a SACK, a cumulative ACK, or both, or a NACK, from one answer.
//!
//! Twin of `hdl/ack_build.sv`. ACK-1, SACK-1, SACK-2, NAK-1, MSN-8, PTH-1, PTH-2, BUF-3. An answer
//! waits at `answer` until its last frame is built: 2 clocks after it came for a SACK or a NACK, 5
//! for a SACK and an ACK; longer while `path_select`, the egress pool or `frame` keep it. The SACK
//! goes first.
//!
//! A frame is built when the control pool has room for it: 94 B, 78 B, or 62 B and `cfg_ack_extra`
//! bytes of zeros (uet: 16, section 0). Its reservation goes out in the same clock as the frame.
//! `ctl_free` must count a reservation from the clock after its event on; the next frame is built
//! then at the earliest. The ACK's port is the next of this NIC's own spraying; a SACK or a NACK
//! goes on the entropy value of the packet that drew it.
//!
//! Choices: an `ack_psn_offset` that 16 bits do not hold is clipped to −32,768, which is below
//! every window, so that no sender takes it for a packet it has out. The SACK that answers a probe
//! has the probe's id there.
//!
//! RTT-1: a SACK or a NACK echoes the time of what drew it, with BTH's ts flag: a SACK that and the
//! service time modulo 2^16 in place of the service time. A NACK without one has 0 there. An answer without a frame is passed over.

use derive::{Image, ImageEnum};
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::header::{
    ACK_BYTES, Base, CcState, Header, ICRC_BYTES, NACK_BYTES, Neth, OP_ACK, OP_NACK, OP_SACK,
    SACK_BYTES, Seth, aeth,
};
use crate::sizes::Sizes;
use crate::types::{Frame, Nack, Reply};

/// What the block is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ImageEnum, Serialize, Deserialize)]
#[bits(3)]
pub enum State {
    /// Takes up an answer, builds its SACK or NACK.
    #[default]
    First = 0,
    /// Asks for the ACK's port.
    Port = 1,
    /// The port is on its way.
    Wait = 2,
    /// Builds the ACK.
    Second = 3,
    /// Lets the answer go.
    Done = 4,
}

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `ack_hold`.
    pub answer_valid: bool,
    /// From `ack_hold`.
    pub reply: Reply,
    /// From `path_select`.
    pub ack_ready: bool,
    /// From `path_select`: the port comes.
    pub ack_rsp_valid: bool,
    /// From `path_select`.
    pub ack_rsp_port: u16,
    /// From `egress_arbiter`: free bytes of the control pool.
    pub ctl_free: u32,
    /// From the control class queue.
    pub frame_ready: bool,
    /// Level: this NIC's address.
    pub cfg_own_ip: u32,
    /// Level: this NIC's MAC.
    #[bits(48)]
    pub cfg_own_mac: u64,
    /// Level: the next hop's MAC.
    #[bits(48)]
    pub cfg_hop_mac: u64,
    /// Level: codepoint of control frames.
    #[bits(6)]
    pub cfg_dscp3: u8,
    /// Level: ECN field of all frames.
    #[bits(2)]
    pub cfg_ecn: u8,
    /// Level: time to live.
    pub cfg_ttl: u8,
    /// Level: `MaxPSNRange`.
    #[bits(11)]
    pub cfg_range: u16,
    /// Level: zero bytes after AETH.
    #[bits(5)]
    pub cfg_ack_extra: u8,
    /// Level: `ICRCEnable`: 4 B more (PKT-1).
    pub cfg_icrc: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `ack_hold`.
    pub answer_ready: bool,
    /// To `path_select`.
    pub ack_valid: bool,
    /// To `path_select`: where the ACK goes.
    #[bits(6)]
    pub ack_dest: u8,
    /// Event, to `egress_arbiter`: a reservation in the control pool.
    pub cresv_valid: bool,
    /// Bytes of it.
    #[bits(14)]
    pub cresv_bytes: u16,
    /// To the control class queue.
    pub frame_valid: bool,
    /// To the control class queue.
    pub frame: Frame,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// What the block is doing.
    pub state: State,
    /// Where the ACK goes.
    #[bits(6)]
    pub ack_dest: u8,
    /// Its port.
    pub port: u16,
    /// Event.
    pub cresv_valid: bool,
    /// Bytes of it.
    #[bits(14)]
    pub cresv_bytes: u16,
    /// `frame` waits.
    pub frame_valid: bool,
    /// To the control class queue.
    pub frame: Frame,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_sizes: &Sizes) -> Self {
        Self {
            state: State::First,
            ack_dest: 0,
            port: 0,
            cresv_valid: false,
            cresv_bytes: 0,
            frame_valid: false,
            frame: Frame::default(),
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.answer_ready = self.state == State::Done;
        o.ack_valid = self.state == State::Port;
        o.ack_dest = self.ack_dest;
        o.cresv_valid = self.cresv_valid;
        o.cresv_bytes = self.cresv_bytes;
        o.frame_valid = self.frame_valid;
        o.frame = self.frame;
    }

    fn clock(&mut self, i: &Inputs, _o: &Outputs) {
        self.cresv_valid = false;
        self.frame_valid &= !i.frame_ready;
        let free = !self.frame_valid;
        match self.state {
            State::First if i.answer_valid => {
                let nack_goes = i.reply.answer.nack != Nack::None;
                if nack_goes || i.reply.answer.sack {
                    let frame = if nack_goes { nack(i) } else { sack(i) };
                    if !free || i.ctl_free < u32::from(frame.len) {
                        return;
                    }
                    self.send(frame);
                }
                self.ack_dest = i.reply.answer.dest;
                self.state = if i.reply.answer.ack { State::Port } else { State::Done };
            }
            State::First => {}
            State::Port => {
                if i.ack_ready {
                    self.state = State::Wait;
                }
            }
            State::Wait => {
                if i.ack_rsp_valid {
                    self.port = i.ack_rsp_port;
                    self.state = State::Second;
                }
            }
            State::Second => {
                if free && i.ctl_free >= u32::from(ack_bytes(i)) {
                    self.send(ack(i, self.port));
                    self.state = State::Done;
                }
            }
            State::Done => self.state = State::First,
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let taken = self.frame_valid && i.frame_ready;
        let waits = self.state == State::First && !i.answer_valid;
        waits && !taken && !self.cresv_valid
    }
}

impl Regs {
    /// Hands a frame on, with its reservation.
    fn send(&mut self, frame: Frame) {
        self.cresv_valid = true;
        self.cresv_bytes = frame.len;
        self.frame_valid = true;
        self.frame = frame;
    }
}

/// Length of a frame with its ICRC, if it has one.
fn long(bytes: u16, i: &Inputs) -> u16 {
    bytes + if i.cfg_icrc { ICRC_BYTES } else { 0 }
}

/// What the frames have in common.
fn base(i: &Inputs) -> Base {
    Base {
        dst_mac: i.cfg_hop_mac,
        src_mac: i.cfg_own_mac,
        src_ip: i.cfg_own_ip,
        dst_ip: i.reply.answer.dst_ip,
        dscp: i.cfg_dscp3,
        ecn: i.cfg_ecn,
        ttl: i.cfg_ttl,
        qpn: i.reply.answer.sender_qpn,
        psn: i.reply.answer.cum,
        ..Base::default()
    }
}

fn frame(hdr: &Header, len: u16) -> Frame {
    Frame { hdr: hdr.wide(), hdr_len: hdr.len() as u8, len, ..Frame::default() }
}

/// SACK-2.
fn sack(i: &Inputs) -> Frame {
    let a = &i.reply.answer;
    let ahead = i16::try_from(a.drew.ahead_of(a.cum)).unwrap_or(i16::MIN).cast_unsigned();
    let len = long(SACK_BYTES, i);
    let base =
        Base { len, sport: a.entropy, opcode: OP_SACK, rtx: a.rtx, ts: a.stamped, ..base(i) };
    let seth = Seth {
        mark: u8::from(a.ce),
        probe: a.probe,
        psn_offset: if a.probe { a.drew.0 as u16 } else { ahead },
        entropy: a.entropy,
        receiver_qpn: a.own_qpn,
        sender_pdc: a.sender_qpn.0 as u16,
        cum: a.cum,
        mpr: (i.cfg_range / 128) as u8,
        sack_offset: a.sack_offset,
        bitmap: a.bitmap,
    };
    let echo = if a.stamped { a.stamp } else { 0 };
    let service = i.reply.service.wrapping_add(echo);
    let cc = CcState { service, ooo: a.ooo, penalty: i.reply.penalty, rcvd: a.rcvd };
    let mut hdr = Header::default();
    hdr.put(&base.bytes()).put(&seth.bytes()).put(&cc.bytes());
    frame(&hdr, len)
}

/// NAK-1.
fn nack(i: &Inputs) -> Frame {
    let a = &i.reply.answer;
    let len = long(NACK_BYTES, i);
    let base = Base {
        len,
        sport: a.entropy,
        opcode: OP_NACK,
        rtx: a.rtx,
        ts: a.stamped,
        psn: a.drew,
        ..base(i)
    };
    let neth = Neth {
        reason: match a.nack {
            Nack::Trimmed => 0x01,
            Nack::LastHop => 0x02,
            Nack::None | Nack::Range => 0x0b,
        },
        entropy: a.entropy,
        receiver_qpn: a.own_qpn,
        sender_pdc: a.sender_qpn.0 as u16,
        psn: a.drew,
        timestamp: if a.stamped { a.stamp } else { 0 },
    };
    let mut hdr = Header::default();
    hdr.put(&base.bytes()).put(&neth.bytes());
    frame(&hdr, len)
}

/// A cumulative ACK on the wire, in this profile (section 0).
fn ack_bytes(i: &Inputs) -> u16 {
    long(ACK_BYTES + u16::from(i.cfg_ack_extra), i)
}

/// ACK-1, MSN-8.
fn ack(i: &Inputs, port: u16) -> Frame {
    let len = ack_bytes(i);
    let base = Base { len, sport: port, opcode: OP_ACK, ..base(i) };
    let mut hdr = Header::default();
    hdr.put(&base.bytes()).put(&aeth(i.reply.answer.msn));
    hdr.put(&[0; 31][..usize::from(i.cfg_ack_extra)]);
    frame(&hdr, len)
}
