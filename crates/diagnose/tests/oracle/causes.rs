//! Root causes, on the recorded path: generated traces have no other.

use unravel_diagnose::Options;
use unravel_diagnose::testing::{Modelled, NoRefuter, Order, cause_of, nearest, root_cause};
use unravel_results::{Effort, Observed};
use unravel_solve::{SolverChoice, StepId};
use unravel_trace::{Bug, Schedule};

use crate::traces::{Case, Share, avoidable, cases, options};

/// Whether an order of steps executes both points the other way round. What an order lacks that ends a deadlock
/// comes after it.
fn breaks(case: &Case, world: &Modelled<'_>, order: &[StepId], (first, second): &Order) -> bool {
    let place = |key| {
        let step = world.step(key)?;
        let place = order.iter().position(|s| *s == step);
        let to_come = case.model.is_deadlock() && !case.model.is_request(step);
        place.or(to_come.then_some(usize::MAX))
    };
    matches!((place(*first), place(*second)), (Some(first), Some(second)) if second < first)
}

/// Whether every passing order breaks a member.
fn is_sound(case: &Case, world: &Modelled<'_>, orders: &[Order]) -> bool {
    let breaks_one = |order: &[StepId]| orders.iter().any(|o| breaks(case, world, order, o));
    case.census.passing().all(|e| breaks_one(&e.order))
}

/// Whether each member is broken by a passing order that breaks no other.
fn is_minimal(case: &Case, world: &Modelled<'_>, orders: &[Order]) -> bool {
    orders.iter().all(|member| {
        case.census.passing().any(|e| {
            let broken = |order: &&Order| breaks(case, world, &e.order, order);
            orders.iter().filter(broken).eq([member])
        })
    })
}

#[test]
fn every_passing_order_breaks_a_member_and_no_member_is_spare() {
    SolverChoice::ALL.into_iter().for_each(causes_by);
}

fn causes_by(solver: SolverChoice) {
    let mut by_trying = Share::default();
    let [mut conditions, mut deadlocks, mut minimal, mut proved] =
        [(); 4].map(|()| Share::default());
    for case in avoidable(80).chain(cases(100)) {
        if case.symbolic.bug == Bug::Opaque {
            // Only execution can tell how it ends.
            continue;
        }
        let seed = case.seed;
        let mut world = case.world();
        let (near, _) = nearest(&mut world, &case.model, &mut case.reference(), 1, 1);
        let passing: Vec<_> = near.into_iter().filter_map(|c| c.tried).collect();
        let tried = root_cause(&mut world, passing.clone(), 300, &mut NoRefuter);
        let any = case.census.passing().next().is_some();
        let orders = tried.map(|cause| cause.orders);
        by_trying.count(orders.map_or(!any, |orders| is_sound(&case, &world, &orders)));
        let observed = Observed {
            trace: case.trace.clone(),
            schedule: Schedule::default(),
            outcome: case.run.outcome.clone(),
        };
        let path = Some((&case.model, &observed));
        let mut effort = Effort::default();
        // Few samples, so that the solver has something to refute.
        let options = Options { samples: 6, ..options() };
        let (cause, is_proved) =
            cause_of(&mut world, passing, path, &mut *solver.make(), &options, &mut effort);
        let sound = match &cause {
            Some(cause) => {
                assert!(any, "seed {seed}: a cause, but nothing passes");
                minimal.count(is_minimal(&case, &world, &cause.orders));
                is_sound(&case, &world, &cause.orders)
            }
            None => !any,
        };
        match case.symbolic.bug {
            Bug::Deadlock { .. } => deadlocks.count(sound),
            _ => conditions.count(sound),
        }
        if cause.is_some() && !case.model.is_deadlock() {
            assert!(sound || !is_proved, "{solver}, seed {seed}: proved, but not so");
            proved.count(is_proved);
        }
    }
    println!(
        "{solver}: sound without solver: {by_trying}, with: {conditions}, of deadlocks: {deadlocks}"
    );
    println!("minimal: {minimal}, proved: {proved}");
    assert_eq!(conditions.percent(), 100.0, "{conditions}");
    // Nothing is proved of deadlocks: what the solver calls kept is not the same.
    assert!(deadlocks.percent() > 95.0, "{deadlocks}");
    assert_eq!(proved.percent(), 100.0, "{proved}");
    assert_eq!(minimal.percent(), 100.0, "{minimal}");
}
