//! The world of the model: schedules are evaluated, not executed. Everything stays on the recorded path.

use rustc_hash::FxHashSet;
use unravel_execute::Limit;
use unravel_results::Observed;
use unravel_solve::{Evaluator, Model, StepId, StepKind, Verdict};
use unravel_trace::{
    Counter, Detail, EventKind, Exprs, Key, Keys, Outcome, Schedule, Segment, SiteId, SymbolId,
    Symbolic, Trace, Value, VisibleSet,
};

use crate::execution::extents;
use crate::points::{Extents, Point, Touch};
use crate::relevance::Relevance;
use crate::steer::{Orders, Positions};
use crate::world::{Ending, Mode, Order, Tried, World};

/// Tries schedules by evaluating them.
pub struct Modelled<'m> {
    model: &'m Model,
    trace: &'m Trace,
    symbolic: &'m Symbolic,
    visible: VisibleSet,
    evaluator: Evaluator<'m>,
    keys: Keys,
    /// By step.
    points: Vec<Point>,
    failing: Vec<Point>,
    order: Vec<StepId>,
    positions: Positions,
    /// By step: its place in the failing order.
    places: Vec<u32>,
    extents: Extents,
    relevance: Relevance,
    evaluated: u64,
    budget: u64,
    limit: Limit<'m>,
}

impl<'m> Modelled<'m> {
    /// `order` is the failing schedule. At most `budget` steps are evaluated.
    pub fn new(
        model: &'m Model,
        trace: &'m Trace,
        symbolic: &'m Symbolic,
        order: Vec<StepId>,
        visible: VisibleSet,
        budget: u64,
    ) -> Modelled<'m> {
        let mut keys = Keys::default();
        let mut extents = extents(trace);
        let points = points(model, trace, symbolic, &mut keys, &mut extents);
        let failing: Vec<Point> = order.iter().map(|s| points[s.index()]).collect();
        let mut places = vec![0; model.len()];
        for (place, step) in order.iter().enumerate() {
            places[step.index()] = place as u32;
        }
        let mut evaluator = Evaluator::new(model);
        evaluator.evaluate(&order);
        let relevance = Relevance::new(model, &order);
        Modelled {
            evaluator,
            relevance,
            model,
            trace,
            symbolic,
            visible,
            positions: Positions::new(&failing),
            keys,
            points,
            failing,
            order,
            places,
            extents,
            evaluated: 0,
            budget,
            limit: Limit::default(),
        }
    }

    /// Nothing new is tried then.
    #[must_use]
    pub fn until(mut self, limit: Limit<'m>) -> Self {
        self.limit = limit;
        self
    }

    /// Orders evaluated so far.
    pub fn evaluated(&self) -> u64 {
        self.evaluated
    }

    /// The failing order.
    pub fn order(&self) -> &[StepId] {
        &self.order
    }

    /// The point of a step.
    pub fn key(&self, step: StepId) -> Key {
        self.points[step.index()].key
    }

    /// Where a step is in the failing order.
    pub fn place(&self, step: StepId) -> usize {
        self.places[step.index()] as usize
    }

    /// The step of a point.
    pub fn step(&self, key: Key) -> Option<StepId> {
        Some(self.order[self.positions.get(key)? as usize])
    }

    /// What happens if the steps are executed in this order; `None` if it does not pass.
    pub fn observe_order(&mut self, order: &[StepId]) -> Option<Observed> {
        self.evaluated += 1;
        if self.evaluator.evaluate(order) != Verdict::Passes {
            return None;
        }
        let performed = self.evaluator.performed().to_vec();
        let choices = self.evaluator.choices().to_vec();
        let schedule = schedule(self.model, self.trace, &performed, choices, &self.visible);
        let trace = reordered(self.model, self.trace, self.symbolic, &self.evaluator, &performed);
        Some(Observed { trace, schedule, outcome: Outcome::Exited { code: 0 } })
    }

    /// What was evaluated last.
    fn tried(&self, ending: Ending) -> Tried {
        let performed = self.evaluator.performed();
        let mut points: Vec<Point> = performed.iter().map(|s| self.points[s.index()]).collect();
        if self.model.is_deadlock() && ending == Ending::Passed {
            // Evaluation ends where a request is granted; what threads did not do yet they do after that.
            let done: FxHashSet<StepId> = performed.iter().copied().collect();
            let to_come = self.order.iter().filter(|s| !done.contains(s));
            let to_come = to_come.filter(|s| !self.model.is_request(**s));
            points.extend(to_come.map(|s| self.points[s.index()]));
        }
        let choices = self.evaluator.choices().to_vec();
        let schedule = schedule(self.model, self.trace, performed, choices, &self.visible);
        Tried { points, ending, schedule }
    }

    /// The steps that a schedule executes, then all others: requests that are due, and the rest as it was.
    fn order_of(&self, schedule: &Schedule) -> Vec<StepId> {
        let mut next = vec![0usize; self.model.threads()];
        let mut order = Vec::with_capacity(self.model.len());
        for segment in &schedule.segments {
            let steps = self.model.thread_steps(unravel_trace::ThreadId(segment.thread));
            let from = next[segment.thread as usize];
            let to = (from + segment.events as usize).min(steps.len());
            order.extend(&steps[from..to]);
            next[segment.thread as usize] = to;
        }
        let (due, rest): (Vec<StepId>, Vec<StepId>) = self
            .order
            .iter()
            .filter(|s| self.model.place(**s) >= next[self.model.owner(**s).index()])
            .partition(|s| {
                let at = next[self.model.owner(**s).index()];
                self.model.is_request(**s) && self.model.place(**s) == at
            });
        [order, due, rest].concat()
    }

    fn simulate(&mut self, orders: &[Order], mode: Mode) -> Ending {
        let held = Orders::new(orders);
        let mut executed = vec![false; self.keys.len()];
        let mut next = vec![0usize; self.model.threads()];
        let mut rng = mode.rng();
        // Nothing differs before the first point that has to wait.
        let same = if matches!(mode, Mode::Follow | Mode::Patient) {
            let first = orders.iter().filter_map(|(_, second)| self.positions.get(*second)).min();
            first.unwrap_or(self.order.len() as u32) as usize
        } else {
            0
        };
        let verdict = self.evaluator.evaluate(&self.order[..same]);
        if same > 0 && verdict != Verdict::Passes {
            return ending(verdict);
        }
        for step in &self.order[..same] {
            executed[self.points[step.index()].key.0 as usize] = true;
            next[self.model.owner(*step).index()] += 1;
        }
        self.budget = self.budget.saturating_sub((self.order.len() - same) as u64);
        let mut current = None;
        loop {
            let mut options: Vec<StepId> = Vec::new();
            for (thread, done) in next.iter().enumerate() {
                let steps = self.model.thread_steps(unravel_trace::ThreadId(thread as u32));
                if let Some(step) = steps.get(*done)
                    && !held.hold(self.points[step.index()].key, &executed)
                {
                    options.push(*step);
                }
            }
            options.sort_by_key(|step| self.places[step.index()]);
            self.arrange(&mut options, mode, &mut rng, current);
            let mut went_on = false;
            for step in options {
                match self.evaluator.push(step) {
                    None => {
                        executed[self.points[step.index()].key.0 as usize] = true;
                        let owner = self.model.owner(step);
                        next[owner.index()] += 1;
                        current = Some(owner);
                        went_on = true;
                        break;
                    }
                    Some(Verdict::Blocked { .. }) => self.evaluator.pop(),
                    Some(verdict) => return ending(verdict),
                }
            }
            if !went_on {
                let all = next.iter().sum::<usize>() == self.model.len();
                return if all { ending(self.evaluator.verdict()) } else { Ending::Unknown };
            }
        }
    }

    fn arrange(
        &self,
        options: &mut [StepId],
        mode: Mode,
        rng: &mut unravel_trace::Rng,
        current: Option<unravel_trace::ThreadId>,
    ) {
        if options.len() < 2 {
            return;
        }
        let at_random = match mode {
            Mode::Follow | Mode::Patient => false,
            Mode::Wander { leave, of, .. } => rng.below(of) < leave,
            Mode::Random { stay, .. } => {
                let staying = options.iter().position(|s| Some(self.model.owner(*s)) == current);
                if let Some(at) = staying
                    && rng.below(100) < stay
                {
                    options[..=at].rotate_right(1);
                    return;
                }
                true
            }
        };
        if at_random {
            let at = rng.below(options.len() as u32) as usize;
            options[..=at].rotate_right(1);
        }
    }
}

