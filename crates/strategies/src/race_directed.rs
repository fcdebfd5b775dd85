//! Race-directed scheduling: two sites that conflict are brought together, and a coin decides which goes first.
//!
//! RaceFuzzer (Sen, PLDI 2008): a random walk that postpones a thread about to execute one of the two sites until
//! another thread is about to execute the other one on the same memory. Then both go, in an order drawn at random. As in
//! Thrille, the pair may also be two acquisitions of a lock.
//!
//! Deviates: a postponed thread is let go at random after a while, not only when nobody else can go on, because
//! the others may well wait for it without being blocked. A search that finds nothing with a pair says nothing about it.

use unravel_trace::{
    Choice, Op, Pending, Question, Ready, Rng, Scheduler, SiteId, ThreadId, View, Why,
};

use crate::budgets::PATIENCE;

#[derive(Debug)]
pub struct RaceDirected {
    rng: Rng,
    pair: (SiteId, SiteId),
    /// Threads that wait at one of the two sites for another at the other one.
    postponed: Vec<ThreadId>,
    /// Threads that were let go: they execute their pending event before they are postponed again.
    released: Vec<ThreadId>,
    /// Of two that have met, who goes next.
    second: Option<ThreadId>,
    /// Whether the end of the process waits until nothing else can happen.
    linger: bool,
}

impl RaceDirected {
    /// Brings two sites together, which may be the same one.
    pub fn new(seed: u64, pair: (SiteId, SiteId)) -> RaceDirected {
        let mut rng = Rng::new(seed);
        let linger = rng.below(2) == 0;
        RaceDirected {
            rng,
            pair,
            postponed: Vec::new(),
            released: Vec::new(),
            second: None,
            linger,
        }
    }

    /// Whether two threads stand before the two sites, on the same memory.
    fn meet(&self, a: &Pending, b: &Pending) -> bool {
        let (one, other) = self.pair;
        let sites = (a.site, b.site) == (one, other) || (a.site, b.site) == (other, one);
        sites && overlap(a, b)
    }

    /// A thread that is not postponed, at random. `None` if all are, or if all the others could do is end the process.
    fn draw(&mut self, view: &View<'_>) -> Option<Ready> {
        // Where main does not join, most orders end before anything happened.
        let RaceDirected { rng, postponed, linger, .. } = self;
        let waits = |c: &Ready| *linger && c.pending.op == Op::End;
        let may = |c: &&Ready| !postponed.contains(&c.thread) && !waits(c);
        let able = view.enabled.iter().filter(may).count() as u32;
        if able == 0 {
            let end = view.enabled.iter().find(|c| waits(c));
            return end.filter(|_| postponed.is_empty()).copied();
        }
        let nth = |number: u32| view.enabled.iter().filter(may).nth(number as usize).copied();
        let first = nth(rng.below(able));
        // A thread that gave up its turn is chosen again only if drawn twice.
        let again = view.why == Why::Yielded && first.is_some_and(|c| c.thread == view.current);
        if again { nth(rng.below(able)) } else { first }
    }

    /// Lets a postponed thread go, at random.
    fn release(&mut self) {
        let index = self.rng.below(self.postponed.len() as u32) as usize;
        self.released.push(self.postponed.swap_remove(index));
    }

    fn run(&mut self, candidate: Ready) -> Choice {
        self.released.retain(|thread| *thread != candidate.thread);
        // Each event may bring a thread to one of the two sites.
        Choice { thread: candidate.thread, events: 1 }
    }
}

/// Whether two events touch the same bytes, or the same lock.
fn overlap(a: &Pending, b: &Pending) -> bool {
    // Who wakes on a condition variable acquires its mutex.
    let object = |p: &Pending| p.mutex().filter(|_| p.op == Op::Acquire).unwrap_or(p.address);
    let (first, second) = (object(a), object(b));
    first < second.saturating_add(u64::from(b.bytes.max(1)))
        && second < first.saturating_add(u64::from(a.bytes.max(1)))
}

impl Scheduler for RaceDirected {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if let Some(second) = self.second.take()
            && let Some(candidate) = view.enabled.iter().find(|c| c.thread == second)
        {
            return self.run(*candidate);
        }
        self.postponed.retain(|thread| view.is_enabled(*thread));
        if !self.postponed.is_empty() && self.rng.below(PATIENCE) == 0 {
            self.release();
        }
        loop {
            let Some(drawn) = self.draw(view) else {
                self.release();
                continue;
            };
            let site = drawn.pending.site;
            let is_target = site == self.pair.0 || site == self.pair.1;
            if !is_target || self.released.contains(&drawn.thread) {
                return self.run(drawn);
            }
            let partner = view.enabled.iter().find(|c| {
                self.postponed.contains(&c.thread) && self.meet(&c.pending, &drawn.pending)
            });
            let Some(partner) = partner else {
                self.postponed.push(drawn.thread);
                continue;
            };
            self.postponed.retain(|thread| *thread != partner.thread);
            let both = [*partner, drawn];
            let first = self.rng.below(2) as usize;
            let second = both[1 - first].thread;
            self.second = Some(second);
            // It may have to wait for the first, who then holds the lock; it goes as soon as it can.
            self.released.push(second);
            return self.run(both[first]);
        }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: SiteId = SiteId(10);
    const B: SiteId = SiteId(20);
    const ELSEWHERE: SiteId = SiteId(30);

    fn candidate(thread: u32, site: SiteId, address: u64) -> Ready {
        let pending = Pending {
            op: Op::Write,
            address,
            bytes: 4,
            site,
            caller: None,
            operand: unravel_trace::Operand::None,
            atomic: false,
        };
        Ready { thread: ThreadId(thread), pending, by_time: false, is_over: false }
    }

