//! Combinations of recorded paths: one execution, with few of its threads' paths replaced by those of other executions.
//!
//! After Cortex (thesis §5.2.2), which flips branches by their distance from the failure; here the paths are given, and the ones
//! that part latest from the execution's own come first. Fewest foreign parts come first of all. What a thread forks on its
//! other path has to take part, and what nobody forks then does not.
//!
//! *Not done*: paths that nobody recorded. Without a program nobody can tell what a thread does on them.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use unravel_database::{Database, TraceId};
use unravel_trace::{EventKind, SiteId, ThreadId, ThreadTrace, Trace};

/// A part, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PartId(u32);

/// One path for each thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Combination {
    /// By thread.
    pub parts: Vec<PartId>,
    /// Which of them are not of the execution that it was derived from.
    pub foreign: Vec<PartId>,
    pub turns: Vec<ThreadId>,
}

/// All recorded paths.
pub struct Pool<'d> {
    parts: Vec<&'d ThreadTrace>,
    /// By part: where it was first met.
    sources: Vec<&'d str>,
    by_thread: BTreeMap<ThreadId, Vec<PartId>>,
    /// Executions of which every thread is known.
    whole: Vec<Combination>,
    forked: BTreeSet<ThreadId>,
}

impl<'d> Pool<'d> {
    /// `recorded` is the execution that comes first, if it is there.
    pub fn new(database: &'d Database, recorded: &Trace) -> Pool<'d> {
        let mut pool = Pool {
            parts: Vec::new(),
            sources: Vec::new(),
            by_thread: BTreeMap::new(),
            whole: Vec::new(),
            forked: BTreeSet::new(),
        };
        let mut known: BTreeMap<TraceId, PartId> = BTreeMap::new();
        let mut runs = Vec::new();
        for run in database.runs() {
            let mut own = Vec::new();
            for id in &run.threads {
                let Some(trace) = database.trace(*id) else { continue };
                let next = PartId(pool.parts.len() as u32);
                let part = *known.entry(*id).or_insert(next);
                if part == next {
                    pool.parts.push(trace);
                    pool.sources.push(&run.from);
                    pool.by_thread.entry(trace.thread).or_default().push(part);
                    pool.forked.extend(forks(trace));
                }
                own.push(part);
            }
            runs.push((own, run.turns.clone()));
        }
        for (own, turns) in runs {
            let chosen = own.iter().map(|part| (pool.get(*part).thread, *part)).collect();
            if pool.fit(&chosen).is_some_and(|fit| fit == own) {
                pool.whole.push(Combination { parts: own, foreign: Vec::new(), turns });
            }
        }
        let first = pool.whole.iter().position(|whole| pool.is_of(whole, recorded));
        if let Some(first) = first {
            pool.whole[..=first].rotate_right(1);
        }
        pool
    }

    pub fn get(&self, part: PartId) -> &'d ThreadTrace {
        self.parts[part.0 as usize]
    }

