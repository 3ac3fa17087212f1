//! Room in the transmit and receive buffers of the PCIe link (PCI-4).

use std::ops::{Add, AddAssign, SubAssign};

use rtl_model::types::TlpBeat;
use serde::{Deserialize, Serialize};

/// Bytes of a unit: a header takes one, a payload its DWs rounded up to whole ones.
pub const UNIT: u64 = 16;
/// DWs of a unit.
const UNIT_DWS: u64 = 4;

/// Room for headers and for payload, in units of 16 B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// Headers.
    pub headers: u64,
    /// Units of payload.
    pub data: u64,
}

impl Room {
    /// The room of buffers of so many bytes; what is left of a unit holds nothing.
    pub fn of_bytes(headers: u64, data: u64) -> Self {
        Self { headers: headers / UNIT, data: data / UNIT }
    }

    /// What a transfer takes with a payload of so many DWs, pad bytes included.
    pub fn of_payload(dws: u64) -> Self {
        Self { headers: 1, data: dws.div_ceil(UNIT_DWS) }
    }

    /// What a beat takes: a header with the first one of its transfer.
    pub fn of_beat(beat: &TlpBeat) -> Self {
        let data = Self::of_payload(beat.dws.into()).data;
        Self { headers: beat.sop.into(), data }
    }

    /// The larger of both, each for itself.
    #[must_use]
    pub fn most(self, other: Self) -> Self {
        Self { headers: self.headers.max(other.headers), data: self.data.max(other.data) }
    }

    /// Room for at least this much; a transfer without payload looks at headers only.
    pub fn holds(self, used: Self) -> bool {
        used.headers <= self.headers && used.data <= self.data
    }
}

impl Add for Room {
    type Output = Self;
    fn add(self, more: Self) -> Self {
        Self { headers: self.headers + more.headers, data: self.data + more.data }
    }
}

impl AddAssign for Room {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl SubAssign for Room {
    fn sub_assign(&mut self, less: Self) {
        self.headers -= less.headers;
        self.data -= less.data;
    }
}
