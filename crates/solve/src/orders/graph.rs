//! The order of steps as a graph that stays acyclic, edge by edge.
//!
//! Pearce and Kelly's dynamic topological order: every step has a place such that all edges go forward; an edge that
//! goes backward moves only the steps between its ends. The places begin as the schedule that the query is anchored
//! on, so that most edges go forward already. Program order, forks and joins are edges that are always there and need
//! no reason; each other edge has the literals it follows from, and a cycle is explained by those of its edges. The
//! search prefers edges without reasons, so that explanations are short.

use std::collections::VecDeque;

use crate::sat::Lit;
use crate::{Model, StepId};

const NONE: u32 = u32::MAX;

/// An edge that was added, at its origin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub to: StepId,
    /// Its literals: a range of `reasons`.
    from: u32,
    length: u32,
}

/// Where a search came from.
#[derive(Clone, Copy, Debug)]
struct Parent {
    step: u32,
    /// The edge's literals; none for one that is always there.
    from: u32,
    length: u32,
}

const ROOT: Parent = Parent { step: NONE, from: 0, length: 0 };

/// One of the two searches for a backward edge.
#[derive(Debug, Default)]
struct Reached {
    /// By step: the search that marked it last.
    marks: Vec<u32>,
    parents: Vec<Parent>,
    stamp: u32,
    steps: Vec<StepId>,
}

impl Reached {
    fn begin(&mut self) {
        self.stamp += 1;
        self.steps.clear();
    }

    fn has(&self, step: StepId) -> bool {
        self.marks[step.index()] == self.stamp
    }
}

/// A cycle that an edge would close: the literals that it follows from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cycle(pub Vec<Lit>);

#[derive(Debug)]
pub(super) struct Graph {
    /// Program order.
    next: Vec<u32>,
    previous: Vec<u32>,
    /// Forks and joins.
    fixed_out: Vec<(StepId, StepId)>,
    fixed_in: Vec<(StepId, StepId)>,
    has_fixed: Vec<bool>,
    out: Vec<Vec<Edge>>,
    into: Vec<Vec<(StepId, u32, u32)>>,
    reasons: Vec<Lit>,
    /// The ends of the edges, in the order they were added.
    added: Vec<(StepId, StepId)>,
    /// By step: its place, and by place its step.
    places: Vec<u32>,
    at: Vec<StepId>,
    forward: Reached,
    backward: Reached,
    /// The last edge moved steps: both searches are still known.
    moved: bool,
}

impl Graph {
    /// With the places of this order, as far as what always holds allows.
    pub fn new(model: &Model, order: &[StepId]) -> Graph {
        let steps = model.len();
        let mut graph = Graph {
            next: vec![NONE; steps],
            previous: vec![NONE; steps],
            fixed_out: Vec::new(),
            fixed_in: Vec::new(),
            has_fixed: vec![false; steps],
            out: vec![Vec::new(); steps],
            into: vec![Vec::new(); steps],
            reasons: Vec::new(),
            added: Vec::new(),
            places: vec![0; steps],
            at: vec![StepId(0); steps],
            forward: Reached::default(),
            backward: Reached::default(),
            moved: false,
        };
        for reached in [&mut graph.forward, &mut graph.backward] {
            reached.marks = vec![0; steps];
            reached.parents = vec![ROOT; steps];
        }
        graph.fix(model);
        graph.seed(order);
        graph
    }

    fn fix(&mut self, model: &Model) {
        for step in model.steps() {
            let steps = model.thread_steps(model.owner(step));
            if let Some(next) = steps.get(model.place(step) + 1) {
                self.next[step.index()] = next.0;
                self.previous[next.index()] = step.0;
            }
        }
        self.fixed_in = model.causes();
        for &(step, cause) in &self.fixed_in {
            self.fixed_out.push((cause, step));
            self.has_fixed[cause.index()] = true;
            self.has_fixed[step.index()] = true;
        }
        self.fixed_out.sort();
    }

