//! Replay: the decisions of a schedule, exactly. Where the program no longer fits, says so and lets it
//! run on without preemption.

use unravel_strategies::next_in_order;
use unravel_trace::{
    Choice, Op, Question, Ready, Schedule, Scheduler, ThreadId, ThreadName, View, Why,
};

#[derive(Debug)]
pub struct Replay<'a> {
    schedule: &'a Schedule,
    /// Index of the current segment, and how many events came before it.
    segment: usize,
    before: u64,
    next_choice: usize,
    divergence: Option<Divergence>,
    finished_at: Option<u64>,
    /// Who goes last once the schedule has ended.
    last: Option<&'a ThreadName>,
}

/// Where a run left the schedule it was to follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Divergence {
    /// This thread should have run event number `event` but could not (or does not exist).
    NotEnabled { thread: ThreadName, event: u64 },
    /// The schedule ended after this many events, but the program ran on.
    RanOn { event: u64 },
    /// The program ended after this many events, before the schedule did.
    EndedEarly { event: u64, expected: u64 },
}

impl std::fmt::Display for Divergence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Divergence::NotEnabled { thread, event } => {
                write!(
                    f,
                    "at event {event} the recorded run continues with {thread}, which cannot run here"
                )
            }
            Divergence::RanOn { event } => {
                write!(f, "the recorded run ends after {event} events, this one goes on")
            }
            Divergence::EndedEarly { event, expected } => {
                write!(f, "this run ends after {event} events, the recorded one has {expected}")
            }
        }
    }
}

impl<'a> Replay<'a> {
    pub fn new(schedule: &'a Schedule) -> Replay<'a> {
        Replay {
            schedule,
            segment: 0,
            before: 0,
            next_choice: 0,
            divergence: None,
            finished_at: None,
            last: None,
        }
    }

    /// Once the schedule has ended, this thread goes on only where nobody else can, or where somebody gives way to it.
    pub fn with_last(self, thread: &'a ThreadName) -> Replay<'a> {
        Replay { last: Some(thread), ..self }
    }

    /// The first place where the run left the schedule.
    pub fn divergence(&self) -> Option<Divergence> {
        let expected = self.schedule.events();
        self.divergence.clone().or_else(|| {
            let event = self.finished_at?;
            (event < expected).then_some(Divergence::EndedEarly { event, expected })
        })
    }

    /// How many questions other than "who" it has answered.
    pub fn answered(&self) -> usize {
        self.next_choice
    }

    fn find(&self, view: &View<'_>, name: &ThreadName) -> Option<ThreadId> {
        let index = view.names.iter().position(|n| n == name)?;
        Some(ThreadId(index as u32)).filter(|t| view.ready(*t).is_some())
    }
}

/// Who goes on where no schedule decides: the current thread, else the next in order. The end of the process
/// waits until nothing else can happen, or it would hide what the other threads do.
fn run_on(view: &View<'_>, last: Option<ThreadId>) -> ThreadId {
    let stay = view.current_is_enabled() && view.why != Why::Yielded;
    let thread = if stay { view.current } else { next_in_order(view) };
    let patience = |ready: &Ready| {
        let ends = ready.pending.op == Op::End;
        (ends, last == Some(ready.thread), ready.thread != thread)
    };
    view.enabled.iter().min_by_key(|ready| patience(ready)).map_or(thread, |ready| ready.thread)
}

impl Scheduler for Replay<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let segments = &self.schedule.segments;
        while self.segment < segments.len()
            && self.before + u64::from(segments[self.segment].events) <= view.events
        {
            self.before += u64::from(segments[self.segment].events);
            self.segment += 1;
        }
        if self.divergence.is_none() {
            match segments.get(self.segment) {
                None => self.divergence = Some(Divergence::RanOn { event: view.events }),
                Some(segment) => {
                    let name = &self.schedule.threads[segment.thread as usize];
                    let left = self.before + u64::from(segment.events) - view.events;
                    match self.find(view, name) {
                        Some(thread) => return Choice { thread, events: left as u32 },
                        None => {
                            self.divergence = Some(Divergence::NotEnabled {
                                thread: name.clone(),
                                event: view.events + 1,
                            });
                        }
                    }
                }
            }
        }
        if view.why == Why::Yielded {
            self.last = None;
        }
        let last = self.last.and_then(|name| self.find(view, name));
        Choice { thread: run_on(view, last), events: 1 }
    }

    fn choose(&mut self, _: Question, _options: u32) -> u32 {
        let answer = self.schedule.choices.get(self.next_choice).copied().unwrap_or(0);
        self.next_choice += 1;
        answer
    }

    fn finish(&mut self, events: u64) {
        self.finished_at = Some(events);
    }
}
