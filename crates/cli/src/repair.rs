//! `unravel repair`: patches against every cause, each of them checked.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use unravel_repair::{Effort, Request};
use unravel_report::{Sources, html, json, terminal};
use unravel_trace::Repairs;

use crate::causes::{analyse, exit, keep_traces, words};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RepairFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, put};
use crate::program::{self, Loaded};
use crate::progress::Progress;
use crate::regression_test;
use crate::style;
use crate::workshop::Variants;

/// How long each candidate is explored: exhaustively, and where that does not end, otherwise.
const EXHAUSTIVE: Duration = Duration::from_secs(5);
const SAMPLING: Duration = Duration::from_secs(20);
/// How long candidates are tried.
const ALL: Duration = Duration::from_secs(60);

pub fn repair(flags: &RepairFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let mut loaded = program::load(&flags.program, &config)?;
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let mut analysis =
        analyse(&mut loaded, &flags.extent, &mut |now| progress.show(&words(now)))?;
    keep_traces(&mut analysis, &loaded, &flags.out)?;
    let Loaded { built, vm, reference, input, rules } = loaded;
    let sites = vm.inner().program().sites.len() as u32;
    // A process has room for one machine.
    drop(vm);
    let directory = tempfile::tempdir()
        .map_err(|source| CliError::Write { path: std::env::temp_dir(), source })?;
    let mut variants =
        Variants { built: &built, reference: &reference, rules: &rules, input: &input, sites, directory };
    let request = Request {
        root: Path::new(&reference.cwd),
        input: &input,
        rules: &rules,
        effort: Effort {
            exhaustive: EXHAUSTIVE,
            schedules: flags.schedules,
            time: SAMPLING,
            jobs: flags.jobs.unwrap_or_else(crate::plan::cores),
        },
        time: flags.repair_time.unwrap_or(ALL),
        most: flags.most,
    };
    let repairs =
        unravel_repair::repair(&mut variants, analysis, &request, &INTERRUPTED, &mut |now| {
            progress.show(&format!("candidate {} of {}: {}", now.tried + 1, now.of, now.title));
        });
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

/// Writes each diff to a file of its own; returns their names.
fn write_diffs(repairs: &Repairs, out: &Path) -> Result<Vec<String>, CliError> {
    let mut names = Vec::new();
    for (number, repair) in repairs.repairs.iter().enumerate() {
        let path = out.join(format!("{}-repair-{}.diff", repairs.causes.program, number + 1));
        put(&path, &repair.diff)?;
        names.push(path.display().to_string());
    }
    Ok(names)
}
