//! What is said to be proved minimal is minimal: compared with all interleavings of toy programs.

use unravel_conformance::{Act, Toy};
use unravel_execute::Laboratory;
use unravel_simplify::{Budget, Optimality, Simplified, simplify};
use unravel_strategies::Random;
use unravel_trace::*;

/// Follows a list of decisions, then takes the first option each time; says where there were others.
#[derive(Default)]
struct Enumerated {
    decisions: Vec<(u32, u32)>,
    at: usize,
    last: Option<ThreadId>,
    switches: usize,
    preemptions: usize,
}

impl Enumerated {
    fn decide(&mut self, options: u32) -> u32 {
        if self.at == self.decisions.len() {
            self.decisions.push((0, options));
        }
        self.at += 1;
        self.decisions[self.at - 1].0
    }

    /// On to the next schedule; false if there is none.
    fn advance(&mut self) -> bool {
        (self.at, self.last, self.switches, self.preemptions) = (0, None, 0, 0);
        while let Some((taken, options)) = self.decisions.pop() {
            if taken + 1 < options {
                self.decisions.push((taken + 1, options));
                return true;
            }
        }
        false
    }
}

impl Scheduler for Enumerated {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let index = self.decide(view.enabled.len() as u32) as usize;
        let thread = view.enabled[index].thread;
        if let Some(last) = self.last.filter(|last| *last != thread) {
            self.switches += 1;
            self.preemptions += usize::from(view.is_enabled(last));
        }
        self.last = Some(thread);
        Choice { thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.decide(options)
    }
}

/// A laboratory in which every access is visible.
fn laboratory(toy: &mut Toy) -> Laboratory<'_> {
    let visible = toy.sites().all().clone();
    Laboratory::new(toy, Input::default(), visible)
}

/// The fewest switches, then preemptions, of all schedules that fail like this. `None` if there are too many schedules.
fn brute_force(toy: &mut Toy, bug: &Outcome) -> Option<(usize, usize)> {
    let mut best = (usize::MAX, usize::MAX);
    let mut scheduler = Enumerated::default();
    let mut lab = laboratory(toy);
    for _ in 0..6_000 {
        let run = lab.run(&mut scheduler, &mut (), Want::only(Detail::Outcome));
        if run.outcome.is_same_bug(bug) {
            best = best.min((scheduler.switches, scheduler.preemptions));
        }
        if !scheduler.advance() {
            return Some(best);
        }
    }
    None
}

/// A failing run at random.
fn failing(toy: &mut Toy, seeds: std::ops::Range<u64>) -> Option<Run> {
    let mut lab = laboratory(toy);
    seeds.into_iter().find_map(|seed| {
        let run = lab.run(&mut Random::new(seed), &mut (), Want::only(Detail::Outcome));
        run.outcome.failure().is_some().then_some(run)
    })
}

fn simplified(toy: &mut Toy, run: &Run, budget: &Budget) -> Simplified {
    simplify(toy, &Input::default(), run, budget, &mut |_| true).expect("the run fails again")
}

/// A small program at random: two or three threads with two cells, a lock and a condition variable.
fn program(rng: &mut Rng) -> Toy {
    let threads = 1 + rng.below(3) as usize;
    let rest = vec![Act::Read(0), Act::FailIf(1 + rng.below(3))];
    let mut bodies = Vec::new();
    for _ in 0..threads {
        let mut own = Vec::new();
        let length = 2 + rng.below(if threads == 3 { 1 } else { 3 });
        while own.len() < length as usize {
            let cell = rng.below(2) as usize;
            match rng.below(8) {
                0 | 1 => own.extend([Act::Read(cell), Act::Put(cell, 1)]),
                2 => own.extend([Act::Read(cell), Act::SkipIf(0, 1), Act::Put(1 - cell, 2)]),
                3 => own.extend([Act::Lock(0), Act::Read(cell), Act::Put(cell, 1), Act::Unlock(0)]),
                4 => own.extend([Act::Read(cell), Act::FailIf(rng.below(4))]),
                5 => own.extend([Act::Lock(0), Act::Wait(0, 0), Act::Unlock(0)]),
                6 => own.push(Act::Signal(0)),
                _ => own.push(Act::Put(cell, 1)),
            }
        }
        bodies.push(own);
    }
    Toy::joined(bodies, rest)
}

#[test]
fn minima_are_those_of_all_interleavings() {
    let mut rng = Rng::new(5);
    let (mut compared, mut kinds) = (0, [0, 0]);
    for _ in 0..400 {
        let mut toy = program(&mut rng);
        let Some(run) = failing(&mut toy, 0..40) else { continue };
        let Some(least) = brute_force(&mut toy, &run.outcome) else { continue };
        // Without a simplification before it the exact search finds the minimum all alone.
        let alone = Budget { executions: 0, ..Budget::default() };
        for budget in [Budget::default(), alone] {
            let simple = simplified(&mut toy, &run, &budget);
            let found = (simple.after.all(), simple.after.preemptive);
            assert_eq!(found, least, "{toy:?}\n{simple:?}");
            assert_eq!(simple.optimality, Optimality::ProvedMinimal, "{toy:?}");
            assert!(simple.run.outcome.is_same_bug(&run.outcome));
        }
        compared += 1;
        let deadlock = run.outcome.failure().is_some_and(|f| f.kind == FailureKind::Deadlock);
        kinds[usize::from(deadlock)] += 1;
    }
    assert!(compared > 80 && kinds.iter().all(|n| *n > 20), "only {compared}: {kinds:?}");
}

#[test]
fn a_thread_is_cut_where_only_a_read_is_to_come_in_between() {
    // The second thread must see the first write and not yet the second, then the second.
    let writer = vec![Act::Put(0, 1), Act::Put(1, 1)];
    let reader = vec![
        Act::Read(0),
        Act::SkipIf(0, 4),
        Act::Read(1),
        Act::SkipIf(1, 2),
        Act::Read(1),
        Act::FailIf(1),
    ];
    let mut toy = Toy::joined(vec![writer, reader], Vec::new());
    let mut worse = 0;
    for seed in 0..300 {
        let Some(run) = failing(&mut toy, seed..seed + 1) else { continue };
        let least = brute_force(&mut toy, &run.outcome).expect("it is small");
        // The writer is preempted once, the reader once; then the writer ends, and the reader goes on.
        assert_eq!(least, (4, 2));
        worse += usize::from(run.schedule.context_switches() > 4);
        let alone = Budget { executions: 0, ..Budget::default() };
        let simple = simplified(&mut toy, &run, &alone);
        assert_eq!((simple.after.all(), simple.after.preemptive), least, "seed {seed}: {simple:?}");
        assert_eq!(simple.optimality, Optimality::ProvedMinimal);
    }
    assert!(worse > 3, "only {worse} runs could be improved");
}
