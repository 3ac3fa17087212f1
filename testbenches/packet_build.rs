//! `packet_build`: model and RTL against each other, and every frame against etherparse.

use std::collections::VecDeque;

use etherparse::{IpNumber, NetSlice, SlicedPacket, TransportSlice};
use rtl_model::image::Wide;
use rtl_model::packet_build::{Inputs, Outputs, Regs};
use rtl_model::types::{Frame, Psn, Qpn, Segment};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

const OWN_QPN: Qpn = Qpn(0x00_0102);
/// Payload bytes at their borders.
const LENGTHS: [u16; 7] = [0, 1, 63, 64, 4_096, 8_191, 8_192];
const PSNS: [u32; 5] = [0, 1, 0x7f_ffff, 0x80_0000, 0xff_ffff];

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("packet_build", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

/// Destination d is 10.0.1.d.
fn settings() -> Inputs {
    let address = |dest: u64| 0x0a00_0100 + dest;
    Inputs {
        cfg_own_ip: 0x0a00_0001,
        cfg_own_mac: 0x0200_0000_0001,
        cfg_hop_mac: 0x0200_0000_00fe,
        cfg_peer_ip: Wide(std::array::from_fn(|n| {
            address(2 * n as u64) | address(2 * n as u64 + 1) << 32
        })),
        cfg_dscp0: 0,
        cfg_dscp1: 4,
        cfg_ecn: 2,
        cfg_trimming: true,
        cfg_ttl: 64,
        cfg_data_hdr: 74,
        cfg_wire_overhead: 78,
        ..Inputs::default()
    }
}

fn header(frame: &Frame) -> Vec<u8> {
    let mut bytes = vec![0; 104];
    frame.hdr.to_bytes(&mut bytes);
    bytes
}

#[test]
fn pkt_5_unknown_number_and_tight_window() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read("packet_build/unknown_number_and_tight_window.txt") {
        let number = |name| (row.text(name) != ".").then(|| row.hex(name) as u32);
        let (psn, remote) = (number("psn"), number("remote"));
        let seg = Segment {
            psn: Psn(psn.unwrap_or(0)),
            first: row.bit("first"),
            last: row.bit("last"),
            ..Segment::default()
        };
        let answers = row.text("rsp");
        let out = pair.clock(&Inputs {
            hand_valid: psn.is_some(),
            hand: seg,
            query_ready: row.bit("query_ready"),
            query_rsp_valid: answers.contains('q'),
            query_rsp_tight: row.bit("tight"),
            data_ready: true,
            data_rsp_valid: answers.contains('d'),
            build_ready: true,
            build_rsp_valid: answers.contains('b'),
            build_rsp_qpn: OWN_QPN,
            build_rsp_remote_valid: remote.is_some(),
            build_rsp_remote: Qpn(remote.unwrap_or(0xff_ffff)),
            rec_ready: row.bit("rec_ready"),
            frame_ready: row.bit("frame_ready"),
            ..settings()
        })?;
        row.expect("hand_ready", u8::from(out.hand_ready));
        row.expect("query_valid", u8::from(out.query_valid));
        row.expect("data_valid", u8::from(out.data_valid));
        row.expect("build_valid", u8::from(out.build_valid));
        row.expect("rec_valid", u8::from(out.rec_valid));
        row.expect("frame_valid", u8::from(out.frame_valid));
        row.expect("built_valid", u8::from(out.built_valid));
        row.expect("built_ack_req", u8::from(out.built_ack_req));
        let bth =
            header(&out.frame)[42..54].iter().fold(String::new(), |s, b| s + &format!("{b:02x}"));
        row.expect("bth", bth);
    }
    Ok(())
}

/// What the partners said about one packet.
#[derive(Clone, Copy, Default)]
struct Answers {
    /// It goes again.
    rtx: bool,
    /// It is a probe: its value and its id.
    probe: Option<(u8, u16)>,
    tight: bool,
    port: u16,
    remote: Option<Qpn>,
    own: Qpn,
    /// RTT-1: the clock in which the frame was made.
    made: u64,
}

impl Answers {
    /// What BTH and TSETH or PETH say of it: the flag, and the time in steps of 128.
    fn stamp(&self, i: &Inputs) -> (u8, [u8; 2]) {
        let steps = (self.made / 128 % 65_536) as u16;
        if i.cfg_stamps { (0x10, steps.to_be_bytes()) } else { (0, [0; 2]) }
    }
}

