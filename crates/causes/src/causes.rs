//! The way from a program to all its causes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_execute::{Apart, Attended, Laboratory, Limit};
use unravel_files::ProgramRef;
use unravel_results::{Causes, EventStack};
use unravel_trace::{EngineError, Executor, Input, LeftOut, Rules, Run, VisibleSet};

use crate::budgets::{CLASSES, HURRIED, INPUTS, SAMPLES, TELLING_SHARE, TIME};
use crate::enumerate::{Enumerated, enumerate};
use crate::gather::{Effort, Gatherer};
use crate::inputs::to_try;
use crate::orders::Pairs;
use crate::summary::Summary;
use crate::watch::Words;

/// What to find the causes of.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    pub program: &'a ProgramRef,
    pub input: &'a Input,
    pub rules: &'a Rules,
    pub budget: Budget,
    /// The command that asks for this.
    pub command: String,
}

/// How much may be done.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub time: Duration,
    /// Classes of schedules that are kept in memory.
    pub classes: usize,
    /// Schedules tried at random where exhaustive search does not end.
    pub samples: u64,
    /// Inputs that are tried at most, if the program asks for nondeterministic values and none were given.
    pub inputs: u32,
    /// The environment deviates so often at most.
    pub deviations: u32,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { time: TIME, classes: CLASSES, samples: SAMPLES, inputs: INPUTS, deviations: 0 }
    }
}

/// All causes, and what a repair needs to know besides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysis {
    pub causes: Causes,
    /// The call stacks of the events of all causes.
    pub stacks: Vec<EventStack>,
    /// For each bug its simplest failing run, with its events.
    pub runs: Vec<Run>,
    /// The inputs that were tried, as [`Causes::inputs`] has them where the program asks for values; else the only one.
    pub inputs: Vec<Input>,
    /// What was visible, and the fingerprints of the classes that pass; of the first input. No classes where not all are
    /// known.
    pub visible: VisibleSet,
    pub passing: Vec<u64>,
}

/// What has been done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Progress {
    /// Classes of schedules that pass and that fail.
    Exploring {
        passing: u64,
        failing: u64,
    },
    Enumerating,
}

#[derive(Debug, thiserror::Error)]
pub enum CausesError {
    #[error("no process can be started: {0}")]
    Fork(#[source] std::io::Error),
    #[error("{0}")]
    Engine(String),
    #[error("the program killed the process that explored it (signal {signal})")]
    Killed { signal: i32 },
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Progress(Progress),
    Failed(String),
    /// What there is to say if nothing more comes.
    SoFar(Box<Analysis>),
    Ends(Box<Analysis>),
}

/// Finds all causes, in a process of its own: whatever the program does to it, we are still there. What does not end in time
/// is told as far as it came.
pub fn causes(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Analysis, CausesError> {
    let started = Instant::now();
    let mut work: Apart<Message> = Apart::start(executor, |executor, stop, send| {
        match here(executor, request, stop, &mut |told| {
            send(&match told {
                Told::Progress(progress) => Message::Progress(progress),
                Told::SoFar(analysis) => Message::SoFar(analysis),
            });
        }) {
            Ok(analysis) => send(&Message::Ends(Box::new(analysis))),
            Err(problem) => send(&Message::Failed(problem.to_string())),
        }
    })
    .map_err(CausesError::Fork)?;
    let limit = Limit::new(Some(started + request.budget.time), Some(interrupted));
    let mut so_far = None;
    let attended = work.attend(limit, |message| {
        match message? {
            Message::Progress(now) => progress(now),
            Message::SoFar(analysis) => so_far = Some(*analysis),
            Message::Ends(analysis) => return Some(Ok(*analysis)),
            Message::Failed(reason) => return Some(Err(CausesError::Engine(reason))),
        }
        None
    });
    let known = so_far.unwrap_or_else(|| Summary::default().finish(request, started.elapsed()));
    let mut analysis = match attended {
        Attended::Done(result) => result?,
        Attended::Ended { signal } if known.causes.bugs.is_empty() => {
            return Err(CausesError::Killed { signal });
        }
        Attended::Ended { .. } => {
            cut_short(known, "the program killed the process that explored it")
        }
        Attended::Late if known.causes.extent.schedules == 0 => {
            cut_short(known, "no run ended in time; a smaller --max-steps gives long ones up")
        }
        Attended::Late if limit.is_interrupted() => known,
        Attended::Late => cut_short(known, "the time was up before causes were told"),
    };
    if limit.is_interrupted() {
        analysis = cut_short(analysis, "interrupted: this is what was known by then");
    }
    Ok(analysis)
}

/// Not all that there is.
fn cut_short(mut analysis: Analysis, why: &str) -> Analysis {
    let Causes { extent, notes, .. } = &mut analysis.causes;
    if extent.left_out.is_empty() {
        extent.left_out.push(LeftOut::Time);
    }
    notes.push(why.to_owned());
    analysis
}

/// What is told on the way.
#[derive(Debug)]
pub enum Told {
    Progress(Progress),
    SoFar(Box<Analysis>),
}

/// The same in this process. What the program prints goes where this process's output goes.
pub fn here(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    told: &mut dyn FnMut(Told),
) -> Result<Analysis, EngineError> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut words = Words::default();
    let mut pairs = Pairs::default();
    let inputs = to_try(executor, request, interrupted)?;
    for (number, tried) in inputs.iter().enumerate() {
        // What the inputs before it did not need is for those that are left.
        let left = request.budget.time.saturating_sub(started.elapsed());
        let share = left / (inputs.len() - number) as u32;
        let end = Instant::now() + share;
        let input = tried.input.clone();
        let effort = Effort {
            // What was found has to be told, too.
            until: end - share / TELLING_SHARE,
            classes: request.budget.classes,
            samples: request.budget.samples,
            deviations: request.budget.deviations,
        };
        let mut gatherer = Gatherer {
            lab: Laboratory::new(&mut *executor, input, VisibleSet::default())
                .until(Some(effort.until), Some(interrupted)),
            words: &mut words,
            pairs: &mut pairs,
            interrupted,
            told: &mut *told,
        };
        let mut gathered = gatherer.gather(&effort);
        summary.notes.extend(gathered.set_sequential_aside());
        summary.count(&gatherer, &gathered, tried);
        (gatherer.told)(Told::Progress(Progress::Enumerating));
        let limit = telling(end, interrupted);
        let mut known = summary.clone();
        known.add(&mut gatherer, &gathered, Enumerated::none_of(&gathered), limit);
        (gatherer.told)(Told::SoFar(Box::new(known.finish(request, started.elapsed()))));
        if gathered.exhausted {
            let (keys, until) = (&gatherer.words.keys, gatherer.lab.limit());
            let enumerated = enumerate(gatherer.pairs, keys, &gathered, until);
            let limit = telling(end, interrupted);
            summary.add(&mut gatherer, &gathered, enumerated, limit);
        } else {
            summary.sample(&mut gatherer, &gathered, request, &effort, end);
        }
        if let Some(problem) = gatherer.lab.problem() {
            return Err(problem.clone());
        }
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(summary.finish(request, started.elapsed()))
}

/// Until when what was found may be told: after an interrupt, for a moment.
pub fn telling(end: Instant, interrupted: &AtomicBool) -> Limit<'_> {
    match interrupted.load(Ordering::Relaxed) {
        true => Limit::new(Some(Instant::now() + HURRIED), None),
        false => Limit::new(Some(end), Some(interrupted)),
    }
}
