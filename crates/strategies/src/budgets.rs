//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "strategies";

    /// Places of a run's memory for which room is kept for the next run: more than most runs have, and a few megabytes.
    KEPT_PLACES: usize = 1 << 15;

    /// No more locations than that; those that most threads touch.
    MOST_LOCATIONS: usize = 64;

    /// As many deviations are kept: some 200 MB.
    MOST_DEVIATIONS: usize = 6_000_000;

    /// Longer runs have more classes than anybody can wait for, and comparing their steps with each other takes longer than
    /// executing them.
    LONGEST: usize = 50_000;

    /// Runs that see more than most have at most about so many times the events of all the others together, for each eight of
    /// which there could be one.
    SHARE_OF_RARE: u64 = 8;
    /// But one in so many there is at least: what they alone see should be seen before long.
    RAREST: u64 = 16;
    /// To execute a run costs about as much as so many events, however few it has.
    SHORTEST: u64 = 1000;

    /// Runs after which the exhaustive search gets half of all.
    SAMPLED: u64 = 2048;

    /// Runs after which half of the samples are random walks: what nobody has found by then takes many orders at once, and a walk
    /// has a chance of any. A lock-free stack whose bug needs eight preemptions (SafeStack) was found so after some 400,000.
    LATE: u64 = 32_768;

    /// Runs of one sample, at most, with other values for what an assumption refused: a few for each of a dozen guesses.
    GUESSES: u32 = 64;
    /// So many are tried before it is asked whether that pays.
    LEAST_GUESSES: u64 = 1000;
    /// Longer runs are not executed again for another value.
    GUESSED_EVENTS: u64 = 20_000;

    /// A postponed thread is let go with one chance in so many at each decision.
    PATIENCE: u32 = 64;

    /// Events of a lap at most: a thread that does not come back to where its turn began lets others go on.
    LONGEST_LAP: u32 = 64;

    /// Threads that rounds wait for: a program that has more may create them for ever.
    MOST_GATHERED: usize = 64;

    /// Accesses of one thread that are more of its own events apart are hardly meant to be one.
    NEAR: u64 = 64;
    /// Splits that are kept: a coin decides among them, and each needs a few runs.
    MOST_SPLITS: usize = 512;
    /// Splits of one location: what is accessed from everywhere must not take the place of all else.
    MOST_SPLITS_OF_ONE: usize = 64;
    /// Remote accesses that a thread waits for at most, in the middle of two of its own.
    MOST_REMOTE: u32 = 4;

    /// Orders of locks that are kept, each by its threads and sites.
    MOST_LOCK_ORDERS: usize = 512;
    /// Cycles among them: each needs a few runs.
    MOST_LOCK_CYCLES: usize = 64;
    /// Threads of a cycle: longer ones are too many to go through, and hardly ever met.
    LONGEST_LOCK_CYCLE: usize = 6;

    /// What a run expects that knows nothing yet.
    UNKNOWN_LENGTH: u64 = 50;
    /// Runs of the first epoch, which learn from each other.
    FIRST: u64 = 2;
    /// The runs up to the end of the second epoch learn, all of them.
    LEARNING: u64 = 8;
    /// Size of the third epoch; each is twice the one before.
    EPOCH: u64 = 64;
    /// No epoch is larger: what is learnt should count before long.
    EPOCH_LIMIT: u64 = 4096;
}
