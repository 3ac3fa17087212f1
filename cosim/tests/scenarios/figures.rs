//! The worked figures, as exact rationals, out of runs.
//!
//! `fixtures/figures.json` has every figure of the rules. Each key is either measured here in a run
//! or listed in `ELSEWHERE` with the reason; a key in neither place fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::ops::{Add, Div, Mul, Sub};

use cosim::check::RtlChoice;
use cosim::event::Event;
use cosim::record::{Recorder, Timed};
use cosim::run::{Mode, Outcome, RunResult, run};
use cosim::world::World;
use rtl_model::host_interface::level;

use crate::common::{Both, Log, message, model, project, scenario, settings};

mod loss;
mod uet;

/// An exact fraction, in lowest terms, above zero.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(num: i128, den: i128) -> Self {
        let (mut a, mut b) = (num.abs(), den.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let sign = den.signum();
        Self(sign * num / a.max(1), sign * den / a.max(1))
    }

    fn parse(text: &str) -> Self {
        let (num, den) = text.split_once('/').unwrap_or((text, "1"));
        Self::new(num.parse().expect("digits"), den.parse().expect("digits"))
    }

    /// Rounded up to a whole number.
    fn ceil(self) -> Self {
        let up = i128::from(self.0.rem_euclid(self.1) != 0);
        Self(self.0.div_euclid(self.1) + up, 1)
    }

    fn is_whole(self) -> bool {
        self.1 == 1
    }

    fn at_least(self, other: Self) -> bool {
        (self - other).0 >= 0
    }
}

impl fmt::Debug for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

impl<N: Into<i128>> From<N> for Ratio {
    fn from(n: N) -> Self {
        Self(n.into(), 1)
    }
}

macro_rules! operator {
    ($trait:ident $name:ident |$a:ident, $b:ident| $num:expr, $den:expr) => {
        impl $trait for Ratio {
            type Output = Self;
            fn $name(self, $b: Self) -> Self {
                let $a = self;
                Self::new($num, $den)
            }
        }
    };
}
operator!(Add add |a, b| a.0 * b.1 + b.0 * a.1, a.1 * b.1);
operator!(Sub sub |a, b| a.0 * b.1 - b.0 * a.1, a.1 * b.1);
operator!(Mul mul |a, b| a.0 * b.0, a.1 * b.1);
operator!(Div div |a, b| a.0 * b.1, a.1 * b.0);

fn n(n: u64) -> Ratio {
    Ratio::from(n)
}

/// Clocks from the exact end of a frame to the clock in which its last beat is on the wire
/// (`port_tx`).
const PORT_TX: u64 = 3;

/// What a run showed.
struct Seen {
    moments: Vec<Timed>,
    events: Vec<(u64, usize, Event)>,
    world: World,
}

fn see(text: &str, look: impl FnMut(&World) -> bool) -> Seen {
    let settings = settings(text);
    let mut recorder = Recorder::new(&World::new(&settings), None).expect("counts only");
    let mut log = Log::default();
    let world = model(&settings, &mut Both(&mut recorder, &mut log), look);
    Seen { moments: recorder.moments, events: log.0, world }
}

/// To its end, in lockstep; what is read stands in `result.json`.
fn whole(text: &str) -> Seen {
    let settings = settings(text);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder =
        Recorder::new(&World::new(&settings), Some(folder.path())).expect("makes files");
    let mut log = Log::default();
    let mut sink = Both(&mut recorder, &mut log);
    let run = run(&settings, Mode::Lockstep, &RtlChoice::default(), &mut sink).expect("builds");
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
    let result = RunResult::new("figures", Mode::Lockstep, &run, &recorder);
    let moments = recorder.moments.clone();
    recorder.finish(&run.world, &result).expect("writes");
    let file = fs::read(folder.path().join("result.json")).expect("reads");
    let json: serde_json::Value = serde_json::from_slice(&file).expect("parses");
    let of_file = json["moments"].as_array().expect("moments");
    assert_eq!(of_file.len(), moments.len());
    for (read, moment) in of_file.iter().zip(&moments) {
        assert_eq!(
            (&read["end_ns"], &read["bytes"]),
            (&moment.end_ns.clone().into(), &moment.bytes.into())
        );
    }
    let world = run.world;
    assert_eq!(world.driver.intact as usize, world.driver.messages.len());
    Seen { moments, events: log.0, world }
}

