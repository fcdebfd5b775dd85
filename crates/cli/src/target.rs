//! `--build DIR --target NAME`: the program of a project, found before the command begins.

use std::path::{Path, PathBuf};

use unravel_program::build::contents;

use crate::build::near;
use crate::error::CliError;
use crate::flags::{Command, DbCommand, ProgramFlags, TargetFlags};

/// How deep below the folder executables are looked for: CMake's and libtool's folders are a few levels.
const DEPTH: usize = 8;

/// Puts the program's file in the place of the flags that ask for it.
pub fn resolve(command: &mut Command) -> Result<(), CliError> {
    let Some(flags) = program_of(command) else { return Ok(()) };
    if flags.from.build.is_none() && flags.from.target.is_none() {
        return Ok(());
    }
    flags.program = vec![find(&flags.from)?];
    Ok(())
}

fn program_of(command: &mut Command) -> Option<&mut ProgramFlags> {
    match command {
        Command::Explain(flags) => Some(&mut flags.program),
        Command::Find(flags) => Some(&mut flags.program),
        Command::Run(flags) => Some(&mut flags.program),
        Command::Causes(flags) => Some(&mut flags.program),
        Command::Repair(flags) => Some(&mut flags.program),
        Command::Hunt(flags) => Some(&mut flags.program),
        Command::Db(flags) => match &mut flags.command {
            DbCommand::Record(flags) => Some(&mut flags.program),
            _ => None,
        },
        _ => None,
    }
}

fn find(flags: &TargetFlags) -> Result<PathBuf, CliError> {
    let folder = flags.build.clone().unwrap_or_else(|| PathBuf::from("."));
    if !folder.is_dir() {
        return Err(CliError::NoBuild { folder });
    }
    let mut all = Vec::new();
    collect(&folder, DEPTH, &mut all);
    all.sort();
    let fits = |path: &PathBuf| match &flags.target {
        Some(target) => path.ends_with(target),
        None => true,
    };
    let fitting: Vec<PathBuf> = all.iter().filter(|path| fits(path)).cloned().collect();
    match (fitting.as_slice(), &flags.target) {
        ([only], _) => Ok(near(only)),
        ([], Some(target)) => Ok(near(&unravel_driver::project::program(&folder, target)?)),
        ([], None) => Err(CliError::NoTarget { folder }),
        (several, _) => Err(CliError::WhichTarget {
            folder,
            targets: several.iter().map(|path| near(path).display().to_string()).collect(),
        }),
    }
}

/// Executables below a folder that a wrapped build made.
fn collect(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() && depth > 0 && entry.file_name() != ".git" {
            collect(&path, depth - 1, into);
        } else if kind.is_file()
            && entry.metadata().is_ok_and(|m| m.permissions().mode() & 0o100 != 0)
            && is_executable(&path)
        {
            into.push(path);
        }
    }
}

/// Whether it has bitcode and is no library.
fn is_executable(path: &Path) -> bool {
    let has_bitcode = matches!(contents(path), Ok(Some(contents)) if !contents.sources.is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    has_bitcode && !name.ends_with(".o") && !name.contains(".so")
}
