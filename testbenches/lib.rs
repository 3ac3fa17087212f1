//! What benches share: fixture tables, seeded streams, lockstep.

pub mod hdl;
pub mod oracle;

use std::fmt::Display;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use cosim::reach;

pub use cosim::lockstep::{Lockstep, Mismatch, Setup, SetupError, Start};
pub use rtl_model::rng::Rng;
pub use rtl_model::sizes::Sizes;

/// What the pairs of a test reach, against `fixtures/reach/X.txt`; see `cosim::reach`.
pub struct Reached(String);

impl Reached {
    /// Collects from here on what the pairs of a block reach that this thread makes.
    pub fn begin(block: &str) -> Self {
        reach::begin(block);
        Self(block.to_owned())
    }

    /// Every register bit and every ready was seen both ways, and every value of an enum, but for
    /// what the block's file declares. Pairs that are still there do not count.
    ///
    /// # Panics
    /// When something was not reached and is not declared, or the other way round.
    pub fn check(self) {
        let Self(block) = self;
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/reach");
        let declared = fs::read_to_string(path.join(format!("{block}.txt"))).unwrap_or_default();
        match reach::end().check(&declared) {
            Ok(summary) => println!("{block}: {summary}"),
            Err(wrong) => panic!("{block} does not reach what fixtures/reach/ says\n{wrong:?}"),
        }
    }
}

/// A partner that takes each offer when it has waited for so many clocks (case 11).
pub struct Late {
    clocks: u32,
    waited: u32,
}

impl Late {
    /// One that lets everything wait for `clocks`.
    pub fn by(clocks: u32) -> Self {
        Self { clocks, waited: 0 }
    }

    /// Whether it is ready in a clock with or without an offer.
    pub fn ready(&mut self, offer: bool) -> bool {
        let ready = offer && self.waited == self.clocks;
        self.waited = if offer && !ready { self.waited + 1 } else { 0 };
        ready
    }
}

/// A fixture: rows of cells under a heading, one clock a row.
///
/// The heading is the last comment line that holds a `|`; it parts inputs from expected outputs.
/// A cell holds no blanks. `#` starts a comment.
pub struct Table {
    rows: Vec<Row>,
}

/// One row of a fixture. Its methods end the test with file, line and column of what is wrong.
pub struct Row {
    file: Rc<str>,
    line: usize,
    names: Rc<[String]>,
    cells: Vec<(usize, String)>,
}

impl Table {
    /// Reads a file below `fixtures/`.
    ///
    /// # Panics
    /// When there is no such file, or a row does not have the cells of the heading.
    pub fn read(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(name);
        let text = fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("read fixture {}: {e}", path.display()));
        Self::parse(&format!("fixtures/{name}"), &text)
    }

    /// The same from text.
    ///
    /// # Panics
    /// As `read`.
    pub fn parse(file: &str, text: &str) -> Self {
        let mut comments = text.lines().filter_map(|l| l.trim_start().strip_prefix('#'));
        let heading = comments.rfind(|l| l.contains('|'));
        let heading = heading.unwrap_or_else(|| panic!("{file}: no heading with a `|`"));
        let names: Rc<[String]> = heading.split_whitespace().map(str::to_owned).collect();
        let file: Rc<str> = file.into();
        let rows = text.lines().enumerate().filter_map(|(n, line)| {
            let cells = cells(line.split('#').next().unwrap_or(""));
            (!cells.is_empty()).then(|| Row::new(&file, n + 1, &names, cells))
        });
        Self { rows: rows.collect() }
    }
}

/// The cells of a line, with their columns counted from 1.
fn cells(line: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut at = 0;
    for part in line.split(char::is_whitespace) {
        if !part.is_empty() {
            out.push((at + 1, part.to_owned()));
        }
        at += part.len() + 1;
    }
    out
}