impl Seen {
    /// Exact ends of a kind at a NIC, and bytes.
    fn ends(&self, nic: &str, kind: &str) -> Vec<(Ratio, u64, u64)> {
        let of = self.moments.iter().filter(|m| m.nic == nic && m.kind == kind);
        of.map(|m| (Ratio::parse(&m.end_ns), m.bytes, m.clock)).collect()
    }

    /// Frames of a NIC: exact ends of serialisation, and bytes.
    fn frames(&self, nic: usize) -> Vec<(Ratio, &[u8])> {
        let rate = n(self.world.settings.nics[nic].wire_rate);
        let frames = self.events.iter().filter_map(|(clock, at, event)| match event {
            Event::Sent { back, bytes } if *at == nic => {
                Some((n(clock - PORT_TX) - n(u64::from(*back)) / rate, bytes.as_slice()))
            }
            _ => None,
        });
        frames.collect()
    }

    fn of_opcode(&self, nic: usize, opcodes: &[u8]) -> Vec<&[u8]> {
        let frames = self.frames(nic).into_iter().map(|f| f.1);
        frames.filter(|f| opcodes.contains(&f[42])).collect()
    }
}

const DATA: [u8; 4] = [0xc6, 0xc7, 0xc8, 0xca];
const SACK: u8 = 0xdc;
const NACK: u8 = 0xdd;
const PROBE: u8 = 0xde;
const ACK: u8 = 0xd1;

fn gap(ends: &[(Ratio, u64, u64)], at: usize) -> Ratio {
    ends[at + 1].0 - ends[at].0
}

/// What a link and a port are set to.
#[derive(Clone, Copy, Debug)]
struct Attributes {
    lanes: u64,
    /// Mbps of a lane.
    lane: u64,
    mss: u64,
    /// Gbps on the wire.
    wire: u64,
}

const DEFAULTS: Attributes = Attributes { lanes: 16, lane: 31_520, mss: 4096, wire: 400 };

/// The times that hang on a link's rate, the port's rate and MSS.
#[derive(Debug, PartialEq, Eq)]
struct Times {
    rreq_ns: Ratio,
    cpl_ns: Ratio,
    fetch_ns: Ratio,
    ser_ns: Ratio,
    wire_bytes: Ratio,
    link_gbps: Ratio,
    goodput_gbps: Ratio,
}

impl Attributes {
    fn head(self) -> String {
        let Self { lanes, lane, mss, wire } = self;
        let link = format!("LaneCount = {lanes}\nLaneBps = \"{lane}Mbps\"\n");
        format!(
            "limit = \"400us\"\n[defaults]\nMSS = {mss}\nDataRate = \"{wire}Gbps\"\n\
             [defaults.PCIe]\n{link}[defaults.HostPCIe]\n{link}"
        )
    }

    /// By the rules: PCI-2, PCI-3, PKT-1, PKT-2.
    fn times(self) -> Times {
        let gbps = Ratio::new(i128::from(self.lanes * self.lane), 1000);
        let bits = |bytes: u64| n(8 * bytes);
        let (mss, wire) = (self.mss, n(self.wire));
        let rreq_ns = bits(64 + 34) / gbps;
        let cpl_ns = bits(mss + 34 * mss.div_ceil(512)) / gbps;
        let ser_ns = bits(mss + 78) / wire;
        Times {
            rreq_ns,
            cpl_ns,
            fetch_ns: rreq_ns + cpl_ns,
            ser_ns,
            wire_bytes: n(mss + 78),
            link_gbps: gbps,
            goodput_gbps: bits(mss) / ser_ns,
        }
    }

