//! The link between two ports: each beat arrives a fixed number of clocks after it left.

use std::collections::VecDeque;

use rtl_model::types::Beat;
use serde::{Deserialize, Serialize};

/// One beat of a frame on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireBeat {
    /// First beat of its frame.
    pub sop: bool,
    /// Last beat of its frame.
    pub eop: bool,
    /// Bytes of it that count.
    pub bytes: u8,
    /// The bytes.
    pub data: Beat,
}

/// What is on its way to one port.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Wire {
    beats: VecDeque<(u64, WireBeat)>,
    /// The clock of the last arrival that is known.
    last: u64,
}

impl Wire {
    /// Puts a beat on the wire; it arrives at the start of `clock`, behind all before it.
    pub fn put(&mut self, clock: u64, beat: WireBeat) {
        debug_assert!(clock > self.last, "beats arrive one a clock, in order");
        self.last = clock;
        self.beats.push_back((clock, beat));
    }

    /// Nothing is on the wire.
    pub fn quiet(&self) -> bool {
        self.beats.is_empty()
    }

    /// The clock of the next arrival.
    pub fn due(&self) -> u64 {
        self.beats.front().map_or(u64::MAX, |b| b.0)
    }

    /// The clock of the last arrival so far.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The beat that arrives in `clock`.
    pub fn take(&mut self, clock: u64) -> Option<WireBeat> {
        if self.beats.front()?.0 > clock {
            return None;
        }
        self.beats.pop_front().map(|b| b.1)
    }
}

/// Puts a frame's bytes together from its beats.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Assembler {
    bytes: Vec<u8>,
}

impl Assembler {
    /// Takes a beat; gives the frame with its last one.
    pub fn beat(&mut self, beat: &WireBeat) -> Option<Vec<u8>> {
        if beat.sop {
            self.bytes.clear();
        }
        let mut bytes = [0; 128];
        beat.data.to_bytes(&mut bytes);
        self.bytes.extend_from_slice(&bytes[..usize::from(beat.bytes)]);
        beat.eop.then(|| std::mem::take(&mut self.bytes))
    }
}
