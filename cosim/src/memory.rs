//! A host's memory: regions in use, and the bytes that nothing else tells.
//!
//! A message's buffers hold no bytes of their own: its source's are a function of their place, and
//! of its target it is kept which parts have been written with those. Only what is written
//! otherwise, and all that lies in plain regions, stands in pages, which copies share until one of
//! them is written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rtl_model::rng::Bytes;
use serde::{Deserialize, Serialize};

const PAGE: u64 = 4096;

/// Host memory. Reads of bytes never written give zeros; accesses outside the regions are told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    pages: BTreeMap<u64, Arc<Vec<u8>>>,
    /// By first address. No page has two of them.
    regions: BTreeMap<u64, Region>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Region {
    len: u64,
    holds: Holds,
}

/// What a region's bytes are where no page says otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Holds {
    /// Zeros.
    Zeros,
    /// A message's bytes.
    Source(Bytes),
    /// A message's bytes where they have been written.
    Target(Bytes, Parts),
}

/// Parts of a region: from a first byte to the end of each, neither overlapping nor touching.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Parts(BTreeMap<u64, u64>);

impl Parts {
    fn add(&mut self, mut part: Range<u64>) {
        while let Some((&start, &end)) = self.0.range(..=part.end).next_back() {
            if end < part.start {
                break;
            }
            self.0.remove(&start);
            part = part.start.min(start)..part.end.max(end);
        }
        self.0.insert(part.start, part.end);
    }

    /// Those that overlap a range, cut to it.
    fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let back = self.0.range(..range.end).rev();
        back.map(move |(start, end)| (*start).max(range.start)..(*end).min(range.end))
            .take_while(|part| part.start < part.end)
    }

    fn are_all_of(&self, len: u64) -> bool {
        len == 0 || self.0.get(&0) == Some(&len)
    }
}

impl Memory {
    /// Lets the NIC reach `len` bytes from `addr`.
    pub fn map(&mut self, addr: u64, len: u64) {
        self.regions.insert(addr, Region { len, holds: Holds::Zeros });
    }

    /// The same, with a message's bytes in it.
    pub fn map_source(&mut self, addr: u64, len: u64, bytes: Bytes) {
        self.regions.insert(addr, Region { len, holds: Holds::Source(bytes) });
    }

    /// The same for a region that a message's bytes shall be written to.
    pub fn map_target(&mut self, addr: u64, len: u64, bytes: Bytes) {
        let holds = Holds::Target(bytes, Parts::default());
        self.regions.insert(addr, Region { len, holds });
    }

    /// Takes a region back, its bytes with it.
    pub fn unmap(&mut self, addr: u64) {
        if let Some(region) = self.regions.remove(&addr) {
            let pages = addr / PAGE..(addr + region.len).div_ceil(PAGE);
            let held: Vec<_> = self.pages.range(pages).map(|(page, _)| *page).collect();
            for page in held {
                self.pages.remove(&page);
            }
        }
    }

    /// Pages that hold bytes.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Whether one region holds all of these bytes.
    pub fn mapped(&self, addr: u64, len: u64) -> bool {
        let below = self.regions.range(..=addr).next_back();
        below.is_some_and(|(start, region)| addr - start + len <= region.len)
    }

    /// Every byte of a target has been written, and is the message's.
    pub fn arrived(&self, addr: u64) -> bool {
        let Some(Region { len, holds: Holds::Target(bytes, parts) }) = self.regions.get(&addr)
        else {
            return false;
        };
        let pages = addr / PAGE..(addr + len).div_ceil(PAGE);
        let same = |(n, page): (&u64, &Arc<Vec<u8>>)| {
            let (from, to) = ((n * PAGE).max(addr), ((n + 1) * PAGE).min(addr + len));
            bytes.are(from - addr, &page[(from % PAGE) as usize..(to - n * PAGE) as usize])
        };
        parts.are_all_of(*len) && self.pages.range(pages).all(same)
    }

