//! What a verdict promises, held against an execution of the same steps.
//!
//! Where the recorded run was cut at its failure, nobody knows what comes after it, so that three differences are no
//! errors:
//! - Once the bug condition was decided to be false, the thread goes on unrecorded. The comparison ends there.
//! - Once it was decided to be true, the thread may need another point to fail (the access through the bad pointer).
//! - After the last recorded step of a thread the model frees the locks that it still holds, but when the thread does
//!   that nobody recorded. Where execution has to wait for such a lock, the comparison ends.

use unravel_solve::{Evaluator, Model, Op, StepId, Verdict};
use unravel_trace::*;

use crate::follow::Follow;

/// How a comparison ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    Fails,
    Passes,
    Blocked,
    /// The path was left, and events after it differ from the recorded ones.
    LeavesVisibly,
    /// The path was left between two events, and the same events follow.
    LeavesSilently,
    /// Execution waits for what nobody recorded.
    Beyond,
    /// The execution differs, and memory was freed earlier or later than in the recorded run: what is allocated then
    /// has other addresses, which is not modelled.
    FreedOtherwise,
}

/// A failing run and its model.
pub struct Reference<'r> {
    pub run: &'r Run,
    pub symbolic: &'r Symbolic,
    pub model: &'r Model,
}

impl Reference<'_> {
    /// What an evaluation performed, as far as it can be compared.
    pub fn performed(&self, evaluator: &Evaluator<'_>) -> Vec<StepId> {
        let performed = evaluator.performed().iter().copied();
        let mut steps: Vec<StepId> = performed.filter(|s| !self.model.is_request(*s)).collect();
        if evaluator.has_passed()
            && let Some(decided) = self.deciding()
            && let Some(at) = steps.iter().position(|s| *s == decided)
        {
            steps.truncate(at + 1);
        }
        steps
    }

    /// The step that decides the bug condition.
    fn deciding(&self) -> Option<StepId> {
        let Bug::Condition { after, .. } = self.symbolic.bug else { return None };
        let decides = |step: &Step| step.range().contains(&(after as usize));
        Some(StepId(self.symbolic.steps.iter().position(decides)? as u32))
    }

    /// Whose steps these are.
    pub fn threads(&self, performed: &[StepId]) -> Vec<ThreadName> {
        performed.iter().map(|s| self.name(*s).clone()).collect()
    }

    fn name(&self, step: StepId) -> &ThreadName {
        self.run.trace.thread_name(self.model.owner(step))
    }

    /// Whether the verdict of an evaluation came true in `run`, which `follow` scheduled.
    pub fn compare(
        &self,
        evaluator: &Evaluator<'_>,
        verdict: Verdict,
        performed: &[StepId],
        run: &Run,
        follow: &Follow<'_>,
    ) -> Result<Compared, String> {
        let passed = evaluator.has_passed();
        // The last step may end in the middle.
        let whole = match verdict {
            Verdict::Passes | Verdict::Blocked { .. } if !passed => performed.len(),
            _ => performed.len().saturating_sub(1),
        };
        let compared = whole.min(follow.done);
        let events = self.same_events(evaluator, &performed[..compared], run)?;
        if follow.stuck {
            let waits = performed[follow.done];
            return if self.is_beyond(&performed[..follow.done], waits) {
                Ok(Compared::Beyond)
            } else {
                Err(format!("{} cannot execute its step {}", self.name(waits), follow.done))
            };
        }
        if follow.done < performed.len() {
            return Err(format!("the run ended after {} steps: {}", follow.done, run.outcome));
        }
        let same_bug = run.outcome.is_same_bug(&self.run.outcome);
        match verdict {
            _ if passed && same_bug && !follow.went_on() && !self.is_another_condition(run) => {
                Err("it fails".into())
            }
            _ if passed => Ok(Compared::Passes),
            Verdict::Fails { .. } if !same_bug => {
                Err(format!("it ends otherwise: {}", run.outcome))
            }
            Verdict::Fails { .. } => Ok(Compared::Fails),
            Verdict::Passes if self.model.is_deadlock() => self.granted(performed, follow),
            Verdict::Passes if same_bug && !follow.went_on() => Err("it fails".into()),
            Verdict::Passes => Ok(Compared::Passes),
            Verdict::Blocked { at } => self.blocked(at, follow),
            Verdict::Leaves { at, .. } => Ok(self.left(at, events, run)),
        }
    }

    /// Whether `run` fails by a condition after the recorded one: the second half of `assert(a && b)`.
    fn is_another_condition(&self, run: &Run) -> bool {
        let Bug::Condition { thread, .. } = self.symbolic.bug else { return false };
        let name = self.run.trace.thread_name(thread);
        let count = |run: &Run| {
            let conditions = run.symbolic.iter().flat_map(|symbolic| &symbolic.conditions);
            conditions.filter(|c| run.trace.thread_name(c.thread) == name).count()
        };
        count(run) > count(self.run)
    }

    /// Whether memory is freed on the other side of what another thread does: it may allocate it then.
    pub fn frees_otherwise(&self, order: &[StepId]) -> bool {
        let frees = |step: StepId| {
            let executed = self.symbolic.steps.get(step.index());
            let events = executed.map_or(&[][..], |step| &self.run.trace.events[step.range()]);
            events.iter().any(|event| matches!(event.kind, EventKind::Free { .. }))
        };
        let mut before = vec![false; self.model.len()];
        order.iter().any(|step| {
            let others =
                self.model.steps().filter(|s| self.model.owner(*s) != self.model.owner(*step));
            let moved =
                frees(*step) && others.into_iter().any(|s| before[s.index()] != (s < *step));
            before[step.index()] = true;
            moved
        })
    }

    /// The events of whole steps are those that the model gives; how many there are.
    fn same_events(
        &self,
        evaluator: &Evaluator<'_>,
        steps: &[StepId],
        run: &Run,
    ) -> Result<usize, String> {
        let indices = steps.iter().flat_map(|s| self.symbolic.steps[s.index()].range());
        let mut count = 0;
        for (number, index) in indices.enumerate() {
            count += 1;
            let ours = &self.run.trace.events[index];
            let Some(theirs) = run.trace.events.get(number) else {
                return Err(format!("event {number} is missing: {}", run.outcome));
            };
            let name = self.run.trace.thread_name(ours.thread);
            let what = format!("event {number} of {name} ({})", ours.kind.verb());
            if name != run.trace.thread_name(theirs.thread)
                || ours.site != theirs.site
                || ours.kind.verb() != theirs.kind.verb()
            {
                let their_name = run.trace.thread_name(theirs.thread);
                return Err(format!("{what} is another: {their_name} ({})", theirs.kind.verb()));
            }
            let place =
                |trace: &Trace, event: &Event| event.kind.location().map(|l| trace.address(l));
            if place(&self.run.trace, ours) != place(&run.trace, theirs) {
                return Err(format!("{what} has another address"));
            }
            self.same_values(evaluator, index, &theirs.kind).map_err(|e| format!("{what}: {e}"))?;
        }
        Ok(count)
    }

    fn same_values(
        &self,
        evaluator: &Evaluator<'_>,
        index: usize,
        theirs: &EventKind,
    ) -> Result<(), String> {
        let shadow = self.symbolic.shadows[index];
        let accesses = &self.symbolic.accesses[shadow.first as usize..];
        let (reads, rest) = accesses.split_at(shadow.reads as usize);
        let writes = &rest[..shadow.writes as usize];
        let (old, new) = match theirs {
            EventKind::Read { value, .. } => (Some(value), None),
            EventKind::Write { value, .. } => (None, Some(value)),
            EventKind::ReadModifyWrite { old, new, .. } => (Some(old), Some(new)),
            _ => (None, None),
        };
        for (verb, accesses, seen) in [("reads", reads, old), ("writes", writes, new)] {
            let (Some(access), Some(Value::Word(seen))) = (accesses.first(), seen) else {
                continue;
            };
            if access.address >= SYNTHETIC || access.bytes > 8 {
                continue;
            }
            let value = self.symbolic.exprs.evaluate(access.value, &|s| evaluator.value(s));
            let mask = u64::MAX >> (64 - 8 * u32::from(access.bytes));
            if value as u64 & mask != *seen & mask {
                return Err(format!("{verb} {seen}, but {value} in the model"));
            }
        }
        Ok(())
    }

    /// Whether a step waits for a lock that a thread holds beyond what was recorded of it.
    fn is_beyond(&self, performed: &[StepId], waits: StepId) -> bool {
        let wanted: Vec<_> = self
            .model
            .program(waits)
            .iter()
            .filter_map(|op| match op {
                Op::Acquire { lock, .. } => Some(*lock),
                _ => None,
            })
            .collect();
        performed.iter().any(|step| {
            let steps = self.model.thread_steps(self.model.owner(*step));
            let released = |op: &Op| matches!(op, Op::Release { lock } if wanted.contains(lock));
            steps.last() == Some(step) && self.model.program(*step).iter().any(released)
        })
    }

    /// A request that was blocked in the recorded run can be granted.
    fn granted(&self, performed: &[StepId], follow: &Follow<'_>) -> Result<Compared, String> {
        let done =
            |thread: ThreadId| performed.iter().filter(|s| self.model.owner(**s) == thread).count();
        let requests = self.model.steps().filter(|s| self.model.is_request(*s));
        for request in requests {
            let thread = self.model.owner(request);
            let before = self.model.thread_steps(thread).len() - 1;
            if done(thread) == before && follow.could_go_on(self.name(request)) {
                return Ok(Compared::Passes);
            }
        }
        Err("no request is granted".into())
    }

    fn blocked(&self, at: StepId, follow: &Follow<'_>) -> Result<Compared, String> {
        if !follow.could_go_on(self.name(at)) {
            return Ok(Compared::Blocked);
        }
        // It does not wait, but would do something else than it did.
        let decides = |op: &Op| {
            matches!(
                op,
                Op::TryAcquire { .. }
                    | Op::SemTryAcquire { .. }
                    | Op::OnceEnter { .. }
                    | Op::Wake { .. }
            )
        };
        if self.model.program(at).iter().any(decides) {
            return Ok(Compared::Blocked);
        }
        let ops = self.model.program(at);
        Err(format!("{} can execute its step {ops:?}", self.name(at)))
    }

    /// Whether the thread does something else after a step than was recorded.
    fn left(&self, at: StepId, events: usize, run: &Run) -> Compared {
        let owner = self.model.owner(at);
        let name = self.name(at);
        let from = self.symbolic.steps[at.index()].first as usize;
        let ours = self.run.trace.events[from..].iter().filter(|e| e.thread == owner);
        let theirs = run.trace.events[events.min(run.trace.events.len())..]
            .iter()
            .filter(|e| run.trace.thread_name(e.thread) == name);
        let shape = |trace: &Trace, event: &Event| {
            (event.site, event.kind.verb(), event.kind.location().map(|l| trace.address(l)))
        };
        let ours: Vec<_> = ours.map(|e| shape(&self.run.trace, e)).collect();
        let theirs: Vec<_> = theirs.map(|e| shape(&run.trace, e)).collect();
        if theirs.starts_with(&ours) { Compared::LeavesSilently } else { Compared::LeavesVisibly }
    }
}
