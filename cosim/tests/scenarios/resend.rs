//! Packets that go again: timers, budgets, retransmissions and what they cost.

use cosim::check::Checked;
use cosim::event::Event;
use cosim::host::LinkEvent;
use cosim::world::{Node, World};
use rtl_model::retransmit::Cause;
use rtl_model::types::Why;

use crate::common::{Log, lockstep, message, scenario, settings};

/// RTX-2: every packet that is built and not retired is in exactly one place: in egress, on the
/// wire, waiting to go again, or between two of them for a clock.
fn one_place(node: &Node) {
    let (store, again) = (&node.nic.b.replay_store, &node.nic.b.retransmit);
    for slot in store.live.iter_ones() {
        let between = store.sent_valid && usize::from(store.sent_slot) == slot
            || again.sent_valid && usize::from(again.sent_slot) == slot
            || again.hold_valid && usize::from(again.slot) == slot;
        let places = [store.egress[slot], again.on_wire[slot], again.waits[slot], between];
        assert_eq!(places.iter().filter(|p| **p).count(), 1, "slot {slot}: {places:?}");
    }
}

fn places(world: &World) {
    world.nodes.iter().for_each(one_place);
}

/// Clocks of the packets queued by their timers.
fn timeouts(log: &Log) -> Vec<u64> {
    let timeout = |e: &Event| matches!(e, Event::Queued { cause: Cause::Timeout, .. });
    log.0.iter().filter(|(.., e)| timeout(e)).map(|(clock, ..)| *clock).collect()
}

/// Data frames that a NIC sent.
fn data(log: &Log) -> Vec<Vec<u8>> {
    let of = |e: &Event| match e {
        Event::Sent { bytes, .. } if bytes[42] >> 4 == 0xc => Some(bytes.clone()),
        _ => None,
    };
    log.0.iter().filter_map(|(.., e)| of(e)).collect()
}

/// TMR-1, TMR-2, TMR-3, TMR-4, QP-6, PKT-3, PKT-5, PKT-6: a lone packet of 100 B that is always
/// lost expires at 151, 302, 453, 604, 755, 906, 1,057 and, with Exponential 0, ends its QP at
/// 1,358 µs. Each copy has a new entropy value, both flags and its own codepoint, and no copy reads
/// from the host.
#[test]
fn a_packet_that_is_always_lost_ends_its_qp() {
    // Posted on a tick: boot takes 16,684 clocks.
    let text = message("100B", "at = \"316ns\"")
        + "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\n";
    let head = "limit = \"2000us\"\n[defaults]\nExponentialRetryCount = 0\n";
    let s = settings(&scenario(head, &text));
    let mut log = Log::default();
    let Checked { world, .. } = lockstep(&s, &mut log, places);

    let start = world.boot + 316;
    assert_eq!(start % 1_000, 0);
    let times: Vec<u64> = timeouts(&log).iter().map(|clock| (clock - start) / 1_000).collect();
    assert_eq!(times, [151, 302, 453, 604, 755, 906, 1_057]);
    let ends = log.0.iter().filter(|(.., e)| matches!(e, Event::QpError { .. }));
    let ends: Vec<_> = ends.map(|(clock, _, e)| ((clock - start) / 1_000, e.clone())).collect();
    assert!(matches!(ends[..], [(1_358, Event::QpError { why: Why::Timeout, .. })]), "{ends:?}");

    let frames = data(&log);
    assert_eq!(frames.len(), 8);
    for (n, frame) in frames.iter().enumerate() {
        let again = n > 0;
        assert_eq!(frame[15] >> 2, if again { 8 } else { 4 }, "PKT-3");
        assert_eq!(frame[50] & 0xa0, if again { 0xa0 } else { 0x80 }, "PKT-5");
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        assert_eq!(usize::from(port), 256 + n, "PKT-6: a new entropy value");
        assert_eq!(frame[54..frame.len() - 4], frames[0][54..frame.len() - 4]);
    }
    let read = |e: &Event| matches!(e, Event::Link(LinkEvent::Read { .. }));
    assert_eq!(log.0.iter().filter(|(.., e)| read(e)).count(), 1, "PKT-6: no PCIe traffic");
}

/// RTX-1, RTX-2, SCH-4, TMR-2: messages both ways with a tenth of the data packets lost arrive
/// whole, the default budget being none.
#[test]
fn what_is_lost_goes_again() {
    let back = "[[message]]\nfrom = \"b\"\nto = \"a\"\nbytes = \"60KB\"\n";
    let text = message("100KB", "")
        + back
        + &message("1B", "")
        + "[[switch]]\naction = \"drop\"\nkind = [\"data\", \"retransmission\"]\n\
           probability = 0.1\n";
    let head = "seed = 3\nlimit = \"5000us\"\n[defaults]\nInitialAckTimeout = \"10us\"\n";
    let s = settings(&scenario(head, &text));
    let mut log = Log::default();
    let Checked { world, .. } = lockstep(&s, &mut log, places);
    assert_eq!(world.driver.messages.len(), 3);
    assert_eq!(world.driver.intact, 3);
    assert!(timeouts(&log).len() > 3);
}
