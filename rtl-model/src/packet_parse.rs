//! Packet parse: a received frame becomes its fields, or a drop with its reason.
//!
//! Twin of `hdl/packet_parse.sv`. Latency 1 clock, throughput 1 frame per clock.
//!
//! RX-1: the checks come in the order of [`Drop`], and the first that fails is the reason. BUF-4:
//! PFC's frames end here, counted by `pfc_valid` and never charged. PKT-3: trimmed is by codepoint.
//! PKT-4: data and probes have class 0; ACKs, SACKs, NACKs and what is trimmed class 1.
//!
//! Borders and choices:
//! - Short is below 58 B, the end of BTH and FCS. A frame that ends inside its opcode's later
//!   headers has a wrong length (Length).
//! - EtherType 0x8808 wants PFC's address, opcode 0x0101 (else Opcode) and 64 B (else Length);
//!   EtherType 0x0800 wants this NIC's address. Any other pair is Mac.
//! - A data opcode with one of the two trimmed codepoints is 62 B: a 44 B datagram. The codepoints
//!   mean nothing on a control opcode. Where the two are one number it is that of trimmed.
//! - A payload has 0 to 8,192 B. Control frames have one length each: 62, 94, 78, 74 B, the ACK
//!   `cfg_ack_extra` bytes more.
//! - RTT-1: with `cfg_stamps` a data packet has a TSETH behind METH, and BTH's ts flag; without
//!   neither. One with the other flag has a wrong length. A trim cuts TSETH.
//! - With `cfg_icrc` every frame but trimmed and PFC's is 4 B longer, for its ICRC (PKT-1); a wrong
//!   one is the last check (`Icrc`).
//! - The reserved flag and DF of IPv4, the UDP checksum, `P_Key` and BTH's reserved bits are
//!   ignored.
//! - A dropped frame leaves `out` as it was. PFC's frames are too short to have brought words.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::header::{
    ACK_BYTES, BASE_BYTES, ETHERTYPE_IPV4, ETHERTYPE_PFC, FCS_BYTES, ICRC_BYTES, IP_UDP,
    NACK_BYTES, OP_ACK, OP_FIRST, OP_LAST, OP_MIDDLE, OP_NACK, OP_ONLY, OP_PROBE, OP_SACK,
    PFC_BYTES, PFC_MAC, PFC_OPCODE, PROBE_BYTES, SACK_BYTES, TRIMMED_BYTES, TSETH_BYTES, UDP_PORT,
    ip_sum,
};
use crate::image::Wide;
use crate::sizes::Sizes;
use crate::types::{Drop, Kind, Parsed, Psn, Qpn};

/// Bytes of payload in a packet at the largest MSS.
const MAX_PAYLOAD: u16 = 8_192;

/// Input ports, without the `_i`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Inputs {
    /// From `port_rx`: a frame has ended.
    pub frame_valid: bool,
    /// Its first 104 bytes, zero past its end.
    #[bits(832)]
    pub frame_hdr: Wide<13>,
    /// Its bytes on the wire, FCS included.
    #[bits(14)]
    pub frame_len: u16,
    /// Its FCS is right.
    pub frame_fcs_ok: bool,
    /// Its ICRC is right, or `cfg_icrc` is clear.
    pub frame_icrc_ok: bool,
    /// Words of payload that went to `ingress_pool`.
    pub frame_words: u8,
    /// The clock in which its last beat came.
    #[bits(48)]
    pub frame_at: u64,
    /// From `csr`.
    pub cfg_own_ip: u32,
    /// From `csr`.
    #[bits(48)]
    pub cfg_own_mac: u64,
    /// From `csr`: codepoint of trimmed packets.
    #[bits(6)]
    pub cfg_dscp4: u8,
    /// From `csr`: codepoint of packets trimmed on the last hop.
    #[bits(6)]
    pub cfg_dscp5: u8,
    /// From `csr`: bytes before the payload.
    #[bits(7)]
    pub cfg_data_hdr: u8,
    /// From `csr`: bytes of a frame that its charge leaves out.
    #[bits(5)]
    pub cfg_charge_less: u8,
    /// From `csr`: zero bytes after AETH.
    #[bits(5)]
    pub cfg_ack_extra: u8,
    /// From `csr`: `ICRCEnable`.
    pub cfg_icrc: bool,
    /// From `csr`: `RTTTimestampMode` is `WireTimestamp`.
    pub cfg_stamps: bool,
}

/// Output ports, without the `_o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To `ingress_pool`: a verdict.
    pub out_valid: bool,
    /// The fields of a frame that is not dropped.
    pub out: Parsed,
    /// Its class (PKT-4).
    #[bits(3)]
    pub out_cls: u8,
    /// Why it is dropped.
    pub out_drop: Drop,
    /// Words of payload that went to `ingress_pool`.
    pub out_words: u8,
    /// To `pause_hold`: a PFC frame.
    pub pfc_valid: bool,
    /// The classes that it names.
    pub pfc_classes: u8,
    /// What it asks for each, class 0 lowest.
    pub pfc_quanta: Wide<2>,
}

