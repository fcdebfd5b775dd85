//! What a solver leaves behind for those who do not take its word: a proof, line by line.
//!
//! Every variable *means* something: in each order of all steps that answers the question it is true or false. Every
//! clause is either said for a [`Reason`], which names the rule of the [`crate::Model`] that makes it true of all such
//! orders, or *follows* from those before it by unit propagation alone. A search that ends with "no" ends with the
//! clause that its assumptions cannot all hold; a bound ends with charges, each a clause of which one wish must be
//! given up. Definitions are whole (`if and only if`), though the solver needs one half of most.
//!
//! This file is the language. [`crate::Orders::logging`] writes it; whoever checks it (room `certify`) reads it, knows the
//! model, and nothing of the solver. Nothing is kept, and nothing is made, unless it was asked for.

use crate::sat::Lit;
use crate::{SlotId, Source, StepId, SyncId};

/// A variable, or its negation, by number: never 0, negative if negated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Literal(pub i32);

impl Literal {
    /// Numbers begin with 1.
    pub fn variable(self) -> u32 {
        self.0.unsigned_abs()
    }

    pub fn is_negated(self) -> bool {
        self.0 < 0
    }
}

impl std::ops::Not for Literal {
    type Output = Literal;

    fn not(self) -> Literal {
        Literal(-self.0)
    }
}

impl From<Lit> for Literal {
    fn from(literal: Lit) -> Literal {
        let number = literal.variable() as i32 + 1;
        Literal(if literal.is_negated() { -number } else { number })
    }
}

pub(crate) fn literals(of: &[Lit]) -> Vec<Literal> {
    of.iter().map(|literal| Literal::from(*literal)).collect()
}

/// What a variable means in an order of all steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// The first step comes before the second; if false, after it.
    Order(StepId, StepId),
    /// The slot is executed, and reads from there.
    Reads(SlotId, Source),
    /// No step of another thread between these two of one thread.
    Whole { first: StepId, last: StepId },
    /// The second step directly follows the first.
    Joined(StepId, StepId),
    /// This signal or broadcast ends this wait: ops by their place among all ops of the model.
    Wakes { wait: u32, waker: u32 },
    /// Of a deadlock that is avoided: the run ends where this request is granted.
    Granted(StepId),
    /// Of a deadlock that is avoided: the step comes after that.
    AfterGrant(StepId),
    /// All of the first hold (if there are such a first), or any of the second.
    Gate { all: Option<Vec<Literal>>, any: Vec<Literal> },
    /// At least so many of these hold.
    Count { least: i64, of: Vec<Literal> },
}

/// The rule that makes a clause true of every order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Orders, sources of reads, sections of locks and whole segments that cannot be together.
    Order,
    /// A condition would have the wrong value: that of the op at this place, or the bug's.
    Value { check: Option<u32> },
    /// The same, because too many updates of a counter are lost.
    Chain { check: Option<u32> },
    /// A slot reads from somewhere, or is not executed.
    Sources(SlotId),
    /// Counting.
    Count,
    /// What a sync object demands.
    Sync(SyncId),
    /// What a deadlock demands, or avoiding it.
    Deadlock,
    /// What comes after a request that is granted.
    Grant,
    /// What is reached whatever the order.
    Reached,
    /// What only execution can tell: every order but the recorded one passes.
    Recorded,
    /// No initial values satisfy these conditions: Z3 said so.
    Initial,
}

/// What an order is charged for, once each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Charged {
    /// An event that reads otherwise.
    Flow { event: u32 },
    /// An event that reads from this one, `None` for memory before the run.
    Edge { writer: Option<u32>, event: u32 },
    /// A segment that is broken.
    Segment { first: StepId, last: StepId },
    /// A switch that is lost.
    Switch(StepId, StepId),
}

/// One line of a proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    Means(u32, Meaning),
    Holds(Reason, Vec<Literal>),
    /// By unit propagation from what is above.
    Follows(Vec<Literal>),
    /// From here on, these weights of the three criteria are what is minimised.
    Stage([u64; 3]),
    /// If this wish does not hold, the order is charged for this.
    Wish(Literal, Charged),
    /// One of these wishes must be given up where `under` holds: so much is added to the bound.
    Charge {
        weight: u64,
        core: Vec<Literal>,
        under: Vec<Literal>,
    },
}

/// The part of a session's proof that one question added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Lines of one session follow each other, whatever is asked in between in others.
    pub session: u64,
    pub lines: Vec<Line>,
}
