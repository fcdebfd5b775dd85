//! Runs whose threads keep to a recorded route ([`unravel_trace::Route`]): the scheduler decides as ever, values are what
//! they are, and the run ends where a thread is about to take another branch than the log has.
//!
//! Rounds of a busy wait are the one thing that may differ: how often a real thread looked before another came is an accident of
//! time, and this machine does not offer a thread again that waits so. If a thread that has changed nothing leaves a loop earlier
//! than its log says, and the log only repeats the same round until it leaves it there too, the rounds are left out and counted.
//!
//! Branches in handlers of signals are not compared: which run of a handler a log has them of, it does not say. That errs on the side of following.
//!
//! *Not modelled*: the landing pads of calls that throw are no turns (the branches behind them tell); switches over more than 64
//! bits and computed jumps are none of [`unravel_code::Body::terminators`]. Errs on the side of straying.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use unravel_code::{FunctionId, Target};
use unravel_trace::{
    Beyond, EngineError, Followed, Job, Leg, Observer, Op, Outcome, Place, Route, Scheduler, Stray,
    Strayed, Turn, user_place,
};

use crate::budgets::{IDLE_ROUNDS, LONGEST_ROUND};
use crate::machine::Machine;
use crate::resolve::Resolved;
use crate::thread::Need;

/// A branch of lowered code, and where it went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Step {
    function: u32,
    at: Target,
    to: Target,
}

/// Stands for a branch that the program does not have.
const NOWHERE: Step = Step { function: u32::MAX, at: 0, to: 0 };

/// A route in terms of lowered code.
#[derive(Debug)]
pub(crate) struct Plan {
    route: Arc<Route>,
    /// By [`FunctionId`]: whether its branches are in the log, and its body is executed here.
    recorded: Vec<bool>,
    /// By leg of the route.
    steps: Vec<Vec<Step>>,
}

impl Plan {
    pub fn is_of(&self, route: &Arc<Route>) -> bool {
        Arc::ptr_eq(&self.route, route)
    }
}

/// Watches the threads of a run.
#[derive(Debug)]
pub(crate) struct Follower {
    /// `None`: what they do is kept instead.
    plan: Option<Arc<Plan>>,
    threads: Vec<Follows>,
    strayed: Option<Strayed>,
    rounds_left_out: u64,
}

/// A thread on its route.
#[derive(Debug, Default)]
struct Follows {
    /// Index into [`Plan::steps`].
    leg: Option<usize>,
    next: usize,
    /// After how many events of the run it had taken its last turn.
    used_up: Option<u64>,
    /// It stays at a branch for good.
    parked: bool,
    /// Without a plan: what it did.
    taken: Vec<Step>,
}

impl Machine {
    /// A route in terms of the lowered code. Turns of functions that are modelled instead of executed are left out.
    pub fn plan(&self, route: &Arc<Route>) -> Plan {
        let by_name: FxHashMap<&str, u32> = self
            .program
            .functions
            .iter()
            .enumerate()
            .map(|(index, function)| (function.name.as_str(), index as u32))
            .collect();
        let functions: Vec<Option<u32>> =
            route.functions.iter().map(|name| by_name.get(name.as_str()).copied()).collect();
        let is_executed = |id: u32| matches!(self.externals[id as usize], Resolved::Body);
        let mut recorded = vec![false; self.program.functions.len()];
        for id in functions.iter().flatten().filter(|id| is_executed(**id)) {
            recorded[*id as usize] = true;
        }
        let mut known: FxHashMap<Turn, Option<Step>> = FxHashMap::default();
        let mut step = |turn: &Turn| {
            *known.entry(*turn).or_insert_with(|| {
                let Some(Some(id)) = functions.get(turn.function as usize) else {
                    return Some(NOWHERE);
                };
                if is_executed(*id) { self.step_of(*id, turn) } else { None }
            })
        };
        let steps = |leg: &Leg| leg.turns.iter().filter_map(&mut step).collect();
        let steps = route.legs.iter().map(steps).collect();
        Plan { route: route.clone(), recorded, steps }
    }

    /// `None` of terminators that are not watched.
    fn step_of(&self, function: u32, turn: &Turn) -> Option<Step> {
        let body = self.program.function(FunctionId(function)).body.as_ref()?;
        let terminator = body.terminators.iter().find(|one| one.block == turn.block)?;
        let step = |to: &Target| Step { function, at: terminator.at, to: *to };
        Some(terminator.successors.get(turn.successor as usize).map_or(NOWHERE, step))
    }

