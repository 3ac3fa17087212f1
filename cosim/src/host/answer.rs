//! What a host makes of a read: its completions, right ones or spoiled ones.

use rtl_model::rng::Rng;
use serde::{Deserialize, Serialize};

use super::transmit::Outgoing;
use crate::memory::Memory;
use crate::tlp::{self, Completion, Header};

/// How a read is answered that is not answered as it should be (PCI-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spoil {
    /// A status instead of data.
    Status(u8),
    /// One of the completions is poisoned.
    Poisoned,
    /// The last completion carries a DW too few; two where what is left with one would end on a
    /// line, as the part of an answer may.
    Short,
    /// The last completion carries a DW too many.
    Long,
    /// The first completion's byte count is wrong, and none follows.
    Count,
    /// The last completion comes twice.
    Twice,
    /// The answer takes so many clocks longer.
    Late(u64),
    /// No answer.
    Lost,
}

impl Spoil {
    /// The kinds' names.
    pub const NAMES: [&str; 8] =
        ["status", "poisoned", "short", "long", "count", "twice", "late", "lost"];

    /// The place of its kind among the names.
    pub fn kind(self) -> usize {
        match self {
            Self::Status(_) => 0,
            Self::Poisoned => 1,
            Self::Short => 2,
            Self::Long => 3,
            Self::Count => 4,
            Self::Twice => 5,
            Self::Late(_) => 6,
            Self::Lost => 7,
        }
    }
}

/// A read request as it came.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Read {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: u32,
    /// Tag.
    pub tag: u8,
    /// Requester.
    pub requester: u16,
}

impl Read {
    fn completion(&self, len: u32, left: u32, status: u8) -> Completion {
        let addr = self.addr + u64::from(self.len - left);
        Completion { addr, len, left, status, tag: self.tag, requester: self.requester }
    }

    /// A completion without data.
    pub fn refused(&self, status: u8) -> Outgoing {
        let c = Completion { len: 0, left: 0, addr: self.addr, ..self.completion(0, 0, status) };
        Outgoing { header: tlp::completion(&c), data: vec![], bytes: 0, last_of: None }
    }

    /// The completions of a read, at most `most` bytes each.
    pub fn answer(&self, memory: &Memory, most: u32, rcb: u64) -> Vec<Outgoing> {
        let mut left = self.len;
        let mut out = Vec::new();
        for len in tlp::completion_lengths(self.addr, self.len, most, rcb) {
            let c = self.completion(len, left, 0);
            let pad = (c.addr & 3) as usize;
            let mut data = vec![0; tlp::dws(c.addr, len) as usize * 4];
            memory.read(c.addr, &mut data[pad..pad + len as usize]);
            left -= len;
            let last_of = (left == 0).then_some((self.addr, self.len));
            let header = tlp::completion(&c);
            out.push(Outgoing { header, data, bytes: u64::from(len), last_of });
        }
        out
    }

    /// The same, spoiled; `Late` and `Lost` leave it as it is.
    pub fn spoiled(&self, mut right: Vec<Outgoing>, spoil: Spoil, rng: &mut Rng) -> Vec<Outgoing> {
        match spoil {
            Spoil::Status(status) => return vec![self.refused(status)],
            Spoil::Poisoned => {
                let at = rng.below(right.len() as u64) as usize;
                right[at].header[0] |= tlp::POISONED;
            }
            Spoil::Short | Spoil::Long => {
                if let Some(last) = right.last_mut() {
                    resize(last, spoil == Spoil::Long);
                }
            }
            Spoil::Count => {
                right.truncate(1);
                right[0].header[1] ^= 4;
            }
            Spoil::Twice => right.extend(right.last().cloned()),
            Spoil::Late(_) | Spoil::Lost => {}
        }
        right
    }
}

/// Gives a completion a DW more, or one or two fewer, its byte count left as it was.
fn resize(tlp: &mut Outgoing, more: bool) {
    let ends = (tlp.header[2] & 0x7c) as usize + tlp.data.len();
    let cut = if ends % 64 == 4 && tlp.data.len() > 4 { 8 } else { 4 };
    let len = if more { tlp.data.len() + 4 } else { tlp.data.len() - cut };
    tlp.data.resize(len, 0xee);
    tlp.bytes = if more { tlp.bytes + 4 } else { tlp.bytes.saturating_sub(cut as u64) };
    let header: &mut Header = &mut tlp.header;
    let kind = if len == 0 { 0x0a00_0000 } else { 0x4a00_0000 };
    header[0] = kind | header[0] & 0x00ff_fc00 | (len as u32 / 4) & 0x3ff;
}
