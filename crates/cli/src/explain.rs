//! `unravel explain`: find the bugs of a program, and say everything about each.

use std::io::Write;
use std::path::{Path, PathBuf};

use unravel_explain::{Budget, Request};
use unravel_report::searched::pace;
use unravel_report::{Sources, annotations, dot, html, json, sarif, terminal};
use unravel_trace::Explanation;

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::ExplainFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, put};
use crate::plan;
use crate::program;
use crate::progress::{self, Progress};
use crate::style;

pub fn explain(flags: &ExplainFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let mut loaded = program::load(&flags.program, &config)?;
    let defaults = Budget::default();
    let request = Request {
        program: &loaded.reference,
        input: &loaded.input,
        plan: plan::plan(&flags.search, &config, &loaded.rules),
        known: config.known(),
        budget: Budget { diagnosis: flags.diagnose_time.unwrap_or(defaults.diagnosis), ..defaults },
        solver: flags.solver,
        out: flags.out.clone(),
        command: output::command(),
    };
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let explanation =
        unravel_explain::explain(&mut loaded.vm, &request, &INTERRUPTED, &mut |now| {
            progress.show(&words(now));
        })?;
    drop(progress);
    let sources = Sources::under(&loaded.reference.cwd);
    let files = Files::new(&flags.out, &explanation.program);
    files.write(&explanation, &sources)?;
    print(flags, &explanation, &sources, &files);
    Ok(plan::exit(&explanation.explored, explanation.bugs.len()))
}

fn words(now: unravel_explain::Progress<'_>) -> String {
    use unravel_explain::Progress::{Diagnosing, Searching};
    match now {
        Searching { tally, elapsed } => {
            let found = match tally.failed.len() {
                0 => String::new(),
                1 => ", 1 bug; looking for more".to_owned(),
                bugs => format!(", {bugs} bugs; looking for more"),
            };
            format!("searching: {}{found}", pace(tally, elapsed))
        }
        Diagnosing { bug, of, stage, elapsed } => {
            let which = if of > 1 { format!("bug {bug} of {of}: ") } else { String::new() };
            format!("{which}{}, {:.1} s", progress::stage(stage), elapsed.as_secs_f64())
        }
    }
}

/// The files of an explanation besides its traces: `bank.html`, `bank.json`, …
struct Files {
    directory: PathBuf,
    program: String,
}

impl Files {
    fn new(directory: &Path, program: &str) -> Files {
        Files { directory: directory.to_owned(), program: program.to_owned() }
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.directory.join(format!("{}.{ending}", self.program))
    }

    fn write(&self, explanation: &Explanation, sources: &Sources) -> Result<(), CliError> {
        put(&self.path("html"), &html::explanation(explanation, sources))?;
        put(&self.path("json"), &json::explanation(explanation).to_string())?;
        put(&self.path("sarif"), &sarif::explanation(explanation, sources).to_string())?;
        for bug in &explanation.bugs {
            if let Some(diagnosis) = bug.verdict.diagnosis() {
                let path = Path::new(&bug.trace).with_extension("dot");
                put(&path, &dot::projection(diagnosis, 0, sources))?;
            }
        }
        Ok(())
    }
}

fn print(flags: &ExplainFlags, explanation: &Explanation, sources: &Sources, files: &Files) {
    let page = files.path("html").display().to_string();
    let text = if flags.json {
        format!("{}\n", json::explanation(explanation))
    } else if flags.quiet {
        terminal::brief(explanation, plan::exit(&explanation.explored, 0) == Exit::Inconclusive)
    } else {
        terminal::explanation(explanation, sources, style::style(), Some(&page))
    };
    // A reader that stops early (head, less) is no error.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    if flags.annotations {
        let lines = annotations::explanation(explanation);
        // GitHub reads both; who reads JSON wants nothing else.
        let _ = match flags.json {
            true => std::io::stderr().lock().write_all(lines.as_bytes()),
            false => std::io::stdout().lock().write_all(lines.as_bytes()),
        };
    }
}
