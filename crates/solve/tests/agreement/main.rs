//! Every solver against brute force on random tiny traces of every kind, and ours against Z3 on longer ones: the same
//! satisfiability, the same minima, cores that no interleaving escapes. Every answer is evaluated.
//!
//! `UNRAVEL_SEEDS` sets how many traces each test goes through.

mod bounds;
mod cores;
mod known_orders;
mod middle;
mod minima;
mod restrictions;
mod satisfiability;
mod several;
mod traces;
mod unknown_values;

/// Each of these checks as a test of each solver.
macro_rules! of_each_solver {
    ($($test:ident: $check:path;)*) => {
        mod orders {
            $(#[test] fn $test() { $check(unravel_solve::SolverChoice::Orders); })*
        }
        mod z3 {
            $(#[test] fn $test() { $check(unravel_solve::SolverChoice::Z3); })*
        }
    };
}

of_each_solver! {
    satisfiability: crate::satisfiability::is_that_of_all_orders;
    minima: crate::minima::are_those_of_all_orders;
    cores: crate::cores::leave_nothing;
    minimal_cores: crate::cores::have_no_spare_member;
    kept_orders: crate::restrictions::kept_orders_hold;
    blocked_sets: crate::restrictions::blocked_sets_are_broken;
    fixed_steps: crate::restrictions::fixed_steps_keep_their_order;
    queries_in_a_row: crate::several::answers_are_those_of_a_fresh_solver;
    unknown_initial_values: crate::unknown_values::are_found;
    unknown_initial_values_by_hand: crate::unknown_values::one_is_found;
    an_interrupt: crate::bounds::an_interrupt_is_no_answer;
    few_conflicts: crate::bounds::few_conflicts_end_the_same_way_every_time;
}