    /// Out of runs. `split`: a segment over a page boundary, so that two reads go back to back.
    /// `long`: a message of 64 packets, so that frames do.
    fn measured(self) -> Times {
        let mss = self.mss;
        let run =
            |bytes: u64, more| whole(&scenario(&self.head(), &message(&format!("{bytes}B"), more)));
        let split = run(mss, "offset = 4000");
        let reads = split.ends("a", "read");
        assert_eq!(reads[0].1 + reads[1].1, mss, "two reads");
        let rreq_ns = gap(&reads, 0);

        let mut transfers = (0, 0);
        let one = see(&scenario(&self.head(), &message(&format!("{mss}B"), "")), |world| {
            let node = &world.nodes[0];
            if node.inputs.rx_valid && node.inputs.rx.hdr.0[0] >> 24 & 0xff == 0x4a {
                transfers.0 += u64::from(node.inputs.rx.sop);
                transfers.1 += 4 * u64::from(node.inputs.rx.dws);
            }
            false
        });
        let (read, done) = (&one.ends("a", "read")[0], &one.ends("a", "completion")[0]);
        assert_eq!((read.1, done.1), (mss, mss), "one read, answered");
        let cpl_ns = done.0 - read.0;
        assert_eq!(transfers.1, mss.next_multiple_of(4), "whole DWs");
        let link_gbps = n(8 * (mss + 34 * transfers.0)) / cpl_ns;

        let long = run(64 * mss, "");
        let ends = long.ends("a", "frame");
        assert_eq!(ends.len(), 64);
        let ser_ns = gap(&ends, 0);
        let last = ends[63].0 - ends[0].0;
        Times {
            rreq_ns,
            cpl_ns,
            fetch_ns: rreq_ns + cpl_ns,
            ser_ns,
            wire_bytes: n(ends[0].1),
            link_gbps,
            goodput_gbps: n(63 * 8 * mss) / last,
        }
    }
}

/// RTT-1, SEG-3: a full packet with a time stamp, on the wire and in flight.
fn one_stamped_packet(out: &mut Figures) {
    let head = "limit = \"100us\"\n[defaults]\nRTTTimestampMode = \"WireTimestamp\"\n";
    let mut flight = 0;
    let seen = see(&scenario(head, &message("4096B", "")), |world| {
        flight = flight.max(world.nodes[0].nic.o.window.flight_sum);
        false
    });
    out.insert("mrc.data_wire_wts", n(seen.of_opcode(0, &DATA)[0].len() as u64));
    out.insert("mrc.data_nominal_wts", n(u64::from(flight)));
}

