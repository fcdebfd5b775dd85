//! `unravel diagnose --timings`: what the stages of a diagnosis took, for benchmarks. One line of JSON on standard
//! error, so that the diagnosis itself says the same every time. Times are seconds.
//!
//! Also measured here, on the failing run that is reported: building its model, evaluating its whole order, and
//! evaluating it again after two neighbours in the middle have changed places.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use unravel_diagnose::Stage;
use unravel_results::{Effort, FlowsRecorded};
use unravel_solve::{Evaluator, Model, StepId};
use unravel_trace::{Schedule, Symbolic, ThreadId, Trace};

/// Each measurement is repeated until it has taken so long.
const ENOUGH: Duration = Duration::from_millis(20);

/// Notes when stages begin.
pub struct Stopwatch {
    began: Vec<(&'static str, Instant)>,
    evaluation: Map<String, Value>,
}

impl Stopwatch {
    /// Opening the program is the first stage.
    pub fn start() -> Stopwatch {
        Stopwatch { began: vec![("opening", Instant::now())], evaluation: Map::new() }
    }

    pub fn begin(&mut self, stage: Stage) {
        let name = match stage {
            Stage::Replaying => "replaying",
            Stage::SeekingFailing => "failing",
            Stage::Reducing => "reducing",
            Stage::SeekingAlternate => "alternate",
            Stage::SeekingCause => "cause",
        };
        self.began.push((name, Instant::now()));
    }

    /// The diagnosis is made; what follows is no part of it.
    pub fn stop(&mut self) {
        self.began.push(("end", Instant::now()));
    }

    /// Measures the model of a run and the evaluation of a schedule of it.
    pub fn evaluate(&mut self, trace: &Trace, symbolic: &Symbolic, failing: &Schedule) {
        self.evaluation.insert("conditions".into(), symbolic.conditions.len().into());
        let Ok(model) = Model::new(trace, symbolic) else { return };
        let order = order(&model, failing);
        let mut evaluator = Evaluator::new(&model);
        let whole = repeated(|| {
            evaluator.evaluate(&[]);
            black_box(evaluator.evaluate(&order));
        });
        let model_time = repeated(|| drop(black_box(Model::new(trace, symbolic))));
        self.evaluation.insert("model".into(), json!(model_time));
        self.evaluation.insert("evaluate".into(), json!(whole));
        let differ = |at: &usize| model.owner(order[*at]) != model.owner(order[at - 1]);
        if let Some(at) = (1..order.len().div_ceil(2)).rev().find(differ) {
            let mut order = order.clone();
            let again = repeated(|| {
                order.swap(at, at - 1);
                black_box(evaluator.evaluate(&order));
            });
            self.evaluation.insert("neighbour".into(), json!(again));
        }
    }

    /// What the tables of the papers compare besides.
    pub fn count(&mut self, effort: &Effort) {
        self.evaluation.insert("flows_given".into(), effort.flows_given.into());
        if let Some(recorded) = &effort.flows_recorded {
            let FlowsRecorded { differ, proved } = recorded;
            self.evaluation
                .insert("flows_recorded".into(), json!({ "differ": differ, "proved": proved }));
        }
    }

    /// Everything, as one line.
    pub fn report(self) -> Value {
        let mut report = self.evaluation;
        for pair in self.began.windows(2) {
            let [(name, from), (_, to)] = pair else { continue };
            report.insert((*name).into(), json!((*to - *from).as_secs_f64()));
        }
        if let (Some((_, first)), Some((_, last))) = (self.began.first(), self.began.last()) {
            report.insert("total".into(), json!((*last - *first).as_secs_f64()));
        }
        Value::Object(report)
    }
}

/// The steps that a schedule executes, then all others: blocked requests, and what comes after the failure.
fn order(model: &Model, schedule: &Schedule) -> Vec<StepId> {
    let mut order = Vec::with_capacity(model.len());
    let mut next = vec![0; model.threads()];
    let mut take = |thread: usize, count: usize, order: &mut Vec<StepId>| {
        let steps = model.thread_steps(ThreadId(thread as u32));
        let from: usize = next[thread];
        let to = steps.len().min(from.saturating_add(count));
        order.extend(&steps[from..to]);
        next[thread] = to;
    };
    for segment in &schedule.segments {
        if (segment.thread as usize) < model.threads() {
            take(segment.thread as usize, segment.events as usize, &mut order);
        }
    }
    for thread in 0..model.threads() {
        take(thread, usize::MAX, &mut order);
    }
    order
}

/// Seconds that one execution of `work` takes.
fn repeated(mut work: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut times = 0;
    while times == 0 || started.elapsed() < ENOUGH {
        work();
        times += 1;
    }
    started.elapsed().as_secs_f64() / f64::from(times)
}
