//! `unravel repair`: patches against every cause, each of them checked.

use unravel_repair::Effort;
use unravel_report::{Sources, html, json, terminal};

use crate::budgets::{REPAIR_ALL, REPAIR_EXHAUSTIVE, REPAIR_REMAINING, REPAIR_SAMPLING};
use crate::causes::{budget, exit};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::RepairFlags;
use crate::output::{self, Unwritten, put};
use crate::progress::Progress;
use crate::remedy::{Remedy, write_diffs};
use crate::{interrupt, program, regression_test, say, style};

pub fn repair(flags: &RepairFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let loaded = program::load(&flags.program, &config)?;
    let reference = loaded.reference.clone();
    interrupt::listen();
    let remedy = Remedy {
        causes: budget(&flags.extent),
        candidates: flags.repair_time.unwrap_or(REPAIR_ALL),
        effort: Effort {
            exhaustive: REPAIR_EXHAUSTIVE,
            schedules: flags.schedules,
            time: REPAIR_SAMPLING,
            jobs: flags.jobs.unwrap_or_else(crate::plan::cores),
            deviations: flags.extent.deviations.unwrap_or(0),
        },
        remaining: REPAIR_REMAINING,
        most: flags.most,
        command: output::command(),
        traces: Some(flags.out.clone()),
    };
    let mut progress = Progress::new(!flags.quiet);
    let repairs = remedy.find(loaded, &mut progress)?;
    drop(progress);
    let sources = Sources::under(&reference.cwd);
    let mut unwritten = Unwritten::default();
    let patches = unwritten.note(write_diffs(&repairs, &flags.out)).unwrap_or_default();
    let page = flags.out.join(format!("{}-repairs.html", repairs.causes.program));
    let html = html::repairs(&repairs, &sources, &patches);
    let is_written = unwritten.note(put(&page, &html)).is_some();
    if let Some(directory) = &flags.emit_test {
        unwritten.note(regression_test::write(directory, &repairs, &reference, &flags.program));
    }
    let text = if flags.json {
        format!("{}\n", json::repairs(&repairs))
    } else if flags.quiet {
        repairs.repairs.first().map_or_else(String::new, |repair| repair.diff.clone())
    } else {
        let page = page.display().to_string();
        terminal::repairs(&repairs, style::style(), &patches, is_written.then_some(page.as_str()))
    };
    say::put(text.as_bytes());
    Ok(unwritten.end(exit(&repairs.causes)))
}