    /// Copies bytes in.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        let mut at = addr;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE) as usize;
            let now = rest.len().min(PAGE as usize - offset);
            self.write_page(at, &rest[..now]);
            rest = &rest[now..];
            at += now as u64;
        }
    }

    /// Bytes of one page.
    fn write_page(&mut self, at: u64, bytes: &[u8]) {
        let number = at / PAGE;
        let held = self.pages.contains_key(&number);
        let len = bytes.len() as u64;
        let fits = self.mapped(at, len);
        if let Some((start, region)) = self.regions.range_mut(..=at).next_back()
            && fits
            && let Holds::Target(message, parts) = &mut region.holds
        {
            let place = at - start;
            if held || message.are(place, bytes) {
                parts.add(place..place + len);
                if !held {
                    return;
                }
            } else {
                // The page has to show what stood there before.
                let page = self.shown(number);
                self.pages.insert(number, page);
                return self.write_page(at, bytes);
            }
        }
        if !held {
            let page = self.shown(number);
            self.pages.insert(number, page);
        }
        let offset = (at % PAGE) as usize;
        if let Some(page) = self.pages.get_mut(&number) {
            Arc::make_mut(page)[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// A page as its regions have it.
    fn shown(&self, number: u64) -> Arc<Vec<u8>> {
        let mut page = vec![0; PAGE as usize];
        self.read(number * PAGE, &mut page);
        Arc::new(page)
    }

    /// Copies bytes out.
    pub fn read(&self, addr: u64, bytes: &mut [u8]) {
        let mut at = addr;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE) as usize;
            let now = rest.len().min(PAGE as usize - offset);
            let (into, after) = rest.split_at_mut(now);
            match self.pages.get(&(at / PAGE)) {
                Some(page) => into.copy_from_slice(&page[offset..offset + now]),
                None => self.read_region(at, into),
            }
            rest = after;
            at += now as u64;
        }
    }

    /// Bytes of one page that none is held of.
    fn read_region(&self, at: u64, out: &mut [u8]) {
        let end = at + out.len() as u64;
        out.fill(0);
        let Some((start, region)) = self.regions.range(..end).next_back() else { return };
        let (from, to) = (at.max(*start), end.min(start + region.len));
        if from >= to {
            return;
        }
        let mut copy = |message: &Bytes, part: Range<u64>| {
            let here = (part.start + start - at) as usize..(part.end + start - at) as usize;
            message.read(part.start, &mut out[here]);
        };
        match &region.holds {
            Holds::Zeros => {}
            Holds::Source(message) => copy(message, from - start..to - start),
            Holds::Target(message, parts) => {
                parts.within(from - start..to - start).for_each(|part| copy(message, part));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rtl_model::rng::Rng;

    use super::*;

    #[test]
    fn copies_share_until_written() {
        let mut memory = Memory::default();
        memory.map(0x1ff0, 0x40);
        memory.write(0x1ff8, &[7; 16]);
        let copy = memory.clone();
        memory.write(0x2000, &[9]);
        let mut bytes = [0; 3];
        memory.read(0x1fff, &mut bytes);
        assert_eq!(bytes, [7, 9, 7]);
        copy.read(0x1fff, &mut bytes);
        assert_eq!(bytes, [7, 7, 7]);
    }

    #[test]
    fn regions_end_where_they_end() {
        let mut memory = Memory::default();
        memory.map(0x1000, 0x10);
        assert!(memory.mapped(0x1000, 0x10) && memory.mapped(0x100f, 1));
        assert!(!memory.mapped(0x1001, 0x10) && !memory.mapped(0xfff, 1));
    }

    /// Random writes, right ones and wrong ones, to sources, targets and between them: reads give
    /// what a plain array gives.
    #[test]
    fn memory_is_as_if_it_held_every_byte() {
        const END: u64 = 0x8000;
        let mut rng = Rng::new(11, "memory");
        for _ in 0..200 {
            let bytes = [rng.bytes(), rng.bytes()];
            let (mut memory, mut plain) = (Memory::default(), vec![0_u8; END as usize]);
            let (source, target) = (0x1000 + rng.below(4096), 0x4000 + rng.below(4096));
            let lens = [rng.between(1, 0x2000), rng.between(1, 0x2000)];
            memory.map_source(source, lens[0], bytes[0]);
            bytes[0].read(0, &mut plain[source as usize..(source + lens[0]) as usize]);
            memory.map_target(target, lens[1], bytes[1]);
            for _ in 0..rng.between(1, 60) {
                let len = rng.pick(&[1, 7, 64, 512, 4096]);
                let at = rng.between(0x800, END - len);
                let mut new = vec![0; len as usize];
                let inside = at >= target && at + len <= target + lens[1];
                if inside && rng.percent(95) {
                    bytes[1].read(at - target, &mut new);
                } else if rng.percent(30) {
                    rng.fill(&mut new);
                } else {
                    continue;
                }
                memory.write(at, &new);
                plain[at as usize..at as usize + new.len()].copy_from_slice(&new);
                let from = rng.below(END);
                let mut got = vec![0; rng.below(END - from) as usize];
                memory.read(from, &mut got);
                assert!(got == plain[from as usize..from as usize + got.len()]);
            }
            memory.unmap(source);
            memory.unmap(target);
            assert!(memory.regions.is_empty());
        }
    }

    /// A target has arrived once every byte of it has, right, in whatever order, and not before.
    #[test]
    fn a_target_arrives_with_its_last_byte() {
        let mut rng = Rng::new(12, "target");
        for round in 0..200 {
            let (message, len) = (rng.bytes(), rng.between(0, 20_000));
            let addr = 0x5000 + rng.below(4096);
            let mut memory = Memory::default();
            memory.map_target(addr, len, message);
            let step = rng.pick(&[100, 512, 4096]);
            let mut parts: Vec<_> = (0..len.div_ceil(step)).collect();
            for n in (1..parts.len()).rev() {
                parts.swap(n, rng.below(n as u64 + 1) as usize);
            }
            for (left, part) in parts.iter().enumerate().map(|(n, p)| (parts.len() - 1 - n, p)) {
                assert!(!memory.arrived(addr));
                let from = part * step;
                let mut bytes = vec![0; (len - from).min(step) as usize];
                message.read(from, &mut bytes);
                // In every third round what arrives first is wrong.
                if round % 3 == 0 {
                    bytes[0] ^= 1;
                    memory.write(addr + from, &bytes);
                    assert!(!memory.arrived(addr), "a wrong byte");
                    bytes[0] ^= 1;
                }
                memory.write(addr + from, &bytes);
                assert_eq!(memory.arrived(addr), left == 0, "{left} of {} left", parts.len());
            }
            assert!(memory.arrived(addr));
            assert_eq!(memory.pages() > 0, round % 3 == 0 && len > 0, "right bytes need no page");
            memory.unmap(addr);
            assert_eq!(memory.pages(), 0);
        }
    }
}
