//! The diagnosis of a long run: what matters is brought together, and only that is varied (design §14).
//!
//! A run of a million events is too long to be modelled, and trying thousands of schedules of it takes too long as well. But its
//! simplified form has few interruptions. Each candidate of a stretch is *compacted*: what others do that neither its beginning
//! nor its end depends on is executed before it or after it. If that fails, too, the interruption and all that it needs are a few
//! events, and shields are tried there, in copies of a run that was executed up to there once.
//!
//! What depends on what comes from a symbolic execution of the same schedule: no model is made of it, but the slice of the failure
//! says which stretches are tried first, and what a stretch reads and writes says what it is called.
//!
//! *Not modelled*: nearest schedules: what is shown as passing is the same run with the shield. Of runs that are too long to be
//! executed symbolically, what depends on what is guessed by location.

use std::hash::{Hash, Hasher};
use std::ops::{ControlFlow, Range};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use unravel_execute::Laboratory;
use unravel_results::{Observed, RootCause};
use unravel_trace::{Detail, Event, Schedule, Segment, ThreadId, Trace};

use crate::budgets::{COMPACTED, LAST_CONFLICTS, MOST_CALLS, MOST_SYMBOLIC, MOST_WINDOWS, WINDOW};
use crate::calls::Calls;
use crate::execution::extents;
use crate::failing::Failing;
use crate::held::{Held, held};
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
    // What the failure depends on comes first: of noise there is much.
    let relevance = match symbolically(lab, failing) {
        Some(whole) => sliced(&whole),
        None => Relevance::default(),
    };
    // Not kept: what this process has, the copies have that are made of it.
    let mut candidates = {
        let run = Extended::new(&failing.observed.trace, &[], None);
        shields::candidates(&run, &relevance, &failing.calls, &extents)
    };
    candidates.truncate(COMPACTED);
    // Only events that schedules count, each for itself, can be put into another order.
    let Observed { trace, schedule, .. } = &failing.observed;
    candidates.retain(|stretch| is_counted(trace, schedule, stretch.end));
    // A run that fails so may fail for another reason once it is rearranged: then nothing that is tried there helps.
    let mut windows = MOST_WINDOWS;
    compacted(lab, failing, &candidates, &extents, |lab, short, from| {
        let explained = explained(lab, short, from);
        windows -= 1;
        match (explained.is_some(), windows) {
            (true, _) | (false, 0) => ControlFlow::Break(explained),
            (false, _) => ControlFlow::Continue(()),
        }
    })
}

/// The root cause of a run that fails in the window that begins with this event.
fn explained(lab: &mut Laboratory<'_>, short: Failing, from: usize) -> Option<Localised> {
    let (mut short, from) = match symbolically(lab, &short) {
        Some(whole) => {
            let from = same_event(&short.observed.trace, from, &whole.observed.trace);
            (whole, from)
        }
        None => (short, from),
    };
    if short.observed.schedule.events() <= MOST_CALLS {
        short.calls = Calls::new(lab, &short);
    }
    let relevance = sliced(&short);
    let mut cause = RootCause::unsaid();
    let mut window = Window::new(lab, &short.observed, from)?;
    shields::explain(&mut window, &short, &relevance, &[], &mut cause);
    let passing = window.passed.take()?;
    cause.evidence.is_some().then_some(Localised { failing: short, cause, passing })
}

/// The failing run once more, with what its values were computed from.
fn symbolically(lab: &mut Laboratory<'_>, failing: &Failing) -> Option<Failing> {
    let schedule = &failing.observed.schedule;
    if schedule.events() > MOST_SYMBOLIC || !lab.may_go_on() {
        return None;
    }
    let run = lab.replay(schedule, lab.at_most(Detail::Symbolic));
    let is_same = ending(&run.outcome, &failing.bug) == Ending::Failed;
    Failing::new(run).filter(|whole| is_same && whole.symbolic.is_some())
}

fn sliced(failing: &Failing) -> Relevance {
    let symbolic = failing.symbolic.as_deref();
    symbolic.map_or_else(Relevance::default, Relevance::sliced)
}

