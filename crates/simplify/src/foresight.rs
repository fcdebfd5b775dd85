//! How a candidate would end, evaluated on the symbolic trace instead of executed.
//!
//! The recorded steps are walked as [`crate::tolerant`] would execute them: a turn that cannot go on is skipped, after the
//! last one everything runs on without preemption. As long as all threads stay on their recorded paths that is what
//! execution would do. A thread that leaves its path, or might (a trylock or a timeout that would go the other way), makes it
//! unknown: then the candidate is executed.
//!
//! It errs where a run would fail only after the recorded steps end: that is taken for "does not fail", and costs a candidate.
//! What it says to fail is executed before it is claimed.
//!
//! Tinertia executes every variant of a trace; this is what saves most of these executions.

use unravel_solve::{Evaluator, Model, Op, StepId, Verdict};
use unravel_trace::{Bug, EventKind, Run, ThreadId};

use crate::course::{AS_FAR_AS_IT_CAN, Candidate, Course, Turn};

/// A failing run's model, with what else is needed to walk it.
#[derive(Debug)]
pub(crate) struct Modelled {
    model: Model,
    /// By step: it gives up the thread's turn.
    yields: Vec<bool>,
    /// By step: its thread ends with it.
    exits: Vec<bool>,
    /// Steps of the run up to where the failure is decided, which may be before it shows.
    pub decided: usize,
}

impl Modelled {
    /// The model of a run with this course; `None` if it does not say of it what execution said.
    pub fn new(run: &Run, course: &Course) -> Option<Modelled> {
        let symbolic = run.symbolic.as_ref()?;
        if symbolic.bug == Bug::Opaque {
            return None;
        }
        let model = Model::new(&run.trace, symbolic).ok()?;
        let executed = |thread: usize| {
            let steps = model.thread_steps(ThreadId(thread as u32));
            steps.iter().filter(|step| !model.is_request(**step)).count()
        };
        let fits = (0..course.points.len()).all(|t| executed(t) == course.points[t].len());
        let observed = model.observed()?;
        let mut evaluator = Evaluator::new(&model);
        if !fits || !matches!(evaluator.evaluate(&observed), Verdict::Fails { .. }) {
            return None;
        }
        let decided = evaluator.performed().len();
        let has = |step: StepId, is: fn(&EventKind) -> bool| {
            let events = model.events_of(step);
            events.clone().any(|event| is(&run.trace.events[event as usize].kind))
        };
        let yields = model.steps().map(|s| has(s, |k| matches!(k, EventKind::Yield))).collect();
        let exits = model.steps().map(|s| has(s, |k| matches!(k, EventKind::Exit))).collect();
        Some(Modelled { model, yields, exits, decided })
    }
}

/// What is foreseen of a candidate.
#[derive(Debug)]
pub(crate) enum Foreseen {
    /// It fails as the run did, in this course.
    Fails(Course),
    /// It does not. `reached`: how far the first turn that differs got, if it was stopped.
    Not { reached: Option<u32> },
    /// A thread leaves its recorded path.
    Unknown,
}

/// Evaluates candidates, each only from where it differs from the last.
#[derive(Debug)]
pub(crate) struct Foresight<'m> {
    modelled: &'m Modelled,
    evaluator: Evaluator<'m>,
    /// What is pushed.
    order: Vec<StepId>,
    /// Steps evaluated.
    pub walked: u64,
}

