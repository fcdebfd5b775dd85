//! Exhaustive search executes every class of interleavings once: by formula, and against brute force.

mod watch;

use std::collections::BTreeSet;

use unravel_conformance::{Act, Toy};
use unravel_strategies::Exhaustive;
use unravel_trace::Rng;

use watch::{brute_force, explore};

/// A `main` that creates so many threads and joins them.
fn main_of(number: usize) -> Vec<Act> {
    (1..=number).map(Act::Fork).chain((1..=number).map(Act::Join)).collect()
}

fn with_main(main: Vec<Act>, bodies: Vec<Vec<Act>>) -> Toy {
    let threads = std::iter::once(main).chain(bodies).collect();
    Toy::new(threads).with_semaphores(vec![1, 0, 2, 0])
}

/// A program whose `main` creates these threads and joins them.
fn joined(bodies: Vec<Vec<Act>>) -> Toy {
    with_main(main_of(bodies.len()), bodies)
}

/// How many classes exhaustive search finds, none twice, all of them complete.
fn classes(mut toy: Toy) -> u64 {
    let (ends, summary) = explore(&mut toy, &mut Exhaustive::new(0, 1));
    assert!(summary.is_complete(), "{summary:?}");
    assert!(ends.values().all(|times| *times == 1), "a class twice: {ends:?}");
    assert_eq!(summary.classes, ends.len() as u64);
    summary.classes
}

fn choose(n: u64, k: u64) -> u64 {
    (1..=k).fold(1, |product, i| product * (n - k + i) / i)
}

fn writes(number: usize, cell: impl Fn(usize) -> usize) -> Vec<Act> {
    (0..number).map(|i| Act::Write(cell(i), i as u32)).collect()
}

fn section(lock: usize) -> Vec<Act> {
    vec![Act::Lock(lock), Act::Update(lock), Act::Unlock(lock)]
}

#[test]
fn independent_writes_are_one_class() {
    for n in 1..6 {
        assert_eq!(classes(joined(vec![writes(n, |_| 0), writes(n, |_| 1)])), 1);
    }
}

#[test]
fn conflicting_writes_are_as_many_classes_as_interleavings() {
    for n in 1..6 {
        for m in 1..5 {
            let toy = joined(vec![writes(n, |_| 0), writes(m, |_| 0)]);
            assert_eq!(classes(toy), choose((n + m) as u64, n as u64), "{n} and {m} writes");
        }
    }
}

#[test]
fn threads_with_one_write_each_are_permuted() {
    let mut product = 1;
    for n in 1..7 {
        product *= n;
        assert_eq!(classes(joined(vec![writes(1, |_| 0); n as usize])), product);
    }
}

#[test]
fn readers_are_before_or_after_a_writer() {
    for readers in 1..8 {
        let mut bodies = vec![vec![Act::Read(0)]; readers];
        bodies.push(vec![Act::Write(0, 1)]);
        assert_eq!(classes(joined(bodies)), 1 << readers);
    }
}

#[test]
fn locked_sections_are_permuted() {
    let mut product = 1;
    for n in 1..7 {
        product *= n;
        assert_eq!(classes(joined(vec![section(0); n as usize])), product);
    }
    let twice = [section(0), section(0)].concat();
    assert_eq!(classes(joined(vec![twice.clone(), twice])), choose(4, 2));
    assert_eq!(classes(joined(vec![section(0), section(1), section(2)])), 1);
}

#[test]
fn locks_in_opposite_orders_deadlock_in_one_class() {
    let both = |a, b| vec![Act::Lock(a), Act::Lock(b), Act::Unlock(b), Act::Unlock(a)];
    let mut toy = joined(vec![both(0, 1), both(1, 0)]);
    let (ends, summary) = explore(&mut toy, &mut Exhaustive::new(0, 1));
    let deadlocks = ends.keys().filter(|((how, _), _)| how == "deadlock").count();
    assert_eq!((deadlocks, summary.classes), (1, 3));
}

/// Threads around a table: each takes the locks at its sides, the one with the smaller number first.
fn around_a_table(number: usize) -> Toy {
    let eats = |i: usize| {
        let (one, other) = (i.min((i + 1) % number), i.max((i + 1) % number));
        vec![Act::Lock(one), Act::Lock(other), Act::Unlock(other), Act::Unlock(one)]
    };
    joined((0..number).map(eats).collect())
}

