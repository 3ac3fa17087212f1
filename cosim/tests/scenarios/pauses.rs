//! PFC between whole NICs, in lockstep: pauses sent for a slow host, pauses obeyed, disciplines.

use cosim::check::Checked;
use cosim::event::Event;
use cosim::world::World;
use rtl_model::types::Drop;

use crate::common::{Log, PAIR, built, lockstep, message, scenario, settings};

/// A frame that a NIC sent: the clock, and its bytes.
fn sent(log: &Log, nic: usize) -> Vec<(u64, &[u8])> {
    let frames = log.0.iter().filter_map(|(clock, at, event)| match event {
        Event::Sent { bytes, .. } if *at == nic => Some((*clock, bytes.as_slice())),
        _ => None,
    });
    frames.collect()
}

fn is_pfc(frame: &[u8]) -> bool {
    frame[12..14] == [0x88, 0x08]
}

/// PFC-1 to PFC-4: a host of 8 lanes cannot keep up; the pool reaches Xoff, the peer is paused, the
/// drained pool resumes it, and nothing is dropped.
#[test]
fn pfc_1_a_slow_host_pauses_the_peer_and_nothing_is_lost() {
    let slow = "IngressBufferManager.TotalBufferSize = \"200KB\"\n\
                IngressBufferManager.PFCEnableVector = [1]\n\
                PCIe.LaneCount = 8\nPCIe.TXDataBufferSize = \"4KB\"\n";
    let text =
        format!("limit = \"200us\"\nprofile = \"uet\"\n{PAIR}{slow}\n{}", message("700KB", ""));
    let settings = settings(&text);
    let (xoff, xon) = (settings.nics[1].buffers.xoff[0], settings.nics[1].buffers.xon[0]);
    assert_eq!((xoff, xon), (144_000, 72_000));
    let mut log = Log::default();
    let (mut most, mut paused, mut started) = (0, 0_u64, 0);
    let done = lockstep(&settings, &mut log, |world| {
        let (a, b) = (&world.nodes[0].nic, &world.nodes[1].nic);
        most = most.max(b.o.ingress_pool.held(0));
        let held = a.i.egress_arbiter.paused & 1 == 1;
        paused += u64::from(held);
        // A frame is chosen in the clock before it starts.
        started += u64::from(held && a.o.egress_arbiter.cls_ready & 1 == 1);
    });
    assert_eq!(done.world.driver.intact, 1);
    assert_eq!(started, 0, "no data is chosen while its class is held");
    assert!(paused > 1_000, "{paused} clocks");
    assert!(u64::from(most) >= xoff && most < 180_000, "{most} B");
    assert!(!log.0.iter().any(|e| matches!(e.2, Event::Dropped(Drop::Pool))));
    let frames = sent(&log, 1);
    let pfc: Vec<_> = frames.iter().filter(|f| is_pfc(f.1)).collect();
    let quanta = |f: &[u8]| u16::from_be_bytes([f[18], f[19]]);
    assert!(pfc.len() >= 2 && pfc.iter().all(|f| f.1.len() == 64 && f.1[16..18] == [0, 1]));
    for (n, frame) in pfc.iter().enumerate() {
        let want = if n % 2 == 0 { 65_535 } else { 0 };
        assert_eq!(quanta(frame.1), want, "pause and XON in turn, for the pool drains in time");
    }
}

/// PFC-4, case 16: the switch pauses class 0 and data waits; it pauses class 1 and ACKs do.
#[test]
fn pfc_4_the_switch_holds_one_class() {
    for (class, held) in [(0, 0xca), (1, 0xd1)] {
        let nic = if class == 0 { "a" } else { "b" };
        let rule = format!(
            "[[switch]]\naction = \"pause\"\nto = \"{nic}\"\nclasses = [{class}]\nquanta = 2000\n"
        );
        let settings =
            settings(&scenario("limit = \"100us\"", &(message("100B", "at = \"1us\"") + &rule)));
        let mut log = Log::default();
        let (mut first, mut last) = (None, 0);
        lockstep(&settings, &mut log, |world| {
            let n = usize::from(class == 1);
            if world.nodes[n].nic.i.egress_arbiter.paused == 1 << class {
                first.get_or_insert(world.clock);
                last = world.clock;
            }
        });
        // 2,000 quanta are 2,560 ns, and the Delay 100 more.
        assert_eq!(last - first.expect("it was held") + 1, 2_660);
        let frames = sent(&log, usize::from(class == 1));
        let at = frames.iter().find(|f| f.1[42] == held).expect("it was sent").0;
        assert!((last..last + 20).contains(&at), "{at}: at once behind {last}");
    }
}

