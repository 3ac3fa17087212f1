//! What the runs of a bench reach: which register bits and readys were seen both ways, and which
//! values of each enum.
//!
//! A run that never sets a bit cannot show a fault in it. What a bench does not reach it declares,
//! with the reason, in `fixtures/reach/X.txt`: rows `field bits never | reason`. The field is that
//! of `regs_t`, or an output that is a ready; of an array all elements, or `[n]`, `[n:m]`. Bits are
//! `n`, `n:m`, and `never` is 0 or 1; or the bits are `value`, and `never` is a number.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use rtl_model::block::Block;
use rtl_model::image::{Field, Reader};
use rtl_model::sizes::Sizes;
use verilated::{Kind, Layout};

thread_local! {
    /// The block that a test of this thread collects for, and each of its builds by name.
    static COLLECTED: RefCell<Option<(String, BTreeMap<String, Reach>)>> =
        const { RefCell::new(None) };
}

/// From here on the pairs of this block that this thread makes and drops are collected.
pub fn begin(block: &str) {
    COLLECTED.set(Some((block.to_owned(), BTreeMap::new())));
}

/// Ends the collection. The small build counts if there was one, since a run can reach all of it;
/// else, or where there were several, the one with most clocks.
pub fn end() -> Reach {
    let (_, builds) = COLLECTED.take().unwrap_or_default();
    let small = |name: &str| name.starts_with(&format!("{:?}", Sizes::SMALL));
    let order = |(name, reach): &(String, Reach)| (small(name), reach.clocks);
    builds.into_iter().max_by_key(order).map(|(_, reach)| reach).unwrap_or_default()
}

/// Whether pairs of this block are collected.
pub(crate) fn wanted(block: &str) -> bool {
    COLLECTED.with_borrow(|c| c.as_ref().is_some_and(|(name, _)| name == block))
}

/// Adds a pair that goes.
pub(crate) fn keep(block: &str, build: String, reach: &Reach) {
    COLLECTED.with_borrow_mut(|c| {
        if let Some((_, builds)) = c.as_mut().filter(|(name, _)| name == block) {
            builds.entry(build).or_default().add(reach);
        }
    });
}

/// Fields up to this wide may be enums: all values that they have had are kept.
const ENUM_BITS: u32 = 4;

/// What was seen of one field.
#[derive(Clone, Debug)]
struct Seen {
    field: Field,
    offset: usize,
    /// The values that it has, where it is an enum.
    values: Option<u16>,
    /// Those that it has had.
    had: u16,
}

/// What the clocks of one or more runs have reached.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    fields: Vec<Seen>,
    ones: Vec<u32>,
    zeros: Vec<u32>,
    clocks: u64,
}

/// A bit that was not seen both ways, or a value that was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Missing {
    /// Element, bit, the level never seen.
    Bit(u32, u32, bool),
    /// A value.
    Value(u32),
}

/// The values of `regs` that the field at `at` of its image can have, one bit each, if not all.
fn values<B: Block>(regs: &B, image: &[u32], at: usize, field: &Field) -> Option<u16> {
    if !(2..=ENUM_BITS).contains(&field.width) {
        return None;
    }
    let mut words = image.to_vec();
    let legal = (0..1u32 << field.width).filter(|value| {
        words[at] = *value;
        regs.clone().read(&mut Reader::new(&words)).is_ok()
    });
    let set = legal.fold(0, |set, value| set | 1 << value);
    let all = u16::MAX >> (16 - (1 << field.width));
    (set != all || field.name == "state").then_some(set)
}

impl Reach {
    /// Nothing reached yet of a block with these outputs and registers.
    pub(crate) fn of<B: Block>(layout: &Layout, regs: &B) -> Self {
        let top = &layout.instances[0];
        let image = regs.to_words();
        let mut fields = Vec::new();
        for place in &layout.places {
            let field = layout.field(place);
            let values = match place.kind {
                Kind::Output if field.name.ends_with("ready") => None,
                Kind::Output => continue,
                Kind::Register => values(regs, &image, place.offset - top.regs_offset(), field),
            };
            fields.push(Seen { field: field.clone(), offset: place.offset, values, had: 0 });
        }
        let words = vec![0; layout.expected_words];
        Self { fields, ones: words.clone(), zeros: words, clocks: 0 }
    }

    /// Adds the image of a clock.
    pub(crate) fn see(&mut self, image: &[u32]) {
        self.clocks += 1;
        for ((ones, zeros), word) in self.ones.iter_mut().zip(&mut self.zeros).zip(image) {
            *ones |= word;
            *zeros |= !word;
        }
        for seen in self.fields.iter_mut().filter(|s| s.values.is_some()) {
            let words = &image[seen.offset..seen.offset + seen.field.words()];
            seen.had |= words.iter().fold(0, |had, value| had | 1 << value);
        }
    }

