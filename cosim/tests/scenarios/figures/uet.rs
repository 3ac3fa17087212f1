//! S003's figures, out of runs of profile `uet`.

use std::collections::BTreeMap;

use cosim::event::Event;
use cosim::world::World;
use rtl_model::image::Wide;

use super::{ACK, DATA, Figures, Ratio, SACK, n, see, whole};
use crate::common::{Log, PAIR, from_here, listed, message, settings};

/// A scenario of this profile: more top-level keys and defaults, then the messages.
fn uet(defaults: &str, messages: &str) -> String {
    format!("limit = \"400us\"\nprofile = \"uet\"\n[defaults]\n{defaults}\n{PAIR}\n{messages}")
}

/// Section 0: sizes on the wire, nominal, and charged; zeros behind RETH and AETH.
fn sizes(out: &mut Figures) {
    let (mut flight, mut charged) = (0, 0);
    let text = uet("", &message("4096B", ""));
    let seen = see(&text, |world| {
        flight = flight.max(world.nodes[0].nic.o.window.flight_sum);
        charged = charged.max(world.nodes[1].nic.o.ingress_pool.held(0));
        false
    });
    let data = seen.of_opcode(0, &DATA);
    assert_eq!(data.len(), 1);
    assert_eq!(data[0][74..102], [0; 28], "zeros behind RETH");
    let bytes = data[0].len() as u64;
    out.insert("uet.data_wire", n(bytes));
    out.insert("uet.hdr_bytes", n(bytes - 4096));
    out.insert("uet.data_ip", n(u64::from(charged)));
    out.insert("uet.nominal_overhead", n(u64::from(flight) - 4096));
    let (sack, ack) = (seen.of_opcode(1, &[SACK]), seen.of_opcode(1, &[ACK]));
    assert_eq!((sack.len(), ack.len()), (1, 1));
    assert_eq!(sack[0].len(), 94);
    assert_eq!(ack[0][58..74], [0; 16], "zeros behind AETH");
    out.insert("uet.ack_wire", n(ack[0].len() as u64));
}

/// 64 packets in a row: their pace, and what the receiver's link needs for it (PCI-7).
fn pace(out: &mut Figures) {
    let seen = whole(&uet("", &message("256KiB", "")));
    let ends = seen.ends("a", "frame");
    assert_eq!(ends.len(), 64);
    let time = (ends[63].0 - ends[0].0) / n(63);
    out.insert("uet.data_ser_ns", time);
    out.insert("uet.payload_rate", n(8 * 4096) / time);
    let writes = seen.ends("b", "write");
    let cost: u64 = writes.iter().filter(|w| w.1 != 32).map(|w| w.1 + 34).sum();
    out.insert("uet.pcie_needed_rx", n(8 * cost) / n(64) / time);

    // With as many packets sent as received, the reads for them go the same way.
    let there = message("256KiB", "");
    let back = there.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
    let both = whole(&uet("", &(there + &back)));
    let reads = both.ends("b", "read");
    assert_eq!(reads.iter().map(|r| r.1).sum::<u64>(), 64 * 4096);
    // What a read takes of the link, in bytes.
    let read = out["pcie.rreq_ns"] * out["pcie.link_rate"] / n(8);
    let writes = both.ends("b", "write");
    let cost: u64 = writes.iter().filter(|w| w.1 == 512).map(|w| w.1 + 34).sum();
    let cost = n(cost) + read * n(reads.len() as u64);
    out.insert("uet.pcie_needed_rx_plus_rreq", n(8) * cost / n(64) / time);
}

/// Holds NIC a's data until its pool is full, and what would answer it until it has drained.
const HELD: &str = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 8000\n\
                    at = \"100ns\"\n[[switch]]\naction = \"delay\"\nby = \"30us\"\n\
                    kind = [\"ACK\", \"SACK\"]\n";

/// BUF-3: a paused sender fills the data pool; resumed, it drains back to back.
fn egress(out: &mut Figures) {
    let (mut starts, mut most, mut pool) = (Vec::new(), 0, 0);
    let text = uet("MaxCongestionWindow = 1000", &(message("800KB", "at = \"300ns\"") + HELD));
    let seen = see(&text, |world| {
        let port = &world.nodes[0].nic.o.egress_arbiter;
        if world.clock > world.boot && starts.is_empty() {
            pool = pool.max(port.egress_free);
            most = most.max(pool - port.egress_free);
        }
        starts.extend(port.tx_valid.then_some(world.clock));
        starts.len() > 60
    });
    out.insert("uet.egress_pool0_used", n(u64::from(most)));
    let packets = u64::from(most) / seen.of_opcode(0, &DATA)[0].len() as u64;
    out.insert("uet.egress_pool0_pkts", n(packets));
    let last = seen.frames(0)[packets as usize - 1].0;
    out.insert("uet.egress_drain_us", (last - n(starts[0])) / n(1000));
}

