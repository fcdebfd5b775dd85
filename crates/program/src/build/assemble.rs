//! Modules and archives of modules → one program, as a static linker would: of an archive only the members that somebody asks
//! for, so that the `main` of a library of tests is taken if the program has none, and else is not.
//!
//! Archives are gone through until nothing more is asked for, as between `--start-group` and `--end-group`: what a linker
//! refuses for the order of its arguments is taken here.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{BuildError, BuildSpec, Builder, Built, flags};
use crate::ir::symbols::{Symbols, symbols};

/// The module of one source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    pub source: PathBuf,
    pub bitcode: Vec<u8>,
}

/// What a program is linked from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pieces {
    /// All of them.
    pub objects: Vec<Piece>,
    /// Of these what is asked for.
    pub archives: Vec<Vec<Piece>>,
    /// `-l` and `-L` of the link line.
    pub libraries: Vec<String>,
    /// The linker was called as that of C++.
    pub cxx: bool,
    pub notes: Vec<String>,
}

impl Builder {
    /// Links a program; `directory` is where relative paths of the link line start.
    pub fn assemble(&self, pieces: Pieces, directory: &Path) -> Result<Built, BuildError> {
        let Pieces { mut objects, archives, libraries, cxx, mut notes } = pieces;
        let mut asked = Asked::default();
        for piece in &objects {
            asked.take(symbols_of(piece)?);
        }
        let mut members = Vec::new();
        for piece in archives.into_iter().flatten() {
            members.push(Some((symbols_of(&piece)?, piece)));
        }
        // A program begins in main, wherever that is.
        asked.open("main");
        loop {
            let before = objects.len();
            for member in &mut members {
                let wanted = member.as_ref().is_some_and(|(symbols, _)| asked.wants(symbols));
                if let Some((symbols, piece)) = member.take_if(|_| wanted) {
                    asked.take(symbols);
                    objects.push(piece);
                }
            }
            if objects.len() == before {
                break;
            }
        }
        let sorted = flags::sort(&libraries, directory)?;
        let mut libs = sorted.libs;
        notes.extend(sorted.notes);
        if cxx {
            libs.push("stdc++".to_owned());
        }
        super::dedup(&mut libs);
        super::dedup(&mut notes);
        let sources: Vec<PathBuf> = objects.iter().map(|piece| piece.source.clone()).collect();
        let modules: Vec<Vec<u8>> = objects.into_iter().map(|piece| piece.bitcode).collect();
        let (bitcode, warnings) = self.link_modules(&modules, &[], &sources)?;
        let spec = BuildSpec::new(sources);
        Ok(Built { bitcode, libs, spec, notes, warnings, cached: false, foreign: false })
    }
}

fn symbols_of(piece: &Piece) -> Result<Symbols, BuildError> {
    symbols(&piece.bitcode).ok_or_else(|| BuildError::DamagedBitcode { path: piece.source.clone() })
}

/// Names that are needed and not there, and those that are.
#[derive(Default)]
struct Asked {
    open: HashSet<String>,
    defined: HashSet<String>,
}

impl Asked {
    fn open(&mut self, name: &str) {
        if !self.defined.contains(name) {
            self.open.insert(name.to_owned());
        }
    }

    fn wants(&self, symbols: &Symbols) -> bool {
        symbols.defined.iter().any(|name| self.open.contains(name))
    }

    fn take(&mut self, symbols: Symbols) {
        for name in symbols.defined {
            self.open.remove(&name);
            self.defined.insert(name);
        }
        for name in symbols.undefined {
            self.open(&name);
        }
    }
}
