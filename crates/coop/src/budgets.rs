//! How much is done at most in this room. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "coop";

    /// Candidates that are replayed, as in the paper (§3.5.1).
    DEFAULT_ATTEMPTS: u32 = 500;
    /// Further executions of a candidate that was kept and did not fail, or could not be kept, with what it leaves open drawn at
    /// random: the paper has none. A few are enough to see whether anything is gained.
    DEFAULT_FILLS: u32 = 4;
    /// Logs of runs that passed that the one-element case looks at, as in the paper (§3.5.1): more say little more.
    MOST_PASSING: usize = 100;

    /// Runs of a survey: what is shared shows in the first of them, how hot it is in a few.
    SURVEY_RUNS: u64 = 24;
    /// Surveyed runs whose events are kept to tell memory without a name apart: each is as large as its run is long.
    SURVEY_TRACES: u64 = 8;

    /// Bytes of memory without a type that count as one field: an `int`. Longer accesses join several.
    GRANULE: u64 = 4;
    /// A heap object of more granules than this is one element: it is an array, whose places are no fields.
    MOST_GRANULES: u64 = 1024;
    /// Bytes of one access to a global that are looked at: longer ones copy whole arrays, whose elements come again.
    WIDEST_ACCESS: u64 = 4096;

    /// Bytes of a global whose parts native programs tell apart where a pointer is known at run time only; larger ones are arrays of
    /// buffers, and are not logged through such pointers.
    WIDEST_GLOBAL: u64 = 1 << 20;
    /// Accesses of a native vector that are read: as many as a store takes of a whole log.
    MOST_NATIVE_ACCESSES: usize = 16 << 20;

    /// Further runs that follow a log of blocks, with what it leaves open drawn at random: those of CoopREP's programs that can be followed at all
    /// are in some dozens.
    BLOCK_FOLLOWS: u64 = 200;

    /// Logs that have to share what no run that passed has before they may be a bug apart from others at the same place, and at least a tenth
    /// of those: two may by chance.
    LEAST_ALIKE: usize = 3;

    /// Combinations that are kept in mind while looking for the next best: more than are ever replayed.
    MOST_COMBINATIONS: usize = 100_000;
}
