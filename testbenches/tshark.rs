//! Frames as Wireshark reads them, against our own reading of section 12.
//!
//! `tshark` checks the FCS and the IP checksum and takes the BTH apart. It knows no opcode of ours
//! (C6 to CA, D1, DC to DE: vendors' and reserved ones), so behind the BTH it shows raw bytes:
//! what is held against it is the BTH, and that nothing is malformed.
//!
//! Destination QP, PSN and ACK-request flag of a run's frames are also held against its record
//! `mrc-monitor`, which has them from the registers of the blocks that make packets.
//!
//! `frames_of_a_run` reads the folder that `NICSTEP_FRAMES` names, as a run leaves it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use cosim::check::RtlChoice;
use cosim::record::Recorder;
use cosim::run::{Mode, Outcome, run};
use cosim::scenario::{File as Scenario, Source};
use cosim::settings::settle;
use cosim::world::World;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use testbenches::oracle;

/// UDP port of the packets. PKT-1.
const PORT: u16 = 4791;
/// Where the BTH begins: after Ethernet, IPv4 and UDP.
const BTH: usize = 42;

/// What a frame says, each part as `tshark` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    /// `eth.fcs.status` and `ip.checksum.status`: 1 is good.
    fcs: bool,
    checksum: bool,
    port: u16,
    opcode: u8,
    p_key: u16,
    qp: u32,
    ack_request: bool,
    psn: u32,
}

fn be(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |n, b| n << 8 | u32::from(*b))
}

/// Our reading. Layouts of section 12; a frame ends with its FCS.
fn read(frame: &[u8]) -> Option<Reading> {
    let (body, fcs) = frame.split_at_checked(frame.len().checked_sub(4)?)?;
    let bth = body.get(BTH..BTH + 12)?;
    let sum: u32 = body[14..34].chunks(2).map(be).sum();
    let fits = be(&body[16..18]) as usize == body.len() - 14;
    let version_and_protocol = (body[12..15] == [8, 0, 0x45]) && body[23] == 17;
    (fits && version_and_protocol).then(|| Reading {
        fcs: crc32fast::hash(body).to_le_bytes() == fcs,
        checksum: (sum & 0xffff) + (sum >> 16) == 0xffff,
        port: be(&body[36..38]) as u16,
        opcode: bth[0],
        p_key: be(&bth[2..4]) as u16,
        qp: be(&bth[5..8]),
        ack_request: bth[8] >> 7 == 1,
        psn: be(&bth[9..12]),
    })
}

/// Columns asked of `tshark`, in the order of `Reading`; the last is empty in a sound frame.
const FIELDS: [&str; 9] = [
    "eth.fcs.status",
    "ip.checksum.status",
    "udp.dstport",
    "infiniband.bth.opcode",
    "infiniband.bth.p_key",
    "infiniband.bth.destqp",
    "infiniband.bth.a",
    "infiniband.bth.psn",
    "_ws.malformed",
];

/// A number as `tshark` prints it: decimal, `0x…`, or a flag's name in newer versions.
fn number(cell: &str) -> Option<u32> {
    match cell {
        "True" => Some(1),
        "False" => Some(0),
        _ => match cell.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => cell.parse().ok(),
        },
    }
}

/// The same from a line of `tshark`.
fn parse(line: &str) -> Option<Reading> {
    let cells: Vec<_> = line.split('\t').collect();
    let [fcs, checksum, port, opcode, p_key, qp, ack_request, psn, ""] = cells[..] else {
        return None;
    };
    let flag = |cell| Some(number(cell)? == 1);
    Some(Reading {
        fcs: flag(fcs)?,
        checksum: flag(checksum)?,
        port: number(port)? as u16,
        opcode: number(opcode)? as u8,
        p_key: number(p_key)? as u16,
        qp: number(qp)?,
        ack_request: flag(ack_request)?,
        psn: number(psn)?,
    })
}

/// Frames of a capture, but for PFC frames, which are no packets.
fn frames(path: &Path) -> Vec<Vec<u8>> {
    let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut reader = PcapNgReader::new(file).expect("a pcapng file");
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a sound block") {
            frames.push(packet.data.into_owned());
        }
    }
    frames.retain(|f| f.get(12..14) != Some(&[0x88, 0x08]));
    frames
}

