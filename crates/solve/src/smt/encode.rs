//! The encoding as a whole: order variables, program order, and the families of constraints one after the other.
//!
//! Program order, forks and joins hold for all steps: `o1 < o2` for two steps of a thread, `fork < start`,
//! `exit < join`. All else holds for steps that are executed. Where a run ends early, at its failure, steps after
//! the end are free: see [`super::wishes`].

use unravel_trace::{Bug, Node};

use super::expressions::Expressions;
use super::text::{Formula, Script};
use super::wishes::End;
use crate::{Before, Cell, Goal, Model, Op, Query, Source, StepId, Wish};

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    Find,
    Core,
    Nearest(Goal),
}

/// The query has no encoding; why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoEncoding(pub String);

/// A query as text.
#[derive(Clone, Debug)]
pub(crate) struct Encoding {
    /// Declarations and assertions, without options and without a command that checks them.
    pub text: String,
    /// Cells whose unknown initial value matters: the constants `i<cell>`.
    pub initial: Vec<Cell>,
    /// What a violation of each criterion weighs.
    pub weights: [u64; 3],
}

pub(crate) fn encode(query: &Query<'_>, question: Question) -> Result<Encoding, NoEncoding> {
    let mut encoder = Encoder::new(query)?;
    encoder.order();
    encoder.kept(query);
    if question == Question::Core {
        encoder.assumed(&query.assume);
    }
    encoder.memory();
    encoder.locks()?;
    encoder.waits();
    encoder.counts()?;
    encoder.once();
    encoder.wish()?;
    let mut weights = [0; 3];
    if let Question::Nearest(goal) = question {
        let near = query.near.ok_or(NoEncoding("there is no schedule to be near to".to_owned()))?;
        weights = encoder.nearness(near, goal);
    }
    Ok(Encoding { text: encoder.script.text, initial: encoder.initial, weights })
}

/// An op at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Point {
    pub step: StepId,
    /// Index of its op among all ops of the model.
    pub position: u32,
}

/// Builds the text.
#[derive(Debug)]
pub(crate) struct Encoder<'q> {
    pub model: &'q Model,
    pub wish: Wish,
    pub script: Script,
    pub end: End,
    pub expressions: Expressions<'q>,
    /// By sync object: what executed steps do with it.
    pub uses: Vec<Vec<(Point, Op)>>,
    /// The ops of requests.
    pub requests: Vec<(Point, Op)>,
    /// By slot: it matters which value it has.
    pub relevant: Vec<bool>,
    /// By slot: its candidates, each with the formula that says it is the source.
    pub sources: Vec<Vec<(Source, Formula)>>,
    pub initial: Vec<Cell>,
}