/// One message of one full packet, and what comes back.
fn one_packet(out: &mut Figures) {
    let (mut bell, mut flight, mut free) = (None, 0, Vec::new());
    let seen = see(&scenario("limit = \"100us\"", &message("4096B", "")), |world| {
        let nic = &world.nodes[0].nic;
        let write = nic.i.doorbell.page_valid && nic.o.doorbell.page_ready;
        if write && nic.i.doorbell.page_addr & 0xf000 == 0x1000 && bell.is_none() {
            bell = Some(world.clock);
            free.extend([nic.o.egress_arbiter.egress_free, nic.o.egress_arbiter.ctl_free]);
            free.extend([
                level(&nic.i.ingress_pool.cfg_ingress_pool, 0),
                level(&nic.i.ingress_pool.cfg_ingress_pool, 1),
            ]);
        }
        if flight == 0 {
            flight = nic.o.window.flight_sum;
        }
        false
    });
    let data = seen.of_opcode(0, &DATA);
    assert_eq!(data.len(), 1);
    let bytes = data[0].len() as u64;
    out.insert("mrc.data_wire", n(bytes));
    out.insert("mrc.hdr_bytes", n(bytes - 4096));
    out.insert("mrc.data_nominal", n(u64::from(flight)));
    out.insert("mrc.nominal_overhead", n(u64::from(flight) - 4096));
    let (sack, ack) = (seen.of_opcode(1, &[SACK]), seen.of_opcode(1, &[ACK]));
    assert_eq!((sack.len(), ack.len()), (1, 1));
    out.insert("mrc.sack_wire", n(sack[0].len() as u64));
    out.insert("mrc.cum_ack_wire", n(ack[0].len() as u64));
    let service = u16::from_be_bytes([sack[0][82], sack[0][83]]);
    out.insert("mrc.service_time_steps", n(u64::from(service)));
    for (key, bytes) in
        ["uet.egress_pool0", "uet.egress_pool1", "uet.ingress_pool0", "uet.ingress_pool1"]
            .into_iter()
            .zip(free)
    {
        out.insert(key, n(u64::from(bytes)));
    }

    // The ideal times have no latency in the blocks: a run shows the latencies that the head
    // comments state beside them, and those are whole clocks.
    let bell = n(bell.expect("a doorbell"));
    let payload = seen.ends("a", "completion")[0].0 - bell;
    let serialised = seen.frames(0)[0].0 - bell;
    let arrived = seen.events.iter().find(|e| e.1 == 1 && matches!(e.2, Event::Arrived { .. }));
    let arrived = n(arrived.expect("arrives").0) - bell;
    let ideal = n(15) + out["pcie.fetch_ns"];
    assert_eq!(payload, ideal + n(TO_PAYLOAD));
    out.insert("mrc.t_first_payload_ns", payload - n(TO_PAYLOAD));
    // Serialisation starts with a whole clock.
    let started = serialised - out["mrc.data_ser_ns"];
    assert_eq!(started, payload.ceil() + n(TO_START));
    out.insert("mrc.t_first_ser_end_ns", ideal + out["mrc.data_ser_ns"]);
    assert!(serialised.at_least(out["mrc.t_first_ser_end_ns"]));
    let delay = arrived - n(PORT_TX) - serialised.ceil();
    out.insert("uet.link_rtt_us", delay * n(2) / n(1000));
    out.insert("mrc.t_first_at_switch_ns", ideal + out["mrc.data_ser_ns"] + delay);
    assert!(arrived.at_least(out["mrc.t_first_at_switch_ns"]));
}

/// Clocks between the ring (QP-3) and the start of the read on the link, and from its end to the
/// host: the ring to the first turn 1 and a turn to its segment 7 (`tx_scheduler`), segment to read
/// 2 (`payload_fetch`), read to TLP 1 (`tlp_engine`), TLP to its beginning on the link 3 and its end
/// to its beat 1 (`pcie_link`).
const TO_PAYLOAD: u64 = 1 + 7 + 2 + 1 + 3 + 1;
/// Clocks from the payload's end, rounded up, to the start of its frame: the last beat's last word
/// 4 (`rx_fifo`, `tlp_parse`), to the hand-off 3 (`payload_fetch`), to the frame 5 (`packet_build`),
/// to its start 2 (`dat_queue`, `egress_arbiter`).
const TO_START: u64 = 4 + 3 + 5 + 2;

