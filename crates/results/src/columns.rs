//! The tables of a run as Parquet.
//!
//! [`tables`](crate::tables) says which columns there are. Moments and spans are 64-bit integers in picoseconds; what
//! is not known is null; names repeat, so they are kept once in a dictionary, and integers as differences.

use crate::files::Fill;
use crate::record::RunRecord;
use crate::tables::{self, Cell, Column, Kind, Look, Table};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::sync::Arc;

/// Rows of a row group, which a reader may skip or take by itself. [ours: what Arrow's writer takes]
const ROWS: usize = 1 << 20;

/// Columns that one pass over the rows gathers, and rows that it looks at together: they stay in the nearest cache but one.
/// [ours]
const AT_ONCE: usize = 8;
const BLOCK: usize = 256;

/// Hands the tables that a run has to `file`, with the names of their files.
///
/// # Errors
/// What `file` finds.
pub fn each<E>(
    run: &RunRecord,
    mut file: impl FnMut(&str, &mut Fill<'_>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let look = Look::of(run);
    let origin = origin(run);
    let mut write = |name, table: &[u8]| file(name, &mut |out| out.write_all(table));
    write(
        "flows.parquet",
        &parquet(&tables::flows(), &run.flows, look, &origin),
    )?;
    write(
        "ports.parquet",
        &parquet(&tables::ports(), &run.ports, look, &origin),
    )?;
    if !run.counts.is_empty() {
        let table = tables::hosts(tables::own_counters(run));
        write(
            "hosts.parquet",
            &parquet(&table, &run.counts, look, &origin),
        )?;
    }
    if !run.port_series.is_empty() {
        let rows = run.port_series.news();
        write(
            "series.parquet",
            &parquet(&tables::series(), rows, look, &origin),
        )?;
    }
    if !run.flow_series.is_empty() {
        let rows = &run.flow_series;
        write(
            "flow-series.parquet",
            &parquet(&tables::flow_series(), rows, look, &origin),
        )?;
    }
    if !run.memory.is_empty() {
        write(
            "memory.parquet",
            &parquet(&tables::memory(), &run.memory, look, &origin),
        )?;
    }
    Ok(())
}

/// What a file says of the run that its table is of, so that it does when it has left its folder.
fn origin(run: &RunRecord) -> Vec<KeyValue> {
    let said = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("scenario", run.scenario.clone()),
        ("title", run.title.clone()),
        ("transport", run.transport.clone()),
        ("seed", run.seed.to_string()),
        ("fingerprint", run.print()),
        ("status", run.status.name().to_owned()),
        ("command", run.command.clone()),
    ];
    let said = said.into_iter();
    said.map(|(key, value)| KeyValue::new(format!("tidegate.{key}"), value))
        .collect()
}

/// A table as the bytes of a Parquet file, with its [`origin`] as the file's own keys and values.
fn parquet<'a, R: 'static>(
    table: &Table<R>,
    rows: &'a [R],
    look: Look<'a>,
    origin: &[KeyValue],
) -> Vec<u8> {
    // The least and the most of a group let a reader skip it, where there are others.
    let statistics = match rows.len() > ROWS {
        true => EnabledStatistics::Chunk,
        false => EnabledStatistics::None,
    };
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(statistics)
        .set_key_value_metadata(Some(origin.to_vec()));
    // A dictionary of numbers costs a hash per value, and most values of ours differ; names repeat.
    for column in &table.0 {
        let path = ColumnPath::from(column.name.as_str());
        properties = match column.kind {
            Kind::Text | Kind::Flag => continue,
            Kind::Ratio => properties.set_column_dictionary_enabled(path, false),
            Kind::U8(_) | Kind::U32(_) | Kind::U64(_) | Kind::Ps => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    let fields = table.0.iter().map(|column| Arc::new(field(column)));
    let schema = Type::group_type_builder("schema").with_fields(fields.collect());
    let schema = Arc::new(schema.build().expect("a group of fields"));
    let mut bytes = Vec::new();
    let write = || {
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build()))?;
        for rows in rows.chunks(ROWS) {
            let mut group = writer.next_row_group()?;
            for columns in table.0.chunks(AT_ONCE) {
                let numbers = gather(columns, rows);
                for (column, numbers) in columns.iter().zip(numbers) {
                    let mut to = group.next_column()?.expect("one for each field");
                    fill(&mut to, column, numbers, rows, look)?;
                    to.close()?;
                }
            }
            group.close()?;
        }
        writer.close()
    };
    write().expect("memory takes every column that these tables have");
    bytes
}

