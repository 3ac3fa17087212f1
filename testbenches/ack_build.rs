//! `ack_build`: model and RTL get the same answers and must agree on every clock; the frames are
//! those written by hand, and read by another parser they say what the answers say.

use std::collections::VecDeque;

use etherparse::{NetHeaders, PacketHeaders, PayloadSlice, TransportHeader};
use rtl_model::ack_build::{Inputs, Regs};
use rtl_model::types::{Answer, Frame, Nack, Psn, Qpn, Reply};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

/// `mrc.sack_wire`, `mrc.cum_ack_wire` and `mrc.nack_wire`.
const SACK_WIRE: u16 = 94;
const ACK_WIRE: u16 = 62;
const NACK_WIRE: u16 = 78;
/// Opcodes.
const SACK: u8 = 0xdc;
const ACK: u8 = 0xd1;
const NACK: u8 = 0xdd;
/// Room in the control pool around the three sizes.
const ROOM: [u32; 15] = [0, 61, 62, 63, 65, 66, 77, 78, 81, 82, 93, 94, 97, 98, 156];
/// The drawing PSN, from the cumulative one: the ends of 16 bits, and of 24.
const OFFSETS: [u32; 10] =
    [0, 1, 0xff_ffff, 0xff_fffe, 1024, 0x7fff, 0xff_8000, 0xff_7fff, 0x80_0000, 0x80_0001];

fn levels() -> Inputs {
    Inputs {
        cfg_own_ip: 0x0a00_0001,
        cfg_own_mac: 0x0200_0000_0001,
        cfg_hop_mac: 0x0200_0000_00fe,
        cfg_dscp3: 46,
        cfg_ecn: 2,
        cfg_ttl: 64,
        cfg_range: 1024,
        ..Inputs::default()
    }
}

/// An answer without a backlog.
fn quiet(answer: Answer) -> Reply {
    Reply { answer, ..Reply::default() }
}

fn header(frame: &Frame) -> Vec<u8> {
    let mut bytes = [0; 104];
    frame.hdr.to_bytes(&mut bytes);
    assert!(bytes[usize::from(frame.hdr_len)..].iter().all(|b| *b == 0), "zero past the end");
    bytes[..usize::from(frame.hdr_len)].to_vec()
}

/// ACK-1, SACK-2, MSN-8, BUF-3: bytes and clocks of both frames.
#[test]
fn msn_8_sack_then_ack() -> Result<(), Mismatch> {
    let mut pair =
        Lockstep::<Regs>::new("ack_build", &Sizes::DEFAULT, Start::Random(1)).expect("builds");
    let answer = Answer {
        dst_ip: 0x0a00_0002,
        dest: 1,
        sender_qpn: Qpn(0x0a_0b0c),
        own_qpn: Qpn(0x01_0203),
        cum: Psn(1),
        drew: Psn(0xff_ffff),
        sack_offset: 1,
        bitmap: 0x8000_0000_0000_0003,
        msn: 0x01_0203,
        ooo: 5,
        rcvd: 0x411,
        entropy: 0x145,
        ce: true,
        rtx: true,
        size: 4174,
        ..Answer::default()
    };
    for row in Table::read("ack_build/sack_then_ack.txt") {
        let out = pair.clock(&Inputs {
            answer_valid: row.bit("valid"),
            reply: quiet(Answer { sack: row.bit("sack"), ack: row.bit("ack"), ..answer }),
            ack_ready: row.bit("pready"),
            ack_rsp_valid: row.bit("rsp"),
            ack_rsp_port: row.hex("port") as u16,
            ctl_free: row.dec("free") as u32,
            frame_ready: row.bit("fready"),
            ..levels()
        })?;
        row.expect("aready", u8::from(out.answer_ready));
        row.expect("pvalid", u8::from(out.ack_valid));
        let bytes = out.cresv_bytes.to_string();
        row.expect("resv", if out.cresv_valid { &bytes } else { "." });
        row.expect("fvalid", u8::from(out.frame_valid));
        row.expect("len", out.frame.len);
        if row.text("hdr") != "-" {
            assert_eq!(header(&out.frame), row.bytes("hdr"), "row in line {}", row.line());
        }
    }
    Ok(())
}

