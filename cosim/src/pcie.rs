//! The PCIe link of a NIC as records show it, and what must hold on it at every clock.

use rtl_model::types::BYTE_UNITS;
use serde::{Deserialize, Serialize};

use crate::book::Checked;
use crate::host::{LinkCounts, Room};
use crate::record::exact_ratio;
use crate::world::Node;

/// What the buffers of one NIC's PCIe link hold, or have held at most (PCI-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieBuffers {
    /// The NIC's end, transmit side.
    pub nic_transmit: Room,
    /// The NIC's end, receive side.
    pub nic_receive: Room,
    /// The host's end, transmit side.
    pub host_transmit: Room,
    /// The host's end, receive side.
    pub host_receive: Room,
}

/// Clocks in which something waited for room, by the buffer that had none (PCI-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieWaits {
    /// The NIC's end, transmit side.
    pub nic_transmit: u64,
    /// The NIC's end, receive side.
    pub nic_receive: u64,
    /// The host's end, transmit side.
    pub host_transmit: u64,
    /// The host's end, receive side; the link stood still meanwhile.
    pub host_receive: u64,
}

/// One direction of a PCIe link.
#[derive(Clone, Debug, Serialize)]
pub struct PcieDirection {
    /// Transfers.
    pub transfers: u64,
    /// Payload bytes.
    pub payload: u64,
    /// Bytes of time on the link: payload and overhead.
    pub bytes: u64,
    /// Time for which the link was busy, an exact number of ns.
    pub busy_ns: String,
}

impl PcieDirection {
    fn of(traffic: &LinkCounts, rate: u64) -> Self {
        let units = u128::from(traffic.bytes) * u128::from(BYTE_UNITS);
        Self {
            transfers: traffic.transfers,
            payload: traffic.payload,
            bytes: traffic.bytes,
            busy_ns: exact_ratio(units, rate.into()),
        }
    }
}

/// The PCIe link of one NIC: `pcie-stats`.
#[derive(Clone, Debug, Serialize)]
pub struct PcieStats {
    /// NIC to host.
    pub to_host: PcieDirection,
    /// Host to NIC.
    pub to_nic: PcieDirection,
    /// The most that each buffer has held, in units of 16 B.
    pub most: PcieBuffers,
    /// Clocks in which something waited for room in each.
    pub waited: PcieWaits,
}

impl PcieStats {
    /// What a NIC's link has carried so far.
    pub fn of(node: &Node) -> Self {
        let (host, config) = (&node.host, &node.host.config);
        Self {
            to_host: PcieDirection::of(&host.counts.from_nic, config.nic_rate),
            to_nic: PcieDirection::of(&host.transmit.sent, config.rate),
            most: node.pcie_most,
            waited: node.pcie_waited(),
        }
    }
}

impl Node {
    /// What the buffers of the PCIe link hold in this clock.
    pub fn pcie_buffers(&self) -> PcieBuffers {
        let (link, room) = (&self.nic.b.pcie_link, &self.nic.b.pcie_room);
        PcieBuffers {
            nic_transmit: Room::of_bytes(16 * u64::from(link.held), link.data_used.into()),
            nic_receive: Room { headers: room.hdr_used.into(), data: room.data_used.into() },
            host_transmit: self.host.transmit.used(),
            host_receive: self.host.used(),
        }
    }

    /// Clocks in which something waited for room so far.
    pub fn pcie_waited(&self) -> PcieWaits {
        let ([nic_transmit, host_receive], [host_transmit, nic_receive]) =
            (self.pcie_waited, self.host.transmit.waited);
        PcieWaits { nic_transmit, nic_receive, host_transmit, host_receive }
    }

    /// Every clock: conservation of pools, packets, flight, tags, credits and buffers, and the most
    /// that the buffers of the PCIe link hold.
    pub(crate) fn account(&mut self) -> Checked {
        self.nic.conserved()?;
        self.credits_conserved()?;
        self.book.look(&self.nic)?;
        let (now, most) = (self.pcie_buffers(), &mut self.pcie_most);
        most.nic_transmit = most.nic_transmit.most(now.nic_transmit);
        most.nic_receive = most.nic_receive.most(now.nic_receive);
        most.host_transmit = most.host_transmit.most(now.host_transmit);
        most.host_receive = most.host_receive.most(now.host_receive);
        let waits = self.nic.short_of_room();
        self.pcie_waited.iter_mut().zip(waits).for_each(|(n, w)| *n += u64::from(w));
        Ok(())
    }

    /// At the end of a run that has finished: all is back.
    pub(crate) fn rest(&self) -> Checked {
        self.book.rest(&self.nic)?;
        let PcieBuffers { nic_transmit, nic_receive, host_transmit, host_receive } =
            self.pcie_buffers();
        let held = [nic_transmit, nic_receive, host_transmit, host_receive];
        if held == [Room::default(); 4] {
            return Ok(());
        }
        Err(format!("{held:?} left in the buffers of the PCIe link"))
    }

    /// What one end believes that the other holds is there, on the way, or just told.
    fn credits_conserved(&self) -> Checked {
        let link = &self.nic.b.pcie_link;
        let believed = Room { headers: link.far_hdr.into(), data: link.far_data.into() };
        let (headers, data) = self.nic.on_link();
        let mut there = self.host.used() + Room { headers: headers.into(), data: data.into() };
        if self.inputs.room_valid {
            let (headers, data) = (self.inputs.room_hdr.into(), self.inputs.room_data.into());
            there += Room { headers, data };
        }
        if believed != there {
            return Err(format!("the NIC counts {believed:?} at the host, there is {there:?}"));
        }
        let believed = self.host.transmit.far();
        let mut there = self.pcie_buffers().nic_receive + self.host.transmit.flying();
        if self.inputs.rx_valid {
            there += Room::of_beat(&self.inputs.rx);
        }
        if believed != there {
            return Err(format!("the host counts {believed:?} at the NIC, there is {there:?}"));
        }
        Ok(())
    }
}
