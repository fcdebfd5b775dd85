//! A solver whose proofs are checked before anyone hears of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use unravel_solve::{Answer, Found, Goal, Nearest, Orders, Query, Solver, Weights};

use crate::text::Writer;
use crate::{Checker, Claim, Unchecked};

/// What came of the proofs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// Claims whose proofs were accepted, by kind: that there is no order, cores, bounds.
    pub none: u64,
    pub cores: u64,
    pub bounds: u64,
    /// Lines of proofs that were checked.
    pub lines: u64,
    /// No order on the path has fewer data-flow variations: the best bound on all of them.
    pub flows: u64,
    /// Claims that rest on rules that were taken on trust; with how many clauses of each.
    pub partly: u64,
    pub trusted: BTreeMap<Unchecked, u64>,
    /// Claims that were withdrawn, and why.
    pub refused: Vec<String>,
    /// Files that were written.
    pub files: Vec<PathBuf>,
    /// The first thing that went wrong with them.
    pub problem: Option<(PathBuf, io::ErrorKind)>,
}

impl Ledger {
    pub fn accepted(&self) -> u64 {
        self.none + self.cores + self.bounds
    }
}

/// [`Orders`], of which every "no", core and bound is checked. What is refused becomes unknown.
#[derive(Debug)]
pub struct Certifying {
    solver: Orders,
    /// By session that may go on.
    checkers: BTreeMap<u64, (Checker, Option<Writer>)>,
    directory: Option<PathBuf>,
    ledger: Rc<RefCell<Ledger>>,
    /// What tests do to proofs.
    #[cfg(test)]
    damage: Option<fn(&mut Vec<unravel_solve::proof::Line>)>,
}

impl Certifying {
    /// Writes the certificates to this directory, if there is one. The ledger is filled as questions are answered.
    pub fn new(directory: Option<&Path>) -> io::Result<(Certifying, Rc<RefCell<Ledger>>)> {
        if let Some(directory) = directory {
            std::fs::create_dir_all(directory)?;
        }
        let ledger = Rc::new(RefCell::new(Ledger::default()));
        let certifying = Certifying {
            solver: Orders::logging(),
            checkers: BTreeMap::new(),
            directory: directory.map(std::path::absolute).transpose()?,
            ledger: Rc::clone(&ledger),
            #[cfg(test)]
            damage: None,
        };
        Ok((certifying, ledger))
    }

    /// Checks what the last question added, and what is claimed. Why it is refused, if it is.
    fn check(&mut self, query: &Query<'_>, claim: Option<&Claim>) -> Result<(), String> {
        let mut ledger = self.ledger.borrow_mut();
        let (mut checker, mut writer, lines, session) = match self.solver.take_proof() {
            #[cfg_attr(not(test), expect(unused_mut))]
            Some(mut part) => {
                #[cfg(test)]
                if let Some(damage) = self.damage {
                    damage(&mut part.lines);
                }
                let known = self.checkers.remove(&part.session);
                let (checker, writer) = known.unwrap_or_else(|| {
                    let path = self.directory.as_ref();
                    let path = path.map(|dir| dir.join(format!("{:02}.certificate", part.session)));
                    ledger.files.extend(path.clone());
                    (Checker::default(), path.map(|path| Writer::new(path, query)))
                });
                (checker, writer, part.lines, Some(part.session))
            }
            None => (Checker::default(), None, Vec::new(), None),
        };
        let before = checker.lines();
        let checked = checker.check(query, &lines, claim);
        if let Some(writer) = &mut writer
            && let Err(error) = writer.write(query, &lines, claim)
        {
            ledger.problem.get_or_insert((writer.path.clone(), error.kind()));
        }
        ledger.lines += checker.lines() - before;
        if let (Ok(()), Some(claim)) = (&checked, claim) {
            match claim {
                Claim::None => ledger.none += 1,
                Claim::Core(_) => ledger.cores += 1,
                Claim::Bound(_) => ledger.bounds += 1,
            }
            if !checker.unchecked().is_empty() {
                ledger.partly += 1;
                for (rule, count) in checker.unchecked() {
                    let most = ledger.trusted.entry(*rule).or_insert(0);
                    *most = (*most).max(*count);
                }
            }
        }
        let refused = checked.err().map(|(line, why)| match line {
            Some(line) => format!("line {} of its proof: {why}", before + line as u64 + 1),
            None => why.to_string(),
        });
        if let (Some(why), Some(_)) = (&refused, claim) {
            ledger.refused.push(why.clone());
        }
        if let Some(session) = session {
            self.checkers.insert(session, (checker, writer));
        }
        let alive = self.solver.sessions();
        self.checkers.retain(|session, _| alive.contains(session));
        refused.map_or(Ok(()), Err)
    }
}

fn withdrawn<T>(why: &str, best: Option<T>) -> Answer<T> {
    Answer::Unknown { reason: format!("the certificate was refused ({why})"), best }
}