    fn seed(&mut self, order: &[StepId]) {
        let mut wish = vec![u32::MAX; self.places.len()];
        order.iter().enumerate().for_each(|(place, step)| wish[step.index()] = place as u32);
        let mut walk = self.walk();
        let mut ready = std::collections::BinaryHeap::new();
        let key = |step: StepId| std::cmp::Reverse((wish[step.index()], step));
        ready.extend(walk.ready().into_iter().map(key));
        let mut place = 0;
        while let Some(std::cmp::Reverse((_, step))) = ready.pop() {
            self.places[step.index()] = place;
            self.at[place as usize] = step;
            place += 1;
            walk.done(self, step, |next| ready.push(key(next)));
        }
    }

    pub fn len(&self) -> usize {
        self.added.len()
    }

    /// Edges that were added from a step, and to it with where they come from.
    pub fn out_of(&self, step: StepId) -> &[Edge] {
        &self.out[step.index()]
    }

    pub fn into(&self, step: StepId) -> impl Iterator<Item = (StepId, &[Lit])> {
        self.into[step.index()].iter().map(|(origin, from, length)| {
            (*origin, &self.reasons[*from as usize..(from + length) as usize])
        })
    }

    pub fn reason(&self, edge: &Edge) -> &[Lit] {
        &self.reasons[edge.from as usize..(edge.from + edge.length) as usize]
    }

    /// Where forks and joins lead from a step.
    pub fn fixed_out(&self, step: StepId) -> impl Iterator<Item = StepId> + '_ {
        fixed(&self.fixed_out, self.has_fixed[step.index()], step)
    }

    pub fn fixed_into(&self, step: StepId) -> impl Iterator<Item = StepId> + '_ {
        fixed(&self.fixed_in, self.has_fixed[step.index()], step)
    }

    /// Adds an edge that follows from these literals, unless it closes a cycle.
    pub fn add(&mut self, a: StepId, b: StepId, reason: &[Lit]) -> Result<(), Cycle> {
        self.moved = false;
        if self.places[a.index()] > self.places[b.index()] {
            self.make_room(a, b, reason)?;
        }
        let (from, length) = (self.reasons.len() as u32, reason.len() as u32);
        self.reasons.extend_from_slice(reason);
        self.out[a.index()].push(Edge { to: b, from, length });
        self.into[b.index()].push((a, from, length));
        self.added.push((a, b));
        Ok(())
    }

    /// Takes back all but the first edges. Places stay: they obey fewer edges just as well.
    pub fn truncate(&mut self, edges: usize) {
        while self.added.len() > edges {
            if let Some((a, b)) = self.added.pop()
                && let Some(edge) = self.out[a.index()].pop()
            {
                self.into[b.index()].pop();
                self.reasons.truncate(edge.from as usize);
            }
        }
        self.moved = false;
    }

    fn make_room(&mut self, a: StepId, b: StepId, reason: &[Lit]) -> Result<(), Cycle> {
        let (low, high) = (self.places[b.index()], self.places[a.index()]);
        let mut forward = std::mem::take(&mut self.forward);
        self.search(&mut forward, b, |place| place <= high, true);
        let cycle = forward.has(a).then(|| {
            let mut literals = reason.to_vec();
            self.trace_back(&forward, a, &mut literals);
            Cycle(literals)
        });
        self.forward = forward;
        if let Some(cycle) = cycle {
            return Err(cycle);
        }
        let mut backward = std::mem::take(&mut self.backward);
        self.search(&mut backward, a, |place| place >= low, false);
        self.backward = backward;
        // What reaches `a` comes first, then what `b` reaches, all in the places that both had.
        let places = &self.places;
        self.backward.steps.sort_by_key(|step| places[step.index()]);
        self.forward.steps.sort_by_key(|step| places[step.index()]);
        let moving = || self.backward.steps.iter().chain(&self.forward.steps).copied();
        let mut free: Vec<u32> = moving().map(|step| places[step.index()]).collect();
        free.sort_unstable();
        let moving: Vec<StepId> = moving().collect();
        for (step, place) in moving.into_iter().zip(free) {
            self.places[step.index()] = place;
            self.at[place as usize] = step;
        }
        self.moved = true;
        Ok(())
    }

    /// All that can be reached within the places allowed, along the fewest edges that have reasons.
    fn search(
        &self,
        reached: &mut Reached,
        start: StepId,
        within: impl Fn(u32) -> bool,
        ahead: bool,
    ) {
        reached.begin();
        let mut queue: VecDeque<(StepId, Parent)> = VecDeque::from([(start, ROOT)]);
        while let Some((step, parent)) = queue.pop_front() {
            if reached.has(step) {
                continue;
            }
            reached.marks[step.index()] = reached.stamp;
            reached.parents[step.index()] = parent;
            reached.steps.push(step);
            let index = step.index();
            let open = |to: StepId| within(self.places[to.index()]) && !reached.has(to);
            let always = Parent { step: step.0, from: 0, length: 0 };
            let neighbour = if ahead { self.next[index] } else { self.previous[index] };
            if neighbour != NONE && open(StepId(neighbour)) {
                queue.push_front((StepId(neighbour), always));
            }
            if self.has_fixed[index] {
                let list = if ahead { &self.fixed_out } else { &self.fixed_in };
                for to in fixed(list, true, step).filter(|to| open(*to)) {
                    queue.push_front((to, always));
                }
            }
            if ahead {
                for edge in self.out[index].iter().filter(|edge| open(edge.to)) {
                    let Edge { to, from, length } = *edge;
                    queue.push_back((to, Parent { step: step.0, from, length }));
                }
            } else {
                for &(origin, from, length) in self.into[index].iter().filter(|e| open(e.0)) {
                    queue.push_back((origin, Parent { step: step.0, from, length }));
                }
            }
        }
    }

    fn trace_back(&self, reached: &Reached, from: StepId, literals: &mut Vec<Lit>) {
        let mut step = from;
        loop {
            let parent = reached.parents[step.index()];
            let range = parent.from as usize..(parent.from + parent.length) as usize;
            literals.extend_from_slice(&self.reasons[range]);
            if parent.step == NONE {
                return;
            }
            step = StepId(parent.step);
        }
    }

    /// After an edge that moved steps: those that its end reaches and those that reach its beginning.
    pub fn neighbourhood(&self) -> Option<(&[StepId], impl Fn(StepId) -> bool + '_)> {
        self.moved.then(|| {
            let backward = &self.backward;
            (self.forward.steps.as_slice(), move |step| backward.has(step))
        })
    }

    /// Why, through the last edge, the first (which reaches its beginning) comes before the second (which its end
    /// reaches); the edge's own literals are not included.
    pub fn why(&self, first: StepId, second: StepId) -> Vec<Lit> {
        let mut literals = Vec::new();
        self.trace_back(&self.backward, first, &mut literals);
        self.trace_back(&self.forward, second, &mut literals);
        literals
    }

    /// A walk through all steps along the edges.
    pub fn walk(&self) -> Walk {
        let mut waits = vec![0; self.places.len()];
        for (index, count) in waits.iter_mut().enumerate() {
            *count = self.into[index].len() as u32 + u32::from(self.previous[index] != NONE);
            if self.has_fixed[index] {
                *count += self.fixed_into(StepId(index as u32)).count() as u32;
            }
        }
        Walk { waits }
    }
}

