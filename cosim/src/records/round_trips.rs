//! `rtt-samples`: a row for each round trip that a NIC measures.

use std::path::Path;

use rtl_model::rtt_sample::Origin;

use super::table::{Column, Format, Table};
use crate::event::Event;
use crate::record::RecordError;

/// What an origin is called.
pub fn name(origin: Origin) -> &'static str {
    match origin {
        Origin::Sack => "SACK",
        Origin::Nack => "NACK",
        Origin::Probe => "probe",
    }
}

/// The record of every NIC.
pub struct RoundTrips {
    table: Table,
}

impl RoundTrips {
    /// An empty record.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, format: Format) -> Result<Self, RecordError> {
        let columns = [
            Column::count("time_ns", "when"),
            Column::text("nic", "NIC that measured it"),
            Column::count("peer", "index of the other NIC"),
            Column::text("origin", "SACK, NACK, or probe for the answer to one"),
            Column::count("rtt_ns", "the round trip, less the service time that was reported"),
        ];
        let row = "each round trip measured at a NIC with EnableMonitor";
        Ok(Self { table: Table::new(folder, "rtt-samples", row, &columns, format)? })
    }

    /// Adds an event's row, where it has one.
    pub fn event(&mut self, time_ns: u64, nic: &str, event: &Event) {
        if let Event::RoundTrip { origin, dest, rtt } = event {
            let peer = u64::from(*dest);
            let origin = name(*origin);
            self.table.row(&[
                time_ns.into(),
                nic.into(),
                peer.into(),
                origin.into(),
                (*rtt).into(),
            ]);
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When a write has failed.
    pub fn finish(self) -> Result<(), RecordError> {
        self.table.finish()
    }
}
