//! Does a repair rest on somebody's sleep? In the machine who sleeps comes back when all others are through with what they were at, unless it is asked for
//! threads that are late (`Deviation::Stall`). A failure that needs none of them is not mended by a sleep: nobody promises
//! that a second is enough. So a repaired program runs some more times, and in each somebody who waits for a time comes back at any moment, once, and goes on.
//!
//! Runs are a sample, and where the time is up before all were made nothing is known, which is said. What fails so fails like the program did, in kind; where is not asked, because lines move in a patch.

use unravel_execute::{Laboratory, Limit};
use unravel_strategies::Random;
use unravel_trace::{
    Choice, Detail, Executor, FailureKind, Input, Op, Question, Rng, Scheduler, ThreadId, View,
    Want,
};

use crate::budgets::{COUNTING_SLEEPS, GOING_ON, RUNS_LATE};

/// A random walk in which one wait for a time ends early: all others are late then, and whoever has come back goes on as long as it can; then
/// the others, the end of the process last.
struct Early {
    walk: Random,
    rng: Rng,
    /// Whose turn it is, and for how many events. One at a time, or nobody looks whether somebody sleeps meanwhile.
    turn: (ThreadId, u32),
    /// Which occasion is taken.
    at: Option<u64>,
    back: Option<ThreadId>,
    /// Events in which it, and then the others, go first.
    first: u32,
    occasions: u64,
}

impl Early {
    fn new(seed: u64, at: Option<u64>) -> Early {
        let (walk, rng) = (Random::new(seed), Rng::new(seed));
        Early { walk, rng, turn: (ThreadId(0), 0), at, back: None, first: GOING_ON, occasions: 0 }
    }
}

impl Scheduler for Early {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if !view.early.is_empty() {
            let is_now = self.at == Some(self.occasions);
            self.occasions += 1;
            if is_now {
                let thread = self.rng.pick(view.early).thread;
                self.back = Some(thread);
                return Choice { thread, events: 1 };
            }
        }
        let can = |thread| view.enabled.iter().any(|ready| ready.thread == thread);
        // The end of the process is no failure of those who are late.
        let ends = |thread| {
            let ready = view.enabled.iter().find(|ready| ready.thread == thread);
            ready.is_some_and(|ready| ready.pending.op == Op::End)
        };
        if let Some(back) = self.back.filter(|_| self.first > 0) {
            self.first -= 1;
            if can(back) && !ends(back) {
                return Choice { thread: back, events: 1 };
            }
            if let Some(ready) = view.enabled.iter().find(|ready| !ends(ready.thread)) {
                return Choice { thread: ready.thread, events: 1 };
            }
        }
        if self.turn.1 == 0 || !can(self.turn.0) {
            let Choice { thread, events } = self.walk.next(view);
            self.turn = (thread, events);
        }
        self.turn.1 -= 1;
        Choice { thread: self.turn.0, events: 1 }
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.walk.choose(what, options)
    }
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// Nobody sleeps, or no run failed.
    Stands,
    /// A run failed like the program did.
    Fails,
    /// The time was up, and nobody is known not to sleep.
    Unknown,
}

/// Whether runs in which somebody is late fail in one of these ways.
pub fn when_late(
    machine: &mut dyn Executor,
    input: &Input,
    kinds: &[FailureKind],
    limit: Limit<'_>,
) -> Late {
    let visible = machine.sites().all().clone();
    let mut lab =
        Laboratory::new(machine, input.clone(), visible).until(limit.deadline, limit.interrupt);
    let mut rng = Rng::new(1);
    let mut occasions = 0u64;
    for number in 0..RUNS_LATE {
        // The first ones only count.
        let counts = number < COUNTING_SLEEPS;
        if occasions == 0 && (!counts || number > 0 && !lab.may_go_on()) {
            return Late::Stands;
        }
        if !lab.may_go_on() {
            return Late::Unknown;
        }
        let most = u32::try_from(occasions).unwrap_or(u32::MAX);
        let at = (!counts).then(|| u64::from(rng.below(most)));
        let mut early = Early::new(number + 1, at);
        let run = lab.run(&mut early, &mut (), Want::only(Detail::Outcome));
        occasions = occasions.max(early.occasions);
        let failure = run.outcome.failure().filter(|_| early.back.is_some());
        if failure.is_some_and(|failure| kinds.contains(&failure.kind)) {
            return Late::Fails;
        }
    }
    Late::Stands
}
