//! The events of causes in the source: for each thread of a cause, the stretches of code that a repair may have to keep
//! together, from the smallest to the largest worth trying.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use unravel_causes::Analysis;
use unravel_results::{Cause, EventStack, Participant};
use unravel_trace::{EventKey, Place, ThreadName, Verb, user_place};

use crate::budgets::{MOST_OF_ACCESSOR, MOST_WIDTHS};
use crate::source::{Position, Region, Source};

/// The user's sources, parsed when they are first asked for.
#[derive(Default)]
pub struct Files {
    root: PathBuf,
    parsed: FxHashMap<String, Option<Source>>,
}

impl Files {
    /// Relative names are relative to `root`.
    pub fn under(root: &Path) -> Files {
        Files { root: root.to_owned(), parsed: FxHashMap::default() }
    }

    /// Reads and parses a file if that has not been done; false if it cannot be.
    pub fn open(&mut self, name: &str) -> bool {
        let path = self.root.join(name);
        let parsed = self.parsed.entry(name.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(path).ok()?;
            Source::parse(name, text).ok()
        });
        parsed.is_some()
    }

    /// All files that were opened and parsed, by name.
    pub fn opened(&self) -> impl Iterator<Item = (&str, &Source)> {
        let mut opened: Vec<(&str, &Source)> = self
            .parsed
            .iter()
            .filter_map(|(name, source)| Some((name.as_str(), source.as_ref()?)))
            .collect();
        opened.sort_by_key(|(name, _)| *name);
        opened.into_iter()
    }

    /// What a diff calls a file: relative names as they are, unless they lead out of the directory; those, and absolute
    /// ones, from the root.
    pub fn name_in_diff(&self, name: &str) -> String {
        if !name.starts_with("../") {
            return name.trim_start_matches("./").to_owned();
        }
        let mut path = PathBuf::new();
        for component in self.root.join(name).components() {
            match component {
                std::path::Component::ParentDir => drop(path.pop()),
                other => path.push(other),
            }
        }
        path.display().to_string()
    }

    /// A file that was opened.
    pub fn get(&self, name: &str) -> Option<&Source> {
        self.parsed.get(name)?.as_ref()
    }
}

/// A region of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stretch {
    pub file: String,
    pub region: Region,
}

impl Stretch {
    /// `push (42–44)`, or `push (42)`.
    pub fn name(&self) -> String {
        let (function, lines) = (&self.region.function, self.lines());
        if function.is_empty() { lines } else { format!("{function} ({lines})") }
    }

    /// `lines 42–44`, or `line 42`.
    pub fn lines(&self) -> String {
        match (self.region.first_line, self.region.last_line) {
            (first, last) if first == last => format!("line {first}"),
            (first, last) => format!("lines {first}–{last}"),
        }
    }

    pub fn overlaps(&self, other: &Stretch) -> bool {
        self.file == other.file
            && self.region.bytes.start < other.region.bytes.end
            && other.region.bytes.start < self.region.bytes.end
    }
}

/// An event of a cause, where the user's code has it.
#[derive(Clone, Debug)]
pub struct Spot {
    pub thread: ThreadName,
    pub key: EventKey,
    pub verb: Verb,
    /// The user's own frames, innermost first; never empty.
    pub frames: Vec<Place>,
    /// When the failing run came here; `None`: never.
    pub at: Option<u32>,
}

/// All events of a cause, by thread, in the order in which the thread has them.
pub fn spots(cause: &Cause, analysis: &Analysis) -> Vec<Vec<Spot>> {
    let mut threads: Vec<Vec<Spot>> = Vec::new();
    for participant in cause.orders.iter().flat_map(|order| [&order.first, &order.second]) {
        let Some(spot) = spot(participant, &analysis.stacks) else { continue };
        match threads.iter_mut().find(|spots| spots[0].thread == spot.thread) {
            Some(spots) if spots.iter().any(|known| known.key == spot.key) => {}
            Some(spots) => spots.push(spot),
            None => threads.push(vec![spot]),
        }
    }
    for spots in &mut threads {
        spots.sort_by_key(|spot| (spot.at.unwrap_or(u32::MAX), spot.key.clone()));
    }
    threads
}

/// An event as a spot; `None` if no code of the user's is on its stack.
pub fn spot(participant: &Participant, stacks: &[EventStack]) -> Option<Spot> {
    let known = stacks.iter().find(|stack| stack.key == participant.key);
    let is_own = |place: &&Place| place.is_own();
    let mut frames: Vec<Place> =
        known.map_or_else(Vec::new, |s| s.stack.iter().filter(is_own).cloned().collect());
    if frames.is_empty() {
        frames.extend(Some(&participant.place).filter(is_own).cloned());
    }
    user_place(&frames)?;
    Some(Spot {
        thread: participant.key.thread.clone(),
        key: participant.key.clone(),
        verb: participant.verb,
        frames,
        at: participant.event,
    })
}

