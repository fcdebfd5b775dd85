//! Locks that some way out of a section keeps: given back before it, or in C++ held by a guard, which also gives them back when
//! an exception passes.
//!
//! A function keeps a lock if it gives it back somewhere, but not at this way out. What a `goto` leads to may give it back, so
//! that is no way out here. Functions that return with a lock on purpose never give it back themselves, and are left alone.

use unravel_causes::Analysis;
use unravel_results::{CauseClass, Pattern, RepairKind};

use super::{MOST_CAUSES, Proposal};
use crate::locks::{Act, Operation, Taking, class_of_mutex, is_held, operations};
use crate::measures::Measure;
use crate::rewrite::{Deed, Edit, Rewrite};
use crate::source::{Exit, ExitKind, Language, Region, Source};
use crate::spots::{Files, position, spots};

/// What an unlock costs, and a guard.
const UNLOCK: u64 = 4;
const GUARD: u64 = 3;

/// The unlocks that may help against a class.
pub(super) fn unlocks(
    index: usize,
    class: &CauseClass,
    analysis: &Analysis,
    files: &mut Files,
) -> Vec<Proposal> {
    let waits = [Pattern::Deadlock, Pattern::LockNotReleased, Pattern::DeadlockByCondition];
    if !waits.contains(&class.pattern) {
        return Vec::new();
    }
    let mut rewrites: Vec<(Rewrite, u64)> = Vec::new();
    let causes = class.causes.iter().take(MOST_CAUSES);
    for place in causes.flat_map(|cause| spots(cause, analysis)).flatten().flat_map(|s| s.frames) {
        let file = place.file.to_string();
        files.open(&file);
        let Some(source) = files.get(&file) else { continue };
        let Some(body) = source.whole_body(position(&place)) else { continue };
        for new in given_back(&file, source, &body).into_iter().chain(guarded(&file, source, &body))
        {
            if !rewrites.contains(&new) {
                rewrites.push(new);
            }
        }
    }
    let proposal = |(rewrite, cost)| Proposal {
        measure: Measure::Rewrite(rewrite),
        covers: vec![index],
        cost,
    };
    rewrites.into_iter().map(proposal).collect()
}

/// For each lock of a function, the unlocks that ways out lack.
fn given_back(file: &str, source: &Source, body: &Region) -> Vec<(Rewrite, u64)> {
    let all = operations(source, body);
    let mut found = Vec::new();
    for lock in distinct_locks(&all) {
        let text = &lock.lock.text;
        let unlock = match &lock.lock.taking {
            Taking::Statements { unlock, .. } => unlock.clone(),
            Taking::Scoped { .. } => format!("{text}.unlock();"),
        };
        let is_kept = |byte: usize| is_held(&all, text, byte);
        let is_way_out =
            |exit: &Exit| !matches!(exit.kind, ExitKind::Goto { .. }) && is_kept(exit.bytes.start);
        let mut exits: Vec<Exit> = Vec::new();
        for taking in takes(&all, text) {
            let Some(rest) = rest_of_block(source, taking) else { continue };
            let new = source.exits(&rest).into_iter().filter(is_way_out);
            exits.extend(new.filter(|exit| !exits.contains(exit)).collect::<Vec<_>>());
        }
        let mut lines: Vec<u32> =
            exits.iter().map(|exit| source.position_of(exit.bytes.start).line).collect();
        let mut edits = Vec::new();
        if !exits.is_empty() {
            let deed = Deed::BeforeExits { region: body.clone(), exits, text: unlock.clone() };
            edits.push(Edit { file: file.to_owned(), deed });
        }
        if is_kept(body.bytes.end) && !source.ends_in_jump(body) {
            edits.push(Edit::after(file, body, &unlock));
            lines.push(body.last_line);
        }
        if edits.is_empty() {
            continue;
        }
        let (name, cost) = (&body.function, UNLOCK * lines.len() as u64);
        let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let lines = lines.join(" and ");
        let title = format!("`{text}` is given back before {name} is left (line {lines})");
        found.push((Rewrite { kind: RepairKind::MissingUnlock, title, edits }, cost));
    }
    found
}

