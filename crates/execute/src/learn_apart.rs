//! What threads share, learnt in another process: whatever the runs do to it, we are still there.

use std::io::Result;
use std::time::{Duration, Instant};

use unravel_trace::{Executor, Input, VisibleSet};

use crate::budgets::TICK;
use crate::{Apart, Laboratory, Lesson, Received};

/// What a few runs show to be shared, as far as they get in this time.
pub fn learn_apart(
    executor: &mut dyn Executor,
    input: &Input,
    time: Duration,
) -> Result<VisibleSet> {
    let mut work: Apart<VisibleSet> = Apart::start(executor, |executor, _, send| {
        let mut lab = Laboratory::new(executor, input.clone(), VisibleSet::default());
        let mut so_far = VisibleSet::default();
        let all = lab.learn(
            &Lesson::default(),
            |input, _| input.clone(),
            |run, _| {
                so_far.merge(&run.learned);
                send(&so_far);
            },
        );
        send(&all);
    })?;
    let until = Instant::now() + time;
    let mut shared = VisibleSet::default();
    while Instant::now() < until {
        match work.receive(TICK) {
            Received::Message(more) => shared = more,
            Received::Ended { .. } => break,
            Received::Nothing => {}
        }
    }
    Ok(shared)
}
