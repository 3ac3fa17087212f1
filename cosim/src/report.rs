//! How a difference is printed.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};

use rtl_model::image::Field;

/// Clocks whose ports a report shows.
pub const CLOCKS_SHOWN: usize = 10;

/// Hexadecimal digits of a value, all of them.
pub fn hex(words: &[u32], width: u32) -> String {
    let digits = width.div_ceil(4).max(1) as usize;
    let mut out = String::new();
    for word in words.iter().rev() {
        let _ = write!(out, "{word:08x}");
    }
    out[out.len().saturating_sub(digits)..].to_owned()
}

/// Digits that a column of ports shows whole.
const WHOLE: usize = 20;
/// Of a longer value, those at each end that it shows.
const ENDS: usize = 8;

/// The same, cut in the middle where it would not fit a column.
fn short(words: &[u32], width: u32) -> String {
    let all = hex(words, width);
    if all.len() <= WHOLE {
        return all;
    }
    format!("{}..{}", &all[..ENDS], &all[all.len() - ENDS..])
}

/// The element of an array in which two images of a field differ, and its words in both.
pub fn first_element<'a>(
    field: &Field,
    a: &'a [u32],
    b: &'a [u32],
) -> (Option<usize>, &'a [u32], &'a [u32]) {
    let words = field.element_words();
    let differ = a.chunks(words).zip(b.chunks(words)).position(|(a, b)| a != b).unwrap_or(0);
    let range = differ * words..(differ + 1) * words;
    (field.elements.map(|_| differ), &a[range.clone()], &b[range])
}

/// The ports of the last clocks.
#[derive(Clone, Debug)]
pub struct History {
    fields: Vec<Field>,
    inputs: usize,
    rows: VecDeque<(u64, Vec<u32>)>,
}

impl History {
    /// Nothing yet, of these ports.
    pub fn new(inputs: &[Field], outputs: &[Field]) -> Self {
        let fields = inputs.iter().chain(outputs).cloned().collect();
        Self { fields, inputs: inputs.len(), rows: VecDeque::with_capacity(CLOCKS_SHOWN) }
    }

    /// Adds a clock, and forgets the oldest when there are enough.
    pub fn push(&mut self, clock: u64, inputs: &[u32], outputs: &[u32]) {
        let full = self.rows.len() == CLOCKS_SHOWN;
        let mut row = if full { self.rows.pop_front().unwrap_or_default().1 } else { Vec::new() };
        row.clear();
        row.extend_from_slice(inputs);
        row.extend_from_slice(outputs);
        self.rows.push_back((clock, row));
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let mut lines = Vec::new();
        let mut heading = vec!["clock".to_owned()];
        heading.extend(self.fields.iter().map(|f| f.name.clone()));
        lines.push(heading);
        for (clock, words) in &self.rows {
            let mut line = vec![clock.to_string()];
            let mut at = 0;
            for field in &self.fields {
                let value = &words[at..at + field.words()];
                let width = field.width * field.elements.unwrap_or(1);
                line.push(short(value, width));
                at += field.words();
            }
            lines.push(line);
        }
        lines
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.cells();
        let columns = lines[0].len();
        let widths: Vec<_> =
            (0..columns).map(|c| lines.iter().map(|l| l[c].len()).max().unwrap_or(0)).collect();
        for line in lines {
            for (n, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let bar = if n == 1 || n == self.inputs + 1 { " |" } else { "" };
                write!(f, "{bar} {cell:>width$}")?;
            }
            writeln!(f)?;
        }
        if self.fields.iter().any(|f| f.width * f.elements.unwrap_or(1) > 4 * WHOLE as u32) {
            let said = "Of values longer than";
            writeln!(f, "({said} {WHOLE} digits, the first and the last {ENDS} are shown.)")?;
        }
        Ok(())
    }
}