/// What a column of plain numbers holds, as Parquet has it: a number that does not fit its kind is as large as it can be, and
/// those without a sign keep their bits.
enum Numbers {
    Long(Vec<i64>),
    Short(Vec<i32>),
    /// It is no column of plain numbers.
    Others,
}

fn tiny(number: u64) -> i32 {
    u8::try_from(number).unwrap_or(u8::MAX).into()
}

fn short(number: u64) -> i32 {
    u32::try_from(number).unwrap_or(u32::MAX).cast_signed()
}

fn span(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The numbers of several columns, in one pass over the rows: these are longer than a line of a cache, so that a pass for
/// each column would wait for memory each time.
fn gather<R: 'static>(columns: &[Column<R>], rows: &[R]) -> Vec<Numbers> {
    let empty = |column: &Column<R>| match column.kind {
        _ if !column.is_plain() => Numbers::Others,
        Kind::U64(_) | Kind::Ps => Numbers::Long(Vec::with_capacity(rows.len())),
        Kind::U8(_) | Kind::U32(_) => Numbers::Short(Vec::with_capacity(rows.len())),
        Kind::Flag | Kind::Ratio | Kind::Text => Numbers::Others,
    };
    let mut all: Vec<Numbers> = columns.iter().map(empty).collect();
    for rows in rows.chunks(BLOCK) {
        for (column, to) in columns.iter().zip(&mut all) {
            match (to, column.kind) {
                (Numbers::Long(to), Kind::Ps) => column.numbers(rows, span, to),
                (Numbers::Long(to), _) => column.numbers(rows, u64::cast_signed, to),
                (Numbers::Short(to), Kind::U8(_)) => column.numbers(rows, tiny, to),
                (Numbers::Short(to), _) => column.numbers(rows, short, to),
                (Numbers::Others, _) => {}
            }
        }
    }
    all
}

