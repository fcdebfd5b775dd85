//! The path from the root of the search tree to where it is now. A node is a state in which a thread was chosen; what
//! hangs below it is explored by executing the program again.

use unravel_trace::{Ready, ThreadId};

use super::footprint::{Access, Footprint};
use super::guide::Guide;
use super::order::Order;
use super::sleep::Sleeper;
use super::threads::ThreadSet;

#[derive(Debug)]
pub(super) struct Node {
    /// Whose step is explored.
    pub thread: u32,
    pub enabled: ThreadSet,
    /// Who must be explored here. Grows while the search is below this node.
    pub backtrack: ThreadSet,
    /// How to go on with those of them who were not explored yet.
    pub guides: Vec<(u32, Guide)>,
    /// Who need not be explored here: what follows was explored elsewhere, or here before.
    pub asleep: ThreadSet,
    /// The same with what their steps did.
    pub sleep: Vec<Sleeper>,
    /// How many of them slept when the node was new.
    inherited: usize,
    /// Who waits busily, and for what (`waits.rs`); all who cannot do anything here; and who will not do anything any more.
    pub waits: Vec<Sleeper>,
    pub vain: ThreadSet,
    pub resigned: ThreadSet,
    /// The answers to the questions that the present step asks.
    pub answers: Vec<Answer>,
    /// What the present step did with other answers.
    otherwise: Option<Footprint>,
    /// The run ended in the present step.
    pub ends: bool,
    /// Who goes on by letting time pass, and for whom of these that is a deviation.
    pub by_time: ThreadSet,
    pub early: ThreadSet,
    /// Who could go on by a deviation, within the bound or not.
    pub timed: ThreadSet,
    /// Deviations on the way here.
    pub spent: u32,
    /// The thread that took the step before arrived at an event that it cannot execute.
    pub blocked: bool,
    /// How many nodes above have several threads to choose from.
    pub level: u32,
}

/// An answer to a question that a step asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub answer: u32,
    /// How many there are.
    pub options: u32,
    /// All but the first are deviations.
    pub deviates: bool,
}

impl Node {
    /// Deviations up to where the present step is.
    pub fn deviations(&self) -> u32 {
        let answers = self.answers.iter().filter(|answer| answer.deviates && answer.answer > 0);
        self.spent + u32::from(self.early.contains(self.thread)) + answers.count() as u32
    }

    pub fn new(enabled: ThreadSet, sleep: Vec<Sleeper>) -> Node {
        let mut asleep = ThreadSet::default();
        sleep.iter().for_each(|sleeper| asleep.insert(sleeper.thread));
        let inherited = sleep.len();
        Node {
            inherited,
            waits: Vec::new(),
            vain: ThreadSet::default(),
            resigned: ThreadSet::default(),
            thread: 0,
            enabled,
            backtrack: ThreadSet::default(),
            guides: Vec::new(),
            asleep,
            sleep,
            answers: Vec::new(),
            otherwise: None,
            ends: false,
            by_time: ThreadSet::default(),
            early: ThreadSet::default(),
            timed: ThreadSet::default(),
            spent: 0,
            blocked: false,
            level: 0,
        }
    }

    pub fn is_awake(&self, thread: u32) -> bool {
        self.enabled.contains(thread) && !self.asleep.contains(thread)
    }

    /// How many threads there are to choose from.
    pub fn choices(&self) -> u32 {
        self.enabled.without(self.asleep).len()
    }

    /// Those who sleep because they were explored from here.
    pub fn explored(&self) -> &[Sleeper] {
        &self.sleep[self.inherited..]
    }

    /// Whether nothing was explored from here yet.
    pub fn is_fresh(&self) -> bool {
        self.sleep.len() == self.inherited
    }

    /// A thread waits busily here.
    pub fn hinder(&mut self, waits: &Sleeper) {
        let mut one = ThreadSet::default();
        one.insert(waits.thread);
        if !self.vain.contains(waits.thread) {
            self.waits.push(waits.clone());
        }
        self.vain = self.vain.with(one);
        self.enabled = self.enabled.without(one);
        self.backtrack = self.backtrack.without(one);
    }

    /// Who still waits busily after a step that is explored from here.
    pub fn waits_after(&self, made: &[Access], everything: bool) -> Vec<Sleeper> {
        let still = |waits: &&Sleeper| {
            waits.thread != self.thread && !waits.footprint.depends_on(made, everything)
        };
        self.waits.iter().filter(still).cloned().collect()
    }

    /// Who sleeps in the state after a step that is explored from here.
    pub fn sleep_after(&self, made: &[Access], everything: bool) -> Vec<Sleeper> {
        let still = |sleeper: &&Sleeper| {
            sleeper.thread != self.thread && !sleeper.footprint.depends_on(made, everything)
        };
        self.sleep.iter().filter(still).cloned().collect()
    }

    /// How to go on with the present thread, if it was chosen for a race and is new here.
    pub fn take_guide(&mut self) -> Guide {
        let thread = self.thread;
        let at = self.guides.iter().position(|(chosen, _)| *chosen == thread);
        at.map_or_else(Guide::default, |at| self.guides.swap_remove(at).1)
    }

    /// Turns to what is to be explored next here; false if nothing is. `made` says what the present step did.
    fn turn(&mut self, made: impl FnOnce() -> Footprint) -> bool {
        while let Some(last) = self.answers.pop() {
            if last.answer + 1 < last.options {
                self.answers.push(Answer { answer: last.answer + 1, ..last });
                let made = Footprint { ends: self.ends, ..made() };
                self.otherwise.get_or_insert_default().add(made);
                return true;
            }
        }
        let mut done = ThreadSet::default();
        done.insert(self.thread);
        let Some(next) = self.backtrack.without(self.asleep).without(done).first() else {
            return false;
        };
        if self.vain.contains(self.thread) {
            self.thread = next;
            return true;
        }
        let mut footprint = Footprint { ends: self.ends, ..made() };
        if let Some(otherwise) = self.otherwise.take() {
            footprint.add(otherwise);
        }
        self.sleep.push(Sleeper::new(self.thread, footprint));
        self.asleep.insert(self.thread);
        self.thread = next;
        self.ends = false;
        true
    }
}

/// Goes back to the deepest node where something is left to explore. False if there is none.
pub(super) fn backtrack(nodes: &mut Vec<Node>, order: &mut Order) -> bool {
    while let Some(index) = nodes.len().checked_sub(1) {
        let more = nodes[index].turn(|| match order.len() > index {
            true => order.footprint(index as u32),
            // A run that did not repeat never got here: whatever the step does, it may matter.
            false => Footprint { everything: true, ..Footprint::default() },
        });
        order.truncate(index);
        if more {
            return true;
        }
        nodes.pop();
    }
    false
}

/// The threads of candidates; `None` if there are more threads than a set has room for.
pub(super) fn threads_of(candidates: &[Ready]) -> Option<ThreadSet> {
    let mut set = ThreadSet::default();
    for Ready { thread: ThreadId(thread), .. } in candidates {
        if *thread >= ThreadSet::MOST {
            return None;
        }
        set.insert(*thread);
    }
    Some(set)
}
