//! The events of each thread in our words, with the ones that files leave out: starts, exits, wakes.

use std::collections::HashMap;

use unravel_trace::{EventKind, LocationId, Place, ThreadId, Value, WakeCause};

use super::ImportError;
use super::lines::{Assertion, Line, Text, ThreadFile, What};
use super::number::ThreadNumber;
use super::threads::{Cast, Member, Threads};

/// One event, not yet in an order.
#[derive(Debug)]
pub(super) struct Item<'f> {
    pub place: Place,
    pub kind: EventKind,
    /// Index into the events of the thread's file, unless the file left it out.
    pub line: Option<usize>,
    pub data: Data<'f>,
}

#[derive(Debug)]
pub(super) enum Data<'f> {
    None,
    Read(&'f str),
    Write(&'f Text),
}

/// What events refer to: a variable, a lock and a condition may have the same name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Target<'f> {
    Variable(&'f str),
    Lock(&'f str),
    Condition(&'f str),
}

/// All that events refer to, in all executions of a folder.
#[derive(Debug, Default)]
pub(super) struct Targets<'f> {
    /// Indexed by [`LocationId`].
    pub all: Vec<Target<'f>>,
    numbers: HashMap<Target<'f>, LocationId>,
}

impl<'f> Targets<'f> {
    fn at(&mut self, target: Target<'f>) -> LocationId {
        let next = LocationId(self.all.len() as u32);
        let number = *self.numbers.entry(target.clone()).or_insert(next);
        if number == next {
            self.all.push(target);
        }
        number
    }
}

/// The events of each thread, indexed by [`ThreadId`]; none of a thread that takes no part.
pub(super) type Items<'f> = Vec<Vec<Item<'f>>>;

pub(super) fn items<'f>(
    cast: &Cast<'f>,
    threads: &Threads,
    targets: &mut Targets<'f>,
    notes: &mut Vec<String>,
) -> Result<Items<'f>, ImportError> {
    let mut items = Vec::new();
    for member in &cast.members {
        items.push(match member {
            Some(member) => match member.file {
                Some(file) => of_file(targets, file, member, threads)?,
                None => of_silent(member),
            },
            None => Vec::new(),
        });
    }
    choose_wakers(&mut items, threads, targets, notes);
    Ok(items)
}

/// A thread that is forked and has no file.
fn of_silent<'f>(thread: &Member<'f>) -> Vec<Item<'f>> {
    // Only forks make threads without files.
    let place = thread.parent.as_ref().map(|parent| parent.place.clone());
    let added = |kind| {
        let place = place.clone().unwrap_or_else(nowhere);
        Item { place, kind, line: None, data: Data::None }
    };
    vec![added(EventKind::Start), added(EventKind::Exit)]
}

fn nowhere() -> Place {
    Place { function: "".into(), file: "".into(), line: 0, column: 0, wrapper: false }
}

fn of_file<'f>(
    targets: &mut Targets<'f>,
    file: &'f ThreadFile,
    thread: &Member<'f>,
    threads: &Threads,
) -> Result<Vec<Item<'f>>, ImportError> {
    let mut own = Vec::new();
    let mut held: Vec<&'f str> = Vec::new();
    let forked_at = || thread.parent.as_ref().map(|parent| parent.place.clone());
    let first = file.events.first();
    if !first.is_some_and(|line| matches!(line.what, What::Start)) {
        let place = first.map(|line| line.place.clone()).or_else(forked_at);
        let place = place.unwrap_or_else(nowhere);
        own.push(Item { place, kind: EventKind::Start, line: None, data: Data::None });
    }
    for (nth, line) in file.events.iter().enumerate() {
        let mut push = |kind, data| {
            own.push(Item { place: line.place.clone(), kind, line: Some(nth), data });
        };
        match line.what {
            What::Start if nth > 0 => {
                return Err(file.error(line.number, "the thread has begun already"));
            }
            What::Exit if nth + 1 < file.events.len() => {
                let next = file.events[nth + 1].number;
                return Err(file.error(next, "the thread has ended already"));
            }
            What::Wait { ref object, timed } => {
                let mutex = mutex(&held, object).ok_or_else(|| {
                    file.error(line.number, "a wait, but the thread holds no lock to release")
                })?;
                let (at, mutex) =
                    (targets.at(Target::Condition(object)), targets.at(Target::Lock(mutex)));
                push(EventKind::Wait { at, mutex }, Data::None);
                let by = match timed {
                    true => WakeCause::Timeout,
                    // Nobody knows yet, see `choose_wakers`.
                    false => WakeCause::Signal(ThreadId::MAIN),
                };
                push(EventKind::Wake { at, mutex, by }, Data::None);
            }
            _ => {
                let (kind, data) = kind(targets, file, line, threads, &mut held)?;
                push(kind, data);
            }
        }
    }
    // The main thread's end is the end of all, and a thread that fails does not come to its end.
    let ended = own.last().is_some_and(|item| item.kind == EventKind::Exit);
    let ends = !file.id.is_main() && file.assertion != Some(Assertion::Fails);
    if !ended && (ends || thread.joined) {
        let place = own.last().map_or_else(nowhere, |item| item.place.clone());
        own.push(Item { place, kind: EventKind::Exit, line: None, data: Data::None });
    }
    Ok(own)
}

