//! Iterative context bounding (Musuvathi, Qadeer: *Iterative context bounding for systematic testing of multithreaded
//! programs*, PLDI 2007): first all schedules without a preemption, then all with one, with two, …
//!
//! A schedule is the run-to-block order with deviations: at this event this thread instead, to this question that answer.
//! Each run follows its deviations and then the order, and what could be done otherwise after the last of them is put
//! on the list: a thread where the current one cannot go on, and an answer, for this bound; a thread where it could,
//! which is a preemption, for the next. So every schedule is executed once, fewest preemptions first. Most bugs need
//! few.
//!
//! It does not look at what events do: schedules that differ in the order of independent events count each. The list
//! has a limit; what does not fit is left out, and said to be.

use unravel_trace::{
    Choice, LeftOut, Method, Outcome, Question, Run, Scheduler, ThreadId, View, Why,
};

use crate::budgets::MOST_DEVIATIONS;
use crate::run_to_block::next_in_order;
use crate::systematic::{Count, Counted, Systematic};

/// Schedules with few preemptions first.
#[derive(Debug)]
pub struct Bounding {
    most_preemptions: Option<u32>,
    lane: u32,
    lanes: u32,
    /// How many deviations of the first run were met.
    met: u32,
    kept: Kept,
    /// Schedules to execute with the present number of preemptions, each by its last deviation.
    now: Vec<u32>,
    /// The same with one more.
    later: Vec<u32>,
    preemptions: u32,
    /// The fewest preemptions of a schedule that did not fit into the list.
    dropped: Option<u32>,
    run: Underway,
    count: Count,
    ended: bool,
}

/// The run that is being executed.
#[derive(Debug, Default)]
struct Underway {
    /// Its last deviation; `None` of the first run, which has none.
    last: Option<u32>,
    deviations: Vec<Deviation>,
    /// How many of them it has come to.
    done: usize,
    /// Events before the present decision.
    events: u32,
    questions: u32,
    diverged: bool,
}

/// Something else than run-to-block would do.
#[derive(Clone, Copy, Debug)]
struct Deviation {
    /// Events before it.
    events: u32,
    what: Otherwise,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Otherwise {
    Thread(u32),
    /// To the question of this number in the run.
    Answer {
        question: u32,
        answer: u32,
    },
}

impl Bounding {
    /// One of several lanes; the only one is lane 0 of 1.
    pub fn new(most_preemptions: Option<u32>, lane: u32, lanes: u32) -> Bounding {
        Bounding {
            most_preemptions,
            lane,
            lanes: lanes.max(1),
            met: 0,
            kept: Kept::default(),
            now: Vec::new(),
            later: Vec::new(),
            preemptions: 0,
            dropped: None,
            run: Underway::default(),
            count: Count::default(),
            ended: false,
        }
    }

    /// Puts a schedule on the list: the present one up to here, and then this.
    fn put(&mut self, what: Otherwise, preempts: bool) {
        if self.run.last.is_none() {
            // The first deviation decides the lane.
            let number = self.met;
            self.met += 1;
            if number % self.lanes != self.lane {
                return;
            }
        }
        let preemptions = self.preemptions + u32::from(preempts);
        if self.most_preemptions.is_some_and(|most| preemptions > most) {
            return;
        }
        let deviation = Deviation { events: self.run.events, what };
        match self.kept.add(self.run.last, deviation) {
            Some(kept) if preempts => self.later.push(kept),
            Some(kept) => self.now.push(kept),
            None => self.dropped = Some(self.dropped.map_or(preemptions, |d| d.min(preemptions))),
        }
    }

    /// Turns to the next schedule on the list.
    fn turn(&mut self) {
        if self.now.is_empty() && !self.later.is_empty() {
            std::mem::swap(&mut self.now, &mut self.later);
            self.preemptions += 1;
        }
        let next = self.now.pop();
        self.ended = next.is_none();
        let run = &mut self.run;
        run.deviations.clear();
        let mut at = next;
        while let Some(deviation) = at {
            run.deviations.push(self.kept.all[deviation as usize].deviation);
            at = self.kept.all[deviation as usize].before;
        }
        run.deviations.reverse();
        (run.last, run.done, run.questions, run.diverged) = (next, 0, 0, false);
    }

