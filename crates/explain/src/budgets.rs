//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "explain";

    /// How long bugs are diagnosed, all of them, after a search that was interrupted: somebody is waiting.
    HURRIED: Duration = Duration::from_millis(500);

    /// If so many schedules of all strategies fail, one that passes is hardly there to be found.
    ALWAYS: u64 = 1000;
    /// Then it is looked for no longer than this.
    FUTILE: Duration = Duration::from_millis(600);

    /// Simplifying may take this part of a diagnosis' time.
    SIMPLIFYING_SHARE: u32 = 4;
    /// Simplifying a run with more events may take half of the time.
    LONG: u64 = 100_000;
    /// So many times as long may its diagnosis take, where nobody says how long: each execution takes a second.
    LONG_TIMES: u32 = 2;
    /// Simplifying takes no longer than this.
    MOST_SIMPLIFYING: Duration = Duration::from_secs(3);
    /// Executions of the search for fewer switches that is exact: a tenth of what the command itself spends.
    PROOF_EXECUTIONS: u64 = 20_000;
    /// Work of that search: a tenth of what the command itself spends.
    PROOF_WORK: u64 = 150_000_000;

    /// After the first bug, so many times the schedules that it took are tried for others.
    TIMES: u64 = 4;
    /// And at least so many.
    LEAST: u64 = 5000;
    /// But no longer than this: somebody waits for the first one.
    MORE: Duration = Duration::from_secs(2);
    /// How long one diagnosis may take.
    DIAGNOSIS: Duration = Duration::from_secs(30);
    /// How long is looked which bugs go away with others: a trial of one is some hundred runs.
    GROUPING: Duration = Duration::from_secs(5);
    /// Bugs that are diagnosed.
    DIAGNOSED: usize = 8;
}
