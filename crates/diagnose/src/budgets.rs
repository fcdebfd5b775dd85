//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "diagnose";

    /// Steps that may be evaluated for one reduction.
    REDUCE_STEPS: usize = 4_000_000;

    /// Steps that the search for an alternate may evaluate.
    EVALUATION_BUDGET: u64 = 4_000_000;
    /// Runs with more steps look for witnesses of their root cause in the model first.
    LONG_PATH: usize = 300;
    /// Alternates of the model that are executed to see whether they pass.
    MAX_CONFIRMED: usize = 64;
    /// Threads that are tried behind all others where one fails after the recorded steps.
    MOST_COMPLETIONS: usize = 3;
    /// Work of the search for an alternate schedule.
    ALTERNATE_WORK: u64 = 80_000_000;
    /// Work of the search for the root cause.
    CAUSE_WORK: u64 = 160_000_000;

    /// Queries for one root cause.
    MAX_QUERIES: u64 = 12;
    /// The same for long runs, whose answers take longer.
    MAX_LONG_QUERIES: u64 = 3;
    /// Runs are long with more steps than this part of what the solver can do.
    EASY: usize = 3;

    /// Random walks before the solver is asked.
    WALKS: u64 = 2000;
    /// Steps that may be evaluated.
    WALK_STEPS: u64 = 20_000_000;

    /// Combinations of recorded paths that are asked about: a folder of a thousand paths in minutes.
    MOST_COMBINED: u64 = 2000;
    /// Paths of other executions in one of them. What needs more is hardly one bug.
    MOST_FOREIGN: usize = 4;
    /// Executions whose threads are followed to where they want to go.
    MOST_PROBED: usize = 8;
    /// Orders that are evaluated for one.
    MOST_PROBES: u64 = 20_000;
    /// Paths that are tried where a thread cannot go on as it did.
    MOST_PARTING: usize = 48;
    /// Random walks for one, before the solver is asked.
    COMBINED_WALKS: u64 = 60;
    /// Steps of all of these walks.
    COMBINED_STEPS: u64 = 60_000;
    /// Conflicts of the solver for one: there are many.
    COMBINED_CONFLICTS: u64 = 20_000;
    /// Time of the solver for one.
    COMBINED_TIME: Duration = Duration::from_secs(3);
    /// Combinations that pass, of which the nearest is taken.
    ENOUGH_ELSEWHERE: usize = 8;

    /// Conflicts of a point are looked for among this many points of its object before it.
    LOOK_BACK: usize = 400;
    /// Conflicts of a point that are kept.
    MAX_CONFLICTS: usize = 128;
    /// Locks around a point are looked for among this many points before it.
    MAX_SECTION: usize = 2000;
    /// No run is said to break more orders than this; the nearest ones are kept.
    MAX_BROKEN: usize = 4096;

    /// Single reversals that are tried.
    MAX_SINGLES: usize = 1500;
    /// Pairs of which two are reversed at once: so many, squared.
    MAX_DOUBLES: usize = 48;
    /// Schedules at random that look for a passing one.
    MAX_RANDOM: u64 = 400;
    /// Runs that leave out what a random one did by chance: halving some dozen orders takes about this many.
    MAX_APPROACHES: usize = 120;
    /// Passing schedules that are compared before the nearest is taken.
    ENOUGH_PASSING: usize = 120;

    /// Attempts at rebuilding the run.
    MOST_ATTEMPTS: u32 = 200;
    /// Attempts whose paths were complete and in which no order failed.
    MOST_COMPLETE: u32 = 24;
    /// Walks that take no notice of guesses.
    RELAXED_WALKS: u64 = 400;
    /// Orders of such walks that are executed.
    RELAXED_EXECUTIONS: u32 = 12;
    /// Of what a stuck thread might try instead, how much is tried at once.
    AT_ONCE: usize = 4;
    /// Of the time that there is, the part that threads are led along their paths for; the rest is for steering them.
    LEADING_SHARE: u32 = 3;
    /// Runs that are steered along the paths of threads: without stamps more is open than in a log.
    STEERED_RUNS: u64 = 20_000;
    /// For each query of the solver.
    SOLVER_TIME: Duration = Duration::from_secs(5);

    /// Longer runs are not searched further once a single change was found to do.
    LONG_TRACE: usize = 2000;
    /// Single changes that pass are looked for up to this many.
    ENOUGH_CHANGES: usize = 40;
    /// Cells of one read of which every part is changed for itself.
    MAX_PARTS: usize = 4;
    /// Other sources that are looked at.
    MAX_CHANGES: usize = 4000;

    /// Accesses are followed byte by byte up to this length; of longer ones only the first bytes.
    MAX_BYTES: u32 = 64;

    /// Runs at random that look for what is shared.
    LEARNING_RUNS: u64 = 12;

    /// Larger models are not closed: the reachability matrix would not pay.
    CLOSURE_STEPS: usize = 3000;
    /// Rounds of a closure. What it has not refuted by then counts as possible.
    CLOSURE_ROUNDS: usize = 40;

    /// Work of trying shields: some seconds at most. Runs that fail early may be short where those that pass are long, and thorough trials are of the latter.
    SHIELD_WORK: u64 = 800_000_000;
    /// Schedules that show that a shield does not help.
    QUICK_TRIAL: u64 = 48;
    /// So many questions of a waiting thread to the environment are tried for being its last wait.
    MOST_QUESTIONS: usize = 12;
    /// So many of the schedules of a trial have to fail without a shield for their passing with it to mean anything.
    FEWEST_FAILURES: u64 = 3;
    /// Schedules of which none may fail with a shield that is said to help.
    THOROUGH_TRIAL: u64 = 240;
    /// Of a longer run fewer schedules are tried.
    SHORT_RUN: usize = 500;
    /// Of a longer run only the end is varied.
    LONG_RUN: u64 = 4_000;
    /// So many events at most.
    WINDOW: usize = 2_000;
    /// Not every event is one that schedules count.
    WINDOW_SLACK: usize = 20;
    /// Stretches of a long run that are tried to be brought together.
    COMPACTED: usize = 12;
    /// Rearranged runs in which shields are tried.
    MOST_WINDOWS: usize = 4;
    /// Conflicts of one thread that are left in between, where all are too many: a round reads and writes.
    LAST_CONFLICTS: usize = 4;
    /// Longer runs are not executed symbolically: that takes more than a kilobyte an event, and every copy of a process that has
    /// them takes longer to make.
    MOST_SYMBOLIC: u64 = 500_000;
    /// Of longer runs nobody asks who called: every event has a stack, and the run is executed once more for them.
    MOST_CALLS: u64 = 200_000;
    /// Schedules of quick and of thorough trials there, and of runs that are not short.
    WINDOW_TRIAL: (u64, u64) = (24, 96);
    /// Stretches that have to be atomic together.
    MOST_SHIELDS: usize = 4;
    /// Stretches that are kept whole where no schedule passes otherwise.
    MOST_TRIED: usize = 12;
    /// Stretches that are tried.
    MOST_STRETCHES: usize = 48;
    /// Events of a thread before and after an interruption that a stretch may begin and end with.
    STRETCH_ENDS: usize = 24;
    /// Interruptions of a thread that are looked at, the last ones.
    MOST_GAPS: usize = 24;
    /// Interruptions that one stretch may have.
    MOST_WIDTH: usize = 4;
    /// Deeper than locks are nested.
    NESTED: usize = 64;
    /// Orders that are tried.
    MOST_ORDERS: usize = 24;
    /// Orders of another run that are tried with those that help.
    MOST_OTHER_ORDERS: usize = 40;
    /// Places of others that one access is ordered with there.
    MOST_RIVALS: usize = 4;
    /// Smaller numbers are no addresses of the machine.
    LEAST_ADDRESS: u64 = 1 << 32;
    /// Orders that have to hold together.
    MOST_TOGETHER: usize = 3;
    /// Runs that pass, of which it is seen whether they make the check that failed.
    CHECKED_RUNS: usize = 12;
    /// Events of its thread from the read to the write of one update.
    MOST_UPDATE: u32 = 8;
    /// Updates that are kept whole together.
    MOST_WHOLE: usize = 8;
    /// Waits that time out, of one run, that are tried to be patient.
    MOST_WAITS: usize = 4;
    /// Of such a wait, what others write meanwhile that is tried to be a reason to wait on.
    MOST_TAKERS: usize = 4;

    /// Reversals and delays tried against each candidate.
    MAX_MOVES: usize = 240;
    /// Refutations before we give up.
    MAX_ROUNDS: usize = 200;
    /// Orders of a refutation that are broken alone before parts of it are.
    MAX_ALONE: usize = 24;
    /// Executions to cut down one refutation.
    MAX_CUTS: usize = 60;

    /// For a goal that was asked for.
    GOAL_TIME: Duration = Duration::from_secs(20);
    /// For the question which alternate breaks the fewest segments, unless more time is given: a reader waits that long.
    SEGMENTS_TIME: Duration = Duration::from_secs(3);
    /// For a proof that nobody asked for: a reader does not wait for it.
    PROOF_TIME: Duration = Duration::from_millis(300);
    /// Schedules at random that attack a root cause.
    SAMPLES: u64 = 300;
}
