//! `unravel explain`: find the bugs of a program, and say everything about each; then all causes, and repairs.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use unravel_execute::clock;
use unravel_explain::{Budget, Task};
use unravel_explore::{Plan, glance_at_races};
use unravel_repair::Effort;
use unravel_report::searched::pace;
use unravel_report::searched::{glanced, not_looked_at};
use unravel_report::{Sources, annotations, dot, html, json, sarif, terminal};
use unravel_results::{CausesVerdict, ExplainedBug, Explanation, Stopped};
use unravel_trace::{Executor, LeftOut};

use crate::budgets::{CHECKED, MOST_REPAIRS, REPAIR_TIME};
use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::ExplainFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, Unwritten, put};
use crate::program::{self, Loaded};
use crate::progress::{self, Progress};
use crate::remedy::{Remedy, has_sources, write_diffs};
use crate::{plan, retyped, say, style};

pub fn explain(flags: &ExplainFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let mut loaded = program::load(&flags.program, &config)?;
    let defaults = Budget::default();
    let request = Task {
        program: &loaded.reference,
        input: &loaded.input,
        rules: &loaded.rules,
        engine: loaded.vm.name(),
        plan: Plan { exit_codes: !loaded.rules.judge_runs(), ..plan::plan(&flags.search, &config) },
        known: config.known(),
        budget: Budget { diagnosis: flags.diagnose_time.unwrap_or(defaults.diagnosis), ..defaults },
        solver: flags.solver,
        certify: flags.certify,
        out: flags.out.clone(),
        command: output::command(),
    };
    if plan::is_patient(&flags.search, &config) && flags.diagnose_time.is_none() {
        clock::be_patient();
    }
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let mut explanation =
        unravel_explain::explain(&mut loaded.vm, &request, &INTERRUPTED, &mut |now| {
            progress.show(&words(now));
        })?;
    let plan = request.plan;
    if explanation.bugs.is_empty() && explanation.explored.tally.most_threads > 1 {
        let go_on = || !INTERRUPTED.load(Ordering::Relaxed);
        let explored = &explanation.explored;
        let glance = match loaded.rules.races {
            true => None,
            false => glance_at_races(&mut loaded.vm, &loaded.input, &plan, explored, go_on),
        };
        let said = glance.iter().map(glanced).chain([not_looked_at(explored)]);
        explanation.notes.extend(said.collect::<Vec<_>>());
    }
    let sources = Sources::under(&loaded.reference.cwd);
    let files = Files::new(&flags.out, &explanation.program);
    let time = flags.repair_time.unwrap_or(REPAIR_TIME);
    let mut printer = Printer::new(flags, &sources);
    if !time.is_zero() && calls_for_repair(&explanation) && has_sources(&loaded) {
        // Who waits for a repair can read meanwhile.
        drop(progress);
        printer.bugs(&explanation, true);
        progress = Progress::new(!flags.quiet);
        // Whatever happens to this process on the way, what is known is kept.
        let _ = files.write(&explanation, &sources);
        let kinds = explanation.bugs.iter().map(|bug| bug.failure.kind);
        loaded.rules = kinds.fold(loaded.rules.clone(), |rules, kind| rules.with(kind));
        loaded.vm.set_rules(&loaded.rules);
        go_on(&mut explanation, loaded, flags, time, &mut progress);
    }
    drop(progress);
    let mut unwritten = Unwritten::default();
    let is_written = unwritten.note(files.write(&explanation, &sources)).is_some();
    printer.rest(&explanation, is_written.then(|| files.path("html")));
    Ok(unwritten.end(plan::exit(&explanation.explored, explanation.bugs.len())))
}

/// Whether there is a bug that an order of events could avoid, and a user who has time.
fn calls_for_repair(explanation: &Explanation) -> bool {
    let explored = &explanation.explored;
    let tally = &explored.tally;
    let judged = tally.schedules - tally.inconclusive - tally.discarded;
    let passes = |bug: &ExplainedBug| {
        let diagnosis = bug.verdict.diagnosis();
        bug.found.times < judged || diagnosis.is_some_and(|known| !known.alternates.is_empty())
    };
    let interrupted =
        explored.stopped == Stopped::Interrupted || INTERRUPTED.load(Ordering::Relaxed);
    !interrupted && explanation.bugs.iter().any(passes)
}

