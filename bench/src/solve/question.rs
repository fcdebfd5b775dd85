//! One question to one solver, in a process of its own (`solve-one`): its time, its conflicts, and the most
//! memory that the process had. Every answer is evaluated.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use unravel_files::TraceFile;
use unravel_solve::generate::{Generated, forget_order};
use unravel_solve::{
    Answer, Bounds, Cell, Evaluator, Found, Goal, Model, Nearest, Query, Solver, SolverChoice,
    StepId, Verdict, Weights, Wish,
};
use unravel_trace::KnownOrder;

use crate::measure::median;

/// Answers that come faster than this are asked for again, for the median.
const SHORT: f64 = 0.1;
const TIMES: usize = 5;
/// Data-flow variations alone.
const DATA_FLOW: Goal = Goal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 });

/// What diagnoses ask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum)]
pub enum Question {
    /// A passing order with the fewest data-flow variations from the failing one.
    Alternate,
    /// Orders of the failing run that cannot all hold in a passing one, none of them spare.
    Core,
    /// A failing order, without any information about the order.
    Failing,
}

impl Question {
    pub const ALL: [Question; 3] = [Question::Alternate, Question::Core, Question::Failing];

    pub fn name(self) -> &'static str {
        match self {
            Question::Alternate => "alternate",
            Question::Core => "core",
            Question::Failing => "failing",
        }
    }
}

/// The command line of such a process.
#[derive(Debug, Args)]
pub struct One {
    pub trace: PathBuf,
    #[arg(long)]
    pub question: Question,
    #[arg(long)]
    pub solver: SolverChoice,
    /// In seconds.
    #[arg(long)]
    pub limit: f64,
    /// A failing order, of traces that do not say theirs.
    #[arg(long)]
    pub near: Option<PathBuf>,
    /// Where to write the answer.
    #[arg(long)]
    pub answer: PathBuf,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub seconds: f64,
    pub conflicts: Option<u64>,
    /// The most that the process had, trace and model included.
    pub megabytes: f64,
    pub said: Said,
    /// The order that was found, if that was the question.
    pub schedule: Option<Schedule>,
}

/// An order of steps, with what memory was before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schedule {
    order: Vec<u32>,
    initial: Vec<(u32, u128)>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Said {
    /// So many variations, and none has fewer.
    Minimum(u32),
    /// The best by then, and what is proved.
    Gap {
        cost: u32,
        bound: u32,
        reason: String,
    },
    /// A core with so many members, none of them spare.
    Core(usize),
    /// A core by then, with so many members.
    LargerCore {
        members: usize,
        reason: String,
    },
    Schedule,
    /// There is none.
    None,
    GaveUp(String),
    /// An answer that is not so.
    Wrong(String),
}

impl Said {
    /// The question is answered.
    pub fn is_proved(&self) -> bool {
        matches!(self, Said::Minimum(_) | Said::Core(_) | Said::Schedule | Said::None)
    }

    /// Why it is not.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Said::Gap { reason, .. } | Said::LargerCore { reason, .. } | Said::GaveUp(reason) => {
                Some(reason)
            }
            _ => None,
        }
    }
}

/// Asks, and writes down what was said. The error is a sentence.
pub fn answer(one: &One) -> Result<(), String> {
    let subject = Subject::read(one)?;
    let mut seconds = Vec::new();
    let mut last = subject.ask(one)?;
    seconds.push(last.seconds);
    while last.seconds < SHORT && seconds.len() < TIMES {
        last = subject.ask(one)?;
        seconds.push(last.seconds);
    }
    let measured = Measured { seconds: median(seconds), megabytes: most_memory(), ..last };
    let text = serde_json::to_string(&measured).map_err(|error| error.to_string())?;
    write(&one.answer, &text)
}