/// PKT-1, PKT-3, PKT-5, QP-4, section 12 for one frame, by etherparse and by bytes.
fn check(frame: &Frame, seg: &Segment, answers: Answers, i: &Inputs) {
    let bytes = header(frame);
    let (ts, stamp) = answers.stamp(i);
    let hdr = usize::from(i.cfg_data_hdr);
    assert_eq!(frame.len, seg.len + hdr as u16 + 4);
    assert_eq!((usize::from(frame.hdr_len), frame.data), (hdr, true));
    assert_eq!((frame.slot, u64::from(frame.off)), (seg.slot, seg.laddr % 64));

    // The frame as it goes out, without its FCS; the payload is zeros.
    let mut wire = bytes[..hdr].to_vec();
    wire.resize(usize::from(frame.len) - 4, 0);
    let sliced = SlicedPacket::from_ethernet(&wire).expect("a frame");
    let eth =
        sliced.link.as_ref().and_then(etherparse::LinkSlice::ether_payload).expect("Ethernet");
    assert_eq!(eth.ether_type, etherparse::EtherType::IPV4);
    assert_eq!(wire[..6], i.cfg_hop_mac.to_be_bytes()[2..]);
    assert_eq!(wire[6..12], i.cfg_own_mac.to_be_bytes()[2..]);
    let Some(NetSlice::Ipv4(net)) = &sliced.net else { panic!("IPv4") };
    let ip = net.header().to_header();
    assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    assert_eq!(ip.total_len, frame.len - 18);
    assert_eq!(ip.source, i.cfg_own_ip.to_be_bytes());
    let peers = i.cfg_peer_ip.0[usize::from(seg.dest) / 2];
    assert_eq!(ip.destination, ((peers >> (seg.dest % 2 * 32)) as u32).to_be_bytes());
    assert_eq!((ip.protocol, ip.time_to_live), (IpNumber::UDP, i.cfg_ttl));
    assert_eq!((ip.dont_fragment, ip.identification), (true, 0));
    // PKT-3.
    let dscp = match (i.cfg_trimming, answers.rtx && i.cfg_distinct_rtx) {
        (false, _) => i.cfg_dscp0,
        (true, false) => i.cfg_dscp1,
        (true, true) => i.cfg_dscp2,
    };
    assert_eq!(ip.dscp.value(), dscp);
    assert_eq!(ip.ecn.value(), i.cfg_ecn);
    let Some(TransportSlice::Udp(udp)) = &sliced.transport else { panic!("UDP") };
    assert_eq!((udp.source_port(), udp.destination_port()), (answers.port, 4_791));
    assert_eq!((udp.length(), udp.checksum()), (frame.len - 38, 0));

    let bth = udp.payload();
    let opcode = [0xc7, 0xc8, 0xc6, 0xca][usize::from(seg.first) * 2 + usize::from(seg.last)];
    let qpn = answers.remote.unwrap_or(answers.own).0.to_be_bytes();
    let ack = u8::from(seg.last || answers.tight || answers.rtx) << 7;
    let by_sender = u8::from(answers.remote.is_none()) << 6;
    let psn = seg.psn.0.to_be_bytes();
    assert_eq!(bth[..5], [opcode, 0, 0xff, 0xff, 0]);
    assert_eq!(bth[5..8], qpn[1..]);
    assert_eq!(bth[8], ack | by_sender | u8::from(answers.rtx) << 5 | ts);
    assert_eq!(bth[9..12], psn[1..]);
    let msn = seg.msn.to_be_bytes();
    assert_eq!(bth[12..16], [msn, msn].concat());
    let (tseth, reth) = bth[16..].split_at(if i.cfg_stamps { 4 } else { 0 });
    if i.cfg_stamps {
        assert_eq!(tseth, [stamp[0], stamp[1], 0, 1]);
    }
    assert_eq!(reth[..8], seg.raddr.to_be_bytes());
    assert_eq!(reth[8..12], seg.rkey.to_be_bytes());
    assert_eq!(reth[12..16], seg.msg_len.to_be_bytes());
    assert!(bytes[hdr..].iter().all(|b| *b == 0));
}

