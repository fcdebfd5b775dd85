//! Notes the course of a run while it goes on: whoever decides, this one looks.

use unravel_trace::{Alarm, Choice, Executed, Observer, Observes, Question, Run, SiteId, View};

use crate::course::{Course, Turn};
use crate::switches::is_forced;

/// Notes the course of a run while it goes on.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    points: Vec<Vec<SiteId>>,
    answers: Vec<Vec<u32>>,
    turns: Vec<Turn>,
    forced: Vec<bool>,
    /// Whether a switch at the last decision would be forced.
    forced_here: bool,
    /// The number of the thread that was chosen last.
    current: usize,
    /// The number of the last event: accesses inside an atomic section have that of its beginning.
    last: u64,
}

impl Recording {
    /// An event is executed that is a point of its own.
    fn add(&mut self, executed: &Executed<'_>) {
        self.last = executed.number;
        let thread = executed.thread.index();
        if self.points.len() <= thread {
            self.points.resize(thread + 1, Vec::new());
        }
        self.points[thread].push(executed.what.site);
        let upto = self.points[thread].len() as u32;
        match self.turns.last_mut() {
            Some(turn) if turn.thread == thread => turn.upto = upto,
            last => {
                if last.is_some() {
                    self.forced.push(self.forced_here);
                }
                self.turns.push(Turn { thread, upto });
            }
        }
    }

    /// The course of the run that was recorded.
    pub fn finish(self, run: &Run) -> Course {
        let threads = run.schedule.threads.clone();
        let mut course = Course {
            points: self.points,
            turns: self.turns,
            forced: self.forced,
            answers: self.answers,
            choices: run.schedule.choices.clone(),
            deviations: run.deviated.len(),
            threads,
        };
        course.points.resize(course.threads.len(), Vec::new());
        course.answers.resize(course.threads.len(), Vec::new());
        course.forced.push(true);
        course
    }
}

impl Observer for Recording {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        if executed.number != self.last {
            self.add(executed);
        }
        None
    }

    fn decided(&mut self, view: &View<'_>, choice: Choice) {
        self.forced_here = is_forced(view);
        self.current = choice.thread.index();
    }

    fn answered(&mut self, _: Question, _: u32, answer: u32) {
        if self.answers.len() <= self.current {
            self.answers.resize(self.current + 1, Vec::new());
        }
        self.answers[self.current].push(answer);
    }
}
