//! All executions of a folder under common names: threads, variables and places are the same in all of them.
//!
//! What is wrong with the execution that is read is an error; what is wrong with another costs that one, and is said.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use unravel_trace::ThreadId;

use super::assemble::{Extent, Tables, assemble};
use super::executions::{Execution, Paths, execution};
use super::items::{Items, Targets, items};
use super::lines::{self, ThreadFile, What};
use super::number::ThreadNumber;
use super::threads::{Cast, Threads, forks};
use super::{ImportError, count, order};

/// A file that is not among the chosen ones, by its index: of which execution, and whether it stands alone.
#[derive(Debug)]
pub(super) struct Other {
    pub file: usize,
    pub execution: String,
    pub single: bool,
}

/// One execution, or one thread of one.
pub(super) struct Scene<'f> {
    pub cast: Cast<'f>,
    pub items: Items<'f>,
    pub extent: Extent,
    from: String,
}

pub(super) struct Gathered<'f> {
    /// The chosen one first.
    pub scenes: Vec<Scene<'f>>,
    pub tables: Tables,
}

/// All executions, with the names that they share.
pub(super) fn gather<'f>(
    directory: &Path,
    files: &'f [ThreadFile],
    chosen: &[usize],
    others: &[Other],
    notes: &mut Vec<String>,
) -> Result<Gathered<'f>, ImportError> {
    let own: Vec<&ThreadFile> = chosen.iter().map(|index| &files[*index]).collect();
    let mut threads = Threads::default();
    threads.births(directory, &own, notes)?;
    let known = threads.all.len();
    threads.more(&others.iter().map(|other| &files[other.file]).collect::<Vec<_>>());
    let mut targets = Targets::default();
    let cast = Cast::whole(&own, &threads)?;
    let made = items(&cast, &threads, &mut targets, notes)?;
    let extent = Extent { threads: known, locations: targets.all.len() };
    let mut scenes =
        vec![Scene { cast, items: made, extent, from: "the execution read".to_owned() }];

    // Executions of which all is there are kept as such, the rest thread by thread.
    let mut whole: BTreeMap<&str, Vec<&Other>> = BTreeMap::new();
    let mut single: Vec<&Other> = Vec::new();
    for other in others {
        match other.single {
            true => single.push(other),
            false => whole.entry(&other.execution).or_default().push(other),
        }
    }
    let mut refused: Vec<ImportError> = Vec::new();
    let mut add = |cast: Result<Cast<'f>, ImportError>, from: String| {
        let made = cast.and_then(|cast| {
            let items = items(&cast, &threads, &mut targets, &mut Vec::new())?;
            Ok((cast, items))
        });
        match made {
            Ok((cast, items)) => {
                let extent = Extent { threads: threads.all.len(), locations: 0 };
                scenes.push(Scene { cast, items, extent, from });
            }
            Err(error) => refused.push(error),
        }
    };
    for (execution, members) in whole {
        let own: Vec<&ThreadFile> = members.iter().map(|other| &files[other.file]).collect();
        let distinct: HashSet<&ThreadNumber> = own.iter().map(|file| &file.id).collect();
        // What a thread does that is forked and has no file, nobody knows.
        let forked = own.iter().flat_map(|file| forks(file)).all(|(_, c)| distinct.contains(c));
        let has_main = distinct.contains(&ThreadNumber::main());
        if distinct.len() == own.len() && has_main && forked {
            add(Cast::whole(&own, &threads), format!("execution {execution}"));
        } else {
            single.extend(members);
        }
    }
    let joins = |line: &'f lines::Line| match &line.what {
        What::Join(child) => Some(child),
        _ => None,
    };
    let joined: HashSet<&ThreadNumber> =
        files.iter().flat_map(|file| &file.events).filter_map(joins).collect();
    for other in single {
        let file = &files[other.file];
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        add(Cast::single(file, &threads, joined.contains(&file.id)), format!("{name} by itself"));
    }
    if let Some(first) = refused.first() {
        notes.push(format!("{} of other paths left out: {first}", count(refused.len(), "trace")));
    }
    // What comes later may refer to everything; the chosen one to what it had.
    for scene in scenes.iter_mut().skip(1) {
        scene.extent.locations = targets.all.len();
    }
    Ok(Gathered { scenes, tables: Tables::new(threads.names(), &targets) })
}

/// All executions by thread.
pub(super) fn take_apart(
    files: &[ThreadFile],
    base: Scene<'_>,
    others: Vec<Scene<'_>>,
    tables: &mut Tables,
    notes: &mut Vec<String>,
) -> Vec<Execution> {
    let mut paths = Paths::new(files);
    let mut kept = Vec::new();
    let mut refused: Vec<String> = Vec::new();
    let extent = others.first().map_or(base.extent, |other| other.extent);
    let scenes: Vec<Scene<'_>> = std::iter::once(base).chain(others).collect();
    let known: HashSet<ThreadId> =
        scenes.iter().flat_map(|scene| scene.cast.files()).map(|(thread, _)| thread).collect();
    for Scene { cast, items, from, .. } in scenes {
        let order = order::guess(&items, &cast);
        let assembled = match assemble(&cast, &items, &order, tables, extent) {
            Ok(assembled) => assembled,
            Err(error) => {
                refused.push(error.to_string());
                continue;
            }
        };
        match execution(&cast, assembled, &mut paths, &known, from) {
            Ok(execution) => kept.push(execution),
            Err(why) => refused.push(why),
        }
    }
    if let Some(first) = refused.first() {
        notes.push(format!("{} left out of combinations: {first}", count(refused.len(), "trace")));
    }
    kept
}
