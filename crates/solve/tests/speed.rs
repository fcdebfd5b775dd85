//! How fast the model and the evaluator are. `cargo test --release -p unravel-solve --test speed -- --ignored --nocapture`

use std::hint::black_box;
use std::time::{Duration, Instant};

use unravel_solve::generate::large;
use unravel_solve::{Evaluator, Model, SlotId, Verdict, criteria};
use unravel_trace::Rng;

fn time<T>(repeat: u32, mut what: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..repeat {
        black_box(what());
    }
    start.elapsed() / repeat
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    println!(
        "steps, model, full evaluation, swap in the middle, swap at 90 %, flows + distance, candidates of a read"
    );
    for events in [100, 300, 1_000, 3_000, 10_000, 30_000, 100_000] {
        let generated = large(events, 4, 1);
        let repeat = (1_000_000 / events).max(5) as u32;
        let build =
            time((repeat / 20).max(2), || Model::new(&generated.trace, &generated.symbolic));
        let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
        let failing = model.observed().expect("it was observed");
        let mut evaluator = Evaluator::new(&model);
        assert!(matches!(evaluator.evaluate(&failing), Verdict::Fails { .. }));
        let full = time(repeat, || {
            evaluator.evaluate(&[]);
            evaluator.evaluate(&failing)
        });
        let mut swap = |near: usize| {
            let mut order = failing.clone();
            let from = order.len() * near / 100;
            let differ = |i: &usize| model.owner(failing[*i]) != model.owner(failing[i - 1]);
            let at = (1..=from).rev().find(differ).expect("threads alternate");
            time(repeat, || {
                order.swap(at, at - 1);
                evaluator.evaluate(&order)
            })
        };
        let (middle, end) = (swap(50), swap(90));
        evaluator.evaluate(&failing);
        let flows = criteria::flows(&model, &evaluator);
        let distance = time(repeat, || {
            let now = criteria::flows(&model, &evaluator);
            criteria::distance(&model, &failing, &flows, &failing, &now)
        });
        let mut rng = Rng::new(1);
        let slots = model.reads().len() as u32;
        let candidates = time(1_000, || model.candidates(SlotId(rng.below(slots))));
        println!(
            "{:>6} {build:>10.1?} {full:>9.1?} {middle:>9.1?} {end:>9.1?} {distance:>9.1?} {candidates:>9.1?}",
            model.len()
        );
    }
}
