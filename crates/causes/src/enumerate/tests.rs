//! Tiny programs whose interleavings are all known: every failing one must be accounted for, no passing one may keep a
//! cause, and no order may be spare.

use unravel_trace::{Failure, FailureKind, Rng, Role, SiteId, ThreadName, Touch};

use super::*;
use crate::gather::{FailingMember, Member};
use crate::watch::{Says, Step, Touched, Words};

/// A step: the variable it touches, and the value it writes; it reads if there is none.
type Act = (u64, Option<u64>);

/// Every interleaving of these threads, with whether it passes.
fn gather(threads: &[Vec<Act>], passes: impl Fn(&[u64]) -> bool) -> (Gathered, Words, Pairs) {
    let (mut words, mut pairs) = (Words::default(), Pairs::default());
    let mut gathered = Gathered { exhausted: true, ..Gathered::default() };
    let mut orders = Vec::new();
    interleave(threads, &mut vec![0; threads.len()], &mut Vec::new(), &mut orders);
    for order in orders {
        let mut memory = [0; 8];
        // By thread: in which order different threads read is nothing that a program sees.
        let mut read = vec![Vec::new(); threads.len()];
        let mut at = vec![0; threads.len()];
        let mut course = Course::default();
        for thread in order {
            let (variable, written) = threads[thread][at[thread]];
            match written {
                Some(value) => memory[variable as usize] = value,
                None => read[thread].push(memory[variable as usize]),
            }
            let name = ThreadName::main().child(thread as u32 + 1);
            let key = words.keys.thread(&name);
            let site = SiteId(thread as u32 * 100 + at[thread] as u32);
            let touch = Touch {
                address: 64 + variable * 8,
                bytes: 4,
                writes: written.is_some(),
                role: Role::Data,
            };
            let touched = Touched { touch, says: Says::Data };
            course.steps.push(Step {
                key: words.keys.key(key, site, 0),
                thread: key,
                touches: words.touches.number(&[touched]),
                ends: Ends::Nothing,
                continues: false,
            });
            at[thread] += 1;
        }
        let mut seen: Vec<u64> = read.concat();
        seen.extend(memory);
        let kept = pairs.kept(&course, &words.touches);
        let is_known = |member: &Member| member.kept == kept;
        let member = Member { course, kept: kept.clone() };
        if passes(&seen) {
            if !gathered.passing.iter().any(is_known) {
                gathered.passing.push(member);
            }
        } else if !gathered.failing.iter().any(|failing| is_known(&failing.member)) {
            let failure = Box::new(Failure {
                kind: FailureKind::Assertion,
                message: String::new(),
                thread: ThreadName::main(),
                stack: Vec::new(),
                related: Vec::new(),
            });
            gathered.failing.push(FailingMember { member, failure });
        }
    }
    (gathered, words, pairs)
}

fn interleave(
    threads: &[Vec<Act>],
    at: &mut Vec<usize>,
    prefix: &mut Vec<usize>,
    all: &mut Vec<Vec<usize>>,
) {
    let mut is_over = true;
    for thread in 0..threads.len() {
        if at[thread] < threads[thread].len() {
            is_over = false;
            at[thread] += 1;
            prefix.push(thread);
            interleave(threads, at, prefix, all);
            prefix.pop();
            at[thread] -= 1;
        }
    }
    if is_over {
        all.push(prefix.clone());
    }
}

/// The causes, after checking all that is promised of them.
fn causes(threads: &[Vec<Act>], passes: impl Fn(&[u64]) -> bool) -> Vec<Vec<(u32, u32)>> {
    let (gathered, words, mut pairs) = gather(threads, passes);
    let keys = &words.keys;
    let result = enumerate(&mut pairs, keys, &gathered, Limit::default());
    assert_eq!((result.left, result.untold), (0, 0));
    let place = |course: &Course, key: Key| course.steps.iter().position(|step| step.key == key);
    let keeps = |course: &Course, (first, second): &(Key, Key)| {
        place(course, *first) < place(course, *second)
    };
    let mut accounted: Vec<usize> = Vec::new();
    for found in &result.found {
        for passing in &gathered.passing {
            assert!(!found.orders.iter().all(|order| keeps(&passing.course, order)));
        }
        for (order, witness) in found.orders.iter().zip(&found.witnesses) {
            let witness = &gathered.passing[*witness].course;
            assert!(found.orders.iter().all(|o| keeps(witness, o) == (o != order)));
        }
        for failing in &found.blocks {
            let course = &gathered.failing[*failing].member.course;
            assert!(found.orders.iter().all(|order| keeps(course, order)));
        }
        assert_eq!(found.blocks[0], found.failing);
        accounted.extend(&found.blocks);
    }
    accounted.sort_unstable();
    let all: Vec<usize> = if gathered.passing.is_empty() {
        Vec::new()
    } else {
        (0..gathered.failing.len()).collect()
    };
    assert_eq!(accounted, all);
    let site = |key: Key| keys.parts(key).1.0;
    let orders = |found: &Found| {
        let mut orders: Vec<(u32, u32)> =
            found.orders.iter().map(|(a, b)| (site(*a), site(*b))).collect();
        orders.sort_unstable();
        orders
    };
    let mut causes: Vec<Vec<(u32, u32)>> = result.found.iter().map(orders).collect();
    causes.sort();
    causes
}

#[test]
fn figure_3_2_has_two_causes_of_two_orders() {
    let threads = [vec![(0, Some(0)), (1, Some(0))], vec![(0, Some(1)), (1, Some(1))]];
    let found = causes(&threads, |memory| memory[0] == memory[1]);
    assert_eq!(found, [[(0, 100), (101, 1)], [(1, 101), (100, 0)]]);
}

#[test]
fn an_order_violation_has_one_order() {
    let threads = [vec![(0, Some(7))], vec![(0, None)]];
    assert_eq!(causes(&threads, |seen| seen[0] == 7), [[(100, 0)]]);
}

#[test]
fn what_always_fails_has_no_cause() {
    let threads = [vec![(0, Some(7))], vec![(0, None)]];
    assert!(causes(&threads, |_| false).is_empty());
}

#[test]
fn made_up_programs_keep_all_promises() {
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let count = 2 + rng.below(2) as usize;
        let longest = if count == 2 { 4 } else { 2 };
        let threads: Vec<Vec<Act>> = (0..count)
            .map(|_| {
                (0..1 + rng.below(longest))
                    .map(|_| {
                        let value = u64::from(1 + rng.below(3));
                        (u64::from(rng.below(2)), (rng.below(2) == 0).then_some(value))
                    })
                    .collect()
            })
            .collect();
        // What threads read and leave behind decides, in a way that means nothing.
        let (factor, modulus) = (u64::from(3 + rng.below(5)), u64::from(2 + rng.below(3)));
        causes(&threads, |seen| {
            seen.iter().fold(1, |sum: u64, value| sum.wrapping_mul(factor).wrapping_add(*value))
                % modulus
                != 0
        });
    }
}
