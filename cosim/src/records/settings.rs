//! Which records a run has: the file as it stands, and checked.

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::scenario::ScenarioError;
use crate::settings::Check;
use crate::units::Time;

/// Clocks between two rows, unless said: 1 ms.
const INTERVAL: u64 = 1_000_000;

/// `[SimulationParameters]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "PascalCase")]
pub struct Parameters {
    /// Between rows of `nd-stats`, `ecn-pfc-stats` and `pcie-stats`.
    #[serde(rename = "NDStatsReportInterval")]
    pub nd_stats_report_interval: Option<Spanned<Time>>,
    /// Between rows of `net-buff-stats`.
    pub network_buffer_stats_reporting_interval: Option<Spanned<Time>>,
    /// `net-buff-stats`.
    pub enable_network_buffer_stats_reporting: Option<bool>,
    /// `net-buff-series`.
    pub enable_network_buffer_series: Option<bool>,
}

/// A NIC's attributes of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordSettings {
    /// `mrc-transport-stats`.
    pub transport: bool,
    /// Clocks between its rows.
    pub transport_every: u64,
    /// `mrc-events`.
    pub events: bool,
    /// `mrc-monitor`.
    pub monitor: bool,
    /// `net-buff-stats` and `net-buff-series`, where the simulation has them.
    pub buffers: bool,
}

/// What the simulation says of all NICs' records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalSettings {
    /// Clocks between rows of `nd-stats`, `ecn-pfc-stats` and `pcie-stats`.
    pub ports_every: u64,
    /// `net-buff-stats`.
    pub buffers: bool,
    /// Clocks between its rows.
    pub buffers_every: u64,
    /// `net-buff-series`.
    pub series: bool,
}

impl Check<'_> {
    /// Clocks between two rows.
    pub(crate) fn interval(
        &self,
        key: &str,
        value: Option<&Spanned<Time>>,
    ) -> Result<u64, ScenarioError> {
        let clocks = self.clocks(key, value, INTERVAL)?;
        match value.filter(|_| clocks == 0) {
            Some(value) => Err(self.error(value, key, "must be at least a clock", "section 15")),
            None => Ok(clocks),
        }
    }

    /// `[SimulationParameters]`.
    ///
    /// # Errors
    /// At an interval that is not a whole number of clocks, or none.
    pub fn parameters(&self, p: &Parameters) -> Result<IntervalSettings, ScenarioError> {
        let buffers_every = p.network_buffer_stats_reporting_interval.as_ref();
        Ok(IntervalSettings {
            ports_every: self
                .interval("NDStatsReportInterval", p.nd_stats_report_interval.as_ref())?,
            buffers: p.enable_network_buffer_stats_reporting.unwrap_or(false),
            buffers_every: self.interval("NetworkBufferStatsReportingInterval", buffers_every)?,
            series: p.enable_network_buffer_series.unwrap_or(false),
        })
    }
}
