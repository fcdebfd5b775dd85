//! Tinertia (Jalbert & Sen, *A Trace Simplification Technique for Effective Debugging of Concurrent Programs*, FSE 2010),
//! its algorithm 1: backward *remove last*, forward two-stage *consolidate up*, backward *consolidate down*, until the number
//! of switches stops falling.
//!
//! Deviations. Candidates are evaluated on the symbolic trace where that can tell how they end ([`crate::foresight`]), and
//! executed only where it cannot; what was evaluated is executed once at the end of each pass, and if that disagrees everything
//! is executed from then on. Without a symbolic trace every candidate is executed, as in the paper.
//!
//! At an equal number of switches fewer preemptions are better. Two operations of ours are for them: a turn that is
//! preempted goes on until it cannot (*stay*), or comes after some of the next ones, which then may block its thread or be
//! blocked by it (*defer*).

use std::rc::Rc;

use unravel_trace::{Capability, Detail};

use crate::Removed;
use crate::budgets::{DEFER, DEFERRED, EVALUATION, MODELLED_EVENTS};
use crate::course::{Candidate, Course};
use crate::foresight::{Foreseen, Foresight, Modelled};
use crate::trial::Trial;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pass {
    RemoveLast,
    ConsolidateUp,
    ConsolidateDown,
    Stay,
    Defer,
}

impl Pass {
    const ALL: [Pass; 5] =
        [Pass::RemoveLast, Pass::ConsolidateUp, Pass::ConsolidateDown, Pass::Stay, Pass::Defer];

    /// Where it is noted what it took away.
    fn removed(self, removed: &mut Removed) -> &mut usize {
        match self {
            Pass::RemoveLast => &mut removed.remove_last,
            Pass::ConsolidateUp => &mut removed.consolidate_up,
            Pass::ConsolidateDown => &mut removed.consolidate_down,
            Pass::Stay => &mut removed.stay,
            Pass::Defer => &mut removed.defer,
        }
    }
}

/// The same failure, locally minimal.
pub(crate) fn tinertia(trial: &mut Trial<'_>, course: Course) -> Course {
    // Where the environment deviates is not modelled.
    let blind = trial.deviations > 0;
    let confirmed = course.clone();
    let mut tinertia =
        Tinertia { trial, course, confirmed, is_confirmed: true, modelled: None, blind, walked: 0 };
    loop {
        let before = tinertia.confirmed.switches().cost();
        tinertia.trial.counts.iterations += 1;
        for pass in Pass::ALL {
            let switches = tinertia.confirmed.switches().all();
            tinertia.pass(pass);
            tinertia.confirm();
            let left = tinertia.confirmed.switches().all();
            *pass.removed(&mut tinertia.trial.counts.removed) += switches.saturating_sub(left);
        }
        if tinertia.confirmed.switches().cost() >= before || !tinertia.may_go_on() {
            return tinertia.confirmed;
        }
    }
}

struct Tinertia<'t, 'a> {
    trial: &'t mut Trial<'a>,
    course: Course,
    /// The last course that was executed.
    confirmed: Course,
    is_confirmed: bool,
    /// The model of the paths that `course` takes.
    modelled: Option<Rc<Modelled>>,
    /// Evaluation is of no use here.
    blind: bool,
    walked: u64,
}

/// What became of a candidate.
enum Tried {
    Kept,
    /// Kept, and it takes other paths than the model has.
    KeptElsewhere,
    /// `reached`: how far its first turn that differs got, if it was stopped.
    Refused {
        reached: Option<u32>,
    },
}

impl Tinertia<'_, '_> {
    fn may_go_on(&mut self) -> bool {
        self.trial.left > 0 && self.walked < EVALUATION && self.trial.may_go_on()
    }

