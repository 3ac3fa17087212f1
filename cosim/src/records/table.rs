//! A record's table: rows as they come, as CSV or Parquet, with a schema file beside it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::record::RecordError;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// A number from 0 to 2^63 - 1.
    Count,
    /// Text.
    Text,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds; any cell may be empty.
    #[serde(rename = "type")]
    pub kind: Type,
    /// What it says.
    pub about: String,
}

impl Column {
    /// A column of numbers.
    pub fn count(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Type::Count, about: about.into() }
    }

    /// A column of texts.
    pub fn text(name: impl Into<String>, about: impl Into<String>) -> Self {
        Self { name: name.into(), kind: Type::Text, about: about.into() }
    }
}

/// A cell of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A number.
    Count(u64),
    /// A text.
    Text(String),
    /// Nothing.
    Empty,
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Self::Count(n)
    }
}

impl From<u32> for Cell {
    fn from(n: u32) -> Self {
        Self::Count(n.into())
    }
}

impl From<u16> for Cell {
    fn from(n: u16) -> Self {
        Self::Count(n.into())
    }
}

impl From<bool> for Cell {
    fn from(bit: bool) -> Self {
        Self::Count(bit.into())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Empty, Into::into)
    }
}

/// How tables are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a heading.
    #[default]
    Csv,
    /// Apache Parquet; needs the feature `parquet`.
    #[cfg(feature = "parquet")]
    Parquet,
}

enum Rows {
    Csv(BufWriter<File>),
    #[cfg(feature = "parquet")]
    Parquet(super::parquet::Rows),
}

/// A table under way.
pub struct Table {
    path: PathBuf,
    columns: usize,
    rows: Rows,
    failed: Option<io::Error>,
}

#[derive(Serialize)]
struct Schema<'a> {
    record: &'a str,
    row: &'a str,
    columns: &'a [Column],
}

impl Table {
    /// Makes the table's file and its schema's in a folder; `row` says what there is a row for.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn new(
        folder: &Path,
        name: &str,
        row: &str,
        columns: &[Column],
        format: Format,
    ) -> Result<Self, RecordError> {
        let schema = Schema { record: name, row, columns };
        let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
        let path = folder.join(format!("{name}.schema.json"));
        fs::write(&path, text).map_err(|e| RecordError::new(&path, e))?;
        let (path, rows) = match format {
            Format::Csv => {
                let path = folder.join(format!("{name}.csv"));
                let rows = csv(&path, columns).map_err(|e| RecordError::new(&path, e))?;
                (path, Rows::Csv(rows))
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                let path = folder.join(format!("{name}.parquet"));
                let rows = super::parquet::Rows::new(&path, name, columns);
                let rows = rows.map_err(|e| RecordError::new(&path, e))?;
                (path, Rows::Parquet(rows))
            }
        };
        Ok(Self { path, columns: columns.len(), rows, failed: None })
    }

    /// Adds a row. A failed write is told by `finish`.
    ///
    /// # Panics
    /// When the row has not as many cells as the table has columns.
    pub fn row(&mut self, cells: &[Cell]) {
        assert_eq!(cells.len(), self.columns, "{}", self.path.display());
        let done = match &mut self.rows {
            Rows::Csv(file) => line(file, cells),
            #[cfg(feature = "parquet")]
            Rows::Parquet(rows) => rows.row(cells),
        };
        if let Err(e) = done {
            self.failed.get_or_insert(e);
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When a write has failed, here or earlier.
    pub fn finish(self) -> Result<(), RecordError> {
        let done = match (self.failed, self.rows) {
            (Some(e), _) => Err(e),
            (None, Rows::Csv(mut file)) => file.flush(),
            #[cfg(feature = "parquet")]
            (None, Rows::Parquet(rows)) => rows.finish(),
        };
        done.map_err(|e| RecordError::new(&self.path, e))
    }
}

fn csv(path: &Path, columns: &[Column]) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    let names: Vec<_> = columns.iter().map(|c| Cell::Text(c.name.clone())).collect();
    line(&mut file, &names)?;
    Ok(file)
}

/// One line; a text with a comma, a quote or a line's end is quoted.
fn line(file: &mut impl Write, cells: &[Cell]) -> io::Result<()> {
    for (n, cell) in cells.iter().enumerate() {
        if n > 0 {
            write!(file, ",")?;
        }
        match cell {
            Cell::Count(n) => write!(file, "{n}")?,
            Cell::Text(t) if t.contains([',', '"', '\n']) => {
                write!(file, "\"{}\"", t.replace('"', "\"\""))?;
            }
            Cell::Text(t) => write!(file, "{t}")?,
            Cell::Empty => {}
        }
    }
    writeln!(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_quotes_what_needs_it() {
        let mut out = Vec::new();
        let cells = [Cell::from(7_u64), "a,b".into(), Cell::Empty, "say \"x\"".into(), "c".into()];
        line(&mut out, &cells).expect("written");
        assert_eq!(out, b"7,\"a,b\",,\"say \"\"x\"\"\",c\n");
    }
}