impl IntoIterator for Table {
    type Item = Row;
    type IntoIter = std::vec::IntoIter<Row>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl Row {
    fn new(file: &Rc<str>, line: usize, names: &Rc<[String]>, cells: Vec<(usize, String)>) -> Self {
        let (got, want) = (cells.len(), names.len());
        assert!(got == want, "{file}:{line}: the row has {got} cells, its heading {want}");
        let bar = |cell: &str| cell == "|";
        for ((column, cell), name) in cells.iter().zip(names.iter()) {
            assert!(bar(cell) == bar(name), "{file}:{line}:{column}: `|` is not where it is above");
        }
        Self { file: file.clone(), line, names: names.clone(), cells }
    }

    /// The line in the file, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    fn cell(&self, name: &str) -> (String, &str) {
        let Row { file, line, .. } = self;
        let n = self.names.iter().position(|n| n == name);
        let n = n.unwrap_or_else(|| panic!("{file}:{line}: no column {name}"));
        let (column, text) = &self.cells[n];
        (format!("{file}:{line}:{column}: {name}"), text)
    }

    /// The cell as it stands.
    ///
    /// # Panics
    /// When there is no such column.
    pub fn text(&self, name: &str) -> &str {
        self.cell(name).1
    }

    /// The cell as a bit.
    ///
    /// # Panics
    /// When it is neither `0` nor `1`.
    pub fn bit(&self, name: &str) -> bool {
        let (place, text) = self.cell(name);
        match text {
            "0" => false,
            "1" => true,
            _ => panic!("{place} is `{text}`, wanted 0 or 1"),
        }
    }

    /// The cell as a hexadecimal number.
    ///
    /// # Panics
    /// When it is none.
    pub fn hex(&self, name: &str) -> u64 {
        let (place, text) = self.cell(name);
        u64::from_str_radix(text, 16).unwrap_or_else(|e| panic!("{place} is `{text}`: {e}"))
    }

    /// The cell as a decimal number.
    ///
    /// # Panics
    /// When it is none.
    pub fn dec(&self, name: &str) -> u64 {
        let (place, text) = self.cell(name);
        text.parse().unwrap_or_else(|e| panic!("{place} is `{text}`: {e}"))
    }

    /// The cell as bytes, two hexadecimal digits each, in the order written.
    ///
    /// # Panics
    /// When it is none.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let (place, text) = self.cell(name);
        let wrong = || -> ! { panic!("{place} is `{text}`, wanted bytes in hexadecimal") };
        if !text.is_ascii() || text.len() % 2 != 0 {
            wrong();
        }
        let pair = |n: usize| u8::from_str_radix(&text[n..n + 2], 16).unwrap_or_else(|_| wrong());
        (0..text.len()).step_by(2).map(pair).collect()
    }

    /// Holds a value against the cell; `-` takes any.
    ///
    /// # Panics
    /// When they differ.
    pub fn expect(&self, name: &str, value: impl Display) {
        let (place, text) = self.cell(name);
        let value = value.to_string();
        assert!(text == "-" || text == value, "{place} is {value}, wanted {text}");
    }
}

/// ICRC of an IP datagram by its definition: the CRC-32 of 8 bytes of ones and the datagram, with
/// what routers may change as ones (PKT-1).
pub fn icrc_of(datagram: &[u8]) -> [u8; 4] {
    let mut bytes = vec![0xff; 8];
    bytes.extend(datagram);
    for at in [1, 8, 10, 11, 26, 27, 32] {
        bytes[8 + at] = 0xff;
    }
    crc32fast::hash(&bytes).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn cells_are_read_by_name() {
        let text = "# words\n#\n# a b | c\n1 ff | Gap  # why\n\n0 10 | -\n";
        let rows: Vec<_> = Table::parse("t.txt", text).into_iter().collect();
        assert_eq!(rows.len(), 2);
        assert!(rows[0].bit("a"));
        assert_eq!(rows[0].hex("b"), 255);
        assert_eq!(rows[1].dec("b"), 10);
        rows[0].expect("c", "Gap");
        rows[1].expect("c", "anything");
    }

    #[test]
    #[should_panic(expected = "t.txt:2:5: c is 3, wanted 2")]
    fn a_difference_names_line_and_column() {
        let row = Table::parse("t.txt", "# a | c\n1 | 2\n").into_iter().next();
        row.expect("a row").expect("c", 3);
    }

    #[test]
    #[should_panic(expected = "t.txt:2: the row has 2 cells, its heading 3")]
    fn a_short_row_is_refused() {
        Table::parse("t.txt", "# a | c\n1 |\n");
    }
}
