//! Requester of a reliable connection: blocks, memories and the wires between them; no logic.
//!
//! Twin of `hdl/rc_requester.sv`. One connection; S002 and docs/rc.md.

use derive::Image;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::ram_1r1w::Ram;
use crate::rc_pkg::{Entry, RcCqe, RcWqe, Request, Response};
use crate::rng::Rng;
use crate::sizes::Sizes;
use crate::types::Psn;
use crate::unit::{See, Unit};
use crate::{rc_replay, wqe_retire};

/// Input ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image, Serialize, Deserialize)]
pub struct Inputs {
    /// From the host: a connection begins.
    pub open: bool,
    /// From the host: the first PSN.
    pub cfg_psn: Psn,
    /// From the host: the MSN that the responder starts from.
    pub cfg_msn: Psn,
    /// From the host: the path MTU as a power of two.
    #[bits(4)]
    pub cfg_mtu: u8,
    /// From the host: the retry budget.
    #[bits(3)]
    pub cfg_retries: u8,
    /// From the host: READs and ATOMICs without a response.
    #[bits(5)]
    pub cfg_depth: u8,
    /// From the host: clocks without news; 0 is never.
    pub cfg_timeout: u32,
    /// From the host.
    pub post_valid: bool,
    /// From the host.
    pub post: RcWqe,
    /// From the host.
    pub cqe_ready: bool,
    /// From the wire.
    pub tx_ready: bool,
    /// From the wire.
    pub rx_valid: bool,
    /// From the wire.
    pub rx: Response,
}

/// Output ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Image)]
pub struct Outputs {
    /// To the host.
    pub post_ready: bool,
    /// To the host.
    pub cqe_valid: bool,
    /// To the host.
    pub cqe: RcCqe,
    /// To the wire.
    pub tx_valid: bool,
    /// To the wire.
    pub tx: Request,
    /// To the host: where the request's payload lies.
    pub tx_laddr: u64,
    /// To the host: the payload of the response of the last clock has a place.
    pub place_valid: bool,
    /// To the host.
    pub place_addr: u64,
}

/// A requester.
#[derive(Clone, Serialize, Deserialize)]
pub struct Requester {
    /// The list of work requests.
    pub retire: wqe_retire::Regs,
    /// The replay store.
    pub replay: rc_replay::Regs,
    /// Work requests.
    pub wqes: Ram<RcWqe>,
    /// Entries of the replay store.
    pub entries: Ram<Entry>,
    /// What the list sees.
    #[serde(skip)]
    pub i_retire: wqe_retire::Inputs,
    /// What the list shows.
    #[serde(skip)]
    pub o_retire: wqe_retire::Outputs,
    /// What the store sees.
    #[serde(skip)]
    pub i_replay: rc_replay::Inputs,
    /// What the store shows.
    #[serde(skip)]
    pub o_replay: rc_replay::Outputs,
}

impl Unit for Requester {
    type Inputs = Inputs;
    type Outputs = Outputs;
    const TOP: &'static str = "rc_requester";

    fn reset(sizes: &Sizes) -> Self {
        Self {
            retire: wqe_retire::Regs::reset(sizes),
            replay: rc_replay::Regs::reset(sizes),
            wqes: Ram::new(sizes.wqes as usize),
            entries: Ram::new(sizes.packets as usize),
            i_retire: wqe_retire::Inputs::default(),
            o_retire: wqe_retire::Outputs::default(),
            i_replay: rc_replay::Inputs::default(),
            o_replay: rc_replay::Outputs::default(),
        }
    }

    fn randomize(&mut self, rng: &mut Rng) {
        self.wqes.randomize(rng);
        self.entries.randomize(rng);
    }

    fn drive(&mut self) {
        self.retire.drive(&mut self.o_retire);
        self.replay.drive(&mut self.o_replay);
        self.i_retire.done_valid = self.o_replay.done_valid;
        self.i_retire.done_wqe = self.o_replay.done_wqe;
        self.i_retire.freed = self.o_replay.freed;
        self.i_retire.fail_valid = self.o_replay.fail_valid;
        self.i_retire.fail_status = self.o_replay.fail_status;
        self.i_replay.issued = self.o_retire.issued;
        self.i_replay.wqe_rdata = self.wqes.rdata;
        self.i_replay.entry_rdata = self.entries.rdata;
    }

    fn ready(&mut self, ports: &Inputs) {
        let i = &mut self.i_retire;
        (i.open, i.cfg_msn) = (ports.open, ports.cfg_msn);
        (i.post_valid, i.post) = (ports.post_valid, ports.post);
        (i.rx_valid, i.rx) = (ports.rx_valid, ports.rx);
        i.cqe_ready = ports.cqe_ready;
        let i = &mut self.i_replay;
        (i.open, i.cfg_psn, i.cfg_mtu) = (ports.open, ports.cfg_psn, ports.cfg_mtu);
        (i.cfg_retries, i.cfg_depth) = (ports.cfg_retries, ports.cfg_depth);
        i.cfg_timeout = ports.cfg_timeout;
        i.tx_ready = ports.tx_ready;
        (i.rx_valid, i.rx) = (ports.rx_valid, ports.rx);
        self.retire.ready(&self.i_retire, &mut self.o_retire);
        self.replay.ready(&self.i_replay, &mut self.o_replay);
    }

    fn clock(&mut self, _ports: &Inputs) {
        if !self.retire.idle(&self.i_retire) {
            self.retire.clock(&self.i_retire, &self.o_retire);
        }
        if !self.replay.idle(&self.i_replay) {
            self.replay.clock(&self.i_replay, &self.o_replay);
        }
        let (retire, replay) = (&self.o_retire, &self.o_replay);
        if replay.wqe_re {
            self.wqes.read(replay.wqe_raddr);
        }
        if retire.wqe_we {
            self.wqes.write(retire.wqe_waddr, retire.wqe_wdata);
        }
        if replay.entry_re {
            self.entries.read(replay.entry_raddr);
        }
        if replay.entry_we {
            self.entries.write(replay.entry_waddr, replay.entry_wdata);
        }
    }

    fn ports(&self) -> Outputs {
        let (retire, replay) = (&self.o_retire, &self.o_replay);
        Outputs {
            post_ready: retire.post_ready,
            cqe_valid: retire.cqe_valid,
            cqe: retire.cqe,
            tx_valid: replay.tx_valid,
            tx: replay.tx,
            tx_laddr: replay.tx_laddr,
            place_valid: replay.place_valid,
            place_addr: replay.place_addr,
        }
    }

    fn instances(&self, see: &mut See<'_>) {
        see("u_retire", &self.o_retire, &self.retire);
        see("u_replay", &self.o_replay, &self.replay);
        see("u_wqes", &(), &self.wqes);
        see("u_entries", &(), &self.entries);
    }

    fn memories(&self, see: &mut dyn FnMut(&str, Vec<u32>)) {
        see("u_wqes", self.wqes.dump());
        see("u_entries", self.entries.dump());
    }
}
