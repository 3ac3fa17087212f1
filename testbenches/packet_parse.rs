//! `packet_parse`: model and RTL against each other, and both against etherparse.

use std::collections::BTreeSet;

use etherparse::checksum::Sum16BitWords;
use etherparse::{
    EtherType, Ethernet2Header, Ethernet2HeaderSlice, IpDscp, IpEcn, IpNumber, Ipv4Header,
    Ipv4HeaderSlice, UdpHeader, UdpHeaderSlice,
};
use rtl_model::image::Wide;
use rtl_model::packet_parse::{Inputs, Outputs, Regs};
use rtl_model::types::{Drop, Kind, Parsed, Psn, Qpn};
use testbenches::{Lockstep, Mismatch, Reached, Rng, Sizes, Start, Table};

const OWN_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OWN_IP: [u8; 4] = [10, 0, 0, 1];
const PEER_IP: [u8; 4] = [10, 0, 0, 2];
const PFC_MAC: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];

/// Payload bytes around the borders of a data packet.
const PAYLOADS: [u16; 8] = [0, 1, 63, 64, 4_096, 8_191, 8_192, 8_193];
/// Codepoints by role; 12 and 16 are the trimmed ones.
const DSCPS: [u8; 7] = [0, 4, 8, 46, 12, 16, 12];
/// Opcode, bytes after BTH, for every kind that is not data.
const CONTROL: [(u8, u16); 4] = [(0xd1, 4), (0xdc, 36), (0xdd, 20), (0xde, 16)];
/// Section 0: what the two profiles set.
const PROFILES: [Profile; 2] = [
    Profile { data_hdr: 74, charge_less: 0, ack_extra: 0 },
    Profile { data_hdr: 102, charge_less: 18, ack_extra: 16 },
];
const WRITES: [u8; 4] = [0xc6, 0xc7, 0xc8, 0xca];

#[derive(Clone, Copy)]
struct Profile {
    data_hdr: u8,
    charge_less: u8,
    ack_extra: u8,
}

fn pair(seed: u32) -> Lockstep<Regs> {
    Lockstep::new("packet_parse", &Sizes::DEFAULT, Start::Random(seed)).expect("builds")
}

fn settings() -> Inputs {
    Inputs {
        cfg_own_ip: u32::from_be_bytes(OWN_IP),
        cfg_own_mac: 0x0200_0000_0001,
        cfg_dscp4: 12,
        cfg_dscp5: 16,
        cfg_data_hdr: 74,
        ..Inputs::default()
    }
}

/// One frame as `port_rx` hands it over. `bytes` are its first ones.
fn input(bytes: &[u8], len: u16, fcs_ok: bool) -> Inputs {
    let cut = bytes.len().min(104).min(usize::from(len));
    Inputs {
        frame_valid: true,
        frame_hdr: Wide::from_bytes(&bytes[..cut]),
        frame_len: len,
        frame_fcs_ok: fcs_ok,
        frame_icrc_ok: true,
        frame_words: len.saturating_sub(78).div_ceil(64).min(128) as u8,
        // Any number that a frame's bytes do not have.
        frame_at: 0xa5a5_0000_0000
            | u64::from(len) << 8
            | u64::from(bytes[0] ^ bytes[bytes.len() - 1]),
        ..settings()
    }
}

/// The first 104 bytes of a frame of `len` bytes, Ethernet to UDP by etherparse.
fn frame(opcode: u8, dscp: u8, ecn: u8, len: u16, rng: &mut Rng) -> Vec<u8> {
    let datagram = len - 18;
    let mut bytes = Vec::new();
    let eth = Ethernet2Header {
        source: [2, 0, 0, 0, 0, 9],
        destination: OWN_MAC,
        ether_type: EtherType::IPV4,
    };
    let mut ip = Ipv4Header::new(datagram - 20, 64, IpNumber::UDP, PEER_IP, OWN_IP).expect("fits");
    ip.dscp = IpDscp::try_new(dscp).expect("6 bits");
    ip.ecn = IpEcn::try_new(ecn).expect("2 bits");
    ip.header_checksum = ip.calc_header_checksum();
    let udp = UdpHeader {
        source_port: rng.bits() as u16,
        destination_port: 4791,
        length: datagram - 20,
        checksum: 0,
    };
    bytes.extend_from_slice(&eth.to_bytes());
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&udp.to_bytes());
    // BTH, what follows it, and the start of the payload: any bytes are good ones.
    let at = bytes.len();
    bytes.resize(104, 0);
    rng.fill(&mut bytes[at..]);
    bytes[at] = opcode;
    // But for the ts flag, which says how what follows lies.
    bytes[at + 8] &= !0x10;
    bytes
}

