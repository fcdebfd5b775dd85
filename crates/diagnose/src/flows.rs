//! A run as criteria see it: its events in order, named across runs, and its data flows.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_results::Flow;
use unravel_trace::{Counter, EventKind, Key, Keys, LocationId, ThreadId, ThreadKey, Trace};

use crate::budgets::MAX_BYTES;

/// The events of one run.
#[derive(Clone, Debug)]
pub struct Lineup {
    /// By index of the trace's events.
    pub keys: Vec<Key>,
    pub threads: Vec<ThreadKey>,
    pub positions: FxHashMap<Key, u32>,
    /// Reads-from edges, by indices of events.
    pub flows: Vec<Flow>,
    /// The same by keys: writer (`None`: memory as it was before) and reader.
    pub edges: FxHashSet<(Option<Key>, Key)>,
}

impl Lineup {
    /// `freed` are the addresses of heap objects whose liveness counts as a value.
    pub fn new(trace: &Trace, keys: &mut Keys, freed: &FxHashSet<u64>) -> Lineup {
        let names: Vec<ThreadKey> = trace.threads.iter().map(|n| keys.thread(n)).collect();
        let mut counter = Counter::default();
        let mut own = Vec::with_capacity(trace.events.len());
        let mut threads = Vec::with_capacity(trace.events.len());
        for event in &trace.events {
            let thread = thread_key(&names, event.thread);
            let occurrence = counter.advance(thread, event.site);
            own.push(keys.key(thread, event.site, occurrence));
            threads.push(thread);
        }
        let flows = flows(trace, freed);
        let edges =
            flows.iter().map(|f| (f.from.map(|w| own[w as usize]), own[f.to as usize])).collect();
        let positions = own.iter().enumerate().map(|(i, k)| (*k, i as u32)).collect();
        Lineup { keys: own, threads, positions, flows, edges }
    }

    /// A data flow by keys.
    pub fn edge(&self, flow: &Flow) -> (Option<Key>, Key) {
        (flow.from.map(|w| self.keys[w as usize]), self.keys[flow.to as usize])
    }

    /// The threads that do here what they do in the other run, as far as both go.
    pub fn same_path(&self, other: &Lineup) -> FxHashSet<ThreadKey> {
        let (mine, theirs) = (self.by_thread(), other.by_thread());
        let none = Vec::new();
        mine.iter()
            .filter(|(thread, keys)| {
                let other = theirs.get(thread).unwrap_or(&none);
                keys.iter().zip(other).all(|(a, b)| a == b)
            })
            .map(|(thread, _)| *thread)
            .collect()
    }

    fn by_thread(&self) -> FxHashMap<ThreadKey, Vec<Key>> {
        let mut lists: FxHashMap<ThreadKey, Vec<Key>> = FxHashMap::default();
        for (key, thread) in self.keys.iter().zip(&self.threads) {
            lists.entry(*thread).or_default().push(*key);
        }
        lists
    }

    pub fn contains(&self, key: Key) -> bool {
        self.positions.contains_key(&key)
    }
}

fn thread_key(names: &[ThreadKey], thread: ThreadId) -> ThreadKey {
    names[thread.index()]
}

/// Addresses of the heap objects that a run frees.
pub fn freed_objects(trace: &Trace) -> FxHashSet<u64> {
    let freed = trace.events.iter().filter_map(|event| match event.kind {
        EventKind::Free { at } => Some(object_of(trace, at)),
        _ => None,
    });
    freed.collect()
}

fn object_of(trace: &Trace, at: LocationId) -> u64 {
    trace.objects[trace.location(at).object.0 as usize].address
}

/// How many data flows a run has.
pub fn count(trace: &Trace) -> u32 {
    flows(trace, &freed_objects(trace)).len() as u32
}

/// The reads-from edges of a run, without duplicates, by reader.
fn flows(trace: &Trace, freed: &FxHashSet<u64>) -> Vec<Flow> {
    let mut memory: FxHashMap<u64, u32> = FxHashMap::default();
    let mut lives: FxHashMap<u64, u32> = FxHashMap::default();
    let mut found: Vec<Flow> = Vec::new();
    for (index, event) in trace.events.iter().enumerate() {
        let index = index as u32;
        let (at, reads, writes) = match &event.kind {
            EventKind::Read { at, .. } => (*at, true, false),
            EventKind::Write { at, .. } => (*at, false, true),
            EventKind::ReadModifyWrite { at, .. } => (*at, true, true),
            EventKind::Alloc { at } | EventKind::Free { at } => {
                let object = object_of(trace, *at);
                if freed.contains(&object) {
                    if matches!(event.kind, EventKind::Free { .. }) {
                        found.push(Flow { from: lives.get(&object).copied(), to: index });
                    }
                    lives.insert(object, index);
                }
                continue;
            }
            _ => continue,
        };
        let address = trace.address(at);
        let bytes = trace.location(at).bytes.min(MAX_BYTES);
        let range = address..address + u64::from(bytes);
        if reads {
            let first = found.len();
            for byte in range.clone() {
                let flow = Flow { from: memory.get(&byte).copied(), to: index };
                if !found[first..].contains(&flow) {
                    found.push(flow);
                }
            }
        }
        let object = object_of(trace, at);
        if freed.contains(&object) {
            let flow = Flow { from: lives.get(&object).copied(), to: index };
            if found.last() != Some(&flow) {
                found.push(flow);
            }
        }
        if writes {
            memory.extend(range.map(|byte| (byte, index)));
        }
    }
    found
}
