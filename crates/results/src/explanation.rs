//! What `explain` says of a program. The room `explain` makes it, reports print it.

use std::fmt;

use serde::{Deserialize, Serialize};
use unravel_trace::{
    BugId, Deviated, Deviation, Event, Failure, KnownBug, Place, Run, SiteId, ThreadName,
};

use crate::{Diagnosis, Explored, Repairs};

/// All that is known of a program after a search and the diagnosis of what it found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The program's name, without directory and ending.
    pub program: String,
    /// The command that makes this explanation again.
    pub command: String,
    pub explored: Explored,
    /// Distinct bugs, in the order in which the search met them.
    pub bugs: Vec<ExplainedBug>,
    /// All causes of the program's failures, and repairs; `None` if they were not looked for.
    pub repairs: Option<Box<Repairs>>,
    /// The files that the diffs of the repairs were written to, one each, if they were.
    pub patches: Vec<String>,
    /// What `unravel.toml` puts aside, seen or not.
    pub put_aside: Vec<PutAside>,
    /// What the reader should know besides.
    pub notes: Vec<String>,
}

/// One bug: a failure that was executed, and what is known of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExplainedBug {
    pub id: BugId,
    pub failure: Failure,
    pub found: Found,
    /// The trace file with the schedule that fails, as a path from where the command ran.
    pub trace: String,
    /// The command that makes the failure happen again.
    pub replay: String,
    pub verdict: Verdict,
    /// What it needs of the environment, besides an order.
    pub needs: Vec<Needed>,
    /// Another bug (its index) that tells the cause of this one, too.
    pub same_cause_as: Option<usize>,
    /// If that was found by keeping what should hold there: this failure goes away, too.
    pub vanished: Option<Vanished>,
}

/// A failure that goes away if what keeps another one away is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Vanished {
    /// Schedules that were tried so, none of which fails as it did; and how many of the same do without.
    pub tried: u64,
    pub failed_without: u64,
}

/// Something that the environment has to do, and hardly ever does.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Needed {
    pub kind: Deviation,
    /// Whose sleep, wait or attempt it is, and where.
    pub thread: ThreadName,
    pub place: Option<Place>,
}

impl Needed {
    /// What a run had of its environment.
    pub fn of(run: &Run) -> Vec<Needed> {
        let place = |site: SiteId| {
            let sites = &run.trace.sites;
            sites.iter().find(|(id, _)| *id == site).map(|(_, site)| site.place.clone())
        };
        // Of what headers of the system do, the user knows the call.
        let own = |deviated: &Deviated| {
            let is_it =
                |event: &&Event| event.thread == deviated.thread && event.site == deviated.site;
            place(run.trace.events.iter().find(is_it)?.caller?)
        };
        run.deviated
            .iter()
            .map(|deviated| Needed {
                kind: deviated.kind,
                thread: run.schedule.threads[deviated.thread.index()].clone(),
                place: own(deviated).or_else(|| place(deviated.site)),
            })
            .collect()
    }
}

/// `the wait of T1 at pool.c:31 to time out just then`, after "needs".
impl fmt::Display for Needed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = &self.thread;
        let at =
            self.place.as_ref().map_or(String::new(), |place| format!(" at {}", place.short()));
        match self.kind {
            Deviation::Stall => {
                write!(f, "others to be late when the sleep or timer of {who}{at} is over")
            }
            Deviation::EarlyTimeout => write!(f, "the wait of {who}{at} to time out just then"),
            Deviation::SpuriousWakeup => write!(f, "{who} to wake{at} without a signal"),
            Deviation::WeakFailure => write!(
                f,
                "the weak compare-exchange of {who}{at} to fail although the value is the expected one"
            ),
            Deviation::TryLockFailure => {
                write!(f, "the try_lock of {who}{at} to fail although the mutex is free")
            }
            Deviation::NoMemory => write!(f, "an allocation of {who}{at} to fail"),
        }
    }
}

/// How the search met a bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// The number of the first schedule that failed so, from 1.
    pub schedule: u64,
    /// How many schedules of the search failed so.
    pub times: u64,
    /// Whether it failed again when replayed.
    pub replayed: bool,
    /// The size of that run.
    pub threads: u64,
    pub events: u64,
    pub switches: u64,
}

/// What is known of a bug's reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Verdict {
    Diagnosed(Box<Diagnosis>),
    /// The failure is certain, why it happens is not known.
    Undiagnosed {
        reason: String,
    },
}

impl Verdict {
    pub fn diagnosis(&self) -> Option<&Diagnosis> {
        match self {
            Verdict::Diagnosed(diagnosis) => Some(diagnosis),
            Verdict::Undiagnosed { .. } => None,
        }
    }
}

/// A known bug, put aside in `unravel.toml`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PutAside {
    pub bug: KnownBug,
    /// Why, as the file says.
    pub reason: String,
    /// How many schedules failed so.
    pub times: u64,
}
