//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "repair";

    /// Widths of critical sections that are tried.
    WIDTHS: usize = 4;
    /// Orders tried against one cause.
    MOST_ORDERS: usize = 4;
    /// Moves that are tried against all causes at once.
    MOST_SWEEPING: usize = 6;
    /// What trying a move against all causes adds to its price.
    DOUBT: u64 = 8;
    /// Causes of one class whose places are looked at: they differ in their callers at most.
    MOST_CAUSES: usize = 4;

    /// Covers that are looked at in one round.
    MOST_COVERS: usize = 40;
    /// Covers of one round that do the same kinds of things.
    MOST_ALIKE: usize = 8;
    /// Covers that these are chosen from.
    COVERS: usize = 400;
    /// Rounds: when nothing stands its checks, the causes that measures leave join those that were known.
    MOST_ROUNDS: usize = 3;
    /// Repairs of one kind that are shown.
    MOST_OF_A_KIND: usize = 2;

    /// The part of the time in which measures against everything at once are tried, where bugs share no cause.
    TOGETHER_SHARE: u32 = 4;
    /// Bugs without a common cause that are repaired one by one.
    MOST_PARTS: usize = 6;
    /// Repairs of one of them that may become part of one for all.
    MOST_OF_A_PART: usize = 2;

    /// How many widths of a stretch are tried.
    MOST_WIDTHS: usize = 5;
    /// Statements of a function that only reads or writes for others: what has to stay together is in its callers then.
    MOST_OF_ACCESSOR: usize = 4;

    /// What losing all concurrency weighs, in lines.
    ALL_CONCURRENCY: f64 = 24.0;
    /// Of the classes of schedules that pass, a repair that leaves a smaller share makes threads run one after another.
    SERIAL: f64 = 0.05;
    /// A repair that leaves a smaller share comes after all that leave more, however many lines those have.
    LITTLE: f64 = 0.25;
    /// Lines of a critical section without loops that is short enough to cost no concurrency worth counting: however short, with
    /// many threads it leaves a small share of the classes.
    NARROW: u32 = 8;
    /// What a line inside of a critical section weighs, in changed lines.
    SECTION_LINE: f64 = 0.25;
    /// The same for the price that was guessed.
    PRICE: f64 = 0.3;

    /// How many partial covers are looked at.
    MOST_NODES: usize = 50_000;

    /// What a move costs, by how much it takes from the program.
    PAST_OWN: u64 = 36;
    /// What comes too early is put behind what it announces: what people write.
    ANNOUNCED: u64 = 8;
    /// Looking before it goes wrong is seldom a repair.
    PAST_CHECK: u64 = 80;
    /// Price of a move past the creation or the join of a thread.
    PAST_THREAD: u64 = 12;
    /// Price of a join before the creation of another thread: right where one needs what the other makes.
    THREAD_PAST_THREAD: u64 = 45;
    /// The same where the threads only disturb each other: they no longer run at the same time, so it is the last thing to do.
    DISTURBED_THREAD: u64 = 95;
    /// Announcements before a write that are tried behind it.
    MOST_ANNOUNCING: usize = 3;
    /// Moves of one class.
    MOST_MOVES: usize = 12;

    /// Repairs that are found before the search ends, as a multiple of those that are shown.
    SPARE: usize = 2;
    /// How long the classes that a repair still allows are counted.
    COUNTING: Duration = Duration::from_secs(2);
    /// Candidates whose remaining causes are looked for, in one round.
    MOST_REMAINING: usize = 3;

    /// The part of all time that one program may be explored exhaustively: several have to fit in.
    EXHAUSTIVE_SHARE: u32 = 10;
    /// The part of all time that one may be sampled.
    SAMPLING_SHARE: u32 = 3;

    /// The part of all time in which it is looked at what the program does as it is.
    BEFORE_SHARE: u32 = 10;
    /// Runs of the program as it is that show what it does.
    RUNS_BEFORE: u64 = 96;
    /// The same where hardly any of them pass.
    MORE_BEFORE: u64 = 1_000;
    /// Runs of these in which threads run one after another.
    SEQUENTIAL_BEFORE: u64 = 16;
    /// So many of them have to pass, or nothing is known of what the program does.
    FEWEST_BEFORE: u64 = 4;
    /// Runs of a repaired program in which the check that failed is looked for.
    RUNS_TO_CHECK: u64 = 64;
    /// Runs of a repaired program in which somebody who sleeps comes back early.
    RUNS_LATE: u64 = 800;
    /// The first of them, in which it is only counted how often somebody sleeps.
    COUNTING_SLEEPS: u64 = 8;
    /// Events in which who came back early, and then the others, go first: who waits busily does not go on for ever.
    GOING_ON: u32 = 500;
    /// What has more values than this differs from run to run.
    MOST_VALUES: usize = 12;

    /// Locks that are tried for one group of stretches.
    MOST_LOCKS: usize = 4;
}
