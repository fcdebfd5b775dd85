//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "strategies";

    /// No more locations than that; those that most threads touch.
    MOST_LOCATIONS: usize = 64;

    /// As many deviations are kept: some 200 MB.
    MOST_DEVIATIONS: usize = 6_000_000;

    /// Longer runs have more classes than anybody can wait for, and comparing their steps with each other takes longer than
    /// executing them.
    LONGEST: usize = 50_000;

    /// Runs after which the exhaustive search gets half of all.
    SAMPLED: u64 = 2048;

    /// A postponed thread is let go with one chance in so many at each decision.
    PATIENCE: u32 = 64;

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
