//! Rounds: threads alternate in turns of one shape, again and again.
//!
//! Some failures need a perfectly regular schedule: of two threads that add to each other's number (`i += j`, `j += i`), each
//! exactly one addition a turn, twenty times. A walk that draws every switch anew makes such a schedule with a chance that
//! falls exponentially in the number of rounds. Here only the *shape* is drawn, once a run: how long a turn is, with which
//! phase each thread begins, and who takes part at all, so that the chance does not depend on the number of rounds. A turn is a
//! number of events, the same for all or each thread's own, or a *lap*: until the thread is back at the site where its turn
//! began, which is one round of its loop whatever it does in there.
//!
//! Not from a paper; time slices of round-robin schedulers are the model. Nothing of earlier runs is used but how many
//! threads there are. Where a turn is cut short by a lock, the phase is lost: what needs a period *and* contended locks is left
//! to luck.

use unravel_trace::{Choice, Op, Question, Ready, Rng, Scheduler, SiteId, ThreadId, View, Why};

use crate::budgets::{LONGEST_LAP, MOST_GATHERED};

/// Lengths of a turn, in events: a statement that adds to a shared variable has two or three.
const LENGTHS: [u32; 12] = [1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12, 16];
const LAPS: [u32; 4] = [1, 1, 2, 3];

#[derive(Debug)]
pub struct Rounds {
    rng: Rng,
    shape: Shape,
    /// Threads that runs usually have: until they are there, the first thread goes on.
    gathers: usize,
    /// Whether single threads may be left out of the rounds.
    all: bool,
    members: Vec<Member>,
    turn: Option<Turn>,
}

/// What a turn is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// So many events, each thread.
    Events(u32),
    /// Each thread has a length of its own.
    Own,
    /// So many times round to where the turn began.
    Laps(u32),
}

/// A thread in the rounds, or beside them.
#[derive(Clone, Copy, Debug)]
struct Member {
    rank: Rank,
    /// Events of a turn, where they are what counts.
    length: u32,
    /// Events of its first turn, which sets the phase.
    first: Option<u32>,
}

/// Who goes before whom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    /// Goes on whenever it can.
    Before,
    Part,
    /// Goes on when nobody else can.
    After,
    /// Ends the process: last of all.
    End,
}

/// The turn that is underway.
#[derive(Clone, Copy, Debug)]
struct Turn {
    thread: ThreadId,
    /// Events that it may still have.
    left: u32,
    /// It ends when its thread is back here for the last time.
    until: Option<(SiteId, u32)>,
}

impl Rounds {
    /// `threads` is how many threads a run usually has.
    pub fn new(seed: u64, threads: usize) -> Rounds {
        let mut rng = Rng::new(seed);
        let shape = match rng.below(4) {
            0 => Shape::Own,
            1 => Shape::Laps(*rng.pick(&LAPS)),
            _ => Shape::Events(*rng.pick(&LENGTHS)),
        };
        let waits = rng.below(4) != 0 && threads <= MOST_GATHERED;
        let gathers = if waits { threads } else { 0 };
        let all = rng.below(2) == 0;
        Rounds { rng, shape, gathers, all, members: Vec::new(), turn: None }
    }

    fn welcome(&mut self) {
        let is_main = self.members.is_empty();
        let rank = match self.rng.below(if is_main { 3 } else { 8 }) {
            0 if is_main || !self.all => Rank::Before,
            1 if is_main || !self.all => Rank::After,
            _ => Rank::Part,
        };
        let length = match self.shape {
            Shape::Events(events) => events,
            Shape::Own => *self.rng.pick(&LENGTHS),
            Shape::Laps(_) => LONGEST_LAP,
        };
        // Its start is an event too. Mostly its first turn is a whole one.
        let whole = self.rng.below(2) == 0;
        let phase = match self.shape {
            Shape::Laps(_) if whole => 0,
            Shape::Laps(_) => self.rng.below(4),
            _ if whole => length,
            _ => self.rng.below(length),
        };
        self.members.push(Member { rank, length, first: Some(1 + phase) });
    }

    fn rank(&self, ready: &Ready) -> Rank {
        match ready.pending.op {
            Op::End => Rank::End,
            _ => self.members[ready.thread.index()].rank,
        }
    }

    /// The turn of a thread that has its turn now.
    fn begin(&mut self, ready: &Ready) -> Turn {
        let member = &mut self.members[ready.thread.index()];
        let (left, until) = match (member.first.take(), self.shape) {
            (Some(first), _) => (first, None),
            (None, Shape::Laps(laps)) => (LONGEST_LAP, Some((ready.pending.site, laps + 1))),
            (None, _) => (member.length, None),
        };
        Turn { thread: ready.thread, left, until }
    }

    /// Whether a thread's turn goes on with this event.
    fn goes_on(turn: &mut Turn, ready: &Ready) -> bool {
        if let Some((site, times)) = &mut turn.until
            && *site == ready.pending.site
        {
            *times -= 1;
            if *times == 0 {
                return false;
            }
        }
        turn.left > 0
    }
}