/// SEG-4: what the pool holds after the release that rings: 54 full packets and one of 1,746 B, or of
/// a byte more, of which the 27th release leaves 115,200 B, or a byte more.
fn restart(out: &mut Figures) {
    let rings = |more: u64| {
        let first = message(&format!("{}B", 54 * 4096 + 1640 + more), "at = \"300ns\"");
        let text =
            uet("MaxCongestionWindow = 1000", &(first + &message("80KB", "at = \"1us\"") + HELD));
        let (mut ends, mut pool, mut left) = (0, 0, None);
        see(&text, |world| {
            let port = &world.nodes[0].nic.o.egress_arbiter;
            if world.clock > world.boot {
                pool = pool.max(port.egress_free);
            }
            ends += u64::from(port.end_valid);
            if port.half_valid {
                left = Some(pool - port.egress_free);
            }
            left.is_some()
        });
        (ends, u64::from(left.expect("it rings")))
    };
    let (ends, left) = rings(0);
    assert_eq!(ends, 27);
    assert_eq!(rings(1), (28, left + 1 - 4202), "a byte more does not ring");
    out.insert("uet.egress_restart", n(left));
}

/// BUF-3: frames of an ACK's size in the paused control class: NACKs, as an ACK comes with a SACK.
fn answers(out: &mut Figures) {
    let rules = "[[switch]]\naction = \"pause\"\nto = \"b\"\nclasses = [1]\nquanta = 15000\n\
                 [[switch]]\naction = \"trim\"\ncount = 340\nkind = \"data\"\n";
    let head = "MSS = 1024\nMaxCongestionWindow = 1000\nInitialAckTimeout = \"4ms\"\n";
    let mut frames = 0;
    see(&uet(head, &(message("340KiB", "at = \"500ns\"") + rules)), |world| {
        let b = &world.nodes[1].nic;
        let (i, port) = (&b.i.egress_arbiter, &b.o.egress_arbiter);
        let full = world.clock > world.boot && port.ctl_free < 78 && b.i.ack_build.answer_valid;
        if i.cresv_valid {
            assert_eq!(n(i.cresv_bytes.into()), out["uet.ack_wire"]);
            frames += 1;
        }
        full
    });
    out.insert("uet.egress_pool1_acks", n(frames));
}

/// BUF-5: the prefetch buffer fills behind a full egress pool; its size and a window of 450,000 B, as
/// the registers have them.
fn prefetch(out: &mut Figures) {
    let (mut most, mut share) = (0, Ratio::from(0));
    let on = "PrefetchBufferEnable = true\nCongestionWindow = \"450000B\"";
    let window = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\n";
    let text = uet(on, &format!("{window}{}", message("1MiB", "")));
    see(&text, |world| {
        let nic = &world.nodes[0].nic;
        most = most.max(nic.o.prefetch_pool.occ);
        share = n(nic.o.csr.cfg_prefetch.into()) / n(nic.o.csr.cfg_init_window.into());
        world.clock > world.boot + 20_000
    });
    out.insert("uet.prefetch_pkts", n(u64::from(most)) / out["uet.data_wire"]);
    out.insert("uet.prefetch_share", share);
}

/// RX-2: what the data pool holds when the first packet is dropped.
fn ingress(out: &mut Figures) {
    let slow = "[nic.PCIe]\nLaneCount = 1\nTXDataBufferSize = \"512B\"\n";
    let text = uet("MaxCongestionWindow = 1000", &format!("{slow}{}", message("4MiB", "")));
    let mut most = 0;
    see(&text, |world| {
        let pool = &world.nodes[1].nic.o.ingress_pool;
        most = most.max(pool.held(0));
        pool.drop_valid
    });
    out.insert("uet.ingress_pool0_pkts", n(u64::from(most)) / out["uet.data_ip"]);
}

/// BUF-6, PFC-1, PFC-3: thresholds in bytes, as the registers have them in a run.
fn thresholds(out: &mut Figures) {
    let mut found = Vec::new();
    see(&uet("", &message("0B", "")), |world| {
        let csr = &world.nodes[0].nic.o.csr;
        let of = |levels: &Wide<4>| [levels.0[0] & 0xffff_ffff, levels.0[0] >> 32];
        let [xoff, xon, pool] = [&csr.cfg_xoff, &csr.cfg_xon, &csr.cfg_ingress_pool].map(of);
        let (low, high) = (csr.cfg_penalty_low, csr.cfg_penalty_high);
        found = [xoff, xon, pool, [low.into(), high.into()]].concat();
        world.clock > world.boot
    });
    let [xoff0, xoff1, xon0, xon1, pool0, pool1, low, high] = found[..] else { panic!("eight") };
    for (key, bytes) in [
        ("uet.ing0_pen_lo", low),
        ("uet.ing0_pen_hi", high),
        ("uet.ing0_xoff", xoff0),
        ("uet.ing0_xon", xon0),
        ("uet.ing0_headroom", pool0 - xoff0),
        ("uet.ing1_xoff", xoff1),
        ("uet.ing1_xon", xon1),
        ("uet.ing1_headroom", pool1 - xoff1),
    ] {
        out.insert(key, n(bytes));
    }
}

