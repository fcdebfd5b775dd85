//! What is entered and left, and what a thread does then.

use std::collections::BTreeMap;

use super::Measure;

/// Something that a thread does on its way into or out of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Await(u32),
    Raise(u32),
    Acquire(u32),
    Release(u32),
    BeginAtomic,
    EndAtomic,
}

/// Something that threads are inside or outside of: the spans of one lock, those of all atomic sections, the
/// span of a flag.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Indices of its measures.
    measures: Vec<usize>,
    enter: Option<Act>,
    leave: Option<Act>,
}

/// The guards of some measures, outermost first.
pub(super) fn guards(measures: &[Measure]) -> Vec<Guard> {
    let mut flags = Vec::new();
    let mut locks: BTreeMap<u32, Guard> = BTreeMap::new();
    let mut atomic = Guard::default();
    for (index, measure) in measures.iter().enumerate() {
        match *measure {
            Measure::Raise { flag, .. } => {
                let leave = Some(Act::Raise(flag));
                flags.push(Guard { measures: vec![index], enter: None, leave });
            }
            Measure::Await { flag, .. } => {
                let enter = Some(Act::Await(flag));
                flags.push(Guard { measures: vec![index], enter, leave: None });
            }
            Measure::Hold { lock, .. } => {
                let guard = locks.entry(lock).or_default();
                guard.measures.push(index);
                guard.enter = Some(Act::Acquire(lock));
                guard.leave = Some(Act::Release(lock));
            }
            Measure::Atomic { .. } => {
                atomic.measures.push(index);
                atomic.enter = Some(Act::BeginAtomic);
                atomic.leave = Some(Act::EndAtomic);
            }
        }
    }
    flags.into_iter().chain(locks.into_values()).chain([atomic]).collect()
}

/// What a thread does between an instruction that lies in the spans of some measures and one that lies in those
/// of others: what it leaves, and what it enters.
pub(super) fn crossing(guards: &[Guard], from: &[usize], to: &[usize]) -> (Vec<Act>, Vec<Act>) {
    let is_left = |guard: &&Guard| guard.contains(from) && !guard.goes_on(from, to);
    let is_entered = |guard: &&Guard| guard.contains(to) && !guard.goes_on(from, to);
    let left = guards.iter().rev().filter(is_left).filter_map(|guard| guard.leave);
    let entered = guards.iter().filter(is_entered).filter_map(|guard| guard.enter);
    (once_each(left), once_each(entered))
}

/// Two measures may ask for the same flag.
fn once_each(acts: impl Iterator<Item = Act>) -> Vec<Act> {
    let mut kept = Vec::new();
    for act in acts {
        if !kept.contains(&act) {
            kept.push(act);
        }
    }
    kept
}

impl Guard {
    fn contains(&self, spans: &[usize]) -> bool {
        self.measures.iter().any(|measure| spans.contains(measure))
    }

    /// Whether some span of it contains both sides.
    fn goes_on(&self, from: &[usize], to: &[usize]) -> bool {
        self.measures.iter().any(|measure| from.contains(measure) && to.contains(measure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weave::Span;

    fn span() -> Span {
        Span { file: "a.c".into(), from: (1, 1), to: (2, 1) }
    }

    #[test]
    fn what_ends_comes_first_and_flags_lie_outside_of_locks() {
        let measures = [
            Measure::Atomic { span: span() },
            Measure::Hold { lock: 2, span: span() },
            Measure::Hold { lock: 1, span: span() },
            Measure::Await { flag: 7, span: span() },
            Measure::Raise { flag: 8, span: span() },
        ];
        let all = [0, 1, 2, 3, 4];
        let (left, entered) = crossing(&guards(&measures), &[], &all);
        assert_eq!(left, []);
        let inwards = [Act::Await(7), Act::Acquire(1), Act::Acquire(2), Act::BeginAtomic];
        assert_eq!(entered, inwards);
        let (left, entered) = crossing(&guards(&measures), &all, &[]);
        let outwards = [Act::EndAtomic, Act::Release(2), Act::Release(1), Act::Raise(8)];
        assert_eq!(left, outwards);
        assert_eq!(entered, []);
    }

    #[test]
    fn spans_of_one_lock_are_held_as_one_where_they_overlap() {
        let hold = Measure::Hold { lock: 1, span: span() };
        let guards = guards(&[hold.clone(), hold]);
        assert_eq!(crossing(&guards, &[0], &[0, 1]), (vec![], vec![]));
        assert_eq!(crossing(&guards, &[0, 1], &[1]), (vec![], vec![]));
        let touching = (vec![Act::Release(1)], vec![Act::Acquire(1)]);
        assert_eq!(crossing(&guards, &[0], &[1]), touching);
    }

    #[test]
    fn a_flag_is_raised_whenever_one_of_its_spans_is_left() {
        let raise = Measure::Raise { flag: 1, span: span() };
        let guards = guards(&[raise.clone(), raise]);
        assert_eq!(crossing(&guards, &[0, 1], &[1]), (vec![Act::Raise(1)], vec![]));
        assert_eq!(crossing(&guards, &[0, 1], &[]), (vec![Act::Raise(1)], vec![]));
    }
}
