//! `unravel causes`: every cause of a program's failures.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use unravel_causes::{Analysis, Budget, Progress as Now, Task};
use unravel_explore::exit_codes_differ;
use unravel_files::TraceFile;
use unravel_report::{Sources, dot, html, json, terminal};
use unravel_results::{Causes, CausesVerdict};
use unravel_trace::{Executor, LeftOut};

use crate::config::Config;
use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{CausesFlags, ExtentFlags};
use crate::interrupt::{self, INTERRUPTED};
use crate::output::{self, Unwritten, put};
use crate::program::{self, Loaded};
use crate::progress::Progress;
use crate::{say, style};

pub fn causes(flags: &CausesFlags) -> Result<Exit, CliError> {
    let config = Config::find()?;
    output::prepare(&flags.out)?;
    let mut loaded = program::load(&flags.program, &config)?;
    interrupt::listen();
    let mut progress = Progress::new(!flags.quiet);
    let mut show = |now| progress.show(&words(now));
    let mut analysis = analyse(&mut loaded, budget(&flags.extent), output::command(), &mut show)?;
    drop(progress);
    let mut unwritten = Unwritten::default();
    unwritten.note(keep_traces(&mut analysis, &loaded, &flags.out));
    let causes = &analysis.causes;
    let sources = Sources::under(&loaded.reference.cwd);
    let page = flags.out.join(format!("{}-causes.html", causes.program));
    let is_written = unwritten.note(put(&page, &html::causes(causes, &sources))).is_some();
    if let Some(path) = &flags.dot {
        unwritten.note(put(path, &dot::causes(causes, &sources)));
    }
    let text = if flags.json {
        format!("{}\n", json::causes(causes))
    } else if flags.quiet {
        causes.classes.iter().map(|class| format!("{}\n", class.sentence)).collect()
    } else {
        let page = page.display().to_string();
        terminal::causes(causes, &sources, style::style(), is_written.then_some(page.as_str()))
    };
    say::put(text.as_bytes());
    Ok(unwritten.end(exit(causes)))
}

/// How far the user wants to look.
pub fn budget(extent: &ExtentFlags) -> Budget {
    let defaults = Budget::default();
    Budget {
        time: extent.time.unwrap_or(defaults.time),
        classes: extent.classes.unwrap_or(defaults.classes),
        inputs: extent.inputs.unwrap_or(defaults.inputs),
        deviations: extent.deviations.unwrap_or(defaults.deviations),
        ..defaults
    }
}

/// All causes of a program. `command` finds them again.
pub fn analyse(
    loaded: &mut Loaded,
    budget: Budget,
    command: String,
    progress: &mut dyn FnMut(Now),
) -> Result<Analysis, CliError> {
    let started = Instant::now();
    let Loaded { reference, input, .. } = &*loaded;
    let (reference, input, rules) = (reference.clone(), input.clone(), loaded.rules.clone());
    let request = Task { program: &reference, input: &input, rules: &rules, budget, command };
    let mut analysis = unravel_causes::causes(&mut loaded.vm, &request, &INTERRUPTED, progress)?;
    let go_on = || !INTERRUPTED.load(Ordering::Relaxed);
    if analysis.causes.verdict == CausesVerdict::NothingFails
        && !loaded.rules.judge_runs()
        && exit_codes_differ(&mut loaded.vm, &input, go_on)
    {
        loaded.rules.fail_on_exit = true;
        loaded.vm.set_rules(&loaded.rules);
        let time = budget.time.saturating_sub(started.elapsed());
        let rules = &loaded.rules;
        let request = Task { rules, budget: Budget { time, ..budget }, ..request };
        analysis = unravel_causes::causes(&mut loaded.vm, &request, &INTERRUPTED, progress)?;
        let note = "exit codes differ between schedules: those other than 0 count as failures";
        analysis.causes.notes.push(note.to_owned());
    }
    Ok(analysis)
}

/// Writes a trace for each bug, named as `find` names them.
pub fn keep_traces(analysis: &mut Analysis, loaded: &Loaded, out: &Path) -> Result<(), CliError> {
    for (number, (bug, run)) in analysis.causes.bugs.iter_mut().zip(&analysis.runs).enumerate() {
        let name = format!("{}-{}-{}.trace", loaded.reference.name, bug.id.kind.name(), number + 1);
        let path = out.join(name);
        let file = TraceFile {
            program: loaded.reference.clone(),
            input: run.input(&loaded.input),
            rules: loaded.rules.clone(),
            strategy: "exhaustive".to_owned(),
            seed: None,
            engine: loaded.vm.name().to_owned(),
            run: run.clone(),
        };
        file.write(&path)?;
        bug.trace = Some(path.display().to_string());
    }
    Ok(())
}

/// Nothing fails only if something was followed to its end.
pub fn exit(causes: &Causes) -> Exit {
    match causes.verdict {
        CausesVerdict::NothingFails if causes.extent.passing == 0 => Exit::Inconclusive,
        CausesVerdict::NothingFails if causes.extent.left_out.iter().any(is_unfollowed) => {
            Exit::Inconclusive
        }
        CausesVerdict::NothingFails => Exit::Clean,
        CausesVerdict::Sequential | CausesVerdict::Concurrent => Exit::Finding,
    }
}

fn is_unfollowed(what: &LeftOut) -> bool {
    matches!(what, LeftOut::Inconclusive { .. })
}

pub fn words(now: Now) -> String {
    match now {
        Now::Exploring { passing, failing } => {
            format!("exploring: {passing} classes of schedules pass, {failing} fail")
        }
        Now::Enumerating => "looking for causes".to_owned(),
    }
}
