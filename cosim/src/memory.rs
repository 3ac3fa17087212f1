//! A host's memory: pages that copies share until one of them is written, and the regions in use.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

const PAGE: u64 = 4096;

/// Host memory. Reads of bytes never written give zeros; accesses outside the regions are told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    pages: BTreeMap<u64, Arc<Vec<u8>>>,
    regions: BTreeMap<u64, u64>,
}

impl Memory {
    /// Lets the NIC reach `len` bytes from `addr`.
    pub fn map(&mut self, addr: u64, len: u64) {
        self.regions.insert(addr, len);
    }

    /// Takes a region back, its bytes with it.
    pub fn unmap(&mut self, addr: u64) {
        if let Some(len) = self.regions.remove(&addr) {
            let pages = addr / PAGE..(addr + len).div_ceil(PAGE);
            for page in pages {
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
        below.is_some_and(|(start, size)| addr - start + len <= *size)
    }

    /// Copies bytes in.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        let mut at = addr;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = (at % PAGE) as usize;
            let now = rest.len().min(PAGE as usize - offset);
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Arc::new(vec![0; 4096]));
            Arc::make_mut(page)[offset..offset + now].copy_from_slice(&rest[..now]);
            rest = &rest[now..];
            at += now as u64;
        }
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
                None => into.fill(0),
            }
            rest = after;
            at += now as u64;
        }
    }
}

#[cfg(test)]
mod tests {
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
}
