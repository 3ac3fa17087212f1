//! `mrc-events`: a row for each event of a QP and of a message.

use std::path::Path;

use rtl_model::types::{Cqe, Why};

use super::table::{Cell, Column, Format, Table};
use crate::event::Event;
use crate::record::RecordError;

/// The record of every NIC.
pub struct Events {
    table: Table,
}

/// The cells of a row behind its name.
#[derive(Clone, Copy, Default)]
struct Row {
    qpn: u32,
    msn: Option<u16>,
    peer: Option<u16>,
    bytes: Option<u32>,
    why: Option<Why>,
}

impl Events {
    /// An empty record.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, format: Format) -> Result<Self, RecordError> {
        let columns = [
            Column::count("time_ns", "when"),
            Column::text("nic", "NIC"),
            Column::text(
                "event",
                "QP_CREATED, QP_CLOSED, QP_ERROR, MESSAGE_POSTED, SEND_COMPLETE, WQE_COMPLETE, \
                 RECV_COMPLETE",
            ),
            Column::text("qpn", "number of the QP at this NIC"),
            Column::count("msn", "messages of the QP before this one"),
            Column::count("peer", "index of the other NIC"),
            Column::count("bytes", "of the message"),
            Column::text("why", "of QP_ERROR: Read (PCI-8), Timeout (TMR-4), Nack (NAK-2)"),
        ];
        let row = "each event of a QP or a message at a NIC with EnableEventLogging";
        Ok(Self { table: Table::new(folder, "mrc-events", row, &columns, format)? })
    }

    /// Adds an event's row, where it has one.
    pub fn event(&mut self, time_ns: u64, nic: &str, event: &Event) {
        let Some((name, row)) = row(event) else { return };
        self.table.row(&[
            time_ns.into(),
            nic.into(),
            name.into(),
            format!("{:#08x}", row.qpn).into(),
            row.msn.into(),
            Cell::from(row.peer),
            row.bytes.into(),
            row.why.map(|why| format!("{why:?}")).into(),
        ]);
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When a write has failed.
    pub fn finish(self) -> Result<(), RecordError> {
        self.table.finish()
    }
}

fn row(event: &Event) -> Option<(&'static str, Row)> {
    Some(match event {
        Event::QpCreated { qpn, dest, .. } => {
            ("QP_CREATED", Row { qpn: *qpn, peer: Some((*dest).into()), ..Row::default() })
        }
        Event::QpError { qpn, why } => {
            ("QP_ERROR", Row { qpn: *qpn, why: Some(*why), ..Row::default() })
        }
        Event::QpClosed { qpn, .. } => ("QP_CLOSED", Row { qpn: *qpn, ..Row::default() }),
        Event::Posted { qpn, msn, bytes, dest } => {
            let peer = Some((*dest).into());
            let (msn, bytes) = (Some(*msn), Some(*bytes));
            ("MESSAGE_POSTED", Row { qpn: *qpn, msn, peer, bytes, ..Row::default() })
        }
        Event::Completed { kind, qpn, msn, bytes } => {
            let name = match kind {
                Cqe::Send => "SEND_COMPLETE",
                Cqe::Wqe => "WQE_COMPLETE",
                Cqe::Recv | Cqe::Error => return None,
            };
            (name, Row { qpn: *qpn, msn: Some(*msn), bytes: Some(*bytes), ..Row::default() })
        }
        Event::Received { qpn, msn } => {
            ("RECV_COMPLETE", Row { qpn: *qpn, msn: Some(*msn), ..Row::default() })
        }
        _ => return None,
    })
}
