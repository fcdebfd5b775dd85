//! Statements that belong elsewhere.
//!
//! Two kinds of causes have such a repair. One thread does two things in the wrong order (it announces what is not there
//! yet): then one of the two goes past the other. Or something must come before something of another thread: then it
//! goes before that thread's creation, or what comes too early goes after the join of the thread that is too late.
//! A statement goes past others only if they share nothing by name, and past an operation on a lock only if it holds none. What asks whether all is
//! well stays where it is (but for looking whether a call of the thread library went well), and a thread is not created after it instead of before: it would only look at less. What
//! functions do that are called there is not looked at: the exploration of the moved program decides.

use std::ops::Range;

use unravel_causes::Analysis;
use unravel_results::{Cause, CauseClass, Pattern};
use unravel_trace::{ThreadName, Verb};

use super::{MOST_ORDERS, Proposal};
use crate::budgets::{
    ANNOUNCED, DISTURBED_THREAD, MOST_ANNOUNCING, MOST_MOVES, PAST_CHECK, PAST_OWN, PAST_THREAD,
    THREAD_PAST_THREAD,
};
use crate::graph::Graph;
use crate::locks::{is_held, operations};
use crate::measures::Measure;
use crate::moved::{Move, Side};
use crate::source::{Exit, Region, Source};
use crate::spots::{Files, Spot, Stretch, parting, position, spot, spots};
use crate::threads::{creations, joins};

/// The moves that may help against a class.
pub(super) fn moves(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let Some(cause) = class.causes.first().filter(|_| class.pattern != Pattern::Deadlock) else {
        return Vec::new();
    };
    for thread in spots(cause, analysis) {
        for place in thread.iter().flat_map(|spot| &spot.frames) {
            files.open(&place.file);
        }
    }
    let mut found = own_order(cause, analysis, files);
    found.extend(announcements(cause, analysis, files));
    found.extend(past_threads(cause, analysis, files));
    let mut candidates: Vec<Proposal> = Vec::new();
    for (change, cost) in found {
        let measure = Measure::Move(change);
        if !candidates.iter().any(|known| known.measure == measure) {
            candidates.push(Proposal { measure, covers: vec![index], cost });
        }
    }
    candidates.truncate(MOST_MOVES);
    candidates
}

/// Exchanging what one thread does.
fn own_order(cause: &Cause, analysis: &Analysis, files: &Files) -> Vec<(Move, u64)> {
    let mut moves = Vec::new();
    for thread in spots(cause, analysis) {
        for pair in thread.windows(2) {
            let Some((one, other)) = parting(&pair[0], &pair[1]) else { continue };
            let Some(source) = files.get(&one.file) else { continue };
            let regions = source.region(&[position(one)]).zip(source.region(&[position(other)]));
            let Some((earlier, later)) = regions.and_then(|(a, b)| source.siblings(&a, &b)) else {
                continue;
            };
            let is_looking = is_check(source, &earlier) || is_check(source, &later);
            let cost = if is_looking { PAST_CHECK } else { PAST_OWN };
            if earlier.bytes.start < later.bytes.start {
                moves.extend(own_exchange(&one.file, source, &later, &earlier, cost));
            }
        }
    }
    moves
}

/// Where a thread reads what another writes only later: whatever that announces before it writes goes after it.
fn announcements(cause: &Cause, analysis: &Analysis, files: &Files) -> Vec<(Move, u64)> {
    let mut moves = Vec::new();
    for order in cause.orders.iter().take(MOST_ORDERS) {
        let late = spot(&order.second, &analysis.stacks);
        let is_late = |late: &Spot| {
            matches!(late.verb, Verb::Writes | Verb::Updates)
                && order.first.key.thread != order.second.key.thread
        };
        for place in late.filter(is_late).iter().flat_map(|late| &late.frames) {
            let Some(source) = files.get(&place.file) else { continue };
            let Some(written) = source.region(&[position(place)]) else { continue };
            let before = source.preceding(&written).into_iter();
            let announcing = before.filter(|earlier| source.announces(earlier));
            for announcing in announcing.take(MOST_ANNOUNCING) {
                if let Some((earlier, later)) = source.siblings(&announcing, &written) {
                    moves.extend(own_exchange(&place.file, source, &later, &earlier, ANNOUNCED));
                }
            }
        }
    }
    moves
}

