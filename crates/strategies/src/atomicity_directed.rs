//! Atomicity-directed scheduling: a thread waits in the middle of what may be meant as one, until another has come between.
//!
//! AtomFuzzer (Park and Sen, FSE 2008), one of the modes of Thrille: a random walk in which a thread that has executed the first of
//! two accesses is held before the second, while others go on, until one of them has executed a conflicting access. There
//! the blocks are declared; here the pairs come from earlier runs (`splits.rs`), as in CTrigger (Park, Lu, Zhou, ASPLOS 2009).
//! A thread that is about to do the remote access before anybody is in the middle waits as well. Who would be held in a
//! critical section is held before it, or nobody could come between.
//!
//! A run is after one split; or after all of them at once, where each time a coin decides whether the thread is held: failures
//! of algorithms without locks need several such pauses in one run. A compare-exchange that should notice what came between does
//! not if the value is the old one again (ABA): so a thread may wait for several remote accesses, too.
//!
//! Deviates: who is held is let go at random after a while, as in `race_directed.rs`. A search that finds nothing says nothing
//! about a split.

use rustc_hash::FxHashMap;
use unravel_trace::{
    Choice, Executed, Op, Pending, Question, Ready, Rng, Role, Scheduler, SiteId, ThreadId, View,
    Why, touches,
};

use crate::budgets::{MOST_REMOTE, PATIENCE};
use crate::splits::Split;

/// How many events a thread goes on for if nothing happens, on average; always, or until it cannot.
const LENGTHS: [u32; 4] = [1, 4, u32::MAX, u32::MAX];

#[derive(Debug)]
pub struct AtomicityDirected {
    rng: Rng,
    splits: Vec<Split>,
    /// Whether a coin decides each time, of any split.
    any: bool,
    length: u32,
    /// The first halves of pairs that each thread has executed: where, and which memory.
    begun: FxHashMap<ThreadId, Vec<(SiteId, u64)>>,
    held: Vec<Waiting>,
    /// Threads that were let go: they execute their pending event before they are held again.
    released: Vec<ThreadId>,
    /// Goes next: what it waited for has come.
    next: Option<ThreadId>,
    /// Events for which the current thread goes on.
    left: u32,
    /// Whether the end of the process waits until nothing else can happen.
    linger: bool,
}

/// A thread that is not let go on.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    thread: ThreadId,
    address: u64,
    /// Remote accesses that it waits for, in the middle of a pair; `None` for one that waits to come between.
    remote: Option<u32>,
}

/// The memory that an event accesses.
fn accessed(pending: &Pending) -> Option<(u64, u64, bool)> {
    let data = touches(pending).find(|touch| matches!(touch.role, Role::Data | Role::Free))?;
    Some((data.address, data.bytes, data.writes))
}

impl AtomicityDirected {
    /// After one of these splits, or after all of them.
    pub fn new(seed: u64, splits: &[Split]) -> AtomicityDirected {
        let mut rng = Rng::new(seed);
        let any = rng.below(2) == 0;
        let splits = match splits {
            [] => Vec::new(),
            splits if any => splits.to_vec(),
            splits => vec![*rng.pick(splits)],
        };
        let length = *rng.pick(&LENGTHS);
        let linger = rng.below(2) == 0;
        AtomicityDirected {
            rng,
            splits,
            any,
            length,
            begun: FxHashMap::default(),
            held: Vec::new(),
            released: Vec::new(),
            next: None,
            left: 0,
            linger,
        }
    }

    /// A thread that is not held: the current one while its turn lasts, or any.
    fn draw(&mut self, view: &View<'_>) -> Option<Ready> {
        let AtomicityDirected { rng, held, linger, left, length, .. } = self;
        let is_held = |c: &Ready| held.iter().any(|waiting| waiting.thread == c.thread);
        // Where main does not join, most orders end before anything happened.
        let ends = |c: &Ready| *linger && c.pending.op == Op::End;
        let yielded = |c: &Ready| view.why == Why::Yielded && c.thread == view.current;
        let may = |c: &&Ready| !is_held(c) && !ends(c);
        if *left > 0
            && let Some(current) =
                view.enabled.iter().filter(may).find(|c| c.thread == view.current)
            && !yielded(current)
        {
            *left -= 1;
            return Some(*current);
        }
        *left = match *length {
            u32::MAX => u32::MAX,
            length => rng.below(2 * length - 1),
        };
        let mut candidates: Vec<&Ready> =
            view.enabled.iter().filter(|c| may(c) && !yielded(c)).collect();
        if candidates.is_empty() {
            candidates = view.enabled.iter().filter(may).collect();
        }
        if candidates.is_empty() && held.is_empty() {
            candidates = view.enabled.iter().collect();
        }
        (!candidates.is_empty()).then(|| **rng.pick(&candidates))
    }