/// Makes the IPv4 checksum right again.
fn fix_sum(bytes: &mut [u8]) {
    bytes[24..26].fill(0);
    let sum = Sum16BitWords::new().add_slice(&bytes[14..34]).ones_complement().to_be();
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
}

#[derive(Debug, PartialEq)]
enum Outcome {
    None,
    Pfc,
    Drop(Drop),
    Pass(Box<Parsed>),
}

/// PKT-4: data and probes have class 0, all else class 1.
fn outcome(out: &Outputs) -> Outcome {
    if out.out_valid && out.out_drop == Drop::None {
        let control = !matches!(out.out.kind, Kind::Data | Kind::Probe);
        assert_eq!(out.out_cls, u8::from(control), "PKT-4: {:?}", out.out.kind);
    }
    match (out.pfc_valid, out.out_valid, out.out_drop) {
        (true, _, _) => Outcome::Pfc,
        (_, false, _) => Outcome::None,
        (_, true, Drop::None) => Outcome::Pass(Box::new(out.out)),
        (_, true, why) => Outcome::Drop(why),
    }
}

/// RX-1 once more, on etherparse's view of the frame.
fn oracle(i: &Inputs) -> Outcome {
    if !i.frame_valid {
        return Outcome::None;
    }
    let mut b = [0; 104];
    i.frame_hdr.to_bytes(&mut b);
    judge(&b, i).map_or_else(Outcome::Drop, |p| p.map_or(Outcome::Pfc, |p| Outcome::Pass(p.into())))
}

