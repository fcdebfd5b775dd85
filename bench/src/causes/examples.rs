//! The examples that the paper explains: our causes must be the paper's.
//!
//! Its figures number the lines of excerpts; here they are those of the corpus programs. `crates/cli/tests/causes.rs` says
//! the same of these programs as a user sees it.

use std::collections::BTreeSet;
use std::path::Path;

use super::causes;
use xtask::corpus::{Cause, Causes, Order};

struct Example {
    what: &'static str,
    case: &'static str,
    /// By lines; the orders of each are sorted.
    causes: &'static [&'static [&'static str]],
    /// Whether each of these happens with either thread in either role.
    both_ways: bool,
}

const EXAMPLES: [Example; 4] = [
    // 9 → 4 and 4 → 10 in the figure: x is cleared between its test and its assertion.
    Example {
        what: "figure 2.1",
        case: "figures/concbugassist-2.1",
        causes: &[&["21 -> 29", "28 -> 21"]],
        both_ways: false,
    },
    // x ends as one thread's and y as the other's.
    Example {
        what: "figure 3.2",
        case: "figures/concbugassist-3.2",
        causes: &[&["20 -> 28", "29 -> 21"], &["21 -> 29", "28 -> 20"]],
        both_ways: false,
    },
    // 5 → 2 in figure 5.2: the use before the initialisation.
    Example {
        what: "transmission",
        case: "real/transmission-1.42",
        causes: &[&["50 -> 43"]],
        both_ways: false,
    },
    // Figure 5.1: one list_add within the other, by way of its first reading of `open` or of its second.
    Example {
        what: "list_seq",
        case: "atomicity/list_seq",
        causes: &[&["27 -> 28", "28 -> 28"], &["28 -> 28", "28 -> 28"]],
        both_ways: true,
    },
];

/// Prints what became of each; whether all are right.
pub fn check(tool: &Path, scratch: &Path, filter: Option<&str>) -> bool {
    let chosen = EXAMPLES.iter().filter(|e| filter.is_none_or(|f| e.case.contains(f)));
    let mut right = true;
    println!("\nthe paper's examples");
    for example in chosen {
        let judged = causes(tool, example.case, scratch).and_then(|causes| example.judge(&causes));
        right &= judged.is_ok();
        println!(
            "{:<18} {}",
            example.what,
            judged.err().unwrap_or_else(|| "as the paper says".into())
        );
    }
    println!();
    right
}

impl Example {
    fn judge(&self, causes: &Causes) -> Result<(), String> {
        let expected: BTreeSet<Vec<String>> =
            self.causes.iter().map(|orders| owned(orders)).collect();
        let seen: BTreeSet<Vec<String>> = causes.all().map(lines).collect();
        if seen != expected {
            return Err(format!("DIFFERS: expected {expected:?}, seen {seen:?}"));
        }
        let threads = |class: &[Cause]| {
            let first = class.iter().filter_map(|cause| cause.orders.first());
            first.map(|order| order.first.thread.clone()).collect::<BTreeSet<_>>().len()
        };
        if self.both_ways && causes.classes.iter().any(|class| threads(&class.causes) != 2) {
            return Err("DIFFERS: expected each cause in both directions".into());
        }
        Ok(())
    }
}

fn owned(orders: &[&str]) -> Vec<String> {
    orders.iter().map(|order| (*order).to_owned()).collect()
}

/// The orders of a cause by lines, sorted.
fn lines(cause: &Cause) -> Vec<String> {
    let mut lines: Vec<String> = cause.orders.iter().map(Order::lines).collect();
    lines.sort();
    lines
}
