//! Which repairs to show: those that change few lines and keep much concurrency, and not the same thing again and again.
//! What makes threads run one after another comes last, and says so, unless an order is what the program lacks.

use unravel_results::{CheckedAs, Repair, RepairKind};

use crate::budgets::{ALL_CONCURRENCY, PRICE, SECTION_LINE, SERIAL};

/// A repair that stood its checks, and the guess at its price that it began with.
#[derive(Debug)]
pub struct Stood {
    pub repair: Repair,
    pub price: u64,
}

/// The best repairs, the best first: at most `most`, and at most so many of a kind. `passing` is how many classes of
/// schedules pass without any; `lacks_order` says whether some cause is that an order is missing.
pub fn rank(
    mut stood: Vec<Stood>,
    passing: u64,
    lacks_order: bool,
    (most, of_a_kind): (usize, usize),
) -> Vec<Repair> {
    let serialises = |repair: &Repair| !lacks_order && kept(repair, passing) < SERIAL;
    stood.sort_by(|a, b| {
        let apart = serialises(&a.repair).cmp(&serialises(&b.repair));
        apart.then(weight(a, passing).total_cmp(&weight(b, passing)))
    });
    let mut shown: Vec<Repair> = Vec::new();
    for Stood { mut repair, .. } in stood {
        let same = shown.iter().filter(|other| other.kind == repair.kind).count();
        if shown.len() < most && same < of_a_kind {
            if serialises(&repair) {
                repair.notes.push(
                    "hardly any concurrency is left: threads that ran side by side now wait for each other"
                        .to_owned(),
                );
            }
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
    // Where nobody waits for anybody, nothing is lost: there are fewer events, and so fewer orders of them.
    if repair.kind == RepairKind::AtomicUpdate {
        return 1.0;
    }
    let patched = repair.checks.iter().find(|c| c.how == CheckedAs::Patched && c.complete);
    patched.map_or(1.0, |check| share(check.classes, passing))
}

#[cfg(test)]
mod tests {
    use unravel_results::{Check, RepairCost};

    use super::*;

    fn stood(title: &str, kind: RepairKind, lines: u32, kept: u64) -> Stood {
        let repair = Repair {
            title: title.to_owned(),
            kind,
            covers: Vec::new(),
            diff: String::new(),
            files: Vec::new(),
            checks: Vec::new(),
            meaning: None,
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
        rank(stood, 10, false, (3, 2)).into_iter().map(|repair| repair.title).collect()
    }

    #[test]
    fn few_lines_come_first_unless_they_cost_concurrency() {
        use RepairKind::{NewLock, Order};
        let shown = titles(vec![
            stood("slower", Order, 2, 1),
            stood("long", NewLock, 30, 10),
            stood("short", NewLock, 4, 10),
        ]);
        assert_eq!(shown, ["short", "slower", "long"]);
    }

    #[test]
    fn what_serialises_comes_last_and_says_so() {
        use RepairKind::{MovedStatement, NewLock};
        let both = || vec![stood("serial", MovedStatement, 2, 0), stood("long", NewLock, 30, 10)];
        let shown = rank(both(), 10, false, (3, 2));
        assert_eq!([&*shown[0].title, &*shown[1].title], ["long", "serial"]);
        assert_eq!([shown[0].notes.len(), shown[1].notes.len()], [0, 1]);
        // Where an order is missing, that is what a repair has to bring about.
        let shown = rank(both(), 10, true, (3, 2));
        assert_eq!([&*shown[0].title, &*shown[1].title], ["serial", "long"]);
        assert!(shown[0].notes.is_empty());
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
