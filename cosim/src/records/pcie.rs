//! `pcie-stats`: both directions of each NIC's PCIe link.

use std::path::Path;

use rtl_model::types::BYTE_UNITS;

use super::table::{Column, Format, Table};
use crate::host::{LinkCounts, UNIT};
use crate::record::RecordError;
use crate::world::World;

/// The record of every NIC.
pub struct Pcie {
    table: Table,
}

impl Pcie {
    /// An empty record.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, format: Format) -> Result<Self, RecordError> {
        let columns = [
            Column::count("time_ns", "end of the interval"),
            Column::text("nic", "NIC"),
            Column::text("direction", "nic_to_host or host_to_nic"),
            Column::count("transfers", "TLPs whose last byte has left, so far"),
            Column::count("payload_B", "bytes of payload in them"),
            Column::count("link_B", "bytes that they cost on the link"),
            Column::count("busy_ns", "time that the link was busy with them, rounded down"),
            Column::count("tx_header_buffer_B", "header bytes in the transmit buffer"),
            Column::count("tx_data_buffer_B", "payload bytes in the transmit buffer"),
            Column::count("rx_header_buffer_B", "header bytes in the other end's receive buffer"),
            Column::count("rx_data_buffer_B", "payload bytes in the other end's receive buffer"),
        ];
        let row = "each direction of each NIC's PCIe link, each NDStatsReportInterval";
        Ok(Self { table: Table::new(folder, "pcie-stats", row, &columns, format)? })
    }

    /// The rows of a NIC.
    pub fn row(&mut self, world: &World, nic: usize) {
        let node = &world.nodes[nic];
        let config = &node.host.config;
        let held = node.pcie_buffers();
        let (taken, given) = (&node.host.counts.from_nic, &node.host.transmit.sent);
        let up = (taken, config.nic_rate, [held.nic_transmit, held.host_receive]);
        let down = (given, config.rate, [held.host_transmit, held.nic_receive]);
        for (direction, (counts, rate, buffers)) in [("nic_to_host", up), ("host_to_nic", down)] {
            let LinkCounts { transfers, payload, bytes } = *counts;
            let busy = u128::from(bytes) * u128::from(BYTE_UNITS) / u128::from(rate);
            let [tx, rx] = buffers.map(|room| (UNIT * room.headers, UNIT * room.data));
            self.table.row(&[
                world.clock.into(),
                world.settings.nics[nic].name.as_str().into(),
                direction.into(),
                transfers.into(),
                payload.into(),
                bytes.into(),
                (busy as u64).into(),
                tx.0.into(),
                tx.1.into(),
                rx.0.into(),
                rx.1.into(),
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
