//! Shields: schedules in which a stretch of a thread is never interrupted, something always waits for something else, a wait
//! does not time out, a thread waits for those that it started, or the process ends last (design §14). What fails without a shield and never with it is what the shield forbids.
//!
//! A scheduler around a scheduler, so that every strategy can be tried with and without, and nothing is woven into the program: a
//! stretch may begin in one function and end in another.
//!
//! *Not modelled*: who is inside of a stretch and blocks, but for a sleep, lets others go on; a thread that takes another way and does not reach the
//! end of its stretch is inside for as many events as the longest stretch that was seen.

use unravel_trace::{
    Choice, Deviation, Executed, Mark, Op, Pending, Question, Ready, Scheduler, Shield, ThreadId,
    ThreadName, ThreadTag, View,
};

use crate::branches::Course;

/// Keeps shields; otherwise another scheduler decides.
pub struct Shielded<S> {
    by: S,
    shields: Vec<Shield>,
    /// By thread: how many events it is inside of a stretch at most, and of which.
    inside: Vec<Option<(usize, u32)>>,
    /// By shield: how often its `first` was executed.
    seen: Vec<u32>,
    /// By shield: how often its `then` was, where that counts.
    done: Vec<u32>,
    /// By shield: who holds the lock that its stretch takes on the way.
    holders: Vec<Option<ThreadId>>,
    /// By shield: somebody had to be let go, because nobody else could go on.
    let_go: Vec<bool>,
    violated: bool,
}

impl<S> std::fmt::Debug for Shielded<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shielded").field("shields", &self.shields).finish_non_exhaustive()
    }
}

impl<S: Scheduler> Shielded<S> {
    pub fn new(by: S, shields: &[Shield]) -> Shielded<S> {
        Shielded {
            by,
            shields: shields.to_vec(),
            inside: Vec::new(),
            seen: vec![0; shields.len()],
            done: vec![0; shields.len()],
            holders: vec![None; shields.len()],
            let_go: vec![false; shields.len()],
            violated: false,
        }
    }

    /// The same in a run in which the first and the later marks of orders have been seen so often before.
    pub fn having_seen(self, before: Vec<(u32, u32)>) -> Shielded<S> {
        let (seen, done) = before.into_iter().unzip();
        Shielded { seen, done, ..self }
    }

    /// Whether a thread has to wait, and for which shield.
    fn held_by(&self, ready: &Ready, names: &[ThreadName]) -> Option<usize> {
        let mark = mark_of(&ready.pending)?;
        self.shields.iter().enumerate().position(|(index, shield)| match *shield {
            Shield::Atomic { from, lock, .. } => {
                from == mark
                    && self.holders[index].is_some_and(|by| by != ready.thread)
                    && lock.is_some()
            }
            Shield::Order { times, then, .. } => then == mark && self.seen[index] < times,
            Shield::Between { then, by, .. } => {
                then == mark && self.seen[index] == 0 && is(names, ready.thread, by)
            }
            Shield::Turns { then, ahead, .. } => {
                then == mark && self.seen[index] + ahead <= self.done[index]
            }
            Shield::Patient { at } => (ready.by_time || ready.is_over) && at == mark,
            Shield::Joined { by, before } => {
                before == mark && self.seen[index] == 0 && is(names, ready.thread, by)
            }
            Shield::Outlived => ready.pending.op == Op::End,
            Shield::Usual => false,
        })
    }

    /// Asks the other scheduler about some of the threads only.
    fn ask(&mut self, view: &View<'_>, enabled: &[Ready], early: &[Ready]) -> Choice {
        let view = View { enabled, early, ..*view };
        Choice { events: 1, ..self.by.next(&view) }
    }

    /// Who has the lock that a stretch takes on its way.
    fn hold(&mut self, index: usize, executed: &Executed<'_>) {
        let Shield::Atomic { lock: Some(lock), .. } = self.shields[index] else { return };
        let what = &executed.what;
        match what.op {
            Op::Acquire | Op::AcquireShared
                if what.address == lock || what.mutex() == Some(lock) =>
            {
                self.holders[index] = Some(executed.thread);
            }
            Op::Release if what.address == lock => self.holders[index] = None,
            Op::Wait if what.mutex() == Some(lock) => self.holders[index] = None,
            _ => {}
        }
    }

