//! Packed structs: `typedef struct packed` on ports and in memories.
//!
//! As in SystemVerilog the first field is the most significant. In the model such a value stays a
//! plain struct; its bits are put together only for an image.

// Packing is a string of shifts by constants once it is all in one function: measured twice as
// fast so.
#![allow(clippy::inline_always)]

/// Collects bits, least significant first, straight into the words of an image. With widths that
/// are known when it is compiled only shifts and stores are left of it.
pub struct Packer<'a> {
    words: &'a mut [u32],
    /// The word under way: its low `held` bits.
    bits: u64,
    held: u32,
    at: usize,
}

impl<'a> Packer<'a> {
    /// Starts at bit 0 of `words`.
    #[inline(always)]
    pub fn new(words: &'a mut [u32]) -> Self {
        Self { words, bits: 0, held: 0, at: 0 }
    }

    /// Appends the low `width` bits of `value`, up to 64, above what is there.
    #[inline(always)]
    pub fn put(&mut self, value: u64, width: u32) {
        if width > 32 {
            self.part(value & 0xffff_ffff, 32);
            self.part(value >> 32 & (u64::MAX >> (96 - width)), width - 32);
        } else {
            self.part(value & ((1 << width) - 1), width);
        }
    }

    #[inline(always)]
    fn part(&mut self, value: u64, width: u32) {
        self.bits |= value << self.held;
        self.held += width;
        if self.held >= 32 {
            self.words[self.at] = self.bits as u32;
            self.at += 1;
            self.bits >>= 32;
            self.held -= 32;
        }
    }

    /// Writes the word under way, its top bits zero.
    #[inline(always)]
    pub fn finish(self) {
        if self.held > 0 {
            self.words[self.at] = self.bits as u32;
        }
    }
}

/// Hands bits out, least significant first.
#[derive(Debug)]
pub struct Unpacker<'a> {
    words: &'a [u32],
    at: u32,
}

impl<'a> Unpacker<'a> {
    /// Starts at bit 0 of `words`.
    pub fn new(words: &'a [u32]) -> Self {
        Self { words, at: 0 }
    }

    /// The next `width` bits, up to 64; zeros past the end.
    #[inline(always)]
    pub fn take(&mut self, width: u32) -> u64 {
        let (word, at) = ((self.at / 32) as usize, self.at % 32);
        let get = |i: usize| u128::from(self.words.get(i).copied().unwrap_or(0));
        let bits = (get(word) | get(word + 1) << 32 | get(word + 2) << 64) >> at;
        self.at += width;
        bits as u64 & u64::MAX.checked_shr(64 - width).unwrap_or(0)
    }
}

/// A value with a fixed number of bits inside a packed struct. `width` is its `#[bits(N)]`, or 0.
pub trait Pack {
    /// Bits it takes.
    fn width(width: u32) -> u32;
    /// Appends its bits.
    fn pack(&self, width: u32, out: &mut Packer<'_>);
    /// Takes its bits; bits that are none of its values give its first one.
    fn unpack(width: u32, bits: &mut Unpacker<'_>) -> Self;
}

impl<T: crate::image::Bits + Default> Pack for T {
    #[inline(always)]
    fn width(width: u32) -> u32 {
        if width == 0 { T::WIDTH } else { width }
    }
    #[inline(always)]
    fn pack(&self, width: u32, out: &mut Packer<'_>) {
        out.put(self.to_bits(), Self::width(width));
    }
    fn unpack(width: u32, bits: &mut Unpacker<'_>) -> Self {
        T::from_bits(bits.take(Self::width(width))).unwrap_or_default()
    }
}

impl<const N: usize> Pack for crate::image::Wide<N> {
    #[inline(always)]
    fn width(width: u32) -> u32 {
        if width == 0 { 64 * N as u32 } else { width }
    }
    #[inline(always)]
    fn pack(&self, width: u32, out: &mut Packer<'_>) {
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
            #[inline]
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
#[inline]
pub fn write<T: Pack>(value: &T, out: &mut crate::image::Writer<'_>) {
    let mut packer = Packer::new(out.words(T::width(0).div_ceil(32) as usize));
    value.pack(0, &mut packer);
    packer.finish();
}

/// Reads a packed value from the words of one field.
#[doc(hidden)]
pub fn read<T: Pack>(words: &mut crate::image::Reader<'_>) -> T {
    T::unpack(0, &mut Unpacker::new(words.words(T::width(0).div_ceil(32) as usize)))
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
