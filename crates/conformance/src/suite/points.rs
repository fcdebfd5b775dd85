//! Points: where the scheduler is asked, who is offered, and that its decisions are followed.

use std::collections::BTreeSet;

use unravel_strategies::{Random, RunToBlock};
use unravel_trace::*;

use super::record::{Record, Told};
use super::{OUTCOME, SEEDS, run, visible_sets, with_threads};
use crate::{Engine, Sample};

/// With any visible set, what is counted are those events of a run with everything visible that the rule says. The
/// schedule without preemptions is the same in all of them.
pub fn points_are_those_of_the_rule(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        let mut whole = Record::new();
        run(&mut *executor, &all, &mut RunToBlock, &mut whole, OUTCOME);
        let mut most = usize::MAX;
        for visible in visible_sets(&*executor).iter().rev() {
            let mut seen = Record::new();
            let run = run(&mut *executor, visible, &mut RunToBlock, &mut seen, OUTCOME);
            let expected: Vec<_> = whole
                .points()
                .filter(|told| is_counted(&told.what, visible))
                .map(Told::event)
                .collect();
            let counted: Vec<_> = seen.points().map(Told::event).collect();
            assert_eq!(counted, expected, "{sample:?} with {visible:?}");
            assert_eq!(run.schedule.events(), counted.len() as u64, "{sample:?}");
            most = most.min(counted.len());
        }
        // Otherwise this compares nothing.
        let fewer = most < whole.points().count();
        assert!(fewer || !with_plain_accesses(sample), "{sample:?}: {:?}", whole.events);
        if sample == Sample::Atomics {
            let atomic = whole.points().filter(|told| told.what.atomic).count();
            assert_eq!(atomic, 6, "each of two threads has three");
        }
    }
}

/// Whose threads access memory plainly.
fn with_plain_accesses(sample: Sample) -> bool {
    matches!(sample, Sample::LostUpdate | Sample::Atomics | Sample::Sections | Sample::Sharing)
}

/// Nobody is asked about an access of who was alone when it came there, however much is visible.
pub fn who_is_alone_is_not_asked(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        for seed in 0..SEEDS {
            let mut seen = Record::new();
            run(&mut *executor, &all, &mut Random::new(seed), &mut seen, OUTCOME);
            let mut alive = 1;
            // How many were alive when a thread came to what it does next.
            let mut company = [1; 8];
            let mut last = 0;
            for told in &seen.events {
                let me = told.thread.index();
                let is_new = told.number > last;
                let in_section = !is_new && company[me] > 1;
                let expected = is_point(&told.what, &all, company[me]);
                assert!(in_section || is_new == expected, "{sample:?} with seed {seed}: {told:?}");
                last = told.number;
                match told.what.op {
                    Op::Fork => alive += 1,
                    Op::Exit => alive -= 1,
                    _ => {}
                }
                company[me] = alive;
            }
            assert!(alive >= 1);
        }
        if sample == Sample::Alone {
            let mut seen = Record::new();
            run(&mut *executor, &all, &mut RunToBlock, &mut seen, OUTCOME);
            assert_eq!(seen.decisions.len(), 1, "only who starts");
        }
    }
}

/// Takes any thread, for up to three events.
struct Strides {
    rng: Rng,
}

impl Scheduler for Strides {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let index = self.rng.below(view.enabled.len() as u32) as usize;
        Choice { thread: view.enabled[index].thread, events: 1 + self.rng.below(3) }
    }
}

/// A decision holds for as many events as it says, unless the thread cannot go on; and numbers of events agree with it.
pub fn a_decision_is_followed(engine: &mut dyn Engine) {
    for sample in with_threads() {
        let mut executor = engine.open(sample);
        for visible in visible_sets(&*executor) {
            for seed in 0..SEEDS {
                let mut seen = Record::new();
                let by = &mut Strides { rng: Rng::new(seed) };
                let run = run(&mut *executor, &visible, by, &mut seen, OUTCOME);
                let total = run.schedule.events();
                for (index, (before, _, why, choice)) in seen.decisions.iter().enumerate() {
                    let next = seen.decisions.get(index + 1);
                    let until = next.map_or(total, |next| next.0);
                    let most = before + u64::from(choice.events);
                    let used_up = next.is_some_and(|next| next.2 == Why::UsedUp);
                    assert!(*before < until && until <= most, "{sample:?}: {choice:?} at {before}");
                    assert!(!used_up || until == most, "{sample:?}: asked too early at {until}");
                    assert_eq!(*why == Why::Start, index == 0, "{sample:?}");
                    let during = |told: &&Told| *before < told.number && told.number <= until;
                    let told: Vec<_> = seen.points().filter(during).collect();
                    assert!(told.iter().all(|told| told.thread == choice.thread), "{sample:?}");
                    assert_eq!(told.len() as u64, until - before, "{sample:?}");
                }
            }
        }
    }
}

/// Looks at everybody who is offered, and at what those do who are chosen.
#[derive(Default)]
struct Offers {
    chosen: Option<Ready>,
    /// Locks that are held, and threads that have ended.
    held: BTreeSet<u64>,
    ended: BTreeSet<ThreadId>,
    seen: usize,
}

impl Observer for Offers {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let what = executed.what;
        if let Some(Ready { thread, pending, .. }) = self.chosen.take() {
            let offered = (pending.op, pending.address, pending.site);
            assert_eq!((thread, offered), (executed.thread, (what.op, what.address, what.site)));
        }
        match what.op {
            Op::Acquire => assert!(self.held.insert(what.mutex().unwrap_or(what.address))),
            Op::Release => assert!(self.held.remove(&what.address)),
            Op::Wait => assert!(what.mutex().is_some_and(|mutex| self.held.remove(&mutex))),
            Op::Exit => assert!(self.ended.insert(executed.thread)),
            _ => {}
        }
        None
    }

    fn decided(&mut self, view: &View<'_>, choice: Choice) {
        for Ready { thread, pending, .. } in view.enabled {
            let can = match pending.op {
                Op::Acquire => !self.held.contains(&pending.mutex().unwrap_or(pending.address)),
                Op::Join => pending.thread().is_some_and(|whom| self.ended.contains(&whom)),
                _ => true,
            };
            assert!(can && !self.ended.contains(thread), "{thread:?} cannot do {pending:?}");
            self.seen += 1;
        }
        assert!(view.enabled.is_sorted_by_key(|ready| ready.thread), "in order of creation");
        self.chosen = view.ready(choice.thread).copied();
    }
}

/// Who is offered can do what it is offered with, and does it when it is chosen.
pub fn nobody_is_offered_who_cannot_go_on(engine: &mut dyn Engine) {
    for sample in with_threads() {
        let mut executor = engine.open(sample);
        for visible in visible_sets(&*executor) {
            for seed in 0..SEEDS {
                let mut offers = Offers::default();
                run(&mut *executor, &visible, &mut Random::new(seed), &mut offers, OUTCOME);
                assert!(offers.seen > 0);
            }
        }
    }
}
