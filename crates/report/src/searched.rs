//! A search in words: what was explored, what came of it, how to look further. The same in all reports.

use std::time::Duration;

use unravel_results::{Explored, Glance, LongRuns, Stopped, Tally, Unfollowed, Variety};
use unravel_trace::{Busiest, FailureKind, Method, Note, Reached};

use crate::words::count;
use crate::{FileNames, deviations, notes};

/// What is said of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Searched {
    /// One sentence: what came of it.
    pub headline: String,
    /// How much of the program's behaviour was seen, and whether more searching pays.
    pub coverage: Option<String>,
    /// What to do if that is not enough.
    pub advice: Option<String>,
    pub notes: Vec<String>,
}

/// `120 schedules, 5000/s, 0.1 s`.
pub fn pace(tally: &Tally, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = tally.schedules as f64 / seconds.max(0.001);
    format!("{}, {rate:.0}/s, {seconds:.1} s", count(tally.schedules, "schedule"))
}

/// A search that found so many bugs.
pub fn searched(program: &str, explored: &Explored, bugs: usize) -> Searched {
    let tally = &explored.tally;
    let pace = pace(tally, explored.elapsed);
    let extent = format!(
        "up to {} and {}",
        count(tally.most_threads, "thread"),
        count(tally.most_events, "event")
    );
    let found =
        |what: &str, model: &str| format!("{program}: {what} found in {pace} ({extent}{model})");
    let (headline, advice) = if bugs > 0 {
        (found(&count(bugs as u64, "bug"), ""), None)
    } else if let (0, Some(Unfollowed::Inconclusive { reason, at: Some(place) })) =
        (tally.schedules, &tally.reason)
    {
        (
            format!("{program}: inconclusive because {reason} at {} ({pace})", place.short()),
            Some("give it more with --time, or less to do with --max-steps".to_owned()),
        )
    } else if tally.schedules == 0 {
        (
            format!("{program}: inconclusive because no run ended within {pace}"),
            Some("give it more with --time, or less to do with --max-steps".to_owned()),
        )
    } else if let Some(why) = tally.reason.as_ref().filter(|_| tally.has_doubt()) {
        (
            format!("{program}: inconclusive because {} ({pace})", because(why)),
            Some("what a run leaves behind it (files, other processes) may decide: try it on a fresh copy".to_owned()),
        )
    } else if tally.is_endless() {
        let told = notes::note(&Note::EndlessLoop);
        let told = told.split(':').next().unwrap_or_default();
        let how_often = match tally.discarded == tally.schedules {
            true => format!("in all of {pace}"),
            false => format!("in some of {pace}"),
        };
        (
            format!("{program}: inconclusive because {told}, {how_often}"),
            Some("give it a way out of that loop, or another input".to_owned()),
        )
    } else if tally.discarded == tally.schedules {
        (
            format!("{program}: inconclusive because the program came to no end in any of {pace}"),
            Some(
                "an assumption did not hold in any of them: other inputs with --nondet-seed N"
                    .to_owned(),
            ),
        )
    } else if tally.inconclusive == tally.schedules {
        let reason = tally.reason.as_ref().map(ToString::to_string);
        let reason = reason.unwrap_or_else(|| "inconclusive".to_owned());
        (format!("{program}: {reason} (so in all of {pace})"), None)
    } else if tally.exits_differ {
        (
            format!(
                "{program}: exit codes differ between parts of the search, in {pace} ({extent})"
            ),
            Some("the run that ends otherwise is shown with --fail-on-exit".to_owned()),
        )
    } else if let Some(all) = completely(explored) {
        let put_aside: u64 = tally.put_aside.iter().sum();
        let no = if put_aside > 0 { "no other failure" } else { "no failure" };
        (format!("{program}: {no}: {all}, in {pace} ({extent}; sequential consistency)"), None)
    } else {
        (found("no failure", "; sequential consistency"), further(explored))
    };
    Searched { headline, coverage: coverage(explored), advice, notes: notes(explored, bugs) }
}