/// NAK-1, PTH-2: bytes of the three NACKs and of a probe's answer.
#[test]
fn nacks_and_a_probes_answer() -> Result<(), Mismatch> {
    let mut pair =
        Lockstep::<Regs>::new("ack_build", &Sizes::DEFAULT, Start::Random(2)).expect("builds");
    for row in Table::read("ack_build/nacks_and_a_probes_answer.txt") {
        let nack = match row.text("code") {
            "01" => Nack::Trimmed,
            "02" => Nack::LastHop,
            "0b" => Nack::Range,
            _ => Nack::None,
        };
        let probe = nack == Nack::None;
        let answer = Answer {
            probe,
            nack,
            sack: probe,
            dst_ip: 0x0a00_0002,
            sender_qpn: Qpn(0x0a_0b0c),
            own_qpn: Qpn(0x01_0203),
            cum: Psn(0x00_0001),
            drew: Psn(row.hex("drew") as u32),
            sack_offset: 1,
            rcvd: 0x411,
            entropy: 0x145,
            rtx: row.bit("rtx"),
            ..Answer::default()
        };
        let mut i =
            Inputs { answer_valid: true, reply: quiet(answer), frame_ready: true, ..levels() };
        i.ctl_free = row.dec("free") as u32;
        pair.clock(&i)?;
        let out = pair.clock(&i)?;
        row.expect("len", if out.frame_valid { out.frame.len } else { 0 });
        if out.frame_valid {
            assert_eq!(header(&out.frame), row.bytes("hdr"), "row in line {}", row.line());
            pair.clock(&levels())?;
        }
    }
    Ok(())
}

/// A big-endian number in a run of bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// What a SACK, an ACK or a NACK says, read by etherparse down to UDP and by place below.
fn read(frame: &Frame, reply: &Reply, opcode: u8, port: u16, i: &Inputs) {
    let answer = &reply.answer;
    let mut bytes = header(frame);
    bytes.extend([0; 4]); // the FCS that the port adds
    let icrc = if i.cfg_icrc { 4 } else { 0 };
    bytes.extend(vec![0; icrc]); // and the ICRC
    assert_eq!(bytes.len(), usize::from(frame.len));
    let wire = match opcode {
        SACK => SACK_WIRE,
        ACK => ACK_WIRE + u16::from(i.cfg_ack_extra),
        _ => NACK_WIRE,
    };
    assert_eq!(frame.len, wire + icrc as u16);
    assert!(!frame.data, "no payload follows");

    let packet = PacketHeaders::from_ethernet_slice(&bytes).expect("a packet");
    let link = packet.link.expect("a link").ethernet2().expect("Ethernet");
    assert_eq!(number(&link.destination), i.cfg_hop_mac);
    assert_eq!(number(&link.source), i.cfg_own_mac);
    let Some(NetHeaders::Ipv4(ip, _)) = packet.net else { panic!("IPv4") };
    assert_eq!(ip.header_checksum, ip.calc_header_checksum());
    assert_eq!(ip.total_len, frame.len - 18);
    assert_eq!(
        (ip.source, ip.destination),
        (i.cfg_own_ip.to_be_bytes(), answer.dst_ip.to_be_bytes())
    );
    assert_eq!((ip.dscp.value(), ip.ecn.value()), (i.cfg_dscp3, i.cfg_ecn));
    assert_eq!((ip.time_to_live, ip.identification), (i.cfg_ttl, 0));
    assert!(ip.dont_fragment && !ip.more_fragments);
    let Some(TransportHeader::Udp(udp)) = packet.transport else { panic!("UDP") };
    assert_eq!((udp.destination_port, udp.checksum), (4791, 0));
    assert_eq!(udp.source_port, if opcode == ACK { port } else { answer.entropy });
    assert_eq!(udp.length, frame.len - 38);

    let PayloadSlice::Udp(body) = packet.payload else { panic!("a payload") };
    assert_eq!(body[0], opcode);
    assert_eq!(number(&body[1..5]), 0x00ff_ff00);
    assert_eq!(number(&body[5..8]), u64::from(answer.sender_qpn.0));
    let ts = u8::from(opcode != ACK && answer.stamped) << 4;
    assert_eq!(body[8], u8::from(opcode != ACK && answer.rtx) << 5 | ts);
    let psn = if opcode == NACK { answer.drew } else { answer.cum };
    assert_eq!(number(&body[9..12]), u64::from(psn.0));
    match opcode {
        SACK => read_sack(&body[12..], reply, i),
        ACK => {
            assert_eq!(number(&body[12..16]), 0x1f00_0000 | u64::from(answer.msn));
            let zeros = vec![0; usize::from(i.cfg_ack_extra) + icrc];
            assert_eq!(body[16..], zeros, "section 0: zeros in uet");
        }
        _ => read_nack(&body[12..], answer),
    }
}

