//! Objects that are half destroyed while another thread calls their virtual methods.
//!
//! A destructor begins by making its object one of its own class: what the class below had added is gone. A virtual call of
//! another thread then goes to the class above, or to nothing. The failing run shows it: the last that the failing thread read
//! was written by another thread in a destructor, and what is there is the address of a table of methods.
//!
//! *Not modelled*: calls that find a method of the class above and go on with it; they fail later, if at all.

use unravel_results::Pattern;
use unravel_trace::{EventKind, FailureKind, Location, LocationId, Trace, Value};

use super::naming::writes;
use crate::budgets::LEAST_ADDRESS;
use crate::failing::Failing;
use crate::pattern::Words;

/// How far behind its table of methods a member of an object is looked for.
const MOST_MEMBERS: u64 = 256;

pub fn describe(failing: &Failing) -> Option<Words> {
    let trace = &failing.observed.trace;
    if failing.failure.kind != FailureKind::Crash {
        return None;
    }
    let own =
        |index: &usize| *trace.thread_name(trace.events[*index].thread) == failing.failure.thread;
    let called = (0..trace.events.len()).rev().find(own)?;
    let EventKind::Read { at, value: Value::Word(table) } = trace.events[called].kind else {
        return None;
    };
    let written = trace.events[..called]
        .iter()
        .rposition(|event| event.kind.location() == Some(at) && writes(&event.kind))?;
    let destroys = trace.place(&trace.events[written])?;
    let thread = |index: usize| trace.thread_name(trace.events[index].thread);
    let calls = trace.place(&trace.events[called])?;
    if table < LEAST_ADDRESS || own(&written) || !is_destructor(&destroys.function) {
        return None;
    }
    let object = object_of(trace, at).unwrap_or("an object");
    let (owner, user) = (thread(written), thread(called));
    let (here, there) = (destroys.short(), calls.short());
    Some(Words {
        pattern: Pattern::EarlyFree,
        sentence: format!(
            "{owner} is in {} at {here}, so that what the derived class adds to {object} is gone, while {user} still calls its virtual \
             methods at {there}",
            destroys.function
        ),
        advice: format!(
            "{there} in {user} has to come before {here}: stop {user} and wait for its end before the destruction of the derived class \
             begins, not in the destructor of its base class"
        ),
        region: vec![calls.clone(), destroys.clone()],
    })
}

/// `Periodic::~Periodic`, `~Periodic`.
fn is_destructor(function: &str) -> bool {
    function.rsplit("::").next().is_some_and(|last| last.starts_with('~'))
}

/// What an object is called whose table of methods is here: as its members are that follow, if some were accessed.
fn object_of(trace: &Trace, table: LocationId) -> Option<&str> {
    let begin = trace.address(table);
    let follows = |(index, _): &(usize, &Location)| {
        let at = trace.address(LocationId(*index as u32));
        (begin + 1..begin + MOST_MEMBERS).contains(&at)
    };
    let all = trace.locations.iter().enumerate().filter(follows);
    let nearest = all.min_by_key(|(index, _)| trace.address(LocationId(*index as u32)))?.1;
    let end = nearest.name.find("->").or_else(|| nearest.name.find('.'))?;
    Some(&nearest.name[..end])
}