    /// The memory that a thread, about to do this, is in the middle of accessing twice.
    fn middle(&self, ready: &Ready) -> Option<u64> {
        let Pending { site, .. } = ready.pending;
        let begun = self.begun.get(&ready.thread)?;
        let mut seconds = self.splits.iter().filter(|split| split.second == site);
        let accesses = accessed(&ready.pending).map(|(address, ..)| address);
        seconds.find_map(|split| {
            let fits = |(first, address): &&(SiteId, u64)| {
                *first == split.first && accesses.is_none_or(|accessed| accessed == *address)
            };
            begun.iter().rfind(fits).map(|(_, address)| *address)
        })
    }

    /// Whether the thread has to wait here.
    fn holds(&mut self, ready: &Ready) -> bool {
        let thread = ready.thread;
        if let Some(address) = self.middle(ready) {
            if self.any && self.rng.below(2) == 0 {
                return false;
            }
            // Few, mostly.
            let most = 1 + self.rng.below(MOST_REMOTE);
            let remote = 1 + self.rng.below(most);
            // Who waited to come between goes on.
            let comes = self.held.extract_if(.., |waiting| waiting.remote.is_none());
            self.released.extend(comes.map(|waiting| waiting.thread));
            self.held.push(Waiting { thread, address, remote: Some(remote) });
            return true;
        }
        let site = ready.pending.site;
        let is_remote = !self.any && self.splits.iter().any(|split| split.waits == site);
        let is_awaited = self.held.iter().any(|waiting| waiting.remote.is_some());
        // One that begins the pair itself is on its way to the middle.
        let begins = self.splits.iter().any(|split| split.first == site);
        if is_remote && !is_awaited && !begins {
            self.held.push(Waiting { thread, address: 0, remote: None });
            return true;
        }
        false
    }

    fn release(&mut self, index: usize) -> ThreadId {
        let thread = self.held.swap_remove(index).thread;
        self.released.push(thread);
        thread
    }

    fn run(&mut self, thread: ThreadId) -> Choice {
        self.released.retain(|other| *other != thread);
        Choice { thread, events: 1 }
    }
}

