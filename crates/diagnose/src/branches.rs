//! Branches that went the other way.
//!
//! Two runs part where a branch decides differently. The recorded conditions say which one: evaluated with what the
//! other run read, the first that does not hold. Where conditions are not known, the first events that differ.
//!
//! The path side of Cortex's differential path-schedule projection (thesis §5.2.3).

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_results::BranchChange;
use unravel_trace::{
    Bug, ConditionKind, EventKind, Keys, SymbolId, Symbolic, ThreadKey, Trace, Value,
};

use crate::flows::Lineup;
use crate::projection::Side;

/// The branches of the failing run, and what they depend on.
#[derive(Debug, Default)]
pub struct Branches {
    symbolic: Option<Box<Symbolic>>,
    /// By event: the symbol of what it reads, and its value.
    reads: FxHashMap<u32, (SymbolId, u64)>,
    /// By symbol: the conditions it is in.
    users: FxHashMap<SymbolId, Vec<u32>>,
}

impl Branches {
    pub fn new(trace: &Trace, symbolic: Option<&Symbolic>) -> Branches {
        let Some(symbolic) = symbolic else { return Branches::default() };
        let mut reads = FxHashMap::default();
        for (index, (event, shadow)) in trace.events.iter().zip(&symbolic.shadows).enumerate() {
            if shadow.reads > 0
                && let Some(value) = value_read(&event.kind)
            {
                reads.insert(index as u32, (SymbolId(shadow.first), value));
            }
        }
        let mut users: FxHashMap<SymbolId, Vec<u32>> = FxHashMap::default();
        for (index, condition) in symbolic.conditions.iter().enumerate() {
            // A trace that was cut where it failed lacks what was decided after that.
            let decided = (condition.after as usize) < trace.events.len();
            if condition.why == ConditionKind::Branch && decided {
                for symbol in symbolic.exprs.symbols(condition.holds) {
                    users.entry(symbol).or_default().push(index as u32);
                }
            }
        }
        Branches { symbolic: Some(Box::new(symbolic.clone())), reads, users }
    }

    /// Where threads take other paths in the alternate, one branch a thread.
    pub fn changed(
        &self,
        keys: &Keys,
        failing: Side<'_>,
        alternate: Side<'_>,
    ) -> Vec<BranchChange> {
        let mut parted = parted_events(keys, failing, alternate);
        for (thread, event, site) in self.flipped(failing, alternate) {
            let place = failing.trace.site(site).map(|s| s.place.clone());
            match parted.iter_mut().find(|(t, _)| *t == thread) {
                Some((_, change)) => change.after = place.or(change.after.take()),
                None => {
                    let key = failing.lineup.keys[event as usize];
                    let change = BranchChange {
                        thread: keys.name(thread).clone(),
                        failing: Some(event),
                        alternate: alternate.lineup.positions.get(&key).copied(),
                        after: place,
                    };
                    parted.push((thread, change));
                }
            }
        }
        parted.sort_by_key(|(thread, _)| *thread);
        parted.into_iter().map(|(_, change)| change).collect()
    }

    /// The first branch of each thread whose condition does not hold in the alternate: thread, event and site.
    fn flipped(
        &self,
        failing: Side<'_>,
        alternate: Side<'_>,
    ) -> Vec<(ThreadKey, u32, unravel_trace::SiteId)> {
        let Some(symbolic) = &self.symbolic else { return Vec::new() };
        let mut values: FxHashMap<SymbolId, Option<u64>> = FxHashMap::default();
        let mut suspects: FxHashSet<u32> = FxHashSet::default();
        for (event, (symbol, value)) in &self.reads {
            let key = failing.lineup.keys[*event as usize];
            let there = alternate
                .lineup
                .positions
                .get(&key)
                .and_then(|index| value_read(&alternate.trace.events[*index as usize].kind));
            values.insert(*symbol, there);
            if there.is_some_and(|there| there != *value) {
                suspects.extend(self.users.get(symbol).into_iter().flatten());
            }
        }
        let mut suspects: Vec<u32> = suspects.into_iter().collect();
        suspects.sort();
        let mut found: Vec<(ThreadKey, u32, unravel_trace::SiteId)> = Vec::new();
        let value = |symbol| u128::from(values.get(&symbol).copied().flatten().unwrap_or(0));
        if let (Bug::Condition { after, fails, .. }, Some(site)) =
            (&symbolic.bug, symbolic.parted_at)
            && symbolic.exprs.symbols(*fails).iter().all(|s| matches!(values.get(s), Some(Some(_))))
            && symbolic.exprs.evaluate(*fails, &value) == 0
        {
            found.push((failing.lineup.threads[*after as usize], *after, site));
        }
        for index in suspects {
            let condition = &symbolic.conditions[index as usize];
            let thread = failing.lineup.threads[condition.after as usize];
            // The earliest branch of a thread is the one that counts.
            if found.iter().any(|(t, event, _)| *t == thread && *event <= condition.after) {
                continue;
            }
            let earlier = |(t, ..): &(ThreadKey, u32, unravel_trace::SiteId)| *t != thread;
            let symbols = symbolic.exprs.symbols(condition.holds);
            if !symbols.iter().all(|s| matches!(values.get(s), Some(Some(_)))) {
                continue;
            }
            if symbolic.exprs.evaluate(condition.holds, &value) == 0 {
                found.retain(earlier);
                found.push((thread, condition.after, condition.site));
            }
        }
        found
    }
}

/// What an event read, if it is a word.
fn value_read(kind: &EventKind) -> Option<u64> {
    match kind {
        EventKind::Read { value: Value::Word(word), .. }
        | EventKind::ReadModifyWrite { old: Value::Word(word), .. } => Some(*word),
        _ => None,
    }
}

/// The first events of each thread that are not the same. A thread that only goes further in one of the runs
/// takes no other path.
fn parted_events(
    keys: &Keys,
    failing: Side<'_>,
    alternate: Side<'_>,
) -> Vec<(ThreadKey, BranchChange)> {
    let (ours, theirs) = (by_thread(failing), by_thread(alternate));
    let mut found = Vec::new();
    for (thread, left) in &ours {
        let right = theirs.get(thread).map_or(&[][..], |v| v);
        let same = |lineup: &Lineup, index: u32| lineup.keys[index as usize];
        let agreeing = left
            .iter()
            .zip(right)
            .take_while(|(a, b)| same(failing.lineup, **a) == same(alternate.lineup, **b))
            .count();
        if agreeing == left.len() || agreeing == right.len() {
            continue;
        }
        let before = agreeing.checked_sub(1).map(|i| left[i] as usize);
        let change = BranchChange {
            thread: keys.name(*thread).clone(),
            failing: left.get(agreeing).copied(),
            alternate: right.get(agreeing).copied(),
            after: before.and_then(|i| failing.trace.place(&failing.trace.events[i])).cloned(),
        };
        found.push((*thread, change));
    }
    found
}

fn by_thread(side: Side<'_>) -> FxHashMap<ThreadKey, Vec<u32>> {
    let mut lists: FxHashMap<ThreadKey, Vec<u32>> = FxHashMap::default();
    for (index, thread) in side.lineup.threads.iter().enumerate() {
        // A failing assertion ends the path it is on; it is no other path.
        if side.trace.events[index].kind != EventKind::Assertion {
            lists.entry(*thread).or_default().push(index as u32);
        }
    }
    lists
}
