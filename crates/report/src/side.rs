//! Which events of one run a person should see, and what is remarkable about each.
//!
//! Shown are the events of the projection and of the root cause, the failing thread's last event, and single events
//! between them; the rest are gaps. A projection of thousands of events helps nobody: past a limit only what is nearest
//! to the root cause and to the data flows that differ is shown, and the gaps say how much of the projection they hide.
//! A brief report shows nothing but these from the start.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use unravel_results::{
    Alternate, BranchChange, CausalOrder, Diagnosis, Flow, Observed, Participant, Pattern,
    Projection,
};
use unravel_trace::{Event, EventKind, Place, SiteId, ThreadId, ThreadName};

use crate::words;

/// Events of a root cause that are shown whatever the limit.
const MOST_NAMED: usize = 8;
/// Events of the failing run that are shown if there is nothing to project.
const LAST_EVENTS: usize = 8;

/// How much of a run is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// The projection and its surroundings, at most so many events.
    Projection(usize),
    /// Only what the root cause names and what differs in value or path, at most so many events.
    Told(usize),
}

/// One run, as a report shows it.
#[derive(Debug)]
pub struct Side<'d> {
    pub run: &'d Observed,
    pub items: Vec<Item>,
    /// Participants of the root cause that this run never reached.
    pub missing: Vec<Missing<'d>>,
    pub region: Option<Region>,
}

/// An event that a run lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missing<'d> {
    pub who: &'d Participant,
    pub why: &'static str,
}

#[derive(Debug)]
pub enum Item {
    Event(Step),
    /// Events left out, and how many of them are in the projection.
    Gap {
        events: usize,
        projected: usize,
    },
}

/// A shown event.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// Index in the trace.
    pub event: u32,
    /// Whether it belongs to the projection; else it is context.
    pub projected: bool,
    /// Whether the root cause names it.
    pub causal: bool,
    /// Data flows into it that the other run does not have.
    pub flows: Vec<Flow>,
    /// Whether its thread takes another path here than in the other run.
    pub other_path: bool,
}

/// What a repair has to bring about, by events of this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    pub kind: RegionKind,
    pub start: u32,
    /// `None` where the run ended inside.
    pub end: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionKind {
    /// From start to end without interruption.
    Atomic,
    /// The start has to come before the end.
    Order,
}

/// What should hold: a thread's region that should be atomic, or an order of two events.
#[derive(Clone, Copy, Debug)]
pub struct Remedy<'d> {
    pub kind: RegionKind,
    pub start: &'d Participant,
    pub end: &'d Participant,
}

/// The failing run. Without a projection: the root cause, or else the last events.
pub fn failing<'d>(
    diagnosis: &'d Diagnosis,
    projection: Option<&Projection>,
    extent: Extent,
) -> Side<'d> {
    let run = &diagnosis.failing;
    let mut picked = Picked::default();
    if let Some(projection) = projection {
        picked.projection(&projection.failing);
        picked.flows(projection.flows.iter().filter_map(|change| change.failing));
        picked.branches(projection.branches.iter().filter_map(|b: &BranchChange| b.failing));
    }
    let mut missing = Vec::new();
    for who in participants(diagnosis) {
        let absent = Missing { who, why: words::absent(who, Some(&diagnosis.failure)) };
        match who.event {
            Some(event) => picked.step(event).causal = true,
            None if !missing.contains(&absent) => missing.push(absent),
            None => {}
        }
    }
    let thread = run.trace.threads.iter().position(|name| *name == diagnosis.failure.thread);
    if let Some(thread) = thread {
        let last = run.trace.events.iter().rposition(|e| e.thread.index() == thread);
        picked.last = last.map(|event| event as u32);
        picked.last.into_iter().for_each(|event| picked.mark(event));
    }
    picked.is_failing = true;
    picked.decisive = decisive(diagnosis);
    picked.decisive.clone().into_iter().for_each(|event| picked.mark(event));
    if projection.is_none() && diagnosis.root_cause.is_none() {
        let events = run.trace.events.len();
        (events.saturating_sub(LAST_EVENTS)..events).for_each(|e| picked.mark(e as u32));
    }
    let region = remedy(diagnosis)
        .filter(|remedy| remedy.kind == RegionKind::Atomic)
        .and_then(|r| Some(Region { kind: r.kind, start: r.start.event?, end: r.end.event }));
    Side { run, items: picked.items(run, extent), missing, region }
}

