//! The book of a NIC: what its pools, its transmit buffer, its replay slots and its windows must
//! hold by all that came and went, against what they say that they hold, in every clock of every
//! run.
//!
//! It follows handshakes between blocks and keeps counts of its own. A clock is read before its
//! edge: what registers show is the effect of all clocks before, what is taken in this one shows in
//! the next. Blocks that sleep hold what they held; they are not looked at.

mod flight;
mod packets;
mod pools;

use rtl_model::host_interface::CQE_BYTES;
use rtl_model::nic::{Nic, blocks};
use serde::{Deserialize, Serialize};

use crate::host::Room;
use crate::settings::NicSettings;

use packets::Packets;
use pools::Pools;

/// What is held and what is counted, where they differ.
pub type Checked = Result<(), String>;

/// The books of one NIC.
#[derive(Clone, Serialize, Deserialize)]
pub struct Book {
    pools: Pools,
    packets: Packets,
    /// Payload bytes in the transmit buffer of the PCIe link (PCI-4).
    transmit: u64,
}

impl Book {
    /// The book of a NIC after its reset.
    pub fn new(nic: &Nic, settings: &NicSettings) -> Self {
        Self { pools: Pools::default(), packets: Packets::new(nic, settings), transmit: 0 }
    }

    /// A clock, before its edge.
    ///
    /// # Errors
    /// What is held and what is counted, where they differ.
    pub fn look(&mut self, nic: &Nic) -> Checked {
        self.pools.look(nic)?;
        self.packets.look(nic)?;
        if nic.awake(blocks::LINK) { self.link(nic) } else { Ok(()) }
    }

    /// PCI-4: payload taken into the transmit buffer less what has left it.
    fn link(&mut self, nic: &Nic) -> Checked {
        let (link, i) = (&nic.b.pcie_link, &nic.i.pcie_link);
        let bytes = |dws: u16| 16 * Room::of_payload(dws.into()).data;
        let left = if link.done { bytes(link.done_tlp.dws.into()) } else { 0 };
        let told = if link.cqe_valid { CQE_BYTES as u64 } else { 0 };
        let held = u64::from(link.data_used);
        if self.transmit != held + left + told {
            let book = self.transmit.saturating_sub(left + told);
            return Err(format!("{held} B of payload wait for the PCIe link, by the book {book}"));
        }
        let taken = i.tx_valid && nic.o.pcie_link.tx_ready && i.tx_first;
        self.transmit = held + if taken { bytes(i.tx_dws) } else { 0 };
        Ok(())
    }

    /// A NIC of a run that has finished: all of it is back.
    ///
    /// # Errors
    /// What is not.
    pub fn rest(&self, nic: &Nic) -> Checked {
        pools::rest(nic)?;
        self.packets.rest(nic)?;
        let fetch = &nic.b.payload_fetch;
        let (all, free) = (fetch.busy.len(), usize::from(fetch.tags_free));
        if free == all { Ok(()) } else { Err(format!("{free} of {all} tags are free at the end")) }
    }
}