    fn ends(thread: u32) -> Ready {
        let mut candidate = candidate(thread, ELSEWHERE, 0);
        candidate.pending.op = Op::End;
        candidate
    }

    fn choose(scheduler: &mut RaceDirected, enabled: &[Ready], why: Why) -> u32 {
        let view = View { enabled, early: &[], names: &[], current: ThreadId(0), why, events: 5 };
        let Choice { thread, events } = scheduler.next(&view);
        assert_eq!(events, 1, "each event may bring a thread to one of the sites");
        assert!(view.is_enabled(thread));
        thread.0
    }

    /// Choices of many seeds, which all begin with the same views.
    fn each_seed(mut check: impl FnMut(&mut RaceDirected) -> bool) -> usize {
        (0..200).filter(|seed| check(&mut RaceDirected::new(*seed, (A, B)))).count()
    }

    #[test]
    fn a_thread_at_a_site_waits_while_others_can_go_on() {
        let enabled = [candidate(1, A, 64), candidate(2, ELSEWHERE, 96)];
        let waited =
            each_seed(|scheduler| (0..5).all(|_| choose(scheduler, &enabled, Why::UsedUp) == 2));
        // But for the few seeds that let it go.
        assert!((150..200).contains(&waited), "{waited} of 200");
    }

    #[test]
    fn two_that_meet_go_both_and_a_coin_decides_who_first() {
        let apart = [candidate(1, A, 64), candidate(2, ELSEWHERE, 96)];
        let together = [candidate(1, A, 64), candidate(2, B, 66), candidate(3, ELSEWHERE, 96)];
        let mut first_goes_first = 0;
        let met = each_seed(|scheduler| {
            choose(scheduler, &apart, Why::UsedUp);
            // Thread 3 is drawn now and then, until thread 2 is: then the two go.
            let Some(first) = (0..50)
                .map(|_| choose(scheduler, &together, Why::UsedUp))
                .find(|thread| *thread != 3)
            else {
                return false;
            };
            first_goes_first += u32::from(first == 1);
            choose(scheduler, &together, Why::UsedUp) == 3 - first
        });
        assert!(met > 180, "{met} of 200");
        assert!((60..140).contains(&first_goes_first), "{first_goes_first} of 200");
    }

    #[test]
    fn sites_on_different_memory_do_not_meet() {
        let enabled = [candidate(1, A, 64), candidate(2, B, 68), candidate(3, ELSEWHERE, 96)];
        let waited =
            each_seed(|scheduler| (0..5).all(|_| choose(scheduler, &enabled, Why::UsedUp) == 3));
        assert!(waited > 150, "{waited} of 200");
    }

    #[test]
    fn one_site_may_meet_itself_but_no_thread_itself() {
        let mut scheduler = RaceDirected::new(1, (A, A));
        let enabled = [candidate(1, A, 64), candidate(2, A, 64)];
        let first = choose(&mut scheduler, &enabled, Why::UsedUp);
        assert_eq!(choose(&mut scheduler, &enabled, Why::UsedUp), 3 - first);
        let alone = [candidate(1, A, 64)];
        assert_eq!(choose(&mut scheduler, &alone, Why::UsedUp), 1);
    }

    #[test]
    fn a_postponed_thread_is_let_go_after_a_while() {
        let enabled = [candidate(1, A, 64), candidate(2, ELSEWHERE, 96)];
        let let_go =
            each_seed(|scheduler| (0..2000).any(|_| choose(scheduler, &enabled, Why::UsedUp) == 1));
        assert_eq!(let_go, 200);
    }

    #[test]
    fn the_second_is_not_held_again_where_it_had_to_wait_for_the_first() {
        let lock = |thread: u32, site| {
            let mut candidate = candidate(thread, site, 64);
            candidate.pending.op = Op::Acquire;
            candidate
        };
        let both = [lock(1, A), lock(2, B)];
        let goes_at_once = each_seed(|scheduler| {
            let first = choose(scheduler, &both, Why::UsedUp);
            let holder = candidate(first, ELSEWHERE, 96);
            choose(scheduler, &[holder], Why::Blocked);
            let second = if first == 1 { lock(2, B) } else { lock(1, A) };
            let mut enabled = [holder, second];
            enabled.sort_by_key(|c| c.thread);
            (0..20).any(|_| choose(scheduler, &enabled, Why::UsedUp) != first)
        });
        assert_eq!(goes_at_once, 200);
    }

    #[test]
    fn threads_at_a_site_go_before_the_process_ends_in_runs_that_linger() {
        let enabled = [ends(0), candidate(1, A, 64)];
        let lingered = each_seed(|scheduler| choose(scheduler, &enabled, Why::UsedUp) == 1);
        assert!((60..140).contains(&lingered), "{lingered} of 200");
        let alone = [ends(0)];
        assert_eq!(each_seed(|scheduler| choose(scheduler, &alone, Why::Start) == 0), 200);
    }

    #[test]
    fn a_thread_that_yields_is_seldom_chosen_again() {
        let enabled = [candidate(0, ELSEWHERE, 64), candidate(1, ELSEWHERE, 96)];
        let again = each_seed(|scheduler| choose(scheduler, &enabled, Why::Yielded) == 0);
        assert!((20..80).contains(&again), "{again} of 200");
    }

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let enabled = [candidate(1, A, 64), candidate(2, B, 64), candidate(3, ELSEWHERE, 96)];
        let choices = |seed| {
            let mut scheduler = RaceDirected::new(seed, (A, B));
            let mut one = || choose(&mut scheduler, &enabled, Why::UsedUp);
            (0..100).map(|_| one()).collect::<Vec<_>>()
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7), choices(8));
    }
}
