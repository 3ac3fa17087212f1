//! A reliable connection under way: both ends, their hosts, the network. One value, as the NIC's.

use rtl_model::msn_respond;
use rtl_model::rc_pkg::{Loss, Op, RcDrop, Request, Response, RspKind, Status};
use rtl_model::rc_requester::{self, Requester};
use rtl_model::rc_responder::{self, Responder};
use rtl_model::rng::Rng;
use rtl_model::sizes::Sizes;
use rtl_model::types::Psn;
use rtl_model::unit::Unit;

use super::event::{Event, Sink};
use super::hosts::{Hosts, Operation};
use super::network::{Channel, Packet};
use super::record::{Counts, Seen};
use super::scenario::Settings;

mod waits;

/// AETH syndrome of a refusal: remote operational error. IBTA Vol 1, 9.7.5.2.
const SYNDROME_REFUSED: u8 = 0x63;

/// A connection under way.
#[derive(Clone)]
pub struct World {
    /// The scenario.
    pub settings: Settings,
    /// This clock; 0 is the first after reset, in which the connection is opened.
    pub clock: u64,
    /// The requester.
    pub requester: Requester,
    /// Its inputs of this clock.
    pub requester_inputs: rc_requester::Inputs,
    /// The responder.
    pub responder: Responder,
    /// Its inputs of this clock.
    pub responder_inputs: rc_responder::Inputs,
    /// The hosts.
    pub hosts: Hosts,
    /// How often what happened.
    pub counts: Counts,
    requests: Channel<Request>,
    responses: Channel<Response>,
    /// The payload of the request that the responder took last.
    taken: Vec<u8>,
    /// The payload of the response that came last.
    came: Vec<u8>,
    /// The newest MSN that the responder has sent.
    msn: Psn,
    /// When the atomic operation under way is done, and what it brings.
    atomic: Option<(u64, u64)>,
    stalls: Rng,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Something is to be done.
    Going,
    /// All is retired and nothing moves.
    Finished,
}

/// The sizes that the responder is built with.
pub fn responder_sizes(settings: &Settings) -> Sizes {
    Sizes { reads: settings.records, ..settings.sizes }
}

impl World {
    /// A connection before its first clock. Memories start from words drawn from the seed.
    pub fn new(settings: &Settings) -> Self {
        let s = settings;
        let rng = |stream: &str| Rng::new(s.seed, stream);
        let mut requester = Requester::reset(&s.sizes);
        requester.randomize(&mut rng("requester memories"));
        Self {
            settings: s.clone(),
            clock: 0,
            requester,
            requester_inputs: rc_requester::Inputs {
                cfg_psn: Psn::new(s.psn),
                cfg_msn: Psn::new(s.msn),
                cfg_mtu: s.mtu,
                cfg_retries: s.retries,
                cfg_depth: s.depth,
                cfg_timeout: s.timeout,
                ..Default::default()
            },
            responder: Responder::reset(&responder_sizes(s)),
            responder_inputs: msn_respond::Inputs {
                cfg_psn: Psn::new(s.psn),
                cfg_msn: Psn::new(s.msn),
                cfg_mtu: s.mtu,
                cfg_early: s.early,
                cfg_coalesce: s.coalesce,
                ..Default::default()
            },
            hosts: Hosts::new(s),
            counts: Counts::new(s.sizes.wqes, s.sizes.packets),
            requests: Channel::new(s.delay, s.loss[0], &s.drops[0], rng("requests")),
            responses: Channel::new(s.delay, s.loss[1], &s.drops[1], rng("responses")),
            taken: Vec::new(),
            came: Vec::new(),
            msn: Psn::new(s.msn),
            atomic: None,
            stalls: rng("stalls"),
        }
    }

    /// The connection has failed.
    pub fn failed(&self) -> bool {
        self.requester.replay.failed
    }

    /// Whether all is done.
    pub fn state(&self) -> State {
        let replay = &self.requester.replay;
        let empty = replay.used == 0 && replay.posted == 0 && !replay.tx_valid;
        let quiet = self.responses.quiet() && self.rests() && self.clock > 1;
        if empty && quiet && self.hosts.finished() && !self.requester.retire.cqe_valid {
            State::Finished
        } else {
            State::Going
        }
    }

    /// Packets of which the scenario says what becomes of them, and that have not left: its key,
    /// the packet, and how many have left.
    pub fn never(&self) -> Vec<(&'static str, u64, u64)> {
        let s = &self.settings;
        let (requests, responses) = (self.requests.left(), self.responses.left());
        let of = |key, list: &[u64], left| {
            list.iter().filter(|n| **n > left).map(|n| (key, *n, left)).collect::<Vec<_>>()
        };
        let refuse: Vec<_> = s.refuse.into_iter().collect();
        [
            of("DropRequests", &s.drops[0], requests),
            of("DropResponses", &s.drops[1], responses),
            of("RefuseResponse", &refuse, responses),
        ]
        .concat()
    }