/// For each C++ mutex that a function locks by hand, a guard instead.
fn guarded(file: &str, source: &Source, body: &Region) -> Vec<(Rewrite, u64)> {
    if source.language() != Language::Cpp {
        return Vec::new();
    }
    let all = operations(source, body);
    let mut found = Vec::new();
    for lock in distinct_locks(&all) {
        let text = &lock.lock.text;
        let of_lock = |op: &&Operation| op.lock.text == *text && op.act != Act::Wait;
        let own: Vec<&Operation> = all.iter().filter(of_lock).collect();
        let Some((mutex, edits)) = by_hand(file, source, &own) else { continue };
        let line = source.position_of(lock.bytes.start).line;
        let name = &body.function;
        let title = format!("a guard gives `{mutex}` back however {name} (line {line}) is left");
        found.push((Rewrite { kind: RepairKind::MissingUnlock, title, edits }, GUARD));
    }
    found
}

/// The mutex, and the edits that put it into guards; `None` if something else is done with it.
fn by_hand(file: &str, source: &Source, own: &[&Operation]) -> Option<(String, Vec<Edit>)> {
    /// A guard under way: its name, and where it lives.
    struct Guard {
        name: String,
        block: std::ops::Range<usize>,
        releases: bool,
    }
    let mut guards: Vec<(Guard, usize)> = Vec::new();
    let mut edits = Vec::new();
    let mut mutex = None;
    for operation in own {
        let statement = operation.statement.clone().filter(|_| operation.guard.is_none())?;
        let text = &source.text()[statement.clone()];
        let within = |(guard, _): &&(Guard, usize)| guard.block.contains(&statement.start);
        let around = guards.iter().rposition(|guard| within(&guard));
        match (operation.act, around) {
            (Act::Take, None) => {
                let object = text.strip_suffix(".lock();").map(str::to_owned);
                let object =
                    object.or_else(|| Some(format!("*{}", text.strip_suffix("->lock();")?)))?;
                let block = rest_of_block(source, operation)?.bytes;
                let wish = if guards.is_empty() { "hold" } else { "hold_again" };
                let name = source.fresh_name(wish);
                guards.push((Guard { name, block, releases: false }, edits.len()));
                mutex.get_or_insert(object.clone());
                edits.push(Edit::replace(file, statement, &object));
            }
            (Act::Take, Some(at)) => {
                guards[at].0.releases = true;
                let text = format!("{}.lock();", guards[at].0.name);
                edits.push(Edit::replace(file, statement, &text));
            }
            (Act::Give, Some(at)) => {
                let is_last = statement.end == guards[at].0.block.end;
                if is_last || source.is_before_jump(&statement) {
                    edits.push(Edit::remove(file, statement));
                } else {
                    guards[at].0.releases = true;
                    let text = format!("{}.unlock();", guards[at].0.name);
                    edits.push(Edit::replace(file, statement, &text));
                }
            }
            _ => return None,
        }
    }
    for (guard, edit) in &guards {
        let Deed::Replace { text, .. } = &mut edits[*edit].deed else { continue };
        let template = if guard.releases { "unique_lock" } else { "lock_guard" };
        let class = class_of_mutex(source, text).unwrap_or_else(|| "std::mutex".to_owned());
        *text = format!("std::{template}<{class}> {}({text});", guard.name);
    }
    let include =
        Edit { file: file.to_owned(), deed: Deed::Include { header: "<mutex>".to_owned() } };
    edits.push(include);
    Some((mutex?, edits))
}

/// The first operation on each lock.
fn distinct_locks(all: &[Operation]) -> Vec<&Operation> {
    let mut found: Vec<&Operation> = Vec::new();
    for operation in all.iter().filter(|op| op.guard.is_none() && op.act != Act::Wait) {
        if !found.iter().any(|known| known.lock.text == operation.lock.text) {
            found.push(operation);
        }
    }
    found.retain(|op| {
        let gives = |other: &Operation| other.lock.text == op.lock.text && other.act == Act::Give;
        op.act != Act::Give && all.iter().any(gives)
    });
    found
}

