//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "causes";

    /// Steps of runs that are kept in memory, in all.
    MOST_STEPS: usize = 12_000_000;
    /// How much exhaustive search may execute, so that where it ends does not depend on the machine: instructions, with what
    /// a run and a step cost besides, counted in them. Some ten seconds.
    EXHAUSTIVE_WORK: u64 = 12_000_000_000;

    /// The part of the time that goes into executing once more what was found, to name it.
    TELLING_SHARE: u32 = 6;
    /// How long that may take after an interrupt: somebody is waiting.
    HURRIED: Duration = Duration::from_millis(250);

    /// Sets that a search for the cheapest hitting set may visit before it makes do with a good one.
    MOST_NODES: usize = 20_000;

    /// Failing runs that are diagnosed.
    MOST_DIAGNOSED: usize = 24;
    /// One diagnosis may take this part of the time that is left.
    DIAGNOSIS_SHARE: u32 = 3;
    /// The share of the time that goes into finding a failure, if none has been met.
    SEARCH_SHARE: u32 = 2;

    /// Causes that are looked for; more are no help to anybody.
    MOST_CAUSES: usize = 400;

    /// How many earlier steps at the same place a step is compared with, in long runs.
    LOOK_BACK: usize = 96;

    /// How long to look for causes, if nobody says.
    TIME: Duration = Duration::from_secs(30);
    /// Classes of schedules that are kept in memory.
    CLASSES: usize = 300_000;
    /// Schedules tried at random where exhaustive search does not end.
    SAMPLES: u64 = 5_000;
    /// Inputs that are tried of a program that asks for values: each has its share of the time that is left.
    INPUTS: u32 = 8;
    /// Of these so many are tried even if fewer take every branch: values that decide no branch may matter.
    LEAST_INPUTS: u32 = 3;
    /// The part of the time in which inputs are looked for, before schedules are; and at most so much.
    INPUT_SHARE: u32 = 6;
    /// The most of that.
    INPUT_TIME: Duration = Duration::from_secs(5);
    /// Runs from which the search for inputs begins.
    INPUT_RUNS: u64 = 16;
}
