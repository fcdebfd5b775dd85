//! Which repairs to show: those that keep much concurrency, then those that change few lines, and not the same thing again and again.
//! What makes threads run one after another comes last, and says so, unless an order is what the program lacks; before it
//! what fixes an order where threads only have to be kept apart, against what the report advises, and what lets others wait until
//! the check that fails is over. What rests on a sleep is last of all.

use unravel_results::{CheckedAs, Repair, RepairKind};

use crate::budgets::{ALL_CONCURRENCY, LITTLE, PRICE, SECTION_LINE, SERIAL};
use crate::propose::Proposal;

/// A repair that stood its checks, and the guess at its price that it began with.
#[derive(Debug)]
pub struct Stood {
    pub repair: Repair,
    pub price: u64,
    pub fit: Fit,
    /// Whether it only holds locks for a few statements: then it is as narrow as can be, whatever share of the classes is left.
    pub is_narrow: bool,
    /// What it is made of.
    pub measures: Vec<Proposal>,
}

/// Whether a repair brings about what the causes lack; the worst comes last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fit {
    Fits,
    /// Threads have to be kept apart, and it says which comes first besides.
    FixesOrder,
    /// It changes the order of plain accesses, which others still come between.
    LeavesRace,
    /// Others wait until the check that fails is over: it may never see what it is for.
    LooksFirst,
    /// Threads have to be kept apart, and it keeps them from running at the same time at all.
    PartsThreads,
    /// It only holds while somebody sleeps long enough.
    RestsOnSleep,
}

/// What the causes lack.
#[derive(Clone, Copy, Debug)]
pub struct Lack {
    /// An order, in some of them.
    pub order: bool,
    /// And nothing else in any: only then is it right that a thread ends before another begins.
    pub nothing_else: bool,
}

/// The best repairs, the best first: at most `most`, and at most so many of a kind. `passing` is how many classes of
/// schedules pass without any.
pub fn rank(
    mut stood: Vec<Stood>,
    passing: u64,
    lack: Lack,
    (most, of_a_kind): (usize, usize),
) -> Vec<Stood> {
    let serialises = |Stood { repair, fit, is_narrow, .. }: &Stood| {
        let is_serial = kept(repair, passing) < SERIAL || leaves_one(repair) && passing > 1;
        // That an order is missing is no excuse for a lock, which brings none about.
        let is_excused = lack.order && !is_lock(repair.kind);
        !lack.nothing_else && *fit == Fit::PartsThreads || !is_excused && is_serial && !is_narrow
    };
    let fixes_order = |stood: &Stood| !lack.order && stood.fit == Fit::FixesOrder;
    let rests_on_sleep = |stood: &Stood| stood.fit == Fit::RestsOnSleep;
    let looks_first = |stood: &Stood| stood.fit == Fit::LooksFirst;
    let leaves_race = |stood: &Stood| stood.fit == Fit::LeavesRace;
    let keeps_little =
        |stood: &Stood| !lack.order && !stood.is_narrow && kept(&stood.repair, passing) < LITTLE;
    stood.sort_by(|a, b| {
        let place = |stood: &Stood| {
            let is_serial = serialises(stood);
            // A lock that leaves little is better than a thread that has to end before another begins.
            let parts = is_serial && stood.fit == Fit::PartsThreads;
            let is_late = [looks_first(stood), fixes_order(stood), leaves_race(stood)];
            (rests_on_sleep(stood), is_serial, parts, is_late, keeps_little(stood))
        };
        place(a).cmp(&place(b)).then(weight(a, passing).total_cmp(&weight(b, passing)))
    });
    let mut shown: Vec<Stood> = Vec::new();
    for mut stood in stood {
        let same = shown.iter().filter(|other| other.repair.kind == stood.repair.kind).count();
        if shown.len() < most && same < of_a_kind {
            let note = if rests_on_sleep(&stood) {
                "it holds only while nobody is late: where a sleep is over before others are through, the program fails as before"
            } else if serialises(&stood) {
                "hardly any concurrency is left: threads that ran side by side now wait for each other"
            } else if looks_first(&stood) {
                "the check that fails comes before what others do: perhaps it no longer sees what it is for"
            } else if fixes_order(&stood) {
                "the threads only have to be kept apart; this also says which of them comes first"
            } else if leaves_race(&stood) {
                "others may still come between the two: a lock or atomic operations would keep them out"
            } else {
                ""
            };
            stood.repair.notes.extend((!note.is_empty()).then(|| note.to_owned()));
            shown.push(stood);
        }
    }
    shown
}

fn is_lock(kind: RepairKind) -> bool {
    matches!(kind, RepairKind::WiderSection | RepairKind::ExistingLock | RepairKind::NewLock)
}

/// Whether all schedules of the patched program are one.
fn leaves_one(repair: &Repair) -> bool {
    let mut checks = repair.checks.iter();
    checks.any(|check| check.how == CheckedAs::Patched && check.complete && check.classes == 1)
}

