//! A hunt of a case, and whether what it exposes is the case's bug.

use super::{Lab, REPLAYS};
use crate::corpus::answer::{Replay, ask};
use crate::corpus::hunted::{Exposed, Hunt};

/// How many runs have to pass first, as in the thesis.
const RUNS: [&str; 2] = ["--runs", "100"];

/// Hunts one of the two programs, whatever comes of it.
pub fn measure(lab: &Lab<'_>, sources: &[String]) -> Result<Hunt, String> {
    let out = lab.scratch.join("hunt");
    let arguments = lab.arguments("hunt", sources, &RUNS, &out)?;
    ask(lab.tool, lab.case, &arguments, &[0, 1, 3])
}

/// Replays what was exposed: each time the same failure, of the expected kind at an expected line.
pub fn confirm(lab: &Lab<'_>, exposed: &Exposed) -> Result<(), String> {
    let trace = exposed.trace.as_ref().ok_or("no trace was written")?.display().to_string();
    let arguments =
        ["replay", &trace, "--times", &REPLAYS.to_string(), "--json"].map(str::to_owned);
    // A replay that differs exits with 3 and says where.
    let replay: Replay = ask(lab.tool, lab.case, &arguments, &[0, 1, 3])?;
    if !replay.same {
        let difference = replay.difference.unwrap_or_default();
        return Err(format!("the exposed failure does not replay: {difference}"));
    }
    let (bug, outcome) = (&lab.case.expect.bug, &replay.run.outcome);
    if !outcome.is_bug_of(lab.case) {
        let expected = format!("{} at {}", bug.outcome, bug.at.join(" or "));
        return Err(format!("expected {expected}, exposed {}", outcome.describe(lab.case)));
    }
    Ok(())
}
