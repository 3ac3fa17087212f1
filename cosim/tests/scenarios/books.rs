//! The books of the NICs: each promise that they hold in every clock of every run is seen to break.

use cosim::check::{Checked, RtlChoice};
use cosim::event::Nowhere;
use cosim::run::{Mode, Outcome, run};
use cosim::world::World;
use rtl_model::ack_take;
use rtl_model::nic::Nic;
use rtl_model::retransmit::State;

use crate::common::{built, message, scenario, settings};

/// Losses on the way, so that packets wait to go again.
const LOSSES: &str = "[[switch]]\naction = \"drop\"\nkind = \"data\"\nprobability = 0.05\n";

/// The sender finds them by any gap.
const GAPS: &str = "SACKLossMinRetxPkts = 0\n";

/// Answers that come late.
const LATE: &str = "[[switch]]\naction = \"delay\"\nby = \"10us\"\nkind = [\"ACK\", \"SACK\"]\n";

/// Traffic one way with losses, under way; `a` sends.
fn under_way(defaults: &str, clocks: u64) -> World {
    behind(LOSSES, defaults, clocks)
}

fn behind(switch: &str, defaults: &str, clocks: u64) -> World {
    let head = format!("limit = \"1ms\"\nbuild = \"small\"\n{defaults}{GAPS}");
    let text = scenario(&head, &format!("{}{switch}", message("1MB", "")));
    let mut world = World::new(&settings(&text));
    let to = world.boot + clocks;
    while world.clock < to {
        world.step(&mut Nowhere);
    }
    world
}

/// Spoils a NIC; whether it could.
type Spoil<'a> = &'a dyn Fn(&mut Nic) -> bool;

/// What breaks in the clocks after this one, the first of which `spoil` can spoil `a`: it says
/// whether it has.
fn breaks(world: &World, words: &str, spoil: Spoil<'_>) -> String {
    let mut world = world.clone();
    let mut spoilt = false;
    for _ in 0..20_000 {
        spoilt = spoilt || spoil(&mut world.nodes[0].nic);
        world.settle(&mut Nowhere);
        if let Some(what) = &world.broken {
            assert!(spoilt, "{what}");
            return what.clone();
        }
        world.edge();
    }
    assert!(spoilt, "nothing to spoil for `{words}`");
    String::new()
}

