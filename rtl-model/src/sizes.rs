//! The sizes a build is made with: parameters of the RTL, run-time values of the model.

use serde::{Deserialize, Serialize};

/// Sizes of one build. Each is a power of two. Index fields keep their default width in every
/// build, so that ports look the same; a smaller build leaves the top bits zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sizes {
    /// Queue pairs of each side, and groups. Up to 256.
    pub qps: u32,
    /// PSNs of window for a QP: the largest `MaxPSNRange`. Up to 1,024.
    pub psns: u32,
    /// Replay slots, for one packet each. Up to 1,024.
    pub slots: u32,
    /// Messages posted and not completed. Up to 1,024.
    pub msgs: u32,
    /// PCIe tags. Up to 256.
    pub tags: u32,
    /// Destinations. Up to 64.
    pub dests: u32,
    /// Words of 64 B in the ingress buffer. Up to 65,536.
    pub ingress_words: u32,
    /// Frames an egress class can queue. Up to 1,024.
    pub frames: u32,
    /// Work requests posted and not complete on a reliable connection. Up to 64.
    pub wqes: u32,
    /// Packets in a reliable connection's replay store. Up to 256.
    pub packets: u32,
    /// READs and ATOMICs that a reliable connection's responder has records of. 2 to 16.
    pub reads: u32,
}

impl Sizes {
    /// The build that the scenarios use unless they say otherwise.
    pub const DEFAULT: Self = Self {
        qps: 256,
        psns: 1024,
        slots: 1024,
        msgs: 1024,
        tags: 256,
        dests: 64,
        ingress_words: 65_536,
        frames: 1024,
        wqes: 64,
        packets: 256,
        reads: 16,
    };

    /// The build in which every wrap and every full condition is reached in seconds.
    pub const SMALL: Self = Self {
        qps: 16,
        psns: 128,
        slots: 16,
        msgs: 16,
        tags: 16,
        dests: 4,
        ingress_words: 1024,
        frames: 16,
        wqes: 16,
        packets: 16,
        reads: 4,
    };

    /// The parameters of a module of this build, by their names in the RTL.
    pub fn parameters(&self) -> [(&'static str, u32); 11] {
        [
            ("QPS", self.qps),
            ("PSNS", self.psns),
            ("SLOTS", self.slots),
            ("MSGS", self.msgs),
            ("TAGS", self.tags),
            ("DESTS", self.dests),
            ("INGRESS_WORDS", self.ingress_words),
            ("FRAMES", self.frames),
            ("WQES", self.wqes),
            ("PACKETS", self.packets),
            ("READS", self.reads),
        ]
    }
}
