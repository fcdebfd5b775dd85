//! The words for a race: one sentence, and what should hold instead.

use unravel_results::{HeldLock, Pattern, Race, RaceAccess, RootCause};
use unravel_trace::{Place, Verb};

use crate::pattern::listed;

/// `join_after`: one of the two threads waits for the other there, too late.
pub fn describe(race: &Race, join_after: Option<(usize, Place)>) -> RootCause {
    let [one, other] = &race.accesses;
    RootCause {
        pattern: Pattern::DataRace,
        sentence: format!(
            "{}, and {}: nothing orders the two",
            clause(one, &race.object),
            clause(other, "it")
        ),
        advice: advice(race, join_after),
        ..RootCause::unsaid()
    }
}

/// `T0.1 writes count at a.c:6 with m held`.
fn clause(access: &RaceAccess, object: &str) -> String {
    let who = &access.who;
    let how = if access.atomic { " atomically" } else { "" };
    format!(
        "{} {} {object}{how} at {} with {} held",
        who.key.thread,
        who.verb,
        at(access),
        names(&access.holds)
    )
}

fn at(access: &RaceAccess) -> String {
    access.who.place.short()
}

fn names(holds: &[HeldLock]) -> String {
    let name = |held: &HeldLock| match held.shared {
        true => format!("{} (for reading)", held.name),
        false => held.name.clone(),
    };
    match holds {
        [] => "no lock".to_owned(),
        some => some.iter().map(name).collect::<Vec<_>>().join(" and "),
    }
}

/// What is missing, the surest first: what one of the two has and the other lacks, then what other accesses hold.
fn advice(race: &Race, join_after: Option<(usize, Place)>) -> String {
    let Race { object, accesses: [one, other], guard } = race;
    match (one.atomic, other.atomic) {
        (true, false) => return format!("{} should be atomic, as {} is", at(other), at(one)),
        (false, true) => return format!("{} should be atomic, as {} is", at(one), at(other)),
        _ => {}
    }
    let common = one.holds.iter().find_map(|held| {
        let same = other.holds.iter().find(|there| there.name == held.name)?;
        Some(((one, held), (other, same)))
    });
    if let Some((here, there)) = common {
        // Both hold it, so somebody holds it in a mode that is not enough.
        let writes = |(access, held): &(&RaceAccess, &HeldLock)| {
            held.shared && access.who.verb != Verb::Reads
        };
        if let Some((access, held)) = [here, there].into_iter().find(writes) {
            return format!(
                "take {} for writing at {}: {} changes {object} under it",
                held.name,
                held.taken.short(),
                at(access)
            );
        }
    }
    let frees = |access: &RaceAccess| access.who.verb == Verb::Frees;
    let (last, first) = if frees(one) { (one, other) } else { (other, one) };
    if frees(last) {
        return format!(
            "{} has to wait until {} is done with {object}",
            at(last),
            first.who.key.thread
        );
    }
    if let Some(guard) = guard.as_ref().filter(|guard| !guard.missing_at.is_empty()) {
        if let Some(advice) = of_one_line(race, &guard.lock) {
            return advice;
        }
        let missing: Vec<String> = guard.missing_at.iter().map(Place::short).collect();
        let held: Vec<String> = guard.held_at.iter().map(Place::short).collect();
        let lacks = |access: &&RaceAccess| !access.holds.iter().any(|h| h.name == guard.lock);
        let other = race.accesses.iter().filter(lacks).find(|access| !access.holds.is_empty());
        let other = other.map_or_else(String::new, |access| {
            format!("; {} is another lock", names(&access.holds))
        });
        return format!(
            "hold {} at {}: it is held at {}{other}",
            guard.lock,
            listed(&missing),
            listed(&held)
        );
    }
    if let Some((which, join)) = join_after {
        let (mine, theirs) = (&race.accesses[which], &race.accesses[1 - which]);
        return format!(
            "join {} before {}, not only at {}; or let one lock guard {object}, or make it atomic",
            theirs.who.key.thread,
            at(mine),
            join.short()
        );
    }
    match at(one) == at(other) {
        true => format!("hold one lock at {}, or make {object} atomic", at(one)),
        false => {
            format!("hold one lock at {} and {}, or make {object} atomic", at(one), at(other))
        }
    }
}

/// Where one thread comes to a line with a lock and another without, the line says nothing of who lacks it.
fn of_one_line(race: &Race, lock: &str) -> Option<String> {
    let [one, other] = &race.accesses;
    let taken = |access: &RaceAccess| {
        let held = access.holds.iter().find(|held| held.name == lock);
        held.map(|held| held.taken.short())
    };
    let (has, lacks, taken) = match (taken(one), taken(other)) {
        (Some(taken), None) => (one, other, taken),
        (None, Some(taken)) => (other, one, taken),
        _ => return None,
    };
    (at(one) == at(other)).then(|| {
        format!(
            "hold {lock} whoever comes to {}: {} has taken it at {taken}, {} has not",
            at(one),
            has.who.key.thread,
            lacks.who.key.thread
        )
    })
}
