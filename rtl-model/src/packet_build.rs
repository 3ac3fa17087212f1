//! Packet build: a segment whose payload has arrived gets its flags, its path and its headers.
//!
//! Twin of `hdl/packet_build.sv`. The four requests stand from the clock after the hand-off on;
//! the frame is out two clocks after the last answer (two after `replay_store` has taken its
//! record, where that is later). One packet is in work at a time: throughput is a packet in two
//! clocks more than the slowest answer takes, well within a payload of 256 B at 400 Gbps.
//!
//! PKT-1: entropy and headers once the payload is there. PKT-3: codepoint of a first transmission
//! or of a retransmission. PKT-4: class 0. PKT-5: ACK-request on the last packet of a message, on a
//! tight window and on a retransmission, which has the retransmit flag too.
//! PTH-2: a probe goes before both, on the value that `path_probe` names: headers and PETH, no
//! payload, no trim, R and this side's own number, with the place of the value in slot and off. It
//! asks `qp_table` alone, and is given no PSN.
//! PKT-6: a retransmission goes before a segment that is handed on at the same time. It asks
//! neither window nor `replay_store`, which has its record, and is given no PSN: its entropy value
//! is new.
//! QP-4: while the peer's number is unknown, R is set and the QP field is this side's own number.
//! RTT-1: with `cfg_stamps` a TSETH stands behind METH, and each data packet and probe says when its
//! frame was made: clocks in whole steps of 128, modulo 2^16. One that goes again says so anew.
//! Section 12: Ethernet, IPv4, UDP, BTH, METH, RETH, then zeros up to `cfg_data_hdr`.
//!
//! Borders and choices:
//! - A 0-byte packet is a data packet too (`frame.data` set): its slot is released as any other's.
//! - The frame is written down (`rec_*`) before it can leave, so no answer to it can come too
//!   early.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::header::{
    Base, Header, ICRC_BYTES, OP_FIRST, OP_LAST, OP_MIDDLE, OP_ONLY, OP_PROBE, PROBE_BYTES, Peth,
    Reth, meth, tseth,
};
use crate::image::Wide;
use crate::path_probe::place_of;
use crate::path_select::FIRST_PORT;
use crate::rtt_sample::STEP_BITS;
use crate::sizes::Sizes;
use crate::types::{Frame, Psn, Qpn, Segment};

