//! `unravel cc`, `unravel c++`, and this binary under the names `unravel-cc` and `unravel-c++`; and under the names of all
//! compilers, within `unravel build -- COMMAND`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use unravel_driver::{Compiler, wrap};

/// What the command line means if it is a compiler's: which one, and its arguments.
pub fn compiler(arguments: &[OsString]) -> Option<(Compiler, Vec<OsString>)> {
    let name = Path::new(arguments.first()?).file_name()?;
    let after = |n: usize| arguments.iter().skip(n).cloned().collect();
    match (name.to_str()?, arguments.get(1).and_then(|a| OsStr::to_str(a))) {
        ("unravel-cc", _) => Some((Compiler::C, after(1))),
        ("unravel-c++", _) => Some((Compiler::Cxx, after(1))),
        // Asking for help is asking us.
        (_, Some("cc" | "c++")) if arguments.get(2).is_some_and(|a| a == "--help" || a == "-h") => {
            None
        }
        (_, Some("cc")) => Some((Compiler::C, after(2))),
        (_, Some("c++")) => Some((Compiler::Cxx, after(2))),
        _ => None,
    }
}

/// A compiler within a wrapped build.
pub fn keep(name: &OsStr, arguments: Vec<OsString>) -> ExitCode {
    match unravel_driver::keep(name, arguments.into_iter().skip(1).collect()) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            warnln!("unravel build: error: {error}");
            ExitCode::FAILURE
        }
    }
}

pub fn compile(compiler: Compiler, arguments: Vec<OsString>) -> ExitCode {
    match wrap(compiler, arguments) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            warnln!("unravel-cc: error: {error}");
            ExitCode::FAILURE
        }
    }
}