/// What `tshark` prints of a capture, a line a frame; `None` when there is no `tshark`.
fn lines(path: &Path) -> Option<Vec<String>> {
    let mut tshark = oracle::in_path("tshark", "--version")?;
    tshark.arg("-r").arg(path).args(["-n", "-Y", "!macc", "-T", "fields"]);
    // The source port is entropy (PKT-1): without this one below 4791 that is known to another
    // protocol makes the packet that protocol's.
    tshark.args(["-d", "udp.port==0-65535,infiniband"]);
    for option in ["eth.fcs:Always", "eth.check_fcs:TRUE", "ip.check_checksum:TRUE"] {
        tshark.args(["-o", option]);
    }
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark has just run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Frames by opcode when both readings agree and every frame is good; else what is wrong first.
/// `None` when there is no `tshark`.
fn check(path: &Path) -> Option<Result<BTreeMap<u8, usize>, String>> {
    Some(agree(&lines(path)?, &frames(path)))
}

fn agree(lines: &[String], frames: &[Vec<u8>]) -> Result<BTreeMap<u8, usize>, String> {
    if lines.len() != frames.len() {
        return Err(format!("tshark sees {} frames of {}", lines.len(), frames.len()));
    }
    let mut seen = BTreeMap::new();
    for (n, (line, frame)) in lines.iter().zip(frames).enumerate() {
        let at = |what: &str| format!("frame {}: {what}: {line:?}, {frame:02x?}", n + 1);
        let ours = read(frame).ok_or_else(|| at("we cannot read it"))?;
        let theirs = parse(line).ok_or_else(|| at("tshark cannot read it"))?;
        if ours != theirs {
            return Err(at(&format!("we read {ours:x?}, tshark {theirs:x?}")));
        }
        if !ours.fcs || !ours.checksum || ours.port != PORT || ours.p_key != 0xffff {
            return Err(at("a bad frame"));
        }
        *seen.entry(ours.opcode).or_default() += 1;
    }
    Ok(seen)
}

/// The rows of packets sent of a record `mrc-monitor`: destination QP, PSN, ACK-request flag, and
/// whether it is a data packet.
fn told(folder: &Path) -> Vec<(String, [String; 3])> {
    let path = folder.join("mrc-monitor.csv");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heading = rows.next().expect("a heading");
    let column = |name| heading.iter().position(|c| *c == name).expect("a column");
    let [direction, kind] = ["direction", "packet_type"].map(column);
    let numbers = ["qpn", "bth_psn", "ar_bit"].map(column);
    rows.filter(|row| row[direction] == "tx" && row[kind] != "pause")
        .map(|row| (row[kind].to_owned(), numbers.map(|at| row[at].to_owned())))
        .collect()
}

/// `tshark`'s lines against what the NICs' blocks have told; what differs first.
fn as_told(lines: &[String], told: &[(String, [String; 3])]) -> Result<(), String> {
    if lines.len() != told.len() {
        return Err(format!("tshark sees {} frames, the record has {}", lines.len(), told.len()));
    }
    for (n, (line, (kind, numbers))) in lines.iter().zip(told).enumerate() {
        let at = |what: &str| format!("frame {}: {what}: {line:?}, {kind} {numbers:?}", n + 1);
        let read = parse(line).ok_or_else(|| at("tshark cannot read it"))?;
        let name = match read.opcode {
            // The retransmit flag is none that tshark knows.
            0xc6..=0xc8 | 0xca if kind == "retransmission" => kind,
            0xc6..=0xc8 | 0xca => "data",
            0xd1 => "ACK",
            0xdc => "SACK",
            0xdd => "NACK",
            _ => "probe",
        };
        let seen = [read.qp, read.psn, u32::from(read.ack_request)].map(|n| n.to_string());
        if seen != *numbers || name != kind {
            return Err(at(&format!("tshark reads {name} {seen:?}")));
        }
    }
    Ok(())
}

/// A frame of section 12 by hand: `rest` is what follows the BTH. Its source port, 319, is PTP's.
fn frame(opcode: u8, qp: u32, flags: u8, psn: u32, rest: &[u8]) -> Vec<u8> {
    let mut udp = vec![0x01, 0x3f, 0x12, 0xb7, 0, 0, 0, 0, opcode, 0, 0xff, 0xff, 0];
    udp.extend(&qp.to_be_bytes()[1..]);
    udp.push(flags);
    udp.extend(&psn.to_be_bytes()[1..]);
    udp.extend(rest);
    let len = udp.len() as u16;
    udp[4..6].copy_from_slice(&len.to_be_bytes());
    let mut ip = vec![0x45, 16, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    ip[2..4].copy_from_slice(&(len + 20).to_be_bytes());
    let sum: u32 = ip.chunks(2).map(be).sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 0xfe, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([ip, udp].concat());
    sealed(frame)
}

/// With its FCS.
fn sealed(mut frame: Vec<u8>) -> Vec<u8> {
    let fcs = crc32fast::hash(&frame).to_le_bytes();
    frame.extend(fcs);
    frame
}

/// One of each kind; payloads of 0, 1 and 4,096 B, numbers at their borders.
fn sound() -> Vec<Vec<u8>> {
    let data = |payload: usize| vec![0x5a; 4 + 16 + payload];
    let sack = [&[0x10, 0][..], &[0x77; 34]].concat();
    vec![
        frame(0xc6, 0x01_0203, 0x40, 0, &data(4096)),
        frame(0xc7, 0xff_ffff, 0, 0xff_ffff, &data(4096)),
        frame(0xc8, 0x80_0000, 0x80, 0x80_0000, &data(1)),
        frame(0xca, 1, 0xa0, 0x7f_ffff, &data(0)),
        frame(0xd1, 5, 0, 9, &[0x1f, 0, 0, 1]),
        frame(0xdc, 5, 0, 9, &sack),
        frame(0xdd, 5, 0, 10, &[0x20; 20]),
        frame(0xde, 5, 0x80, 0, &[0x30; 16]),
    ]
}

fn capture(path: &Path, frames: &[Vec<u8>]) {
    let file = File::create(path).expect("a file");
    let mut writer = PcapNgWriter::new(file).expect("a header");
    let options =
        vec![InterfaceDescriptionOption::IfTsResol(9), InterfaceDescriptionOption::IfFcsLen(4)];
    let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
    writer.write_pcapng_block(interface).expect("an interface");
    for (n, frame) in frames.iter().enumerate() {
        let packet = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(n as u64 * 100),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options: vec![],
        };
        writer.write_pcapng_block(packet).expect("a packet");
    }
}

#[test]
fn every_kind_of_frame_reads_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("frames.pcapng");
    let mut frames = sound();
    // Pauses are in captures too, and are passed over.
    let pause = [&[1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1][..], &[0; 44]];
    frames.insert(3, sealed(pause.concat()));
    capture(&path, &frames);
    let Some(result) = check(&path) else { return };
    let seen = result.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        seen.into_keys().collect::<Vec<_>>(),
        [0xc6, 0xc7, 0xc8, 0xca, 0xd1, 0xdc, 0xdd, 0xde]
    );
}

