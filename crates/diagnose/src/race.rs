//! A data race told as one: both accesses with the locks their threads hold, and the lock that other accesses to the same
//! location hold.
//!
//! Happens-before says that there is a race ([`Detector`]); which locks are held says what is missing, after the lock sets of
//! Eraser (Savage et al., TOCS 1997), as words only. The failing run ends at the second access, so it is executed once more past it, to its
//! end. What other runs hold is not looked at.

mod words;

use rustc_hash::FxHashSet;
use unravel_execute::{Detector, Laboratory, Race as Pair};
use unravel_results::{Evidence, Guard, HeldLock, Participant, Race, RaceAccess, RootCause};
use unravel_trace::{
    Alarm, Capability, Detail, EventKind, Executed, Failure, LocationId, Mark, Observer, Observes,
    Pending, Place, Run, Schedule, SiteId, ThreadId, ThreadName, Trace, Verb, Want,
};

use crate::held::{Held, held};

/// The race that a failing run ends with, and its root cause; `None` if it does not show again.
pub fn tell(
    lab: &mut Laboratory<'_>,
    schedule: &Schedule,
    failure: &Failure,
) -> Option<(Race, RootCause)> {
    let want = Want {
        past_races: true,
        stacks: lab.can(Capability::Stacks),
        ..Want::only(Detail::Events)
    };
    let mut seen = Seen::default();
    let (run, _) = lab.replay_seen(schedule, &mut seen, want);
    let scene = Scene::new(&run, &seen)?;
    let mut race = scene.race(failure)?;
    // The failing run ends there.
    race.accesses[1].who.event = None;
    let cause = words::describe(&race, scene.join_after());
    Some((race, RootCause { evidence: Some(Evidence::Shown), ..cause }))
}

/// A data race of a run that fails otherwise, where a lock that others hold is missing. Containers break in many ways where one lock
/// is left out, and each way is an order of its own.
pub struct Missing {
    pub cause: RootCause,
    /// What the lock would make atomic: from the first event to the last, of who holds it and of who does not.
    pub stretches: Vec<Stretch>,
}

/// What a lock makes, or would make, atomic.
pub struct Stretch {
    pub from: (Mark, Place),
    pub to: (Mark, Place),
    pub events: u32,
}

impl Missing {
    pub fn note(&self) -> String {
        format!(
            "the failing run has a data race, which may be all there is to mend: {}; {}",
            self.cause.sentence, self.cause.advice
        )
    }
}

/// The first data race of a run, if a lock is missing there. `passing` are runs that show how far the accesses go that the failure
/// cut short.
pub fn missing_lock(
    lab: &mut Laboratory<'_>,
    schedule: &Schedule,
    failure: &Failure,
    passing: &[&Trace],
) -> Option<Missing> {
    let want = Want { past_races: true, ..Want::only(Detail::Events) };
    let mut seen = Seen::default();
    let (run, _) = lab.replay_seen(schedule, &mut seen, want);
    let scene = Scene::new(&run, &seen)?;
    let race = scene.race(failure)?;
    let is_locked = |access: &RaceAccess| !access.holds.is_empty();
    if race.guard.is_none() && !race.accesses.iter().any(is_locked) {
        return None;
    }
    let stretches = [scene.earlier, scene.later].into_iter().filter_map(|index| {
        let trace = scene.trace;
        let mark = Mark::of_event(trace, &trace.events[index]);
        let name = trace.thread_name(trace.events[index].thread);
        // The run may have failed in the middle of it.
        let runs = passing.iter().copied().chain([trace]);
        runs.into_iter().filter_map(|run| stretch(run, name, mark)).max_by_key(|s| s.events)
    });
    let stretches = stretches.collect();
    Some(Missing { cause: words::describe(&race, scene.join_after()), stretches })
}