/// The QP numbers of SETH and NETH.
fn numbers(header: &[u8], answer: &Answer) {
    let receiver = number(&header[8..10]) | u64::from(header[12]) << 16;
    assert_eq!(receiver, u64::from(answer.own_qpn.0));
    assert_eq!(number(&header[10..12]), u64::from(answer.sender_qpn.0 & 0xffff));
    assert_eq!(number(&header[4..8]), u64::from(answer.entropy));
}

/// NAK-1, RTT-1.
fn read_nack(neth: &[u8], answer: &Answer) {
    let code = match answer.nack {
        Nack::Trimmed => 1,
        Nack::LastHop => 2,
        _ => 0x0b,
    };
    assert_eq!(neth[..4], [0x20, 0, code, 0]);
    numbers(neth, answer);
    assert_eq!(number(&neth[13..16]), u64::from(answer.drew.0));
    // RTT-1.
    let echo = if answer.stamped { answer.stamp } else { 0 };
    let [high, low] = echo.to_be_bytes();
    assert_eq!(neth[16..20], [0x20, 0, high, low]);
}

/// SACK-2, PTH-2, BUF-6, RTT-2.
fn read_sack(body: &[u8], reply: &Reply, i: &Inputs) {
    let answer = &reply.answer;
    let seth = &body[..28];
    let offset = i16::from_be_bytes([seth[2], seth[3]]);
    let drew = i64::from(answer.cum.0) + i64::from(offset);
    let far = (i64::from(answer.drew.0) - drew).rem_euclid(1 << 24);
    if answer.probe {
        assert_eq!(number(&seth[2..4]), u64::from(answer.drew.0 & 0xffff), "the probe's id");
    } else {
        assert!(far == 0 || offset == i16::MIN, "the drawing PSN, or the lowest offset");
    }
    assert_eq!(seth[..2], [0x10, u8::from(answer.ce) << 5 | u8::from(answer.probe) << 1]);
    numbers(seth, answer);
    assert_eq!(number(&seth[13..16]), u64::from(answer.cum.0));
    assert_eq!(seth[16..18], [0x10, (i.cfg_range / 128) as u8]);
    assert_eq!(number(&seth[18..20]), u64::from(answer.sack_offset));
    assert_eq!(number(&seth[20..]), answer.bitmap);
    let cc = &body[28..36];
    // RTT-1.
    let echo = if answer.stamped { u64::from(answer.stamp) } else { 0 };
    let service = (u64::from(reply.service) + echo) % 65_536;
    assert_eq!((number(&cc[..2]), cc[4]), (service, reply.penalty));
    assert_eq!(number(&cc[2..4]), u64::from(answer.ooo));
    assert_eq!(number(&cc[5..]), u64::from(answer.rcvd));
}

fn answer(rng: &mut Rng) -> Answer {
    let (any, more) = (rng.bits(), rng.bits());
    let cum = Psn::new(rng.pick(&[any as u32, 0, 0xff_ffff]));
    let refused = rng.percent(20);
    let nacks = [Nack::Trimmed, Nack::LastHop, Nack::Range];
    let sack = !refused && rng.percent(75);
    Answer {
        probe: sack && rng.percent(10),
        nack: if refused { rng.pick(&nacks) } else { Nack::None },
        sack,
        ack: !refused && rng.percent(if sack { 50 } else { 95 }),
        dst_ip: (any >> 24) as u32,
        dest: (more & 63) as u8,
        sender_qpn: Qpn::new(any as u16, more as u8),
        own_qpn: Qpn::new((more >> 8) as u16, (any >> 56) as u8),
        cum,
        drew: cum.plus(rng.pick(&OFFSETS)),
        sack_offset: (more >> 16) as u16,
        bitmap: rng.pick(&[0, 1, 1 << 63, any]),
        msn: (more >> 40) as u32,
        ooo: (more >> 3) as u16 & 0x7fff,
        rcvd: (any >> 5) as u32 & 0xff_ffff,
        entropy: (more >> 20) as u16,
        ce: rng.percent(50),
        rtx: rng.percent(50),
        stamped: rng.percent(50),
        stamp: rng.bits() as u16,
        size: (more & 0x3fff) as u16,
    }
}