/// 1 MiB: 256 packets, each ending at the first clock at or after its exact time (PKT-2).
fn one_mebibyte(out: &mut Figures) {
    let seen = whole(&scenario("limit = \"200us\"", &message("1MiB", "")));
    let data = seen.of_opcode(0, &DATA);
    out.insert("mrc.msg1MiB_pkts", n(data.len() as u64));
    out.insert("mrc.msg1MiB_wire", n(data.iter().map(|f| f.len() as u64).sum()));
    let ends = seen.ends("a", "frame");
    for (at, (end, bytes, clock)) in ends.iter().enumerate() {
        let exact = ends[0].0 + n(at as u64) * out["mrc.data_ser_ns"];
        assert_eq!(*end, exact, "frame {at} of {bytes} B");
        assert_eq!(n(*clock), exact.ceil(), "frame {at}");
    }
    let span = ends[ends.len() - 1].0 - ends[0].0;
    out.insert("mrc.goodput", n(8 * 4096 * (ends.len() as u64 - 1)) / span);

    // What the receiver's link has to carry for a payload at the full rate (PCI-7).
    let writes = seen.ends("b", "write");
    let payload: Vec<_> = writes.iter().filter(|w| w.1 != 32).collect();
    assert_eq!(payload.len(), 256 * 8);
    let cost: u64 = payload.iter().map(|w| w.1 + 34).sum();
    out.insert("mrc.pcie_needed_rx", n(8 * cost) / n(256) / out["mrc.data_ser_ns"]);

    // Completions of full segments that wait for the link go back to back: 69.29 ns, 472.9 Gbps.
    let done = seen.ends("a", "completion");
    out.insert("pcie.payload_rate", n(8 * 4096) / gap(&done, 1));
    let share = out["pcie.payload_rate"] / out["pcie.link_rate"];
    out.insert("pcie.max_payload_efficiency", n(100) * share);
}

/// Messages of 0 B: one packet each (SEG-1).
fn nothing(out: &mut Figures) {
    let seen = whole(&scenario("limit = \"100us\"", &message("0B", "")));
    let data = seen.of_opcode(0, &DATA);
    assert_eq!(data.len(), 1);
    out.insert("mrc.zero_byte_msg_wire", n(data[0].len() as u64));
}

/// A SACK directly behind another frame ends by its own time later.
fn sack_time(out: &mut Figures) {
    let seen = whole(&scenario(
        "limit = \"200us\"",
        &(message("256KiB", "")
            + &message("256KiB", "")
                .replace("\"b\"", "\"c\"")
                .replace("\"a\"", "\"b\"")
                .replace("\"c\"", "\"a\"")),
    ));
    let frames = seen.frames(1);
    let gaps = frames.windows(2).filter(|w| w[1].1[42] == SACK).map(|w| w[1].0 - w[0].0);
    let least = gaps.reduce(|a, b| if a.at_least(b) { b } else { a });
    out.insert("mrc.sack_ser_ns", least.expect("a SACK behind a frame"));
}

/// Packets between two SACKs, by payload (SACK-1).
fn sacks(out: &mut Figures) {
    for (key, payload) in SACK_EVERY {
        let text = format!("limit = \"100us\"\n[defaults]\nMSS = {payload}");
        let seen = whole(&scenario(&text, &message(&format!("{}B", payload * 30), "")));
        let cum = seen
            .of_opcode(1, &[SACK])
            .into_iter()
            .map(|f| u64::from(u32::from_be_bytes([0, f[51], f[52], f[53]])));
        let cum: Vec<_> = cum.collect();
        assert!(cum.len() >= 7, "{payload} B: {cum:?}");
        let every = cum[0] + 1;
        // All but the last, which the message's end draws.
        for (at, cum) in cum.iter().enumerate().take(cum.len() - 1) {
            assert_eq!(*cum + 1, every * (at as u64 + 1), "{payload} B");
        }
        out.insert(key, n(every));
    }
}

const SACK_EVERY: [(&str, u64); 9] = [
    ("mrc.sack_every_n_pkts.payload1", 1),
    ("mrc.sack_every_n_pkts.payload1024", 1024),
    ("mrc.sack_every_n_pkts.payload1025", 1025),
    ("mrc.sack_every_n_pkts.payload1365", 1365),
    ("mrc.sack_every_n_pkts.payload1366", 1366),
    ("mrc.sack_every_n_pkts.payload2047", 2047),
    ("mrc.sack_every_n_pkts.payload2048", 2048),
    ("mrc.sack_every_n_pkts.payload4095", 4095),
    ("mrc.sack_every_n_pkts.payload4096", 4096),
];

