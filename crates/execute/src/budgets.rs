//! How much is done at most, or counted for what, in this room. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "execute";

    /// What a run costs besides its instructions, counted in them: setting up and taking down a machine.
    RUN_COST: u64 = 5_000;
    /// What an event costs, counted in instructions: a decision, and telling whoever looks.
    EVENT_COST: u64 = 300;
    /// Runs at random that look for what is shared before anything counts: the first show nearly all of it.
    LEARNING_RUNS: u64 = 6;
    /// How often a run may show that more is shared than was known.
    WIDENING_ROUNDS: u32 = 8;

    /// How often the time is looked at.
    TICK: Duration = Duration::from_millis(100);
    /// How long work in a process of its own may go on after its time is up, or somebody wants it to end: who waits for it
    /// waits no longer.
    GRACE: Duration = Duration::from_millis(600);

    /// How often a process tells how long it stood in the queue for a processor: to ask the kernel takes some microseconds.
    CLOCK_TICK: Duration = Duration::from_millis(20);
    /// The part of the time that counts as waiting at most: who waits for us does so four times as long, not for ever.
    MOST_WAITED: (u32, u32) = (3, 4);

    /// A longer access is not followed further.
    MOST_GRANULES: u64 = 4096;
}
