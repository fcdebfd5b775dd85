//! `unravel simplify`: the same failure with as few context switches as possible.

use crate::budgets::SIMPLIFY_TIME;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unravel_execute::Silence;
use unravel_files::TraceFile;
use unravel_report::notes::blind_spot;
use unravel_results::shell_word;
use unravel_simplify::{
    Budget, Optimality, Progress as Done, Removed, Simplified, SimplifyError, Stage, Switches,
    Unproved, simplify,
};
use unravel_trace::{Place, Run};

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::SimplifyFlags;
use crate::interrupt::{self, INTERRUPTED};
use crate::output::Unwritten;
use crate::progress::Progress;
use crate::recorded::{self, Opened};
use crate::story::{self, count};

/// How often a person wants to read something new.
const PERIOD: Duration = Duration::from_millis(100);
/// What the file says of how it was made.
const STRATEGY: &str = "simplify";

pub fn run(flags: &SimplifyFlags) -> Result<Exit, CliError> {
    let file = TraceFile::read(&flags.trace)?;
    if !file.is_executable() {
        return Err(CliError::NotExecutable { path: flags.trace.clone() });
    }
    if file.run.outcome.failure().is_none() {
        return Err(SimplifyError::NoFailure.into());
    }
    // Where it is written, whatever directory the program is run in.
    let written = flags.output.clone().unwrap_or_else(|| default_output(&flags.trace));
    let out = std::path::absolute(&written).unwrap_or_else(|_| written.clone());
    let simple = match make(flags, &file) {
        Err(CliError::Simplify(error @ SimplifyError::FailsNoMore(_))) => {
            return Ok(say_inconclusive(flags, &error));
        }
        simple => simple?,
    };
    let simplified = TraceFile {
        strategy: STRATEGY.to_owned(),
        input: simple.run.input(&file.input),
        run: simple.run.clone(),
        ..file.clone()
    };
    let mut unwritten = Unwritten::default();
    unwritten.note(simplified.write(&out));
    if flags.json {
        sayln!("{}", as_json(&file.run, &simple, &written));
    } else {
        say!("{}", as_text(flags, &file.run, &simple, &written));
    }
    Ok(unwritten.end(Exit::Finding))
}

/// `bank.trace` becomes `bank-simple.trace`, beside it.
fn default_output(trace: &Path) -> PathBuf {
    let name = trace.file_stem().unwrap_or_default().to_string_lossy();
    trace.with_file_name(format!("{name}-simple.trace"))
}

fn make(flags: &SimplifyFlags, file: &TraceFile) -> Result<Simplified, CliError> {
    let Opened { mut vm, visible, mut recorded, .. } = recorded::open(file, &flags.program)?;
    interrupt::listen();
    recorded.schedule.visible = visible;
    let shown = !flags.json && !flags.quiet && std::io::stderr().is_terminal();
    let silence = Silence::begin().map_err(CliError::Stdin)?;
    let mut progress = Progress::on(if shown { silence.stderr().ok() } else { None });
    let defaults = Budget::default();
    let budget = Budget {
        proof_executions: if flags.no_proof { 0 } else { flags.proof },
        // Whoever allows more schedules allows more work.
        proof_steps: match flags.proof > defaults.proof_executions {
            true => u64::MAX,
            false => defaults.proof_steps,
        },
        until: Some(Instant::now() + flags.time.unwrap_or(SIMPLIFY_TIME)),
        suffix: flags.suffix,
        ..defaults
    };
    let mut shown_at: Option<Instant> = None;
    let mut watch = |done: &Done| {
        if shown_at.is_none_or(|at| at.elapsed() >= PERIOD) {
            shown_at = Some(Instant::now());
            progress.show(&words(done));
        }
        !INTERRUPTED.load(Ordering::Relaxed)
    };
    let simple = simplify(&mut vm, &file.input, &recorded, &budget, &mut watch);
    drop(progress);
    drop(silence);
    Ok(simple?)
}

/// What is being done, in a line.
fn words(done: &Done) -> String {
    let switches = count(done.switches as u64, "context switch");
    match done.stage {
        Stage::Replaying => "replaying the failing run".to_owned(),
        Stage::Deviations => "doing without deviations of the environment".to_owned(),
        Stage::Coarse | Stage::Tinertia => format!(
            "removing context switches: {switches} left, {} candidates executed, {} evaluated",
            done.counts.executed, done.counts.evaluated
        ),
        Stage::Proving => format!(
            "looking for fewer than {switches}: {} schedules executed",
            done.counts.proof_executions
        ),
    }
}