    /// No request is under way, and the responder has done and answered all that came.
    fn rests(&self) -> bool {
        let respond = &self.responder.respond;
        let idle = respond.state == msn_respond::State::Idle && !respond.req_valid;
        let answered = !respond.rsp_valid && respond.owed == 0 && self.atomic.is_none();
        idle && answered && self.requests.quiet()
    }

    /// First half of a clock: outputs from registers, the environment's answers, readys.
    pub fn settle(&mut self, sink: &mut impl Sink) {
        self.requester.drive();
        self.responder.drive();
        self.requester_events(sink);
        self.responder_events(sink);
        self.requester_give();
        self.responder_give();
        self.requester.ready(&self.requester_inputs);
        self.responder.ready(&self.responder_inputs);
        self.requester_take(sink);
        self.responder_take(sink);
    }

    /// Second half: the rising edge.
    pub fn edge(&mut self) {
        let before = Marks::of(self);
        self.requester.clock(&self.requester_inputs);
        self.responder.clock(&self.responder_inputs);
        let after = Marks::of(self);
        self.counts.wraps(&before.0, &after.0);
        if self.failed() && self.rests() && !self.responder.respond.deliver_valid {
            self.hosts.release();
        }
        self.clock += 1;
    }

    /// What the requester shows from registers.
    fn requester_events(&mut self, sink: &mut impl Sink) {
        let (o, clock) = (self.requester.o_replay, self.clock);
        if o.place_valid {
            self.hosts.place(o.place_addr, &self.came);
        }
        if o.stray {
            self.counts.add(Seen::Stray);
            sink.event(clock, &Event::Stray);
        }
        if o.loss_valid {
            self.counts.add(match o.loss {
                Loss::Timeout => Seen::Timeout,
                Loss::Nak => Seen::Nak,
                Loss::Implied => Seen::Implied,
            });
            sink.event(clock, &Event::Lost(o.loss));
        }
        if o.fail_valid {
            let remote = o.fail_status == Status::Remote;
            self.counts.add(if remote { Seen::FailRemote } else { Seen::FailRetries });
            sink.event(clock, &Event::Failed(o.fail_status));
        }
        self.counts.add_if(Seen::StallStore, o.stall_full);
        self.counts.add_if(Seen::StallDepth, o.stall_depth);
        let o = self.requester.o_retire;
        self.counts.add_if(Seen::StallEntry, o.stall_cqe);
        if o.retired_valid {
            self.counts.add_if(Seen::Flushed, o.retired.status == Status::Flushed);
            self.hosts.retired(&o.retired);
            sink.event(clock, &Event::Retired(o.retired));
        }
    }

    /// What the responder shows from registers.
    fn responder_events(&mut self, sink: &mut impl Sink) {
        let (o, clock) = (self.responder.o_respond, self.clock);
        if o.deliver_valid {
            self.hosts.deliver(o.deliver_send, o.deliver_last, o.deliver_addr, &self.taken);
            sink.event(clock, &Event::Delivered(o.deliver_send && o.deliver_last));
        }
        if o.dup_valid {
            self.counts.add(match o.dup_op {
                Op::Send => Seen::AgainSend,
                Op::Write => Seen::AgainWrite,
                Op::Read => Seen::AgainRead,
                Op::Atomic => Seen::AgainAtomic,
            });
            sink.event(clock, &Event::Duplicate(o.dup_op));
        }
        if o.drop_valid {
            let gap = o.drop == RcDrop::Gap;
            self.counts.add(if gap { Seen::DropGap } else { Seen::DropRecord });
            sink.event(clock, &Event::Dropped(o.drop));
        }
        self.counts.add_if(Seen::StallAnswer, o.stall_rsp);
    }

    fn stalls(&mut self, percent: u64) -> bool {
        percent > 0 && self.stalls.percent(percent)
    }

    fn requester_give(&mut self) {
        let (stall, cqe_stall) = (self.settings.stall, self.settings.cqe_stall);
        let (tx_ready, cqe_ready) = (!self.stalls(stall), !self.stalls(cqe_stall));
        let i = &mut self.requester_inputs;
        i.open = self.clock == 0;
        let post = self.hosts.next(self.clock);
        i.post_valid = post.is_some();
        i.post = post.unwrap_or(i.post);
        (i.tx_ready, i.cqe_ready) = (tx_ready, cqe_ready);
        let arrived = self.responses.head(self.clock);
        i.rx_valid = arrived.is_some();
        i.rx = arrived.map_or(i.rx, |packet| packet.header);
    }