/// ACK-1, SACK-1, SACK-2, NAK-1, PTH-2, BUF-3: every answer draws its frames, the SACK first; none without room.
#[test]
fn random_traffic_agrees() -> Result<(), Mismatch> {
    let reached = Reached::begin("ack_build");
    for (seed, sizes) in [(21, Sizes::SMALL), (22, Sizes::DEFAULT), (23, Sizes::DEFAULT)] {
        let mut rng = Rng::new(seed, "ack_build");
        let mut pair =
            Lockstep::<Regs>::new("ack_build", &sizes, Start::Random(seed as u32)).expect("builds");
        let mut i = levels();
        // A pool of 256 B: what is reserved, and by which frames.
        let (pool, mut reserved) = (256, VecDeque::new());
        let mut due = VecDeque::new(); // frames that the answers taken up draw
        let (mut rsp_due, mut ports) = (None, VecDeque::new());
        let (mut ready, mut taken) = (75, 0);
        for clock in 0..60_000_u32 {
            if clock == 30_000 {
                pair.reset().expect("a reset");
                i = levels();
                reserved.clear();
                due.clear();
                ports.clear();
                rsp_due = None;
            }
            if clock % 512 == 0 {
                ready = rng.pick(&[0, 25, 75, 100]);
            }
            // A frame waiting keeps the settings it was built with.
            if !i.answer_valid && due.is_empty() && rng.percent(10) {
                i.cfg_range = rng.pick(&[0, 1, 127, 128, 1023, 1024, 2047]);
                i.cfg_own_ip = rng.bits() as u32;
                i.cfg_own_mac = rng.bits() >> 16;
                i.cfg_hop_mac = rng.bits() >> 16;
                i.cfg_dscp3 = rng.below(64) as u8;
                i.cfg_ecn = rng.below(4) as u8;
                i.cfg_ttl = rng.bits() as u8;
                i.cfg_ack_extra = rng.pick(&[0, 16]);
                i.cfg_icrc = rng.percent(50);
            }
            if !i.answer_valid && rng.percent(75) {
                i.answer_valid = true;
                i.reply = quiet(answer(&mut rng));
                i.reply.service = rng.bits() as u16;
                i.reply.penalty = rng.below(128) as u8;
                due.extend((i.reply.answer.nack != Nack::None).then_some((i.reply, NACK)));
                due.extend(i.reply.answer.sack.then_some((i.reply, SACK)));
                due.extend(i.reply.answer.ack.then_some((i.reply, ACK)));
            }
            if rng.percent(ready) {
                reserved.pop_front();
            }
            let occupied: u32 = reserved.iter().sum();
            i.ctl_free = pool - occupied;
            if rng.percent(30) {
                i.ctl_free = i.ctl_free.min(rng.pick(&ROOM));
            }
            i.ack_ready = rng.percent(ready);
            i.ack_rsp_valid = rsp_due.is_some();
            i.ack_rsp_port = rsp_due.take().unwrap_or(rng.bits() as u16);
            i.frame_ready = rng.percent(ready);
            let o = pair.clock(&i)?;
            if o.ack_valid && i.ack_ready {
                assert_eq!(o.ack_dest, i.reply.answer.dest);
                let port = rng.bits() as u16;
                rsp_due = Some(port);
                ports.push_back(port);
            }
            if o.cresv_valid {
                reserved.push_back(u32::from(o.cresv_bytes));
                assert!(reserved.iter().sum::<u32>() <= pool, "no reservation without room");
            }
            if o.frame_valid && i.frame_ready {
                let (reply, opcode) = due.pop_front().expect("an answer draws it");
                let port = if opcode == ACK { ports.pop_front() } else { Some(0) };
                read(&o.frame, &reply, opcode, port.expect("a port was drawn"), &i);
            }
            if o.answer_ready {
                i.answer_valid = false;
                taken += 1;
                assert!(due.len() <= 1, "all its frames are built, one may wait");
            }
        }
        assert!(taken > 3000, "{taken} answers in 60,000 clocks");
    }
    reached.check();
    Ok(())
}
