//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

use std::time::Duration;

unravel_trace::budgets! {
    room "solve";

    /// Conflicts before the first restart; multiplied by the Luby sequence.
    RESTART: u64 = 80;
    /// Decisions between two looks at the clock.
    LOOK: u64 = 64;

    /// Searches that make one core smaller.
    TRIMS: usize = 3;
    /// Members above which a core is not taken apart member by member.
    SMALL_CORE: usize = 40;
    /// Disjoint cores after which any answer is looked for.
    MANY_CORES: usize = 8;
    /// Conflicts that leaving one member out may take.
    FEW_CONFLICTS: u64 = 60;

    /// Obstacles of one cell that are said at one standstill.
    ENOUGH_OBSTACLES: usize = 24;
    /// Standstills of linearising in one pass.
    STANDSTILLS: usize = 40;

    /// Steps that break one segment or switch and are said at once.
    ENOUGH_ORDERS: usize = 16;

    /// Looks at orders that an edge may imply.
    LOOKS: usize = 400;

    /// Values that are tried to see what a condition needs.
    VALUES: i128 = 4096;
    /// Conditions over one cell that are looked at.
    CONDITIONS: usize = 16;

    /// Walks at random for one question.
    WALKS: u64 = 8;
    /// Steps that all walks together may execute, for each step of the model.
    WALK_EFFORT: usize = 24;
    /// All walks together execute no more steps than this, however long the model is.
    MOST_WALKED: usize = 400_000;
    /// All walks together may always execute so many steps.
    LEAST_WALKED: usize = 4_000;

    /// Candidates in the first clause.
    FIRST_SOURCES: usize = 6;
    /// Literals of one read up to which choosing one rules out the others at once.
    FEW_SOURCES: usize = 64;

    /// Clauses that join so few levels are kept.
    GLUE: u32 = 3;
    /// Forgettable clauses before the first reduction.
    FIRST_CLAUSES: usize = 4_000;
    /// How many more forgettable clauses there may be before each next reduction.
    MORE_CLAUSES: usize = 500;

    /// Literals that the theory is told between two looks at the clock.
    LOOK_WHILE_TELLING: u32 = 128;

    /// Z3's measure of work that a conflict stands for, roughly, in queries of this kind.
    RESOURCES_PER_CONFLICT: u64 = 2_000;

    /// How often the flag for interrupts is looked at.
    POLL: Duration = Duration::from_millis(10);

    /// Sessions that are kept.
    SESSIONS: usize = 2;
    /// Times that an anchor gives way before it is given up.
    ROUNDS: usize = 200;
}
