//! Messages of given lengths on one QP, posted by the host itself: cases 5 and 20, in lockstep.

use std::collections::BTreeMap;

use cosim::check::{Checked, Stop};
use cosim::diagnose::headline;
use cosim::driver::BAR;
use cosim::event::Event;
use cosim::host::LinkEvent;
use cosim::world::{Node, World};
use rtl_model::header::OP_ACK;
use rtl_model::host_interface::{DOORBELL_PAGE, OP_WRITE, Wqe};
use rtl_model::rng::Rng;
use rtl_model::types::{Cqe, Qpn};

use crate::common::{Log, PAIR, built, message, number, settings};

/// What NIC a's port showed: bytes of each beat, with its first and last marks.
type Beats = Vec<(u64, bool, bool)>;

/// Where message `n` lies at NIC a, and at NIC b.
fn places(n: usize) -> [u64; 2] {
    [0x2_0000_0000, 0x5_0000_0000].map(|base| base + (n as u64) * 0x1_0000)
}

/// A world in which NIC a posts a message of each length to NIC b at its time after boot, all on one
/// QP, the first that it opens, in a scenario with more tables.
fn posted(build: &str, more: &str, messages: &[(u32, u64)]) -> World {
    let top = format!("limit = \"60us\"\nbuild = \"{build}\"\n{PAIR}{more}");
    let mut world = World::new(&settings(&top));
    for (n, (length, at)) in messages.iter().enumerate() {
        let ([laddr, raddr], length) = (places(n), *length);
        let source = Rng::new(7, &format!("message {n}")).bytes();
        world.nodes[0].host.memory.map_source(laddr, length.into(), source);
        world.nodes[1].host.memory.map(raddr, length.into());
        let open = n == 0;
        let qpn = if open { Qpn::default() } else { Qpn::new(1, 0) };
        let opcode = OP_WRITE;
        let wqe = Wqe { opcode, open, qpn, dest: 1, length, laddr, raddr, ..Wqe::default() };
        let at = world.boot + at;
        world.nodes[0].host.post(at, BAR + DOORBELL_PAGE, &wqe.to_bytes());
    }
    world
}

/// Plays it in lockstep. Each target is held against its source.
fn play(build: &str, more: &str, messages: &[(u32, u64)]) -> (Log, Beats) {
    let world = posted(build, more, messages);
    let rtl = built(&world.settings);
    follow(Checked::new(world, &rtl).expect("set up"), Log::default(), messages)
}

/// Goes on until all messages are completed and nothing moves.
fn follow(mut checked: Checked, mut log: Log, messages: &[(u32, u64)]) -> (Log, Beats) {
    let settings = checked.world.settings.clone();
    let mut beats = Vec::new();
    while completed(&log, Cqe::Wqe).len() < messages.len()
        || !checked.world.nodes.iter().all(Node::quiet)
    {
        assert!(checked.world.clock < settings.limit, "the limit came first");
        let look = |world: &World| {
            let port = &world.nodes[0].nic.o.port_tx;
            if port.wire_valid {
                beats.push((port.wire_bytes.into(), port.wire_sop, port.wire_eop));
            }
        };
        match checked.run(32, &mut log, look) {
            Ok(()) => {}
            Err(Stop::Differs(m)) => panic!("{}", headline(&settings, &m)),
            Err(Stop::Assertion(nic, e)) => panic!("NIC {nic} failed to {e}"),
        }
    }
    for (n, (length, _)) in messages.iter().enumerate() {
        let [from, to] = [0, 1].map(|nic: usize| {
            let mut bytes = vec![0; *length as usize];
            checked.world.nodes[nic].host.memory.read(places(n)[nic], &mut bytes);
            bytes
        });
        assert!(from == to, "message {n}");
        assert!(*length == 0 || from.iter().any(|byte| *byte != 0));
    }
    (log, beats)
}

