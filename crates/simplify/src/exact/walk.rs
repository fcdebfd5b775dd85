//! One execution of the exact search: the way to a node, then one thread until it cannot go on.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use unravel_execute::Class;
use unravel_strategies::BlindSpots;
use unravel_trace::{
    Choice, Executed, Op, Pending, Question, Ready, Scheduler, ThreadId, View, depend,
};

use super::node::{Key, Leg};

/// What a program may do that makes more events depend on others than they seem to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Hazards {
    /// The process ends while others are alive.
    ends: bool,
    /// Somebody asks whether a thread has ended that has not.
    asks_early: bool,
    pub cancels: bool,
}

impl Hazards {
    pub fn any(&self) -> bool {
        self.ends || self.asks_early || self.cancels
    }

    pub fn and(&self, other: &Hazards) -> Hazards {
        Hazards {
            ends: self.ends || other.ends,
            asks_early: self.asks_early || other.asks_early,
            cancels: self.cancels || other.cancels,
        }
    }

    /// Whether the search was made without knowing of this one.
    pub fn is_new_to(&self, known: &Hazards) -> bool {
        self.any() && !known.any()
    }
}

/// A question that the chosen thread was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub answer: u32,
    pub options: u32,
}

/// A node that the execution came by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Revealed {
    pub key: Key,
    /// Of the chosen thread.
    pub events: u32,
    /// The thread could go on, and does not give up its turn.
    pub could_go_on: bool,
    /// Nothing can depend on its next event before it happens, but for [`Hazards`].
    pub is_never_cut: bool,
    /// How many questions were asked by then.
    pub questions: usize,
}

#[derive(Debug)]
pub(super) struct Walk<'a> {
    way: &'a [Leg],
    answers: &'a [u32],
    own_answers: &'a [u32],
    asked: usize,
    /// The leg that is on, and the events before it.
    leg: usize,
    before: u64,
    /// Events of the way: who, and what was touched.
    log: Vec<(ThreadId, Pending)>,
    /// By leg: where its events begin in the log.
    legs: Vec<usize>,
    class: Class,
    pub blind: BlindSpots,
    /// All answers, mixed: by whom, the how manieth of that thread, and which.
    answered: u64,
    /// By thread: the hash of its name, and how many questions it was asked.
    askers: Vec<(u64, u32)>,
    number: u64,
    /// Threads that have ended.
    exited: Vec<ThreadId>,
    /// Who is to run, or everyone that it makes sense for.
    wanted: Option<ThreadId>,
    pub options: Vec<ThreadId>,
    pub chosen: Option<ThreadId>,
    chosen_name: u64,
    events: u32,
    pub revealed: Vec<Revealed>,
    pub questions: Vec<Asked>,
    pub hazards: Hazards,
}

