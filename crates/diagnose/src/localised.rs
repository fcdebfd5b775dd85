//! The diagnosis of a long run: what matters is brought together, and only that is varied (design §14).
//!
//! A run of a million events is too long to be modelled, and trying thousands of schedules of it takes too long as well. But its
//! simplified form has few interruptions. Each candidate of a stretch is *compacted*: what others do that neither its beginning
//! nor its end depends on is executed before it or after it. If that fails, too, the interruption and all that it needs are a few
//! events, and shields are tried there, in copies of a run that was executed up to there once.
//!
//! *Not modelled*: values, so that what depends on what is guessed by location; nearest schedules: what is shown as passing is the same
//! run with the shield.

use unravel_execute::Laboratory;
use unravel_results::{Observed, RootCause};
use unravel_trace::{Detail, Schedule, Segment, ThreadId, Trace};

use crate::budgets::{COMPACTED, WINDOW};
use crate::execution::extents;
use crate::failing::Failing;
use crate::points::{Extents, Touch};
use crate::relevance::Relevance;
use crate::shields::{self, Extended, Stretch};
use crate::window::Window;
use crate::world::{Ending, ending};

/// What a long run comes to.
pub struct Localised {
    pub failing: Failing,
    pub cause: RootCause,
    pub passing: Schedule,
}

/// The root cause of a long failing run, if it is in one place.
pub fn localise(lab: &mut Laboratory<'_>, failing: &Failing) -> Option<Localised> {
    let extents = extents(&failing.observed.trace);
    let run = Extended::new(&failing.observed.trace, &[], None);
    let candidates = shields::candidates(&run, &Relevance::default(), &failing.calls, &extents);
    let compacted = candidates
        .iter()
        .take(COMPACTED)
        .find_map(|stretch| compact(lab, failing, stretch, &extents));
    let (failing, from) = compacted?;
    let mut cause = RootCause::unsaid();
    let mut window = Window::new(lab, &failing.observed, from)?;
    shields::explain(&mut window, &failing, &Relevance::default(), &[], &mut cause);
    let passing = window.passed.take()?;
    cause.evidence.is_some().then_some(Localised { failing, cause, passing })
}

/// The same failure with the stretch and one who interrupts it close together; and the first event that matters.
fn compact(
    lab: &mut Laboratory<'_>,
    failing: &Failing,
    stretch: &Stretch,
    extents: &Extents,
) -> Option<(Failing, usize)> {
    let Observed { trace, schedule, .. } = &failing.observed;
    // Only events that schedules count, each for itself, can be put into another order.
    if !is_counted(trace, schedule, stretch.end) {
        return None;
    }
    let rivals = rivals(trace, stretch, extents).into_iter();
    for (rival, early) in rivals.flat_map(|rival| [(rival, true), (rival, false)]) {
        if !lab.may_go_on() {
            return None;
        }
        let (mut order, from) = rearranged(trace, stretch, rival, early, extents)?;
        order.truncate(schedule.events() as usize);
        let again = Schedule { segments: segments(&order), ..schedule.clone() };
        let run = lab.replay(&again, Detail::Events);
        if ending(&run.outcome, &failing.bug) == Ending::Failed
            && run.trace.events.len().saturating_sub(from) <= WINDOW
        {
            return Some((Failing::new(run)?, from));
        }
    }
    None
}

/// Whether each event up to this one is a point of the schedule.
fn is_counted(trace: &Trace, schedule: &Schedule, end: usize) -> bool {
    let points = schedule
        .segments
        .iter()
        .flat_map(|segment| std::iter::repeat_n(segment.thread, segment.events as usize));
    let events = trace.events.iter().take(end + 1);
    let name = |thread: u32| &schedule.threads[thread as usize];
    schedule.events() > end as u64
        && events.zip(points).all(|(event, point)| trace.thread_name(event.thread) == name(point))
}

/// Threads that interfere in between, the last first: what they do is least in need of what others do.
fn rivals(trace: &Trace, stretch: &Stretch, extents: &Extents) -> Vec<ThreadId> {
    let mut rivals: Vec<ThreadId> = Vec::new();
    for index in conflicts(trace, stretch, extents).into_iter().rev() {
        let thread = trace.events[index].thread;
        if !rivals.contains(&thread) {
            rivals.push(thread);
        }
    }
    rivals
}

/// Events of others in between that touch what its beginning or its end touches.
fn conflicts(trace: &Trace, stretch: &Stretch, extents: &Extents) -> Vec<usize> {
    let own = trace.events[stretch.begin].thread;
    let touch = |index: usize| Touch::of_event(trace, &trace.events[index]);
    let ends = [touch(stretch.begin), touch(stretch.end)];
    (stretch.begin + 1..stretch.end)
        .filter(|index| trace.events[*index].thread != own)
        .filter(|index| {
            let other = touch(*index);
            matches!(other, Touch::Memory { .. } | Touch::Free { .. })
                && ends.iter().any(|end| end.conflicts(&other, extents))
        })
        .collect()
}

/// First all that others do besides, if `early` also what they do later; then the stretch with what the rival does in between,
/// then what is left.
fn rearranged(
    trace: &Trace,
    stretch: &Stretch,
    rival: ThreadId,
    early: bool,
    extents: &Extents,
) -> Option<(Vec<ThreadId>, usize)> {
    let own = trace.events[stretch.begin].thread;
    let conflicts = conflicts(trace, stretch, extents);
    let of_rival: Vec<usize> =
        conflicts.into_iter().filter(|index| trace.events[*index].thread == rival).collect();
    let (first, last) = (*of_rival.first()?, *of_rival.last()?);
    let inside = || stretch.begin + 1..stretch.end;
    let threads = |indices: &mut dyn Iterator<Item = usize>| -> Vec<ThreadId> {
        indices.map(|index| trace.events[index].thread).collect()
    };
    let is = |thread: ThreadId| move |index: &usize| trace.events[*index].thread == thread;
    let mut order = threads(&mut (0..stretch.begin));
    order.extend(threads(&mut inside().filter(|index| {
        let thread = trace.events[*index].thread;
        thread != own && (thread != rival || *index < first)
    })));
    let is_moved = |index: &usize| {
        let thread = trace.events[*index].thread;
        early && thread != own && thread != rival && thread != ThreadId::MAIN
    };
    let later = || stretch.end + 1..trace.events.len();
    order.extend(threads(&mut later().filter(is_moved)));
    let from = order.len();
    let before_rival = |index: &usize| *index < first;
    order.push(own);
    order.extend(threads(&mut inside().filter(is(own)).filter(before_rival)));
    order.extend(threads(&mut inside().filter(is(rival)).filter(|i| (first..=last).contains(i))));
    order.extend(threads(&mut inside().filter(is(own)).filter(|index| *index > first)));
    order.push(own);
    order.extend(threads(&mut inside().filter(is(rival)).filter(|index| *index > last)));
    // What others have left over that did not end in the run comes after.
    let rest = threads(&mut later().filter(|index| !is_moved(index)));
    order.extend(rest);
    Some((order, from))
}

fn segments(order: &[ThreadId]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for thread in order {
        match segments.last_mut() {
            Some(last) if last.thread == thread.0 => last.events += 1,
            _ => segments.push(Segment { thread: thread.0, events: 1 }),
        }
    }
    segments
}