/// MSN and bytes of NIC a's completions of a kind.
fn completed(log: &Log, kind: Cqe) -> Vec<(u16, u32)> {
    let of = |e: &(u64, usize, Event)| match e.2 {
        Event::Completed { kind: k, msn, bytes, .. } if k == kind && e.1 == 0 => Some((msn, bytes)),
        _ => None,
    };
    log.0.iter().filter_map(of).collect()
}

/// NIC a's data frames, and their exact ends in units of a clock at 400 Gbps.
fn data(log: &Log) -> Vec<(u64, &[u8])> {
    let frames = log.0.iter().filter_map(|e| match &e.2 {
        Event::Sent { back, bytes } if e.1 == 0 && bytes[42] >> 4 == 0xc => {
            Some((e.0 * 400_000 - u64::from(*back), bytes.as_slice()))
        }
        _ => None,
    });
    frames.collect()
}

/// Case 5, SEG-1, QP-4, RX-8: messages of 0, 4,096 and 0 B on one QP: one packet and one PSN each, no
/// write to the host for 0 B, each completes. The QP field holds the sender's own number with the R
/// bit, until an answer has taught it the receiver's, where R is clear.
#[test]
fn seg_1_empty_messages_around_a_full_one() {
    for build in ["small", "default"] {
        // A QP of a third NIC comes first, so that the numbers at both ends differ.
        let third = "[[nic]]\nname = \"c\"\naddress = \"10.0.0.3\"\nCloseDelay = \"20us\"\n";
        let first = message("0B", "").replace("from = \"a\"", "from = \"c\"");
        let more = format!("{third}{first}");
        let (log, _) = play(build, &more, &[(0, 1_000), (4096, 1_000), (0, 4_000)]);
        let frames = data(&log);
        assert_eq!(frames.iter().map(|f| f.1.len()).collect::<Vec<_>>(), [78, 4174, 78]);
        let psns: Vec<_> = frames.iter().map(|f| number(&f.1[51..54])).collect();
        assert_eq!(psns, [0, 1, 2]);
        let created = log.0.iter().filter_map(|e| match e.2 {
            Event::QpCreated { qpn, sender, dest: 0 | 1 } if e.1 < 2 => Some((sender, qpn)),
            _ => None,
        });
        let numbers: BTreeMap<bool, u32> = created.collect();
        assert_ne!(numbers[&true], numbers[&false]);
        let named = frames.iter().map(|f| (f.1[50] & 0x40 != 0, number(&f.1[47..50]) as u32));
        let (own, receivers) = ((true, numbers[&true]), (false, numbers[&false]));
        assert_eq!(named.collect::<Vec<_>>(), [own, own, receivers]);
        // Payload, and entries of 32 B: three of them, and one for the third NIC's message.
        let written = log.0.iter().filter_map(|e| match e.2 {
            Event::Link(LinkEvent::Written { len, .. }) if e.1 == 1 => Some(len),
            _ => None,
        });
        let mut written: Vec<_> = written.collect();
        written.sort_unstable();
        assert_eq!(written, [[32; 4].as_slice(), &[512; 8]].concat(), "{build}");
        for kind in [Cqe::Send, Cqe::Wqe] {
            assert_eq!(completed(&log, kind), [(0, 0), (1, 4096), (2, 0)], "{kind:?}");
        }
        let received = log.0.iter().filter(|e| matches!(e.2, Event::Received { .. }));
        assert_eq!(received.count(), 4);
    }
}

