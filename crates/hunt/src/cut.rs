//! A combination up to where it is to fail.
//!
//! What the failing thread does after its failure never happens, nor what waits for it to end, nor what threads do that
//! would be created then. All other threads keep everything they did: how far they get is the solver's to say.
//!
//! After Cortex (thesis §5.2.2.1), which adds the negated assertion to the constraints of the threads.

use rustc_hash::FxHashMap;
use unravel_trace::{
    Access, Bug, Combined, Condition, ConditionKind, Copied, EventKind, Exprs, Shadow, Step,
    SymbolId, Symbolic, ThreadId, Trace,
};

/// Where a thread ends: it keeps so many of its steps, and of the last of them so many events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct End {
    steps: usize,
    events: u32,
}

/// A combination with a bug.
#[derive(Clone, Debug)]
pub struct Cut {
    pub trace: Trace,
    pub symbolic: Symbolic,
    pub unscheduled: Vec<u32>,
}

/// How a combination is to fail.
#[derive(Clone, Debug)]
pub struct Failing {
    /// Of these threads nothing is kept after this event; nothing at all where it is `None`.
    pub last: Vec<(ThreadId, Option<u32>)>,
    /// Conditions of the failing thread from this one on are no longer conditions.
    pub from_condition: Option<(ThreadId, usize)>,
    /// The answer of this event (a trylock, a once) is to be the other one.
    pub other_answer: Option<u32>,
    /// Addresses and arguments of library functions may be others than they were: a guess at what happens then.
    pub relaxed: bool,
    /// Events are numbered as in the combination.
    pub bug: Bug,
}

/// Leaves out what cannot happen any more, and makes the rest fail.
pub fn cut(combined: &Combined, exprs: &Exprs, failing: &Failing) -> Cut {
    let symbolic = &combined.symbolic;
    let mut steps: FxHashMap<ThreadId, Vec<usize>> = FxHashMap::default();
    for (index, step) in symbolic.steps.iter().enumerate() {
        steps.entry(step.thread).or_default().push(index);
    }
    let ends = ends(combined, &steps, &failing.last);
    let mut kept = Kept::default();
    let mut place: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for (index, step) in symbolic.steps.iter().enumerate() {
        let done = place.entry(step.thread).or_default();
        let end = ends[&step.thread];
        *done += 1;
        if *done > end.steps {
            continue;
        }
        let events = if *done == end.steps { end.events } else { step.events };
        kept.add(combined, index, Step { events, ..*step });
    }
    let numbers: FxHashMap<u32, u32> =
        kept.accesses.iter().enumerate().map(|(new, old)| (*old, new as u32)).collect();
    let mut copy = Copied::new(exprs, |symbol: SymbolId| {
        numbers.get(&symbol.0).map(|number| SymbolId(*number))
    });
    let mut exprs = Exprs::default();
    let accesses = kept.accesses.iter().map(|old| {
        let access = symbolic.accesses[*old as usize];
        Access { value: copy.expr(&mut exprs, access.value), ..access }
    });
    let accesses = accesses.collect();
    let conditions = symbolic.conditions.iter().enumerate().filter_map(|(index, condition)| {
        let dropped = failing
            .from_condition
            .is_some_and(|(thread, from)| condition.thread == thread && index >= from);
        let after = *kept.places.get(&condition.after)?;
        let guess = matches!(condition.why, ConditionKind::Address | ConditionKind::Fixed);
        if dropped || failing.relaxed && guess {
            return None;
        }
        Some(Condition { after, holds: copy.expr(&mut exprs, condition.holds), ..*condition })
    });
    let conditions = conditions.collect();
    let mut bug = failing.bug.clone();
    if let Bug::Condition { after, .. } | Bug::Reached { after, .. } = &mut bug {
        *after = kept.places.get(after).copied().unwrap_or(0);
    }
    if let Bug::Condition { fails, .. } = &mut bug {
        *fails = copy.expr(&mut exprs, *fails);
    }
    if let Some(place) = failing.other_answer.and_then(|event| kept.places.get(&event)) {
        invert(&mut kept.events[*place as usize].kind);
    }
    let trace = Trace {
        threads: combined.trace.threads.clone(),
        events: kept.events,
        objects: combined.trace.objects.clone(),
        locations: combined.trace.locations.clone(),
        sites: combined.trace.sites.clone(),
    };
    let symbolic = Symbolic {
        exprs,
        shadows: kept.shadows,
        accesses,
        steps: kept.steps,
        conditions,
        initial: symbolic.initial.clone(),
        sync: symbolic.sync.clone(),
        inputs: symbolic.inputs.clone(),
        bug,
        parted_at: None,
        order: symbolic.order,
    };
    Cut { trace, symbolic, unscheduled: kept.unscheduled }
}