    fn responder_give(&mut self) {
        let stall = self.settings.stall;
        let (rsp_ready, atomic_ready) = (!self.stalls(stall), !self.stalls(stall));
        let i = &mut self.responder_inputs;
        i.open = self.clock == 0;
        let arrived = self.requests.head(self.clock);
        i.req_valid = arrived.is_some();
        i.req = arrived.map_or(i.req, |packet| packet.header);
        (i.rsp_ready, i.atomic_ready) = (rsp_ready, atomic_ready && self.atomic.is_none());
        let done = self.atomic.filter(|(at, _)| *at <= self.clock);
        i.result_valid = done.is_some();
        i.result = done.map_or(i.result, |(_, result)| result);
        if done.is_some() {
            self.atomic = None;
        }
    }

    /// Hands over what goes through the requester's ports in this clock.
    fn requester_take(&mut self, sink: &mut impl Sink) {
        let (i, o, clock) = (self.requester_inputs, self.requester.ports(), self.clock);
        if i.post_valid && o.post_ready {
            let ssn = self.hosts.post();
            sink.event(clock, &Event::Posted(ssn, i.post));
        }
        self.counts.add_if(Seen::StallPost, i.post_valid && !o.post_ready && clock > 1);
        if o.cqe_valid && i.cqe_ready {
            self.hosts.completed(&o.cqe);
            sink.event(clock, &Event::Completed(o.cqe));
        }
        if i.rx_valid {
            self.came = self.responses.take().map(|p| p.payload).unwrap_or_default();
            sink.event(clock, &Event::Took(i.rx));
        }
        self.counts.add_if(Seen::StallWire, o.tx_valid && !i.tx_ready);
        if o.tx_valid && i.tx_ready {
            self.hosts.leaves(o.tx_laddr);
            let mut payload = vec![0; usize::from(o.tx.bytes)];
            self.hosts.local.read(o.tx_laddr, &mut payload);
            let lost = self.requests.put(clock, Packet { header: o.tx, payload });
            self.counts.add_if(Seen::RequestLost, lost);
            sink.event(clock, &Event::Sent(o.tx, lost));
        }
    }

    /// Hands over what goes through the responder's ports in this clock.
    fn responder_take(&mut self, sink: &mut impl Sink) {
        let (i, o, clock) = (self.responder_inputs, self.responder.ports(), self.clock);
        if i.req_valid && o.req_ready {
            self.taken = self.requests.take().map(|p| p.payload).unwrap_or_default();
            sink.event(clock, &Event::Arrived(i.req));
        }
        if o.atomic_valid && i.atomic_ready {
            let result = self.hosts.execute(Operation {
                addr: o.atomic_addr,
                add: o.atomic_add,
                operand: o.atomic_operand,
                compare: o.atomic_compare,
            });
            let takes = 1 + self.stalls.below(self.settings.atomic + 1);
            self.atomic = Some((clock + takes, result));
            sink.event(clock, &Event::Executed(o.atomic_addr));
        }
        if o.rsp_valid && i.rsp_ready {
            self.answer(o.rsp, o.rsp_addr, sink);
        }
    }

    /// An answer leaves, with its payload.
    fn answer(&mut self, mut rsp: Response, addr: u64, sink: &mut impl Sink) {
        let mut payload = match rsp.kind {
            RspKind::Atomic => rsp.result.to_le_bytes().to_vec(),
            _ => vec![0; usize::from(rsp.bytes)],
        };
        if rsp.bytes > 0 {
            self.hosts.remote.read(addr, &mut payload);
        }
        if rsp.kind != RspKind::ReadMiddle {
            self.msn = rsp.msn;
        }
        if self.settings.refuse == Some(self.responses.left() + 1) {
            let syndrome = SYNDROME_REFUSED;
            rsp = Response { psn: rsp.psn, syndrome, msn: self.msn, ..Response::default() };
            payload.clear();
        }
        let lost = self.responses.put(self.clock, Packet { header: rsp, payload });
        self.counts.add_if(Seen::ResponseLost, lost);
        sink.event(self.clock, &Event::Answered(rsp, lost));
    }
}

/// Registers whose wraps and ends are counted.
struct Marks([u32; 7]);

impl Marks {
    fn of(world: &World) -> Self {
        let (list, store) = (&world.requester.retire, &world.requester.replay);
        let respond = &world.responder.respond;
        Self([
            store.next_psn.0,
            respond.msn.0,
            u32::from(list.tail),
            u32::from(store.head),
            u32::from(respond.place),
            u32::from(list.count),
            u32::from(store.used),
        ])
    }
}