fn judge(b: &[u8; 104], i: &Inputs) -> Result<Option<Parsed>, Drop> {
    let check = |ok: bool, why: Drop| if ok { Ok(()) } else { Err(why) };
    check(i.frame_len >= 58, Drop::Short)?;
    check(i.frame_fcs_ok, Drop::Fcs)?;
    let eth = Ethernet2HeaderSlice::from_slice(b).expect("104 bytes");
    if eth.ether_type() == EtherType(0x8808) {
        check(eth.destination() == PFC_MAC, Drop::Mac)?;
        check(b[14..16] == [1, 1], Drop::Opcode)?;
        check(i.frame_len == 64, Drop::Length)?;
        return Ok(None);
    }
    check(eth.ether_type() == EtherType::IPV4, Drop::EtherType)?;
    check(eth.destination() == OWN_MAC, Drop::Mac)?;
    let ip = Ipv4HeaderSlice::from_slice(&b[14..]).map_err(|_| Drop::IpHeader)?;
    let plain = ip.ihl() == 5 && !ip.is_fragmenting_payload() && ip.protocol() == IpNumber::UDP;
    check(plain, Drop::IpHeader)?;
    let sum = Sum16BitWords::new().add_slice(ip.slice()).ones_complement();
    check(sum == 0, Drop::IpSum)?;
    check(ip.destination() == OWN_IP, Drop::IpAddr)?;
    let udp = UdpHeaderSlice::from_slice(&b[34..]).expect("enough bytes");
    check(udp.destination_port() == 4791, Drop::Port)?;
    let write = WRITES.contains(&b[42]);
    let control = CONTROL.iter().position(|(opcode, _)| *opcode == b[42]);
    check(write || control.is_some(), Drop::Opcode)?;
    let trimmed = write && [12, 16].contains(&ip.dcp().value());
    let kind = match control {
        Some(n) => [Kind::Ack, Kind::Sack, Kind::Nack, Kind::Probe][n],
        None if trimmed => Kind::Trimmed,
        None => Kind::Data,
    };
    let header = u16::from(i.cfg_data_hdr) - 54; // METH, RETH and the profile's zeros
    let zeros = if kind == Kind::Ack { u16::from(i.cfg_ack_extra) } else { 0 };
    let icrc = if i.cfg_icrc && kind != Kind::Trimmed { 4 } else { 0 };
    check(i.frame_len >= 58 + icrc, Drop::Length)?;
    let extra = i.frame_len - 58 - icrc;
    let ts = b[50] >> 4 & 1 == 1;
    let right = match (kind, control) {
        (_, Some(n)) => extra == CONTROL[n].1 + zeros,
        (Kind::Trimmed, _) => extra == 4,
        _ if ts != i.cfg_stamps => false,
        _ => (header..=header + 8_192).contains(&extra),
    };
    let agree = ip.total_len() == i.frame_len - 18 && udp.length() == ip.total_len() - 20;
    check(right && agree, Drop::Length)?;
    check(i.frame_icrc_ok || kind == Kind::Trimmed, Drop::Icrc)?;
    let be = |at: usize, n: usize| b[at..at + n].iter().fold(0, |v, x| v << 8 | u64::from(*x));
    let data = kind == Kind::Data;
    let reth = if ts { 62 } else { 58 };
    let ctrl = control.map_or(0, |n| usize::from(CONTROL[n].1).min(28));
    let mut cc = [0; 8];
    cc.copy_from_slice(if kind == Kind::Sack { &b[82..90] } else { &[0; 8] });
    Ok(Some(Parsed {
        kind,
        first: matches!(b[42], 0xc6 | 0xca),
        last: matches!(b[42], 0xc8 | 0xca),
        src_ip: u32::from_be_bytes(ip.source()),
        sport: udp.source_port(),
        ce: ip.ecn().value() == 3,
        qpn: Qpn(be(47, 3) as u32),
        psn: Psn(be(51, 3) as u32),
        ack_req: b[50] >> 7 & 1 == 1,
        by_sender: b[50] >> 6 & 1 == 1,
        rtx: b[50] >> 5 & 1 == 1,
        msn: if write { be(56, 2) as u16 } else { 0 },
        raddr: if data { be(reth, 8) } else { 0 },
        rkey: if data { be(reth + 8, 4) as u32 } else { 0 },
        msg_len: if data { be(reth + 12, 4) as u32 } else { 0 },
        stamped: ts && kind != Kind::Trimmed,
        stamp: match kind {
            Kind::Data if ts => be(58, 2) as u16,
            Kind::Probe => be(66, 2) as u16,
            _ => 0,
        },
        len: if data { extra - header } else { 0 },
        charge: i.frame_len - u16::from(i.cfg_charge_less),
        word: 0,
        ctrl: Wide::from_bytes(&b[54..54 + ctrl]),
        cc: u64::from_le_bytes(cc),
        last_hop: trimmed && ip.dcp().value() == 16,
        at: i.frame_at,
    }))
}

/// One frame, and what comes of it a clock later.
fn one(pair: &mut Lockstep<Regs>, i: &Inputs) -> Result<Outcome, Mismatch> {
    pair.clock(i)?;
    Ok(outcome(&pair.clock(&settings())?))
}

/// The frame that `first_failed_check.txt` patches.
fn sound() -> Vec<u8> {
    let mut bytes = frame(0xca, 4, 2, 4_174, &mut Rng::new(1, "sound"));
    assert_eq!(bytes[24..26], [0x16, 0x9d], "the checksum summed by hand");
    bytes[42..54].copy_from_slice(&[0xca, 0, 0xff, 0xff, 0, 0, 1, 2, 0x80, 0, 0, 7]);
    bytes
}

fn patched(patch: &str) -> Vec<u8> {
    let mut bytes = sound();
    for part in patch.split(',').filter(|p| *p != ".") {
        let (at, new) = part.split_once(':').expect("offset:bytes");
        let at: usize = at.parse().expect("an offset");
        for (n, pair) in new.as_bytes().chunks(2).enumerate() {
            let pair = std::str::from_utf8(pair).expect("digits");
            bytes[at + n] = u8::from_str_radix(pair, 16).expect("a byte");
        }
    }
    bytes
}

