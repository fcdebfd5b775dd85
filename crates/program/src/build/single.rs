//! One source of a project → its unoptimised module, by the words that the project's own compiler was given.

use std::path::Path;

use super::cache::Cache;
use super::compile::{self, Unit};
use super::flags::Language;
use super::{BuildError, Builder, Plan, database};

/// A source as a project compiles it.
#[derive(Clone, Copy, Debug)]
pub struct Single<'a> {
    pub source: &'a Path,
    /// Absolute: where the project's compiler runs.
    pub directory: &'a Path,
    /// All its arguments; those that only say how native code is made are left out.
    pub words: &'a [String],
    /// What `-x` says of it.
    pub language: Option<&'a str>,
    /// The compiler was called as one for C++.
    pub as_cxx: bool,
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Module {
    Made(Vec<u8>),
    /// What clang said.
    Refused(String),
}

impl Builder {
    /// Compiles it, unless the cache has the result. The module knows its source by the absolute path, so that reports
    /// find it from everywhere.
    pub fn module(&self, single: Single<'_>) -> Result<Module, BuildError> {
        let source = single.directory.join(single.source);
        let language = match single.language {
            Some(name) => match Language::named(name) {
                Some(language) => language,
                None => return Ok(Module::Refused(format!("error: the language is {name}"))),
            },
            None => match Language::of(&source)? {
                Language::C if single.as_cxx => Language::Cxx,
                language => language,
            },
        };
        let mut flags = database::meaning(single.words.iter().cloned(), single.directory);
        // Checked functions of the C library need optimisation, and hide the plain ones.
        flags.retain(|flag| language.takes(flag) && !flag.starts_with("-D_FORTIFY_SOURCE"));
        let plan = Plan {
            directory: single.directory.to_path_buf(),
            units: vec![Unit { source, language, flags }],
            optimise: None,
            libs: Vec::new(),
            notes: Vec::new(),
        };
        let tools = self.tools()?;
        let cache = self.cache.as_deref().map(|directory| Cache::new(directory, &plan, &tools));
        if let Some(made) = cache.as_ref().and_then(Cache::find) {
            return Ok(Module::Made(made.bitcode));
        }
        match compile::make(&plan, &tools) {
            Ok(made) => {
                if let Some(cache) = &cache {
                    cache.keep(&made);
                }
                Ok(Module::Made(made.bitcode))
            }
            Err(BuildError::Compile { stderr, .. }) => Ok(Module::Refused(stderr)),
            Err(error) => Err(error),
        }
    }
}
