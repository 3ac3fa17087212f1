//! The records of a real run as Parquet: what another reader sees in them is what the CSV of the
//! same run says, column by column as the schema has them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// `fixtures/scenarios/lossy.toml` with a pause from the switch; every record is kept, in short
/// intervals.
fn scenario() -> String {
    let path = verilated::project_root().join("fixtures/scenarios/lossy.toml");
    let text = fs::read_to_string(path).expect("a scenario");
    let monitor = "EnableMonitor = true";
    assert_eq!(text.matches(monitor).count(), 2);
    text.replace(monitor, "EnableMonitor = true\nEnableBufferStats = true")
        + "[[switch]]\naction = \"pause\"\nto = \"a\"\nclasses = [0]\nquanta = 20\nat = \"2us\"\n\
           [SimulationParameters]\nEnableNetworkBufferStatsReporting = true\n\
           EnableNetworkBufferSeries = true\nNDStatsReportInterval = \"50us\"\n\
           NetworkBufferStatsReportingInterval = \"50us\"\n"
}

/// Runs it, its records in `folder`.
fn run(folder: &Path, more: &[&str]) {
    let path = folder.join("scenario.toml");
    fs::write(&path, scenario()).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nicstep"));
    command.arg("run").arg(path).args(["--model-only", "--out"]).arg(folder).args(more);
    let output = command.output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Name and type of each column, by the schema file.
fn schema(folder: &Path, record: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(folder.join(format!("{record}.schema.json"))).expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!(schema["record"], record);
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let columns = schema["columns"].as_array().expect("columns");
    columns.iter().map(|c| (text(&c["name"]), text(&c["type"]))).collect()
}

/// The rows of a Parquet file as the lines of a CSV, its heading first.
fn lines(folder: &Path, record: &str, columns: &[(String, String)]) -> Vec<String> {
    let file = File::open(folder.join(format!("{record}.parquet"))).expect("opens");
    let reader = SerializedFileReader::new(file).expect("reads");
    let fields = reader.metadata().file_metadata().schema_descr();
    assert_eq!(fields.num_columns(), columns.len());
    for (field, (name, kind)) in fields.columns().iter().zip(columns) {
        assert_eq!(field.name(), name);
        let want = match kind.as_str() {
            "count" => (Physical::INT64, ConvertedType::NONE),
            _ => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        assert_eq!((field.physical_type(), field.converted_type()), want, "{name}");
        assert_eq!(field.self_type().get_basic_info().repetition(), Repetition::OPTIONAL);
    }
    let cell = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Long(n) => n.to_string(),
        Field::Str(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let heading = columns.iter().map(|c| c.0.clone()).collect::<Vec<_>>().join(",");
    let rows = reader.get_row_iter(None).expect("rows").map(|row| {
        let row = row.expect("a row");
        row.get_column_iter().map(|(_, field)| cell(field)).collect::<Vec<_>>().join(",")
    });
    std::iter::once(heading).chain(rows).collect()
}

/// Section 15: every record of the run, and each of them has rows.
#[test]
fn every_record_is_read_back_as_its_csv() {
    let [csv, parquet] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    run(csv.path(), &[]);
    run(parquet.path(), &["--parquet"]);
    let mut records = Vec::new();
    for entry in fs::read_dir(csv.path()).expect("a folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("is text");
        let Some(record) = name.strip_suffix(".csv") else { continue };
        let columns = schema(parquet.path(), record);
        assert_eq!(columns, schema(csv.path(), record), "{record}");
        let text = fs::read_to_string(csv.path().join(&name)).expect("a table");
        let want: Vec<_> = text.lines().map(str::to_owned).collect();
        assert_eq!(lines(parquet.path(), record, &columns), want, "{record}");
        assert!(!parquet.path().join(&name).exists(), "one form of each record");
        records.push((record.to_owned(), want.len() - 1));
    }
    let transport = ["mrc-transport-stats", "mrc-events", "mrc-monitor"];
    let buffers = ["nd-stats", "ecn-pfc-stats", "net-buff-stats", "net-buff-series", "pcie-stats"];
    for record in transport.iter().chain(&buffers) {
        assert!(records.iter().any(|r| r.0 == *record && r.1 > 1), "{record}: {records:?}");
    }
}
