//! Memory with one write and one read port; the cell that holds every memory over 4 Kbit.
//!
//! Twin of `hdl/ram_1r1w.sv`. The read port is registered: `rdata` is the word of the last clock
//! in which `re` was high. A read of the word written in the same clock gives the old word. There
//! is no reset: words and `rdata` start from whatever was loaded.

use std::borrow::Borrow;
use std::sync::Arc;

use derive::Image as DeriveImage;
use serde::{Deserialize, Serialize};

use crate::image::{BadBits, Field, Image, Item, Reader, Writer};
use crate::rng::Rng;

/// Words of a page: pages are shared between copies of a memory until one of them is written.
const PAGE: usize = 256;

/// Input ports.
#[derive(Clone, Debug, Default, DeriveImage)]
pub struct Inputs<T: Item> {
    /// Write this clock.
    pub we: bool,
    /// Word to write.
    pub waddr: u32,
    /// What to write.
    pub wdata: T,
    /// Read this clock.
    pub re: bool,
    /// Word to read.
    pub raddr: u32,
}

/// The memory and its read register.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ram<T> {
    /// The word last read.
    pub rdata: T,
    pages: Vec<Arc<Vec<T>>>,
    depth: usize,
}

impl<T: Item + Clone + Default> Ram<T> {
    /// `depth` words of zeros.
    pub fn new(depth: usize) -> Self {
        let page = Arc::new(vec![T::default(); PAGE.min(depth)]);
        Self { rdata: T::default(), pages: vec![page; depth.div_ceil(PAGE)], depth }
    }

    /// Words.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The word at `addr`, past the read port.
    pub fn peek(&self, addr: usize) -> &T {
        &self.pages[addr / PAGE][addr % PAGE]
    }

    /// Sets the word at `addr`, past the write port.
    pub fn poke(&mut self, addr: usize, word: T) {
        Arc::make_mut(&mut self.pages[addr / PAGE])[addr % PAGE] = word;
    }

    /// The rising edge with a read: the word becomes `rdata`. Comes before `write` in a clock.
    #[inline]
    pub fn read(&mut self, addr: u32) {
        self.rdata.clone_from(&self.pages[addr as usize / PAGE][addr as usize % PAGE]);
    }

    /// The rising edge with a write.
    #[inline]
    pub fn write(&mut self, addr: u32, word: impl Borrow<T>) {
        let addr = addr as usize;
        Arc::make_mut(&mut self.pages[addr / PAGE])[addr % PAGE].clone_from(word.borrow());
    }

    /// One clock with these inputs.
    pub fn clock(&mut self, i: &Inputs<T>) {
        if i.re {
            self.read(i.raddr);
        }
        if i.we {
            self.write(i.waddr, &i.wdata);
        }
    }

    /// Bits of a word.
    pub fn width(&self) -> u32 {
        let mut fields = Vec::new();
        self.rdata.layout("word", 0, &mut fields);
        fields[0].width
    }

    /// Draws every word and the read register from the seed, as hardware that starts unknown.
    ///
    /// # Panics
    /// When some bits are no value of a word.
    pub fn randomize(&mut self, rng: &mut Rng) {
        let words = self.width().div_ceil(32) as usize;
        let top = u32::MAX >> ((32 - self.width() % 32) % 32);
        let (bytes, mut place) = (rng.bytes(), 0);
        let (mut drawn, mut image) = (vec![0; 4 * words], vec![0; words]);
        let mut draw = || {
            bytes.read(place, &mut drawn);
            place += drawn.len() as u64;
            for (word, bytes) in image.iter_mut().zip(drawn.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            image[words - 1] &= top;
            let mut word = T::default();
            word.read(0, &mut Reader::new(&image)).expect("a memory's word takes any bits");
            word
        };
        self.rdata = draw();
        let depth = self.depth;
        let page = |at: usize| Arc::new((0..PAGE.min(depth - at)).map(|_| draw()).collect());
        self.pages = (0..depth).step_by(PAGE).map(page).collect();
    }

    /// The whole contents, word after word, as images.
    pub fn dump(&self) -> Vec<u32> {
        let words = self.width().div_ceil(32) as usize;
        let mut out = vec![0; words * self.depth];
        for (addr, chunk) in out.chunks_mut(words).enumerate() {
            self.peek(addr).write(&mut Writer::new(chunk));
        }
        out
    }
}

/// The read register: the only one that a memory has.
impl<T: Item> Image for Ram<T> {
    fn layout(&self, out: &mut Vec<Field>) {
        self.rdata.layout("rdata", 0, out);
    }
    fn write(&self, out: &mut Writer<'_>) {
        self.rdata.write(out);
    }
    fn read(&mut self, words: &mut Reader<'_>) -> Result<(), BadBits> {
        Item::read(&mut self.rdata, 0, words).map_err(|e| e.field("rdata"))
    }
}
