//! Causes that are the same for a reader, and how classes of them relate.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_results::{CausalOrder, Cause, CauseClass, CauseRegion, LineOrder, Participant};
use unravel_trace::{EventKey, Place, SourceLine};

/// A cause with the words for it.
#[derive(Clone, Debug)]
pub struct Worded {
    pub cause: Cause,
    pub words: unravel_diagnose::Words,
    /// Failures it leads to.
    pub bugs: Vec<usize>,
    /// Inputs with which it does, by their numbers.
    pub inputs: Vec<usize>,
}

/// Puts causes together whose orders are between the same lines; simple ones come first.
pub fn classes(causes: Vec<Worded>) -> Vec<CauseClass> {
    let mut classes: Vec<CauseClass> = Vec::new();
    let mut by_lines: FxHashMap<(Vec<(SourceLine, SourceLine)>, String), usize> =
        FxHashMap::default();
    for Worded { cause, words, bugs, inputs } in causes {
        // Without orders, what is said is all there is.
        let said = if cause.orders.is_empty() { words.sentence.clone() } else { String::new() };
        let lines = (lines(&cause.orders), said);
        if let Some(index) = by_lines.get(&lines) {
            let class = &mut classes[*index];
            class.causes.push(cause);
            let new = bugs.into_iter().filter(|bug| !class.bugs.contains(bug));
            let new: Vec<usize> = new.collect();
            class.bugs.extend(new);
            class.inputs.extend(inputs);
            class.inputs.sort_unstable();
            class.inputs.dedup();
            continue;
        }
        let regions = regions(&cause.orders);
        let same = |class: &CauseClass| is_same(&class.regions, &regions);
        by_lines.insert(lines, classes.len());
        classes.push(CauseClass {
            same_regions_as: classes.iter().position(same),
            causes: vec![cause],
            pattern: words.pattern,
            sentence: words.sentence,
            advice: words.advice,
            regions,
            bugs,
            inputs,
        });
    }
    classes
}

/// The orders of all classes between lines, each once, as the paper counts them.
pub fn unique(classes: &[CauseClass]) -> Vec<LineOrder> {
    let mut seen = FxHashSet::default();
    let mut unique = Vec::new();
    for order in classes.iter().flat_map(|class| &class.causes).flat_map(|cause| &cause.orders) {
        let (first, second) = order.lines();
        if seen.insert((first.clone(), second.clone())) {
            unique.push(LineOrder { first, second, object: order.object.clone() });
        }
    }
    unique
}

fn lines(orders: &[CausalOrder]) -> Vec<(SourceLine, SourceLine)> {
    let mut lines: Vec<_> = orders.iter().map(CausalOrder::lines).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// What each thread does in a cause, from its first event there to its last.
fn regions(orders: &[CausalOrder]) -> Vec<CauseRegion> {
    let mut events: Vec<&Participant> =
        orders.iter().flat_map(|order| [&order.first, &order.second]).collect();
    let by_time = |who: &&Participant| (who.event.unwrap_or(u32::MAX), who.place.clone());
    events.sort_by_key(by_time);
    let mut regions: Vec<CauseRegion> = Vec::new();
    for Participant { key: EventKey { thread, .. }, place, .. } in events {
        match regions.iter_mut().find(|region| region.thread == *thread) {
            Some(region) => region.to = place.clone(),
            None => regions.push(CauseRegion {
                thread: thread.clone(),
                from: place.clone(),
                to: place.clone(),
            }),
        }
    }
    regions
}

/// Whether two causes are about the same stretches of code, whoever executes them.
fn is_same(one: &[CauseRegion], other: &[CauseRegion]) -> bool {
    let places = |regions: &[CauseRegion]| {
        let mut places: Vec<(Place, Place)> = regions
            .iter()
            .map(|r| (r.from.clone().min(r.to.clone()), r.to.clone().max(r.from.clone())))
            .collect();
        places.sort();
        places.iter().map(|(from, to)| (from.file.clone(), from.line, to.line)).collect::<Vec<_>>()
    };
    places(one) == places(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_diagnose::Words;
    use unravel_results::Pattern;
    use unravel_trace::{Schedule, SiteId, ThreadName};

    /// That T0.1 writes at line 12 of a file before T0.2 does.
    fn cause(file: &str, column: u32) -> Worded {
        let who = |thread: u32| Participant {
            key: EventKey {
                thread: ThreadName::main().child(thread),
                site: SiteId(column),
                occurrence: 0,
            },
            place: Place {
                function: "add".into(),
                file: file.into(),
                line: 12,
                column,
                wrapper: false,
            },
            verb: unravel_trace::Verb::Writes,
            event: Some(thread),
            called: None,
        };
        let order =
            CausalOrder { first: who(1), second: who(2), object: "x".to_owned(), witness: None };
        let cause = Cause {
            orders: vec![order],
            failing: Schedule::default(),
            constraints: 1,
            blocks: 1,
            minimal: true,
        };
        let words = Words {
            pattern: Pattern::OrderViolation,
            sentence: String::new(),
            advice: String::new(),
            region: Vec::new(),
        };
        Worded { cause, words, bugs: Vec::new(), inputs: Vec::new() }
    }

    #[test]
    fn lines_of_two_files_with_one_name_are_not_mixed() {
        let classes = classes(vec![cause("d1/util.c", 5), cause("d2/util.c", 5)]);
        assert_eq!(classes.len(), 2);
        assert_eq!(unique(&classes).len(), 2);
        assert_eq!(classes[1].same_regions_as, None);
    }

    #[test]
    fn a_class_holds_for_the_inputs_of_all_its_causes() {
        let with =
            |column, inputs: &[usize]| Worded { inputs: inputs.to_vec(), ..cause("a.c", column) };
        let classes = classes(vec![with(5, &[2]), with(9, &[0, 2])]);
        assert_eq!(classes[0].inputs, [0, 2]);
    }

    #[test]
    fn one_line_is_one_class_whatever_the_column() {
        let classes = classes(vec![cause("d1/util.c", 5), cause("d1/util.c", 9)]);
        assert_eq!((classes.len(), classes[0].causes.len()), (1, 2));
        assert_eq!(unique(&classes).len(), 1);
    }
}
