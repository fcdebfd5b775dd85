//! `unravel import`: traces of other tools into trace files of ours.

use std::path::{Path, PathBuf};

use serde_json::json;
use unravel_database::Database;
use unravel_files::TraceFile;
use unravel_files::import::symbiosis::{self, Execution, Imported};
use unravel_report::notes::notes;
use unravel_trace::Schedule;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{ImportCommand, SymbiosisFlags};
use crate::story;

/// What the database of an imported trace ends with, beside the trace.
pub const DATABASE: &str = "db";

pub fn import(command: &ImportCommand) -> Result<Exit, CliError> {
    match command {
        ImportCommand::Symbiosis(flags) => symbiosis(flags),
    }
}

fn symbiosis(flags: &SymbiosisFlags) -> Result<Exit, CliError> {
    let options = symbiosis::Options {
        paths: flags.path.iter().cloned().collect(),
        execution: flags.execution.clone(),
        failing: flags.failing.clone(),
    };
    let imported = symbiosis::import(&flags.directory, &options)?;
    let kept = keep(flags, &imported)?;
    imported.file.write(&flags.output)?;
    let file = &imported.file;
    let conditions = file.run.symbolic.as_ref().map_or(0, |symbolic| symbolic.conditions.len());
    if flags.json {
        print_json(flags, file, conditions, kept.as_ref());
    } else {
        print_text(flags, file, conditions, kept.as_ref());
    }
    Ok(Exit::Clean)
}

/// A database of all executions.
struct Kept {
    directory: PathBuf,
    runs: usize,
}

/// Writes all executions to a database, if there is more than the trace says.
fn keep(flags: &SymbiosisFlags, imported: &Imported) -> Result<Option<Kept>, CliError> {
    if imported.executions.is_empty() {
        return Ok(None);
    }
    let directory = match &flags.db {
        Some(directory) => directory.clone(),
        None => {
            let beside = flags.output.with_extension(DATABASE);
            clear(&beside, imported.file.program.fingerprint)?;
            beside
        }
    };
    let mut database = Database::open(&directory, &imported.file.program)?;
    for Execution { parts, turns, from } in &imported.executions {
        let threads = parts.first().map(|part| part.trace.threads.clone()).unwrap_or_default();
        let schedule = Schedule { threads, ..Schedule::default() };
        let input = imported.file.input.clone();
        database.add(parts.clone(), turns.clone(), schedule, input, from.clone())?;
    }
    let runs = database.runs().len();
    database.finish()?;
    Ok(Some(Kept { directory, runs }))
}

/// Removes what an import of another folder, or with other flags, left beside the trace, which is overwritten too.
fn clear(directory: &Path, fingerprint: u64) -> Result<(), CliError> {
    let Ok(database) = Database::read(directory) else { return Ok(()) };
    let program = database.programs();
    let is_imported = program.sources.is_empty() && program.built.is_none();
    if is_imported && program.fingerprint != fingerprint {
        std::fs::remove_dir_all(directory)
            .map_err(|source| CliError::Write { path: directory.to_owned(), source })?;
    }
    Ok(())
}

fn print_json(flags: &SymbiosisFlags, file: &TraceFile, conditions: usize, kept: Option<&Kept>) {
    let trace = &file.run.trace;
    let database = kept.map(|kept| json!({ "directory": kept.directory, "runs": kept.runs }));
    sayln!(
        "{}",
        json!({
            "output": flags.output,
            "program": file.program.name,
            "threads": trace.threads.len(),
            "events": trace.events.len(),
            "conditions": conditions,
            "outcome": story::outcome_json(&file.run.outcome),
            "database": database,
            "notes": notes(&file.run.notes),
        })
    );
}

fn print_text(flags: &SymbiosisFlags, file: &TraceFile, conditions: usize, kept: Option<&Kept>) {
    let trace = &file.run.trace;
    sayln!(
        "imported {}: {}, {}, {}",
        file.program.name,
        story::count(trace.threads.len() as u64, "thread"),
        story::count(trace.events.len() as u64, "event"),
        story::count(conditions as u64, "path condition"),
    );
    for note in notes(&file.run.notes) {
        sayln!("note: {note}");
    }
    if let Some(kept) = kept {
        let directory = unravel_results::shell_word(&kept.directory.display().to_string());
        let runs = story::count(kept.runs as u64, "recording");
        sayln!("all paths are kept in {directory}, for diagnose: {runs}");
    }
    let output = unravel_results::shell_word(&flags.output.display().to_string());
    sayln!("look at it with: unravel trace show {output}");
}