/// The same for two statements of one thread: plain ones race on, in whatever order they are.
fn own_exchange(
    file: &str,
    source: &Source,
    later: &Region,
    earlier: &Region,
    cost: u64,
) -> Vec<(Move, u64)> {
    let is_plain = |region: &Region| {
        source.calls(region.bytes.clone()).is_empty()
            && source.atomic_accesses(region.bytes.clone()).is_empty()
    };
    let leaves_race = is_plain(later) && is_plain(earlier);
    let cost = if leaves_race { cost.max(PAST_OWN) } else { cost };
    let mut moves = exchange(file, source, later, earlier, cost);
    for (change, _) in &mut moves {
        change.leaves_race = leaves_race;
    }
    moves
}

/// Orders between threads, by where threads begin and end.
fn past_threads(cause: &Cause, analysis: &Analysis, files: &Files) -> Vec<(Move, u64)> {
    let graph = Graph::of(cause);
    let participants = || cause.orders.iter().flat_map(|order| [&order.first, &order.second]);
    let spot_of = |event: usize| {
        let who = participants().find(|who| who.key == graph.events[event])?;
        spot(who, &analysis.stacks)
    };
    let (mut moves, mut parting) = (Vec::new(), Vec::new());
    for (first, then) in graph.closing(cause).into_iter().take(MOST_ORDERS) {
        let (Some(first), Some(then)) = (spot_of(first), spot_of(then)) else { continue };
        if is_ancestor(&first.thread, &then.thread) {
            moves.extend(meetings(
                &statements(&first, files),
                &creations(&then, files),
                files,
                PAST_THREAD,
            ));
        } else if is_ancestor(&then.thread, &first.thread) {
            let joins = joins(&creations(&first, files), files);
            moves.extend(meetings(&joins, &statements(&then, files), files, PAST_THREAD));
        } else {
            let joins = joins(&creations(&first, files), files);
            let creations = creations(&then, files);
            let cost = if graph.is_interleaved() { DISTURBED_THREAD } else { THREAD_PAST_THREAD };
            parting.extend(meetings(&joins, &creations, files, cost));
        }
    }
    for (change, _) in &mut moves {
        change.parts_threads = graph.is_interleaved();
    }
    // Whatever the cause is: one thread has ended before the other begins.
    for (change, _) in &mut parting {
        change.parts_threads = true;
    }
    moves.extend(parting);
    moves
}

pub(super) fn is_ancestor(a: &ThreadName, b: &ThreadName) -> bool {
    a.0.len() < b.0.len() && b.0.starts_with(&a.0)
}

/// The statements of a spot's frames, innermost first.
pub(super) fn statements(spot: &Spot, files: &Files) -> Vec<Stretch> {
    let statement = |place: &unravel_trace::Place| {
        let region = files.get(&place.file)?.region(&[position(place)])?;
        Some(Stretch { file: place.file.to_string(), region })
    };
    spot.frames.iter().filter_map(statement).collect()
}

/// Moves that put one of `firsts` before one of `thens`, where both are in one function and stand the other way round.
fn meetings(firsts: &[Stretch], thens: &[Stretch], files: &Files, cost: u64) -> Vec<(Move, u64)> {
    let mut moves = Vec::new();
    for first in firsts {
        for then in thens.iter().filter(|then| then.file == first.file) {
            let Some(source) = files.get(&first.file) else { continue };
            let Some((first_at, then_at)) = source.siblings(&first.region, &then.region) else {
                continue;
            };
            if then_at.bytes.start < first_at.bytes.start {
                moves.extend(exchange(&first.file, source, &first_at, &then_at, cost));
            }
        }
    }
    moves
}

