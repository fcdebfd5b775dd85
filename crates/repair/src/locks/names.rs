//! Calls that take, give back and wait with a lock, by their names.

use super::Taking;
use crate::source::{Call, ScopedLock, Source};

/// What a call does with a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Take,
    Share,
    Give,
    Wait,
}

/// A call that does something with a lock.
pub struct CallOn {
    pub text: String,
    pub deed: Deed,
    pub taking: Taking,
}

/// Words in names that take locks, and what stands instead in the name that gives them back. Longer ones come first.
const PAIRS: [(&str, &str, Deed); 12] = [
    ("lock_shared", "unlock_shared", Deed::Share),
    ("rdlock", "unlock", Deed::Share),
    ("wrlock", "unlock", Deed::Take),
    ("lock", "unlock", Deed::Take),
    ("LOCK", "UNLOCK", Deed::Take),
    ("Lock", "Unlock", Deed::Take),
    ("acquire", "release", Deed::Take),
    ("Acquire", "Release", Deed::Take),
    ("ACQUIRE", "RELEASE", Deed::Take),
    ("enter", "leave", Deed::Take),
    ("Enter", "Leave", Deed::Take),
    ("ENTER", "LEAVE", Deed::Take),
];

/// Waits that name a lock, by the argument that does: the lock's text, or the variable that holds it.
const WAITS: [(&str, usize); 8] = [
    ("pthread_cond_wait", 1),
    ("pthread_cond_timedwait", 1),
    ("pthread_cond_clockwait", 1),
    ("cnd_wait", 1),
    ("cnd_timedwait", 1),
    ("wait", 0),
    ("wait_for", 0),
    ("wait_until", 0),
];

/// What a call does with a lock, if it does anything.
pub fn call_on(source: &Source, call: &Call, guards: &[ScopedLock]) -> Option<CallOn> {
    let (object, method) = parts(&call.name);
    if let Some((_, argument)) = WAITS.iter().find(|(name, _)| *name == method) {
        let text = call.arguments.get(*argument)?;
        // `future.wait_for(time)` is not about a lock.
        if object.is_some() && !guards.iter().any(|guard| guard.name == *text) {
            return None;
        }
        let (lock, unlock) = statements_for_wait(&call.name, text);
        let taking = Taking::Statements { lock, unlock };
        return Some(CallOn { text: text.clone(), deed: Deed::Wait, taking });
    }
    let is_guard = object.is_some_and(|object| guards.iter().any(|guard| guard.name == object));
    let (taker, giver, deed) = match (is_guard, method) {
        // One of the two is enough: the other is its constructor or destructor.
        (true, "lock") => ("lock".to_owned(), "unlock".to_owned(), Deed::Take),
        (true, "unlock") => ("lock".to_owned(), "unlock".to_owned(), Deed::Give),
        (true, _) => return None,
        (false, _) => pair(source, method)?,
    };
    let prefix = &call.name[..call.name.len() - method.len()];
    let text = match object {
        Some(object) if call.arguments.is_empty() => object.to_owned(),
        // A method with arguments, or a callback in a structure: not a lock that we know how to name.
        Some(_) => return None,
        None if call.arguments.is_empty() => method.to_owned(),
        None => call.arguments.join(", "),
    };
    let arguments = call.arguments.join(", ");
    // Whoever reads now and is to exclude others has to take the lock for writing.
    let exclusive = taker.replace("lock_shared", "lock").replace("rdlock", "wrlock");
    let given_back = giver.replace("unlock_shared", "unlock");
    let text = if object.is_none() && call.arguments.is_empty() { exclusive.clone() } else { text };
    let taking = match class_of_mutex(source, &text).filter(|_| prefix.ends_with('.')) {
        Some(class) => Taking::Scoped { class: format!("std::unique_lock<{class}>") },
        None => Taking::Statements {
            lock: format!("{prefix}{exclusive}({arguments});"),
            unlock: format!("{prefix}{given_back}({arguments});"),
        },
    };
    Some(CallOn { text, deed, taking })
}

/// The class of a mutex of the C++ library, if the file declares it so: a section of it is a block with a guard.
pub fn class_of_mutex(source: &Source, mutex: &str) -> Option<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let name = mutex.rsplit(|c| !is_word(c)).find(|word| !word.is_empty())?;
    let specifiers = source.specifiers_of(name).filter(|text| !text.contains(['*', '&']))?;
    let mut words = specifiers.split_whitespace();
    words.find(|word| word.ends_with("mutex") && word.starts_with("std::")).map(str::to_owned)
}

/// `q->mutex` and `lock` of `q->mutex.lock`; no object for a plain function.
fn parts(name: &str) -> (Option<&str>, &str) {
    let dot = name.rfind('.').map(|at| (at, at + 1));
    let arrow = name.rfind("->").map(|at| (at, at + 2));
    match dot.max(arrow) {
        Some((end, start)) => (Some(&name[..end]), &name[start..]),
        None => (None, name),
    }
}

/// The names that take and give back, and what the method does; `None` unless the file calls both.
fn pair(source: &Source, method: &str) -> Option<(String, String, Deed)> {
    if method.to_lowercase().contains("try") {
        return None;
    }
    for (taking, giving, deed) in PAIRS {
        if let Some(at) = method.rfind(giving) {
            let taker = [&method[..at], taking, &method[at + giving.len()..]].concat();
            // Of locks for readers and writers the taker has one of two names.
            if is_called(source, &taker) {
                return Some((taker, method.to_owned(), Deed::Give));
            }
        } else if let Some(at) = method.rfind(taking) {
            let giver = [&method[..at], giving, &method[at + taking.len()..]].concat();
            if is_called(source, &giver) {
                return Some((method.to_owned(), giver, deed));
            }
        }
    }
    None
}

/// Whether the text has a call of this name, of whatever object.
fn is_called(source: &Source, name: &str) -> bool {
    let text = source.text();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        !text[..at].ends_with(is_word) && text[at + name.len()..].trim_start().starts_with('(')
    })
}

/// How the lock of a wait is taken.
fn statements_for_wait(wait: &str, lock: &str) -> (String, String) {
    let family = if wait.starts_with("cnd_") { "mtx" } else { "pthread_mutex" };
    (format!("{family}_lock({lock});"), format!("{family}_unlock({lock});"))
}
