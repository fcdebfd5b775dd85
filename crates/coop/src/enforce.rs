//! The scheduler that keeps the orders of a merged log: each element is accessed by its threads in the order of its vector.
//!
//! CoopREP, thesis §3.1, the replay oracle. A thread whose pending event is not its turn waits; whatever touches no enforced element is free. A
//! vector ends where the logged run ended, so that who is past it goes only if nobody else can. If everybody who could run waits for
//! somebody else's turn, the threads wait in a cycle: the merged orders contradict each other, and the run ends there and then. No
//! time-out is needed, which the paper has.
//!
//! What the orders leave open is decided by a policy: the current thread as long as it can (the paper's merge alone), or, to fill holes,
//! at random; and then an order that cannot be kept gives way instead of ending the run.
//!
//! Of several waiters a signal wakes the one whose turn comes first in the vector of the condition.

use rustc_hash::FxHashMap;
use unravel_trace::{
    Choice, Executed, Op, Question, Ready, Rng, Scheduler, ThreadId, ThreadName, View, Why,
};

use crate::elements::{ElementId, Elements, Holders, Mode};
use crate::log::Who;

/// How far the orders were kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// As far as the run went.
    All,
    /// They contradict each other after so many events.
    Contradicted { events: u64 },
    /// One of them had to give way, after so many events.
    GaveWay { events: u64 },
}

/// Keeps the orders of a merged log.
#[derive(Debug)]
pub struct Enforced<'a> {
    elements: &'a mut Elements,
    /// By element: whose turn it is, one after another. None if it is not enforced.
    vectors: Vec<Option<Vec<Who>>>,
    done: Vec<usize>,
    whos: Vec<Who>,
    holders: Holders,
    /// By condition: who waits there, longest first.
    waiters: FxHashMap<u64, Vec<ThreadId>>,
    /// The condition that was signalled last, and its elements, until it is known whom that woke.
    signalled: Option<(u64, Vec<u32>)>,
    /// How what is open is decided; `None`: without preemption.
    open: Option<Open>,
    kept: Kept,
}

/// Random turns, and how long they are on average.
#[derive(Debug)]
struct Open {
    rng: Rng,
    stay: u32,
}

/// How an event stands to the orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stand {
    /// It touches nothing that is enforced, or it is its turn.
    Free,
    /// All turns of an element are taken.
    Past,
    /// It is somebody else's turn.
    Held,
}

impl<'a> Enforced<'a> {
    /// Keeps these orders, and preempts nobody where they leave it open.
    pub fn new(elements: &'a mut Elements, vectors: &[(ElementId, Vec<Who>)]) -> Enforced<'a> {
        let of = |id: ElementId| {
            let found = vectors.binary_search_by_key(&id, |(element, _)| *element);
            found.ok().map(|at| vectors[at].1.clone())
        };
        let orders: Vec<Option<Vec<Who>>> =
            elements.table().iter().map(|element| of(element.id)).collect();
        Enforced {
            done: vec![0; orders.len()],
            elements,
            vectors: orders,
            whos: Vec::new(),
            holders: Holders::default(),
            waiters: FxHashMap::default(),
            signalled: None,
            open: None,
            kept: Kept::All,
        }
    }

    /// The same, with what is open drawn at random; orders that contradict each other give way.
    #[must_use]
    pub fn filled(mut self, seed: u64) -> Enforced<'a> {
        let mut rng = Rng::new(seed);
        let stay = *rng.pick(&[2, 8, 40]);
        self.open = Some(Open { rng, stay });
        self
    }

    pub fn kept(&self) -> Kept {
        self.kept
    }

    fn who(&mut self, names: &[ThreadName], thread: ThreadId) -> Who {
        while self.whos.len() < names.len() {
            self.whos.push(Who::of(&names[self.whos.len()]));
        }
        self.whos[thread.index()]
    }

    fn stand(&mut self, names: &[ThreadName], ready: &Ready) -> Stand {
        if self.holders.is_unlock(ready.thread, &ready.pending) {
            return Stand::Free;
        }
        let who = self.who(names, ready.thread);
        let touched = self.elements.touched(&ready.pending);
        let stand = |at: &u32| match &self.vectors[*at as usize] {
            None => Stand::Free,
            Some(vector) => match vector.get(self.done[*at as usize]) {
                None => Stand::Past,
                Some(turn) if *turn == who => Stand::Free,
                Some(_) => Stand::Held,
            },
        };
        touched.iter().map(stand).max().unwrap_or(Stand::Free)
    }

