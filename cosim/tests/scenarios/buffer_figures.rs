//! S003's figures of the buffers between whole NICs, in lockstep, by their keys in `figures.json`,
//! and the lanes study (PCI-7).

use cosim::event::Nowhere;
use cosim::settings::Settings;
use cosim::world::World;
use rtl_model::host_interface::level;

use crate::common::{PAIR, Passes, message, settings, until};

/// `uet.egress_pool0_pkts`, `uet.egress_pool0_used`, `uet.egress_restart`, `uet.egress_drain_us`,
/// BUF-3, SEG-4: a paused class fills its pool with 54 packets (55 in `mrc`), and no more is
/// fetched. Resumed, and without an answer that would try earlier, the 27th release (28th) leaves
/// half, and a pass begins exactly 15 clocks later, once: the pool fills again and stops it, and the
/// next one begins 15 clocks after the next release that leaves half, and so on. The 54 take 4.54 µs
/// to the exact clock.
#[test]
fn uet_egress_drain_us_and_restart_at_the_27th_release() {
    for (profile, packets, wire, restart) in [("uet", 54, 4202, 27), ("mrc", 55, 4174, 28)] {
        let pause = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 8000\n\
                     at = \"100ns\"\n[[switch]]\naction = \"delay\"\nby = \"30us\"\n\
                     kind = [\"ACK\", \"SACK\"]\n";
        let top = format!(
            "limit = \"60us\"\nprofile = \"{profile}\"\n[defaults]\n\
                           MaxCongestionWindow = 1000\n{PAIR}{pause}"
        );
        let settings = settings(&(top + &message("800KB", "at = \"300ns\"")));
        let (mut starts, mut ends) = (vec![], vec![]);
        let (mut most, mut passes) = (0, Passes::default());
        until(&settings, |world| {
            let (i, o) =
                (&world.nodes[0].nic.i.egress_arbiter, &world.nodes[0].nic.o.egress_arbiter);
            let (clock, rate) = (world.clock, u64::from(i.cfg_wire_rate));
            if world.clock > world.boot && starts.is_empty() {
                most = most.max(level(&o.occ, 0));
            }
            if o.tx_valid {
                starts.push(clock);
            }
            if o.end_valid {
                // Units from the start of the run to the exact end.
                ends.push(clock * rate - u64::from(o.end_back));
            }
            passes.look(clock, &world.nodes[0].nic, ends.len());
            ends.len() == 2 * packets
        });
        assert_eq!(u64::from(most), packets as u64 * wire);
        let units = packets as u64 * wire * 8_000;
        assert_eq!(ends[packets - 1] - starts[0] * 400_000, units, "back to back, exactly");
        assert_eq!(passes.rings[0].1, restart, "the first release that leaves half");
        passes.ring_once_a_stop();
    }
}

/// `uet.egress_pool1_acks`, BUF-3, SACK-6: a paused control class fills its pool of 25,600 B with
/// SACKs and ACKs, to less than what comes next; that waits for a release, and none is dropped.
#[test]
fn uet_egress_pool1_fills_with_answers() {
    let pause = "[[switch]]\naction = \"pause\"\nto = \"b\"\nclasses = [1]\nquanta = 30000\n";
    let top = format!(
        "limit = \"90us\"\nprofile = \"uet\"\n[defaults]\nCloseDelay = \"1us\"\n\
                       InitialAckTimeout = \"4ms\"\n{PAIR}{pause}"
    );
    let settings = settings(&(top + &message("100B", "count = 200\noutstanding = 200")));
    let (mut most, mut left, mut waited, mut sent) = (0, u32::MAX, 0_u64, [0_u32; 2]);
    let done = until(&settings, |world| {
        let b = &world.nodes[1].nic;
        let port = &b.o.egress_arbiter;
        if world.clock > world.boot + 100 {
            most = most.max(level(&port.occ, 1));
            left = left.min(port.ctl_free);
            waited += u64::from(port.ctl_free < 94 && b.i.ack_build.answer_valid);
        }
        if port.end_valid && port.end_cls == 1 {
            sent[usize::from(port.end_len == 78)] += 1;
        }
        assert_eq!(b.o.rx_track.ctrl_drops, 0);
        world.clock.is_multiple_of(64) && world.finished()
    });
    assert!(done, "each message is complete");
    assert!(most + 94 > 25_600 && most <= 25_600 && left < 94, "{most} B, {left} B left");
    assert!(waited > 1_000, "{waited} clocks");
    assert_eq!(sent, [200, 200], "a SACK and an ACK for each message");
}

