//! S003's figures, out of runs of profile `uet`.

use std::collections::BTreeMap;

use rtl_model::image::Wide;

use super::{ACK, DATA, Figures, Ratio, SACK, n, see, whole};
use crate::common::{PAIR, message};

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
}

/// BUF-3, SEG-4: a paused sender fills the data pool, and it drains from above half to half.
fn egress(out: &mut Figures) {
    let (mut most, mut first, mut half) = (0, None, None);
    let (mut ends, mut pool) = (0, 0);
    let text = uet("MaxCongestionWindow = 100000", &message("8MiB", ""));
    let seen = see(&text, |world| {
        let nic = &world.nodes[0].nic;
        if world.clock <= world.boot {
            return false;
        }
        pool = pool.max(nic.o.egress_arbiter.egress_free);
        most = most.max(pool - nic.o.egress_arbiter.egress_free);
        if nic.o.egress_arbiter.end_valid {
            ends += 1;
            first.get_or_insert(world.clock);
        }
        if nic.o.egress_arbiter.half_valid && most > pool / 2 {
            half.get_or_insert((ends, pool - nic.o.egress_arbiter.egress_free));
        }
        ends == 200
    });
    assert!(seen.world.clock > 0);
    out.insert("uet.egress_pool0_used", n(u64::from(most)));
    out.insert("uet.egress_pool0_pkts", n(u64::from(most)) / out["uet.data_wire"]);
    out.insert("uet.egress_restart", n(u64::from(pool)) / n(2));
    let drain = out["uet.egress_pool0_pkts"] * out["uet.data_ser_ns"];
    out.insert("uet.egress_drain_us", drain / n(1000));
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

/// A size as the pool's packets of `uet.data_ip` bytes, rounded down.
fn packets(out: &Figures, bytes: Ratio) -> Ratio {
    let exact = bytes / out["uet.data_ip"];
    Ratio::from(exact.0.div_euclid(exact.1))
}

/// BUF-6, PFC-1, PFC-3: thresholds as the registers have them in a run.
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
    for (key, of) in [
        ("uet.ing0_pen_lo_pkts", "uet.ing0_pen_lo"),
        ("uet.ing0_pen_hi_pkts", "uet.ing0_pen_hi"),
        ("uet.ing0_xoff_pkts", "uet.ing0_xoff"),
        ("uet.ing0_xon_pkts", "uet.ing0_xon"),
        ("uet.ing0_headroom_pkts", "uet.ing0_headroom"),
    ] {
        out.insert(key, packets(out, out[of]));
    }
    let exact = out["uet.ing0_headroom"] / out["uet.data_ip"];
    out.insert("uet.headroom_pkts", exact);
    out.insert("uet.headroom_us", exact * out["uet.data_ser_ns"] / n(1000));
    let first = out["uet.ing0_xoff"] - out["uet.data_ip"];
    out.insert("uet.first_pause_occupancy", first);
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
    prefetch(out);
    ingress(out);
    thresholds(out);
    pauses(out);
    hold(out);
    let acks = out["uet.egress_pool1"] / out["uet.ack_wire"];
    out.insert("uet.egress_pool1_acks", Ratio::from(acks.0.div_euclid(acks.1)));
}
