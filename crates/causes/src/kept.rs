//! How much concurrency a repair keeps: the classes of schedules that it still allows.
//!
//! A measure that is woven into a program only forbids schedules. So the classes of the woven program, looked at without
//! what was woven in, are some of the classes of the original.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use unravel_execute::{Apart, Class, Judge, Received};
use unravel_strategies::{Counted, Exhaustive, Systematic};
use unravel_trace::{
    Alarm, Choice, Detail, Executed, Executor, Input, Observes, Outcome, Question, Rules,
    Scheduler, SiteId, View, VisibleSet, Want,
};

use crate::watch::without_place;

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    pub input: &'a Input,
    pub rules: &'a Rules,
    /// What was visible in the original.
    pub visible: &'a VisibleSet,
    /// Sites from here on were woven in.
    pub woven_from: SiteId,
    pub time: Duration,
}

/// The fingerprints of the classes that pass; `None` if there are more than there is time for.
pub fn allowed_classes<E: Executor>(executor: &mut E, allowed: &Allowed<'_>) -> Option<Vec<u64>> {
    let mut work: Apart<Option<Vec<u64>>> = Apart::start(executor, |executor, _, send| {
        let found = Judge::silent(allowed.rules).ok();
        send(&found.and_then(|judge| explore(executor, judge, allowed)));
    })
    .ok()?;
    let until = Instant::now() + allowed.time * 2;
    while Instant::now() < until {
        match work.receive(Duration::from_millis(100)) {
            Received::Message(classes) => return classes,
            Received::Ended { .. } => return None,
            Received::Nothing => {}
        }
    }
    None
}

fn explore<E: Executor>(
    executor: &mut E,
    mut judge: Judge,
    allowed: &Allowed<'_>,
) -> Option<Vec<u64>> {
    let until = Instant::now() + allowed.time;
    let mut search = Exhaustive::new(0, 1);
    let mut classes = FxHashSet::default();
    let mut class = Class::default();
    loop {
        let Some(mut scheduler) = search.scheduler() else { break };
        class.clear();
        let mut look =
            Look { inner: &mut *scheduler, class: &mut class, woven_from: allowed.woven_from };
        let want = Want { prune_spins: true, ..Want::only(Detail::Outcome) };
        let mut run = executor.run(allowed.input, allowed.visible, &mut look, want);
        drop(scheduler);
        judge.judge(&mut run);
        let is_new = search.learn(&run) == Counted::New;
        if is_new && matches!(run.outcome, Outcome::Exited { .. }) {
            classes.insert(class.value());
        }
        if Instant::now() >= until || executor.is_damaged() {
            return None;
        }
    }
    Some(classes.into_iter().collect())
}

/// Fingerprints what a scheduler does, without what was woven in.
struct Look<'a> {
    inner: &'a mut dyn Scheduler,
    class: &'a mut Class,
    woven_from: SiteId,
}

impl Scheduler for Look<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        self.inner.next(view)
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.inner.choose(what, options)
    }

    fn finish(&mut self, events: u64) {
        self.inner.finish(events);
    }

    fn observes(&self) -> Observes {
        self.inner.observes().max(Observes::Events)
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let alarm = self.inner.observe(executed);
        let executed = &without_place(executed);
        if executed.what.site < self.woven_from {
            self.class.add(executed);
        }
        alarm
    }
}
