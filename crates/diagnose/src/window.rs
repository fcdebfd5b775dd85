//! The end of a long run: what comes before is executed once, and only the last events are varied (design §14).

use serde::{Deserialize, Serialize};
use unravel_execute::{Branches, End, Laboratory, Shielded};
use unravel_results::Observed;
use unravel_trace::{
    BugId, Choice, Detail, Event, Forced, Mark, Op, Question, Ready, Rng, Run, Schedule, Scheduler,
    Shield, ThreadName, ThreadTag, Trace, View,
};

use crate::budgets::{WINDOW_SLACK, WINDOW_TRIAL};
use crate::execution::extents;
use crate::points::Extents;
use crate::shields::Ground;
use crate::world::{Ending, Mode, ending, ending_of};

/// What a copy of the run is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Task {
    shields: Vec<Shield>,
    /// How often the first and the later marks of orders were executed before.
    seen: Vec<(u32, u32)>,
    mode: Mode,
}

/// Tries shields in the last events of a run.
pub struct Window<'w, 'a> {
    lab: &'w mut Laboratory<'a>,
    branches: Option<Branches<Task>>,
    failing: &'w Observed,
    /// The first event of the trace that is varied.
    first: usize,
    bug: BugId,
    extents: Extents,
    /// The last schedule that kept shields, followed the failing run otherwise, and passed.
    pub passed: Option<Schedule>,
}

impl<'w, 'a> Window<'w, 'a> {
    /// `first` is the first event of the trace that is varied.
    pub fn new(
        lab: &'w mut Laboratory<'a>,
        failing: &'w Observed,
        first: usize,
    ) -> Option<Window<'w, 'a>> {
        let bug = failing.outcome.failure()?.id();
        // Not every event is one that a schedule counts: rather begin too early.
        let last = failing.trace.events.len().saturating_sub(first) + WINDOW_SLACK;
        let from = failing.schedule.events().saturating_sub(last as u64);
        let rest = Rest::new(&failing.schedule, from);
        let choices = failing.schedule.choices.clone();
        let branches = Branches::open(lab, &failing.schedule, from, |task: Task, asked| {
            let follow = Follow {
                rest: rest.clone(),
                mode: task.mode,
                rng: task.mode.rng(),
                choices: choices.get(asked..).map_or_else(Vec::new, <[u32]>::to_vec),
                asked: 0,
            };
            Shielded::new(follow, &task.shields).having_seen(task.seen)
        })
        .ok()?;
        let extents = extents(&failing.trace);
        let branches = Some(branches);
        Some(Window { lab, branches, failing, first, bug, extents, passed: None })
    }

    fn run(&mut self, shields: &[Shield], mode: Mode) -> Option<End> {
        let trace = &self.failing.trace;
        let count = |mark: Mark| {
            let before = trace.events[..self.first].iter();
            before.filter(|event| Mark::of_event(trace, event) == mark).count() as u32
        };
        let by = |of: ThreadTag, mark: Mark| {
            let is_it = |event: &&Event| {
                Mark::of_event(trace, event) == mark
                    && ThreadTag::of(trace.thread_name(event.thread)) == of
            };
            trace.events[..self.first].iter().filter(is_it).count() as u32
        };
        let seen = shields.iter().map(|shield| match shield {
            Shield::Order { first, .. } => (count(*first), 0),
            Shield::Turns { first, then, .. } => (count(*first), count(*then)),
            Shield::Between { first, of, .. } => (by(*of, *first), 0),
            Shield::Joined { by: of, before } => (by(*of, *before), 0),
            Shield::Atomic { .. } | Shield::Patient { .. } | Shield::Outlived | Shield::Usual => {
                (0, 0)
            }
        });
        let task = Task { shields: shields.to_vec(), seen: seen.collect(), mode };
        let end = self.branches.as_mut()?.end(&task, self.lab.limit());
        if end.is_none() && !self.lab.has_time() {
            self.branches = None;
        }
        end
    }

    fn ending(&self, end: Option<&End>) -> Ending {
        match end {
            Some(end) if !end.is_void => ending(&end.outcome, &self.bug),
            _ => Ending::Unknown,
        }
    }
}