/// Keeps an order for later questions.
pub fn keep(schedule: &Schedule, path: &Path) -> Result<(), String> {
    write(path, &serde_json::to_string(schedule).map_err(|error| error.to_string())?)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// What the question is about.
struct Subject {
    model: Model,
    /// The failing order; empty if it is asked for.
    near: Vec<StepId>,
}

impl Subject {
    fn read(one: &One) -> Result<Subject, String> {
        let file = TraceFile::read(&one.trace).map_err(|error| error.to_string())?;
        let symbolic = file.run.symbolic.ok_or("the trace has no symbolic part")?;
        let mut run = Generated { trace: file.run.trace, symbolic: *symbolic };
        let asked_for = one.question == Question::Failing;
        if asked_for && run.symbolic.order == KnownOrder::Observed {
            run = forget_order(&run).0;
        }
        let mut model = Model::new(&run.trace, &run.symbolic).map_err(|error| error.to_string())?;
        if asked_for {
            return Ok(Subject { model, near: Vec::new() });
        }
        let near = match &one.near {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
                let known: Schedule =
                    serde_json::from_str(&text).map_err(|error| error.to_string())?;
                known.initial.iter().for_each(|(cell, v)| model.set_initial(Cell(*cell), *v));
                known.order.into_iter().map(StepId).collect()
            }
            None => model.observed().ok_or("no failing order is known")?,
        };
        match Evaluator::new(&model).evaluate(&near) {
            Verdict::Fails { .. } => Ok(Subject { model, near }),
            other => Err(format!("the failing order does not fail: {other:?}")),
        }
    }

    fn ask(&self, one: &One) -> Result<Measured, String> {
        let limit = Duration::try_from_secs_f64(one.limit).map_err(|error| error.to_string())?;
        let bounds = Bounds { time: Some(limit), ..Bounds::default() };
        let near = Some(self.near.as_slice()).filter(|near| !near.is_empty());
        let mut query = Query { near, bounds, ..Query::new(&self.model, Wish::Passes) };
        if one.question == Question::Core {
            query.assume = self.model.conflicts_along(&self.near);
        }
        let mut solver = one.solver.make();
        let mut schedule = None;
        let started = Instant::now();
        let said = match one.question {
            Question::Alternate => self.alternate(solver.nearest(&query, DATA_FLOW)),
            Question::Core => core(&mut *solver, &query),
            Question::Failing => {
                query.wish = Wish::Fails;
                let found = solver.find(&query);
                schedule = match &found {
                    Answer::Yes(found) => Some(Schedule::of(found)),
                    _ => None,
                };
                self.failing(found)
            }
        };
        let seconds = started.elapsed().as_secs_f64();
        Ok(Measured { seconds, conflicts: solver.conflicts(), megabytes: 0.0, said, schedule })
    }

    fn alternate(&self, answer: Answer<Nearest>) -> Said {
        let passes = |order: &[StepId]| Evaluator::new(&self.model).evaluate(order);
        match answer {
            Answer::Yes(Nearest { order, cost, bound }) => match passes(&order) {
                Verdict::Passes if cost[0] == bound[0] => Said::Minimum(cost[0]),
                Verdict::Passes => Said::Wrong(format!("DF {} proved to be {}", cost[0], bound[0])),
                other => Said::Wrong(format!("the alternate does not pass: {other:?}")),
            },
            Answer::No => Said::None,
            Answer::Unknown { reason, best: Some(Nearest { order, cost, bound }) } => {
                match passes(&order) {
                    Verdict::Passes => Said::Gap { cost: cost[0], bound: bound[0], reason },
                    other => Said::Wrong(format!("the best by then does not pass: {other:?}")),
                }
            }
            Answer::Unknown { reason, best: None } => Said::GaveUp(reason),
        }
    }

    fn failing(&self, answer: Answer<Found>) -> Said {
        match answer {
            Answer::Yes(found) => {
                let mut model = self.model.clone();
                found.initial.iter().for_each(|(cell, value)| model.set_initial(*cell, *value));
                match Evaluator::new(&model).evaluate(&found.order) {
                    Verdict::Fails { .. } => Said::Schedule,
                    other => Said::Wrong(format!("the schedule does not fail: {other:?}")),
                }
            }
            Answer::No => Said::Wrong("there is a failing schedule".to_owned()),
            Answer::Unknown { reason, .. } => Said::GaveUp(reason),
        }
    }
}

fn core(solver: &mut dyn Solver, query: &Query<'_>) -> Said {
    match solver.minimal_core(query) {
        Answer::Yes(core) => Said::Core(core.len()),
        // All orders of the failing run make it that run.
        Answer::No => Said::Wrong("the failing run passes".to_owned()),
        Answer::Unknown { reason, best: Some(core) } => {
            Said::LargerCore { members: core.len(), reason }
        }
        Answer::Unknown { reason, best: None } => Said::GaveUp(reason),
    }
}

impl Schedule {
    fn of(found: &Found) -> Schedule {
        Schedule {
            order: found.order.iter().map(|step| step.0).collect(),
            initial: found.initial.iter().map(|(cell, value)| (cell.0, *value)).collect(),
        }
    }
}

/// The most memory this process had, in megabytes; 0 where the system does not say.
fn most_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}