/// What the line that fails reads, and who has written that: without them a value in a sentence is not seen in the run.
fn decisive(diagnosis: &Diagnosis) -> BTreeSet<u32> {
    let trace = &diagnosis.failing.trace;
    let failure = &diagnosis.failure;
    let Some(place) = failure.place() else { return BTreeSet::new() };
    let is_there = |event: &Event| {
        trace.threads.get(event.thread.index()) == Some(&failure.thread)
            && matches!(event.kind, EventKind::Read { .. } | EventKind::ReadModifyWrite { .. })
            && words::place(trace, event)
                .is_some_and(|p| p.file == place.file && p.line == place.line)
    };
    let numbered = || trace.events.iter().enumerate().rev();
    let Some((read, event)) = numbered().find(|(_, event)| is_there(event)) else {
        return BTreeSet::new();
    };
    let writes = |other: &Event| {
        matches!(other.kind, EventKind::Write { .. } | EventKind::ReadModifyWrite { .. })
            && other.kind.location() == event.kind.location()
    };
    let writer = numbered().find(|(index, other)| *index < read && writes(other));
    // Its own write says nothing of the others.
    let writer = writer.filter(|(_, other)| other.thread != event.thread).map(|(index, _)| index);
    [Some(read), writer].into_iter().flatten().map(|index| index as u32).collect()
}

/// A passing run.
pub fn alternate<'d>(
    diagnosis: &'d Diagnosis,
    alternate: &'d Alternate,
    extent: Extent,
) -> Side<'d> {
    let run = &alternate.run;
    let projection = &alternate.projection;
    let mut picked = Picked::default();
    picked.projection(&projection.alternate);
    picked.flows(projection.flows.iter().filter_map(|change| change.alternate));
    picked.branches(projection.branches.iter().filter_map(|b: &BranchChange| b.alternate));
    let places = Places::new(run);
    let mut missing = Vec::new();
    for who in participants(diagnosis) {
        let absent = Missing { who, why: words::NOT_REACHED };
        match places.of(who, &diagnosis.failing) {
            Some(event) => picked.step(event).causal = true,
            // Another occurrence may be what the root cause means: then nothing is said.
            None if places.has_site(who) || missing.contains(&absent) => {}
            None => missing.push(absent),
        }
    }
    let region = remedy(diagnosis).and_then(|r| {
        let start = places.of(r.start, &diagnosis.failing)?;
        let end = places.of(r.end, &diagnosis.failing);
        // An order that does not hold, or has lost an end, cannot be drawn as one that holds.
        let holds = r.kind == RegionKind::Atomic || end.is_some();
        (holds && end.is_none_or(|end| end > start)).then_some(Region { kind: r.kind, start, end })
    });
    Side { run, items: picked.items(run, extent), missing, region }
}

/// What should hold, if the pattern says so.
pub fn remedy(diagnosis: &Diagnosis) -> Option<Remedy<'_>> {
    let cause = diagnosis.root_cause.as_ref()?;
    match cause.pattern {
        pattern if pattern.is_of_stretch() => {
            let [from, to] = cause.region.as_slice() else { return None };
            let start = cause.orders.iter().map(|o| &o.first).filter(|who| who.place == *from);
            let ends = |start: &Participant| {
                cause.orders.iter().map(|o| &o.second).find(|who| {
                    who.place == *to
                        && who.key.thread == start.key.thread
                        && (who.event.is_none() || who.event >= start.event)
                })
            };
            start
                .filter_map(|start| Some((start, ends(start)?)))
                .map(|(start, end)| Remedy { kind: RegionKind::Atomic, start, end })
                .next()
        }
        pattern if pattern.is_of_order() => {
            let [CausalOrder { first, second, .. }] = cause.orders.as_slice() else { return None };
            Some(Remedy { kind: RegionKind::Order, start: second, end: first })
        }
        _ => None,
    }
}

