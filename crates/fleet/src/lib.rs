//! Room `fleet`: partial logs as files, and a folder of them as a fleet's database.
//!
//! - `schema.rs` is the file: one partial log as Parquet, writer and reader together, with its version.
//! - `ingest.rs` takes files of instances into a store, each once, and sets aside what is none of its logs, with the reason;
//!   `apart.rs` reads them in another process, because nobody trusts them.
//! - `store.rs` is the folder, and reads it for the analysis.
//! - `spark.rs` has the same analysis done by Apache Spark over the same files; the job is `job.py`.
//!
//! Parquet is here and nowhere else, so that no other room waits until it is compiled.

mod apart;
mod budgets;
mod ingest;
mod schema;
mod spark;
mod store;

pub use budgets::budgets;
pub use ingest::{Aside, Ingested, ingest};
pub use schema::{SCHEMA_VERSION, SchemaError, read, write};
pub use spark::{JOB, Question, SparkError, SparkRanked, spark};
pub use store::{Collected, Store, StoreError};