#[test]
fn rx_1_first_failed_check() -> Result<(), Mismatch> {
    let mut pair = pair(1);
    for row in Table::read("packet_parse/first_failed_check.txt") {
        let frame = input(&patched(row.text("patch")), row.dec("len") as u16, row.bit("fcs"));
        let out = pair.clock(&Inputs { frame_valid: row.bit("valid"), ..frame })?;
        row.expect("out_valid", u8::from(out.out_valid));
        row.expect("out_drop", format!("{:?}", out.out_drop));
        row.expect("kind", format!("{:?}", out.out.kind));
        row.expect("first", u8::from(out.out.first));
        row.expect("last", u8::from(out.out.last));
        row.expect("bytes", out.out.len);
        row.expect("charge", out.out.charge);
        row.expect("pfc_valid", u8::from(out.pfc_valid));
    }
    Ok(())
}

#[test]
fn buf_4_pfc_is_ours() -> Result<(), Mismatch> {
    let mut pair = pair(2);
    for row in Table::read("packet_parse/pfc_is_ours.txt") {
        let len = row.dec("len") as u16;
        let i = Inputs { frame_valid: len > 0, ..input(&row.bytes("bytes"), len, true) };
        let out = pair.clock(&i)?;
        row.expect("out_valid", u8::from(out.out_valid));
        row.expect("out_drop", format!("{:?}", out.out_drop));
        row.expect("pfc_valid", u8::from(out.pfc_valid));
    }
    Ok(())
}

/// What one wrong bit at a byte comes to where the IPv4 checksum is left as it was (RX-1).
fn reason_of(at: usize, bit: u8) -> Option<Drop> {
    match at {
        0..6 => Some(Drop::Mac),
        12..14 => Some(Drop::EtherType),
        14 | 21 | 23 => Some(Drop::IpHeader),
        20 if bit < 6 => Some(Drop::IpHeader),
        15..34 => Some(Drop::IpSum),
        36..38 => Some(Drop::Port),
        38..40 => Some(Drop::Length),
        42 if bit != 1 => Some(Drop::Opcode), // 0xca becomes 0xc8, last
        50 if bit == 4 => Some(Drop::Length), // a TSETH, and nobody has one
        _ => None,
    }
}

