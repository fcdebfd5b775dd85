//! Causes in which the environment answers as an ordinary system hardly ever does: what is taken for granted, and what to do.

use unravel_results::{CausalOrder, Needed, Pattern};
use unravel_trace::{Deviation, Failure, Place, Trace};

use crate::pattern::{Words, describe};

/// The words for a cause that is such answers, and perhaps orders besides.
pub fn granted(
    needs: &[Needed],
    failure: &Failure,
    orders: &[CausalOrder],
    failing: &Trace,
) -> Words {
    let mut words = answered(needs);
    match orders.is_empty() {
        true => words.sentence += IN_ANY_ORDER,
        false => {
            let ordered = describe(failure, orders, failing);
            words.sentence = format!("{}; {}", words.sentence, ordered.sentence);
            words.advice = format!("{}; {}", words.advice, ordered.advice);
            words.region = ordered.region;
        }
    }
    words
}

/// What is said after such answers if they alone make the program fail.
pub const IN_ANY_ORDER: &str = "; then it fails in whatever order the threads run";

/// The words for such answers by themselves.
pub fn answered(needs: &[Needed]) -> Words {
    let answers: Vec<&Needed> = needs.iter().filter(|needed| is_answer(needed.kind)).collect();
    let told = counted(answers.iter().map(|needed| told(needed)));
    let advice = counted(answers.iter().map(|needed| advice(needed)));
    let advice: Vec<String> = advice.into_iter().map(|(text, _)| text).collect();
    let told: Vec<String> = told
        .into_iter()
        .map(|(text, times)| match times {
            1 => text,
            2 => format!("twice {text}"),
            _ => format!("{times} times {text}"),
        })
        .collect();
    let spurious = answers.iter().all(|needed| needed.kind == Deviation::SpuriousWakeup);
    Words {
        pattern: if spurious { Pattern::MissedRecheck } else { Pattern::TakenForGranted },
        sentence: told.join(", and "),
        advice: advice.join("; "),
        region: answers.iter().filter_map(|needed| needed.place.clone()).collect(),
    }
}

/// Whether a deviation is an answer, and no choice of the schedule.
pub fn is_answer(kind: Deviation) -> bool {
    match kind {
        Deviation::Stall | Deviation::EarlyTimeout => false,
        Deviation::SpuriousWakeup
        | Deviation::WeakFailure
        | Deviation::TryLockFailure
        | Deviation::NoMemory => true,
    }
}

/// Each text once, and how often it was there.
fn counted(texts: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = Vec::new();
    for text in texts {
        match all.iter_mut().find(|(known, _)| *known == text) {
            Some((_, times)) => *times += 1,
            None => all.push((text, 1)),
        }
    }
    all
}

fn at(needed: &Needed) -> String {
    let place = needed.place.as_ref();
    place.map_or_else(String::new, |place: &Place| format!(" at {}", place.short()))
}

/// What happens.
fn told(needed: &Needed) -> String {
    let (who, at) = (&needed.thread, at(needed));
    match needed.kind {
        Deviation::SpuriousWakeup => format!(
            "{who} wakes{at} without a signal, as any wait may, and goes on as if what it waits for had come"
        ),
        Deviation::WeakFailure => format!(
            "the weak compare-exchange of {who}{at} fails although the value is the expected one, as it may, and {who} goes \
             on as if it were another"
        ),
        Deviation::TryLockFailure => {
            format!("the try_lock of {who}{at} fails although the mutex is free, as it may")
        }
        Deviation::NoMemory => format!("an allocation of {who}{at} fails"),
        Deviation::Stall | Deviation::EarlyTimeout => format!("needs {needed}"),
    }
}

fn advice(needed: &Needed) -> String {
    let at = at(needed);
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