/// An event of a run in another of the same schedule that has more of them, such as accesses inside of library functions.
fn same_event(trace: &Trace, index: usize, other: &Trace) -> usize {
    let Some(event) = trace.events.get(index) else { return index };
    let is_it = |other: &Event| other.thread == event.thread && other.site == event.site;
    let before = trace.events[..index].iter().filter(|event| is_it(event)).count();
    let all = other.events.iter().enumerate().filter(|(_, event)| is_it(event));
    all.map(|(at, _)| at).nth(before).unwrap_or(index)
}

/// What is left between the two ends of a stretch.
#[derive(Clone, Debug)]
struct Keep {
    /// Who comes in between; what others do there is done before.
    rivals: Vec<ThreadId>,
    /// Conflicts of each that stay in between, the last ones.
    most: usize,
    /// What others do later and is done before, too.
    early: Early,
}

/// How much of what others do after a stretch is done before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Early {
    /// Up to where they touch what the stretch is about.
    UpToTouch,
    Everything,
    Nothing,
}

/// Ways to bring a stretch and who interrupts it together, those that change least first.
fn ways(trace: &Trace, stretch: &Stretch, extents: &Extents) -> Vec<Keep> {
    let all = rivals(trace, stretch, extents);
    let both = |rivals: Vec<ThreadId>, most: usize| {
        let all = [Early::UpToTouch, Early::Everything, Early::Nothing];
        all.map(|early| Keep { rivals: rivals.clone(), most, early })
    };
    let mut ways = Vec::new();
    ways.extend(both(all.clone(), usize::MAX));
    ways.extend(all.iter().flat_map(|rival| both(vec![*rival], usize::MAX)));
    // Of many rounds the last one does.
    ways.extend(all.iter().flat_map(|rival| both(vec![*rival], LAST_CONFLICTS)));
    ways
}

