//! Natural loops: retreating edges of a depth-first walk, dominators (Cooper, Harvey and Kennedy's iteration), bodies.
//!
//! Of a function with an irreducible loop (an edge that retreats to a block which does not dominate it) only the retreating
//! edges are known: no loop of it counts.

use std::collections::{BTreeMap, HashSet};

use super::Edge;
use crate::shape::{BlockShape, FunctionShape};

/// So many ways to the end of a loop make it one that dispatches.
const MANY: usize = 8;

pub struct Loops {
    /// Successors first; unreachable blocks are missing.
    pub postorder: Vec<usize>,
    /// Edges to a block that the walk was still in.
    pub retreating: Vec<usize>,
    /// Header → body. Empty if the function is irreducible.
    bodies: BTreeMap<usize, HashSet<usize>>,
}

/// The headers of innermost loops that have no cutting call, an exit, and one way round: those that could count.
pub fn countable(shape: &FunctionShape) -> Vec<(u32, Vec<u32>)> {
    let (edges, out, into) = super::edges(&shape.blocks);
    let loops = Loops::find(&edges, &out, &into);
    let calls = |block: &BlockShape| !block.calls.is_empty();
    let headers = loops.bodies.iter().filter(|(header, body)| {
        let inner = loops.bodies.keys().any(|other| other != *header && body.contains(other));
        let exits = body.iter().any(|&b| out[b].iter().any(|&e| !body.contains(&edges[e].to)));
        !inner
            && exits
            && !body.iter().any(|&b| calls(&shape.blocks[b]))
            && loops.one_way_round(**header, &edges, &out).is_some()
    });
    headers
        .map(|(header, body)| {
            let mut body: Vec<u32> = body.iter().map(|&b| b as u32).collect();
            body.sort_unstable();
            (*header as u32, body)
        })
        .collect()
}

impl Loops {
    pub fn find(edges: &[Edge], out: &[Vec<usize>], into: &[Vec<usize>]) -> Loops {
        let (postorder, retreating) = walk(edges, out);
        let dominators = Dominators::find(edges, into, &postorder);
        let mut bodies: BTreeMap<usize, HashSet<usize>> = BTreeMap::new();
        let mut reducible = true;
        for &edge in &retreating {
            let (latch, header) = (edges[edge].from, edges[edge].to);
            if !dominators.dominates(header, latch) {
                reducible = false;
                break;
            }
            let body = bodies.entry(header).or_insert_with(|| HashSet::from([header]));
            let mut work = vec![latch];
            while let Some(block) = work.pop() {
                if body.insert(block) {
                    let from = into[block].iter().map(|&e| edges[e].from);
                    work.extend(from.filter(|&b| dominators.reachable(b)));
                }
            }
        }
        if !reducible {
            bodies.clear();
        }
        Loops { postorder, retreating, bodies }
    }

    /// Cuts the retreating edges without which paths would be endless. One that only closes cycles with a call on every way round stays
    /// whole, for the path ends at the call anyway.
    ///
    /// Of a loop like an interpreter's, in which many ways lead to the last block, those are cut instead, and the way in as well:
    /// all paths begin alike then, and each way round writes a constant.
    pub fn cut_cycles(
        &self,
        edges: &mut [Edge],
        out: &[Vec<usize>],
        into: &[Vec<usize>],
        calls: impl Fn(usize) -> bool,
    ) {
        // What an invoke leads to is cut already, and stays so.
        let closing: Vec<usize> =
            self.retreating.iter().copied().filter(|&edge| !edges[edge].cut).collect();
        closing.iter().for_each(|&edge| edges[edge].cut = true);
        for edge in closing {
            let (latch, header) = (edges[edge].from, edges[edge].to);
            edges[edge].cut = runs_through(edges, out, &calls, header, latch);
            let dispatches = out[latch].len() == 1 && into[latch].len() >= MANY && !calls(latch);
            if edges[edge].cut && dispatches && latch != header {
                into[header].iter().chain(&into[latch]).for_each(|&edge| edges[edge].cut = true);
                edges[edge].cut = false;
            }
        }
    }

    pub fn contains(&self, header: usize, block: usize) -> bool {
        self.bodies.get(&header).is_some_and(|body| body.contains(&block))
    }

