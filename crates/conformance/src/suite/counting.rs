//! A schedule where more is visible than when it was recorded.

use unravel_execute::Laboratory;
use unravel_strategies::Random;
use unravel_trace::*;

use super::record::{Record, Told};
use super::{OUTCOME, SEEDS, visible_sets};
use crate::{Engine, Sample};

/// Followed with everything visible, a schedule gives the same outcome, the same order of what it counts, and the same
/// counts.
pub fn a_schedule_counts_the_same_where_more_is_visible(engine: &mut dyn Engine) {
    for sample in Sample::ALL {
        let mut executor = engine.open(sample);
        let [_, _, all] = visible_sets(&*executor);
        for visible in visible_sets(&*executor) {
            let mut lab = Laboratory::new(&mut *executor, Input::default(), visible.clone());
            for seed in 0..SEEDS {
                let mut narrow = Record::new();
                let run = lab.run(&mut Random::new(seed), &mut narrow, OUTCOME);
                let mut wide = Record::new();
                let again = lab.recount(&run.schedule, &all, &mut wide, OUTCOME);
                assert_eq!(again.outcome, run.outcome, "{sample:?} with seed {seed}");
                assert_eq!(again.schedule.choices, run.schedule.choices);
                let counted = wide.points().filter(|told| is_counted(&told.what, &visible));
                assert_eq!(
                    counted.map(Told::event).collect::<Vec<_>>(),
                    narrow.points().map(Told::event).collect::<Vec<_>>(),
                    "{sample:?} with seed {seed} and {visible:?}"
                );
            }
        }
    }
}
