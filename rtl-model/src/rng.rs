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

    /// Fills `out` from this place of the stream, at a fraction of what `bits` costs: word n is
    /// splitmix64's n-th number after a start drawn once. Moves the stream on by one number.
    pub fn fill(&mut self, out: &mut [u8]) {
        let start = self.bits();
        let word = |n: u64| {
            let z = start.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31).to_le_bytes()
        };
        for (chunk, n) in out.chunks_mut(8).zip(1..) {
            chunk.copy_from_slice(&word(n)[..chunk.len()]);
        }
    }
}
