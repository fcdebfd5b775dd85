//! The way from a program to its explanation.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use unravel_diagnose::{Searched, Stage};
use unravel_execute::clock;
use unravel_explore::{AfterFirst, Finding, Plan, SearchError, search};
use unravel_files::{FileError, ProgramRef};
use unravel_results::{
    ExplainedBug, Explanation, Found, Needed, PutAside, Tally, Verdict, replay_command,
};
use unravel_solve::SolverChoice;
use unravel_trace::{Executor, Input, KnownBug, Rules, Run};

use crate::budgets::{
    ALWAYS, DIAGNOSED, DIAGNOSIS, FUTILE, GROUPING, HURRIED, LEAST, LONG, LONG_TIMES, MORE, TIMES,
};
use crate::diagnosing::{self, Diagnosed, Why};
use crate::keep::{Keeper, Name};
use crate::{same_cause, vanishing};

/// What to explain.
#[derive(Debug)]
pub struct Task<'a> {
    pub program: &'a ProgramRef,
    pub input: &'a Input,
    /// What counts as a failure, and what executes: trace files say it.
    pub rules: &'a Rules,
    pub engine: &'static str,
    /// How to search. What it does after its first bug is ours to say, and what it passes over is in `known`.
    pub plan: Plan,
    pub known: Vec<Known>,
    pub budget: Budget,
    /// Who proves what a diagnosis claims.
    pub solver: SolverChoice,
    /// Have every proof of the solver checked without it.
    pub certify: bool,
    /// Where traces go.
    pub out: PathBuf,
    /// The command that asks for this.
    pub command: String,
}

/// A bug that the user puts aside, and why.
#[derive(Clone, Debug)]
pub struct Known {
    pub bug: KnownBug,
    pub reason: String,
}

