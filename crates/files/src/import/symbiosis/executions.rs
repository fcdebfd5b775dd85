//! Every execution of a folder, taken apart by thread, for a trace database: after Cortex (thesis §5.2.1), whose folders these are.
//!
//! What a part has instead of a bug is a condition that holds or fails ([`Otherwise::Fails`]), whether the recorded run passed or
//! not: the assertion. Which way a thread went at its branches is as its files say (`pathid-…`), or else the conditions
//! are numbered as they are first met.
//!
//! *Not kept*: threads whose values or conditions name reads of other threads. Such a part means nothing by itself.

use std::collections::{HashMap, HashSet};

use unravel_trace::{
    Bug, Condition, ConditionKind, EventKind, Otherwise, Run, ThreadId, ThreadTrace, WakeCause,
    separate,
};

use super::assemble::Assembled;
use super::lines::ThreadFile;
use super::number::ThreadNumber;
use super::threads::Cast;

/// An execution, or one thread of one.
#[derive(Clone, Debug)]
pub struct Execution {
    pub parts: Vec<ThreadTrace>,
    /// Whose step is next, in an order that could be.
    pub turns: Vec<ThreadId>,
    /// `execution -77`.
    pub from: String,
}

/// Which way each file's thread went at each of its conditions.
#[derive(Debug)]
pub(super) struct Paths {
    /// Threads all of whose files say so.
    said: HashSet<ThreadNumber>,
    /// Nodes of a tree for each other thread: the conditions met there, with their numbers and what follows them.
    met: HashMap<(usize, String), (u32, usize)>,
    roots: HashMap<ThreadNumber, usize>,
    /// By node: how many conditions were met there.
    nodes: Vec<u32>,
}

impl Paths {
    pub fn new(files: &[ThreadFile]) -> Paths {
        let mut said: HashSet<ThreadNumber> = files.iter().map(|file| file.id.clone()).collect();
        for file in files {
            let all = file.outcomes.as_ref().is_some_and(|o| o.len() == file.conditions.len());
            if !all && !file.conditions.is_empty() {
                said.remove(&file.id);
            }
        }
        Paths { said, met: HashMap::new(), roots: HashMap::new(), nodes: Vec::new() }
    }

    fn of(&mut self, file: &ThreadFile) -> Vec<u32> {
        if self.said.contains(&file.id) {
            return file.outcomes.clone().unwrap_or_default();
        }
        let root = self.nodes.len();
        let mut at = *self.roots.entry(file.id.clone()).or_insert(root);
        if at == root {
            self.nodes.push(0);
        }
        let mut path = Vec::new();
        for condition in &file.conditions {
            let key = (at, without_spaces(&condition.text));
            let next = self.nodes.len();
            let (outcome, child) = *self.met.entry(key).or_insert((self.nodes[at], next));
            if child == next {
                self.nodes[at] += 1;
                self.nodes.push(0);
            }
            path.push(outcome);
            at = child;
        }
        path
    }
}

/// Two conditions are the same if nothing but white space differs.
pub(super) fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Takes an execution apart; an error says why not. That a thread without a file does nothing is believed only if nobody recorded it
/// in another execution either: `known` are those that somebody did.
pub(super) fn execution(
    cast: &Cast<'_>,
    assembled: Assembled,
    paths: &mut Paths,
    known: &HashSet<ThreadId>,
    from: String,
) -> Result<Execution, String> {
    let Assembled { mut trace, mut symbolic, .. } = assembled;
    if let Some((thread, other)) = borrowed(&symbolic, &trace.events) {
        let (thread, other) = (trace.thread_name(thread), trace.thread_name(other));
        return Err(format!("{thread} depends on what {other} read"));
    }
    for event in &mut trace.events {
        // Nobody knows who it was: the same path has the same part in all executions.
        if let EventKind::Wake { by: by @ WakeCause::Signal(_), .. } = &mut event.kind {
            *by = WakeCause::Signal(event.thread);
        }
    }
    if let Bug::Condition { thread, after, fails } = std::mem::take(&mut symbolic.bug) {
        let (holds, site) = (symbolic.exprs.not(fails), trace.events[after as usize].site);
        let (why, otherwise) = (ConditionKind::Branch, Otherwise::Fails);
        symbolic.conditions.push(Condition { thread, after, holds, site, why, otherwise });
    }
    let mut outcomes = vec![Vec::new(); trace.threads.len()];
    for (thread, file) in cast.files() {
        outcomes[thread.index()] = paths.of(file);
    }
    let is_known = |thread: &ThreadId| cast.file(*thread).is_some() || !known.contains(thread);
    let turns = symbolic.steps.iter().map(|step| step.thread).filter(is_known).collect();
    let run = Run { trace, symbolic: Some(Box::new(symbolic)), ..Run::default() };
    let mut parts = separate(&run, &outcomes, &[]).expect("the run is symbolic");
    parts.retain(|part| is_known(&part.thread));
    Ok(Execution { parts, turns, from })
}

/// A thread that depends on what another read, and that other one.
fn borrowed(
    symbolic: &unravel_trace::Symbolic,
    events: &[unravel_trace::Event],
) -> Option<(ThreadId, ThreadId)> {
    let mut owners = vec![ThreadId::MAIN; symbolic.accesses.len()];
    for (event, shadow) in events.iter().zip(&symbolic.shadows) {
        let own = shadow.first..shadow.first + shadow.reads + shadow.writes;
        own.for_each(|access| owners[access as usize] = event.thread);
    }
    let written = symbolic.accesses.iter().map(|access| access.value).zip(owners.iter().copied());
    let decided = symbolic.conditions.iter().map(|c| (c.holds, c.thread));
    let bug = match symbolic.bug {
        Bug::Condition { thread, fails, .. } => Some((fails, thread)),
        _ => None,
    };
    written.chain(decided).chain(bug).find_map(|(value, thread)| {
        let symbols = symbolic.exprs.symbols(value);
        let other = symbols.into_iter().map(|s| owners[s.0 as usize]).find(|o| *o != thread);
        other.map(|other| (thread, other))
    })
}
