//! The replay oracle: candidates are executed until one fails as the logs say (CoopREP, thesis §3.1 and §3.4).
//!
//! An attempt is one candidate. It is executed once, its orders kept; then, if holes are to be filled, some more times around them
//! (`enforce.rs`), which is more than the paper does and is counted apart. A candidate that fails is executed again by its own
//! schedule before anybody hears of it, and is then a run like any other.

use unravel_execute::Laboratory;
use unravel_trace::{Detail, Outcome, Rng, Run, Want};

use crate::analysis::{Candidate, Group};
use crate::elements::Elements;
use crate::enforce::{Enforced, Kept};
use crate::log::{FailureSite, LogId};

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    pub most: u32,
    /// Executions of a candidate besides the first, with what is open drawn at random.
    pub fills: u32,
    pub seed: u64,
}

/// What became of the candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tried {
    pub attempts: u32,
    /// Of those, how many were ended because their orders contradict each other.
    pub contradicted: u32,
    /// Were kept to the end, and passed.
    pub passed: u32,
    /// Failed, but not so.
    pub other_failures: u32,
    /// Could not be followed.
    pub inconclusive: u32,
    /// Runs, all together.
    pub executions: u64,
}

impl std::ops::AddAssign for Tried {
    fn add_assign(&mut self, more: Tried) {
        self.attempts += more.attempts;
        self.contradicted += more.contradicted;
        self.passed += more.passed;
        self.other_failures += more.other_failures;
        self.inconclusive += more.inconclusive;
        self.executions += more.executions;
    }
}

/// A candidate that failed as the logs say.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Executed twice, with its events.
    pub run: Run,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// Which execution of it, 0 with its orders alone.
    pub fill: u32,
    /// The logs it was put together from.
    pub sources: Vec<LogId>,
    /// Elements of no log.
    pub missing: usize,
    pub brute: bool,
}

/// Executes candidates.
pub struct Oracle<'o, 'a> {
    pub lab: &'o mut Laboratory<'a>,
    pub elements: &'o mut Elements,
    pub attempts: Attempts,
}

impl Oracle<'_, '_> {
    /// Tries candidates until one fails as the group did. `go_on` is asked before each.
    pub fn replay(
        &mut self,
        group: &Group<'_>,
        candidates: impl Iterator<Item = Candidate>,
        mut go_on: impl FnMut(&Tried) -> bool,
    ) -> (Option<Replayed>, Tried) {
        let mut tried = Tried::default();
        for candidate in candidates {
            if tried.attempts >= self.attempts.most || !self.lab.may_go_on() || !go_on(&tried) {
                break;
            }
            tried.attempts += 1;
            if let Some((run, fill)) = self.attempt(group, &candidate, &mut tried) {
                let replayed = Replayed {
                    run,
                    attempt: tried.attempts,
                    fill,
                    sources: candidate.sources(group),
                    missing: candidate.parts.iter().filter(|part| part.is_none()).count(),
                    brute: candidate.brute,
                };
                return (Some(replayed), tried);
            }
        }
        (None, tried)
    }

    fn attempt(
        &mut self,
        group: &Group<'_>,
        candidate: &Candidate,
        tried: &mut Tried,
    ) -> Option<(Run, u32)> {
        let vectors = candidate.vectors(group);
        for fill in 0..=self.attempts.fills {
            let mut by = Enforced::new(self.elements, &vectors);
            if fill > 0 {
                let seed = Rng::derive(self.attempts.seed, u64::from(tried.attempts));
                by = by.filled(Rng::derive(seed, u64::from(fill)));
            }
            let run = self.lab.run(&mut by, &mut (), Want::only(Detail::Outcome));
            tried.executions += 1;
            let kept = by.kept();
            if fails_so(&run.outcome, group.failure) {
                let again = self.lab.replay(&run.schedule, Detail::Events);
                tried.executions += 1;
                if fails_so(&again.outcome, group.failure) {
                    return Some((again, fill));
                }
            }
            if fill == 0 {
                match (&run.outcome, kept) {
                    (_, Kept::Contradicted { .. }) => tried.contradicted += 1,
                    (Outcome::Failed(_), _) => tried.other_failures += 1,
                    (Outcome::Exited { .. }, _) => tried.passed += 1,
                    (Outcome::Discarded | Outcome::Inconclusive { .. }, _) => {
                        tried.inconclusive += 1;
                    }
                }
            }
            if !self.lab.may_go_on() {
                break;
            }
        }
        None
    }
}

fn fails_so(outcome: &Outcome, failure: FailureSite) -> bool {
    outcome.failure().is_some_and(|found| FailureSite::from(&found.id()) == failure)
}