    /// One pass over the turns. It is interrupted where the model has to be made anew.
    fn pass(&mut self, pass: Pass) {
        let mut at = match pass {
            Pass::RemoveLast | Pass::ConsolidateDown => self.course.turns.len(),
            Pass::ConsolidateUp | Pass::Stay | Pass::Defer => self.trial.fixed,
        };
        loop {
            self.model();
            let modelled = self.modelled.clone();
            let mut foresight = modelled.as_deref().map(Foresight::new);
            let done = match pass {
                Pass::RemoveLast => self.remove_last(&mut at, &mut foresight),
                Pass::ConsolidateUp => self.consolidate_up(&mut at, &mut foresight),
                Pass::ConsolidateDown => self.consolidate_down(&mut at, &mut foresight),
                Pass::Stay => self.stay(&mut at, &mut foresight),
                Pass::Defer => self.defer(&mut at, &mut foresight),
            };
            self.walked += foresight.map_or(0, |f| f.walked);
            if done {
                return;
            }
            self.modelled = None;
        }
    }

    /// Makes the model of the present course, if there is none.
    fn model(&mut self) {
        if self.blind || self.modelled.is_some() || self.course.events() > MODELLED_EVENTS {
            return;
        }
        if !self.trial.lab.can(Capability::Symbolic) {
            self.blind = true;
            return;
        }
        let schedule = self.course.schedule(self.trial.lab.visible());
        let (run, course) = self.trial.replay(&schedule, Detail::Symbolic);
        let modelled = course.and_then(|course| {
            let modelled = Modelled::new(&run, &course)?;
            (course.switches() == self.course.switches()).then_some((course, modelled))
        });
        match modelled {
            Some((mut course, modelled)) => {
                // What comes after the decision is not simplified: it may be otherwise, or not happen at all.
                let events = course.events();
                course.truncate(modelled.decided);
                self.is_confirmed &= course.events() == events;
                self.course = course;
                self.modelled = Some(Rc::new(modelled));
            }
            None => self.blind = true,
        }
    }

    /// Each thread's last turn goes, from the last to the first; true when through.
    fn remove_last(&mut self, at: &mut usize, foresight: &mut Option<Foresight<'_>>) -> bool {
        let fixed = self.trial.fixed;
        while *at > fixed && self.may_go_on() {
            *at = (*at - 1).min(self.course.turns.len() - 1);
            let is_last = self.course.next_of(*at).is_none();
            if !is_last || *at < fixed || self.course.turns.len() < 2 {
                continue;
            }
            let candidate = Candidate::without(&self.course, *at);
            if let Tried::KeptElsewhere = self.attempt(&candidate, false, foresight) {
                return false;
            }
        }
        true
    }

    /// Each turn takes the next of its thread up; if that fails, as much of it as it can execute.
    fn consolidate_up(&mut self, at: &mut usize, foresight: &mut Option<Foresight<'_>>) -> bool {
        while *at < self.course.turns.len() && self.may_go_on() {
            let Some(next) = self.course.next_of(*at) else {
                *at += 1;
                continue;
            };
            let upto = self.course.turns[next].upto;
            let candidate = Candidate::prolonged(&self.course, *at, upto);
            let reached = match self.attempt(&candidate, false, foresight) {
                Tried::Kept => continue,
                Tried::KeptElsewhere => return false,
                Tried::Refused { reached } => reached,
            };
            let further = reached.filter(|to| *to > self.course.turns[*at].upto);
            *at += 1;
            if let Some(to) = further {
                let candidate = Candidate::prolonged(&self.course, *at - 1, to);
                if let Tried::KeptElsewhere = self.attempt(&candidate, true, foresight) {
                    return false;
                }
            }
        }
        true
    }

    /// Each turn takes the one before of its thread down to it.
    fn consolidate_down(&mut self, at: &mut usize, foresight: &mut Option<Foresight<'_>>) -> bool {
        let fixed = self.trial.fixed;
        while *at > fixed && self.may_go_on() {
            *at = (*at - 1).min(self.course.turns.len() - 1);
            let previous = self.course.previous_of(*at).filter(|previous| *previous >= fixed);
            let Some(previous) = previous else { continue };
            let candidate = Candidate::without(&self.course, previous);
            if let Tried::KeptElsewhere = self.attempt(&candidate, false, foresight) {
                return false;
            }
        }
        true
    }

