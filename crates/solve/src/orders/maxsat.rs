//! Fewest violated wishes: disjoint cores first, then core by core (OLL).
//!
//! All wishes are assumed. Each core is a set of which one must be given up: it counts once and is set aside, until
//! what is left can hold. That gives an answer near the anchor and a bound; they often meet. If not, each core gets a
//! counter, and "no more than one of these", then two, becomes a wish in their place (OLL: Andres, Kaufmann, Matheis
//! and Schaub), until all that is left holds. Weights are split as usual.
//!
//! A wish may stand for several that nobody has looked at yet (a read of many bytes): if it is in a core it is *opened*
//! and the search goes on with those.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::session::Open;
use crate::budgets::{FEW_CONFLICTS, MANY_CORES, SMALL_CORE, TRIMS};
use crate::proof::{self, Line, Reason};
use crate::sat::{Budget, Ended, Keep, Lit, Said, Stop};

/// Wishes with their weights, in a fixed order.
pub(super) type Wishes = BTreeMap<Lit, u64>;

/// What to do with a wish that stands for several: the wishes in its place.
pub(super) trait Opener {
    fn open(&mut self, wish: Lit, open: &mut Open<'_, '_>) -> Option<Vec<(Lit, u64)>>;
    /// These hold in the best answers: puts what is to hold in place of wishes that ask for more than they count for.
    fn settle(&mut self, holds: Vec<Lit>, open: &mut Open<'_, '_>) -> Vec<Lit>;
    /// An answer was found; its cost, if it counts.
    fn found(&mut self, open: &mut Open<'_, '_>) -> Result<Option<u64>, String>;
}

/// How it ended.
#[derive(Debug)]
pub(super) enum Minimum {
    /// The bound is met. If all wishes weigh the same, these hold in the best answers, and only there.
    Reached {
        holds: Vec<Lit>,
    },
    /// The hard part cannot hold.
    Impossible,
    Stopped(Stop),
    Failed(String),
}

/// "More than so many of these are violated": by number, as far as it was made.
#[derive(Clone, Debug)]
struct Counter {
    /// Negated wishes.
    inputs: Vec<Lit>,
    /// `outputs[j]`: more than j of them hold.
    outputs: Vec<Lit>,
}

pub(super) struct Minimiser<'a, 's, 'm, 'b> {
    pub open: &'a mut Open<'s, 'm>,
    pub hard: Vec<Lit>,
    pub budget: Budget<'b>,
    /// No answer costs less.
    pub lower: u64,
    /// The cheapest answer so far.
    pub upper: Option<u64>,
    /// The other assumptions that the last core blames.
    under: Vec<Lit>,
    counters: Vec<Counter>,
    /// By wish "no more than j of a counter".
    counts: BTreeMap<Lit, (usize, usize)>,
}

impl<'a, 's, 'm, 'b> Minimiser<'a, 's, 'm, 'b> {
    pub fn new(open: &'a mut Open<'s, 'm>, hard: Vec<Lit>, budget: Budget<'b>) -> Self {
        let (counters, counts) = (Vec::new(), BTreeMap::new());
        let under = Vec::new();
        Minimiser { open, hard, budget, lower: 0, upper: None, under, counters, counts }
    }

    pub fn run(&mut self, mut wishes: Wishes, opener: &mut dyn Opener) -> Minimum {
        let mut aside: Vec<(Vec<Lit>, u64)> = Vec::new();
        let mut heavier: Vec<(Lit, u64)> = Vec::new();
        // Disjoint cores.
        loop {
            match self.core(&wishes, opener) {
                Step::Yes => break,
                Step::No(core) => {
                    let weight = self.charge(&core, &mut wishes);
                    let left = core.iter().filter_map(|literal| wishes.remove_entry(literal));
                    heavier.extend(left);
                    aside.push((core, weight));
                    if aside.len() == MANY_CORES {
                        self.find_any(&wishes, opener);
                    }
                }
                Step::Opened(gone, new) => add(&mut wishes, Some(gone), new),
                Step::End(end) => return end,
            }
        }
        for (core, weight) in aside {
            self.count(core, weight, &mut wishes);
        }
        add(&mut wishes, None, heavier);
        while self.upper != Some(self.lower) {
            match self.core(&wishes, opener) {
                Step::Yes => break,
                Step::No(core) => {
                    let weight = self.charge(&core, &mut wishes);
                    self.count(core, weight, &mut wishes);
                }
                Step::Opened(gone, new) => add(&mut wishes, Some(gone), new),
                Step::End(end) => return end,
            }
        }
        Minimum::Reached { holds: opener.settle(wishes.into_keys().collect(), self.open) }
    }