/// How much the gates let through when nothing comes back: windows of PSNs and bytes, and the
/// egress pool (SEG-2, SEG-3, SEG-4).
fn gates(out: &mut Figures) {
    // Nothing is acknowledged while this looks.
    let text = |more: &str| {
        let head = format!("limit = \"400us\"\n[defaults]\nDelay = \"150us\"\n{more}");
        scenario(&head, &message("8MiB", ""))
    };
    let mut least = u32::MAX;
    let mut bytes = 0;
    let seen = see(&text("MaxCongestionWindow = 100000"), |world| {
        let nic = &world.nodes[0].nic;
        if world.clock > world.boot {
            least = least.min(nic.o.egress_arbiter.egress_free);
        }
        if nic.o.tx_scheduler.seg_valid && nic.i.tx_scheduler.seg_ready {
            bytes += u64::from(nic.o.tx_scheduler.seg.len);
        }
        world.clock > world.boot + 110_000
    });
    assert!(!seen.events.iter().any(|e| matches!(e.2, Event::Stalled { .. })));
    out.insert("mrc.psn_window_bytes", n(bytes));
    out.insert("mrc.egress_pool_pkts_if_230400", n(u64::from(230_400 - least) / 4174));

    let mut segments = 0;
    see(&text(""), |world| {
        let nic = &world.nodes[0].nic;
        segments += u64::from(nic.o.tx_scheduler.seg_valid && nic.i.tx_scheduler.seg_ready);
        world.clock > world.boot + 20_000
    });
    assert_eq!(segments, 108, "450,000 B are 108.3 nominal packets (CC-1)");
}

/// Pools that fill because what empties them is slow (BUF-3, RX-2).
fn full_pools(out: &mut Figures) {
    let open = "[defaults]\nMaxCongestionWindow = 1000\n";
    // SACKs of b leave at 1 Gbps.
    let slow = format!("{}DataRate = \"1Gbps\"\n", crate::common::PAIR);
    let mut least = u32::MAX;
    let text = format!("limit = \"200us\"\n{open}{slow}{}", message("2MiB", ""));
    see(&text, |world| {
        if world.clock > world.boot {
            least = least.min(world.nodes[1].nic.o.egress_arbiter.ctl_free);
        }
        world.nodes[1].nic.o.ack_hold.out_valid && least < 94
    });
    out.insert("mrc.control_pool_sacks_if_25600", n(u64::from(25_600 - least) / 94));

    // Payloads of b go to its host over one lane, its transmit buffer is small.
    let slow = "[nic.PCIe]\nLaneCount = 1\nTXDataBufferSize = \"512B\"\n";
    let text =
        format!("limit = \"200us\"\n{open}{}{slow}{}", crate::common::PAIR, message("4MiB", ""));
    let mut most = 0;
    see(&text, |world| {
        let pool = &world.nodes[1].nic.o.ingress_pool;
        most = most.max(pool.held(0));
        pool.drop_valid
    });
    out.insert("mrc.ingress_pool_pkts_if_3600000", n(u64::from(most) / 4174));
}

type Figures = BTreeMap<&'static str, Ratio>;

/// Keys that no run here shows, or that are none of a run's, by what they begin with.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "mrc.sack_every_n_pkts.payload0",
        "a packet of 0 B is a message's last: it draws its own SACK",
    ),
    ("mrc.control_pool_cumacks_if_25600", "what draws an ACK draws a SACK too (SACK-1)"),
    ("mrc.nominal_over_1.5bdp", "its whole part, 108, is the window that `gates` counts"),
    ("pcie.raw_gen5_lane", "the rate before coding, which no attribute sets"),
    ("uet.bdp", "profile uet"),
    ("uet.max_window", "profile uet"),
    ("icrc_", "ICRCEnable"),
    ("pfc_", "PFC"),
    ("tlp_", "cosim's tlp.rs and the bench of tlp_engine hold these bytes"),
];

