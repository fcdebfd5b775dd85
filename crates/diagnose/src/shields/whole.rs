//! Failures that come whenever every update counts: what passes has lost one, and no order is to be advised.
//!
//! An assertion that fails once two threads have counted is kept away by an order only because one of them then writes over the
//! other. Claimed if every passing run that is known has an update that was written over, and every schedule that was tried
//! with all updates whole fails so, and with any longer stretch whole besides.

use rustc_hash::FxHashMap;
use unravel_results::{Evidence, Kept, Pattern};
use unravel_trace::{EventKind, LocationId, Mark, Place, Shield, ThreadId, Trace};

use super::naming::{span, writes};
use super::stretches::{self, Extended};
use super::trial::Trials;
use crate::budgets::{MOST_TRIED, MOST_UPDATE, MOST_WHOLE};
use crate::failing::Failing;
use crate::pattern::Words;
use crate::points::Touch;
use crate::relevance::Relevance;

/// A thread reads a location and writes it, with nothing of its own to it in between.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Update {
    read: usize,
    write: usize,
    length: u32,
}

pub fn describe(
    trials: &mut Trials<'_>,
    failing: &Failing,
    relevance: &Relevance,
    passing: &[&Trace],
    run: &Extended,
) -> Option<(Words, Evidence)> {
    let trace = &failing.observed.trace;
    let matters = |update: &Update| {
        let touch = Touch::of_event(trace, &trace.events[update.write]);
        relevance.rank(&touch, trials.extents()) < 2
    };
    let own: Vec<Update> = updates(trace).into_iter().filter(matters).collect();
    let marks = |trace: &Trace, update: &Update| {
        let mark = |index: usize| Mark::of_event(trace, &trace.events[index]);
        (mark(update.read), mark(update.write))
    };
    let (example, lost) = {
        let mut all = passing.iter().map(|run| {
            let known = |update: &Update| own.iter().any(|o| marks(trace, o) == marks(run, update));
            updates(run)
                .into_iter()
                .filter(known)
                .find_map(|update| Some((*run, (update, written_over(run, &update)?))))
        });
        let first = all.next()??;
        all.all(|lost| lost.is_some()).then_some(first)?
    };
    let mut kept: Vec<Kept> = Vec::new();
    for update in &own {
        let (from, to) = marks(trace, update);
        let place = |index: usize| trace.place(&trace.events[index]).cloned();
        let shield = Shield::Atomic { from, to, most: update.length * 2 + 4, lock: None };
        let is_known = |kept: &Kept| kept.shield.marks() == shield.marks();
        if !kept.iter().any(is_known) {
            kept.push(Kept { shield, from: place(update.read)?, to: place(update.write)? });
        }
    }
    if kept.len() > MOST_WHOLE {
        return None;
    }
    let shields: Vec<Shield> = kept.iter().map(|kept| kept.shield).collect();
    let tried = trials.always(&shields)?;
    // Who goes by what it read, sleeps and then updates does so with all others in every schedule; that all of it is one step
    // may still be what helps.
    let longer = stretches::candidates(run, relevance, &failing.calls, trials.extents());
    let helps = longer.iter().take(MOST_TRIED).any(|stretch| {
        let all = [shields.as_slice(), &[stretch.shield]].concat();
        !shields.contains(&stretch.shield) && trials.passing_trace(&all).is_some()
    });
    if helps {
        return None;
    }
    let words = told(failing, example, &lost.0, lost.1)?;
    Some((words, Evidence::Unavoidable { kept, tried }))
}

fn told(failing: &Failing, run: &Trace, update: &Update, over: usize) -> Option<Words> {
    let place = |index: usize| run.place(&run.events[index]);
    let who = |index: usize| run.thread_name(run.events[index].thread);
    let at = run.events[update.write].kind.location()?;
    let name = &run.location(at).name;
    let (read, write, other) = (place(update.read)?, place(update.write)?, place(over)?);
    let failed: &Place = failing.failure.place()?;
    Some(Words {
        pattern: Pattern::PassesByLostUpdate,
        sentence: format!(
            "it fails whenever every update of {name} counts; a run that passes has lost one: {} reads {name} at {}, {} writes it at \
             {}, and {} writes over that at {}",
            who(update.read),
            read.short(),
            who(over),
            other.short(),
            who(update.write),
            write.short()
        ),
        advice: format!(
            "no order of whole updates of {name} keeps {} from failing: what it demands, or what leads there, is wrong; besides, {} should \
             be atomic",
            failed.short(),
            span(read, write)
        ),
        region: vec![failed.clone()],
    })
}

/// The first write of another thread between the two.
fn written_over(trace: &Trace, update: &Update) -> Option<usize> {
    let (first, at) = (&trace.events[update.read], trace.events[update.write].kind.location());
    (update.read + 1..update.write).find(|index| {
        let event = &trace.events[*index];
        event.thread != first.thread && event.kind.location() == at && writes(&event.kind)
    })
}

fn updates(trace: &Trace) -> Vec<Update> {
    let mut open: FxHashMap<(ThreadId, LocationId), (usize, u32)> = FxHashMap::default();
    let mut own: FxHashMap<ThreadId, u32> = FxHashMap::default();
    let mut found = Vec::new();
    for (index, event) in trace.events.iter().enumerate() {
        let count = own.entry(event.thread).or_default();
        *count += 1;
        let Some(at) = event.kind.location() else { continue };
        let key = (event.thread, at);
        match event.kind {
            EventKind::Read { .. } => {
                open.insert(key, (index, *count));
            }
            EventKind::Write { .. } => {
                if let Some((read, since)) = open.remove(&key)
                    && *count - since <= MOST_UPDATE
                {
                    found.push(Update { read, write: index, length: *count - since });
                }
            }
            _ => {
                open.remove(&key);
            }
        }
    }
    found
}