    /// Each turn that is preempted goes on until it cannot.
    fn stay(&mut self, at: &mut usize, foresight: &mut Option<Foresight<'_>>) -> bool {
        while *at + 1 < self.course.turns.len() && self.may_go_on() {
            *at += 1;
            if self.course.forced[*at - 1] {
                continue;
            }
            let candidate = Candidate::uninterrupted(&self.course, *at - 1);
            if let Tried::KeptElsewhere = self.attempt(&candidate, false, foresight) {
                return false;
            }
        }
        true
    }

    /// Each turn that is preempted comes later.
    fn defer(&mut self, at: &mut usize, foresight: &mut Option<Foresight<'_>>) -> bool {
        let until = self.trial.counts.executed + DEFERRED;
        while *at + 1 < self.course.turns.len() {
            let mut kept = false;
            let last = (*at + DEFER).min(self.course.turns.len() - 1);
            for to in *at + 1..=last {
                if self.course.forced[*at] || kept {
                    break;
                }
                if self.trial.counts.executed >= until || !self.may_go_on() {
                    return true;
                }
                let Some(candidate) = Candidate::deferred(&self.course, *at, to) else { break };
                match self.attempt(&candidate, false, foresight) {
                    Tried::Kept => kept = true,
                    Tried::KeptElsewhere => return false,
                    Tried::Refused { .. } => {}
                }
            }
            if !kept {
                *at += 1;
            }
        }
        true
    }

    /// Evaluates a candidate, or executes it. It is kept if it is better, or `equal` will do and it is no worse.
    fn attempt(
        &mut self,
        candidate: &Candidate,
        equal: bool,
        foresight: &mut Option<Foresight<'_>>,
    ) -> Tried {
        let cost = self.course.switches().cost();
        let is_better = |course: &Course| {
            let found = course.switches();
            found.all() <= candidate.switches()
                && (found.cost() < cost || equal && found.cost() == cost)
        };
        if let Some(foresight) = foresight {
            self.trial.counts.evaluated += 1;
            match foresight.foresee(&self.course, candidate) {
                Foreseen::Fails(course) if is_better(&course) => {
                    self.course = course;
                    self.is_confirmed = false;
                    self.trial.switches = self.course.switches().all();
                    return Tried::Kept;
                }
                Foreseen::Fails(_) => return Tried::Refused { reached: None },
                Foreseen::Not { reached } => return Tried::Refused { reached },
                Foreseen::Unknown => {}
            }
        }
        match self.trial.attempt(&self.course, candidate) {
            Some(course) if is_better(&course) => {
                self.course = course.clone();
                self.confirmed = course;
                self.is_confirmed = true;
                self.trial.switches = self.course.switches().all();
                if foresight.is_some() { Tried::KeptElsewhere } else { Tried::Kept }
            }
            _ => Tried::Refused { reached: None },
        }
    }

    /// Executes what was only evaluated. If it is not as foreseen, all that follows is executed.
    fn confirm(&mut self) {
        if self.is_confirmed {
            return;
        }
        self.is_confirmed = true;
        let schedule = self.course.schedule(self.trial.lab.visible());
        let (_, course) = self.trial.replay(&schedule, Detail::Outcome);
        match course {
            Some(course) if course.switches().all() <= self.course.switches().all() => {
                // The model knows its own threads; which switches were forced, execution knows better.
                if course.turns.len() == self.course.turns.len() {
                    self.course.forced.clone_from(&course.forced);
                } else {
                    self.modelled = None;
                    self.course = course.clone();
                }
                self.confirmed = course;
            }
            _ => {
                self.course = self.confirmed.clone();
                self.modelled = None;
                self.blind = true;
            }
        }
        self.trial.switches = self.confirmed.switches().all();
    }
}