/// All that a thread does in a lock, or in the line, around its first event of a mark, in a run.
fn stretch(run: &Trace, who: &ThreadName, mark: Mark) -> Option<Stretch> {
    let own: Vec<usize> = (0..run.events.len())
        .filter(|index| run.thread_name(run.events[*index].thread) == who)
        .collect();
    let at = own.iter().position(|index| Mark::of_event(run, &run.events[*index]) == mark)?;
    let line = |position: usize| {
        run.place(&run.events[own[position]])
            .map(|place| (&place.file, &place.function, place.line))
    };
    let around = held(run)
        .into_iter()
        .filter(|held| run.thread_name(held.thread) == who && held.at(own[at]))
        .max_by_key(|held| held.taken);
    let is_inside = |position: usize| match &around {
        Some(held) => held.at(own[position]),
        None => line(position) == line(at),
    };
    let first = (0..=at).rev().take_while(|position| is_inside(*position)).last()?;
    let last = (at..own.len()).take_while(|position| is_inside(*position)).last()?;
    let end = |position: usize| {
        let event = &run.events[own[position]];
        Some((Mark::of_event(run, event), run.place(event)?.clone()))
    };
    let events = (last - first) as u32 + 1;
    Some(Stretch { from: end(first)?, to: end(last)?, events })
}

/// Looks for the first race, and for what is accessed atomically.
#[derive(Default)]
struct Seen {
    detector: Detector,
    first: Option<(Pair, ThreadId, Pending)>,
    atomic: FxHashSet<SiteId>,
}

impl Observer for Seen {
    fn observes(&self) -> Observes {
        self.detector.observes()
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        if executed.what.atomic {
            self.atomic.insert(executed.what.site);
        }
        let race = self.detector.first_race(executed);
        if let Some(race) = race.filter(|_| self.first.is_none()) {
            self.first = Some((race, executed.thread, executed.what));
        }
        None
    }
}

/// The run past the race, and where its two accesses are.
struct Scene<'r> {
    trace: &'r Trace,
    seen: &'r Seen,
    held: Vec<Held>,
    earlier: usize,
    later: usize,
}

