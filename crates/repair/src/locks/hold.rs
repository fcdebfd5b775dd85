//! A region with a lock held from its first statement to its last, whatever was done with the lock in it before.
//!
//! The operations on the lock inside the region go away. The lock is taken before it unless it was held there already, and
//! given back after it unless it was held there; so what comes before and after sees the lock as it did. The same goes
//! for the ways out: who left the region without the lock gives it back, who left with it keeps it. Where a test comes
//! under the lock together with the wait that it decides on, the wait tests again when it is woken, as every wait should:
//! it may end for no reason.

use std::ops::Range;

use super::{Act, Lock, Operation, Taking, deciding, is_held, operations};
use crate::source::{Guard, Patch, PatchError, Region, ScopedLock, Source};

/// Why a lock cannot be held throughout a region.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HoldError {
    #[error(transparent)]
    Patch(#[from] PatchError),
    #[error("line {line} does more than take or give back `{lock}`")]
    NotAlone { lock: String, line: u32 },
}

/// How a region stands to a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holding {
    pub on_entry: bool,
    pub at_end: bool,
    /// Taken or given back inside, ways out that give it back aside.
    pub changes: usize,
    /// Whether others may hold it at the same time, for reading.
    pub shared: bool,
    /// A condition wait inside gives it up.
    pub waits: bool,
    /// The lines that holding it throughout adds and removes, about.
    pub lines: usize,
}

impl Holding {
    /// Whether nothing has to be done.
    pub fn is_throughout(&self) -> bool {
        self.on_entry && self.changes == 0 && !self.shared
    }
}

/// How a region stands to a lock.
pub fn holding(source: &Source, region: &Region, lock: &Lock) -> Holding {
    let all = operations(source, region);
    let Range { start, end } = region.bytes;
    let inside = inside(&all, region, lock);
    let changes = inside.iter().filter(|op| !is_way_out(source, region, op)).count();
    let on_entry = is_held(&all, &lock.text, start);
    let at_end = is_held(&all, &lock.text, end);
    let shared = deciding(&all, &lock.text, start).is_some_and(|op| op.act == Act::Share);
    let is_wait = |op: &Operation| op.act == Act::Wait && region.bytes.contains(&op.bytes.start);
    let waits = all.iter().any(|op| is_wait(op) && op.lock.text == lock.text);
    let is_nothing = on_entry && changes == 0;
    let lines = if is_nothing {
        usize::from(shared)
    } else {
        inside.len() + usize::from(!on_entry) + usize::from(!at_end)
    };
    Holding { on_entry, at_end, changes, shared, waits, lines }
}

/// Holds a lock throughout a region.
pub fn hold(
    patch: &mut Patch<'_>,
    source: &Source,
    region: &Region,
    lock: &Lock,
) -> Result<(), HoldError> {
    let all = operations(source, region);
    let now = holding(source, region, lock);
    let entry = deciding(&all, &lock.text, region.bytes.start).filter(|op| op.act != Act::Give);
    if let Some(reading) = entry.filter(|_| now.shared) {
        let text = source.text()[reading.bytes.clone()].to_owned();
        let text = text.replace("rdlock", "wrlock").replace("shared_lock", "unique_lock");
        patch.replace(reading.bytes.clone(), &text);
    }
    if now.on_entry && now.changes == 0 {
        return Ok(());
    }
    let inside = inside(&all, region, lock);
    let (opens, closes) = ends(&inside, region);
    for operation in inside.iter().filter(|op| ![opens, closes].contains(&Some(**op))) {
        let line = source.position_of(operation.bytes.start).line;
        let not_alone = || HoldError::NotAlone { lock: lock.text.clone(), line };
        patch.remove_statement(operation.statement.clone().ok_or_else(not_alone)?);
    }
    for keyword in retesting(source, region, lock) {
        patch.replace(keyword, "while");
    }
    let guards: Vec<&ScopedLock> =
        inside.iter().filter(|op| op.declares()).filter_map(|op| op.guard.as_ref()).collect();
    if let Some(guard) = entry.and_then(|op| op.guard.as_ref()) {
        if !now.at_end {
            patch.after(region, &format!("{}.unlock();", guard.name))?;
        }
        return Ok(());
    }
    let Some((first, others)) = guards.split_first() else {
        let is_plain = entry.is_some() || !inside.is_empty();
        return match &lock.taking {
            Taking::Scoped { class } if !is_plain => {
                let name = source.fresh_name("hold");
                let declaration = format!("{class} {name}({});", lock.text);
                // A wait inside needs one that can give the lock up.
                let plain = declaration.replacen("std::unique_lock", "std::lock_guard", 1);
                let to_the_end = if now.waits { declaration.clone() } else { plain };
                by_guard(patch, region, [&declaration, &to_the_end], &name, now.at_end)
            }
            _ => {
                // What begins or ends with the lock's own operation has one already.
                let on_entry = now.on_entry || opens.is_some();
                let at_end = now.at_end || closes.is_some();
                let now = Holding { on_entry, at_end, ..now };
                by_statements(patch, source, region, lock, &now, &all)
            }
        };
    };
    let removed: Vec<Range<usize>> = inside.iter().filter_map(|op| op.statement.clone()).collect();
    for other in others {
        rename(patch, source, other, &first.name, &removed);
    }
    let is_whole = now.at_end && source.is_direct(region, &first.declaration);
    let declaration = match &lock.taking {
        Taking::Scoped { class } if !is_whole => format!("{class} {}({});", first.name, lock.text),
        _ => source.text()[first.declaration.clone()].to_owned(),
    };
    by_guard(patch, region, [&declaration, &declaration], &first.name, now.at_end)
}

