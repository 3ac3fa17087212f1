//! S003's figures, out of runs of profile `uet`.

use std::collections::BTreeMap;

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
        charged = charged.max(world.nodes[1].nic.o.ingress_pool.occ0);
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

/// RX-2: what the data pool holds when the first packet is dropped.
fn ingress(out: &mut Figures) {
    let slow = "[nic.PCIe]\nLaneCount = 1\nTXDataBufferSize = \"512B\"\n";
    let text = uet("MaxCongestionWindow = 1000", &format!("{slow}{}", message("4MiB", "")));
    let mut most = 0;
    see(&text, |world| {
        let pool = &world.nodes[1].nic.o.ingress_pool;
        most = most.max(pool.occ0);
        pool.drop_valid
    });
    out.insert("uet.ingress_pool0_pkts", n(u64::from(most)) / out["uet.data_ip"]);
}

/// Every figure of this file.
pub(super) fn measured(out: &mut BTreeMap<&'static str, Ratio>) {
    sizes(out);
    pace(out);
    egress(out);
    ingress(out);
}
