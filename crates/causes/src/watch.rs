//! Watches a run, and keeps it as a [`Course`].

use rustc_hash::FxHashMap;
use unravel_execute::Class;
use unravel_trace::{
    Alarm, Counter, Executed, Forced, Key, Keys, Observer, Observes, Op, Question, SiteId,
    ThreadKey, Touch, touches,
};

/// A run as the steps it took, in order.
#[derive(Clone, Debug, Default)]
pub struct Course {
    pub steps: Vec<Step>,
    /// Answers to the questions that are not "which thread".
    pub answers: Vec<u32>,
    /// The fingerprint of its class.
    pub class: u64,
    /// The answers in which the environment deviated.
    pub forced: Vec<Forced>,
}

/// One step of a thread: an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub key: Key,
    pub thread: ThreadKey,
    /// What it touches: a number of [`Touches`].
    pub touches: u32,
    /// What ends with it.
    pub ends: Ends,
    /// It came with the step before it, with no chance for others in between: in an atomic section, or because nobody
    /// else was alive. In other runs it may stand alone, so it has a name of its own.
    pub continues: bool,
}

/// What a step is the end of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    Nothing,
    Thread,
    Process,
}

impl Course {
    pub fn switches(&self) -> usize {
        self.steps.windows(2).filter(|pair| pair[0].thread != pair[1].thread).count()
    }
}

/// What one event of a step does to something that others may touch too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Touched {
    pub touch: Touch,
    pub says: Says,
}

/// How much the order of two such events says to a reader, the most first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Says {
    Data,
    WaitOrSignal,
    Acquire,
    Release,
    Outside,
}

impl Touched {
    pub fn conflicts(&self, other: &Touched) -> bool {
        self.touch.conflicts(&other.touch)
    }
}

/// Sets of touches, each once: most steps of most runs touch what they always do.
#[derive(Debug, Default)]
pub struct Touches {
    sets: Vec<Box<[Touched]>>,
    by_set: FxHashMap<Box<[Touched]>, u32>,
}

impl Touches {
    pub fn get(&self, number: u32) -> &[Touched] {
        &self.sets[number as usize]
    }

    pub fn number(&mut self, set: &[Touched]) -> u32 {
        if let Some(number) = self.by_set.get(set) {
            return *number;
        }
        let number = self.sets.len() as u32;
        self.sets.push(set.into());
        self.by_set.insert(set.into(), number);
        number
    }
}

/// What the courses of a program share.
#[derive(Debug, Default)]
pub struct Words {
    pub keys: Keys,
    pub touches: Touches,
    class: Class,
}

/// Keeps the course of a run, whoever decides.
pub struct Watch<'a> {
    words: &'a mut Words,
    counter: Counter,
    course: Course,
    number: u64,
}

impl<'a> Watch<'a> {
    pub fn new(words: &'a mut Words) -> Watch<'a> {
        words.class.clear();
        Watch { words, counter: Counter::default(), course: Course::default(), number: 0 }
    }

    pub fn finish(mut self) -> Course {
        self.course.class = self.words.class.value();
        self.course
    }
}

impl Observer for Watch<'_> {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn answered(&mut self, _: Question, _: u32, answer: u32) {
        self.course.answers.push(answer);
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.words.class.add(&without_place(executed));
        let what = &executed.what;
        let continues = executed.number == self.number;
        self.number = executed.number;
        let (key, thread) = self.counter.count(&mut self.words.keys, executed);
        let touched: Vec<Touched> = says(what.op)
            .into_iter()
            .flat_map(|says| touches(what).map(move |touch| Touched { touch, says }))
            .collect();
        self.course.steps.push(Step {
            key,
            thread,
            touches: self.words.touches.number(&touched),
            ends: match what.op {
                Op::Exit => Ends::Thread,
                Op::End => Ends::Process,
                _ => Ends::Nothing,
            },
            continues,
        });
        None
    }
}

/// The order of creations, ends and joins of threads is never in question.
fn says(op: Op) -> Option<Says> {
    match op {
        Op::Read | Op::Write | Op::Update | Op::Free => Some(Says::Data),
        Op::Wait | Op::Signal => Some(Says::WaitOrSignal),
        Op::Acquire | Op::AcquireShared => Some(Says::Acquire),
        Op::Release => Some(Says::Release),
        Op::External => Some(Says::Outside),
        Op::Start | Op::Fork | Op::Join | Op::Exit | Op::Cancel => None,
        Op::End | Op::Alloc | Op::Fence | Op::Yield => None,
    }
}

/// Threads begin and end wherever their first and last instructions are; that says nothing about a class.
pub fn without_place<'e>(executed: &Executed<'e>) -> Executed<'e> {
    let mut executed = *executed;
    if matches!(executed.what.op, Op::Start | Op::Exit | Op::End) {
        executed.what.site = SiteId(0);
    }
    executed
}