impl<'r> Scene<'r> {
    fn new(run: &'r Run, seen: &'r Seen) -> Option<Scene<'r>> {
        let trace = &run.trace;
        let (race, thread, what) = seen.first?;
        let is = |index: usize, thread: ThreadId, site: SiteId| {
            trace.events[index].thread == thread && trace.events[index].site == site
        };
        let racing = |later: usize| {
            let overlaps = |earlier: &usize| {
                is(*earlier, race.thread, race.what.site) && overlap(trace, *earlier, later)
            };
            (0..later).rev().find(overlaps).map(|earlier| (earlier, later))
        };
        let mut later = (0..trace.events.len()).filter(|index| is(*index, thread, what.site));
        let (earlier, later) = later.find_map(racing)?;
        Some(Scene { trace, seen, held: held(trace), earlier, later })
    }

    fn race(&self, failure: &Failure) -> Option<Race> {
        let location = self.trace.events[self.smaller()].kind.location()?;
        let other = failure.related.first().map_or(&[][..], |related| &related.stack);
        Some(Race {
            object: self.trace.location(location).name.clone(),
            accesses: [self.access(self.earlier, other)?, self.access(self.later, &failure.stack)?],
            guard: self.guard(location),
        })
    }

    /// Of the two accesses the one that touches less: it says best what they share.
    fn smaller(&self) -> usize {
        let bytes = |index: usize| {
            let at = self.trace.events[index].kind.location();
            at.map_or(u32::MAX, |at| self.trace.location(at).bytes)
        };
        let is_free = matches!(self.trace.events[self.later].kind, EventKind::Free { .. });
        match is_free || bytes(self.earlier) < bytes(self.later) {
            true => self.earlier,
            false => self.later,
        }
    }

    fn access(&self, index: usize, stack: &[Place]) -> Option<RaceAccess> {
        let event = &self.trace.events[index];
        Some(RaceAccess {
            who: Participant::of(self.trace, index)?,
            atomic: self.seen.atomic.contains(&event.site),
            stack: stack.to_vec(),
            holds: self.holds(index),
        })
    }

    fn held_at(&self, index: usize) -> impl Iterator<Item = &Held> {
        let thread = self.trace.events[index].thread;
        self.held.iter().filter(move |held| held.thread == thread && held.at(index))
    }

    fn holds(&self, index: usize) -> Vec<HeldLock> {
        let told = self.held_at(index).filter_map(|held| {
            Some(HeldLock {
                name: self.trace.location(held.lock).name.clone(),
                shared: held.shared,
                taken: self.trace.place(&self.trace.events[held.taken])?.clone(),
            })
        });
        told.collect()
    }

    /// The lock that is held at most accesses to a location while other threads are alive, with those that hold it and
    /// those that do not.
    fn guard(&self, location: LocationId) -> Option<Guard> {
        let accesses: Vec<usize> = self
            .among_threads()
            .filter(|index| self.trace.events[*index].kind.location().is_some())
            .filter(|index| is_access(self.trace, *index))
            .filter(|index| touch(self.trace, *index, location))
            .collect();
        let is_held = |index: usize, lock: LocationId| {
            let shared_will_do = self.trace.events[index].kind.does() == Verb::Reads;
            self.held_at(index).any(|held| held.lock == lock && (!held.shared || shared_will_do))
        };
        let mut locks: Vec<LocationId> =
            accesses.iter().flat_map(|index| self.held_at(*index).map(|held| held.lock)).collect();
        locks.sort_unstable();
        locks.dedup();
        let count = |lock: &LocationId| accesses.iter().filter(|i| is_held(**i, *lock)).count();
        let lock = locks.into_iter().rev().max_by_key(count).filter(|lock| count(lock) > 0)?;
        let (with, without): (Vec<usize>, Vec<usize>) =
            accesses.into_iter().partition(|index| is_held(*index, lock));
        Some(Guard {
            lock: self.trace.location(lock).name.clone(),
            held_at: self.lines(&with),
            missing_at: self.lines(&without),
        })
    }

    /// Events while more than one thread was alive.
    fn among_threads(&self) -> impl Iterator<Item = usize> + '_ {
        let mut alive = 1_usize;
        self.trace.events.iter().enumerate().filter_map(move |(index, event)| {
            match event.kind {
                EventKind::Fork { .. } => alive += 1,
                EventKind::Exit => alive -= 1,
                _ => {}
            }
            (alive > 1).then_some(index)
        })
    }

    /// The places of events, each once.
    fn lines(&self, events: &[usize]) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        let all = events.iter().filter_map(|index| self.trace.place(&self.trace.events[*index]));
        for place in all {
            let is_known = |known: &Place| (&known.file, known.line) == (&place.file, place.line);
            if !places.iter().any(is_known) {
                places.push(place.clone());
            }
        }
        places
    }

    /// Where one of the two threads waits for the end of the other, but only after its own access; and which of the two it is.
    fn join_after(&self) -> Option<(usize, Place)> {
        [self.earlier, self.later].into_iter().enumerate().find_map(|(which, mine)| {
            let theirs = if which == 0 { self.later } else { self.earlier };
            let (waits, ends) = (self.trace.events[mine].thread, self.trace.events[theirs].thread);
            let joins = self.trace.events[mine..].iter().find(|event| {
                event.thread == waits
                    && matches!(event.kind, EventKind::Join { child } if child == ends)
            });
            Some((which, self.trace.place(joins?)?.clone()))
        })
    }
}

fn is_access(trace: &Trace, index: usize) -> bool {
    use EventKind::{Free, Read, ReadModifyWrite, Write};
    let kind = &trace.events[index].kind;
    matches!(kind, Read { .. } | Write { .. } | ReadModifyWrite { .. } | Free { .. })
}

/// Either of the two may be a free, which has a location but touches more than that.
fn overlap(trace: &Trace, one: usize, other: usize) -> bool {
    let location = |index: usize| trace.events[index].kind.location();
    location(other).is_some_and(|at| touch(trace, one, at))
        || location(one).is_some_and(|at| touch(trace, other, at))
}

/// Whether an event touches the bytes of a location. Who frees touches all of an object.
fn touch(trace: &Trace, index: usize, location: LocationId) -> bool {
    let event = &trace.events[index];
    let Some(at) = event.kind.location() else { return false };
    let (one, other) = (trace.location(at), trace.location(location));
    if one.object != other.object {
        return false;
    }
    let whole = matches!(event.kind, EventKind::Free { .. });
    let end = |from: u64, bytes: u32| from + u64::from(bytes.max(1));
    whole
        || one.offset < end(other.offset, other.bytes) && other.offset < end(one.offset, one.bytes)
}
