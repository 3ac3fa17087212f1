//! Every frame of a run as another parser reads it.

use std::fs::File;
use std::path::Path;

use cosim::run::{Mode, Outcome};
use cosim::settings::Settings;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::common::{agrees, fixture, message, run_into, scenario, settings};

/// Frames of a capture, with the interface they left by.
fn frames(path: &Path) -> Vec<(u32, Vec<u8>)> {
    let mut reader = PcapNgReader::new(File::open(path).expect("a capture")).expect("is pcapng");
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a block") {
            assert_eq!(packet.original_len as usize, packet.data.len(), "nothing is cut");
            frames.push((packet.interface_id, packet.data.into_owned()));
        }
    }
    frames
}

/// PKT-1, PKT-2 and section 12 for one frame.
fn check(settings: &Settings, from: usize, frame: &[u8]) {
    let (body, fcs) = frame.split_at(frame.len() - 4);
    assert_eq!(crc32fast::hash(body).to_le_bytes(), fcs, "FCS");
    if settings.nics[from].icrc {
        let (datagram, icrc) = body[14..].split_at(body.len() - 14 - 4);
        assert_eq!(icrc_of(datagram), icrc, "ICRC");
    }
    let packet = SlicedPacket::from_ethernet(body).expect("parses");
    let Some(NetSlice::Ipv4(ip)) = &packet.net else { panic!("no IPv4: {packet:?}") };
    let header = ip.header().to_header();
    assert_eq!(header.header_checksum, header.calc_header_checksum(), "IPv4 checksum");
    assert_eq!(usize::from(header.total_len), body.len() - 14, "IPv4 length");
    assert_eq!((header.header_len(), header.identification, header.time_to_live), (20, 0, 64));
    assert!(header.dont_fragment && !header.more_fragments && header.fragment_offset.value() == 0);
    let (own, peer) = (&settings.nics[from], &settings.nics[1 - from]);
    assert_eq!((header.source, header.destination), (own.address.octets(), peer.address.octets()));
    let Some(TransportSlice::Udp(udp)) = &packet.transport else { panic!("no UDP: {packet:?}") };
    assert_eq!(udp.destination_port(), 4791);
    assert!((256..384).contains(&udp.source_port()), "entropy {}", udp.source_port());
    assert_eq!(usize::from(udp.length()), body.len() - 34, "UDP length");
    assert_eq!(udp.checksum(), 0);
    // Codepoints of the roles: trimmable data, control; ECT(0).
    let data = [0xc6, 0xc7, 0xc8, 0xca].contains(&body[42]);
    assert_eq!((header.dscp.value(), header.ecn.value()), (if data { 4 } else { 46 }, 2));
}

/// ICRC by its definition: 8 bytes of ones, then the datagram with what routers change as ones.
fn icrc_of(datagram: &[u8]) -> [u8; 4] {
    let mut bytes = [&[0xff; 8], datagram].concat();
    for at in [1, 8, 10, 11, 26, 27, 32] {
        bytes[8 + at] = 0xff;
    }
    crc32fast::hash(&bytes).to_le_bytes()
}

fn every_frame(settings: &Settings) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let (run, recorder) = run_into(settings, Mode::ModelOnly, Some(folder.path()));
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
    recorder.finish(&run.world, &()).expect("written");
    let frames = frames(&folder.path().join("frames.pcapng"));
    for (from, frame) in &frames {
        check(settings, *from as usize, frame);
    }
    frames.len()
}

/// `etherparse` and `crc32fast` read every frame of `first_write`: 262 data, 261 SACKs, 5 ACKs each
/// way.
#[test]
fn pkt_1_frames_of_first_write_parse() {
    assert_eq!(every_frame(&fixture("first_write.toml")), 2 * (261 + 261 + 5));
}

/// Payloads of every length of a word and a beat, with a FCS on each place in them.
#[test]
fn pkt_1_frames_of_every_length_parse() {
    let sizes: Vec<_> = (0..=260).map(|n| message(&format!("{n}B"), "")).collect();
    let head = "limit = \"200us\"\n[defaults]\nCloseDelay = \"1us\"";
    let text = scenario(head, &sizes[..200].concat());
    let rest = scenario(head, &sizes[200..].concat());
    let all = [text, rest].iter().map(|text| every_frame(&settings(text))).sum::<usize>();
    assert_eq!(all, 261 * 3);
}

/// PKT-1: with `ICRCEnable` each frame has a right ICRC, 4 B that count: on the wire, in the egress
/// pools and in what is charged. Both twins agree, and payloads come whole.
#[test]
fn pkt_1_icrc_is_right_and_counted() {
    let sizes: Vec<_> = (40..=60).map(|n| message(&format!("{n}B"), "")).collect();
    let head = |icrc| format!("limit = \"200us\"\n[defaults]\nICRCEnable = {icrc}");
    let text = |icrc| scenario(&head(icrc), &(sizes.concat() + &message("8200B", "count = 3")));
    let bytes = |icrc| {
        let settings = settings(&text(icrc));
        let frames = every_frame(&settings) as u64;
        let (_, recorder) = agrees("icrc", &settings);
        (recorder.counts.iter().map(|c| c.bytes_arrived).sum::<u64>(), frames)
    };
    let ((without, frames), (with, same)) = (bytes(false), bytes(true));
    assert_eq!(frames, same);
    assert_eq!(with, without + 4 * frames);
}
