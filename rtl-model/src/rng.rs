//! Randomness as a function of a seed, a stream's name and an index.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

/// A random stream. Two streams of one seed with different names are independent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rng {
    seed: u64,
    stream: u64,
    index: u64,
    #[serde(skip)]
    cached: Option<(u64, Box<ChaCha8Rng>)>,
}

/// FNV-1a, so that a stream's number depends on its name alone.
fn hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

impl Rng {
    /// The stream `name` of `seed`, at its start.
    pub fn new(seed: u64, name: &str) -> Self {
        Self { seed, stream: hash(name), index: 0, cached: None }
    }

    /// The next 64 bits.
    ///
    /// # Panics
    /// Never: the generator is made where there is none.
    pub fn bits(&mut self) -> u64 {
        if !matches!(&self.cached, Some((at, _)) if *at == self.index) {
            let mut chacha = ChaCha8Rng::seed_from_u64(self.seed);
            chacha.set_stream(self.stream);
            chacha.set_word_pos(u128::from(self.index) * 2);
            self.cached = Some((self.index, Box::new(chacha)));
        }
        let (at, chacha) = self.cached.as_mut().expect("just made");
        self.index += 1;
        *at = self.index;
        chacha.next_u64()
    }

    /// A number below `n`, with a bias of less than n ÷ 2^64.
    ///
    /// # Panics
    /// When `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing is below 0");
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in `percent` of all draws.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of a table's entries.
    pub fn pick<T: Copy>(&mut self, table: &[T]) -> T {
        table[self.below(table.len() as u64) as usize]
    }

    /// Fills `out` from this place of the stream, at a fraction of what `bits` costs. Moves the
    /// stream on by one number.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.bytes().read(0, out);
    }

    /// Bytes without end from this place of the stream. Moves the stream on by one number.
    pub fn bytes(&mut self) -> Bytes {
        Bytes { start: self.bits() }
    }
}

/// Random bytes, each a function of its place: eight of them are splitmix64's n-th number after a
/// start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    start: u64,
}

impl Bytes {
    /// Those from a place on.
    pub fn read(self, place: u64, out: &mut [u8]) {
        let skip = (place % 8) as usize;
        let (head, rest) = out.split_at_mut(if skip == 0 { 0 } else { out.len().min(8 - skip) });
        let first = place / 8;
        if !head.is_empty() {
            head.copy_from_slice(&self.word(first)[skip..skip + head.len()]);
        }
        for (chunk, n) in rest.chunks_mut(8).zip(first + u64::from(skip > 0)..) {
            chunk.copy_from_slice(&self.word(n)[..chunk.len()]);
        }
    }

    /// Whether these bytes stand at a place.
    pub fn are(self, place: u64, bytes: &[u8]) -> bool {
        let mut want = [0; 512];
        bytes.chunks(want.len()).zip(0..).all(|(chunk, n)| {
            let want = &mut want[..chunk.len()];
            self.read(place + n * 512, want);
            want == chunk
        })
    }

    fn word(self, n: u64) -> [u8; 8] {
        let z = self.start.wrapping_add((n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any piece is that of the whole.
    #[test]
    fn bytes_are_a_function_of_their_place() {
        let bytes = Rng::new(7, "bytes").bytes();
        let mut whole = [0; 700];
        Rng::new(7, "bytes").fill(&mut whole);
        for from in (0..40).chain(500..530) {
            for len in (0..40).chain([510, 511, 512, 513]) {
                let Some(want) = whole.get(from..from + len) else { continue };
                let mut piece = vec![0; len];
                bytes.read(from as u64, &mut piece);
                assert_eq!(piece, want, "{len} B from {from}");
                assert!(bytes.are(from as u64, want));
                if let Some(last) = piece.last_mut() {
                    *last ^= 1;
                    assert!(!bytes.are(from as u64, &piece));
                }
            }
        }
    }
}
