//! Sync objects: what their users hand on to each other.
//!
//! Exact where the events tell enough: readers of a rwlock hand on to writers only, a barrier joins the threads of one
//! generation, a signal reaches those who waited then. They do not tell whether a `trylock` of a mutex got it, whom a
//! signal woke, or whether a semaphore had a count of its own: there an order is assumed, and a race may be missed.

use rustc_hash::FxHashMap;
use unravel_trace::ThreadId;

use super::clock::Clock;

/// All sync objects of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    /// What was released where, by granules of eight bytes: sync objects at their first byte, atomic locations.
    released: FxHashMap<u64, Vec<Released>>,
    /// All that was left in atomic locations.
    atomics: Clock,
    locks: FxHashMap<u64, Lock>,
    /// Threads in a condition wait, and what signals since told them.
    waiting: FxHashMap<u64, Vec<(ThreadId, Clock)>>,
    barriers: FxHashMap<u64, Barrier>,
}

/// Bytes that something was handed on through.
#[derive(Clone, Debug)]
struct Released {
    address: u64,
    bytes: u64,
    clock: Clock,
}

/// Who holds a lock. Of a semaphore this means nothing, and nothing depends on it.
#[derive(Clone, Debug, Default)]
struct Lock {
    owner: Option<ThreadId>,
    /// As often as they hold it.
    readers: Vec<ThreadId>,
    /// What readers handed on; only writers get it.
    read: Clock,
}

#[derive(Clone, Debug)]
struct Barrier {
    count: u64,
    arrived: u64,
    /// What those who arrived in the present generation handed on.
    gathering: Clock,
    /// What those get who are on their way out.
    leaving: Vec<(ThreadId, Clock)>,
    /// Who arrived in the present generation.
    here: Vec<ThreadId>,
}

/// A sync object is one thing, wherever it is touched.
const OBJECT: u64 = 1;

impl Objects {
    pub fn clear(&mut self) {
        self.released.clear();
        self.atomics = Clock::default();
        self.locks.clear();
        self.waiting.clear();
        self.barriers.clear();
    }

    /// Hands on what was released at any of these bytes.
    pub fn take(&self, address: u64, bytes: u64, clock: &mut Clock) {
        let end = address.saturating_add(bytes);
        for granule in address >> 3..=(end - 1) >> 3 {
            for released in self.released.get(&granule).into_iter().flatten() {
                if released.address < end && address < released.address + released.bytes {
                    clock.join(&released.clock);
                }
            }
        }
    }

    /// An atomic store or update of these bytes.
    pub fn give_atomically(&mut self, address: u64, bytes: u64, clock: &Clock) {
        self.give(address, bytes, clock);
        self.atomics.join(clock);
    }

    /// What is known to whoever has looked at every atomic location.
    pub fn atomics(&self) -> &Clock {
        &self.atomics
    }

    /// Leaves what is known for whoever takes any of these bytes.
    fn give(&mut self, address: u64, bytes: u64, clock: &Clock) {
        let end = address.saturating_add(bytes);
        for granule in address >> 3..=(end - 1) >> 3 {
            let there = self.released.entry(granule).or_default();
            match there.iter_mut().find(|r| (r.address, r.bytes) == (address, bytes)) {
                Some(released) => released.clock.join(clock),
                None => there.push(Released { address, bytes, clock: clock.clone() }),
            }
        }
    }

    /// A lock is taken, a semaphore waited for, an initialiser begun, a futex left.
    pub fn acquire(&mut self, address: u64, thread: ThreadId, clock: &mut Clock) {
        if let Some(barrier) = self.barriers.get_mut(&address)
            && let Some(at) = barrier.leaving.iter().position(|(leaver, _)| *leaver == thread)
        {
            clock.join(&barrier.leaving.swap_remove(at).1);
            return;
        }
        let lock = self.locks.entry(address).or_default();
        if !lock.readers.is_empty() {
            // Only a lock has readers, and with them nobody gets it: this was tried in vain.
            return;
        }
        lock.owner.get_or_insert(thread);
        clock.join(&lock.read);
        self.take(address, OBJECT, clock);
    }

    pub fn acquire_shared(&mut self, address: u64, thread: ThreadId, clock: &mut Clock) {
        let lock = self.locks.entry(address).or_default();
        if lock.owner.is_some() {
            return;
        }
        lock.readers.push(thread);
        self.take(address, OBJECT, clock);
    }

    /// A lock is given back, a semaphore posted, an object set up or destroyed.
    pub fn release(&mut self, address: u64, thread: ThreadId, clock: &Clock) {
        self.barriers.remove(&address);
        let lock = self.locks.entry(address).or_default();
        if let Some(reader) = lock.readers.iter().position(|reader| *reader == thread) {
            lock.readers.swap_remove(reader);
            lock.read.join(clock);
            return;
        }
        // Who holds nothing sets up or destroys: whoever held what was there before does not matter.
        if lock.owner != Some(thread) {
            lock.readers.clear();
        }
        lock.owner = None;
        self.give(address, OBJECT, clock);
    }

    /// Memory becomes another thing: who holds the locks in it does not matter any more.
    pub fn forget(&mut self, address: u64, bytes: u64) {
        let is_elsewhere = |at: &u64| !(address..address.saturating_add(bytes)).contains(at);
        self.locks.retain(|at, _| is_elsewhere(at));
        self.waiting.retain(|at, _| is_elsewhere(at));
        self.barriers.retain(|at, _| is_elsewhere(at));
    }

    /// A thread goes to sleep on a condition variable; its mutex is released apart.
    pub fn wait(&mut self, address: u64, thread: ThreadId) {
        let waiting = self.waiting.entry(address).or_default();
        waiting.retain(|(waiter, _)| *waiter != thread);
        waiting.push((thread, Clock::default()));
    }

    /// A signal or a broadcast; the wake of a futex, whose waiters [`Objects::acquire`] it.
    pub fn signal(&mut self, address: u64, clock: &Clock) {
        for (_, told) in self.waiting.entry(address).or_default() {
            told.join(clock);
        }
        self.give(address, OBJECT, clock);
    }

    /// A thread comes out of a condition wait; its mutex is taken apart.
    pub fn wake(&mut self, address: u64, thread: ThreadId, clock: &mut Clock) {
        let waiting = self.waiting.entry(address).or_default();
        if let Some(at) = waiting.iter().position(|(waiter, _)| *waiter == thread) {
            clock.join(&waiting.swap_remove(at).1);
        }
    }

    /// A barrier for so many threads is set up.
    pub fn set_up_barrier(&mut self, address: u64, count: u64) {
        let barrier = Barrier {
            count,
            arrived: 0,
            gathering: Clock::default(),
            leaving: Vec::new(),
            here: Vec::new(),
        };
        self.barriers.insert(address, barrier);
    }

    /// A thread arrives at a barrier. The last one opens it for all.
    pub fn arrive(&mut self, address: u64, thread: ThreadId, clock: &Clock) {
        let Some(barrier) = self.barriers.get_mut(&address) else { return };
        barrier.arrived += 1;
        barrier.gathering.join(clock);
        barrier.here.push(thread);
        if barrier.arrived >= barrier.count {
            barrier.arrived = 0;
            let all = std::mem::take(&mut barrier.gathering);
            barrier.leaving.extend(barrier.here.drain(..).map(|leaver| (leaver, all.clone())));
        }
    }
}
