//! How much commands do at most where the user does not say; and the budgets of all rooms together, for
//! `unravel doctor --budgets`.

use std::time::Duration;

use unravel_trace::Budget;

unravel_trace::budgets! {
    room "cli";

    /// How long all causes and repairs are looked for.
    REPAIR_TIME: Duration = Duration::from_secs(15);
    /// Schedules of each repaired program, where not all classes can be explored.
    CHECKED: u64 = 2500;
    /// Repairs that are shown.
    MOST_REPAIRS: usize = 3;

    /// `diagnose LOG` and `hunt --from` look for the recorded run so long without --time.
    REBUILD_TIME: Duration = Duration::from_secs(60);
    /// How long schedules are tried if the user does not say.
    DIAGNOSE_TIME: Duration = Duration::from_secs(30);

    /// How long each set of measures is explored exhaustively.
    REPAIR_EXHAUSTIVE: Duration = Duration::from_secs(5);
    /// How long it is sampled where that does not end.
    REPAIR_SAMPLING: Duration = Duration::from_secs(20);
    /// How long to look for causes that a candidate leaves.
    REPAIR_REMAINING: Duration = Duration::from_secs(10);
    /// How long candidates are tried.
    REPAIR_ALL: Duration = Duration::from_secs(60);

    /// How long a search lasts if the user says nothing.
    DEFAULT_TIME: Duration = Duration::from_secs(30);
    /// How often the environment deviates in a run, if the user says nothing: bugs that need three such accidents at once
    /// are hardly ever met.
    DEVIATIONS: u32 = 2;
    /// A search is inconclusive if one run in so many was.
    FEW_SCHEDULES: u64 = 10;

    /// How long that may take.
    LEARNING: Duration = Duration::from_secs(10);
    /// About how many events a single run is expected to have.
    RUN_LENGTH: u64 = 1000;

    /// From here on one run takes so long that the user is told.
    LONG_RUN: Duration = Duration::from_secs(2);

    /// How long it takes at most if the user does not say.
    SIMPLIFY_TIME: Duration = Duration::from_secs(60);

    /// Schedules besides the recorded ones.
    TEST_SCHEDULES: u64 = 2000;

    /// How long to wait for the first byte on a pipe that may never bring one.
    PIPE_PATIENCE_MS: i32 = 200;
}

/// Of all rooms, in the way of the data.
pub fn all() -> Vec<Budget> {
    [
        unravel_vm::budgets(),
        unravel_strategies::budgets(),
        unravel_execute::budgets(),
        unravel_explore::budgets(),
        unravel_rebuild::budgets(),
        unravel_solve::budgets(),
        unravel_certify::budgets(),
        unravel_simplify::budgets(),
        unravel_diagnose::budgets(),
        unravel_causes::budgets(),
        unravel_repair::budgets(),
        unravel_hunt::budgets(),
        unravel_explain::budgets(),
        unravel_coop::budgets(),
        unravel_fleet::budgets(),
        budgets(),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn each_budget_has_its_own_name_and_a_reason() {
        let all = all();
        assert!(all.len() > 150, "{}", all.len());
        for budget in &all {
            let same =
                |other: &&super::Budget| (other.room, other.name) == (budget.room, budget.name);
            assert_eq!(all.iter().filter(same).count(), 1, "{}::{}", budget.room, budget.name);
            let alike = |other: &&super::Budget| {
                (other.room, &other.reason) == (budget.room, &budget.reason)
            };
            assert_eq!(all.iter().filter(alike).count(), 1, "{budget:?}: a reason of its own");
            assert!(budget.reason.len() > 12 && budget.reason.ends_with(['.', ':']), "{budget:?}");
        }
    }
}
