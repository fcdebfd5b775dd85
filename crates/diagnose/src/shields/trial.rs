//! The same schedules with and without shields.

use rustc_hash::FxHashMap;
use unravel_results::{Evidence, Kept, Vanished};
use unravel_trace::{Rng, Shield, Trace};

use super::ground::Ground;
use crate::budgets::{FEWEST_FAILURES, SHORT_RUN};
use crate::points::Extents;
use crate::world::{Ending, Mode};

/// What came of schedules with shields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trial {
    /// Schedules that kept the shields to their end.
    tried: u64,
    /// Whether all schedules of the trial were executed.
    complete: bool,
    failed: u64,
    otherwise: u64,
    passed: u64,
    /// Of the same schedules without shields.
    failed_without: u64,
    /// Schedules that fail otherwise because this failure is gone, which ended them before: as many as others have of them.
    behind: u64,
    /// Schedules that fail otherwise, but for those and what chance makes.
    instead: u64,
    /// Whether the failing run itself, followed as far as the shields let it, passes.
    pub follows: bool,
    /// A schedule that fails in spite of them.
    pub failed_in: Option<u64>,
}

impl Trial {
    /// Whether no schedule failed any more, while several would have. A trial that was cut short shows nothing, and one failure
    /// that is not there may be chance.
    pub fn is_gone(&self) -> bool {
        self.complete
            && self.failed == 0
            && self.failed_without >= FEWEST_FAILURES
            && self.passed > 0
            && self.passed >= (self.failed_without - self.behind) / 2
            && self.instead <= self.tried / 10
    }

    /// The same, and no other failure has come instead of it.
    pub fn is_clean(&self) -> bool {
        self.is_gone() && self.instead == 0
    }

    /// Whether nothing fails any more, whatever else the program suffers from.
    pub fn is_silent(&self) -> bool {
        self.failed == 0 && self.otherwise == 0
    }

    /// Whether fewer other failures are left than with another, more than chance makes of the same.
    pub fn leaves_fewer(&self, other: &Trial) -> bool {
        self.otherwise + other.otherwise.isqrt() < other.otherwise
    }

    /// Whether as few other failures are left as with another, as far as chance lets one tell.
    pub fn leaves_as_few(&self, other: &Trial) -> bool {
        self.otherwise <= other.otherwise + other.otherwise.isqrt()
    }

    /// Whether it is gone, while every one would have failed.
    pub fn is_gone_of_all(&self) -> bool {
        self.is_gone() && self.failed_without == self.tried
    }

    /// Whether this failure is gone, and another has come instead of it.
    pub fn is_other(&self) -> bool {
        self.complete
            && self.failed == 0
            && self.failed_without >= FEWEST_FAILURES
            && self.passed > 0
            && self.instead > 0
    }

    /// Whether it is worth a thorough trial.
    pub fn is_promising(&self) -> bool {
        self.complete && self.failed == 0 && self.passed > 0
    }

    /// Failures that are left, of a thousand.
    pub fn share(&self) -> u64 {
        (self.failed + self.otherwise) * 1000 / self.failed_without.max(1)
    }

    pub fn helps(&self) -> bool {
        self.failed * 5 <= self.failed_without * 4
    }

    pub fn vanished(&self) -> Vanished {
        Vanished { tried: self.tried, failed_without: self.failed_without }
    }

    pub fn evidence(&self, kept: Vec<Kept>) -> Evidence {
        Evidence::Shielded { kept, tried: self.tried, failed_without: self.failed_without }
    }
}

/// How many schedules end with another failure.
#[derive(Clone, Copy, Debug, Default)]
struct Other {
    with: u64,
    without: u64,
}

impl Other {
    /// A run ends at its first failure, so in a program with several bugs each hides the others: of the schedules that `failed` at
    /// hand, as large a part would fail so as of those that are `left`.
    fn behind(&self, failed: u64, left: u64) -> u64 {
        (failed * self.without).checked_div(left).unwrap_or(0)
    }

    /// How many more there are with shields than that says, by more than chance.
    fn instead(&self, failed: u64, left: u64) -> u64 {
        let expected = self.without + self.behind(failed, left);
        self.with.saturating_sub(expected + 2 * expected.isqrt())
    }
}

/// Tries shields on one ground.
pub struct Trials<'t> {
    ground: &'t mut dyn Ground,
    /// By number of the schedule: how it ends without shields.
    without: Vec<Ending>,
}

