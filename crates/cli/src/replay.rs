//! `unravel replay`: the same schedule, the same outcome, or where it differs.

use serde_json::json;
use unravel_execute::{Divergence, Replay, Silence};
use unravel_files::TraceFile;
use unravel_trace::{
    Detail, Event, EventKind, Executor, Job, Outcome, Run, SourceLine, Trace, Value, Want,
};

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::ReplayFlags;
use crate::output::Aside;
use crate::recorded::{self, Opened};
use crate::run::{exit_for, show_output};
use crate::{step, story};

pub fn replay(flags: &ReplayFlags) -> Result<Exit, CliError> {
    if flags.step {
        return step::step(flags);
    }
    let file = TraceFile::read(&flags.trace)?;
    if !file.is_executable() {
        return Err(CliError::NotExecutable { path: flags.trace.clone() });
    }
    let Opened { mut vm, visible, changed, recorded } = recorded::open(&file, &flags.program)?;
    // The program's own output is shown once, and not where something else is to be read.
    let aside = Aside::begin(flags.json);
    let silence = match flags.times > 1 {
        true => Some(Silence::begin().map_err(CliError::Stdin)?),
        false => None,
    };
    let mut last = None;
    for _ in 0..flags.times.max(1) {
        let mut scheduler = Replay::new(&file.run.schedule);
        let want = Want::only(file.run.detail().max(Detail::Events));
        let job = Job { input: &file.input, visible: &visible, want };
        let run = vm.run(&job, &mut scheduler, &mut ())?;
        show_output(&run);
        let report = Report::new(&recorded, run, scheduler.divergence(), changed);
        let same = report.same;
        last = Some(report);
        if !same {
            break;
        }
    }
    drop(silence);
    drop(aside);
    let report = last.expect("replayed at least once");
    if flags.json {
        print_json(&report, changed);
    } else {
        print_text(&report, flags);
    }
    Ok(if report.same { exit_for(&report.run.outcome) } else { Exit::Inconclusive })
}

/// A replay, and whether it is what was recorded.
pub struct Report {
    pub run: Run,
    pub same: bool,
    /// Where the replay left the recording, in words.
    pub difference: Option<String>,
}

impl Report {
    /// In a program that has `changed`, lines are expected to be others.
    pub fn new(recorded: &Run, run: Run, divergence: Option<Divergence>, changed: bool) -> Report {
        let first = first_difference(&recorded.trace, &run.trace, changed);
        let same_end = match (&recorded.outcome, &run.outcome) {
            (Outcome::Failed(_), Outcome::Failed(_)) => recorded.outcome.is_same_bug(&run.outcome),
            (a, b) => a == b,
        };
        let difference = first.or_else(|| divergence.map(|d| d.to_string())).or_else(|| {
            (!same_end).then(|| format!("the recorded run ended otherwise: {}", recorded.outcome))
        });
        Report { same: difference.is_none(), run, difference }
    }
}

/// The first event that is not the recorded one. Sites are compared by place, because a rebuilt program
/// numbers them anew.
fn first_difference(recorded: &Trace, found: &Trace, changed: bool) -> Option<String> {
    let line = |trace: &Trace, event: &Event| trace.place(event).map(SourceLine::from);
    for (index, (a, b)) in recorded.events.iter().zip(&found.events).enumerate() {
        let (left, right) = (describe(recorded, a), describe(found, b));
        let moved = !changed && line(recorded, a) != line(found, b);
        if moved || operation(recorded, a) != operation(found, b) {
            return Some(format!("event {}: recorded {left}, now {right}", index + 1));
        }
        if values(&a.kind) != values(&b.kind) {
            let (old, new) = (values(&a.kind), values(&b.kind));
            let show =
                |v: &[&Value]| v.iter().map(ToString::to_string).collect::<Vec<_>>().join(" -> ");
            return Some(format!(
                "event {}, {left}: recorded value {}, now {}",
                index + 1,
                show(&old),
                show(&new)
            ));
        }
    }
    (recorded.events.len() != found.events.len()).then(|| {
        format!(
            "the recorded run has {} events, this one {}",
            recorded.events.len(),
            found.events.len()
        )
    })
}

/// The values an event saw and left.
fn values(kind: &EventKind) -> Vec<&Value> {
    match kind {
        EventKind::Read { value, .. } | EventKind::Write { value, .. } => vec![value],
        EventKind::ReadModifyWrite { old, new, .. } => vec![old, new],
        _ => Vec::new(),
    }
}

fn describe(trace: &Trace, event: &Event) -> String {
    let place = trace.place(event).map_or(String::new(), |place| place.short());
    format!("{} at {place}", operation(trace, event))
}

fn operation(trace: &Trace, event: &Event) -> String {
    let what =
        event.kind.location().map_or(String::new(), |l| format!(" {}", trace.location(l).name));
    format!("{} {}{what}", trace.thread_name(event.thread), event.kind.verb())
}

fn print_text(report: &Report, flags: &ReplayFlags) {
    match &report.run.outcome {
        Outcome::Failed(failure) => say!("{}", story::failure(failure, &report.run)),
        _ => sayln!("{}", story::ending(&report.run)),
    }
    match &report.difference {
        None if flags.times > 1 => {
            sayln!("replayed {} times: the same run each time", flags.times)
        }
        None => sayln!("replayed: the same run"),
        Some(difference) => sayln!("the replay differs from the recording: {difference}"),
    }
}

fn print_json(report: &Report, changed: bool) {
    sayln!(
        "{}",
        json!({
            "run": story::run_json(&report.run),
            "same": report.same,
            "difference": report.difference,
            "program_changed": changed,
        })
    );
}
