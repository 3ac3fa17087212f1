//! QPs that end before their messages do (QP-6): by a failed read, by a close in the middle. What
//! they held comes back, and the others go on.

use cosim::check::{Checked, Stop};
use cosim::diagnose::headline;
use cosim::driver::BAR;
use cosim::event::Event;
use cosim::host::LinkEvent;
use cosim::made::Made;
use cosim::record::Recorder;
use cosim::settings::Settings;
use cosim::switch::frame::{Kind, sealed};
use cosim::world::World;
use rtl_model::host_interface::{DOORBELL_PAGE, OP_WRITE, Wqe};
use rtl_model::types::{Drop, Psn, Qpn, Refuse};

use crate::common::{Both, Log, built, message, scenario, settings};

/// A scenario in lockstep, whose hosts do more than their drivers.
pub struct Play {
    settings: Settings,
    pub checked: Checked,
    recorder: Recorder,
    pub log: Log,
}

impl Play {
    pub fn new(text: &str) -> Self {
        let settings = settings(text);
        let world = World::new(&settings);
        let recorder = Recorder::new(&world, None).expect("no folder");
        let checked = Checked::new(world, &built(&settings)).expect("set up");
        Self { settings, checked, recorder, log: Log::default() }
    }

    /// Steps until the condition holds.
    pub fn until(&mut self, what: &str, done: impl Fn(&World, &Log) -> bool) {
        while !done(&self.checked.world, &self.log) {
            let world = &self.checked.world;
            let waits = world.waits();
            assert!(world.clock < self.settings.limit, "{what}: {waits:?}");
            match self.checked.step(&mut Both(&mut self.recorder, &mut self.log)) {
                Ok(()) => {}
                Err(Stop::Differs(m)) => panic!("{what}: {}", headline(&self.settings, &m)),
                Err(Stop::Assertion(nic, e)) => panic!("{what}: NIC {nic} failed to {e}"),
            }
        }
    }

    fn post(&mut self, wqe: &Wqe) {
        let clock = self.checked.world.clock;
        let host = &mut self.checked.world.nodes[0].host;
        host.post(clock, BAR + DOORBELL_PAGE, &wqe.to_bytes());
    }

    /// NIC a holds nothing of any packet; neither twin's memories differ.
    pub fn nothing_is_left(&mut self) {
        let nic = &self.checked.world.nodes[0].nic;
        let pool = self.settings.nics[0].buffers.egress[0];
        assert_eq!(nic.o.window.flight_sum, 0, "bytes in flight");
        assert_eq!(nic.o.replay_store.used, 0, "replay slots");
        assert_eq!(u64::from(nic.o.egress_arbiter.egress_free), pool, "egress room");
        assert_eq!(u32::from(nic.o.payload_fetch.tags_free), self.settings.sizes.tags, "tags");
        let drain = &nic.b.qp_drain;
        assert_eq!((drain.fetching, drain.building), (0, 0));
    }
}

/// Packets built at a so far.
fn packets(log: &Log) -> usize {
    let made = |e: &&(u64, usize, Event)| {
        e.1 == 0 && matches!(e.2, Event::Made(Made { kind: Kind::Data, .. }))
    };
    log.0.iter().filter(made).count()
}

fn quiet(world: &World, _: &Log) -> bool {
    world.clock.is_multiple_of(64) && world.nodes.iter().all(cosim::world::Node::quiet)
}

