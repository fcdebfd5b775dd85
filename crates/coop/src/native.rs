//! Access vectors of native programs: what a program has to log for a profile, and what the files of a run say.
//!
//! CoopREP, thesis §3.1. The program is compiled from the module that the machine executes (`unravel coop build`), so a site there is a site here. A run
//! leaves two files: the recorder's log with threads and ending, and the vectors beside it (`unravel_recording::vectors`). An element may be a
//! block, which logs who enters it (PRES-BB, §3.5.3.2).
//!
//! Where it failed is the innermost line of the user's own code, by debug information; of a hang, where its threads wait. A hang is a deadlock only
//! if every thread that lives waits in a sync operation; else the run says nothing. What a native run cannot know (whether memory was freed before
//! it was used) is told as what the system saw: a crash. Such a log is matched with no failure of the machine that has another name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use unravel_code::Program;
use unravel_recording::vectors::{self, ElementEntry, Header};
use unravel_recording::{LogError, LogFile, layout};
use unravel_trace::{BugId, FailureKind, Place, SourceLine, ThreadName, user_place};

use crate::budgets::{MOST_NATIVE_ACCESSES, WIDEST_GLOBAL};
use crate::elements::{ElementId, ElementKind, Elements, Mode};
use crate::escape::escape;
use crate::log::{Ending, FailureSite, Log, LogId, Who};
use crate::profile::Profile;

/// What a native program has to log.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Sites of data whose accesses are events.
    pub visible: BTreeSet<u32>,
    /// The elements of sites that touch memory without a name.
    pub by_site: BTreeMap<u32, Vec<u32>>,
    /// All that sites were seen to touch.
    pub touching: BTreeMap<u32, Vec<u32>>,
    /// Parts of globals that may be shared: address, bytes, element, and the size of a sync object or 0.
    pub ranges: Vec<(u64, u64, u32, u32)>,
    /// Elements that cannot be logged, because they are parts of too large a global.
    pub refused: BTreeSet<u32>,
}

/// Sizes of sync objects, as the machine's models have them.
const SYNC_BYTES: [u32; 5] = [4, 32, 40, 48, 56];

/// What to log for a profile. A block is entered at one site, so that of blocks there is nothing to tell by address.
pub fn plan(program: &Program, profile: &Profile, elements: &mut Elements) -> Plan {
    let numbered = |list: &[(unravel_trace::SiteId, Vec<u32>)]| {
        list.iter().map(|(site, of)| (site.0, of.clone())).collect()
    };
    if profile.mode == Mode::Blocks {
        return Plan {
            visible: profile.visible.iter().map(|site| site.0).collect(),
            by_site: numbered(&profile.sites),
            touching: numbered(&profile.sites),
            ranges: Vec::new(),
            refused: BTreeSet::new(),
        };
    }
    let escape = escape(program);
    let (mut ranges, mut refused) = (Vec::new(), BTreeSet::new());
    for global in program.globals.iter().filter(|global| !global.constant) {
        if !escape.may_be_shared(global.address) {
            continue;
        }
        if global.bytes > WIDEST_GLOBAL {
            let part = |name: &str| {
                let rest = name.strip_prefix(&global.name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '#']))
            };
            let parts = profile.elements.iter().enumerate().filter(|(_, one)| part(&one.name));
            refused.extend(parts.map(|(at, _)| at as u32));
            continue;
        }
        let mut open: Option<(u64, u64, u32)> = None;
        for offset in 0..=global.bytes {
            let at = match offset < global.bytes {
                true => elements.at_global(global.address + offset, 1, false).first().copied(),
                false => None,
            };
            match (&mut open, at) {
                (Some((_, bytes, element)), Some(at)) if *element == at => *bytes += 1,
                (_, at) => {
                    ranges.extend(open.take().map(|(from, bytes, of)| (from, bytes, of, 0)));
                    open = at.map(|at| (global.address + offset, 1, at));
                }
            }
        }
        for class in SYNC_BYTES {
            for offset in (0..global.bytes).step_by(4) {
                if offset + u64::from(class) > global.bytes {
                    break;
                }
                let address = global.address + offset;
                let found = elements.at_global(address, class, true);
                let table = elements.table();
                let sync = |at: &&u32| table[**at as usize].kind == ElementKind::Sync;
                ranges.extend(found.iter().find(sync).map(|at| (address, 1, *at, class)));
            }
        }
    }
    Plan {
        visible: profile.visible.iter().map(|site| site.0).collect(),
        by_site: numbered(&profile.sites),
        touching: numbered(&profile.touching),
        ranges,
        refused,
    }
}

/// Why the files of a run are no log.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{} holds no access vectors: {what}", path.display())]
    NoVectors { path: PathBuf, what: &'static str },
    #[error("{} is of another build than the profile", path.display())]
    OtherBuild { path: PathBuf },
}

/// By address in the program's file: its lines, innermost first.
pub type Lines<'a> = dyn FnMut(&[u64]) -> Vec<Vec<(String, u32)>> + 'a;