impl Scheduler for AtomicityDirected {
    fn next(&mut self, view: &View<'_>) -> Choice {
        if let Some(next) = self.next.take()
            && view.is_enabled(next)
        {
            return self.run(next);
        }
        self.held.retain(|waiting| view.is_enabled(waiting.thread));
        if !self.held.is_empty() && self.rng.below(PATIENCE) == 0 {
            let index = self.rng.below(self.held.len() as u32) as usize;
            self.release(index);
        }
        loop {
            let Some(drawn) = self.draw(view) else {
                let index = self.rng.below(self.held.len() as u32) as usize;
                let thread = self.release(index);
                return self.run(thread);
            };
            if self.released.contains(&drawn.thread) || !self.holds(&drawn) {
                return self.run(drawn.thread);
            }
        }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        let Executed { thread, ref what, .. } = *executed;
        let Some((address, bytes, writes)) = accessed(what) else { return };
        let begun = self.begun.entry(thread).or_default();
        begun.retain(|(_, other)| *other != address);
        if self.splits.iter().any(|split| split.first == what.site) {
            begun.push((what.site, address));
        }
        let comes_between = match self.any {
            true => writes,
            false => self.splits.iter().any(|split| split.remote == what.site),
        };
        if !comes_between {
            return;
        }
        let range = address..address.saturating_add(bytes);
        let waits = |w: &Waiting| w.thread != thread && range.contains(&w.address);
        for waiting in self.held.iter_mut().filter(|w| waits(w)) {
            waiting.remote = waiting.remote.map(|left| left.saturating_sub(1));
        }
        if let Some(index) = self.held.iter().position(|w| w.remote == Some(0)) {
            self.next = Some(self.release(index));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{Operand, ThreadName};

    const SPLIT: Split =
        Split { first: SiteId(1), second: SiteId(2), waits: SiteId(3), remote: SiteId(3) };

    fn ready(thread: u32, op: Op, site: SiteId, address: u64) -> Ready {
        let pending = Pending {
            op,
            address,
            bytes: 4,
            site,
            caller: None,
            operand: Operand::None,
            atomic: false,
        };
        Ready { thread: ThreadId(thread), pending, by_time: false, is_over: false }
    }

    /// Two threads that each execute what is listed, and who executed what, by site.
    fn execute(by: &mut AtomicityDirected, threads: [&[(Op, SiteId)]; 2]) -> Vec<(u32, u32)> {
        let names: Vec<ThreadName> = (0..2).map(|n| ThreadName(vec![n])).collect();
        let mut at = [0, 0];
        let mut order = Vec::new();
        let mut current = 0;
        loop {
            let enabled: Vec<Ready> = (0..2)
                .filter_map(|t| threads[t].get(at[t]).map(|(op, site)| (t, *op, *site)))
                .map(|(t, op, site)| ready(t as u32, op, site, 64))
                .collect();
            if enabled.is_empty() {
                return order;
            }
            let (current_thread, events) = (ThreadId(current), order.len() as u64);
            let view = View {
                enabled: &enabled,
                early: &[],
                names: &names,
                current: current_thread,
                why: Why::UsedUp,
                events,
            };
            let Choice { thread, events } = by.next(&view);
            assert_eq!(events, 1, "each event may bring a thread into the middle");
            let what = view.ready(thread).expect("it was enabled").pending;
            by.watch(&Executed { number: 1, thread, what, repeats: false, names: &names });
            order.push((thread.0, what.site.0));
            at[thread.index()] += 1;
            current = thread.0;
        }
    }

    #[test]
    fn the_remote_access_comes_between_however_far_away_it_is() {
        let far = [vec![(Op::Read, SiteId(9)); 30], vec![(Op::Write, SPLIT.remote)]].concat();
        let pair = [(Op::Read, SPLIT.first), (Op::Write, SPLIT.second)];
        let split = |order: &[(u32, u32)]| {
            let at = |what| order.iter().position(|event| *event == what).expect("was executed");
            at((0, 1)) < at((1, 3)) && at((1, 3)) < at((0, 2))
        };
        let hit = (0..200).filter(|seed| {
            let mut by = AtomicityDirected::new(*seed, &[SPLIT]);
            split(&execute(&mut by, [&pair, &far]))
        });
        let hit = hit.count();
        assert!(hit > 100, "{hit} of 200");
        let walks = (0..200).filter(|seed| {
            let mut by = AtomicityDirected::new(*seed, &[]);
            split(&execute(&mut by, [&pair, &far]))
        });
        let walks = walks.count();
        assert!(walks < 40, "{walks} of 200 by a walk that knows nothing");
    }

    #[test]
    fn who_waits_to_come_between_goes_on_if_nobody_gets_into_the_middle() {
        let alone = [(Op::Write, SPLIT.remote), (Op::Read, SiteId(9))];
        for seed in 0..50 {
            let mut by = AtomicityDirected::new(seed, &[SPLIT]);
            assert_eq!(execute(&mut by, [&alone, &[]]).len(), 2);
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let threads: [&[(Op, SiteId)]; 2] = [
            &[(Op::Read, SPLIT.first), (Op::Write, SPLIT.second), (Op::Write, SPLIT.remote)],
            &[(Op::Write, SPLIT.remote), (Op::Read, SPLIT.first), (Op::Write, SPLIT.second)],
        ];
        let order = |seed| execute(&mut AtomicityDirected::new(seed, &[SPLIT]), threads);
        assert_eq!(order(7), order(7));
        assert!((0..20).any(|seed| order(seed) != order(7)));
    }
}
