//! What a root cause rests on, in words, the same in all reports.

use unravel_results::{Diagnosis, Evidence, ExplainedBug, Kept, Pattern, RootCause, Status};

/// Why the orders are enough, and what keeps the failure away; where nothing is known to, why each order is needed.
pub fn sentences(diagnosis: &Diagnosis, cause: &RootCause) -> Vec<String> {
    let orders = cause.orders.len();
    let kept = kept(cause);
    if orders == 0 {
        return kept.into_iter().collect();
    }
    let mut enough: Vec<String> = Vec::new();
    match (cause.kept_and_failed, orders) {
        (0, _) => {}
        (1, 1) => enough.push("1 schedule that keeps this order: it fails".to_owned()),
        (1, _) => enough.push("1 schedule that keeps these orders: it fails".to_owned()),
        (n, 1) => enough.push(format!("{n} schedules that keep this order: all fail")),
        (n, _) => enough.push(format!("{n} schedules that keep these orders: all fail")),
    }
    if cause.proved_on_path {
        enough.push("proved on the recorded path".to_owned());
    }
    let witnesses = cause.orders.iter().filter(|order| order.witness.is_some()).count();
    let executed = if diagnosis.status == Status::Confirmed { " (executed)" } else { "" };
    let passes = format!("with that one alone reversed the program passes{executed}");
    let needed = match (orders, witnesses) {
        (_, 0) => String::new(),
        (1, _) => format!("with it reversed the program passes{executed}"),
        (_, some) if some == orders => format!("each is needed: {passes}"),
        (_, some) => format!("{some} of {orders} are known to be needed: {passes}"),
    };
    [enough.join("; "), kept.unwrap_or(needed)]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect()
}

/// The most telling of them, in few words.
pub fn in_short(diagnosis: &Diagnosis, cause: &RootCause) -> Option<String> {
    match cause.evidence.as_ref() {
        // There is nothing that should hold instead.
        _ if cause.pattern == Pattern::NeverHolds => None,
        Some(Evidence::Shielded { kept, tried, failed_without }) if wakes(cause) => {
            woken_or_before(kept, *tried, *failed_without)
        }
        Some(Evidence::Shielded { tried, failed_without, .. }) => Some(format!(
            "if that holds, none of {tried} schedules fails so; if not, {failed_without} of them do"
        )),
        _ => {
            let executed = if diagnosis.status == Status::Confirmed { " (executed)" } else { "" };
            let is_known = cause.orders.iter().all(|order| order.witness.is_some());
            let which =
                if cause.orders.len() == 1 { "this order" } else { "any one of these orders" };
            let is_some = is_known && !cause.orders.is_empty();
            is_some.then(|| format!("with {which} reversed the program passes{executed}"))
        }
    }
}

/// Whether what should hold is that somebody is woken: what was kept is the order with which nobody need be.
fn wakes(cause: &RootCause) -> bool {
    cause.pattern == Pattern::MissingSignal
}

fn woken_or_before(kept: &[Kept], tried: u64, failed_without: u64) -> Option<String> {
    let Kept { from, to, .. } = kept.first()?;
    Some(format!(
        "while {} comes before {}, none of {tried} schedules fails so; otherwise {failed_without} of them do",
        from.short(),
        to.short()
    ))
}

/// What came of keeping what should hold.
fn kept(cause: &RootCause) -> Option<String> {
    if cause.pattern == Pattern::NeverHolds {
        return None;
    }
    match cause.evidence.as_ref()? {
        Evidence::Shielded { kept, tried, failed_without } if wakes(cause) => {
            woken_or_before(kept, *tried, *failed_without)
        }
        Evidence::Shielded { tried, failed_without, .. } => Some(format!(
            "with what should hold, none of {tried} schedules fails so; without it, {failed_without} of the same do"
        )),
        Evidence::Unavoidable { tried, .. } => {
            Some(format!("with every update whole, all of {tried} schedules fail so"))
        }
        Evidence::Shown => None,
    }
}

/// Why a bug has the cause of another.
pub fn vanished(bug: &ExplainedBug, other: usize) -> String {
    match &bug.vanished {
        Some(trial) => format!(
            "with what should hold for bug {}, none of {} schedules fails so; without it, {} of the same do",
            other + 1,
            trial.tried,
            trial.failed_without
        ),
        None => format!("its cause is that of bug {}", other + 1),
    }
}