    /// All schedules with so many preemptions were executed.
    fn bound(&self) -> Option<u32> {
        let done = match (self.ended, self.most_preemptions) {
            (true, Some(most)) => Some(most),
            (true, None) => Some(self.preemptions),
            (false, _) => self.preemptions.checked_sub(1),
        };
        match self.dropped {
            Some(dropped) => dropped.checked_sub(1).min(done),
            None => done,
        }
    }
}

/// The scheduler of one run.
struct Follow<'a>(&'a mut Bounding);

impl Scheduler for Follow<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let search = &mut *self.0;
        let can_go_on = view.current_is_enabled() && view.why != Why::Yielded;
        let usual = if can_go_on { view.current } else { next_in_order(view) };
        search.run.events = view.events as u32;
        let events = search.run.events;
        let mut thread = usual;
        let next = search.run.deviations.get(search.run.done);
        if let Some(Deviation { what: Otherwise::Thread(other), events: at }) = next
            && *at == events
        {
            thread = ThreadId(*other);
            search.run.done += 1;
            if !view.is_enabled(thread) {
                search.run.diverged = true;
                return Choice { thread: usual, events: 0 };
            }
        } else if next.is_none() {
            for candidate in view.enabled.iter().filter(|c| c.thread != usual) {
                search.put(Otherwise::Thread(candidate.thread.0), can_go_on);
            }
        }
        let events = match search.run.deviations.get(search.run.done) {
            Some(Deviation { what: Otherwise::Thread(_), events: at }) => {
                at.saturating_sub(events).max(1)
            }
            Some(Deviation { what: Otherwise::Answer { .. }, events: at }) => {
                (at + 1).saturating_sub(events).max(1)
            }
            None => 1,
        };
        Choice { thread, events }
    }

    fn choose(&mut self, _what: Question, options: u32) -> u32 {
        let search = &mut *self.0;
        let number = search.run.questions;
        search.run.questions += 1;
        match search.run.deviations.get(search.run.done) {
            Some(Deviation { what: Otherwise::Answer { question, answer }, .. })
                if *question == number =>
            {
                search.run.done += 1;
                *answer
            }
            Some(_) => 0,
            None => {
                for answer in 1..options {
                    search.put(Otherwise::Answer { question: number, answer }, false);
                }
                0
            }
        }
    }
}

impl Systematic for Bounding {
    fn scheduler(&mut self) -> Option<Box<dyn Scheduler + '_>> {
        if self.ended { None } else { Some(Box::new(Follow(self))) }
    }

    fn learn(&mut self, run: &Run) -> Counted {
        let diverged = self.run.diverged || self.run.done < self.run.deviations.len();
        let counted = match run.outcome {
            _ if self.run.last.is_none() && self.lane != 0 => Counted::NotMine,
            _ if diverged => Counted::Cut,
            Outcome::Inconclusive { .. } => Counted::Cut,
            _ => Counted::New,
        };
        if diverged {
            self.count.leave_out(LeftOut::Unrepeated);
        }
        if let Some(last) = self.run.last {
            self.kept.release(last);
        }
        self.turn();
        self.count.add(run, counted)
    }

    fn summary(&self) -> unravel_trace::Reached {
        let mut summary = self.count.summary(Method::Bounded, self.ended, self.bound());
        if let Some(dropped) = self.dropped {
            summary
                .left_out
                .push(LeftOut::Preemptions { from: dropped, kept: MOST_DEVIATIONS as u64 });
        }
        summary
    }
}

/// Deviations by number, each with the one before it. One is forgotten when its schedule was executed and nothing comes
/// after it any more.
#[derive(Debug, Default)]
struct Kept {
    all: Vec<Link>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Link {
    deviation: Deviation,
    before: Option<u32>,
    /// Deviations that come after it, and itself while its schedule was not executed.
    users: u32,
}

impl Kept {
    /// `None` if there is no room.
    fn add(&mut self, before: Option<u32>, deviation: Deviation) -> Option<u32> {
        let link = Link { deviation, before, users: 1 };
        let index = match self.free.pop() {
            Some(index) => {
                self.all[index as usize] = link;
                index
            }
            None if self.all.len() >= MOST_DEVIATIONS => return None,
            None => {
                self.all.push(link);
                self.all.len() as u32 - 1
            }
        };
        if let Some(before) = before {
            self.all[before as usize].users += 1;
        }
        Some(index)
    }

    fn release(&mut self, index: u32) {
        let mut at = Some(index);
        while let Some(index) = at {
            let link = &mut self.all[index as usize];
            link.users -= 1;
            if link.users > 0 {
                return;
            }
            self.free.push(index);
            at = link.before;
        }
    }
}
