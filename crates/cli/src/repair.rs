//! `unravel repair`: patches against every cause, each of them checked.

use std::io::Write;
use std::time::Duration;

use unravel_repair::Effort;
use unravel_report::{Sources, html, json, terminal};

use crate::causes::{budget, exit};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RepairFlags;
use crate::interrupt;
use crate::output::{self, put};
use crate::program;
use crate::progress::Progress;
use crate::regression_test;
use crate::remedy::{Remedy, write_diffs};
use crate::style;

/// How long each candidate is explored: exhaustively, and where that does not end, otherwise.
const EXHAUSTIVE: Duration = Duration::from_secs(5);
const SAMPLING: Duration = Duration::from_secs(20);
/// How long to look for causes that a candidate leaves.
const REMAINING: Duration = Duration::from_secs(10);
/// How long candidates are tried.
const ALL: Duration = Duration::from_secs(60);

pub fn repair(flags: &RepairFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let loaded = program::load(&flags.program, &config)?;
    let reference = loaded.reference.clone();
    interrupt::listen();
    let remedy = Remedy {
        causes: budget(&flags.extent),
        candidates: flags.repair_time.unwrap_or(ALL),
        effort: Effort {
            exhaustive: EXHAUSTIVE,
            schedules: flags.schedules,
            time: SAMPLING,
            jobs: flags.jobs.unwrap_or_else(crate::plan::cores),
        },
        remaining: REMAINING,
        most: flags.most,
        command: output::command(),
        traces: Some(flags.out.clone()),
    };
    let mut progress = Progress::new(!flags.quiet);
    let repairs = remedy.find(loaded, &mut progress)?;
    drop(progress);
    let sources = Sources::under(&reference.cwd);
    let patches = write_diffs(&repairs, &flags.out)?;
    let page = flags.out.join(format!("{}-repairs.html", repairs.causes.program));
    put(&page, &html::repairs(&repairs, &sources, &patches))?;
    if let Some(directory) = &flags.emit_test {
        regression_test::write(directory, &repairs, &reference, &flags.program)?;
    }
    let text = if flags.json {
        format!("{}\n", json::repairs(&repairs))
    } else if flags.quiet {
        repairs.repairs.first().map_or_else(String::new, |repair| repair.diff.clone())
    } else {
        let page = page.display().to_string();
        terminal::repairs(&repairs, style::style(), &patches, Some(&page))
    };
    // A reader that stops early (head, less) is no error.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(exit(&repairs.causes))
}
