//! Documents as text, and back; their JSON Schemas.
//!
//! A reader trusts nothing: what is no JSON, another format or another version is an error that says so. Fields that it
//! does not know are passed over.

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use super::{
    CAUSES, CausesDocument, DATABASE, DIAGNOSIS, DatabaseDocument, DiagnosisDocument, EXPLANATION,
    ExplanationDocument, HUNT, HuntDocument, REPAIRS, RepairsDocument,
};

/// Why a text is not the document that was asked for.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("this is not JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    #[error("this is no {expected}: it has no field 'schema'")]
    NoSchema { expected: &'static str },
    #[error(
        "this is '{found}', but only '{expected}' can be read; a newer version of unravel may know it"
    )]
    OtherSchema { expected: &'static str, found: String },
    #[error("this says that it is {expected}, but it is not: {source}")]
    Malformed { expected: &'static str, source: serde_json::Error },
}

/// Reading, the schema and the text of a document, the same for each.
macro_rules! document {
    ($document:ident, $version:ident) => {
        impl $document {
            /// Reads the text of a document of this version.
            pub fn read(text: &str) -> Result<$document, ReadError> {
                read(text, $version)
            }

            /// The JSON Schema of this version.
            pub fn schema() -> Value {
                schema::<$document>()
            }
        }

        /// On one line.
        impl fmt::Display for $document {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
            }
        }
    };
}

document!(DiagnosisDocument, DIAGNOSIS);
document!(ExplanationDocument, EXPLANATION);
document!(CausesDocument, CAUSES);
document!(RepairsDocument, REPAIRS);
document!(HuntDocument, HUNT);
document!(DatabaseDocument, DATABASE);

fn read<D: DeserializeOwned>(text: &str, expected: &'static str) -> Result<D, ReadError> {
    let value: Value = serde_json::from_str(text).map_err(ReadError::NotJson)?;
    match value.get("schema").and_then(Value::as_str) {
        None => Err(ReadError::NoSchema { expected }),
        Some(found) if found != expected => {
            Err(ReadError::OtherSchema { expected, found: found.to_owned() })
        }
        Some(_) => serde_json::from_value(value)
            .map_err(|source| ReadError::Malformed { expected, source }),
    }
}

fn schema<D: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<D>().into()
}
