//! The bits of a struct: what lockstep compares, loads and prints.
//!
//! An *image* is a run of 32-bit words. Each field takes ⌈width ÷ 32⌉ words, least significant
//! first, the unused top bits zero; an array takes that for each element, element 0 first. The
//! host side hands images to the RTL's shim, which holds the same table (read from the RTL).

use bitvec::prelude::{BitVec, Lsb0};
use thiserror::Error;

/// One field of an image: a register, or a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The RTL's name, without `_i` or `_o` for a port.
    pub name: String,
    /// Bits of the field, or of one element of an array.
    pub width: u32,
    /// Elements of an array; `None` for a field that is not an array.
    pub elements: Option<u32>,
}

impl Field {
    /// Words that one element takes in an image.
    pub fn element_words(&self) -> usize {
        self.width.div_ceil(32) as usize
    }

    /// Words that the whole field takes in an image.
    pub fn words(&self) -> usize {
        self.element_words() * self.elements.unwrap_or(1) as usize
    }

    /// Bits of the whole field.
    pub fn bits(&self) -> u64 {
        u64::from(self.width) * u64::from(self.elements.unwrap_or(1))
    }
}

/// Words of an image with these fields.
pub fn image_words(fields: &[Field]) -> usize {
    fields.iter().map(Field::words).sum()
}

/// Bits that no value of a field has, such as an encoding that an enum does not use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("read field {field}: {bits:#x} is not one of its values")]
pub struct BadBits {
    /// The field, once known.
    pub field: String,
    /// The bits found.
    pub bits: u64,
}

impl BadBits {
    /// The same, with the name of the field.
    #[must_use]
    pub fn field(mut self, name: &str) -> Self {
        name.clone_into(&mut self.field);
        self
    }
}

/// Writes an image front to back.
pub struct Writer<'a> {
    words: &'a mut [u32],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Starts at the first word of `words`.
    pub fn new(words: &'a mut [u32]) -> Self {
        Self { words, at: 0 }
    }

    /// Words written so far.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next `n` words, to be filled.
    #[inline]
    pub fn words(&mut self, n: usize) -> &mut [u32] {
        let words = &mut self.words[self.at..self.at + n];
        self.at += n;
        words
    }

    /// Appends one word.
    #[inline]
    pub fn word(&mut self, word: u32) {
        self.words[self.at] = word;
        self.at += 1;
    }
}

/// Reads an image front to back.
pub struct Reader<'a> {
    words: &'a [u32],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first word of `words`.
    pub fn new(words: &'a [u32]) -> Self {
        Self { words, at: 0 }
    }

    /// The next word; zero past the end.
    #[inline]
    pub fn word(&mut self) -> u32 {
        let word = self.words.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        word
    }

    /// The next `n` words; fewer at the end.
    pub fn words(&mut self, n: usize) -> &'a [u32] {
        let from = self.at.min(self.words.len());
        self.at += n;
        &self.words[from..self.at.min(self.words.len())]
    }
}

/// What changes in an image from clock to clock: for each clock the number of parts that have
/// changed, then the number and all the words of each. Part 2 k is the outputs of instance k of
/// the RTL, 2 k + 1 its registers; the part behind those of all instances is the inputs.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    words: Vec<u32>,
    at: usize,
    /// Where each clock begins.
    clocks: Vec<usize>,
}

impl Changes {
    /// Forgets all clocks.
    pub fn clear(&mut self) {
        self.at = 0;
        self.clocks.clear();
    }

    /// Clocks so far.
    pub fn clocks(&self) -> usize {
        self.clocks.len()
    }

    /// Begins a clock, in which nothing has changed yet.
    pub fn clock(&mut self) {
        self.clocks.push(self.at);
        self.room(1)[0] = 0;
    }

