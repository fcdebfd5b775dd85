//! Observers: what they are told, and that they change nothing.

use unravel_strategies::{Random, RunToBlock};
use unravel_trace::*;

use super::record::{Record, Told};
use super::{OUTCOME, SEEDS, run, visible_sets, with_threads};
use crate::{Engine, Sample};

/// Every event of the schedule is told once, in order, with its number and its thread. Under a number there may be
/// more: what an atomic section does, and what a thread does that is alone.
pub fn events_are_told_once_and_in_order(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        for visible in visible_sets(&*executor) {
            for seed in 0..SEEDS {
                let mut seen = Record::new();
                let by = &mut Random::new(seed);
                let run = run(&mut *executor, &visible, by, &mut seen, OUTCOME);
                assert!(seen.events.is_sorted_by_key(|told| told.number), "{sample:?}");
                let threads: Vec<u32> = seen.points().map(|told| told.thread.0).collect();
                let scheduled: Vec<u32> = run
                    .schedule
                    .segments
                    .iter()
                    .flat_map(|segment| vec![segment.thread; segment.events as usize])
                    .collect();
                assert_eq!(threads, scheduled, "{sample:?} with seed {seed}");
                let numbers = seen.points().map(|told| told.number);
                assert!(numbers.eq(1..=run.schedule.events()), "{sample:?} with seed {seed}");
                let created =
                    |told: &Told| told.what.thread() == Some(ThreadId(told.threads as u32));
                let mut forks = seen.events.iter().filter(|told| told.what.op == Op::Fork);
                assert!(forks.all(created), "a fork says whom it creates");
            }
        }
    }
}

/// Objects to the event of this number.
struct Objects {
    to: u64,
    told: Vec<u64>,
}

impl Observer for Objects {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.told.push(executed.number);
        let Executed { number, thread, what, .. } = *executed;
        (number == self.to).then_some(Alarm::Race { earlier: number - 1, thread, what })
    }
}

/// The first alarm ends the run as failed. The event is the last of the schedule, but was not executed.
pub fn an_alarm_ends_the_run_before_the_event(engine: &mut dyn Engine) {
    let mut executor = engine.open(Sample::LostUpdate);
    let [_, _, all] = visible_sets(&*executor);
    let whole = run(&mut *executor, &all, &mut RunToBlock, &mut (), OUTCOME);
    for to in 2..=whole.schedule.events() {
        let (mut objects, mut second) = (Objects { to, told: Vec::new() }, Record::new());
        let both = &mut (&mut objects, &mut second);
        let run = run(&mut *executor, &all, &mut RunToBlock, both, OUTCOME);
        let failure = run.outcome.failure().expect("an alarm is a failure");
        assert_eq!(failure.kind, FailureKind::DataRace);
        let thread = second.events.last().expect("it was told").thread;
        assert_eq!(failure.thread, run.schedule.threads[thread.index()]);
        assert_eq!(run.schedule.events(), to);
        assert_eq!(objects.told.last(), Some(&to), "nothing comes after it");
        assert_eq!(second.events.len(), objects.told.len(), "the other one has seen it too");
        assert!(second.decisions.last().is_some_and(|decision| decision.0 < to));
    }
    let can = executor.can();
    drop(executor);
    if can.has(Capability::Output) {
        let mut executor = engine.open(Sample::Prints);
        let mut seen = Record::new();
        run(&mut *executor, &all, &mut RunToBlock, &mut seen, OUTCOME);
        let prints = seen.points().find(|told| told.what.op == Op::External);
        let to = prints.expect("printing is an event").number;
        let want = Want { output: true, ..OUTCOME };
        let mut objects = Objects { to, told: Vec::new() };
        let run = run(&mut *executor, &all, &mut RunToBlock, &mut objects, want);
        assert_eq!(run.output.as_deref(), Some(&b""[..]), "it was not executed");
    }
}

/// Two observers of one run are told what each would be told alone.
pub fn two_observers_see_what_each_sees(engine: &mut dyn Engine) {
    for sample in with_threads() {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        for seed in 0..SEEDS {
            let mut alone = Record::new();
            run(&mut *executor, &all, &mut Random::new(seed), &mut alone, OUTCOME);
            let mut nothing = Record::of(Observes::Nothing);
            run(&mut *executor, &all, &mut Random::new(seed), &mut nothing, OUTCOME);
            assert!(nothing.events.is_empty(), "it did not want any");
            assert_eq!(nothing.decisions, alone.decisions);
            let mut both = (Record::new(), Record::new());
            run(&mut *executor, &all, &mut Random::new(seed), &mut both, OUTCOME);
            assert_eq!((&both.0, &both.1), (&alone, &alone), "{sample:?}");
        }
    }
}

/// A run is the same whoever looks, and however much it is asked for.
pub fn observers_change_nothing(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        for visible in visible_sets(&*executor) {
            for seed in 0..SEEDS {
                let unseen =
                    run(&mut *executor, &visible, &mut Random::new(seed), &mut (), OUTCOME);
                let mut kinds = vec![Observes::Nothing, Observes::Events];
                if executor.can().has(Capability::Stacks) {
                    kinds.push(Observes::EventsAndStacks);
                }
                for observes in kinds {
                    let (by, seen) = (&mut Random::new(seed), &mut Record::of(observes));
                    let seen = run(&mut *executor, &visible, by, seen, OUTCOME);
                    assert_eq!(seen, unseen, "{sample:?} with seed {seed} and {observes:?}");
                }
            }
        }
    }
}

/// Keeps its own decisions and answers.
struct Decides {
    inner: Random,
    decisions: Vec<(u64, Choice)>,
    answers: Vec<u32>,
    finished: Option<u64>,
}

impl Scheduler for Decides {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let choice = self.inner.next(view);
        self.decisions.push((view.events, choice));
        choice
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.answers.push(self.inner.choose(what, options));
        self.answers[self.answers.len() - 1]
    }

    fn finish(&mut self, events: u64) {
        self.finished = Some(events);
    }
}

/// Observers see every decision and every answer of the scheduler, which is told when the run is over.
pub fn decisions_and_answers_are_seen(engine: &mut dyn Engine) {
    let mut answers = 0;
    for sample in with_threads() {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        for seed in 0..4 * SEEDS {
            let (inner, decisions) = (Random::new(seed), Vec::new());
            let mut by = Decides { inner, decisions, answers: Vec::new(), finished: None };
            let mut seen = Record::of(Observes::Nothing);
            let run = run(&mut *executor, &all, &mut by, &mut seen, OUTCOME);
            let decided = seen.decisions.iter().map(|decision| (decision.0, decision.3));
            assert!(decided.eq(by.decisions), "{sample:?}");
            assert!(seen.answers.iter().map(|answer| answer.2).eq(by.answers.clone()));
            assert_eq!(run.schedule.choices, by.answers, "{sample:?}");
            assert_eq!(by.finished, Some(run.schedule.events()), "{sample:?}");
            answers += by.answers.len();
        }
    }
    assert!(answers > 0, "nothing was asked");
}