/// PTH-2, section 12: a probe, by etherparse and by bytes.
fn check_probe(frame: &Frame, seg: &Segment, answers: Answers, i: &Inputs) {
    let (value, id) = answers.probe.expect("a probe");
    let bytes = header(frame);
    assert_eq!(frame.len, if i.cfg_icrc { 78 } else { 74 });
    assert_eq!((frame.hdr_len, frame.data), (70, false));
    let place = u16::from(seg.dest) << 7 | u16::from(value);
    assert_eq!((frame.slot, u16::from(frame.off)), (place & 0x3ff, place >> 10));
    let mut wire = bytes[..70].to_vec();
    wire.resize(usize::from(frame.len) - 4, 0);
    let sliced = SlicedPacket::from_ethernet(&wire).expect("a frame");
    let Some(NetSlice::Ipv4(net)) = &sliced.net else { panic!("IPv4") };
    let ip = net.header().to_header();
    assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    let peers = i.cfg_peer_ip.0[usize::from(seg.dest) / 2];
    assert_eq!(ip.destination, ((peers >> (seg.dest % 2 * 32)) as u32).to_be_bytes());
    assert_eq!((ip.dscp.value(), ip.ecn.value()), (i.cfg_dscp0, i.cfg_ecn), "no trim");
    let Some(TransportSlice::Udp(udp)) = &sliced.transport else { panic!("UDP") };
    assert_eq!((udp.source_port(), udp.destination_port()), (256 + u16::from(value), 4_791));
    assert_eq!(udp.length(), frame.len - 38);
    let own = answers.own.0.to_be_bytes();
    let peer = answers.remote.map_or([0; 4], |r| r.0.to_be_bytes());
    let [high, low] = id.to_be_bytes();
    let (ts, [up, down]) = answers.stamp(i);
    let bth = [0xde, 0, 0xff, 0xff, 0, own[1], own[2], own[3], 0x40 | ts, 0, 0, 0];
    let peth = [0x30, 0, 0, 0, high, low, 0, 0, own[2], own[3], peer[2], peer[3], up, down, 0, 1];
    assert_eq!(udp.payload()[..28], [&bth[..], &peth].concat());
    assert_eq!(bytes[70..], [0; 34]);
}

fn segment(rng: &mut Rng) -> Segment {
    Segment {
        qp: rng.bits() as u8,
        dest: rng.below(64) as u8,
        group: rng.bits() as u8,
        slot: rng.below(1_024) as u16,
        msg: rng.below(1_024) as u16,
        psn: Psn(rng.pick(&PSNS)),
        laddr: rng.bits(),
        len: if rng.percent(70) { rng.pick(&LENGTHS) } else { rng.below(8_193) as u16 },
        raddr: rng.bits(),
        rkey: rng.bits() as u32,
        msg_len: rng.bits() as u32,
        msn: rng.bits() as u16,
        first: rng.percent(50),
        last: rng.percent(50),
    }
}

/// A partner: takes a request, answers some clocks later, one at a time.
#[derive(Default)]
struct Partner {
    answer_in: Option<u64>,
}

impl Partner {
    /// True in the clock of the answer.
    fn answers(&mut self) -> bool {
        let now = self.answer_in == Some(0);
        self.answer_in = self.answer_in.filter(|_| !now).map(|n| n - 1);
        now
    }

    fn took(&mut self, valid: bool, ready: bool, latency: u64, rng: &mut Rng) {
        if valid && ready {
            self.answer_in = Some(rng.below(latency));
        }
    }
}

/// The segments and answers of packets that are not out yet, oldest first.
#[derive(Default)]
struct Around {
    window: Partner,
    path: Partner,
    table: Partner,
    waiting: Option<Segment>,
    /// A packet that goes again.
    again: Option<Segment>,
    again_out: u64,
    /// A probe: QP, destination, value, id.
    probe: Option<(u8, u8, u8, u16)>,
    probes_out: u64,
    in_work: VecDeque<(Segment, Answers)>,
    /// The count of the clock before, and whether its frame still waits.
    before: u64,
    waits: bool,
    recorded: u64,
    built: u64,
    out: u64,
    settings: Inputs,
}