impl Solver for Certifying {
    fn name(&self) -> String {
        self.solver.name()
    }

    fn find(&mut self, query: &Query<'_>) -> Answer<Found> {
        let answer = self.solver.find(query);
        let claim = (answer == Answer::No).then_some(Claim::None);
        match (self.check(query, claim.as_ref()), &claim) {
            (Err(why), Some(_)) => withdrawn(&why, None),
            _ => answer,
        }
    }

    fn core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        let answer = self.solver.core(query);
        let claim = match &answer {
            Answer::Yes(core) => Some(Claim::Core(core.clone())),
            _ => None,
        };
        match (self.check(query, claim.as_ref()), &claim) {
            (Err(why), Some(_)) => withdrawn(&why, None),
            _ => answer,
        }
    }

    fn nearest(&mut self, query: &Query<'_>, goal: Goal) -> Answer<Nearest> {
        let answer = self.solver.nearest(query, goal);
        let flows_alone = Goal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 });
        let stages = if goal == Goal::Lexicographic { 3 } else { 1 };
        let claim = match &answer {
            Answer::Yes(nearest) | Answer::Unknown { best: Some(nearest), .. } => {
                let bound = &nearest.bound[..stages];
                // That nothing costs less than nothing is no claim.
                let claims = bound.iter().any(|least| *least > 0);
                claims.then(|| Claim::Bound(bound.iter().copied().map(u64::from).collect()))
            }
            Answer::No => Some(Claim::None),
            Answer::Unknown { best: None, .. } => None,
        };
        let checked = self.check(query, claim.as_ref());
        let of_all = query.keep.is_empty() && query.blocked.is_empty() && query.free.is_none();
        if let (Ok(()), Some(Claim::Bound(bound))) = (&checked, &claim)
            && of_all
            && (goal == flows_alone || goal == Goal::Lexicographic)
        {
            let mut ledger = self.ledger.borrow_mut();
            ledger.flows = ledger.flows.max(bound[0]);
        }
        match (checked, answer) {
            (Err(why), Answer::Yes(best) | Answer::Unknown { best: Some(best), .. })
                if claim.is_some() =>
            {
                withdrawn(&why, Some(Nearest { bound: [0; 3], ..best }))
            }
            (Err(why), Answer::No) => withdrawn(&why, None),
            (_, answer) => answer,
        }
    }

    fn proves_up_to(&self) -> usize {
        self.solver.proves_up_to()
    }

    fn conflicts(&self) -> Option<u64> {
        self.solver.conflicts()
    }
}

#[cfg(test)]
mod tests {
    use unravel_solve::generate::counter;
    use unravel_solve::proof::Line;
    use unravel_solve::{Before, Model, Wish};

    use super::*;

    fn asked(damage: Option<fn(&mut Vec<Line>)>) -> (Answer<Found>, Answer<Nearest>, Ledger) {
        let generated = counter(2, 4, 1, 3);
        let model = Model::new(&generated.trace, &generated.symbolic).expect("a trace");
        let observed = model.observed().expect("it was observed");
        let (mut solver, ledger) = Certifying::new(None).expect("nothing is written");
        solver.damage = damage;
        // In the recorded order it fails.
        let pairs = observed.windows(2).map(|pair| Before { first: pair[0], second: pair[1] });
        let query = Query { keep: pairs.collect(), ..Query::new(&model, Wish::Passes) };
        let none = solver.find(&query);
        let near = Query { near: Some(&observed), ..Query::new(&model, Wish::Passes) };
        let flows = Weights { data_flow: 1, segments: 0, switches: 0 };
        let nearest = solver.nearest(&near, Goal::Sum(flows));
        let ledger = ledger.borrow().clone();
        (none, nearest, ledger)
    }

    #[test]
    fn what_is_accepted_is_said() {
        let (none, nearest, ledger) = asked(None);
        assert_eq!(none, Answer::No);
        let Answer::Yes(nearest) = nearest else { panic!("{nearest:?}") };
        assert!(nearest.bound[0] > 0);
        assert_eq!((ledger.none, ledger.bounds), (1, 1));
        assert_eq!(ledger.flows, u64::from(nearest.bound[0]));
        assert!(ledger.refused.is_empty() && ledger.trusted.is_empty(), "{ledger:?}");
    }

    #[test]
    fn what_is_refused_is_withdrawn() {
        let (none, nearest, ledger) =
            asked(Some(|lines| lines.retain(|line| !matches!(line, Line::Holds(..)))));
        let Answer::Unknown { reason, best: None } = none else { panic!("{none:?}") };
        assert!(reason.contains("the certificate was refused (line "), "{reason}");
        let Answer::Unknown { best: Some(best), .. } = nearest else { panic!("{nearest:?}") };
        assert_eq!(best.bound, [0; 3]);
        assert_eq!((ledger.accepted(), ledger.flows, ledger.refused.len()), (0, 0, 2));
    }
}