/// The check can fail: at the FCS, the IP checksum, the lengths, the port, the BTH.
#[test]
fn corrupted_frames_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("frames.pcapng");
    let spoilt = |at: usize| {
        let mut body = sound()[0].clone();
        body.truncate(body.len() - 4);
        body[at] ^= 1;
        sealed(body)
    };
    let mut flipped = sound()[3].clone();
    *flipped.last_mut().expect("bytes") ^= 1;
    let bad = [flipped, spoilt(24), spoilt(17), spoilt(37), spoilt(BTH + 2)];
    for (n, bad) in bad.into_iter().enumerate() {
        capture(&path, &[sound(), vec![bad]].concat());
        let Some(result) = check(&path) else { return };
        let why = result.expect_err("a corrupted frame");
        assert!(why.starts_with("frame 9: "), "{n}: {why}");
    }
    // And where the two readings differ: a line that belongs to another frame.
    let frames = sound();
    let line = "1\t1\t4791\t198\t65535\t0x010203\t0\t0\t".to_owned();
    let lines = std::slice::from_ref(&line);
    assert!(agree(lines, &frames[..1]).is_ok());
    let wrong = line.replace("0x010203", "0x010202");
    assert!(agree(&[wrong], &frames[..1]).is_err_and(|why| why.contains("we read")));
    // And where it differs from what the NIC has told.
    let told = |kind: &str, numbers: [&str; 3]| (kind.to_owned(), numbers.map(str::to_owned));
    assert_eq!(as_told(lines, &[told("data", ["66051", "0", "0"])]), Ok(()));
    let others = [
        told("data", ["66050", "0", "0"]),
        told("data", ["66051", "1", "0"]),
        told("data", ["66051", "0", "1"]),
        told("SACK", ["66051", "0", "0"]),
        told("data", ["", "", ""]),
    ];
    for other in others {
        assert!(as_told(lines, &[other]).is_err_and(|why| why.contains("tshark reads")));
    }
    assert!(as_told(lines, &[]).is_err_and(|why| why.contains("has 0")));
}

