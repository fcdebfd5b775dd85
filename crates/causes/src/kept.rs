//! How much concurrency a repair keeps: the classes of schedules that it still allows.
//!
//! A measure that is woven into a program only forbids schedules. So the classes of the woven program, looked at without
//! what was woven in, are some of the classes of the original.

use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use unravel_execute::{Apart, Class, Laboratory, Received};
use unravel_strategies::{Counted, Exhaustive, Systematic};
use unravel_trace::{
    Alarm, Capability, Detail, Executed, Executor, Input, Observer, Observes, Outcome, SiteId,
    VisibleSet, Want,
};

use crate::watch::without_place;

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    pub input: &'a Input,
    /// What was visible in the original.
    pub visible: &'a VisibleSet,
    /// Sites from here on were woven in.
    pub woven_from: SiteId,
    pub time: Duration,
}

/// The fingerprints of the classes that pass; `None` if there are more than there is time for.
pub fn allowed_classes(executor: &mut dyn Executor, allowed: &Allowed<'_>) -> Option<Vec<u64>> {
    let mut work: Apart<Option<Vec<u64>>> = Apart::start(executor, |executor, _, send| {
        send(&explore(executor, allowed));
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

fn explore(executor: &mut dyn Executor, allowed: &Allowed<'_>) -> Option<Vec<u64>> {
    let until = Instant::now() + allowed.time;
    let mut lab = Laboratory::new(executor, allowed.input.clone(), allowed.visible.clone())
        .until(Some(until), None);
    let prune_spins = lab.can(Capability::PruneSpins);
    let mut search = Exhaustive::new(0, 1);
    let mut classes = FxHashSet::default();
    let mut look = Look { class: Class::default(), woven_from: allowed.woven_from };
    loop {
        let Some(mut scheduler) = search.scheduler() else { break };
        look.class.clear();
        let want = Want { prune_spins, ..Want::only(Detail::Outcome) };
        let run = lab.run(&mut *scheduler, &mut look, want);
        drop(scheduler);
        let is_new = search.learn(&run) == Counted::New;
        if is_new && matches!(run.outcome, Outcome::Exited { .. }) {
            classes.insert(look.class.value());
        }
        if !lab.may_go_on() {
            return None;
        }
    }
    Some(classes.into_iter().collect())
}

/// Fingerprints a run without what was woven in.
struct Look {
    class: Class,
    woven_from: SiteId,
}

impl Observer for Look {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let executed = &without_place(executed);
        if executed.what.site < self.woven_from {
            self.class.add(executed);
        }
        None
    }
}