fn ending(verdict: Verdict) -> Ending {
    match verdict {
        Verdict::Passes => Ending::Passed,
        Verdict::Fails { .. } => Ending::Failed,
        Verdict::Blocked { .. } | Verdict::Leaves { .. } => Ending::Unknown,
    }
}

impl World for Modelled<'_> {
    fn keys(&self) -> &Keys {
        &self.keys
    }

    fn failing(&self) -> &[Point] {
        &self.failing
    }

    fn end(&self) -> usize {
        let bug = self.model.bug_step().map(|step| self.places[step.index()] as usize + 1);
        bug.unwrap_or(self.failing.len())
    }

    fn relevance(&self) -> &Relevance {
        &self.relevance
    }

    fn extents(&self) -> &Extents {
        &self.extents
    }

    fn steer(&mut self, orders: &[Order], mode: Mode) -> Tried {
        self.evaluated += 1;
        let ending = self.simulate(orders, mode);
        self.tried(ending)
    }

    fn replay(&mut self, schedule: &Schedule) -> Tried {
        self.evaluated += 1;
        let order = self.order_of(schedule);
        let ending = ending(self.evaluator.evaluate(&order));
        self.tried(ending)
    }

    fn observe(&mut self, tried: &Tried, _: Detail) -> Option<Observed> {
        let performed: Vec<StepId> = self.evaluator.performed().to_vec();
        debug_assert!(performed.len() <= tried.points.len(), "only the last schedule is kept");
        let trace = reordered(self.model, self.trace, self.symbolic, &self.evaluator, &performed);
        let outcome = Outcome::Exited { code: 0 };
        Some(Observed { trace, schedule: tried.schedule.clone(), outcome })
    }

    fn may_go_on(&self) -> bool {
        self.budget > 0 && self.limit.may_go_on()
    }
}