/// Registers: the fields of `regs_t` in the RTL, in the same order.
#[derive(Clone, Debug, PartialEq, Eq, Image, Serialize, Deserialize)]
pub struct Regs {
    /// A verdict stands.
    pub valid: bool,
    /// The fields of the last frame that passed.
    pub parsed: Parsed,
    /// Why the last frame was dropped.
    pub drop: Drop,
    /// Its words.
    pub words: u8,
    /// A PFC frame came.
    pub pfc: bool,
    /// The classes that the last one named.
    pub pfc_classes: u8,
    /// What it asked for each.
    pub pfc_quanta: Wide<2>,
}

impl Block for Regs {
    type Inputs = Inputs;
    type Outputs = Outputs;

    fn reset(_: &Sizes) -> Self {
        Self {
            valid: false,
            parsed: Parsed::default(),
            drop: Drop::None,
            words: 0,
            pfc: false,
            pfc_classes: 0,
            pfc_quanta: Wide::ZERO,
        }
    }

    fn drive(&self, o: &mut Outputs) {
        o.out_valid = self.valid;
        o.out = self.parsed;
        o.out_cls = u8::from(!matches!(self.parsed.kind, Kind::Data | Kind::Probe));
        o.out_drop = self.drop;
        o.out_words = self.words;
        o.pfc_valid = self.pfc;
        o.pfc_classes = self.pfc_classes;
        o.pfc_quanta = self.pfc_quanta;
    }

    fn clock(&mut self, i: &Inputs, _: &Outputs) {
        self.valid = false;
        self.pfc = false;
        if !i.frame_valid {
            return;
        }
        let mut bytes = [0; 104];
        i.frame_hdr.to_bytes(&mut bytes);
        match judge(&Received { bytes: &bytes, i }) {
            Verdict::Pfc => self.pause(&bytes),
            Verdict::Drop(why) => {
                self.valid = true;
                self.drop = why;
                self.words = i.frame_words;
            }
            Verdict::Pass(parsed) => {
                self.valid = true;
                self.drop = Drop::None;
                self.words = i.frame_words;
                self.parsed = parsed;
            }
        }
    }

    fn idle(&self, i: &Inputs) -> bool {
        !i.frame_valid && !self.valid && !self.pfc
    }
}

impl Regs {
    /// Section 12: the classes that a PFC frame names, and their times.
    fn pause(&mut self, bytes: &[u8; 104]) {
        self.pfc = true;
        self.pfc_classes = bytes[17];
        let mut times = [0; 16];
        for (le, be) in times.chunks_mut(2).zip(bytes[18..34].chunks(2)) {
            le.copy_from_slice(&[be[1], be[0]]);
        }
        self.pfc_quanta = Wide::from_bytes(&times);
    }
}

/// What a frame comes to.
enum Verdict {
    Pfc,
    Drop(Drop),
    Pass(Parsed),
}

/// One received frame and the settings.
struct Received<'a> {
    bytes: &'a [u8; 104],
    i: &'a Inputs,
}

impl Received<'_> {
    /// The `N`-byte number at byte `at`.
    fn number<const N: usize>(&self, at: usize) -> u64 {
        self.bytes[at..at + N].iter().fold(0, |v, b| v << 8 | u64::from(*b))
    }

    fn half(&self, at: usize) -> u16 {
        self.number::<2>(at) as u16
    }

    fn full(&self, at: usize) -> u32 {
        self.number::<4>(at) as u32
    }

    /// What the opcode says it is, and the codepoint where the opcode is a Write's.
    fn kind(&self) -> Option<Kind> {
        let dscp = self.bytes[15] >> 2;
        let trimmed = dscp == self.i.cfg_dscp4 || dscp == self.i.cfg_dscp5;
        match self.bytes[42] {
            OP_FIRST | OP_MIDDLE | OP_LAST | OP_ONLY if trimmed => Some(Kind::Trimmed),
            OP_FIRST | OP_MIDDLE | OP_LAST | OP_ONLY => Some(Kind::Data),
            OP_ACK => Some(Kind::Ack),
            OP_SACK => Some(Kind::Sack),
            OP_NACK => Some(Kind::Nack),
            OP_PROBE => Some(Kind::Probe),
            _ => None,
        }
    }

    /// Payload bytes, where the length of the frame is one that its kind can have.
    fn payload(&self, kind: Kind) -> Option<u16> {
        let icrc = if self.i.cfg_icrc { ICRC_BYTES } else { 0 };
        let only = |bytes| (self.i.frame_len == bytes + icrc).then_some(0);
        match kind {
            Kind::Data if self.ts() != self.i.cfg_stamps => None,
            Kind::Data => (self.i.frame_len)
                .checked_sub(u16::from(self.i.cfg_data_hdr) + FCS_BYTES + icrc)
                .filter(|payload| *payload <= MAX_PAYLOAD),
            Kind::Trimmed => (self.i.frame_len == TRIMMED_BYTES).then_some(0),
            Kind::Ack => only(ACK_BYTES + u16::from(self.i.cfg_ack_extra)),
            Kind::Sack => only(SACK_BYTES),
            Kind::Nack => only(NACK_BYTES),
            Kind::Probe => only(PROBE_BYTES),
        }
    }

    /// BTH's ts flag.
    fn ts(&self) -> bool {
        self.bytes[50] & 0x10 != 0
    }

    /// `bytes` bytes after BTH, as they lie.
    fn after_bth(&self, bytes: usize) -> Wide<4> {
        Wide::from_bytes(&self.bytes[54..54 + bytes])
    }
}