/// PCI-8, QP-6: the source of the first of three messages goes away after some packets: its QP is in
/// error, once; the others of its group are whole; all that it held comes back. A new QP works.
#[test]
fn qp_6_a_failed_read_puts_its_qp_in_error() {
    for (build, packets_before) in [("small", 3), ("default", 3), ("default", 20)] {
        let head = format!("limit = \"400us\"\nbuild = \"{build}\"");
        let back =
            message("100000B", "").replace("from = \"a\"\nto = \"b\"", "from = \"b\"\nto = \"a\"");
        let late = message("4097B", "at = \"60us\"");
        let messages =
            message("600000B", "") + &message("200000B", "") + &message("0B", "") + &back + &late;
        let mut play = Play::new(&scenario(&head, &messages));
        play.until("starts", |_, log| packets(log) == packets_before);
        let laddr = play.checked.world.driver.messages[0].laddr;
        play.checked.world.nodes[0].host.memory.unmap(laddr);
        play.until("ends", |world, _| world.clock.is_multiple_of(64) && world.finished());
        play.nothing_is_left();
        let driver = &play.checked.world.driver;
        let failed: Vec<_> = driver.messages.iter().map(|m| m.failed.is_some()).collect();
        assert_eq!(failed, [true, false, false, false, false], "{build}");
        assert_eq!((driver.intact, driver.corrupted.len()), (4, 0), "{build}");
        assert_eq!(driver.messages[0].done[1], None, "it never completes");
        let errors = &play.recorder.counts[0].qp_errors;
        assert_eq!(errors.clone().into_iter().collect::<Vec<_>>(), [("Read".to_owned(), 1)]);
        assert!(play.recorder.counts[0].failed_reads[&4] > 0, "unsupported requests");
    }
}

/// QP-6: a QP in error takes no message: the post draws an error completion, code 9.
#[test]
fn qp_6_a_qp_in_error_refuses_posts() {
    let head = "limit = \"400us\"\n[defaults]\nCloseDelay = \"30us\"";
    let mut play = Play::new(&scenario(head, &message("600000B", "")));
    play.until("starts", |_, log| packets(log) == 5);
    let laddr = play.checked.world.driver.messages[0].laddr;
    play.checked.world.nodes[0].host.memory.unmap(laddr);
    play.until("fails", |world, _| world.driver.messages[0].failed.is_some());
    let qpn = play.checked.world.driver.messages[0].qpn.expect("known");
    play.post(&Wqe { opcode: OP_WRITE, qpn, dest: 1, length: 64, ..Wqe::default() });
    play.until("ends", |world, _| world.clock.is_multiple_of(64) && world.finished());
    play.nothing_is_left();
    let driver = &play.checked.world.driver;
    assert_eq!(driver.refusals, [(Refuse::QpError as u8, 1)].into());
    let closed = |e: &(u64, usize, Event)| matches!(e.2, Event::QpClosed { sender: true, qpn: n } if n == qpn.0);
    assert!(play.log.0.iter().any(closed), "the host closes it");
}

/// QP-5, QP-6: the host closes a QP in the middle of its message, with fetches, packets in egress and
/// packets on the wire: nothing of it is left, its slot comes round, and its old life's
/// acknowledgements meet nobody.
#[test]
fn qp_6_a_close_in_the_middle_empties_the_qp() {
    for (build, packets_before) in [("small", 2), ("default", 1), ("default", 40)] {
        let head = format!("limit = \"200us\"\nbuild = \"{build}\"");
        let mut play = Play::new(&scenario(&head, &message("600000B", "")));
        play.until("starts", |_, log| packets(log) == packets_before);
        let qpn = Qpn::new(1, 0);
        play.post(&Wqe::close_sender(qpn));
        let closed = |e: &(u64, usize, Event)| matches!(e.2, Event::QpClosed { sender: true, qpn: n } if n == qpn.0);
        play.until("closes", |_, log| log.0.iter().any(closed));
        play.until("is quiet", quiet);
        play.nothing_is_left();
        let sent = packets(&play.log);
        assert!(sent >= packets_before && sent < 147, "{build}: {sent} packets");
        assert!(play.recorder.counts[0].qp_errors.is_empty(), "a close is no error");
        assert_eq!(play.checked.world.driver.messages[0].done[1], None);
    }
}

/// The first ACK that the second NIC sends, without its FCS.
fn first_ack(play: &mut Play) -> Vec<u8> {
    let ack = |e: &(u64, usize, Event)| match &e.2 {
        Event::Sent { bytes, .. } if e.1 == 1 && Kind::of(bytes) == Kind::Ack => {
            Some(bytes[..bytes.len() - 4].to_vec())
        }
        _ => None,
    };
    play.until("acknowledges", |_, log| log.0.iter().any(|e| ack(e).is_some()));
    play.log.0.iter().find_map(ack).expect("just seen")
}