/// What a file says of a column. One whose values may be missing stays so where a run has them all.
fn field<R>(column: &Column<R>) -> Type {
    let whole = |bits| Some(LogicalType::integer(bits, false));
    let (physical, logical) = match column.kind {
        Kind::U8(_) => (Physical::INT32, whole(8)),
        Kind::U32(_) => (Physical::INT32, whole(32)),
        Kind::U64(_) => (Physical::INT64, whole(64)),
        Kind::Ps => (Physical::INT64, None),
        Kind::Ratio => (Physical::DOUBLE, None),
        Kind::Flag => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.optional {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let of = Type::primitive_type_builder(&column.name, physical);
    let of = of.with_logical_type(logical).with_repetition(repetition);
    of.build().expect("each kind is one of Parquet's")
}

/// Writes a column, of which `numbers` are known where it has plain ones.
fn fill<'a, R: 'static>(
    to: &mut SerializedColumnWriter<'_>,
    column: &Column<R>,
    numbers: Numbers,
    rows: &'a [R],
    look: Look<'a>,
) -> Result<()> {
    match numbers {
        Numbers::Long(all) => return put_all::<Int64Type>(to, &all),
        Numbers::Short(all) => return put_all::<Int32Type>(to, &all),
        Numbers::Others => {}
    }
    let cells = rows.iter().map(|row| column.get(row, &look));
    let numbers = cells.clone().map(|cell| match cell {
        Cell::Number(number) => Some(number),
        Cell::Nothing | Cell::Ratio(_) | Cell::Text(_) | Cell::Numbered(..) => None,
    });
    let optional = column.optional;
    match column.kind {
        Kind::U8(_) => put::<Int32Type>(to, numbers.map(|n| n.map(tiny)), optional),
        Kind::U32(_) => put::<Int32Type>(to, numbers.map(|n| n.map(short)), optional),
        Kind::U64(_) => put::<Int64Type>(to, numbers.map(|n| n.map(u64::cast_signed)), optional),
        Kind::Ps => put::<Int64Type>(to, numbers.map(|n| n.map(span)), optional),
        Kind::Flag => put::<BoolType>(to, numbers.map(|n| n.map(|n| n != 0)), optional),
        Kind::Ratio => {
            let ratios = cells.map(|cell| match cell {
                Cell::Ratio(ratio) => Some(ratio),
                Cell::Nothing | Cell::Number(_) | Cell::Text(_) | Cell::Numbered(..) => None,
            });
            put::<DoubleType>(to, ratios, optional)
        }
        Kind::Text => {
            // Names repeat, and share their bytes.
            let (mut last, mut bytes) = ("", ByteArray::from(""));
            let texts = cells.map(|cell| match cell {
                Cell::Text(text) => {
                    if text != last {
                        (last, bytes) = (text, text.into());
                    }
                    Some(bytes.clone())
                }
                Cell::Numbered(word, number) => Some(format!("{word}{number}").into_bytes().into()),
                Cell::Nothing | Cell::Number(_) | Cell::Ratio(_) => None,
            });
            put::<ByteArrayType>(to, texts, optional)
        }
    }
}

/// Writes a column in which every row has a value.
fn put_all<T: DataType>(to: &mut SerializedColumnWriter<'_>, values: &[T::T]) -> Result<()> {
    to.typed::<T>().write_batch(values, None, None).map(drop)
}

fn put<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    all: impl ExactSizeIterator<Item = Option<T::T>>,
    optional: bool,
) -> Result<()> {
    let rows = all.len();
    let (mut values, mut known) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for value in all {
        known.push(i16::from(value.is_some()));
        values.extend(value);
    }
    assert!(optional || values.len() == known.len(), "every row has one");
    let known = optional.then_some(&known[..]);
    to.typed::<T>().write_batch(&values, known, None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FlowRow, FlowSeriesRow, Names};
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReader;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type as I64, UInt32Type as U32, UInt64Type as U64};
    use arrow_array::{Array, RecordBatch};
    use units::{Span, Time};

    fn read(bytes: Vec<u8>) -> Vec<RecordBatch> {
        let reader = ParquetRecordBatchReader::try_new(bytes::Bytes::from(bytes), 1 << 21);
        reader.unwrap().map(::std::result::Result::unwrap).collect()
    }

    fn look(transports: &[String]) -> Look<'_> {
        Look {
            names: Names {
                tags: &[],
                transports,
                hosts: &[],
            },
            end: Time(9),
            span: Span::ZERO,
        }
    }

    #[test]
    fn what_is_unknown_is_null_and_stays_so_through_a_file() {
        let row = |start, stopped| FlowRow {
            message: 0,
            conn: 1,
            src: 2,
            dst: 3,
            size: u64::MAX,
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
        let names = ["x".to_owned()];
        let origin = [KeyValue::new("tidegate.seed".to_owned(), "7".to_owned())];
        let write = || parquet(&tables::flows(), &rows, look(&names), &origin);
        assert_eq!(write(), write(), "the same bytes every time");
        let [table] = &read(write())[..] else {
            panic!("one batch")
        };
        let nullable = |name: &str| table.schema().field_with_name(name).unwrap().is_nullable();
        assert!(nullable("start_ps") && nullable("end_ps") && !nullable("size"));
        let column = |name: &str| table.column_by_name(name).unwrap();
        let start = column("start_ps").as_primitive::<I64>();
        assert_eq!((start.is_null(0), start.value(1)), (true, 7));
        let size = column("size").as_primitive::<U64>();
        assert_eq!(size.values()[..], [u64::MAX; 2]);
        let transport = column("transport").as_string::<i32>();
        assert_eq!((transport.value(0), transport.value(1)), ("x", "x"));
    }

    #[test]
    fn rows_beyond_a_group_are_in_the_next() {
        let row = |n: u32| FlowSeriesRow {
            at: Time(u64::from(n) << 43), // most do not fit
            conn: u32::MAX - n,
            received: n.into(),
        };
        let rows: Vec<_> = (0..1 << 20).map(row).chain([row(7)]).collect();
        let bytes = parquet(&tables::flow_series(), &rows, look(&[]), &[]);
        let tables = read(bytes);
        let all = |name: &str| {
            let columns = tables
                .iter()
                .map(|table| table.column_by_name(name).unwrap());
            columns.cloned().collect::<Vec<_>>()
        };
        let conns = all("conn").into_iter();
        let conns = conns.flat_map(|column| column.as_primitive::<U32>().values().to_vec());
        assert!(conns.eq(rows.iter().map(|row| row.conn)));
        let at = all("at_ps").into_iter();
        let at = at.flat_map(|column| column.as_primitive::<I64>().values().to_vec());
        let most = |row: &FlowSeriesRow| i64::try_from(row.at.0).unwrap_or(i64::MAX);
        assert!(at.eq(rows.iter().map(most)));
    }
}