impl<'a> Walk<'a> {
    /// Without `thread`: the first that it makes sense for, and [`Walk::options`] says who else.
    pub fn new(
        way: &'a [Leg],
        answers: &'a [u32],
        own_answers: &'a [u32],
        thread: Option<ThreadId>,
    ) -> Walk<'a> {
        Walk {
            way,
            answers,
            own_answers,
            asked: 0,
            leg: 0,
            before: 0,
            log: Vec::new(),
            legs: Vec::new(),
            class: Class::default(),
            blind: BlindSpots::default(),
            answered: 0,
            askers: Vec::new(),
            number: 0,
            exited: Vec::new(),
            wanted: thread,
            options: Vec::new(),
            chosen: None,
            chosen_name: 0,
            events: 0,
            revealed: Vec::new(),
            questions: Vec::new(),
            hazards: Hazards::default(),
        }
    }

    /// The way is at its end: who goes on?
    fn arrive(&mut self, view: &View<'_>) -> Choice {
        let last = self.way.last().map(|leg| leg.thread);
        let others = view.enabled.iter().filter(|c| Some(c.thread) != last);
        self.options = others.filter(|c| !self.is_pruned(c)).map(|c| c.thread).collect();
        let chosen = match self.wanted {
            None => self.options.first().copied(),
            wanted => wanted,
        };
        let Some(thread) = chosen else {
            return Choice { thread: view.enabled[0].thread, events: 0 };
        };
        self.chosen = chosen;
        self.chosen_name = hash_of(&view.names[thread.index()]);
        Choice { thread, events: u32::MAX }
    }

    /// Whether a thread could as well have executed its next event before it was cut.
    fn is_pruned(&self, candidate: &Ready) -> bool {
        let cut = self.way.iter().rposition(|leg| leg.thread == candidate.thread);
        let Some(cut) = cut.filter(|cut| self.way[*cut].could_go_on) else { return false };
        let pending = &candidate.pending;
        // What an atomic section touches is not known before it is executed.
        if matches!(pending.op, Op::Fence | Op::Yield) {
            return false;
        }
        let since = &self.log[self.legs.get(cut + 1).copied().unwrap_or(self.log.len())..];
        !since.iter().any(|(_, event)| depend(event, pending))
    }

    fn reveal(&mut self, could_go_on: bool, is_never_cut: bool) {
        self.revealed.push(Revealed {
            key: (self.class.value() ^ self.answered, self.chosen_name),
            events: self.events,
            could_go_on,
            is_never_cut,
            questions: self.questions.len(),
        });
    }

    fn look_for_hazards(&mut self, event: &Pending) {
        match event.op {
            Op::End => self.hazards.ends = true,
            Op::Cancel => self.hazards.cancels = true,
            Op::Exit => self.exited.extend(event.thread()),
            Op::Join => {
                let ended = event.thread().is_none_or(|thread| self.exited.contains(&thread));
                self.hazards.asks_early |= !ended;
            }
            _ => {}
        }
    }
}

impl Scheduler for Walk<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if let Some(thread) = self.chosen {
            if view.is_enabled(thread) {
                // It gave up its turn, and takes it again.
                return Choice { thread, events: u32::MAX };
            }
            self.reveal(false, false);
            return Choice { thread: view.enabled[0].thread, events: 0 };
        }
        while let Some(leg) = self.way.get(self.leg)
            && self.before + u64::from(leg.events) <= view.events
        {
            self.before += u64::from(leg.events);
            self.leg += 1;
        }
        match self.way.get(self.leg) {
            Some(leg) => {
                let left = self.before + u64::from(leg.events) - view.events;
                Choice { thread: leg.thread, events: left as u32 }
            }
            None => self.arrive(view),
        }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        let asker = self.chosen.or(self.way.get(self.leg).map(|leg| leg.thread));
        let answer = match self.chosen {
            None => self.answers.get(self.asked).copied().unwrap_or(0),
            Some(_) => {
                let answer = self.own_answers.get(self.questions.len()).copied().unwrap_or(0);
                self.questions.push(Asked { answer, options });
                answer
            }
        };
        self.asked += 1;
        // Which waiter is woken is part of the state, and the class does not tell.
        if let Some((name, asked)) = asker.and_then(|asker| self.askers.get_mut(asker.index())) {
            *asked += 1;
            self.answered = self.answered.wrapping_add(hash_of(&(*name, *asked, answer)));
        }
        answer
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        for name in &executed.names[self.askers.len()..] {
            self.askers.push((hash_of(name), 0));
        }
        self.blind.observe(executed);
        let is_new = executed.number != self.number;
        self.number = executed.number;
        let event = &executed.what;
        self.look_for_hazards(event);
        if self.chosen.is_some() {
            if is_new {
                if self.events > 0 {
                    let is_never_cut = matches!(event.op, Op::Fork | Op::Alloc | Op::Exit);
                    self.reveal(event.op != Op::Yield, is_never_cut);
                }
                self.events += 1;
            }
        } else {
            while self.legs.len() <= self.leg {
                self.legs.push(self.log.len());
            }
            self.log.push((executed.thread, *event));
        }
        self.class.add(executed);
    }
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
