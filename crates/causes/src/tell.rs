//! Names for the steps of causes: places, verbs, objects, call stacks. Runs are executed once more for that, keeping
//! their events.

use rustc_hash::FxHashMap;
use unravel_diagnose::tell_race;
use unravel_execute::Laboratory;
use unravel_results::{CausalOrder, EventStack, Needed, Participant, Race, RootCause};
use unravel_trace::{
    Capability, Detail, EventKey, Failure, Key, Keys, Place, Run, Schedule, Trace, Verb,
    VisibleSet, Want,
};

use crate::gather::Gatherer;
use crate::orders::END;
use crate::watch::{Course, Watch};

/// Names steps, remembering what it has seen.
pub struct Teller<'t, 'g> {
    gatherer: &'t mut Gatherer<'g>,
    visible: &'t VisibleSet,
    told: FxHashMap<Key, Told>,
}

/// What is known of a step from one run in which it was executed.
#[derive(Clone, Debug, Default)]
struct Told {
    events: Vec<Does>,
    stack: Vec<Place>,
}

/// One event of a step.
#[derive(Clone, Debug)]
struct Does {
    verb: Verb,
    place: Option<Place>,
    object: String,
    /// What it touches; nothing for events without location.
    address: u64,
    bytes: u64,
}

/// A run with its events.
pub struct Seen {
    pub trace: Trace,
    /// Where the environment deviates.
    pub needs: Vec<Needed>,
    /// By step: the events that belong to it.
    events: Vec<Vec<u32>>,
    at: FxHashMap<Key, usize>,
}

impl<'t, 'g> Teller<'t, 'g> {
    pub fn new(gatherer: &'t mut Gatherer<'g>, visible: &'t VisibleSet) -> Self {
        Teller { gatherer, visible, told: FxHashMap::default() }
    }

    /// The decisions of a course.
    pub fn schedule(&self, course: &Course) -> Schedule {
        schedule(course, &self.gatherer.words.keys, self.visible)
    }

    /// Executes a course once more, keeping its events.
    pub fn run(&mut self, course: &Course) -> Run {
        let schedule = self.schedule(course);
        self.with_answers(course, |lab| lab.replay(&schedule, Detail::Events))
    }