/// RX-1, check by check.
fn judge(f: &Received<'_>) -> Verdict {
    let (b, i) = (f.bytes, f.i);
    if i.frame_len < BASE_BYTES + FCS_BYTES {
        return Verdict::Drop(Drop::Short);
    }
    if !i.frame_fcs_ok {
        return Verdict::Drop(Drop::Fcs);
    }
    let dst_mac = f.number::<6>(0);
    match f.half(12) {
        ETHERTYPE_PFC if dst_mac != PFC_MAC => return Verdict::Drop(Drop::Mac),
        ETHERTYPE_PFC if f.half(14) != PFC_OPCODE => return Verdict::Drop(Drop::Opcode),
        ETHERTYPE_PFC if i.frame_len != PFC_BYTES => return Verdict::Drop(Drop::Length),
        ETHERTYPE_PFC => return Verdict::Pfc,
        ETHERTYPE_IPV4 if dst_mac != i.cfg_own_mac => return Verdict::Drop(Drop::Mac),
        ETHERTYPE_IPV4 => {}
        _ => return Verdict::Drop(Drop::EtherType),
    }
    let fragment = f.half(20) & 0x3fff != 0;
    if b[14] != 0x45 || fragment || b[23] != IP_UDP {
        return Verdict::Drop(Drop::IpHeader);
    }
    if ip_sum(&b[14..34]) != 0xffff {
        return Verdict::Drop(Drop::IpSum);
    }
    if f.full(30) != i.cfg_own_ip {
        return Verdict::Drop(Drop::IpAddr);
    }
    if f.half(36) != UDP_PORT {
        return Verdict::Drop(Drop::Port);
    }
    let Some(kind) = f.kind() else {
        return Verdict::Drop(Drop::Opcode);
    };
    let datagram = i.frame_len - 18;
    let Some(len) = f.payload(kind) else {
        return Verdict::Drop(Drop::Length);
    };
    if f.half(16) != datagram || f.half(38) != datagram - 20 {
        return Verdict::Drop(Drop::Length);
    }
    if !i.frame_icrc_ok && kind != Kind::Trimmed {
        return Verdict::Drop(Drop::Icrc);
    }
    Verdict::Pass(fields(f, kind, len))
}

/// The fields of a frame that passes.
fn fields(f: &Received<'_>, kind: Kind, len: u16) -> Parsed {
    let b = f.bytes;
    let mut p = Parsed {
        kind,
        src_ip: f.full(26),
        sport: f.half(34),
        ce: b[15] & 3 == 3,
        qpn: Qpn(f.number::<3>(47) as u32),
        psn: Psn(f.number::<3>(51) as u32),
        ack_req: b[50] & 0x80 != 0,
        by_sender: b[50] & 0x40 != 0,
        rtx: b[50] & 0x20 != 0,
        len,
        charge: f.i.frame_len - u16::from(f.i.cfg_charge_less),
        at: f.i.frame_at,
        stamped: f.ts() && kind != Kind::Trimmed,
        ..Parsed::default()
    };
    if matches!(kind, Kind::Data | Kind::Trimmed) {
        p.first = matches!(b[42], OP_FIRST | OP_ONLY);
        p.last = matches!(b[42], OP_LAST | OP_ONLY);
        p.msn = f.half(56);
    }
    match kind {
        Kind::Data => {
            let reth = if f.i.cfg_stamps { 58 + usize::from(TSETH_BYTES) } else { 58 };
            p.raddr = f.number::<8>(reth);
            p.rkey = f.full(reth + 8);
            p.msg_len = f.full(reth + 12);
            p.stamp = if f.i.cfg_stamps { f.half(58) } else { 0 };
        }
        Kind::Trimmed => p.last_hop = b[15] >> 2 != f.i.cfg_dscp4,
        Kind::Ack => p.ctrl = f.after_bth(4),
        Kind::Sack => {
            p.ctrl = f.after_bth(28);
            p.cc = f.number::<8>(82).swap_bytes();
        }
        Kind::Nack => p.ctrl = f.after_bth(20),
        Kind::Probe => {
            p.ctrl = f.after_bth(16);
            p.stamp = f.half(54 + 12);
        }
    }
    p
}
