//! Packed structs: `typedef struct packed` on ports and in memories.
//!
//! As in SystemVerilog the first field is the most significant. In the model such a value stays a
//! plain struct; its bits are put together only for an image.

/// Collects bits, least significant first.
#[derive(Debug, Default)]
pub struct Packer {
    /// Full and started words.
    words: Vec<u64>,
    bits: u32,
}

impl Packer {
    /// Appends the low `width` bits of `value`, above what is there.
    ///
    /// # Panics
    /// Never: a word that is appended to has been started.
    pub fn put(&mut self, value: u64, width: u32) {
        let value = if width < 64 { value & ((1 << width) - 1) } else { value };
        let at = self.bits % 64;
        if at == 0 {
            self.words.push(value);
        } else {
            *self.words.last_mut().expect("started") |= value << at;
            if at + width > 64 {
                self.words.push(value >> (64 - at));
            }
        }
        self.bits += width;
    }

    /// The words so far.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// Hands bits out, least significant first.
#[derive(Debug)]
pub struct Unpacker<'a> {
    words: &'a [u64],
    at: u32,
}

impl<'a> Unpacker<'a> {
    /// Starts at bit 0 of `words`.
    pub fn new(words: &'a [u64]) -> Self {
        Self { words, at: 0 }
    }

    /// The next `width` bits, up to 64.
    pub fn take(&mut self, width: u32) -> u64 {
        let (word, at) = ((self.at / 64) as usize, self.at % 64);
        let get = |i: usize| self.words.get(i).copied().unwrap_or(0);
        let mut bits = get(word) >> at;
        if at > 0 {
            bits |= get(word + 1) << (64 - at);
        }
        self.at += width;
        if width < 64 { bits & ((1 << width) - 1) } else { bits }
    }
}

/// A value with a fixed number of bits inside a packed struct. `width` is its `#[bits(N)]`, or 0.
pub trait Pack {
    /// Bits it takes.
    fn width(width: u32) -> u32;
    /// Appends its bits.
    fn pack(&self, width: u32, out: &mut Packer);
    /// Takes its bits; bits that are none of its values give its first one.
    fn unpack(width: u32, bits: &mut Unpacker<'_>) -> Self;
}

impl<T: crate::image::Bits + Default> Pack for T {
    fn width(width: u32) -> u32 {
        if width == 0 { T::WIDTH } else { width }
    }
    fn pack(&self, width: u32, out: &mut Packer) {
        out.put(self.to_bits(), Self::width(width));
    }
    fn unpack(width: u32, bits: &mut Unpacker<'_>) -> Self {
        T::from_bits(bits.take(Self::width(width))).unwrap_or_default()
    }
}

impl<const N: usize> Pack for crate::image::Wide<N> {
    fn width(width: u32) -> u32 {
        if width == 0 { 64 * N as u32 } else { width }
    }
    fn pack(&self, width: u32, out: &mut Packer) {
        let mut left = Self::width(width);
        for word in self.0 {
            let now = left.min(64);
            if now > 0 {
                out.put(word, now);
            }
            left -= now;
        }
    }
    fn unpack(width: u32, bits: &mut Unpacker<'_>) -> Self {
        let mut left = Self::width(width);
        Self(std::array::from_fn(|_| {
            let now = left.min(64);
            left -= now;
            if now > 0 { bits.take(now) } else { 0 }
        }))
    }
}

/// Makes a packed struct one field of an image.
#[doc(hidden)]
#[macro_export]
macro_rules! packed_item {
    ($name:ty) => {
        impl ::rtl_model::image::Item for $name {
            fn layout(&self, name: &str, _: u32, out: &mut Vec<::rtl_model::image::Field>) {
                let width = <Self as ::rtl_model::packed::Pack>::width(0);
                out.push(::rtl_model::image::Field {
                    name: name.to_owned(),
                    width,
                    elements: None,
                });
            }
            fn write(&self, out: &mut ::rtl_model::image::Writer<'_>) {
                ::rtl_model::packed::write(self, out);
            }
            fn read(
                &mut self,
                _: u32,
                words: &mut ::rtl_model::image::Reader<'_>,
            ) -> Result<(), ::rtl_model::image::BadBits> {
                *self = ::rtl_model::packed::read(words);
                Ok(())
            }
        }
    };
}

/// Writes a packed value as the words of one field.
#[doc(hidden)]
pub fn write<T: Pack>(value: &T, out: &mut crate::image::Writer<'_>) {
    let mut packer = Packer::default();
    value.pack(0, &mut packer);
    for at in 0..T::width(0).div_ceil(32) {
        out.word((packer.words()[(at / 2) as usize] >> (at % 2 * 32)) as u32);
    }
}

/// Reads a packed value from the words of one field.
#[doc(hidden)]
pub fn read<T: Pack>(words: &mut crate::image::Reader<'_>) -> T {
    let n = T::width(0).div_ceil(32) as usize;
    let mut bits = vec![0; n.div_ceil(2)];
    for at in 0..n {
        bits[at / 2] |= u64::from(words.word()) << (at % 2 * 32);
    }
    T::unpack(0, &mut Unpacker::new(&bits))
}

#[cfg(test)]
mod tests {
    use crate::image::{Item, Reader, Wide, Writer};

    #[derive(Clone, Copy, Debug, Default, PartialEq, derive::Packed)]
    struct Header {
        top: bool,
        #[bits(24)]
        psn: u32,
        #[bits(100)]
        wide: Wide<2>,
        #[bits(3)]
        low: u8,
    }

    #[test]
    fn first_field_is_the_most_significant() {
        let header = Header { top: true, psn: 0xab_cdef, wide: Wide([u64::MAX, 5]), low: 3 };
        let mut words = [0; 4];
        header.write(&mut Writer::new(&mut words));
        let value = words.iter().rev().fold(0_u128, |v, w| v << 32 | u128::from(*w));
        let wide = 5_u128 << 64 | u128::from(u64::MAX);
        assert_eq!(value, 1 << 127 | 0xab_cdef << 103 | wide << 3 | 3);
        let mut back = Header::default();
        back.read(0, &mut Reader::new(&words)).expect("any bits");
        assert_eq!(back, header);
    }
}
