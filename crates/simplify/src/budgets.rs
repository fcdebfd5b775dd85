//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "simplify";

    /// No run with more events is evaluated.
    MODELLED_EVENTS: u64 = 200_000;
    /// Steps that may be evaluated.
    EVALUATION: u64 = 60_000_000;
    /// How many turns later a turn may come.
    DEFER: usize = 8;
    /// Candidates to be deferred that may be executed in one pass.
    DEFERRED: u64 = 12;

    /// Fewer turns than these are left to Tinertia.
    FEW_TURNS: usize = 24;
    /// No window is smaller.
    SMALLEST_WINDOW: usize = 4;
    /// Executions of this stage.
    COARSE_EXECUTIONS: u64 = 500;

    /// Runs with more switches, or with more events, are made coarser first.
    LONG: (usize, u64) = (400, 20_000);
    /// How often the proof may find that more is shared than was known.
    ROUNDS: u32 = 4;

    /// Nodes that are kept at most.
    NODES: usize = 4_000_000;

    /// How many points ahead a thread may rejoin.
    AHEAD: usize = 1_000;

    /// Executions of a simplification: Tinertia is cubic in the worst case, and few runs take a tenth of this.
    EXECUTIONS: u64 = 20_000;
    /// Executions of the proof that there are no fewer switches.
    PROOF_EXECUTIONS: u64 = 200_000;
    /// Work of that proof: some seconds, also where runs are long.
    PROOF_WORK: u64 = 1_500_000_000;
}
