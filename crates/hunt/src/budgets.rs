//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "hunt";

    /// Addresses of others that an address may become.
    MOST_MEETINGS: usize = 32;
    /// Times that one place in one thread is asked about: its last ones.
    MOST_AT_A_PLACE: usize = 12;

    /// A larger set is "anything".
    MOST_VALUES: usize = 48;
    /// Choices that are evaluated for one expression.
    MOST_CHOICES: usize = 2_000;
    /// Rounds in which writes are followed.
    VALUE_ROUNDS: usize = 10;

    /// Cycles of locks that are asked about.
    MOST_CYCLES: usize = 60;
    /// Cycles between the same places that are asked about.
    MOST_ALIKE: usize = 3;
    /// Chains of locks that are looked at for cycles.
    MOST_CHAINS: u64 = 50_000;
    /// Waits at the same place of the same thread.
    MOST_WAITS: usize = 2;

    /// Steps from which on guesses at other addresses come first.
    LONG: usize = 400;
    /// Branches that are flipped at once. More are flipped one after the other.
    MOST_TOGETHER: u32 = 3;
    /// Different reasons for refusals that are kept.
    MOST_REASONS: usize = 20;

    /// Attempts that are written down.
    MOST_NOTED: usize = 200;

    /// Sets of flips of one base that are tried.
    MOST_SETS: usize = 300;
    /// Guided executions for one prefix.
    MOST_LEADS: usize = 32;

    /// How often progress is told.
    TICK: Duration = Duration::from_millis(100);
    /// The part of the time that is kept for telling and diagnosing what was caught.
    TELLING_SHARE: u32 = 5;
    /// How often a hunt may begin anew because more is shared than was known.
    EPOCHS: u32 = 6;

    /// Conflicts of the solver for a question that is asked the first time. What it does not answer by then is asked again once
    /// nothing else is left: a proof that some combination cannot fail must not keep the hunt from the next.
    FIRST_CONFLICTS: u64 = 2_000;
    /// Questions about one place in executions with as many flips, after which the next ones wait until nothing else is left: what
    /// did not fail in so many is less likely to fail in the next than what was not looked at.
    RATION: u32 = 24;
    /// Questions about one place without an answer, after which the next ones about it are asked in passing: with this part of the
    /// effort.
    UNANSWERED: u32 = 3;
    /// The part of that.
    IN_PASSING: u64 = 16;
    /// Conflicts for a question that is asked again.
    MOST_CONFLICTS: u64 = 100_000;
    /// Time for a question, the first time and again.
    FIRST_TIME: Duration = Duration::from_secs(1);
    /// The same if it is asked again.
    MOST_TIME: Duration = Duration::from_secs(4);
    /// Steps that are evaluated near the observed order for one question.
    NEARBY_STEPS: u64 = 400_000;

    /// Steps up to which the solver is asked at once: its orders are near to what was observed.
    SHORT: usize = 400;
    /// Walks through a longer trace before that.
    WALKS: u64 = 60;

    /// So many runs for each one that has to pass, before there are enough that do not.
    MOST_TRIES: u64 = 4;

    /// How long a diagnosis may take.
    DIAGNOSIS: Duration = Duration::from_secs(10);

    /// Runs that have to pass before a hunt begins, as in the thesis.
    RUNS: u64 = 100;
    /// D, N, and how many branches are flipped at once (thesis §5.2.2.2).
    DEPTH: u32 = 16;
    /// The N of that.
    TRACES: u32 = 4;
    /// The branches of that.
    FLIPS: u32 = 8;
    /// How long to hunt, if nobody says.
    TIME: Duration = Duration::from_secs(60);
}