/// The two ways to make `later` come before `earlier`, as far as what stands between allows them.
fn exchange(
    file: &str,
    source: &Source,
    later: &Region,
    earlier: &Region,
    cost: u64,
) -> Vec<(Move, u64)> {
    let stretch = |region: &Region| Stretch { file: file.to_owned(), region: region.clone() };
    let between = source.between(earlier, later);
    let passed = between.as_ref().map_or(0, |between| between.statements as u64);
    let may_pass = |moved: &Region, other: &Region| {
        let over = between.iter().chain([other]);
        let looks = |region: &Region| is_check(source, region);
        // What no lock protects may come under one; what one protects may not leave it.
        let is_free = locks_held(source, moved) == 0;
        ways_out(source, moved) == 0
            && !locks(source, moved)
            && !looks(moved)
            && (!creates(source, moved) || !over.clone().any(looks))
            && over.clone().all(|over| source.may_pass(&moved.bytes, &over.bytes))
            && (is_free || !over.clone().any(|over| locks(source, over)))
    };
    let mut moves = Vec::new();
    // Past a way out it would be executed where it was not, or not where it was.
    let over = |other: &Region| between.iter().chain([other]).all(|r| ways_out(source, r) == 0);
    if over(earlier) && may_pass(later, earlier) {
        let change = Move::new(stretch(later), Side::Before, stretch(earlier), source);
        moves.push((change, cost + passed));
    }
    if over(later) && may_pass(earlier, later) {
        let change = Move::new(stretch(earlier), Side::After, stretch(later), source);
        moves.push((change, cost + 1 + passed));
    }
    moves
}

