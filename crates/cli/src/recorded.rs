//! The program of a trace, as it was when the trace was recorded.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unravel_files::TraceFile;
use unravel_program::build::{BuildSpec, Builder};
use unravel_trace::{Executor, Outcome, Place, Run, SiteId, SiteTable, VisibleSet};

use crate::error::CliError;
use crate::program::{self, Machine};
use crate::run;

/// A machine that can replay a trace.
pub struct Opened {
    pub vm: Machine,
    /// What counts as an event. Of a program that has changed these are the same accesses as in the recording; where they cannot
    /// be told, it is learned anew, for which the program is executed a few times more.
    pub visible: VisibleSet,
    /// Whether the program is not the one that was recorded.
    pub changed: bool,
    /// The recorded run. Its failure calls files as this program does: bugs are known by whole paths, and another build
    /// may lie in another folder.
    pub recorded: Run,
}

/// Builds the program of a trace, or another one (`instead`), in the directory it was built and ran in.
pub fn open(file: &TraceFile, instead: &[PathBuf]) -> Result<Opened, CliError> {
    let instead: Vec<PathBuf> =
        instead.iter().map(|p| std::path::absolute(p).unwrap_or_else(|_| p.clone())).collect();
    let sources: Vec<PathBuf> = file.program.sources.iter().map(PathBuf::from).collect();
    let here = std::env::current_dir().unwrap_or_default();
    // The program finds its files where it found them then. A trace and its program may have moved together.
    let there = Path::new(&file.program.cwd);
    let moved = instead.is_empty()
        && here != there
        && sources.iter().any(|source| source.is_relative() && !there.join(source).exists());
    if !moved && let Err(error) = std::env::set_current_dir(there) {
        warnln!("note: cannot go to {}, where the trace was recorded: {error}", file.program.cwd);
    }
    let spec = BuildSpec::new(if instead.is_empty() { sources } else { instead });
    let built = Builder::from_env().open(&spec.with_flags(file.program.flags.clone()))?;
    let changed = built.fingerprint() != file.program.fingerprint;
    if changed {
        warnln!("note: {} has changed since the trace was recorded", file.program.name);
    }
    let program = program::lower(&built, &file.program.name, &file.input)?;
    let files: Vec<Arc<str>> = program.sites.iter().map(|site| site.place.file.clone()).collect();
    let mut vm = program::machine_of(program, &built, &file.program.name, &file.rules)?;
    let known = match changed {
        true => visible_now(&file.run, vm.sites()),
        false => Some(file.run.schedule.visible.clone()),
    };
    let visible = match known {
        Some(visible) => visible,
        None => run::learn(&mut vm, &file.input)?,
    };
    let mut recorded = file.run.clone();
    if changed && let Outcome::Failed(failure) = &mut recorded.outcome {
        let files: BTreeSet<Arc<str>> = files.into_iter().collect();
        let stacks = failure.related.iter_mut().map(|related| &mut related.stack);
        for place in stacks.chain([&mut failure.stack]).flatten() {
            place.file = called_now(&place.file, &files);
        }
    }
    Ok(Opened { vm, visible, changed, recorded })
}

/// The sites of a program that has changed which are those of a recorded run: a function as a whole may have moved, but it has to be
/// the same up to its last such site. `None` if some site is not to be found.
fn visible_now(recorded: &Run, sites: &SiteTable) -> Option<VisibleSet> {
    let by_key: HashMap<(&str, u32), (SiteId, &Place)> = (0..sites.len() as u32)
        .filter_map(|index| {
            let site = &sites.get(SiteId(index))?.site;
            let key = site.key.as_ref()?;
            Some(((&*key.function, key.position), (SiteId(index), &site.place)))
        })
        .collect();
    let mut visible = VisibleSet::default();
    let mut moved: HashMap<&str, i64> = HashMap::new();
    for (old, site) in &recorded.trace.sites {
        if !recorded.schedule.visible.contains(*old) {
            continue;
        }
        let key = site.key.as_ref()?;
        let (now, place) = *by_key.get(&(&*key.function, key.position))?;
        let by = i64::from(place.line) - i64::from(site.place.line);
        let is_same =
            place.column == site.place.column && *moved.entry(&key.function).or_insert(by) == by;
        if !is_same {
            return None;
        }
        visible.insert(now);
    }
    Some(visible)
}

/// The one file whose path ends most like this one; the same if there is none, or if there are several.
fn called_now(file: &Arc<str>, files: &BTreeSet<Arc<str>>) -> Arc<str> {
    let alike = |other: &str| {
        file.rsplit('/').zip(other.rsplit('/')).take_while(|(ours, theirs)| ours == theirs).count()
    };
    let most = files.iter().map(|other| alike(other)).max().unwrap_or(0);
    let mut best = files.iter().filter(|other| alike(other) == most);
    match (best.next(), best.next()) {
        _ if most == 0 || files.contains(file) => file.clone(),
        (Some(only), None) => only.clone(),
        _ => file.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_build_is_the_one_that_is_called_most_like_it() {
        let now = |file: &str, files: &[&str]| {
            let files = files.iter().map(|file| Arc::from(*file)).collect();
            called_now(&file.into(), &files).to_string()
        };
        assert_eq!(now("bank.c", &["/new/bank.c", "/new/main.c"]), "/new/bank.c");
        assert_eq!(now("d1/util.c", &["/new/d1/util.c", "/new/d2/util.c"]), "/new/d1/util.c");
        assert_eq!(now("util.c", &["/new/d1/util.c", "/new/d2/util.c"]), "util.c", "unclear");
        assert_eq!(now("util.c", &["util.c", "/new/util.c"]), "util.c");
        assert_eq!(now("gone.c", &["/new/bank.c"]), "gone.c");
    }
}