/// The operation that a region begins with, if it takes the lock, and the one that it ends with, if it gives it back.
fn ends<'o>(
    inside: &[&'o Operation],
    region: &Region,
) -> (Option<&'o Operation>, Option<&'o Operation>) {
    if inside.iter().any(|op| op.guard.is_some()) {
        return (None, None);
    }
    let first = inside.first().copied().filter(|op| {
        let starts = |statement: &Range<usize>| statement.start == region.bytes.start;
        op.act == Act::Take && op.statement.as_ref().is_some_and(starts)
    });
    let last = inside.last().copied().filter(|op| {
        let ends = |statement: &Range<usize>| statement.end == region.bytes.end;
        op.act == Act::Give && op.statement.as_ref().is_some_and(ends)
    });
    (first, last)
}

/// The operations on a lock inside a region, waits aside.
fn inside<'o>(all: &'o [Operation], region: &Region, lock: &Lock) -> Vec<&'o Operation> {
    let is_inside = |op: &&Operation| {
        op.act != Act::Wait && op.lock.text == lock.text && region.bytes.contains(&op.bytes.start)
    };
    all.iter().filter(is_inside).collect()
}

/// Whether it gives the lock back on a way out of the region, and nothing else of the region is run after it.
fn is_way_out(source: &Source, region: &Region, operation: &Operation) -> bool {
    let leaves = |statement: &Range<usize>| match source.is_direct(region, statement) {
        true => source.is_before_jump(statement),
        false => source.way_out(statement).is_some(),
    };
    operation.act == Act::Give && operation.statement.as_ref().is_some_and(leaves)
}

/// The keywords `if` inside a region that govern nothing but a wait with this lock, operations that are removed
/// aside.
fn retesting(source: &Source, region: &Region, lock: &Lock) -> Vec<Range<usize>> {
    let all = operations(source, region);
    let removed = inside(&all, region, lock);
    let is_wait = |op: &&Operation| {
        op.act == Act::Wait && op.lock.text == lock.text && region.bytes.contains(&op.bytes.start)
    };
    let keyword = |wait: &Operation| {
        let governing = source.governing_if(wait.bytes.start)?;
        let is_bare = governing.statements.iter().all(|statement| {
            statement.contains(&wait.bytes.start)
                || removed.iter().any(|op| op.statement.as_ref() == Some(statement))
        });
        (is_bare && region.bytes.contains(&governing.keyword.start)).then_some(governing.keyword)
    };
    all.iter().filter(is_wait).filter_map(keyword).collect()
}

fn by_statements(
    patch: &mut Patch<'_>,
    source: &Source,
    region: &Region,
    lock: &Lock,
    now: &Holding,
    all: &[Operation],
) -> Result<(), HoldError> {
    let (take, give) = match &lock.taking {
        Taking::Statements { lock, unlock } => (lock.clone(), unlock.clone()),
        Taking::Scoped { .. } => {
            (format!("{}.lock();", lock.text), format!("{}.unlock();", lock.text))
        }
    };
    let mut exits = source.exits(region);
    exits.retain(|exit| !is_held(all, &lock.text, exit.bytes.start));
    patch.before_exits(region, &exits, &give)?;
    if !now.on_entry {
        patch.before(region, &take)?;
    }
    if !now.at_end {
        match patch.after(region, &give) {
            Ok(()) | Err(PatchError::AfterJump { .. }) => {}
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}

/// A variable that holds the lock from here to the end of the block, or until it is told to give it back; and its declaration
/// where it need not be told.
fn by_guard(
    patch: &mut Patch<'_>,
    region: &Region,
    [declaration, to_the_end]: [&str; 2],
    name: &str,
    at_end: bool,
) -> Result<(), HoldError> {
    if at_end {
        patch.before(region, declaration)?;
    } else {
        let release = format!("{name}.unlock();");
        let (declaration, to_the_end) = (declaration.to_owned(), to_the_end.to_owned());
        patch.guard(region, &Guard::Scoped { declaration, release, to_the_end })?;
    }
    Ok(())
}

/// What used another variable now uses this one, but for what is removed.
fn rename(
    patch: &mut Patch<'_>,
    source: &Source,
    guard: &ScopedLock,
    name: &str,
    removed: &[Range<usize>],
) {
    if guard.name == name {
        return;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let text = &source.text()[..guard.lives_to];
    let uses = text[guard.declaration.end..].match_indices(&guard.name);
    for at in uses.map(|(at, _)| at + guard.declaration.end) {
        let end = at + guard.name.len();
        let is_whole = !text[..at].ends_with(is_word) && !text[end..].starts_with(is_word);
        if is_whole && !removed.iter().any(|statement| statement.contains(&at)) {
            patch.replace(at..end, name);
        }
    }
}