    /// The turn that a step was.
    fn turn_of(&self, step: &Step) -> Option<Turn> {
        let body = self.program.function(FunctionId(step.function)).body.as_ref()?;
        let terminator = body.terminators.iter().find(|one| one.at == step.at)?;
        let successor = terminator.successors.iter().position(|to| *to == step.to)? as u32;
        Some(Turn { function: step.function, block: terminator.block, successor })
    }

    /// A run whose threads keep to their routes, or leave them behind.
    pub fn run_following(
        &mut self,
        job: &Job<'_>,
        plan: Option<Arc<Plan>>,
        by: &mut dyn Scheduler,
        seen: &mut dyn Observer,
    ) -> Result<Followed, EngineError> {
        let follower = Follower { plan, threads: Vec::new(), strayed: None, rounds_left_out: 0 };
        self.follower = Some(Box::new(follower));
        let run = self.run(job, by, seen);
        let threads = self.names.len();
        (0..threads).for_each(|index| self.prepare_to_follow(index));
        let follower = self.follower.take().expect("set above");
        let Follower { plan, threads, mut strayed, rounds_left_out } = *follower;
        let mut run = run?;
        if let (None, Outcome::Failed(failure)) = (&strayed, &run.outcome)
            && let Some(parked) = threads.iter().position(|thread| thread.parked)
            && is_about_waiting(failure.kind)
        {
            // It waits only because we hold it.
            let turn = threads[parked].next as u64;
            let thread = self.names[parked].clone();
            strayed = Some(Strayed { thread, turn, at: None, how: Stray::Beyond });
        }
        if let Some(strayed) = &strayed {
            let at = strayed.at.clone();
            run.outcome = Outcome::Inconclusive { reason: strayed.to_string(), at };
        }
        let left = |thread: &Follows| match (&plan, thread.leg) {
            (Some(plan), Some(leg)) => plan.steps[leg].len() - thread.next,
            _ => 0,
        };
        Ok(Followed {
            kept: threads.iter().map(|thread| thread.next as u64).collect(),
            at_end: threads.iter().map(|thread| left(thread) == 0).collect(),
            used_up: threads.iter().map(|thread| thread.used_up).collect(),
            taken: plan.is_none().then(|| Arc::new(self.taken(&threads))),
            run,
            strayed,
            rounds_left_out,
        })
    }

    fn taken(&self, threads: &[Follows]) -> Route {
        let functions = self.program.functions.iter().map(|f| f.name.clone()).collect();
        let leg = |(index, thread): (usize, &Follows)| Leg {
            thread: self.names[index].clone(),
            turns: thread.taken.iter().filter_map(|step| self.turn_of(step)).collect(),
            then: if self.threads[index].ended { Beyond::Ended } else { Beyond::Stays },
        };
        Route { functions, legs: threads.iter().enumerate().map(leg).collect() }
    }

    /// Finds a thread's leg when it is first asked for.
    fn prepare_to_follow(&mut self, index: usize) {
        let state = &mut **self;
        let Some(follower) = state.follower.as_mut() else { return };
        while follower.threads.len() <= index {
            let name = &state.names[follower.threads.len()];
            let legs = follower.plan.as_ref().map(|plan| &plan.route.legs);
            let leg = legs.and_then(|legs| legs.iter().position(|leg| leg.thread == *name));
            follower.threads.push(Follows { leg, ..Follows::default() });
        }
    }

    /// The current thread is about to go to `to`, by the branch at its position.
    pub fn keep_to_route(&mut self, to: Target) {
        let me = self.current;
        // What handlers of signals do is no part of what their thread did: a log has it beside.
        if !self.threads[me].set_aside.is_empty() {
            return;
        }
        let Some(frame) = self.threads[me].frames.last() else { return };
        let function = frame.function;
        let Some(body) = self.program.function(function).body.as_ref() else { return };
        // SAFETY: the saved position is inside the code of the innermost frame's function.
        let at = unsafe { self.threads[me].at.pc.offset_from(body.code.as_ptr()) } as Target;
        let step = Step { function: function.0, at, to };
        let is_terminator = body.terminators.binary_search_by_key(&at, |one| one.at).is_ok();
        let events = self.events;
        if self.follower.as_ref().is_some_and(|follower| follower.threads.len() <= me) {
            self.prepare_to_follow(me);
        }
        let Some(follower) = self.follower.as_mut() else { return };
        let Follower { plan, threads, .. } = &mut **follower;
        let thread = &mut threads[me];
        let Some(plan) = plan else {
            if is_terminator {
                thread.taken.push(step);
            }
            return;
        };
        let Some(leg) = thread.leg else { return };
        if plan.steps[leg].get(thread.next) == Some(&step) {
            thread.next += 1;
            if thread.next == plan.steps[leg].len() {
                thread.used_up = Some(events);
            }
            return;
        }
        if is_terminator && plan.recorded[function.0 as usize] {
            self.leave_route(step, leg);
        }
    }