#[test]
fn rx_1_every_bit_of_the_header_has_its_reason() -> Result<(), Mismatch> {
    let mut pair = pair(3);
    let sound = sound();
    for at in 0..104 {
        for bit in 0..8 {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << bit;
            let i = input(&bytes, 4_174, true);
            let got = one(&mut pair, &i)?;
            assert_eq!(got, oracle(&i), "byte {at}, bit {bit}");
            match reason_of(at, bit) {
                Some(why) => assert_eq!(got, Outcome::Drop(why), "byte {at}, bit {bit}"),
                None => assert!(matches!(got, Outcome::Pass(_)), "byte {at}, bit {bit}: {got:?}"),
            }
            // The same with the FCS wrong, as such a bit has it on a real wire.
            let got = one(&mut pair, &Inputs { frame_fcs_ok: false, ..i })?;
            assert_eq!(got, Outcome::Drop(Drop::Fcs));
            // The same with the checksum made right: what it covers has its own reason.
            if (14..34).contains(&at) && !(24..26).contains(&at) {
                fix_sum(&mut bytes);
                let i = input(&bytes, 4_174, true);
                let got = one(&mut pair, &i)?;
                assert_eq!(got, oracle(&i), "byte {at}, bit {bit}, sum right");
                match at {
                    16..18 => assert_eq!(got, Outcome::Drop(Drop::Length)),
                    30..34 => assert_eq!(got, Outcome::Drop(Drop::IpAddr)),
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

#[test]
fn rx_1_garbage_of_every_length() -> Result<(), Mismatch> {
    let mut rng = Rng::new(0x5eed, "garbage");
    let mut pair = pair(4);
    for len in (0..=200).chain([8_269, 8_270, 8_271, 16_383]) {
        for round in 0..6 {
            let mut bytes = frame(rng.pick(&WRITES), rng.pick(&DSCPS), 0, len.max(58), &mut rng);
            if round < 3 {
                // All garbage, or from one of the headers on.
                let from = [0, 14, 34][round];
                rng.fill(&mut bytes[from..]);
            } else if round > 3 {
                let n = rng.below(4) as usize;
                bytes[42] = CONTROL[n].0;
            }
            let i = input(&bytes, len, rng.percent(90));
            assert_eq!(one(&mut pair, &i)?, oracle(&i), "length {len}, round {round}");
        }
    }
    Ok(())
}

/// A frame of any kind at its borders, with at most a few faults.
fn any(rng: &mut Rng) -> Inputs {
    let control = rng.percent(40);
    let profile = rng.pick(&PROFILES);
    let stamps = rng.percent(50);
    let data_hdr = profile.data_hdr + if stamps { 4 } else { 0 };
    let (opcode, len) = if control {
        let (opcode, extra) = rng.pick(&CONTROL);
        let zeros = if opcode == CONTROL[0].0 { u16::from(profile.ack_extra) } else { 0 };
        (opcode, 58 + extra + zeros)
    } else {
        (rng.pick(&WRITES), u16::from(data_hdr) + 4 + rng.pick(&PAYLOADS))
    };
    let dscp = rng.pick(&DSCPS);
    let trimmed = !control && rng.percent(80) && [12, 16].contains(&dscp);
    let icrc = rng.percent(50);
    let len = if trimmed { 62 } else { len + if icrc { 4 } else { 0 } };
    let len = if rng.percent(20) { len + rng.below(3) as u16 - 1 } else { len };
    let mut bytes = frame(opcode, dscp, rng.below(4) as u8, len, rng);
    if stamps ^ rng.percent(10) {
        bytes[50] |= 0x10;
    }
    if rng.percent(10) {
        rng.fill(&mut bytes[26..30]); // from whatever address
        fix_sum(&mut bytes);
    }
    let pfc = rng.percent(8);
    if pfc {
        rng.fill(&mut bytes[16..58]);
        bytes[..6].copy_from_slice(&PFC_MAC);
        bytes[12..16].copy_from_slice(&[0x88, 0x08, 1, 1]);
    }
    let len = if pfc && rng.percent(80) { 64 } else { len };
    if rng.percent(25) {
        let at = rng.below(104) as usize;
        bytes[at] ^= 1 << rng.below(8);
        if rng.percent(50) {
            fix_sum(&mut bytes);
        }
    }
    let len = if rng.percent(10) { rng.pick(&[0, 57, 58, 61, 62, 63, 64, len + 1]) } else { len };
    let mut i = input(&bytes, len, rng.percent(95));
    i.cfg_data_hdr = data_hdr;
    i.cfg_stamps = stamps;
    i.cfg_charge_less = profile.charge_less;
    i.cfg_ack_extra = profile.ack_extra;
    i.cfg_icrc = icrc;
    i.frame_icrc_ok = !icrc || rng.percent(90);
    i.frame_at = rng.bits() >> 16;
    i
}

#[test]
fn random_traffic_agrees_with_the_oracle() -> Result<(), Mismatch> {
    let reached = Reached::begin("packet_parse");
    let mut seen = BTreeSet::new();
    for seed in 1..=3 {
        let mut rng = Rng::new(u64::from(seed), "packet_parse");
        let mut pair = pair(seed);
        let mut last = Outcome::None;
        let mut words = 0;
        for clock in 0..30_000 {
            let i = if rng.percent(75) { any(&mut rng) } else { settings() };
            let out = pair.clock(&i)?;
            assert_eq!(outcome(&out), last, "clock {clock}");
            if out.out_valid {
                assert_eq!(out.out_words, words, "clock {clock}");
            }
            last = oracle(&i);
            seen.insert(match &last {
                Outcome::Pass(parsed) => format!("{:?}", parsed.kind),
                other => format!("{other:?}"),
            });
            words = i.frame_words;
            if clock == 10_000 {
                pair.reset().expect("resets");
                last = Outcome::None;
            }
        }
    }
    assert_eq!(seen.len(), 6 + 11 + 2, "every kind, every reason, PFC and nothing: {seen:?}");
    reached.check();
    Ok(())
}