/// The places of what should hold. The end of an atomic region need not be an event of the root cause.
pub fn remedy_places(diagnosis: &Diagnosis) -> Option<(RegionKind, &Place, &Place)> {
    // What an order of the cause is about may be the lock around what comes too early.
    if let Some(cause) = diagnosis.root_cause.as_ref().filter(|c| c.pattern == Pattern::MissingJoin)
        && let [late, early] = cause.region.as_slice()
    {
        return Some((RegionKind::Order, late, early));
    }
    if let Some(remedy) = remedy(diagnosis) {
        return Some((remedy.kind, &remedy.start.place, &remedy.end.place));
    }
    let cause = diagnosis.root_cause.as_ref()?;
    match (cause.pattern, cause.region.as_slice()) {
        (pattern, [from, to]) if pattern.is_of_stretch() => Some((RegionKind::Atomic, from, to)),
        _ => None,
    }
}

fn participants(diagnosis: &Diagnosis) -> impl Iterator<Item = &Participant> {
    let orders = diagnosis.root_cause.iter().flat_map(|cause| &cause.orders);
    let race = diagnosis.race.iter().flat_map(|race| &race.accesses);
    orders.flat_map(|order| [&order.first, &order.second]).chain(race.map(|access| &access.who))
}

/// Finds events of the failing run in another one: the same occurrence of the same site in the same thread.
struct Places<'d> {
    run: &'d Observed,
    events: HashMap<(&'d ThreadName, SiteId, u32), u32>,
}

impl<'d> Places<'d> {
    fn new(run: &'d Observed) -> Places<'d> {
        let mut events = HashMap::new();
        let mut seen: HashMap<(ThreadId, SiteId), u32> = HashMap::new();
        for (index, event) in run.trace.events.iter().enumerate() {
            let occurrence = seen.entry((event.thread, event.site)).or_insert(0);
            if let Some(name) = run.trace.threads.get(event.thread.index()) {
                events.insert((name, event.site, *occurrence), index as u32);
            }
            *occurrence += 1;
        }
        Places { run, events }
    }

    /// Whether the run has any event of this thread at this site.
    fn has_site(&self, who: &Participant) -> bool {
        self.events.keys().any(|(name, site, _)| **name == who.key.thread && *site == who.key.site)
    }

    fn of(&self, who: &Participant, failing: &Observed) -> Option<u32> {
        // A point may have several events, of which the key counts the first; the trace knows better.
        let occurrence = match who.event {
            Some(event) => {
                let before = failing.trace.events.get(..event as usize)?;
                let own = failing.trace.events.get(event as usize)?;
                let same = |e: &&unravel_trace::Event| e.thread == own.thread && e.site == own.site;
                before.iter().filter(same).count() as u32
            }
            None => who.key.occurrence,
        };
        let name = self.run.trace.threads.iter().find(|name| **name == who.key.thread)?;
        self.events.get(&(name, who.key.site, occurrence)).copied()
    }
}

/// The events to show, by index.
#[derive(Default)]
struct Picked {
    steps: BTreeMap<u32, Step>,
    /// Ends of data flows that differ, and where the run ends.
    marked: BTreeSet<u32>,
    /// The last event of the thread that failed: without it nobody sees why.
    last: Option<u32>,
    /// What it failed by, and who wrote that.
    decisive: BTreeSet<u32>,
    /// Whether this is the run that a sentence tells of.
    is_failing: bool,
}

impl Picked {
    fn step(&mut self, event: u32) -> &mut Step {
        self.steps.entry(event).or_insert_with(|| Step { event, ..Step::default() })
    }

    fn mark(&mut self, event: u32) {
        self.step(event);
        self.marked.insert(event);
    }