/// Looks for all causes and for repairs. That they could not be looked for is no reason to keep the bugs back.
fn go_on(
    explanation: &mut Explanation,
    loaded: Loaded,
    flags: &ExplainFlags,
    time: Duration,
    progress: &mut Progress,
) {
    let candidates = time - time / 3;
    // As few deviations as some bug needs.
    let deviations = explanation.bugs.iter().map(|bug| bug.needs.len() as u32).min().unwrap_or(0);
    let typed = retyped::program(&flags.program.compile.to_flags(), &flags.program);
    let remedy = Remedy {
        causes: unravel_causes::Budget { time: time / 3, deviations, ..Default::default() },
        candidates,
        // A few candidates have to fit in.
        effort: Effort {
            exhaustive: candidates / 10,
            schedules: CHECKED,
            time: candidates / 5,
            jobs: flags.search.jobs.unwrap_or_else(plan::cores),
            deviations,
        },
        remaining: candidates / 10,
        most: MOST_REPAIRS,
        command: format!("unravel repair {typed}"),
        traces: None,
    };
    match remedy.find(loaded, progress) {
        Ok(repairs) if repairs.causes.verdict == CausesVerdict::NothingFails => {
            explanation.notes.push(
                "all causes were looked for, but not long enough to meet a failing schedule again: \
                 try a longer --repair-time"
                    .to_owned(),
            );
        }
        Ok(mut repairs) => {
            // What the search, or a diagnosis, has seen pass is not sequential.
            let causes = &mut repairs.causes;
            let diagnoses = explanation.bugs.iter().filter_map(|bug| bug.verdict.diagnosis());
            let mut alternates = diagnoses.flat_map(|diagnosis| &diagnosis.alternates);
            let passes = explanation.explored.tally.exited() > 0
                || alternates.any(|alternate| !alternate.usual_answers);
            if passes && causes.verdict == CausesVerdict::Sequential {
                causes.verdict = CausesVerdict::Concurrent;
                causes.extent.left_out.push(LeftOut::Passing);
            }
            match write_diffs(&repairs, &flags.out) {
                Ok(patches) => explanation.patches = patches,
                Err(error) => explanation.notes.push(error.to_string()),
            }
            explanation.repairs = Some(Box::new(repairs));
        }
        Err(error) => explanation.notes.push(format!("all causes could not be found: {error}")),
    }
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

/// Prints an explanation, its bugs as soon as they are known.
struct Printer<'a> {
    flags: &'a ExplainFlags,
    sources: &'a Sources,
    style: terminal::Style,
    /// Lines that the bugs took, once they are printed.
    above: Option<usize>,
}

impl<'a> Printer<'a> {
    fn new(flags: &'a ExplainFlags, sources: &'a Sources) -> Printer<'a> {
        let style = terminal::Style { brief: !flags.verbose, ..style::style() };
        Printer { flags, sources, style, above: None }
    }

    fn is_text(&self) -> bool {
        !self.flags.json && !self.flags.quiet
    }

    /// `more` says whether repairs will follow.
    fn bugs(&mut self, explanation: &Explanation, more: bool) {
        if self.is_text() && self.above.is_none() {
            let text = terminal::bugs(explanation, self.sources, self.style, more);
            say::put(text.as_bytes());
            self.above = Some(text.lines().count());
        }
    }

    fn rest(&mut self, explanation: &Explanation, page: Option<PathBuf>) {
        let flags = self.flags;
        let page = page.map(|page| page.display().to_string());
        self.bugs(explanation, false);
        let text = if flags.json {
            format!("{}\n", json::explanation(explanation))
        } else if flags.quiet {
            let is_inconclusive = plan::exit(&explanation.explored, 0) == Exit::Inconclusive;
            terminal::brief(explanation, is_inconclusive)
        } else {
            terminal::rest(explanation, self.style, page.as_deref(), self.above.unwrap_or(0))
        };
        say::put(text.as_bytes());
        if flags.annotations {
            let lines = annotations::explanation(explanation);
            // GitHub reads both; who reads JSON wants nothing else.
            match flags.json {
                true => say::aside(lines.as_bytes()),
                false => {
                    say::put(lines.as_bytes());
                }
            }
        }
    }
}
