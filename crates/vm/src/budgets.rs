//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "vm";

    /// Slots of one thread's register stack (64 MiB, reserved, used on demand).
    REGISTERS: usize = 8 << 20;
    /// Native stack of one thread: the interpreter and the library functions it calls run on it.
    NATIVE_STACK: usize = 256 << 10;
    /// What compiled code leaves of it: for one more of its frames, and for what it calls.
    NATIVE_MARGIN: u64 = 96 << 10;

    /// Bytes of a thread's stack that compiled code may use beyond what was in use before: all that might have been used is
    /// cleared behind a run.
    STACK_AHEAD: u64 = 2048;

    /// Events of one run that are kept, if any are: about 1.5 GB. A run with more ends inconclusive.
    MOST_EVENTS: usize = 20_000_000;

    /// Of a function's variables in memory so many bytes are made to look uninitialised: further ones hold what was there
    /// before, as natively, and cost nothing.
    FRESH: usize = 4096;

    /// Samples of a function, of which one stands for 61 calls and jumps back, before it is compiled.
    HEAT: u32 = 16;
    /// And so many more for each of its instructions: compiling takes about as long as what was interpreted until then.
    HEAT_PER_INSTRUCTION: u32 = 8;

    /// Events without effect after which a thread on a recorded route may leave a busy wait earlier than it did.
    IDLE_ROUNDS: u32 = 2;
    /// Branches of the longest round of a busy wait that is recognised in a recorded route.
    LONGEST_ROUND: usize = 16;

    /// Other values offered after an attempt.
    MOST_OTHERS: usize = 48;

    /// Stores of what depends on inputs that are events although their sites are not visible. Further ones pass unseen.
    MOST_STORES: u32 = 10_000;

    /// Rounds that do the same while something local counts on, before they are taken for a busy wait.
    COUNTING: u32 = 200;

    /// Branches that a thread takes by itself.
    MOST_FREE_BRANCHES: usize = 5_000;
    /// Instructions of a thread.
    MOST_LED_STEPS: u64 = 2_000_000;

    /// A default case with more alternatives than this fixes the value instead.
    MANY_CASES: usize = 64;

    /// Jumps and calls of a run between two looks at who makes them: some hundred looks a second.
    SAMPLE_EVERY: i64 = 1 << 16;

    /// Events without effect after which a thread counts as spinning.
    SPIN: u32 = 400;
    /// The same where a repeated state is what shows it ([`Want::prune_spins`]): only against loops that never end.
    LONG_SPIN: u32 = 5_000;
    /// Events without effect after which it is looked whether a thread is back in a state it was in ([`Want::skip_rounds`]): to
    /// look costs more than an event.
    SPIN_LOOK: u32 = 8;
    /// Events of a busy wait in library code that are one step at most: those of the C++ library look some dozen times.
    MOST_ROUND_EVENTS: u32 = 256;
    /// Different reads of one round: a wait looks at one or two things, and all are compared at each event.
    MOST_ROUND_READS: usize = 16;
    /// How many of them it gets again after somebody else made progress.
    SPIN_AGAIN: u32 = 40;
    /// What a `sched_yield` or a sleep counts for.
    YIELD_WEIGHT: u32 = 16;
    /// Events without a pause after which time passes although somebody could go on: more than most programs do while
    /// another thread sleeps, and far less than a loop does that works until it is told to stop.
    OVERDUE: u64 = 10_000;
    /// Milliseconds until the child of a `fork` has become another program.
    CHILD_TIME: i32 = 10_000;
    /// How often a thread may come back to states it was in while time passes, having changed nothing, before it is held back: so
    /// often it looks at the clock while it waits for some seconds.
    ROUNDS_BY_TIME: u32 = 512;
    /// Looks of a thread at the clock after which it is taken to wait for it.
    CLOCK_LOOKS: u32 = 32;
    /// Backward jumps without an event after which a loop is taken for a busy wait on something not
    /// known to be shared yet.
    MAX_JUMPS: u32 = 20_000;
    /// How often a state must come again: one instruction may be several events.
    STATE_ROUNDS: u32 = 3;

    /// First events of a run whose place is kept for whoever asks where a run is that does not end; later only each so
    /// many: processes write it to one place, and would take it from each other.
    EVERY_EVENT: u64 = 256;

    /// How often native calls are looked at, in milliseconds.
    NATIVE_TICK: u64 = 100;
    /// Ticks after which a native call that waits in the kernel is given up: nobody will wake it.
    BLOCKED_TICKS: u32 = 15;
    /// Ticks after which a native call that computes is given up.
    LATE_TICKS: u32 = 100;

    /// A long range is sampled no further than this.
    MAX_GRANULES: u64 = 4096;
    /// No more visits are remembered in one run: later ones may be missed.
    MAX_VISITS: usize = 1 << 22;
}