impl Ground for Window<'_, '_> {
    fn end(&mut self, shields: &[Shield], mode: Mode) -> Ending {
        if shields.contains(&Shield::Usual) {
            // What was answered before the window stays answered.
            return Ending::Unknown;
        }
        let end = self.run(shields, mode);
        let ending = self.ending(end.as_ref());
        if mode == Mode::Follow && !shields.is_empty() && ending == Ending::Passed {
            self.passed = end.map(|end| end.schedule);
        }
        ending
    }

    fn trace(&mut self, shields: &[Shield], mode: Mode, expected: Ending) -> Option<Trace> {
        let end = self.run(shields, mode)?;
        let run = self.lab.replay(&end.schedule, Detail::Events);
        (ending_of(&run, &self.bug) == expected).then_some(run.trace)
    }

    /// The waits of a long run are long past where its copies go on from.
    fn woken(&mut self, _: Forced) -> Option<Run> {
        None
    }

    fn extents(&self) -> &Extents {
        &self.extents
    }

    fn may_go_on(&self) -> bool {
        self.branches.is_some() && self.lab.may_go_on()
    }

    fn length(&self) -> usize {
        self.failing.trace.events.len().saturating_sub(self.first)
    }

    fn size(&self) -> (u64, u64) {
        WINDOW_TRIAL
    }
}

/// Where the failing run had the events of each thread from some event on.
#[derive(Clone, Debug)]
struct Rest {
    threads: Vec<(ThreadName, Vec<u32>)>,
    taken: Vec<usize>,
}

impl Rest {
    fn new(schedule: &Schedule, from: u64) -> Rest {
        let mut threads: Vec<(ThreadName, Vec<u32>)> =
            schedule.threads.iter().map(|name| (name.clone(), Vec::new())).collect();
        let mut at = 0;
        for segment in &schedule.segments {
            let end = at + u64::from(segment.events);
            let inside = at.max(from)..end.max(from);
            threads[segment.thread as usize].1.extend(inside.map(|event| (event - from) as u32));
            at = end;
        }
        let taken = vec![0; threads.len()];
        Rest { threads, taken }
    }

    fn place(&self, name: &ThreadName) -> u32 {
        let at = self.threads.iter().position(|(other, _)| other == name);
        at.and_then(|at| self.threads[at].1.get(self.taken[at]).copied()).unwrap_or(u32::MAX)
    }

    fn take(&mut self, name: &ThreadName) {
        if let Some(at) = self.threads.iter().position(|(other, _)| other == name) {
            self.taken[at] += 1;
        }
    }
}

/// Follows the failing run by what each thread does next, and leaves it as it is told.
struct Follow {
    rest: Rest,
    mode: Mode,
    rng: Rng,
    choices: Vec<u32>,
    asked: usize,
}

impl Follow {
    fn pick(&mut self, view: &View<'_>, options: &[&Ready]) -> usize {
        let current = options.iter().position(|ready| ready.thread == view.current);
        if let Some(taken) = self.mode.leave(&mut self.rng, options.len(), current) {
            return taken;
        }
        let place = |index: &usize| self.rest.place(&view.names[options[*index].thread.index()]);
        (0..options.len()).min_by_key(place).expect("never without options")
    }
}

impl Scheduler for Follow {
    fn next(&mut self, view: &View<'_>) -> Choice {
        // The end of the process comes last, or it would hide what the other threads do.
        let going = view.enabled.iter().filter(|ready| ready.pending.op != Op::End);
        let going: Vec<&Ready> = going.collect();
        let options = if going.is_empty() { view.enabled.iter().collect() } else { going };
        let chosen = self.pick(view, &options);
        let thread = options[chosen].thread;
        self.rest.take(&view.names[thread.index()]);
        Choice { thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.asked += 1;
        match self.mode {
            Mode::Random { .. } => self.rng.below(options),
            _ => self.choices.get(self.asked - 1).copied().unwrap_or(0).min(options - 1),
        }
    }
}
