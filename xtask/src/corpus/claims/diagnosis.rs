//! What `unravel diagnose` must say of a trace that was found.
//!
//! 1. It is confirmed: the same bug, in no more context switches than were given, and an alternate that was executed
//!    and passed.
//! 2. The root cause has orders, each with a run that reverses it alone and passes, and either schedules that kept
//!    all of them were tried (and failed), or a note says that they were not. The lines to look at have a racy one.
//! 3. Of the data-flow variations: a single one is proved to be the fewest. Where a path differs, so does a branch,
//!    and fewer may be possible on paths nobody took; there the proof is not demanded.
//!    What fails in every order, with an unusual answer of its environment, has no orders, and nothing is demanded of how near the
//!    run with usual answers is: that none fails then was tried.
//! 4. A second diagnosis says the same, to the byte, and with `--certify` nothing else: no proof of the solver is refused,
//!    and all that is said to be proved is certified or says why not.
//! 5. `--goal lexico` finds no alternate with fewer data-flow variations, nor one with as many that breaks fewer segments.

use std::path::Path;

use serde::Deserialize;

use crate::corpus::answer::{Frame, Outcome, ask_text};
use crate::corpus::case::Case;

#[derive(Debug, Deserialize)]
struct Diagnosis {
    status: Status,
    failure: Outcome,
    failing: Run,
    context_switches: Switches,
    root_cause: Option<RootCause>,
    alternates: Vec<Alternate>,
    lines: Vec<Frame>,
    notes: Vec<String>,
    certified: Option<Certified>,
}