/// Any addresses, classes and lifetimes.
fn random_settings(rng: &mut Rng) -> Inputs {
    let stamps = rng.percent(50);
    let header = if stamps { 78 } else { 74 };
    Inputs {
        cfg_stamps: stamps,
        cfg_data_hdr: header,
        cfg_wire_overhead: header + 4,
        cfg_own_ip: rng.bits() as u32,
        cfg_own_mac: rng.bits() >> 16,
        cfg_hop_mac: rng.bits() >> 16,
        cfg_peer_ip: Wide(std::array::from_fn(|_| rng.bits())),
        cfg_dscp0: rng.below(64) as u8,
        cfg_dscp1: rng.below(64) as u8,
        cfg_dscp2: rng.below(64) as u8,
        cfg_distinct_rtx: rng.percent(50),
        cfg_ecn: rng.below(4) as u8,
        cfg_trimming: rng.percent(50),
        cfg_icrc: rng.percent(50),
        cfg_ttl: rng.bits() as u8,
        ..settings()
    }
}

impl Around {
    fn inputs(&mut self, ready: u64, rng: &mut Rng) -> Inputs {
        // After every eighth frame a pause, in which the settings may change.
        let busy = if self.out.is_multiple_of(8) { 3 } else { 75 };
        if self.waiting.is_none() && rng.percent(busy) {
            self.waiting = Some(segment(rng));
        }
        if self.again.is_none() && rng.percent(busy / 3) {
            self.again = Some(segment(rng));
        }
        if self.probe.is_none() && rng.percent(busy / 20) {
            let (dest, value) = (rng.below(64) as u8, rng.below(128) as u8);
            self.probe = Some((rng.bits() as u8, dest, value, rng.bits() as u16));
        }
        let (probe_qp, probe_dest, probe_value, probe_id) = self.probe.unwrap_or_default();
        let mut i = Inputs {
            probe_valid: self.probe.is_some(),
            probe_qp,
            probe_dest,
            probe_value,
            probe_id,
            again_valid: self.again.is_some(),
            again: self.again.unwrap_or_default(),
            hand_valid: self.waiting.is_some(),
            hand: self.waiting.unwrap_or_default(),
            query_ready: rng.percent(ready),
            data_ready: rng.percent(ready),
            build_ready: rng.percent(ready) && self.table.answer_in.is_none(),
            rec_ready: rng.percent(ready),
            frame_ready: rng.percent(ready),
            now: rng.bits() >> 16,
            query_rsp_tight: rng.percent(50),
            data_rsp_port: rng.bits() as u16,
            build_rsp_qpn: Qpn(rng.below(1 << 24) as u32),
            build_rsp_remote_valid: rng.percent(50),
            build_rsp_remote: Qpn(rng.below(1 << 24) as u32),
            ..self.settings
        };
        i.query_rsp_valid = self.window.answers();
        i.data_rsp_valid = self.path.answers();
        i.build_rsp_valid = self.table.answers();
        if let Some((_, answers)) = self.in_work.back_mut() {
            if i.query_rsp_valid {
                answers.tight = i.query_rsp_tight;
            }
            if i.data_rsp_valid {
                answers.port = i.data_rsp_port;
            }
            if i.build_rsp_valid {
                answers.remote = i.build_rsp_remote_valid.then_some(i.build_rsp_remote);
                answers.own = i.build_rsp_qpn;
            }
        }
        i
    }

