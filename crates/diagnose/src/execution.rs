//! The world of execution: every schedule that is tried is run.

use rustc_hash::FxHashMap;
use unravel_execute::{Course, Laboratory, Shielded};
use unravel_results::Observed;
use unravel_strategies::{Guesses, Guessing};
use unravel_trace::{
    BugId, Detail, EventKind, Key, Keys, Nondet, Note, Outcome, Run, Schedule, Shield, Step, Trace,
    Want,
};

use crate::points::{Extents, Point, Touch, replay_points};
use crate::relevance::Relevance;
use crate::steer::{Positions, Steer};
use crate::world::{Ending, Mode, Order, Tried, World, ending_of};

/// Tries schedules by running them.
pub struct Execution<'s, 'a> {
    lab: &'s mut Laboratory<'a>,
    bug: BugId,
    keys: Keys,
    fails_otherwise: bool,
    gives_up: bool,
    /// What the failing run guessed ([`Guessing`]).
    guessed: Vec<u64>,
    failing: Vec<Point>,
    positions: Positions,
    choices: Vec<u32>,
    extents: Extents,
    /// What atomic sections of the failing run do.
    sections: FxHashMap<Key, Touch>,
    relevance: Relevance,
}

impl<'s, 'a> Execution<'s, 'a> {
    /// `failing` is the failing run with its events, `steps` what belongs to each of its points,
    /// `relevance` what its failure depends on.
    pub fn new(
        lab: &'s mut Laboratory<'a>,
        failing: &Observed,
        steps: &[Step],
        relevance: Relevance,
    ) -> Execution<'s, 'a> {
        let bug = failing.outcome.failure().map(|f| f.id()).expect("a failing run is diagnosed");
        let mut keys = Keys::default();
        let (run, mut points) = replay_points(lab, &failing.schedule, &mut keys, Detail::Outcome);
        let mut extents = extents(&failing.trace);
        let mut sections = FxHashMap::default();
        for (point, step) in points.iter_mut().zip(steps) {
            // The scheduler sees only where an atomic section begins.
            if step.events > 1 && point.touch == Touch::Nothing {
                point.touch = extents.touch(&failing.trace, &failing.trace.events[step.range()]);
                sections.insert(point.key, point.touch);
            }
        }
        Execution {
            positions: Positions::new(&points),
            failing: points,
            choices: failing.schedule.choices.clone(),
            extents,
            sections,
            relevance,
            lab,
            bug,
            keys,
            fails_otherwise: false,
            gives_up: false,
            guessed: run.nondet,
        }
    }

    /// The scheduler sees only where an atomic section begins; what it does is known from the failing run.
    fn name_sections(&self, points: &mut [Point]) {
        for point in points.iter_mut().filter(|p| p.touch == Touch::Nothing) {
            if let Some(touch) = self.sections.get(&point.key) {
                point.touch = *touch;
            }
        }
    }

    /// A run that keeps shields and otherwise does as `mode` says. One that could not keep them says nothing.
    pub fn run_shielded(
        &mut self,
        shields: &[Shield],
        mode: Mode,
        detail: Detail,
    ) -> (Ending, Run) {
        let usual = shields.contains(&Shield::Usual);
        let forced = usual.then(|| self.lab.force(Vec::new()));
        let mut ended = self.shielded_once(shields, mode, detail, false);
        if ended.1.outcome == Outcome::Discarded {
            ended = self.shielded_once(shields, mode, detail, true);
        }
        if ended.1.outcome == Outcome::Discarded {
            ended = self.guessing_otherwise(shields, mode, detail, ended);
        }
        if let Some(forced) = forced {
            self.lab.force(forced);
        }
        ended
    }

    /// A run that an assumption ended, with other values for what it guessed: those of the failing run need not fit where threads
    /// come in another order.
    fn guessing_otherwise(
        &mut self,
        shields: &[Shield],
        mode: Mode,
        detail: Detail,
        mut ended: (Ending, Run),
    ) -> (Ending, Run) {
        // Drawn alike for the same schedule, whatever was tried before: a trial that is looked at again is the same run.
        let known = Guesses::that_passed(&self.guessed);
        let mut guessing = Guessing::new(&known, 0);
        let before = self.lab.guess(Nondet::List(self.guessed.clone()));
        while let Some(nondet) = guessing.again(&ended.1) {
            self.lab.guess(nondet);
            ended = self.shielded_once(shields, mode, detail, true);
        }
        self.lab.guess(before);
        ended
    }