/// `uet.egress_pool1_acks`, BUF-3, NAK-1: 328 frames of an ACK's size fill the paused control class,
/// and the next one waits for a release though 16 B are left. They are NACKs, which have 78 B as an
/// ACK has: no ACK comes without a SACK (SACK-1). With a SACK and an ACK among them the 328 fill the
/// pool to the byte.
#[test]
fn uet_egress_pool1_acks_328_frames_of_78_bytes() {
    for (first, held) in [(0, 328 * 78), (1, 94 + 327 * 78)] {
        let rules = "[[switch]]\naction = \"pause\"\nto = \"b\"\nclasses = [1]\nquanta = 15000\n\
                     [[switch]]\naction = \"trim\"\ncount = 340\nkind = \"data\"\n";
        let rules = format!("{rules}skip = {first}\n");
        let top = format!(
            "limit = \"90us\"\nprofile = \"uet\"\n[defaults]\nMSS = 1024\n\
             MaxCongestionWindow = 1000\nInitialAckTimeout = \"4ms\"\n{PAIR}{rules}"
        );
        let alone = if first == 1 { message("1KiB", "") } else { String::new() };
        let long = message("340KiB", "at = \"500ns\"");
        let settings = settings(&(top + &alone + &long));
        let (mut full, mut frames, mut waited) = (None, 0, 0_u64);
        let done = until(&settings, |world| {
            let b = &world.nodes[1].nic;
            let (i, port) = (&b.i.egress_arbiter, &b.o.egress_arbiter);
            if port.ctl_free < 78 && b.i.ack_build.answer_valid && world.clock > world.boot {
                full.get_or_insert((frames, level(&port.occ, 1)));
                waited += 1;
            }
            frames += u64::from(i.cresv_valid);
            frames -= u64::from(port.end_valid && port.end_cls == 1);
            assert_eq!(b.o.rx_track.ctrl_drops, 0);
            world.clock.is_multiple_of(64) && world.finished()
        });
        assert!(done, "each message is complete");
        assert_eq!(full, Some((328, held)), "{first} packets before the trimmed ones");
        assert!(waited > 1_000, "{waited} clocks");
    }
}

/// What a receiver at full rate meets, by the clock in which it first does: a service time of more
/// than one step, a penalty, a pause, a drop.
struct Lanes {
    settings: Settings,
    first: [Option<u64>; 4],
    /// The clocks of the packets with which its data pool first held the least that gives a penalty
    /// (a step is 354.3 B), and 80 %.
    reached: [Option<u64>; 2],
    /// What the pool held with the last packet that came.
    held: u32,
}

impl Lanes {
    /// NIC b has so many lanes; with `pause` it sends pauses, with `both` it sends at full rate too.
    fn new(lanes: u64, bytes: &str, pause: bool, both: bool) -> Self {
        let slow = format!(
            "IngressBufferManager.TotalBufferSize = \"100KB\"\nPCIe.LaneCount = {lanes}\n\
             IngressBufferManager.PFCEnableVector = [{}]\nPCIe.TXDataBufferSize = \"8KB\"\n",
            u8::from(pause),
        );
        // The pauses are told, and do not reach the peer: so all of the effects come.
        let deaf = "[[switch]]\naction = \"drop\"\nkind = \"pause\"\n";
        let top = "limit = \"300us\"\nprofile = \"uet\"\n[defaults]\nMaxCongestionWindow = 4000\n";
        let there = message(bytes, "");
        let back = there.replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
        let messages = if both { there + &back } else { there };
        let settings =
            settings(&format!("{top}{PAIR}{slow}{messages}{}", if pause { deaf } else { "" }));
        Self { settings, first: [None; 4], reached: [None; 2], held: 0 }
    }