fn say_inconclusive(flags: &SimplifyFlags, error: &SimplifyError) -> Exit {
    if flags.json {
        let status = json!({ "kind": "inconclusive", "reason": error.to_string() });
        sayln!("{}", json!({ "status": status }));
    } else {
        sayln!("inconclusive: {error}");
    }
    Exit::Inconclusive
}

/// Why not more is proved.
fn unproved(why: &Unproved) -> String {
    match why {
        Unproved::NotAsked => "no proof was asked for".to_owned(),
        Unproved::Suffix => "what comes before the suffix was to stay as it is".to_owned(),
        Unproved::Livelock => "livelocks are not searched exactly".to_owned(),
        Unproved::Unseen(spot) => format!("not seen: {}", blind_spot(*spot)),
        Unproved::Deviations => {
            "the failure needs an environment that deviates, which is not searched exactly"
                .to_owned()
        }
        Unproved::Cancellation => "threads are cancelled".to_owned(),
        Unproved::Inconclusive { reason } => format!("a schedule could not be followed: {reason}"),
        Unproved::Damaged => {
            "the program called a function whose effects cannot be undone".to_owned()
        }
        Unproved::Stopped => "the search was stopped".to_owned(),
        Unproved::NotEnough { schedules } => format!("{schedules} schedules were not enough"),
        Unproved::CountsOtherwise => {
            "the best schedule counts otherwise when it is replayed".to_owned()
        }
        Unproved::FailsOtherwise => {
            "the best schedule does not fail so when it is replayed".to_owned()
        }
    }
}

/// How good it is: a word, and what belongs to it.
fn optimality(simple: &Simplified) -> (&'static str, String) {
    match &simple.optimality {
        Optimality::ProvedMinimal => (
            "proved minimal",
            "no schedule fails so with fewer switches, or with as many and fewer preemptions"
                .into(),
        ),
        Optimality::FewestSwitches { why } => (
            "fewest switches proved",
            format!("whether fewer of them can be preemptions is not known: {}", unproved(why)),
        ),
        Optimality::LocalOptimum { at_least, why } => (
            "local optimum",
            match at_least {
                0 => format!("nothing is proved: {}", unproved(why)),
                _ => format!("at least {} needed: {}", switches_word(*at_least), unproved(why)),
            },
        ),
    }
}

fn switches_word(number: usize) -> String {
    match number {
        1 => "1 context switch is".into(),
        number => format!("{number} context switches are"),
    }
}

/// A preemption that is left: who was interrupted where, and who ran instead.
struct Preemption<'a> {
    interrupted: String,
    /// Before this, or after it if the thread does not go on in this run.
    at: Option<&'a Place>,
    goes_on: bool,
    instead: String,
    instead_at: Option<&'a Place>,
}

/// The preemptions of a run, by its switches that were not forced.
fn preemptions<'a>(run: &'a Run, forced: &[bool]) -> Vec<Preemption<'a>> {
    let trace = &run.trace;
    let mut found = Vec::new();
    let switches = (1..trace.events.len())
        .filter(|at| trace.events[at - 1].thread != trace.events[*at].thread);
    for (at, forced) in switches.zip(forced) {
        if *forced {
            continue;
        }
        let (last, next) = (&trace.events[at - 1], &trace.events[at]);
        let pending = trace.events[at..].iter().find(|event| event.thread == last.thread);
        found.push(Preemption {
            interrupted: trace.thread_name(last.thread).to_string(),
            at: trace.place(pending.unwrap_or(last)),
            goes_on: pending.is_some(),
            instead: trace.thread_name(next.thread).to_string(),
            instead_at: trace.place(next),
        });
    }
    found
}

