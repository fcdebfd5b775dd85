//! Is the fault in a library, and not in its caller?
//!
//! Said only of a thread that waits for ever inside of one call, where that very call is what should be atomic, and where every access
//! of the root cause is the library's own. Whoever uses `std::atomic` by itself is no library: frames of its headers do not count.
//! Errs to silence: of a library that fails otherwise nothing is said.

use unravel_results::{Diagnosis, Participant};
use unravel_trace::{FailureKind, Place, Verb};

/// The frames of the library in which the thread waits, outermost first; `None` if the fault may be the caller's.
pub fn at_fault(diagnosis: &Diagnosis) -> Option<Vec<&Place>> {
    let (cause, failure) = (diagnosis.root_cause.as_ref()?, &diagnosis.failure);
    let [from, to] = cause.region.as_slice() else { return None };
    let call = failure.place()?;
    let is_there = |place: &Place| place.file == call.file && place.line == call.line;
    let is_one_call = is_there(from) && is_there(to) && cause.pattern.is_of_stretch();
    if failure.kind != FailureKind::Deadlock || !is_one_call {
        return None;
    }
    let trace = &diagnosis.failing.trace;
    let is_own = |who: &Participant| {
        matches!(who.verb, Verb::Reads | Verb::Writes | Verb::Updates)
            && trace.site(who.key.site).is_some_and(|site| site.place.is_system())
    };
    if !cause.orders.iter().all(|order| is_own(&order.first) && is_own(&order.second)) {
        return None;
    }
    let frames: Vec<&Place> = failure.stack.iter().take_while(|place| place.is_system()).collect();
    let is_more = |place: &&Place| !base(place).starts_with("atomic");
    let frames: Vec<&Place> = frames.into_iter().filter(is_more).rev().collect();
    (!frames.is_empty() && !cause.orders.is_empty()).then_some(frames)
}

fn base(place: &Place) -> &str {
    place.file.rsplit('/').next().unwrap_or(&place.file)
}
