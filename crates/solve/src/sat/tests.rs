//! Random formulas against trying all assignments: answers, cores, clauses that come later, and a theory that
//! counts.

use unravel_trace::Rng;

use super::{Budget, Ended, Keep, Lit, Said, Sat, Theory};
use crate::Bounds;
use crate::proof::Reason;

/// At most so many of these are true; told only when it is too late, or at the very end.
struct AtMost {
    literals: Vec<Lit>,
    most: usize,
    eager: bool,
    is_true: Vec<Lit>,
    levels: Vec<usize>,
    extra: bool,
}

impl AtMost {
    fn say(&mut self, said: &mut Said<'_>) {
        if self.is_true.len() > self.most {
            let mut clause: Vec<Lit> =
                self.is_true[..=self.most].iter().map(|literal| !*literal).collect();
            if self.extra {
                // A variable made on the spot that turns out to be useless.
                let fresh = said.variables.add(true, false, false);
                said.clause(vec![!fresh], Keep::Forever, Reason::Count);
                clause.push(fresh);
            }
            let keep = if self.extra { Keep::Forever } else { Keep::WhileUseful };
            said.clause(clause, keep, Reason::Count);
        }
    }
}

impl Theory for AtMost {
    fn assigned(&mut self, literal: Lit, said: &mut Said<'_>) {
        if self.literals.contains(&literal) {
            self.is_true.push(literal);
            if self.eager {
                self.say(said);
            }
        }
    }

    fn begin_level(&mut self) {
        self.levels.push(self.is_true.len());
    }

    fn back_to(&mut self, levels: usize) {
        self.is_true.truncate(self.levels[levels]);
        self.levels.truncate(levels);
    }

    fn complete(&mut self, said: &mut Said<'_>) {
        self.say(said);
    }
}

struct Instance {
    variables: usize,
    clauses: Vec<Vec<(usize, bool)>>,
    most: usize,
}

impl Instance {
    fn random(rng: &mut Rng) -> Instance {
        let variables = 4 + rng.below(8) as usize;
        let count = variables * (2 + rng.below(3) as usize);
        let literal = |rng: &mut Rng| (rng.below(variables as u32) as usize, rng.below(2) == 0);
        let clause = |rng: &mut Rng| (0..2 + rng.below(2)).map(|_| literal(rng)).collect();
        let clauses = (0..count).map(|_| clause(rng)).collect();
        Instance { variables, clauses, most: rng.below(variables as u32 + 1) as usize }
    }

    fn holds(&self, assignment: u32, clauses: usize, assumed: &[(usize, bool)]) -> bool {
        let is = |(variable, value): &(usize, bool)| (assignment >> variable & 1 == 1) == *value;
        assignment.count_ones() as usize <= self.most
            && assumed.iter().all(is)
            && self.clauses[..clauses].iter().all(|clause| clause.iter().any(is))
    }

    fn is_possible(&self, clauses: usize, assumed: &[(usize, bool)]) -> bool {
        (0..1 << self.variables).any(|assignment| self.holds(assignment, clauses, assumed))
    }
}

#[test]
fn agrees_with_trying_everything() {
    let (mut yes, mut no, mut cores) = (0, 0, 0);
    for seed in 0..3_000 {
        let mut rng = Rng::new(seed);
        let instance = Instance::random(&mut rng);
        let mut sat = Sat::default();
        let variables: Vec<Lit> = (0..instance.variables)
            .map(|_| sat.variables.add(rng.below(2) == 0, true, false))
            .collect();
        let literal =
            |(v, value): &(usize, bool)| if *value { variables[*v] } else { !variables[*v] };
        let mut theory = AtMost {
            literals: variables.clone(),
            most: instance.most,
            eager: rng.below(2) == 0,
            is_true: Vec::new(),
            levels: Vec::new(),
            extra: rng.below(3) == 0,
        };
        let budget = Budget::new(Bounds::default(), &sat);
        let mut added = 0;
        for _ in 0..4 {
            let more = (added + 1 + rng.below(9) as usize).min(instance.clauses.len());
            for clause in &instance.clauses[added..more] {
                sat.add(clause.iter().map(literal).collect());
            }
            added = more;
            let assumed: Vec<(usize, bool)> = (0..rng.below(6))
                .map(|_| (rng.below(instance.variables as u32) as usize, rng.below(2) == 0))
                .collect();
            let assumptions: Vec<Lit> = assumed.iter().map(literal).collect();
            let expected = instance.is_possible(added, &assumed);
            match sat.solve(&mut theory, &assumptions, &budget) {
                Ended::Yes => {
                    assert!(expected, "seed {seed}");
                    yes += 1;
                }
                Ended::No => {
                    assert!(!expected, "seed {seed}");
                    let blamed: Vec<(usize, bool)> = assumed
                        .iter()
                        .copied()
                        .filter(|of| sat.core().contains(&literal(of)))
                        .collect();
                    assert!(!instance.is_possible(added, &blamed), "seed {seed}: {blamed:?}");
                    assert!(sat.core().iter().all(|l| assumptions.contains(l)), "seed {seed}");
                    cores += usize::from(blamed.len() < assumed.len());
                    no += 1;
                }
                Ended::Stopped(stop) => panic!("seed {seed}: {stop:?}"),
            }
        }
    }
    assert!(yes > 1_000 && no > 1_000 && cores > 500, "{yes} yes, {no} no, {cores} small cores");
}

#[test]
fn luby_doubles() {
    let first: Vec<u64> = (1..=15).map(super::luby).collect();
    assert_eq!(first, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
}