    /// Whether a brief report shows it.
    fn is_told(&self, step: &Step) -> bool {
        step.causal || step.other_path || self.marked.contains(&step.event)
    }

    fn projection(&mut self, events: &[u32]) {
        events.iter().for_each(|event| self.step(*event).projected = true);
    }

    fn flows(&mut self, flows: impl Iterator<Item = Flow>) {
        for flow in flows {
            self.step(flow.to).flows.push(flow);
            self.marked.insert(flow.to);
            if let Some(from) = flow.from {
                self.mark(from);
            }
        }
    }

    fn branches(&mut self, events: impl Iterator<Item = u32>) {
        events.for_each(|event| self.step(event).other_path = true);
    }

    /// The steps in order with the gaps between them.
    fn items(mut self, run: &Observed, extent: Extent) -> Vec<Item> {
        let events = run.trace.events.len() as u32;
        self.steps.retain(|event, _| *event < events);
        let projected: BTreeSet<u32> =
            self.steps.values().filter(|s| s.projected).map(|s| s.event).collect();
        let (most, brief) = match extent {
            Extent::Projection(most) => (most, false),
            Extent::Told(most) => (most, true),
        };
        let is_system = |event: u32| {
            let event = &run.trace.events[event as usize];
            words::place(&run.trace, event).is_some_and(Place::is_system)
        };
        // What a library does by itself is for those who have nothing else.
        if self.steps.keys().any(|event| !is_system(*event)) {
            let steps = std::mem::take(&mut self.steps);
            let is_shown = |step: &Step| self.is_told(step) || !is_system(step.event);
            self.steps = steps.into_iter().filter(|(_, step)| is_shown(step)).collect();
        }
        if brief {
            let steps = std::mem::take(&mut self.steps);
            self.steps = steps.into_iter().filter(|(_, step)| self.is_told(step)).collect();
        }
        self.limit(most);
        let full = brief || self.steps.len() == most;
        let mut items = Vec::new();
        let mut next = 0;
        let gap = |items: &mut Vec<Item>, from: u32, to: u32| match to - from {
            0 => {}
            // A single event takes no more room than the words that it is left out.
            1 if !full && !is_system(from) => {
                items.push(Item::Event(Step { event: from, ..Step::default() }))
            }
            left => {
                let projected = projected.range(from..to).count();
                items.push(Item::Gap { events: left as usize, projected });
            }
        };
        for (event, step) in self.steps {
            gap(&mut items, next, event);
            items.push(Item::Event(step));
            next = event + 1;
        }
        gap(&mut items, next, events);
        items
    }

    /// Drops what matters least until at most `most` are left.
    fn limit(&mut self, most: usize) {
        // What the root cause names is why the run is shown at all.
        let named = self.steps.values().filter(|step| step.causal).count();
        let most = match self.is_failing {
            true => most.max((named + self.decisive.len()).min(MOST_NAMED)),
            false => most,
        };
        if self.steps.len() <= most {
            return;
        }
        let marks: BTreeSet<u32> =
            (self.steps.values()).filter(|s| self.is_told(s)).map(|s| s.event).collect();
        let distance = |event: u32| {
            let before = marks.range(..=event).next_back().map(|mark| event - mark);
            let after = marks.range(event..).next().map(|mark| mark - event);
            before.into_iter().chain(after).min().unwrap_or(u32::MAX)
        };
        let rank = |s: &Step| match s {
            s if self.decisive.contains(&s.event) => 0,
            s if s.causal => 1,
            s if self.last == Some(s.event) => 2,
            _ => 3,
        };
        // Of what is as near, the last: it is nearer to the failure.
        let mut ranked: Vec<_> =
            (self.steps.values()).map(|s| (rank(s), distance(s.event), Reverse(s.event))).collect();
        ranked.sort_unstable();
        let kept: BTreeSet<u32> =
            ranked.into_iter().take(most).map(|(_, _, event)| event.0).collect();
        self.steps.retain(|event, _| kept.contains(event));
    }
}
