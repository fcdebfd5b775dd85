//! What `help` says: the table of commands, or one of them.

use super::command::{self, COMMANDS};
use super::output::Output;
use crate::terminal::line::{Line, Tone};

/// Names of a command that the list shows.
const NAMES: usize = 3;
/// Columns of names and arguments.
const COLUMN: usize = 40;

pub(super) fn help(name: Option<&str>, out: &mut Output) -> Result<(), String> {
    let head = |entry: &command::Entry| {
        let mut names = entry.names.iter().take(NAMES).copied().collect::<Vec<_>>().join(", ");
        if !entry.arguments.is_empty() {
            names = format!("{names}  {}", entry.arguments);
        }
        names
    };
    if let Some(name) = name {
        let entry = command::find(name)?;
        let all = entry.names.join(", ");
        out.whole(Line::new().with(format!("{all}  {}", entry.arguments).trim_end(), Tone::Strong));
        out.plain(&format!("  {}.", entry.about));
        if !entry.more.is_empty() {
            out.plain(&format!("  {}", entry.more));
        }
        return Ok(());
    }
    for entry in COMMANDS {
        let mut line = Line::new().with(&head(entry), Tone::Strong);
        line.pad(COLUMN);
        line.push("  ", Tone::Plain);
        line.push(entry.about, Tone::Plain);
        out.whole(line);
    }
    out.plain("An empty line repeats the last command; `;` separates commands on one line.");
    Ok(())
}