impl<'t> Trials<'t> {
    pub fn new(ground: &'t mut dyn Ground) -> Trials<'t> {
        Trials { ground, without: Vec::new() }
    }

    /// Whether some schedule of a quick trial fails, so that shields can show anything.
    pub fn is_telling(&mut self) -> bool {
        (0..self.ground.size().0).any(|number| self.without(number) == Ending::Failed)
    }

    pub fn may_go_on(&self) -> bool {
        self.ground.may_go_on()
    }

    pub fn extents(&self) -> &Extents {
        self.ground.extents()
    }

    /// Enough to see that a shield does not help.
    pub fn quickly(&mut self, shields: &[Shield]) -> Trial {
        self.first(shields, self.ground.size().0)
    }

    pub fn thoroughly(&mut self, shields: &[Shield]) -> Trial {
        self.first(shields, self.ground.size().1)
    }

    fn first(&mut self, shields: &[Shield], most: u64) -> Trial {
        let mut trial = Trial::default();
        let mut others: FxHashMap<u64, Other> = FxHashMap::default();
        for number in 0..most {
            if !self.may_go_on() {
                break;
            }
            let without = self.without(number);
            let with = self.ground.end(shields, self.mode(number));
            trial.complete = number + 1 == most;
            if with == Ending::Unknown {
                continue;
            }
            trial.tried += 1;
            match without {
                Ending::Failed => trial.failed_without += 1,
                Ending::FailedOtherwise(which) => others.entry(which).or_default().without += 1,
                Ending::Passed | Ending::Unknown => {}
            }
            match with {
                Ending::Passed => trial.passed += 1,
                Ending::Failed => {
                    trial.failed += 1;
                    trial.failed_in.get_or_insert(number);
                }
                Ending::FailedOtherwise(which) => {
                    trial.otherwise += 1;
                    others.entry(which).or_default().with += 1;
                }
                Ending::Unknown => {}
            }
            if number == 0 {
                trial.follows = with == Ending::Passed;
                if with == Ending::Failed {
                    break;
                }
            }
        }
        let (failed, left) = (trial.failed_without, trial.tried - trial.failed_without);
        trial.behind = others.values().map(|other| other.behind(failed, left)).sum();
        trial.instead = others.values().map(|other| other.instead(failed, left)).sum();
        trial
    }

    fn mode(&self, number: u64) -> Mode {
        mode(number, self.ground.length())
    }

    fn without(&mut self, number: u64) -> Ending {
        while self.without.len() as u64 <= number {
            let ending = self.ground.end(&[], self.mode(self.without.len() as u64));
            self.without.push(ending);
        }
        self.without[number as usize]
    }

    /// The events of a schedule that fails in spite of shields.
    pub fn failing_trace(&mut self, shields: &[Shield], number: u64) -> Option<Trace> {
        self.ground.trace(shields, self.mode(number), Ending::Failed)
    }

    /// The events of the failing run as far as shields let it, if it passes then.
    pub fn passing_trace(&mut self, shields: &[Shield]) -> Option<Trace> {
        self.ground.trace(shields, self.mode(0), Ending::Passed)
    }

    /// The events of some schedules that pass with shields.
    pub fn passing_traces(&mut self, shields: &[Shield], most: usize) -> Vec<Trace> {
        let mut traces = Vec::new();
        for number in 0..self.ground.size().0 {
            if traces.len() >= most || !self.may_go_on() {
                break;
            }
            traces.extend(self.ground.trace(shields, self.mode(number), Ending::Passed));
        }
        traces
    }

    /// How many schedules kept the shields, if every one of them fails so.
    pub fn always(&mut self, shields: &[Shield]) -> Option<u64> {
        self.never_passes(shields)
            .filter(|(_, otherwise)| *otherwise == 0)
            .map(|(failed, _)| failed)
    }

    /// How many schedules kept the shields and fail so, and how many fail otherwise, if none passes. Where most of them cannot be
    /// followed, or are refused by an assumption, that none passes says nothing.
    pub fn never_passes(&mut self, shields: &[Shield]) -> Option<(u64, u64)> {
        let (mut failed, mut otherwise, mut unknown) = (0, 0, 0);
        for number in 0..self.ground.size().1 {
            if !self.may_go_on() {
                return None;
            }
            match self.ground.end(shields, self.mode(number)) {
                Ending::Failed => failed += 1,
                Ending::Unknown => unknown += 1,
                Ending::FailedOtherwise(_) => otherwise += 1,
                Ending::Passed => return None,
            }
        }
        let is_told = failed >= FEWEST_FAILURES && unknown <= failed + otherwise;
        is_told.then_some((failed, otherwise))
    }
}

/// The failing run itself, then schedules near to it and far from it in turn. Near is a matter of how often it is left, whatever its
/// length: what fails rarely would hardly fail in any schedule that leaves a long run every fifty events.
fn mode(number: u64, length: usize) -> Mode {
    let seed = Rng::derive(0x5e1d, number);
    let of = if length > SHORT_RUN { length as u32 } else { 100 };
    match number % 8 {
        _ if number == 0 => Mode::Follow,
        0 | 1 => Mode::Wander { seed, leave: 2, of },
        2 => Mode::Wander { seed, leave: 8, of },
        3 => Mode::Wander { seed, leave: 25, of },
        4 => Mode::Random { seed, stay: 0 },
        5 => Mode::Random { seed, stay: 70 },
        6 => Mode::Random { seed, stay: 93 },
        _ => Mode::Random { seed, stay: 50 },
    }
}