    fn edge(&mut self, i: &Inputs, o: &Outputs, rng: &mut Rng) {
        if let Some((seg, answers)) = self.in_work.back() {
            // PKT-6: a packet that goes again has its record, and its PSN.
            let again = answers.rtx || answers.probe.is_some();
            assert!(!(again && (o.query_valid || o.rec_valid)));
            assert!(!(answers.probe.is_some() && o.data_valid), "PTH-2: the value is named");
            // SACK-5: what is being built for the first time.
            if o.building_valid {
                assert_eq!((again, o.building_qp, o.building_psn), (false, seg.qp, seg.psn));
            }
            if o.query_valid {
                assert_eq!(o.query_group, seg.group);
            }
            if o.data_valid {
                assert_eq!(o.data_dest, seg.dest);
            }
            if o.build_valid {
                assert_eq!((o.build_qp, o.build_psn), (seg.qp, seg.psn));
                assert_eq!((o.build_again, o.building_valid), (again, !again));
            }
            if o.rec_valid {
                assert_eq!(o.rec, *seg);
            }
        }
        self.window.took(o.query_valid, i.query_ready, 4, rng);
        self.path.took(o.data_valid, i.data_ready, 1, rng);
        self.table.took(o.build_valid, i.build_ready, 6, rng);
        self.recorded += u64::from(o.rec_valid && i.rec_ready);
        if o.frame_valid && !self.waits {
            self.in_work[0].1.made = self.before;
        }
        (self.before, self.waits) = (i.now, o.frame_valid && !i.frame_ready);
        if o.made_valid {
            self.built += 1;
            let (seg, answers) = self.in_work[0];
            assert_eq!((o.made_slot, o.made_port), (seg.slot, answers.port));
            assert_eq!((o.made_again, o.built_valid), (answers.rtx, !answers.rtx));
            self.recorded += u64::from(answers.rtx);
            self.again_out += u64::from(answers.rtx);
        }
        if o.built_valid {
            let (seg, answers) = self.in_work[0];
            let ack_req = seg.last || answers.tight;
            assert_eq!((o.built_qp, o.built_psn, o.built_ack_req), (seg.qp, seg.psn, ack_req));
        }
        if o.frame_valid {
            let (seg, answers) = self.in_work[0];
            let probe = answers.probe.is_some();
            if probe {
                check_probe(&o.frame, &seg, answers, i);
            } else {
                assert!(self.built > self.out && self.recorded > self.out, "recorded, then out");
                check(&o.frame, &seg, answers, i);
            }
            if i.frame_ready {
                self.in_work.pop_front();
                self.out += u64::from(!probe);
                self.probes_out += u64::from(probe);
            }
        }
        if i.probe_valid && o.probe_ready {
            assert!(!o.hand_ready && !o.again_ready, "one at a time");
            let (qp, dest, value, id) = self.probe.take().expect("offered");
            let answers = Answers { probe: Some((value, id)), ..Answers::default() };
            self.in_work.push_back((Segment { qp, dest, ..Segment::default() }, answers));
        }
        if i.again_valid && o.again_ready {
            assert!(!o.hand_ready, "one at a time");
            let answers = Answers { rtx: true, ..Answers::default() };
            self.in_work.push_back((self.again.take().expect("offered"), answers));
        }
        if i.hand_valid && o.hand_ready {
            self.in_work.push_back((self.waiting.take().expect("offered"), Answers::default()));
        }
    }
}

#[test]
fn pkt_1_random_segments_agree_with_etherparse() -> Result<(), Mismatch> {
    let reached = Reached::begin("packet_build");
    for seed in 1..=3 {
        let mut rng = Rng::new(u64::from(seed), "packet_build");
        let mut pair = pair(seed);
        let mut around = Around::default();
        let (mut built, mut again, mut probes) = (0, 0, 0);
        for clock in 0..24_000 {
            let ready = [100, 75, 25, 0][clock / 500 % 4];
            if around.in_work.is_empty() {
                // Settings stay while a packet is in work: its frame has those it was built with.
                around.settings = random_settings(&mut rng);
            }
            let i = around.inputs(ready, &mut rng);
            let out = pair.clock(&i)?;
            around.edge(&i, &out, &mut rng);
            if clock == 12_000 {
                pair.reset().expect("resets");
                built += around.out;
                again += around.again_out;
                probes += around.probes_out;
                around = Around::default();
            }
        }
        assert!(built + around.out > 1_000, "{built} frames");
        assert!(again + around.again_out > 200, "{again} again");
        assert!(probes + around.probes_out > 100, "{probes} probes");
    }
    reached.check();
    Ok(())
}

