//! Where a switch sends a frame: by its destination address, to the port of the NIC that has it.
//!
//! Where more than two NICs meet, each has the switch's MAC address for its next hop, and the switch
//! writes the receiver's in its place; the FCS becomes that of the frame as it then is.

use rtl_model::fcs;
use rtl_model::header::ETHERTYPE_IPV4;
use rtl_model::types::Beat;
use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use crate::wire::WireBeat;
use crate::world::{ip, mac};

/// The switch's own address, and its pauses' source.
pub const SWITCH_MAC: u64 = 0x0200_0000_00fe;

/// Ethernet's header and FCS: what an IPv4 datagram has around it.
const AROUND: usize = 18;
/// Bytes of an FCS.
const FCS_BYTES: usize = 4;

/// A MAC address as it stands in a frame.
fn octets(mac: u64) -> [u8; 6] {
    std::array::from_fn(|n| (mac >> (8 * (5 - n))) as u8)
}

/// The address to which a NIC sends all its frames: the other NIC, or the switch.
pub fn next_hop(settings: &Settings, nic: usize) -> u64 {
    match settings.nics.as_slice() {
        [_, _] => mac(&settings.nics[1 - nic]),
        _ => SWITCH_MAC,
    }
}

/// Addresses of the NICs, in the order of their ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Routes {
    nics: Vec<(u32, u64)>,
}

impl Routes {
    /// Of a scenario's NICs.
    pub fn new(settings: &Settings) -> Self {
        Self { nics: settings.nics.iter().map(|n| (ip(n.address), mac(n))).collect() }
    }

    /// The ports that a frame of `from` goes to, by its first beat: those of all other NICs for a
    /// group address, else that of the NIC with its IPv4 address, if there is one.
    pub fn of(&self, from: usize, frame: &[u8]) -> impl Iterator<Item = usize> {
        let group = frame.first().is_some_and(|octet| octet & 1 == 1);
        let ipv4 = frame.get(12..14) == Some(&ETHERTYPE_IPV4.to_be_bytes());
        let address = frame.get(30..34).filter(|_| ipv4 && !group);
        let address = address.map(|a| u32::from_be_bytes([a[0], a[1], a[2], a[3]]));
        let wanted = move |nic: u32| group || address == Some(nic);
        let nics = self.nics.iter().enumerate();
        nics.filter(move |(n, nic)| *n != from && wanted(nic.0)).map(|(n, _)| n)
    }

    /// What the hop to `to` changes in a frame, by its first beat: nothing where it has the
    /// receiver's address.
    pub fn rewrite(&self, to: usize, frame: &[u8]) -> Option<Rewrite> {
        let (was, now) = (frame.get(..6)?, octets(self.nics[to].1));
        if frame[0] & 1 == 1 || was == now {
            return None;
        }
        let change: [u8; 6] = std::array::from_fn(|n| was[n] ^ now[n]);
        let len = usize::from(u16::from_be_bytes([*frame.get(16)?, *frame.get(17)?])) + AROUND;
        // A CRC is linear: that of the change, with zeros behind it, is the FCS's change.
        let crc = fcs::after(fcs::after(0, &change), &vec![0; len.checked_sub(6 + FCS_BYTES)?]);
        Some(Rewrite { change, fcs: crc.to_le_bytes(), at: len - FCS_BYTES, done: 0 })
    }
}

/// A change of a frame's destination MAC address and FCS, beat by beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rewrite {
    change: [u8; 6],
    fcs: [u8; FCS_BYTES],
    /// Where the FCS stands.
    at: usize,
    /// Bytes of the frame that have passed.
    done: usize,
}

impl Rewrite {
    /// The next beat as it goes on.
    pub fn beat(&mut self, mut beat: WireBeat) -> WireBeat {
        let (first, len) = (self.done, usize::from(beat.bytes));
        self.done += len;
        if first > 0 && self.done <= self.at {
            return beat;
        }
        let mut bytes = [0; 128];
        beat.data.to_bytes(&mut bytes);
        let fcs = (self.at..).zip(self.fcs);
        for (at, change) in (0..).zip(self.change).chain(fcs) {
            if (first..first + len).contains(&at) {
                bytes[at - first] ^= change;
            }
        }
        beat.data = Beat::from_bytes(&bytes);
        beat
    }
}
