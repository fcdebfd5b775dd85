//! Causes in which the environment answers as an ordinary system hardly ever does: what is taken for granted, and what to do.

use unravel_diagnose::{Words, describe};
use unravel_results::{CausalOrder, Needed, Pattern};
use unravel_trace::{Deviation, Failure, Place, Trace};

/// The words for a cause that is such answers, and perhaps orders besides.
pub fn words(
    needs: &[Needed],
    failure: &Failure,
    orders: &[CausalOrder],
    failing: &Trace,
) -> Words {
    let answers: Vec<&Needed> = needs.iter().filter(|needed| is_answer(needed.kind)).collect();
    let told: Vec<String> = answers.iter().map(|needed| format!("needs {needed}")).collect();
    let told = told.join(", and ");
    let advice: Vec<String> = answers.iter().map(|needed| advice(needed)).collect();
    let advice = advice.join("; ");
    let pattern = match answers.iter().all(|needed| needed.kind == Deviation::SpuriousWakeup) {
        true => Pattern::MissedRecheck,
        false => Pattern::TakenForGranted,
    };
    match orders.is_empty() {
        true => Words {
            pattern,
            sentence: format!("{told}; then it fails in whatever order the threads run"),
            advice,
            region: answers.iter().filter_map(|needed| needed.place.clone()).collect(),
        },
        false => {
            let ordered = describe(failure, orders, failing);
            let advice = format!("{advice}; {}", ordered.advice);
            Words { pattern, sentence: format!("{told}; {}", ordered.sentence), advice, ..ordered }
        }
    }
}

/// Whether a deviation is an answer, and no choice of a thread.
fn is_answer(kind: Deviation) -> bool {
    match kind {
        Deviation::Stall | Deviation::EarlyTimeout => false,
        Deviation::SpuriousWakeup
        | Deviation::WeakFailure
        | Deviation::TryLockFailure
        | Deviation::NoMemory => true,
    }
}

fn advice(needed: &Needed) -> String {
    let at = needed
        .place
        .as_ref()
        .map_or_else(String::new, |place: &Place| format!(" at {}", place.short()));
    match needed.kind {
        Deviation::SpuriousWakeup => {
            format!("after the wait{at} look again whether what is waited for holds, in a loop")
        }
        Deviation::WeakFailure => {
            format!("repeat the weak compare-exchange{at} until it succeeds, or use the strong one")
        }
        Deviation::TryLockFailure => {
            format!("look at what try_lock{at} returns: it may fail although the mutex is free")
        }
        Deviation::NoMemory => format!("look at what the allocation{at} returns"),
        Deviation::Stall | Deviation::EarlyTimeout => {
            format!("do not count on time to order threads{at}")
        }
    }
}
