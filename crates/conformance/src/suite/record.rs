//! An observer that keeps all it is told.

use unravel_trace::*;

/// What an observer was told, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    observes: Observes,
    pub events: Vec<Told>,
    /// Of each decision: how many events came before it, who could go on, why it was needed, and what it was.
    pub decisions: Vec<(u64, Vec<ThreadId>, Why, Choice)>,
    pub answers: Vec<(Question, u32, u32)>,
}

/// An event as it was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Told {
    pub number: u64,
    pub thread: ThreadId,
    pub what: Pending,
    /// How many threads there were.
    pub threads: usize,
}

impl Told {
    /// Who does what. Where a thread ends is left out: engines may say where it was last seen, which depends on what is
    /// visible.
    pub fn event(&self) -> (ThreadId, Pending) {
        let ends = matches!(self.what.op, Op::Exit | Op::End);
        let site = if ends { SiteId(u32::MAX) } else { self.what.site };
        (self.thread, Pending { site, ..self.what })
    }
}

impl Record {
    /// Of events.
    pub fn new() -> Record {
        Record::of(Observes::Events)
    }

    pub fn of(observes: Observes) -> Record {
        Record { observes, events: Vec::new(), decisions: Vec::new(), answers: Vec::new() }
    }

    /// Those that were points: the first of each number.
    pub fn points(&self) -> impl Iterator<Item = &Told> {
        let mut last = 0;
        self.events
            .iter()
            .filter(move |told| std::mem::replace(&mut last, told.number) < told.number)
    }
}

impl Observer for Record {
    fn observes(&self) -> Observes {
        self.observes
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let Executed { number, thread, what, names, .. } = *executed;
        self.events.push(Told { number, thread, what, threads: names.len() });
        None
    }

    fn decided(&mut self, view: &View<'_>, choice: Choice) {
        let enabled = view.enabled.iter().map(|ready| ready.thread).collect();
        self.decisions.push((view.events, enabled, view.why, choice));
    }

    fn answered(&mut self, what: Question, options: u32, answer: u32) {
        self.answers.push((what, options, answer));
    }
}