/// The same event with the other answer.
fn invert(kind: &mut EventKind) {
    match kind {
        EventKind::TryLock { acquired, .. } | EventKind::SemTryWait { acquired, .. } => {
            *acquired = !*acquired;
        }
        EventKind::Once { won, .. } => *won = !*won,
        _ => {}
    }
}

/// How much of each thread can still happen.
fn ends(
    combined: &Combined,
    steps: &FxHashMap<ThreadId, Vec<usize>>,
    last: &[(ThreadId, Option<u32>)],
) -> FxHashMap<ThreadId, End> {
    let all = &combined.symbolic.steps;
    let whole = |steps: &Vec<usize>| End {
        steps: steps.len(),
        events: steps.last().map_or(0, |step| all[*step].events),
    };
    let mut ends: FxHashMap<ThreadId, End> =
        steps.iter().map(|(thread, steps)| (*thread, whole(steps))).collect();
    for (thread, event) in last {
        let Some(steps) = steps.get(thread) else { continue };
        let end = match event {
            None => End { steps: 0, events: 0 },
            Some(event) => {
                let holds = |step: &&usize| all[**step].range().contains(&(*event as usize));
                let at = steps.iter().position(|step| holds(&step));
                at.map_or(End { steps: 0, events: 0 }, |at| End {
                    steps: at + 1,
                    events: event + 1 - all[steps[at]].first,
                })
            }
        };
        ends.insert(*thread, end);
    }
    // Who waits for a thread that does not end goes no further, and whom nobody creates does nothing.
    loop {
        let mut changed = false;
        let exited = |ends: &FxHashMap<ThreadId, End>, thread: ThreadId| {
            kept_events(all, steps, ends, thread)
                .any(|event| combined.trace.events[event].kind == EventKind::Exit)
        };
        let mut forked: Vec<ThreadId> = vec![ThreadId::MAIN];
        let threads: Vec<ThreadId> = steps.keys().copied().collect();
        for thread in &threads {
            let mut until = None;
            for event in kept_events(all, steps, &ends, *thread) {
                match combined.trace.events[event].kind {
                    EventKind::Fork { child } => forked.push(child),
                    EventKind::Join { child } if !exited(&ends, child) => {
                        until = Some(event);
                        break;
                    }
                    _ => {}
                }
            }
            if let Some(event) = until {
                let at = steps[thread].iter().position(|step| all[*step].range().contains(&event));
                let at = at.unwrap_or(0);
                let events = if at == 0 { 0 } else { all[steps[thread][at - 1]].events };
                ends.insert(*thread, End { steps: at, events });
                changed = true;
            }
        }
        for thread in &threads {
            if !forked.contains(thread) && ends[thread].steps > 0 {
                ends.insert(*thread, End { steps: 0, events: 0 });
                changed = true;
            }
        }
        if !changed {
            return ends;
        }
    }
}

/// The events that a thread keeps.
fn kept_events<'a>(
    all: &'a [Step],
    steps: &'a FxHashMap<ThreadId, Vec<usize>>,
    ends: &FxHashMap<ThreadId, End>,
    thread: ThreadId,
) -> impl Iterator<Item = usize> + 'a {
    let end = ends.get(&thread).copied().unwrap_or(End { steps: 0, events: 0 });
    let own = steps.get(&thread).into_iter().flatten().take(end.steps).enumerate();
    own.flat_map(move |(place, step)| {
        let step = all[*step];
        let events = if place + 1 == end.steps { end.events } else { step.events };
        step.first as usize..(step.first + events) as usize
    })
}

/// What is left, numbered anew.
#[derive(Default)]
struct Kept {
    events: Vec<unravel_trace::Event>,
    shadows: Vec<Shadow>,
    steps: Vec<Step>,
    unscheduled: Vec<u32>,
    /// Old numbers of accesses.
    accesses: Vec<u32>,
    /// Old numbers of events and their new ones.
    places: FxHashMap<u32, u32>,
}

impl Kept {
    fn add(&mut self, combined: &Combined, index: usize, step: Step) {
        if combined.unscheduled.contains(&(index as u32)) {
            self.unscheduled.push(self.steps.len() as u32);
        }
        self.steps.push(Step { first: self.events.len() as u32, ..step });
        for event in step.range() {
            self.places.insert(event as u32, self.events.len() as u32);
            self.events.push(combined.trace.events[event].clone());
            let shadow = combined.symbolic.shadows[event];
            let first = self.accesses.len() as u32;
            self.shadows.push(Shadow { first, ..shadow });
            self.accesses.extend(shadow.first..shadow.first + shadow.reads + shadow.writes);
        }
    }
}