    /// Adds what another run of the same block has reached.
    fn add(&mut self, other: &Self) {
        if self.fields.is_empty() {
            *self = other.clone();
            return;
        }
        self.clocks += other.clocks;
        for (mine, theirs) in [(&mut self.ones, &other.ones), (&mut self.zeros, &other.zeros)] {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a |= b);
        }
        for (mine, theirs) in self.fields.iter_mut().zip(&other.fields) {
            mine.had |= theirs.had;
        }
    }

    fn missing_of(&self, seen: &Seen) -> Vec<Missing> {
        let field = &seen.field;
        let mut missing = Vec::new();
        for element in 0..field.elements.unwrap_or(1) {
            let at = seen.offset + element as usize * field.element_words();
            for bit in 0..field.width {
                let seen = |words: &[u32]| words[at + bit as usize / 32] >> (bit % 32) & 1 == 1;
                for (level, words) in [(false, &self.zeros), (true, &self.ones)] {
                    if !seen(words) {
                        missing.push(Missing::Bit(element, bit, level));
                    }
                }
            }
        }
        let never = seen.values.unwrap_or(0) & !seen.had;
        missing.extend((0..16).filter(|v| never >> v & 1 == 1).map(Missing::Value));
        missing
    }

    /// Holds what was reached against the declared exceptions.
    ///
    /// # Errors
    /// With the rows that are missing in `declared`, those that say what is not so, and those that
    /// are no rows.
    pub fn check(&self, declared: &str) -> Result<Summary, Unreached> {
        let mut wrong = Unreached::default();
        let mut rows = Vec::new();
        for line in declared.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            match self.parse(line) {
                Some(row) => rows.push((line, row, false)),
                None => wrong.no_row.push(line.to_owned()),
            }
        }
        let mut summary = Summary { clocks: self.clocks, ..Summary::default() };
        for seen in &self.fields {
            summary.bits += seen.field.bits();
            summary.values += u64::from(seen.values.unwrap_or(0).count_ones());
            let mut left = Vec::new();
            for missing in self.missing_of(seen) {
                let mut covered = false;
                for (_, row, used) in &mut rows {
                    if row.field == seen.field.name && row.missing.contains(&missing) {
                        (covered, *used) = (true, true);
                    }
                }
                summary.declared += u64::from(covered);
                if !covered {
                    left.push(missing);
                }
            }
            wrong.undeclared.extend(lines(&seen.field, &left));
        }
        let stale = rows.iter().filter(|(_, _, used)| !used).map(|(line, ..)| (*line).to_owned());
        wrong.reached = stale.collect();
        if wrong == Unreached::default() { Ok(summary) } else { Err(wrong) }
    }

    fn parse(&self, line: &str) -> Option<Row> {
        let (what, reason) = line.split_once(" | ")?;
        let cells: Vec<_> = what.split_whitespace().collect();
        let [name, bits, never] = cells[..] else { return None };
        let (name, elements) = match name.strip_suffix(']') {
            Some(name) => name.split_once('[').map(|(n, e)| (n, Some(e)))?,
            None => (name, None),
        };
        let field = &self.fields.iter().find(|s| s.field.name == name)?.field;
        let all = format!("0:{}", field.elements.unwrap_or(1) - 1);
        let mut missing = BTreeSet::new();
        if bits == "value" {
            missing.insert(Missing::Value(never.parse().ok()?));
        } else {
            let level = [false, true][never.parse::<usize>().ok().filter(|n| *n < 2)?];
            for element in span(elements.unwrap_or(&all))? {
                missing.extend(span(bits)?.map(|bit| Missing::Bit(element, bit, level)));
            }
        }
        (!reason.trim().is_empty()).then(|| Row { field: name.to_owned(), missing })
    }
}

/// A declared exception.
struct Row {
    field: String,
    missing: BTreeSet<Missing>,
}

/// `n`, or `a:b` either way round.
fn span(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (a, b) = text.split_once(':').unwrap_or((text, text));
    let (a, b) = (a.parse::<u32>().ok()?, b.parse::<u32>().ok()?);
    Some(a.min(b)..=a.max(b))
}

/// Runs of numbers that follow one another, as `text` shows first and last.
fn runs(numbers: impl IntoIterator<Item = u32>, text: impl Fn(u32, u32) -> String) -> Vec<String> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for n in numbers {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => found.push((n, n)),
        }
    }
    let show = |(a, b): (u32, u32)| if a == b { a.to_string() } else { text(a, b) };
    found.into_iter().map(show).collect()
}

