//! The records of a run, by the names of the sources (section 15): tables with their schemas.

pub mod buffers;
pub mod events;
pub mod monitor;
pub mod origin;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod pcie;
pub mod ports;
pub mod round_trips;
pub mod settings;
pub mod switch;
pub mod table;
pub mod transport;

use std::path::Path;

use crate::event::Event;
use crate::record::RecordError;
use crate::settings::Settings;
use crate::world::World;
use buffers::Buffers;
use events::Events;
use monitor::Monitor;
use pcie::Pcie;
use ports::Ports;
use round_trips::RoundTrips;
use switch::Deeds;
use table::Format;
use transport::Transport;

/// All records of a run.
pub struct Records {
    settings: Settings,
    transport: Transport,
    events: Events,
    ports: Ports,
    pcie: Pcie,
    deeds: Deeds,
    monitor: Option<Monitor>,
    round_trips: Option<RoundTrips>,
    buffers: Option<Buffers>,
    series: Option<Buffers>,
}

impl Records {
    /// Empty records in a folder.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(folder: &Path, settings: &Settings, format: Format) -> Result<Self, RecordError> {
        let nics = settings.nics.len();
        let all = &settings.records;
        let some = |wanted: bool, make: &dyn Fn() -> Result<Buffers, RecordError>| {
            wanted.then(make).transpose()
        };
        let monitored = settings.nics.iter().any(|n| n.records.monitor);
        Ok(Self {
            transport: Transport::new(folder, nics, format)?,
            events: Events::new(folder, format)?,
            ports: Ports::new(folder, nics, format)?,
            pcie: Pcie::new(folder, format)?,
            deeds: Deeds::new(folder, format)?,
            monitor: monitored.then(|| Monitor::new(folder, format)).transpose()?,
            round_trips: monitored.then(|| RoundTrips::new(folder, format)).transpose()?,
            buffers: some(all.buffers, &|| Buffers::at_intervals(folder, nics, format))?,
            series: some(all.series, &|| Buffers::series(folder, nics, format))?,
            settings: settings.clone(),
        })
    }

    /// Takes an event.
    pub fn event(&mut self, clock: u64, nic: usize, event: &Event) {
        let settings = &self.settings.nics[nic];
        self.transport.event(nic, event);
        self.ports.event(nic, event);
        if let Event::Switch(act) = event {
            self.deeds.act(clock, &self.settings, act);
        }
        if settings.records.events {
            self.events.event(clock, &settings.name, event);
        }
        if let Some(monitor) = self.monitor.as_mut().filter(|_| settings.records.monitor) {
            monitor.event(clock, (nic, &settings.name), event);
        }
        if let Some(trips) = self.round_trips.as_mut().filter(|_| settings.records.monitor) {
            trips.event(clock, &settings.name, event);
        }
    }

    /// The next clock in which a row may be due, after `clock`.
    pub fn due(&self, clock: u64) -> u64 {
        let all = &self.settings.records;
        let next = |every: u64| (clock / every + 1) * every;
        if all.series {
            return clock + 1;
        }
        let transport = self.settings.nics.iter().map(|n| next(n.records.transport_every)).min();
        let buffers = if all.buffers { next(all.buffers_every) } else { u64::MAX };
        next(all.ports_every).min(buffers).min(transport.unwrap_or(u64::MAX))
    }

    /// Rows that are due in this clock.
    pub fn look(&mut self, world: &World) {
        let all = self.settings.records;
        let now = |every: u64| world.clock > 0 && world.clock.is_multiple_of(every);
        for nic in 0..world.nodes.len() {
            let own = self.settings.nics[nic].records;
            if now(own.transport_every) {
                self.transport_row(world, nic);
            }
            if now(all.ports_every) {
                self.port_rows(world, nic);
            }
            if now(all.buffers_every) {
                self.buffer_rows(world, nic);
            }
            if let Some(series) = self.series.as_mut().filter(|_| own.buffers) {
                series.row(world, nic, true);
            }
        }
    }

    fn transport_row(&mut self, world: &World, nic: usize) {
        let settings = &self.settings.nics[nic];
        if settings.records.transport {
            self.transport.row(world.clock, nic, &settings.name);
        }
    }

    fn port_rows(&mut self, world: &World, nic: usize) {
        let settings = &self.settings.nics[nic];
        let classes = settings.buffers.ingress.iter().filter(|size| **size > 0).count();
        self.ports.row(world.clock, nic, &settings.name, classes);
        self.pcie.row(world, nic);
    }

    fn buffer_rows(&mut self, world: &World, nic: usize) {
        if let Some(buffers) = &mut self.buffers
            && self.settings.nics[nic].records.buffers
        {
            buffers.row(world, nic, false);
        }
    }

    /// The last rows, where the run does not end with an interval, and all that is left.
    ///
    /// # Errors
    /// When a write has failed.
    pub fn finish(mut self, world: &World) -> Result<(), RecordError> {
        let all = self.settings.records;
        let ended = |every: u64| world.clock.is_multiple_of(every);
        for nic in 0..world.nodes.len() {
            if !ended(self.settings.nics[nic].records.transport_every) {
                self.transport_row(world, nic);
            }
            if !ended(all.ports_every) {
                self.port_rows(world, nic);
            }
            if !ended(all.buffers_every) {
                self.buffer_rows(world, nic);
            }
        }
        self.transport.finish()?;
        self.events.finish()?;
        self.ports.finish()?;
        self.pcie.finish()?;
        self.deeds.finish()?;
        self.monitor.map_or(Ok(()), Monitor::finish)?;
        self.round_trips.map_or(Ok(()), RoundTrips::finish)?;
        self.buffers.map_or(Ok(()), Buffers::finish)?;
        self.series.map_or(Ok(()), Buffers::finish)
    }
}
