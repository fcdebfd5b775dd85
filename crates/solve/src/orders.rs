//! `orders`: our own decision procedure for schedules (design §6).
//!
//! CDCL(T) on [`crate::sat`]: the Booleans are what a read reads from and the orders of steps that turn out to matter.
//! No integers: a [`graph`] keeps the orders acyclic. No bit-vectors: [`values`] evaluates a condition as soon as the
//! sources of its slice are chosen. A query asks for any order that ends as wished (`find`), the nearest to a schedule
//! (`nearest`), or which assumed orders exclude it (`core`). On the way:
//!
//! - **Anchor.** The schedule that the search begins with: the one to be near to, else the recorded one. Each read that
//!   matters has one literal, *it reads as in the anchor*. All of these are assumed, and those that a core blames are let go. So
//!   answers are near, and most of a long trace is never decided.
//! - **Session** ([`session`]). Same model, same end, same anchor: what was learnt is known. Kept orders are assumptions, and
//!   blocked sets hold only while a literal of their query does, so that nothing learnt depends on them. The last two
//!   sessions are kept.
//! - **Theory** ([`theory`]). A source of a read, or an order, becomes edges of the graph. An edge between two sections of a lock
//!   takes the whole sections with it ([`sections`]), one into a segment that stays whole the segment ([`near`]). A cycle is a
//!   conflict of the literals on it. A source also gives a value: a condition is evaluated once its slice is chosen, and a
//!   wrong one is a conflict of that slice alone. Where a cell is a counter, how many updates a chain can still hold is known
//!   before that ([`chains`]). Literals are made on demand ([`atoms`], [`candidates`], [`writers`]).
//! - **Linearise** ([`linearise`]). When nothing is left to decide, the steps are put in a row, greedily, as in the anchor. Where
//!   nobody can go on, that is said as a clause over orders, and the search decides them: most orders never get a literal.
//! - **Evaluate.** The row is evaluated. Sync objects that stop it get their formulas now. If none is left and it still ends
//!   otherwise, the answer is *unknown* with the reason. Initial values that nobody knows are Z3's ([`symbols`]).
//! - **Cores.** A conflict among assumptions blames some of them. A minimal core leaves members out, many at once, then fewer.
//! - **Nearest** ([`goals`], [`maxsat`]). Criteria are soft constraints. Disjoint cores give a first schedule and a bound, then one
//!   core after the other (OLL) until they meet; the lexicographic goal does so criterion by criterion. If a limit comes
//!   first, the best schedule and the bound are the gap.
//! - **Walks** ([`walks`]). Chance comes first where nothing is known of the order, and last where a search had to stop.
//!
//! Every answer is evaluated before it is given. "No" and bounds are proofs within the model ([`crate::Model`]): they
//! rest on the clauses that the theory says, which are checked against brute force and Z3 on random traces. Each is said
//! for a reason, so that the proof can be kept ([`crate::proof`]) and checked by somebody else.

mod atoms;
mod candidates;
mod chains;
mod goals;
mod graph;
mod linearise;
mod maxsat;
mod near;
mod sections;
mod session;
mod symbols;
mod theory;
mod values;
mod walks;
mod writers;

use rustc_hash::FxHashSet;

use crate::budgets::{ROUNDS, SESSIONS};
use crate::constraints::Constraints;
use crate::proof::{Line, Part};
use crate::query::minimal_core;
use crate::sat::{Budget, Ended, Lit, Stop};
use crate::{Answer, Evaluator, Found, Goal, Nearest, Query, Solver, StepId};
use goals::{Criterion, Near};
use maxsat::{Minimiser, Minimum, Wishes};
use session::{Assumed, Open, Session, Subject};
use theory::Search;

/// Our own solver. What it learns about a model it knows in the next query about it.
#[derive(Debug, Default)]
pub struct Orders {
    /// The last used one last.
    sessions: Vec<Session>,
    /// Of the last query, and of all.
    conflicts: u64,
    all_conflicts: u64,
    /// Sessions so far, and whether each keeps a proof.
    begun: u64,
    logs: bool,
    /// What the last query added to the proof of its session.
    proof: Option<Part>,
}

impl Orders {
    pub fn new() -> Orders {
        Orders::default()
    }