/// Checks that each spoilt NIC is found out, with these words, its name and the clock.
fn each(world: &World, spoils: &[(&str, Spoil<'_>)]) {
    assert_eq!(breaks(world, "nothing", &|_| true), "");
    for (n, (words, spoil)) in spoils.iter().enumerate() {
        let what = breaks(world, words, *spoil);
        let told = what.starts_with("clock ") && what.contains(": a: ") && what.contains(words);
        assert!(told, "{n}: `{what}` is not `{words}`");
    }
}

/// A slot of those on the wire.
fn on_wire(nic: &Nic) -> Option<usize> {
    let (again, store) = (&nic.b.retransmit, &nic.b.replay_store);
    again.on_wire.iter_ones().find(|slot| store.live[*slot])
}

/// RTX-2, PKT-6, SEG-2, ACK-2: each PSN of an open QP is in exactly one place.
#[test]
fn each_psn_is_in_one_place() {
    let world = under_way("[defaults]\n", 3_000);
    each(
        &world,
        &[
            ("of live, egress, wire, waiting", &|nic| {
                let live = &mut nic.b.replay_store.live;
                let free = live.first_zero();
                free.inspect(|slot| live.set(*slot, true)).is_some()
            }),
            ("of live, egress, wire, waiting", &|nic| {
                let slot = on_wire(nic);
                slot.inspect(|slot| nic.b.retransmit.on_wire.set(*slot, false)).is_some()
            }),
            ("of live, egress, wire, waiting", &|nic| {
                let slot = on_wire(nic);
                slot.inspect(|slot| nic.b.retransmit.waits.set(*slot, true)).is_some()
            }),
            ("of live, egress, wire, waiting", &|nic| {
                let slot = on_wire(nic);
                slot.inspect(|slot| nic.b.replay_store.egress.set(*slot, true)).is_some()
            }),
            // A PSN twice: two slots would hold it. A PSN that is passed over.
            ("are issued after", &|nic| next_psn(nic, u32::MAX)),
            ("are issued after", &|nic| next_psn(nic, 1)),
            ("slots are taken, by the book", &|nic| {
                nic.b.replay_store.used += 1;
                true
            }),
            // Acknowledged, and not retired.
            ("is acknowledged, but Some", &|nic| {
                let tells = nic.b.ack_take.state == ack_take::State::Tell;
                let ahead = on_wire(nic).is_some();
                nic.b.ack_take.cum = nic.b.ack_take.cum.plus(if tells && ahead { 40 } else { 0 });
                tells && ahead
            }),
            ("has no place for", &|nic| {
                let builds = nic.b.packet_build.built_valid;
                nic.o.built_fifo.in_ready &= !builds;
                builds
            }),
            // The end of a frame that is not in egress; a copy that comes from the wire.
            ("was not in egress", &|nic| {
                let gone =
                    nic.b.port_tx.wire_valid && nic.b.port_tx.wire_eop && nic.b.port_tx.gone_data;
                let slot = usize::from(nic.b.port_tx.gone_slot);
                let other = nic.b.replay_store.egress.first_zero().filter(|_| gone);
                other
                    .inspect(|other| nic.b.port_tx.gone_slot = *other as u16)
                    .is_some_and(|o| o != slot)
            }),
            ("goes Waiting to Queued, but holds", &|nic| {
                let offers = nic.b.retransmit.state == State::Offer;
                let slot = on_wire(nic).filter(|_| offers);
                slot.inspect(|slot| nic.b.retransmit.slot = *slot as u16).is_some()
            }),
        ],
    );
    let world = behind(LATE, "[defaults]\nMaxPSNRange = 8\n", 9_000);
    each(
        &world,
        &[("9 PSNs beyond", &|nic| {
            nic.i.tx_scheduler.cfg_range = 1_024;
            true
        })],
    );
}

/// Moves the next PSN of QP 0 between two issues.
fn next_psn(nic: &mut Nic, by: u32) -> bool {
    let idle = !nic.b.tx_scheduler.seg_valid && nic.b.tx_scheduler.state as u8 == 0;
    if idle {
        let mut word = *nic.m.tx_scheduler_qctx.peek(0);
        word.next = word.next.plus(by);
        nic.m.tx_scheduler_qctx.poke(0, word);
    }
    idle
}

/// SEG-3, CC-1: what is in flight is what is issued and neither waits nor is retired; windows stay
/// between one packet and the first window.
#[test]
fn flight_and_windows_are_counted() {
    let at = |nic: &Nic| usize::from(nic.b.tx_scheduler.seg.group);
    let world = under_way("[defaults]\n", 3_000);
    each(
        &world,
        &[
            ("B in flight, by the book", &|nic| {
                nic.b.window.flight_sum += 1;
                true
            }),
            ("of group 1 in flight, by the book", &|nic| {
                let mut window = *nic.m.window_win.peek(at(nic));
                window.flight += 1;
                nic.m.window_win.poke(at(nic), window);
                nic.b.window.state as u8 == 0
            }),
            ("window 1000001 of group 1, not", &|nic| {
                let mut window = *nic.m.window_win.peek(at(nic));
                window.cwnd = 1_000_001;
                nic.m.window_win.poke(at(nic), window);
                nic.b.window.state as u8 == 0
            }),
            ("window 4155 of group 1, not", &|nic| {
                let mut window = *nic.m.window_win.peek(at(nic));
                window.cwnd = 4_155;
                nic.m.window_win.poke(at(nic), window);
                nic.b.window.state as u8 == 0
            }),
            // More is let in than is sent; what leaves is not told, or twice as much.
            ("of group and bytes was let in", &|nic| {
                let tries = nic.b.tx_scheduler.try_valid && nic.b.tx_scheduler.try_commit;
                nic.b.tx_scheduler.try_bytes += u16::from(tries);
                tries
            }),
            ("`window` heard of none", &|nic| std::mem::take(&mut nic.b.ack_take.sub_valid)),
            ("`window` heard of none", &|nic| std::mem::take(&mut nic.b.retransmit.loss_valid)),
            ("leave flight, not", &|nic| {
                let tells = nic.b.ack_take.sub_valid;
                nic.b.ack_take.sub_bytes += if tells { 12_000 } else { 0 };
                tells
            }),
        ],
    );
}

/// BUF-1, BUF-3, BUF-4, BUF-5: pools hold what came less what went, never more than their size, and
/// with what is free they are their size.
#[test]
fn pools_are_counted() {
    let world = under_way("[defaults]\n", 3_000);
    each(
        &world,
        &[
            ("pools hold", &|nic| {
                nic.b.ingress_pool.occ[1] += 1;
                true
            }),
            ("pools hold", &|nic| {
                nic.b.egress_arbiter.occ[0] += 1;
                true
            }),
            ("B in TX_TC0_BUFFER of", &|nic| {
                nic.i.egress_arbiter.cfg_egress_pool.0[0] = 4_000;
                nic.b.egress_arbiter.occ[0] > 4_000
            }),
            ("B free", &|nic| {
                nic.b.egress_arbiter.free[0] -= 1;
                true
            }),
        ],
    );
    let on = "profile = \"uet\"\n[defaults]\nPrefetchBufferEnable = true\n";
    each(
        &under_way(on, 3_000),
        &[
            ("prefetched, by the book", &|nic| {
                nic.b.prefetch_pool.occ += 1;
                true
            }),
            ("prefetched, by the book", &|nic| {
                let clocked = nic.i.prefetch_pool.take_valid;
                nic.b.prefetch_pool.free -= u32::from(clocked);
                clocked
            }),
        ],
    );
}

/// PCI-4, PCI-8: tags and the four buffers of the link.
#[test]
fn tags_and_credits_are_counted() {
    let world = under_way("[defaults]\n", 3_000);
    each(
        &world,
        &[
            ("tags with a read", &|nic| {
                nic.b.payload_fetch.tags_free -= 1;
                true
            }),
            ("transfers wait", &|nic| {
                nic.b.pcie_link.held += 1;
                true
            }),
            ("B of payload wait for the PCIe link", &|nic| {
                nic.b.pcie_link.data_used += 16;
                true
            }),
            ("the NIC counts", &|nic| {
                nic.b.pcie_link.far_hdr += 1;
                true
            }),
            ("the NIC counts", &|nic| {
                nic.b.pcie_link.far_data += 1;
                true
            }),
            ("the host counts", &|nic| {
                nic.b.pcie_room.hdr_used += 1;
                true
            }),
            ("the host counts", &|nic| {
                nic.b.pcie_room.data_used += 1;
                true
            }),
        ],
    );
}

/// What is told, and what spoils a NIC so.
type Left = (&'static str, fn(&mut Nic));

/// A run that has finished has given everything back.
#[test]
fn what_is_left_at_the_end_is_told() {
    let text = scenario("limit = \"1ms\"\nbuild = \"small\"", &message("90KB", ""));
    let mut world = World::new(&settings(&text));
    while !(world.clock.is_multiple_of(64) && world.finished()) {
        world.step(&mut Nowhere);
    }
    assert_eq!(world.left(), None);
    let spoils: [Left; 8] = [
        ("1 B left in RX_TC0_BUFFER", |nic| nic.o.ingress_pool.occ.0[0] = 1),
        ("1 B left in TX_TC0_BUFFER", |nic| nic.o.egress_arbiter.occ.0[0] = 1),
        ("1 B left in the prefetch buffer", |nic| nic.o.prefetch_pool.occ = 1),
        ("1 B left in flight", |nic| nic.b.window.flight_sum = 1),
        ("1 replay slots are taken", |nic| nic.b.replay_store.used = 1),
        ("tags are free", |nic| nic.b.payload_fetch.tags_free -= 1),
        ("left in the buffers of the PCIe link", |nic| nic.b.pcie_link.held = 1),
        ("left in the buffers of the PCIe link", |nic| nic.b.pcie_room.data_used = 1),
    ];
    for (words, spoil) in spoils {
        let mut world = world.clone();
        spoil(&mut world.nodes[0].nic);
        let left = world.left().unwrap_or_default();
        assert!(left.contains(": a: ") && left.contains(words), "`{left}` is not `{words}`");
    }
}

/// A lockstep run stops in the clock in which a promise breaks.
#[test]
fn lockstep_stops_at_a_broken_promise() {
    let text = scenario("limit = \"1ms\"\nbuild = \"small\"", &message("90KB", ""));
    let settings = settings(&text);
    let mut checked = Checked::new(World::new(&settings), &built(&settings)).expect("set up");
    checked.advance(64, &mut Nowhere, |_| ()).expect("agrees");
    checked.world.nodes[0].nic.b.payload_fetch.tags_free -= 1;
    let _ = checked.advance(1_000, &mut Nowhere, |_| ());
    let broken = checked.world.broken.as_deref().unwrap_or_default();
    assert!(broken.starts_with("clock 64: a: "), "{broken}");
    assert_eq!(checked.world.clock, 64);
}

/// ACK-2, SACK-4: in a burst of small packets, faster than their record takes them, none is missed:
/// each is retired before its QP closes.
#[test]
fn a_burst_of_small_packets_is_retired() {
    let burst = message("1B", "count = 200\noutstanding = 200");
    let settings = settings(&scenario("limit = \"400us\"", &burst));
    let run = run(&settings, Mode::ModelOnly, &RtlChoice::default(), &mut Nowhere);
    let run = run.unwrap_or_else(|e| panic!("{e}"));
    assert!(matches!(run.outcome, Outcome::Finished), "{:?}", run.outcome);
}
