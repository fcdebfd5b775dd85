//! Busy waits of threads that go on by themselves in a led run.
//!
//! A thread that comes to the same branch again, having done just the same since the last time, goes round in circles:
//! in our order, what it waits for is not there. It first lets others go on. If that does not help, somebody will have
//! written what it waits for in another order: it takes another side of a branch on what it read, or a library function
//! that it keeps asking (`trylock`, compare-and-exchange) answers otherwise.
//!
//! *Not modelled*: what it waits for. So a loop may be left by the wrong one of its branches; the others come next.
//! Errs on the side of leaving loops that would have ended later.

use rustc_hash::FxHashMap;

use crate::budgets::COUNTING;
use crate::machine::Machine;

/// Rounds in the same state, after which a thread is helped although others still go on.
const ROUNDS: u32 = 3;
/// How much longer a branch is left alone that nothing decides which was read.
const CONCRETE: u32 = 2 * ROUNDS;
/// How often such a branch is met again before the thread is given up.
const ANSWERS: u32 = 2;

/// A branch, and the way it goes.
type Way = (usize, u32);

/// What is known about the loops of one thread.
#[derive(Debug, Default)]
pub(super) struct Spins {
    /// What the thread has read and written.
    done: Vec<Done>,
    /// The accesses of the run that were looked at for that.
    looked_at: usize,
    rounds: FxHashMap<Way, Rounds>,
    /// How often a thread was helped out at a branch.
    helped: FxHashMap<Way, u32>,
    /// The next answer of a library function is to be another.
    pub contrary: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Done {
    address: u64,
    bytes: u8,
    write: bool,
    value: u128,
}

/// What happened between visits of a branch, as indices into [`Spins::done`].
#[derive(Debug)]
struct Rounds {
    /// Where the last round began, and this one.
    last: usize,
    this: usize,
    /// The thread's event before the last visit.
    event: u64,
    /// The thread's state then, if it was looked at.
    state: Option<u64>,
    /// Rounds in a row that did the same, and those that left the same state too.
    alike: u32,
    same: u32,
}

impl Spins {
    /// The thread is at a branch. Whether it did the same as in the round before, and something at all.
    fn visit(&mut self, way: Way, event: u64) -> bool {
        let now = self.done.len();
        let Some(rounds) = self.rounds.get_mut(&way) else {
            let first = Rounds { last: now, this: now, event, state: None, alike: 0, same: 0 };
            self.rounds.insert(way, first);
            return false;
        };
        let done = &self.done;
        let alike = event > rounds.event && done[rounds.this..] == done[rounds.last..rounds.this];
        rounds.last = rounds.this;
        rounds.this = now;
        rounds.event = event;
        if alike {
            rounds.alike += 1;
        } else {
            (rounds.alike, rounds.same, rounds.state) = (0, 0, None);
        }
        alike
    }

    /// How many rounds the thread has gone in circles, given the state it is in now.
    fn circles(&mut self, way: Way, state: u64) -> Option<u32> {
        let rounds = self.rounds.get_mut(&way)?;
        rounds.same = if rounds.state == Some(state) { rounds.same + 1 } else { 0 };
        rounds.state = Some(state);
        let circles = rounds.same.max(rounds.alike.saturating_sub(COUNTING));
        (circles > 0).then_some(circles)
    }
}

impl Machine {
    /// Which way a thread goes at a branch of a loop: as it would, unless it would do so for ever. `open` if what it read
    /// decides.
    pub(super) fn leave_spin(&mut self, actual: u32, open: bool) -> u32 {
        let me = self.current;
        let way = (self.threads[me].at.pc as usize, actual);
        let Some(circles) = self.circles(way) else { return actual };
        let others_went_on = self.let_others_go_on();
        let spins = &mut self.guided(me).spins;
        let helped = spins.helped.entry(way).or_default();
        let patience = if others_went_on { ROUNDS } else { 1 }
            + if open { ROUNDS * *helped } else { CONCRETE };
        if circles < patience {
            return actual;
        }
        *helped += 1;
        let hopeless = !open && *helped > ANSWERS;
        spins.rounds.clear();
        spins.contrary = !open;
        if hopeless {
            self.stop_here();
        }
        match self.other_ways(actual).first() {
            _ if !open => actual,
            Some(other) => *other,
            None => self.stop_here(),
        }
    }

    fn circles(&mut self, way: (usize, u32)) -> Option<u32> {
        let me = self.current;
        self.look_at_accesses();
        let event = self.threads[me].last_event;
        if !self.guided(me).spins.visit(way, event) {
            return None;
        }
        let state = self.state_hash(me);
        self.guided(me).spins.circles(way, state)
    }

    /// Adds what the current thread has read and written since its last branch.
    fn look_at_accesses(&mut self) {
        let me = self.current;
        let concolic = &mut self.concolic;
        let spins = &mut concolic.guide.threads[me].spins;
        for access in &concolic.accesses[spins.looked_at..] {
            if access.thread == me {
                let value = concolic.graph.value(access.value);
                let (address, bytes, write) = (access.address, access.bytes, access.write);
                spins.done.push(Done { address, bytes, write, value });
            }
        }
        spins.looked_at = concolic.accesses.len();
    }
}
