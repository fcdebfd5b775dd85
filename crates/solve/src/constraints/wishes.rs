//! Deadlocks, and failures that only execution can tell.
//!
//! - A deadlock: its requests are refused for ever. For a lock, some section that never ends began before the
//!   request: `⋁ L < q`. All other requests come after everything else that is done with their sync object.
//! - A deadlock avoided: one request q is granted where it stands, and what comes after it is not executed.
//!   With `T1: a b` and `T2: b a`, both blocked at their second lock, it passes if T1 asks for b before T2 takes it.
//! - What only execution can tell: the recorded order fails, every other complete one passes; orders are the same if
//!   they agree in their reads-from, in operations on sync objects that do not commute and in external calls.
//!   Reads-from is left to the backends.
//!
//! *Approximated*: a lock request that one section holds up and then another, of which only the second lasts, is
//! taken to stand after the beginning of the lasting one.

use unravel_trace::ThreadId;

use super::{Atom, Constraints, Formula, NoEncoding, Point};
use crate::{Op, StepId};

impl Constraints<'_> {
    /// The deadlock happens: every request is refused.
    pub fn refused(&self) -> Result<Vec<Formula>, NoEncoding> {
        let requests = self.request_steps();
        requests
            .map(|request| {
                let refused = request.iter().map(|(at, op)| self.is_refused(*at, *op));
                Ok(Formula::or(refused.collect::<Result<Vec<_>, _>>()?))
            })
            .collect()
    }

    /// The deadlock is avoided: some request is chosen, and that one can be granted.
    pub fn granted(&self) -> Result<Vec<Formula>, NoEncoding> {
        let (mut formulas, mut any) = (Vec::new(), Vec::new());
        for request in self.request_steps() {
            let granted = request.iter().map(|(at, op)| self.is_granted(*at, *op));
            let granted = Formula::and(granted.collect::<Result<Vec<_>, _>>()?);
            if granted != Formula::False {
                let chosen = Formula::Is(Atom::Granted(request[0].0.step));
                formulas.push(Formula::or([chosen.clone().not(), granted]));
                any.push(chosen);
            }
        }
        formulas.push(Formula::or(any));
        Ok(formulas)
    }

    /// The ops of each request; never none.
    fn request_steps(&self) -> impl Iterator<Item = &[(Point, Op)]> {
        self.requests.chunk_by(|(a, _), (b, _)| a.step == b.step)
    }

    fn is_granted(&self, at: Point, op: Op) -> Result<Formula, NoEncoding> {
        Ok(match op {
            Op::Acquire { lock, shared } if self.model.sync(lock).regular => {
                self.is_free(&self.spans(lock), at, shared)
            }
            Op::Acquire { lock, .. } => self.was_released(lock, at),
            Op::Wake { cond, .. } => self.was_woken(cond, at).0,
            Op::SemAcquire { semaphore } => {
                let uses = self.semaphore_uses(semaphore);
                Formula::or([self.is_positive(&uses, at), self.is_not_set_up(&uses, at)])
            }
            Op::Leave { barrier } => self.is_open(barrier, self.barrier_set_up(barrier)?.0, at),
            Op::OnceEnter { once, .. } => self.once_states(once, at).0,
            Op::Join { child } => match self.exit_of(child) {
                Some(exit) => self.before(exit, at.step),
                None => Formula::known(self.model.thread_steps(child).is_empty()),
            },
            _ => Formula::False,
        })
    }

    fn is_refused(&self, at: Point, op: Op) -> Result<Formula, NoEncoding> {
        let refused = match op {
            Op::Acquire { lock, shared } if self.model.sync(lock).regular => {
                let mut spans = self.spans(lock);
                spans.retain(|(span, _)| span.release.is_none());
                return Ok(self.is_held(&spans, at, shared));
            }
            Op::Acquire { lock, .. } => self.was_acquired(lock, at),
            Op::Wake { cond, .. } => self.was_woken(cond, at).1,
            Op::SemAcquire { semaphore } => self.is_zero(&self.semaphore_uses(semaphore), at),
            Op::Leave { barrier } => self.is_shut(barrier, self.barrier_set_up(barrier)?.0, at),
            Op::OnceEnter { once, .. } => self.once_states(once, at).1,
            Op::Join { child } => {
                let lives = !self.model.thread_steps(child).is_empty();
                Formula::known(lives && self.exit_of(child).is_none())
            }
            Op::Never => Formula::True,
            _ => Formula::False,
        };
        let uses = op.sync().map(|sync| self.uses[sync.index()].as_slice()).unwrap_or_default();
        let last = uses.iter().map(|(other, _)| self.ahead(*other, at));
        Ok(Formula::and(last.chain([refused])))
    }

    fn exit_of(&self, thread: ThreadId) -> Option<StepId> {
        let mut steps = self.model.thread_steps(thread).iter().copied();
        steps.find(|step| self.model.program(*step).contains(&Op::Exit))
    }

    /// The order of what does not commute is the recorded one; `False` if that is not known.
    pub fn same(&self) -> Formula {
        match self.recorded_pairs() {
            Some(pairs) => Formula::and(pairs.iter().map(|(a, b)| self.before(*a, *b))),
            None => Formula::False,
        }
    }

    /// The order of what does not commute is another than the recorded one; `True` if that is not known.
    pub fn other(&self) -> Formula {
        match self.recorded_pairs() {
            Some(pairs) => Formula::or(pairs.iter().map(|(a, b)| self.before(*b, *a))),
            None => Formula::True,
        }
    }

    /// Together with program order these decide the order of all that does not commute.
    fn recorded_pairs(&self) -> Option<Vec<(StepId, StepId)>> {
        self.model.observed().map(|observed| self.model.sync_along(&observed))
    }
}
