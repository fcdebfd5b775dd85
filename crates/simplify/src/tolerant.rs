//! Tolerant execution of a candidate (Tinertia §4.2.1).
//!
//! A candidate was made by moving turns about, so the program may not fit it any more. A thread that deviates from the points
//! it is expected at runs on until it rejoins; one that is blocked, has ended or does not exist is skipped; after the last
//! turn the program runs on without preemption, fair to threads that spin. What really happened is recorded: if it is the
//! same bug with no more switches than were asked for, the simplification goes on from *that*.
//!
//! Points are told apart by their site alone, so that a thread may rejoin in another round of a loop than it left: the run is
//! then another than was meant, which costs a candidate and is never wrong.

use unravel_trace::{
    Choice, Executed, Op, Question, Scheduler, SiteId, ThreadId, ThreadName, View, Why,
};

use crate::budgets::AHEAD;
use crate::course::{AS_FAR_AS_IT_CAN, Candidate, Course, Turn};

/// Which threads go on before their time has come, where a candidate has them go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Early {
    Allowed,
    /// All but this one, by its number.
    AllBut(usize),
    Never,
}

/// Follows a candidate as far as the program fits it.
#[derive(Debug)]
pub(crate) struct Tolerant<'a> {
    course: &'a Course,
    candidate: &'a Candidate,
    /// The turn that is on.
    turn: usize,
    /// By thread of the course: how many of its points were passed.
    passed: Vec<u32>,
    /// By thread of this run: which it is in the course.
    known: Vec<Option<usize>>,
    /// By thread of the course: which it is in this run.
    found: Vec<Option<ThreadId>>,
    /// By thread of this run: how many questions it was asked.
    asked: Vec<usize>,
    current: ThreadId,
    early: Early,
    /// How often a thread was to go on early.
    hurried: usize,
    /// The number of the last event: accesses inside an atomic section have that of its beginning.
    last: u64,
}

impl<'a> Tolerant<'a> {
    pub fn new(course: &'a Course, candidate: &'a Candidate, early: Early) -> Tolerant<'a> {
        Tolerant {
            course,
            candidate,
            turn: 0,
            passed: vec![0; course.threads.len()],
            known: Vec::new(),
            found: vec![None; course.threads.len()],
            asked: Vec::new(),
            current: ThreadId::MAIN,
            early,
            hurried: 0,
            last: 0,
        }
    }

    fn know(&mut self, names: &[ThreadName]) {
        for name in &names[self.known.len()..] {
            let place = self.course.threads.iter().position(|n| n == name);
            if let Some(place) = place {
                self.found[place] = Some(ThreadId(self.known.len() as u32));
            }
            self.known.push(place);
            self.asked.push(0);
        }
    }

    /// The next decision of the candidate, if it has one that fits.
    fn follow(&mut self, view: &View<'_>) -> Option<Choice> {
        while let Some(turn) = self.candidate.turns.get(self.turn) {
            if let Some(choice) = self.go_on(turn, view) {
                return Some(choice);
            }
            self.turn += 1;
        }
        None
    }

    fn go_on(&mut self, turn: &Turn, view: &View<'_>) -> Option<Choice> {
        let passed = self.passed[turn.thread];
        let thread = self.found[turn.thread]?;
        let candidate = view.ready(thread)?;
        if passed >= turn.upto {
            return None;
        }
        if !view.is_enabled(thread) {
            self.hurried += 1;
            let refused = match self.early {
                Early::Allowed => false,
                Early::AllBut(number) => self.hurried == number + 1,
                Early::Never => true,
            };
            if refused {
                return None;
            }
        }
        if self.turn < self.candidate.same {
            return Some(Choice { thread, events: turn.upto - passed });
        }
        let gives_way = view.why == Why::Yielded && view.current == thread;
        if gives_way && turn.upto == AS_FAR_AS_IT_CAN {
            return None;
        }
        match self.rejoin(turn.thread, candidate.pending.site) {
            // It is at a point of a later turn.
            Some(at) if at >= turn.upto => {
                self.passed[turn.thread] = at;
                return None;
            }
            Some(at) => self.passed[turn.thread] = at,
            // It spins elsewhere.
            None if gives_way => return None,
            None => {}
        }
        Some(Choice { thread, events: 1 })
    }

    /// Where in its course a thread is that is about to execute this site.
    fn rejoin(&self, thread: usize, site: SiteId) -> Option<u32> {
        let passed = self.passed[thread] as usize;
        let ahead = self.course.points[thread].get(passed..)?;
        let at = ahead.iter().take(AHEAD).position(|s| *s == site)?;
        Some((passed + at) as u32)
    }

    /// Who goes on where no turn decides: the current thread, else the one that failed, else the next in order.
    fn run_on(&self, view: &View<'_>) -> ThreadId {
        let may_end = |thread: &ThreadId| {
            view.enabled.iter().any(|c| c.thread == *thread && c.pending.op != Op::End)
        };
        let failed = self.candidate.turns.last().and_then(|turn| self.found[turn.thread]);
        let stay = (view.why != Why::Yielded).then_some([Some(view.current), failed]);
        let stay = stay.into_iter().flatten().flatten().find(may_end);
        stay.unwrap_or_else(|| next_in_order(view))
    }
}

/// The enabled thread that follows the current one, going round. The end of the process waits until nothing else can happen.
pub(crate) fn next_in_order(view: &View<'_>) -> ThreadId {
    let others = || view.enabled.iter().filter(|c| c.pending.op != Op::End).map(|c| c.thread);
    let next = others().find(|t| *t > view.current).or_else(|| others().next());
    next.unwrap_or(view.enabled[0].thread)
}

impl Scheduler for Tolerant<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        self.know(view.names);
        let choice =
            self.follow(view).unwrap_or_else(|| Choice { thread: self.run_on(view), events: 1 });
        self.current = choice.thread;
        choice
    }

    /// As the same thread answered its question of that number in the course.
    fn choose(&mut self, _: Question, options: u32) -> u32 {
        let thread = self.current.index();
        let Some(asked) = self.asked.get_mut(thread) else { return 0 };
        *asked += 1;
        let answers = self.known[thread].map(|thread| &self.course.answers[thread]);
        let answer = answers.and_then(|answers| answers.get(*asked - 1).copied());
        answer.filter(|answer| *answer < options).unwrap_or(0)
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        if executed.number == self.last {
            return;
        }
        self.last = executed.number;
        if let Some(Some(thread)) = self.known.get(executed.thread.index()) {
            let passed = &mut self.passed[*thread];
            if self.course.points[*thread].get(*passed as usize) == Some(&executed.what.site) {
                *passed += 1;
            }
        }
    }
}