/// How much is done once a bug was found.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The search for more bugs goes on until it has tried so many times the schedules that the first bug took …
    pub times: u64,
    /// … and at least so many more …
    pub least: u64,
    /// … but no longer than this.
    pub more: Duration,
    /// How long to ask why, for the first bug. The others get a share each of the same.
    pub diagnosis: Duration,
    /// Bugs that are diagnosed; more are only named.
    pub diagnosed: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            times: TIMES,
            least: LEAST,
            more: MORE,
            diagnosis: DIAGNOSIS,
            diagnosed: DIAGNOSED,
        }
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    Searching {
        tally: &'a Tally,
        elapsed: Duration,
    },
    /// Bug number `bug`, from 1.
    Diagnosing {
        bug: usize,
        of: usize,
        stage: Stage,
        elapsed: Duration,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Trace(#[from] FileError),
    #[error("cannot write to {}: {source}", path.display())]
    Directory { path: PathBuf, source: std::io::Error },
}

/// Finds bugs and explains them. `interrupted` ends the stage that is under way and is taken back with it: first the
/// search, then the diagnosis. What is known by then is told.
pub fn explain(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Explanation, ExplainError> {
    let Budget { times, least, more: time, .. } = request.budget;
    let plan = Plan {
        after_first: AfterFirst::GoOnFor { times, least, time },
        known: request.known.iter().map(|known| known.bug.clone()).collect(),
        ..request.plan.clone()
    };
    let found = search(executor, request.input, &plan, |tally, elapsed| {
        progress(Progress::Searching { tally, elapsed });
        !interrupted.load(Ordering::Relaxed)
    })?;
    let explored = found.explored;
    let hurried = interrupted.swap(false, Ordering::Relaxed);
    let time = request.budget.diagnosis;
    let hurry = hurried.then(|| clock::now() + HURRIED);
    let mut bugs = Vec::new();
    let keeper = Keeper { request, explored: &explored };
    let names = keeper.names(&found.findings);
    // First of all, what was found is kept.
    let mut notes = Vec::new();
    let mut keep = |name: &Name, run: &Run| {
        // What could not be written is known all the same.
        if let Err(error) = keeper.write(name, run) {
            notes.push(error.to_string());
        }
    };
    for (finding, name) in found.findings.iter().zip(&names) {
        keep(name, &finding.run);
    }
    let of = found.findings.len().min(request.budget.diagnosed);
    for (index, (finding, name)) in found.findings.iter().zip(&names).enumerate() {
        let is_late = hurry.is_some_and(|end| clock::now() >= end);
        let verdict = if interrupted.load(Ordering::Relaxed) || is_late {
            undiagnosed("interrupted before it could be")
        } else if index >= request.budget.diagnosed {
            undiagnosed(&format!("only the first {} bugs are", request.budget.diagnosed))
        } else {
            let is_long = finding.run.schedule.events() > LONG && time == DIAGNOSIS;
            let time = if is_long { time * LONG_TIMES } else { time };
            let deadline = clock::now() + share(time, index);
            let deadline = hurry.map_or(deadline, |end| end.min(deadline));
            // Where threads sleep, all may fail only because nobody was late.
            let is_futile = explored.tally.always_fails(ALWAYS) && !finding.run.could_deviate;
            let deadline = match is_futile {
                true => deadline.min(clock::now() + FUTILE),
                false => deadline,
            };
            let mut report = |stage, elapsed| {
                progress(Progress::Diagnosing { bug: index + 1, of, stage, elapsed });
            };
            let searched = searched(&found.passing, finding, &explored.tally);
            let why = Why { request, finding, searched, deadline, interrupted };
            match diagnosing::apart(executor, &why, &mut report) {
                Ok(Diagnosed { diagnosis, failing, passing }) => {
                    if let Some(failing) = failing {
                        keep(name, &failing);
                    }
                    if let Some(passing) = passing {
                        keep(&name.passing(), &passing);
                    }
                    Verdict::Diagnosed(Box::new(diagnosis))
                }
                Err(reason) => Verdict::Undiagnosed { reason },
            }
        };
        bugs.push(bug(finding, &explored.tally, keeper.path(name), verdict));
    }
    let until = clock::now() + GROUPING;
    let until = hurry.map_or(until, |end| end.min(until));
    same_cause::mark(&mut bugs, |index, kept| {
        let is_late = clock::now() >= until || interrupted.load(Ordering::Relaxed);
        let finding = &found.findings[index];
        if is_late {
            return None;
        }
        vanishing::apart(executor, request, finding, kept, until, interrupted)
    });
    let put_aside = request.known.iter().enumerate().map(|(number, known)| PutAside {
        bug: known.bug.clone(),
        reason: known.reason.clone(),
        times: explored.tally.put_aside.get(number).copied().unwrap_or(0),
    });
    if interrupted.load(Ordering::Relaxed) {
        notes.push("interrupted: this is what was known by then".to_owned());
    }
    Ok(Explanation {
        program: request.program.name.clone(),
        command: request.command.clone(),
        put_aside: put_aside.collect(),
        explored,
        bugs,
        // A repair needs machines of its own, and a process has room for one: whoever owns ours goes on.
        repairs: None,
        patches: Vec::new(),
        notes,
    })
}

/// What the search knows of runs like this one that passed.
fn searched(passing: &[Run], finding: &Finding, tally: &Tally) -> Searched {
    let same = passing.iter().filter(|run| run.nondet == finding.run.nondet);
    Searched {
        passing: same.map(|run| run.schedule.clone()).collect(),
        passed: tally.exited(),
        of: tally.schedules,
    }
}

fn undiagnosed(reason: &str) -> Verdict {
    Verdict::Undiagnosed { reason: reason.to_owned() }
}

/// The first bug gets all of the time, the others a quarter each: they are often the same again.
fn share(time: Duration, index: usize) -> Duration {
    if index == 0 { time } else { time / 4 }
}

fn bug(finding: &Finding, tally: &Tally, trace: String, verdict: Verdict) -> ExplainedBug {
    let found = finding.run.outcome.failure().expect("a finding is a failure");
    let id = found.id();
    // What is told is of the run that is shown and replayed, where other threads may be in the same roles.
    let failure = match &verdict {
        Verdict::Diagnosed(diagnosis) if diagnosis.failure.id() == id => &diagnosis.failure,
        _ => found,
    };
    let failure = failure.clone();
    let Run { schedule, trace: observed, .. } = &finding.run;
    ExplainedBug {
        needs: Needed::of(&finding.run),
        found: Found {
            schedule: finding.number(tally),
            times: tally.times(&id).max(1),
            replayed: finding.replayed,
            threads: schedule.threads.len() as u64,
            events: observed.events.len() as u64,
            switches: schedule.context_switches() as u64,
        },
        id,
        failure,
        replay: replay_command(&trace),
        trace,
        verdict,
        same_cause_as: None,
        vanished: None,
    }
}
