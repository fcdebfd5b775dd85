//! Asking Z3: find, core, nearest, and the same as a file.
//!
//! Every query has a context of its own, so that neither terms nor limits of one are left to the next. Its bounds:
//! `time` is Z3's `timeout`, `conflicts` its `max_conflicts`, and for optimisation, which has no such limit,
//! `rlimit` at [`RESOURCES_PER_CONFLICT`]: as repeatable, but another unit.

use std::ffi::CStr;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::answer::{self, Value};
use super::library::{Context, Decider, LibraryError, Optimizer, Setting, Status, TUNING, version};
use crate::budgets::RESOURCES_PER_CONFLICT;
use crate::constraints::NoEncoding;
use crate::measure::measured;
use crate::smt::encode::assumption_name;
use crate::smt::memory::initial_name;
use crate::smt::{Encoding, Question, encode};
use crate::{Answer, Bounds, Cell, Found, Goal, Nearest, Query, Solver, StepId};

/// How Z3 optimises: by cores, or by branch and bound. The paper found the second better for sums; here the first
/// is for both goals, three times over at 300 steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    #[default]
    MaxRes,
    WMax,
}

impl Engine {
    fn word(self) -> &'static str {
        match self {
            Engine::MaxRes => "maxres",
            Engine::WMax => "wmax",
        }
    }
}

/// The system's Z3.
#[derive(Clone, Debug, Default)]
pub struct Z3 {
    pub engine: Engine,
}

impl Solver for Z3 {
    fn name(&self) -> String {
        format!("Z3 {}", version())
    }

    fn proves_up_to(&self) -> usize {
        250
    }

    fn find(&mut self, query: &Query<'_>) -> Answer<Found> {
        let asked = self.ask(query, Question::Find);
        asked.unwrap_or_else(unknown)
    }

    fn core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        self.ask_core(query).unwrap_or_else(unknown)
    }

    fn nearest(&mut self, query: &Query<'_>, goal: Goal) -> Answer<Nearest> {
        self.ask_nearest(query, goal).unwrap_or_else(unknown)
    }
}

/// Why there is no answer.
struct Why(String);

impl From<LibraryError> for Why {
    fn from(error: LibraryError) -> Why {
        Why(error.to_string())
    }
}

impl From<NoEncoding> for Why {
    fn from(error: NoEncoding) -> Why {
        Why(format!("no encoding for {error}"))
    }
}

fn unknown<T>(why: Why) -> Answer<T> {
    Answer::Unknown { reason: why.0, best: None }
}

impl Z3 {
    pub fn new() -> Z3 {
        Z3::default()
    }

    /// The query as a complete SMT-LIB 2 file: what is sent to the library, with the options and commands that make
    /// the program `z3` do the same. `goal`: of [`Solver::nearest`]; else a query with assumptions is one for a
    /// core. Says so if there is no encoding.
    pub fn dump(&self, query: &Query<'_>, goal: Option<Goal>) -> String {
        let question = match goal {
            Some(goal) => Question::Nearest(goal),
            None if query.assume.is_empty() => Question::Find,
            None => Question::Core,
        };
        let encoding = match encode(query, question) {
            Ok(encoding) => encoding,
            Err(error) => return format!("; no encoding for {error}\n"),
        };
        let mut text = String::new();
        let _ =
            writeln!(text, "; {question:?}, wish {:?}, {} steps", query.wish, query.model.len());
        for (name, value) in TUNING {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            let _ = writeln!(text, "(set-option :{name} {value})");
        }
        for setting in self.settings(&query.bounds, question) {
            let (name, value) = match setting {
                Setting::Number(name, value) => (name, value.to_string()),
                Setting::Word(name, value) => (name, value.to_owned()),
            };
            let module = match (name, question) {
                ("timeout" | "rlimit", _) => "",
                (_, Question::Nearest(_)) => "opt.",
                _ => "smt.",
            };
            let _ = writeln!(text, "(set-option :{module}{name} {value})");
        }
        if question == Question::Core {
            text.push_str("(set-option :produce-unsat-cores true)\n");
        }
        text.push_str(&encoding.text);
        match question {
            Question::Find => text.push_str("(check-sat)\n(get-model)\n"),
            Question::Nearest(_) => text.push_str("(check-sat)\n(get-objectives)\n(get-model)\n"),
            Question::Core => {
                let assumed: Vec<String> = (0..query.assume.len()).map(assumption_name).collect();
                let _ = writeln!(text, "(check-sat-assuming ({}))", assumed.join(" "));
                text.push_str("(get-unsat-core)\n");
            }
        }
        text
    }

    fn settings(&self, bounds: &Bounds<'_>, question: Question) -> Vec<Setting> {
        let mut settings = Vec::new();
        if let Some(time) = bounds.time {
            let milliseconds = u32::try_from(time.as_millis()).unwrap_or(u32::MAX).max(1);
            settings.push(Setting::Number("timeout", milliseconds));
        }
        let limited = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        match question {
            Question::Nearest(_) => {
                if let Some(conflicts) = bounds.conflicts {
                    let resources = limited(conflicts.saturating_mul(RESOURCES_PER_CONFLICT));
                    settings.push(Setting::Number("rlimit", resources.max(1)));
                }
                settings.push(Setting::Word("maxsat_engine", self.engine.word()));
            }
            Question::Find | Question::Core => {
                if let Some(conflicts) = bounds.conflicts {
                    settings.push(Setting::Number("max_conflicts", limited(conflicts)));
                }
            }
        }
        settings
    }

