//! `net-buff-stats` at intervals, and `net-buff-series` with every change.

use std::path::Path;

use rtl_model::nic::Nic;

use super::table::{Column, Format, Table};
use crate::record::RecordError;
use crate::settings::NicSettings;
use crate::world::World;

/// A pool as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Its name in the records.
    pub name: String,
    /// Bytes charged, or reserved.
    pub occupancy: u64,
    /// Its size.
    pub size: u64,
}

/// The pools of a NIC: ingress, then egress.
pub fn pools(nic: &Nic, settings: &NicSettings) -> Vec<Pool> {
    let ingress = [nic.o.ingress_pool.occ0, nic.o.ingress_pool.occ1].map(u64::from);
    let free = [nic.o.egress_arbiter.egress_free, nic.o.egress_arbiter.ctl_free].map(u64::from);
    let pool = |side: &str, n: usize, occupancy: u64, size: u64| Pool {
        name: format!("{side}_TC{n}_BUFFER"),
        occupancy,
        size,
    };
    let rx = ingress.iter().zip(settings.buffers.ingress).enumerate();
    let tx = free.iter().zip(settings.buffers.egress).enumerate();
    rx.map(|(n, (held, size))| pool("RX", n, *held, size))
        .chain(tx.map(|(n, (free, size))| pool("TX", n, size.saturating_sub(*free), size)))
        .collect()
}

fn columns() -> Vec<Column> {
    vec![
        Column::count("time_ns", "when"),
        Column::text("nic", "NIC"),
        Column::text("buffer", "RX or TX, and the class"),
        Column::count("occupancy_B", "bytes charged (RX) or reserved (TX)"),
        Column::count("buffer_max_size_B", "the pool's size"),
    ]
}

/// A table of occupancies.
pub struct Buffers {
    table: Table,
    /// What each NIC's pools held in the last row.
    last: Vec<Vec<u64>>,
}

impl Buffers {
    /// `net-buff-stats`.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn at_intervals(folder: &Path, nics: usize, format: Format) -> Result<Self, RecordError> {
        let row = "each pool of a NIC with EnableBufferStats, each \
                   NetworkBufferStatsReportingInterval";
        let table = Table::new(folder, "net-buff-stats", row, &columns(), format)?;
        Ok(Self { table, last: vec![Vec::new(); nics] })
    }

    /// `net-buff-series`.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn series(folder: &Path, nics: usize, format: Format) -> Result<Self, RecordError> {
        let row = "each pool of a NIC with EnableBufferStats, each clock in which it changes";
        let table = Table::new(folder, "net-buff-series", row, &columns(), format)?;
        Ok(Self { table, last: vec![Vec::new(); nics] })
    }

    /// The rows of a NIC; of a series those that have changed.
    pub fn row(&mut self, world: &World, nic: usize, changes: bool) {
        let settings = &world.settings.nics[nic];
        let pools = pools(&world.nodes[nic].nic, settings);
        let last = &mut self.last[nic];
        if last.is_empty() {
            last.resize(pools.len(), u64::MAX);
        }
        for (pool, last) in pools.into_iter().zip(last) {
            if !changes || *last != pool.occupancy {
                *last = pool.occupancy;
                let name = settings.name.as_str();
                let size = pool.size;
                self.table.row(&[
                    world.clock.into(),
                    name.into(),
                    pool.name.into(),
                    pool.occupancy.into(),
                    size.into(),
                ]);
            }
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