fn points(
    model: &Model,
    trace: &Trace,
    symbolic: &Symbolic,
    keys: &mut Keys,
    extents: &mut Extents,
) -> Vec<Point> {
    let mut counter = Counter::default();
    let requests = match &symbolic.bug {
        unravel_trace::Bug::Deadlock { requests } => &requests[..],
        _ => &[],
    };
    model
        .steps()
        .map(|step| {
            let thread = keys.thread(&trace.threads[model.owner(step).index()]);
            let events = match model.kind(step) {
                StepKind::Executed => &trace.events[symbolic.steps[step.index()].range()],
                StepKind::Request => &[],
            };
            let request = step.index().checked_sub(symbolic.steps.len()).map(|i| requests[i]);
            // Steps without events all count as one site of their thread.
            let site = events.first().map(|e| e.site).or(request.map(|r| r.site));
            let site = site.unwrap_or(SiteId(u32::MAX));
            let occurrence = counter.advance(thread, site);
            let key = keys.key(thread, site, occurrence);
            let touch = match request {
                Some(request) => request_touch(trace, &request, extents),
                None => extents.touch(trace, events),
            };
            Point { key, thread, touch }
        })
        .collect()
}

fn request_touch(trace: &Trace, request: &unravel_trace::Request, extents: &mut Extents) -> Touch {
    use unravel_trace::Role;
    use unravel_trace::Wants;
    let sync = |at, role| Touch::Sync { address: trace.address(at), role };
    match request.wants {
        Wants::Wake { at, mutex } => {
            extents.combined(vec![sync(at, Role::Acquire), sync(mutex, Role::Acquire)])
        }
        Wants::Lock { at, shared: false }
        | Wants::Semaphore { at }
        | Wants::Barrier { at }
        | Wants::Once { at } => sync(at, Role::Acquire),
        Wants::Lock { at, shared: true } => sync(at, Role::AcquireShared),
        Wants::Join { .. } | Wants::Other => Touch::Nothing,
    }
}

/// The schedule that executes steps in this order. Requests that were not granted are not part of it.
pub fn schedule(
    model: &Model,
    trace: &Trace,
    order: &[StepId],
    choices: Vec<u32>,
    visible: &VisibleSet,
) -> Schedule {
    let mut segments: Vec<Segment> = Vec::new();
    for step in order.iter().filter(|s| !model.is_request(**s)) {
        let thread = model.owner(*step).0;
        match segments.last_mut() {
            Some(last) if last.thread == thread => last.events += 1,
            _ => segments.push(Segment { thread, events: 1 }),
        }
    }
    Schedule { threads: trace.threads.clone(), segments, choices, visible: visible.clone() }
}

/// The trace of a run with its steps in another order, with the values that the evaluator found; what it did not
/// execute keeps those that were recorded.
pub fn reordered(
    model: &Model,
    trace: &Trace,
    symbolic: &Symbolic,
    evaluator: &Evaluator<'_>,
    order: &[StepId],
) -> Trace {
    let mut result = trace.clone();
    result.events.clear();
    let executed: FxHashSet<StepId> = evaluator.performed().iter().copied().collect();
    for step in order.iter().filter(|s| !model.is_request(**s)) {
        for index in symbolic.steps[step.index()].range() {
            let mut event = trace.events[index].clone();
            if executed.contains(step) {
                revalue(&mut event.kind, index, symbolic, evaluator);
            }
            result.events.push(event);
        }
    }
    result
}

/// Gives an event the values it has in the evaluated order.
fn revalue(kind: &mut EventKind, index: usize, symbolic: &Symbolic, evaluator: &Evaluator<'_>) {
    let shadow = symbolic.shadows[index];
    let accesses = &symbolic.accesses[shadow.first as usize..];
    let symbols = |symbol: SymbolId| evaluator.value(symbol);
    let value = |access: &unravel_trace::Access, exprs: &Exprs| {
        Value::Word(exprs.evaluate(access.value, &symbols) as u64)
    };
    let read =
        (shadow.reads > 0 && accesses[0].bytes <= 8).then(|| value(&accesses[0], &symbolic.exprs));
    let written = (shadow.writes > 0 && accesses[shadow.reads as usize].bytes <= 8)
        .then(|| value(&accesses[shadow.reads as usize], &symbolic.exprs));
    match kind {
        EventKind::Read { value, .. } => *value = read.unwrap_or(value.clone()),
        EventKind::Write { value, .. } => *value = written.unwrap_or(value.clone()),
        EventKind::ReadModifyWrite { old, new, .. } => {
            *old = read.unwrap_or(old.clone());
            *new = written.unwrap_or(new.clone());
        }
        _ => {}
    }
}