fn as_text(flags: &SimplifyFlags, recorded: &Run, simple: &Simplified, out: &Path) -> String {
    let mut text = String::new();
    if let Some(failure) = simple.run.outcome.failure() {
        text += &story::without_size(failure);
    }
    let (word, detail) = optimality(simple);
    let (before, after) = (simple.before, simple.after);
    let _ = writeln!(
        text,
        "  context switches  {} -> {}   ({} -> {} preemptions, {} -> {} forced)",
        before.all(),
        after.all(),
        before.preemptive,
        after.preemptive,
        before.forced,
        after.forced
    );
    let _ = writeln!(
        text,
        "  threads           {} -> {}\n  events            {} -> {}",
        threads(recorded),
        threads(&simple.run),
        recorded.schedule.events(),
        simple.run.schedule.events()
    );
    let _ = writeln!(text, "  {word}: {detail}");
    let counts = simple.counts;
    let _ = writeln!(
        text,
        "  {} evaluated, {} executed; {} executed for the proof",
        count(counts.evaluated, "candidate"),
        counts.executed,
        count(counts.proof_executions, "schedule"),
    );
    if INTERRUPTED.load(Ordering::Relaxed) {
        text += "note: interrupted: this is the best that was known by then\n";
    } else if simple.stopped {
        text += "note: the time was up: a larger --time may find a simpler run\n";
    }
    if !flags.quiet {
        text += &preemptions_text(simple);
    }
    let path = shell_word(&out.to_string_lossy());
    let _ = writeln!(text, "  replay it:  unravel replay {path}");
    let _ = writeln!(text, "  look at it: unravel trace show {path}");
    text
}

fn preemptions_text(simple: &Simplified) -> String {
    let left = preemptions(&simple.run, &simple.forced);
    if left.is_empty() {
        return "\nNo preemption is left: every switch happens where a thread cannot go on.\n\n"
            .into();
    }
    let mut text = String::from("\nWhere threads are interrupted (look here for the bug):\n");
    let short = |place: Option<&Place>| place.map_or("?".to_owned(), Place::short);
    for preemption in &left {
        let Preemption { interrupted, at, goes_on, instead, instead_at } = preemption;
        let function = at.map_or(String::new(), |place| format!(" in {}", place.function));
        let _ = writeln!(
            text,
            "  {interrupted} {} {}{function}; {instead} runs instead, from {}",
            if *goes_on { "before" } else { "after" },
            short(*at),
            short(*instead_at)
        );
    }
    text.push('\n');
    text
}

/// Threads that do something in a run.
fn threads(run: &Run) -> usize {
    let mut threads: Vec<u32> = run.schedule.segments.iter().map(|s| s.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    threads.len()
}

/// Context switches that each operation took away.
fn removed(by: &Removed) -> Value {
    json!({
        "coarse": by.coarse,
        "remove_last": by.remove_last,
        "consolidate_up": by.consolidate_up,
        "consolidate_down": by.consolidate_down,
        "stay": by.stay,
        "defer": by.defer,
        "exact": by.exact,
    })
}

fn as_json(recorded: &Run, simple: &Simplified, out: &Path) -> Value {
    let switches = |s: Switches| json!({ "preemptive": s.preemptive, "forced": s.forced });
    let size = |run: &Run, s: Switches| {
        json!({
            "threads": threads(run),
            "events": run.schedule.events(),
            "context_switches": s.all(),
            "switches": switches(s),
        })
    };
    let (at_least, why) = match &simple.optimality {
        Optimality::ProvedMinimal => (simple.after.all(), None),
        Optimality::FewestSwitches { why } => (simple.after.all(), Some(unproved(why))),
        Optimality::LocalOptimum { at_least, why } => (*at_least, Some(unproved(why))),
    };
    let preemptions = preemptions(&simple.run, &simple.forced);
    json!({
        "trace": out,
        "run": story::run_json(&simple.run),
        "before": size(recorded, simple.before),
        "local": switches(simple.local),
        "after": size(&simple.run, simple.after),
        "optimality": optimality(simple).0,
        "at_least": at_least,
        "why": why,
        "evaluated": simple.counts.evaluated,
        "executed": simple.counts.executed,
        "iterations": simple.counts.iterations,
        "removed": removed(&simple.counts.removed),
        "proof_executions": simple.counts.proof_executions,
        "stopped": simple.stopped,
        "preemptions": preemptions.iter().map(|p| json!({
            "thread": p.interrupted,
            "at": p.at.map(Place::short),
            "goes_on": p.goes_on,
            "instead": p.instead,
            "instead_at": p.instead_at.map(Place::short),
        })).collect::<Vec<_>>(),
    })
}