impl<'m> Foresight<'m> {
    pub fn new(modelled: &'m Modelled) -> Foresight<'m> {
        let evaluator = Evaluator::new(&modelled.model);
        Foresight { modelled, evaluator, order: Vec::new(), walked: 0 }
    }

    pub fn foresee(&mut self, course: &Course, candidate: &Candidate) -> Foreseen {
        if self.modelled.model.is_deadlock() {
            return self.deadlock(course, candidate);
        }
        let prefix = self.steps_of(course, &candidate.turns[..candidate.same]);
        self.rewind(&prefix);
        let mut walk = Walk::new(course);
        for turn in &candidate.turns[..candidate.same] {
            walk.done[turn.thread] = turn.upto;
            walk.turns.push(*turn);
        }
        walk.forced = course.forced[..candidate.same.saturating_sub(1)].to_vec();
        let mut reached = None;
        for (index, turn) in candidate.turns.iter().enumerate().skip(candidate.same) {
            if let Some(stop) = self.advance(&mut walk, turn.thread, turn.upto) {
                return stop.foreseen(walk, course, reached);
            }
            let done = walk.done[turn.thread];
            if index == candidate.same && done < turn.upto {
                reached = Some(done);
            }
        }
        // Everything runs on without preemption.
        let threads = course.threads.len();
        let mut current = candidate.turns.last().map_or(0, |turn| turn.thread);
        let mut idle = 0;
        while idle <= threads {
            let before = walk.done[current];
            // Here a thread that was not recorded any further is one that ends.
            let upto = self.modelled.model.thread_steps(ThreadId(current as u32)).len() as u32;
            if let Some(stop) = self.advance(&mut walk, current, upto) {
                return stop.foreseen(walk, course, reached);
            }
            idle = if walk.done[current] > before { 0 } else { idle + 1 };
            current = (current + 1) % threads;
        }
        Foreseen::Not { reached }
    }

    /// Executes steps of a thread as far as it can go; `Some` if that ends the run.
    fn advance(&mut self, walk: &mut Walk, thread: usize, upto: u32) -> Option<Stop> {
        let steps = self.modelled.model.thread_steps(ThreadId(thread as u32));
        while walk.done[thread] < upto {
            let done = walk.done[thread] as usize;
            let Some(&step) = steps.get(done) else {
                // What a thread does that is to go on further than it was recorded nobody knows.
                let ended = done > 0 && self.modelled.exits[steps[done - 1].index()];
                return (upto == AS_FAR_AS_IT_CAN && !ended).then_some(Stop::Unknown);
            };
            if walk.current() != Some(thread) {
                let forced = walk.current().is_some_and(|last| self.is_forced(walk, last));
                self.walked += 1;
                walk.pending_switch = forced;
            }
            match self.push(step) {
                None => walk.step(thread),
                Some(Verdict::Blocked { .. }) => {
                    self.pop();
                    return self.may_go_elsewhere(step).then_some(Stop::Unknown);
                }
                Some(Verdict::Fails { .. }) => {
                    walk.step(thread);
                    let choices = self.evaluator.choices().to_vec();
                    self.pop();
                    return Some(Stop::Fails { choices });
                }
                Some(Verdict::Passes) => {
                    self.pop();
                    return Some(Stop::Passes);
                }
                Some(Verdict::Leaves { .. }) => {
                    self.pop();
                    return Some(Stop::Unknown);
                }
            }
        }
        None
    }

    /// A step that does not wait where it is refused, but takes another path.
    fn may_go_elsewhere(&self, step: StepId) -> bool {
        self.modelled.model.program(step).iter().any(|op| match op {
            Op::TryAcquire { .. } | Op::SemTryAcquire { .. } | Op::OnceEnter { .. } => true,
            Op::Wake { by, .. } => !matches!(by, unravel_trace::WakeCause::Signal(_)),
            _ => false,
        })
    }

    /// Whether a thread cannot go on here, or gives up its turn.
    fn is_forced(&mut self, walk: &Walk, thread: usize) -> bool {
        let steps = self.modelled.model.thread_steps(ThreadId(thread as u32));
        let done = walk.done[thread] as usize;
        match steps.get(done) {
            Some(next) => self.modelled.yields[next.index()] || !self.evaluator.is_enabled(*next),
            // Of a thread that was only not recorded any further nobody knows.
            None => done > 0 && self.modelled.exits[steps[done - 1].index()],
        }
    }

    fn push(&mut self, step: StepId) -> Option<Verdict> {
        self.walked += 1;
        self.order.push(step);
        self.evaluator.push(step)
    }

    fn pop(&mut self) {
        self.order.pop();
        self.evaluator.pop();
    }

    /// Goes to just after these steps, which are known to be possible.
    fn rewind(&mut self, prefix: &[StepId]) {
        let common = self.order.iter().zip(prefix).take_while(|(a, b)| a == b).count();
        while self.order.len() > common {
            self.pop();
        }
        for step in &prefix[common..] {
            let stopped = self.push(*step);
            assert!(stopped.is_none(), "the beginning of a failing course does not end it");
        }
    }

    fn steps_of(&self, course: &Course, turns: &[Turn]) -> Vec<StepId> {
        let mut done = vec![0; course.threads.len()];
        let mut order = Vec::new();
        for turn in turns {
            let steps = self.modelled.model.thread_steps(ThreadId(turn.thread as u32));
            order.extend(&steps[done[turn.thread]..turn.upto as usize]);
            done[turn.thread] = turn.upto as usize;
        }
        order
    }

    /// Of a deadlock all steps count: what has to wait is set aside by the evaluator and goes on when it can.
    fn deadlock(&mut self, course: &Course, candidate: &Candidate) -> Foreseen {
        let model = &self.modelled.model;
        let mut done = vec![0; course.threads.len()];
        let mut order: Vec<StepId> = Vec::with_capacity(model.len());
        for turn in candidate.turns.iter().chain(&course.turns) {
            let steps = model.thread_steps(ThreadId(turn.thread as u32));
            let known = course.points[turn.thread].len();
            let (from, to) = (done[turn.thread], (turn.upto as usize).min(known));
            if from < to {
                order.extend(&steps[from..to]);
                done[turn.thread] = to;
            }
        }
        order.extend(model.steps().filter(|step| model.is_request(*step)));
        self.walked += order.len() as u64;
        match self.evaluator.evaluate(&order) {
            Verdict::Fails { .. } => {
                let performed: Vec<StepId> = self.evaluator.performed().to_vec();
                let choices = self.evaluator.choices().to_vec();
                Foreseen::Fails(self.walk_along(course, &performed, choices))
            }
            Verdict::Passes => Foreseen::Not { reached: None },
            Verdict::Blocked { .. } | Verdict::Leaves { .. } => Foreseen::Unknown,
        }
    }

    /// The course of an order that is known to be possible.
    fn walk_along(&mut self, course: &Course, order: &[StepId], choices: Vec<u32>) -> Course {
        let modelled = self.modelled;
        self.evaluator.evaluate(&[]);
        let mut walk = Walk::new(course);
        for step in order.iter().filter(|step| !modelled.model.is_request(**step)) {
            let thread = modelled.model.owner(*step).index();
            if let Some(last) = walk.current().filter(|last| *last != thread) {
                walk.pending_switch = self.is_forced(&walk, last);
            }
            self.walked += 1;
            self.evaluator.push(*step);
            walk.step(thread);
        }
        walk.into_course(course, choices)
    }
}

/// Why an evaluation went no further.
#[derive(Debug)]
enum Stop {
    Fails { choices: Vec<u32> },
    Passes,
    Unknown,
}

impl Stop {
    fn foreseen(self, walk: Walk, course: &Course, reached: Option<u32>) -> Foreseen {
        match self {
            Stop::Fails { choices } => Foreseen::Fails(walk.into_course(course, choices)),
            Stop::Passes => Foreseen::Not { reached },
            Stop::Unknown => Foreseen::Unknown,
        }
    }
}

/// What happened so far in an evaluation.
#[derive(Debug)]
struct Walk {
    done: Vec<u32>,
    turns: Vec<Turn>,
    forced: Vec<bool>,
    /// Whether the switch that is about to happen is forced.
    pending_switch: bool,
}

impl Walk {
    fn new(course: &Course) -> Walk {
        Walk {
            done: vec![0; course.threads.len()],
            turns: Vec::new(),
            forced: Vec::new(),
            pending_switch: false,
        }
    }

    fn current(&self) -> Option<usize> {
        self.turns.last().map(|turn| turn.thread)
    }

    fn step(&mut self, thread: usize) {
        self.done[thread] += 1;
        let upto = self.done[thread];
        match self.turns.last_mut() {
            Some(turn) if turn.thread == thread => turn.upto = upto,
            last => {
                if last.is_some() {
                    self.forced.push(self.pending_switch);
                }
                self.turns.push(Turn { thread, upto });
            }
        }
    }

    fn into_course(mut self, course: &Course, choices: Vec<u32>) -> Course {
        self.forced.push(true);
        Course { turns: self.turns, forced: self.forced, choices, ..course.clone() }
    }
}
