//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "explore";

    /// After the first bug of a search that looks for more, so many events are executed at most, in whole runs.
    MORE_EVENTS: u64 = 2_000_000;

    /// Events of an epoch of samples, unless these are very few runs: what a second of execution teaches should count before long.
    EPOCH_EVENTS: u64 = 5_000_000;

    /// Inputs of which a run that passed is kept, for whoever asks what passes.
    PASSING: usize = 8;

    /// How long a search that found nothing looks at something else.
    GLANCE_TIME: Duration = Duration::from_secs(1);
    /// Where it was given little time itself: a few schedules of most programs.
    LEAST_GLANCE: Duration = Duration::from_millis(100);
    /// In how many schedules.
    GLANCE_SCHEDULES: u64 = 300;

    /// Among the first so many runs, those that learn are looked at for what they print: to keep it costs as much as a run.
    OUTPUTS: u64 = 512;

    /// Steps of the first runs: most programs need fewer, and one that never ends must not take all the time.
    FIRST_STEPS: u64 = 30_000;
    /// So many times as many are allowed next, once many runs were cut short.
    MORE_STEPS: u64 = 8;
    /// So many, and half of an epoch's; or the exhaustive search is at its end and some of its runs were.
    MANY_CUT: u64 = 64;

    /// Runs of the exhaustive search with a given number of deviations, where all without are explored: few seconds.
    MOST_DEVIATING: u64 = 20_000;

    /// The most runs of one order: a worker reports in between.
    MOST_RUNS: u64 = 256;

    /// Further classes are not counted: a search of hours would fill the memory with them.
    MOST_CLASSES: usize = 1 << 24;

    /// More worker processes than that help nobody.
    MOST_JOBS: usize = 512;
    /// How often progress is reported and the time is looked at.
    TICK: Duration = Duration::from_millis(100);
    /// How long a run may go on after the time is up.
    GRACE: Duration = Duration::from_millis(800);

    /// If so many schedules all fail, others hardly pass: more bugs are looked for half as long.
    ALWAYS: u64 = 1000;

    /// First runs that took so long together and could not be followed, none of them, are enough.
    GIVEN_UP: Duration = Duration::from_secs(2);
    /// From here on one run takes so long that the user is told why.
    LONG_RUN: Duration = Duration::from_secs(1);
    /// Threads of one run from which on their number is worth telling.
    MANY: u64 = 1000;

    /// More parts than that have nothing to divide.
    MOST_SHARDS: u32 = 10_000;
}