/// `12.3 s, 41 million instructions, 38 million of them in ring_test (ring.c:40)`, of a run that makes a search slow.
pub fn length(took: Duration, steps: u64, busiest: Option<&Busiest>) -> String {
    let of = |busiest: &Busiest| {
        let share = busiest.steps as f64 / busiest.of.max(1) as f64;
        let place = &busiest.place;
        let there = million((steps as f64 * share) as u64);
        format!(", {there} of them in {} ({})", place.function, place.short())
    };
    let seconds = took.as_secs_f64();
    let most = busiest.map_or(String::new(), of);
    format!("{seconds:.1} s, {} instructions{most}", million(steps))
}

/// `41 million`; small numbers as they are.
fn million(number: u64) -> String {
    match number {
        0..1_000_000 => number.to_string(),
        _ => format!("{} million", number / 1_000_000),
    }
}

/// What to say of runs that are long.
fn long_runs(long: &LongRuns, runs: u64) -> String {
    let length = length(long.one, long.steps, long.busiest.as_ref());
    match runs {
        0 => format!("no run ended: {length}; a smaller input or a single test finds more"),
        _ => format!("one run: {length}; a smaller input or a single test finds more"),
    }
}

/// What a search that found nothing saw of races.
pub fn glanced(glance: &Glance) -> String {
    match &glance.race {
        Some(race) => {
            let name = FileNames::of_bugs(std::slice::from_ref(race)).bug(race);
            format!("but there is a {name}; --races makes races failures")
        }
        None => format!("no data race in {} either", count(glance.schedules, "schedule")),
    }
}

/// What a search that found nothing says nothing about.
pub fn not_looked_at(explored: &Explored) -> String {
    let mut what = vec!["weaker memory than sequential consistency"];
    let parts = explored.systematic.iter();
    let could_deviate = parts.clone().any(|part| part.could_deviate);
    let for_all = parts.clone().any(|part| part.is_complete() && part.is_for_all_deviations());
    if could_deviate && !for_all {
        what.push("further deviations of the environment");
    }
    what.push("other inputs");
    format!("not looked at: {}", what.join(", "))
}

/// `all 12 classes of schedules explored`, if the search left nothing out. Where the environment could have deviated, each
/// bound by itself.
fn completely(explored: &Explored) -> Option<String> {
    let of = |method| explored.systematic.iter().find(|s: &&Reached| s.method == method);
    // Whatever ended the search: what is complete stays so.
    let is_over = |s: &&Reached| s.is_complete() && (s.could_deviate || explored.is_exhausted());
    let part = explored.part.as_ref().map_or(String::new(), |part| format!(" of part {part}"));
    if let Some(plain) = of(Method::Exhaustive).filter(is_over) {
        let classes = count(plain.classes, "class of schedules");
        if plain.is_for_all_deviations() {
            return Some(format!("all {classes}{part} explored"));
        }
        let bounds = explored.systematic.iter().filter(|s| s.method == Method::Exhaustive);
        let deeper = bounds.skip(1).map(|s| match s.is_complete() {
            true => format!("; {}: all {}", deviations::bound(s.deviations), s.classes),
            false => format!("; {}: {}, not all", deviations::bound(s.deviations), s.classes),
        });
        let plainly = deviations::bound(0);
        return Some(format!(
            "all {classes}{part} explored {plainly}{}",
            deeper.collect::<String>()
        ));
    }
    let bounded = of(Method::Bounded).filter(|_| explored.is_exhausted())?;
    let bound = bounded.bound?;
    Some(format!(
        "all {}{part} with at most {} explored",
        count(bounded.classes, "schedule"),
        count(u64::from(bound), "preemption")
    ))
}

/// How much was seen, where that was counted.
fn coverage(explored: &Explored) -> Option<String> {
    let covered = &explored.covered;
    if covered.classes == 0 || explored.stopped == Stopped::OneSchedule {
        return None;
    }
    let seen = format!(
        "seen: {}, {} of a write and a read",
        count(covered.classes, "class of schedules"),
        count(covered.reads_from, "pair")
    );
    let recent = covered.recent_schedules;
    let told = match explored.stopped {
        Stopped::Found | Stopped::Exhausted => None,
        _ if recent < ENOUGH => None,
        _ if covered.recent_classes * SELDOM < recent => {
            Some("more searching brings hardly anything new")
        }
        _ => Some("more searching pays"),
    };
    Some(match told {
        None => seen,
        Some(told) => format!(
            "{seen}; {} of the last {recent} schedules {} new: {told}",
            covered.recent_classes,
            if covered.recent_classes == 1 { "was" } else { "were" }
        ),
    })
}

