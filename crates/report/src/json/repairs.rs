//! `unravel.repairs/1`: the causes of a program's failures, and the patches that stood every check.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_results as results;

use super::REPAIRS;
use super::causes::CausesDocument;
use super::explanation::milliseconds;
use crate::notes;

/// The causes of a program's failures, and the patches that stood every check. Within version 1 fields are added, never
/// changed or removed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Repairs", title = "unravel.repairs/1")]
pub struct RepairsDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = REPAIRS))]
    pub schema: String,
    /// What is repaired.
    pub causes: CausesDocument,
    /// The best first.
    pub repairs: Vec<Repair>,
    /// What was tried and is no repair.
    pub rejected: Vec<Rejected>,
    /// What the reader should know besides.
    pub notes: Vec<String>,
    /// How long it took, to the millisecond.
    pub seconds: f64,
}

/// A patch that was checked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Repair {
    /// What it does, in one line.
    pub title: String,
    /// How it is made. More may be added.
    #[schemars(extend("examples" = kinds()))]
    pub kind: String,
    /// The classes of causes that it makes impossible, as indices of `causes.classes`.
    pub covers: Vec<u64>,
    /// Bugs that it does nothing about, as indices of `causes.bugs`; empty unless it is for one of several.
    pub leaves: Vec<u64>,
    /// A unified diff that `patch -p1` and `git apply` take.
    pub diff: String,
    /// The patched files as a whole.
    pub files: Vec<PatchedFile>,
    /// What was checked; nothing failed.
    pub checks: Vec<Check>,
    /// With its threads one after another it does what the program did; null if that could not be compared.
    pub meaning: Option<Meaning>,
    pub cost: RepairCost,
    /// What the reader should know before applying it.
    pub notes: Vec<String>,
}

/// Same output, exit code, objects left on the heap, and final values of globals.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Meaning {
    /// Runs of the repaired program, its threads one after another.
    pub runs: u64,
    /// Runs of the program before that they were compared with.
    pub before: u64,
    /// Globals whose final values were compared.
    pub globals: u64,
}

fn kinds() -> Vec<String> {
    use results::RepairKind::*;
    [
        AtomicUpdate,
        MissingUnlock,
        MissingJoin,
        WiderSection,
        ExistingLock,
        Signalling,
        NewLock,
        LockOrder,
        MovedStatement,
        Order,
    ]
    .map(kind_name)
    .to_vec()
}

/// The name of a kind in files: `new-lock`.
fn kind_name(kind: results::RepairKind) -> String {
    kind.to_string().replace(' ', "-")
}

/// A file with the repair in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PatchedFile {
    /// As the compiler was given it.
    pub path: String,
    pub text: String,
}

/// One exploration of a repaired program, in which nothing failed but what the repair leaves.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    pub how: CheckedAs,
    /// Whether every class of schedules was executed; if not, `left_out` says why.
    pub complete: bool,
    /// Schedules executed.
    pub schedules: u64,
    /// Classes of schedules, all of which pass, but for those of `aside`. (In an exploration that is not complete: those that were seen.)
    pub passing: u64,
    /// Schedules that failed by a bug that the repair leaves.
    pub aside: u64,
    /// What was not explored, in words.
    pub left_out: Vec<String>,
    /// The inputs with which it was explored, as indices of the `inputs` of the causes. One with which every schedule fails is no
    /// test of a repair.
    pub inputs: Vec<u64>,
}

/// What was explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckedAs {
    /// The repair in the machine, without touching the source.
    Virtual,
    /// The patched source, compiled.
    Patched,
}

/// What a repair costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepairCost {
    pub lines_added: u32,
    pub lines_removed: u32,
    /// Null if it was not measured.
    pub kept: Option<KeptClasses>,
    /// Lines of the longest critical section that is new or wider, or 0.
    pub longest_section: u32,
}

/// How much concurrency is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KeptClasses {
    /// Classes of schedules that pass without the repair and that it still allows.
    pub allowed: u64,
    /// All classes of schedules that pass without the repair.
    pub passing: u64,
}

/// A candidate that is no repair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Rejected {
    /// What it would have done.
    pub title: String,
    /// Which check it failed, and how.
    pub reason: String,
}

impl From<&results::Repairs> for RepairsDocument {
    fn from(repairs: &results::Repairs) -> RepairsDocument {
        let rejected = repairs.rejected.iter().map(|candidate| Rejected {
            title: candidate.title.clone(),
            reason: candidate.reason.clone(),
        });
        RepairsDocument {
            schema: REPAIRS.to_owned(),
            causes: (&repairs.causes).into(),
            repairs: repairs.repairs.iter().map(Repair::from).collect(),
            rejected: rejected.collect(),
            notes: repairs.notes.clone(),
            seconds: milliseconds(repairs.elapsed),
        }
    }
}

impl From<&results::Repair> for Repair {
    fn from(repair: &results::Repair) -> Repair {
        let file = |file: &results::PatchedFile| PatchedFile {
            path: file.path.clone(),
            text: file.text.clone(),
        };
        let cost = &repair.cost;
        Repair {
            title: repair.title.clone(),
            kind: kind_name(repair.kind),
            covers: repair.covers.iter().map(|index| *index as u64).collect(),
            leaves: repair.leaves.iter().map(|index| *index as u64).collect(),
            diff: repair.diff.clone(),
            files: repair.files.iter().map(file).collect(),
            checks: repair.checks.iter().map(Check::from).collect(),
            meaning: repair.meaning.map(|meaning| Meaning {
                runs: meaning.runs,
                before: meaning.before,
                globals: meaning.globals,
            }),
            cost: RepairCost {
                lines_added: cost.lines_added,
                lines_removed: cost.lines_removed,
                kept: cost.classes_kept.map(|(allowed, passing)| KeptClasses { allowed, passing }),
                longest_section: cost.longest_section,
            },
            notes: repair.notes.clone(),
        }
    }
}

impl From<&results::Check> for Check {
    fn from(check: &results::Check) -> Check {
        Check {
            how: match check.how {
                results::CheckedAs::Virtual => CheckedAs::Virtual,
                results::CheckedAs::Patched => CheckedAs::Patched,
            },
            complete: check.complete,
            schedules: check.schedules,
            passing: check.classes,
            aside: check.aside,
            left_out: notes::all_left_out(&check.left_out),
            inputs: check.inputs.iter().map(|number| *number as u64).collect(),
        }
    }
}