    /// One that keeps a proof of what it says ([`Orders::take_proof`]).
    pub fn logging() -> Orders {
        Orders { logs: true, ..Orders::default() }
    }

    /// What the last question added to the proof of its session, once.
    pub fn take_proof(&mut self) -> Option<Part> {
        self.proof.take()
    }

    /// The sessions that may go on.
    pub fn sessions(&self) -> Vec<u64> {
        self.sessions.iter().map(|session| session.number).collect()
    }

    /// Answers a query in its session.
    fn ask<T>(
        &mut self,
        query: &Query<'_>,
        answer: impl FnOnce(&mut Open<'_, '_>, Assumed, Budget<'_>) -> Answer<T>,
    ) -> Answer<T> {
        self.proof = None;
        let constraints = Constraints::new(query.model, query.wish);
        let mut evaluator = Evaluator::new(query.model);
        let subject = Subject::of(query, anchor(query));
        let known = self.sessions.iter().position(|session| session.subject == subject);
        let mut session = match known {
            Some(index) => self.sessions.remove(index),
            None => {
                self.begun += 1;
                let about = (subject, self.begun, self.logs);
                match Session::new(query, about, &constraints, &mut evaluator) {
                    Ok(session) => session,
                    Err(reason) => return Answer::Unknown { reason, best: None },
                }
            }
        };
        let before = session.sat.conflicts;
        let budget = Budget::new(query.bounds, &session.sat);
        let search = Search {
            state: &mut session.state,
            model: query.model,
            constraints: &constraints,
            evaluator: &mut evaluator,
            wish: query.wish,
        };
        let mut open = Open { sat: &mut session.sat, search };
        let assumed = open.assume(query);
        let asking = Assumed { asking: assumed.asking.clone(), ..Assumed::default() };
        let answer =
            if assumed.impossible { Answer::No } else { answer(&mut open, assumed, budget) };
        open.retire(&asking);
        self.proof = session
            .sat
            .proof
            .as_mut()
            .map(|lines| Part { session: session.number, lines: std::mem::take(lines) });
        self.conflicts = session.sat.conflicts - before;
        self.all_conflicts += self.conflicts;
        if self.sessions.len() == SESSIONS {
            self.sessions.remove(0);
        }
        self.sessions.push(session);
        answer
    }
}

/// The schedule that literals begin with: the one to be near to, or the recorded one.
fn anchor(query: &Query<'_>) -> Vec<StepId> {
    match query.near {
        Some(near) => near.to_vec(),
        None => query.model.observed().unwrap_or_else(|| query.model.steps().collect()),
    }
}

fn stopped(stop: Stop) -> String {
    match stop {
        Stop::Conflicts => "orders reached the limit of conflicts",
        Stop::Time => "orders reached the time limit",
        Stop::Interrupt => "orders was interrupted",
    }
    .to_owned()
}

fn unknown<T>(reason: String) -> Answer<T> {
    Answer::Unknown { reason, best: None }
}

impl Solver for Orders {
    fn name(&self) -> String {
        format!("orders {}", env!("CARGO_PKG_VERSION"))
    }

    fn find(&mut self, query: &Query<'_>) -> Answer<Found> {
        if query.near.is_none()
            && query.model.observed().is_none()
            && let Some(order) = walks::find(query)
        {
            self.conflicts = 0;
            return Answer::Yes(Found { order, initial: Vec::new() });
        }
        self.ask(query, |open, assumed, budget| match near_anchor(open, &assumed.hard, &budget) {
            Ended::Stopped(stop) => unknown(stopped(stop)),
            Ended::Yes => found(open),
            Ended::No => Answer::No,
        })
    }

    fn core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        self.ask(query, |open, assumed, budget| {
            if let Some(index) = assumed.hopeless {
                return Answer::Yes(vec![index]);
            }
            let mut orders: Vec<(usize, Lit)> =
                assumed.blamed.iter().map(|(literal, of)| (of[0], *literal)).collect();
            orders.sort();
            let mut assumptions = assumed.hard;
            assumptions.extend(orders.iter().map(|(_, literal)| *literal));
            match near_anchor(open, &assumptions, &budget) {
                Ended::Stopped(stop) => unknown(stopped(stop)),
                Ended::Yes => match found(open) {
                    Answer::Unknown { reason, .. } => unknown(reason),
                    _ => Answer::No,
                },
                Ended::No => {
                    let core: FxHashSet<Lit> = open.sat.core().iter().copied().collect();
                    let blamed = orders.iter().filter(|(_, literal)| core.contains(literal));
                    Answer::Yes(blamed.map(|(index, _)| *index).collect())
                }
            }
        })
    }