impl<'q> Encoder<'q> {
    fn new(query: &Query<'q>) -> Result<Encoder<'q>, NoEncoding> {
        let model = query.model;
        let mut uses = vec![Vec::new(); model.syncs().len()];
        let mut requests = Vec::new();
        for step in model.steps() {
            for position in model.op_range(step) {
                let (op, point) = (model.ops[position], Point { step, position: position as u32 });
                if model.is_request(step) {
                    requests.push((point, op));
                } else if let Some(sync) = op.sync() {
                    uses[sync.index()].push((point, op));
                }
            }
        }
        Ok(Encoder {
            model,
            wish: query.wish,
            script: Script::default(),
            end: End::of(model, query.wish),
            expressions: Expressions::new(model.exprs()),
            uses,
            requests,
            relevant: vec![false; model.reads().len()],
            sources: vec![Vec::new(); model.reads().len()],
            initial: Vec::new(),
        })
    }

    /// `a` is executed before `b`.
    pub fn before(&self, a: StepId, b: StepId) -> Formula {
        if a == b || self.model.must_precede(b, a) {
            Formula::False
        } else if self.model.must_precede(a, b) {
            Formula::True
        } else {
            Formula::Text(format!("(< o{} o{})", a.0, b.0))
        }
    }

    /// The same for ops: those of one step are in the order of its program.
    pub fn ahead(&self, a: Point, b: Point) -> Formula {
        if a.step == b.step {
            Formula::known(a.position < b.position)
        } else {
            self.before(a.step, b.step)
        }
    }

    /// The op is after the end, or this holds.
    pub fn require(&mut self, at: Point, formula: Formula) {
        let formula = Formula::or([self.after_end(at), formula]);
        self.script.assert(&formula);
    }

    fn order(&mut self) {
        let model = self.model;
        self.script.comment("places of steps, program order, forks and joins");
        for step in model.steps() {
            self.script.declare(&format!("o{}", step.0), "Int");
        }
        if self.end == End::Grant {
            self.script.declare("end", "Int");
        }
        let mut forks = vec![None; model.threads()];
        let mut exits = vec![None; model.threads()];
        for step in model.steps() {
            for op in model.program(step) {
                match *op {
                    Op::Fork { child } => forks[child.index()] = Some(step),
                    Op::Exit => exits[model.owner(step).index()] = Some(step),
                    _ => {}
                }
            }
        }
        for step in model.steps() {
            if let Some(next) = model.thread_steps(model.owner(step)).get(model.place(step) + 1) {
                self.place_before(step, *next);
            }
            if model.is_request(step) {
                continue;
            }
            for op in model.program(step) {
                let cause = match *op {
                    Op::Start => forks[model.owner(step).index()],
                    Op::Join { child } => exits[child.index()],
                    _ => None,
                };
                if let Some(cause) = cause {
                    self.place_before(cause, step);
                }
            }
        }
    }

    /// Asserts an order that [`Encoder::before`] may already rely on.
    fn place_before(&mut self, a: StepId, b: StepId) {
        self.script.assert(&Formula::Text(format!("(< o{} o{})", a.0, b.0)));
    }

    fn kept(&mut self, query: &Query<'_>) {
        self.script.comment("orders that are kept");
        for kept in &query.keep {
            let formula = self.before(kept.first, kept.second);
            self.script.assert(&formula);
        }
        if let (Some(near), Some(free)) = (query.near, &query.free) {
            let mut may_move = vec![false; self.model.len()];
            free.iter().for_each(|step| may_move[step.index()] = true);
            let fixed: Vec<StepId> =
                near.iter().copied().filter(|step| !may_move[step.index()]).collect();
            for pair in fixed.windows(2) {
                let formula = self.before(pair[0], pair[1]);
                self.script.assert(&formula);
            }
        }
    }

    fn assumed(&mut self, assumptions: &[Before]) {
        self.script.comment("assumptions");
        for (index, order) in assumptions.iter().enumerate() {
            let formula = self.before(order.first, order.second);
            let name = assumption_name(index);
            self.script.declare(&name, "Bool");
            self.script.assert(&Formula::Text(format!("(=> {name} {formula})")));
        }
    }

    /// Marks the reads on which conditions and the bug depend, through writes too.
    pub fn mark_relevant(&mut self) {
        let model = self.model;
        let mut seen = vec![false; model.exprs().len()];
        let mut todo: Vec<_> = model.checks().iter().map(|check| check.holds).collect();
        if let Bug::Condition { fails, .. } = model.bug() {
            todo.push(*fails);
        }
        while let Some(next) = todo.pop() {
            if std::mem::replace(&mut seen[next.index()], true) {
                continue;
            }
            match model.exprs().node(next) {
                Node::Symbol(symbol) => {
                    for slot in model.slots_of(symbol) {
                        self.relevant[slot as usize] = true;
                        for source in model.candidates(crate::SlotId(slot)) {
                            if let Source::Write(write) = source {
                                todo.push(model.write(write).value);
                            }
                        }
                    }
                }
                node => node.operands(|of| todo.push(of)),
            }
        }
    }
}

pub(crate) fn assumption_name(index: usize) -> String {
    format!("a{index}")
}
