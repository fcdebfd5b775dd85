//! Long segments: few preemptions, each where a thread is about to touch a shared location.
//!
//! PCT (Burckhardt et al., ASPLOS 2010) draws the events at which priorities change evenly among all events of a run. In a long
//! run almost all of these are the same few hot loops, and what happens once (a flag is set, a buffer is handed over) is hit
//! once in a million. Here a change is drawn by *location* first, then by which touch of it, so that a location that is touched
//! twice has as good a chance as one that is touched a million times, and early touches a better one than late ones. Between
//! the changes threads run on by priority, as in PCT.
//!
//! PCT's guarantee is lost: touches of hot locations are drawn less often than there. The counts come from earlier runs
//! (`profile.rs`); without any, nothing is preempted.

use unravel_trace::{Choice, Op, Pending, Question, Rng, Scheduler, View, Why};

use crate::profile::{Location, Profile};

#[derive(Debug)]
pub struct Segments {
    rng: Rng,
    /// By thread; larger runs first.
    priorities: Vec<i64>,
    changes: Vec<Change>,
    /// The next priority below all others.
    lowest: i64,
    /// Whether the end of the process waits until nothing else can happen.
    linger: bool,
}

/// Who is about to touch a location for the so manieth time drops.
#[derive(Debug)]
struct Change {
    location: Location,
    /// Touches until then.
    left: u32,
    done: bool,
}

impl Segments {
    /// With so many changes.
    pub fn new(seed: u64, changes: u32, profile: &Profile) -> Segments {
        let mut rng = Rng::new(seed);
        let linger = rng.below(2) == 0;
        let changes = match &profile.locations[..] {
            [] => Vec::new(),
            locations => (0..changes).map(|_| Change::draw(&mut rng, locations)).collect(),
        };
        Segments { rng, priorities: Vec::new(), changes, lowest: 0, linger }
    }

    fn drop_priority(&mut self, thread: unravel_trace::ThreadId) {
        self.lowest -= 1;
        self.priorities[thread.index()] = self.lowest;
    }

    /// Whether a thread drops that is about to execute this.
    fn drops(&mut self, pending: &Pending) -> bool {
        let is_due = |c: &&mut Change| !c.done && c.left == 0 && c.location.is_touched_by(pending);
        match self.changes.iter_mut().find(is_due) {
            None => false,
            Some(change) => {
                change.done = true;
                true
            }
        }
    }
}

impl Change {
    fn draw(rng: &mut Rng, locations: &[Location]) -> Change {
        let location = rng.pick(locations).clone();
        let touches = location.touches.iter().fold(0u32, |sum, (_, n)| sum.saturating_add(*n));
        // Any touch, or one within a bound that is itself drawn: 1, 2, 4, …
        let within = touches.checked_ilog2().map_or(1, |log| 1 << rng.below(log + 1));
        let range = if rng.below(2) == 0 { touches } else { within };
        Change { location, left: rng.below(range.max(1)), done: false }
    }
}

impl Scheduler for Segments {
    fn next(&mut self, view: &View<'_>) -> Choice {
        while self.priorities.len() < view.names.len() {
            let priority = i64::from(self.rng.below(1 << 30));
            self.priorities.push(priority);
        }
        if view.why == Why::Yielded {
            self.drop_priority(view.current);
        }
        let chosen = loop {
            let key = |c: &&unravel_trace::Ready| {
                // Where main does not join, most orders end before anything happened.
                let ends = self.linger && c.pending.op == Op::End;
                (!ends, self.priorities[c.thread.index()])
            };
            let first = *view.enabled.iter().max_by_key(key).expect("something is enabled");
            if !self.drops(&first.pending) {
                break first;
            }
            self.drop_priority(first.thread);
        };
        for change in self.changes.iter_mut().filter(|c| !c.done) {
            if change.location.is_touched_by(&chosen.pending) {
                change.left = change.left.saturating_sub(1);
            }
        }
        Choice { thread: chosen.thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{Operand, Ready, SiteId, ThreadId, ThreadName};

    const HOT: u64 = 64;
    const RARE: u64 = 128;

    fn name(thread: u32) -> ThreadName {
        ThreadName(vec![thread])
    }

    fn profile() -> Profile {
        let location = |address, count| Location {
            address,
            touches: vec![(name(0), count), (name(1), count)],
        };
        Profile { locations: vec![location(HOT, 10_000), location(RARE, 1)] }
    }

    fn ready(thread: u32, address: u64) -> Ready {
        let pending = Pending {
            op: Op::Write,
            address,
            bytes: 4,
            site: SiteId(1),
            caller: None,
            operand: Operand::None,
            atomic: false,
        };
        Ready { thread: ThreadId(thread), pending, by_time: false, is_over: false }
    }

    /// Whether thread 0, which has begun, is preempted just before its only touch of the rare location, after many of
    /// the other.
    fn hits(by: &mut dyn Scheduler) -> bool {
        let names = [name(0), name(1)];
        let mut at = 0;
        for events in 0..2_100 {
            let address = if at == 1_000 { RARE } else { HOT };
            let enabled = [ready(0, address), ready(1, HOT)];
            let view = View {
                enabled: &enabled,
                early: &[],
                names: &names,
                current: ThreadId(0),
                why: Why::UsedUp,
                events,
            };
            match by.next(&view).thread {
                ThreadId(0) => at += 1,
                _ => return at == 1_000,
            }
        }
        false
    }

    #[test]
    fn what_is_touched_once_is_met_as_often_as_what_is_touched_all_the_time() {
        let profile = profile();
        let hit = (0..400).filter(|seed| hits(&mut Segments::new(*seed, 1, &profile))).count();
        assert!(hit > 50, "{hit} of 400");
        let evenly = (0..400).filter(|seed| hits(&mut crate::Pct::new(*seed, 2, 2_000))).count();
        assert!(evenly < 5, "{evenly} of 400");
    }

    #[test]
    fn without_changes_or_anything_known_nobody_is_preempted() {
        for mut by in [Segments::new(3, 0, &profile()), Segments::new(3, 4, &Profile::default())] {
            let names = [name(0), name(1)];
            let enabled = [ready(0, HOT), ready(1, RARE)];
            let view = |events| View {
                enabled: &enabled,
                early: &[],
                names: &names,
                current: ThreadId(0),
                why: Why::UsedUp,
                events,
            };
            let first = by.next(&view(0)).thread;
            assert!((1..100).all(|events| by.next(&view(events)).thread == first));
        }
    }
}