    /// Looks for an answer, however dear, by giving up whole cores: there may be many more to come before the first.
    fn find_any(&mut self, wishes: &Wishes, opener: &mut dyn Opener) {
        let mut held: Vec<Lit> = wishes.keys().copied().collect();
        loop {
            let assumptions: Vec<Lit> = self.hard.iter().chain(&held).copied().collect();
            match self.open.solve(&assumptions, &self.budget) {
                Ended::Stopped(_) => return,
                Ended::Yes => return self.keep_if_found(opener),
                Ended::No => {
                    let core: FxHashSet<Lit> = self.open.sat.core().iter().copied().collect();
                    let before = held.len();
                    held.retain(|literal| !core.contains(literal));
                    if held.len() == before {
                        return;
                    }
                }
            }
        }
    }

    /// An answer came up on the way.
    fn keep_if_found(&mut self, opener: &mut dyn Opener) {
        if self.open.search.state.trouble.take().is_none()
            && let Ok(cost) = opener.found(self.open)
        {
            self.lower_upper(cost);
        }
    }

    fn lower_upper(&mut self, cost: Option<u64>) {
        self.upper = match (self.upper, cost) {
            (Some(upper), Some(cost)) => Some(upper.min(cost)),
            (upper, cost) => upper.or(cost),
        };
    }

    /// Takes what a core costs off its wishes.
    fn charge(&mut self, core: &[Lit], wishes: &mut Wishes) -> u64 {
        let weight = core.iter().filter_map(|l| wishes.get(l)).min().copied().unwrap_or(0);
        self.lower += weight;
        let under = &self.under;
        self.open.tell(|_, said| {
            said.note(|| Line::Charge {
                weight,
                core: proof::literals(core),
                under: proof::literals(under),
            });
        });
        for literal in core {
            if let Some(left) = wishes.get_mut(literal) {
                *left -= weight;
                if *left == 0 {
                    wishes.remove(literal);
                }
            }
        }
        weight
    }

    /// One of a core was given up: no second.
    fn count(&mut self, core: Vec<Lit>, weight: u64, wishes: &mut Wishes) {
        for literal in &core {
            if let Some((counter, number)) = self.counts.get(literal).copied() {
                self.allow(counter, number + 1, weight, wishes);
            }
        }
        if core.len() > 1 {
            // A wish that is open would not be counted.
            core.iter().for_each(|literal| self.open.sat.variables.need(*literal));
            let inputs = core.into_iter().map(|literal| !literal).collect();
            self.counters.push(Counter { inputs, outputs: Vec::new() });
            self.allow(self.counters.len() - 1, 1, weight, wishes);
        }
    }

    /// The wish that no more than so many of a counter are violated.
    fn allow(&mut self, index: usize, number: usize, weight: u64, wishes: &mut Wishes) {
        let inputs = self.counters[index].inputs.len();
        if number >= inputs {
            return;
        }
        if self.counters[index].outputs.len() <= number {
            let most = (2 * number + 2).min(inputs);
            let inputs = self.counters[index].inputs.clone();
            let outputs = self.open.tell(|search, said| {
                totals(&inputs, most, &mut |said| search.state.atoms.assumable(said), said)
            });
            self.counters[index].outputs = outputs;
        }
        let wish = !self.counters[index].outputs[number];
        *wishes.entry(wish).or_insert(0) += weight;
        self.counts.insert(wish, (index, number));
    }