/// The log of a native run.
#[derive(Clone, Debug)]
pub struct NativeLog {
    /// `None` if the run says nothing: it was killed, or it hung and did not wait.
    pub log: Option<Log>,
    /// Elements that were to be logged, and of which accesses are missing.
    pub lost: Vec<ElementId>,
}

/// Reads the files of a run. `lines` says of addresses in the program's file which lines they are, innermost first.
pub fn read_native(
    path: &Path,
    profile: &Profile,
    program: &Program,
    id: LogId,
    lines: &mut Lines<'_>,
) -> Result<NativeLog, NativeError> {
    let run = LogFile::open(path)?;
    let beside = PathBuf::from(format!("{}{}", path.display(), vectors::SUFFIX));
    let file = VectorFile::open(&beside, profile)?;
    let names = run.names();
    let (mut all, mut lost) = (Vec::new(), Vec::new());
    for (number, element) in profile.elements.iter().enumerate() {
        match file.vector(number as u32, &names)? {
            Vector::Logged(vector) => all.push((element.id, vector)),
            Vector::Lost => lost.push(element.id),
            Vector::NotLogged => {}
        }
    }
    let ending = ending(&run, &file, program, lines)?;
    let log = ending.map(|ending| Log { id, build: profile.build(), ending, vectors: all });
    Ok(NativeLog { log, lost })
}

fn ending(
    run: &LogFile,
    file: &VectorFile,
    program: &Program,
    lines: &mut Lines<'_>,
) -> Result<Option<Ending>, NativeError> {
    let raw = &run.ending;
    let kind = match raw.kind {
        layout::END_EXIT => return Ok(Some(Ending::Passed)),
        layout::END_ASSERTION => FailureKind::Assertion,
        layout::END_ABORT => FailureKind::Abort,
        layout::END_EXCEPTION => FailureKind::UncaughtException,
        layout::END_SIGNAL => signal_kind(raw.code, raw.address),
        layout::END_HANG => return Ok(file.deadlock(run, program)?.map(Ending::Failed)),
        _ => return Ok(None),
    };
    // The program itself is the first image.
    let base = run.images.first().map_or(0, |(base, _)| *base);
    let next = run.images.iter().map(|(base, _)| *base).filter(|other| *other > base).min();
    let own = |address: &u64| *address >= base && next.is_none_or(|next| *address < next);
    let exact = usize::from(raw.kind == layout::END_SIGNAL);
    let spots: Vec<u64> = raw
        .frames
        .iter()
        .enumerate()
        // Behind a call stands what comes next, which may be another line.
        .map(|(at, frame)| frame.address - u64::from(at >= exact))
        .filter(own)
        .map(|address| address - base)
        .collect();
    let stack: Vec<Place> = lines(&spots)
        .into_iter()
        .flatten()
        .map(|(file, line)| place(program, &file, line))
        .collect();
    // Of code that several lines have in common, no line is known; whoever called it is not where it failed.
    let own = stack.iter().find(|place| !place.is_system() && !place.wrapper);
    if own.is_some_and(|place| place.line == 0) {
        return Ok(None);
    }
    let place = user_place(&stack);
    let bug = BugId { kind, places: place.map(SourceLine::from).into_iter().collect() };
    Ok(Some(Ending::Failed(FailureSite::from(&bug))))
}

/// Memory that no object is near to counts as null, as in the machine.
const NULL_PAGES: u64 = 64 << 10;

fn signal_kind(signal: i64, address: u64) -> FailureKind {
    const BUS: i64 = 7;
    const FLOATING: i64 = 8;
    const SEGMENT: i64 = 11;
    match signal {
        FLOATING => FailureKind::DivisionByZero,
        SEGMENT | BUS if address < NULL_PAGES => FailureKind::NullDereference,
        _ => FailureKind::Crash,
    }
}

/// The site that another one is shown as, if that is in a wrapper or in a header of the system and was called so, innermost first; itself if there is
/// no better one.
pub fn seen_at(program: &Program, site: u32, callers: &[(String, u32)]) -> u32 {
    let is_own = |at: &u32| program.sites.get(*at as usize).is_some_and(|one| one.place.is_own());
    if is_own(&site) {
        return site;
    }
    let at = |(file, line): &(String, u32)| {
        let mut sites = program.sites.iter().map(|site| &site.place);
        let found = sites.position(|place| place.line == *line && is_same_file(file, place))?;
        Some(found as u32)
    };
    callers.iter().filter_map(at).find(is_own).unwrap_or(site)
}

/// Whether debug information means the file of a place, which is as the compiler was given it.
fn is_same_file(file: &str, place: &Place) -> bool {
    let (file, other) = (file.trim_start_matches("./"), place.file.trim_start_matches("./"));
    file == other || file.ends_with(other) && file[..file.len() - other.len()].ends_with('/')
}

