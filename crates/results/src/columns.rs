//! The tables of a run as Arrow columns, and those as Parquet.
//!
//! Columns have the names of the CSV files. Moments and spans are 64-bit integers in picoseconds;
//! what is not known is null; names repeat, so they are kept once in a dictionary by Parquet itself,
//! and integers as differences.

use crate::files::{classes, news, snake};
use crate::record::{FlowRow, PortRow, RunRecord};
use crate::summary::{active_span, fct, slowdown, utilisation};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt8Array,
    UInt32Array, UInt64Array,
};
use model::{ByClass, Class, DropReason};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::sync::Arc;
use units::Time;

type Columns = Vec<(String, ArrayRef)>;
type Add<'a> = dyn FnMut(String, &dyn Fn(&PortRow) -> u64) + 'a;

fn batch(columns: Columns) -> RecordBatch {
    let nullable = columns.into_iter().map(|(name, column)| {
        let nulls = column.null_count() > 0 || NULLABLE.contains(&name.as_str());
        (name, column, nulls)
    });
    RecordBatch::try_from_iter_with_nullable(nullable).expect("all columns have one value per row")
}

/// Columns that may lack values: they stay nullable where a run has them all.
const NULLABLE: [&str; 5] = ["start_ps", "end_ps", "fct_ps", "slowdown", "stopped_ps"];