    fn ask(&self, query: &Query<'_>, question: Question) -> Result<Answer<Found>, Why> {
        let encoding = encode(query, question)?;
        let context = Context::new(&[])?;
        let mut decider = Decider::new(&context, &self.settings(&query.bounds, question))?;
        decider.read(&encoding.text)?;
        let start = Instant::now();
        Ok(match decider.check(&[], query.bounds.interrupt)? {
            Status::Unsatisfiable => Answer::No,
            Status::Unknown => Answer::Unknown {
                reason: stopped(&query.bounds, start, &decider.reason()),
                best: None,
            },
            Status::Satisfiable => match decider.model() {
                Some(model) => Answer::Yes(found(query, &encoding, &model)),
                None => Answer::Unknown { reason: "Z3 gave no model".to_owned(), best: None },
            },
        })
    }

    fn ask_core(&self, query: &Query<'_>) -> Result<Answer<Vec<usize>>, Why> {
        let encoding = encode(query, Question::Core)?;
        let context = Context::new(CORES)?;
        let settings = self.settings(&query.bounds, Question::Core);
        let mut decider = Decider::new(&context, &settings)?;
        decider.read(&encoding.text)?;
        let start = Instant::now();
        let assumed: Vec<String> = (0..query.assume.len()).map(assumption_name).collect();
        Ok(match decider.check(&assumed, query.bounds.interrupt)? {
            Status::Satisfiable => Answer::No,
            Status::Unknown => Answer::Unknown {
                reason: stopped(&query.bounds, start, &decider.reason()),
                best: None,
            },
            Status::Unsatisfiable => {
                let names = answer::names(&decider.core());
                let in_core = |index: &usize| names.contains(&assumed[*index]);
                Answer::Yes((0..assumed.len()).filter(in_core).collect())
            }
        })
    }

    fn ask_nearest(&self, query: &Query<'_>, goal: Goal) -> Result<Answer<Nearest>, Why> {
        let question = Question::Nearest(goal);
        let encoding = encode(query, question)?;
        let near = query.near.unwrap_or_default();
        let context = Context::new(&[])?;
        let mut optimizer = Optimizer::new(&context, &self.settings(&query.bounds, question))?;
        optimizer.read(&encoding.text)?;
        let start = Instant::now();
        let status = optimizer.check(query.bounds.interrupt);
        if status == Status::Unsatisfiable {
            return Ok(Answer::No);
        }
        let reason = stopped(&query.bounds, start, &optimizer.reason());
        let lower = answer::number(&optimizer.lower_bound());
        let lower = lower.and_then(|lower| u64::try_from(lower).ok()).unwrap_or(0);
        let bound = match goal {
            Goal::Lexicographic => digits(lower, encoding.weights),
            Goal::Sum(_) => [u32::try_from(lower).unwrap_or(u32::MAX), 0, 0],
        };
        let model = optimizer.model();
        let best = model.and_then(|model| measured(query, near, found(query, &encoding, &model)));
        let best = best.map(|(order, cost)| Nearest { order, cost, bound });
        Ok(match (status, best) {
            (Status::Satisfiable, Some(best)) => Answer::Yes(best),
            (Status::Satisfiable, None) => {
                let reason = "Z3's answer is no order that ends as wished".to_owned();
                Answer::Unknown { reason, best: None }
            }
            (_, best) => Answer::Unknown { reason, best },
        })
    }
}

/// A weighted sum taken apart, where each weight is more than all that comes after it.
fn digits(sum: u64, weights: [u64; 3]) -> [u32; 3] {
    let [data_flow, segments, _] = weights.map(|weight| weight.max(1));
    let digits = [sum / data_flow, sum % data_flow / segments, sum % data_flow % segments];
    digits.map(|digit| u32::try_from(digit).unwrap_or(u32::MAX))
}

pub(super) const CORES: &[(&CStr, &CStr)] = &[(c"unsat_core", c"true")];

/// Why a check that began then came to no end, in words. Z3's own are "canceled" or "unknown" for most bounds.
fn stopped(bounds: &Bounds<'_>, start: Instant, reason: &str) -> String {
    let interrupted = bounds.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
    if reason.contains("incomplete") {
        format!("Z3 gave up: {reason}")
    } else if interrupted {
        "Z3 was interrupted".to_owned()
    } else if bounds.time.is_some_and(|time| start.elapsed() >= time) {
        "Z3 reached the time limit".to_owned()
    } else if bounds.conflicts.is_some() {
        "Z3 reached the limit of conflicts".to_owned()
    } else {
        format!("Z3 gave up: {reason}")
    }
}

/// The order that a model stands for; where steps have one place, as in `near`.
fn found(query: &Query<'_>, encoding: &Encoding, model: &str) -> Found {
    let steps = query.model.len();
    let mut place = vec![0; steps];
    let mut initial: Vec<(Cell, u128)> = encoding.initial.iter().map(|cell| (*cell, 0)).collect();
    for (name, value) in answer::model(model) {
        match value {
            Value::Number(number) => {
                let step = name.strip_prefix('o').and_then(|index| index.parse::<usize>().ok());
                if let Some(step) = step.filter(|step| *step < steps) {
                    place[step] = number;
                }
            }
            Value::Bits(bits) => {
                if let Some(entry) = initial.iter_mut().find(|(c, _)| initial_name(*c) == name) {
                    entry.1 = bits;
                }
            }
            Value::Bool(_) => {}
        }
    }
    let mut order: Vec<StepId> = match query.near {
        Some(near) => near.to_vec(),
        None => query.model.steps().collect(),
    };
    order.sort_by_key(|step| place[step.index()]);
    Found { order, initial }
}