/// What NIC b's SACKs say, with what its data pool then held: penalty, service time, occupancy.
fn told(text: &str) -> Vec<(u8, u16, u32)> {
    let mut seen = Vec::new();
    let settings = settings(text);
    let done = lockstep(&settings, &mut Log::default(), |world| {
        let nic = &world.nodes[1].nic;
        let (i, o) = (&nic.i.ack_hold, &nic.o.ack_hold);
        if i.in_valid && o.in_ready && i.r#in.sack {
            seen.push((0, 0, i.occ));
        }
        if (o.held_valid && i.held_ready) && o.stamped.answer.sack {
            let last = seen.last_mut().expect("it came");
            (last.0, last.1) = (o.stamped.penalty, o.stamped.service);
        }
    });
    assert!(done.world.driver.intact >= 1);
    seen
}

/// BUF-6, BUF-7, PCI-7: behind 13 lanes the backlog grows, and the SACKs say so in service time and
/// penalty; behind 14 lanes it does not.
#[test]
fn buf_6_buf_7_pci_7_a_slow_host_shows_in_the_sacks() {
    for (lanes, backs_up) in [(14, false), (13, true)] {
        let slow = format!(
            "IngressBufferManager.TotalBufferSize = \"40KB\"\nPCIe.LaneCount = {lanes}\n\
             PCIe.TXDataBufferSize = \"4KB\"\n"
        );
        let text = format!(
            "limit = \"200us\"\nprofile = \"uet\"\n{PAIR}{slow}\n{}",
            message("1200KB", "")
        );
        let seen = told(&text);
        for (says, _, held) in &seen {
            let over = held.saturating_sub(9_000).min(18_000);
            assert_eq!(u32::from(*says), over * 127 / 18_000, "{held} B of 36,000");
        }
        let (service, penalty) = (seen.iter().map(|s| s.1).max(), seen.iter().map(|s| s.0).max());
        assert_eq!(service > Some(1), backs_up, "{lanes} lanes: {service:?}");
        assert_eq!(penalty > Some(0), backs_up, "{lanes} lanes: {penalty:?}");
    }
}

/// PFC-1, case 15: with 2,875,816 B held a full packet draws a pause, with one byte less it does
/// not. The host takes nothing meanwhile.
#[test]
fn case_15_pfc_1_the_first_pause_to_the_byte() {
    for (last, pauses) in [(1_320, 1), (1_319, 0)] {
        let slow = "IngressBufferManager.PFCEnableVector = [1]\nPCIe.LaneCount = 1\n\
                    PCIe.LaneBps = \"1Mbps\"\nPCIe.TXDataBufferSize = \"512B\"\n";
        // 687 packets of 4,184 B, one of 1,408 B or 1,407 B, and one more.
        let bytes = [(687 * 4096, 0), (last, 62), (4096, 64)];
        let messages = bytes.map(|(n, at)| message(&format!("{n}B"), &format!("at = \"{at}us\"")));
        let top = "limit = \"200us\"\nprofile = \"uet\"\n[defaults]\nMaxCongestionWindow = 1000\n";
        let text = format!("{top}{PAIR}{slow}\n{}", messages.concat());
        let settings = settings(&text);
        let (mut held, mut asked) = (0, 0);
        let mut checked = Checked::new(World::new(&settings), &built(&settings)).expect("set up");
        let (mut arrivals, mut more) = (0, 4);
        while more > 0 {
            let look = |world: &World| {
                let b = &world.nodes[1].nic.o;
                asked += u32::from(b.pause_send.xoff);
                if b.ingress_pool.arr_valid && b.ingress_pool.arr_cls == 0 {
                    arrivals += 1;
                    held = b.ingress_pool.arr_occ;
                }
            };
            let step = checked.step_with(&mut Log::default(), look);
            assert!(step.is_ok(), "model and RTL differ");
            assert!(checked.world.clock < settings.limit, "{arrivals} packets arrived");
            more -= u32::from(arrivals == 689);
        }
        assert_eq!(u64::from(held), 687 * 4184 + last + 88 + 4184);
        assert_eq!(asked, pauses);
    }
}
