//! What a source says about locks: which are taken and given back where, and which a condition wait gives up.
//!
//! A lock is known by its text (`&f->lock`), so two names of one lock are two locks here. A function takes locks if its
//! name says so and the file also calls the function that gives them back (`list_lock` and `list_unlock`), which also finds
//! the program's own wrappers. Whether a lock is held at a place is read off the order of the text: the last operation that
//! counts there decides. Loops are not followed, nor are locks that callers hold or callees take. All this errs in both
//! directions, and nobody relies on it: what is written by it is compiled and explored before anyone sees it.

mod choose;
mod hold;
mod names;

pub(crate) use choose::{Choice, choices};
pub use hold::{HoldError, Holding, hold, holding};
pub(crate) use names::class_of_mutex;

use std::ops::Range;

use crate::source::{Region, ScopedLock, Source};
use names::{CallOn, Deed};

/// A lock as the program writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lock {
    /// `&f->lock`, `mutex`, `other.mutex`; of a function without arguments, its name.
    pub text: String,
    pub taking: Taking,
}

/// How the program takes a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taking {
    /// By a statement, and gives it back by another.
    Statements { lock: String, unlock: String },
    /// By a variable of this class, whose destructor gives it back: `std::unique_lock<std::mutex>`.
    Scoped { class: String },
}

impl Lock {
    /// The part of its text that is the same in functions that name the object differently: `lock` of `&f->lock`.
    pub fn component(&self) -> &str {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let text = self.text.trim_end_matches(|c| !is_word(c));
        text.rsplit(|c| !is_word(c)).next().unwrap_or(text)
    }
}

/// What is done with a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    Take,
    /// For reading: others may hold it, too.
    Share,
    Give,
    /// A condition wait, which gives it up and takes it again.
    Wait,
}

/// An operation on a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    pub lock: Lock,
    pub act: Act,
    pub bytes: Range<usize>,
    /// The statement that does nothing else.
    pub statement: Option<Range<usize>>,
    /// Where it decides whether the lock is held, unless a later one does: to the end of the function, or of its block
    /// if that is left by a jump.
    counts: Range<usize>,
    /// The variable whose constructor or method it is.
    pub guard: Option<ScopedLock>,
}

impl Operation {
    /// Whether it is the declaration of a scoped lock.
    pub fn declares(&self) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.declaration == self.bytes)
    }
}

/// The operations on locks in the function of a region, in the order of the text.
pub fn operations(source: &Source, region: &Region) -> Vec<Operation> {
    let body = source.body_around(region);
    let is_own = |byte: usize| source.is_in_function_of(region, byte);
    let mut guards = source.scoped_locks(body.clone());
    guards.retain(|guard| is_own(guard.declaration.start));
    let mut found: Vec<Operation> =
        guards.iter().flat_map(|guard| declared(source, guard)).collect();
    let calls = source.calls(body.clone());
    for call in &calls {
        if !is_own(call.bytes.start) {
            continue;
        }
        // `check(pthread_mutex_lock(&m));` is a statement that does nothing else, too.
        let around = |outer: &&crate::source::Call| {
            outer.statement.is_some() && outer.bytes.contains(&call.bytes.start)
        };
        let statement = || calls.iter().find(around).and_then(|outer| outer.statement.clone());
        let statement = call.statement.clone().or_else(statement);
        let counts = statement.as_ref().and_then(|statement| source.way_out(statement));
        let mut counts = counts.unwrap_or(call.bytes.end..body.end);
        let Some(CallOn { text, deed, taking }) = names::call_on(source, call, &guards) else {
            continue;
        };
        let own = |guard: &&ScopedLock| {
            guard.name == text
                && guard.declaration.end <= call.bytes.start
                && call.bytes.start < guard.lives_to
        };
        let guard = guards.iter().rfind(own);
        let lock = match guard {
            Some(guard) => {
                counts.end = counts.end.min(guard.lives_to);
                let Some(lock) = mutex_of(source, guard) else { continue };
                lock
            }
            None => Lock { text, taking },
        };
        let act = match deed {
            Deed::Take => Act::Take,
            Deed::Share => Act::Share,
            Deed::Give => Act::Give,
            Deed::Wait => Act::Wait,
        };
        let bytes = call.bytes.clone();
        found.push(Operation { lock, act, bytes, statement, counts, guard: guard.cloned() });
    }
    found.sort_by_key(|operation| operation.bytes.start);
    found
}

/// What the declaration of a scoped lock does.
fn declared(source: &Source, guard: &ScopedLock) -> Option<Operation> {
    let deferred = guard.tag.as_ref().is_some_and(|tag| tag.ends_with("defer_lock"));
    let act = match (deferred, guard.template.as_str()) {
        (true, _) => Act::Give,
        (false, "shared_lock") => Act::Share,
        (false, _) => Act::Take,
    };
    Some(Operation {
        lock: mutex_of(source, guard)?,
        act,
        bytes: guard.declaration.clone(),
        statement: Some(guard.declaration.clone()),
        counts: guard.declaration.end..guard.lives_to,
        guard: Some(guard.clone()),
    })
}

/// The mutex of a scoped lock; `None` if it has several, which cannot be taken apart.
fn mutex_of(source: &Source, guard: &ScopedLock) -> Option<Lock> {
    let [mutex] = guard.mutexes.as_slice() else { return None };
    let declaration = &source.text()[guard.declaration.clone()];
    let at = declaration.find(&guard.template)?;
    let after = &declaration[at + guard.template.len()..];
    let arguments = match after.trim_start().starts_with('<') {
        true => &after[..=closing_angle(after)?],
        false => "",
    };
    let class = format!("std::unique_lock{arguments}");
    Some(Lock { text: mutex.clone(), taking: Taking::Scoped { class } })
}

/// Where the angle brackets that a text opens first are closed.
fn closing_angle(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => return None,
        }
        (depth == 0).then_some(at)
    })
}

/// The operation that decides whether a lock is held at a byte.
pub fn deciding<'o>(operations: &'o [Operation], text: &str, byte: usize) -> Option<&'o Operation> {
    operations.iter().rev().find(|operation| {
        operation.act != Act::Wait
            && operation.lock.text == text
            && operation.counts.contains(&byte)
    })
}

/// Whether a lock is held at a byte.
pub fn is_held(operations: &[Operation], text: &str, byte: usize) -> bool {
    deciding(operations, text, byte).is_some_and(|operation| operation.act != Act::Give)
}
