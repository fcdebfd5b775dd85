//! `unravel trace show`: the events of a trace, a column a thread.

use std::fmt::Write as _;

use serde_json::json;
use unravel_files::TraceFile;
use unravel_report::Sources;
use unravel_report::words::phrase;
use unravel_trace::{Event, EventKind, Trace};

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::ShowFlags;
use crate::{say, story};

/// Columns when the output is no terminal.
const WIDTH: usize = 120;
/// A column is at least this wide; with many threads the table grows instead.
const NARROWEST: usize = 28;
/// Columns of the event number.
const NUMBER: usize = 6;

/// Said above the events of an imported trace.
const UNKNOWN_ORDER: &str =
    "The order between threads is unknown: the events are listed in one that could be.";

pub fn show(flags: &ShowFlags) -> Result<Exit, CliError> {
    let file = TraceFile::read(&flags.trace)?;
    let text = if flags.json { as_json(&file) } else { as_text(&file, flags.width) };
    say::put(text.as_bytes());
    Ok(Exit::Clean)
}

fn as_text(file: &TraceFile, width: Option<usize>) -> String {
    let trace = &file.run.trace;
    let width = width.or_else(terminal_width).unwrap_or(WIDTH);
    let threads = trace.threads.len().max(1);
    let column = ((width.saturating_sub(NUMBER)) / threads).max(NARROWEST);
    let sources = Sources::under(&file.program.cwd);
    let mut out = String::new();
    let words = [vec![file.program.name.clone()], file.input.args.clone()].concat();
    let _ = writeln!(out, "{}", words.join(" "));
    let _ = writeln!(out, "{}", file.run.outcome);
    let known = story::is_order_known(&file.run);
    if !known {
        let _ = writeln!(out, "{UNKNOWN_ORDER}");
        for note in unravel_report::notes::notes(&file.run.notes) {
            let _ = writeln!(out, "note: {note}");
        }
    }
    out.push('\n');
    let _ = write!(out, "{:NUMBER$}", "");
    for name in &trace.threads {
        let _ = write!(out, "{:column$}", name.to_string());
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    let mut last = None;
    for (index, event) in trace.events.iter().enumerate() {
        let indent = NUMBER + column * event.thread.index();
        let place = trace.place(event);
        let line = place.map(|p| (event.thread, p.file.clone(), p.line));
        if line != last
            && let Some(place) = place.filter(|p| p.line != 0)
        {
            let source = sources.line(place).unwrap_or_default();
            let text = fit(&format!("{} {}", place.short(), source), column - 1);
            let _ = writeln!(out, "{:indent$}{text}", "");
        }
        last = line;
        let number = format!("{:>4}", index + 1);
        let text = fit(&format!("  {}", describe(trace, event, known)), column - 1);
        let _ = writeln!(out, "{number:indent$}{text}");
    }
    if let Some(failure) = file.run.outcome.failure() {
        let _ = write!(out, "\n{}", story::failure(failure, &file.run));
    }
    out
}

pub fn terminal_width() -> Option<usize> {
    // SAFETY: asks the terminal for its size into a struct of ours.
    unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        let known = libc::ioctl(1, libc::TIOCGWINSZ, &mut size) == 0 && size.ws_col > 0;
        known.then_some(size.ws_col as usize)
    }
}

/// At most `width` characters.
fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        text.to_owned()
    } else {
        text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
    }
}

/// An event in words: `read balance = 100`. Where the order of events is not known, neither is who woke whom.
fn describe(trace: &Trace, event: &Event, known: bool) -> String {
    let mut phrase = phrase(trace, event);
    let wakes = matches!(
        event.kind,
        EventKind::Wake { .. } | EventKind::Signal { .. } | EventKind::Broadcast { .. }
    );
    if wakes && !known {
        phrase.rest.clear();
    }
    phrase.text()
}

fn as_json(file: &TraceFile) -> String {
    let trace = &file.run.trace;
    let known = story::is_order_known(&file.run);
    let events: Vec<_> = trace
        .events
        .iter()
        .map(|event| {
            let place = trace.place(event);
            json!({
                "thread": trace.thread_name(event.thread).to_string(),
                "kind": event.kind.verb(),
                "text": describe(trace, event, known),
                "location": event.kind.location().map(|l| trace.location(l).name.clone()),
                "file": place.map(|p| p.file.to_string()),
                "line": place.map(|p| p.line),
                "function": place.map(|p| p.function.to_string()),
            })
        })
        .collect();
    let value = json!({
        "program": file.program.name,
        "sources": file.program.sources,
        "args": file.input.args,
        "strategy": file.strategy,
        "seed": file.seed,
        "run": story::run_json(&file.run),
        "events": events,
    });
    format!("{value}\n")
}
