//! One run of the search: along the path that leads to what is to be explored, then on from there.

use rustc_hash::FxHashSet;
use unravel_trace::{
    Choice, Deviation, Executed, Op, Question, Scheduler, SiteId, ThreadId, View, Why,
};

use super::footprint::{Access, accesses, is_global};
use super::threads::ThreadSet;
use super::tree::{Answer, Node, threads_of};
use super::{Exhaustive, Stop};
use crate::budgets::LONGEST;

/// The scheduler of one run.
#[derive(Debug)]
pub(super) struct Follow<'a>(pub &'a mut Exhaustive);

/// The step that is being executed, if it was not executed in the run before.
#[derive(Debug, Default)]
pub(super) struct Underway {
    /// The number of its event; 0 before the first.
    pub number: u64,
    /// Events so far that were part of the step before them, or of none: rounds of a busy wait.
    repeated: u64,
    /// How many questions it has asked.
    asked: usize,
    pub thread: u32,
    pub first: Option<(Op, SiteId)>,
    pub everything: bool,
    pub accesses: Vec<Access>,
    /// Those that are in the list: a thread that is alone may touch the same for long, in one step.
    listed: FxHashSet<Access>,
}

impl Underway {
    /// A new run begins.
    pub fn forget(&mut self) {
        self.number = 0;
        self.repeated = 0;
        self.asked = 0;
        self.first = None;
    }

    /// The step did not happen.
    pub fn skip(&mut self) {
        self.repeated += 1;
        self.number -= 1;
        self.asked = 0;
        self.first = None;
    }
}

impl Scheduler for Follow<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let search = &mut *self.0;
        search.sees_time |= !view.early.is_empty() || view.enabled.iter().any(|it| it.by_time);
        if search.runs_on {
            return search.any(view);
        }
        if let Why::Waits { steps } = view.why
            && let Some(choice) = search.came_round(view, steps)
        {
            return choice;
        }
        search.end_step();
        let depth = (view.events - search.underway.repeated) as usize;
        if depth < search.nodes.len() {
            let thread = search.nodes[depth].thread;
            if view.ready(ThreadId(thread)).is_none() {
                return search.stop(view, Stop::Diverged);
            }
            let same = search.nodes[depth..].iter().take_while(|node| node.thread == thread);
            return Choice { thread: ThreadId(thread), events: same.count() as u32 };
        }
        if depth != search.order.len() {
            return search.stop(view, Stop::Diverged);
        }
        search.descend(view)
    }

    fn choose(&mut self, _what: Question, options: u32) -> u32 {
        self.0.answer(options, false)
    }

    fn deviate(&mut self, _what: Deviation) -> bool {
        self.0.answer(2, true) == 1
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        let search = &mut *self.0;
        search.blind.observe(executed);
        if search.runs_on {
            return;
        }
        let Executed { thread, what, .. } = executed;
        search.underway.repeated += u64::from(executed.repeats);
        // The number of its step.
        let number = executed.number - search.underway.repeated;
        let index = number as usize - 1;
        let is_first = number != search.underway.number;
        if is_first {
            search.end_step();
            // What is asked before the first event belongs to it.
            if search.underway.number > 0 {
                search.underway.asked = 0;
            }
            search.underway.number = number;
        }
        if index < search.order.len() {
            let step = search.order.step(index as u32);
            if is_first && (step.thread != thread.0 || step.op != what.op || step.site != what.site)
            {
                search.stopped.get_or_insert(Stop::Diverged);
            }
            return;
        }
        let underway = &mut search.underway;
        if is_first {
            underway.thread = thread.0;
            underway.first = Some((what.op, what.site));
            let node = search.nodes.get(index);
            underway.everything = node.is_some_and(|node| node.by_time.contains(node.thread));
            underway.accesses.clear();
            underway.listed.clear();
        }
        underway.everything |= is_global(what.op);
        let Underway { accesses: list, listed, .. } = underway;
        list.extend(accesses(what).filter(|access| listed.insert(*access)));
    }
}

impl Exhaustive {
    /// The answer to a question of the present step.
    fn answer(&mut self, options: u32, deviates: bool) -> u32 {
        let at = self.underway.asked;
        self.underway.asked += 1;
        let index = (self.underway.number as usize).saturating_sub(1);
        let Some(node) = self.nodes.get_mut(index) else { return 0 };
        if let Some(known) = node.answers.get(at) {
            return known.answer;
        }
        // Beyond the bound there is one answer.
        let is_spent = deviates && node.deviations() >= self.bound;
        let options = if is_spent { 1 } else { options };
        node.answers.push(Answer { answer: 0, options, deviates });
        0
    }

