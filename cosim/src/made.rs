//! What a NIC says of a packet when it makes it, before there are bytes on a wire.

use rtl_model::ack_build::State;
use rtl_model::nic::Nic;
use rtl_model::types::{Nack, Qpn};
use serde::{Deserialize, Serialize};

use crate::switch::frame::Kind;

/// A packet made, by the registers of the block that has made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// What it is.
    pub kind: Kind,
    /// Table index of a data packet's QP at this NIC.
    pub qp: Option<u8>,
    /// Destination QP.
    pub qpn: u32,
    /// PSN.
    pub psn: u32,
    /// ACK-request flag.
    pub ack_request: bool,
}

/// The data packet made in the clock before this one.
pub fn data(nic: &Nic) -> Option<Made> {
    let (made, o) = (&nic.b.packet_build, &nic.o.packet_build);
    o.made_valid.then_some(Made {
        kind: if o.made_again { Kind::Retransmission } else { Kind::Data },
        qp: Some(made.built_qp),
        // QP-4.
        qpn: if made.remote_valid { made.remote.0 } else { made.own_qpn.0 },
        psn: made.built_psn.0,
        ack_request: made.built_ack_req,
    })
}

/// The probe that `packet_build` takes in this clock: its number is that of its QP.
pub fn probe(nic: &Nic) -> Option<Made> {
    let qp = nic.o.path_probe.probe_qp;
    let generation = nic.m.qp_table_ctx.peek(usize::from(qp)).generation;
    let qpn = Qpn::new(generation, qp).0;
    let frame = Made { kind: Kind::Probe, qp: None, qpn, psn: 0, ack_request: false };
    (nic.o.path_probe.probe_valid && nic.i.path_probe.probe_ready).then_some(frame)
}

/// The control frame made in the clock before this one; its answer still stands.
pub fn control(nic: &Nic) -> Option<Made> {
    let (made, answer) = (&nic.b.ack_build, &nic.i.ack_build.reply.answer);
    let kind = match (answer.nack, made.state) {
        // With an ACK to come, only that one leaves `Done` behind it.
        (_, State::Done) if answer.ack => Kind::Ack,
        (Nack::None, _) => Kind::Sack,
        _ => Kind::Nack,
    };
    let psn = if kind == Kind::Nack { answer.drew } else { answer.cum };
    let qpn = answer.sender_qpn.0;
    let frame = Made { kind, qp: None, qpn, psn: psn.0, ack_request: false };
    nic.o.ack_build.cresv_valid.then_some(frame)
}