    fn shielded_once(
        &mut self,
        shields: &[Shield],
        mode: Mode,
        detail: Detail,
        hasty: bool,
    ) -> (Ending, Run) {
        let steer = Steer::new(&mut self.keys, &[], &self.positions, &self.choices, mode).patient();
        let mut shielded = Shielded::new(if hasty { steer.hasty() } else { steer }, shields);
        let run = self.lab.run(&mut shielded, &mut (), Want::only(detail));
        let ending = match shielded.is_void() {
            true => Ending::Unknown,
            false => self.ended(&run),
        };
        (ending, run)
    }

    fn steer_once(&mut self, orders: &[Order], mode: Mode, hasty: bool) -> (Tried, Outcome) {
        let steer = Steer::new(&mut self.keys, orders, &self.positions, &self.choices, mode);
        let mut steer = if hasty { steer.hasty() } else { steer };
        let run = self.lab.run(&mut steer, &mut (), Want::only(Detail::Outcome));
        let mut points = steer.into_points();
        self.name_sections(&mut points);
        let ending = self.ended(&run);
        (Tried { points, ending, schedule: run.schedule }, run.outcome)
    }

    /// What a run means, and keeps in mind whether some schedule fails in another way, or gives up.
    fn ended(&mut self, run: &Run) -> Ending {
        let ending = ending_of(run, &self.bug);
        self.fails_otherwise |= matches!(ending, Ending::FailedOtherwise(_));
        self.gives_up |= run.notes.contains(&Note::GaveUp);
        ending
    }

    /// Whether in some schedule that was tried a thread ends the process with a code other than 0 before the others have ended.
    pub fn gives_up(&self) -> bool {
        self.gives_up
    }

    /// Whether some schedule that was tried fails in another way: then the order of the threads decides, though none passes.
    pub fn fails_otherwise(&self) -> bool {
        self.fails_otherwise
    }

    /// The failing run as it goes where the environment answers as it usually does, if it passes then.
    pub fn usual(&mut self, detail: Detail) -> Option<Observed> {
        let (ending, run) = self.run_shielded(&[Shield::Usual], Mode::Follow, detail);
        let passes = ending == Ending::Passed;
        passes.then_some(Observed {
            trace: run.trace,
            schedule: run.schedule,
            outcome: run.outcome,
        })
    }

    pub fn lab(&mut self) -> &mut Laboratory<'a> {
        self.lab
    }
}

impl World for Execution<'_, '_> {
    fn keys(&self) -> &Keys {
        &self.keys
    }

    fn failing(&self) -> &[Point] {
        &self.failing
    }

    fn relevance(&self) -> &Relevance {
        &self.relevance
    }

    fn extents(&self) -> &Extents {
        &self.extents
    }

    fn steer(&mut self, orders: &[Order], mode: Mode) -> Tried {
        let (tried, outcome) = self.steer_once(orders, mode, false);
        // What others do after the main thread has ended may be ruled out by an assumption, or fail in its own way: a process that
        // ends before that is a run, too.
        let is_cut =
            outcome == Outcome::Discarded || matches!(tried.ending, Ending::FailedOtherwise(_));
        let hasty = is_cut.then(|| self.steer_once(orders, mode, true).0);
        hasty.filter(|hasty| hasty.ending == Ending::Passed).unwrap_or(tried)
    }

    fn replay(&mut self, schedule: &Schedule) -> Tried {
        let (run, mut points) = replay_points(self.lab, schedule, &mut self.keys, Detail::Outcome);
        self.name_sections(&mut points);
        Tried { points, ending: self.ended(&run), schedule: run.schedule }
    }

    fn observe(&mut self, tried: &Tried, detail: Detail) -> Option<Observed> {
        let run = self.lab.replay(&tried.schedule, detail);
        let same = ending_of(&run, &self.bug) == tried.ending;
        same.then_some(Observed { trace: run.trace, schedule: run.schedule, outcome: run.outcome })
    }

    fn may_go_on(&self) -> bool {
        self.lab.may_go_on()
    }
}

/// The heap objects of a trace.
pub fn extents(trace: &Trace) -> Extents {
    let mut extents = Extents::default();
    for event in &trace.events {
        if let EventKind::Free { at } | EventKind::Alloc { at } = event.kind {
            let object = &trace.objects[trace.location(at).object.0 as usize];
            extents.add(object.address, object.bytes);
        }
    }
    for object in trace.objects.iter().filter(|o| o.site.is_some()) {
        extents.add(object.address, object.bytes);
    }
    extents
}
