//! `switch`: a row for each deed of the switch.

use std::path::Path;

use super::table::{Column, Format, Table};
use crate::record::RecordError;
use crate::settings::Settings;
use crate::switch::Act;

/// The record.
pub struct Deeds {
    table: Table,
}

impl Deeds {
    /// An empty record.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, format: Format) -> Result<Self, RecordError> {
        let columns = [
            Column::count("time_ns", "when"),
            Column::text("from", "NIC that sent the frame; the receiver of a pause of the switch"),
            Column::text("to", "NIC that it goes to"),
            Column::count("rule", "of the scenario, from 0; none for a port's queue"),
            Column::text("action", "what was done"),
            Column::text("kind", "of the frame"),
            Column::count("psn", "BTH's PSN"),
            Column::count("message", "of a data packet, in the order of the posts"),
            Column::count("bytes", "of the frame before"),
        ];
        let row = "each deed of the switch";
        Ok(Self { table: Table::new(folder, "switch", row, &columns, format)? })
    }

    /// Adds a deed.
    pub fn act(&mut self, time_ns: u64, settings: &Settings, act: &Act) {
        let name = |nic: usize| settings.nics[nic].name.as_str();
        self.table.row(&[
            time_ns.into(),
            name(act.from).into(),
            name(act.to).into(),
            act.rule.map(|rule| rule as u64).into(),
            act.what.name().into(),
            act.seen.kind.name().into(),
            act.seen.psn.into(),
            act.seen.message.into(),
            act.bytes.into(),
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