#[test]
fn neighbours_at_a_table_come_in_every_order_but_in_circles() {
    for n in 3..6 {
        assert_eq!(classes(around_a_table(n)), (1 << n) - 2, "{n} threads");
    }
}

/// A resource for one of two, of which the other is stuck at the end: whoever has it, all orders of the accesses are there.
#[test]
fn whoever_has_the_only_permit_every_order_is_shown() {
    let updates = vec![Act::Update(0), Act::Read(0)];
    let reads_first = vec![Act::Read(0), Act::Down(0)];
    let writes_after = vec![Act::Down(0), Act::Write(0, 2)];
    let mut toy = joined(vec![updates, reads_first, writes_after]);
    let (expected, _) = brute_force(&mut toy, 1_000_000).expect("it is small");
    let (found, _) = explore(&mut toy, &mut Exhaustive::new(0, 1));
    let found: BTreeSet<_> = found.into_keys().map(|(end, _)| end).collect();
    assert_eq!(found, expected.into_keys().collect());
}

/// Who waits on a condition needs the signal and the lock, and neither needs the other.
#[test]
fn a_signal_may_come_before_somebody_else_takes_the_lock() {
    let waits = vec![Act::Lock(0), Act::Wait(0, 0), Act::Unlock(0)];
    let takes = vec![Act::Lock(0), Act::Unlock(0)];
    let keeps = vec![Act::Lock(0)];
    let signals = vec![Act::Signal(0)];
    for other in [takes, keeps] {
        let bodies = [&waits, &other, &signals];
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut toy = joined(order.map(|body| bodies[body].clone()).to_vec());
            let (expected, _) = brute_force(&mut toy, 1_000_000).expect("it is small");
            let (found, _) = explore(&mut toy, &mut Exhaustive::new(0, 1));
            let found: BTreeSet<_> = found.into_keys().map(|(end, _)| end).collect();
            assert_eq!(found, expected.into_keys().collect(), "{order:?} of {other:?}");
        }
    }
}

/// How many runs exhaustive search makes, and how many of them are classes.
fn starts(mut toy: Toy) -> (u64, u64) {
    let (_, summary) = explore(&mut toy, &mut Exhaustive::new(0, 1));
    (summary.schedules, summary.classes)
}

#[test]
fn nearly_every_run_is_a_class() {
    for n in 1..6 {
        let apart = (0..n).map(|cell| writes(3, move |_| cell)).collect();
        assert_eq!(starts(joined(apart)), (1, 1), "{n} threads that share nothing");
        let (runs, classes) = starts(joined(vec![writes(1, |_| 0); n]));
        assert!(4 * runs <= 5 * classes, "{n} writes: {runs} for {classes} classes");
        let (runs, classes) = starts(joined(vec![section(0); n]));
        assert!(4 * runs <= 5 * classes, "{n} sections: {runs} for {classes} classes");
        let (runs, classes) = starts(around_a_table(n.max(3)));
        assert!(runs <= 4 * classes, "{n} threads around a table: {runs} for {classes} classes");
    }
}

#[test]
fn a_failure_does_not_hide_what_the_others_may_do() {
    // The first thread fails at once unless the second is faster; the third fails in any case.
    let fails = vec![Act::Expect(0, 1)];
    let saves = vec![Act::Write(1, 1), Act::Write(0, 1), Act::Write(2, 1)];
    let too = vec![Act::Write(3, 1), Act::Expect(4, 1)];
    let mut toy = joined(vec![fails, saves, too]);
    let (ends, _) = explore(&mut toy, &mut Exhaustive::new(0, 1));
    let hows: BTreeSet<&str> = ends.keys().map(|((how, _), _)| how.as_str()).collect();
    assert_eq!(hows, BTreeSet::from(["assertion of T0.1", "assertion of T0.3"]));
}