    /// Which of the waiters accesses the condition next, if its vector says.
    fn next_to_wake(&self, waiters: &[ThreadId], elements: &[u32]) -> Option<u32> {
        if self.elements.mode() == Mode::Blocks {
            return None;
        }
        elements.iter().find_map(|at| {
            let vector = self.vectors[*at as usize].as_ref()?;
            // The signal itself is executed and counted by now.
            let rest = vector.get(self.done[*at as usize]..)?;
            let waiting =
                |who: &Who| waiters.iter().position(|waiter| self.whos[waiter.index()] == *who);
            rest.iter().find_map(waiting).map(|position| position as u32)
        })
    }

    /// One of these, none of them empty.
    fn prefer(&mut self, view: &View<'_>, among: &[Ready]) -> ThreadId {
        let current = among.iter().find(|ready| ready.thread == view.current);
        let current = current.filter(|_| view.why != Why::Yielded).map(|ready| ready.thread);
        let stays = self.open.as_mut().is_none_or(|open| open.rng.below(open.stay) != 0);
        match (current, &mut self.open) {
            (Some(current), _) if stays => current,
            (_, Some(open)) => open.rng.pick(among).thread,
            (_, None) => {
                let other = among.iter().find(|ready| ready.thread != view.current);
                other.unwrap_or(&among[0]).thread
            }
        }
    }
}

impl Scheduler for Enforced<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        let mut by_stand: [Vec<Ready>; 2] = Default::default();
        for ready in view.enabled {
            match self.stand(view.names, ready) {
                Stand::Free => by_stand[0].push(*ready),
                Stand::Past => by_stand[1].push(*ready),
                Stand::Held => {}
            }
        }
        // The end of the process waits until nothing else can happen.
        for ready in &mut by_stand {
            if ready.iter().any(|one| one.pending.op != Op::End) {
                ready.retain(|one| one.pending.op != Op::End);
            }
        }
        let only_ends = |ready: &[Ready]| ready.iter().all(|one| one.pending.op == Op::End);
        let [free, past] = &by_stand;
        let among = match (free.is_empty(), past.is_empty()) {
            (false, true) => free,
            (false, false) if !only_ends(free) => free,
            (_, false) => past,
            (true, true) => {
                let events = view.events;
                if self.open.is_none() {
                    self.kept = Kept::Contradicted { events };
                    return Choice { thread: view.enabled[0].thread, events: 0 };
                }
                if self.kept == Kept::All {
                    self.kept = Kept::GaveWay { events };
                }
                view.enabled
            }
        };
        // In block mode a thread goes through its block in one go: only entering it is ordered.
        let thread = self.prefer(view, among);
        Choice { thread, events: 1 }
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        let signalled = self.signalled.take().filter(|_| what == Question::Waiter);
        let logged = signalled.as_ref().and_then(|(condition, elements)| {
            let waiters = self.waiters.get(condition)?;
            self.next_to_wake(waiters, elements).filter(|position| *position < options)
        });
        let position = match (logged, &mut self.open) {
            (Some(position), _) => position,
            (None, Some(open)) => open.rng.below(options),
            (None, None) => 0,
        };
        let condition = signalled.map(|(condition, _)| condition);
        if let Some(waiters) = condition.and_then(|condition| self.waiters.get_mut(&condition))
            && (position as usize) < waiters.len()
        {
            waiters.remove(position as usize);
        }
        position
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        self.who(executed.names, executed.thread);
        let what = &executed.what;
        // Nobody was asked whom the last signal wakes: all, or there was one or none.
        if let Some((condition, _)) = self.signalled.take() {
            self.waiters.remove(&condition);
        }
        if !self.holders.is_unlock(executed.thread, what) {
            let touched = self.elements.touched(what);
            for at in touched.iter() {
                self.done[*at as usize] += 1;
            }
            if what.op == Op::Signal {
                self.signalled = Some((what.address, touched.to_vec()));
            }
        }
        match what.op {
            Op::Wait => self.waiters.entry(what.address).or_default().push(executed.thread),
            Op::Acquire if what.mutex().is_some() => {
                let waiters = self.waiters.entry(what.address).or_default();
                waiters.retain(|waiter| *waiter != executed.thread);
            }
            _ => {}
        }
        self.holders.executed(executed.thread, what);
    }
}
