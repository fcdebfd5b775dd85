//! Locks taken in another order: what of a source is an acquisition, and the changes that break a cycle of waits.
//!
//! A cycle of threads that each hold a lock and wait for the next one's is broken where one thread takes its locks the
//! other way round, where all take them in an order that does not depend on who they are (Havender 1968: an order of
//! all resources), or where one no longer holds the first while it takes the second.

use crate::source::{Region, Source};
use crate::spots::Stretch;

/// A statement that does nothing but take a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acquisition {
    pub stretch: Stretch,
    /// The lock as the statement has it: `&a->lock` of a function, `a.mutex` of a method or a scoped lock.
    pub lock: String,
    pub taken: Taken,
}

/// How a lock is taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    /// By a function that is given the lock's address; and the function that gives it back, if it is known by its name.
    Function { name: String, release: Option<String> },
    /// `m.lock()`; the object with its `.` or `->`.
    Method { object: String },
    /// By a declaration.
    Scoped { template: String, name: String },
}

impl Acquisition {
    /// What a region takes, if that is all that it does. A call of a function of the user's counts too: whoever asks knows
    /// that a lock was taken there.
    pub fn of(file: &str, region: &Region, source: &Source) -> Option<Acquisition> {
        let stretch = Stretch { file: file.to_owned(), region: region.clone() };
        let bytes = &region.bytes;
        if let Some(scoped) = source.scoped_locks(bytes.clone()).into_iter().next() {
            let [lock] = scoped.mutexes.as_slice() else { return None };
            let is_all = scoped.declaration == *bytes && scoped.tag.is_none();
            let taken = Taken::Scoped { template: scoped.template, name: scoped.name };
            return is_all.then(|| Acquisition { stretch, lock: lock.clone(), taken });
        }
        let call = source.calls(bytes.clone()).into_iter().next()?;
        if call.statement.as_ref() != Some(bytes) {
            return None;
        }
        if let Some(object) =
            call.name.strip_suffix("lock").filter(|object| object.ends_with(['.', '>']))
        {
            let lock = object.trim_end_matches(['.', '-', '>']).to_owned();
            return Some(Acquisition {
                stretch,
                lock,
                taken: Taken::Method { object: object.to_owned() },
            });
        }
        let lock = call.arguments.join(", ");
        let release = releasing(&call.name);
        Some(Acquisition { stretch, lock, taken: Taken::Function { name: call.name, release } })
    }

    /// The statement that gives the lock back; `None` if that is not known, or happens by itself.
    pub fn release(&self) -> Option<String> {
        match &self.taken {
            Taken::Function { release, .. } => {
                Some(format!("{}({});", release.as_ref()?, self.lock))
            }
            Taken::Method { object } => Some(format!("{object}unlock();")),
            Taken::Scoped { .. } => None,
        }
    }

    /// What holds the lock: `a` of `&a->lock`.
    pub fn owner(&self) -> &str {
        let start =
            self.lock.find(|c: char| c.is_alphanumeric() || c == '_').unwrap_or(self.lock.len());
        let name = &self.lock[start..];
        name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or(name)
    }

    fn name(&self) -> &str {
        self.lock.trim_start_matches('&')
    }
}

/// `pthread_mutex_unlock` of `pthread_mutex_lock`, `release` of `acquire`.
fn releasing(name: &str) -> Option<String> {
    let pairs = [
        ("rdlock", "unlock"),
        ("wrlock", "unlock"),
        ("lock", "unlock"),
        ("Lock", "Unlock"),
        ("LOCK", "UNLOCK"),
        ("acquire", "release"),
        ("Acquire", "Release"),
        ("Enter", "Leave"),
        ("enter", "leave"),
        ("sem_wait", "sem_post"),
    ];
    pairs.iter().find_map(|(take, give)| {
        let at = name.rfind(take)?;
        Some(format!("{}{give}{}", &name[..at], &name[at + take.len()..]))
    })
}

/// What is done about two locks of which one thread takes the second while it holds the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockOrder {
    /// The second is taken just before the first.
    SecondFirst { first: Acquisition, second: Acquisition },
    /// The one with the lower address is taken first.
    ByAddress { first: Acquisition, second: Acquisition },
    /// Both are taken at once, by what the C++ library has for it.
    Together { first: Acquisition, second: Acquisition },
    /// The first is given back before the second is taken.
    Released { first: Acquisition, release: Stretch, second: Acquisition },
    /// The statement whose call takes the second comes before the first.
    CalledBefore { first: Acquisition, statement: Stretch },
    /// The value of the call that takes the second is computed before the first is taken.
    ValueBefore { first: Acquisition, call: CallFor },
}

/// A call for its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallFor {
    pub bytes: std::ops::Range<usize>,
    pub function: String,
}

impl LockOrder {
    /// What it does, in half a sentence.
    pub fn title(&self) -> String {
        let within = |one: &Acquisition| one.stretch.name();
        match self {
            LockOrder::SecondFirst { first, second } => {
                format!("{} is taken before {} in {}", second.name(), first.name(), within(first))
            }
            LockOrder::ByAddress { first, second } => format!(
                "{} and {} are taken in the order of their addresses in {}",
                first.name(),
                second.name(),
                within(first)
            ),
            LockOrder::Together { first, second } => {
                format!(
                    "{} and {} are taken at once in {}",
                    first.name(),
                    second.name(),
                    within(first)
                )
            }
            LockOrder::Released { first, second, .. } => {
                format!(
                    "{} is given back before {} is taken in {}",
                    first.name(),
                    second.name(),
                    within(second)
                )
            }
            LockOrder::CalledBefore { first, statement } => {
                format!("{} comes before {} is taken", statement.name(), first.name())
            }
            LockOrder::ValueBefore { first, call } => {
                format!(
                    "{} is called before {} is taken in {}",
                    call.function,
                    first.name(),
                    within(first)
                )
            }
        }
    }

    /// A guess at its price: an order of its own for one thread is what one would write, giving a lock up early is not.
    pub fn cost(&self) -> u64 {
        match self {
            LockOrder::SecondFirst { .. } => 8,
            LockOrder::Together { .. } => 10,
            LockOrder::CalledBefore { .. } => 11,
            LockOrder::ValueBefore { .. } => 12,
            LockOrder::ByAddress { .. } => 14,
            LockOrder::Released { .. } => 18,
        }
    }
}