    /// Whether all wishes can hold; if not, a core of them.
    fn core(&mut self, wishes: &Wishes, opener: &mut dyn Opener) -> Step {
        let assumptions: Vec<Lit> = self.hard.iter().chain(wishes.keys()).copied().collect();
        match self.open.solve(&assumptions, &self.budget) {
            Ended::Stopped(stop) => return Step::End(Minimum::Stopped(stop)),
            Ended::Yes => {
                if let Some(why) = self.open.search.state.trouble.take() {
                    return Step::End(Minimum::Failed(why));
                }
                return match opener.found(self.open) {
                    Ok(cost) => {
                        self.lower_upper(cost);
                        Step::Yes
                    }
                    Err(why) => Step::End(Minimum::Failed(why)),
                };
            }
            Ended::No => {}
        }
        let mut core = self.blamed(wishes);
        for _ in 0..TRIMS {
            if core.len() < 2 {
                break;
            }
            let before = core.len();
            core.reverse();
            let assumptions: Vec<Lit> = self.hard.iter().chain(&core).copied().collect();
            match self.open.solve(&assumptions, &self.budget) {
                Ended::No => core = self.blamed(wishes),
                _ => break,
            }
            if core.len() == before {
                break;
            }
        }
        for wish in &core {
            if let Some(new) = opener.open(*wish, self.open) {
                return Step::Opened(*wish, new);
            }
        }
        self.leave_out(&mut core, wishes, opener);
        if core.is_empty() { Step::End(Minimum::Impossible) } else { Step::No(core) }
    }

    /// Leaves members out where that is quickly seen to be possible.
    fn leave_out(&mut self, core: &mut Vec<Lit>, wishes: &Wishes, opener: &mut dyn Opener) {
        let mut index = 0;
        while core.len() > 1 && core.len() <= SMALL_CORE && index < core.len() {
            let mut fewer = core.clone();
            fewer.remove(index);
            let assumptions: Vec<Lit> = self.hard.iter().chain(&fewer).copied().collect();
            let budget = self.budget.at_most(FEW_CONFLICTS, self.open.sat);
            match self.open.solve(&assumptions, &budget) {
                Ended::No => {
                    *core = self.blamed(wishes);
                    core.retain(|literal| fewer.contains(literal));
                }
                Ended::Yes => {
                    self.keep_if_found(opener);
                    index += 1;
                }
                Ended::Stopped(_) => index += 1,
            }
        }
    }

    fn blamed(&mut self, wishes: &Wishes) -> Vec<Lit> {
        let core = self.open.sat.core().iter().copied();
        let (core, under) = core.partition(|literal| wishes.contains_key(literal));
        self.under = under;
        core
    }
}

enum Step {
    Yes,
    No(Vec<Lit>),
    Opened(Lit, Vec<(Lit, u64)>),
    End(Minimum),
}

fn add(wishes: &mut Wishes, gone: Option<Lit>, new: Vec<(Lit, u64)>) {
    gone.map(|gone| wishes.remove(&gone));
    for (literal, weight) in new {
        *wishes.entry(literal).or_insert(0) += weight;
    }
}

/// A totaliser (Bailleux and Boufkhad) in one direction: output j is implied if more than j inputs hold.
fn totals(
    inputs: &[Lit],
    most: usize,
    plain: &mut impl FnMut(&mut Said<'_>) -> Lit,
    said: &mut Said<'_>,
) -> Vec<Lit> {
    if let [one] = inputs {
        return vec![*one];
    }
    let (left, right) = inputs.split_at(inputs.len() / 2);
    let (left, right) = (totals(left, most, plain, said), totals(right, most, plain, said));
    let outputs: Vec<Lit> = (0..inputs.len().min(most)).map(|_| plain(said)).collect();
    for (index, output) in outputs.iter().enumerate() {
        said.means(*output, || proof::Meaning::Count {
            least: index as i64 + 1,
            of: proof::literals(inputs),
        });
    }
    for i in 0..=left.len() {
        for j in 0..=right.len() {
            if i + j == 0 {
                continue;
            }
            let Some(output) = outputs.get(i + j - 1) else { continue };
            let mut clause = vec![*output];
            clause.extend(i.checked_sub(1).map(|i| !left[i]));
            clause.extend(j.checked_sub(1).map(|j| !right[j]));
            said.clause(clause, Keep::Forever, Reason::Count);
        }
    }
    outputs
}