/// PTH-2, section 12: probes byte by byte, from rest, in the fifth clock.
#[test]
fn pth_2_a_probe() -> Result<(), Mismatch> {
    let mut pair = pair(6);
    for row in Table::read("packet_build/probe.txt") {
        let remote = (row.text("remote") != "-").then(|| row.hex("remote") as u32);
        let mut i = Inputs {
            probe_valid: true,
            probe_qp: row.hex("own") as u8,
            probe_dest: row.dec("dest") as u8,
            probe_value: row.dec("value") as u8,
            probe_id: row.hex("id") as u16,
            build_ready: true,
            build_rsp_qpn: Qpn(row.hex("own") as u32),
            build_rsp_remote_valid: remote.is_some(),
            build_rsp_remote: Qpn(remote.unwrap_or(0xff_ffff)),
            frame_ready: true,
            cfg_icrc: row.bit("icrc"),
            ..settings()
        };
        let taken = pair.clock(&i)?;
        assert!(taken.probe_ready && !taken.hand_ready && !taken.again_ready);
        i.probe_valid = false;
        let asks = pair.clock(&i)?;
        assert!(asks.build_valid && asks.build_again && !asks.building_valid);
        assert!(!(asks.query_valid || asks.data_valid || asks.rec_valid));
        i.build_rsp_valid = true;
        pair.clock(&i)?;
        i.build_rsp_valid = false;
        pair.clock(&i)?;
        let out = pair.clock(&i)?;
        assert!(out.frame_valid && !out.made_valid && !out.built_valid && !out.frame.data);
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |s, b| s + &format!("{b:02x}"));
        let bytes = header(&out.frame);
        row.expect("len", out.frame.len);
        row.expect("slot", out.frame.slot);
        row.expect("off", out.frame.off);
        row.expect("sport", u16::from_be_bytes([bytes[34], bytes[35]]));
        row.expect("dscp", bytes[15] >> 2);
        row.expect("bth", hex(&bytes[42..54]));
        row.expect("peth", hex(&bytes[54..70]));
        pair.clock(&i)?;
    }
    Ok(())
}

/// One segment through partners that answer at once; the frame as it comes out.
fn build(pair: &mut Lockstep<Regs>, seg: Segment, i: &Inputs) -> Result<Frame, Mismatch> {
    let mut i = Inputs {
        hand_valid: true,
        hand: seg,
        query_ready: true,
        data_ready: true,
        build_ready: true,
        build_rsp_qpn: OWN_QPN,
        rec_ready: true,
        frame_ready: true,
        ..*i
    };
    pair.clock(&i)?;
    i.hand_valid = false;
    pair.clock(&i)?;
    (i.query_rsp_valid, i.data_rsp_valid, i.build_rsp_valid) = (true, true, true);
    pair.clock(&i)?;
    (i.query_rsp_valid, i.data_rsp_valid, i.build_rsp_valid) = (false, false, false);
    pair.clock(&i)?;
    let out = pair.clock(&i)?;
    assert!(out.frame_valid, "two clocks after the last answer");
    Ok(out.frame)
}

/// The carries of an IPv4 checksum are added once; where that carries again, so is that.
#[test]
fn pkt_1_checksum_carries_twice() -> Result<(), Mismatch> {
    let mut pair = pair(4);
    let seg = Segment { dest: 5, len: 4_096, first: true, ..Segment::default() };
    let raw = |low: u32| 0x4512 + 0x103c + 0x4000 + 0x4011 + 0xfffe + low + 0x0a00 + 0x0105;
    let twice = |low: &u32| (raw(*low) & 0xffff) + (raw(*low) >> 16) > 0xffff;
    let borders: Vec<u32> = (0..0x1_0000).filter(twice).collect();
    assert!(!borders.is_empty());
    for low in borders {
        for low in [low.saturating_sub(1), low, (low + 1) & 0xffff] {
            let i = Inputs { cfg_own_ip: 0xfffe_0000 | low, ..settings() };
            check(
                &build(&mut pair, seg, &i)?,
                &seg,
                Answers { own: OWN_QPN, ..Answers::default() },
                &i,
            );
        }
    }
    Ok(())
}

/// In `uet` 28 zero bytes follow RETH.
#[test]
fn section_0_longer_header() -> Result<(), Mismatch> {
    let mut pair = pair(5);
    let seg = Segment { len: 4_096, ..Segment::default() };
    let i = Inputs { cfg_data_hdr: 102, cfg_wire_overhead: 106, ..settings() };
    let frame = build(&mut pair, seg, &i)?;
    assert_eq!((frame.hdr_len, frame.len), (102, 4_202));
    assert_eq!(header(&frame)[74..], [0; 30]);
    assert_eq!(header(&frame)[16..18], 4_184_u16.to_be_bytes());
    Ok(())
}
