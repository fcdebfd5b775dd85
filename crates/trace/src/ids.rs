//! Names of things: threads, sites, objects, locations.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A thread within one run, numbered in order of creation. Use [`ThreadName`] to compare runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ThreadId(pub u32);

impl ThreadId {
    pub const MAIN: ThreadId = ThreadId(0);

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A thread named by birth: `T0` is the main thread, `T0.3` its third child, `T0.3.1` that one's first.
/// The name of a thread is the same in every run in which its ancestors create threads in the same
/// order, whatever the schedule.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct ThreadName(pub Vec<u32>);

impl ThreadName {
    /// The name of the main thread.
    pub fn main() -> Self {
        ThreadName(Vec::new())
    }

    /// Whether this thread has created that one, or somebody who did.
    pub fn is_ancestor_of(&self, other: &ThreadName) -> bool {
        other.0.len() > self.0.len() && other.0.starts_with(&self.0)
    }

    /// The name of this thread's `nth` child, counted from 1.
    pub fn child(&self, nth: u32) -> Self {
        let mut path = self.0.clone();
        path.push(nth);
        ThreadName(path)
    }
}

impl fmt::Display for ThreadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("T0")?;
        self.0.iter().try_for_each(|n| write!(f, ".{n}"))
    }
}

/// A static program point: one instruction of the lowered program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SiteId(pub u32);

impl SiteId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a site is in the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Site {
    pub place: Place,
    /// The calls that were inlined here, innermost caller first. Empty for code that was not inlined.
    pub inlined_at: Vec<Place>,
    /// What it is called besides its number, if the engine says.
    pub key: Option<SiteKey>,
}

impl Site {
    /// Whether it is in a header of the system or in a wrapper, but was inlined into the user's own code.
    pub fn is_inlined_in_own_code(&self) -> bool {
        !self.place.is_own() && self.inlined_at.iter().any(Place::is_own)
    }
}

/// What a site is called besides its number, which is a row of one lowering: the same for every engine and every build
/// that has the same function.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SiteKey {
    /// The program or library.
    pub module: Arc<str>,
    /// The function's symbol.
    pub function: Arc<str>,
    /// Which site of that function, in the order of its code.
    pub position: u32,
}

/// A place in the source. `line` 0 means that no debug information is there.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(from = "StoredPlace", into = "StoredPlace")]
pub struct Place {
    /// The function as the programmer wrote its name.
    pub function: Arc<str>,
    /// As the compiler was given it.
    pub file: Arc<str>,
    pub line: u32,
    pub column: u32,
    /// It is the one operation of a thin wrapper, which the reader knows under the line of the call.
    pub wrapper: bool,
}

/// A place in files: whether it is a wrapper's is the highest bit of the column, so that files from before are read as they were.
#[derive(Serialize, Deserialize)]
struct StoredPlace {
    function: Arc<str>,
    file: Arc<str>,
    line: u32,
    column: u32,
}

const WRAPPER: u32 = 1 << 31;

impl From<StoredPlace> for Place {
    fn from(stored: StoredPlace) -> Place {
        let StoredPlace { function, file, line, column } = stored;
        Place { function, file, line, column: column & !WRAPPER, wrapper: column & WRAPPER != 0 }
    }
}

impl From<Place> for StoredPlace {
    fn from(place: Place) -> StoredPlace {
        let Place { function, file, line, column, wrapper } = place;
        let column = column & !WRAPPER | if wrapper { WRAPPER } else { 0 };
        StoredPlace { function, file, line, column }
    }
}

impl Place {
    /// `bank.c:31`, with the file's last component only.
    pub fn short(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        if self.line == 0 {
            format!("{} (no line information)", self.function)
        } else {
            format!("{file}:{}", self.line)
        }
    }
}

impl Place {
    /// Whether reports show it: the user's own code, and not in a wrapper that is seen through.
    pub fn is_own(&self) -> bool {
        self.line != 0 && !self.is_system() && !self.wrapper
    }

    /// Whether this is code of the compiler or the C and C++ libraries.
    pub fn is_system(&self) -> bool {
        is_system_file(&self.file)
    }
}

/// Whether a file belongs to the compiler or the C and C++ libraries.
pub fn is_system_file(file: &str) -> bool {
    file.starts_with("/usr/include/")
        || file.starts_with("/usr/lib/")
        || file.contains("/include/c++/")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return write!(f, "{} (no line information)", self.function);
        }
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An allocated object within one run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ObjectId(pub u32);

/// A byte range of an object that events of one run touch; indexes [`crate::Trace::locations`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LocationId(pub u32);
