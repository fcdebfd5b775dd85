//! A scheduler that executes steps one by one and looks at who could go on afterwards.

use unravel_trace::{Choice, Question, Ready, Scheduler, ThreadName, View};

pub struct Follow<'a> {
    /// Whose step comes next.
    steps: &'a [ThreadName],
    choices: &'a [u32],
    asked: usize,
    pub done: usize,
    /// The thread of step number `done` could not go on.
    pub stuck: bool,
    /// After all steps: who could go on, and with what.
    pub enabled: Option<Vec<(ThreadName, Ready)>>,
}

impl<'a> Follow<'a> {
    pub fn new(steps: &'a [ThreadName], choices: &'a [u32]) -> Follow<'a> {
        Follow { steps, choices, asked: 0, done: 0, stuck: false, enabled: None }
    }

    /// Whether the run went on after all steps.
    pub fn went_on(&self) -> bool {
        self.enabled.is_some()
    }

    pub fn could_go_on(&self, thread: &ThreadName) -> bool {
        self.enabled.iter().flatten().any(|(name, _)| name == thread)
    }
}

impl Scheduler for Follow<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if !self.stuck && self.done < self.steps.len() {
            let wanted = &self.steps[self.done];
            let found = view.ready_named(wanted);
            if let Some(ready) = found {
                self.done += 1;
                return Choice { thread: ready.thread, events: 1 };
            }
            self.stuck = true;
        } else if !self.stuck && self.enabled.is_none() {
            let all = view.enabled.iter().chain(view.early);
            let named = all.map(|c| (view.names[c.thread.index()].clone(), *c));
            self.enabled = Some(named.collect());
        }
        let stay = view.enabled.iter().find(|c| c.thread == view.current);
        Choice { thread: stay.unwrap_or(&view.enabled[0]).thread, events: 1 }
    }

    fn choose(&mut self, _: Question, _: u32) -> u32 {
        self.asked += 1;
        self.choices.get(self.asked - 1).copied().unwrap_or(0)
    }
}
