//! Rows of a table as Apache Parquet: every column optional, numbers as INT64, texts as UTF-8.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type as Field;

use super::table::{Cell, Column, Type};

/// Rows of a group.
const GROUP: usize = 65_536;

/// Values of a column, and for each row whether it has one.
enum Values {
    Counts(Vec<i64>, Vec<i16>),
    Texts(Vec<ByteArray>, Vec<i16>),
}

/// A file under way, with the rows of the group that is not written.
pub struct Rows {
    file: SerializedFileWriter<File>,
    values: Vec<Values>,
    waiting: usize,
}

fn failed(e: ParquetError) -> io::Error {
    io::Error::other(e)
}

impl Rows {
    /// A file with these columns.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(path: &Path, name: &str, columns: &[Column]) -> io::Result<Self> {
        let field = |c: &Column| {
            let (physical, logical) = match c.kind {
                Type::Count => (Physical::INT64, None),
                Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Field::primitive_type_builder(&c.name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical)
                .build()?;
            Ok(Arc::new(field))
        };
        let fields = columns.iter().map(field).collect::<Result<_, _>>().map_err(failed)?;
        let schema = Field::group_type_builder(name).with_fields(fields).build().map_err(failed)?;
        let properties = Arc::new(WriterProperties::builder().build());
        let file = SerializedFileWriter::new(File::create(path)?, Arc::new(schema), properties);
        let empty = |c: &Column| match c.kind {
            Type::Count => Values::Counts(Vec::new(), Vec::new()),
            Type::Text => Values::Texts(Vec::new(), Vec::new()),
        };
        Ok(Self {
            file: file.map_err(failed)?,
            values: columns.iter().map(empty).collect(),
            waiting: 0,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When a group cannot be written, or a cell is not of its column's type.
    pub fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        for (values, cell) in self.values.iter_mut().zip(cells) {
            match (values, cell) {
                (Values::Counts(all, there), Cell::Count(n)) => {
                    all.push(n.cast_signed());
                    there.push(1);
                }
                (Values::Texts(all, there), Cell::Text(text)) => {
                    all.push(text.as_str().into());
                    there.push(1);
                }
                (Values::Counts(_, there) | Values::Texts(_, there), Cell::Empty) => there.push(0),
                _ => return Err(io::Error::other("a cell is not of its column's type")),
            }
        }
        self.waiting += 1;
        if self.waiting == GROUP { self.group().map_err(failed) } else { Ok(()) }
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for values in &mut self.values {
            let mut column = group.next_column()?.expect("as many columns as the schema has");
            match values {
                Values::Counts(all, there) => {
                    column.typed::<Int64Type>().write_batch(all, Some(there), None)?;
                    all.clear();
                    there.clear();
                }
                Values::Texts(all, there) => {
                    column.typed::<ByteArrayType>().write_batch(all, Some(there), None)?;
                    all.clear();
                    there.clear();
                }
            }
            column.close()?;
        }
        group.close()?;
        self.waiting = 0;
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        if self.waiting > 0 {
            self.group().map_err(failed)?;
        }
        self.file.close().map(|_| ()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::RowAccessor;

    use super::*;

    /// More rows than a group has, with empty cells, as another reader sees them.
    #[test]
    fn rows_are_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.parquet");
        let columns = [Column::count("n", "a number"), Column::text("t", "a text")];
        let mut rows = Rows::new(&path, "t", &columns).expect("made");
        let all = GROUP as u64 + 10;
        for n in 0..all {
            let text = (n % 3 > 0).then(|| format!("row {n}"));
            rows.row(&[n.into(), text.into()]).expect("written");
        }
        assert!(rows.row(&["x".into(), Cell::Empty]).is_err(), "a text is no number");
        let mut rows = Rows::new(&path, "t", &columns).expect("made");
        for n in 0..all {
            let text = (n % 3 > 0).then(|| format!("row {n}"));
            rows.row(&[n.into(), text.into()]).expect("written");
        }
        rows.finish().expect("written");
        let reader = SerializedFileReader::new(File::open(&path).expect("opens")).expect("reads");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        for (n, row) in (0..).zip(reader.get_row_iter(None).expect("rows")) {
            let row = row.expect("a row");
            assert_eq!(row.get_long(0).expect("a number"), n);
            let text = row.get_string(1).ok().cloned();
            assert_eq!(text, (n % 3 > 0).then(|| format!("row {n}")));
        }
    }
}