/// A line as the machine calls it: the file as the compiler was given it, and whether the machine sees through it.
fn place(program: &Program, file: &str, line: u32) -> Place {
    let places = program.sites.iter().map(|site| &site.place);
    let mut own = places.filter(|place| is_same_file(file, place));
    let Some(known) = own.next() else {
        return Place { function: "".into(), file: file.into(), line, column: 0, wrapper: false };
    };
    let wrapper = [known].into_iter().chain(own).any(|place| place.line == line && place.wrapper);
    Place { function: "".into(), file: known.file.clone(), line, column: 0, wrapper }
}

/// The file of vectors. Nothing of it is trusted.
struct VectorFile {
    path: PathBuf,
    file: File,
    entries: Vec<(u32, u32)>,
}

enum Vector {
    Logged(Vec<Who>),
    Lost,
    NotLogged,
}

impl VectorFile {
    fn open(path: &Path, profile: &Profile) -> Result<VectorFile, NativeError> {
        let io = |source| NativeError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        let word = |bytes: &[u8], at: usize| {
            u32::from_le_bytes(std::array::from_fn(|i| bytes.get(at + i).copied().unwrap_or(0)))
        };
        let long = |bytes: &[u8], at: usize| {
            u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
        };
        let none = |what| NativeError::NoVectors { path: path.to_owned(), what };
        let mut header = [0; size_of::<Header>()];
        file.read_exact_at(&mut header, 0).map_err(|_| none("it is cut short"))?;
        if long(&header, 0) != vectors::MAGIC {
            return Err(none("it was not finished, or it is something else"));
        }
        if word(&header, 8) != vectors::VERSION {
            return Err(none("it has another version"));
        }
        let elements = word(&header, 12) as usize;
        if long(&header, 16) != profile.build() || elements != profile.elements.len() {
            return Err(NativeError::OtherBuild { path: path.to_owned() });
        }
        let mut table = vec![0; elements * size_of::<ElementEntry>()];
        file.read_exact_at(&mut table, vectors::ELEMENT_TABLE).map_err(io)?;
        let entries = table.chunks_exact(8).map(|one| (word(one, 0), word(one, 4))).collect();
        Ok(VectorFile { path: path.to_owned(), file, entries })
    }

    fn words(&self, at: u64, count: usize) -> Result<Vec<u32>, NativeError> {
        let mut bytes = vec![0; count * 4];
        let mut done = 0;
        while done < bytes.len() {
            match self.file.read_at(&mut bytes[done..], at + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(source) => return Err(NativeError::Io { path: self.path.clone(), source }),
            }
        }
        let word = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        Ok(bytes.chunks_exact(4).map(word).collect())
    }

    fn vector(
        &self,
        element: u32,
        names: &std::collections::HashMap<u32, ThreadName>,
    ) -> Result<Vector, NativeError> {
        let (slot, lost) = self.entries[element as usize];
        let Some(slot) = slot.checked_sub(1) else { return Ok(Vector::NotLogged) };
        if lost != 0 {
            return Ok(Vector::Lost);
        }
        let start = vectors::VECTORS + u64::from(slot) * vectors::STRIDE;
        let (mut vector, mut at) = (Vec::new(), 0);
        while at < vectors::VECTOR {
            let entries = self.words(start + at, (vectors::STEP / 4) as usize)?;
            at += vectors::STEP;
            for &entry in &entries {
                let times = (entry & vectors::ENTRY_MOST) as usize;
                let Some(thread) = (entry >> vectors::ENTRY_SHIFT).checked_sub(1) else {
                    return Ok(Vector::Logged(vector));
                };
                let Some(name) = names.get(&thread) else { return Ok(Vector::Lost) };
                if vector.len() + times > MOST_NATIVE_ACCESSES {
                    return Ok(Vector::Lost);
                }
                vector.extend(std::iter::repeat_n(Who::of(name), times));
            }
        }
        Ok(Vector::Logged(vector))
    }

    /// Where the threads of a run that hangs wait; nothing if one of them does not.
    fn deadlock(
        &self,
        run: &LogFile,
        program: &Program,
    ) -> Result<Option<FailureSite>, NativeError> {
        let blocked = self.words(vectors::BLOCKED, run.streams.len())?;
        let mut places = Vec::new();
        for (stream, site) in run.streams.iter().zip(&blocked) {
            if stream.state != layout::STATE_RUNNING {
                continue;
            }
            let Some(site) = site.checked_sub(1) else { return Ok(None) };
            let Some(site) = program.sites.get(site as usize) else { return Ok(None) };
            let stack: Vec<Place> =
                std::iter::once(&site.place).chain(&site.inlined_at).cloned().collect();
            // Who called a wrapper or a function of the system is not known here.
            let Some(own) = user_place(&stack).filter(|place| place.is_own()) else {
                return Ok(None);
            };
            places.push(SourceLine::from(own));
        }
        places.sort();
        places.dedup();
        let bug = BugId { kind: FailureKind::Deadlock, places };
        Ok(Some(FailureSite::from(&bug)))
    }
}