/// The stretches that contain all these events of one thread, the smallest first: the statements in the innermost function
/// that all of them are in or below, then what is around them, then the calls that lead there.
pub fn stretches(spots: &[Spot], files: &mut Files) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    let shared = shared_frames(&spots.iter().collect::<Vec<_>>());
    for depth in (0..shared).rev() {
        let places: Vec<&Place> = spots.iter().map(|spot| outermost(spot, depth)).collect();
        let file = places[0].file.to_string();
        if !files.open(&file) {
            continue;
        }
        let Some(source) = files.get(&file) else { continue };
        let at: Vec<Position> = places.iter().map(|place| position(place)).collect();
        let mut next = source.region(&at);
        while let Some(region) = next {
            next = source.wider(&region);
            let stretch = Stretch { file: file.clone(), region };
            if !found.contains(&stretch) {
                found.push(stretch);
            }
        }
        if found.len() >= MOST_WIDTHS {
            break;
        }
    }
    found.truncate(MOST_WIDTHS);
    found
}

/// For each function that these events of one thread are in, the smallest stretch with its events.
pub fn stretches_apart(spots: &[Spot], files: &mut Files) -> Vec<Stretch> {
    let mut functions: Vec<Vec<&Place>> = Vec::new();
    for place in spots.iter().filter_map(|spot| spot.frames.first()) {
        let same = |places: &&mut Vec<&Place>| {
            places[0].function == place.function && places[0].file == place.file
        };
        match functions.iter_mut().find(same) {
            Some(places) => places.push(place),
            None => functions.push(vec![place]),
        }
    }
    let mut found = Vec::new();
    for places in functions {
        let file = places[0].file.to_string();
        files.open(&file);
        let at: Vec<Position> = places.iter().map(|place| position(place)).collect();
        if let Some(region) = files.get(&file).and_then(|source| source.region(&at)) {
            found.push(Stretch { file, region });
        }
    }
    found
}

/// The same events where the functions are called that do little more than read or write something; `None` if no event is in
/// such a function.
pub fn lifted(spots: &[Spot], files: &mut Files) -> Option<Vec<Spot>> {
    let mut is_lifted = false;
    let mut lift = |spot: &Spot| {
        let mut spot = spot.clone();
        while spot.frames.len() > 1 && is_accessor(&spot.frames[0], files) {
            spot.frames.remove(0);
            is_lifted = true;
        }
        spot
    };
    let spots = spots.iter().map(&mut lift).collect();
    is_lifted.then_some(spots)
}

/// Whether a place is in a function of a few statements that neither repeats nor decides anything.
fn is_accessor(place: &Place, files: &mut Files) -> bool {
    files.open(&place.file);
    let body = files.get(&place.file).and_then(|source| {
        let body = source.whole_body(position(place))?;
        Some(body).filter(|body| source.tests(body.bytes.clone()).is_empty())
    });
    let is_plain =
        |body: &Region| !files.get(&place.file).is_some_and(|source| source.has_loop(&body.bytes));
    body.is_some_and(|body| body.statements <= MOST_OF_ACCESSOR && is_plain(&body))
}

/// How many frames, from the outermost, all spots have in one function: those above are the same calls, and the last one
/// is where their ways part.
fn shared_frames(spots: &[&Spot]) -> usize {
    let least = spots.iter().map(|spot| spot.frames.len()).min().unwrap_or(0);
    let mut shared = 0;
    for depth in 0..least {
        let first = outermost(spots[0], depth);
        let same_function = spots.iter().all(|spot| {
            let place = outermost(spot, depth);
            place.function == first.function && place.file == first.file
        });
        if !same_function {
            break;
        }
        shared = depth + 1;
        if spots.iter().any(|spot| outermost(spot, depth) != first) {
            break;
        }
    }
    shared
}

/// Where the ways to two events of a thread part: the places in the innermost function that both are in or below; `None`
/// if that is one place.
pub fn parting<'s>(a: &'s Spot, b: &'s Spot) -> Option<(&'s Place, &'s Place)> {
    let depth = shared_frames(&[a, b]).checked_sub(1)?;
    let (one, other) = (outermost(a, depth), outermost(b, depth));
    (one != other).then_some((one, other))
}

/// Frame number `depth` counted from the outermost.
fn outermost(spot: &Spot, depth: usize) -> &Place {
    &spot.frames[spot.frames.len() - 1 - depth]
}

pub fn position(place: &Place) -> Position {
    Position { line: place.line, column: place.column }
}