fn weight(Stood { repair, price, .. }: &Stood, passing: u64) -> f64 {
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

    const NO_ORDER: Lack = Lack { order: false, nothing_else: false };
    const ONLY_ORDER: Lack = Lack { order: true, nothing_else: true };

    fn stood(title: &str, kind: RepairKind, lines: u32, kept: u64) -> Stood {
        let repair = Repair {
            title: title.to_owned(),
            kind,
            covers: Vec::new(),
            leaves: Vec::new(),
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
        Stood { repair, price: 0, fit: Fit::Fits, is_narrow: false, measures: Vec::new() }
    }

    fn titles(stood: Vec<Stood>) -> Vec<String> {
        rank(stood, 10, NO_ORDER, (3, 2)).into_iter().map(|stood| stood.repair.title).collect()
    }

    #[test]
    fn concurrency_counts_before_lines() {
        use RepairKind::{NewLock, Order};
        let shown = titles(vec![
            stood("slower", Order, 2, 1),
            stood("long", NewLock, 30, 10),
            stood("short", NewLock, 4, 9),
        ]);
        assert_eq!(shown, ["short", "long", "slower"]);
    }

    #[test]
    fn what_leaves_a_race_comes_after_what_keeps_others_out() {
        use RepairKind::{MovedStatement, NewLock};
        let moved = Stood { fit: Fit::LeavesRace, ..stood("moved", MovedStatement, 2, 10) };
        let shown = rank(vec![moved, stood("lock", NewLock, 6, 8)], 10, NO_ORDER, (3, 2));
        assert_eq!([&*shown[0].repair.title, &*shown[1].repair.title], ["lock", "moved"]);
        assert_eq!([shown[0].repair.notes.len(), shown[1].repair.notes.len()], [0, 1]);
    }

    #[test]
    fn what_rests_on_a_sleep_comes_last_of_all_and_says_so() {
        use RepairKind::{MovedStatement, NewLock};
        let sleeps = Stood { fit: Fit::RestsOnSleep, ..stood("sleeps", MovedStatement, 2, 10) };
        let serial = stood("serial", NewLock, 30, 0);
        let shown = rank(vec![sleeps, serial], 10, NO_ORDER, (3, 2));
        assert_eq!([&*shown[0].repair.title, &*shown[1].repair.title], ["serial", "sleeps"]);
        assert!(shown[1].repair.notes[0].contains("nobody is late"));
    }

    #[test]
    fn what_serialises_comes_last_and_says_so() {
        use RepairKind::{MovedStatement, NewLock};
        let both = || vec![stood("serial", MovedStatement, 2, 0), stood("long", NewLock, 30, 10)];
        let ranked = |stood, lack, most| -> Vec<Repair> {
            rank(stood, 10, lack, most).into_iter().map(|stood| stood.repair).collect()
        };
        let shown = ranked(both(), NO_ORDER, (3, 2));
        assert_eq!([&*shown[0].title, &*shown[1].title], ["long", "serial"]);
        assert_eq!([shown[0].notes.len(), shown[1].notes.len()], [0, 1]);
        // Where an order is missing, that is what a repair has to bring about.
        let shown = ranked(both(), ONLY_ORDER, (3, 2));
        assert_eq!([&*shown[0].title, &*shown[1].title], ["serial", "long"]);
        assert!(shown[0].notes.is_empty());
    }

    #[test]
    fn what_goes_against_the_advice_comes_after_what_does_not() {
        use RepairKind::{MovedStatement, NewLock, Order};
        let all = || {
            let parts = Stood { fit: Fit::PartsThreads, ..stood("join", MovedStatement, 2, 10) };
            let looks = Stood { fit: Fit::LooksFirst, ..stood("check", Order, 11, 10) };
            let fixes = Stood { fit: Fit::FixesOrder, ..stood("flag", Order, 11, 10) };
            vec![parts, looks, fixes, stood("lock", NewLock, 20, 10)]
        };
        let ranked = |lack, most| -> Vec<Repair> {
            rank(all(), 10, lack, most).into_iter().map(|stood| stood.repair).collect()
        };
        let shown = ranked(NO_ORDER, (4, 2));
        let titles: Vec<&str> = shown.iter().map(|repair| &*repair.title).collect();
        assert_eq!(titles, ["lock", "flag", "check", "join"]);
        let shown = ranked(ONLY_ORDER, (3, 2));
        assert_eq!(shown[0].title, "join", "where an order is missing, it is the advice");
        let shown = ranked(Lack { order: true, nothing_else: false }, (4, 2));
        let last = shown.last().expect("all are shown");
        assert_eq!((&*last.title, last.notes.len()), ("join", 1), "not where only some need one");
    }

    #[test]
    fn a_few_statements_under_a_lock_are_no_serialising() {
        use RepairKind::{NewLock, Order};
        let narrow = Stood { is_narrow: true, ..stood("narrow", NewLock, 6, 0) };
        let shown = rank(vec![stood("flag", Order, 11, 2), narrow], 10, NO_ORDER, (3, 2));
        assert_eq!(shown[0].repair.title, "narrow");
        assert!(shown[0].repair.notes.is_empty());
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
            aside: 0,
            left_out: Vec::new(),
            inputs: Vec::new(),
        });
        assert_eq!(titles(vec![few, stood("more", RepairKind::NewLock, 6, 10)]), ["more", "few"]);
    }
}
