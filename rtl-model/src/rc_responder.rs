//! Responder of a reliable connection: its block and its ports; no logic.
//!
//! Twin of `hdl/rc_responder.sv`. One connection; S002 and docs/rc.md.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::msn_respond;
use crate::rc_pkg::Response;
use crate::rng::Rng;
use crate::sizes::Sizes;
use crate::unit::{See, Unit};

/// Input ports.
pub type Inputs = msn_respond::Inputs;

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To the wire.
    pub req_ready: bool,
    /// To the host: the payload of the last request taken has a place.
    pub deliver_valid: bool,
    /// To the host: in the next receive buffer.
    pub deliver_send: bool,
    /// To the host: its message is complete.
    pub deliver_last: bool,
    /// To the host: an address, or an offset in the receive buffer.
    pub deliver_addr: u64,
    /// To the host.
    pub atomic_valid: bool,
    /// To the host: fetch and add.
    pub atomic_add: bool,
    /// To the host.
    pub atomic_addr: u64,
    /// To the host.
    pub atomic_operand: u64,
    /// To the host.
    pub atomic_compare: u64,
    /// To the wire.
    pub rsp_valid: bool,
    /// To the wire.
    pub rsp: Response,
    /// To the host: where the answer's payload lies.
    pub rsp_addr: u64,
}

/// A responder.
#[derive(Clone, Serialize, Deserialize)]
pub struct Responder {
    /// Its block.
    pub respond: msn_respond::Regs,
    /// What the block sees.
    #[serde(skip)]
    pub i_respond: msn_respond::Inputs,
    /// What the block shows.
    #[serde(skip)]
    pub o_respond: msn_respond::Outputs,
}

impl Unit for Responder {
    type Inputs = Inputs;
    type Outputs = Outputs;
    const TOP: &'static str = "rc_responder";

    fn reset(sizes: &Sizes) -> Self {
        Self {
            respond: msn_respond::Regs::reset(sizes),
            i_respond: Inputs::default(),
            o_respond: msn_respond::Outputs::default(),
        }
    }

    fn randomize(&mut self, _rng: &mut Rng) {}

    fn drive(&mut self) {
        self.respond.drive(&mut self.o_respond);
    }

    fn ready(&mut self, ports: &Inputs) {
        self.i_respond = *ports;
        self.respond.ready(&self.i_respond, &mut self.o_respond);
    }

    fn clock(&mut self, _ports: &Inputs) {
        if !self.respond.idle(&self.i_respond) {
            self.respond.clock(&self.i_respond, &self.o_respond);
        }
    }

    fn ports(&self) -> Outputs {
        let o = &self.o_respond;
        Outputs {
            req_ready: o.req_ready,
            deliver_valid: o.deliver_valid,
            deliver_send: o.deliver_send,
            deliver_last: o.deliver_last,
            deliver_addr: o.deliver_addr,
            atomic_valid: o.atomic_valid,
            atomic_add: o.atomic_add,
            atomic_addr: o.atomic_addr,
            atomic_operand: o.atomic_operand,
            atomic_compare: o.atomic_compare,
            rsp_valid: o.rsp_valid,
            rsp: o.rsp,
            rsp_addr: o.rsp_addr,
        }
    }

    fn instances(&self, see: &mut See<'_>) {
        see("u_respond", &self.o_respond, &self.respond);
    }

    fn memories(&self, _see: &mut dyn FnMut(&str, Vec<u32>)) {}
}
