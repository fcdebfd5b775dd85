//! What `unravel build` makes: the bitcode with what else is needed to run it, in one file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sealed::{self, Kind};
use super::{BuildError, BuildSpec, Built};

/// How every container begins.
pub(super) const MAGIC: [u8; 8] = *b"\x89UBUILD\n";

/// Raise the version with any change to [`Header`] or to what it holds.
const KIND: Kind = Kind { magic: MAGIC, version: 1 };

#[derive(Serialize, Deserialize)]
struct Header {
    libs: Vec<String>,
    spec: BuildSpec,
    notes: Vec<String>,
    warnings: String,
}

pub(super) fn write(built: &Built, path: &Path) -> Result<(), BuildError> {
    let header = Header {
        libs: built.libs.clone(),
        spec: built.spec.clone(),
        notes: built.notes.clone(),
        warnings: built.warnings.clone(),
    };
    sealed::write(path, KIND, &header, &built.bitcode).map_err(|problem| match problem {
        sealed::SealError::Io(source) => {
            BuildError::Io { action: "write", path: path.to_owned(), source }
        }
        problem => BuildError::Container { path: path.to_path_buf(), problem },
    })
}

pub(super) fn read(path: &Path) -> Result<Built, BuildError> {
    let (Header { libs, spec, notes, warnings }, bitcode) = sealed::read(path, KIND)
        .map_err(|problem| BuildError::Container { path: path.to_path_buf(), problem })?;
    Ok(Built { bitcode, libs, spec, notes, warnings, cached: true, foreign: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{CompilationDatabase, Optimise};

    /// If this fails, containers made before can no longer be read: raise the version above, and
    /// write the new bytes' checksum here.
    #[test]
    fn the_format_is_pinned() {
        let header = Header {
            libs: vec!["m".into()],
            spec: BuildSpec {
                sources: vec!["a.c".into()],
                flags: vec!["-DX".into()],
                optimise: Some(Optimise::Full),
                directory: Some("/d".into()),
                database: CompilationDatabase::At("db".into()),
            },
            notes: vec!["n".into()],
            warnings: "w".into(),
        };
        let bytes = postcard::to_stdvec(&header).expect("encodes");
        assert_eq!((KIND.version, bytes.len(), crc32fast::hash(&bytes)), (1, 28, 1_554_533_378));
    }
}
