//! The way from a program to all its causes.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use unravel_execute::{Apart, Laboratory, Received};
use unravel_results::{Causes, EventStack};
use unravel_strategies::Random;
use unravel_trace::{Detail, EngineError, Executor, Input, Nondet, Rng, Run, VisibleSet, Want};

use crate::budgets::{CLASSES, GRACE, INPUTS, SAMPLES, TICK, TIME};
use crate::enumerate::enumerate;
use crate::gather::{Effort, Gatherer};
use crate::orders::Pairs;
use crate::summary::Summary;
use crate::watch::Words;

/// What to find the causes of.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    pub program: &'a str,
    pub input: &'a Input,
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
    /// Inputs that are tried, if the program asks for nondeterministic values and none were given.
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
    #[error("a run did not end within {seconds} s; a smaller --max-steps gives such runs up")]
    Stuck { seconds: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
enum Message {
    Progress(Progress),
    Failed(String),
    Ends(Box<Analysis>),
}

/// Finds all causes, in a process of its own: whatever the program does to it, we are still there.
pub fn causes(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Analysis, CausesError> {
    let started = Instant::now();
    let mut work: Apart<Message> = Apart::start(executor, |executor, stop, send| {
        let told = &mut |progress| send(&Message::Progress(progress));
        match here(executor, request, stop, told) {
            Ok(analysis) => send(&Message::Ends(Box::new(analysis))),
            Err(problem) => send(&Message::Failed(problem.to_string())),
        }
    })
    .map_err(CausesError::Fork)?;
    loop {
        match work.receive(TICK) {
            Received::Message(Message::Progress(now)) => progress(now),
            Received::Message(Message::Ends(analysis)) => return Ok(*analysis),
            Received::Message(Message::Failed(reason)) => {
                return Err(CausesError::Engine(reason));
            }
            Received::Ended { signal } => return Err(CausesError::Killed { signal }),
            Received::Nothing => {}
        }
        if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            work.stop();
        }
        if started.elapsed() > request.budget.time + GRACE {
            return Err(CausesError::Stuck { seconds: started.elapsed().as_secs() });
        }
    }
}

/// The same in this process. What the program prints goes where this process's output goes.
pub fn here(
    executor: &mut dyn Executor,
    request: &Task<'_>,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Analysis, EngineError> {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut words = Words::default();
    let mut pairs = Pairs::default();
    let inputs = match asks_for_values(executor, request.input) {
        true => request.budget.inputs.max(1),
        false => 1,
    };
    for number in 0..inputs {
        let input = input_of(request.input, number);
        let share = request.budget.time / inputs * (number + 1);
        let effort = Effort {
            until: started + share,
            classes: request.budget.classes,
            samples: request.budget.samples,
            deviations: request.budget.deviations,
        };
        let mut gatherer = Gatherer {
            lab: Laboratory::new(&mut *executor, input, VisibleSet::default())
                .until(None, Some(interrupted)),
            words: &mut words,
            pairs: &mut pairs,
            interrupted,
            progress: &mut *progress,
        };
        let mut gathered = gatherer.gather(&effort);
        summary.notes.extend(gathered.set_sequential_aside());
        let is_one_of_many =
            gathered.asks_for_values && matches!(request.input.nondet, Nondet::Seed(_));
        summary.count(&gatherer, &gathered);
        (gatherer.progress)(Progress::Enumerating);
        if gathered.exhausted {
            let enumerated = enumerate(gatherer.pairs, &gatherer.words.keys, &gathered, &effort);
            summary.add(&mut gatherer, &gathered, enumerated);
        } else {
            summary.sample(&mut gatherer, &gathered, request, &effort);
        }
        if let Some(problem) = gatherer.lab.problem() {
            return Err(problem.clone());
        }
        if !is_one_of_many || interrupted.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
    }
    Ok(summary.finish(request, started.elapsed()))
}

/// Whether the program asks for values that we may choose.
fn asks_for_values(executor: &mut dyn Executor, input: &Input) -> bool {
    if !matches!(input.nondet, Nondet::Seed(_)) {
        return false;
    }
    let mut lab = Laboratory::new(executor, input.clone(), VisibleSet::default());
    let run = lab.run(&mut Random::new(0), &mut (), Want::only(Detail::Outcome));
    !run.nondet.is_empty()
}

/// Input number `number`: as given, then with other nondeterministic values.
fn input_of(input: &Input, number: u32) -> Input {
    let mut input = input.clone();
    if let Nondet::Seed(seed) = input.nondet
        && number > 0
    {
        input.nondet = Nondet::Seed(Rng::derive(seed, u64::from(number)));
    }
    input
}
