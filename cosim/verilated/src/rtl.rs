//! An instance of a built module.

use cxx::UniquePtr;
use rtl_model::image::Changes;

use crate::design::Built;
use crate::error::RtlError;
use crate::host::ffi::{self, Host};
use crate::layout::{Kind, Layout, Place};

/// Clocks that assertions stay off after a load: the longest `$past` in the RTL, and one.
const QUIET_CLOCKS: u32 = 3;
/// The same of an instance that is silenced.
const FOR_EVER: u32 = u32::MAX;

/// What a call gives where every field is equal, and where an assertion has failed: as in
/// `table.h`.
const EQUAL: i64 = -1;
const FAILED: i64 = -2;

/// What registers and memories hold before the first reset or load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Zeros.
    Zeros,
    /// Values drawn from a seed.
    Random(u32),
}

/// The first register that differed; the first output where all registers are equal.
///
/// Outputs are functions of registers and inputs: where a register differs they only follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it lies.
    pub place: Place,
    /// The expected words.
    pub expected: Vec<u32>,
    /// The RTL's words.
    pub rtl: Vec<u32>,
}

/// An instance of the RTL. It owns all it holds and may move to another thread between calls.
pub struct Rtl {
    host: UniquePtr<Host>,
    layout: Layout,
    clock: u64,
    quiet: u32,
}

// SAFETY: the C++ instance is reached through this value alone, and each call sets the runtime's
// thread-local context before it evaluates.
unsafe impl Send for Rtl {}

fn check(what: &'static str, got: usize, want: usize) -> Result<(), RtlError> {
    if got == want { Ok(()) } else { Err(RtlError::Length { what, got, want }) }
}

impl Rtl {
    /// A new instance: `clk_i` low, `rst_ni` high, nothing evaluated yet.
    ///
    /// # Errors
    /// When the library does not load.
    pub fn new(built: &Built, start: Start) -> Result<Self, RtlError> {
        let path = built.library().to_owned();
        let (random, seed) = match start {
            Start::Zeros => (false, 1),
            // Verilator takes seeds from 1 to 2^31 - 1.
            Start::Random(seed) => (true, (seed % 0x7fff_ffff).cast_signed() + 1),
        };
        let load = |why: String| RtlError::Load { path: path.clone(), why };
        let host = ffi::open_host(&path.to_string_lossy(), random, seed)
            .map_err(|e| load(e.what().to_owned()))?;
        let layout = built.layout().clone();
        let of_table = (host.input_words(), host.expected_words(), host.memories());
        let of_layout = (layout.input_words, layout.expected_words, layout.memories.len());
        if of_table != (of_layout.0 as u32, of_layout.1 as u32, of_layout.2 as u32) {
            return Err(load(format!("its sizes are {of_table:?}, its layout's {of_layout:?}")));
        }
        Ok(Self { host, layout, clock: 0, quiet: 0 })
    }

    /// Instances, fields, memories.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Rising edges since the instance was made.
    pub fn clocks(&self) -> u64 {
        self.clock
    }

    /// Sets `rst_ni`; the next call that evaluates sees it. Nothing for a module without one.
    pub fn reset(&mut self, rst_ni: bool) {
        self.host.pin_mut().reset(rst_ni);
    }

    /// Sets the inputs, evaluates with the clock low, compares every field with `expected`, and
    /// only if all are equal gives the rising edge.
    ///
    /// # Errors
    /// When a buffer has the wrong length, or an assertion fails.
    #[inline]
    pub fn step(
        &mut self,
        inputs: &[u32],
        expected: &[u32],
    ) -> Result<Option<Difference>, RtlError> {
        check("inputs", inputs.len(), self.layout.input_words)?;
        check("the expected image", expected.len(), self.layout.expected_words)?;
        let found = self.host.pin_mut().step(inputs, expected);
        if found >= 0 {
            return Ok(Some(self.difference(expected)));
        }
        self.edge(found, 1).map(|()| None)
    }

    /// The clocks of a log, each as `step`, with the image that `expect` and the clocks before
    /// have left. Ends before the rising edge of the first clock with a difference: which it is,
    /// and what differs.
    ///
    /// # Errors
    /// When an assertion fails.
    ///
    /// # Panics
    /// When a part of the log has another length than the layout's.
    pub fn follow(&mut self, log: &Changes) -> Result<Option<(usize, Difference)>, RtlError> {
        let mut from = 0;
        // While assertions rest, clock by clock, so that they do for no longer than they must.
        while self.quiet > 0 && from < log.clocks() {
            if let Some(found) = self.follow_some(log, from, 1)? {
                return Ok(Some(found));
            }
            from += 1;
        }
        self.follow_some(log, from, log.clocks() - from)
    }

    fn follow_some(
        &mut self,
        log: &Changes,
        from: usize,
        n: usize,
    ) -> Result<Option<(usize, Difference)>, RtlError> {
        if n == 0 {
            return Ok(None);
        }
        let found = self.host.pin_mut().follow(log.from(from), n);
        let Ok(clock) = usize::try_from(found) else { return self.edge(found, n).map(|()| None) };
        self.edge(EQUAL, clock)?;
        let mut expected = self.expected();
        let place = |part: usize| {
            let instance = self.layout.instances.get(part / 2)?;
            let regs = (instance.regs_offset(), instance.reg_words());
            Some(if part.is_multiple_of(2) {
                (instance.offset, instance.output_words())
            } else {
                regs
            })
        };
        let length = |part| place(part).map_or(self.layout.input_words, |(_, words)| words);
        for (part, words) in log.parts(from + clock, length) {
            if let Some((at, _)) = place(part) {
                expected[at..at + words.len()].copy_from_slice(words);
            }
        }
        Ok(Some((from + clock, self.difference(&expected))))
    }

