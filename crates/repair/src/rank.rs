//! Which repairs to show: those that change few lines and keep much concurrency, and not the same thing again and again.

use unravel_results::{CheckedAs, Repair};

use crate::budgets::{ALL_CONCURRENCY, PRICE, SECTION_LINE};

/// A repair that stood its checks, and the guess at its price that it began with.
#[derive(Debug)]
pub struct Stood {
    pub repair: Repair,
    pub price: u64,
}

/// The best repairs, the best first: at most `most`, and at most so many of a kind. `passing` is how many classes of
/// schedules pass without any.
pub fn rank(mut stood: Vec<Stood>, passing: u64, most: usize, of_a_kind: usize) -> Vec<Repair> {
    stood.sort_by(|a, b| weight(a, passing).total_cmp(&weight(b, passing)));
    let mut shown: Vec<Repair> = Vec::new();
    for Stood { repair, .. } in stood {
        let same = shown.iter().filter(|other| other.kind == repair.kind).count();
        if shown.len() < most && same < of_a_kind {
            shown.push(repair);
        }
    }
    shown
}

fn weight(Stood { repair, price }: &Stood, passing: u64) -> f64 {
    let cost = &repair.cost;
    let lines = f64::from(cost.lines_added + cost.lines_removed);
    let lost = ALL_CONCURRENCY * (1.0 - kept(repair, passing));
    lines + lost + SECTION_LINE * f64::from(cost.longest_section) + PRICE * *price as f64
}

/// The share of concurrency that is left: measured, else as far as the patched program's classes tell.
fn kept(repair: &Repair, passing: u64) -> f64 {
    let share = |kept: u64, of: u64| if of == 0 { 1.0 } else { (kept as f64 / of as f64).min(1.0) };
    if let Some((kept, of)) = repair.cost.classes_kept {
        return share(kept, of);
    }
    let patched = repair.checks.iter().find(|c| c.how == CheckedAs::Patched && c.complete);
    patched.map_or(1.0, |check| share(check.classes, passing))
}

#[cfg(test)]
mod tests {
    use unravel_results::{Check, RepairCost, RepairKind};

    use super::*;

    fn stood(title: &str, kind: RepairKind, lines: u32, kept: u64) -> Stood {
        let repair = Repair {
            title: title.to_owned(),
            kind,
            covers: Vec::new(),
            diff: String::new(),
            files: Vec::new(),
            checks: Vec::new(),
            cost: RepairCost {
                lines_added: lines,
                classes_kept: Some((kept, 10)),
                ..RepairCost::default()
            },
            notes: Vec::new(),
        };
        Stood { repair, price: 0 }
    }

    fn titles(stood: Vec<Stood>) -> Vec<String> {
        rank(stood, 10, 3, 2).into_iter().map(|repair| repair.title).collect()
    }

    #[test]
    fn few_lines_come_first_unless_they_cost_concurrency() {
        use RepairKind::{NewLock, Order};
        let shown = titles(vec![
            stood("serial", Order, 2, 1),
            stood("long", NewLock, 30, 10),
            stood("short", NewLock, 4, 10),
        ]);
        assert_eq!(shown, ["short", "serial", "long"]);
    }

    #[test]
    fn not_the_same_again_and_again() {
        use RepairKind::{NewLock, Order};
        let shown = titles(vec![
            stood("a", NewLock, 1, 10),
            stood("b", NewLock, 2, 10),
            stood("c", NewLock, 3, 10),
            stood("d", Order, 4, 10),
        ]);
        assert_eq!(shown, ["a", "b", "d"]);
    }

    #[test]
    fn what_was_not_measured_is_estimated() {
        let mut few = stood("few", RepairKind::LockOrder, 2, 0);
        few.repair.cost.classes_kept = None;
        few.repair.checks.push(Check {
            how: CheckedAs::Patched,
            complete: true,
            schedules: 9,
            classes: 1,
            left_out: Vec::new(),
            inputs: Vec::new(),
        });
        assert_eq!(titles(vec![few, stood("more", RepairKind::NewLock, 6, 10)]), ["more", "few"]);
    }
}
