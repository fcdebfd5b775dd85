//! Names for the events of a root cause.

use unravel_results::{CausalOrder, Participant, RootCause};
use unravel_trace::{
    Event, EventKey, Key, Place, Role, SiteId, ThreadName, Trace, Verb, user_place,
};

use crate::failing::Failing;
use crate::pattern::{self, Words};
use crate::points::{Point, Touch};
use crate::root_cause::Cause;
use crate::world::World;

/// The root cause, with names and words. `others` are the traces of its witnesses.
pub fn tell(
    world: &dyn World,
    failing: &Failing,
    cause: &Cause,
    others: &[Option<Trace>],
) -> RootCause {
    let mut orders: Vec<CausalOrder> = Vec::new();
    for (index, order) in cause.orders.iter().enumerate() {
        let other = others.get(index).and_then(Option::as_ref);
        let teller = Teller { world, failing, cause, other };
        let (first, object) = teller.participant(order.0, order.1);
        let (second, also) = teller.participant(order.1, order.0);
        orders.push(CausalOrder {
            first,
            second,
            object: if object.is_empty() { also } else { object },
            witness: cause.witnesses[index].clone(),
        });
    }
    orders.sort_by_key(|o| (o.first.event, o.second.event));
    let Words { pattern, sentence, advice, region } =
        pattern::describe(&failing.failure, &orders, &failing.observed.trace);
    RootCause {
        orders,
        pattern,
        sentence,
        advice,
        region,
        evidence: None,
        kept_and_failed: cause.kept_and_failed,
        proved_on_path: false,
    }
}

/// Names the events of the root cause.
struct Teller<'t> {
    world: &'t dyn World,
    failing: &'t Failing,
    cause: &'t Cause,
    /// The run that breaks the order at hand.
    other: Option<&'t Trace>,
}

impl Teller<'_> {
    /// The event of a point, and the name of what it touches together with `partner`.
    fn participant(&self, key: Key, partner: Key) -> (Participant, String) {
        let keys = self.world.keys();
        let (thread, site, occurrence) = keys.parts(key);
        let thread = keys.name(thread).clone();
        let points = self.world.failing();
        let trace = &self.failing.observed.trace;
        let place = points.iter().position(|p| p.key == key);
        let event = place.and_then(|at| self.event_of(at, points, partner));
        let (trace, index) = match event {
            Some(index) => (trace, Some(index)),
            None => match self
                .other
                .and_then(|other| Some((other, self.find(other, &thread, site, key)?)))
            {
                Some((other, index)) => (other, Some(index)),
                None => (trace, None),
            },
        };
        let found = index.map(|i| &trace.events[i as usize]);
        let location = found.and_then(|e| e.kind.location());
        let object = location.map_or(String::new(), |l| trace.location(l).name.clone());
        let site = found.map_or(site, |e| e.site);
        let waiting = thread.clone();
        let participant = Participant {
            key: EventKey { thread, site, occurrence },
            place: found
                .and_then(|event| trace.place(event).cloned())
                .unwrap_or_else(|| self.place(trace, &waiting, site)),
            verb: found.map_or_else(|| self.verb(key), |e| e.kind.does()),
            called: event.and_then(|index| self.failing.calls.apart(index as usize, site).cloned()),
            event,
        };
        (participant, object)
    }

    /// Of the events of a point the one that conflicts with the partner, else the first.
    fn event_of(&self, at: usize, points: &[Point], partner: Key) -> Option<u32> {
        let step = self.failing.steps().get(at)?;
        if step.events == 0 {
            return None;
        }
        let trace = &self.failing.observed.trace;
        let partner = points
            .iter()
            .find(|p| p.key == partner)
            .map(|p| p.touch)
            .or_else(|| self.cause.touches.get(&partner).copied())
            .unwrap_or(Touch::Nothing);
        let conflicting = step.range().find(|i| {
            Touch::of_event(trace, &trace.events[*i]).conflicts(&partner, self.world.extents())
        });
        Some(conflicting.unwrap_or(step.first as usize) as u32)
    }

    /// An event of another run that does at this site what the point does.
    fn find(&self, trace: &Trace, thread: &ThreadName, site: SiteId, key: Key) -> Option<u32> {
        let touch = self.cause.touches.get(&key).copied().unwrap_or(Touch::Nothing);
        let alike = |other: Touch| match (touch, other) {
            (Touch::Memory { write: a, .. }, Touch::Memory { write: b, .. }) => a == b,
            (Touch::Section(_), _) => true,
            (a, b) => std::mem::discriminant(&a) == std::mem::discriminant(&b),
        };
        let is_it = |event: &Event| {
            event.site == site
                && trace.thread_name(event.thread) == thread
                && alike(Touch::of_event(trace, event))
        };
        let (_, _, occurrence) = self.world.keys().parts(key);
        let mut found = (0..).zip(&trace.events).filter(|(_, event)| is_it(event));
        // Many go through one line of a wrapper: the same time of it, if the other run came that far.
        let first = found.clone().next();
        found.nth(occurrence as usize).or(first).map(|(index, _)| index)
    }

    /// What a point does whose event nobody recorded: one that a thread never got to.
    fn verb(&self, key: Key) -> Verb {
        match self.cause.touches.get(&key) {
            Some(Touch::Memory { write: true, .. }) => Verb::Writes,
            Some(Touch::Memory { .. }) => Verb::Reads,
            Some(Touch::Free { .. }) => Verb::Frees,
            Some(Touch::Sync { role, .. }) => match role {
                Role::Release => Verb::Releases,
                Role::Wait => Verb::WaitsOn,
                Role::Signal => Verb::Signals,
                _ => Verb::Acquires,
            },
            Some(Touch::Section(_) | Touch::Nothing) | None => Verb::GoesOn,
        }
    }

    fn place(&self, trace: &Trace, thread: &ThreadName, site: SiteId) -> Place {
        let site = trace.site(site).or_else(|| self.failing.observed.trace.site(site));
        let unknown =
            Place { function: "".into(), file: "".into(), line: 0, column: 0, wrapper: false };
        let place = site.map_or(unknown, |s| s.place.clone());
        if !place.is_system() && !place.wrapper {
            return place;
        }
        // A thread that is stuck in a header of the system or in a wrapper: the failure knows who called it.
        let failed = self.failing.observed.outcome.failure();
        let related = failed.into_iter().flat_map(|failure| &failure.related);
        let there = related.filter(|related| related.stack.contains(&place));
        let who = format!("{thread} ");
        let called = there.clone().find(|related| related.message.starts_with(&who));
        let called = called.or_else(|| there.clone().next()).and_then(|r| user_place(&r.stack));
        called.cloned().unwrap_or(place)
    }
}
