//! `nd-stats` and `ecn-pfc-stats`: what passes a NIC's port, and who pauses whom.

use std::path::Path;

use super::table::{Cell, Column, Format, Table};
use crate::event::Event;
use crate::record::RecordError;
use crate::switch::frame::{Kind, pause_of};
use rtl_model::types::Drop;

/// Columns of `nd-stats`.
const FRAMES: [(&str, &str); 5] = [
    ("tx_frames", "frames sent, PFC frames included"),
    ("tx_bytes", "their bytes, Ethernet header and FCS included"),
    ("rx_frames", "frames that arrived, PFC frames included"),
    ("rx_bytes", "their bytes, Ethernet header and FCS included"),
    ("rx_drops", "packets dropped because their receive pool was full"),
];

/// Columns of `ecn-pfc-stats`.
const PAUSES: [(&str, &str); 4] = [
    ("pfcxoff_tx", "pause frames sent"),
    ("pfcxon_tx", "XON frames sent"),
    ("pfcxoff_rx", "pause frames received"),
    ("pfcxon_rx", "XON frames received"),
];

/// Rows of `ecn-pfc-stats` for each NIC: its port, and each class.
const ROWS: usize = 9;

/// Counts of one NIC.
#[derive(Clone, Copy, Default)]
struct Counts {
    frames: [u64; FRAMES.len()],
    frames_at_row: [u64; FRAMES.len()],
    pauses: [[u64; PAUSES.len()]; ROWS],
}

/// Both records of every NIC.
pub struct Ports {
    frames: Table,
    pauses: Table,
    counts: Vec<Counts>,
}

impl Ports {
    /// The records for so many NICs.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, nics: usize, format: Format) -> Result<Self, RecordError> {
        let time = Column::count("time_ns", "end of the interval");
        let mut columns = vec![time.clone(), Column::text("nic", "NIC")];
        for (name, about) in FRAMES {
            columns.push(Column::count(name, format!("{about}, so far")));
        }
        for (name, about) in FRAMES {
            columns
                .push(Column::count(format!("ivl_{name}"), format!("{about}, since the last row")));
        }
        let row = "each NIC's port, each NDStatsReportInterval";
        let frames = Table::new(folder, "nd-stats", row, &columns, format)?;
        let mut columns = vec![
            time,
            Column::text("nic", "NIC"),
            Column::text("row", "port, or TC and the class"),
        ];
        columns.extend(PAUSES.map(|(name, about)| Column::count(name, format!("{about}, so far"))));
        let row = "each NIC's port and each class with an ingress pool, each \
                   NDStatsReportInterval; rows of zeros are left out";
        let pauses = Table::new(folder, "ecn-pfc-stats", row, &columns, format)?;
        Ok(Self { frames, pauses, counts: vec![Counts::default(); nics] })
    }

    /// Counts an event.
    pub fn event(&mut self, nic: usize, event: &Event) {
        let counts = &mut self.counts[nic];
        match event {
            Event::Sent { bytes, .. } => counts.frame(0, bytes),
            Event::Arrived { bytes, .. } => counts.frame(2, bytes),
            Event::Dropped(Drop::Pool) => counts.frames[4] += 1,
            _ => {}
        }
    }

    /// The rows of a NIC with so many ingress pools.
    pub fn row(&mut self, time_ns: u64, nic: usize, name: &str, classes: usize) {
        let counts = &mut self.counts[nic];
        let mut cells = vec![Cell::from(time_ns), name.into()];
        cells.extend(counts.frames.map(Cell::from));
        let since = counts.frames.iter().zip(counts.frames_at_row);
        cells.extend(since.map(|(now, last)| Cell::from(now - last)));
        counts.frames_at_row = counts.frames;
        self.frames.row(&cells);
        for (n, pauses) in counts.pauses.iter().enumerate().take(1 + classes) {
            if pauses.iter().any(|count| *count > 0) {
                let row = n.checked_sub(1).map_or("port".into(), |class| format!("TC{class}"));
                let mut cells = vec![Cell::from(time_ns), name.into(), row.into()];
                cells.extend(pauses.map(Cell::from));
                self.pauses.row(&cells);
            }
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When a write has failed.
    pub fn finish(self) -> Result<(), RecordError> {
        self.frames.finish()?;
        self.pauses.finish()
    }
}

impl Counts {
    /// A frame: `at` is 0 for sent, 2 for arrived.
    fn frame(&mut self, at: usize, bytes: &[u8]) {
        self.frames[at] += 1;
        self.frames[at + 1] += bytes.len() as u64;
        if Kind::of(bytes) != Kind::Pause || bytes.len() != 64 {
            return;
        }
        let (classes, times) = pause_of(bytes);
        let named = |class: &usize| classes >> class & 1 == 1;
        let mut seen = [false; 2];
        for class in (0..8).filter(named) {
            let xon = usize::from(times[class] == 0);
            self.pauses[1 + class][at + xon] += 1;
            seen[xon] = true;
        }
        for (count, seen) in self.pauses[0][at..].iter_mut().zip(seen) {
            *count += u64::from(seen);
        }
    }
}
