//! What can be done against a cause, in terms of source.

use unravel_code::weave;
use unravel_results::RepairKind;

use crate::lock_order::LockOrder;
use crate::locks::{Lock, holding};
use crate::moved::Move;
use crate::rewrite::{Deed, Rewrite};
use crate::source::{Source, Update};
use crate::spots::{Files, Stretch};

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Measure {
    /// At most one thread is in any of the stretches.
    Exclude { stretches: Vec<Stretch>, lock: LockChoice },
    /// Nobody begins with `then` before `first` has been gone through so many times.
    Order { first: Stretch, times: usize, then: Stretch },
    /// Each of these updates is one atomic operation.
    Atomic { updates: Vec<AtomicUpdate> },
    /// Locks are taken in another order.
    LockOrder(Box<LockOrder>),
    /// A statement goes elsewhere.
    Move(Move),
    /// What is done by a few edits of the text.
    Rewrite(Rewrite),
}

/// Which lock keeps stretches apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockChoice {
    New,
    /// One that the program has, in the words of each stretch. `widens`: some stretch has operations on it inside.
    Existing {
        locks: Vec<Lock>,
        widens: bool,
    },
}

/// An update in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtomicUpdate {
    pub stretch: Stretch,
    pub update: Update,
}

impl Measure {
    pub fn kind(&self) -> RepairKind {
        match self {
            Measure::Exclude { lock: LockChoice::New, .. } => RepairKind::NewLock,
            Measure::Exclude { lock: LockChoice::Existing { widens: true, .. }, .. } => {
                RepairKind::WiderSection
            }
            Measure::Exclude { lock: LockChoice::Existing { .. }, .. } => RepairKind::ExistingLock,
            Measure::Rewrite(rewrite) => rewrite.kind,
            Measure::Order { .. } => RepairKind::Order,
            Measure::Atomic { .. } => RepairKind::AtomicUpdate,
            Measure::LockOrder(_) => RepairKind::LockOrder,
            Measure::Move(_) => RepairKind::MovedStatement,
        }
    }

    /// What it does, in half a sentence.
    pub fn title(&self) -> String {
        match self {
            Measure::Exclude { stretches, lock: LockChoice::New } => {
                format!("a new lock around {}", names(stretches))
            }
            Measure::Exclude { stretches, lock: LockChoice::Existing { locks, .. } } => {
                let texts: Vec<String> =
                    locks.iter().map(|lock| format!("`{}`", lock.text)).collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let texts = distinct(&texts).join(" and ");
                format!("hold {texts} throughout {}", names(stretches))
            }
            Measure::Rewrite(rewrite) => rewrite.title.clone(),
            Measure::Order { first, times: 1, then } => {
                format!("{} waits until {} is done", then.name(), first.name())
            }
            Measure::Order { first, times, then } => {
                format!("{} waits until {} was done by {times} threads", then.name(), first.name())
            }
            Measure::Atomic { updates } => {
                let places: Vec<Stretch> = updates.iter().map(|u| u.stretch.clone()).collect();
                let targets: Vec<&str> = updates.iter().map(|u| u.update.target.as_str()).collect();
                format!(
                    "{} is updated atomically in {}",
                    distinct(&targets).join(", "),
                    names(&places)
                )
            }
            Measure::LockOrder(order) => order.title(),
            Measure::Move(change) => change.title(),
        }
    }

    /// The same for the machine; `None` if it can only be tried as text. Locks and flags are numbered from `number`.
    pub fn woven(&self, number: u32, files: &Files) -> Option<Vec<weave::Measure>> {
        match self {
            Measure::Exclude { stretches, lock: LockChoice::Existing { locks, .. } }
                if !stretches
                    .iter()
                    .zip(locks)
                    .all(|(stretch, lock)| is_untouched(stretch, lock, files)) =>
            {
                None
            }
            Measure::Rewrite(_) => None,
            Measure::Exclude { stretches, .. } => stretches
                .iter()
                .map(|stretch| {
                    Some(weave::Measure::Hold { lock: number, span: span(stretch, files)? })
                })
                .collect(),
            Measure::Order { first, times: 1, then } => Some(vec![
                weave::Measure::Raise { flag: number, span: span(first, files)? },
                weave::Measure::Await { flag: number, span: span(then, files)? },
            ]),
            Measure::Atomic { updates } => updates
                .iter()
                .map(|update| Some(weave::Measure::Atomic { span: span(&update.stretch, files)? }))
                .collect(),
            // The machine's flags do not count, and nothing moves in it.
            Measure::Order { .. } | Measure::LockOrder(_) | Measure::Move(_) => None,
        }
    }

    /// Globals that are made of more than before.
    pub fn reshaped(&self) -> Vec<String> {
        let Measure::Rewrite(rewrite) = self else { return Vec::new() };
        let globals = rewrite.edits.iter().filter_map(|edit| match &edit.deed {
            Deed::Member { globals, .. } => Some(globals.clone()),
            _ => None,
        });
        globals.flatten().collect()
    }

    /// The stretches it puts into critical sections.
    pub fn sections(&self) -> &[Stretch] {
        match self {
            Measure::Exclude { stretches, .. } => stretches,
            _ => &[],
        }
    }
}

/// Whether a stretch neither takes nor gives back a lock, nor waits with it: then any lock around it does the same.
fn is_untouched(stretch: &Stretch, lock: &Lock, files: &Files) -> bool {
    files.get(&stretch.file).is_some_and(|source| {
        let now = holding(source, &stretch.region, lock);
        now.changes == 0 && !now.waits && !now.shared
    })
}

/// Where a stretch is, as debug information says it.
pub fn span(stretch: &Stretch, files: &Files) -> Option<weave::Span> {
    let source: &Source = files.get(&stretch.file)?;
    let (from, to) = source.span(&stretch.region);
    Some(weave::Span {
        file: stretch.file.clone(),
        from: (from.line, from.column),
        to: (to.line, to.column),
    })
}

/// `push (12–14) and pop (20)`.
pub fn names(stretches: &[Stretch]) -> String {
    let names: Vec<String> = stretches.iter().map(Stretch::name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let names = distinct(&names);
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn distinct<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        if !seen.contains(word) {
            seen.push(word);
        }
    }
    seen
}