    fn leave(&mut self, thread: ThreadId) {
        if let Some(inside) = self.inside.get_mut(thread.index()) {
            *inside = None;
        }
    }
}

/// A thread begins at the place of what it does first, and has not done it yet.
fn mark_of(what: &Pending) -> Option<Mark> {
    (what.op != Op::Start).then(|| Mark::of(what))
}

fn is(names: &[ThreadName], thread: ThreadId, tag: ThreadTag) -> bool {
    names.get(thread.index()).is_some_and(|name| ThreadTag::of(name) == tag)
}

impl<S: Scheduler> Course for Shielded<S> {
    fn is_void(&self) -> bool {
        self.violated
    }
}

impl<S: Scheduler> Scheduler for Shielded<S> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let is_inside = |ready: &&Ready| {
            self.inside.get(ready.thread.index()).is_some_and(|inside| inside.is_some())
        };
        let goes_on = view.enabled.iter().filter(is_inside);
        if let Some(ready) = goes_on.min_by_key(|ready| ready.thread != view.current).copied() {
            return self.ask(view, &[ready], &[]);
        }
        // Sleeping needs nobody: whoever held a lock meanwhile would let nobody in, until the time has passed.
        let sleeps = |ready: &&Ready| ready.by_time && ready.pending.op == Op::Yield;
        if let Some(ready) = view.early.iter().filter(is_inside).find(sleeps).copied() {
            return self.ask(view, &[ready], &[]);
        }
        let mut held = Vec::new();
        let mut free = Vec::new();
        for ready in view.enabled {
            match self.held_by(ready, view.names) {
                Some(shield) => held.push(shield),
                None => free.push(*ready),
            }
        }
        // A thread waits for those below it, and for no others.
        let joins = |ready: &Ready| {
            let shield = self.held_by(ready, view.names)?;
            matches!(self.shields[shield], Shield::Joined { .. }).then_some(shield)
        };
        let below = |ready: &Ready| {
            let name = |thread: ThreadId| view.names.get(thread.index());
            let of = name(ready.thread);
            free.iter().any(|other: &Ready| {
                of.zip(name(other.thread)).is_some_and(|(of, other)| of.is_ancestor_of(other))
            })
        };
        let alone: Vec<(usize, Ready)> = view
            .enabled
            .iter()
            .filter_map(|ready| Some((joins(ready)?, *ready)))
            .filter(|(_, ready)| !below(ready))
            .collect();
        for (shield, ready) in alone {
            held.retain(|other| *other != shield);
            free.push(ready);
        }
        free.sort_by_key(|ready| ready.thread);
        let may_go = |ready: &&Ready| self.held_by(ready, view.names).is_none();
        let early: Vec<Ready> = view.early.iter().filter(may_go).copied().collect();
        if held.is_empty() {
            return self.ask(view, view.enabled, &early);
        }
        if free.is_empty() {
            // Who is patient also waits for those that sleep longer.
            let patient = |shield: &usize| matches!(self.shields[*shield], Shield::Patient { .. });
            if held.iter().all(patient) && !early.is_empty() {
                return self.ask(view, &early, &[]);
            }
            for shield in held {
                self.let_go[shield] = true;
            }
            return self.ask(view, view.enabled, &[]);
        }
        self.ask(view, &free, &[])
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.by.choose(what, options)
    }

    fn deviate(&mut self, what: Deviation) -> bool {
        self.by.deviate(what)
    }

    fn finish(&mut self, events: u64) {
        self.by.finish(events);
    }

    fn watches(&self) -> bool {
        true
    }

    fn names_callers(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        if self.by.watches() {
            self.by.watch(executed);
        }
        let thread = executed.thread;
        if self.inside.len() <= thread.index() {
            self.inside.resize(thread.index() + 1, None);
        }
        let Some(mark) = mark_of(&executed.what) else { return };
        if let Some((shield, left)) = self.inside[thread.index()] {
            let ends = matches!(self.shields[shield], Shield::Atomic { to, .. } if to == mark);
            match ends || left == 0 || executed.what.op == Op::Exit {
                true => self.leave(thread),
                false => self.inside[thread.index()] = Some((shield, left - 1)),
            }
        }
        for index in 0..self.shields.len() {
            self.hold(index, executed);
            match self.shields[index] {
                Shield::Atomic { from, most, .. } if from == mark => {
                    self.inside[thread.index()].get_or_insert((index, most));
                }
                Shield::Order { first, times, .. } if first == mark => {
                    self.violated |= self.let_go[index] && self.seen[index] < times;
                    self.seen[index] += 1;
                }
                Shield::Between { first, of, .. }
                    if first == mark && is(executed.names, thread, of) =>
                {
                    self.violated |= self.let_go[index] && self.seen[index] == 0;
                    self.seen[index] += 1;
                }
                Shield::Joined { by, before }
                    if before == mark && is(executed.names, thread, by) =>
                {
                    self.seen[index] += 1;
                }
                Shield::Turns { first, then, ahead } if first == mark || then == mark => {
                    self.violated |= first == mark
                        && self.let_go[index]
                        && self.seen[index] + ahead < self.done[index];
                    self.seen[index] += u32::from(first == mark);
                    self.done[index] += u32::from(then == mark);
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use unravel_trace::{Operand, SiteId, Why};

    use super::*;

    /// Always the last of those that can go on.
    struct Last;

    impl Scheduler for Last {
        fn next(&mut self, view: &View<'_>) -> Choice {
            Choice { thread: view.enabled[view.enabled.len() - 1].thread, events: 9 }
        }
    }

    fn mark(site: u32) -> Mark {
        Mark { site: SiteId(site), caller: None }
    }

    fn pending(site: u32) -> Pending {
        let (site, operand) = (SiteId(site), Operand::None);
        Pending { op: Op::Write, address: 8, bytes: 4, site, caller: None, operand, atomic: false }
    }

    fn names() -> Vec<ThreadName> {
        (1..4).map(|nth| ThreadName::main().child(nth)).collect()
    }

    /// Offers each of these threads with its pending site, and executes what is chosen.
    fn step(shielded: &mut Shielded<Last>, offered: &[(u32, u32)]) -> u32 {
        let names = names();
        let ready = |&(thread, site): &(u32, u32)| Ready {
            thread: ThreadId(thread),
            pending: pending(site),
            by_time: false,
            is_over: false,
        };
        let enabled: Vec<Ready> = offered.iter().map(ready).collect();
        let view = View {
            enabled: &enabled,
            early: &[],
            names: &names,
            current: ThreadId(0),
            why: Why::UsedUp,
            events: 0,
        };
        let choice = shielded.next(&view);
        assert_eq!(choice.events, 1, "a shield looks at every event");
        let what = view.ready(choice.thread).expect("offered").pending;
        shielded.watch(&Executed {
            number: 1,
            thread: choice.thread,
            what,
            repeats: false,
            names: &names,
        });
        choice.thread.0
    }

    #[test]
    fn who_sleeps_inside_of_a_stretch_is_waited_for() {
        let shields = [Shield::Atomic { from: mark(1), to: mark(3), most: 8, lock: None }];
        let mut shielded = Shielded::new(Last, &shields);
        let names = names();
        let ready = |thread: u32, site: u32, op: Op, by_time: bool| Ready {
            thread: ThreadId(thread),
            pending: Pending { op, ..pending(site) },
            by_time,
            is_over: false,
        };
        assert_eq!(step(&mut shielded, &[(0, 7), (1, 1)]), 1, "it begins");
        let mut chosen = |early: Ready| {
            let view = View {
                enabled: &[ready(0, 7, Op::Write, false), ready(2, 1, Op::Write, false)],
                early: &[early],
                names: &names,
                current: ThreadId(1),
                why: Why::Blocked,
                events: 0,
            };
            shielded.next(&view).thread.0
        };
        assert_eq!(chosen(ready(1, 2, Op::Yield, true)), 1, "its time passes first");
        assert_eq!(chosen(ready(1, 2, Op::Wait, true)), 2, "a wait is for others, who go on");
    }

    #[test]
    fn a_stretch_is_not_interrupted_until_it_ends_or_blocks() {
        let shields = [Shield::Atomic { from: mark(1), to: mark(3), most: 8, lock: None }];
        let mut shielded = Shielded::new(Last, &shields);
        assert_eq!(step(&mut shielded, &[(0, 7), (1, 1)]), 1, "it begins");
        assert_eq!(
            step(&mut shielded, &[(1, 2), (2, 7)]),
            1,
            "inside, though the other is preferred"
        );
        assert_eq!(step(&mut shielded, &[(2, 7)]), 2, "who blocks lets others go on");
        assert_eq!(step(&mut shielded, &[(1, 3), (2, 7)]), 1, "it ends");
        assert_eq!(step(&mut shielded, &[(1, 4), (2, 7)]), 2, "and is over");
    }

    #[test]
    fn a_stretch_that_takes_a_lock_begins_where_it_is_free() {
        let shields = [Shield::Atomic { from: mark(1), to: mark(3), most: 8, lock: Some(8) }];
        let mut shielded = Shielded::new(Last, &shields);
        let names = names();
        let mut takes = |op: Op| {
            let what = Pending { op, ..pending(6) };
            let executed =
                Executed { number: 1, thread: ThreadId(0), what, repeats: false, names: &names };
            shielded.watch(&executed);
            step(&mut shielded, &[(0, 7), (1, 1)])
        };
        assert_eq!(takes(Op::Acquire), 0, "it has to wait for who holds the lock");
        assert_eq!(takes(Op::Release), 1);
    }

    #[test]
    fn a_stretch_that_does_not_come_to_its_end_is_left() {
        let shields = [Shield::Atomic { from: mark(1), to: mark(3), most: 1, lock: None }];
        let mut shielded = Shielded::new(Last, &shields);
        let chosen: Vec<u32> =
            [1, 5, 6, 7].map(|site| step(&mut shielded, &[(1, site), (2, 9)])).to_vec();
        // The first choice is free, and goes to the other.
        assert_eq!(chosen, [2, 2, 2, 2]);
        let mut shielded = Shielded::new(Last, &shields);
        assert_eq!(step(&mut shielded, &[(1, 1)]), 1);
        assert_eq!(step(&mut shielded, &[(1, 5), (2, 9)]), 1);
        assert_eq!(step(&mut shielded, &[(1, 6), (2, 9)]), 1);
        assert_eq!(step(&mut shielded, &[(1, 7), (2, 9)]), 2, "as long as the longest, no longer");
    }

    #[test]
    fn what_should_come_later_waits_for_as_many_as_it_should() {
        let shields = [Shield::Order { first: mark(1), times: 2, then: mark(2) }];
        let mut shielded = Shielded::new(Last, &shields);
        assert_eq!(step(&mut shielded, &[(0, 1), (1, 2)]), 0);
        assert_eq!(step(&mut shielded, &[(0, 1), (1, 2)]), 0);
        assert_eq!(step(&mut shielded, &[(0, 9), (1, 2)]), 1, "both were there");
        assert!(!shielded.is_void());
    }

    #[test]
    fn a_thread_that_begins_has_not_done_what_it_does_first() {
        let shields = [Shield::Order { first: mark(1), times: 1, then: mark(2) }];
        let mut shielded = Shielded::new(Last, &shields);
        let (names, what) = (names(), Pending { op: Op::Start, ..pending(1) });
        let executed =
            Executed { number: 1, thread: ThreadId(0), what, repeats: false, names: &names };
        shielded.watch(&executed);
        assert_eq!(step(&mut shielded, &[(0, 1), (1, 2)]), 0, "the other still has to wait");
    }

    #[test]
    fn each_in_turn_waits_for_one_of_its_own() {
        let shields = [Shield::Turns { first: mark(1), then: mark(2), ahead: 0 }];
        let mut shielded = Shielded::new(Last, &shields);
        let chosen = [(0, 1), (0, 9), (0, 1)]
            .map(|offered: (u32, u32)| step(&mut shielded, &[offered, (1, 2)]));
        assert_eq!(chosen, [0, 1, 0], "the second has to wait for the second");
        assert_eq!(step(&mut shielded, &[(0, 9), (1, 2)]), 1);
        assert!(!shielded.is_void());
        assert_eq!(step(&mut shielded, &[(1, 2)]), 1, "nobody else can go on");
        assert_eq!(step(&mut shielded, &[(0, 1)]), 0);
        assert!(shielded.is_void(), "it would have come");
    }

    #[test]
    fn of_two_threads_at_one_place_the_one_waits_for_the_other() {
        let tag = |thread: usize| ThreadTag::of(&names()[thread]);
        let shields = [Shield::Between { first: mark(1), of: tag(0), then: mark(1), by: tag(1) }];
        let mut shielded = Shielded::new(Last, &shields);
        assert_eq!(step(&mut shielded, &[(1, 1), (2, 1)]), 2, "a third is none of its business");
        assert_eq!(step(&mut shielded, &[(0, 1), (1, 1)]), 0);
        assert_eq!(step(&mut shielded, &[(0, 1), (1, 1)]), 1);
        assert!(!shielded.is_void());
    }

    #[test]
    fn a_patient_wait_times_out_last_and_an_outlived_process_ends_last() {
        let names = names();
        let ready = |thread: u32, site: u32, op: Op, by_time: bool| Ready {
            thread: ThreadId(thread),
            pending: Pending { op, ..pending(site) },
            by_time,
            is_over: false,
        };
        let next = |shields: &[Shield], enabled: &[Ready], early: &[Ready]| {
            let mut shielded = Shielded::new(Early, shields);
            let view = View {
                enabled,
                early,
                names: &names,
                current: ThreadId(0),
                why: Why::UsedUp,
                events: 0,
            };
            shielded.next(&view).thread.0
        };
        let patient = [Shield::Patient { at: mark(5) }];
        let (waits, runs) = (ready(0, 5, Op::Acquire, true), ready(1, 1, Op::Write, false));
        assert_eq!(next(&[], &[runs], &[waits]), 0, "this scheduler takes whoever is early");
        assert_eq!(next(&patient, &[runs], &[waits]), 1, "not while others can go on");
        assert_eq!(next(&patient, &[waits, runs], &[]), 1);
        assert_eq!(next(&patient, &[waits], &[]), 0, "nobody else can go on");
        let sleeps = ready(1, 2, Op::Yield, true);
        assert_eq!(next(&patient, &[waits], &[sleeps]), 1, "a sleep that is longer is waited for");
        let ends = ready(0, 9, Op::End, false);
        assert_eq!(next(&[Shield::Outlived], &[runs, ends], &[]), 1);
        assert_eq!(next(&[Shield::Outlived], &[ends], &[]), 0);
    }

    /// Whoever could only go on early, else the last.
    struct Early;

    impl Scheduler for Early {
        fn next(&mut self, view: &View<'_>) -> Choice {
            let ready = view.early.last().or(view.enabled.last()).expect("never empty");
            Choice { thread: ready.thread, events: 1 }
        }
    }

    #[test]
    fn an_order_that_cannot_be_kept_makes_the_run_void() {
        let shields = [Shield::Order { first: mark(1), times: 1, then: mark(2) }];
        let mut shielded = Shielded::new(Last, &shields);
        assert_eq!(step(&mut shielded, &[(1, 2)]), 1, "nobody else can go on");
        assert!(!shielded.is_void(), "the first may never come");
        assert_eq!(step(&mut shielded, &[(0, 1)]), 0);
        assert!(shielded.is_void(), "but it did");
    }
}