fn fixed(list: &[(StepId, StepId)], any: bool, step: StepId) -> impl Iterator<Item = StepId> + '_ {
    let start = if any { list.partition_point(|(from, _)| *from < step) } else { list.len() };
    list[start..].iter().take_while(move |(from, _)| *from == step).map(|(_, to)| *to)
}

/// How many edges lead to each step from steps that are not done yet.
#[derive(Debug)]
pub(super) struct Walk {
    waits: Vec<u32>,
}

impl Walk {
    /// The steps that wait for nothing at the beginning.
    pub fn ready(&self) -> Vec<StepId> {
        let steps = 0..self.waits.len() as u32;
        steps.map(StepId).filter(|step| self.waits[step.index()] == 0).collect()
    }

    pub fn is_ready(&self, step: StepId) -> bool {
        self.waits[step.index()] == 0
    }

    /// Shows what becomes ready when a step is done.
    pub fn done(&mut self, graph: &Graph, step: StepId, mut show: impl FnMut(StepId)) {
        let mut release = |to: StepId| {
            self.waits[to.index()] -= 1;
            if self.waits[to.index()] == 0 {
                show(to);
            }
        };
        let next = graph.next[step.index()];
        if next != NONE {
            release(StepId(next));
        }
        graph.fixed_out(step).for_each(&mut release);
        graph.out_of(step).iter().for_each(|edge| release(edge.to));
    }
}
