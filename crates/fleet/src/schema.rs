//! One partial log as a Parquet file; writer and reader together.
//!
//! A row is an element that was logged. All but the last two columns are the same in every row: they belong to the log, and cost nothing
//! as dictionaries. Any tool that reads Parquet reads it.
//!
//! | column | type | what |
//! |---|---|---|
//! | `version` | int32 | [`SCHEMA_VERSION`] |
//! | `log` | string | the log's id, 32 hexadecimal digits |
//! | `build` | int64 | which program with which elements |
//! | `failed` | int32 | 1 if the run failed, else 0 |
//! | `kind` | string | how: `assertion`, `deadlock`, …; empty if it passed |
//! | `places` | int64 | where, as a hash of the places; −1 if it passed |
//! | `element` | int64 | the element's id, ascending |
//! | `threads` | repeated int64 | its access vector: threads by birth |
//!
//! Pages are dictionaries and runs of bits, not compressed besides: a thread is one to three bits, and a reader never has to inflate
//! anything. What a reader accepts is exactly what the writer writes, within the bounds of `budgets.rs`.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{SchemaDescriptor, TypePtr};
use thiserror::Error;
use unravel_coop::{ElementId, Ending, FailureSite, Log, LogId, Who};
use unravel_trace::FailureKind;

use crate::budgets::{MOST_ACCESSES, MOST_BYTES, MOST_ELEMENTS, MOST_ROW_GROUPS, MOST_THREADS};

/// The version of the schema.
pub const SCHEMA_VERSION: i32 = 1;

const SCHEMA: &str = "message log {
    required int32 version;
    required binary log (string);
    required int64 build;
    required int32 failed;
    required binary kind (string);
    required int64 places;
    required int64 element;
    repeated int64 threads;
}";

/// How every Parquet file begins and ends.
const MAGIC: &[u8; 4] = b"PAR1";

