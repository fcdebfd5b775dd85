//! Threads that nobody waits for: a join before what needs their results.
//!
//! Proposed where something of a thread has to come before something of the thread that created it, or, if an order is all that is
//! missing, of one that is created later, and no statement waits for its end. The handle must be known where the join goes: created
//! in the same function, or at file scope. Threads that a loop creates are joined by a loop with the same head. A detached thread is
//! no longer detached.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, RepairKind};

use super::moved::{is_ancestor, statements};
use super::{Proposal, closing};
use crate::graph::Graph;
use crate::measures::Measure;
use crate::rewrite::{Edit, Rewrite};
use crate::source::{Call, Region, Source};
use crate::spots::{Files, Stretch};
use crate::threads::{creations, joins};

/// What a join costs: it is what a reader would look for first.
const JOIN: u64 = 6;

/// The joins that may help against a class.
pub(super) fn missing_joins(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let mut found: Vec<Proposal> = Vec::new();
    // Threads that are only to be kept apart may run at the same time.
    let may_part = class.causes.first().is_some_and(|cause| !Graph::of(cause).is_interleaved());
    for (first, then) in closing(class, analysis) {
        for place in first.frames.iter().chain(&then.frames) {
            files.open(&place.file);
        }
        let created = creations(&first, files);
        let before = if is_ancestor(&then.thread, &first.thread) {
            statements(&then, files)
        } else if may_part && first.thread.0.len() == then.thread.0.len() {
            creations(&then, files)
        } else {
            continue;
        };
        if joins(&created, files).is_empty() {
            found.extend(joined(&created, &before, files).map(|rewrite| Proposal {
                cost: JOIN * rewrite.edits.len() as u64,
                measure: Measure::Rewrite(rewrite),
                covers: vec![index],
            }));
        }
    }
    found
}

/// Joins of all threads with these creations, before one of these statements.
fn joined(created: &[Stretch], before: &[Stretch], files: &Files) -> Option<Rewrite> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut handles: Vec<String> = Vec::new();
    let mut line = None;
    for creation in created {
        let source = files.get(&creation.file)?;
        let Some(handle) = handle(source, &creation.region) else { continue };
        let Some((at, around)) = place(source, creation, before, &handle) else { continue };
        let text = join(source, &creation.region, around.as_ref(), &handle)?;
        let edit = Edit::before(&creation.file, &at, &text);
        if !edits.contains(&edit) {
            edits.push(edit);
            handles.push(format!("`{}`", handle.text));
        }
        line = line.or(Some(at.first_line));
        let detach = |call: &Call| {
            let is_detach = call.name == "pthread_detach" || call.name == "thrd_detach";
            is_detach && call.arguments.first() == Some(&handle.text)
                || call.name == format!("{}.detach", handle.text)
        };
        let calls = source.calls(0..source.text().len());
        let detached = calls.into_iter().filter(detach).filter_map(|call| call.statement);
        edits.extend(detached.map(|statement| Edit::remove(&creation.file, statement)));
    }
    let title = format!("{} is waited for before line {}", handles.join(" and "), line?);
    Some(Rewrite { kind: RepairKind::MissingJoin, title, edits })
}

/// What a thread is known by.
struct Handle {
    text: String,
    kind: HandleKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HandleKind {
    Posix,
    C11,
    Cpp,
    /// A container of C++ threads.
    Container,
}

/// The handle that a statement gives to the thread it creates.
fn handle(source: &Source, creation: &Region) -> Option<Handle> {
    for call in source.calls(creation.bytes.clone()) {
        let kind = match call.name.as_str() {
            "pthread_create" => HandleKind::Posix,
            "thrd_create" => HandleKind::C11,
            name if name.ends_with(".emplace_back") || name.ends_with(".push_back") => {
                let text = name.rsplit_once('.')?.0.to_owned();
                return Some(Handle { text, kind: HandleKind::Container });
            }
            _ => continue,
        };
        let address = call.arguments.first()?.trim();
        let text = match (address.strip_prefix('&'), address.split_once('+')) {
            (Some(object), _) => object.trim().to_owned(),
            (None, Some((array, index))) => format!("{}[{}]", array.trim(), index.trim()),
            (None, None) => format!("*{address}"),
        };
        return Some(Handle { text, kind });
    }
    // `std::thread worker(f);`
    let text = &source.text()[creation.bytes.clone()];
    let rest = text.strip_prefix("std::thread ").or_else(|| text.strip_prefix("thread "))?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    (end > 0).then(|| Handle { text: rest[..end].to_owned(), kind: HandleKind::Cpp })
}

/// The statement that the join goes before, and the loop that the creation is in.
fn place(
    source: &Source,
    creation: &Stretch,
    before: &[Stretch],
    handle: &Handle,
) -> Option<(Region, Option<Region>)> {
    for Stretch { region, .. } in before.iter().filter(|before| before.file == creation.file) {
        if let Some((first, later)) = source.siblings(&creation.region, region)
            && first.bytes.start < later.bytes.start
        {
            let around = (first.bytes != creation.region.bytes).then_some(first);
            return Some((later, around));
        }
        let root = handle.text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next();
        let is_global = root.is_some_and(|root| source.is_at_file_scope(root));
        if is_global && region.function != creation.region.function {
            let around = source.wider(&creation.region);
            let around = around.filter(|around| source.loop_head(around).is_some());
            return Some((region.clone(), around));
        }
    }
    None
}

/// The statements that wait.
fn join(
    source: &Source,
    creation: &Region,
    around: Option<&Region>,
    handle: &Handle,
) -> Option<String> {
    let text = &handle.text;
    let unit = source.indent_unit();
    let null = if source.text().contains("NULL") { "NULL" } else { "0" };
    let one = match handle.kind {
        HandleKind::Posix => format!("pthread_join({text}, {null});"),
        HandleKind::C11 => format!("thrd_join({text}, {null});"),
        HandleKind::Cpp => format!("{text}.join();"),
        HandleKind::Container => {
            let each = source.fresh_name("thread");
            return Some(format!("for (auto &{each} : {text})\n{unit}{each}.join();"));
        }
    };
    match around {
        None => Some(one),
        // In a loop each thread has its own element of an array, or nobody knows its handle any more.
        Some(around) => {
            let head = source.loop_head(around).filter(|_| text.contains('['))?;
            let is_whole = around.bytes.contains(&creation.bytes.start);
            is_whole.then(|| format!("{head}\n{unit}{one}"))
        }
    }
}
