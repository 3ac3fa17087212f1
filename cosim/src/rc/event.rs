//! What a run of a reliable connection tells its recorders.

use rtl_model::rc_pkg::{Loss, Op, RcCqe, RcDrop, RcWqe, Request, Response, Status};
use rtl_model::types::Psn;

/// An event, in the clock in which its block or its wire shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A work request was posted; it has this SSN.
    Posted(Psn, RcWqe),
    /// A request left the requester; true when the network loses it.
    Sent(Request, bool),
    /// The responder took a request.
    Arrived(Request),
    /// A payload went to the responder's memory; true at the end of a SEND.
    Delivered(bool),
    /// The responder's memory did an atomic operation on this address.
    Executed(u64),
    /// An answer left the responder; true when the network loses it.
    Answered(Response, bool),
    /// The requester got an answer.
    Took(Response),
    /// The responder met a duplicate.
    Duplicate(Op),
    /// The responder dropped a request.
    Dropped(RcDrop),
    /// The requester dropped an answer.
    Stray,
    /// The requester goes back.
    Lost(Loss),
    /// The connection failed.
    Failed(Status),
    /// A work request retired (MSN-3), or was flushed.
    Retired(RcCqe),
    /// A completion entry was written (MSN-5).
    Completed(RcCqe),
}

/// Takes events as they come.
pub trait Sink {
    /// One event.
    fn event(&mut self, clock: u64, event: &Event);
}

/// Keeps them all.
impl Sink for Vec<(u64, Event)> {
    fn event(&mut self, clock: u64, event: &Event) {
        self.push((clock, *event));
    }
}

/// Takes nothing.
impl Sink for () {
    fn event(&mut self, _clock: u64, _event: &Event) {}
}