    /// Writes a part that has changed in this clock.
    ///
    /// # Panics
    /// When no clock has begun, or the part has more words.
    #[inline]
    pub fn part(&mut self, part: usize, words: usize, write: impl FnOnce(&mut Writer<'_>)) {
        let start = *self.clocks.last().expect("a clock has begun");
        let room = self.room(1 + words);
        room[0] = part as u32;
        let mut writer = Writer::new(&mut room[1..]);
        write(&mut writer);
        debug_assert_eq!(writer.at(), words, "part {part}");
        self.words[start] += 1;
    }

    fn room(&mut self, words: usize) -> &mut [u32] {
        let end = self.at + words;
        if self.words.len() < end {
            self.words.resize(2 * end, 0);
        }
        let room = &mut self.words[self.at..end];
        self.at = end;
        room
    }

    /// The log from a clock on.
    pub fn from(&self, clock: usize) -> &[u32] {
        &self.words[self.clocks[clock]..self.at]
    }

    /// The parts of a clock, number and words; `words` gives the length of each.
    pub fn parts(&self, clock: usize, words: impl Fn(usize) -> usize) -> Vec<(usize, &[u32])> {
        let log = self.from(clock);
        let mut at = 1;
        let parts = (0..log[0]).map(|_| {
            let part = log[at] as usize;
            let from = at + 1;
            at = from + words(part);
            (part, &log[from..at])
        });
        parts.collect()
    }
}

/// A struct whose fields are those of a `regs_t` or the ports of a module.
pub trait Image {
    /// Appends this value's fields, in order. Array lengths follow the sizes it was made with.
    fn layout(&self, out: &mut Vec<Field>);
    /// Writes its words.
    fn write(&self, out: &mut Writer<'_>);
    /// Reads its words.
    ///
    /// # Errors
    /// When a field's bits are none of its values.
    fn read(&mut self, words: &mut Reader<'_>) -> Result<(), BadBits>;

    /// The fields as a list.
    fn fields(&self) -> Vec<Field> {
        let mut out = Vec::new();
        self.layout(&mut out);
        out
    }

    /// The image as words of its own.
    fn to_words(&self) -> Vec<u32> {
        let mut words = vec![0; image_words(&self.fields())];
        self.write(&mut Writer::new(&mut words));
        words
    }
}

/// No registers, or no ports on that side.
impl Image for () {
    fn layout(&self, _out: &mut Vec<Field>) {}
    fn write(&self, _out: &mut Writer<'_>) {}
    fn read(&mut self, _words: &mut Reader<'_>) -> Result<(), BadBits> {
        Ok(())
    }
}

/// A value of at most 64 bits with a width of its own.
pub trait Bits: Copy {
    /// Bits in the RTL.
    const WIDTH: u32;
    /// The value as a number.
    fn to_bits(&self) -> u64;
    /// The value of a number, if it has one.
    fn from_bits(bits: u64) -> Option<Self>;
}

/// One field's part in an image. `width` is its `#[bits(N)]`, or 0 where none stands.
pub trait Item {
    /// Appends the field.
    fn layout(&self, name: &str, width: u32, out: &mut Vec<Field>);
    /// Writes the words.
    fn write(&self, out: &mut Writer<'_>);
    /// Reads the words.
    ///
    /// # Errors
    /// When the bits are none of its values.
    fn read(&mut self, width: u32, words: &mut Reader<'_>) -> Result<(), BadBits>;
}

impl<T: Bits> Item for T {
    fn layout(&self, name: &str, width: u32, out: &mut Vec<Field>) {
        let width = if width == 0 { T::WIDTH } else { width };
        out.push(Field { name: name.to_owned(), width, elements: None });
    }

    #[inline]
    fn write(&self, out: &mut Writer<'_>) {
        let bits = self.to_bits();
        out.word(bits as u32);
        if T::WIDTH > 32 {
            out.word((bits >> 32) as u32);
        }
    }

    fn read(&mut self, _width: u32, words: &mut Reader<'_>) -> Result<(), BadBits> {
        let low = u64::from(words.word());
        let high = if T::WIDTH > 32 { u64::from(words.word()) } else { 0 };
        let bits = high << 32 | low;
        *self = T::from_bits(bits).ok_or(BadBits { field: String::new(), bits })?;
        Ok(())
    }
}

macro_rules! number {
    ($($int:ty),*) => { $(
        impl Bits for $int {
            const WIDTH: u32 = <$int>::BITS;
            #[inline]
            fn to_bits(&self) -> u64 { u64::from(*self) }
            fn from_bits(bits: u64) -> Option<Self> { <$int>::try_from(bits).ok() }
        }
    )* };
}
number!(u8, u16, u32, u64);

impl Bits for bool {
    const WIDTH: u32 = 1;
    #[inline]
    fn to_bits(&self) -> u64 {
        u64::from(*self)
    }
    fn from_bits(bits: u64) -> Option<Self> {
        Some(bits != 0)
    }
}

/// A packed vector of `N` × 64 bits, byte 0 in bits 7:0. `#[bits(M)]` narrows it by up to 63 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Wide<const N: usize>(#[serde(with = "serde_words")] pub [u64; N]);

impl<const N: usize> Default for Wide<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Wide<N> {
    /// All zeros.
    pub const ZERO: Self = Self([0; N]);

    /// Up to `8 × N` bytes, the rest zero.
    ///
    /// # Panics
    /// When there are more bytes than that.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        assert!(bytes.len() <= 8 * N, "{} bytes into {} words", bytes.len(), N);
        let mut raw = [[0; 8]; N];
        raw.as_flattened_mut()[..bytes.len()].copy_from_slice(bytes);
        Self(raw.map(u64::from_le_bytes))
    }

    /// The bytes, byte 0 first, into `out`: as many as it holds.
    pub fn to_bytes(&self, out: &mut [u8]) {
        let raw = self.0.map(u64::to_le_bytes);
        let len = out.len().min(8 * N);
        out[..len].copy_from_slice(&raw.as_flattened()[..len]);
    }
}

mod serde_words {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer, const N: usize>(w: &[u64; N], s: S) -> Result<S::Ok, S::Error> {
        w.as_slice().serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        d: D,
    ) -> Result<[u64; N], D::Error> {
        let words = Vec::<u64>::deserialize(d)?;
        words.try_into().map_err(|_| D::Error::custom(format!("expected {N} words")))
    }
}

impl<const N: usize> Item for Wide<N> {
    fn layout(&self, name: &str, width: u32, out: &mut Vec<Field>) {
        let width = if width == 0 { 64 * N as u32 } else { width };
        let spare = 64 * N as u32 - width;
        assert!(spare < 32, "field {name}: {width} bits do not fill {N} words of 64");
        out.push(Field { name: name.to_owned(), width, elements: None });
    }

    #[inline]
    fn write(&self, out: &mut Writer<'_>) {
        for (pair, word) in out.words(2 * N).chunks_exact_mut(2).zip(self.0) {
            pair[0] = word as u32;
            pair[1] = (word >> 32) as u32;
        }
    }

    fn read(&mut self, _width: u32, words: &mut Reader<'_>) -> Result<(), BadBits> {
        for word in &mut self.0 {
            *word = u64::from(words.word()) | u64::from(words.word()) << 32;
        }
        Ok(())
    }
}

/// A packed vector of one bit an entry (`logic [ENTRIES-1:0]`), its length from the sizes.
pub type BitMap = BitVec<u64, Lsb0>;

impl Item for BitMap {
    fn layout(&self, name: &str, width: u32, out: &mut Vec<Field>) {
        assert!(width == 0, "field {name}: a bit map brings its own width");
        out.push(Field { name: name.to_owned(), width: self.len() as u32, elements: None });
    }

    fn write(&self, out: &mut Writer<'_>) {
        let words = out.words(self.len().div_ceil(32));
        for (pair, word) in words.chunks_mut(2).zip(self.as_raw_slice()) {
            pair[0] = *word as u32;
            if let Some(top) = pair.get_mut(1) {
                *top = (*word >> 32) as u32;
            }
        }
    }

    fn read(&mut self, _width: u32, words: &mut Reader<'_>) -> Result<(), BadBits> {
        let mut left = self.len().div_ceil(32);
        for word in self.as_raw_mut_slice() {
            *word = u64::from(words.word());
            if left > 1 {
                *word |= u64::from(words.word()) << 32;
            }
            left = left.saturating_sub(2);
        }
        Ok(())
    }
}

/// An unpacked array (`T name [ELEMENTS]`), its length from the sizes or from the type.
impl<T: Item + Default + Clone> Item for Vec<T> {
    fn layout(&self, name: &str, width: u32, out: &mut Vec<Field>) {
        array_layout(self, name, width, out);
    }
    fn write(&self, out: &mut Writer<'_>) {
        for item in self {
            item.write(out);
        }
    }
    fn read(&mut self, width: u32, words: &mut Reader<'_>) -> Result<(), BadBits> {
        self.iter_mut().try_for_each(|item| item.read(width, words))
    }
}

/// An unpacked array of a fixed length.
impl<T: Item + Default + Clone, const N: usize> Item for [T; N] {
    fn layout(&self, name: &str, width: u32, out: &mut Vec<Field>) {
        array_layout(self, name, width, out);
    }
    #[inline]
    fn write(&self, out: &mut Writer<'_>) {
        for item in self {
            item.write(out);
        }
    }
    fn read(&mut self, width: u32, words: &mut Reader<'_>) -> Result<(), BadBits> {
        self.iter_mut().try_for_each(|item| item.read(width, words))
    }
}

fn array_layout<T: Item>(items: &[T], name: &str, width: u32, out: &mut Vec<Field>) {
    let mut one = Vec::new();
    items.first().expect("an array has an element").layout(name, width, &mut one);
    let field = one.pop().expect("one field an item");
    assert!(field.elements.is_none(), "field {name}: arrays of arrays are not supported");
    out.push(Field { elements: Some(items.len() as u32), ..field });
}