/// Frames by opcode of what a run has left in a folder; `None` when there is no `tshark`.
fn check_run(folder: &Path) -> Option<BTreeMap<u8, usize>> {
    let capture = folder.join("frames.pcapng");
    let lines = lines(&capture)?;
    let seen = agree(&lines, &frames(&capture)).unwrap_or_else(|why| panic!("{why}"));
    as_told(&lines, &told(folder)).unwrap_or_else(|why| panic!("{why}"));
    let text: Vec<_> = seen.iter().map(|(code, n)| format!("{n} x {code:02X}")).collect();
    oracle::say(&format!("tshark agrees on {}", text.join(", ")));
    Some(seen)
}

/// The frames that a run has put on the wire are packets to others too.
#[test]
fn frames_of_a_run() {
    let Some(folder) = std::env::var_os("NICSTEP_FRAMES") else {
        oracle::say("no folder of a run to check (NICSTEP_FRAMES names one)");
        return;
    };
    let Some(seen) = check_run(Path::new(&folder)) else { return };
    let of = |codes: &[u8]| codes.iter().filter_map(|c| seen.get(c)).sum::<usize>();
    assert!(of(&[0xc6, 0xc7, 0xc8, 0xca]) > 0, "no data frame: {seen:x?}");
    assert!(of(&[0xd1, 0xdc]) > 0, "no ACK and no SACK: {seen:x?}");
}

/// Runs a scenario in the model alone; the frames by opcode that others and our blocks agree on.
fn check_scenario(source: &Source, file: &Scenario) -> Option<Vec<u8>> {
    let settings = settle(source, file).unwrap_or_else(|e| panic!("{e}"));
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::new(&settings);
    let mut recorder = Recorder::new(&world, Some(folder.path())).unwrap_or_else(|e| panic!("{e}"));
    let run = run(&settings, Mode::ModelOnly, &RtlChoice::default(), &mut recorder)
        .unwrap_or_else(|e| panic!("failed to {e}"));
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
    recorder.finish(&run.world, &()).unwrap_or_else(|e| panic!("{e}"));
    Some(check_run(folder.path())?.into_keys().collect())
}

/// PKT-5, NAK-1, SACK-2, ACK-1: with loss, trimming and reordering, each kind of packet goes out as
/// the block that makes it says.
#[test]
fn frames_of_a_lossy_run() {
    let path = verilated::project_root().join("fixtures/scenarios/lossy.toml");
    let (source, file) = Source::read(&path).unwrap_or_else(|e| panic!("{e}"));
    let Some(codes) = check_scenario(&source, &file) else { return };
    assert_eq!(codes, [0xc6, 0xc7, 0xc8, 0xca, 0xd1, 0xdc, 0xdd]);
}

/// RTT-1, PKT-1: and so they do with TSETH in each data packet.
#[test]
fn frames_with_a_timestamp() {
    let path = verilated::project_root().join("fixtures/scenarios/lossy.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = format!("defaults.RTTTimestampMode = \"WireTimestamp\"\n{text}");
    let (source, file) = Source::parse("timestamps.toml".into(), text).expect("is TOML");
    let Some(codes) = check_scenario(&source, &file) else { return };
    assert_eq!(codes, [0xc6, 0xc7, 0xc8, 0xca, 0xd1, 0xdc, 0xdd]);
}

/// PTH-2: so do the probes of a path that is lost, and their answers.
#[test]
fn frames_of_a_lost_path() {
    const TEXT: &str = r#"
        limit = "200us"
        defaults.InitialAckTimeout = "10us"
        defaults.SACKLossMinRetxPkts = 1024
        defaults.EnableMonitor = true
        nic = [{ name = "a", address = "10.0.0.1" }, { name = "b", address = "10.0.0.2" }]
        message = [{ from = "a", to = "b", bytes = "400KB" }]
        switch = [
            { action = "drop", kind = "data", psn = 3 },
            { action = "delay", kind = "ACK", by = "60us" },
        ]
    "#;
    let (source, file) = Source::parse("probes.toml".into(), TEXT.into()).expect("is TOML");
    let Some(codes) = check_scenario(&source, &file) else { return };
    assert_eq!(codes, [0xc6, 0xc7, 0xc8, 0xd1, 0xdc, 0xde]);
}