/// A random program of two or three threads.
fn random(rng: &mut Rng, timed: bool) -> Toy {
    let threads = 2 + rng.below(2) as usize;
    let most = if threads == 2 { 5 } else { 3 };
    let bodies = (0..threads).map(|_| body(rng, 1 + rng.clone().below(most), timed)).collect();
    let mut main = main_of(threads);
    // Sometimes main does something itself, or does not wait for the others.
    match rng.below(6) {
        0 => main.truncate(threads + rng.below(threads as u32) as usize),
        1 => {
            let own = body(rng, 2, timed);
            main.splice(threads..threads, own);
        }
        2 => {
            let own = body(rng, 1, timed);
            main.splice(1..1, own);
        }
        _ => {}
    }
    with_main(main, bodies)
}

fn body(rng: &mut Rng, acts: u32, timed: bool) -> Vec<Act> {
    let mut body = Vec::new();
    for _ in 0..acts {
        let (cell, lock) = (rng.below(2) as usize, rng.below(2) as usize);
        let value = rng.below(2);
        match rng.below(18) {
            0 | 1 => body.push(Act::Read(cell)),
            2 | 3 => body.push(Act::Write(cell, value)),
            4 => body.push(Act::Update(cell)),
            5 => {
                body.push(Act::Unless(cell, value, 1));
                body.push(Act::Write(1 - cell, 1));
            }
            6 => body.push(Act::Expect(cell, value)),
            7 => body.push(Act::Atomic(vec![Act::Read(cell), Act::Write(1 - cell, value)])),
            8 => body.push(Act::Atomic(vec![Act::Update(cell)])),
            9 if rng.below(2) == 0 => {
                // One lock inside of the other.
                body.extend([Act::Lock(lock), Act::Lock(1 - lock)]);
                if rng.below(2) == 0 {
                    body.push(Act::Write(cell, value));
                }
                body.extend([Act::Unlock(1 - lock), Act::Unlock(lock)]);
            }
            9 | 10 => {
                body.push(Act::Lock(lock));
                if rng.below(2) == 0 {
                    body.push(Act::Write(cell, value));
                }
                if rng.below(8) > 0 {
                    body.push(Act::Unlock(lock));
                }
            }
            11 => body.extend([Act::TryLock(lock, 2), Act::Write(cell, 1), Act::Unlock(lock)]),
            12 => body.extend([Act::LockShared(lock), Act::Read(cell), Act::Unlock(lock)]),
            13 if timed => {
                body.extend([Act::Lock(lock), Act::TimedWait(0, lock), Act::Unlock(lock)])
            }
            13 => body.extend([Act::Lock(lock), Act::Wait(0, lock), Act::Unlock(lock)]),
            14 => body.push(Act::Signal(0)),
            15 => body.push(Act::Broadcast(0)),
            16 => body.push(Act::Post(rng.below(4) as usize)),
            _ => body.push(Act::Down(rng.below(4) as usize)),
        }
    }
    body
}

/// Checks random programs against brute force; each also divided among lanes.
fn compare(seed: u64, timed: bool) {
    let programs = std::env::var("UNRAVEL_FUZZ_ITERS").ok().and_then(|text| text.parse().ok());
    let mut rng = Rng::new(seed);
    let mut checked = 0;
    while checked < programs.unwrap_or(120) {
        let mut toy = random(&mut rng, timed);
        let Some((expected, schedules)) = brute_force(&mut toy, 1500) else { continue };
        checked += 1;
        let expected: BTreeSet<_> = expected.into_keys().collect();
        for lanes in [1, 2, 5] {
            let mut union = BTreeSet::new();
            let mut whole = BTreeSet::new();
            for lane in 0..lanes {
                let (ends, summary) = explore(&mut toy, &mut Exhaustive::new(lane, lanes));
                assert!(summary.is_complete(), "{toy:?}: {summary:?}");
                assert!(lanes > 1 || summary.schedules <= 3 * schedules + 3, "{toy:?}");
                for ((end, class), times) in ends {
                    let new = whole.insert((end.clone(), class)) && times == 1;
                    // A timeout depends on more than a class shows.
                    assert!(new || timed, "{toy:?}: {end:?} twice in lane {lane} of {lanes}");
                    union.insert(end);
                }
            }
            assert_eq!(union, expected, "{toy:?} in {lanes} lanes");
        }
    }
}

#[test]
fn it_finds_every_class_that_brute_force_finds() {
    compare(1, false);
}

#[test]
fn it_finds_every_class_of_programs_with_timeouts() {
    compare(2, true);
}
