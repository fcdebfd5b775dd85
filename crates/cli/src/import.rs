//! `unravel import`: traces of other tools into trace files of ours.

use serde_json::json;
use unravel_files::TraceFile;
use unravel_files::import::symbiosis;
use unravel_report::notes::notes;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{ImportCommand, SymbiosisFlags};
use crate::story;

pub fn import(command: &ImportCommand) -> Result<Exit, CliError> {
    match command {
        ImportCommand::Symbiosis(flags) => symbiosis(flags),
    }
}

fn symbiosis(flags: &SymbiosisFlags) -> Result<Exit, CliError> {
    let options = symbiosis::Options { paths: flags.path.iter().cloned().collect() };
    let file = symbiosis::import(&flags.directory, &options)?;
    file.write(&flags.output)?;
    let conditions = file.run.symbolic.as_ref().map_or(0, |symbolic| symbolic.conditions.len());
    if flags.json {
        print_json(flags, &file, conditions);
    } else {
        print_text(flags, &file, conditions);
    }
    Ok(Exit::Clean)
}

fn print_json(flags: &SymbiosisFlags, file: &TraceFile, conditions: usize) {
    let trace = &file.run.trace;
    sayln!(
        "{}",
        json!({
            "output": flags.output,
            "program": file.program.name,
            "threads": trace.threads.len(),
            "events": trace.events.len(),
            "conditions": conditions,
            "outcome": story::outcome_json(&file.run.outcome),
            "notes": notes(&file.run.notes),
        })
    );
}

fn print_text(flags: &SymbiosisFlags, file: &TraceFile, conditions: usize) {
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
    let output = unravel_results::shell_word(&flags.output.display().to_string());
    sayln!("look at it with: unravel trace show {output}");
}