/// The lock that a wait releases.
fn mutex<'f>(held: &[&'f str], condition: &str) -> Option<&'f str> {
    let monitor = held.iter().find(|lock| **lock == condition);
    monitor.or(held.last()).copied()
}

/// All but waits.
fn kind<'f>(
    targets: &mut Targets<'f>,
    file: &ThreadFile,
    line: &'f Line,
    threads: &Threads,
    held: &mut Vec<&'f str>,
) -> Result<(EventKind, Data<'f>), ImportError> {
    let unknown = || Value::Bytes(Box::default());
    let thread = |id: &ThreadNumber| {
        let missing = || file.error(line.number, format!("there is no thread {id}"));
        threads.find(id).ok_or_else(missing)
    };
    let kind = match &line.what {
        What::Start => EventKind::Start,
        What::Exit => EventKind::Exit,
        What::Fork(child) => EventKind::Fork { child: thread(child)? },
        What::Join(child) => EventKind::Join { child: thread(child)? },
        What::Lock(lock) => {
            held.push(lock);
            EventKind::Lock { at: targets.at(Target::Lock(lock)), shared: false }
        }
        What::Unlock(lock) => {
            let Some(last) = held.iter().rposition(|held| held == lock) else {
                let what = format!("lock {lock} is released, but the thread does not hold it");
                return Err(file.error(line.number, what));
            };
            held.remove(last);
            EventKind::Unlock { at: targets.at(Target::Lock(lock)) }
        }
        What::Signal(object) => {
            EventKind::Signal { at: targets.at(Target::Condition(object)), woken: None }
        }
        What::Broadcast(object) => {
            EventKind::Broadcast { at: targets.at(Target::Condition(object)), woken: 0 }
        }
        What::Read { variable, symbol } => {
            let at = targets.at(Target::Variable(variable));
            return Ok((EventKind::Read { at, value: unknown() }, Data::Read(symbol)));
        }
        What::Write { variable, value } => {
            let at = targets.at(Target::Variable(variable));
            return Ok((EventKind::Write { at, value: unknown() }, Data::Write(value)));
        }
        What::Wait { .. } => unreachable!("a wait is two events"),
    };
    Ok((kind, Data::None))
}

/// Says of each wake that a thread which signals that condition caused it: any other one, if there is one.
fn choose_wakers(
    items: &mut Items<'_>,
    threads: &Threads,
    targets: &Targets<'_>,
    notes: &mut Vec<String>,
) {
    let mut signals: HashMap<LocationId, Vec<ThreadId>> = HashMap::new();
    for (thread, own) in (0..).map(ThreadId).zip(&*items) {
        for item in own {
            if let EventKind::Signal { at, .. } | EventKind::Broadcast { at, .. } = item.kind {
                signals.entry(at).or_default().push(thread);
            }
        }
    }
    for ((thread, named), own) in (0..).map(ThreadId).zip(&threads.all).zip(items) {
        for item in own {
            let EventKind::Wake { at, by: by @ WakeCause::Signal(_), .. } = &mut item.kind else {
                continue;
            };
            let who = signals.get(at).map_or(&[][..], Vec::as_slice);
            if who.is_empty() {
                let Target::Condition(object) = targets.all[at.0 as usize] else { continue };
                let name = &named.name;
                notes.push(format!("{name} waits for condition {object}, which nobody signals"));
            }
            let other = who.iter().copied().find(|other| *other != thread);
            *by = WakeCause::Signal(other.unwrap_or(thread));
        }
    }
}