/// How many locks are held where a region begins.
fn locks_held(source: &Source, region: &Region) -> usize {
    let all = operations(source, region);
    let mut texts: Vec<&str> = all.iter().map(|operation| operation.lock.text.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.into_iter().filter(|text| is_held(&all, text, region.bytes.start)).count()
}

/// Whether a region takes a lock or gives one back, by the names of what it calls itself.
fn locks(source: &Source, region: &Region) -> bool {
    let is_lock = |name: &str| {
        let name = name.to_ascii_lowercase();
        (name.ends_with("lock") || name.contains("mutex_lock") || name.contains("mutex_unlock"))
            && !name.ends_with("clock")
    };
    source.calls(region.bytes.clone()).iter().any(|call| is_lock(&call.name))
        || !source.scoped_locks(region.bytes.clone()).is_empty()
}

/// Whether a region creates a thread.
fn creates(source: &Source, region: &Region) -> bool {
    let calls = source.calls(region.bytes.clone());
    let text = &source.text()[region.bytes.clone()];
    calls
        .iter()
        .any(|call| call.name.ends_with("pthread_create") || call.name.ends_with("thrd_create"))
        || ["std::thread", "std::jthread", "std::async"].iter().any(|name| text.contains(name))
}

/// How many statements leave a region, other than where a call of the thread library has failed: there the program gives up.
fn ways_out(source: &Source, region: &Region) -> usize {
    let errors = error_paths(source, region);
    let is_one = |exit: &&Exit| !errors.iter().any(|path| path.contains(&exit.bytes.start));
    source.exits(region).iter().filter(is_one).count()
}

/// The stretches of a region that run if a call of the thread library has failed.
fn error_paths(source: &Source, region: &Region) -> Vec<Range<usize>> {
    let body = source.body_around(region);
    let results = source.results_of(body, &is_thread_library);
    let is_error = |condition: &Range<usize>| {
        let mut calls = source.calls(condition.clone()).into_iter();
        calls.any(|call| is_thread_library(&call.name))
            || results.iter().any(|name| source.mentions(condition, name))
    };
    let tests = source.tests(region.bytes.clone()).into_iter();
    tests.filter(|(condition, _)| is_error(condition)).map(|(_, part)| part).collect()
}

fn is_thread_library(function: &str) -> bool {
    ["pthread_", "thrd_", "sem_", "mtx_"].iter().any(|prefix| function.starts_with(prefix))
}

/// Whether a region asks whether all is well.
fn is_check(source: &Source, region: &Region) -> bool {
    let errors = error_paths(source, region);
    let calls = source.calls(region.bytes.clone()).into_iter();
    let mut calls =
        calls.filter(|call| !errors.iter().any(|path| path.contains(&call.bytes.start)));
    calls.any(|call| {
        let name = call.name.to_ascii_lowercase();
        name.contains("assert")
            || matches!(name.as_str(), "abort" | "exit" | "_exit" | "reach_error" | "error")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of two statements may go past the other: the later up, the earlier down.
    fn ways(text: &str, earlier: &str, later: &str) -> (bool, bool) {
        let source = Source::parse("a.c", text.to_owned()).expect("the sample parses");
        let region = |part: &str| {
            let at = source.position_of(text.find(part).expect("a part of the sample"));
            source.region(&[at]).expect("a statement")
        };
        let (earlier, later) =
            source.siblings(&region(earlier), &region(later)).expect("statements of one function");
        let moves = exchange("a.c", &source, &later, &earlier, 0);
        let has = |side: Side| moves.iter().any(|(change, _)| change.side == side);
        (has(Side::Before), has(Side::After))
    }

    #[test]
    fn what_shares_nothing_may_go_both_ways() {
        assert_eq!(ways("void f(void) { a = 1; b = 2; c = 3; }", "a = 1", "c = 3"), (true, true));
        assert_eq!(ways("void f(void) { a = 1; b = a; c = 3; }", "a = 1", "c = 3"), (true, false));
        assert_eq!(ways("void f(void) { a = 1; b = a; c = b; }", "a = 1", "c = b"), (false, false));
    }

    #[test]
    fn nothing_leaves_a_lock_or_goes_past_a_way_out() {
        let unlocking = "void g(void) { pthread_mutex_unlock(&m); }";
        let text = format!("void f(void) {{ a = 1; pthread_mutex_lock(&m); b = 2; }} {unlocking}");
        assert_eq!(ways(&text, "a = 1", "b = 2"), (false, true), "what is outside may come in");
        let text = "void f(void) { a = 1; if (x) return; b = 2; }";
        assert_eq!(ways(text, "a = 1", "b = 2"), (false, false));
    }

    #[test]
    fn what_looks_whether_all_is_well_stays_where_it_is() {
        let text = "void f(void) { pthread_create(&t, NULL, g, a); assert(x == 1); pthread_join(t, NULL); }";
        assert_eq!(
            ways(text, "pthread_create", "assert"),
            (false, false),
            "nothing would be looked at"
        );
        assert_eq!(ways(text, "assert", "pthread_join"), (true, false), "the join comes before it");
    }

    #[test]
    fn a_creation_that_is_looked_at_may_be_passed() {
        let text = "void f(void) { if (pthread_create(&t, NULL, g, a)) { perror(\"t\"); return; } b = 1; }";
        assert_eq!(ways(text, "pthread_create", "b = 1"), (true, true));
        let text = "void f(void) { rc = pthread_create(&t, NULL, g, a); if (rc) exit(1); b = 1; }";
        assert_eq!(ways(text, "rc = pthread", "b = 1"), (true, false));
        let text = "void f(void) { if (x) { return; } b = 1; }";
        assert_eq!(ways(text, "if (x)", "b = 1"), (false, false));
    }

    #[test]
    fn a_loop_moves_as_a_whole() {
        let text =
            "void f(void) { for (i = 0; i < 2; i++) a[i] = 0; pthread_create(&t, NULL, g, a); }";
        assert_eq!(ways(text, "a[i] = 0", "pthread_create"), (true, true));
    }
}
