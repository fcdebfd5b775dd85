//! Tiny random traces with all their interleavings, and what is true of them.

use unravel_certify::{Claim, text};
use unravel_solve::brute::{self, Census};
use unravel_solve::generate::{Tiny, tiny};
use unravel_solve::proof::{Line, Meaning};
use unravel_solve::{
    Answer, Before, Evaluator, Goal, Model, Op, Orders, Query, Solver, Source, StepId, Verdict,
    Weights, Wish, criteria,
};
use unravel_trace::Rng;

/// More interleavings than this are too many for a test.
const LIMIT: usize = 600;

pub struct Case {
    pub seed: u64,
    pub model: Model,
    census: Census,
    observed: Vec<StepId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    True,
    False,
}

pub fn cases(seeds: u64) -> impl Iterator<Item = Case> {
    (0..seeds).filter_map(|seed| {
        let list_sync = seed.is_multiple_of(2);
        let generated = tiny(seed, Tiny { threads: 3, events: 8, list_sync });
        let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
        let census = brute::census(&model, LIMIT)?;
        let observed = model.observed().expect("it was observed");
        Some(Case { seed, model, census, observed })
    })
}

/// All orders that end so, with what each makes of some variables.
pub type Assignments = Vec<(Vec<StepId>, Vec<bool>)>;

impl Case {
    fn endings(&self, wish: Wish) -> impl Iterator<Item = &brute::Ending> {
        self.census.orders.iter().filter(move |ending| match wish {
            Wish::Fails => matches!(ending.verdict, Verdict::Fails { .. }),
            Wish::Passes => ending.verdict == Verdict::Passes,
        })
    }

    /// What was performed, then the rest.
    fn complete(&self, performed: &[StepId]) -> Vec<StepId> {
        let mut order = performed.to_vec();
        order.extend(self.model.steps().filter(|step| !performed.contains(step)));
        order
    }

    pub fn assignments(&self, wish: Wish, words: &[Line]) -> Assignments {
        let mut evaluator = Evaluator::new(&self.model);
        let endings = self.endings(wish);
        endings
            .map(|ending| {
                let order = self.complete(&ending.order);
                evaluator.evaluate(&order);
                let mut read: Vec<Option<Source>> = vec![None; self.model.reads().len()];
                for step in evaluator.performed() {
                    for op in evaluator.performed_ops(*step) {
                        if let Op::Read(slot) = op {
                            read[slot.index()] = Some(evaluator.sources()[slot.index()]);
                        }
                    }
                }
                let place = |step: &StepId| order.iter().position(|s| s == step);
                let value = |line: &Line| match line {
                    Line::Means(_, Meaning::Order(a, b)) => place(a) < place(b),
                    Line::Means(_, Meaning::Reads(slot, source)) => {
                        read[slot.index()] == Some(*source)
                    }
                    other => panic!("no word: {other:?}"),
                };
                (order.clone(), words.iter().map(value).collect())
            })
            .collect()
    }

    /// Certificates of what is so: that there is no order, a core, bounds.
    pub fn certificates(&mut self) -> Vec<String> {
        let mut rng = Rng::new(self.seed);
        let mut assume = Vec::new();
        for (index, first) in self.observed.iter().enumerate() {
            for second in &self.observed[index + 1..] {
                if self.model.owner(*first) != self.model.owner(*second) && rng.below(3) == 0 {
                    assume.push(Before { first: *first, second: *second });
                }
            }
        }
        let mut found = Vec::new();
        for wish in [Wish::Fails, Wish::Passes] {
            let query = Query::new(&self.model, wish);
            let mut solver = Orders::logging();
            if solver.find(&query) == Answer::No {
                found.push(written(&query, &mut solver, Claim::None));
            }
        }
        let query = Query { assume, ..Query::new(&self.model, Wish::Passes) };
        let mut solver = Orders::logging();
        if let Answer::Yes(core) = solver.core(&query) {
            found.push(written(&query, &mut solver, Claim::Core(core)));
        }
        let query = Query { near: Some(&self.observed), ..Query::new(&self.model, Wish::Passes) };
        for goal in
            [Goal::Lexicographic, Goal::Sum(Weights { data_flow: 1, segments: 1, switches: 1 })]
        {
            let mut solver = Orders::logging();
            if let Answer::Yes(nearest) = solver.nearest(&query, goal) {
                let stages = if goal == Goal::Lexicographic { 3 } else { 1 };
                let bounds = nearest.bound[..stages].iter().map(|b| u64::from(*b)).collect();
                found.push(written(&query, &mut solver, Claim::Bound(bounds)));
            }
        }
        found
    }

    /// Whether all that is claimed in an accepted text is so. The question and the stages are those of the text.
    pub fn truth(&self, text: &str, claims: &[Claim]) -> Truth {
        let wish = if text.contains("wish fails") { Wish::Fails } else { Wish::Passes };
        let questions = text.lines().filter(|line| line.starts_with('?'));
        for (question, claim) in questions.zip(claims) {
            let section = |name: &str| -> Vec<&str> {
                let names = ["near", "free", "keep", "block", "assume"];
                let words = question.split(' ').skip_while(|word| *word != name).skip(1);
                words.take_while(|word| !names.contains(word)).collect()
            };
            let pairs = |name: &str| -> Vec<(StepId, StepId)> {
                let pair = |word: &&str| {
                    let (first, second) = word.split_once('<').expect("a pair");
                    (
                        StepId(first.parse().expect("a step")),
                        StepId(second.parse().expect("a step")),
                    )
                };
                section(name).iter().map(pair).collect()
            };
            let mut kept = pairs("keep");
            if let Claim::Core(members) = claim {
                let assumed = pairs("assume");
                kept.extend(members.iter().map(|index| assumed[*index]));
            }
            let holds = |order: &[StepId]| {
                let place = |step: &StepId| order.iter().position(|s| s == step);
                kept.iter().all(|(a, b)| place(a) < place(b))
            };
            let orders = || self.endings(wish).filter(|e| holds(&self.complete(&e.order)));
            let so = match claim {
                Claim::None | Claim::Core(_) => orders().next().is_none(),
                Claim::Bound(bounds) => {
                    let near: Vec<StepId> = section("near")
                        .iter()
                        .map(|word| StepId(word.parse().expect("a step")))
                        .collect();
                    orders().all(|ending| self.costs(text, &near, ending) >= *bounds)
                }
            };
            if !so {
                return Truth::False;
            }
        }
        Truth::True
    }

    /// What an order costs, stage by stage of the text.
    fn costs(&self, text: &str, near: &[StepId], ending: &brute::Ending) -> Vec<u64> {
        let mut evaluator = Evaluator::new(&self.model);
        evaluator.evaluate(near);
        let flows = criteria::flows(&self.model, &evaluator);
        let cost = criteria::distance(&self.model, near, &flows, &ending.order, &ending.flows);
        let stages = text.lines().filter_map(|line| line.strip_prefix("stage "));
        let weighted = |stage: &str| {
            let weights = stage.split(' ').map(|w| w.parse::<u64>().expect("a weight"));
            weights.zip(cost).map(|(weight, cost)| weight * u64::from(cost)).sum()
        };
        stages.map(weighted).collect()
    }
}

fn written(query: &Query<'_>, solver: &mut Orders, claim: Claim) -> String {
    let proof = solver.take_proof().expect("it logs");
    text::header(query) + &text::part(query, &proof.lines, Some(&claim))
}