fn takes<'o>(all: &'o [Operation], text: &str) -> impl Iterator<Item = &'o Operation> {
    all.iter().filter(move |op| {
        op.lock.text == text && matches!(op.act, Act::Take | Act::Share) && op.guard.is_none()
    })
}

/// The statement that takes a lock, and what follows it in its block.
fn rest_of_block(source: &Source, operation: &Operation) -> Option<Region> {
    let at = source.position_of(operation.statement.as_ref()?.start);
    Some(source.to_block_end(&source.region(&[at])?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Patch;

    type Finder = fn(&str, &Source, &Region) -> Vec<(Rewrite, u64)>;

    #[track_caller]
    fn repaired(file: &str, text: &str, find: Finder) -> String {
        let source = Source::parse(file, text.to_owned()).expect("the sample parses");
        let at = source.position_of(text.find("lock(").expect("it locks"));
        let body = source.whole_body(at).expect("a function");
        let mut patch = Patch::new(&source);
        for (rewrite, _) in find(file, &source, &body) {
            for edit in rewrite.edits {
                match edit.deed {
                    Deed::Replace { bytes, text } => patch.replace(bytes, &text),
                    Deed::Remove { statement } => patch.remove_statement(statement),
                    Deed::After { region, text } => patch.after(&region, &text).expect("room"),
                    Deed::BeforeExits { region, exits, text } => {
                        patch.before_exits(&region, &exits, &text).expect("room");
                    }
                    _ => {}
                }
            }
        }
        patch.apply().expect("edits that fit together")
    }

    const UNLOCKING: &str = "void g(void)\n{\n\tunlock(&m);\n}\n";

    #[test]
    fn ways_out_that_keep_the_lock_give_it_back() {
        let text = format!(
            "int f(void)\n{{\n\tlock(&m);\n\tif (x)\n\t\treturn -1;\n\tif (y) {{\n\t\tunlock(&m);\n\t\treturn 1;\n\t}}\n\tunlock(&m);\n\treturn 0;\n}}\n{UNLOCKING}"
        );
        let now = repaired("a.c", &text, given_back);
        assert!(now.contains("\tif (x) {\n\t\tunlock(&m);\n\t\treturn -1;\n\t}\n"), "{now}");
        assert_eq!(now.matches("unlock(&m);").count(), 4, "{now}");
    }

    #[test]
    fn loops_that_go_on_give_it_back() {
        let text = "void f(void)\n{\n\tfor (;;) {\n\t\tlock(&m);\n\t\tif (x) {\n\t\t\tcontinue;\n\t\t}\n\t\tunlock(&m);\n\t}\n}\n";
        let now = repaired("a.c", text, given_back);
        assert!(now.contains("\t\t\tunlock(&m);\n\t\t\tcontinue;\n"), "{now}");
    }

    #[test]
    fn who_is_made_to_keep_it_may() {
        let text = format!("void f(void)\n{{\n\tlock(&m);\n\tif (x)\n\t\treturn;\n}}\n{UNLOCKING}");
        assert_eq!(repaired("a.c", &text, given_back), text);
        let text = "int f(void)\n{\n\tlock(&m);\n\tif (x)\n\t\tgoto out;\nout:\n\tunlock(&m);\n\treturn 0;\n}\n";
        assert_eq!(repaired("a.c", text, given_back), text);
    }

    #[test]
    fn guards_are_as_strong_as_they_have_to_be() {
        let text = "void f()\n{\n\tm.lock();\n\tg();\n\tm.unlock();\n}\n";
        let now = repaired("a.cpp", text, guarded);
        assert_eq!(now, "void f()\n{\n\tstd::lock_guard<std::mutex> hold(m);\n\tg();\n}\n");
        let text =
            "std::recursive_mutex m;\nvoid f()\n{\n\tm.lock();\n\tg();\n\tm.unlock();\n\th();\n}\n";
        let now = repaired("a.cpp", text, guarded);
        assert!(
            now.contains(
                "\tstd::unique_lock<std::recursive_mutex> hold(m);\n\tg();\n\thold.unlock();\n"
            ),
            "{now}"
        );
    }
}
