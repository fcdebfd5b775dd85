//! What differs between two runs, in words, the same in all reports.

use unravel_results::{Alternate, BranchChange, Diagnosis, Flow};
use unravel_trace::Trace;

use crate::names::Names;
use crate::words;

/// `T0 takes another path after bank.c:41: it ends there in the failing run`.
pub fn branch(branch: &BranchChange) -> String {
    let after = branch.after.as_ref().map_or(String::new(), |p| format!(" after {}", words::at(p)));
    let goes_on = match (branch.failing, branch.alternate) {
        (None, Some(_)) => ": it ends there in the failing run",
        (Some(_), None) => ": it ends there in the passing run",
        _ => "",
    };
    format!("{} takes another path{after}{goes_on}", branch.thread)
}

/// The first data flow that differs: `T0.2:19 reads x from T0.1:12 instead of T0.1:20`.
pub fn first_flow(diagnosis: &Diagnosis, alternate: &Alternate, names: &Names) -> Option<String> {
    let change = alternate.projection.flows.first()?;
    let text = |trace: &Trace, flow: Option<Flow>| match flow {
        Some(Flow { from: Some(from), .. }) => names.writer(trace, from),
        Some(Flow { from: None, .. }) => "its initial value".to_owned(),
        None => "nowhere".to_owned(),
    };
    let (ours, theirs) = (&diagnosis.failing.trace, &alternate.run.trace);
    let reader = match (change.failing, change.alternate) {
        (Some(flow), _) => names.writer(ours, flow.to),
        (None, Some(flow)) => names.writer(theirs, flow.to),
        (None, None) => return None,
    };
    Some(format!(
        "{reader} reads {} from {} instead of {}",
        change.location,
        text(theirs, change.alternate),
        text(ours, change.failing)
    ))
}
