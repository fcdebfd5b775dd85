//! Corpus programs that run natively, recorded.

use std::ffi::OsString;
use std::path::Path;

use unravel_driver::{Compiler, wrap};
use xtask::corpus::Case;

/// Builds the buggy program of a case as a user of `unravel-cc` does; `level` is `-O2` or another. Says why not, if not.
pub fn build(case: &Case, level: &str, program: &Path) -> Result<(), String> {
    let is_cxx = |source: &String| source.ends_with(".cpp") || source.ends_with(".cc");
    let cxx = case.expect.sources.iter().any(is_cxx);
    let mut arguments: Vec<OsString> = vec![level.into(), "-g".into()];
    arguments.extend(case.expect.sources.iter().map(|s| case.folder.join(s).into()));
    arguments.extend(["-o".into(), program.into(), "-pthread".into(), "-lm".into()]);
    arguments.extend(case.expect.libs.iter().map(|library| format!("-l{library}").into()));
    let compiler = if cxx { Compiler::Cxx } else { Compiler::C };
    match wrap(compiler, arguments) {
        Ok(0) => Ok(()),
        Ok(code) => Err(format!("the compiler ended with {code}")),
        Err(error) => Err(error.to_string()),
    }
}