    /// True when it has dropped a packet, or is done.
    fn look(&mut self, world: &World) -> bool {
        let (i, o) = (&world.nodes[1].nic.i, &world.nodes[1].nic.o);
        let hold = &o.ack_hold;
        let told = hold.held_valid && i.ack_hold.held_ready && hold.stamped.answer.sack;
        let met = [
            told && hold.stamped.service > 1,
            told && hold.stamped.penalty > 0,
            o.pause_send.xoff & 1 == 1,
            o.ingress_pool.drop_valid,
        ];
        for (n, met) in met.into_iter().enumerate() {
            if met {
                self.first[n].get_or_insert(world.clock);
            }
        }
        if o.ingress_pool.arr_valid && o.ingress_pool.arr_cls == 0 {
            self.held = o.ingress_pool.arr_occ;
            for (reached, least) in self.reached.iter_mut().zip([22_500 + 355, 72_000]) {
                if self.held >= least {
                    reached.get_or_insert(world.clock);
                }
            }
        }
        self.first[3].is_some() || world.clock.is_multiple_of(64) && world.finished()
    }

    /// In the model alone.
    fn model(mut self) -> Self {
        let mut world = World::new(&self.settings);
        let mut enough = false;
        while !enough {
            assert!(world.clock < self.settings.limit);
            world.settle(&mut Nowhere);
            enough = self.look(&world);
            world.edge();
        }
        self
    }

    fn lockstep(mut self) -> Self {
        let settings = self.settings.clone();
        assert!(until(&settings, |world| self.look(world)));
        self
    }

    /// Each effect comes, in this order, the penalty from 25 % of 90,000 B and the pause from 80 %.
    fn in_order(&self) {
        let first = self.first;
        assert!(first.iter().all(Option::is_some), "{first:?}");
        assert!(first.is_sorted() && first.windows(2).all(|w| w[0] != w[1]), "{first:?}");
        self.penalty_from_a_quarter();
        let [_, paused] = self.reached.map(|at| at.expect("reached"));
        assert_eq!(first[2], Some(paused + 1), "a pause with that packet");
    }

    /// The SACK of the packet with which the pool held 25 % is the first with a penalty: it is held
    /// for that backlog.
    fn penalty_from_a_quarter(&self) {
        let (told, reached) = (self.first[1].expect("a penalty"), self.reached[0].expect("25 %"));
        assert!((reached..reached + 600).contains(&told), "reached {reached}, told {told}");
    }
}

/// PCI-7, `pcie.lanes14`, `pcie.lanes13`: of 16 to 8 lanes at full-rate receiving 14 keep up and 13
/// do not; then service time, penalty from 25 %, pause at 80 % and drops come in this order.
#[test]
fn pci_7_pcie_lanes13_effects_come_in_order() {
    for lanes in 8..=13 {
        Lanes::new(lanes, "8MB", true, false).lockstep().in_order();
    }
    for lanes in 14..=16 {
        assert_eq!(
            Lanes::new(lanes, "1MB", true, false).lockstep().first,
            [None; 4],
            "{lanes} lanes"
        );
    }
    assert_eq!(Lanes::new(14, "8MB", true, false).model().first, [None; 4]);
}

/// PCI-7: without PFC drops come all the same, and last; no pause does.
#[test]
fn pci_7_pcie_lanes13_without_pfc() {
    let seen = Lanes::new(13, "8MB", false, false).lockstep();
    let [Some(service), Some(penalty), None, Some(drop)] = seen.first else {
        panic!("{:?}", seen.first)
    };
    assert!(service < penalty && penalty < drop, "{:?}", seen.first);
    seen.penalty_from_a_quarter();
    assert!(seen.held + 4_184 > 90_000, "no room: {}", seen.held);
}

/// PCI-7, `uet.pcie_needed_rx_plus_rreq`: 14 lanes keep up while the NIC sends at full rate too, so
/// that its read requests go out among the payloads that it writes.
#[test]
fn pci_7_pcie_lanes14_keep_up_while_the_nic_sends() {
    assert_eq!(Lanes::new(14, "1MB", true, true).lockstep().first, [None; 4]);
}