    /// The step that was executed is over: all it did is known.
    pub(super) fn end_step(&mut self) {
        let Underway { number, thread, first, everything, accesses, .. } = &self.underway;
        let Some(first) = first else { return };
        if *number as usize != self.order.len() + 1 || self.nodes.len() <= self.order.len() {
            return;
        }
        self.order.push(*thread, *first, *everything, accesses);
        self.races.reverse_last(&self.order, &mut self.nodes);
    }

    /// The first time in a state: who goes on?
    fn descend(&mut self, view: &View<'_>) -> Choice {
        if self.nodes.len() >= LONGEST {
            return self.stop(view, Stop::TooLong);
        }
        let above = self.nodes.last();
        let spent = above.map_or(0, Node::deviations);
        let early = if spent < self.bound { view.early } else { &[] };
        let sets = (threads_of(view.enabled), threads_of(early), threads_of(view.early));
        let (Some(enabled), Some(early), Some(timed)) = sets else {
            return self.stop(view, Stop::TooManyThreads);
        };
        let (waits, resigned) = match (above, (self.order.len() as u32).checked_sub(1)) {
            (Some(above), Some(last)) => {
                let everything = self.order.step(last).everything;
                let waits = above.waits_after(self.order.accesses(last), everything);
                (waits, above.resigned.with(self.resigns))
            }
            _ => (Vec::new(), self.resigns),
        };
        let mut vain = resigned;
        waits.iter().for_each(|waits| vain.insert(waits.thread));
        let enabled = enabled.with(early).without(vain);
        self.enabled = enabled;
        if enabled.is_empty() {
            return self.run_on(view);
        }
        if self.lanes.is_root(&self.nodes) && !self.lanes.takes_next() {
            return self.stop(view, Stop::NotMine);
        }
        let sleep = match (above, (self.order.len() as u32).checked_sub(1)) {
            (Some(above), Some(last)) => {
                above.sleep_after(self.order.accesses(last), self.order.step(last).everything)
            }
            _ => Vec::new(),
        };
        let mut node = Node::new(enabled, sleep);
        (node.waits, node.vain, node.resigned) = (waits, vain, resigned);
        self.resigns = ThreadSet::default();
        (node.early, node.timed) = (early, timed);
        node.spent = spent;
        node.by_time = early;
        let by_time = view.enabled.iter().filter(|ready| ready.by_time);
        by_time.for_each(|ready| node.by_time.insert(ready.thread.0));
        let Some(thread) = self.guide.next(&node).or_else(|| awake(&node, view)) else {
            self.asleep = node.sleep;
            return self.stop(view, Stop::Asleep);
        };
        node.thread = thread;
        node.blocked = view.why == Why::Blocked && !view.current_is_enabled();
        node.level = above.map_or(0, |above| above.level) + u32::from(node.choices() > 1);
        if self.lanes.is_shared(above) {
            node.backtrack = enabled;
        } else {
            node.backtrack.insert(thread);
        }
        self.nodes.push(node);
        self.one_event(thread)
    }

    pub(super) fn one_event(&self, thread: u32) -> Choice {
        Choice { thread: ThreadId(thread), events: 1 }
    }

    pub(super) fn stop(&mut self, view: &View<'_>, why: Stop) -> Choice {
        self.stopped.get_or_insert(why);
        Choice { thread: view.enabled[0].thread, events: 0 }
    }

    /// Threads that are alive at the end of a run and none of these.
    pub(super) fn alive_but(&self, not: ThreadSet) -> impl Iterator<Item = u32> + use<'_> {
        (0..self.order.threads()).filter(move |thread| {
            let last = self.order.last_of(*thread).checked_sub(1);
            let lives = last.is_some_and(|step| self.order.step(step).op != Op::Exit);
            lives && !not.contains(*thread)
        })
    }
}

/// Who goes on, if anybody is awake: the youngest, so that the first run is one that other strategies hardly make.
pub(super) fn awake(node: &Node, view: &View<'_>) -> Option<u32> {
    let gives_way = matches!(view.why, Why::Yielded | Why::Waits { .. });
    let yielded = |thread: u32| gives_way && thread == view.current.0;
    let offered = view.enabled.iter().chain(view.early).map(|ready| ready.thread.0);
    let awake = offered.filter(|thread| node.is_awake(*thread));
    awake.max_by_key(|thread| (!node.early.contains(*thread), !yielded(*thread), *thread))
}