/// PCI-2, PCI-3, PKT-1, PKT-2, SEG-1 to SEG-4, SACK-1, CC-1, BUF-1, QP-3: what a run shows.
fn measured() -> Figures {
    let mut out = Figures::new();
    let times = DEFAULTS.measured();
    out.insert("pcie.rreq_ns", times.rreq_ns);
    out.insert("pcie.cpl4096_ns", times.cpl_ns);
    out.insert("pcie.fetch_ns", times.fetch_ns);
    out.insert("pcie.link_rate", times.link_gbps);
    out.insert("pcie.gen5_lane_times_0985", times.link_gbps / n(16));
    out.insert("mrc.data_ser_ns", times.ser_ns);
    // The request's 64 B, without the 34 B that every transfer costs more.
    let spare = n(8 * 34) / times.link_gbps;
    out.insert("pcie.rreq_64B_without_overhead_ns", times.rreq_ns - spare);
    out.insert("pcie.bytes_4096", times.cpl_ns * times.link_gbps / n(8));
    out.insert("pcie.transfers_4096", (out["pcie.bytes_4096"] - n(4096)) / n(34));
    for (key, lanes) in [("pcie.lanes14", 14), ("pcie.lanes13", 13)] {
        out.insert(key, Attributes { lanes, ..DEFAULTS }.measured().link_gbps);
    }
    one_packet(&mut out);
    one_stamped_packet(&mut out);
    one_mebibyte(&mut out);
    nothing(&mut out);
    sack_time(&mut out);
    sacks(&mut out);
    gates(&mut out);
    full_pools(&mut out);
    uet::measured(&mut out);
    loss::measured(&mut out);
    out
}

#[test]
fn every_figure_comes_out_of_a_run_or_says_why_not() {
    let text = fs::read_to_string(project("fixtures/figures.json")).expect("figures");
    let json: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    let figures = json["figures"].as_array().expect("a list");
    let measured = measured();
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    let elsewhere = |key: &str| ELSEWHERE.iter().find(|e| key.starts_with(e.0));
    for figure in figures {
        let key = figure["key"].as_str().expect("a key");
        let exact = Ratio::parse(figure["exact"].as_str().expect("a fraction"));
        match (measured.get(key), elsewhere(key)) {
            (Some(found), _) if *found == exact => {}
            (Some(found), _) => wrong.push(format!("{key}: {found:?}, not {exact:?}")),
            (None, Some((prefix, _))) => {
                used.insert(*prefix);
            }
            (None, None) => wrong.push(format!("{key}: neither measured nor elsewhere")),
        }
    }
    for key in json["vectors"].as_object().expect("vectors").keys() {
        match elsewhere(key) {
            Some((prefix, _)) => {
                used.insert(*prefix);
            }
            None => wrong.push(format!("{key}: neither measured nor elsewhere")),
        }
    }
    let known: BTreeSet<_> = figures.iter().filter_map(|f| f["key"].as_str()).collect();
    wrong.extend(measured.keys().filter(|k| !known.contains(*k)).map(|k| format!("{k}: no such")));
    let idle = ELSEWHERE.iter().filter(|e| !used.contains(e.0));
    wrong.extend(idle.map(|e| format!("{}: no such key is left", e.0)));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// PCI-2, PCI-3, PKT-1, PKT-2: other rates and sizes give the times that the rules give.
#[test]
fn times_follow_the_attributes() {
    let others = [
        Attributes { lanes: 8, wire: 200, ..DEFAULTS },
        Attributes { lane: 15_750, wire: 200, ..DEFAULTS },
        Attributes { lanes: 14, lane: 31_500, mss: 4096, wire: 100 },
        Attributes { mss: 1000, ..DEFAULTS },
        Attributes { mss: 2048, ..DEFAULTS },
        Attributes { mss: 3001, lanes: 12, wire: 200, ..DEFAULTS },
    ];
    for attributes in others {
        assert_eq!(attributes.measured(), attributes.times(), "{attributes:?}");
    }
}
