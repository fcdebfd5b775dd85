//! How much is done at most in this room, with the reasons. `unravel doctor --budgets` lists it.

unravel_trace::budgets! {
    room "certify";

    /// Values that a counter may take where a condition over it is tried with each: as many as the solver tries.
    VALUES: i128 = 4096;
}