/// Case 20, SEG-1: lengths around MSS on one QP, back to back behind a pause: the opcodes and bytes
/// in order, each frame begins where the one before has ended, to the exact time, and has one first
/// and one last beat.
#[test]
fn seg_1_opcodes_around_mss() {
    let pause = "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 2000\n";
    for build in ["small", "default"] {
        let messages = [4095, 4096, 4097, 8192, 8193].map(|length| (length, 300));
        let (log, beats) = play(build, pause, &messages);
        let frames = data(&log);
        let found: Vec<_> = frames.iter().map(|f| (f.1[42], f.1.len() - 78)).collect();
        let (only, first, middle, last) = (0xca, 0xc6, 0xc7, 0xc8);
        let wanted = [
            (only, 4095),
            (only, 4096),
            (first, 4096),
            (last, 1),
            (first, 4096),
            (last, 4096),
            (first, 4096),
            (middle, 4096),
            (last, 1),
        ];
        assert_eq!(found, wanted, "{build}");
        for (n, pair) in frames.windows(2).enumerate() {
            let time = pair[1].1.len() as u64 * 8_000;
            assert_eq!(pair[1].0 - pair[0].0, time, "{build}: no bubble before frame {}", n + 1);
        }
        // Each beat is whole but a frame's last, and is marked by its place.
        let all = log.0.iter().filter_map(|e| match &e.2 {
            Event::Sent { bytes, .. } if e.1 == 0 => Some(bytes.len() as u64),
            _ => None,
        });
        let wanted = all.flat_map(|bytes| {
            let beats = bytes.div_ceil(128);
            (0..beats).map(move |n| ((bytes - 128 * n).min(128), n == 0, n + 1 == beats))
        });
        assert_eq!(beats, wanted.collect::<Vec<_>>(), "{build}");
    }
}

/// QP-4, MSN-8: METH's number goes from 65,535 to 0 and the AETH's from 16,777,215 to 0: of messages
/// after the first, as if tens of thousands and millions had gone before.
#[test]
fn msn_8_message_numbers_go_past_their_ends() {
    for build in ["small", "default"] {
        let messages = [0, 64, 4_097, 0, 100].map(|length| (length, 0));
        let mut messages: Vec<_> = messages.into();
        messages.iter_mut().skip(1).for_each(|message| message.1 = 10_000);
        let mut world = posted(build, "", &messages);
        let mut log = Log::default();
        while world.clock < world.boot + 8_000 {
            world.settle(&mut log);
            world.edge();
        }
        let [a, b] = &mut world.nodes[..] else { panic!("two NICs") };
        let (ctx, side) = (&mut a.nic.m.qp_table_ctx, &mut b.nic.m.rx_track_rctx);
        let (mut at_a, mut at_b) = (*ctx.peek(0), *side.peek(0));
        assert_eq!((at_a.posted, at_a.done, at_b.msn), (1, 1, 1), "the first message is through");
        (at_a.posted, at_a.done, at_b.msn) = (65_534, 65_534, 0xff_fffe);
        ctx.poke(0, at_a);
        side.poke(0, at_b);

        let rtl = built(&world.settings);
        let (log, _) = follow(Checked::resume(world, &rtl).expect("resumes"), log, &messages);
        let numbers = [0, 65_534, 65_535, 0, 1];
        for kind in [Cqe::Send, Cqe::Wqe] {
            let bytes = messages.iter().map(|m| m.0);
            assert_eq!(completed(&log, kind), numbers.into_iter().zip(bytes).collect::<Vec<_>>());
        }
        let received = log.0.iter().filter_map(|e| match e.2 {
            Event::Received { msn, .. } => Some(msn),
            _ => None,
        });
        assert_eq!(received.collect::<Vec<_>>(), numbers);
        let meths = data(&log).into_iter().map(|f| [number(&f.1[54..56]), number(&f.1[56..58])]);
        let wanted = [0, 65_534, 65_535, 65_535, 0, 1].map(|n| [n, n]);
        assert_eq!(meths.collect::<Vec<_>>(), wanted, "rqmsn and msn of each packet");
        let aeths = log.0.iter().filter_map(|e| match &e.2 {
            Event::Sent { bytes, .. } if e.1 == 1 && bytes[42] == OP_ACK => {
                Some(number(&bytes[55..58]))
            }
            _ => None,
        });
        let mut aeths: Vec<_> = aeths.collect();
        aeths.dedup();
        assert_eq!(aeths.last(), Some(&2), "{aeths:x?}");
        assert!(aeths.iter().all(|n| *n <= 2 || *n >= 0xff_fffe), "{aeths:x?}");
    }
}
