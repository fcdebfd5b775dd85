//! `unravel build -- COMMAND`: a project's own build, with bitcode kept in what it makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use unravel_driver::{Made, Shims};
use unravel_program::build::{Builder, Contents, Scratch, contents};

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::BuildFlags;

/// How many sources without bitcode are listed before they are only counted.
const LISTED: usize = 10;

pub fn build(flags: &BuildFlags) -> Result<Exit, CliError> {
    let (program, arguments) = flags.flags.split_first().expect("clap asks for a command");
    let folder =
        Scratch::new().map_err(|source| CliError::Write { path: std::env::temp_dir(), source })?;
    // A folder that the project configures keeps the paths of these compilers.
    let place = Builder::from_env().cache.unwrap_or_else(|| folder.path().to_path_buf());
    let shims = Shims::new(&place, &folder.path().join("journal"))?;
    let mut command = Command::new(program);
    shims.inside(command.args(arguments));
    let unknown = |source| CliError::Read { path: program.into(), source };
    let status = command.status().map_err(unknown)?;
    let made = shims.journal().read();
    if !status.success() {
        warnln!("error: {program} failed ({status})");
        return Ok(Exit::Error);
    }
    let programs = programs(&made)?;
    if flags.json {
        say_json(&programs, &made);
        return Ok(if programs.is_empty() { Exit::Error } else { Exit::Clean });
    }
    for (path, why) in made.missing.iter().take(LISTED) {
        warnln!("note: no bitcode of {}: {why}", near(path).display());
    }
    if made.missing.len() > LISTED {
        warnln!("note: and of {} more sources", made.missing.len() - LISTED);
    }
    let most = programs.iter().rev().max_by_key(|(_, contents)| contents.sources.len());
    let Some((first, _)) = most else {
        return Err(CliError::NothingWrapped { command: flags.flags.join(" ") });
    };
    sayln!("built {}", counted(programs.len(), "program"));
    for (path, contents) in &programs {
        let sources = counted(contents.sources.len(), "source");
        let missing = match contents.missing.len() {
            0 => String::new(),
            n => format!(", {n} without bitcode"),
        };
        sayln!("  {}: {sources}{missing}", near(path).display());
    }
    sayln!("explain one with: unravel explain {}", near(first).display());
    Ok(Exit::Clean)
}

/// "1 program", "2 programs".
fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// The programs that were linked and are still there.
fn programs(made: &Made) -> Result<Vec<(PathBuf, Contents)>, CliError> {
    let mut programs = Vec::new();
    // What CMake tries out is not the project's.
    let is_own = |path: &&PathBuf| !path.components().any(|part| part.as_os_str() == "CMakeFiles");
    for path in made.programs.iter().filter(is_own).filter(|path| path.is_file()) {
        programs.extend(contents(path)?.map(|contents| (path.clone(), contents)));
    }
    Ok(programs)
}

fn say_json(programs: &[(PathBuf, Contents)], made: &Made) {
    let of = |(path, contents): &(PathBuf, Contents)| {
        serde_json::json!({
            "path": path,
            "sources": contents.sources,
            "missing": contents.missing,
        })
    };
    let missing =
        |(path, why): &(PathBuf, String)| serde_json::json!({ "source": path, "why": why });
    sayln!(
        "{}",
        serde_json::json!({
            "programs": programs.iter().map(of).collect::<Vec<_>>(),
            "missing": made.missing.iter().map(missing).collect::<Vec<_>>(),
        })
    );
}

/// The path as it is from here.
pub fn near(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match whole.strip_prefix(&here) {
        Ok(near) if near.components().next().is_some() => near.to_path_buf(),
        _ => whole,
    }
}