/// Bytes of a probe before its FCS.
const PROBE_HDR: u8 = 70;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `payload_fetch`: a segment in issue order.
    pub hand_valid: bool,
    /// The segment.
    pub hand: Segment,
    /// From `retransmit`: a packet goes again.
    pub again_valid: bool,
    /// From `retransmit`.
    pub again: Segment,
    /// From `path_probe`: a probe.
    pub probe_valid: bool,
    /// On which QP.
    pub probe_qp: u8,
    /// To which destination.
    #[bits(6)]
    pub probe_dest: u8,
    /// On which value.
    #[bits(7)]
    pub probe_value: u8,
    /// Its id.
    pub probe_id: u16,
    /// From `window`.
    pub query_ready: bool,
    /// From `window`: the answer.
    pub query_rsp_valid: bool,
    /// Less than one nominal packet of room.
    pub query_rsp_tight: bool,
    /// From `path_select`.
    pub data_ready: bool,
    /// From `path_select`: the answer.
    pub data_rsp_valid: bool,
    /// The entropy value.
    pub data_rsp_port: u16,
    /// From `qp_table`.
    pub build_ready: bool,
    /// From `qp_table`: the answer.
    pub build_rsp_valid: bool,
    /// This side's number.
    pub build_rsp_qpn: Qpn,
    /// The peer's number is known.
    pub build_rsp_remote_valid: bool,
    /// The peer's number.
    pub build_rsp_remote: Qpn,
    /// From `replay_store`.
    pub rec_ready: bool,
    /// From the data queue.
    pub frame_ready: bool,
    /// From `csr`.
    pub cfg_own_ip: u32,
    /// From `csr`.
    #[bits(48)]
    pub cfg_own_mac: u64,
    /// From `csr`: the next hop.
    #[bits(48)]
    pub cfg_hop_mac: u64,
    /// From `csr`: 64 addresses, destination 0 lowest.
    pub cfg_peer_ip: Wide<32>,
    /// From `csr`: codepoint of no trim.
    #[bits(6)]
    pub cfg_dscp0: u8,
    /// From `csr`: codepoint of trimmable.
    #[bits(6)]
    pub cfg_dscp1: u8,
    /// From `csr`: trimmable retransmission.
    #[bits(6)]
    pub cfg_dscp2: u8,
    /// From `csr`: retransmissions have a codepoint of their own.
    pub cfg_distinct_rtx: bool,
    /// From `csr`: ECN field.
    #[bits(2)]
    pub cfg_ecn: u8,
    /// From `csr`: `TrimmingEnabled`.
    pub cfg_trimming: bool,
    /// From `csr`: time to live.
    pub cfg_ttl: u8,
    /// From `csr`: bytes before the payload.
    #[bits(7)]
    pub cfg_data_hdr: u8,
    /// From `csr`: bytes of a data packet on the wire beside its payload.
    #[bits(7)]
    pub cfg_wire_overhead: u8,
    /// From `csr`: 4 B more.
    pub cfg_icrc: bool,
    /// From `csr`: `RTTTimestampMode` is `WireTimestamp`.
    pub cfg_stamps: bool,
    /// Clocks since reset.
    #[bits(48)]
    pub now: u64,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `payload_fetch`.
    pub hand_ready: bool,
    /// To `retransmit`.
    pub again_ready: bool,
    /// To `path_probe`.
    pub probe_ready: bool,
    /// To `window`: is the group's window tight?
    pub query_valid: bool,
    /// The group.
    pub query_group: u8,
    /// To `path_select`: the next entropy value, please.
    pub data_valid: bool,
    /// The destination.
    #[bits(6)]
    pub data_dest: u8,
    /// To `qp_table`: a PSN is given.
    pub build_valid: bool,
    /// The QP's slot.
    pub build_qp: u8,
    /// The PSN.
    pub build_psn: Psn,
    /// To `qp_table`: it was given before.
    pub build_again: bool,
    /// To `replay_store`: the packet's record.
    pub rec_valid: bool,
    /// To `replay_store`.
    pub rec: Segment,
    /// To the data queue.
    pub frame_valid: bool,
    /// The frame.
    pub frame: Frame,
    /// To `ack_take`: a packet is being built for the first time.
    pub building_valid: bool,
    /// Its QP.
    pub building_qp: u8,
    /// Its PSN.
    pub building_psn: Psn,
    /// To the log: a packet was built for the first time.
    pub built_valid: bool,
    /// The QP's slot.
    pub built_qp: u8,
    /// Its PSN.
    pub built_psn: Psn,
    /// Its ACK-request flag.
    pub built_ack_req: bool,
    /// To `replay_store` and the log: a packet's frame was made.
    pub made_valid: bool,
    /// To `replay_store` and the log.
    #[bits(10)]
    pub made_slot: u16,
    /// To `replay_store` and the log: its entropy value.
    pub made_port: u16,
    /// To the log: its packet went before.
    pub made_again: bool,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// `seg` is in work.
    pub busy: bool,
    /// The segment in work, or the last one.
    pub seg: Segment,
    /// It goes again.
    pub rtx: bool,
    /// It is a probe.
    pub probe: bool,
    /// Its id.
    pub probe_id: u16,
    /// The request waits for `window`.
    pub query_valid: bool,
    /// The request waits for `path_select`.
    pub data_valid: bool,
    /// The request waits for `qp_table`.
    pub build_valid: bool,
    /// The record waits for `replay_store`.
    pub rec_valid: bool,
    /// `window` has answered.
    pub query_done: bool,
    /// `path_select` has answered.
    pub data_done: bool,
    /// `qp_table` has answered.
    pub build_done: bool,
    /// The window's answer.
    pub tight: bool,
    /// The entropy value.
    pub sport: u16,
    /// This side's number.
    pub own_qpn: Qpn,
    /// The peer's number is known.
    pub remote_valid: bool,
    /// The peer's number.
    pub remote: Qpn,
    /// `frame` waits for the data queue.
    pub frame_valid: bool,
    /// The last frame.
    pub frame: Frame,
    /// A packet was built.
    pub built_valid: bool,
    /// The QP's slot of the last one.
    pub built_qp: u8,
    /// Its PSN.
    pub built_psn: Psn,
    /// Its ACK-request flag.
    pub built_ack_req: bool,
    /// A frame was made.
    pub made_valid: bool,
    /// Its slot.
    #[bits(10)]
    pub made_slot: u16,
    /// Its entropy value.
    pub made_port: u16,
    /// Its packet went before.
    pub made_again: bool,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_: &Sizes) -> Self {
        Self {
            busy: false,
            seg: Segment::default(),
            rtx: false,
            probe: false,
            probe_id: 0,
            query_valid: false,
            data_valid: false,
            build_valid: false,
            rec_valid: false,
            query_done: false,
            data_done: false,
            build_done: false,
            tight: false,
            sport: 0,
            own_qpn: Qpn(0),
            remote_valid: false,
            remote: Qpn(0),
            frame_valid: false,
            frame: Frame::default(),
            built_valid: false,
            built_qp: 0,
            built_psn: Psn(0),
            built_ack_req: false,
            made_valid: false,
            made_slot: 0,
            made_port: 0,
            made_again: false,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        let seg = &self.seg;
        o.query_valid = self.query_valid;
        o.query_group = seg.group;
        o.data_valid = self.data_valid;
        o.data_dest = seg.dest;
        o.build_valid = self.build_valid;
        o.build_qp = seg.qp;
        o.build_psn = seg.psn;
        o.build_again = self.rtx || self.probe;
        o.building_valid = self.busy && !o.build_again;
        o.building_qp = seg.qp;
        o.building_psn = seg.psn;
        o.rec_valid = self.rec_valid;
        o.rec = *seg;
        o.frame_valid = self.frame_valid;
        o.frame = self.frame;
        o.built_valid = self.built_valid;
        o.built_qp = self.built_qp;
        o.built_psn = self.built_psn;
        o.built_ack_req = self.built_ack_req;
        o.made_valid = self.made_valid;
        o.made_slot = self.made_slot;
        o.made_port = self.made_port;
        o.made_again = self.made_again;
    }

    fn ready(&self, i: &Inputs, o: &mut Outputs) {
        o.probe_ready = !self.busy || self.finishes(i);
        o.again_ready = o.probe_ready && !i.probe_valid;
        o.hand_ready = o.again_ready && !i.again_valid;
    }

    fn clock(&mut self, i: &Inputs, o: &Outputs) {
        let finishes = self.finishes(i);
        self.frame_valid &= !i.frame_ready;
        self.built_valid = finishes && !self.rtx && !self.probe;
        self.made_valid = finishes && !self.probe;
        if finishes {
            self.busy = false;
            self.frame_valid = true;
            self.frame = self.build(i);
            self.built_qp = self.seg.qp;
            self.built_psn = self.seg.psn;
            self.built_ack_req = self.ack_req();
            self.made_slot = self.seg.slot;
            self.made_port = self.sport;
            self.made_again = self.rtx;
        }

        self.query_valid &= !i.query_ready;
        self.data_valid &= !i.data_ready;
        self.build_valid &= !i.build_ready;
        self.rec_valid &= !i.rec_ready;
        if i.query_rsp_valid {
            self.query_done = true;
            self.tight = i.query_rsp_tight;
        }
        if i.data_rsp_valid {
            self.data_done = true;
            self.sport = i.data_rsp_port;
        }
        if i.build_rsp_valid {
            self.build_done = true;
            self.own_qpn = i.build_rsp_qpn;
            self.remote_valid = i.build_rsp_remote_valid;
            self.remote = i.build_rsp_remote;
        }

        if o.again_ready && (i.again_valid || i.hand_valid) {
            let rtx = i.again_valid;
            self.busy = true;
            (self.rtx, self.probe) = (rtx, false);
            self.seg = if rtx { i.again } else { i.hand };
            (self.query_valid, self.rec_valid) = (!rtx, !rtx);
            (self.data_valid, self.build_valid) = (true, true);
            (self.query_done, self.tight) = (rtx, false);
            (self.data_done, self.build_done) = (false, false);
        }
        if o.probe_ready && i.probe_valid {
            self.take_probe(i);
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        let output = self.made_valid || self.frame_valid && i.frame_ready;
        let asked = i.hand_valid || i.again_valid || i.probe_valid;
        let input = i.query_rsp_valid || i.data_rsp_valid || i.build_rsp_valid;
        !self.busy && !asked && !output && !input
    }
}

impl Regs {
    /// All that the frame needs is there, and so is room for it.
    fn finishes(&self, i: &Inputs) -> bool {
        let answered = self.query_done && self.data_done && self.build_done && !self.rec_valid;
        self.busy && answered && (!self.frame_valid || i.frame_ready)
    }

    /// PTH-2: a probe, with what it needs no partner for.
    fn take_probe(&mut self, i: &Inputs) {
        (self.busy, self.rtx, self.probe) = (true, false, true);
        self.probe_id = i.probe_id;
        let (slot, off) = place_of(i.probe_dest, i.probe_value);
        let (qp, dest, laddr) = (i.probe_qp, i.probe_dest, u64::from(off));
        self.seg = Segment { qp, dest, slot, laddr, ..Segment::default() };
        self.sport = FIRST_PORT + u16::from(i.probe_value);
        (self.query_valid, self.data_valid, self.rec_valid) = (false, false, false);
        (self.query_done, self.data_done, self.tight) = (true, true, false);
        (self.build_valid, self.build_done) = (true, false);
    }

    /// PKT-5.
    fn ack_req(&self) -> bool {
        !self.probe && (self.seg.last || self.tight || self.rtx)
    }

    /// PKT-3.
    fn dscp(&self, i: &Inputs) -> u8 {
        match (i.cfg_trimming && !self.probe, self.rtx && i.cfg_distinct_rtx) {
            (false, _) => i.cfg_dscp0,
            (true, false) => i.cfg_dscp1,
            (true, true) => i.cfg_dscp2,
        }
    }

    fn peth(&self, stamp: u16) -> Peth {
        let remote = if self.remote_valid { self.remote } else { Qpn(0) };
        let (probe_id, timestamp) = (self.probe_id, stamp);
        Peth { probe_id, own_pdc: self.own_qpn.0 as u16, peer_pdc: remote.0 as u16, timestamp }
    }

    /// PKT-1, section 12.
    fn build(&self, i: &Inputs) -> Frame {
        let seg = &self.seg;
        let pair = i.cfg_peer_ip.0[usize::from(seg.dest / 2)];
        let len = if self.probe {
            PROBE_BYTES + if i.cfg_icrc { ICRC_BYTES } else { 0 }
        } else {
            (seg.len + u16::from(i.cfg_wire_overhead)) & 0x3fff
        };
        let by_sender = !self.remote_valid || self.probe;
        let stamp = if i.cfg_stamps { (i.now >> STEP_BITS) as u16 } else { 0 };
        let base = Base {
            dst_mac: i.cfg_hop_mac,
            src_mac: i.cfg_own_mac,
            src_ip: i.cfg_own_ip,
            dst_ip: (pair >> (seg.dest % 2 * 32)) as u32,
            dscp: self.dscp(i),
            ecn: i.cfg_ecn,
            ttl: i.cfg_ttl,
            len,
            sport: self.sport,
            opcode: match (seg.first, seg.last) {
                _ if self.probe => OP_PROBE,
                (true, true) => OP_ONLY,
                (true, false) => OP_FIRST,
                (false, true) => OP_LAST,
                (false, false) => OP_MIDDLE,
            },
            qpn: if by_sender { self.own_qpn } else { self.remote },
            ack_req: self.ack_req(),
            by_sender,
            rtx: self.rtx,
            ts: i.cfg_stamps,
            psn: seg.psn,
        };
        let mut hdr = Header::default();
        hdr.put(&base.bytes());
        if self.probe {
            hdr.put(&self.peth(stamp).bytes());
        } else {
            let reth = Reth { raddr: seg.raddr, rkey: seg.rkey, msg_len: seg.msg_len };
            hdr.put(&meth(seg.msn));
            if i.cfg_stamps {
                hdr.put(&tseth(stamp));
            }
            hdr.put(&reth.bytes());
        }
        Frame {
            hdr: hdr.wide(),
            hdr_len: if self.probe { PROBE_HDR } else { i.cfg_data_hdr },
            len,
            data: !self.probe,
            slot: seg.slot,
            off: (seg.laddr & 63) as u8,
        }
    }
}