/// Schedules from which on a tendency is one.
const ENOUGH: u64 = 64;
/// One new class in so many schedules is hardly anything.
const SELDOM: u64 = 50;

/// How to look further, where that can help.
fn further(explored: &Explored) -> Option<String> {
    let tally = &explored.tally;
    let more = matches!(explored.stopped, Stopped::Time | Stopped::Schedules)
        && (tally.most_threads > 1 || tally.nondet);
    let other = match explored.variety {
        Variety::Portfolio => "",
        Variety::One => ", or without --strategy",
        Variety::Fixed => return None,
    };
    // A search draws values; a hunt has the solver look for those that matter.
    let inputs = if tally.nondet { "; for other inputs: unravel hunt" } else { "" };
    more.then(|| format!("look further with --time 5m or another --seed{other}{inputs}"))
}

/// Why a run could not be followed, after "because".
fn because(why: &Unfollowed) -> String {
    match why {
        Unfollowed::Inconclusive { reason, at: Some(place) } => {
            format!("{reason} at {}", place.short())
        }
        Unfollowed::Inconclusive { reason, at: None } => reason.clone(),
        Unfollowed::Killed { .. } | Unfollowed::SeenOnce { .. } => why.to_string(),
    }
}

fn notes(explored: &Explored, bugs: usize) -> Vec<String> {
    let tally = &explored.tally;
    let mut said = Vec::new();
    let nothing_followed = bugs == 0 && tally.inconclusive == tally.schedules;
    let is_told = nothing_followed || bugs == 0 && tally.has_doubt();
    let has_timers = tally.notes.contains(&Note::TimerMoments);
    if tally.most_threads == 1 && !nothing_followed && !has_timers {
        said.push("the program created no thread, so there is one schedule only".to_owned());
    }
    if let Some(long) = &explored.long {
        said.push(long_runs(long, tally.schedules));
    }
    if tally.inconclusive > 0 && !is_told {
        let why = tally.reason.as_ref().map_or_else(|| "inconclusive".to_owned(), because);
        said.push(format!("{} of them inconclusive, the first because {why}", tally.inconclusive));
    }
    if tally.discarded > 0 && tally.discarded < tally.schedules {
        said.push(format!(
            "{} of them discarded, because {}",
            tally.discarded,
            if tally.is_endless() {
                "a thread loops for ever"
            } else {
                "an assumption did not hold"
            }
        ));
    }
    let put_aside: u64 = tally.put_aside.iter().sum();
    if put_aside > 0 {
        said.push(format!("{put_aside} of them failed with a bug that unravel.toml puts aside"));
    }
    // Where codes differ they are findings, and nothing is left to say of them.
    let are_findings = tally.failed.iter().any(|(bug, _)| bug.kind == FailureKind::ExitCode);
    let told = tally.nonzero_exits > 0 && !are_findings;
    if let Some(code) = tally.exit_code.filter(|_| told) {
        said.push(match tally.nonzero_exits >= tally.exited() {
            true => format!(
                "the exit code is {code} in all schedules that end; --fail-on-exit makes that a failure"
            ),
            false => format!(
                "{} of them ended with an exit code other than 0 (first: {code})",
                tally.nonzero_exits
            ),
        });
    }
    if tally.outputs > 1 {
        said.push(format!("the output differs between schedules: {} were seen", tally.outputs));
    }
    for part in &explored.systematic {
        let name = match part.method {
            Method::Exhaustive => "the exhaustive search",
            Method::Bounded => "the search by preemptions",
        };
        for left_out in &part.left_out {
            said.push(format!("{name} is not complete: {}", notes::left_out(left_out)));
        }
    }
    // The headline has said it.
    let is_told = |note: &&Note| bugs == 0 && **note == Note::EndlessLoop;
    said.extend(tally.notes.iter().filter(|note| !is_told(note)).map(notes::note));
    if explored.stopped == Stopped::Interrupted {
        said.push("interrupted; what was found is kept".to_owned());
    }
    said
}