/// SACK-5, ACK-2: messages of one packet, one at a time, so that nothing else is outstanding; for
/// each comes a forged ACK of its packet, a clock later after the read of its payload than the one
/// before. The first ones name a PSN that is not given and count for nothing, the last ones retire
/// the packet before it has arrived: either way nothing is left, and no timer is needed. (The bench
/// of `ack_take` has the packet that is given and not built yet.)
#[test]
fn sack_5_a_forged_ack_meets_the_packet_at_each_clock_of_its_building() {
    const MESSAGES: u32 = 40;
    let one = message("4096B", &format!("count = {MESSAGES}\none_qp = true\noutstanding = 1"));
    let mut play = Play::new(&scenario("limit = \"150us\"", &one));
    let template = first_ack(&mut play);
    let first = Psn(u32::from_be_bytes([0, template[51], template[52], template[53]]));
    let read =
        |e: &&(u64, usize, Event)| matches!(e.2, Event::Link(LinkEvent::Read { .. })) && e.1 == 0;
    for n in 1..MESSAGES {
        play.until("reads", |_, log| log.0.iter().filter(read).count() > n as usize);
        // The next read follows 470 clocks later; the frame takes 110 to ack_take.
        let at = play.checked.world.clock + 430 + u64::from(n);
        play.until("goes on", |world, _| world.clock == at);
        let mut forged = template.clone();
        forged[51..54].copy_from_slice(&first.plus(n + 1).0.to_be_bytes()[1..]);
        play.checked.world.switch.inject(at, 0, sealed(forged));
    }
    play.until("ends", |world, _| world.clock.is_multiple_of(64) && world.finished());
    let count = |what: &dyn Fn(&Event) -> bool| {
        play.log.0.iter().filter(|e| e.1 == 0 && what(&e.2)).count()
    };
    let drops = count(&|e| matches!(e, Event::Dropped(Drop::Psn)));
    assert!((5..35).contains(&drops), "{drops} named a PSN that was not given");
    assert_eq!(count(&|e| matches!(e, Event::Queued { .. })), 0, "goes again");
    play.nothing_is_left();
}

/// MSN-8: an ACK carries the MSN, and completes nothing by it. One that acknowledges the first of
/// two messages and says that both are complete leaves the second open; it completes once, when its
/// last packet is acknowledged.
#[test]
fn msn_8_completion_goes_by_psn_only() {
    for msn in [2_u32, 3, 0x7f_ffff, 0xff_ffff] {
        let two = message("600000B", "count = 2\none_qp = true");
        let mut play = Play::new(&scenario("limit = \"400us\"", &two));
        let mut forged = first_ack(&mut play);
        assert_eq!(forged[55..58], [0, 0, 1], "one message is complete");
        forged[55..58].copy_from_slice(&msn.to_be_bytes()[1..]);
        let created = |e: &&(u64, usize, Event)| {
            matches!(e.2, Event::QpCreated { sender: true, .. }) && e.1 == 0
        };
        assert_eq!(play.log.0.iter().filter(created).count(), 1, "both on one QP");
        let start = play.checked.world.clock;
        play.checked.world.switch.inject(start, 0, sealed(forged));
        let arrived = |world: &World, _: &Log| world.clock == start + 2_000;
        play.until("takes the ACK", arrived);
        assert_eq!(play.checked.world.driver.messages[1].done[1], None, "MSN {msn}");
        play.until("ends", |world, _| world.clock.is_multiple_of(64) && world.finished());
        let done = |e: &&(u64, usize, Event)| matches!(e.2, Event::Completed { .. } if e.1 == 0);
        assert_eq!(play.log.0.iter().filter(done).count(), 4, "SEND and WQE, once each");
        play.nothing_is_left();
    }
}