/// The same failure with a stretch and who interrupts it close together, and the first event that matters: each of these is
/// looked at until that is enough.
fn compacted(
    lab: &mut Laboratory<'_>,
    failing: &Failing,
    candidates: &[Stretch],
    extents: &Extents,
    mut look: impl FnMut(&mut Laboratory<'_>, Failing, usize) -> ControlFlow<Option<Localised>>,
) -> Option<Localised> {
    let Observed { trace, schedule, .. } = &failing.observed;
    let held = held(trace);
    let all: Vec<Vec<Keep>> =
        candidates.iter().map(|stretch| ways(trace, stretch, extents)).collect();
    let most = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut tried: FxHashSet<u64> = FxHashSet::default();
    for way in 0..most {
        for (stretch, ways) in candidates.iter().zip(&all) {
            let Some(keep) = ways.get(way) else { continue };
            if !lab.may_go_on() {
                return None;
            }
            let Some((mut order, from)) = rearranged(trace, stretch, keep, &held, extents) else {
                continue;
            };
            order.truncate(schedule.events() as usize);
            let again = Schedule { segments: segments(&order), ..schedule.clone() };
            if order.len().saturating_sub(from) > WINDOW || !tried.insert(fingerprint(&again)) {
                continue;
            }
            let run = lab.replay(&again, Detail::Events);
            if ending(&run.outcome, &failing.bug) == Ending::Failed
                && run.trace.events.len().saturating_sub(from) <= WINDOW
                && let Some(short) = Failing::new(run)
                && let ControlFlow::Break(localised) = look(lab, short, from)
            {
                return localised;
            }
        }
    }
    None
}

fn fingerprint(schedule: &Schedule) -> u64 {
    let mut hasher = FxHasher::default();
    for segment in &schedule.segments {
        (segment.thread, segment.events).hash(&mut hasher);
    }
    hasher.finish()
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
    let ends = ends(trace, stretch);
    (stretch.begin + 1..stretch.end)
        .filter(|index| trace.events[*index].thread != own)
        .filter(|index| is_conflict(trace, &ends, *index, extents))
        .collect()
}

fn ends(trace: &Trace, stretch: &Stretch) -> [Touch; 2] {
    [stretch.begin, stretch.end].map(|index| Touch::of_event(trace, &trace.events[index]))
}

fn is_conflict(trace: &Trace, ends: &[Touch; 2], index: usize, extents: &Extents) -> bool {
    let other = Touch::of_event(trace, &trace.events[index]);
    matches!(other, Touch::Memory { .. } | Touch::Free { .. })
        && ends.iter().any(|end| end.conflicts(&other, extents))
}

/// First all that others do besides, if `early` also what they do later; then the stretch with what rivals do in between, as it
/// was, then what is left. Whoever holds a lock there takes it there, or it would keep others from what they do before.
fn rearranged(
    trace: &Trace,
    stretch: &Stretch,
    keep: &Keep,
    held: &[Held],
    extents: &Extents,
) -> Option<(Vec<ThreadId>, usize)> {
    let own = trace.events[stretch.begin].thread;
    let thread = |index: usize| trace.events[index].thread;
    let begin = outermost(held, own, stretch.begin);
    let touches = touches(trace, stretch, begin..trace.events.len(), extents);
    // Of each rival, from where to where it stays in between.
    let mut stays: Vec<(ThreadId, usize, usize)> = Vec::new();
    for rival in &keep.rivals {
        let inside = touches.iter().copied().take_while(|index| *index < stretch.end);
        let of_rival: Vec<usize> = inside.filter(|index| thread(*index) == *rival).collect();
        let last = *of_rival.last()?;
        let first = of_rival[of_rival.len().saturating_sub(keep.most)];
        stays.push((*rival, outermost(held, *rival, first).max(begin), last));
    }
    let stay = |index: &usize| stays.iter().find(|(rival, ..)| *rival == thread(*index));
    let inside = || begin..stretch.end;
    let mut first_touch: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for index in &touches {
        let of = thread(*index);
        first_touch.entry(of).or_insert_with(|| outermost(held, of, *index));
    }
    let is_early = |index: &usize| match keep.early {
        Early::UpToTouch => first_touch.get(&thread(*index)).is_none_or(|first| index < first),
        Early::Everything => true,
        Early::Nothing => false,
    };
    let is_before = |index: &usize| {
        thread(*index) != own
            && match stay(index) {
                Some((_, first, _)) => index < first,
                None => is_early(index) || keep.early == Early::Nothing,
            }
    };
    let is_between = |index: &usize| {
        thread(*index) == own
            || stay(index).is_some_and(|(_, first, last)| (first..=last).contains(&index))
    };
    let is_after = |index: &usize| !is_before(index) && !is_between(index);
    let later = || stretch.end + 1..trace.events.len();
    let is_moved = |index: &usize| {
        let of = thread(*index);
        is_early(index) && of != own && stay(index).is_none() && of != ThreadId::MAIN
    };
    let before = (0..begin).chain(inside().filter(is_before)).chain(later().filter(is_moved));
    let mut order: Vec<ThreadId> = before.map(thread).collect();
    let from = order.len();
    let rest = inside()
        .filter(is_between)
        .chain([stretch.end])
        .chain(inside().filter(is_after))
        .chain(later().filter(|index| !is_moved(index)));
    order.extend(rest.map(thread));
    Some((order, from))
}

/// Events of others that read or write what the ends of a stretch touch.
fn touches(trace: &Trace, stretch: &Stretch, among: Range<usize>, extents: &Extents) -> Vec<usize> {
    let own = trace.events[stretch.begin].thread;
    // A read of what is read matters, too: what it sees decides what comes next.
    let ends = ends(trace, stretch).map(|touch| match touch {
        Touch::Memory { address, bytes, .. } => Touch::Memory { address, bytes, write: true },
        other => other,
    });
    let others = among.filter(|index| trace.events[*index].thread != own);
    others.filter(|index| is_conflict(trace, &ends, *index, extents)).collect()
}

/// Where a thread took the first of the locks that it holds at an event; the event itself if it holds none.
fn outermost(held: &[Held], thread: ThreadId, event: usize) -> usize {
    let of = held.iter().filter(|held| held.thread == thread && held.at(event));
    of.map(|held| held.taken).min().unwrap_or(event)
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