    /// Sets the image of which `follow` takes the changes.
    ///
    /// # Errors
    /// When it has the wrong length.
    pub fn expect(&mut self, image: &[u32]) -> Result<(), RtlError> {
        check("the expected image", image.len(), self.layout.expected_words)?;
        self.host.pin_mut().expect(image);
        Ok(())
    }

    /// The image that the last compare held against it. An output that is nothing but a register
    /// is shown as that register.
    pub fn expected(&self) -> Vec<u32> {
        let mut image = vec![0; self.layout.expected_words];
        self.host.expected(&mut image);
        image
    }

    /// A clock without a compare.
    ///
    /// # Errors
    /// As `step`.
    pub fn step_bare(&mut self, inputs: &[u32]) -> Result<(), RtlError> {
        self.run_bare(inputs, 0, 1)
    }

    /// `n` clocks without a compare; the inputs of clock k start at word `k * stride`.
    ///
    /// # Errors
    /// As `step`. An assertion is reported once all clocks are done.
    pub fn run_bare(&mut self, inputs: &[u32], stride: usize, n: usize) -> Result<(), RtlError> {
        if n == 0 {
            return Ok(());
        }
        let want = self.layout.input_words + stride * (n - 1);
        check("inputs", inputs.len(), want.max(inputs.len()))?;
        let found = self.host.pin_mut().run(inputs, stride, n);
        self.edge(found, n)
    }

    /// Sets the inputs and evaluates with the clock low, without a rising edge.
    ///
    /// # Errors
    /// As `step`.
    pub fn settle(&mut self, inputs: &[u32]) -> Result<(), RtlError> {
        check("inputs", inputs.len(), self.layout.input_words)?;
        let found = self.host.pin_mut().settle(inputs);
        self.edge(found, 0)
    }

    /// The image of all compared fields, as they were when last evaluated.
    pub fn read(&self) -> Vec<u32> {
        let mut image = vec![0; self.layout.expected_words];
        self.host.read(&mut image);
        image
    }

    /// Sets every register from an image; its outputs are passed over. The next evaluation
    /// settles what hangs on them. Assertions rest for the clocks that a `$past` looks back.
    ///
    /// # Errors
    /// When the image has the wrong length.
    pub fn load(&mut self, image: &[u32]) -> Result<(), RtlError> {
        check("the loaded image", image.len(), self.layout.expected_words)?;
        self.host.pin_mut().load(image);
        self.rest();
        Ok(())
    }

    /// The whole contents of a memory of the layout, word after word.
    ///
    /// # Panics
    /// When there is no such memory.
    pub fn read_memory(&self, index: usize) -> Vec<u32> {
        let mut words = vec![0; self.layout.memories[index].words()];
        self.host.read_memory(index as u32, &mut words);
        words
    }

    /// Sets the whole contents of a memory.
    ///
    /// # Errors
    /// When there are too few or too many words.
    ///
    /// # Panics
    /// When there is no such memory.
    pub fn load_memory(&mut self, index: usize, words: &[u32]) -> Result<(), RtlError> {
        check("a memory", words.len(), self.layout.memories[index].words())?;
        self.host.pin_mut().load_memory(index as u32, words);
        self.rest();
        Ok(())
    }

    fn rest(&mut self) {
        self.quiet = self.quiet.max(QUIET_CLOCKS);
        self.host.pin_mut().assertions(false);
    }

    /// No assertion is checked from here on.
    pub fn silence(&mut self) {
        self.quiet = FOR_EVER;
        self.host.pin_mut().assertions(false);
    }

    /// Counts clocks, and turns a failed assertion into an error.
    fn edge(&mut self, found: i64, clocks: usize) -> Result<(), RtlError> {
        let clock = self.clock;
        self.clock += clocks as u64;
        if self.quiet > 0 && self.quiet != FOR_EVER {
            self.quiet = self.quiet.saturating_sub(clocks as u32);
            if self.quiet == 0 {
                self.host.pin_mut().assertions(true);
            }
        }
        if found == EQUAL {
            return Ok(());
        }
        // That of a log's clock k is told as FAILED - k.
        let clock = clock + FAILED.saturating_sub(found).unsigned_abs();
        Err(RtlError::Assertion { clock, text: self.host.pin_mut().error() })
    }

    fn difference(&self, expected: &[u32]) -> Difference {
        let rtl = self.read();
        let words = |p: &Place| p.offset..p.offset + self.layout.field(p).words();
        let differs = |p: &&Place| rtl[words(p)] != expected[words(p)];
        let places = || self.layout.places.iter();
        let register = places().filter(|p| p.kind == Kind::Register).find(differs);
        let place = register.or_else(|| places().find(differs)).expect("something differs").clone();
        let words = words(&place);
        Difference { expected: expected[words.clone()].to_vec(), rtl: rtl[words].to_vec(), place }
    }
}
