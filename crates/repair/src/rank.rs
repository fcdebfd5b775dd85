//! Which repairs to show: those that change few lines and keep much concurrency, and not the same thing again and again.

use unravel_trace::{Repair, RepairCost};

/// What losing all concurrency weighs, in lines.
const ALL_CONCURRENCY: f64 = 12.0;
/// What a line inside of a critical section weighs, in changed lines.
const SECTION_LINE: f64 = 0.25;

/// The best repairs, the best first: at most `most`, and at most so many of a kind.
pub fn rank(mut repairs: Vec<Repair>, most: usize, of_a_kind: usize) -> Vec<Repair> {
    repairs.sort_by(|a, b| weight(&a.cost).total_cmp(&weight(&b.cost)));
    let mut shown: Vec<Repair> = Vec::new();
    for repair in repairs {
        let same = shown.iter().filter(|other| other.kind == repair.kind).count();
        if shown.len() < most && same < of_a_kind {
            shown.push(repair);
        }
    }
    shown
}

fn weight(cost: &RepairCost) -> f64 {
    let lines = f64::from(cost.lines_added + cost.lines_removed);
    let lost = match cost.classes_kept {
        Some((kept, of)) if of > 0 => 1.0 - kept as f64 / of as f64,
        _ => 0.0,
    };
    lines + ALL_CONCURRENCY * lost + SECTION_LINE * f64::from(cost.longest_section)
}
