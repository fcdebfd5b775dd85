//! `unravel repair --emit-test`: a regression test for the user's own suite: the failing schedules as traces, a script that
//! executes them and looks for more, and an entry for CTest.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use unravel_files::ProgramRef;
use unravel_report::FileNames;
use unravel_results::{Repairs, shell_word};

use crate::budgets::TEST_SCHEDULES;
use crate::error::CliError;
use crate::flags::ProgramFlags;
use crate::output::put;
use crate::retyped;

/// Writes the test to a directory. The traces of the bugs must have been written.
pub fn write(
    directory: &Path,
    repairs: &Repairs,
    reference: &ProgramRef,
    flags: &ProgramFlags,
) -> Result<(), CliError> {
    std::fs::create_dir_all(directory)
        .map_err(|source| CliError::Write { path: directory.to_owned(), source })?;
    let name = &reference.name;
    let mut traces = Vec::new();
    for trace in repairs.causes.bugs.iter().filter_map(|bug| bug.trace.as_ref()) {
        let file = Path::new(trace).file_name().unwrap_or_default();
        let copy = directory.join(file);
        std::fs::copy(trace, &copy).map_err(|source| CliError::Write { path: copy, source })?;
        traces.push(file.to_string_lossy().into_owned());
    }
    put(
        &directory.join(format!("{name}-regression.sh")),
        &script(directory, repairs, reference, flags, &traces),
    )?;
    let entry = format!(
        "# Written by `unravel repair`. include() this file after enable_testing().\n\
         add_test(NAME unravel-{name} COMMAND sh \"${{CMAKE_CURRENT_LIST_DIR}}/{name}-regression.sh\")\n"
    );
    put(&directory.join("CTestEntry.cmake"), &entry)
}

fn script(
    directory: &Path,
    repairs: &Repairs,
    reference: &ProgramRef,
    flags: &ProgramFlags,
    traces: &[String],
) -> String {
    let mut text = String::from(
        "#!/bin/sh\n# Written by `unravel repair`: fails as long as the program can fail like this:\n",
    );
    let names = FileNames::of_bugs(repairs.causes.bugs.iter().map(|bug| &bug.id));
    for bug in &repairs.causes.bugs {
        let _ = writeln!(text, "#   {}", names.bug(&bug.id));
    }
    let _ = writeln!(
        text,
        "# Exit code 0: it does not. 1: it does. Anything else: this could not be found out.\n\
         unravel=${{UNRAVEL:-unravel}}\n\
         here=$(cd \"$(dirname \"$0\")\" && pwd) || exit 2\n\
         cd \"$here/{}\" || exit 2\n\
         out=$(mktemp -d) || exit 2\n\
         trap 'rm -rf \"$out\"' EXIT\n",
        way_back(directory, Path::new(&reference.cwd)).display()
    );
    for trace in traces {
        let _ = writeln!(
            text,
            "# A schedule that failed; with a program that has changed, as far as it fits.\n\
             \"$unravel\" replay \"$here\"/{} >\"$out\"/replay 2>&1\n\
             case $? in\n\
             1) cat \"$out\"/replay; exit 1 ;;\n\
             2) cat \"$out\"/replay; exit 2 ;;\n\
             esac",
            shell_word(trace)
        );
    }
    let _ = writeln!(
        text,
        "# Any other schedule.\n\
         \"$unravel\" find --quiet --schedules {TEST_SCHEDULES} --out \"$out\" {}",
        retyped::program(&reference.flags, flags)
    );
    text
}

/// The way from a directory to where the program was named: `../..`.
fn way_back(from: &Path, to: &Path) -> PathBuf {
    let from = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    let to = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    let named = |path: &Path| -> Vec<std::ffi::OsString> {
        let normal = path.components().filter(|c| matches!(c, Component::Normal(_)));
        normal.map(|component| component.as_os_str().to_owned()).collect()
    };
    let (from, to) = (named(&from), named(&to));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from[shared..].iter().map(|_| PathBuf::from(".."));
    let way: PathBuf = up.chain(to[shared..].iter().map(PathBuf::from)).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_is_relative() {
        let way =
            |from: &str, to: &str| way_back(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(way("/a/b/tests/x", "/a/b"), "../..");
        assert_eq!(way("/a/b", "/a/b"), ".");
        assert_eq!(way("/a/t", "/a/b/c"), "../b/c");
    }
}