    fn nearest(&mut self, query: &Query<'_>, goal: Goal) -> Answer<Nearest> {
        let Some(near) = query.near else {
            return unknown("there is no schedule to be near to".to_owned());
        };
        self.ask(query, |open, assumed, budget| {
            let mut wanted = Near::new(query, near, open.search.evaluator);
            let stages: Vec<[u64; 3]> = match goal {
                Goal::Sum(w) => vec![[w.data_flow, w.segments, w.switches].map(u64::from)],
                Goal::Lexicographic => vec![[1, 0, 0], [0, 1, 0], [0, 0, 1]],
            };
            let mut hard = assumed.hard;
            let mut bound = [0; 3];
            for (stage, weights) in stages.into_iter().enumerate() {
                wanted.begin_stage(weights);
                open.tell(|_, said| said.note(|| Line::Stage(weights)));
                let mut wishes = Wishes::new();
                for (criterion, weight) in Criterion::ALL.into_iter().zip(weights) {
                    if weight > 0 {
                        wanted.wishes(criterion, weight, open, &mut wishes);
                    }
                }
                let mut minimiser = Minimiser::new(open, hard, budget);
                let minimum = minimiser.run(wishes, &mut wanted);
                bound[stage] = u32::try_from(minimiser.lower).unwrap_or(u32::MAX);
                hard = minimiser.hard;
                let reason = match minimum {
                    Minimum::Impossible => return Answer::No,
                    Minimum::Stopped(stop) => stopped(stop),
                    Minimum::Failed(why) => why,
                    Minimum::Reached { holds } => {
                        hard.extend(holds);
                        wanted.settle_stage(bound);
                        continue;
                    }
                };
                wanted.fall_back(open);
                return Answer::Unknown { reason, best: wanted.nearest(bound) };
            }
            match wanted.nearest(bound) {
                Some(nearest) if wanted.meets(goal, bound) => Answer::Yes(nearest),
                best => {
                    let reason = "orders has no answer that costs as little as it proved";
                    Answer::Unknown { reason: reason.to_owned(), best }
                }
            }
        })
    }

    fn minimal_core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        let before = self.all_conflicts;
        let answer = minimal_core(self, query);
        self.conflicts = self.all_conflicts - before;
        answer
    }

    fn proves_up_to(&self) -> usize {
        20_000
    }

    fn conflicts(&self) -> Option<u64> {
        Some(self.conflicts)
    }
}

/// Searches near the anchor: all reads are assumed to read as there, and those that a core blames are let go. What is
/// blamed in the end are assumptions alone.
fn near_anchor(open: &mut Open<'_, '_>, assumptions: &[Lit], budget: &Budget<'_>) -> Ended {
    let mut anchors = anchors(open);
    let mut rounds = 0;
    loop {
        let all: Vec<Lit> = assumptions.iter().chain(&anchors).copied().collect();
        let ended = open.solve(&all, budget);
        if ended != Ended::No {
            return ended;
        }
        let core: FxHashSet<Lit> = open.sat.core().iter().copied().collect();
        let before = anchors.len();
        anchors.retain(|literal| !core.contains(literal));
        if anchors.len() == before {
            return Ended::No;
        }
        rounds += 1;
        if rounds > ROUNDS {
            anchors.clear();
        }
    }
}

/// The literals that say relevant reads read as in the anchor.
fn anchors(open: &mut Open<'_, '_>) -> Vec<Lit> {
    let state = &open.search.state;
    let slots = (0..state.relevant.len() as u32).map(crate::SlotId);
    let of = |slot: crate::SlotId| {
        let source = state.anchored[slot.index()].filter(|_| state.relevant[slot.index()])?;
        state.atoms.known_read(slot, source)
    };
    slots.filter_map(of).collect()
}

fn found(open: &mut Open<'_, '_>) -> Answer<Found> {
    let state = &mut open.search.state;
    match state.trouble.take() {
        Some(why) => unknown(why),
        None => Answer::Yes(Found { order: state.order.clone(), initial: state.initial.clone() }),
    }
}
