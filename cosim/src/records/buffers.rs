//! `net-buff-stats` at intervals, and `net-buff-series` with every change.

use std::path::Path;

use rtl_model::host_interface::{CLASSES, level};
use rtl_model::image::Wide;
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

/// The pools of a NIC, of each class with an entry: ingress, then egress.
pub fn pools(nic: &Nic, settings: &NicSettings) -> Vec<Pool> {
    let of = |side: &'static str, sizes: [u64; CLASSES], occ: &Wide<4>| {
        let entries = sizes.into_iter().enumerate().take_while(|(_, size)| *size > 0);
        let pool = |(class, size)| Pool {
            name: format!("{side}_TC{class}_BUFFER"),
            occupancy: level(occ, class).into(),
            size,
        };
        entries.map(pool).collect::<Vec<_>>()
    };
    let rx = of("RX", settings.buffers.ingress, &nic.o.ingress_pool.occ);
    let tx = of("TX", settings.buffers.egress, &nic.o.egress_arbiter.occ);
    [rx, tx].concat()
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