/// A file is no log.
#[derive(Debug, Error)]
pub enum SchemaError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("not a Parquet file")]
    NotParquet,
    #[error("truncated: it does not end as a Parquet file does")]
    Truncated,
    #[error("too large: {0}")]
    TooLarge(&'static str),
    #[error("not a partial log: {0}")]
    NotALog(&'static str),
    #[error("a log of version {found}, this program reads version {}", SCHEMA_VERSION)]
    Version { found: i32 },
    #[error("it contradicts itself: {0}")]
    Contradicts(&'static str),
    #[error("damaged: {0}")]
    Damaged(#[from] ParquetError),
}

fn schema() -> TypePtr {
    Arc::new(parse_message_type(SCHEMA).expect("the schema is well-formed"))
}

/// Writes a log, which has an element at least.
pub fn write(log: &Log, to: impl Write + Send) -> Result<(), SchemaError> {
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(true)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_created_by("unravel".to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(to, schema(), Arc::new(properties))?;
    let rows = log.vectors.len();
    let (failed, kind, places) = match log.ending {
        Ending::Passed => (0, "", -1),
        Ending::Failed(site) => (1, site.kind.name(), site.places as i64),
    };
    let text = |text: &str| vec![ByteArray::from(text); rows];
    let mut group = writer.next_row_group()?;
    for column in 0..8 {
        let mut column_writer = group.next_column()?.expect("the schema has eight columns");
        let typed = &mut column_writer;
        let written = match column {
            0 => typed.typed::<Int32Type>().write_batch(&vec![SCHEMA_VERSION; rows], None, None)?,
            1 => typed.typed::<ByteArrayType>().write_batch(
                &text(&log.id.to_string()),
                None,
                None,
            )?,
            2 => {
                typed.typed::<Int64Type>().write_batch(&vec![log.build as i64; rows], None, None)?
            }
            3 => typed.typed::<Int32Type>().write_batch(&vec![failed; rows], None, None)?,
            4 => typed.typed::<ByteArrayType>().write_batch(&text(kind), None, None)?,
            5 => typed.typed::<Int64Type>().write_batch(&vec![places; rows], None, None)?,
            6 => {
                let elements: Vec<i64> =
                    log.vectors.iter().map(|(element, _)| element.0 as i64).collect();
                typed.typed::<Int64Type>().write_batch(&elements, None, None)?
            }
            _ => {
                let (values, defined, repeated) = levels(log);
                typed.typed::<Int64Type>().write_batch(&values, Some(&defined), Some(&repeated))?
            }
        };
        debug_assert!(written >= rows || column == 7);
        column_writer.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

/// The vectors one after another, with what Parquet calls levels: an empty one is a place without a value, and all but the first entry
/// of a vector repeat.
fn levels(log: &Log) -> (Vec<i64>, Vec<i16>, Vec<i16>) {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for (_, vector) in &log.vectors {
        if vector.is_empty() {
            defined.push(0);
            repeated.push(0);
        }
        for (at, who) in vector.iter().enumerate() {
            values.push(who.0 as i64);
            defined.push(1);
            repeated.push(i16::from(at > 0));
        }
    }
    (values, defined, repeated)
}

/// Reads a log. Files of others are read by `apart.rs` only: the library may panic, or take more memory than there is.
pub fn read(mut file: File) -> Result<Log, SchemaError> {
    let size = file.metadata()?.len();
    if size > MOST_BYTES {
        return Err(SchemaError::TooLarge("bytes"));
    }
    check_ends(&mut file, size)?;
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata();
    let expected = SchemaDescriptor::new(schema());
    let found = metadata.file_metadata().schema_descr();
    let alike = found.num_columns() == expected.num_columns()
        && (0..expected.num_columns()).all(|at| {
            let (a, b) = (found.column(at), expected.column(at));
            a.path() == b.path()
                && a.physical_type() == b.physical_type()
                && a.max_def_level() == b.max_def_level()
                && a.max_rep_level() == b.max_rep_level()
        });
    if !alike {
        return Err(SchemaError::NotALog("its columns are others"));
    }
    if metadata.num_row_groups() != MOST_ROW_GROUPS {
        return Err(SchemaError::NotALog("it has not one row group"));
    }
    let group = metadata.row_group(0);
    let rows = group.num_rows();
    if !(1..=MOST_ELEMENTS).contains(&rows) {
        return Err(SchemaError::TooLarge("elements"));
    }
    for column in group.columns() {
        if column.compression() != Compression::UNCOMPRESSED {
            return Err(SchemaError::NotALog("it is compressed"));
        }
        if !(0..=MOST_ACCESSES).contains(&column.num_values()) {
            return Err(SchemaError::TooLarge("accesses"));
        }
    }
    let rows = rows as usize;
    let group = reader.get_row_group(0)?;
    let one = |mut values: Vec<i64>, what: &'static str| {
        values.dedup();
        match values[..] {
            [value] => Ok(value),
            _ => Err(SchemaError::Contradicts(what)),
        }
    };
    let found = one(numbers(&*group, 0, rows)?, "its rows have several versions")?;
    if found != i64::from(SCHEMA_VERSION) {
        return Err(SchemaError::Version { found: found as i32 });
    }
    let id = same_text(&*group, 1, rows)?;
    let id = std::str::from_utf8(&id).ok().and_then(|text| {
        let id: LogId = text.parse().ok()?;
        (id.to_string() == text).then_some(id)
    });
    let id = id.ok_or(SchemaError::Contradicts("its id is none"))?;
    let build = one(numbers(&*group, 2, rows)?, "its rows are of several builds")?;
    let failed = one(numbers(&*group, 3, rows)?, "its rows end differently")?;
    let kind = same_text(&*group, 4, rows)?;
    let kind = std::str::from_utf8(&kind).map_err(|_| SchemaError::Contradicts("no text"))?;
    let places = one(numbers(&*group, 5, rows)?, "its rows fail in several places")?;
    let ending = match (failed, FailureKind::from_name(kind), places) {
        (0, None, -1) if kind.is_empty() => Ending::Passed,
        (1, Some(kind), 0..) => Ending::Failed(FailureSite { kind, places: places as u64 }),
        _ => return Err(SchemaError::Contradicts("whether it failed, how and where")),
    };
    let elements = numbers(&*group, 6, rows)?;
    if !elements.is_sorted_by(|a, b| a < b) || elements[0] < 0 || build < 0 {
        return Err(SchemaError::Contradicts("its elements do not ascend"));
    }
    let vectors = vectors(&*group, rows)?;
    let ids = elements.into_iter().map(|element| ElementId(element as u64));
    let log = Log { id, build: build as u64, ending, vectors: ids.zip(vectors).collect() };
    match log.threads().len() {
        ..=MOST_THREADS => Ok(log),
        _ => Err(SchemaError::TooLarge("threads")),
    }
}

fn check_ends(file: &mut File, size: u64) -> Result<(), SchemaError> {
    use std::io::Read;
    let mut four = [0; 4];
    if size < 4 {
        return Err(if size == 0 { SchemaError::Truncated } else { SchemaError::NotParquet });
    }
    file.read_exact(&mut four)?;
    if four != *MAGIC {
        return Err(SchemaError::NotParquet);
    }
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut four)?;
    if size < 12 || four != *MAGIC {
        return Err(SchemaError::Truncated);
    }
    file.seek(SeekFrom::Start(0))?;
    Ok(())
}

/// A column of numbers, one a row.
fn numbers(
    group: &dyn RowGroupReader,
    column: usize,
    rows: usize,
) -> Result<Vec<i64>, SchemaError> {
    let values: Vec<i64> = match group.get_column_reader(column)? {
        ColumnReader::Int32ColumnReader(mut reader) => {
            let mut values = Vec::new();
            reader.read_records(rows, None, None, &mut values)?;
            values.into_iter().map(i64::from).collect()
        }
        ColumnReader::Int64ColumnReader(mut reader) => {
            let mut values = Vec::new();
            reader.read_records(rows, None, None, &mut values)?;
            values
        }
        _ => return Err(SchemaError::NotALog("a column has another type")),
    };
    match values.len() == rows {
        true => Ok(values),
        false => Err(SchemaError::Contradicts("a column lacks rows")),
    }
}

/// A column that has the same text in every row.
fn same_text(
    group: &dyn RowGroupReader,
    column: usize,
    rows: usize,
) -> Result<Vec<u8>, SchemaError> {
    let ColumnReader::ByteArrayColumnReader(mut reader) = group.get_column_reader(column)? else {
        return Err(SchemaError::NotALog("a column has another type"));
    };
    let mut values: Vec<ByteArray> = Vec::new();
    reader.read_records(rows, None, None, &mut values)?;
    if values.len() != rows || values.iter().any(|value| value.data() != values[0].data()) {
        return Err(SchemaError::Contradicts("its rows belong to several logs"));
    }
    Ok(values[0].data().to_vec())
}

fn vectors(group: &dyn RowGroupReader, rows: usize) -> Result<Vec<Vec<Who>>, SchemaError> {
    let ColumnReader::Int64ColumnReader(mut reader) = group.get_column_reader(7)? else {
        return Err(SchemaError::NotALog("a column has another type"));
    };
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    let (records, ..) =
        reader.read_records(rows, Some(&mut defined), Some(&mut repeated), &mut values)?;
    if records != rows || values.iter().any(|value| *value < 0) {
        return Err(SchemaError::Contradicts("its vectors are not as many as its elements"));
    }
    let mut vectors: Vec<Vec<Who>> = Vec::with_capacity(rows);
    let mut values = values.into_iter().map(|value| Who(value as u64));
    for (defined, repeated) in defined.into_iter().zip(repeated) {
        if repeated == 0 {
            vectors.push(Vec::new());
        }
        let last = vectors.last_mut().ok_or(SchemaError::Contradicts("a vector begins nowhere"))?;
        if defined == 1 {
            last.push(values.next().ok_or(SchemaError::Contradicts("a value is missing"))?);
        }
    }
    match vectors.len() == rows {
        true => Ok(vectors),
        false => Err(SchemaError::Contradicts("its vectors are not as many as its elements")),
    }
}