fn wide(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn narrow(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

/// Picoseconds; `None` is null. A run lasts less than 106 days, which is where these end.
fn ps(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    let signed = |ps: u64| i64::try_from(ps).unwrap_or(i64::MAX);
    Arc::new(values.map(|ps| ps.map(signed)).collect::<Int64Array>())
}

fn text<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// One row per message, by number: `flows.csv`.
pub fn flows(run: &RunRecord) -> RecordBatch {
    let rows = || run.flows.iter();
    let number = |get: fn(&FlowRow) -> u32| narrow(rows().map(get));
    let moment = |get: fn(&FlowRow) -> Option<Time>| ps(rows().map(|r| get(r).map(|at| at.0)));
    let flag = |get: fn(&FlowRow) -> bool| -> ArrayRef {
        Arc::new(rows().map(|row| Some(get(row))).collect::<BooleanArray>())
    };
    let names = run.names();
    let slow = rows().map(|row| slowdown(row, run.end).map(|slow| slow.value));
    let columns: [(&str, ArrayRef); 16] = [
        ("flow_id", number(|row| row.message)),
        ("conn", number(|row| row.conn)),
        ("src", number(|row| row.src)),
        ("dst", number(|row| row.dst)),
        ("size", wide(rows().map(|row| row.size))),
        ("start_ps", moment(|row| row.start)),
        ("end_ps", moment(|row| row.end)),
        (
            "fct_ps",
            ps(rows().map(|row| fct(row, run.end).map(|took| took.value))),
        ),
        ("ideal_ps", ps(rows().map(|row| Some(row.ideal.0)))),
        ("slowdown", Arc::new(slow.collect::<Float64Array>())),
        ("finished", flag(|row| row.end.is_some())),
        ("received", wide(rows().map(|row| row.received))),
        ("stopped_ps", moment(|row| row.stopped)),
        ("timed", flag(|row| row.timed)),
        ("tag", text(rows().map(|row| names.tag(row)))),
        ("transport", text(rows().map(|row| names.transport(row)))),
    ];
    batch(named(columns))
}

fn named<const N: usize>(columns: [(&str, ArrayRef); N]) -> Columns {
    let owned = columns.into_iter();
    owned
        .map(|(name, column)| (name.to_owned(), column))
        .collect()
}

/// One row per link, by number: `ports.csv`.
pub fn ports(run: &RunRecord) -> RecordBatch {
    let rows = || run.ports.iter();
    let span = active_span(run);
    let tiers = |values: Vec<u8>| -> ArrayRef { Arc::new(UInt8Array::from(values)) };
    let share = rows().map(|port| utilisation(port, span));
    let mut columns = named([
        ("link", narrow(rows().map(|port| port.link))),
        ("from", text(rows().map(|port| &port.from))),
        ("to", text(rows().map(|port| &port.to))),
        (
            "from_tier",
            tiers(rows().map(|port| port.from_tier).collect()),
        ),
        ("to_tier", tiers(rows().map(|port| port.to_tier).collect())),
        ("rate_bps", wide(rows().map(|port| port.rate.0))),
        (
            "utilisation",
            Arc::new(Float64Array::from_iter_values(share)),
        ),
        ("queue_max", wide(rows().map(|port| port.queue_max))),
        ("credits_max", narrow(rows().map(|port| port.credits_max))),
        ("marked", wide(rows().map(|port| port.marked))),
    ]);
    let mut add = |name: String, get: &dyn Fn(&PortRow) -> u64| {
        columns.push((name, wide(rows().map(get))));
    };
    let by_class = |prefix: &str, get: fn(&PortRow) -> &ByClass<u64>, add: &mut Add<'_>| {
        for (class, name) in Class::ALL.into_iter().zip(classes(prefix)) {
            add(name, &|port| get(port)[class]);
        }
    };
    by_class("packets", |port| &port.packets, &mut add);
    by_class("bytes", |port| &port.bytes, &mut add);
    by_class("dropped", |port| &port.dropped, &mut add);
    for reason in DropReason::ALL {
        let name = format!("dropped_by_{}", snake(reason.name()));
        add(name, &|port| port.drop_reasons[reason]);
    }
    by_class("lost", |port| &port.lost, &mut add);
    by_class("copied", |port| &port.copied, &mut add);
    batch(columns)
}

/// One row per sample of a port, by (time, link): `series.csv`.
pub fn series(run: &RunRecord) -> RecordBatch {
    let told: Vec<_> = news(run).collect();
    let rows = || told.iter();
    let mut columns = named([
        ("at_ps", ps(rows().map(|row| Some(row.at.0)))),
        ("link", narrow(rows().map(|row| row.link))),
        ("queue", wide(rows().map(|row| row.queue))),
        ("credits", narrow(rows().map(|row| row.credits))),
    ]);
    for (class, name) in Class::ALL.into_iter().zip(classes("sent")) {
        columns.push((name, wide(rows().map(|row| row.sent[class]))));
    }
    columns.push(("marked".into(), wide(rows().map(|row| row.marked))));
    for (class, name) in Class::ALL.into_iter().zip(classes("dropped")) {
        columns.push((name, wide(rows().map(|row| row.dropped[class]))));
    }
    batch(columns)
}

/// One row per sample of a connection, by (time, connection): `flow-series.csv`.
pub fn flow_series(run: &RunRecord) -> RecordBatch {
    let rows = || run.flow_series.iter();
    batch(named([
        ("at_ps", ps(rows().map(|row| Some(row.at.0)))),
        ("conn", narrow(rows().map(|row| row.conn))),
        ("received", wide(rows().map(|row| row.received))),
    ]))
}

/// The tables that a run has, with the names of their files.
pub fn tables(run: &RunRecord) -> Vec<(&'static str, RecordBatch)> {
    let mut tables = vec![("flows.parquet", flows(run)), ("ports.parquet", ports(run))];
    if !run.port_series.is_empty() {
        tables.push(("series.parquet", series(run)));
    }
    if !run.flow_series.is_empty() {
        tables.push(("flow-series.parquet", flow_series(run)));
    }
    tables
}

/// A table as the bytes of a Parquet file.
pub fn parquet(table: &RecordBatch) -> Vec<u8> {
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
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

    #[test]
    fn what_is_unknown_is_null_and_stays_so_through_a_file() {
        let known = ps([Some(7), Some(9)].into_iter());
        let unknown = ps([None, Some(u64::MAX)].into_iter());
        let table = batch(named([("end_ps", known), ("start_ps", unknown)]));
        assert!(
            table
                .schema()
                .fields()
                .iter()
                .all(|field| field.is_nullable())
        );
        let bytes = parquet(&table);
        assert_eq!(bytes, parquet(&table), "the same bytes every time");
        let reader = ::parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(
            bytes::Bytes::from(bytes),
            10,
        );
        let read: Vec<_> = reader.unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [table]);
    }
}