    pub fn source(&self, part: PartId) -> &'d str {
        self.sources[part.0 as usize]
    }

    /// Executions of which every thread is known.
    pub fn whole(&self) -> &[Combination] {
        &self.whole
    }

    /// The execution of a trace, if it is among them.
    pub fn own(&self, trace: &Trace) -> Option<&Combination> {
        self.whole.first().filter(|whole| self.is_of(whole, trace))
    }

    pub fn traces(&self, combination: &Combination) -> Vec<&'d ThreadTrace> {
        combination.parts.iter().map(|part| self.get(*part)).collect()
    }

    /// Whether every thread does in a trace what it does in a combination.
    fn is_of(&self, combination: &Combination, trace: &Trace) -> bool {
        let sites = |trace: &Trace, thread: ThreadId| -> Vec<SiteId> {
            trace.events.iter().filter(|e| e.thread == thread).map(|e| e.site).collect()
        };
        let parts = self.traces(combination);
        let events: usize = parts.iter().map(|part| part.trace.events.len()).sum();
        events == trace.events.len()
            && parts.iter().all(|p| sites(&p.trace, p.thread) == sites(trace, p.thread))
    }

    /// Other parts of the same thread that do the same in their first `events` events and then something else: those that do about as
    /// much as this one first.
    pub fn parting(&self, part: PartId, events: usize) -> Vec<PartId> {
        let own = self.get(part);
        let parts_there = |other: &&PartId| {
            let theirs = &self.get(**other).trace.events;
            **other != part
                && theirs.len() >= events
                && theirs.get(events).map(|e| e.site)
                    != own.trace.events.get(events).map(|e| e.site)
                && theirs.iter().zip(&own.trace.events).take(events).all(|(a, b)| a.site == b.site)
        };
        let length = |part: PartId| self.get(part).trace.events.len();
        let parting = self.by_thread.get(&own.thread).into_iter().flatten().filter(parts_there);
        let mut parting: Vec<PartId> = parting.copied().collect();
        parting.sort_by_key(|other| (length(*other).abs_diff(length(part)), *other));
        parting
    }

    /// The part of a thread.
    pub fn part_of(&self, combination: &Combination, thread: ThreadId) -> Option<PartId> {
        combination.parts.iter().copied().find(|part| self.get(*part).thread == thread)
    }

    /// A combination with one more part replaced.
    pub fn with(&self, from: &Combination, part: PartId) -> Option<Combination> {
        let thread = self.get(part).thread;
        let mut chosen: BTreeMap<ThreadId, PartId> =
            from.parts.iter().map(|part| (self.get(*part).thread, *part)).collect();
        chosen.insert(thread, part);
        let parts = self.fit(&chosen)?;
        let kept = from.foreign.iter().copied().filter(|part| parts.contains(part));
        let new = parts.iter().copied().filter(|part| !from.parts.contains(part));
        let mut foreign: Vec<PartId> = kept.chain(new).collect();
        foreign.sort();
        Some(Combination { parts, foreign, turns: from.turns.clone() })
    }

    /// Combinations with so many foreign parts, given as what is replaced: those that part latest from the execution first. At most
    /// `most`; whether there are more is said.
    pub fn derived(
        &self,
        from: &Combination,
        foreign: usize,
        most: usize,
    ) -> (Vec<Combination>, bool) {
        let mut single: Vec<(usize, PartId)> = Vec::new();
        let own: BTreeMap<ThreadId, PartId> =
            from.parts.iter().map(|part| (self.get(*part).thread, *part)).collect();
        for (thread, mine) in &own {
            let path = &self.get(*mine).path;
            for other in self.by_thread[thread].iter().filter(|other| *other != mine) {
                let theirs = &self.get(*other).path;
                let common = path.iter().zip(theirs).take_while(|(a, b)| a == b).count();
                single.push((path.len().max(theirs.len()) - common, *other));
            }
        }
        single.sort();
        let mut found = Vec::new();
        let mut picked: Vec<usize> = Vec::new();
        let mut work = most.saturating_mul(WORK);
        self.pick(&single, foreign, &mut picked, &mut work, &mut |picked| {
            let foreign: Vec<PartId> = picked.iter().map(|index| single[*index].1).collect();
            let mut chosen = own.clone();
            chosen.extend(foreign.iter().map(|part| (self.get(*part).thread, *part)));
            if let Some(parts) = self.fit(&chosen) {
                let foreign = parts.iter().copied().filter(|p| !from.parts.contains(p)).collect();
                found.push(Combination { parts, foreign, turns: from.turns.clone() });
            }
            found.len() < most
        });
        let more = found.len() >= most || work == 0;
        (found, more)
    }

    /// Picks so many of `single`, of different threads, in order. False if there is no use in going on.
    fn pick(
        &self,
        single: &[(usize, PartId)],
        left: usize,
        picked: &mut Vec<usize>,
        work: &mut usize,
        offer: &mut dyn FnMut(&[usize]) -> bool,
    ) -> bool {
        if left == 0 {
            return offer(picked);
        }
        let from = picked.last().map_or(0, |last| last + 1);
        for index in from..single.len() {
            if *work == 0 {
                return false;
            }
            *work -= 1;
            let thread = |index: usize| self.get(single[index].1).thread;
            if picked.iter().any(|other| thread(*other) == thread(index)) {
                continue;
            }
            picked.push(index);
            let goes_on = self.pick(single, left - 1, picked, work, offer);
            picked.pop();
            if !goes_on {
                return false;
            }
        }
        true
    }

    /// The parts that take part: the main thread, whom nobody is ever seen to fork, and whom these fork. `None` if one would begin
    /// twice, or would wait for one that never begins, or does what nobody recorded.
    fn fit(&self, chosen: &BTreeMap<ThreadId, PartId>) -> Option<Vec<PartId>> {
        let mut todo: Vec<ThreadId> =
            chosen.keys().copied().filter(|thread| !self.forked.contains(thread)).collect();
        let mut begun: BTreeMap<ThreadId, PartId> = BTreeMap::new();
        while let Some(thread) = todo.pop() {
            let recorded = || self.by_thread.get(&thread)?.first().copied();
            let part = chosen.get(&thread).copied().or_else(recorded)?;
            if begun.insert(thread, part).is_some() {
                return None;
            }
            todo.extend(forks(self.get(part)));
        }
        let joined = |event: &unravel_trace::Event| match event.kind {
            EventKind::Join { child } => Some(child),
            _ => None,
        };
        let waits = |part: &PartId| self.get(*part).trace.events.iter().filter_map(joined);
        let all_begin = begun.values().flat_map(waits).all(|child| begun.contains_key(&child));
        (all_begin && begun.contains_key(&ThreadId::MAIN)).then(|| begun.into_values().collect())
    }
}

/// Of what is picked, so much may not fit for each that does.
const WORK: usize = 64;

fn forks(part: &ThreadTrace) -> impl Iterator<Item = ThreadId> + '_ {
    part.trace.events.iter().filter_map(|event| match event.kind {
        EventKind::Fork { child } => Some(child),
        _ => None,
    })
}

/// Those that were not met before.
#[derive(Debug, Default)]
pub struct Met(FxHashSet<Vec<PartId>>);

impl Met {
    pub fn is_new(&mut self, combination: &Combination) -> bool {
        self.0.insert(combination.parts.clone())
    }
}