    /// The edges from the header back to it, if there is exactly one such path.
    pub fn one_way_round(
        &self,
        header: usize,
        edges: &[Edge],
        out: &[Vec<usize>],
    ) -> Option<Vec<usize>> {
        let body = self.bodies.get(&header)?;
        let inside = self.postorder.iter().filter(|b| body.contains(b));
        // By block: how many paths lead from it to a back edge.
        let mut ways: BTreeMap<usize, u64> = BTreeMap::new();
        let ways_by = |edge: usize, ways: &BTreeMap<usize, u64>| match edges[edge].to {
            to if to == header => 1,
            to => ways.get(&to).copied().unwrap_or(0),
        };
        for &block in inside {
            let sum: u64 =
                out[block].iter().fold(0, |s: u64, &e| s.saturating_add(ways_by(e, &ways)));
            ways.insert(block, sum);
        }
        if ways[&header] != 1 {
            return None;
        }
        let (mut round, mut block) = (Vec::new(), header);
        loop {
            let edge = *out[block].iter().find(|&&e| ways_by(e, &ways) == 1)?;
            round.push(edge);
            block = edges[edge].to;
            if block == header {
                return Some(round);
            }
        }
    }
}

/// Whether a path that starts with `from` can run through the end of `to`.
fn runs_through(
    edges: &[Edge],
    out: &[Vec<usize>],
    calls: impl Fn(usize) -> bool,
    from: usize,
    to: usize,
) -> bool {
    let mut seen = HashSet::new();
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if calls(block) || !seen.insert(block) {
            continue;
        }
        if block == to {
            return true;
        }
        work.extend(out[block].iter().filter(|&&e| !edges[e].cut).map(|&e| edges[e].to));
    }
    false
}

/// Postorder from block 0, and the edges that lead back into the walk's own path.
fn walk(edges: &[Edge], out: &[Vec<usize>]) -> (Vec<usize>, Vec<usize>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        Open,
        Done,
    }
    let mut seen = vec![Seen::Not; out.len()];
    let (mut postorder, mut retreating) = (Vec::new(), Vec::new());
    let mut stack = vec![(0, 0)];
    seen[0] = Seen::Open;
    while let Some((block, next)) = stack.last_mut() {
        let Some(&edge) = out[*block].get(*next) else {
            seen[*block] = Seen::Done;
            postorder.push(*block);
            stack.pop();
            continue;
        };
        *next += 1;
        let to = edges[edge].to;
        match seen[to] {
            Seen::Not => {
                seen[to] = Seen::Open;
                stack.push((to, 0));
            }
            Seen::Open => retreating.push(edge),
            Seen::Done => {}
        }
    }
    (postorder, retreating)
}

struct Dominators {
    /// By block: its position in reverse postorder.
    order: Vec<Option<usize>>,
    immediate: Vec<Option<usize>>,
}

impl Dominators {
    fn find(edges: &[Edge], into: &[Vec<usize>], postorder: &[usize]) -> Dominators {
        let mut order = vec![None; into.len()];
        for (position, &block) in postorder.iter().rev().enumerate() {
            order[block] = Some(position);
        }
        let mut dominators = Dominators { order, immediate: vec![None; into.len()] };
        dominators.immediate[0] = Some(0);
        let mut changed = true;
        while changed {
            changed = false;
            for &block in postorder.iter().rev().skip(1) {
                let known = into[block].iter().map(|&e| edges[e].from);
                let known = known.filter(|&b| dominators.immediate[b].is_some());
                let new = known.reduce(|a, b| dominators.meet(a, b));
                if new != dominators.immediate[block] {
                    dominators.immediate[block] = new;
                    changed = true;
                }
            }
        }
        dominators
    }

    fn meet(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            let lower = if self.order[a] > self.order[b] { &mut a } else { &mut b };
            *lower = self.immediate[*lower].unwrap_or(0);
        }
        a
    }

    fn reachable(&self, block: usize) -> bool {
        self.order[block].is_some()
    }

    fn dominates(&self, above: usize, mut block: usize) -> bool {
        loop {
            match self.immediate[block] {
                _ if block == above => return true,
                Some(next) if next != block => block = next,
                _ => return false,
            }
        }
    }
}
