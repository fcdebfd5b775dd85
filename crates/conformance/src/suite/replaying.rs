//! Replays: the same decisions give the same run. And how a run ends that goes no further.

use unravel_execute::Laboratory;
use unravel_strategies::{Random, RunToBlock, YoungestFirst};
use unravel_trace::*;

use super::record::Record;
use super::{OUTCOME, SEEDS, run, visible_sets, with_threads};
use crate::{Engine, Sample};

/// The same job with the same decisions is the same run, whatever was executed before.
pub fn runs_are_deterministic(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        for visible in visible_sets(&*executor) {
            let all = |executor: &mut dyn Executor| -> Vec<Run> {
                (0..SEEDS)
                    .map(|seed| run(executor, &visible, &mut Random::new(seed), &mut (), OUTCOME))
                    .collect()
            };
            let first = all(&mut *executor);
            assert_eq!(all(&mut *executor), first, "{sample:?}");
        }
    }
}

/// A recorded schedule fits, and gives the run that it was recorded from.
pub fn schedules_are_replayed(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        let mut outcomes = Vec::new();
        for visible in visible_sets(&*executor) {
            let mut lab = Laboratory::new(&mut *executor, Input::default(), visible);
            for seed in 0..SEEDS {
                let run = lab.run(&mut Random::new(seed), &mut (), OUTCOME);
                let (again, divergence) = lab.replay_seen(&run.schedule, &mut (), OUTCOME);
                assert_eq!(divergence, None, "{sample:?} with seed {seed}");
                assert_eq!(again, run, "{sample:?} with seed {seed}");
                outcomes.push(run.outcome);
            }
        }
        let fails = outcomes.iter().any(|outcome| outcome.failure().is_some());
        let may_fail = matches!(sample, Sample::LostUpdate | Sample::Deadlock | Sample::Waiters);
        assert_eq!(fails, may_fail, "{sample:?}: {outcomes:?}");
        let lucky = outcomes.contains(&Outcome::Exited { code: 0 });
        assert!(lucky || sample == Sample::Waiters, "{sample:?}: {outcomes:?}");
    }
}

/// A deadlock is an outcome, and names each thread that is blocked, with where it is.
pub fn a_deadlock_names_the_blocked(engine: &mut dyn Engine) {
    let mut executor = engine.open(Sample::Deadlock);
    let mut found = 0;
    for seed in 0..4 * SEEDS {
        let mut seen = Record::new();
        let by = &mut Random::new(seed);
        let run = run(&mut *executor, &VisibleSet::default(), by, &mut seen, OUTCOME);
        let Some(failure) = run.outcome.failure() else { continue };
        found += 1;
        assert_eq!(failure.kind, FailureKind::Deadlock);
        let ended = seen.events.iter().filter(|told| told.what.op == Op::Exit).count();
        assert_eq!(ended, 0, "both are in it");
        assert_eq!(failure.related.len(), 3, "two in the cycle, and main: {failure:?}");
        assert!(failure.related.iter().all(|related| !related.stack.is_empty()), "{failure:?}");
        for name in &run.schedule.threads[1..] {
            let named = |related: &Related| related.message.contains(&name.to_string());
            assert!(failure.related.iter().any(named), "{name}: {failure:?}");
        }
    }
    assert!(found > 0, "no schedule deadlocks");
}

/// The youngest first, and this answer to every question.
struct Answers {
    answer: u32,
    asked: Vec<(Question, u32)>,
}

impl Scheduler for Answers {
    fn next(&mut self, view: &View<'_>) -> Choice {
        YoungestFirst.next(view)
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.asked.push((what, options));
        self.answer
    }
}

/// Which of two waiters a signal wakes is the scheduler's choice, recorded and replayed.
pub fn waiters_are_chosen(engine: &mut dyn Engine) {
    let mut executor = engine.open(Sample::Waiters);
    let mut lab = Laboratory::new(&mut *executor, Input::default(), VisibleSet::default());
    for answer in [0, 1] {
        let (mut by, mut seen) = (Answers { answer, asked: Vec::new() }, Record::new());
        let run = lab.run(&mut by, &mut seen, OUTCOME);
        assert_eq!(run.outcome, Outcome::Exited { code: 0 });
        // The second signal finds only one of them.
        assert_eq!(by.asked, [(Question::Waiter, 2)]);
        assert_eq!(run.schedule.choices, [answer]);
        let woken = |seen: &Record| {
            let is_wake = |what: &Pending| what.op == Op::Acquire && what.mutex().is_some();
            seen.events.iter().find(|told| is_wake(&told.what)).map(|told| told.thread)
        };
        assert_eq!(woken(&seen), Some(ThreadId(1 + answer)), "longest waiting first");
        let mut again = Record::new();
        let (replayed, divergence) = lab.replay_seen(&run.schedule, &mut again, OUTCOME);
        assert_eq!((divergence, &replayed), (None, &run));
        assert_eq!(again.events, seen.events);
    }
}

/// Goes on without preemption for so many decisions, and then discards the run.
struct Stops(u32);

impl Scheduler for Stops {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let choice = RunToBlock.next(view);
        let stops = self.0 == 0;
        self.0 = self.0.saturating_sub(1);
        Choice { events: if stops { 0 } else { 1 }, ..choice }
    }
}

/// A decision for no events ends the run there, as discarded; nothing of it is left in the next one.
pub fn no_events_discard_the_run(engine: &mut dyn Engine) {
    for sample in with_threads() {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        let before = run(&mut *executor, &all, &mut RunToBlock, &mut (), OUTCOME);
        for events in 1..before.schedule.events() as u32 {
            let mut seen = Record::new();
            let stopped = run(&mut *executor, &all, &mut Stops(events), &mut seen, OUTCOME);
            assert_eq!(stopped.outcome, Outcome::Discarded, "{sample:?} after {events}");
            assert_eq!(stopped.schedule.events(), u64::from(events), "{sample:?}");
            assert!(seen.events.iter().all(|told| told.number <= u64::from(events)));
        }
        let after = run(&mut *executor, &all, &mut RunToBlock, &mut (), OUTCOME);
        assert_eq!(after, before, "{sample:?}");
    }
}