#[derive(Debug, Deserialize)]
struct Certified {
    root_cause: Option<serde_json::Value>,
    alternates: Vec<Option<serde_json::Value>>,
    refused: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Status {
    kind: String,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Run {
    outcome: Outcome,
}

#[derive(Debug, Deserialize)]
struct Switches {
    given: u64,
    reduced: u64,
}

#[derive(Debug, Deserialize)]
struct RootCause {
    orders: Vec<Order>,
    kept_and_failed: u64,
    proved_on_path: bool,
    evidence: Option<Evidence>,
}

#[derive(Debug, Deserialize)]
struct Evidence {
    kept: Vec<Kept>,
    failed_without: u64,
}

#[derive(Debug, Deserialize)]
struct Kept {
    kind: String,
}

impl RootCause {
    /// Whether answers of the environment are all there is to it.
    fn is_answered(&self) -> bool {
        let usual = |evidence: &Evidence| {
            evidence.failed_without > 0 && evidence.kept.iter().any(|kept| kept.kind == "usual")
        };
        self.orders.is_empty() && self.evidence.as_ref().is_some_and(usual)
    }
}

#[derive(Debug, Deserialize)]
struct Order {
    object: String,
    witness: Option<Vec<serde_json::Value>>,
}

#[derive(Debug, Deserialize)]
struct Alternate {
    run: Run,
    same_path: bool,
    minimality: Minimality,
    distance: Distance,
    projection: Projection,
}

#[derive(Debug, Deserialize)]
struct Minimality {
    proved: bool,
}

#[derive(Debug, Deserialize)]
struct Distance {
    data_flow: u32,
    broken_segments: u32,
    operations: u32,
}

#[derive(Debug, Deserialize)]
struct Projection {
    branches: Vec<serde_json::Value>,
}

/// Everything that does not hold, in words.
pub fn check(tool: &Path, case: &Case, trace: &Path) -> Result<(), String> {
    let arguments = ["diagnose", &trace.display().to_string(), "--json"].map(str::to_owned);
    if let Some(reason) = &case.expect.bug.undiagnosed {
        // Inconclusive, with its own exit code; the answer has the reason.
        return ask_text(tool, case, &arguments, &[3])
            .map(drop)
            .map_err(|problem| format!("diagnosis: expected none ('{reason}'): {problem}"));
    }
    let text = ask_text(tool, case, &arguments, &[1])?;
    let diagnosis: Diagnosis = serde_json::from_str(&text)
        .map_err(|error| format!("unravel diagnose: not the JSON expected: {error}"))?;
    let mut complaints = Vec::new();
    diagnosis.confirmed(case, &mut complaints);
    let mut explained = Vec::new();
    diagnosis.caused(case, &mut explained);
    diagnosis.near(case, &mut explained);
    match &case.expect.bug.unexplained {
        None => complaints.append(&mut explained),
        Some(gap) if explained.is_empty() => {
            complaints.push(format!("the gap '{gap}', seen none: remove unexplained"));
        }
        Some(_) => {}
    }
    if ask_text(tool, case, &arguments, &[1])? != text {
        complaints.push("the same of the same trace, seen two diagnoses".to_owned());
    }
    let certifying = [&arguments[..], &["--certify".to_owned()]].concat();
    let certified: Diagnosis = serde_json::from_str(&ask_text(tool, case, &certifying, &[1])?)
        .map_err(|error| format!("unravel diagnose --certify: not the JSON expected: {error}"))?;
    certified.certified_as(&diagnosis, &mut complaints);
    let asking = [&arguments[..], &["--goal".to_owned(), "lexico".to_owned()]].concat();
    let asked: Diagnosis =
        serde_json::from_str(&ask_text(tool, case, &asking, &[1, 3])?).map_err(|error| {
            format!("unravel diagnose --goal lexico: not the JSON expected: {error}")
        })?;
    diagnosis.nearer_than(&asked, &mut complaints);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(format!("diagnosis: expected {}", complaints.join("; expected ")))
}

impl Diagnosis {
    /// Of claim 4: what is proved without `--certify` is proved with it, and has a word on how.
    fn certified_as(&self, plain: &Diagnosis, complaints: &mut Vec<String>) {
        let Some(certified) = &self.certified else {
            complaints.push("a word on certificates, seen none".to_owned());
            return;
        };
        for why in &certified.refused {
            complaints.push(format!("every proof to be accepted, seen one refused: {why}"));
        }
        let proved = |of: &Diagnosis| {
            let minimal: Vec<bool> = of.alternates.iter().map(|a| a.minimality.proved).collect();
            (of.root_cause.as_ref().is_some_and(|cause| cause.proved_on_path), minimal)
        };
        if proved(self) != proved(plain) {
            complaints.push("the same to be proved with --certify, seen another".to_owned());
        }
        let spoken: Vec<bool> = certified.alternates.iter().map(Option::is_some).collect();
        if proved(self) != (certified.root_cause.is_some(), spoken) {
            complaints.push("a word on every proof, seen none on some".to_owned());
        }
    }

    /// Claim 5.
    fn nearer_than(&self, lexico: &Diagnosis, complaints: &mut Vec<String>) {
        let rank =
            |of: &Alternate| (!of.same_path, of.distance.data_flow, of.distance.broken_segments);
        let (ours, theirs) = (self.alternates.first(), lexico.alternates.first());
        let (Some(ours), Some(theirs)) = (ours.map(rank), theirs.map(rank)) else { return };
        if theirs < ours {
            let [(_, df, bs), (_, fewer, less)] = [ours, theirs];
            complaints.push(format!(
                "no nearer alternate by lexico, seen {fewer} data flows and {less} segments, not {df} and {bs}"
            ));
        }
    }

    /// Claim 1.
    fn confirmed(&self, case: &Case, complaints: &mut Vec<String>) {
        if self.status.kind != "confirmed" {
            let reason = self.status.reason.as_deref().unwrap_or("no reason");
            complaints.push(format!("it confirmed, seen {}: {reason}", self.status.kind));
        }
        for outcome in [&self.failure, &self.failing.outcome] {
            if !outcome.is_bug_of(case) {
                complaints.push(format!("the same bug, seen {}", outcome.describe(case)));
            }
        }
        let Switches { given, reduced } = self.context_switches;
        if reduced > given {
            complaints.push(format!("no more than {given} context switches, seen {reduced}"));
        }
        if !self.alternates.iter().any(|alternate| alternate.run.outcome.kind == "exited") {
            complaints.push("an alternate that passes, seen none".to_owned());
        }
    }

    /// Claim 2.
    fn caused(&self, case: &Case, complaints: &mut Vec<String>) {
        let Some(cause) = &self.root_cause else {
            complaints.push("a root cause, seen none".to_owned());
            return;
        };
        if cause.orders.is_empty() && !cause.is_answered() {
            complaints.push("orders in the root cause, seen none".to_owned());
        }
        for order in cause.orders.iter().filter(|order| order.witness.is_none()) {
            complaints.push(format!("a witness for the order of {}, seen none", order.object));
        }
        let racy = &case.expect.bug.racy_lines;
        if !self.lines.iter().filter_map(Frame::name).any(|line| racy.contains(&line)) {
            complaints.push(format!("one of {} among the lines to look at", racy.join(", ")));
        }
        let said = self.notes.iter().any(|note| note.contains("root cause"));
        if cause.kept_and_failed == 0 && !said && !cause.is_answered() {
            complaints.push("schedules that keep the root cause, seen none and no note".to_owned());
        }
    }

    /// Claim 3.
    fn near(&self, case: &Case, complaints: &mut Vec<String>) {
        // Of what nobody reads, as who waits for whom, no variation may be needed at all: that one is the least is then
        // not known without a proof.
        let is_read = case.expect.bug.outcome != "deadlock";
        if self.root_cause.as_ref().is_some_and(RootCause::is_answered) {
            return;
        }
        for alternate in &self.alternates {
            let Distance { data_flow, operations, .. } = alternate.distance;
            if operations == 0 {
                complaints.push("operations that differ, seen none".to_owned());
            }
            if is_read && alternate.same_path && data_flow <= 1 && !alternate.minimality.proved {
                complaints.push(format!("{data_flow} data-flow variations proved to be minimal"));
            }
            if alternate.same_path != alternate.projection.branches.is_empty() {
                complaints.push(format!(
                    "branches where the path differs, seen {} with same_path {}",
                    alternate.projection.branches.len(),
                    alternate.same_path
                ));
            }
        }
    }
}