/// What happens on which packet while the data pool of 3,600,000 B fills and drains.
#[derive(Default)]
struct Fill {
    /// Packets that have come, dropped ones too.
    came: u64,
    /// The first with which the pool holds 25 %, that drew the pause, and that was dropped.
    low: Option<u64>,
    paused: Option<u64>,
    dropped: Option<u64>,
    /// Bytes that the pool holds when the switch is resumed.
    resumed: Option<u32>,
}

impl Fill {
    fn look(&mut self, world: &World) {
        let o = &world.nodes[1].nic.o;
        if o.pause_send.xoff & 1 == 1 {
            // The arrival that drew it stands in the clock before.
            self.paused.get_or_insert(self.came);
        }
        let pool = &o.ingress_pool;
        if pool.arr_valid && pool.arr_cls == 0 {
            self.came += 1;
            if pool.arr_occ >= o.csr.cfg_penalty_low {
                self.low.get_or_insert(self.came);
            }
        }
        if pool.drop_valid {
            self.dropped.get_or_insert(self.came);
        }
        if o.pause_send.xon & 1 == 1 {
            self.resumed.get_or_insert(pool.held(0));
        }
    }
}

/// BUF-6, PFC-1, PFC-3, RX-2: full packets fill the pool at its defaults, in lockstep, because the
/// host takes nothing; then it takes all. The pauses do not reach the peer, and last long, as the
/// port is slow, so that the XON comes of the release (PFC-2).
fn fill(out: &mut Figures) {
    let slow = "IngressBufferManager.PFCEnableVector = [1]\nPCIe.TXDataBufferSize = \"512B\"\n\
                DataRate = \"100Gbps\"\nHostPCIe.RXDataBufferSize = \"512B\"\nHostPCIe.DrainDelay = \"101us\"\n";
    let deaf = "[[switch]]\naction = \"drop\"\nkind = \"pause\"\n";
    let text = uet(
        "MaxCongestionWindow = 1000\nInitialAckTimeout = \"4ms\"",
        &format!("{slow}{}{deaf}", message(&format!("{}B", 870 * 4096), "")),
    );
    let settings = settings(&text);
    let (mut log, mut fill) = (Log::default(), Fill::default());
    let mut world = World::new(&settings);
    while fill.resumed.is_none() {
        assert!(world.clock < settings.limit, "the limit came first");
        if fill.came == 870 {
            world.nodes[1].host.config.drain = 0;
        }
        world = from_here(world, 20_000, &mut log, |world| fill.look(world));
    }
    let [low, paused, dropped] =
        [fill.low, fill.paused, fill.dropped].map(|at| at.expect("it comes"));
    out.insert("uet.ing0_pen_lo_pkts", n(low - 1));
    out.insert("uet.ing0_xoff_pkts", n(paused - 1));
    // Those before the one that drew the pause would be at Xoff: it and others still fit.
    out.insert("uet.ing0_headroom_pkts", n(dropped - paused));
    let resumed = n(fill.resumed.expect("XON").into()) / out["uet.data_ip"];
    assert!(resumed.is_whole());
    out.insert("uet.ing0_xon_pkts", resumed);

    let penalties: Vec<(u64, u8)> = log.0.iter().filter_map(told).collect();
    let first = |least: u8| penalties.iter().find(|p| p.1 >= least).expect("a penalty").0 + 1;
    out.insert("uet.ing0_pen_hi_pkts", n(first(127) - 1));
    // A step of the field is 14,173.2 B: 914,173.2 B are reached with packet 219.
    assert_eq!(first(1), 219);

    let rate = n(settings.nics[0].wire_rate);
    let ends = log.0.iter().filter_map(|e| match &e.2 {
        Event::Sent { back, bytes } if e.1 == 0 && DATA.contains(&bytes[42]) => {
            Some(n(e.0) - n((*back).into()) / rate)
        }
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    let exact = out["uet.ing0_headroom"] / out["uet.data_ip"];
    out.insert("uet.headroom_pkts", exact);
    let pace = (ends[869] - ends[0]) / n(869);
    out.insert("uet.headroom_us", exact * pace / n(1000));
}

/// The packet that drew a SACK of NIC b, and the penalty that it carries.
fn told(e: &(u64, usize, Event)) -> Option<(u64, u8)> {
    match &e.2 {
        Event::Sent { bytes, .. } if e.1 == 1 && bytes[42] == SACK => {
            Some((listed(bytes).0, bytes[86] & 0x7f))
        }
        _ => None,
    }
}

/// PFC-1: what the pool may hold so that the next full packet draws a pause: 687 full packets and
/// one that is charged 1,408 B; with a byte less the one after it does.
fn first_pause(out: &mut Figures) {
    let held = |bytes: u64| {
        let slow = "PCIe.LaneCount = 1\nPCIe.LaneBps = \"1Mbps\"\nPCIe.TXDataBufferSize = \"512B\"\n\
                    IngressBufferManager.PFCEnableVector = [1]\n";
        let first = message(&format!("{}B", 687 * 4096 + bytes), "");
        let then = message("4096B", "at = \"64us\"") + &message("4096B", "at = \"65us\"");
        let on = "MaxCongestionWindow = 1000\nInitialAckTimeout = \"4ms\"";
        let (mut holds, mut before) = (0, None);
        see(&uet(on, &format!("{slow}{first}{then}")), |world| {
            let o = &world.nodes[1].nic.o;
            if o.pause_send.xoff & 1 == 1 {
                before = Some(holds - 4184);
            }
            if o.ingress_pool.arr_valid && o.ingress_pool.arr_cls == 0 {
                holds = o.ingress_pool.arr_occ;
            }
            before.is_some()
        });
        u64::from(before.expect("a pause"))
    };
    out.insert("uet.first_pause_occupancy", n(held(1320)));
    assert_eq!(held(1319), 687 * 4184 + 1407 + 4184, "a byte less draws none");
}

/// PFC-1, PFC-2: a link of 100 Mbps takes next to nothing, so that the pool stays at Xoff, and each
/// half pause time a pause goes out again; the peer stays held.
fn pauses(out: &mut Figures) {
    let slow = "[nic.PCIe]\nLaneCount = 1\nLaneBps = \"100Mbps\"\nTXDataBufferSize = \"512B\"\n";
    let on = "MaxCongestionWindow = 1000\nIngressBufferManager.PFCEnableVector = [1]\n";
    let (mut at, mut held, mut before) = (Vec::new(), 0, (0, 0));
    see(&uet(on, &format!("{slow}{}", message("4MiB", ""))), |world| {
        let (a, b) = (&world.nodes[0].nic, &world.nodes[1].nic);
        let pool = &b.o.ingress_pool;
        if b.o.pause_send.xoff & 1 == 1 {
            if at.is_empty() {
                // The arrival that drew it stands in the clock before; the one ahead of it did not.
                assert!(before.1 < 2_880_000 && before.0 >= 2_880_000, "{before:?}");
            }
            at.push(world.clock);
        }
        if pool.arr_valid && pool.arr_cls == 0 {
            before = (pool.arr_occ, before.0);
        }
        held += u64::from(!at.is_empty() && a.i.egress_arbiter.paused & 1 == 1);
        at.len() == 6
    });
    let (first, last) = (at[0], at[5]);
    // Five halves are whole clocks.
    let half = n(last - first) / n(5);
    out.insert("uet.refresh_us", half / n(1000));
    out.insert("uet.pause_time_us", half * n(2) / n(1000));
    out.insert("uet.pause_quanta_us", (half * n(2) - n(100)) / n(1000));
    // From the arrival of the first on, some hundred clocks behind it, without a gap.
    assert!((last - first - 200..last - first).contains(&held), "{held}");
}

/// BUF-7: the answer to a packet alone.
fn hold(out: &mut Figures) {
    let (mut bytes, mut came, mut went) = (0, None, None);
    see(&uet("", &message("4096B", "")), |world| {
        let nic = &world.nodes[1].nic;
        if nic.i.ack_hold.in_valid && nic.o.ack_hold.in_ready {
            came.get_or_insert(world.clock);
        }
        if nic.o.ack_hold.out_valid {
            bytes = nic.o.ack_hold.out.bytes;
            went.get_or_insert(world.clock);
        }
        went.is_some()
    });
    let exact = n(8 * u64::from(bytes)) / out["pcie.link_rate"];
    let clocks = went.expect("it goes") - came.expect("it came");
    assert_eq!(exact.ceil(), n(clocks), "at the first clock at or after");
    out.insert("uet.ack_hold_ns", exact);
}

/// Every figure of this file.
pub(super) fn measured(out: &mut BTreeMap<&'static str, Ratio>) {
    sizes(out);
    pace(out);
    egress(out);
    restart(out);
    answers(out);
    prefetch(out);
    ingress(out);
    thresholds(out);
    fill(out);
    first_pause(out);
    pauses(out);
    hold(out);
}
