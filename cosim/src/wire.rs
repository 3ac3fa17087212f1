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
    /// Frames of a fault, sent when the port is free.
    strays: VecDeque<Vec<u8>>,
    /// A frame has begun and not ended.
    inside: bool,
}

impl Wire {
    /// Puts a beat on the wire; it arrives at the start of `clock`.
    pub fn put(&mut self, clock: u64, beat: WireBeat) {
        self.beats.push_back((clock, beat));
    }

    /// Queues a frame that no NIC has sent.
    pub fn stray(&mut self, bytes: Vec<u8>) {
        self.strays.push_back(bytes);
    }

    /// Nothing is on the wire.
    pub fn quiet(&self) -> bool {
        self.beats.is_empty() && self.strays.is_empty()
    }

    /// The clock of the next arrival.
    pub fn due(&self) -> u64 {
        if self.strays.is_empty() { self.beats.front().map_or(u64::MAX, |b| b.0) } else { 0 }
    }

    /// The beat that arrives in `clock`.
    pub fn take(&mut self, clock: u64) -> Option<WireBeat> {
        if !self.inside {
            self.slip_in(clock);
        }
        if self.beats.front()?.0 > clock {
            return None;
        }
        let beat = self.beats.pop_front()?.1;
        self.inside = !beat.eop;
        Some(beat)
    }

    /// Puts a stray frame where a gap is long enough for it.
    fn slip_in(&mut self, clock: u64) {
        let Some(bytes) = self.strays.front() else { return };
        let beats = bytes.len().div_ceil(128).max(1) as u64;
        if self.beats.front().is_some_and(|b| b.0 < clock + 2 * beats + 1) {
            return;
        }
        let bytes = self.strays.pop_front().expect("just seen");
        for at in (0..beats).rev() {
            let part = &bytes[at as usize * 128..bytes.len().min((at as usize + 1) * 128)];
            let beat = WireBeat {
                sop: at == 0,
                eop: at == beats - 1,
                bytes: part.len() as u8,
                data: Beat::from_bytes(part),
            };
            self.beats.push_front((clock + 2 * at, beat));
        }
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