impl Scheduler for Rounds {
    fn next(&mut self, view: &View<'_>) -> Choice {
        while self.members.len() < view.names.len() {
            self.welcome();
        }
        let first = view.enabled[0];
        let yielded = |thread: ThreadId| view.why == Why::Yielded && thread == view.current;
        if view.names.len() < self.gathers && first.thread == ThreadId(0) && !yielded(first.thread)
        {
            return Choice { thread: first.thread, events: 1 };
        }
        let others = view.enabled.iter().filter(|c| !yielded(c.thread));
        let best = others.map(|c| self.rank(c)).min();
        let best = best.unwrap_or_else(|| self.rank(&first));
        let of_rank =
            |c: &&Ready| self.rank(c) == best && !(yielded(c.thread) && view.enabled.len() > 1);
        if let Some(mut turn) = self.turn
            && let Some(holder) =
                view.enabled.iter().filter(of_rank).find(|c| c.thread == turn.thread)
            && (best != Rank::Part || Rounds::goes_on(&mut turn, holder))
        {
            turn.left = turn.left.saturating_sub(1);
            self.turn = Some(turn);
            return Choice { thread: turn.thread, events: 1 };
        }
        let last = self.turn.map_or(view.current, |turn| turn.thread);
        let mut candidates = view.enabled.iter().filter(of_rank);
        let next = candidates.clone().find(|c| c.thread > last).or_else(|| candidates.next());
        let next = *next.unwrap_or(&first);
        let mut turn = self.begin(&next);
        // The lap begins here.
        Rounds::goes_on(&mut turn, &next);
        turn.left = turn.left.saturating_sub(1);
        self.turn = Some(turn);
        Choice { thread: next.thread, events: 1 }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{Operand, Pending, ThreadName};

    fn ready(thread: u32, op: Op, site: u32) -> Ready {
        let pending = Pending {
            op,
            address: 64,
            bytes: 4,
            site: SiteId(site),
            caller: None,
            operand: Operand::None,
            atomic: false,
        };
        Ready { thread: ThreadId(thread), pending, by_time: false, is_over: false }
    }

    /// The threads of a run in which main creates two others that each do three events a round for some rounds, and then
    /// looks at the result: who executed each event of the rounds.
    fn executed(seed: u64, rounds: u32) -> Vec<u32> {
        let mut by = Rounds::new(seed, 3);
        let names: Vec<ThreadName> = (0..3).map(|n| ThreadName(vec![n])).collect();
        // Start, and then the events of the rounds.
        let mut done = [0, 0, 0];
        let (mut current, mut born) = (0, 1);
        let mut order = Vec::new();
        loop {
            let mut enabled = Vec::new();
            if done[0] < 2 {
                enabled.push(ready(0, Op::Fork, 1));
            } else if done[0] == 2 {
                enabled.push(ready(0, Op::Read, 2));
            }
            for thread in 1..born as u32 {
                let events = done[thread as usize];
                if events == 0 {
                    enabled.push(ready(thread, Op::Start, 3));
                } else if events <= 3 * rounds {
                    enabled.push(ready(thread, Op::Read, 10 * thread + (events - 1) % 3));
                }
            }
            if enabled.is_empty() || done[0] == 3 {
                return order;
            }
            let view = View {
                enabled: &enabled,
                early: &[],
                names: &names[..born],
                current: ThreadId(current),
                why: Why::UsedUp,
                events: 9,
            };
            let Choice { thread, .. } = by.next(&view);
            assert!(view.is_enabled(thread));
            current = thread.0;
            if current == 0 && done[0] < 2 {
                born += 1;
            } else if current > 0 && done[current as usize] > 0 {
                order.push(current);
            }
            done[current as usize] += 1;
        }
    }

    #[test]
    fn some_runs_alternate_perfectly_however_many_rounds_there_are() {
        for rounds in [5, 50] {
            let perfect: Vec<u32> = (0..6 * rounds).map(|event| 1 + event / 3 % 2).collect();
            let found = (0..400).filter(|seed| executed(*seed, rounds) == perfect).count();
            assert!(found >= 5, "{found} of 400 with {rounds} rounds");
        }
    }

    #[test]
    fn runs_differ_and_the_same_seed_makes_the_same_one() {
        let orders: std::collections::BTreeSet<_> =
            (0..100).map(|seed| executed(seed, 5)).collect();
        assert!(orders.len() > 30, "{}", orders.len());
        assert_eq!(executed(7, 20), executed(7, 20));
    }

    #[test]
    fn a_lap_ends_where_it_began() {
        let mut turn = Turn { thread: ThreadId(1), left: LONGEST_LAP, until: Some((SiteId(5), 2)) };
        let sites = [5, 6, 7, 5];
        let goes_on = sites.map(|site| Rounds::goes_on(&mut turn, &ready(1, Op::Read, site)));
        assert_eq!(goes_on, [true, true, true, false]);
    }

    #[test]
    fn who_gives_up_its_turn_does_not_get_it_again_at_once() {
        let names: Vec<ThreadName> = (0..2).map(|n| ThreadName(vec![n])).collect();
        let enabled = [ready(0, Op::Read, 1), ready(1, Op::Read, 2)];
        for seed in 0..100 {
            let view = View {
                enabled: &enabled,
                early: &[],
                names: &names,
                current: ThreadId(0),
                why: Why::Yielded,
                events: 9,
            };
            assert_eq!(Rounds::new(seed, 2).next(&view).thread, ThreadId(1), "{seed}");
        }
    }
}