    /// The current thread is not where its log has it.
    fn leave_route(&mut self, step: Step, leg: usize) {
        let me = self.current;
        let idle = self.threads[me].idle;
        let follower = self.follower.as_mut().expect("asked by `keep_to_route`");
        let plan = follower.plan.clone().expect("it has a leg");
        let steps = &plan.steps[leg];
        let thread = &mut follower.threads[me];
        let Some(recorded) = steps.get(thread.next).copied() else {
            match plan.route.legs[leg].then {
                Beyond::Unknown => return,
                Beyond::Ended => self.stray(Stray::Beyond),
                Beyond::Stays => self.park(),
            }
        };
        if idle >= IDLE_ROUNDS
            && let Some((rounds, next)) = after_busy_wait(steps, thread.next, step)
        {
            thread.next = next;
            follower.rounds_left_out += rounds;
            return;
        }
        self.stray(match (recorded.function, recorded.at) {
            (u32::MAX, _) => Stray::NoSuchBranch,
            same if same == (step.function, step.at) => Stray::OtherWay,
            _ => Stray::Elsewhere { recorded: self.place_of_step(recorded) },
        })
    }

    fn place_of_step(&self, step: Step) -> Option<Place> {
        let body = self.program.function(FunctionId(step.function)).body.as_ref()?;
        let site = self.program.sites.get(body.places.get(step.at as usize)?.index())?;
        let all = [std::slice::from_ref(&site.place), &site.inlined_at].concat();
        user_place(&all).cloned()
    }

    fn stray(&mut self, how: Stray) -> ! {
        let (me, at) = (self.current, self.own_place());
        let thread = self.names[me].clone();
        let follower = self.follower.as_mut().expect("it has a route");
        let turn = follower.threads[me].next as u64;
        let strayed = Strayed { thread, turn, at: at.clone(), how };
        let reason = strayed.to_string();
        follower.strayed = Some(strayed);
        self.finish(Outcome::Inconclusive { reason, at })
    }

    /// The current thread never got any further.
    fn park(&mut self) -> ! {
        let me = self.current;
        self.follower.as_mut().expect("it has a route").threads[me].parked = true;
        let site = self.threads[me].pending.site;
        loop {
            self.point(Op::Yield, 0, 0, site, Need::Never);
        }
    }
}

fn is_about_waiting(kind: unravel_trace::FailureKind) -> bool {
    use unravel_trace::FailureKind::{Deadlock, Livelock};
    matches!(kind, Deadlock | Livelock)
}

/// If the log goes on with the round that the thread has just made, again and again, and then takes this step: how many rounds
/// that is, and what comes after the step.
fn after_busy_wait(steps: &[Step], next: usize, step: Step) -> Option<(u64, usize)> {
    for length in 1..=LONGEST_ROUND.min(next) {
        // The thread is somewhere in a round: what the log has next, it did one round ago.
        let mut at = next;
        while steps.get(at).is_some_and(|one| *one == steps[at - length]) {
            at += 1;
        }
        // The step is where the log leaves the round, if the place in the round is the same.
        if at > next
            && steps.get(at) == Some(&step)
            && (at - next).is_multiple_of(length)
            && steps[at - length].at == step.at
        {
            return Some((((at - next) / length) as u64, at + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: Target, to: Target) -> Step {
        Step { function: 0, at, to }
    }

    #[test]
    fn rounds_of_a_busy_wait_are_left_out_if_the_log_leaves_it_in_the_same_way() {
        let (stay, leave) = (step(1, 1), step(1, 9));
        let log = [step(0, 1), stay, stay, stay, stay, leave, step(9, 0)];
        assert_eq!(after_busy_wait(&log, 2, leave), Some((3, 6)));
        // Another way out than the recorded one.
        assert_eq!(after_busy_wait(&log, 2, step(1, 7)), None);
        // A round of two branches.
        let (first, second, out) = (step(1, 2), step(2, 1), step(1, 9));
        let log = [first, second, first, second, first, second, out];
        assert_eq!(after_busy_wait(&log, 2, out), Some((2, 7)));
        // In the middle of a round it is no way out.
        assert_eq!(after_busy_wait(&log, 3, out), None);
    }
}
