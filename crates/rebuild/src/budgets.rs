//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "rebuild";

    /// Runs that are steered before a log is given up.
    MOST_RUNS: u64 = 4_000;
    /// Events of a run that are remembered to find out what to turn round: the last ones.
    MOST_REMEMBERED: usize = 1 << 21;
    /// Accesses of the thread that strayed which are looked at, latest first.
    RECENT: usize = 12;
    /// Writes of others that each of them is turned round with, before and after it.
    WRITES: usize = 3;
    /// Pairs of accesses to one location by different threads that are turned round, latest first.
    PAIRS: usize = 8;
    /// Orders that are tried after one run.
    MOST_CHILDREN: usize = 40;
    /// Processes that one after the other look for a run, where native code crashed in those before.
    MOST_PROCESSES: u64 = 12;
    /// Runs that came furthest, from which others go on.
    PEAKS: usize = 12;
    /// States of memory in which an event has to wait.
    MOST_LESSONS: usize = 64;
    /// Every so many-th lesson is ignored in a run at random: it may be wrong.
    DOUBTED: u64 = 8;
    /// Orders that wait to be tried.
    MOST_WAITING: usize = 20_000;
}