/// What is missing of a field, as rows without a reason.
fn lines(field: &Field, missing: &[Missing]) -> Vec<String> {
    let mut out = Vec::new();
    for level in [false, true] {
        // Elements that lack the same bits share a row.
        let mut of_element: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for missing in missing {
            if let Missing::Bit(element, bit, never) = missing
                && *never == level
            {
                of_element.entry(*element).or_default().push(*bit);
            }
        }
        let mut sharing: BTreeMap<&Vec<u32>, Vec<u32>> = BTreeMap::new();
        for (element, bits) in &of_element {
            sharing.entry(bits).or_default().push(*element);
        }
        for (bits, elements) in sharing {
            let all = elements.len() == field.elements.unwrap_or(1) as usize;
            let elements = runs(elements, |a, b| format!("{a}:{b}"));
            for element in if all { vec![String::new()] } else { elements } {
                let element = if all { element } else { format!("[{element}]") };
                for bits in runs(bits.iter().copied(), |a, b| format!("{b}:{a}")) {
                    out.push(format!("{}{element} {bits} {}", field.name, u8::from(level)));
                }
            }
        }
    }
    let values = missing.iter().filter_map(|m| match m {
        Missing::Value(value) => Some(format!("{} value {value}", field.name)),
        Missing::Bit(..) => None,
    });
    out.extend(values);
    out
}

/// How much was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Clocks of all runs.
    pub clocks: u64,
    /// Register bits and readys.
    pub bits: u64,
    /// Values of enums.
    pub values: u64,
    /// Levels and values that are declared as not reached.
    pub declared: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clocks, bits, values, declared } = self;
        write!(
            f,
            "{bits} bits both ways and {values} values of enums in {clocks} clocks, but {declared} \
             declared"
        )
    }
}

/// Where what was reached and what is declared do not agree.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Unreached {
    /// Rows, without their reasons, of what was not reached.
    pub undeclared: Vec<String>,
    /// Declared, and reached.
    pub reached: Vec<String>,
    /// Lines that are no rows.
    pub no_row: Vec<String>,
}

impl fmt::Debug for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (
                "not reached, and not declared (field, bits, level or value never seen)",
                &self.undeclared,
            ),
            ("declared as not reached, and reached", &self.reached),
            ("no rows `field bits never | reason`", &self.no_row),
        ];
        for (what, rows) in parts.iter().filter(|(_, rows)| !rows.is_empty()) {
            writeln!(f, "{what}:")?;
            rows.iter().try_for_each(|row| writeln!(f, "  {row}"))?;
        }
        f.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bits and an enum of three values, seen as 0 and then as `value`.
    fn reach(value: u32) -> Reach {
        let field = |name: &str| Field { name: name.into(), width: 2, elements: None };
        let seen = |name, offset, values| Seen { field: field(name), offset, values, had: 0 };
        let fields = vec![seen("count", 0, None), seen("state", 1, Some(0b111))];
        let mut reach = Reach { fields, ones: vec![0; 2], zeros: vec![0; 2], clocks: 0 };
        reach.see(&[0, 0]);
        reach.see(&[value, value]);
        reach
    }

    #[test]
    fn what_is_not_reached_is_a_row() {
        let wrong = reach(1).check("").expect_err("not all");
        assert_eq!(wrong.undeclared, ["count 1 1", "state 1 1", "state value 2"]);
        let declared = "count 1 1 | a\nstate 1 1 | b\nstate value 2 | c\n";
        let summary = reach(1).check(declared).expect("declared");
        assert_eq!((summary.bits, summary.values, summary.declared), (4, 3, 3));
    }

    #[test]
    fn what_is_reached_is_not_declared() {
        let declared = "count 1 1 | a\nstate 1:0 1 | b\nstate value 2 | c\nstate value 1 | d";
        let wrong = reach(2).check(declared).expect_err("reached");
        assert_eq!(wrong.undeclared, ["count 0 1"]);
        assert_eq!(wrong.reached, ["count 1 1 | a", "state value 2 | c"]);
    }

    #[test]
    fn a_row_has_a_field_bits_a_level_and_a_reason() {
        let declared = "count 1 1\ncount 1 | a\nother 1 1 | a\ncount 1 2 | a\ncount 1 1 |  ";
        let wrong = reach(1).check(declared).expect_err("no rows");
        assert_eq!(wrong.no_row.len(), 5, "{wrong:?}");
    }
}
