//! The tables of a run as Arrow columns, and those as Parquet.
//!
//! [`tables`](crate::tables) says which columns there are. Moments and spans are 64-bit integers in picoseconds; what
//! is not known is null; names repeat, so they are kept once in a dictionary by Parquet itself, and
//! integers as differences.

use crate::record::RunRecord;
use crate::tables::{self, Cell, Column, Kind, Look, Table};
use arrow_array::types::{Int64Type, UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Float64Array, PrimitiveArray, RecordBatch,
    StringArray,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::sync::Arc;

/// A table as columns. One whose values may be missing stays nullable where a run has them all.
pub fn batch<'a, R: 'static>(table: &Table<R>, rows: &[&'a R], look: Look<'a>) -> RecordBatch {
    let columns = table.0.iter().map(|column| {
        let values = values(column, rows, look);
        (column.name.as_str(), values, column.optional)
    });
    RecordBatch::try_from_iter_with_nullable(columns).expect("all columns have one value per row")
}

/// Whole numbers, each as near to its value as `T` comes.
fn numbers<T: ArrowPrimitiveType>(
    all: impl Iterator<Item = Option<u64>>,
    optional: bool,
    fits: fn(u64) -> T::Native,
) -> ArrayRef {
    if optional {
        let all: PrimitiveArray<T> = all.map(|number| number.map(fits)).collect();
        return Arc::new(all);
    }
    let all = all.map(|number| fits(number.expect("every row has one")));
    Arc::new(PrimitiveArray::<T>::from_iter_values(all))
}

/// The values of one column; what does not fit its kind is as large as it can be.
fn values<'a, R: 'static>(column: &Column<R>, rows: &[&'a R], look: Look<'a>) -> ArrayRef {
    let cells = || rows.iter().map(|row| column.get(row, &look));
    let all = || {
        cells().map(|cell| match cell {
            Cell::Number(number) => Some(number),
            Cell::Nothing | Cell::Ratio(_) | Cell::Text(_) => None,
        })
    };
    let optional = column.optional;
    match column.kind {
        Kind::U8 => numbers::<UInt8Type>(all(), optional, |n| u8::try_from(n).unwrap_or(u8::MAX)),
        Kind::U32 => {
            numbers::<UInt32Type>(all(), optional, |n| u32::try_from(n).unwrap_or(u32::MAX))
        }
        Kind::U64 => numbers::<UInt64Type>(all(), optional, |n| n),
        Kind::Ps => numbers::<Int64Type>(all(), optional, |n| i64::try_from(n).unwrap_or(i64::MAX)),
        Kind::Flag => {
            let flags = all().map(|n| n.map(|n| n != 0));
            Arc::new(flags.collect::<BooleanArray>())
        }
        Kind::Ratio => {
            let ratios = cells().map(|cell| match cell {
                Cell::Ratio(ratio) => Some(ratio),
                Cell::Nothing | Cell::Number(_) | Cell::Text(_) => None,
            });
            Arc::new(ratios.collect::<Float64Array>())
        }
        Kind::Text => {
            let texts = cells().map(|cell| match cell {
                Cell::Text(text) => Some(text),
                Cell::Nothing | Cell::Number(_) | Cell::Ratio(_) => None,
            });
            Arc::new(texts.collect::<StringArray>())
        }
    }
}

/// The tables that a run has, with the names of their files.
pub fn tables(run: &RunRecord) -> Vec<(&'static str, RecordBatch)> {
    let look = Look::of(run);
    let flows: Vec<_> = run.flows.iter().collect();
    let ports: Vec<_> = run.ports.iter().collect();
    let mut found = vec![
        ("flows.parquet", batch(&tables::flows(), &flows, look)),
        ("ports.parquet", batch(&tables::ports(), &ports, look)),
    ];
    if !run.counts.is_empty() {
        let rows: Vec<_> = run.counts.iter().collect();
        let table = tables::hosts(tables::own_counters(run));
        found.push(("hosts.parquet", batch(&table, &rows, look)));
    }
    if !run.port_series.is_empty() {
        let rows: Vec<_> = run.port_series.news().iter().collect();
        found.push(("series.parquet", batch(&tables::series(), &rows, look)));
    }
    if !run.flow_series.is_empty() {
        let rows: Vec<_> = run.flow_series.iter().collect();
        let table = tables::flow_series();
        found.push(("flow-series.parquet", batch(&table, &rows, look)));
    }
    if !run.memory.is_empty() {
        let rows: Vec<_> = run.memory.iter().collect();
        found.push(("memory.parquet", batch(&tables::memory(), &rows, look)));
    }
    found
}

/// What a file says of the run that its table is of, so that it does when it has left its folder.
pub fn origin(run: &RunRecord) -> Vec<(&'static str, String)> {
    vec![
        ("tidegate.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("tidegate.scenario", run.scenario.clone()),
        ("tidegate.title", run.title.clone()),
        ("tidegate.transport", run.transport.clone()),
        ("tidegate.seed", run.seed.to_string()),
        ("tidegate.fingerprint", format!("{:016x}", run.fingerprint)),
        ("tidegate.status", run.status.name().to_owned()),
        ("tidegate.command", run.command.clone()),
    ]
}

/// A table as the bytes of a Parquet file, with its [`origin`] as the file's own keys and values.
pub fn parquet(table: &RecordBatch, origin: &[(&'static str, String)]) -> Vec<u8> {
    let said = origin.iter();
    let said = said.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(said.collect()));
    // A dictionary of numbers costs a hash per value, and most values of ours differ; names repeat.
    for field in table.schema().fields() {
        let (column, kind) = (ColumnPath::from(field.name().as_str()), field.data_type());
        if kind.is_numeric() {
            properties = properties.set_column_dictionary_enabled(column.clone(), false);
        }
        if kind.is_integer() {
            properties = properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    let properties = properties.build();
    let mut bytes = Vec::new();
    let written = ArrowWriter::try_new(&mut bytes, table.schema(), Some(properties)).and_then(
        |mut writer| {
            writer.write(table)?;
            writer.close()
        },
    );
    written.expect("memory takes every column that these tables have");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FlowRow, Names};
    use arrow_array::Array;
    use units::{Span, Time};

    #[test]
    fn what_is_unknown_is_null_and_stays_so_through_a_file() {
        let row = |start, stopped| FlowRow {
            message: 0,
            conn: 1,
            src: 2,
            dst: 3,
            size: 4,
            start,
            end: None,
            stopped,
            ideal: Span(5),
            received: 0,
            tag: 0,
            transport: 0,
            timed: true,
        };
        let rows = [row(None, Some(Time::NEVER)), row(Some(Time(7)), None)];
        let look = Look {
            names: Names {
                tags: &[],
                transports: &["x".to_owned()],
            },
            end: Time(9),
            span: Span::ZERO,
        };
        let table = batch(&tables::flows(), &[&rows[0], &rows[1]], look);
        let nullable = |name: &str| table.schema().field_with_name(name).unwrap().is_nullable();
        assert!(nullable("start_ps") && nullable("end_ps") && !nullable("size"));
        let start = table.column_by_name("start_ps").unwrap();
        assert!(start.is_null(0) && !start.is_null(1));
        let origin = [("tidegate.seed", "7".to_owned())];
        let bytes = parquet(&table, &origin);
        assert_eq!(bytes, parquet(&table, &origin), "the same bytes every time");
        let reader = ::parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(
            bytes::Bytes::from(bytes),
            10,
        );
        let reader = reader.unwrap();
        let read: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(read, [table]);
    }
}