    /// Does something with an environment that answers as in this course.
    fn with_answers<T>(&mut self, of: &Course, act: impl FnOnce(&mut Laboratory<'_>) -> T) -> T {
        let lab = &mut self.gatherer.lab;
        let before = lab.input().forced.clone();
        lab.force(of.forced.clone());
        let result = act(lab);
        lab.force(before);
        result
    }

    /// What races in a schedule that ends so.
    pub fn race(&mut self, schedule: &Schedule, failure: &Failure) -> Option<(Race, RootCause)> {
        tell_race(&mut self.gatherer.lab, schedule, failure)
    }

    /// Executes a course once more and learns the names of its steps. `None` if it does not come out the same.
    pub fn see(&mut self, course: &Course) -> Option<Seen> {
        let schedule = self.schedule(course);
        let Gatherer { lab, words, .. } = &mut *self.gatherer;
        let before = lab.input().forced.clone();
        lab.force(course.forced.clone());
        let mut watch = Watch::new(words);
        let want = Want { stacks: lab.can(Capability::Stacks), ..Want::only(Detail::Events) };
        let (run, _) = lab.replay_seen(&schedule, &mut watch, want);
        let again = watch.finish();
        lab.force(before);
        // What comes with a step may be more or less where nobody looks for what is shared.
        let decided = |course: &Course| -> Vec<Key> {
            course.steps.iter().filter(|step| !step.continues).map(|step| step.key).collect()
        };
        if decided(&again) != decided(course) {
            return None;
        }
        let course = &again;
        let events = self.events_of_steps(course, &run.trace);
        let mut number = 0;
        for (index, step) in course.steps.iter().enumerate() {
            number += u64::from(!step.continues);
            if self.told.get(&step.key).is_some_and(|told| !told.events.is_empty()) {
                continue;
            }
            let (_, site, _) = self.gatherer.words.keys.parts(step.key);
            let stack = run.stacks.get(number, site).to_vec();
            let events = events[index].iter().map(|event| does(&run.trace, *event)).collect();
            self.told.insert(step.key, Told { events, stack });
        }
        let at = course.steps.iter().enumerate().map(|(index, step)| (step.key, index)).collect();
        let needs = Needed::of(&run);
        Some(Seen { trace: run.trace, needs, events, at })
    }

    /// By step the events that belong to it: the first at its site, and what its thread does until its next step.
    fn events_of_steps(&self, course: &Course, trace: &Trace) -> Vec<Vec<u32>> {
        let keys = &self.gatherer.words.keys;
        let mut mine: FxHashMap<_, Vec<u32>> = FxHashMap::default();
        for (index, event) in trace.events.iter().enumerate() {
            mine.entry(trace.thread_name(event.thread)).or_default().push(index as u32);
        }
        let mut next: FxHashMap<_, (usize, Option<usize>)> = FxHashMap::default();
        let mut found: Vec<Vec<u32>> = vec![Vec::new(); course.steps.len()];
        for (index, step) in course.steps.iter().enumerate() {
            let (_, site, _) = keys.parts(step.key);
            let Some(mine) = mine.get(keys.name(step.thread)) else { continue };
            let (from, last) = next.entry(step.thread).or_insert((0, None));
            let is_here = |event: &u32| trace.events[*event as usize].site == site;
            let Some(at) = mine[*from..].iter().position(is_here) else { continue };
            if let Some(last) = *last {
                found[last].extend(&mine[*from..*from + at]);
            }
            found[index].push(mine[*from + at]);
            (*from, *last) = (*from + at + 1, Some(index));
        }
        found
    }

    /// An order with names. `seen` is the failing run.
    pub fn order(
        &self,
        (first, second): (Key, Key),
        seen: &Seen,
        witness: Option<Schedule>,
    ) -> CausalOrder {
        let nothing = Told::default();
        let told = |key: Key| self.told.get(&key).unwrap_or(&nothing);
        let (a, b) = shared_event(&told(first).events, &told(second).events);
        let named = told(first).events.get(a).or(told(second).events.get(b));
        CausalOrder {
            object: named.map_or_else(String::new, |does| does.object.clone()),
            first: self.participant(first, a, seen),
            second: self.participant(second, b, seen),
            witness,
        }
    }

    fn participant(&self, key: Key, which: usize, seen: &Seen) -> Participant {
        if key == END {
            return Participant {
                key: EventKey {
                    thread: unravel_trace::ThreadName::main(),
                    site: unravel_trace::SiteId(0),
                    occurrence: 0,
                },
                place: Place { function: "main".into(), ..unknown() },
                verb: Verb::EndsProcess,
                event: None,
                called: None,
            };
        }
        let keys = &self.gatherer.words.keys;
        let (thread, site, occurrence) = keys.parts(key);
        let told = self.told.get(&key);
        let does = told.and_then(|told| told.events.get(which).or(told.events.first()));
        let own = told.and_then(|told| unravel_trace::user_place(&told.stack));
        let place = does.and_then(|does| does.place.clone()).or_else(|| own.cloned());
        let events = seen.at.get(&key).map(|index| &seen.events[*index]);
        Participant {
            key: EventKey { thread: keys.name(thread).clone(), site, occurrence },
            place: place.unwrap_or_else(unknown),
            verb: does.map_or(Verb::GoesOn, |does| does.verb),
            event: events.and_then(|events| events.get(which).or(events.first())).copied(),
            called: None,
        }
    }

    /// The stack of a step, innermost first.
    pub fn stack(&self, key: Key) -> Option<EventStack> {
        let keys = &self.gatherer.words.keys;
        let told = self.told.get(&key)?;
        let (thread, site, occurrence) = keys.parts(key);
        Some(EventStack {
            key: EventKey { thread: keys.name(thread).clone(), site, occurrence },
            stack: told.stack.clone(),
        })
    }
}

fn unknown() -> Place {
    Place { function: "".into(), file: "".into(), line: 0, column: 0, wrapper: false }
}

fn does(trace: &Trace, event: u32) -> Does {
    let event = &trace.events[event as usize];
    let at = event.kind.location();
    let object = at.map_or_else(String::new, |at| trace.location(at).name.clone());
    let address = at.map_or(0, |at| trace.address(at));
    let bytes = at.map_or(0, |at| u64::from(trace.location(at).bytes.max(1)));
    Does { verb: event.kind.does(), place: trace.place(event).cloned(), object, address, bytes }
}

/// Of the events of two steps those that touch the same memory, else the first of each.
fn shared_event(first: &[Does], second: &[Does]) -> (usize, usize) {
    let overlap = |a: &Does, b: &Does| {
        a.bytes > 0
            && b.bytes > 0
            && a.address < b.address + b.bytes
            && b.address < a.address + a.bytes
    };
    let pairs = (0..first.len()).flat_map(|a| (0..second.len()).map(move |b| (a, b)));
    pairs.into_iter().find(|(a, b)| overlap(&first[*a], &second[*b])).unwrap_or((0, 0))
}

/// The decisions of a course.
pub fn schedule(course: &Course, keys: &Keys, visible: &VisibleSet) -> Schedule {
    let mut threads = Vec::new();
    let mut numbers = FxHashMap::default();
    let steps = course.steps.iter().filter(|step| !step.continues);
    let turns: Vec<u32> = steps
        .map(|step| {
            *numbers.entry(step.thread).or_insert_with(|| {
                threads.push(keys.name(step.thread).clone());
                threads.len() as u32 - 1
            })
        })
        .collect();
    Schedule::of_turns(threads, turns, course.answers.clone(), visible.clone())
}
